"""Linear heads with a naive-Bayes prior: how rows are read, `train_svm` and `Arow`.

    x[f] = log(1 + n[f]) · idf[f] ** p / length of the row        idf[f] = log((1 + D) / (1 + D[f])) + 1
    margin[c] = intercept[c] + Σ_f x[f] · coef[c, f]

    n[f]   how often the row has f (or 1, by `presence`);  D training rows (their weights), D[f] those that contain f

**The prior.**  Weights are small before anything is learned, but those of telling features may be larger:

    v[f] = (1 - β) + β · r[f]² / mean(r²)                                       `variance` β, .7
    r[f] = log( ((n[f, c] + α) / (N[c] + α V)) / ((n[f, ~c] + α) / (N[~c] + α V)) )

    n[f, c]   rows of class c in which feature f is above 0 (~c: of all other classes), N[c] their sum over features
    V         features in the training rows;  mean: over all features of all rows, so that the mean of v is 1

β = 0 is an ordinary SVM.  With β = 1 a feature that says nothing by itself has no weight: this is the model of Wang and
Manning (2012), who scale features by r: a weight u[f] of the scaled feature is w[f] = u[f] · r[f].  As a prior the
ratio needs no scaled copy of the rows, one for each class.  Decision 034 has the numbers.

**NBSVM**, a linear SVM with this prior:

    minimise over w, b:   ½ Σ_f (w[f] - m · r[f])² / v[f]  +  ½ b²  +  C Σ_i s[i] · loss(y[i] · (w · x[i] + B · b))

    B         the value of the constant feature;  s[i] the weight of row i
    m         such that the mean |margin| of the naive-Bayes weights m · r on the training rows is `start`, 0 by default

In dual coordinate descent only the update has the variance in it: w[f] += d · x[f] · v[f].

**NB-AROW**, which learns in one pass, and can go on learning:

    for every row x of class c, and every class k (y = 1 where k = c, else -1), where y · (w · x) < 1:

        β = 1 / (Σ_f v[f] · x[f]² + r / s)          s  the weight of the row
        w[f] += β · (1 - y · (w · x)) · y · v[f] · x[f]
        v[f] -= β · (v[f] · x[f])²

    begun at the mean and the variance of the prior

A weight has a variance, which shrinks with every row that moved it: a weight that many rows have moved changes little.

Heads that learn row by row depend on the order of the rows, and a row of weight 2 is not the same as two rows.  So rows
are put into the order of a hash of their cells, and equal rows with equal labels become one row with the sum of their
weights (`arrange`): the head is then the same, to the last bit of a whole-numbered weight, however rows are
shuffled, repeated or weighted.  The hash also mixes the classes: corpora are often sorted by class.

Wang, Manning (2012), Baselines and Bigrams; Hsieh et al. (2008), A Dual Coordinate Descent Method for Large-scale
Linear SVM; Yu, Huang, Lin (2011) for logistic regression; Crammer, Kulesza, Dredze (2009), Adaptive Regularization of
Weight Vectors: diagonal covariance, squared hinge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import Labels, encode_labels, join_labels
from bunrui.errors import DataError, OptionError
from bunrui.kernel import heads
from bunrui.kernel.arithmetic import log, log1p
from bunrui.kernel.heads import ALONE, Dual, Head, Rows, Sums, Targets, tally
from bunrui.kernel.library import run
from bunrui.kernel.ngrams import K1, K2
from bunrui.kernel.slices import cut, each_slice
from bunrui.memory import Parameters
from bunrui.models.model import Parts, take, take_fact, take_labels
from bunrui.sparse import Floats, Integers, Sparse

Keys = npt.NDArray[np.uint64]

LOSSES = {"squared_hinge": heads.SQUARED_HINGE, "hinge": heads.HINGE, "logistic": heads.LOGISTIC}

# With more columns than this for each cell, sorting the cells is quicker than an array of all columns.
_FEW = 16
# Rows from which the mean margin is taken.
_SAMPLE = 1000
_ROUNDING = 1e-9
# The bytes of text that take as long as a cell, where work is cut for threads.
_CELL_BYTES = 4
# Up to here, the values of counts are looked up.
_SMALL_COUNT = 1 << 16


@dataclass(kw_only=True, eq=False)
class HeadOptions:
    """The parameters that `NBSVM` and `NBAROW` share, with their defaults."""

    alpha: float = 0.5
    variance: str | float = 0.7
    start: float = 0.0
    bias: float = 0.5
    presence: bool = False
    log: bool = True
    idf_power: float = 0.5
    norm: str | None = "l2"


@dataclass(kw_only=True, eq=False)
class SvmOptions(HeadOptions):
    """The parameters of `NBSVM`."""

    C: float = 1.0
    loss: str = "squared_hinge"
    beta: float | None = None
    max_iter: int = 5
    tol: float = 1e-4


@dataclass(kw_only=True, eq=False)
class ArowOptions(HeadOptions):
    """The parameters of `NBAROW`."""

    r: float = 0.3
    floor: float = 0.0


# Rows


class Cells(NamedTuple):
    """A sparse matrix as the kernels read it: the value of cell k is table[codes[k]].

    The codes are counts, and `once` is the code of 1; or there are none, where only presence counts.  A head writes its
    rows over indices and codes.
    """

    starts: Integers
    indices: npt.NDArray[np.int32]
    codes: Integers
    table: Floats
    n_columns: int
    once: int = 1

    @property
    def values(self) -> Floats:
        """The value of every cell; none where only presence counts."""
        return np.asarray(self.table[self.codes])


def cells_of(X: Sparse, options: HeadOptions, *, copy: bool = True) -> Cells:
    """The cells of sparse rows that are not zero, or those above 0; no cell comes twice.

    Without `copy`, they may have the memory of X, which is then overwritten.
    """
    stays = X.data > 0 if options.presence else X.data != 0
    starts, indices, values = X.indptr, X.indices.copy() if copy else X.indices, X.data
    if not stays.all():
        starts = np.append(0, np.cumsum(stays))[starts]
        indices, values = indices[stays], values[stays]
    if options.presence:
        return Cells(starts, indices, np.empty(0, np.int64), np.ones(1), X.shape[1])
    most = values.max(initial=1)
    is_whole = values.dtype.kind in "iu" or (values == values.astype(np.int64)).all()
    if is_whole and most < _SMALL_COUNT and values.min(initial=1) > 0:
        table = read_values(np.arange(int(most) + 1), options.log)
        return Cells(starts, indices, values.astype(np.int64, copy=copy), table, X.shape[1])
    # No two cells have one code, but the first that is 1 speaks for all of them.
    ones = np.flatnonzero(values == 1)
    codes = np.arange(len(values))
    codes[ones] = ones[:1]
    return Cells(
        starts, indices, codes, read_values(values, options.log), X.shape[1], int(ones[0]) if len(ones) else -1
    )


def read_values(values: npt.NDArray[Any], log: bool) -> Floats:
    """Values as they are, or log(1 + value) of them, with their sign."""
    if not log:
        return values.astype(np.float64)
    return np.asarray(np.copysign(log1p(np.abs(values)), values))


class Batch(NamedTuple):
    """Rows with their labels: codes are places among the sorted `classes`, -1 for a row without weight."""

    cells: Cells
    classes: Labels
    codes: Integers
    weights: Floats


def read_batch(X: Sparse, labels: Labels, weights: Floats | None, options: HeadOptions, *, copy: bool = True) -> Batch:
    """Rows of counts with a label each; without `copy`, X is overwritten."""
    weights = np.ones(len(labels)) if weights is None else weights
    classes, codes = encode_labels(labels[weights > 0])
    everywhere = np.full(len(weights), -1, np.int64)
    everywhere[weights > 0] = codes
    return Batch(cells_of(X, options, copy=copy), classes, everywhere, weights)


def arrange(
    cells: Cells, codes: Integers, weights: Floats, seed: int, keys: Keys | None = None
) -> tuple[Integers, Floats]:
    """The rows to learn from, in the order to take them, and the weight of each; rows of no weight are left out.

    `keys`, (n_rows, 2), are two hashes of each row, where columns have no numbers of their own: the number of a word
    depends on which word came first.
    """
    rows = np.flatnonzero(weights > 0)
    hashes = _hashes(cells, codes, seed)[rows] if keys is None else _labelled(keys[rows, 0], codes[rows])
    by_hash = np.argsort(hashes, kind="stable")
    rows, hashes = rows[by_hash], hashes[by_hash]
    differs = np.append(True, hashes[1:] != hashes[:-1])
    if not differs.all():
        # Equal by one hash of 64 bits: equal if they are so by another.
        if keys is None:
            others = _hashes(cells, codes, seed ^ 0x5DEECE66D)[rows]
        else:
            others = _labelled(keys[rows, 1], codes[rows])
        by_both = np.lexsort((others, hashes))
        rows, hashes, others = rows[by_both], hashes[by_both], others[by_both]
        differs = np.append(True, (hashes[1:] != hashes[:-1]) | (others[1:] != others[:-1]))
    firsts = np.flatnonzero(differs)
    return rows[firsts], np.add.reduceat(weights[rows], firsts)


def _labelled(keys: Keys, codes: Integers) -> Keys:
    """Hashes of rows and of their classes; the product mixes upwards only, so the upper half is brought down."""
    mixed = (keys ^ (codes.astype(np.uint64) + np.uint64(1)) * K1) * K2
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _hashes(cells: Cells, codes: Integers, seed: int) -> npt.NDArray[np.uint64]:
    out = np.empty(len(codes), np.uint64)
    bits = cells.values.view(np.uint64) if len(cells.codes) else np.empty(0, np.uint64)
    run(heads.hash_rows, cells.starts, cells.indices, bits, codes, seed, out)
    return out


def _occurring(cells: Cells, order: Integers, weights: Floats) -> tuple[Integers, Floats, npt.NDArray[np.bool_]]:
    """The columns that some rows have, the sum of the weights of these rows, and which columns are alone.

    A column is alone if one row has it, with a count of 1: it is like all such columns of this row.
    """
    if len(cells.indices) * _FEW < cells.n_columns:
        known, places = np.unique(cells.indices, return_inverse=True)
        part = cells._replace(indices=places.astype(np.int32).reshape(-1), n_columns=len(known))
    else:
        known, part = np.arange(cells.n_columns, dtype=np.int32), cells
    doc_freq, n_rows = np.zeros(part.n_columns), np.zeros(part.n_columns, np.int64)
    run(heads.count_rows, part.starts, part.indices, part.codes, part.once, order, weights, doc_freq, n_rows)
    taken = np.flatnonzero(n_rows)
    return known[taken].astype(np.int64), doc_freq[taken], n_rows[taken] == 1


def _compact(
    cells: Cells, order: Integers, factor: Floats, norm: int, place_of: Integers, alone: Integers, shared: int
) -> tuple[Rows, int]:
    """Rows as a head reads them, in place of the cells, and the first free place.

    Places from `shared` on go to the columns `alone`.
    """
    # The first touch of fresh memory takes longer than all the rest: 15 ns for each number.
    x = cells.codes.view(np.float64) if len(cells.codes) else np.empty(len(cells.indices))
    rows = Rows(cells.starts[:-1][order], cells.starts[1:][order], cells.indices, x, np.empty(len(order)))

    def fill(lo: int, hi: int) -> None:
        run(heads.compact, cells.codes, cells.table, lo, hi, factor, norm, place_of, shared, rows)

    each_slice(fill, cut((rows.ends - rows.starts) * _CELL_BYTES))
    # A place of columns that are alone is the number of their row; now those that there are get the next numbers.
    lasts = rows.ends[rows.ends > rows.starts] - 1
    lasts = lasts[rows.places[lasts] >= shared]
    place = np.zeros(len(order), np.int64)
    place[rows.places[lasts] - shared] = shared + np.arange(len(lasts))
    rows.places[lasts] = shared + np.arange(len(lasts))
    place_of[alone] = place[place_of[alone] - shared]
    return rows, shared + len(lasts)


# Heads


class LinearHead:
    """Weights by column and class, and how a row is read before it is multiplied with them.

    Columns that are alike share a row of weights, their place.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted labels.
    place_of : (n_columns,) int64
        The place of every column of X; -1 for one that never occurred.
    factor : (n_columns,)
        IDF to its power, before the length of the row divides it; 0 for a column that never occurred.
    weights : (n_places, n_margins)
    intercepts : (n_margins,)
    """

    def __init__(self, options: HeadOptions, classes: Labels, n_columns: int) -> None:
        self.presence, self.log, self.norm = bool(options.presence), bool(options.log), options.norm
        self.classes = classes
        self.place_of = np.full(n_columns, -1, np.int64)
        self.factor = np.zeros(n_columns)
        self.weights, self.intercepts = np.zeros((0, 0)), np.zeros(0)

    def read(self, X: Sparse) -> Sparse:
        """Rows as the head reads them."""
        if self.presence:
            X = X.with_data((X.data > 0).astype(np.int64)).without_zeros()
        X = X.with_data(self._values(X.data) * self.factor[X.indices])
        return X.of_length_one() if self.norm == "l2" else X

    def _values(self, counts: npt.NDArray[Any]) -> Floats:
        return read_values(counts, self.log and not self.presence)

    @property
    def once(self) -> float:
        """The value of a count of 1."""
        return float(self._values(np.ones(1))[0])

    def margins(self, X: Sparse) -> Floats:
        """The margins of every row, (n_rows, n_classes); of two classes, only those of the second, (n_rows, 1)."""
        rows = self.read(X)
        # A column that was never seen has no place, and the value 0.
        places = np.maximum(self.place_of[rows.indices], 0)
        table = self.weights if len(self.weights) else np.zeros((1, len(self.intercepts)))
        return self.by_class(np.asarray(rows.at(places, len(table)) @ table + self.intercepts))

    def by_class(self, margins: Floats) -> Floats:
        """Margins, or weights, in the order of the classes, from those in the order of the table."""
        return margins

    @property
    def intercept(self) -> Floats:
        """The margins of an empty row."""
        return self.by_class(self.intercepts)

    def weights_of(self, columns: Integers) -> Floats:
        """The weights of some columns of rows that were read, (n_columns, n_margins)."""
        places = self.place_of[columns]
        table = np.zeros((len(columns), self.weights.shape[1]))
        table[places >= 0] = self.weights[places[places >= 0]]
        return self.by_class(table)

    # In a file

    def arrays(self, to_learn: bool) -> Parameters:
        """The numbers of the head: those that answers need, and those that learning more needs."""
        facts = {"classes": self.classes.tolist(), "presence": self.presence, "log": self.log, "norm": self.norm}
        arrays = {name: getattr(self, name) for name in ("place_of", "factor", "weights", "intercepts")}
        return Parameters(facts, arrays)

    def set_arrays(self, weights: Parameters, to_learn: bool) -> None:
        """Take them back; those that more is learned with are copies, which kernels may write to."""
        self.classes = np.array(take_labels(weights, "classes"))
        self.presence, self.log = (take_fact(weights, name, bool) for name in ("presence", "log"))
        self.norm = take_fact(weights, "norm", str, type(None))
        if self.norm not in ("l2", None):
            raise DataError(
                f"the weights were learned from rows of norm {self.norm!r}, which this bunrui does not know"
            )
        n_columns, n_margins = len(self.place_of), self._n_margins(weights)
        self.weights = take(weights, "weights", np.float64, (None, n_margins))
        self.place_of = take(weights, "place_of", np.int64, (n_columns,), -1, len(self.weights) - 1)
        self.factor = take(weights, "factor", np.float64, (n_columns,), 0)
        self.intercepts = take(weights, "intercepts", np.float64, (n_margins,))

    def _n_margins(self, weights: Parameters) -> int:
        """The columns of the table."""
        return 1 if len(self.classes) == 2 else len(self.classes)


def _idf(options: HeadOptions, n_docs: float, doc_freq: Floats) -> Floats:
    if options.idf_power == 0:
        return np.ones(len(doc_freq))
    return np.asarray((log((1 + n_docs) / (1 + doc_freq)) + 1) ** options.idf_power)


def _unit(options: HeadOptions, rows: Rows, targets: Targets, head: Head) -> float:
    """The factor of ratios that gives margins the mean size `start`."""
    n = min(len(targets.weight), _SAMPLE)
    mean = run(heads.mean_margin, rows, targets, n, head, _sums_for(len(head.bias)))
    # Where there is no more than rounding, classes do not differ yet.
    return float(options.start) / mean if mean > _ROUNDING else 0.0


def _sums_for(n_margins: int) -> Sums:
    """Room for the sums of one row."""
    return Sums(*np.zeros((4, n_margins)))


def _class_shift(mass: Floats, alpha: float, n_features: int) -> Floats:
    """The part of the ratios that comes from the sizes of classes: log((N[~c] + α V) / (N[c] + α V)), (n_classes,).

    `mass` is N[c]; its first number stands for rows without a class.
    """
    added = alpha * max(n_features, 1)
    return log((mass.sum() - mass[1:] + added) / (mass[1:] + added))


class PriorHead(LinearHead):
    """A head with its prior: tables with room for more features and classes.

    Attributes
    ----------
    variance : (room, n_margins)
        That of the weights.
    bias, bias_variance : (n_margins,)
    totals : (room,)
        The count of each of the features at a place.
    uses : (room,) int64
        How many features share a place.
    mass : (1 + n_margins,)
        The count by class, beginning with that of the class -1: the first of two in an SVM, else 0.
    unit : float, optional
        The factor that turns ratios into weights; None before the first batch.
    ratio : (room, n_margins)
        The ratios, if the head keeps them; else empty.
    """

    def __init__(self, options: HeadOptions, n_columns: int, *, floor: float = 0.0, keeps_ratio: bool = False) -> None:
        super().__init__(options, np.empty(0), n_columns)
        self.options = options
        self.variance = np.zeros((0, 0))
        self.bias, self.bias_variance, self.totals = np.zeros((3, 0))
        self.mass = np.zeros(1)
        self.uses = np.zeros(0, np.int64)
        self.unit: float | None = None if options.start > 0 or keeps_ratio else 0.0
        self._floor, self._keeps_ratio = floor, keeps_ratio
        self.ratio = np.zeros((0, 0))
        self.n_docs = 0.0
        self.n_places = 0
        self.n_features = 0

    def begin(self, cells: Cells, order: Integers, targets: Targets, n_margins: int) -> tuple[Rows, Head]:
        """Rows as the head reads them, and its tables: new features and new classes have their prior."""
        old_classes = len(self.bias)
        self._add_classes(n_margins - old_classes)
        rows, old_places = self._place(cells, order, targets.weight)
        tables = (self.weights.reshape(-1), self.variance.reshape(-1), self.bias, self.bias_variance)
        head = Head(*tables, float(self.options.bias))
        run(tally, rows, targets, old_places, old_classes, head.variance, self.totals, self.mass)
        self._begin(head, old_places, old_classes, rows, targets)
        return rows, head

    def _place(self, cells: Cells, order: Integers, weights: Floats) -> tuple[Rows, int]:
        """Rows as the head reads them, and the first place that is new."""
        columns, doc_freq, alone = _occurring(cells, order, weights)
        new = self.place_of[columns] < 0
        self.n_docs += float(weights.sum())
        self.n_features += int(new.sum())
        self.factor[columns[new]] = _idf(self.options, self.n_docs, doc_freq[new])
        self._part(columns[~new])
        alone &= new
        own, old_places = columns[new & ~alone], self.n_places
        first_shared = old_places + len(own)
        self.place_of[own] = old_places + np.arange(len(own))
        self.place_of[columns[alone]] = ALONE
        args = (self.factor, int(self.norm == "l2"), self.place_of, columns[alone], first_shared)
        rows, self.n_places = _compact(cells, order, *args)
        self._make_room(self.n_places)
        np.add.at(self.uses, self.place_of[columns[new]], 1)
        return rows, old_places

    def _begin(self, head: Head, old_places: int, old_classes: int, rows: Rows, targets: Targets) -> None:
        """Turn counts into ratios, in new places, and of new classes in all places."""
        alpha, variance = float(self.options.alpha), self.options.variance
        shift = _class_shift(self.mass, alpha, self.n_features)
        unit = 1.0 if self.unit is None else self.unit
        least = self._floor if variance == "ratio" else 0.0
        for block in ((0, old_places, old_classes), (old_places, self.n_places, 0)):
            run(heads.ratios, head, self.totals, shift, alpha, *block, unit, least)
        if self._keeps_ratio:
            self.ratio = self.weights.copy()
        if variance != "ratio":
            # Squared ratios become a share of the variance.
            share = 0.0 if variance == "one" else float(variance)
            mass = (self.totals * self.uses)[: self.n_places]
            sums = np.zeros((2, len(head.bias) + 2), np.int64)
            run(heads.blend, head, mass, share, self._floor, old_places, old_classes, *sums, np.empty(len(head.bias)))
        if self.unit is None:
            unit = _unit(self.options, rows, targets, head) if len(self.classes) > 1 else 0.0
            self.weights[old_places:] *= unit
            self.weights[:old_places, old_classes:] *= unit
            # As long as classes do not differ, weights begin at 0 and the next batch tries again.
            self.unit = unit or None

    def _add_classes(self, more: int) -> None:
        """New classes, with no weights yet."""
        self.weights, self.variance = (np.pad(table, ((0, 0), (0, more))) for table in (self.weights, self.variance))
        self.bias, self.mass = np.pad(self.bias, (0, more)), np.pad(self.mass, (0, more))
        self.bias_variance = np.pad(self.bias_variance, (0, more), constant_values=1.0)

    def _make_room(self, n_places: int) -> None:
        """Make room for this many places: just these the first time, later at least twice the room."""
        room = len(self.weights)
        if n_places > room:
            more = max(n_places, 2 * room) - room
            self.weights, self.variance = (np.pad(t, ((0, more), (0, 0))) for t in (self.weights, self.variance))
            self.totals, self.uses = np.pad(self.totals, (0, more)), np.pad(self.uses, (0, more))

    def _part(self, columns: Integers) -> None:
        """Give columns that share a place one of their own: they are no longer alike."""
        before = self.place_of[columns]
        shared = self.uses[before] > 1
        columns, before = columns[shared], before[shared]
        after = self.n_places + np.arange(len(columns))
        self.n_places += len(columns)
        self._make_room(self.n_places)
        for table in (self.weights, self.variance, self.totals):
            table[after] = table[before]
        np.subtract.at(self.uses, before, 1)
        self.uses[after] = 1
        self.place_of[columns] = after


# NBSVM


class Descent(NamedTuple):
    """How the training went: epochs that were run, and the largest violation in the last of them."""

    n_iter: int
    violation: float


def train_svm(options: SvmOptions, batch: Batch, seed: int = 0, keys: Keys | None = None) -> tuple[LinearHead, Descent]:
    """The head of some rows; `keys` are hashes of the rows, (n_rows, 2), where they are known (see `arrange`)."""
    n_classes = len(batch.classes)
    if n_classes < 2:
        only = batch.classes.tolist()[0]
        problem = f"NBSVM tells classes apart, and all rows are of one class, {only!r}: give rows of another"
        raise DataError(problem, cause="one-label")
    order, weights = arrange(batch.cells, batch.codes, batch.weights, seed, keys)
    codes = batch.codes[order]
    targets = Targets(codes - 1 if n_classes == 2 else codes, weights)
    prior = PriorHead(options, batch.cells.n_columns, keeps_ratio=options.beta is not None)
    prior.classes = batch.classes
    rows, head = prior.begin(batch.cells, order, targets, 1 if n_classes == 2 else n_classes)
    descent = _descend(options, rows, targets, head, seed)
    if options.beta is not None:
        _interpolate(prior, float(options.beta))
    out = LinearHead(options, batch.classes, 0)
    out.place_of, out.factor, out.weights = prior.place_of, prior.factor, prior.weights
    out.intercepts = head.bias * float(options.bias)
    return out, descent


def _descend(options: SvmOptions, rows: Rows, targets: Targets, head: Head, seed: int) -> Descent:
    n, n_margins = len(targets.weight), len(head.bias)
    dual = Dual(np.zeros(n * n_margins), np.zeros(n * n_margins), LOSSES[options.loss])
    order, epoch, violation = np.arange(n), 0, np.inf
    while epoch < int(options.max_iter) and not violation <= options.tol:
        if epoch:
            order = np.random.default_rng([seed, epoch]).permutation(n)
        args = (rows, order, targets, float(options.C), head, dual, _sums_for(n_margins))
        violation = float(run(heads.sweep, *args))
        epoch += 1
    return Descent(epoch, violation)


def _interpolate(prior: PriorHead, beta: float) -> None:
    """(1 - β) · mean|u| + β · u, where u are the weights of features that are scaled by the ratio."""
    scaled = np.divide(prior.weights, prior.ratio, out=np.zeros_like(prior.weights), where=prior.ratio != 0)
    mean = prior.uses @ np.abs(scaled) / prior.uses.sum()
    prior.weights *= beta
    prior.weights += (1 - beta) * (prior.ratio * mean)


# NB-AROW


class Arow(PriorHead):
    """A head that goes on learning.

    Attributes
    ----------
    labels : list
        The classes in the order in which they came: the columns of the tables.
    """

    options: ArowOptions

    def __init__(self, options: ArowOptions, n_columns: int) -> None:
        super().__init__(options, n_columns, floor=float(options.floor))
        self.labels: list[Any] = []

    def check_options(self, options: ArowOptions) -> None:
        """Refuse to go on with other options than before; `r` may change."""
        for name, value in vars(self.options).items():
            if name != "r" and getattr(options, name) != value:
                raise OptionError(f"{name}={value!r} holds for the rows so far: call fit again after changing it")
        self.options = options

    def learn(self, batch: Batch, classes: Labels, order: Integers, weights: Floats) -> None:
        """Learn rows in some order, all of whose labels are among `classes`."""
        known = set(self.labels)
        self.labels = self.labels + [label for label in classes.tolist() if label not in known]
        self.classes = classes
        column = {label: place for place, label in enumerate(self.labels)}
        column_of = np.array([column[label] for label in batch.classes.tolist()], np.int64)
        targets = Targets(column_of[batch.codes[order]], weights)
        rows, head = self.begin(batch.cells, order, targets, len(column))
        run(heads.arow, rows, targets, float(self.options.r), head, _sums_for(len(column)))
        self.intercepts = self.bias * float(self.options.bias)

    def learn_in_order(self, batch: Batch, seed: int = 0, keys: Keys | None = None) -> None:
        """Learn rows in the order of their hashes (see `arrange`); they may have more columns than those before."""
        self.widen(batch.cells.n_columns)
        order, weights = arrange(batch.cells, batch.codes, batch.weights, seed, keys)
        self.learn(batch, join_labels(self.classes, batch.classes), order, weights)

    def widen(self, n_columns: int) -> None:
        """Columns of X that there were not before, to the right of the others."""
        more = n_columns - len(self.place_of)
        self.place_of = np.pad(self.place_of, (0, more), constant_values=-1)
        self.factor = np.pad(self.factor, (0, more))

    def by_class(self, margins: Floats) -> Floats:
        """In the order of the labels; of two classes, half the difference (which one against the rest mirrors)."""
        column = {label: place for place, label in enumerate(self.labels)}
        margins = margins[..., [column[label] for label in self.classes.tolist()]]
        return (margins[..., 1:] - margins[..., :1]) / 2 if len(self.classes) == 2 else margins

    # In a file

    def arrays(self, to_learn: bool) -> Parameters:
        """The numbers of the head, without the room for more."""
        facts, arrays = super().arrays(to_learn)
        names = ("unit", "n_docs", "n_features") if to_learn else ()
        facts = facts | {name: getattr(self, name) for name in ("labels", *names)}
        arrays = {**arrays, "weights": self.weights[: self.n_places]}
        if to_learn:
            arrays |= {name: getattr(self, name)[: self.n_places] for name in ("variance", "totals", "uses")}
            arrays |= {name: getattr(self, name) for name in ("bias", "bias_variance", "mass")}
        return Parameters(facts, arrays)

    def set_arrays(self, weights: Parameters, to_learn: bool) -> None:
        """Take them back."""
        super().set_arrays(weights, to_learn)
        if not to_learn:
            return
        n_places, n_margins = self.weights.shape
        self.variance = take(weights, "variance", np.float64, (n_places, n_margins), 0)
        self.totals = take(weights, "totals", np.float64, (n_places,), 0)
        self.uses = take(weights, "uses", np.int64, (n_places,), 0)
        self.bias = take(weights, "bias", np.float64, (n_margins,))
        self.bias_variance = take(weights, "bias_variance", np.float64, (n_margins,), 0)
        self.mass = take(weights, "mass", np.float64, (1 + n_margins,), 0)
        self.unit = take_fact(weights, "unit", float, type(None))
        self.n_docs, self.n_features = take_fact(weights, "n_docs", float), take_fact(weights, "n_features", int)
        self.n_places = n_places
        used = self.place_of[self.place_of >= 0]
        if len(used) != self.n_features or not np.array_equal(np.bincount(used, minlength=n_places), self.uses):
            raise DataError("the weights have columns at other places than they say")
        # Kernels write to them.
        for name in ("place_of", "factor", "weights", "variance", "totals", "uses", "bias", "bias_variance", "mass"):
            setattr(self, name, getattr(self, name).copy())

    def _n_margins(self, weights: Parameters) -> int:
        self.labels = take_labels(weights, "labels")
        if sorted(self.labels) != self.classes.tolist():
            raise DataError("the weights have columns of other labels than they say")
        return len(self.labels)


def _both(margins: Floats) -> Floats:
    """Two classes have one margin: half of it speaks for the second, half against the first."""
    return np.hstack([-margins / 2, margins / 2]) if margins.shape[1] == 1 else margins


class HeadForm:
    """`nbsvm` and `arow`: margins.  Rows are divided by their length, so words weigh less in long documents."""

    def __init__(self, head: LinearHead, descent: Descent | None = None) -> None:
        self.head = head
        self.descent = descent

    def scores(self, X: Sparse) -> Floats:
        return _both(self.head.margins(X))

    def parts(self, row: Sparse) -> Parts:
        read = self.head.read(row)
        columns = read.indices.astype(np.int64)
        values = read.data[:, None] * _both(self.head.weights_of(columns))
        return Parts(columns, values, _both(self.head.intercept[None])[0])

    def weights(self, columns: Integers) -> Floats:
        """Before a row is divided by its length."""
        values = self.head.factor[columns] * self.head.once
        return np.asarray(_both(self.head.weights_of(columns)) * values[:, None])

    def arrays(self, to_learn: bool) -> Parameters:
        """The numbers of the head, and how its training went."""
        facts, arrays = self.head.arrays(to_learn)
        return Parameters(facts if self.descent is None else facts | self.descent._asdict(), arrays)

    @classmethod
    def from_arrays(cls, model: str, weights: Parameters, alpha: Any, n_columns: int, to_learn: bool) -> HeadForm:
        """The form whose numbers these are."""
        if model == "arow":
            head: LinearHead = Arow(ArowOptions(alpha=alpha), n_columns)
            descent = None
        else:
            head = LinearHead(SvmOptions(alpha=alpha), np.empty(0), n_columns)
            descent = Descent(take_fact(weights, "n_iter", int), take_fact(weights, "violation", float))
        head.set_arrays(weights, to_learn)
        return cls(head, descent)


def train_nbsvm(alpha: Any, X: Sparse, y: npt.NDArray[Any], keys: Keys) -> HeadForm:
    """`nbsvm` of all documents; X is overwritten."""
    options = SvmOptions(alpha=alpha)
    return HeadForm(*train_svm(options, read_batch(X, y, None, options, copy=False), keys=keys))


def train_arow(
    alpha: Any, tables: Iterable[tuple[Sparse, npt.NDArray[Any], Keys]], before: LinearHead | None
) -> LinearHead | None:
    """The head of `arow` after some more batches of documents, which are overwritten; `before` goes on in place."""
    head = before
    for X, labels, keys in tables:
        head = head or Arow(ArowOptions(alpha=alpha), 0)
        assert isinstance(head, Arow)
        head.learn_in_order(read_batch(X, labels, None, head.options, copy=False), keys=keys)
    return head
