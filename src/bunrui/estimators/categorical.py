"""`CategoricalNB`: columns of categories, strings or numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import ClassCounts, Labels, encode_values, in_order
from bunrui.errors import OptionError
from bunrui.estimators.base import NAMES, Codes, CountingClassifier, keep_parameters
from bunrui.models.categorical import categorical, count_values
from bunrui.models.scorer import Smoothing, smoothing_on

Floats = npt.NDArray[np.float64]


class CategoricalNB(CountingClassifier):
    """Categorical naive Bayes, in place of scikit-learn's.

    In addition: values may be strings or any numbers, new values at any time, missing values, `merge` and `unlearn`.

    Parameters
    ----------
    alpha : float, optional
        λ of `smoothing="eap"`, by default 1; α of `"map"`, by default 1.0001.  0 is no smoothing, as `"mle"`.
    force_alpha : bool
        As in scikit-learn: False raises an alpha below 1e-10 to that.
    fit_prior : bool
        False is `prior="uniform"`.
    class_prior : (n_classes,) array, optional
        P(class) in the order of `classes_`; goes before `fit_prior` and `prior`.
    min_categories : int or (n_features,) array of int, optional
        The smallest number of values of a column.  By default the number of seen values.
    smoothing : {"eap", "map", "mle"}
        The estimator of P(value | class): (n + λ) / (N + λS), (n + α - 1) / (N + (α - 1)S), or n / N.
    prior : {"empirical", "uniform", "smoothed"}, ("smoothed", λ) or mapping from label to probability
        P(class): D_c / D, 1 / C, (D_c + 1) / (D + C), or as given.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`.
    categories_ : list of list
        The values of every column, sorted if they can be.
    category_count_, feature_log_prob_ : list of (n_classes, n_values)
        Rows by class and value, and log P(value | class), for seen values in the order of `categories_`.  In
        scikit-learn, values are codes: it has columns of zeros for unseen codes below the largest, and for
        `min_categories`.
    n_categories_ : (n_features,)
        S of every column.

    Notes
    -----
    A new value gets the smoothed probability of 0 rows, λ / (N + λS).  A missing value (None, NaN, or that of pandas)
    is skipped, in training and in prediction.  Values are equal if Python says so: 1 and 1.0 are one value, "1" is
    another.

    Examples
    --------
    >>> X = [["sun", 1], ["sun", 2], ["rain", 2]]
    >>> clf = CategoricalNB().fit(X, ["out", "out", "in"])
    >>> clf.predict([["rain", 2], ["snow", 1], [None, 1]]).tolist()
    ['in', 'out', 'out']
    >>> clf.categories_
    [['rain', 'sun'], [1, 2]]
    """

    _takes: ClassVar[dict[str, bool]] = NAMES
    _accepted: ClassVar[dict[str, Any]] = {"dtype": None, "ensure_all_finite": False}

    def __init__(
        self,
        *,
        alpha: Any = None,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        smoothing: str = "eap",
        prior: Any = "empirical",
    ) -> None:
        keep_parameters(self, locals())

    def _given(self, X: Any) -> Any:
        # Of a list with strings and numbers NumPy would make strings.
        return np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X

    def _count(self, X: Any, labels: tuple[Labels, Codes], weights: npt.NDArray[Any]) -> ClassCounts:
        return ClassCounts.of(labels, weights, count_values(np.asarray(X), labels[1], weights, len(labels[0])))

    def check_parameters(self, learned: ClassCounts) -> None:
        self._smoothing(warn=True)
        self._sizes(learned)
        self.log_prior_of(learned)

    def _smoothing(self, warn: bool = False) -> Smoothing:
        smoothing = smoothing_on(self.n_features_in_, None, self.smoothing, self.alpha, self.force_alpha, warn)
        if not smoothing.is_single:
            raise OptionError(option="alpha", value=self.alpha, expected="one number for all values")
        return smoothing

    def _sizes(self, learned: ClassCounts) -> npt.NDArray[np.int64]:
        """S of every column."""
        seen: npt.NDArray[np.int64] = learned.part.sizes
        if self.min_categories is None:
            return seen
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu" or least.shape not in ((), seen.shape) or (least < 0).any():
            expected = f"a whole number, or one for each of {len(seen)} columns"
            raise OptionError(option="min_categories", value=self.min_categories, expected=expected)
        return np.asarray(np.maximum(seen, least), np.int64)

    def _tables(self) -> list[Floats]:
        """log P(value | class) of every column, (n_values + 1, n_classes); the last for a value that was never seen."""
        learned, smoothing, sizes = self._learned, self._smoothing(), self._sizes(self._learned)
        key = (smoothing.value, sizes.tobytes())
        kept = learned.memo.get("tables")
        if kept is None or kept[0] != key:
            counts = enumerate(sizes.tolist())
            made = [categorical(learned.part.column(j), size, smoothing) for j, size in counts]
            kept = learned.memo["tables"] = (key, made)
        tables: list[Floats] = kept[1]
        return tables

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log P(class, row), (n_rows, n_classes)."""
        X = np.asarray(self._checked(X))
        prior = self.log_prior_of(self._learned)
        scores = np.zeros((len(X), len(prior)))
        for j, (column, table) in enumerate(zip(self._learned.part.places, self._tables(), strict=True)):
            places = encode_values(X[:, j], column, grow=False)
            there = places != -1
            # Place -2 is a value that was never seen: the last row.
            rows = np.where(places == -2, len(table) - 1, places)
            scores[there] += table[rows[there]]
        return np.asarray(scores + prior)

    @property
    def n_categories_(self) -> npt.NDArray[np.int64]:
        """S of every column, (n_features,)."""
        return self._sizes(self._known("n_categories_"))

    @property
    def categories_(self) -> list[list[Any]]:
        """The values of every column, sorted if they can be."""
        return [in_order(column)[0] for column in self._known("categories_").part.places]

    @property
    def category_count_(self) -> list[Floats]:
        """Rows by class and value of every column, each (n_classes, n_values)."""
        counts = self._known("category_count_").part
        columns = enumerate(counts.places)
        return [counts.column(j)[in_order(column)[1]].T.astype(np.float64) for j, column in columns]

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """log P(value | class) of every column, each (n_classes, n_values)."""
        columns = self._known("feature_log_prob_").part.places
        return [table[in_order(column)[1]].T for column, table in zip(columns, self._tables(), strict=True)]
