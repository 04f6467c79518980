"""`Labelled`: texts with their labels, and parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.classifier import AnyClassifier
from bunrui.counts import Label
from bunrui.engines.labelgroups import label_sets
from bunrui.errors import DataError, OptionError
from bunrui.evaluation.metrics import membership
from bunrui.sparse import Floats, Integers


def check_classifier(clf: Any) -> None:
    """Refuse anything but a classifier, such as the path of one.

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
    classes : list of labels
        Sorted.
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
        self.classes = self.sets.labels

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def true(self) -> list[Any]:
        names = self.sets.names
        single = all(len(group) == 1 for group in names)
        values: list[Any] = [group[0] if single else set(group) for group in names]
        return [values[group] for group in self.sets.groups.tolist()]

    @cached_property
    def own(self) -> npt.NDArray[np.bool_]:
        """Which classes each document has, (n_docs, n_classes)."""
        return membership(self.true, self.classes)

    def align(self, classes: Sequence[Label], scores: Floats) -> Floats:
        """Scores by some classes → scores by all of them, -inf for the others, (n_rows, n_classes)."""
        out = np.full((len(scores), len(self.classes)), -np.inf)
        places = {label: k for k, label in enumerate(self.classes)}
        out[:, [places[label] for label in classes]] = scores
        return out

    def check_two(self) -> None:
        """Refuse documents that cannot predict each other.

        >>> Labelled(["a"], ["x"]).check_two()
        Traceback (most recent call last):
        bunrui.errors.DataError: one document cannot be predicted by others: give at least two
        """
        if len(self) < 2:
            found = "one document cannot be predicted by others" if len(self) else "there are no documents"
            raise DataError(f"{found}: give at least two", cause="few-documents")

    def pick(self, rows: Integers) -> tuple[Any, list[Any]]:
        """Some of the texts, with their labels."""
        if isinstance(self.texts, list):
            return [self.texts[row] for row in rows.tolist()], self.labels_of(rows)
        return self.texts.take(rows), self.labels_of(rows)

    def labels_of(self, rows: Integers) -> list[Any]:
        """The labels of some documents."""
        return [self.true[row] for row in rows.tolist()]
