"""`Sparse`: the same numbers as SciPy, to the bit; and the algebra of its cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from bunrui.sparse import Sparse, count_by_class, sum_by_class

SHAPE = (5, 4)
TABLES = arrays.arrays(np.int64, SHAPE, elements=st.integers(-3, 3))


@given(TABLES, TABLES)
def test_plus_and_minus(a: Any, b: Any) -> None:
    one, two = Sparse.of(a), Sparse.of(b)
    assert np.array_equal(one.plus(two).toarray(), a + b)
    assert np.array_equal(one.plus(two, -1).toarray(), a - b)
    assert np.array_equal(one.plus(two).toarray(), two.plus(one).toarray())
    left = one.plus(two).plus(two, -1).without_zeros()
    assert left.data.all()
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(left, name), getattr(one, name))


@given(TABLES)
def test_parts(a: Any) -> None:
    table = Sparse.of(a)
    rows = np.array([3, 0, 0])
    assert np.array_equal(table.take(rows).toarray(), a[rows])
    assert np.array_equal(table.take(np.array([True, False, True, False, True])).toarray(), a[::2])
    assert np.array_equal(table[1:3].toarray(), a[1:3])
    assert np.array_equal(table.columns(np.array([0, 2])).toarray(), a[:, [0, 2]])
    assert np.array_equal(table.row_sums(), a.sum(axis=1))
    assert np.array_equal(Sparse.stack([table, table[:2]]).toarray(), np.vstack([a, a[:2]]))
    wider = table.at(np.array([1, 2, 4, 5])[table.indices], 6).toarray()
    assert np.array_equal(wider[:, [1, 2, 4, 5]], a) and not wider[:, [0, 3]].any()


def rows(rng: np.random.Generator, n: int, width: int, most: int) -> Any:
    lengths = rng.integers(0, most, n)
    columns = [np.sort(rng.choice(width, length, replace=False)) for length in lengths]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    places = np.concatenate(columns) if n else np.empty(0, np.int64)
    return sparse.csr_array((rng.random(int(starts[-1])), places, starts), shape=(n, width))


@pytest.mark.parametrize("n_classes", [0, 1, 3, 5, 40])
@pytest.mark.parametrize(("n", "most"), [(0, 5), (1, 200), (30, 200), (2000, 9)])
def test_products_have_the_bits_of_scipy(n: int, most: int, n_classes: int) -> None:
    rng = np.random.default_rng(n + n_classes)
    X, table = rows(rng, n, 300, most), rng.normal(size=(300, n_classes))
    assert np.array_equal(Sparse.of(X) @ table, X @ table)
    assert np.array_equal(Sparse.of(X) @ np.arange(300.0), X @ np.arange(300.0))


@pytest.mark.parametrize("dense_cells", [0, 1 << 24])
def test_sums_by_class_have_the_bits_of_scipy(dense_cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.sparse._DENSE_CELLS", dense_cells)
    rng = np.random.default_rng(0)
    X, codes, weights = rows(rng, 500, 40, 30), rng.integers(0, 7, 500), rng.random(500)
    indicator = sparse.csc_array((weights, codes, np.arange(501)), shape=(7, 500)).tocsr()
    expected = (indicator @ X).toarray()
    assert np.array_equal(count_by_class(X, codes, weights, 7).toarray().T, expected)
    assert np.array_equal(count_by_class(X.toarray(), codes, weights, 7).toarray().T, expected)
    assert np.array_equal(sum_by_class(X.toarray(), codes, weights, 7), expected)
    assert np.array_equal(sum_by_class(X.toarray()[:, :1], codes, weights, 7), expected[:, :1])


def test_whole_numbers_stay_whole() -> None:
    X = Sparse.of(np.ones((3, 2), np.int64))
    found = count_by_class(X, np.array([0, 0, 1]), np.array([2**61, 2**61 + 1, 7]), 2).toarray()
    assert found.dtype == np.int64 and found.tolist() == [[2**62 + 1, 7]] * 2
