"""Many readers or one writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ReadWriteLock"]


class ReadWriteLock:
    """Readers share it, a writer has it alone; a writer who waits keeps new readers out."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0

    def __reduce__(self) -> tuple[type[ReadWriteLock], tuple[()]]:
        # A copy, also one in another process, has a lock of its own.
        return ReadWriteLock, ()

    @contextmanager
    def read(self) -> Iterator[None]:
        with self._condition:
            while self._writing or self._waiting:
                self._condition.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                if not self._readers:
                    self._condition.notify_all()

    @contextmanager
    def write(self) -> Iterator[None]:
        with self._condition:
            self._waiting += 1
            try:
                while self._writing or self._readers:
                    self._condition.wait()
            finally:
                # Also when the wait is interrupted: readers would stay out for ever.
                self._waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()
