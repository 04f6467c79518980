"""Rewrites text before it is cut into words: HTML to text; links, mentions and numbers to one sign each.

Each step is a list of edits `(start, end, replacement)`; with or without origins, they give the same text.  Each step
is one pass: time is linear in the text, whatever it holds.

HTML.  Tags and comments are removed; scripts and style sheets with their contents.  A tag that ends a line on a page
(p, br, li, td, ...) becomes a line break.  Entities are decoded as by `html.unescape`, and the result is not read as
HTML again.  Anything that is never closed is text: the `<` of `a < b`, a tag without `>`, a comment without `-->`.
Only a script or a style sheet without an end goes up to the end of the text, as in browsers.

Links, mentions, numbers.  A link is `http://`, `https://` or `www.` and the ASCII characters after it, without
punctuation at the end.  A mention is an e-mail address, or `@` and a name.  A number is decimal digits of any script,
with `.`, `,` or `:` between them.  Digits inside a word are a number: "mp3" gives "mp ‹number›".  A placeholder is
separated by a space from a letter, digit, mark, underscore or placeholder beside it.
"""

from __future__ import annotations

import html as entities
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

URL, MENTION, NUMBER = "\ue000", "\ue001", "\ue002"

PLACEHOLDERS = {URL: "‹url›", MENTION: "‹mention›", NUMBER: "‹number›"}
"""The signs, and how to show them."""

Edit = tuple[int, int, str]


@dataclass(frozen=True)
class Rewriter:
    """Rewrites a text, and knows the origin of each character.

    Placeholders in the original text become spaces first, so that nobody can forge one.

    Examples
    --------
    >>> rewriter = Rewriter(html=True, numbers=True)
    >>> rewriter.apply("<b>R&amp;D</b>: 3,000円")
    'R&D: \\ue002 円'
    >>> text, starts, ends = rewriter.apply_aligned("x&lt;2")
    >>> text, starts, ends
    ('x<\\ue002', [0, 1, 5], [1, 5, 6])
    """

    html: bool = False
    urls: bool = False
    mentions: bool = False
    numbers: bool = False

    def apply(self, text: str) -> str:
        """The text after all steps."""
        for find_edits in self._steps():
            text = "".join(_apply(find_edits(text), text, lambda edit: edit[2]))
        return text

    def apply_aligned(self, text: str) -> tuple[str, list[int], list[int]]:
        """The text after all steps, and for each of its characters the start and the end of its origin."""
        starts, ends = list(range(len(text))), list(range(1, len(text) + 1))
        for find_edits in self._steps():
            edits = list(find_edits(text))
            text = "".join(_apply(edits, text, lambda edit: edit[2]))
            starts, ends = _shift(edits, starts), _shift(edits, ends, are_ends=True)
        return text, starts, ends

    def _steps(self) -> Iterator[Callable[[str], Iterator[Edit]]]:
        yield _unforge
        if self.html:
            yield _edit_html
        if self.urls or self.mentions or self.numbers:
            yield lambda text: _edit_signs(_make_finder(self.urls, self.mentions, self.numbers), text)


def _apply(edits: Iterable[Edit], whole: Any, replace: Callable[[Edit], Any]) -> list[Any]:
    """The parts of a string or a list: those that stay, and others in place of those that are edited."""
    parts: list[Any] = []
    done = 0
    for edit in edits:
        parts += whole[done : edit[0]], replace(edit)
        done = edit[1]
    return [*parts, whole[done:]]


def _shift(edits: list[Edit], origins: list[int], *, are_ends: bool = False) -> list[int]:
    """The starts of the origins of all characters after some edits, or their ends."""
    parts = _apply(edits, origins, lambda edit: [origins[edit[1] - 1 if are_ends else edit[0]]] * len(edit[2]))
    return list(chain.from_iterable(parts))


_SIGN = re.compile(f"[{''.join(PLACEHOLDERS)}]")


def _unforge(text: str) -> Iterator[Edit]:
    return ((match.start(), match.end(), " ") for match in _SIGN.finditer(text))


# --- HTML

