"""Python in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bunrui
from tests.support.waiting import PATIENCE

SOURCES = Path(bunrui.__file__).parent.parent


def run_python(program: str, **environment: str) -> str:
    """Run a program that must succeed, with this bunrui to import; what it has printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=os.environ | {"PYTHONPATH": str(SOURCES)} | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def heeding_ctrl_c() -> Iterator[None]:
    """Processes that are started in here heed Ctrl-C, even where whoever runs the tests in the background ignores it.

    A signal that is ignored stays so in a child, one with a handler does not.  A `preexec_fn` would do the same, but it
    forks, and in a process with threads a child may wait for ever for a lock that one of them had.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def patience_with(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Kill a process that goes on for longer than `PATIENCE`: whoever reads its output comes to the end then."""
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
