"""The classifier behind a service: many threads read it, one writes it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable
from typing import Any

from bunrui import store
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.engines.batches import texts_of
from bunrui.errors import BunruiError
from bunrui.models import MODELS
from bunrui.service import schemas
from bunrui.service.logs import event
from bunrui.service.problems import Problem, problem_of
from bunrui.store import StoredClassifier

__all__ = ["Served", "version"]

# More than a process handles before it loads the compiled kernels: `bunrui.kernel.compile.PLAIN_BUDGET`.
_WARM_BYTES = 300_000
_QUICK = 0.005
_WARM_TEXTS = ("a word, another one", "分類は言葉を数える。", "분류는 낱말을 세는 일이다", "👍 :-) http://example.org")


class Served:
    """One classifier.

    Attributes
    ----------
    classifier : StoredClassifier
    is_warm : bool
        Whether the kernels are loaded: before, an answer could take a minute.
    trouble : str or None
        Why the file cannot be read; answers come from the memory then.
    """

    def __init__(self, classifier: StoredClassifier) -> None:
        self.classifier = classifier
        self.is_warm = False
        self.trouble: str | None = None
        self._models: dict[str, StoredClassifier] = {}
        self._answered: dict[int, tuple[tuple[int, int], float]] = {}

    def warm_up(self) -> None:
        """Load the compiled kernels, or compile them the first time: all that learning and predicting need."""
        # A classifier of its own: this one may have learned nothing yet, and must not learn this.
        clf = TextClassifier(**self.classifier.get_params())
        texts = [text * (_WARM_BYTES // len(_WARM_TEXTS) // len(text.encode())) for text in _WARM_TEXTS]
        labels = ["a", "b", "c", "d"]
        clf.learn(texts, labels).unlearn(texts[:1], labels[:1])
        clf.learn(texts[:1], labels[:1])
        clf.predict([text[:1000] for text in texts])  # from the weights of some words
        clf.predict(texts)  # from a table of all
        clf.explain(_WARM_TEXTS[0])
        clf.words("a")
        # What is loaded now stays.  To look through its 165,000 objects for garbage keeps all threads waiting for
        # 0.1 s, and an explanation of a long text makes Python look several times.
        gc.collect()
        gc.freeze()
        self.is_warm = True

    # Reading

    def reading(self, model: str | None) -> StoredClassifier:
        """The classifier as a model reads it."""
        if model is None or model == self.classifier.model:
            return self.classifier
        if model not in MODELS:
            raise Problem(
                "invalid", f"there is no model {model!r} to read counts by: choose one of {', '.join(MODELS)}"
            )
        if model not in self._models:
            self._models[model] = self.classifier.with_model(model)
        return self._models[model]

    def is_at_hand(self, classifier: AnyClassifier) -> bool:
        """Whether the next answer to a short question is quick.

        It is, unless somebody is writing, or something was learned since the last answer by a model that then has to
        look at all words: `wcnb` and `bernoulli` take 50 ms for a million of them, the others less than 1.  Only a
        hint: who believes it wrongly waits a little.
        """
        known = self._answered.get(id(classifier))
        if classifier.memory.lock.is_wanted_to_write or known is None:
            return False
        return known[0] == version(classifier) or known[1] < _QUICK

    def has_answered(self, classifier: AnyClassifier, version: tuple[int, int], seconds: float) -> None:
        """A short question was answered from this version, in so much time of the processor."""
        known = self._answered.get(id(classifier))
        if known is None or known[0] != version:  # else what takes the time had been done before
            self._answered[id(classifier)] = version, seconds

    def labels(self) -> dict[str, int]:
        """Documents by label, sorted."""
        with self.classifier.memory.lock.read():
            return {label: n_docs for label, (n_docs, _, _) in self.classifier.counts.class_totals().items()}

    # On the one thread that writes

    def refresh(self) -> None:
        """Take in what other processes wrote."""
        try:
            self._follow()
            self._catch_up()
            self.trouble = None
        except (Problem, BunruiError, OSError) as error:
            self.trouble = problem_of(error, self.classifier.path).detail
            raise

    def _catch_up(self) -> None:
        if self.classifier.refresh():
            self._forget_models()

    def _follow(self) -> None:
        """Go on with the file that has the name now, if it is another one."""
        old = self.classifier
        if old.is_in_place:
            return
        name = os.path.basename(old.path)
        if not os.path.exists(old.path):
            raise Problem("not-ready", f"{name} was moved away: put it back, or another classifier in its place")
        self.classifier = store.open(old.path, read_only=old.is_read_only)
        self._forget_models()
        old.close()
        event("the file was replaced", file=old.path, documents=self.classifier.counts.n_docs)

    def _forget_models(self) -> None:
        self._models = {}
        self._answered = {}

    def learn(self, body: schemas.Learn) -> dict[str, Any]:
        """Learn documents; they are in the file when this returns."""
        self._follow()
        with self.classifier.learning() as session:
            session.add(body.texts, body.labels, ids=body.ids)
        return self._changed(session.n_docs) | {"duplicates": session.n_duplicates}

    def learn_batches(self, batches: Iterable[Any], is_done: Callable[[int], None]) -> dict[str, Any]:
        """Learn batches of documents as `bunrui.documents.read` gives them; `is_done` is told how many are."""
        self._follow()
        with self.classifier.learning() as session:
            for batch in batches:
                session.add(texts_of(batch), batch["label"], ids=batch["id"], sources=batch["source"])
                is_done(batch.num_rows)
        return self._changed(session.n_docs) | {"duplicates": session.n_duplicates}

    def unlearn(self, body: schemas.Unlearn) -> dict[str, Any]:
        """Take documents back."""
        self._follow()
        if body.texts is not None:
            self.classifier.unlearn(body.texts, body.labels)
            return self._changed(len(body.texts))
        self._catch_up()
        before = self.classifier.counts.n_docs
        self.classifier.unlearn(ids=body.ids, digests=body.digests)
        return self._changed(before - self.classifier.counts.n_docs)

    def relabel(self, body: schemas.Relabel) -> dict[str, Any]:
        """Give documents other labels."""
        self._follow()
        n_docs = self.classifier.relabel(body.to, texts=body.texts, ids=body.ids, digests=body.digests)
        return self._changed(n_docs)

    def undo(self, body: schemas.Undo) -> dict[str, Any]:
        """Take the last change back, if it is the one that is meant."""
        self._follow()
        if body.transaction is not None:
            self._check_last(body.transaction)
        kind, n_docs = self.classifier.undo()
        self._forget_models()  # it may have been a change of the options
        return {"undone": kind, "changed": n_docs, "documents": self.classifier.counts.n_docs}

    def _check_last(self, transaction: int) -> None:
        last = self.classifier.last_standing()
        if last is None or last.number != transaction:
            raise Problem("changed-since", f"transaction {transaction} is not the last change: /v1/log lists them")

    def _changed(self, n_docs: int) -> dict[str, Any]:
        return {
            "transaction": self.classifier.last_seen if n_docs else None,
            "changed": n_docs,
            "documents": self.classifier.counts.n_docs,
        }


def version(classifier: AnyClassifier) -> tuple[int, int]:
    """Changes whenever something is learned."""
    counts = classifier.counts
    return id(counts), counts.version
