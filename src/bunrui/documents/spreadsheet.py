"""Spreadsheets (.xlsx): rows of the first sheet that has any; and tables → a new spreadsheet.

A cell is read as the CSV file of the sheet would have it: a number with up to 15 digits, a date in ISO 8601, TRUE or
FALSE, the last value of a formula, #N/A.  The cells that a merged cell covers are empty.  Hidden sheets and rows
without cells are left out.

The file is a zip of XML.  Python's own parser reads it as a stream (docs/decisions/037): memory has the texts that
cells share, and one batch.  A document type, with which XML names other files or grows, is refused.
"""

from __future__ import annotations

import json
import math
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bunrui.documents.delimited import COMPARED, name_columns
from bunrui.documents.sources import MAX_RECORD, Stream
from bunrui.documents.tabular import read_columns, with_rows
from bunrui.documents.validation import STRING, Batches, Reading
from bunrui.errors import BunruiError, DataError

MOST_ROWS = 1 << 20
"""Rows of a sheet; more go to the next one."""

LONGEST_CELL = 32_767
"""Characters of a cell that is written: spreadsheet programs refuse files with longer ones."""

_OLD = b"\xd0\xcf\x11\xe0"
_BLOCK = 1 << 16
_MOST_COLUMNS = 1 << 14
_LONGEST_ROW = 64 << 20  # characters
_LONGEST_TAG = 16 << 20  # bytes
_MOST_SHEETS = 1000
_MOST_ELEMENTS = 1_000_000  # of a part that says what the others are
_STRING_BYTES = 64  # of a text in memory, beside its characters
# Sheets in use shrink to a tenth, those of one repeated row to a fiftieth; a file that is made to fill memories, to a
# thousandth.
_MOST_GROWTH, _ALWAYS = 200, 10 << 20
_ERRORS = (
    zipfile.BadZipFile, zlib.error, expat.ExpatError, KeyError, ValueError, IndexError, OverflowError, EOFError,
    NotImplementedError, RuntimeError, struct.error,
)  # fmt: skip

Cell = tuple[str, int, str]
"""The kind of a cell, its style, and its value as the file has it."""

Row = tuple[int, dict[int, Cell]]
"""The number of a row, and its cells by column."""


def read_spreadsheet(stream: Stream, reading: Reading) -> Batches:
    """Batches of a spreadsheet."""
    reading.unit = "row"
    if stream.peek().startswith(_OLD):
        old = "this is a spreadsheet of the old kind (.xls), or one with a password"
        hint = "save it as .xlsx without a password"
        raise DataError(old, file=reading.source.name, hint=hint, cause="old-spreadsheet")
    try:
        with zipfile.ZipFile(stream.seekable()) as file:
            yield from _Table(reading, _Book(file, reading)).batches()
    except _ERRORS as error:
        if isinstance(error, BunruiError):
            raise
        why, hint = f"this cannot be read as a spreadsheet ({error})", "save it again as .xlsx, or as CSV"
        raise DataError(why, file=reading.source.name, hint=hint, cause="damaged-file") from error


