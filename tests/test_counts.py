"""The laws of counts: whatever the order, the grouping, the threads, and whatever was taken back, the same bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from bunrui import AnalyzerSpec, Counts, TextClassifier
from bunrui.engines import count as counting
from bunrui.errors import DataError, MismatchError, UnlearnError
from bunrui.kernel import slices, workspace
from bunrui.models import MODELS
from tests.support.examples import examples
from tests.support.kernels import MODES, kernels
from tests.support.models import BY_WORD

Document = tuple[list[str], Any]

LABELS = ["ham", "spam", "ニュース", "z"]
# Short and long features (a key has 16 bytes), some with the same beginning.
WORDS = ["a", "b", "c", "d", "日本", "x" * 16, "x" * 17, "x" * 16 + "y", "é" * 40, ""]

tokens = st.lists(st.sampled_from(WORDS), max_size=6)
one_label = st.sampled_from(LABELS)
some_labels = st.sets(one_label, min_size=1, max_size=3).map(frozenset)
single = st.lists(st.tuples(tokens, one_label), max_size=10)
several = st.lists(st.tuples(tokens, some_labels), max_size=10)
CORPORA = st.one_of(single, several, st.lists(st.tuples(tokens, one_label | some_labels), max_size=10))

# Every model with every estimator; priors, unseen words, words with a λ of their own, and selection for some.
SETTINGS: list[dict[str, Any]] = [
    {"model": model, "smoothing": smoothing} for model in MODELS for smoothing in ("eap", "map", "mle")
]
SETTINGS += [{"model": model, "unseen": "smooth", "prior": "uniform"} for model in MODELS]
SETTINGS += [{"model": model, "alpha": {"a": 0.7, "日本": 3.0}} for model in BY_WORD]
SETTINGS += [
    {"model": "multinomial", "prior": "smoothed", "alpha": 1.0},
    {"model": "bernoulli", "prior": "given"},
    {"model": "multinomial", "min_df": 2},
    {"model": "wcnb", "max_features": 3},
    {"model": "bernoulli", "max_features": ("chi2", 2)},
]
QUERIES = [
    ["a", "b", "a"],
    ["日本", "never", "never", "x" * 17],
    [],
    ["é" * 40, "c", "d", "x" * 16 + "y", ""],
    ["never"],
]


def classifier(documents: Iterable[Document] = ()) -> TextClassifier:
    documents = list(documents)
    return TextClassifier().learn([words for words, _ in documents], [label for _, label in documents])


def reader(clf: TextClassifier, options: dict[str, Any]) -> TextClassifier:
    """The classifier with one of the settings above."""
    if options.get("prior") == "given":
        options = options | {"prior": {label: 0.1 + len(label) for label in clf.classes_.tolist()}}
    return clf.with_model(**options)


def bits(
    clf: TextClassifier, queries: Sequence[Any] = QUERIES, all_settings: Sequence[dict[str, Any]] = SETTINGS
) -> Any:
    """The classes, and the scores of every model as integers: equal only where every bit is."""
    if not clf.counts.n_docs:
        return None
    readers = [reader(clf, options) for options in all_settings]
    scores = np.array([reader.scores(queries) for reader in readers])
    assert np.isfinite(scores).all()
    return clf.classes_.tolist(), scores.view(np.int64).tolist()


def assert_same(found: TextClassifier, expected: TextClassifier) -> None:
    assert found.counts == expected.counts
    assert bits(found) == bits(expected)


def labels_of(label: Any) -> set[str]:
    return {label} if isinstance(label, str) else set(label)


def check_by_hand(counts: Counts, documents: Sequence[Document]) -> None:
    """Everything that counts tell, against counting with dictionaries."""
    cells: Counter[tuple[str, str]] = Counter()
    cell_docs: Counter[tuple[str, str]] = Counter()
    terms: Counter[str] = Counter()
    docs: Counter[str] = Counter()
    by_class: dict[str, list[int]] = {}
    for words, label in documents:
        terms.update(words)
        docs.update(set(words))
        for name in labels_of(label):
            cells.update((word, name) for word in words)
            cell_docs.update((word, name) for word in set(words))
            sums = by_class.setdefault(name, [0, 0, 0])
            by_class[name] = [sums[0] + 1, sums[1] + len(words), sums[2] + len(set(words))]
    assert list(counts.cells()) == [(*cell, n, cell_docs[cell]) for cell, n in sorted(cells.items())]
    assert counts.totals() == {word: (n, docs[word]) for word, n in terms.items()}
    assert counts.class_totals() == {name: tuple(sums) for name, sums in by_class.items()}
    assert counts.live_labels == sorted(by_class)
    assert (counts.n_docs, counts.n_terms, counts.n_doc_freq) == (len(documents), terms.total(), docs.total())
    assert (counts.n_features, counts.n_cells) == (len(terms), len(cells))
    texts = counts.features()
    assert sorted(texts[f] for f in counts.live_ids()) == sorted(terms)


# What is counted


@given(CORPORA)
@settings(max_examples=examples(60))
def test_counts_by_hand(documents: list[Document]) -> None:
    check_by_hand(classifier(documents).counts, documents)


def test_several_labels_are_one_document() -> None:
    counts = classifier([(["a", "a"], {"x", "y"}), (["a"], {"y"})]).counts
    assert (counts.n_docs, counts.n_terms, counts.n_doc_freq) == (2, 3, 2)
    assert counts.totals() == {"a": (3, 2)}
    assert list(counts.cells()) == [("a", "x", 2, 1), ("a", "y", 3, 2)]
    assert counts.class_totals() == {"x": (1, 2, 1), "y": (2, 3, 2)}


@pytest.mark.parametrize("labels", [["b", "a", "b"], [{"b"}, {"a"}, {"b"}], [{"b"}, "a", ["b"]]])
def test_one_label_is_the_same_alone_or_in_a_set(labels: list[Any]) -> None:
    counts = TextClassifier().learn([["p"], ["q"], ["p", "r"]], labels).counts
    assert list(counts.cells()) == [("p", "b", 2, 2), ("q", "a", 1, 1), ("r", "b", 1, 1)]
    assert counts.class_totals() == {"a": (1, 1, 1), "b": (2, 3, 3)}


@given(CORPORA)
@settings(max_examples=examples(30))
def test_equal_means_equal(documents: list[Document]) -> None:
    counts = classifier(documents).counts
    assert counts == classifier(documents).counts
    for k in range(len(documents)):
        assert counts != classifier(documents[:k] + documents[k + 1 :]).counts
    assert counts != "counts"


# Merging


@given(CORPORA, CORPORA, CORPORA)
@settings(max_examples=examples(200), deadline=None)
def test_equal_is_equal_cell_by_cell(a: list[Document], b: list[Document], gone: list[Document]) -> None:
    one, two = classifier(a + gone).counts, classifier(b).counts
    if gone:
        one.subtract(classifier(gone).counts)
    by_hand = (
        (one.n_docs, one.n_terms, one.n_doc_freq) == (two.n_docs, two.n_terms, two.n_doc_freq)
        and one.class_totals() == two.class_totals()
        and one.totals() == two.totals()
        and list(one.cells()) == list(two.cells())
    )
    assert (one == two) is by_hand
    assert (two == one) is by_hand
    assert one == classifier(a).counts


@st.composite
def sharded(draw: st.DrawFn) -> tuple[list[Document], list[list[Document]]]:
    """Documents, and the same in another order and in parts, some of them empty."""
    documents = draw(CORPORA)
    order = draw(st.permutations(documents))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    return documents, [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]


@given(sharded())
@settings(max_examples=examples(40))
def test_any_sharding_and_any_order(case: tuple[list[Document], list[list[Document]]]) -> None:
    documents, shards = case
    whole = classifier(documents)
    learned = classifier()
    for shard in shards:
        learned.learn([words for words, _ in shard], [label for _, label in shard])
    assert_same(learned, whole)
    merged = reduce(lambda one, other: one.merge(other), map(classifier, shards))
    assert_same(merged, whole)


@given(CORPORA, CORPORA, CORPORA)
@settings(max_examples=examples(25))
def test_merge_is_associative_and_commutative(a: list[Document], b: list[Document], c: list[Document]) -> None:
    left = classifier(a).merge(classifier(b)).merge(classifier(c))
    right = classifier(a).merge(classifier(b).merge(classifier(c)))
    turned = classifier(c).merge(classifier(b)).merge(classifier(a))
    assert_same(left, right)
    assert_same(left, turned)


@given(CORPORA, CORPORA)
@settings(max_examples=examples(25))
def test_merge_leaves_the_other_alone(a: list[Document], b: list[Document]) -> None:
    one, other = classifier(a), classifier(b)
    one.merge(other).learn([["a", "new"]], ["new"])
    check_by_hand(other.counts, b)


@given(CORPORA)
@settings(max_examples=examples(20))
def test_a_copy_is_its_own(documents: list[Document]) -> None:
    counts = classifier(documents).counts
    copy = counts.copy()
    assert copy == counts
    copy.add(classifier([(["a", "new"], "new")]).counts)
    check_by_hand(counts, documents)
    check_by_hand(copy, [*documents, (["a", "new"], "new")])


HARD = " q\u0301\u0323\u0334"  # three marks out of order: left to Python


@pytest.fixture
def small_work_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_WORTH_A_THREAD", 1)


@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.usefixtures("small_work_on_threads")
def test_any_number_of_threads(n: int, multi: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(n)
    names = [f"c{k}" for k in range(7)]
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.3, 30) % 500) + HARD * (k % 9 == 0) for k in range(200)]
    labels: list[Any] = [set(rng.choice(names, 1 + k % 3)) if multi else str(rng.choice(names)) for k in range(200)]
    used: set[int] = set()
    read = counting._Reader.read

    def noted(reader: Any, streams: Any) -> None:
        used.add(reader.thread)
        read(reader, streams)

    monkeypatch.setattr(counting, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(counting._Reader, "read", noted)
    monkeypatch.setenv("BUNRUI_THREADS", "1")
    alone = TextClassifier().learn(texts, labels)
    assert used == {0}
    expected = bits(alone, texts[:40])
    monkeypatch.setenv("BUNRUI_THREADS", str(n))
    together = TextClassifier().learn(texts, labels)
    assert used == set(range(n))
    assert together.counts == alone.counts
    assert bits(together, texts[:40]) == expected


# Taking back


@st.composite
def with_part(draw: st.DrawFn) -> tuple[list[Document], list[Document], list[Document]]:
    """Documents; those to take back, in some order; those that stay."""
    documents = draw(CORPORA)
    taken = draw(st.lists(st.booleans(), min_size=len(documents), max_size=len(documents)))
    goes = [document for document, gone in zip(documents, taken, strict=True) if gone]
    stays = [document for document, gone in zip(documents, taken, strict=True) if not gone]
    return documents, draw(st.permutations(goes)), stays


@given(with_part())
@settings(max_examples=examples(40))
def test_unlearning_is_never_having_seen(case: tuple[list[Document], list[Document], list[Document]]) -> None:
    documents, goes, stays = case
    never = classifier(stays)
    at_once = classifier(documents).unlearn([words for words, _ in goes], [label for _, label in goes])
    assert_same(at_once, never)
    check_by_hand(at_once.counts, stays)
    one_by_one = classifier(documents)
    for words, label in goes:
        one_by_one.unlearn([words], [label])
    assert_same(one_by_one, never)


@given(CORPORA)
@settings(max_examples=examples(20))
def test_nothing_is_left_of_everything(documents: list[Document]) -> None:
    clf = classifier(documents)
    clf.unlearn([words for words, _ in documents], [label for _, label in documents])
    assert (clf.counts.n_features, clf.counts.n_cells, clf.counts.live_labels) == (0, 0, [])
    assert clf.counts == classifier().counts
    # And again from there.
    clf.learn([["b"], ["a"]], ["z", "ham"])
    assert_same(clf, classifier([(["b"], "z"), (["a"], "ham")]))


def test_what_reaches_zero_is_gone() -> None:
    clf = classifier([(["a", "b"], "x"), (["b", "c"], "y"), (["c"], "y")])
    clf.unlearn([["a", "b"]], ["x"])
    assert clf.classes_.tolist() == ["y"]
    assert sorted(clf.counts.totals()) == ["b", "c"]
    assert clf.counts.n_features == 2
    assert_same(clf, classifier([(["b", "c"], "y"), (["c"], "y")]))


REFUSED: dict[str, tuple[list[Any], list[Any], str]] = {
    "a word that was never learned": ([["never"]], ["x"], "this was never learned: 'never' does not occur as often"),
    "a word of another class": (
        [["c"]],
        ["x"],
        "this was never learned: 'c' does not occur as often with these labels",
    ),
    "a word too often": ([["a", "a", "a"]], ["x"], "this was never learned: 'a' does not occur as often"),
    "a word in too many documents": ([["a"], ["a"]], ["x", "x"], "this was never learned: 'a' does not occur as often"),
    "one good document, one bad": ([["a", "a", "b"], ["d"]], ["x", "y"], "this was never learned: 'd' does not"),
    "a label that was never learned": ([["a"]], ["w"], "label 'w' has no documents: 1 document cannot be taken back"),
    "too many documents": (
        [["b"], [], []],
        ["x", "x", "x"],
        "label 'x' has 2 documents: 3 documents cannot be taken back",
    ),
    "too many empty documents": (
        [[]] * 3,
        ["y", "y", "y"],
        "label 'y' has 1 document: 3 documents cannot be taken back",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_subtract_refuses_and_changes_nothing(case: str) -> None:
    texts, labels, message = REFUSED[case]
    documents: list[Document] = [(["a", "a", "b"], "x"), ([], "x"), (["c", "b"], "y"), (["m"], {"s", "t"})]
    clf = classifier(documents)
    before, expected = clf.counts.copy(), bits(clf)
    with pytest.raises(UnlearnError, match=f"^{message}"):
        clf.unlearn(texts, labels)
    assert clf.counts == before
    assert bits(clf) == expected
    check_by_hand(clf.counts, documents)
    # And it can go on: learning what was refused, and taking that back.
    clf.learn(texts, labels).unlearn(texts, labels)
    assert bits(clf) == expected


def test_one_label_of_two_is_not_the_document() -> None:
    clf = classifier([(["a"], {"x", "y"})])
    with pytest.raises(UnlearnError, match=r"^this was never learned: some documents had other labels with these$"):
        clf.unlearn([["a"]], ["x"])
    check_by_hand(clf.counts, [(["a"], {"x", "y"})])


IMPOSSIBLE: dict[str, tuple[list[Document], Document]] = {
    # What would stay: one occurrence in no document.
    "a part of a document": ([(["a", "a"], "x"), (["b"], "x")], (["a"], "x")),
    # One occurrence in two documents.
    "too much of a document": ([(["a", "a"], "x"), (["a"], "x"), (["a"], "x")], (["a", "a", "a"], "x")),
    # A word of class y in no document at all.
    "one label of two": ([(["a"], {"x", "y"}), (["b"], "x"), (["b"], "y")], (["a"], "x")),
    # A word in one document without a class.
    "two labels of two documents": ([(["a"], "x"), (["a"], "y"), (["b"], {"x", "y"})], (["a"], {"x", "y"})),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_subtract_refuses_what_leaves_the_impossible(case: str) -> None:
    documents, (words, label) = IMPOSSIBLE[case]
    clf = classifier(documents)
    with pytest.raises(UnlearnError, match=r"^this was never learned: 'a' does not occur as often with these labels"):
        clf.unlearn([words], [label])
    check_by_hand(clf.counts, documents)


def test_two_documents_are_not_one_with_both_labels() -> None:
    clf = classifier([(["a"], "x"), (["a"], "y")])
    with pytest.raises(UnlearnError, match=r"^this was never learned: some documents had other labels with these$"):
        clf.unlearn([["a"]], [{"x", "y"}])
    check_by_hand(clf.counts, [(["a"], "x"), (["a"], "y")])


def is_possible(counts: Counts, delta: Counts) -> bool:
    """Whether documents could have what stays of every feature."""
    taken = {cell[:2]: cell[2:] for cell in delta.cells()}
    cells: dict[str, list[tuple[int, int]]] = {}
    for word, label, terms, docs in counts.cells():
        less = taken.pop((word, label), (0, 0))
        cells.setdefault(word, []).append((terms - less[0], docs - less[1]))
    totals = {
        word: (n - m, d - e) for word, (n, d) in counts.totals().items() for m, e in [delta.totals().get(word, (0, 0))]
    }
    if taken or any(not 0 <= d <= n or (n and not d) for word in cells for n, d in [*cells[word], totals[word]]):
        return False
    return all(
        max(column) <= total <= sum(column)
        for word, rest in cells.items()
        for column, total in zip(zip(*rest, strict=True), totals[word], strict=True)
    )


@given(CORPORA, CORPORA)
@settings(max_examples=examples(100))
def test_subtract_is_all_or_nothing(documents: list[Document], others: list[Document]) -> None:
    counts, delta = classifier(documents).counts, classifier(others).counts
    before = counts.copy()
    possible = is_possible(counts, delta)
    try:
        counts.subtract(delta)
    except UnlearnError:
        assert counts == before
    else:
        assert possible
        counts.add(delta)
        assert counts == before


class Machine(RuleBasedStateMachine):
    """Learn, unlearn, merge and refuse in any order: the counts are always those of the documents that stay."""

    documents: Bundle[Document] = Bundle("documents")

    @initialize()
    def begin(self) -> None:
        self.clf = classifier()
        self.learned: list[Document] = []

    @rule(target=documents, new=CORPORA)
    def learn(self, new: list[Document]) -> Any:
        self.clf.learn([words for words, _ in new], [label for _, label in new])
        self.learned += new
        return multiple(*new)

    @rule(target=documents, new=CORPORA)
    def merge(self, new: list[Document]) -> Any:
        self.clf.merge(classifier(new))
        self.learned += new
        return multiple(*new)

    @rule(document=consumes(documents))
    def unlearn(self, document: Document) -> None:
        self.clf.unlearn([document[0]], [document[1]])
        self.learned.remove(document)

    @rule(words=tokens, label=one_label)
    def refuse(self, words: list[str], label: str) -> None:
        with pytest.raises(UnlearnError):
            self.clf.unlearn([[*words, "never"]], [label])

    @invariant()
    def counts_are_those_of_the_documents(self) -> None:
        check_by_hand(self.clf.counts, self.learned)

    def teardown(self) -> None:
        assert_same(self.clf, classifier(self.learned))


Machine.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=10)
TestMachine = Machine.TestCase


# Sizes


def test_many_features_that_come_and_go() -> None:
    """More than 4096 features of which most go: the table is written anew, and nobody can tell."""
    clf = classifier([(["stays", "both"], "y")])
    for cycle in range(4):
        texts = [[f"{cycle}-{k}-{n}" for n in range(50)] + ["both"] for k in range(100)]
        clf.learn(texts, ["x", "y"] * 50)
        assert clf.counts.n_features == 5002
        clf.unlearn(texts[:-1], (["x", "y"] * 50)[:-1])
        clf.unlearn(texts[-1:], ["y"])
        assert clf.counts.n_ids < 5000
    assert_same(clf, classifier([(["stays", "both"], "y")]))


def test_lists_that_grow_class_by_class() -> None:
    """A list that outgrows its room moves and leaves a hole; holes are closed, and nobody can tell."""
    documents: list[Document] = [([f"w{k % 40}", f"w{k % 7}", "all"], f"c{k * 7 % 90:02}") for k in range(600)]
    clf = classifier()
    for words, label in documents:
        clf.learn([words], [label])
    check_by_hand(clf.counts, documents)
    assert bits(clf, [["w1", "w2", "all"]]) == bits(classifier(documents), [["w1", "w2", "all"]])
    p = clf.counts.postings
    assert len(p.classes) < 4 * clf.counts.n_cells
    for words, label in documents[::-1][:500]:
        clf.unlearn([words], [label])
    assert_same(clf, classifier(documents[:100]))


def test_memory_follows_the_cells() -> None:
    n = 3000
    clf = classifier([([f"w{k}", "all"], f"c{k:04}") for k in range(n)])
    counts = clf.counts
    assert counts.n_cells == 2 * n
    arrays = [*counts.vocabulary, *counts.postings, counts.doc_count, counts.term_sum]
    # A table of classes × words would take 72 MB.
    assert sum(array.nbytes for array in arrays) < 1_500_000


def test_counts_that_are_large() -> None:
    most = 2**32 - 1
    delta = classifier([({"a": most}, "x")]).counts  # type: ignore[list-item]
    counts = delta.copy()
    for k in range(30):
        assert counts.totals() == {"a": (most << k, 1 << k)}
        assert list(counts.cells()) == [("a", "x", most << k, 1 << k)]
        assert counts.class_totals() == {"x": (1 << k, most << k, 1 << k)}
        assert counts.n_terms == most << k
        counts.add(counts.copy())
    for k in reversed(range(30)):
        half = delta.copy()
        for _ in range(k):
            half.add(half.copy())
        counts.subtract(half)
        assert counts.totals() == {"a": (most << k, 1 << k)}
    assert counts == delta
    with pytest.raises(DataError, match=r"^the counts of one call add up to more than 4,294,967,295: give fewer"):
        classifier([({"a": most, "b": 1}, "x")])  # type: ignore[list-item]


def test_a_mapping_counts_as_its_words() -> None:
    rng = np.random.default_rng(0)
    words = [[f"w{k}" for k in rng.zipf(1.2, 40) % 3000] for _ in range(60)]
    labels = [f"c{k % 3}" for k in range(60)]
    assert TextClassifier().learn([Counter(w) for w in words], labels).counts == (
        TextClassifier().learn(words, labels).counts
    )
    # More items than a block of the kernel holds.
    many = {f"w{k}": 1 + k % 5 for k in range(40_000)}
    counts = TextClassifier().learn([many, {"w7": 1, "zero": 0}], ["x", "x"]).counts
    assert counts.n_features == 40_000
    assert counts.totals()["w39999"] == (1 + 39_999 % 5, 1)
    assert counts.totals()["w7"] == (4, 2)


def test_tables_do_not_depend_on_who_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on the order in which labels came nor on the number of threads, which gives features their ids."""
    texts = [f"both {word} w{k}" for k in range(60) for word in ("one", "two")]
    labels = [label for k in range(60) for label in ("y", f"x{k % 3}")]
    monkeypatch.setattr(slices, "_WORTH_A_THREAD", 1)
    found = []
    for n, step in (("1", 1), ("4", 1), ("1", -1)):
        monkeypatch.setenv("BUNRUI_THREADS", n)
        slices._pool.cache_clear()
        clf = TextClassifier(analyzer="words")
        for part in (slice(0, 1), slice(1, None)):
            clf.learn(texts[::step][part], labels[::step][part])
        found.append([tuple(row.values()) for table in clf.counts.tables(8) for row in table.to_pylist()])
    assert found[0] == found[1] == found[2] == sorted(found[0]) and len(found[0]) > 100


