"""Counts, arrays and strings ↔ the rows and blobs of a file.

    blob     method (1 byte: 0 as it is, 1 zstd), CRC-32 of the content (4), its length (8), the content
    numbers  whole numbers ≥ 0 as planes: the lowest byte of all of them, then the next, as many as the largest needs

Most counts are small: the higher planes are zeros, which zstd takes to nothing.

One row holds the head of some counts (documents by label, totals), and rows of parts hold the features with their
cells, by column:

    sizes, text      bytes of every feature, and the features one after the other
    lengths          cells of every feature
    labels           label of every cell, ascending within a feature
    docs, more       documents of every cell, and how many more occurrences than documents it has
    totals           documents of every feature, then occurrences beyond; empty where they are the sums over the cells,
                     as they are unless documents have several labels

Nothing that a file says is believed: lengths are checked before memory is asked for, contents against their checksum.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.cells import Cells, Integers
from bunrui.counts import Counts
from bunrui.errors import DamagedError, DataError, Step, StoreError
from bunrui.kernel.workspace import MAX_TEXT

_HEAD = struct.Struct("<BIQ")
HEAD_SIZE = _HEAD.size
_PLAIN, _ZSTD = 0, 1
_WORTH_PACKING = 64
_LEVEL = 1  # IMDB: .42 of the text, where level 3 has .37 and takes a third longer; counting takes a third of either
_MOST_PLANES = 8
_ADVICE = "Take a copy from a backup, or learn the documents again"
_JSON_TIMES = 32  # bytes that a byte of JSON may take as lists


@cache
def _zstd() -> Any:
    return pa.Codec("zstd", compression_level=_LEVEL)


def pack(content: Any) -> bytes:
    """Bytes → a blob."""
    size = len(content)
    head = (zlib.crc32(content), size)
    if size >= _WORTH_PACKING:
        packed = _zstd().compress(content)
        if len(packed) < size:
            return b"".join([_HEAD.pack(_ZSTD, *head), packed])
    return b"".join([_HEAD.pack(_PLAIN, *head), content])


def pack_json(value: Any) -> bytes:
    """Lists, strings and numbers → a blob."""
    return pack(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def pack_numbers(numbers: Any) -> bytes:
    """Whole numbers ≥ 0 → a blob."""
    largest = int(numbers.max()) if len(numbers) else 0
    planes = [(numbers >> (8 * k)).astype(np.uint8) for k in range((largest.bit_length() + 7) // 8)]
    return pack(np.concatenate(planes).data if planes else b"")


def size_of(head: bytes) -> int:
    """How long the content of a blob says it is, by its first bytes."""
    return int(_HEAD.unpack(head)[2])


class Unpacker:
    """Blobs → what was packed, as long as they do not claim more memory than there can be in an honest file.

    Parameters
    ----------
    name : str
        The file, for messages.
    budget : int
        Bytes that all blobs together may unpack to.
    advice : str
        What to do about damage.
    """

    def __init__(self, name: str, budget: int, advice: str = _ADVICE) -> None:
        self.name = name
        self._left = budget
        self._advice = advice

    def damaged(self, what: str) -> DamagedError:
        """The error to raise for something that does not fit."""
        # On one line: a reason may be quoted from the file, or be the message of another library.
        what = " ".join(what.split())
        return DamagedError(f"{self.name} is damaged: {what}. {self._advice}")

    def check_whole(self, *numbers: Any) -> None:
        """Refuse what is no whole number ≥ 0: SQLite checks the types of columns only when they are written."""
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise self.damaged("it has something else where a number should be")

    def check_text(self, *values: Any) -> None:
        """Refuse what is no text."""
        if not all(isinstance(value, str) for value in values):
            raise self.damaged("it has something else where a text should be")

    def unpack(self, blob: Any, most: int | None = None) -> memoryview:
        """The content of a blob."""
        if not isinstance(blob, bytes) or len(blob) < _HEAD.size:
            raise self.damaged("a block of data is too short")
        method, checksum, size = _HEAD.unpack_from(blob)
        body = memoryview(blob)[_HEAD.size :]
        if method not in (_PLAIN, _ZSTD) or (method == _PLAIN and size != len(body)):
            raise self.damaged("a block of data has a wrong header")
        if most is not None and size > most:
            raise self.damaged("a block of data is longer than it should be")
        self.charge(size)
        if method == _ZSTD:
            try:
                body = memoryview(_zstd().decompress(body, size, asbytes=True))
            except (OSError, ValueError, MemoryError) as error:
                raise self.damaged("a block of data cannot be decompressed") from error
        if len(body) != size or zlib.crc32(body) != checksum:
            raise self.damaged("a block of data does not match its checksum")
        return body

    def charge(self, n_bytes: int) -> None:
        """Memory that goes with what is unpacked."""
        if n_bytes > self._left:
            raise self.damaged("its blocks claim to hold far more than the size of the file allows")
        self._left -= n_bytes

    def is_empty(self, blob: Any) -> bool:
        """Whether a blob holds nothing; damage is found when it is unpacked."""
        return isinstance(blob, bytes) and len(blob) == _HEAD.size

    def numbers(self, blob: Any, n: int) -> Integers:
        """`n` numbers."""
        self.check_whole(n)
        content = self.unpack(blob, _MOST_PLANES * n)
        n_planes, rest = divmod(len(content), n) if n else (0, len(content))
        if rest or n_planes > _MOST_PLANES:
            raise self.damaged("a list of numbers has another length than it should")
        planes = np.frombuffer(content, np.uint8).reshape(n_planes, n)
        self.charge(8 * n)
        out = planes[0].astype(np.int64) if n_planes else np.zeros(n, np.int64)
        for k, plane in enumerate(planes[1:], 1):
            places = np.flatnonzero(plane)
            out[places] += plane[places].astype(np.int64) << (8 * k)
        if n_planes == _MOST_PLANES and (out < 0).any():
            raise self.damaged("a number is too large")
        return out

    def json(self, blob: Any) -> Any:
        """Lists, strings and numbers."""
        content = bytes(self.unpack(blob, self._left // _JSON_TIMES))
        self.charge(_JSON_TIMES * len(content))
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self.damaged("a list of values cannot be read") from error


# --- counts

# A part is packed and unpacked at once: its size bounds the memory for that.
_PART_FEATURES = 1 << 18
_PART_CELLS = 1 << 21
_PART_BYTES = 1 << 26
_MOST = 1 << 62


class Head(NamedTuple):
    """Totals of some counts, with the file's ids of labels."""

    n_docs: int
    n_terms: int
    n_doc_freq: int
    labels: Integers
    doc_count: Integers


