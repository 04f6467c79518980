"""Messages of the library, in the words of the command line."""

from __future__ import annotations

import re

__all__ = ["in_options"]

_WORDS = {
    "give one label for the file as {label: file}, or read it with labelled=False": "or give all of them one with --as",
    "give one as {label: source}": "give all of them one with --as",
    "call learn(texts, labels) first": "learn documents first, with 'bunrui learn'",
    "say which one is negative": "say with --negative which one is the other",
}
_OPTIONS = "text|label|id|format|encoding|include|exclude|keep|unique"


def in_options(message: str) -> str:
    """A message with options in place of arguments of functions.

    >>> in_options("there is no column 'text', only 'body': choose another with text=")
    "there is no column 'text', only 'body': choose another with --text"
    >>> in_options("not valid utf-8. Try encoding='cp932'")
    'not valid utf-8. Try --encoding cp932'
    """
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours)
    message = re.sub(rf"\b({_OPTIONS})='([^'\s]+)'", r"--\1 \2", message)
    return re.sub(rf"(?<![\w.'\"])({_OPTIONS})=(?=$|[\s,;:.])", r"--\1", message)
