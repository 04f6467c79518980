"""Log loss, Brier score, calibration error and rankings: scikit-learn's numbers, and numbers worked out by hand."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import example, given
from hypothesis import strategies as st

from bunrui.errors import OptionError
from bunrui.evaluation.scores import (
    Odds,
    average_precision,
    brier_score,
    macro,
    precision_recall_curve,
    recall_at_fpr,
    roc_auc,
    roc_curve,
    sharpen,
)
from bunrui.reliability import Bin, calibration_error, log_loss, reliability

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


# --- rankings: scikit-learn's numbers with and without ties, and what it leaves undefined


# Few scores give ties, floats none; huge and tiny ones do not add up, and infinite ones have no difference.
scores = st.sampled_from([0.0, 0.1, 0.5, 1.0]) | st.floats(-1e300, 1e300) | st.sampled_from([math.inf, -math.inf])
documents = st.lists(st.tuples(st.booleans(), scores), min_size=1, max_size=60)
finite = documents.map(lambda drawn: [(positive, float(np.clip(score, -10, 10))) for positive, score in drawn])


def columns(drawn: list[tuple[bool, float]]) -> tuple[np.ndarray, np.ndarray]:
    positive, score = zip(*drawn, strict=True)
    return np.array(positive), np.array(score)


def has_both(drawn: list[tuple[bool, float]]) -> bool:
    return len({positive for positive, _ in drawn}) == 2


# --- scikit-learn


@given(finite.filter(has_both))
def test_areas_as_sklearn(drawn: list[tuple[bool, float]]) -> None:
    positive, score = columns(drawn)
    assert roc_auc(positive, score) == pytest.approx(sklearn.metrics.roc_auc_score(positive, score), rel=1e-12)
    expected = sklearn.metrics.average_precision_score(positive, score)
    assert average_precision(positive, score) == pytest.approx(expected, rel=1e-12)


@given(finite.filter(has_both))
@example([(True, 0.5), (False, 0.5)])
@example([(True, 0.1), (False, 0.5), (True, 0.9)])
def test_curves_as_sklearn(drawn: list[tuple[bool, float]]) -> None:
    positive, score = columns(drawn)
    for ours, theirs in (
        (roc_curve(positive, score), sklearn.metrics.roc_curve(positive, score)),
        (precision_recall_curve(positive, score), sklearn.metrics.precision_recall_curve(positive, score)),
    ):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@given(finite.filter(has_both), st.sampled_from([0, 0.001, 0.01, 0.1, 0.29, 0.5, 1]))
def test_recall_as_sklearn(drawn: list[tuple[bool, float]], fpr: float) -> None:
    positive, score = columns(drawn)
    theirs, recall, _ = sklearn.metrics.roc_curve(positive, score, drop_intermediate=False)
    assert recall_at_fpr(positive, score, fpr) == pytest.approx(recall[theirs <= fpr].max(), rel=1e-12)


@pytest.mark.parametrize("decimals", [1, 3, 17])
def test_rankings_of_many_documents_as_sklearn(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    p = rng.dirichlet(np.full(7, 0.3), 4000)
    labels = np.array([rng.choice(7, p=0.5 * row + 0.5 / 7) for row in p])
    rounded = np.round(p, decimals)
    own = np.eye(7, dtype=bool)[labels]
    by_class = [sklearn.metrics.roc_auc_score(own[:, c], rounded[:, c]) for c in range(7)]
    assert macro(roc_auc, own, rounded.T.__getitem__) == pytest.approx(np.mean(by_class), rel=1e-12)
    expected = sklearn.metrics.average_precision_score(own, rounded, average="macro")
    assert macro(average_precision, own, rounded.T.__getitem__) == pytest.approx(expected, rel=1e-12)
    expected = sklearn.metrics.roc_auc_score(labels, p, multi_class="ovr", average="macro")
    assert macro(roc_auc, own, p.T.__getitem__) == pytest.approx(expected, rel=1e-12)


# --- worked by hand


@given(documents)
def test_area_is_the_share_of_pairs_in_order(drawn: list[tuple[bool, float]]) -> None:
    spam = [score for positive, score in drawn if positive]
    ham = [score for positive, score in drawn if not positive]
    points = [1.0 if s > h else 0.5 if s == h else 0.0 for s in spam for h in ham]
    found = roc_auc(*columns(drawn))
    assert found == pytest.approx(sum(points) / len(points), rel=1e-12) if points else math.isnan(found)


def test_recall_at_a_rate() -> None:
    """1,000 hams: one above .9 is allowed at a rate of .001, the second at .5 is not."""
    positive = np.array([True] * 4 + [False] * 1000)
    score = np.array([0.95, 0.9, 0.6, 0.4, 0.97, 0.5] + [0.1] * 998)
    assert recall_at_fpr(positive, score, 0.0009) == 0
    assert recall_at_fpr(positive, score, 0.001) == 0.75
    assert recall_at_fpr(positive, score, 0.002) == 1


def test_equal_scores_are_taken_together() -> None:
    """At the threshold .5 there is no taking the spam alone."""
    positive, score = np.array([True, False]), np.array([0.5, 0.5])
    assert roc_auc(positive, score) == 0.5
    assert average_precision(positive, score) == 0.5
    assert recall_at_fpr(positive, score, 0.5) == 0
    assert roc_curve(positive, score).tpr.tolist() == [0, 1]


# --- what is not defined


@pytest.mark.parametrize("positive", [True, False])
def test_documents_of_one_kind(positive: bool) -> None:
    own, score = np.full(3, positive), np.array([0.1, 0.5, 0.5])
    assert math.isnan(roc_auc(own, score))
    assert math.isnan(recall_at_fpr(own, score, 0.1))
    found = average_precision(own, score)
    assert found == 1 if positive else math.isnan(found)
    curve = roc_curve(own, score)
    assert np.isnan(curve.fpr).all() == positive
    assert np.isnan(curve.tpr).all() != positive
    assert np.isnan(precision_recall_curve(own, score).recall[:-1]).all() != positive


@pytest.mark.parametrize("measure", [roc_auc, average_precision])
def test_classes_without_documents_count_in_no_mean(measure: Callable[[np.ndarray, np.ndarray], float]) -> None:
    own = np.array([[True, False, False], [False, True, False], [True, False, False]])
    score = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.5, 0.4]])
    with_it, without = (macro(measure, own[:, :k], score.T.__getitem__) for k in (3, 2))
    assert with_it == without == (measure(own[:, 0], score[:, 0]) + measure(own[:, 1], score[:, 1])) / 2
    assert math.isnan(macro(measure, np.zeros((2, 2), bool), np.zeros((2, 2)).__getitem__))


# --- probabilities that have rounded to 1


def test_probabilities_of_1_are_ranked() -> None:
    """The log-odds of the documents are 100, 50, 40 and 0: as float64, three of the probabilities are 1."""
    log_odds = np.array([50.0, 0.0, 100.0, 40.0])
    p = np.column_stack([1 / (1 + np.exp(-log_odds)), 1 / (1 + np.exp(log_odds))])
    assert (p[:, 0] == 1).sum() == 3
    first = np.array([False, False, True, False])
    assert roc_auc(first, p[:, 0]) == pytest.approx(2 / 3)
    assert roc_auc(first, sharpen(p)[:, 0]) == 1


@given(st.lists(st.floats(-2000, 2000), min_size=2, max_size=30))
def test_sharpened_keeps_the_order_of_log_odds(log_odds: list[float]) -> None:
    odds = np.array(log_odds)
    log_p = np.column_stack([-np.logaddexp(0, -odds), -np.logaddexp(0, odds)])
    scores = sharpen(np.exp(log_p))
    for one, other in zip(np.argsort(odds, kind="stable")[:-1], np.argsort(odds, kind="stable")[1:], strict=True):
        assert scores[one, 0] <= scores[other, 0]
        if abs(odds[one]) < 700 and odds[other] - odds[one] > 0.1 and not 30 < odds[other] < 40:
            assert scores[one, 0] < scores[other, 0]
        assert scores[one, 1] >= scores[other, 1]


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any), min_size=1))
def test_sharpened_leaves_ties(weights: list[list[int]]) -> None:
    p = np.array(weights, float)
    p /= p.sum(axis=1, keepdims=True)
    before, found = p.copy(), sharpen(p)
    assert (p == before).all()
    for column, sharp in zip(p.T, found.T, strict=True):
        assert (np.equal.outer(column, column) == np.equal.outer(sharp, sharp)).all()
        assert (np.less.outer(column, column) == np.less.outer(sharp, sharp)).all()


# --- scores


@given(
    st.lists(
        st.lists(st.floats(-50, 50) | st.just(-math.inf), min_size=4, max_size=4).filter(lambda row: max(row) > -60),
        min_size=1,
        max_size=8,
    )
)
def test_odds_are_those_of_the_probabilities(rows: list[list[float]]) -> None:
    score = np.array(rows)
    p = np.exp(score - np.logaddexp.reduce(score, axis=1)[:, None])
    odds = Odds(score)
    for c in range(4):
        others = np.delete(p, c, axis=1).sum(axis=1)
        with np.errstate(divide="ignore"):
            expected = np.log(p[:, c]) - np.log(others)
        np.testing.assert_allclose(odds.of(c), expected, rtol=1e-9, atol=1e-9)


def test_odds_tell_apart_what_probabilities_do_not() -> None:
    log_odds = np.array([800.0, -800.0, 1e5, -1e5, 0.0])
    odds = Odds(np.column_stack([log_odds - 1e6, np.full(5, -1e6)]))
    assert odds.of(0).tolist() == log_odds.tolist() and odds.of(1).tolist() == (-log_odds).tolist()
    assert Odds(np.array([[-3.0]])).of(0).tolist() == [math.inf]


@pytest.mark.parametrize("fpr", [-1, 1.5, math.nan])
def test_no_rate(fpr: float) -> None:
    with pytest.raises(OptionError, match="fpr should be from 0 to 1"):
        recall_at_fpr(np.array([True, False]), np.array([0.5, 0.1]), fpr)