class Part(NamedTuple):
    """Some features with their cells; the blobs of one row."""

    n_features: int
    n_cells: int
    sizes: bytes
    text: bytes
    lengths: bytes
    labels: bytes
    docs: bytes
    more: bytes
    totals: bytes


class Parts:
    """Counts, to be cut into parts.

    Attributes
    ----------
    bounds : list of int
        Where the parts begin and end.
    """

    def __init__(self, counts: Counts, label_ids: Integers) -> None:
        """Class c has the id label_ids[c] in the file."""
        self._counts, self._label_ids, self._ids = counts, label_ids, counts.live_ids()
        starts = counts.vocabulary.starts
        weight = np.arange(len(self._ids)) // _PART_FEATURES
        for sizes, most in (
            (counts.postings.lengths[self._ids], _PART_CELLS),
            (starts[self._ids + 1] - starts[self._ids], _PART_BYTES),
        ):
            weight = np.maximum(weight, np.cumsum(sizes, dtype=np.int64) // most)
        self.bounds: list[int] = (
            [0, *(np.flatnonzero(np.diff(weight)) + 1).tolist(), len(weight)] if len(weight) else [0]
        )

    def part(self, lo: int, hi: int) -> Part:
        """The features lo … hi - 1."""
        return pack_part(self._counts.take(self._ids[lo:hi]), self._label_ids)


def pack_part(cells: Cells, label_ids: Integers) -> Part:
    """A part of cells; class c has the id label_ids[c] in the file."""
    c = cells.mapped(label_ids)
    first = np.cumsum(c.lengths, dtype=np.int64) - c.lengths
    plain = np.array_equal(np.add.reduceat(c.docs, first, dtype=np.int64), c.doc_total) and np.array_equal(
        np.add.reduceat(c.terms, first, dtype=np.int64), c.term_total
    )
    totals = np.empty(0, np.int64) if plain else np.concatenate([c.doc_total, c.term_total - c.doc_total])
    return Part(
        len(c.sizes),
        len(c.classes),
        pack_numbers(c.sizes),
        pack(c.text.data),
        pack_numbers(c.lengths),
        pack_numbers(c.classes),
        pack_numbers(c.docs),
        pack_numbers(c.terms - c.docs),
        pack_numbers(totals),
    )


def join_parts(
    head: Head, parts: Iterable[Part], labels: Sequence[str], fingerprint: str, unpacker: Unpacker
) -> Counts:
    """Counts from their rows; `labels` are those of the file, in the order of their ids.

    Raises
    ------
    StoreError
        If the rows cannot be those of any counts.
    """
    cells = Cells.joined([_unpacked(part, unpacker) for part in parts])
    return _counts(head, cells, labels, fingerprint, unpacker)


def counts_by_part(
    head: Head, parts: Iterable[Part], labels: Sequence[str], fingerprint: str, new_unpacker: Callable[[], Unpacker]
) -> Iterator[Counts]:
    """The same part by part, where all together would not fit; the first has the documents."""
    n_terms = n_doc_freq = 0
    for number, part in enumerate(parts):
        unpacker = new_unpacker()  # one for each: they are not all in memory at once
        c = _unpacked(part, unpacker)
        own = head._replace(n_terms=int(c.term_total.sum()), n_doc_freq=int(c.doc_total.sum()))
        n_terms, n_doc_freq = n_terms + own.n_terms, n_doc_freq + own.n_doc_freq
        yield _counts(own, c, labels, fingerprint, unpacker, has_docs=not number)
    if not (n_terms or n_doc_freq):
        yield join_parts(head, [], labels, fingerprint, new_unpacker())
    elif (n_terms, n_doc_freq) != (head.n_terms, head.n_doc_freq):
        raise new_unpacker().damaged("the totals are not those of the features")


def _counts(
    head: Head, cells: Cells, labels: Sequence[str], fingerprint: str, unpacker: Unpacker, has_docs: bool = True
) -> Counts:
    """Counts from cells whose classes are the file's ids of labels."""
    _check(head, cells, len(labels), unpacker)
    if len(cells.text) > MAX_TEXT:
        raise StoreError(
            f"this has {len(cells.text) / 2**30:.1f} GiB of words, and a classifier in memory can have 4",
            file=unpacker.name,
            hint=(Step("slim", unpacker.name),),
        )
    # Only the labels that occur: a file may have thousands, and a delta one of them.
    used = np.sort(head.labels)
    cells = cells._replace(classes=np.searchsorted(used, cells.classes))
    docs = (head.doc_count[np.argsort(head.labels)], head.n_docs) if has_docs else ()
    try:
        return Counts.of(fingerprint, [labels[label] for label in used.tolist()], cells, *docs)
    except DataError as error:
        raise unpacker.damaged(str(error)) from error


def _unpacked(part: Part, unpacker: Unpacker) -> Cells:
    n, n_cells = part.n_features, part.n_cells
    unpacker.check_whole(n, n_cells)
    if n < 1 or n_cells < n:
        raise unpacker.damaged("a part of the counts has no features, or features without cells")
    sizes = unpacker.numbers(part.sizes, n)
    text = np.frombuffer(unpacker.unpack(part.text), np.uint8)
    lengths = unpacker.numbers(part.lengths, n)
    if sizes.max() > len(text) or int(sizes.sum()) != len(text) or not _is_utf8(text, sizes):
        raise unpacker.damaged("the features are not cut as they should be")
    if lengths.min() < 1 or lengths.max() > n_cells or int(lengths.sum()) != n_cells:
        raise unpacker.damaged("the cells do not belong to the features")
    docs = unpacker.numbers(part.docs, n_cells)
    terms = _sum(docs, unpacker.numbers(part.more, n_cells), unpacker)
    first = np.cumsum(lengths) - lengths
    n_totals = 0 if unpacker.is_empty(part.totals) else n
    totals = unpacker.numbers(part.totals, 2 * n_totals)
    if n_totals:
        doc_total, term_total = totals[:n], _sum(totals[:n], totals[n:], unpacker)
    else:
        doc_total, term_total = np.add.reduceat(docs, first), np.add.reduceat(terms, first)
    labels = unpacker.numbers(part.labels, n_cells)
    rises = np.diff(labels) > 0
    rises[first[1:] - 1] = True
    if not rises.all():
        raise unpacker.damaged("the labels of a feature are out of order")
    return Cells(sizes, text, lengths, labels, terms, docs, term_total, doc_total)


def _sum(a: Integers, b: Integers, unpacker: Unpacker) -> Integers:
    if len(a) and float(a.max()) * len(a) + float(b.max()) * len(b) >= _MOST:
        raise unpacker.damaged("a count is too large")
    return a + b


def _is_utf8(text: npt.NDArray[np.uint8], sizes: Integers) -> bool:
    """Whether the text is UTF-8, and no feature begins in the middle of a character."""
    starts = (np.cumsum(sizes) - sizes)[sizes > 0]
    try:
        text.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return not ((text[starts] & 0xC0) == 0x80).any()


def _check(head: Head, c: Cells, n_labels: int, unpacker: Unpacker) -> None:
    """Whether the numbers can be counts of documents."""
    by_label = np.zeros(n_labels, np.int64)
    if len(head.labels) and not (
        head.labels.max() < n_labels and _are_distinct(head.labels) and len(head.labels) == len(head.doc_count)
    ):
        raise unpacker.damaged("documents have a label that is not in the list of labels")
    if (head.doc_count < 1).any() or (not len(head.labels) and head.n_docs):
        raise unpacker.damaged("there are documents without labels, or labels without documents")
    by_label[head.labels] = head.doc_count
    if len(head.labels) and not int(head.doc_count.max()) <= head.n_docs <= int(head.doc_count.sum()):
        raise unpacker.damaged("the number of documents is not that of their labels")
    if len(c.classes) and not (int(c.classes.max()) < n_labels and (c.docs >= 1).all()):
        raise unpacker.damaged("a feature has a label that is not in the list of labels, or no documents")
    if (c.docs > by_label[c.classes]).any() or (c.doc_total > head.n_docs).any() or (c.doc_total < 1).any():
        raise unpacker.damaged("a feature is in more documents than there are")
    if int(c.term_total.sum()) != head.n_terms or int(c.doc_total.sum()) != head.n_doc_freq:
        raise unpacker.damaged("the totals are not those of the features")


def _are_distinct(numbers: Integers) -> bool:
    # Not `np.unique`: its first call imports numpy.ma, 10 ms of a prediction from the shell.
    return bool((np.diff(np.sort(numbers)) > 0).all())
