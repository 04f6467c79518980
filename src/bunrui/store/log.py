"""`Log`: the documents that a file remembers, and how they stand in its rows.

A row of the log is a block of documents that were learned one after the other, by column:

    times       when each was learned, in microseconds since 1970
    digests     16 bytes of each: a digest of the text, never empty
    label_sets  the sets of labels that occur; codes has one for each document
    ids         names that the user gave, where any
    sources     the files they came from; source_codes has one for each document
    sizes, text bytes of each, and the texts one after the other; empty unless the file keeps text
    given       1 where documents came as tokens or counts of words: the text is JSON then

A document is named by its block and its place there.  `Index` finds it by a key of its digest or of its id, and lives
in memory, beside a connection.  In the file it would be a row for each document, and learning short texts would take
twice as long (docs/decisions/005); without one, each change would read all blocks (docs/decisions/014).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.cells import Integers, ranges
from bunrui.memory import DIGEST, Digests, as_bytes, digests_of, key_words, match
from bunrui.store.codec import Unpacker, borders, pack, pack_json, pack_numbers

if TYPE_CHECKING:
    from bunrui.store.store import Store

Names = Sequence[str | None] | None
"""A name for each document, None where it has none; or for no document."""

COLUMNS = "n_docs, times, digests, label_sets, codes, ids, sources, source_codes, sizes, text, given"
HEADING = COLUMNS.replace("sizes, text", "x'', x''")
"""The columns of a block, and the same without its texts."""

BLOCK_BYTES = 2 << 20
BLOCK_DOCS = 1 << 16

LAST = (1 << 63) - 1  # beyond the numbers of all blocks and places

_TWICE = "two blocks of the log have the same number"


class Block(NamedTuple):
    """Documents, as the log knows them."""

    times: Integers
    digests: Digests
    label_sets: list[list[int]]  # the file's ids of labels
    codes: Integers
    ids: list[str | None] | None
    sources: list[str]
    source_codes: Integers  # 0 for none, else place in `sources` + 1
    sizes: Integers | None
    text: bytes | memoryview
    given: bool
    path: str = ""  # of the file that it comes from, for messages

    @property
    def n_docs(self) -> int:
        return len(self.digests)

    def pick(self, rows: Integers) -> Block:
        """Some of the documents."""
        if len(rows) and rows.max() >= self.n_docs:  # they were found in another block
            raise Unpacker(self.path, 0).damaged(_TWICE)
        sizes, text = self.sizes, self.text
        if sizes is not None:
            starts = np.cumsum(sizes) - sizes
            text = np.frombuffer(text, np.uint8)[ranges(starts[rows], sizes[rows])].tobytes()
            sizes = sizes[rows]
        return self._replace(
            times=self.times[rows],
            digests=self.digests[rows],
            codes=self.codes[rows],
            ids=None if self.ids is None else [self.ids[row] for row in rows.tolist()],
            source_codes=self.source_codes[rows],
            sizes=sizes,
            text=text,
        )

    def tidy(self) -> Block:
        """The block without sets of labels and sources that no document has."""
        sets, codes = np.unique(self.codes, return_inverse=True)
        named = self.source_codes > 0
        sources, source_codes = np.unique(self.source_codes[named], return_inverse=True)
        places = np.zeros(self.n_docs, np.int64)
        places[named] = source_codes + 1
        return self._replace(
            label_sets=[self.label_sets[code] for code in sets.tolist()],
            codes=codes.astype(np.int64),
            sources=[self.sources[code - 1] for code in sources.tolist()],
            source_codes=places,
        )

    def documents(self) -> list[Any]:
        """The documents as they were given to `learn`."""
        damaged = Unpacker(self.path, 0).damaged
        if self.sizes is None:
            raise damaged("a document in the log lacks its text")
        ends = np.cumsum(self.sizes).tolist()
        try:
            texts = [bytes(self.text[a:b]).decode() for a, b in pairwise([0, *ends])]
            documents = [json.loads(text) for text in texts] if self.given else texts
        except (ValueError, RecursionError) as error:
            raise damaged("a document in the log cannot be read") from error
        if self.given and not all(map(_is_given, documents)):
            raise damaged("a document in the log is neither tokens nor counts of words")
        return documents

    def row(self) -> tuple[Any, ...]:
        """The block as a row of the file, by `COLUMNS`."""
        return (
            self.n_docs,
            pack_numbers(self.times),
            pack(self.digests.tobytes()),
            pack_json(self.label_sets),
            pack_numbers(self.codes),
            b"" if self.ids is None else pack_json(self.ids),
            pack_json(self.sources),
            pack_numbers(self.source_codes),
            b"" if self.sizes is None else pack_numbers(self.sizes),
            b"" if self.sizes is None else pack(self.text),
            int(self.given),
        )

    @classmethod
    def of_row(cls, row: Sequence[Any], n_labels: int | None, unpacker: Unpacker) -> Block:
        """The block of a row, if it can be one; every document has labels, or none has any where `n_labels` is None."""
        n, times, digests, label_sets, codes, ids, sources, source_codes, sizes, text, given = row
        unpacker.check_whole(n, given)
        block = cls(
            times=unpacker.numbers(times, n),  # first: digests of far too many documents would take seconds
            digests=_digests(digests, n, unpacker),
            label_sets=unpacker.json(label_sets),
            codes=unpacker.numbers(codes, n),
            ids=unpacker.json(ids) if ids else None,
            sources=unpacker.json(sources),
            source_codes=unpacker.numbers(source_codes, n),
            sizes=unpacker.numbers(sizes, n) if sizes else None,
            text=unpacker.unpack(text) if sizes else b"",
            given=bool(given),
            path=unpacker.name,
        )
        if given > 1 or not block._fits(n_labels):
            raise unpacker.damaged("a block of the log does not fit together")
        return block

    def _fits(self, n_labels: int | None) -> bool:
        """Whether columns from a file belong together."""
        sources, ids, sizes = self.sources, self.ids, self.sizes
        return (
            self.n_docs > 0
            and (self.label_sets == [[]] if n_labels is None else _are_label_sets(self.label_sets, n_labels))
            and self.codes.max() < len(self.label_sets)
            and isinstance(sources, list)
            and all(isinstance(source, str) for source in sources)
            and self.source_codes.max() <= len(sources)
            and (ids is None or (isinstance(ids, list) and len(ids) == self.n_docs))
            and set(map(type, ids or ())) <= {str, type(None)}
            and (sizes is None or (sizes.max() <= len(self.text) and int(sizes.sum()) == len(self.text)))
        )


def _digests(blob: Any, n: int, unpacker: Unpacker) -> Digests:
    content = unpacker.unpack(blob, n * DIGEST.itemsize)
    if len(content) != n * DIGEST.itemsize:
        raise unpacker.damaged("a block of the log has another number of documents than digests")
    return np.frombuffer(content, DIGEST)


def _is_given(document: Any) -> bool:
    if isinstance(document, dict):
        return all(type(count) is int and count > 0 for count in document.values())
    return isinstance(document, list) and all(isinstance(token, str) for token in document)


def _are_label_sets(value: Any, n_labels: int) -> bool:
    return isinstance(value, list) and all(
        isinstance(labels, list) and labels and all(type(k) is int and 0 <= k < n_labels for k in labels)
        for labels in value
    )


def cut_into_blocks(
    time: int, texts: Any, label_sets: list[list[int]], codes: Integers, ids: Names, sources: Names, *, keep_text: bool
) -> tuple[list[int], Callable[[int, int], Block]]:
    """Cut documents that are learned in one transaction: where blocks begin and end, and a function that makes one."""
    given = inputs.is_given(texts)
    data, offsets = as_bytes(texts, given)
    names = ids if ids is not None and any(name is not None for name in ids) else None
    known = sorted({source for source in sources or () if source is not None})
    places = {source: place for place, source in enumerate(known, 1)}
    n = len(codes)
    source_codes = np.array([places.get(source or "", 0) for source in sources or [None] * n], np.int64)

    def make(lo: int, hi: int) -> Block:
        bounds = offsets[lo : hi + 1]
        return Block(
            times=np.full(hi - lo, time, np.int64),
            digests=digests_of(data, bounds, given),
            label_sets=label_sets,
            codes=codes[lo:hi],
            ids=None if names is None else list(names[lo:hi]),
            sources=known,
            source_codes=source_codes[lo:hi],
            sizes=np.diff(bounds) if keep_text else None,
            text=data[bounds[0] : bounds[-1]] if keep_text else b"",
            given=given,
        ).tidy()

    return borders(np.maximum((offsets[:-1] - offsets[0]) // BLOCK_BYTES, np.arange(n) // BLOCK_DOCS)), make


# --- where documents stand

Words = npt.NDArray[np.uint64]

_NONE = np.empty(0, np.int64)

_INDEXED = 64  # bytes of a document in an index, while it is made
_FEW = 4096  # documents that an index takes in one by one; for more there is a new one


class Keyed(NamedTuple):
    """Documents of one block: their keys, and their places there."""

    block: int
    keys: Words
    places: npt.NDArray[np.int64]


class Index:
    """The places of learned documents: many from the beginning, and those that have come and gone since.

    Examples
    --------
    >>> index = Index([Keyed(1, np.array([7, 3], np.uint64), np.array([0, 1]))])
    >>> index.add(Keyed(2, np.array([3], np.uint64), np.array([0])))
    >>> index.find(np.array([3, 5], np.uint64))
    {1: [1], 2: [0]}
    >>> index.remove(1, [1])
    >>> index.find(np.array([3], np.uint64)), index.has(np.array([3, 7, 5], np.uint64)).tolist()
    ({2: [0]}, [True, True, False])
    """

    def __init__(self, keyed: Sequence[Keyed]) -> None:
        keys = np.concatenate([np.empty(0, np.uint64), *(each.keys for each in keyed)])
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._places = np.concatenate([_NONE, *(each.places for each in keyed)])[order]
        blocks = np.array([each.block for each in keyed], np.int64)
        self._blocks = np.repeat(blocks, [len(each.keys) for each in keyed])[order]
        self._came: dict[int, list[tuple[int, int]]] = {}
        self._gone: set[tuple[int, int]] = set()

    def add(self, keyed: Keyed) -> None:
        """A few documents have come."""
        for key, place in zip(keyed.keys.tolist(), keyed.places.tolist(), strict=True):
            self._came.setdefault(key, []).append((keyed.block, place))

    def remove(self, block: int, places: Sequence[int]) -> None:
        """Documents have gone."""
        self._gone.update((block, place) for place in places)

    def find(self, keys: Words) -> dict[int, list[int]]:
        """Places of documents with these keys, by block."""
        found: dict[int, list[int]] = {}
        keys = np.unique(keys)
        for block, place in sorted({each for key in keys[self.has(keys)] for each in self._of(key)}):
            found.setdefault(block, []).append(place)
        return found

    def has(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Which keys are there."""
        starts, ends = (np.searchsorted(self._keys, keys, side) for side in ("left", "right"))
        there = starts < ends
        if self._came or self._gone:  # few: else there would be a new index
            for row, key in enumerate(keys.tolist()):
                if key in self._came or (self._gone and there[row]):
                    there[row] = bool(self._of(keys[row]))
        return np.asarray(there)

    def _of(self, key: np.uint64) -> list[tuple[int, int]]:
        start, end = (int(np.searchsorted(self._keys, key, side)) for side in ("left", "right"))
        old = zip(self._blocks[start:end].tolist(), self._places[start:end].tolist(), strict=True)
        return [each for each in (*old, *self._came.get(int(key), ())) if each not in self._gone]


