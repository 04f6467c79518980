"""Pool adjacent violators: the values nearest to some that only rise.

Ayer, Brunk, Ewing, Reid, Silverman (1955).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Blocks", "rising"]

Floats = npt.NDArray[np.float64]


class Blocks(NamedTuple):
    """Neighbours that share a value: where they stand on the average, the value and their weight, (n_blocks,) each."""

    places: Floats
    values: Floats
    weights: Floats

    def at_most(self, n: int) -> Blocks:
        """The same in at most `n` blocks of about equal weight."""
        if len(self.values) <= n:
            return self
        middles = np.cumsum(self.weights) - self.weights / 2
        bins = np.minimum((middles * n / self.weights.sum()).astype(np.int64), n - 1)
        weights = np.asarray(np.bincount(bins, self.weights), np.float64)
        filled = np.flatnonzero(weights)
        places, values = (
            np.bincount(bins, part * self.weights)[filled] / weights[filled] for part in (self.places, self.values)
        )
        return Blocks(places, values, weights[filled])


def rising(places: Floats, values: Floats, weights: Floats) -> Blocks:
    """The blocks of the rising values that are nearest, by weighted squares; equal places are one.

    Examples
    --------
    >>> blocks = rising(np.array([1.0, 2, 3, 4]), np.array([0.0, 1, 0, 1]), np.ones(4))
    >>> blocks.places.tolist(), blocks.values.tolist(), blocks.weights.tolist()
    ([1.0, 2.5, 4.0], [0.0, 0.5, 1.0], [1.0, 2.0, 1.0])
    """
    distinct, group = np.unique(places, return_inverse=True)
    totals = np.bincount(group, weights)
    sums = np.bincount(group, values * weights)
    found: list[tuple[float, float, float]] = []  # sums of places, of values, of weights
    for place, total, weight in zip((distinct * totals).tolist(), sums.tolist(), totals.tolist(), strict=True):
        while found and found[-1][1] * weight >= total * found[-1][2]:
            before = found.pop()
            place, total, weight = place + before[0], total + before[1], weight + before[2]
        found.append((place, total, weight))
    by_place, by_value, by_weight = np.array(found).T
    return Blocks(by_place / by_weight, by_value / by_weight, by_weight)
