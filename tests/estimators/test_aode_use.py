"""`AODE` in use: exact sums of parts, parameters, pipelines."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bunrui.errors import DataError, LabelError, MismatchError, OptionError, UnlearnError
from bunrui.estimators import AODE
from tests.support.examples import examples
from tests.support.laws import check_merging
from tests.support.rows import NAMES


def objects(X: Any) -> Any:
    return np.array(X, object)


def data(seed: int, n: int = 120) -> tuple[Any, Any]:
    """The label says whether two columns agree: naive Bayes cannot see it."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 4))
    return X, np.where(X[:, 0] % 2 == X[:, 1] % 2, "same", "other")


# --- parts


def fitted(*parts: Any) -> AODE:
    rows = [row for part in parts for row in part]
    return AODE(discretise=False).fit(objects([x for _, x in rows]), [label for label, _ in rows])


def bits(clf: AODE) -> Any:
    queries = objects([["a", 1, "z"], [None, "b", "b"], ["never", 2.5, "a"], ["c", "c", None], [None] * 3])
    return clf.classes_.tolist(), clf.predict_joint_log_proba(queries).tobytes()


values = st.sampled_from(["a", "b", "c", None, 1, 2.5])
parts = st.lists(st.tuples(st.sampled_from("pqr"), st.tuples(values, values, values)), min_size=1, max_size=8)


@given(a=parts, b=parts, c=parts)
@settings(max_examples=examples(50))
def test_merging(a: Any, b: Any, c: Any) -> None:
    check_merging(fitted, bits, a, b, c)


@given(a=parts, b=parts)
@settings(max_examples=examples(50))
def test_learning_and_unlearning_row_by_row(a: Any, b: Any) -> None:
    """New values and classes come at any time, and go when nobody has them any more."""
    clf = AODE(discretise=False)
    for label, row in [*a, *b]:
        clf.partial_fit(objects([row]), [label])
    assert bits(clf) == bits(fitted(a, b))
    for label, row in b:
        clf.unlearn(objects([row]), [label])
    assert bits(clf) == bits(fitted(a))


def test_what_was_never_learned() -> None:
    clf = fitted([("x", ("a", 1, 1)), ("x", ("b", 1, 2)), ("x", (None, 2, 1)), ("y", ("a", 2, 1))])
    before = bits(clf)
    wrong = [
        (("c", 1, 1), "x"),  # a value
        (("a", 2, 2), "y"),  # a pair
        (("a", 1, 1), "z"),  # a label
        (("a", None, 1), "x"),  # leaves pairs without their row
        ((None, None, None), "x"),
    ]
    for row, label in wrong:
        with pytest.raises(UnlearnError, match="never learned"):
            clf.unlearn(objects([row]), [label])
    assert bits(clf) == before


def test_weights() -> None:
    X, y = data(5, 40)
    twice = np.repeat(np.arange(40), 1 + np.arange(40) % 3)
    found, expected = AODE().fit(X, y, 1 + np.arange(40) % 3), AODE().fit(X[twice], y[twice])
    assert found.predict_joint_log_proba(X).tobytes() == expected.predict_joint_log_proba(X).tobytes()
    w = np.random.default_rng(6).random(40)
    clf = AODE().fit(X, y, w)
    with pytest.raises(UnlearnError, match="pass exact=False"):
        clf.unlearn(X[:9], y[:9], w[:9])
    clf.unlearn(X[:9], y[:9], w[:9], exact=False)
    expected = AODE().fit(X[9:], y[9:], w[9:])
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


def test_cuts_and_parts() -> None:
    X, y = np.array([[1.0], [2.0], [7.0], [9.0]] * 3), ["low", "low", "high", "high"] * 3
    assert not hasattr(AODE(), "partial_fit")
    clf = AODE().fit(X, y)
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        _ = clf.partial_fit
    assert "set discretise=False" in str(caught.value.__cause__)
    with pytest.raises(UnlearnError, match="pass exact=False to keep the cuts"):
        clf.unlearn(X[:1], y[:1])
    assert clf.unlearn(X[:1], y[:1], exact=False).class_count_.tolist() == [6, 5]
    with pytest.raises(MismatchError, match="column 0 is cut otherwise"):
        clf.merge(AODE().fit(X + 1, y))
    assert clf.merge(AODE().fit(X, y)).class_count_.tolist() == [12, 11]
    with pytest.raises(DataError, match="read as presence"):
        clf.predict(sparse.csr_array(X))
    # Where there was nothing to cut, learning goes on.
    assert AODE().fit([["a"]], ["x"]).partial_fit([["b"]], ["y"]).classes_.tolist() == ["x", "y"]


def test_labels() -> None:
    clf = AODE(discretise=False).partial_fit([["a"]], ["x"], classes=["x", "y"])
    with pytest.raises(LabelError, match="'z' is not among"):
        clf.partial_fit([["a"]], ["z"])
    # A class without rows is one of k.
    np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba([["a"]])), [[2 / 3, 1 / 3]], rtol=1e-13)


# --- parameters and use


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"m": 0}, "m should be a number of rows, above 0, not 0"),
        ({"m": "1"}, "m should be a number of rows"),
        ({"discretise": ["c"]}, "discretise names the column 'c', which X does not have"),
        ({"discretise": [2]}, "discretise names the column 2"),
        ({"discretise": "all"}, "discretise should be True, False or a list of columns, not 'all'"),
    ],
)
def test_parameters_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        AODE(**options).fit(pd.DataFrame({"a": [1, 2], "b": [1, 2]}), ["x", "y"])


def test_parameters_that_change() -> None:
    X, y = data(7)
    clf = AODE(m=1).fit(X, y)
    found = clf.set_params(m=1000).predict_joint_log_proba(X)
    np.testing.assert_array_equal(found, AODE(m=1000).fit(X, y).predict_joint_log_proba(X))
    with pytest.raises(OptionError, match="call fit after changing it"):
        clf.set_params(discretise=False).predict(X)


def test_values_that_make_no_sense() -> None:
    with pytest.raises(DataError, match="a value should be a string or a number"):
        AODE().fit(objects([[{"a": 1}], ["b"]]), ["x", "y"])
    with pytest.raises(DataError, match="has an infinite value"):
        AODE().fit([[np.inf], [1.0]], ["x", "y"])
    with pytest.raises(DataError, match="should have numbers, not 'red': see discretise"):
        AODE(discretise=[0]).fit([["red"], ["blue"]], ["x", "y"])
    with pytest.raises(DataError, match="should have numbers"):
        AODE(discretise=[0]).fit(np.array([["2020-01-01"], ["NaT"]], "M8[D]"), ["x", "y"])
    with pytest.raises(DataError, match="should have no NaN"):
        AODE().fit(sparse.csr_array([[np.nan], [1.0]]), ["x", "y"])


def test_in_use() -> None:
    X, y = data(8)
    named = NAMES[X]
    assert (cross_val_predict(AODE(), named, y) == y).mean() > 0.8
    search = GridSearchCV(AODE(), {"m": [1, 1000]}).fit(named, y)
    assert search.best_params_ == {"m": 1}
    assert (CalibratedClassifierCV(AODE(), cv=3).fit(named, y).predict(named) == y).mean() > 0.8
    assert make_pipeline(FunctionTransformer(), AODE()).fit(named, y).score(named, y) > 0.8
    clf = AODE().fit(named, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(named), clf.predict_proba(named))
    assert isinstance(clone(clf), AODE)
    np.testing.assert_allclose(clf.predict_proba(named).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(named)), clf.predict_proba(named))
