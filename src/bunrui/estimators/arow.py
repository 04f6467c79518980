"""`NBAROW`: AROW that begins at the naive-Bayes ratios; one pass, and it can go on learning.

    for every row x of class c, and every class k (y = 1 where k = c, else -1), where y · (w · x) < 1:

        β = 1 / (Σ_f v[f] · x[f]² + r / s)          s  the weight of the row
        w[f] += β · (1 - y · (w · x)) · y · v[f] · x[f]
        v[f] -= β · (v[f] · x[f])²

    begun at w[f] = m · ratio[f], v[f] = max(ratio[f]², floor), for the ratio and m of `NBSVM`

A weight has a variance, which shrinks with every row that moved it: what was learned often changes little.

Crammer, Kulesza, Dredze (2009), Adaptive Regularization of Weight Vectors; diagonal covariance, squared hinge.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bunrui.estimators.arrange import Cells, Keys, arrange, compacted, occurring
from bunrui.estimators.growing import Growing
from bunrui.estimators.heads import Batch, LinearHead, class_shift, number, sums_for
from bunrui.estimators.labels import Labels, check_among, sorted_classes, union
from bunrui.kernel import heads as kernel
from bunrui.kernel.headrows import ALONE, Rows, Targets, tally
from bunrui.kernel.heads import Head
from bunrui.kernel.library import run

__all__ = ["NBAROW"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class NBAROW(LinearHead):
    """A linear head that learns row by row, from a naive-Bayes start.

    Parameters
    ----------
    r : float
        How little one row may move: large is careful.  On a held-out fifth of the training rows of six corpora .1, .5
        and 1 have the mean accuracies .9222, .9234 and .9238; .1 loses .8 points on short reviews (NSMC), 1 loses .3 on
        20 Newsgroups.
    floor : float
        The least variance at the start.  With 0, a column that says nothing in the batch in which it first occurs never
        learns.  Of 0, .1, .3, 1 and 3 this is the largest that costs less than .1 points on a held-out fifth of each of
        20 Newsgroups, IMDB, livedoor and AG, learned at once or in batches of 1,000 (with r = .1).
    alpha, start, bias, presence, idf_power, norm
        As those of `NBSVM`.
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
    occurs, and stay; the scale m is that of the first batch.  So a large first batch is worth having: it is the only
    one whose ratios see more than the batch itself.  A class that comes later begins at its ratios against all rows
    so far; those of the other classes stay.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [2, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 3]]
    >>> clf = NBAROW().fit(X, ["ham", "ham", "spam", "spam"])
    >>> clf.predict([[1, 0, 0, 0], [0, 0, 0, 1]]).tolist()
    ['ham', 'spam']
    >>> clf.partial_fit([[0, 5, 0, 0], [0, 3, 0, 0]], ["new", "new"]).predict([[0, 1, 0, 0]]).tolist()
    ['new']
    """

    _grown: Growing
    _declared: Labels | None

    def __init__(
        self,
        *,
        r: float = 0.5,
        floor: float = 0.3,
        alpha: float = 0.5,
        start: float = 0.3,
        bias: float = 0.1,
        presence: bool = True,
        idf_power: float = 0.5,
        norm: str | None = "l2",
        random_state: Any = None,
    ) -> None:
        self.r = r
        self.floor = floor
        self.alpha = alpha
        self.start = start
        self.bias = bias
        self.presence = presence
        self.idf_power = idf_power
        self.norm = norm
        self.random_state = random_state

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
        return self._fit(X, y, sample_weight, None)

    def _fit(self, X: Any, y: Any, sample_weight: Any, keys: Keys | None) -> Self:
        seed = self._check_parameters()
        batch = self._read(X, y, sample_weight, reset=True)
        order, weights = arrange(batch.cells, batch.codes, batch.weights, seed, keys)
        self._declared = None
        self._learn(Growing(batch.cells.n_columns, self._options()), batch, batch.classes, order, weights)
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
        first = not hasattr(self, "_grown")
        if not first:
            self._grown.check_options(self._options())
        batch = self._read(X, y, sample_weight, reset=first)
        known = batch.classes[:0] if first else self.classes_
        declared = None if first else self._declared
        if classes is not None:
            given = sorted_classes(classes)
            declared = union(known if declared is None else declared, given)
        if declared is not None:
            check_among(batch.classes, declared)
        everything = union(known, batch.classes if declared is None else declared)
        order = np.flatnonzero(batch.weights > 0)
        grown = Growing(batch.cells.n_columns, self._options()) if first else self._grown
        self._declared = declared
        self._learn(grown, batch, everything, order, batch.weights[order])
        return self

    def learn_more(self, X: Any, y: Any, keys: Keys) -> Self:
        """Learn a batch in the order of its keys (see `arrange`); X may have more columns than before, on the right.

        For who counts words of texts, of which new ones turn up.
        """
        if not hasattr(self, "_grown"):
            return self._fit(X, y, None, keys)
        self._check_parameters()
        self._grown.check_options(self._options())
        self._grown.widen(X.shape[1])
        self.n_features_in_ = X.shape[1]
        batch = self._read(X, y, None, reset=False)
        order, weights = arrange(batch.cells, batch.codes, batch.weights, 0, keys)
        self._learn(self._grown, batch, union(self.classes_, batch.classes), order, weights)
        return self

    def _learn(self, grown: Growing, batch: Batch, classes: Labels, order: Integers, weights: Floats) -> None:
        """Learn rows in some order, all of whose labels are among `classes`."""
        old_classes = len(grown.labels)
        known = set(grown.labels)
        grown.add_classes([label for label in classes.tolist() if label not in known])
        column = {label: place for place, label in enumerate(grown.labels)}
        column_of = np.array([column[label] for label in batch.classes.tolist()], np.int64)
        targets = Targets(column_of[batch.codes[order]], weights)

        rows, old_places = self._placed(grown, batch.cells, order, weights)
        head = grown.head(float(self.bias))
        args = (targets, len(column), old_places, old_classes, head.variance, grown.totals, grown.mass)
        run(tally, rows, *args)
        self._begin(grown, head, old_places, old_classes, rows, targets)
        run(kernel.arow, rows, targets, float(self.r), head, sums_for(len(column)))
        self._grown, self._place_of, self._factor = grown, grown.place_of, grown.factor
        self._weights, self._bias, self.classes_ = grown.weights, grown.bias * float(self.bias), classes

    def _placed(self, grown: Growing, cells: Cells, order: Integers, weights: Floats) -> tuple[Rows, int]:
        """Rows as the head reads them, and the first place that is new."""
        columns, doc_freq, n_rows = occurring(cells, order, weights)
        new = grown.place_of[columns] < 0
        grown.n_docs += float(weights.sum())
        grown.n_features += int(new.sum())
        grown.factor[columns[new]] = self._idf(grown.n_docs, doc_freq[new])
        grown.part(columns[~new])
        # Where values count too, features of one row have different ones.
        alone = new & (n_rows == 1) & bool(self.presence)
        own, old_places = columns[new & ~alone], grown.n_places
        first_shared = old_places + len(own)
        grown.place_of[own] = old_places + np.arange(len(own))
        grown.place_of[columns[alone]] = ALONE
        grown.make_room(first_shared + (len(order) if alone.any() else 0))
        args = (grown.factor, int(self.norm == "l2"), grown.place_of, first_shared)
        rows, grown.n_places = compacted(cells, order, *args)
        np.add.at(grown.uses, grown.place_of[columns[new]], 1)
        return rows, old_places

    def _begin(
        self, grown: Growing, head: Head, old_places: int, old_classes: int, rows: Rows, targets: Targets
    ) -> None:
        """Turn counts into ratios, in new places, and of new classes in all places."""
        shift = class_shift(grown.mass, float(self.alpha), grown.n_features)
        unit = 1.0 if grown.unit is None else grown.unit
        for block in ((0, old_places, old_classes), (old_places, grown.n_places, 0)):
            args = (head, grown.totals, shift, float(self.alpha), *block, unit, float(self.floor))
            run(kernel.ratios, *args)
        if grown.unit is None:
            unit = self._unit(rows, targets, head) if len(shift) > 1 else 0.0
            grown.weights[old_places:] *= unit
            grown.weights[:old_places, old_classes:] *= unit
            # As long as classes do not differ, weights begin at 0 and the next batch tries again.
            grown.unit = unit or None

    # Answers

    def _by_class(self, margins: Floats) -> Floats:
        """In the order of the labels; of two classes, half the difference (which one against the rest mirrors)."""
        column = {label: place for place, label in enumerate(self._grown.labels)}
        margins = margins[..., [column[label] for label in self.classes_.tolist()]]
        return (margins[..., 1:] - margins[..., :1]) / 2 if len(self.classes_) == 2 else margins

    def _options(self) -> dict[str, Any]:
        """What decides how rows are read and weights begin, and cannot change in between."""
        names = ("floor", "alpha", "start", "bias", "presence", "idf_power", "norm")
        return {name: getattr(self, name) for name in names}

    def _check_parameters(self) -> int:
        number("r", self.r, above=0)
        number("floor", self.floor)
        return self._check_shared_parameters()
