"""Numbers → drawings and tables: HTML and SVG that need nothing else.

    markup.py   elements; all that is not markup is text, and is escaped
    plane.py    two axes with lines, bands and points
    matrix.py   a square of numbers
    bars.py     a bar, or an interval, for each name
    tables.py   tables
    page.py     a whole page: style, script, and what the browser may do; a piece of a notebook
    page.css  page.js

A drawing has its colours in attributes, so that it is readable wherever it is put, on a light ground or a dark one; the
stylesheet of a page refines them.  There is no attribute `style`: a page may forbid it.
"""

from __future__ import annotations

from bunrui.drawing.bars import Bar, bars, ranges
from bunrui.drawing.markup import Markup, element, isolated, joined
from bunrui.drawing.matrix import matrix
from bunrui.drawing.page import Section, fragment, page, section
from bunrui.drawing.plane import Axis, Plane
from bunrui.drawing.tables import Column, figures, table

__all__ = [
    "Axis",
    "Bar",
    "Column",
    "Markup",
    "Plane",
    "Section",
    "bars",
    "element",
    "figures",
    "fragment",
    "isolated",
    "joined",
    "matrix",
    "page",
    "ranges",
    "section",
    "table",
]
