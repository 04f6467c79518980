"""Each document of a file, left out and predicted: how often that is right, how sure it was, and what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bunrui.classifier import AnyClassifier
from bunrui.evaluation import Evaluation
from bunrui.report.excerpts import readable
from bunrui.service.jobs import Job
from bunrui.store.documents import Document

__all__ = ["find_mistakes", "shown_text", "told"]

_MOST = 1000
_MOST_OF_A_PAIR = 50
_MOST_PAIRS = 100_000
_LONGEST = 5000


def find_mistakes(clf: AnyClassifier, documents: list[Document], job: Job) -> dict[str, Any]:
    """Predict every document by what the others say; `clf` gives the options."""
    from bunrui.selection.leftout import left_out

    job.total = len(documents)
    true = [document.labels for document in documents]
    found = left_out(clf, [document.text for document in documents], true)
    job.add(len(documents))
    predicted = found.scores.argmax(axis=1)
    shares = clf.probabilities_of(found.scores, found.texts)
    evaluation = Evaluation(
        true=true,
        predictions=[found.classes[k] for k in predicted.tolist()],
        probabilities=shares,
        classes=found.classes,
    )
    return told(evaluation) | {"mistakes": _mistakes(evaluation, documents)}


def told(evaluation: Evaluation) -> dict[str, Any]:
    """What the page draws, in the types of JSON."""
    metrics = evaluation.metrics
    return {
        "n": metrics.n,
        "accuracy": metrics.accuracy,
        "interval": evaluation.interval("accuracy")._asdict(),
        "macro": metrics.macro._asdict(),
        "per_class": [of_class._asdict() for of_class in metrics.per_class],
        "pairs": [list(pair) for pair in metrics.pairs[:_MOST_PAIRS]],
        "reliability": [one._asdict() for one in evaluation.reliability],
        "ece": evaluation.ece,
        "log_loss": evaluation.log_loss if math.isfinite(evaluation.log_loss) else None,
    }


def _mistakes(evaluation: Evaluation, documents: list[Document]) -> list[dict[str, Any]]:
    """The surest first; so many of each pair of labels."""
    wrong = np.flatnonzero(~evaluation.right)
    of_pair: dict[tuple[str, str], int] = {}
    out = []
    for row in wrong[np.argsort(-evaluation.confidence[wrong], kind="stable")].tolist():
        document, predicted = documents[row], str(evaluation.predictions[row])
        pair = document.labels[0], predicted
        of_pair[pair] = of_pair.get(pair, 0) + 1
        if of_pair[pair] > _MOST_OF_A_PAIR:
            continue
        out.append(
            {
                "text": shown_text(document.text),
                "digest": document.digest,
                "true": document.labels,
                "predicted": predicted,
                "probability": float(evaluation.confidence[row]),
            }
        )
        if len(out) == _MOST:
            break
    return out


def shown_text(document: Any) -> str:
    """A document as people read it, cut where it is long.

    >>> shown_text(["cheap", "pills"]), shown_text({"pills": 2})
    ('cheap pills', 'pills ×2')
    """
    text = readable(document)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
