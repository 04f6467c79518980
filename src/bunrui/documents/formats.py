"""Formats by name and suffix; paths, patterns and streams → sources, each with its format."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from bunrui.documents.delimited import split_records
from bunrui.documents.encodings import AUTO, detect
from bunrui.documents.huggingface import files_of, is_dataset, splits_of
from bunrui.documents.mail import is_mail, is_maildir
from bunrui.documents.sources import COMPRESSIONS, Source, find_files, is_address
from bunrui.documents.validation import Reading
from bunrui.errors import DataError, LabelError, Option, OptionError, Step
from bunrui.labels import TYPES, plain, plain_type
from bunrui.phrases import some

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
        raise DataError(f"the spreadsheet {name!r} cannot be read: save it as .xlsx, or as CSV (UTF-8), first")
    if format is None:
        hint = "give ", Option("format", ...), f", one of {', '.join(FORMATS[:-2])}"
        raise DataError(f"the name {name!r} does not tell the format", option="format", hint=hint)
    return format, compression


def guess_format(head: bytes, reading: Reading) -> str:
    """The format of a stream, from its first bytes.

    Spreadsheets, Parquet, Arrow and mbox have marks; a mail has headers; JSON lines begin with {; fastText has
    `__label__`; CSV and TSV have a header with the wanted columns.  Anything else is lines.  If a table is wanted, it
    is CSV or TSV.
    """
    if head.startswith(b"PK\x03\x04"):
        return "xlsx"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
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
