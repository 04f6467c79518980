"""Scores and probabilities → log loss, calibration error, and measures of rankings.

    p[d, c]        probability of class c for document d                                     (n_docs, n_classes)
    own[d, c]      whether document d has class c                                            (n_docs, n_classes)
    P[d]           sum of p[d, c] over the classes that d has: the probability of being right

    log loss       mean of -log P[d], P clipped to [eps, 1 - eps] as scikit-learn does: 36.04 at most
    Brier score    mean of (1 - P[d])² + sum of p[d, c]² over the classes that d does not have           0 … 2
    ECE            sum over the bins of n[b] / n · |accuracy[b] - confidence[b]|

The classes of a document with several count as one class, since any of them is right; for a document with one these are
the usual formulas.  A document whose class has no column has P = 0.  Brier (1950) has the sum over the classes; the
score that is usual for two classes is half of it.

The expected calibration error is of the top label: the confidence of a document is the probability of its predicted
label.  Bins are 15 of equal width, each without its lower border and with its upper one: Guo, Pleiss, Sun, Weinberger
(2017), "On calibration of modern neural networks".

A ranking holds one class against the rest:

    positive[d]    whether document d has the class          (n_docs,)
    scores[d]      the higher, the more likely               (n_docs,)

    at a threshold, documents with scores[d] >= threshold are taken for positive:
    fpr            share of the negative documents taken for positive
    tpr, recall    share of the positive documents taken for positive
    precision      share of the positive ones among those taken

    ROC AUC        area under tpr over fpr: a positive document scores higher than a negative one with this probability,
                   equal scores count half
    average precision    sum of (recall - recall before) · precision, from the highest threshold down; no interpolation
    1 - ROCA %     100 · (1 - ROC AUC), the measure of the TREC spam tracks: Cormack and Lynam (2005)

Documents with equal scores are taken together.  All of it agrees with scikit-learn, except that a ranking that is not
defined is NaN without a warning, and counts in no mean: an area without positive or without negative documents, an
average precision without positive ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bunrui.errors import OptionError
from bunrui.reliability import right_share
from bunrui.sparse import Booleans, Floats, Integers


def brier_score(own: Booleans, probabilities: Floats) -> float:
    """Brier's score as the sum over the classes, 0 … 2: twice what is usual for two classes.

    >>> own = np.array([[True, False], [False, True]])
    >>> brier_score(own, np.array([[0.5, 0.5], [0.75, 0.25]]))
    0.8125
    """
    others = np.where(own, 0, probabilities)
    return float(((1 - right_share(own, probabilities)) ** 2 + (others**2).sum(axis=1)).mean())


class Roc(NamedTuple):
    """Points of the ROC curve from (0, 0) to (1, 1); the first threshold is infinite: nothing is taken."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats


class PrecisionRecall(NamedTuple):
    """Points from the lowest threshold to the highest, then precision 1 and recall 0, which have no threshold."""

    precision: Floats
    recall: Floats
    thresholds: Floats


class Ranking(NamedTuple):
    """How well a label is ranked before the rest: two curves, and the areas under them."""

    label: Any
    roc: Roc
    precision_recall: PrecisionRecall
    roc_auc: float
    average_precision: float


def sharpen(probabilities: Floats) -> Floats:
    """Probabilities as scores, (n_docs, n_classes): where one has rounded to 1, the odds of its class take its place.

    Naive Bayes is so sure that most probabilities of long texts are 1.0 in float64, and cannot be ranked.  The
    probabilities of the other classes are far from 0: 1e-20 and 1e-200 are told apart.

    >>> sharpen(np.array([[1.0, 2.0**-70], [1.0, 2.0**-80], [0.75, 0.25]]))[:, 0].tolist()
    [1.1805916207174113e+21, 1.2089258196146292e+24, 0.75]
    """
    scores = probabilities.copy()
    rows, columns = np.nonzero(probabilities == 1)
    others = probabilities[rows]
    others[np.arange(len(rows)), columns] = 0
    with np.errstate(divide="ignore", over="ignore"):
        scores[rows, columns] = 1 / others.sum(axis=1)
    return scores


class Odds:
    """log P(class | d) / P(any other | d) of documents, class by class, from scores whose softmax are probabilities.

    All probabilities of a long text but one may be 0 in float64, and cannot be ranked; its scores can.

    Parameters
    ----------
    scores : (n_docs, n_classes)
        -inf for a class that cannot be.

    Examples
    --------
    >>> odds = Odds(np.array([[0.0, -1000.0, -1001.0], [0.0, -2000.0, -np.inf]]))
    >>> odds.of(0).round(2).tolist(), odds.of(1).tolist()
    ([999.69, 2000.0], [-1000.0, -2000.0])
    """

    def __init__(self, scores: Floats) -> None:
        rows = np.arange(len(scores))
        self._scores, self._top = scores, scores.argmax(axis=1)
        others = scores.copy()
        others[rows, self._top] = -np.inf
        # Against the best: scores of long texts are large.
        self._best = scores[rows, self._top]
        self._others = np.logaddexp.reduce(others, axis=1) - self._best
        self._total = np.log1p(np.exp(self._others))

    def of(self, column: int) -> Floats:
        """The log-odds of one class, (n_docs,), without a copy of all scores."""
        own = self._scores[:, column] - self._best
        with np.errstate(divide="ignore"):
            # Where the class is not the best one, it has at most half of the total: the rest loses no digits.
            rest = self._total + np.log1p(-np.exp(own - self._total))
        return np.asarray(own - np.where(self._top == column, self._others, rest))


