"""`StoredClassifier`: a classifier that lives in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from operator import attrgetter
from typing import Any

from bunrui.calibration import Calibration
from bunrui.choice import FREE, Choice, fixed_by
from bunrui.classifier import OPTIONS, AnyClassifier, Labels, TextClassifier, Texts, check_names, complete_options
from bunrui.counts import Label
from bunrui.engines.labelgroups import check_new
from bunrui.errors import Option, OptionError, StoreError, check_whole
from bunrui.labels import as_list, is_label, type_of
from bunrui.memory import Digests, by_digest
from bunrui.models import AUTO, TRAINED
from bunrui.models.kinds import is_kept
from bunrui.models.model import Model
from bunrui.store import lifecycle
from bunrui.store.check import Report, check
from bunrui.store.file import File, find_seen
from bunrui.store.lifecycle import Document, Page, Selection
from bunrui.store.log import Names
from bunrui.store.merge import Source, merge
from bunrui.store.options import (
    Path,
    check_keeps,
    check_slim,
    chosen_of,
    creating_store,
    hashing_of,
    open_with,
    write_slim,
)
from bunrui.store.sessions import Learning, Sum, Unlearning
from bunrui.store.store import Store
from bunrui.store.transaction import Entry, History
from bunrui.unlabelled import check_reads_pool


class StoredClassifier(AnyClassifier):
    """A `TextClassifier` that lives in one SQLite file; made by `create` and `open`.

    Everything that it learns is in the file when the call returns.  Several processes may read a file while one writes.
    """

    def __init__(self, file: File, classifier: TextClassifier) -> None:
        """`classifier` is that of the file, or a twin that reads the same memory with other options."""
        self._file = file
        self._classifier = classifier
        self.memory = file.memory
        self.text_analyzer = classifier.text_analyzer  # a file has one for good
        self._is_twin = classifier is not file.classifier

    @classmethod
    def of(cls, store: Store, *, read_only: bool = False) -> StoredClassifier:
        """The classifier of a store that is open."""
        file = File(store, read_only=read_only)
        return cls(file, file.classifier)

    def __repr__(self) -> str:
        inner = repr(self._classifier).removeprefix("TextClassifier(")
        return f"StoredClassifier({os.path.basename(self.path)!r}, {inner}"

    @property
    def current_model(self) -> Model:
        """The model with its options as they are now."""
        return self._classifier.current_model

    @property
    def calibration(self) -> Calibration | None:
        """How scores become probabilities; None without a calibration."""
        return self._classifier.calibration

    @property
    def label_type(self) -> type | None:
        """The type of the labels; also after all documents were taken back, because the log of the file has it."""
        found = super().label_type
        if found is None:
            with self._file.lock:
                found = type_of(self._file.store.labels())
        return found

    def check_options(self) -> None:
        """Refuse options that make no sense."""
        self._classifier.check_options()

    @property
    def path(self) -> str:
        """The file."""
        return self._file.store.path

    @property
    def keep(self) -> str:
        """The part of documents that the file keeps: text, digests or nothing."""
        return self._file.store.keep

    @property
    def is_read_only(self) -> bool:
        """Whether it was opened for reading only."""
        return self._file.read_only

    @property
    def is_in_place(self) -> bool:
        """Whether the file still has its name: it was neither moved away nor replaced."""
        return self._file.store.is_in_place

    def close(self) -> None:
        """Let go of the file; the memory stays readable.  Classifiers of `with_model` close with this one."""
        if not self._is_twin:
            with self._file.lock:
                self._file.store.close()

    def __enter__(self) -> StoredClassifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> bool:
        """Take in the changes of other processes; return whether there were any."""
        return self._file.catch_up() if self._is_twin else self._file.refresh()

    # Learning

    def learn(
        self, texts: Texts, labels: Labels, *, ids: Names = None, sources: Names = None, unique: bool = False
    ) -> StoredClassifier:
        """Learn documents with their labels, all or none of them; they are in the file when this returns.

        `ids` and `sources` name the documents and where they come from, in the log.  With `unique`, a text that was
        learned before is refused.
        """
        with self.learning(unique=unique) as session:
            session.add(texts, labels, ids=ids, sources=sources)
        return self

    def unlearn(
        self,
        texts: Texts | None = None,
        labels: Labels | None = None,
        *,
        ids: Sequence[str] | None = None,
        digests: Sequence[str] | None = None,
    ) -> StoredClassifier:
        """Take documents back: afterwards the classifier is the one that never saw them.

        They are given by their texts and labels, by the ids that they were learned with, or by their digests
        (`documents` has them); the latter where the file keeps texts.

        Raises
        ------
        UnlearnError
            If one of them was never learned; then nothing is taken back.
        """
        if texts is not None:
            if labels is None:
                raise OptionError("unlearn needs the labels of the texts, too")
            with self.unlearning() as session:
                session.add(texts, labels)
            return self
        self._change("unlearn", {}, _choice(None, ids, digests), lambda _: [])
        return self

    def learn_unlabelled(self, texts: Texts) -> StoredClassifier:
        """Take in texts without a label, to help where labelled documents are few; they are in the file afterwards."""
        check_reads_pool(self.get_params())
        if not len(texts):
            raise OptionError("there are no texts to learn: give at least one")
        with self.learning() as session:
            session.add_unlabelled(texts)
        return self

    def unlearn_unlabelled(self, texts: Texts | None = None) -> StoredClassifier:
        """Take texts without a label back, by default all of them."""
        with self.unlearning() as session:
            session.add_unlabelled(texts)
        return self

    def relabel(
        self,
        labels: Label | Sequence[Label],
        *,
        texts: Texts | None = None,
        ids: Sequence[str] | None = None,
        digests: Sequence[str] | None = None,
    ) -> int:
        """Give documents that were learned another label, or other labels; how many have changed.

        They are given by their texts, ids or digests; by texts also where the file keeps digests only.  A text that was
        learned twice changes both times.

        Several labels of a document are replaced by a list such as `["ham"]`; a label without a list raises
        `LabelSetError` then: who gives one label may not know that there are others to lose.
        """
        if texts is not None and hasattr(texts, "to_pylist"):
            texts = texts.to_pylist()
        choice = _choice(texts, ids, digests)
        known = None
        if texts is not None and self.keep != "text":
            known = by_digest(texts)
        names = lifecycle.check_labels(as_list(labels))
        check_new(names)
        new_labels = lifecycle.one_for_one(names[0]) if is_label(labels) else lambda _: names
        return self._change("relabel", {"labels": names}, choice, new_labels, known)

    def relabel_each(self, changes: Iterable[tuple[str, Sequence[Label], Sequence[Label]]]) -> int:
        """Give documents other labels, each its own, all or none; how many have changed.

        A change is the digest of a document, the labels that it has, and those that it gets.
        """
        return lifecycle.relabel_each(self._file, changes)

    def forget(self, *, before: datetime | None = None, source: str | None = None) -> int:
        """Unlearn the documents that were learned before a time, or came from a source; how many there were."""
        if before is None and source is None:
            raise OptionError(("forget needs ", Option("before", ...), ", ", Option("source", ...), ", or both"))
        choice = lifecycle.by_time(before)
        if source is not None:
            choice = lifecycle.all_of(choice, lifecycle.by_source(source))
        note = {"before": before.isoformat() if before else None, "source": source}
        return self._change("forget", note, choice, lambda _: [])

    def _change(
        self, kind: str, note: dict[str, Any], choice: Selection, new_labels: lifecycle.Change, texts: Any = None
    ) -> int:
        """Change the labels of the chosen documents in a transaction of its own; how many have changed."""
        self._file.store.check_keeps_documents()
        with self._file.writing(kind, **note) as transaction:
            lifecycle.change(self._file, transaction, choice, new_labels, texts)
        return transaction.n_docs

    def rename_label(self, label: Label, name: Label) -> int:
        """Give a label another name; how many documents have it."""
        return lifecycle.rename_label(self._file, label, name)

    def drop_label(self, label: Label) -> int:
        """Take a label from all documents, and unlearn those that have no other; how many had it."""
        return lifecycle.take_label(self._file, label)

    def move_label(self, label: Label, to: Label) -> int:
        """Give all documents of a label another one in its place; how many had it."""
        return lifecycle.take_label(self._file, label, to)

    @contextmanager
    def learning(self, *, unique: bool = False, note: Mapping[str, Any] | None = None) -> Iterator[Learning]:
        """Learn batch by batch in one transaction: all of it is kept when the block ends, nothing when it raises.

        with clf.learning() as session:
            for texts, labels in batches:
                session.add(texts, labels)

        `note` has more fields for the list of changes.
        """
        file = self._file
        with file.writing("learn", **(note or {})) as transaction:
            seen = find_seen(file.store, needed=unique, by_index=True)
            session = Learning(file.store, transaction, Sum(self), seen, unique)
            yield session
            session.finish()
        self._file.train_when_due()

    @contextmanager
    def unlearning(self) -> Iterator[Unlearning]:
        """Unlearn batch by batch in one transaction, as `learning` learns."""
        with self._file.writing("unlearn") as transaction:
            session = Unlearning(self._file.store, transaction, Sum(self))
            yield session
            session.finish()

    def merge(self, *others: AnyClassifier, unique: bool = False) -> StoredClassifier:
        """Add the counts of other classifiers with the same analyzer, and the documents of their files, all or none.

        One in memory knows nothing of its documents: it merges into a file with `keep="nothing"`.  An empty file that
        keeps no texts, and names no model, takes the model and the calibration with the counts; it refuses a model that
        is trained from documents.  With `unique`, files that have learned the same text are refused.
        """
        self.merge_all(others, unique=unique)
        return self

    def merge_all(
        self, others: Sequence[AnyClassifier], *, unique: bool = False, kind: str = "merge", **note: Any
    ) -> list[str]:
        """Merge, and return the files that were left out, since this one holds their shards already.

        `kind` and `note` are for the list of changes.
        """
        sources = [Source(other, other._file if isinstance(other, StoredClassifier) else None) for other in others]
        skipped = merge(self._file, sources, unique=unique, kind=kind, note=note)
        self._file.train_when_due()
        return skipped

    @property
    def author(self) -> str | None:
        """Who makes the changes from now on: `history` says so.  At first, the environment variable BUNRUI_AUTHOR."""
        return self._file.store.author

    @author.setter
    def author(self, name: str | None) -> None:
        self._file.store.author = name

    def undo(self, *, last: int | None = None) -> tuple[str, int]:
        """Take the last transaction back: its kind, and its number of documents.

        As long as the file has it apart from the others: `compact` joins all, and many changes are joined on the way.
        With `last`, it must have this number; else somebody was quicker, and a `ChangedError` is raised.
        """
        (entry,) = self._undo(None, last)
        return entry.kind, entry.n_docs

    def undo_to(self, number: int, *, last: int | None = None) -> list[Entry]:
        """Take back all transactions after a number, all or none of them; they are returned, the last one first.

        Afterwards the classifier is as it was after that transaction; 0 stands for an empty file.  With `last`, the
        last of them must have this number; else somebody has changed the file meanwhile, and a `ChangedError` is
        raised.

        >>> import tempfile, os
        >>> from bunrui import create
        >>> with create(os.path.join(tempfile.mkdtemp(), "mail.bunrui")) as clf:
        ...     _ = clf.learn(["cheap pills"], ["spam"]).learn(["noon?"], ["ham"]).learn(["lunch"], ["ham"])
        ...     print([entry.number for entry in clf.undo_to(1)], clf.counts.n_docs)
        [3, 2] 1
        """
        check_whole("number", number, least=0)
        return self._undo(number, last)

    def _undo(self, to: int | None, last: int | None) -> list[Entry]:
        taken = self._file.undo(to, last)
        self.refresh()  # it may have changed options, or chosen a model
        return taken

    def compact(self) -> None:
        """Make the file as small as it can be, and wipe out the unlearned documents.

        Afterwards neither the text of an unlearned document nor the words that only it had are found in any byte of the
        file; earlier changes cannot be undone.
        """
        self._file.compact()
        self._file.train_when_due()

    # Training

    @property
    def is_trained(self) -> bool:
        """Whether the next question is answered without training: counts are enough, or the file has the weights."""
        return not self.needs_documents or (is_kept(self.model) and self._file.trained(self.get_params())[0])

    @property
    def n_trained(self) -> int:
        """Documents whose weights are in the file: the next question learns the others."""
        return self._file.trained(self.get_params())[1] if is_kept(self.model) else 0

    def train(self) -> bool:
        """Train the model now and keep its weights in the file, so that the next process answers at once.

        `learn`, `merge`, `configure` and `compact` do it by themselves when the model was never trained with these
        options, and when documents have doubled or halved since.  After another `learn`, `arow` goes on from its
        weights, and the next question trains the rest, in memory.  All other changes of documents drop the weights.

        Returns whether there are weights: a model of one label has none.

        Raises
        ------
        OptionError
            If the model has no weights that a file keeps: it reads counts, or is `aode` or `columns`.
        StoreError
            If another process has changed the documents or the model meanwhile.
        """
        file = self._file
        file.check_not_read_only("train")
        if self._is_twin:
            raise OptionError("a file keeps the weights of its own model, not of one that with_model gives")
        if not is_kept(self.model):
            kept = ", ".join(filter(is_kept, TRAINED))
            raise OptionError(f"{self.model} has no weights that a file keeps", hint=f"choose one of {kept}")
        check_keeps(self.model, self.keep, self.path)
        return file.train()

    # The rest of the file

    def documents(self) -> Iterator[Document]:
        """All documents as the file knows them, in the order in which they were learned."""
        with self._reading() as store:  # the loop may change the classifier meanwhile
            yield from lifecycle.list_documents(store)

    def browse(
        self,
        contains: str | None = None,
        *,
        label: Label | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        change: int | None = None,
        begin: str | None = None,
        limit: int = 50,
    ) -> Page:
        """A page of the documents that fit, those that came last first; the next one begins where this says.

        Parameters
        ----------
        contains : str, optional
            A part of the text; capital or small, and wide or narrow letters are the same.
        label : str, int or bool, optional
        since, before : datetime, optional
            When it was learned first; without a zone, local time.
        change : int, optional
            Only the documents of this transaction: those that it has learned, or changed, with their labels before.
        begin : str, optional
            The place where the page begins: `next` of the page before it.
        limit : int
            The most documents of a page.  There may be fewer, also on a page that is not the last: one page looks at
            130,000 documents.

        Examples
        --------
        >>> import tempfile, os
        >>> from bunrui import create
        >>> with create(os.path.join(tempfile.mkdtemp(), "mail.bunrui")) as clf:
        ...     _ = clf.learn(["Cheap pills", "noon?", "cheap tea"], ["spam", "ham", "spam"])
        ...     page = clf.browse("CHEAP", limit=1)
        ...     print(page.hits[0].document.text, page.next)
        ...     print(clf.browse("CHEAP", begin=page.next).hits[0].document.text)
        cheap tea 1.0
        Cheap pills
        """
        check_whole("limit", limit)
        with self._reading() as store:
            return lifecycle.browse(store, contains, label, since, before, change, begin, limit)

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        """A connection of its own to the file, if that keeps documents: reading may take its time."""
        self._file.store.check_keeps_documents()
        self._file.store.check_place()
        store = Store.open(self.path, read_only=True)
        with closing(store), store.reading():
            yield store

    def labels_of(self, digests: Digests) -> dict[bytes, list[Label]]:
        """The labels of those documents that are learned, by digest, in the order in which they were learned."""
        store = self._file.store
        store.check_keeps_documents()
        with self._file.use():
            names = store.labels()
            return {digest: sorted(names[k] for k in labels) for digest, labels in store.log.labels_of(digests).items()}

    def history(self, *, before: int | None = None, after: int | None = None, limit: int | None = None) -> list[Entry]:
        """Everything that was done, in order; or the changes between two numbers, or the last ones of them.

        Examples
        --------
        >>> import tempfile, os
        >>> from bunrui import create
        >>> with create(os.path.join(tempfile.mkdtemp(), "mail.bunrui")) as clf:
        ...     _ = clf.learn(["cheap pills"], ["spam"]).learn(["noon?"], ["ham"]).learn(["lunch"], ["ham"])
        ...     print([entry.number for entry in clf.history(limit=2)])
        ...     print([entry.number for entry in clf.history(before=2)])
        [2, 3]
        [1]
        """
        with self._file.use():
            return History(self._file.store).entries(before=before, after=after, limit=limit)

    def last_standing(self) -> Entry | None:
        """The last change that was not undone: the one that `undo` would take back."""
        with self._file.use():
            return History(self._file.store).last_standing()

    @property
    def joined(self) -> int:
        """The number of the last change that was joined with those before it: up to it, nothing can be undone."""
        with self._file.use():
            return self._file.store.snapshot()

    def check(self) -> Report:
        """Read everything in the file, and count the documents again where it keeps their texts."""
        return check(self._file)

    def configure(self, **options: Any) -> StoredClassifier:
        """Change how the counts are read, also in the file: model, smoothing, alpha, prior and so on.

        `model="auto"` sets back the options that would leave nothing to choose, unless they are given.  Such an option
        alone names the model that was chosen.
        """
        if "analyzer" in options:
            raise OptionError("another analyzer has other counts: make a new file and learn the documents again")
        check_names(options)
        checked = TextClassifier(**(self._known_beside(options) | complete_options(options)))
        if self.keep == "text" or not self._file.trained(checked.get_params())[0]:
            check_keeps(checked.model, self.keep, self.path)
        has_changed = checked.settings != self.settings
        self._file.configure(checked.settings | ({"choice": None, "pool_weight": None} if has_changed else {}))
        self._classifier.set_params(**checked.get_params())
        self._file.refresh()
        if self._is_twin:  # `refresh` has told the classifier of the file alone
            with self._file.use():
                self._classifier.take_on(*chosen_of(self._file.store))
        self._file.train_when_due()
        return self

    def _known_beside(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that stay where some are changed."""
        known = self.get_params()
        if options.get("model") == AUTO:
            return known | FREE
        was_chosen = self.choice is not None and self.choice.evidence and "model" not in options
        of_formula = {"class_norm", "against_rest"} & options.keys()  # for these somebody has to name a model
        if self.model == AUTO and was_chosen and not of_formula and fixed_by(known | dict(options)):
            return self._classifier.with_model(**options).get_params()
        return known

    def _why_no_sample(self) -> str:
        if self.keep != "text":
            return "the documents are not kept"
        return f"nothing was chosen yet; 'bunrui choose {self.path}' does it"  # learned within some memory

    def choose(self, metric: str | None = None) -> Choice:
        """Choose the model that `model="auto"` stands for anew, by the documents of the file; `undo` takes it back."""
        if self.keep != "text":
            problem = f"{self.path} has no documents to choose by"
            raise StoreError(problem, hint=("learn into a file with ", Option("keep", "text")))
        self._check_auto()
        if self._is_twin:
            raise OptionError("a model is chosen for a file: ask the classifier that `open` gave")
        self._file.choose(metric)
        assert self.choice is not None
        return self.choice

    def set_calibration(self, calibration: Calibration | None) -> None:
        """Take on a calibration, also in the file."""
        if not self._is_twin:
            known = None if calibration is None else calibration.to_dict()
            self._file.configure({"calibration": known}, "calibrate")
        self._classifier.set_calibration(calibration)

    @property
    def last_change(self) -> int:
        """The number of the last transaction of the file."""
        with self._file.use():
            return self._file.store.state().tx

    @property
    def last_seen(self) -> int | None:
        """The number of the last transaction that is in memory: after a change, its own."""
        return None if self._file.state is None else self._file.state.tx

    @property
    def state(self) -> tuple[int, int] | None:
        """Another one after every change that is in memory, also after an undo: a generation, and `last_seen`."""
        return self._file.state

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.store.size()

    def info(self) -> dict[str, Any]:
        """The content of the file: numbers, labels, options, dates, in the types of JSON."""
        store = self._file.store
        with self._file.use():
            history, n_format = History(store), store.format()
            n_changes, changed, counted = store.state().tx, history.changed(), history.with_engine()
            n_changed = 0 if self.calibration is None else self._file.n_changed(self.calibration.tx)
        # Before the lock: both ask for it, and who waits to learn keeps all out, also one that reads and asks again.
        is_trained, choice, pool, kind = self.is_trained, self.model_, self.unlabelled_, self.label_type
        n_trained = self.n_trained
        with self.memory.lock.read():
            counts = self.counts
            labels = {label: n for label, (n, _, _) in counts.class_totals().items()}
            return {
                "documents": counts.n_docs,
                "labels": labels,
                "label_type": None if kind is None else kind.__name__,
                "features": counts.n_features,
                "hashing": hashing_of(self, counts.n_features),
                **self.effective_settings,
                "model": self.model,
                "alpha": self.effective_alpha,
                "choice": None if choice is None else {**choice.to_dict(), "line": choice.describe()},
                "unlabelled": None if pool is None else {**pool.to_dict(), "line": pool.describe()},
                "is_trained": is_trained,
                "trained_documents": n_trained,
                "calibration": None if self.calibration is None else self._calibration_info(n_changed),
                "analyzer": store.analyzer,
                "fingerprint": store.fingerprint,
                "keep": store.keep,
                "pruned": store.pruned,
                "size": store.size(),
                "transactions": n_changes,
                "engines": {
                    entry.number: {name: entry.note[name] for name in ("engine", "workers")} for entry in counted
                },
                "created": store.created,
                "changed": changed or store.created,
                "format": n_format,
            }

    def _calibration_info(self, n_changed: int) -> dict[str, Any]:
        names = ("model", "n_docs", "ece_before", "ece_after", "log_loss_before", "log_loss_after")
        measures = {name: getattr(self.calibration, name) for name in names}
        return measures | {"applies": self.is_calibrated, "changed_since": n_changed}

    def copy(self, path: Path) -> None:
        """Write a copy of the file, also while others change it."""
        with self._file.use():
            self._file.store.copy(os.fspath(path))

    def slim(self, path: Path, *, min_df: int = 1) -> int:
        """Write a copy that keeps nothing but counts, without the words of fewer than `min_df` documents.

        It answers as this classifier does with the option `min_df`.  A copy of a trained model has its weights: it
        answers, and learns no more.  Returns the number of documents that a word had to be in: more than `min_df`
        where this file lacks words itself.
        """
        check_slim(self, min_df)
        with self._file.at_rest():
            with self.memory.lock.read():
                counts = self.counts.pruned(min_df)
            weights = self._file.slim_weights(self._classifier, counts, min_df) if self.needs_documents else None
        return write_slim(os.fspath(path), self, self._file.store.pruned, min_df, counts, weights)

    # As a scikit-learn estimator

    def with_model(self, model: str | None = None, **options: Any) -> StoredClassifier:
        """A classifier that reads the same counts by another model or with other options; the file stays as it is.

        With `auto` and other options than here, it chooses by the documents of the file, which has to be open.
        """
        twin = self._classifier.with_model(model, **options)
        if twin.model == AUTO and twin.choice is None and self._file.has_sample:
            with self._file.at_rest():
                metric = self.choice.metric if self.choice else "accuracy"
                twin.make_choice(metric, self._file.store.state().tx)
        return StoredClassifier(self._file, twin)

    def fit(self, texts: Texts, labels: Labels) -> StoredClassifier:
        """Not for a file: it would forget everything that is in it."""
        raise OptionError(f"fit would forget the documents of {self.path}: use learn, or fit a TextClassifier")

    def set_params(self, **options: Any) -> StoredClassifier:
        """Change options, here and in the file."""
        return self.configure(**options)

    def __sklearn_clone__(self) -> TextClassifier:
        return TextClassifier(**self.get_params())

    def __getstate__(self) -> dict[str, Any]:
        raise OptionError("a classifier in a file is not copied or pickled: open its file again where it is needed")


