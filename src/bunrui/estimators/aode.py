"""`AODE`: columns of categories that depend on each other; numbers are cut.  The formula is in models/aode.py."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from bunrui.classcounts import ClassCounts, Encoded, in_order
from bunrui.errors import MismatchError, Option, OptionError, UnlearnError, is_whole
from bunrui.estimators.base import NAMES, CountingClassifier, as_objects, canonical
from bunrui.models.aode import Pairs, count_value_pairs
from bunrui.models.frames import learn_cuts
from bunrui.models.scorer import check_rows
from bunrui.sparse import Floats, Numbers

_NUMBERS = (int, float, np.integer, np.floating)


def _counts_go_on(estimator: Any) -> bool:
    """Whether more rows can come: cuts are learned from all rows at once."""
    if not estimator.discretise:
        return True
    if hasattr(estimator, "_learned") and not estimator._is_cut():
        return True
    off = Option("discretise", False)
    raise OptionError(("columns of numbers are cut by fit: set ", off, " to learn categories step by step"))


class AODE(CountingClassifier):
    """Averaged one-dependence estimators: naive Bayes where every column in turn may depend on every other.

    For columns of categories: strings, integers, booleans, anything that Python can compare.  Columns of floating-point
    numbers are cut into intervals first.

    Parameters
    ----------
    m : float
        A value is a parent if at least m rows have it; if there is no parent, naive Bayes answers.  The article
        has 30, Weka 1.  On 67 tables they are alike (m=1 better on 23, m=30 on 17: benchmarks/aode.py); the default is
        1, because with 30 a small table has only naive Bayes.
    discretise : bool or list of columns
        Which columns are cut by Fayyad and Irani's minimum description length (`bunrui.models.frames`): True, those
        of floating-point numbers, by the dtype of the array or of each column of a data frame; False, none; or their
        names or positions.  Integers are categories unless they are named.

    Attributes
    ----------
    classes_, class_count_, n_features_in_, feature_names_in_
        As those of `MultinomialNB`.
    class_log_prior_ : (n_classes,)
        (rows + 1) / (all rows + classes): that of naive Bayes, where no parent has m rows.
    categories_ : list of list
        The values of every column, sorted if they can be; of a column that was cut, the intervals from 0.
    cuts_ : list of array or None
        Where a column was cut.

    Notes
    -----
    A missing value (None, NaN, or that of pandas) is skipped as parent and as child, and its row counts in
    no probability of that column.  A value that was never seen is no parent, and as a child has the smoothed
    probability of 0 rows, 1 / (K_j(y, x_i) + v_j); in a column that never had a value it says nothing.  Values are
    equal where Python has them equal: 1, 1.0 and True are one value, "1" is another.

    Presence of words: a sparse matrix is read as 0 and 1, whatever its counts.  Absence is a value like any other, so
    absent words are children and parents: P(x_j | y, x_i) is a distribution over both.  With None in place of 0, which
    leaves absent words out, accuracy on SMS spam falls from .978 to .948 (benchmarks/aode.py).  Training takes time for
    the pairs of present words in each row, prediction for present words × columns × classes.

    Counts take (values of all columns)² × classes × 8 bytes; more than 2 ** 26 (512 MB: with 2 classes 2,896 columns of
    presence, with 20 classes 915) are refused.  A first prediction at that bound took 2.3 GB of memory.

    `partial_fit`, `merge` and `unlearn` are exact while no column is cut; `partial_fit` is there with
    `discretise=False`, or once `fit` has found nothing to cut.  Estimators with the same cuts merge.

    Examples
    --------
    >>> X = [["sun", "warm"], ["sun", "cold"], ["rain", "warm"], ["rain", "cold"]] * 3
    >>> y = ["same", "other", "other", "same"] * 3
    >>> AODE().fit(X, y).predict(X[:4]).tolist()
    ['same', 'other', 'other', 'same']
    >>> clf = AODE().fit([[1.5], [2.5], [7.5], [9.5]] * 2, ["low", "low", "high", "high"] * 2)
    >>> clf.cuts_[0].tolist(), clf.predict([[3.0], [8.0]]).tolist()
    ([5.0], ['low', 'high'])
    """

    _takes: ClassVar[dict[str, bool]] = {"sparse": True, **NAMES}
    _is_poor = False
    _counting: ClassVar[tuple[str, ...]] = ("discretise",)
    _accepted: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False}

    # That of naive Bayes, not a parameter.
    prior = "smoothed"

    _frame_floats: list[int] | None

    def __init__(self, *, m: float = 1, discretise: Any = True) -> None:
        self.m = m
        self.discretise = discretise

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn; cuts too.  X, y and sample_weight are those of `MultinomialNB.fit`."""
        self._frame_floats = _float_columns(X)
        return super().fit(X, y, sample_weight)

    @available_if(_counts_go_on)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, all or none of them; with `discretise=False`, or where nothing was cut.

        X, y, classes and sample_weight are those of `MultinomialNB.partial_fit`.
        """
        return super().partial_fit(X, y, classes, sample_weight)

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None, *, exact: bool = True) -> Self:
        """Take rows back, all or none of them; X, y and sample_weight are those of `MultinomialNB.unlearn`.

        `exact` also refuses rows from which cuts were learned.  Without it the cuts stay as they are.
        """
        if exact and hasattr(self, "_learned") and self._is_cut():
            raise UnlearnError(
                "the cuts were learned from these rows, too: fit again, or pass exact=False to keep the cuts"
            )
        return super().unlearn(X, y, sample_weight, exact=exact)

    def _is_cut(self) -> bool:
        return any(cuts is not None for cuts in self._learned.part.cuts)

    def _check_shapes(self, other: Self) -> None:
        super()._check_shapes(other)
        for j, (mine, theirs) in enumerate(zip(self._learned.part.cuts, other._learned.part.cuts, strict=True)):
            if (mine is None) != (theirs is None) or not np.array_equal(mine, theirs):
                raise MismatchError(f"column {j} is cut otherwise: only estimators with the same cuts can be merged")

    def _given(self, X: Any) -> Any:
        objects = as_objects(X)
        if objects is X:
            return X
        are_numbers = all(isinstance(value, _NUMBERS) for value in objects.reshape(-1).tolist())
        return np.array(X) if are_numbers else objects

    def _count(self, X: Any, labels: Encoded, weights: Numbers) -> ClassCounts:
        (classes, codes), all_weights = labels, weights
        X = canonical(X)
        if not weights.all():
            # A row without weight has no values either.
            X, codes, weights = X[weights > 0], codes[weights > 0], weights[weights > 0]
        is_first = not hasattr(self, "_learned")
        cuts = learn_cuts(X, self._columns_to_cut(X), codes, weights) if is_first else self._learned.part.cuts
        return ClassCounts.of(labels, all_weights, count_value_pairs(X, codes, weights, len(classes), cuts))

    def _columns_to_cut(self, X: Any) -> set[int]:
        n = X.shape[1]
        if self.discretise is False or sparse.issparse(X):
            return set()
        if self.discretise is True:
            frame = getattr(self, "_frame_floats", None)
            if frame is not None:
                return set(frame)
            return set(range(n)) if X.dtype.kind == "f" else set()
        if not isinstance(self.discretise, (list, tuple)):
            raise OptionError(option="discretise", value=self.discretise, expected="True, False or a list of columns")
        named = getattr(self, "feature_names_in_", np.empty(0, object)).tolist()
        columns = set()
        for column in self.discretise:
            place = named.index(column) if column in named else column
            if not is_whole(place) or not 0 <= place < n:
                raise OptionError((Option("discretise"), f" names the column {column!r}, which X does not have"))
            columns.add(int(place))
        return columns

    def check_parameters(self, learned: ClassCounts) -> None:
        check_rows(self.m)

    # Predicting

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Scores: log P(class, row), (n_rows, n_classes)."""
        X = self._checked(X)
        return Pairs(self._learned, self.m).scores(canonical(X))

    # Learned attributes

    @property
    def categories_(self) -> list[list[Any]]:
        """The values of every column, sorted if they can be."""
        return [in_order(column)[0] for column in self._known("categories_").part.places]

    @property
    def cuts_(self) -> list[Floats | None]:
        """Where a column was cut, None for one that was not."""
        return list(self._known("cuts_").part.cuts)


def _float_columns(X: Any) -> list[int] | None:
    """The columns of a data frame that have floating-point numbers; None if X is no data frame."""
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "columns"):
        return None
    floats = (dtype.kind == "f" if hasattr(dtype, "kind") else dtype.is_float() for dtype in dtypes)
    return [j for j, is_float in enumerate(floats) if is_float]
