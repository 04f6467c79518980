"""The likelihoods of columns, each a formula of one column: normal, categorical, words; `ColumnsNB` adds them up.

Gaussian: numbers are drawn from a normal distribution of their class.

    log p(x | c) = -½ log(2π v[c, j]) - (x - m[c, j])² / (2 v[c, j])        score[c] = log P(c) + sum over columns

    m[c, j], v[c, j]   mean and variance (÷ n) of column j in class c, from moments that merge:

    n = n₁ + n₂    m = m₁ + (m₂ - m₁) n₂ / n    M = M₁ + M₂ + (m₂ - m₁)² n₁ n₂ / n        v = M / n + ε

    ε                  `var_smoothing` times the largest variance of a column over all classes, as in scikit-learn

A class that never had a value in a column takes the mean and the variance of the column over all classes; a column that
never had a value says nothing.

Categorical: a column takes one of some values.

    P(x_j = v | c) = (n[v, c] + λ) / (N[c] + λ S)        score[c] = log P(c) + sum over columns of log P(x_j | c)

    n[v, c]   rows of class c whose column j has the value v, N[c] those where it has any
    S         values that column j can take: those that were seen, or more if the user says so

A value that was never seen has n = 0 in every class.  A value that is missing is skipped by both, in training and in
prediction.

A table has columns of several kinds:

    kind of column    parts
    text              words: multinomial
    categorical       value: categorical
    gaussian          value: normal in every class
    binned            value: categorical, of the bin between two borders
    date              weekday (0 is Monday, of 7) and month (of 12): categorical; days since 1970: normal
    skip              none

The user says the kind of a column, or a rule does (`plan_columns`).  Numbers that are to choose for themselves are
normal in every class or cut into bins, whichever foretells the class better:

    sum over rows i of log P(y_i | x_i), by a model of this column alone that was learned without row i

Nothing is learned again: without row i its class has one value less, and all else stays.  A row of weight 2 is two
rows, and one of them is left out.  The borders of the bins are quantiles of all values, row i among them.

John and Langley (1995); Chan, Golub, LeVeque (1979) for the moments.  Li Hang (2012), Statistical Learning Methods,
section 4.2, for categories.  Golden values: tests/golden/test_li_hang.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis.spec import KINDS
from bunrui.classcounts import (
    ROUNDING,
    ClassCounts,
    Encoded,
    Labels,
    SparseCounts,
    ValueCounts,
    count_cells,
    count_docs,
    encode_values,
    is_missing,
    settle,
)
from bunrui.engines.matrix import Features, count_features, look_up
from bunrui.errors import OptionError, UnlearnError
from bunrui.kernel.arithmetic import log
from bunrui.models.frames import Given, as_dates, as_days, as_numbers, as_texts, intervals, value_kind
from bunrui.models.linear import Table, log_sum_exp
from bunrui.models.multinomial import multinomial
from bunrui.models.scorer import Smoothing, positive, smoothing_on
from bunrui.models.view import MatrixView
from bunrui.sparse import Floats, Integers, Numbers, Sparse, count_by_class, sum_by_class

NUMERIC = ("gaussian", "binned", "choose")

_TEXT_ALPHA = 0.1
_LEAST = 1e-100


# Gaussian


class Moments(NamedTuple):
    """Weight of the values that are not missing, their mean, and the sum of squares around it: a part of `ClassCounts`.

    Each is (n_classes, n_columns).
    """

    n: Floats
    mean: Floats
    squares: Floats

    def refusal(self, other: Moments, whole_rows: bool) -> str | None:
        """Nothing of a mean can be taken back exactly."""
        return "means and variances cannot be taken back exactly: fit again, or pass exact=False"

    def over(self, places: Integers, n_classes: int) -> Moments:
        """The same among more classes."""
        wider = np.zeros((3, n_classes, self.n.shape[1]))
        wider[:, places] = self
        return Moments(*wider)

    def plus(self, other: Moments) -> Moments:
        """The moments of both.

        Examples
        --------
        >>> one, two = Moments(*np.array([[2.0], [3.0], [2.0]])), Moments(*np.array([[1.0], [9.0], [0.0]]))
        >>> [part.tolist() for part in one.plus(two)]  # of 2, 4 and 9
        [[3.0], [5.0], [26.0]]
        """
        n = self.n + other.n
        share = other.n / np.where(n > 0, n, 1.0)
        apart = other.mean - self.mean
        return Moments(n, self.mean + apart * share, self.squares + other.squares + apart**2 * self.n * share)

    def minus(self, other: Moments, classes: Labels, doc_count: Numbers) -> Moments:
        """Without some rows, to rounding."""
        n = settle(self.n - other.n, self.n)
        left = self._replace(n=n + other.n).without(other)
        # Rounding errors are those of the whole column: a class that has only zeros gets some from the others.
        size = (self.squares + self.n * self.mean**2).sum(axis=0)
        if (n < 0).any() or (left.squares < -ROUNDING * size).any():
            raise UnlearnError("this was never learned: it varies more, or has more rows, than those that were")
        return left._replace(squares=np.maximum(left.squares, 0.0))

    def keep(self, alive: npt.NDArray[np.bool_]) -> Moments:
        """Some classes."""
        return Moments(*(part[alive] for part in self))

    def without(self, other: Moments) -> Moments:
        """The moments without others that are part of them; right to rounding, which may be large."""
        n = self.n - other.n
        safe = np.where(n > 0, n, 1.0)
        mean = np.where(n > 0, (self.n * self.mean - other.n * other.mean) / safe, 0.0)
        apart = other.mean - mean
        squares = self.squares - other.squares - apart**2 * n * other.n / np.where(self.n > 0, self.n, 1.0)
        return Moments(n, mean, np.where(n > 0, squares, 0.0))

    def pooled(self) -> Moments:
        """The moments of all classes together, (1, n_columns)."""
        n = self.n.sum(axis=0, keepdims=True)
        mean = (self.n * self.mean).sum(axis=0, keepdims=True) / np.where(n > 0, n, 1.0)
        # Around the common mean the distances are small even where the mean is not.
        squares = (self.squares + self.n * (self.mean - mean) ** 2).sum(axis=0, keepdims=True)
        return Moments(n, mean, squares)

    def variance(self) -> Floats:
        """M / n; 0 where there is nothing."""
        return np.maximum(self.squares, 0.0) / np.where(self.n > 0, self.n, 1.0)


def dense_moments(X: Floats, codes: Integers, weights: Floats, n_classes: int) -> Moments:
    """The moments of the columns of an array, NaN skipped, in two passes."""
    there = ~np.isnan(X)
    n = sum_by_class(there.astype(np.float64), codes, weights, n_classes)
    # The columns' middle goes first: it keeps the digits of numbers that are far from 0 and near each other.
    middle = np.where(there.any(axis=0), np.nanmean(np.where(there.any(axis=0), X, 0.0), axis=0), 0.0)
    apart = np.where(there, X - middle, 0.0)
    mean = sum_by_class(apart, codes, weights, n_classes) / np.where(n > 0, n, 1.0)
    squares = sum_by_class(np.where(there, apart - mean[codes], 0.0) ** 2, codes, weights, n_classes)
    return Moments(n, np.where(n > 0, mean + middle, 0.0), squares)


def sparse_moments(X: Sparse, codes: Integers, weights: Floats, n_classes: int) -> Moments:
    """The moments of the columns of sparse rows, NaN skipped; zeros are not filled in."""
    missing = np.isnan(X.data)

    def summed(values: Floats) -> Floats:
        """The sum by class and column of values that stand where those of X do."""
        return np.asarray(count_by_class(X.with_data(values), codes, weights, n_classes).toarray().T)

    total = np.outer(np.bincount(codes, weights, n_classes), np.ones(X.shape[1]))
    n = total - summed(missing.astype(np.float64))
    present = summed((~missing).astype(np.float64))
    data = np.where(missing, 0.0, X.data)
    mean = summed(data) / np.where(n > 0, n, 1.0)
    own = mean[codes[X.row_of_cells()], X.indices]
    squares = summed(np.where(missing, 0.0, (data - own) ** 2)) + np.maximum(n - present, 0.0) * mean**2
    return Moments(n, mean, squares)


class Normals(NamedTuple):
    """A normal distribution for every class and column, each (n_classes, n_columns)."""

    mean: Floats
    variance: Floats
    precision: Floats  # 1 / variance, or 0 for a column that says nothing
    peak: Floats  # -½ log(2π variance), or 0

    def scores(self, X: Floats) -> Floats:
        """log p(row | class), (n_rows, n_classes); NaN adds nothing."""
        out = np.empty((len(X), len(self.mean)))
        there = ~np.isnan(X)
        for c, (mean, _, precision, peak) in enumerate(zip(*self, strict=True)):
            out[:, c] = np.where(there, peak - 0.5 * (X - mean) ** 2 * precision, 0.0).sum(axis=1)
        return out


def gaussian(moments: Moments, var_smoothing: float) -> tuple[Normals, float]:
    """The distributions, and ε."""
    pooled = moments.pooled()
    epsilon = var_smoothing * float(pooled.variance().max(initial=0.0))
    mean = np.where(moments.n > 0, moments.mean, pooled.mean)
    variance = np.where(moments.n > 0, moments.variance(), pooled.variance()) + epsilon
    # Where nothing varies at all, and ε is 0: so narrow that any other value is out, and the score still finite.
    variance = np.maximum(variance, _LEAST)
    known: Any = pooled.n > 0
    precision = np.where(known, 1.0 / variance, 0.0)
    return Normals(mean, variance, precision, np.where(known, -0.5 * np.log(2 * np.pi * variance), 0.0)), epsilon


# Categorical


def categorical(cells: npt.NDArray[Any], n_values: int, smoothing: Smoothing) -> Floats:
    """log P(v | c) of one column from n[v, c], (n_seen, n_classes); one more row for a value that was never seen."""
    below = log(positive(cells.sum(axis=0) + smoothing.value * n_values, smoothing))
    seen_or_not = np.concatenate([cells, np.zeros((1, cells.shape[1]), cells.dtype)])
    return log(np.maximum(seen_or_not, 0) + smoothing.value) - below


def score_values(column: npt.NDArray[Any], seen: dict[Any, int], table: Floats) -> Floats:
    """log P(v | c) of every row of a column, (n_rows, n_classes), by a table of `categorical`; 0 for a missing one."""
    places = encode_values(column, seen, grow=False)
    # Place -2 is a value that was never seen: the last row.
    scores = table[np.where(places == -2, len(table) - 1, places)]
    scores[places == -1] = 0.0
    return np.asarray(scores)


def count_values(X: npt.NDArray[Any], codes: Integers, weights: Numbers, n: int) -> ValueCounts:
    """n[v, c] of every column of an array, (n_rows, n_columns), for n classes."""
    if not weights.all():
        # A row without weight has no values either.
        X, codes, weights = (each[weights > 0] for each in (X, codes, weights))
    places: tuple[dict[Any, int], ...] = tuple({} for _ in range(X.shape[1]))
    tables = []
    for j, column in enumerate(places):
        found = encode_values(X[:, j], column, grow=True)
        there = found >= 0
        tables.append(np.zeros((len(column), n), weights.dtype))
        np.add.at(tables[-1], (found[there], codes[there]), weights[there])
    cells = np.concatenate(tables) if tables else np.zeros((0, n), weights.dtype)
    return ValueCounts(places, cells)


# Columns of a table


@dataclass(frozen=True)
class Plan:
    """The kind that a column is taken for; `edges` are the borders of bins."""

    name: str
    kind: str
    edges: tuple[float, ...] = ()

    def n_values(self, part: str) -> int | None:
        """How many values a categorical part can take; None for those that were seen."""
        return {"weekday": 7, "month": 12}.get(part, len(self.edges) + 1 if self.kind == "binned" else None)


class Rules(NamedTuple):
    """Parameters of the likelihoods."""

    text: Smoothing
    categories: Smoothing
    var_smoothing: float
    analyzer: Analyzer


def rules_of(smoothing: str, text_alpha: Any, alpha: Any, var_smoothing: float, analyzer: Analyzer) -> Rules:
    """The rules from the parameters of `ColumnsNB`."""
    usual = _TEXT_ALPHA if text_alpha is None and smoothing == "eap" else text_alpha
    text, categories = (smoothing_on(1, None, smoothing, value) for value in (usual, alpha))
    if not (text.is_single and categories.is_single):
        raise OptionError("alpha and text_alpha should be numbers")
    return Rules(text, categories, float(var_smoothing), analyzer)


def count_columns(
    plans: Sequence[Plan], columns: Sequence[Given], labels: Encoded, weights: Numbers, rules: Rules
) -> ClassCounts:
    """Count the parts of all columns; they are named by column and part."""
    parts: dict[Any, Any] = {}
    for plan, column in zip(plans, columns, strict=True):
        for part, values in _read_parts(plan, column):
            parts[plan.name, part] = _count_part(part, values, labels, weights, rules)
    return ClassCounts(labels[0], count_docs(labels, weights), parts)


class ColumnLikelihoods(NamedTuple):
    """The counts of all columns, with their kinds and rules."""

    plans: tuple[Plan, ...]
    learned: ClassCounts
    rules: Rules

    def scores(self, columns: Sequence[Given]) -> dict[str, Floats]:
        """log P(column | class) of every row, each (n_rows, n_classes)."""
        out = {}
        for plan, column in zip(self.plans, columns, strict=True):
            total = np.zeros((len(column.values), len(self.learned.classes)))
            for part, values in _read_parts(plan, column):
                total += self._part_scores(plan, part, values)
            out[plan.name] = total
        return out

    def _part_scores(self, plan: Plan, part: str, values: Any) -> Floats:
        """log P(value | class) of every row, (n_rows, n_classes); 0 where it is missing."""
        counts, rules = self.learned.parts[plan.name, part], self.rules
        if isinstance(counts, SparseCounts):
            return self._text_scores(plan.name, counts, values)
        if isinstance(counts, Moments):
            return gaussian(counts, rules.var_smoothing)[0].scores(values[:, None])
        seen = counts.places[0]
        table = categorical(counts.cells, plan.n_values(part) or len(seen), rules.categories)
        return score_values(np.asarray(values), seen, table)

    def _text_scores(self, name: str, counts: SparseCounts, texts: list[str]) -> Floats:
        learned, smoothing = self.learned, self.rules.text
        if not counts.words:
            return np.zeros((len(texts), len(learned.classes)))

        def make() -> tuple[Features, Table]:
            view = MatrixView(learned.doc_count, counts)
            table = Table(view, multinomial(view, smoothing, np.zeros(len(learned.classes))))
            return Features.of_words(counts.words or ()), table

        features, table = learned.once(("words", name), smoothing.value, make)
        return np.asarray(table.scores(look_up(texts, self.rules.analyzer, 1, features.table)))


def _read_parts(plan: Plan, column: Given) -> Iterator[tuple[str, Any]]:
    """The parts of a column with their values: numbers, strings, or names of categories."""
    name, kind, values = plan.name, plan.kind, column.values
    if kind == "text":
        yield "words", as_texts(name, values)
    elif kind == "categorical":
        yield "value", values
    elif kind == "gaussian":
        yield "number", as_numbers(name, values)
    elif kind == "binned":
        yield "bin", intervals(as_numbers(name, values), np.array(plan.edges))
    elif kind == "date":
        moments = as_dates(name, values)
        gone = np.isnat(moments)
        days = np.where(gone, 0, moments.astype("datetime64[D]").astype(np.int64))
        months = np.where(gone, 0, moments.astype("datetime64[M]").astype(np.int64))
        # The first of January 1970 was a Thursday.
        yield "weekday", np.where(gone, np.nan, (days + 3) % 7)
        yield "month", np.where(gone, np.nan, months % 12 + 1)
        yield "number", as_days(name, moments)


def _count_part(part: str, values: Any, labels: Encoded, weights: Numbers, rules: Rules) -> Any:
    """Count the rows of one part."""
    if part == "words":
        counted = count_features(values, rules.analyzer)
        order = counted.sorted_ids()
        columns = np.empty(counted.n_features, np.int32)
        columns[order] = np.arange(len(order))
        words = Features.of_vocabulary(counted.vocabulary, order).names
        return count_cells(counted.matrix(columns, len(order)), labels, weights, False, tuple(words)).part
    if part == "number":
        return dense_moments(values[:, None], labels[1], weights.astype(np.float64), len(labels[0]))
    return count_values(np.asarray(values)[:, None], labels[1], weights, len(labels[0]))


# Kinds of columns


class Choices(NamedTuple):
    """The parameters of `ColumnsNB` that decide."""

    columns: dict[str, str]
    numeric: str = "gaussian"
    n_bins: int = 10
    max_categories: int = 64


def plan_columns(
    names: list[str], columns: list[Given], codes: Integers, weights: Numbers, choices: Choices, rules: Rules
) -> tuple[Plan, ...]:
    """The kind of every column."""
    if choices.numeric not in NUMERIC:
        raise OptionError(f"numeric should be one of {', '.join(NUMERIC)}, not {choices.numeric!r}")
    for name, kind in choices.columns.items():
        if name not in names:
            raise OptionError(f"columns names {name!r}, which X does not have: it has {', '.join(names)}")
        if kind not in KINDS:
            raise OptionError(f"there is no kind {kind!r} of column: choose one of {', '.join(KINDS)}")
    plans = []
    for name, column in zip(names, columns, strict=True):
        weighty = Given(column.values[weights > 0], column.categorical)
        kind = choices.columns.get(name) or _kind(name, weighty, choices.max_categories)
        kind = choices.numeric if kind == "numeric" else kind
        if kind in ("binned", "choose"):
            plans.append(_cut(name, kind, as_numbers(name, column.values), codes, weights, choices.n_bins, rules))
        else:
            plans.append(Plan(name, kind))
    return tuple(plans)


def _kind(name: str, column: Given, max_categories: int) -> str:
    if column.categorical:
        return "categorical"
    kind = value_kind(name, column.values)
    if kind != "string":
        return {"number": "numeric", "boolean": "categorical", "date": "date", "nothing": "skip"}[kind]
    present = [value for value in column.values.tolist() if not is_missing(value)]
    distinct = len(set(present))
    return "categorical" if distinct <= max_categories and 2 * distinct <= len(present) else "text"


def _cut(name: str, kind: str, values: Any, codes: Integers, weights: Numbers, n_bins: int, rules: Rules) -> Plan:
    """Numbers that are cut, or, if they are to choose, are perhaps not."""
    edges = quantile_edges(values, weights, n_bins)
    if kind == "choose":
        docs = np.bincount(codes, weights)
        normal = loo_gaussian(values, codes, weights, docs, rules.var_smoothing)
        cut = loo_binned(intervals(values, edges), len(edges) + 1, codes, weights, docs, rules.categories.value)
        if not cut > normal:
            return Plan(name, "gaussian")
    return Plan(name, "binned", tuple(edges.tolist()))


def quantile_edges(values: Floats, weights: Numbers, n_bins: int) -> Floats:
    """Borders between bins of about the same weight, at most n_bins - 1; a value on a border is of the bin below.

    Examples
    --------
    >>> quantile_edges(np.array([1.0, 2, 3, 4, np.nan, 4]), np.ones(6), 2)
    array([3.])
    """
    there = ~np.isnan(values) & (weights > 0)
    distinct, back = np.unique(values[there], return_inverse=True)
    if len(distinct) < 2:
        return np.empty(0)
    share = np.cumsum(np.bincount(back.reshape(-1), weights[there].astype(np.float64)))
    wanted = share[-1] * np.arange(1, n_bins) / n_bins
    # Rounding must not push a border to the next value.
    places = np.searchsorted(share, wanted * (1 - 1e-12))
    return np.asarray(np.unique(distinct[places[places < len(distinct) - 1]]))


def loo_gaussian(values: Floats, codes: Integers, weights: Numbers, doc_count: Numbers, var_smoothing: float) -> float:
    """The sum for a normal distribution in every class."""

    def score(x: Floats, y: Integers, w: Floats, out: Floats) -> Floats:
        # Shifting changes nothing but the digits that are left after subtraction.
        x = x - (np.average(x, weights=w) if len(x) else 0.0)
        moments = dense_moments(x[:, None], y, w, len(doc_count))
        row = Moments(out, x, np.zeros(len(x)))
        pooled = Moments(*(np.broadcast_to(part[0, 0], x.shape) for part in moments.pooled())).without(row)
        parts = [np.tile(part[:, 0], (len(x), 1)) for part in moments]
        for part, left in zip(parts, Moments(*(part[:, 0][y] for part in moments)).without(row), strict=True):
            part[np.arange(len(x)), y] = left
        n, mean, squares = parts
        squares = np.maximum(squares, 0.0)
        spread = np.maximum(pooled.variance(), 0.0)[:, None]
        mean = np.where(n > 0, mean, pooled.mean[:, None])
        variance = np.where(n > 0, squares / np.where(n > 0, n, 1.0), spread) + var_smoothing * spread
        variance = np.maximum(variance, _LEAST)
        scores = -0.5 * np.log(2 * np.pi * variance) - 0.5 * (x[:, None] - mean) ** 2 / variance
        scores[pooled.n <= 0] = 0.0
        return scores

    return _foretell(values, codes, weights, doc_count, score)


def loo_binned(places: Floats, n_bins: int, codes: Integers, weights: Numbers, doc_count: Numbers, lam: float) -> float:
    """The sum for bins, which are values of a categorical column."""

    def score(x: Floats, y: Integers, w: Floats, out: Floats) -> Floats:
        at, cells = x.astype(np.int64), np.zeros((n_bins, len(doc_count)))
        np.add.at(cells, (at, y), w)
        counts, totals = cells[at], np.tile(cells.sum(axis=0), (len(at), 1))
        own = np.arange(len(at)), y
        counts[own] = np.maximum(counts[own] - out, 0.0)
        totals[own] = np.maximum(totals[own] - out, 0.0)
        return np.log(counts + lam) - np.log(totals + lam * n_bins)

    return _foretell(places, codes, weights, doc_count, score)


def _foretell(
    values: Floats, codes: Integers, weights: Numbers, doc_count: Numbers, score: Callable[..., Floats]
) -> float:
    """The sum, over the rows that have a value.

    `score` gives log P(x_i | c) without row i, (n_rows, n_classes), from the values, classes and weights of all rows,
    and the part of each weight that is left out.
    """
    there = ~np.isnan(values) & (weights > 0)
    x, y, w, docs = values[there], codes[there], weights[there].astype(np.float64), doc_count.astype(np.float64)
    out, own = np.minimum(w, 1.0), (np.arange(len(x)), y)
    left = np.tile(docs, (len(x), 1))
    left[own] = np.maximum(left[own] - out, 0.0)
    prior = np.full(left.shape, -np.inf)
    prior[left > 0] = np.log(left[left > 0])
    # Without its only row nobody could foretell a class; that row is still one by which others are foretold.
    scored = docs[y] > out * (1 + 1e-9)
    joint = (score(x, y, w, out) + prior)[scored]
    logs = joint - log_sum_exp(joint)
    return float(w[scored] @ logs[np.arange(len(logs)), y[scored]])
