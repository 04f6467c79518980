"""Intervals against drawing documents one by one; tests against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bunrui.errors import DataError, OptionError
from bunrui.evaluation import Metrics, bootstrap, corrected_t_test, mcnemar, measure, uncertainty
from tests.support.examples import examples

pairs = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=60)


def measured(drawn: list[tuple[str, str]], **options: Any) -> Metrics:
    return measure([true for true, _ in drawn], [predicted for _, predicted in drawn], **options)


def macro_f1(confusion: np.ndarray) -> float:
    scores = []
    for c in range(len(confusion)):
        both = confusion[c].sum() + confusion[:, c].sum()
        if both:
            scores.append(2 * confusion[c, c] / both)
    return float(np.mean(scores))


# --- the same draws, measured the slow way


@settings(max_examples=examples(30))
@given(pairs, st.integers(0, 3))
def test_named_metrics_are_the_functions(drawn: list[tuple[str, str]], seed: int) -> None:
    metrics = measured(drawn, labels=["unused"])
    for name, function in (
        ("accuracy", lambda confusion: confusion.trace() / confusion.sum()),
        ("micro_f1", lambda confusion: confusion.trace() / confusion.sum()),
        ("macro_f1", macro_f1),
    ):
        options: Any = {"n_resamples": 50, "seed": seed, "level": 0.8}
        if name != "macro_f1" and metrics.accuracy in (0, 1):
            continue  # Wilson's
        assert bootstrap(metrics, name, **options) == pytest.approx(bootstrap(metrics, function, **options), rel=1e-12)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("n", [1, 5, 200])
@pytest.mark.parametrize("is_right", [True, False])
def test_all_right_or_none_has_the_interval_of_wilson(n: int, level: float, is_right: bool) -> None:
    metrics = measure(["a"] * n, ["a" if is_right else "b"] * n)
    wilson = scipy.stats.binomtest(n if is_right else 0, n).proportion_ci(level, method="wilson")
    for name in ("accuracy", "micro_f1"):
        found = bootstrap(metrics, name, level=level)
        assert found == pytest.approx((wilson.low, wilson.high, level), abs=1e-12) and found.low < found.high
    assert bootstrap(metrics, "macro_f1", level=level) == (is_right, is_right, level)


@given(pairs)
def test_functions_see_resamples(drawn: list[tuple[str, str]]) -> None:
    """Each has as many documents, none in a cell that was empty, and a function of n alone does not vary."""
    metrics = measured(drawn)
    seen = []

    def remember(confusion: np.ndarray) -> float:
        seen.append(confusion)
        return float(confusion.sum())

    assert bootstrap(metrics, remember, n_resamples=20) == (len(drawn), len(drawn), 0.95)
    assert len(seen) == 20
    assert all((confusion[metrics.confusion == 0] == 0).all() for confusion in seen)
    assert np.mean(seen, axis=0).shape == metrics.confusion.shape


def test_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are drawn at a time, the draws are the same."""
    metrics = measured([("a", "a")] * 30 + [("a", "b")] * 7 + [("b", "b")] * 20)
    whole = bootstrap(metrics, "macro_f1")
    monkeypatch.setattr(uncertainty, "_ROOM", 100)
    assert bootstrap(metrics, "macro_f1") == whole


# --- drawing documents


def test_as_drawing_documents() -> None:
    """20,000 resamples either way: the ends differ by what the draws leave open."""
    drawn = [("a", "a")] * 80 + [("a", "b")] * 20 + [("b", "b")] * 30 + [("b", "c")] * 20 + [("c", "c")] * 15
    metrics = measured(drawn)
    true, predicted = (np.array([metrics.labels.index(pair[side]) for pair in drawn]) for side in (0, 1))
    rng = np.random.default_rng(5)
    values = []
    for _ in range(20_000):
        rows = rng.integers(0, len(drawn), len(drawn))
        values.append(macro_f1(np.bincount(3 * true[rows] + predicted[rows], minlength=9).reshape(3, 3)))
    interval = bootstrap(metrics, "macro_f1", n_resamples=20_000)
    assert interval[:2] == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.004)
    assert interval.low < metrics.macro.f1 < interval.high


def test_accuracy_is_binomial() -> None:
    metrics = measured([("a", "a")] * 800 + [("a", "b")] * 200)
    interval = bootstrap(metrics, n_resamples=20_000, level=0.9)
    assert interval[:2] == pytest.approx(scipy.stats.binom.ppf([0.05, 0.95], 1000, 0.8) / 1000, abs=0.0015)
    assert interval.level == 0.9


def test_seeds() -> None:
    metrics = measured([("a", "a")] * 57 + [("a", "b")] * 31 + [("b", "b")] * 40)
    assert bootstrap(metrics, "macro_f1") == bootstrap(metrics, "macro_f1", seed=0)
    assert bootstrap(metrics, "macro_f1") != bootstrap(metrics, "macro_f1", seed=1)


