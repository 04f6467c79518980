"""Sources → blocks that several processes read, each by itself.

A block is one file, or some small ones.  No file is cut: on which line of it a row stands, and whether a line break
ends a row or stands inside quotes, is known only to who has read all before it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import NamedTuple

from bunrui.documents import Reader
from bunrui.documents.sources import Source
from bunrui.documents.validation import Options
from bunrui.errors import OptionError

__all__ = ["Block", "split"]


class Block(NamedTuple):
    """What one process reads; it can be sent to another machine that sees the same files."""

    sources: tuple[Source, ...]
    options: Options
    n_bytes: int

    def read(self) -> Reader:
        """Its documents."""
        return Reader(list(self.sources), self.options)


def split(reader: Reader, block_bytes: int = 64 << 20) -> list[Block]:
    """Cut what a reader would read into blocks of at least so many bytes, in the same order.

    Whatever their size, all blocks together have the documents of the reader, each once.

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
