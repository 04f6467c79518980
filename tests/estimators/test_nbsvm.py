"""`NBSVM`: scikit-learn's checks, a slow twin, the optimum of liblinear, and what its rows and weights promise."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bunrui.errors import DataError, LabelError, OptionError
from bunrui.estimators import NBAROW, NBSVM, TextVectorizer
from bunrui.models.heads import arrange, cells_of
from bunrui.sparse import Sparse
from tests.support.kernels import MODES, kernels
from tests.support.kernels import mode as mode
from tests.support.rows import FORMS, rare_columns

PLAIN_ROWS: dict[str, Any] = {"log": False, "idf_power": 0.0, "norm": None}
# The defaults of version 1 of the formula.
FIRST: dict[str, Any] = {"variance": "ratio", "start": 0.3, "bias": 0.1, "presence": True, "max_iter": 2}
TIGHT: dict[str, Any] = {"max_iter": 20_000, "tol": 1e-11}


@parametrize_with_checks([NBSVM()])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        NBSVM(loss="logistic"),
        NBSVM(**FIRST),
        NBSVM(variance="one", start=0.0, **PLAIN_ROWS),
        NBSVM(loss="hinge", max_iter=3000, tol=1e-12, **PLAIN_ROWS),
        NBSVM.wang_manning(),
    ]
)
def test_the_checks_of_scikit_learn_with_options(estimator: Any, check: Any) -> None:
    check(estimator)


def test_why_presence_waives_the_accuracy_of_the_checks() -> None:
    """By presence, the rows of `check_classifiers_train` are four; values as they are have no waiver."""
    X, y = make_blobs(n_samples=300, random_state=0)
    X = StandardScaler().fit_transform(X)
    kinds, rows = np.unique(X > 0, axis=0, return_inverse=True)
    assert len(kinds) == 4
    best = sum(np.bincount(y[rows == kind]).max() for kind in range(4)) / 300
    assert best == pytest.approx(0.8467, abs=1e-4)
    assert NBSVM(**FIRST | {"max_iter": 200}).fit(X, y).score(X, y) == best
    for given in (NBSVM(), NBAROW(), NBSVM(log=False), NBAROW(log=False)):
        assert given.fit(X, y).score(X, y) > 0.83 and not given.__sklearn_tags__().classifier_tags.poor_score


def data(seed: int, n_classes: int, n: int = 60, columns: int = 40) -> tuple[Any, Any, Any]:
    """Counts, many columns of which occur in one row only; some rows come twice."""
    return rare_columns(seed, n_classes, n, columns, rare=0.08)


# A slow twin: dense, one number at a time, every column for itself.


def reference_rows(clf: Any, X: Any, factor: Any) -> Any:
    logs = np.sign(X) * np.log(1 + np.abs(X))
    rows = ((X > 0) if clf.presence else logs if clf.log else X) * factor
    length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows / np.where(length > 0, length, 1) if clf.norm else rows


def reference_variance(clf: Any, ratio: Any, doc_freq: Any) -> Any:
    if clf.variance == "ratio":
        return ratio**2
    share = 0.0 if clf.variance == "one" else clf.variance
    mean = (doc_freq @ (ratio**2).T / doc_freq.sum())[..., None]
    return (1 - share) + share * ratio**2 / mean


def reference_ratio(X: Any, inside: Any, weights: Any, alpha: float) -> Any:
    seen = (X > 0).any(axis=0)
    ours, rest = (weights[rows] @ X[rows] + alpha for rows in (inside, ~inside))
    ratio = np.log(ours / ours[seen].sum()) - np.log(rest / rest[seen].sum())
    return np.where(seen, ratio, 0.0)


def reference_move(loss: str, margin: float, old: float, q: float, upper: float) -> float:
    if loss == "logistic":

        def slope(a: float) -> float:
            return float(q * (a - old) + margin + np.log(a) - np.log(upper - a))

        return float(brentq(slope, upper * 1e-15, upper * (1 - 1e-15), xtol=1e-16, rtol=1e-14))
    ridge = 0.5 / upper if loss == "squared_hinge" else 0.0
    return float(np.clip(old - (margin - 1 + ridge * old) / (q + ridge), 0, upper if loss == "hinge" else np.inf))


def reference(clf: NBSVM, X: Any, y: Any, weights: Any) -> tuple[Any, Any]:
    """(coef_, intercept_) after clf.max_iter epochs."""
    classes, codes = np.unique(y, return_inverse=True)
    cells = cells_of(Sparse.of(X), clf)
    order, weights = arrange(cells, codes.astype(np.int64), weights.astype(float), 0)
    X, codes = X[order].astype(float), codes[order]
    counted = (X > 0).astype(float)
    doc_freq = weights @ (X > 0)
    factor = (np.log((1 + weights.sum()) / (1 + doc_freq)) + 1) ** clf.idf_power
    rows = reference_rows(clf, X, np.where(doc_freq > 0, factor, 0))
    positive = range(1, 2) if len(classes) == 2 else range(len(classes))
    ratio = np.array([reference_ratio(counted, codes == c, weights, clf.alpha) for c in positive])
    mean = np.average(np.abs(rows @ ratio.T).mean(axis=1), weights=weights)
    coef, bias = ratio * (clf.start / mean), np.zeros(len(ratio))
    variance = reference_variance(clf, ratio, doc_freq)
    dual = np.zeros((len(codes), len(ratio)))
    for epoch in range(clf.max_iter):
        places = np.random.default_rng([0, epoch]).permutation(len(codes)) if epoch else np.arange(len(codes))
        for i in places:
            for k, c in enumerate(positive):
                sign = 1.0 if codes[i] == c else -1.0
                margin = sign * (coef[k] @ rows[i] + clf.bias * bias[k])
                q = variance[k] @ rows[i] ** 2 + clf.bias**2
                new = reference_move(clf.loss, margin, dual[i, k], q, clf.C * weights[i])
                step = sign * (new - dual[i, k])
                dual[i, k] = new
                coef[k] += step * rows[i] * variance[k]
                bias[k] += step * clf.bias
    return coef, bias * clf.bias


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "options",
    [
        {},
        FIRST,
        {"loss": "hinge", "max_iter": 5, "C": 0.5, "variance": 1, "presence": True},
        {"loss": "logistic", "max_iter": 3, "alpha": 1.0, "start": 0.3, "variance": 0.2},
        {"log": False, "norm": None, "idf_power": 1.0, "bias": 1.0, "C": 0.1, "variance": "ratio"},
        {"variance": "one", "bias": 0.0},
    ],
)
def test_the_slow_twin(options: Any, n_classes: int, mode: str) -> None:
    for seed in range(3):
        X, y, _ = data(seed, n_classes)
        weights = np.random.default_rng(seed).integers(0, 3, len(y)) if seed else np.ones(len(y))
        weights[:n_classes] = 1
        clf = NBSVM(**options).fit(X, y, sample_weight=weights)
        coef, intercept = reference(clf, X, y, weights)
        np.testing.assert_allclose(clf.coef_, coef, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(clf.intercept_, intercept, rtol=1e-9, atol=1e-11)
        assert clf.classes_.tolist() == sorted(set(y))


def test_plain_and_compiled_are_equal() -> None:
    X, y, Q = data(4, 4)
    answers = []
    for how in MODES:
        with kernels(how):
            answers.append([NBSVM(loss=loss).fit(X, y).decision_function(Q) for loss in ("hinge", "squared_hinge")])
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-13, atol=1e-14)


# The optimum


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_without_ratio_it_is_liblinear(loss: str, n_classes: int) -> None:
    X, y, Q = data(5, n_classes)
    w = np.random.default_rng(5).random(len(y)) + 0.1
    clf = NBSVM(variance="one", start=0.0, loss=loss, bias=1.0, **PLAIN_ROWS, **TIGHT).fit(X, y, sample_weight=w)
    peer = LinearSVC(loss=loss, dual=True, intercept_scaling=1.0, tol=1e-10, max_iter=1_000_000).fit(X, y, w)
    assert clf.classes_.tolist() == peer.classes_.tolist()
    seen = X.any(axis=0)
    np.testing.assert_allclose(clf.coef_[:, seen], peer.coef_[:, seen], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(clf.intercept_, peer.intercept_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(clf.decision_function(Q), peer.decision_function(Q), rtol=1e-4, atol=1e-4)


def test_without_ratio_it_is_logistic_regression() -> None:
    X, y, Q = data(6, 2)
    clf = NBSVM(variance="one", start=0.0, loss="logistic", bias=0.0, **PLAIN_ROWS, **TIGHT).fit(X, y)
    peer = LogisticRegression(fit_intercept=False, tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(clf.coef_, peer.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(clf.predict_proba(Q), peer.predict_proba(Q), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_gradient_is_zero_at_the_optimum(loss: str) -> None:
    """(w - mean) / v = -C Σ s · loss'(y · margin) · y · x: the prior of the formula, not only where it begins."""
    X, y, _ = data(7, 2)
    s = np.random.default_rng(7).random(len(y)) + 0.5
    clf = NBSVM(loss=loss, C=2.0, start=0.3, **TIGHT).fit(X, y, sample_weight=s)
    assert clf.violation_ <= TIGHT["tol"]
    rows, sign = clf.rows(X).toarray(), np.where(y == "b", 1.0, -1.0)
    ratio = reference_ratio((X > 0).astype(float), y == "b", s, clf.alpha)
    margin = sign * clf.decision_function(X)
    slope = -2 * np.maximum(1 - margin, 0) if loss == "squared_hinge" else -1 / (1 + np.exp(margin))
    pull = -clf.C * (s * slope * sign) @ rows * reference_variance(clf, ratio, s @ (X > 0))
    mean = ratio * (clf.start / np.average(np.abs(rows @ ratio), weights=s))
    np.testing.assert_allclose(clf.coef_[0], mean + pull, rtol=1e-7, atol=1e-9)


