"""`DiscreteNB`: what the models that are linear in counts share."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import DataError, OptionError
from bunrui.estimators.base import Codes, CountingClassifier
from bunrui.estimators.counts import MatrixCounts, count, whole
from bunrui.estimators.labels import Labels
from bunrui.estimators.parameters import same, smoothing_on
from bunrui.estimators.table import DENSE_CELLS, MatrixView, Table, dense_table
from bunrui.models.base import Scorer, Smoothing
from bunrui.models.view import FeatureCounts

__all__ = ["DiscreteNB", "canonical", "presence"]

Floats = npt.NDArray[np.float64]


class FilledView(MatrixView):
    """A view that gathers a cell for every class, be it 0."""

    def gather(self, ids: npt.NDArray[np.uint32], by_docs: bool) -> FeatureCounts:
        """The cells of some columns, one for each class."""
        return super().gather(ids, by_docs).filled(len(self.doc_count))


class DiscreteNB(CountingClassifier):
    """Base of the models that are linear in counts; a subclass names its formula, and what of a row it reads."""

    _formula: ClassVar[Callable[..., Scorer]]
    _counts_presence: ClassVar[bool] = False
    _reads_presence: ClassVar[bool] = False

    # Options of the formula; False where a subclass does not have them.
    class_norm: bool = False
    against_rest: bool = False

    def __init__(
        self,
        *,
        alpha: Any = None,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        smoothing: str = "eap",
        prior: Any = "empirical",
        class_norm: bool = False,
        against_rest: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.smoothing = smoothing
        self.prior = prior
        self.class_norm = class_norm
        self.against_rest = against_rest

    # Rows

    def _training(self, X: Any) -> Any:
        """Rows as they are counted: int64 or float64."""
        X = canonical(X)
        if (X.data if sparse.issparse(X) else X).min(initial=0) < 0:
            raise DataError(f"Negative values in data passed to {type(self).__name__}: counts are 0 or more")
        return presence(X) if self._counts_presence else whole(X)

    def _query(self, X: Any) -> Any:
        """Rows as they are predicted."""
        X = canonical(X)
        return presence(X) if self._reads_presence else X

    def _count(self, X: Any, labels: tuple[Labels, Codes], weights: npt.NDArray[Any] | None) -> Any:
        return count(self._training(X), labels, weights, self._counts_presence)

    # Scores

    def _counts(self, learned: Any) -> MatrixCounts:
        """The counts that the formula reads."""
        counts: MatrixCounts = learned
        return counts

    def _view(self, learned: Any) -> MatrixView:
        return MatrixView(self._counts(learned).bare(), getattr(self, "feature_names_in_", None))

    def _scorer(self, view: MatrixView, prior: Floats) -> Scorer:
        options = {name: True for name in ("class_norm", "against_rest") if getattr(self, name)}
        return type(self)._formula(view, self._smoothing(view.n_features), prior, **options)

    def _smoothing(self, n_features: int, warn: bool = False) -> Smoothing:
        names = getattr(self, "feature_names_in_", None)
        return smoothing_on(n_features, names, self.smoothing, self.alpha, self.force_alpha, warn)

    def _check_parameters(self, learned: Any) -> None:
        self._smoothing(learned.n_features, warn=True)
        self._log_prior(learned)
        if self.against_rest and not isinstance(learned, MatrixCounts):
            # The two sides of a label would be held against each other twice.
            raise OptionError("MultilabelNB holds each label against the rest by itself: leave against_rest out")

    def _table(self) -> Table:
        """The weights, made once for the same counts and parameters."""
        memo = self._learned.memo
        parameters = self.get_params(deep=False)
        kept = memo.get("table")
        if kept is None or not same(kept[0], parameters):
            view = self._view(self._learned)
            scorer = self._scorer(view, self._log_prior(self._learned))
            table = Table(FilledView(*view) if scorer.everywhere else view, scorer)
            # One assignment: another thread finds all of it or nothing.
            kept = memo["table"] = (deepcopy(parameters), table)
        table = kept[1]
        assert isinstance(table, Table)
        return table

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log P(class, row) up to what all classes share, (n_rows, n_classes).

        With `against_rest`, log P(class, row) / P(not class, row).
        """
        X = self._checked(X)
        return self._table().scores(self._query(X))

    def predict(self, X: Any) -> Labels:
        """The most likely label of every row, (n_rows,); ties go to the label that sorts first."""
        X = self._checked(X)
        return np.asarray(self.classes_[self._table().best(self._query(X))])

    @property
    def feature_count_(self) -> Any:
        """What was counted, (n_classes, n_features); a sparse array where a dense one would be large."""
        cells = self._counts(self._known("feature_count_")).cells.T.astype(np.float64)
        return cells.toarray() if cells.shape[0] * cells.shape[1] <= DENSE_CELLS else cells.tocsr()

    @property
    def feature_log_prob_(self) -> Floats:
        """log P(feature | class), (n_classes, n_features); with `against_rest` too, whose scores have more."""
        learned = self._known("feature_log_prob_")
        if not self.against_rest:
            return self._table().weights.T
        view, options = self._view(learned), {"class_norm": True} if self.class_norm else {}
        own = type(self)._formula(view, self._smoothing(view.n_features), self._log_prior(learned), **options)
        return dense_table(view, own).T

    def weights_of(self, columns: npt.NDArray[np.int64]) -> Floats:
        """What one occurrence in some columns adds to the scores, without a table of all columns.

        `feature_log_prob_[:, columns].T`, unless classes are held `against_rest`.
        """
        table = self._table()
        return dense_table(table.view, table.scorer, columns.astype(np.uint32))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def canonical(X: Any) -> Any:
    """An array as it is; a sparse matrix as a csr_array that has every cell once."""
    if not sparse.issparse(X):
        return np.asarray(X)
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        # Of a copy: the matrix may be the caller's.
        X = X.copy()
        X.sum_duplicates()
    return X


def presence(X: Any, threshold: float = 0.0) -> Any:
    """1 where a value is above a threshold (of a sparse matrix, at least 0), else 0."""
    if not sparse.issparse(X):
        return np.greater(X, threshold).astype(np.int64)
    out = sparse.csr_array(((X.data > threshold).astype(np.int64), X.indices, X.indptr), shape=X.shape, copy=True)
    out.eliminate_zeros()
    return out
