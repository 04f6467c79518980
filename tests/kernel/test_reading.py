"""The table for reading: the same scores, to the bit, as the weights of a document's own words give."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bunrui import TextClassifier
from bunrui.analysis.analyzer import documents_of
from bunrui.kernel import alike, reading, slices, workspace
from bunrui.kernel.alike import group
from bunrui.kernel.vocabulary import MISSING
from bunrui.kernel.workspace import ITEMS
from bunrui.models import MODELS
from bunrui.models.counting import CountingModel
from bunrui.models.linear import Reader
from tests.kernel.test_hash import narrowed
from tests.support.kernels import MODES, kernels
from tests.support.models import BY_WORD

every = pytest.mark.parametrize("model", MODELS)


@pytest.fixture(autouse=True, params=[0, 1 << 18], ids=["rows of a document", "rows with stamps"])
def repeats(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats are found in either of two ways."""
    monkeypatch.setattr(reading, "_FEW_ROWS", request.param)


WORDS = [f"w{k}" for k in range(90)] + ["x" * n + end for n in (15, 16, 17, 40) for end in "abc"] + ["", "\0" * 16]


def corpus(n_classes: int, n_docs: int = 150) -> tuple[list[list[str]], list[str]]:
    rng = np.random.default_rng(n_classes)
    places = (rng.zipf(1.3, size=(n_docs, 12)) * 7) % len(WORDS)
    return [[WORDS[k] for k in row] for row in places.tolist()], [f"c{k % n_classes:04d}" for k in range(n_docs)]


def learned(model: str, n_classes: int, **options: Any) -> TextClassifier:
    """With features that no document has any more."""
    texts, labels = corpus(n_classes, max(150, n_classes))
    clf = TextClassifier(model, **options).learn(texts, labels).learn([["gone", "w1"], ["gone too"]], labels[:2])
    return clf.unlearn([["gone", "w1"], ["gone too"]], labels[:2])


QUERIES = [
    *corpus(5, 30)[0],
    WORDS,
    WORDS[::-1] * 3,
    ["gone", "gone too", "gone"],
    ["never", "w2", "never", "x" * 17 + "d", "x" * 41],
    ["w1"] * 50,
    [],
]


def reader_of(clf: TextClassifier) -> Reader:
    model = clf.current_model
    assert isinstance(model, CountingModel)
    return model.reader()


def has_table(clf: TextClassifier) -> bool:
    docs, _ = documents_of(clf.text_analyzer, ["a"])
    return reader_of(clf).wants_table(docs)


def few_and_many(clf: TextClassifier, queries: list[Any]) -> tuple[Any, Any]:
    """Scores of each query by itself, without a table, and of all of them with one."""
    few = np.concatenate([clf.scores([query]) for query in queries])
    assert not has_table(clf)
    many = clf.scores(queries * (1 + 33 // len(queries)))[: len(queries)]
    assert has_table(clf)
    return few, many


def check(clf: TextClassifier, queries: list[Any]) -> None:
    few, many = few_and_many(clf, queries)
    assert few.tobytes() == many.tobytes()


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 6, 7, 15, 16, 17, 2000])
@pytest.mark.parametrize("model", ["binary-complement", "multinomial"])
def test_any_number_of_classes(model: str, n_classes: int) -> None:
    check(learned(model, n_classes), QUERIES)


@every
@pytest.mark.parametrize("options", [{"min_df": 5}, {"unseen": "smooth"}, {"max_features": 20}, {"smoothing": "mle"}])
def test_options(model: str, options: dict[str, Any]) -> None:
    check(learned(model, 3, **options), QUERIES)


@every
def test_counts_that_are_given(model: str) -> None:
    check(learned(model, 3), [{"w1": 2, "w2": 1, "never": 4, "x" * 17 + "a": 3}, {"w5": 0}, {}, {"gone": 1}])


@pytest.mark.parametrize("model", BY_WORD)
def test_words_that_have_weights_of_their_own(model: str) -> None:
    """Though their counts are those of other words."""
    clf = TextClassifier(model, alpha={"a": 3.0, "b": 0.25}).learn([["a", "b", "c", "d"], ["e"]], ["x", "y"])
    check(clf, [["a"], ["b"], ["c"], ["d"], ["e", "a", "b"]])
    assert len(set(clf.scores([["a"], ["b"], ["c"]])[:, 0].tolist())) == 3


