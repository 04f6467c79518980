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
    ├── StoreError         a file that is missing, in use or cannot be written
    │   ├── DamagedError   one whose bytes have changed
    │   ├── MovedError     one that has lost its name since it was opened
    │   └── ChangedError   one in which somebody else has changed something meanwhile
    ├── NotLearnedError    a question to a classifier that has learned nothing
    ├── OptionError        an option with a value that makes no sense: wrong usage
    ├── KernelError        compiled code that is missing, or older than its source
    └── MissingExtraError  an optional package that is not installed

An error carries fields: the option and its value, the file and the line, the expectation, a hint.  Each surface writes
its own sentence.  `str(error)` is for Python.  The command line and the service call `error.tell` with their own
spelling, because one option is `min_df` in Python, `--min-df` in the shell and "min_df" in JSON.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple, Self

__all__ = [
    "BunruiError",
    "ChangedError",
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


class _Unsaid(Enum):
    """The value of a field that was not given: None is a value."""

    UNSAID = "unsaid"


UNSAID = _Unsaid.UNSAID


class Option(NamedTuple):
    """An option inside a sentence, by its name in Python; perhaps with a value to give it, `...` for any value."""

    name: str
    value: Any = UNSAID


class Step(NamedTuple):
    """The next thing to do, inside a sentence: one of `STEPS`, about a file perhaps."""

    name: str
    file: str = ""


Sentence = str | tuple[str | Option | Step, ...]
"""Text, or parts of a text with options and steps between them."""

Spelling = Callable[[Option | Step], str]

STEPS = {
    "learn": "call learn(texts, labels) first",
    "check-path": "check the path",
    "check-pattern": "check the pattern",
    "create": "make one with bunrui.create({file!r})",
    "reopen": "call refresh, or open it anew",
    "fetch": "get it with bunrui.datasets.fetch({file!r})",
    "fetch-from": "give your copy with bunrui.datasets.fetch({file!r}, PATH)",
    "list-corpora": "bunrui.datasets.CORPORA has all of them",
    "slim": "make a smaller copy with `bunrui slim {file} COPY --min-df 2 --memory 2GB`",
    "learn-table": "make the classifier with analyzer='columns'",
    "other-model": "choose another with model, for example nbsvm",
    "replace-surrogate": 'replace it, for example with text.encode("utf-8", "replace").decode()',
}
"""The next thing to do, in Python's words."""

_NEAR = 0.8  # of two names, so that a slip of two keys is found, and svm is not taken for nbsvm
_NO_ROOM = "the disk is full", "make room"
_PERMISSIONS = "you may not read or write this", "check its permissions and those of its folder"
_SYSTEM = {
    errno.ENOENT: ("there is no such file or folder", "check the path"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "check the path"),
    errno.EISDIR: ("this is a folder", "name a file in it"),
    errno.ENOSPC: _NO_ROOM,
    errno.EFBIG: ("the file would be larger than the system allows", "raise the limit, or write elsewhere"),
    getattr(errno, "EDQUOT", errno.ENOSPC): _NO_ROOM,
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: _PERMISSIONS,
}


def spell_in_python(part: Option | Step) -> str:
    """An option or a step, as Python spells it.

    Examples
    --------
    >>> [spell_in_python(Option(*given)) for given in (("min_df",), ("text", ...), ("keep", "text"))]
    ['min_df', 'text=', "keep='text'"]
    >>> spell_in_python(Option("as", {"spam": "mails/spam"}))
    "{'spam': 'mails/spam'}"
    """
    if isinstance(part, Step):
        return STEPS[part.name].format(file=part.file)
    if part.name == "as":  # one label for a source is a mapping in its place
        return "{label: source}" if part.value is ... else repr(part.value)
    if part.value is UNSAID:
        return part.name
    return f"{part.name}={'' if part.value is ... else repr(part.value)}"


class BunruiError(Exception):
    """The root of the tree.

    Parameters
    ----------
    problem : str, or tuple of str, Option and Step
        The problem.  It can be left out where `expected` or `choices` say it.
    row : int or None
        The place of a document among those that were given.
    option : str or None
        The option that is wrong, by its name in Python; by default the first one that the problem names.
    value : object
        The value that was given.
    expected : str or None
        The values that the option should have, in words.
    choices : iterable of str
        The values that the option can have.
    file, line : str and int, or None
        The place of the problem; `unit` is the name of a line.
    hint : str, or tuple of str, Option and Step
        The next thing to do.
    cause : str or None
        A name of the problem, by which a page in another language finds its own sentence; by default the class has one.

    Examples
    --------
    >>> error = OptionError(option="min_df", value=0, expected="a whole number, at least 1")
    >>> print(error)
    min_df should be a whole number, at least 1, not 0
    >>> error.option, error.value
    ('min_df', 0)
    >>> print(error.tell(lambda part: f"--{part.name.replace('_', '-')}"))
    --min-df should be a whole number, at least 1, not 0
    >>> print(OptionError(option="metric", value="f2", choices=["accuracy", "log_loss"]))
    there is no metric 'f2': choose one of accuracy, log_loss
    >>> print(OptionError(option="model", value="nbvsm", choices=["nbsvm", "arow"]))
    there is no model 'nbvsm': did you mean nbsvm? Choose one of nbsvm, arow
    >>> print(DataError("the label is empty", file="a.csv", line=7, hint="give it a name, or leave the row out"))
    a.csv, line 7: the label is empty: give it a name, or leave the row out
    """

    shows_row = False
    """Whether the sentence begins with the row, where no file is known."""

    def __init__(
        self,
        problem: Sentence = "",
        row: int | None = None,
        *,
        option: str | None = None,
        value: Any = UNSAID,
        expected: str | None = None,
        choices: Iterable[str] = (),
        file: str | None = None,
        line: int | None = None,
        unit: str = "line",
        hint: Sentence = "",
        cause: str | None = None,
    ) -> None:
        super().__init__(problem)
        parts = problem if isinstance(problem, tuple) else ()
        named = (part.name for part in parts if isinstance(part, Option))
        self.problem, self.row, self.hint = problem, row, hint
        self.option = option or next(named, None)
        self.value, self.expected, self.choices = value, expected, tuple(choices)
        self.file, self.line, self.unit, self.cause = file, line, unit, cause

    @classmethod
    def of_system(cls, error: OSError, file: str | None = None) -> Self:
        """An error of the system, with its hint; `file` where the system does not name the right one.

        >>> print(DataError.of_system(FileNotFoundError(2, "No such file or directory", "a.csv")))
        a.csv: there is no such file or folder: check the path
        """
        unknown = f"this cannot be read or written ({error.strerror or error})", "check the disk"
        problem, hint = _SYSTEM.get(error.errno or 0, unknown)
        return cls(problem, file=os.fsdecode(file or error.filename or "") or None, hint=hint)

    def __str__(self) -> str:
        return self.tell(spell_in_python)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def tell(self, spell: Spelling) -> str:
        """The sentence, with options and steps as `spell` writes them."""
        said = _join(self.problem, spell)
        if self.option is not None and self.expected is not None:
            said = f"{said or spell(Option(self.option))} should be {self.expected}"
            said += "" if self.value is UNSAID else f", not {self.value!r}"
        elif self.option is not None and self.choices:
            said = said or f"there is no {self.option.replace('_', ' ')} {self.value!r}"
            said += f": {choose_one(self.value, self.choices)}"
        hint = _join(self.hint, spell)
        return f"{self.place}{said}{': ' if hint else ''}{hint}"

    @property
    def place(self) -> str:
        """The place of the problem, as a sentence begins with it."""
        if self.file is not None:
            return f"{self.file}: " if self.line is None else f"{self.file}, {self.unit} {self.line}: "
        return f"row {self.row}: " if self.shows_row and self.row is not None else ""


def _join(sentence: Sentence, spell: Spelling) -> str:
    parts = (sentence,) if isinstance(sentence, str) else sentence
    return "".join(part if isinstance(part, str) else spell(part) for part in parts)


class DataError(BunruiError, ValueError):
    """Input that cannot be read as documents and labels."""


class EncodingError(DataError):
    """Bytes that are not valid UTF-8."""


class TableError(DataError):
    """A row of a table that does not fit.

    >>> str(TableError("the column 'age' is missing", 7))
    "row 7: the column 'age' is missing"
    """

    shows_row = True


class LabelError(BunruiError, ValueError):
    """A label that is unknown, empty or of the wrong kind."""


class LabelSetError(LabelError):
    """One label that would replace the several of a document."""


class UnlearnError(BunruiError, ValueError):
    """Something that was never learned, so cannot be taken back."""


class DuplicateError(BunruiError, ValueError):
    """A text that was learned before, where each is to be learned once."""


class MismatchError(BunruiError, ValueError):
    """Counts of different analyzers, or models that cannot be joined."""


class StoreError(BunruiError):
    """A file, of a classifier or with results, that is missing, in use or cannot be written."""


class DamagedError(StoreError):
    """A classifier file whose bytes have changed since it was written."""


class MovedError(StoreError):
    """A classifier file that was moved away or replaced since it was opened."""


class ChangedError(StoreError):
    """A classifier file in which somebody else has changed something meanwhile."""


class NotLearnedError(BunruiError, ValueError, AttributeError):
    """A question to a classifier that has learned nothing.

    It is also an AttributeError, so that `hasattr(clf, "classes_")` is False.  If scikit-learn is imported, it is also
    scikit-learn's `NotFittedError`.
    """

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        kind: Any = cls
        theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        if theirs is not None and not issubclass(cls, theirs):
            kind = _joined(kind, theirs)
        error: Self = super().__new__(kind, *args)
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return NotLearnedError, self.args, self.__dict__


@cache
def _joined(mine: type[Any], theirs: type[Any]) -> type[Any]:
    """A class that is both, under the name of the first."""
    return type(mine.__name__, (mine, theirs), {"__module__": mine.__module__, "__doc__": mine.__doc__})


class OptionError(BunruiError, ValueError):
    """An option with a value that makes no sense."""


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python's or NumPy's types; True is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_whole(option: str, value: Any, least: int = 1, most: int | None = None, *, or_none: bool = False) -> None:
    """Refuse a value that is no whole number in some range; with `or_none`, None says that none was given.

    >>> check_whole("k", 2.5)
    Traceback (most recent call last):
    bunrui.errors.OptionError: k should be a whole number, at least 1, not 2.5
    """
    if or_none and value is None:
        return
    if not is_whole(value) or value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most:,}"
        raise OptionError(option=option, value=value, expected=f"a whole number, {bounds}")


