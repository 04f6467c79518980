"""The model that a file chooses for itself: from its log, in the transaction of the change that makes it due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bunrui.calibration import Calibration
from bunrui.choice import Choice, choose, is_due
from bunrui.classifier import asked_for, calibration_by
from bunrui.counts import Counts
from bunrui.memory import key_words
from bunrui.models import AUTO
from bunrui.sample import Drawn, find_lowest
from bunrui.store.options import calibration_of, choice_of, classifier_of
from bunrui.store.store import Store, apply
from bunrui.store.transaction import Transaction

if TYPE_CHECKING:
    from bunrui.store.file import File

__all__ = ["Chosen", "can_choose", "choose_if_due", "choose_now"]


class Chosen(NamedTuple):
    """A choice, and the calibration of the file from now on; a file without documents has chosen nothing."""

    choice: Choice | None
    calibration: Calibration | None


def choose_if_due(file: File, transaction: Transaction) -> Chosen | None:
    """Choose a model, if a change makes it due, and write it into the file with the change; call while writing."""
    store, before = file.store, file.memory.counts
    n_docs = before.n_docs + sum(sign * delta.n_docs for sign, delta in transaction.changes)
    choice = choice_of(store)
    if transaction.changes and not n_docs and choice is not None:
        return _write(store, transaction, None, None)
    if not transaction.changes or not can_choose(store, n_docs):
        return None
    labels = {*before.live_labels, *(label for _, delta in transaction.changes for label in delta.live_labels)}
    if transaction.kind != "merge" and not is_due(choice, n_docs, len(labels)):
        return None
    return choose_now(file, transaction, _changed(before, transaction, store), choice.metric if choice else "accuracy")


def can_choose(store: Store, n_docs: int) -> bool:
    """Whether a file with so many documents can choose its model, and is to."""
    return n_docs > 0 and store.keep == "text" and store.pruned == 1 and store.settings().get("model") == AUTO


def choose_now(file: File, transaction: Transaction, counts: Counts, metric: str) -> Chosen:
    """Choose a model by some counts, those that the file has after a transaction, and write it into the file."""
    store = file.store
    classifier = classifier_of(store)
    drawn = draw(store, len(counts.live.labels))
    if not set(drawn.labels) <= set(counts.label_ids):
        raise store.unpacker().damaged("its log has other documents than its counts")
    choice, left_out = choose(counts, classifier.text_analyzer, drawn, classifier.get_params(), metric)
    calibration = calibration_by(choice, left_out, classifier.settings, transaction.number)
    return _write(store, transaction, choice, calibration)


def _write(store: Store, transaction: Transaction, choice: Choice | None, calibration: Calibration | None) -> Chosen:
    """Write a choice with its calibration into the file; a calibration that somebody asked for may stay."""
    chosen = Chosen(choice, calibration or asked_for(calibration_of(store)))
    known = {name: None if each is None else each.to_dict() for name, each in chosen._asdict().items()}
    settings = store.settings()
    transaction.note |= {"choice": known["choice"], "settings_before": settings}
    store.save_settings(settings | known)
    return chosen


def _changed(counts: Counts, transaction: Transaction, store: Store) -> Counts:
    """Counts as a transaction will leave them."""
    changes = transaction.changes
    if not counts.n_docs and len(changes) == 1:
        return changes[0][1]
    after = counts.copy()
    for sign, delta in changes:
        apply(after, sign, delta, store.unpacker())
    return after


def draw(store: Store, n_classes: int) -> Drawn:
    """The sample of the documents that a log has, for so many classes."""
    names, log = store.labels(), store.log
    ranks = np.empty(len(names), np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    sizes = log.sizes()
    columns: list[list[Any]] = [[], [], [], [], []]
    for number, block, alive in log.headings():
        labels = np.array([ids[0] if len(ids) == 1 else -1 for ids in block.label_sets], np.int64)[block.codes]
        rows = alive[labels[alive] >= 0]
        keys, block_numbers = key_words(block.digests)[rows], np.full(len(rows), number)
        each = keys, labels[rows], sizes[number][rows], block_numbers, rows
        for column, values in zip(columns, each, strict=True):
            column.append(values)
    if not columns[0]:
        return Drawn([], [], np.empty(0, np.int64), np.empty(0, bool))
    keys, codes, lengths, numbers, places = (np.concatenate(column) for column in columns)
    found = find_lowest(keys, ranks[codes], lengths, n_classes, np.ones(len(keys), np.int64))
    taken = found.rows[found.is_taken]
    texts: list[Any] = [None] * len(taken)
    for number in np.unique(numbers[taken]).tolist():
        mine = np.flatnonzero(numbers[taken] == number)
        for k, text in zip(mine.tolist(), log.block(number).pick(places[taken][mine]).documents(), strict=True):
            texts[k] = text
    labels_of = [names[code] for code in codes[taken].tolist()]
    return Drawn(texts, labels_of, found.copies[found.is_taken], found.is_common[found.is_taken])
