"""`BernoulliNB`: presence and absence of every column."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import DataError, OptionError
from bunrui.estimators.counts import whole
from bunrui.estimators.discrete import DiscreteNB, canonical, presence
from bunrui.estimators.table import DENSE_CELLS
from bunrui.models.bernoulli import bernoulli, log_present

__all__ = ["BernoulliNB"]


class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes, in place of scikit-learn's: absent features count too.

    Parameters
    ----------
    alpha : float, optional
        λ of P(feature | class) = (d + λ) / (D + 2λ); one for all columns.
    force_alpha, fit_prior, class_prior, smoothing, prior
        As those of `MultinomialNB`.
    binarize : float, optional
        A feature is present where its value is above this.  None takes X as it is, in which all values must lie between
        0 and 1.
    against_rest : bool
        As that of `MultinomialNB`: presence and absence are held against those in all rows that are not of the class.
        Memory follows features × classes.

    Attributes
    ----------
    classes_, class_count_, feature_count_, class_log_prior_, feature_log_prob_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`; `feature_log_prob_` is log P(feature present | class), with `against_rest` too.

    Examples
    --------
    >>> clf = BernoulliNB().fit([[1, 1], [1, 0], [0, 1]], ["tea", "tea", "ham"])
    >>> clf.predict([[1, 0], [0, 1]]).tolist()
    ['tea', 'ham']
    """

    _formula = staticmethod(bernoulli)
    _counts_presence = True
    _counting = ("binarize",)

    def __init__(
        self,
        *,
        alpha: Any = None,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        smoothing: str = "eap",
        prior: Any = "empirical",
        against_rest: bool = False,
    ) -> None:
        super().__init__(
            alpha=alpha,
            force_alpha=force_alpha,
            fit_prior=fit_prior,
            class_prior=class_prior,
            smoothing=smoothing,
            prior=prior,
            against_rest=against_rest,
        )
        self.binarize = binarize

    def _training(self, X: Any) -> Any:
        X = canonical(X)
        if self.binarize is not None:
            if not isinstance(self.binarize, (int, float, np.number)) or not 0 <= self.binarize < np.inf:
                raise OptionError(f"binarize should be a number, 0 or more, or None, not {self.binarize!r}")
            return presence(X, float(self.binarize))
        values = X.data if sparse.issparse(X) else X
        if values.min(initial=0) < 0 or values.max(initial=1) > 1:
            raise DataError("with binarize=None values lie between 0 and 1: give a threshold, as binarize=0")
        return whole(X)

    def _query(self, X: Any) -> Any:
        return self._training(X)

    def _check_parameters(self, learned: Any) -> None:
        super()._check_parameters(learned)
        if not self._smoothing(learned.n_features).is_single:
            raise OptionError("BernoulliNB takes one alpha for all columns, not one for each")

    @property
    def feature_log_prob_(self) -> npt.NDArray[np.float64]:
        """log P(feature present | class), (n_classes, n_features)."""
        counts = self._known("feature_log_prob_")
        if counts.n_features * len(counts.classes) > DENSE_CELLS:
            raise OptionError("features × classes are too many for a dense table: predict without it")
        smoothing = self._smoothing(counts.n_features)
        return log_present(counts.cells.toarray(), counts.doc_count, smoothing).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags
