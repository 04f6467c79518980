"""One classifier out of several.

A file that was counted from shards, or merged from such files, knows their ids: the notes of its changes say so.  A
file whose shards the target holds already is left out.

    shards     ids of shards
    n_shards   how many there were; `compact` forgets names, and leaves numbers
    unsharded  documents of the same change that belong to none
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

from bunrui.choice import fixed_by
from bunrui.classifier import AnyClassifier, TextClassifier, check_alike, key_of_calibration, resolve
from bunrui.counts import Counts
from bunrui.engines.labelgroups import check_new
from bunrui.errors import DuplicateError, Option, OptionError, StoreError
from bunrui.memory import key_words
from bunrui.models import AUTO
from bunrui.phrases import some
from bunrui.store.file import File, find_seen
from bunrui.store.log import Seen
from bunrui.store.options import check_keeps, settings_of
from bunrui.store.pool import PoolChange, read_texts
from bunrui.store.store import KEEPS, Store
from bunrui.store.transaction import History, Transaction

_log = logging.getLogger("bunrui")

_SHOWN = 3
_WITHOUT = ("set", "compact", "rename")  # changes of no documents


class Source(NamedTuple):
    """A classifier, and its file where it has one."""

    classifier: AnyClassifier
    file: File | None = None

    @property
    def name(self) -> str:
        """For messages."""
        return "the other classifier" if self.file is None else self.file.store.path


def merge(target: File, sources: Sequence[Source], *, unique: bool, kind: str, note: Mapping[str, Any]) -> list[str]:
    """Add the counts and documents of others to a file, all or none; return the files that were left out.

    `kind` and `note` go into the list of changes.
    """
    target.check_not_read_only("merge")
    for source in sources:
        _check(target, source)
    typed = [source for source in sources if source.classifier.label_type]
    for source in typed:
        check_alike(typed[0].classifier, source.classifier, typed[0].name, source.name)
    files = [source.file for source in sources if source.file is not None]
    with ExitStack() as stack:
        # In one order for everybody: two classifiers may be merged into each other at the same time, and a file may be
        # open twice.
        for file in sorted({target, *files}, key=lambda file: (file.key, id(file))):
            stack.enter_context(file.use())
        for file in files:
            file.catch_up()
            stack.enter_context(file.store.reading())
        with target.writing(kind, **note) as transaction:
            has_settings = kind == "merge" and _take_settings(target, sources, transaction)
            seen = find_seen(target.store, needed=unique, by_index=True)
            new, skipped, shards = _choose(target, sources)
            coming, n_duplicates = [source.file.store for source in new if source.file is not None], 0
            if seen is not None:
                n_duplicates = sum(_add_log(transaction, store, seen, target.store.keep) for store in coming)
            if new:
                counts = _sum(new)
                if counts.n_docs:
                    transaction.changes.append((1, counts))
                transaction.n_docs = counts.n_docs
                transaction.note.update(shards.note())
            _add_unlabelled(transaction, target.store, coming)
            if unique and n_duplicates:
                found = f"texts that were learned before, or come twice: {n_duplicates:,}. Without "
                raise DuplicateError((found, Option("unique"), ", each time counts"))
            if n_duplicates:
                transaction.note["duplicates"] = n_duplicates
    if has_settings:
        target.refresh()
    for name in skipped:
        _log.warning("left out %s: %s has its shards already", name, target.store.path)
    return skipped


def _take_settings(target: File, sources: Sequence[Source], transaction: Transaction) -> bool:
    """Give an empty file that cannot choose a model the model, choice and calibration of its sources.

    Options that the file was made with stay.  Returns whether the settings have changed.

    Raises
    ------
    OptionError
        If a source has a model that reads more than counts.
    """
    store, mine = target.store, target.classifier
    others = [source.classifier for source in sources if source.classifier.counts.n_docs]
    if not others or target.memory.counts.n_docs or store.keep == "text":
        return False
    settings, choice, first = mine.settings, None, others[0]
    if mine.model == AUTO and not fixed_by(settings):
        for source in sources:
            _check_counts_answer(source, store)
        if all(other.effective_settings == first.effective_settings for other in others):
            settings = first.settings if settings == TextClassifier().settings else settings
            choice = first.choice if settings["model"] == AUTO else None
        used = resolve(settings, choice)["model"]
        if any(other.effective_settings["model"] != used for other in others):
            _log.warning("%s uses the model %s, and a classifier that was merged used another", store.path, used)
    calibration = first.calibration if len(others) == 1 else None
    if calibration is not None and calibration.options != key_of_calibration(resolve(settings, choice), None):
        calibration = None
    if settings == mine.settings and choice is None and calibration is None:
        return False
    taken = {
        "choice": None if choice is None else choice.to_dict(),
        "calibration": None if calibration is None else replace(calibration, tx=transaction.number).to_dict(),
    }
    before = store.settings()
    transaction.note |= {"choice": taken["choice"], "settings_before": before}
    store.save_settings(before | settings_of(settings) | taken)
    return True


def _check_counts_answer(source: Source, store: Store) -> None:
    """Refuse a classifier whose counts alone give other answers."""
    other = source.classifier
    check_keeps(other.effective_options["model"], store.keep, store.path)
    if other.pool_weight is not None and other.pool_weight.weight:
        problem = f"texts without a label help {source.name}, and {store.path} keeps none"
        raise OptionError(problem, hint="take these texts back first")


def _choose(target: File, sources: Sequence[Source]) -> tuple[list[Source], list[str], Holding]:
    """The classifiers to add, the files that are there already, and the shards that come."""
    mine, coming = holding(target.store), Holding()
    held = [
        Holding(n_more=source.classifier.counts.n_docs) if source.file is None else holding(source.file.store)
        for source in sources
    ]
    skipped: set[int] = set()
    name = target.store.path  # of the last file that has forgotten which shards it holds
    # Begin with those that hold the most: if a merge has a part, the merge is added, and the part is left out.
    for place in sorted(range(len(sources)), key=lambda place: (-len(held[place].ids), -held[place].n_more)):
        source, theirs = sources[place], held[place]
        if source.file is not None and not is_new(mine.joined(coming), theirs, name, source.name):
            skipped.add(place)
            continue
        coming = coming.joined(theirs)
        name = source.name if theirs.n_forgotten else name
    new = [source for place, source in enumerate(sources) if place not in skipped]
    return new, [sources[place].name for place in sorted(skipped)], coming


def _sum(sources: Sequence[Source]) -> Counts:
    """The counts of all of them; one sum takes less room than a copy of each."""
    first, *others = (source.classifier.memory for source in sources)
    with first.lock.read():
        total = first.counts.copy()
    for memory in others:
        with memory.lock.read():
            total.add(memory.counts)
    return total


def _check(target: File, source: Source) -> None:
    """Refuse a classifier that does not fit, before anything is written."""
    mine, other = target.store, source.classifier
    check_alike(target.classifier, other, mine.path, source.name)
    if source.file is None:
        check_new(source.classifier.counts.live_labels)
        if mine.keep != "nothing":
            problem = f"{mine.path} keeps {mine.keep} of every document, which a classifier in memory has not"
            raise OptionError(problem, option="keep", hint=("merge it into a file with ", Option("keep", "nothing")))
        return
    theirs = source.file.store
    if target.key == source.file.key or (os.path.exists(mine.path) and os.path.samefile(mine.path, theirs.path)):
        raise OptionError(f"{theirs.path} cannot be merged with itself: name other files")
    if theirs.pruned > 1:
        raise StoreError(f"{theirs.path} lacks rare words: merge the file it was made from")
    if KEEPS.index(theirs.keep) < KEEPS.index(mine.keep):
        problem = f"{mine.path} keeps {mine.keep} of every document, but {theirs.path} keeps {theirs.keep}"
        raise OptionError(problem, hint=f"merge both into a new file that keeps {theirs.keep}")


def _add_log(transaction: Transaction, source: Store, seen: Seen, keep: str) -> int:
    """Copy the documents that another file keeps; how many of their texts were there."""
    names = source.labels()
    n_duplicates = 0
    for _, block in source.log.blocks():
        n_duplicates += int(seen.add(key_words(block.digests)).sum())
        copy = transaction.with_labels(block, [[names[k] for k in labels] for labels in block.label_sets])
        transaction.log((copy if keep == "text" else copy._replace(sizes=None, text=b"")).row())
    return n_duplicates


def _add_unlabelled(transaction: Transaction, target: Store, sources: Sequence[Store]) -> None:
    """Copy the texts without a label that other files keep, each once."""
    if target.keep != "text":
        return
    change = PoolChange(target, transaction.number, transaction.time)
    for source in sources:
        change.add(read_texts(source).values())
    if change.n_texts:
        transaction.note["unlabelled"] = change.n_texts


class Holding(NamedTuple):
    """Ids of shards, how many documents came or went besides, and how many ids the file had and knows no more."""

    ids: frozenset[str] = frozenset()
    n_more: int = 0
    n_forgotten: int = 0

    @property
    def has_any(self) -> bool:
        """Whether there are shards, known or not."""
        return bool(self.ids) or self.n_forgotten > 0

    def note(self) -> dict[str, Any]:
        """For the change that brings them into another file.

        >>> Holding(frozenset({"b", "a"}), n_more=5).note()
        {'shards': ['a', 'b'], 'n_shards': 2, 'unsharded': 5}
        >>> Holding(n_more=5).note()
        {}
        """
        if not self.has_any:
            return {}
        note = {"shards": sorted(self.ids), "n_shards": len(self.ids) + self.n_forgotten}
        return note | ({"unsharded": self.n_more} if self.n_more else {})

    def joined(self, other: Holding) -> Holding:
        """The shards and documents of two files together."""
        return Holding(self.ids | other.ids, self.n_more + other.n_more, self.n_forgotten + other.n_forgotten)


def holding(store: Store) -> Holding:
    """The shards and documents of a file, without changes that were undone."""
    found = Holding()
    unpacker = store.unpacker()
    for entry in History(store).entries():
        if entry.undone or entry.kind in _WITHOUT:
            continue
        shards, n_shards, n_more = (entry.note.get(key, 0) for key in ("shards", "n_shards", "unsharded"))
        unpacker.check_whole(n_shards, n_more)
        if not n_shards:
            # A slim copy does not know the shards of the file that it was made from.
            found = found.joined(Holding(n_more=entry.n_docs, n_forgotten=int(entry.kind == "slim")))
            continue
        ids = shards if isinstance(shards, list) else []
        unpacker.check_text(*ids)
        if len(set(ids)) > n_shards:
            raise unpacker.damaged("it has more shards than it says")
        found = found.joined(Holding(frozenset(ids), n_more, n_shards - len(set(ids))))
    return found


def is_new(mine: Holding, theirs: Holding, target: str, other: str) -> bool:
    """Whether a file is to be merged: False if all that it has is there already.

    Raises
    ------
    StoreError
        If a part of it is there, since counts cannot be told apart; or if that is not known.
    """
    if not (mine.has_any and theirs.has_any):
        return True
    for name, known in ((target, mine), (other, theirs)):
        if known.n_forgotten:
            problem = f"{name} was compacted, or is a slim copy, and does not know which shards it holds"
            raise StoreError(f"{problem}, so that some might count twice", hint="merge the files it was made from")
    shared = sorted(mine.ids & theirs.ids)
    if not shared:
        return True
    both = f"{other} has shards that {target} has too ({some(shared, _SHOWN)})"
    if len(shared) < len(theirs.ids):
        raise StoreError(f"{both}, and others that it lacks: merge the parts of those")
    if theirs.n_more:
        problem = f"{both}, and has changed by {theirs.n_more:,} documents besides"
        raise StoreError(problem, hint="merge it into a file without these shards")
    return False
