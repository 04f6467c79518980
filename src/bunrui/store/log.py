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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.cells import Integers, ranges
from bunrui.memory import DIGEST, Digests, as_bytes, digests_of, key_words
from bunrui.store.codec import Unpacker, pack, pack_json, pack_numbers

if TYPE_CHECKING:
    from bunrui.store.store import Store

Names = Sequence[str | None] | None
"""A name for each document, None where it has none; or for no document."""

BLOCK_BYTES = 2 << 20
BLOCK_DOCS = 1 << 16

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


class Row(NamedTuple):
    """The columns of a block in the file."""

    n_docs: int
    times: bytes
    digests: bytes
    label_sets: bytes
    codes: bytes
    ids: bytes
    sources: bytes
    source_codes: bytes
    sizes: bytes
    text: bytes
    given: int

    @classmethod
    def of(cls, block: Block) -> Row:
        sizes = np.empty(0, np.int64) if block.sizes is None else block.sizes
        return cls(
            block.n_docs,
            pack_numbers(block.times),
            pack(block.digests.tobytes()),
            pack_json(block.label_sets),
            pack_numbers(block.codes),
            pack_json(block.ids) if block.ids is not None else b"",
            pack_json(block.sources),
            pack_numbers(block.source_codes),
            b"" if block.sizes is None else pack_numbers(sizes),
            b"" if block.sizes is None else pack(block.text),
            int(block.given),
        )

    def block(self, n_labels: int, unpacker: Unpacker, *, is_labelled: bool = True) -> Block:
        """The block, if it can be one; every document has a label, or none has one."""
        n = self.n_docs
        unpacker.check_whole(n, self.given)
        times = unpacker.numbers(self.times, n)  # first: digests of far too many documents would take seconds
        digests = unpacker.unpack(self.digests, n * DIGEST.itemsize)
        if n < 1 or len(digests) != n * DIGEST.itemsize:
            raise unpacker.damaged("a block of the log has another number of documents than digests")
        label_sets, sources = unpacker.json(self.label_sets), unpacker.json(self.sources)
        ids = unpacker.json(self.ids) if self.ids else None
        codes, source_codes = unpacker.numbers(self.codes, n), unpacker.numbers(self.source_codes, n)
        sizes = unpacker.numbers(self.sizes, n) if self.sizes else None
        text = unpacker.unpack(self.text) if self.sizes else b""
        fits = (
            (_are_label_sets(label_sets, n_labels) if is_labelled else label_sets == [[]])
            and codes.max() < len(label_sets)
            and isinstance(sources, list)
            and all(isinstance(source, str) for source in sources)
            and source_codes.max() <= len(sources)
            and (ids is None or (isinstance(ids, list) and len(ids) == n))
            and set(map(type, ids or ())) <= {str, type(None)}
            and (sizes is None or (sizes.max() <= len(text) and int(sizes.sum()) == len(text)))
            and self.given in (0, 1)
        )
        if not fits:
            raise unpacker.damaged("a block of the log does not fit together")
        return Block(
            times,
            np.frombuffer(digests, DIGEST),
            label_sets,
            codes,
            ids,
            sources,
            source_codes,
            sizes,
            text,
            bool(self.given),
            unpacker.name,
        )


def _is_given(document: Any) -> bool:
    if isinstance(document, dict):
        return all(type(count) is int and count > 0 for count in document.values())
    return isinstance(document, list) and all(isinstance(token, str) for token in document)


def _are_label_sets(value: Any, n_labels: int) -> bool:
    return isinstance(value, list) and all(
        isinstance(labels, list) and labels and all(type(k) is int and 0 <= k < n_labels for k in labels)
        for labels in value
    )


