"""Python in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

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
