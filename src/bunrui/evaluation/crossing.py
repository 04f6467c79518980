"""Cross-validation: every fold, predicted by what the other rows have taught.

Models of counts do not start anew: from one training set to the next, rows are taken back and others are learned,
unless that is more than learning all of them.  Since `unlearn` is exact, scores have the very bits of learning from
scratch.  Models that are trained from documents are trained for each fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.errors import DataError
from bunrui.evaluation.folding import Fold
from bunrui.evaluation.folding import folds as cut
from bunrui.evaluation.labelled import Labelled, check_classifier
from bunrui.evaluation.result import Evaluation
from bunrui.models import MODELS
from bunrui.models.linear import probabilities

__all__ = ["CrossValidation", "cross_validate"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CrossValidation(Evaluation):
    """All predictions, and those of each fold.

    Attributes
    ----------
    rows : (n,) int64
        The row of each prediction, ascending.
    scores : (n, n_classes) float64
        -inf for a class that the training rows had not.
    per_fold : tuple of Evaluation
    """

    rows: Integers
    scores: Floats
    per_fold: tuple[Evaluation, ...]


def cross_validate(
    clf: AnyClassifier,
    texts: Any,
    labels: Any,
    folds: int | Sequence[tuple[Any, Any]],
    *,
    refit: bool = False,
) -> CrossValidation:
    """Predict the test rows of every fold by a classifier that has learned its training rows.

    Parameters
    ----------
    clf : TextClassifier
        Its options are used; it does not change.
    texts, labels
        As for `TextClassifier.learn`.
    folds : int or list of (train, test)
        Rows, as `folds` gives them; a number of folds is that of stratified ones.
    refit : bool
        Learn every training set from scratch.  Models that are trained from documents always do.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"]
    >>> labels = ["spam", "spam", "ham", "ham"]
    >>> found = cross_validate(TextClassifier(), texts, labels, folds=2)
    >>> found.predictions.tolist(), len(found.per_fold)
    (['spam', 'spam', 'ham', 'ham'], 2)
    """
    check_classifier(clf)
    documents = Labelled(texts, labels)
    if isinstance(folds, int):
        folds = cut(len(documents), documents.true, folds)
    checked = [checked_fold(fold, len(documents)) for fold in folds]
    if not checked:
        raise DataError("there are no folds: give at least one pair of training and test rows")
    learner = _Learner(clf, documents, refit=refit or clf.model not in MODELS)
    scores = [_scores(learner.learned(fold.train), documents, fold.test) for fold in checked]
    rows = np.concatenate([fold.test for fold in checked])
    order = np.argsort(rows, kind="stable")
    every = np.concatenate(scores)[order]
    return CrossValidation(
        **_fields(documents, rows[order], every),
        rows=rows[order],
        per_fold=tuple(
            Evaluation(**_fields(documents, fold.test, own)) for fold, own in zip(checked, scores, strict=True)
        ),
    )


class _Learner:
    """A classifier that goes from one training set to the next."""

    def __init__(self, clf: AnyClassifier, documents: Labelled, *, refit: bool) -> None:
        self._options = clf.get_params()
        self._documents = documents
        self._refit = refit
        self._clf = TextClassifier(**self._options)
        self._rows = np.empty(0, np.int64)

    def learned(self, rows: Integers) -> TextClassifier:
        """The classifier that has learned some rows."""
        leave, come = np.setdiff1d(self._rows, rows), np.setdiff1d(rows, self._rows)
        if self._refit or len(leave) + len(come) >= len(rows):
            self._clf = TextClassifier(**self._options)
            leave, come = leave[:0], rows
        if len(come):
            self._clf.learn(*self._documents.pick(come))
        if len(leave):
            self._clf.unlearn(*self._documents.pick(leave))
        self._rows = rows
        return self._clf


def checked_fold(fold: tuple[Any, Any], n_docs: int) -> Fold:
    """A fold whose rows are rows; they ascend, each of them once."""
    train, test = (np.unique(np.asarray(rows, np.int64)) for rows in fold)
    for rows, what in ((train, "learn"), (test, "test")):
        if not len(rows):
            raise DataError(f"a fold has no rows to {what}: leave it out")
        if rows[0] < 0 or rows[-1] >= n_docs:
            raise DataError(f"a fold has row {rows[0] if rows[0] < 0 else rows[-1]}, but there are {n_docs} documents")
    both = np.intersect1d(train, test)
    if len(both):
        raise DataError(f"a fold learns row {both[0]} and tests it: a row is for one of the two")
    return Fold(train, test)


def _scores(clf: AnyClassifier, documents: Labelled, rows: Integers) -> Floats:
    """The scores of rows by all labels, (n_rows, n_labels)."""
    place = {label: column for column, label in enumerate(documents.sets.labels)}
    out = np.full((len(rows), len(place)), -np.inf)
    out[:, [place[label] for label in clf.classes_.tolist()]] = clf.scores(documents.pick(rows)[0])
    return out


def _fields(documents: Labelled, rows: Integers, scores: Floats) -> dict[str, Any]:
    classes = np.array(documents.sets.labels)
    return {
        "true": [documents.true[row] for row in rows.tolist()],
        "predictions": classes[scores.argmax(axis=1)],
        "probabilities": probabilities(scores),
        "classes": classes,
        "scores": scores,
    }
