"""`Labelled`: texts and their labels, to be taken in parts."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.classifier import AnyClassifier
from bunrui.engines.labels import label_sets
from bunrui.errors import DataError, OptionError

__all__ = ["Labelled", "check_classifier"]

Integers = npt.NDArray[np.int64]


def check_classifier(clf: Any) -> None:
    """Refuse what is no classifier, such as the path of one.

    >>> check_classifier("mail.bunrui")
    Traceback (most recent call last):
    bunrui.errors.OptionError: 'mail.bunrui' is no classifier: give one, such as TextClassifier() or bunrui.open(path)
    """
    if not isinstance(clf, AnyClassifier):
        raise OptionError(f"{clf!r:.40} is no classifier: give one, such as TextClassifier() or bunrui.open(path)")


class Labelled:
    """Labelled documents.

    Parameters
    ----------
    texts, labels
        As for `TextClassifier.learn`.

    Attributes
    ----------
    texts : list or Arrow array
    sets : LabelSets
        Labels are sorted.
    true : list
        The label of every document, or the set of its labels where some have several.

    Examples
    --------
    >>> Labelled(["a", "b", "c"], ["x", ["x", "y"], "y"]).pick(np.array([0, 2]))
    (['a', 'c'], [{'x'}, {'y'}])
    """

    def __init__(self, texts: Any, labels: Any) -> None:
        self.texts = list(texts) if inputs.is_given(texts) else inputs.strings(texts)
        self.sets = label_sets(labels, len(self.texts), {})

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def true(self) -> list[Any]:
        names = [self.sets.labels[k] for k in self.sets.indices.tolist()]
        groups = [names[a:b] for a, b in pairwise(self.sets.members.tolist())]
        single = all(len(group) == 1 for group in groups)
        values: list[Any] = [group[0] if single else set(group) for group in groups]
        return [values[group] for group in self.sets.groups.tolist()]

    def check_two(self) -> None:
        """Refuse documents that cannot predict each other.

        >>> Labelled(["a"], ["x"]).check_two()
        Traceback (most recent call last):
        bunrui.errors.DataError: one document cannot be predicted by others: give at least two
        """
        if len(self) < 2:
            found = "one document cannot be predicted by others" if len(self) else "there are no documents"
            raise DataError(f"{found}: give at least two")

    def pick(self, rows: Integers) -> tuple[Any, list[Any]]:
        """Some of the texts, with their labels."""
        listed = rows.tolist()
        texts = [self.texts[row] for row in listed] if isinstance(self.texts, list) else self.texts.take(rows)
        return texts, [self.true[row] for row in listed]
