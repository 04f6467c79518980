"""Comparisons and searches → tables in the terminal and in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from bunrui.selection.comparison import Comparison, Row
from bunrui.selection.search import Search

__all__ = ["ComparisonTable", "comparison_html", "short", "trial_table"]

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
_COLUMNS = (*_NAMES, *_QUALITY, *_COST)


class ComparisonTable(NamedTuple):
    """A line for each row; where there is not much room, time and size have a table of their own.

    With `most`, as many rows and no more than that.
    """

    comparison: Comparison
    most: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(_headline(self.comparison))
        if options.max_width >= _WIDE:
            yield self._table(_COLUMNS)
        else:
            yield self._table((*_NAMES, *_QUALITY))
            if self.most is None:
                yield self._table((*_NAMES, *_COST))
        if self.most is None:
            yield Text(_LEGEND, "dim")
        elif len(self.comparison.rows) > self.most:
            yield Text(f"and {len(self.comparison.rows) - self.most} more", "dim")

    def _table(self, columns: Sequence[_Column]) -> Table:
        table = _table(columns)
        for row in self.comparison.rows[: self.most]:
            cells = dict(zip(_COLUMNS, _cells(row), strict=True))
            table.add_row(*(Text(cells[column]) for column in columns), style="bold" if row.verdict == "first" else "")
        return table


_LEGEND = (
    "95 %: bootstrap interval of the accuracy\n"
    "tied: not to be told from the first by McNemar's test at 5 %; + only this one is right, − only the first\n"
    "learn, predict: MB/s in this run; cells: numbers that the model keeps"
)


def comparison_html(comparison: Comparison) -> str:
    """The same as HTML."""
    head = "".join(_html_cell("th", column, column.name) for column in _COLUMNS)
    lines = []
    for row in comparison.rows:
        cells = (_html_cell("td", column, text) for column, text in zip(_COLUMNS, _cells(row), strict=True))
        weight = "font-weight:bold;" if row.verdict == "first" else ""
        lines.append(f"<tr style='{weight}background:none'>{''.join(cells)}</tr>")
    legend = escape(_LEGEND).replace("\n", "<br>")
    return (
        f"<div style='color:inherit;background:none'><p>{escape(_headline(comparison))}</p>"
        f"<table style='border-collapse:collapse;color:inherit'><tr>{head}</tr>{''.join(lines)}</table>"
        f"<p style='opacity:.7'>{legend}</p></div>"
    )


def trial_table(search: Search, most: int) -> Table:
    """The best settings so far."""
    names = (search.metric.replace("_", " "), "features", "seconds")
    table = _table([_Column("settings", is_number=False), *map(_Column, names)])
    for trial in sorted(search.trials, key=lambda trial: -trial.merit.value)[:most]:
        cells = (f"{search.shown(trial):.4f}", short(trial.n_features), f"{trial.seconds:.1f}")
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


def _headline(comparison: Comparison) -> str:
    documents = "1 document" if comparison.n_docs == 1 else f"{comparison.n_docs:,} documents"
    return f"{documents}, predicted {comparison.how}"


def _cells(row: Row) -> list[str]:
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


def _html_cell(tag: str, column: _Column, text: str) -> str:
    side = "right" if column.is_number else "left"
    style = f"text-align:{side};padding:.1em .8em .1em 0;border:0;background:none;color:inherit;white-space:nowrap"
    return f"<{tag} style='{style}'>{escape(text)}</{tag}>"
