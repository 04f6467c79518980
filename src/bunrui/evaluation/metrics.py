"""Predicted labels → metrics.

    TP[c]          documents of class c that are predicted as c         (the diagonal of `confusion`)
    T[c], P[c]     documents of class c; documents predicted as c       (sums of its rows; of its columns)
    n              all documents

    precision[c] = TP[c] / P[c]             recall[c] = TP[c] / T[c]
    f1[c] = 2 TP[c] / (T[c] + P[c])         accuracy[c] = (TP[c] + TN[c]) / n = (n - T[c] - P[c] + 2 TP[c]) / n

    micro               the formulas above, with TP, P and T summed over the classes
    macro               the means of precision, recall and f1 over the classes

0 / 0 is 0, as in scikit-learn with `zero_division=0`.  Means are over the classes that occur as true or as predicted
labels.  A known label that does not occur counts in no mean.

One label is predicted for each document (`measure`):

    accuracy            sum of TP / n
    macro.f1_of_means   2 p r / (p + r), of the means p of precision and r of recall
    overall_accuracy    the mean of accuracy[c] over the classes

    A document with several labels is counted once: under the predicted label if that is one of its own, else under the
    first of its own in sorted order.  So any of its labels is right, as in `TextClassifier.score`, and the supports
    add up to n.

A set of labels is predicted for each document (`measure_labels`):

    tp[d], t[d], p[d]   labels of document d that are right, that it has, that are predicted;  L   labels
    example             the means over the documents of tp / p, tp / t and 2 tp / (t + p)
    hamming_loss        sum of (t + p - 2 tp) / (n L)
    subset_accuracy     the share of documents with tp = t = p

    A document that has no label, and is predicted none, counts 0 in `example` and as right in `subset_accuracy`.  L
    counts all labels, those that are only known too.

Sokolova and Lapalme (2009) call `overall_accuracy` average accuracy, and take `f1_of_means` for the macro F; Opitz and
Burst (2019), arXiv:1911.03347, compare the two macro Fs.  Tsoumakas, Katakis, Vlahavas (2010), "Mining multi-label
data", section 7, has the measures of label sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bunrui.errors import DataError, LabelError
from bunrui.labels import check_types
from bunrui.sparse import Booleans, Floats, Integers

if TYPE_CHECKING:
    from bunrui.counts import Label
    from bunrui.engines.labelgroups import LabelSets

_MOST_IN_MATRIX = 1000  # the matrix of more would have millions of cells, nearly all of them 0


class Pair(NamedTuple):
    """How many documents have one true label and one predicted label."""

    true: Label
    predicted: Label
    doc_count: int


class ClassMetrics(NamedTuple):
    """How well one class is told from all the others; `support` is the number of its documents."""

    label: Label
    precision: float
    recall: float
    f1: float
    accuracy: float
    support: int


class Micro(NamedTuple):
    """Precision, recall and F1 of all documents together."""

    precision: float
    recall: float
    f1: float


class Macro(NamedTuple):
    """Means over the classes, and the F of mean precision and mean recall."""

    precision: float
    recall: float
    f1: float
    f1_of_means: float


@dataclass(frozen=True, repr=False)
class Metrics:
    """The metrics of predicted labels; the top of this module has the formulas.

    Attributes
    ----------
    labels : tuple of str, int or bool
        All labels that are true, predicted or known, sorted.
    pairs : tuple of Pair
        The cells of `confusion` that are not zero, in the order of its rows.
    occurring : frozenset of label
        The labels that some document has or is predicted to have.
    n : int
        Documents.
    accuracy : float
        The share of documents whose label is right.
    per_class : tuple of ClassMetrics
        In the order of `labels`.
    micro, macro
        Precision, recall and F1 over all classes.
    overall_accuracy : float
        The mean of the accuracies of the classes, each against the rest.
    confusion : (n_labels, n_labels) int64
        Documents by true label (rows) and predicted label (columns).

    Examples
    --------
    >>> metrics = measure(["spam", "spam", "ham", "ham"], ["spam", "ham", "ham", "ham"])
    >>> metrics
    <Metrics: 4 documents, 2 labels, accuracy 0.750>
    >>> metrics.labels
    ('ham', 'spam')
    >>> metrics.confusion.tolist()
    [[2, 0], [1, 1]]
    >>> metrics.per_class[1]
    ClassMetrics(label='spam', precision=1.0, recall=0.5, f1=0.6666666666666666, accuracy=0.75, support=2)
    """

    labels: tuple[Label, ...]
    pairs: tuple[Pair, ...]

    def __repr__(self) -> str:
        return f"<Metrics: {self.n} documents, {len(self.labels)} labels, accuracy {self.accuracy:.3f}>"

    @cached_property
    def n(self) -> int:
        return sum(pair.doc_count for pair in self.pairs)

    @cached_property
    def accuracy(self) -> float:
        return int(self._sums[0].sum()) / self.n

    @cached_property
    def per_class(self) -> tuple[ClassMetrics, ...]:
        columns = (*self._columns, self._sums[1])
        return tuple(map(ClassMetrics, self.labels, *(column.tolist() for column in columns)))

    @cached_property
    def micro(self) -> Micro:
        # Each document has one true and one predicted label: all three come to the accuracy.
        return Micro(self.accuracy, self.accuracy, self.accuracy)

    @cached_property
    def macro(self) -> Macro:
        precision, recall, f1, _ = self._means
        both = precision + recall
        return Macro(precision, recall, f1, 2 * precision * recall / both if both else 0.0)

    @cached_property
    def overall_accuracy(self) -> float:
        return self._means[3]

    @property
    def confusion(self) -> Integers:
        # Made when somebody asks: thousands of labels have millions of cells, and all else needs only those above zero.
        matrix = np.zeros((len(self.labels), len(self.labels)), np.int64)
        rows, columns, doc_counts = self.cells
        matrix[rows, columns] = doc_counts
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON; more than 1,000 labels have `pairs` in place of the matrix."""
        is_small = len(self.labels) <= _MOST_IN_MATRIX
        cells = {"matrix": self.confusion.tolist()} if is_small else {"pairs": [list(pair) for pair in self.pairs]}
        return {
            "n": self.n,
            "accuracy": self.accuracy,
            "micro": self.micro._asdict(),
            "macro": self.macro._asdict(),
            "per_class": [of_class._asdict() for of_class in self.per_class],
            "overall_accuracy": self.overall_accuracy,
            "confusion": {"labels": list(self.labels)} | cells,
        }

    @cached_property
    def occurring(self) -> frozenset[Label]:
        return frozenset(name for pair in self.pairs for name in pair[:2])

    @cached_property
    def cells(self) -> tuple[Integers, Integers, Integers]:
        """Row, column and documents of each pair."""
        place = {label: k for k, label in enumerate(self.labels)}
        cells = [(place[pair.true], place[pair.predicted], pair.doc_count) for pair in self.pairs]
        rows, columns, doc_counts = np.array(cells, np.int64).reshape(-1, 3).T
        return rows, columns, doc_counts

    @cached_property
    def _sums(self) -> Integers:
        """Documents by label, (3, n_labels): labelled rightly (TP), that have it (T), that are predicted to (P)."""
        rows, columns, doc_counts = self.cells
        pairs = ((rows, doc_counts * (rows == columns)), (rows, doc_counts), (columns, doc_counts))
        return np.array([np.bincount(places, n, len(self.labels)) for places, n in pairs], np.int64)

    @cached_property
    def _columns(self) -> tuple[Floats, ...]:
        """Precision, recall, F1 and accuracy by label."""
        right, true, predicted = self._sums
        return *_ratios(right, true, predicted), (self.n - true - predicted + 2 * right) / self.n

    @cached_property
    def _means(self) -> list[float]:
        occurs = self._sums.any(axis=0)
        return [float(np.mean(column[occurs])) for column in self._columns]


