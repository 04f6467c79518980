"""Bytes in any encoding → UTF-8, and guesses of unknown encodings.

`auto` guesses the encoding of each file from its first megabyte.  It knows UTF-8, UTF-16 and UTF-32 with a byte order
mark, UTF-16 in which every other byte is NUL, ISO-2022-JP, cp932, EUC-JP, GB18030, Big5, cp949 and cp1252.  If none
fits clearly, the file is read as UTF-8, and the error names the first place that is not.

A guess is judged by the share of characters beyond ASCII that are common in the encoding: the kana and the kanji of
level 1; the hanzi of level 1; the syllables of KS X 1001; the letters of Western Europe in words that also have ASCII
letters, and the usual signs.  Pairs of Thai or Cyrillic letters can be read as hanzi, and so can Korean syllables: so
some characters must be among the most frequent ones.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.errors import EncodingError, Option

AUTO = "auto"
"""The name of the encoding that is found out for each file."""

FIRST = 1 << 20
"""Bytes of a file by which its encoding is found out."""

MARK = "bunrui.mark"
"""An error handler that leaves a lone surrogate, which becomes invalid UTF-8, where bytes could not be decoded."""


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\udc80", error.end


codecs.register_error(MARK, _mark)

_JIS = b"\x1b$B"  # with which ISO-2022-JP, otherwise ASCII, goes over to Japanese
_NEAR = 2048
_GOOD, _CLEAR, _SOME = 0.3, 0.85, 0.03  # common ones to be proposed, to be taken; frequent ones to be taken


def is_utf8(data: bytes | npt.NDArray[np.uint8]) -> bool:
    """Whether bytes are valid UTF-8, without decoding them.

    >>> is_utf8("日本".encode()), is_utf8("日本".encode("cp932")), is_utf8(b"\\xed\\xa0\\x80")
    (True, False, False)
    """
    text = pa.py_buffer(data)
    ends = pa.py_buffer(np.array([0, text.size], np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, text]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def transcoder(encoding: str, errors: str) -> codecs.IncrementalDecoder | None:
    """A decoder, or None if there is nothing to do; an `auto` that is still unknown is UTF-8."""
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


def detect(data: bytes, *, is_cut: bool = False) -> str:
    """Guess the encoding of a file from all of its bytes, or from the first ones.

    Only the first megabyte is used.  The guess is UTF-8 if no encoding decodes all of it and fits clearly, or if most
    characters beyond ASCII are valid UTF-8: an error then names the place that is not.

    >>> text = "今日は良い天気です。"
    >>> [detect(text.encode(name)) for name in ("utf-8", "utf-8-sig", "utf-16", "cp932", "euc-jp", "iso-2022-jp")]
    ['utf-8', 'utf-8', 'utf-16', 'cp932', 'euc-jp', 'iso-2022-jp']
    >>> detect(text.encode()[:-1]), detect(b"It\\x92s a caf\\xe9"), detect("Привет, мир".encode("cp1251"))
    ('utf-8', 'cp1252', 'utf-8')
    """
    if len(data) >= FIRST:
        data, is_cut = data[:FIRST], True
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return name
    if wide := _detect_wide(data):
        return wide
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        if _good_to_broken(data) > 1:
            return "utf-8"
    else:
        return "iso-2022-jp" if _JIS in data and data.isascii() else "utf-8"
    if _JIS in data:
        return "iso-2022-jp"
    return next(iter(_rank_fitting(data, _CLEAR, _SOME, final=not is_cut)), "utf-8")


def _detect_wide(data: bytes) -> str:
    """UTF-16 of mostly ASCII, without a mark: at the beginning about every other byte is NUL."""
    head = data[:1024]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if 5 * max(even, odd) < len(head) or 10 * min(even, odd) > max(even, odd) or not head:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def encoding_error(data: bytes, start: int, encoding: str, *, several: bool = False, **place: Any) -> EncodingError:
    """An error about the bytes at `start`, with a way out; among `several` files, others may have another encoding.

    `place` has the fields `file`, `line` and `unit` of the error.

    >>> data = "今日は良い天気です。\\n".encode("cp932")
    >>> print(encoding_error(data, 0, "utf-8", file="a.txt", line=1))
    a.txt, line 1: the bytes 8d a1 93 fa are not valid utf-8. Try encoding='cp932', which reads them as \
'今日は良い天気です。'
    """
    shown = data[start : start + 4].split(b"\n")[0].hex(" ") or data[start : start + 1].hex()
    say = f"the bytes {shown} are not valid {encoding}. "
    begin, near = _find_line(data, start)
    if codecs.lookup(encoding).name == "utf-8" and _good_to_broken(data[max(0, start - _NEAR) : start + _NEAR]) > 4:
        return EncodingError(f"{say}The text around them is", hint="repair these bytes, or leave the row out", **place)
    found = [name for name in guess_all(near) if codecs.lookup(name).name != codecs.lookup(encoding).name]
    if not found:
        hint = "name it with ", Option("encoding", ...), " if this is text"
        return EncodingError(f"{say}No usual encoding fits", hint=hint, **place)
    best, *others = found
    before = len(codecs.getincrementaldecoder(best)("replace").decode(data[begin:start]))
    sample = _decode(best, near)[max(0, before - 5) :].lstrip("\ufeff").split("\n")[0][:20].strip()
    also = f", or {', '.join(others)}" if others else ""
    each = (". Where files have different encodings: ", Option("encoding", AUTO)) if several else ()
    proposed = Option("encoding", best)
    return EncodingError((f"{say}Try ", proposed, f", which reads them as {sample!r}{also}", *each), **place)


def _find_line(data: bytes, start: int) -> tuple[int, bytes]:
    """The start of the line of a place, if that is not far, and the bytes from there on."""
    begin = data.rfind(b"\n", 0, start) + 1
    begin = begin if start - begin <= _NEAR else start
    return begin, data[begin : start + _NEAR]


def guess_all(data: bytes) -> list[str]:
    """Encodings that decode some bytes, the best first; the last character may be cut.

    >>> guess_all("오늘은 날씨가 좋다".encode("cp949"))[0], guess_all("今天天气很好".encode("gb18030"))[0]
    ('cp949', 'gb18030')
    >>> guess_all("今天天氣很好".encode("big5"))[0], guess_all("un café".encode("cp1252"))[0]
    ('big5', 'cp1252')
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ["utf-16"] if _decode("utf-16", data) else []
    if data.isascii() or not (_decode("utf-8", data) or "a").isascii():
        return ["utf-8"]
    return _rank_fitting(data, _GOOD, 0)


