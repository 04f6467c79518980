"""Documents → counts: the occurrences of each feature in each group, and the documents of the group that have it.

A group is a class, or a set of labels that documents share.  Features belong to partitions, by the highest bits of
their hash.  No table of groups × features exists at any time, and nothing is added up twice:

scatter   Each thread reads a slice of the documents.  It counts some features, the most frequent ones among them, in
          a small table that stays in the processor's cache (57 % of the items of IMDB are of the first 8,000 features).
          It sends a record of every other item to the stream of its partition, and when a group ends, a record of
          each counter of the small table.
collect   Each thread takes whole partitions: it counts the records in the region of the large table that is the
          partition's own, group by group.  When a group ends, the counters go out as cells.
arrange   Each thread takes whole partitions: features get their ids, and cells the order of the features.

A record is three words: the key, and a number whose low half is the place of a document in the order of documents.
Where the high half is 0, the record stands for one occurrence in this document.  Else the high half has occurrences and
documents, 16 bits each, in the group of this document.  The text of a feature that is longer than a key stands apart:
the second word of the key, which has its length, then has its place in the highest bits.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.analyze import Documents, Recipe, Scratch, Walk, keys_of, units_of
from bunrui.kernel.ngrams import AHEAD, Items, copy_text, equal_bytes, hash_of, is_long, key_length
from bunrui.kernel.postings import HOLES, LIVE, USED, Postings, insert_cell
from bunrui.kernel.primitives import FOUR, M32, ONE, THREE, TWO, U64, ZERO, i64, inline, prefetch, u64
from bunrui.kernel.signature import I32s, I64s, U8s, U32s, U64s, kernel, record
from bunrui.kernel.vocabulary import BYTES, FEATURES, FULLEST, NARROW, REGION, SHIFT, Vocabulary, next_slot, region_of

DONE = 0
GROW = 1
FULL = 2

# Places in `state` of a slice
POSITION = 0  # in `order`
UNIT = 1  # of the document there, where the last call stopped
GROUP = 2  # whose counters stand in the small table, -1 before the first
TOUCHED = 3  # counters that are not zero
CLAIMED = 4  # slots of the small table that have a feature
COUNTED = 5  # items that the small table has counted
GROWS = 6  # whether the small table may grow
MISSED = 7  # items of the last block that the small table did not have
END = 8  # the position to stop at
THREAD = 9
LONGEST = 10  # units of an n-gram
ALONE = 11  # whether no other thread reads
STATES_OF_SLICE = 12

# Items of the small table for each of its features, from which a larger one pays.
WORTH = 4

RECORD = 3
BLOCK = 256  # records of a stream that lie together, a power of two
WORDS = BLOCK * RECORD
IN_BLOCK = U64(BLOCK - 1)
AT_ONCE = U64(64 * RECORD)  # words of the records whose slots are asked for before they are read
MOST = U64(0xFFFF)  # occurrences or documents of a record
KEY = U64((1 << 40) - 1)  # bits of the second word of a long key
PLACES = 1 << 24  # of long texts, each a multiple of 32 bytes

# Places in `Parts.state`, for each partition
N_FEATURES = 0
N_BYTES = 1
N_CELLS = 2
N_TOUCHED = 3
AT_GROUP = 4  # whose counters stand in the slots
STREAM = 5  # to go on with
AT_WORD = 6  # of this stream; -1 at its beginning
LACKS = 7  # bytes of text
STATES = 8

# The room that a partition lacks
MORE_FEATURES = 1
MORE_BYTES = 2
MORE_CELLS = 4


@record
class Small(NamedTuple):
    """The small table of a thread: a feature has one slot, by its hash, and the first one to come keeps it.

    Where there are no slots, all items are sent, and features get their ids in the order of the text.

    A slot is four words: the key, the document that was last counted (0 where the slot is free), and the counter.
    """

    slots: U64s
    touched: U32s  # (slots + 1): slots with a counter that is not zero


@record
class Streams(NamedTuple):
    """The records on their way from threads to partitions: stream t * partitions + p goes from thread t to p."""

    words: U64s  # (blocks * BLOCK * RECORD)
    data: U8s  # the same memory
    text: U8s  # long texts, a stretch for each thread
    following: I64s  # (blocks): the next block of the same stream, -1 after the last
    first: I64s  # (streams): block, -1 where a stream is empty
    at: I64s  # (streams): where the next record goes; a multiple of BLOCK where there is no room
    taken: I64s  # (threads): blocks
    written: I64s  # (threads): places of long texts


@record
class Parts(NamedTuple):
    """Features and cells by partition, each with a stretch of the same length in every array."""

    starts: U32s  # place of a feature in the text of its partition
    touched: U32s  # slots with a counter that is not zero
    text: U8s
    features: U32s  # of every cell, counted within the partition
    groups: I32s
    terms: U32s
    docs: U32s
    state: I64s  # (partitions * STATES)


@record
class Few(NamedTuple):
    """Room to count few documents in one partition, on one thread."""

    vocabulary: Vocabulary
    small: Small  # without slots
    streams: Streams
    parts: Parts
    postings: Postings  # with room for the features and cells of `parts`
    places: U64s  # (BLOCK)
    bases: I64s  # (3): zeros
    state: I64s  # (STATES_OF_SLICE)


@kernel
def count_few(
    docs: Documents, order: I64s, groups: I32s, recipe: Recipe, scratch: Scratch, few: Few, sums: I64s
) -> bool:
    """Count documents into `few`, whatever it has; False where they need more room.  The sums are those of `arrange`.

    The caller sets LONGEST of `few.state`.  TOUCHED, GROWS, THREAD and ALONE are 0, and stay so: there is no small
    table, and only one thread.

    One call in place of three: of the 105 µs that counting a question of banking77 took with them, 85 were spent around
    the loops.
    """
    v = few.vocabulary
    streams = few.streams
    state = few.parts.state
    p = few.postings
    for s in range(len(v.slots)):
        v.slots[s] = ZERO
    for k in range(len(state)):
        state[k] = 0
    state[AT_GROUP] = -1
    state[AT_WORD] = -1
    few.state[POSITION] = 0
    few.state[UNIT] = 0
    few.state[GROUP] = -1
    few.state[END] = len(order)
    streams.first[0] = -1
    streams.at[0] = 0
    streams.taken[0] = 0
    streams.written[0] = 0
    if scatter(Walk(docs, recipe, scratch), order, groups, v, few.small, streams, few.state):
        return False
    if collect(i64(0), i64(1), streams, groups, v, few.parts, few.places, i64(1)):
        return False
    n_features = i64(state[N_FEATURES])
    p.size[HOLES] = arrange(i64(0), i64(1), few.parts, few.bases, v, p, sums)
    p.size[USED] = state[N_CELLS]
    p.size[LIVE] = n_features
    v.size[FEATURES] = u64(n_features)
    v.size[BYTES] = u64(state[N_BYTES])
    v.size[FULLEST] = u64(n_features)
    v.starts[n_features] = state[N_BYTES]
    return True


# Scatter


@kernel
def scatter(walk: Walk, order: I64s, groups: I32s, v: Vocabulary, small: Small, streams: Streams, state: I64s) -> int:
    """Read the documents up to order[END - 1], whose groups are `groups`; go on where the last call stopped.

    `v` says how features are hashed.  Returns DONE, or FULL when the streams must be emptied, or GROW when a larger
    small table would pay.  It stops in the middle of a document only where the thread is ALONE: else records of others
    would come between two of the same document.
    """
    docs, _, scratch = walk
    thread = i64(state[THREAD])
    longest = u64(state[LONGEST])
    while state[POSITION] < state[END]:
        p = i64(state[POSITION])
        if groups[p] != state[GROUP]:
            if not send_counters(v, small, streams, thread, state):
                return FULL
            state[GROUP] = groups[p]
        d = i64(order[p])
        n_units = units_of(walk, d)
        if state[ALONE] == 0 and n_units > ZERO:
            # All n-grams of n units together have the bytes of the units n times.
            n_bytes = u64(scratch.units.borders[(n_units << 1) - ONE]) + u64(16)
            n_bytes = n_bytes * (longest * (longest + ONE) // TWO)
            n_more = n_more_records(docs.counts, i64(docs.lists[d]), i64(n_units)) if len(docs.counts) > 0 else ZERO
            if not can_take(streams, thread, n_units * longest + n_more, n_bytes):
                return FULL
        unit = u64(state[UNIT])
        while unit < n_units:
            n_items, first, after, n_bytes = keys_of(walk, v, d, unit, n_units)
            if state[ALONE] != 0:
                n_more = n_more_records(docs.counts, first, i64(n_items)) if len(docs.counts) > 0 else ZERO
                if not can_take(streams, thread, n_items + n_more, n_bytes):
                    state[UNIT] = i64(unit)
                    return FULL
            n_missed = count_items(small, scratch.items, n_items, p, docs.counts, first, state)
            send_items(scratch, n_missed, p, docs.counts, first, streams, thread)
            unit = after
        state[UNIT] = 0
        state[POSITION] = p + 1
        if state[GROWS] != 0 and 8 * state[CLAIMED] > len(small.slots) > 0:
            if state[COUNTED] < WORTH * state[CLAIMED]:
                state[GROWS] = 0
            elif send_counters(v, small, streams, thread, state):
                return GROW
    return DONE if send_counters(v, small, streams, thread, state) else FULL


def n_more_records(counts: I64s, first: int, n: int) -> int:
    """The records that counts need beyond one for each item."""
    more = u64(0)
    for k in range(first, first + n):
        more = more + u64(counts[k]) // MOST + ONE
    return more


def count_items(small: Small, items: Items, n_items: int, position: int, counts: I64s, first: int, state: I64s) -> int:
    """Count the items that the small table has, or can take; item k once, or `counts[first + k]` times.

    Returns the number of items that it does not have; `items.ids` lists them.
    """
    if len(small.slots) == 0:
        for k in range(i64(n_items)):
            items.ids[k] = k
        return n_items
    # A branch on whether an item is in the table costs nothing where nearly all are, as words are, and more than the
    # work where it cannot be predicted, as for n-grams.
    if state[MISSED] * 8 < i64(n_items):
        n_missed = count_block(small, items, n_items, position, counts, first, state, True)
    else:
        n_missed = count_block(small, items, n_items, position, counts, first, state, False)
    state[MISSED] = i64(n_missed)
    state[COUNTED] += i64(n_items - n_missed)
    return n_missed


@inline
def count_block(
    small: Small, items: Items, n_items: int, position: int, counts: I64s, first: int, state: I64s, branches: bool
) -> int:
    """Count a block of items, with a branch for those that are not in the table, or with bits alone."""
    mask = u64(len(small.slots)) - FOUR
    counted = len(counts) > 0
    stamp = u64(position) + ONE
    n_touched = u64(state[TOUCHED])
    n_claimed = u64(0)
    n_missed = u64(0)
    x = u64(1)
    for k in range(n_items):
        low = items.low[k]
        high = items.high[k]
        # Not the highest bits: partitions have their own use for them.
        s = (items.hashes[k] >> 24) & mask
        if branches:
            prefetch(small.slots, (items.hashes[k + AHEAD] >> 24) & mask)
        last = small.slots[s + TWO]
        if last == ZERO and not is_long(high):
            small.slots[s] = low
            small.slots[s + ONE] = high
            n_claimed = n_claimed + ONE
        # No slot has a long key.
        is_there = u64(((small.slots[s] ^ low) | (small.slots[s + ONE] ^ high)) == ZERO)
        items.ids[n_missed] = k
        n_missed = n_missed + (is_there ^ ONE)
        if branches and is_there == ZERO:
            continue
        if counted:
            x = u64(counts[first + i64(k)])
        counter = small.slots[s + THREE]
        small.touched[n_touched] = s
        n_touched = n_touched + (is_there & u64(counter == ZERO))
        # Low half: occurrences.  High half: documents, one more if the last was another.
        small.slots[s + THREE] = counter + is_there * (x + (u64(last != stamp) << 32))
        small.slots[s + TWO] = last + is_there * (stamp - last)
    state[TOUCHED] = i64(n_touched)
    state[CLAIMED] += i64(n_claimed)
    return n_missed


def send_counters(v: Vocabulary, small: Small, streams: Streams, thread: int, state: I64s) -> bool:
    """Send the counters of the small table to the partitions; False where there is no room."""
    n_touched = u64(state[TOUCHED])
    n_records = u64(0)
    for t in range(n_touched):
        n_records = n_records + n_records_of(small.slots[u64(small.touched[t]) + THREE])
    if not can_take(streams, thread, n_records, ZERO):
        return n_records == ZERO
    narrow = v.size[NARROW]
    n_parts = u64(len(streams.first) // len(streams.taken))
    # Any document of the group will do.
    position = u64(state[POSITION]) - ONE
    for t in range(n_touched):
        s = u64(small.touched[t])
        low = small.slots[s]
        high = small.slots[s + ONE]
        stream = u64(thread) * n_parts + region_of(hash_of(low, high, narrow), n_parts)
        counter = small.slots[s + THREE]
        terms = counter & M32
        docs = counter >> 32
        for _ in range(i64(n_records_of(counter))):
            some_docs = min(docs, MOST)
            some = min(terms, MOST)
            put_record(streams, stream, thread, low, high, position | (some << 32) | (some_docs << 48))
            terms = terms - some
            docs = docs - some_docs
        small.slots[s + THREE] = ZERO
    state[TOUCHED] = 0
    return True


@inline
def n_records_of(counter: int) -> int:
    """Records for a counter."""
    return ((counter & M32) + MOST - ONE) // MOST


def send_items(
    scratch: Scratch, n_missed: int, position: int, counts: I64s, first: int, streams: Streams, thread: int
) -> None:
    """Send the items of a document that `items.ids` lists to their partitions."""
    items = scratch.items
    number = u64(position)
    n_parts = u64(len(streams.first) // len(streams.taken))
    first_stream = u64(thread) * n_parts
    for m in range(n_missed):
        k = u64(items.ids[m])
        stream = first_stream + region_of(items.hashes[k], n_parts)
        high = placed(streams, thread, items.high[k], scratch.units.text, u64(items.starts[k]))
        put_record(streams, stream, thread, items.low[k], high, number)
        more = u64(counts[first + i64(k)]) - ONE if len(counts) > 0 else ZERO
        while more > ZERO:
            some = min(more, MOST)
            put_record(streams, stream, thread, items.low[k], high, number | (some << 32))
            more = more - some


@inline
def can_take(streams: Streams, thread: int, n_records: int, n_bytes: int) -> bool:
    """Tell whether there is room for this many records, of features with this many bytes."""
    n_threads = len(streams.taken)
    n_blocks = i64(streams.taken[thread]) + i64(n_records) // BLOCK + len(streams.first) // n_threads
    n_places = i64(streams.written[thread]) + i64(n_bytes >> 5) + i64(n_records)
    places = min(len(streams.text) // n_threads // 32, PLACES)
    return n_blocks < len(streams.following) // n_threads and n_places < places


@inline
def put_record(streams: Streams, stream: int, thread: int, low: int, high: int, number: int) -> None:
    """Write a record at the end of a stream; the caller has seen that there is room."""
    at = u64(streams.at[stream])
    if at & IN_BLOCK == ZERO:
        at = take_block(streams, stream, thread, at)
    streams.at[stream] = i64(at + ONE)
    word = at * THREE
    streams.words[word] = low
    streams.words[word + ONE] = high
    streams.words[word + TWO] = number


def take_block(streams: Streams, stream: int, thread: int, at: int) -> int:
    """Begin a new block at the end of a stream, which is `at`: the place of its first record."""
    new = thread * (len(streams.following) // len(streams.taken)) + i64(streams.taken[thread])
    streams.taken[thread] += 1
    if streams.first[stream] < 0:
        streams.first[stream] = new
    else:
        streams.following[(at - ONE) // u64(BLOCK)] = new
    streams.following[new] = -1
    return u64(new * BLOCK)


@inline
def placed(streams: Streams, thread: int, high: int, text: U8s, start: int) -> int:
    """The second word of a key; for a long one its text is copied, and the word has the place of the copy."""
    if not is_long(high):
        return high
    place = u64(streams.written[thread])
    n = high >> 8
    base = u64(thread * (len(streams.text) // len(streams.taken)))
    copy_text(text, start, n, streams.text, base + (place << 5))
    streams.written[thread] += i64((n + u64(31)) >> 5)
    return high | (place << 40)


# Collect


@kernel
def collect(
    lo: int, hi: int, streams: Streams, groups: I32s, v: Vocabulary, parts: Parts, places: U64s, writes: int
) -> int:
    """Count the records of the partitions lo … hi - 1; go on where the last call stopped.

    Where `writes`, all counters go out as cells in the end.  Returns DONE, or all that some partitions
    lack.  `places` is scratch.
    """
    all_lacking = DONE
    for p in range(lo, hi):
        lacking = collect_part(p, streams, groups, v, parts, places)
        if lacking == DONE and writes != 0 and not write_cells(p, v, parts):
            lacking = MORE_CELLS
        all_lacking = all_lacking | lacking
    return all_lacking


def collect_part(p: int, streams: Streams, groups: I32s, v: Vocabulary, parts: Parts, places: U64s) -> int:
    """Count the records of one partition; return DONE, or the room that it lacks."""
    state = parts.state
    n_parts = len(state) // STATES
    shift = v.size[SHIFT]
    mask = v.size[REGION]
    narrow = v.size[NARROW]
    me = p * STATES
    t = i64(state[me + STREAM])
    at = i64(state[me + AT_WORD])
    while t < len(streams.taken):
        stream = t * n_parts + p
        if at < 0:
            at = i64(streams.first[stream]) * WORDS
        while at >= 0:
            block = at // WORDS
            following = i64(streams.following[block])
            end = u64((block + 1) * WORDS if following >= 0 else i64(streams.at[stream]) * RECORD)
            word = u64(at)
            while word < end:
                # Some places first, so that slots are on their way while others are read; a slot that is taken is
                # followed by the next, often of the next line.
                stop = min(end, word + AT_ONCE)
                for k in range((stop - word) // THREE):
                    low = streams.words[word + k * THREE]
                    high = streams.words[word + k * THREE + ONE]
                    s = (hash_of(low, high, narrow) >> shift) << 2
                    places[k] = s
                    prefetch(v.slots, s)
                    prefetch(v.slots, next_slot(next_slot(s, mask), mask))
                word, lacking = count_records(p, t, word, stop, streams, groups, v, parts, places)
                if lacking != DONE:
                    state[me + STREAM] = t
                    state[me + AT_WORD] = i64(word)
                    return lacking
            at = following * WORDS
        t += 1
    state[me + STREAM] = t
    state[me + AT_WORD] = -1
    return DONE


@inline
def count_records(
    p: int, thread: int, at: int, end: int, streams: Streams, groups: I32s, v: Vocabulary, parts: Parts, places: U64s
) -> tuple[int, int]:
    """Count the records from the word `at` to `end`; return the word to go on with, and DONE or the lacking room.

    `places` has the slots in which to look for their features.
    """
    state = parts.state
    mask = v.size[REGION]
    me = p * STATES
    touched_at = u64(p * (len(parts.touched) // (len(state) // STATES)))
    text_at = u64(p * (len(parts.text) // (len(state) // STATES)))
    long_at = u64(thread * (len(streams.text) // len(streams.taken)))
    n_touched = u64(state[me + N_TOUCHED])
    group = i64(state[me + AT_GROUP])
    k = u64(0)
    while at < end:
        number = streams.words[at + TWO]
        position = number & M32
        if i64(groups[position]) != group:
            state[me + N_TOUCHED] = i64(n_touched)
            if not write_cells(p, v, parts):
                return at, MORE_CELLS
            n_touched = u64(0)
            group = i64(groups[position])
            state[me + AT_GROUP] = group
        low = streams.words[at]
        high = streams.words[at + ONE]
        place = at << 3
        if is_long(high):
            place = long_at + ((high >> 40) << 5)
            high = high & KEY
        s = places[k]
        entry = v.slots[s + TWO]
        while entry != ZERO:
            if ((v.slots[s] ^ low) | (v.slots[s + ONE] ^ high)) == ZERO:
                if not is_long(high):
                    break
                other = text_at + u64(parts.starts[touched_at + (entry & M32) - ONE])
                if equal_bytes(parts.text, other, streams.text, place, high >> 8):
                    break
            s = next_slot(s, mask)
            entry = v.slots[s + TWO]
        if entry == ZERO:
            lacking = add_record(p, low, high, place, s, streams, v, parts)
            if lacking != DONE:
                state[me + N_TOUCHED] = i64(n_touched)
                return at, lacking
            entry = v.slots[s + TWO]
        counter = v.slots[s + THREE]
        parts.touched[touched_at + n_touched] = s
        n_touched = n_touched + u64(counter == ZERO)
        if number == position:
            stamp = position + ONE
            v.slots[s + THREE] = counter + ONE + (u64((entry >> 32) != stamp) << 32)
            v.slots[s + TWO] = (entry & M32) | (stamp << 32)
        else:
            v.slots[s + THREE] = counter + ((number >> 32) & MOST) + ((number >> 48) << 32)
        at = at + THREE
        k = k + ONE
    state[me + N_TOUCHED] = i64(n_touched)
    return at, DONE


def add_record(p: int, low: int, high: int, place: int, s: int, streams: Streams, v: Vocabulary, parts: Parts) -> int:
    """Put the feature with a key, and the text at `place`, into the free slot `s`; return DONE, or the lacking room."""
    state = parts.state
    n_parts = len(state) // STATES
    room = u64(len(parts.starts) // n_parts)
    text_room = u64(len(parts.text) // n_parts)
    f = u64(state[p * STATES + N_FEATURES])
    n_bytes = u64(state[p * STATES + N_BYTES])
    n = high >> 8 if is_long(high) else key_length(low, high)
    # One place more than there are features: a slot is noted before it is known to be new.
    if f + ONE == room:
        return MORE_FEATURES
    if n_bytes + n + u64(16) > text_room:
        state[p * STATES + LACKS] = i64(n + u64(16))
        return MORE_BYTES
    parts.starts[u64(p) * room + f] = n_bytes
    if is_long(high):
        copy_text(streams.text, place, n, parts.text, u64(p) * text_room + n_bytes)
    else:
        copy_text(streams.data, place, n, parts.text, u64(p) * text_room + n_bytes)
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
    cell = p * room + n
    for t in range(touched_at, touched_at + n_touched):
        s = u64(parts.touched[t])
        counter = v.slots[s + THREE]
        parts.features[cell] = (v.slots[s + TWO] & M32) - ONE
        parts.groups[cell] = state[p * STATES + AT_GROUP]
        parts.terms[cell] = counter & M32
        parts.docs[cell] = counter >> 32
        v.slots[s + THREE] = ZERO
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


# Arrange


@kernel
def arrange(lo: int, hi: int, parts: Parts, bases: I64s, v: Vocabulary, postings: Postings, sums: I64s) -> int:
    """Put the features and cells of the partitions lo … hi - 1 in order.

    Partition p begins with the feature bases[3 * p], and the next two numbers are its first byte of the text and its
    first cell.  The sums, which come as zeros, are the occurrences by group, then the documents by group.  Returns the
    number of cells left out because a feature had the same group twice.
    """
    left_out = i64(0)
    for p in range(lo, hi):
        arrange_features(p, parts, bases, v)
        left_out += arrange_cells(p, parts, bases, postings, sums)
    return left_out


def arrange_features(p: int, parts: Parts, bases: I64s, v: Vocabulary) -> None:
    """Give the features of a partition their ids."""
    n_parts = len(parts.state) // STATES
    n_features = i64(parts.state[p * STATES + N_FEATURES])
    n_bytes = u64(parts.state[p * STATES + N_BYTES])
    base = i64(bases[3 * p])
    text_base = u64(bases[3 * p + 1])
    from_starts = p * (len(parts.starts) // n_parts)
    from_text = u64(p * (len(parts.text) // n_parts))
    for f in range(n_features):
        v.starts[base + f] = i64(parts.starts[from_starts + f]) + i64(text_base)
    # Neighbours write at the same time: not a byte more than there are.
    for j in range(n_bytes):
        v.text[text_base + j] = parts.text[from_text + j]
    narrow = v.size[NARROW]
    size = v.size[REGION] + ONE
    s = u64(p) * size
    end = s + size
    while s < end:
        entry = v.slots[s + TWO]
        if entry != ZERO:
            f = (entry & M32) + u64(base)
            v.slots[s + TWO] = f
            v.hashes[f - ONE] = hash_of(v.slots[s], v.slots[s + ONE], narrow)
        s = s + FOUR
    v.loads[p] = n_features


def arrange_cells(p: int, parts: Parts, bases: I64s, postings: Postings, sums: I64s) -> int:
    """Order the cells of a partition by feature, groups ascending; total them by feature and by group."""
    n_features = i64(parts.state[p * STATES + N_FEATURES])
    n_cells = i64(parts.state[p * STATES + N_CELLS])
    base = i64(bases[3 * p])
    at = i64(bases[3 * p + 2])
    first = p * (len(parts.features) // (len(parts.state) // STATES))
    for f in range(base, base + n_features):
        postings.lengths[f] = 0
        postings.term_total[f] = 0
        postings.doc_total[f] = 0
    for k in range(first, first + n_cells):
        postings.lengths[base + i64(parts.features[k])] += 1
    for f in range(base, base + n_features):
        postings.starts[f] = at
        at += i64(postings.lengths[f])
        postings.lengths[f] = 0
    left_out = i64(0)
    for k in range(first, first + n_cells):
        f = base + i64(parts.features[k])
        group = i64(parts.groups[k])
        terms = i64(parts.terms[k])
        docs = i64(parts.docs[k])
        a = i64(postings.starts[f])
        # Groups ascend, except where streams were emptied in the middle of a slice.
        n = insert_cell(postings, a, a + i64(postings.lengths[f]), group, terms, docs) - a
        left_out += i64(n == postings.lengths[f])
        postings.lengths[f] = n
        postings.term_total[f] += terms
        postings.doc_total[f] += docs
        sums[group] += terms
        sums[len(sums) // 2 + group] += docs
    for f in range(base, base + n_features):
        postings.rooms[f] = postings.lengths[f]
    return left_out
