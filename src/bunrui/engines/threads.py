"""Work on the threads of this machine, and how documents are cut for them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError
from bunrui.kernel.analyze import GIVEN, KIND, Documents, Recipe
from bunrui.pool import each_slice, n_threads

__all__ = ["bounds_of", "cut", "each_slice", "longest_document", "n_threads", "sizes_of"]

Integers = npt.NDArray[np.int64]

# Below this many bytes a second thread costs more than it brings.
_WORTH_A_THREAD = 1 << 20

# Places in the folded text, which may be five times as long, are 32-bit.
MAX_DOCUMENT = 512 << 20


def bounds_of(docs: Documents, recipe: Recipe) -> list[int]:
    """Where to cut documents into parts for the threads."""
    return cut(sizes_of(docs, recipe))


def cut(sizes: Integers) -> list[int]:
    """Where to cut a list into parts of about the same number of bytes."""
    total = int(sizes.sum())
    parts = min(n_threads(), max(1, total // _WORTH_A_THREAD))
    if parts == 1:
        return [0, len(sizes)]
    cuts = np.searchsorted(np.cumsum(sizes), np.arange(1, parts) * (total / parts))
    return [0, *cuts.tolist(), len(sizes)]


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
