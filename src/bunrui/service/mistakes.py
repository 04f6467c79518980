"""Each document of a file, left out and predicted: how often that is right, how sure it was, and what is wrong."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from bunrui.classifier import TextClassifier
from bunrui.evaluation import Evaluation
from bunrui.evaluation import mistakes as evaluated
from bunrui.phrases import excerpt, readable
from bunrui.service.jobs import Job
from bunrui.stored.documents import Document
from bunrui.views.evaluation import page_parts

__all__ = ["LONGEST_SHOWN", "find_mistakes", "told"]

LONGEST_SHOWN = 5000
"""Characters of a document."""

_MOST = 1000
_MOST_OF_A_PAIR = 50
_MOST_PAIRS = 100_000


def find_mistakes(clf: TextClassifier, documents: list[Document], job: Job) -> dict[str, Any]:
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
    return told(evaluation, html=True) | {"mistakes": _mistakes(evaluation, documents)}


def told(evaluation: Evaluation, *, html: bool = False) -> dict[str, Any]:
    """The numbers, in the types of JSON; with `html`, also drawings for a page."""
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
        **({"html": page_parts(evaluation)} if html else {}),
    }


def _mistakes(evaluation: Evaluation, documents: list[Document]) -> list[dict[str, Any]]:
    """The surest first; so many of each pair of labels."""
    of_pair: Counter[tuple[str, str]] = Counter()
    shown = []
    for mistake in sorted(evaluated.find_mistakes(evaluation), key=lambda one: (-one.confidence, one.row)):
        document = documents[mistake.row]
        pair = document.labels[0], str(mistake.predicted)
        of_pair[pair] += 1
        if of_pair[pair] <= _MOST_OF_A_PAIR:
            shown.append(
                {
                    "text": excerpt(readable(document.text), LONGEST_SHOWN),
                    "digest": document.digest,
                    "true": document.labels,
                    "predicted": pair[1],
                    "probability": mistake.confidence,
                }
            )
    return shown[:_MOST]
