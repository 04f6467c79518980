"""`NBSVM` and `NBAROW`: linear heads with a naive-Bayes prior.  `models/heads.py` has the formulas."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from bunrui.classcounts import Labels, declare, join_labels
from bunrui.errors import Option, OptionError, check_choice
from bunrui.estimators.base import RowClassifier, canonical, check_number
from bunrui.models.heads import (
    LOSSES,
    Arow,
    ArowOptions,
    Batch,
    Descent,
    HeadOptions,
    LinearHead,
    SvmOptions,
    read_batch,
    train_svm,
)
from bunrui.models.linear import MOST_CELLS, probabilities
from bunrui.sparse import Floats, Sparse


@dataclass(kw_only=True, eq=False, repr=False)
class HeadClassifier(RowClassifier, HeadOptions):
    """Base of `NBSVM` and `NBAROW`: rows, margins, labels, probabilities."""

    random_state: Any = None

    _kind: ClassVar[type[HeadOptions]]

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn."""

    def _options(self) -> Any:
        """The parameters of the head, as they are now."""
        return self._kind(**{each.name: getattr(self, each.name) for each in fields(self._kind)})

    @classmethod
    def of_head(cls, head: LinearHead, descent: Descent | None = None, **parameters: Any) -> Self:
        """A fitted estimator from a trained head; `descent` tells how an SVM was trained."""
        self = cls(**parameters)
        self.n_features_in_ = len(head.place_of)
        self._learned, self._declared = head, None
        if descent is not None:
            self.n_iter_, self.violation_ = descent
        return self

    # Reading

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Batch:
        X, y, weights = self._labelled(X, y, sample_weight, reset)
        return read_batch(Sparse.of(canonical(X)), np.asarray(y), weights.astype(np.float64), self._options())

    def _rows(self, X: Any) -> Sparse:
        return Sparse.of(canonical(self._checked(X)))

    def rows(self, X: Any) -> Any:
        """Rows as the head reads them, a csr_array: `rows(X) @ coef_.T + intercept_` are the margins.

        So each column adds `rows(X)[i].multiply(coef_[c])` to the margin of class c.
        """
        rows = self._learned.read(self._rows(X))
        return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)

    # Answers

    def _margins(self, X: Any) -> Floats:
        rows = self._rows(X)
        return np.asarray(self._learned.margins(rows))

    def decision_function(self, X: Any) -> Floats:
        """Margins, (n_rows, n_classes); of two classes that of the second, (n_rows,)."""
        margins = self._margins(X)
        return margins[:, 0] if len(self.classes_) == 2 else margins

    def predict(self, X: Any) -> Labels:
        """The label with the largest margin, (n_rows,); ties go to the label that sorts first."""
        margins = self._margins(X)
        best = (margins[:, 0] > 0).astype(np.int64) if len(self.classes_) == 2 else margins.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """The logistic function of the margin, or softmax of the margins, (n_rows, n_classes).

        Not calibrated: they rank classes, and say no more.  `CalibratedClassifierCV` makes probabilities of margins.
        """
        margins = self._margins(X)
        return probabilities(np.hstack([np.zeros_like(margins), margins]) if len(self.classes_) == 2 else margins)

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def coef_(self) -> Floats:
        """The weights of the columns of `rows`, (n_classes, n_features); of two classes, (1, n_features)."""
        head = self._known("coef_")
        n_features, n_margins = len(head.place_of), head.weights.shape[1]
        if n_features * n_margins > MOST_CELLS:
            raise OptionError(
                f"{n_features:,} features × {n_margins:,} classes are too many for a dense table: "
                "read fewer features, or use decision_function"
            )
        return np.ascontiguousarray(head.weights_of(np.arange(n_features)).T)

    @property
    def intercept_(self) -> Floats:
        """The margins of an empty row, (n_classes,); of two classes, (1,)."""
        return np.asarray(self._known("intercept_").intercept)

    # Parameters

    def _check_shared_parameters(self) -> int:
        """Refuse parameters that make no sense; return the seed."""
        check_number("alpha", self.alpha, above=0)
        for name in ("bias", "start", "idf_power"):
            check_number(name, getattr(self, name))
        share = self.variance
        is_share = isinstance(share, (int, float, np.number)) and not isinstance(share, bool) and 0 <= share <= 1
        if not is_share and (not isinstance(share, str) or share not in ("ratio", "one")):
            raise OptionError(option="variance", value=share, expected="a number from 0 to 1, 'ratio' or 'one'")
        if self.norm not in ("l2", None):
            raise OptionError(option="norm", value=self.norm, expected="'l2' or None")
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's check wants .83 of its 300 rows right.  By presence, these are of four kinds alone: no model
        # has more than .847 right, and after few epochs it has less.
        tags.classifier_tags.poor_score = bool(self.presence)
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class NBSVM(HeadClassifier, SvmOptions):
    """Linear SVM or logistic regression with a naive-Bayes prior: the accurate member of the family.

    Parameters
    ----------
    C : float
        The weight of the loss against the prior.
    loss : {"squared_hinge", "hinge", "logistic"}
    alpha : float
        α of the smoothed counts in the ratio.
    variance : float, or {"ratio", "one"}
        The prior variance of a weight: a share of r² divided by its mean, the rest of 1.  "one" is 0, an ordinary SVM;
        "ratio" is r² as it is.
    start : float
        Mean size of the margins of the naive-Bayes weights that are the mean of the prior, and the start; 0 for zero.
    beta : float, optional
        Interpolation of Wang and Manning: weights u of scaled features become (1 - β) · mean|u| + β · u.
    bias : float
        The value of the constant feature; 0 for no intercept.
    presence : bool
        Whether a feature counts once in a row, if it is above 0.
    log : bool
        Whether a value x is read as log(1 + x), below 0 as -log(1 - x); else values are read as they are.
    idf_power : float
        p of idf ** p, which a feature is multiplied with; 0 for none.
    norm : {"l2", None}
        Whether rows are divided by their length.
    max_iter : int
        Epochs, at most.  Five are enough for accuracy; for the exact optimum take many, and a small `tol`.
    tol : float
        Stop where no row violates the conditions of the optimum by more in an epoch.
    random_state : int, RandomState, optional
        Seeds the order of rows; None is a fixed order.

    Attributes
    ----------
    classes_ : (n_classes,)
    coef_ : (n_classes, n_features), of two classes (1, n_features)
    intercept_ : (n_classes,), of two classes (1,)
    n_features_in_, feature_names_in_
    n_iter_ : int
        Epochs that were run.
    violation_ : float
        The largest violation in the last of them.

    Notes
    -----
    X has counts.  More than two classes are told apart one against the rest.  Columns that the training rows never had
    say nothing.  The order of the rows does not matter, and a row of weight 2 is exactly two rows, after any number of
    epochs: rows are taken in the order of a hash, equal ones together.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [2, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 3]]
    >>> clf = NBSVM().fit(X, ["ham", "ham", "spam", "spam"])
    >>> clf.predict([[1, 0, 0, 0], [0, 0, 0, 1]]).tolist()
    ['ham', 'spam']
    >>> clf.coef_.round(2).tolist()
    [[-1.02, 0.01, -0.01, 1.03]]
    """

    _kind = SvmOptions

    @classmethod
    def wang_manning(cls, **options: Any) -> Self:
        """The form of the paper: presence without IDF and length norm, α = 1, β = .25, begun at zero, to the optimum.

        Examples
        --------
        >>> NBSVM.wang_manning(C=0.1)
        NBSVM(C=0.1, alpha=1.0, beta=0.25, bias=1.0, idf_power=0.0, max_iter=1000,
              norm=None, presence=True, variance='ratio')
        """
        paper = {"alpha": 1.0, "beta": 0.25, "bias": 1.0, "idf_power": 0.0, "norm": None, "presence": True}
        return cls(**{**paper, "variance": "ratio", "max_iter": 1000, **options})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn.

        Parameters
        ----------
        X : array, data frame, sparse matrix or sparse array of counts, (n_rows, n_features)
        y : (n_rows,)
            Labels: strings or numbers, at least two different ones.
        sample_weight : (n_rows,), optional
            A row of weight 2 is two rows.
        """
        seed = self._check_parameters()
        batch = self._read(X, y, sample_weight, reset=True)
        self._learned, (self.n_iter_, self.violation_) = train_svm(self._options(), batch, seed)
        return self

    def _check_parameters(self) -> int:
        check_number("C", self.C, above=0)
        check_number("tol", self.tol)
        check_choice("loss", self.loss, LOSSES)
        if self.beta is not None:
            check_number("beta", self.beta)
            if self.beta > 1:
                raise OptionError(option="beta", value=self.beta, expected="at most 1")
            if self.variance != "ratio":
                raise OptionError((Option("beta"), " needs ", Option("variance", "ratio"), ": give both, or none"))
        check_number("max_iter", self.max_iter, above=0)
        return self._check_shared_parameters()


@dataclass(kw_only=True, eq=False, repr=False)
class NBAROW(HeadClassifier, ArowOptions):
    """A linear head that learns row by row, with a naive-Bayes prior.

    Parameters
    ----------
    r : float
        How little one row may move: large is careful.
    floor : float
        The least variance at the start.
    alpha, variance, start, bias, presence, log, idf_power, norm
        As those of `NBSVM`.  With `variance` 1 and `floor` 0, a column that says nothing in the batch in which it first
        occurs never learns.
    random_state : int, RandomState, optional
        Seeds the order in which `fit` takes rows; None is a fixed order.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As those of `NBSVM`.

    Notes
    -----
    `fit` takes rows in the order of a hash, equal ones together, so that neither their order nor repetition instead of
    weight makes a difference.  `partial_fit` takes them as they come.

    In `partial_fit`, IDF and ratio of a column are those of the rows up to the end of the batch in which it first
    occurs, and stay; the mean of r² is that of the columns that are new in the batch.  So a large first batch is worth
    having: it is the only one whose ratios see more than the batch itself.  A class that comes later begins at its
    ratios against all rows so far; those of the other classes stay.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [2, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 3]]
    >>> clf = NBAROW().fit(X, ["ham", "ham", "spam", "spam"])
    >>> clf.predict([[1, 0, 0, 0], [0, 0, 0, 1]]).tolist()
    ['ham', 'spam']
    >>> clf.partial_fit([[0, 5, 0, 0], [0, 3, 0, 0]], ["new", "new"]).predict([[0, 1, 0, 0]]).tolist()
    ['new']
    """

    _kind = ArowOptions

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn in one pass.

        Parameters
        ----------
        X : array, data frame, sparse matrix or sparse array of counts, (n_rows, n_features)
        y : (n_rows,)
            Labels: strings or numbers.
        sample_weight : (n_rows,), optional
            A row of weight 2 is two equal rows.
        """
        seed = self._check_parameters()
        head = Arow(self._options(), 0)
        head.learn_in_order(self._read(X, y, sample_weight, reset=True), seed)
        self._learned, self._declared = head, None
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order.

        Parameters
        ----------
        X : array, data frame, sparse matrix or sparse array of counts, (n_rows, n_features)
        y : (n_rows,)
        classes : (n_classes,), optional
            If given, now or before, other labels are errors; a later call may give more.  If never given, classes grow
            with the labels.
        sample_weight : (n_rows,), optional
            Divides `r`; rows of weight 0 are left out.
        """
        self._check_parameters()
        first = not hasattr(self, "_learned")
        if not first:
            self._learned.check_options(self._options())
        batch = self._read(X, y, sample_weight, reset=first)
        known = batch.classes[:0] if first else self.classes_
        declared = declare(None if first else self._declared, known, classes, batch.classes)
        everything = join_labels(known, batch.classes if declared is None else declared)
        order = np.flatnonzero(batch.weights > 0)
        head = Arow(self._options(), batch.cells.n_columns) if first else self._learned
        self._declared = declared
        head.learn(batch, everything, order, batch.weights[order])
        self._learned = head
        return self

    def _check_parameters(self) -> int:
        check_number("r", self.r, above=0)
        check_number("floor", self.floor)
        return self._check_shared_parameters()