@narrowed
@pytest.mark.parametrize("mode", MODES)
def test_features_that_share_a_hash(mask: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = QUERIES[-8:]
    expected, _ = few_and_many(learned("binary-complement", 3), queries)
    monkeypatch.setattr(workspace, "NARROW_HASH", mask)
    clf = learned("binary-complement", 3)
    with kernels(mode):
        few, many = few_and_many(clf, queries)
    assert few.tobytes() == many.tobytes() == expected.tobytes()


@every
def test_a_document_of_many_blocks(model: str) -> None:
    """Repeats are found across blocks of items, and the next document has its own."""
    words = [f"w{k % 5000}" for k in range(3 * ITEMS)]
    clf = TextClassifier(model).learn([words[:4000], words[1000:5000], ["z"]], ["a", "b", "a"])
    rows = clf.scores([words, words[:10], words, words[:5000]])
    assert rows[0].tobytes() == rows[2].tobytes()
    assert rows[1].tobytes() == clf.with_model().scores([words[:10]])[0].tobytes()
    if MODELS[model].presence:
        assert rows[0].tobytes() == rows[3].tobytes()


@pytest.mark.parametrize("model", ["binary-complement", "multinomial", "wcnb"])
def test_any_number_of_threads(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = learned(model, 7).scores(QUERIES)
    for module in (alike, reading, slices):
        monkeypatch.setattr(module, "_WORTH_A_THREAD", 1)
    for n_threads in ("2", "16"):
        monkeypatch.setenv("BUNRUI_THREADS", n_threads)
        clf = learned(model, 7)
        assert clf.scores(QUERIES).tobytes() == expected.tobytes()
        check(learned(model, 7), QUERIES)


@pytest.mark.parametrize("n_regions", ["one", "many"])
def test_every_feature_is_found_however_the_table_is_cut(n_regions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts go through regions: features that went round theirs stand before the stretch that they belong to."""
    monkeypatch.setattr(workspace, "_REGION_BITS", 5 if n_regions == "many" else 30)
    for module in (alike, reading, slices):
        monkeypatch.setattr(module, "_WORTH_A_THREAD", 1)
    words = [f"v{k}" for k in range(5000)]
    texts = [" ".join(words[k : k + 50]) for k in range(0, 5000, 50)]
    labels = ["a" if k % 3 else "b" for k in range(100)]
    monkeypatch.setenv("BUNRUI_THREADS", "1")
    expected = TextClassifier(analyzer="words").learn(texts, labels).scores(words)
    assert len({row.tobytes() for row in expected}) == 2
    for n_threads in ("2", "3", "5", "7", "12"):
        monkeypatch.setenv("BUNRUI_THREADS", n_threads)
        found = TextClassifier(analyzer="words").learn(texts, labels).scores(words)
        assert found.tobytes() == expected.tobytes()


def test_a_document_with_all_that_was_learned() -> None:
    """Neighbours in the table do not crowd the table of the document: that took seconds, and minutes for 2 MB."""
    words = [f"v{k}" for k in range(60_000)]
    clf = TextClassifier("binary", analyzer="words").learn([" ".join(words), "other words"], ["a", "b"])
    twice = " ".join(words + words[::-1])
    assert clf.scores([twice]).tobytes() == clf.scores([" ".join(words)]).tobytes()


# Groups


def groups_of(clf: TextClassifier, **options: Any) -> dict[str, int]:
    """The number of the group of every feature."""
    counts = clf.counts
    options = {"by_docs": True, "by_word": False} | options
    ids = counts.live_ids()
    ids = ids[options.pop("keep", np.ones(counts.n_ids))[ids] != 0]
    found = group(counts.postings, ids.astype(np.uint32), counts.n_ids, **options)
    assert found.n_known == sum(place != MISSING for place in found.places.tolist())
    assert [found.places[f] for f in found.firsts.tolist()] == list(range(len(found.firsts)))
    return dict(zip(counts.features(), found.places.tolist(), strict=True))


def test_features_with_the_same_counts_are_alike() -> None:
    clf = TextClassifier().learn([["a", "b", "b", "c"], ["c", "d"], ["e"]], ["x", "y", "y"]).unlearn([["e"]], ["y"])
    by_docs = groups_of(clf)
    assert by_docs["a"] == by_docs["b"]
    assert len({by_docs[word] for word in "acd"}) == 3 and by_docs["e"] == MISSING
    by_terms = groups_of(clf, by_docs=False)
    assert len({by_terms[word] for word in "abcd"}) == 4
    assert sorted(groups_of(clf, by_word=True).values()) == [0, 1, 2, 3, MISSING]
    kept = groups_of(clf, keep=np.array([1, 0, 1, 0, 1], np.uint8))
    assert [kept[word] == MISSING for word in "abcde"] == [False, True, False, True, True]


def test_totals_tell_features_apart() -> None:
    """A document with two labels is one document."""
    clf = TextClassifier().learn([["a"], ["b"], ["b"]], [["x", "y"], ["x"], ["y"]])
    assert groups_of(clf)["a"] != groups_of(clf)["b"]


@pytest.mark.parametrize("n_threads", ["1", "5"])
def test_more_groups_than_there_was_room_for(n_threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_THREADS", n_threads)
    monkeypatch.setattr(alike, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(alike, "_FEW_GROUPS", 2)
    words = [f"w{k}" for k in range(200) for _ in range(1 + k % 40)]
    found = groups_of(TextClassifier().learn([words], ["x"]), by_docs=False)
    assert len(set(found.values())) == 40
    assert all(found[f"w{k}"] == found[f"w{k % 40}"] for k in range(200))


# The table itself


def test_stretches_cover_everything() -> None:
    assert all(b > a for a, b in pairwise(slices.stretches(1000, 100)))
    assert slices.stretches(0, 100) == [0, 0]


def test_memory_of_the_table() -> None:
    """64 bytes for three keys, of which half are taken."""
    clf = TextClassifier().learn([[f"word {k}" for k in range(30_000)]], ["x"])
    clf.scores(["a"] * 33)
    assert has_table(clf)
    known, table, _ = reader_of(clf).weights()
    assert 40 * 30_000 < known.words.nbytes < 44 * 30_000
    assert known.words.ctypes.data % 64 == 0
    assert len(table.lengths) == 1