def test_many_empty_tokens() -> None:
    counts = classifier([([""] * 20_000 + ["a"], "x")]).counts
    assert counts.totals() == {"": (20_000, 1), "a": (1, 1)}


# Who may join whom


def test_counts_of_other_analyzers_refuse_to_join() -> None:
    one = TextClassifier(analyzer="words").learn(["a b"], ["x"])
    other = TextClassifier(analyzer=AnalyzerSpec(name="words", words=2)).learn(["a b"], ["x"])
    before = one.counts.copy()
    with pytest.raises(MismatchError, match=r"the other classifier was made with another analyzer .words, 1–2-grams."):
        one.merge(other)
    with pytest.raises(
        MismatchError, match=r"^counts of different analyzers cannot be joined: learn both with the same"
    ):
        one.counts.subtract(other.counts)
    with pytest.raises(MismatchError, match="counts of different analyzers cannot be joined"):
        Counts("p").add(Counts("q"))
    assert one.counts == before
    assert one.counts != other.counts


def test_how_they_are_written() -> None:
    assert repr(classifier([(["a"], "x"), (["b"], "y")]).counts) == "Counts(2 documents, 2 classes, 2 features)"


# Both ways to score


@given(CORPORA)
@settings(max_examples=examples(20))
def test_one_document_or_many(documents: list[Document]) -> None:
    """A few documents are scored from the weights of their words, many from a table of all weights: the same bits."""
    clf = classifier(documents)
    if not documents:
        return
    for options in SETTINGS:
        few = [reader(clf, options).scores([query])[0] for query in QUERIES]
        many = reader(clf, options).scores(QUERIES * 20)
        assert np.array_equal(np.array(few * 20).view(np.int64), many.view(np.int64)), options


