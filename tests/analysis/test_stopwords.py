"""Stop words: lists, files, and files that cannot be read."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.analysis.spec import read_stop_words
from bunrui.errors import DataError, EncodingError


def test_a_list() -> None:
    assert read_stop_words(["The", "the", "Ａ", " です ", "", "Straße", "ﾃﾞｽ"]) == (
        "a",
        "strasse",
        "the",
        "です",
        "デス",
    )


def test_any_iterable() -> None:
    assert read_stop_words(word for word in ("b", "a")) == ("a", "b")
    assert read_stop_words({"b", "a"}) == ("a", "b")
    assert read_stop_words([]) == ()


def test_a_list_has_no_comments() -> None:
    assert read_stop_words(["#tag", "c#"]) == ("#tag", "c#")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeff# a comment\r\nThe\r\n\r\n  and # another\nc#\nof course\nの\n#end".encode())
    assert read_stop_words(path) == read_stop_words(str(path)) == ("and", "c#", "of course", "the", "の")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read_stop_words(tmp_path / "empty") == ()


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.txt"
    with pytest.raises(DataError) as caught:
        read_stop_words(path)
    expected = f"{path}: there is no such file or folder: check the path"
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "this is a folder: name a file in it"),
        (".", "this is a folder: name a file in it"),
        ("a\0b", "this is no path .*: give a file with a word a line"),
    ],
)
def test_what_is_no_file(path: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_stop_words(path)


def test_invalid_utf8(tmp_path: Path) -> None:
    path = tmp_path / "sjis.txt"
    path.write_bytes(b"the\nand\n" + "です".encode("shift_jis") + b"\nof\n")
    with pytest.raises(EncodingError) as caught:
        read_stop_words(path)
    assert str(caught.value) == f"{path}, line 3: this is not valid UTF-8: save the stop words as UTF-8"


def test_words_that_are_no_strings() -> None:
    words: Any = ["a", 3]
    with pytest.raises(DataError, match="stop words should be strings, not 3"):
        read_stop_words(words)


# Characters that are newer than the Python that runs are folded by our tables alone.
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cn"]))))
def test_sorted_unique_normalised(words: list[str]) -> None:
    read = read_stop_words(words)
    assert list(read) == sorted(set(read))
    assert set(read) == {unicodedata.normalize("NFKC", word).casefold().strip() for word in words} - {""}
