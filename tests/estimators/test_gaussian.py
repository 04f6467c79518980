"""`GaussianNB`: scikit-learn's checks and numbers; moments that merge, sparse input, missing values."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import naive_bayes as peers
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from bunrui.errors import LabelError, MismatchError, OptionError, UnlearnError
from bunrui.estimators import GaussianNB, MultinomialNB
from tests.support.examples import examples
from tests.support.rows import FORMS

NAN = float("nan")


@parametrize_with_checks([GaussianNB(), GaussianNB(var_smoothing=1e-3, prior="smoothed")])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def data(seed: int, offset: float = 0.0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, 150, p=[0.5, 0.3, 0.2])
    codes[:3] = range(3)
    centre, spread = rng.normal(0, 3, (3, 8)), rng.gamma(2, 1, (3, 8))
    X = rng.normal(centre[codes], spread[codes])
    Q = rng.normal(0, 3, (20, 8))
    X[rng.random(X.shape) < 0.5], Q[rng.random(Q.shape) < 0.5] = 0, 0
    return X + offset, np.array(["m", "z", "a"])[codes], Q + offset


def compare(ours: Any, theirs: Any, Q: Any, R: Any, relative: float = 1e-10) -> None:
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    for name in ("class_count_", "class_prior_", "theta_", "var_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        np.testing.assert_allclose(found, expected, rtol=relative, atol=1e-13, err_msg=name)
    for name in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, name)(Q), getattr(theirs, name)(R), rtol=relative, atol=1e-10)
    assert ours.predict(Q).tolist() == theirs.predict(R).tolist()


@pytest.mark.parametrize("form", FORMS)
def test_parity(form: Any) -> None:
    X, y, Q = data(1)
    compare(GaussianNB().fit(form(X), y), peers.GaussianNB().fit(X, y), form(Q), Q)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_real_tables(load: Any, form: Any) -> None:
    X, y = load(return_X_y=True)
    compare(GaussianNB().fit(form(X), y), peers.GaussianNB().fit(X, y), form(X), X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("whole", [False, True])
def test_weights(form: Any, whole: bool) -> None:
    """scikit-learn's floor of the variance ignores weights, so it is left out here."""
    X, y, Q = data(2)
    rng = np.random.default_rng(3)
    w = rng.integers(0, 4, len(y)) if whole else rng.random(len(y))
    theirs = peers.GaussianNB(var_smoothing=0).fit(X, y, sample_weight=w)
    compare(GaussianNB(var_smoothing=0).fit(form(X), y, sample_weight=w), theirs, form(Q), Q, relative=1e-9)
    if whole:
        repeated = np.repeat(np.arange(len(y)), w)
        compare(GaussianNB().fit(form(X), y, sample_weight=w), GaussianNB().fit(X[repeated], y[repeated]), form(Q), Q)