def _ratios(right: Integers, true: Integers, predicted: Integers) -> tuple[Floats, ...]:
    """Precision, recall and F1."""
    pairs = ((right, predicted), (right, true), (2 * right, true + predicted))
    return tuple(np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0) for part, whole in pairs)


class Tally:
    """Counts true and predicted labels, batch after batch.

    Parameters
    ----------
    labels : iterable of labels
        Labels that are known, such as `TextClassifier.classes_`: they are listed even if no document has them.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add(["ham", "spam"], ["ham", "ham"])
    >>> tally.add([["news", "spam"]], ["spam"])
    >>> round(tally.metrics().accuracy, 3)
    0.667
    """

    def __init__(self, labels: Iterable[Label] = ()) -> None:
        self._known = encoded(labels if isinstance(labels, str) else list(labels), "known").labels
        self._doc_counts: Counter[tuple[Label, Label]] = Counter()

    def add(self, true: Any, predicted: Any) -> None:
        """Count a batch, all of it or nothing.

        Parameters
        ----------
        true : sequence of (label or collection of labels)
            The labels that documents have: lists, NumPy, pandas, polars and Arrow arrays.
        predicted : sequence of labels
            The label that each of them is predicted to have.
        """
        own = encoded(true, "true", self._known)
        answers, columns = single(predicted, "predicted", self._known or own.labels)
        check_lengths(len(own.groups), len(columns))
        names, width = own.names, len(answers)
        pairs, doc_counts = np.unique(own.groups * width + columns, return_counts=True)
        for pair, doc_count in zip(pairs.tolist(), doc_counts.tolist(), strict=True):
            group, column = divmod(pair, width)
            answer = answers[column]
            self._doc_counts[answer if answer in names[group] else names[group][0], answer] += doc_count

    def metrics(self) -> Metrics:
        """The metrics of all that was added."""
        if not self._doc_counts:
            raise DataError("there are no documents to measure: add true and predicted labels first")
        labels = sorted({label for pair in self._doc_counts for label in pair}.union(self._known))
        return Metrics(tuple(labels), tuple(Pair(*pair, n) for pair, n in sorted(self._doc_counts.items())))