# They are read here; `configure` and `set_calibration` change them, in the file too.
for _name in (*OPTIONS, "choice", "pool_weight"):
    setattr(StoredClassifier, _name, property(attrgetter(f"_classifier.{_name}")))


def _choice(texts: Texts | None, ids: Sequence[str] | None, digests: Sequence[str] | None) -> Selection:
    """The documents that are given in one of three ways."""
    ways = (lifecycle.by_texts, texts), (lifecycle.by_ids, ids), (lifecycle.by_digests, digests)
    given = [(how, values) for how, values in ways if values is not None]
    if len(given) != 1:
        raise OptionError("say which documents by one of texts, ids and digests")
    how, values = given[0]
    if isinstance(values, str):
        raise OptionError(f"documents are given as a list, not as the string {values!r}: put it into a list")
    return how(values)


def create(path: Path, model: str = AUTO, *, keep: str = "text", **options: Any) -> StoredClassifier:
    """Make a classifier in a new file.

    Parameters
    ----------
    path : path
        The name of the new file.
    model, **options
        As for `TextClassifier`; the analyzer is a name or a spec.
    keep : {"text", "digests", "nothing"}
        The part of the documents that the file keeps besides their counts.  With `text` they can be listed, checked and
        counted anew by another analyzer; with `digests` only documents that were learned can be unlearned; with
        `nothing` the file is smallest.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "mail.bunrui")
    >>> with create(path) as clf:
    ...     clf.learn(["cheap pills now", "meeting at noon"], ["spam", "ham"])
    StoredClassifier('mail.bunrui', 2 documents, 2 classes, 10 features)
    >>> with open(path) as clf:
    ...     print(clf.predict(["pills?"])[0])
    spam
    """
    with creating(path, model, keep=keep, **options):
        pass
    return open(path)


@contextmanager
def creating(path: Path, model: str = AUTO, *, keep: str = "text", **options: Any) -> Iterator[StoredClassifier]:
    """A new classifier that appears under its name when the block ends without an error, with all that it learned."""
    with creating_store(path, model, keep, options) as store, StoredClassifier.of(store) as classifier:
        yield classifier


def open(path: Path, *, read_only: bool = False) -> StoredClassifier:
    """Open the classifier in a file.

    Raises
    ------
    StoreError
        If there is none, or it cannot be read.
    """
    return open_with(path, lambda store: StoredClassifier.of(store, read_only=read_only), read_only=read_only)
