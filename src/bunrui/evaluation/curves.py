"""The learning curve: accuracy on new documents, by the number of learned documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.evaluation.crossvalidation import folds
from bunrui.evaluation.labelled import Labelled

__all__ = ["CurvePoint", "LearningCurve", "learning_curve"]

_N_FOLDS = 5
_TESTED = 5000  # predictions of so many documents are enough: where there are more, fewer folds are predicted
_SHARES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)
_FEWEST = 2


class CurvePoint(NamedTuple):
    """The mean accuracy of folds by so many learned documents, and that of the worst and of the best fold."""

    documents: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class LearningCurve:
    """Points from few documents to many; `n_folds` were predicted."""

    points: tuple[CurvePoint, ...]
    n_folds: int

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        return {"points": [point._asdict() for point in self.points], "folds": self.n_folds}


def learning_curve(
    clf: AnyClassifier, texts: Any, labels: Any, *, watch: Callable[[int, int], None] | None = None
) -> LearningCurve:
    """Learn growing parts of four fifths, and predict the last fifth; with few documents, each fifth in turn.

    Learning adds up, so each part is learned on top of the one before.

    Parameters
    ----------
    clf : TextClassifier
        Its options are used; it does not change.
    texts, labels
        As for `TextClassifier.learn`.
    watch : function, optional
        Called with the number of learned documents, and the number of all.

    Examples
    --------
    >>> found = learning_curve(TextClassifier(), ["cheap pills", "lunch at noon"] * 10, ["spam", "ham"] * 10)
    >>> found.points[-1], found.n_folds
    (CurvePoint(documents=16, accuracy=1.0, low=1.0, high=1.0), 5)
    """
    documents = Labelled(texts, labels)
    documents.check_two()
    n_docs = len(documents)
    n_folds = min(max(_N_FOLDS * _TESTED // n_docs, 1), _N_FOLDS, n_docs)
    parts = folds(n_docs, documents.true, min(_N_FOLDS, n_docs))[:n_folds]
    most = min(len(part.train) for part in parts)
    sizes = sorted({min(max(_FEWEST, round(share * most)), most) for share in _SHARES})
    accuracies = np.empty((len(parts), len(sizes)))
    done = 0
    for k, part in enumerate(parts):
        rows = np.random.default_rng(k).permutation(part.train)
        learner, known, tested = TextClassifier(**clf.get_params()), 0, documents.pick(part.test)
        for n, size in enumerate(sizes):
            if watch is not None:
                watch(done, len(parts) * sizes[-1])
            learner.learn(*documents.pick(rows[known:size]))
            accuracies[k, n] = learner.score(*tested)
            done, known = done + size - known, size
    columns = (accuracies.mean(axis=0), accuracies.min(axis=0), accuracies.max(axis=0))
    points = map(CurvePoint, sizes, *(column.tolist() for column in columns))
    return LearningCurve(tuple(points), len(parts))
