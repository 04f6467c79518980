"""Counts ↔ the rows of a file.

One row holds the head (documents by label, totals), and rows of parts hold the features with their cells, by column:

    sizes, text      bytes of every feature, and the features one after the other
    lengths          cells of every feature
    labels           label of every cell, ascending within a feature
    docs, more       documents of every cell, and how many more occurrences than documents it has
    totals           documents of every feature, then occurrences beyond; empty where they are the sums over the cells,
                     as they are unless documents have several labels
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.cells import Cells
from bunrui.counts import Counts, Integers
from bunrui.errors import DataError, Step, StoreError
from bunrui.kernel.workspace import MAX_TEXT
from bunrui.store.codec import Unpacker, pack, pack_numbers

__all__ = ["Head", "Part", "Parts", "counts_by_part", "join_parts", "pack_part"]

# A part is packed and unpacked at once: its size bounds the memory for that.
_PART_FEATURES = 1 << 18
_PART_CELLS = 1 << 21
_PART_BYTES = 1 << 26
_MOST = 1 << 62


class Head(NamedTuple):
    """Totals of some counts, with the file's ids of labels."""

    n_docs: int
    n_terms: int
    n_doc_freq: int
    labels: Integers
    doc_count: Integers


class Part(NamedTuple):
    """Some features with their cells; the blobs of one row."""

    n_features: int
    n_cells: int
    sizes: bytes
    text: bytes
    lengths: bytes
    labels: bytes
    docs: bytes
    more: bytes
    totals: bytes


