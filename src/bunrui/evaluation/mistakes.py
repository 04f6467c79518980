"""Wrong predictions, and their explanations."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bunrui.classifier import AnyClassifier
from bunrui.counts import Label
from bunrui.errors import BunruiError
from bunrui.evaluation.metrics import encoded
from bunrui.evaluation.result import Evaluation
from bunrui.views.explanation import Explanation

__all__ = ["Mistake", "explain_mistake", "find_mistakes"]

_LONGEST_EXPLAINED = 50_000  # characters


class Mistake(NamedTuple):
    """A document whose predicted label is none of its own.

    Attributes
    ----------
    given_probability : float
        Of the labels that it has.
    confidence : float
        The probability of the predicted label.
    """

    row: int
    true: tuple[Label, ...]
    predicted: Label
    given_probability: float
    confidence: float


def find_mistakes(evaluation: Evaluation) -> list[Mistake]:
    """All mistakes; those whose own label is least likely come first.

    Examples
    --------
    >>> given = {"true": ["ham"] * 3, "predictions": ["ham", "spam", "spam"], "classes": ["ham", "spam"]}
    >>> evaluation = Evaluation(**given, probabilities=[[0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    >>> [(one.row, one.given_probability) for one in find_mistakes(evaluation)]
    [(2, 0.2), (1, 0.3)]
    """
    own = encoded(evaluation.true, "true")
    groups = [tuple(own.labels[k] for k in own.indices[a:b].tolist()) for a, b in pairwise(own.members.tolist())]
    given, confidence = evaluation.given_probability, evaluation.confidence
    wrong = np.flatnonzero(~evaluation.right)
    return [
        Mistake(
            row, groups[own.groups[row]], evaluation.predictions[row].item(), float(given[row]), float(confidence[row])
        )
        for row in wrong[np.argsort(given[wrong], kind="stable")].tolist()
    ]


def explain_mistake(
    clf: AnyClassifier, document: Any, mistake: Mistake, *, is_learned: bool = False
) -> Explanation | None:
    """Explain the predicted label against the true one; None if there is no explanation.

    A learned document is unlearned before it is explained, and learned again.
    """
    if isinstance(document, str) and len(document) > _LONGEST_EXPLAINED:
        return None
    if not is_learned:
        return _explain(clf, document, mistake)
    if clf.needs_documents:
        return None  # it would be trained for each of them
    clf.unlearn([document], [list(mistake.true)])
    try:
        return _explain(clf, document, mistake)
    finally:
        clf.learn([document], [list(mistake.true)])


def _explain(clf: AnyClassifier, document: Any, mistake: Mistake) -> Explanation | None:
    known = set(clf.counts.live_labels)
    if mistake.predicted not in known:
        return None
    against = next((name for name in mistake.true if name in known and name != mistake.predicted), None)
    try:
        return clf.explain(document, label=mistake.predicted, against=against)
    except BunruiError:
        return None  # a document that this model cannot read, such as a row of a table without its columns
