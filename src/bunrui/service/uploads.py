"""An uploaded file: its columns, its first rows, its labels, its documents."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from bunrui import documents
from bunrui.documents.formats import find_format
from bunrui.documents.sources import Progress, Source, Stream
from bunrui.documents.tabular import TABLES
from bunrui.errors import DataError
from bunrui.phrases import excerpt
from bunrui.service.errors import Problem, spell_in_json

_BATCH = 1 << 20
_HEAD = 1 << 16
_GROWTH = 8
_MEMORY = 512 << 20
_COPIES = 4
_GUESSED_FROM = 100
_SHOWN = 5
_LONGEST_CELL = 300
_MOST_LABELS = 1000

_LONGEST_LABEL = 100  # characters
_SENTENCE = 30
_SORTED = 20  # rows with the same label, where a file is sorted by labels
_DELIMITED = ("csv", "tsv", "tab")

_NO_COLUMN = "\0"
_TEXTS = ("text", "texts", "body", "message", "content", "document", "sentence", "review", "本文", "文本", "본문")
_LABELS = ("label", "labels", "class", "category", "categories", "topic", "topics", "tag", "tags", "target", "ラベル")

Row = dict[str, Any]


@dataclass(frozen=True)
class Upload:
    """A file by its bytes and its name, whose suffix tells the format.

    Unpacked, it has at most `most_bytes`, or eight times as many as it came with.  `header` says whether the first line
    of CSV and TSV has the names of the columns; None, to find out.

    Examples
    --------
    >>> lines = b"subject,folder\\ncheap pills,spam\\nlunch at noon,ham\\nnoon?,ham\\n"
    >>> mails = Upload(lines, "mails.csv", "utf-8", most_bytes=1000)
    >>> found = mails.inspect(None, None)
    >>> found["columns"], found["text"], found["label"], found["labels"]
    (['subject', 'folder'], 'subject', 'folder', {'ham': 2, 'spam': 1})
    """

    body: bytes | bytearray
    name: str
    encoding: str
    most_bytes: int
    header: bool | None = True

    def inspect(self, text: str | None, label: str | None) -> dict[str, Any]:
        """What is in the file, where these columns are text and label.

        Those that are not given are guessed; the label stays None where no column looks like labels.
        """
        self._check_growth()
        header = self._has_header() if self.header is None else self.header
        return replace(self, header=header)._inspect(text, label)

    def _inspect(self, text: str | None, label: str | None) -> dict[str, Any]:
        columns, rows = self._table(label)
        if columns:
            text = _guess_text(columns, label, rows) if text is None else text
            label = _guess_label(columns, text, rows) if label is None else label
        labelled = not columns or label is not None
        progress = self._progress()
        labels: Counter[str] = Counter()
        n_docs = 0
        first: list[Row] = []
        reader = self._reader(text, label, skip_bad=True, labelled=labelled)
        for batch in self._limited(reader.batches(progress)):
            first += batch.slice(0, max(0, _SHOWN - len(first))).to_pylist()
            if labelled:
                labels.update(_flat(batch["label"]))
            n_docs += batch.num_rows
        return {
            "columns": columns,
            "rows": [_cut(row) for row in rows[:_SHOWN]]
            or [_cut({"text": row["text"], "label": row["label"]}) for row in first],
            "header": self.header if self._format() in _DELIMITED else None,
            "text": text,
            "label": label,
            "documents": n_docs,
            "labels": dict(labels.most_common(_MOST_LABELS)),
            "n_labels": len(labels),
            "skipped": progress.n_skipped,
            "problems": [error.tell(spell_in_json) for error in progress.skipped],
        }

    def batches(
        self, text: str | None, label: str | None, *, skip_bad: bool, labelled: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Batches of its documents."""
        self._check_growth()
        reader = self._reader(text, label, skip_bad=skip_bad, labelled=labelled)
        yield from self._limited(reader.batches(self._progress()))

    def check_options(self) -> None:
        """Refuse a name or an encoding that cannot be read, whatever is in the file."""
        self._reader(None, None, skip_bad=False)

    def _has_header(self) -> bool:
        """Whether the first line looks like the names of columns, and not like a row."""
        if self._format() not in _DELIMITED:
            return True
        with self._reader("", "", skip_bad=True) as reader, suppress(DataError):
            next(iter(reader), None)
        return not reader.doubtful_headers

    def _reader(
        self, text: str | None, label: str | None, *, skip_bad: bool, batch_bytes: int = _BATCH, **options: Any
    ) -> documents.Reader:
        return documents.read(
            self._stream(),
            text=text or "text",
            label=label or "label",
            format=self._format(),
            encoding=self.encoding,
            skip_bad=skip_bad,
            batch_bytes=batch_bytes,
            header=self.header is not False,
            **options,
        )

    def _progress(self) -> Progress:
        return _Bounded(self._check_size)

    def _stream(self) -> Any:
        stream: Any = io.BytesIO(self.body)
        stream.name = self.name
        return stream

    def _format(self) -> str | None:
        """None where the first bytes will tell."""
        return find_format(self.name, self.name, None)[0] or None

    def _check_growth(self) -> None:
        """Refuse a file that is too large unpacked before anything of it is kept: it may be one long cell."""
        n_bytes = 0
        with Stream(Source(self.name, None, self._stream()), Progress()) as stream:
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

    @property
    def _most(self) -> int:
        return max(_GROWTH * len(self.body), self.most_bytes)

    def _too_large(self) -> Problem:
        fields = {"cause": "unpacked", "file": self.name, "most": self._most}
        said = f"{self.name} has more than {self._most:,} bytes when it is unpacked: cut it"
        return Problem("too-large", said, fields=fields)

    @property
    def memory(self) -> int:
        """Bytes that a process may need to read it: one long cell is copied a few times."""
        return _MEMORY + _COPIES * self._most

    @contextmanager
    def within_memory(self) -> Iterator[None]:
        """Refuse the file as too large where there is no memory for what is in it."""
        try:
            yield
        except (MemoryError, DataError) as error:
            if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
                raise self._too_large() from error
            raise

    def _table(self, label: str | None) -> tuple[list[str], list[Row]]:
        """The columns and the first rows; nothing of a format that has no columns."""
        if self._format() not in TABLES:
            return [], []
        failure: DataError | None = None
        # Cells are no lists, but labels may be: where a column stands in the way, it may be that of the labels.
        for apart in (_NO_COLUMN, *([label] if label else []), *_LABELS):
            try:
                return self._cells(apart)
            except DataError as error:
                failure = failure or error
        assert failure is not None
        raise failure

    def _cells(self, apart: str) -> tuple[list[str], list[Row]]:
        names, rows = self._read_cells(apart)
        if apart == _NO_COLUMN or not rows:
            return names, rows
        for batch in self._reader(names[0], apart, skip_bad=True).batches(self._progress()):
            for row, value in zip(rows, batch["label"].to_pylist(), strict=False):
                row[apart] = value
            break
        return [*names, apart], rows

    def _read_cells(self, apart: str) -> tuple[list[str], list[Row]]:
        reader = self._reader(None, apart, skip_bad=True, batch_bytes=_HEAD, labelled=False, columns=True)
        progress = self._progress()
        for batch in reader.batches(progress):
            rows = [json.loads(text) for text in batch["text"].slice(0, _GUESSED_FROM).to_pylist()]
            return list(progress.columns), rows
        if progress.skipped:
            raise progress.skipped[0]
        return list(progress.columns), []


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
Named = tuple[str, str, int]