class Parts:
    """Counts, to be cut into parts.

    Attributes
    ----------
    bounds : list of int
        Where the parts begin and end.
    """

    def __init__(self, counts: Counts, label_ids: Integers) -> None:
        """Class c has the id label_ids[c] in the file."""
        self._counts, self._label_ids, self._ids = counts, label_ids, counts.live_ids()
        starts = counts.vocabulary.starts
        weight = np.arange(len(self._ids)) // _PART_FEATURES
        for sizes, most in (
            (counts.postings.lengths[self._ids], _PART_CELLS),
            (starts[self._ids + 1] - starts[self._ids], _PART_BYTES),
        ):
            weight = np.maximum(weight, np.cumsum(sizes, dtype=np.int64) // most)
        self.bounds: list[int] = (
            [0, *(np.flatnonzero(np.diff(weight)) + 1).tolist(), len(weight)] if len(weight) else [0]
        )

    def part(self, lo: int, hi: int) -> Part:
        """The features lo … hi - 1."""
        return pack_part(self._counts.take(self._ids[lo:hi]), self._label_ids)


def pack_part(cells: Cells, label_ids: Integers) -> Part:
    """A part of cells; class c has the id label_ids[c] in the file."""
    c = cells.mapped(label_ids)
    first = np.cumsum(c.lengths, dtype=np.int64) - c.lengths
    plain = np.array_equal(np.add.reduceat(c.docs, first, dtype=np.int64), c.doc_total) and np.array_equal(
        np.add.reduceat(c.terms, first, dtype=np.int64), c.term_total
    )
    totals = np.empty(0, np.int64) if plain else np.concatenate([c.doc_total, c.term_total - c.doc_total])
    return Part(
        len(c.sizes),
        len(c.classes),
        pack_numbers(c.sizes),
        pack(c.text.data),
        pack_numbers(c.lengths),
        pack_numbers(c.classes),
        pack_numbers(c.docs),
        pack_numbers(c.terms - c.docs),
        pack_numbers(totals),
    )


def join_parts(
    head: Head, parts: Iterable[Part], labels: Sequence[str], fingerprint: str, unpacker: Unpacker
) -> Counts:
    """Counts from their rows; `labels` are those of the file, in the order of their ids.

    Raises
    ------
    StoreError
        If the rows cannot be those of any counts.
    """
    cells = Cells.joined([_unpacked(part, unpacker) for part in parts])
    return _counts(head, cells, labels, fingerprint, unpacker)


def counts_by_part(
    head: Head, parts: Iterable[Part], labels: Sequence[str], fingerprint: str, new_unpacker: Callable[[], Unpacker]
) -> Iterator[Counts]:
    """The same part by part, where all together would not fit; the first has the documents."""
    n_terms = n_doc_freq = 0
    for number, part in enumerate(parts):
        unpacker = new_unpacker()  # one for each: they are not all in memory at once
        c = _unpacked(part, unpacker)
        own = head._replace(n_terms=int(c.term_total.sum()), n_doc_freq=int(c.doc_total.sum()))
        n_terms, n_doc_freq = n_terms + own.n_terms, n_doc_freq + own.n_doc_freq
        yield _counts(own, c, labels, fingerprint, unpacker, has_docs=not number)
    if not (n_terms or n_doc_freq):
        yield join_parts(head, [], labels, fingerprint, new_unpacker())
    elif (n_terms, n_doc_freq) != (head.n_terms, head.n_doc_freq):
        raise new_unpacker().damaged("the totals are not those of the features")


def _counts(
    head: Head, cells: Cells, labels: Sequence[str], fingerprint: str, unpacker: Unpacker, has_docs: bool = True
) -> Counts:
    """Counts from cells whose classes are the file's ids of labels."""
    _check(head, cells, len(labels), unpacker)
    if len(cells.text) > MAX_TEXT:
        raise StoreError(
            f"this has {len(cells.text) / 2**30:.1f} GiB of words, and a classifier in memory can have 4",
            file=unpacker.name,
            hint=(Step("slim", unpacker.name),),
        )
    # Only the labels that occur: a file may have thousands, and a delta one of them.
    used = np.sort(head.labels)
    cells = cells._replace(classes=np.searchsorted(used, cells.classes))
    docs = (head.doc_count[np.argsort(head.labels)], head.n_docs) if has_docs else ()
    try:
        return Counts.of(fingerprint, [labels[label] for label in used.tolist()], cells, *docs)
    except DataError as error:
        raise unpacker.damaged(str(error)) from error


def _unpacked(part: Part, unpacker: Unpacker) -> Cells:
    n, n_cells = part.n_features, part.n_cells
    unpacker.check_whole(n, n_cells)
    if n < 1 or n_cells < n:
        raise unpacker.damaged("a part of the counts has no features, or features without cells")
    sizes = unpacker.numbers(part.sizes, n)
    text = np.frombuffer(unpacker.unpack(part.text), np.uint8)
    lengths = unpacker.numbers(part.lengths, n)
    if sizes.max() > len(text) or int(sizes.sum()) != len(text) or not _is_utf8(text, sizes):
        raise unpacker.damaged("the features are not cut as they should be")
    if lengths.min() < 1 or lengths.max() > n_cells or int(lengths.sum()) != n_cells:
        raise unpacker.damaged("the cells do not belong to the features")
    docs = unpacker.numbers(part.docs, n_cells)
    terms = _sum(docs, unpacker.numbers(part.more, n_cells), unpacker)
    first = np.cumsum(lengths) - lengths
    n_totals = 0 if unpacker.is_empty(part.totals) else n
    totals = unpacker.numbers(part.totals, 2 * n_totals)
    if n_totals:
        doc_total, term_total = totals[:n], _sum(totals[:n], totals[n:], unpacker)
    else:
        doc_total, term_total = np.add.reduceat(docs, first), np.add.reduceat(terms, first)
    labels = unpacker.numbers(part.labels, n_cells)
    rises = np.diff(labels) > 0
    rises[first[1:] - 1] = True
    if not rises.all():
        raise unpacker.damaged("the labels of a feature are out of order")
    return Cells(sizes, text, lengths, labels, terms, docs, term_total, doc_total)


def _sum(a: Integers, b: Integers, unpacker: Unpacker) -> Integers:
    if len(a) and float(a.max()) * len(a) + float(b.max()) * len(b) >= _MOST:
        raise unpacker.damaged("a count is too large")
    return a + b


def _is_utf8(text: npt.NDArray[np.uint8], sizes: Integers) -> bool:
    """Whether the text is UTF-8, and no feature begins in the middle of a character."""
    starts = (np.cumsum(sizes) - sizes)[sizes > 0]
    try:
        text.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return not ((text[starts] & 0xC0) == 0x80).any()


def _check(head: Head, c: Cells, n_labels: int, unpacker: Unpacker) -> None:
    """Whether the numbers can be counts of documents."""
    by_label = np.zeros(n_labels, np.int64)
    if len(head.labels) and not (
        head.labels.max() < n_labels and _are_distinct(head.labels) and len(head.labels) == len(head.doc_count)
    ):
        raise unpacker.damaged("documents have a label that is not in the list of labels")
    if (head.doc_count < 1).any() or (not len(head.labels) and head.n_docs):
        raise unpacker.damaged("there are documents without labels, or labels without documents")
    by_label[head.labels] = head.doc_count
    if len(head.labels) and not int(head.doc_count.max()) <= head.n_docs <= int(head.doc_count.sum()):
        raise unpacker.damaged("the number of documents is not that of their labels")
    if len(c.classes) and not (int(c.classes.max()) < n_labels and (c.docs >= 1).all()):
        raise unpacker.damaged("a feature has a label that is not in the list of labels, or no documents")
    if (c.docs > by_label[c.classes]).any() or (c.doc_total > head.n_docs).any() or (c.doc_total < 1).any():
        raise unpacker.damaged("a feature is in more documents than there are")
    if int(c.term_total.sum()) != head.n_terms or int(c.doc_total.sum()) != head.n_doc_freq:
        raise unpacker.damaged("the totals are not those of the features")


def _are_distinct(numbers: Integers) -> bool:
    # Not `np.unique`: its first call imports numpy.ma, 10 ms of a prediction from the shell.
    return bool((np.diff(np.sort(numbers)) > 0).all())
