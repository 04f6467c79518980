"""Documents → `Counts`, on all threads; `kernel/count.py` has and explains the loops."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import reduce
from operator import add, or_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.cells import Integers, new_postings
from bunrui.counts import Counts, Totals
from bunrui.engines import threads
from bunrui.engines.labelgroups import LabelSets
from bunrui.errors import DataError
from bunrui.kernel import count as kernel
from bunrui.kernel import postings, slices, vocabulary, workspace
from bunrui.kernel.analyze import KIND, ORDER, UNIVERSAL, Documents, Recipe, Walk
from bunrui.kernel.count import Few, Parts, Small, Streams
from bunrui.kernel.library import run
from bunrui.kernel.slices import each_slice, stretches
from bunrui.kernel.universal import FIRST_SCRIPT, WORD_ORDER
from bunrui.kernel.vocabulary import BYTES, FEATURES, FULLEST, NARROW, Vocabulary

# Records that are on their way at once, 24 bytes each: more take memory, with fewer most find their region out of the
# cache.
_RECORDS = 3_000_000
_WORTH_A_THREAD = 1 << 20  # bytes
_RECORDS_WORTH_A_THREAD = 1 << 16  # or cells: with half of them, a second thread takes as long to wake as to work
_MOST_BYTES = 1 << 31

# log2 of the slots of the small table of a thread, which stays in the cache of its core, and of the largest that it may
# become where nearly all items are of its features; items that it takes at once.
_SMALL = 14
_LARGEST = 16
_FEW_BYTES = 1 << 16  # of text, for which no small table is made
_ITEMS = 1 << 10
_FEW_ITEMS = 64


def count(docs: Documents, recipe: Recipe, sets: LabelSets, fingerprint: str) -> Counts:
    """Count documents; the result is the same for any number of threads.

    Documents that count several times are read once for each binary digit of their number: 1,000 copies of a document
    in six times the time of one.
    """
    copies = sets.copies
    if copies is None:
        return _count_rows(docs, recipe, sets, fingerprint, np.arange(len(sets.groups)))
    total = Counts(fingerprint, labels=sets.labels)
    for digit in range(int(copies.max(initial=0)).bit_length()):
        rows = np.flatnonzero(copies >> digit & 1)
        if len(rows):
            part = _count_rows(docs, recipe, sets.subset(rows), fingerprint, rows)
            part.scale(1 << digit)
            total.add(part)
    return total


def _count_rows(docs: Documents, recipe: Recipe, sets: LabelSets, fingerprint: str, rows: Integers) -> Counts:
    """Count some of the documents; their labels are `sets`."""
    order, groups, sizes = rows, sets.groups, threads.sizes_of(docs, recipe)
    if len(rows) > 1:
        by_group = np.argsort(groups, kind="stable")
        order, groups = rows[by_group], groups[by_group]
    ends = sizes[order].cumsum()
    longest = threads.longest_document(docs, recipe, sizes)
    n_bytes = int(ends[-1]) if len(ends) else 0
    work = _Work(docs, order, groups.astype(np.int32), recipe, longest, _longest_ngram(recipe), ends, n_bytes)
    if n_bytes <= _FEW_BYTES and n_bytes < 2 * _WORTH_A_THREAD:
        counts = _count_few(work, sets, fingerprint)
        if counts is not None:
            return counts
    try:
        v, parts = _count(work, workspace.regions_for(workspace.bits_for(n_bytes // 8)))
    except _UnevenError:
        v, parts = _count(work, 1)
    return _arranged(v, parts, sets, fingerprint)


class _Work(NamedTuple):
    docs: Documents
    order: Integers
    groups: npt.NDArray[np.int32]
    recipe: Recipe
    longest: int  # document
    order_of_ngrams: int
    ends: Integers  # bytes of the documents in this order, added up
    n_bytes: int


def _longest_ngram(recipe: Recipe) -> int:
    """Units of the longest n-gram."""
    if recipe.params[KIND] == UNIVERSAL:
        orders = recipe.chars.orders.tolist()
        return int(max(orders[WORD_ORDER], *orders[FIRST_SCRIPT:]))
    return int(recipe.params[ORDER])


# Few bytes


def _count_few(work: _Work, sets: LabelSets, fingerprint: str) -> Counts | None:
    """Counts of documents of few bytes, in one call of a kernel; None where they have more features than most."""
    # A table that is too small is of no use at all: short texts of Chinese have two n-grams for every three bytes.
    n_features = max(_n_features_in(work.n_bytes, len(work.order)), min(work.n_bytes * 2 // 3, 4096))
    bits = workspace.bits_for(n_features)
    few = _here.free.pop(bits, None) or _new_few(bits)
    few.state[kernel.LONGEST] = work.order_of_ngrams
    few.vocabulary.size[NARROW] = workspace.NARROW_HASH
    sums = np.zeros((2, len(sets.members) - 1), np.int64)
    given = (work.docs, work.order, work.groups, work.recipe, workspace.scratch_for(work.longest))
    if not run(kernel.count_few, *given, few, sums.reshape(-1)):
        _here.free[bits] = few
        return None
    _here.lent[bits] = few
    return _with_totals(few.vocabulary, few.postings, sums, sets, fingerprint)


def release(counts: Counts) -> None:
    """Give back counts that nobody reads any more: the next ones use their arrays.

    To make these, and to pack their addresses, takes longer than to count a short text.
    """
    bits = workspace.bits_of(counts.vocabulary)
    few, free = _here.lent.get(bits), _here.free.get(bits)
    if free is not None and free.vocabulary is counts.vocabulary:
        return  # it was given back before
    if few is not None and few.vocabulary is counts.vocabulary and few.postings is counts.postings:
        _here.free[bits] = _here.lent.pop(bits)
    else:
        workspace.release(counts.vocabulary)


class _Here(threading.local):
    """The arrays in which a thread counts few documents, by log2 of their slots: free ones, and ones in use."""

    def __init__(self) -> None:
        self.free: dict[int, Few] = {}
        self.lent: dict[int, Few] = {}


_here = _Here()


def _new_few(bits: int) -> Few:
    v = workspace.new_vocabulary(workspace.room_of(bits), 0)
    parts = _new_parts(1, len(v.hashes))
    return Few(
        vocabulary=v._replace(text=np.empty(len(parts.text) + 64, np.uint8)),
        small=_NO_SMALL,
        streams=_new_streams(1, 1, _FEW_BYTES),
        parts=parts,
        postings=new_postings(len(v.hashes), len(parts.features), is_cleared=False),
        places=np.empty(kernel.BLOCK, np.uint64),
        bases=np.zeros(3, np.int64),
        state=np.zeros(kernel.STATES_OF_SLICE, np.int64),
    )


def _n_features_in(n_bytes: int, n_docs: int) -> int:
    """Estimate the number of features of some documents.

    The first 500 KB of IMDB have a 1-2-gram for every 9 bytes, those of NSMC a character n-gram for every 3; a single
    document repeats less, and has one for every 2 or 3.
    """
    return max(256, min(n_bytes // 2, 2048), min(n_bytes // 6, n_docs << 12))


# Many bytes


class _UnevenError(Exception):
    """Too much is in one partition: hashes that agree in their highest bits, or one very long feature."""


def _count(work: _Work, n_parts: int) -> tuple[Vocabulary, Parts]:
    """The table and the cells of documents, by partition."""
    n_docs, n_bytes = len(work.order), work.n_bytes
    n_threads = min(slices.n_threads(), n_bytes // _WORTH_A_THREAD) if n_bytes >= 2 * _WORTH_A_THREAD else 1
    round_bytes = min(n_bytes, n_threads * _WORTH_A_THREAD // 2 + 1)
    v = workspace.new_vocabulary(max(_n_features_in(round_bytes, n_docs), 64 * n_parts), 0, n_parts)
    parts = _new_parts(n_parts, _most_features(v))
    streams = _new_streams(n_threads, n_parts, n_bytes)
    readers = [_Reader(work, v, t) for t in range(n_threads)]
    lo = written = 0
    while True:
        first_byte = int(work.ends[lo - 1]) if lo else 0
        cuts = first_byte + np.arange(1, n_threads + 1) * (round_bytes / n_threads)
        bounds = [lo, *np.searchsorted(work.ends, cuts).tolist()]
        if first_byte + round_bytes >= n_bytes:
            bounds[-1] = n_docs
        for reader, a, b in zip(readers, bounds, bounds[1:], strict=False):
            reader.begin(a, b)
        is_last = bounds[-1] == n_docs
        # Counters have 32 bits for the occurrences in a group.
        writes = is_last or first_byte + round_bytes - written > _MOST_BYTES
        if writes:
            written = first_byte + round_bytes
        v, parts, n_records = _round(work, readers, streams, v, parts, writes=writes)
        if is_last:
            return v, parts
        if not lo:
            # New features become rarer, and new words rarer still.  A table that is right from the start is not copied
            # on the way, and one that is too large takes time to clear.
            growth = (n_bytes / round_bytes) ** (0.55 if work.order_of_ngrams == 1 else 0.7)
            v, parts = _with_room_for(int(_n_features(parts) * growth), v, parts)
        lo = bounds[-1]
        round_bytes = min(n_bytes, max(int(round_bytes * min(_RECORDS / n_records, 8)), n_threads << 16))


def _n_features(parts: Parts) -> int:
    return int(parts.state[kernel.N_FEATURES :: kernel.STATES].sum())


def _round(
    work: _Work, readers: Sequence[_Reader], streams: Streams, v: Vocabulary, parts: Parts, *, writes: bool
) -> tuple[Vocabulary, Parts, int]:
    """Read some documents and count them; return about how many records they make."""
    n_records = 1
    left = readers
    while left:
        list(slices.in_turn(lambda reader: reader.read(streams), left, len(left)))
        left = [reader for reader in left if not reader.is_done]
        stuck = [reader for reader in left if not streams.taken[reader.thread]]
        n_records += int(streams.taken.sum()) * kernel.BLOCK
        v, parts = _collect(streams, work.groups, v, parts, writes=writes and not left)
        for reader in stuck:
            v, parts = reader.read_alone(streams, v, parts)
    return v, parts, n_records


class _Reader:
    """Reads the documents of one thread."""

    def __init__(self, work: _Work, v: Vocabulary, thread: int) -> None:
        self.thread = thread
        self._work, self._v = work, v
        self._small = _new_small(_SMALL) if work.n_bytes > _FEW_BYTES else _NO_SMALL
        self._state = np.zeros(kernel.STATES_OF_SLICE, np.int64)
        self._state[[kernel.GROUP, kernel.GROWS, kernel.THREAD, kernel.LONGEST]] = -1, 1, thread, work.order_of_ngrams
        # For few bytes those of the scratch will do.
        self._items = workspace.new_items(_ITEMS) if work.n_bytes > _FEW_BYTES else None
        self._end = 0
        self.is_done = False

    def begin(self, lo: int, hi: int) -> None:
        """Take the documents lo … hi - 1."""
        self._state[kernel.POSITION], self._end, self.is_done = lo, hi, False

    def read(self, streams: Streams) -> None:
        """Read until the end, or until the streams are full."""
        self.is_done = self._read(streams, self._end, is_alone=False)

    def read_alone(self, streams: Streams, v: Vocabulary, parts: Parts) -> tuple[Vocabulary, Parts]:
        """Read a document that does not fit into the streams: in pieces, with nobody else's records between."""
        work, long_bytes = self._work, self._work.longest
        end = int(self._state[kernel.POSITION]) + 1
        self._items = workspace.new_items(_FEW_ITEMS)
        is_done = False
        while not is_done:
            is_done = self._read(streams, end, is_alone=True)
            if not is_done and not streams.taken.any():
                if long_bytes > 32 * kernel.PLACES * work.order_of_ngrams:
                    raise DataError("n-grams of a document have more than 512 MiB: cut it into several documents")
                long_bytes *= 2
                streams = _new_streams(len(streams.taken), len(v.loads), work.n_bytes, long_bytes)
            v, parts = _collect(streams, work.groups, v, parts, writes=False)
        return v, parts

    def _read(self, streams: Streams, end: int, *, is_alone: bool) -> bool:
        """Tell whether all documents before `end` are read, and all counters are sent."""
        work = self._work
        self._state[[kernel.END, kernel.ALONE]] = end, is_alone
        scratch = workspace.scratch_for(work.longest)
        if self._items is not None:
            scratch = scratch._replace(items=self._items)
        walk = Walk(work.docs, work.recipe, scratch)
        while True:
            status = run(kernel.scatter, walk, work.order, work.groups, self._v, self._small, streams, self._state)
            if status != kernel.GROW:
                return bool(status == kernel.DONE)
            self._small = _new_small((len(self._small.slots) // vocabulary.SLOT).bit_length() + 1)
            self._state[[kernel.CLAIMED, kernel.COUNTED]] = 0
            self._state[kernel.GROWS] = len(self._small.touched) < 1 << _LARGEST


def _new_small(bits: int) -> Small:
    return Small(np.zeros(vocabulary.SLOT << bits, np.uint64), np.empty((1 << bits) + 1, np.uint32))


_NO_SMALL = Small(np.zeros(0, np.uint64), np.empty(1, np.uint32))


# Streams


def _new_streams(n_threads: int, n_parts: int, n_bytes: int, long_bytes: int = 0) -> Streams:
    """Room for the records of a round, or of all documents where these have few bytes, and for long texts."""
    size = 8 * kernel.RECORD * kernel.BLOCK
    # All counters of the largest small table fit, so that only a document may be too long.
    n_records = min(n_bytes, max(_RECORDS * 3 // 2, 1 << _LARGEST)) // n_threads
    blocks = n_threads * ((n_records + (2 << _LARGEST)) // kernel.BLOCK + 2 * n_parts)
    data = np.empty(blocks * size + 64, np.uint8)
    n = n_threads * n_parts
    streams = Streams(
        words=data[: blocks * size].view(np.uint64),
        data=data,
        text=np.empty(n_threads * (8 * n_records + (32 << _LARGEST) + long_bytes), np.uint8),
        following=np.empty(blocks, np.int64),
        first=np.empty(n, np.int64),
        at=np.empty(n, np.int64),
        taken=np.empty(n_threads, np.int64),
        written=np.empty(n_threads, np.int64),
    )
    _empty(streams)
    return streams


def _empty(streams: Streams) -> None:
    streams.first.fill(-1)
    streams.at.fill(0)
    streams.taken.fill(0)
    streams.written.fill(0)


# Partitions

_BY_CELL = ("features", "groups", "terms", "docs")
_TYPES = {"text": np.uint8, "groups": np.int32} | dict.fromkeys(
    ("starts", "touched", "features", "terms", "docs"), np.uint32
)


def _new_parts(n: int, features: int) -> Parts:
    """Make room for n partitions with this number of features each."""
    state = np.zeros((n, kernel.STATES), np.int64)
    state[:, kernel.AT_GROUP] = -1
    arrays: dict[str, Any] = {name: np.empty(n * size, _TYPES[name]) for name, size in _sizes(features).items()}
    return Parts(**arrays, state=state.reshape(-1))


def _most_features(v: Vocabulary) -> int:
    """The features that a region may have."""
    return len(v.slots) // vocabulary.SLOT // len(v.loads) * 3 // 4


def _sizes(features: int) -> dict[str, int]:
    """The room that a partition with this number of features needs in every array."""
    cells = features * 5 // 4
    return {"starts": features, "touched": features, "text": 12 * features + 64} | dict.fromkeys(_BY_CELL, cells)


def _collect(
    streams: Streams, groups: npt.NDArray[np.int32], v: Vocabulary, parts: Parts, *, writes: bool
) -> tuple[Vocabulary, Parts]:
    """Count what is in the streams, and empty them; where `writes`, write all counters out as cells."""
    n_parts = len(v.loads)
    state = parts.state.reshape(n_parts, kernel.STATES)
    state[:, [kernel.STREAM, kernel.AT_WORD]] = 0, -1
    bounds = _among_threads(n_parts, int(streams.taken.sum()) * kernel.BLOCK)
    while True:

        def add(lo: int, hi: int, v: Vocabulary = v, parts: Parts = parts) -> int:
            args = (streams, groups, v, parts, np.empty(kernel.BLOCK, np.uint64), int(writes))
            return int(run(kernel.collect, lo, hi, *args))

        lacking = reduce(or_, each_slice(add, bounds))
        if lacking == kernel.DONE:
            _empty(streams)
            return v, parts
        if lacking & kernel.MORE_FEATURES:
            if n_parts > 1 and int(state[:, kernel.N_FEATURES].sum()) < len(v.slots) // vocabulary.SLOT // 4:
                raise _UnevenError
            v, parts = _with_room_for(len(v.slots) // vocabulary.SLOT, v, parts)
        if lacking & kernel.MORE_BYTES:
            more = max(int(state[:, kernel.LACKS].max()), len(parts.text) // n_parts)
            if n_parts > 1 and n_parts * more > _MOST_BYTES:
                raise _UnevenError  # features so long that one of them would be given room in every partition
            parts = parts._replace(text=_longer(parts.text, n_parts, more))
        if lacking & kernel.MORE_CELLS:
            parts = parts._replace(**{name: _longer(getattr(parts, name), n_parts) for name in _BY_CELL})


def _among_threads(n_parts: int, n_records: int) -> list[int]:
    """Where to cut partitions, which have so many records or cells together."""
    return stretches(n_parts, max(1, n_parts * _RECORDS_WORTH_A_THREAD // max(n_records, 1)))


def _longer(array: Any, n: int, more: int = 0) -> Any:
    """The array with stretches that are longer by `more`, or twice as long."""
    old = array.reshape(n, -1)
    length = old.shape[1] + (more or old.shape[1] + 64)
    if array.dtype == np.uint8 and length > workspace.MAX_TEXT:
        raise workspace.too_much_text()
    new = np.empty((n, length), array.dtype)
    new[:, : old.shape[1]] = old
    return new.reshape(-1)


def _with_room_for(n_features: int, v: Vocabulary, parts: Parts) -> tuple[Vocabulary, Parts]:
    """The table with slots for so many features, if it has fewer."""
    n_parts = len(v.loads)
    if workspace.bits_for(n_features) <= workspace.bits_of(v):
        return v, parts
    larger = workspace.new_vocabulary(n_features, 0, n_parts)
    step = len(v.slots) // n_parts
    each_slice(lambda lo, hi: run(vocabulary.move_slots, v.slots[lo * step : hi * step], larger), stretches(n_parts, 1))
    workspace.release(v)
    old, new = (_sizes(_most_features(each)) for each in (v, larger))
    # By as much as the region has grown, whatever they had beyond what it needs.
    longer = {name: _longer(getattr(parts, name), n_parts, new[name] - old[name]) for name in new}
    parts = parts._replace(**longer)
    each_slice(lambda lo, hi: run(kernel.list_counters, lo, hi, larger, parts), stretches(n_parts, 1))
    return larger, parts


def _arranged(v: Vocabulary, parts: Parts, sets: LabelSets, fingerprint: str) -> Counts:
    """Counts from the partitions."""
    n_parts = len(v.loads)
    per_part = parts.state.reshape(n_parts, kernel.STATES)[:, : kernel.N_CELLS + 1]
    ends = np.cumsum(per_part, axis=0)
    bases = ends - per_part
    n_features, n_bytes, n_cells = ends[-1].tolist()
    if n_bytes > workspace.MAX_TEXT:
        raise workspace.too_much_text()
    room = max(n_features, len(v.hashes))
    if room > len(v.hashes):
        v = v._replace(hashes=np.empty(room, np.uint64), starts=np.empty(room + 1, np.int64))
    if n_bytes + 64 > len(v.text):
        v = v._replace(text=np.empty(n_bytes + 64, np.uint8))
    v.size[FEATURES], v.size[BYTES], v.size[FULLEST] = n_features, n_bytes, per_part[:, 0].max()
    v.starts[n_features] = n_bytes
    p = new_postings(room, n_cells, is_cleared=False)
    n_groups = len(sets.members) - 1

    def arrange(lo: int, hi: int) -> tuple[int, Any]:
        sums = np.zeros((2, n_groups), np.int64)
        return run(kernel.arrange, lo, hi, parts, bases.reshape(-1), v, p, sums.reshape(-1)), sums

    done = each_slice(arrange, _among_threads(n_parts, n_cells))
    sums = reduce(add, [each for _, each in done])
    p.size[:] = n_cells, n_features, sum(left_out for left_out, _ in done)
    return _with_totals(v, p, sums, sets, fingerprint)


def _with_totals(v: Vocabulary, p: postings.Postings, sums: Any, sets: LabelSets, fingerprint: str) -> Counts:
    """Counts from features, their cells, and the sums by group of occurrences and of documents."""
    doc_count = np.bincount(sets.groups, minlength=len(sets.members) - 1)
    n_terms, n_doc_freq = sums.sum(axis=1).tolist()
    if not sets.is_single:
        p = _by_class(p, int(v.size[FEATURES]), sets)
        sums, doc_count = sets.by_label(sums), sets.by_label(doc_count)
    totals = Totals(doc_count, sums[0], sums[1], len(sets.groups), n_terms, n_doc_freq)
    return Counts(fingerprint, v, p, labels=sets.labels, totals=totals)


def _by_class(cells: postings.Postings, n_features: int, sets: LabelSets) -> postings.Postings:
    """Cells by group → cells by class, each group counted for all of its labels."""
    members, labels = sets.members, sets.indices.astype(np.int32)
    sizes = np.diff(members)
    room = int(sizes[cells.classes[: int(cells.size[postings.USED])]].sum())
    p = new_postings(len(cells.starts), room)._replace(term_total=cells.term_total, doc_total=cells.doc_total)
    run(postings.add_groups, p, n_features, cells, members, labels)
    p.size[postings.LIVE] = n_features
    return p
