"""The base of all estimators: checks of rows, labels, weights and parameters; learning, unlearning, merging.

An estimator adds two functions: rows → counts (`ClassCounts`), and counts with rows → scores.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from bunrui.classcounts import Encoded, Labels, as_whole, check_among, declare, encode_labels, join_labels
from bunrui.errors import DataError, LabelError, MismatchError, Option, OptionError
from bunrui.kernel.arithmetic import log
from bunrui.models.linear import log_sum_exp, probabilities
from bunrui.models.scorer import prior_shares
from bunrui.sparse import Floats, Numbers

# Tags for scikit-learn, of estimators that take columns of names, with values missing.
NAMES = {"categorical": True, "string": True, "allow_nan": True}


class RowClassifier(ClassifierMixin, BaseEstimator):
    """Base of all classifiers of rows: checks of rows and labels, and the duties of a classifier in scikit-learn."""

    # Options of scikit-learn's `validate_data`, and its tags about the rows.
    _accepted: ClassVar[dict[str, Any]] = {"accept_sparse": "csr"}
    _takes: ClassVar[dict[str, bool]] = {"sparse": True}

    _learned: Any
    _declared: Labels | None
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]

    @property
    def classes_(self) -> Labels:
        """The labels, sorted: the columns of scores and probabilities, (n_classes,)."""
        return np.asarray(self._known("classes_").classes)

    def _known(self, name: str) -> Any:
        if not self.__sklearn_is_fitted__():
            # As where an attribute is set by `fit`: hasattr says no.
            raise AttributeError(f"{type(self).__name__} has no {name} before it has learned: call fit")
        return self._learned

    def _given(self, X: Any) -> Any:
        """X as scikit-learn is to see it."""
        return X

    def _labelled(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> tuple[Any, Labels, npt.NDArray[Any]]:
        """Rows, labels and weights to learn, checked."""
        X, y = validate_data(self, self._given(X), y, reset=reset, **self._accepted)
        check_discrete(y)
        return X, y, check_weights(sample_weight, X.shape[0])

    def _checked(self, X: Any) -> Any:
        """Rows to predict."""
        check_is_fitted(self)
        return validate_data(self, self._given(X), reset=False, **self._accepted)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for name, value in self._takes.items():
            setattr(tags.input_tags, name, value)
        return tags


class CountingClassifier(RowClassifier):
    """Base of the estimators that count.

    Parameters have the same meaning as in scikit-learn, with one difference: priors and smoothing are computed from the
    counts at each answer.  So `set_params` changes them at once, without a new `fit`.
    """

    fit_prior: bool = True
    class_prior: Any = None
    prior: Any = "empirical"

    # Parameters that decide the counts: they cannot change once something is counted.
    _counting: ClassVar[tuple[str, ...]] = ()

    # Attributes that a new estimator takes over when another one is merged into it.
    _shape: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_", "_counted_by")

    # For scikit-learn's tags.
    _is_poor: ClassVar[bool] = True

    _counted_by: dict[str, Any]

    # Hooks of a subclass

    @abstractmethod
    def _count(self, X: Any, labels: Encoded, weights: Numbers) -> Any:
        """Count rows that were checked."""

    @abstractmethod
    def check_parameters(self, learned: Any) -> None:
        """Refuse parameters that do not fit the counts; these are not taken over yet."""

    @abstractmethod
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log P(class, row), up to a number that all classes share, (n_rows, n_classes)."""

    @classmethod
    def of_learned(cls, learned: Any, n_features: int, **parameters: Any) -> Self:
        """A fitted estimator from the counts of rows."""
        self = cls(**parameters)
        self.n_features_in_ = n_features
        self._learned, self._declared, self._counted_by = learned, None, self._counting_options()
        return self

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn.

        Parameters
        ----------
        X : array, data frame, sparse matrix or sparse array, (n_rows, n_features)
        y : (n_rows,)
            Labels: strings or numbers.
        sample_weight : (n_rows,), optional
            A row of weight 2 counts as two.
        """
        if hasattr(self, "_learned"):
            del self._learned
        learned = self._read_rows(X, y, sample_weight, reset=True)
        self.check_parameters(learned)
        self._learned, self._declared, self._counted_by = learned, None, self._counting_options()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, all or none of them.

        Parameters
        ----------
        X : array, data frame, sparse matrix or sparse array, (n_rows, n_features)
        y : (n_rows,)
        classes : (n_classes,), optional
            If given, now or before, other labels are errors; a later call may give more.  If never given, classes grow
            with the labels.
        sample_weight : (n_rows,), optional
        """
        first = not hasattr(self, "_learned")
        if first:
            self._counted_by = self._counting_options()
        batch = self._read_rows(X, y, sample_weight, reset=first)
        learned = batch if first else self._learned.plus(batch)
        known = batch.classes[:0] if first else self._learned.classes
        declared = declare(None if first else self._declared, known, classes, batch.classes)
        if declared is not None:
            learned = learned.over(join_labels(learned.classes, declared))
        self.check_parameters(learned)
        self._learned, self._declared = learned, declared
        return self

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None, *, exact: bool = True) -> Self:
        """Take rows back, all or none of them: afterwards the estimator is the one that never saw them.

        Parameters
        ----------
        X : array, data frame, sparse matrix or sparse array, (n_rows, n_features)
        y : (n_rows,)
        sample_weight : (n_rows,), optional
        exact : bool
            Refuse fractions, and fractional weights, which can only be taken back with rounding errors.

        Raises
        ------
        UnlearnError
            If something in the rows was never learned, or is not exact; then nothing is taken back.
        """
        check_is_fitted(self)
        batch = self._read_rows(X, y, sample_weight, reset=False)
        keep = self._learned.classes[:0] if self._declared is None else self._declared
        self._learned = self._learned.minus(batch, keep, exact)
        return self

    def merge(self, other: Self) -> Self:
        """Add the counts of another estimator of the same kind, which has learned other rows.

        The order does not matter: for whole numbers, the weights are the same bit for bit.
        """
        if other is self:
            raise OptionError("an estimator cannot be merged with itself")
        check_is_fitted(other)
        self._check_joins(other)
        first = not hasattr(self, "_learned")
        learned = other._learned if first else self._learned.plus(other._learned)
        given = [each for each in (None if first else self._declared, other._declared) if each is not None]
        declared = reduce(join_labels, given) if given else None
        if declared is not None:
            check_among(learned.classes[learned.doc_count > 0], declared)
        if first:
            for name in self._shape:
                if hasattr(other, name):
                    setattr(self, name, getattr(other, name))
        self.check_parameters(learned)
        self._learned, self._declared = learned, declared
        return self

    def _check_joins(self, other: Self) -> None:
        if type(other) is not type(self):
            raise MismatchError(
                f"{type(self).__name__} cannot be merged with {type(other).__name__}: they count otherwise"
            )
        for name, theirs in other._counted_by.items():
            mine = getattr(self, name)
            if mine != theirs:
                raise MismatchError(f"estimators with {name}={mine!r} and {name}={theirs!r} cannot be merged")
        if hasattr(self, "_learned"):
            self._check_shapes(other)

    def _check_shapes(self, other: Self) -> None:
        """Refuse to merge an estimator that has learned rows of another shape."""
        if self.n_features_in_ != other.n_features_in_:
            raise MismatchError(f"{self.n_features_in_} and {other.n_features_in_} columns cannot be merged")
        names, more = (getattr(each, "feature_names_in_", None) for each in (self, other))
        if names is not None and more is not None and names.tolist() != more.tolist():
            raise MismatchError("the columns have other names or another order: fit both with the same columns")

    def _counting_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._counting}

    def _check_options(self) -> None:
        for name, value in self._counted_by.items():
            if getattr(self, name) != value:
                raise OptionError((Option(name, value), " decided what was counted"), hint="call fit after changing it")

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Any:
        """Check and count some rows."""
        if not reset:
            self._check_options()
        X, y, weights = self._labelled(X, y, sample_weight, reset)
        return self._count(X, encode_labels(y), weights)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        self._check_options()
        return super()._checked(X)

    # Learned attributes

    @property
    def class_count_(self) -> Floats:
        """Rows by class, or the sum of their weights, (n_classes,)."""
        return np.asarray(self._known("class_count_").doc_count, np.float64)

    @property
    def class_log_prior_(self) -> Floats:
        """log P(class), (n_classes,)."""
        return self.log_prior_of(self._known("class_log_prior_"))

    def log_prior_of(self, learned: Any) -> Floats:
        """log P(c); -inf where P(c) was given as 0, and, if it is empirical, for a declared class without rows."""
        docs, prior = learned.doc_count, self.prior
        if self.class_prior is not None:
            given = np.asarray(self.class_prior, np.float64)
            if given.shape != docs.shape:
                expected = f"one number for each of {len(docs)} classes"
                raise OptionError(option="class_prior", value=given.tolist(), expected=expected)
            if not (np.isfinite(given) & (given >= 0)).all() or not given.any():
                expected = "numbers from 0 on, some above 0"
                raise OptionError(option="class_prior", value=given.tolist(), expected=expected)
            shares = given
        else:
            if not self.fit_prior and (prior == "smoothed" or isinstance(prior, tuple)):
                uniform = Option("prior", "uniform")
                raise OptionError((Option("fit_prior", False), " is ", uniform, ": leave one of the two out"))
            prior = prior if self.fit_prior else "uniform"
            shares = prior_shares(docs, learned.classes.tolist() if isinstance(prior, Mapping) else (), prior)
        out = np.full(len(shares), -np.inf)
        out[shares > 0] = log(shares[shares > 0])
        return out

    # Predicting

    def predict(self, X: Any) -> Labels:
        """The most likely label of every row, (n_rows,); ties go to the label that sorts first."""
        scores = self.predict_joint_log_proba(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row), (n_rows, n_classes)."""
        return probabilities(self.predict_joint_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | row), (n_rows, n_classes)."""
        scores = self.predict_joint_log_proba(X)
        return np.asarray(scores - log_sum_exp(scores))

    # As a scikit-learn estimator

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned") and bool((self._learned.doc_count > 0).any())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._is_poor
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class SmoothingClassifier(CountingClassifier):
    """Base of the estimators with smoothed probabilities: their parameters.

    As a data class, an estimator inherits parameters and adds its own; scikit-learn reads them from its `__init__`.
    """

    alpha: Any = None
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: Any = None
    smoothing: str = "eap"


