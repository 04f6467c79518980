"""`StoredClassifier`: a classifier that lives in one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any

from bunrui.calibration import Calibration
from bunrui.classifier import TextClassifier, changes
from bunrui.errors import Option, OptionError, Step, StoreError
from bunrui.learner import Labels, Learner, Texts
from bunrui.prediction import Reader
from bunrui.store import FORMAT, Entry, History, Store, Transaction, document_digests
from bunrui.stored import lifecycle
from bunrui.stored.checking import Report, check
from bunrui.stored.documents import Choice, Document, both, by_digests, by_ids, by_source, by_texts, by_time, listed
from bunrui.stored.file import File
from bunrui.stored.merging import merge
from bunrui.stored.options import (
    alpha_of,
    calibration_of,
    check_fingerprint,
    checked_options,
    hashing_of,
    options_of,
    settings_of,
    summary_of,
)
from bunrui.stored.sessions import Learning, Sum, Unlearning
from bunrui.stored.slimming import check_slim, write_slim
from bunrui.stored.training import LogSource, check_keeps

__all__ = ["StoredClassifier"]

Path = str | os.PathLike[str]


class StoredClassifier(TextClassifier):
    """A `TextClassifier` that lives in one SQLite file; made by `create` and `open`.

    Everything that it learns is in the file when the call returns.  Several processes may read a file while one writes.
    """

    _keeps_in_memory = False  # the file does

    def __init__(self, store: Store, *, read_only: bool = False) -> None:
        with checked_options(store) as options:
            super().__init__(**options)
        check_fingerprint(store, self.counts.fingerprint)
        self.calibration = calibration_of(store)
        self._file = File(store, self._memory, read_only=read_only)
        self._is_twin = False

    def __repr__(self) -> str:
        inner = super().__repr__().removeprefix("TextClassifier(")
        return f"StoredClassifier({os.path.basename(self.path)!r}, {inner}"

    @property
    def path(self) -> str:
        """The file."""
        return self._file.store.path

    @property
    def keep(self) -> str:
        """What the file keeps of documents: text, digests or nothing."""
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
        """Let go of the file; what is in memory stays readable.  What `with_model` gave closes with this."""
        if not self._is_twin:
            with self._file.lock:
                self._file.store.close()

    def __enter__(self) -> StoredClassifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> bool:
        """Take in what other processes have learned and set since; whether there was any."""
        is_new = self._file.catch_up()
        if self._is_twin:
            return is_new
        options, calibration = options_of(self._file.store), calibration_of(self._file.store)
        if options != self.get_params():
            super().set_params(**options)
            self._check_options()
            is_new = True
        if calibration != self.calibration:
            self.calibration = calibration
            is_new = True
        return is_new

    def _current_reader(self) -> Reader:
        if self._file.is_torn:
            raise StoreError(f"what is in memory is not what {self.path} has", hint=(Step("reopen"),))
        return super()._current_reader()

    def _train(self) -> None:
        check_keeps(self.model, self.keep, self.path)
        if self._is_trained():
            return
        with self._file.at_rest():
            self._train_from(LogSource(self._file.store, self.counts))

    # Learning

    def learn(
        self,
        texts: Texts,
        labels: Labels,
        *,
        ids: Sequence[str | None] | None = None,
        sources: Sequence[str | None] | None = None,
        unique: bool = False,
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
        choice, check_all = _choice(None, ids, digests)
        self._need_log()
        with self._file.writing("unlearn") as transaction:
            lifecycle.change(self, transaction, choice, lambda _: [])
            check_all()
        return self

    def relabel(
        self,
        labels: str | Sequence[str],
        *,
        texts: Texts | None = None,
        ids: Sequence[str] | None = None,
        digests: Sequence[str] | None = None,
    ) -> int:
        """Give documents that were learned another label, or other labels; how many have changed.

        They are given by their texts, ids or digests; by texts also where the file keeps digests only.  A text that was
        learned twice changes both times.

        Several labels of a document are replaced by a list such as `["ham"]`; a string raises `LabelSetError` then:
        who gives one label may not know that there are others to lose.
        """
        if texts is not None and hasattr(texts, "to_pylist"):
            texts = texts.to_pylist()
        choice, check_all = _choice(texts, ids, digests)
        known = None
        if texts is not None and self.keep != "text":
            known = {digest.tobytes(): text for digest, text in zip(document_digests(texts), texts, strict=True)}
        self._need_log()
        names = [labels] if isinstance(labels, (str, int)) else list(labels)
        lifecycle.check_labels(names)
        new_labels = lifecycle.one_for_one(labels) if isinstance(labels, str) else lambda _: names
        with self._file.writing("relabel", labels=names) as transaction:
            lifecycle.change(self, transaction, choice, new_labels, known)
            check_all()
        return transaction.n_docs

    def relabel_each(self, changes: Iterable[tuple[str, Sequence[str], Sequence[str]]]) -> int:
        """Give documents other labels, each its own, all or none; how many have changed.

        A change is the digest of a document, the labels that it has, and those that it gets.
        """
        self._need_log()
        return lifecycle.relabel_each(self, changes)

    def forget(self, *, before: datetime | None = None, source: str | None = None) -> int:
        """Unlearn the documents that were learned before a time, or came from a source; how many there were."""
        choices = []
        if before is not None:
            choices.append(by_time(before))
        if source is not None:
            choices.append(by_source(source))
        if not choices:
            raise OptionError(("forget needs ", Option("before", ...), ", ", Option("source", ...), ", or both"))
        note = {"before": before.isoformat() if before else None, "source": source}
        self._need_log()
        with self._file.writing("forget", **note) as transaction:
            lifecycle.change(self, transaction, both(*choices), lambda _: [])
        return transaction.n_docs

    def _need_log(self) -> None:
        if self.keep == "nothing":
            raise StoreError(
                f"{self.path} keeps nothing of its documents, so that it cannot tell them apart: unlearn them by their "
                "texts and labels, or learn into a file that keeps texts"
            )

    def rename_label(self, label: str, name: str) -> int:
        """Give a label another name; how many documents have it."""
        return lifecycle.rename_label(self, label, name)

    def drop_label(self, label: str) -> int:
        """Take a label from all documents, and unlearn those that have no other; how many had it."""
        return lifecycle.drop_label(self, label)

    def move_label(self, label: str, to: str) -> int:
        """Give all documents of a label another one in its place; how many had it."""
        return lifecycle.move_label(self, label, to)

    @contextmanager
    def learning(self, *, unique: bool = False, note: Mapping[str, Any] | None = None) -> Iterator[Learning]:
        """Learn batch by batch in one transaction: all of it is kept when the block ends, nothing when it raises.

        with clf.learning() as session:
            for texts, labels in batches:
                session.add(texts, labels)

        `note` is what the log is to say of it besides.
        """
        file = self._file
        with file.writing("learn", **(note or {})) as transaction:
            session = Learning(file.store, transaction, Sum(self), file.seen(needed=unique), unique)
            yield session
            session.finish()

    @contextmanager
    def unlearning(self) -> Iterator[Unlearning]:
        """Unlearn batch by batch in one transaction, as `learning` learns."""
        with self._file.writing("unlearn") as transaction:
            session = Unlearning(self, self._file.store, transaction)
            yield session
            session.finish()

    def merge(self, *others: Learner, unique: bool = False) -> StoredClassifier:
        """Add what other classifiers with the same analyzer have learned, and what their files keep, all or none.

        One in memory knows nothing of its documents: it merges into a file with `keep="nothing"`.  With `unique`, files
        that have learned the same text are refused.
        """
        merge(self, others, unique=unique)
        return self

    def undo(self) -> tuple[str, int]:
        """Take the last transaction back: its kind, and its number of documents.

        As long as the file has it apart from the others: `compact` joins all, and many changes are joined on the way.
        """
        kind, n_docs = self._file.undo()
        if kind in ("set", "calibrate"):
            self.refresh()
        return kind, n_docs

    def compact(self) -> None:
        """Make the file as small as it can be, and wipe out what was unlearned.

        Afterwards neither the text of an unlearned document nor the words that only it had are found in any byte of the
        file; what was done before cannot be undone.
        """
        self._file.compact()

    # The rest of the file

    def documents(self) -> Iterator[Document]:
        """What the file knows of every document, in the order in which they were learned."""
        if self.keep == "nothing":
            raise StoreError(
                f"{self.path} keeps nothing of its documents",
                hint=("learn them into a file with ", Option("keep", "text")),
            )
        # A connection of its own: the loop may take its time, and change the classifier meanwhile.
        self._file.store.check_place()
        store = Store.open(self.path, read_only=True)
        with closing(store), store.reading():
            yield from listed(store)

    def history(self, *, before: int | None = None, after: int | None = None, limit: int | None = None) -> list[Entry]:
        """Everything that was done, in order; or the changes between two numbers, or the last ones of them.

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

    def check(self) -> Report:
        """Read everything in the file, and count the documents again where it keeps their texts."""
        return check(self)

    def configure(self, **options: Any) -> StoredClassifier:
        """Change how the counts are read, also in the file: model, smoothing, alpha, prior and so on."""
        if "analyzer" in options:
            raise OptionError("another analyzer has other counts: make a new file and learn the documents again")
        known = self.get_params()
        for name in options:
            if name not in known:
                raise OptionError(option="option", value=name, choices=known)
        checked = TextClassifier(**(known | changes(options)))
        check_keeps(checked.model, self.keep, self.path)
        self._file.configure(settings_of(checked))
        super().set_params(**checked.get_params())
        return self

    def set_calibration(self, calibration: Calibration | None) -> None:
        """Take on a calibration, also in the file."""
        if not self._is_twin:
            known = None if calibration is None else calibration.to_dict()
            self._file.configure({"calibration": known}, "calibrate")
        super().set_calibration(calibration)

    @property
    def last_change(self) -> int:
        """The number of the last transaction of the file."""
        with self._file.use():
            return self._file.store.state().tx

    def info(self) -> dict[str, Any]:
        """What is in the file, for people and as JSON."""
        store = self._file.store
        with self._file.use():
            history = History(store)
            n_changes, changed, counted = store.state().tx, history.changed(), history.with_engine()
            n_changed = 0 if self.calibration is None else self._file.n_changed(self.calibration.tx)
        with self._memory.lock.read():
            counts = self.counts
            labels = {label: n for label, (n, _, _) in counts.class_totals().items()}
            return {
                "documents": counts.n_docs,
                "labels": labels,
                "features": counts.n_features,
                "hashing": hashing_of(self, counts.n_features),
                **settings_of(self),
                "alpha": alpha_of(self),
                "calibration": None if self.calibration is None else summary_of(self, self.calibration, n_changed),
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
                "format": FORMAT,
            }

    def copy(self, path: Path) -> None:
        """Write a copy of the file, also while others change it."""
        with self._file.use():
            self._file.store.copy(os.fspath(path))

    def slim(self, path: Path, *, min_df: int = 1) -> None:
        """Write a copy that keeps nothing but counts, without the words of fewer than `min_df` documents.

        It answers as this classifier does with the option `min_df`.
        """
        check_slim(self, min_df)
        self._file.catch_up()
        with self._memory.lock.read():
            counts = self.counts.pruned(min_df)

        def fill(transaction: Transaction) -> int:
            transaction.snapshot(counts, transaction.number)
            return counts.n_docs

        write_slim(os.fspath(path), self, self._file.store.pruned, min_df, fill)

    # As a scikit-learn estimator

    def with_model(self, model: str | None = None, **options: Any) -> StoredClassifier:
        """A classifier that reads the same counts by another model or with other options; the file stays as it is."""
        other = StoredClassifier.__new__(StoredClassifier)
        other.__dict__.update(super().with_model(model, **options).__dict__)
        other._file, other._is_twin = self._file, True
        return other

    def fit(self, texts: Texts, labels: Labels) -> StoredClassifier:
        """Not for a file: it would forget everything that is in it."""
        raise OptionError(f"fit would forget what {self.path} has learned: use learn, or fit a TextClassifier")

    def set_params(self, **options: Any) -> StoredClassifier:
        """Change options, here and in the file."""
        return self.configure(**options)

    def __sklearn_clone__(self) -> TextClassifier:
        return TextClassifier(**self.get_params())

    def __getstate__(self) -> dict[str, Any]:
        raise OptionError("a classifier in a file is not copied or pickled: open its file again where it is needed")


def _choice(
    texts: Texts | None, ids: Sequence[str] | None, digests: Sequence[str] | None
) -> tuple[Choice, Callable[[], None]]:
    """Which documents, and a check that all of them were found."""
    given = [
        (how, values) for how, values in ((by_texts, texts), (by_ids, ids), (by_digests, digests)) if values is not None
    ]
    if len(given) != 1:
        raise OptionError("say which documents by one of texts, ids and digests")
    how, values = given[0]
    if isinstance(values, str):
        raise OptionError(f"documents are given as a list, not as the string {values!r}: put it into a list")
    return how(values)
