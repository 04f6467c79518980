"""Everything that bunrui raises on purpose.

    BunruiError
    ├── DataError          input that cannot be read as documents and labels
    │   ├── EncodingError  bytes that are not valid UTF-8
    │   └── TableError     a row of a table that does not fit
    ├── LabelError         a label that is unknown, empty or of the wrong kind
    │   └── LabelSetError  one label that would replace the several of a document
    ├── UnlearnError       something that was never learned, so cannot be taken back
    ├── DuplicateError     a text that was learned before, where each is to be learned once
    ├── MismatchError      counts of different analyzers, or models that cannot be joined
    ├── StoreError         a classifier file that is missing, in use or cannot be written
    │   ├── DamagedError   one that is not what it was
    │   └── MovedError     one that has lost its name since it was opened
    ├── NotLearnedError    a question to a classifier that has learned nothing
    ├── OptionError        an option with a value that makes no sense
    ├── KernelError        compiled code that is missing, or older than its source
    └── MissingExtraError  an optional package that is not installed

Each message says what was expected and what to do next.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, Self

__all__ = [
    "BunruiError",
    "DamagedError",
    "DataError",
    "DuplicateError",
    "EncodingError",
    "KernelError",
    "LabelError",
    "LabelSetError",
    "MismatchError",
    "MissingExtraError",
    "MovedError",
    "NotLearnedError",
    "OptionError",
    "StoreError",
    "TableError",
    "UnlearnError",
]


class BunruiError(Exception):
    """The root of the tree."""


class DataError(BunruiError, ValueError):
    """Input that cannot be read as documents and labels."""


class EncodingError(DataError):
    """Bytes that are not valid UTF-8."""


class TableError(DataError):
    """A row of a table that does not fit: `what` is wrong, and `row` its place, where there are several.

    >>> str(TableError("the column 'age' is missing", 7))
    "row 7: the column 'age' is missing"
    """

    def __init__(self, what: str, row: int | None = None) -> None:
        super().__init__(what if row is None else f"row {row}: {what}")
        self.what = what
        self.row = row


class LabelError(BunruiError, ValueError):
    """A label that is unknown, empty or of the wrong kind."""


class LabelSetError(LabelError):
    """One label that would replace the several of a document."""


class _DocumentError(BunruiError, ValueError):
    """`row` is the place of the document among those that were given, where that is known."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class UnlearnError(_DocumentError):
    """Something that was never learned, so cannot be taken back."""


class DuplicateError(_DocumentError):
    """A text that was learned before, where each is to be learned once."""


class MismatchError(BunruiError, ValueError):
    """Counts of different analyzers, or models that cannot be joined."""


class StoreError(BunruiError):
    """A classifier file that is missing, in use or cannot be written."""


class DamagedError(StoreError):
    """A classifier file that is not what it was when it was written."""


class MovedError(StoreError):
    """A classifier file that was moved away or replaced since it was opened."""


class NotLearnedError(BunruiError, ValueError, AttributeError):
    """A question to a classifier that has learned nothing.

    An AttributeError too, so that `hasattr(clf, "classes_")` is False; and scikit-learn's `NotFittedError`, for those
    who catch that: they have imported it.
    """

    def __new__(cls, *args: Any) -> Self:
        kind: Any = cls
        theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        if theirs is not None and not issubclass(cls, theirs):
            kind = _joined(kind, theirs)
        error: Self = super().__new__(kind, *args)
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return NotLearnedError, self.args


@cache
def _joined(mine: type[Any], theirs: type[Any]) -> type[Any]:
    """A class that is both, under the name of the first."""
    return type(mine.__name__, (mine, theirs), {"__module__": mine.__module__, "__doc__": mine.__doc__})


class OptionError(BunruiError, ValueError):
    """An option with a value that makes no sense."""


class KernelError(BunruiError, RuntimeError):
    """Compiled code that is missing, or older than its source."""


class MissingExtraError(BunruiError, ImportError):
    """An optional package that is not installed.

    >>> str(MissingExtraError("ja", "fugashi"))
    "the analyzer 'ja' needs fugashi, which is not installed: pip install 'bunrui[ja]'"
    """

    def __init__(self, extra: str, package: str, what: str | None = None) -> None:
        what = what or f"the analyzer '{extra}' needs"
        super().__init__(f"{what} {package}, which is not installed: pip install 'bunrui[{extra}]'")
