"""A classifier, its words and an audit, as a cell of a notebook shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bunrui.phrases import excerpt, some
from bunrui.views.markup import fragment
from bunrui.views.tables import Table, numbers, words

_MOST_ROWS = 20
_MOST_LABELS = 10
_LONGEST = 120  # characters of a text


def classifier_html(name: str, known: Mapping[str, str], n_docs: Mapping[Any, int]) -> str:
    """A classifier: what is known of it, and the documents of each label, the largest first."""
    largest = sorted(n_docs.items(), key=lambda item: (-item[1], str(item[0])))
    labels = some((f"{label} ({n:,})" for label, n in largest), _MOST_LABELS) or "none yet"
    return fragment(Table(words("classifier", name), [*known.items(), ("labels", labels)], caption=name).to_html())


def words_html(found: Sequence[Any]) -> str:
    """Words with their weights and counts."""
    rows = [
        [word.text, f"{word.weight:+.3f}", some(f"{label} ({n:,})" for label, n in word.counts.items())]
        for word in found
    ]
    columns = [*words("word"), *numbers("weight"), *words("occurs with")]
    return fragment(Table(columns, rows, caption="Words and what one occurrence adds to the score").to_html())


def audit_html(audit: Any) -> str:
    """The suspects of an audit, the most suspicious first."""
    rows = [
        [
            str(suspect.row),
            ", ".join(map(str, suspect.given)),
            ", ".join(map(str, suspect.better)),
            f"{suspect.probability:.4f}",
            excerpt(str(audit.text(suspect.row)), _LONGEST),
        ]
        for suspect in audit.suspects[:_MOST_ROWS]
    ]
    more = f", the first {_MOST_ROWS} here" if len(audit.suspects) > _MOST_ROWS else ""
    n_copies = f", {len(audit.conflicts):,} texts with different labels" if audit.conflicts else ""
    caption = (
        f"{len(audit.suspects):,} of {audit.n_docs:,} documents have a label that is not the likeliest{more}{n_copies}"
    )
    columns = [*words("row", "label", "likelier"), *numbers("probability"), *words("text")]
    return fragment(Table(columns, rows, caption=caption).to_html())
