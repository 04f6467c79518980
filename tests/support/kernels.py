"""Kernels as plain Python: what the compiled ones must equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from bunrui.kernel import library

MODES = ["plain", "compiled"]


@contextmanager
def kernels(mode: str) -> Iterator[None]:
    """Run kernels as the plain functions that they are compiled from, or compiled."""
    with pytest.MonkeyPatch.context() as patch:
        if mode == "plain":
            patch.setattr(library, "entry_of", plain)
        yield


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both, one after the other: for the modules that import it."""
    with kernels(request.param):
        yield request.param


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with memoryviews in the place of arrays, so that elements are Python's numbers."""
    return lambda *args: function(*map(_view, args))


def _view(arg: Any) -> Any:
    if isinstance(arg, np.ndarray):
        return memoryview(arg)
    if isinstance(arg, np.integer):
        return int(arg)
    return type(arg)(*map(_view, arg)) if hasattr(arg, "_fields") else arg
