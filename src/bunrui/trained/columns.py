"""The model `columns`: `ColumnsNB` of the rows of tables, which a classifier keeps as JSON objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import check_given
from bunrui.analysis.columns import ColumnsAnalyzer, cells_of, places_of, rows_of, written
from bunrui.counts import Counts
from bunrui.errors import DataError, OptionError, TableError
from bunrui.estimators.columns import ColumnsNB
from bunrui.explanation import Contribution, Word
from bunrui.explanation.documents import check_pair, hold
from bunrui.explanation.reading import Reading
from bunrui.rendering import Explanation
from bunrui.trained.cells import Shape, shape_of
from bunrui.trained.forms import Parts
from bunrui.trained.kept import Batch
from bunrui.trained.model import TrainedModel

__all__ = ["ColumnsModel", "train_columns"]

Floats = npt.NDArray[np.float64]

_NO_WEIGHTS = (
    "the model 'columns' has no weights of words: explain shows what the columns of a row add, and a model that reads "
    "counts, such as multinomial, has weights"
)


class _Columns:
    """The form of `ColumnsNB`: rows are lists of dicts, and columns those of the table."""

    def __init__(self, estimator: ColumnsNB) -> None:
        self.estimator = estimator

    def scores(self, X: Any) -> Floats:
        if not X:
            return np.zeros((0, len(self.estimator.classes_)))
        return self.estimator.predict_joint_log_proba(X)

    def parts(self, row: Any) -> Parts:
        found = self.estimator.explain(row[0])
        return Parts(np.arange(len(found.columns)), np.array([*found.columns.values()]), found.prior)

    def weights(self, columns: Any) -> Floats:
        raise OptionError(_NO_WEIGHTS)


class ColumnsModel(TrainedModel):
    """A fitted `ColumnsNB`, and how its table is read from texts."""

    def __init__(
        self,
        counts: Counts,
        analyzer: ColumnsAnalyzer,
        shape: Shape,
        estimator: ColumnsNB,
        classes: list[str],
        mark: Any,
    ) -> None:
        super().__init__(counts, analyzer, _Columns(estimator), classes, None, mark)
        self._kinds = analyzer.kinds
        self._shape = shape

    def scores(self, texts: Any) -> Floats:
        """(n_docs, n_classes)"""
        return self.form.scores(self.rows(texts))

    def rows(self, texts: Any) -> list[dict[str, Any]]:
        """The values of every row."""
        if inputs.is_given(texts):
            check_given(self._analyzer)
        array = inputs.strings(texts)
        listed = array if isinstance(array, list) else array.to_pylist()
        return self._shape.values(rows_of(listed, self._kinds))

    def explain(self, document: Any, label: str | None, against: str | None) -> Explanation:
        """What every column adds to the score of a label, held against that of another."""
        check_pair(self.classes, label, against)
        if not isinstance(document, str):
            check_given(self._analyzer)
        try:
            row = self.rows([document])
        except TableError as error:
            raise TableError(error.what) from None
        duel = hold(self.classes, self.form.scores(row)[0], label, against)
        parts = self.form.parts(row)
        chosen = [self.classes.index(name) for name in duel.names]
        adds = parts.values[:, chosen[0]] - parts.values[:, chosen[1:]].sum(axis=1)
        bias = float(parts.bias[chosen[0]] - parts.bias[chosen[1:]].sum())
        value_of = dict(zip(self.form.estimator.columns_, adds.tolist(), strict=True))
        kinds, places = self.form.estimator.columns_, places_of(document)
        contributions, unknown = [], []
        for name, cell in cells_of(document, self._kinds).items():
            feature = f"{name}={written(cell)}"
            if cell is None:
                continue
            if kinds.get(name, "skip") == "skip":
                unknown.append(feature)
            else:
                contributions.append(Contribution(feature, value_of[name], 1, (places[name],)))
        contributions.sort(key=lambda c: (-abs(c.value), c.feature))
        reading = Reading(dict.fromkeys(unknown, 1), {})
        known = np.zeros(len(reading.counts), bool)
        return duel.explanation(document, bias, tuple(contributions), reading, known)

    def words(
        self, label: str | None, positive: str | None, negative: str | None, word: str | None, top: int | None
    ) -> list[Word]:
        """There are none."""
        raise OptionError(_NO_WEIGHTS)

    def pipeline(self, analyzer: Any) -> Any:
        """The fitted `ColumnsNB`, which reads data frames and dicts in place of JSON, in a `Pipeline`."""
        from sklearn.pipeline import Pipeline

        return Pipeline([("model", self.form.estimator)])


def train_columns(
    options: Mapping[str, Any], analyzer: Analyzer, counts: Counts, batches: Iterator[tuple[Batch, Any, Any]], mark: Any
) -> ColumnsModel:
    """The model of all rows; batches come with the places of their rows and a label for each."""
    assert isinstance(analyzer, ColumnsAnalyzer)
    rows: list[dict[str, Any]] = []
    labels = []
    for batch, places, names in batches:
        texts = batch.texts if isinstance(batch.texts, list) else batch.texts.to_pylist()
        read = rows_of(texts, analyzer.kinds)
        rows += [read[place] for place in places.tolist()]
        labels.append(names)
    shape = shape_of(rows, analyzer.kinds)
    kinds = {name: "skip" if shape.forms[name] == "nothing" else kind for name, kind in analyzer.kinds.items()}
    alpha = {} if options["alpha"] is None else {"alpha": options["alpha"]}
    estimator = ColumnsNB(columns=kinds, prior=options["prior"], **alpha)
    if not shape.forms:
        raise DataError("the rows that were learned have no columns: there is nothing to classify by")
    estimator.fit(shape.values(rows), np.concatenate(labels))
    return ColumnsModel(counts, analyzer, shape, estimator, counts.live_labels, mark)
