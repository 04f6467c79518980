"""Work in slices, on the threads of this machine; `Mutex`: a lock that is new in a forked child."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

import numpy as np

from bunrui.errors import OptionError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

S = TypeVar("S")
T = TypeVar("T")

# Below this many bytes a second thread costs more than it brings.
_WORTH_A_THREAD = 1 << 20
FEATURES = 1 << 14  # and below this many features


def each_slice(work: Callable[[int, int], T], bounds: Sequence[int]) -> list[T]:
    """Run `work(lo, hi)` for neighbouring bounds, on as many threads."""
    if len(bounds) == 2:
        return [work(bounds[0], bounds[1])]
    return list(in_turn(lambda pair: work(*pair), list(pairwise(bounds)), len(bounds)))


def in_turn(work: Callable[[S], T], things: Iterable[S], most: int | None = None) -> Iterator[T]:
    """Yield `work(thing)` for each thing, in their order; threads work on some while the next ones are read.

    At most `most` things are under way, by default two for each thread.  Work on the pool itself runs one thing after
    the other: it must not wait for threads that wait for it.
    """
    rest = iter(things)
    first = list(islice(rest, 2))
    if len(first) < 2 or n_threads() == 1 or getattr(_here, "is_of_pool", False):
        yield from map(work, chain(first, rest))
        return
    from concurrent.futures import CancelledError

    under_way: deque[_Task[S, T]] = deque()
    is_full = False
    try:
        for thing in chain(first, rest):
            task = _Task(work, thing)
            # Before it is sent: an interrupt may come while its thread works already, and `submit` has not returned.
            under_way.append(task)
            if not is_full:
                try:
                    _pool().submit(task)
                    task.is_sent = True
                except RuntimeError:  # there is no memory for another thread: this one does the rest
                    is_full = True
                    _pool().shutdown(cancel_futures=True)
                    _pool.cache_clear()
            if len(under_way) > (most or 2 * n_threads()):
                yield under_way[0].result(is_full)
                under_way.popleft()
        while under_way:
            yield under_way[0].result(is_full)
            under_way.popleft()
    finally:
        # Who is interrupted must not go on while others still write to the same arrays.
        for task in under_way:
            if is_full or not task.is_sent:
                task.ran.cancel()
            with suppress(CancelledError):
                task.ran.exception()


class _Task(Generic[S, T]):
    """Work on one thing, to be done once; `ran` has its result, or its error."""

    def __init__(self, work: Callable[[S], T], thing: S) -> None:
        from concurrent.futures import Future

        self._work, self._thing = work, thing
        self.ran: Future[T] = Future()
        self.is_sent = False

    def __call__(self) -> None:
        if not self.ran.set_running_or_notify_cancel():
            return
        try:
            self.ran.set_result(self._work(self._thing))
        except BaseException as error:
            self.ran.set_exception(error)

    def result(self, is_full: bool) -> T:
        """The result; where the pool takes no more, the caller does the work that no thread has begun."""
        return self._work(self._thing) if is_full and self.ran.cancel() else self.ran.result()


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
