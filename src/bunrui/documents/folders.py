"""A folder for each class, a file for each document."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

import pyarrow as pa

from bunrui.documents.encodings import AUTO, encoding_error, transcoder
from bunrui.documents.mail import add_mail
from bunrui.documents.sources import COMPRESSIONS, Source, Stream
from bunrui.documents.validation import Options, Reading, Rows, decode_name
from bunrui.errors import DataError, Option


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
    reading.several = reading.options.encoding != AUTO
    for path in folder_files(root, reading.options):
        found = True
        label = None
        if reading.wants_label:
            if os.path.dirname(path) == "":
                raise _class_error(root, path, reading.options)
            label = PurePath(path).parts[0]
        _add(rows, reading, path, label)
        if rows.is_full and (batch := rows.batch()):
            yield batch
    if not found:
        is_chosen = reading.options.include or reading.options.exclude
        chosen = (" that ", Option("include"), " and ", Option("exclude"), " leave") if is_chosen else ()
        expected = ": a folder for each class was expected, with a file for each text"
        raise DataError((f"{root} has no files", *chosen, expected))
    if batch := rows.batch():
        yield batch


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
    encoding = reading.encoding_of(data)
    try:
        text = _decode(data, encoding)
    except UnicodeDecodeError as error:
        line = 1 + bytes(error.object[: error.start]).count(b"\n")
        place = reading.place(line, name)
        reading.fail(encoding_error(data, error.start, encoding, several=reading.several, **place))
    else:
        rows.add([text], label, decode_name(path.replace(os.sep, "/")), source=name)


def _decode(data: bytes, encoding: str) -> str:
    return data.decode("utf-8-sig" if transcoder(encoding, "strict") is None else encoding)
