"""Labels of rows that may have several: an indicator matrix, label sets, or one label a row.

    form         y                                              predictions
    indicator    0/1, (n_rows, n_labels), dense or sparse       the same, int64, (n_rows, n_labels)
    sets         a collection of labels for every row           a set of labels for every row
    single       a label for every row                          a label for every row

A list of lists is an indicator matrix if all have the same length, two or more, and nothing but 0 and 1 in them; else
its lists are label sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import LabelError
from bunrui.estimators.labels import Labels, encode

__all__ = ["INDICATOR", "SETS", "SINGLE", "form_of", "indicated", "indicator_of_codes", "listed", "sets_of"]

INDICATOR, SETS, SINGLE = "indicator", "sets", "single"

_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


def form_of(y: Any) -> str:
    """Which of the three forms labels have.

    Examples
    --------
    >>> form_of([[0, 1], [1, 1]]), form_of([["a"], ["a", "b"]]), form_of(["a", "b"])
    ('indicator', 'sets', 'single')
    """
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if sparse.issparse(y) or (len(shape) == 2 and shape[1] != 1):
        return INDICATOR
    if len(shape) == 2:
        return SINGLE  # a column, of which scikit-learn warns
    rows = _rows(y)
    if not any(isinstance(row, _COLLECTIONS) for row in rows):
        return SINGLE
    sizes = {len(row) if isinstance(row, (list, tuple, np.ndarray)) else 0 for row in rows}
    same = len(sizes) == 1 and min(sizes) > 1
    return INDICATOR if same and all(_is_bit(value) for row in rows for value in row) else SETS


def indicated(y: Any) -> Any:
    """An indicator matrix as a csr_array of int64."""
    given: Any = y if sparse.issparse(y) else np.asarray(y)
    values: npt.NDArray[Any] = given.data if sparse.issparse(given) else given
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise LabelError("an indicator matrix has 0 and 1 only: give 1 where a row has the label of the column")
    matrix = sparse.csr_array(given).astype(np.int64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def listed(y: Any) -> tuple[Labels, Any]:
    """Label sets as their classes, sorted, and a csr_array of int64, (n_rows, n_classes).

    Examples
    --------
    >>> classes, Y = listed([{"b"}, ["a", "b"], []])
    >>> classes.tolist(), Y.toarray().tolist()
    (['a', 'b'], [[0, 1], [1, 1], [0, 0]])
    """
    rows = _rows(y)
    for k, row in enumerate(rows):
        if not isinstance(row, _COLLECTIONS):
            raise LabelError(f"row {k} has {row!r}: give all rows a list or a set of labels, be it empty")
    flat = [label for row in rows for label in row]
    kinds = {isinstance(label, str) for label in flat}
    if len(kinds) > 1:
        raise LabelError("labels of different kinds cannot be sorted: give all strings, or all numbers")
    classes, codes = encode(np.array(flat)) if flat else (np.array([], dtype=str), np.empty(0, np.int64))
    lengths = [len(row) for row in rows]
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    matrix = sparse.csr_array((np.ones(len(codes), np.int64), codes, ends), shape=(len(rows), len(classes)))
    matrix.sum_duplicates()
    matrix.data[:] = 1  # a label that a row names twice is one label
    return classes, matrix


def indicator_of_codes(codes: npt.NDArray[np.int64], n_classes: int) -> Any:
    """One label a row, as a csr_array of int64, (n_rows, n_classes)."""
    n = len(codes)
    return sparse.csr_array((np.ones(n, np.int64), codes, np.arange(n + 1)), shape=(n, n_classes))


def sets_of(classes: Labels, found: npt.NDArray[np.bool_]) -> list[set[Any]]:
    """The labels of every row."""
    names = classes.tolist()
    return [{names[k] for k in np.flatnonzero(row).tolist()} for row in found]


def _rows(y: Any) -> Sequence[Any]:
    for name in ("to_list", "to_pylist", "tolist"):
        if hasattr(y, name):
            rows = getattr(y, name)()
            return rows if isinstance(rows, list) else []
    return y if isinstance(y, (list, tuple)) else []


def _is_bit(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number, np.bool_)) and value in (0, 1)
