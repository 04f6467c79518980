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
from functools import cache, cached_property
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.cells import Cells, Integers
from bunrui.counts import Counts, Folded
from bunrui.documents.encodings import is_utf8
from bunrui.errors import DamagedError, Step, StoreError
from bunrui.kernel.slices import in_turn, n_threads
from bunrui.kernel.workspace import MAX_TEXT

_HEAD = struct.Struct("<BIQ")
_PLAIN, _ZSTD = 0, 1
_WORTH_PACKING = 64
_LEVEL = 1  # IMDB: .42 of the text, where level 3 has .37 and takes a third longer; counting takes a third of either
_DTYPES: Any = (np.uint8, np.uint8, np.uint16, np.uint32, np.uint32, np.int64, np.int64, np.int64, np.int64)
_MOST_PLANES = len(_DTYPES) - 1
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


class Unpacker:
    """Blobs → what was packed, as long as they do not claim more memory than there can be in an honest file.

    Parameters
    ----------
    name : str
        The file, for messages.
    budget : int, or function that gives it
        Bytes that all blobs together may unpack to.
    advice : str
        What to do about damage.
    """

    def __init__(self, name: str, budget: int | Callable[[], int], advice: str = _ADVICE) -> None:
        self.name = name
        self._budget = budget
        self._lock = Lock()
        self._advice = advice

    @cached_property
    def _left(self) -> int:
        # Most have only a number to check, and to ask for the size of the file takes longer.
        return self._budget() if callable(self._budget) else self._budget

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
        with self._lock:  # parts are unpacked on several threads
            if n_bytes > self._left:
                raise self.damaged("its blocks claim to hold far more than the size of the file allows")
            self._left -= n_bytes

    def is_empty(self, blob: Any) -> bool:
        """Whether a blob holds nothing; damage is found when it is unpacked."""
        return isinstance(blob, bytes) and len(blob) == _HEAD.size

    def numbers(self, blob: Any, n: int) -> Integers:
        """`n` numbers."""
        return self.narrow_numbers(blob, n).astype(np.int64)

    def narrow_numbers(self, blob: Any, n: int) -> npt.NDArray[Any]:
        """The same in as few bytes as they need: most counts need one, and memory that is new costs time."""
        self.check_whole(n)
        content = self.unpack(blob, _MOST_PLANES * n)
        n_planes, rest = divmod(len(content), n) if n else (0, len(content))
        if rest or n_planes > _MOST_PLANES:
            raise self.damaged("a list of numbers has another length than it should")
        planes = np.frombuffer(content, np.uint8).reshape(n_planes, n)
        self.charge(8 * n)
        dtype = _DTYPES[n_planes]
        out = planes[0].astype(dtype, copy=False) if n_planes else np.zeros(n, dtype)
        for k, plane in enumerate(planes[1:], 1):
            places = np.flatnonzero(plane != 0)  # few; four times as quick as of the bytes themselves
            out[places] += plane[places].astype(dtype) << dtype(8 * k)
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


def parts_of(counts: Counts, label_ids: Integers) -> Iterator[Part]:
    """Counts, cut into parts; class c has the id label_ids[c] in the file."""
    ids, starts = counts.live_ids(), counts.vocabulary.starts
    n_cells, n_bytes = counts.postings.lengths[ids], starts[ids + 1] - starts[ids]
    weight = np.arange(len(ids)) // _PART_FEATURES
    for sizes, most in ((n_cells, _PART_CELLS), (n_bytes, _PART_BYTES)):
        weight = np.maximum(weight, np.cumsum(sizes, dtype=np.int64) // most)
    places = (ids[lo:hi] for lo, hi in pairwise(borders(weight)))
    # A part may have 64 MB of words alone: on many cores, two parts for each would take gigabytes.
    return in_turn(lambda some: pack_part(counts.take(some), label_ids), places, most=min(8, 2 * n_threads()))


def borders(numbers: Integers) -> list[int]:
    """Where lists begin and end, if each has the same number all along.

    >>> borders(np.array([0, 0, 1, 1, 1, 2]))
    [0, 2, 5, 6]
    """
    return [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)] if len(numbers) else [0]


