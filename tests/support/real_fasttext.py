"""The real fastText beside ours, where it is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import PATIENCE

_TRAIN = """
import fasttext, json, sys
fasttext.train_supervised(sys.argv[1], **json.loads(sys.argv[3])).save_model(sys.argv[2])
"""


def train_real(lines: Path, model: Path, **options: Any) -> Any:
    """The real package's model of a file with `__label__` lines, saved under a name.

    Its wheel for NumPy 2 reads memory that it has not written, and tells of NaN in a process that has used much
    memory before: it trains in a process of its own, again if need be.
    """
    fasttext = pytest.importorskip("fasttext")
    given = json.dumps({"wordNgrams": 2, "bucket": 200_000, "dim": 10, "thread": 1, "verbose": 0} | options)
    for _ in range(50):
        command = [sys.executable, "-c", _TRAIN, lines, model, given]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 0:
            return fasttext.load_model(str(model))
        assert "NaN" in done.stderr, done.stderr
    raise AssertionError("fastText tells of NaN each time")
