"""Files with one mail, mbox files and Maildir folders → batches.

If the caller gives no label, a name is the label: of the folder with the `.eml` file, of the Maildir, or of the mbox
without its suffix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from bunrui.documents.lines import Block, cut_blocks
from bunrui.documents.mail import parse_mail
from bunrui.documents.sources import Source, Stream
from bunrui.documents.validation import Batches, Reading, Row, Rows
from bunrui.errors import DataError, Option

# A line that begins with "From " and has a time in it, at the start or below an empty line.
_FROM = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\d\d?:\d\d[^\n]*\n")
_LAST_LINE = re.compile(rb"(?<=\n)\r?\n\Z")  # the empty line that belongs to the next mail
_QUOTED_FROM = re.compile(rb"^>(?=>*From )", re.MULTILINE)


def read_eml(stream: Stream, reading: Reading) -> Batches:
    """The batch of a file that holds one mail."""
    rows = Rows(reading)
    add_mails(rows, [(None, stream.whole())], _find_label(reading, parent=True))
    yield rows.batch()


def read_mbox(stream: Stream, reading: Reading) -> Batches:
    """Batches of an mbox."""
    if not _FROM.match(stream.peek()):
        first = "its first line should begin with 'From ' and have a time"
        raise DataError(f"{reading.source.name} is not an mbox: {first}", cause="damaged-file")
    label = _find_label(reading, parent=False)
    for block in cut_blocks(stream, reading, _find_last_mail, raw=True):
        rows = Rows(reading)
        add_mails(rows, _split_mails(block), label)
        yield rows.batch()


def _split_mails(block: Block) -> Iterator[tuple[int, bytes]]:
    """The mails of a block, each with the line where it begins."""
    found = [match.span() for match in _FROM.finditer(block.data)]
    ends = [start for start, _ in found[1:]] + [len(block.data)]
    line, seen = block.line, 0
    for (start, begin), end in zip(found, ends, strict=True):
        line += block.data.count(b"\n", seen, start)
        seen = start
        yield line, _LAST_LINE.sub(b"", _QUOTED_FROM.sub(b"", block.data[begin:end]))


def _find_last_mail(data: bytes) -> int:
    """Find the start of the last mail: it may go on."""
    return max((match.start() for match in _FROM.finditer(data)), default=0)


def is_maildir(path: str) -> bool:
    """Whether a folder is a Maildir."""
    return all(os.path.isdir(os.path.join(path, name)) for name in ("cur", "new"))


def maildir_files(path: str) -> Iterator[tuple[str, str]]:
    """The mails of a Maildir and of the folders in it, each with the name of its folder, in a fixed order."""
    with os.scandir(path) as entries:
        inner = sorted(entry.name for entry in entries if entry.name.startswith(".") and is_maildir(entry.path))
    folders = [(path, Path(path).resolve().name), *((os.path.join(path, name), name[1:]) for name in inner)]
    for folder, label in folders:
        for part in ("cur", "new"):
            for file in sorted(os.listdir(os.path.join(folder, part))):
                if not file.startswith("."):
                    yield os.path.join(folder, part, file), label


def read_maildir(reading: Reading) -> Batches:
    """Batches of a Maildir."""
    assert reading.source.path is not None
    rows = Rows(reading)
    for path, folder in maildir_files(reading.source.path):
        with Stream(Source(path, path), reading.progress) as stream:
            add_mails(rows, [(None, stream.whole())], folder if reading.wants_label else None, path)
        if rows.is_full:
            yield rows.batch()
    yield rows.batch()


def add_mails(
    rows: Rows, mails: Iterable[tuple[int | None, bytes]], label: str | None, source: str | None = None
) -> None:
    """Add mails, given the lines where they begin, to the rows."""

    def parse(data: bytes) -> Row:
        mail = parse_mail(data, rows.reading.options.encoding)
        return [mail.text], label, mail.id

    rows.add(mails, parse, source)


def _find_label(reading: Reading, *, parent: bool) -> str | None:
    if not reading.wants_label:
        return None
    source = reading.source
    # A file that somebody has sent lies elsewhere: only its name says something.
    path = Path(source.name).resolve() if source.path == source.name else PurePath(source.name)
    label = path.parent.name if parent else path.name.split(".")[0]
    if source.path is None or not label:
        hint = "give all of it one with ", Option("as", ...)
        raise DataError(f"{source.name} has mail without labels", hint=hint)
    return label
