"""Labels of rows and the classes that they make up: sorted, growing, never misfiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.errors import LabelError

__all__ = ["Labels", "check_among", "encode", "find", "sorted_classes", "union"]

Labels = npt.NDArray[Any]


def sorted_classes(labels: Any) -> Labels:
    """The distinct labels, sorted.

    Examples
    --------
    >>> sorted_classes(["b", "a", "b"]).tolist()
    ['a', 'b']
    """
    return encode(np.asarray(labels).reshape(-1))[0]


def encode(labels: Labels) -> tuple[Labels, npt.NDArray[np.int64]]:
    """The distinct labels, sorted, and the place of every label among them."""
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise LabelError("labels of different kinds cannot be sorted: give all strings, or all numbers") from error
    return classes, codes.reshape(-1).astype(np.int64)


def union(known: Labels, new: Labels) -> Labels:
    """The classes of both, sorted.

    Numbers and strings do not mix: NumPy would turn 1 into '1', and one class into two.

    Examples
    --------
    >>> union(np.array(["b"]), np.array(["longer", "a"])).tolist()
    ['a', 'b', 'longer']
    """
    if not len(known) or not len(new):
        return new if not len(known) else known
    if find(new, known) is not None:
        return known
    if _is_number(known) != _is_number(new) and object not in (known.dtype, new.dtype):
        example, other = known.tolist()[0], new.tolist()[0]
        raise LabelError(f"the classes so far are like {example!r}, this label is {other!r}: give labels of one kind")
    classes = encode(np.concatenate([known, new]))[0]
    # As Python has them: NumPy would compare 2 ** 63 + 1 and 2 ** 63 as floats.
    if not set(classes.tolist()).issuperset([*known.tolist(), *new.tolist()]):
        raise LabelError("these labels cannot be told apart when they are joined: give all of them as strings")
    return classes


def find(labels: Labels, classes: Labels) -> npt.NDArray[np.int64] | None:
    """The places of labels among sorted classes of the same kind, if all are there.

    Examples
    --------
    >>> find(np.array(["b"]), np.array(["a", "b"])).tolist(), find(np.array(["c"]), np.array(["a", "b"]))
    ([1], None)
    """
    if labels.dtype.kind != classes.dtype.kind or labels.dtype.kind not in "iubU" or not len(classes):
        return None
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return places if bool((classes[places] == labels).all()) else None


def check_among(classes: Labels, allowed: Labels) -> None:
    """Refuse labels that are not among the classes that were given."""
    if find(classes, allowed) is not None:
        return
    known = set(allowed.tolist())
    for label in classes.tolist():
        if label not in known:
            raise LabelError(f"the label {label!r} is not among classes={allowed.tolist()}")


def _is_number(labels: Labels) -> bool:
    return labels.dtype.kind in "biuf"
