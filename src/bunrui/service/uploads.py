"""Uploaded files: their columns, their first rows, their labels, their documents."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from bunrui import documents
from bunrui.documents.delimited import LABEL_NAMES, TEXT_NAMES
from bunrui.documents.reader import find_format
from bunrui.documents.sources import Progress, Source, Stream
from bunrui.documents.tabular import TABLES
from bunrui.errors import DataError
from bunrui.labels import TYPES
from bunrui.phrases import excerpt
from bunrui.service.errors import Problem, fields_of, spell_in_json
from bunrui.service.jobs import Job
from bunrui.service.processes import Died, run_apart

_BATCH = 1 << 20
_LARGE_BATCH = 4 << 20
_HEAD = 1 << 16
_GROWTH = 8
_MOST_UNPACKED = 4 << 30
_MEMORY = 512 << 20
_MOST_MEMORY = 2 << 30
_COPIES = 4
_GUESSED_FROM = 100
_SHOWN = 5
_LONGEST_CELL = 300
_MOST_LABELS = 1000

_LONGEST_LABEL = 100  # characters
_SENTENCE = 30
_SORTED = 20  # rows with the same label, where a file is sorted by labels
_WITH_HEADER = ("csv", "tsv", "tab", "xlsx")
_TEXTS = (None, "csv", "tsv", "jsonl")
_FEW = 10  # whole numbers that may be labels, however few rows there are

_NO_COLUMN = "\0"

Row = dict[str, Any]


@dataclass(frozen=True)
class Upload:
    """Files by their names, whose suffixes tell the formats, and their paths.

    Unpacked, they have at most `most_bytes`, or eight times as many as they came with, but not more than 4 GiB unless
    one of them came with more.  `header` says whether the first
    line of CSV, TSV and spreadsheets has the names of the columns; None, to find out.  `given` is the label of all
    documents, where the client gives one; `known` are labels of the classifier, by which a column of labels is found.

    Examples
    --------
    >>> import tempfile
    >>> lines = b"subject,folder\\ncheap pills,spam\\nlunch at noon,ham\\nnoon?,ham\\n"
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(lines), file.flush()
    ...     found = Upload([("mails.csv", file.name)], "utf-8", most_bytes=1000).inspect(None, None)
    >>> found["columns"], found["text"], found["label"], found["labels"]
    (['subject', 'folder'], 'subject', 'folder', {'ham': 2, 'spam': 1})
    """

    files: Sequence[tuple[str, str]]
    encoding: str
    most_bytes: int
    header: bool | None = True
    given: str | None = None
    known: Sequence[str] = ()

    def inspect(self, text: str | None, label: str | None, whole: bool = True) -> dict[str, Any]:
        """What is in the files, where these columns are text and label.

        Those that are not given are guessed; the label stays None where no column looks like labels.  Unless the whole
        is wanted, only the first rows are read, without their labels.
        """
        if self.header is None:
            return replace(self, header=self._has_header()).inspect(text, label, whole)
        self._check_growth()
        columns, rows = self._table(label)
        choices = [name for name in columns if _may_be_labels(rows, name)]
        if columns:
            text = _guess_text(columns, label, rows) if text is None else text
            label = _guess_label(choices, text, rows, self.known) if label is None and self.given is None else label
        labelled = whole and (not columns or label is not None or self.given is not None)
        progress = _Bounded(self._check_size)
        labels: Counter[str] = Counter()
        n_docs = 0
        first: list[Row] = []
        reader = self._reader(text, label, skip_bad=True, labelled=labelled)
        for batch in self._limited(reader.batches(progress)):
            first += batch.slice(0, max(0, _SHOWN - len(first))).to_pylist()
            if labelled:
                labels.update(_flat(batch["label"]))
            n_docs += batch.num_rows
            if not whole:
                break
        shown = ("text", "label") if labelled else ("text",)
        start = rows[:_SHOWN] or [{name: row[name] for name in shown} for row in first]
        return {
            "columns": columns,
            "choices": choices,
            "rows": [_cut(row) for row in start],
            "header": self.header if self._format() in _WITH_HEADER else None,
            "encoding": next(iter(progress.encodings), "utf-8") if self._format() in _TEXTS else None,
            "text": text,
            "label": label,
            "documents": n_docs if whole else None,
            "labels": dict(labels.most_common(_MOST_LABELS)),
            "n_labels": len(labels),
            **_skipped(progress),
        }

    def batches(
        self, text: str | None, label: str | None, skip_bad: bool, labelled: bool = True, label_type: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Batches of its documents; a type of labels has its name."""
        self._check_growth()
        kind = None if label_type is None else TYPES[label_type]
        reader = self._reader(text, label, skip_bad=skip_bad, labelled=labelled, label_type=kind)
        yield from self._limited(reader.batches(_Bounded(self._check_size)))

    def rows(self, text: str | None, skip_bad: bool) -> Iterator[Any]:
        """Batches of its documents, with their whole rows and without labels.

        After each comes how much was read, and at the end what was left out.
        """
        if self.header is None:
            yield from replace(self, header=self._has_header()).rows(text, skip_bad)
            return
        self._check_growth()
        if text is None:
            columns, rows = self._table(None)
            text = _guess_text(columns, None, rows) if columns else None
        progress = _Bounded(self._check_size)
        reader = self._reader(text, None, skip_bad=skip_bad, batch_bytes=_LARGE_BATCH, labelled=False, rows=True)
        for batch in self._limited(reader.batches(progress)):
            yield batch
            yield {"share": progress.bytes_read / max(1, self.n_bytes)}
        yield {"share": 1.0, **_skipped(progress)}

    @property
    def n_bytes(self) -> int:
        """Of all files."""
        return sum(os.path.getsize(path) for _, path in self.files)

    def check_options(self) -> None:
        """Refuse a name or an encoding that cannot be read, whatever is in the file."""
        self._reader(None, None, skip_bad=False)

    def _has_header(self) -> bool:
        """Whether the first line looks like the names of columns, and not like a row."""
        if self._format() not in _WITH_HEADER:
            return True
        with self._reader("", "", skip_bad=True) as reader, suppress(DataError):
            next(iter(reader), None)
        return not reader.doubtful_headers

    def _reader(
        self, text: str | None, label: str | None, *, skip_bad: bool, batch_bytes: int = _BATCH, **options: Any
    ) -> documents.Reader:
        sources = list(self._sources())
        return documents.read(
            sources if self.given is None else {self.given: sources},
            text=text or "text",
            label=label or "label",
            encoding=self.encoding,
            skip_bad=skip_bad,
            batch_bytes=batch_bytes,
            header=self.header is not False,
            **options,
        )

    def _sources(self) -> Iterator[Source]:
        for name, path in self.files:
            format, compression = find_format(name, name, None)
            yield Source(name, path, None, format, compression, None, os.path.getsize(path))

    def _format(self) -> str | None:
        """Of the first file; None where the first bytes will tell."""
        return next(self._sources()).format or None

    def _check_growth(self) -> None:
        """Refuse a file that is too large unpacked before anything of it is kept: it may be one long cell."""
        n_bytes = 0
        for source in self._sources():
            with Stream(source, Progress()) as stream:
                while part := stream.read(_BATCH):
                    n_bytes += len(part)
                    self._check_size(n_bytes)

    def _limited(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of a format that packs its columns itself may have more bytes than the file."""
        n_bytes = 0
        for batch in batches:
            n_bytes += batch.nbytes
            self._check_size(n_bytes)
            yield batch

    def _check_size(self, n_bytes: int) -> None:
        if n_bytes > self._most:
            raise self._too_large()

    @cached_property
    def _most(self) -> int:
        largest = max(os.path.getsize(path) for _, path in self.files)
        return max(min(_GROWTH * self.n_bytes, _MOST_UNPACKED), largest, self.most_bytes)

    def _too_large(self) -> Problem:
        name, most = self.files[0][0], self._most
        said = f"{name} has more than {most:,} bytes when it is unpacked: cut it"
        return Problem("too-large", said, cause="unpacked", file=name, most=most)

    @property
    def memory(self) -> int:
        """Bytes that a process may need to read it: one long cell is copied a few times."""
        return min(_MEMORY + _COPIES * self._most, _MOST_MEMORY)

    @contextmanager
    def within_memory(self) -> Iterator[None]:
        """Refuse the file as too large where there is no memory for what is in it."""
        try:
            yield
        except (MemoryError, DataError) as error:
            if not isinstance(error, MemoryError) and not isinstance(error.__cause__, MemoryError):
                raise
            if self.memory < _MOST_MEMORY:
                raise self._too_large() from error
            name = self.files[0][0]
            said = f"{name} needs more than {_MOST_MEMORY:,} bytes of memory to be read: cut its longest rows"
            raise Problem("too-large", said, cause="memory", file=name, most=_MOST_MEMORY) from error

    def _table(self, label: str | None) -> tuple[list[str], list[Row]]:
        """The columns and the first rows; nothing of a format that has no columns."""
        if self._format() not in TABLES:
            return [], []
        failures = []
        # Cells are no lists, but labels may be: where a column stands in the way, it may be that of the labels.
        for apart in filter(None, (_NO_COLUMN, label, *LABEL_NAMES)):
            try:
                return self._cells(apart)
            except DataError as error:
                failures.append(error)
        raise failures[0]

    def _cells(self, apart: str) -> tuple[list[str], list[Row]]:
        """The columns and the first rows, where a column is read as labels."""
        reader = self._reader(None, apart, skip_bad=True, batch_bytes=_HEAD, labelled=False, columns=True)
        progress = _Bounded(self._check_size)
        batch = next(reader.batches(progress), None)
        columns = list(progress.columns)
        if batch is None:
            if progress.skipped:
                raise progress.skipped[0]
            return columns, []
        rows = [json.loads(text) for text in batch["text"].slice(0, _GUESSED_FROM).to_pylist()]
        if apart != _NO_COLUMN:
            labelled = next(self._reader(columns[0], apart, skip_bad=True).batches(_Bounded(self._check_size)), None)
            for row, value in zip(rows, [] if labelled is None else labelled["label"].to_pylist(), strict=False):
                row[apart] = value
            columns.append(apart)
        return columns, rows


class _Bounded(Progress):
    """Counts what columns take in memory: a check refuses too much."""

    def __init__(self, check: Callable[[int], None]) -> None:
        super().__init__()
        self._check, self._n_bytes = check, 0

    def unpacked(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        self._check(self._n_bytes)


# --- in a process of its own


Send = Callable[[Any], None]


def read_apart(send: Send, about: Any, how: str, *args: Any) -> None:
    """Send what a method of `Upload` gives."""
    upload = Upload(**about)
    with upload.within_memory():
        found = getattr(upload, how)(*args)
        for told in [found] if isinstance(found, dict) else found:
            send(told)


def _skipped(progress: Progress) -> dict[str, Any]:
    """The rows that were left out, and what is wrong with the first of them, for people and for programs."""
    return {
        "skipped": progress.n_skipped,
        "problems": [error.tell(spell_in_json) for error in progress.skipped],
        "causes": [fields_of(error) for error in progress.skipped],
    }


def all_apart(job: Job, upload: Upload, how: Callable[..., Any], *args: Any) -> Generator[Any]:
    """What a method of `Upload` gives, from a process of its own."""
    try:
        yield from run_apart(job, read_apart, asdict(upload), how.__name__, *args, memory=upload.memory)
    except Died:
        name = upload.files[0][0]
        said = f"{name} is damaged: get or write it again"
        raise Problem("invalid", said, cause="damaged-file", file=name) from None


def _guess_text(columns: list[str], label: str | None, rows: list[Row]) -> str:
    """The column with one of the usual names; else the one with most characters."""
    free = [name for name in columns if name != label] or columns
    return _usual(TEXT_NAMES, free) or max(free, key=lambda name: sum(map(len, _strings(rows, name))))


def _guess_label(columns: list[str], text: str, rows: list[Row], known: Sequence[str] = ()) -> str | None:
    """The column with one of the usual names; else with labels that are known; else whose cells come again most often.

    Where each cell of the other columns is another one, as titles and numbers are, nobody can tell.  Where all cells
    are the same, as in a file that is sorted by label, they are labels if no other column is like that.
    """
    free = [name for name in columns if name != text and not _are_texts(_strings(rows, name))]
    if usual := _usual(LABEL_NAMES, free):
        return usual
    labels = frozenset(known)
    n_known = {name: sum(str(row.get(name)) in labels for row in rows) for name in free}
    best = max(free, key=n_known.__getitem__, default=None)
    if best is not None and n_known[best] > len(rows) / 2:
        return best
    distinct = {name: {str(row[name]) for row in rows if row.get(name) is not None} for name in free}
    repeating = [name for name in free if 1 < len(distinct[name]) <= len(rows) * 2 / 3]
    same = [name for name in free if len(distinct[name]) == 1 and len(rows) >= _SORTED]
    if repeating:
        return min(repeating, key=lambda name: len(distinct[name]))
    return same[0] if len(same) == 1 else None


def _may_be_labels(rows: list[Row], name: str) -> bool:
    """Whether a column can be that of labels: numbers can where they are whole and come again, unlike sizes and ids.

    >>> rows = [{"stars": k % 5, "price": 9.5, "id": k, "kind": "ab"[k % 2], "n": str(k)} for k in range(60)]
    >>> [name for name in rows[0] if _may_be_labels(rows, name)]
    ['stars', 'kind', 'n']
    """
    cells = [row[name] for row in rows if row.get(name) is not None]
    if not cells or not all(isinstance(cell, (int, float)) for cell in cells):
        return True
    distinct = set(cells)
    return all(cell == int(cell) for cell in distinct) and (len(distinct) <= _FEW or 2 * len(distinct) <= len(cells))


def _usual(names: Sequence[str], columns: list[str]) -> str | None:
    known = {name.lower(): name for name in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def _strings(rows: list[Row], name: str) -> list[str]:
    return [cell for row in rows if isinstance(cell := row.get(name), str)]


def _are_texts(cells: list[str]) -> bool:
    """Whether cells are too long for labels, or sentences of which none comes twice."""
    n_chars = sum(map(len, cells))
    is_each_once = len(set(cells)) == len(cells) > 1
    return any(len(cell) > _LONGEST_LABEL for cell in cells) or (is_each_once and n_chars > _SENTENCE * len(cells))


def _flat(labels: pa.Array) -> list[str]:
    found: list[str] = (labels.flatten() if pa.types.is_list(labels.type) else labels).to_pylist()
    return found


def _cut(row: Row) -> Row:
    return {name: excerpt(cell, _LONGEST_CELL) if isinstance(cell, str) else cell for name, cell in row.items()}
