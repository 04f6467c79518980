"""Work in slices, on the threads of this machine; `Mutex`: a lock that is new in a forked child."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import numpy as np

from bunrui.errors import OptionError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

# Below this many bytes a second thread costs more than it brings.
_WORTH_A_THREAD = 1 << 20
FEATURES = 1 << 14  # and below this many features


def each_slice(work: Callable[[int, int], T], bounds: Sequence[int]) -> list[T]:
    """Run `work(lo, hi)` for neighbouring bounds, on as many threads.

    What is run on the pool itself runs its slices one after the other: it must not wait for threads that wait for it.
    """
    if len(bounds) == 2:
        return [work(bounds[0], bounds[1])]
    pairs = list(pairwise(bounds))
    if getattr(_here, "is_of_pool", False):
        return [work(*pair) for pair in pairs]
    from concurrent.futures import CancelledError

    futures: list[Any] = []
    try:
        for pair in pairs:
            futures.append(_pool().submit(work, *pair))
    except RuntimeError:
        # There is no memory for another thread: this one does what is left.
        _pool().shutdown(cancel_futures=True)
        _pool.cache_clear()
    done = []
    try:
        for number, pair in enumerate(pairs):
            try:
                done.append(futures[number].result() if number < len(futures) else work(*pair))
            except CancelledError:
                done.append(work(*pair))
    finally:
        # Who is interrupted must not go on while others still write to the same arrays.
        for future in futures:
            if not future.cancelled():
                future.exception()
    return done


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


def cut(sizes: Any) -> list[int]:
    """Where to cut a list into parts of about the same number of bytes."""
    total = int(sizes.sum())
    parts = total // _WORTH_A_THREAD
    parts = min(n_threads(), parts) if parts > 1 else 1
    if parts == 1:
        return [0, len(sizes)]
    cuts = np.searchsorted(np.cumsum(sizes), np.arange(1, parts) * (total / parts))
    return [0, *cuts.tolist(), len(sizes)]


def stretches(n: int, least: int | None = None) -> list[int]:
    """Where to cut n things that are all alike, such that no thread gets fewer than `least`, by default `FEATURES`.

    Examples
    --------
    >>> stretches(10, 20)
    [0, 10]
    """
    parts = n // (least or FEATURES)
    parts = min(n_threads(), parts) if parts > 1 else 1
    return [n * k // parts for k in range(parts + 1)]


class Mutex:
    """Held by one thread at a time, which may take it again; in a forked child, where that thread is not, by nobody.

    >>> mutex = Mutex()
    >>> with mutex, mutex:
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _mutexes.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_mutexes: WeakSet[Mutex] = WeakSet()


def _after_fork() -> None:
    for mutex in _mutexes:
        if mutex._lock.acquire(blocking=False):  # free, or held by the thread that forked
            mutex._lock.release()
        else:
            mutex._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
