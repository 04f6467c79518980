"""TWCNB: the complement with all five steps of Rennie et al. (2003), trained from documents.

Rows of counts take three steps before the complement with weight normalisation weighs them:

    x[f, d] = log(n[f, d] + 1)                              log TF: a word that comes twice does not say twice as much
    x[f, d] = x[f, d] · log(D / D[f])                       IDF: words of many documents say little
    x[f, d] = x[f, d] / sqrt(sum over f of x[f, d]²)        length norm: long documents do not speak louder

    D all documents, D[f] those that contain f

A document whose length is 0 after IDF (all its words are in all documents) stays 0: it contributes nothing.

IDF and length norm change the weight of every old row when a new one comes, so that counts alone cannot go on
learning.  With the rows (`KeptRows`) they can, exactly: the steps are taken anew, and their sums have no order.

Documents are scored by their raw counts, as in the article.

Rennie, Shih, Teevan, Karger (2003), table 4.  Golden values: tests/golden/test_twcnb.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import ClassCounts, Labels, SparseCounts, encode_labels
from bunrui.errors import DataError, UnlearnError
from bunrui.kernel.arithmetic import log, log1p
from bunrui.memory import Parameters
from bunrui.models.complement import complement
from bunrui.models.linear import Table, dense_table
from bunrui.models.model import Parts, take
from bunrui.models.scorer import Smoothing, normalised, smoothing_on
from bunrui.models.view import MatrixView
from bunrui.sparse import Floats, Integers, Numbers, Sparse, count_by_class

_BITS = 31  # of each of the two parts of a number: sums of fewer than 2 ** 31 rows fit into an int64


# Steps, and the rows that take them


class Steps(NamedTuple):
    """Which steps to take.

    Examples
    --------
    >>> Steps(length_norm=True).of_rows(Sparse.of([[3, 4, 0], [0, 0, 0], [0, 0, 7]]), None).data.tolist()
    [0.6, 0.8, 1.0]
    """

    log_tf: bool = False
    idf: bool = False
    length_norm: bool = False

    def of_rows(self, rows: Sparse, idf: Floats | None) -> Sparse:
        """Rows after these steps; `idf` is log(D / D[f]) by feature, for the step of that name."""
        values = np.asarray(rows.data, np.float64)
        if self.log_tf:
            values = log1p(values)
        if self.idf and idf is not None:
            values = values * idf[rows.indices]
        rows = rows.with_data(values)
        return rows.of_length_one() if self.length_norm else rows


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows, each with its class and its weight, as one part of `ClassCounts`.

    Attributes
    ----------
    blocks : tuple of (Sparse of float64, codes, weights)
    n_classes : int
    """

    blocks: tuple[tuple[Sparse, Integers, Floats], ...]
    n_classes: int

    @cached_property
    def joined(self) -> tuple[Sparse, Integers, Floats]:
        """All blocks as one."""
        tables, codes, weights = zip(*self.blocks, strict=True)
        return Sparse.stack(tables), np.concatenate(codes), np.concatenate(weights)

    @cached_property
    def idf(self) -> Floats:
        """log(D / D[f]), where a row of weight 2 is two documents, (n_features,); 0 for a feature that no row has."""
        table, _, weights = self.joined
        doc_freq = np.bincount(table.indices, np.repeat(weights, table.lengths), table.shape[1])
        n_docs = float(weights.sum())
        return log(n_docs / np.where(doc_freq > 0, doc_freq, n_docs))

    def counts(self, steps: Steps) -> SparseCounts:
        """The counts of all rows after some steps."""
        table, codes, weights = self.joined
        values = steps.of_rows(table, self.idf if steps.idf else None)
        values = values.with_data(values.data * np.repeat(weights, values.lengths))
        return SparseCounts(_exact_sums(values, codes, self.n_classes))

    def refusal(self, other: KeptRows, whole_rows: bool) -> str | None:
        """All rows can be taken back exactly."""
        return None

    def over(self, places: Integers, n_classes: int) -> KeptRows:
        """The same rows among more classes."""
        return KeptRows(tuple((table, places[codes], weights) for table, codes, weights in self.blocks), n_classes)

    def plus(self, other: KeptRows) -> KeptRows:
        """The rows of both."""
        return KeptRows(self.blocks + other.blocks, self.n_classes)

    def minus(self, other: KeptRows, classes: Labels, doc_count: Numbers) -> KeptRows:
        """Without some rows; each must be there, with the same label and weight."""
        theirs = defaultdict(list)
        for place, key in other._keys(range(len(other.joined[1]))):
            theirs[key].append(place)
        table, codes, weights = self.joined
        alike = np.flatnonzero(np.isin(table.lengths, np.unique(other.joined[0].lengths)))
        stays = np.ones(len(codes), bool)
        # The last that came goes first: which of two equal rows goes does not matter to the model.
        for place, key in self._keys(alike[::-1].tolist()):
            if theirs.get(key):
                theirs[key].pop()
                stays[place] = False
        missing = [place for places in theirs.values() for place in places]
        if missing:
            raise UnlearnError(f"row {min(missing)} was never learned with this label and weight", row=min(missing))
        return KeptRows(((table.take(stays), codes[stays], weights[stays]),), self.n_classes)

    def keep(self, alive: npt.NDArray[np.bool_]) -> KeptRows:
        """The rows of some classes."""
        table, codes, weights = self.joined
        stays = alive[codes]
        places = np.cumsum(alive) - 1
        return KeptRows(((table.take(stays), places[codes[stays]], weights[stays]),), int(alive.sum()))

    def _keys(self, places: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """Some rows, each with a key that equal rows share."""
        table, codes, weights = self.joined
        for k in places:
            cells = slice(table.indptr[k], table.indptr[k + 1])
            yield k, (int(codes[k]), float(weights[k]), table.indices[cells].tobytes(), table.data[cells].tobytes())

    def __getstate__(self) -> dict[str, Any]:
        return {"blocks": self.blocks, "n_classes": self.n_classes}


def _exact_sums(values: Sparse, codes: Integers, n_classes: int) -> Sparse:
    """The sum of rows by class, (n_features, n_classes), the same bits in any order of the rows.

    Each number is cut into two whole numbers, in units of the largest; whole numbers add up exactly.
    """
    top = float(values.data.max(initial=0.0))
    if top <= 0:
        return Sparse.zeros((values.shape[1], n_classes), np.float64)
    # A power of two above all values: dividing by it loses nothing.
    unit = 2.0 ** np.ceil(np.log2(top) + 1)
    scaled = values.data / unit * 2.0**_BITS
    upper = np.floor(scaled)
    lower = np.floor((scaled - upper) * 2.0**_BITS)
    ones = np.ones(len(codes), np.int64)
    high, low = (
        count_by_class(values.with_data(part.astype(np.int64)), codes, ones, n_classes) for part in (upper, lower)
    )
    return high.with_data(high.data * (unit / 2.0**_BITS) + low.data * (unit / 4.0**_BITS)).without_zeros()


# The model


class StepsForm:
    """`twcnb`: weights of raw counts, learned from rows after all steps.

    Attributes
    ----------
    learned : ClassCounts of KeptRows, optional
        The rows; None where the form comes from a file.
    table : Table
        The weights.
    """

    def __init__(
        self, doc_count: Numbers, counts: SparseCounts, smoothing: Smoothing, learned: ClassCounts | None = None
    ) -> None:
        self.learned = learned
        view = MatrixView(doc_count, counts)
        self.table = Table(view, normalised(view, complement(view, smoothing, np.zeros(len(doc_count)))))

    def scores(self, X: Sparse) -> Floats:
        return self.table.scores(X)

    def parts(self, row: Sparse) -> Parts:
        columns = row.indices.astype(np.int64)
        values = row.data[:, None] * self.weights(columns)
        return Parts(columns, values, np.zeros(values.shape[1]))

    def weights(self, columns: Integers) -> Floats:
        return dense_table(self.table.view, self.table.scorer, columns.astype(np.uint32))

    def arrays(self, to_learn: bool) -> Parameters:
        """The counts of rows after all steps; the weights are a formula of them."""
        view = self.table.view
        cells = view.counts.cells
        arrays: dict[str, Numbers]
        arrays = {"starts": cells.indptr, "classes": cells.indices, "counts": cells.data, "doc_count": view.doc_count}
        return Parameters({}, arrays)

    @classmethod
    def from_arrays(
        cls, weights: Parameters, alpha: Any, smoothing: str, n_columns: int, doc_count: Numbers
    ) -> StepsForm:
        """The form whose numbers these are."""
        starts = take(weights, "starts", np.int64, (n_columns + 1,), 0)
        classes = take(weights, "classes", np.int32, (None,), 0, len(doc_count) - 1)
        counts = take(weights, "counts", np.float64, (len(classes),), 0)
        known = take(weights, "doc_count", np.int64, (len(doc_count),))
        rises = np.diff(classes) > 0
        if starts[0] != 0 or starts[-1] != len(classes) or (np.diff(starts) < 0).any():
            raise DataError("the weights have cells of other features than they say")
        borders = starts[(starts > 0) & (starts < len(classes))] - 1
        rises[borders] = True
        if not rises.all() or not np.array_equal(known, doc_count):
            raise DataError("the weights have cells out of order, or of other documents")
        cells = SparseCounts(Sparse(starts, classes, counts, (n_columns, len(doc_count))))
        return cls(doc_count, cells, smoothing_on(n_columns, None, smoothing, alpha))


def train_twcnb(alpha: Any, smoothing: str, X: Sparse, y: Numbers) -> StepsForm:
    """`twcnb` of all documents."""
    labels, ones = encode_labels(y), np.ones(len(y), np.int64)
    rows = KeptRows(((X.with_data(X.data.astype(np.float64)), labels[1], np.ones(len(y))),), len(labels[0]))
    learned = ClassCounts.of(labels, ones, rows)
    counts = learned.part.counts(Steps(True, True, True))
    return StepsForm(learned.doc_count, counts, smoothing_on(X.shape[1], None, smoothing, alpha), learned)
