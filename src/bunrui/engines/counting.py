"""Documents → `Counts`, on all threads: `kernel/count.py` has the loops, and says how they work."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts, new_postings
from bunrui.engines import threads
from bunrui.engines.labels import LabelSets
from bunrui.errors import DataError
from bunrui.kernel import count as kernel
from bunrui.kernel import postings, vocabulary
from bunrui.kernel.analyze import KIND, ORDER, UNIVERSAL, Documents, Recipe
from bunrui.kernel.count import Parts, Small, Streams
from bunrui.kernel.library import run
from bunrui.kernel.mutex import Mutex
from bunrui.kernel.ngrams import Items
from bunrui.kernel.universal import FIRST_SCRIPT, WORD_ORDER
from bunrui.kernel.vocabulary import BYTES, FEATURES, FULLEST, Vocabulary
from bunrui.kernel.workspace import (
    MAX_TEXT,
    bits_for,
    bits_of,
    grown_vocabulary,
    new_items,
    new_vocabulary,
    regions_for,
    release,
    room_of,
    scratch_for,
)

__all__ = ["count"]

Integers = npt.NDArray[np.int64]

# Bytes of documents that a thread reads before records are collected: more take memory, with fewer the same features
# are sent more often.
_SLICE = 2 << 20

# Features of the small table of a thread, which stays in the cache of its core, and of the largest that it may become
# where nearly all items are of its features; items that it takes at once.
_SMALL = 8_192
_LARGEST = 1 << 17
_ITEMS = 1 << 10


def count(docs: Documents, recipe: Recipe, sets: LabelSets, fingerprint: str) -> Counts:
    """Count documents; the result is the same for any number of threads."""
    order = np.argsort(sets.groups, kind="stable")
    sizes = threads.sizes_of(docs, recipe)[order]
    n_bytes = int(sizes.sum())
    # A table that is right from the start is not copied on the way.  IMDB has a word for every 440 bytes, a 1-2-gram
    # for every 25; livedoor a character n-gram for every 16.
    single = recipe.params[KIND] != UNIVERSAL and recipe.params[ORDER] == 1
    guess = max(64, min(n_bytes // 4, max(1 << 12, n_bytes // (128 if single else 24)), len(order) << 12))
    longest = threads.longest_document(docs, recipe)
    work = _Work(docs, order, sets.groups[order].astype(np.int32), recipe, longest, _longest_ngram(recipe))
    try:
        v, parts = _count(work, sizes, guess, regions_for(bits_for(guess)))
    except _Uneven:
        v, parts = _count(work, sizes, guess, 1)
    return _arranged(v, parts, sets, fingerprint)


class _Work(NamedTuple):
    docs: Documents
    order: Integers
    groups: npt.NDArray[np.int32]
    recipe: Recipe
    longest: int  # document
    order_of_ngrams: int


def _longest_ngram(recipe: Recipe) -> int:
    """Units of the longest n-gram."""
    if recipe.params[KIND] == UNIVERSAL:
        orders = recipe.chars.orders
        return int(max(orders[WORD_ORDER], orders[FIRST_SCRIPT:].max()))
    return int(recipe.params[ORDER])


class _Uneven(Exception):
    """Too many features are in one partition: hashes that agree in their highest bits, by chance or by intent."""


def _count(work: _Work, sizes: Integers, guess: int, n_parts: int) -> tuple[Vocabulary, Parts]:
    """The table and the cells of documents, by partition."""
    v = new_vocabulary(guess, 0, n_parts)
    parts = _new_parts(n_parts, len(v.slots) // vocabulary.SLOT // n_parts)
    ends = np.cumsum(sizes)
    n_bytes = int(ends[-1]) if len(ends) else 0
    n_threads = max(1, min(threads.n_threads(), n_bytes // _SLICE))
    n_slices = max(1, n_bytes // _SLICE)
    cuts = np.searchsorted(ends, np.arange(1, n_slices) * (n_bytes / n_slices))
    bounds = [0, *cuts.tolist(), len(sizes)]
    streams = _new_streams(n_threads, n_parts, min(n_bytes, 2 * _SLICE))
    small = [_borrow() for _ in range(n_threads)]
    states = [np.array([0, 0, -1, 0, 0], np.int64) for _ in range(n_threads)]
    for k in range(0, n_slices, n_threads):
        slices = list(pairwise(bounds[k : k + n_threads + 1]))
        for state, (lo, _) in zip(states, slices, strict=False):
            state[kernel.POSITION] = lo
        left = list(range(len(slices)))
        while left:

            def read(i: int, _: int, left: list[int] = left, streams: Streams = streams) -> int:
                t = left[i]
                small[t], status = _scatter(work, slices[t][1], states[t], small[t], streams, t)
                return status

            found = threads.each_slice(read, range(len(left) + 1))
            left = [t for t, status in zip(left, found, strict=True) if status == kernel.FULL]
            is_empty = not streams.taken.any()
            v, parts = _collect(streams, work.groups, v, parts, is_last=not left and k + n_threads >= n_slices)
            if left and is_empty:  # not even one table fits
                n_bytes *= 2
                streams = _new_streams(n_threads, n_parts, n_bytes)
            else:
                _empty(streams)
    for each in small:
        _give_back(*each)
    return v, parts


# The small tables of the threads

_idle: list[tuple[Small, Items]] = []
_idle_lock = Mutex()
_MOST_IDLE = 64


def _borrow() -> tuple[Small, Items]:
    """A small table, which is empty, and room for items."""
    with _idle_lock:
        if _idle:
            return _idle.pop()
    return _new_small(new_vocabulary(_SMALL, 16 * _SMALL)), new_items(_ITEMS)


def _new_small(table: Vocabulary) -> Small:
    # More slots than that many features need: the fewer are taken, the shorter is the way to one that is not there.
    room = len(table.hashes) * 5 // 7
    table = table._replace(hashes=table.hashes[:room])
    return Small(table, np.empty(room, np.uint32), np.empty(room + 1, np.uint32), np.array([_LARGEST], np.int64))


def _give_back(small: Small, items: Items) -> None:
    """Keep a table for others, unless it has grown."""
    if len(small.table.hashes) > _SMALL:
        return
    run(kernel.clear_table, small)
    with _idle_lock:
        if len(_idle) < _MOST_IDLE:
            _idle.append((small, items))


def _scatter(
    work: _Work, end: int, state: Integers, small: tuple[Small, Items], streams: Streams, thread: int
) -> tuple[tuple[Small, Items], int]:
    """Read documents of a slice; the table, which may have grown, and DONE or FULL."""
    table, items = small
    scratch = scratch_for(work.longest)._replace(items=items)
    while True:
        args = (work.docs, work.order, work.groups, end, work.recipe, scratch, table)
        status = run(kernel.scatter, *args, streams, thread, work.order_of_ngrams, state)
        if status != kernel.GROW_TABLE:
            return (table, items), status
        v = table.table
        more = grown_vocabulary(v, 6 * len(v.hashes) + _ITEMS, 6 * len(v.text) + 5 * work.longest)
        table = _new_small(more)
        run(kernel.list_slots, table, state)


# Streams

_BYTES_PER_BYTE = 12  # of streams, for a byte of text: as many as text of short words makes


def _new_streams(n_threads: int, n_parts: int, n_bytes: int) -> Streams:
    """Room for the records of so many bytes of text, for each thread."""
    size = 8 * kernel.RECORD * kernel.BLOCK
    blocks = n_threads * (n_bytes * _BYTES_PER_BYTE // size + 2 * n_parts + 4)
    data = np.empty(blocks * size + 64, np.uint8)
    n = n_threads * n_parts
    streams = Streams(
        words=data[: blocks * size].view(np.uint64),
        data=data,
        text=np.empty(n_threads * (n_bytes * _BYTES_PER_BYTE + 16 * _SMALL), np.uint8),
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


def _new_parts(n: int, slots: int) -> Parts:
    """Room for n partitions whose regions have so many slots."""
    features = slots * 3 // 4
    cells = features * 3 // 2
    state = np.zeros((n, kernel.STATES), np.int64)
    state[:, kernel.AT_GROUP] = -1
    return Parts(
        starts=np.empty(n * features, np.uint32),
        touched=np.empty(n * features, np.uint32),
        text=np.empty(n * (16 * features + 64), np.uint8),
        features=np.empty(n * cells, np.uint32),
        groups=np.empty(n * cells, np.int32),
        terms=np.empty(n * cells, np.uint32),
        docs=np.empty(n * cells, np.uint32),
        state=state.reshape(-1),
    )


def _collect(
    streams: Streams, groups: npt.NDArray[np.int32], v: Vocabulary, parts: Parts, *, is_last: bool
) -> tuple[Vocabulary, Parts]:
    """Count what is in the streams."""
    n_parts = len(v.loads)
    state = parts.state.reshape(n_parts, kernel.STATES)
    state[:, [kernel.STREAM, kernel.AT_BLOCK]] = 0, -1
    n_threads = len(streams.taken)
    bounds = _evenly(n_parts, n_threads)
    while True:

        def add(lo: int, hi: int, v: Vocabulary = v, parts: Parts = parts) -> int:
            args = (streams, groups, v, parts, np.empty(kernel.BLOCK, np.uint64), int(is_last))
            return int(run(kernel.collect, lo, hi, *args))

        lacking = set(threads.each_slice(add, bounds))
        if lacking == {kernel.DONE}:
            return v, parts
        if kernel.MORE_FEATURES in lacking:
            v, parts = _with_more_slots(v, parts)
        if kernel.MORE_BYTES in lacking:
            most = 16 * int(streams.written.max())
            parts = parts._replace(text=_longer(parts.text, n_parts, max(most, len(parts.text) // n_parts)))
        if kernel.MORE_CELLS in lacking:
            by_cell = ("features", "groups", "terms", "docs")
            parts = parts._replace(**{name: _longer(getattr(parts, name), n_parts) for name in by_cell})


def _longer(array: Any, n: int, more: int = 0) -> Any:
    """The array with stretches that are longer by `more`, or twice as long."""
    old = array.reshape(n, -1)
    length = old.shape[1] + (more or old.shape[1] + 64)
    if array.dtype == np.uint8 and length > MAX_TEXT:
        raise DataError("the features take more than 4 GiB of text: use shorter n-grams, or several classifiers")
    new = np.empty((n, length), array.dtype)
    new[:, : old.shape[1]] = old
    return new.reshape(-1)


def _with_more_slots(v: Vocabulary, parts: Parts) -> tuple[Vocabulary, Parts]:
    """The table with twice as many slots."""
    n_parts = len(v.loads)
    n_features = parts.state[kernel.N_FEATURES :: kernel.STATES]
    slots = len(v.slots) // vocabulary.SLOT
    if n_parts > 1 and int(n_features.sum()) < slots // 4:
        raise _Uneven
    larger = new_vocabulary(slots * 7 // 10 + 1, 0, n_parts)
    step = len(v.slots) // n_parts
    threads.each_slice(
        lambda lo, hi: run(vocabulary.move_slots, v.slots[lo * step : hi * step], larger), _evenly(n_parts, threads.n_threads())
    )
    release(v)
    more = len(larger.slots) // vocabulary.SLOT // n_parts * 3 // 4 - len(parts.starts) // n_parts
    parts = parts._replace(starts=_longer(parts.starts, n_parts, more), touched=_longer(parts.touched, n_parts, more))
    run(kernel.list_counters, 0, n_parts, larger, parts)
    return larger, parts


def _evenly(n: int, n_threads: int) -> list[int]:
    """Where to cut n partitions for the threads."""
    k = min(n, n_threads)
    return [n * i // k for i in range(k + 1)]


def _arranged(v: Vocabulary, parts: Parts, sets: LabelSets, fingerprint: str) -> Counts:
    """Counts from the partitions."""
    n_parts = len(v.loads)
    per_part = parts.state.reshape(n_parts, kernel.STATES)[:, : kernel.N_CELLS + 1]
    bases = np.cumsum(per_part, axis=0) - per_part
    n_features, n_bytes, n_cells = per_part.sum(axis=0).tolist()
    if n_bytes > MAX_TEXT:
        raise DataError("the features take more than 4 GiB of text: use shorter n-grams, or several classifiers")
    room = max(n_features, room_of(bits_of(v)))
    v = v._replace(
        hashes=np.empty(room, np.uint64), starts=np.empty(room + 1, np.int64), text=np.empty(n_bytes + 64, np.uint8)
    )
    v.size[FEATURES], v.size[BYTES], v.size[FULLEST] = n_features, n_bytes, per_part[:, 0].max()
    v.starts[n_features] = n_bytes
    p = new_postings(room, n_cells)
    n_groups = len(sets.members) - 1
    bounds = _evenly(n_parts, threads.n_threads())

    def arrange(lo: int, hi: int) -> tuple[int, Any]:
        sums = np.zeros((2, n_groups), np.int64)
        return run(kernel.arrange, lo, hi, parts, bases.reshape(-1), v, p, sums[0], sums[1]), sums

    done = threads.each_slice(arrange, bounds)
    sums = sum(each for _, each in done)
    doc_count = np.bincount(sets.groups, minlength=n_groups)
    n_terms, n_doc_freq = sums.sum(axis=1).tolist()
    p.size[:] = n_cells, n_features, sum(left_out for left_out, _ in done)
    if not sets.is_single:
        p = _by_class(p, n_features, sets)
        sums, doc_count = sets.by_label(sums), sets.by_label(doc_count)
    counts = Counts(fingerprint, v, p)
    counts.add_labels(sets.labels)
    counts.doc_count, (counts.term_sum, counts.doc_freq_sum) = doc_count, sums
    counts.n_docs, counts.n_terms, counts.n_doc_freq = len(sets.groups), n_terms, n_doc_freq
    return counts


def _by_class(cells: postings.Postings, n_features: int, sets: LabelSets) -> postings.Postings:
    """Cells by group → cells by class, each group counted for all of its labels."""
    members, labels = sets.members, sets.indices.astype(np.int32)
    sizes = np.diff(members)
    room = int(sizes[cells.classes].sum())
    p = new_postings(len(cells.starts), room)._replace(term_total=cells.term_total, doc_total=cells.doc_total)
    run(postings.add_groups, p, n_features, cells, members, labels)
    p.size[postings.LIVE] = n_features
    return p
