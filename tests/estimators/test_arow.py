"""`NBAROW`: scikit-learn's checks, a slow twin that goes on learning, growing classes and columns."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bunrui.errors import LabelError, OptionError
from bunrui.estimators import NBAROW, TextVectorizer
from bunrui.models.heads import arrange, cells_of
from bunrui.sparse import Sparse
from tests.support.kernels import mode as mode
from tests.support.rows import FORMS, rare_columns

# The defaults of version 1 of the formula.
FIRST: dict[str, Any] = {"variance": "ratio", "floor": 0.3, "r": 0.5, "start": 0.3, "bias": 0.1, "presence": True}


@parametrize_with_checks(
    [NBAROW(), NBAROW(**FIRST), NBAROW(log=False, variance="one", idf_power=0.0, norm=None, bias=1.0)]
)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def data(seed: int, n_classes: int, n: int = 80, columns: int = 60) -> tuple[Any, Any, Any]:
    """Counts, many columns of which occur in one row only; some rows come twice."""
    return rare_columns(seed, n_classes, n, columns, rare=0.04)


class Twin:
    """NBAROW, slow: dense, one number at a time, every column and every class for itself."""

    def __init__(self, clf: NBAROW, columns: int) -> None:
        self.clf = clf
        self.weights: dict[str, Any] = {}
        self.variance: dict[str, Any] = {}
        self.bias: dict[str, list[float]] = {}
        self.factor, self.total = np.zeros(columns), np.zeros(columns)
        self.mass: dict[str, float] = {}
        self.n_docs = 0.0
        self.unit: float | None = None if clf.start else 0.0

    def rows(self, X: Any) -> Any:
        rows = ((X > 0) if self.clf.presence else np.log(1 + X) if self.clf.log else X) * self.factor
        length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return rows / np.where(length > 0, length, 1) if self.clf.norm else rows

    def learn(self, X: Any, y: Any, weights: Any, classes: Any = ()) -> None:
        alpha, there = self.clf.alpha, (X > 0).astype(float)
        self.n_docs += weights.sum()
        new = (self.factor == 0) & X.any(axis=0)
        idf = np.log((1 + self.n_docs) / (1 + weights @ (X != 0))) + 1
        self.factor = np.where(new, idf**self.clf.idf_power, self.factor)
        self.total += weights @ there
        new_classes = sorted({*y, *classes} - set(self.weights))
        for c in new_classes:
            self.weights[c], self.variance[c] = np.zeros((2, len(new)))
            self.bias[c], self.mass[c] = [0.0, 1.0], 0.0
        for c in set(y):
            self.mass[c] += (weights[y == c] @ there[y == c]).sum()
        seen = self.factor > 0
        for c in self.weights:
            count = weights[y == c] @ there[y == c]
            ours, rest = count + alpha, self.total - count + alpha
            every = sum(self.mass.values())
            shift = np.log((every - self.mass[c] + alpha * seen.sum()) / (self.mass[c] + alpha * seen.sum()))
            ratio = np.log(ours / rest) + shift
            begins = seen if c in new_classes else new
            self.weights[c] = np.where(begins, ratio * (1.0 if self.unit is None else self.unit), self.weights[c])
            self.variance[c] = np.where(begins, self.prior(ratio, begins), self.variance[c])
        rows = self.rows(X)
        if self.unit is None:
            sizes = np.mean(
                [np.abs(rows @ w + self.clf.bias * self.bias[c][0]) for c, w in self.weights.items()], axis=0
            )
            mean = np.average(sizes, weights=weights)
            unit = float(self.clf.start / mean) if mean > 1e-9 and len(self.weights) > 1 else 0.0
            for c in self.weights:
                begins = seen if c in new_classes else new
                self.weights[c] = np.where(begins, self.weights[c] * unit, self.weights[c])
            self.unit = unit or None
        for x, label, s in zip(rows, y, weights, strict=True):
            for c in self.weights:
                self.step(c, x, 1.0 if label == c else -1.0, s)

    def prior(self, ratio: Any, begins: Any) -> Any:
        variance, share = ratio**2, self.clf.variance
        if share != "ratio":
            mass = self.total[begins]
            mean = variance[begins] @ mass / mass.sum() if mass.any() else 0.0
            share = 0.0 if share == "one" else share
            variance = (1 - share) + share * (variance / mean if mean > 1e-12 else 1.0)
        return np.maximum(variance, self.clf.floor)

    def step(self, c: str, x: Any, sign: float, s: float) -> None:
        gap = 1 - sign * (self.weights[c] @ x + self.clf.bias * self.bias[c][0])
        if gap <= 0:
            return
        beta = 1 / (self.variance[c] @ x**2 + self.clf.bias**2 * self.bias[c][1] + self.clf.r / s)
        self.weights[c] += beta * gap * sign * self.variance[c] * x
        self.variance[c] -= beta * (self.variance[c] * x) ** 2
        own = self.clf.bias * self.bias[c][1]
        self.bias[c][0] += beta * gap * sign * own
        self.bias[c][1] -= beta * own**2

    def margins(self, X: Any) -> Any:
        rows = self.rows(X)
        found = [rows @ self.weights[c] + self.clf.bias * self.bias[c][0] for c in sorted(self.weights)]
        return (found[1] - found[0]) / 2 if len(found) == 2 else np.array(found).T


OPTIONS: list[dict[str, Any]] = [
    {},
    FIRST,
    {"r": 1.0, "alpha": 1.0, "bias": 1.0, "idf_power": 0.0, "start": 0.3, "floor": 0.5, "variance": 1},
    {"log": False, "norm": None, "variance": "ratio", "r": 2.0},
]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("options", OPTIONS)
def test_the_slow_twin(options: Any, n_classes: int, mode: str) -> None:
    for seed in range(3):
        X, y, Q = data(seed, n_classes)
        weights = np.random.default_rng(seed).integers(1, 3, len(y)).astype(float)
        clf = NBAROW(**options).fit(X, y, sample_weight=weights)
        _, codes = np.unique(y, return_inverse=True)
        order, merged = arrange(cells_of(Sparse.of(X), clf), codes.astype(np.int64), weights, 0)
        twin = Twin(clf, X.shape[1])
        twin.learn(X[order], y[order], merged)
        np.testing.assert_allclose(clf.decision_function(Q), twin.margins(Q), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("size", [1, 7, 40])
def test_the_slow_twin_goes_on_learning(size: int, options: Any, mode: str) -> None:
    """Classes and columns come batch by batch; columns that shared a place part."""
    X, y, Q = data(20 + size, 4)
    order = np.argsort(y, kind="stable")  # class by class: new ones come late
    X, y = X[order], y[order]
    clf = NBAROW(**options)
    twin = Twin(clf, X.shape[1])
    rng = np.random.default_rng(size)
    for start in range(0, len(y), size):
        batch = slice(start, start + size)
        weights = rng.integers(1, 4, len(y[batch])).astype(float)
        clf.partial_fit(X[batch], y[batch], sample_weight=weights)
        twin.learn(X[batch], y[batch], weights)
        np.testing.assert_allclose(clf.decision_function(Q).ravel(), twin.margins(Q).ravel(), rtol=1e-7, atol=1e-9)
        assert clf.classes_.tolist() == sorted(set(y[: start + size]))


def test_after_fit_it_goes_on_learning() -> None:
    X, y, Q = data(30, 4)
    clf = NBAROW().fit(X[:50], y[:50])
    twin = Twin(clf, X.shape[1])
    _, codes = np.unique(y[:50], return_inverse=True)
    cells = cells_of(Sparse.of(X[:50]), clf)
    order, merged = arrange(cells, codes.astype(np.int64), np.ones(50), 0)
    twin.learn(X[order], y[order], merged)
    clf.partial_fit(X[50:], y[50:])
    twin.learn(X[50:], y[50:], np.ones(30))
    np.testing.assert_allclose(clf.decision_function(Q), twin.margins(Q), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(clf.rows(Q) @ clf.coef_.T + clf.intercept_, clf.decision_function(Q), atol=1e-12)


@pytest.mark.parametrize("presence", [True, False])
def test_order_and_repetition_do_not_matter_to_fit(presence: bool) -> None:
    X, y, Q = data(31, 4)
    rng = np.random.default_rng(31)
    w = rng.integers(0, 4, len(y))
    w[:4] = 1
    weighted = NBAROW(presence=presence).fit(X, y, sample_weight=w)
    repeated = rng.permutation(np.repeat(np.arange(len(y)), w))
    again = NBAROW(presence=presence).fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(weighted.decision_function(Q), again.decision_function(Q))
    other = NBAROW(presence=presence, random_state=1).fit(X, y)
    assert (other.coef_ != NBAROW(presence=presence).fit(X, y).coef_).any()


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: Any) -> None:
    X, y, Q = data(32, 4)
    expected = NBAROW().fit(X, y).partial_fit(X[:9], y[:9]).decision_function(Q)
    clf = NBAROW().fit(form(X), y).partial_fit(form(X[:9]), y[:9])
    np.testing.assert_array_equal(clf.decision_function(form(Q)), expected)


def test_many_columns_and_few_cells() -> None:
    """A batch that is small beside the columns takes another way to the same numbers."""
    X, y, Q = data(33, 2)
    wide, queries = (sparse.hstack([sparse.csr_array(part), sparse.csr_array((len(part), 200_000))]) for part in (X, Q))
    narrow_clf, wide_clf = NBAROW(), NBAROW()
    for start in range(0, 80, 20):
        batch = slice(start, start + 20)
        narrow_clf.partial_fit(X[batch], y[batch])
        wide_clf.partial_fit(wide.tocsr()[batch], y[batch])
    np.testing.assert_array_equal(wide_clf.decision_function(queries), narrow_clf.decision_function(Q))


def test_classes() -> None:
    X = np.array([[1, 0, 0], [0, 1, 0]])
    clf = NBAROW().partial_fit(X, ["b", "c"], classes=["a", "b", "c"])
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert clf.predict(X).tolist() == ["b", "c"]
    before = clf.coef_
    with pytest.raises(LabelError, match="'d' is not among"):
        clf.partial_fit(X, ["a", "d"])
    np.testing.assert_array_equal(clf.coef_, before)
    assert clf.partial_fit([[0, 0, 1]], ["d"], classes=["d"]).classes_.tolist() == ["a", "b", "c", "d"]
    assert clf.predict([[0, 0, 1]]).tolist() == ["d"]
    with pytest.raises(LabelError, match="give labels of one kind"):
        NBAROW().partial_fit(X, ["b", "c"]).partial_fit(X, [1, 2])
    one = NBAROW().partial_fit(X, ["b", "b"])
    assert one.predict(X).tolist() == ["b", "b"]
    assert one.predict_proba(X).tolist() == [[1.0], [1.0]]


def test_one_row_at_a_time() -> None:
    """The first row has one class and tells nothing apart: its words learn later all the same."""
    X, y, _ = data(36, 2, n=300)
    clf = NBAROW()
    for row, label in zip(X, y, strict=True):
        clf.partial_fit([row], [label])
    assert (clf.predict(X) == y).mean() > (NBAROW().fit(X, y).predict(X) == y).mean() - 0.05


def test_a_class_that_comes_late_is_told_apart() -> None:
    X, y, _ = data(34, 4, n=400)
    late = y == "d"
    clf = NBAROW().fit(X[~late], y[~late])
    known = (clf.predict(X[~late]) == y[~late]).mean()
    order = np.random.default_rng(0).permutation(len(y))
    clf.partial_fit(X[order], y[order])
    assert (clf.predict(X) == y).mean() > known - 0.1
    assert (clf.predict(X[late]) == "d").mean() > 0.7


def test_columns_of_one_row_share_their_weights_until_they_part() -> None:
    X = np.eye(20, dtype=np.int64).repeat(5, axis=1)
    y = np.arange(20) % 2
    clf = NBAROW().fit(X, y)
    assert len(clf._learned.weights) == 20
    one = np.zeros((1, 100), np.int64)
    one[0, 0] = 1
    before = clf.coef_[0].copy()
    clf.partial_fit(one, [1])
    assert clf.coef_[0, 0] > before[0]
    np.testing.assert_array_equal(clf.coef_[0, 1:], before[1:])


def test_options_that_cannot_change() -> None:
    X, y, _ = data(35, 2)
    clf = NBAROW().fit(X, y)
    with pytest.raises(OptionError, match=r"alpha=0\.5 holds for the rows so far: call fit again after changing it"):
        clf.set_params(alpha=1.0).partial_fit(X, y)
    clf.set_params(alpha=0.5, r=1.0).partial_fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"r": 0}, "r should be a number, above 0, not 0"),
        ({"alpha": True}, "alpha should be a number, above 0, not True"),
        ({"variance": True}, "variance should be a number from 0 to 1, 'ratio' or 'one', not True"),
        ({"idf_power": -1}, "idf_power should be a number, 0 or more, not -1"),
        ({"norm": "l1"}, "norm should be 'l2' or None, not 'l1'"),
    ],
)
def test_parameters_that_make_no_sense(options: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        NBAROW(**options).fit([[1, 0], [0, 1]], ["a", "b"])


def test_in_use() -> None:
    texts = ["good film", "a good one", "fine film", "bad film", "a bad one", "poor film"] * 5
    y = (["+"] * 3 + ["-"] * 3) * 5
    pipe = make_pipeline(TextVectorizer(ngram_range=(1, 2)), NBAROW())
    assert (cross_val_predict(pipe, texts, y) == y).all()
    assert GridSearchCV(pipe, {"nbarow__r": [0.1, 1]}).fit(texts, y).best_score_ == 1
    X = TextVectorizer().fit_transform(texts)
    assert (CalibratedClassifierCV(NBAROW(), cv=3).fit(X, y).predict(X) == y).all()
    frame = pd.DataFrame(X.toarray(), columns=TextVectorizer().fit(texts).get_feature_names_out())
    clf = NBAROW().fit(frame, y)
    np.testing.assert_array_equal(clf.predict_proba(pl.from_pandas(frame)), clf.predict_proba(frame))
    copy = pickle.loads(pickle.dumps(clf)).partial_fit(frame[:3], y[:3])
    np.testing.assert_array_equal(copy.predict_proba(frame), clf.partial_fit(frame[:3], y[:3]).predict_proba(frame))
    assert not hasattr(clone(clf), "coef_")