class Seen:
    """The texts that were learned, by the first eight bytes of their digests.

    Examples
    --------
    >>> seen = Seen(np.array([7, 3], np.uint64))
    >>> seen.add(np.array([5, 3, 5], np.uint64)).tolist()
    [False, True, True]
    >>> seen.add(np.array([5], np.uint64)).tolist()
    [True]
    >>> seen.has(np.array([5, 6, 6], np.uint64)).tolist()
    [True, False, False]
    """

    def __init__(self, keys: Words, before: Index | None = None) -> None:
        """Begin with the texts of `keys`, and those that an index knows."""
        self._sorted = np.sort(keys)
        self._before = before

    def __len__(self) -> int:
        return len(self._sorted)

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes while more are added."""
        return 3 * self._sorted.nbytes

    def has(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Which texts are there."""
        places = np.searchsorted(self._sorted, keys)
        there: Any = np.zeros(len(keys), bool)
        inside = places < len(self._sorted)
        there[inside] = self._sorted[places[inside]] == keys[inside]
        return np.asarray(there if self._before is None else there | self._before.has(keys))

    def add(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Add texts; which of them were there, or come for the second time."""
        again = self.has(keys)
        first = np.zeros(len(keys), bool)
        first[np.unique(keys, return_index=True)[1]] = True
        # Two sorted runs one after the other: a stable sort merges them.
        self._sorted = np.sort(np.concatenate([self._sorted, np.sort(keys)]), kind="stable")
        return np.asarray(again | ~first)


def id_words(ids: Sequence[str]) -> Words:
    """Keys of ids, for as long as the process lives."""
    return np.fromiter(map(hash, ids), np.int64, len(ids)).view(np.uint64)


class Heading(NamedTuple):
    """A block without its texts, and the places of the documents that are still learned."""

    number: int
    block: Block
    alive: Integers


class _Known(NamedTuple):
    """An index, and how far in the log it has got."""

    places: Index
    rewritten: tuple[int, int]  # generation and snapshot: with another of them, documents stand elsewhere
    block: int
    removal: int


class Log:
    """The log of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, _Known] = {}

    def blocks(self, after: int = 0, numbers: Sequence[int] | None = None) -> Iterator[tuple[int, Block]]:
        """All documents but those that were unlearned, with the numbers of their blocks.

        With `after`, only documents of later transactions; with `numbers`, only documents of these blocks.
        """
        gone = self.gone()
        for number, block, unpacker in self._read(COLUMNS, f"tx > {after:d} ORDER BY block", numbers):
            if number in gone:
                block = block.pick(_alive(block.n_docs, gone[number], unpacker))
            if block.n_docs:
                yield number, block

    def block(self, number: int) -> Block:
        """All documents of one block, those that were unlearned too."""
        return next(self._read(COLUMNS, numbers=[number]))[1]

    def headings(self, upto: int = LAST) -> Iterator[Heading]:
        """All blocks up to a number, without their texts, the last one first."""
        gone = self.gone()
        for number, block, unpacker in self._read(HEADING, f"block <= {upto:d} ORDER BY block DESC"):
            yield Heading(number, block, _alive(block.n_docs, gone.get(number, _NONE), unpacker))

    def headings_of(self, tx: int, upto: int = LAST) -> Iterator[Heading]:
        """The documents that a transaction took out of the log; where there are none, those that it entered.

        The others are not alive, whatever happened since.  As `headings`; only for transactions after the snapshot.
        """
        taken = self.gone(f"tx = {tx:d}")
        numbers = sorted((number for number in taken if number <= upto), reverse=True) if taken else None
        where = f"tx = {tx:d} AND block <= {upto:d} ORDER BY block DESC"
        for number, block, unpacker in self._read(HEADING, where, numbers):
            left = _alive(block.n_docs, taken.get(number, _NONE), unpacker)
            yield Heading(number, block, np.sort(taken[number]) if taken else left)

    def sizes(self) -> Iterator[tuple[int, Integers]]:
        """Bytes of all documents, those that were unlearned too, by block; zeros where the log keeps no texts."""
        unpacker = self._store.unpacker()  # one for all blocks: who asks may keep them all
        has_texts = self._store.keep == "text"
        for number, n, blob in self._numbered("SELECT block, n_docs, sizes FROM documents ORDER BY block"):
            unpacker.check_whole(n)
            if has_texts or blob:
                yield number, unpacker.numbers(blob, n)
            else:
                unpacker.charge(8 * n)
                yield number, np.zeros(n, np.int64)

    def _read(
        self, columns: str, where: str = "true", numbers: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Block, Unpacker]]:
        """Blocks, each with the unpacker that has read it: they are not all in memory at once."""
        n_labels = len(self._store.labels())
        query = f"SELECT block, {columns} FROM documents WHERE"
        queries = [f"{query} {where}"] if numbers is None else (f"{query} block = {number:d}" for number in numbers)
        n_read = 0
        for each in queries:
            for number, *row in self._numbered(each):
                unpacker = self._store.unpacker()
                yield number, Block.of_row(row, n_labels, unpacker), unpacker
                n_read += 1
        if numbers is not None and n_read < len(numbers):
            raise self._store.unpacker().damaged("the log lacks a block")

    def gone(self, where: str = "true") -> dict[int, Integers]:
        """Places of documents that were unlearned, by block."""
        gone: dict[int, Integers] = {}
        for block, places in self._removals(where):
            gone[block] = np.concatenate([gone[block], places]) if block in gone else places
        return gone

    def _removals(self, where: str) -> Iterator[tuple[int, Integers]]:
        """Blocks, and places of documents there that were unlearned."""
        unpacker, whole = self._store.unpacker(), self._store.whole("removals")
        query = f"SELECT block, n_docs, places, {whole} FROM removals WHERE {where}"
        for block, n, blob, is_whole in self._store.db.execute(query):
            self._store.check_row(is_whole, "removals")
            yield block, unpacker.numbers(blob, n)

    def _numbered(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Rows that begin with the numbers of blocks, none of which SQLite would give twice in a file that is whole."""
        seen: set[int] = set()
        for row in self._store.db.execute(query):
            if row[0] in seen:
                raise self._store.unpacker().damaged(_TWICE)
            seen.add(row[0])
            yield row

    def doc_counts(self) -> tuple[int, dict[str, int]]:
        """How many documents there are, and how many of each label that has any."""
        names = self._store.labels()
        n_docs, by_label = 0, np.zeros(len(names), np.int64)
        for _, block, alive in self.headings():
            n_docs += len(alive)
            for code, n in enumerate(np.bincount(block.codes[alive]).tolist()):
                by_label[block.label_sets[code]] += n
        return n_docs, {name: n for name, n in zip(names, by_label.tolist(), strict=True) if n}

    # Looking up

    def index(self, by: str) -> Index:
        """Where documents stand, by their "digests" or "ids", as the file has them now."""
        known, (block, removal) = self._known.get(by), self._ends()
        rewritten = self._store.state().generation, self._store.snapshot()
        if known is None or known.rewritten != rewritten or self._n_new(known) > _FEW:
            index = Index(list(self._keyed(by, 0, self.gone())))
        else:
            index = known.places
            for keyed in self._keyed(by, known.block, {}):
                index.add(keyed)
            for number, places in self._removals(f"removal > {known.removal:d}"):
                index.remove(number, places.tolist())
        self._known[by] = _Known(index, rewritten, block, removal)
        return index

    def find(self, digests: Digests, labels: Iterable[frozenset[int]]) -> tuple[dict[int, list[int]], list[int]]:
        """Places of documents by block, the latest of several; and the rows of those that are not in the log."""
        wanted = ((digest.tobytes(), label_set) for digest, label_set in zip(digests, labels, strict=True))
        there = self._look_up(digests, last_first=True)
        return match(wanted, ((number, place, (key, frozenset(ids))) for number, place, key, ids in there))

    def labels_of(self, digests: Digests) -> dict[bytes, list[int]]:
        """The labels of those documents that are there, by digest, in the order in which they were learned."""
        wanted = {digest.tobytes() for digest in digests}
        found: dict[bytes, list[int]] = {}
        for _, _, digest, label_ids in self._look_up(digests):
            if digest in wanted:
                found.pop(digest, None)  # of a text that was learned twice, the last labels
                found[digest] = label_ids
        return found

    def _look_up(self, digests: Digests, *, last_first: bool = False) -> Iterator[tuple[int, int, bytes, list[int]]]:
        """The documents that share a key with some digests: block, place there, digest and labels of each."""
        maybe = self.index("digests").find(key_words(digests))
        for number, block, _ in self._read(HEADING, numbers=sorted(maybe, reverse=last_first)):
            places = sorted(maybe[number], reverse=last_first)
            part = block.pick(np.array(places))
            for place, digest, code in zip(places, part.digests, part.codes.tolist(), strict=True):
                yield number, place, digest.tobytes(), block.label_sets[code]

    def keys(self) -> Words:
        """The first words of all digests."""
        keys = (keyed.keys for keyed in self._keyed("digests", 0, self.gone()))
        return np.concatenate([np.empty(0, np.uint64), *keys])

    def roll_back(self) -> None:
        """Forget the indexes: they may have read changes that are rolled back."""
        self._known = {}

    def _ends(self) -> tuple[int, int]:
        """The numbers of the last block and of the last removal, 0 where there is none."""
        query = "SELECT (SELECT max(block) FROM documents), (SELECT max(removal) FROM removals)"
        block, removal = self._store.db.execute(query).fetchone()
        return block or 0, removal or 0

    def _n_new(self, known: _Known) -> int:
        """How many documents have come and gone since."""
        came = f"SELECT sum(n_docs) FROM documents WHERE block > {known.block:d}"
        gone = f"SELECT sum(n_docs) FROM removals WHERE removal > {known.removal:d}"
        return sum(n or 0 for query in (came, gone) for (n,) in self._store.db.execute(query))

    def _keyed(self, by: str, after: int, gone: Mapping[int, Integers]) -> Iterator[Keyed]:
        """The keys of documents in the blocks after a number, but for those that are gone."""
        budget = self._store.budget()
        for number, n, blob in self._numbered(f"SELECT block, n_docs, {by} FROM documents WHERE block > {after:d}"):
            unpacker = Unpacker(self._store.path, budget)
            unpacker.check_whole(n)
            unpacker.charge(_INDEXED * n)
            places = _alive(n, gone[number], unpacker) if number in gone else np.arange(n)
            if by == "digests":
                yield Keyed(number, key_words(_digests(blob, n, unpacker))[places], places)
            elif blob:
                ids = unpacker.json(blob)
                if not isinstance(ids, list) or len(ids) != n:
                    raise unpacker.damaged("a block of the log has another number of documents than ids")
                places = places[[ids[place] is not None for place in places.tolist()]]
                named = [ids[place] for place in places.tolist()]
                unpacker.check_text(*named)
                yield Keyed(number, id_words(named), places)


def _alive(n: int, gone: Any, unpacker: Unpacker) -> Integers:
    left = np.ones(n, bool)
    if len(gone):
        if gone.max() >= n or len(np.unique(gone)) < len(gone):
            raise unpacker.damaged("documents were unlearned that are not there")
        left[gone] = False
    return np.flatnonzero(left)
