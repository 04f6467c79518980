"""How many cases are tried in `make test`, and how many where all tests run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def examples(n: int) -> int:
    """`n` cases where all tests run, and a share of them in `make test`, as for the tests that name no number."""
    return max(3, n * settings().max_examples // 100)


def quick(n: int, values: Iterable[Any]) -> list[Any]:
    """Values to parametrize a test with: the first `n` in `make test`, all where all tests run."""
    return [value if k < n else pytest.param(value, marks=pytest.mark.slow) for k, value in enumerate(values)]


def quick_rows(n: int, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The same for a test with several parameters: a tuple has one of each."""
    return [row if k < n else pytest.param(*row, marks=pytest.mark.slow) for k, row in enumerate(rows)]
