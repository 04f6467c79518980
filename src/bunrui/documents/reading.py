"""What all formats share: the wishes of the caller, the source at hand, and what happens to a bad row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bunrui.documents.encodings import AUTO, detected
from bunrui.errors import DataError
from bunrui.phrases import excerpt, some

__all__ = ["KEPT", "Options", "Progress", "Reading", "RowError", "Source", "listing"]

KEPT = 20
"""How many messages about skipped rows are kept."""


class RowError(Exception):
    """What is wrong with a row; whoever knows the file and the line makes a DataError of it."""


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
    skipped: list[str] = field(default_factory=list)
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

    def where(self, line: int | None = None, source: str | None = None) -> str:
        """The place of a row, as messages begin with it."""
        name = source or self.source.name
        return name if line is None else f"{name}, {self.unit} {line}"

    def encoding_of(self, data: bytes) -> str:
        """The encoding of a file that is read now; `auto` is found out from its bytes, a megabyte of them or all."""
        if self.options.encoding != AUTO:
            return self.options.encoding
        found = detected(data)
        if found != "utf-8":
            self.progress.encodings[found] += 1
        return found

    def bad(self, what: str, line: int | None = None, source: str | None = None) -> None:
        """Raise about a bad row, or count it."""
        self.fail(DataError(f"{self.where(line, source)}: {what}"))

    def fail(self, error: DataError) -> None:
        """Raise an error about one row, or count it."""
        if not self.options.skip_bad:
            raise error
        self.progress.n_skipped += 1
        if len(self.progress.skipped) < KEPT:
            self.progress.skipped.append(str(error))

    def lacks(self, there: list[str]) -> str:
        """What to say of all columns that are not there; nothing if none is missing."""
        known = set(there)
        missing = [name for name in self.columns if name not in known]
        if not missing:
            return ""
        say = f"there is {' and '.join(f'no column {name!r}' for name in missing)}"
        only = f", only {listing(there)}" if there else ""
        options = dict.fromkeys(f"{self._option(name)}=" for name in missing)
        return f"{say}{only}: choose {'others' if missing[1:] else 'another'} with {' and '.join(options)}"

    def check_once(self, there: list[str]) -> None:
        """Refuse a file that has a column twice that is wanted."""
        times = Counter(there)
        for column in self.columns:
            if times[column] > 1:
                raise DataError(f"{self.source.name} has {times[column]} columns {column!r}: keep one")

    def _option(self, column: str) -> str:
        return "text" if column in self.options.text else "label" if column == self.options.label else "id"


def listing(names: list[str]) -> str:
    """Names of columns in a message.

    >>> listing(["title", "body"])
    "'title', 'body'"
    """
    return some(repr(excerpt(name, 40)) for name in names)