def test_wang_and_manning() -> None:
    """Their form: an SVM on features that are scaled by the ratio, weights drawn towards their mean."""
    X, y, Q = data(8, 2)
    clf = NBSVM.wang_manning(C=0.5, tol=1e-11, max_iter=100_000).fit(X, y)
    ratio = reference_ratio((X > 0).astype(float), y == "b", np.ones(len(y)), 1.0)
    peer = LinearSVC(C=0.5, tol=1e-11, max_iter=1_000_000, random_state=0).fit((X > 0) * ratio, y)
    seen = X.any(axis=0)
    mean = np.abs(peer.coef_[0][seen]).mean()
    expected = ((Q > 0) * ratio) @ (0.75 * mean + 0.25 * peer.coef_[0]) + peer.intercept_
    np.testing.assert_allclose(clf.decision_function(Q), expected, rtol=1e-4, atol=1e-5)


# What rows and weights promise


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("presence", [True, False])
def test_order_and_repetition_do_not_matter(presence: bool, loss: str) -> None:
    """A few epochs only: far from the optimum, and still the same bits."""
    X, y, Q = data(9, 4)
    rng = np.random.default_rng(9)
    w = rng.integers(0, 4, len(y))
    w[:4] = 1
    weighted = NBSVM(presence=presence, loss=loss).fit(X, y, sample_weight=w)
    repeated = rng.permutation(np.repeat(np.arange(len(y)), w))
    again = NBSVM(presence=presence, loss=loss).fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(weighted.decision_function(Q), again.decision_function(Q))
    assert (NBSVM(presence=presence, random_state=1).fit(X, y).coef_ != NBSVM(presence=presence).fit(X, y).coef_).any()


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: Any) -> None:
    X, y, Q = data(10, 4)
    expected = NBSVM().fit(X, y).decision_function(Q)
    np.testing.assert_array_equal(NBSVM().fit(form(X), y).decision_function(form(Q)), expected)
    np.testing.assert_array_equal(NBSVM().fit(form(X.astype(np.float32)), y).decision_function(form(Q)), expected)


