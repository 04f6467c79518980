"""Many classes: labels without the scores of all, weights by count, and memory that follows the cells."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import bunrui
from bunrui import ComplementNB, MultinomialNB, TextClassifier
from bunrui.errors import OptionError, UnlearnError
from bunrui.kernel import best
from bunrui.kernel.arithmetic import log1p
from bunrui.kernel.postings import HOLES, USED
from bunrui.kernel.workspace import ITEMS
from bunrui.models import MODELS, linear
from tests.support.examples import examples
from tests.support.kernels import kernels
from tests.support.waiting import PATIENCE

every = pytest.mark.parametrize("model", MODELS)

# Twenty classes: a word that three of them have is common, any other is rare.
N_CLASSES = 20
NAMES = [f"c{c:02d}" for c in range(N_CLASSES)]
WORDS = st.sampled_from([*"abcdefghij", "the", "of"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=8), min_size=N_CLASSES, max_size=40)
QUERIES = st.lists(st.lists(st.one_of(WORDS, st.just("never")), max_size=12), min_size=1, max_size=6)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways for many classes and long lists, taken with few and short ones."""
    for name, value in (("_MANY_CLASSES", 2), ("_GROUP", 3), ("_COMMON", 8), ("_FEW_DOCUMENTS", 0)):
        monkeypatch.setattr(linear, name, value)


def labelled(documents: list[Any]) -> list[str]:
    return [NAMES[k % N_CLASSES] for k in range(len(documents))]


def best_places(scores: list[float], k: int) -> list[int]:
    """What `kernel/best.py` computes: the places of the k highest scores, highest first, of equal ones the first."""
    return sorted(range(len(scores)), key=lambda c: -scores[c])[:k]


def check_best(clf: TextClassifier, queries: list[Any]) -> None:
    """The best labels and their scores, to the bit those of the reference."""
    scores, classes = clf.scores(queries), clf.classes_.tolist()
    for k in (1, 3, len(classes) + 5):
        labels, found = clf.predict_top(queries, k)
        places = [best_places(row, k) for row in scores.tolist()]
        assert labels.tolist() == [[classes[c] for c in row] for row in places]
        assert found.tolist() == [[float(scores[d, c]) for c in row] for d, row in enumerate(places)]
    assert clf.predict(queries).tolist() == [classes[best_places(row, 1)[0]] for row in scores.tolist()]


# The best without the scores of all


@every
@given(
    documents=DOCUMENTS,
    queries=QUERIES,
    options=st.fixed_dictionaries(
        {
            "smoothing": st.sampled_from(["eap", "mle"]),
            "unseen": st.sampled_from(["ignore", "smooth"]),
            "min_df": st.sampled_from([1, 2]),
            "prior": st.sampled_from(["empirical", "uniform", {name: k + 1 for k, name in enumerate(NAMES)}]),
        }
    ),
)
@settings(max_examples=examples(15))
@pytest.mark.usefixtures("eager")
def test_the_best_are_those_of_all_scores(
    model: str, documents: list[list[str]], queries: list[list[str]], options: dict[str, Any]
) -> None:
    check_best(TextClassifier(model, **options).learn(documents, labelled(documents)), queries)


@pytest.mark.usefixtures("eager")
def test_ties_go_to_the_label_that_sorts_first() -> None:
    """Whatever the order of learning, whether classes are nominated or not."""
    labels = [f"c{c:02d}" for c in (7, 3, 19, 11, *range(20, 60))]
    texts = [["x", "the"]] * 4 + [["y", "the"]] * 40
    clf = TextClassifier("multinomial", prior="uniform")
    for text, label in zip(texts, labels, strict=True):
        clf.learn([text], [label])
    assert clf.predict([["x"], ["y"], ["x", "the"], [], ["never"]]).tolist() == ["c03", "c20", "c03", "c03", "c03"]
    assert clf.predict_top([["x"]], 5)[0].tolist() == [["c03", "c07", "c11", "c19", "c20"]]
    check_best(clf, [["x"], ["y"], ["x", "y"], []])


@pytest.mark.usefixtures("eager")
def test_labels_without_documents_are_never_the_best() -> None:
    texts = [[f"w{c}", "the"] for c in range(N_CLASSES)]
    clf = TextClassifier("binary-complement").learn(texts, NAMES).unlearn(texts[3:5], NAMES[3:5])
    assert "c03" not in clf.predict_top([["w3", "the"]], 50)[0]
    check_best(clf, [["w3"], ["w4", "w5"], ["the"], []])
    # Nor where they have words, as a damaged file may say.
    clf.counts.doc_count[6] = 0
    clf.counts.version += 1
    check_best(clf, [["w6", "w7"], ["w6"], ["the"], []])


