"""The score of one row by AODE, taken apart.

    score[y] = log of the mean over parents i of exp(s[i, y])        s[i, y] = base[i, y] + Σ_k w[i, k, y]

The items of a row are summed for every parent, and parents are averaged after the logarithm: no sum of items alone.  So
an item adds what it adds to the parents, each weighed by its share π[i, y] = exp(s[i, y]) / Σ_i exp(s[i, y]),

    value[k, y] = Σ_i π[i, y] · w[i, k, y]  +  π[k, y] · (base[k, y] - usual[k, y])

and what is left of the score (the class, and what the average adds) is the bias.  Of words, items are those that are
present, and the usual is their absence.  Of values, items are those that are known, and the usual is log P(y): as a
parent, a value adds log P(x_k | y).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bunrui.kernel.aode import PairTable, RowValues

if TYPE_CHECKING:
    from bunrui.estimators.aode import AODE

__all__ = ["presence_parts", "value_parts"]

Floats = npt.NDArray[np.float64]
Parts = tuple[npt.NDArray[np.int64], Floats, Floats]


def presence_parts(estimator: AODE, row: Any) -> Parts:
    """The words of one row of presence, what each adds (n_words, n_classes), and the bias (n_classes,)."""
    rows, table = estimator._present(row)
    absent = estimator._learned.numbers_of(0)[rows.columns]
    # A word that was never absent has nothing to be held against.
    usual = np.where(absent < len(estimator._learned.cells), absent, rows.parents)
    return _parts(rows, table, table.base.reshape(-1, len(table.bayes_base))[usual])


def value_parts(estimator: AODE, row: Any) -> Parts:
    """The columns of one row whose values are known, what each adds (n_columns, n_classes), and the bias."""
    rows, table = estimator._listed(row)
    return _parts(rows, table, table.bayes_base)


def _parts(rows: RowValues, table: PairTable, usual: Floats) -> Parts:
    n_classes = len(table.bayes_base)
    items = rows.columns.astype(np.int64)
    parent = table.defaults.copy()
    parent[items] = rows.parents
    columns = np.flatnonzero(parent >= 0)
    if not len(columns):
        return items, table.bayes_weights.reshape(-1, n_classes)[rows.places], table.bayes_base
    base = table.base.reshape(-1, n_classes)
    weights = table.weights.reshape(len(base), -1, n_classes)[parent[columns]][:, rows.places]
    weights[columns[:, None] == items] = 0.0
    sums = base[parent[columns]] + weights.sum(axis=1)
    top = sums.max(axis=0)
    shares = np.exp(sums - top)
    total = shares.sum(axis=0)
    shares /= total
    values = np.einsum("ic,ikc->kc", shares, weights)
    own = np.zeros((len(parent), n_classes))
    own[columns] = shares
    values += own[items] * (base[rows.parents] - usual)
    return items, values, top + np.log(total / len(columns)) - values.sum(axis=0)
