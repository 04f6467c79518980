"""`benchmarks/spill.py` on a few megabytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "spill.py"

pytest.importorskip("resource", reason="measures as Unix does")


@pytest.mark.slow  # `make bench` is not `make test`: one page of it is enough, in test_page.py
def test_a_small_corpus(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--gigabytes", "0.004", "--inside", "0.002", "--memory", "9GB", "--json"]
    done = subprocess.run([*command, "--folder", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["equal"]
    small, bounded, whole = report["rows"].values()
    assert small["MB"] == bounded["MB"] < whole["MB"]
    assert all(100 < row["peak MB"] < 2000 and row["MB/s"] > 0 for row in (small, bounded, whole))
    assert os.listdir(tmp_path) == []
