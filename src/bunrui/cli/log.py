"""`bunrui log`, `bunrui check`."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from bunrui.cli.console import plain, say, to_json
from bunrui.cli.options import Classifier

__all__ = ["check", "log"]

_EXCERPT = 80


def log(
    file: Classifier,
    documents: Annotated[bool, typer.Option("--documents", help="All documents, not the changes.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show everything that was done to a classifier, or the documents that it has learned.

    Changes: number, time, what was done, documents. Documents: digest, time,
    labels, id, source and the text, as far as FILE keeps them.

    [bold]Examples[/]

      bunrui log mail.bunrui
      bunrui log mail.bunrui --documents --json | jq -r 'select(.source == "a.csv") | .digest'
    """
    from bunrui import stored

    with closing(stored.open(file, read_only=True)) as classifier:
        if documents:
            for document in classifier.documents():
                if json:
                    print(to_json(document._asdict()))
                    continue
                text = "" if document.text is None else str(document.text)[:_EXCERPT]
                names = ", ".join(document.labels)
                fields = (document.digest, document.time, names, document.id or "", document.source or "", text)
                print("\t".join(plain(field) for field in fields))
            return
        for entry in classifier.history():
            if json:
                print(to_json(entry._asdict()))
                continue
            undone = f"undone {entry.undone}" if entry.undone else ""
            note = ", ".join(f"{name} {value}" for name, value in entry.note.items() if value is not None)
            fields = (str(entry.number), entry.time, entry.kind, str(entry.n_docs), note, undone)
            print("\t".join(plain(field) for field in fields).rstrip("\t"))


def check(
    file: Classifier,
    json: Annotated[bool, typer.Option("--json", help="As JSON: right, wrong and unknown.")] = False,
) -> None:
    """Check that a file is what it says.

    Everything in it is read: pages, checksums, totals, the log. Where the
    texts are kept, they are counted again and compared bit by bit. What
    cannot be checked is said. Exit code 1 if something is wrong.

    [bold]Examples[/]

      bunrui check mail.bunrui
    """
    from bunrui import stored

    with closing(stored.open(file, read_only=True)) as classifier:
        report = classifier.check()
    if json:
        print(to_json(report._asdict()))
    else:
        for word, lines in (("right", report.right), ("unknown", report.unknown), ("wrong", report.wrong)):
            for line in lines:
                print(f"{word:<9}{plain(line)}")
    if not report.is_right:
        say(f"error: {file} is damaged: take a copy from a backup, or learn the documents again")
        raise typer.Exit(1)
