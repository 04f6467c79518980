"""Pieces of a corpus: blocks, which several processes read, and shards, which are counted once.

A block is one file, or several small ones.  Files are never cut: the line of a row, and whether a line break ends a row
or stands inside quotes, depend on everything before it.

A shard is counted by itself, and has an id.  By default the id of a file is a digest of its bytes and of how they are
read (columns, format, label).  Name, folder and time of a file do not matter: it may be copied to another machine, and
a job that runs again finds its shard done.  The price is that a file is read twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

from bunrui.documents import Reader
from bunrui.documents.mailbox import maildir_files
from bunrui.documents.reader import folder_files
from bunrui.documents.sources import Progress, Source, Stream
from bunrui.documents.validation import Options
from bunrui.errors import DataError, OptionError
from bunrui.labels import text_of

_DIGITS = 32
_READ = 1 << 20
_IRRELEVANT = ("batch_bytes", "id", "label_type")  # to the counts: 1 and "1" are one label


class Block(NamedTuple):
    """Files that one process reads; it can be sent to another machine that sees the same files."""

    sources: tuple[Source, ...]
    options: Options
    n_bytes: int

    def read(self) -> Reader:
        """Its documents."""
        return Reader(list(self.sources), self.options)


def split(reader: Reader, block_bytes: int = 64 << 20) -> list[Block]:
    """Cut the sources of a reader into blocks of at least `block_bytes`, in the same order.

    All blocks together have the documents of the reader, each once.

    >>> import pathlib, tempfile
    >>> from bunrui.documents import read
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("a", "b", "c"):
    ...     _ = (folder / f"{name}.csv").write_text(f"text,label\\n{name},x\\n")
    >>> blocks = split(read(f"{folder}/*.csv"), block_bytes=20)
    >>> [batch["text"].to_pylist() for batch in blocks[0].read()], len(blocks)
    ([['a'], ['b']], 2)
    """
    blocks: list[Block] = []
    waiting: list[Source] = []
    n_bytes = 0
    for source in reader.sources:
        if source.path is None:
            raise OptionError(f"{source.name} is a stream, which one process reads alone: give the names of files")
        waiting.append(source if source.is_far else replace(source, path=os.path.abspath(source.path)))
        n_bytes += source.size or 0
        if source.size is None or n_bytes >= block_bytes:  # a folder has no size, and may be large
            blocks.append(Block(tuple(waiting), reader.options, n_bytes))
            waiting, n_bytes = [], 0
    if waiting:
        blocks.append(Block(tuple(waiting), reader.options, n_bytes))
    return blocks


# --- shards


def shard_ids(reader: Reader) -> list[str]:
    """An id for each source; those without documents may share one.

    Raises
    ------
    DataError
        If two sources with documents are the same.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bunrui.documents import read
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, text in (("a", "x"), ("b", "y"), ("copy", "x")):
    ...     _ = (folder / f"{name}.csv").write_text(f"text,label\\n{text},1\\n")
    >>> a, b = shard_ids(read([folder / "a.csv", folder / "b.csv"]))
    >>> a == b, shard_ids(read(folder / "copy.csv")) == [a], shard_ids(read({"ham": folder / "a.csv"})) == [a]
    (False, True, False)
    """
    seen: dict[str, str] = {}
    for source in reader.sources:
        shard = _shard_id(source, reader.options)
        if shard in seen and _has_documents(source, reader.options):
            raise DataError(
                f"{source.name} and {seen[shard]} hold the same: leave one out, or give all together an id of your own"
            )
        seen[shard] = source.name
    return list(seen)


def _has_documents(source: Source, options: Options) -> bool:
    return any(batch.num_rows for batch in Reader([source], options).allowing_empty())


def reading_id(reader: Reader) -> str:
    """A digest of how files are read, whatever they hold."""
    labels = sorted({"" if source.label is None else text_of(source.label) for source in reader.sources})
    formats = sorted({source.format for source in reader.sources})
    return _digest([labels, formats, _list_options(reader.options)]).hexdigest()[:_DIGITS]


def _list_options(options: Options) -> dict[str, object]:
    return {name: value for name, value in asdict(options).items() if name not in _IRRELEVANT}


def _digest(how: object) -> hashlib._Hash:
    return hashlib.sha256(json.dumps(how, sort_keys=True).encode())


def _shard_id(source: Source, options: Options) -> str:
    if source.path is None:
        raise OptionError(f"{source.name} is a stream, which is read once: give it an id of your own")
    label = text_of(source.label) if source.label is not None else _find_label(source)
    digest = _digest([label, source.format, source.compression, _list_options(options)])
    for name, file in _list_files(source, options):
        head = f"{name}\0".encode("utf-8", "surrogateescape")
        digest.update(len(head).to_bytes(8, "little") + head)
        with Stream(replace(file, compression=""), Progress()) as stream:
            while data := stream.read(_READ):
                digest.update(data)
    return digest.hexdigest()[:_DIGITS]


def _list_files(source: Source, options: Options) -> Iterator[tuple[str, Source]]:
    """The files of a source, each with the part of its name that counts: none of a single file, all in a folder."""
    assert source.path is not None
    if not os.path.isdir(source.path):
        yield "", source
    elif source.format == "maildir":
        for path, folder in maildir_files(source.path):
            yield folder, Source(path, path)
    else:
        for inner in folder_files(source.path, options):
            path = os.path.join(source.path, inner)
            yield inner, Source(path, path)


def _find_label(source: Source) -> str | None:
    """The label that the name of a file gives: it is counted, too."""
    assert source.path is not None
    path = Path(source.path).resolve()
    match source.format:
        case "eml":
            return path.parent.name
        case "mbox" | "maildir" | "":  # a file without a suffix may be a mailbox
            return path.name.split(".")[0]
        case _:
            return None
