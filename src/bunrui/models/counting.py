"""`CountingModel`: the answers of a model that counts determine; its weights are made when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bunrui.analysis import Analyzer
from bunrui.analysis.analyzer import distinct, documents_of
from bunrui.counts import Counts, Label
from bunrui.errors import OptionError
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.memory import Memory
from bunrui.models.kinds import MODELS, VARIANTS, Counting, scorer_of_nothing
from bunrui.models.linear import Reader, log_sum_exp
from bunrui.models.model import Best, Options, WordQuestion
from bunrui.models.rest import log_label_prior
from bunrui.models.scorer import Docs, Scorer, Smoothing, log_prior
from bunrui.models.view import CountView, select
from bunrui.sparse import Floats

if TYPE_CHECKING:
    from bunrui.models.explain import Word
    from bunrui.models.loo import CountedCorpus
    from bunrui.views.explanation import Explanation

T = TypeVar("T")


@dataclass(eq=False, repr=False)
class CountingModel:
    """One formula with its options, read from the counts as they are now.

    With `by_label`, every label has a prior of its own, and they need not add up to 1.
    """

    kind: Counting
    options: Options
    smoothing: Smoothing
    analyzer: Analyzer
    memory: Memory
    by_label: bool = False
    _reader: Reader | None = field(default=None, init=False)

    @property
    def _smooths_unseen(self) -> bool:
        return bool(self.options["unseen"] == "smooth")

    def reader(self) -> Reader:
        """The reader of the counts as they are now; call with the lock of the memory held."""
        counts = self.memory.readable_counts()
        reader = self._reader
        if reader is not None and reader.view.counts is counts and reader.version == counts.version:
            return reader
        view = select(counts, self.options["min_df"], self.options["max_features"])
        scorer = self._scorer(view, self._log_prior(counts))
        self._reader = Reader(view, scorer, smooth_unseen=self._smooths_unseen)
        return self._reader

    @property
    def _variants(self) -> dict[str, bool]:
        return {name: bool(self.options[name]) for name in VARIANTS}

    def _scorer(self, view: CountView, prior: Floats) -> Scorer:
        return self.kind.scorer(view, self.smoothing, prior, **self._variants)

    def scorer_of(self, view: CountView, docs: Docs, smoothing: Smoothing) -> Scorer:
        """The formula of counts that are not in the memory, with a smoothing of their own."""
        return replace(self, smoothing=smoothing)._scorer(view, self._log_prior(docs))

    def _log_prior(self, counts: Counts | Docs) -> Floats:
        """log P(c) by class id; of documents by class in many ways, (n_ways, n_classes), for each of them."""
        given = self.options["prior"]
        if self.by_label:
            return log_label_prior(counts, given)
        # One that is given is read all the same, for its mistakes.
        if not self.kind.has_prior and (counts.doc_count.ndim == 2 or not isinstance(given, Mapping)):
            return np.zeros(counts.doc_count.shape)
        if counts.doc_count.ndim == 2 and given != "empirical":
            rows = (Docs(counts.labels, row, counts.n_docs) for row in counts.doc_count)
            return np.stack([self._log_prior(row) for row in rows])
        prior = log_prior(counts, given)
        if self.options["against_rest"] and isinstance(given, Mapping):
            # Shares of any size will do, but for odds.
            prior -= log_sum_exp(prior[counts.doc_count > 0][None])[0, 0]
        return prior

    def _read(self, texts: Any, ask: Callable[[Reader, Documents, Recipe], T]) -> tuple[Reader, T]:
        """The answer for all documents, and the reader that gave it."""
        if self._smooths_unseen and self.scorer_of_nothing.presence:
            texts = distinct(self.analyzer, texts)  # a word that was never learned counts once, too
        # Without the lock: to fold some documents takes seconds, and whoever waits to learn keeps all others out.
        docs, recipe = documents_of(self.analyzer, texts)
        with self.memory.lock.read():
            reader = self.reader()
            return reader, ask(reader, docs, recipe)

    def scores(self, texts: Any) -> tuple[list[Label], Floats]:
        """Classes, and scores (n_docs, n_classes)."""
        reader, out = self._read(texts, Reader.scores)
        return reader.classes, np.ascontiguousarray(out[:, reader.columns])

    def best(self, texts: Any, k: int) -> Best:
        """The k best classes of every text, or all where there are fewer.

        The scores of all classes are not kept, and where there are many, not all of them are computed.
        """
        reader, (places, scores) = self._read(
            texts, lambda reader, docs, recipe: reader.best(docs, recipe, min(k, len(reader.classes)))
        )
        return Best(reader.classes, reader.dtype, places, scores)

    def label_odds(self, texts: Any) -> tuple[list[Label], Floats]:
        """Labels, and the log-odds of each against the rest, (n_docs, n_classes)."""
        return self._against_rest.scores(texts)

    @cached_property
    def _against_rest(self) -> CountingModel:
        """The same model, or its twin, with each label held against the rest."""
        if not self.kind.takes_label_sets:
            raise several_labels_error(self.options["model"])
        kind = MODELS[self.kind.twin] if self.kind.twin else self.kind
        return replace(self, kind=kind, options={**self.options, "against_rest": True}, by_label=True)

    @property
    def one_pass(self) -> bool:
        """Whether `leave_one_out` takes one pass over the documents; else it fits a model for each of them."""
        options = self.options
        # Without a word that others had too, classes have fewer words, and all of their shares change.
        changes_all = options["class_norm"] and options["min_df"] > 1
        return options["max_features"] is None and not changes_all and self.scorer_of_nothing.local

    def leave_one_out(self, corpus: CountedCorpus, *, odds: bool = False) -> Floats:
        """Score every document of a corpus by the model of all the others, (n_docs, n_classes)."""
        model = self._against_rest if odds else self
        if not model.one_pass:
            return corpus.score_one_by_one(lambda memory: replace(model, memory=memory))
        how = {"by_docs": model.scorer_of_nothing.by_docs, "by_label": model.by_label, "smooth": self._smooths_unseen}
        name, min_df = model._prior_name, self.options["min_df"]
        return corpus.score(model._scorer, model._log_prior, prior_name=name, min_df=min_df, **how)

    @property
    def _prior_name(self) -> str:
        """Models whose priors have the same name have the same priors."""
        if not self.kind.has_prior and not self.by_label:
            return ""
        prior = self.options["prior"]
        is_scaled = self.options["against_rest"] and isinstance(prior, Mapping)
        return f"{self.by_label} {is_scaled} {prior!r}"

    @property
    def scorer_of_nothing(self) -> Scorer:
        """The scorer of no counts."""
        return scorer_of_nothing(self.kind, **self._variants)

    def explain(self, text: Any, label: Label | None, against: Label | None) -> Explanation:
        """Explain a label against another: the share of every feature of a text in the difference of their scores."""
        from bunrui.models.explain import explain, read

        # Without the lock: a long text takes a second, and whoever waits to learn keeps all others out.
        reading = read(self.analyzer, text)
        with self.memory.lock.read():
            return explain(self.reader(), self.analyzer, text, reading, label, against)

    def words(self, question: WordQuestion) -> list[Word]:
        """The words that speak for a label."""
        from bunrui.models.explain import Weights, find_word, telling_words

        with self.memory.lock.read():
            reader, word = self.reader(), question.word
            question.check(reader.classes)
            view = reader.view
            ids = view.feature_ids() if word is None else find_word(view, self.analyzer, word)
            return telling_words(view, ids, question, reader.scorer.by_docs, partial(Weights, reader))

    def export(self, make: Callable[[Reader], T]) -> T:
        """Call `make` with the reader, while nothing is learned."""
        with self.memory.lock.read():
            return make(self.reader())


def several_labels_error(model: str) -> OptionError:
    """For a model that cannot hold each label against the rest."""
    able = ", ".join(name for name, kind in MODELS.items() if kind.takes_label_sets)
    return OptionError(f"{model} gives each document one label: for several labels, choose one of {able}")
