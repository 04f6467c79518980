"""Scores of documents → how good they are, document by document, so that two of them can be held against each other.

    accuracy    u[d] = 1 if the best class is one that d has, else 0
    log_loss    u[d] = log P[d], the probability of being right (`evaluation.probabilistic`)
    macro_f1    u[d] = F + n / C · Σ_c (2 tp[d, c] - F[c] (t[d, c] + p[d, c])) / (T[c] + P[c])

    merit       the mean of u: larger is better, so that log loss has its sign changed
    SE(a, b)    the standard deviation of u_a - u_b over √n: of the difference of two merits on the same documents

F1 is no mean over documents; the last line is its linear part (the delta method), whose mean is F.  tp, t and p say
whether d counts in TP[c], T[c] and P[c], C is the number of classes that occur.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.evaluation.probabilistic import log_right
from bunrui.models.linear import probabilities

__all__ = ["METRICS", "Merit", "Metric", "measured", "shown", "standard_error"]

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

Metric = Literal["accuracy", "macro_f1", "log_loss"]
METRICS: tuple[Metric, ...] = ("accuracy", "macro_f1", "log_loss")


class Merit(NamedTuple):
    """`value` is the mean of `parts`, (n_docs,) float32; larger is better."""

    value: float
    parts: npt.NDArray[np.float32]


def measured(metric: Metric, own: Booleans, scores: Floats) -> Merit:
    """The merit of scores.

    Parameters
    ----------
    own : (n_docs, n_classes) bool
        Which classes each document has.
    scores : (n_docs, n_classes)
        -inf for a class that could not be predicted.

    Examples
    --------
    >>> own = np.array([[True, False], [False, True], [False, True]])
    >>> scores = np.log([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    >>> [round(measured(metric, own, scores).value, 4) for metric in METRICS]
    [0.6667, 0.6667, -0.4228]
    """
    if metric == "accuracy":
        parts = own[np.arange(len(own)), scores.argmax(axis=1)].astype(np.float64)
    elif metric == "log_loss":
        parts = log_right(own, probabilities(scores))
    else:
        parts = _f1_parts(own, scores.argmax(axis=1))
    return Merit(float(parts.mean()), parts.astype(np.float32))


def _f1_parts(own: Booleans, predicted: Any) -> Floats:
    n_docs, n_classes = own.shape
    rows = np.arange(n_docs)
    # As `metrics` has it: a document with several classes counts under the predicted one, else under its first.
    true = np.where(own[rows, predicted], predicted, own.argmax(axis=1))
    right, had, given = (
        np.bincount(codes, minlength=n_classes).astype(np.float64)
        for codes in (true[true == predicted], true, predicted)
    )
    both = np.maximum(had + given, 1.0)
    f1 = 2 * right / both
    n_occurring = int((had + given > 0).sum())
    linear = 2 * (true == predicted) / both[true] - f1[true] / both[true] - f1[predicted] / both[predicted]
    return np.asarray(f1.sum() / n_occurring + n_docs / n_occurring * linear)


def standard_error(one: Merit, other: Merit) -> float:
    """Of the difference of two merits on the same documents; 0 for a single document.

    >>> one, other = (Merit(0.0, np.array(parts, np.float32)) for parts in ([1, 1, 0, 1], [1, 0, 0, 1]))
    >>> round(standard_error(one, other), 4)
    0.25
    """
    difference = one.parts.astype(np.float64) - other.parts
    return float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else 0.0


def shown(metric: Metric, merit: float) -> float:
    """The metric as it is usually written: log loss is smaller for the better."""
    return -merit if metric == "log_loss" else merit
