"""Documents → rows of counts (the CSR form of a documents × features matrix), for transformers and trained heads.

`multiply` has the product of rows and a dense table, cell by cell in the order of the rows, as SciPy adds them.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.analyze import Walk, columns_of, keys_of, units_of
from bunrui.kernel.ngrams import Items
from bunrui.kernel.primitives import ONE, U64, ZERO, i64, prefetch, u64
from bunrui.kernel.signature import F64s, I32s, I64s, Read, U8s, U32s, kernel, record
from bunrui.kernel.vocabulary import FEATURES, MISSING, Vocabulary, block_items, has_room, probe

AHEAD = U64(8)

DONE = 0
GROW_TABLE = 1
GROW_ROWS = 2

# Ways to treat a feature that the vocabulary lacks
KNOWN = 0  # leave it out
GROWS = 1  # add it
HASHED = 2  # there is no vocabulary: the id of a feature is its stable hash modulo the length of `places`

# Places in `Rows.state`
DOCUMENT = 0
UNIT = 1
FILLED = 2
SHORTEST = 3  # n-grams of fewer words are left out; 0 and 1 keep all
STATES = 4


@record
class Rows(NamedTuple):
    """Row d has the features indices[starts[d]] … indices[starts[d + 1] - 1], in the order of the text."""

    starts: I64s  # (documents + 1)
    indices: I32s
    values: I64s
    places: I64s  # (room of the vocabulary): where a feature was last written, plus one
    state: I64s  # (STATES)


@record
class Csr(NamedTuple):
    """Finished rows."""

    starts: I64s  # (rows + 1)
    indices: I32s
    values: I64s


@kernel
def fill_rows(walk: Walk, lo: int, hi: int, v: Vocabulary, grows: int, rows: Rows) -> int:
    """Fill rows from the documents lo … hi - 1; go on where the last call stopped.

    `grows` is KNOWN, GROWS or HASHED.  Returns DONE, GROW_TABLE or GROW_ROWS.
    """
    docs, scratch = walk.docs, walk.scratch
    state = rows.state
    while state[DOCUMENT] < hi - lo:
        row = i64(state[DOCUMENT])
        d = lo + row
        begin = i64(rows.starts[row])
        n_units = units_of(walk, d)
        if state[SHORTEST] > 1:
            drop_short(scratch.units.orders, i64(n_units), i64(state[SHORTEST]))
        unit = u64(state[UNIT])
        while unit < n_units:
            if grows == HASHED:
                n_items, first, after = columns_of(walk, len(rows.places), d, unit, n_units)
            else:
                n_items, first, after, n_bytes = keys_of(walk, v, d, unit, n_units)
                if grows == GROWS and not has_room(v, n_items, n_bytes):
                    state[UNIT] = i64(unit)
                    return GROW_TABLE
                probe(v, scratch.items, n_items, scratch.units.text, grows)
            if i64(state[FILLED]) + i64(n_items) > len(rows.indices):
                state[UNIT] = i64(unit)
                return GROW_ROWS
            state[FILLED] = fill(scratch.items.ids, i64(n_items), docs.counts, first, rows, begin, i64(state[FILLED]))
            unit = after
        state[UNIT] = 0
        state[DOCUMENT] = row + 1
        rows.starts[row + 1] = state[FILLED]
    return DONE


def drop_short(orders: U8s, n_units: int, shortest: int) -> None:
    """Let n-grams of at least `shortest` units end at each unit."""
    for u in range(n_units):
        orders[u] = (shortest << 4) | (orders[u] & 15)


def fill(ids: U32s, n_items: int, counts: I64s, first: int, rows: Rows, begin: int, at: int) -> int:
    """Add items to the row that begins at `begin` and ends at `at`; return its new end."""
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


@kernel
def find_features(v: Vocabulary, ov: Vocabulary, grows: int, items: Items, ids: U32s) -> None:
    """Find the features of the vocabulary `ov` in `v`: `ids` gets their ids, MISSING where it lacks one.

    With GROWS they are added; the caller has made room for all.
    """
    n_features = i64(ov.size[FEATURES])
    first = i64(0)
    while first < n_features:
        n = block_items(v, ov, first, n_features, items, ZERO)
        probe(v, items, u64(n), ov.text, grows)
        for k in range(n):
            ids[first + k] = items.ids[k]
        first += n


@kernel
def count_columns(indices: I32s, columns: I32s, ends: I64s) -> int:
    """Set ends[c] to the number of cells in the columns before c; return the number of all.

    Negative columns are left out.
    """
    for k in range(len(indices)):
        c = i64(columns[indices[k]])
        if c >= 0:
            ends[c] += 1
    total = i64(0)
    for c in range(len(ends)):
        n = i64(ends[c])
        ends[c] = total
        total += n
    return total


@kernel
def sort_rows(rows: Csr, columns: I32s, ends: I64s, cells: Csr, out: Csr) -> None:
    """Write rows with columns[f] in place of feature f, ascending in each row, to `out`.

    Two counting sorts, by column and then by row, leave every row in order.  `count_columns` has set `ends`; `cells` is
    room for as many rows and values; out.starts[0] is 0.
    """
    filled = i64(0)
    for row in range(len(rows.starts) - 1):
        # Where the row begins: its cells move it to where the row ends.
        out.starts[row + 1] = filled
        for k in range(i64(rows.starts[row]), i64(rows.starts[row + 1])):
            c = i64(columns[rows.indices[k]])
            if c >= 0:
                p = i64(ends[c])
                cells.indices[p] = row
                cells.values[p] = rows.values[k]
                ends[c] = p + 1
                filled += 1
    p = i64(0)
    for c in range(len(ends)):
        end = i64(ends[c])
        while p < end:
            row = i64(cells.indices[p])
            at = i64(out.starts[row + 1])
            out.indices[at] = c
            out.values[at] = cells.values[p]
            out.starts[row + 1] = at + 1
            p += 1


@kernel
def multiply(
    starts: Read[I64s], columns: Read[I32s], values: Read[F64s], table: Read[F64s], lo: int, hi: int, out: F64s
) -> None:
    """Add the product of the rows lo … hi - 1 with `table`, (…, n_columns), to `out`, (rows, n_columns)."""
    width = u64(len(out) // max(len(starts) - 1, 1))
    for row in range(lo, hi):
        at = u64(row) * width
        end = u64(starts[row + 1])
        for k in range(u64(starts[row]), end):
            prefetch(table, u64(columns[min(k + AHEAD, end - ONE)]) * width)
            x = values[k]
            first = u64(i64(columns[k])) * width
            for c in range(width):
                out[at + c] += x * table[first + c]
