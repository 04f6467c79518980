"""Counts by partitions of the features: parts for other machines, and counts that outgrow memory.

A partition has all features whose hashes begin with the same bits; a part has some consecutive partitions.  A feature
is in the same partition wherever it is counted.  Parts with the same number add up to one part; all parts together are
the counts.  No process has to hold more than its part.

Counts that outgrow memory are put aside in pieces, many of them on disk, and added up slice by slice.

    counts ─► piece, its features in the order of their partitions ┐
    counts ─► piece ───────────────────────────────────────────────┼─► run, on disk ─┐
    counts ─► piece ───────────────────────────────────────────────┘                 ├─► partitions 0 … 7 ─► cells
    counts ─► piece, in memory ──────────────────────────────────────────────────────┘   partitions 8 … 14 ─► cells …

A sum over a few partitions covers all documents, for some features.  Only a few partitions are in a table at the same
time.  docs/decisions/011 explains why features are not in the order of their bytes.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.cells import Cells, Integers
from bunrui.counts import Counts, Totals, total
from bunrui.errors import Option, StoreError
from bunrui.kernel import slices
from bunrui.kernel.slices import Mutex
from bunrui.kernel.workspace import release

BITS = 12
PARTITIONS = 1 << BITS


class Part(NamedTuple):
    """Counts of some features.

    Documents belong to no feature: the first part has the numbers of all documents, the others have zeros.
    """

    fingerprint: str
    labels: list[str]
    doc_count: Integers  # (n_labels,)
    n_docs: int
    cells: Cells


def by_partition(
    ids: Integers, hashes: npt.NDArray[np.uint64], n: int = PARTITIONS
) -> tuple[Integers, npt.NDArray[np.uint16]]:
    """Features in the order of their partitions, or of their parts if there are n, and the number of each one's."""
    numbers = ((hashes >> np.uint64(64 - BITS)) * np.uint64(n) >> np.uint64(BITS)).astype(np.uint16)
    if (numbers[1:] >= numbers[:-1]).all():
        return ids, numbers
    order = np.argsort(numbers, kind="stable")
    return ids[order], numbers[order]


def parts_of(counts: Counts, n: int) -> list[Part]:
    """Cut counts into n parts.

    >>> from bunrui import TextClassifier
    >>> counts = TextClassifier(analyzer="words").learn(["a b c d e f"], ["x"]).counts
    >>> parts = parts_of(counts, 3)
    >>> sum(len(part.cells.sizes) for part in parts), [part.n_docs for part in parts]
    (6, [1, 0, 0])
    >>> whole = Counts(counts.fingerprint)
    >>> for part in reversed(parts):
    ...     add_part(whole, part)
    >>> whole == counts
    True
    """
    ids = counts.live_ids()
    ids, numbers = by_partition(ids, counts.vocabulary.hashes[ids], n)
    bounds = np.searchsorted(numbers, np.arange(n + 1))
    documents = [(counts.doc_count, counts.n_docs)] + [(np.zeros_like(counts.doc_count), 0)] * (n - 1)
    return [
        _make_part(counts.fingerprint, counts.labels, *some, counts.take(ids[a:b]))
        for some, (a, b) in zip(documents, pairwise(bounds), strict=True)
    ]


def _make_part(fingerprint: str, labels: Sequence[str], doc_count: Integers, n_docs: int, cells: Cells) -> Part:
    """A part with the labels that occur in it."""
    used = np.flatnonzero(doc_count + np.bincount(cells.classes, minlength=len(doc_count)))
    cells = cells._replace(classes=np.searchsorted(used, cells.classes)).narrow()
    return Part(fingerprint, [labels[c] for c in used.tolist()], doc_count[used], n_docs, cells)


def add_up(*parts: Part) -> Part:
    """The sum of parts of the same number."""
    if len(parts) == 1:
        return parts[0]
    head = Counts(parts[0].fingerprint)
    cells = []
    for part in parts:
        classes = head.add_docs(part.labels, part.doc_count, part.n_docs)
        cells.append(part.cells.mapped(classes))
    return _make_part(head.fingerprint, head.labels, head.doc_count, head.n_docs, sum_of(cells)[0])


