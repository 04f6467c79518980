"""`NBSVM`: a linear SVM whose features have the naive-Bayes ratios as prior.

    minimise over w, b:   ½ Σ_f (w[f] - m · r[f])² / r[f]²  +  ½ b²  +  C Σ_i s[i] · loss(y[i] · (w · x[i] + B · b))

    r[f] = log( ((n[f, c] + α) / (N[c] + α V)) / ((n[f, ~c] + α) / (N[~c] + α V)) )

    n[f, c]   rows of class c in which feature f is above 0 (~c: of all other classes), N[c] their sum over features
    V         features in the training rows;  B the value of the constant feature;  s[i] the weight of row i
    m         such that the mean |margin| of the naive-Bayes weights m · r on the training rows is `start`

A feature with a strong ratio is cheap to use, one without is dear.  This is the model of Wang and Manning (2012), who
scale features by r: a weight u[f] of the scaled feature is w[f] = u[f] · r[f].  As a prior the ratio needs no scaled
copy of the rows, one for each class; in dual coordinate descent only the update changes, to w[f] += d · x[f] · r[f]².

Wang, Manning (2012), Baselines and Bigrams; Hsieh et al. (2008), A Dual Coordinate Descent Method for Large-scale
Linear SVM; Yu, Huang, Lin (2011) for logistic regression.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bunrui.errors import DataError, OptionError
from bunrui.estimators.arrange import Cells, Keys, arrange, compacted, occurring
from bunrui.estimators.heads import LinearHead, class_shift, number, sums_for
from bunrui.kernel import heads as kernel
from bunrui.kernel.headrows import ALONE, Rows, Targets, tally
from bunrui.kernel.heads import Dual, Head
from bunrui.kernel.library import run

__all__ = ["NBSVM"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LOSSES = {"squared_hinge": kernel.SQUARED_HINGE, "hinge": kernel.HINGE, "logistic": kernel.LOGISTIC}


class NBSVM(LinearHead):
    """Linear SVM or logistic regression with a naive-Bayes prior: the accurate member of the family.

    Parameters
    ----------
    C : float
        The weight of the loss against the prior.
    loss : {"squared_hinge", "hinge", "logistic"}
    alpha : float
        α of the smoothed counts in the ratio.
    variance : {"ratio", "one"}
        The prior variance of a weight: r², or 1 for all, which is an ordinary SVM.
    start : float
        Mean size of the margins of the naive-Bayes weights that are the mean of the prior, and the start; 0 for zero.
    beta : float, optional
        Interpolation of Wang and Manning: weights u of scaled features become (1 - β) · mean|u| + β · u.
    bias : float
        The value of the constant feature; 0 for no intercept.  With 1 the first epochs swing.
    presence : bool
        Whether a feature counts once in a row, if it is above 0.  Otherwise values are read as they are.
    idf_power : float
        p of idf ** p, which a feature is multiplied with; 0 for none.
    norm : {"l2", None}
        Whether rows are divided by their length.
    max_iter : int
        Epochs, at most.  Two are enough for accuracy; for the exact optimum take many, and a small `tol`.
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
    [[-1.2, 0.0, 0.0, 1.19]]
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        alpha: float = 0.5,
        variance: str = "ratio",
        start: float = 0.3,
        beta: float | None = None,
        bias: float = 0.1,
        presence: bool = True,
        idf_power: float = 0.5,
        norm: str | None = "l2",
        max_iter: int = 2,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.alpha = alpha
        self.variance = variance
        self.start = start
        self.beta = beta
        self.bias = bias
        self.presence = presence
        self.idf_power = idf_power
        self.norm = norm
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @classmethod
    def wang_manning(cls, **options: Any) -> Self:
        """The form of the paper: presence without IDF and length norm, α = 1, β = .25, begun at zero, to the optimum.

        Examples
        --------
        >>> NBSVM.wang_manning(C=0.1)
        NBSVM(C=0.1, alpha=1.0, beta=0.25, bias=1.0, idf_power=0.0, max_iter=1000,
              norm=None, start=0.0)
        """
        paper = {"alpha": 1.0, "beta": 0.25, "bias": 1.0, "idf_power": 0.0, "norm": None, "start": 0.0}
        return cls(**{**paper, "max_iter": 1000, **options})

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
        return self.fit_keyed(X, y, None, sample_weight)

    def fit_keyed(self, X: Any, y: Any, keys: Keys | None, sample_weight: Any = None) -> Self:
        """`fit`, where hashes of the rows are given, (n_rows, 2): see `arrange`."""
        seed = self._check_parameters()
        batch = self._read(X, y, sample_weight, reset=True)
        n_classes = len(batch.classes)
        if n_classes < 2:
            only = batch.classes.tolist()[0]
            raise DataError(f"NBSVM tells classes apart, and all rows are of one class, {only!r}: give rows of another")
        order, weights = arrange(batch.cells, batch.codes, batch.weights, seed, keys)
        codes = batch.codes[order]
        task = self._laid_out(batch.cells, order, Targets(codes - 1 if n_classes == 2 else codes, weights))
        ratio = self._begin(task)
        self._descend(task, seed)
        if self.beta is not None:
            self._interpolate(task.head.weights, ratio, float(self.beta))
        self.classes_ = batch.classes
        self._weights = task.head.weights.reshape(-1, len(task.head.bias))
        self._bias = task.head.bias * float(self.bias)
        return self

    # The steps of `fit`

    def _laid_out(self, cells: Cells, order: Integers, targets: Targets) -> _Task:
        """Rows as the head reads them, a place for every column that occurs, and counts in `head.variance`."""
        columns, doc_freq, n_rows = occurring(cells, order, targets.weight)
        self._factor, self._place_of = np.zeros(cells.n_columns), np.full(cells.n_columns, -1, np.int64)
        self._factor[columns] = self._idf(float(targets.weight.sum()), doc_freq)
        # Where values count too, features of one row have different ones.
        alone = (n_rows == 1) & bool(self.presence)
        own = columns[~alone]
        self._place_of[own] = np.arange(len(own))
        self._place_of[columns[alone]] = ALONE
        args = (self._factor, int(self.norm == "l2"), self._place_of, len(own))
        rows, n_places = compacted(cells, order, *args)

        n_margins = int(targets.column.max()) + 1
        weights, variance = np.zeros((2, n_places * n_margins))
        head = Head(weights, variance, np.zeros(n_margins), np.ones(n_margins), float(self.bias))
        totals = np.zeros(n_places)
        mass = np.zeros(n_margins + 1)
        run(tally, rows, targets, n_margins, 0, 0, variance, totals, mass)
        shift = class_shift(mass, float(self.alpha), len(columns))
        return _Task(rows, targets, head, totals, shift)

    def _begin(self, task: _Task) -> Floats:
        """Turn counts into the prior, and start at its mean; the ratios."""
        head, n_places = task.head, len(task.totals)
        args = (head, task.totals, task.shift, float(self.alpha), 0, n_places, 0, 1.0, 0.0)
        run(kernel.ratios, *args)
        ratio = head.weights.copy() if self.beta is not None else np.empty(0)
        unit = self._unit(task.rows, task.targets, head) if self.start > 0 else 0.0
        np.multiply(head.weights, unit, out=head.weights)
        if self.variance == "one":
            head.variance.fill(1.0)
        return ratio

    def _descend(self, task: _Task, seed: int) -> None:
        head, n, n_margins = task.head, len(task.targets.weight), len(task.head.bias)
        dual = Dual(np.zeros(n * n_margins), np.zeros(n * n_margins), _LOSSES[self.loss])
        order = np.arange(n)
        for epoch in range(int(self.max_iter)):
            if epoch:
                order = np.random.default_rng([seed, epoch]).permutation(n)
            args = (task.rows, order, task.targets, float(self.C), head, dual, sums_for(n_margins))
            self.violation_ = float(run(kernel.sweep, *args))
            self.n_iter_ = epoch + 1
            if self.violation_ <= self.tol:
                break

    def _interpolate(self, weights: Floats, ratio: Floats, beta: float) -> None:
        """(1 - β) · mean|u| + β · u, where u are the weights of features that are scaled by the ratio."""
        scaled = np.divide(weights, ratio, out=np.zeros_like(weights), where=ratio != 0)
        uses = np.bincount(self._place_of[self._place_of >= 0])
        mean = uses @ np.abs(scaled).reshape(len(uses), -1) / uses.sum()
        even = (ratio.reshape(len(uses), -1) * mean).reshape(-1)
        weights *= beta
        weights += (1 - beta) * even

    def _check_parameters(self) -> int:
        number("C", self.C, above=0)
        number("tol", self.tol)
        if self.loss not in _LOSSES:
            raise OptionError(f"loss should be one of {', '.join(_LOSSES)}, not {self.loss!r}")
        if self.variance not in ("ratio", "one"):
            raise OptionError(f"variance should be 'ratio' or 'one', not {self.variance!r}")
        if self.beta is not None:
            number("beta", self.beta)
            if self.beta > 1:
                raise OptionError(f"beta should be at most 1, not {self.beta!r}")
            if self.variance != "ratio":
                raise OptionError("beta interpolates weights that are scaled by the ratio: it needs variance='ratio'")
        number("max_iter", self.max_iter, above=0)
        return self._check_shared_parameters()


class _Task(NamedTuple):
    """Rows and what they are to say, the head, totals of features, and what the sizes of classes add to ratios."""

    rows: Rows
    targets: Targets
    head: Head
    totals: Floats
    shift: Floats
