"""`ClassCounts`: the sums of labelled rows, class by class; for texts, `counts.py` has the same.

    classes           sorted labels                  doc_count[c]    rows of class c, or the sum of their weights
    parts             the counts of the rows, each with an axis of classes

All parts have one algebra.  Each method returns new counts, or raises an error; counts never change:

    refusal(other, whole_rows)             the reason why others cannot be taken back exactly, or None; `whole_rows`:
                                           rows have whole weights
    over(places, n_classes)                the same where class c is places[c] of more classes
    plus(other)                            the counts of both; they have the same classes
    minus(other, classes, doc_count)       without others; `doc_count` rows are left in each class.  UnlearnError where
                                           no rows could leave this
    keep(alive)                            the classes that are marked; features and values without counts go

A part knows how to move, add and check its own cells:

    SparseCounts      columns of a matrix, or words       (n_features, n_classes), cells that are not zero
    ValueCounts       values of columns, or pairs         (n_values, n_classes), (n_values, n_values, n_classes)
    Moments           mean and variance of columns        (n_classes, n_columns), in models/likelihoods.py
    KeptRows          the rows themselves                 in models/twcnb.py

Whole numbers, weights included, are counted as int64: their sums have no order and can be taken back.  Others are
float64, right to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError, LabelError, UnlearnError
from bunrui.sparse import Floats, Integers, Numbers, Sparse, count_by_class

Labels = npt.NDArray[Any]
Encoded = tuple[Labels, Integers]
"""The classes, and the class of every row as its place among them."""
Places = tuple[dict[Any, int], ...]

# float64 holds every whole number up to here.
_MOST = 2**53
# Rounding may leave this share of a number that is taken back.
ROUNDING = 1e-9
MOST_PAIRS = 1 << 26  # of pair counts: 512 MB; with their logarithms, a process peaks at 2.3 GB
# Integers in a range below this are numbered through a table, 6 ms for a million against 90 ms by sorting.
_NARROW = 1 << 16


# Labels


def encode_labels(labels: Labels) -> Encoded:
    """The distinct labels, sorted, and the place of every label among them."""
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise LabelError("labels of different kinds cannot be sorted: give all strings, or all numbers") from error
    return classes, codes.reshape(-1).astype(np.int64)


def join_labels(known: Labels, new: Labels) -> Labels:
    """The classes of both, sorted.

    Numbers and strings do not mix: NumPy would turn 1 into '1', and one class into two.

    Examples
    --------
    >>> join_labels(np.array(["b"]), np.array(["longer", "a"])).tolist()
    ['a', 'b', 'longer']
    """
    if not len(known) or not len(new):
        return new if not len(known) else known
    if find_labels(new, known) is not None:
        return known
    if _is_number(known) != _is_number(new) and object not in (known.dtype, new.dtype):
        example, other = known.tolist()[0], new.tolist()[0]
        raise LabelError(f"the classes so far are like {example!r}, this label is {other!r}: give labels of one kind")
    classes = encode_labels(np.concatenate([known, new]))[0]
    # As Python has them: NumPy would compare 2 ** 63 + 1 and 2 ** 63 as floats.
    if not set(classes.tolist()).issuperset([*known.tolist(), *new.tolist()]):
        raise LabelError("these labels cannot be told apart when they are joined: give all of them as strings")
    return classes


def find_labels(labels: Labels, classes: Labels) -> Integers | None:
    """The places of labels among sorted classes of the same kind, if all are there.

    Examples
    --------
    >>> find_labels(np.array(["b"]), np.array(["a", "b"])).tolist(), find_labels(np.array(["c"]), np.array(["a", "b"]))
    ([1], None)
    """
    if labels.dtype.kind != classes.dtype.kind or labels.dtype.kind not in "iubU" or not len(classes):
        return None
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return places if bool((classes[places] == labels).all()) else None


def check_among(classes: Labels, allowed: Labels) -> None:
    """Refuse labels that are not among the classes that were given."""
    if find_labels(classes, allowed) is not None:
        return
    known = set(allowed.tolist())
    for label in classes.tolist():
        if label not in known:
            raise LabelError(f"the label {label!r} is not among classes={allowed.tolist()}")


def declare(declared: Labels | None, known: Labels, given: Any, found: Labels) -> Labels | None:
    """The classes that were given before or now, if ever; the labels that are found must be among them.

    Where none were given before, all that are `known` count as given.
    """
    if given is not None:
        declared = join_labels(known if declared is None else declared, encode_labels(np.asarray(given).reshape(-1))[0])
    if declared is not None:
        check_among(found, declared)
    return declared


def _is_number(labels: Labels) -> bool:
    return labels.dtype.kind in "biuf"


# The algebra


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Rows by class, and their counts.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted.
    doc_count : (n_classes,) int64 or float64
        Rows by class, or the sum of their weights.
    parts : mapping from a name to a part
    memo : dict
        Results that were computed from the counts, kept for the next question; a pickle leaves them out.
    """

    classes: Labels
    doc_count: Numbers
    parts: Mapping[Hashable, Any]
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False, kw_only=True)

    def once(self, name: Hashable, key: Any, make: Callable[[], Any]) -> Any:
        """The result of `make`, which is called once for the same key."""
        kept = self.memo.get(name)
        if kept is None or kept[0] != key:
            # One assignment: another thread finds all of it or nothing.
            kept = self.memo[name] = (key, make())
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}

    @classmethod
    def of(cls, labels: Encoded, weights: Numbers, part: Any) -> ClassCounts:
        """Counts of one part."""
        return cls(labels[0], count_docs(labels, weights), {"": part})

    @property
    def part(self) -> Any:
        """The part of counts that have one."""
        return self.parts[""]

    def over(self, classes: Labels) -> Self:
        """The same among more classes."""
        if len(classes) == len(self.classes):
            return self
        places = np.searchsorted(classes, self.classes.astype(classes.dtype))
        doc_count = np.zeros(len(classes), self.doc_count.dtype)
        doc_count[places] = self.doc_count
        return self._with(classes, doc_count, {name: p.over(places, len(classes)) for name, p in self.parts.items()})

    def plus(self, other: Self) -> Self:
        """The rows of both."""
        classes = join_labels(self.classes, other.classes)
        mine, theirs = self.over(classes), other.over(classes)
        parts = {name: part.plus(theirs.parts[name]) for name, part in mine.parts.items()}
        return self._with(classes, mine.doc_count + theirs.doc_count, parts)

    def minus(self, other: Self, keep: Labels, exact: bool) -> Self:
        """Without some rows.

        Classes that have no rows any more go, but for those in `keep`.  With `exact`, counts that cannot be taken back
        exactly are refused; without it, rounding errors become 0.

        Raises
        ------
        UnlearnError
            If some of the rows were never learned.
        """
        whole = bool(self.doc_count.dtype.kind == other.doc_count.dtype.kind == "i")
        refusals = [part.refusal(other.parts[name], whole) for name, part in self.parts.items()]
        for refusal in filter(None, refusals if exact else ()):
            raise UnlearnError(refusal)
        for label in other.classes[~np.isin(other.classes, self.classes)].tolist():
            raise UnlearnError(f"this was never learned: no row has the label {label!r}")
        theirs = other.over(self.classes)
        doc_count = settle(self.doc_count - theirs.doc_count, self.doc_count)
        alive = (doc_count > 0) | np.isin(self.classes, keep)
        left = {name: part.minus(theirs.parts[name], self.classes, doc_count) for name, part in self.parts.items()}
        check_left(self.classes, doc_count)
        parts = {name: part.keep(alive) for name, part in left.items()}
        return self._with(self.classes[alive], doc_count[alive], parts)

    def _with(self, classes: Labels, doc_count: Numbers, parts: Mapping[Hashable, Any]) -> Self:
        return replace(self, classes=classes, doc_count=doc_count, parts=parts, memo={})


