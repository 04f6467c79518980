"""Measures settings on the same documents; each document is predicted by a model that never saw it.

    LeaveOneOut   each document by all the others, exactly, in one pass over the counts (`evaluation.loo`)
    Folds         each part by the others.  For models of counts, all documents are counted once, and each part is
                  subtracted; trained models are trained again for each part

Features that occur only in the predicted part are unknown: they are dropped, not scored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bunrui.analysis import AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.spec import DICTIONARIES
from bunrui.calibration import lengths_of
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.errors import DataError, check_whole
from bunrui.evaluation.crossvalidation import N_FOLDS, folds_of
from bunrui.evaluation.loo import Corpus, Labelled
from bunrui.models import DEFAULT_MODEL
from bunrui.models.kinds import MOST_FEATURES
from bunrui.models.view import select
from bunrui.selection.settings import Settings
from bunrui.sparse import Floats, Integers

Fit = Callable[[Any, list[Any]], Any]
_WARM = 33  # the fewest documents for which a table of all weights is made
_SAMPLE_BYTES = 4_000_000  # that the speed of prediction is taken from
_FEWEST_BYTES = 100_000  # the fewest that tell a speed


class OutOfTimeError(Exception):
    """The time is up in the middle of a measurement."""


class Documents(Labelled):
    """Documents of two labels or more.

    Examples
    --------
    >>> found = Documents(["pills", "noon", "pills at noon"], ["spam", "ham", ["ham", "spam"]])
    >>> found.classes, found.own.tolist(), found.sizes.tolist()
    (['ham', 'spam'], [[False, True], [True, False], [True, True]], [5.0, 4.0, 13.0])
    """

    def __init__(self, texts: Any, labels: Any) -> None:
        super().__init__(texts, labels)
        if len(self.classes) < 2:
            what = f"all documents have the label {self.classes[0]!r}" if self.classes else "there are no documents"
            hint = "give documents of two labels or more"
            raise DataError(f"{what}, so that there is nothing to tell apart", hint=hint, cause="one-label")
        self._words: tuple[AnalyzerSpec, Labelled, float] | None = None

    @cached_property
    def sizes(self) -> Floats:
        """Bytes of UTF-8, (n_docs,)."""
        return lengths_of(self.texts)

    def n_bytes(self, rows: Any = slice(None)) -> int:
        """Bytes of some documents together."""
        return int(self.sizes[rows].sum())

    def first(self, n_bytes: int) -> int:
        """The number of documents, from the first on, that have `n_bytes` bytes together."""
        return int(np.searchsorted(np.cumsum(self.sizes), n_bytes))

    def read_by(self, spec: AnalyzerSpec) -> tuple[Labelled, float]:
        """The documents for an analyzer that reads them again and again, and the seconds that were spent before.

        A dictionary takes longer than all other steps: so it runs once, and its words replace the texts.  Only `nbsvm`
        and `arow` notice: a hash of each document decides the order of their sweeps.
        """
        if spec.name not in DICTIONARIES or inputs.is_given(self.texts):
            return self, 0.0
        if self._words is None or self._words[0] != spec:
            features = analyzer_of(spec).features
            started = time.perf_counter()
            words = [[token.text for token in features(text)] for text in inputs.pick(self.texts, np.arange(len(self)))]
            self._words = spec, Labelled(words, self.true), time.perf_counter() - started
        return self._words[1:]


class Size(NamedTuple):
    """Features that a model reads, and the numbers that it keeps of them.

    A model of counts keeps the cells that are not zero, a trained model its weights.
    """

    features: int
    cells: int | None


class Cost(NamedTuple):
    """The MB/s of learning and of predicting, None where there is too little to tell; and the size."""

    learn_rate: float | None
    predict_rate: float | None
    size: Size


def _rate(n_bytes: int, seconds: float) -> float | None:
    return n_bytes / 1e6 / max(seconds, 1e-9) if n_bytes >= _FEWEST_BYTES else None


def size_of(model: Any) -> Size:
    """The size of a classifier, or of another model that says it in `size`.

    >>> size_of(TextClassifier("binary", analyzer="words").learn(["a b", "b c"], ["x", "y"]))
    Size(features=3, cells=4)
    """
    if not isinstance(model, AnyClassifier):
        return Size(*model.size)
    counts = model.counts
    if not model.needs_documents:
        view = select(counts, model.min_df, model.max_features)
        return Size(view.n_features, counts.n_cells if not len(view.keep) else None)
    n_classes = len(counts.live_labels)
    if model.model == "aode":
        features = min(counts.n_features, MOST_FEATURES)
        return Size(features, 4 * features**2 * n_classes)
    margins = 1 if n_classes == 2 and model.model != "twcnb" else n_classes
    return Size(counts.n_features, counts.n_features * margins)


class LeaveOneOut:
    """Each document by all the others; for settings that are exact.

    Attributes
    ----------
    how : str
        How documents are predicted, in words that go on from "documents".
    rows : (n,) int64
        The documents that are predicted.
    is_over : function
        Whether the time is up: a single pass is never cut short.
    """

    how = "each by all the others"

    def __init__(self, documents: Documents) -> None:
        self.documents, self.rows = documents, np.arange(len(documents))
        self.is_over: Callable[[], bool] = lambda: False
        self._corpus: tuple[AnalyzerSpec, Corpus] | None = None

    def scores(self, settings: Settings) -> Floats:
        """Scores of the documents in `rows`, (n, n_classes); -inf for a class that could not be predicted."""
        return self._corpus_of(settings.analyzer).scores(**settings.options())

    def n_features(self, spec: AnalyzerSpec) -> int:
        """V of all documents."""
        return self._corpus_of(spec).counts.n_features

    def release(self) -> None:
        """Let go of all counts, to make room."""
        self._corpus = None

    def _corpus_of(self, spec: AnalyzerSpec) -> Corpus:
        if self._corpus is None or self._corpus[0] != spec:
            self.release()  # there is room for one
            read, _ = self.documents.read_by(spec)
            self._corpus = spec, Corpus(TextClassifier(DEFAULT_MODEL, analyzer=spec), read.texts, read.true)
        return self._corpus[1]

    def cost(self, settings: Settings) -> Cost:
        """The cost of these settings, right after their `scores`; the first documents tell the time."""
        classifier = self._corpus_of(settings.analyzer).classifier(**settings.options())
        read, reading = self.documents.read_by(settings.analyzer)
        n_docs = max(self.documents.first(_SAMPLE_BYTES), 1)
        texts, labels = read.pick(self.rows[:n_docs])
        sample = self.documents.n_bytes(slice(n_docs))
        reading *= sample / max(self.documents.n_bytes(), 1)
        started = time.perf_counter()
        TextClassifier(DEFAULT_MODEL, analyzer=settings.analyzer).learn(texts, labels)
        learning = time.perf_counter() - started
        _, weighing, scoring = _time_scores(classifier, texts)
        rates = _rate(sample, reading + learning + weighing), _rate(sample, reading + scoring)
        return Cost(*rates, size_of(classifier))


class _Counted:
    """All documents counted by an analyzer, and the counts to subtract for each part."""

    def __init__(self, documents: Documents, spec: AnalyzerSpec, trains: Sequence[Integers]) -> None:
        self.spec = spec
        self.documents, self.reading = documents.read_by(spec)
        started = time.perf_counter()
        # Any model that counts: `auto` would choose one, and that takes longer than to count.
        self.classifier = TextClassifier(DEFAULT_MODEL, analyzer=spec).learn(self.documents.texts, self.documents.true)
        self.seconds = time.perf_counter() - started
        rests = (np.setdiff1d(np.arange(len(documents)), train) for train in trains)
        self._deltas = [
            self.classifier.count_sets(self.documents.pick(rest)[0], self.documents.sets.subset(rest)) for rest in rests
        ]

    def models(self, settings: Settings) -> Generator[TextClassifier]:
        """For each part, a classifier that has learned only the documents that predict it, until the next comes."""
        classifier, counts = self.classifier.with_model(**settings.options()), self.classifier.counts
        for delta in self._deltas:
            counts.subtract(delta)
            try:
                yield classifier
            finally:
                counts.add(delta)


class Folds:
    """Each part by others; with the attributes of `LeaveOneOut`.

    When the time is up, `scores` raises OutOfTimeError.

    Parameters
    ----------
    parts : sequence of pairs
        The documents to learn and those to predict, by their numbers.
    """

    def __init__(self, documents: Documents, parts: Sequence[tuple[Integers, Integers]], how: str) -> None:
        self.documents, self.how, self._parts = documents, how, parts
        self.rows = np.concatenate([test for _, test in parts])
        self.is_over: Callable[[], bool] = lambda: False
        self._counted: _Counted | None = None
        self._cost = Cost(None, None, Size(0, None))

    def scores(self, settings: Settings) -> Floats:
        """Scores of the documents in `rows`, (n, n_classes); -inf for a class that could not be predicted."""
        if settings.is_trained:
            return self.refit(lambda texts, labels: settings.classifier().learn(texts, labels), settings.analyzer)
        counted = self._of(settings.analyzer)
        scores, _, weighing, scoring, size = self._score(counted.models(settings), counted.documents)
        learning = counted.seconds + weighing / len(self._parts)
        self._set_cost(self.documents.n_bytes(), learning, scoring, counted.reading, size)
        return scores

    def refit(self, fit: Fit, spec: AnalyzerSpec | None = None) -> Floats:
        """Scores by a model that is made anew for each part; `spec` is the analyzer that it reads by.

        `fit` makes a model of texts and labels: a classifier, or one with `classes_`, `scores` and `size`.
        """
        read, reading = self.documents.read_by(spec) if spec is not None else (self.documents, 0.0)
        models = (fit(*read.pick(train)) for train, _ in self._parts)
        scores, making, weighing, scoring, size = self._score(models, read)
        learned = sum(self.documents.n_bytes(train) for train, _ in self._parts)
        self._set_cost(learned, making + weighing, scoring, reading, size)
        return scores

    def n_features(self, spec: AnalyzerSpec) -> int:
        """V of all documents."""
        return self._of(spec).classifier.counts.n_features

    def cost(self, settings: Settings | None = None) -> Cost:
        """The cost of these settings, right after their `scores`."""
        return self._cost

    def _of(self, spec: AnalyzerSpec) -> _Counted:
        if self._counted is None or self._counted.spec != spec:
            self._counted = None  # there is room for one
            self._counted = _Counted(self.documents, spec, [train for train, _ in self._parts])
        return self._counted

    def _score(self, models: Generator[Any], read: Labelled) -> tuple[Floats, float, float, float, Size]:
        """Scores by a model for each part; the seconds to make, to weigh and to score; the size of a model."""
        found, making, weighing, scoring, size = [], 0.0, 0.0, 0.0, Size(0, None)
        with closing(models):
            for _, test in self._parts:
                if self.is_over():
                    raise OutOfTimeError
                started = time.perf_counter()
                model = next(models)
                making += time.perf_counter() - started
                scores, before, during = _time_scores(model, read.pick(test)[0])
                found.append(self.documents.align(model.classes_.tolist(), scores))
                weighing, scoring, size = weighing + before, scoring + during, size_of(model)
        return np.concatenate(found), making, weighing, scoring, size

    def _set_cost(self, learned: int, learning: float, scoring: float, reading: float, size: Size) -> None:
        predicted, by_byte = self.documents.n_bytes(self.rows), reading / max(self.documents.n_bytes(), 1)
        rates = _rate(learned, learning + by_byte * learned), _rate(predicted, scoring + by_byte * predicted)
        self._cost = Cost(*rates, size)


def by_folds(documents: Documents, given: int | Sequence[tuple[Integers, Integers]] | None = None) -> Folds:
    """Parts with the same shares of the labels, 5 if there are as many documents, or parts that are given."""
    if given is None:
        given = min(N_FOLDS, len(documents))
    elif not isinstance(given, Sequence):
        check_whole("folds", given, 2)
    parts = folds_of(documents, given)
    way = f"each of {given} parts by the others" if isinstance(given, int) else f"in {len(parts)} parts, each by others"
    return Folds(documents, parts, way)


def _time_scores(model: Any, texts: Any) -> tuple[Floats, float, float]:
    """Scores, and the seconds for the weights and for the scores."""
    started = time.perf_counter()
    model.scores(texts[:_WARM])
    weighed = time.perf_counter()
    scores = model.scores(texts)
    return scores, weighed - started, time.perf_counter() - weighed
