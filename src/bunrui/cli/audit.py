"""`bunrui audit`."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import bunrui
from bunrui.cli.console import interrupts, say, show, to_json, uninterrupted
from bunrui.cli.documents import DIGITS, collect, is_classifier, require
from bunrui.cli.options import Analysis, LabelledDocuments, Model
from bunrui.cli.output import check_folder, check_name, replace_when_done, write_page
from bunrui.cli.parameters import LabelledData, flag, option
from bunrui.errors import DataError, EncodingError, OptionError, UnlearnError
from bunrui.labels import text_of
from bunrui.phrases import counted, excerpt, one_line
from bunrui.views.tables import Column, Table, words

if TYPE_CHECKING:
    from bunrui.selection import Audit, Suspect

_TOP = 20


def audit(
    data: LabelledData,
    documents: LabelledDocuments,
    model: Model,
    top: int | None = option("N", "List N documents (20).", min=1),
    json: bool = flag("As JSON."),
    html: str | None = option("PATH", "Write a page that shows why, in colours."),
    output: str | None = option(
        "PATH", "Write a CSV file to edit, with all suspects, or with the first --top.", "--output", "-o"
    ),
    apply: str | None = option(
        "PATH", "Relabel the classifier by an edited file: the rows whose label differs from the given one."
    ),
) -> None:
    """Find labels that look wrong.

    Each document is predicted by all the others. The list begins with the
    least likely labels. It has the probability of the label, the label, the
    suggested label, the words against the label, and the text. Then come
    exact and near copies with different labels. In a pipe, these are lines
    with tabs. Where documents have several labels, each label is judged by
    itself, and the suggestion is the whole set.

    With a classifier, its model and analyzer are used. To correct it, write a
    file with --output, correct the column label, and give the file to
    --apply: that is one change, which undo takes back.

    [bold]Examples[/]

      bunrui audit train.csv
      bunrui audit mail.bunrui --top 50 --html look.html
      bunrui audit mail.bunrui --output fixes.csv
      bunrui audit mail.bunrui --apply fixes.csv
      bunrui audit train.csv --json | jq -r '.suspects[].line'
    """
    is_file = is_classifier(data[0])
    if apply is not None:
        if not is_file or len(data) > 1:
            raise OptionError("--apply changes one classifier, and no other files: correct DATA itself.")
        if json or html is not None or output is not None or top is not None:
            raise OptionError("--apply goes without --top, --json, --html and --output.")
        apply_fixes(data[0], apply)
        return
    check_name(html)
    check_name(output, "--output", "a table to be edited", (".csv",))
    if output is not None:
        check_folder(output, is_new=True)
    with interrupts("interrupted"):
        found = collect(data, documents, model, Analysis())
        result = bunrui.selection.audit(found.classifier, found.texts, found.labels)
        places = [Place(*row) for row in zip(found.sources, found.lines, found.ids, strict=True)]
        listed = result.suspects[: top or _TOP]
        if output is not None:
            then = ", then --apply it" if is_file else ", and correct DATA by it"
            write_fixes(output, result, places, top, then=then)
        if html is not None:
            facts = [("Of", ", ".join(os.path.basename(name) for name in data))]
            where = [one_line(str(place)) for place in places]
            write_page(html, bunrui.report.audit_page(result, listed, where, facts=facts))
        if json:
            print(to_json(_as_dict(result, listed, places)))
        elif output is None and html is None:
            _print(result, listed, places)
    _say_more(result, len(listed) if output is None else None)


def _say_more(result: Audit, n_listed: int | None) -> None:
    n = len(result.suspects)
    found = f"{n:,} of {counted(result.n_docs, 'document')} have a label that is not the likeliest"
    if any(suspect.doubts for suspect in result.suspects):
        found += ", or one too many, or lack one"
    say(found + (f"; the first {n_listed:,} are listed" if n_listed is not None and n_listed < n else ""))
    if result.conflicts:
        say(f"{counted(len(result.conflicts), 'text')} came several times with different labels")
    if result.alone:
        have = "has" if len(result.alone) == 1 else "have"
        say(f"{counted(len(result.alone), 'document')} {have} a label that no other has, which cannot be judged")


def _as_dict(result: Audit, listed: tuple[Suspect, ...], places: list[Place]) -> dict[str, Any]:
    return {
        "documents": result.n_docs,
        "n_suspects": len(result.suspects),
        "suspects": [
            {
                **places[suspect.row].as_dict(),
                **{name: value for name, value in suspect._asdict().items() if name != "doubts"},
                **({"doubts": [doubt._asdict() for doubt in suspect.doubts]} if suspect.doubts else {}),
                "better": suspect.better,
                "words": {word.feature: word.value for word in result.words(suspect)},
                "text": _beginning(result.text(suspect.row)),
            }
            for suspect in listed
        ],
        "conflicts": [
            {
                "kind": conflict.kind,
                "text": _beginning(result.text(conflict.rows[0])),
                "documents": [
                    {**places[row].as_dict(), "row": row, "given": labels}
                    for row, labels in zip(conflict.rows, conflict.labels, strict=True)
                ],
            }
            for conflict in result.conflicts
        ],
        "alone": result.alone,
    }


def _print(result: Audit, listed: tuple[Suspect, ...], places: list[Place]) -> None:
    from bunrui.views.explanation import spell

    suspects, copies = [], []
    for suspect in listed:
        labels = _join_labels(suspect.given), _join_labels(suspect.better)
        against = "  ".join(spell(word.feature) for word in result.words(suspect))
        text = _beginning(result.text(suspect.row))
        suspects.append((f"{suspect.probability:.4f}", *labels, str(places[suspect.row]), against, text))
    for conflict in result.conflicts:
        both = " / ".join(dict.fromkeys(map(_join_labels, conflict.labels)))
        where = "  ".join(str(places[row]) for row in conflict.rows)
        copies.append((conflict.kind, both, "", where, "", _beginning(result.text(conflict.rows[0]))))
    for names, found in ((("P(label)", "label", "suggested"), suspects), (("copies", "labels", ""), copies)):
        rows = [list(map(one_line, row)) for row in found]
        if not sys.stdout.isatty():
            print("".join("\t".join(row) + "\n" for row in rows), end="")
        elif rows:
            show(_table(names, rows))


def _table(names: Iterable[str], rows: list[list[str]]) -> Table:
    # Where there is little room, the long columns give way, a text in one line; the others never do.
    long = [Column(name, is_number=False, overflow="fold") for name in ("where", "against the label")]
    return Table([*words(*names), *long, Column("text", is_number=False, overflow="cut")], rows).filled()


_COLUMNS = ("digest", "label", "given", "suggested", "probability", "why", "copies", "id", "source", "line", "text")
_NEEDED = ("digest", "label", "given")
_EXCERPT = 200


class Place(NamedTuple):
    """Where a document comes from, as far as that is known."""

    source: str | None
    line: int | None
    id: str | None

    def __str__(self) -> str:
        """
        >>> str(Place("a.csv", 7, None)), str(Place("a.csv", 7, "x")), str(Place(None, None, None))
        ('a.csv:7', 'a.csv:7 (x)', '')
        """
        place = (self.source or "") + (f":{self.line}" if self.line is not None else "")
        return f"{place} ({self.id})".strip() if self.id is not None else place

    def as_dict(self) -> dict[str, Any]:
        """The fields that are known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def _beginning(document: Any) -> str:
    """The beginning of a document in one line.

    >>> _beginning("a\\n b"), _beginning(["cheap", "pills"]), _beginning({"noon": 2})
    ('a b', 'cheap pills', 'noon')
    """
    text = document[: 10 * _EXCERPT] if isinstance(document, str) else " ".join(list(document)[:_EXCERPT])
    return excerpt(" ".join(text.split()), _EXCERPT)


