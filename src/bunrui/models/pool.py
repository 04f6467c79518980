"""Texts without a label: expectation–maximisation from the labelled documents, over a pool of texts.

    start    the model of the labelled documents
    E step   p[d, c] = P(c | d) of every text d of the pool, by the model
    M step   n[f, c] = labelled n[f, c] + w Σ_d p[d, c] x[d, f],  D[c] = labelled D[c] + w Σ_d p[d, c];  then E again

    w        the weight of the pool, λ in the article; `bunrui.unlabelled` chooses it
    x[d, f]  the text as the model reads it: occurrences, or presence

A word that only the pool has is smoothed by w λ, where others have λ.  So the model of the labelled documents alone is
the limit of a small w: with one λ for all, the many words of a pool take the counts of few documents for nothing
(docs/decisions/036).  A word that one text of the pool has, and no labelled document, says nothing of other texts and
is left out.

Expected counts are fractions.  They are a view of the integers that were learned, and are never stored.  All sums run
in the order of digests, in the order of a text, or over integers, so the order of learning changes no bit.

Nigam, McCallum, Thrun, Mitchell (2000), Text classification from labeled and unlabeled documents using EM; sections 4
and 5.2.  Golden values: tests/golden/test_nigam.py
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis.analyzer import alike, documents_of
from bunrui.counts import Counts, Label
from bunrui.engines.count import count
from bunrui.engines.labelgroups import label_sets
from bunrui.errors import OptionError
from bunrui.memory import Memory, PoolTexts, document_digests
from bunrui.models.counting import CountingModel
from bunrui.models.explain import counts_of
from bunrui.models.linear import probabilities
from bunrui.models.model import Parts, WordQuestion
from bunrui.models.scorer import ColumnSmoothing, Docs, Scorer
from bunrui.models.trained import Fitted, FittedModel, rows_of
from bunrui.models.view import FeatureCounts, gather
from bunrui.sparse import Booleans, Floats, Integers, Sparse

if TYPE_CHECKING:
    from bunrui.models.explain import Word
    from bunrui.models.loo import CountedCorpus

T = TypeVar("T")

# The most steps; fewer where the share of no text moves any more.  With 2, 5, 10 and 20 the best weight reaches
# .644, .646, .648 and .648, a mean of four corpora with 100 and 500 labels; the largest weight, which is too much for
# most of them, .618, .605, .597 and .593 (docs/decisions/036).
ROUNDS, _STILL = 5, 1e-3

# The most of a pool that is read, the texts with the lowest digests: EM reads all of it after each change.
MOST_DOCS, MOST_BYTES = 20_000, 16 << 20

# Words × classes: 128 MB, and some times that while it is computed.
MOST_CELLS = 1 << 24


class ExpectedCounts(NamedTuple):
    """Expected counts as a formula reads them (`CountView`): fractions of documents and of words.

    Attributes
    ----------
    counts : (n_features, n_classes) float64
    sums, doc_count : (n_classes,) float64
    """

    counts: Floats
    sums: Floats
    doc_count: Floats

    @property
    def n_features(self) -> int:
        """V."""
        return len(self.counts)

    def class_sum(self, by_docs: bool) -> Floats:
        """N_c."""
        return self.sums

    def total(self, by_docs: bool) -> float:
        """N."""
        return float(self.sums.sum())

    def feature_ids(self) -> npt.NDArray[np.uint32]:
        """All columns."""
        return np.arange(self.n_features, dtype=np.uint32)

    def gather(self, ids: npt.NDArray[np.uint32], by_docs: bool) -> FeatureCounts:
        """The cells of some columns, one for every class."""
        rows = self.counts if len(ids) == self.n_features else self.counts[ids]
        return FeatureCounts.of_table(ids, rows, rows.sum(axis=1))


class Expectation(NamedTuple):
    """The result of the steps: a linear model.

    Attributes
    ----------
    table : (n_features, n_classes) float64
        The share of one occurrence in a score.
    bias : (n_classes,) float64
    presence : bool
        Whether a word counts once in a text.
    """

    table: Floats
    bias: Floats
    presence: bool

    def scores(self, X: Sparse) -> Floats:
        """The scores of rows, (n_rows, n_classes)."""
        return self._read(X) @ self.table + self.bias

    def parts(self, row: Sparse) -> Parts:
        """The scores of a row, taken apart by columns."""
        row = self._read(row)
        columns = row.indices.astype(np.int64)
        return Parts(columns, row.data[:, None] * self.weights(columns), self.bias)

    def weights(self, columns: Integers) -> Floats:
        """The weights of some words, (n_columns, n_classes)."""
        return self.table[columns]

    def _read(self, X: Sparse) -> Sparse:
        return X.with_data(np.ones(X.n_cells)) if self.presence else X


class Ground:
    """Labelled counts and the rows of a pool, over the same words.

    Attributes
    ----------
    both : Counts
        Whose vocabulary has the words of both.
    ids : (n_features,) int64
        The features of `both` that are read, ascending.
    classes : list of labels
        Sorted.
    labelled : (n_features, n_classes) float64
        The learned counts: whole numbers.
    doc_count : (n_classes,) float64
    n_pool : int
    """

    def __init__(self, model: CountingModel, counts: Counts, analyzer: Analyzer, pool: list[Any]) -> None:
        self._model, self._analyzer = model, analyzer
        self._by_docs, self._presence = model.scorer_of_nothing.by_docs, model.scorer_of_nothing.presence
        live = counts.live
        self.classes, self.n_pool = live.labels, len(pool)
        pool = alike(analyzer, pool)
        docs, recipe = documents_of(analyzer, pool)
        # Under any label: only words and their totals are read of it.
        sets = label_sets([self.classes[0]] * len(pool), len(pool), counts.label_ids)
        self.both = counts.copy()
        self.both.add(count(docs, recipe, sets, counts.fingerprint))
        n_ids = self.both.n_ids
        learned = np.zeros(n_ids, np.int64)
        learned[: counts.n_ids] = counts.postings.doc_total[: counts.n_ids]
        in_pool = self.both.postings.doc_total[:n_ids] - learned
        self._least = _least_documents(learned, in_pool, MOST_CELLS // len(self.classes))
        self.ids = np.flatnonzero((learned > 0) | (in_pool >= self._least))
        self._is_common = in_pool[self.ids] >= self._least
        self.labelled = self._table(counts, learned[self.ids] > 0, live.ids)
        self.doc_count = counts.doc_count[live.ids].astype(np.float64)
        self._X = self.rows(pool)
        self._by_word = _transposed(self._X)

    def _table(self, counts: Counts, known: Booleans, columns: Integers) -> Floats:
        """Counts by feature and class, zeros too."""
        cells = gather(counts, self.ids[known].astype(np.uint32), self._by_docs)
        rank = np.full(len(counts.labels), -1, np.int64)
        rank[columns] = np.arange(len(columns))
        table = np.zeros((len(self.ids), len(columns)))
        table[cells.spread(np.flatnonzero(known)), rank[cells.classes]] = cells.counts
        return table

    def rows(self, texts: Any) -> Sparse:
        """Texts as the model reads them, in the order of each text."""
        X = rows_of(texts, self._analyzer, self.both, self.ids, len(self.ids), sort=False)
        return X.with_data(np.ones(X.n_cells) if self._presence else X.data.astype(np.float64))

    def counted(self, texts: Any, classes: Integers, copies: Integers) -> Floats:
        """The counts of labelled documents, (n_features, n_classes)."""
        X = self.rows(texts)
        own = np.zeros((X.shape[0], len(self.classes)))
        own[np.arange(len(own)), classes] = copies
        return _transposed(X) @ own

    def expect(self, weight: float, labelled: Floats | None = None, doc_count: Floats | None = None) -> Expectation:
        """The model of the labelled documents and of the pool; or of other labelled documents."""
        labelled = self.labelled if labelled is None else labelled
        doc_count = self.doc_count if doc_count is None else doc_count
        known = np.asarray(labelled.any(axis=1))
        found = self._maximise(ExpectedCounts(labelled, labelled.sum(axis=0), doc_count), known, known, weight)
        if not weight or not self.n_pool:
            return found
        lives = known | self._is_common
        lengths = self._X @ lives.astype(np.float64)
        before: Floats | None = None
        for _ in range(ROUNDS):
            shares = probabilities(self._X @ found.table + found.bias)  # rows that are read already
            if before is not None and np.abs(shares - before).max() < _STILL:
                break
            before = shares
            expected = ExpectedCounts(
                labelled + weight * (self._by_word @ shares),
                labelled.sum(axis=0) + weight * (shares * lengths[:, None]).sum(axis=0),
                doc_count + weight * shares.sum(axis=0),
            )
            found = self._maximise(expected, known, lives, weight)
        return found

    def _maximise(self, expected: ExpectedCounts, known: Booleans, lives: Booleans, weight: float) -> Expectation:
        """The formula of expected counts; words that are not there add nothing."""
        some = expected if lives.all() else expected._replace(counts=expected.counts[lives])
        by_column = np.where(known[lives], 1.0, weight) * self._model.smoothing.value
        smoothing = ColumnSmoothing(self._model.smoothing.value, by_column=by_column)
        docs = Docs(self.classes, expected.doc_count, int(expected.doc_count.sum()))
        scorer = self._model.scorer_of(some, docs, smoothing)
        weights = _weights(some, scorer)
        if len(weights) < len(lives):
            every = np.zeros(expected.counts.shape)
            every[lives] = weights
            weights = every
        # A class without a document is never predicted.
        return Expectation(weights, np.where(expected.doc_count > 0, scorer.bias, -np.inf), self._presence)


def _weights(view: ExpectedCounts, scorer: Scorer) -> Floats:
    """The weights: one occurrence adds them to the scores, (n_features, n_classes)."""
    cells = view.gather(view.feature_ids(), scorer.by_docs)
    table = scorer.weigh(cells).reshape(view.counts.shape) + scorer.slope
    if scorer.share is not None:
        table += scorer.share(cells)[:, None]
    return np.asarray(table * scorer.scale)


def _least_documents(learned: Integers, in_pool: Integers, most: int) -> int:
    """How many texts of the pool a word has to be in: 2, or more where words are too many.

    >>> [_least_documents(np.array([1, 0, 0, 0, 0]), np.array([0, 1, 2, 3, 3]), most) for most in (4, 3, 2)]
    [2, 3, 4]
    """
    n_known = int((learned > 0).sum())
    if n_known > most:
        return int(in_pool.max(initial=0)) + 1
    by_count = np.bincount(in_pool[learned == 0], minlength=3)
    at_least = np.cumsum(by_count[::-1])[::-1]
    fits = np.flatnonzero(at_least[2:] <= most - n_known)
    return int(fits[0]) + 2 if len(fits) else len(at_least)


def _transposed(X: Sparse) -> Sparse:
    """Columns as rows; their cells stay in the order of rows."""
    order = np.argsort(X.indices, kind="stable")
    return Sparse.of_sorted(X.indices[order], X.row_of_cells()[order], X.data[order], (X.shape[1], X.shape[0]))


def labelled_in(memory: Memory) -> set[bytes]:
    """The digests of the labelled documents that a memory knows one by one: of those that it keeps, and of its sample.

    A file has none: its pool leaves out the texts that its log has with a label.
    """
    if memory.is_of_file:
        return set()
    texts = memory.draw(len(memory.counts.live.labels)).texts
    known = {digest.tobytes() for text in texts for digest in document_digests([text])}
    if memory.kept is not None:
        known.update(digest.tobytes() for batch in memory.kept.batches(None)[1] for digest in batch.digests)
    return known


def unlabelled_among(pool: PoolTexts, known: Container[bytes]) -> list[Any]:
    """The texts of a pool without those whose digests are known, the lowest digests first, as many as are read."""
    found: list[Any] = []
    n_bytes = 0
    for digest in sorted(pool):
        if digest in known:
            continue
        n_bytes += len(pool[digest])
        if len(found) >= MOST_DOCS or n_bytes > MOST_BYTES:
            break
        found.append(pool[digest])
    return found


class PooledModel(FittedModel):
    """A counting model of the labelled documents and a pool, made when it first answers after a change."""

    def __init__(self, plain: CountingModel, weight: float, analyzer: Analyzer, memory: Memory) -> None:
        super().__init__(analyzer, memory)
        self._plain, self._weight = plain, weight
        self._fitted_to: Any = None

    def _key(self) -> Any:
        counts = self._memory.counts
        return id(counts), counts.version, self._memory.pool.key

    def _is_current(self, is_whole: bool) -> bool:
        return bool(self._fitted_to == self._key())

    def _fit(self, is_whole: bool) -> None:
        memory, analyzer = self._memory, self._analyzer
        with memory.lock.read():
            texts = unlabelled_among(memory.pool.texts(), labelled_in(memory))
            ground = Ground(self._plain, memory.readable_counts(), analyzer, texts)
            form, key = ground.expect(self._weight), self._key()
            fitted = Fitted(ground.both, analyzer, form, ground.ids, None, in_text_order=True)
            self._fitted, self._fitted_to = fitted, key

    def label_odds(self, texts: Any) -> tuple[list[Label], Floats]:
        """Labels, and the log-odds of each against the rest, by the labelled documents alone."""
        return self._plain.label_odds(texts)

    def words(self, question: WordQuestion) -> list[Word]:
        """The words that speak for a label, those of the pool too; their counts are those of labelled documents."""
        with self.fitted() as fitted:
            found = fitted.words(question)
            counts = self._memory.counts
            ids = np.array(counts.ids_of([word.text for word in found]), np.int64)
            learned = counts_of(counts, ids[ids >= 0].astype(np.uint32), self._plain.scorer_of_nothing.by_docs)
            rows = iter(learned)
            return [word._replace(counts=next(rows) if at >= 0 else {}) for word, at in zip(found, ids, strict=True)]

    @property
    def one_pass(self) -> bool:
        """As without the pool."""
        return self._plain.one_pass

    def leave_one_out(self, corpus: CountedCorpus, *, odds: bool = False) -> Floats:
        """Score every document by the others, as the model without the pool does."""
        return self._plain.leave_one_out(corpus, odds=odds)

    def export(self, make: Callable[[Any], T]) -> T:
        """Refused: an export has counts, and these are fractions."""
        raise OptionError(
            "this classifier answers with the help of texts without a label, which is not exported",
            hint="take these texts back first, or export a copy without them",
        )
