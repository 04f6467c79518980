"""Counts as a model reads them: those of texts (`View`) or of a matrix (`MatrixView`), by one protocol (`CountView`).

Selection loses nothing: it is computed from the counts whenever a model asks, and the next model may ask otherwise.

    min_df         the fewest documents of a feature that is read
    max_features   the features that say most about the class: by mutual information between presence and class,
                   or by the χ² statistic; ties go to the feature that sorts first
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts
from bunrui.errors import Option, OptionError, check_whole, is_whole
from bunrui.kernel import score as scoring
from bunrui.kernel.arithmetic import exact_sums, exact_sums_of, halves_of, joined, log
from bunrui.kernel.library import run
from bunrui.kernel.score import count_pairs
from bunrui.sparse import Floats, Integers

if TYPE_CHECKING:
    from bunrui.classcounts import SparseCounts

Value = Callable[["FeatureCounts"], Floats]
"""A number for each cell, or for each feature."""

_NO_KEEP = np.empty(0, np.uint8)

# Cells that are weighed at a time: some 60 MB with their weights.
_BLOCK = 1 << 20

# Features that occur less often are counted in place of being weighed, as long as the table has no more pairs.
_MOST_TOTAL, _MOST_PAIRS = 64, 1 << 18

# Cells that are filled in at once: some 4 GB with their weights.
_MOST_FILLED = 1 << 26


class CountView(Protocol):
    """All that a formula reads: counts by feature and class; int64, or float64 where rows have fractions."""

    @property
    def n_features(self) -> int:
        """V."""

    @property
    def doc_count(self) -> npt.NDArray[Any]:
        """D_c, (n_classes,)."""

    def class_sum(self, by_docs: bool) -> npt.NDArray[Any]:
        """N_c, (n_classes,)."""

    def total(self, by_docs: bool) -> Any:
        """N over distinct documents."""

    def feature_ids(self) -> npt.NDArray[np.uint32]:
        """Ids of all features."""

    def gather(self, ids: npt.NDArray[np.uint32], by_docs: bool) -> FeatureCounts:
        """The cells of some features: occurrences, or documents."""


class WordView(CountView, Protocol):
    """The same where features are words, which may have a λ of their own."""

    def words_of(self, ids: npt.NDArray[np.uint32]) -> Iterable[str]:
        """The texts of some features."""

    def has_words(self, words: list[str]) -> list[bool]:
        """Whether words are features."""


class View(NamedTuple):
    """The counts as a model reads them: all features, or those that selection keeps.

    Attributes
    ----------
    keep : (n_ids,) uint8, or empty for all
    n_features : int
        V, the features that are kept.
    class_sums : pair of (n_classes,) int64
        N_c over the features that are kept: occurrences, and documents.
    totals : pair of int
        The same over distinct documents.
    is_filled : bool
        Whether features have a cell for every class, be it 0: for a scorer that weighs every class of a feature.
    """

    counts: Counts
    keep: npt.NDArray[np.uint8]
    n_features: int
    class_sums: tuple[Integers, Integers]
    totals: tuple[int, int]
    is_filled: bool = False

    @property
    def doc_count(self) -> Integers:
        """D_c, (n_classes,)."""
        return self.counts.doc_count

    def class_sum(self, by_docs: bool) -> Integers:
        """N_c."""
        return self.class_sums[by_docs]

    def total(self, by_docs: bool) -> int:
        """N over distinct documents."""
        return self.totals[by_docs]

    def has_words(self, words: list[str]) -> list[bool]:
        """Whether words are features that are kept."""
        alive, keep = self.counts.postings.doc_total, self.keep
        return [f >= 0 and bool(alive[f]) and (not len(keep) or bool(keep[f])) for f in self.counts.ids_of(words)]

    def words_of(self, ids: npt.NDArray[np.uint32]) -> list[str]:
        """The texts of some features."""
        return self.counts.texts_of(ids)

    def sizes(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
        """How many cells some features have."""
        if self.is_filled:
            _check_filled(len(ids), len(self.doc_count))
            return np.full(len(ids), len(self.doc_count))
        return np.asarray(self.counts.postings.lengths[ids])

    def gather(self, ids: npt.NDArray[np.uint32], by_docs: bool) -> FeatureCounts:
        """The cells of some features: occurrences, or documents."""
        cells = gather(self.counts, ids, by_docs)
        return cells.filled(len(self.doc_count)) if self.is_filled else cells

    def feature_ids(self) -> npt.NDArray[np.uint32]:
        """Ids of the features that are kept."""
        ids = self.counts.live_ids()
        return (ids[self.keep[ids] != 0] if len(self.keep) else ids).astype(np.uint32)


class MatrixView(NamedTuple):
    """Counts of a matrix as a formula reads them.

    Every column is a feature.  `by_docs` makes no difference: the rows were counted as the model reads them.
    """

    doc_count: npt.NDArray[Any]
    counts: SparseCounts

    @property
    def n_features(self) -> int:
        """V."""
        return self.counts.n_features

    def class_sum(self, by_docs: bool) -> npt.NDArray[Any]:
        """N_c, (n_classes,)."""
        return self.counts.class_sum

    def total(self, by_docs: bool) -> Any:
        """N."""
        return self.counts.class_sum.sum()

    def feature_ids(self) -> npt.NDArray[np.uint32]:
        """All columns."""
        return np.arange(self.n_features, dtype=np.uint32)

    def gather(self, ids: npt.NDArray[np.uint32], by_docs: bool) -> FeatureCounts:
        """The cells of some columns."""
        is_all = len(ids) == self.n_features and np.array_equal(ids, self.feature_ids())
        cells = self.counts.cells if is_all else self.counts.cells.take(ids)
        totals, lengths = np.asarray(cells.row_sums(), cells.data.dtype), cells.lengths.astype(np.int32)
        return FeatureCounts(ids, cells.indptr[:-1], lengths, cells.indices, cells.data, totals)


def in_blocks(view: CountView, ids: npt.NDArray[np.uint32], by_docs: bool) -> Iterator[FeatureCounts]:
    """The cells of some features; those of texts in blocks, to save memory."""
    if not isinstance(view, View):
        yield view.gather(ids, by_docs)
        return
    ends = np.cumsum(view.sizes(ids), dtype=np.int64)
    n_cells = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(_BLOCK, n_cells, _BLOCK), side="left") + 1
    for part in np.split(ids, np.unique(cuts)):
        if len(part):
            yield view.gather(part, by_docs)


@runtime_checkable
class Summing(Protocol):
    """A view that sums its features up by itself, as leave-one-out does for many documents at once."""

    def sum_cells(self, value: Value, by_class: bool, by_word: bool) -> Floats:
        """The sum of a value over all cells, by class."""

    def sum_features(self, value: Value, by_word: bool) -> Floats:
        """The sum of a value over all features, one for all classes or one by class."""


def sum_cells(view: CountView, value: Value, by_docs: bool, *, by_class: bool = True, by_word: bool = True) -> Floats:
    """The sum of a value over all cells of a view, by class, the same in any order.

    `by_class`: the value of a cell depends on its class; `by_word`: on its word.  Else it depends on counts alone.
    """
    if isinstance(view, Summing):
        return view.sum_cells(value, by_class, by_word)
    if isinstance(view, View) and not by_class and not by_word:
        return joined(tally(view, by_docs).sum_cells(value))
    blocks = in_blocks(view, view.feature_ids(), by_docs)
    return exact_sums_of(((value(cells), cells.classes) for cells in blocks), len(view.doc_count))


def sum_features(view: CountView, value: Value, by_docs: bool, *, by_word: bool = True) -> Floats:
    """The sum of a value over all features of a view, the same in any order: one for all classes."""
    if isinstance(view, Summing):
        return view.sum_features(value, by_word)
    if isinstance(view, View) and not by_word:
        return joined(tally(view, by_docs).sum_features(value))
    shared = (value(cells) for cells in in_blocks(view, view.feature_ids(), by_docs))
    return exact_sums_of(((each, np.zeros(len(each), np.int32)) for each in shared), 1)


class Tally(NamedTuple):
    """The cells of a view for values that depend on counts alone: most features are rare, and their cells alike.

    Attributes
    ----------
    pairs : FeatureCounts
        A feature for every small n[f], with a cell for every count up to it.
    n_cells : (n_classes, n_pairs) int64
        How many cells of the view, by class, are like each of these.
    n_features : (n_totals,) int64
        How many features are.
    others : function
        The other cells, in blocks.
    """

    pairs: FeatureCounts
    n_cells: Integers
    n_features: Integers
    others: Callable[[], Iterator[FeatureCounts]]

    def sum_cells(self, value: Value) -> Integers:
        """The sum of a value by class, in the halves of `kernel.arithmetic`."""
        n_classes, n_pairs = self.n_cells.shape
        sums = halves_of(value(self.pairs), np.arange(n_pairs), n_pairs) @ self.n_cells.T
        for cells in self.others():
            sums += halves_of(value(cells), cells.classes, n_classes)
        return sums

    def sum_features(self, value: Value) -> Integers:
        """The sum of a value over features, in halves, (2, 1)."""
        n = len(self.n_features)
        sums = halves_of(value(self.pairs), np.arange(n), n) @ self.n_features[:, None]
        for cells in self.others():
            sums += halves_of(value(cells), np.zeros(len(cells.ids)), 1)
        return sums


def tally(view: View, by_docs: bool) -> Tally:
    """Count the cells of a view that are alike."""
    n_classes, ids = len(view.doc_count), view.feature_ids()
    most = max(min(_MOST_TOTAL, math.isqrt(_MOST_PAIRS // max(n_classes, 1))), 1)
    cells, features = np.zeros(n_classes * most**2, np.int64), np.zeros(most, np.int64)
    others = np.empty(len(ids), np.uint32)
    n_others = run(count_pairs, view.counts.postings, ids, int(by_docs), most, cells, features, others)
    totals = np.arange(1, most)
    none = np.zeros(most - 1, np.int32)  # `up_to` fills it in
    pairs = FeatureCounts(none.astype(np.uint32), none.astype(np.int64), none, none, none, totals).up_to(totals)
    at = pairs.spread(totals) * most + pairs.counts
    by_class = cells.reshape(n_classes, most**2)[:, at]
    return Tally(pairs, by_class, features[1:], lambda: in_blocks(view, others[:n_others], by_docs))


def distinct_docs(view: CountView) -> Any:
    """D, each document once; those of texts alone may have several labels."""
    return view.counts.n_docs if isinstance(view, View) else view.doc_count.sum()


def whole(counts: Counts) -> View:
    """The view that keeps everything."""
    sums, totals = (counts.term_sum, counts.doc_freq_sum), (counts.n_terms, counts.n_doc_freq)
    return View(counts, _NO_KEEP, counts.n_features, sums, totals)


class FeatureCounts(NamedTuple):
    """Counts of some features: those of feature k stand at starts[k] … starts[k] + lengths[k] - 1."""

    ids: npt.NDArray[np.uint32]
    starts: Integers
    lengths: npt.NDArray[np.int32]
    classes: npt.NDArray[np.int32]
    counts: npt.NDArray[Any]  # n[f, c]
    totals: npt.NDArray[Any]  # n[f], by feature

    @classmethod
    def of_table(cls, ids: npt.NDArray[np.uint32], table: npt.NDArray[Any], totals: npt.NDArray[Any]) -> FeatureCounts:
        """Some features with a cell for every class, be it 0, (n_features, n_classes)."""
        n, n_classes = table.shape
        lengths, classes = np.full(n, n_classes, np.int32), np.tile(np.arange(n_classes, dtype=np.int32), n)
        return cls(ids, np.arange(n) * n_classes, lengths, classes, table.reshape(-1), totals)

    def spread(self, by_feature: Any) -> Any:
        """A value for each feature → for each cell."""
        return np.repeat(by_feature, self.lengths)

    def largest(self) -> Integers:
        """The largest count of every feature, 0 where it has no cell."""
        # Lists without cells would hide the count of others.
        lists = self.lengths > 0
        most = np.zeros(len(self.ids), np.int64)
        if lists.any():
            most[lists] = np.maximum.reduceat(self.counts, self.starts[lists])
        return most

    def up_to(self, most: Integers) -> FeatureCounts:
        """The same features with a cell of class 0 for every count from 1 to `most`, (n_features,).

        Examples
        --------
        >>> two = np.array([1, 1])
        >>> cells = FeatureCounts(np.array([7, 8], np.uint32), two - 1, two, two, two, two)
        >>> cells.up_to(np.array([3, 2])).counts.tolist()
        [1, 2, 3, 1, 2]
        """
        starts = np.cumsum(most) - most
        counts = np.arange(1, int(most.sum()) + 1) - np.repeat(starts, most)
        classes = np.zeros(len(counts), np.int32)
        return self._replace(starts=starts, lengths=most.astype(np.int32), classes=classes, counts=counts)

    def filled(self, n_classes: int) -> FeatureCounts:
        """The same with a cell for every class, in the order of classes: 0 where a class never had the feature.

        Examples
        --------
        >>> one = np.array([1])
        >>> cells = FeatureCounts(np.array([7], np.uint32), one - 1, one, np.array([2]), np.array([5]), np.array([9]))
        >>> cells.filled(4).counts.tolist()
        [0, 0, 5, 0]
        """
        n = len(self.ids)
        _check_filled(n, n_classes)
        counts = np.zeros((n, n_classes), self.counts.dtype)
        counts[self.spread(np.arange(n)), self.classes] = self.counts
        return FeatureCounts.of_table(self.ids, counts, self.totals)


def _check_filled(n_features: int, n_classes: int) -> None:
    if n_features * n_classes > _MOST_FILLED:
        raise OptionError(
            f"{n_features:,} features × {n_classes:,} classes are too many for weights of every class",
            option="against_rest",
            hint=(
                "leave ",
                Option("against_rest"),
                " out, or read fewer features, for texts with ",
                Option("min_df"),
                " or ",
                Option("max_features"),
            ),
        )


def gather(counts: Counts, ids: npt.NDArray[np.uint32], by_docs: bool) -> FeatureCounts:
    """The cells of some features: occurrences, or documents."""
    n_cells = int(counts.postings.lengths[ids].sum())
    starts, totals = np.empty((2, len(ids)), np.int64)
    lengths, classes = np.empty(len(ids), np.int32), np.empty(n_cells, np.int32)
    found = np.empty(n_cells, np.int64)
    run(scoring.gather, counts.postings, ids, int(by_docs), starts, lengths, classes, found, totals)
    return FeatureCounts(ids, starts, lengths, classes, found, totals)


def select(counts: Counts, min_df: int, max_features: int | tuple[str, int] | None) -> View:
    """The view that keeps some features.

    `max_features` is a number (by mutual information), or a pair of `"mi"` or `"chi2"` and a number.
    """
    if type(min_df) is int and min_df == 1 and max_features is None:
        return whole(counts)
    if isinstance(max_features, tuple) and len(max_features) != 2:
        raise OptionError(option="max_features", value=max_features, expected="a number, or a pair like ('chi2', 1000)")
    method, most = max_features if isinstance(max_features, tuple) else ("mi", max_features)
    if not is_whole(min_df) or min_df < 1:
        raise OptionError(option="min_df", value=min_df, expected="a whole number of documents, at least 1")
    if method not in ("mi", "chi2"):
        raise OptionError(f"features are chosen by 'mi' or 'chi2', not {method!r}", option="max_features")
    check_whole("max_features", most, or_none=True)
    if min_df == 1 and most is None:
        return whole(counts)
    ids = counts.live_ids()
    ids = ids[counts.postings.doc_total[ids] >= min_df]
    if most is not None and most < len(ids):
        ids = _best(counts, ids, method, most)
    keep = np.zeros(counts.n_ids, np.uint8)
    keep[ids] = 1

    def class_sum(by_docs: bool) -> Integers:
        cells = gather(counts, ids.astype(np.uint32), by_docs)
        return np.bincount(cells.classes, cells.counts, len(counts.labels)).astype(np.int64)

    totals = int(counts.postings.term_total[ids].sum()), int(counts.postings.doc_total[ids].sum())
    return View(counts, keep, len(ids), (class_sum(False), class_sum(True)), totals)


def _best(counts: Counts, ids: Integers, method: str, most: int) -> Integers:
    cells = gather(counts, ids.astype(np.uint32), by_docs=True)
    score = (mutual_information if method == "mi" else chi_squared)(cells, counts)
    texts = counts.features()
    order = sorted(range(len(ids)), key=lambda k: (-score[k], texts[ids[k]]))
    return np.sort(ids[order[:most]])


def mutual_information(cells: FeatureCounts, counts: Counts) -> Floats:
    """Between the presence of a feature and the class, in nats, by feature.  Manning et al. (2008), section 13.5.1."""
    n, df, docs, present = _table(cells, counts)
    absent = docs - present
    spread_df = cells.spread(df)
    with_f = present * (log(n * present) - log(spread_df * docs))
    # The share of a class that never had the feature in "absent" is counted for all classes at once, below.
    less = np.where(absent > 0, absent * (log(np.maximum(absent, 1.0)) - log(docs)), 0.0)
    rest = np.maximum(n - df, 1.0)
    without = (n - df) * (log(n) - log(rest))
    return (_by_feature(cells, with_f + less) + without) / n


def chi_squared(cells: FeatureCounts, counts: Counts) -> Floats:
    """Pearson's statistic of presence against class, the sum of (O - E)² / E, by feature."""
    n, df, docs, present = _table(cells, counts)
    rest = n - df
    ratio = cells.spread(df) / n
    with_f = (present - docs * ratio) ** 2 / (docs * ratio)
    expected = docs * (1.0 - ratio)
    without = np.where(expected > 0, (docs - present - expected) ** 2 / np.where(expected > 0, expected, 1.0), 0.0)
    # A class that never had the feature adds its documents times df / (n - df).
    others = n - np.bincount(cells.spread(np.arange(len(cells.ids))), docs, len(cells.ids))
    return _by_feature(cells, with_f + without) + others * np.where(rest > 0, df / np.where(rest > 0, rest, 1.0), 0.0)


def _table(cells: FeatureCounts, counts: Counts) -> tuple[float, Floats, Floats, Floats]:
    # A document with several labels is an observation of each: both margins are sums over classes.
    docs = counts.doc_count.astype(np.float64)
    present = cells.counts.astype(np.float64)
    df = np.bincount(cells.spread(np.arange(len(cells.ids))), present, len(cells.ids)).astype(np.float64)
    return float(docs.sum()), df, docs[cells.classes], present


def _by_feature(cells: FeatureCounts, values: Floats) -> Floats:
    return exact_sums(values, cells.spread(np.arange(len(cells.ids), dtype=np.int32)), len(cells.ids))
