"""Numbers of one column: normal in every class, or cut into bins; which of the two foretells the class better.

    sum over rows i of log P(y_i | x_i), by a model of this column alone that was learned without row i

Nothing is learned again: without row i its class has one value less, and all else stays.  A row of weight 2 is two
rows, of which one is left out.  The borders of the bins are quantiles of all values, row i among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.estimators.moments import dense_moments
from bunrui.models.gaussian import Moments
from bunrui.models.linear import log_sum_exp

__all__ = ["loo_binned", "loo_gaussian", "quantile_edges"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

_LEAST = 1e-100


def quantile_edges(values: Floats, weights: npt.NDArray[Any], n_bins: int) -> Floats:
    """Borders between bins of about the same weight, at most n_bins - 1; a value on a border is of the bin below.

    Examples
    --------
    >>> quantile_edges(np.array([1.0, 2, 3, 4, np.nan, 4]), np.ones(6), 2)
    array([3.])
    """
    there = ~np.isnan(values) & (weights > 0)
    distinct, back = np.unique(values[there], return_inverse=True)
    if len(distinct) < 2:
        return np.empty(0)
    share = np.cumsum(np.bincount(back.reshape(-1), weights[there].astype(np.float64)))
    wanted = share[-1] * np.arange(1, n_bins) / n_bins
    # Rounding must not push a border to the next value.
    places = np.searchsorted(share, wanted * (1 - 1e-12))
    return np.asarray(np.unique(distinct[places[places < len(distinct) - 1]]))


def loo_gaussian(
    values: Floats, codes: Codes, weights: npt.NDArray[Any], doc_count: npt.NDArray[Any], var_smoothing: float
) -> float:
    """The sum for a normal distribution in every class."""
    rows = _present(values, codes, weights, doc_count)
    x, y = rows.x, rows.y
    # Shifting changes nothing but the digits that are left after subtraction.
    x = x - (np.average(x, weights=rows.w) if len(x) else 0.0)
    moments = dense_moments(x[:, None], y, rows.w, len(rows.docs))
    row = Moments(rows.out, x, np.zeros(len(x)))
    pooled = Moments(*(np.broadcast_to(part[0, 0], x.shape) for part in moments.pooled())).minus(row)
    parts = [np.tile(part[:, 0], (len(x), 1)) for part in moments]
    for part, left in zip(parts, Moments(*(part[:, 0][y] for part in moments)).minus(row), strict=True):
        part[np.arange(len(x)), y] = left
    n, mean, squares = parts
    squares = np.maximum(squares, 0.0)
    spread = np.maximum(pooled.variance(), 0.0)[:, None]
    mean = np.where(n > 0, mean, pooled.mean[:, None])
    variance = np.where(n > 0, squares / np.where(n > 0, n, 1.0), spread) + var_smoothing * spread
    variance = np.maximum(variance, _LEAST)
    scores = -0.5 * np.log(2 * np.pi * variance) - 0.5 * (x[:, None] - mean) ** 2 / variance
    scores[pooled.n <= 0] = 0.0
    return _foretold(scores, rows)


def loo_binned(
    places: Floats, n_bins: int, codes: Codes, weights: npt.NDArray[Any], doc_count: npt.NDArray[Any], lam: float
) -> float:
    """The sum for bins, which are values of a categorical column."""
    rows = _present(places, codes, weights, doc_count)
    at, y = rows.x.astype(np.int64), rows.y
    cells = np.zeros((n_bins, len(rows.docs)))
    np.add.at(cells, (at, y), rows.w)
    counts, totals = cells[at], np.tile(cells.sum(axis=0), (len(at), 1))
    own = np.arange(len(at)), y
    counts[own] = np.maximum(counts[own] - rows.out, 0.0)
    totals[own] = np.maximum(totals[own] - rows.out, 0.0)
    return _foretold(np.log(counts + lam) - np.log(totals + lam * n_bins), rows)


class _Rows(NamedTuple):
    """Rows with a value: it, their class, their weight, and what of it is left out; the rows of every class; which rows
    can be foretold.
    """

    x: Floats
    y: Codes
    w: Floats
    out: Floats
    docs: Floats
    scored: npt.NDArray[np.bool_]


def _present(values: Floats, codes: Codes, weights: npt.NDArray[Any], doc_count: npt.NDArray[Any]) -> _Rows:
    there = ~np.isnan(values) & (weights > 0)
    y, w, docs = codes[there], weights[there].astype(np.float64), doc_count.astype(np.float64)
    out = np.minimum(w, 1.0)
    # Without its only row nobody could foretell a class; that row is still one by which others are foretold.
    return _Rows(values[there], y, w, out, docs, docs[y] > out * (1 + 1e-9))


def _foretold(scores: Floats, rows: _Rows) -> float:
    """The sum, from log P(x_i | c) without row i, (n_rows, n_classes)."""
    left = np.tile(rows.docs, (len(rows.x), 1))
    own = np.arange(len(rows.x)), rows.y
    left[own] = np.maximum(left[own] - rows.out, 0.0)
    prior = np.full(left.shape, -np.inf)
    prior[left > 0] = np.log(left[left > 0])
    joint = (scores + prior)[rows.scored]
    logs = joint - log_sum_exp(joint)
    return float(rows.w[rows.scored] @ logs[np.arange(len(logs)), rows.y[rows.scored]])
