"""Comparisons and searches → drawings: in a notebook, and as pieces of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bunrui.drawing import Axis, Bar, Column, Markup, element, fragment, joined, ranges, table
from bunrui.selection.tables import COLUMNS, LEGEND, cells_of, headline, short

if TYPE_CHECKING:
    from bunrui.selection.compare import Comparison
    from bunrui.selection.tune import Tuning

__all__ = ["comparison_chart", "comparison_html", "comparison_table", "tuning_html"]

_MOST_DRAWN = 40
_MOST_TRIALS = 15


def comparison_html(comparison: Comparison) -> str:
    """A piece of a notebook."""
    legend = joined(element("div", line, class_="muted") for line in LEGEND.splitlines())
    return fragment(
        element("p", headline(comparison)), comparison_chart(comparison), comparison_table(comparison), legend
    )


def comparison_chart(comparison: Comparison) -> Markup:
    """The accuracy of each row, and the interval that it lies in."""
    rows = [
        Bar(
            f"{row.model}, {row.features}",
            row.metrics.accuracy,
            f"{100 * row.metrics.accuracy:.1f} %",
            row.interval.low,
            row.interval.high,
            is_first=row.verdict == "first",
        )
        for row in comparison.rows[:_MOST_DRAWN]
    ]
    first, last = rows[0], rows[-1]
    label = f"Accuracy of {len(rows)} models, from {first.name} with {first.text} to {last.name} with {last.text}"
    return ranges(rows, Axis.share("accuracy", min(row.low for row in rows)), label=label)


def comparison_table(comparison: Comparison, *, is_sortable: bool = False) -> Markup:
    """A line for each row, with all figures; sorting takes the script of a page."""
    columns = [Column(column.name, column.is_number) for column in COLUMNS]
    values = []
    for row in comparison.rows:
        cost = (row.cost.learn_rate, row.cost.predict_rate, row.cost.size.features, row.cost.size.cells)
        quality = (row.metrics.accuracy, f"{row.interval.low:.6f}", row.metrics.macro.f1, row.verdict)
        values.append([row.model, row.features, *quality, *(-1.0 if number is None else number for number in cost)])
    return table(
        "All figures",
        columns,
        [cells_of(row) for row in comparison.rows],
        values=values if is_sortable else None,
        bold=0,
    )


def tuning_html(tuning: Tuning) -> str:
    """A piece of a notebook: what was chosen and why, and the best of what was tried in the same way."""
    rows = [trial for trial in tuning.trials if trial.how == tuning.choice.chosen.how]
    best = sorted(rows, key=lambda trial: -trial.merit.value)
    listed = best[:_MOST_TRIALS]
    if not any(trial is tuning.choice.chosen for trial in listed):
        listed.append(tuning.choice.chosen)
    name = tuning.metric.replace("_", " ")
    columns = [Column("settings", is_number=False), Column(name), Column("features"), Column("seconds")]
    cells = [
        [
            trial.settings.describe(),
            f"{tuning.value_of(trial):.4f}",
            short(trial.n_features),
            f"{trial.seconds:.1f}",
        ]
        for trial in listed
    ]
    caption = f"The best of {tuning.n_tried} settings" if len(best) > len(listed) else f"{tuning.n_tried} settings"
    chosen = next(k for k, trial in enumerate(listed) if trial is tuning.choice.chosen)
    return fragment(element("p", tuning.reason()), table(caption, columns, cells, bold=chosen))
