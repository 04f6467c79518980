"""Which texts a file has learned before."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.store.index import Index

__all__ = ["Seen"]

Words = npt.NDArray[np.uint64]


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
