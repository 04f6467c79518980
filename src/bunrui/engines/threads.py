"""Cuts documents for the threads of this machine; `kernel/slices.py` runs the work."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError
from bunrui.kernel.analyze import GIVEN, KIND, Documents, Recipe
from bunrui.kernel.slices import cut, each_slice, n_threads
from bunrui.kernel.workspace import MAX_DOCUMENT

__all__ = ["bounds_of", "each_slice", "longest_document", "n_threads", "sizes_of"]

Integers = npt.NDArray[np.int64]


def bounds_of(docs: Documents, recipe: Recipe) -> list[int]:
    """Where to cut documents into parts for the threads."""
    return cut(sizes_of(docs, recipe))


def sizes_of(docs: Documents, recipe: Recipe) -> Integers:
    """Bytes of every document."""
    offsets = docs.offsets[docs.lists] if recipe.params[KIND] == GIVEN else docs.offsets
    return np.asarray(offsets[1:] - offsets[:-1])


def longest_document(docs: Documents, recipe: Recipe) -> int:
    """Bytes (or strings) of the longest document."""
    sizes = sizes_of(docs, recipe)
    longest = int(sizes.max()) if len(sizes) else 0
    if recipe.params[KIND] == GIVEN and len(docs.lists) > 1:
        longest = max(longest, int(np.diff(docs.lists).max()))
    if longest > MAX_DOCUMENT:
        row = int(sizes.argmax())
        raise DataError(f"text {row} has {longest:,} bytes, more than {MAX_DOCUMENT:,}: cut it into several documents")
    return longest
