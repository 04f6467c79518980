"""Comparisons and searches: tables for the terminal; a table and a diagram for reports, notebooks and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from bunrui.phrases import counted, percent, short
from bunrui.views.charts import Axis, Bar, ranges
from bunrui.views.markup import Markup, Phrase, element, fragment, joined
from bunrui.views.tables import Column, Table, numbers, words

if TYPE_CHECKING:
    from bunrui.selection import Comparison
    from bunrui.selection.compare import Row
    from bunrui.selection.tune import Search, Trial, Tuning

_WIDE = 112  # from here on, all columns have room
_MOST_DRAWN = 40
_MOST_TRIALS = 15

_NAMES = words(Phrase("model", "compare.model"), Phrase("analyzer", "compare.analyzer"))
_QUALITY = [
    Column(Phrase("accuracy", "evaluate.accuracy")),
    Column(Phrase("95 %", "compare.interval"), is_number=False),
    Column(Phrase("macro F1", "evaluate.f1.short")),
    Column(Phrase("vs. first", "compare.verdict"), is_number=False),
]
_LOSS, _PREDICT = numbers(Phrase("log loss", "compare.loss"), Phrase("predict", "compare.speed"))
_COST = [Column("learn"), _PREDICT, *numbers("features", "cells")]
_COLUMNS = [*_NAMES, *_QUALITY, *_COST]
_PAGE_COLUMNS = [*_NAMES, *_QUALITY[:3], _LOSS, _PREDICT, _QUALITY[3]]

_LEGEND = (
    "95 %: bootstrap interval of the accuracy",
    "tied: not to be told from the first by McNemar's test at 5 %, shared by all pairs of rows",
    "+ only this one is right, − only the first",
    "learn, predict: MB/s in this run; cells: numbers that the model keeps",
)


class ComparisonTable(NamedTuple):
    """A line for each row, in the terminal; a narrow terminal shows time and size in a table of their own.

    `most` limits the rows.
    """

    comparison: Comparison
    most: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = self.comparison.rows[: self.most]
        yield Text(_headline(self.comparison))
        if options.max_width >= _WIDE:
            yield _table(rows, _COLUMNS)
        else:
            yield _table(rows, [*_NAMES, *_QUALITY])
            if self.most is None:
                yield _table(rows, [*_NAMES, *_COST])
        if self.most is None:
            yield Text("\n".join(legend_of(self.comparison)), "dim")
        elif len(self.comparison.rows) > self.most:
            yield Text(f"and {len(self.comparison.rows) - self.most} more", "dim")


def trial_table(search: Search, most: int) -> Table:
    """The best settings so far."""
    return _trials(search.trials, search.metric, most)


# --- HTML


def comparison_html(comparison: Comparison) -> str:
    """A piece of a notebook."""
    legend = joined(element("div", line, class_="muted") for line in legend_of(comparison))
    table = comparison_table(comparison).to_html()
    return fragment(element("p", _headline(comparison)), comparison_chart(comparison), table, legend)


def comparison_chart(comparison: Comparison) -> Markup:
    """The accuracy of each row, and its interval."""
    rows = []
    for row in comparison.rows[:_MOST_DRAWN]:
        name, accuracy, (low, high, _) = f"{row.model}, {row.features}", row.metrics.accuracy, row.interval
        rows.append(Bar(name, accuracy, percent(accuracy), low, high, is_first=row.verdict == "first"))
    first, last = rows[0], rows[-1]
    label = f"Accuracy of {len(rows)} models, from {first.name} with {first.text} to {last.name} with {last.text}"
    return ranges(rows, Axis.share("accuracy", min(row.low for row in rows)), label=label)


def comparison_table(comparison: Comparison, *, is_sortable: bool = False, is_page: bool = False) -> Table:
    """A line for each row, with all figures, or with those of the page; sorting takes a script."""
    columns = _PAGE_COLUMNS if is_page else _COLUMNS
    if all(row.cost.predict_rate is None for row in comparison.rows):  # too few documents to tell
        columns = [column for column in columns if column is not _PREDICT]
    return _table(comparison.rows, columns, caption=Phrase("All figures", "compare.figures"), is_sortable=is_sortable)


def legend_of(comparison: Comparison) -> list[str]:
    """Lines below the table: the model that `auto` stands for, and what the columns mean."""
    return [*([f"auto: {comparison.automatic}"] if comparison.automatic else []), *_LEGEND]


def tuning_html(tuning: Tuning) -> str:
    """A piece of a notebook: the settings that were chosen and why, and the best that were tried in the same way."""
    chosen = tuning.choice.chosen
    rows = [trial for trial in tuning.trials if trial.how == chosen.how]
    table = _trials(rows, tuning.metric, _MOST_TRIALS, chosen)
    caption = f"{'The best of ' if len(rows) > len(table.rows) else ''}{tuning.n_tried} settings"
    return fragment(element("p", tuning.reason()), replace(table, caption=caption).to_html())


# --- rows


def _headline(comparison: Comparison) -> str:
    return f"{counted(comparison.n_docs, 'document')}, predicted {comparison.how}"


def _table(rows: Sequence[Row], columns: Sequence[Column], caption: str = "", *, is_sortable: bool = False) -> Table:
    found = [_cells(row) for row in rows]
    return Table(
        columns,
        [[cells[column.name][0] for column in columns] for cells in found],
        caption=caption,
        values=[[cells[column.name][1] for column in columns] for cells in found] if is_sortable else None,
        styles={k: "bold" for k, row in enumerate(rows) if row.verdict == "first"},
    )


def _cells(row: Row) -> dict[str, tuple[str, str | float]]:
    """The cells of a row by column: the text, and the value that sorts it."""
    against, verdict = row.against_first, row.verdict
    counts = "" if against is None else f" +{against.only_second} −{against.only_first}"
    cells: dict[str, tuple[str, str | float]] = {
        "model": (row.model, row.model),
        "analyzer": (row.features, row.features),
        "accuracy": (f"{row.metrics.accuracy:.4f}", row.metrics.accuracy),
        "95 %": (f"{row.interval.low:.3f}–{row.interval.high:.3f}", f"{row.interval.low:.6f}"),
        "macro F1": (f"{row.metrics.macro.f1:.4f}", row.metrics.macro.f1),
        "log loss": (f"{row.log_loss:.4f}", row.log_loss),
        "vs. first": (Phrase(f"{verdict}{counts}", f"compare.{verdict}"), verdict),
    }
    cost = (row.cost.learn_rate, row.cost.predict_rate, row.cost.size.features, row.cost.size.cells)
    return cells | {
        column.name: (short(number), -1.0 if number is None else number)
        for column, number in zip(_COST, cost, strict=True)
    }


def _trials(trials: Sequence[Trial], metric: str, most: int, chosen: Trial | None = None) -> Table:
    """The best trials, and the chosen one."""
    best = sorted(trials, key=lambda trial: -trial.merit.value)
    shown = [trial for k, trial in enumerate(best) if k < most or trial is chosen]
    rows = [
        [trial.settings.describe(), f"{trial.value:.4f}", short(trial.n_features), f"{trial.seconds:.1f}"]
        for trial in shown
    ]
    columns = [*words("settings"), *numbers(metric.replace("_", " "), "features", "seconds")]
    return Table(columns, rows, styles={k: "bold" for k, trial in enumerate(shown) if trial is chosen})
