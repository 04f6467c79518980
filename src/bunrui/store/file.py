"""`File`: a store, and a memory that follows it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import proxy

import numpy as np

from bunrui.choice import is_due
from bunrui.classifier import Chosen, TextClassifier, asked_for, choose_by, resolve
from bunrui.counts import Counts
from bunrui.engines.count import release
from bunrui.engines.labelgroups import label_sets
from bunrui.errors import BunruiError, DamagedError, DataError, OptionError, Step, StoreError
from bunrui.kernel.slices import Mutex
from bunrui.memory import Batch, Memory, Parameters
from bunrui.models import AUTO, kind_of
from bunrui.models.kinds import is_kept
from bunrui.sample import Drawn
from bunrui.store import weights
from bunrui.store.compact import compact, join, wipe
from bunrui.store.log import Seen
from bunrui.store.options import check_keeps, chosen_of, classifier_of, draw, options_of, settings_of
from bunrui.store.pool import FilePool, labelled_among, read_texts
from bunrui.store.store import State, Store, apply
from bunrui.store.transaction import GOES_ON, OF_SETTINGS, Entry, History, Transaction, kinds_since, undo
from bunrui.store.weights import Heading, Rows, read_heading, read_weights, stamp_weights
from bunrui.unlabelled import is_due as is_weighing_due

if TYPE_CHECKING:
    from bunrui.models.trained import Fitted

_log = logging.getLogger("bunrui")
T = TypeVar("T")

# Transactions that leave the documents as they are.
_NO_DOCUMENTS = ("set", "calibrate", "choose", "rename", "compact", "slim")


class File:
    """One file, shared by the models that read it.

    All changes go first to the file, in a transaction, and then to the memory.  If the memory cannot follow, it is read
    again from the file; until that works, nobody reads it.

    Attributes
    ----------
    store : Store
    memory : Memory
    read_only : bool
    lock : lock
        A thread that uses the store holds it.
    state : State or None
        How far the memory has read: another one after every change, also after an undo.
    classifier : TextClassifier
        The classifier with the options of the file.
    """

    def __init__(self, store: Store, *, read_only: bool) -> None:
        self.store = store
        self.classifier = classifier_of(store)
        # A strong reference would keep the memory, with all counts, after the last use of the file.
        self.memory = Memory(Counts(store.fingerprint), proxy(self))
        self._pool = self.memory.pool = FilePool(self)
        self.read_only = read_only
        self.lock = Mutex()
        self.state: State | None = None
        self._is_as_read = True  # whether features have the ids that they get when the file is opened
        self._changed: dict[tuple[int, int], tuple[int, int]] = {}
        self._writer: int | None = None  # the process whose session is open: a forked child has none
        self.catch_up()
        self.classifier.attach(self.memory)
        self.classifier.take_on(*chosen_of(store))

    @property
    def key(self) -> str:
        """The name of the file without links; files are locked in the order of their names."""
        return os.path.realpath(self.store.path)

    # Reading

    def catch_up(self) -> bool:
        """Read the changes of other processes; return whether there were any."""
        with self.use():
            self.store.check_place()
            return self._catch_up()

    def refresh(self) -> bool:
        """Read the changes of other processes, also those of options and choices; return whether there were any."""
        is_new, classifier = self.catch_up(), self.classifier
        with self.use():
            options, chosen = options_of(self.store), chosen_of(self.store)
        if options != classifier.get_params():
            classifier.set_params(**options).check_options()
            is_new = True
        if chosen != (classifier.choice, classifier.calibration, classifier.pool_weight):
            classifier.take_on(*chosen)
            is_new = True
        return is_new

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """A block in which the memory equals the file, and neither changes."""
        with self.use():
            self.store.check_place()
            with self.store.reading():
                self._catch_up()
                yield

    @contextmanager
    def use(self) -> Iterator[None]:
        """The store for this thread alone; not inside a session of its own."""
        with self.lock:
            if self._writer == os.getpid():
                raise StoreError(f"a session of {self.store.path} is open: do this after its block")
            self.store.renew()
            yield

    def _catch_up(self) -> bool:
        before = self.state
        news = self.store.news(before) if before is not None else None
        if news is None:
            self._load()
            return True
        deltas, state = news
        if state == before:  # a lock for nothing would keep readers out for as long as the longest of them reads
            return False
        self._take_in(deltas, state)
        return True

    def _load(self) -> None:
        counts, state = self.store.load()
        with self.memory.lock.write():
            counts.follow(self.memory.counts)
            self.memory.counts = counts
            self._pool.catch_up()
            self.memory.trouble = None
        self.state, self._is_as_read = state, True

    def _take_in(self, deltas: list[tuple[int, Counts]], state: State) -> None:
        """Change the memory as the file has changed."""
        self.state = None
        # A feature that was taken back keeps its id here, and so does one that a merged classifier had lost.
        self._is_as_read &= all(sign > 0 and delta.n_features == delta.n_ids for sign, delta in deltas)
        try:
            with self.memory.lock.write():
                self.memory.trouble = f"the memory is not in step with {self.store.path}"
                for sign, delta in deltas:
                    if sign > 0:
                        self.memory.take_in(delta)
                    else:
                        apply(self.memory.counts, sign, delta, self.store.unpacker())
                        release(delta)
                self._pool.catch_up()
                self.memory.trouble = None
        except BaseException as error:
            self._recover(error)
            if not isinstance(error, Exception):
                raise
            return
        self.state = state

    def _recover(self, error: BaseException) -> None:
        """Read everything anew after the memory could not follow."""
        try:
            self._load()
        except (BunruiError, MemoryError) as again:
            problem = f"{self.store.path} has changed, but the memory could not follow ({error!r})"
            raise StoreError(problem, hint=(Step("reopen"),)) from again

    def n_changed(self, since: int) -> int:
        """Documents that were learned or unlearned after a transaction."""
        with self.use():
            generation, tx = self.store.state()
            start = (generation, since)
            upto, n_docs = self._changed.get(start, (since, 0))  # each transaction is read once
            n_docs += History(self.store).n_docs(upto, tx, _NO_DOCUMENTS)
            self._changed = {start: (max(upto, tx), n_docs)}
            return n_docs

    # Writing

    @contextmanager
    def writing(self, kind: str, **note: Any) -> Iterator[Transaction]:
        """A transaction; its changes of the counts go into the memory when it is written."""
        self.check_not_read_only(kind)
        with self.use():
            check_not_pruned(self.store, kind)
            with self._session():
                before = self.state
                transaction = Transaction(self.store, kind, note)
                if self.store.is_crowded():
                    transaction.snapshot(self.memory.counts, transaction.number - 1)
                    join(self.store, transaction.number - 1)
                yield transaction
                chosen = self._choose_if_due(transaction)
                has_changed, state = transaction.finish(), self.store.state()
            if before is None or state.generation != before.generation:
                self._load()
            elif has_changed:
                self._take_in(transaction.changes, state)
            if chosen is not None:
                self.classifier.take_on(*chosen)

    @contextmanager
    def _session(self) -> Iterator[None]:
        """Change the file after the memory has caught up with it; call while `use`."""
        self._writer = os.getpid()
        try:
            with self.store.writing():
                self._catch_up()
                yield
        finally:
            self._writer = None

    def undo(self, to: int | None, last: int | None) -> list[Entry]:
        """Take back the transactions after a number, or the last one; return them, the last one first."""
        self.check_not_read_only("undo")
        with self.use():
            with self._session():
                newest = History(self.store).last_standing()
                if newest is None or newest.kind not in OF_SETTINGS:
                    check_not_pruned(self.store, "undo")
                taken, deltas = undo(self.store, to, last)
                self._check_answers()
                state = self.store.state()
            if {"rename", *OF_SETTINGS}.intersection(entry.kind for entry in taken):
                self._load()
            else:
                self._take_in([(-sign, delta) for sign, delta in reversed(deltas)], state)
            self.classifier.take_on(*chosen_of(self.store))
        return taken

    def _check_answers(self) -> None:
        """Refuse settings of a trained model that has neither weights nor documents; call while writing."""
        store, options = self.store, options_of(self.store)
        if store.keep == "text" or not kind_of(options["model"]).needs_documents:
            return
        stored = find_weights(store, options, store.load()[0])
        if stored is None or not stored.is_current:
            problem = f"undo would bring back {options['model']}, whose weights {store.path} has no more"
            raise StoreError(problem, hint="make this copy again, from the file that has the documents")

    def configure(self, settings: dict[str, Any], kind: str = "set") -> None:
        """Change how the counts are read."""
        self.check_not_read_only("configure" if kind == "set" else kind)
        with self.use():
            with self._session():
                before = self.store.settings()
                choice = chosen_of(self.store, before).choice
                settings = json.loads(json.dumps(settings_of(settings), default=float))  # as the file will have them
                changed = {name: value for name, value in settings.items() if value != before.get(name)}
                if not changed:
                    return
                transaction = Transaction(self.store, kind, {**changed, "before": before})
                self.store.save_settings(before | settings)
                counts, metric = self.memory.counts, choice.metric if choice else "accuracy"
                has_choice = self._can_choose(counts.n_docs, before | settings)
                if kind == "set" and (has_choice or len(self.memory.pool)):
                    self._choose(transaction, counts, metric if has_choice else None)
                transaction.finish()
                state = self.store.state()
            self.state = state

    def choose(self, metric: str | None) -> None:
        """Choose the model anew, by default by the metric of the last choice."""
        with self.writing("choose") as transaction:
            if not self._can_choose(self.memory.counts.n_docs, self.store.settings()):
                raise StoreError(f"{self.store.path} has no documents to choose by", hint=(Step("learn"),))
            if metric is None:
                choice = chosen_of(self.store).choice
                metric = choice.metric if choice else "accuracy"
            chosen = self._choose(transaction, self.memory.counts, metric)
        self.classifier.take_on(*chosen)

    def _choose_if_due(self, transaction: Transaction) -> Chosen | None:
        """Choose a model and the weight of texts without a label, if a change makes it due; call while writing.

        The choice goes into the file with the change.
        """
        store, before = self.store, self.memory.counts
        n_docs = before.n_docs + sum(sign * delta.n_docs for sign, delta in transaction.changes)
        settings = store.settings()
        choice, calibration, weight = chosen_of(store, settings)
        if transaction.changes and not n_docs and (choice is not None or weight is not None):
            return self._write_choice(transaction, Chosen(calibration=asked_for(calibration)))
        has_other_pool = "unlabelled" in transaction.note
        if not n_docs or not (transaction.changes or has_other_pool):
            return None
        labels = {*before.live_labels, *(label for _, delta in transaction.changes for label in delta.live_labels)}
        weighs, n_pool = has_other_pool, len(self.memory.pool)
        if n_pool and not weighs:
            model = resolve(options_of(store), choice)["model"]
            weighs = is_weighing_due(weight, model, n_docs, len(labels), n_pool)
        chooses = weighs or transaction.kind == "merge" or is_due(choice, n_docs, len(labels))
        chooses = chooses and self._can_choose(n_docs, settings)
        if not chooses and not (weighs and store.keep == "text"):
            return None
        metric = choice.metric if choice else "accuracy"
        return self._choose(transaction, self._counts_after(transaction), metric if chooses else None)

    @property
    def has_sample(self) -> bool:
        """Whether a model can be chosen by its documents: they are there, and all their words are counted."""
        return self.store.keep == "text" and self.store.pruned == 1

    def _can_choose(self, n_docs: int, settings: Mapping[str, Any]) -> bool:
        """Whether the file, with this number of documents and these settings, can choose its model, and is asked to."""
        return n_docs > 0 and self.has_sample and settings.get("model") == AUTO

    def _choose(self, transaction: Transaction, counts: Counts, metric: str | None) -> Chosen:
        """Choose by the counts that the file has after a transaction, and write the choice into the file.

        With a metric, choose the model anew; without, only the weight of texts without a label.
        """
        store, classifier = self.store, classifier_of(self.store)
        drawn = self._draw(counts, len(counts.live.labels))
        pool = read_texts(store) if counts.n_docs else {}
        learned = counts, classifier.text_analyzer, drawn, pool, labelled_among(store, pool)
        before = Chosen(calibration=asked_for(chosen_of(store).calibration))
        chosen = choose_by(classifier.get_params(), *learned, before, metric, transaction.number)
        return self._write_choice(transaction, chosen)

    def _write_choice(self, transaction: Transaction, chosen: Chosen) -> Chosen:
        known = {name: None if each is None else each.to_dict() for name, each in chosen._asdict().items()}
        settings = self.store.settings()
        transaction.note |= {"choice": known["choice"], "settings_before": settings}
        if known["pool_weight"] is None and "pool_weight" not in settings:
            del known["pool_weight"]
        self.store.save_settings(settings | known)
        return chosen

    def _counts_after(self, transaction: Transaction) -> Counts:
        """The counts as a transaction will leave them."""
        counts, changes = self.memory.counts, transaction.changes
        if not counts.n_docs and len(changes) == 1:
            return changes[0][1]
        after = counts.copy()
        for sign, delta in changes:
            apply(after, sign, delta, self.store.unpacker())
        return after

    def compact(self) -> None:
        """Rewrite the file."""
        self.check_not_read_only("compact")
        with self.use():
            with self._session():
                heading = self._heading_to_stay()
                compact(self.store, Transaction(self.store, "compact"), self.memory.counts)
                stamp_weights(self.store, heading)
                state = self.store.state()
            self.state = state
            self._pool.catch_up()
            wipe(self.store)

    # Weights

    def train(self) -> bool:
        """Train the model, and keep its weights; whether there are any."""
        self.catch_up()
        options = self.classifier.get_params()
        with self.use():
            if not self._has_ids_of_file():
                self._load()

        def pack(fitted: Fitted) -> tuple[Fitted, Heading, Rows] | None:
            found = fitted.arrays(to_learn=True)
            return found and (fitted, *weights.pack_weights(found, options, fitted.counts, fitted.mark))

        packed = self.classifier.current_model.export(pack)
        if packed is None:
            return False
        fitted, heading, rows = packed
        with self.use(), self._session():
            # Only documents and options matter: a calibration since, or a compaction, changes no weight.
            if not fitted.is_of(self.memory.counts) or heading.options != weights.key_of(options_of(self.store)):
                problem = f"another process has changed {self.store.path} while its model was trained"
                raise StoreError(f"{problem}, and nothing was kept", hint="train it again")
            weights.write_weights(self.store, heading, rows)
        return True

    def train_when_due(self) -> None:
        """Train the model at the end of a change, if enough has changed."""
        model, options, n_docs = self.classifier.model, self.classifier.get_params(), self.memory.counts.n_docs
        if self.store.keep != "text" or not is_kept(model) or not n_docs:
            return
        try:
            with self.use():
                heading = None
                with suppress(DamagedError):
                    heading = read_heading(self.store)
                is_training_due = weights.is_due(heading, options, n_docs, self.store.snapshot())
            if is_training_due:
                self.train()
        except (BunruiError, MemoryError) as error:
            # The change is there, and weights are only to save time: the next question trains, or says what is wrong.
            why = str(error) or "out of memory"
            _log.warning("the weights of %s in %s were not kept: %s", model, self.store.path, why)

    def _has_ids_of_file(self) -> bool:
        """Whether features have the ids that they get when somebody opens the file: weights are kept by these ids."""
        counts = self.memory.counts
        return self._is_as_read and counts.n_ids == counts.n_features  # a snapshot leaves lost features out

    def slim_weights(self, like: TextClassifier, counts: Counts, min_df: int) -> tuple[Heading, Rows]:
        """The weights of a model for a copy with these counts; call while the file is at rest."""
        store, options = self.store, like.get_params()
        if store.keep != "text":
            stored = find_weights(store, options, self.memory.counts)
            if stored is None or min_df > store.pruned:
                problem = f"{store.path} has no documents to train {like.model} again, with fewer words"
                raise OptionError(problem, hint="make this copy from the file that has them")
            return stored.heading, weights.read_rows(store)
        from bunrui.models.trained import Trainer

        fitted = Trainer(options, like.text_analyzer, counts).train(self.memory.documents, None)
        found = fitted.arrays(to_learn=False)
        if found is None:
            raise OptionError(f"{like.model} tells nothing apart yet: learn documents of two labels first")
        return weights.pack_weights(found, options, counts, fitted.mark)

    def trained(self, options: Mapping[str, Any]) -> tuple[bool, int]:
        """Whether the file has the weights of a model with these options, of all its documents.

        And the number of documents that it need not learn again: `arow` goes on from older weights.
        """
        stored = None
        with self.at_rest(), suppress(DamagedError):
            stored = find_weights(self.store, options, self.memory.counts)
        if stored is None:
            return False, 0
        goes_on = stored.is_current or options["model"] == "arow"
        return stored.is_current, stored.heading.n_docs if goes_on else 0

    def _heading_to_stay(self) -> Heading | None:
        """The heading of weights that the counts of a compacted file fit to; call while writing."""
        stored = None
        with suppress(DamagedError):
            heading = read_heading(self.store) if self._has_ids_of_file() else None
            if heading is not None:
                options = heading.options if self.store.keep != "text" else options_of(self.store)
                stored = find_weights(self.store, options, self.memory.counts)
        return stored.heading if stored is not None and stored.is_current else None

    def check_not_read_only(self, verb: str) -> None:
        """Refuse a change of a file that was opened for reading."""
        if self.read_only:
            raise StoreError(f"{self.store.path} was opened for reading only: open it with read_only=False to {verb}")

    # As `bunrui.memory.Documents`: the documents of the log, for models that are trained from them

    def check(self, model: str) -> None:
        """Refuse a model that needs documents where the file keeps none."""
        check_keeps(model, self.store.keep, self.store.path)

    def batches(self, mark: Any) -> tuple[bool, Iterator[Batch], Any]:
        """As `bunrui.memory.Documents` has it; call `at_rest`."""
        store = self.store
        state = store.state()
        # Blocks of the transactions that the snapshot stands for may have been joined since.
        goes_on = mark is not None and store.snapshot() <= mark.tx and kinds_since(store, mark) <= set(GOES_ON)
        if not goes_on:
            self._check_counts()
        return goes_on, self._read(mark.tx if goes_on else 0), state

    def restored(self, options: Mapping[str, Any], make: Callable[[Parameters, Any, bool], T]) -> T | None:
        """As `bunrui.memory.Documents` has it; call `at_rest`.

        Weights that are damaged are as good as none where documents are there to train the model again.
        """
        store = self.store
        try:
            stored = find_weights(store, options, self.memory.counts)
            return None if stored is None else make(read_weights(store, stored.heading), stored.mark, stored.is_current)
        except DataError as error:
            damaged = weights.unpacker_of(store).damaged(str(error))
        except DamagedError as error:
            damaged = error
        if store.keep != "text":
            raise damaged
        _log.warning("%s: until then, whoever asks trains it in memory", damaged)
        return None

    def draw(self, n_classes: int) -> Drawn:
        """A sample of the documents, as `bunrui.memory.Documents` has it; call `at_rest`."""
        return self._draw(self.memory.counts, n_classes)

    def _draw(self, counts: Counts, n_classes: int) -> Drawn:
        drawn = draw(self.store, n_classes)
        if not set(drawn.labels) <= set(counts.label_ids):
            raise self.store.unpacker().damaged("its log has other documents than its counts")
        return drawn

    def _check_counts(self) -> None:
        """Refuse a log that lacks documents, or has others: no model can be trained from the rest."""
        counts, store = self.memory.counts, self.store
        expected = {label: n for label, (n, _, _) in counts.class_totals().items()}
        if store.log.doc_counts() != (counts.n_docs, expected):
            raise store.unpacker().damaged("its log has other documents than its counts")

    def _read(self, after: int) -> Iterator[Batch]:
        """Blocks, cut where a transaction begins: all of one have its time for their number."""
        names = self.store.labels()
        for _, block in self.store.log.blocks(after):
            labels = [[names[k] for k in label_set] for label_set in block.label_sets]
            borders = np.flatnonzero(np.diff(block.times)) + 1
            for rows in np.split(np.arange(block.n_docs), borders):
                part = block.pick(rows)
                sets = label_sets([labels[code] for code in part.codes.tolist()], part.n_docs, {})
                yield Batch(part.documents(), sets, part.digests, int(part.times[0]))


class Stored(NamedTuple):
    """Weights of a file, and whether they were trained from all its documents; if not, some were learned since."""

    heading: Heading
    mark: State
    is_current: bool


def find_weights(store: Store, options: Mapping[str, Any], counts: Counts) -> Stored | None:
    """The weights of a model with these options that go with some counts, if the file has them; call while reading."""
    heading = read_heading(store)
    if heading is None or not heading.is_of(options, counts, any_version=store.keep != "text"):
        return None
    mark = State(heading.generation, heading.tx)
    kinds = kinds_since(store, mark)
    is_current = "learn" not in kinds
    # A process that has undone a learn still has the ids of its words; then the weights are as good as none.
    fits = kinds <= set(GOES_ON) and (not is_current or heading.n_ids == counts.n_ids)
    return Stored(heading, mark, is_current) if fits else None


def check_not_pruned(store: Store, verb: str) -> None:
    """Refuse to change the counts of a file that lacks some, or has weights that cannot be trained again.

    It reads the file: call while `use`.
    """
    model = store.settings().get("model") if store.keep != "text" else None
    if isinstance(model, str) and kind_of(model).needs_documents:
        problem = f"{store.path} has the weights of {model}, and no documents to train it again"
        raise StoreError(problem, hint=f"{verb} in the file that it was made from, or choose a model that reads counts")
    if store.pruned > 1:
        problem = f"{store.path} lacks the words of fewer than {store.pruned} documents"
        raise StoreError(f"{problem}, so that it cannot {verb} exactly", hint="do that in the file it was made from")


def find_seen(store: Store, *, needed: bool, by_index: bool = False) -> Seen | None:
    """The texts that a file has learned, None where it does not know; an index takes more memory, and stays."""
    if needed:
        store.check_keeps_documents()
    if store.keep == "nothing":
        return None
    return Seen(np.empty(0, np.uint64), store.log.index("digests")) if by_index else Seen(store.log.keys())
