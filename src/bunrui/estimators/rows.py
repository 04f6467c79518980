"""`Rows`: an estimator's rows, kept, so that what depends on all of them can be computed again.

IDF and length norm change the weight of every old row when a new one comes, so that counts alone cannot go on
learning.  With the rows they can, exactly: `counts` takes the steps anew, and its sums have no order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import UnlearnError
from bunrui.estimators.counts import MatrixCounts, indicator, whole
from bunrui.estimators.labels import Labels, union
from bunrui.models.transform import Steps, inverse_doc_freq

__all__ = ["Rows", "stepped"]

Floats = npt.NDArray[np.float64]

_BITS = 31  # of each of the two parts of a number: sums of fewer than 2 ** 31 rows fit into an int64


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their classes.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted.
    doc_count : (n_classes,) int64 or float64
        Rows by class, or the sum of their weights.
    blocks : tuple of (csr_array, codes, weights)
        float64 rows, the class of each as its place among `classes`, and the weight of each.
    memo : dict
        What was computed from these rows, and need not be again.
    """

    classes: Labels
    doc_count: npt.NDArray[Any]
    blocks: tuple[tuple[Any, npt.NDArray[np.int64], Floats], ...]
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, classes: Labels, table: Any, codes: npt.NDArray[np.int64], weights: Floats) -> Rows:
        """Some rows."""
        return cls(classes, whole(np.bincount(codes, weights, len(classes))), ((table, codes, weights),))

    @property
    def n_features(self) -> int:
        """The columns."""
        return int(self.blocks[0][0].shape[1])

    def joined(self) -> tuple[Any, npt.NDArray[np.int64], Floats]:
        """All blocks as one."""
        if "joined" not in self.memo:
            tables, codes, weights = zip(*self.blocks, strict=True)
            table = tables[0] if len(tables) == 1 else sparse.vstack(tables, format="csr")
            self.memo["joined"] = (sparse.csr_array(table), np.concatenate(codes), np.concatenate(weights))
        joined: tuple[Any, npt.NDArray[np.int64], Floats] = self.memo["joined"]
        return joined

    def over(self, classes: Labels) -> Rows:
        """The same rows among more classes."""
        if len(classes) == len(self.classes):
            return self
        places = np.searchsorted(classes, self.classes.astype(classes.dtype))
        doc_count = np.zeros(len(classes), self.doc_count.dtype)
        doc_count[places] = self.doc_count
        blocks = tuple((table, places[codes], weights) for table, codes, weights in self.blocks)
        return replace(self, classes=classes, doc_count=doc_count, blocks=blocks, memo={})

    def plus(self, other: Rows) -> Rows:
        """The rows of both."""
        classes = union(self.classes, other.classes)
        mine, theirs = self.over(classes), other.over(classes)
        return Rows(classes, mine.doc_count + theirs.doc_count, mine.blocks + theirs.blocks)

    def minus(self, other: Rows, keep: Labels, exact: bool) -> Rows:
        """Without some rows, each of which must be there, with the same label and weight."""
        theirs = defaultdict(list)
        for place, key in other._keys(range(len(other.joined()[1]))):
            theirs[key].append(place)
        table, codes, weights = self.joined()
        sizes = {int(size) for size in np.diff(other.joined()[0].indptr)}
        alike = np.flatnonzero(np.isin(np.diff(table.indptr), list(sizes)))
        gone = []
        # The last that came goes first: which of two equal rows goes does not matter to the model.
        for place, key in self._keys(alike[::-1].tolist()):
            if theirs.get(key):
                theirs[key].pop()
                gone.append(place)
        missing = [place for places in theirs.values() for place in places]
        if missing:
            raise UnlearnError(f"row {min(missing)} was never learned with this label and weight", row=min(missing))
        stays = np.ones(len(codes), bool)
        stays[gone] = False
        alive = np.isin(np.arange(len(self.classes)), codes[stays & (weights > 0)]) | np.isin(self.classes, keep)
        stays &= alive[codes]
        places = np.cumsum(alive) - 1
        return Rows.of(self.classes[alive], sparse.csr_array(table[stays]), places[codes[stays]], weights[stays])

    def _keys(self, places: Any) -> Iterator[tuple[int, Any]]:
        """What makes rows equal, for some of them."""
        table, codes, weights = self.joined()
        classes = self.classes.tolist()
        for k in places:
            cells = slice(table.indptr[k], table.indptr[k + 1])
            columns = table.indices[cells].astype(np.int64)
            yield k, (classes[codes[k]], float(weights[k]), columns.tobytes(), table.data[cells].tobytes())

    def idf(self) -> Floats:
        """log(D / D[f]), where a row of weight 2 is two documents, (n_features,)."""
        if "idf" not in self.memo:
            table, _, weights = self.joined()
            spread = np.repeat(weights, np.diff(table.indptr))
            doc_freq = np.bincount(table.indices, spread, table.shape[1])
            self.memo["idf"] = inverse_doc_freq(float(weights.sum()), doc_freq)
        idf: Floats = self.memo["idf"]
        return idf

    def counts(self, steps: Steps) -> MatrixCounts:
        """The counts of all rows after some steps."""
        if steps not in self.memo:
            table, codes, weights = self.joined()
            values = stepped(table, steps, self.idf() if steps.idf else None)
            values.data *= np.repeat(weights, np.diff(values.indptr))
            self.memo[steps] = MatrixCounts(self.classes, self.doc_count, _sums(values, codes, len(self.classes)))
        counts: MatrixCounts = self.memo[steps]
        return counts

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}


def stepped(table: Any, steps: Steps, idf: Floats | None) -> Any:
    """A csr_array after some steps."""
    values = steps.apply(table.indptr, table.indices, table.data, idf)
    return sparse.csr_array((values, table.indices, table.indptr), shape=table.shape, copy=True)


def _sums(values: Any, codes: npt.NDArray[np.int64], n_classes: int) -> Any:
    """The sum of rows by class, (n_features, n_classes), the same bits in any order of the rows.

    Each number is cut into two whole numbers, in units of the largest; whole numbers add up exactly.
    """
    top = float(values.data.max()) if values.nnz else 0.0
    if top <= 0:
        return sparse.csr_array((values.shape[1], n_classes))
    # A power of two above all values: dividing by it loses nothing.
    unit = 2.0 ** np.ceil(np.log2(top) + 1)
    scaled = values.data / unit * 2.0**_BITS
    high = np.floor(scaled)
    low = np.floor((scaled - high) * 2.0**_BITS)
    ones = indicator(codes, np.ones(len(codes), np.int64), n_classes)
    parts = [
        (ones @ sparse.csr_array((part.astype(np.int64), values.indices, values.indptr), shape=values.shape)).astype(
            np.float64
        )
        for part in (high, low)
    ]
    cells = sparse.csr_array((parts[0] * (unit / 2.0**_BITS) + parts[1] * (unit / 4.0**_BITS)).T)
    cells.eliminate_zeros()
    return cells
