"""Labels to look at again → one page of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bunrui.drawing import Column, Section, element, page, section, table
from bunrui.report.evaluation import facts_html
from bunrui.report.excerpts import readable
from bunrui.report.mistakes import Mistake, mistake_html
from bunrui.selection import Audit, Suspect

__all__ = ["audit_page"]

_LONGEST = 200  # characters of a copy


def audit_page(
    audit: Audit,
    suspects: Sequence[Suspect],
    places: Sequence[str],
    *,
    title: str = "Labels to look at again",
    facts: Iterable[tuple[str, str]] = (),
) -> str:
    """A page of HTML that needs nothing else: suspects with the words that speak against their labels, and copies.

    Parameters
    ----------
    audit : Audit
    suspects : sequence of Suspect
        Those to be shown.
    places : sequence of str
        Where each document comes from.
    title : str
    facts : iterable of (str, str)
        What was looked at: names and values.

    Examples
    --------
    >>> from bunrui import TextClassifier
    >>> from bunrui.selection import audit
    >>> texts = ["cheap pills", "pills now", "pills today", "see you at noon", "lunch at noon", "noon again"]
    >>> found = audit(TextClassifier(analyzer="words"), texts, ["spam", "spam", "ham", "ham", "ham", "ham"])
    >>> audit_page(found, found.suspects, [""] * 6).startswith("<!doctype html>")
    True
    """
    shown = [
        mistake_html(
            _as_mistake(suspect), audit.text(suspect.row), audit.explain(suspect), places[suspect.row], "perhaps"
        )
        for suspect in suspects
    ]
    sections = [
        section(
            "suspects",
            "Suspects",
            *(shown or [element("p", "No label is suspect.")]),
            note="The least likely label comes first. Blue speaks for the suggested label, orange for the one that the "
            "document has; long texts are cut around the words that weigh most.",
        )
    ]
    if audit.conflicts:
        sections.append(_copies(audit, places))
    known = [("Documents", f"{audit.n_docs:,}"), ("Suspects", f"{len(audit.suspects):,}")]
    return page(title, facts_html([*facts, *known]), sections)


def _as_mistake(suspect: Suspect) -> Mistake:
    return Mistake(suspect.row, suspect.given, suspect.suggested, suspect.probability, suspect.suggested_probability)


def _copies(audit: Audit, places: Sequence[str]) -> Section:
    columns = [Column(name, is_number=False) for name in ("labels", "kind", "where", "text")]
    rows = [
        [
            " / ".join(dict.fromkeys(", ".join(map(str, names)) for names in conflict.labels)),
            conflict.kind,
            ", ".join(places[row] for row in conflict.rows),
            readable(audit.text(conflict.rows[0]))[:_LONGEST],
        ]
        for conflict in audit.conflicts
    ]
    return section("copies", "Copies with different labels", table("Copies", columns, rows))
