"""`Log`: the documents that a file remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.counts import Integers
from bunrui.store.blocks import Block, Digests, Row
from bunrui.store.codec import Unpacker
from bunrui.store.trouble import explained

if TYPE_CHECKING:
    from bunrui.store.store import Store

__all__ = ["Log", "key_words"]

_ALL = ", ".join(Row._fields)
_UNREAD: dict[str, Any] = {"sizes": b"", "text": b""}
_HEADING = [name for name in Row._fields if name not in _UNREAD]
_NONE = np.empty(0, np.int64)


class Heading(NamedTuple):
    """A block without its texts, and the places of the documents that are still learned."""

    number: int
    block: Block
    alive: Integers


class Log:
    """The log of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def last(self) -> int:
        """The number of the last block, 0 where there is none."""
        for (number,) in self._rows("SELECT max(block) FROM documents"):
            return int(number or 0)
        return 0

    def blocks(self, after: int = 0) -> Iterator[tuple[int, Block]]:
        """All documents but those that were unlearned, with the numbers of their blocks, which are above `after`."""
        n_labels, gone = len(self._store.labels()), self._gone()
        for number, *row in self._rows(f"SELECT block, {_ALL} FROM documents WHERE block > {after:d} ORDER BY block"):
            unpacker = self._store.unpacker()  # one for each: they are not all in memory at once
            block = Row(*row).block(n_labels, unpacker)
            if number in gone:
                block = block.pick(_alive(block.n_docs, gone[number], unpacker))
            if block.n_docs:
                yield number, block

    def block(self, number: int) -> Block:
        """All documents of one block, those that were unlearned too."""
        for row in self._rows(f"SELECT {_ALL} FROM documents WHERE block = {number:d}"):
            return Row(*row).block(len(self._store.labels()), self._store.unpacker())
        raise self._store.unpacker().damaged(f"the log has no block {number}")

    def headings(self) -> Iterator[Heading]:
        """All blocks without their texts, the last one first."""
        n_labels, gone = len(self._store.labels()), self._gone()
        for number, *row in self._rows(f"SELECT block, {', '.join(_HEADING)} FROM documents ORDER BY block DESC"):
            unpacker = self._store.unpacker()
            block = Row(**dict(zip(_HEADING, row, strict=True)), **_UNREAD).block(n_labels, unpacker)
            yield Heading(number, block, _alive(block.n_docs, gone.get(number, _NONE), unpacker))

    def _gone(self) -> dict[int, Integers]:
        """Places of documents that were unlearned, by block."""
        unpacker = self._store.unpacker()
        gone: dict[int, Integers] = {}
        for block, n, blob in self._rows("SELECT block, n_docs, places FROM removals"):
            places = unpacker.numbers(blob, n)
            gone[block] = np.concatenate([gone[block], places]) if block in gone else places
        return gone

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        with explained(self._store.path):
            yield from self._store.db.execute(query)

    def find(self, digests: Digests, labels: Iterable[frozenset[int]]) -> tuple[dict[int, list[int]], list[int]]:
        """Places of documents by block, the latest of several; and the rows of those that are not in the log."""
        wanted: dict[tuple[bytes, frozenset[int]], list[int]] = {}
        for row, (digest, label_set) in enumerate(zip(digests, labels, strict=True)):
            wanted.setdefault((digest.tobytes(), label_set), []).append(row)
        keys = key_words(digests)
        found: dict[int, list[int]] = {}
        for number, block, alive in self.headings():
            sets = [frozenset(label_set) for label_set in block.label_sets]
            maybe = alive[np.isin(key_words(block.digests)[alive], keys)]
            for place in maybe[::-1].tolist():
                rows = wanted.get((block.digests[place].tobytes(), sets[block.codes[place]]))
                if rows:
                    rows.pop()
                    found.setdefault(number, []).append(place)
        return found, sorted(row for rows in wanted.values() for row in rows)

    def keys(self) -> npt.NDArray[np.uint64]:
        """The first words of all digests."""
        keys = [key_words(block.digests)[alive] for _, block, alive in self.headings()]
        return np.concatenate(keys) if keys else np.empty(0, np.uint64)


def key_words(digests: Digests) -> npt.NDArray[np.uint64]:
    """The first eight bytes of every digest."""
    return digests.view(np.uint64)[::2]


def _alive(n: int, gone: Any, unpacker: Unpacker) -> Integers:
    left = np.ones(n, bool)
    if len(gone):
        if gone.max() >= n or len(np.unique(gone)) < len(gone):
            raise unpacker.damaged("documents were unlearned that are not there")
        left[gone] = False
    return np.flatnonzero(left)
