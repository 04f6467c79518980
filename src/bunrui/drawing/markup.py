"""Elements of HTML and SVG.

What is `Markup` goes in as it is; any other string is text out of documents and labels until the opposite is written
down, and is shown, never obeyed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

from rich.cells import cell_len, set_cell_size

from bunrui.rendering import visible

__all__ = ["Markup", "cut", "element", "escaped", "isolated", "joined", "number", "text_width"]

_HALVES = re.compile("[\ud800-\udfff]")
_WIDE = 0.6  # of a letter, by its size
_EMPTY = frozenset(("br", "input", "meta"))  # elements of HTML that have no end


class Markup(str):
    """A string that is HTML."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Text as HTML: half a character, which no encoding has, becomes the sign for that.

    >>> escaped("<b> & \\0 \\ud800"), escaped(Markup("<b>"))
    ('&lt;b&gt; &amp; ␀ \ufffd', '<b>')
    """
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_HALVES.sub("\ufffd", visible(text))))


def element(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; `class_` is the attribute class, `aria_label` is aria-label.

    Attributes that are None or False are left out, children that are None too.

    >>> element("a", "1 < 2", href="#x", class_="cell", aria_label='"', hidden=False)
    '<a href="#x" class="cell" aria-label="&quot;">1 &lt; 2</a>'
    >>> element("g", element("line", x1=1.25, y1=2.0))
    '<g><line x1="1.2" y1="2"></line></g>'
    """
    written = "".join(
        f" {_name(key)}" if value is True else f' {_name(key)}="{escaped(_value(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[Any]) -> Markup:
    """Pieces one after the other; None is nothing."""
    return Markup(
        "".join(escaped(child if isinstance(child, str) else str(child)) for child in children if child is not None)
    )


def isolated(text: str) -> Markup:
    """A text out of the data that leaves the direction of what is around it alone.

    >>> isolated("שלום")
    '<bdi>שלום</bdi>'
    """
    return element("bdi", text)


def number(value: float) -> str:
    """A place in a drawing, to a tenth.

    >>> number(3.0), number(2 / 3), number(-0.01)
    ('3', '0.7', '0')
    """
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")  # 0.0 is added to lose the sign of -0.0


def text_width(text: str, size: float) -> float:
    """About how wide a text is drawn in letters of a size: characters of East Asia are twice as wide as others."""
    return _WIDE * size * cell_len(visible(text))


def cut(text: str, width: float, size: float) -> str:
    """A text that fits in a width, about; cut in the middle, since labels of one family differ at their ends.

    >>> cut("comp.sys.mac.hardware", 90, 12), cut("ニュース", 90, 12)
    ('comp.s…dware', 'ニュース')
    """
    most = max(int(width / (_WIDE * size)), 3)
    line = visible(text).replace("\n", "␊").replace("\t", "␉")
    if cell_len(line) <= most:
        return line
    tail = (most - 1) // 2
    ends = set_cell_size(line, most - 1 - tail), set_cell_size(line[::-1], tail)[::-1]
    return f"{ends[0].rstrip()}…{ends[1].lstrip()}"


def _name(key: str) -> str:
    return key.removesuffix("_").replace("_", "-")


def _value(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