class _Table:
    """The rows of a sheet below its header."""

    def __init__(self, reading: Reading, book: _Book) -> None:
        self._reading = reading
        self._read, self._kind = book.read_cell, book.kind_of
        rows = book.rows()
        first = list(islice(rows, COMPARED))
        if not first:
            raise DataError("no sheet has cells with anything in them", file=reading.source.name, cause="no-rows")
        header = first[:1] if reading.options.header else []
        width = 1 + max(max(cells) for _, cells in header or first)
        names = [_letters(at) for at in range(width)]
        for _, cells in header:
            names = [self._read(cells[at]) if at in cells else letters for at, letters in enumerate(names)]
        self._rows: Iterator[Row] = chain(first[len(header) :], rows)
        below = ([self._show(cells, at) for at in range(width)] for _, cells in first[1:])
        self._names, self._at = name_columns(reading, names, below)
        self._taken = range(width) if reading.options.rows else sorted(set(self._at.values()))

    def _show(self, cells: dict[int, Cell], at: int) -> str:
        return self._read(cells[at]) if at in cells else ""

    def batches(self) -> Batches:
        """As `bunrui.documents.read` gives them."""
        columns: dict[int, list[str]] = {at: [] for at in self._taken}
        numbers: list[int] = []
        kinds: list[str] = []
        n_bytes = 0
        for number, cells in self._rows:
            numbers.append(number)
            if self._reading.options.rows:
                kinds.append("".join(self._kind(cells[at]) if at in cells else " " for at in columns))
            for at, column in columns.items():
                column.append(self._show(cells, at))
                n_bytes += 8 + len(column[-1])
            if n_bytes >= self._reading.options.batch_bytes:
                yield self._batch(columns, numbers, kinds)
                columns, numbers, kinds, n_bytes = {at: [] for at in columns}, [], [], 0
        yield self._batch(columns, numbers, kinds)

    def _batch(self, columns: dict[int, list[str]], numbers: list[int], kinds: list[str]) -> pa.RecordBatch | None:
        arrays = {at: pa.array(cells, STRING) for at, cells in columns.items()}
        lines = np.array(numbers, np.int64)
        found = {name: arrays[at] for name, at in self._at.items()}
        batch = read_columns(self._reading, found, lines, written=True)
        if not self._reading.options.rows:
            return batch
        batch = with_rows(batch, lines, arrays.values(), self._names)
        if batch is not None:
            places = np.searchsorted(lines, batch["line"].to_numpy())
            batch = batch.append_column("kinds", pa.array(kinds, STRING).take(pa.array(places)))
        return batch


