"""Cells of many rows → the values that `ColumnsNB` and `AODE` read: what a column holds is decided by all learned rows.

    it holds       the values are
    numbers        numbers
    booleans       booleans
    ISO dates      dates and times: strings that all are such as 2026-01-31 or 2026-01-31T18:00
    strings        strings
    several kinds  strings: numbers as they are written, true and false
    nothing        left out

A kind that the user has given goes before: a column that is `text` or `categorical` has strings, one that is `gaussian`
numbers.  Later rows are read in the same way, and refused where they cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bunrui.analysis.columns import Cell, Number, moment, written
from bunrui.errors import OptionError, TableError

__all__ = ["Shape", "shape_of"]

Cells = Mapping[str, Cell]

_SAID = {"number": "numbers", "boolean": "true and false", "date": "dates such as 2026-01-31"}
_GIVEN = dict.fromkeys(("numeric", "gaussian", "binned"), "number") | {"date": "date"}
_GIVEN |= dict.fromkeys(("text", "categorical"), "string")


class Shape(NamedTuple):
    """What the columns hold.

    Attributes
    ----------
    forms : dict from column to form
        "number", "boolean", "date", "string" or "nothing"; in the order in which columns were met.
    needed : tuple of str
        Those of them that every row had.
    """

    forms: dict[str, str]
    needed: tuple[str, ...]

    def values(self, rows: Sequence[Cells]) -> list[dict[str, Any]]:
        """The values of rows; columns that were never learned are left out.

        Raises
        ------
        TableError
            If a column is missing, or a cell is not what the column holds.
        """
        out = []
        for k, row in enumerate(rows):
            try:
                for name in self.needed:
                    if name not in row:
                        raise _missing(name, self.needed)
                out.append({name: _value(name, row.get(name), form) for name, form in self.forms.items()})
            except TableError as error:
                raise TableError(error.problem, k) from None
        return out


def shape_of(rows: Sequence[Cells], kinds: Mapping[str, str]) -> Shape:
    """What the columns of some rows hold.

    Examples
    --------
    >>> rows = [{"zip": "01234", "age": Number("39")}, {"zip": Number("99999"), "age": None}]
    >>> shape = shape_of(rows, {})
    >>> shape.values(rows)
    [{'zip': '01234', 'age': 39}, {'zip': '99999', 'age': None}]
    """
    found: dict[str, set[str]] = {}
    present: dict[str, int] = {}
    for row in rows:
        for name, cell in row.items():
            present[name] = present.get(name, 0) + 1
            seen = found.setdefault(name, set())
            if cell is not None:
                seen.add(_form(cell, may_be_date="string" not in seen))
    for name in kinds:
        if name not in found:
            raise OptionError(f"a kind is given for the column {name!r}, which no row has: {_listed(found)}")
    forms = {name: _decided(seen, kinds.get(name)) for name, seen in found.items()}
    needed = [name for name, times in present.items() if times == len(rows) and forms[name] != "nothing"]
    return Shape(forms, tuple(needed))


def _form(cell: Cell, may_be_date: bool) -> str:
    if isinstance(cell, Number):
        return "number"
    if isinstance(cell, bool):
        return "boolean"
    return "date" if may_be_date and moment(cell or "") is not None else "string"


def _decided(seen: set[str], kind: str | None) -> str:
    if kind == "skip" or not seen:
        return "nothing"
    if kind in _GIVEN:
        return _GIVEN[kind]
    return next(iter(seen)) if len(seen) == 1 else "string"


def _value(name: str, cell: Cell, form: str) -> Any:
    if cell is None or form == "nothing":
        return None
    if form == "string":
        return written(cell)
    if form == "number" and isinstance(cell, (Number, bool)):
        return _number(cell)
    if form == "boolean" and isinstance(cell, bool):
        return cell
    if form == "date" and isinstance(cell, str) and (when := moment(cell)) is not None:
        return when
    raise TableError(
        f"the column {name!r} has {_SAID[form]} in what was learned, not {written(cell)!r}: leave the cell empty, or "
        "learn the column as categorical or text"
    )


def _number(cell: Number | bool) -> int | float:
    try:
        return int(cell)
    except ValueError:
        return float(cell)


def _missing(name: str, needed: Sequence[str]) -> TableError:
    return TableError(
        f"the column {name!r} is missing: every row that was learned has {_named(needed)}; null where there is no value"
    )


def _listed(names: Mapping[str, Any]) -> str:
    return f"the columns are {_named(list(names))}" if names else "there are no columns"


def _named(names: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
