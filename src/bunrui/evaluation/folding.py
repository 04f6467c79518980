"""Rows to learn from and rows to test on.

    stratified   labels (sets of labels, where documents have several) are spread over the folds as evenly as they go
    plain        any row may be in any fold
    grouped      rows of one group (a thread, an author, duplicates: `find_duplicates(texts).keys`) are in one fold
    time         what is tested is later than all that was learned: rows in the order of time are cut into k + 1 parts,
                 and each but the first is tested by those before it

The same seed gives the same folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.engines.labelgroups import label_sets
from bunrui.errors import DataError, OptionError

__all__ = ["KINDS", "Fold", "folds"]

Integers = npt.NDArray[np.int64]

KINDS = ("stratified", "plain", "grouped", "time")


class Fold(NamedTuple):
    """Rows, ascending."""

    train: Integers
    test: Integers


def folds(
    n: int,
    labels: Any = None,
    k: int = 5,
    *,
    kind: str = "stratified",
    groups: Sequence[Any] | None = None,
    times: Sequence[Any] | None = None,
    seed: int = 0,
) -> list[Fold]:
    """Cut `n` rows into `k` folds.

    Parameters
    ----------
    labels : (n,) labels as for `TextClassifier.learn`
        For `kind="stratified"`.
    groups : (n,) sequence
        The group of every row, for `kind="grouped"`.
    times : (n,) sequence
        When every row came to be, for `kind="time"`: numbers, dates, or strings that sort like dates.  Rows of the same
        time are in one part.  Without them, rows are in the order of time.

    Examples
    --------
    >>> [fold.test.tolist() for fold in folds(6, ["a", "a", "a", "b", "b", "b"], 3)]
    [[2, 3], [0, 5], [1, 4]]
    >>> [(fold.train.tolist(), fold.test.tolist()) for fold in folds(6, k=2, kind="time", times=[3, 1, 2, 9, 8, 3])]
    [([1, 2], [0, 5]), ([0, 1, 2, 5], [3, 4])]
    """
    if kind not in KINDS:
        raise OptionError(f"there are no folds {kind!r}: choose 'stratified', 'plain', 'grouped' or 'time'")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 2 - (kind == "time"):
        raise OptionError(f"there should be at least {'1 fold' if kind == 'time' else '2 folds'}, not {k!r}")
    if (groups is not None) != (kind == "grouped") or (times is not None and kind != "time"):
        raise OptionError("groups= are for kind='grouped', which needs them, and times= for kind='time'")
    for name, given in (("groups", groups), ("times", times)):
        if given is not None and len(given) != n:
            raise DataError(f"there are {n} rows and {len(given)} {name}: give one for each row")
    if kind == "time":
        return _by_time(range(n) if times is None else times, k)
    rng = np.random.default_rng(seed)
    if groups is not None:
        return _of(_grouped(groups, k, rng), k)
    if n < k:
        rows = "1 row" if n == 1 else f"{n} rows"
        raise DataError(f"{rows} cannot be cut into {k} folds: give more rows{', or fewer folds' if n > 1 else ''}")
    order = rng.permutation(n)
    if kind == "stratified":
        if labels is None:
            raise OptionError("folds of kind='stratified' need labels: give them, or choose kind='plain'")
        order = order[np.argsort(label_sets(labels, n, {}).groups[order], kind="stable")]
    # Dealt out like cards: neighbours, which have the same label, go to different folds.
    dealt = np.empty(n, np.int64)
    dealt[order] = np.arange(n) % k
    return _of(dealt, k)


def _of(numbers: Integers, k: int) -> list[Fold]:
    """Folds from the number of the fold in which each row is tested."""
    return [Fold(np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in range(k)]


def _codes(values: Sequence[Any]) -> Integers:
    """A number for each distinct value, in the order in which they come."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in _listed(values)], np.int64)


def _listed(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _grouped(groups: Sequence[Any], k: int, rng: np.random.Generator) -> Integers:
    """The largest group first, each to the fold that has least; groups of the same size in random order."""
    codes = _codes(groups)
    sizes = np.bincount(codes)
    if len(sizes) == 1:
        raise DataError("all rows are in one group, which leaves nothing to learn from: give groups that differ")
    if len(sizes) < k:
        raise DataError(f"{len(sizes)} groups cannot be cut into {k} folds: give at most {len(sizes)} folds")
    shuffled = rng.permutation(len(sizes))
    fold_of, filled = np.empty(len(sizes), np.int64), np.zeros(k, np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")].tolist():
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[codes]


def _by_time(times: Sequence[Any], k: int) -> list[Fold]:
    listed = _listed(times)
    n = len(listed)
    order = np.array(sorted(range(n), key=listed.__getitem__), np.int64)
    # A part may only end where time goes on.
    in_order = [listed[row] for row in order.tolist()]
    ends = np.array([end for end in range(1, n) if in_order[end - 1] < in_order[end]], np.int64)
    if not len(ends):
        raise DataError("all rows have the same time, so that none is later than others: give times that differ")
    if len(ends) < k:
        most = "1 fold" if len(ends) == 1 else f"{len(ends)} folds"
        raise DataError(
            f"{len(ends) + 1} different times cannot be cut into {k + 1} parts, one to begin with and one for each "
            f"fold: give at most {most}"
        )
    cuts: list[int] = []
    first = 0
    for part in range(1, k + 1):
        # The end nearest to equal parts that leaves enough for those to come.
        choice = ends[first : len(ends) - (k - part)]
        first += int(np.abs(choice - part * n / (k + 1)).argmin()) + 1
        cuts.append(int(ends[first - 1]))
    return [Fold(np.sort(order[:a]), np.sort(order[a:b])) for a, b in pairwise([*cuts, n])]
