"""`read`: files, patterns, folders, addresses and streams → record batches, one source after the other.

The suffix of a file tells its format, or the first bytes of a stream.  A folder has a file for each document.
"""

from __future__ import annotations

import glob
import os
import re
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from bunrui.documents.columnar import files_of, is_dataset, read_arrow, read_parquet, read_table, splits_of
from bunrui.documents.delimited import read_delimited, split_records
from bunrui.documents.encodings import AUTO, FIRST, detect, encoding_error, transcoder
from bunrui.documents.lines import read_fasttext, read_jsonl, read_lines
from bunrui.documents.mail import is_mail
from bunrui.documents.mailbox import add_mails, is_maildir, maildir_files, read_eml, read_maildir, read_mbox
from bunrui.documents.sources import COMPRESSIONS, Progress, Source, Stream, find_files, is_address
from bunrui.documents.tabular import check_format
from bunrui.documents.validation import Batches, Options, Reading, Row, Rows, decode_name, give_type, split_labels
from bunrui.errors import DataError, LabelError, Option, OptionError, Step
from bunrui.labels import TYPES, plain, plain_type
from bunrui.phrases import some


def read(
    sources: Any,
    *,
    text: str | Iterable[str] = "text",
    label: str = "label",
    id: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    skip_bad: bool = False,
    labelled: bool = True,
    batch_bytes: int = 16 << 20,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    separator: str | None = None,
    columns: bool = False,
    header: bool = True,
    rows: bool = False,
    label_type: type | None = str,
) -> Reader:
    """Read documents from files, folders, streams and tables.

    Parameters
    ----------
    sources : path, "-", binary stream, table, an iterable of these, or a mapping from label to any of these
        They are read one after the other; "-" is the standard input.  In a mapping, all documents of a source get its
        label, whatever the source holds.  A table is a Dataset or IterableDataset of Hugging Face, or anything with the
        Arrow stream interface (pyarrow, polars, pandas, DuckDB).
    text : str or iterable of str
        The column with the text; several are joined by line breaks.
    label : str
        The column with the label, or the list of labels.
    id : str, optional
        The column with an id.
    format : str, optional
        One of `FORMATS`.  By default the suffix of a file decides; the first bytes decide for a stream, a `.txt` file,
        and a file without a suffix.
    encoding : str
        The encoding of text; Parquet, Arrow and most mail name their own.  `"auto"` guesses the encoding of each file
        from its first megabyte: UTF-8, UTF-16 or UTF-32 with a byte order mark, UTF-16 of mostly ASCII without one,
        ISO-2022-JP, cp932, EUC-JP, GB18030, Big5, cp949 or cp1252.  If none fits clearly, it is UTF-8, and other rows
        are bad.  `Reader.encodings` counts the files of each encoding.
    skip_bad : bool
        Skip bad rows and count them; else the first one raises an error.
    labelled : bool
        Read labels; else labels in the sources are ignored.
    batch_bytes : int
        About how many bytes of a source a batch holds; a longer document is a batch of its own.
    include, exclude : str or iterable of str, optional
        Patterns such as `"*.txt"`, of the files in a folder to be read and to be left out.
    separator : str, optional
        The separator between several labels of a document: with `";"`, the label `a;b` is two labels.
    columns : bool
        Read tables: the text of a document is a JSON object of all columns except label and id.  Cells of CSV and TSV
        are numbers, strings, or null (nothing, `?`, `NA`, `N/A`, `null`, `None`, `NaN`).
    header : bool
        CSV, TSV and spreadsheets begin with a line of column names; else the columns are called `"1"`, `"2"` and so on.
        `Reader.doubtful_headers` has the files whose first line looks like a row.
    rows : bool
        Also give the whole rows, as a column `row`: a struct of all columns, strings except in Parquet and Arrow files;
        of JSON lines the line.  Formats without columns have none.
    label_type : {str, int, bool, None}
        The type of all labels.  Strings take numbers, true and false as they are written; integers take the string
        `"10"`, and booleans `"true"`.  None leaves it to the first document: a number in JSON lines, Parquet or Arrow
        makes integers, true or false makes booleans, and CSV and all other formats have strings.

    Returns
    -------
    Reader
        An iterable of `pyarrow.RecordBatch`.

    Raises
    ------
    DataError
        With the file and the line: here if a file is missing, and during reading if a row is bad.

    Examples
    --------
    >>> import io
    >>> lines = io.BytesIO(b'{"label": "spam", "text": "win money"}\\n{"label": 7, "text": "lunch?"}\\n')
    >>> for batch in read(lines):
    ...     print(batch.select(["label", "text", "line"]).to_pylist())
    [{'label': 'spam', 'text': 'win money', 'line': 1}, {'label': '7', 'text': 'lunch?', 'line': 2}]
    >>> [batch["label"].to_pylist() for batch in read(io.BytesIO(b'{"label": 7, "text": "a"}\\n'), label_type=None)]
    [[7]]
    >>> next(iter(read(io.BytesIO(b"text,topic\\nhello,"), label="topic")))
    Traceback (most recent call last):
    bunrui.errors.DataError: stream, line 2: the label is empty: give it a name, or leave the row out
    >>> [batch["text"].to_pylist() for batch in read(io.BytesIO(b"one\\ntwo\\n"), labelled=False)]
    [['one', 'two']]
    >>> [batch["text"].to_pylist() for batch in read(io.BytesIO(b"age,job,label\\n39,?,a\\n"), columns=True)]
    [['{"age":39,"job":null}']]
    >>> rows = io.BytesIO(b"win money,spam\\nlunch?,ham\\n")
    >>> [batch["text"].to_pylist() for batch in read(rows, format="csv", text="1", label="2", header=False)]
    [['win money', 'lunch?']]
    """
    names = _names(text)
    if columns and names != ("text",):
        raise OptionError(("a table is read with all of its columns: leave ", Option("text"), " out"))
    if not names:
        raise OptionError((Option("text"), " names no column: give at least one"))
    if separator is not None and not separator.strip():
        raise OptionError(option="separator", value=separator, expected="a character such as ';'")
    if batch_bytes < 1:
        raise OptionError(option="batch_bytes", value=batch_bytes, expected="at least 1")
    try:
        # Not of text: idna and punycode, which are for names of hosts, know no bytes that cannot be decoded.
        b"a\xff".decode("utf-8" if encoding == AUTO else encoding, "replace")
    except (LookupError, ValueError) as error:
        known = "utf-8, cp932, euc-jp, gb18030, big5, cp949, cp1252 or auto"
        raise OptionError(
            f"there is no text encoding {encoding!r}", option="encoding", value=encoding, hint=f"try {known}"
        ) from error
    if label_type not in (*TYPES.values(), None):
        raise OptionError(option="label_type", value=label_type, expected="str, int, bool or None")
    found = find_sources(sources, format)
    if columns:
        for source in found:
            check_format(source.name, source.format)
        names, batch_bytes = (), max(1, batch_bytes // _GROWTH)
    wanted, unwanted = _names(include or ()), _names(exclude or ())
    how = (encoding, skip_bad, labelled, batch_bytes, wanted, unwanted, separator, columns, header, rows, label_type)
    options = Options(names, label, id, *how)
    return Reader(found, options)


# How much longer a row can be with the names of its columns: the cells of some tables have one digit.
_GROWTH = 8


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


class Reader:
    """The batches of some sources; made by `read`.

    Each pass reads the sources from the start; a stream allows only one pass.  Files are closed at the end of a pass,
    when the pass is left early, and by `close`, also at the end of a `with` block.

    Attributes
    ----------
    sources : list of Source
    options : Options
    progress : Progress
        The counters of this pass; the usual ones are attributes, too.

    Examples
    --------
    >>> import io
    >>> with read(io.BytesIO(b"text,label\\na,x\\nb,\\nc,y\\n"), skip_bad=True) as reader:
    ...     print(sum(batch.num_rows for batch in reader), reader.n_skipped, reader.bytes_read)
    2 1 22
    >>> reader.skipped
    ['stream, line 3: the label is empty: give it a name, or leave the row out']
    """

    def __init__(self, sources: list[Source], options: Options) -> None:
        self.sources, self.options = sources, options
        self.progress = Progress()
        self._pass: Callable[[], Generator[pa.RecordBatch] | None] = lambda: None
        self._used: set[int] = set()  # streams that were read
        self._may_be_empty: tuple[str, ...] = ()

    def allowing_empty(self) -> Reader:
        """The same reader, but an empty file has no documents instead of an error, if its format needs no header."""
        self._may_be_empty = ("jsonl", "fasttext", "lines", "mbox")
        return self

    @cached_property
    def bytes_total(self) -> int | None:
        """Bytes of all sources, None if one is a pipe."""
        sizes = [_size(source, self.options) for source in self.sources]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def bytes_read(self) -> int:
        """Bytes read so far in this pass, before decompression."""
        return self.progress.bytes_read

    @property
    def bytes_unpacked(self) -> int:
        """Bytes read so far in this pass, after decompression; those of columns as they are in memory."""
        return self.progress.bytes_unpacked

    @property
    def n_skipped(self) -> int:
        """Bad rows left out so far in this pass."""
        return self.progress.n_skipped

    @property
    def skipped(self) -> list[str]:
        """Messages about the first 20 of them."""
        return list(map(str, self.progress.skipped))

    @property
    def doubtful_headers(self) -> list[str]:
        """Files of this pass so far whose first line has the column names, but looks like a row."""
        return list(self.progress.doubtful_headers)

    @property
    def encodings(self) -> dict[str, int]:
        """How many files of this pass were not UTF-8 so far, by encoding; only with `encoding="auto"`."""
        return dict(self.progress.encodings)

    @property
    def names_labels(self) -> bool:
        """Whether labels come from the names of mailboxes, or of the folders of mails."""
        mail = ("eml", "mbox", "maildir")
        return self.options.labelled and any(s.label is None and s.format in mail for s in self.sources)

    @property
    def columns(self) -> list[str]:
        """The columns of tables that were met so far in this pass, but the label and the id."""
        return list(self.progress.columns)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self.close()
        self.progress = Progress()
        batches = self.batches(self.progress)
        self._pass = weakref.ref(batches)  # not the pass itself: it ends when nobody else holds it
        return batches

    def batches(self, progress: Progress) -> Generator[pa.RecordBatch]:
        """A pass whose progress the caller keeps."""
        progress.label_type = self.options.label_type
        for at, source in enumerate(self.sources):
            before = progress.bytes_read
            if source.is_stream:
                if at in self._used:
                    raise DataError(f"{source.name} was read before, and a stream can be read only once")
                self._used.add(at)
            several = len(self.sources) > 1 and self.options.encoding != AUTO
            reading = Reading(source, self.options, progress, before, several=several)
            for batch in _read(reading, self._may_be_empty):
                if batch is not None and self.options.labelled:
                    batch = give_type(split_labels(batch, reading), reading)
                if batch is not None and batch.num_rows:
                    yield batch
            if source.size is not None:
                progress.bytes_read = before + source.size

    def close(self) -> None:
        """Close the files of a pass under way."""
        batches = self._pass()
        if batches is not None:
            batches.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read(reading: Reading, may_be_empty: tuple[str, ...]) -> Batches:
    source = reading.source
    if source.table is not None:
        yield from read_table(reading)
    elif source.format == "maildir":
        yield from read_maildir(reading)
    elif source.format == "folder" or (source.format == "eml" and source.path and os.path.isdir(source.path)):
        yield from read_folder(reading)
    else:
        with Stream(source, reading.progress) as stream:
            head = stream.peek()
            if not head:
                if source.format in may_be_empty:
                    return
                raise DataError("the file is empty", file=source.name, hint="give one with documents", cause="no-rows")
            format = source.format or guess_format(head, reading)
            if reading.options.columns:
                check_format(source.name, format)
            if reading.options.encoding == AUTO and format in _TEXTS:
                reading.options = replace(reading.options, encoding=reading.encoding_of(stream.peek(FIRST)))
            yield from _FILES[format](stream, reading)


def _read_spreadsheet(stream: Stream, reading: Reading) -> Batches:
    from bunrui.documents.spreadsheet import read_spreadsheet  # zipfile takes time to import

    return read_spreadsheet(stream, reading)


_FILES: dict[str, Callable[[Stream, Reading], Batches]] = {
    "csv": partial(read_delimited, delimiter=b","),
    "tsv": partial(read_delimited, delimiter=b"\t"),
    "tab": partial(read_delimited, delimiter=b"\t", quotes=False),
    "jsonl": read_jsonl,
    "xlsx": _read_spreadsheet,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "fasttext": read_fasttext,
    "lines": read_lines,
    "eml": read_eml,
    "mbox": read_mbox,
}


_TEXTS = ("csv", "tsv", "tab", "jsonl", "fasttext", "lines")  # which do not say what their encoding is


def _size(source: Source, options: Options) -> int | None:
    if source.path is None or not os.path.isdir(source.path):
        return source.size
    if source.format == "maildir":
        return sum(os.path.getsize(path) for path, _ in maildir_files(source.path))
    return sum(os.path.getsize(os.path.join(source.path, path)) for path in folder_files(source.path, options))


# --- files and their formats

FORMATS = (
    "csv", "tsv", "tab", "xlsx", "jsonl", "parquet", "arrow", "fasttext", "lines", "eml", "mbox", "maildir", "folder",
)  # fmt: skip
"""The names of all formats."""

_FOLDERS = ("eml", "maildir", "folder")
_SUFFIXES = {
    "csv": "csv", "tsv": "tsv", "xlsx": "xlsx", "xlsm": "xlsx", "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl",
    "parquet": "parquet", "pq": "parquet", "arrow": "arrow", "arrows": "arrow", "ipc": "arrow", "feather": "arrow",
    "eml": "eml", "mbox": "mbox", "txt": "",
}  # fmt: skip
_MARKS = {b"PK\x03\x04": "xlsx", b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
_SPREADSHEETS = ("xls", "xlsb", "ods", "numbers")


def find_sources(sources: Any, format: str | None) -> list[Source]:
    """All sources in the order given, those of a mapping with their label.

    Parameters
    ----------
    sources : path, address, "-", binary stream, table, an iterable of these, or a mapping from label to any of these
    format : str or None
        One of `FORMATS`; None to go by the suffix.
    """
    if format is not None and format not in FORMATS:
        raise OptionError(option="format", value=format, choices=FORMATS)
    found = list(_find(sources, format, None))
    if not found:
        raise DataError("there is nothing to read: give at least one file")
    if sum(source.is_stream and source.stream is None for source in found) > 1:
        raise DataError("the standard input (-) can be read only once: give it once")
    return found


def _find(sources: Any, format: str | None, label: Any) -> Iterator[Source]:
    if is_dataset(sources) or _is_table(sources):
        yield Source(type(sources).__name__, None, format="arrow", label=label, table=sources)
    elif splits := splits_of(sources):
        raise DataError(f"this dataset has the splits {some(splits)}: give one, such as dataset[{splits[0]!r}]")
    elif isinstance(sources, Mapping):
        for name, inner in sources.items():
            if plain_type(name) not in TYPES.values() or name == "":
                raise LabelError(f"a label of the sources is {name!r}: give a string that is not empty, or an integer")
            yield from _find(inner, format, plain(name))
    elif isinstance(sources, Source):
        yield replace(sources, format=format or sources.format, label=label)
    elif isinstance(sources, (str, os.PathLike)):
        path = os.fsdecode(os.fspath(sources))
        if is_address(path):
            for found in find_files(path):
                known, compression = find_format(found.name, found.key, format)
                yield replace(found, format=known, compression=compression, label=label)
        else:
            for match in _expand(path):
                for file in (format in (None, "arrow") and files_of(match)) or [match]:
                    yield _describe_path(file, format, label)
    elif hasattr(sources, "read"):
        name = str(getattr(sources, "name", "") or "stream")
        yield Source(name, None, sources, format or "", label=label)
    elif isinstance(sources, Iterable) and not isinstance(sources, (bytes, bytearray)):
        for inner in sources:
            yield from _find(inner, format, label)
    else:
        raise DataError(f"a source is a path, '-' or a binary stream, not {type(sources).__name__}")


def _is_table(data: Any) -> bool:
    """Whether this gives an Arrow stream of columns; a series, which may hold paths, gives a single one."""
    return hasattr(data, "__arrow_c_stream__") and (hasattr(data, "columns") or hasattr(data, "schema"))


def _expand(path: str) -> list[str]:
    """The path; if it is a pattern that the shell has not expanded, the paths that match."""
    if os.path.lexists(path) or not glob.has_magic(path):
        return [path]
    found = sorted(glob.glob(path))
    if not found:
        raise DataError(f"no file matches {path!r}", hint=(Step("check-pattern"),))
    return found


def _describe_path(path: str, format: str | None, label: Any) -> Source:
    if path == "-":
        return Source("<stdin>", None, None, format or "", label=label)
    if os.path.isdir(path):
        if format is not None and format not in _FOLDERS:
            raise DataError(f"{path} is a folder, and {format} is read from files: give the files in it")
        if format == "maildir" and not is_maildir(path):
            raise DataError(f"{path} is no Maildir: it has no folders cur and new")
        return Source(path, path, None, format or ("maildir" if is_maildir(path) else "folder"), label=label)
    if not os.path.exists(path):
        raise DataError(f"there is no file {path!r}", hint=(Step("check-path"),))
    known, compression = find_format(path, path, format)
    size = os.path.getsize(path) if os.path.isfile(path) else None
    return Source(path, path, None, known, compression, label, size)


def find_format(name: str, path: str, format: str | None) -> tuple[str, str]:
    """The format and the compression of a file."""
    if format in ("maildir", "folder"):
        raise DataError(f"{name} is a file, and format {format!r} is read from a folder: give the folder")
    suffixes = [suffix[1:].lower() for suffix in PurePath(path).suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    if format is None:
        format = _SUFFIXES.get(suffixes[-1]) if suffixes else ""  # mailboxes have no suffix
    if format is None and suffixes[-1] in _SPREADSHEETS:
        old = f"the spreadsheet {name!r} cannot be read: save it as .xlsx, or as CSV (UTF-8), first"
        raise DataError(old, cause="old-spreadsheet")
    if format is None:
        hint = "give ", Option("format", ...), f", one of {', '.join(FORMATS[:-2])}"
        unknown = f"the name {name!r} does not tell the format"
        raise DataError(unknown, option="format", hint=hint, cause="unknown-format")
    return format, compression


def guess_format(head: bytes, reading: Reading) -> str:
    """The format of a stream, from its first bytes.

    Spreadsheets, Parquet, Arrow and mbox have marks; a mail has headers; JSON lines begin with {; fastText has
    `__label__`; CSV and TSV have a header with the wanted columns.  Anything else is lines.  If a table is wanted, it
    is CSV or TSV.
    """
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    if re.match(rb"From \S+[^\n]*\d\d?:\d\d[^\n]*\n", head):
        return "mbox"
    if is_mail(head):
        return "eml"
    encoding = reading.options.encoding
    if encoding == AUTO:
        encoding = detect(head, is_cut=True)
    text = head.decode(encoding, "replace").lstrip("\ufeff").lstrip()
    if text.startswith("__label__"):
        return "fasttext"
    if re.match(r'\{\s*(?:"|\})', text):
        return "jsonl"
    header = text.split("\n", 1)[0].rstrip("\r")[:10_000]
    if reading.options.columns:
        return "tsv" if header.count("\t") > header.count(",") else "csv"
    wanted, row = {name.encode() for name in reading.columns}, header.encode(errors="replace") + b"\n"
    for name, delimiter in (("csv", b","), ("tsv", b"\t")):
        if wanted <= set(next(split_records(row, delimiter)).fields):
            return name
    return "lines"


# --- a folder for each class


def folder_files(root: str, options: Options) -> Iterator[str]:
    """The files of a folder, as paths inside it, in a fixed order.

    Names that begin with a dot are left out.  A pattern with a slash is for the whole path, another for the name.
    """
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            is_left_out = name.startswith(".") or _matches(path, options.exclude)
            if not is_left_out and (not options.include or _matches(path, options.include)):
                yield path


def _matches(path: str, patterns: Sequence[str]) -> bool:
    path = path.replace(os.sep, "/")
    return any(fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern) for pattern in patterns)


def read_folder(reading: Reading) -> Batches:
    """Batches of a folder: the class is the first folder below it."""
    root = reading.source.path
    assert root is not None
    rows, found = Rows(reading), False
    reading.several = reading.options.encoding != AUTO
    for path in folder_files(root, reading.options):
        found = True
        label = None
        if reading.wants_label:
            if os.path.dirname(path) == "":
                raise _class_error(root, path, reading.options)
            label = PurePath(path).parts[0]
        _add_file(rows, path, label)
        if rows.is_full:
            yield rows.batch()
    if not found:
        is_chosen = reading.options.include or reading.options.exclude
        chosen = (" that ", Option("include"), " and ", Option("exclude"), " leave") if is_chosen else ()
        expected = ": a folder for each class was expected, with a file for each text"
        raise DataError((f"{root} has no files", *chosen, expected))
    yield rows.batch()


def _class_error(root: str, path: str, options: Options) -> DataError:
    """An error about a file that is in no folder of a class: it is out of place, or the folder is one of a class."""
    if any(os.path.dirname(other) for other in folder_files(root, options)):
        return DataError(
            f"{os.path.join(root, path)} stands in no folder of a class",
            hint=("move it into one, or leave it out with ", Option("exclude", path)),
        )
    label, above = os.path.basename(os.path.abspath(root)), os.path.normpath(os.path.join(root, os.pardir))
    above = f", or read the folder above, {above!r}, if the folders in it are the labels"
    return DataError(
        f"{root} has files and no folders of classes",
        hint=("give all of them one label with ", Option("as", {label: root}), above),
    )


def _add_file(rows: Rows, path: str, label: str | None) -> None:
    reading = rows.reading
    assert reading.source.path is not None
    name = os.path.join(reading.source.path, path)
    suffix = PurePath(path).suffix.lower()[1:]
    compression = suffix if suffix in COMPRESSIONS else ""
    with Stream(Source(name, name, compression=compression), reading.progress) as stream:
        data = stream.whole()

    def parse(data: bytes) -> Row:
        encoding = reading.encoding_of(data)
        try:
            text = data.decode("utf-8-sig" if transcoder(encoding, "strict") is None else encoding)
        except UnicodeDecodeError as error:
            line = 1 + bytes(error.object[: error.start]).count(b"\n")
            place = reading.place(line, name)
            raise encoding_error(data, error.start, encoding, several=reading.several, **place) from None
        return [text], label, decode_name(path.replace(os.sep, "/"))

    stem = path.lower().removesuffix(f".{compression}") if compression else path.lower()
    if reading.source.format == "eml" or stem.endswith(".eml"):
        add_mails(rows, [(None, data)], label, name)
    else:
        rows.add([(None, data)], parse, name)