@every
@pytest.mark.usefixtures("eager")
def test_documents_of_every_kind(model: str) -> None:
    """Longer than a block of items, folded in Python, and counted elsewhere."""
    texts = [f"w{c} w{c} the of ΑΣ" for c in range(N_CLASSES)]
    clf = TextClassifier(model, analyzer="words").learn(texts, NAMES)
    check_best(clf, ["w3 the ΑΣ", "w4 " * (ITEMS + 10), "the w5", ""])
    check_best(clf, [{"w3": 2, "the": 5}, {"never": 1}, {}])
    check_best(clf, [["w3", "the"], []])


@every
def test_few_classes_and_too_many_documents_for_a_matrix(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.models.linear._MOST_AT_ONCE", 0)
    texts = [["a", "b", "b"], ["b", "c"], ["c", "d", "a"]]
    for n_classes in (3, 30):
        clf = TextClassifier(model).learn(texts * 10, [f"c{k % n_classes:02d}" for k in range(30)])
        check_best(clf, [["a"], ["b", "b", "d"], ["c", "never"], []])
        check_best(clf, [{"a": 3, "d": 1}, {}])


def test_one_class(eager: None) -> None:
    clf = TextClassifier().learn([["a"]], ["x"])
    assert clf.predict([["a"], [], ["never"]]).tolist() == ["x", "x", "x"]
    assert clf.predict_top([["a"]], 3)[0].tolist() == [["x"]]
    assert clf.predict([]).tolist() == []


@every
def test_where_bounds_allow_only_nominees_are_scored(model: str, eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [[f"w{c}", f"w{c}", f"v{c}", "the", "of"] for c in range(N_CLASSES)]
    clf = TextClassifier(model).learn(texts, NAMES)
    scored = []
    full_score = best.full_score

    def spied(*args: Any) -> float:
        scored.append(args[-1])
        return full_score(*args)

    def refused(*_: Any) -> int:
        raise AssertionError("all classes are scored")

    monkeypatch.setattr(best, "full_score", spied)
    monkeypatch.setattr(best, "score_document", refused)
    with kernels("plain"):
        assert clf.predict([["w3", "the", "v3", "of"]]).tolist() == ["c03"]
        assert scored == [3]
        with pytest.raises(AssertionError, match="all classes"):
            clf.predict([["the"]])


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_k_is_checked(k: Any) -> None:
    with pytest.raises(OptionError, match=r"^k should be a whole number, at least 1, not "):
        TextClassifier().learn(["a"], ["x"]).predict_top(["a"], k)


def test_predicted_labels_are_as_wide_as_the_longest() -> None:
    """So that labels of one call can be written into an array of another."""
    clf = TextClassifier().learn(["a", "b"], ["x", "longer"])
    assert clf.predict(["a"]).dtype == clf.predict(["a", "b", "b"]).dtype == np.dtype("<U6")


def test_labels_of_many_documents_take_no_matrix() -> None:
    """2,000 documents × 2,000 classes would be 32 MB."""
    rng = np.random.default_rng(0)
    texts = [[f"w{c}", *(f"v{k}" for k in rng.integers(50, size=5))] for c in range(2000)]
    clf = TextClassifier().learn(texts, [f"c{c}" for c in range(2000)])
    expected = clf.scores(texts).argmax(axis=1)
    tracemalloc.start()
    try:
        found = clf.predict(texts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.tolist() == clf.classes_[expected].tolist()
    assert peak < 8e6


# Weights by count


@every
@given(documents=DOCUMENTS, query=st.lists(WORDS, max_size=12))
@settings(max_examples=examples(10))
def test_weights_by_count_give_the_same_bits(model: str, documents: list[list[str]], query: list[str]) -> None:
    # Often enough in every class for counts to be fewer than cells.
    documents = [*documents, *([["the", "of", "of"]] * N_CLASSES)]
    counted = {word: query.count(word) for word in query}
    with pytest.MonkeyPatch.context() as patch:
        clf = TextClassifier(model).learn(documents, labelled(documents))
        expected = clf.scores([query]), clf.scores([counted])
        patch.setattr("bunrui.models.scorer._FEW_CELLS", 0)
        assert np.array_equal(clf.scores([query]), expected[0])
        assert np.array_equal(clf.scores([counted]), expected[1])
        patch.setattr(linear, "_FEW_DOCUMENTS", 0)
        assert np.array_equal(clf.with_model(model).scores([query]), expected[0])


@pytest.mark.parametrize("class_norm", [False, True])
@pytest.mark.parametrize("alpha", [0.3, {"w1": 0.5}])
def test_many_cells_get_the_weights_of_few(class_norm: bool, alpha: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a table by count and class, or one by one: with λ for each word there is no table."""
    rng = np.random.default_rng(4)
    texts = [[f"w{k}" for k in rng.integers(500, size=9)] for _ in range(400)]
    options = {"class_norm": class_norm, "alpha": alpha}
    monkeypatch.setattr("bunrui.models.scorer._FEW_CELLS", 1 << 20)
    one_by_one = TextClassifier("multinomial", **options).learn(texts, rng.integers(4, size=400))
    expected = one_by_one.scores(texts)
    sizes = []

    def noted(values: Any) -> Any:
        sizes.append(len(values))
        return log1p(values)

    monkeypatch.setattr("bunrui.models.multinomial.log1p", noted)
    monkeypatch.setattr("bunrui.models.scorer._FEW_CELLS", 0)
    assert np.array_equal(one_by_one.with_model().scores(texts), expected)
    assert (max(sizes) < 100) == (alpha == 0.3)


# Counts


def test_learning_one_by_one_leaves_few_holes() -> None:
    rng = np.random.default_rng(1)
    texts = [[f"w{k}" for k in rng.integers(30, size=8)] for _ in range(600)]
    labels = [f"c{c}" for c in rng.permutation(600) % 300]
    clf = TextClassifier()
    for text, label in zip(texts, labels, strict=True):
        clf.learn([text], [label])
    size = clf.counts.postings.size
    assert size[HOLES] * 2 < size[USED] < 3 * clf.counts.n_cells
    whole = TextClassifier().learn(texts, labels)
    assert clf.counts == whole.counts
    assert np.array_equal(clf.scores(texts[:50]), whole.scores(texts[:50]))
    clf.unlearn(texts[:300], labels[:300])
    assert clf.counts == TextClassifier().learn(texts[300:], labels[300:]).counts


def test_live_labels_follow_every_change() -> None:
    clf = TextClassifier().learn(["b", "c"], ["b", "c"])
    assert clf.classes_.tolist() == ["b", "c"]
    assert clf.learn(["a"], ["a"]).classes_.tolist() == ["a", "b", "c"]
    assert clf.unlearn(["b"], ["b"]).classes_.tolist() == ["a", "c"]
    assert clf.learn(["b"], ["b"]).classes_.tolist() == ["a", "b", "c"]
    clf.counts.rename("a", "z")
    assert clf.classes_.tolist() == ["b", "c", "z"]
    assert clf.predict(["a"]).tolist() == ["z"]


# Estimators on matrices

ROWS = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.integers(0, 9)), min_size=2, max_size=12
)


@pytest.mark.parametrize("estimator", [MultinomialNB, ComplementNB])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@given(rows=ROWS)
@settings(max_examples=examples(15))
def test_rows_one_by_one_are_rows_at_once(estimator: Any, container: Any, rows: list[Any]) -> None:
    X, y = np.array([row for row, _ in rows]), np.array([label for _, label in rows])
    whole, grown = estimator().fit(sparse.csr_array(X), y), estimator()
    for k in range(len(y)):
        grown.partial_fit(container(X[k : k + 1]), y[k : k + 1])
        grown.predict(container(X[k : k + 1]))
    assert grown.classes_.tolist() == whole.classes_.tolist()
    assert grown.class_count_.tolist() == whole.class_count_.tolist()
    assert grown.feature_count_.tolist() == whole.feature_count_.tolist()
    queries = sparse.csr_array(X)
    assert np.array_equal(grown.predict_joint_log_proba(queries), whole.predict_joint_log_proba(queries))
    with pytest.raises(UnlearnError):
        grown.unlearn(container(X[:1] + X.sum() + 1), y[:1])  # more than all that was learned
    grown.unlearn(container(X[1:]), y[1:])
    assert grown.feature_count_.tolist() == [X[0].tolist()]


@pytest.mark.parametrize("estimator", [MultinomialNB, ComplementNB])
def test_many_classes_of_a_matrix(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the sparse way, in parts, right after learning, and by the dense one."""
    rng = np.random.default_rng(2)
    X, y = sparse.csr_array(rng.poisson(0.05, size=(600, 200))), np.arange(600) % 300
    clf = estimator().fit(X, y)
    expected = clf.predict_joint_log_proba(X)
    monkeypatch.setattr("bunrui.models.linear.DENSE_CELLS", 0)
    monkeypatch.setattr("bunrui.models.linear.MOST_SCORES", 1000)
    monkeypatch.setattr("bunrui.models.scorer._FEW_CELLS", 0)
    clf.partial_fit(X[:1], y[:1]).unlearn(X[:1], y[:1]).partial_fit(X[:2], y[:2])
    other = estimator().fit(sparse.vstack([X, X[:2]]), np.append(y, y[:2]))
    scores = clf.predict_joint_log_proba(X)
    assert np.array_equal(scores, other.predict_joint_log_proba(X))
    assert np.array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])
    clf.unlearn(X[:2], y[:2])
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), expected, rtol=1e-12)