def add_part(counts: Counts, part: Part) -> None:
    """Add a part to counts."""
    head = Counts(part.fingerprint, labels=part.labels, totals=Totals.of_docs(part.doc_count, part.n_docs))
    counts.add(head)
    counts.add_cells(part.labels, part.cells)


def sum_of(some: Sequence[Cells]) -> tuple[Cells, npt.NDArray[np.uint16]]:
    """The sum of cells that have the same classes, and features of a few partitions; the partition of each feature."""
    counts, hashes = total(some, BITS)
    ids, numbers = by_partition(np.arange(len(hashes)), hashes)
    release(counts.vocabulary)
    return counts.take(ids), numbers


# --- counts that outgrow memory

T = TypeVar("T")
File = IO[bytes]
Work = Callable[[Cells, npt.NDArray[np.uint16], int, int], T]

PIECE = 1 << 18  # features that are worth a piece
_GROUP = 1 << 17  # features that are added up in one table: larger ones are slower than the cache
_CELLS = 8  # that take as much room as a feature does, and more: many labels make many cells of few features
_FIRST, _LAST = attrgetter("first"), attrgetter("last")


class Spill:
    """Counts of documents; the features take at most `room` bytes of memory, except those of the latest batch.

    Attributes
    ----------
    head : Counts
        Labels, and numbers of documents and features; without any features.
    n_runs : int
        How often memory was full.

    Examples
    --------
    >>> from bunrui import TextClassifier
    >>> counts = TextClassifier(analyzer="words").learn(["a b c d e f"], ["x"]).counts
    >>> with Spill(counts.fingerprint, ".", room=1 << 20) as spill:
    ...     for _ in range(3):
    ...         spill.add(counts.copy())
    ...     print(list(spill.parts(lambda cells: cells.doc_total.tolist())), spill.head.n_docs)
    [[3, 3, 3, 3, 3, 3]] 3
    """

    def __init__(self, fingerprint: str, folder: str, room: int) -> None:
        self.head = Counts(fingerprint)
        self.room = room
        self._folder = folder
        self._waiting: Counts | None = None  # too few to be a piece
        self._pieces: list[_Piece] = []
        self._runs: list[list[_Piece]] = []
        self._file: File | None = None
        self._lock = Mutex()  # the file has one place to read from, for all threads

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def n_runs(self) -> int:
        return len(self._runs)

    def add(self, counts: Counts) -> None:
        """Take counts; the caller must not use them any more."""
        self.head.add_totals(counts, self.head.add_labels(counts.labels))
        if self._waiting is None:
            self._waiting = counts
        else:
            self._waiting.add(counts)
            release(counts.vocabulary)
        if max(self._waiting.n_features, self._waiting.n_cells // _CELLS) >= PIECE:
            self._put_aside()
            if sum(piece.n_bytes for piece in self._pieces) > self.room:
                self._write_run()

    def parts(self, work: Callable[[Cells], T]) -> Iterator[T]:
        """Call `work` with the cells of some features, then of others, until there are none left.

        The head has the classes.  `work` is called in several threads.
        """
        self._put_aside()
        runs = [*self._runs, *([piece] for piece in self._pieces)]
        return self._sum_groups(runs, lambda cells, numbers, lo, hi: work(cells))

    def _put_aside(self) -> None:
        """Make a piece of the counts that wait."""
        if self._waiting is not None and self._waiting.n_features:
            counts, ids = self._waiting, self._waiting.live_ids()
            ids, numbers = by_partition(ids, counts.vocabulary.hashes[ids])
            cells = counts.take(ids).mapped(self.head.add_labels(counts.labels))
            piece = _make_piece(cells, numbers, 0, PARTITIONS)
            self._pieces.append(piece._replace(columns=_copy_apart(piece.columns)))
            release(counts.vocabulary)
        self._waiting = None

    def _write_run(self) -> None:
        """Add up the pieces in memory, and put the sum on disk."""
        with _explain(self._folder):
            if self._file is None:
                # It has no name: nothing of it is left, whatever ends the process.
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
            file = self._file
            alone = [[piece] for piece in self._pieces]
            self._runs.append([piece.moved_to(file, self._lock) for piece in self._sum_groups(alone, _make_piece)])
            file.flush()
        self._pieces = []

    def _sum_groups(self, runs: Sequence[Sequence[_Piece]], work: Work[T]) -> Iterator[T]:
        """Call `work` with the sums over the partitions lo … hi - 1, then over the next ones, in order."""
        sizes = np.zeros(PARTITIONS, np.int64)
        for piece in (piece for run in runs for piece in run):
            sizes[piece.first : piece.last] += np.maximum(np.diff(piece.features), np.diff(piece.cells) // _CELLS)
        if not sizes.any():
            return

        def of(lo: int, hi: int) -> T:
            found = [
                piece.read(lo, hi)
                for run in runs
                for piece in run[bisect_right(run, lo, key=_LAST) : bisect_left(run, hi, key=_FIRST)]
            ]
            return work(*sum_of(found), lo, hi)

        filled = np.flatnonzero(sizes)  # so that no group is empty
        groups = (np.cumsum(sizes) - sizes)[filled] // _GROUP
        bounds = [0, *filled[1:][np.diff(groups) > 0].tolist(), PARTITIONS]
        step = slices.n_threads()
        for start in range(0, len(bounds) - 1, step):
            yield from slices.each_slice(of, bounds[start : start + step + 1])


class _Piece(NamedTuple):
    """Features in the order of their partitions, `first` … `last` - 1.

    `features`, `bytes` and `cells` say where in the columns each partition begins, and where the last one ends.
    """

    first: int
    last: int
    features: Integers
    bytes: Integers
    cells: Integers
    columns: Cells  # arrays, or on disk

    @property
    def n_bytes(self) -> int:
        return sum(column.nbytes for column in self.columns) + 3 * self.features.nbytes

    def read(self, lo: int, hi: int) -> Cells:
        """The features of the partitions lo … hi - 1."""
        a, b = max(lo, self.first) - self.first, min(hi, self.last) - self.first
        return self.columns.cut(*(slice(int(at[a]), int(at[b])) for at in (self.features, self.bytes, self.cells)))

    def moved_to(self, file: File, lock: Mutex) -> _Piece:
        """The same at the end of a file, which is read with a lock."""
        return self._replace(columns=Cells(*(_Stretch.written(column, file, lock) for column in self.columns)))


def _make_piece(cells: Cells, numbers: npt.NDArray[np.uint16], first: int, last: int) -> _Piece:
    """Cells of the partitions `first` … `last` - 1; `numbers` has the partition of each feature."""
    features = np.searchsorted(numbers, np.arange(first, last + 1))
    return _Piece(first, last, features, _ends(cells.sizes)[features], _ends(cells.lengths)[features], cells.narrow())


def _ends(sizes: npt.NDArray[Any]) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _copy_apart(cells: Cells) -> Cells:
    """The same in memory of its own, which goes back to the system as a whole.

    Memory among other arrays would leave holes: of 1.25 GB that were freed, the system got .4 back.
    """
    ends = np.cumsum([-(-column.nbytes // 8) * 8 for column in cells])
    room = mmap.mmap(-1, max(int(ends[-1]), 1))
    out = []
    for column, end in zip(cells, ends.tolist(), strict=True):
        start = end - -(-column.nbytes // 8) * 8
        copy = np.frombuffer(room, column.dtype, len(column), start)
        copy[:] = column
        out.append(copy)
    return Cells(*out)


@dataclass(frozen=True)
class _Stretch:
    """An array in a file."""

    file: File
    lock: Mutex
    at: int
    dtype: np.dtype[Any]

    @classmethod
    def written(cls, array: npt.NDArray[Any], file: File, lock: Mutex) -> Any:
        """An array at the end of a file."""
        at = file.seek(0, os.SEEK_END)
        file.write(array.data)
        return cls(file, lock, at, array.dtype)

    def __getitem__(self, where: slice) -> npt.NDArray[Any]:
        size = self.dtype.itemsize
        with self.lock:
            self.file.seek(self.at + where.start * size)
            return np.frombuffer(self.file.read((where.stop - where.start) * size), self.dtype)


@contextmanager
def _explain(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"counts do not fit into memory, and cannot be put aside here ({error.strerror}): nothing was changed",
            file=os.path.abspath(folder),
            hint=("make room, or give more with ", Option("memory", ...)),
        ) from error
