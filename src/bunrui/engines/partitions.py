"""Counts → parts with a share of the features each, which are sent and added up apart.

A partition is all features whose hashes begin with the same bits, and a part is some partitions, one after the other.
A feature is in the same one wherever it was counted.  Parts of the same number add up to a part; all parts together are
the counts.  No process has to hold more than its part on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.cells import Cells
from bunrui.counts import Counts, Integers, Totals, total
from bunrui.kernel.workspace import release

__all__ = ["BITS", "PARTITIONS", "Part", "add_part", "added", "by_partition", "parts_of", "sum_of"]

BITS = 12
PARTITIONS = 1 << BITS


class Part(NamedTuple):
    """Counts of some features.

    Documents belong to no feature: the first part has the numbers of all of them, the others have zeros.
    """

    fingerprint: str
    labels: list[str]
    doc_count: Integers  # (n_labels,)
    n_docs: int
    cells: Cells


def by_partition(
    ids: Integers, hashes: npt.NDArray[np.uint64], n: int = PARTITIONS
) -> tuple[Integers, npt.NDArray[np.uint16]]:
    """Features in the order of their partitions, or of their parts of n, and the number of that for each."""
    numbers = ((hashes >> np.uint64(64 - BITS)) * np.uint64(n) >> np.uint64(BITS)).astype(np.uint16)
    if (numbers[1:] >= numbers[:-1]).all():
        return ids, numbers
    order = np.argsort(numbers, kind="stable")
    return ids[order], numbers[order]


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
    ids, numbers = by_partition(ids, counts.vocabulary.hashes[ids], n)
    bounds = np.searchsorted(numbers, np.arange(n + 1))
    none = np.zeros_like(counts.doc_count)
    return [
        _part(
            counts.fingerprint,
            counts.labels,
            none if k else counts.doc_count,
            0 if k else counts.n_docs,
            counts.take(ids[bounds[k] : bounds[k + 1]]),
        )
        for k in range(n)
    ]


def _part(fingerprint: str, labels: Sequence[str], doc_count: Integers, n_docs: int, cells: Cells) -> Part:
    """A part with the labels that occur in it."""
    used = np.flatnonzero(doc_count + np.bincount(cells.classes, minlength=len(doc_count)))
    cells = cells._replace(classes=np.searchsorted(used, cells.classes)).narrow()
    return Part(fingerprint, [labels[c] for c in used.tolist()], doc_count[used], n_docs, cells)


def added(parts: Iterable[Part]) -> Part:
    """The sum of parts of the same number."""
    first, *others = parts
    if not others:
        return first
    head = Counts(first.fingerprint)
    cells = []
    for part in (first, *others):
        classes = head.add_docs(part.labels, part.doc_count, part.n_docs)
        cells.append(part.cells.mapped(classes))
    return _part(head.fingerprint, head.labels, head.doc_count, head.n_docs, sum_of(cells)[0])


def add_part(counts: Counts, part: Part) -> None:
    """Add a part to counts."""
    head = Counts(part.fingerprint, labels=part.labels, totals=Totals.of_docs(part.doc_count, part.n_docs))
    counts.add(head)
    counts.add_cells(part.labels, part.cells)


def sum_of(some: Sequence[Cells]) -> tuple[Cells, npt.NDArray[np.uint16]]:
    """The sum of cells that have the same classes, and features of a few partitions; the partition of each feature."""
    counts, hashes = total(some, BITS)
    ids, numbers = by_partition(np.arange(len(hashes)), hashes)
    release(counts.vocabulary)
    return counts.take(ids), numbers
