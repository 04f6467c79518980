"""Waiting for an event, and never for a time: a slow or busy machine changes no result."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 300.0  # seconds; only a program that is wrong needs them all


def wait_until(happened: Callable[[], object]) -> None:
    """Return as soon as a condition holds, and fail if it does not within `PATIENCE`."""
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, f"it has not happened within {PATIENCE:.0f} s"
        time.sleep(0.01)
