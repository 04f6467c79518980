"""HTML → text, for mail that has no plain part."""

from __future__ import annotations

import html
import re

__all__ = ["html_to_text"]

_TAG = re.compile(r"<(?:!--|[!?/]?([a-zA-Z][^\s/<>]*))")
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in ("script", "style")}
_BLOCK_NAMES = """
blockquote br center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre table td th title tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_LONG_NUMBER = re.compile(r"&#[0-9]{9,};?")  # no character; Python may refuse to read it as a number


def html_to_text(markup: str) -> str:
    """Text without tags, comments, scripts and style sheets; one pass, linear in any case.

    >>> html_to_text("<style>p {}</style><p>R&amp;D <b>costs</b><br>3 &lt; 4<!-- no -->")
    '\\nR&D costs\\n3 < 4'
    """
    parts: list[str] = []
    at = 0
    while match := _TAG.search(markup, at):
        start, end = match.span()
        parts.append(markup[at:start])
        name = (match[1] or "").lower()
        close = markup.find(">" if name else "-->", end)
        if close < 0:
            at = start  # never closed, nor is any tag after it: text
            break
        at = close + (1 if name else 3)
        if name in _RAW_END and match[0][1] != "/":
            over = _RAW_END[name].search(markup, at)
            at = over.start() if over else len(markup)
        if name in _BLOCKS:
            parts.append("\n")
    parts.append(markup[at:])
    return html.unescape(_LONG_NUMBER.sub("\ufffd", "".join(parts)))
