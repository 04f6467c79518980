"""Training rows in an order that does not depend on theirs, each once.

Heads that learn row by row depend on the order of the rows, and a row of weight 2 is not to them what two rows are.
So rows are put into the order of a hash of what they hold, and equal rows with equal labels become one row with the sum
of their weights: the head is then the same, to the last bit of a whole-numbered weight, however rows are shuffled,
repeated or weighted.  The hash also mixes the classes, of which corpora are often sorted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.kernel import headrows as kernel
from bunrui.kernel.headrows import Rows
from bunrui.kernel.library import run

__all__ = ["Cells", "Keys", "arrange", "cells_of", "compacted", "occurring"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

# With so many columns to a cell, sorting the cells is quicker than an array of all columns.
_FEW = 16


class Cells(NamedTuple):
    """A sparse matrix as the kernels read it; `values` is empty where only presence counts."""

    starts: Integers
    indices: npt.NDArray[np.int32]
    values: Floats
    n_columns: int


def cells_of(X: Any, presence: bool) -> Cells:
    """The cells of a csr_array that are not zero, or those above 0; its rows are sorted, and no cell comes twice."""
    stays = X.data > 0 if presence else X.data != 0
    starts, indices, values = X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data
    if not stays.all():
        starts = np.append(0, np.cumsum(stays))[starts]
        indices, values = indices[stays], values[stays]
    return Cells(starts, indices, np.empty(0) if presence else values.astype(np.float64), X.shape[1])


def arrange(
    cells: Cells, codes: Integers, weights: Floats, seed: int, keys: Keys | None = None
) -> tuple[Integers, Floats]:
    """The rows to learn from, in the order to take them, and the weight of each; rows of no weight are left out.

    `keys`, (n_rows, 2), are two hashes of what rows hold, where columns have no numbers of their own: those of words
    depend on which came first.
    """
    rows = np.flatnonzero(weights > 0)
    hashes = _hashes(cells, codes, seed)[rows] if keys is None else _labelled(keys[rows, 0], codes[rows])
    by_hash = np.argsort(hashes, kind="stable")
    rows, hashes = rows[by_hash], hashes[by_hash]
    differs = np.append(True, hashes[1:] != hashes[:-1])
    if not differs.all():
        # Equal by one hash of 64 bits: equal if they are so by another.
        if keys is None:
            others = _hashes(cells, codes, seed ^ 0x5DEECE66D)[rows]
        else:
            others = _labelled(keys[rows, 1], codes[rows])
        by_both = np.lexsort((others, hashes))
        rows, hashes, others = rows[by_both], hashes[by_both], others[by_both]
        differs = np.append(True, (hashes[1:] != hashes[:-1]) | (others[1:] != others[:-1]))
    firsts = np.flatnonzero(differs)
    return rows[firsts], np.add.reduceat(weights[rows], firsts)


def _labelled(keys: Keys, codes: Integers) -> Keys:
    """Hashes of rows and of their classes; the product mixes upwards only, so the upper half is brought down."""
    mixed = (keys ^ (codes.astype(np.uint64) + np.uint64(1)) * kernel.H1) * kernel.H2
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _hashes(cells: Cells, codes: Integers, seed: int) -> npt.NDArray[np.uint64]:
    out = np.empty(len(codes), np.uint64)
    bits = cells.values.view(np.uint64)
    run(kernel.hash_rows, cells.starts, cells.indices, bits, codes, seed, out)
    return out


def occurring(cells: Cells, order: Integers, weights: Floats) -> tuple[Integers, Floats, Integers]:
    """The columns that some rows have, the sum of the weights of these rows, and their number."""
    if len(cells.indices) * _FEW < cells.n_columns:
        known, places = np.unique(cells.indices, return_inverse=True)
        part = cells._replace(indices=places.astype(np.int32).reshape(-1), n_columns=len(known))
    else:
        known, part = np.arange(cells.n_columns, dtype=np.int32), cells
    doc_freq, n_rows = np.zeros(part.n_columns), np.zeros(part.n_columns, np.int64)
    args = (part.starts, part.indices, order, weights, doc_freq, n_rows)
    run(kernel.count_rows, *args)
    taken = np.flatnonzero(n_rows)
    return known[taken].astype(np.int64), doc_freq[taken], n_rows[taken]


def compacted(
    cells: Cells, order: Integers, factor: Floats, norm: int, place_of: Integers, shared: int
) -> tuple[Rows, int]:
    """Rows as a head reads them, and the first free place; places from `shared` on go to columns that are alone."""
    n, n_cells = len(order), len(cells.indices)
    rows = Rows(np.empty(n + 1, np.int64), np.empty(n_cells, np.int64), np.empty(n_cells), np.empty(n))
    args = (cells.starts, cells.indices, cells.values, order, factor, norm, place_of, shared, rows)
    free = int(run(kernel.compact, *args))
    filled = int(rows.starts[-1])
    return rows._replace(places=rows.places[:filled], x=rows.x[:filled]), free
