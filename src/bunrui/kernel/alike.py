"""Features that have the same counts have the same weights: groups of features that are alike.

Of 1.3 million n-grams of IMDB two thirds occur in one document; all of them together have 12,000 different lists of
counts.  So a model weighs 12,000 lists, and its weights fit into the cache.

Equal hashes are not enough: lists are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.kernel.library import run
from bunrui.kernel.ngrams import K1, K3, S32
from bunrui.kernel.postings import Postings
from bunrui.kernel.primitives import M64, ONE, i64, inline, u64
from bunrui.kernel.signature import I64s, U8s, U32s, U64s, kernel, record
from bunrui.kernel.slices import each_slice, stretches
from bunrui.kernel.vocabulary import MISSING
from bunrui.kernel.workspace import resized

# Places in `Groups.size`
GROUPS = 0
KNOWN = 1  # features


# Features for which a thread is worth while, and groups that there is room for at first.
_WORTH_A_THREAD = 1 << 15
_FEW_GROUPS = 1 << 10

Ids = npt.NDArray[np.uint32]


class Alike(NamedTuple):
    """The groups of the features of some counts."""

    places: Ids  # (features): the number of the group, MISSING where a feature is not kept
    firsts: Ids  # (groups): the first feature of each group
    n_known: int  # features that are in a group


def group(p: Postings, keep: Any, n_features: int, *, by_docs: bool, by_word: bool) -> Alike:
    """Group the features that some document has, and `keep` keeps (all, where it is empty), on all threads.

    By documents, or by occurrences.  Where `by_word`, every feature is a group of its own.
    """
    places = np.empty(n_features, np.uint32)
    how = int(by_docs), int(by_word)
    bounds = stretches(n_features, _WORTH_A_THREAD)

    def some(lo: int, hi: int) -> Groups:
        return _grouped(lambda groups, at: run(group_features, p, keep, at, hi, *how, groups, places), lo, hi)

    parts = each_slice(some, bounds)
    n_known = sum(int(part.size[KNOWN]) for part in parts)
    firsts = [part.firsts[: int(part.size[GROUPS])] for part in parts]
    if len(parts) == 1:
        return Alike(places, firsts[0], n_known)
    # Groups of several threads may be alike.
    every = np.concatenate(firsts)
    names = np.empty(len(every), np.uint32)
    joined = _grouped(lambda groups, at: run(group_some, p, every, at, *how, groups, names), 0, len(every))
    ends = dict(zip(bounds[1:], np.cumsum([len(part) for part in firsts]).tolist(), strict=True))
    starts = {0: 0} | ends
    for lo, hi in pairwise(bounds):
        mine = places[lo:hi]
        known = mine != MISSING
        mine[known] = names[starts[lo] : ends[hi]][mine[known]]
    return Alike(places, joined.firsts[: int(joined.size[GROUPS])], n_known)


def _grouped(work: Callable[[Groups, int], int], at: int, end: int) -> Groups:
    """The groups that `work(groups, at)` finds until it says that it is at `end`."""
    groups = _with_room(_FEW_GROUPS, np.empty(0, np.uint64), np.empty(0, np.uint32), np.zeros(2, np.int64))
    while (at := work(groups, at)) < end:
        groups = _with_room(4 * len(groups.hashes), *groups[1:])
        run(enter_groups, groups)
    return groups


def _with_room(room: int, hashes: Any, firsts: Any, size: Any) -> Groups:
    return Groups(np.zeros(2 * room, np.uint32), resized(hashes, room), resized(firsts, room), size)


@record
class Groups(NamedTuple):
    """A growing table of groups."""

    slots: U32s  # (a power of two, twice the room for groups): number of a group + 1, 0 where a slot is free
    hashes: U64s  # (room)
    firsts: U32s  # (room): the first feature of each group
    size: I64s  # (2)


@kernel
def group_features(
    p: Postings, keep: U8s, lo: int, hi: int, by_docs: int, by_word: int, groups: Groups, places: U32s
) -> int:
    """The groups of the features lo … hi - 1 by their id, MISSING where no document or not `keep` has one.

    `keep` may be empty: then all are kept.  Where `by_word`, each feature is a group of its own.
    Returns the feature to go on with when the groups have more room, or `hi`.
    """
    room = len(groups.hashes)
    for f in range(lo, hi):
        if p.doc_total[f] == 0 or (len(keep) > 0 and keep[f] == 0):
            places[f] = MISSING
            continue
        if groups.size[GROUPS] == room:
            return f
        groups.size[KNOWN] += 1
        places[f] = group_of(p, f, by_docs, by_word, groups)
    return hi


@kernel
def group_some(p: Postings, features: U32s, lo: int, by_docs: int, by_word: int, groups: Groups, places: U32s) -> int:
    """The groups of some features from place `lo` on, by place; the rest as in `group_features`."""
    room = len(groups.hashes)
    for k in range(lo, len(features)):
        if groups.size[GROUPS] == room:
            return k
        places[k] = group_of(p, i64(features[k]), by_docs, by_word, groups)
    return len(features)


@inline
def group_of(p: Postings, f: int, by_docs: int, by_word: int, groups: Groups) -> int:
    """The number of the group of a feature; there is room for one more."""
    cells = p.docs if by_docs != 0 else p.terms
    totals = p.doc_total if by_docs != 0 else p.term_total
    classes = p.classes
    start = u64(p.starts[f])
    h = u64(f) if by_word != 0 else u64(totals[f])
    for a in range(start, start + u64(p.lengths[f])):
        # The class in the high half: counts seldom reach it.
        h = ((h ^ (u64(cells[a]) + (u64(classes[a]) << S32))) * K1) & M64
        h = h ^ (h >> S32)
    h = (h * K3) & M64
    slots = groups.slots
    mask = u64(len(slots)) - ONE
    s = (h >> S32) & mask
    g = u64(slots[s])
    while g != u64(0):
        if groups.hashes[g - ONE] == h and is_alike(p, f, i64(groups.firsts[g - ONE]), by_docs, by_word):
            return g - ONE
        s = (s + ONE) & mask
        g = u64(slots[s])
    n = u64(groups.size[GROUPS])
    groups.hashes[n] = h
    groups.firsts[n] = f
    groups.size[GROUPS] += 1
    slots[s] = n + ONE
    return n


@inline
def is_alike(p: Postings, f: int, g: int, by_docs: int, by_word: int) -> bool:
    """Whether two features have the same counts."""
    cells = p.docs if by_docs != 0 else p.terms
    totals = p.doc_total if by_docs != 0 else p.term_total
    if by_word != 0 or p.lengths[f] != p.lengths[g] or totals[f] != totals[g]:
        return False
    a = u64(p.starts[f])
    b = u64(p.starts[g])
    end = a + u64(p.lengths[f])
    while a < end and p.classes[a] == p.classes[b] and cells[a] == cells[b]:
        a = a + ONE
        b = b + ONE
    return a == end


@kernel
def enter_groups(groups: Groups) -> None:
    """Fill the slots of groups that have grown, which are free."""
    mask = u64(len(groups.slots)) - ONE
    for g in range(i64(groups.size[GROUPS])):
        s = (groups.hashes[g] >> S32) & mask
        while groups.slots[s] != 0:
            s = (s + ONE) & mask
        groups.slots[s] = g + 1
