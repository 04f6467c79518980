"""What settings are measured on: the same documents for all of them, each predicted by a model that never saw it.

    LeaveOneOut   each document by all the others, exactly, in one pass over the counts (`evaluation.loo`)
    Folds         each part by others: models that read counts have counted all documents once, less what is not to be
                  learned; models that are trained are trained anew for each part

Features that only the part has are unknown to the others: they are dropped, not scored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bunrui.analysis import AnalyzerSpec
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.counts import Counts
from bunrui.errors import DataError
from bunrui.evaluation.crossing import checked_fold
from bunrui.evaluation.folding import folds as cut
from bunrui.evaluation.loo import Corpus
from bunrui.selection.corpus import Documents
from bunrui.selection.settings import Settings
from bunrui.selection.sizes import Cost, Size, size_of

__all__ = ["Basis", "Fitted", "Folds", "LeaveOneOut", "OutOfTimeError", "by_folds"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_N_FOLDS = 5
_WARM = 33  # documents: from so many on, a table of all weights is made
_SAMPLE_BYTES = 4_000_000  # that the speed of prediction is taken from


class OutOfTimeError(Exception):
    """The time is up in the middle of a measurement."""


class Fitted(Protocol):
    """A model of some documents."""

    @property
    def classes_(self) -> Any:
        """The columns of scores."""

    def scores(self, texts: Any) -> Floats:
        """(n_docs, n_classes)"""


class Basis(Protocol):
    """Documents, and a way to predict them.

    Attributes
    ----------
    how : str
        The way, in words that go on from "documents".
    rows : (n,) int64
        The documents that are predicted.
    is_over : function
        Whether the time is up, for what takes long enough to ask in between.
    """

    documents: Documents
    how: str
    rows: Integers
    is_over: Callable[[], bool]

    def scores(self, settings: Settings) -> Floats:
        """Of the documents in `rows`, (n, n_classes); -inf for a class that could not be predicted."""

    def n_features(self, spec: AnalyzerSpec) -> int:
        """V of all documents."""

    def cost(self, settings: Settings) -> Cost:
        """What these settings take, right after their `scores`."""

    def release(self) -> None:
        """Let go of what was counted, to make room."""


class LeaveOneOut:
    """Each document by all the others; for settings that are exact."""

    how = "each by all the others"

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.rows = np.arange(len(documents))
        self.is_over: Callable[[], bool] = lambda: False
        self._counted: tuple[AnalyzerSpec, Corpus] | None = None
        self._learned: tuple[AnalyzerSpec, TextClassifier, float] | None = None

    def scores(self, settings: Settings) -> Floats:
        return self._corpus(settings.analyzer).scores(**settings.options())

    def n_features(self, spec: AnalyzerSpec) -> int:
        return self._corpus(spec).counts.n_features

    def release(self) -> None:
        self._counted = self._learned = None

    def _corpus(self, spec: AnalyzerSpec) -> Corpus:
        if self._counted is None or self._counted[0] != spec:
            self._counted = None  # there is room for one
            read, _ = self.documents.read_by(spec)
            self._counted = spec, Corpus(TextClassifier(analyzer=spec), read.texts, read.true)
        return self._counted[1]

    def cost(self, settings: Settings) -> Cost:
        spec, sizes = settings.analyzer, self.documents.sizes
        read, reading = self.documents.read_by(spec)
        if self._learned is None or self._learned[0] != spec:
            started = time.perf_counter()
            learned = TextClassifier(analyzer=spec).learn(read.texts, read.true)
            self._learned = spec, learned, time.perf_counter() - started
        _, learned, seconds = self._learned
        classifier = learned.with_model(**settings.options())
        n_docs = max(int(np.searchsorted(np.cumsum(sizes), _SAMPLE_BYTES)), 1)
        _, weighing, scoring = _timed(classifier, read.texts[:n_docs])
        total, sample = int(sizes.sum()), int(sizes[:n_docs].sum())
        scoring += reading * sample / max(total, 1)
        return Cost(total, reading + seconds + weighing, sample, scoring, size_of(classifier))


class Folds:
    """Each part by others.

    Parameters
    ----------
    parts : sequence of pairs
        The documents to learn and those to predict, by their numbers.

    Attributes
    ----------
    is_over : function
        Whether the time is up: then `scores` raises OutOfTimeError.
    """

    def __init__(self, documents: Documents, parts: Sequence[tuple[Integers, Integers]], how: str) -> None:
        self.documents = documents
        self.how = how
        self.rows = np.concatenate([test for _, test in parts])
        self.is_over: Callable[[], bool] = lambda: False
        self._parts = parts
        self._counted: _Counted | None = None
        self._cost = Cost(0, 0.0, 0, 0.0, Size(0, None))

    def scores(self, settings: Settings) -> Floats:
        if settings.is_trained:
            return self.refitted(lambda texts, labels: _trained(settings, texts, labels), settings.analyzer)
        counted = self._of(settings.analyzer)
        classifier = counted.classifier.with_model(**settings.options())
        out, weighing, scoring, size = self._empty(), 0.0, 0.0, Size(0, None)
        for part, (at, test) in enumerate(self._tests()):
            with counted.without(part):
                found, before, during = _timed(classifier, counted.documents.pick(test)[0])
                self._put(out, at, classifier, found)
                size = size_of(classifier)
            weighing, scoring = weighing + before / len(self._parts), scoring + during
        total = int(self.documents.sizes.sum())
        self._cost = self._costs(total, counted.seconds + weighing, scoring, counted.reading, size)
        return out

    def n_features(self, spec: AnalyzerSpec) -> int:
        return self._of(spec).classifier.counts.n_features

    def refitted(self, fit: Callable[[Any, list[Any]], Fitted], spec: AnalyzerSpec | None = None) -> Floats:
        """Scores by a model that is made anew for each part; `spec` is the analyzer that it reads by."""
        read, reading = self.documents.read_by(spec) if spec is not None else (self.documents, 0.0)
        out, learned, learning, scoring, size = self._empty(), 0, 0.0, 0.0, Size(0, None)
        for (train, _), (at, test) in zip(self._parts, self._tests(), strict=True):
            texts, labels = read.pick(train)
            started = time.perf_counter()
            model = fit(texts, labels)
            fitted = time.perf_counter()
            self._put(out, at, model, model.scores(read.pick(test)[0]))
            learning, scoring = learning + fitted - started, scoring + time.perf_counter() - fitted
            learned, size = learned + int(self.documents.sizes[train].sum()), size_of(model)
        self._cost = self._costs(learned, learning, scoring, reading, size)
        return out

    def cost(self, settings: Settings | None = None) -> Cost:
        return self._cost

    def release(self) -> None:
        self._counted = None

    def _costs(self, learned: int, learning: float, scoring: float, reading: float, size: Size) -> Cost:
        sizes = self.documents.sizes
        predicted, by_byte = int(sizes[self.rows].sum()), reading / max(int(sizes.sum()), 1)
        return Cost(learned, learning + by_byte * learned, predicted, scoring + by_byte * predicted, size)

    def _of(self, spec: AnalyzerSpec) -> _Counted:
        if self._counted is None or self._counted.spec != spec:
            self._counted = None  # there is room for one
            self._counted = _Counted(self.documents, spec, [train for train, _ in self._parts])
        return self._counted

    def _tests(self) -> Iterator[tuple[slice, Integers]]:
        """The documents of each part that are predicted, and where they stand among all of them."""
        at = 0
        for _, test in self._parts:
            if self.is_over():
                raise OutOfTimeError
            yield slice(at, at + len(test)), test
            at += len(test)

    def _empty(self) -> Floats:
        return np.full((len(self.rows), len(self.documents.classes)), -np.inf)

    def _put(self, out: Floats, at: slice, model: Fitted, found: Floats) -> None:
        places = {label: k for k, label in enumerate(self.documents.classes)}
        out[at, [places[label] for label in model.classes_.tolist()]] = found


def by_folds(documents: Documents, folds: int | Sequence[tuple[Integers, Integers]] | None = None) -> Folds:
    """So many parts with the same shares of the labels, 5 if there are as many documents, or parts that are given."""
    if folds is None or isinstance(folds, int):
        k = min(_N_FOLDS, len(documents)) if folds is None else folds
        return Folds(documents, cut(len(documents), documents.true, k), f"each of {k} parts by the others")
    if not folds:
        raise DataError("there are no folds: give at least one pair of training and test rows")
    return Folds(
        documents, [checked_fold(fold, len(documents)) for fold in folds], f"in {len(folds)} parts, each by others"
    )


class _Counted:
    """All documents counted by an analyzer, and what to subtract for each part."""

    def __init__(self, documents: Documents, spec: AnalyzerSpec, trains: list[Integers]) -> None:
        self.spec = spec
        self.documents, self.reading = documents.read_by(spec)
        started = time.perf_counter()
        self.classifier = TextClassifier(analyzer=spec).learn(self.documents.texts, self.documents.true)
        self.seconds = time.perf_counter() - started
        self._deltas = [self._count(train) for train in trains]

    def _count(self, train: Integers) -> Counts:
        """The counts of what is not to be learned."""
        rest = np.setdiff1d(np.arange(len(self.documents)), train)
        return self.classifier.count_sets(self.documents.pick(rest)[0], self.documents.sets.subset(rest))

    @contextmanager
    def without(self, part: int) -> Iterator[None]:
        """A block in which the classifier has learned only what a part is predicted from."""
        counts = self.classifier.counts
        counts.subtract(self._deltas[part])
        try:
            yield
        finally:
            counts.add(self._deltas[part])


def _trained(settings: Settings, texts: Any, labels: list[Any]) -> TextClassifier:
    classifier = settings.classifier().learn(texts, labels)
    classifier.scores(texts[:1])  # trains
    return classifier


def _timed(classifier: AnyClassifier, texts: Any) -> tuple[Floats, float, float]:
    """Scores, and the seconds for the weights and for the scores."""
    started = time.perf_counter()
    classifier.scores(texts[:_WARM])
    weighed = time.perf_counter()
    scores = classifier.scores(texts)
    return scores, weighed - started, time.perf_counter() - weighed
