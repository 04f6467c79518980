"""`TrainedModel`: the answers of a model that is trained from documents, when it first answers after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer, AnalyzerSpec
from bunrui.counts import Counts, Label
from bunrui.errors import OptionError
from bunrui.estimators.matrix import look_up
from bunrui.kernel.mutex import Mutex
from bunrui.memory import Memory
from bunrui.models.counting import several_labels_error
from bunrui.models.explain import check_pair, hold, placed, read
from bunrui.models.model import Best, Options, best_of
from bunrui.models.view import View, whole
from bunrui.models.words import Word, check_question, find, find_word, words_of
from bunrui.rendering import Explanation
from bunrui.trained.forms import Form

__all__ = ["Fitted", "TrainedModel"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class TrainedModel:
    """A model with its options, trained from the documents of a memory as they are now."""

    def __init__(self, options: Options, analyzer: Analyzer, memory: Memory) -> None:
        self._options = options
        self._analyzer = analyzer
        self._memory = memory
        self._fitted: Fitted | None = None
        self._training = Mutex()

    @contextmanager
    def fitted(self) -> Iterator[Fitted]:
        """The model of the documents as they are now, trained if need be, with the lock of the memory held."""
        while True:
            self._train()
            with self._memory.lock.read():
                # Only here: another thread may train it anew, in place, and fail.
                fitted = self._fitted
                if fitted is not None:
                    yield fitted
                    return

    def _is_current(self) -> bool:
        return self._fitted is not None and self._fitted.is_of(self._memory.counts)

    def _train(self) -> None:
        from bunrui.trained.training import train

        memory, name = self._memory, self._options["model"]
        memory.documents.check(name)
        if self._is_current():
            return
        with memory.documents.at_rest(), self._training:
            if self._is_current():
                return
            # `arow` goes on in place, where nobody may look meanwhile; what is half learned is not gone on with.
            with memory.lock.write() if name == "arow" else memory.lock.read():
                before, self._fitted = self._fitted, None
                self._fitted = train(name, self._options, self._analyzer, memory.counts, memory.documents, before)

    def scores(self, texts: Any) -> tuple[list[Label], Floats]:
        """Classes, and scores (n_docs, n_classes)."""
        with self.fitted() as fitted:
            return fitted.classes, fitted.scores(texts)

    def best(self, texts: Any, k: int) -> Best:
        """The k best classes of every text, or all where there are fewer."""
        classes, scores = self.scores(texts)
        return Best(classes, self._memory.counts.live.dtype, *best_of(scores, k))

    def label_odds(self, texts: Any) -> tuple[list[Label], Floats]:
        """Nothing: labels are not told from the rest."""
        raise several_labels_error(self._options["model"])

    def explain(self, text: Any, label: Label | None, against: Label | None) -> Explanation:
        """What every feature of a text adds to the score of a label, held against that of another."""
        with self.fitted() as fitted:
            return fitted.explain(text, label, against)

    def words(
        self, label: Label | None, positive: Label | None, negative: Label | None, word: str | None, top: int | None
    ) -> list[Word]:
        """The words that speak for a label."""
        with self.fitted() as fitted:
            return fitted.words(label, positive, negative, word, top)

    def export(self, make: Callable[..., Any]) -> Any:
        """A fitted scikit-learn pipeline."""
        with self.fitted() as fitted:
            return fitted.pipeline(self._options["analyzer"])


class Fitted:
    """An estimator, and the words that its columns stand for.

    Attributes
    ----------
    classes : list of labels
        Sorted.
    counts : Counts
        Whose vocabulary the columns are of; hold their lock while asking.
    version : int
        Of the counts, when it was trained.
    mark : object
        How far the documents had been read.
    """

    def __init__(
        self, counts: Counts, analyzer: Analyzer, form: Form, classes: list[Label], ids: Integers | None, mark: Any
    ) -> None:
        self.counts = counts
        self.version = counts.version
        self.classes = classes
        self.mark = mark
        self.form = form
        self._analyzer = analyzer
        self._ids = ids  # the feature of every column; None where column f is feature f
        self._width = counts.n_ids if ids is None else len(ids)

    def is_of(self, counts: Counts) -> bool:
        """Whether it was trained from what these counts have counted."""
        return self.counts is counts and self.version == counts.version

    def rows(self, texts: Any) -> Any:
        """Texts as rows of counts, (n_docs, n_columns)."""
        return rows_of(texts, self._analyzer, self.counts, self._ids, self._width)

    def scores(self, texts: Any) -> Floats:
        """(n_docs, n_classes)"""
        rows = self.rows(texts)
        # scikit-learn refuses to be asked nothing.
        return self.form.scores(rows) if rows.shape[0] else np.zeros((0, len(self.classes)))

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

    def pipeline(self, analyzer: Any) -> Any:
        """The same as a fitted scikit-learn `Pipeline`; see `TextClassifier.to_sklearn`."""
        if len(self.classes) == 1 or not self._width:
            raise OptionError("there is nothing to tell apart yet: learn documents of two labels first")
        from sklearn.pipeline import Pipeline

        from bunrui.estimators.vectorizer import TextVectorizer

        spec = AnalyzerSpec(name=analyzer) if isinstance(analyzer, str) else analyzer
        ids = np.arange(self._width) if self._ids is None else self._ids
        vectorizer = TextVectorizer(analyzer=spec, vocabulary=self.counts.texts_of(ids))
        return Pipeline([("vectorizer", vectorizer.fit([])), ("model", self.form.estimator)])

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


def rows_of(texts: Any, analyzer: Analyzer, counts: Counts, ids: Integers | None, width: int) -> Any:
    """The counts of some features in texts, a csr_array (n_docs, width)."""
    X = look_up(texts, analyzer, 1, counts.vocabulary)
    if ids is not None:
        return X[:, ids]
    # Features that came later, and room that has none yet.
    return X if X.shape[1] == width else X[:, :width]