def roc_auc(positive: Booleans, scores: Floats) -> float:
    """The area under the ROC curve.

    >>> roc_auc(np.array([False, True, False, True]), np.array([0.1, 0.35, 0.4, 0.8]))
    0.75
    """
    false, true, _ = _taken(positive, scores)
    before = np.concatenate([[0], true[:-1]])
    twice = int((np.diff(false, prepend=0) * (true + before)).sum())
    all_pairs = int(false[-1]) * int(true[-1])
    return twice / (2 * all_pairs) if all_pairs else float("nan")


def average_precision(positive: Booleans, scores: Floats) -> float:
    """The area under the steps of precision over recall.

    >>> round(average_precision(np.array([False, True, False, True]), np.array([0.1, 0.35, 0.4, 0.8])), 4)
    0.8333
    """
    false, true, _ = _taken(positive, scores)
    if not true[-1]:
        return float("nan")
    return float((np.diff(true, prepend=0) * (true / (true + false))).sum() / true[-1])


def recall_at_fpr(positive: Booleans, scores: Floats, fpr: float) -> float:
    """The highest recall of a threshold whose false-positive rate is at most `fpr`; no interpolation.

    >>> recall_at_fpr(np.array([True, False, True, False]), np.array([0.9, 0.8, 0.7, 0.1]), 0.01)
    0.5
    """
    if not 0 <= fpr <= 1:
        raise OptionError(option="fpr", value=fpr, expected="from 0 to 1", hint="0.01 is one of a hundred")
    false, true, _ = _taken(positive, scores)
    if not true[-1] or not false[-1]:
        return float("nan")
    return float(true[false / false[-1] <= fpr].max(initial=0) / true[-1])


def macro(measure: Callable[[Booleans, Floats], float], own: Booleans, scores_of: Callable[[int], Floats]) -> float:
    """The mean of a measure over the classes, each against the rest, where it is defined.

    `own` is (n_docs, n_classes); `scores_of(c)` has the scores of class c, (n_docs,).

    >>> own, scores = np.array([[True, False], [False, True]]), np.array([[0.7, 0.3], [0.6, 0.4]])
    >>> macro(roc_auc, own, lambda c: scores[:, c])
    1.0
    """
    occurs = np.flatnonzero(own.any(axis=0)).tolist()
    values = np.array([measure(own[:, c], scores_of(c)) for c in occurs])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def roc_curve(positive: Booleans, scores: Floats) -> Roc:
    """The corners of the ROC curve: points on a line between two others are left out.

    >>> curve = roc_curve(np.array([False, True, False, True]), np.array([0.1, 0.35, 0.4, 0.8]))
    >>> curve.fpr.tolist(), curve.tpr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    false, true, thresholds = _taken(positive, scores)
    if len(false) > 2:
        corners = np.flatnonzero(np.concatenate([[True], (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0), [True]]))
        false, true, thresholds = false[corners], true[corners], thresholds[corners]
    fpr, tpr = (_shares(np.concatenate([[0], count])) for count in (false, true))
    return Roc(fpr, tpr, np.concatenate([[np.inf], thresholds]))


def precision_recall_curve(positive: Booleans, scores: Floats) -> PrecisionRecall:
    """Precision and recall at each threshold, from the lowest to the highest.

    >>> curve = precision_recall_curve(np.array([False, True, True]), np.array([0.5, 0.25, 0.75]))
    >>> curve.recall.tolist(), curve.thresholds.tolist()
    ([1.0, 0.5, 0.5, 0.0], [0.25, 0.5, 0.75])
    """
    false, true, thresholds = _taken(positive, scores)
    precision = np.concatenate([(true / (true + false))[::-1], [1]])
    return PrecisionRecall(precision, np.concatenate([_shares(true)[::-1], [0]]), thresholds[::-1])


def _taken(positive: Booleans, scores: Floats) -> tuple[Integers, Integers, Floats]:
    """Documents taken for positive that are none, and that are, at each distinct score, from the highest down."""
    order = np.argsort(scores, kind="stable")[::-1]
    sorted_scores = scores[order]
    lasts = np.flatnonzero(np.append(sorted_scores[1:] != sorted_scores[:-1], True))
    true = np.cumsum(positive[order], dtype=np.int64)[lasts]
    return lasts + 1 - true, true, sorted_scores[lasts]


def _shares(counts: Integers) -> Floats:
    """Shares of the last count; NaN where that is 0."""
    return counts / counts[-1] if counts[-1] else np.full(len(counts), np.nan)
