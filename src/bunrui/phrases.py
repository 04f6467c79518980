"""Names, numbers and texts inside sentences: terminals, pages and errors write them in the same way.

It also says which names labels may have.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

_UNSEEN = re.compile("\r\n|[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_BREAKS = str.maketrans({"\n": "␊", "\t": "␉", "\u2028": "‹U+2028›", "\u2029": "‹U+2029›"})


def some(names: Iterable[Any], most: int = 20) -> str:
    """Names in a sentence; only the first if there are many.

    >>> some(["title", "body"]), some(map(repr, range(9)), most=2)
    ('title, body', '0, 1 and 7 more')
    """
    listed = [str(name) for name in names]
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more:,} more" if more > 0 else "")


def counted(n: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "label"), counted(5572, "document")
    ('1 label', '5,572 documents')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    """A share of one.

    >>> percent(0.98765), percent(1.0)
    ('98.8 %', '100.0 %')
    """
    return f"{100 * share:.1f} %"


def short(number: float | None) -> str:
    """A number in five characters or so.

    >>> short(999), short(12_345), short(1_131_149), short(0.04), short(57.3), short(None)
    ('999', '12.3 k', '1.13 M', '0.04', '57.3', '–')
    """
    if number is None:
        return "–"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def readable(document: Any) -> str:
    """A document as a readable string.

    >>> readable(["cheap", "pills"]), readable({"pills": 2})
    ('cheap pills', 'pills ×2')
    """
    if isinstance(document, dict):
        document = (f"{word} ×{n}" for word, n in document.items())
    return document if isinstance(document, str) else " ".join(document)


def excerpt(text: str, most: int) -> str:
    """The beginning of a long text.

    >>> excerpt("see you", 10), excerpt("see you at noon", 10)
    ('see you', 'see you at…')
    """
    return text if len(text) <= most else text[:most] + "…"


def visible(text: str) -> str:
    """A text with visible, harmless signs in place of its control characters.

    >>> visible("a\\0b\\x1b[2J\\u202ec\\r\\n")
    'a␀b␛[2J‹U+202E›c\\n'
    """
    return _UNSEEN.sub(_picture, text)


def one_line(text: str) -> str:
    """A visible text on one line.

    >>> one_line("a\\tb\\x1b[2J")
    'a␉b␛[2J'
    """
    return text if text.isascii() and text.isprintable() else visible(text).translate(_BREAKS)


def _picture(match: re.Match[str]) -> str:
    if match.group() == "\r\n":
        return "\n"
    code = ord(match.group())
    return chr(0x2400 + code) if code < 32 else "␡" if code == 127 else f"‹U+{code:04X}›"


# --- names of labels: readers of documents and files of classifiers refuse the same

_BLANK = ("Cc", "Cf", "Zs", "Zl", "Zp")  # controls, format characters, spaces

LONGEST_LABEL = 1000
"""Characters.  Paths and addresses fit; a text that is taken for a label does not."""


def unfit(label: str, longest: int | None = LONGEST_LABEL) -> str | None:
    """Why a new label is refused, or None if it is right; `longest` is None for any length.

    >>> unfit("spam"), unfit("\\u200b "), unfit("x" * 2000)
    (None, 'is blank: give it a name', 'has 2,000 characters, and 1,000 are the most: give it a shorter name')
    """
    if all(unicodedata.category(character) in _BLANK for character in label):
        return f"is {'blank' if label else 'empty'}: give it a name"
    if longest is not None and len(label) > longest:
        return f"has {len(label):,} characters, and {longest:,} are the most: give it a shorter name"
    return None
