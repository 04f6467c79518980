"""Features that have ids and texts already → the slots in which they are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError
from bunrui.kernel.library import run
from bunrui.kernel.ngrams import TWO, Items
from bunrui.kernel.postings import block_items, rotate
from bunrui.kernel.primitives import ONE, ZERO, prefetch, u64
from bunrui.kernel.signature import Unsigned, kernel
from bunrui.kernel.vocabulary import BYTES, FEATURES, NARROW, SHIFT, Vocabulary, find
from bunrui.kernel.workspace import new_vocabulary, scratch_for

__all__ = ["fill_slots", "restored"]


def restored(text: Any, sizes: npt.NDArray[np.int64]) -> Vocabulary:
    """The vocabulary of features that stand one after the other in `text` (uint8, padded by 64 bytes).

    Raises
    ------
    DataError
        If a feature is there twice.
    """
    n = len(sizes)
    v = new_vocabulary(n, 0)._replace(text=text)
    np.cumsum(sizes, out=v.starts[1 : n + 1])
    v.size[FEATURES], v.size[BYTES] = n, v.starts[n]
    fill_slots(v, 0)
    return v


def fill_slots(v: Vocabulary, first: int, skip: int = 0) -> None:
    """Put the features from `first` on, which have ids and texts, into the slots.

    Raises
    ------
    DataError
        If one of them is there already.
    """
    if run(fill, v, first, int(v.size[FEATURES]), skip, scratch_for(0).items) >= 0:
        raise DataError("a feature is there twice")


@kernel
def fill(v: Vocabulary, first: int, last: int, skip: Unsigned, items: Items) -> int:
    """Put the features first … last - 1 into the slots; one that is there already, or -1."""
    slots = v.slots
    shift = v.size[SHIFT]
    while first < last:
        n = block_items(v, first, last, items, v.size[NARROW])
        rotate(items, n, skip)
        for k in range(n):
            prefetch(slots, (items.hashes[min(k + 16, n - 1)] >> shift) << TWO)
            j = u64(k)
            s = find(v, items, j, v.text, slots, items.low[j], items.high[j], (items.hashes[j] >> shift) << TWO)
            f = first + k
            if slots[s + TWO] != ZERO:
                return f
            v.hashes[f] = items.hashes[j]
            slots[s] = items.low[j]
            slots[s + ONE] = items.high[j]
            slots[s + TWO] = u64(f) + ONE
        first += n
    return -1