def test_cells_that_are_zero_or_come_twice() -> None:
    X, y, Q = data(11, 2)
    expected = NBSVM().fit(X, y).decision_function(Q)
    cells = sparse.coo_array(X)
    place = (np.concatenate([cells.row, cells.row, [0, 1]]), np.concatenate([cells.col, cells.col, [3, 5]]))
    values = np.concatenate([cells.data - 0.5, np.full(cells.nnz, 0.5), [0.0, 0.0]])
    odd = sparse.csr_array((values, place), shape=X.shape)
    before = odd.copy()
    np.testing.assert_array_equal(NBSVM().fit(odd, y).decision_function(Q), expected)
    np.testing.assert_array_equal(odd.data, before.data)


@pytest.mark.parametrize("options", [{}, {"presence": True}, {"log": False}])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
def test_the_matrix_stays_as_it_is(dtype: Any, options: Any) -> None:
    """Heads write their rows over a copy."""
    X, y, Q = data(14, 4)
    given = sparse.csr_array(X.astype(dtype))
    before = given.copy()
    clf = NBSVM(**options).fit(given, y)
    NBAROW(**options).fit(given, y).partial_fit(given, y)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(given, name), getattr(before, name))
    assert np.array_equal(NBSVM(**options).fit(before, y).decision_function(Q), clf.decision_function(Q))


