"""`ComplementNB` with its five switches against the article, word by word; how it keeps its rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bunrui.estimators import TWCNB, ComplementNB

STEPS = ["complement", "norm", "log_tf", "idf", "length_norm"]


def data(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.array(["b", "c", "a"])[rng.choice(3, 40, p=[0.6, 0.3, 0.1])]
    X = rng.poisson(rng.gamma(0.3, 2.0, 23), (40, 23)) + (rng.random((40, 23)) < 0.1) * rng.integers(0, 9, (40, 23))
    X[:, 0] = rng.integers(1, 4, 40)  # in all rows: its IDF is 0
    X[5] = 0
    X[6], X[6, 0] = 0, 3  # nothing is left of it after IDF
    X[:, 9] = 0
    return X, y, rng.poisson(1.0, (9, 23))


def article(X: Any, y: Any, steps: dict[str, bool], lam: float, w: Any) -> Any:
    """Weights by label, as plain as table 4 of Rennie et al. (2003) has them."""
    d = X.astype(float)
    n_rows, n_words = d.shape
    if steps["log_tf"]:
        d = np.log(d + 1)
    if steps["idf"]:
        for i in range(n_words):
            df = sum(w[j] for j in range(n_rows) if X[j, i] > 0)
            d[:, i] = d[:, i] * np.log(sum(w) / df) if df else 0
    if steps["length_norm"]:
        for j in range(n_rows):
            length = np.sqrt((d[j] ** 2).sum())
            if length > 0:
                d[j] /= length
    weights = []
    for label in sorted(set(y)):
        counted = [j for j in range(n_rows) if (y[j] != label) == steps["complement"]]
        sums = sum(w[j] * d[j] for j in counted)
        weights.append(np.log((sums + lam) / (sums.sum() + lam * n_words)))
        if steps["norm"]:
            weights[-1] = weights[-1] / np.abs(weights[-1]).sum()
    return np.array(weights)


@pytest.mark.parametrize(
    "on", list(itertools.product([False, True], repeat=5)), ids=lambda on: "".join(map(str, map(int, on)))
)
def test_every_switch(on: tuple[bool, ...]) -> None:
    steps = dict(zip(STEPS, on, strict=True))
    X, y, Q = data(1)
    rng = np.random.default_rng(2)
    for lam, w in [(1.0, None), (0.2, rng.integers(0, 3, 40)), (1.7, rng.random(40))]:
        clf = ComplementNB(alpha=lam, **steps).fit(sparse.csr_array(X), y, sample_weight=w)
        expected = article(X, y, steps, lam, np.ones(40) if w is None else w)
        assert clf.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(clf.weights_, expected, rtol=1e-10)
        scores = Q @ expected.T
        best = scores.argmin(axis=1) if steps["complement"] else scores.argmax(axis=1)
        assert clf.predict(Q).tolist() == clf.classes_[best].tolist()


def test_twcnb_is_all_of_them() -> None:
    X, y, _ = data(3)
    np.testing.assert_allclose(TWCNB().fit(X, y).weights_, article(X, y, dict.fromkeys(STEPS, True), 1.0, np.ones(40)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_transformed_queries(form: Any) -> None:
    X, y, Q = data(4)
    d = np.log(Q + 1) * np.log(40 / np.maximum((X > 0).sum(axis=0), 1)) * ((X > 0).sum(axis=0) > 0)
    length = np.sqrt((d**2).sum(axis=1, keepdims=True))
    d = d / np.where(length > 0, length, 1)
    clf = TWCNB(transform_queries=True).fit(X, y)
    np.testing.assert_allclose(clf.predict_joint_log_proba(form(Q)), -d @ clf.weights_.T, rtol=1e-10)
    raw = TWCNB().fit(X, y)
    np.testing.assert_allclose(raw.predict_joint_log_proba(form(Q)), -Q @ clf.weights_.T, rtol=1e-10)


def test_a_row_without_length_adds_nothing_but_a_document() -> None:
    X, y = np.array([[1, 2, 0], [1, 0, 3], [1, 0, 0]]), ["p", "q", "q"]
    clf = TWCNB().fit(X, y)
    assert clf.class_count_.tolist() == [1, 2]
    assert clf.feature_count_.tolist() == [[0, 1, 0], [0, 0, 1]]
    assert clf.predict([[0, 1, 0], [0, 0, 1]]).tolist() == ["p", "q"]


def test_nothing_is_left_of_any_row() -> None:
    """All words are in all rows: every weight is log 1/V, and nothing is known."""
    clf = TWCNB().fit([[1, 2], [3, 1]], ["p", "q"])
    np.testing.assert_allclose(clf.weights_, -0.5, rtol=1e-12)
    assert clf.predict([[5, 1]]).tolist() == ["p"]


def test_equal_rows_go_one_by_one() -> None:
    X, y = np.array([[1, 2, 0], [1, 2, 0], [0, 1, 3]]), ["p", "p", "q"]
    clf = TWCNB().fit(X, y)
    assert clf.unlearn(X[:1], ["p"]).class_count_.tolist() == [1, 1]
    assert clf.unlearn(X[:1], ["p"]).classes_.tolist() == ["q"]
    with pytest.raises(ValueError, match="no row has the label 'p'"):
        clf.unlearn(X[:1], ["p"])


def test_explicit_zeros_are_no_words() -> None:
    full = sparse.csr_array((np.array([1, 0, 2, 0, 1]), np.array([0, 1, 2, 0, 1]), np.array([0, 3, 5])), shape=(2, 3))
    clf = TWCNB().fit(full, ["p", "q"])
    np.testing.assert_array_equal(clf.weights_, TWCNB().fit(full.toarray(), ["p", "q"]).weights_)
    assert clf.unlearn(full.toarray()[:1], ["p"]).classes_.tolist() == ["q"]


def test_many_small_pieces() -> None:
    X, y, Q = data(5)
    clf = TWCNB()
    for k in range(40):
        clf.partial_fit(X[[k]], y[[k]])
    assert (
        clf.predict_joint_log_proba(Q).tobytes() == TWCNB().fit(X[::-1], y[::-1]).predict_joint_log_proba(Q).tobytes()
    )