def test_one_document() -> None:
    assert bootstrap(measured([("a", "a")]), "macro_f1") == (1, 1, 0.95)
    assert bootstrap(measured([("a", "b")]), "macro_f1") == (0, 0, 0.95)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"metric": "auc"},
            "there is no metric 'auc': choose one of accuracy, micro_f1, macro_f1",
        ),
        ({"level": 95}, "level should be between 0 and 1, not 95: 0.95 is usual"),
        ({"n_resamples": 0}, "n_resamples should be a whole number, at least 1, not 0"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as raised:
        bootstrap(measured([("a", "a")]), **options)
    assert str(raised.value) == message


# --- McNemar


def right(both: int, first: int, second: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    counts = [both, first, second, neither]
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


def test_mcnemar_exact_by_hand() -> None:
    """2 against 8: (C(10, 0) + C(10, 1) + C(10, 2)) / 2^10 = 56 / 1024, to both sides."""
    assert mcnemar(*right(30, 2, 8, 5)) == (2, 8, None, 112 / 1024)
    assert mcnemar(*right(30, 8, 2, 5)) == (8, 2, None, 112 / 1024)
    assert mcnemar(*right(3, 5, 5, 0)).p == 1
    assert mcnemar(*right(3, 0, 0, 4)) == (0, 0, None, 1)


def test_mcnemar_chi2_by_hand() -> None:
    """121 against 59: (62 - 1)² / 180 = 20.672, p = 5.45e-6."""
    found = mcnemar(*right(101, 121, 59, 33))
    assert found[:2] == (121, 59)
    assert found.chi2 == pytest.approx(3721 / 180, rel=1e-15)
    assert found.p == pytest.approx(5.45e-6, rel=1e-3)
    assert mcnemar(*right(0, 20, 20, 0)) == (20, 20, 0, 1)


@given(st.integers(0, 60), st.integers(0, 60))
@example(16, 8)
@example(17, 8)
def test_mcnemar_as_scipy(first: int, second: int) -> None:
    found = mcnemar(*right(3, first, second, 2))
    assert (found.only_first, found.only_second) == (first, second)
    if first + second < 25:
        expected = scipy.stats.binomtest(first, first + second, 0.5).pvalue if first + second else 1
        assert found.chi2 is None
    else:
        expected = scipy.stats.chi2.sf(max(abs(first - second) - 1, 0) ** 2 / (first + second), 1)
        assert found.chi2 == pytest.approx(scipy.stats.chi2.isf(expected, 1), rel=1e-9)
    assert found.p == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [([True], [True, False]), ([1, 0], [0, 1]), ([[True]], [[True]])])
def test_mcnemar_wrong_input(first: Any, second: Any) -> None:
    with pytest.raises(DataError) as raised:
        mcnemar(first, second)
    assert str(raised.value) == (
        "give a list for each classifier, with True or False for each document: whether it is right"
    )


# --- the corrected t-test


def test_corrected_t_by_hand() -> None:
    """Differences .01 … .05: mean .03, variance .00025; t = .03 / sqrt((1/5 + 1/4) · .00025) = sqrt(8).

    With 4 degrees of freedom F(t) = 1/2 + 3/8 · t / sqrt(3) · (1 - 8 / 36), for t² = 8.
    """
    found = corrected_t_test([0.91, 0.92, 0.93, 0.94, 0.95], [0.9] * 5, test_over_train=1 / 4)
    assert found.difference == pytest.approx(0.03, rel=1e-12)
    assert found.t == pytest.approx(math.sqrt(8), rel=1e-12)
    assert found.degrees == 4
    assert found.p == pytest.approx(1 - 3 / 4 * math.sqrt(8 / 3) * (28 / 36), rel=1e-12)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=20))
def test_the_correction_shrinks_t(drawn: list[tuple[float, float]]) -> None:
    """The plain paired t-test has 1/k where this has 1/k + ratio."""
    first, second = (np.array(column) for column in zip(*drawn, strict=True))
    if (first - second).var() < 1e-12:
        return
    plain = scipy.stats.ttest_rel(first, second)
    found = corrected_t_test(first, second, test_over_train=1 / 9)
    k = len(drawn)
    assert found.t == pytest.approx(plain.statistic / math.sqrt(1 + k / 9), rel=1e-9, abs=1e-12)
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(found.t), k - 1), rel=1e-9)
    assert found.p >= plain.pvalue * (1 - 1e-9)
    other = corrected_t_test(second, first, test_over_train=1 / 9)
    assert (other.difference, other.t, other.p) == pytest.approx((-found.difference, -found.t, found.p))


def test_folds_that_do_not_vary() -> None:
    assert corrected_t_test([0.5, 0.5], [0.5, 0.5], test_over_train=1) == (0, 0, 1, 1)
    assert corrected_t_test([0.25, 0.5], [0.5, 0.75], test_over_train=1) == (-0.25, -math.inf, 1, 0)


@pytest.mark.parametrize(
    ("first", "second", "ratio", "message"),
    [
        ([0.5], [0.5], 1, "give the scores of both classifiers for the same folds, two folds or more"),
        ([0.5, 0.6], [0.5], 1, "give the scores of both classifiers for the same folds, two folds or more"),
        ([0.5, math.nan], [0.5, 1], 1, "give the scores of both classifiers for the same folds, two folds or more"),
        ([0.5, 0.6], [0.5, 1], 0, "test_over_train should be above 0, not 0: it is 1/9 for ten folds"),
    ],
)
def test_wrong_folds(first: list[float], second: list[float], ratio: float, message: str) -> None:
    with pytest.raises((DataError, OptionError)) as raised:
        corrected_t_test(first, second, test_over_train=ratio)
    assert str(raised.value) == message