def test_values_that_are_not_looked_up() -> None:
    """Only small whole numbers are."""
    X, y, _ = data(15, 4)
    for some in (X * 100_000, X / 4, np.where(X == 2, 0.3, X)):
        clf = NBSVM().fit(some, y)
        coef, intercept = reference(clf, some, y, np.ones(len(y)))
        np.testing.assert_allclose(clf.coef_, coef, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(clf.intercept_, intercept, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_is_linear(n_classes: int) -> None:
    X, y, Q = data(12, n_classes)
    clf = NBSVM().fit(X, y)
    margins = (clf.rows(Q) @ clf.coef_.T + clf.intercept_).reshape(clf.decision_function(Q).shape)
    np.testing.assert_allclose(margins, clf.decision_function(Q), rtol=1e-12, atol=1e-14)
    assert clf.coef_.shape == (1 if n_classes == 2 else n_classes, X.shape[1])
    probability = clf.predict_proba(Q)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert clf.classes_[probability.argmax(axis=1)].tolist() == clf.predict(Q).tolist()
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(Q)), probability)
    if n_classes == 2:
        np.testing.assert_allclose(probability[:, 1], 1 / (1 + np.exp(-margins)))


def test_columns_that_were_never_seen_say_nothing() -> None:
    X, y, Q = data(13, 2)
    unseen = np.flatnonzero(~X.any(axis=0))
    assert len(unseen)
    clf = NBSVM().fit(X, y)
    louder = Q.copy()
    louder[:, unseen] = 9
    assert (clf.decision_function(Q) != 0).all()
    np.testing.assert_array_equal(clf.decision_function(louder), clf.decision_function(Q))
    assert not clf.coef_[:, unseen].any()


def test_nothing_to_read() -> None:
    clf = NBSVM().fit(np.zeros((3, 2)), ["a", "b", "b"])
    assert clf.predict([[0, 0], [4, 0]]).tolist() == ["b", "b"]


def test_columns_of_one_row_share_their_weights() -> None:
    X = np.eye(200, dtype=np.int64).repeat(5, axis=1)
    clf = NBSVM().fit(X, np.arange(200) % 2)
    assert clf._learned.weights.shape == (200, 1)
    assert (clf.predict(X) == np.arange(200) % 2).all()
    X[0, 0] = 2  # another value is another feature
    assert NBSVM().fit(X, np.arange(200) % 2)._learned.weights.shape == (201, 1)
    assert NBSVM(presence=True).fit(X, np.arange(200) % 2)._learned.weights.shape == (200, 1)