def inspect_apart(send: Send, body: bytes, about: Named, text: str | None, label: str | None) -> None:
    """Send what `Upload.inspect` says."""
    upload = Upload(body, *about)
    with upload.within_memory():
        send(upload.inspect(text, label))


def batches_apart(
    send: Send,
    body: bytes,
    about: Named,
    text: str | None,
    label: str | None,
    skip_bad: bool,
    labelled: bool = True,
) -> None:
    """Send what `Upload.batches` gives."""
    upload = Upload(body, *about)
    with upload.within_memory():
        for batch in upload.batches(text, label, skip_bad=skip_bad, labelled=labelled):
            send(batch)


def _guess_text(columns: list[str], label: str | None, rows: list[Row]) -> str:
    """The column with one of the usual names; else the one with most characters."""
    free = [name for name in columns if name != label] or columns
    return _usual(_TEXTS, free) or max(free, key=lambda name: sum(map(len, _strings(rows, name))))


def _guess_label(columns: list[str], text: str, rows: list[Row]) -> str | None:
    """The column with one of the usual names; else the one whose cells come again most often.

    Where each cell of the other columns is another one, as titles and numbers are, nobody can tell.  Where all cells
    are the same, as in a file that is sorted by label, they are labels if no other column is like that.
    """
    free = [name for name in columns if name != text and not _are_texts(_strings(rows, name))]
    if usual := _usual(_LABELS, free):
        return usual
    distinct = {name: {str(row[name]) for row in rows if row.get(name) is not None} for name in free}
    repeating = [name for name in free if 1 < len(distinct[name]) <= len(rows) * 2 / 3]
    same = [name for name in free if len(distinct[name]) == 1 and len(rows) >= _SORTED]
    if repeating:
        return min(repeating, key=lambda name: len(distinct[name]))
    return same[0] if len(same) == 1 else None


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
