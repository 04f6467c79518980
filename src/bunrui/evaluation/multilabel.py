"""Predicted label sets → metrics.

    TP[c]          documents that have label c and are predicted to have it
    T[c], P[c]     documents that have label c; that are predicted to
    tp[d], t[d], p[d]    the same of document d: labels that are right, that it has, that are predicted
    n, L           documents, labels

    precision[c] = TP[c] / P[c]         recall[c] = TP[c] / T[c]        f1[c] = 2 TP[c] / (T[c] + P[c])

    micro              the formulas above, with TP, P and T summed over the labels
    macro              the means of precision, recall and f1 over the labels
    example            the means over the documents of tp / p, tp / t and 2 tp / (t + p)
    hamming_loss       sum of (t + p - 2 tp) / (n L)
    subset_accuracy    the share of documents with tp = t = p

0 / 0 is 0, as scikit-learn has it with `zero_division=0`; so a document that has no label, and is predicted none,
counts 0 in `example` and as right in `subset_accuracy`.  Means over labels are over those that some document has or is
predicted to have; L counts all labels, those that are only known too.

Tsoumakas, Katakis, Vlahavas (2010), "Mining multi-label data", section 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError, LabelError
from bunrui.evaluation.metrics import Micro

__all__ = ["LabelMetrics", "MultilabelMetrics", "measure_labels"]

Integers = npt.NDArray[np.int64]


class LabelMetrics(NamedTuple):
    """How well one label is found; `support` is the number of its documents."""

    label: Any
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, repr=False)
class MultilabelMetrics:
    """What predicted label sets come to; the top of this module has the formulas.

    Attributes
    ----------
    n : int
        Documents.
    micro, macro, example : Micro
        Precision, recall and F1: over all labels together, as means over labels, as means over documents.
    hamming_loss, subset_accuracy : float
    per_label : tuple of LabelMetrics
        Sorted by label.

    Examples
    --------
    >>> metrics = measure_labels([{"a"}, {"a", "b"}, {"c"}], [{"a"}, {"b"}, {"b"}])
    >>> metrics
    <MultilabelMetrics: 3 documents, 3 labels, micro F 0.571, macro F 0.444>
    >>> round(metrics.hamming_loss, 3), round(metrics.subset_accuracy, 3)
    (0.333, 0.333)
    """

    n: int
    micro: Micro
    macro: Micro
    example: Micro
    hamming_loss: float
    subset_accuracy: float
    per_label: tuple[LabelMetrics, ...]

    def __repr__(self) -> str:
        return (
            f"<MultilabelMetrics: {self.n} documents, {len(self.per_label)} labels, "
            f"micro F {self.micro.f1:.3f}, macro F {self.macro.f1:.3f}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        return {
            "n": self.n,
            "micro": self.micro._asdict(),
            "macro": self.macro._asdict(),
            "example": self.example._asdict(),
            "hamming_loss": self.hamming_loss,
            "subset_accuracy": self.subset_accuracy,
            "per_label": [of_label._asdict() for of_label in self.per_label],
        }


def measure_labels(true: Any, predicted: Any, *, labels: Iterable[Any] = ()) -> MultilabelMetrics:
    """Metrics of predicted label sets against true ones.

    Parameters
    ----------
    true, predicted : sequence of collections of labels, or indicator matrix
        Both in one form.  The labels of an indicator matrix (0/1, dense or sparse) are the numbers of its columns.
    labels : iterable
        Labels that are known, listed even if no document has them; of an indicator matrix, all columns are.
    """
    own, found = _sets(true, "true"), _sets(predicted, "predicted")
    if len(own) != len(found):
        raise DataError(f"there are {len(own)} true label sets and {len(found)} predicted ones: give one of each")
    if not own:
        raise DataError("there are no documents to measure")
    known = set(labels).union(range(_width(true)), range(_width(predicted)))
    try:
        names = sorted(known.union(*own, *found))
    except TypeError as error:
        raise LabelError("labels of different kinds cannot be sorted: give all strings, or all numbers") from error
    place = {label: k for k, label in enumerate(names)}
    by_label = np.zeros((3, len(names)), np.int64)
    by_doc = np.zeros((3, len(own)), np.int64)
    for d, (mine, theirs) in enumerate(zip(own, found, strict=True)):
        for row, each in enumerate((mine & theirs, mine, theirs)):
            by_label[row, [place[label] for label in each]] += 1
            by_doc[row, d] = len(each)
    return _measured(names, by_label, by_doc)


def _measured(names: list[Any], by_label: Integers, by_doc: Integers) -> MultilabelMetrics:
    n = by_doc.shape[1]
    each = _ratios(by_label)
    occurs = by_label[1] + by_label[2] > 0
    right, own, found = by_doc
    return MultilabelMetrics(
        n=n,
        micro=Micro(*(float(part[0]) for part in _ratios(by_label.sum(axis=1, keepdims=True)))),
        macro=Micro(*(float(part[occurs].mean()) if occurs.any() else 0.0 for part in each)),
        example=Micro(*(float(part.mean()) for part in _ratios(by_doc))),
        hamming_loss=float((own + found - 2 * right).sum() / max(n * len(names), 1)),
        subset_accuracy=float(((right == own) & (right == found)).mean()),
        per_label=tuple(map(LabelMetrics, names, *(part.tolist() for part in each), by_label[1].tolist())),
    )


def _ratios(counts: Integers) -> tuple[npt.NDArray[np.float64], ...]:
    """Precision, recall and F1 from (right, own, found)."""
    right, own, found = counts
    pairs = ((right, found), (right, own), (2 * right, own + found))
    return tuple(np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0) for part, whole in pairs)


def _width(sets: Any) -> int:
    """The columns of an indicator matrix, else 0."""
    shape: tuple[int, ...] = getattr(sets, "shape", ())
    return shape[1] if len(shape) == 2 else 0


def _sets(given: Any, which: str) -> list[set[Any]]:
    if _width(given):
        dense = np.asarray(given.toarray() if hasattr(given, "toarray") else given)
        if not np.isin(dense, (0, 1)).all():
            raise LabelError(f"{which} labels: an indicator matrix has 0 and 1 only")
        return [set(np.flatnonzero(row).tolist()) for row in dense]
    listed = getattr(given, "to_pylist", None) or getattr(given, "to_list", None)  # Arrow; pandas and polars
    rows = list(given) if listed is None else listed()
    for d, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise LabelError(f"{which} labels: document {d} has {row!r}: give a list or a set of labels, be it empty")
    return [set(row) for row in rows]
