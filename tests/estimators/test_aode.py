"""`AODE`: a brute-force reference, scikit-learn's checks, what rows may be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log, prod
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from bunrui.classcounts import encode_labels
from bunrui.errors import DataError
from bunrui.estimators import AODE
from bunrui.models.aode import aode, count_value_pairs
from tests.support.examples import examples
from tests.support.kernels import MODES, kernels
from tests.support.rows import NAMES

NAN = float("nan")


@parametrize_with_checks([AODE(), AODE(m=30), AODE(discretise=False)])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


# --- the formula


def reference(X: Sequence[Sequence[Any]], y: Sequence[str], row: Sequence[Any], m: float) -> list[float]:
    """log P(y, row) for every class, by counting rows; None is missing, and a column without values is no column."""
    classes = sorted(set(y))
    values = [{x[j] for x in X if x[j] is not None} for j in range(len(row))]
    columns = [j for j in range(len(row)) if values[j]]

    def rows(label: str | None = None, **having: Any) -> int:
        """F: the rows of a class that have all these values."""
        wanted = [(int(name[1:]), value) for name, value in having.items()]
        return sum(
            (label in (None, c)) and all(x[j] == value for j, value in wanted) for x, c in zip(X, y, strict=True)
        )

    parents = [i for i in columns if row[i] is not None and rows(**{f"x{i}": row[i]}) >= m]
    scores = []
    for label in classes:
        if parents:
            each = []
            for i in parents:
                parent = {f"x{i}": row[i]}
                known = sum(x[i] is not None for x in X)
                joint = (rows(label, **parent) + 1) / (known + len(classes) * len(values[i]))
                for j in columns:
                    if j != i and row[j] is not None:
                        both = rows(label, **parent, **{f"x{j}": row[j]})
                        told = sum(rows(label, **parent, **{f"x{j}": value}) for value in values[j])
                        joint *= (both + 1) / (told + len(values[j]))
                each.append(joint)
            scores.append(log(sum(each) / len(each)))
        else:
            prior = (rows(label) + 1) / (len(X) + len(classes))
            known_of = {j: sum(x[j] is not None for x, c in zip(X, y, strict=True) if c == label) for j in columns}
            shares = (
                (rows(label, **{f"x{j}": row[j]}) + 1) / (known_of[j] + len(values[j]))
                for j in columns
                if row[j] is not None
            )
            scores.append(log(prior * prod(shares)))
    return scores


@st.composite
def tables(draw: Any, values: Sequence[Any] = ("a", "b", "c", 1, None)) -> tuple[Any, list[str], Any]:
    """Rows, labels, and other rows with values that may be new."""
    n_columns = draw(st.integers(1, 4))
    rows = st.lists(st.sampled_from(values), min_size=n_columns, max_size=n_columns)
    X = draw(st.lists(rows, min_size=1, max_size=12))
    y = draw(st.lists(st.sampled_from("pqr"), min_size=len(X), max_size=len(X)))
    queries = st.lists(st.sampled_from([*values, "new"]), min_size=n_columns, max_size=n_columns)
    return X, y, draw(st.lists(queries, min_size=1, max_size=4))


def objects(X: Any) -> Any:
    return np.array(X, object)


@pytest.mark.parametrize("mode", MODES)
@given(data=tables(), m=st.sampled_from([1, 2, 3, 30]))
@settings(max_examples=examples(80))
def test_the_formula(mode: str, data: Any, m: int) -> None:
    X, y, Q = data
    with kernels(mode):
        found = AODE(m=m).fit(objects(X), y).predict_joint_log_proba(objects(Q))
    np.testing.assert_allclose(found, [reference(X, y, row, m) for row in Q], rtol=1e-10, atol=1e-13)


@given(data=tables(values=(0, 1)), m=st.sampled_from([1, 2, 30]))
@settings(max_examples=examples(80))
def test_the_formula_on_presence(data: Any, m: int) -> None:
    X, y, Q = data
    Q = [[0 if value == "new" else value for value in row] for row in Q]
    expected = [reference(X, y, row, m) for row in Q]
    for matrix in (sparse.csr_matrix, sparse.csc_array, np.array):
        found = AODE(m=m).fit(matrix(np.array(X) * 3), y).predict_joint_log_proba(matrix(np.array(Q) * 3))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_by_hand() -> None:
    """One parent of two is rare: m=2 leaves the other alone, m=4 naive Bayes."""
    X, y = [["a", "p"], ["a", "q"], ["a", "q"], ["b", "q"]], ["x", "x", "y", "y"]
    a, p = 3 / 8 * 2 / 4, 2 / 8 * 2 / 3  # P(x, a) P(p | x, a), P(x, p) P(a | x, p)
    row = [["a", "p"]]
    for m, expected in [(1, (a + p) / 2), (2, a), (4, 3 / 6 * 3 / 4 * 2 / 4)]:
        np.testing.assert_allclose(np.exp(AODE(m=m).fit(X, y).predict_joint_log_proba(row))[0, 0], expected, rtol=1e-13)


def test_by_hand_where_values_are_missing() -> None:
    """A row whose x_j is missing tells nothing of P(x_j | y, x_i): of three rows with a, two tell p from q."""
    X, y = [["a", "p"], ["a", "q"], ["a", None], ["b", "q"]], ["x", "x", "x", "y"]
    a = 4 / (4 + 2 * 2) * 2 / (2 + 2)  # P(x, a) P(p | x, a)
    p = 2 / (3 + 2 * 2) * 2 / (1 + 2)  # P(x, p) P(a | x, p)
    found = AODE().fit(objects(X), y).predict_joint_log_proba(objects([["a", "p"]]))
    np.testing.assert_allclose(np.exp(found[0, 0]), (a + p) / 2, rtol=1e-13)


@given(data=tables())
@settings(max_examples=examples(80))
def test_what_a_parent_says_of_a_column_is_a_distribution(data: Any) -> None:
    X, y, _ = data
    classes, codes = encode_labels(np.array(y))
    n_classes = len(classes)
    learned = count_value_pairs(objects(X), codes, np.ones(len(y)), n_classes, (None,) * len(X[0]))
    n_values = len(learned.cells)
    table = aode(learned.cells, learned.sizes, np.zeros(n_classes))
    shares = np.exp(table.weights.reshape(n_values, n_values + len(learned.sizes), n_classes))
    for start, end in pairwise(learned.offsets.tolist()):
        if end > start:
            np.testing.assert_allclose(shares[:, start:end].sum(axis=1), 1.0, rtol=1e-12)


# --- what rows may be


def data(seed: int, n: int = 120) -> tuple[Any, Any]:
    """The label says whether two columns agree: naive Bayes cannot see it."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 4))
    return X, np.where(X[:, 0] % 2 == X[:, 1] % 2, "same", "other")


