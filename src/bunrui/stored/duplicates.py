"""Which texts a file has learned before."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
    """

    def __init__(self, keys: Words) -> None:
        self._sorted = np.sort(keys)

    def copy(self) -> Seen:
        """One that can be added to without changing this one."""
        other = Seen(self._sorted[:0])
        other._sorted = self._sorted  # `add` makes a new array
        return other

    def add(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Add texts; which of them were there, or come for the second time."""
        places = np.searchsorted(self._sorted, keys)
        again: Any = np.zeros(len(keys), bool)
        inside = places < len(self._sorted)
        again[inside] = self._sorted[places[inside]] == keys[inside]
        first = np.zeros(len(keys), bool)
        first[np.unique(keys, return_index=True)[1]] = True
        # Two sorted runs one after the other: a stable sort merges them.
        self._sorted = np.sort(np.concatenate([self._sorted, np.sort(keys)]), kind="stable")
        return np.asarray(again | ~first)