def test_priors_and_floor() -> None:
    X, y, Q = data(4)
    compare(GaussianNB(priors=[0.2, 0.5, 0.3]).fit(X, y), peers.GaussianNB(priors=[0.2, 0.5, 0.3]).fit(X, y), Q, Q)
    with np.errstate(divide="ignore"):  # theirs: the logarithm of 0
        compare(GaussianNB(priors=[0.5, 0, 0.5]).fit(X, y), peers.GaussianNB(priors=[0.5, 0, 0.5]).fit(X, y), Q, Q)
    for wrong in ([2, 1, 1], [0.5, 0.2, 0.2]):
        for estimator in (GaussianNB, peers.GaussianNB):
            with pytest.raises(ValueError, match="sum"):
                estimator(priors=wrong).fit(X, y)
    by_label = GaussianNB(prior={"z": 0.3, "m": 0.5, "a": 0.2}).fit(X, y)
    compare(by_label, peers.GaussianNB(priors=[0.2, 0.5, 0.3]).fit(X, y), Q, Q)
    uniform = GaussianNB(prior="uniform").fit(X, y)
    compare(uniform, peers.GaussianNB(priors=np.full(3, 1 / 3)).fit(X, y), Q, Q)
    for floor in (0.0, 1e-9, 0.1):
        theirs = peers.GaussianNB(var_smoothing=floor).fit(X, y)
        ours = GaussianNB(var_smoothing=floor).fit(X, y)
        compare(ours, theirs, Q, Q)
        assert ours.epsilon_ == pytest.approx(theirs.epsilon_, rel=1e-13)
        compare(GaussianNB().fit(X, y).set_params(var_smoothing=floor), theirs, Q, Q)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_in_pieces(form: Any) -> None:
    """All at once, grown piece by piece, and merged: the same to rounding."""
    X, y, Q = data(5)
    at_once = peers.GaussianNB().fit(X, y)
    grown, merged = GaussianNB(), GaussianNB()
    for start in range(0, 150, 19):
        rows = slice(start, start + 19)
        grown.partial_fit(form(X[rows]), y[rows])
        merged = GaussianNB().fit(form(X[rows]), y[rows]).merge(merged) if start else merged.fit(form(X[rows]), y[rows])
    compare(grown, at_once, form(Q), Q)
    compare(merged, at_once, form(Q), Q)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_far_from_zero(form: Any) -> None:
    """Numbers near 10 ** 8 that differ by 1: E[x²] - E[x]² would have no digit left."""
    X, y, Q = data(6, offset=1e8)
    near = GaussianNB(var_smoothing=0).fit(X - 1e8, y)
    far = GaussianNB(var_smoothing=0).fit(form(X), y)
    np.testing.assert_allclose(far.var_, near.var_, rtol=1e-7)
    np.testing.assert_allclose(far.predict_joint_log_proba(form(Q)), near.predict_joint_log_proba(Q - 1e8), rtol=1e-6)
    halves = GaussianNB(var_smoothing=0).fit(form(X[:30]), y[:30]).partial_fit(form(X[30:]), y[30:])
    np.testing.assert_allclose(halves.var_, near.var_, rtol=1e-7)


floats = st.floats(-1e3, 1e3).map(lambda x: round(x, 3))
tables = st.lists(st.tuples(st.sampled_from("pqr"), st.tuples(floats, floats)), min_size=1, max_size=12)


@given(a=tables, b=tables, c=tables)
@settings(max_examples=examples(50))
def test_merging(a: Any, b: Any, c: Any) -> None:
    def fitted(rows: Any) -> GaussianNB:
        return GaussianNB().fit([x for _, x in rows], [label for label, _ in rows])

    whole = fitted(a + b + c)
    for merged in (
        fitted(a).merge(fitted(b)).merge(fitted(c)),
        fitted(a).merge(fitted(b).merge(fitted(c))),
        fitted(c).merge(fitted(a)).merge(fitted(b)),
    ):
        assert merged.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_array_equal(merged.class_count_, whole.class_count_)
        size = 1e-12 * max(1.0, np.abs([x for _, x in a + b + c]).max())
        np.testing.assert_allclose(merged.theta_, whole.theta_, rtol=1e-12, atol=size)
        np.testing.assert_allclose(merged.var_, whole.var_, rtol=1e-12, atol=size**2 + 1e-12 * whole.var_.max())


def test_missing_values() -> None:
    """Each column has the mean and the variance of the values that are there."""
    X = np.array([[1.0, NAN], [3.0, 5.0], [NAN, 7.0], [8.0, NAN], [9.0, NAN], [2.0, 0.0]])
    y = ["a", "a", "a", "b", "b", "a"]
    for form in (np.asarray, sparse.csr_array):
        clf = GaussianNB(var_smoothing=0).fit(form(X), y)
        np.testing.assert_allclose(clf.theta_, [[2, 4], [8.5, 4]])  # b never had column 1: its mean over all
        np.testing.assert_allclose(clf.var_, [[2 / 3, 26 / 3], [0.25, 26 / 3]])
        queries = np.array([[2.0, NAN], [NAN, NAN], [NAN, 3.0], [2.0, 3.0]])
        scores = clf.predict_joint_log_proba(form(queries)) - np.log([4 / 6, 2 / 6])
        np.testing.assert_allclose(scores[1], 0, atol=1e-14)
        np.testing.assert_allclose(scores[3], scores[0] + scores[2], rtol=1e-12)
        assert scores[2][0] == pytest.approx(scores[2][1])
        assert scores[0] == pytest.approx(
            [-0.5 * np.log(2 * np.pi * 2 / 3), -0.5 * np.log(2 * np.pi * 0.25) - 0.5 * 6.5**2 / 0.25]
        )


