"""The likelihoods that `ColumnsNB` adds up: numbers, categories and texts, each a function of one column.

    kind of column    parts
    text              words: multinomial
    categorical       value: categorical
    gaussian          value: normal in every class
    binned            value: categorical, of the bin between two borders
    date              weekday (0 is Monday, of 7) and month (of 12): categorical; days since 1970: normal
    skip              none

What a column is taken for, the user says, or a rule does (`plan_columns`).  Numbers that are to choose for themselves
are normal in every class or cut into bins, by what foretells the class better:

    sum over rows i of log P(y_i | x_i), by a model of this column alone that was learned without row i

Nothing is learned again: without row i its class has one value less, and all else stays.  A row of weight 2 is two
rows, of which one is left out.  The borders of the bins are quantiles of all values, row i among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis.spec import KINDS
from bunrui.classcounts import (
    ClassCounts,
    Labels,
    SparseCounts,
    count_cells,
    count_docs,
    encode_values,
    is_missing,
)
from bunrui.engines.matrix import Features, count_features, look_up, sorted_ids
from bunrui.errors import OptionError
from bunrui.models.categorical import categorical, count_values
from bunrui.models.frames import Given, as_dates, as_days, as_numbers, as_texts, value_kind
from bunrui.models.gaussian import Moments, dense_moments, gaussian
from bunrui.models.linear import log_sum_exp
from bunrui.models.mdl import intervals
from bunrui.models.multinomial import multinomial
from bunrui.models.scorer import Smoothing, smoothing_on
from bunrui.models.table import MatrixView, Table

__all__ = ["Choices", "ColumnLikelihoods", "Plan", "Rules", "count_columns", "plan_columns", "rules_of"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

NUMERIC = ("gaussian", "binned", "choose")

_TEXT_ALPHA = 0.1
_LEAST = 1e-100


@dataclass(frozen=True)
class Plan:
    """What a column is taken for; `edges` are the borders of bins."""

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


# Counting and scoring


def count_columns(
    plans: Sequence[Plan],
    columns: Sequence[Given],
    labels: tuple[Labels, Codes],
    weights: npt.NDArray[Any],
    rules: Rules,
) -> ClassCounts:
    """Count the parts of all columns; they are named by column and part."""
    parts: dict[Any, Any] = {}
    for plan, column in zip(plans, columns, strict=True):
        for part, values in _read_parts(plan, column):
            parts[plan.name, part] = _count_part(part, values, labels, weights, rules)
    return ClassCounts(labels[0], count_docs(labels, weights), parts)


class ColumnLikelihoods(NamedTuple):
    """What was learned of all columns."""

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
            normals, _ = gaussian(counts, rules.var_smoothing)
            x = values[:, None]
            scores = normals.peak[:, 0] - 0.5 * (x - normals.mean[:, 0]) ** 2 * normals.precision[:, 0]
            return np.where(np.isnan(x), 0.0, scores)
        seen = counts.places[0]
        table = categorical(counts.cells, plan.n_values(part) or len(seen), rules.categories)
        places = encode_values(np.asarray(values), seen, grow=False)
        # Place -2 is a value that was never seen: the last row.
        scores = table[np.where(places == -2, len(table) - 1, places)]
        scores[places == -1] = 0.0
        return np.asarray(scores)

    def _text_scores(self, name: str, counts: SparseCounts, texts: list[str]) -> Floats:
        learned, smoothing = self.learned, self.rules.text
        if not counts.words:
            return np.zeros((len(texts), len(learned.classes)))
        kept = learned.memo.get(("words", name))
        if kept is None or kept[0] != smoothing.value:
            view = MatrixView(learned.doc_count, counts)
            table = Table(view, multinomial(view, smoothing, np.zeros(len(learned.classes))))
            kept = learned.memo["words", name] = (smoothing.value, Features.of_words(counts.words), table)
        _, features, table = kept
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


def _count_part(part: str, values: Any, labels: tuple[Labels, Codes], weights: npt.NDArray[Any], rules: Rules) -> Any:
    """What the rows of one part add."""
    if part == "words":
        counted = count_features(values, rules.analyzer)
        order = sorted_ids(counted.vocabulary)
        columns = np.empty(counted.n_features, np.int32)
        columns[order] = np.arange(len(order))
        words = Features.of_vocabulary(counted.vocabulary, order).names
        return count_cells(counted.matrix(columns, len(order)), labels, weights, False, tuple(words)).part
    if part == "number":
        return dense_moments(values[:, None], labels[1], weights.astype(np.float64), len(labels[0]))
    return count_values(np.asarray(values)[:, None], labels[1], weights, len(labels[0]))


# What columns are taken for


class Choices(NamedTuple):
    """The parameters of `ColumnsNB` that decide."""

    columns: dict[str, str]
    numeric: str = "gaussian"
    n_bins: int = 10
    max_categories: int = 64


def plan_columns(
    names: list[str], columns: list[Given], codes: Codes, weights: npt.NDArray[Any], choices: Choices, rules: Rules
) -> tuple[Plan, ...]:
    """What every column is taken for."""
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


def _cut(name: str, kind: str, values: Any, codes: Codes, weights: npt.NDArray[Any], n_bins: int, rules: Rules) -> Plan:
    """Numbers that are cut, or, if they are to choose, are perhaps not."""
    edges = quantile_edges(values, weights, n_bins)
    if kind == "choose":
        docs = np.bincount(codes, weights)
        normal = loo_gaussian(values, codes, weights, docs, rules.var_smoothing)
        cut = loo_binned(intervals(values, edges), len(edges) + 1, codes, weights, docs, rules.categories.value)
        if not cut > normal:
            return Plan(name, "gaussian")
    return Plan(name, "binned", tuple(edges.tolist()))


def quantile_edges(values: Floats, weights: npt.NDArray[Any], n_bins: int) -> Floats:
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


def loo_gaussian(
    values: Floats, codes: Codes, weights: npt.NDArray[Any], doc_count: npt.NDArray[Any], var_smoothing: float
) -> float:
    """The sum for a normal distribution in every class."""
    rows = _present(values, codes, weights, doc_count)
    x, y = rows.x, rows.y
    # Shifting changes nothing but the digits that are left after subtraction.
    x = x - (np.average(x, weights=rows.w) if len(x) else 0.0)
    moments = dense_moments(x[:, None], y, rows.w, len(rows.docs))
    row = Moments(rows.out, x, np.zeros(len(x)))
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
    return _foretold(scores, rows)


def loo_binned(
    places: Floats, n_bins: int, codes: Codes, weights: npt.NDArray[Any], doc_count: npt.NDArray[Any], lam: float
) -> float:
    """The sum for bins, which are values of a categorical column."""
    rows = _present(places, codes, weights, doc_count)
    at, y = rows.x.astype(np.int64), rows.y
    cells = np.zeros((n_bins, len(rows.docs)))
    np.add.at(cells, (at, y), rows.w)
    counts, totals = cells[at], np.tile(cells.sum(axis=0), (len(at), 1))
    own = np.arange(len(at)), y
    counts[own] = np.maximum(counts[own] - rows.out, 0.0)
    totals[own] = np.maximum(totals[own] - rows.out, 0.0)
    return _foretold(np.log(counts + lam) - np.log(totals + lam * n_bins), rows)


class _Rows(NamedTuple):
    """Rows with a value: it, their class, their weight, and what of it is left out; the rows of every class; which rows
    can be foretold.
    """

    x: Floats
    y: Codes
    w: Floats
    out: Floats
    docs: Floats
    scored: npt.NDArray[np.bool_]


def _present(values: Floats, codes: Codes, weights: npt.NDArray[Any], doc_count: npt.NDArray[Any]) -> _Rows:
    there = ~np.isnan(values) & (weights > 0)
    y, w, docs = codes[there], weights[there].astype(np.float64), doc_count.astype(np.float64)
    out = np.minimum(w, 1.0)
    # Without its only row nobody could foretell a class; that row is still one by which others are foretold.
    return _Rows(values[there], y, w, out, docs, docs[y] > out * (1 + 1e-9))


def _foretold(scores: Floats, rows: _Rows) -> float:
    """The sum, from log P(x_i | c) without row i, (n_rows, n_classes)."""
    left = np.tile(rows.docs, (len(rows.x), 1))
    own = np.arange(len(rows.x)), rows.y
    left[own] = np.maximum(left[own] - rows.out, 0.0)
    prior = np.full(left.shape, -np.inf)
    prior[left > 0] = np.log(left[left > 0])
    joint = (scores + prior)[rows.scored]
    logs = joint - log_sum_exp(joint)
    return float(rows.w[rows.scored] @ logs[np.arange(len(logs)), rows.y[rows.scored]])
