"""`bunrui log`, `bunrui check`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

import bunrui
from bunrui.cli.console import say, show, stdout_console, to_json
from bunrui.cli.options import spell_value
from bunrui.cli.parameters import Classifier, flag, option
from bunrui.errors import DamagedError, DataError, OptionError
from bunrui.labels import text_of
from bunrui.phrases import excerpt, one_line, readable, some
from bunrui.views.tables import Column, Table, words

if TYPE_CHECKING:
    from bunrui.store.lifecycle import Document
    from bunrui.store.transaction import Entry

_EXCERPT = 80
_MOST_ROWS = 300  # of a table, which has to be in memory; more are lines
_DIGITS = 12  # of a digest in a table


_NARROW, _WIDE = 60, 100  # terminals: below the one there is no table, from the other on there is room for times


_MOST_NAMES = 8  # of a list in a note
_CHOICE = ("choice", "settings_before")  # notes that undo reads; a line says them


def log(
    file: Classifier,
    documents: bool = flag("All documents, not the changes."),
    limit: int | None = option("N", "Only the last N changes.", min=1),
    before: int | None = option("NUMBER", "Only changes before this number.", min=1),
    after: int | None = option("NUMBER", "Only changes after this number.", min=0),
    json: bool = flag("One JSON object a line."),
) -> None:
    """Show the changes of a classifier, or its documents.

    A change has number, time, kind and number of documents. A document has
    digest, time, labels, id, source and the beginning of its text. On a
    terminal, short lists are tables; in a pipe, they are lines with tabs.

    --limit shows the last changes. To see those before them, give the number
    of the first one that you see as --before.

    A change says who made it if the environment variable BUNRUI_AUTHOR had
    the name then.

    Every FILE has its changes. --documents needs a FILE that keeps texts or
    digests; with digests there are no texts to show.

    [bold]Examples[/]

      bunrui log mail.bunrui
      bunrui log mail.bunrui --limit 20
      bunrui log mail.bunrui --documents | grep customer-17.csv
      bunrui log mail.bunrui --documents --json | jq -r .id
    """

    is_page = (limit, before, after) != (None, None, None)
    if documents and is_page:
        raise OptionError("--limit, --before and --after choose changes: leave --documents out.")
    with bunrui.open(file, read_only=True) as classifier:
        if documents:
            # Closed before the file, should nobody read to the end.
            with closing(classifier.documents()) as found:  # type: ignore[type-var]
                n = _list(found, json, _document_line, _document_table)
        else:
            changes = classifier.history(before=before, after=after, limit=limit)
            n = _list(iter(changes), json, _change_line, _change_table)
    if not n and not json:
        nothing = "there are no such changes" if is_page else f"nothing was done to {file} yet"
        say(f"{file} has learned no documents" if documents else nothing)


def _list(
    items: Iterator[Any], json: bool, line: Callable[[Any], str], table: Callable[[list[Any], int], Table]
) -> int:
    """Print items as JSON, in a table or in lines; how many there were."""
    width = stdout_console().width if sys.stdout.isatty() and not json else 0
    if width >= _NARROW:
        first = list(islice(items, _MOST_ROWS + 1))
        if len(first) <= _MOST_ROWS:
            if first:
                show(table(first, width))
            return len(first)
        items = chain(first, items)
    n = 0
    for item in items:
        print(to_json(item._asdict()) if json else line(item))
        n += 1
    return n


def _note(entry: Entry) -> str:
    """
    >>> from bunrui.store.transaction import Entry
    >>> _note(Entry(1, "relabel", "", 2, {"labels": ["a", "b"], "before": None, "to": "c"}, None))
    'labels a, b; to c'
    >>> _note(Entry(2, "set", "", 0, {"alpha": None, "min_df": 2, "before": {"alpha": 0.5, "min_df": 1}}, None))
    'alpha default; min-df 2'
    >>> _note(Entry(3, "unlearn", "", 1, {"by": "Ann", "undone_by": "Bob"}, ""))
    'by Ann; undone by Bob'
    """
    from bunrui.store.transaction import SIGNED

    note = {name: value for name, value in entry.note.items() if name not in SIGNED}
    people = [f"{name.replace('_', ' ')} {entry.note[name]}" for name in SIGNED if name in entry.note]
    return "; ".join(filter(None, [_about(entry._replace(note=note)), *people]))


def _about(entry: Entry) -> str:
    from bunrui.calibration import Calibration
    from bunrui.choice import Choice

    if entry.kind == "calibrate":
        with suppress(DataError):  # there is none, or somebody has changed the file
            found = Calibration.from_dict(entry.note.get("calibration"))
            return f"{found.n_docs:,} documents, ECE {found.ece_before:.4f} to {found.ece_after:.4f}"
        return ""
    note = {name: value for name, value in entry.note.items() if name not in _CHOICE}
    if entry.kind == "set":
        note.pop("before", None)
        parts = [f"{name.replace('_', '-')} {spell_value(name, value)}" for name, value in note.items()]
    else:
        values = {name: some(value, _MOST_NAMES) if isinstance(value, list) else value for name, value in note.items()}
        parts = [f"{name} {value}" for name, value in values.items() if value is not None]
    with suppress(DataError):
        choice = Choice.from_dict(entry.note.get("choice"))
        if choice.evidence or entry.kind == "choose":
            parts.append(f"{'chose' if choice.evidence else 'kept'} {choice.describe()}")
    return "; ".join(parts)


def _change_line(entry: Entry) -> str:
    undone = f"undone {entry.undone}" if entry.undone else ""
    fields = (str(entry.number), entry.time, entry.kind, str(entry.n_docs), _note(entry), undone)
    return "\t".join(one_line(field) for field in fields).rstrip("\t")


def _change_table(entries: list[Entry], width: int) -> Table:
    rows, styles = [], {}
    for k, entry in enumerate(entries):
        times = {name: _local(time) for name, time in entry.note.items() if name == "before" and isinstance(time, str)}
        note = one_line(_note(entry._replace(note=entry.note | times)))
        if entry.undone:
            note = f"undone {_local(entry.undone)}" + (f": {note}" if note else "")
            styles[k] = "dim"
        # The lines of undone changes are struck through; where a terminal cannot do that, the note says it.
        cells = (str(entry.number), _local(entry.time), one_line(entry.kind), f"{entry.n_docs:,}")
        rows.append([*(Text(cell, style="strike" if entry.undone else "") for cell in cells), note])
    columns = [Column(""), *words("time", "what"), Column("documents")]
    return Table([*columns, Column("note", is_number=False, overflow="fold")], rows, styles=styles)


def _local(time: str) -> str:
    """A time of the file in local time, to the minute; any other string stays as it is."""
    try:
        return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return time


def _cells(document: Document) -> list[str]:
    """The labels, the id, the source and the beginning of the text."""
    text = "" if document.text is None else excerpt(readable(document.text), _EXCERPT)
    labels = ", ".join(map(text_of, document.labels))
    return [one_line(cell) for cell in (labels, document.id or "", document.source or "", text)]


def _document_line(document: Document) -> str:
    return "\t".join([document.digest, document.time, *_cells(document)])


def _document_table(documents: list[Document], width: int) -> Table:
    """One line a document: what does not fit is cut.  Columns that would be empty are left out."""
    share = (width - _DIGITS) // 5
    narrow = [Column(name, is_number=False, overflow="cut", max_width=share) for name in ("labels", "id", "source")]
    columns = [*words("digest", "learned"), *narrow, Column("text", is_number=False, overflow="grow")]
    rows = [
        [document.digest[:_DIGITS], _local(document.time) if width >= _WIDE else "", *_cells(document)]
        for document in documents
    ]
    return Table(columns, rows).filled()


_MARKS = {"right": ("✓", "green"), "unknown": ("?", "yellow"), "wrong": ("✗", "bold red")}


def check(file: Classifier, json: bool = flag("As JSON: right, wrong and unknown.")) -> None:
    """Check a file for damage.

    It reads everything: pages, checksums, totals, the log. The exit code is 1
    if something is wrong.

    It works whatever FILE keeps. If FILE keeps texts, they are counted again
    and compared bit by bit; the command names what it cannot check.

    [bold]Examples[/]

      bunrui check mail.bunrui
      bunrui check mail.bunrui --json | jq .wrong
    """

    try:
        with bunrui.open(file, read_only=True) as classifier:
            report = classifier.check()
    except DamagedError as error:
        report = bunrui.store.Report([], [str(error)], [])
    if json:
        print(to_json(report._asdict()))
    else:
        for word in _MARKS:
            for line in getattr(report, word):
                if sys.stdout.isatty() and (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf"):
                    stdout_console().print(Text.assemble(_MARKS[word], " ", one_line(line)))
                else:
                    print(f"{word:<9}{one_line(line)}")
    if not report.is_right:
        say(f"error: {file} is damaged: take a copy from a backup, or learn the documents again")
        raise typer.Exit(1)
