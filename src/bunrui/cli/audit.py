"""`bunrui audit`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bunrui.cli.console import counted, interrupts, plain, say, show, to_json
from bunrui.cli.fixes import Place, apply_fixes, check_fixes, excerpt, write_fixes
from bunrui.cli.options import Analysis, LabelledDocuments, Model, UsageError
from bunrui.cli.pages import check_page, write_page

if TYPE_CHECKING:
    from bunrui.selection import Audit, Conflict, Suspect
    from bunrui.views.tables import Table

__all__ = ["audit"]

_TOP = 20


def audit(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA", help="Documents with labels, or a classifier that keeps texts.")
    ],
    documents: LabelledDocuments,
    model: Model,
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", min=1, show_default=False, help="List so many documents (20).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="PATH", show_default=False, help="Write a page that shows why, in colours."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            show_default=False,
            help="Write a CSV file to be edited, of all that is suspicious, or of the first --top.",
        ),
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option(
            "--apply",
            metavar="PATH",
            show_default=False,
            help="Relabel in the classifier what was edited in such a file: rows whose label is not the given one.",
        ),
    ] = None,
) -> None:
    """Find labels that are perhaps wrong.

    Every document is predicted by all the others. Listed are those whose
    label is least likely: its probability, the label, the one suggested in
    its place, the words that speak against the label, and the text. Then
    copies of a document, exact or near, that have different labels. Into a
    pipe these are lines with tabs.

    With a classifier, its model and analyzer are used. To correct it, write
    a file with --output, change the column label where it is wrong, and
    give it to --apply: that is one change, which undo takes back.

    [bold]Examples[/]

      bunrui audit train.csv
      bunrui audit mail.bunrui --top 50 --html look.html
      bunrui audit mail.bunrui --output fixes.csv
      bunrui audit mail.bunrui --apply fixes.csv
      bunrui audit train.csv --json | jq -r '.suspects[].line'
    """
    from bunrui.cli.crossing import collect, is_classifier

    is_file = is_classifier(data[0])
    if is_file and len(data) > 1:
        raise UsageError(f"{data[0]} is a classifier: give it alone, or DATA alone.")
    if apply is not None:
        if not is_file:
            raise UsageError(f"--apply changes a classifier, and {data[0]} is none: correct DATA itself.")
        if json or html is not None or output is not None or top is not None:
            raise UsageError("--apply goes without --top, --json, --html and --output.")
        apply_fixes(data[0], apply)
        return
    check_page(html)
    check_fixes(output)
    from bunrui.report import audit_page
    from bunrui.selection import audit as find

    with interrupts("interrupted"):
        found = collect(data, documents, model, Analysis())
        result = find(found.classifier, found.texts, found.labels)
        places = [Place(*row) for row in zip(found.sources, found.lines, found.ids, strict=True)]
        listed = result.suspects[: top or _TOP]
        if output is not None:
            then = ", then --apply it" if is_file else ", and correct DATA by it"
            write_fixes(output, result, places, top, then=then)
        if html is not None:
            write_page(html, audit_page(result, listed, [plain(str(place)) for place in places], facts=_facts(data)))
        if json:
            print(to_json(_as_dict(result, listed, places)))
        elif output is None and html is None:
            _print(result, listed, places)
    _say_more(result, len(listed) if output is None else None)


def _facts(data: list[str]) -> list[tuple[str, str]]:
    return [("Of", ", ".join(os.path.basename(name) for name in data))]


def _say_more(result: Audit, n_listed: int | None) -> None:
    n = len(result.suspects)
    found = f"{n:,} of {counted(result.n_docs, 'document')} have a label that is not the likeliest"
    say(found + (f"; the first {n_listed:,} are listed" if n_listed is not None and n_listed < n else ""))
    if result.conflicts:
        say(f"{counted(len(result.conflicts), 'text')} came several times with different labels")
    if result.alone:
        have = "has" if len(result.alone) == 1 else "have"
        say(f"{counted(len(result.alone), 'document')} {have} a label that no other has: of that nothing can be said")


def _as_dict(result: Audit, listed: tuple[Suspect, ...], places: list[Place]) -> dict[str, Any]:
    return {
        "documents": result.n_docs,
        "n_suspects": len(result.suspects),
        "suspects": [
            {
                **places[suspect.row].as_dict(),
                "row": suspect.row,
                "given": list(suspect.given),
                "probability": suspect.probability,
                "suggested": suspect.suggested,
                "suggested_probability": suspect.suggested_probability,
                "words": {word.feature: word.value for word in result.words(suspect)},
                "text": excerpt(result.text(suspect.row)),
            }
            for suspect in listed
        ],
        "conflicts": [
            {
                "kind": conflict.kind,
                "text": excerpt(result.text(conflict.rows[0])),
                "documents": [
                    {**places[row].as_dict(), "row": row, "given": list(labels)}
                    for row, labels in zip(conflict.rows, conflict.labels, strict=True)
                ],
            }
            for conflict in result.conflicts
        ],
        "alone": list(result.alone),
    }


# --- lines and tables


def _suspect_row(result: Audit, suspect: Suspect, places: list[Place]) -> tuple[str, ...]:
    from bunrui.views.explanation import spell

    words = "  ".join(spell(word.feature) for word in result.words(suspect))
    labels = (", ".join(suspect.given), suspect.suggested)
    return (f"{suspect.probability:.4f}", *labels, str(places[suspect.row]), words, excerpt(result.text(suspect.row)))


def _conflict_row(result: Audit, conflict: Conflict, places: list[Place]) -> tuple[str, ...]:
    labels = " / ".join(dict.fromkeys(", ".join(names) for names in conflict.labels))
    where = "  ".join(str(places[row]) for row in conflict.rows)
    return (conflict.kind, labels, "", where, "", excerpt(result.text(conflict.rows[0])))


def _print(result: Audit, listed: tuple[Suspect, ...], places: list[Place]) -> None:
    rows = [_suspect_row(result, suspect, places) for suspect in listed]
    copies = [_conflict_row(result, conflict, places) for conflict in result.conflicts]
    if not sys.stdout.isatty():
        for row in (*rows, *copies):
            print("\t".join(plain(cell) for cell in row))
        return
    if rows:
        names = ("P(label)", "label", "suggested", "where", "against the label", "text")
        show(_table(names, rows))
    if copies:
        kept = [(row[0], row[1], row[3], row[5]) for row in copies]
        show(_table(("copies", "labels", "where", "text"), kept))


def _table(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    from bunrui.views.tables import Column, Table

    # Where there is little room, the long columns give way, a text in one line; the others never do.
    overflow: dict[str, Any] = {"where": "fold", "against the label": "fold", "text": "cut"}
    columns = [Column(name, is_number=False, overflow=overflow.get(name, "keep")) for name in names]
    return Table(columns, [list(map(plain, row)) for row in rows])
