"""Guesses of encodings, and how they are told."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.data import read as demo
from bunrui.documents import read
from bunrui.documents.encodings import encoding_error, guesses, is_utf8
from bunrui.errors import EncodingError
from tests.documents.test_reader import rows

SENTENCES = {lang: [row["text"] for row in demo("demo") if row["lang"] == lang] for lang in ("ja", "zh", "ko")}
TRADITIONAL = [
    "昨天的會議決定把圖書館的開放時間延長到晚上十點",
    "研究人員發現這種材料在低溫下仍能保持導電性",
    "總統表示將與鄰國討論貿易問題",
]


@pytest.mark.parametrize(
    ("lang", "encoding"), [("ja", "cp932"), ("ja", "euc-jp"), ("zh", "gb18030"), ("ko", "cp949")]
)  # fmt: skip
def test_guesses_on_sentences(lang: str, encoding: str) -> None:
    wrong = [text for text in SENTENCES[lang] if guesses(text.encode(encoding, "replace"))[0] != encoding]
    assert wrong == []


def test_guesses_on_other_sentences() -> None:
    for text in TRADITIONAL:
        assert guesses(text.encode("big5"))[0] == "big5"
    for text in ("Où est le café près de la forêt ?", "Schöne Grüße aus München", "mañana será otro día"):
        assert guesses(text.encode("latin-1")) == ["latin-1"]
    assert guesses("﻿Ärger".encode("utf-16")) == ["utf-16"]


def message(data: bytes, **options: str) -> str:
    with pytest.raises(EncodingError) as caught:
        rows(io.BytesIO(data), format="lines", labelled=False, **options)
    return str(caught.value)


def test_words_of_the_error() -> None:
    assert message("fine\nalso\nun café noir\n".encode("latin-1")) == (
        "stream, line 3: the bytes e9 20 6e 6f are not valid utf-8. "
        "Try encoding='latin-1', which reads them as 'n café noir'"
    )
    assert message("오늘은 날씨가 좋다\n".encode("cp949")) == (
        "stream, line 1: the bytes bf c0 b4 c3 are not valid utf-8. "
        "Try encoding='cp949', which reads them as '오늘은 날씨가 좋다', or gb18030, big5, euc-jp, latin-1"
    )
    assert message("図書館へ行く\n".encode("utf-16")) == (
        "stream, line 1: the bytes ff fe f3 56 are not valid utf-8. "
        "Try encoding='utf-16', which reads them as '図書館へ行く'"
    )
    assert message(b"\x00\x80\n") == (
        "stream, line 1: the bytes 80 are not valid utf-8. No usual encoding fits: is this a text file?"
    )


def test_text_that_is_damaged_only_here() -> None:
    data = "今日は良い天気です\n".encode() + "今日は良い天気です\n".encode()[:-2] + b"\n"
    assert message(data) == (
        "stream, line 2: the bytes e3 81 are not valid utf-8. "
        "The text around them is: repair these bytes, or leave the row out"
    )


def test_text_in_another_encoding_than_named() -> None:
    text = "今日は良い天気です\n".encode()
    assert message(b"fine\n" + text, encoding="ascii").startswith(
        "stream, line 2: the bytes e4 bb 8a e6 are not valid ascii."
    )
    assert "Try encoding='utf-8', which reads them as '今日は良い天気です'" in message(
        b"fine\n" + text, encoding="ascii"
    )


@pytest.mark.parametrize("n_lines", [1, 2000])
def test_line_is_found_in_any_block(n_lines: int) -> None:
    data = "良い天気です\n".encode("cp932") * n_lines + b"\x81\xff\n"
    for batch_bytes in (1, 1000, 1 << 20):
        with pytest.raises(EncodingError, match=f"^stream, line {n_lines + 1}: the bytes 81 ff are not valid cp932"):
            list(read(io.BytesIO(data), format="lines", labelled=False, encoding="cp932", batch_bytes=batch_bytes))


def test_text_that_ends_inside_a_character() -> None:
    data = "良い天気".encode("cp932")[:-1]
    assert message(data, encoding="cp932").startswith("stream, line 1: the bytes 8b are not valid cp932")


@given(st.binary())
def test_is_utf8(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        assert not is_utf8(data)
        assert str(encoding_error("here", data, error.start, "utf-8")).startswith("here: the bytes ")
    else:
        assert is_utf8(data)
