"""How the parameters of commands are declared: `commands.py` reads them out of functions, and out of dataclasses, which
are groups of options (`options.py`).
"""

from __future__ import annotations

from dataclasses import MISSING, field
from typing import Annotated, Any

import typer


def _check_full(value: Any) -> Any:
    """Refuse an empty value: mostly it is a variable of a script that was never set."""
    values = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(one, str) and not one.strip() for one in values):
        raise typer.BadParameter("it is empty.")
    return value


def split_names(given: str | None) -> list[str] | None:
    """Names with commas between them.

    >>> split_names("binary, nbsvm")
    ['binary', 'nbsvm']
    """
    names = None if given is None else [name.strip() for name in given.split(",")]
    if names is not None and not all(names):
        raise typer.BadParameter(f"{given!r} has an empty name: give names with commas between them.")
    return names


def _declared(info: Any, default: Any, required: bool, needs: str | None = None) -> Any:
    return field(default=MISSING if required else default, metadata={"parameter": info, "needs": needs})


def argument(metavar: str, help: str, *, required: bool = False, **settings: Any) -> Any:
    """An argument."""
    return _declared(typer.Argument(metavar=metavar, help=help, show_default=False, **settings), None, required)


def file_argument(metavar: str, help: str) -> Any:
    """The name of a classifier, or several."""
    return argument(metavar, help, required=True, callback=_check_full)


def option(
    metavar: str,
    help: str,
    *names: str,
    default: Any = None,
    required: bool = False,
    needs: str | None = None,
    **more: Any,
) -> Any:
    """An option with a value that is not empty; without `names`, it has the name of its parameter.

    `needs` is a parameter that must be given, too.
    """
    settings: dict[str, Any] = {"show_default": False, "callback": _check_full} | more
    return _declared(typer.Option(*names, metavar=metavar, help=help, **settings), default, required, needs)


def flag(help: str, *names: str, default: bool | None = False, needs: str | None = None, **more: Any) -> Any:
    """An option without a value; the rest is as for `option`."""
    return _declared(typer.Option(*names, help=help, show_default=False, **more), default, False, needs)


Classifier = Annotated[
    str, typer.Argument(metavar="FILE", help="The classifier.", callback=_check_full, show_default=False)
]


LabelledData = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Documents with labels, or a classifier that keeps texts.", show_default=False),
]
