"""`StoredClassifier`: a classifier that lives in one file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from typing import Any

from bunrui.classifier import Labels, TextClassifier, Texts
from bunrui.counts import Counts
from bunrui.errors import BunruiError, DuplicateError, MismatchError, MissingExtraError, OptionError, StoreError
from bunrui.kernel.workspace import release
from bunrui.store import (
    FORMAT,
    KEEPS,
    Entry,
    State,
    Store,
    Transaction,
    apply,
    compact,
    document_digests,
    key_words,
    wipe,
)
from bunrui.stored import lifecycle
from bunrui.stored.checking import Report, check
from bunrui.stored.documents import (
    Choice,
    Document,
    both,
    by_digests,
    by_ids,
    by_source,
    by_texts,
    by_time,
    listed,
)
from bunrui.stored.duplicates import Seen
from bunrui.stored.options import new_store, options_of, settings_of
from bunrui.stored.sessions import Learning, Unlearning, copied

__all__ = ["StoredClassifier"]

Path = str | os.PathLike[str]


class _File:
    """The file behind a classifier, shared by the models that read it."""

    def __init__(self, store: Store, state: State, read_only: bool) -> None:
        self.store = store
        self.state: State | None = state  # what the memory knows; None when it must be read again
        self.read_only = read_only
        self.lock = threading.RLock()
        self.seen: tuple[State, Seen] | None = None


class StoredClassifier(TextClassifier):
    """A `TextClassifier` that lives in one SQLite file; made by `create` and `open`.

    Everything that it learns is in the file when the call returns.  Several processes may read a file while one writes.
    """

    def __init__(self, store: Store, *, read_only: bool = False) -> None:
        options = options_of(store)
        try:
            super().__init__(**options)
        except (BunruiError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, MissingExtraError):
                raise
            raise store.unpacker().damaged(f"its options make no sense ({error})") from error
        if self.counts.fingerprint != store.fingerprint:
            raise MismatchError(
                f"{store.path} was made where the analyzer gave other features (another version of bunrui, of its "
                "dictionary or of Python's Unicode tables): open it there, or learn the documents again here"
            )
        self._memory.counts, state = store.load()
        self._file = _File(store, state, read_only)

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

    def close(self) -> None:
        """Let go of the file; what is in memory stays readable."""
        with self._file.lock:
            self._file.store.close()

    def __enter__(self) -> StoredClassifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> bool:
        """Take in what other processes have learned since; whether there was any."""
        with self._file.lock:
            return self._catch_up()

    def _catch_up(self) -> bool:
        """Read what the memory does not know yet; whether there was any."""
        file = self._file
        before, file.state = file.state, None  # until all of it is in
        news = file.store.news(before) if before is not None else None
        if news is None:
            counts, file.state = file.store.load()
            with self._memory.lock.write():
                counts.version = self.counts.version + 1
                self._memory.counts = counts
            return True
        deltas, state = news
        self._take_in(deltas)
        file.state = state
        return state != before

    def _take_in(self, deltas: list[tuple[int, Counts]]) -> None:
        with self._memory.lock.write():
            for sign, delta in deltas:
                if sign > 0 and not self.counts.labels:
                    delta.version = self.counts.version + 1
                    self._memory.counts = delta
                    continue
                apply(self.counts, sign, delta, self._file.store.unpacker())
                release(delta.vocabulary)

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
        with self._writing("unlearn") as transaction:
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
    ) -> StoredClassifier:
        """Give documents that were learned another label, or other labels; a text that was learned twice, both times.

        They are given by their texts, ids or digests; by texts also where the file keeps digests only.
        """
        choice, check_all = _choice(texts, ids, digests)
        known = None
        if texts is not None and self.keep != "text":
            known = {digest.tobytes(): text for digest, text in zip(document_digests(texts), texts, strict=True)}
        names = [labels] if isinstance(labels, str) else list(labels)
        lifecycle.check_labels(names)
        with self._writing("relabel", labels=names) as transaction:
            lifecycle.change(self, transaction, choice, lambda _: names, known)
            check_all()
        return self

    def forget(self, *, before: datetime | None = None, source: str | None = None) -> int:
        """Unlearn the documents that were learned before a time, or came from a source; how many there were."""
        choices = []
        if before is not None:
            choices.append(by_time(self._file.store, before))
        if source is not None:
            choices.append(by_source(source))
        if not choices:
            raise OptionError("forget needs before=, source=, or both")
        note = {"before": before.isoformat() if before else None, "source": source}
        with self._writing("forget", **note) as transaction:
            lifecycle.change(self, transaction, both(*choices), lambda _: [])
        return transaction.n_docs

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
    def learning(self, *, unique: bool = False) -> Iterator[Learning]:
        """Learn batch by batch in one transaction: all of it is kept when the block ends, nothing when it raises.

        with clf.learning() as session:
            for texts, labels in batches:
                session.add(texts, labels)
        """
        with self._writing("learn") as transaction:
            session = Learning(self, self._file.store, transaction, self._seen("learn" if unique else None), unique)
            yield session
            session.finish()
        if session.seen is not None and self._file.state is not None:
            self._file.seen = self._file.state, session.seen

    @contextmanager
    def unlearning(self) -> Iterator[Unlearning]:
        """Unlearn batch by batch in one transaction, as `learning` learns."""
        with self._writing("unlearn") as transaction:
            session = Unlearning(self, self._file.store, transaction)
            yield session
            session.finish()

    @contextmanager
    def _writing(self, kind: str, **note: Any) -> Iterator[Transaction]:
        """A transaction of the file; what it says of the counts goes into the memory when it is written."""
        file = self._file
        self._check_writable(kind)
        with file.lock:
            with file.store.writing():
                self._catch_up()
                before = file.state
                transaction = file.store.transaction(kind, **note)
                if file.store.is_crowded():
                    transaction.snapshot(self.counts, transaction.number - 1)
                yield transaction
                transaction.finish()
            # From here on the file has it.  If the memory fails to follow, it is read again.
            file.state = None
            self._take_in(transaction.changes)
            assert before is not None
            file.state = State(before.generation, transaction.number)

    @contextmanager
    def _rewriting(self, kind: str, **note: Any) -> Iterator[Transaction]:
        """A transaction that changes more than counts: all is read again afterwards."""
        with self._file.lock:
            with self._writing(kind, **note) as transaction:
                yield transaction
            self._file.state = None
            self._catch_up()

    def _check_read_only(self, verb: str) -> None:
        if self._file.read_only:
            raise StoreError(f"{self.path} was opened for reading only: open it with read_only=False to {verb}")

    def _check_writable(self, verb: str) -> None:
        self._check_read_only(verb)
        if self._file.store.pruned > 1:
            raise StoreError(
                f"{self.path} lacks the words of fewer than {self._file.store.pruned} documents, so that it cannot "
                f"{verb} exactly: do that in the file it was made from"
            )

    def _seen(self, strict: str | None) -> Seen | None:
        """The texts that were learned, None where the file does not know; call while writing."""
        file = self._file
        if self.keep == "nothing":
            if strict:
                raise StoreError(
                    f"{self.path} keeps nothing of its documents, so that it cannot {strict} each text once"
                )
            return None
        if file.seen is None or file.seen[0] != file.state:
            return Seen(file.store.log.keys())
        return file.seen[1].copy()

    def merge(self, *others: TextClassifier, unique: bool = False) -> StoredClassifier:
        """Add what other classifiers with the same analyzer have learned, and what their files keep, all or none.

        One in memory knows nothing of its documents: it merges into a file with `keep="nothing"`.  With `unique`, files
        that have learned the same text are refused.
        """
        with ExitStack() as stack:
            for other in others:
                self._check_mergeable(other)
                if isinstance(other, StoredClassifier):
                    stack.enter_context(other._file.lock)
                    stack.enter_context(other._file.store.reading())
                    other._catch_up()
            with self._writing("merge") as transaction:
                seen = self._seen("merge" if unique else None)
                n_duplicates = sum(self._add_all(other, transaction, seen) for other in others)
                if unique and n_duplicates:
                    raise DuplicateError(f"{n_duplicates:,} texts are in several of the files, or twice in one")
                if n_duplicates:
                    transaction.note["duplicates"] = n_duplicates
        return self

    def _check_mergeable(self, other: TextClassifier) -> None:
        other._check_strings()
        if self.counts.fingerprint != other.counts.fingerprint:
            name = other.path if isinstance(other, StoredClassifier) else "the other classifier"
            raise MismatchError(
                f"{name} was made with another analyzer ({other._analyzer.describe()}) than {self.path} "
                f"({self._analyzer.describe()}): learn the documents again with one of the two"
            )
        if not isinstance(other, StoredClassifier):
            if self.keep != "nothing":
                raise OptionError(
                    f"{self.path} keeps {self.keep} of every document, which a classifier in memory has not: "
                    "merge it into a file with keep='nothing'"
                )
            return
        if os.path.samefile(self.path, other.path):
            raise OptionError(f"{other.path} cannot be merged with itself: name other files")
        if other._file.store.pruned > 1:
            raise StoreError(f"{other.path} lacks rare words: merge the file it was made from")
        if KEEPS.index(other.keep) < KEEPS.index(self.keep):
            raise OptionError(
                f"{self.path} keeps {self.keep} of every document, but {other.path} keeps {other.keep}: "
                f"merge both into a new file that keeps {other.keep}"
            )

    def _add_all(self, other: TextClassifier, transaction: Transaction, seen: Seen | None) -> int:
        """Add what another classifier knows; how many of its texts were there."""
        n_duplicates = 0
        if isinstance(other, StoredClassifier) and seen is not None:
            source = other._file.store
            label_ids = transaction.label_ids(source.labels()).tolist()
            for _, block in source.log.blocks():
                n_duplicates += int(seen.add(key_words(block.digests)).sum())
                transaction.log(copied(block, transaction.number, label_ids, self.keep))
        with other._memory.lock.read():
            theirs = other.counts.copy()
        transaction.changes.append((1, theirs))
        transaction.n_docs += theirs.n_docs
        return n_duplicates

    def undo(self) -> tuple[str, int]:
        """Take the last transaction back: its kind, and its number of documents."""
        file = self._file
        self._check_writable("undo")
        with file.lock:
            with file.store.writing():
                self._catch_up()
                kind, n_docs, deltas = file.store.undo()
                state = file.store.state()
            file.state = None
            if kind == "rename":
                self._catch_up()
            self._take_in([(-sign, delta) for sign, delta in reversed(deltas)])
            file.state = state
        return kind, n_docs

    def compact(self) -> None:
        """Make the file as small as it can be, and wipe out what was unlearned.

        Afterwards neither the text of an unlearned document nor the words that only it had are found in any byte of the
        file; what was done before cannot be undone.
        """
        file = self._file
        self._check_read_only("compact")
        with file.lock:
            with file.store.writing():
                self._catch_up()
                compact(file.store, self.counts)
            file.state = None
            self._catch_up()
            wipe(file.store)

    # The rest of the file

    def documents(self) -> Iterator[Document]:
        """What the file knows of every document, in the order in which they were learned."""
        if self.keep == "nothing":
            raise StoreError(f"{self.path} keeps nothing of its documents: learn them into a file with keep='text'")
        with self._file.lock, self._file.store.reading():
            yield from listed(self._file.store)

    def history(self) -> list[Entry]:
        """Everything that was done, in order."""
        with self._file.lock:
            return self._file.store.transactions()

    def check(self) -> Report:
        """Read everything in the file, and count the documents again where it keeps their texts."""
        return check(self)

    def configure(self, **options: Any) -> StoredClassifier:
        """Change how the counts are read, also in the file: model, smoothing, alpha, prior and so on."""
        if "analyzer" in options:
            raise OptionError("another analyzer has other counts: make a new file and learn the documents again")
        self._check_read_only("configure")
        checked = TextClassifier(**(self.get_params() | options))
        with self._file.lock:
            self._file.store.save_settings(settings_of(checked))
        super().set_params(**options)
        return self

    def info(self) -> dict[str, Any]:
        """What is in the file, for people and as JSON."""
        store = self._file.store
        history = self.history()
        with self._memory.lock.read():
            counts = self.counts
            labels = {label: n for label, (n, _, _) in counts.class_totals().items()}
            return {
                "documents": counts.n_docs,
                "labels": labels,
                "features": counts.n_features,
                **settings_of(self),
                "alpha": self._alpha(),
                "analyzer": store.analyzer,
                "fingerprint": store.fingerprint,
                "keep": store.keep,
                "pruned": store.pruned,
                "size": store.size(),
                "transactions": len(history),
                "created": store.created,
                "changed": max((entry.undone or entry.time for entry in history), default=store.created),
                "format": FORMAT,
            }

    def _alpha(self) -> Any:
        """α as it is, or what the default comes to; None for a smoothing that has none."""
        if self.alpha is not None or self.smoothing == "mle":
            return self.alpha
        return self._smoothing.value + (self.smoothing == "map")

    def slim(self, path: Path, *, min_df: int = 1) -> None:
        """Write a copy that keeps nothing but counts, without the words of fewer than `min_df` documents.

        It answers as this classifier does with the option `min_df`.
        """
        if isinstance(min_df, bool) or not isinstance(min_df, int) or min_df < 1:
            raise OptionError(f"min_df should be a whole number above 0, not {min_df!r}")
        with self._memory.lock.read():
            counts = self.counts.pruned(min_df)
        store = new_store(os.fspath(path), self, "nothing", max(min_df, self._file.store.pruned))
        with closing(store), store.writing():
            transaction = store.transaction("slim", source=os.path.basename(self.path))
            transaction.snapshot(counts, transaction.number)
            transaction.n_docs = counts.n_docs
            transaction.finish()

    # As a scikit-learn estimator

    def with_model(self, model: str | None = None, **options: Any) -> StoredClassifier:
        """A classifier that reads the same counts by another model or with other options; the file stays as it is."""
        other = StoredClassifier.__new__(StoredClassifier)
        other.__dict__.update(super().with_model(model, **options).__dict__)
        other._file = self._file
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
