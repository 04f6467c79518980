"""`LinearHead`: what the trained heads share: how rows are read, margins, labels, probabilities.

x[f] = presence[f] · idf[f] ** p / length of the row          idf[f] = log((1 + D) / (1 + D[f])) + 1
margin[c] = intercept[c] + Σ_f x[f] · coef[c, f]

D   training rows (the sum of their weights), D[f] those that contain f
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from bunrui.errors import OptionError
from bunrui.estimators.arrange import Cells, cells_of
from bunrui.estimators.checks import check_discrete, checked_weights
from bunrui.estimators.discrete import canonical, presence
from bunrui.estimators.labels import Labels, encode
from bunrui.estimators.table import MOST_CELLS
from bunrui.kernel import heads as kernel
from bunrui.kernel.headrows import Rows, Targets
from bunrui.kernel.heads import Head, Sums
from bunrui.kernel.library import run
from bunrui.kernel.logs import log
from bunrui.models.linear import probabilities

__all__ = ["Batch", "LinearHead", "class_shift", "number", "sums_for"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Rows from which the mean margin is taken.
_SAMPLE = 1000
_ROUNDING = 1e-9


class Batch(NamedTuple):
    """Rows that were checked, with their labels: codes are places among the sorted `classes`."""

    cells: Cells
    classes: Labels
    codes: Integers
    weights: Floats


class LinearHead(ClassifierMixin, BaseEstimator):
    """Base of `NBSVM` and `NBAROW`."""

    alpha: float
    bias: float
    start: float
    presence: bool
    idf_power: float
    norm: str | None
    random_state: Any

    classes_: Labels
    n_features_in_: int
    _place_of: Integers  # the row of every column in the table of weights, or -1
    _factor: Floats  # idf ** p by column, 0 for one that was never seen

    _weights: Floats  # by place, (n_places, n_columns of the table)
    _bias: Floats  # the intercepts, (n_columns of the table,)

    def _by_class(self, margins: Floats) -> Floats:
        """Margins, or weights, of the columns of the table as those of the classes."""
        return margins

    def _unit(self, rows: Rows, targets: Targets, head: Head) -> float:
        """What ratios are multiplied with for the mean size of the margins to be `start`."""
        n = min(len(targets.weight), _SAMPLE)
        mean = run(kernel.mean_margin, rows, targets, n, head, sums_for(len(head.bias)))
        # Where there is no more than rounding, classes do not differ yet.
        return float(self.start) / mean if mean > _ROUNDING else 0.0

    # Reading

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Batch:
        X, y = validate_data(self, X, y, reset=reset, accept_sparse="csr")
        check_discrete(y)
        weights = np.ones(len(y))
        if sample_weight is not None:
            weights = checked_weights(sample_weight, len(y)).astype(np.float64)
        classes, codes = encode(np.asarray(y)[weights > 0])
        everywhere = np.full(len(weights), -1, np.int64)
        everywhere[weights > 0] = codes
        return Batch(cells_of(sparse.csr_array(canonical(X)), self.presence), classes, everywhere, weights)

    def _idf(self, n_docs: float, doc_freq: Any) -> Floats:
        if self.idf_power == 0:
            return np.ones(len(doc_freq))
        return np.asarray((log((1 + n_docs) / (1 + np.asarray(doc_freq, np.float64))) + 1) ** self.idf_power)

    def rows(self, X: Any) -> Any:
        """Rows as the head reads them, a csr_array: `rows(X) @ coef_.T + intercept_` are the margins.

        So `rows(X)[i].multiply(coef_[c])` is what each column adds to the margin of class c.
        """
        check_is_fitted(self)
        X = sparse.csr_array(canonical(validate_data(self, X, reset=False, accept_sparse="csr")))
        if self.presence:
            X = presence(X)
        values = X.data * self._factor[X.indices]
        if self.norm == "l2":
            spread = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            length = np.sqrt(np.bincount(spread, values**2, X.shape[0]))
            values = values / np.where(length > 0, length, 1.0)[spread]
        return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)

    # Answers

    def _margins(self, X: Any) -> Floats:
        rows = self.rows(X)
        # A column that was never seen has no place, and the value 0.
        places = np.maximum(self._place_of[rows.indices], 0)
        table = self._weights if len(self._weights) else np.zeros((1, len(self._bias)))
        there = sparse.csr_array((rows.data, places, rows.indptr), shape=(rows.shape[0], len(table)))
        return self._by_class(np.asarray(there @ table + self._bias))

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
        """What a column of `rows` adds to a margin, (n_classes, n_features); of two classes, (1, n_features)."""
        self._check_known("coef_")
        n_features, n_margins = len(self._place_of), self._weights.shape[1]
        if n_features * n_margins > MOST_CELLS:
            raise OptionError(
                f"{n_features:,} features × {n_margins:,} classes are too many for a dense table: "
                "read fewer features, or use decision_function"
            )
        return np.ascontiguousarray(self.weights_of(np.arange(n_features)).T)

    def weights_of(self, columns: Integers) -> Floats:
        """What some columns of `rows` add to the margins: `coef_[:, columns].T`, without a table of all columns."""
        places = self._place_of[columns]
        table = np.zeros((len(columns), self._weights.shape[1]))
        table[places >= 0] = self._weights[places[places >= 0]]
        return self._by_class(table)

    def factor_of(self, columns: Integers) -> Floats:
        """What some columns are multiplied with before the length of the row divides them: IDF to its power."""
        return self._factor[columns]

    @property
    def intercept_(self) -> Floats:
        """The margins of an empty row, (n_classes,); of two classes, (1,)."""
        self._check_known("intercept_")
        return self._by_class(self._bias)

    def _check_known(self, name: str) -> None:
        if not hasattr(self, "classes_"):
            # As where an attribute is set by `fit`: hasattr says no.
            raise AttributeError(f"{type(self).__name__} has no {name} before it has learned: call fit")

    # Parameters

    def _check_shared_parameters(self) -> int:
        """Refuse what makes no sense; the seed."""
        number("alpha", self.alpha, above=0)
        number("bias", self.bias)
        number("start", self.start)
        number("idf_power", self.idf_power)
        if self.norm not in ("l2", None):
            raise OptionError(f"norm should be 'l2' or None, not {self.norm!r}")
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # By presence, the 300 rows of scikit-learn's check are of four kinds: nobody has more than .847 of them right.
        # NBSVM has that after many epochs, and .75 after two; NBAROW, in one pass over equal rows together, .633.  The
        # check wants .83.
        tags.classifier_tags.poor_score = bool(self.presence)
        return tags

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn."""


def number(name: str, value: Any, above: float | None = None) -> None:
    """Refuse what is not a number, 0 or more, or above a bound."""
    good = not isinstance(value, bool) and isinstance(value, (int, float, np.number)) and np.isfinite(value)
    if not good or (value < 0 if above is None else value <= above):
        rule = "0 or more" if above is None else f"above {above}"
        raise OptionError(f"{name} should be a number, {rule}, not {value!r}")


def sums_for(n_margins: int) -> Sums:
    """Room for the sums of one row."""
    return Sums(*np.zeros((4, n_margins)))


def class_shift(mass: Floats, alpha: float, n_features: int) -> Floats:
    """What the sizes of classes add to their ratios: log((N[~c] + α V) / (N[c] + α V)), (n_classes,).

    `mass` is N[c], after that of rows of no class.
    """
    added = alpha * max(n_features, 1)
    return log((mass.sum() - mass[1:] + added) / (mass[1:] + added))
