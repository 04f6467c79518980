"""CSV and TSV as in RFC 4180, and plain columns with tabs.

A field that begins with a quote ends with a quote; inside it, a quote is written twice, and delimiters and line breaks
are text.  A quote inside any other field is a plain character.  Lines end with LF or CRLF; empty lines are skipped.

The fast path is Arrow's reader.  It is used if each quote opens or closes a field or is written twice; the neighbours
of all quotes tell this.  Then a line break with an even number of quotes before it ends a record, and the line of each
record is known.  Everything else is read record by record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from bunrui.documents.lines import Block, cut_blocks, find_last_line, join_chunks, parse_in_parts
from bunrui.documents.sources import Stream
from bunrui.documents.tabular import read_columns, row_of, take_columns, with_rows
from bunrui.documents.validation import STRING, Batches, Reading, Row, Rows, listing
from bunrui.errors import DataError, Option

Integers = npt.NDArray[np.int64]

_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+')
_LONGEST_NAME = 200  # bytes of the name of a column
_MOST_WIDE = 14  # characters of a name without spaces
_WIDE = "\u2e7f"
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,]*")
COMPARED = 100
"""Rows below a header that tell whether it looks like one of them."""
TEXT_NAMES = ("text", "texts", "body", "message", "content", "document", "sentence", "review", "本文", "文本", "본문")
LABEL_NAMES = ("label", "labels", "class", "category", "categories", "topic", "topics", "tag", "tags", "target",
               "ラベル", "标签", "类别", "레이블", "라벨")  # fmt: skip
"""Usual names of columns."""

_UNCLOSED = 'a field begins with a quote that is never closed: close it, or write quotes inside text twice ("")'
_GOES_ON = 'a field goes on after its closing quote: write quotes inside it twice ("")'


class Record(NamedTuple):
    """A record of a block: its place, and its fields or its problem."""

    start: int
    end: int
    fields: list[bytes]
    problem: str = ""


def read_delimited(stream: Stream, reading: Reading, delimiter: bytes, *, quotes: bool = True) -> Batches:
    """Batches of a stream of records with a header."""
    table: _Table | None = None
    # Where the quotes of the next block are: looking for them twice takes an eighth longer.
    known: Integers | None = None

    def cut(data: bytes) -> int:
        nonlocal known
        known = _find_quotes(data)
        end = _find_last_record(data, delimiter, known)
        known = known[: np.searchsorted(known, end)] if end else None
        return end

    for block in cut_blocks(stream, reading, cut if quotes else find_last_line):
        places, known = known, None  # the last block is not cut
        if table is None:
            table, block = _read_header(block, reading, delimiter, quotes)
            places = None
        if table is None or not block.data:
            continue
        yield table.read(block, places)
    if table is None:
        empty = "there are empty lines only: a header and rows were expected"
        raise DataError(empty, file=reading.source.name, cause="no-rows")


def _read_header(block: Block, reading: Reading, delimiter: bytes, quotes: bool) -> tuple[_Table | None, Block]:
    """The table below the header, and the block without the header."""
    first = next((record for record in split_records(block.data, delimiter, quotes) if record.fields != [b""]), None)
    if first is None:
        return None, block
    if first.problem:
        line = block.line + block.data.count(b"\n", 0, first.start)
        raise DataError(first.problem, cause="quotes", **reading.place(line))
    end = first.end if reading.options.header else first.start
    line = block.line + block.data.count(b"\n", 0, end)
    rest = Block(block.data[end:], line, block.valid)
    below = ([_text(field) for field in record.fields] for record in split_records(rest.data, delimiter, quotes))
    columns = name_columns(reading, [_text(field) for field in first.fields], below, delimiter)
    return _Table(reading, *columns, delimiter, quotes), rest


def _text(field: bytes) -> str:
    return field.decode("utf-8", "replace")


def name_columns(
    reading: Reading, first: list[str], below: Iterator[list[str]], delimiter: bytes | None = None
) -> tuple[list[str], dict[str, int]]:
    """The names of the columns, checked, and the places of those that are wanted; `below` are some rows."""
    names, is_row = first, False
    if not reading.options.header:
        names = [str(number) for number in range(1, len(first) + 1)]
    elif is_row := looks_like_row(first, below, reading.columns):
        reading.progress.doubtful_headers.append(reading.source.name)
    if reading.options.columns:
        names = [name.strip() for name in names]
    take_columns(reading, names, _hint(names, delimiter, is_row, reading) if delimiter else ())
    places = {name: at for at, name in enumerate(names)}
    return names, {name: places[name] for name in reading.columns}


def looks_like_row(names: list[str], below: Iterator[list[str]], wanted: Sequence[str] = ()) -> bool:
    """Whether a header looks like a row: a text, a value that comes again below, such as a label, or a number.

    A single name may be a sentence, or a cell like those below, unless it is the column that is wanted; where there are
    several, a survey may have questions as names.

    >>> looks_like_row(["lunch?", "ham"], iter([["win money", "spam"], ["noon?", "ham"]]))
    True
    >>> looks_like_row(["17", "lunch?"], iter([["18", "noon?"]])), looks_like_row(["See you at noon"], iter([]))
    (True, True)
    >>> looks_like_row(["text", "label"], iter([["lunch?", "ham"]]))
    False
    >>> [looks_like_row([name], iter([["bad"], ["terrible"]])) for name in ("good", "Opinion", "review")]
    [True, False, False]
    >>> looks_like_row(["How was it?", "2020", "2021"], iter([["good", "1", "2"]]))
    False
    """
    if {"text", "label"} & {name.strip().lower() for name in names}:
        return False
    if any(len(name.encode()) > _LONGEST_NAME or "\n" in name for name in names):
        return True
    if len(names) == 1 and _is_sentence(names[0].strip()):
        return True
    rows = list(islice(below, COMPARED))
    # Files that were put together have the whole header again.
    if any(row != names and any(a and a == b for a, b in zip(names, row, strict=False)) for row in rows):
        return True
    if len(names) == 1 and names[0] not in wanted:
        return _is_alike(names[0].strip(), [row[0].strip() for row in rows if row and row[0].strip()])
    # A number among names is a cell; several may be the names of years.
    numbers = [at for at, name in enumerate(names) if _is_number(name)]
    if len(numbers) != 1 or not rows:
        return False
    return all(len(row) > numbers[0] and _is_number(row[numbers[0]]) for row in rows)


def _is_alike(name: str, cells: list[str]) -> bool:
    """Whether the name of a single column may as well be one of its cells: a document that is lost is worse than one
    too many.

    >>> [_is_alike(name, ["nice place", "good food"]) for name in ("bad service", "bad", "comment")]
    [True, False, False]
    """
    if not name or name.lower() in (*TEXT_NAMES, *LABEL_NAMES):
        return False
    if not cells:
        return True
    return 2 * len(name) >= median(map(len, cells)) and _look(name) in map(_look, cells)


def _look(cell: str) -> tuple[bool, ...]:
    is_wide = any(character > _WIDE for character in cell)
    return " " in cell, cell[:1].isupper(), any(map(str.isdigit, cell)), is_wide


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def _is_sentence(name: str) -> bool:
    """Whether a cell is a text, and no name of a column: it ends like a sentence, or has many words.

    >>> [_is_sentence(name) for name in ("review text", "it was good", "Was it good?", "とても美味しかったです。")]
    [False, False, True, True]
    """
    n_wide = sum(character > _WIDE for character in name)  # of Chinese, Japanese and Korean, which have no words
    return name.endswith((".", "!", "?", "。", "！", "？", "…")) or len(name.split()) > 3 or n_wide > _MOST_WIDE


def _hint(names: list[str], delimiter: bytes, is_row: bool, reading: Reading) -> tuple[str | Option, ...]:
    if len(names) == 1 and "\t" in names[0]:
        return ". The header has tabs: is it ", Option("format", "tsv"), "?"
    if len(names) == 1 and delimiter != b"," and "," in names[0]:
        return ". The header has commas: is it ", Option("format", "csv"), "?"
    if len(names) == 1 and ";" in names[0]:
        return (". The header has semicolons (;): write the file with commas",)
    wanted = reading.columns
    add = f"put a line such as {','.join(wanted)} above it"
    if is_row:
        return (f". The first line looks like a row: {add}",)
    if reading.options.header and len(wanted) > 1 and not _folded(names) & _folded(wanted):
        return (f". If the first line is a row, {add}",)
    return ()


def _folded(names: Sequence[str]) -> set[str]:
    return {name.casefold() for name in names}


class _Table:
    """How to read blocks below a header."""

    def __init__(
        self, reading: Reading, names: list[str], places: dict[str, int], delimiter: bytes, quotes: bool
    ) -> None:
        self._reading, self._names, self._at = reading, names, places
        self._delimiter, self._quotes = delimiter, quotes
        self._parse = pa.csv.ParseOptions(
            delimiter=delimiter.decode(), quote_char='"' if quotes else False, newlines_in_values=quotes
        )
        self._keys = [str(at) for at in range(len(names))]  # Arrow wants names that differ
        wanted = self._keys if reading.options.rows else [self._keys[at] for at in self._at.values()]
        self._convert = pa.csv.ConvertOptions(
            check_utf8=False, column_types=dict.fromkeys(wanted, STRING), include_columns=wanted
        )

    def read(self, block: Block, places: Integers | None) -> pa.RecordBatch | None:
        """The batch of a block, which Arrow parses if it can."""
        found = self.parse(block, places) if block.valid else None
        return self.slow(block) if found is None else self.batch(*found)

    def parse(self, block: Block, places: Integers | None) -> tuple[Integers, dict[str, pa.Array]] | None:
        """The lines and the columns of a block, by Arrow, or None; `places` of its quotes, where they are known."""
        if places is None:
            places = _find_quotes(block.data) if self._quotes else np.empty(0, np.int64)
        lines = _find_record_lines(block.data, self._delimiter, places)
        if lines is None or not len(lines):
            return None

        def parse(size: int) -> pa.Table:
            options = pa.csv.ReadOptions(use_threads=False, block_size=size, column_names=self._keys)
            return pa.csv.read_csv(pa.BufferReader(block.data), options, self._parse, self._convert)

        table = parse_in_parts(parse, len(block.data))
        if table is None or table.num_rows != len(lines):
            return None
        return lines + block.line, {key: join_chunks(table[key]) for key in table.column_names}

    def batch(self, lines: Integers, parsed: dict[str, pa.Array]) -> pa.RecordBatch | None:
        """The batch of columns that Arrow has parsed."""
        columns = {name: parsed[self._keys[at]] for name, at in self._at.items()}
        batch = read_columns(self._reading, columns, lines, written=True)
        return with_rows(batch, lines, parsed.values(), self._names) if self._reading.options.rows else batch

    def slow(self, block: Block) -> pa.RecordBatch | None:
        """A block record by record."""
        rows, records = Rows(self._reading), self._number_records(block)
        # Records take many times the bytes of the block, so all of them are kept only where whole rows are wanted.
        found = dict(records) if self._reading.options.rows else None
        rows.add(records if found is None else found.items(), self._parse_record)
        batch = rows.batch()
        if batch is None or found is None:
            return batch
        lines = batch["line"].to_numpy()
        fields = zip(*(map(bytes.decode, found[line].fields) for line in lines.tolist()), strict=True)
        return with_rows(batch, lines, [pa.array(column, STRING) for column in fields], self._names)

    def _number_records(self, block: Block) -> Iterator[tuple[int, Record]]:
        """The records with their lines, without empty lines."""
        line, seen = block.line, 0
        for record in split_records(block.data, self._delimiter, self._quotes):
            line += block.data.count(b"\n", seen, record.start)
            seen = record.start
            if record.fields != [b""] or record.problem or block.data[record.start] == ord('"'):
                yield line, record

    def _parse_record(self, record: Record) -> Row:
        if record.problem:
            raise DataError(record.problem, cause="quotes")
        if len(record.fields) != len(self._names):
            raise DataError(self._describe_miscount(len(record.fields)), cause="row-width")
        if self._reading.options.rows:
            for field in record.fields:
                field.decode()
        values = {name: record.fields[at].decode() for name, at in self._at.items()}
        return row_of(self._reading, values, written=True)

    def _describe_miscount(self, n_fields: int) -> str:
        n_names = len(self._names)
        columns = f"{n_names} column{'s' if n_names > 1 else ''}"
        expected = f"{columns} expected ({listing(self._names)}), {n_fields} found"
        if not self._quotes:
            return f"{expected}: take tabs out of the text"
        what = "commas" if self._delimiter == b"," else "tabs"
        return f"{expected}: put quotes around text with {what} or line breaks in it"


# --- where records end


def split_records(data: bytes, delimiter: bytes, quotes: bool = True) -> Iterator[Record]:
    """The records of some bytes that end with a line feed.

    >>> [record.fields for record in split_records(b'a,"b ""x"",\\nc"\\r\\n5" disk,\\n', b",")]
    [[b'a', b'b "x",\\nc'], [b'5" disk', b'']]
    >>> [record.problem for record in split_records(b'"a"b,c\\n', b",")]
    ['a field goes on after its closing quote: write quotes inside it twice ("")']
    """
    end = re.escape(delimiter)
    quoted = rb'"((?:[^"]++|"")*+)"(' + end + rb"|\r?\n)|" if quotes else rb"(?!)()()|"
    pattern = re.compile(quoted + rb"([^" + end + rb"\n]*+)(" + end + rb"|\n)")
    start = at = 0
    fields: list[bytes] = []
    while start < len(data):
        found = pattern.match(data, at)
        assert found is not None
        inside, closed, plain, ended = found.groups()
        problem, at = "", found.end()
        if inside is not None:
            fields.append(inside.replace(b'""', b'"'))
        elif not (quotes and plain.startswith(b'"')):
            fields.append(plain.removesuffix(b"\r") if ended == b"\n" else plain)
        else:
            opened = _QUOTED.match(data, found.start())
            assert opened is not None
            is_closed = opened.end() < len(data)
            problem = _GOES_ON if is_closed else _UNCLOSED
            at = data.index(b"\n", opened.end() + 1 if is_closed else found.start()) + 1
        if problem or (closed or ended) != delimiter:
            yield Record(start, at, fields, problem)
            start = at
            fields = []


def _find_quotes(data: bytes) -> Integers:
    return np.flatnonzero(np.frombuffer(data, np.uint8) == ord('"'))


def _are_paired(places: Integers, chars: npt.NDArray[np.uint8], delimiter: int) -> bool:
    """Whether each quote opens or closes a field, or is one of two inside a field."""
    opening, closing = places[::2], places[1::2]
    before = chars[opening - 1]
    after = chars[np.minimum(closing + 1, len(chars) - 1)]
    opens = (opening == 0) | (before == delimiter) | (before == ord("\n")) | (before == ord('"'))
    closes = (after == delimiter) | (after == ord("\n")) | (after == ord("\r")) | (after == ord('"'))
    return bool(opens.all() and closes.all())


def _find_record_lines(data: bytes, delimiter: bytes, places: Integers) -> Integers | None:
    """On which line of a block each record begins, if that can be seen from the places of its quotes."""
    chars = np.frombuffer(data, np.uint8)
    if b"\r" in data and not (chars[np.flatnonzero(chars == ord("\r")) + 1] == ord("\n")).all():
        return None  # Arrow takes CR alone for the end of a line
    feeds = np.flatnonzero(chars == ord("\n"))
    lines = np.arange(len(feeds))
    if len(places):
        if len(places) % 2 or not _are_paired(places, chars, delimiter[0]):
            return None
        lines = np.flatnonzero(np.searchsorted(places, feeds) % 2 == 0)
    ends = feeds[lines]
    starts = np.concatenate([[0], ends[:-1] + 1])
    begins = np.concatenate([[0], lines[:-1] + 1])
    length = ends - starts - (chars[np.maximum(ends - 1, 0)] == ord("\r"))
    return np.asarray(begins[length > 0], np.int64)


def _find_last_record(data: bytes, delimiter: bytes, places: Integers) -> int:
    """Find the end of the last whole record, 0 if there is none; `places` are those of the quotes."""
    end = find_last_line(data)
    if not len(places):
        return end
    chars = np.frombuffer(data, np.uint8)
    if _are_paired(places, chars, delimiter[0]):
        if np.searchsorted(places, end) % 2:  # inside a quoted field
            feeds = np.flatnonzero(chars == ord("\n"))
            outside = feeds[np.searchsorted(places, feeds) % 2 == 0]
            end = int(outside[-1]) + 1 if len(outside) else 0
        return end
    for record in split_records(data[:end], delimiter):
        if record.problem == _UNCLOSED:
            return record.start
        end = record.end
    return end
