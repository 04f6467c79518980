"""Runs work in another process, which may crash, take too much memory, or be ended: the service goes on.

    service ──► the name of a function (on the command line), and its arguments (JSON) ──► process
    process ──► messages, as the function sends them ──► service

A thread cannot be ended, and a damaged file that crashes Arrow ends all threads.  Messages are not trusted: they are
JSON, and record batches that are checked.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

import pyarrow as pa
from pydantic_core import to_json

from bunrui.service.errors import Problem, problem_of
from bunrui.service.jobs import Job
from bunrui.service.monitor import event, places

Send = Callable[[Any], None]

_ASKED = struct.Struct("<QQ")  # bytes of memory, of the arguments
_TOLD = struct.Struct("<cQ")  # kind of message, its bytes
_JSON, _ARROW, _PROBLEM, _END = b"j", b"a", b"p", b"."


class Died(Exception):  # noqa: N818
    """The process ended before its work was done."""


def run_apart(job: Job, function: Callable[..., None], *args: Any, path: str = "", memory: int = 0) -> Iterator[Any]:
    """What `function(send, *args)` sends; the end of the job ends it, as does the end of the service.

    Parameters
    ----------
    job : Job
    function : callable
        Of a module.  Sends record batches, and what JSON can hold; `args` are what JSON can hold, too.
    path : str
        Of the classifier: as for `problem_of`.
    memory : int
        Bytes that it may take, where the system knows such a limit; 0 for any number.
    """
    work = f"from {function.__module__} import {function.__name__} as work"
    process = subprocess.Popen(
        # Without the current folder, unless this process looks there, too.
        [sys.executable, "-P", "-c", f"from {__name__} import main; {work}; main(work)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,  # Ctrl-C is for the service, which may want to finish
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        job.ends_by(process.kill)
        asked = to_json([path, args])
        with suppress(BrokenPipeError):
            process.stdin.write(_ASKED.pack(memory, len(asked)) + asked)
            process.stdin.flush()
        yield from _messages(process.stdout)
    except Died:
        job.add(0)
        raise
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.close()


def _messages(pipe: IO[bytes]) -> Iterator[Any]:
    while True:
        kind, size = _TOLD.unpack(_take(pipe, _TOLD.size))
        body = _take(pipe, size)
        match kind:
            case b"j":
                yield json.loads(body)
            case b"a":
                table = pa.ipc.open_stream(body).read_all()
                table.validate(full=True)
                yield from table.to_batches()
            case b"p":
                raise _problem(**json.loads(body))
            case _:
                return


def _take(pipe: IO[bytes], size: int) -> bytes:
    taken = pipe.read(size)
    if len(taken) < size:
        raise Died
    return taken


def _problem(kind: str, detail: str, fields: dict[str, Any], error: str, through: list[str]) -> Problem:
    if kind == "internal":
        event("error apart", logging.ERROR, cause=error, through=through)
    return Problem(kind, detail, **fields)


# --- studies


def study_apart(job: Job, path: str, study: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """What `study(path, *args, job)` says of the classifier at a path, with its progress."""
    for told in run_apart(job, _study, study.__module__, study.__name__, path, *args, path=path):
        job.total, job.result = told["total"], told["result"]
        job.add(told["done"] - job.done)
    return job.result or {}


class _Told(Job):
    """The job, where it is done."""

    def __init__(self, send: Send) -> None:
        super().__init__("", None)
        self._send = send

    def add(self, n_docs: int) -> None:
        super().add(n_docs)
        self._send({"done": self.done, "total": self.total, "result": self.result})


def _study(send: Send, module: str, name: str, *args: Any) -> None:
    """Do a study, where it is done."""
    job = _Told(send)
    job.result = getattr(import_module(module), name)(*args, job)
    job.add(0)


# --- in the process


def main(work: Callable[..., None]) -> None:
    """Do what stdin asks for, and end."""
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # nothing else is written to it
        memory, size = _ASKED.unpack(sys.stdin.buffer.read(_ASKED.size))
        if memory:
            _bound(memory)
        path, args = json.loads(sys.stdin.buffer.read(size))
        threading.Thread(target=_end_with_service, daemon=True).start()

        def send(value: Any) -> None:
            if isinstance(value, pa.RecordBatch):
                _write(out, _ARROW, write_stream(pa.Table.from_batches([value])))
            else:
                _write(out, _JSON, to_json(value, inf_nan_mode="constants"))

        try:
            work(send, *args)
        except Exception as error:
            _write(out, _PROBLEM, to_json(_told(error, path)))
        else:
            _write(out, _END, b"")


def _bound(memory: int) -> None:
    pa.set_memory_pool(pa.system_memory_pool())  # others ask the system for more than they need
    try:
        import resource

        # Not RLIMIT_AS: libraries and threads have hundreds of megabytes of addresses that nobody uses.
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    except (ImportError, ValueError, OSError):
        pass


def _end_with_service() -> None:
    """Nobody writes to stdin any more: the service closes it, or is no longer there."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _write(out: IO[bytes], kind: bytes, body: bytes) -> None:
    out.write(_TOLD.pack(kind, len(body)))
    out.write(body)
    out.flush()


def write_stream(table: pa.Table) -> bytes:
    """A table as a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _told(error: Exception, path: str) -> dict[str, Any]:
    problem = problem_of(error, path)
    told = {"kind": problem.kind, "detail": problem.detail, "fields": problem.fields}
    return told | {"error": type(error).__name__, "through": places(error)}
