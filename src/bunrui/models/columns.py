"""Models of the rows of tables, which a classifier keeps as JSON objects: `columns` is `ColumnsNB`, `aode` is `AODE`.

Of `aode`, numbers and dates (as days since 1970) are cut where classes change, and all else is categories.

All learned rows decide how a column is read:

    it holds       the values are
    numbers        numbers
    booleans       booleans
    ISO dates      dates and times: strings that all are such as 2026-01-31 or 2026-01-31T18:00
    strings        strings
    several kinds  strings: numbers as they are written, true and false
    nothing        left out

A kind that the user has given goes before: a column that is `text` or `categorical` has strings, one that is `gaussian`
numbers.  Later rows are read in the same way, and refused where they cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer, AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import check_given
from bunrui.analysis.tablerows import Cell, ColumnsAnalyzer, Number, cells_of, moment, places_of, rows_of, written
from bunrui.classcounts import ClassCounts, check_pairs, encode_labels
from bunrui.counts import Counts
from bunrui.errors import DataError, OptionError, TableError
from bunrui.kernel.arithmetic import log
from bunrui.memory import Batch
from bunrui.models.aode import Pairs, count_value_pairs
from bunrui.models.explain import Word, hold
from bunrui.models.frames import (
    as_days,
    columns_by_name,
    is_frame,
    learn_cuts,
    of_dicts,
    of_frame,
    value_kind,
)
from bunrui.models.likelihoods import Choices, ColumnLikelihoods, count_columns, plan_columns, rules_of
from bunrui.models.model import Parts, WordQuestion
from bunrui.models.scorer import prior_shares
from bunrui.models.trained import Fitted
from bunrui.phrases import some
from bunrui.sparse import Floats
from bunrui.views.explanation import Contribution, Explanation

Cells = Mapping[str, Cell]

_SAID = {"number": "numbers", "boolean": "true and false", "date": "dates such as 2026-01-31"}
_GIVEN = dict.fromkeys(("numeric", "gaussian", "binned"), "number") | {"date": "date"}
_GIVEN |= dict.fromkeys(("text", "categorical"), "string")

_VAR_SMOOTHING = 1e-9


class ColumnsForm:
    """A likelihood for each column: rows are lists of dicts, and columns those of the table."""

    model = "columns"

    def __init__(self, likelihoods: ColumnLikelihoods, kinds: Mapping[str, str], prior: Any) -> None:
        self.likelihoods = likelihoods
        self.kinds = kinds
        self.columns = [plan.name for plan in likelihoods.plans]
        learned = likelihoods.learned
        self.log_prior = log(prior_shares(learned.doc_count, learned.classes.tolist(), prior))

    def _parts(self, X: list[dict[str, Any]]) -> dict[str, Floats]:
        return self.likelihoods.scores(columns_by_name(*of_dicts(X), self.columns))

    def scores(self, X: list[dict[str, Any]]) -> Floats:
        if not X:
            return np.zeros((0, len(self.log_prior)))
        return np.asarray(sum(self._parts(X).values(), self.log_prior))

    def parts(self, row: list[dict[str, Any]]) -> Parts:
        found = self._parts(row)
        return Parts(np.arange(len(found)), np.array([part[0] for part in found.values()]), self.log_prior)


class PairsForm:
    """The same of `aode`, which reads arrays."""

    model = "aode"

    def __init__(self, pairs: Pairs, columns: Sequence[str]) -> None:
        self.pairs = pairs
        self.columns = columns

    def scores(self, X: list[dict[str, Any]]) -> Floats:
        if not X:
            return np.zeros((0, len(self.pairs.learned.classes)))
        return self.pairs.scores(table_of(X, self.columns))

    def parts(self, row: list[dict[str, Any]]) -> Parts:
        return self.pairs.parts(table_of(row, self.columns))


class ColumnsModel(Fitted):
    """A model of the columns of a table, and how its rows are read from texts."""

    form: ColumnsForm | PairsForm

    def __init__(
        self, counts: Counts, analyzer: ColumnsAnalyzer, shape: Shape, form: ColumnsForm | PairsForm, mark: Any
    ) -> None:
        super().__init__(counts, analyzer, form, None, mark)
        self._kinds = analyzer.kinds
        self._shape = shape

    def rows(self, texts: Any) -> list[dict[str, Any]]:
        """The values of every row."""
        if inputs.is_given(texts):
            check_given(self._analyzer)
        array = inputs.strings(texts)
        listed = array if isinstance(array, list) else array.to_pylist()
        return self._shape.values(rows_of(listed, self._kinds))

    def explain(self, document: Any, label: str | None, against: str | None) -> Explanation:
        """Explain a label against another: the share of every column in the difference of their scores."""
        if not isinstance(document, str):
            check_given(self._analyzer)
        try:
            row = self.rows([document])
        except TableError as error:
            raise TableError(error.problem) from None
        duel = hold(self.classes, self.form.scores(row)[0], label, against)
        parts = self.form.parts(row)
        adds, bias = duel.difference(parts)
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
        return duel.explanation(document, bias, contributions, tuple(unknown))

    def words(self, question: WordQuestion) -> list[Word]:
        """There are none."""
        raise OptionError(
            f"the model {self.form.model!r} has no weights of words: explain shows what the columns of a row "
            "add, and a model that reads counts, such as multinomial, has weights"
        )


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
    train = _train_pairs if options["model"] == "aode" else _train_likelihoods
    form = train(options, shape, analyzer.kinds, shape.values(rows), np.concatenate(labels))
    return ColumnsModel(counts, analyzer, shape, form, mark)


def _train_likelihoods(
    options: Mapping[str, Any], shape: Shape, kinds: Mapping[str, str], rows: list[dict[str, Any]], labels: Any
) -> ColumnsForm:
    analyzer = analyzer_of(AnalyzerSpec(name="universal", words=1))
    rules = rules_of(options["smoothing"], None, options["alpha"], _VAR_SMOOTHING, analyzer)
    names, columns = of_dicts(rows)
    encoded, weights = encode_labels(labels), np.ones(len(labels), np.int64)
    kinds = {name: "skip" if shape.forms[name] == "nothing" else kind for name, kind in kinds.items()}
    plans = plan_columns(names, columns, encoded[1], weights, Choices(dict(kinds)), rules)
    learned = count_columns(plans, columns, encoded, weights, rules)
    return ColumnsForm(ColumnLikelihoods(plans, learned, rules), kinds, options["prior"])


def _train_pairs(
    options: Mapping[str, Any], shape: Shape, kinds: Mapping[str, str], rows: list[dict[str, Any]], labels: Any
) -> PairsForm:
    names = list(shape.forms)
    for name in (name for name in names if kinds.get(name) == "text"):
        raise OptionError(
            f"aode reads categories and numbers, and the column {name!r} is text: use the model 'columns', or learn "
            "the table again and take the column for categorical or skip"
        )
    to_cut = [j for j, name in enumerate(names) if shape.forms[name] in ("number", "date")]
    sizes = [1 if j in to_cut else len({row[name] for row in rows} - {None}) for j, name in enumerate(names)]
    (classes, codes), weights, X = encode_labels(labels), np.ones(len(labels), np.int64), table_of(rows, names)
    check_pairs(sizes, len(classes), names)
    cuts = learn_cuts(X, to_cut, codes, weights)
    counts = count_value_pairs(X, codes, weights, len(classes), cuts)
    return PairsForm(Pairs(ClassCounts.of((classes, codes), weights, counts), options["m"]), names)


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


class Shape(NamedTuple):
    """The forms of the columns.

    Attributes
    ----------
    forms : dict from column to form
        "number", "boolean", "date", "string" or "nothing"; in the order in which columns were met.
    needed : tuple of str
        Those of them that every row had.
    """

    forms: dict[str, str]
    needed: tuple[str, ...]

    def values(self, rows: Sequence[Cells]) -> list[dict[str, Any]]:
        """The values of rows; columns that were never learned are left out.

        Raises
        ------
        TableError
            If a column is missing, or a cell is of another form than its column.
        """
        out = []
        for k, row in enumerate(rows):
            try:
                for name in (name for name in self.needed if name not in row):
                    has = f"every row that was learned has {some(map(repr, self.needed))}"
                    raise TableError(f"the column {name!r} is missing: {has}; null where there is no value")
                out.append({name: _value(name, row.get(name), form) for name, form in self.forms.items()})
            except TableError as error:
                raise TableError(error.problem, k) from None
        return out


def shape_of(rows: Sequence[Cells], kinds: Mapping[str, str]) -> Shape:
    """The forms of the columns of some rows.

    Examples
    --------
    >>> rows = [{"zip": "01234", "age": Number("39")}, {"zip": Number("99999"), "age": None}]
    >>> shape = shape_of(rows, {})
    >>> shape.values(rows)
    [{'zip': '01234', 'age': 39}, {'zip': '99999', 'age': None}]
    """
    found: dict[str, set[str]] = {}
    present: dict[str, int] = {}
    for row in rows:
        for name, cell in row.items():
            present[name] = present.get(name, 0) + 1
            seen = found.setdefault(name, set())
            if cell is not None:
                seen.add(_form(cell, may_be_date="string" not in seen))
    for name in kinds:
        if name not in found:
            known = f"the columns are {some(map(repr, found))}" if found else "there are no columns"
            raise OptionError(f"a kind is given for the column {name!r}, which no row has: {known}")
    forms = {name: _decided(seen, kinds.get(name)) for name, seen in found.items()}
    needed = [name for name, times in present.items() if times == len(rows) and forms[name] != "nothing"]
    return Shape(forms, tuple(needed))


def _form(cell: Cell, may_be_date: bool) -> str:
    if isinstance(cell, Number):
        return "number"
    if isinstance(cell, bool):
        return "boolean"
    return "date" if may_be_date and moment(cell or "") is not None else "string"


def _decided(seen: set[str], kind: str | None) -> str:
    if kind == "skip" or not seen:
        return "nothing"
    if kind in _GIVEN:
        return _GIVEN[kind]
    return next(iter(seen)) if len(seen) == 1 else "string"


def _value(name: str, cell: Cell, form: str) -> Any:
    if cell is None or form == "nothing":
        return None
    if form == "string":
        return written(cell)
    if form == "number" and isinstance(cell, (Number, bool)):
        return _number(cell)
    if form == "boolean" and isinstance(cell, bool):
        return cell
    if form == "date" and isinstance(cell, str) and (when := moment(cell)) is not None:
        return when
    raise TableError(
        f"the column {name!r} has {_SAID[form]} in the learned rows, not {written(cell)!r}: leave the cell empty, or "
        "learn the column as categorical or text"
    )


def _number(cell: Number | bool) -> int | float:
    try:
        return int(cell)
    except ValueError:
        return float(cell)
