"""Cuts documents for the threads of this machine (`kernel/slices.py` runs the work); `ReadWriteLock`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError
from bunrui.kernel.analyze import GIVEN, KIND, Documents, Recipe
from bunrui.kernel.slices import cut
from bunrui.kernel.workspace import MAX_DOCUMENT

Integers = npt.NDArray[np.int64]


def bounds_of(docs: Documents, recipe: Recipe) -> list[int]:
    """Where to cut documents into parts for the threads."""
    return cut(sizes_of(docs, recipe))


def sizes_of(docs: Documents, recipe: Recipe) -> Integers:
    """Bytes of every document."""
    offsets = docs.offsets[docs.lists] if recipe.params[KIND] == GIVEN else docs.offsets
    return np.asarray(offsets[1:] - offsets[:-1])


def longest_document(docs: Documents, recipe: Recipe, sizes: Integers | None = None) -> int:
    """Bytes (or strings) of the longest document; `sizes` are those that `sizes_of` gives."""
    sizes = sizes_of(docs, recipe) if sizes is None else sizes
    longest = int(sizes.max()) if len(sizes) else 0
    if len(docs.lists) > 1 and recipe.params[KIND] == GIVEN:
        longest = max(longest, int(np.diff(docs.lists).max()))
    if longest > MAX_DOCUMENT:
        row = int(sizes.argmax())
        raise DataError(f"text {row} has {longest:,} bytes, more than {MAX_DOCUMENT:,}: cut it into several documents")
    return longest


# --- many readers or one writer


# One for all locks, held for a few instructions: a fork takes it, and waits until nobody writes, so that the child gets
# nothing that is half changed.
_condition = threading.Condition()


class ReadWriteLock:
    """Readers share it, a writer has it alone; a waiting writer keeps new readers out.

    In a forked child, only the thread that forked still holds its lock.
    """

    def __init__(self) -> None:
        self._readers: list[int] = []  # threads, once for each time that they read
        self._writer: int | None = None
        self._waiting = 0
        with _condition:
            _locks.add(self)

    def __reduce__(self) -> tuple[type[ReadWriteLock], tuple[()]]:
        # A copy, also one in another process, has a lock of its own.
        return ReadWriteLock, ()

    @property
    def is_wanted_to_write(self) -> bool:
        """Whether somebody writes, or waits to: a reader would wait."""
        return self._writer is not None or self._waiting > 0

    @contextmanager
    def read(self) -> Iterator[None]:
        me = threading.get_ident()
        with _condition:
            while self._writer is not None or self._waiting:
                _condition.wait()
            self._readers.append(me)
        try:
            yield
        finally:
            with _condition:
                self._readers.remove(me)
                if not self._readers and self.is_wanted_to_write:
                    _condition.notify_all()

    @contextmanager
    def write(self) -> Iterator[None]:
        with _condition:
            self._waiting += 1
            try:
                while self._writer is not None or self._readers:
                    _condition.wait()
            finally:
                # Also when the wait is interrupted: readers would stay out for ever.
                self._waiting -= 1
            self._writer = threading.get_ident()
        try:
            yield
        finally:
            with _condition:
                self._writer = None
                _condition.notify_all()


_locks: WeakSet[ReadWriteLock] = WeakSet()


def _before_fork() -> None:
    me = threading.get_ident()
    _condition.acquire()
    while any(lock._writer not in (None, me) for lock in _locks):
        _condition.wait()


def _after_fork_in_child() -> None:
    global _condition
    _condition = threading.Condition()
    me = threading.get_ident()
    for lock in _locks:
        lock._readers = [thread for thread in lock._readers if thread == me]
        lock._waiting = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=lambda: _condition.release(), after_in_child=_after_fork_in_child
    )
