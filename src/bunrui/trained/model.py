"""`TrainedModel`: the answers of a classifier whose model was trained from its documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.counts import Counts, Label
from bunrui.engines.matrix import look_up
from bunrui.explanation import Word
from bunrui.explanation.documents import check_pair, hold, placed
from bunrui.explanation.reading import find, find_word, read
from bunrui.explanation.words import check_question, words_of
from bunrui.models.view import View, whole
from bunrui.sparse import Sparse
from bunrui.trained.forms import Form
from bunrui.views.explanation import Explanation

__all__ = ["TrainedModel"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class TrainedModel:
    """An estimator, and the words that its columns stand for.

    Attributes
    ----------
    classes : list of labels
        Sorted.
    counts : Counts
        Whose vocabulary the columns are of; hold their lock while asking.
    version : int
        Of the counts, when it was trained.
    options : mapping
        Those of the classifier, then.
    mark : object
        How far the documents had been read.
    """

    def __init__(
        self, counts: Counts, analyzer: Analyzer, form: Form, classes: list[Label], ids: Integers | None, mark: Any
    ) -> None:
        self.counts = counts
        self.version = counts.version
        self.options: Mapping[str, Any] = {}
        self.classes = classes
        self.mark = mark
        self.form = form
        self._analyzer = analyzer
        self._ids = ids  # the feature of every column; None where column f is feature f
        self._width = counts.n_ids if ids is None else len(ids)

    def is_of(self, counts: Counts, options: Mapping[str, Any]) -> bool:
        """Whether it was trained from what these counts have counted, with these options."""
        return self.counts is counts and self.version == counts.version and self.options == options

    def rows(self, texts: Any) -> Any:
        """Texts as rows of counts, (n_docs, n_columns)."""
        return rows_of(texts, self._analyzer, self.counts, self._ids, self._width)

    def scores(self, texts: Any) -> Floats:
        """(n_docs, n_classes)"""
        rows = self.rows(texts)
        return self.form.scores(rows)

    def explain(self, document: Any, label: Label | None, against: Label | None) -> Explanation:
        """What every word adds to the score of a label, held against that of another."""
        check_pair(self.classes, label, against)
        reading = read(self._analyzer, document)
        row = self.rows([document])
        duel = hold(self.classes, self.form.scores(row)[0], label, against)
        parts = self.form.parts(row)
        names = [self.classes.index(name) for name in duel.names]
        adds = parts.values[:, names[0]] - parts.values[:, names[1:]].sum(axis=1)
        by_column = dict(zip(parts.columns.tolist(), adds.tolist(), strict=True))
        columns = self._columns(find(self._view, list(reading.counts))).tolist()
        known = np.array([column in by_column for column in columns], bool)
        values = np.array([by_column.get(column, 0.0) for column in columns], np.float64)
        bias = float(parts.bias[names[0]] - parts.bias[names[1:]].sum())
        return duel.explanation(document, bias, placed(reading, values, known), reading, known)

    def words(
        self, label: Label | None, positive: Label | None, negative: Label | None, word: str | None, top: int | None
    ) -> list[Word]:
        """The words that speak for a label, as `telling_words` has them."""
        check_question(self.classes, label, positive, negative, word, top)
        ids = self._known_ids() if word is None else find_word(self._view, self._analyzer, word).astype(np.int64)
        columns = self._columns(ids)
        ids, columns = ids[columns >= 0], columns[columns >= 0]
        if not len(ids):
            return []
        weights = self.form.weights(columns)
        if positive is not None and negative is not None:
            values = weights[:, self.classes.index(positive)] - weights[:, self.classes.index(negative)]
            if word is None:
                either = self._occur_with(ids, (positive, negative))
                ids, values = ids[either], values[either]
        else:
            c = int(weights[0].argmax()) if label is None else self.classes.index(label)
            others = np.delete(weights, c, axis=1)
            values = weights[:, c] - (others.mean(axis=1) if others.shape[1] else 0.0)
        both_ends = positive is not None
        return words_of(self.counts, ids.astype(np.uint32), values, top, both_ends=both_ends, by_docs=True)

    def vocabulary(self) -> list[str]:
        """The words of all columns."""
        return self.counts.texts_of(np.arange(self._width) if self._ids is None else self._ids)

    def _occur_with(self, ids: Integers, labels: tuple[Label, Label]) -> npt.NDArray[np.bool_]:
        """Which features occur with one of two labels."""
        cells = self._view.gather(ids.astype(np.uint32), by_docs=True)
        pair = [self.counts.label_ids[label] for label in labels]
        found = np.zeros(len(ids), bool)
        found[cells.spread(np.arange(len(ids)))[np.isin(cells.classes, pair)]] = True
        return found

    @property
    def _view(self) -> View:
        return whole(self.counts)

    def _known_ids(self) -> Integers:
        live = self.counts.live_ids().astype(np.int64)
        return live[live < self._width] if self._ids is None else self._ids

    def _columns(self, ids: Integers) -> Integers:
        """The columns of features, -1 where one has none."""
        if self._ids is None:
            return np.where(ids < self._width, ids, -1)
        places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[places] == ids, places, -1) if len(self._ids) else np.full(len(ids), -1)


def rows_of(texts: Any, analyzer: Analyzer, counts: Counts, ids: Integers | None, width: int) -> Sparse:
    """The counts of some features in texts, (n_docs, width)."""
    X = look_up(texts, analyzer, 1, counts.vocabulary)
    if ids is not None:
        return X.columns(ids)
    # Features that came later, and room that has none yet.
    return X if X.shape[1] == width else X.columns(np.arange(width))
