"""What every column of a table is taken for: as the user says, or by the rule of `ColumnsNB`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis.spec import KINDS
from bunrui.errors import OptionError
from bunrui.estimators.columnparts import Plan, Rules
from bunrui.estimators.cuts import loo_binned, loo_gaussian, quantile_edges
from bunrui.estimators.frames import Given, as_numbers, is_missing, value_kind
from bunrui.estimators.mdl import intervals

__all__ = ["Choices", "planned"]

Codes = npt.NDArray[np.int64]

NUMERIC = ("gaussian", "binned", "choose")


class Choices(NamedTuple):
    """The parameters of `ColumnsNB` that decide."""

    columns: dict[str, str]
    numeric: str
    n_bins: int
    max_categories: int


def planned(
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
