"""The file that people edit after `bunrui audit`: a row for each document, whose label they may change.

Columns:

    digest          of the text: how the document is found again
    label           what it should be; as written, what it is
    given           what it is; several labels are a list in JSON
    suggested       the likeliest label
    probability     of the given one
    why             unlikely; exact or near: a copy with another label
    id, source, line, text
"""

from __future__ import annotations

import csv
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from bunrui.cli.console import counted, interrupts, plain, say, uninterrupted

if TYPE_CHECKING:
    from bunrui.selection import Audit

__all__ = ["Place", "apply_fixes", "excerpt", "write_fixes"]

_COLUMNS = ("digest", "label", "given", "suggested", "probability", "why", "id", "source", "line", "text")
_NEEDED = ("digest", "label", "given")
_EXCERPT = 200
_DIGITS = 32


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
        """What is known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def excerpt(document: Any) -> str:
    """The beginning of a document in one line.

    >>> excerpt("a\\n b"), excerpt(["cheap", "pills"]), excerpt({"noon": 2})
    ('a b', 'cheap pills', 'noon')
    """
    text = document[: 10 * _EXCERPT] if isinstance(document, str) else " ".join(list(document)[:_EXCERPT])
    text = " ".join(text.split())
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"


def write_fixes(path: str, result: Audit, places: list[Place], top: int | None) -> None:
    """Write what is suspicious."""
    from bunrui.store import document_digests

    why = {suspect.row: "unlikely" for suspect in result.suspects[:top]}
    for conflict in result.conflicts:
        why |= {row: conflict.kind for row in conflict.rows if row not in why}
    suspects = {suspect.row: suspect for suspect in result.suspects}
    digests: Any = document_digests([result.text(row) for row in why]) if why else []
    with open(path, "w", encoding="utf-8-sig", newline="") as file:  # spreadsheets take UTF-8 by its mark alone
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        for (row, reason), digest in zip(why.items(), digests, strict=True):
            given, suspect = written(result.labels[row]), suspects.get(row)
            suggestion = (suspect.suggested, f"{suspect.probability:.4f}") if suspect else ("", "")
            names = (place if isinstance(place, int) else _tame(place or "") for place in _named(places[row]))
            text = _tame(plain(excerpt(result.text(row))))
            writer.writerow([digest.tobytes().hex(), given, given, *suggestion, reason, *names, text])
    say(f"wrote {counted(len(why), 'document')} into {path}: change the column label, then --apply it")


def _named(place: Place) -> tuple[Any, ...]:
    return place.id, place.source, place.line


def _tame(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def written(labels: tuple[str, ...]) -> str:
    """The labels of a document in one cell.

    >>> written(("spam",)), written(("grain", "oil"))
    ('spam', '["grain", "oil"]')
    """
    return labels[0] if len(labels) == 1 else json.dumps(labels, ensure_ascii=False)


def _read(cell: str) -> list[str]:
    """
    >>> _read("spam"), _read('["grain", "oil"]'), _read("[sic]")
    (['spam'], ['grain', 'oil'], ['[sic]'])
    """
    if cell.startswith("["):
        try:
            found = json.loads(cell)
        except (ValueError, RecursionError):
            return [cell]
        if found and all(isinstance(label, str) for label in found):
            return list(found)
    return [cell]


def apply_fixes(file: str, path: str) -> None:
    """Relabel what was edited, as one change."""
    from bunrui import stored
    from bunrui.cli.kept import need

    changes = _changes(path)
    if not changes:
        say(f"every label of {path} is the given one: nothing was changed")
        return
    with interrupts("interrupted; nothing was changed"), closing(stored.open(file)) as classifier:
        need(classifier, "text", "unlearn the documents with their old labels, and learn them with the new ones")
        known = {(document.digest, tuple(document.labels)) for document in classifier.documents()}
        for line, digest, has, _ in changes:
            if (digest, tuple(sorted(has))) not in known:
                raise _unknown(f"{path}, line {line}", file, digest, has, {key for key, _ in known})
        with uninterrupted():
            n_docs = classifier.relabel_each((digest, has, gets) for _, digest, has, gets in changes)
    tally: dict[str, int] = {}
    for _, _, has, gets in changes:
        change = f"{', '.join(has)} → {', '.join(gets)}"
        tally[change] = tally.get(change, 0) + 1
    for change, n in sorted(tally.items(), key=lambda item: (-item[1], item[0])):
        print(f"{n:,}\t{plain(change)}")
    say(f"relabelled {counted(n_docs, 'document')} of {file}; 'bunrui undo {file}' takes that back")


def _unknown(place: str, file: str, digest: str, has: list[str], digests: set[str]) -> Exception:
    from bunrui.errors import UnlearnError

    if digest in digests:
        return UnlearnError(f"{place}: this document has another label than {', '.join(has)!r} now: audit {file} again")
    return UnlearnError(f"{place}: no document of {file} has the digest {digest}: audit {file} again")


def _changes(path: str) -> list[tuple[int, str, list[str], list[str]]]:
    """Line, digest, labels before and after of the rows that were edited."""
    from bunrui.errors import DataError, EncodingError

    found = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            start = file.readline()
            file.seek(0)
            # Spreadsheets of some countries write semicolons.
            rows = csv.DictReader(file, delimiter=";" if start.count(";") > start.count(",") else ",")
            missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
            if missing:
                raise DataError(f"{path}: there is no column {missing[0]!r}: give a file that 'bunrui audit' wrote")
            for row in rows:
                line, (digest, label, given) = rows.line_num, (row[name] for name in _NEEDED)
                if not digest or label is None or given is None or not _is_digest(digest):
                    raise DataError(f"{path}, line {line}: this is no row of 'bunrui audit': edit nothing but label")
                if not label:
                    raise DataError(f"{path}, line {line}: the label is empty: give one, or the one that it had")
                if label != given:
                    found.append((line, digest, _read(given), _read(label)))
    except UnicodeDecodeError as error:
        raise EncodingError(f"{path} is not valid UTF-8 (byte {error.start}): save it as UTF-8") from error
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as CSV: {error}") from error
    return found


def _is_digest(text: str) -> bool:
    return len(text) == _DIGITS and set(text) <= set("0123456789abcdef")
