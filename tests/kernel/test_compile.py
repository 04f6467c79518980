"""When kernels run plain and when compiled, and what happens where compiled ones cannot be kept."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import numba
import pytest

from bunrui.kernel import compile as kernels
from bunrui.kernel import hashing


def test_much_work_loads_the_compiler_and_little_does_not() -> None:
    code = """
import sys
from bunrui import TextClassifier
clf = TextClassifier(analyzer="words").learn(["good day", "bad night"], ["x", "y"])
plain = clf.scores(["good night"])
assert "numba" not in sys.modules
other = TextClassifier(analyzer="words").learn(["good day " * 40_000], ["x"])
assert "numba" in sys.modules
assert other.counts.totals() == {"good": (40_000, 1), "day": (40_000, 1)}
assert clf.scores(["good night"]).tobytes() == plain.tobytes()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Where no kernel was kept yet, it says that it compiles, once, and nothing else.
    assert done.stderr in ("", "compiling the kernels: about half a minute in all, once for this installation\n")


def test_kernels_that_cannot_be_kept_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    njit = numba.njit

    def nowhere_to_write(*args: Any, **options: Any) -> Any:
        if options.get("cache"):
            # What numba says where neither the package's folder nor the user's can be written.
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    monkeypatch.setattr(numba, "njit", nowhere_to_write)
    with caplog.at_level(logging.WARNING, "bunrui"):
        compiled = kernels.compiled.__wrapped__(hashing.hash_long)
    assert "set NUMBA_CACHE_DIR to a writable folder" in caplog.text
    import numpy as np

    text = np.frombuffer(b"a text of more than sixteen bytes" + bytes(64), np.uint8)
    n = np.uint64(33)
    assert int(compiled(text, np.uint64(0), n)) == hashing.hash_long(bytes(text), 0, 33)
