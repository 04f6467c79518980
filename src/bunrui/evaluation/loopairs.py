"""A label and the rest as two classes: the view of `log_odds`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bunrui.models.multilabel import PairView
from bunrui.models.view import View

__all__ = ["Pairs"]

Integers = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint32]


class Pairs:
    """Every label against the rest, from the same counts: the rest is all documents less those of the label."""

    def __init__(self, view: View, by_docs: bool) -> None:
        self.view = view
        self.by_docs = by_docs
        self.cells = view.gather(view.feature_ids(), by_docs)
        self._order = np.argsort(self.cells.classes, kind="stable")
        self._ends = np.searchsorted(self.cells.classes[self._order], np.arange(len(view.doc_count) + 1))
        self._features = self.cells.spread(np.arange(len(self.cells.ids)))

    def of(self, label: int) -> PairView:
        """A label, given by its id, and its rest."""
        mine = self._order[self._ends[label] : self._ends[label + 1]]
        own = np.zeros((len(self.cells.ids), 1), np.int64)
        own[self._features[mine], 0] = self.cells.counts[mine]

        def cells(ids: Ids) -> tuple[Integers, Integers]:
            """Those of all features at once."""
            assert len(ids) == len(own)
            return own, self.cells.totals

        return PairView(self.view, self.view.counts.n_docs, slice(label, label + 1), cells)