def _rank_fitting(data: bytes, common: float, frequent: float, *, final: bool = False) -> list[str]:
    """Encodings with at least such shares, the best first."""
    texts = {name: _decode(name, data, final=final) for name in (*_COMMON, "cp1252")}
    shares = {name: _measure_shares(name, text) for name, text in texts.items() if text}
    found = [name for name, (one, other) in shares.items() if one >= common and other >= frequent]
    return sorted(found, key=lambda name: -sum(shares[name]))


def _good_to_broken(data: bytes) -> float:
    """Characters beyond ASCII that are valid UTF-8, for each place that is not."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    broken = text.count("\ufffd")
    return (_n_beyond(text) - broken) / max(1, broken)


def _n_beyond(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _decode(encoding: str, data: bytes, *, final: bool = False) -> str:
    """Text; nothing if the bytes are no text in this encoding."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data, final)
    except UnicodeError:
        return ""
    return "" if "\0" in text else text


_BEYOND = re.compile(r"[^\x00-\x7f]")
# One kanji alone beside a letter is an apostrophe of cp1252 and a letter.
_RUN = re.compile(r"[^\x00-\x7f]{2,}|(?<![A-Za-z])[^\x00-\x7f](?![A-Za-z])")
_WIDE_SIGN = re.compile(r"[\u3000-\u303f\uff01-\uff5e]")

# The encoding in which common letters have low rows, the rows, and the most frequent letters, with kana in Japanese.
_HANZI = "的一是不了在人有我他中大上到子和你地出道也年得就那要下以生自去之家可她很好小多天最新日月"
_COMMON = {
    "cp949": ("euc_kr", 0xB0, 0xC8, "이다는에의가을고은로지하한기를도사서어리아해나시자인정일"),
    "gb18030": ("gb2312", 0xB0, 0xD7, _HANZI + "这来个国说们为时会着过学对里后"),
    "big5": ("big5", 0xA4, 0xC6, _HANZI + "這來個國說們為時會著過學對裡後"),
    "cp932": ("euc_jp", 0xB0, 0xCF, ""),
    "euc-jp": ("euc_jp", 0xB0, 0xCF, ""),
}


def _measure_shares(encoding: str, text: str) -> tuple[float, float]:
    """The shares of common and of frequent characters among those beyond ASCII, without wide signs."""
    if encoding == "cp1252":
        return (_share_western(text),) * 2
    letters = _n_beyond(text) - len(_WIDE_SIGN.findall(text))
    table, low, high, most = _COMMON[encoding]
    common, frequent = 0, 0
    for char, n in Counter("".join(_RUN.findall(text))).items():
        is_kana = table == "euc_jp" and "\u3040" <= char <= "\u30ff"
        if is_kana or low <= (char.encode(table, "ignore") or b"\0")[0] <= high:
            common += n
            # Text of kanji alone is in cp932 what it is in no other encoding.
            frequent += n * (is_kana or char in most or encoding == "cp932")
    return common / max(1, letters), frequent / max(1, letters)


# Two groups, not one: all of them together are the letters of Czech and Hungarian in cp1250, too.
_LETTERS = ("äöüßåæøéèêëàâçîïôùûœ", "áàâãéèêíìïóòôúùüçñ")  # from German to Finnish; Spanish, Portuguese, Italian
_SIGN = re.compile(
    r"(?<=\w)’|’(?=\w)|[–—\xa0°]|¿(?=[A-Z])|(?<!\w)[“‘„«‹€£©§¡•]|[”“‘»›…™®€•](?!\w)|(?<!\S)[àèéóåöÀÈÉÓÅÖ](?!\S)"
)
_WORD = re.compile(r"[^\W\d_]*[^\W\d_\x00-\x7f][^\W\d_]*")


def _share_western(text: str) -> float:
    """The share of the characters beyond ASCII that are letters of one group in Latin words, or signs in their places.

    >>> [_share_western(text) for text in ("Où est le café ? Là-bas.", "Ïðèâåò, ìèð", "It’s “fine” – 5 €")]
    [1.0, 0.0, 1.0]
    """
    signs, found = len(_SIGN.findall(text)), Counter[str]()
    for word, n in Counter(_WORD.findall(text)).items():
        beyond = _BEYOND.findall(word)
        if len(beyond) <= 2 * (len(word) - len(beyond)) and (word.isupper() or word[1:].islower()):
            for char in beyond:
                found[char.lower()] += n
    best = max(sum(found[char] for char in group) for group in _LETTERS)
    return (best + signs) / max(1, _n_beyond(text))
