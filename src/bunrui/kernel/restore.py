"""A vocabulary from the texts of its features, in NumPy alone: opening a file waits for no compiler.

The same keys, hashes and slots that `ngrams.put_items` and `vocabulary.probe` make, one array at a time.  Features laid
out in the order of their hashes go to `max(own slot, slot of the one before + 1)`, which is a running maximum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError
from bunrui.kernel import workspace
from bunrui.kernel.hashing import K1, K2, K3
from bunrui.kernel.vocabulary import SLOT, Vocabulary

Words = npt.NDArray[np.uint64]

_LONG = 256  # bytes; what is longer is left to the kernel: each step here takes a word of all features at once
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_PADDING = np.array([(0xFFFF_FFFF_FFFF_FFFF << 8 * n) & 0xFFFF_FFFF_FFFF_FFFF for n in range(8)], np.uint64)


def restored(text: Any, sizes: npt.NDArray[np.int64]) -> Vocabulary:
    """The vocabulary of features that stand one after the other in `text` (uint8, padded by 64 bytes).

    Raises
    ------
    DataError
        If a feature is there twice.
    """
    n = len(sizes)
    bits = workspace.bits_for(n)
    room = workspace.room_of(bits)
    starts = np.zeros(room + 1, np.int64)
    np.cumsum(sizes, out=starts[1 : n + 1])
    at = starts[:n]
    low, high, hashes = _keys(text, at, sizes)
    _refuse_twins(text, at, sizes, hashes)

    shift = np.uint64(64 - bits)
    order = np.sort(((hashes >> shift) << np.uint64(32)) | np.arange(n, dtype=np.uint64))
    ids = (order & np.uint64(0xFFFF_FFFF)).astype(np.int64)
    steps = np.arange(n)
    places = np.maximum.accumulate((order >> np.uint64(32)).astype(np.int64) - steps) + steps
    slots = workspace.empty_slots(bits)
    rows = slots.reshape(-1, SLOT)
    inside = int(np.searchsorted(places, len(rows)))
    rows[places[:inside], 2] = 1  # taken; the others go round the end, to the first that are free
    places[inside:] = np.flatnonzero(rows[:n, 2] == 0)[: n - inside]
    rows[places, 0] = low[ids]
    rows[places, 1] = high[ids]
    rows[places, 2] = ids + 1

    all_hashes = np.empty(room, np.uint64)
    all_hashes[:n] = hashes
    n_bytes = int(starts[n])
    size = np.array([n, n_bytes, 64 - bits, workspace.NARROW_HASH, len(slots) - 1, n], np.uint64)
    return Vocabulary(slots, all_hashes, starts, text, size, np.array([n], np.int64))


def _keys(text: Any, at: Any, sizes: Any) -> tuple[Words, Words, Words]:
    """Both words of every key, and the hashes."""
    words = np.ndarray((len(text) - 7,), "<u8", text.data, strides=(1,))  # the eight bytes at every place
    rest = np.where(sizes < 8, _PADDING[sizes & 7], np.uint64(0))
    low = words[at] | rest
    high = np.where(sizes > 8, words[at + 8] | np.where(sizes < 16, _PADDING[sizes & 7], np.uint64(0)), _ALL)
    hashes = low ^ (high * np.uint64(K3))
    hashes = (hashes ^ (hashes >> np.uint64(32))) * np.uint64(K1)
    hashes &= np.uint64(workspace.NARROW_HASH)
    long = np.flatnonzero((sizes > 16) & (sizes <= _LONG))
    if len(long):
        low[long] = hashes[long] = _long_hashes(words, at[long], sizes[long]) & np.uint64(workspace.NARROW_HASH)
        high[long] = np.uint64(0xFF) | (sizes[long].astype(np.uint64) << np.uint64(8))
    longer = np.flatnonzero(sizes > _LONG)
    if len(longer):
        items = workspace.placed_items(text, at[longer], sizes[longer], np.uint64(workspace.NARROW_HASH))
        n = len(longer)
        low[longer], high[longer], hashes[longer] = items.low[:n], items.high[:n], items.hashes[:n]
    return low, high, hashes


def _long_hashes(words: Any, at: Any, sizes: Any) -> Words:
    """`hashing.hash_long`, one word of all features after the other."""
    k1 = np.uint64(K1)
    half = np.uint64(32)
    h = sizes.astype(np.uint64) * np.uint64(K3)
    left = np.arange(len(at))  # features with whole words left, by `step`
    step = 0
    while True:
        left = left[sizes[left] >= step + 8]
        if not len(left):
            break
        mixed = (h[left] ^ words[at[left] + step]) * k1
        h[left] = mixed ^ (mixed >> half)
        step += 8
    k = (h ^ (words[at + (sizes & ~7)] | _PADDING[sizes & 7])) * k1
    k = (k ^ (k >> half)) * k1
    k = (k ^ (k >> np.uint64(29))) * np.uint64(K2)
    return np.asarray(k ^ (k >> half))


def _refuse_twins(text: Any, at: Any, sizes: Any, hashes: Words) -> None:
    ascending = np.sort(hashes)
    shared = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    if not len(shared):
        return
    ids = np.flatnonzero(np.isin(hashes, shared))
    seen = {text[a : a + size].tobytes() for a, size in zip(at[ids].tolist(), sizes[ids].tolist(), strict=True)}
    if len(seen) < len(ids):
        raise DataError("a feature is there twice")
