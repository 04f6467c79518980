"""Rows, counts and a model → scores, on the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bunrui.engines import threads
from bunrui.evaluation.looparts import Ground
from bunrui.kernel import loostate
from bunrui.kernel.library import run
from bunrui.kernel.loo import leave_out
from bunrui.kernel.loorows import Rows
from bunrui.kernel.loostate import Labels, Model, Work
from bunrui.kernel.score import Linear, Sums

__all__ = ["scores_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BLOCK = 1 << 20  # priors that are made at a time


def scores_of(
    parts: list[Rows],
    labels: Labels,
    ground: Ground,
    model: Model,
    *,
    smooth_unseen: bool,
    priors_of: Callable[[Integers, Integers], Floats] | None = None,
) -> Floats:
    """Score every document by the counts of the others, (n_docs, n_classes).

    Where the priors of all groups would take too much room, `priors_of` makes those of some, given by where their
    classes begin, and their classes: documents are then scored some at a time.
    """
    n_classes = len(ground.whole.doc_count)
    out = np.empty((len(labels.groups), n_classes))
    # The smallest sum of the complement is the largest score.
    scale = -1.0 if model.reading[loostate.KIND] in (loostate.COMPLEMENT, loostate.NORMALISED) else 1.0

    def score(part: int, _: int) -> None:
        rows = parts[part]
        n_rows = len(rows.docs)
        step = n_rows if priors_of is None else max(_BLOCK // n_classes, 1)
        longest = int(np.diff(rows.starts).max()) if n_rows else 0
        work = _work(n_classes, longest, scale, smooth_unseen)
        for start in range(0, n_rows, max(step, 1)):
            row, end = start, min(start + step, n_rows)
            own = labels if priors_of is None else _part_of(labels, rows.docs[start:end], priors_of)
            while True:
                row = run(leave_out, rows, row, end, own, ground.whole, model, work, out.reshape(-1))
                if row == end:
                    break
                room = 2 * int(work.left[loostate.ROOM])
                work = work._replace(weights=np.empty(room), more=np.empty(2 * room, np.int32))

    threads.each_slice(score, range(len(parts) + 1))
    return out


def _part_of(labels: Labels, docs: Integers, priors_of: Callable[[Integers, Integers], Floats]) -> Labels:
    """The groups of some documents, numbered anew."""
    groups, numbers = np.unique(labels.groups[docs], return_inverse=True)
    lengths = np.diff(labels.starts)[groups]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    inside = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    classes = labels.classes[np.repeat(labels.starts[groups], lengths) + inside]
    by_doc = np.zeros(len(labels.groups), np.int64)
    by_doc[docs] = numbers
    return Labels(by_doc, starts, classes, priors_of(starts, classes))


def _work(n_classes: int, longest: int, scale: float, smooth_unseen: bool) -> Work:
    slope, unseen = np.empty((2, n_classes))
    reading = np.array([0, int(smooth_unseen)], np.int64)
    return Work(
        linear=Linear(np.zeros(n_classes), np.full(n_classes, scale), slope, unseen, reading),
        sums=Sums(np.empty(n_classes), np.empty(3), np.empty(0, np.uint32)),
        class_sum=np.empty(n_classes, np.int64),
        parts=np.empty(2 * n_classes, np.int64),
        kept=np.empty(2 * n_classes, np.int64),
        shared_parts=np.empty(2, np.int64),
        is_own=np.zeros(n_classes, np.uint8),
        left=np.empty(3, np.int64),
        starts=np.empty(longest, np.int64),
        lengths=np.empty(longest, np.int64),
        anew=np.empty(longest, np.int64),
        shared=np.empty(longest),
        own=np.empty(longest),
        weights=np.empty(0),
        more=np.empty(0, np.int32),
    )
