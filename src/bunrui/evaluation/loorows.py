"""Documents → the rows that leave-one-out reads, on the threads of this machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.engines import threads
from bunrui.errors import DataError
from bunrui.kernel import loorows as kernel
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.library import run
from bunrui.kernel.loorows import Reading, Rows
from bunrui.kernel.vocabulary import Vocabulary
from bunrui.kernel.workspace import NO_COUNTS, resized, scratch_for

__all__ = ["read_rows"]

Integers = npt.NDArray[np.int64]

# More than words fill; what is not touched costs nothing.
_MOST_ROOM = 1 << 26


def read_rows(docs: Documents, recipe: Recipe, v: Vocabulary) -> list[Rows]:
    """Rows of documents whose features a vocabulary has, a part for each thread."""
    longest = threads.longest_document(docs, recipe)

    def read(lo: int, hi: int) -> Rows:
        return _read_slice(docs, lo, hi, recipe, longest, v)

    return threads.each_slice(read, threads.bounds_of(docs, recipe))


def _read_slice(docs: Documents, lo: int, hi: int, recipe: Recipe, longest: int, v: Vocabulary) -> Rows:
    offsets = docs.offsets[docs.lists] if len(docs.lists) else docs.offsets
    n_bytes = int(offsets[hi] - offsets[lo])
    scratch = scratch_for(longest)
    room = min(n_bytes // 2, _MOST_ROOM) + len(scratch.items.starts)
    rows = Rows(
        docs=np.arange(lo, hi),
        starts=np.zeros(hi - lo + 1, np.int64),
        features=np.empty(room, np.uint32),
        values=np.empty(room, np.uint32),
        firsts=np.zeros(hi - lo + 1, np.int64),
        places=np.empty(room, np.uint32),
        counts=np.empty(room, np.int64) if len(docs.counts) else NO_COUNTS,
    )
    reading = Reading(np.zeros(len(v.hashes), np.int64), np.zeros(kernel.STATES, np.int64))
    while True:
        status = run(kernel.read_rows, docs, lo, hi, recipe, scratch, v, rows, reading)
        if status == kernel.DONE:
            break
        if status == kernel.UNKNOWN:
            raise DataError("a text has a feature that was never counted: count the texts first")
        grows = ("features", "values") if status == kernel.GROW_FEATURES else ("places", "counts")
        rows = rows._replace(**{name: _grown(getattr(rows, name)) for name in grows})
    n_features, n_items = int(rows.starts[-1]), int(rows.firsts[-1])
    return rows._replace(
        features=rows.features[:n_features],
        values=rows.values[:n_features],
        places=rows.places[:n_items],
        counts=rows.counts[:n_items],
    )


def _grown(array: Any) -> Any:
    return resized(array, 2 * len(array)) if len(array) else array