def count_docs(labels: Encoded, weights: Numbers) -> Numbers:
    """The sum of the weights of rows by class."""
    classes, codes = labels
    doc_count = np.zeros(len(classes), weights.dtype)
    np.add.at(doc_count, codes, weights)
    return doc_count


def check_left(classes: Labels, doc_count: Numbers) -> None:
    """Refuse fewer rows than none."""
    if (doc_count < 0).any():
        label = classes.tolist()[int(np.argmin(doc_count))]
        raise UnlearnError(f"this was never learned: there are fewer rows with the label {label!r}")


def settle(left: Numbers, before: Numbers) -> Numbers:
    """Numbers after a subtraction from `before`, with 0 in place of a rounding error."""
    if left.dtype.kind == "i":
        return left
    return np.where(np.abs(left) <= ROUNDING * np.abs(before), 0.0, left)


def _slack(numbers: Numbers) -> float:
    """The factor by which rounding may make a count larger than the number of rows."""
    return 1.0 if numbers.dtype.kind == "i" else 1 + ROUNDING


def as_whole(X: Any) -> Any:
    """The same numbers as int64 if they are whole, else as float64; an array, or something sparse."""
    values = X.data if hasattr(X, "indptr") else X
    if values.dtype.kind in "biu" and values.dtype != np.uint64:
        return X.astype(np.int64)
    small = values.size == 0 or float(values.max()) < _MOST
    if small and (values.dtype.kind in "biu" or bool((values == np.rint(values)).all())):
        return X.astype(np.int64)
    return X.astype(np.float64)


