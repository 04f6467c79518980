"""Cutting numbers by description length: a slow twin, worked cases, and values at the edges."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.errors import DataError
from bunrui.models.frames import as_floats, intervals, mdl_cuts
from tests.support.examples import examples, quick


def entropy(labels: list[int]) -> float:
    return -sum(n / len(labels) * math.log2(n / len(labels)) for n in Counter(labels).values())


def reference(rows: list[tuple[float, int]]) -> list[float]:
    """The cuts of some rows, straight from the article."""
    rows = sorted(rows)
    labels, best = [label for _, label in rows], None
    for at in range(1, len(rows)):
        if rows[at - 1][0] < rows[at][0]:
            left, right = labels[:at], labels[at:]
            mixed = (len(left) * entropy(left) + len(right) * entropy(right)) / len(rows)
            if best is None or mixed < best[0] - 1e-12:
                best = mixed, at
    if best is None:
        return []
    mixed, at = best
    left, right, n = labels[:at], labels[at:], len(rows)
    k, k1, k2 = len(set(labels)), len(set(left)), len(set(right))
    delta = math.log2(3**k - 2) - (k * entropy(labels) - k1 * entropy(left) - k2 * entropy(right))
    if k < 2 or entropy(labels) - mixed <= (math.log2(n - 1) + delta) / n:
        return []
    return [*reference(rows[:at]), (rows[at - 1][0] + rows[at][0]) / 2, *reference(rows[at:])]


def cut(rows: Any, weights: Any = None) -> list[float]:
    values, labels = zip(*rows, strict=True)
    cuts: list[float] = mdl_cuts(np.array(values, float), np.array(labels), weights).tolist()
    return cuts


# A label mostly says in which quarter the value is: cuts are worth their bits.
rows = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from([None, None, None, 0, 1, 2, 3])).map(
        lambda pair: (float(pair[0]), pair[0] // 6 if pair[1] is None else pair[1])
    ),
    min_size=1,
    max_size=60,
)


@given(rows=rows)
@settings(max_examples=examples(200))
def test_the_article(rows: list[tuple[float, int]]) -> None:
    assert cut(rows) == reference(rows)


def test_that_cases_are_cut() -> None:
    """The strategy above would be worth nothing if nothing were ever cut."""
    wide = [(float(value), value // 6) for value in range(18)]
    assert cut(wide) == reference(wide) == [5.5, 11.5]


@given(rows=rows, seed=st.integers(0, 99))
@settings(max_examples=examples(50))
def test_order_and_weights(rows: list[tuple[float, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = [rows[k] for k in rng.permutation(len(rows))]
    assert cut(shuffled) == cut(rows)
    weights = rng.integers(0, 4, len(rows))
    repeated = [row for row, n in zip(rows, weights, strict=True) for _ in range(n)]
    if repeated:
        assert cut(rows, weights) == cut(repeated)


def test_missing_values_are_skipped() -> None:
    rows = [(1.0, 0), (2.0, 0), (3.0, 0), (7.0, 1), (8.0, 1), (9.0, 1)]
    assert cut([*rows, (math.nan, 0), (math.nan, 1)]) == cut(rows) == [5.0]
    assert cut([(math.nan, 0), (math.nan, 1)]) == []


def test_nothing_to_cut() -> None:
    assert cut([(1.0, 0)]) == []
    assert cut([(1.0, 0), (1.0, 1)]) == []
    assert cut([(1.0, 0), (2.0, 0), (3.0, 0)]) == []
    assert mdl_cuts(np.empty(0), np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize("n_classes", quick(1, [660, 1000]))
def test_many_classes(n_classes: int) -> None:
    """3 to the power of 660 is no float."""
    rows = [(float(value), value // 20) for value in range(20 * n_classes)]
    assert cut(rows) == [20 * k - 0.5 for k in range(1, n_classes)]


@pytest.mark.parametrize("low", [1.0, -1.0, 0.0, 1e300])
def test_neighbours_can_be_told_apart(low: float) -> None:
    high = float(np.nextafter(low, np.inf))
    (between,) = cut([(low, 0), (high, 1)] * 5)
    assert intervals(np.array([low, high]), np.array([between])).tolist() == [0, 1]


def test_far_apart() -> None:
    assert cut([(-1.7e308, 0), (1.7e308, 1)] * 5) == [0.0]


def test_columns_of_numbers() -> None:
    found = as_floats(0, np.array([1, 2.5, "3", None, math.nan], object))
    np.testing.assert_array_equal(found, [1, 2.5, 3, math.nan, math.nan])
    with pytest.raises(DataError, match="the column 0 is cut and should have numbers, not 'x': see discretise"):
        as_floats(0, np.array(["x"]))
    for kind in ("M8[D]", "M8[ns]", "m8[D]", "m8[ns]"):
        with pytest.raises(DataError, match=r"should have numbers, not '(datetime|timedelta)64"):
            as_floats(0, np.zeros(2, kind))
    with pytest.raises(DataError, match="the column 0 has an infinite value"):
        as_floats(0, np.array([-np.inf]))
