"""Gaussian naive Bayes: every column is drawn from a normal distribution of its class.

    log p(x | c) = -½ log(2π v[c, j]) - (x - m[c, j])² / (2 v[c, j])        score[c] = log P(c) + sum over columns

    m[c, j], v[c, j]   mean and variance (÷ n) of column j in class c, from moments that merge (`classcounts.Moments`)
    v = M / n + ε
    ε                  `var_smoothing` times the largest variance of a column over all classes, as in scikit-learn

A value that is missing is skipped, in training and in prediction.  A class that never had a value in a column takes the
mean and the variance of the column over all classes; a column that never had a value says nothing.

John and Langley (1995).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import Moments

__all__ = ["Normals", "gaussian"]

Floats = npt.NDArray[np.float64]

_LEAST = 1e-100


class Normals(NamedTuple):
    """A normal distribution for every class and column, each (n_classes, n_columns)."""

    mean: Floats
    variance: Floats
    precision: Floats  # 1 / variance, or 0 for a column that says nothing
    peak: Floats  # -½ log(2π variance), or 0


def gaussian(moments: Moments, var_smoothing: float) -> tuple[Normals, float]:
    """The distributions, and ε."""
    pooled = moments.pooled()
    epsilon = var_smoothing * float(pooled.variance().max(initial=0.0))
    mean = np.where(moments.n > 0, moments.mean, pooled.mean)
    variance = np.where(moments.n > 0, moments.variance(), pooled.variance()) + epsilon
    # Where nothing varies at all, and ε is 0: so narrow that any other value is out, and the score still finite.
    variance = np.maximum(variance, _LEAST)
    known: Any = pooled.n > 0
    precision = np.where(known, 1.0 / variance, 0.0)
    return Normals(mean, variance, precision, np.where(known, -0.5 * np.log(2 * np.pi * variance), 0.0)), epsilon