# Not the standard library's html.parser: it calls a method for each piece, has no end offsets, and has been quadratic
# on unclosed input.  One regular expression for a whole tag would be quadratic as well: on `<a ' ='` repeated, each
# `<` reads up to the end of the text in vain.
_ENTITY = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")  # as in html.unescape
_MARKUP = re.compile(rf"{_ENTITY.pattern}|<!--|<[!?/]?(?P<name>[a-zA-Z][^\s/<>]*|(?<=!)\[(?:end)?if\b)")
_ATTRIBUTES = re.compile(r"[^<>=]*(?:=\s*)?")
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in ("script", "style")}
_BLOCK_NAMES = """
address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption
figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe legend li main menu nav
noscript ol optgroup option p pre search section select summary table tbody td textarea tfoot th thead title tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())


def _edit_html(text: str) -> Iterator[Edit]:
    at, comments = 0, True
    while match := _MARKUP.search(text, at):
        start, at = match.span()
        if text[start] == "&":
            yield from _edit_entity(match)
        elif match["name"] is None:
            close = text.find("-->", start + 2) if comments else -1
            comments = close >= 0  # one search in vain is enough
            if comments:
                at = close + 3
                yield start, at, ""
        else:
            at, closed = _find_tag_end(text, at)
            if closed:
                name = match["name"].lower()
                if name in _RAW_END and text[start + 1] not in "!?/":
                    end = _RAW_END[name].search(text, at)
                    at = end.start() if end else len(text)
                yield start, at, "\n" if name in _BLOCKS else ""
            else:
                for entity in _ENTITY.finditer(text, start, at):
                    yield from _edit_entity(entity)


def _find_tag_end(text: str, at: int) -> tuple[int, bool]:
    """The end of a tag, and whether it ends with `>`; else it was none, and reading goes on at that place.

    A `>` or `<` in a quoted value is a part of the value; a quote that is never closed is no quote.
    """
    while (found := _ATTRIBUTES.match(text, at)) and found.end() < len(text):
        at = found.end()
        if text[at] in "<>":
            return (at, False) if text[at] == "<" else (at + 1, True)
        if text[at] in "\"'":
            at = max(text.find(text[at], at + 1), at) + 1
    return len(text), False


def _edit_entity(match: re.Match[str]) -> Iterator[Edit]:
    written = match.group()
    try:
        decoded = entities.unescape(written)
    except ValueError:  # more digits than Python reads as a number, so no character
        decoded = "\ufffd"
    if decoded != written:
        same = 0  # "&lt3" may be decoded with the letters behind it: those keep their own places
        while same < min(len(decoded), len(written)) and decoded[-1 - same] == written[-1 - same]:
            same += 1
        yield match.start(), match.end() - same, _SIGN.sub(" ", decoded[: len(decoded) - same])


# --- links, mentions, numbers

_LOCAL = r"[A-Za-z0-9._%+-]"
_LATIN = r"[A-Za-z0-9_\u00c0-\u024f]"
_NAME = rf"{_LATIN}+(?:[.-]{_LATIN}+)*"
_LINK = (
    r"(?<![A-Za-z0-9])(?i:https?://|www\.)[!#-;=?-~]*[A-Za-z0-9/#=&%_~$+*-]"
    # Only at the start of a run: from each of its letters, a long run without @ would be read again and again.
    rf"|(?<!{_LOCAL}){_LOCAL}+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{{2,}}"
)
_MENTION = rf"(?<![A-Za-z0-9_@＠])[@＠](?:{_NAME}(?:[@＠]{_NAME})?|\w+)"
_NUMBER = r"\d+(?:[.,:．，：٫٬]\d+)*"


@cache
def _make_finder(urls: bool, mentions: bool, numbers: bool) -> re.Pattern[str]:
    wanted = (("url", _LINK, urls), ("mention", _MENTION, mentions), ("number", _NUMBER, numbers))
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern, is_wanted in wanted if is_wanted))


def _edit_signs(finder: re.Pattern[str], text: str) -> Iterator[Edit]:
    signs = {"url": URL, "mention": MENTION, "number": NUMBER}
    done, apart = -1, True
    for match in finder.finditer(text):
        start, end = match.span()
        before = not apart if start == done else start > 0 and _sticks(text[start - 1])
        after = end < len(text) and _sticks(text[end])
        yield start, end, " " * before + signs[match.lastgroup or ""] + " " * after
        done, apart = end, after


def _sticks(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"
