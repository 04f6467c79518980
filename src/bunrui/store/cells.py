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
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts, Integers, new_postings, ranges
from bunrui.errors import DataError, StoreError
from bunrui.kernel import postings
from bunrui.kernel.restore import restored
from bunrui.kernel.vocabulary import FEATURES
from bunrui.kernel.workspace import MAX_TEXT
from bunrui.store.codec import Unpacker, pack, pack_numbers

__all__ = ["Head", "Part", "Parts", "joined", "packed", "piecemeal"]

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
        v, p, self._targets = counts.joinable(label_ids)
        n = int(v.size[FEATURES])
        self._vocabulary, self._postings = v, p
        self._lengths = p.lengths[:n].astype(np.int64)
        weight = np.arange(n) // _PART_FEATURES
        for sizes, most in ((np.cumsum(self._lengths), _PART_CELLS), (v.starts[1 : n + 1], _PART_BYTES)):
            weight = np.maximum(weight, sizes // most)
        self.bounds: list[int] = [0, *(np.flatnonzero(np.diff(weight)) + 1).tolist(), n] if n else [0]

    def part(self, lo: int, hi: int) -> Part:
        """The features lo … hi - 1."""
        v, p, lengths = self._vocabulary, self._postings, self._lengths[lo:hi]
        cells = ranges(p.starts[lo:hi], lengths)
        docs, terms = p.docs[cells], p.terms[cells]
        first = np.cumsum(lengths) - lengths
        doc_total, term_total = p.doc_total[lo:hi], p.term_total[lo:hi]
        plain = np.array_equal(np.add.reduceat(docs, first), doc_total) and np.array_equal(
            np.add.reduceat(terms, first), term_total
        )
        totals = np.empty(0, np.int64) if plain else np.concatenate([doc_total, term_total - doc_total])
        return Part(
            hi - lo,
            len(cells),
            pack_numbers(np.diff(v.starts[lo : hi + 1])),
            pack(v.text[v.starts[lo] : v.starts[hi]].data),
            pack_numbers(lengths),
            pack_numbers(self._targets[p.classes[cells]]),
            pack_numbers(docs),
            pack_numbers(terms - docs),
            pack_numbers(totals),
        )


def packed(counts: Counts, label_ids: Integers) -> list[Part]:
    """All parts of counts; class c has the id label_ids[c] in the file."""
    parts = Parts(counts, label_ids)
    return [parts.part(lo, hi) for lo, hi in pairwise(parts.bounds)]


class _Columns(NamedTuple):
    """The columns of a part, unpacked."""

    sizes: Integers
    text: npt.NDArray[np.uint8]
    lengths: Integers
    labels: Integers
    docs: Integers
    terms: Integers
    doc_total: Integers
    term_total: Integers


def joined(head: Head, parts: Iterable[Part], labels: Sequence[str], fingerprint: str, unpacker: Unpacker) -> Counts:
    """Counts from their rows; `labels` are those of the file, in the order of their ids.

    Raises
    ------
    StoreError
        If the rows cannot be those of any counts.
    """
    columns = [_unpacked(part, unpacker) for part in parts]
    together = [np.concatenate(arrays) if len(arrays) > 1 else arrays[0] for arrays in zip(*columns, strict=True)]
    return _counts(
        head, _Columns(*(together or [np.empty(0, np.int64)] * len(_Columns._fields))), labels, fingerprint, unpacker
    )


def piecemeal(
    head: Head, parts: Iterable[Part], labels: Sequence[str], fingerprint: str, new_unpacker: Callable[[], Unpacker]
) -> Iterator[Counts]:
    """The same part by part, where all together would not fit; the first has the documents."""
    n_terms = n_doc_freq = 0
    for number, part in enumerate(parts):
        unpacker = new_unpacker()  # one for each: they are not all in memory at once
        c = _unpacked(part, unpacker)
        own = head._replace(n_terms=int(c.term_total.sum()), n_doc_freq=int(c.doc_total.sum()))
        counts = _counts(own, c, labels, fingerprint, unpacker)
        n_terms, n_doc_freq = n_terms + own.n_terms, n_doc_freq + own.n_doc_freq
        if number:
            counts.doc_count[:] = counts.n_docs = 0
        yield counts
    if not (n_terms or n_doc_freq):
        yield joined(head, [], labels, fingerprint, new_unpacker())
    elif (n_terms, n_doc_freq) != (head.n_terms, head.n_doc_freq):
        raise new_unpacker().damaged("the totals are not those of the features")


def _counts(head: Head, c: _Columns, labels: Sequence[str], fingerprint: str, unpacker: Unpacker) -> Counts:
    _check(head, c, len(labels), unpacker)
    if len(c.text) > MAX_TEXT:
        raise StoreError(
            f"{unpacker.name} has {len(c.text) / 2**30:.1f} GiB of words, more than the 4 that a classifier in memory "
            f"can have: make a smaller copy with `bunrui slim {unpacker.name} COPY --min-df 2 --memory 2GB`"
        )
    text = np.zeros(len(c.text) + 64, np.uint8)
    text[: len(c.text)] = c.text
    try:
        v = restored(text, c.sizes)
    except DataError as error:
        raise unpacker.damaged(str(error)) from error
    n = len(c.sizes)
    p = new_postings(len(v.hashes), 0)
    # Only the labels that occur: a file may have thousands, and a delta one of them.
    used = np.sort(head.labels)
    classes = np.searchsorted(used, c.labels)
    p = p._replace(classes=classes.astype(np.int32), terms=c.terms, docs=c.docs)
    p.lengths[:n] = p.rooms[:n] = c.lengths
    p.starts[:n] = np.cumsum(c.lengths) - c.lengths
    p.term_total[:n], p.doc_total[:n] = c.term_total, c.doc_total
    p.size[postings.USED], p.size[postings.LIVE] = len(c.labels), n
    counts = Counts(fingerprint, v, p)
    counts.add_labels([labels[label] for label in used.tolist()])
    counts.doc_count = head.doc_count[np.argsort(head.labels)]
    counts.term_sum = _sums(classes, c.terms, len(used))
    counts.doc_freq_sum = _sums(classes, c.docs, len(used))
    counts.n_docs, counts.n_terms, counts.n_doc_freq = head.n_docs, head.n_terms, head.n_doc_freq
    return counts


def _unpacked(part: Part, unpacker: Unpacker) -> _Columns:
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
    return _Columns(sizes, text, lengths, labels, docs, terms, doc_total, term_total)


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


def _check(head: Head, c: _Columns, n_labels: int, unpacker: Unpacker) -> None:
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
    if len(c.labels) and not (int(c.labels.max()) < n_labels and (c.docs >= 1).all()):
        raise unpacker.damaged("a feature has a label that is not in the list of labels, or no documents")
    if (c.docs > by_label[c.labels]).any() or (c.doc_total > head.n_docs).any() or (c.doc_total < 1).any():
        raise unpacker.damaged("a feature is in more documents than there are")
    if int(c.term_total.sum()) != head.n_terms or int(c.doc_total.sum()) != head.n_doc_freq:
        raise unpacker.damaged("the totals are not those of the features")


def _are_distinct(numbers: Integers) -> bool:
    # Not `np.unique`: its first call imports numpy.ma, 10 ms of a prediction from the shell.
    return bool((np.diff(np.sort(numbers)) > 0).all())


def _sums(labels: Integers, numbers: Integers, n_labels: int) -> Integers:
    """Sums of numbers by label, exact."""
    if len(numbers) and float(numbers.max()) * len(numbers) < 1 << 53:
        return np.bincount(labels, numbers, n_labels).astype(np.int64)
    out = np.zeros(n_labels, np.int64)
    np.add.at(out, labels, numbers)
    return out
