"""`Mutex`: a lock that is new in a forked child, where the thread that held it does not exist."""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

__all__ = ["Mutex"]


class Mutex:
    """Held by one thread at a time, which may take it again.

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
