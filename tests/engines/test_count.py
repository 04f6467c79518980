"""Counting by partitions gives the counts of a dictionary, however documents are cut and features are spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bunrui import TextClassifier
from bunrui.engines import count as counting
from bunrui.engines.labelgroups import label_sets
from bunrui.kernel import workspace
from tests.support.examples import quick
from tests.support.kernels import MODES, kernels


def expected(documents: Sequence[Any], labels: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    """(occurrences, documents) of every feature with every label, counted one by one."""
    terms: Counter[tuple[str, str]] = Counter()
    docs: Counter[tuple[str, str]] = Counter()
    for document, label in zip(documents, labels, strict=True):
        words = Counter(document) if isinstance(document, (list, dict)) else Counter(document.split())
        for word, times in words.items():
            if times:
                terms[word, label] += times
                docs[word, label] += 1
    return {key: (terms[key], docs[key]) for key in terms}


def counted(documents: Sequence[Any], labels: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    clf = TextClassifier(analyzer="words").learn(documents, labels)
    counts = clf.counts
    cells = {(feature, label): (terms, docs) for feature, label, terms, docs in counts.cells()}
    sums: Counter[str] = Counter()
    for (feature, _), (terms, _docs) in cells.items():
        sums[feature] += terms
    assert sums == {feature: terms for feature, (terms, _) in counts.totals().items()}
    assert sorted(counts.ids_of(list(sums))) == list(range(len(sums)))
    return cells


def corpus(seed: int, n: int = 300) -> tuple[list[str], list[str]]:
    """Words as frequent as in a language, some longer than a key, in documents of any length."""
    rng = np.random.default_rng(seed)
    names = [f"w{k}" + "o" * (40 * (k % 7 == 0)) + "ng" * (k % 13) for k in range(2000)]
    texts = [" ".join(names[k % 2000] for k in rng.zipf(1.2, rng.integers(0, 90))) for _ in range(n)]
    return texts, [f"c{k}" for k in rng.integers(0, 5, n)]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every bound is small: many partitions, many rounds, streams that are soon full."""
    monkeypatch.setattr(workspace, "_REGION_BITS", 5)
    monkeypatch.setattr(counting, "_WORTH_A_THREAD", 1 << 10)
    monkeypatch.setattr(counting, "_RECORDS", 500)
    monkeypatch.setattr(counting, "_SMALL", 6)
    monkeypatch.setattr(counting, "_LARGEST", 8)
    monkeypatch.setattr(counting, "_FEW_BYTES", 1000)
    return monkeypatch


@pytest.mark.parametrize("n_threads", [1, 2, 5, 16])
@pytest.mark.parametrize("seed", quick(1, range(4)))
def test_any_number_of_threads_and_partitions(seed: int, n_threads: int, tiny: pytest.MonkeyPatch) -> None:
    tiny.setenv("BUNRUI_THREADS", str(n_threads))
    texts, labels = corpus(seed)
    assert counted(texts, labels) == expected(texts, labels)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_documents_with_few_words_and_with_many(n_threads: int, tiny: pytest.MonkeyPatch) -> None:
    """Where nearly all items are in the small table, another loop counts them."""
    tiny.setenv("BUNRUI_THREADS", str(n_threads))
    rng = np.random.default_rng(n_threads)
    few = ["a", "b", "x" * 16, "x" * 17, "\0" * 16, "\0"]
    documents = []
    for _ in range(400):
        words = [few[k] for k in rng.integers(0, len(few), rng.integers(0, 200))]
        documents.append(words + [f"w{k}" for k in rng.integers(0, 3000, rng.choice([0, 1, 300]))])
    labels = [f"c{k}" for k in rng.integers(0, 3, len(documents))]
    assert counted(documents, labels) == expected(documents, labels)


@pytest.mark.parametrize("mask", [0, 0xFF << 56, 0xFFFF_0000_0000_0000, 0xFF00_0000, 0xFF])
def test_hashes_that_agree(mask: int, tiny: pytest.MonkeyPatch) -> None:
    """Features with the same highest bits all belong to one partition: then there is only one."""
    tiny.setattr(workspace, "NARROW_HASH", mask)
    texts, labels = corpus(7, 80)
    assert counted(texts, labels) == expected(texts, labels)


@pytest.mark.parametrize("n_words", quick(1, [30_000, 150_000]))
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_document_that_is_longer_than_the_streams(n_threads: int, n_words: int, tiny: pytest.MonkeyPatch) -> None:
    tiny.setenv("BUNRUI_THREADS", str(n_threads))
    texts, labels = corpus(3, 60)
    rng = np.random.default_rng(3)
    huge = " ".join(f"word{k}" + "x" * int(k % 40) for k in rng.integers(0, 20_000, n_words))
    texts[20:20] = [huge, huge]
    labels[20:20] = ["c1", "c4"]
    assert counted(texts, labels) == expected(texts, labels)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_long_documents_of_any_length(n_threads: int, tiny: pytest.MonkeyPatch) -> None:
    """Wherever streams are full, also where the document is done and only counters are left."""
    tiny.setenv("BUNRUI_THREADS", str(n_threads))
    for n in range(3000, 6000, 111):
        texts = [" ".join(f"v{k * n % 2600}" for k in range(size)) for size in (n, 5, n + 7, n)]
        labels = ["a", "b", "a", "c"]
        assert counted(texts, labels) == expected(texts, labels)


