"""Labels to look at again, with the words that speak against them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bunrui.classifier import AnyClassifier
from bunrui.rendering import Explanation
from bunrui.service.jobs import Job
from bunrui.service.mistakes import shown_text
from bunrui.store.documents import Document

__all__ = ["find_suspects"]

_MOST = 50
_MOST_CONTRIBUTIONS = 500
_LONGEST_EXPLAINED = 20_000


def find_suspects(clf: AnyClassifier, documents: list[Document], kept: Collection[str], job: Job) -> dict[str, Any]:
    """The most suspicious documents, but those whose digests are in `kept`: somebody has said that they are right."""
    from bunrui.selection import audit

    job.total = len(documents)
    found = audit(clf, [document.text for document in documents], [document.labels for document in documents])
    job.add(len(documents))
    known = frozenset(kept)
    suspects = [suspect for suspect in found.suspects if documents[suspect.row].digest not in known]
    shown = []
    for suspect in suspects[:_MOST]:
        job.add(0)
        document = documents[suspect.row]
        is_short = isinstance(document.text, str) and len(document.text) <= _LONGEST_EXPLAINED
        shown.append(
            {
                "digest": document.digest,
                "text": shown_text(document.text),
                "given": list(suspect.given),
                "suggested": suspect.suggested,
                "probability": suspect.probability,
                "suggested_probability": suspect.suggested_probability,
                "explanation": _told(found.explain(suspect)) if is_short else None,
            }
        )
    return {"documents": len(documents), "n_suspects": len(suspects), "suspects": shown}


def _told(explanation: Explanation) -> dict[str, Any]:
    members = explanation.to_dict()
    return members | {"contributions": members["contributions"][:_MOST_CONTRIBUTIONS]}
