"""Documents → counts: how often each feature occurs in each group, and in how many of its documents.

A group is a class, or a set of labels that documents share.  Features belong to partitions, by the highest bits of
their hash.  No table of groups × features exists at any time, and nothing is added up twice:

scatter   Each thread reads a slice of the documents and sends a record for each item to the stream of its partition.
          Where features come again and again (words), it first counts them in a small table that stays in its cache.
collect   Each thread takes whole partitions: it counts the records in the region of the large table that is the
          partition's own, group by group.  When a group ends, the counters go out as cells.
arrange   Each thread takes whole partitions: features get their ids, and cells the order of the features.

A record is three words: the key, and a number whose low half is the place of a document in the order of documents.
Where the high half is 0, the record stands for one occurrence in this document.  Else the high half has occurrences and
documents, 16 bits each, in the group of this document.  The text of a feature that is longer than a key follows.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from bunrui.kernel.analyze import Documents, Recipe, Scratch, items_of, units_of
from bunrui.kernel.hashing import S3, S8, S16, S32, equal_bytes, key_length
from bunrui.kernel.ngrams import S4, TWO, Items, put_items
from bunrui.kernel.postings import Postings
from bunrui.kernel.primitives import ONE, U64, ZERO, i64, inline, prefetch, u64
from bunrui.kernel.signature import I32s, I64s, U8s, U32s, U64s, kernel, record
from bunrui.kernel.vocabulary import (
    AHEAD,
    BYTES,
    FEATURES,
    FOUR,
    FULLEST,
    ID,
    NARROW,
    REGION,
    SHIFT,
    THREE,
    Vocabulary,
    add,
    copy_text,
    find,
    has_room,
    hash_of,
    is_long,
    next_slot,
    region_of,
)

DONE = 0
GROW_TABLE = 1
FULL = 2

# Places in `state` of a slice
POSITION = 0  # in `order`
UNIT = 1  # of the document there, where the last call stopped
GROUP = 2  # whose counters stand in the small table, -1 before the first
COUNTED = 3  # items since the table was empty
DIRECT = 4  # whether items are sent without being counted first

# Items of the small table for each of its features, below which it does not pay.
WORTH = 4

RECORD = 3
BLOCK = 768  # words of a stream that lie together
S15 = U64(15)
S48 = U64(48)
MOST = U64(0xFFFF)  # occurrences or documents of a record

# Places in `Parts.state`, for each partition
N_FEATURES = 0
N_BYTES = 1
N_CELLS = 2
N_TOUCHED = 3
AT_GROUP = 4  # whose counters stand in the slots
STREAM = 5  # and block, and word, to go on with
AT_BLOCK = 6
AT_WORD = 7
STATES = 8

# What a partition lacks
MORE_FEATURES = 1
MORE_BYTES = 2
MORE_CELLS = 3


@record
class Streams(NamedTuple):
    """The records on their way from threads to partitions: stream t * partitions + p goes from thread t to p."""

    words: U64s  # (blocks * BLOCK)
    data: U8s  # the same memory
    following: I64s  # (blocks): the next block of the same stream, -1 after the last
    ends: I64s  # (blocks): where the words end that are used; for the last block of a stream, see `at`
    first: I64s  # (streams): block, -1 where a stream is empty
    last: I64s  # (streams)
    at: I64s  # (streams): where the next word goes
    left: I64s  # (streams): words that are left in the last block
    taken: I64s  # (threads): blocks


@record
class Parts(NamedTuple):
    """Features and cells by partition, each with a stretch of the same length in every array."""

    starts: U32s  # place of a feature in the text of its partition
    touched: U32s  # slots with a counter that is not zero
    text: U8s
    features: U32s  # of every cell, counted within the partition
    groups: I32s
    terms: I64s
    docs: I64s
    state: I64s  # (partitions * STATES)


@kernel
def scatter(
    docs: Documents,
    order: I64s,
    groups: I32s,
    end: int,
    recipe: Recipe,
    scratch: Scratch,
    v: Vocabulary,
    touched: U32s,
    streams: Streams,
    thread: int,
    state: I64s,
) -> int:
    """Read the documents up to order[end - 1], whose groups are `groups`; go on where the last call stopped.

    `v` is the small table of the thread, `touched` has the slots of its features.  Returns DONE, or FULL when the
    streams must be emptied, or GROW_TABLE when one document does not fit into the table.
    """
    while state[POSITION] < end:
        p = i64(state[POSITION])
        if groups[p] != state[GROUP]:
            if not send(v, touched, streams, thread, state):
                return FULL
            state[GROUP] = groups[p]
        d = i64(order[p])
        n_units = max(units_of(docs, d, recipe, scratch), 0)
        unit = u64(state[UNIT])
        while unit < u64(n_units):
            n_items, after = items_of(recipe, scratch.units, unit, u64(n_units), scratch.items)
            text = scratch.units.text
            n_bytes = put_items(text, scratch.items, n_items, v.size[NARROW])
            if state[DIRECT] != 0 and unit == ZERO and after >= u64(n_units):
                if not can_take(streams, thread, n_items, n_bytes):
                    return FULL
                send_items(scratch.items, n_items, text, streams, thread, u64(p))
                break
            if not has_room(v, n_items, n_bytes):
                # In the middle of a document counters stay: they know which features it has had.
                if unit == ZERO and not send(v, touched, streams, thread, state):
                    return FULL
                if not has_room(v, n_items, n_bytes):
                    state[UNIT] = i64(unit)
                    return GROW_TABLE
            first = i64(docs.lists[d]) + i64(unit) if len(docs.counts) > 0 else i64(0)
            count_items(v, scratch.items, n_items, text, u64(p) + ONE, docs.counts, first, touched)
            state[COUNTED] += i64(n_items)
            unit = after
        state[UNIT] = 0
        state[POSITION] = p + 1
    return DONE if send(v, touched, streams, thread, state) else FULL


def count_items(
    v: Vocabulary,
    items: Items,
    n_items: int,
    text: Sequence[int],
    stamp: int,
    counts: Sequence[int],
    first: int,
    touched: MutableSequence[int],
) -> None:
    """Count every item once, or item k `counts[first + k]` times; `stamp` tells documents apart.

    Features that are new are added; the caller has made room.
    """
    slots = v.slots
    hashes = items.hashes
    lows = items.low
    highs = items.high
    shift = v.size[SHIFT]
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
            touched[entry - ONE] = s
        if counted:
            x = u64(counts[first + i64(k)])
        # Low half: occurrences.  High half: documents, one more if the slot does not carry this document's stamp.
        slots[s + THREE] += x + (u64((entry >> S32) != stamp) << S32)
        slots[s + TWO] = (entry & ID) | mark
        k = k + ONE


@kernel
def list_touched(v: Vocabulary, touched: U32s) -> None:
    """Find the slots of all features again after the table has grown."""
    s = u64(0)
    end = u64(len(v.slots))
    while s < end:
        if v.slots[s + TWO] != ZERO:
            touched[(v.slots[s + TWO] & ID) - ONE] = s
        s = s + FOUR


def send(v: Vocabulary, touched: Sequence[int], streams: Streams, thread: int, state: MutableSequence[int]) -> bool:
    """Send the counters of the small table to the partitions, and empty it; False where there is no room."""
    n = u64(v.size[FEATURES])
    if n == ZERO:
        return True
    slots = v.slots
    n_records = u64(0)
    f = u64(0)
    while f < n:
        n_records = n_records + n_records_of(slots[u64(touched[f]) + THREE])
        f = f + ONE
    if not can_take(streams, thread, n_records, v.size[BYTES] * (n_records // n)):
        return False
    n_parts = u64(len(streams.first) // len(streams.taken))
    # Any document of the group will do.
    position = u64(state[POSITION]) - ONE
    f = u64(0)
    while f < n:
        s = u64(touched[f])
        stream = u64(thread) * n_parts + region_of(v.hashes[f], n_parts)
        counter = slots[s + THREE]
        terms = counter & ID
        docs = counter >> S32
        for _ in range(i64(n_records_of(counter))):
            some_docs = min(docs, MOST)
            some = min(terms, MOST)
            at = take(streams, stream, thread, slots[s + ONE])
            streams.words[at] = slots[s]
            streams.words[at + ONE] = slots[s + ONE]
            streams.words[at + TWO] = position | (some << S32) | (some_docs << S48)
            put_text(streams, at, slots[s + ONE], v.text, u64(v.starts[f]))
            terms = terms - some
            docs = docs - some_docs
        slots[s] = ZERO
        slots[s + ONE] = ZERO
        slots[s + TWO] = ZERO
        slots[s + THREE] = ZERO
        f = f + ONE
    state[DIRECT] = state[COUNTED] < WORTH * i64(n)
    state[COUNTED] = 0
    v.size[FEATURES] = ZERO
    v.size[BYTES] = ZERO
    v.size[FULLEST] = ZERO
    v.loads[0] = 0
    return True


@inline
def n_records_of(counter: int) -> int:
    """Records for a counter."""
    return ((counter & ID) + MOST - ONE) // MOST


@inline
def can_take(streams: Streams, thread: int, n_records: int, n_bytes: int) -> bool:
    """Whether there is room for so many records of features with so many bytes."""
    n_threads = len(streams.taken)
    n_words = i64(n_records * u64(RECORD + 2) + (n_bytes >> S3))
    # A block and the next are more than full together, but for the last of each stream.
    needed = 2 * n_words // BLOCK + len(streams.first) // n_threads + 1
    return i64(streams.taken[thread]) + needed <= len(streams.ends) // n_threads


def send_items(items: Items, n_items: int, text: Sequence[int], streams: Streams, thread: int, position: int) -> None:
    """Send every item of a document to its partition."""
    words = streams.words
    hashes = items.hashes
    lows = items.low
    highs = items.high
    n_parts = u64(len(streams.first) // len(streams.taken))
    first = u64(thread) * n_parts
    k = u64(0)
    while k < n_items:
        high = highs[k]
        at = take(streams, first + region_of(hashes[k], n_parts), thread, high)
        words[at] = lows[k]
        words[at + ONE] = high
        words[at + TWO] = position
        put_text(streams, at, high, text, u64(items.starts[k]))
        k = k + ONE


@inline
def take(streams: Streams, stream: int, thread: int, high: int) -> int:
    """Room at the end of a stream for a record, whose key has this second word: the place of the first word."""
    n_words = i64(record_size(high))
    if streams.left[stream] < n_words:
        take_block(streams, stream, thread, n_words)
    at = streams.at[stream]
    streams.at[stream] = at + n_words
    streams.left[stream] -= n_words
    return u64(at)


def take_block(streams: Streams, stream: int, thread: int, n_words: int) -> None:
    """Begin a new block at the end of a stream, or several that lie together where a record is longer."""
    n_threads = len(streams.taken)
    new = thread * (len(streams.ends) // n_threads) + i64(streams.taken[thread])
    n_blocks = (n_words + BLOCK - 1) // BLOCK
    streams.taken[thread] += n_blocks
    last = i64(streams.last[stream])
    if last < 0:
        streams.first[stream] = new
    else:
        streams.following[last] = new
        streams.ends[last] = streams.at[stream]
    streams.last[stream] = new
    streams.following[new] = -1
    streams.at[stream] = new * BLOCK
    streams.left[stream] = n_blocks * BLOCK


@inline
def record_size(high: int) -> int:
    """Words of the record of a feature whose key has this second word."""
    # The length of a long feature stands in its key; text is copied by 16 bytes, two words, at a time.
    return u64(RECORD) + ((((high >> S8) + S15) >> S4) << ONE if is_long(high) else ZERO)


@inline
def put_text(streams: Streams, at: int, high: int, text: Sequence[int], start: int) -> None:
    """Write the text of a long feature after the record at `at`."""
    if is_long(high):
        copy_text(text, start, high >> S8, streams.data, (at + THREE) << S3)


@kernel
def collect(
    lo: int, hi: int, streams: Streams, groups: I32s, v: Vocabulary, parts: Parts, hashes: U64s, is_last: int
) -> int:
    """Count the records of the partitions lo … hi - 1; go on where the last call stopped.

    Where `is_last`, no more will come, and all counters go out as cells.  Returns DONE, or what the first partition
    that is full lacks.  `hashes` is scratch.
    """
    for p in range(lo, hi):
        lacking = collect_part(p, streams, groups, v, parts, hashes)
        if lacking == DONE and is_last != 0 and not write_cells(p, v, parts):
            lacking = MORE_CELLS
        if lacking != DONE:
            return lacking
    return DONE


def collect_part(
    p: int, streams: Streams, groups: Sequence[int], v: Vocabulary, parts: Parts, hashes: MutableSequence[int]
) -> int:
    """Count the records of one partition; DONE, or what it lacks."""
    words = streams.words
    slots = v.slots
    state = parts.state
    n_parts = len(state) // STATES
    shift = v.size[SHIFT]
    narrow = v.size[NARROW]
    me = p * STATES
    t = i64(state[me + STREAM])
    block = i64(state[me + AT_BLOCK])
    at = u64(state[me + AT_WORD])
    while t < len(streams.taken):
        stream = t * n_parts + p
        if block < 0:
            block = i64(streams.first[stream])
            at = u64(block * BLOCK) if block >= 0 else ZERO
        while block >= 0:
            end = u64(streams.at[stream] if block == streams.last[stream] else streams.ends[block])
            # All hashes of the block first, so that slots are on their way while others are read.
            k = u64(0)
            word = at
            while word < end:
                high = words[word + ONE]
                h = hash_of(words[word], high, narrow)
                hashes[k] = h
                prefetch(slots, (h >> shift) << TWO)
                word = word + record_size(high)
                k = k + ONE
            at, lacking = count_records(p, at, end, streams, groups, v, parts, hashes)
            if lacking != DONE:
                state[me + STREAM] = t
                state[me + AT_BLOCK] = block
                state[me + AT_WORD] = i64(at)
                return lacking
            block = i64(streams.following[block])
            at = u64(block * BLOCK) if block >= 0 else ZERO
        t += 1
    state[me + STREAM] = t
    state[me + AT_BLOCK] = -1
    return DONE


def count_records(
    p: int,
    at: int,
    end: int,
    streams: Streams,
    groups: Sequence[int],
    v: Vocabulary,
    parts: Parts,
    hashes: Sequence[int],
) -> tuple[int, int]:
    """Count the records from the word `at` to `end`, whose hashes are known; the word to go on with, and what lacks."""
    words = streams.words
    slots = v.slots
    state = parts.state
    touched = parts.touched
    shift = v.size[SHIFT]
    mask = v.size[REGION]
    me = p * STATES
    touched_at = u64(p * (len(touched) // (len(state) // STATES)))
    text_at = u64(p * (len(parts.text) // (len(state) // STATES)))
    n_touched = u64(state[me + N_TOUCHED])
    group = i64(state[me + AT_GROUP])
    k = u64(0)
    while at < end:
        number = words[at + TWO]
        position = number & ID
        if i64(groups[position]) != group:
            state[me + N_TOUCHED] = i64(n_touched)
            if not write_cells(p, v, parts):
                return at, MORE_CELLS
            n_touched = u64(0)
            group = i64(groups[position])
            state[me + AT_GROUP] = group
        low = words[at]
        high = words[at + ONE]
        s = (hashes[k] >> shift) << TWO
        entry = slots[s + TWO]
        while entry != ZERO:
            if ((slots[s] ^ low) | (slots[s + ONE] ^ high)) == ZERO:
                if not is_long(high):
                    break
                other = text_at + u64(parts.starts[touched_at + (entry & ID) - ONE])
                if equal_bytes(parts.text, other, streams.data, (at + THREE) << S3, high >> S8):
                    break
            s = next_slot(s, mask)
            entry = slots[s + TWO]
        if entry == ZERO:
            lacking = add_record(p, at, s, streams, v, parts)
            if lacking != DONE:
                state[me + N_TOUCHED] = i64(n_touched)
                return at, lacking
            entry = slots[s + TWO]
        counter = slots[s + THREE]
        touched[touched_at + n_touched] = s
        n_touched = n_touched + u64(counter == ZERO)
        if number == position:
            # Low half: occurrences.  High half: documents, one more if the slot does not carry this document's stamp.
            stamp = position + ONE
            slots[s + THREE] = counter + ONE + (u64((entry >> S32) != stamp) << S32)
            slots[s + TWO] = (entry & ID) | (stamp << S32)
        else:
            slots[s + THREE] = counter + ((number >> S32) & MOST) + ((number >> S48) << S32)
        at = at + record_size(high)
        k = k + ONE
    state[me + N_TOUCHED] = i64(n_touched)
    return at, DONE


def add_record(p: int, at: int, s: int, streams: Streams, v: Vocabulary, parts: Parts) -> int:
    """Put the feature of a record into the free slot `s`; DONE, or what the partition lacks."""
    words = streams.words
    state = parts.state
    n_parts = len(state) // STATES
    room = u64(len(parts.starts) // n_parts)
    text_room = u64(len(parts.text) // n_parts)
    f = u64(state[p * STATES + N_FEATURES])
    n_bytes = u64(state[p * STATES + N_BYTES])
    low = words[at]
    high = words[at + ONE]
    n = high >> S8 if is_long(high) else key_length(low, high)
    # One place more than there are features: a slot is noted before it is known to be new.
    if f + ONE == room:
        return MORE_FEATURES
    if n_bytes + n + S16 > text_room:
        return MORE_BYTES
    parts.starts[u64(p) * room + f] = n_bytes
    place = at + THREE if is_long(high) else at
    copy_text(streams.data, place << S3, n, parts.text, u64(p) * text_room + n_bytes)
    v.slots[s] = low
    v.slots[s + ONE] = high
    v.slots[s + TWO] = f + ONE
    state[p * STATES + N_FEATURES] = i64(f + ONE)
    state[p * STATES + N_BYTES] = i64(n_bytes + n)
    return DONE


def write_cells(p: int, v: Vocabulary, parts: Parts) -> bool:
    """Write the counters of the current group of a partition out as cells; False when there is no room."""
    state = parts.state
    n_parts = len(state) // STATES
    room = len(parts.features) // n_parts
    n = i64(state[p * STATES + N_CELLS])
    n_touched = i64(state[p * STATES + N_TOUCHED])
    if n + n_touched > room:
        return False
    touched_at = p * (len(parts.touched) // n_parts)
    slots = v.slots
    cell = p * room + n
    for t in range(touched_at, touched_at + n_touched):
        s = u64(parts.touched[t])
        counter = slots[s + THREE]
        parts.features[cell] = (slots[s + TWO] & ID) - ONE
        parts.groups[cell] = state[p * STATES + AT_GROUP]
        parts.terms[cell] = i64(counter & ID)
        parts.docs[cell] = i64(counter >> S32)
        slots[s + THREE] = ZERO
        cell += 1
    state[p * STATES + N_CELLS] = n + n_touched
    state[p * STATES + N_TOUCHED] = 0
    return True


@kernel
def list_counters(lo: int, hi: int, v: Vocabulary, parts: Parts) -> None:
    """Find the slots with counters of the partitions lo … hi - 1 again after the table has grown."""
    n_parts = len(parts.state) // STATES
    size = v.size[REGION] + ONE
    for p in range(lo, hi):
        n = p * (len(parts.touched) // n_parts)
        s = u64(p) * size
        end = s + size
        while s < end:
            if v.slots[s + THREE] != ZERO:
                parts.touched[n] = s
                n += 1
            s = s + FOUR


@kernel
def arrange(
    lo: int, hi: int, parts: Parts, bases: I64s, v: Vocabulary, postings: Postings, term_sum: I64s, doc_freq_sum: I64s
) -> int:
    """Put the features and cells of the partitions lo … hi - 1 in order.

    Partition p begins with the feature bases[3 * p], with that byte of the text and that cell.  Totals by feature and
    the sums by group come as zeros.  Returns how many cells are left out because a feature had the same group twice.
    """
    n_parts = len(parts.state) // STATES
    left_out = i64(0)
    for p in range(lo, hi):
        arrange_features(p, n_parts, parts, bases, v)
        left_out += arrange_cells(p, n_parts, parts, bases, postings, term_sum, doc_freq_sum)
    return left_out


def arrange_features(p: int, n_parts: int, parts: Parts, bases: Sequence[int], v: Vocabulary) -> None:
    """Give the features of a partition their ids."""
    n_features = i64(parts.state[p * STATES + N_FEATURES])
    n_bytes = u64(parts.state[p * STATES + N_BYTES])
    base = i64(bases[3 * p])
    text_base = u64(bases[3 * p + 1])
    from_starts = p * (len(parts.starts) // n_parts)
    from_text = u64(p * (len(parts.text) // n_parts))
    for f in range(n_features):
        v.starts[base + f] = i64(parts.starts[from_starts + f]) + i64(text_base)
    # Neighbours write at the same time: not a byte more than there are.
    whole = n_bytes - (n_bytes & S15)
    copy_whole(parts.text, from_text, whole, v.text, text_base)
    j = whole
    while j < n_bytes:
        v.text[text_base + j] = parts.text[from_text + j]
        j = j + ONE
    slots = v.slots
    narrow = v.size[NARROW]
    size = v.size[REGION] + ONE
    s = u64(p) * size
    end = s + size
    while s < end:
        entry = slots[s + TWO]
        if entry != ZERO:
            f = (entry & ID) + u64(base)
            slots[s + TWO] = f
            v.hashes[f - ONE] = hash_of(slots[s], slots[s + ONE], narrow)
        s = s + FOUR
    v.loads[p] = n_features


def copy_whole(text: Sequence[int], start: int, n: int, out: MutableSequence[int], at: int) -> None:
    """Copy `n` bytes, a multiple of 16."""
    if n > ZERO:
        copy_text(text, start, n, out, at)


def arrange_cells(
    p: int,
    n_parts: int,
    parts: Parts,
    bases: Sequence[int],
    postings: Postings,
    term_sum: MutableSequence[int],
    doc_freq_sum: MutableSequence[int],
) -> int:
    """Order the cells of a partition by feature, groups ascending; total them by feature and by group."""
    n_features = i64(parts.state[p * STATES + N_FEATURES])
    n_cells = i64(parts.state[p * STATES + N_CELLS])
    base = i64(bases[3 * p])
    at = i64(bases[3 * p + 2])
    first = p * (len(parts.features) // n_parts)
    starts = postings.starts
    lengths = postings.lengths
    for k in range(first, first + n_cells):
        lengths[base + i64(parts.features[k])] += 1
    for f in range(base, base + n_features):
        starts[f] = at
        at += i64(lengths[f])
        lengths[f] = 0
    left_out = i64(0)
    for k in range(first, first + n_cells):
        f = base + i64(parts.features[k])
        group = i64(parts.groups[k])
        terms = i64(parts.terms[k])
        docs = i64(parts.docs[k])
        a = i64(starts[f])
        place = a + i64(lengths[f])
        # Groups ascend, but where streams had to be emptied in the middle of a slice.
        while place > a and i64(postings.classes[place - 1]) > group:
            place -= 1
        if place > a and i64(postings.classes[place - 1]) == group:
            postings.terms[place - 1] += terms
            postings.docs[place - 1] += docs
            left_out += 1
        else:
            j = a + i64(lengths[f])
            while j > place:
                postings.classes[j] = postings.classes[j - 1]
                postings.terms[j] = postings.terms[j - 1]
                postings.docs[j] = postings.docs[j - 1]
                j -= 1
            postings.classes[place] = group
            postings.terms[place] = terms
            postings.docs[place] = docs
            lengths[f] += 1
        postings.term_total[f] += terms
        postings.doc_total[f] += docs
        term_sum[group] += terms
        doc_freq_sum[group] += docs
    for f in range(base, base + n_features):
        postings.rooms[f] = lengths[f]
    return left_out
