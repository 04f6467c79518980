"""The best rows of a stream against sorting, samples against their probabilities."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.selection import choosing
from bunrui.selection.choosing import Best, Gumbel


def chosen_by_sorting(keys: list[float], k: int) -> list[int]:
    order = sorted((-key, place) for place, key in enumerate(keys) if key > -math.inf)
    return sorted(place for _, place in order[:k])


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from([-math.inf, -1.5, 0.0, 0.5, 1.0, 2.0, 7.0]) | st.floats(-9, 9), max_size=80),
    st.integers(1, 30),
    st.integers(1, 20),
)
def test_the_best_are_those_of_sorting(keys: list[float], k: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch, Best(k) as best:
        patch.setattr(choosing, "_SLACK", 1)
        for start in range(0, len(keys), size):
            part = np.array(keys[start : start + size])
            best.add(part, pa.table({"place": np.arange(len(part)) + start}))
        found = [place for rows in best.rows() for place in rows["place"].to_pylist()]
    assert found == chosen_by_sorting(keys, k)


def test_rows_of_any_kind_in_one_file() -> None:
    with Best(3) as best:
        best.add(np.array([1.0]), pa.table({"x": ["a"]}))
        best.add(np.array([2.0, 0.0]), pa.table({"y": [[1], [2]], "z": [None, 5]}))
        best.add(np.array([3.0]), pa.table({"x": [{"a": 1}]}))
        assert [rows.to_pylist() for rows in best.rows()] == [[{"x": "a"}], [{"y": [1], "z": None}], [{"x": {"a": 1}}]]


def test_the_file_does_not_grow_with_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_SLACK", 1)
    sizes = []
    with Best(5) as best:
        for key in range(2000):  # each better than all before
            best.add(np.array([float(key)]), pa.table({"key": [key]}))
            sizes.append(best._file.n_rows)
        assert [rows["key"].to_pylist() for rows in best.rows()] == [[key] for key in range(1995, 2000)]
    assert max(sizes) < 50


def test_gumbel() -> None:
    numbers = Gumbel(3).draw(200_000)
    assert numbers.mean() == pytest.approx(0.5772, abs=0.01) and numbers.var() == pytest.approx(np.pi**2 / 6, abs=0.03)
    assert np.isfinite(numbers).all() and not np.array_equal(numbers, Gumbel(4).draw(200_000))
    # The numbers of PCG64(0), as NumPy's `default_rng(0).random(3)` has them: samples of a seed stay what they are.
    uniform = np.array([0.6369616873214543, 0.2697867137638703, 0.04097352393619469])
    assert Gumbel(0).draw(3) == pytest.approx(-np.log(-np.log(uniform)), abs=1e-12)


def test_samples_have_the_probabilities_of_drawing_one_by_one() -> None:
    weights, k, n = np.array([1.0, 2.0, 3.0, 4.0]), 2, 60_000
    expected = np.zeros(4)
    for first, second in itertools.permutations(range(4), 2):
        share = weights[first] / weights.sum() * weights[second] / (weights.sum() - weights[first])
        expected[[first, second]] += share
    keys = np.log(weights) + Gumbel(1).draw(4 * n).reshape(n, 4)
    found = np.zeros(4)
    for row in keys[:2000]:
        with Best(k) as best:
            best.add(row, pa.table({"place": np.arange(4)}))
            found[[place for rows in best.rows() for place in rows["place"].to_pylist()]] += 1
    by_sorting = np.bincount(np.argsort(-keys[:2000], axis=1)[:, :k].ravel(), minlength=4)
    assert found.tolist() == by_sorting.tolist()
    shares = np.bincount(np.argsort(-keys, axis=1)[:, :k].ravel(), minlength=4) / n
    assert shares == pytest.approx(expected, abs=4 * 0.5 / math.sqrt(n))