def test_columns_that_depend_on_each_other() -> None:
    X, y = data(0, 400)
    naive = AODE(m=1000).fit(X[:200], y[:200]).score(X[200:], y[200:])
    assert AODE().fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9 > 0.6 > naive


@pytest.mark.parametrize(
    "named",
    [
        lambda X: NAMES[X],
        lambda X: NAMES[X].astype(object),
        lambda X: NAMES[X].tolist(),
        lambda X: X * 1_000_003 - 7,
        lambda X: X.astype(np.uint8),
        lambda X: (X + 0.5).astype(object),
        lambda X: pd.DataFrame(NAMES[X]).astype("category"),
        lambda X: pl.DataFrame(NAMES[X]),
        lambda X: pd.DataFrame(X).astype("Int64"),
        lambda X: X.astype("M8[D]"),
    ],
    ids=["strings", "objects", "lists", "far apart", "bytes", "numbers", "pandas", "polars", "nullable", "dates"],
)
def test_any_names_will_do(named: Any) -> None:
    X, y = data(1)
    expected = AODE().fit(X[:80], y[:80]).predict_joint_log_proba(X[80:])
    found = AODE().fit(named(X[:80]), y[:80]).predict_joint_log_proba(named(X[80:]))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("missing", [None, NAN, pd.NA, pd.NaT], ids=repr)
def test_missing_values(missing: Any) -> None:
    X, y = [["a", "p"], ["a", None], [None, "q"], ["b", "q"]], ["x", "x", "x", "y"]
    Q = [["a", None], [None, None], ["b", "p"]]

    def put(rows: Any) -> Any:
        return objects([[missing if value is None else value for value in row] for row in rows])

    found = AODE().fit(put(X), y).predict_joint_log_proba(put(Q))
    np.testing.assert_allclose(found, [reference(X, y, row, 1) for row in Q], rtol=1e-12)
    # Nothing known: the prior of naive Bayes.
    np.testing.assert_allclose(np.exp(found[1]), [4 / 6, 2 / 6], rtol=1e-13)


