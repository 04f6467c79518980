"""Log loss, Brier score and calibration error: scikit-learn's numbers, and numbers worked out by hand."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from bunrui.evaluation.probabilistic import (
    Bin,
    brier_score,
    brier_score_two,
    calibration_error,
    log_loss,
    reliability,
)

EPS = float(np.finfo(np.float64).eps)


@st.composite
def predicted(draw: st.DrawFn, least_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities with many ties, zeros and ones; some classes have no document."""
    n_classes = draw(st.integers(least_classes, 5))
    rows = st.lists(st.integers(0, 4), min_size=n_classes, max_size=n_classes).filter(any)
    weights = np.array(draw(st.lists(rows, min_size=1, max_size=40)), float)
    labels = draw(st.lists(st.integers(0, n_classes - 1), min_size=len(weights), max_size=len(weights)))
    return np.array(labels), weights / weights.sum(axis=1, keepdims=True)


def one_hot(labels: np.ndarray, n_classes: int) -> np.ndarray:
    return np.eye(n_classes, dtype=bool)[labels]


# --- scikit-learn


@given(predicted())
def test_log_loss_as_sklearn(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    labels, p = drawn
    expected = sklearn.metrics.log_loss(labels, p, labels=np.arange(p.shape[1]))
    assert log_loss(one_hot(labels, p.shape[1]), p) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(predicted())
def test_brier_as_sklearn(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    labels, p = drawn
    classes = np.arange(p.shape[1])
    expected = sklearn.metrics.brier_score_loss(labels, p, labels=classes, scale_by_half=False)
    assert brier_score(one_hot(labels, len(classes)), p) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(predicted(), st.integers(0, 1))
def test_brier_of_two_classes_as_sklearn(drawn: tuple[np.ndarray, np.ndarray], positive: int) -> None:
    labels, p = drawn
    is_positive = labels == positive
    expected = sklearn.metrics.brier_score_loss(is_positive, p[:, positive], pos_label=True)
    assert brier_score_two(is_positive, p[:, positive]) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    if p.shape[1] == 2:
        assert 2 * expected == pytest.approx(brier_score(one_hot(labels, 2), p), rel=1e-12, abs=1e-15)


def test_many_documents_as_sklearn() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(20, 0.05), 5000)
    labels = rng.integers(0, 20, 5000)
    own = one_hot(labels, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert log_loss(own, p) == pytest.approx(sklearn.metrics.log_loss(labels, p), rel=1e-12)
        assert brier_score(own, p) == pytest.approx(sklearn.metrics.brier_score_loss(labels, p), rel=1e-12)


# --- one class, one document, a class without a column, several labels


def test_one_class() -> None:
    own, p = np.ones((3, 1), bool), np.ones((3, 1))
    assert log_loss(own, p) == pytest.approx(EPS)
    assert brier_score(own, p) == 0


def test_a_class_without_a_column_is_as_one_of_probability_0() -> None:
    p = np.array([[0.5, 0.5], [0.25, 0.75]])
    without = np.array([[False, False], [False, True]])
    labels, padded = [2, 1], np.pad(p, ((0, 0), (0, 1)))
    expected = sklearn.metrics.log_loss(labels, padded, labels=[0, 1, 2])
    assert log_loss(without, p) == pytest.approx(expected, rel=1e-12)
    assert log_loss(without[:1], p[:1]) == pytest.approx(-math.log(EPS)) == pytest.approx(36.04, abs=0.005)
    expected = sklearn.metrics.brier_score_loss(labels, padded, labels=[0, 1, 2])
    assert brier_score(without, p) == pytest.approx(expected, rel=1e-12)


def test_several_labels_are_as_one_class() -> None:
    """The labels a and c of the first document have .25 + .5 together, what is wrong has .25."""
    p = np.array([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]])
    own = np.array([[True, False, True], [False, True, False]])
    assert log_loss(own, p) == pytest.approx(-(math.log(0.75) + math.log(0.25)) / 2, rel=1e-15)
    assert brier_score(own, p) == pytest.approx(((0.25**2 + 0.25**2) + (0.75**2 + 0.5**2 + 0.25**2)) / 2, rel=1e-15)
    every = np.ones((1, 3), bool)
    assert log_loss(every, p[:1]) == pytest.approx(EPS)
    assert brier_score(every, p[:1]) == 0


# --- calibration


def slow_bins(right: list[bool], confidence: list[float], n_bins: int) -> list[tuple[Any, ...]]:
    """Bin by bin, document by document, in fractions."""
    out = []
    for b in range(n_bins):
        low, high = b / n_bins, (b + 1) / n_bins
        inside = [d for d, c in enumerate(confidence) if low < c <= high or (b == 0 and c == 0)]
        if inside:
            mean = sum(Fraction(confidence[d]) for d in inside) / len(inside)
            out.append((low, high, float(mean), sum(right[d] for d in inside) / len(inside), len(inside)))
    return out


confidences = st.floats(0, 1) | st.sampled_from([k / 15 for k in range(16)])


@given(st.lists(st.tuples(st.booleans(), confidences), min_size=1, max_size=60), st.sampled_from([1, 2, 10, 15]))
def test_bins(drawn: list[tuple[bool, float]], n_bins: int) -> None:
    right, confidence = [list(column) for column in zip(*drawn, strict=True)]
    bins = reliability(np.array(right), np.array(confidence), n_bins)
    expected = slow_bins(right, confidence, n_bins)  # type: ignore[arg-type]
    assert [(b.low, b.high, b.doc_count) for b in bins] == [(e[0], e[1], e[4]) for e in expected]
    np.testing.assert_allclose([b[2:4] for b in bins], [e[2:4] for e in expected], rtol=1e-12, atol=1e-300)
    ece = sum(e[4] / len(right) * abs(e[3] - e[2]) for e in expected)
    assert calibration_error(bins) == pytest.approx(ece, rel=1e-9, abs=1e-12)


def test_calibration_by_hand() -> None:
    """Of four documents at .8 two are right, of one at 1 one is: 4/5 · |.5 - .8| + 1/5 · 0."""
    bins = reliability(np.array([True, True, False, False, True]), np.array([0.8, 0.8, 0.8, 0.8, 1.0]))
    assert [b.doc_count for b in bins] == [4, 1]
    assert bins[1] == Bin(14 / 15, 1.0, 1.0, 1.0, 1)
    assert calibration_error(bins) == pytest.approx(0.24, rel=1e-12)


def test_perfect_calibration() -> None:
    """Confidence that is drawn, and right as often as it says."""
    rng = np.random.default_rng(0)
    confidence = rng.random(200_000)
    right = rng.random(200_000) < confidence
    assert calibration_error(reliability(right, confidence)) < 0.01
    assert calibration_error(reliability(~right, confidence)) > 0.4