class Batch:
    """Documents that are learned in one transaction, to be cut into blocks.

    Attributes
    ----------
    bounds : list of int
        Where the blocks begin and end.
    """

    def __init__(
        self,
        time: int,
        texts: Any,
        label_sets: list[list[int]],
        codes: Integers,
        ids: Names,
        sources: Names,
        *,
        keep_text: bool,
    ) -> None:
        self._time, self._label_sets, self._codes, self._keep_text = time, label_sets, codes, keep_text
        self._given = inputs.is_given(texts)
        self._data, self._offsets = as_bytes(texts, self._given)
        self._ids = ids if ids is not None and any(name is not None for name in ids) else None
        self._sources = sorted({source for source in sources or () if source is not None})
        places = {source: place for place, source in enumerate(self._sources, 1)}
        n = len(codes)
        self._source_codes = np.array([places.get(source or "", 0) for source in sources or [None] * n], np.int64)
        weight = np.maximum((self._offsets[:-1] - self._offsets[0]) // BLOCK_BYTES, np.arange(n) // BLOCK_DOCS)
        self.bounds: list[int] = [0, *(np.flatnonzero(np.diff(weight)) + 1).tolist(), n] if n else [0]

    def block(self, lo: int, hi: int) -> Block:
        """The documents lo … hi - 1."""
        offsets = self._offsets[lo : hi + 1]
        block = Block(
            times=np.full(hi - lo, self._time, np.int64),
            digests=digests_of(self._data, offsets, self._given),
            label_sets=self._label_sets,
            codes=self._codes[lo:hi],
            ids=None if self._ids is None else list(self._ids[lo:hi]),
            sources=self._sources,
            source_codes=self._source_codes[lo:hi],
            sizes=np.diff(offsets) if self._keep_text else None,
            text=self._data[offsets[0] : offsets[-1]] if self._keep_text else b"",
            given=self._given,
        )
        return block.tidy()


# --- where documents stand

Words = npt.NDArray[np.uint64]

_UNREAD: dict[str, Any] = {"sizes": b"", "text": b""}
_HEADING = [name for name in Row._fields if name not in _UNREAD]
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
        keys = np.concatenate([each.keys for each in keyed] or [np.empty(0, np.uint64)])
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._places = np.concatenate([each.places for each in keyed] or [np.empty(0, np.int64)])[order]
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
        for block, place in sorted({each for key in np.unique(keys) for each in self._of(key)}):
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
        for number, block, unpacker in self._read(Row._fields, f"tx > {after:d} ORDER BY block", numbers):
            if number in gone:
                block = block.pick(_alive(block.n_docs, gone[number], unpacker))
            if block.n_docs:
                yield number, block

    def block(self, number: int) -> Block:
        """All documents of one block, those that were unlearned too."""
        return next(self._read(Row._fields, numbers=[number]))[1]

    def headings(self, upto: int | None = None) -> Iterator[Heading]:
        """All blocks without their texts, the last one first; or those up to a number."""
        gone = self.gone()
        where = "true" if upto is None else f"block <= {upto:d}"
        for number, block, unpacker in self._read(_HEADING, f"{where} ORDER BY block DESC"):
            yield Heading(number, block, _alive(block.n_docs, gone.get(number, _NONE), unpacker))

    def headings_of(self, tx: int, upto: int | None = None) -> Iterator[Heading]:
        """The documents that a transaction took out of the log; where there are none, those that it entered.

        The others are not alive, whatever happened since.  As `headings`; only for transactions after the snapshot.
        """
        taken: dict[int, list[Integers]] = {}
        for number, places in self._removals(f"tx = {tx:d}"):
            taken.setdefault(number, []).append(places)
        where = "true" if upto is None else f"block <= {upto:d}"
        if taken:
            numbers = sorted((number for number in taken if upto is None or number <= upto), reverse=True)
            found = self._read(_HEADING, numbers=numbers)
        else:
            found = self._read(_HEADING, f"tx = {tx:d} AND {where} ORDER BY block DESC")
        for number, block, unpacker in found:
            left = _alive(block.n_docs, np.concatenate(taken[number]) if taken else _NONE, unpacker)
            yield Heading(number, block, np.setdiff1d(np.arange(block.n_docs), left) if taken else left)

    def sizes(self) -> dict[int, Integers]:
        """Bytes of all documents, those that were unlearned too, by block; of a log that keeps texts."""
        unpacker = self._store.unpacker()
        found = {}
        for number, n, blob in self._rows("SELECT block, n_docs, sizes FROM documents"):
            unpacker.check_whole(n)
            found[number] = unpacker.numbers(blob, n)
        return found

    def _read(
        self, columns: Sequence[str], where: str = "true", numbers: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Block, Unpacker]]:
        """Blocks, each with the unpacker that has read it: they are not all in memory at once."""
        n_labels = len(self._store.labels())
        query = f"SELECT block, {', '.join(columns)} FROM documents WHERE"
        queries = [f"{query} {where}"] if numbers is None else (f"{query} block = {number:d}" for number in numbers)
        n_read = 0
        for each in queries:
            for number, *row in self._numbered(each):
                unpacker = self._store.unpacker()
                fields = _UNREAD | dict(zip(columns, row, strict=True))
                yield number, Row(**fields).block(n_labels, unpacker), unpacker
                n_read += 1
        if numbers is not None and n_read < len(numbers):
            raise self._store.unpacker().damaged("the log lacks a block")

    def gone(self) -> dict[int, Integers]:
        """Places of documents that were unlearned, by block."""
        gone: dict[int, Integers] = {}
        for block, places in self._removals("true"):
            gone[block] = np.concatenate([gone[block], places]) if block in gone else places
        return gone

    def _removals(self, where: str) -> Iterator[tuple[int, Integers]]:
        """Blocks, and places of documents there that were unlearned."""
        unpacker, whole = self._store.unpacker(), self._store.whole("removals")
        for block, n, blob, is_whole in self._rows(
            f"SELECT block, n_docs, places, {whole} FROM removals WHERE {where}"
        ):
            self._store.check_row(is_whole, "removals")
            yield block, unpacker.numbers(blob, n)

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        yield from self._store.db.execute(query)

    def _numbered(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Rows that begin with the numbers of blocks, none of which SQLite would give twice in a file that is whole."""
        seen: set[int] = set()
        for row in self._rows(query):
            if row[0] in seen:
                raise self._store.unpacker().damaged(_TWICE)
            seen.add(row[0])
            yield row

    def check_numbers(self) -> None:
        """Refuse blocks of transactions that there never were: only the blobs of these rows have checksums."""
        ((n_wrong,),) = self._rows("SELECT count(*) FROM documents WHERE tx NOT IN (SELECT tx FROM transactions)")
        if n_wrong:
            raise self._store.unpacker().damaged("the log has blocks of changes that there never were")

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
        known, rewritten, (block, removal) = self._known.get(by), self._store.rewrite_state(), self._ends()
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
        wanted: dict[tuple[bytes, frozenset[int]], list[int]] = {}
        for row, (digest, label_set) in enumerate(zip(digests, labels, strict=True)):
            wanted.setdefault((digest.tobytes(), label_set), []).append(row)
        maybe = self.index("digests").find(key_words(digests))
        found: dict[int, list[int]] = {}
        for number, block, _ in self._read(_HEADING, numbers=sorted(maybe, reverse=True)):
            sets = [frozenset(label_set) for label_set in block.label_sets]
            if max(maybe[number]) >= len(block.codes):
                raise self._store.unpacker().damaged(_TWICE)
            for place in reversed(maybe[number]):
                rows = wanted.get((block.digests[place].tobytes(), sets[block.codes[place]]))
                if rows:
                    rows.pop()
                    found.setdefault(number, []).append(place)
        return found, sorted(row for rows in wanted.values() for row in rows)

    def labels_of(self, digests: Digests) -> dict[bytes, list[int]]:
        """The labels of those documents that are there, by digest, in the order in which they were learned."""
        wanted = {digest.tobytes() for digest in digests}
        index, keys = self.index("digests"), key_words(digests)
        maybe = index.find(keys[index.has(keys)])
        found: dict[bytes, list[int]] = {}
        for number, block, _ in self._read(_HEADING, numbers=sorted(maybe)):
            for place in maybe[number]:
                digest = block.digests[place].tobytes()
                if digest in wanted:
                    found.pop(digest, None)  # of a text that was learned twice, the last labels
                    found[digest] = block.label_sets[block.codes[place]]
        return found

    def keys(self) -> Words:
        """The first words of all digests."""
        keys = [keyed.keys for keyed in self._keyed("digests", 0, self.gone())]
        return np.concatenate(keys) if keys else np.empty(0, np.uint64)

    def roll_back(self) -> None:
        """Forget the indexes: they may have read changes that are rolled back."""
        self._known = {}

    def _ends(self) -> tuple[int, int]:
        """The numbers of the last block and of the last removal, 0 where there is none."""
        (ends,) = self._rows("SELECT (SELECT max(block) FROM documents), (SELECT max(removal) FROM removals)")
        return ends[0] or 0, ends[1] or 0

    def _n_new(self, known: _Known) -> int:
        """How many documents have come and gone since."""
        came = f"SELECT sum(n_docs) FROM documents WHERE block > {known.block:d}"
        gone = f"SELECT sum(n_docs) FROM removals WHERE removal > {known.removal:d}"
        return sum(n or 0 for query in (came, gone) for (n,) in self._rows(query))

    def _keyed(self, by: str, after: int, gone: Mapping[int, Integers]) -> Iterator[Keyed]:
        """The keys of documents in the blocks after a number, but for those that are gone."""
        budget = self._store.budget()
        for number, n, blob in self._numbered(f"SELECT block, n_docs, {by} FROM documents WHERE block > {after:d}"):
            unpacker = Unpacker(self._store.path, budget)
            unpacker.check_whole(n)
            unpacker.charge(_INDEXED * n)
            places = _alive(n, gone[number], unpacker) if number in gone else np.arange(n)
            if by == "digests":
                digests = unpacker.unpack(blob, n * DIGEST.itemsize)
                if len(digests) != n * DIGEST.itemsize:
                    raise unpacker.damaged("a block of the log has another number of documents than digests")
                yield Keyed(number, key_words(np.frombuffer(digests, DIGEST))[places], places)
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
