"""`CategoricalNB`: scikit-learn's checks and numbers; strings, new values, missing values."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import naive_bayes as peers
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from bunrui.errors import DataError, LabelError, OptionError, UnlearnError
from bunrui.estimators import CategoricalNB
from tests.support.examples import examples
from tests.support.laws import check_merging
from tests.support.rows import NAMES

NAN = float("nan")


@parametrize_with_checks([CategoricalNB(), CategoricalNB(smoothing="mle", prior="smoothed", min_categories=3)])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def data(seed: int) -> tuple[Any, Any, Any]:
    """Every value comes in every column, so that scikit-learn counts the same S."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, 90, p=[0.6, 0.3, 0.1])
    codes[:3] = range(3)
    chances = rng.dirichlet(np.ones(4), (3, 6))
    X = np.array([[rng.choice(4, p=chances[c, j]) for j in range(6)] for c in codes])
    X[:4] = np.arange(4)[:, None]
    return X, np.array(["m", "z", "a"])[codes], rng.integers(0, 4, (25, 6))


def compare(ours: Any, theirs: Any, Q: Any, R: Any) -> None:
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    for name in ("class_count_", "class_log_prior_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10, err_msg=name)
    for name in ("feature_log_prob_", "category_count_"):
        for mine, its in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_allclose(mine, its[:, : mine.shape[1]], rtol=1e-10, atol=1e-14)
    for name in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, name)(Q), getattr(theirs, name)(R), rtol=1e-10, atol=1e-13)
    assert ours.predict(Q).tolist() == theirs.predict(R).tolist()


def test_parity() -> None:
    X, y, Q = data(1)
    w = np.random.default_rng(2).random(90)
    priors = [{"fit_prior": False}, {"class_prior": [0.2, 0.5, 0.3]}, {"class_prior": [0.2, 0.0, 0.3]}]
    for options in ({}, {"alpha": 0.3}, *priors, {"min_categories": 7}):
        with np.errstate(divide="ignore"):  # theirs: the logarithm of 0
            ours, theirs = CategoricalNB(**options).fit(X, y), peers.CategoricalNB(**options).fit(X, y)
        compare(ours, theirs, Q, Q)
        assert ours.n_categories_.tolist() == theirs.n_categories_.tolist()
    compare(CategoricalNB().fit(X, y, w), peers.CategoricalNB().fit(X, y, w), Q, Q)
    sizes = [4, 5, 6, 7, 8, 9]
    compare(CategoricalNB(min_categories=sizes).fit(X, y), peers.CategoricalNB(min_categories=sizes).fit(X, y), Q, Q)
    compare(CategoricalNB(alpha=1.5, smoothing="map").fit(X, y), peers.CategoricalNB(alpha=0.5).fit(X, y), Q, Q)


def test_in_pieces() -> None:
    X, y, Q = data(3)
    theirs, declared, grown = peers.CategoricalNB(), CategoricalNB(), CategoricalNB()
    for start in range(0, 90, 13):
        rows = slice(start, start + 13)
        theirs.partial_fit(X[rows], y[rows], ["a", "m", "z"] if start == 0 else None)
        declared.partial_fit(X[rows], y[rows], ["a", "m", "z"] if start == 0 else None)
        grown.partial_fit(X[rows], y[rows])
        compare(declared, theirs, Q, Q)
    compare(grown, theirs, Q, Q)


@pytest.mark.parametrize(
    "named",
    [
        lambda X: NAMES[X],
        lambda X: NAMES[X].astype(object),
        lambda X: NAMES[X].tolist(),
        lambda X: X * 1000.5 - 7,
        lambda X: X > 1,
        lambda X: pd.DataFrame(NAMES[X]).astype("category"),
        lambda X: pl.DataFrame(NAMES[X]),
        lambda X: pd.DataFrame(X).astype("Int64"),
        lambda X: np.array(["2024-01-01"], "M8[D]") + X.astype("m8[D]"),
    ],
    ids=["strings", "objects", "lists", "numbers", "booleans", "pandas", "polars", "nullable", "dates"],
)
def test_any_names_will_do(named: Any) -> None:
    X, y, Q = data(4)
    ours, expected = CategoricalNB().fit(named(X), y), CategoricalNB().fit(X, y)
    if isinstance(named(X), np.ndarray) and named(X).dtype == bool:
        expected = CategoricalNB().fit((X > 1).astype(int), y)
        Q = Q % 2 * 3
        np.testing.assert_array_equal(ours.predict_proba(named(Q)), expected.predict_proba((Q > 1).astype(int)))
        return
    np.testing.assert_allclose(ours.predict_joint_log_proba(named(Q)), expected.predict_joint_log_proba(Q), rtol=1e-13)


