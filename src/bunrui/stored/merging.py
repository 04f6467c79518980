"""One classifier out of several."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bunrui.classifier import TextClassifier
from bunrui.errors import DuplicateError, MismatchError, OptionError, StoreError
from bunrui.store import KEEPS, Row, Store, Transaction, key_words
from bunrui.stored.duplicates import Seen
from bunrui.stored.file import File

if TYPE_CHECKING:
    from bunrui.stored.classifier import StoredClassifier

__all__ = ["merge"]


def merge(target: StoredClassifier, others: Sequence[TextClassifier], *, unique: bool) -> None:
    """Add what others have learned, all or none."""
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
        with target._file.writing("merge") as transaction:
            seen = target._file.seen(needed=unique)
            n_duplicates = sum(_add(transaction, other, seen, target.keep) for other in others)
            if unique and n_duplicates:
                raise DuplicateError(
                    f"texts that were learned before, or come twice: {n_duplicates:,}. Without unique, each time counts"
                )
            if n_duplicates:
                transaction.note["duplicates"] = n_duplicates


def _file_of(classifier: TextClassifier) -> File | None:
    return getattr(classifier, "_file", None)


def _check(target: StoredClassifier, other: TextClassifier) -> None:
    """Refuse what does not fit, before anything is written."""
    target._file.check_writable("merge")
    other._check_strings()
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
                f"{target.path} keeps {target.keep} of every document, which a classifier in memory has not: "
                "merge it into a file with keep='nothing'"
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


def _add(transaction: Transaction, other: TextClassifier, seen: Seen | None, keep: str) -> int:
    """Add what another classifier knows; how many of its texts were there."""
    file = _file_of(other)
    n_duplicates = 0 if file is None or seen is None else _add_log(transaction, file.store, seen, keep)
    with other._memory.lock.read():
        theirs = other.counts.copy()
    transaction.changes.append((1, theirs))
    transaction.n_docs += theirs.n_docs
    return n_duplicates


def _add_log(transaction: Transaction, source: Store, seen: Seen, keep: str) -> int:
    """Copy the documents that another file keeps."""
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
