"""Documents → rows for leave-one-out: which features a document has, how often, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bunrui.kernel.analyze import Documents, Recipe, Scratch, ids_of, units_of
from bunrui.kernel.primitives import ONE, U64, i64, u64
from bunrui.kernel.signature import I64s, U32s, kernel, record
from bunrui.kernel.vocabulary import MISSING, Vocabulary

DONE = 0
GROW_FEATURES = 1
GROW_ITEMS = 2
UNKNOWN = 3  # a feature that the vocabulary lacks

ABSENT = U64(MISSING)

# Places in `Reading.state`
DOCUMENT = 0
UNIT = 1
FEATURES = 2
ITEMS = 3
STATES = 4


@record
class Rows(NamedTuple):
    """Row i has the features features[k] values[k] times, starts[i] ≤ k < starts[i + 1], in the order of the text.

    Its items, in the same order, are the features at starts[i] + places[j], firsts[i] ≤ j < firsts[i + 1].
    """

    docs: I64s  # (rows): the document that it is
    starts: I64s  # (rows + 1)
    features: U32s
    values: U32s
    firsts: I64s  # (rows + 1)
    places: U32s
    counts: I64s  # how often each item counts, or empty where all count once


@record
class Reading(NamedTuple):
    """Where it stands."""

    marks: I64s  # (room of the vocabulary): where a feature was last written, plus one
    state: I64s  # (STATES)


@kernel
def read_rows(
    docs: Documents, lo: int, hi: int, recipe: Recipe, scratch: Scratch, v: Vocabulary, rows: Rows, reading: Reading
) -> int:
    """Rows for the documents lo … hi - 1; go on where the last call stopped.

    Returns DONE, UNKNOWN, or what must grow first.
    """
    state = reading.state
    while state[DOCUMENT] < hi - lo:
        row = i64(state[DOCUMENT])
        d = lo + row
        n_units = units_of(docs, d, recipe, scratch)
        unit = u64(state[UNIT])
        while unit < n_units:
            n_items, first, after = ids_of(docs, d, recipe, scratch, unit, n_units, v)
            if i64(state[FEATURES]) + i64(n_items) > len(rows.features):
                state[UNIT] = i64(unit)
                return GROW_FEATURES
            if i64(state[ITEMS]) + i64(n_items) > len(rows.places):
                state[UNIT] = i64(unit)
                return GROW_ITEMS
            if not place_items(scratch.items.ids, n_items, docs.counts, first, rows, row, reading):
                return UNKNOWN
            unit = after
        state[UNIT] = 0
        state[DOCUMENT] = row + 1
        rows.starts[row + 1] = state[FEATURES]
        rows.firsts[row + 1] = state[ITEMS]
    return DONE


def place_items(
    ids: Sequence[int], n_items: int, counts: Sequence[int], first: int, rows: Rows, row: int, reading: Reading
) -> bool:
    """Add items to a row; False where one is unknown."""
    features = rows.features
    values = rows.values
    places = rows.places
    marks = reading.marks
    begin = u64(rows.starts[row])
    at = u64(reading.state[FEATURES])
    item = u64(reading.state[ITEMS])
    counted = len(counts) > 0
    x = u64(1)
    k = u64(0)
    while k < n_items:
        f = u64(ids[k])
        if f == ABSENT:
            return False
        if counted:
            x = u64(counts[first + i64(k)])
            rows.counts[item] = i64(x)
        # A place inside the current row means "seen in this document": no marks to clear between documents.
        place = u64(marks[f])
        if place <= begin:
            features[at] = f
            values[at] = 0
            at = at + ONE
            marks[f] = i64(at)
            place = at
        place = place - ONE
        values[place] += x
        places[item] = place - begin
        item = item + ONE
        k = k + ONE
    reading.state[FEATURES] = i64(at)
    reading.state[ITEMS] = i64(item)
    return True
