"""Averaged one-dependence estimators: naive Bayes where every column in turn is a parent of all others.

    P(y, x) = mean over columns i with F(x_i) >= m of P(y, x_i) · product over j ≠ i of P(x_j | y, x_i)

    P(y, x_i)       = (F(y, x_i) + 1) / (K_i + k v_i)
    P(x_j | y, x_i) = (F(y, x_i, x_j) + 1) / (K_j(y, x_i) + v_j)

    F     rows that have these values and this class
    K_j   rows (of this class, with this value) where column j is known; v_j the values of column j, k the classes

Where no parent has m rows, naive Bayes with the same smoothing answers:

    P(y, x) = (F(y) + 1) / (K + k) · product over j of (F(y, x_j) + 1) / (K_j(y) + v_j)

A value that was never seen has F = 0.  A value that is missing is skipped, as parent and as child.

Webb, Boughton, Wang (2005), Not so naive Bayes: aggregating one-dependence estimators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.errors import OptionError
from bunrui.kernel.aode import PairTable
from bunrui.kernel.logs import log

__all__ = ["aode", "beyond", "check_rows"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BLOCK = 1 << 20  # cells whose logarithms are taken at once, which takes some memory beside them


def aode(cells: npt.NDArray[Any], sizes: Integers, log_prior: Floats) -> PairTable:
    """The logarithms from F(y, a, b); after the values, a place for one of each column that was never seen.

    Parameters
    ----------
    cells : (n_values, n_values, n_classes)
        Rows by pair of values and class, the values of each column after those of the last; of a value with itself,
        the rows that have it.
    sizes : (n_columns,)
        v.
    log_prior : (n_classes,)
        Of naive Bayes.
    """
    n_values, _, n_classes = cells.shape
    singles = cells[np.arange(n_values), np.arange(n_values)]
    column = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    columns = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    known = np.array([singles[values].sum(axis=0) for values in columns])
    base = log(singles + 1) - log((known.sum(axis=1) + n_classes * sizes)[column])[:, None]
    # A column that never had a value says nothing: log 1.
    has_values = sizes > 0
    below = np.zeros((n_values, len(sizes), n_classes))
    for j in np.flatnonzero(has_values).tolist():
        below[:, j] = log(cells[:, columns[j]].sum(axis=1) + sizes[j])
    weights = np.empty((n_values, n_values + len(sizes), n_classes))
    step = max(1, _BLOCK // max(1, n_values * n_classes))
    for first in range(0, n_values, step):
        rows = slice(first, first + step)
        weights[rows, :n_values] = log(cells[rows] + 1) - below[rows][:, column]
    weights[:, n_values:] = -below
    bayes_below = np.zeros(known.shape)
    bayes_below[has_values] = log((known + sizes[:, None])[has_values])
    bayes = np.concatenate([log(singles + 1) - bayes_below[column], -bayes_below])
    no_defaults = np.full(len(sizes), -1, np.int32)
    return PairTable(base.reshape(-1), weights.reshape(-1), log_prior, bayes.reshape(-1), no_defaults)


def beyond(table: PairTable, sizes: Integers, usual: Integers, other: Integers) -> PairTable:
    """The same for rows that have one of two values in every column: what the other adds beyond the usual one.

    Parameters
    ----------
    usual, other : (n_columns,)
        The places of the two values.
    """
    n_classes = len(table.bayes_base)
    column = np.repeat(np.arange(len(sizes)), sizes)
    weights = table.weights.reshape(len(column), -1, n_classes)
    bayes = table.bayes_weights.reshape(-1, n_classes)
    expected = weights[:, usual]
    own = expected[np.arange(len(column)), column]
    base = table.base.reshape(-1, n_classes) + expected.sum(axis=1) - own
    return PairTable(
        base.reshape(-1),
        (weights[:, other] - expected).reshape(-1),
        table.bayes_base + bayes[usual].sum(axis=0),
        (bayes[other] - bayes[usual]).reshape(-1),
        table.defaults,
    )


def check_rows(m: Any) -> None:
    """Refuse an m that is no number of rows."""
    if isinstance(m, bool) or not isinstance(m, (int, float, np.number)) or not 0 < m < np.inf:
        raise OptionError(option="m", value=m, expected="a number of rows, above 0")