def test_a_column_without_any_value_says_nothing() -> None:
    X = np.array([[1.0, NAN], [3.0, NAN], [8.0, NAN], [9.0, NAN]])
    y = ["a", "a", "b", "b"]
    for form in (np.asarray, sparse.csr_array):
        clf = GaussianNB().fit(form(X), y)
        alone = GaussianNB().fit(X[:, :1], y)
        expected = alone.predict_joint_log_proba([[2.0]])
        np.testing.assert_allclose(clf.predict_joint_log_proba(form(np.array([[2.0, 77.0]]))), expected)


def test_nothing_varies() -> None:
    clf = GaussianNB(var_smoothing=0).fit([[1.0, 5.0], [2.0, 5.0]], ["a", "b"])
    assert clf.predict([[1.0, 5.0], [2.0, 5.0]]).tolist() == ["a", "b"]
    assert np.isfinite(clf.predict_proba([[1.0, 5.0], [1.7, 9.0]])).all()


def test_a_sparse_matrix_stays_sparse() -> None:
    """200,000 rows of 5,000 columns would take 8 GB."""
    n, columns = 200_000, 5_000
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, n)
    X = sparse.csr_array(
        (1.0 + rng.random(n), (y * (columns // 2) + rng.integers(0, columns // 2, n)), np.arange(n + 1))
    )
    clf = GaussianNB().fit(X, y)
    assert clf.theta_.shape == (2, columns)
    assert (clf.predict(X[:1000]) == y[:1000]).all()


def test_unlearning_is_never_claimed_to_be_exact() -> None:
    X, y, Q = data(8)
    clf = GaussianNB().fit(X, y)
    before = clf.var_.tobytes()
    with pytest.raises(UnlearnError, match="cannot be taken back exactly: fit again, or pass exact=False"):
        clf.unlearn(X[:5], y[:5])
    with pytest.raises(UnlearnError, match="no row has the label 'new'"):
        clf.unlearn(X[:1], ["new"], exact=False)
    with pytest.raises(UnlearnError, match="never learned"):
        clf.unlearn(X[:1] * 1e3, y[:1], exact=False)
    assert clf.var_.tobytes() == before
    compare(clf.unlearn(X[:20], y[:20], exact=False), GaussianNB().fit(X[20:], y[20:]), Q, Q, relative=1e-9)
    gone = GaussianNB().fit(X, y).unlearn(X[y == "z"], y[y == "z"], exact=False)
    assert gone.classes_.tolist() == ["a", "m"]


def test_classes() -> None:
    X = np.array([[1.0], [2.0]])
    clf = GaussianNB().partial_fit(X, ["a", "b"], classes=["a", "b", "c"])
    assert clf.predict_proba(X)[:, 2].tolist() == [0, 0]
    with pytest.raises(LabelError, match="'d' is not among"):
        clf.partial_fit(X, ["a", "d"])
    with pytest.raises(MismatchError, match="GaussianNB cannot be merged with MultinomialNB"):
        clf.merge(MultinomialNB().fit(X, ["a", "b"]))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, NAN, "x", True])
def test_parameters_that_make_no_sense(value: Any) -> None:
    with pytest.raises(OptionError, match="var_smoothing should be a number, 0 or more"):
        GaussianNB(var_smoothing=value).fit([[1.0], [2.0]], ["a", "b"])


def test_in_use() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = GaussianNB().fit(X, y)
    assert clf.feature_names_in_.tolist() == X.columns.tolist()
    assert clf.predict(pl.from_pandas(X)).tolist() == clf.predict(X).tolist()
    holes = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
    assert (cross_val_predict(GaussianNB(), holes, y) == y).mean() > 0.9
    assert (CalibratedClassifierCV(GaussianNB(), cv=3).fit(X, y).predict(X) == y).mean() > 0.95
    assert GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}).fit(X, y).best_score_ > 0.95
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict_proba(X), clf.predict_proba(X))
    assert isinstance(clone(clf), GaussianNB)
    assert pd.DataFrame(clf.theta_).shape == (3, 13)
