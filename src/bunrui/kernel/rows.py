"""Documents → rows of counts (the CSR form of a documents × features matrix), for transformers and trained heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bunrui.kernel.analyze import HARD, Documents, Recipe, Scratch, items_of, units_of
from bunrui.kernel.ngrams import put_items
from bunrui.kernel.primitives import i64, u64
from bunrui.kernel.vocabulary import MISSING, NARROW, Vocabulary, has_room, probe

DONE = 0
GROW_TABLE = 1
GROW_ROWS = 2

# Places in `Rows.state`
DOCUMENT = 0
UNIT = 1
FILLED = 2
N_HARD = 3
STATES = 4


class Rows(NamedTuple):
    """Row d has the features indices[starts[d]] … indices[starts[d + 1] - 1], in the order of the text."""

    starts: Any  # int64 (documents + 1)
    indices: Any  # int32
    values: Any  # int64
    places: Any  # int64 (room of the vocabulary): where a feature was last written, plus one
    hard: Any  # int64
    state: Any  # int64 (STATES)


def fill_rows(
    docs: Documents, lo: int, hi: int, recipe: Recipe, scratch: Scratch, v: Vocabulary, grows: int, rows: Rows
) -> int:
    """Rows for the documents lo … hi - 1; go on where the last call stopped.

    New features are added to the vocabulary where `grows`, else left out.  Returns DONE, or what must grow first.
    """
    state = rows.state
    while state[DOCUMENT] < hi - lo:
        row = i64(state[DOCUMENT])
        d = lo + row
        begin = i64(rows.starts[row])
        n_units = units_of(docs, d, recipe, scratch)
        if n_units == HARD:
            rows.hard[state[N_HARD]] = d
            state[N_HARD] += 1
            n_units = 0
        unit = u64(state[UNIT])
        while unit < u64(n_units):
            n_items, after = items_of(recipe, scratch.units, unit, u64(n_units), scratch.items)
            if i64(state[FILLED]) + i64(n_items) > len(rows.indices):
                state[UNIT] = i64(unit)
                return GROW_ROWS
            n_bytes = put_items(scratch.units.text, scratch.items, n_items, v.size[NARROW])
            if grows != 0 and not has_room(v, n_items, n_bytes):
                state[UNIT] = i64(unit)
                return GROW_TABLE
            probe(v, scratch.items, n_items, scratch.units.text, grows)
            first = i64(docs.lists[d]) + i64(unit) if len(docs.counts) > 0 else i64(0)
            state[FILLED] = fill(scratch.items.ids, i64(n_items), docs.counts, first, rows, begin, i64(state[FILLED]))
            unit = after
        state[UNIT] = 0
        state[DOCUMENT] = row + 1
        rows.starts[row + 1] = state[FILLED]
    return DONE


def fill(
    ids: Sequence[int], n_items: int, counts: Sequence[int], first: int, rows: Rows, begin: int, at: int
) -> int:
    """Add items to the row that begins at `begin` and is filled up to `at`; where it is filled up to then."""
    x = i64(1)
    for k in range(n_items):
        f = i64(ids[k])
        if len(counts) > 0:
            x = i64(counts[first + k])
        if f == MISSING:
            continue
        # A place inside the current row means "seen in this document": no marks to clear between documents.
        place = i64(rows.places[f]) - 1
        if place >= begin:
            rows.values[place] += x
        else:
            rows.indices[at] = f
            rows.values[at] = x
            at += 1
            rows.places[f] = at
    return at
