"""`GaussianNB`: columns of numbers, each normal in every class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.classcounts import ClassCounts, Labels
from bunrui.errors import OptionError
from bunrui.estimators.base import Codes, CountingClassifier, canonical, check_number, keep_parameters
from bunrui.models.gaussian import Normals, dense_moments, gaussian, sparse_moments
from bunrui.sparse import Sparse

Floats = npt.NDArray[np.float64]

# Of a sparse matrix, columns whose mean is more than ten deviations from 0 are read with their zeros: what a zero adds
# to a score would swallow the digits of what the value adds.
_FAR = 100.0


class GaussianNB(CountingClassifier):
    """Gaussian naive Bayes, in place of scikit-learn's.

    In addition: sparse input that stays sparse, missing values, new classes at any time, and `merge`.

    Parameters
    ----------
    priors : (n_classes,) array, optional
        P(class) in the order of `classes_`; goes before `prior`.
    var_smoothing : float
        This share of the largest variance of a column is added to all variances.
    prior : {"empirical", "uniform", "smoothed"}, ("smoothed", λ) or mapping from label to probability
        P(class): D_c / D, 1 / C, (D_c + 1) / (D + C), or as given.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`.
    class_prior_ : (n_classes,)
    theta_, var_ : (n_classes, n_features)
        Mean and variance.
    epsilon_ : float
        The number that is added to the variances.  It comes from all learned rows, with their weights; scikit-learn
        takes the rows of the last call, without weights.

    Notes
    -----
    NaN is a missing value and skipped, in training and in prediction.  A class without any value in a column takes the
    mean and the variance of the whole column; a column without any value says nothing.

    Moments merge to rounding (about 1e-12).  `unlearn` needs `exact=False`, because a mean cannot be taken back
    exactly.

    Examples
    --------
    >>> clf = GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"])
    >>> clf.predict([[0.5], [7.0], [float("nan")]]).tolist()
    ['low', 'high', 'high']
    >>> clf.theta_.tolist()
    [[8.5], [1.5]]
    """

    _takes: ClassVar[dict[str, bool]] = {"sparse": True, "allow_nan": True}
    _is_poor = False
    _accepted: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr",
        "dtype": np.float64,
        "ensure_all_finite": "allow-nan",
    }

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9, prior: Any = "empirical") -> None:
        keep_parameters(self, locals())

    @property
    def class_prior(self) -> Any:
        """scikit-learn has another name for it here."""
        return self.priors

    def _count(self, X: Any, labels: tuple[Labels, Codes], weights: npt.NDArray[Any]) -> ClassCounts:
        X = canonical(X)
        rows = (labels[1], weights.astype(np.float64), len(labels[0]))
        moments = sparse_moments(Sparse.of(X), *rows) if sparse.issparse(X) else dense_moments(X, *rows)
        return ClassCounts.of(labels, weights, moments)

    def check_parameters(self, learned: ClassCounts) -> None:
        check_number("var_smoothing", self.var_smoothing)
        self.log_prior_of(learned)

    def log_prior_of(self, learned: ClassCounts) -> Floats:
        if self.priors is not None and not np.isclose(np.sum(self.priors), 1.0):
            hint = f"divide them by their sum, {np.sum(self.priors):g}"
            raise OptionError(option="priors", value=self.priors, expected="numbers with the sum 1", hint=hint)
        return super().log_prior_of(learned)

    def _normals(self) -> tuple[Normals, float]:
        memo, share = self._learned.memo, float(self.var_smoothing)
        kept = memo.get("normals")
        if kept is None or kept[0] != share:
            kept = memo["normals"] = (share, gaussian(self._learned.part, share))
        normals: tuple[Normals, float] = kept[1]
        return normals

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log p(class, row), (n_rows, n_classes)."""
        X = canonical(self._checked(X))
        normals, _ = self._normals()
        prior = self.log_prior_of(self._learned)
        if not sparse.issparse(X):
            return prior + _dense_scores(X, normals)
        far = (normals.mean**2 * normals.precision > _FAR).any(axis=0)
        scores = prior + _sparse_scores(X[:, ~far], Normals(*(part[:, ~far] for part in normals)))
        if far.any():
            scores += _dense_scores(X[:, far].toarray(), Normals(*(part[:, far] for part in normals)))
        return scores

    @property
    def theta_(self) -> Floats:
        """Means, (n_classes, n_features)."""
        self._known("theta_")
        return self._normals()[0].mean

    @property
    def var_(self) -> Floats:
        """Variances, ε included, (n_classes, n_features)."""
        self._known("var_")
        return self._normals()[0].variance

    @property
    def epsilon_(self) -> float:
        """What was added to the variances."""
        self._known("epsilon_")
        return self._normals()[1]

    @property
    def class_prior_(self) -> Floats:
        """P(class), (n_classes,)."""
        return np.exp(self.log_prior_of(self._known("class_prior_")))


def _dense_scores(X: Floats, normals: Normals) -> Floats:
    """log p(row | class), (n_rows, n_classes)."""
    out = np.empty((X.shape[0], len(normals.mean)))
    there = ~np.isnan(X)
    for c, (mean, _, precision, peak) in enumerate(zip(*normals, strict=True)):
        out[:, c] = np.where(there, peak - 0.5 * (X - mean) ** 2 * precision, 0.0).sum(axis=1)
    return out


def _sparse_scores(X: Any, normals: Normals) -> Floats:
    """The same for a csr_array: the score of a row of zeros, corrected where there are values."""
    mean, _, precision, peak = normals
    zero = peak - 0.5 * mean**2 * precision
    missing = np.isnan(X.data)
    values = sparse.csr_array((np.where(missing, 0.0, X.data), X.indices, X.indptr), shape=X.shape)
    gone = sparse.csr_array((missing.astype(np.float64), X.indices, X.indptr), shape=X.shape)
    # (x - m)² - m² = x² - 2xm
    corrections = values @ (mean * precision).T - 0.5 * (values.power(2) @ precision.T)
    return np.asarray(zero.sum(axis=1) + corrections - gone @ zero.T)
