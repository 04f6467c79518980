"""A whole page in one file, and a piece of a notebook.

A page asks for nothing: its style and its script stand in it, and its policy, which names both by their digests,
forbids the browser to run or fetch anything else, whatever a document or a label holds.

    web/views.css    the one style sheet: in reports, in notebooks, and on the page of the service
    web/views.js     the one script: tables that sort, curves to choose, cells and words by keyboard
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from bunrui.views.markup import Markup, element, isolated, joined

__all__ = ["Section", "fact_list", "fragment", "page", "section"]


class Section(NamedTuple):
    """A part of a page."""

    id: str
    heading: str
    body: Markup


def section(id: str, heading: str, *children: Markup | None, note: str = "") -> Section:
    """A part of a page, with a line below its heading that says what is to be seen."""
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
    style, script = _file("views.css"), _file("views.js")
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
    brand = element("p", "bunrui ", element("span", "分類", lang="ja"), class_="brand")
    links = [element("a", one.heading, href=f"#{one.id}") for one in sections]
    contents = element("nav", *links, aria_label="Contents") if len(links) > 1 else None
    header = element("header", brand, element("h1", heading or title), about, contents)
    main = element("main", *map(_draw, sections))
    body = element("body", header, main, Markup(f"<script>{script}</script>"), class_="report")
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def fragment(*children: Markup | None) -> str:
    """A piece of a notebook: the part of the style sheet that draws results holds in it, and nowhere else."""
    return str(element("div", Markup(f"<style>.bunrui{{{_results()}}}</style>"), *children, class_="bunrui"))


@cache
def _results() -> str:
    """The style of results, with colours that suit a light ground and a dark one: nobody says which it is."""
    blend = "color-mix(in srgb,currentColor {}%,transparent)"
    colours = f"--for:#0072b2;--against:#e69f00;--muted:{blend.format(70)};--line:{blend.format(18)};"
    return colours + _file("views.css").partition("/* results */")[2].partition("/* pages */")[0]


def _draw(one: Section) -> Markup:
    heading = element("h2", one.heading, id=f"{one.id}-heading")
    return element("section", heading, one.body, id=one.id, aria_labelledby=f"{one.id}-heading")


def _digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


@cache
def _file(name: str) -> str:
    # A line that ends differently on another machine would have another digest.
    return (files("bunrui.views") / "web" / name).read_text(encoding="utf-8").replace("\r\n", "\n")
