"""Categorical naive Bayes: every column takes one of some values.

    P(x_j = v | c) = (n[v, c] + λ) / (N[c] + λ S)        score[c] = log P(c) + sum over columns of log P(x_j | c)

    n[v, c]   rows of class c whose column j has the value v, N[c] those where it has any
    S         values that column j can take: those that were seen, or more if the user says so

A value that was never seen has n = 0 in every class.  A value that is missing is skipped, in training (N[c] leaves the
row out) and in prediction.

Li Hang (2012), Statistical Learning Methods, section 4.2.  Golden values: tests/golden/test_li_hang.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import ValueCounts, encode_values
from bunrui.kernel.logs import log
from bunrui.models.scorer import Smoothing, positive

__all__ = ["categorical", "count_values"]

Floats = npt.NDArray[np.float64]


def categorical(cells: npt.NDArray[Any], n_values: int, smoothing: Smoothing) -> Floats:
    """log P(v | c) of one column from n[v, c], (n_seen, n_classes); one more row for a value that was never seen."""
    below = log(positive(cells.sum(axis=0) + smoothing.value * n_values, smoothing))
    seen_or_not = np.concatenate([cells, np.zeros((1, cells.shape[1]), cells.dtype)])
    return log(np.maximum(seen_or_not, 0) + smoothing.value) - below


def count_values(X: npt.NDArray[Any], codes: npt.NDArray[np.int64], weights: npt.NDArray[Any], n: int) -> ValueCounts:
    """n[v, c] of every column of an array, (n_rows, n_columns), for n classes."""
    if not weights.all():
        # A row without weight has no values either.
        X, codes, weights = (each[weights > 0] for each in (X, codes, weights))
    places: tuple[dict[Any, int], ...] = tuple({} for _ in range(X.shape[1]))
    tables = []
    for j, column in enumerate(places):
        found = encode_values(X[:, j], column, grow=True)
        there = found >= 0
        tables.append(np.zeros((len(column), n), weights.dtype))
        np.add.at(tables[-1], (found[there], codes[there]), weights[there])
    cells = np.concatenate(tables) if tables else np.zeros((0, n), weights.dtype)
    return ValueCounts(places, cells)
