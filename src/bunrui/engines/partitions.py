"""Counts → parts with a share of the features each, which are sent and added up apart.

A feature goes to the same part wherever it was counted, by the hash of its bytes.  Parts of the same number add up to a
part; all parts together are the counts.  No process has to hold more than its part on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts, Integers, new_postings, ranges
from bunrui.kernel import postings
from bunrui.kernel.postings import Postings
from bunrui.kernel.vocabulary import NARROW, Vocabulary
from bunrui.kernel.workspace import new_vocabulary, resized

__all__ = ["Cells", "Part", "add_part", "added", "cells_of", "counts_of", "numbers_of", "parts_of"]

_MIX = np.uint64(0xD6E8_FEB8_6659_FD93)
_HALF = np.uint64(32)


class Cells(NamedTuple):
    """Some features with their cells, as plain arrays that are as narrow as their numbers allow."""

    sizes: npt.NDArray[Any]  # bytes of every feature
    text: npt.NDArray[np.uint8]
    lengths: npt.NDArray[Any]  # cells of every feature
    classes: npt.NDArray[Any]  # of every cell, ascending within a feature
    terms: npt.NDArray[Any]
    docs: npt.NDArray[Any]
    term_total: npt.NDArray[Any]
    doc_total: npt.NDArray[Any]


class Part(NamedTuple):
    """Counts of some features.

    Documents belong to no feature: the first part has the numbers of all of them, the others have zeros.
    """

    fingerprint: str
    labels: list[str]
    doc_count: Integers  # (n_labels,)
    n_docs: int
    cells: Cells


def parts_of(counts: Counts, n: int) -> list[Part]:
    """Cut counts into n parts.

    >>> from bunrui import TextClassifier
    >>> counts = TextClassifier(analyzer="words").learn(["a b c d e f"], ["x"]).counts
    >>> parts = parts_of(counts, 3)
    >>> sum(len(part.cells.sizes) for part in parts), [part.n_docs for part in parts]
    (6, [1, 0, 0])
    >>> whole = Counts(counts.fingerprint)
    >>> for part in reversed(parts):
    ...     add_part(whole, part)
    >>> whole == counts
    True
    """
    ids = counts.live_ids()
    numbers = numbers_of(counts.vocabulary.hashes[ids], n)
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(n + 1))
    return [_part(counts, ids[order[bounds[k] : bounds[k + 1]]], is_first=k == 0) for k in range(n)]


def numbers_of(hashes: npt.NDArray[np.uint64], n: int) -> Integers:
    """The part of every feature."""
    # Not the high bits as they are: tables are indexed by them, and that of a part would fill in one place only.
    mixed = ((hashes ^ (hashes >> _HALF)) * _MIX) >> _HALF
    return np.asarray(mixed % np.uint64(n), np.int64)


def _part(counts: Counts, ids: Integers, *, is_first: bool) -> Part:
    cells = cells_of(counts.vocabulary, counts.postings, ids)
    doc_count = counts.doc_count if is_first else np.zeros_like(counts.doc_count)
    used = np.flatnonzero(doc_count + np.bincount(cells.classes, minlength=len(doc_count)))
    return Part(
        counts.fingerprint,
        [counts.labels[c] for c in used.tolist()],
        doc_count[used],
        counts.n_docs if is_first else 0,
        cells._replace(classes=_narrow(np.searchsorted(used, cells.classes))),
    )


def cells_of(v: Vocabulary, p: Postings, ids: Integers) -> Cells:
    """Some features, in the order of their ids here."""
    import pyarrow as pa

    n = int(ids.max()) + 1 if len(ids) else 0
    buffers = [None, pa.py_buffer(v.starts[: n + 1]), pa.py_buffer(v.text)]
    # Arrow copies string by string; NumPy would need the place of every byte, eight bytes for each.
    strings = pa.Array.from_buffers(pa.large_binary(), n, buffers).take(pa.array(ids))
    _, starts, text = strings.buffers()
    starts = np.frombuffer(starts, np.int64, len(ids) + 1)
    cells = ranges(p.starts[ids], p.lengths[ids])
    return Cells(
        _narrow(np.diff(starts)),
        np.frombuffer(text or b"", np.uint8)[: starts[-1]],
        _narrow(p.lengths[ids]),
        _narrow(p.classes[cells]),
        _narrow(p.terms[cells]),
        _narrow(p.docs[cells]),
        _narrow(p.term_total[ids]),
        _narrow(p.doc_total[ids]),
    )


def _narrow(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def added(parts: Iterable[Part]) -> Part:
    """The sum of parts of the same number."""
    first, *others = parts
    if not others:
        return first
    vocabulary = new_vocabulary(max(1, len(first.cells.sizes)), len(first.cells.text))
    counts = Counts(first.fingerprint, vocabulary)
    for part in (first, *others):
        add_part(counts, part)
    return _part(counts, counts.live_ids(), is_first=True)


def add_part(counts: Counts, part: Part) -> None:
    """Add a part to counts."""
    other = counts_of(part.cells, part.labels, part.fingerprint, counts.vocabulary.size[NARROW])
    other.doc_count, other.n_docs = part.doc_count.astype(np.int64), part.n_docs
    counts.add(other)


def counts_of(cells: Cells, labels: Iterable[str], fingerprint: str, narrow: Any) -> Counts:
    """Counts of no documents that can be added to others: they have no table, only the texts of their features."""
    n = len(cells.sizes)
    # Copies: what was sent cannot be written to, and the kernels are compiled for arrays that can.
    starts = np.concatenate([[0], np.cumsum(cells.sizes, dtype=np.int64)])
    text = resized(cells.text, len(cells.text) + 64)
    size = np.array([n, len(cells.text), 64, narrow, 0, 0], np.uint64)
    loads = np.empty(0, np.int64)
    vocabulary = Vocabulary(np.empty(0, np.uint64), np.zeros(n, np.uint64), starts, text, size, loads)
    lengths = cells.lengths.astype(np.int32)
    p = new_postings(n, 0)._replace(
        starts=np.cumsum(lengths, dtype=np.int64) - lengths,
        lengths=lengths,
        rooms=lengths.copy(),
        term_total=cells.term_total.astype(np.int64),
        doc_total=cells.doc_total.astype(np.int64),
        classes=cells.classes.astype(np.int32),
        terms=cells.terms.astype(np.int64),
        docs=cells.docs.astype(np.int64),
    )
    p.size[postings.USED], p.size[postings.LIVE] = len(cells.classes), n
    counts = Counts(fingerprint, vocabulary, p)
    counts.add_labels(list(labels))
    np.add.at(counts.term_sum, p.classes, p.terms)
    np.add.at(counts.doc_freq_sum, p.classes, p.docs)
    counts.n_terms, counts.n_doc_freq = int(p.term_total.sum()), int(p.doc_total.sum())
    return counts
