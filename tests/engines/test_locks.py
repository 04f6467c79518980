"""Many readers or one writer: who keeps out whom."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from bunrui.engines.locks import ReadWriteLock


class Worker(threading.Thread):
    """Takes a lock, says so, and keeps it until told."""

    def __init__(self, take: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.take, self.has, self.let_go = take, threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with self.take():
            self.has.set()
            self.let_go.wait(10)

    def finish(self) -> None:
        self.let_go.set()
        self.join(10)
        assert not self.is_alive()


def gets_it(worker: Worker) -> bool:
    return worker.has.wait(10)


def waits(worker: Worker) -> bool:
    return not worker.has.wait(0.05)


def test_readers_share() -> None:
    lock = ReadWriteLock()
    readers = [Worker(lock.read) for _ in range(8)]
    assert all(gets_it(reader) for reader in readers)
    for reader in readers:
        reader.finish()


def test_a_writer_is_alone() -> None:
    lock = ReadWriteLock()
    writer = Worker(lock.write)
    assert gets_it(writer)
    others = [Worker(lock.read), Worker(lock.write), Worker(lock.read)]
    assert all(waits(other) for other in others)
    writer.finish()
    for other in others:
        other.let_go.set()
    assert all(gets_it(other) for other in others)


def test_a_writer_waits_for_readers() -> None:
    lock = ReadWriteLock()
    readers = [Worker(lock.read) for _ in range(2)]
    assert all(gets_it(reader) for reader in readers)
    writer = Worker(lock.write)
    assert waits(writer)
    readers[0].finish()
    assert waits(writer)
    readers[1].finish()
    assert gets_it(writer)
    writer.finish()


def test_a_waiting_writer_keeps_new_readers_out() -> None:
    """A stream of readers would keep it waiting for ever otherwise."""
    lock = ReadWriteLock()
    first = Worker(lock.read)
    assert gets_it(first)
    writer = Worker(lock.write)
    assert waits(writer)
    late = Worker(lock.read)
    assert waits(late)
    first.finish()
    assert gets_it(writer)
    assert waits(late)
    writer.finish()
    assert gets_it(late)
    late.finish()


@pytest.mark.parametrize("kind", ["read", "write"])
def test_errors_release_it(kind: str) -> None:
    lock = ReadWriteLock()
    with pytest.raises(KeyError), getattr(lock, kind)():
        raise KeyError
    writer = Worker(lock.write)
    assert gets_it(writer)
    writer.finish()
    reader = Worker(lock.read)
    assert gets_it(reader)
    reader.finish()


def test_an_interrupted_writer_lets_readers_in(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = ReadWriteLock()
    reader = Worker(lock.read)
    assert gets_it(reader)

    def interrupt(timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(lock._condition, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt), lock.write():
        pass
    monkeypatch.undo()
    late = Worker(lock.read)
    assert gets_it(late)
    late.finish()
    reader.finish()


def test_counters_under_load() -> None:
    """A reader never sees the two counters of a writer apart, and no step of a writer is lost."""
    lock, values, apart = ReadWriteLock(), [0, 0], []

    def write() -> None:
        for _ in range(200):
            with lock.write():
                values[0] += 1
                time.sleep(0)
                values[1] += 1

    def read() -> None:
        for _ in range(200):
            with lock.read():
                if values[0] != values[1]:
                    apart.append(tuple(values))

    workers = [threading.Thread(target=target) for target in (write, read, write, read, read, write)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert values == [600, 600]
    assert apart == []


def test_a_copy_is_a_lock_of_its_own() -> None:
    lock = ReadWriteLock()
    with lock.write():
        for other in (copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            writer = Worker(other.write)
            assert gets_it(writer)
            writer.finish()