def pack_part(cells: Cells, label_ids: Integers) -> Part:
    """A part of cells; class c has the id label_ids[c] in the file."""
    c = cells.mapped(label_ids)
    first = _starts(c.lengths)
    docs, terms = _sums_from(first, c.docs), _sums_from(first, c.terms)
    plain = np.array_equal(docs, c.doc_total) and np.array_equal(terms, c.term_total)
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
    head: Head,
    parts: Iterable[Part],
    labels: Sequence[str],
    fingerprint: str,
    unpacker: Unpacker,
    *,
    is_lazy: bool = False,
) -> Counts:
    """Counts from their rows; `labels` are those of the file, in the order of their ids.

    With `is_lazy`, most of the work is left to whoever needs it: see `Counts.folded`.

    Raises
    ------
    StoreError
        If the rows cannot be those of any counts.
    """
    cells = list(_cells(head, parts, len(labels), lambda: unpacker, in_turn))
    n_bytes = sum(len(c.text) for c in cells)
    if n_bytes > MAX_TEXT:
        problem = f"this has {n_bytes / 2**30:.1f} GiB of words, and a classifier in memory can have 4"
        raise StoreError(problem, file=unpacker.name, hint=(Step("slim", unpacker.name),))
    counts = _folded(head, cells, labels, fingerprint, unpacker)
    if not is_lazy:
        counts.unfold()
    return counts


def counts_by_part(
    head: Head, parts: Iterable[Part], labels: Sequence[str], fingerprint: str, new_unpacker: Callable[[], Unpacker]
) -> Iterator[Counts]:
    """The same part by part, where all together would not fit; the first has the documents."""
    rest = head
    for cells in _cells(head, parts, len(labels), new_unpacker):  # an unpacker each: they are not all in memory at once
        yield _folded(rest, [cells], labels, fingerprint, new_unpacker())
        rest = head._replace(n_docs=0, doc_count=np.zeros_like(head.doc_count))
    if rest is head:
        yield _folded(head, [], labels, fingerprint, new_unpacker())


def _folded(head: Head, cells: list[Cells], labels: Sequence[str], fingerprint: str, unpacker: Unpacker) -> Counts:
    """Counts of cells that `_cells` gave."""
    order = np.argsort(head.labels)
    names = [labels[label] for label in head.labels[order].tolist()]
    return Counts.folded(fingerprint, names, Folded(cells, unpacker.damaged), head.doc_count[order], head.n_docs)


def _cells(
    head: Head, parts: Iterable[Part], n_labels: int, new_unpacker: Callable[[], Unpacker], each: Any = map
) -> Iterator[Cells]:
    """The cells of every part, checked; class c is the c-th of the labels that occur.

    `each` calls a function for every part: in this thread, or with `in_turn` on all.
    """
    unpacker = new_unpacker()
    by_label = _checked(head, n_labels, unpacker)
    # Only the labels that occur: a file may have thousands, and a delta one of them.
    is_sparse = len(head.labels) < n_labels
    numbers = np.cumsum(by_label > 0) - 1

    def checked(part: Part) -> Cells:
        unpacker = new_unpacker()
        c = _unpacked(part, unpacker)
        if int(c.classes.max()) >= n_labels or c.docs.min() < 1:
            raise unpacker.damaged("a feature has a label that is not in the list of labels, or no documents")
        is_beyond = c.docs.max() > by_label.min() and (c.docs > by_label[c.classes]).any()
        if is_beyond or c.doc_total.max() > head.n_docs or c.doc_total.min() < 1:
            raise unpacker.damaged("a feature is in more documents than there are")
        return c._replace(classes=numbers[c.classes]) if is_sparse else c

    n_terms = n_doc_freq = 0
    for c in each(checked, parts):
        n_terms, n_doc_freq = n_terms + int(c.term_total.sum()), n_doc_freq + int(c.doc_total.sum())
        yield c
    if (n_terms, n_doc_freq) != (head.n_terms, head.n_doc_freq):
        raise unpacker.damaged("the totals are not those of the features")


