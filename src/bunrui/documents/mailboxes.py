"""Mail files, mbox files and Maildir folders.

Where the caller gives no label, the name of the folder is it: the folder that holds an `.eml` file, the Maildir, the
name of an mbox without its suffix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from bunrui.documents.blocks import blocks
from bunrui.documents.mail import parse_mail
from bunrui.documents.reading import Reading, RowError, Source
from bunrui.documents.rows import Rows
from bunrui.documents.streams import Stream
from bunrui.errors import DataError, Option

__all__ = ["add_mail", "is_maildir", "maildir_files", "read_eml", "read_maildir", "read_mbox"]

# A line that begins with "From " and has a time in it, at the start or below an empty line.
_FROM = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\d\d?:\d\d[^\n]*\n")
_LAST_LINE = re.compile(rb"(?<=\n)\r?\n\Z")  # the empty line that belongs to the next mail
_QUOTED_FROM = re.compile(rb"^>(?=>*From )", re.MULTILINE)


def read_eml(stream: Stream, reading: Reading) -> Iterator[pa.RecordBatch]:
    """The batch of a file that holds one mail."""
    rows = Rows(reading)
    data = stream.whole()
    add_mail(rows, reading, data, label=_label(reading, parent=True))
    if batch := rows.batch():
        yield batch


def read_mbox(stream: Stream, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of an mbox."""
    if not _FROM.match(stream.peek()):
        raise DataError(
            f"{reading.source.name} is not an mbox: its first line should begin with 'From ' and have a time"
        )
    label = _label(reading, parent=False)
    for block in blocks(stream, reading, _last_mail, raw=True):
        rows = Rows(reading)
        found = [match.span() for match in _FROM.finditer(block.data)]
        ends = [start for start, _ in found[1:]] + [len(block.data)]
        line, seen = block.line, 0
        for (start, begin), end in zip(found, ends, strict=True):
            line += block.data.count(b"\n", seen, start)
            seen = start
            data = _LAST_LINE.sub(b"", _QUOTED_FROM.sub(b"", block.data[begin:end]))
            add_mail(rows, reading, data, line=line, label=label)
        if batch := rows.batch():
            yield batch


def _last_mail(data: bytes) -> int:
    """Where the last mail begins: it may go on."""
    last = 0
    for match in _FROM.finditer(data):
        last = match.start()
    return last


def is_maildir(path: str) -> bool:
    """Whether a folder is a Maildir."""
    return all(os.path.isdir(os.path.join(path, name)) for name in ("cur", "new"))


def maildir_files(path: str) -> Iterator[tuple[str, str]]:
    """The mails of a Maildir and of the folders in it, each with the name of its folder, in a fixed order."""
    name = Path(path).resolve().name
    folders = [(path, name)]
    with os.scandir(path) as entries:
        inner = sorted(entry.name for entry in entries if entry.name.startswith(".") and entry.is_dir())
    folders += [(os.path.join(path, folder), folder[1:]) for folder in inner if is_maildir(os.path.join(path, folder))]
    for folder, label in folders:
        for part in ("cur", "new"):
            for file in sorted(os.listdir(os.path.join(folder, part))):
                if not file.startswith("."):
                    yield os.path.join(folder, part, file), label


def read_maildir(reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of a Maildir."""
    assert reading.source.path is not None
    rows = Rows(reading)
    for path, folder in maildir_files(reading.source.path):
        with Stream(Source(path, path), reading.progress) as stream:
            data = stream.whole()
        add_mail(rows, reading, data, label=folder if reading.wants_label else None, source=path)
        if rows.is_full and (batch := rows.batch()):
            yield batch
    if batch := rows.batch():
        yield batch


def add_mail(
    rows: Rows, reading: Reading, data: bytes, *, label: str | None, line: int | None = None, source: str | None = None
) -> None:
    """Add one mail to the rows."""
    try:
        mail = parse_mail(data, reading.options.encoding)
    except RowError as bad:
        reading.bad(bad.problem, line, source)
    else:
        rows.add([mail.text], label, mail.id, line=line, source=source)


def _label(reading: Reading, *, parent: bool) -> str | None:
    if not reading.wants_label:
        return None
    if reading.source.path is None:
        raise DataError(
            f"{reading.source.name} has mail without labels", hint=("give all of it one with ", Option("as", ...))
        )
    path = Path(reading.source.path).resolve()
    return path.parent.name if parent else path.name.split(".")[0]
