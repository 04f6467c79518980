"""Stop words: a list, or a file with one word a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from bunrui.analysis.token import normalise
from bunrui.errors import DataError, EncodingError

__all__ = ["read"]

_COMMENT = re.compile(r"(?:^|\s)#.*")


def read(source: Iterable[str] | Path | str, fold: Callable[[str], str] = normalise) -> tuple[str, ...]:
    """Stop words as features are written: folded (NFKC and case folding, if not told otherwise), sorted, each once.

    Parameters
    ----------
    source : iterable of str, Path or str
        The words, or the path of a UTF-8 file (a str is a path).  In a file, `#` at the start of a line or after white
        space begins a comment, so that `c#` is a word; blank lines are left out.
    fold : function of str
        What the analyzer does to its words.

    Raises
    ------
    DataError
        For a file that cannot be read, with its name, and the line that is not UTF-8; for a word that is not a str.

    Examples
    --------
    >>> read(["The", "Ａ", "the", "です"])
    ('a', 'the', 'です')
    """
    words = _lines(Path(source)) if isinstance(source, str | Path) else list(source)
    for word in words:
        if not isinstance(word, str):
            raise DataError(f"stop words should be strings, not {word!r}: give a list of words, or a path")
    return tuple(sorted({fold(word).strip() for word in words} - {""}))


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read the stop words in {path}: {reason}. Give a file with one word a line") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise EncodingError(f"{path}, line {line}: not valid UTF-8. Save the stop words as UTF-8") from error
    return [_COMMENT.sub("", line) for line in text.splitlines()]