def _letters(at: int) -> str:
    """The letters of a column.

    >>> [_letters(at) for at in (0, 25, 26, 16383)]
    ['A', 'Z', 'AA', 'XFD']
    """
    return (_letters(at // 26 - 1) if at >= 26 else "") + chr(ord("A") + at % 26)


def _column(letters: str) -> int:
    """The place of a column.

    >>> [_column(letters) for letters in ("A", "Z", "AA", "XFD")]
    [0, 25, 26, 16383]
    """
    at = 0
    for letter in letters:
        at = at * 26 + ord(letter) - ord("A") + 1
    if not 0 < at <= _MOST_COLUMNS:
        raise ValueError(f"there is no column {letters[:10]!r}")
    return at - 1


# --- the parts of the file


Element = tuple[str, dict[str, str]]
"""A tag and its attributes."""


class _Book:
    """A workbook: its sheets, the texts that cells share, and which styles are dates."""

    def __init__(self, file: zipfile.ZipFile, reading: Reading) -> None:
        self._file, self._reading = file, reading
        self._parts = {name.lower(): name for name in file.namelist()}
        root = self._relations("")
        main = next(target for kind, target in root.values() if kind == "officeDocument")
        related = self._relations(main)
        self._sheets: list[str] = []  # that can be seen
        self._first_day = datetime(1899, 12, 30)
        for tag, attributes in self._elements(main):
            if tag == "workbookPr" and attributes.get("date1904") in ("1", "true"):
                self._first_day = datetime(1904, 1, 1)
            elif tag == "sheet":
                kind, part = related[next(value for name, value in attributes.items() if name.endswith(":id"))]
                if kind == "worksheet" and attributes.get("state", "visible") == "visible":
                    self._sheets.append(part)
        parts = dict(related.values())
        self._styles = self._date_styles(parts["styles"]) if "styles" in parts else []
        self._texts = self._shared(parts["sharedStrings"]) if "sharedStrings" in parts else []

    def rows(self) -> Iterator[Row]:
        """The rows of the first sheet that has any."""
        for part in self._sheets[:_MOST_SHEETS]:
            rows = self._rows(part)
            if (first := next(rows, None)) is not None:
                yield first
                yield from rows
                return

    def _relations(self, part: str) -> dict[str, tuple[str, str]]:
        """The kinds and the names of other parts, by the ids by which a part calls them."""
        folder, name = posixpath.split(part)
        found = {}
        for tag, attributes in self._elements(f"{folder}/_rels/{name}.rels".lstrip("/")):
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attributes["Target"])).lstrip("/")
                found[attributes["Id"]] = attributes["Type"].rpartition("/")[2], target
        return found

    def _elements(self, part: str) -> list[Element]:
        """The elements of a part that has no text."""
        found: list[Element] = []
        for _ in self._parse(part, _Parser({}, {}, found.append)):
            if len(found) > _MOST_ELEMENTS:
                raise ValueError(f"{part} is too long")
        return found

    def _parse(self, part: str, parser: _Parser) -> Iterator[float]:
        """Have a parser read a part, block by block; how much is done."""
        info = self._file.getinfo(self._parts.get(part.lower(), part))
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError(f"{part} is packed in another way than spreadsheets are")
        if info.file_size > _ALWAYS + _MOST_GROWTH * info.compress_size:
            raise ValueError(f"{part} would grow from {info.compress_size:,} to {info.file_size:,} bytes")
        n_bytes = 0
        with self._file.open(info) as opened:
            while block := opened.read(_BLOCK):
                n_bytes += len(block)
                if n_bytes - parser.parse(block) > _LONGEST_TAG:
                    raise ValueError(f"{part} has a tag of more than {_LONGEST_TAG >> 20} MB")
                yield n_bytes / max(1, info.file_size)
            parser.parse(b"")
        yield 1.0

    def _date_styles(self, part: str) -> list[bool]:
        """Whether each format of cells is one of dates."""
        formats: dict[str, str] = {}
        found: list[bool] = []
        is_inside = False
        for tag, attributes in self._elements(part):
            if tag == "numFmt":
                formats[attributes["numFmtId"]] = attributes["formatCode"]
            elif tag in ("cellXfs", "cellStyles"):
                is_inside = tag == "cellXfs"
            elif tag == "xf" and is_inside:
                number = attributes.get("numFmtId", "0")
                found.append(_is_date(formats[number]) if number in formats else int(number) in _DATES)
        return found

    def _shared(self, part: str) -> list[str]:
        """The texts that cells call by number."""
        texts: list[str] = []
        parser = _Parser({}, {"si": lambda text: texts.append(_unescape(text))})
        done, n_bytes = 0, 0
        for _ in self._parse(part, parser):
            more = sum(_STRING_BYTES + len(text) for text in texts[done:])
            done, n_bytes = len(texts), n_bytes + more
            self._reading.progress.unpacked(more)
            if n_bytes > MAX_RECORD:
                raise ValueError(f"its texts have more than {MAX_RECORD >> 20} MB")
        return texts

    def _rows(self, part: str) -> Iterator[Row]:
        rows: list[Row] = []
        cells: dict[int, Cell] = {}
        number, at, kind, style, size = 0, -1, "n", 0, 0

        def start_row(attributes: dict[str, str]) -> None:
            nonlocal number, at, cells, size
            number = max(number + 1, int(attributes.get("r", 0)))
            cells, at, size = {}, -1, 0

        def start_cell(attributes: dict[str, str]) -> None:
            nonlocal at, kind, style
            place = attributes.get("r")
            at = at + 1 if place is None else _column(place.rstrip("0123456789"))
            kind, style = attributes.get("t", "n"), int(attributes.get("s", 0))

        def end_cell(text: str) -> None:
            nonlocal size
            if text:
                cells[at] = kind, style, text
                size += len(text)
                _check_length(size)

        def end_row(_: str) -> None:
            if cells:
                rows.append((number, cells))

        parser = _Parser({"row": start_row, "c": start_cell}, {"row": end_row, "c": end_cell})
        progress, source = self._reading.progress, self._reading.source
        for share in self._parse(part, parser):
            progress.unpacked(sum(len(text) for _, found in rows for _, _, text in found.values()))
            if source.size:
                progress.bytes_read = self._reading.bytes_before + int(share * source.size)
            yield from rows
            rows.clear()

    def read_cell(self, cell: Cell) -> str:
        """The text that a cell shows."""
        kind, style, text = cell
        match kind:
            case "s":
                return self._texts[int(text)]
            case "n":
                value = float(text)
                is_date = style < len(self._styles) and self._styles[style]
                return self._date(value) if is_date else f"{value:.15g}"
            case "b":
                return "TRUE" if text.strip() in ("1", "true") else "FALSE"
        return _unescape(text)

    def kind_of(self, cell: Cell) -> str:
        """The kind of a cell: a text (s), a number (n), true or false (b), a date or a time (d)."""
        kind, style, text = cell
        if kind != "n":
            return "b" if kind == "b" else "s"
        is_date = style < len(self._styles) and self._styles[style]
        return "d" if is_date else "n" if math.isfinite(float(text)) else "s"

    def _date(self, days: float) -> str:
        """A day, a time, or both."""
        if self._first_day.year == 1899 and 1 <= days < 60:
            days += 1  # spreadsheets have a 29th of February 1900
        try:
            moment = self._first_day + timedelta(seconds=round(days * 86400))
        except (OverflowError, ValueError):
            return f"{days:.15g}"
        if 0 <= days < 1:
            return moment.time().isoformat()
        return moment.date().isoformat() if days == int(days) else moment.isoformat(" ")


