"""What every estimator promises, whatever its formula."""

from __future__ import annotations

import pickle
from copy import deepcopy
from itertools import cycle, pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.utils import get_tags

from bunrui import MultilabelNB, TextVectorizer, estimators

COUNTS = np.array([[3, 0, 1, 0], [0, 2, 0, 1], [1, 1, 0, 0], [0, 0, 4, 2], [2, 0, 0, 1], [0, 3, 1, 0]])
LABELS = ["p", "q", "p", "q", "p", "q"]
EVERY = [getattr(estimators, name) for name in estimators.__all__]
CLASSIFIERS = [estimator for estimator in EVERY if estimator is not TextVectorizer]
SPARSE = {estimator for estimator in CLASSIFIERS if get_tags(estimator()).input_tags.sparse}


def untidy(make: Any, dtype: Any) -> Any:
    """The counts as a matrix that stores zeros, and cells in two parts, in no order."""
    tidy = make(COUNTS.astype(dtype))
    ends = tidy.indptr
    data, places, starts = [], [], [0]
    for a, b in pairwise(ends):
        empty = np.setdiff1d(np.arange(tidy.shape[tidy.format == "csr"]), tidy.indices[a:b])[:1]
        data += [*tidy.data[a:b][::-1], *tidy.data[a:b] * 0, *empty * 0]
        places += [*tidy.indices[a:b][::-1], *tidy.indices[a:b], *empty]
        starts.append(len(data))
    found = make((np.array(data, dtype), np.array(places), np.array(starts)), shape=tidy.shape)
    assert not found.has_sorted_indices
    assert (found.toarray() == COUNTS).all()
    return found


MATRICES = [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array]
TABLES = {
    **{f"{make.__name__}, {kind}": untidy(make, kind) for make in MATRICES for kind in ("int64", "float64")},
    "tidy with zeros": sparse.csr_array((np.array([1, 0, 2, 0, 3]), [0, 2, 1, 0, 3], [0, 1, 2, 3, 4, 5, 5])),
    "tidy csc with zeros": sparse.csc_array(
        (np.array([1, 0, 2, 0, 3]), [0, 2, 1, 4, 5], [0, 1, 2, 3, 5]), shape=(6, 4)
    ),
    "integers": COUNTS,
    "columns": np.asfortranarray(COUNTS, np.float64),
    "numbers": COUNTS + 0.25,
    "booleans": COUNTS > 0,
    "objects": COUNTS.astype(object),
    "lists": COUNTS.tolist(),
    "pandas": pd.DataFrame(COUNTS, columns=list("abcd")),
    "pandas, mixed": pd.DataFrame(COUNTS, columns=list("abcd")).astype({"a": "float64", "b": "Int64"}),
    "polars": pl.DataFrame(COUNTS, schema=list("abcd")),
}
WEIGHTS = [None, [1, 0, 2, 1, 1, 1], np.array([1.0, 0.5, 2, 1, 0, 1]), pd.Series([1, 0, 2, 1, 1, 1])]
INDICATORS = [
    COUNTS[:, :3] > 0,
    sparse.csr_array(COUNTS[:, :3]).astype(bool).astype(np.int64),
    sparse.csc_matrix((np.array([1, 0, 1, 1]), [5, 1, 0, 3], [0, 2, 4]), shape=(6, 2)),
    [{"p"}, {"q"}, {"p", "q"}, set(), ["p"], ["q"]],
]
TARGETS = [LABELS, np.array(LABELS), np.array(LABELS, object), pd.Series(LABELS), np.array([1, 0, 1, 0, 1, 0])]


def bits(value: Any) -> Any:
    """All that there is to see of an argument."""
    if sparse.issparse(value):
        return type(value), value.shape, *(bits(part) for part in (value.data, value.indices, value.indptr))
    if isinstance(value, np.ndarray):
        return value.shape, value.strides, value.dtype, pickle.dumps(value)
    if isinstance(value, pd.DataFrame):
        return [(name, bits(column)) for name, column in value.items()]
    if isinstance(value, pd.Series):
        return value.dtype, value.index.tolist(), value.tolist()
    return value.to_dict(as_series=False) if isinstance(value, pl.DataFrame) else repr(value)


def use(estimator: Any, X: Any, y: Any, weights: Any) -> None:
    """Call everything that reads rows."""
    estimator.fit(X, y, sample_weight=weights)
    for name in ("partial_fit", "unlearn"):
        if hasattr(estimator, name):
            more = {"exact": False} if name == "unlearn" else {}
            getattr(estimator, name)(X, y, sample_weight=weights, **more)
            estimator.fit(X, y, sample_weight=weights)
    for name in ("predict", "predict_proba", "predict_log_proba", "predict_log_odds", "decision_function", "rows"):
        if hasattr(estimator, name):
            getattr(estimator, name)(X)
    if hasattr(estimator, "predict_joint_log_proba"):
        estimator.predict_joint_log_proba(X)
    estimator.score(X, y)


# Every table by one estimator, and two tables by every one; the others in a long run.
FEW = ("csr_matrix, int64", "pandas, mixed")
READ = [
    pytest.param(each, name, marks=() if each is CLASSIFIERS[0] or name in FEW else pytest.mark.slow)
    for each in CLASSIFIERS
    for name, X in TABLES.items()
    if each in SPARSE or not sparse.issparse(X)
]


@pytest.mark.parametrize(("estimator", "table"), READ)
def test_no_argument_changes(estimator: Any, table: str) -> None:
    X = deepcopy(TABLES[table])
    targets = TARGETS + (INDICATORS if estimator is MultilabelNB else [])
    before = bits(X), [bits(each) for each in targets + WEIGHTS]
    for y, weights in zip(targets, cycle(WEIGHTS), strict=False):
        use(estimator(), X, y, weights)
    assert (bits(X), [bits(each) for each in targets + WEIGHTS]) == before


@pytest.mark.parametrize("table", TABLES)
def test_no_matrix_changes_that_is_read_back(table: str) -> None:
    texts = ["a b", "c", "d a"]
    vectorizer = TextVectorizer().fit(texts)
    X = deepcopy(TABLES[table])
    before = bits(X)
    found = vectorizer.inverse_transform(X)
    vectorizer.fit_transform(texts)
    vectorizer.transform(texts)
    assert bits(X) == before
    cells = X.toarray() if sparse.issparse(X) else np.array(X)
    assert [row.tolist() for row in found] == [
        [word for word, n in zip("abcd", row, strict=True) if n] for row in cells
    ]
    assert texts == ["a b", "c", "d a"]
