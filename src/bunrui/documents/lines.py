"""Plain lines, one document each; and lines with labels in front, as fastText writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bunrui.documents.blocks import Block, batches, blocks, undecodable
from bunrui.documents.reading import Reading
from bunrui.documents.rows import STRING, Rows, tidy
from bunrui.documents.streams import Stream
from bunrui.errors import DataError, Option

__all__ = ["read_fasttext", "read_lines"]

_SPACE = " \t\v\f\r\0"  # what fastText splits at: ASCII only
_LABELLED = re.compile(rf"^__label__([^{_SPACE}\n]+)[{_SPACE}]+(.*)$", re.MULTILINE)
_LABEL = re.compile(rf"(?:(?<=[{_SPACE}])|^)__label__([^{_SPACE}]*)[{_SPACE}]*")


def read_lines(stream: Stream, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of a stream with one document a line; an empty line is an empty document."""
    _refuse_ids(reading)
    if reading.wants_label:
        raise DataError(
            f"{reading.source.name} has lines without labels",
            hint=("begin each with __label__ and its label, or give all of them one with ", Option("as", ...)),
        )
    for block in blocks(stream, reading):
        if block.valid:
            texts = block.data[:-1].decode().split("\n")
            if b"\r" in block.data:
                texts = [text.removesuffix("\r") for text in texts]
            numbers = np.arange(len(texts)) + block.line
            yield tidy(reading, [pa.array(texts, STRING)], None, None, numbers)
        else:
            rows = Rows(reading)
            for line, text in _decoded(block, reading):
                rows.add([text], None, None, line=line)
            if batch := rows.batch():
                yield batch


def read_fasttext(stream: Stream, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of a stream of `__label__spam __label__ad text` lines.

    As in fastText, a label may stand anywhere in its line.
    """
    _refuse_ids(reading)
    yield from batches(blocks(stream, reading), reading, _quick, _slow)


def _quick(block: Block, reading: Reading) -> pa.RecordBatch | None:
    """A block in which each line has one label and some text."""
    n_lines = block.data.count(b"\n")
    if b"\r" in block.data or block.data.count(b"__label__") != n_lines:
        return None
    pairs = _LABELLED.findall(block.data.decode())
    if len(pairs) != n_lines:
        return None
    labels, texts = zip(*pairs, strict=True)
    label = pa.array(labels, STRING) if reading.wants_label else None
    return tidy(reading, [pa.array(texts, STRING)], label, None, np.arange(n_lines) + block.line)


def _slow(block: Block, reading: Reading) -> pa.RecordBatch | None:
    rows = Rows(reading)
    for line, text in _decoded(block, reading):
        if not text.strip(_SPACE):
            continue
        labels = _LABEL.findall(text)
        if reading.wants_label and not labels:
            reading.bad("there is no label: begin the line with __label__ and its label", line)
            continue
        text = _LABEL.sub("", text)
        rows.add([text], (labels if len(labels) > 1 else labels[0]) if reading.wants_label else None, None, line=line)
    return rows.batch()


def _decoded(block: Block, reading: Reading) -> Iterator[tuple[int, str]]:
    for line, data in enumerate(block.data[:-1].split(b"\n"), block.line):
        try:
            yield line, data.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            reading.fail(undecodable(reading, line, data, error.start))


def _refuse_ids(reading: Reading) -> None:
    if reading.options.id:
        raise DataError((f"{reading.source.name} has lines, and lines have no ids: read it without ", Option("id")))