class _Parser:
    """Calls functions where elements start, with their attributes, and where they end, with the text in them.

    Text stands in the elements t and v; the readings above Japanese words (rPh) are left out.
    """

    def __init__(
        self,
        starts: dict[str, Callable[[dict[str, str]], None]],
        ends: dict[str, Callable[[str], None]],
        every: Callable[[Element], None] | None = None,
    ) -> None:
        self._starts, self._ends, self._every = starts, ends, every
        self._parts: list[str] = []
        self._n_readings = 0
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler, self._expat.EndElementHandler = self._start, self._end
        self._expat.StartDoctypeDeclHandler = _refuse_type

    def parse(self, block: bytes) -> int:
        """Read on, to the end if the block is empty; the bytes that were read so far."""
        self._expat.Parse(block, not block)
        _check_length(sum(map(len, self._parts)))
        return self._expat.CurrentByteIndex

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if ":" in tag:
            tag = tag.rpartition(":")[2]
        if self._every is not None:
            self._every((tag, attributes))
        elif tag in ("t", "v"):
            if not self._n_readings:
                self._expat.CharacterDataHandler = self._parts.append
        elif tag == "rPh":
            self._n_readings += 1
        elif (call := self._starts.get(tag)) is not None:
            call(attributes)

    def _end(self, tag: str) -> None:
        if ":" in tag:
            tag = tag.rpartition(":")[2]
        if tag in ("t", "v"):
            self._expat.CharacterDataHandler = None
        elif tag == "rPh":
            self._n_readings -= 1
        elif (call := self._ends.get(tag)) is not None:
            text = "".join(self._parts)
            self._parts.clear()
            call(text)


def _refuse_type(*_: Any) -> None:
    raise ValueError("it has a document type")


def _check_length(n_characters: int) -> None:
    if n_characters > _LONGEST_ROW:
        raise ValueError(f"a row has more than {_LONGEST_ROW >> 20} million characters")


# Formats of dates that have no code in the file; from 27 on those of East Asia.
_DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_NO_CODE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)


def _is_date(code: str) -> bool:
    """Whether a format is one of dates and times.

    >>> [_is_date(code) for code in ("yyyy/m/d", "[h]:mm", "0.00", '#,##0 "days"', "[Red]0", "General", "m\\\\月")]
    [True, True, False, False, False, False, True]
    """
    plain = _NO_CODE.sub("", code).lower()
    return "general" not in plain and any(sign in plain for sign in "ymdhs")


_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def _unescape(text: str) -> str:
    """Text with the characters that XML cannot have.

    >>> _unescape("a_x000D_b_x005F_x000D_")
    'a\\rb_x000D_'
    """
    if "_x" not in text:
        return text
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- writing


_BAD = "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_|\r"
_CELL = '<c t="inlineStr"><is><t xml:space="preserve">', "</t></is></c>"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


