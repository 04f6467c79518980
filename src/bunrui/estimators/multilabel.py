"""`MultilabelNB`: rows with any number of labels, each told from the rest by the same counts."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from bunrui.errors import DataError, MismatchError, OptionError
from bunrui.estimators.base import CountingClassifier
from bunrui.estimators.checks import check_discrete, checked_weights
from bunrui.estimators.complement import ComplementNB
from bunrui.estimators.discrete import DiscreteNB
from bunrui.estimators.labelcounts import LabelCounts, count_labels
from bunrui.estimators.labelodds import PairCounts, log_odds, log_priors
from bunrui.estimators.labels import Labels, encode
from bunrui.estimators.labelsets import INDICATOR, SETS, SINGLE, form_of, indicated, indicator_of_codes, listed, sets_of
from bunrui.estimators.multinomial import MultinomialNB
from bunrui.estimators.thresholds import best_cuts, given_thresholds
from bunrui.models.linear import log_sum_exp

__all__ = ["MultilabelNB"]

Floats = npt.NDArray[np.float64]

_FOLDS = 5


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
        0 by default.  "folds" chooses one for each label: the best F1 on the scores that rows get from counts without
        their fold (row k is of fold k modulo 5; folds are subtracted, not counted again).  Below 0 it goes only for an
        F1 of .3 or more.

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

    There is no `decision_function`: the scores have a name of their own, `predict_log_odds`, as they do not know of the
    thresholds.

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
    _form: str
    _chosen: Floats

    def __init__(self, estimator: Any = None, *, threshold: Any = 0.0) -> None:
        self.estimator = estimator
        self.threshold = threshold

    # The formula

    @property
    def _model(self) -> DiscreteNB:
        """The estimator whose formula is used, to be changed at will."""
        given = MultinomialNB() if self.estimator is None else self.estimator
        if not isinstance(given, DiscreteNB):
            raise OptionError(
                "estimator should be MultinomialNB(), BinaryNB(), MixedNB(), BernoulliNB() or ComplementNB(), "
                f"not {given!r}"
            )
        model: DiscreteNB = clone(given)
        if isinstance(model, ComplementNB) and (any(model._steps) or model.transform_queries):
            raise OptionError("log_tf, idf and length_norm keep the rows, which MultilabelNB does not: leave them out")
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    @property
    def reads(self) -> str:
        """What of a row is counted: it cannot change once something is."""
        model = self._model
        if not model._counts_presence:
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
        self.__dict__.pop("_chosen", None)
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
            If given, now or before, other labels are errors.  Of an indicator matrix all columns are.
        sample_weight : (n_rows,), optional
        """
        self._refuse_folds("partial_fit", SINGLE if y is None else form_of(y))
        if classes is None and y is not None and form_of(y) == INDICATOR:
            classes = np.arange(np.shape(y)[1])
        return super().partial_fit(X, y, classes, sample_weight)

    def merge(self, other: Self) -> Self:
        """Learn what another estimator of the same kind has learned from other rows."""
        check_is_fitted(other)
        self._refuse_folds("merge", other._form)
        first = not hasattr(self, "_learned")
        super().merge(other)
        if first:
            self._form = other._form
        return self

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None, *, exact: bool = True) -> Self:
        """Take rows back, all or none of them; see `MultinomialNB`."""
        check_is_fitted(self)
        self._refuse_folds("unlearn", self._form)
        return super().unlearn(X, y, sample_weight, exact=exact)

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> LabelCounts:
        if not reset:
            self._check_options()
        X, (form, classes, Y) = self._with_labels(X, y, reset)
        if not reset and form != self._form:
            raise DataError(f"y was given as {self._form} before, now as {form}: give it in one form")
        if not reset and form == INDICATOR and len(classes) != len(self._learned.classes):
            raise DataError(f"y has {len(classes)} columns, but {len(self._learned.classes)} labels were learned")
        weights = None if sample_weight is None else checked_weights(sample_weight, X.shape[0])
        model = self._model
        counts = count_labels(model._training(X), (classes, Y), weights, model._counts_presence)
        if reset:
            self._form = form
        return counts

    def _with_labels(self, X: Any, y: Any, reset: bool) -> tuple[Any, tuple[str, Labels, Any]]:
        form = SINGLE if y is None else form_of(y)
        if form == SINGLE:
            X, y = validate_data(self, X, y, reset=reset, **self._accepted)
            check_discrete(y)
            classes, codes = encode(y)
            return X, (form, classes, indicator_of_codes(codes, len(classes)))
        X = validate_data(self, X, "no_validation", reset=reset, **self._accepted)
        if form == INDICATOR:
            Y = indicated(y)
            classes = np.arange(Y.shape[1])
        else:
            classes, Y = listed(y)
        check_consistent_length(X, Y)
        return X, (form, classes, Y)

    def _check_joins(self, other: Self) -> None:
        super()._check_joins(other)
        if hasattr(self, "_learned") and self._form != other._form:
            raise MismatchError(f"labels given as {self._form} and as {other._form} cannot be merged")
        if hasattr(self, "_learned") and self._form == INDICATOR and len(self.classes_) != len(other.classes_):
            raise MismatchError(f"{len(self.classes_)} and {len(other.classes_)} labels cannot be merged")

    def _check_parameters(self, learned: LabelCounts) -> None:
        # The formula itself says what it does not take.
        self._model._check_parameters(PairCounts(learned))
        if not self._by_folds:
            given_thresholds(self.threshold, learned.classes)

    # Scores

    def _log_odds(self, learned: LabelCounts, X: Any) -> Floats:
        """Scores of rows that were checked, (n_rows, n_labels)."""
        model = self._model
        return log_odds(model, learned, model._query(X))

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
            raise OptionError(f"threshold='folds' needs all rows at once: call fit, or give numbers for {what}")

    def _choose(self, X: Any, y: Any, sample_weight: Any) -> Floats:
        X, (_, _, Y) = self._with_labels(X, y, reset=False)
        X = X if not sparse.issparse(X) else sparse.csr_array(X)
        n_rows, model = X.shape[0], self._model
        weights = np.ones(n_rows, np.int64) if sample_weight is None else checked_weights(sample_weight, n_rows)
        fold = np.arange(n_rows) % min(_FOLDS, n_rows)
        scores = np.zeros(Y.shape)
        for k in range(int(fold.max()) + 1 if n_rows > 1 else 0):
            out = np.flatnonzero(fold == k)
            labels = self._learned.classes, Y[out]
            part = count_labels(model._training(X[out]), labels, weights[out], model._counts_presence)
            left = self._learned.minus(part, self._learned.classes, exact=False)
            if left.n_docs > 0:
                scores[out] = self._log_odds(left, X[out])
        return best_cuts(scores, Y, weights.astype(np.float64))

    @property
    def thresholds_(self) -> Floats:
        """The score above which a row gets a label, (n_labels,)."""
        learned = self._known("thresholds_")
        if self._form == SINGLE:
            return np.zeros(len(learned.classes))
        if not self._by_folds:
            return given_thresholds(self.threshold, learned.classes)
        if not hasattr(self, "_chosen"):
            raise OptionError("threshold='folds' is chosen by fit: call it again")
        return self._chosen

    # Predicting

    def predict_log_odds(self, X: Any) -> Floats:
        """Scores: log P(label, row) - log P(rest, row), (n_rows, n_labels)."""
        X = self._checked(X)
        return self._log_odds(self._learned, X)

    def predict(self, X: Any) -> Any:
        """The labels of every row, in the form of `y`."""
        scores = self.predict_log_odds(X)
        if self._form == SINGLE:
            return self.classes_[scores.argmax(axis=1)]
        found = scores > self.thresholds_
        return sets_of(self.classes_, found) if self._form == SETS else found.astype(np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """P(label | row), (n_rows, n_labels), whatever the threshold; of one label a row they add up to 1."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(label | row), (n_rows, n_labels)."""
        logs = -np.logaddexp(0.0, -self.predict_log_odds(X))
        return np.asarray(logs - log_sum_exp(logs)) if self._form == SINGLE else np.asarray(logs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows of which all labels are right, and no others are predicted."""
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
