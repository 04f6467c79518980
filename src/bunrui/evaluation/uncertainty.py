"""Bootstrap intervals of metrics, and tests between two classifiers.

Bootstrap (Efron and Tibshirani 1993, ch. 13, percentile intervals): draw as many documents as there are, with
replacement, measure, and repeat.  A metric reads only the confusion matrix, so its cells are drawn, not the documents:
the counts of n draws are multinomial.  The interval shows how the number varies with the tested documents, not with the
learned ones.  If all documents are right, or none, every resample is the same, and an interval without width would
promise too much.  The accuracy then has Wilson's interval (1927), with z from the level,

    n / (n + z²) … 1    all right            0 … z² / (n + z²)    none right

    McNemar        b, c      documents that only the first, only the second classifier labels rightly
                   b + c < 25    p = P(at most min(b, c), or at least max(b, c), heads in b + c tosses)
                   else      chi² = max(|b - c| - 1, 0)² / (b + c), one degree of freedom

    corrected t    t = mean of d / sqrt((1 / k + n_test / n_train) · variance of d),   k - 1 degrees of freedom

d are the k differences between the scores of two classifiers, fold by fold.  Folds share training documents, so the
plain t-test finds differences that are not there; the term n_test / n_train corrects this.

McNemar (1947); Edwards (1948) for the 1; Dietterich (1998), "Approximate statistical tests for comparing supervised
classification learning algorithms"; Nadeau and Bengio (2003), "Inference for the generalization error", section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from bunrui.errors import DataError, OptionError, check_choice, check_whole
from bunrui.evaluation.metrics import Metrics
from bunrui.sparse import Floats, Integers

OfConfusion = Callable[[Integers], float]

_FEW_DISCORDANT = 25
_ROOM = 1 << 22  # numbers that are drawn at a time


class Interval(NamedTuple):
    """The range of a number in a share `level` of all resamples, or Wilson's interval if these are all the same."""

    low: float
    high: float
    level: float


class McNemar(NamedTuple):
    """Documents that only one of two classifiers labels rightly, and the probability of such a split by chance.

    `chi2` is None if the test is exact.
    """

    only_first: int
    only_second: int
    chi2: float | None
    p: float


class CorrectedT(NamedTuple):
    """The mean difference (first - second), and the two-sided probability of such a difference by chance."""

    difference: float
    t: float
    degrees: int
    p: float


