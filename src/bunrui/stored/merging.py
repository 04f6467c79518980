"""One classifier out of several.

A file that was counted from shards, or merged from such, knows their ids (`shards.py`): what the target holds already
is left out.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from bunrui.counts import Counts
from bunrui.errors import DuplicateError, MismatchError, Option, OptionError, StoreError
from bunrui.learner import Learner
from bunrui.store import KEEPS, Row, Store, Transaction, key_words
from bunrui.stored.duplicates import Seen
from bunrui.stored.file import File
from bunrui.stored.shards import Holding, holding, is_new

if TYPE_CHECKING:
    from bunrui.stored.classifier import StoredClassifier

__all__ = ["merge"]

_log = logging.getLogger("bunrui")


def merge(
    target: StoredClassifier, others: Sequence[Learner], *, unique: bool, kind: str = "merge", **note: Any
) -> list[str]:
    """Add what others have learned, all or none; the files among them that were left out, which is logged, too.

    `kind` and `note` are what the list of changes says of it.
    """
    for other in others:
        _check(target, other)
    files = [file for file in map(_file_of, others) if file is not None]
    with ExitStack() as stack:
        # In one order for everybody: two classifiers may be merged into each other at the same time.
        for file in sorted({target._file, *files}, key=lambda file: file.key):
            stack.enter_context(file.use())
        for file in files:
            file.catch_up()
            stack.enter_context(file.store.reading())
        with target._file.writing(kind, **note) as transaction:
            seen = target._file.seen(needed=unique)
            new, skipped, shards = _chosen(target, others)
            n_duplicates = 0
            if seen is not None:
                coming = [file for file in map(_file_of, new) if file is not None]
                n_duplicates = sum(_add_log(transaction, file.store, seen, target.keep) for file in coming)
            if new:
                counts = _sum(new)
                if counts.n_docs:
                    transaction.changes.append((1, counts))
                transaction.n_docs = counts.n_docs
                transaction.note.update(shards.note())
            if unique and n_duplicates:
                found = f"texts that were learned before, or come twice: {n_duplicates:,}. Without "
                raise DuplicateError((found, Option("unique"), ", each time counts"))
            if n_duplicates:
                transaction.note["duplicates"] = n_duplicates
    for name in skipped:
        _log.warning("left out %s: %s has its shards already", name, target.path)
    return skipped


def _chosen(target: StoredClassifier, others: Sequence[Learner]) -> tuple[list[Learner], list[str], Holding]:
    """What is to be added, the files that are there already, and the shards that come."""
    mine, coming = holding(target._file.store), Holding()
    files = [_file_of(other) for other in others]
    held = [
        Holding(n_more=other.counts.n_docs) if file is None else holding(file.store)
        for other, file in zip(others, files, strict=True)
    ]
    skipped: dict[int, str] = {}
    # Those that hold the most first: of a part and a merge that has it, the merge is added, and the part left out.
    for place in sorted(range(len(files)), key=lambda place: (-len(held[place].ids), -held[place].n_more)):
        file, theirs = files[place], held[place]
        if file is not None and not is_new(mine.joined(coming), theirs, target.path, file.store.path):
            skipped[place] = file.store.path
        else:
            coming = coming.joined(theirs)
    new = [other for place, other in enumerate(others) if place not in skipped]
    return new, [skipped[place] for place in sorted(skipped)], coming


def _sum(others: Sequence[Learner]) -> Counts:
    """The counts of all of them; one sum takes less room than a copy of each."""
    total: Counts | None = None
    for other in others:
        with other._memory.lock.read():
            if total is None:
                total = other.counts.copy()
            else:
                total.add(other.counts)
    assert total is not None
    return total


def _file_of(classifier: Learner) -> File | None:
    return getattr(classifier, "_file", None)


def _check(target: StoredClassifier, other: Learner) -> None:
    """Refuse what does not fit, before anything is written."""
    target._file.check_writable("merge")
    file = _file_of(other)
    if target.counts.fingerprint != other.counts.fingerprint:
        raise MismatchError(
            f"{'the other classifier' if file is None else file.store.path} was made with another analyzer "
            f"({other._analyzer.describe()}) than {target.path} ({target._analyzer.describe()}): "
            "learn the documents again with one of the two"
        )
    if file is None:
        if target.keep != "nothing":
            raise OptionError(
                f"{target.path} keeps {target.keep} of every document, which a classifier in memory has not",
                option="keep",
                hint=("merge it into a file with ", Option("keep", "nothing")),
            )
        return
    theirs = file.store
    if target._file.key == file.key or (os.path.exists(target.path) and os.path.samefile(target.path, theirs.path)):
        raise OptionError(f"{theirs.path} cannot be merged with itself: name other files")
    if theirs.pruned > 1:
        raise StoreError(f"{theirs.path} lacks rare words: merge the file it was made from")
    if KEEPS.index(theirs.keep) < KEEPS.index(target.keep):
        raise OptionError(
            f"{target.path} keeps {target.keep} of every document, but {theirs.path} keeps {theirs.keep}: "
            f"merge both into a new file that keeps {theirs.keep}"
        )


def _add_log(transaction: Transaction, source: Store, seen: Seen, keep: str) -> int:
    """Copy the documents that another file keeps; how many of their texts were there."""
    names = source.labels()
    n_duplicates = 0
    for _, block in source.log.blocks():
        n_duplicates += int(seen.add(key_words(block.digests)).sum())
        copy = block.tidy()
        used = sorted({names[k] for labels in copy.label_sets for k in labels})
        ids = dict(zip(used, transaction.label_ids(used).tolist(), strict=True))
        copy = copy._replace(label_sets=[sorted(ids[names[k]] for k in labels) for labels in copy.label_sets])
        transaction.log(Row.of(copy if keep == "text" else copy._replace(sizes=None, text=b"")))
    return n_duplicates
