"""Many readers or one writer: who keeps out whom."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from bunrui.engines.threads import ReadWriteLock
from tests.support.waiting import PATIENCE


class Worker(threading.Thread):
    """Takes a lock, says so, and keeps it until told."""

    def __init__(self, take: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.take, self.has, self.let_go = take, threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with self.take():
            self.has.set()
            self.let_go.wait(PATIENCE)

    def finish(self) -> None:
        self.let_go.set()
        self.join(PATIENCE)
        assert not self.is_alive()


def gets_it(worker: Worker) -> bool:
    return worker.has.wait(PATIENCE)


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

    monkeypatch.setattr("bunrui.engines.threads._condition.wait", interrupt)
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

    workers = [threading.Thread(target=target, daemon=True) for target in (write, read, write, read, read, write)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    assert values == [600, 600]
    assert apart == []


def test_a_copy_is_a_lock_of_its_own() -> None:
    lock = ReadWriteLock()
    with lock.write():
        for other in (copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            writer = Worker(other.write)
            assert gets_it(writer)
            writer.finish()


FORKED = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore")
from bunrui.engines.threads import ReadWriteLock
from bunrui.kernel.slices import Mutex

def hold(lock, work=lambda: None):
    has, go = threading.Event(), threading.Event()
    def run():
        with lock:
            work()
            has.set()
            go.wait()
            work()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    has.wait()
    return go

def child(use):
    pid = os.fork()
    if not pid:
        signal.alarm(60)  # a child that waits for ever should not stay behind
        use()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def run_forked(program: str) -> str:
    command = [sys.executable, "-c", FORKED + program]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE)
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_has_none_of_the_locks_of_other_threads() -> None:
    program = """
lock, mutex, mine = ReadWriteLock(), Mutex(), Mutex()
reading, locking = hold(lock.read()), hold(mutex)
waiting = threading.Thread(target=lambda: lock.write().__enter__(), daemon=True)
waiting.start()
while not lock._waiting:
    pass

def use():
    with lock.read(), lock.read(), mutex, mutex:
        pass
    with lock.write():
        pass

with mine:
    child(use)
locking.set()
with mutex:  # which the parent has as before
    print("done")
"""
    assert run_forked(program) == "0\ndone\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_waits_for_those_who_write() -> None:
    """The writer goes on when the fork has begun, and has done both steps in what the child gets."""
    program = """
lock, steps = ReadWriteLock(), []
go = hold(lock.write(), lambda: steps.append(1))
os.register_at_fork(before=go.set)
child(lambda: len(steps) == 2 or os._exit(1))
"""
    assert run_forked(program) == "0\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_thread_keeps_its_locks_in_the_child() -> None:
    program = """
lock, mutex = ReadWriteLock(), Mutex()
with lock.write(), mutex:
    child(lambda: lock._writer == threading.get_ident() or os._exit(1))
with lock.read():
    child(lambda: lock._readers == [threading.get_ident()] or os._exit(1))
with lock.write(), mutex:
    print("done")
"""
    assert run_forked(program) == "0\n0\ndone\n"
