"""The weights that a file keeps of a trained model, checked before a kernel reads them: kernels check no bounds.

A form gives its numbers by `arrays`, as `Parameters`, and takes them back by `from_arrays`.  A file may come from
anywhere: whatever `from_arrays` takes has gone through `take` or `take_fact`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError
from bunrui.labels import TYPES
from bunrui.memory import Parameters

T = TypeVar("T")


def take(
    weights: Parameters,
    name: str,
    dtype: Any,
    shape: tuple[int | None, ...],
    least: float = -np.inf,
    most: float = np.inf,
) -> npt.NDArray[Any]:
    """An array of this type and shape (None is any length), whose numbers are finite and within bounds.

    Raises
    ------
    DataError
        If it is another one.
    """
    try:
        array = weights.arrays[name]
    except KeyError:
        raise DataError(f"the weights lack {name!r}") from None
    lengths = len(array.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != np.dtype(dtype) or not lengths:
        raise DataError(f"the weights have {name!r} in another shape than their model has it")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError(f"the weights have numbers in {name!r} that are not finite")
    if array.size and not (least <= array.min() and array.max() <= most):
        raise DataError(f"the weights have numbers in {name!r} beyond their bounds")
    return array


def take_ids(weights: Parameters, name: str, n: int) -> npt.NDArray[np.int64]:
    """Ids below n, which ascend."""
    ids = take(weights, name, np.int64, (None,), 0, n - 1)
    if (np.diff(ids) <= 0).any():
        raise DataError(f"the weights have ids in {name!r} that do not ascend")
    return ids


def take_fact(weights: Parameters, name: str, *types: type[T]) -> T:
    """A fact of one of these types; a number is finite and not negative.

    >>> take_fact(Parameters({"n_docs": 3.0, "norm": None}, {}), "n_docs", float)
    3.0
    """
    fact = weights.facts.get(name)
    if type(fact) not in types or (isinstance(fact, (int, float)) and not 0 <= fact < np.inf):
        raise DataError(f"the weights have something else where {name!r} should be")
    return fact  # type: ignore[return-value]


def take_labels(weights: Parameters, name: str) -> list[Any]:
    """Labels of one type, each once."""
    labels = take_fact(weights, name, list)
    if not any(all(type(label) is kind for label in labels) for kind in TYPES.values()) or len(set(labels)) < len(
        labels
    ):
        raise DataError(f"the weights have no list of labels where {name!r} should be")
    return labels