class SheetWriter:
    """Writes tables into a new spreadsheet: strings as strings, numbers as numbers, true and false.

    A string that begins with = is no formula.  Other values, such as lists, are written as strings.  Cells that were
    read from a spreadsheet, as strings, become again what they were, where `kinds` tells it.  Texts of more than 32,767
    characters are cut, and end with …; rows beyond 1,048,576 go to another sheet.

    Parameters
    ----------
    sink : binary file
    schema : pyarrow.Schema
        The columns.

    Examples
    --------
    >>> import io
    >>> from bunrui.documents import read
    >>> file = io.BytesIO()
    >>> writer = SheetWriter(file, pa.schema({"text": pa.string(), "label": pa.string()}))
    >>> writer.write_table(pa.table({"text": ["=1+1", "分類 <b>"], "label": ["a", "b"]}))
    >>> writer.close()
    >>> [batch["text"].to_pylist() for batch in read(io.BytesIO(file.getvalue()), format="xlsx")]
    [['=1+1', '分類 <b>']]
    """

    def __init__(self, sink: Any, schema: pa.Schema) -> None:
        self._file = zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self._header = pa.table({str(at): [name] for at, name in enumerate(schema.names)})
        self._n_sheets = 0
        self._n_rows = MOST_ROWS
        self._sheet: Any = None
        self._begin_sheet()

    def write_table(self, table: pa.Table, kinds: pa.Array | None = None) -> None:
        """Write rows; `kinds` has a sign of `kind_of` for each of the first columns, in a string for each row."""
        start = 0
        while start < table.num_rows:
            if self._n_rows == MOST_ROWS:
                self._begin_sheet()
            n = min(MOST_ROWS - self._n_rows, _WRITTEN)
            columns = [_whole(column) for column in table.slice(start, n).columns]
            self._write(columns, None if kinds is None else kinds.slice(start, n))
            start += n

    def close(self) -> None:
        """Write the end of the file."""
        self._end_sheet()
        numbers = range(1, self._n_sheets + 1)
        sheets = "".join(f'<sheet name="{n}" sheetId="{n}" r:id="rId{n}"/>' for n in numbers)
        relations = "".join(_relation(n, "worksheet", f"worksheets/sheet{n}.xml") for n in numbers)
        overrides = "".join(_override(f"/xl/worksheets/sheet{n}.xml", "worksheet") for n in numbers)
        relations += _relation(self._n_sheets + 1, "styles", "styles.xml")
        overrides += _override("/xl/styles.xml", "styles")
        parts = {
            "xl/styles.xml": _STYLES,
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _relations(relations),
            "_rels/.rels": _relations(_relation(1, "officeDocument", "xl/workbook.xml")),
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
            f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f"{_override('/xl/workbook.xml', 'sheet.main')}{overrides}</Types>",
        }
        for name, content in parts.items():
            self._file.writestr(name, _HEAD + content)
        self._file.close()

    def _begin_sheet(self) -> None:
        self._end_sheet()
        self._n_sheets += 1
        self._n_rows = 0
        self._sheet = self._file.open(f"xl/worksheets/sheet{self._n_sheets}.xml", "w", force_zip64=True)
        self._sheet.write(f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
        self._write([column.combine_chunks() for column in self._header.columns])

    def _end_sheet(self) -> None:
        if self._sheet is not None:
            self._sheet.write(b"</sheetData></worksheet>")
            self._sheet.close()

    def _write(self, columns: list[Any], kinds: pa.Array | None = None) -> None:
        n_kinds = 0 if kinds is None or not len(kinds) else len(kinds[0].as_py())
        cells = [
            _typed_cells(column, pc.utf8_slice_codeunits(kinds, at, at + 1)) if at < n_kinds else _cells(column)
            for at, column in enumerate(columns)
        ]
        rows = pc.binary_join_element_wise("<row>", *cells, "</row>", "")
        self._sheet.write("".join(rows.to_pylist()).encode())
        self._n_rows += len(rows)


_WRITTEN = 10_000
_FIRST_DAY = datetime(1899, 12, 30)
# A plain cell, a day, a day with its time, a time.
_XF = '<xf numFmtId="{}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs '
    f'count="1"><xf/></cellStyleXfs><cellXfs count="4">{"".join(map(_XF.format, (0, 14, 22, 21)))}</cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


def _relation(number: int, kind: str, target: str) -> str:
    return f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'


def _relations(content: str) -> str:
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{content}</Relationships>'


def _override(part: str, kind: str) -> str:
    return f'<Override PartName="{part}" ContentType="{_TYPES}.{kind}+xml"/>'


def _cells(column: pa.Array) -> pa.Array:
    """The cells of a column, as XML."""
    kind = column.type
    if pa.types.is_boolean(kind):
        cells = pc.if_else(column, '<c t="b"><v>1</v></c>', '<c t="b"><v>0</v></c>')
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        known = pc.if_else(pc.is_finite(column), column, None)
        # Spreadsheets count in floats: a longer number is an id.
        is_exact = pc.less_equal(pc.abs(known.cast(pa.float64(), safe=False)), float(1 << 53))
        number = pc.binary_join_element_wise("<c><v>", known.cast(STRING), "</v></c>", "")
        cells = pc.if_else(is_exact, number, _strings(known.cast(STRING)))
    else:
        cells = _strings(as_strings(column))
    return pc.fill_null(cells, "<c/>")


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _typed_cells(column: pa.Array, kinds: pa.Array) -> pa.Array:
    """The cells of a column of strings, each of the kind that it had in the spreadsheet that it comes from."""
    cells = _cells(column)
    number = pc.binary_join_element_wise("<c><v>", column, "</v></c>", "")
    truth = pc.if_else(pc.equal(column, "TRUE"), '<c t="b"><v>1</v></c>', '<c t="b"><v>0</v></c>')
    for kind, written in (("n", number), ("b", truth), (" ", "<c/>")):
        cells = pc.if_else(pc.equal(kinds, kind), written, cells)
    is_date = pc.equal(kinds, "d")
    if pc.any(is_date).as_py():
        dates = [_date_cell(text) for text in column.filter(is_date).to_pylist()]
        cells = pc.replace_with_mask(cells, is_date, pc.coalesce(pa.array(dates, STRING), cells.filter(is_date)))
    return cells


def _date_cell(text: str) -> str | None:
    """A day, a time or both, as `_Book` writes them → a number with a style; None for any other text.

    >>> [_date_cell(text) for text in ("2024-02-29", "2024-02-29 12:00:00", "06:00:00", "4e9")]
    ['<c s="1"><v>45351</v></c>', '<c s="2"><v>45351.5</v></c>', '<c s="3"><v>0.25</v></c>', None]
    """
    is_time = "-" not in text
    try:
        days = (datetime.fromisoformat(f"1899-12-30 {text}" if is_time else text) - _FIRST_DAY) / timedelta(days=1)
    except ValueError:
        return None
    if not is_time and days < 61:
        days -= 1  # spreadsheets have a 29th of February 1900
    style = 3 if is_time else 1 if len(text) == len("2024-02-29") else 2
    return f'<c s="{style}"><v>{days:.15g}</v></c>' if is_time or days >= 1 else None


def as_strings(column: pa.Array) -> pa.Array:
    """A column as strings; what Arrow cannot write so, such as a list, as JSON."""
    try:
        return column.cast(STRING)
    except pa.ArrowException:
        values = column.to_pylist()
        return pa.array([None if value is None else to_json(value) for value in values], STRING)


def to_json(value: Any) -> str:
    """A value of a cell as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _strings(texts: pa.Array) -> pa.Array:
    if pc.any(pc.greater(pc.utf8_length(texts), LONGEST_CELL)).as_py():
        cut = pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, LONGEST_CELL - 1), "…", "")
        texts = pc.if_else(pc.greater(pc.utf8_length(texts), LONGEST_CELL), cut, texts)
    if pc.any(pc.match_substring_regex(texts, _BAD)).as_py():
        texts = pa.array([None if text is None else _escape(text) for text in texts.to_pylist()], STRING)
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        texts = pc.replace_substring(texts, sign, written)
    return pc.binary_join_element_wise(_CELL[0], texts, _CELL[1], "")


def _escape(text: str) -> str:
    """The opposite of `_unescape`."""
    text = _ESCAPED.sub(lambda found: f"_x005F{found[0]}", text)
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
