"""Readers of tables: rows between commas or spaces as the UCI repository has them, and ARFF.

A table has the column `label` and a column for each attribute: numbers where all values are, else strings; a missing
value (`?`, not in quotes) is null.  ARFF brings names and types; the columns of other files are called after their
places in the file: c1, c2 …
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from bunrui.datasets.archives import Member
from bunrui.errors import DataError

__all__ = ["Layout", "read_arff"]

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:\\.|[^'\\])*'|"[^"]*"|[^\s{]+)\s*(\{|\w+)""", re.IGNORECASE)
_QUESTION = "\x00"

Row = list["str | None"]


class Rows(NamedTuple):
    """Rows of cells; `numeric` says which columns are numbers, None that the values tell."""

    names: list[str]
    rows: list[Row]
    label: int
    numeric: list[bool] | None = None


@dataclass(frozen=True)
class Layout:
    """How the files of a table are to be read.

    Attributes
    ----------
    files : mapping of str to str
        Names of files → splits.
    label : int
        The column of the class; -1 is the last.
    leave_out : tuple of int
        Columns that are names or numbers of rows.
    separator : str
        Empty for spaces.
    arff_label : int
        The column of the class in ARFF, where no attribute is called so.
    names : tuple of str
        Of all columns but the label's, in the order of the file.
    """

    files: Mapping[str, str]
    label: int = -1
    leave_out: tuple[int, ...] = ()
    separator: str = ","
    arff_label: int = -1
    names: tuple[str, ...] = field(default=(), repr=False)

    def __call__(self, members: Iterator[Member]) -> dict[str, pa.Table]:
        found: dict[str, Rows] = {}
        for member in members:
            split = self._split(member.name)
            if split is not None:
                found[split] = self._arff(member) if member.name.endswith(".arff") else self._delimited(member)
                first = next(iter(found.values()))
                if (found[split].names, found[split].numeric) != (first.names, first.numeric):
                    raise DataError(f"{member.where}: the columns are not those of the other files of this table")
        numeric = _numeric(found)
        return {split: self._table(rows, numeric) for split, rows in found.items()}

    def _split(self, name: str) -> str | None:
        """The split that a file has, if any; ARFF files go by several names: heart.c, heart-c, heart_c."""
        if not name.endswith(".arff"):
            return self.files.get(name)
        letters = _letters(name)
        return next((split for known, split in self.files.items() if _letters(known) == letters), None)

    def _delimited(self, member: Member) -> Rows:
        rows: list[Row] = []
        width = 0
        for number, line in enumerate(member.read().decode("latin-1").splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("|"):  # a comment of C4.5
                continue
            cells = [cell.strip() for cell in line.split(self.separator or None)]
            width = width or len(cells)
            if len(cells) != width:
                raise DataError(f"{member.where}, line {number}: {width} columns expected, not {len(cells)}")
            rows.append([None if cell == "?" else cell for cell in cells])
        if not rows:
            raise DataError(f"{member.where} has no rows")
        if self.names and width != len(self.names) + 1:
            raise DataError(f"{member.where}: {len(self.names) + 1} columns expected, not {width}")
        label = self.label % width
        names = list(self.names) or [f"c{n}" for n in range(1, width + 1) if n != label + 1]
        names.insert(label, "label")
        for row in rows:
            row[label] = (row[label] or "").removesuffix(".") or None  # C4.5 ends a row so, in adult.test
        return Rows(names, rows, label)

    def _arff(self, member: Member) -> Rows:
        try:
            found = read_arff(member.read().decode("utf-8", "replace"))
        except (ValueError, csv.Error) as error:
            raise DataError(f"{member.where}: {error}") from error
        classes = [n for n, name in enumerate(found.names) if name.lower() == "class"]
        label = classes[0] if len(classes) == 1 else self.arff_label % len(found.names)
        return found._replace(label=label)

    def _table(self, found: Rows, numeric: list[bool]) -> pa.Table:
        rows = [row for row in found.rows if row[found.label] is not None]
        columns = {"label": pa.array([row[found.label] for row in rows], pa.string())}
        for n, name in enumerate(found.names):
            if n != found.label and (n not in self.leave_out or found.numeric is not None):
                kind = pa.float64() if numeric[n] else pa.string()
                values = (row[n] for row in rows)
                cells = [None if value is None else float(value) if numeric[n] else value for value in values]
                columns[f"{name}_" if name == "label" else name] = pa.array(cells, kind)
        return pa.table(columns)


def _letters(name: str) -> str:
    """Letters and digits alone.

    >>> _letters("waveform-5000.arff"), _letters("anneal.ORIG.arff")
    ('waveform5000arff', 'annealorigarff')
    """
    return re.sub(r"[\W_]", "", name).lower()


def _numeric(found: Mapping[str, Rows]) -> list[bool]:
    """Which columns are numbers, in all splits alike."""
    parts = list(found.values())
    if not parts:
        return []
    declared = parts[0].numeric
    if declared is not None:
        return declared
    cells = zip(*(row for part in parts for row in part.rows), strict=True)
    return [_are_numbers([value for value in column if value is not None]) for column in cells]


def _are_numbers(values: list[str]) -> bool:
    return bool(values) and all(_NUMBER.fullmatch(value) for value in values)


def read_arff(text: str) -> Rows:
    """The names of the columns, the rows, and which columns are numbers.

    >>> read_arff("@attribute 'a b' real\\n@attribute c {x,'y z'}\\n@DATA\\n% rows\\n1.5, 'y z'\\n?,x % no\\n")
    Rows(names=['a b', 'c'], rows=[['1.5', 'y z'], [None, 'x']], label=-1, numeric=[True, False])
    """
    names: list[str] = []
    numeric: list[bool] = []
    rows: list[Row] = []
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        line = line.strip()
        if line.lower().startswith("@attribute"):
            found = _ATTRIBUTE.match(line)
            if found is None:
                raise ValueError(f"line {number}: this is no attribute of ARFF: {line[:60]!r}")
            names.append(_unquoted(found[1]))
            numeric.append(found[2].lower() in ("real", "numeric", "integer"))
        elif line.lower().startswith("@data"):
            break
    if not names:
        raise ValueError("this is not ARFF: there is no line with @attribute before @data")
    for number, line in lines:
        cells = _cells(line.strip())
        if cells and len(cells) != len(names):
            raise ValueError(f"line {number}: {len(names)} values expected, not {len(cells)}")
        for n, value in enumerate(cells):
            if value is not None and numeric[n] and not _NUMBER.fullmatch(value):
                raise ValueError(f"line {number}: {value!r} is no number, as {names[n]!r} should be")
        if cells:
            rows.append(cells)
    return Rows(names, rows, -1, numeric)


def _cells(line: str) -> Row:
    if not line or line.startswith("%"):
        return []
    quote = '"' if '"' in line and "'" not in line else "'"
    if quote not in line:
        line = line.partition("%")[0]
    # In quotes it is a value: that of a column that does not apply, in anneal.arff.
    line = line.replace(f"{quote}?{quote}", _QUESTION)
    (cells,) = csv.reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [None if cell.strip() == "?" else cell.strip().replace(_QUESTION, "?") for cell in cells]


def _unquoted(name: str) -> str:
    return name[1:-1].replace("\\'", "'") if name[:1] in "'\"" else name
