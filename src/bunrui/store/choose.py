"""The model that a file chooses for itself: from its log, in the transaction of the change that makes it due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bunrui.calibration import Calibration
from bunrui.choice import Choice, choose, is_due
from bunrui.classifier import TextClassifier, asked_for, calibration_by, resolve
from bunrui.counts import Counts
from bunrui.memory import key_words
from bunrui.models import AUTO
from bunrui.sample import Drawn, find_lowest
from bunrui.store.options import calibration_of, choice_of, classifier_of, options_of, pool_weight_of
from bunrui.store.pool import labelled_among, read_digests, read_texts
from bunrui.store.store import Store, apply
from bunrui.store.transaction import Transaction
from bunrui.unlabelled import PoolWeight, weigh
from bunrui.unlabelled import is_due as is_weighing_due

if TYPE_CHECKING:
    from bunrui.store.file import File

__all__ = ["Chosen", "can_choose", "choose_if_due", "choose_now", "draw", "weigh_now"]


class Chosen(NamedTuple):
    """A choice, the calibration of the file from now on, and the weight of its texts without a label.

    A file without documents has chosen nothing.
    """

    choice: Choice | None
    calibration: Calibration | None
    pool_weight: PoolWeight | None

    @classmethod
    def of(cls, store: Store) -> Chosen:
        """What a file has chosen."""
        return cls(choice_of(store), calibration_of(store), pool_weight_of(store))


def choose_if_due(file: File, transaction: Transaction) -> Chosen | None:
    """Choose a model, if a change makes it due, and write it into the file with the change; call while writing.

    The same goes for the weight of texts without a label.
    """
    store, before = file.store, file.memory.counts
    n_docs = before.n_docs + sum(sign * delta.n_docs for sign, delta in transaction.changes)
    choice, weight = choice_of(store), pool_weight_of(store)
    if transaction.changes and not n_docs and (choice is not None or weight is not None):
        return _write(store, transaction, Chosen(None, None, None))
    has_other_pool, is_merge = "unlabelled" in transaction.note, transaction.kind == "merge"
    if not n_docs or not (transaction.changes or has_other_pool):
        return None
    labels = {*before.live_labels, *(label for _, delta in transaction.changes for label in delta.live_labels)}
    n_pool = len(read_digests(store)) if has_other_pool else len(file.memory.pool)
    model = resolve(options_of(store), choice)["model"]
    weighs = has_other_pool or (n_pool and is_weighing_due(weight, model, n_docs, len(labels), n_pool))
    if can_choose(store, n_docs) and (weighs or is_merge or is_due(choice, n_docs, len(labels))):
        metric = choice.metric if choice else "accuracy"
        return choose_now(file, transaction, _changed(before, transaction, store), metric)
    if weighs and store.keep == "text":
        return weigh_now(file, transaction, _changed(before, transaction, store))
    return None


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
    return _write(store, transaction, _weigh(store, transaction, counts, classifier, choice, calibration))


def weigh_now(file: File, transaction: Transaction, counts: Counts) -> Chosen:
    """Choose the weight of texts without a label for the model that is named, and write it into the file."""
    store = file.store
    return _write(store, transaction, _weigh(store, transaction, counts, classifier_of(store), None, None))


def _weigh(
    store: Store,
    transaction: Transaction,
    counts: Counts,
    classifier: TextClassifier,
    choice: Choice | None,
    calibration: Calibration | None,
) -> Chosen:
    """What was chosen, with the weight of texts without a label; where they count, the calibration is another."""
    pool = read_texts(store)
    if not pool or not counts.n_docs:
        return Chosen(choice, calibration, None)
    options, drawn = resolve(classifier.get_params(), choice), draw(store, len(counts.live.labels))
    weight, left_out = weigh(counts, classifier.text_analyzer, drawn, pool, labelled_among(store, pool), options)
    fitted = calibration_by(choice, left_out, classifier.settings, transaction.number, weight)
    return Chosen(choice, fitted or calibration, weight)


def _write(store: Store, transaction: Transaction, chosen: Chosen) -> Chosen:
    """Write a choice into the file; a calibration that somebody asked for may stay."""
    chosen = chosen._replace(calibration=chosen.calibration or asked_for(calibration_of(store)))
    known = {name: None if each is None else each.to_dict() for name, each in chosen._asdict().items()}
    settings = store.settings()
    transaction.note |= {"choice": known["choice"], "settings_before": settings}
    if known["pool_weight"] is None and "pool_weight" not in settings:
        del known["pool_weight"]
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
