"""Names of labels: readers of documents and classifier files refuse the same ones."""

from __future__ import annotations

import unicodedata

__all__ = ["LONGEST_LABEL", "unfit"]

_UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")  # controls, format characters, spaces

LONGEST_LABEL = 1000
"""Characters.  Paths and addresses fit; a text that is taken for a label does not."""


def unfit(label: str, longest: int | None = LONGEST_LABEL) -> str | None:
    """Why a new label is refused, or None if it is right; `longest` is None for any length.

    >>> unfit("spam"), unfit("\\u200b "), unfit("x" * 2000)
    (None, 'is blank: give it a name', 'has 2,000 characters, and 1,000 are the most: give it a shorter name')
    """
    if all(unicodedata.category(character) in _UNSEEN for character in label):
        return f"is {'blank' if label else 'empty'}: give it a name"
    if longest is not None and len(label) > longest:
        return f"has {len(label):,} characters, and {longest:,} are the most: give it a shorter name"
    return None