def choose_one(value: Any, choices: Iterable[str]) -> str:
    """The choices in place of a value that is none of them, and the one that it is nearly the same as.

    >>> choose_one("nbvsm", ["nbsvm", "arow"]), choose_one("svm", ["nbsvm", "arow"])
    ('did you mean nbsvm? Choose one of nbsvm, arow', 'choose one of nbsvm, arow')
    """
    from difflib import get_close_matches

    names = tuple(choices)
    near = get_close_matches(str(value), names, n=1, cutoff=_NEAR)
    return f"{f'did you mean {near[0]}? Choose' if near else 'choose'} one of {', '.join(names)}"


def check_choice(option: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse a value that is not among the choices."""
    if value not in (names := tuple(choices)):
        raise OptionError(option=option, value=value, choices=names)


class KernelError(BunruiError, RuntimeError):
    """Compiled code that is missing, or older than its source."""


class MissingExtraError(BunruiError, ImportError):
    """An optional package that is not installed.

    >>> str(MissingExtraError("ja", "fugashi"))
    "the analyzer 'ja' needs fugashi, which is not installed: pip install 'bunrui[ja]'"
    >>> str(MissingExtraError("serve", "uvicorn", "the service needs"))
    "the service needs uvicorn, which is not installed: pip install 'bunrui[serve]'"
    """

    def __init__(self, extra: str, package: str, user: str = "") -> None:
        user = user or f"the analyzer '{extra}' needs"
        super().__init__(f"{user} {package}, which is not installed", hint=f"pip install 'bunrui[{extra}]'")
        self.args = extra, package, user
        self.extra, self.package = extra, package
