"""`bunrui undo`, `relabel`, `forget`, `label`."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

import bunrui
from bunrui.cli.console import extent, interrupts, quote, say, say_reading, uninterrupted
from bunrui.cli.documents import find_chosen, point_to_log, read_all, reads_tables, require, say_new
from bunrui.cli.info import say_choice
from bunrui.cli.options import Chosen, Documents, spell_value
from bunrui.cli.parameters import Classifier, argument, flag, option
from bunrui.errors import OptionError, UnlearnError
from bunrui.phrases import counted, excerpt, one_line, some

if TYPE_CHECKING:
    from bunrui.store.transaction import Entry

_LONGEST_EXCERPT = 60


def undo(
    file: Classifier,
    to: int | None = option("NUMBER", "Take back all changes after this one, all or none; 0 for all.", min=0),
) -> None:
    """Take back the last change: a learn, an unlearn, a merge, a relabel, a set …

    Run it again to take back the change before it, or give --to the number of
    the change to go back to: 'bunrui log FILE' has the numbers. It goes up to
    the last compact, or up to the point where FILE has joined older changes.
    It works whatever FILE keeps. An undo cannot be undone: make the change
    again.

    [bold]Examples[/]

      bunrui learn mail.bunrui wrong.csv
      bunrui undo mail.bunrui
      bunrui undo mail.bunrui --to 17
    """

    with bunrui.open(file) as classifier:
        if to is not None:
            with uninterrupted():
                taken = classifier.undo_to(to)
            say(f"took back {_summary(taken)}: {_describe_now(classifier)}")
            return
        with uninterrupted():
            kind, n_docs = classifier.undo()
        if kind == "set":
            say(f"took back the set: {file} has {_settings_again(classifier)} again")
        elif kind == "calibrate":
            say(f"took back the calibration: {file} has {'the one before' if classifier.calibration else 'none'} now")
        elif kind == "choose":
            assert classifier.model_ is not None
            say(f"took back the choice: {file} has {classifier.model_.describe()} again")
        else:
            say(f"took back the {kind} of {counted(n_docs, 'document')}: {_describe_now(classifier)}")
            if not classifier.counts.n_docs:
                say("nothing is left in it; to have documents back, learn them anew")


def _summary(taken: list[Entry]) -> str:
    """Changes by kind and author, so that nobody takes back the work of others without noticing.

    >>> from bunrui.store.transaction import Entry
    >>> changes = [(3, "set", 0, {}), (2, "learn", 5, {"by": "Ann"}), (1, "learn", 2, {"by": "Bob"})]
    >>> _summary([Entry(number, kind, "", n_docs, note, "") for number, kind, n_docs, note in changes])
    '3 changes of 7 documents, by Ann, Bob (2 learn, 1 set)'
    """
    kinds = Counter(entry.kind for entry in taken)
    people = dict.fromkeys(one_line(str(entry.note["by"])) for entry in taken if "by" in entry.note)
    n_docs = sum(entry.n_docs for entry in taken)
    said = counted(len(taken), "change") + (f" of {counted(n_docs, 'document')}" if n_docs else "")
    by = f", by {some(people)}" if people else ""
    return f"{said}{by} ({', '.join(f'{n:,} {one_line(kind)}' for kind, n in kinds.most_common())})"


def _settings_again(classifier: bunrui.StoredClassifier) -> str:
    """The settings that the last undo has brought back."""
    undone = max(classifier.history(), key=lambda entry: entry.undone or "")
    names = [name for name in undone.note if name in classifier.get_params()]
    return ", ".join(f"{name.replace('_', '-')} {spell_value(name, getattr(classifier, name))}" for name in names)


def relabel(
    file: Classifier,
    documents: Documents,
    chosen: Chosen,
    to: list[str] = option("LABEL", "The new label. Repeat it for several.", required=True),
    data: list[str] | None = argument(
        "DATA", "Files with the texts, or - for the standard input. Labels are not read."
    ),
    label: str | None = option("COLUMN", "Ignore this column of the table."),
) -> None:
    """Give learned documents another label.

    You name the documents by their texts in DATA, by id or by digest. They
    lose the labels that they had. If one of them was never learned, nothing
    changes.

    With DATA, FILE must keep texts or digests; --by-id and --by-digest need a
    FILE that keeps texts (the default of learn --keep).

    [bold]Examples[/]

      bunrui relabel mail.bunrui --to ham --by-id '<1234@example.org>'
      bunrui relabel mail.bunrui --to ham not-spam.csv
      echo "win a lunch" | bunrui relabel mail.bunrui --to ham -
    """

    chosen.check(data)
    with interrupts("interrupted; nothing was changed"), bunrui.open(file) as classifier:
        require(classifier, "digests", "unlearn them with their old labels, and learn them with the new ones")
        reader = None
        if data:
            is_table = reads_tables(classifier)
            if label is not None and not is_table:
                raise OptionError(f"--label is for tables, and {file} reads text, and no labels: leave it out.")
            reader = documents.read(data, labelled=False, columns=is_table, without=label)
            rows = read_all(reader, "changed")
            which: dict[str, Any] = {"texts": rows["text"]}
        else:
            require(classifier, "text", "give the texts as DATA")
            which = find_chosen(classifier, chosen)
        known, choice = classifier.counts.live_labels, classifier.choice
        labels = [classifier.label_named(name) for name in to]
        try:
            with uninterrupted():
                n_docs = classifier.relabel(labels, **which)
        except UnlearnError as error:
            raise (_unknown_error(classifier, rows) if data else point_to_log(classifier, error)) from error
        if n_docs:
            say(f"relabelled {counted(n_docs, 'document')}: {_describe_now(classifier)}")
            say_new(labels, known)
        else:
            say(f"these documents of {file} had that label already: nothing was changed")
        if reader is not None:
            say_reading(reader)
        say_choice(classifier, choice)


def _unknown_error(classifier: bunrui.StoredClassifier, rows: dict[str, list[Any]]) -> Exception:
    """The error of the first text that the classifier has not learned."""
    from bunrui.memory import document_digests

    known = {document.digest for document in classifier.documents()}
    digests = (digest.tobytes().hex() for digest in document_digests(rows["text"]))
    row = next(row for row, digest in enumerate(digests) if digest not in known)
    shown = excerpt(str(rows["text"][row]), _LONGEST_EXCERPT)
    return UnlearnError(f"this was never learned: {shown!r}", file=rows["source"][row], line=rows["line"][row])


def forget(
    file: Classifier,
    before: str | None = option(
        "DATE", "Learned before: 2026-01-31, 2026-01-31T18:00 or 2026-01-31T18:00+09:00. Without a zone, local time."
    ),
    source: str | None = option("PATH", "Learned from this file, as it was given."),
    unlabelled: bool = flag("All texts without a label, in place of documents."),
) -> None:
    """Unlearn all documents before a date, or of a source.

    With both options, only documents that fit both. The time of a document is
    that of its first learning, also after it was relabelled, moved or merged.

    FILE must keep texts (the default of learn --keep). You can undo it until
    'bunrui compact' wipes out the documents.

    [bold]Examples[/]

      bunrui forget mail.bunrui --before 2026-01-01
      bunrui forget mail.bunrui --source customer-17.csv
      bunrui forget mail.bunrui --unlabelled
    """

    if unlabelled:
        if before is not None or source is not None:
            raise OptionError("--unlabelled goes alone: it takes back all texts without a label.")
        with bunrui.open(file) as classifier, uninterrupted():
            n_texts = len(classifier.memory.pool)
            classifier.unlearn_unlabelled()
        say(f"forgot {counted(n_texts, 'text')} without a label")
        return
    if before is None and source is None:
        raise OptionError("say which documents: give --before, --source, or both, or --unlabelled.")
    moment = None if before is None else _read_time(before)
    with bunrui.open(file) as classifier:
        require(classifier, "text", f"take them back by their texts, with 'bunrui unlearn {file} DATA'")
        choice = classifier.choice
        with uninterrupted():
            n_docs = classifier.forget(before=moment, source=source)
        if n_docs:
            say(f"forgot {counted(n_docs, 'document')}: {_describe_now(classifier)}")
            say_choice(classifier, choice)
        else:
            say(f"nothing was forgotten: 'bunrui log {file} --documents' lists the times and sources that there are")


def _read_time(given: str) -> datetime:
    try:
        return datetime.fromisoformat(given).astimezone()  # one without a zone is local
    except (ValueError, OverflowError):
        raise OptionError(f"--before takes a date, such as 2026-01-31 or 2026-01-31T18:00, not {given!r}.") from None


_PAST = {"rename": "renamed {name} to {to}", "drop": "dropped {name}", "move": "moved {name} to {to}"}


def label(
    *,
    action: str = argument("ACTION", "rename, drop or move.", autocompletion=lambda: [*_PAST], required=True),
    file: Classifier,
    name: str = argument("LABEL", "The label.", required=True),
    to: str | None = argument("TO", "The new name, or the label to move to."),
) -> None:
    """Rename a label, drop it with its documents, or move its documents to another.

    A document with several labels that loses one keeps the others.

    A rename works whatever FILE keeps. So do drop and move, unless a document
    has several labels: then FILE must keep texts (the default of learn
    --keep).

    [bold]Examples[/]

      bunrui label rename mail.bunrui junk spam
      bunrui label drop mail.bunrui test
      bunrui label move mail.bunrui phishing spam
    """

    if action not in _PAST or (to is None) != (action == "drop"):
        raise OptionError("write 'label rename FILE LABEL TO', 'label drop FILE LABEL' or 'label move FILE LABEL TO'.")
    if to == "":
        raise OptionError("the new name is empty: give the label one.")
    with bunrui.open(file) as classifier:
        choice = classifier.choice
        has, gets = classifier.label_named(name), classifier.label_named(to)
        with uninterrupted():
            change_label = getattr(classifier, f"{action}_label")
            n_docs = change_label(has) if to is None else change_label(has, gets)
        change = _PAST[action].format(name=quote(has), to=quote(gets))
        say(f"{change} ({counted(n_docs, 'document')}): {_describe_now(classifier)}")
        say_choice(classifier, choice)


def _describe_now(classifier: bunrui.StoredClassifier) -> str:
    """The numbers of documents and labels of a file after a change."""
    known = classifier.info()
    return f"{classifier.path} has learned {extent(known['documents'], len(known['labels']))} now"
