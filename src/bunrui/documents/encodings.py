"""Bytes in any encoding → UTF-8, and a good guess where they are in another one.

`auto` is the encoding of each file by itself: that of its byte order mark, else UTF-8 if the file is valid, else the
best guess that decodes all of it.

A guess tries the usual encodings of Japanese, Chinese and Korean, and Latin-1, on the bytes around the place.  An
encoding that decodes them is as good as the share of characters beyond ASCII that are among its common letters: the
kana and the kanji of level 1, the hanzi of level 1, the syllables of KS X 1001, Latin letters beside Latin letters.
"""

from __future__ import annotations

import codecs

import numpy as np
import pyarrow as pa

from bunrui.errors import EncodingError

__all__ = ["AUTO", "MARK", "detected", "encoding_error", "guesses", "is_utf8", "transcoder"]

AUTO = "auto"
"""The name of the encoding that is found out for each file."""

MARK = "bunrui.mark"
"""An error handler that leaves a lone surrogate, which becomes invalid UTF-8, where bytes could not be decoded."""


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\udc80", error.end


codecs.register_error(MARK, _mark)

_JIS = b"\x1b$B"  # with which ISO-2022-JP, otherwise ASCII, goes over to Japanese
_NEAR = 2048
_GOOD = 0.3  # of the characters beyond ASCII


