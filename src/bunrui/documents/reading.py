"""What all formats share: the wishes of the caller, the source at hand, and what happens to a bad row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bunrui.documents.encodings import AUTO, detected
from bunrui.errors import DataError, Option, Sentence, Step

__all__ = ["KEPT", "Options", "Progress", "Reading", "RowError", "Source", "listing"]

KEPT = 20
"""How many messages about skipped rows are kept."""


class RowError(Exception):
    """What is wrong with a row, as a sentence; whoever knows the file and the line makes a DataError of it."""

    def __init__(self, problem: Sentence) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True)
class Options:
    """The arguments of `read`, checked."""

    text: tuple[str, ...] = ("text",)
    label: str = "label"
    id: str | None = None
    encoding: str = "utf-8"
    skip_bad: bool = False
    labelled: bool = True
    batch_bytes: int = 16 << 20
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    separator: str | None = None
    columns: bool = False  # then `text` is empty, until the columns of a table are known
    header: bool = True  # whether CSV and TSV begin with the names of the columns


@dataclass(frozen=True)
class Source:
    """One file, folder or stream.

    Attributes
    ----------
    name : str
        How messages and the column `source` call it.
    path : str or None
        None for a stream.
    stream : binary file or None
        None for a path.
    format : str
        One of `FORMATS`, or an empty string: guess from the first bytes.
    compression : str
        A suffix without its dot, or an empty string.
    label : str or None
        The label of all its documents, where the caller gives one.
    size : int or None
        Bytes to be read; None for a pipe.
    """

    name: str
    path: str | None
    stream: Any = None
    format: str = ""
    compression: str = ""
    label: str | None = None
    size: int | None = None


@dataclass
class Progress:
    """Counters of one pass over the sources."""

    bytes_read: int = 0
    n_skipped: int = 0
    skipped: list[DataError] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)  # of tables, in the order in which they were met
    encodings: Counter[str] = field(default_factory=Counter)  # files that were found not to be UTF-8
    doubtful_headers: list[str] = field(default_factory=list)  # files whose names of columns look like a row

    def unpacked(self, n_bytes: int) -> None:
        """Columns of Parquet or Arrow have so many more bytes in memory; whoever keeps the progress may refuse them."""


@dataclass
class Reading:
    """One source while it is read.

    >>> reading = Reading(Source("a.csv", "a.csv"), Options(skip_bad=True), Progress())
    >>> reading.bad("the label is empty", line=7)
    >>> reading.progress.skipped
    ['a.csv, line 7: the label is empty']
    """

    source: Source
    options: Options
    progress: Progress
    bytes_before: int = 0  # read from the sources before this one
    unit: str = "line"
    kind: str = ""  # of text: "string", "tokens" or "counts", once the first row is read
    several: bool = False  # whether other files are read, too, which may have other encodings

    @property
    def wants_label(self) -> bool:
        """Whether labels are to be found in the rows."""
        return self.options.labelled and self.source.label is None

    @property
    def columns(self) -> list[str]:
        """The columns to be found in the rows, each once."""
        options = self.options
        names = [*options.text, *([options.label] if self.wants_label else []), *([options.id] if options.id else [])]
        return list(dict.fromkeys(names))

    def place(self, line: int | None = None, source: str | None = None) -> dict[str, Any]:
        """The place of a row, as fields of an error."""
        return {"file": source or self.source.name, "line": line, "unit": self.unit}

    def encoding_of(self, data: bytes) -> str:
        """The encoding of a file that is read now; `auto` is found out from its bytes, a megabyte of them or all."""
        if self.options.encoding != AUTO:
            return self.options.encoding
        found = detected(data)
        if found != "utf-8":
            self.progress.encodings[found] += 1
        return found

    def bad(self, what: Sentence, line: int | None = None, source: str | None = None) -> None:
        """Raise about a bad row, or count it."""
        self.fail(DataError(what, **self.place(line, source)))

    def fail(self, error: DataError) -> None:
        """Raise an error about one row, or count it."""
        if not self.options.skip_bad:
            raise error
        self.progress.n_skipped += 1
        if len(self.progress.skipped) < KEPT:
            self.progress.skipped.append(error)

    def lacks(self, there: list[str]) -> tuple[str | Option | Step, ...]:
        """What to say of all columns that are not there; nothing if none is missing."""
        known = set(there)
        missing = [name for name in self.columns if name not in known]
        if not missing:
            return ()
        say = f"there is {' and '.join(f'no column {name!r}' for name in missing)}"
        only = f", only {listing(there)}" if there else ""
        first, *others = dict.fromkeys(Option(self._option(name), ...) for name in missing)
        more = [part for option in others for part in (" and ", option)]
        return f"{say}{only}: choose {'others' if missing[1:] else 'another'} with ", first, *more

    def check_columns(self, there: list[str], hint: tuple[str | Option | Step, ...] = ()) -> None:
        """Refuse a file that lacks a column that is wanted, or has it twice; `hint` says more about a missing one."""
        if lacks := self.lacks(there):
            raise DataError((*lacks, *hint), file=self.source.name)
        times = Counter(there)
        for column in self.columns:
            if times[column] > 1:
                raise DataError(f"there are {times[column]} columns {column!r}", file=self.source.name, hint="keep one")

    def _option(self, column: str) -> str:
        return "text" if column in self.options.text else "label" if column == self.options.label else "id"


def listing(names: list[str], most: int = 20) -> str:
    """Names in a message, the first of them if there are many.

    >>> listing(["title", "body"])
    "'title', 'body'"
    >>> listing([str(n) for n in range(9)], most=2)
    "'0', '1' and 7 more"
    """
    shown = ", ".join(repr(name if len(name) <= 40 else name[:40] + "…") for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
