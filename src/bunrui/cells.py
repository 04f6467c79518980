"""`Cells`: features with their counts, column by column, the one form in which counts travel.

    counts ─► Cells ─► a row of a file (store/codec.py), a piece on disk where memory is short (engines/partitions.py),
                       a part for another machine (engines/partitions.py), a table of Arrow (`Cells.table`)
    counts ◄─ Cells

Cells have no numbers of documents by class: these belong to no feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.kernel import postings
from bunrui.kernel.postings import Postings
from bunrui.kernel.vocabulary import Vocabulary
from bunrui.kernel.workspace import listed_vocabulary

Integers = npt.NDArray[np.int64]

_FEW_CLASSES = 8
_PADDING = 64  # kernels read words beyond the end of a text


class Cells(NamedTuple):
    """Some features with their cells: the occurrences of a feature in a class, and the documents that have it."""

    sizes: npt.NDArray[Any]  # bytes of every feature
    text: npt.NDArray[np.uint8]  # all features, one after the other
    lengths: npt.NDArray[Any]  # cells of every feature
    classes: npt.NDArray[Any]  # of every cell, ascending within a feature
    terms: npt.NDArray[Any]
    docs: npt.NDArray[Any]
    term_total: npt.NDArray[Any]  # of every feature, over distinct documents
    doc_total: npt.NDArray[Any]

    @classmethod
    def of(cls, v: Vocabulary, p: Postings, ids: Integers) -> Cells:
        """Some features, in this order; the columns may share memory with the counts."""
        sizes, text = _texts(v, ids)
        lengths = p.lengths[ids]
        cells = _places(p.starts[ids], lengths)
        totals = p.term_total[ids], p.doc_total[ids]
        return cls(sizes, text, lengths, p.classes[cells], p.terms[cells], p.docs[cells], *totals)

    @classmethod
    def joined(cls, some: Sequence[Cells]) -> Cells:
        """All features of some cells, one after the other."""
        if len(some) == 1:
            return some[0]
        if not some:
            none = np.empty(0, np.int64)
            return cls(none, none.astype(np.uint8), none, none, none, none, none, none)
        return cls(*(np.concatenate(columns) for columns in zip(*some, strict=True)))

    def at(self, ids: Integers) -> Cells:
        """The features at some places."""
        starts = [np.cumsum(sizes, dtype=np.int64)[ids] - sizes[ids] for sizes in (self.sizes, self.lengths)]
        return self.cut(ids, ranges(starts[0], self.sizes[ids]), ranges(starts[1], self.lengths[ids]))

    def cut(self, features: Any, text: Any, cells: Any) -> Cells:
        """Some features with their bytes and their cells: slices, places or marks."""
        return Cells(
            self.sizes[features],
            self.text[text],
            self.lengths[features],
            self.classes[cells],
            self.terms[cells],
            self.docs[cells],
            self.term_total[features],
            self.doc_total[features],
        )

    def blocks(self, size: int) -> Iterator[Cells]:
        """All features, so many at a time; the columns share memory."""
        text = cells = 0
        for lo in range(0, len(self.sizes), size):
            some = slice(lo, lo + size)
            bounds = text + int(self.sizes[some].sum()), cells + int(self.lengths[some].sum())
            yield self.cut(some, slice(text, bounds[0]), slice(cells, bounds[1]))
            text, cells = bounds

    def keep(self, features: npt.NDArray[np.bool_]) -> Cells:
        """The features that are marked."""
        return self.cut(features, np.repeat(features, self.sizes), np.repeat(features, self.lengths))

    def of_class(self, c: int) -> Cells:
        """The cells of one class, as class 0, if no document has several classes."""
        mine = self.classes == c
        features = np.zeros(len(self.sizes), np.bool_)
        features[np.repeat(np.arange(len(self.sizes)), self.lengths)[mine]] = True
        some = self.cut(features, np.repeat(features, self.sizes), mine)
        zeros = np.zeros(len(some.classes), np.int32)
        return some._replace(lengths=zeros + 1, classes=zeros, term_total=some.terms, doc_total=some.docs)

    def mapped(self, class_map: Integers) -> Cells:
        """The same where class c is class_map[c]."""
        if np.array_equal(class_map, np.arange(len(class_map))):
            return self
        classes = class_map[self.classes]
        if (np.diff(class_map) > 0).all():
            return self._replace(classes=classes)
        order = np.lexsort((classes, np.repeat(np.arange(len(self.lengths)), self.lengths)))
        return self._replace(classes=classes[order], terms=self.terms[order], docs=self.docs[order])

    def narrow(self) -> Cells:
        """The same in numbers of as few bytes as they need."""
        return Cells(*(column if column is self.text else _narrow(column) for column in self))

    def sums(self, n_classes: int) -> tuple[Integers, Integers]:
        """Occurrences, and documents of every feature, by class."""
        if n_classes > _FEW_CLASSES:
            return _sums(self.classes, self.terms, n_classes), _sums(self.classes, self.docs, n_classes)
        # A tenth of the time of `np.bincount`, which makes numbers of eight bytes of all of them.
        terms, docs = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
        for c in range(n_classes):
            mine = self.classes == c
            terms[c], docs[c] = (self.terms * mine).sum(dtype=np.int64), (self.docs * mine).sum(dtype=np.int64)
        return terms, docs

    def table(self, labels: Sequence[Any]) -> Any:
        """Every cell as a row of an Arrow table: feature, label, term_count, doc_freq; class c is labels[c]."""
        import pyarrow as pa

        columns = {
            "feature": _strings(self.sizes, self.text)
            .cast(pa.string())
            .take(pa.array(np.repeat(np.arange(len(self.sizes)), self.lengths))),
            "label": pa.array(labels, None if labels else pa.string()).take(pa.array(self.classes)),
            "term_count": self.terms,
            "doc_freq": self.docs,
        }
        return pa.table(columns)

    # As kernels read them

    def padded_text(self) -> npt.NDArray[np.uint8]:
        text = np.zeros(len(self.text) + _PADDING, np.uint8)
        text[: len(self.text)] = self.text
        return text

    def vocabulary(self) -> Vocabulary:
        """The features without slots and hashes: they cannot be found there, but they can be added elsewhere."""
        starts = np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])
        return listed_vocabulary(starts, self.padded_text())

    def postings(self, room: int | None = None) -> Postings:
        """The lists, with room for `room` features."""
        n = len(self.sizes)
        p = new_postings(n if room is None else room, 0)
        p.lengths[:n] = p.rooms[:n] = self.lengths
        p.starts[:n] = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        p.term_total[:n], p.doc_total[:n] = self.term_total, self.doc_total
        p.size[postings.USED], p.size[postings.LIVE] = len(self.classes), n
        return p._replace(
            classes=_own(self.classes, np.int32), terms=_own(self.terms, np.int64), docs=_own(self.docs, np.int64)
        )


def sort_by_text(v: Vocabulary, ids: Integers) -> Integers:
    """Ids of features in the order of their texts, which does not depend on the process that counted them."""
    import pyarrow.compute as pc

    order: Integers = pc.array_sort_indices(_strings(*_texts(v, ids))).to_numpy()
    return ids[order]


def _strings(sizes: npt.NDArray[Any], text: npt.NDArray[np.uint8]) -> Any:
    """Texts that stand one after the other, as an Arrow array."""
    import pyarrow as pa

    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(np.ascontiguousarray(text))]
    return pa.Array.from_buffers(pa.large_string(), len(sizes), buffers)


def _texts(v: Vocabulary, ids: Integers) -> tuple[Integers, npt.NDArray[np.uint8]]:
    """The bytes of every feature, and the features one after the other."""
    if len(ids) == 0:
        return np.empty(0, np.int64), v.text[:0]
    first, last = int(ids[0]), int(ids[-1]) + 1
    if last - first == len(ids) and (np.diff(ids) == 1).all():
        starts = v.starts[first : last + 1]
        return np.diff(starts), v.text[starts[0] : starts[-1]]
    # Arrow copies string by string; NumPy would need the place of every byte, eight bytes for each.
    _, starts, text = feature_texts(v, ids).buffers()
    starts = np.frombuffer(starts, np.int64, len(ids) + 1)
    return np.diff(starts), np.frombuffer(text or b"", np.uint8)[: starts[-1]]


def feature_texts(v: Vocabulary, ids: Integers) -> Any:
    """The texts of some features, as an Arrow array of bytes."""
    import pyarrow as pa

    n = int(ids.max(initial=-1)) + 1
    buffers = [None, pa.py_buffer(v.starts[: n + 1]), pa.py_buffer(v.text)]
    return pa.Array.from_buffers(pa.large_binary(), n, buffers).take(pa.array(ids))


def _places(starts: Integers, lengths: npt.NDArray[Any]) -> Any:
    """The places of the cells of some lists: a slice if each list follows the one before, as new lists do."""
    if len(starts) and (starts[1:] == starts[:-1] + lengths[:-1]).all():
        return slice(int(starts[0]), int(starts[-1]) + int(lengths[-1]))
    return ranges(starts, lengths)


def _own(numbers: npt.NDArray[Any], dtype: Any) -> npt.NDArray[Any]:
    """Numbers that kernels may write to: neither an array that was sent, nor a view of another."""
    return np.require(numbers, dtype, ["C", "W", "O"])


def _narrow(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _sums(classes: npt.NDArray[Any], numbers: npt.NDArray[Any], n_classes: int) -> Integers:
    """Sums of numbers by class, exact."""
    if len(numbers) and float(numbers.max()) * len(numbers) < 1 << 53:
        return np.bincount(classes, numbers, n_classes).astype(np.int64)
    out = np.zeros(n_classes, np.int64)
    np.add.at(out, classes, numbers.astype(np.int64))
    return out


def new_postings(features: int, cells: int, *, is_cleared: bool = True) -> Postings:
    """Empty postings with room for features and cells; a caller that fills all of them needs none that are cleared."""
    new = np.zeros if is_cleared else np.empty
    return Postings(
        starts=new(features, np.int64),
        lengths=new(features, np.int32),
        rooms=new(features, np.int32),
        term_total=new(features, np.int64),
        doc_total=new(features, np.int64),
        classes=np.empty(cells, np.int32),
        terms=np.empty(cells, np.int64),
        docs=np.empty(cells, np.int64),
        size=np.zeros(postings.SIZES, np.int64),
    )


def ranges(starts: Integers, lengths: npt.NDArray[Any]) -> Integers:
    """starts[0], starts[0] + 1, … (lengths[0] of them), starts[1], …"""
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths))
