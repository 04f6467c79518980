"""Counting on the threads of this machine: each counts into a table of its own, and the tables are added up.

The same addition joins threads, batches and machines, so the result is the same for any number of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts, new_postings
from bunrui.engines.labels import LabelSets
from bunrui.errors import DataError
from bunrui.kernel import count as tallying
from bunrui.kernel import postings
from bunrui.kernel.analyze import GIVEN, KIND, ORDER, UNIVERSAL, Documents, Recipe
from bunrui.kernel.count import Tally
from bunrui.kernel.library import run
from bunrui.kernel.vocabulary import FEATURES, Vocabulary
from bunrui.kernel.workspace import grown_vocabulary, new_vocabulary, release, resized, scratch_for
from bunrui.pool import each_slice, n_threads

__all__ = ["bounds_of", "count", "each_slice", "longest_document", "n_threads"]

Integers = npt.NDArray[np.int64]

# Below this many bytes a second thread costs more than it brings.
_WORTH_A_THREAD = 1 << 20
_LARGE_TABLE = 1 << 17

# Places in the folded text, which may be five times as long, are 32-bit.
MAX_DOCUMENT = 512 << 20

# A slot counts the occurrences of one part with 32 bits.
_MOST_BYTES = 1 << 32


def count(docs: Documents, recipe: Recipe, sets: LabelSets, fingerprint: str) -> tuple[Counts, Integers]:
    """Count documents; also the indices of those that must be folded in Python first, which are left out."""
    order = np.argsort(sets.groups, kind="stable")
    sizes = _sizes(docs, recipe)[order]
    longest = longest_document(docs, recipe)

    def count_slice(lo: int, hi: int) -> tuple[Counts, Integers]:
        return _count_slice(docs, recipe, sets, order[lo:hi], int(sizes[lo:hi].sum()), longest, fingerprint)

    parts = each_slice(count_slice, _cut(sizes))
    counts, hard = parts[0]
    for more, more_hard in parts[1:]:
        counts.add(more)
        release(more.vocabulary)
        hard = np.concatenate([hard, more_hard])
    return counts, hard


def bounds_of(docs: Documents, recipe: Recipe) -> list[int]:
    """Where to cut documents into parts for the threads."""
    return _cut(_sizes(docs, recipe))


def _cut(sizes: Integers) -> list[int]:
    """Where to cut a list into parts of about the same number of bytes."""
    total = int(sizes.sum())
    parts = max(min(n_threads(), max(1, total // _WORTH_A_THREAD)), -(-total // _MOST_BYTES))
    if parts == 1:
        return [0, len(sizes)]
    cuts = np.searchsorted(np.cumsum(sizes), np.arange(1, parts) * (total / parts))
    return [0, *cuts.tolist(), len(sizes)]


def _sizes(docs: Documents, recipe: Recipe) -> Integers:
    """Bytes of every document."""
    offsets = docs.offsets[docs.lists] if recipe.params[KIND] == GIVEN else docs.offsets
    return np.asarray(offsets[1:] - offsets[:-1])


def longest_document(docs: Documents, recipe: Recipe) -> int:
    """Bytes (or strings) of the longest document."""
    sizes = _sizes(docs, recipe)
    longest = int(sizes.max()) if len(sizes) else 0
    if recipe.params[KIND] == GIVEN and len(docs.lists) > 1:
        longest = max(longest, int(np.diff(docs.lists).max()))
    if longest > MAX_DOCUMENT:
        row = int(sizes.argmax())
        raise DataError(f"text {row} has {longest:,} bytes, more than {MAX_DOCUMENT:,}: cut it into several documents")
    return longest


def _count_slice(
    docs: Documents,
    recipe: Recipe,
    sets: LabelSets,
    order: Integers,
    n_bytes: int,
    longest: int,
    fingerprint: str,
) -> tuple[Counts, Integers]:
    groups = sets.groups[order].astype(np.int32)
    scratch = scratch_for(longest)
    # A table that is right from the start is not copied on the way.  IMDB has a word for every 440 bytes, a 1-2-gram
    # for every 25; livedoor a character n-gram for every 16.
    single = recipe.params[KIND] != UNIVERSAL and recipe.params[ORDER] == 1
    guess = max(64, min(n_bytes // 4, max(1 << 12, n_bytes // (128 if single else 24)), len(order) << 12))
    v = new_vocabulary(guess, 8 * guess)
    tally = _new_tally(len(v.hashes), guess, len(order))
    while True:
        status = run(tallying.count_documents, docs, order, groups, recipe, scratch, v, tally)
        if status == tallying.DONE:
            break
        if status == tallying.GROW_CELLS:
            room = 2 * len(tally.features) + int(tally.state[tallying.TOUCHED])
            larger = {n: resized(getattr(tally, n), room) for n in ("features", "groups", "terms", "docs")}
            tally = tally._replace(**larger)
            continue
        n_new = n_items = len(scratch.items.starts)
        if n_bytes < n_new:
            n_new = n_bytes + 1
        features = len(v.hashes)
        if int(v.size[FEATURES]) + n_items > features:  # else it is the text of a few long features that lacks room
            # Small tables grow quickly; of large ones every page costs the system time to find and clear.
            factor = 4 if features < _LARGE_TABLE else 2
            features = max(factor * features, int(v.size[FEATURES]) + n_new)
        v = grown_vocabulary(v, features, 2 * len(v.text) + 16 * n_new + longest)
        tally = tally._replace(touched=np.empty(len(v.hashes) + 1, np.uint64))
        run(tallying.list_touched, v, tally)
    n_hard = int(tally.state[tallying.N_HARD])
    hard = tally.hard[:n_hard]
    counted = np.setdiff1d(order, hard) if n_hard else order
    return _assemble(v, tally, sets, counted, fingerprint), hard


def _new_tally(features: int, cells: int, n_docs: int) -> Tally:
    return Tally(
        # One more than there are features: a slot is noted before it is known to be new.
        touched=np.empty(features + 1, np.uint64),
        features=np.empty(cells, np.uint32),
        groups=np.empty(cells, np.int32),
        terms=np.empty(cells, np.int64),
        docs=np.empty(cells, np.int64),
        hard=np.empty(n_docs, np.int64),
        state=np.array([0, 0, 0, 0, -1, 0], np.int64),
    )


def _assemble(v: Vocabulary, tally: Tally, sets: LabelSets, counted: Integers, fingerprint: str) -> Counts:
    """Counts from the cells of a tally."""
    n_features = int(v.size[FEATURES])
    n_cells = int(tally.state[tallying.CELLS])
    n_groups = len(sets.members) - 1
    p = new_postings(len(v.hashes), n_cells)
    sums = np.zeros((2, n_groups), np.int64)
    run(tallying.assemble, tally, n_features, p, sums[0], sums[1])
    doc_count = np.bincount(sets.groups[counted], minlength=n_groups)
    n_terms, n_doc_freq = sums.sum(axis=1).tolist()
    if not sets.is_single:
        p = _by_class(p, n_features, sets)
        sums, doc_count = sets.by_label(sums), sets.by_label(doc_count)
    counts = Counts(fingerprint, v, p)
    counts.add_labels(sets.labels)
    counts.doc_count, (counts.term_sum, counts.doc_freq_sum) = doc_count, sums
    counts.n_docs, counts.n_terms, counts.n_doc_freq = len(counted), n_terms, n_doc_freq
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