def encoded(labels: Any, which: str, known: Iterable[Label] = ()) -> LabelSets:
    """Labels of documents by their sets, of the type of those that are known.

    Errors name them by `which`: "true", "predicted".
    """
    from bunrui.engines.labelgroups import LabelSets, label_sets  # imports pyarrow: who reads metrics does without

    if isinstance(labels, Iterator):
        labels = list(labels)
    try:
        n_docs = len(labels) if hasattr(labels, "__len__") else 0
        sets = labels if isinstance(labels, LabelSets) else label_sets(labels, n_docs, {})
        check_types(sets.labels, known)
    except LabelError as error:
        raise LabelError(f"{which} labels: {error}") from error
    return sets


def single(labels: Any, which: str, known: Iterable[Label] = ()) -> tuple[list[Label], Integers]:
    """Labels where documents have one each: the distinct ones, and which of them each document has."""
    sets = encoded(labels, which, known)
    several = np.diff(sets.members)[sets.groups] > 1
    if several.any():
        raise LabelError(f"{which} labels: text {int(several.argmax())} has several labels: give the best one")
    return sets.labels, sets.indices[sets.groups]


def check_lengths(n_true: int, n_predicted: int) -> None:
    """Refuse true and predicted labels of different numbers."""
    if n_true != n_predicted:
        raise DataError(
            f"there are {n_true} true labels and {n_predicted} predicted ones: give one of each for each document"
        )


def measure(true: Any, predicted: Any, *, labels: Iterable[Label] = ()) -> Metrics:
    """Metrics of predicted labels against true ones: `Tally` for labels that are all here.

    >>> measure(["a", "b", "b"], ["a", "b", "a"]).macro.recall
    0.75
    """
    tally = Tally(labels)
    tally.add(true, predicted)
    return tally.metrics()


def membership(true: Any, classes: Sequence[Label]) -> Booleans:
    """Which classes each document has, (n_docs, n_classes); a label that is no class is left out.

    Parameters
    ----------
    true : sequence of (label or collection of labels)
    classes : sequence of labels
        The columns.

    Examples
    --------
    >>> membership(["ham", {"spam", "news"}, "work"], ["ham", "spam"]).tolist()
    [[True, False], [False, True], [False, False]]
    """
    sets = encoded(true, "true")
    columns = {label: k for k, label in enumerate(classes)}
    places = np.array([columns.get(label, -1) for label in sets.labels], np.int64)[sets.indices]
    n_members = np.diff(sets.members)
    groups = np.repeat(np.arange(len(n_members)), n_members)
    has = np.zeros((len(n_members), len(classes)), bool)
    has[groups[places >= 0], places[places >= 0]] = True
    return has[sets.groups]


class LabelMetrics(NamedTuple):
    """How well one label is found; `support` is the number of its documents."""

    label: Any
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, repr=False)
class MultilabelMetrics:
    """The metrics of predicted label sets; the top of this module has the formulas.

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
        means = {name: getattr(self, name)._asdict() for name in ("micro", "macro", "example")}
        return vars(self) | means | {"per_label": [of_label._asdict() for of_label in self.per_label]}


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
    ratios = _ratios(*by_label)
    occurs = by_label.any(axis=0)
    n_right, n_own, n_found = by_doc
    return MultilabelMetrics(
        n=len(own),
        micro=Micro(*(float(part[0]) for part in _ratios(*by_label.sum(axis=1, keepdims=True)))),
        macro=Micro(*(float(part[occurs].mean()) if occurs.any() else 0.0 for part in ratios)),
        example=Micro(*(float(part.mean()) for part in _ratios(*by_doc))),
        hamming_loss=float((n_own + n_found - 2 * n_right).sum() / max(by_doc.shape[1] * len(names), 1)),
        subset_accuracy=float(((n_right == n_own) & (n_right == n_found)).mean()),
        per_label=tuple(map(LabelMetrics, names, *(part.tolist() for part in ratios), by_label[1].tolist())),
    )


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
            raise LabelError(f"{which} labels: document {d} has {row!r}: give a list or a set of labels, even if empty")
    return [set(row) for row in rows]
