"""Target and raw, counted in the buckets of a hash: memory and speed do not depend on how many features there are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.engines import threads
from bunrui.errors import OptionError
from bunrui.kernel import ratio as kernel
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.buckets import HASH_BITS
from bunrui.kernel.library import run
from bunrui.kernel.workspace import scratch_for

__all__ = ["Buckets", "Collisions", "Weigh", "documents_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Weigh = Callable[[Integers, Integers], Floats]
"""The weights of features, from how many documents of the target have them, and how many of all."""

TARGET, RAW = 0, 1

# The features with the lowest hashes are told apart, to count them: 8 MB of bits for each thread.
_MARKED_BITS = 26
_SAMPLE = 1 << (HASH_BITS - _MARKED_BITS)
_FEWEST_BITS = 8
_STAMPS = 0xFFFF_FFFF


class Collisions(NamedTuple):
    """How much the buckets mix up.

    Attributes
    ----------
    n_buckets : int
    n_features : int
        Distinct features of target and raw: 64 times those of a 64th of the hashes.
    share : float
        Of these features, how many share their bucket with another.
    """

    n_buckets: int
    n_features: int
    share: float


class _Room:
    """What one thread counts in."""

    def __init__(self, bits: int) -> None:
        self.seen = np.zeros(1 << bits, np.uint32)
        self.counts = np.zeros((2, 1 << bits), np.int64)
        self.marks = np.zeros(1 << (_MARKED_BITS - 3), np.uint8)
        self._stamp = 0

    def stamps(self, n: int) -> int:
        """The first of `n` numbers for documents, all above those before."""
        if self._stamp + n > _STAMPS:
            self.seen.fill(0)
            self._stamp = 0
        first = self._stamp + 1
        self._stamp += n
        return first


class Buckets:
    """How many documents of target and raw have a feature in each of 2 ** bits buckets."""

    def __init__(self, analyzer: Analyzer, bits: int, weigh: Weigh) -> None:
        if not _FEWEST_BITS <= bits <= _MARKED_BITS:
            raise OptionError(
                f"a hash of {bits} bits: give {_FEWEST_BITS} to {_MARKED_BITS}, or 0 to count every feature by itself"
            )
        self._analyzer = analyzer
        self._bits = bits
        self._shift = HASH_BITS - bits
        self._weigh = weigh
        self._rooms: list[_Room] = []
        self._weights: Floats | None = None

    @property
    def n_target(self) -> int:
        """Buckets of a document, summed over the documents of the target."""
        return sum(int(room.counts[TARGET].sum()) for room in self._rooms)

    def count(self, texts: Any, side: int) -> None:
        """Count documents of the target (side 0) or of raw (1)."""
        self._weights = None
        self._each(*documents_of(self._analyzer, texts), partial(self._count, side=side))

    def read(self, texts: Any) -> Floats:
        """The sum of the weights of every document, and how many buckets it has, (2, n_docs)."""
        if self._weights is None:
            target, raw = sum((room.counts for room in self._rooms), np.zeros((2, 1 << self._bits), np.int64))
            self._weights = self._weigh(target, target + raw)
        out = np.empty((2, len(texts)))
        self._each(*documents_of(self._analyzer, texts), partial(self._sum, out=out))
        return out

    def _each(self, docs: Documents, recipe: Recipe, work: Callable[..., None]) -> None:
        """Call `work` for slices of documents, on the threads."""
        scratch = partial(scratch_for, threads.longest_document(docs, recipe))

        def part(lo: int, hi: int) -> None:
            try:
                room = self._rooms.pop()  # one step: no other thread can have it too
            except IndexError:
                room = _Room(self._bits)
            try:
                where = (docs, lo, hi, recipe, scratch(), self._shift, room.stamps(hi - lo), room.seen)
                work(where, room, lo, hi)
            finally:
                self._rooms.append(room)  # with all that was counted before

        threads.each_slice(part, threads.bounds_of(docs, recipe))

    def _count(self, where: tuple[Any, ...], room: _Room, lo: int, hi: int, side: int) -> None:
        run(kernel.count_buckets, *where, room.counts[side], room.marks)

    def _sum(self, where: tuple[Any, ...], room: _Room, lo: int, hi: int, out: Floats) -> None:
        run(kernel.sum_buckets, *where, self._weights, out[0, lo:hi], out[1, lo:hi])

    def collisions(self) -> Collisions:
        """How much the buckets mix up, from all features of the first 64th of the buckets."""
        marks = np.zeros(1 << (_MARKED_BITS - 3), np.uint8)
        for room in self._rooms:
            marks |= room.marks
        by_bucket = np.bitwise_count(marks).reshape(-1, 1 << (self._shift - 3)).sum(axis=1, dtype=np.int64)
        n_features = int(by_bucket.sum())
        n_sharing = int(by_bucket[by_bucket > 1].sum())
        return Collisions(1 << self._bits, n_features * _SAMPLE, n_sharing / max(n_features, 1))


def documents_of(analyzer: Analyzer, texts: Any) -> tuple[Documents, Recipe]:
    """Buffers, and what to do with them."""
    if inputs.is_given(texts):
        return inputs.given(texts), analyzer.given
    return analyzer.documents(inputs.strings(texts)), analyzer.recipe


def _n_bytes(docs: Documents, lo: int, hi: int) -> int:
    offsets = docs.offsets[docs.lists] if len(docs.lists) else docs.offsets
    return int(offsets[hi] - offsets[lo])
