"""Features that have the same counts have the same weights: groups of features that are alike.

Of 1.3 million n-grams of IMDB two thirds occur in one document; all of them together have 12,000 different lists of
counts.  So a model weighs 12,000 lists, and its weights fit into the cache.

Equal hashes are not enough: lists are compared.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.kernel.library import run
from bunrui.kernel.ngrams import K1, K3
from bunrui.kernel.postings import Postings
from bunrui.kernel.primitives import M64, ONE, ZERO, i64, inline, u64
from bunrui.kernel.signature import I64s, U32s, U64s, kernel, record
from bunrui.kernel.slices import each_slice, stretches
from bunrui.kernel.vocabulary import MISSING
from bunrui.kernel.workspace import resized

# Features for which a thread is worth while, and groups that there is room for at first.
_WORTH_A_THREAD = 1 << 15
_FEW_GROUPS = 1 << 10

Ids = npt.NDArray[np.uint32]


class Alike(NamedTuple):
    """The groups of the features of some counts."""

    places: Ids  # (ids): the number of the group of each feature, MISSING for all others
    firsts: Ids  # (groups): the first feature of each group
    n_known: int  # features that are in a group


def group(p: Postings, features: Ids, n_ids: int, *, by_docs: bool, by_word: bool) -> Alike:
    """Group features by their documents, or by their occurrences, on all threads.

    If `by_word`, every feature is a group of its own.
    """
    if by_word:
        numbers, firsts = np.arange(len(features), dtype=np.uint32), features
    else:
        numbers, firsts = _group_slices(p, features, by_docs)
    if len(features) < n_ids:
        places = np.full(n_ids, MISSING, np.uint32)
        places[features] = numbers
        numbers = places
    return Alike(numbers, firsts, len(features))


def _group_slices(p: Postings, features: Ids, by_docs: bool) -> tuple[Ids, Ids]:
    """The group of every feature, and the first feature of every group."""
    numbers = np.empty(len(features), np.uint32)
    bounds = stretches(len(features), _WORTH_A_THREAD)
    firsts = each_slice(lambda lo, hi: _group_some(p, features[lo:hi], by_docs, numbers[lo:hi]), bounds)
    if len(firsts) == 1:
        return numbers, firsts[0]
    # Groups of several threads may be alike.
    every = np.concatenate(firsts)
    names = np.empty(len(every), np.uint32)
    joined = _group_some(p, every, by_docs, names)
    for (lo, hi), end, some in zip(pairwise(bounds), np.cumsum([*map(len, firsts)]).tolist(), firsts, strict=True):
        numbers[lo:hi] = names[end - len(some) : end][numbers[lo:hi]]
    return numbers, joined


def _group_some(p: Postings, features: Ids, by_docs: bool, numbers: Ids) -> Ids:
    """Set the numbers of the groups of some features; return the first feature of every group."""
    groups = _with_room(_FEW_GROUPS, np.empty(0, np.uint64), np.empty(0, np.uint32), np.zeros(1, np.int64))
    at = 0
    while (at := run(group_features, p, features, at, int(by_docs), groups, numbers)) < len(features):
        groups = _with_room(4 * len(groups.hashes), *groups[1:])
        run(enter_groups, groups)
    return groups.firsts[: int(groups.size[0])]


def _with_room(room: int, hashes: Any, firsts: Any, size: Any) -> Groups:
    return Groups(np.zeros(2 * room, np.uint32), resized(hashes, room), resized(firsts, room), size)


@record
class Groups(NamedTuple):
    """A growing table of groups."""

    slots: U32s  # (a power of two, twice the room for groups): number of a group + 1, 0 where a slot is free
    hashes: U64s  # (room)
    firsts: U32s  # (room): the first feature of each group
    size: I64s  # (1): groups


@kernel
def group_features(p: Postings, features: U32s, lo: int, by_docs: int, groups: Groups, numbers: U32s) -> int:
    """Set the numbers of the groups of some features, from place `lo` on.

    Returns the place to go on with when the groups have more room, or the number of features.
    """
    room = len(groups.hashes)
    for k in range(lo, len(features)):
        if groups.size[0] == room:
            return k
        numbers[k] = group_of(p, i64(features[k]), by_docs, groups)
    return len(features)


@inline
def group_of(p: Postings, f: int, by_docs: int, groups: Groups) -> int:
    """Find the group of a feature, or make a new one, which there is room for; return its number."""
    cells = p.docs if by_docs != 0 else p.terms
    totals = p.doc_total if by_docs != 0 else p.term_total
    start = u64(p.starts[f])
    h = u64(totals[f])
    for a in range(start, start + u64(p.lengths[f])):
        # The class in the high half: counts seldom reach it.
        h = ((h ^ (u64(cells[a]) + (u64(p.classes[a]) << 32))) * K1) & M64
        h = h ^ (h >> 32)
    h = (h * K3) & M64
    mask = u64(len(groups.slots)) - ONE
    s = (h >> 32) & mask
    g = u64(groups.slots[s])
    while g != ZERO:
        if groups.hashes[g - ONE] == h and is_alike(p, f, i64(groups.firsts[g - ONE]), by_docs):
            return g - ONE
        s = (s + ONE) & mask
        g = u64(groups.slots[s])
    n = u64(groups.size[0])
    groups.hashes[n] = h
    groups.firsts[n] = f
    groups.size[0] += 1
    groups.slots[s] = n + ONE
    return n


@inline
def is_alike(p: Postings, f: int, g: int, by_docs: int) -> bool:
    """Tell whether two features have the same counts."""
    cells = p.docs if by_docs != 0 else p.terms
    totals = p.doc_total if by_docs != 0 else p.term_total
    if p.lengths[f] != p.lengths[g] or totals[f] != totals[g]:
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
    for g in range(i64(groups.size[0])):
        s = (groups.hashes[g] >> 32) & mask
        while groups.slots[s] != 0:
            s = (s + ONE) & mask
        groups.slots[s] = g + 1
