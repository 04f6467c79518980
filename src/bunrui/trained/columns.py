"""Models of the rows of tables, which a classifier keeps as JSON objects: `columns` is `ColumnsNB`, `aode` is `AODE`.

Of `aode`, numbers and dates (as days since 1970) are cut where classes change, and all else is categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import check_given
from bunrui.analysis.columns import ColumnsAnalyzer, cells_of, places_of, rows_of, written
from bunrui.counts import Counts
from bunrui.errors import DataError, OptionError, TableError
from bunrui.estimators.aode import AODE
from bunrui.estimators.aodeparts import value_parts
from bunrui.estimators.columns import ColumnsNB
from bunrui.estimators.frames import as_days, is_frame, of_dicts, of_frame, value_kind
from bunrui.estimators.pairs import check_size
from bunrui.memory import Batch
from bunrui.models.explain import Reading, check_pair, hold
from bunrui.models.words import Word
from bunrui.rendering import Contribution, Explanation
from bunrui.trained.cells import Shape, shape_of
from bunrui.trained.forms import Parts
from bunrui.trained.model import Fitted

__all__ = ["ColumnsModel", "train_columns"]

Floats = npt.NDArray[np.float64]


class _Columns:
    """The form of `ColumnsNB`: rows are lists of dicts, and columns those of the table."""

    def __init__(self, estimator: ColumnsNB) -> None:
        self.estimator = estimator
        self.columns = list(estimator.columns_)

    def scores(self, X: Any) -> Floats:
        if not X:
            return np.zeros((0, len(self.estimator.classes_)))
        return self.estimator.predict_joint_log_proba(X)

    def parts(self, row: Any) -> Parts:
        found = self.estimator.explain(row[0])
        return Parts(np.arange(len(found.columns)), np.array([*found.columns.values()]), found.prior)

    def weights(self, columns: Any) -> Floats:
        raise NotImplementedError


class _Pairs:
    """The same of `AODE`, which reads arrays."""

    def __init__(self, estimator: AODE, columns: Sequence[str]) -> None:
        self.estimator = estimator
        self.columns = columns

    def scores(self, X: Any) -> Floats:
        if not X:
            return np.zeros((0, len(self.estimator.classes_)))
        return self.estimator.predict_joint_log_proba(table_of(X, self.columns))

    def parts(self, row: Any) -> Parts:
        return Parts(*value_parts(self.estimator, table_of(row, self.columns)))

    def weights(self, columns: Any) -> Floats:
        raise NotImplementedError


class ColumnsModel(Fitted):
    """A fitted `ColumnsNB` or `AODE`, and how its table is read from texts."""

    form: _Columns | _Pairs

    def __init__(
        self, name: str, counts: Counts, analyzer: ColumnsAnalyzer, shape: Shape, form: _Columns | _Pairs, mark: Any
    ) -> None:
        super().__init__(counts, analyzer, form, counts.live_labels, None, mark)
        self._name = name
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
            raise TableError(error.problem) from None
        duel = hold(self.classes, self.form.scores(row)[0], label, against)
        parts = self.form.parts(row)
        chosen = [self.classes.index(name) for name in duel.names]
        adds = parts.values[:, chosen[0]] - parts.values[:, chosen[1:]].sum(axis=1)
        bias = float(parts.bias[chosen[0]] - parts.bias[chosen[1:]].sum())
        value_of = {self.form.columns[k]: value for k, value in zip(parts.columns, adds.tolist(), strict=True)}
        places = places_of(document)
        contributions, unknown = [], []
        for name, cell in cells_of(document, self._kinds).items():
            feature = f"{name}={written(cell)}"
            if cell is None:
                continue
            if self._shape.forms.get(name, "nothing") == "nothing":
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
        raise OptionError(
            f"the model {self._name!r} has no weights of words: explain shows what the columns of a row "
            "add, and a model that reads counts, such as multinomial, has weights"
        )

    def pipeline(self, analyzer: Any) -> Any:
        """The fitted estimator in a `Pipeline`, which reads data frames and dicts in place of JSON."""
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import FunctionTransformer

        model = ("model", self.form.estimator)
        if isinstance(self.form, _Columns):
            return Pipeline([model])
        table = FunctionTransformer(table_of, kw_args={"names": self.form.columns})
        return Pipeline([("table", table), model])


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
    if not shape.forms:
        raise DataError("the rows that were learned have no columns: there is nothing to classify by")
    fitted = _fitted_pairs if options["model"] == "aode" else _fitted_columns
    form = fitted(options, shape, analyzer.kinds, shape.values(rows), np.concatenate(labels))
    return ColumnsModel(options["model"], counts, analyzer, shape, form, mark)


def _fitted_columns(
    options: Mapping[str, Any], shape: Shape, kinds: Mapping[str, str], rows: list[dict[str, Any]], labels: Any
) -> _Columns:
    kinds = {name: "skip" if shape.forms[name] == "nothing" else kind for name, kind in kinds.items()}
    shared = {name: options[name] for name in ("smoothing", "alpha", "prior")}
    return _Columns(ColumnsNB(columns=kinds, **shared).fit(rows, labels))


def _fitted_pairs(
    options: Mapping[str, Any], shape: Shape, kinds: Mapping[str, str], rows: list[dict[str, Any]], labels: Any
) -> _Pairs:
    names = list(shape.forms)
    for name in (name for name in names if kinds.get(name) == "text"):
        raise OptionError(
            f"aode reads categories and numbers, and the column {name!r} is text: use the model 'columns', or learn "
            "the table again and take the column for categorical or skip"
        )
    to_cut = [j for j, name in enumerate(names) if shape.forms[name] in ("number", "date")]
    sizes = [1 if j in to_cut else len({row[name] for row in rows} - {None}) for j, name in enumerate(names)]
    check_size(sizes, len(set(labels.tolist())), names)
    return _Pairs(AODE(m=options["m"], discretise=to_cut).fit(table_of(rows, names), labels), names)


def table_of(X: Any, names: Sequence[str]) -> npt.NDArray[Any]:
    """Some columns of a data frame, or of dicts, as an array of objects, (n_rows, n_columns); dates are days.

    >>> table_of([{"a": 1, "b": "x"}, {"b": None, "a": 2}], ["b", "a"]).tolist()
    [['x', 1], [None, 2]]
    """
    columns = dict(zip(*(of_frame(X) if is_frame(X) else of_dicts(X)), strict=True))
    for name in names:
        if name not in columns:
            raise DataError(f"the column {name!r} is missing: give it, as None where there is no value")
    out = np.empty((len(X), len(names)), object)
    for j, name in enumerate(names):
        values = columns[name].values
        out[:, j] = as_days(name, values) if value_kind(name, values) == "date" else values
    return out
