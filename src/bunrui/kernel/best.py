"""Documents → their best classes, without scoring the others where a bound shows that they cannot be among them.

    score[c]  =  (score[c] from rare features alone)  +  (the weights of common features)
              <=  the same                             +  R,        R = sum over common features of peaks[f]

A common feature is one that many classes have.  The rare features nominate the classes that have them; all other
classes score at most the bound of their group (`highest`) plus R.  The k nominees with the highest first part are
scored in full, as `score.py` does it, in the order of the text: the worst of them is the one to beat.  If no group can
beat it, only nominees that can are scored.  Else, and where too few are nominated, all classes are.

Bounds are rounded otherwise than scores, so a class counts as beaten only by more than `SLACK` of all that was added.
Turtle and Flood (1995), Query evaluation: strategies and optimizations, call the same bound MaxScore.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.analyze import Walk, keys_of, units_of
from bunrui.kernel.primitives import ZERO, i64
from bunrui.kernel.score import Linear, ReadyModel, Sums, Table, add_shared, known_items, score_document, score_of
from bunrui.kernel.signature import F64s, I32s, I64s, U32s, kernel, record

SLACK = 1e-9

# Columns of `Bounds.groups`, for the classes of a group
BIAS = 0  # the highest
SLOPE = 1  # the highest scale * slope
UNSEEN = 2  # the highest scale * unseen
HIGH = 3  # the highest scale
LOW = 4  # the lowest scale
COLUMNS = 5


@record
class Bounds(NamedTuple):
    """Bounds that no score exceeds."""

    peaks: F64s  # (features): no occurrence changes a score by more
    groups: F64s  # (groups * COLUMNS), or empty: then all classes are scored
    limits: F64s  # (4): the largest size of bias, scale * slope, scale * unseen and scale
    longest: I64s  # (1): a feature that more classes have is common
    ranks: I64s  # (classes): places among the labels as they sort, -1 without documents


@record
class Room(NamedTuple):
    """Room for one document."""

    stamps: U32s  # (classes): the document that last nominated a class
    nominees: I32s  # (classes + k)
    scores: F64s  # (classes + k)
    classes: I64s  # (k): the best so far, best first
    best: F64s  # (k): their scores


@kernel
def best_documents(
    walk: Walk, lo: int, hi: int, model: ReadyModel, bounds: Bounds, room: Room, classes: I64s, scores: F64s
) -> None:
    """Write the k best classes of the documents lo … hi - 1, best first, and their scores.

    Among equal scores, the class with the lowest rank is the best.
    """
    k = len(room.classes)
    for d in range(lo, hi):
        for j in range(k):
            room.classes[j] = -1
        if not decide(walk, d, model, bounds, room, d - lo + 1):
            score_document(walk, d, model, room.scores, 0)
            rank_all(bounds, room)
        at = (d - lo) * k
        for j in range(k):
            classes[at + j] = room.classes[j]
            scores[at + j] = room.best[j]


def decide(walk: Walk, d: int, model: ReadyModel, bounds: Bounds, room: Room, stamp: int) -> bool:
    """Find the best classes of a document among the nominees of its rare features.

    Returns False if others may be better.
    """
    k = len(room.classes)
    sums = model.sums
    table = model.weights.table
    linear = model.weights.linear
    if len(bounds.groups) == 0 or len(walk.docs.counts) > 0:
        return False
    items = walk.scratch.items
    n_units = units_of(walk, d)
    n_items, _, after, _ = keys_of(walk, model.v, d, ZERO, n_units)
    if after < n_units:
        return False
    for j in range(3):
        sums.rest[j] = 0.0
    n_kept = known_items(walk.scratch, n_items, n_items, True, model)
    add_shared(items.ids, n_kept, table, sums)
    n_known = i64(n_kept)
    n_nominees = nominate(items.ids, n_known, table, bounds, sums, room, stamp)
    if n_nominees < k:
        return False
    common, rare = peaks_of(items.ids, n_known, table, bounds)
    for j in range(n_nominees):
        c = i64(room.nominees[j])
        score = score_of(linear, sums.rest, c, sums.weights[c])
        room.scores[j] = score
        if room.classes[k - 1] < 0 or score >= room.best[k - 1]:
            insert(room, bounds, c, score)
    for j in range(k):
        room.scores[n_nominees + j] = full_score(items.ids, n_known, table, linear, sums, i64(room.classes[j]))
    for j in range(k):
        room.nominees[n_nominees + j] = room.classes[j]
        room.classes[j] = -1
    for j in range(k):
        insert(room, bounds, i64(room.nominees[n_nominees + j]), room.scores[n_nominees + j])
    limits = bounds.limits
    size = limits[0] + limits[1] * sums.rest[1] + limits[2] * sums.rest[2] + limits[3] * abs(sums.rest[0])
    hopeless = room.best[k - 1] - common - SLACK * (size + common + rare)
    # Not ">=": NaN must not count as hopeless.
    if not highest(bounds, sums.rest) < hopeless:
        return False
    for j in range(n_nominees):
        c = i64(room.nominees[j])
        if not room.scores[j] < hopeless and not is_in(room.classes, c):
            insert(room, bounds, c, full_score(items.ids, n_known, table, linear, sums, c))
    return True


def nominate(ids: U32s, n_known: int, table: Table, bounds: Bounds, sums: Sums, room: Room, stamp: int) -> int:
    """Add the weights of rare features to the classes that have them; return the number of those with documents."""
    n = i64(0)
    for k in range(n_known):
        f = i64(ids[k])
        length = i64(table.lengths[f])
        if length > bounds.longest[0]:
            continue
        a = i64(table.starts[f])
        for j in range(a, a + length):
            c = i64(table.classes[j])
            if room.stamps[c] != stamp:
                room.stamps[c] = stamp
                sums.weights[c] = 0.0
                if bounds.ranks[c] >= 0:
                    room.nominees[n] = c
                    n += 1
            sums.weights[c] += table.weights[j]
    return n


def peaks_of(ids: U32s, n_known: int, table: Table, bounds: Bounds) -> tuple[float, float]:
    """Bound the change of a score by the common features of a document, and by the rare ones."""
    common = 0.0
    rare = 0.0
    for k in range(n_known):
        f = i64(ids[k])
        if i64(table.lengths[f]) > bounds.longest[0]:
            common += bounds.peaks[f]
        else:
            rare += bounds.peaks[f]
    return common, rare


@kernel
def find_peaks(table: Table, scale: F64s, peaks: F64s) -> None:
    """Find the largest change of a score by one occurrence of each feature."""
    n_classes = len(scale)
    for f in range(len(table.lengths)):
        length = i64(table.lengths[f])
        peak = 0.0
        if length > 0:
            a = i64(table.starts[f])
            for j in range(length):
                c = j if length == n_classes else i64(table.classes[a + j])
                peak = max(peak, abs(scale[c] * table.weights[a + j]))
        peaks[f] = peak


def highest(bounds: Bounds, rest: F64s) -> float:
    """Bound the scores of all classes that have no weight."""
    groups = bounds.groups
    top = -1e300
    for g in range(0, len(groups), COLUMNS):
        scale = groups[g + HIGH] if rest[0] > 0.0 else groups[g + LOW]
        score = groups[g + BIAS] + groups[g + SLOPE] * rest[1] + groups[g + UNSEEN] * rest[2] + scale * rest[0]
        top = max(top, score)
    return top


def full_score(ids: U32s, n_known: int, table: Table, linear: Linear, sums: Sums, c: int) -> float:
    """The score of one class, its weights in the order of the text."""
    n_classes = len(sums.weights)
    total = 0.0
    for k in range(n_known):
        f = i64(ids[k])
        a = i64(table.starts[f])
        length = i64(table.lengths[f])
        if length == n_classes:
            total += table.weights[a + c]
            continue
        end = a + length
        while a < end:
            middle = (a + end) >> 1
            if table.classes[middle] < c:
                a = middle + 1
            else:
                end = middle
        if a < i64(table.starts[f]) + length and table.classes[a] == c:
            total += table.weights[a]
    return score_of(linear, sums.rest, c, total)


def rank_all(bounds: Bounds, room: Room) -> None:
    """Find the best of all classes, whose scores are in `room.scores`."""
    for j in range(len(room.classes)):
        room.classes[j] = -1
    last = len(room.classes) - 1
    for c in range(len(bounds.ranks)):
        if bounds.ranks[c] >= 0 and (room.classes[last] < 0 or room.scores[c] >= room.best[last]):
            insert(room, bounds, c, room.scores[c])


def insert(room: Room, bounds: Bounds, c: int, score: float) -> None:
    """Put a class among the best, if it is one of them."""
    j = len(room.classes)
    while j > 0 and is_better(room, bounds, c, score, j - 1):
        j -= 1
        if j + 1 < len(room.classes):
            room.classes[j + 1] = room.classes[j]
            room.best[j + 1] = room.best[j]
    if j < len(room.classes):
        room.classes[j] = c
        room.best[j] = score


def is_better(room: Room, bounds: Bounds, c: int, score: float, j: int) -> bool:
    """Tell whether a class goes before the one at place j, which may be empty."""
    other = i64(room.classes[j])
    if other < 0 or score > room.best[j]:
        return True
    return score == room.best[j] and bounds.ranks[c] < bounds.ranks[other]


def is_in(classes: I64s, c: int) -> bool:
    """Tell whether a class is among some."""
    found = False
    for j in range(len(classes)):
        found = found or classes[j] == c
    return found
