"""Comparisons and searches → tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from bunrui.selection.compare import Comparison, Row
from bunrui.selection.search import Search

__all__ = ["COLUMNS", "LEGEND", "ComparisonTable", "cells_of", "headline", "short", "trial_table"]

_WIDE = 112  # from here on, all columns have room


class _Column(NamedTuple):
    name: str
    is_number: bool = True


_NAMES = (_Column("model", is_number=False), _Column("analyzer", is_number=False))
_QUALITY = (
    _Column("accuracy"),
    _Column("95 %", is_number=False),
    _Column("macro F1"),
    _Column("vs. first", is_number=False),
)
_COST = (_Column("learn"), _Column("predict"), _Column("features"), _Column("cells"))
COLUMNS = (*_NAMES, *_QUALITY, *_COST)


class ComparisonTable(NamedTuple):
    """A line for each row; where there is not much room, time and size have a table of their own.

    With `most`, as many rows and no more than that.
    """

    comparison: Comparison
    most: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(headline(self.comparison))
        if options.max_width >= _WIDE:
            yield self._table(COLUMNS)
        else:
            yield self._table((*_NAMES, *_QUALITY))
            if self.most is None:
                yield self._table((*_NAMES, *_COST))
        if self.most is None:
            yield Text(LEGEND, "dim")
        elif len(self.comparison.rows) > self.most:
            yield Text(f"and {len(self.comparison.rows) - self.most} more", "dim")

    def _table(self, columns: Sequence[_Column]) -> Table:
        table = _table(columns)
        for row in self.comparison.rows[: self.most]:
            cells = dict(zip(COLUMNS, cells_of(row), strict=True))
            table.add_row(*(Text(cells[column]) for column in columns), style="bold" if row.verdict == "first" else "")
        return table


LEGEND = (
    "95 %: bootstrap interval of the accuracy\n"
    "tied: not to be told from the first by McNemar's test at 5 %, shared by all pairs of rows\n"
    "+ only this one is right, − only the first\n"
    "learn, predict: MB/s in this run; cells: numbers that the model keeps"
)


def trial_table(search: Search, most: int) -> Table:
    """The best settings so far."""
    names = (search.metric.replace("_", " "), "features", "seconds")
    table = _table([_Column("settings", is_number=False), *map(_Column, names)])
    for trial in sorted(search.trials, key=lambda trial: -trial.merit.value)[:most]:
        cells = (f"{search.value_of(trial):.4f}", short(trial.n_features), f"{trial.seconds:.1f}")
        table.add_row(Text(trial.settings.describe()), *map(Text, cells))
    return table


def short(number: float | None) -> str:
    """A number in five characters or so.

    >>> short(999), short(12_345), short(1_131_149), short(0.04), short(57.3), short(None)
    ('999', '12.3 k', '1.13 M', '0.04', '57.3', '–')
    """
    if number is None:
        return "–"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def headline(comparison: Comparison) -> str:
    """How many documents, and how they were predicted."""
    documents = "1 document" if comparison.n_docs == 1 else f"{comparison.n_docs:,} documents"
    return f"{documents}, predicted {comparison.how}"


def cells_of(row: Row) -> list[str]:
    """What stands in `COLUMNS`."""
    return [
        row.model,
        row.features,
        f"{row.metrics.accuracy:.4f}",
        f"{row.interval.low:.3f}–{row.interval.high:.3f}",
        f"{row.metrics.macro.f1:.4f}",
        _against(row),
        short(row.cost.learn_rate),
        short(row.cost.predict_rate),
        short(row.cost.size.features),
        short(row.cost.size.cells),
    ]


def _against(row: Row) -> str:
    if row.against_first is None:
        return row.verdict
    return f"{row.verdict} +{row.against_first.only_second} −{row.against_first.only_first}"


def _table(columns: Sequence[_Column]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), border_style="dim")
    for column in columns:
        table.add_column(column.name, justify="right" if column.is_number else "left", no_wrap=True)
    return table
