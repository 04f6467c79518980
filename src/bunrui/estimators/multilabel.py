"""`MultilabelNB`: rows with any number of labels, each told from the rest by the same counts.

    score[l] = log P(l) / P(rest) + sum over words of x[f] * (w[f, l] - w[f, rest])

    n[f, l], D[l]      occurrences of feature f in the rows with label l, and these rows
    n[f], D            the same for all rows; each row counts once
    n[f] - n[f, l]     the rest of label l; never counted
    w                  one occurrence adds it to the score of a class; it comes from the formula of the estimator

So one pass over the rows counts all labels, however many a row has.  The counts of a rest are dense, even where those
of its label are sparse.  So tables are made for a block of labels at a time, and kept only where all of them are small.

Labels come in one of three forms:

    form         y                                              predictions
    indicator    0/1, (n_rows, n_labels), dense or sparse       the same, int64, (n_rows, n_labels)
    sets         a collection of labels for every row           a set of labels for every row
    single       a label for every row                          a label for every row

A list of lists is an indicator matrix if all have the same length, two or more, and nothing but 0 and 1 in them; else
its lists are label sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from bunrui.classcounts import ROUNDING, ClassCounts, Labels, SparseCounts, encode_labels
from bunrui.errors import DataError, LabelError, MismatchError, Option, OptionError, UnlearnError
from bunrui.estimators.base import CountingClassifier, canonical, check_weights
from bunrui.estimators.discrete import ComplementNB, DiscreteNB, MultinomialNB
from bunrui.models.linear import DENSE_CELLS, dense_table, log_sum_exp
from bunrui.models.rest import best_cut, labels_above
from bunrui.models.view import FeatureCounts
from bunrui.sparse import Floats, Numbers, Sparse

Ids = npt.NDArray[np.uint32]

INDICATOR, SETS, SINGLE = "indicator", "sets", "single"

_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
_FOLDS = 5
# float64 holds every whole number up to here.
_MOST = 2**53
# Cells of a table that is made for one call, labels and rests.
_BLOCK_CELLS = 1 << 21


class MultilabelNB(CountingClassifier):
    """Several labels a row: each label against the rest, from one pass over the rows.

    The score of a label is that of a two-class estimator fitted on it and on all rows without it,

        score = log P(label, row) - log P(rest, row)        predicted where score > threshold

    but the rest is not counted: it is the totals of all rows less those of the label.

    Parameters
    ----------
    estimator : MultinomialNB, BinaryNB, MixedNB, BernoulliNB or ComplementNB, optional
        The formula with its parameters, by default `MultinomialNB()`.  Its `prior` is of two classes, 0 (rest) and 1
        (label).  `ComplementNB` has no prior; without `norm` it is `MultinomialNB` without a prior.
    threshold : float, (n_labels,) array, mapping from label to float, or "folds"
        0 by default.  "folds" chooses for each label the threshold with the best F1.  Row k is in fold k modulo 5, and
        the counts without this fold score it (folds are subtracted, not counted again).  A threshold below 0 is chosen
        only for an F1 of .3 or more.

    Attributes
    ----------
    classes_ : (n_labels,)
        Labels, sorted; of an indicator matrix, the numbers of its columns.
    class_count_ : (n_labels,)
        Rows that have the label, or the sum of their weights.
    class_log_prior_ : (n_labels,)
        log P(label).
    thresholds_ : (n_labels,)
    multilabel_ : bool
        Whether it was fitted on rows that may have several labels.
    n_features_in_, feature_names_in_
        As those of `MultinomialNB`.

    Notes
    -----
    `y` is an indicator matrix (0/1, dense or sparse), or a list with a collection of labels for every row; predictions
    have the same form, label sets as sets.  With one label a row, the label with the largest score is predicted, and
    thresholds are not used.

    There is no `decision_function`: `predict_log_odds` gives the scores, before any threshold.

    A label that no row has is never predicted, a label that all rows have always is.

    Examples
    --------
    >>> X = [[2, 0, 0], [0, 2, 0], [1, 1, 0], [0, 0, 3]]
    >>> clf = MultilabelNB().fit(X, [["tea"], ["ham"], ["ham", "tea"], []])
    >>> clf.classes_.tolist()
    ['ham', 'tea']
    >>> [sorted(labels) for labels in clf.predict([[3, 0, 0], [2, 2, 0], [0, 0, 1]])]
    [['tea'], ['ham', 'tea'], []]
    >>> MultilabelNB().fit(X, [[1, 0], [0, 1], [1, 1], [0, 0]]).predict([[3, 0, 0]])
    array([[1, 0]])
    """

    _counting: ClassVar[tuple[str, ...]] = ("reads",)
    _shape: ClassVar[tuple[str, ...]] = (*CountingClassifier._shape, "_form")
    _form: str
    _chosen: Floats

    def __init__(self, estimator: Any = None, *, threshold: Any = 0.0) -> None:
        self.estimator = estimator
        self.threshold = threshold

    # The formula

    @property
    def _model(self) -> DiscreteNB:
        """A copy of the estimator whose formula is used."""
        given = MultinomialNB() if self.estimator is None else self.estimator
        if not isinstance(given, DiscreteNB):
            expected = "MultinomialNB(), BinaryNB(), MixedNB(), BernoulliNB() or ComplementNB()"
            raise OptionError(option="estimator", value=given, expected=expected)
        model: DiscreteNB = clone(given)
        if isinstance(model, ComplementNB) and (any(model.steps) or model.transform_queries):
            raise OptionError("log_tf, idf and length_norm keep the rows, which MultilabelNB does not: leave them out")
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    @property
    def reads(self) -> str:
        """The part of a row that is counted: it cannot change once something is."""
        model = self._model
        if not model.counts_presence:
            return "occurrences"
        level = getattr(model, "binarize", 0)
        return "shares" if level is None else "presence" if level == 0 else f"presence above {level}"

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn.

        Parameters
        ----------
        X : array, data frame, sparse matrix or sparse array, (n_rows, n_features)
        y : indicator matrix (n_rows, n_labels), or list of label sets
        sample_weight : (n_rows,), optional
        """
        super().fit(X, y, sample_weight)
        if self._form == INDICATOR:
            self._declared = self._learned.classes
        if hasattr(self, "_chosen"):
            del self._chosen
        if self._by_folds and self._form != SINGLE:
            self._chosen = self._choose(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, all or none of them.

        Parameters
        ----------
        X : array, data frame, sparse matrix or sparse array, (n_rows, n_features)
        y : indicator matrix (n_rows, n_labels), or list of label sets
        classes : (n_labels,), optional
            If given, now or before, other labels are errors.  The columns of an indicator matrix are all given.
        sample_weight : (n_rows,), optional
        """
        form = _form_of(y)
        self._refuse_folds("partial_fit", form)
        if classes is None and form == INDICATOR:
            classes = np.arange(np.shape(y)[1])
        return super().partial_fit(X, y, classes, sample_weight)

    def merge(self, other: Self) -> Self:
        """Add the counts of another estimator of the same kind, which has learned other rows."""
        check_is_fitted(other)
        self._refuse_folds("merge", other._form)
        return super().merge(other)

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None, *, exact: bool = True) -> Self:
        """Take rows back, all or none of them; see `MultinomialNB`."""
        check_is_fitted(self)
        self._refuse_folds("unlearn", self._form)
        return super().unlearn(X, y, sample_weight, exact=exact)

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> LabelCounts:
        if not reset:
            self._check_options()
        form, X, labels, weights = self._with_labels(X, y, sample_weight, reset)
        n_labels = len(labels[0])
        if not reset and form != self._form:
            raise DataError(f"y was given as {self._form} before, now as {form}: give it in one form")
        if not reset and form == INDICATOR and n_labels != len(self._learned.classes):
            raise DataError(f"y has {n_labels} columns, but {len(self._learned.classes)} labels were learned")
        counts = self._count(X, labels, weights)
        if reset:
            self._form = form
        return counts

    def _count(self, X: Any, labels: tuple[Labels, Any], weights: Numbers) -> LabelCounts:
        model = self._model
        return count_labels(model.rows_to_count(X), labels, weights, model.counts_presence)

    def _with_labels(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[str, Any, tuple[Labels, Any], Numbers]:
        """The form of the labels; rows, labels and weights, checked."""
        form = _form_of(y)
        if form == SINGLE:
            X, y, weights = self._labelled(X, y, sample_weight, reset)
            classes, codes = encode_labels(y)
            return form, X, (classes, _of_codes(codes, len(classes))), weights
        X = validate_data(self, X, "no_validation", reset=reset, **self._accepted)
        labels = _indicator(y) if form == INDICATOR else _label_sets(y)
        check_consistent_length(X, labels[1])
        return form, X, labels, check_weights(sample_weight, X.shape[0])

    def _check_shapes(self, other: Self) -> None:
        super()._check_shapes(other)
        if self._form != other._form:
            raise MismatchError(f"labels given as {self._form} and as {other._form} cannot be merged")
        if self._form == INDICATOR and len(self.classes_) != len(other.classes_):
            raise MismatchError(f"{len(self.classes_)} and {len(other.classes_)} labels cannot be merged")

    def check_parameters(self, learned: LabelCounts) -> None:
        model = self._model
        if model.against_rest:
            # The two sides of a label would be held against each other twice.
            alone = "MultilabelNB holds each label against the rest by itself: leave "
            raise OptionError((alone, Option("against_rest"), " out"))
        # The estimator refuses its own parameters.
        model.n_features_in_ = self.n_features_in_
        model.check_parameters(learned.pair(0))
        if not self._by_folds:
            _thresholds(self.threshold, learned.classes)

    # Scores

    @property
    def class_log_prior_(self) -> Floats:
        """log P(label), (n_labels,)."""
        learned = self._known("class_log_prior_")
        return log_priors(self._model, learned)[:, 1]

    @property
    def predict_joint_log_proba(self) -> NoReturn:
        """Not here: each label has a rest of its own."""
        raise AttributeError("every label is scored against a rest of its own: use predict_log_odds")

    # Thresholds

    @property
    def _by_folds(self) -> bool:
        return isinstance(self.threshold, str) and self.threshold == "folds"

    def _refuse_folds(self, what: str, form: str) -> None:
        if self._by_folds and form != SINGLE:
            needs = f" needs all rows at once: call fit, or give numbers for {what}"
            raise OptionError((Option("threshold", "folds"), needs))

    def _choose(self, X: Any, y: Any, sample_weight: Any) -> Floats:
        _, X, (_, Y), weights = self._with_labels(X, y, sample_weight, reset=False)
        X, n_rows, model = canonical(X), X.shape[0], self._model
        fold = np.arange(n_rows) % min(_FOLDS, n_rows)
        scores = np.zeros(Y.shape)
        for k in range(int(fold.max()) + 1 if n_rows > 1 else 0):
            out = np.flatnonzero(fold == k)
            part = self._count(X[out], (self._learned.classes, Y[out]), weights[out])
            left = self._learned.minus(part, self._learned.classes, exact=False)
            if left.n_docs > 0:
                scores[out] = log_odds(model, left, model.rows_to_predict(X[out]))
        columns, counted = sparse.csc_array(Y), weights.astype(np.float64)
        has = (columns[:, [k]].toarray()[:, 0] > 0 for k in range(Y.shape[1]))
        return np.array([best_cut(own, have, counted) for own, have in zip(scores.T, has, strict=True)], np.float64)

    @property
    def thresholds_(self) -> Floats:
        """The score above which a row gets a label, (n_labels,)."""
        learned = self._known("thresholds_")
        if self._form == SINGLE:
            return np.zeros(len(learned.classes))
        if not self._by_folds:
            return _thresholds(self.threshold, learned.classes)
        if not hasattr(self, "_chosen"):
            raise OptionError((Option("threshold", "folds"), " is chosen by fit: call it again"))
        return self._chosen

    # Predicting

    def predict_log_odds(self, X: Any) -> Floats:
        """Scores: log P(label, row) - log P(rest, row), (n_rows, n_labels)."""
        X, model = self._checked(X), self._model
        return log_odds(model, self._learned, model.rows_to_predict(X))

    def predict(self, X: Any) -> Any:
        """The labels of every row, in the form of `y`."""
        scores = self.predict_log_odds(X)
        if self._form == SINGLE:
            return self.classes_[scores.argmax(axis=1)]
        if self._form == SETS:
            return labels_above(self.classes_.tolist(), scores, self.thresholds_)
        return (scores > self.thresholds_).astype(np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """P(label | row), (n_rows, n_labels), for any threshold; with one label a row they add up to 1."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(label | row), (n_rows, n_labels)."""
        logs = -np.logaddexp(0.0, -self.predict_log_odds(X))
        return np.asarray(logs - log_sum_exp(logs)) if self._form == SINGLE else np.asarray(logs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose predicted labels are exactly their own."""
        check_is_fitted(self)
        if self._form != SETS:
            return float(super().score(X, y, sample_weight))
        right = [set(true) == found for true, found in zip(y, self.predict(X), strict=True)]
        return float(np.average(right, weights=sample_weight))

    @property
    def multilabel_(self) -> bool:
        """Whether rows may have several labels."""
        self._known("multilabel_")
        return self._form != SINGLE

    # As a scikit-learn estimator

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned") and bool(self._learned.n_docs > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        given = MultinomialNB() if self.estimator is None else self.estimator
        tags.input_tags.positive_only = given.__sklearn_tags__().input_tags.positive_only
        return tags


# Counts


@dataclass(frozen=True, eq=False)
class LabelCounts(ClassCounts):
    """Counts by feature and label: a row counts once for each label that it has.

    Attributes
    ----------
    every : ClassCounts
        All rows, as one class.
    """

    every: ClassCounts

    @property
    def n_docs(self) -> Any:
        """D."""
        return self.every.doc_count[0]

    @property
    def n_features(self) -> int:
        """The columns."""
        return int(self.part.n_features)

    def pair(self, label: int) -> ClassCounts:
        """The rows of a rest (class 0) and of its label (class 1), without features: for priors and parameters."""
        docs = self.doc_count[label] if len(self.classes) else 0
        return ClassCounts(np.array([0, 1]), np.maximum(np.array([self.n_docs - docs, docs]), 0), {})

    def plus(self, other: Self) -> Self:
        """The counts of both."""
        return replace(super().plus(other), every=self.every.plus(other.every))

    def minus(self, other: Self, keep: Labels, exact: bool) -> Self:
        """Without some rows; labels that have none left go, but for those in `keep`."""
        left, every = super().minus(other, keep, exact), self.every.minus(other.every, self.every.classes, exact)
        cells, totals = left.part.cells, every.part.cells.toarray()[:, 0]
        # Both can be subtracted, and the rows may still have had other labels: then a label has more left than all
        # rows together.  Sums of fractions are rounded.
        whole = left.doc_count.dtype.kind == cells.data.dtype.kind == every.doc_count.dtype.kind == "i"
        room = 1 if whole else 1 + ROUNDING
        if (left.doc_count > every.doc_count * room).any() or (cells.data > totals[cells.row_of_cells()] * room).any():
            raise UnlearnError("these rows were never learned with these labels")
        return replace(left, every=every)


class PairView(NamedTuple):
    """Some labels and the rest of each as classes of a formula (a `CountView`): first the labels, then their rests.

    The totals are those of all rows, which both classes of a pair make up; so a formula that counts outside a class
    finds the other of its pair.
    """

    learned: LabelCounts
    labels: slice

    @property
    def n_features(self) -> int:
        """V."""
        return self.learned.n_features

    @property
    def doc_count(self) -> Numbers:
        """D[l], then D - D[l]."""
        return _with_rest(self.learned.doc_count[self.labels], self.learned.n_docs)

    def class_sum(self, by_docs: bool) -> Numbers:
        """N[l], then N - N[l]."""
        return _with_rest(self.learned.part.class_sum[self.labels], self.total(by_docs))

    def total(self, by_docs: bool) -> Any:
        """N."""
        return self.learned.every.part.class_sum[0]

    def feature_ids(self) -> Ids:
        """All columns."""
        return np.arange(self.n_features, dtype=np.uint32)

    def gather(self, ids: Ids, by_docs: bool) -> FeatureCounts:
        """The cells of some columns: one for each label and each rest, also where it is 0."""
        own, every = (each.part.cells.take(ids).toarray() for each in (self.learned, self.learned.every))
        return FeatureCounts.of_table(ids, _with_rest(own[:, self.labels], every), every[:, 0])


def _with_rest(own: Numbers, total: Any) -> Numbers:
    """Numbers of labels, then those of their rests: at least 0, also where fractions were rounded."""
    return np.concatenate([own, np.maximum(total - own, 0)], axis=-1)


def count_labels(X: Any, labels: tuple[Labels, Any], weights: Numbers, presence: bool) -> LabelCounts:
    """Count rows, once for all labels.

    Parameters
    ----------
    X : (n_rows, n_features) array or csr_array of int64 or float64
    labels : classes, and a csr_array of int64, (n_rows, n_classes)
    weights : (n_rows,) int64 or float64
    """
    classes, Y = labels
    n_rows, n_labels = Y.shape
    top = abs(X).max() if n_rows else 0
    if X.dtype.kind == weights.dtype.kind == "i" and float(top) * float(weights.sum()) >= _MOST:
        X = X.astype(np.float64)
    # The last column stands for all rows: one product sums them with the labels.
    everywhere = sparse.csr_array(np.ones((n_rows, 1), np.int64))
    rows = sparse.csr_array(sparse.hstack([Y, everywhere]).T.multiply(weights))
    sums = Sparse.of(sparse.csr_array((rows @ X).T)).without_zeros()
    docs = np.asarray(rows @ np.ones(n_rows, weights.dtype))
    own, every = (sums.columns(np.arange(*part)) for part in ((n_labels,), (n_labels, n_labels + 1)))
    total = ClassCounts(np.zeros(1, np.int64), docs[n_labels:], {"": SparseCounts(every, presence)})
    return LabelCounts(classes, docs[:n_labels], {"": SparseCounts(own, presence)}, total)


# Scores


def log_priors(model: DiscreteNB, learned: LabelCounts) -> Floats:
    """log P(rest) and log P(label), (n_labels, 2)."""
    pairs = (learned.pair(label) for label in range(len(learned.classes)))
    return np.array([model.log_prior_of(pair) for pair in pairs]).reshape(-1, 2)


def log_odds(model: DiscreteNB, learned: LabelCounts, X: Any) -> Floats:
    """Scores of rows as the model reads them, (n_rows, n_labels).

    -inf for a label that no row had, and inf for one that all had.
    """
    n_labels = len(learned.classes)

    def make() -> tuple[Floats, Floats]:
        every = np.arange(learned.n_features, dtype=np.uint32)
        _, tables, biases = zip(*_tables(model, learned, every), strict=True)
        return np.hstack(tables), np.concatenate(biases)

    if learned.n_features * n_labels <= DENSE_CELLS:
        # Made once for the same counts and parameters.
        table, bias = learned.once("table", (type(model), model.key()), make)
        scores = np.asarray(X @ table + bias)
    else:
        X = sparse.csr_array(X)
        ids = np.unique(X.indices).astype(np.uint32)
        X = X[:, ids]
        scores = np.empty((X.shape[0], n_labels))
        for labels, table, bias in _tables(model, learned, ids):
            scores[:, labels] = X @ table + bias
    scores[:, learned.doc_count >= learned.n_docs] = np.inf
    scores[:, learned.doc_count == 0] = -np.inf
    return scores


def _tables(model: DiscreteNB, learned: LabelCounts, ids: Ids) -> Iterator[tuple[slice, Floats, Floats]]:
    """The weights of some columns for as many labels at a time as fit into memory, and the biases of these labels."""
    priors, n_labels = log_priors(model, learned), len(learned.classes)
    # A prior of -inf decides by itself, and would only spoil the table.
    priors = np.where(np.isfinite(priors), priors, 0.0)
    step = max(1, _BLOCK_CELLS // max(learned.n_features, 1))
    for at in range(0, max(n_labels, 1), step):
        labels = slice(at, min(at + step, n_labels))
        view, prior = PairView(learned, labels), priors[labels]
        scorer = model.scorer_of(view, np.concatenate([prior[:, 1], prior[:, 0]]))
        table, n = dense_table(view, scorer, ids), len(prior)
        yield labels, table[:, :n] - table[:, n:], scorer.bias[:n] - scorer.bias[n:]


# Labels and thresholds


def _form_of(y: Any) -> str:
    """Which of the three forms labels have.

    Examples
    --------
    >>> _form_of([[0, 1], [1, 1]]), _form_of([["a"], ["a", "b"]]), _form_of(["a", "b"])
    ('indicator', 'sets', 'single')
    """
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if sparse.issparse(y) or (len(shape) == 2 and shape[1] != 1):
        return INDICATOR
    if len(shape) == 2:
        return SINGLE  # scikit-learn warns of such a column
    rows = _rows(y)
    if not any(isinstance(row, _COLLECTIONS) for row in rows):
        return SINGLE
    sizes = {len(row) if isinstance(row, (list, tuple, np.ndarray)) else 0 for row in rows}
    same = len(sizes) == 1 and min(sizes) > 1
    return INDICATOR if same and all(_is_bit(value) for row in rows for value in row) else SETS


def _indicator(y: Any) -> tuple[Labels, Any]:
    """The columns of an indicator matrix, and the matrix as a csr_array of int64, (n_rows, n_columns)."""
    given: Any = y if sparse.issparse(y) else np.asarray(y)
    values: npt.NDArray[Any] = given.data if sparse.issparse(given) else given
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise LabelError("an indicator matrix has 0 and 1 only: give 1 where a row has the label of the column")
    matrix = sparse.csr_array(given).astype(np.int64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return np.arange(matrix.shape[1]), matrix


def _label_sets(y: Any) -> tuple[Labels, Any]:
    """Label sets as their classes, sorted, and a csr_array of int64, (n_rows, n_classes).

    Examples
    --------
    >>> classes, Y = _label_sets([{"b"}, ["a", "b"], []])
    >>> classes.tolist(), Y.toarray().tolist()
    (['a', 'b'], [[0, 1], [1, 1], [0, 0]])
    """
    rows = _rows(y)
    for k, row in enumerate(rows):
        if not isinstance(row, _COLLECTIONS):
            raise LabelError(f"row {k} has {row!r}: give each row a list or a set of labels, even if empty")
    flat = [label for row in rows for label in row]
    kinds = {isinstance(label, str) for label in flat}
    if len(kinds) > 1:
        raise LabelError("labels of different kinds cannot be sorted: give all strings, or all numbers")
    classes, codes = encode_labels(np.array(flat)) if flat else (np.array([], dtype=str), np.empty(0, np.int64))
    lengths = [len(row) for row in rows]
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    matrix = sparse.csr_array((np.ones(len(codes), np.int64), codes, ends), shape=(len(rows), len(classes)))
    matrix.sum_duplicates()
    matrix.data[:] = 1  # a label that a row names twice is one label
    return classes, matrix


def _of_codes(codes: npt.NDArray[np.int64], n_classes: int) -> Any:
    """One label a row, as a csr_array of int64, (n_rows, n_classes)."""
    n = len(codes)
    return sparse.csr_array((np.ones(n, np.int64), codes, np.arange(n + 1)), shape=(n, n_classes))


def _rows(y: Any) -> Sequence[Any]:
    for name in ("to_list", "to_pylist", "tolist"):
        if hasattr(y, name):
            rows = getattr(y, name)()
            return rows if isinstance(rows, list) else []
    return y if isinstance(y, (list, tuple)) else []


def _is_bit(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number, np.bool_)) and value in (0, 1)


def _thresholds(threshold: Any, classes: Labels) -> Floats:
    """A threshold for each label: one number for all, one of a sequence, or that of a mapping, where others have 0."""
    if isinstance(threshold, Mapping):
        for label in threshold:
            if label not in classes.tolist():
                raise OptionError((Option("threshold"), f" names the label {label!r}, which no row has: leave it out"))
        values = np.array([threshold.get(label, 0.0) for label in classes.tolist()], np.float64)
    else:
        try:
            values = np.asarray(threshold, np.float64)
        except (TypeError, ValueError) as error:
            expected = "a number, one for each label, or 'folds'"
            raise OptionError(option="threshold", value=threshold, expected=expected) from error
    if values.shape not in ((), classes.shape) or np.isnan(values).any():
        expected = f"a number, or one for each of {len(classes)} labels"
        raise OptionError(option="threshold", value=threshold, expected=expected)
    return np.broadcast_to(values, classes.shape).astype(np.float64)
