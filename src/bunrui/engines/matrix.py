"""Documents → a sparse matrix, on the threads of this machine, in one pass of the kernel.

documents ─► rows of each thread, with ids of its own ─► ids of one vocabulary ─► columns ─► `Sparse`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.cells import feature_texts, sort_by_text
from bunrui.engines import threads
from bunrui.kernel import rows as kernel
from bunrui.kernel.analyze import GIVEN, KIND, Documents, Recipe, Walk
from bunrui.kernel.library import run
from bunrui.kernel.rows import Csr, Rows
from bunrui.kernel.slices import each_slice
from bunrui.kernel.vocabulary import BYTES, FEATURES, MISSING, Vocabulary
from bunrui.kernel.workspace import grown_vocabulary, ids_in, listed_vocabulary, new_vocabulary, resized, scratch_for
from bunrui.sparse import Integers, Sparse

Part = tuple[Vocabulary, Csr]

_PAD = 64


class Batches(NamedTuple):
    """Documents that come some at a time, because all at once would take too much memory; at least one batch."""

    each: Iterable[Any]


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

    def sorted_ids(self) -> Integers:
        """Ids of all features in the order of their texts."""
        return sort_by_text(self.vocabulary, np.arange(self.n_features))

    def totals(self) -> tuple[Integers, Integers]:
        """(doc_freq, term_count) of every feature."""
        doc_freq, term_count = np.zeros((2, self.n_features), np.int64)
        for ids, cells in zip(self.ids, self.cells, strict=True):
            columns = ids[cells.indices]
            doc_freq += np.bincount(columns, minlength=self.n_features)
            # Whole numbers below 2 ** 53: float64 adds them up exactly.
            term_count += np.bincount(columns, cells.values, self.n_features).astype(np.int64)
        return doc_freq, term_count

    def matrix(self, columns: Any, n_columns: int) -> Sparse:
        """The matrix with feature f in column columns[f], or left out where that is negative."""
        return _assembled(self.cells, [columns[ids] for ids in self.ids], n_columns)


def count_features(texts: Any, analyzer: Analyzer, shortest: int = 1) -> Counted:
    """Count every feature of documents; n-grams of fewer than `shortest` words are left out."""
    parts = _Source(analyzer, shortest, kernel.GROWS).read(texts)
    v, cells = next(parts)
    ids, rows = [np.arange(int(v.size[FEATURES]), dtype=np.uint32)], [cells]
    for more, cells in parts:
        v, found = join(v, more)
        ids.append(found)
        rows.append(cells)
    return Counted(v, ids, rows)


def look_up(texts: Any, analyzer: Analyzer, shortest: int, table: Vocabulary, *, sort: bool = True) -> Sparse:
    """The matrix of the features of a table; all others are left out.

    Without `sort`, the columns of a row stand in the order of its text.
    """
    source = _Source(analyzer, shortest, kernel.KNOWN, table, int(table.size[FEATURES]))
    if sort:
        return _identity(source, texts)
    parts = [cells for _, cells in source.read(texts)]
    return Sparse.stack([Sparse(*cells, (len(cells.starts) - 1, source.width)) for cells in parts])


def look_up_few(
    texts: Any,
    analyzer: Analyzer,
    places_of: Callable[[Vocabulary], npt.NDArray[np.int32]],
    width: int,
    *,
    sort: bool,
) -> Sparse:
    """The same where no table is there: `places_of` gives the columns of features, -1 for those that are left out."""
    counted = count_features(texts, analyzer)
    columns = places_of(counted.vocabulary)
    if sort:
        return counted.matrix(columns, width)
    rows = []
    for ids, cells in zip(counted.ids, counted.cells, strict=True):
        rows.append(Sparse(*cells, (len(cells.starts) - 1, len(ids))).at(columns[ids[cells.indices]], width))
    return Sparse.stack(rows)


def hash_features(texts: Any, analyzer: Analyzer, shortest: int, width: int) -> Sparse:
    """The matrix with each feature in the column that is its hash modulo `width`."""
    return _identity(_Source(analyzer, shortest, kernel.HASHED, width=width), texts)


def _identity(source: _Source, texts: Any) -> Sparse:
    parts = [cells for _, cells in source.read(texts)]
    return _assembled(parts, [None] * len(parts), source.width)


class _Source(NamedTuple):
    """How documents become rows."""

    analyzer: Analyzer
    shortest: int
    grows: int
    table: Vocabulary | None = None
    width: int = 0

    def read(self, texts: Any) -> Iterator[Part]:
        """Rows, by batch and by thread."""
        if isinstance(texts, Batches):
            for batch in texts.each:
                yield from self.read(batch)
            return
        if isinstance(texts, Iterator):
            texts = list(texts)
        if inputs.is_given(texts):
            docs, recipe = inputs.given(texts), self.analyzer.given
        else:
            docs, recipe = self.analyzer.documents(inputs.strings(texts)), self.analyzer.recipe
        longest = threads.longest_document(docs, recipe)
        yield from each_slice(lambda lo, hi: self._fill(docs, recipe, lo, hi, longest), threads.bounds_of(docs, recipe))

    def _fill(self, docs: Documents, recipe: Recipe, lo: int, hi: int, longest: int) -> Part:
        offsets = docs.offsets[docs.lists] if len(docs.lists) else docs.offsets
        n_bytes = int(offsets[hi] - offsets[lo])
        guess = min(max(64, n_bytes // 4), 1 << 15)
        v = new_vocabulary(guess, 8 * guess) if self.table is None else self.table
        walk = Walk(docs, recipe, scratch_for(longest))
        # More than words alone can fill; memory that is not touched costs nothing.
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
            status = run(kernel.fill_rows, walk, lo, hi, v, self.grows, rows)
            if status == kernel.DONE:
                break
            if status == kernel.GROW_ROWS:
                room = 2 * len(rows.indices) + len(walk.scratch.items.starts)
                rows = rows._replace(indices=resized(rows.indices, room), values=resized(rows.values, room))
                continue
            n_new = min(len(walk.scratch.items.starts), n_bytes + 1)
            v = grown_vocabulary(v, max(4 * len(v.hashes), int(v.size[FEATURES]) + n_new), 4 * len(v.text) + 16 * n_new)
            places = np.zeros(len(v.hashes), np.int64)
            places[: len(rows.places)] = rows.places
            rows = rows._replace(places=places)
        filled = int(rows.state[kernel.FILLED])
        return v, Csr(rows.starts, rows.indices[:filled], rows.values[:filled])


def _assembled(parts: Sequence[Csr], columns: Sequence[Any], n_columns: int) -> Sparse:
    """The matrix of all rows, columns ascending in each."""
    done = each_slice(lambda p, _: _sorted(parts[p], columns[p], n_columns), range(len(parts) + 1))
    return Sparse.stack([Sparse(*part, (len(part.starts) - 1, n_columns)) for part in done])


def _sorted(cells: Csr, columns: Any, n_columns: int) -> Csr:
    """Rows with columns in place of features, in order; None where they are the same."""
    n = len(cells.indices)
    if 4 * n < n_columns or n == 0:
        return _sorted_few(cells, columns)
    if columns is None:
        columns = np.arange(n_columns, dtype=np.int32)
    ends = np.zeros(n_columns, np.int64)
    kept = run(kernel.count_columns, cells.indices, columns, ends)
    room = Csr(np.empty(0, np.int64), np.empty(kept, np.int32), np.empty(kept, np.int64))
    out = Csr(np.zeros(len(cells.starts), np.int64), np.empty(kept, np.int32), np.empty(kept, np.int64))
    run(kernel.sort_rows, cells, columns, ends, room, out)
    return out


def _sorted_few(cells: Csr, columns: Any) -> Csr:
    """The same without an array as long as the columns: a few rows of a wide matrix."""
    starts, indices, values = cells
    if columns is not None:
        indices = columns[indices]
        kept = indices >= 0
        starts = np.concatenate([[0], np.cumsum(kept)])[starts]
        indices, values = indices[kept], values[kept]
    order = np.lexsort((indices, np.repeat(np.arange(len(starts) - 1), np.diff(starts))))
    return Csr(starts, indices[order].astype(np.int32, copy=False), values[order])


# Columns


class Features:
    """Feature texts by column.

    The table is made at the first look-up: a matrix that is counted in one pass needs none, and a pickle holds only the
    texts.

    Examples
    --------
    >>> features = Features.of_words(["b", "a"])
    >>> features.columns
    {'b': 0, 'a': 1}
    >>> features.append(Features.of_words(["c", "a"]).table)
    >>> features.names
    ['b', 'a', 'c']
    """

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts
        self._table: Vocabulary | None = None

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Features:
        """Features in this order."""
        return cls(pa.array([word.encode() for word in words], pa.large_binary()))

    @classmethod
    def of_vocabulary(cls, v: Vocabulary, ids: Any) -> Features:
        """Some features of a vocabulary, in the order of `ids`."""
        return cls(feature_texts(v, ids))

    def __len__(self) -> int:
        return len(self._texts)

    def __getstate__(self) -> dict[str, Any]:
        return {"texts": self._texts.to_pylist()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(pa.array(state["texts"], pa.large_binary()))  # type: ignore[misc]

    @cached_property
    def names(self) -> list[str]:
        """The texts as strings."""
        names: list[str] = self._texts.cast(pa.large_string()).to_pylist()
        return names

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of every feature."""
        return {name: column for column, name in enumerate(self.names)}

    @property
    def table(self) -> Vocabulary:
        """The vocabulary whose ids are the columns."""
        if self._table is None:
            self._table, _ = join(new_vocabulary(1, 1), _listed(self._texts))
        return self._table

    def append(self, v: Vocabulary) -> None:
        """Add the features of a vocabulary that are new, sorted, behind those that are known."""
        new = np.flatnonzero(ids_in(self.table, v) == MISSING)
        if not len(new):
            return
        more = feature_texts(v, sort_by_text(v, new))
        self._table, _ = join(self.table, _listed(more))
        self._texts = pa.concat_arrays([self._texts, more])
        for name in ("names", "columns"):
            self.__dict__.pop(name, None)


def join(v: Vocabulary, more: Vocabulary) -> tuple[Vocabulary, npt.NDArray[np.uint32]]:
    """Add the features of another vocabulary; return the vocabulary, and their ids in it."""
    n, n_bytes = (int(v.size[place]) + int(more.size[place]) for place in (FEATURES, BYTES))
    v = grown_vocabulary(v, n, n_bytes)
    return v, ids_in(v, more, kernel.GROWS)


def _listed(texts: pa.Array) -> Vocabulary:
    """Texts as a vocabulary without a table: others can take them over, nothing can be looked up."""
    _, starts, data = texts.buffers()
    n = len(texts)
    offsets = np.frombuffer(starts, np.int64)[texts.offset : texts.offset + n + 1] if n else np.zeros(1, np.int64)
    n_bytes = int(offsets[-1] - offsets[0])
    text = np.zeros(n_bytes + _PAD, np.uint8)
    if n_bytes:
        text[:n_bytes] = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    return listed_vocabulary(offsets - offsets[0], text)