def write_fixes(path: str, result: Audit, places: list[Place], top: int | None, *, then: str) -> None:
    """Write the suspects; `then` tells people what to do with the edited file."""
    from bunrui.memory import document_digests

    why = {suspect.row: "unlikely" for suspect in result.suspects[:top]}
    for conflict in result.conflicts:
        why |= {row: conflict.kind for row in conflict.rows if row not in why}
    suspects = {suspect.row: suspect for suspect in result.suspects}
    keys = [digest.tobytes().hex() for digest in document_digests(result.texts)] if why else []
    copies = Counter((keys[row], write_labels(result.labels[row])) for row in range(len(keys)))
    first: dict[tuple[str, str], int] = {}  # the first row of each text with its labels
    for row in why:
        first.setdefault((keys[row], write_labels(result.labels[row])), row)
    # Spreadsheets take UTF-8 by its mark alone.
    with replace_when_done(path) as unfinished, open(unfinished, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        for (digest, given), row in first.items():
            suspect = suspects.get(row)
            suggestion = (write_labels(suspect.better), f"{suspect.probability:.4f}") if suspect else ("", "")
            place = places[row]
            names = _tame(place.id or ""), _tame(place.source or ""), "" if place.line is None else place.line
            text = _tame(one_line(_beginning(result.text(row))))
            writer.writerow([digest, given, given, *suggestion, why[row], copies[digest, given], *names, text])
    say(f"wrote {counted(len(why), 'document')} into {path}: change the column label where it is wrong{then}")


def _tame(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def write_labels(labels: tuple[Any, ...]) -> str:
    """The labels of a document in one cell.

    >>> write_labels(("spam",)), write_labels(("grain", "oil"))
    ('spam', '["grain", "oil"]')
    """
    return text_of(labels[0]) if len(labels) == 1 else json.dumps(labels, ensure_ascii=False)


def _join_labels(labels: Iterable[Any]) -> str:
    return ", ".join(map(text_of, labels))


class _Change(NamedTuple):
    """A row that may have been edited."""

    line: int
    digest: str
    has: tuple[Any, ...]
    gets: tuple[Any, ...]

    @property
    def key(self) -> tuple[str, tuple[Any, ...]]:
        """The documents that it stands for."""
        return self.digest, tuple(sorted(self.has))


def _read(cell: str) -> tuple[str, ...]:
    """
    >>> _read("spam"), _read('["grain", "oil"]'), _read("[sic]")
    (('spam',), ('grain', 'oil'), ('[sic]',))
    >>> _read("[1, 2]"), _read("[1]")
    (('1', '2'), ('[1]',))
    """
    if cell.startswith("["):
        try:
            found = json.loads(cell)
        except (ValueError, RecursionError):
            return (cell,)
        is_numbers = len(found) > 1 and all(isinstance(label, int) for label in found)
        if found and (is_numbers or all(isinstance(label, str) for label in found)):
            return tuple(map(text_of, found))
    return (cell,)


def apply_fixes(file: str, path: str) -> None:
    """Relabel the documents whose rows were edited, as one change."""

    rows = _rows(path)
    _check_copies(path, rows)
    changes = [row for row in rows if row.has != row.gets]
    if not changes:
        say(f"every label of {path} is the given one: correct the column label where it is wrong, and --apply it again")
        return
    with interrupts("interrupted; nothing was changed"), bunrui.open(file) as classifier:
        require(classifier, "text", "unlearn the documents with their old labels, and learn them with the new ones")
        known = Counter((document.digest, tuple(document.labels)) for document in classifier.documents())
        labels = set(classifier.counts.live_labels)
        texts, read = set(map(text_of, labels)), classifier.label_named

        def meant(name: str) -> Any:
            """The label, perhaps without spaces around it that nobody has meant."""
            return read(name.strip() if name not in texts and name.strip() in texts else name)

        changes = [change._replace(has=tuple(map(read, change.has))) for change in changes]
        for change in changes:
            if change.key not in known:
                wrong = f"no document of {file} has the digest {change.digest}"
                if change.digest in {digest for digest, _ in known}:
                    wrong = f"this document has another label than {_join_labels(change.has)!r} now"
                raise UnlearnError(f"{path}, line {change.line}: {wrong}: audit {file} again")
        changes = [change._replace(gets=tuple(map(meant, change.gets))) for change in changes]
        changes = [change for change in changes if change.has != change.gets]
        with uninterrupted():
            n_docs = classifier.relabel_each((change.digest, change.has, change.gets) for change in changes)
    tally: Counter[str] = Counter()
    for change in changes:
        tally[f"{_join_labels(change.has)} → {_join_labels(change.gets)}"] += known[change.key]
    for labels_of, n in sorted(tally.items(), key=lambda item: (-item[1], item[0])):
        print(f"{n:,}\t{one_line(labels_of)}")
    new = sorted({name for change in changes for name in change.gets} - labels)
    if new:
        say(f"new: no other document had the label {one_line(_join_labels(new))}")
    say(f"relabelled {counted(n_docs, 'document')} of {file}; 'bunrui undo {file}' takes that back")


def _check_copies(path: str, rows: list[_Change]) -> None:
    """Refuse rows that say different things of the same documents."""
    first: dict[tuple[str, tuple[Any, ...]], _Change] = {}
    for row in rows:
        other = first.setdefault(row.key, row)
        if other.gets != row.gets:
            said = "these are the same text with the same label: change both, or neither"
            raise DataError(f"{path}, lines {other.line} and {row.line}: {said}")
    for row in first.values():
        other = first.get((row.digest, tuple(sorted(row.gets))), row)
        if other is not row and other.has != other.gets:
            said = "these copies of one text would get each other's labels: change only one of them"
            raise DataError(f"{path}, lines {row.line} and {other.line}: {said}")


def _rows(path: str) -> list[_Change]:
    found = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            start = file.readline()
            file.seek(0)
            # Spreadsheets of some countries write semicolons.
            rows = csv.DictReader(file, delimiter=";" if start.count(";") > start.count(",") else ",", strict=True)
            missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
            if missing:
                raise DataError(f"{path}: there is no column {missing[0]!r}: give a file that 'bunrui audit' wrote")
            for row in rows:
                line, (digest, label, given) = rows.line_num, (row[name] for name in _NEEDED)
                if label is None or given is None or not re.fullmatch(f"[0-9a-f]{{{DIGITS}}}", digest or ""):
                    raise DataError(f"{path}, line {line}: this is no row of 'bunrui audit': edit nothing but label")
                if not label:
                    raise DataError(f"{path}, line {line}: the label is empty: give one, or the one that it had")
                found.append(_Change(line, digest, _read(given), _read(label)))
    except UnicodeDecodeError as error:
        raise EncodingError(f"{path} is not valid UTF-8 (byte {error.start}): save it as UTF-8") from error
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as CSV: {error}") from error
    return found
