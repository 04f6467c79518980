"""Columns of tables: categories (`CategoricalNB`), numbers (`GaussianNB`), or any kinds together (`ColumnsNB`).

`models/likelihoods.py` has the formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from bunrui.analysis import Analyzer, analyzer_of
from bunrui.analysis.analyzer import FunctionAnalyzer
from bunrui.classcounts import ClassCounts, Encoded, Labels, encode_labels, in_order
from bunrui.errors import DataError, MismatchError, OptionError, check_whole
from bunrui.estimators.base import (
    NAMES,
    CountingClassifier,
    SmoothingClassifier,
    as_objects,
    canonical,
    check_discrete,
    check_number,
    check_weights,
)
from bunrui.estimators.tokenize import spec_of
from bunrui.models.frames import Given, columns_by_name, is_frame, of_dicts, of_frame
from bunrui.models.likelihoods import (
    Choices,
    ColumnLikelihoods,
    Normals,
    Plan,
    Rules,
    categorical,
    count_columns,
    count_values,
    dense_moments,
    gaussian,
    plan_columns,
    rules_of,
    score_values,
    sparse_moments,
)
from bunrui.models.scorer import Smoothing, column_names, smoothing_on
from bunrui.sparse import Floats, Numbers, Sparse

# In a sparse matrix, columns whose mean is more than ten deviations from 0 are read with their zeros: the part of a
# score that comes from a zero would swallow the digits of the part that comes from the value.
_FAR = 100.0


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(SmoothingClassifier):
    """Categorical naive Bayes, in place of scikit-learn's.

    In addition: values may be strings or any numbers, new values at any time, missing values, `merge` and `unlearn`.

    Parameters
    ----------
    alpha : float, optional
        λ of `smoothing="eap"`, by default 1; α of `"map"`, by default 1.0001.  0 is no smoothing, as `"mle"`.
    force_alpha, fit_prior, class_prior, prior
        As those of `MultinomialNB`.
    min_categories : int or (n_features,) array of int, optional
        The smallest number of values of a column.  By default the number of seen values.
    smoothing : {"eap", "map", "mle"}
        The estimator of P(value | class): (n + λ) / (N + λS), (n + α - 1) / (N + (α - 1)S), or n / N.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`.
    categories_ : list of list
        The values of every column, sorted if they can be.
    category_count_, feature_log_prob_ : list of (n_classes, n_values)
        Rows by class and value, and log P(value | class), for seen values in the order of `categories_`.  In
        scikit-learn, values are codes: it has columns of zeros for unseen codes below the largest, and for
        `min_categories`.
    n_categories_ : (n_features,)
        S of every column.

    Notes
    -----
    A new value gets the smoothed probability of 0 rows, λ / (N + λS).  A missing value (None, NaN, or that of pandas)
    is skipped, in training and in prediction.  Values are equal if Python says so: 1 and 1.0 are one value, "1" is
    another.

    Examples
    --------
    >>> X = [["sun", 1], ["sun", 2], ["rain", 2]]
    >>> clf = CategoricalNB().fit(X, ["out", "out", "in"])
    >>> clf.predict([["rain", 2], ["snow", 1], [None, 1]]).tolist()
    ['in', 'out', 'out']
    >>> clf.categories_
    [['rain', 'sun'], [1, 2]]
    """

    _takes: ClassVar[dict[str, bool]] = NAMES
    _accepted: ClassVar[dict[str, Any]] = {"dtype": None, "ensure_all_finite": False}

    min_categories: Any = None
    prior: Any = "empirical"

    def _given(self, X: Any) -> Any:
        return as_objects(X)

    def _count(self, X: Any, labels: Encoded, weights: Numbers) -> ClassCounts:
        return ClassCounts.of(labels, weights, count_values(np.asarray(X), labels[1], weights, len(labels[0])))

    def check_parameters(self, learned: ClassCounts) -> None:
        self._smoothing(warn=True)
        self._sizes(learned)
        self.log_prior_of(learned)

    def _smoothing(self, warn: bool = False) -> Smoothing:
        smoothing = smoothing_on(self.n_features_in_, None, self.smoothing, self.alpha, self.force_alpha, warn)
        if not smoothing.is_single:
            raise OptionError(option="alpha", value=self.alpha, expected="one number for all values")
        return smoothing

    def _sizes(self, learned: ClassCounts) -> npt.NDArray[np.int64]:
        """S of every column."""
        seen: npt.NDArray[np.int64] = learned.part.sizes
        if self.min_categories is None:
            return seen
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu" or least.shape not in ((), seen.shape) or (least < 0).any():
            expected = f"a whole number, or one for each of {len(seen)} columns"
            raise OptionError(option="min_categories", value=self.min_categories, expected=expected)
        return np.asarray(np.maximum(seen, least), np.int64)

    def _tables(self) -> list[Floats]:
        """log P(value | class) of every column, (n_values + 1, n_classes); the last for a value that was never seen."""
        learned, smoothing, sizes = self._learned, self._smoothing(), self._sizes(self._learned)

        def make() -> list[Floats]:
            return [categorical(learned.part.column(j), size, smoothing) for j, size in enumerate(sizes.tolist())]

        tables: list[Floats] = learned.once("tables", (smoothing.value, sizes.tobytes()), make)
        return tables

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log P(class, row), (n_rows, n_classes)."""
        X = np.asarray(self._checked(X))
        prior = self.log_prior_of(self._learned)
        scores = np.zeros((len(X), len(prior)))
        for j, (column, table) in enumerate(zip(self._learned.part.places, self._tables(), strict=True)):
            scores += score_values(X[:, j], column, table)
        return np.asarray(scores + prior)

    @property
    def n_categories_(self) -> npt.NDArray[np.int64]:
        """S of every column, (n_features,)."""
        return self._sizes(self._known("n_categories_"))

    @property
    def categories_(self) -> list[list[Any]]:
        """The values of every column, sorted if they can be."""
        return [in_order(column)[0] for column in self._known("categories_").part.places]

    @property
    def category_count_(self) -> list[Floats]:
        """Rows by class and value of every column, each (n_classes, n_values)."""
        counts = self._known("category_count_").part
        columns = enumerate(counts.places)
        return [counts.column(j)[in_order(column)[1]].T.astype(np.float64) for j, column in columns]

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """log P(value | class) of every column, each (n_classes, n_values)."""
        columns = self._known("feature_log_prob_").part.places
        return [table[in_order(column)[1]].T for column, table in zip(columns, self._tables(), strict=True)]


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(CountingClassifier):
    """Gaussian naive Bayes, in place of scikit-learn's.

    In addition: sparse input that stays sparse, missing values, new classes at any time, and `merge`.

    Parameters
    ----------
    priors : (n_classes,) array, optional
        P(class) in the order of `classes_`; goes before `prior`.
    var_smoothing : float
        This share of the largest variance of a column is added to all variances.
    prior
        As that of `MultinomialNB`.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`.
    class_prior_ : (n_classes,)
    theta_, var_ : (n_classes, n_features)
        Mean and variance.
    epsilon_ : float
        The number that is added to the variances.  It comes from all learned rows, with their weights; scikit-learn
        takes the rows of the last call, without weights.

    Notes
    -----
    NaN is a missing value and skipped, in training and in prediction.  A class without any value in a column takes the
    mean and the variance of the whole column; a column without any value says nothing.

    Moments merge to rounding (about 1e-12).  `unlearn` needs `exact=False`, because a mean cannot be taken back
    exactly.

    Examples
    --------
    >>> clf = GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"])
    >>> clf.predict([[0.5], [7.0], [float("nan")]]).tolist()
    ['low', 'high', 'high']
    >>> clf.theta_.tolist()
    [[8.5], [1.5]]
    """

    _takes: ClassVar[dict[str, bool]] = {"sparse": True, "allow_nan": True}
    _is_poor = False
    _accepted: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr",
        "dtype": np.float64,
        "ensure_all_finite": "allow-nan",
    }

    priors: Any = None
    var_smoothing: float = 1e-9
    prior: Any = "empirical"

    @property
    def class_prior(self) -> Any:
        """scikit-learn has another name for it here."""
        return self.priors

    def _count(self, X: Any, labels: Encoded, weights: Numbers) -> ClassCounts:
        X = canonical(X)
        rows = (labels[1], weights.astype(np.float64), len(labels[0]))
        moments = sparse_moments(Sparse.of(X), *rows) if sparse.issparse(X) else dense_moments(X, *rows)
        return ClassCounts.of(labels, weights, moments)

    def check_parameters(self, learned: ClassCounts) -> None:
        check_number("var_smoothing", self.var_smoothing)
        self.log_prior_of(learned)

    def log_prior_of(self, learned: ClassCounts) -> Floats:
        if self.priors is not None and not np.isclose(np.sum(self.priors), 1.0):
            hint = f"divide them by their sum, {np.sum(self.priors):g}"
            raise OptionError(option="priors", value=self.priors, expected="numbers with the sum 1", hint=hint)
        return super().log_prior_of(learned)

    def _normals(self, name: str) -> tuple[Normals, float]:
        """Means and variances, and ε; an error says that it has no `name` before it has learned."""
        learned, share = self._known(name), float(self.var_smoothing)
        normals: tuple[Normals, float] = learned.once("normals", share, lambda: gaussian(learned.part, share))
        return normals

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log p(class, row), (n_rows, n_classes)."""
        X = canonical(self._checked(X))
        normals, _ = self._normals("theta_")
        prior = self.log_prior_of(self._learned)
        if not sparse.issparse(X):
            return prior + normals.scores(X)
        far = (normals.mean**2 * normals.precision > _FAR).any(axis=0)
        scores = prior + _sparse_scores(X[:, ~far], Normals(*(part[:, ~far] for part in normals)))
        if far.any():
            scores += Normals(*(part[:, far] for part in normals)).scores(X[:, far].toarray())
        return scores

    @property
    def theta_(self) -> Floats:
        """Means, (n_classes, n_features)."""
        return self._normals("theta_")[0].mean

    @property
    def var_(self) -> Floats:
        """Variances, ε included, (n_classes, n_features)."""
        return self._normals("var_")[0].variance

    @property
    def epsilon_(self) -> float:
        """The number that was added to the variances."""
        return self._normals("epsilon_")[1]

    @property
    def class_prior_(self) -> Floats:
        """P(class), (n_classes,)."""
        return np.exp(self.log_prior_of(self._known("class_prior_")))