def test_columns_of_different_kinds() -> None:
    frame = pd.DataFrame({"sky": ["sun", "sun", "rain", None], "wind": [1, 2, 2, 2], "cold": [True, False, True, True]})
    y = ["out", "out", "in", "in"]
    clf = CategoricalNB().fit(frame, y)
    assert clf.feature_names_in_.tolist() == ["sky", "wind", "cold"]
    assert clf.categories_ == [["rain", "sun"], [1, 2], [False, True]]
    assert clf.predict(frame).tolist() == y
    assert CategoricalNB().fit(pl.from_pandas(frame), y).predict(frame).tolist() == y


def test_values_that_were_never_seen() -> None:
    clf = CategoricalNB(alpha=0.5).fit([["a"], ["a"], ["b"]], ["x", "x", "y"])
    found = np.exp(clf.predict_joint_log_proba([["new"]]))
    np.testing.assert_allclose(found, [[2 / 3 * 0.5 / (2 + 2 * 0.5), 1 / 3 * 0.5 / (1 + 2 * 0.5)]], rtol=1e-13)
    # The number 1 is another value than the string "1".
    clf = CategoricalNB().fit(np.array([[1], ["1"]], object), ["number", "string"])
    assert clf.predict(np.array([[1], ["1"], [1.0], [True]], object)).tolist() == [
        "number",
        "string",
        "number",
        "number",
    ]
    assert clf.categories_ == [[1, "1"]]


@pytest.mark.parametrize("missing", [None, NAN, pd.NA, pd.NaT, np.float64("nan")], ids=repr)
def test_missing_values_are_skipped(missing: Any) -> None:
    X = np.array([["a", "p"], ["a", missing], [missing, "q"], ["b", "q"]], object)
    y = ["x", "x", "x", "y"]
    clf = CategoricalNB().fit(X, y)
    assert clf.categories_ == [["a", "b"], ["p", "q"]]
    np.testing.assert_allclose(np.exp(clf.feature_log_prob_[0]), [[3 / 4, 1 / 4], [1 / 3, 2 / 3]], rtol=1e-13)
    np.testing.assert_allclose(np.exp(clf.feature_log_prob_[1]), [[2 / 4, 2 / 4], [1 / 3, 2 / 3]], rtol=1e-13)
    prior = np.log([3 / 4, 1 / 4])
    scores = [
        clf.predict_joint_log_proba(np.array([row], object))[0] for row in (["a", "q"], ["a", missing], [missing, "q"])
    ]
    np.testing.assert_allclose(scores[0] + prior, scores[1] + scores[2], rtol=1e-13)
    np.testing.assert_allclose(
        clf.predict_joint_log_proba(np.array([[missing, missing]], object))[0], prior, rtol=1e-13
    )


def test_missing_numbers() -> None:
    clf = CategoricalNB().fit([[1.0], [NAN], [2.0]], ["x", "x", "y"])
    assert clf.categories_ == [[1.0, 2.0]]
    np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba([[NAN]])), [[2 / 3, 1 / 3]])


values = st.sampled_from(["a", "b", "c", None, 1, 2.5])
tables = st.lists(st.tuples(st.sampled_from("pqr"), st.tuples(values, values)), min_size=1, max_size=8)


def fitted(*parts: Any) -> CategoricalNB:
    rows = [row for part in parts for row in part]
    return CategoricalNB(alpha=0.5).fit(np.array([x for _, x in rows], object), [label for label, _ in rows])


