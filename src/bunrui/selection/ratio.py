"""How much likelier a document is in one collection than in another: a naive Bayes of two classes.

    ratio(d) = sum over the features f of d, each once, of  log P(f | target) / P(f | raw)

    P(f | raw)    = n[f] / N                                      of all documents, those of the target too
    P(f | target) = (1 - β) t[f] / T + β P(f | raw)      β = 3/4

    t[f], n[f]   documents of the target, and of target and raw, that have feature f;  T, N their sums over f

so that a feature adds log(1 + (1 - β) / β · (t[f] / T) / (n[f] / N)) + log β: never less than log β, which is what a
feature adds that the target lacks.  A feature that nothing had adds nothing.

The target is smoothed by the collection that it is held against.  By a constant for each feature, the usual way, a
small target comes out as nearly uniform, and rare features speak for it, whatever they are: docs/decisions/009.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import AnalyzerSpec, analyzer_of
from bunrui.classifier import TextClassifier
from bunrui.engines import threads
from bunrui.errors import NotLearnedError
from bunrui.kernel.logs import log1p
from bunrui.models.base import Scorer
from bunrui.models.linear import Reader
from bunrui.models.view import FeatureCounts, whole
from bunrui.selection.buckets import RAW, TARGET, Buckets, Collisions, documents_of

__all__ = ["BACKGROUND", "HASH_BITS", "Ratio"]

Floats = npt.NDArray[np.float64]

BACKGROUND = 0.75
"""β; measured, like the bits of the hash: docs/decisions/009."""

HASH_BITS = 20

_ALONE = math.log(BACKGROUND)
_LABELS = ("target", "raw")


class Ratio:
    """log P(document | target) / P(document | raw), from documents of both.

    Parameters
    ----------
    analyzer : str, AnalyzerSpec or function
        How text becomes features, as for `TextClassifier`.
    hash_bits : int
        Features are counted in 2 ** hash_bits buckets (8 to 26).  With 0 each is counted by itself, which takes several
        times as long, and memory for every feature of raw.

    Attributes
    ----------
    n_target, n_raw : int
        Documents that were learned.

    Examples
    --------
    >>> ratio = Ratio().learn_target(["a film of few words", "the best film of the year"])
    >>> ratio.learn_raw(["the film was dull", "shares fell on Monday", "rain on Monday"]).scores(["a film", "rain", ""])
    array([ 0.52632981, -0.28768207,  0.        ])
    """

    def __init__(
        self,
        analyzer: str | AnalyzerSpec | Callable[[str], Iterable[Any]] = "universal",
        *,
        hash_bits: int = HASH_BITS,
    ) -> None:
        self.n_target = self.n_raw = 0
        self._counts: Buckets | _Features = (
            Buckets(analyzer_of(analyzer), hash_bits, _weights) if hash_bits else _Features(analyzer)
        )

    def learn_target(self, texts: Any) -> Ratio:
        """Learn documents of the kind that is looked for."""
        self._counts.count(texts, TARGET)
        self.n_target += len(texts)
        return self

    def learn_raw(self, texts: Any) -> Ratio:
        """Learn documents of the collection that is looked through."""
        self._counts.count(texts, RAW)
        self.n_raw += len(texts)
        return self

    @property
    def has_target(self) -> bool:
        """Whether the target has a feature."""
        return self._counts.n_target > 0

    def scores(self, texts: Any) -> Floats:
        """The ratio of every document, (n_docs,): above 0 it is likelier in the target; 0 without features."""
        return self.read(texts)[0]

    def read(self, texts: Any) -> tuple[Floats, Floats]:
        """The ratio of every document, and how many features were read in it, (n_docs,) each."""
        if not self.has_target:
            raise NotLearnedError("the target has no words: call learn_target(texts) first, with texts that have some")
        if not len(texts):
            return np.empty(0), np.empty(0)
        ratios, lengths = self._counts.read(texts)
        return ratios, lengths

    def collisions(self) -> Collisions | None:
        """How much the buckets mix up; None where there are none."""
        return self._counts.collisions() if isinstance(self._counts, Buckets) else None


def _gain(target: Any, both: Any) -> Floats:
    """What a feature adds beyond log β, from its shares of the target and of all."""
    return log1p((1 - BACKGROUND) / BACKGROUND * (target / both))


def _weights(target: npt.NDArray[np.int64], both: npt.NDArray[np.int64]) -> Floats:
    """What each feature adds, by how many documents of the target and of all have it."""
    out = np.where(both > 0, _ALONE, 0.0)
    found = np.flatnonzero(target)
    out[found] += _gain(target[found] / target.sum(), both[found] / both.sum())
    return out


class _Features:
    """Every feature counted by itself, as a classifier counts."""

    def __init__(self, analyzer: Any) -> None:
        self._classifier = TextClassifier("binary", analyzer=analyzer)
        self._analyzer = analyzer_of(analyzer)
        self._classifier.counts.add_labels(_LABELS)
        self._reader: Reader | None = None

    @property
    def n_target(self) -> int:
        """Features of a document, summed over the documents of the target."""
        return int(self._classifier.counts.doc_freq_sum[TARGET])

    def count(self, texts: Any, side: int) -> None:
        """Count documents."""
        if len(texts):
            self._classifier.learn(texts, [_LABELS[side]] * len(texts))

    def read(self, texts: Any) -> Floats:
        """The ratio of every document, and how many known features it has, (2, n_docs)."""
        docs, recipe = documents_of(self._analyzer, texts)
        reader = self._current_reader()
        out = np.empty((len(texts), 2))
        longest = threads.longest_document(docs, recipe)
        reader.weights()
        bounds = threads.bounds_of(docs, recipe)
        threads.each_slice(lambda lo, hi: reader.score_slice(docs, recipe, lo, hi, longest, out), bounds)
        return out.T

    def _current_reader(self) -> Reader:
        """A model of the counts as they are now: its first class has the ratio, its second one counts the features."""
        counts = self._classifier.counts
        if self._reader is not None and self._reader.version == counts.version:
            return self._reader

        def weigh(cells: FeatureCounts) -> Floats:
            shares = cells.counts / self.n_target, cells.spread(cells.totals) / counts.n_doc_freq
            return np.where(cells.classes == TARGET, _gain(*shares), 0.0)

        zero = np.zeros(2)
        scorer = Scorer(zero, zero + 1, np.array([_ALONE, 1.0]), zero, weigh, by_docs=True, presence=True)
        self._reader = Reader(whole(counts), scorer, smooth_unseen=False)
        return self._reader
