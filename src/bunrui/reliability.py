"""How often probabilities come true: log loss, and the expected calibration error of Guo et al. (2017).

`bunrui.evaluation.scores` has their formulas, beside other measures of scores.  This module imports NumPy alone:
`import bunrui.evaluation` loads neither Arrow nor a model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

N_BINS = 15
_EPS = float(np.finfo(np.float64).eps)


class Bin(NamedTuple):
    """Documents with low < confidence <= high: their mean confidence, and the share of them that are right."""

    low: float
    high: float
    confidence: float
    accuracy: float
    doc_count: int


def log_loss(own: Booleans, probabilities: Floats) -> float:
    """Mean of -log of the probability of being right.

    >>> own = np.array([[True, False], [False, True]])
    >>> round(log_loss(own, np.array([[0.5, 0.5], [0.75, 0.25]])), 4)
    1.0397
    """
    return float(-log_right(own, probabilities).mean())


def log_right(own: Booleans, probabilities: Floats) -> Floats:
    """The log of the probability of being right, of every document, (n_docs,).

    >>> log_right(np.array([[True, False], [False, False]]), np.array([[0.5, 0.5], [0.75, 0.25]])).round(2).tolist()
    [-0.69, -36.04]
    """
    return np.log(np.clip(right_share(own, probabilities), _EPS, 1 - _EPS))


def reliability(right: Booleans, confidence: Floats, n_bins: int = N_BINS) -> tuple[Bin, ...]:
    """The bins that have documents, from unsure to sure: a reliability diagram is accuracy over confidence.

    Parameters
    ----------
    right : (n_docs,) bool
        Whether the predicted label is right.
    confidence : (n_docs,)
        Its probability.
    n_bins : int
        Bins of equal width.

    Examples
    --------
    >>> unsure, sure = reliability(np.array([True, False, True]), np.array([0.5, 0.75, 1.0]), n_bins=2)
    >>> unsure
    Bin(low=0.0, high=0.5, confidence=0.5, accuracy=1.0, doc_count=1)
    >>> sure
    Bin(low=0.5, high=1.0, confidence=0.875, accuracy=0.5, doc_count=2)
    """
    edges = np.arange(n_bins + 1) / n_bins
    bins = np.searchsorted(edges[1:-1], confidence, side="left")
    doc_counts = np.bincount(bins, minlength=n_bins)
    sums = (np.bincount(bins, weights, n_bins) for weights in (confidence, right))
    filled = np.flatnonzero(doc_counts)
    columns = (edges[:-1], edges[1:], *(total / np.maximum(doc_counts, 1) for total in sums), doc_counts)
    return tuple(map(Bin, *(column[filled].tolist() for column in columns)))


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """The expected calibration error (ECE): how far accuracy is from confidence, on the average of the documents.

    >>> calibration_error(reliability(np.array([True, False]), np.array([0.75, 0.75])))
    0.25
    """
    n = sum(one.doc_count for one in bins)
    return sum(one.doc_count * abs(one.accuracy - one.confidence) for one in bins) / n


def right_share(own: Booleans, probabilities: Floats) -> Floats:
    """The probability of being right, of every document, (n_docs,)."""
    return np.asarray(np.where(own, probabilities, 0).sum(axis=1))
