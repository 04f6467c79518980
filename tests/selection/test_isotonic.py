"""Pool adjacent violators, against scikit-learn's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from bunrui.selection.isotonic import Blocks, rising

points = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1), st.integers(1, 3)), min_size=1, max_size=40)


@given(points)
def test_as_scikit_learn_does(drawn: list[tuple[int, int, int]]) -> None:
    places, values, weights = np.array(drawn, np.float64).T
    found = rising(places, values, weights)
    assert (np.diff(found.values) > 0).all() and (np.diff(found.places) > 0).all()
    assert found.weights.sum() == weights.sum()
    expected = IsotonicRegression().fit(places, values, sample_weight=weights).predict(places)
    values_of_blocks, block = np.unique(np.round(expected, 9), return_inverse=True)
    by_block = np.bincount(block, weights)
    np.testing.assert_allclose(found.values, values_of_blocks, atol=1e-8)
    np.testing.assert_allclose(found.weights, by_block)
    np.testing.assert_allclose(found.places, np.bincount(block, weights * places) / by_block)


@given(points, st.integers(1, 10))
def test_fewer_blocks_keep_the_sums(drawn: list[tuple[int, int, int]], n: int) -> None:
    places, values, weights = np.array(drawn, np.float64).T
    every = rising(places, values, weights)
    few = every.at_most(n)
    assert len(few.values) <= max(n, 1) and (np.diff(few.values) >= 0).all() and (np.diff(few.places) >= 0).all()
    for one, other in ((every.places, few.places), (every.values, few.values)):
        np.testing.assert_allclose((one * every.weights).sum(), (other * few.weights).sum())


def test_few_enough_blocks_stay_as_they_are() -> None:
    blocks = Blocks(np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.ones(2))
    assert blocks.at_most(2) is blocks
