"""`bunrui undo`, `relabel`, `forget`, `label`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bunrui.cli.console import counted, interrupts, say, say_skipped, uninterrupted
from bunrui.cli.options import Chosen, Classifier, Documents, UsageError

if TYPE_CHECKING:
    from bunrui.stored import StoredClassifier

__all__ = ["forget", "label", "relabel", "undo"]


def undo(file: Classifier) -> None:
    """Take back the last change: a learn, an unlearn, a merge, a relabel …

    Again takes back the one before it, up to the last compact.

    [bold]Examples[/]

      bunrui learn mail.bunrui wrong.csv
      bunrui undo mail.bunrui
    """
    from bunrui import stored

    with closing(stored.open(file)) as classifier:
        with uninterrupted():
            kind, n_docs = classifier.undo()
        say(f"took back the {kind} of {counted(n_docs, 'document')}: {_now(classifier)}")


def relabel(
    file: Classifier,
    documents: Documents,
    chosen: Chosen,
    to: Annotated[
        list[str], typer.Option("--to", metavar="LABEL", show_default=False, help="The new label; several times: all.")
    ],
    data: Annotated[list[str] | None, typer.Argument(metavar="DATA", help="The documents; - for stdin.")] = None,
) -> None:
    """Give documents that were learned another label.

    The documents are those with the texts in DATA, or are named by --by-id
    or --by-digest. All of them change, or, if one was never learned, none.

    [bold]Examples[/]

      bunrui relabel mail.bunrui --to ham --by-id '<1234@example.org>'
      bunrui relabel mail.bunrui --to ham not-spam.csv
    """
    from bunrui import stored
    from bunrui.cli.batches import texts_of

    chosen.check(data)
    with interrupts("interrupted; nothing was changed"), closing(stored.open(file)) as classifier:
        which: dict[str, Any] = {"ids": chosen.by_id or None, "digests": chosen.by_digest or None}
        reader = None
        if data:
            reader = documents.read(data, labelled=False)
            texts: list[Any] = []
            for batch in reader:
                part = texts_of(batch)
                texts += part if isinstance(part, list) else part.to_pylist()
            which = {"texts": texts}
        with uninterrupted():
            classifier.relabel(to, **which)
        n_docs = classifier.history()[-1].n_docs
        say(f"relabelled {counted(n_docs, 'document')} of {file}: {_now(classifier)}")
        if reader is not None:
            say_skipped(reader)


def forget(
    file: Classifier,
    before: Annotated[
        str | None,
        typer.Option(
            "--before", metavar="DATE", show_default=False, help="Learned before: 2026-01-31, or with a time."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="PATH", show_default=False, help="Learned from this file, as it was given."),
    ] = None,
) -> None:
    """Unlearn all documents of a time or a source.

    With both options, the documents that fit both.

    [bold]Examples[/]

      bunrui forget mail.bunrui --before 2026-01-01
      bunrui forget mail.bunrui --source customer-17.csv
    """
    from datetime import datetime

    from bunrui import stored

    if before is None and source is None:
        raise UsageError("say which documents: give --before, --source, or both.")
    try:
        moment = datetime.fromisoformat(before) if before is not None else None
    except ValueError:
        raise UsageError(f"--before {before} is no date: write it like 2026-01-31 or 2026-01-31T18:00.") from None
    with closing(stored.open(file)) as classifier:
        with uninterrupted():
            n_docs = classifier.forget(before=moment, source=source)
        say(f"forgot {counted(n_docs, 'document')}: {_now(classifier)}")


def label(
    action: Annotated[
        Literal["rename", "drop", "move"], typer.Argument(metavar="ACTION", help="rename, drop or move.")
    ],
    file: Classifier,
    name: Annotated[str, typer.Argument(metavar="LABEL", help="The label.", show_default=False)],
    to: Annotated[
        str | None, typer.Argument(metavar="TO", help="The new name, or the label to move to.", show_default=False)
    ] = None,
) -> None:
    """Rename a label, drop it with its documents, or move its documents to another.

    A document with several labels that loses one keeps the others.

    [bold]Examples[/]

      bunrui label rename mail.bunrui junk spam
      bunrui label drop mail.bunrui test
      bunrui label move mail.bunrui phishing spam
    """
    from bunrui import stored

    if (to is None) != (action == "drop"):
        wanted = "rename FILE LABEL NAME, drop FILE LABEL, or move FILE LABEL TO"
        raise UsageError(f"write bunrui label {wanted}.")
    with closing(stored.open(file)) as classifier:
        with uninterrupted():
            if action == "rename":
                n_docs = classifier.rename_label(name, to or "")
            elif action == "move":
                n_docs = classifier.move_label(name, to or "")
            else:
                n_docs = classifier.drop_label(name)
        past = {"rename": "renamed", "move": "moved", "drop": "dropped"}[action]
        say(f"{past} {name} of {counted(n_docs, 'document')}: {_now(classifier)}")


def _now(classifier: StoredClassifier) -> str:
    """What a file has learned, after a change."""
    known = classifier.info()
    documents, labels = counted(known["documents"], "document"), counted(len(known["labels"]), "label")
    return f"{classifier.path} has learned {documents} of {labels} now"
