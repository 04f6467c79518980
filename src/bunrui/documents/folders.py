"""A folder for each class, a file for each document."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

import pyarrow as pa

from bunrui.documents.encodings import encoding_error, transcoder
from bunrui.documents.mailboxes import add_mail
from bunrui.documents.reading import Options, Reading, Source
from bunrui.documents.rows import Rows, shown
from bunrui.documents.streams import COMPRESSIONS, Stream
from bunrui.errors import DataError

__all__ = ["folder_files", "read_folder"]


def folder_files(root: str, options: Options) -> Iterator[str]:
    """The files of a folder, as paths inside it, in a fixed order.

    Names that begin with a dot are left out.  A pattern with a slash is for the whole path, another for the name.
    """
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not name.startswith(".") and _is_wanted(path, options):
                yield path


def _is_wanted(path: str, options: Options) -> bool:
    if options.include and not _matches(path, options.include):
        return False
    return not _matches(path, options.exclude)


def _matches(path: str, patterns: Sequence[str]) -> bool:
    path = path.replace(os.sep, "/")
    return any(fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern) for pattern in patterns)


def read_folder(reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of a folder: the class is the first folder below it."""
    root = reading.source.path
    assert root is not None
    rows, found = Rows(reading), False
    for path in folder_files(root, reading.options):
        found = True
        label = None
        if reading.wants_label:
            if os.path.dirname(path) == "":
                raise DataError(
                    f"{os.path.join(root, path)} stands in no folder of a class: "
                    f"move it into one, or leave it out with exclude={path!r}"
                )
            label = PurePath(path).parts[0]
        _add(rows, reading, path, label)
        if rows.is_full and (batch := rows.batch()):
            yield batch
    if not found:
        chosen = " that include= and exclude= leave" if reading.options.include or reading.options.exclude else ""
        raise DataError(f"{root} has no files{chosen}: a folder for each class was expected, with a file for each text")
    if batch := rows.batch():
        yield batch


def _add(rows: Rows, reading: Reading, path: str, label: str | None) -> None:
    assert reading.source.path is not None
    name = os.path.join(reading.source.path, path)
    suffix = PurePath(path).suffix.lower()[1:]
    compression = suffix if suffix in COMPRESSIONS else ""
    with Stream(Source(name, name, compression=compression), reading.progress) as stream:
        data = stream.whole()
    stem = path.lower().removesuffix(f".{compression}") if compression else path.lower()
    if reading.source.format == "eml" or stem.endswith(".eml"):
        add_mail(rows, reading, data, label=label, source=name)
        return
    try:
        text = _decoded(data, reading.options.encoding)
    except UnicodeDecodeError as error:
        line = 1 + bytes(error.object[: error.start]).count(b"\n")
        reading.fail(encoding_error(reading.where(line, name), data, error.start, reading.options.encoding))
    else:
        rows.add([text], label, shown(path.replace(os.sep, "/")), source=name)


def _decoded(data: bytes, encoding: str) -> str:
    return data.decode("utf-8-sig" if transcoder(encoding, "strict") is None else encoding)
