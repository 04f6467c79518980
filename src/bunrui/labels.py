"""Labels: strings, integers or booleans, all of one type in a classifier; and the texts that stand for them.

Files, command lines and web pages have texts.  `label_of` reads one as a label of a type, and `text_of` writes it:

    str     itself
    int     decimal digits, without zeros in front: -1, 10
    bool    true, false
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from numbers import Integral
from typing import Any

from bunrui.errors import LabelError

TYPES: dict[str, type] = {"str": str, "int": int, "bool": bool}
"""The types by the names that files and messages give them."""

BITS = 64  # of an integer: NumPy and Arrow have no larger ones

_NOUNS = {str: "strings", int: "integers", bool: "booleans"}
_ARROW = {str: "string", int: "int", bool: "bool"}  # in the names of Arrow's types, large_string and int64 too
_FORMS = {int: "one such as 3 or -1", bool: "true or false"}
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,19}").fullmatch
_BOOLEANS = {"true": True, "false": False}


def type_of(labels: Iterable[Any]) -> type | None:
    """The type of labels that are all of one; None where there are none.

    >>> type_of([True, False]), type_of([])
    (<class 'bool'>, None)
    """
    return next((plain_type(label) for label in labels), None)


def noun_of(kind: type) -> str:
    """The labels of a type, in a sentence.

    >>> noun_of(int)
    'integers'
    """
    return _NOUNS[kind]


def plain_type(label: Any) -> type:
    """The type of a label, NumPy's as Python's own; any other value has its own type.

    >>> import numpy as np
    >>> plain_type(np.int8(3)), plain_type(np.True_), plain_type(np.str_("a"))
    (<class 'int'>, <class 'bool'>, <class 'str'>)
    """
    if isinstance(label, str):
        return str
    if _is_boolean(label):
        return bool
    return int if isinstance(label, Integral) else type(label)


def _is_boolean(label: Any) -> bool:
    # NumPy's own is no subclass of Python's.  It is told by its name, because `bunrui --help` does not import NumPy.
    kind = type(label)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def plain(label: Any) -> Any:
    """A label as one of Python's own values; any other value stays as it is.

    >>> import numpy as np
    >>> plain(np.int64(3)), plain(np.False_), plain("a")
    (3, False, 'a')
    """
    kind = plain_type(label)
    return kind(label) if kind in _NOUNS else label


def is_label(given: Any) -> bool:
    """Whether something is one label, and no collection of labels."""
    return isinstance(given, str) or not isinstance(given, Iterable)


def as_list(labels: Any) -> list[Any]:
    """One label or several, as a list.

    >>> as_list("ham"), as_list(3), as_list(("ham", "eggs"))
    (['ham'], [3], ['ham', 'eggs'])
    """
    return [labels] if is_label(labels) else list(labels)


def fits(number: int) -> bool:
    """Whether an integer can be a label: an array of larger ones would be of floats."""
    return -(1 << BITS - 1) <= number < 1 << BITS - 1


def text_of(label: Any) -> str:
    """The text that stands for a label.

    >>> text_of("spam"), text_of(-1), text_of(True)
    ('spam', '-1', 'true')
    """
    return str(label).lower() if _is_boolean(label) else str(label)


def label_of(text: str, kind: type | None) -> Any:
    """The label of a type that a text stands for; None is for classifiers without labels, and then it is a string.

    >>> label_of("10", int), label_of("10", str), label_of("True", bool)
    (10, '10', True)
    >>> label_of("007", int)
    Traceback (most recent call last):
    ...
    bunrui.errors.LabelError: the label '007' is no integer, and the other labels are integers: give one such as 3 or \
-1, or all labels as strings
    """
    if kind is int and _INTEGER(text):
        if not fits(int(text)):
            wide = f"the label {text} has more than {BITS} bits: give all labels as strings"
            raise LabelError(wide, cause="label-type")
        return int(text)
    if kind is bool and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if kind in _FORMS:
        nouns = _NOUNS[kind]
        problem = f"the label {text!r} is no {nouns[:-1]}, and the other labels are {nouns}"
        raise LabelError(problem, hint=f"give {_FORMS[kind]}, or all labels as strings", cause="label-type")
    return text


def given_label(label: Any, kind: type | None) -> Any:
    """A label that somebody wrote, as JSON or as text, in the type of the others.

    A text may stand for a number or for true and false, since forms and pages have nothing else.  A number may stand
    for its text: programs write JSON.

    >>> import numpy as np
    >>> given_label("10", int), given_label(10, int), given_label(10, str), given_label(np.int64(3), None)
    (10, 10, '10', 3)
    """
    if isinstance(label, str):
        return label_of(label, kind)
    return text_of(label) if kind is str and plain_type(label) in _FORMS else plain(label)


def given_labels(labels: Any, kind: type | None) -> Any:
    """The same for the labels of documents, or lists of them; an Arrow array of this type stays as it is.

    >>> given_labels(["1", ["2", 3]], int)
    [1, [2, 3]]
    """
    if kind is None:
        return labels
    if hasattr(labels, "to_pylist"):
        leaf = labels.type
        while hasattr(leaf, "value_type"):
            leaf = leaf.value_type
        if _ARROW[kind] in str(leaf):
            return labels
        labels = labels.to_pylist()
    if kind is str and len({plain_type(one) for row in labels for one in as_list(row)}) > 1:
        return labels  # of several types, which the classifier refuses
    return [given_label(row, kind) if is_label(row) else [given_label(one, kind) for one in row] for row in labels]


def check_types(labels: Iterable[Any], known: Iterable[Any]) -> None:
    """Refuse labels of another type than the known ones: True would be taken for 1."""
    one, other = next(iter(labels), None), next(iter(known), None)
    if one is None or other is None or plain_type(one) is plain_type(other):
        return
    mine, theirs = plain_type(one).__name__, plain_type(other).__name__
    problem = f"the label {one!r} is of type {mine}, and others are of type {theirs}, such as {other!r}"
    raise LabelError(problem, hint=f"convert labels to {theirs}", cause="label-type")


def is_known(label: Any, known: Collection[Any]) -> bool:
    """Whether a label is among others: True is not 1.

    >>> import numpy as np
    >>> is_known(True, [1, 2]), is_known(np.int64(1), [1, 2]), is_known(1.0, [1, 2])
    (False, True, False)
    """
    return label in known and plain_type(label) is type_of(known)


def dtype_of(labels: Sequence[Any]) -> str:
    """The NumPy type of an array of labels.

    >>> dtype_of(["ham", "spam"]), dtype_of([-1, 1]), dtype_of([False])
    ('<U4', 'int64', 'bool')
    """
    if labels and not isinstance(labels[0], str):
        return "bool" if isinstance(labels[0], bool) else "int64"
    return f"<U{max(map(len, map(str, labels)), default=1)}"
