"""A table on stderr that grows while something is measured, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["live"]

_BESIDE = 8  # lines that are no rows: heads, what is going on, the prompt


@contextmanager
def live() -> Iterator[Callable[[Callable[[int], Any]], None] | None]:
    """A function that shows a table in place of the one before; None where nobody looks.

    It is given a function that makes the table of so many rows, as many as fit on the screen.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    with Live(console=console, transient=True, auto_refresh=False) as shown:

        def update(make: Callable[[int], Any]) -> None:
            shown.update(make(max(console.height - _BESIDE, 3)), refresh=True)

        yield update