def bits(clf: CategoricalNB) -> Any:
    queries = np.array([["a", 1], [None, "b"], ["never", 2.5], ["c", "c"]], object)
    return clf.classes_.tolist(), clf.n_categories_.tolist(), clf.predict_joint_log_proba(queries).tobytes()


@given(a=tables, b=tables, c=tables)
@settings(max_examples=examples(50))
def test_merging(a: Any, b: Any, c: Any) -> None:
    check_merging(fitted, bits, a, b, c)


@given(a=tables, b=tables)
@settings(max_examples=examples(50))
def test_unlearning(a: Any, b: Any) -> None:
    """Values and classes that nobody has any more go: S is as it was."""
    clf = fitted(a, b)
    for label, row in b:
        clf.unlearn(np.array([row], object), [label])
    assert bits(clf) == bits(fitted(a))


def test_what_was_never_learned() -> None:
    clf = fitted([("x", ("a", 1)), ("x", ("b", 1)), ("y", ("a", 2))])
    before = bits(clf)
    for row, label in [(("c", 1), "x"), (("a", 2), "x"), ((None, 1), "y"), (("a", 1), "z")]:
        with pytest.raises(UnlearnError, match="never learned"):
            clf.unlearn(np.array([row], object), [label])
    # A row with fewer values would leave more of them than rows.
    with pytest.raises(UnlearnError, match="never learned"):
        clf.unlearn(np.array([(None, None)], object), ["x"])
    assert bits(clf) == before


def test_weights_are_taken_back_to_rounding_only() -> None:
    X, y = [["a"], ["b"], ["a"]], ["x", "y", "y"]
    clf = CategoricalNB().fit(X, y, sample_weight=[0.1, 0.2, 0.7])
    with pytest.raises(UnlearnError, match="pass exact=False"):
        clf.unlearn(X[2:], y[2:], sample_weight=[0.7])
    clf.unlearn(X[2:], y[2:], sample_weight=[0.7], exact=False)
    expected = CategoricalNB().fit(X[:2], y[:2], sample_weight=[0.1, 0.2])
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
    whole = CategoricalNB().fit(X, y, sample_weight=[1, 2, 3]).unlearn(X[2:], y[2:], sample_weight=[3])
    assert whole.class_count_.tolist() == [1, 2]


def test_labels() -> None:
    clf = CategoricalNB().partial_fit([["a"]], ["x"], classes=["x", "y"])
    with pytest.raises(LabelError, match="'z' is not among"):
        clf.partial_fit([["a"]], ["z"])
    assert clf.class_count_.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": [1.0, 2.0]}, "alpha should be one number for all values"),
        ({"alpha": -1}, "alpha should be 0 or more"),
        ({"min_categories": -1}, "min_categories should be a whole number"),
        ({"min_categories": [3]}, "one for each of 2 columns"),
        ({"min_categories": 2.5}, "min_categories should be a whole number"),
    ],
)
def test_parameters_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        CategoricalNB(**options).fit([["a", "b"], ["b", "c"]], ["x", "y"])


def test_values_that_make_no_sense() -> None:
    with pytest.raises(DataError, match="a value should be a string or a number"):
        CategoricalNB().fit(np.array([[{"a": 1}], ["b"]], object), ["x", "y"])


def test_in_use() -> None:
    X, y, _ = data(5)
    named = NAMES[X]
    assert (cross_val_predict(CategoricalNB(), named, y) == y).mean() > 0.6
    assert GridSearchCV(CategoricalNB(), {"alpha": [0.1, 1.0]}).fit(named, y).best_score_ > 0.6
    assert (CalibratedClassifierCV(CategoricalNB(), cv=3).fit(named, y).predict(named) == y).mean() > 0.6
    cut = make_pipeline(KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), CategoricalNB()).fit(X * 1.5, y)
    assert (cut.predict(X * 1.5) == y).mean() > 0.6
    clf = CategoricalNB().fit(named, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(named), clf.predict_proba(named))
    assert isinstance(clone(clf), CategoricalNB)