@given(CORPORA)
@settings(max_examples=examples(15))
def test_plain_and_compiled(documents: list[Document]) -> None:
    found = []
    for mode in MODES:
        with kernels(mode):
            found.append(bits(classifier(documents)))
    assert found[0] == found[1]


# Real mail


@pytest.mark.data
@pytest.mark.parametrize("step", [200, pytest.param(20, marks=pytest.mark.slow)])
def test_mail_of_six_users(data_folder: Path, step: int) -> None:
    users = [pq.read_table(data_folder / "enron_spam" / f"enron{k}.parquet").slice(0, 5000) for k in range(1, 7)]
    users = [table.take(np.arange(0, table.num_rows, step)) for table in users]
    texts = [table.column("text") for table in users]
    labels = [table.column("label") for table in users]
    queries = [text for column in texts for text in column.to_pylist()[:15]]
    models: list[dict[str, Any]] = [{"model": model} for model in MODELS] + [
        {"smoothing": "mle"},
        {"max_features": 500},
    ]

    def learned(*who: int) -> TextClassifier:
        clf = TextClassifier("binary-complement")  # a choice depends on when it was made
        for k in who:
            clf.learn(texts[k], labels[k])
        return clf

    whole = learned(*range(6))
    assert whole.counts.n_docs == sum(map(len, texts)) > 28_000 // step
    assert whole.classes_.tolist() == ["ham", "spam"]
    expected = bits(whole, queries, models)
    orders = [(5, 4, 3, 2, 1, 0), (2, 0, 5, 1, 4, 3)]
    for order in orders:
        merged = reduce(lambda one, other: one.merge(other), [learned(k) for k in order])
        assert bits(merged, queries, models) == expected
    pairs = learned(4, 5).merge(learned(0, 2)).merge(learned(3, 1))
    assert pairs.counts == whole.counts
    interleaved = TextClassifier("binary-complement")
    for k in range(3):
        for text, label in zip(texts, labels, strict=True):
            rows = np.arange(k, len(text), 3)
            interleaved.learn(text.take(rows), label.take(rows))
    assert bits(interleaved, queries, models) == expected
    for k in (2, 5):
        never = learned(*(i for i in range(6) if i != k))
        assert bits(never, queries, models) != expected
        whole.unlearn(texts[k], labels[k])
        assert whole.counts == never.counts
        assert bits(whole, queries, models) == bits(never, queries, models)
        whole.learn(texts[k], labels[k])
        assert bits(whole, queries, models) == expected


