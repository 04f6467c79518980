"""A whole page in one file, and a piece of a notebook.

A page asks for nothing: its style and its script stand in it, and its policy, which names both by their digests,
forbids the browser to run or fetch anything else, whatever a document or a label holds.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from bunrui.drawing.markup import Markup, element, joined

__all__ = ["Section", "fragment", "page", "section"]

_NOTEBOOK = (
    ".bunrui{color:inherit;line-height:1.5}.bunrui svg{max-width:100%;height:auto}.bunrui .number{text-align:right}"
    ".bunrui table{border-collapse:collapse;color:inherit;font-size:inherit}"
    ".bunrui :is(th,td){padding:.1em .9em .1em 0;border:0;background:none}"
    ".bunrui :is(th,td):not(.number){text-align:left}"
    ".bunrui th{font-weight:normal}.bunrui .bold *{font-weight:bold}"
    ".bunrui caption{text-align:left;opacity:.7}.bunrui .scroll{overflow-x:auto}"
    ".bunrui .figures{display:flex;flex-wrap:wrap;gap:.4em 2em}.bunrui .figures dd{margin:0;font-size:1.4em}"
    ".bunrui small{display:block;font-size:.6em;opacity:.7}.bunrui dt,.bunrui .muted{opacity:.7}"
)


def page(title: str, about: Markup, sections: list[Section]) -> str:
    """A document of HTML: a header that says what it is about, links to the sections, and these.

    >>> found = page("A & B", Markup("<p>of two</p>"), [section("one", "The first", Markup("<p>x</p>"))])
    >>> found.startswith('<!doctype html>'), '<title>A &amp; B</title>' in found, "unsafe" in found
    (True, True, False)
    """
    style, script = _file("page.css"), _file("page.js")
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
    links = (element("a", one.heading, href=f"#{one.id}") for one in sections)
    header = element("header", brand, element("h1", title), about, element("nav", *links, aria_label="Contents"))
    body = element("body", header, element("main", *map(_drawn, sections)), Markup(f"<script>{script}</script>"))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


class Section(NamedTuple):
    """A part of a page."""

    id: str
    heading: str
    body: Markup


def section(id: str, heading: str, *children: Markup | None, note: str = "") -> Section:
    """A part of a page, with a line below its heading that says what is to be seen."""
    about = element("p", note, class_="muted") if note else None
    return Section(id, heading, joined((about, *children)))


def fragment(*children: Markup | None) -> str:
    """A piece of a notebook, whose page has styles of its own."""
    return str(element("div", Markup(f"<style>{_NOTEBOOK}</style>"), *children, class_="bunrui"))


def _drawn(one: Section) -> Markup:
    return element(
        "section",
        element("h2", one.heading, id=f"{one.id}-heading"),
        one.body,
        id=one.id,
        aria_labelledby=f"{one.id}-heading",
    )


def _digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


@cache
def _file(name: str) -> str:
    # A line that ends differently on another machine would have another digest.
    return (files("bunrui.drawing") / name).read_text(encoding="utf-8").replace("\r\n", "\n")
