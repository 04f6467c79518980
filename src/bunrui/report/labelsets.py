"""Metrics of label sets → tables in the terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from bunrui.evaluation import MultilabelMetrics
from bunrui.report.metrics import LINES, label_text

__all__ = ["multilabel_tables"]

_LONGEST_LABEL = 24


def multilabel_tables(metrics: MultilabelMetrics) -> Group:
    """A headline, and a table of the labels.

    Examples
    --------
    >>> from rich.console import Console
    >>> from bunrui.evaluation import measure_labels
    >>> tables = multilabel_tables(measure_labels([{"a"}, {"a", "b"}], [{"a"}, {"b"}]))
    >>> Console(width=60, color_system=None).print(tables.renderables[0])
    micro F1 0.800 · macro F1 0.833 · example F1 0.833
    2 documents · all labels right 0.500 · Hamming loss 0.250
    """
    documents = "1 document" if metrics.n == 1 else f"{metrics.n:,} documents"
    headline = Text.assemble(
        (f"micro F1 {metrics.micro.f1:.3f} · macro F1 {metrics.macro.f1:.3f}", "bold"),
        f" · example F1 {metrics.example.f1:.3f}\n{documents} · all labels right {metrics.subset_accuracy:.3f}",
        f" · Hamming loss {metrics.hamming_loss:.3f}",
    )
    table = Table(box=LINES, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), border_style="dim")
    table.add_column("label", no_wrap=True)
    for name in ("precision", "recall", "F1", "support"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in metrics.per_label:
        values = (Text(f"{value:.3f}") for value in (row.precision, row.recall, row.f1))
        style = "" if row.support else "dim"
        table.add_row(label_text(row.label, _LONGEST_LABEL), *values, Text(f"{row.support:,}"), style=style)
    table.add_section()
    for name in ("micro", "macro", "example"):
        mean = getattr(metrics, name)
        table.add_row(Text(name), *(Text(f"{value:.3f}") for value in mean), Text(f"{metrics.n:,}"))
    return Group(headline, Text(), table)
