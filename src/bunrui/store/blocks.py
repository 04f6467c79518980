"""Documents ↔ the rows of the log.

A row of the log is a block of documents that were learned one after the other, by column:

    times       when each was learned, in microseconds since 1970
    digests     16 bytes of each: a digest of the text, never empty
    label_sets  the sets of labels that occur; codes has one for each document
    ids         names that the user gave, where any
    sources     the files they came from; source_codes has one for each document
    sizes, text bytes of each, and the texts one after the other; empty unless the file keeps text
    given       1 where documents came as tokens or counts of words: the text is JSON then

A document is named by its block and its place there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bunrui.analysis import texts as inputs
from bunrui.cells import Integers, ranges
from bunrui.memory import DIGEST, Digests, as_bytes, digests_of
from bunrui.store.codec import Unpacker, pack, pack_json, pack_numbers

BLOCK_BYTES = 2 << 20
BLOCK_DOCS = 1 << 16


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
        """The same without sets of labels and sources that no document has."""
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
        ids: Sequence[str | None] | None,
        sources: Sequence[str | None] | None,
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
