"""A table, in the terminal and in HTML; figures that are read at a glance; results that are one table in a notebook."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bunrui.labels import text_of
from bunrui.phrases import excerpt, some, visible
from bunrui.views.markup import Markup, Phrase, element, fragment, isolated

if TYPE_CHECKING:
    from rich.style import Style
    from rich.table import Table as RichTable


class Column(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    name : str
    is_number : bool
        Numbers stand on the right.
    overflow : str
        A terminal without enough room keeps the column (`keep`), cuts its end (`cut`), or folds it into several lines
        (`fold`).  A column with `grow` takes all the room that is left, and is cut, too.
    width, max_width : int, optional
        Cells in the terminal.
    """

    name: str
    is_number: bool = True
    overflow: Literal["keep", "cut", "fold", "grow"] = "keep"
    width: int | None = None
    max_width: int | None = None


def words(*names: str) -> list[Column]:
    """Columns that are no numbers."""
    return [Column(name, is_number=False) for name in names]


def numbers(*names: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(name) for name in names]


@dataclass(frozen=True)
class Table:
    """Rows with a cell for each column; the first cell is the name of its row.

    Print it with rich, or call `to_html`.

    Attributes
    ----------
    columns : sequence of Column
    rows, feet : sequence of rows
        Cells: text, markup, or something that rich can print.  Feet stay below.
    caption : str
        For HTML.
    values : sequence of rows, optional
        Sort the cells by these; a table with values can be sorted, where there are scripts.
    styles : mapping from the number of a row to str
        `bold`, `dim`, `strike`: a style of rich, and a class of HTML.
    is_long : bool
        Whether the table scrolls in a box.
    gap : int
        Cells between columns in the terminal.

    Examples
    --------
    >>> from rich.console import Console
    >>> found = Table([Column("label", is_number=False), Column("n")], [["a<b", "3"]], caption="Two")
    >>> Console(width=40, color_system=None).print(found)
    label  n
    ────────
    a<b    3
    >>> print(found.to_html().replace("><", ">\\n<"))
    <div class="scroll" tabindex="0" role="group" aria-label="Two">
    <table>
    <caption>Two</caption>
    <thead>
    <tr>
    <th scope="col">label</th>
    <th scope="col" class="number">n</th>
    </tr>
    </thead>
    <tbody>
    <tr>
    <th scope="row">
    <bdi>a&lt;b</bdi>
    </th>
    <td class="number">3</td>
    </tr>
    </tbody>
    </table>
    </div>
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    feet: Sequence[Sequence[Any]] = ()
    values: Sequence[Sequence[Any]] | None = None
    styles: Mapping[int, str] = field(default_factory=dict)
    is_long: bool = False
    gap: int = 2

    def filled(self, left_out: Collection[str] = ()) -> Table:
        """The table without columns that have nothing in any row, and without some others."""
        kept = [at for at, column in enumerate(self.columns) if column.name not in left_out]
        kept = [at for at in kept if any(row[at] for row in self.rows)]
        rows = [[row[at] for at in kept] for row in self.rows]
        return replace(self, columns=[self.columns[at] for at in kept], rows=rows)

    # --- the terminal

    def __rich__(self) -> RichTable:
        from rich.box import Box
        from rich.table import Table as RichTable

        # Lines under the header and between sections alone.
        box = Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n")
        look: dict[str, Any] = {"show_edge": False, "pad_edge": False, "border_style": "dim"}
        grows = any(column.overflow == "grow" for column in self.columns)
        table = RichTable(box=box, padding=(0, self.gap - 1, 0, 0), expand=grows, **look)
        for column in self.columns:
            table.add_column(
                _text(column.name, column),
                justify="right" if column.is_number else "left",
                no_wrap=column.overflow == "keep",
                width=column.width,
                max_width=column.max_width,
                ratio=1 if column.overflow == "grow" else None,
            )
        for k, row in enumerate(self.rows):
            table.add_row(*map(_text, row, self.columns), style=self.styles.get(k))
        table.add_section()
        for row in self.feet:
            table.add_row(*map(_text, row, self.columns))
        return table

    # --- HTML

    def to_html(self) -> Markup:
        """A box with the table, which scrolls where it is too wide."""
        head = element("tr", *map(self._head, self.columns))
        values = [None] * len(self.rows) if self.values is None else self.values
        lines = [self._row(row, values[k], self.styles.get(k)) for k, row in enumerate(self.rows)]
        foot = element("tfoot", *map(self._row, self.feet)) if self.feet else None
        caption = element("caption", self.caption)
        kind = "sortable" if self.values is not None else None
        table = element("table", caption, element("thead", head), element("tbody", *lines), foot, class_=kind)
        # A box that scrolls must be within reach of the keyboard.
        box = {"class_": "scroll long" if self.is_long else "scroll", "tabindex": 0, "role": "group"}
        return element("div", table, **box, aria_label=self.caption)

    def _head(self, column: Column) -> Markup:
        name = element("button", column.name, type="button") if self.values is not None else column.name
        return element("th", name, scope="col", class_="number" if column.is_number else None)

    def _row(self, cells: Sequence[Any], values: Sequence[Any] | None = None, style: str | None = None) -> Markup:
        drawn = []
        for k, (column, cell) in enumerate(zip(self.columns, cells, strict=True)):
            value = None if values is None else repr(values[k]) if isinstance(values[k], float) else text_of(values[k])
            inside = cell if column.is_number or isinstance(cell, (Markup, Phrase)) else isolated(cell)
            attributes = {"class_": "number" if column.is_number else None, "data_value": value}
            drawn.append(element("td", inside, **attributes) if k else element("th", inside, scope="row", **attributes))
        return element("tr", *drawn, class_=style)


def _text(cell: Any, column: Column) -> Any:
    from rich.text import Text

    if not isinstance(cell, str):
        return cell
    folds = column.overflow == "fold"
    return Text(visible(cell), no_wrap=None if folds else True, overflow="fold" if folds else "ellipsis")


# Black is readable on it and on all mixtures with it, and none is lost on a light or a dark screen.
_GREY = (160, 165, 170)


def shade(colour: tuple[int, int, int], strength: float) -> Style:
    """Black letters of the terminal, on grey (strength 0), on a colour (1), or on a mixture of both."""
    from rich.color import Color
    from rich.style import Style

    mixed = (round(a + (b - a) * strength) for a, b in zip(_GREY, colour, strict=True))
    return Style(color="black", bgcolor=Color.from_rgb(*mixed))


def figures(found: Sequence[tuple[str, str, str]]) -> Markup:
    """Names with their numbers, and a few words about each.

    >>> figures([("Accuracy", "91.2 %", "90 – 92 %")])
    '<dl class="figures"><div><dt>Accuracy</dt><dd>91.2 %<small>90 – 92 %</small></dd></div></dl>'
    """
    items = (
        element("div", element("dt", name), element("dd", value, element("small", about) if about else None))
        for name, value, about in found
    )
    return element("dl", *items, class_="figures")


# --- notebooks

_MOST_ROWS = 20
_MOST_LABELS = 10
_LONGEST = 120  # characters of a text


def classifier_html(name: str, known: Mapping[str, str], n_docs: Mapping[Any, int]) -> str:
    """The facts of a classifier, and the documents of each label, the largest first."""
    largest = sorted(n_docs.items(), key=lambda item: (-item[1], str(item[0])))
    labels = some((f"{text_of(label)} ({n:,})" for label, n in largest), _MOST_LABELS) or "none yet"
    return fragment(Table(words("classifier", name), [*known.items(), ("labels", labels)], caption=name).to_html())


def words_html(found: Sequence[Any]) -> str:
    """Words with their weights and counts."""
    rows = [
        [word.text, f"{word.weight:+.3f}", some(f"{text_of(label)} ({n:,})" for label, n in word.counts.items())]
        for word in found
    ]
    columns = [*words("word"), *numbers("weight"), *words("occurs with")]
    return fragment(Table(columns, rows, caption="Words and what one occurrence adds to the score").to_html())


def audit_html(audit: Any) -> str:
    """The suspects of an audit, the most suspicious first."""
    rows = []
    for suspect in audit.suspects[:_MOST_ROWS]:
        labels = (", ".join(map(text_of, names)) for names in (suspect.given, suspect.better))
        text = excerpt(str(audit.text(suspect.row)), _LONGEST)
        rows.append([str(suspect.row), *labels, f"{suspect.probability:.4f}", text])
    more = f", the first {_MOST_ROWS} here" if len(audit.suspects) > _MOST_ROWS else ""
    n_copies = f", {len(audit.conflicts):,} texts with different labels" if audit.conflicts else ""
    caption = (
        f"{len(audit.suspects):,} of {audit.n_docs:,} documents have a label that is not the likeliest{more}{n_copies}"
    )
    columns = [*words("row", "label", "likelier"), *numbers("probability"), *words("text")]
    return fragment(Table(columns, rows, caption=caption).to_html())
