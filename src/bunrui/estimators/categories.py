"""`CategoryCounts`: what `CategoricalNB` learns, for every column a table of values × classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError, UnlearnError
from bunrui.estimators.labels import Labels, union

__all__ = ["CategoryCounts", "Column", "count_categories", "encode_column"]

Integers = npt.NDArray[np.int64]

# What rounding may leave of a count that is taken back, as a share of what it was.
_ROUNDING = 1e-9


class Column(NamedTuple):
    """The values of a column, and how often each comes with each class."""

    places: dict[Any, int]
    cells: npt.NDArray[Any]  # int64 or float64 (values, classes)

    def over(self, places: Integers, n_classes: int) -> Column:
        """The same among more classes."""
        cells = np.zeros((len(self.cells), n_classes), self.cells.dtype)
        cells[:, places] = self.cells
        return Column(self.places, cells)

    def plus(self, other: Column, sign: int = 1) -> Column:
        """The counts of both, which have the same classes."""
        places = dict(self.places)
        for value in other.places:
            places.setdefault(value, len(places))
        cells = np.zeros((len(places), self.cells.shape[1]), np.result_type(self.cells, other.cells))
        cells[: len(self.cells)] = self.cells
        cells[[places[value] for value in other.places]] += sign * other.cells
        return Column(places, cells)


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """Counts by value and class, for every column.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted.
    doc_count : (n_classes,) int64 or float64
    columns : tuple of Column
    memo : dict
        What was computed from these counts, and need not be again.
    """

    classes: Labels
    doc_count: npt.NDArray[Any]
    columns: tuple[Column, ...]
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n_features(self) -> int:
        """The columns."""
        return len(self.columns)

    def over(self, classes: Labels) -> CategoryCounts:
        """The same among more classes."""
        if len(classes) == len(self.classes):
            return self
        places = np.searchsorted(classes, self.classes.astype(classes.dtype))
        doc_count = np.zeros(len(classes), self.doc_count.dtype)
        doc_count[places] = self.doc_count
        return CategoryCounts(classes, doc_count, tuple(column.over(places, len(classes)) for column in self.columns))

    def plus(self, other: CategoryCounts) -> CategoryCounts:
        """The counts of both."""
        classes = union(self.classes, other.classes)
        mine, theirs = self.over(classes), other.over(classes)
        columns = tuple(a.plus(b) for a, b in zip(mine.columns, theirs.columns, strict=True))
        return CategoryCounts(classes, mine.doc_count + theirs.doc_count, columns)

    def minus(self, other: CategoryCounts, keep: Labels, exact: bool) -> CategoryCounts:
        """The counts without those of some rows; classes and values that have none any more go."""
        if exact and not self.doc_count.dtype.kind == other.doc_count.dtype.kind == "i":
            raise UnlearnError(
                "weights with fractions cannot be taken back exactly: pass exact=False to accept rounding"
            )
        for label in other.classes[~np.isin(other.classes, self.classes)].tolist():
            raise UnlearnError(f"this was never learned: no row has the label {label!r}")
        theirs = other.over(self.classes)
        doc_count = _settled(self.doc_count - theirs.doc_count, self.doc_count)
        alive = (doc_count > 0) | np.isin(self.classes, keep)
        columns = []
        for j, (mine, less) in enumerate(zip(self.columns, theirs.columns, strict=True)):
            column = mine.plus(less, sign=-1)
            before = np.zeros_like(column.cells)
            before[: len(mine.cells)] = mine.cells
            cells = _settled(column.cells, before)
            most = doc_count * (1 + (0 if doc_count.dtype.kind == "i" else _ROUNDING))
            if (doc_count < 0).any() or (cells < 0).any() or (cells.sum(axis=0) > most).any():
                raise UnlearnError(f"this was never learned: column {j} has not so many of these values and labels")
            stays = np.asarray(cells.any(axis=1))
            values = [value for value, at in column.places.items() if stays[at]]
            columns.append(Column({value: k for k, value in enumerate(values)}, cells[stays][:, alive]))
        return replace(self, classes=self.classes[alive], doc_count=doc_count[alive], columns=tuple(columns), memo={})

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}


def count_categories(X: Any, labels: tuple[Labels, Integers], weights: npt.NDArray[Any]) -> CategoryCounts:
    """Count the values of every column of an array, (n_rows, n_columns)."""
    classes, codes = labels
    doc_count = np.zeros(len(classes), weights.dtype)
    np.add.at(doc_count, codes, weights)
    if not weights.all():
        # A row without weight has no values either.
        X, codes, weights = X[weights > 0], codes[weights > 0], weights[weights > 0]
    columns = []
    for j in range(X.shape[1]):
        places, found = encode_column(X[:, j], {}, grow=True)
        there = found >= 0
        cells = np.zeros((len(places), len(classes)), weights.dtype)
        np.add.at(cells, (found[there], codes[there]), weights[there])
        columns.append(Column(places, cells))
    return CategoryCounts(classes, doc_count, tuple(columns))


def encode_column(column: npt.NDArray[Any], places: dict[Any, int], grow: bool) -> tuple[dict[Any, int], Integers]:
    """The place of every value of a column: -1 for one that is missing, -2 for one that has no place.

    With `grow`, values that have no place get the next.  Values are equal where Python has them equal: 1, 1.0 and True
    are one value, "1" is another.

    Examples
    --------
    >>> encode_column(np.array(["b", None, "a", "b", float("nan")], object), {}, grow=True)[1].tolist()
    [0, -1, 1, 0, -1]
    >>> encode_column(np.array([3.0, np.nan, 7.0]), {7: 0}, grow=False)[1].tolist()
    [-2, -1, 0]
    """
    if column.dtype.kind in "biufUS":
        # Few distinct values, found by NumPy: only they go through Python.
        distinct, back = np.unique(column, return_inverse=True)
        found = _look_up(distinct.tolist(), places, grow)
        return places, found[back.reshape(-1)]
    return places, _look_up(column.astype(object).tolist(), places, grow)


def _look_up(values: list[Any], places: dict[Any, int], grow: bool) -> Integers:
    found = np.empty(len(values), np.int64)
    try:
        for k, value in enumerate(values):
            if _is_missing(value):
                found[k] = -1
            elif grow:
                found[k] = places.setdefault(value, len(places))
            else:
                found[k] = places.get(value, -2)
    except TypeError as error:
        raise DataError(f"a value should be a string or a number, not {value!r}") from error
    return found


def _is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _settled(left: npt.NDArray[Any], before: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if left.dtype.kind == "i":
        return left
    return np.where(np.abs(left) <= _ROUNDING * np.abs(before), 0.0, left)
