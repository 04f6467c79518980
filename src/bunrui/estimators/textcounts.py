"""`TextCounts`: what `ColumnsNB` learns from a column of texts: words that may come at any time, by class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import UnlearnError
from bunrui.estimators.counts import MatrixCounts
from bunrui.estimators.counts import count as count_rows
from bunrui.estimators.labels import Labels
from bunrui.estimators.vectorizer import TextVectorizer

__all__ = ["TextCounts", "count_texts"]


@dataclass(frozen=True, eq=False)
class TextCounts:
    """Words, sorted, and their counts in the same order."""

    words: tuple[str, ...]
    counts: MatrixCounts
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    def over(self, classes: Labels) -> TextCounts:
        """The same with more classes."""
        return TextCounts(self.words, self.counts.over(classes))

    def plus(self, other: TextCounts) -> TextCounts:
        """The counts of both."""
        words = self.words if other.words == self.words else tuple(sorted({*self.words, *other.words}))
        return TextCounts(words, self._among(words).plus(other._among(words)))

    def minus(self, other: TextCounts, keep: Labels, exact: bool) -> TextCounts:
        """The counts without those of some rows; words that have none left go."""
        for word in sorted({*other.words}.difference(self.words)):
            raise UnlearnError(f"this was never learned: no text has {word!r}")
        return _alive(self.words, self.counts.minus(other._among(self.words), keep, exact))

    def _among(self, words: tuple[str, ...]) -> MatrixCounts:
        """The counts with a row for each of more words."""
        if words == self.words:
            return self.counts
        place = {word: k for k, word in enumerate(words)}
        cells = sparse.coo_array(self.counts.cells)
        rows = np.array([place[word] for word in self.words], np.int64)[cells.coords[0]]
        shape = (len(words), cells.shape[1])
        moved = sparse.csr_array((cells.data, (rows, cells.coords[1])), shape=shape)
        return self.counts.with_cells(moved)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}


def _alive(words: tuple[str, ...], counts: MatrixCounts) -> TextCounts:
    """Without the words that no row has."""
    cells = counts.cells
    if cells.nnz and not cells.data.all():
        cells = cells.copy()
        cells.eliminate_zeros()
    stays = np.flatnonzero(np.diff(cells.indptr))
    cells = sparse.csr_array(cells[stays])
    return TextCounts(tuple(words[k] for k in stays.tolist()), counts.with_cells(cells))


def count_texts(
    texts: list[str], analyzer: Any, labels: tuple[Labels, npt.NDArray[np.int64]], weights: npt.NDArray[Any]
) -> TextCounts:
    """Count texts."""
    vectorizer = TextVectorizer(analyzer=analyzer).partial_fit(texts)
    # Its columns are sorted, since all come from one call.
    words = tuple(vectorizer.get_feature_names_out().tolist())
    X = sparse.csr_array(vectorizer.transform(texts))
    return _alive(words, count_rows(X, labels, weights, presence=False))