def _sparse_scores(X: Any, normals: Normals) -> Floats:
    """`Normals.scores` of a csr_array: the score of a row of zeros, corrected where there are values."""
    mean, _, precision, peak = normals
    zero = peak - 0.5 * mean**2 * precision
    missing = np.isnan(X.data)
    values = sparse.csr_array((np.where(missing, 0.0, X.data), X.indices, X.indptr), shape=X.shape)
    gone = sparse.csr_array((missing.astype(np.float64), X.indices, X.indptr), shape=X.shape)
    # (x - m)² - m² = x² - 2xm
    corrections = values @ (mean * precision).T - 0.5 * (values.power(2) @ precision.T)
    return np.asarray(zero.sum(axis=1) + corrections - gone @ zero.T)


@dataclass(frozen=True)
class ColumnsExplanation:
    """The scores of one row, taken apart by columns.

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
        """The share of each column in one label against another, the most telling first; above 0 it is for `label`."""
        names = self.classes.tolist()
        for each in (label, other):
            if each not in names:
                raise OptionError(f"there is no class {each!r}", option="label", value=each, choices=map(str, names))
        a, b = names.index(label), names.index(other)
        odds = {name: float(part[a] - part[b]) for name, part in self.columns.items()}
        return dict(sorted(odds.items(), key=lambda item: -abs(item[1])))


@dataclass(kw_only=True, eq=False, repr=False)
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

    columns: Mapping[str, str] | None = None
    numeric: str = "gaussian"
    n_bins: int = 10
    max_categories: int = 64
    analyzer: Any = "universal"
    smoothing: str = "eap"
    text_alpha: float | None = None
    alpha: float | None = None
    var_smoothing: float = 1e-9
    prior: Any = "empirical"
    class_prior: Any = None

    _plans: tuple[Plan, ...] = field(init=False)
    _shape: ClassVar[tuple[str, ...]] = (*CountingClassifier._shape, "_plans")

    # Tables

    def _table(self, X: Any, reset: bool) -> tuple[list[str], list[Given]]:
        """Names and columns, in the order of those that were learned."""
        if is_frame(X):
            validate_data(self, X, "no_validation", reset=reset, skip_check_array=True)
            names, columns = of_frame(X)
        elif isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
            # Dicts have no order of their own.
            names, columns = of_dicts(X)
            if reset:
                self.feature_names_in_, self.n_features_in_ = np.array(names, dtype=object), len(names)
            else:
                columns = columns_by_name(names, columns, [plan.name for plan in self._plans])
        else:
            X = validate_data(self, as_objects(X), "no_validation", reset=reset, dtype=None, ensure_all_finite=False)
            names, columns = column_names(X.shape[1]), [Given(values) for values in np.asarray(X).T]
        if not columns or not len(columns[0].values):
            raise DataError("X should have a row and a column at least: there is nothing to read")
        return names if reset else [plan.name for plan in self._plans], columns

    # Kinds

    @property
    def columns_(self) -> dict[str, str]:
        """The kind of every column."""
        self._known("columns_")
        return {plan.name: plan.kind for plan in self._plans}

    @classmethod
    def of_model(cls, model: ColumnLikelihoods, **parameters: Any) -> Self:
        """A fitted estimator from the counts of dicts."""
        self = cls.of_learned(model.learned, len(model.plans), **parameters)
        self._plans = model.plans
        self.feature_names_in_ = np.array([plan.name for plan in model.plans], dtype=object)
        return self

    # Learning

    def _check_shapes(self, other: Self) -> None:
        super()._check_shapes(other)
        for mine, theirs in zip(self._plans, other._plans, strict=True):
            if mine != theirs:
                how = f"{mine.kind} and {theirs.kind}" if mine.kind != theirs.kind else "cut at other borders"
                raise MismatchError(f"the column {mine.name!r} is {how}: say what it is with columns=, or fit together")

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> ClassCounts:
        if not reset:
            self._check_options()
        for name in ("n_bins", "max_categories"):
            check_whole(name, getattr(self, name))
        if self.columns is not None and not isinstance(self.columns, Mapping):
            raise OptionError(option="columns", value=self.columns, expected="a mapping from name to kind")
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

    def _count(self, X: Any, labels: Encoded, weights: Numbers) -> ClassCounts:
        return count_columns(self._plans, X, labels, weights, self._rules())

    # Parameters

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
        return ColumnLikelihoods(self._plans, self._learned, self._rules()).scores(self._table(X, reset=False)[1])

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log P(class, row), (n_rows, n_classes)."""
        columns = self._contributions(X)
        return np.asarray(sum(columns.values(), self.class_log_prior_))

    def explain(self, row: Any) -> ColumnsExplanation:
        """Take the scores of one row apart, a dict or a table with one row: the share of each column.

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
