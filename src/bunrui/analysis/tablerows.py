r"""Rows of tables: a JSON object is a document, and its cells are features.

    "age": 39                 age=39                 a number, as it is written
    "job": "Tech-support"     job=Tech-support       a string of at most 40 characters without white space
    "note": "Quite good!"     note=quite note=good   the words (\w+, lower case) of any other; kana and han, one by one
    "open": true              open=true
    "sold": null                                     nothing

Counting models read these features.  The model `columns` reads the cells themselves: `cells_of`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa

from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import Plain, given_recipe
from bunrui.analysis.spec import AnalyzerSpec
from bunrui.analysis.texts import Token
from bunrui.errors import TableError
from bunrui.kernel.analyze import Documents, Recipe


class Number(str):
    """A number as it is written."""


Cell = str | bool | None

_LARGEST = 1e150  # of numbers: the squares of larger ones are too large for a variance
_LONGEST_VALUE = 40
_IDEOGRAPHS = r"\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+")
_SPACE = re.compile(r"[ \t\n\r]*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_NUMERIC = ("numeric", "gaussian", "binned")


class ColumnsAnalyzer(Plain):
    """`columns`: rows of tables.

    Examples
    --------
    >>> analyzer = ColumnsAnalyzer(AnalyzerSpec(name="columns"))
    >>> [token.text for token in analyzer.features('{"age": 39, "job": null, "note": "Quite good!"}')]
    ['age=39', 'note=quite', 'note=good']
    """

    reads_rows = True

    def __init__(self, spec: AnalyzerSpec) -> None:
        self.fingerprint = spec.fingerprint
        self.recipe: Recipe = given_recipe()
        self.kinds: dict[str, str] = dict(spec.kinds)
        self._spec = spec

    def describe(self) -> str:
        return self._spec.describe()

    def documents(self, texts: pa.Array | list[str]) -> Documents:
        rows = rows_of(inputs.to_list(texts), self.kinds)
        return inputs.given(
            [[f"{_escape(name)}={part}" for name, cell in row.items() for part in _split_cell(cell)] for row in rows]
        )

    def features(self, text: str) -> list[Token]:
        cells, places = cells_of(text, self.kinds), places_of(text)
        return [
            Token(f"{_escape(name)}={part}", *place)
            for name, cell in cells.items()
            for part, place in zip(_split_cell(cell), _place_parts(text, cell, places[name]), strict=True)
        ]


def _escape(column: str) -> str:
    """The name of a column; the first plain = of a feature ends it."""
    return column.replace("\\", "\\\\").replace("=", "\\=") if "=" in column or "\\" in column else column


def _split_cell(cell: Cell) -> list[str]:
    """The features of a cell, without the name of the column."""
    if isinstance(cell, (Number, bool)):
        return [written(cell)]
    if not cell:
        return []
    return [cell] if _is_value(cell) else [word.lower() for word in _WORD.findall(cell)]


def _is_value(text: str) -> bool:
    return len(text) <= _LONGEST_VALUE and text.split() == [text]


def _place_parts(text: str, cell: Cell, place: tuple[int, int]) -> list[tuple[int, int]]:
    """The places of these features; words of a string with escapes (`\\n`) stand for the whole cell."""
    start, end = place
    is_text = isinstance(cell, str) and not isinstance(cell, Number) and not _is_value(cell)
    if not is_text or text[start:end] != cell:
        return [place] * len(_split_cell(cell))
    return [(start + word.start(), start + word.end()) for word in _WORD.finditer(cell)]


def written(cell: Cell) -> str:
    """A cell as a string: numbers as they are written, and true or false.

    >>> written(Number("1.50")), written(True), written("a")
    ('1.50', 'true', 'a')
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return "" if cell is None else str(cell)


