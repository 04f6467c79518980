"""Features that have ids and texts already → the slots in which they are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError
from bunrui.kernel import slices
from bunrui.kernel.library import run
from bunrui.kernel.ngrams import TWO, Items, put_items
from bunrui.kernel.postings import (
    BLOCK,
    BORN,
    CELLS,
    HOLES,
    LEFT,
    LIVE,
    NEW,
    TEXT,
    USED,
    Plan,
    Postings,
    block_items,
    merge,
    plan,
    rotate,
)
from bunrui.kernel.primitives import ONE, ZERO, i64, prefetch, u64
from bunrui.kernel.signature import I64s, U32s, Unsigned, kernel
from bunrui.kernel.vocabulary import AHEAD, BYTES, FEATURES, FULLEST, NARROW, REGION, SHIFT, Vocabulary, find, has_room
from bunrui.kernel.workspace import bits_for, has_even, new_vocabulary, regions_for, regions_of, scratch_for

__all__ = ["fill_slots", "restored"]


def restored(text: Any, sizes: npt.NDArray[np.int64]) -> Vocabulary:
    """The vocabulary of features that stand one after the other in `text` (uint8, padded by 64 bytes).

    Raises
    ------
    DataError
        If a feature is there twice.
    """
    n = len(sizes)
    v = new_vocabulary(n, 0, regions_for(bits_for(n)))._replace(text=text)
    np.cumsum(sizes, out=v.starts[1 : n + 1])
    v.size[FEATURES], v.size[BYTES] = n, v.starts[n]
    slices.each_slice(lambda lo, hi: run(put_hashes, v, lo, hi, scratch_for(0).items), slices.stretches(n))
    if not has_even(v, v.hashes[:n]):
        v.size[REGION] = len(v.slots) - 1
        v = v._replace(loads=np.zeros(1, np.int64))
    fill_slots(v, 0)
    return v


def fill_slots(v: Vocabulary, first: int, skip: int = 0) -> None:
    """Put the features from `first` on, which have ids, texts and hashes, into the slots, some regions on each thread.

    Raises
    ------
    DataError
        If one of them is there already.
    """
    n, regions = int(v.size[FEATURES]), len(v.loads)
    order = np.arange(first, n, dtype=np.uint32)
    bounds = [0, n - first]
    if regions > 1 and n - first >= slices.FEATURES:
        numbers = regions_of(v.hashes[first:n], regions)
        if (numbers[1:] < numbers[:-1]).any():
            by_region = np.argsort(numbers, kind="stable")
            order, numbers = order[by_region], numbers[by_region]
        cuts = slices.stretches(regions, max(1, regions * slices.FEATURES // (n - first)))
        bounds = np.searchsorted(numbers, np.arange(regions + 1))[cuts].tolist()

    def fill_some(lo: int, hi: int) -> bool:
        return bool(run(fill, v, order, lo, hi, skip, scratch_for(0).items))

    try:
        if not all(slices.each_slice(fill_some, bounds)):
            raise DataError("a feature is there twice")
    finally:
        v.size[FULLEST] = v.loads.max()


@kernel
def put_hashes(v: Vocabulary, first: int, last: int, items: Items) -> None:
    """Set the hashes of the features first … last - 1."""
    while first < last:
        n = block_items(v, first, last, items, v.size[NARROW])
        for k in range(n):
            v.hashes[first + k] = items.hashes[k]
        first += n


@kernel
def absorb(
    v: Vocabulary,
    p: Postings,
    ov: Vocabulary,
    op: Postings,
    class_map: I64s,
    planned: Plan,
    need: I64s,
    items: Items,
) -> bool:
    """Plan to add (ov, op), and add it where there is room; False where something must grow first.

    One call in place of three: of the 45 µs that adding a document took with them, 18 were calls.
    """
    n = i64(ov.size[FEATURES])
    plan(v, p, ov, op, class_map, ZERO, i64(0), n, planned, need, items)
    if not has_room(v, u64(need[NEW]), u64(need[TEXT])) or p.size[USED] + need[CELLS] > len(p.classes):
        return False
    known = i64(v.size[FEATURES])
    byte = i64(v.size[BYTES])
    end = byte + need[TEXT]
    merge(v, p, ov, op, class_map, i64(0), n, planned, known, byte, i64(p.size[USED]), end)
    v.size[FEATURES] = u64(known + need[NEW])
    v.size[BYTES] = u64(end)
    p.size[USED] += need[CELLS]
    p.size[HOLES] += need[LEFT]
    p.size[LIVE] += need[BORN]
    if need[NEW] > 0:
        fill_slots_of(v, planned.ids, 0, known, known + need[NEW], ZERO, items)
        for r in range(len(v.loads)):
            v.size[FULLEST] = max(v.size[FULLEST], u64(v.loads[r]))
    return True


@kernel
def fill(v: Vocabulary, order: U32s, first: int, last: int, skip: Unsigned, items: Items) -> bool:
    """Put the features order[first] … order[last - 1] into the slots; False if one is there already."""
    return fill_slots_of(v, order, 1, first, last, skip, items)


def fill_slots_of(
    v: Vocabulary, order: Sequence[int], is_ordered: int, first: int, last: int, skip: int, items: Items
) -> bool:
    """The same, or the features first … last - 1 themselves."""
    slots = v.slots
    lows = items.low
    highs = items.high
    hashes = items.hashes
    shift = v.size[SHIFT]
    region = v.size[REGION] + ONE
    while first < last:
        n = min(last - first, BLOCK)
        for k in range(n):
            f = i64(order[first + k]) if is_ordered != 0 else first + k
            start = v.starts[f]
            items.starts[k] = start
            items.lengths[k] = v.starts[f + 1] - start
        put_items(v.text, items, u64(n), v.size[NARROW])
        rotate(items, n, skip)
        j = u64(0)
        while j < u64(n):
            prefetch(slots, (hashes[min(j + AHEAD, u64(n) - ONE)] >> shift) << TWO)
            s = find(v, items, j, v.text, slots, lows[j], highs[j], (hashes[j] >> shift) << TWO)
            if slots[s + TWO] != ZERO:
                return False
            slots[s] = lows[j]
            slots[s + ONE] = highs[j]
            f = i64(order[first + i64(j)]) if is_ordered != 0 else first + i64(j)
            slots[s + TWO] = u64(f) + ONE
            v.loads[s // region] += 1
            j = j + ONE
        first += n
    return True
