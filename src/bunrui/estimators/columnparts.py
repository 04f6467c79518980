"""The likelihoods that `ColumnsNB` adds up: numbers, categories and texts, each a function of one column.

kind of column    parts
text              words: multinomial
categorical       value: categorical
gaussian          value: normal in every class
binned            value: categorical, of the bin between two borders
date              weekday (0 is Monday, of 7) and month (of 12): categorical; days since 1970: normal
skip              none
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.estimators.categories import CategoryCounts, count_categories, encode_column
from bunrui.estimators.frames import Given, as_dates, as_days, as_numbers, as_texts
from bunrui.estimators.labels import Labels, union
from bunrui.estimators.mdl import intervals
from bunrui.estimators.moments import ClassMoments, dense_moments
from bunrui.estimators.table import MatrixView, Table
from bunrui.estimators.textcounts import TextCounts, count_texts
from bunrui.estimators.vectorizer import TextVectorizer
from bunrui.models.base import Smoothing
from bunrui.models.categorical import categorical
from bunrui.models.gaussian import gaussian
from bunrui.models.multinomial import multinomial

__all__ = ["ColumnCounts", "Plan", "Rules", "count_part", "part_scores", "read_parts"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Part = TextCounts | CategoryCounts | ClassMoments


@dataclass(frozen=True)
class Plan:
    """What a column is taken for; `edges` are the borders of bins."""

    name: str
    kind: str
    edges: tuple[float, ...] = ()

    def n_values(self, part: str) -> int | None:
        """How many values a categorical part can take; None for those that were seen."""
        return {"weekday": 7, "month": 12}.get(part, len(self.edges) + 1 if self.kind == "binned" else None)


class Rules(NamedTuple):
    """Parameters of the likelihoods."""

    text: Smoothing
    categories: Smoothing
    var_smoothing: float
    analyzer: Any


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """What all parts have learned; `parts` by column and name of the part.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted.
    doc_count : (n_classes,) int64 or float64
    parts : dict from (column, part) to what it has learned
    """

    classes: Labels
    doc_count: npt.NDArray[Any]
    parts: dict[tuple[str, str], Any]
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    def over(self, classes: Labels) -> ColumnCounts:
        """The same with more classes."""
        if len(classes) == len(self.classes):
            return self
        doc_count = np.zeros(len(classes), self.doc_count.dtype)
        doc_count[np.searchsorted(classes, self.classes.astype(classes.dtype))] = self.doc_count
        return ColumnCounts(classes, doc_count, {key: part.over(classes) for key, part in self.parts.items()})

    def plus(self, other: ColumnCounts) -> ColumnCounts:
        """What both have learned."""
        classes = union(self.classes, other.classes)
        mine, theirs = self.over(classes), other.over(classes)
        parts = {key: part.plus(theirs.parts[key]) for key, part in mine.parts.items()}
        return ColumnCounts(classes, mine.doc_count + theirs.doc_count, parts)

    def minus(self, other: ColumnCounts, keep: Labels, exact: bool) -> ColumnCounts:
        """Without some rows; a column of numbers refuses where it is to be exact."""
        # A column of its own, without values: it checks labels and rows, and says which classes are left.
        rows = CategoryCounts(self.classes, self.doc_count, ())
        left = rows.minus(CategoryCounts(other.classes, other.doc_count, ()), keep, exact)
        parts = {key: part.minus(other.parts[key], keep, exact) for key, part in self.parts.items()}
        return ColumnCounts(left.classes, left.doc_count, parts)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}


def read_parts(plan: Plan, column: Given) -> Iterator[tuple[str, Any]]:
    """The parts of a column with their values: numbers, strings, or names of categories."""
    name, kind, values = plan.name, plan.kind, column.values
    if kind == "text":
        yield "words", as_texts(name, values)
    elif kind == "categorical":
        yield "value", values
    elif kind == "gaussian":
        yield "number", as_numbers(name, values)
    elif kind == "binned":
        yield "bin", intervals(as_numbers(name, values), np.array(plan.edges))
    elif kind == "date":
        moments = as_dates(name, values)
        gone = np.isnat(moments)
        days = np.where(gone, 0, moments.astype("datetime64[D]").astype(np.int64))
        months = np.where(gone, 0, moments.astype("datetime64[M]").astype(np.int64))
        # The first of January 1970 was a Thursday.
        yield "weekday", np.where(gone, np.nan, (days + 3) % 7)
        yield "month", np.where(gone, np.nan, months % 12 + 1)
        yield "number", as_days(name, moments)


def count_part(part: str, values: Any, labels: tuple[Labels, Codes], weights: npt.NDArray[Any], rules: Rules) -> Part:
    """What the rows of one part add."""
    classes, codes = labels
    if part == "words":
        return count_texts(values, rules.analyzer, labels, weights)
    if part == "number":
        doc_count = np.zeros(len(classes), weights.dtype)
        np.add.at(doc_count, codes, weights)
        moments = dense_moments(values[:, None], codes, weights.astype(np.float64), len(classes))
        return ClassMoments(classes, doc_count, moments)
    return count_categories(np.asarray(values)[:, None], labels, weights)


def part_scores(plan: Plan, part: str, learned: Any, values: Any, rules: Rules) -> Floats:
    """log P(value | class) of every row, (n_rows, n_classes); 0 where it is missing."""
    if isinstance(learned, TextCounts):
        return _text_scores(learned, values, rules)
    if isinstance(learned, ClassMoments):
        normals, _ = gaussian(learned.moments, rules.var_smoothing)
        x = values[:, None]
        scores = normals.peak[:, 0] - 0.5 * (x - normals.mean[:, 0]) ** 2 * normals.precision[:, 0]
        return np.where(np.isnan(x), 0.0, scores)
    column = learned.columns[0]
    table = categorical(column.cells, plan.n_values(part) or len(column.places), rules.categories)
    _, places = encode_column(np.asarray(values), column.places, grow=False)
    # Place -2 is a value that was never seen: the last row.
    scores = table[np.where(places == -2, len(table) - 1, places)]
    scores[places == -1] = 0.0
    return np.asarray(scores)


def _text_scores(learned: TextCounts, texts: list[str], rules: Rules) -> Floats:
    n_classes = len(learned.counts.classes)
    if not learned.words:
        return np.zeros((len(texts), n_classes))
    kept = learned.memo.get("words")
    if kept is None or kept[0] != rules.text.value:
        vectorizer = TextVectorizer(analyzer=rules.analyzer, vocabulary=list(learned.words)).fit([])
        view = MatrixView(learned.counts)
        table = Table(view, multinomial(view, rules.text, np.zeros(n_classes)))
        kept = learned.memo["words"] = (rules.text.value, vectorizer, table)
    _, vectorizer, table = kept
    return np.asarray(table.scores(vectorizer.transform(texts)))
