"""The confusion matrix: how it looks in the terminal, in reports, in notebooks and on the page.

    rows       the labels that documents have
    columns    the labels that are predicted

Blue (in the terminal green) is right, orange (red) is wrong; the stronger, the larger the share of the row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from bunrui.labels import text_of
from bunrui.phrases import counted, one_line, percent
from bunrui.views.charts import BLUE, FAINT, MUTED, ORANGE, SIZE, svg
from bunrui.views.markup import Markup, Phrase, element, fit, text_width
from bunrui.views.tables import Column, Table, numbers, shade, words

if TYPE_CHECKING:
    from bunrui.counts import Label
    from bunrui.evaluation import Metrics
    from bunrui.evaluation.metrics import Pair

    Links = Mapping[tuple[Label, Label], str]

_MOST_LABELS = 25  # of a drawing
_MOST_COLUMNS = 20  # of the terminal
_MOST_PAIRS = 10  # of a list in the terminal
_LONGEST_NAME = 150.0  # in a drawing
_LONGEST_LABEL, _SHORTEST_LABEL = 24, 4  # in the terminal

_WRONG = (240, 90, 80)  # in the terminal, the colour of a row that is wholly wrong


def most_confused(metrics: Metrics, most: int = _MOST_LABELS) -> list[Label]:
    """The labels that occur, in their order; of many, those with the most mistakes."""
    occurring = metrics.occurring
    if len(occurring) > most:
        n_wrong: Counter[Label] = Counter()
        for pair in metrics.pairs:
            if pair.true != pair.predicted:
                n_wrong[pair.true] += pair.doc_count
                n_wrong[pair.predicted] += pair.doc_count
        occurring = frozenset(sorted(occurring, key=lambda name: (-n_wrong[name], name))[:most])
    return [name for name in metrics.labels if name in occurring]


@dataclass(frozen=True)
class Confusion:
    """The confusion of some metrics.

    Examples
    --------
    >>> from rich.console import Console
    >>> from bunrui.evaluation import measure
    >>> found = Confusion(measure(["ham", "ham", "spam"], ["ham", "spam", "spam"]))
    >>> Console(width=60, color_system=None).print(found)
    confusion matrix · documents · rows true, columns predicted
           1 2
    1 ham  1 1
    2 spam · 1
    >>> drawn = found.to_svg({("ham", "spam"): "#pair-0"})
    >>> drawn.count("<rect"), drawn.count("<a ")
    (4, 1)
    """

    metrics: Metrics

    @cached_property
    def labels(self) -> list[Label]:
        """The labels of the drawing."""
        return most_confused(self.metrics)

    @cached_property
    def wrong(self) -> list[Pair]:
        """Pairs of a true label and another that is predicted, the most frequent first."""
        pairs = (pair for pair in self.metrics.pairs if pair.true != pair.predicted)
        return sorted(pairs, key=lambda pair: -pair.doc_count)

    def share(self, true: Label, doc_count: int) -> float:
        """The share of some documents in their row, which counts labels that are not drawn, too."""
        return doc_count / (self._support[true] or 1)

    @cached_property
    def _support(self) -> dict[Label, int]:
        return {one.label: one.support for one in self.metrics.per_class}

    # --- HTML

    def to_svg(self, links: Links | None = None) -> Markup:
        """The drawing; `links` are the addresses behind cells, by true and predicted label."""
        names, n = [text_of(label) for label in self.labels], len(self.labels)
        size = 60.0 if n <= 4 else 52.0 if n <= 8 else 42.0 if n <= 12 else 22.0
        height = min(size, 40.0)
        left = 14 + min(max(text_width(name, SIZE) for name in (*names, "true ↓")), _LONGEST_NAME)
        top = left + 16
        across, down = Phrase("predicted →", "evaluate.predicted"), Phrase("true ↓", "evaluate.true")
        drawn = [
            element("text", across, x=left, y=11.0, **MUTED),
            element("text", down, x=left - 8, y=top - 5, text_anchor="end", **MUTED),
            _names(names, left, top, size, height),
        ]
        for (i, true), (j, predicted) in product(enumerate(self.labels), repeat=2):
            link = (links or {}).get((true, predicted))
            drawn.append(self._cell(true, predicted, (left + j * size, top + i * height, size, height), link))
        about = f"Confusion matrix of {counted(n, 'label')}: rows true, columns predicted"
        label, kind = Phrase(about, "evaluate.confusion"), "small" if n <= 6 else "middle" if n <= 12 else "large"
        role = "group" if links else "img"  # an image has no links in it
        width = max(left + n * size + 2, left + 90)
        return svg(drawn, width, top + n * height + 2, label, class_=f"matrix {kind}", role=role)

    def _cell(
        self, true: Label, predicted: Label, place: tuple[float, float, float, float], link: str | None
    ) -> Markup:
        x, y, width, height = place
        is_right, count = true == predicted, self._doc_counts.get((true, predicted), 0)
        depth = (0.55 if is_right else 0.85) * math.sqrt(self.share(true, count))  # one in a hundred is still seen
        box = {"x": x + 1, "y": y + 1, "width": width - 2, "height": height - 2, "rx": 3, **FAINT}
        parts = [element("rect", **box, fill=BLUE if is_right else ORANGE, fill_opacity=f"{depth:.2f}")]
        if count:
            written = f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k"
            letters = min(SIZE, SIZE * (width - 5) / text_width(written, SIZE))
            middle = {"x": x + width / 2, "y": y + height / 2 + 0.36 * letters, "text_anchor": "middle"}
            parts.append(element("text", written, **middle, font_size=letters if letters < SIZE else None))
        row, column = text_of(true), text_of(predicted)
        about = f"{row}, predicted as {column}: {counted(count, 'document')}"
        said = about if link is None else Phrase(about, "evaluate.cell", row=row, column=column, n=count)
        kind = f"cell {'right' if is_right else 'wrong'}{'' if count else ' none'}"
        attributes = {} if link is None else {"href": link, "aria_label": said}
        return element("a" if link else "g", element("title", said), *parts, class_=kind, **attributes)

    @cached_property
    def _doc_counts(self) -> dict[tuple[Label, Label], int]:
        return {(pair.true, pair.predicted): pair.doc_count for pair in self.metrics.pairs}

    def to_table(self, most: int, links: Links | None = None) -> Table:
        """The most frequent confusions."""
        rows = []
        for pair in self.wrong[:most]:
            link = (links or {}).get((pair.true, pair.predicted))
            count = f"{pair.doc_count:,}"
            shown = count if link is None else element("a", count, href=link)
            rows.append([pair.true, pair.predicted, shown, percent(self.share(pair.true, pair.doc_count))])
        more = len(self.wrong) - len(rows)
        caption = "The most frequent confusions" + (f"; {more:,} other pairs are rarer" if more else "")
        return Table([*words("true", "predicted"), *numbers("documents", "of true")], rows, caption=caption)

    # --- the terminal

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The matrix in documents if it fits, else in shares of the rows, else the most frequent confusions."""
        metrics = self.metrics
        if len(metrics.labels) <= _MOST_COLUMNS:
            counts = metrics.confusion.tolist()
            shares = [[self.share(true, n) for n in row] for true, row in zip(metrics.labels, counts, strict=True)]
            for unit, cells in (
                ("documents", [[str(n) if n else "·" for n in row] for row in counts]),
                ("% of the row", [[_percent(share) for share in row] for row in shares]),
            ):
                widths = [max(len(str(k)), *map(len, column)) for k, column in enumerate(zip(*cells, strict=True), 1)]
                room = options.max_width - len(str(len(cells))) - 1 - sum(width + 1 for width in widths)
                if room >= label_width(metrics.labels, 8):
                    yield Text.assemble(("confusion matrix", "bold"), f" · {unit} · rows true, columns predicted")
                    yield self._matrix(cells, shares, widths, label_width(metrics.labels, room))
                    return
        if not self.wrong:
            yield Text("no confusions: every document has its label")
            return
        yield Text("most frequent confusions", "bold")
        yield self._list(options.max_width)
        if len(self.wrong) > _MOST_PAIRS:
            yield Text(f"and {len(self.wrong) - _MOST_PAIRS:,} more", "dim")

    def _matrix(self, cells: list[list[str]], shares: list[list[float]], widths: list[int], width: int) -> Text:
        labels = self.metrics.labels
        digits = len(str(len(labels)))
        text = Text(" " * (digits + 1 + width), no_wrap=True)
        for k, column in enumerate(widths, 1):
            text.append(f" {k:>{column}}", "dim")
        for row, label in enumerate(labels):
            name = Text(fit(label, width))
            name.truncate(width, overflow="ellipsis", pad=True)
            text.append(f"\n{row + 1:>{digits}} ", "dim").append_text(name)
            for column, cell in enumerate(cells[row]):
                style = _shade(shares[row][column], row == column)
                text.append(" ").append(f"{cell:>{widths[column]}}", style)
        return text

    def _list(self, max_width: int) -> Table:
        shown = self.wrong[:_MOST_PAIRS]
        digits = max(len("n"), len(f"{shown[0].doc_count:,}"))
        names = [name for pair in shown for name in pair[:2]]
        width = label_width((*names, "predicted"), (max_width - digits - len("of true") - 6) // 2)
        rows = [
            (fit(true, width), fit(predicted, width), f"{doc_count:,}", f"{self.share(true, doc_count):.1%}")
            for true, predicted, doc_count in shown
        ]
        labels = [Column(name, is_number=False, width=width) for name in ("true", "predicted")]
        return Table([*labels, Column("n", width=digits), Column("of true")], rows)


def label_width(labels: tuple[Label, ...], room: int) -> int:
    """Cells for labels in the terminal: as wide as the longest, if there is room."""
    longest = max(cell_len(one_line(text_of(label))) for label in labels)
    return max(min(longest, _LONGEST_LABEL, room), _SHORTEST_LABEL)


def _names(names: list[str], left: float, top: float, width: float, height: float) -> Markup:
    drawn = []
    for k, name in enumerate(names):
        line, x, y = fit(name, left - 14, SIZE), left + (k + 0.5) * width + 4, top + (k + 0.5) * height + 4
        title = element("title", name)
        drawn.append(element("text", title, line, x=left - 8, y=y, text_anchor="end"))
        drawn.append(element("text", title, line, x=x, y=top - 6, transform=f"rotate(-90 {x:.1f} {top - 6:.1f})"))
    return element("g", *drawn, class_="names")


def _percent(share: float) -> str:
    """A hundred is all of them: less has two digits, so that the columns stay narrow."""
    if not share:
        return "·"
    return "<1" if share < 0.005 else "100" if share == 1 else str(min(round(100 * share), 99))


def _shade(share: float, is_right: bool) -> Style:
    """Green where label and prediction agree; else the more red, the larger the share of the row."""
    if not share:
        return Style(dim=True)
    if is_right:
        return Style(color="green", bold=True)
    return shade(_WRONG, math.sqrt(share))  # one in a hundred is still seen
