"""Work on the threads of this machine, and how documents are cut for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError, OptionError
from bunrui.kernel.analyze import GIVEN, KIND, Documents, Recipe

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["bounds_of", "cut", "each_slice", "longest_document", "n_threads", "sizes_of"]

Integers = npt.NDArray[np.int64]
T = TypeVar("T")

# Below this many bytes a second thread costs more than it brings.
_WORTH_A_THREAD = 1 << 20

# Places in the folded text, which may be five times as long, are 32-bit.
MAX_DOCUMENT = 512 << 20


def each_slice(work: Callable[[int, int], T], bounds: Sequence[int]) -> list[T]:
    """Run `work(lo, hi)` for neighbouring bounds, on as many threads."""
    pairs = list(pairwise(bounds))
    if len(pairs) == 1:
        return [work(*pairs[0])]
    return list(_pool().map(lambda pair: work(*pair), pairs))


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(n_threads(), thread_name_prefix="bunrui")


# The threads of the pool stay behind in the parent: a child that waited for them would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def n_threads() -> int:
    """Threads that this process may use; BUNRUI_THREADS says otherwise."""
    given = os.environ.get("BUNRUI_THREADS")
    if given:
        if not given.isdecimal():
            raise OptionError(f"BUNRUI_THREADS should be a whole number, not {given!r}")
        return max(1, int(given))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