def _checked(head: Head, n_labels: int, unpacker: Unpacker) -> Integers:
    """Documents by label, if they can be those of documents."""
    # Not `np.unique`: its first call imports numpy.ma, 10 ms of a prediction from the shell.
    are_distinct = bool((np.diff(np.sort(head.labels)) > 0).all())
    if head.labels.max(initial=-1) >= n_labels or not are_distinct or len(head.labels) != len(head.doc_count):
        raise unpacker.damaged("documents have a label that is not in the list of labels")
    if (head.doc_count < 1).any() or (not len(head.labels) and head.n_docs):
        raise unpacker.damaged("there are documents without labels, or labels without documents")
    if len(head.labels) and not int(head.doc_count.max()) <= head.n_docs <= int(head.doc_count.sum()):
        raise unpacker.damaged("the number of documents is not that of their labels")
    by_label = np.zeros(n_labels, np.int64)
    by_label[head.labels] = head.doc_count
    return by_label


def _unpacked(part: Part, unpacker: Unpacker) -> Cells:
    n, n_cells = part.n_features, part.n_cells
    unpacker.check_whole(n, n_cells)
    if n < 1 or n_cells < n:
        raise unpacker.damaged("a part of the counts has no features, or features without cells")
    sizes = unpacker.narrow_numbers(part.sizes, n)
    text = np.frombuffer(unpacker.unpack(part.text), np.uint8)
    lengths = unpacker.narrow_numbers(part.lengths, n)
    if sizes.max() > len(text) or int(sizes.sum()) != len(text) or not _are_texts(text, sizes):
        raise unpacker.damaged("the features are not cut as they should be")
    if lengths.min() < 1 or lengths.max() > n_cells or int(lengths.sum()) != n_cells:
        raise unpacker.damaged("the cells do not belong to the features")
    docs = unpacker.narrow_numbers(part.docs, n_cells)
    terms = _sum(docs, unpacker.narrow_numbers(part.more, n_cells), unpacker)
    first = _starts(lengths)
    n_totals = 0 if unpacker.is_empty(part.totals) else n
    totals = unpacker.narrow_numbers(part.totals, 2 * n_totals)
    if n_totals:
        doc_total, term_total = totals[:n], _sum(totals[:n], totals[n:], unpacker)
    else:
        doc_total, term_total = _sums_from(first, docs), _sums_from(first, terms)
    labels = unpacker.narrow_numbers(part.labels, n_cells)
    rises = labels[1:] > labels[:-1]
    rises[first[1:] - 1] = True
    if not rises.all():
        raise unpacker.damaged("the labels of a feature are out of order")
    return Cells(sizes, text, lengths, labels, terms, docs, term_total, doc_total)


def _sum(a: npt.NDArray[Any], b: npt.NDArray[Any], unpacker: Unpacker) -> npt.NDArray[Any]:
    largest = int(a.max()), int(b.max())
    if sum(largest) * len(a) >= _MOST:
        raise unpacker.damaged("a count is too large")
    return np.asarray(np.add(a, b, dtype=_dtype_for(sum(largest)), casting="unsafe"))


def _sums_from(first: Integers, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The sum of each list, where they begin at `first`; `np.add.reduceat` takes three times as long."""
    sums = np.zeros(len(numbers) + 1, _dtype_for(int(numbers.sum())))
    np.cumsum(numbers, dtype=sums.dtype, out=sums[1:])
    return np.diff(sums[first], append=sums[-1:])


def _dtype_for(largest: int) -> Any:
    """The narrowest type that holds this number."""
    return _DTYPES[(largest.bit_length() + 7) // 8]


def _are_texts(text: npt.NDArray[np.uint8], sizes: npt.NDArray[Any]) -> bool:
    """Whether all is UTF-8, and no feature begins in the middle of a character."""
    starts = _starts(sizes)
    starts = starts if sizes.min() else starts[sizes > 0]
    return is_utf8(text) and not ((text[starts] & 0xC0) == 0x80).any()


def _starts(sizes: npt.NDArray[Any]) -> Integers:
    """Where each begins, if one follows the other."""
    starts = np.cumsum(sizes, dtype=np.int64)
    starts -= sizes
    return starts
