"""`Learner`: what a classifier has learned, and how it learns more; answers are in `bunrui.classifier`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bunrui.analysis import Analyzer, AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import check_given
from bunrui.counts import Counts
from bunrui.engines.counting import count
from bunrui.engines.labels import LabelSets, label_sets
from bunrui.engines.locks import ReadWriteLock
from bunrui.errors import MismatchError, OptionError
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.workspace import release
from bunrui.models import DEFAULT_MODEL, MODELS, Model
from bunrui.models.base import log_prior, smoothing_of
from bunrui.models.view import select
from bunrui.trained.names import TRAINED, TRAINED_ALPHA, check_m, check_options, is_trained

if TYPE_CHECKING:
    from bunrui.trained.kept import Kept

__all__ = ["SETTINGS", "Labels", "Learner", "Memory", "Texts", "n_docs_of"]

# How counts are read, besides the model: may change at any time.
SETTINGS = ("smoothing", "alpha", "prior", "unseen", "min_df", "max_features", "class_norm", "against_rest", "m")

Texts = Any
Labels = Any


class Memory:
    """What has been learned, and the lock on it; shared by the models that read it.

    `kept` are the documents, where they are kept.
    """

    def __init__(self, counts: Counts, kept: Kept | None) -> None:
        self.counts = counts
        self.kept = kept
        self.lock = ReadWriteLock()


class Learner:
    """Options, and counts that grow and shrink; the base of `TextClassifier`, which has the answers."""

    _keeps_in_memory = True  # documents, for models that are trained from them

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]] = "universal",
        smoothing: str = "eap",
        alpha: float | Mapping[str, float] | None = None,
        prior: str | tuple[str, float] | Mapping[Any, float] = "empirical",
        unseen: str = "ignore",
        min_df: int = 1,
        max_features: int | tuple[str, int] | None = None,
        class_norm: bool = False,
        against_rest: bool = False,
        m: float = 1,
    ) -> None:
        self.model = model
        self.analyzer = analyzer
        self.smoothing = smoothing
        self.alpha = alpha
        self.prior = prior
        self.unseen = unseen
        self.min_df = min_df
        self.max_features = max_features
        self.class_norm = class_norm
        self.against_rest = against_rest
        self.m = m
        self._reset()

    def _reset(self) -> None:
        """Check the options and forget everything."""
        kept = None
        for name in ("class_norm", "against_rest"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise OptionError(option=name, value=getattr(self, name), expected="True or False")
        if is_trained(self.model):
            from bunrui.trained.kept import Kept

            check_options(self.model, self.get_params())
            kept = Kept() if self._keeps_in_memory else None
            usual = TRAINED_ALPHA.get(self.model, 1.0)
        else:
            self._counting_model().check_options(**self._variants())
            check_m(self.model, self.m)
            usual = self._counting_model().default_alpha(class_norm=bool(self.class_norm))
        self._smoothing = smoothing_of(self.smoothing, self.alpha, usual)
        log_prior(Counts(), self.prior)
        select(Counts(), self.min_df, self.max_features)
        if self.unseen not in ("ignore", "smooth"):
            raise OptionError(option="unseen", value=self.unseen, expected="'ignore' or 'smooth'")
        self._analyzer: Analyzer = analyzer_of(self.analyzer)
        self._memory = Memory(Counts(self._analyzer.fingerprint), kept)
        self._is_checked = True

    def _check_options(self) -> None:
        """Raise what is wrong with the options, where `set_params` took some that make no sense."""
        if not self._is_checked:
            Learner(**self.get_params())

    def _variants(self) -> dict[str, bool]:
        return {"class_norm": bool(self.class_norm), "against_rest": bool(self.against_rest)}

    def _counting_model(self) -> Model:
        """The model, where counts determine it."""
        if self.model not in MODELS:
            raise OptionError(option="model", value=self.model, choices=(*MODELS, *TRAINED))
        return MODELS[self.model]

    def __repr__(self) -> str:
        with self._memory.lock.read():
            return f"TextClassifier{repr(self.counts).removeprefix('Counts')}"

    @property
    def counts(self) -> Counts:
        """What has been learned."""
        return self._memory.counts

    # Learning

    def learn(self, texts: Texts, labels: Labels) -> Self:
        """Learn documents with their labels, all or none of them.

        A label is a string, an integer or a boolean, and all labels of a classifier are of one of these types; a
        document with several labels has a collection of them.
        """
        texts, sets, delta = self._counted(texts, labels)
        with self._memory.lock.write():
            is_first = not self.counts.n_docs
            if is_first:
                self._memory.counts = delta
                delta.version = 1
            else:
                self.counts.add(delta)
            if self._memory.kept is not None:
                self._memory.kept.add(texts, sets)
        if not is_first:
            release(delta.vocabulary)
        return self

    def unlearn(self, texts: Texts, labels: Labels) -> Self:
        """Take documents back: afterwards the classifier is the one that never saw them.

        Counts know words, not documents: what is refused is what could not have been learned.  Another text whose words
        all occur often enough with the label is taken for one that was, unless documents are kept.

        Raises
        ------
        UnlearnError
            If something in them was never learned; then nothing is taken back.
        """
        texts, sets, delta = self._counted(texts, labels)
        with self._memory.lock.write():
            kept = self._memory.kept
            places = kept.find(texts, sets) if kept is not None else {}
            self.counts.subtract(delta)
            if kept is not None:
                kept.remove(places)
        release(delta.vocabulary)
        return self

    def merge(self, other: Learner) -> Self:
        """Add what another classifier with the same analyzer has learned."""
        if other.counts is self.counts:
            raise OptionError("a classifier cannot be merged with itself")
        with other._memory.lock.read():
            theirs, kept = other.counts.copy(), other._memory.kept
            batches = None if kept is None else list(kept.batches)
        with self._memory.lock.write():
            mine = self._memory.kept
            if mine is not None and batches is None:
                raise MismatchError(
                    f"{self.model} is trained from documents, and the other classifier has none in memory: make it "
                    f"with TextClassifier({self.model!r}), and learn its texts again"
                )
            self.counts.add(theirs)
            if mine is not None and batches is not None:
                mine.extend(batches)
        return self

    def _counted(self, texts: Texts, labels: Labels) -> tuple[Texts, LabelSets, Counts]:
        """Documents in the form in which they are kept, where they are, their labels, and their counts."""
        if self._memory.kept is not None:
            from bunrui.trained.kept import checked

            texts = checked(texts)
        docs, recipe = self._documents(texts)
        sets = label_sets(labels, n_docs_of(docs), self.counts.label_ids if self.counts.n_docs else {})
        return texts, sets, self._count(docs, recipe, sets)

    def count_sets(self, texts: Texts, sets: LabelSets) -> Counts:
        """Count documents, and learn nothing."""
        return self._count(*self._documents(texts), sets)

    def _count(self, docs: Documents, recipe: Recipe, sets: LabelSets) -> Counts:
        return count(docs, recipe, sets, self.counts.fingerprint)

    def _documents(self, texts: Texts) -> tuple[Documents, Recipe]:
        """Buffers, and what to do with them."""
        self._check_options()
        if inputs.is_given(texts):
            check_given(self._analyzer)
            return inputs.given(texts), self._analyzer.given
        return self._analyzer.documents(inputs.strings(texts)), self._analyzer.recipe

    # Options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name."""
        return {name: getattr(self, name) for name in ("model", "analyzer", *SETTINGS)}


def n_docs_of(docs: Documents) -> int:
    """How many documents there are."""
    return max(len(docs.lists) if len(docs.lists) else len(docs.offsets), 1) - 1
