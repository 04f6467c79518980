"""Documents → a sparse matrix, on the threads of this machine, in one pass of the kernel.

documents ─► rows of each thread, with ids of its own ─► ids of one vocabulary ─► columns ─► CSR
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.engines import threads
from bunrui.estimators.features import join
from bunrui.kernel import rows as kernel
from bunrui.kernel.analyze import GIVEN, KIND, Documents, Recipe
from bunrui.kernel.library import run
from bunrui.kernel.rows import Csr, Rows
from bunrui.kernel.vocabulary import FEATURES, Vocabulary
from bunrui.kernel.workspace import grown_vocabulary, new_vocabulary, resized, scratch_for

__all__ = ["Counted", "count", "hashed", "look_up"]

Integers = npt.NDArray[np.int64]
Part = tuple[Vocabulary, Csr]


class Counted(NamedTuple):
    """Rows as the threads left them: part p has rows cells[p], whose feature f is ids[p][f] of the vocabulary."""

    vocabulary: Vocabulary
    ids: list[Any]
    cells: list[Csr]

    @property
    def n_docs(self) -> int:
        """Documents that were counted."""
        return sum(len(cells.starts) - 1 for cells in self.cells)

    @property
    def n_features(self) -> int:
        """Features that were counted."""
        return int(self.vocabulary.size[FEATURES])

    def totals(self) -> tuple[Integers, Integers]:
        """(doc_freq, term_count) of every feature."""
        doc_freq, term_count = np.zeros((2, self.n_features), np.int64)
        for ids, cells in zip(self.ids, self.cells, strict=True):
            run(kernel.add_totals, cells.indices, cells.values, ids, doc_freq, term_count)
        return doc_freq, term_count

    def matrix(self, columns: Any, n_columns: int) -> Any:
        """The matrix with feature f in column columns[f], or left out where that is negative."""
        return _assembled(self.cells, [columns[ids] for ids in self.ids], n_columns)


def count(texts: Any, analyzer: Analyzer, shortest: int = 1) -> Counted:
    """Count every feature of documents; n-grams of fewer than `shortest` words are left out."""
    source = _Source(analyzer, shortest, kernel.GROWS)
    parts = source.read(texts)
    v = parts[0][0]
    ids = [np.arange(int(v.size[FEATURES]), dtype=np.uint32)]
    for more, _ in parts[1:]:
        v, found = join(v, more)
        ids.append(found)
    return Counted(v, ids, [cells for _, cells in parts])


def look_up(texts: Any, analyzer: Analyzer, shortest: int, table: Vocabulary) -> Any:
    """The matrix of the features of a table; all others are left out."""
    source = _Source(analyzer, shortest, kernel.KNOWN, table, int(table.size[FEATURES]))
    return _identity(source, texts)


def hashed(texts: Any, analyzer: Analyzer, shortest: int, width: int) -> Any:
    """The matrix with each feature in the column that is its hash modulo `width`."""
    return _identity(_Source(analyzer, shortest, kernel.HASHED, width=width), texts)


def _identity(source: _Source, texts: Any) -> Any:
    parts = source.read(texts)
    return _assembled([cells for _, cells in parts], [None] * len(parts), source.width)


class _Source(NamedTuple):
    """How documents become rows."""

    analyzer: Analyzer
    shortest: int
    grows: int
    table: Vocabulary | None = None
    width: int = 0

    def read(self, texts: Any) -> list[Part]:
        """Rows by thread."""
        if isinstance(texts, Iterator):
            texts = list(texts)
        if inputs.is_given(texts):
            docs, recipe = inputs.given(texts), self.analyzer.given
        else:
            docs, recipe = self.analyzer.documents(inputs.strings(texts)), self.analyzer.recipe
        longest = threads.longest_document(docs, recipe)
        return threads.each_slice(
            lambda lo, hi: self._fill(docs, recipe, lo, hi, longest), threads.bounds_of(docs, recipe)
        )

    def _fill(self, docs: Documents, recipe: Recipe, lo: int, hi: int, longest: int) -> Part:
        offsets = docs.offsets[docs.lists] if len(docs.lists) else docs.offsets
        n_bytes = int(offsets[hi] - offsets[lo])
        guess = min(max(64, n_bytes // 4), 1 << 15)
        v = new_vocabulary(guess, 8 * guess) if self.table is None else self.table
        scratch = scratch_for(longest)
        # More than words alone can fill; what is not touched costs nothing.
        room = min(n_bytes // 2, 1 << 26) + 64
        rows = Rows(
            starts=np.zeros(hi - lo + 1, np.int64),
            indices=np.empty(room, np.int32),
            values=np.empty(room, np.int64),
            places=np.zeros(self.width if self.grows == kernel.HASHED else len(v.hashes), np.int64),
            state=np.zeros(kernel.STATES, np.int64),
        )
        # Features that are given stay as they are.
        rows.state[kernel.SHORTEST] = 1 if recipe.params[KIND] == GIVEN else self.shortest
        while True:
            status = run(kernel.fill_rows, docs, lo, hi, recipe, scratch, v, self.grows, rows)
            if status == kernel.DONE:
                break
            if status == kernel.GROW_ROWS:
                room = 2 * len(rows.indices) + len(scratch.items.starts)
                rows = rows._replace(indices=resized(rows.indices, room), values=resized(rows.values, room))
                continue
            n_new = min(len(scratch.items.starts), n_bytes + 1)
            v = grown_vocabulary(v, max(4 * len(v.hashes), int(v.size[FEATURES]) + n_new), 4 * len(v.text) + 16 * n_new)
            places = np.zeros(len(v.hashes), np.int64)
            places[: len(rows.places)] = rows.places
            rows = rows._replace(places=places)
        filled = int(rows.state[kernel.FILLED])
        return v, Csr(rows.starts, rows.indices[:filled], rows.values[:filled])


def _assembled(parts: Sequence[Csr], columns: Sequence[Any], n_columns: int) -> Any:
    """The matrix of all rows, columns ascending in each."""
    each = range(len(parts) + 1)
    done = threads.each_slice(lambda p, _: _sorted(parts[p], columns[p], n_columns), each)
    ends = np.cumsum([0, *(len(part.indices) for part in done)])
    starts = np.concatenate([[0], *(part.starts[1:] + end for part, end in zip(done, ends, strict=False))])
    small = ends[-1] <= np.iinfo(np.int32).max
    index = np.int32 if small else np.int64
    indices = np.concatenate([part.indices for part in done], dtype=index)
    values = np.concatenate([part.values for part in done])
    matrix = sparse.csr_array((values, indices, starts.astype(index)), shape=(len(starts) - 1, n_columns))
    matrix.has_sorted_indices = True
    return matrix


def _sorted(cells: Csr, columns: Any, n_columns: int) -> Csr:
    """Rows with columns in place of features, in order; None where they are the same."""
    n = len(cells.indices)
    if 4 * n < n_columns or n == 0:
        return _sorted_few(cells, columns, n_columns)
    if columns is None:
        columns = np.arange(n_columns, dtype=np.int32)
    ends = np.zeros(n_columns, np.int64)
    kept = run(kernel.count_columns, cells.indices, columns, ends)
    room = Csr(np.empty(0, np.int64), np.empty(kept, np.int32), np.empty(kept, np.int64))
    out = Csr(np.zeros(len(cells.starts), np.int64), np.empty(kept, np.int32), np.empty(kept, np.int64))
    run(kernel.sort_rows, cells, columns, ends, room, out)
    return out


def _sorted_few(cells: Csr, columns: Any, n_columns: int) -> Csr:
    """The same without an array as long as the columns: a few rows of a wide matrix."""
    starts, indices, values = cells
    if columns is not None:
        indices = columns[indices]
        kept = indices >= 0
        starts = np.concatenate([[0], np.cumsum(kept)])[starts]
        indices, values = indices[kept], values[kept]
    matrix = sparse.csr_array((values, indices, starts), shape=(len(starts) - 1, n_columns))
    matrix.sort_indices()
    return Csr(starts, matrix.indices, matrix.data)
