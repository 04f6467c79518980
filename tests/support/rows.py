"""Rows for the tests of estimators: names of values, forms of a matrix, counts with rare columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

NAMES = np.array(["red", "緑", "blue", "yellow"])
FORMS = [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.coo_array]


def rare_columns(seed: int, n_classes: int, n: int, columns: int, rare: float) -> tuple[Any, Any, Any]:
    """Rows, their labels and other rows: half of the columns are `rare` times as frequent; some rows come twice."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    codes[:n_classes] = range(n_classes)
    rate = rng.gamma(0.3, 0.5, (n_classes, columns)) * np.where(np.arange(columns) < columns // 2, 1.0, rare)
    X, Q = rng.poisson(rate[codes]), rng.poisson(rate[rng.integers(n_classes, size=20)])
    X[-5:], codes[-5:] = X[:5], codes[:5]
    return X, np.array(["b", "a", "d", "c"])[:n_classes][codes], Q
