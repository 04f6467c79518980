"""A label and the rest as two classes: the view of `log_odds`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.models.view import FeatureCounts, View

__all__ = ["PairView", "Pairs"]

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
        counts = np.zeros((len(self.cells.ids), 2), np.int64)
        counts[self._features[mine], 0] = self.cells.counts[mine]
        counts[:, 1] = self.cells.totals - counts[:, 0]
        return PairView(self, label, counts)


class PairView:
    """Class 0 is the label, class 1 the rest; a `CountView` of all features at once."""

    def __init__(self, pairs: Pairs, label: int, counts: Integers) -> None:
        self._pairs = pairs
        self._label = label
        self._counts = counts

    @property
    def n_features(self) -> int:
        """V."""
        return self._pairs.view.n_features

    @property
    def doc_count(self) -> Integers:
        """D[l], then D - D[l]."""
        view = self._pairs.view
        return _and_rest(view.doc_count[self._label], view.counts.n_docs)

    def class_sum(self, by_docs: bool) -> Integers:
        """N[l], then N - N[l]."""
        view = self._pairs.view
        return _and_rest(view.class_sum(by_docs)[self._label], view.total(by_docs))

    def total(self, by_docs: bool) -> int:
        """N."""
        return self._pairs.view.total(by_docs)

    def feature_ids(self) -> Ids:
        """All features."""
        return self._pairs.cells.ids

    def gather(self, ids: Ids, by_docs: bool) -> FeatureCounts:
        """The cells of all features, two of each, be they 0."""
        assert by_docs == self._pairs.by_docs
        assert len(ids) == len(self._counts)
        n = len(ids)
        return FeatureCounts(
            ids,
            np.arange(0, 2 * n, 2),
            np.full(n, 2, np.int32),
            np.tile(np.arange(2, dtype=np.int32), n),
            self._counts.reshape(-1),
            self._pairs.cells.totals,
        )

    def words_of(self, ids: Ids) -> list[str]:
        """The texts of some features."""
        return self._pairs.view.words_of(ids)

    def has_words(self, words: list[str]) -> list[bool]:
        """Whether words are features."""
        return self._pairs.view.has_words(words)


def _and_rest(own: Any, total: Any) -> Integers:
    return np.array([own, total - own], np.int64)