def test_very_long_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not make room for themselves in every partition."""
    monkeypatch.setattr(workspace, "_REGION_BITS", 5)
    monkeypatch.setattr(counting, "_MOST_BYTES", 1 << 22)
    words = [letter * 300_000 for letter in "abcdefgh"]
    texts = [" ".join(words[k:]) + " x y" for k in range(8)]
    labels = ["p", "q"] * 4
    assert counted(texts, labels) == expected(texts, labels)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_counts_that_are_given(n_threads: int, tiny: pytest.MonkeyPatch) -> None:
    """A record holds 65,535 occurrences: more take several."""
    tiny.setenv("BUNRUI_THREADS", str(n_threads))
    rng = np.random.default_rng(5)
    amounts = [0, 1, 2, 7, 65_534, 65_535, 65_536, 200_000]
    documents: list[Any] = [
        {f"w{k % 300}" + "y" * int(k % 30): int(rng.choice(amounts)) for k in rng.integers(0, 3000, 40)}
        for _ in range(150)
    ]
    documents[60:70] = [["w1", "w2", "w1"]] * 10
    labels = [f"c{k}" for k in rng.integers(0, 3, 150)]
    assert counted(documents, labels) == expected(documents, labels)


def test_many_groups(tiny: pytest.MonkeyPatch) -> None:
    texts, _ = corpus(11)
    labels = [f"c{k % 97}" for k in range(len(texts))]
    assert counted(texts, labels) == expected(texts, labels)


def test_nothing_to_count(tiny: pytest.MonkeyPatch) -> None:
    assert counted(["", "  ", ""], ["a", "b", "a"]) == {}


@pytest.mark.parametrize("mode", MODES)
def test_plain_and_compiled(mode: str, tiny: pytest.MonkeyPatch) -> None:
    texts, labels = corpus(13, 40)
    with kernels(mode):
        assert counted(texts, labels) == expected(texts, labels)


# Few bytes


@pytest.mark.parametrize("analyzer", ["words", "universal"])
def test_few_documents_have_the_counts_that_many_bytes_would_have(
    analyzer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone and together, short and long, with more features than most texts of their length have."""
    rng = np.random.default_rng(5)
    texts, _ = corpus(5, 40)
    texts += ["", "a", "\0" * 17, "ü" * 40, "".join(chr(k) for k in rng.integers(0x4E00, 0x6000, 5000))]
    texts += [" ".join(map(chr, range(0x4E00, 0x4E00 + n))) for n in (50, 400, 3000)]
    batches = [[text] for text in texts] + [texts[:5], texts[3:30], texts]
    found = [TextClassifier("binary", analyzer=analyzer).learn(some, ["x"] * len(some)).counts for some in batches]
    monkeypatch.setattr(counting, "_FEW_BYTES", -1)
    many = [TextClassifier("binary", analyzer=analyzer).learn(some, ["x"] * len(some)).counts for some in batches]
    assert found == many


@pytest.mark.parametrize("narrow", [workspace.NARROW_HASH, 0, 0xFF << 56])
def test_counts_that_were_given_back_change_nothing_that_stays(narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays of one document serve for the next; those of counts that stay do not."""
    monkeypatch.setattr(workspace, "NARROW_HASH", narrow)
    texts, labels = corpus(11, 60)
    sets = [["c0", "c1"] if label == "c4" else [label] for label in labels]
    clf = TextClassifier("binary", analyzer="words")
    apart = [TextClassifier("binary", analyzer="words") for _ in texts]
    for text, names, other in zip(texts, sets, apart, strict=True):
        clf.learn([text], [names])
        other.learn([text], [names])
    assert clf.counts == TextClassifier("binary", analyzer="words").learn(texts, sets).counts
    total = TextClassifier("binary", analyzer="words")
    for other in apart:
        total.merge(other)
    assert total.counts == clf.counts
    for text, names in zip(texts, sets, strict=True):
        clf.unlearn([text], [names])
    assert clf.counts.n_features == clf.counts.n_docs == 0


def test_counts_that_are_given_back_twice_serve_once() -> None:
    clf = TextClassifier("binary", analyzer="words").learn(["z"], ["y"])
    counts = clf.count_sets([" ".join(f"w{k}" for k in range(1800))], label_sets(["y"], 1, {}))
    counting.release(counts)
    counting.release(counts)
    bits = workspace.bits_of(counts.vocabulary)
    assert all(workspace.empty_slots(bits) is not counts.vocabulary.slots for _ in range(3))
