"""`Index`: where the documents of the log stand, by a key of their digest or of their id.

It lives in memory, beside a connection.  In the file it would be a row for each document, and learning short texts
would take twice as long (docs/decisions/005); without one, each change would read all blocks (docs/decisions/014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Index", "Keyed", "Seen", "Words", "id_words"]

Words = npt.NDArray[np.uint64]


class Keyed(NamedTuple):
    """Documents of one block: their keys, and their places there."""

    block: int
    keys: Words
    places: npt.NDArray[np.int64]


class Index:
    """Documents that are learned: many from the beginning, and what has come and gone since.

    Examples
    --------
    >>> index = Index([Keyed(1, np.array([7, 3], np.uint64), np.array([0, 1]))])
    >>> index.add(Keyed(2, np.array([3], np.uint64), np.array([0])))
    >>> index.find(np.array([3, 5], np.uint64))
    {1: [1], 2: [0]}
    >>> index.remove(1, [1])
    >>> index.find(np.array([3], np.uint64)), index.has(np.array([3, 7, 5], np.uint64)).tolist()
    ({2: [0]}, [True, True, False])
    """

    def __init__(self, keyed: Sequence[Keyed]) -> None:
        keys = np.concatenate([each.keys for each in keyed] or [np.empty(0, np.uint64)])
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._places = np.concatenate([each.places for each in keyed] or [np.empty(0, np.int64)])[order]
        blocks = np.array([each.block for each in keyed], np.int64)
        self._blocks = np.repeat(blocks, [len(each.keys) for each in keyed])[order]
        self._came: dict[int, list[tuple[int, int]]] = {}
        self._gone: set[tuple[int, int]] = set()

    def add(self, keyed: Keyed) -> None:
        """A few documents have come."""
        for key, place in zip(keyed.keys.tolist(), keyed.places.tolist(), strict=True):
            self._came.setdefault(key, []).append((keyed.block, place))

    def remove(self, block: int, places: Sequence[int]) -> None:
        """Documents have gone."""
        self._gone.update((block, place) for place in places)

    def find(self, keys: Words) -> dict[int, list[int]]:
        """Places of documents with these keys, by block."""
        found: dict[int, list[int]] = {}
        for block, place in sorted({each for key in np.unique(keys) for each in self._of(key)}):
            found.setdefault(block, []).append(place)
        return found

    def has(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Which keys are there."""
        starts, ends = (np.searchsorted(self._keys, keys, side) for side in ("left", "right"))
        there = starts < ends
        if self._came or self._gone:  # few: else there would be a new index
            for row, key in enumerate(keys.tolist()):
                if key in self._came or (self._gone and there[row]):
                    there[row] = bool(self._of(keys[row]))
        return np.asarray(there)

    def _of(self, key: np.uint64) -> list[tuple[int, int]]:
        start, end = (int(np.searchsorted(self._keys, key, side)) for side in ("left", "right"))
        old = zip(self._blocks[start:end].tolist(), self._places[start:end].tolist(), strict=True)
        return [each for each in (*old, *self._came.get(int(key), ())) if each not in self._gone]


class Seen:
    """The texts that were learned, by the first eight bytes of their digests.

    Examples
    --------
    >>> seen = Seen(np.array([7, 3], np.uint64))
    >>> seen.add(np.array([5, 3, 5], np.uint64)).tolist()
    [False, True, True]
    >>> seen.add(np.array([5], np.uint64)).tolist()
    [True]
    >>> seen.has(np.array([5, 6, 6], np.uint64)).tolist()
    [True, False, False]
    """

    def __init__(self, keys: Words, before: Index | None = None) -> None:
        """Those of `keys`, and those that an index knows besides."""
        self._sorted = np.sort(keys)
        self._before = before

    def __len__(self) -> int:
        return len(self._sorted)

    @property
    def n_bytes(self) -> int:
        """What it takes, while more are added."""
        return 3 * self._sorted.nbytes

    def has(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Which texts are there."""
        places = np.searchsorted(self._sorted, keys)
        there: Any = np.zeros(len(keys), bool)
        inside = places < len(self._sorted)
        there[inside] = self._sorted[places[inside]] == keys[inside]
        return np.asarray(there if self._before is None else there | self._before.has(keys))

    def add(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Add texts; which of them were there, or come for the second time."""
        again = self.has(keys)
        first = np.zeros(len(keys), bool)
        first[np.unique(keys, return_index=True)[1]] = True
        # Two sorted runs one after the other: a stable sort merges them.
        self._sorted = np.sort(np.concatenate([self._sorted, np.sort(keys)]), kind="stable")
        return np.asarray(again | ~first)


def id_words(ids: Sequence[str]) -> Words:
    """Keys of ids, for as long as the process lives."""
    return np.fromiter(map(hash, ids), np.int64, len(ids)).view(np.uint64)
