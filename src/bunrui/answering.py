"""`Answering`: from what was learned to scores, by a formula of the counts or by a model that is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.analysis.analyzer import distinct
from bunrui.counts import Label
from bunrui.engines import threads
from bunrui.errors import NotLearnedError, Step
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.mutex import Mutex
from bunrui.learner import Learner, Texts, n_docs_of
from bunrui.models.base import log_prior
from bunrui.models.labelprior import log_label_prior
from bunrui.models.view import select
from bunrui.prediction import Reader, log_sum_exp
from bunrui.trained.names import is_trained

if TYPE_CHECKING:
    from bunrui.trained.model import TrainedModel
    from bunrui.trained.training import Source

__all__ = ["Answering", "Best"]

Floats = npt.NDArray[np.float64]
T = TypeVar("T")

# Of so many numbers, a matrix of scores is no burden where only labels are wanted.
_MOST_SCORES = 1 << 22


class Best(NamedTuple):
    """The best classes of documents."""

    classes: list[Label]
    dtype: str  # of an array of labels: as wide as the longest of all, so that arrays of two calls can be joined
    places: npt.NDArray[np.int64]  # (n_docs, k) in `classes`, best first; ties by place
    scores: Floats  # (n_docs, k)


class Answering(Learner):
    """The model as it is now, made when somebody asks, and its scores; `TextClassifier` says what they mean."""

    def _reset(self) -> None:
        super()._reset()
        self._reader: Reader | None = None
        self._trained: TrainedModel | None = None
        self._training = Mutex()
        self._has_label_priors = False

    # Scores

    def _scores(self, texts: Texts) -> tuple[list[Label], Floats]:
        """Scores with the classes of their columns: another thread may learn a class at any time."""
        if is_trained(self.model):
            with self._trained_model() as model:
                return model.classes, model.scores(texts)
        reader, out = self._read(texts, _score)
        return reader.classes, np.ascontiguousarray(out[:, reader.columns])

    def _best(self, texts: Texts, k: int) -> Best:
        """The k best classes of every text, or all where there are fewer.

        The scores of all classes are not kept, and where there are many, not all of them are computed.
        """
        if is_trained(self.model):
            classes, scores = self._scores(texts)
            return Best(classes, self.counts.live.dtype, *_highest(scores, k))
        reader, (places, scores) = self._read(
            texts, lambda reader, docs, recipe: _find_best(reader, docs, recipe, min(k, len(reader.classes)))
        )
        return Best(reader.classes, reader.dtype, places, scores)

    def _read(self, texts: Texts, score: Callable[[Reader, Documents, Recipe], T]) -> tuple[Reader, T]:
        """What `score` finds in all documents, and the reader that it was found by."""
        # Without the lock: to fold some documents takes seconds, and whoever waits to learn keeps all others out.
        docs, recipe = self._documents(self._as_read(texts))
        with self._memory.lock.read():
            reader = self._current_reader()
            return reader, score(reader, docs, recipe)

    def _as_read(self, texts: Texts) -> Texts:
        """Texts with every word once, where words that were never learned count, and count once."""
        if self.unseen == "smooth" and self._counting_model().presence:
            return distinct(self._analyzer, texts)
        return texts

    # The model

    def _current_reader(self) -> Reader:
        """The reader of the counts as they are now; call with the lock held."""
        self._check_options()
        counts = self.counts
        reader = self._reader
        if reader is not None and reader.view.counts is counts and reader.version == counts.version:
            return reader
        if not counts.n_docs:
            raise NotLearnedError("nothing has been learned yet", hint=(Step("learn"),))
        view = select(counts, self.min_df, self.max_features)
        prior = (log_label_prior if self._has_label_priors else log_prior)(counts, self.prior)
        if self.against_rest and isinstance(self.prior, Mapping) and not self._has_label_priors:
            # Shares of any size will do, but for odds.
            prior -= log_sum_exp(prior[counts.doc_count > 0][None])[0, 0]
        scorer = self._counting_model().scorer(view, self._smoothing, prior, **self._variants())
        reader = Reader(view, scorer, smooth_unseen=self.unseen == "smooth")
        self._reader = reader
        return reader

    @contextmanager
    def _trained_model(self) -> Iterator[TrainedModel]:
        """The model of the documents as they are now, trained if need be, with the lock held."""
        self._check_options()
        while True:
            self._train()
            with self._memory.lock.read():
                # Only here: another thread may train it anew, in place, and fail.
                model = self._trained
                if model is not None:
                    yield model
                    return

    def _is_trained(self) -> bool:
        """Whether the model is that of the documents and the options as they are now."""
        return self._trained is not None and self._trained.is_of(self.counts, self.get_params())

    def _train(self) -> None:
        from bunrui.trained.training import KeptSource

        kept = self._memory.kept
        if kept is None:
            raise NotLearnedError(
                f"{self.model} is trained from documents, and this classifier keeps counts only: make one with "
                f"TextClassifier({self.model!r}), and learn the texts again"
            )
        self._train_from(KeptSource(kept))

    def _train_from(self, source: Source) -> None:
        from bunrui.trained.training import train

        lock = self._memory.lock
        with self._training:
            if self._is_trained():
                return
            options = self.get_params()
            # `arow` goes on in place, where nobody may look meanwhile; what is half learned is not gone on with.
            with lock.write() if self.model == "arow" else lock.read():
                before, self._trained = self._trained, None
                self._trained = train(self.model, options, self._analyzer, self.counts, source, before)


def _score(reader: Reader, docs: Documents, recipe: Recipe) -> Floats:
    """Scores by class id."""
    n = n_docs_of(docs)
    out = np.empty((n, len(reader.view.counts.labels)))
    longest = threads.longest_document(docs, recipe)
    if not reader.wants_table(n, _n_bytes(docs)):
        simple = [reader.score_one(docs, recipe, d, longest) for d in range(n)]
        if all(row is not None for row in simple):
            for d, row in enumerate(simple):
                out[d] = row
            return out
    reader.weights()
    threads.each_slice(
        lambda lo, hi: reader.score_slice(docs, recipe, lo, hi, longest, out), threads.bounds_of(docs, recipe)
    )
    return out


def _find_best(reader: Reader, docs: Documents, recipe: Recipe, k: int) -> tuple[Any, Floats]:
    """Places of the k best classes, and their scores."""
    n = n_docs_of(docs)
    is_short = not reader.has_many or not reader.wants_table(n, _n_bytes(docs))
    if is_short and n * len(reader.view.counts.labels) <= _MOST_SCORES:
        return _highest(_score(reader, docs, recipe)[:, reader.columns], k)
    longest = threads.longest_document(docs, recipe)
    classes, scores = np.full((n, k), reader.columns[0]), np.empty((n, k))
    ranks = reader.bounds().ranks
    threads.each_slice(
        lambda lo, hi: reader.best_slice(docs, recipe, lo, hi, longest, classes, scores),
        threads.bounds_of(docs, recipe),
    )
    return ranks[classes], scores


def _n_bytes(docs: Documents) -> int:
    """Bytes of text."""
    return int(docs.offsets[-1] - docs.offsets[0])


def _highest(scores: Floats, k: int) -> tuple[Any, Floats]:
    """Places of the k highest scores of every row, highest first, ties by place, (n_rows, k); the scores."""
    if k == 1:
        places = scores.argmax(axis=1)[:, None]
    else:
        places = (-scores).argsort(axis=1, kind="stable")[:, :k]
    return places, np.take_along_axis(scores, places, axis=1)
