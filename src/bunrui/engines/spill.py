"""Counts that outgrow memory: put aside in pieces, on disk where they are many, and added up slice by slice.

    counts ─► piece, its features in the order of their slices ┐
    counts ─► piece ───────────────────────────────────────────┼─► run, on disk ──┐
    counts ─► piece ───────────────────────────────────────────┘                  ├─► slices 0 … 7 ─► counts of some
    counts ─► piece, in memory ────────────────────────────────────────────────────┘   slices 8 … 14 ─► of others …

A feature is in the same slice wherever it was counted, by the hash of its bytes.  So the sums over a few slices are
those of all documents for some features, and all slices together are the counts.  No more than a few slices are ever in
a table at the same time.  docs/decisions/011 says why features are not in the order of their bytes.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts, Integers, new_postings
from bunrui.engines import threads
from bunrui.engines.partitions import Cells, cells_of, counts_of, numbers_of
from bunrui.errors import StoreError
from bunrui.kernel.vocabulary import NARROW
from bunrui.kernel.workspace import new_vocabulary, release

__all__ = ["Spill"]

T = TypeVar("T")

SLICES = 1 << 12
PIECE = 1 << 18  # features that are worth a piece
_GROUP = 1 << 17  # features that are added up in one table: larger ones are slower than the cache
_CELLS = 8  # that take as much room as a feature does, and more: many labels make many cells of few features


class Spill:
    """Counts of documents, whose features take no more than `room` bytes of memory, but for those that come next.

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
    ...     print(list(spill.parts(lambda part: sorted(part.totals().items())[:2])), spill.head.n_docs)
    [[('a', (3, 3)), ('b', (3, 3))]] 3
    """

    def __init__(self, fingerprint: str, folder: str, room: int) -> None:
        self.head = Counts(fingerprint)
        self.room = room
        self._folder = folder
        self._waiting: Counts | None = None  # too few to be a piece
        self._pieces: list[_Piece] = []
        self._runs: list[list[_Piece]] = []
        self._file: _File | None = None

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def n_runs(self) -> int:
        return len(self._runs)

    def add(self, counts: Counts) -> None:
        """Take counts, which nobody else may use any more."""
        head = self.head
        classes = head.add_labels(counts.labels)
        for name in ("doc_count", "term_sum", "doc_freq_sum"):
            getattr(head, name)[classes] += getattr(counts, name)
        for name in ("n_docs", "n_terms", "n_doc_freq"):
            setattr(head, name, getattr(head, name) + getattr(counts, name))
        if self._waiting is None:
            self._waiting = counts
        else:
            self._waiting.add(counts)
            release(counts.vocabulary)
        if max(self._waiting.n_features, self._waiting.n_cells // _CELLS) >= PIECE:
            self._put_aside()
            if sum(piece.n_bytes for piece in self._pieces) > self.room:
                self._write_run()

    def parts(self, work: Callable[[Counts], T]) -> Iterator[T]:
        """What `work` makes of the counts of some features, and of others, until there are none left.

        They come without their documents.  `work` is called in several threads, and must not keep them.
        """
        self._put_aside()
        return self._sums([*self._runs, *([piece] for piece in self._pieces)], lambda counts, lo, hi: work(counts))

    def _put_aside(self) -> None:
        """Make a piece of the counts that wait."""
        if self._waiting is not None and self._waiting.n_features:
            piece = _piece(self._waiting, self.head.add_labels(self._waiting.labels), 0, SLICES)
            self._pieces.append(piece._replace(columns=_apart(piece.columns)))
            release(self._waiting.vocabulary)
        self._waiting = None

    def _write_run(self) -> None:
        """Add up the pieces in memory, and put the sum on disk."""
        classes = np.arange(len(self.head.labels), dtype=np.int64)
        with _explained(self._folder):
            if self._file is None:
                # It has no name: nothing of it is left, whatever ends the process.
                self._file = _File(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
            file = self._file
            alone = [[piece] for piece in self._pieces]
            sums = self._sums(alone, lambda counts, lo, hi: _piece(counts, classes, lo, hi))
            self._runs.append([piece.moved_to(file) for piece in sums])
            file.flush()
        self._pieces = []

    def _sums(self, runs: Sequence[Sequence[_Piece]], work: Callable[[Counts, int, int], T]) -> Iterator[T]:
        """What `work` makes of the sums over the slices lo … hi - 1, and over the next ones, in order."""
        sizes = np.zeros(SLICES, np.int64)
        for piece in (piece for run in runs for piece in run):
            sizes[piece.first : piece.last] += np.maximum(np.diff(piece.features), np.diff(piece.cells) // _CELLS)
        if not sizes.any():
            return

        def of(lo: int, hi: int) -> T:
            counts = self._sum(runs, lo, hi)
            made = work(counts, lo, hi)
            release(counts.vocabulary)
            return made

        groups = (np.cumsum(sizes) - sizes) // _GROUP
        bounds = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), SLICES]
        step = threads.n_threads()
        for start in range(0, len(bounds) - 1, step):
            yield from threads.each_slice(of, bounds[start : start + step + 1])

    def _sum(self, runs: Sequence[Sequence[_Piece]], lo: int, hi: int) -> Counts:
        """The counts of the features in the slices lo … hi - 1."""
        found = [
            piece.read(lo, hi)
            for run in runs
            for piece in run[bisect_right(run, lo, key=_last_of) : bisect_left(run, hi, key=_first_of)]
        ]
        cells = Cells(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
        fingerprint = self.head.fingerprint
        vocabulary = new_vocabulary(max(1, len(cells.sizes)), len(cells.text))
        counts = Counts(fingerprint, vocabulary, new_postings(len(vocabulary.hashes), len(cells.classes) + 16))
        counts.add(counts_of(cells, self.head.labels, fingerprint, vocabulary.size[NARROW]))
        return counts


class _Piece(NamedTuple):
    """Features in the order of their slices, `first` … `last` - 1.

    `features`, `bytes` and `cells` say where in the columns each slice begins, and where the last one ends.
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
        """The features of the slices lo … hi - 1."""
        a, b = max(lo, self.first) - self.first, min(hi, self.last) - self.first
        by_feature, by_byte, by_cell = (slice(int(at[a]), int(at[b])) for at in (self.features, self.bytes, self.cells))
        c = self.columns
        return Cells(
            c.sizes[by_feature],
            c.text[by_byte],
            c.lengths[by_feature],
            c.classes[by_cell],
            c.terms[by_cell],
            c.docs[by_cell],
            c.term_total[by_feature],
            c.doc_total[by_feature],
        )

    def moved_to(self, file: _File) -> _Piece:
        """The same on disk."""
        return self._replace(columns=Cells(*map(file.put, self.columns)))


