"""The demonstration corpus: balanced, free of repetitions, each language in its own script."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from importlib.resources import files
from itertools import product

import pytest

from bunrui.data import NAMES, read

LABELS = ("society", "politics", "world", "sports", "science")
LANGUAGES = ("en", "ja", "zh", "ko")
KINDS = Counter(product(LABELS, LANGUAGES))
LENGTHS = {"en": (40, 160), "ja": (20, 80), "zh": (20, 80), "ko": (20, 80)}

KANA = re.compile(r"[ぁ-ゖァ-ヺー]")
HAN = re.compile(r"[㐀-䶿一-鿿々]")
HANGUL = re.compile(r"[가-힣]")


def kinds(rows: list[dict[str, str]]) -> Counter[tuple[str, str]]:
    return Counter((row["label"], row["lang"]) for row in rows)


def folded(text: str) -> str:
    """What is left when width, case and spaces are ignored.

    >>> folded("ＡＢ ｶﾞ")
    'abガ'
    """
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def texts(language: str) -> list[str]:
    return [row["text"] for name in NAMES for row in read(name) if row["lang"] == language]


# --- the files


@pytest.mark.parametrize("name", NAMES)
def test_form(name: str) -> None:
    raw = files("bunrui.data").joinpath(f"{name}.jsonl").read_bytes()
    assert raw.decode("utf-8") == "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in read(name))


@pytest.mark.parametrize("name", NAMES)
def test_keys_and_values(name: str) -> None:
    for row in read(name):
        assert list(row) == ["label", "lang", "text"]
        assert row["label"] in LABELS
        assert row["lang"] in LANGUAGES
        assert row["text"] == row["text"].strip()


@pytest.mark.parametrize("name", ["", "news", "demo.jsonl", "../data/demo"])
def test_unknown_name(name: str) -> None:
    with pytest.raises(ValueError, match="choose demo or queries"):
        read(name)


# --- balance


def test_balance() -> None:
    assert kinds(read("demo")) == Counter({kind: 20 for kind in KINDS})


def test_any_prefix_is_balanced() -> None:
    rows = read("demo")
    for start in range(0, len(rows), len(KINDS)):
        assert kinds(rows[start : start + len(KINDS)]) == KINDS


def test_queries_are_three_for_each_language() -> None:
    rows = read("queries")
    assert Counter(row["lang"] for row in rows) == Counter({language: 3 for language in LANGUAGES})
    assert {row["label"] for row in rows} == set(LABELS)


# --- repetitions


def test_no_text_is_repeated() -> None:
    rows = read("demo")
    assert len({row["text"] for row in rows}) == len(rows)
    assert len({folded(row["text"]) for row in rows}) == len(rows)


def test_queries_are_not_in_the_corpus() -> None:
    queries = [folded(row["text"]) for row in read("queries")]
    assert len(set(queries)) == len(queries)
    assert set(queries).isdisjoint(folded(row["text"]) for row in read("demo"))


# --- the texts


@pytest.mark.parametrize("language", LANGUAGES)
def test_lengths(language: str) -> None:
    low, high = LENGTHS[language]
    assert [text for text in texts(language) if not low <= len(text) <= high] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_end(language: str) -> None:
    assert [text for text in texts(language) if text[-1] not in ".。"] == []


def test_english_is_ascii() -> None:
    assert [text for text in texts("en") if not text.isascii()] == []


def test_japanese_has_kana() -> None:
    found = texts("ja")
    assert sum(bool(KANA.search(text)) for text in found) >= 0.95 * len(found)
    assert [text for text in found if HANGUL.search(text) or not HAN.search(text)] == []


def test_chinese_is_simplified() -> None:
    found = texts("zh")
    assert [text for text in found if KANA.search(text) or HANGUL.search(text) or not HAN.search(text)] == []
    for text in found:
        text.encode("gb2312")  # which holds no traditional forms


def test_korean_has_hangul() -> None:
    found = texts("ko")
    letters = [[character for character in text if character.isalpha()] for text in found]
    assert [text for text, own in zip(found, letters, strict=True) if not all(map(HANGUL.match, own)) or not own] == []