def small_and_large() -> tuple[Counts, Counts]:
    """Counts, and others for which nothing of them has room."""
    words = TextClassifier(analyzer=str.split)
    return words.learn(["a b c", "b c d"], ["x", "y"]).counts, (
        TextClassifier(analyzer=str.split).learn([" ".join(f"w{k}" for k in range(9000)) + " a b"], ["z"]).counts
    )


@pytest.mark.parametrize("call", range(9))
def test_an_addition_without_memory_changes_nothing(call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, many = small_and_large()
    before = counts.copy()
    left = [*range(call)]

    def fails_late(function: Any) -> Any:
        def grown(*args: Any, **options: Any) -> Any:
            if not left:
                raise MemoryError
            left.pop()
            return function(*args, **options)

        return grown

    for name in ("grown_vocabulary", "resized"):
        monkeypatch.setattr(workspace, name, fails_late(getattr(workspace, name)))
    with pytest.raises(MemoryError):
        counts.add(many)
    monkeypatch.undo()
    assert counts == before
    counts.add(many)
    assert counts.n_features == before.n_features + 9000
    counts.subtract(many)
    assert counts == before


@pytest.mark.parametrize("step", ["plan", "merge", "fill_some"])
@pytest.mark.parametrize("least", [7, 1 << 14])
def test_an_interrupted_addition_changes_nothing(step: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, many = small_and_large()
    before = counts.copy()
    each_slice = slices.each_slice
    steps = []

    def interrupted(work: Any, bounds: Any) -> Any:
        done = each_slice(work, bounds)
        steps.append(work.__name__)
        if work.__name__ == step:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(slices, "FEATURES", least)
    monkeypatch.setattr(slices, "each_slice", interrupted)
    if step == "plan" and least > 7:  # small additions plan and merge in one call
        counts.add(many)
        assert "plan" not in steps
        return
    with pytest.raises(KeyboardInterrupt):
        counts.add(many)
    monkeypatch.undo()
    assert counts == before
    counts.add(many)
    counts.subtract(many)
    assert counts == before


def test_a_new_label_is_a_new_version() -> None:
    """A label without documents changes no score, but the tables of a reader have its column."""
    clf = TextClassifier("multinomial", analyzer=str.split).learn(["a b", "b c"] * 30, ["x", "y"] * 30)
    before = clf.scores(["a b"] * 60)
    other = TextClassifier("multinomial", analyzer=str.split).learn(["q", "r"], ["x", "z"]).unlearn(["r"], ["z"])
    with pytest.raises(UnlearnError):
        clf.counts.subtract(other.counts)
    assert clf.scores(["a b"] * 60).tobytes() == before.tobytes()


def test_no_label_is_left_with_words_but_no_documents() -> None:
    clf = TextClassifier(analyzer=str.split).learn(["cheap pills now", "meeting at noon"], ["spam", "ham"])
    before = clf.counts.copy()
    with pytest.raises(
        UnlearnError, match=r"^this was never learned: without it 'spam' would have words but no documents"
    ):
        clf.unlearn(["cheap pills"], ["spam"])
    assert clf.counts == before


def test_an_addition_that_fails_at_the_end_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are merged by then, and new features have ids, but no slots."""
    clf = TextClassifier(analyzer=str.split).learn(["a b c", "b c d"], ["x", "y"])
    before, scores = clf.counts.copy(), clf.scores(["a b c d"])
    many = TextClassifier(analyzer=str.split).learn([" ".join(f"w{k}" for k in range(40_000)) + " a b"], ["x"]).counts

    def fail(*args: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(workspace, "fill_slots", fail)
    with pytest.raises(MemoryError):
        clf.counts.add(many)
    monkeypatch.undo()
    assert clf.counts == before
    assert clf.scores(["a b c d"]).tobytes() == scores.tobytes()
    clf.counts.add(many)
    assert clf.counts.n_features == before.n_features + 40_000
