"""The learning curve of the documents that a file keeps."""

from __future__ import annotations

from typing import Any

from bunrui.classifier import AnyClassifier
from bunrui.service.jobs import Job
from bunrui.store.documents import Document

__all__ = ["find_curve"]


def find_curve(clf: AnyClassifier, documents: list[Document], job: Job) -> dict[str, Any]:
    """Learn growing parts of the documents, and predict others.

    >>> texts = ["cheap pills", "lunch at noon"] * 10
    >>> documents = [Document("", [label], "", None, None, text) for text, label in zip(texts, ["spam", "ham"] * 10)]
    >>> found = find_curve(TextClassifier(), documents, Job("curve", None))
    >>> [(point["documents"], point["accuracy"]) for point in found["points"]][-1]
    (16, 1.0)
    """
    from bunrui.evaluation.learning import learning_curve

    def watch(done: int, total: int) -> None:
        job.total = total
        job.add(done - job.done)

    texts, labels = [document.text for document in documents], [document.labels for document in documents]
    found = learning_curve(clf, texts, labels, watch=watch)
    job.add((job.total or 0) - job.done)
    return found.to_dict()
