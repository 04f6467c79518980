"""`ClassCounts`: one algebra for all parts; what was taken back was never there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.classcounts import (
    ClassCounts,
    SparseCounts,
    ValueCounts,
    count_cells,
    count_docs,
    encode_labels,
)
from bunrui.errors import LabelError, UnlearnError
from bunrui.models.aode import count_value_pairs
from bunrui.models.likelihoods import count_values, dense_moments
from bunrui.models.twcnb import KeptRows
from bunrui.sparse import Sparse
from tests.support.examples import examples

WORDS = ("a", "b", "c")
NONE = np.empty(0, dtype=str)

Rows = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
Count = Callable[[Rows], ClassCounts]


def parts(count: Callable[..., Any]) -> Count:
    def counted(rows: Rows) -> ClassCounts:
        X, y = rows
        labels, weights = encode_labels(y), np.ones(len(y), np.int64)
        return ClassCounts.of(labels, weights, count(X, labels[1], weights, len(labels[0])))

    return counted


def cells(rows: Rows, words: tuple[str, ...] | None = None) -> ClassCounts:
    X, y = rows
    return count_cells(Sparse.of(X) if words else X, encode_labels(y), np.ones(len(y), np.int64), False, words)


def columns(rows: Rows) -> ClassCounts:
    """Several parts, as tables have them."""
    X, y = rows
    labels, weights = encode_labels(y), np.ones(len(y), np.int64)
    two = {name: count_values(X[:, :1], labels[1], weights, len(labels[0])) for name in ("p", "q")}
    return ClassCounts(labels[0], count_docs(labels, weights), {**two, "r": cells(rows).part})


EXACT: dict[str, Count] = {
    "cells": cells,
    "words": lambda rows: cells(rows, WORDS),
    "values": parts(count_values),
    "pairs": parts(lambda X, *rest: count_value_pairs(X, *rest, (None,) * X.shape[1])),
    "rows": parts(lambda X, codes, weights, n: KeptRows(((Sparse.of(X * 1.0), codes, weights * 1.0),), n)),
    "columns": columns,
}
MOMENTS = parts(lambda X, codes, weights, n: dense_moments(X * 1.0, codes, weights * 1.0, n))

ROW = st.tuples(st.lists(st.integers(0, 2), min_size=3, max_size=3), st.sampled_from("xyz"))
ROWS = st.lists(ROW, min_size=1, max_size=6).map(lambda rows: tuple(np.array(part) for part in zip(*rows, strict=True)))


def seen(counts: ClassCounts) -> Any:
    """What can be read from counts, in an order that is always the same."""
    return [counts.classes.tolist(), counts.doc_count.tolist(), {name: _seen(p) for name, p in counts.parts.items()}]


def _seen(part: Any) -> Any:
    if isinstance(part, SparseCounts):
        rows = part.words or range(part.n_features)
        return [row for row in zip(rows, part.cells.toarray().tolist(), strict=True) if any(row[1])]
    if isinstance(part, ValueCounts):
        names = [(j, value) for j, column in enumerate(part.places) for value in column]
        order = sorted(range(len(names)), key=names.__getitem__)
        table = part.cells[order] if part.cells.ndim == 2 else part.cells[order][:, order]
        return [sorted(names), table.tolist()]
    if isinstance(part, KeptRows):
        table, codes, weights = part.joined
        return sorted(zip(table.toarray().tolist(), codes.tolist(), weights.tolist(), strict=True))
    return [each.tolist() for each in part]


@pytest.mark.parametrize("count", EXACT.values(), ids=EXACT)
@given(a=ROWS, b=ROWS)
@settings(max_examples=examples(30))
def test_plus_has_no_order_and_minus_undoes_it(count: Count, a: Rows, b: Rows) -> None:
    one, two = count(a), count(b)
    both = count((np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])))
    assert seen(one.plus(two)) == seen(two.plus(one)) == seen(both)
    assert seen(both.minus(two, NONE, exact=True)) == seen(one)
    assert seen(both.minus(two, both.classes, exact=True)) == seen(one.over(both.classes))


@given(a=ROWS, b=ROWS)
@settings(max_examples=examples(30))
def test_moments(a: Rows, b: Rows) -> None:
    one, two = MOMENTS(a), MOMENTS(b)
    both = MOMENTS((np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])))
    for left, right in ((one.plus(two), both), (both.minus(two, NONE, exact=False), one)):
        assert left.classes.tolist() == right.classes.tolist()
        np.testing.assert_allclose(left.part, right.part, rtol=1e-9, atol=1e-9)
    with pytest.raises(UnlearnError, match="means and variances cannot be taken back exactly"):
        both.minus(two, NONE, exact=True)


@pytest.mark.parametrize("count", [*EXACT.values(), MOMENTS], ids=[*EXACT, "moments"])
def test_only_what_was_learned_is_taken_back(count: Count) -> None:
    rows = np.array([[1, 0, 2], [1, 1, 0]]), np.array(["x", "y"])
    learned = count(rows)
    before = seen(learned)
    cases = [([[1, 0, 2]], ["z"]), ([[1, 0, 2]] * 2, ["x", "x"]), ([[2, 2, 9]], ["x"])]
    exact = count is not MOMENTS
    # Of the only row of a class, moments do not know the values.
    for X, y in cases if exact else cases[:2]:
        with pytest.raises(UnlearnError, match="never learned"):
            learned.minus(count((np.array(X), np.array(y))), NONE, exact)
    assert seen(learned) == before


def test_labels_of_two_kinds_do_not_mix() -> None:
    with pytest.raises(LabelError, match="give labels of one kind"):
        cells((np.eye(2, dtype=int), np.array(["a", "b"]))).plus(cells((np.eye(2, dtype=int), np.array([1, 2]))))


def test_fractions_are_taken_back_to_rounding() -> None:
    labels, X = encode_labels(np.array(["x", "x", "y"])), np.array([[0.1, 0.0], [0.2, 0.3], [0.0, 1.0]])
    ones = np.ones(3, np.int64)
    learned, part = (
        count_cells(X, labels, ones, False),
        count_cells(X[1:2], encode_labels(np.array(["x"])), ones[:1], False),
    )
    with pytest.raises(UnlearnError, match="fractions and weights cannot be taken back exactly"):
        learned.minus(part, NONE, exact=True)
    left = learned.minus(part, NONE, exact=False).part.cells.toarray()
    np.testing.assert_allclose(left, [[0.1, 0.0], [0.0, 1.0]], rtol=1e-9)
    assert left[1, 0] == 0  # not what rounding leaves