# Columns of a matrix, and words


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Counts by feature and class: the sum of a column over the rows of a class.

    Attributes
    ----------
    cells : Sparse of int64 or float64, (n_features, n_classes)
    presence : bool
        Whether no row adds more than its weight to a cell.
    words : tuple of str, optional
        Sorted names of the features, where new ones may come.
    known_sum : (n_classes,), optional
        `class_sum`, where it is known already.
    """

    cells: Sparse
    presence: bool = False
    words: tuple[str, ...] | None = None
    known_sum: Numbers | None = field(default=None, repr=False)

    @property
    def n_features(self) -> int:
        """The columns."""
        return self.cells.shape[0]

    @property
    def is_whole(self) -> bool:
        """Whether all counts are whole numbers."""
        return bool(self.cells.data.dtype.kind == "i")

    @cached_property
    def class_sum(self) -> Numbers:
        """The sum of all cells of a class, (n_classes,)."""
        if self.known_sum is not None:
            return self.known_sum
        out = np.zeros(self.cells.shape[1], self.cells.data.dtype)
        np.add.at(out, self.cells.indices, self.cells.data)
        return out

    def refusal(self, other: SparseCounts, whole_rows: bool) -> str | None:
        """Fractions cannot be taken back."""
        if whole_rows and self.is_whole and other.is_whole:
            return None
        return (
            "fractions and weights cannot be taken back exactly: use whole numbers, or pass exact=False to accept "
            "rounding errors"
        )

    def over(self, places: Integers, n_classes: int) -> SparseCounts:
        """The same among more classes."""
        return self._with_cells(self.cells.at(places[self.cells.indices], n_classes))

    def plus(self, other: SparseCounts) -> SparseCounts:
        """The counts of both."""
        if self.words != other.words:
            words = tuple(sorted({*(self.words or ()), *(other.words or ())}))
            return self._among(words).plus(other._among(words))
        if not (self.is_whole and other.is_whole):
            return self._with_cells(self.cells.plus(other.cells))
        # The estimate is rounded, the sum of integers would wrap round.
        if self.class_sum.sum(dtype=np.float64) + other.class_sum.sum(dtype=np.float64) >= _MOST:
            return self._with_cells(self.cells.with_data(self.cells.data.astype(np.float64)).plus(other.cells))
        return replace(self, cells=self.cells.plus(other.cells), known_sum=self.class_sum + other.class_sum)

    def minus(self, other: SparseCounts, classes: Labels, doc_count: Numbers) -> SparseCounts:
        """Without the counts of some rows."""
        check_left(classes, doc_count)
        if self.words is not None and other.words != self.words:
            for word in sorted({*(other.words or ())}.difference(self.words)):
                raise UnlearnError(f"this was never learned: no text has {word!r}")
            other = other._among(self.words)
        left = self.cells.plus(other.cells, -1)
        if left.data.dtype.kind == "f":
            before = self.cells.plus(other.cells.with_data(np.zeros_like(other.cells.data)))
            left = left.with_data(settle(left.data, before.data))
        left = left.without_zeros()
        wrong = (left.data < 0) | (doc_count[left.indices] == 0)
        if self.presence:
            wrong |= left.data > doc_count[left.indices] * _slack(doc_count)
        if wrong.any():
            at = int(wrong.argmax())
            column = int(np.searchsorted(left.indptr, at, side="right")) - 1
            name = f"column {column}" if self.words is None else repr(self.words[column])
            label = classes.tolist()[left.indices[at]]
            raise UnlearnError(f"this was never learned: {name} is not so in the rows with the label {label!r}")
        return self._with_cells(left)

    def keep(self, alive: npt.NDArray[np.bool_]) -> SparseCounts:
        """Some classes; words that have no count left go."""
        cells = self.cells if alive.all() else self.cells.columns(np.flatnonzero(alive))
        if self.words is None:
            return self._with_cells(cells)
        cells = cells.without_zeros()
        stays = np.flatnonzero(cells.lengths)
        return replace(self._with_cells(cells.take(stays)), words=tuple(self.words[k] for k in stays.tolist()))

    def __getstate__(self) -> dict[str, Any]:
        # Without the properties that are cached.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def _with_cells(self, cells: Sparse) -> SparseCounts:
        return replace(self, cells=cells, known_sum=None)

    def _among(self, words: tuple[str, ...]) -> SparseCounts:
        """The same with a row for each of more words."""
        if words == self.words:
            return self
        place = {word: k for k, word in enumerate(words)}
        cells = self.cells
        rows = np.array([place[word] for word in self.words or ()], np.int64)[cells.row_of_cells()]
        moved = Sparse.of_sorted(rows, cells.indices, cells.data, (len(words), cells.shape[1]))
        return replace(self._with_cells(moved), words=words)


def count_cells(
    X: Any, labels: Encoded, weights: Numbers, presence: bool, words: tuple[str, ...] | None = None
) -> ClassCounts:
    """Count rows.

    Parameters
    ----------
    X : (n_rows, n_features) array, csr_array or Sparse of int64 or float64
    labels : classes, and the class of every row as its place among them
    weights : (n_rows,) int64 or float64
    words : names of the features, sorted, where new ones may come; those that no row has are left out
    """
    classes, codes = labels
    X = X if isinstance(X, np.ndarray) else Sparse.of(X)
    values = X if isinstance(X, np.ndarray) else X.data
    whole = bool(values.dtype.kind == weights.dtype.kind == "i")
    if whole and float(np.abs(values).max(initial=0)) * float(weights.sum()) >= _MOST:
        whole, X = False, X.astype(np.float64) if isinstance(X, np.ndarray) else X.with_data(values.astype(np.float64))
    cells = count_by_class(X, codes, weights, len(classes)).without_zeros()
    part = SparseCounts(cells, presence, words=words)
    return ClassCounts.of(labels, weights, part if words is None else part.keep(np.ones(len(classes), bool)))


# Values of columns, and pairs of them


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Rows by value and class, or by pair of values and class.

    Attributes
    ----------
    places : tuple of dict
        The values of every column, each with its place in the column.  Those of all columns are numbered one after the
        other.
    cells : (n_values, n_classes) or (n_values, n_values, n_classes), int64 or float64
        In a table of pairs, the pair of a value with itself counts the rows that have the value.
    cuts : tuple of array or None
        Where a column of numbers was cut; the values are then the intervals.
    """

    places: Places
    cells: Numbers
    cuts: tuple[Floats | None, ...] = ()

    @cached_property
    def sizes(self) -> Integers:
        """The number of values of every column."""
        return np.array([len(places) for places in self.places], np.int64)

    @cached_property
    def offsets(self) -> Integers:
        """The number of every column's first value; after the last, the number of values."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def singles(self) -> Numbers:
        """Rows by value and class, (n_values, n_classes)."""
        if self.cells.ndim == 2:
            return self.cells
        every = np.arange(len(self.cells))
        return np.asarray(self.cells[every, every])

    def column(self, j: int) -> Numbers:
        """Rows by value and class of one column."""
        return self.singles[self.offsets[j] : self.offsets[j + 1]]

    def refusal(self, other: ValueCounts, whole_rows: bool) -> str | None:
        """Fractions cannot be taken back."""
        if whole_rows and self.cells.dtype.kind == other.cells.dtype.kind == "i":
            return None
        return "weights with fractions cannot be taken back exactly: pass exact=False to accept rounding"

    def over(self, places: Integers, n_classes: int) -> ValueCounts:
        """The same among more classes."""
        self._check_size(self.sizes.tolist(), n_classes)
        cells = np.zeros((*self.cells.shape[:-1], n_classes), self.cells.dtype)
        cells[..., places] = self.cells
        return replace(self, cells=cells)

    def plus(self, other: ValueCounts) -> ValueCounts:
        """The counts of both."""
        places = tuple(dict(column) for column in self.places)
        for column, more in zip(places, other.places, strict=True):
            for value in more:
                column.setdefault(value, len(column))
        self._check_size([len(column) for column in places], self.cells.shape[-1])
        cells = self._onto(places).astype(np.result_type(self.cells, other.cells), copy=False)
        cells += other._onto(places)
        return replace(self, places=places, cells=cells)

    def minus(self, other: ValueCounts, classes: Labels, doc_count: Numbers) -> ValueCounts:
        """Without the counts of some rows."""
        check_left(classes, doc_count)
        for j, (mine, less) in enumerate(zip(self.places, other.places, strict=True)):
            for value in less:
                if value not in mine:
                    raise UnlearnError(f"this was never learned: column {j} has not the value {value!r}")
        left = replace(self, cells=settle(self.cells - other._onto(self.places), self.cells))
        left._check_possible(doc_count)
        return left

    def keep(self, alive: npt.NDArray[np.bool_]) -> ValueCounts:
        """Some classes; values that have no rows left go."""
        stays = np.asarray(self.singles.any(axis=1))
        places = []
        for offset, column in zip(self.offsets.tolist(), self.places, strict=False):
            values = [value for value, at in column.items() if stays[offset + at]]
            places.append({value: k for k, value in enumerate(values)})
        cells = self.cells[stays] if self.cells.ndim == 2 else self.cells[stays][:, stays]
        return replace(self, places=tuple(places), cells=cells[..., alive])

    def _onto(self, places: Places) -> Numbers:
        """The cells among more values, in a new array."""
        if all(list(mine) == list(more) for mine, more in zip(self.places, places, strict=True)):
            return self.cells.copy()
        offsets = np.concatenate([[0], np.cumsum([len(column) for column in places])])
        at = [
            offset + more[value]
            for offset, mine, more in zip(offsets.tolist(), self.places, places, strict=False)
            for value in mine
        ]
        axes = self.cells.ndim - 1
        cells = np.zeros((*[int(offsets[-1])] * axes, self.cells.shape[-1]), self.cells.dtype)
        if at:
            cells[np.ix_(*[at] * axes)] = self.cells
        return cells

    def _check_possible(self, doc_count: Numbers) -> None:
        """Refuse counts that no rows have."""
        room, singles, is_pairs = _slack(self.cells), self.singles, self.cells.ndim == 3
        wrong = bool((self.cells < 0).any())
        for start, end in zip(self.offsets.tolist(), self.offsets.tolist()[1:], strict=False):
            wrong = wrong or bool((singles[start:end].sum(axis=0) > doc_count * room).any())
            # A row that has a value has at most one value of this column.
            wrong = wrong or (is_pairs and bool((self.cells[:, start:end].sum(axis=1) > singles * room).any()))
        if wrong:
            raise UnlearnError("this was never learned: there are fewer rows with these values and labels")

    def _check_size(self, sizes: Sequence[int], n_classes: int) -> None:
        if self.cells.ndim == 3:
            check_pairs(sizes, n_classes)


def check_pairs(sizes: Sequence[int], n_classes: int, names: Sequence[str] | None = None) -> None:
    """Refuse columns with too many values to keep their pairs."""
    if sum(sizes) ** 2 * n_classes > MOST_PAIRS:
        widest = int(np.argmax(sizes))
        raise DataError(
            f"{len(sizes):,} columns with {sum(sizes):,} values in all and {n_classes:,} classes have "
            f"{sum(sizes) ** 2 * n_classes:,} pair counts, and at most {MOST_PAIRS:,} are kept: choose fewer columns, "
            "or cut or leave out those with many values "
            f"(column {repr(names[widest]) if names else widest} has {sizes[widest]:,})"
        )


def encode_values(column: Numbers, places: dict[Any, int], grow: bool) -> Integers:
    """The place of every value of a column: -1 for one that is missing, -2 for one that has no place.

    With `grow`, values that have no place get the next.  Values are equal where Python has them equal: 1, 1.0 and True
    are one value, "1" is another.

    Examples
    --------
    >>> encode_values(np.array(["b", None, "a", "b", float("nan")], object), {}, grow=True).tolist()
    [0, -1, 1, 0, -1]
    >>> encode_values(np.array([3.0, np.nan, 7.0]), {7: 0}, grow=False).tolist()
    [-2, -1, 0]
    >>> places = {}
    >>> encode_values(np.array([7, 5, 7]), places, grow=True).tolist(), places
    ([1, 0, 1], {5: 0, 7: 1})
    """
    if column.dtype.kind not in "biufUS":
        return _look_up(column.astype(object).tolist(), places, grow)
    if column.dtype.kind in "iu" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < _NARROW:
            shifted = np.subtract(column, low, dtype=np.int64, casting="unsafe")
            table = np.zeros(high - low + 1, np.int64)
            table[shifted] = 1
            seen = np.flatnonzero(table)
            table[seen] = _look_up([low + value for value in seen.tolist()], places, grow)
            return table[shifted]
    # Few distinct values, found by NumPy: only they go through Python.
    distinct, back = np.unique(column, return_inverse=True)
    return _look_up(distinct.tolist(), places, grow)[back.reshape(-1)]


def _look_up(values: list[Any], places: dict[Any, int], grow: bool) -> Integers:
    found = np.empty(len(values), np.int64)
    try:
        for k, value in enumerate(values):
            if is_missing(value):
                found[k] = -1
            elif grow:
                found[k] = places.setdefault(value, len(places))
            else:
                found[k] = places.get(value, -2)
    except TypeError as error:
        raise DataError(f"a value should be a string or a number, not {value!r}") from error
    return found


def is_missing(value: Any) -> bool:
    """Tell whether this is None, NaN, NaT, or the missing value of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and bool(value != value)


def in_order(places: dict[Any, int]) -> tuple[list[Any], list[int]]:
    """Values and their places, sorted by value if they can be."""
    try:
        values = sorted(places)
    except TypeError:
        values = list(places)
    return values, [places[value] for value in values]
