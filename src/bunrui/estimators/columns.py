"""`ColumnsNB`: one naive Bayes over a table whose columns are texts, categories, numbers and dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from bunrui.analysis import Analyzer, analyzer_of
from bunrui.analysis.analyzer import FunctionAnalyzer
from bunrui.classcounts import ClassCounts, Labels, encode_labels
from bunrui.errors import DataError, MismatchError, OptionError, check_whole
from bunrui.estimators.base import (
    NAMES,
    Codes,
    CountingClassifier,
    check_discrete,
    check_number,
    check_weights,
    keep_parameters,
)
from bunrui.estimators.tokenize import spec_of
from bunrui.models.frames import Given, columns_by_name, is_frame, of_dicts, of_frame
from bunrui.models.likelihoods import Choices, ColumnLikelihoods, Plan, Rules, count_columns, plan_columns, rules_of
from bunrui.models.scorer import column_names

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ColumnsExplanation:
    """What each column adds to the scores of one row.

    Attributes
    ----------
    label : object
        The label that is predicted.
    classes : (n_classes,)
    prior : (n_classes,)
        log P(class).
    columns : dict from name to (n_classes,)
        log P(value | class) of every column, in the order of the table; 0 where the value is missing.
    scores : (n_classes,)
        The prior and all columns, added up from left to right.
    """

    label: Any
    classes: Labels
    prior: Floats
    columns: dict[str, Floats]
    scores: Floats

    def between(self, label: Any, other: Any) -> dict[str, float]:
        """What each column adds to one label against another, the most telling first; above 0 it is for `label`."""
        names = self.classes.tolist()
        for each in (label, other):
            if each not in names:
                raise OptionError(f"there is no class {each!r}", option="label", value=each, choices=map(str, names))
        a, b = names.index(label), names.index(other)
        odds = {name: float(part[a] - part[b]) for name, part in self.columns.items()}
        return dict(sorted(odds.items(), key=lambda item: -abs(item[1])))


class ColumnsNB(CountingClassifier):
    """Naive Bayes over a table: every column has its own likelihood, and their logarithms add up.

    Parameters
    ----------
    columns : mapping from name to kind, optional
        The kinds of some columns; the rule below decides the others: "text", "categorical", "numeric" (see `numeric`),
        "gaussian", "binned", "date" or "skip".
    numeric : {"gaussian", "binned", "choose"}
        Numbers are normal in every class, or cut at quantiles.  "choose" takes the better one for each column: the one
        with the larger sum of log P(class | value) over the rows, each predicted by this column alone and without
        itself (exact leave-one-out; the borders are those of all rows).
    n_bins : int
        The largest number of bins.
    max_categories : int
        The largest number of values of a categorical column of strings.
    analyzer : str or AnalyzerSpec
        How texts become features, as in `TextVectorizer`.
    smoothing : {"eap", "map", "mle"}
        The estimator of P(word | class) and of P(value | class).
    text_alpha, alpha : float, optional
        λ of texts, by default 0.1, and of categories and bins, by default 1; α of `"map"`, by default 1.0001.
    var_smoothing : float
        This share of the variance of a column is added to its variance in every class.
    prior : {"empirical", "uniform", "smoothed"}, ("smoothed", λ) or mapping from label to probability
    class_prior : (n_classes,) array, optional
        P(class) in the order of `classes_`; goes before `prior`.

    Attributes
    ----------
    columns_ : dict from name to kind
        "text", "categorical", "gaussian", "binned", "date" or "skip".
    classes_, class_count_, class_log_prior_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`.

    Notes
    -----
    X is a data frame of pandas or polars, a list of dicts, or an array, whose columns are x0, x1, ...  The rule is
    applied once, to the first rows that are learned (those without weight left out):

    - numbers (durations too, in days) are `numeric`; booleans and columns with a type of categories `categorical`
    - strings are `categorical` if they have at most `max_categories` distinct values, and no more than half as many as
      there are values; else `text`.  Strings that look like dates or numbers are strings
    - dates and times are `date`: weekday and month as categories, days since 1970 as a number.  Time zones are dropped
    - a column without a single value is `skip`

    A missing value (None, NaN, NaT, NA) adds nothing, in training and in prediction; nor does a new word.  A new
    category gets the smoothed probability of 0 rows.

    `partial_fit` and `merge` keep the kinds and borders of the first rows; estimators with other ones cannot be merged.
    `unlearn` is exact for texts, categories and bins; numbers and dates need `exact=False`.

    Examples
    --------
    >>> rows = [{"text": "cheap pills", "size": 1.0}, {"text": "see you at noon", "size": 3.1},
    ...         {"text": "cheap watches", "size": 1.2}, {"text": "lunch at noon?", "size": 2.9}]
    >>> clf = ColumnsNB().fit(rows, ["spam", "ham", "spam", "ham"])
    >>> clf.columns_
    {'text': 'text', 'size': 'gaussian'}
    >>> clf.predict([{"text": "noon", "size": None}, {"text": None, "size": 1.1}]).tolist()
    ['ham', 'spam']
    >>> list(clf.explain({"text": "noon", "size": 2.8}).between("ham", "spam"))
    ['size', 'text']
    """

    _takes: ClassVar[dict[str, bool]] = NAMES
    _is_poor = False
    _counting: ClassVar[tuple[str, ...]] = ("columns", "numeric", "n_bins", "max_categories", "analyzer")
    _plans: tuple[Plan, ...]

    def __init__(
        self,
        *,
        columns: Mapping[str, str] | None = None,
        numeric: str = "gaussian",
        n_bins: int = 10,
        max_categories: int = 64,
        analyzer: Any = "universal",
        smoothing: str = "eap",
        text_alpha: float | None = None,
        alpha: float | None = None,
        var_smoothing: float = 1e-9,
        prior: Any = "empirical",
        class_prior: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    # Tables

    def _table(self, X: Any, reset: bool) -> tuple[list[str], list[Given]]:
        """Names and columns, in the order of those that were learned."""
        if is_frame(X):
            validate_data(self, X, "no_validation", reset=reset, skip_check_array=True)
            names, columns = of_frame(X)
        elif isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
            names, columns = of_dicts(X)
            columns = self._by_name(names, columns, reset)
        else:
            # Of a list with strings and numbers NumPy would make strings.
            X = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X
            X = validate_data(self, X, "no_validation", reset=reset, dtype=None, ensure_all_finite=False)
            names, columns = column_names(X.shape[1]), [Given(values) for values in np.asarray(X).T]
        if not columns or not len(columns[0].values):
            raise DataError("X should have a row and a column at least: there is nothing to read")
        return names if reset else [plan.name for plan in self._plans], columns

    def _by_name(self, names: list[str], columns: list[Given], reset: bool) -> list[Given]:
        """Columns of dicts, which have no order of their own."""
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
            return columns
        return columns_by_name(names, columns, [plan.name for plan in self._plans])

    # Kinds

    @property
    def columns_(self) -> dict[str, str]:
        """The kind of every column."""
        self._known("columns_")
        return {plan.name: plan.kind for plan in self._plans}

    @classmethod
    def of_model(cls, model: ColumnLikelihoods, **parameters: Any) -> Self:
        """A fitted estimator from what rows of dicts have added up to."""
        self = cls.of_learned(model.learned, len(model.plans), **parameters)
        self._plans = model.plans
        self.feature_names_in_ = np.array([plan.name for plan in model.plans], dtype=object)
        return self

    # Learning

    def merge(self, other: Self) -> Self:
        """Learn what another estimator has learned from other rows of the same columns; see the notes."""
        first = not hasattr(self, "_learned")
        super().merge(other)
        if first:
            self._plans = other._plans
        return self

    def _check_joins(self, other: Self) -> None:
        super()._check_joins(other)
        if not hasattr(self, "_learned"):
            return
        for mine, theirs in zip(self._plans, other._plans, strict=True):
            if mine != theirs:
                how = f"{mine.kind} and {theirs.kind}" if mine.kind != theirs.kind else "cut at other borders"
                raise MismatchError(f"the column {mine.name!r} is {how}: say what it is with columns=, or fit together")

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> ClassCounts:
        if not reset:
            self._check_options()
        self._check_choices()
        if y is None:
            validate_data(self, X, None)  # which refuses, in the words of scikit-learn
        names, columns = self._table(X, reset)
        y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None, input_name="y")
        check_discrete(y)
        check_consistent_length(columns[0].values, y)
        weights = check_weights(sample_weight, len(y))
        labels = encode_labels(y)
        if reset:
            choices = Choices(dict(self.columns or {}), self.numeric, int(self.n_bins), int(self.max_categories))
            self._plans = plan_columns(names, columns, labels[1], weights, choices, self._rules())
        return self._count(columns, labels, weights)

    def _count(self, X: Any, labels: tuple[Labels, Codes], weights: npt.NDArray[Any]) -> ClassCounts:
        return count_columns(self._plans, X, labels, weights, self._rules())

    # Parameters

    def _check_choices(self) -> None:
        for name in ("n_bins", "max_categories"):
            check_whole(name, getattr(self, name))
        if self.columns is not None and not isinstance(self.columns, Mapping):
            raise OptionError(option="columns", value=self.columns, expected="a mapping from name to kind")

    def _rules(self) -> Rules:
        check_number("var_smoothing", self.var_smoothing)
        if callable(self.analyzer):
            analyzer: Analyzer = FunctionAnalyzer(self.analyzer, name="function", fingerprint="")
        else:
            analyzer = analyzer_of(spec_of(self.analyzer))
        return rules_of(self.smoothing, self.text_alpha, self.alpha, self.var_smoothing, analyzer)

    def check_parameters(self, learned: ClassCounts) -> None:
        self._rules()
        self.log_prior_of(learned)

    # Predicting

    def _contributions(self, X: Any) -> dict[str, Floats]:
        """log P(column | class) of every row, each (n_rows, n_classes)."""
        check_is_fitted(self)
        self._check_options()
        _, columns = self._table(X, reset=False)
        return ColumnLikelihoods(self._plans, self._learned, self._rules()).scores(columns)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log P(class, row), (n_rows, n_classes)."""
        columns = self._contributions(X)
        return np.asarray(sum(columns.values(), self.log_prior_of(self._learned)))

    def explain(self, row: Any) -> ColumnsExplanation:
        """What each column of one row adds to its scores: a dict, or a table with one row.

        Examples
        --------
        >>> clf = ColumnsNB().fit([{"n": 1.0}, {"n": 2.0}, {"n": 8.0}], ["low", "low", "high"])
        >>> found = clf.explain({"n": 1.5})
        >>> found.label, bool((found.prior + found.columns["n"] == found.scores).all())
        ('low', True)
        """
        columns = self._contributions([row] if isinstance(row, Mapping) else row)
        n_rows = len(next(iter(columns.values())))
        if n_rows != 1:
            raise DataError(f"explain takes one row, not {n_rows}")
        prior = self.log_prior_of(self._learned)
        single = {name: part[0] for name, part in columns.items()}
        scores = np.asarray(sum(single.values(), prior))
        return ColumnsExplanation(self.classes_.tolist()[int(scores.argmax())], self.classes_, prior, single, scores)
