"""How much likelier a document is in one collection than in another: a naive Bayes of two classes.

    ratio(d) = sum over the features f of d, each once, of  log P(f | target) / P(f | raw)

    P(f | raw)    = n[f] / N                                      of all documents, those of the target too
    P(f | target) = (1 - β) t[f] / T + β P(f | raw)      β = 3/4

    t[f], n[f]   documents of the target, and of target and raw, that have feature f;  T, N their sums over f

So a feature adds log(1 + (1 - β) / β · (t[f] / T) / (n[f] / N)) + log β.  A feature that the target lacks adds log β,
the minimum.  A feature that neither has adds nothing.

The target is smoothed by the collection that it is compared with.  Usually a constant is added for each feature; but
then a small target is nearly uniform, and any rare feature speaks for it: docs/decisions/009.

Features are counted in the buckets of a hash (`_Buckets`), so memory and speed do not depend on their number; or each
is counted by itself, as in a classifier (`_Features`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from bunrui.analysis import Analyzer, AnalyzerSpec, analyzer_of
from bunrui.analysis.analyzer import documents_of
from bunrui.classifier import TextClassifier
from bunrui.engines import threads
from bunrui.errors import NotLearnedError, OptionError
from bunrui.kernel import ngrams
from bunrui.kernel import ratio as kernel
from bunrui.kernel.analyze import Walk
from bunrui.kernel.arithmetic import log1p
from bunrui.kernel.library import run
from bunrui.kernel.slices import each_slice
from bunrui.kernel.workspace import scratch_for
from bunrui.models.linear import Reader
from bunrui.models.scorer import Scorer
from bunrui.models.view import FeatureCounts, whole
from bunrui.sparse import Floats

BACKGROUND = 0.75
"""β; measured, like the bits of the hash: docs/decisions/009."""

HASH_BITS = 20

_ALONE = math.log(BACKGROUND)
_LABELS = ("target", "raw")
_TARGET, _RAW = 0, 1

# The features with the lowest hashes are told apart, to count them: 8 MB of bits for each thread.
_MARKED_BITS = 26
_SAMPLE = 1 << (ngrams.HASH_BITS - _MARKED_BITS)
_FEWEST_BITS = 8
_STAMPS = 0xFFFF_FFFF


class Collisions(NamedTuple):
    """How many features share a bucket.

    Attributes
    ----------
    n_buckets : int
    n_features : int
        Distinct features of target and raw: 64 times those of a 64th of the hashes.
    share : float
        The share of these features that have another one in their bucket.
    """

    n_buckets: int
    n_features: int
    share: float


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
        self._counts = _Buckets(analyzer_of(analyzer), hash_bits) if hash_bits else _Features(analyzer)

    def learn_target(self, texts: Any) -> Ratio:
        """Learn documents of the target."""
        self._counts.count(texts, _TARGET)
        self.n_target += len(texts)
        return self

    def learn_raw(self, texts: Any) -> Ratio:
        """Learn documents of the raw collection."""
        self._counts.count(texts, _RAW)
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
        return self._counts.collisions()


def _gain(target: Any, both: Any) -> Floats:
    """The gain of a feature beyond log β, from its shares of the target and of all."""
    return log1p((1 - BACKGROUND) / BACKGROUND * (target / both))


class _Room:
    """The counts of one thread."""

    def __init__(self, bits: int) -> None:
        self.seen = np.zeros(1 << bits, np.uint32)
        self.counts = np.zeros((2, 1 << bits), np.int64)
        self.marks = np.zeros(1 << (_MARKED_BITS - 3), np.uint8)
        self._stamp = 0

    def stamps(self, n: int) -> int:
        """The first of `n` numbers for documents, all above those before."""
        if self._stamp + n > _STAMPS:
            self.seen.fill(0)
            self._stamp = 0
        first = self._stamp + 1
        self._stamp += n
        return first


class _Buckets:
    """How many documents of target and raw have a feature in each of 2 ** bits buckets."""

    def __init__(self, analyzer: Analyzer, bits: int) -> None:
        if not _FEWEST_BITS <= bits <= _MARKED_BITS:
            expected = f"{_FEWEST_BITS} to {_MARKED_BITS}, or 0 to count every feature by itself"
            raise OptionError(option="hash_bits", value=bits, expected=expected)
        self._analyzer = analyzer
        self._bits = bits
        self._shift = ngrams.HASH_BITS - bits
        self._rooms: list[_Room] = []
        self._weights: Floats | None = None

    @property
    def n_target(self) -> int:
        """Buckets of a document, summed over the documents of the target."""
        return sum(int(room.counts[_TARGET].sum()) for room in self._rooms)

    def count(self, texts: Any, side: int) -> None:
        """Count documents of the target or of raw."""
        self._weights = None

        def work(where: tuple[Any, ...], room: _Room, lo: int, hi: int) -> None:
            run(kernel.count_buckets, *where, room.counts[side], room.marks)

        self._each(texts, work)

    def read(self, texts: Any) -> Floats:
        """The ratio of every document, and how many buckets it has, (2, n_docs)."""
        if self._weights is None:
            self._weights = self._weigh()
        weights, out = self._weights, np.empty((2, len(texts)))

        def work(where: tuple[Any, ...], room: _Room, lo: int, hi: int) -> None:
            run(kernel.sum_buckets, *where, weights, out[0, lo:hi], out[1, lo:hi])

        self._each(texts, work)
        return out

    def _weigh(self) -> Floats:
        """The weight of each bucket, by how many documents of the target and of all have it."""
        target, raw = sum((room.counts for room in self._rooms), np.zeros((2, 1 << self._bits), np.int64))
        both = target + raw
        out = np.where(both > 0, _ALONE, 0.0)
        found = np.flatnonzero(target)
        out[found] += _gain(target[found] / target.sum(), both[found] / both.sum())
        return out

    def _each(self, texts: Any, work: Callable[[tuple[Any, ...], _Room, int, int], None]) -> None:
        """Call `work` for slices of documents, on the threads."""
        docs, recipe = documents_of(self._analyzer, texts)
        longest = threads.longest_document(docs, recipe)

        def part(lo: int, hi: int) -> None:
            try:
                room = self._rooms.pop()  # one step: no other thread can have it too
            except IndexError:
                room = _Room(self._bits)
            try:
                seen = kernel.Seen(room.seen, self._shift, room.stamps(hi - lo))
                work((Walk(docs, recipe, scratch_for(longest)), lo, hi, seen), room, lo, hi)
            finally:
                self._rooms.append(room)  # with all that was counted before

        each_slice(part, threads.bounds_of(docs, recipe))

    def collisions(self) -> Collisions:
        """How much the buckets mix up, from all features of the first 64th of the buckets."""
        marks = np.zeros(1 << (_MARKED_BITS - 3), np.uint8)
        for room in self._rooms:
            marks |= room.marks
        by_bucket = np.bitwise_count(marks).reshape(-1, 1 << (self._shift - 3)).sum(axis=1, dtype=np.int64)
        n_features = int(by_bucket.sum())
        n_sharing = int(by_bucket[by_bucket > 1].sum())
        return Collisions(1 << self._bits, n_features * _SAMPLE, n_sharing / max(n_features, 1))


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
        return int(self._classifier.counts.doc_freq_sum[_TARGET])

    def count(self, texts: Any, side: int) -> None:
        """Count documents of the target or of raw."""
        if len(texts):
            self._classifier.learn(texts, [_LABELS[side]] * len(texts))

    def read(self, texts: Any) -> Floats:
        """The ratio of every document, and how many known features it has, (2, n_docs)."""
        return self._current_reader().scores(*documents_of(self._analyzer, texts)).T

    def _current_reader(self) -> Reader:
        """A model of the counts as they are now: its first class has the ratio, its second one counts the features."""
        counts = self._classifier.counts
        if self._reader is not None and self._reader.version == counts.version:
            return self._reader

        def weigh(cells: FeatureCounts) -> Floats:
            shares = cells.counts / self.n_target, cells.spread(cells.totals) / counts.n_doc_freq
            return np.where(cells.classes == _TARGET, _gain(*shares), 0.0)

        zero = np.zeros(2)
        scorer = Scorer(zero, zero + 1, np.array([_ALONE, 1.0]), zero, weigh, by_docs=True, presence=True)
        self._reader = Reader(whole(counts), scorer, smooth_unseen=False)
        return self._reader

    def collisions(self) -> None:
        """There are no buckets."""
