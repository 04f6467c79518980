"""The score of one row of words by AODE, taken apart.

    score[y] = log of the mean over parents i of exp(s[i, y])        s[i, y] = base[i, y] + Σ_k w[i, k, y]

The words of a row are summed for every parent, and parents are averaged after the logarithm: no sum of words alone.  So
a word adds what it adds to the parents, each weighed by its share π[i, y] = exp(s[i, y]) / Σ_i exp(s[i, y]),

    value[k, y] = Σ_i π[i, y] · w[i, k, y]  +  π[k, y] · (base[k present, y] - base[k absent, y])

and what is left of the score (the parents themselves, and what the average adds) is the bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from bunrui.estimators.aode import AODE

__all__ = ["presence_parts"]

Floats = npt.NDArray[np.float64]


def presence_parts(estimator: AODE, row: Any) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """The words of one row of presence, what each adds (n_words, n_classes), and the bias (n_classes,)."""
    rows, table = estimator._present(row)
    n_classes = len(table.bayes_base)
    words = rows.columns.astype(np.int64)
    parent = table.defaults.copy()
    parent[words] = rows.parents
    columns = np.flatnonzero(parent >= 0)
    if not len(columns):
        return words, table.bayes_weights.reshape(-1, n_classes)[words], table.bayes_base
    base = table.base.reshape(-1, n_classes)
    weights = table.weights.reshape(len(base), -1, n_classes)[parent[columns]][:, words]
    weights[columns[:, None] == words] = 0.0
    sums = base[parent[columns]] + weights.sum(axis=1)
    top = sums.max(axis=0)
    shares = np.exp(sums - top)
    total = shares.sum(axis=0)
    shares /= total
    values = np.einsum("ic,ikc->kc", shares, weights)
    zeros, ones = estimator._learned.numbers_of(0), estimator._learned.numbers_of(1)
    own = np.zeros((len(parent), n_classes))
    own[columns] = shares
    values += own[words] * (base[ones[words]] - base[zeros[words]])
    return words, values, top + np.log(total / len(columns)) - values.sum(axis=0)