def bootstrap(
    metrics: Metrics,
    metric: str | OfConfusion = "accuracy",
    *,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """A percentile interval of a metric; the same seed gives the same one.

    Parameters
    ----------
    metrics : Metrics
        The measured predictions.
    metric : {"accuracy", "micro_f1", "macro_f1"} or function
        A function gets the confusion matrix of a resample, (n_labels, n_labels) int64 in the order of `metrics.labels`.
    n_resamples : int
    level : float
        Between 0 and 1.
    seed : int

    Examples
    --------
    >>> from bunrui.evaluation import measure
    >>> metrics = measure(["ham"] * 60 + ["spam"] * 40, ["ham"] * 50 + ["spam"] * 50)
    >>> bootstrap(metrics)
    Interval(low=0.84, high=0.95, level=0.95)
    >>> recall_of_spam = bootstrap(metrics, lambda confusion: confusion[1, 1] / confusion[1].sum())
    >>> recall_of_spam.low, recall_of_spam.high
    (1.0, 1.0)
    >>> round(bootstrap(measure(["ham"] * 40, ["ham"] * 40)).low, 3)  # all are right: Wilson's
    0.912
    """
    if not 0 < level < 1:
        raise OptionError(option="level", value=level, expected="between 0 and 1", hint="0.95 is usual")
    check_whole("n_resamples", n_resamples)
    if isinstance(metric, str):
        check_choice("metric", metric, _VECTORISED)
    if metric in ("accuracy", "micro_f1") and metrics.accuracy in (0, 1):
        share = metrics.n / (metrics.n + NormalDist().inv_cdf((1 + level) / 2) ** 2)  # Wilson's
        return Interval(share, 1.0, level) if metrics.accuracy else Interval(0.0, 1 - share, level)
    rows, columns, doc_counts = metrics.cells
    of_drawn = _VECTORISED[metric] if isinstance(metric, str) else partial(_one_by_one, metric, len(metrics.labels))
    rng = np.random.default_rng(seed)
    values = []
    step = max(1, _ROOM // max(len(doc_counts), len(metrics.labels)))
    for start in range(0, n_resamples, step):
        drawn = rng.multinomial(metrics.n, doc_counts / metrics.n, size=min(step, n_resamples - start))
        values.append(of_drawn(rows, columns, drawn))
    low, high = np.quantile(np.concatenate(values), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def _accuracy(rows: Integers, columns: Integers, drawn: Integers) -> Floats:
    return np.asarray(drawn[:, rows == columns].sum(axis=1) / drawn.sum(axis=1))


def _macro_f1(rows: Integers, columns: Integers, drawn: Integers) -> Floats:
    """The mean over the classes that occur in the resample, as `Metrics` has it."""
    labels, codes = np.unique(np.concatenate([rows, columns]), return_inverse=True)
    true, predicted = np.split(codes, 2)
    both = _by_label(true, drawn, len(labels)) + _by_label(predicted, drawn, len(labels))
    right = _by_label(true[true == predicted], drawn[:, true == predicted], len(labels))
    f1 = np.divide(2 * right, both, out=np.zeros(both.shape), where=both > 0)
    return np.asarray(f1.sum(axis=1) / (both > 0).sum(axis=1))


def _by_label(codes: Integers, drawn: Integers, n_labels: int) -> Integers:
    """Sums over the cells of each label, (n_resamples, n_labels)."""
    sums = np.zeros((len(drawn), n_labels), np.int64)
    if len(codes):
        order = np.argsort(codes, kind="stable")
        found, starts = np.unique(codes[order], return_index=True)
        sums[:, found] = np.add.reduceat(drawn[:, order], starts, axis=1)
    return sums


def _one_by_one(metric: OfConfusion, n_labels: int, rows: Integers, columns: Integers, drawn: Integers) -> Floats:
    values = []
    for doc_counts in drawn:
        confusion = np.zeros((n_labels, n_labels), np.int64)
        confusion[rows, columns] = doc_counts
        values.append(float(metric(confusion)))
    return np.array(values)


# The micro F of one label a document is its accuracy.
_VECTORISED = {"accuracy": _accuracy, "micro_f1": _accuracy, "macro_f1": _macro_f1}


def mcnemar(first: Any, second: Any) -> McNemar:
    """McNemar's test of two classifiers on the same documents; small p: one of them is better.

    Parameters
    ----------
    first, second : (n_docs,) bool
        Whether each of the two labels a document rightly, such as `Evaluation.right`.

    Examples
    --------
    >>> mcnemar([True] * 5 + [False] * 2, [True, False, False, False, False, False, False])
    McNemar(only_first=4, only_second=0, chi2=None, p=0.125)
    """
    one, other = np.asarray(first), np.asarray(second)
    if one.dtype != bool or other.dtype != bool or one.ndim != 1 or one.shape != other.shape:
        raise DataError("give a list for each classifier, with True or False for each document: whether it is right")
    b, c = int((one & ~other).sum()), int((other & ~one).sum())
    if b + c < _FEW_DISCORDANT:
        tail = sum(math.comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
        return McNemar(b, c, None, min(1.0, 2 * tail))
    chi2 = max(abs(b - c) - 1, 0) ** 2 / (b + c)
    return McNemar(b, c, chi2, math.erfc(math.sqrt(chi2 / 2)))


def corrected_t_test(first: Any, second: Any, *, test_over_train: float) -> CorrectedT:
    """The corrected resampled t-test of two classifiers on the same folds.

    Parameters
    ----------
    first, second : (n_folds,)
        The scores of the two, fold by fold.
    test_over_train : float
        Tested documents by learned ones: 1/9 for ten folds.

    Examples
    --------
    >>> result = corrected_t_test([0.91, 0.92, 0.93], [0.90, 0.90, 0.90], test_over_train=1 / 2)
    >>> round(result.t, 4), result.degrees, round(result.p, 4)
    (2.1909, 2, 0.1598)
    """
    one, other = np.asarray(first, float), np.asarray(second, float)
    if one.ndim != 1 or one.shape != other.shape or len(one) < 2 or not np.isfinite([one, other]).all():
        raise DataError("give the scores of both classifiers for the same folds, two folds or more")
    if not 0 < test_over_train < math.inf:
        hint = "it is 1/9 for ten folds"
        raise OptionError(option="test_over_train", value=test_over_train, expected="above 0", hint=hint)
    differences = one - other
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    if not variance:
        t = math.copysign(math.inf, mean) if mean else 0.0
    else:
        t = mean / math.sqrt((1 / len(one) + test_over_train) * variance)
    return CorrectedT(mean, t, len(one) - 1, two_sided_p(t, len(one) - 1))


def two_sided_p(t: float, degrees: int) -> float:
    """P(|T| >= |t|) of Student's distribution: the regularised incomplete beta function of ν / (ν + t²), ν/2 and 1/2.

    Numerical Recipes (2007), section 6.4: a continued fraction, by the method of Lentz.

    Examples
    --------
    >>> round(two_sided_p(2.228, 10), 4), two_sided_p(0.0, 3), two_sided_p(math.inf, 3)
    (0.05, 1.0, 0.0)
    """
    if t == 0 or math.isinf(t):
        return 1.0 if t == 0 else 0.0
    # y is 1 - x; for small t, a subtraction would leave it no digits.
    a, b, x, y = degrees / 2, 0.5, degrees / (degrees + t * t), t * t / (degrees + t * t)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    if x < (a + 1) / (a + b + 2):
        return math.exp(logs) * _beta_fraction(x, a, b) / a
    return 1.0 - math.exp(logs) * _beta_fraction(y, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            c, d = 1.0 + term / c, 1.0 / (1.0 + term * d)
            total *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return total