@lru_cache(1 << 16)
def moment(text: str) -> datetime | None:
    """The date or time of a string in ISO 8601, or None.

    >>> moment("2026-01-31"), moment("2026-01-31T18:00:05+09:00").hour, moment("31.1.2026"), moment("2026-02-31")
    (datetime.datetime(2026, 1, 31, 0, 0), 18, None, None)
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


# --- JSON


def rows_of(texts: Sequence[Any], kinds: Mapping[str, str]) -> list[dict[str, Cell]]:
    """The cells of every row; errors name the row."""
    rows = []
    for row, text in enumerate(texts):
        try:
            rows.append(cells_of(text, kinds))
        except TableError as error:
            raise TableError(error.problem, row) from None
    return rows


def cells_of(text: Any, kinds: Mapping[str, str]) -> dict[str, Cell]:
    """The cells of a row by column.

    Raises
    ------
    TableError
        If it is no row, or a cell does not have the kind of its column.

    Examples
    --------
    >>> cells_of('{"age": 39, "job": null, "open": true}', {})
    {'age': '39', 'job': None, 'open': True}
    >>> cells_of('{"age": "thirty"}', {"age": "binned"})
    Traceback (most recent call last):
    bunrui.errors.TableError: the column 'age' is binned and should have numbers, not 'thirty': leave the cell empty
    """
    if not isinstance(text, str):
        raise TableError(f"a row of a table should be a JSON object in a string, not {type(text).__name__}: {_EXAMPLE}")
    try:
        cells = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise TableError(f"this is not JSON ({error.msg} at character {error.pos + 1}): {_EXAMPLE}") from None
    except RecursionError:
        raise TableError(f"this JSON is nested too deeply: {_EXAMPLE}") from None
    if not isinstance(cells, _Row):
        raise TableError(f"this is no JSON object: {_EXAMPLE}")
    if "\\u" in text:
        _check_whole(cells)
    for name, cell in cells.items():
        _check(name, cell, kinds.get(name))
    return dict(cells)


_EXAMPLE = """a row of a table looks like {"age": 39, "job": "clerk"}"""


class _Row(dict[str, Any]):
    """A JSON object, and no other value that JSON has."""


def _make_row(pairs: list[tuple[str, Any]]) -> _Row:
    row = _Row(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise TableError(f"the row has the column {max(names, key=names.count)!r} twice: keep one")
    return row


def _refuse(name: str) -> None:
    raise TableError(f"{name} is no number in JSON: write null")


_DECODER = json.JSONDecoder(object_pairs_hook=_make_row, parse_float=Number, parse_int=Number, parse_constant=_refuse)


def _check(name: str, cell: Any, kind: str | None) -> None:
    if not name:
        raise TableError("a column of the row has no name: give it one")
    if isinstance(cell, (list, dict)):
        what = "a list" if isinstance(cell, list) else "an object"
        raise TableError(f"the column {name!r} holds {what}: a cell is a string, a number, true, false or null")
    # Looking at the length first: a hundred times as fast.
    if isinstance(cell, Number) and (len(cell) > 100 or "e" in cell or "E" in cell) and abs(float(cell)) > _LARGEST:
        raise TableError(f"the column {name!r} has {cell[:20]!r}, which is too large for a number: write it in quotes")
    if kind is None or cell is None:
        return
    if kind in _NUMERIC and not isinstance(cell, (Number, bool)):
        raise TableError(f"the column {name!r} is {kind} and should have numbers, not {cell!r}: leave the cell empty")
    if kind == "date" and (not isinstance(cell, str) or moment(cell) is None):
        raise TableError(
            f"the column {name!r} is {kind} and should have dates such as 2026-01-31, not {written(cell)!r}: "
            "leave the cell empty"
        )


def _check_whole(cells: Mapping[str, Any]) -> None:
    for name, cell in cells.items():
        for text in (name, cell):
            if isinstance(text, str) and any("\ud800" <= character <= "\udfff" for character in text):
                raise TableError(f"the column {name!r} has half of a character (a lone surrogate): mend it")


def places_of(text: str) -> dict[str, tuple[int, int]]:
    """The places of the cells of a row in its text, strings without their quotes.

    >>> row = '{"age": 39, "job": "clerk"}'
    >>> [row[start:end] for start, end in places_of(row).values()]
    ['39', 'clerk']
    """
    places = {}
    at = _skip_space(text, _skip_space(text, 0) + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        start = _skip_space(text, _skip_space(text, at) + 1)
        cell, at = _DECODER.raw_decode(text, start)
        is_string = isinstance(cell, str) and not isinstance(cell, Number)
        places[name] = (start + 1, at - 1) if is_string and cell else (start, at)
        at = _skip_space(text, at)
        at = _skip_space(text, at + 1) if text[at] == "," else at
    return places


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
