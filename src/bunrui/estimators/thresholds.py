"""The score from which a row gets a label: given, or chosen for the best F on rows that were left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import OptionError
from bunrui.estimators.labels import Labels

__all__ = ["best_cut", "best_cuts", "given_thresholds"]

Floats = npt.NDArray[np.float64]

# Of a label with a handful of rows the best F may be that of giving it to all: a threshold goes below 0 for this F at
# least.  On a fifth of the training set of Reuters with 90 topics, held out, micro-F is .647 with thresholds of 0, .232
# without this floor, and .741 with it; .2 and .4 differ by .01 at most.  benchmarks/multilabel.py --floors
LEAST_F = 0.3


def given_thresholds(threshold: Any, classes: Labels) -> Floats:
    """One threshold for each label, from a number, one for each, or a mapping from label; others are 0."""
    if isinstance(threshold, Mapping):
        for label in threshold:
            if label not in classes.tolist():
                raise OptionError(f"threshold names the label {label!r}, which no row has: leave it out")
        values = np.array([threshold.get(label, 0.0) for label in classes.tolist()], np.float64)
    else:
        try:
            values = np.asarray(threshold, np.float64)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"threshold should be a number, one for each label, or 'folds', not {threshold!r}"
            ) from error
    if values.shape not in ((), classes.shape) or np.isnan(values).any():
        raise OptionError(f"threshold should be a number, or one for each of {len(classes)} labels, not {threshold!r}")
    return np.broadcast_to(values, classes.shape).astype(np.float64)


def best_cuts(scores: Floats, Y: Any, weights: Floats) -> Floats:
    """The threshold of every label, (n_labels,), from scores and a csr_array with 1 where a row has a label."""
    columns = sparse.csc_array(Y)
    cuts = np.zeros(Y.shape[1])
    for k in range(Y.shape[1]):
        has = np.zeros(Y.shape[0], bool)
        has[columns.indices[columns.indptr[k] : columns.indptr[k + 1]]] = True
        cuts[k] = best_cut(scores[:, k], has, weights)
    return cuts


def best_cut(scores: Floats, has: npt.NDArray[np.bool_], weights: Floats) -> float:
    """The threshold above which the F of a label is best, the highest of those that tie.

    0 where no row has the label, and in place of one below 0 whose F is below `LEAST_F`.

    Examples
    --------
    >>> best_cut(np.array([3.0, 1.0, -2.0, -4.0]), np.array([True, False, True, False]), np.ones(4))
    -3.0
    """
    if not (weights * has).any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ranked, right, size = scores[order], np.cumsum((weights * has)[order]), np.cumsum(weights[order])
    f = 2 * right / (size + right[-1])
    # Equal scores stand on one side of any threshold.
    f[:-1][ranked[:-1] == ranked[1:]] = -1.0
    k = int(f.argmax())
    below = ranked[k + 1] if k + 1 < len(ranked) else -np.inf
    above = float(ranked[k])
    if not np.isfinite(above):
        return 0.0
    cut = float((above + below) / 2) if np.isfinite(below) else above - 1.0
    return cut if f[k] >= LEAST_F else max(cut, 0.0)
