"""How many cases Hypothesis draws."""

from __future__ import annotations

from hypothesis import settings


def examples(n: int) -> int:
    """`n` cases where all tests run, and a share of them in `make test`, as for the tests that name no number."""
    return max(5, n * settings().max_examples // 100)
