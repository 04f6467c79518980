"""The texts without a label in a file: rows of the log with no counts.

Each row is a block of texts that came (sign 1) or went (-1), as `documents` has them, with an empty set of labels.  The
pool is the sum of all rows, each text once.  So to undo a change is to delete its rows, whichever way it went.
`compact` joins the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np

from bunrui.errors import UnlearnError
from bunrui.memory import DIGEST, by_digest, document_digests, key_words
from bunrui.phrases import excerpt
from bunrui.store.log import COLUMNS, HEADING, Block, cut_into_blocks
from bunrui.store.schema import insert

if TYPE_CHECKING:
    from bunrui.store.file import File
    from bunrui.store.store import Store


_EXCERPT = 60  # characters


class FilePool:
    """The pool of a file, as `bunrui.memory.Pool` has it; it knows how many there are, and reads them when asked."""

    def __init__(self, file: File) -> None:
        self._file = proxy(file)  # which has the memory, which has this
        self._n_texts, self.key = 0, (0, 0)  # the generation of the file, and its last row

    def __len__(self) -> int:
        return self._n_texts

    def texts(self) -> Mapping[bytes, Any]:
        """The texts, without those that were also learned with a label; call `at_rest`."""
        store = self._file.store
        found = read_texts(store)
        for digest in labelled_among(store, found):
            del found[digest]
        return found

    def catch_up(self) -> None:
        """Count the texts of the file anew if they have changed; call while the file does not change."""
        store = self._file.store
        key = store.state().generation, last_row(store)
        if key != self.key:
            self._n_texts, self.key = len(read_digests(store)), key


def last_row(store: Store) -> int:
    """The number of the last row, 0 where there is none."""
    (last,) = store.db.execute("SELECT coalesce(max(block), 0) FROM unlabelled").fetchone()
    store.unpacker().check_whole(last)
    return int(last)


def read_texts(store: Store) -> dict[bytes, Any]:
    """The texts by digest."""
    return _read(store, COLUMNS, Block.documents)


def read_digests(store: Store) -> set[bytes]:
    """Their digests alone."""
    return set(_read(store, HEADING, lambda block: [None] * block.n_docs))


def _read(store: Store, columns: str, texts_of: Callable[[Block], Iterable[Any]]) -> dict[bytes, Any]:
    """The sum of all rows: texts that came, without those that went."""
    found: dict[bytes, Any] = {}
    query = f"SELECT sign, {columns} FROM unlabelled ORDER BY block"
    for sign, *row in store.db.execute(query):
        unpacker = store.unpacker()
        block = Block.of_row(row, None, unpacker)
        digests = [digest.tobytes() for digest in block.digests]
        if sign == 1:
            found |= zip(digests, texts_of(block), strict=True)
            continue
        for digest in digests:
            if sign != -1 or digest not in found:
                raise unpacker.damaged("texts without a label went that were not there")
            del found[digest]
    return found


def labelled_among(store: Store, digests: Collection[bytes]) -> set[bytes]:
    """The digests that belong to documents of the log."""
    if not digests:
        return set()
    keys = key_words(np.frombuffer(b"".join(digests), DIGEST))
    found: set[bytes] = set()
    for _, block, alive in store.log.headings():
        rows = alive[np.isin(key_words(block.digests)[alive], keys)]
        found.update(digest.tobytes() for digest in block.digests[rows])
    return found.intersection(digests)


def count_wrong(store: Store) -> int:
    """How many texts do not fit their digests."""
    texts = read_texts(store)
    return sum(document_digests([text])[0].tobytes() != digest for digest, text in texts.items())


class PoolChange:
    """Texts without a label that come or go in one transaction.

    Attributes
    ----------
    n_texts : int
        How many so far.
    """

    def __init__(self, store: Store, tx: int, time: int) -> None:
        self._store, self._tx, self._time = store, tx, time
        self._known: set[bytes] | None = None
        self.n_texts = 0

    @property
    def known(self) -> set[bytes]:
        """The digests of all texts that are there now."""
        if self._known is None:
            self._known = read_digests(self._store)
        return self._known

    def add(self, texts: Iterable[Any]) -> None:
        """Take in those that are new."""
        new = {digest: text for digest, text in _by_digest(texts).items() if digest not in self.known}
        self._write(new, 1)
        self.known.update(new)

    def remove(self, texts: Sequence[Any] | None) -> None:
        """Let texts go, by default all; all or none of them: each must be there."""
        gone = read_texts(self._store) if texts is None else _by_digest(texts)
        for digest, text in gone.items():
            if texts is not None and digest not in self.known:
                raise UnlearnError(f"this is not among the texts without a label: {quote(text)}", texts.index(text))
        self._write(gone, -1)
        self.known.difference_update(gone)

    def rewrite(self) -> None:
        """Join all blocks, and leave nothing of the texts that went."""
        texts = read_texts(self._store)
        if _by_digest(texts.values()).keys() != texts.keys():
            raise self._store.unpacker().damaged("texts without a label do not fit their digests")
        self._store.db.execute("DELETE FROM unlabelled")
        self._write(texts, 1)

    def _write(self, texts: Mapping[bytes, Any], sign: int) -> None:
        for some in _apart(texts.values()):
            codes, keep_text = np.zeros(len(some), np.int64), sign > 0
            bounds, make = cut_into_blocks(self._time, some, [[]], codes, None, None, keep_text=keep_text)
            rows = ((self._tx, sign, *make(lo, hi).row()) for lo, hi in pairwise(bounds))
            insert(self._store.db, "unlabelled", f"tx, sign, {COLUMNS}", rows)
        self.n_texts += len(texts)


def quote(text: Any) -> str:
    """The beginning of a text, for messages."""
    return repr(excerpt(str(text), _EXCERPT))


def _apart(texts: Iterable[Any]) -> list[list[Any]]:
    """Strings, and documents that came as tokens or counts of words: a block has one kind."""
    listed = list(texts)
    kinds = [t for t in listed if isinstance(t, str)], [t for t in listed if not isinstance(t, str)]
    return [kind for kind in kinds if kind]


def _by_digest(texts: Iterable[Any]) -> dict[bytes, Any]:
    return {digest: text for kind in _apart(texts) for digest, text in by_digest(kind).items()}