# Checks


def check_discrete(y: Labels) -> None:
    """Refuse labels that are measurements."""
    if y.ndim == 1 and y.dtype.kind in "biuU":
        return
    # Not check_classification_targets: it warns of many classes, which are no fault here.
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise LabelError(f"Unknown label type: {kind}. Labels are strings or whole numbers, one for each row")


def check_weights(sample_weight: Any, n_rows: int) -> npt.NDArray[Any]:
    """Weights of rows, (n_rows,): int64 if they are whole numbers, else float64; 1 where none are given."""
    if sample_weight is None:
        return np.ones(n_rows, np.int64)
    weights = check_array(sample_weight, ensure_2d=False, input_name="sample_weight")
    if weights.shape != (n_rows,):
        expected = f"one weight for each of {n_rows} rows"
        raise DataError(option="sample_weight", value=weights.shape, expected=expected)
    if (weights < 0).any():
        hint = "to take rows back, use unlearn"
        raise DataError(option="sample_weight", value=weights.min().item(), expected="0 or more", hint=hint)
    if not weights.any():
        raise DataError((Option("sample_weight"), " is zero for all rows: leave it out to learn them alike"))
    return np.asarray(as_whole(weights))


def check_number(name: str, value: Any, above: float | None = None) -> None:
    """Refuse a value that is not a number, 0 or more, or above a bound."""
    good = not isinstance(value, bool) and isinstance(value, (int, float, np.number)) and np.isfinite(value)
    if not good or (value < 0 if above is None else value <= above):
        rule = "0 or more" if above is None else f"above {above}"
        raise OptionError(option=name, value=value, expected=f"a number, {rule}")


# Matrices


def canonical(X: Any) -> Any:
    """An array as it is; a sparse matrix as a csr_array that has every cell once."""
    if not sparse.issparse(X):
        return np.asarray(X)
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        # Only a copy may change: the matrix may be the caller's.
        X = X.copy()
        X.sum_duplicates()
    return X


def as_objects(X: Any) -> Any:
    """A list as an array of objects: of strings and numbers NumPy would make strings; anything else as it is."""
    return np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X


def presence_of(X: Any, threshold: float = 0.0) -> Any:
    """1 where a value is above a threshold (of a sparse matrix, at least 0), else 0."""
    if not sparse.issparse(X):
        return np.greater(X, threshold).astype(np.int64)
    out = sparse.csr_array(((X.data > threshold).astype(np.int64), X.indices, X.indptr), shape=X.shape, copy=True)
    out.eliminate_zeros()
    return out
