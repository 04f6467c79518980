"""`Log`: the documents that a file remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bunrui.counts import Integers
from bunrui.digests import DIGEST, Digests, key_words
from bunrui.store.blocks import Block, Row
from bunrui.store.codec import Unpacker
from bunrui.store.index import Index, Keyed, Words, id_words
from bunrui.store.trouble import explained

if TYPE_CHECKING:
    from bunrui.store.store import Store

__all__ = ["Log"]

_UNREAD: dict[str, Any] = {"sizes": b"", "text": b""}
_HEADING = [name for name in Row._fields if name not in _UNREAD]
_NONE = np.empty(0, np.int64)

_INDEXED = 64  # bytes of a document in an index, while it is made
_FEW = 4096  # documents that an index takes in one by one; for more there is a new one


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

        Only those of transactions after a number; or those of some blocks.
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

    def headings(self) -> Iterator[Heading]:
        """All blocks without their texts, the last one first."""
        gone = self.gone()
        for number, block, unpacker in self._read(_HEADING, "true ORDER BY block DESC"):
            yield Heading(number, block, _alive(block.n_docs, gone.get(number, _NONE), unpacker))

    def _read(
        self, columns: Sequence[str], where: str = "true", numbers: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Block, Unpacker]]:
        """Blocks, each with the unpacker that has read it: they are not all in memory at once."""
        n_labels = len(self._store.labels())
        query = f"SELECT block, {', '.join(columns)} FROM documents WHERE"
        queries = [f"{query} {where}"] if numbers is None else (f"{query} block = {number:d}" for number in numbers)
        n_read = 0
        for each in queries:
            for number, *row in self._rows(each):
                unpacker = self._store.unpacker()
                fields = _UNREAD | dict(zip(columns, row, strict=True))
                yield number, Row(**fields).block(n_labels, unpacker), unpacker
                n_read += 1
        if numbers is not None and n_read < len(numbers):
            raise self._store.unpacker().damaged("the log lacks a block")

    def gone(self) -> dict[int, Integers]:
        """Places of documents that were unlearned, by block."""
        gone: dict[int, Integers] = {}
        for block, places in self._removals(0):
            gone[block] = np.concatenate([gone[block], places]) if block in gone else places
        return gone

    def _removals(self, after: int) -> Iterator[tuple[int, Integers]]:
        """Blocks, and places of documents there that were unlearned."""
        unpacker, whole = self._store.unpacker(), self._store.whole("removals")
        for block, n, blob, is_whole in self._rows(
            f"SELECT block, n_docs, places, {whole} FROM removals WHERE removal > {after:d}"
        ):
            self._store.check_row(is_whole, "removals")
            yield block, unpacker.numbers(blob, n)

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        with explained(self._store.path):
            yield from self._store.db.execute(query)

    def check_numbers(self) -> None:
        """Refuse blocks of transactions that there never were: these rows have no checksum but that of their blobs."""
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
        known, rewritten, (block, removal) = self._known.get(by), self._store.rewritten(), self._ends()
        if known is None or known.rewritten != rewritten or self._n_new(known) > _FEW:
            index = Index(list(self._keyed(by, 0, self.gone())))
        else:
            index = known.places
            for keyed in self._keyed(by, known.block, {}):
                index.add(keyed)
            for number, places in self._removals(known.removal):
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
            for place in reversed(maybe[number]):
                rows = wanted.get((block.digests[place].tobytes(), sets[block.codes[place]]))
                if rows:
                    rows.pop()
                    found.setdefault(number, []).append(place)
        return found, sorted(row for rows in wanted.values() for row in rows)

    def keys(self) -> Words:
        """The first words of all digests."""
        keys = [keyed.keys for keyed in self._keyed("digests", 0, self.gone())]
        return np.concatenate(keys) if keys else np.empty(0, np.uint64)

    def rolled_back(self) -> None:
        """Forget what an index has read of changes that are not to be."""
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
        for number, n, blob in self._rows(f"SELECT block, n_docs, {by} FROM documents WHERE block > {after:d}"):
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
