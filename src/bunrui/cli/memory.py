"""`--memory`."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Memory"]


def _memory(given: str | None) -> int | None:
    """
    >>> _memory("2GB")
    2000000000
    """
    if given is None:
        return None
    from bunrui.errors import OptionError
    from bunrui.store.bounded import bytes_of

    try:
        return bytes_of(given)
    except OptionError as error:
        raise typer.BadParameter(f"{error}.") from None


Memory = Annotated[
    int | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        parser=_memory,
        show_default=False,
        help="Take no more memory than this, such as 2GB: counts that outgrow it wait on the disk.",
    ),
]
