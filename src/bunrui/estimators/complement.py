"""`ComplementNB` with a switch for each step of Rennie et al. (2003), and `TWCNB`, all of them on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.estimators.base import Codes
from bunrui.estimators.counts import MatrixCounts
from bunrui.estimators.discrete import DiscreteNB
from bunrui.estimators.labels import Labels
from bunrui.estimators.rows import Rows, stepped
from bunrui.estimators.table import MatrixView
from bunrui.models.base import Scorer, normalised
from bunrui.models.complement import complement
from bunrui.models.multinomial import multinomial
from bunrui.models.transform import Steps

__all__ = ["TWCNB", "ComplementNB"]

Floats = npt.NDArray[np.float64]


class ComplementNB(DiscreteNB):
    """Complement naive Bayes, in place of scikit-learn's: a class is scored by the counts of all the others.

    Parameters
    ----------
    alpha, force_alpha, smoothing
        As those of `MultinomialNB`.
    fit_prior, class_prior
        Not used for scores, as in scikit-learn: they have no class prior.
    norm : bool
        Weight normalisation: the weights of a class are divided by the sum of their sizes.
    complement : bool
        Whether to count outside the class.  False scores by the class itself, still without a prior.
    log_tf, idf, length_norm : bool
        Whether rows become log(1 + count), times log(D / D[f]), divided by their length, before they are counted.
    transform_queries : bool
        Whether these three are done to rows to predict as well; the article does not.

    Attributes
    ----------
    classes_, class_count_, feature_count_, class_log_prior_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`; `feature_count_` is of the rows after their steps.
    feature_all_ : (n_features,)
        `feature_count_` of all classes together.
    feature_log_prob_ : (n_classes, n_features)
        What one occurrence adds to a score, as in scikit-learn: the weights with their sign turned.
    weights_ : (n_classes, n_features)
        The weights of the article; with the complement, the class with the smallest sum wins.

    Notes
    -----
    With `log_tf`, `idf` or `length_norm` the estimator keeps its rows (sparse), since each new row changes what the old
    ones weigh.  So learning, merging and unlearning stay exact, also of fractions (of weights with fractions, to
    rounding); the price is memory, and a pass over all rows at the first prediction after a change.  Which of the three
    are on cannot change without a new `fit`.

    A row without a word left (its length is 0 after IDF) adds nothing.  Where all weights of a class are 0 (for want of
    a second column), they are not divided.

    References
    ----------
    Rennie, Shih, Teevan, Karger (2003), "Tackling the poor assumptions of naive Bayes text classifiers".

    Examples
    --------
    >>> clf = ComplementNB(norm=True).fit([[2, 2, 0], [1, 0, 4]], ["tea", "ham"])
    >>> clf.predict([[1, 2, 0], [0, 0, 1]]).tolist()
    ['tea', 'ham']
    """

    _counting = ("log_tf", "idf", "length_norm")
    complement: bool
    norm: bool
    log_tf: bool
    idf: bool
    length_norm: bool

    def __init__(
        self,
        *,
        alpha: Any = None,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        smoothing: str = "eap",
        complement: bool = True,
        log_tf: bool = False,
        idf: bool = False,
        length_norm: bool = False,
        transform_queries: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.smoothing = smoothing
        self.complement = complement
        self.log_tf = log_tf
        self.idf = idf
        self.length_norm = length_norm
        self.transform_queries = transform_queries

    @property
    def _steps(self) -> Steps:
        return Steps(bool(self.log_tf), bool(self.idf), bool(self.length_norm))

    def _count(self, X: Any, labels: tuple[Labels, Codes], weights: npt.NDArray[Any] | None) -> Any:
        if not any(self._steps):
            return super()._count(X, labels, weights)
        classes, codes = labels
        rows = sparse.csr_array(self._training(X), dtype=np.float64)
        rows.eliminate_zeros()
        weights = np.ones(len(codes)) if weights is None else weights.astype(np.float64)
        return Rows.of(classes, rows, codes, weights)

    def _counts(self, learned: Any) -> MatrixCounts:
        if not isinstance(learned, Rows):
            return super()._counts(learned)
        return learned.counts(self._steps)

    @property
    def feature_all_(self) -> Floats:
        """What was counted in all classes together, (n_features,)."""
        return np.asarray(self._counts(self._known("feature_all_")).cells.sum(axis=1), np.float64)

    def _scorer(self, view: MatrixView, prior: Floats) -> Scorer:
        formula = complement if self.complement else multinomial
        scorer = formula(view, self._smoothing(view.n_features), np.zeros_like(prior))
        return normalised(view, scorer) if self.norm else scorer

    def _query(self, X: Any) -> Any:
        X = super()._query(X)
        if not self.transform_queries or not isinstance(self._learned, Rows):
            return X
        return stepped(sparse.csr_array(X), self._steps, self._learned.idf() if self.idf else None)

    @property
    def weights_(self) -> Floats:
        """The weights of the article, (n_classes, n_features)."""
        return -self.feature_log_prob_ if self.complement else self.feature_log_prob_


class TWCNB(ComplementNB):
    """Transformed weight-normalised complement naive Bayes: all five steps of Rennie et al. (2003), table 4.

    Parameters
    ----------
    alpha, force_alpha, smoothing
        As those of `MultinomialNB`.
    transform_queries : bool
        Whether rows to predict go through log TF, IDF and length norm as well; the article takes their raw counts.

    Attributes
    ----------
    classes_, class_count_, feature_count_, feature_log_prob_, weights_, n_features_in_, feature_names_in_
        As those of `ComplementNB`.

    Notes
    -----
    The rows are kept, so that learning, merging and unlearning are exact; see `ComplementNB`.

    Examples
    --------
    >>> clf = TWCNB().fit([[2, 2, 0], [1, 0, 4]], [1, 2])
    >>> clf.weights_.round(12).tolist()
    [[-0.4, -0.4, -0.2], [-0.4, -0.2, -0.4]]
    >>> clf.predict([[1, 2, 0]]).tolist()
    [1]
    """

    complement = norm = log_tf = idf = length_norm = True

    def __init__(
        self, *, alpha: Any = None, force_alpha: bool = True, smoothing: str = "eap", transform_queries: bool = False
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.smoothing = smoothing
        self.transform_queries = transform_queries
