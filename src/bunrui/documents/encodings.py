"""Bytes in any encoding → UTF-8, and a good guess where they are in another one.

A guess tries the usual encodings of Japanese, Chinese and Korean, and Latin-1, on the bytes around the place.  An
encoding that decodes them is as good as the share of characters beyond ASCII that are among its common letters: the
kana and the kanji of level 1, the hanzi of level 1, the syllables of KS X 1001, Latin letters beside Latin letters.
"""

from __future__ import annotations

import codecs

import numpy as np
import pyarrow as pa

from bunrui.errors import EncodingError

__all__ = ["MARK", "encoding_error", "guesses", "is_utf8", "transcoder"]

MARK = "bunrui.mark"
"""An error handler that leaves a lone surrogate, which becomes invalid UTF-8, where bytes could not be decoded."""


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\udc80", error.end


codecs.register_error(MARK, _mark)

_NEAR = 2048


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
    """A decoder, or None if there is nothing to do."""
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        return None
    return codecs.getincrementaldecoder(encoding)(errors)


def encoding_error(where: str, data: bytes, start: int, encoding: str) -> EncodingError:
    """An error about the bytes at `start`, with a way out.

    >>> data = "今日は良い天気です。\\n".encode("cp932")
    >>> print(encoding_error("a.txt, line 1", data, 0, "utf-8"))
    a.txt, line 1: the bytes 8d a1 93 fa are not valid utf-8. Try encoding='cp932', which reads them as \
'今日は良い天気です。', or latin-1
    """
    shown = data[start : start + 4].split(b"\n")[0].hex(" ") or data[start : start + 1].hex()
    say = f"{where}: the bytes {shown} are not valid {encoding}."
    begin = data.rfind(b"\n", 0, start) + 1
    begin = begin if start - begin <= _NEAR else start
    near = data[begin : start + _NEAR]
    if codecs.lookup(encoding).name == "utf-8" and _is_damaged_utf8(near):
        return EncodingError(f"{say} The text around them is: repair these bytes, or leave the row out")
    found = [name for name in guesses(near) if codecs.lookup(name).name != codecs.lookup(encoding).name]
    if not found:
        return EncodingError(f"{say} No usual encoding fits: is this a text file?")
    best, *others = found
    before = len(codecs.getincrementaldecoder(best)("replace").decode(data[begin:start]))
    sample = _decoded(best, near)[max(0, before - 5) :].lstrip("\ufeff").split("\n")[0][:20].strip()
    also = f", or {', '.join(others)}" if others else ""
    return EncodingError(f"{say} Try encoding={best!r}, which reads them as {sample!r}{also}")


def guesses(data: bytes) -> list[str]:
    """Encodings that decode some bytes, the best first.

    >>> guesses("오늘은 날씨가 좋다".encode("cp949"))[0], guesses("今天天气很好".encode("gb18030"))[0]
    ('cp949', 'gb18030')
    >>> guesses("今天天氣很好".encode("big5"))[0], guesses("un café".encode("latin-1"))[0]
    ('big5', 'latin-1')
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ["utf-16"] if _decodes("utf-16", data) else []
    if _decodes("utf-8", data) and not _decoded("utf-8", data).isascii():
        return ["utf-8"]
    scored = [(_score(name, _decoded(name, data)), name) for name in _COMMON if _decodes(name, data)]
    return [name for score, name in sorted(scored, key=lambda pair: -pair[0]) if score > 0.3 or name == "latin-1"]


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