def test_few_rows_make_no_table() -> None:
    """And get the very scores that a table gives."""
    rng = np.random.default_rng(3)
    X, y = sparse.csr_array(rng.poisson(0.02, size=(400, 500))), np.arange(400) % 50
    clf = MultinomialNB().fit(X, y)
    few = clf.predict_joint_log_proba(X[:3])
    assert "weights" not in clf._table().__dict__
    assert np.array_equal(clf.predict_joint_log_proba(X)[:3], few)
    assert "weights" in clf._table().__dict__


def test_tables_go_with_the_counts_that_they_are_of() -> None:
    """At once: what waits for the garbage collector piled up to 200 MB."""
    X, y = sparse.csr_array(np.eye(50, dtype=np.int64)), np.arange(50)
    clf = MultinomialNB().partial_fit(X, y)
    clf.predict(X)
    table = weakref.ref(clf._table())
    gc.disable()
    try:
        clf.partial_fit(X[:1], y[:1])
        assert table() is None
    finally:
        gc.enable()


# All of it, with 2,000 classes × 50,000 features: 800 MB as one dense table

SCRIPT = """
import sys
import numpy as np
from scipy import sparse
import bunrui
from bunrui.evaluation import measure

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1000

def work(n_classes, n_features, path):
    rng = np.random.default_rng(0)
    words = rng.integers(n_features, size=(3 * n_classes, 20))
    words[:, :5] %= 100
    texts = [[f"w{k}" for k in row] for row in words.tolist()]
    labels = [f"c{k % n_classes:05d}" for k in range(len(texts))]
    for model in ("multinomial", "bernoulli", "wcnb", "binary-complement"):
        clf = bunrui.TextClassifier(model).learn(texts, labels)
        found = clf.predict(texts)
        assert np.mean(found == np.array(labels)) > 0.9, model
        assert measure(labels, found).accuracy > 0.9
        explanation = clf.explain(texts[0])
        assert len(explanation.probabilities) == n_classes and explanation.label == labels[0]
        assert clf.words(labels[0], top=5)[0].counts[labels[0]]
        clf.learn(texts[:1], labels[:1]).unlearn(texts[:1], labels[:1])
        if model in ("multinomial", "binary-complement"):
            assert clf.label_odds(texts[:99]).shape == (99, n_classes)
    with bunrui.create(path, keep="nothing") as stored:
        stored.merge(clf)
    with bunrui.open(path) as stored:
        assert np.array_equal(stored.predict(texts), found)
        assert stored.learn(texts[:1], labels[:1]).predict(texts[:1]).tolist() == labels[:1]
    rows, y = np.repeat(np.arange(len(texts)), 20), np.arange(len(texts)) % n_classes
    X = sparse.csr_array((np.ones(words.size, np.int64), (rows, words.reshape(-1))), shape=(len(texts), n_features))
    for estimator in (bunrui.MultinomialNB(), bunrui.ComplementNB()):
        estimator.partial_fit(X, y)
        assert np.mean(estimator.predict(X) == y) > 0.9
        estimator.partial_fit(X[:1], y[:1]).predict_proba(X[:2])

work(300, 1000, sys.argv[1] + "/small.bunrui")
before = peak()
work(2000, 50000, sys.argv[1] + "/many.bunrui")
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of memory from /proc")
def test_nothing_is_classes_times_features(tmp_path: Any) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 250, "megabytes"


def test_a_file_of_many_classes(tmp_path: Any) -> None:
    texts = [f"w{c} w{c % 7} the" for c in range(5000)]
    labels = [f"c{c:04d}" for c in range(5000)]
    path = tmp_path / "many.bunrui"
    with bunrui.create(path, analyzer="words") as clf:
        clf.learn(texts, labels)
        expected = clf.predict(texts[:200])
    with bunrui.open(path) as clf:
        assert len(clf.classes_) == 5000
        assert clf.predict(texts[:200]).tolist() == expected.tolist()
        assert clf.explain(texts[42]).label == "c0042"
        assert clf.words("c0042", top=1)[0].text == "w42"
