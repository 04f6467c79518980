"""All models, side by side, on the documents of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bunrui.classifier import TextClassifier
from bunrui.models import MODELS
from bunrui.service.jobs import Job
from bunrui.store.documents import Document

if TYPE_CHECKING:
    from bunrui.selection import Comparison
    from bunrui.selection.comparing import Progress

__all__ = ["compare_all"]


def compare_all(_: TextClassifier, documents: list[Document], trained: bool, job: Job) -> dict[str, Any]:
    """Measure them; what is measured already is the result of the job while it runs."""
    from bunrui.selection import compare

    def watch(progress: Progress) -> None:
        job.total = progress.n_all
        if progress.done.rows:
            job.result = _told(progress.done)
        job.add(len(progress.done.rows) - job.done)

    texts, labels = [document.text for document in documents], [document.labels for document in documents]
    found = compare(texts, labels, models=None if trained else list(MODELS), watch=watch)
    job.add(len(found.rows) - job.done)
    return _told(found)


def _told(comparison: Comparison) -> dict[str, Any]:
    rows = [row.to_dict() | {"reads": row.features} for row in comparison.rows]
    return comparison.to_dict() | {"rows": rows}