def test_values_are_read_as_logarithms() -> None:
    X = np.array([[1, 2, 0], [3, 300, 0], [0, 4, 5], [0, 1, 7]])
    clf = NBSVM(idf_power=0.0, norm=None).fit(X, ["a", "a", "b", "b"])
    np.testing.assert_allclose(clf.rows(X).toarray(), np.log(1 + X), rtol=1e-15)
    np.testing.assert_allclose(clf.rows(-X / 2).toarray(), -np.log(1 + X / 2), rtol=1e-15)
    many = np.tile(X % 256, (100, 1))  # small whole numbers are looked up
    np.testing.assert_array_equal(clf.rows(many).toarray(), clf.rows(many.astype(float)).toarray())


def test_the_share_of_the_ratio() -> None:
    """A share of 0 is an ordinary SVM; with 1, a column that says nothing has no weight."""
    X, y = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]), ["a", "a", "b", "b"]
    alike = {"idf_power": 0.0, "bias": 0.0}
    assert NBSVM(variance=1, **alike).fit(X, y).coef_[0, 0] == 0
    skewed = X + np.array([[0, 0, 0]] * 2 + [[4, 0, 0]] * 2)
    assert NBSVM(variance=0.7, **alike).fit(skewed, y).coef_[0, 0] != 0
    plain = NBSVM(variance=0, **alike).fit(skewed, y).coef_
    np.testing.assert_array_equal(plain, NBSVM(variance="one", **alike).fit(skewed, y).coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C should be a number, above 0, not 0"),
        ({"alpha": 0.0}, "alpha should be a number, above 0, not 0.0"),
        ({"bias": -1}, "bias should be a number, 0 or more, not -1"),
        ({"start": "x"}, "start should be a number, 0 or more, not 'x'"),
        ({"tol": float("nan")}, "tol should be a number, 0 or more, not nan"),
        ({"max_iter": 0}, "max_iter should be a number, above 0, not 0"),
        ({"loss": "log"}, "there is no loss 'log': choose one of squared_hinge, hinge, logistic"),
        ({"variance": "half"}, "variance should be a number from 0 to 1, 'ratio' or 'one', not 'half'"),
        ({"variance": 1.5}, "variance should be a number from 0 to 1, 'ratio' or 'one', not 1.5"),
        ({"variance": float("nan")}, "variance should be a number from 0 to 1, 'ratio' or 'one', not nan"),
        ({"norm": "l1"}, "norm should be 'l2' or None, not 'l1'"),
        ({"beta": 2}, "beta should be at most 1, not 2"),
        ({"beta": 0.5}, "beta needs variance='ratio': give both, or none"),
    ],
)
def test_parameters_that_make_no_sense(options: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        NBSVM(**options).fit([[1, 0], [0, 1]], ["a", "b"])


def test_rows_that_make_no_sense() -> None:
    with pytest.raises(DataError, match="all rows are of one class, 'a': give rows of another"):
        NBSVM().fit([[1], [2]], ["a", "a"])
    with pytest.raises(LabelError, match="Unknown label type: continuous"):
        NBSVM().fit([[1], [2]], [0.5, 1.5])
    with pytest.raises(DataError, match="sample_weight is zero for all rows"):
        NBSVM().fit([[1], [2]], ["a", "b"], sample_weight=[0, 0])


def test_in_use() -> None:
    texts = ["good film", "a good one", "fine film", "bad film", "a bad one", "poor film"] * 5
    y = (["+"] * 3 + ["-"] * 3) * 5
    pipe = make_pipeline(TextVectorizer(ngram_range=(1, 2)), NBSVM())
    assert (cross_val_predict(pipe, texts, y) == y).all()
    grid = GridSearchCV(pipe, {"nbsvm__C": [0.3, 1], "nbsvm__loss": ["hinge", "logistic"]}).fit(texts, y)
    assert grid.best_score_ == 1
    X = TextVectorizer().fit_transform(texts)
    assert (CalibratedClassifierCV(NBSVM(), cv=3).fit(X, y).predict(X) == y).all()
    frame = pd.DataFrame(X.toarray(), columns=TextVectorizer().fit(texts).get_feature_names_out())
    clf = NBSVM().fit(frame, y)
    assert clf.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(clf.predict_proba(pl.from_pandas(frame)), clf.predict_proba(frame))
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict_proba(frame), clf.predict_proba(frame))
    assert not hasattr(clone(clf), "coef_")
