"""Documents → counts: how often each feature occurs in each group, and in how many of its documents.

A group is a class, or a set of labels that documents share.  Documents are visited group by group; the counters of the
current group stand in the slots of the vocabulary, beside the key that was compared a moment ago.  When a group ends,
the slots that it touched are written out as cells.  No table of groups × features exists at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bunrui.kernel.analyze import Documents, Recipe, Scratch, keys_of, units_of
from bunrui.kernel.hashing import S32
from bunrui.kernel.ngrams import TWO, Items
from bunrui.kernel.postings import LIVE, USED, Postings
from bunrui.kernel.primitives import ONE, ZERO, i64, prefetch, u64
from bunrui.kernel.signature import I32s, I64s, U32s, U64s, kernel, record
from bunrui.kernel.vocabulary import AHEAD, FOUR, ID, SHIFT, THREE, Vocabulary, add, find, has_room

DONE = 0
GROW_TABLE = 1
GROW_CELLS = 2

# Places in `Tally.state`
POSITION = 0  # in `order`
UNIT = 1  # of the document there, where the last call stopped
TOUCHED = 2
CELLS = 3
GROUP = 4  # whose counters stand in the slots, -1 before the first


@record
class Tally(NamedTuple):
    """Cells (feature, group, occurrences, documents) as they come, and where the count stands."""

    touched: U64s  # (room of the vocabulary): slots with a counter that is not zero
    features: U32s
    groups: I32s
    terms: I64s
    docs: I64s
    state: I64s  # (5)


@kernel
def count_documents(
    docs: Documents,
    order: I64s,
    groups: I32s,
    recipe: Recipe,
    scratch: Scratch,
    v: Vocabulary,
    tally: Tally,
) -> int:
    """Count the documents `order`, whose groups (ascending) are `groups`; go on where the last call stopped.

    Returns DONE, or what must grow before it is called again.
    """
    state = tally.state
    while state[POSITION] < len(order):
        p = i64(state[POSITION])
        if groups[p] != state[GROUP]:
            if not flush(v, tally):
                return GROW_CELLS
            state[GROUP] = groups[p]
        d = i64(order[p])
        n_units = units_of(docs, d, recipe, scratch)
        unit = u64(state[UNIT])
        while unit < n_units:
            n_items, first, after, n_bytes = keys_of(docs, d, recipe, scratch, unit, n_units, v)
            if not has_room(v, n_items, n_bytes):
                state[UNIT] = i64(unit)
                return GROW_TABLE
            count_items(v, scratch.items, n_items, scratch.units.text, u64(p) + ONE, docs.counts, first, tally)
            unit = after
        state[UNIT] = 0
        state[POSITION] = p + 1
    if not flush(v, tally):
        return GROW_CELLS
    return DONE


def count_items(
    v: Vocabulary,
    items: Items,
    n_items: int,
    text: Sequence[int],
    stamp: int,
    counts: Sequence[int],
    first: int,
    tally: Tally,
) -> None:
    """Count every item once, or item k `counts[first + k]` times; `stamp` tells documents apart.

    Features that are new are added; the caller has made room.
    """
    slots = v.slots
    hashes = items.hashes
    lows = items.low
    highs = items.high
    shift = v.size[SHIFT]
    touched = tally.touched
    n_touched = u64(tally.state[TOUCHED])
    counted = len(counts) > 0
    mark = stamp << S32
    x = u64(1)
    k = u64(0)
    while k < n_items:
        prefetch(slots, (hashes[k + AHEAD] >> shift) << TWO)
        s = find(v, items, k, text, slots, lows[k], highs[k], (hashes[k] >> shift) << TWO)
        entry = slots[s + TWO]
        if entry == ZERO:
            entry = add(v, s, items, k, text)
        counter = slots[s + THREE]
        if counted:
            x = u64(counts[first + i64(k)])
        touched[n_touched] = s
        n_touched = n_touched + u64(counter == ZERO)
        # Low half: occurrences.  High half: documents, one more if the slot does not carry this document's stamp.
        slots[s + THREE] = counter + x + (u64((entry >> S32) != stamp) << S32)
        slots[s + TWO] = (entry & ID) | mark
        k = k + ONE
    tally.state[TOUCHED] = i64(n_touched)


def flush(v: Vocabulary, tally: Tally) -> bool:
    """Write the counters of the current group out as cells; False when there is no room."""
    state = tally.state
    n = i64(state[CELLS])
    n_touched = i64(state[TOUCHED])
    if n + n_touched > len(tally.features):
        return False
    for t in range(n_touched):
        s = u64(tally.touched[t])
        counter = v.slots[s + THREE]
        tally.features[n] = (v.slots[s + TWO] & ID) - ONE
        tally.groups[n] = state[GROUP]
        tally.terms[n] = i64(counter & ID)
        tally.docs[n] = i64(counter >> S32)
        v.slots[s + THREE] = ZERO
        n += 1
    state[CELLS] = n
    state[TOUCHED] = 0
    return True


@kernel
def list_touched(v: Vocabulary, tally: Tally) -> None:
    """Find the touched slots again after the table has grown."""
    n = i64(0)
    s = u64(0)
    end = u64(len(v.slots))
    while s < end:
        if v.slots[s + THREE] != ZERO:
            tally.touched[n] = s
            n += 1
        s = s + FOUR
    tally.state[TOUCHED] = n


@kernel
def assemble(tally: Tally, n_features: int, p: Postings, term_sum: I64s, doc_freq_sum: I64s) -> None:
    """Order the cells by feature, stably, so that groups ascend; total them by feature and by group.

    `p` and the sums come as zeros.
    """
    n = i64(tally.state[CELLS])
    for k in range(n):
        p.lengths[tally.features[k]] += 1
        g = i64(tally.groups[k])
        term_sum[g] += tally.terms[k]
        doc_freq_sum[g] += tally.docs[k]
    at = i64(0)
    for f in range(n_features):
        p.starts[f] = at
        at += p.lengths[f]
    for k in range(n):
        # Features come in any order: ask for the place of a later cell while this one is written.
        prefetch(p.starts, i64(tally.features[min(k + 32, n - 1)]))
        prefetch(p.terms, i64(p.starts[tally.features[min(k + 16, n - 1)]]))
        f = i64(tally.features[k])
        place = i64(p.starts[f])
        p.starts[f] = place + 1
        p.classes[place] = tally.groups[k]
        p.terms[place] = tally.terms[k]
        p.docs[place] = tally.docs[k]
    place = i64(0)
    for f in range(n_features):
        p.starts[f] = place
        p.rooms[f] = p.lengths[f]
        end = place + p.lengths[f]
        while place < end:
            p.term_total[f] += p.terms[place]
            p.doc_total[f] += p.docs[place]
            place += 1
    p.size[USED] = n
    p.size[LIVE] = n_features
