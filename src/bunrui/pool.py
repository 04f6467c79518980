"""The threads of this process: one pool, on which all work runs that is cut into slices."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from bunrui.errors import OptionError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["bounds", "each_slice", "n_threads"]

T = TypeVar("T")

WORTH_A_THREAD = 1 << 14  # features: below, a second thread costs more than it brings


def each_slice(work: Callable[[int, int], T], bounds: Sequence[int]) -> list[T]:
    """Run `work(lo, hi)` for neighbouring bounds, on as many threads.

    What is run on the pool itself runs its slices one after the other: it must not wait for threads that wait for it.
    """
    pairs = list(pairwise(bounds))
    if len(pairs) == 1 or getattr(_here, "is_of_pool", False):
        return [work(*pair) for pair in pairs]
    futures = [_pool().submit(work, *pair) for pair in pairs]
    try:
        return [future.result() for future in futures]
    finally:
        # Who is interrupted must not go on while others still write to the same arrays.
        for future in futures:
            future.exception()


def bounds(n: int, least: int | None = None) -> list[int]:
    """Where to cut n features, or other things, into slices for the threads, none of fewer than `least`."""
    most = n // (least or WORTH_A_THREAD)
    parts = min(n_threads(), most) if most > 1 else 1
    return [n * k // parts for k in range(parts + 1)]


_here = threading.local()


def _mark() -> None:
    _here.is_of_pool = True


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(n_threads(), thread_name_prefix="bunrui", initializer=_mark)


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
