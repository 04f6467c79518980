"""The analysing kernels, plain and compiled, against `reference`: the same features, as often, in the same order."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bunrui import AnalyzerSpec, Counts, TextClassifier
from bunrui.analysis import analyzer_of
from bunrui.kernel import reference, unicode
from tests.support.examples import examples, quick
from tests.support.kernels import MODES, kernels

both = pytest.mark.parametrize("mode", MODES)


def learned(spec: AnalyzerSpec, texts: Sequence[str], mode: str, labels: Sequence[str] | None = None) -> Counts:
    with kernels(mode):
        return TextClassifier(analyzer=spec).learn(list(texts), list(labels or ["a"] * len(texts))).counts


def features(spec: AnalyzerSpec, text: str) -> list[str]:
    return [token.text for token in analyzer_of(spec).features(text)]


def expected_cells(spec: AnalyzerSpec, texts: Sequence[str], labels: Sequence[str]) -> list[tuple[str, str, int, int]]:
    """What `Counts.cells` should give, from the reference."""
    terms: Counter[tuple[str, str]] = Counter()
    docs: Counter[tuple[str, str]] = Counter()
    for text, label in zip(texts, labels, strict=True):
        found = features(spec, text)
        terms.update((feature, label) for feature in found)
        docs.update((feature, label) for feature in set(found))
    return [(feature, label, n, docs[feature, label]) for (feature, label), n in sorted(terms.items())]


def check(spec: AnalyzerSpec, texts: Sequence[str], mode: str, labels: Sequence[str] | None = None) -> None:
    labels = labels or [str(i) for i in range(len(texts))]
    counts = learned(spec, texts, mode, labels)
    found = list(counts.cells())
    expected = expected_cells(spec, texts, labels)
    if found != expected:
        # Two lists of thousands of cells say less than their difference.
        assert sorted(set(found) ^ set(expected))[:10] == []
    assert counts.n_docs == len(texts)


SPECS = {
    "words": AnalyzerSpec(name="words"),
    "words 1-2": AnalyzerSpec(name="words", words=2),
    "words 1-3": AnalyzerSpec(name="words", words=3),
    "words stop": AnalyzerSpec(name="words", words=2, stop_words=["the", "a", "was", "日本", "x" * 40]),
    "universal": AnalyzerSpec(),
    "universal plain": AnalyzerSpec(words=1, punctuation=False, across=False),
    "universal without punctuation": AnalyzerSpec(punctuation=False),
    "universal not across": AnalyzerSpec(across=False),
    "universal long": AnalyzerSpec(words=4, kana_han=(2, 5), hangul=(3, 3), unspaced=(1, 15)),
    "universal pairs": AnalyzerSpec(words=3, kana_han=(2, 2), hangul=(1, 1), unspaced=(2, 3), across=False),
    "universal stop": AnalyzerSpec(stop_words=["the", "a", ",", ":)", "👍", "🇯🇵", "1⃣", "ß", "x" * 40]),
    "universal switches": AnalyzerSpec(urls=True, mentions=True, numbers=True, html=True),
    "words switches": AnalyzerSpec(name="words", words=2, urls=True, mentions=True, numbers=True, html=True),
}
every = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())


# Texts

CLASSES = unicode.char_class()
BY_CLASS = {
    kind: [chr(c) for c in np.flatnonzero(kind == CLASSES).tolist() if not 0xD800 <= c <= 0xDFFF]
    for kind in range(unicode.KEYCAP + 1)
}
EMOJI = [
    "👩\u200d👩\u200d👧",
    "👍🏽",
    "👍",
    "🇯🇵",
    "🇯🇵🇰🇷",
    "🇯",
    "1\ufe0f\u20e3",
    "#\u20e3",
    "9\u20e3",
    "❤\ufe0f",
    "❤",
    "🏴\U000e0067\U000e007f",
]
SPACES = [" ", "\n", "\t", "\u3000", "\0", "\u200b", "\xa0", "  ", "\u200d", "\ufe0f", "\u20e3"]
MARKS = ["\u0301", "\u0323", "\u3099", "\u309a", "\u094d", "\u0e34", "\u0345", "\u0334", "\u11a8", "\u1161", "\u200c"]
WORDS = [
    "the",
    "The",
    "was",
    "a",
    "x",
    "Straße",
    "ΟΔΟΣ",
    "Σ",
    "İ",
    "ﬁ",
    "½",
    "ﷺ",
    "_",
    "1",
    "0042",
    "a1",
    "हिन्दी",
    "Việt",
]
WORDS += ["日本", "日本語", "ｶﾞ", "カ", "한국어", "ㅋㅋ", "\u1112\u1161\u11ab", "กรุณา", "ລາວ", "ខ្មែរ", "မြန်မာ"]
LINKS = [
    "http://x.org/a?b=1",
    "www.a.jp",
    "@name",
    "me@x.org",
    "3,000.5",
    "<b>",
    "</p>",
    "&amp;",
    "&#128512;",
    "<script>x</script>",
]
PUNCTUATION = [
    ":",
    "/",
    ")",
    "(",
    "-",
    "'",
    "<",
    "3",
    "^",
    ",",
    ".",
    "。",
    "、",
    "「",
    "！",
    "...",
    ":-",
    "//",
    "#",
    "*",
]

pieces = st.one_of(
    st.sampled_from([*EMOJI, *SPACES, *MARKS, *WORDS, *LINKS, *PUNCTUATION, *reference.EMOTICONS]),
    st.sampled_from(list(BY_CLASS)).flatmap(lambda kind: st.sampled_from(BY_CLASS[kind])),
    st.characters(codec="utf-8"),
    st.builds(lambda c, n: c * n, st.sampled_from("xé日한ก:"), st.integers(1, 90)),
    st.text(st.characters(codec="utf-8"), max_size=5),
)
TEXTS = st.lists(pieces, max_size=25).map("".join) | st.lists(pieces, max_size=12).map(" ".join)


# The reference itself: features as a person expects them

UNIVERSAL = {
    "Don't stop, NOW": ["don", "'", "don '", "t", "' t", "stop", "t stop", ",", "stop ,", "now", ", now"],
    "New York": ["new", "york", "new york"],
    "日本": ["日", " 日", "本", "日本", " 日本", "本 ", "日本 "],
    "はい。いえ": [
        *("は", " は"),
        *("い", "はい", " はい"),
        *("。", "い。", "はい。"),
        *("い", "。い", "い。い"),
        *("え", "いえ", "。いえ"),
        *("え ", "いえ "),
    ],
    "中 文": ["中", " 中", "中 ", " 中 ", "文", " 文", "中 文", "文 ", " 文 "],
    "한국": ["한", " 한", "국", "한국", " 한국", "국 ", "한국 ", " 한국 "],
    "ไป": ["ไ", " ไ", "ป", "ไป", " ไป", "ป ", "ไป ", " ไป "],
    "हिन्दी भाषा": ["हिन्दी", "भाषा", "हिन्दी भाषा"],
    "ｶﾞ": ["ガ", " ガ", "ガ ", " ガ "],
    "\u1112\u1161\u11ab": ["한", " 한", "한 ", " 한 "],
    "good日day": ["good", "日", " 日", "日 ", " 日 ", "day"],
    "日한": ["日", " 日", "日 ", " 日 ", "한", " 한", "한 ", " 한 "],
    "LINEで": ["line", "で", " で", "で ", " で "],
    "http://": ["http", ":", "http :", "/", ": /", "/", "/ /"],
    # An emoticon: its marks, then all of it.
    "so :/": ["so", ":", "so :", "/", ": /", ":/", "/ :/"],
    ":dog :d": [":", "dog", ": dog", ":", "dog :", "d", ": d", ":d", "d :d"],
    ":D": [":", "d", ": d", ":d", "d :d"],
    # Digits belong to the characters beside them, but not to those after a space.
    "第3回": ["第", " 第", "3", "第3", " 第3", "回", "3回", "第3回", "回 ", "3回 "],
    "3 日": ["3", "日", " 日", "日 ", " 日 "],
    "A4判": ["a4", "判", " 判", "判 ", " 判 "],
    "日3km": ["日", " 日", "日 ", " 日 ", "3km"],
    "👍🏽👍": ["👍🏽", "👍", "👍🏽 👍"],
    "👩\u200d👩\u200d👧!": ["👩\u200d👩\u200d👧", "!", "👩\u200d👩\u200d👧 !"],
    "🇯🇵🇰🇷": ["🇯🇵", "🇰🇷", "🇯🇵 🇰🇷"],
    "❤\ufe0f❤": ["❤", "❤", "❤ ❤"],
    "1\ufe0f\u20e3 is 1": ["1\u20e3", "is", "1\u20e3 is", "1", "is 1"],
    "x1\u20e3": ["x", "1\u20e3", "x 1\u20e3"],
    "a\0b": ["a", "b", "a b"],
    "Straße ½": ["strasse", "1", "strasse 1", "⁄", "1 ⁄", "2", "⁄ 2"],
    "": [],
    " \n\u3000\u200d": [],
}
WORDS_1_2 = {
    "New York, NEW": ["new", "york", "new york", "new", "york new"],
    "snake_case 3x": ["snake_case", "3x", "snake_case 3x"],
    "日本語 テスト": ["日本語", "テスト", "日本語 テスト"],
    "ΟΔΟΣ": ["οδος"],
    "Straße": ["straße"],
    "don't": ["don", "t", "don t"],
    "a\0b": ["a", "b", "a b"],
    "🙂 :)": [],
}


@pytest.mark.parametrize("mode", ["reference", *MODES])
@pytest.mark.parametrize("text", UNIVERSAL)
def test_universal_by_hand(text: str, mode: str) -> None:
    check_by_hand(AnalyzerSpec(), text, UNIVERSAL[text], mode)


@pytest.mark.parametrize("mode", ["reference", *MODES])
@pytest.mark.parametrize("text", WORDS_1_2)
def test_words_by_hand(text: str, mode: str) -> None:
    check_by_hand(AnalyzerSpec(name="words", words=2), text, WORDS_1_2[text], mode)


def check_by_hand(spec: AnalyzerSpec, text: str, expected: list[str], mode: str) -> None:
    if mode == "reference":
        assert features(spec, text) == expected
    else:
        assert [(f, n) for f, _, n, _ in learned(spec, [text], mode).cells()] == sorted(Counter(expected).items())


OPTIONS = [
    (AnalyzerSpec(words=1), ":) :-( <3", [":", ")", ":)", ":", "-", "(", ":-(", "<", "3", "<3"]),
    (AnalyzerSpec(words=1), "(^_^)!", ["(", "^", "_", "^", ")", "(^_^)", "!"]),
    (AnalyzerSpec(words=1), "http://x", ["http", ":", "/", "/", "x"]),
    (AnalyzerSpec(punctuation=False), "well, (yes) no...", ["well", "yes", "well yes", "no", "yes no"]),
    (AnalyzerSpec(punctuation=False), "#\u20e3 #", ["#\u20e3"]),
    (AnalyzerSpec(across=False), "中 文", ["中", " 中", "中 ", " 中 ", "文", " 文", "文 ", " 文 "]),
    (AnalyzerSpec(across=False, words=1), "中。", ["中", " 中", "中 ", " 中 ", "。"]),
    (AnalyzerSpec(words=3), "a b c", ["a", "b", "a b", "c", "b c", "a b c"]),
    (AnalyzerSpec(kana_han=(2, 2)), "日本語", [" 日", "日本", "本語", "語 "]),
    (AnalyzerSpec(stop_words=["the"]), "on the mat", ["on", "mat", "on mat"]),
    (AnalyzerSpec(name="words", words=2, stop_words=["the"]), "On The mat", ["on", "mat", "on mat"]),
    (AnalyzerSpec(urls=True, words=1), "see http://a.b/c now", ["see", "\ue000", "now"]),
    (AnalyzerSpec(numbers=True, words=1), "1,000 yen, 2 eggs", ["\ue002", "yen", ",", "\ue002", "eggs"]),
    # Private use is no word character in general, but what stands for a mention is.
    (AnalyzerSpec(mentions=True, name="words"), "hi @bob ΑΣ", ["hi", "\ue001", "ας"]),
    (AnalyzerSpec(name="words"), "hi\ue001bob", ["hi", "bob"]),
    (AnalyzerSpec(html=True, words=1), "<p>R&amp;D</p>", ["r", "&", "d"]),
]


@pytest.mark.parametrize("mode", ["reference", *MODES])
@pytest.mark.parametrize(("spec", "text", "expected"), OPTIONS, ids=[text for _, text, _ in OPTIONS])
def test_options_by_hand(spec: AnalyzerSpec, text: str, expected: list[str], mode: str) -> None:
    check_by_hand(spec, text, expected, mode)


# The kernels against the reference


@every
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
@example(texts=["", "a", ""])
@example(texts=["日", "", "本"])
@example(texts=["a" * 16, "a" * 17, "a" * 15 + "é", "é" * 8 + "a"])
@example(texts=["ΟΔΟΣ", "plain", "q\u0301\u0323\u0334", "日本"])
@settings(max_examples=examples(40))
def test_kernels_equal_reference(spec: AnalyzerSpec, texts: list[str]) -> None:
    for mode in MODES:
        check(spec, texts, mode)


@every
@given(text=TEXTS)
@settings(max_examples=examples(15))
def test_order_of_the_text(spec: AnalyzerSpec, text: str) -> None:
    # A feature gets its id when it is first met, so the ids of one document tell the order of the kernel.
    expected = list(dict.fromkeys(features(spec, text)))
    for mode in MODES:
        assert learned(spec, [text], mode).features() == expected


@pytest.mark.parametrize("mode", quick(1, reversed(MODES)))
@every
def test_words_of_every_length(spec: AnalyzerSpec, mode: str) -> None:
    # Keys hold 16 bytes, blocks 64: lengths around both, and the same bytes at different places of a block.
    texts = [" ".join(letter * n for n in (*range(1, 70), 127, 128, 129)) for letter in ("x", "é", "日", "𐐨", "한")]
    texts += ["." * n + "word" + " " * n + "wörd" * n for n in range(66)]
    check(spec, texts, mode)


def test_plain_words_of_every_length() -> None:
    texts = ["." * n + "word" + " " * n + "wörd" * n for n in (*range(18), 63, 64, 65)]
    check(SPECS["universal"], texts, "plain")


@both
@every
def test_same_beginning_or_end(spec: AnalyzerSpec, mode: str) -> None:
    stem = "abcdefghijklmnopqrstuvwxyz" * 3
    texts = [f"{stem[:n]}1 {stem[:n]}2 1{stem[:n]} 2{stem[:n]} {stem[:n]}" for n in (7, 8, 9, 15, 16, 17, 24, 64, 78)]
    check(spec, texts, mode)


SHORT = AnalyzerSpec(words=1, kana_han=(1, 1), hangul=(1, 1), unspaced=(1, 2))


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("spec", [SPECS["words 1-2"], SHORT], ids=["words", "universal"])
def test_every_code_point(spec: AnalyzerSpec, step: int) -> None:
    codes = [chr(c) for c in range(0, 0x110000, step) if not 0xD800 <= c <= 0xDFFF]
    texts = ["".join(codes[i : i + 512]) for i in range(0, len(codes), 512)]
    check(spec, texts, "compiled", ["a"] * len(texts))


@pytest.mark.parametrize("around", ["{}", "a{}b", "日{}本", ":{})"])
def test_code_points_that_are_something(around: str) -> None:
    """Every character that is neither a word character nor white space, and some of the others, among others."""
    some = [c for kind, chars in BY_CLASS.items() for c in (chars[:: 1 + len(chars) // 1500])]
    texts = [" ".join(around.format(c) for c in some[i : i + 50]) for i in range(0, len(some), 50)]
    check(AnalyzerSpec(), texts, "compiled", ["a"] * len(texts))
    check(AnalyzerSpec(name="words"), texts, "compiled", ["a"] * len(texts))


@pytest.mark.parametrize("emoticon", reference.EMOTICONS)
def test_emoticons(emoticon: str) -> None:
    texts = [
        emoticon,
        f"so {emoticon} yes",
        f"x{emoticon}y",
        f"{emoticon}{emoticon}",
        f"{emoticon}/",
        f"日{emoticon}",
        f"{emoticon}\u0301",
    ]
    for mode in MODES:
        check(AnalyzerSpec(), texts, mode)
    assert features(AnalyzerSpec(words=1), f"so {emoticon} yes") == ["so", *emoticon, emoticon, "yes"]


@both
def test_many_documents_of_many_sizes(mode: str) -> None:
    """Nothing of a document leaks into the next, whatever its size."""
    texts = [f"{'w' * (i % 70)} 日本{i % 7} {'é' * (i % 5)}" for i in range(300)]
    for spec in (SPECS["words 1-2"], SPECS["universal"]):
        check(spec, texts, mode)


# Real text

FOLDERS = [
    "20news",
    "ag_news",
    "aozora",
    "enron_spam",
    "goemotions",
    "imdb",
    "livedoor",
    "nsmc",
    "reuters",
    "sms_spam",
    "thucnews",
    "twitter_samples",
]


def corpus(folder: Path) -> list[str]:
    """All texts of a corpus."""
    if folder.name == "livedoor":
        with tarfile.open(folder / "livedoor.tar.xz") as archive:
            members: Any = ((member, archive.extractfile(member)) for member in archive if member.name.endswith(".txt"))
            return [file.read().decode() for _, file in members]
    tables = [pq.read_table(path, columns=["text"]) for path in sorted(folder.glob("*.parquet"))]
    return [text for table in tables for text in table.column("text").to_pylist()]


@pytest.mark.data
@pytest.mark.parametrize("n_docs", quick(1, [40, 300]))
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "livedoor" else name for name in FOLDERS]
)
def test_sample_of_a_corpus(name: str, n_docs: int, data_folder: Path) -> None:
    texts = corpus(data_folder / name)
    step = max(1, len(texts) // n_docs)
    sample = [text[:1500] for text in texts[::step][:n_docs]]
    assert len(sample) >= min(n_docs, 70)
    check(AnalyzerSpec(), sample, "compiled", ["a"] * len(sample))
    check(AnalyzerSpec(name="words", words=2), sample, "compiled", ["a"] * len(sample))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", FOLDERS)
def test_all_of_a_corpus(name: str, data_folder: Path) -> None:
    texts = corpus(data_folder / name)
    for lo in range(0, len(texts), 5000):
        batch = texts[lo : lo + 5000]
        check(AnalyzerSpec(), batch, "compiled", ["a"] * len(batch))
        check(AnalyzerSpec(name="words"), batch, "compiled", ["a"] * len(batch))
