"""Elements of HTML and SVG, whole pages, and pieces of notebooks.

`Markup` is inserted as it is.  Any other string is text, perhaps from a document or a label, and is escaped.

A page loads nothing: it contains its style and its script.  Its policy names both by their digests, and forbids the
browser to run or fetch anything else, whatever a document or a label holds.

    web/views.css    the one style sheet: in reports, in notebooks, and on the page of the service
    web/views.js     the one script: tables that sort, curves to choose, cells and words by keyboard
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from bunrui.labels import text_of
from bunrui.phrases import one_line, visible

_HALVES = re.compile("[\ud800-\udfff]")
_WIDE = 0.6  # of a letter, by its size
_EMPTY = frozenset(("br", "input", "meta"))  # elements of HTML that have no end


class Markup(str):
    """A string that is HTML."""

    __slots__ = ()


class Phrase(str):
    """English words that the page of the service can also say in another language.

    Parameters
    ----------
    text : str
    key : str
        The name of the translation in `service/web/lang`.
    words : str or int
        The values that the translation inserts.

    Examples
    --------
    >>> element("text", Phrase("3 documents", "evaluate.n", n=3))
    '<text data-t="evaluate.n" data-words="{&quot;n&quot;: 3}">3 documents</text>'
    """

    def __new__(cls, text: str, key: str, **words: str | int) -> Phrase:
        made = super().__new__(cls, text)
        made.key = key
        made.words = {name: visible(word) if isinstance(word, str) else word for name, word in words.items()}
        return made

    key: str
    words: dict[str, str | int]

    def attributes(self, name: str) -> dict[str, str]:
        """The attributes by which the page finds the translation."""
        words = {"data_words": json.dumps(self.words)} if self.words else {}
        return {name: self.key} | words


def escaped(text: str) -> Markup:
    """Text as HTML; a lone surrogate, which no encoding can hold, becomes U+FFFD.

    >>> escaped("<b> & \\0 \\ud800"), escaped(Markup("<b>"))
    ('&lt;b&gt; &amp; ␀ \ufffd', '<b>')
    """
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_HALVES.sub("\ufffd", visible(text))))


def element(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; `class_` is the attribute class, `aria_label` is aria-label.

    Attributes that are None or False are left out, children that are None too.  A phrase that is the only child, or the
    label, can be translated.

    >>> element("a", "1 < 2", href="#x", class_="cell", aria_label='"', hidden=False)
    '<a href="#x" class="cell" aria-label="&quot;">1 &lt; 2</a>'
    >>> element("g", element("line", x1=1.25, y1=2.0))
    '<g><line x1="1.2" y1="2"></line></g>'
    """
    label = attributes.get("aria_label")
    if isinstance(label, Phrase):
        attributes |= label.attributes("data_t_label")
    if len(children) == 1 and isinstance(children[0], Phrase):
        attributes |= children[0].attributes("data_t")
    written = ""
    for key, value in attributes.items():
        if value is not None and value is not False:
            written += f" {key.removesuffix('_').replace('_', '-')}"
            if value is not True:
                written += f'="{escaped(number(value) if isinstance(value, float) else str(value))}"'
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[Any]) -> Markup:
    """Pieces one after the other; None is nothing."""
    return Markup(
        "".join(escaped(child if isinstance(child, str) else text_of(child)) for child in children if child is not None)
    )


def isolated(text: Any) -> Markup:
    """A text out of the data that leaves the direction of the text around it alone.

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
    """The approximate width of a text in letters of a size: characters of East Asia are twice as wide as others."""
    from rich.cells import cell_len

    return _WIDE * size * cell_len(visible(text))


def fit(text: Any, width: float, size: float = 1 / _WIDE) -> str:
    """A text in one line of a width; cut in the middle, since labels of one family differ at their ends.

    The width is in letters of a size, or in cells of a terminal.

    >>> fit("comp.sys.mac.hardware", 12), fit("comp.sys.mac.hardware", 90, 12), fit("ニュース", 90, 12)
    ('comp.s…dware', 'comp.s…dware', 'ニュース')
    """
    from rich.cells import cell_len, set_cell_size

    most = max(int(width / (_WIDE * size) + 1e-9), 3)
    line = one_line(text_of(text))
    if cell_len(line) <= most:
        return line
    tail = (most - 1) // 2
    ends = set_cell_size(line, most - 1 - tail), set_cell_size(line[::-1], tail)[::-1]
    return f"{ends[0].rstrip()}…{ends[1].lstrip()}"


# --- a page, and a piece of a notebook


class Section(NamedTuple):
    """A part of a page."""

    id: str
    heading: str
    body: Markup

    def draw(self) -> Markup:
        """The element of the page."""
        heading = element("h2", self.heading, id=f"{self.id}-heading")
        return element("section", heading, self.body, id=self.id, aria_labelledby=f"{self.id}-heading")


def section(id: str, heading: str, *children: Markup | None, note: str = "") -> Section:
    """A part of a page; `note` is a line below its heading."""
    about = element("p", note, class_="muted") if note else None
    return Section(id, heading, joined((about, *children)))


def fact_list(known: Iterable[tuple[str, str]]) -> Markup:
    """Names and values in a line or two."""
    items = (element("div", element("dt", name), element("dd", isolated(value))) for name, value in known)
    return element("dl", *items, class_="facts")


def page(title: str, about: Markup, sections: Sequence[Section], heading: Markup | None = None) -> str:
    """A document of HTML: a header that says what it is about, links to the sections, and these.

    >>> found = page("A & B", Markup("<p>of two</p>"), [section("one", "The first", Markup("<p>x</p>"))])
    >>> found.startswith('<!doctype html>'), '<title>A &amp; B</title>' in found, "unsafe" in found
    (True, True, False)
    """
    brand = element("p", "bunrui ", element("span", "分類", lang="ja"), class_="brand")
    links = [element("a", one.heading, href=f"#{one.id}") for one in sections]
    contents = element("nav", *links, aria_label="Contents") if len(links) > 1 else None
    header = element("header", brand, element("h1", heading or title), about, contents)
    main = element("main", *(one.draw() for one in sections))
    return document(title, (header, main), asset("views.css"), asset("views.js"), class_="report")


def document(
    title: str, body: Iterable[Markup], style: str, script: str, *, class_: str | None = None, kind: str | None = None
) -> str:
    """A document of HTML that needs nothing else, and allows no script but its own; `kind` is the type of the script.

    >>> document("A", [Markup("<p>x</p>")], "p {}", "run()").count("sha256-")
    2
    """
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=Markup(policy)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    code = element("script", Markup(script), type=kind)
    return f"<!doctype html>\n{element('html', head, element('body', *body, code, class_=class_), lang='en')}\n"


def fragment(*children: Markup | None) -> str:
    """A piece of a notebook: the part of the style sheet that draws results holds in it, and nowhere else."""
    return str(element("div", Markup(f"<style>.bunrui{{{_results()}}}</style>"), *children, class_="bunrui"))


@cache
def _results() -> str:
    """The style of results, with colours that suit a light ground and a dark one: nobody says which it is."""
    blend = "color-mix(in srgb,currentColor {}%,transparent)"
    colours = f"--for:#0072b2;--against:#e69f00;--muted:{blend.format(70)};--line:{blend.format(18)};"
    return colours + asset("views.css").partition("/* results */")[2].partition("/* pages */")[0]


def _digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


@cache
def asset(name: str) -> str:
    """A file of `web/`: the style sheet or the script."""
    # A line that ends differently on another machine would have another digest.
    return (files("bunrui.views") / "web" / name).read_text(encoding="utf-8").replace("\r\n", "\n")