def is_utf8(data: bytes) -> bool:
    """Whether bytes are valid UTF-8, without decoding them.

    >>> is_utf8("日本".encode()), is_utf8("日本".encode("cp932")), is_utf8(b"\\xed\\xa0\\x80")
    (True, False, False)
    """
    if data.isascii():
        return True
    ends = pa.py_buffer(np.array([0, len(data)], np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def transcoder(encoding: str, errors: str) -> codecs.IncrementalDecoder | None:
    """A decoder, or None if there is nothing to do; `auto`, where nobody has found out what it is, is UTF-8."""
    if encoding == AUTO or codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        return None
    return codecs.getincrementaldecoder(encoding)(errors)


_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16: its mark begins with that one
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def detected(data: bytes, *, is_cut: bool = False) -> str:
    """The encoding of a file, of which these are all bytes, or the first ones if it is cut.

    Where none fits, it is the one that comes next to it: reading the file says where it does not.

    >>> text = "今日は良い天気です。"
    >>> [detected(text.encode(name)) for name in ("utf-8", "utf-8-sig", "utf-16", "cp932", "euc-jp", "iso-2022-jp")]
    ['utf-8', 'utf-8', 'utf-16', 'cp932', 'euc-jp', 'iso-2022-jp']
    >>> detected(text.encode()[:-1]), detected(text.encode()[:-1], is_cut=True), detected(b"caf\\xe9")
    ('utf-8', 'utf-8', 'latin-1')
    """
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return name
    if _JIS in data and _decodes("iso-2022-jp", data):
        return "iso-2022-jp"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not is_cut)
    except UnicodeDecodeError as error:
        _, near = _around(data, error.start)
        if not _is_damaged_utf8(near):
            first, *others = _likely(near) or ["utf-8"]
            return next((name for name in (first, *others) if _decodes(name, data)), first)
    return "utf-8"


def _likely(data: bytes) -> list[str]:
    """The guesses without Latin-1, which decodes anything, unless it is the best one, and good."""
    found = guesses(data)
    if found[:1] == ["latin-1"] and _score("latin-1", _decoded("latin-1", data)) > _GOOD:
        return ["latin-1"]
    return [name for name in found if name != "latin-1"]


def encoding_error(where: str, data: bytes, start: int, encoding: str, *, several: bool = False) -> EncodingError:
    """An error about the bytes at `start`, with a way out; among `several` files, others may have another encoding.

    >>> data = "今日は良い天気です。\\n".encode("cp932")
    >>> print(encoding_error("a.txt, line 1", data, 0, "utf-8"))
    a.txt, line 1: the bytes 8d a1 93 fa are not valid utf-8. Try encoding='cp932', which reads them as \
'今日は良い天気です。', or latin-1
    """
    shown = data[start : start + 4].split(b"\n")[0].hex(" ") or data[start : start + 1].hex()
    say = f"{where}: the bytes {shown} are not valid {encoding}."
    begin, near = _around(data, start)
    if codecs.lookup(encoding).name == "utf-8" and _is_damaged_utf8(near):
        return EncodingError(f"{say} The text around them is: repair these bytes, or leave the row out")
    found = [name for name in guesses(near) if codecs.lookup(name).name != codecs.lookup(encoding).name]
    if not found:
        return EncodingError(f"{say} No usual encoding fits: is this a text file?")
    best, *others = found
    before = len(codecs.getincrementaldecoder(best)("replace").decode(data[begin:start]))
    sample = _decoded(best, near)[max(0, before - 5) :].lstrip("\ufeff").split("\n")[0][:20].strip()
    also = f", or {', '.join(others)}" if others else ""
    each = f". Where files have different encodings: encoding={AUTO!r}" if several else ""
    return EncodingError(f"{say} Try encoding={best!r}, which reads them as {sample!r}{also}{each}")


def _around(data: bytes, start: int) -> tuple[int, bytes]:
    """Where the line of a place begins, if that is not far, and the bytes from there on."""
    begin = data.rfind(b"\n", 0, start) + 1
    begin = begin if start - begin <= _NEAR else start
    return begin, data[begin : start + _NEAR]


def guesses(data: bytes) -> list[str]:
    """Encodings that decode some bytes, the best first.

    >>> guesses("오늘은 날씨가 좋다".encode("cp949"))[0], guesses("今天天气很好".encode("gb18030"))[0]
    ('cp949', 'gb18030')
    >>> guesses("今天天氣很好".encode("big5"))[0], guesses("un café".encode("latin-1"))[0]
    ('big5', 'latin-1')
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ["utf-16"] if _decodes("utf-16", data) else []
    if data.isascii() or (_decodes("utf-8", data) and not _decoded("utf-8", data).isascii()):
        return ["utf-8"]
    scored = [(_score(name, _decoded(name, data)), name) for name in _COMMON if _decodes(name, data)]
    return [name for score, name in sorted(scored, key=lambda pair: -pair[0]) if score > _GOOD or name == "latin-1"]


def _is_damaged_utf8(data: bytes) -> bool:
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    broken = text.count("\ufffd")
    return sum(char > "\x7f" for char in text) - broken > 4 * broken


def _decoded(encoding: str, data: bytes) -> str:
    # Incremental: the last character may be cut.
    return codecs.getincrementaldecoder(encoding)().decode(data)


def _decodes(encoding: str, data: bytes) -> bool:
    try:
        return "\0" not in _decoded(encoding, data)
    except UnicodeError:
        return False


# The encoding in which common letters have low rows, and the rows.  On ties the first wins: a text whose bytes are all
# syllables of KS X 1001 is Korean, though each of them is a hanzi of level 1 as well.
_COMMON = {
    "cp949": ("euc_kr", 0xB0, 0xC8),
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
    "cp932": ("euc_jp", 0xB0, 0xCF),
    "euc-jp": ("euc_jp", 0xB0, 0xCF),
    "latin-1": ("", 0, 0),
}


def _score(encoding: str, text: str) -> float:
    letters, common, kana = 0, 0, 0
    table, low, high = _COMMON[encoding]
    for at, char in enumerate(text):
        if char <= "\x7f" or "\u3000" <= char <= "\u303f" or "\uff01" <= char <= "\uff5e":
            continue
        letters += 1
        if not table:
            common += char >= "\xc0" and char not in "×÷" and (text[at - 1 : at] + text[at + 1 : at + 2]).isalpha()
        elif table == "euc_jp" and "\u3040" <= char <= "\u30ff":
            kana += 1
        else:
            common += low <= (char.encode(table, "ignore") or b"\0")[0] <= high
    if table == "euc_jp" and kana * 10 < letters:
        common //= 2  # hardly any Japanese is without kana
    return (common + kana) / letters if letters else 0.0