def test_columns_that_never_had_a_value() -> None:
    clf = AODE().fit(objects([[None, "p"], [None, "q"]]), ["x", "y"])
    assert clf.categories_ == [[], ["p", "q"]]
    alone = AODE().fit([["p"], ["q"]], ["x", "y"]).predict_joint_log_proba([["p"], ["q"]])
    np.testing.assert_array_equal(clf.predict_joint_log_proba(objects([[None, "p"], ["a", "q"]])), alone)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(frame: Any) -> None:
    """Columns of floating-point numbers are cut, and no others."""
    X = frame(
        {
            "sky": ["sun", "rain", "sun", None] * 5,
            "hours": [1.0, 7.5, 2.0, 8.0] * 5,
            "wind": [1, 2, 3, 4] * 5,
            "cold": [True, False, True, True] * 5,
        }
    )
    y = ["out", "in", "out", "in"] * 5
    clf = AODE().fit(X, y)
    assert [None if cuts is None else cuts.tolist() for cuts in clf.cuts_] == [None, [4.75], None, None]
    assert clf.categories_ == [["rain", "sun"], [0.0, 1.0], [1, 2, 3, 4], [False, True]]
    assert clf.feature_names_in_.tolist() == ["sky", "hours", "wind", "cold"]
    assert clf.predict(X).tolist() == y
    named = AODE(discretise=["wind"]).fit(X, y)
    assert [cuts is None for cuts in named.cuts_] == [True, True, False, True]
    assert named.categories_[1] == [1.0, 2.0, 7.5, 8.0]
    assert [cuts is None for cuts in AODE(discretise=[1, 2]).fit(X, y).cuts_] == [True, False, False, True]
    assert AODE(discretise=False).fit(X, y).cuts_ == [None] * 4


def test_frames_of_numbers_only() -> None:
    """pandas hands over one array of floats: the columns' own types decide."""
    X = pd.DataFrame({"code": [1, 2, 1, 2] * 5, "hours": [1.0, 7.5, 2.0, 8.0] * 5})
    assert [cuts is None for cuts in AODE().fit(X, [0, 1, 0, 1] * 5).cuts_] == [True, False]
    assert [cuts is None for cuts in AODE().fit(X.to_numpy(), [0, 1, 0, 1] * 5).cuts_] == [False, False]


def test_cuts_are_learned_inside_the_fold() -> None:
    """Of noise nothing can be predicted, which cuts learned from all rows would hide."""
    rng = np.random.default_rng(3)
    X, y = rng.random((200, 5)), rng.integers(0, 2, 200)
    inside = cross_val_predict(AODE(), X, y)
    by_hand = np.empty(200, int)
    for train, test in StratifiedKFold(5).split(X, y):
        by_hand[test] = AODE().fit(X[train], y[train]).predict(X[test])
    assert inside.tolist() == by_hand.tolist()
    assert (inside == y).mean() < 0.65


# --- presence


def words(seed: int, n: int = 200, n_words: int = 80) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return (rng.random((n, n_words)) < rng.random((3, n_words))[y] * 0.3).astype(np.int64), y


@pytest.mark.parametrize("m", [1, 20, 1000])
def test_presence_of_many_words(m: int) -> None:
    """Ones alone, however they come, give what all values give."""
    X, y = words(0)
    w = np.random.default_rng(1).random(200)
    expected = AODE(m=m).fit(X.astype(str), y, w).predict_joint_log_proba(X.astype(str))
    for rows in (X, X.astype(bool), sparse.csr_array(X), sparse.csr_matrix(X * 2.5), pd.DataFrame(X)):
        found = AODE(m=m).fit(rows, y, w).predict_joint_log_proba(rows)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_words_that_are_new_or_always_there() -> None:
    X, y = words(2)
    X[:100, 0], X[:100, 1] = 0, 1
    X[100:, 0], X[100:, 1] = 1, 0
    clf = AODE().fit(sparse.csr_array(X[:100]), y[:100])
    assert clf.categories_[:3] == [[0], [1], [0, 1]]
    expected = AODE().fit(X[:100].astype(str), y[:100]).predict_joint_log_proba(X[100:].astype(str))
    np.testing.assert_allclose(clf.predict_joint_log_proba(sparse.csr_array(X[100:])), expected, rtol=1e-10)
    np.testing.assert_allclose(clf.predict_joint_log_proba(X[100:].astype(float)), expected, rtol=1e-10)


def test_more_pairs_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.classcounts.MOST_PAIRS", 2 * 5**2)
    X, y = [["a", "p"], ["b", "q"], ["b", "r"]], ["x", "y", "y"]
    AODE().fit(X, y)
    message = r"2 columns with 6 values in all and 2 classes have 72 pair counts, and at most 50 are kept"
    with pytest.raises(DataError, match=message):
        AODE().fit([*X, ["b", "s"]], [*y, "y"])
    clf = AODE(discretise=False).partial_fit(X, y)
    with pytest.raises(DataError, match=r"column 1 has 4"):
        clf.partial_fit([["b", "s"]], ["y"])
    with pytest.raises(DataError, match="3 classes"):
        clf.partial_fit([["b", "p"]], ["z"])
    assert clf.class_count_.tolist() == [1, 2]
    with pytest.raises(DataError, match="3 columns with 6 values"):
        AODE().fit(sparse.csr_array(np.eye(3)), y)