def _first_of(piece: _Piece) -> int:
    return piece.first


def _last_of(piece: _Piece) -> int:
    return piece.last


def _piece(counts: Counts, classes: Integers, first: int, last: int) -> _Piece:
    """Counts whose features are in these slices; class c is classes[c] here."""
    v, p, targets = counts.joinable(classes)
    n = int(v.size[0])
    numbers = numbers_of(v.hashes[:n], SLICES).astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    cells = cells_of(v, p, order)
    if len(targets) and not np.array_equal(targets, np.arange(len(targets))):
        mapped = targets[cells.classes]
        cells = cells._replace(classes=mapped.astype(np.min_scalar_type(int(mapped.max(initial=0)))))
    features = np.searchsorted(numbers[order], np.arange(first, last + 1))
    return _Piece(first, last, features, _ends(cells.sizes)[features], _ends(cells.lengths)[features], cells)


def _ends(sizes: npt.NDArray[Any]) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _apart(cells: Cells) -> Cells:
    """The same in memory of its own, which goes back to the system as a whole.

    Among all else it would leave holes: of 1.25 GB that were let go, the system got .4 back.
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


class _File:
    """A file that grows, and is read by several threads."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = 0
        self._lock = threading.Lock()

    def put(self, array: npt.NDArray[Any]) -> Any:
        """The array, in the file; it can be cut."""
        at = self._size
        self._file.seek(at)
        self._file.write(array.data)
        self._size += array.nbytes
        return _Stretch(self, at, array.dtype)

    def close(self) -> None:
        """Give the room back."""
        self._file.close()

    def flush(self) -> None:
        """What was put is there."""
        self._file.flush()

    def read(self, at: int, size: int) -> bytes:
        with self._lock:
            self._file.seek(at)
            return self._file.read(size)


class _Stretch:
    """An array in a file."""

    def __init__(self, file: _File, at: int, dtype: np.dtype[Any]) -> None:
        self._file, self._at, self._dtype = file, at, dtype

    def __getitem__(self, where: slice) -> npt.NDArray[Any]:
        size = self._dtype.itemsize
        data = self._file.read(self._at + where.start * size, (where.stop - where.start) * size)
        return np.frombuffer(data, self._dtype)


@contextmanager
def _explained(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"counts do not fit into memory, and cannot be written to {os.path.abspath(folder)} ({error.strerror}): "
            "nothing was changed. Make room there, or give more memory"
        ) from error
