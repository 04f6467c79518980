"""The learning curve: accuracy on documents that were not learned, against the number of those that were."""

from __future__ import annotations

from typing import Any

import numpy as np

from bunrui.classifier import TextClassifier
from bunrui.service.jobs import Job
from bunrui.stored.documents import Document

__all__ = ["learning_curve"]

_N_FOLDS = 5
_MANY = 50_000  # one fold of so many says as much as five of few
_SHARES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)
_FEWEST = 2


def learning_curve(clf: TextClassifier, documents: list[Document], job: Job) -> dict[str, Any]:
    """Learn growing parts of four fifths, and predict the last fifth, for each fifth in turn.

    Since learning adds up, each part is learned on top of the one before.

    >>> texts = ["cheap pills", "lunch at noon"] * 10
    >>> documents = [Document("", [label], "", None, None, text) for text, label in zip(texts, ["spam", "ham"] * 10)]
    >>> found = learning_curve(TextClassifier(), documents, Job("curve", None))
    >>> [(point["documents"], point["accuracy"]) for point in found["points"]][-1]
    (16, 1.0)
    """
    from bunrui.evaluation import folds

    labels = [document.labels for document in documents]
    parts = folds(len(documents), labels, min(_N_FOLDS, len(documents)))[: 1 if len(documents) > _MANY else _N_FOLDS]
    sizes = sorted({max(_FEWEST, round(share * min(len(part.train) for part in parts))) for share in _SHARES})
    job.total = len(parts) * sizes[-1]
    accuracies = np.empty((len(parts), len(sizes)))
    for k, part in enumerate(parts):
        rows = np.random.default_rng(k).permutation(part.train)
        learner, known = TextClassifier(**clf.get_params()), 0
        tested = [documents[row].text for row in part.test.tolist()], [labels[row] for row in part.test.tolist()]
        for n, size in enumerate(sizes):
            new = rows[known:size].tolist()
            learner.learn([documents[row].text for row in new], [labels[row] for row in new])
            accuracies[k, n] = learner.score(*tested)
            job.add(len(new))
            known = size
    points = zip(sizes, accuracies.mean(axis=0), accuracies.min(axis=0), accuracies.max(axis=0), strict=True)
    return {
        "points": [
            {"documents": size, "accuracy": float(mean), "low": float(low), "high": float(high)}
            for size, mean, low, high in points
        ],
        "folds": len(parts),
    }
