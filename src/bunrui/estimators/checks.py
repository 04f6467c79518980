"""Checks of labels and weights that scikit-learn leaves to the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target

from bunrui.errors import DataError, LabelError
from bunrui.estimators.counts import whole
from bunrui.estimators.labels import Labels

__all__ = ["check_discrete", "checked_weights"]


def check_discrete(y: Labels) -> None:
    """Refuse labels that are measurements."""
    if y.ndim == 1 and y.dtype.kind in "biuU":
        return
    # Not check_classification_targets: it warns of many classes, which are no fault here.
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise LabelError(f"Unknown label type: {kind}. Labels are strings or whole numbers, one for each row")


def checked_weights(sample_weight: Any, n_rows: int) -> npt.NDArray[Any]:
    """Weights of rows, int64 if they are whole numbers, else float64, (n_rows,)."""
    weights = check_array(sample_weight, ensure_2d=False, input_name="sample_weight")
    if weights.shape != (n_rows,):
        raise DataError(f"sample_weight should have one weight for each of {n_rows} rows, not {weights.shape}")
    if (weights < 0).any():
        raise DataError("sample_weight should not be below 0: to take rows back, use unlearn")
    if not weights.any():
        raise DataError("sample_weight is zero for all rows, so that there is nothing to learn: leave it out")
    return np.asarray(whole(weights))
