"""Metrics and evaluations → tables in the terminal.

Tables fit the width they are given: labels are cut first, then names of columns, then the bars go.  Labels are shown,
never obeyed: brackets are no markup, and characters that would move the cursor are replaced by a picture or a name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from rich.bar import Bar
from rich.box import Box
from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text

from bunrui.counts import Label
from bunrui.evaluation import Evaluation, Interval, Metrics
from bunrui.evaluation.result import FALSE_POSITIVE_RATES
from bunrui.rendering import visible

__all__ = ["LINES", "evaluation_tables", "label_text", "metrics_tables"]

_LONGEST_LABEL = 24
_SHORTEST_LABEL = 4
_BAR = 8
_MOST_CLASSES = 20  # of a matrix
_MOST_CONFUSIONS = 10  # of a list
_MOST_ROWS = 100  # of a table: labels of many documents come first
_NARROW = 72  # below it, columns have short names and there are no bars

# Black is readable on all of these, and none is lost on a light or a dark screen.
_FEW = (160, 165, 170)
_MANY = (240, 90, 80)

# What begins a new line, or jumps on in it.
_ONE_LINE = str.maketrans({"\n": "␊", "\t": "␉", "\u2028": "‹U+2028›", "\u2029": "‹U+2029›"})

# Lines under the header and between sections alone.
LINES = Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n")


def metrics_tables(metrics: Metrics) -> Group:
    """A headline, a table of the classes, and what is taken for what.

    Examples
    --------
    >>> from rich.console import Console
    >>> from bunrui.evaluation import measure
    >>> tables = metrics_tables(measure(["ham", "ham", "spam"], ["ham", "spam", "spam"]))
    >>> Console(width=60, color_system=None).print(tables.renderables[0])
    accuracy 0.667 of 3 documents
    micro F1 0.667 · macro F1 0.667
    labels one against the rest: mean accuracy 0.667
    """
    return Group(_headline(metrics), Text(), _Classes(metrics), Text(), _Confusion(metrics))


def evaluation_tables(evaluation: Evaluation) -> Group:
    """The same with how sure the accuracy is, and what the probabilities are worth.

    Examples
    --------
    >>> from rich.console import Console, Group
    >>> from bunrui.evaluation import Evaluation
    >>> tables = evaluation_tables(
    ...     Evaluation(
    ...         true=["ham", "ham", "spam"],
    ...         predictions=["ham", "spam", "spam"],
    ...         probabilities=[[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]],
    ...         classes=["ham", "spam"],
    ...     )
    ... )
    >>> Console(width=60, color_system=None).print(Group(*tables.renderables[:2]))
    accuracy 0.667 (95 % interval 0.000–1.000) of 3 documents
    micro F1 0.667 · macro F1 0.667
    labels one against the rest: mean accuracy 0.667
    log loss 0.459 · Brier score 0.307 · calibration error 0.333
    ROC AUC 1.000 · average precision 1.000
    """
    metrics = evaluation.metrics
    headline = _headline(metrics, evaluation.interval("accuracy"))
    return Group(headline, _probabilities(evaluation), *metrics_tables(metrics).renderables[1:])


def _headline(metrics: Metrics, interval: Interval | None = None) -> Text:
    documents = "1 document" if metrics.n == 1 else f"{metrics.n:,} documents"
    sure = f" ({100 * interval.level:g} % interval {interval.low:.3f}–{interval.high:.3f})" if interval else ""
    return Text.assemble(
        (f"accuracy {metrics.accuracy:.3f}", "bold"),
        f"{sure} of {documents}\nmicro F1 {metrics.micro.f1:.3f} · macro F1 {metrics.macro.f1:.3f}",
        f"\nlabels one against the rest: mean accuracy {metrics.overall_accuracy:.3f}",
    )


def _probabilities(evaluation: Evaluation) -> Text:
    text = Text.assemble(
        (f"log loss {evaluation.log_loss:.3f}", "bold"),
        f" · Brier score {evaluation.brier:.3f} · ",
        (f"calibration error {evaluation.ece:.3f}", "bold"),
    )
    rankings = (("ROC AUC", evaluation.roc_auc), ("average precision", evaluation.average_precision))
    # Where all documents have one label there is nothing to rank.
    defined = [f"{name} {value:.3f}" for name, value in rankings if not math.isnan(value)]
    if defined:
        text.append("\n" + " · ".join(defined))
    if evaluation.positive is not None and len(defined) == len(rankings):
        found = [f"1 − ROCA {evaluation.one_minus_roca_percent:.4f} %"]
        for fpr in FALSE_POSITIVE_RATES:
            found.append(f"recall {evaluation.recall_at_fpr(fpr):.3f} at {100 * fpr:g} % false positives")
        text.append("\n").append_text(label_text(evaluation.positive, _LONGEST_LABEL)).append(": " + " · ".join(found))
    return text


class _Classes(NamedTuple):
    """A row for each class, and the means below."""

    metrics: Metrics

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        metrics = self.metrics
        wide = options.max_width >= _NARROW
        names = ["precision", "recall", "F1", "accuracy", "support"] if wide else ["prec.", "rec.", "F1", "acc.", "n"]
        numbers = [max(5, len(name)) for name in names[:-1]] + [max(len(names[-1]), len(f"{metrics.n:,}"))]
        gap = 2 if wide else 1
        rest = sum(numbers) + gap * len(numbers) + (gap + _BAR) * wide
        label = _label_width((*metrics.labels, "F of means"), options.max_width - rest)

        table = Table(box=LINES, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0), border_style="dim")
        table.add_column("label", width=label, no_wrap=True, overflow="ellipsis")
        for name, width in zip(names, numbers, strict=True):
            table.add_column(name, width=width, justify="right", no_wrap=True)
            if wide and name == "F1":
                table.add_column("", width=_BAR)

        def add(name: Text, values: list[float | None], support: int | None, style: str = "") -> None:
            cells: list[Text | Bar] = [Text("" if value is None else f"{value:.3f}") for value in values]
            if wide:
                cells.insert(3, Bar(1, 0, values[2] or 0, width=_BAR, color="green"))
            table.add_row(name, *cells, Text("" if support is None else f"{support:,}"), style=style)

        listed = set(sorted((c.label for c in metrics.per_class), key=_by_size(metrics))[:_MOST_ROWS])
        for c in metrics.per_class:
            if c.label in listed:
                style = "" if c.label in metrics.occurring else "dim"
                add(label_text(c.label, label), [c.precision, c.recall, c.f1, c.accuracy], c.support, style)
        if len(listed) < len(metrics.labels):
            table.add_row(Text(f"… {len(metrics.labels) - len(listed):,} more"), style="dim")
        table.add_section()
        add(Text("micro"), [*metrics.micro, None], metrics.n)
        add(Text("macro"), [*metrics.macro[:3], metrics.overall_accuracy], metrics.n)
        add(Text("F of means"), [None, None, metrics.macro.f1_of_means, None], None)
        yield table


def _by_size(metrics: Metrics) -> Callable[[str], tuple[int, str]]:
    """Labels of many documents first."""
    support = {c.label: c.support for c in metrics.per_class}
    return lambda label: (-support[label], label)


class _Confusion(NamedTuple):
    """The matrix in documents if it fits, else in shares of the rows, else the most frequent confusions."""

    metrics: Metrics

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        metrics = self.metrics
        if len(metrics.labels) <= _MOST_CLASSES:
            counts = metrics.confusion.tolist()
            shares = [[n / (c.support or 1) for n in row] for row, c in zip(counts, metrics.per_class, strict=True)]
            for unit, cells in (
                ("documents", [[str(n) if n else "·" for n in row] for row in counts]),
                ("% of the row", [[_percent(share) for share in row] for row in shares]),
            ):
                room = options.max_width - _matrix_width(cells)
                if room >= _label_width(metrics.labels, 8):
                    yield Text.assemble(("confusion matrix", "bold"), f" · {unit} · rows true, columns predicted")
                    yield _matrix(metrics.labels, cells, shares, _label_width(metrics.labels, room))
                    return
        yield from _confusions(metrics, options.max_width)


def _matrix(labels: tuple[Label, ...], cells: list[list[str]], shares: list[list[float]], width: int) -> Text:
    number = len(str(len(labels)))
    widths = _column_widths(cells)
    text = Text(" " * (number + 1 + width), no_wrap=True)
    for k, column in enumerate(widths, 1):
        text.append(f" {k:>{column}}", "dim")
    for row, label in enumerate(labels):
        text.append(f"\n{row + 1:>{number}} ", "dim").append_text(label_text(label, width, pad=True))
        for column, cell in enumerate(cells[row]):
            style = _shade(shares[row][column], row == column)
            text.append(" ").append(f"{cell:>{widths[column]}}", style)
    return text


def _column_widths(cells: list[list[str]]) -> list[int]:
    """Of the cells, and of the number above them."""
    return [max(len(str(k)), *map(len, column)) for k, column in enumerate(zip(*cells, strict=True), 1)]


def _matrix_width(cells: list[list[str]]) -> int:
    """Without the labels."""
    return len(str(len(cells))) + 1 + sum(width + 1 for width in _column_widths(cells))


def _percent(share: float) -> str:
    """A hundred is all of them: less has two digits, so that the columns stay narrow."""
    if not share:
        return "·"
    return "<1" if share < 0.005 else "100" if share == 1 else str(min(round(100 * share), 99))


def _shade(share: float, right: bool) -> Style:
    """Green where label and prediction agree; else the more red, the larger the share of the row."""
    if not share:
        return Style(dim=True)
    if right:
        return Style(color="green", bold=True)
    strength = math.sqrt(share)  # one in a hundred is still seen
    mixed = (round(a + (b - a) * strength) for a, b in zip(_FEW, _MANY, strict=True))
    return Style(color="black", bgcolor=Color.from_rgb(*mixed))


def _confusions(metrics: Metrics, max_width: int) -> RenderResult:
    wrong = sorted((pair for pair in metrics.pairs if pair.true != pair.predicted), key=lambda pair: -pair.doc_count)
    if not wrong:
        yield Text("no confusions: every document has its label")
        return
    support = {c.label: c.support for c in metrics.per_class}
    yield Text("most frequent confusions", "bold")
    shown = wrong[:_MOST_CONFUSIONS]
    number = max(len("n"), len(f"{shown[0].doc_count:,}"))
    names = [name for pair in shown for name in pair[:2]]
    label = _label_width((*names, "predicted"), (max_width - number - len("of true") - 6) // 2)
    table = Table(box=LINES, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), border_style="dim")
    table.add_column("true", width=label, no_wrap=True, overflow="ellipsis")
    table.add_column("predicted", width=label, no_wrap=True, overflow="ellipsis")
    table.add_column("n", width=number, justify="right", no_wrap=True)
    table.add_column("of true", justify="right", no_wrap=True)
    for pair in shown:
        share = Text(f"{pair.doc_count / support[pair.true]:.1%}")
        table.add_row(
            label_text(pair.true, label), label_text(pair.predicted, label), Text(f"{pair.doc_count:,}"), share
        )
    yield table
    if len(wrong) > len(shown):
        yield Text(f"and {len(wrong) - len(shown):,} more", "dim")


def label_text(label: Label, width: int, *, pad: bool = False) -> Text:
    """One line, cut in the middle: labels of one family differ at their ends."""
    line = _one_line(label)
    if cell_len(line) > width:
        tail = (width - 1) // 2
        ends = set_cell_size(line, width - 1 - tail), set_cell_size(line[::-1], tail)[::-1]
        line = f"{ends[0].rstrip()}…{ends[1].lstrip()}"
    text = Text(line, no_wrap=True)
    text.truncate(width, overflow="ellipsis", pad=pad)
    return text


def _label_width(labels: tuple[Label, ...], room: int) -> int:
    """As wide as the longest label, if there is room."""
    longest = max(cell_len(_one_line(label)) for label in labels)
    return max(min(longest, _LONGEST_LABEL, room), _SHORTEST_LABEL)


def _one_line(label: Label) -> str:
    return visible(str(label)).translate(_ONE_LINE)
