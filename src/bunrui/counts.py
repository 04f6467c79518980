"""The sufficient statistics: what has been learned, as integers.

    doc_count[c]      documents of class c            term_count[f, c]  occurrences of feature f in class c
    n_docs            all documents                   doc_freq[f, c]    documents of class c that contain f

and the totals of each feature over *distinct* documents (a document with several labels is one document in several
classes).  Counts add up and are taken back without loss: adding in any order and any grouping gives equal counts, and
subtracting what was added leaves what was there before.  A feature whose counts reach zero is gone.

Storage is sparse: memory follows the cells that are not zero.  `bunrui.kernel.postings` has the loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.errors import LabelError, MismatchError, UnlearnError
from bunrui.kernel import postings
from bunrui.kernel.library import run
from bunrui.kernel.postings import Postings
from bunrui.kernel.vocabulary import BYTES, FEATURES, Vocabulary
from bunrui.kernel.workspace import feature_texts, find_features, grown_vocabulary, new_vocabulary, resized, scratch_for

__all__ = ["Counts", "Integers", "Label", "Live", "check_strings", "check_types", "new_postings", "ranges"]

Label = Any  # a str, an int or a bool; labels that stand together are all of one of these types
Integers = npt.NDArray[np.int64]

_BY_FEATURE = ("starts", "lengths", "rooms", "term_total", "doc_total")
_BY_CELL = ("docs", "terms", "classes")


class Live(NamedTuple):
    """The labels with a document, sorted."""

    labels: list[Label]
    ids: Integers
    dtype: str  # of an array of them, with room for the longest


class Counts:
    """What documents of one analyzer have in common with each class.

    Attributes
    ----------
    fingerprint : str
        Of the analyzer; counts of others refuse to join.
    labels : list of str, int or bool
        Classes in the order of their ids, all of one type.
    doc_count, term_sum, doc_freq_sum : (n_classes,) int64
        Documents, occurrences of features, and distinct features summed over documents, by class.
    n_docs, n_terms, n_doc_freq : int
        The same over all distinct documents.
    vocabulary, postings
        The features and their cells, as the kernels read them.
    version : int
        Changes with every change of the counts.
    """

    def __init__(
        self, fingerprint: str = "", vocabulary: Vocabulary | None = None, cells: Postings | None = None
    ) -> None:
        self.fingerprint = fingerprint
        self.labels: list[Label] = []
        self.label_ids: dict[Label, int] = {}
        self.doc_count: Integers = np.zeros(0, np.int64)
        self.term_sum: Integers = np.zeros(0, np.int64)
        self.doc_freq_sum: Integers = np.zeros(0, np.int64)
        self.n_docs = self.n_terms = self.n_doc_freq = 0
        self.version = 0
        self._live: tuple[npt.NDArray[np.bool_], Live] | None = None
        self.vocabulary: Vocabulary = vocabulary or new_vocabulary(1, 16)
        self.postings: Postings = cells or new_postings(len(self.vocabulary.hashes), 16)

    def __repr__(self) -> str:
        return f"Counts({self.n_docs:,} documents, {len(self.live.labels):,} classes, {self.n_features:,} features)"

    # Reading

    @property
    def n_features(self) -> int:
        """V, the features that occur in some document."""
        return int(self.postings.size[postings.LIVE])

    @property
    def n_ids(self) -> int:
        """Ids in use, those of features that have gone included."""
        return int(self.vocabulary.size[FEATURES])

    @property
    def n_cells(self) -> int:
        """Pairs of feature and class that occur."""
        return int(self.postings.lengths[: self.n_ids].sum())

    @property
    def live_labels(self) -> list[Label]:
        """Labels with a document, sorted."""
        return list(self.live.labels)

    @property
    def live(self) -> Live:
        """Labels with a document, sorted, with their ids; kept while they are the same.

        Sorting 100,000 labels takes a hundred times as long as learning a document.
        """
        alive = self.doc_count > 0
        kept = self._live
        if kept is None or not np.array_equal(alive, kept[0]):
            labels = self.labels
            ids = sorted(np.flatnonzero(alive).tolist(), key=labels.__getitem__)
            names = [labels[c] for c in ids]
            kept = self._live = (alive, Live(names, np.array(ids, np.int64), _dtype_of(names)))
        return kept[1]

    def features(self) -> list[str]:
        """The text of every id (of features that have gone too)."""
        return [text.decode() for text in feature_texts(self.vocabulary)]

    def texts_of(self, ids: npt.NDArray[Any]) -> list[str]:
        """The texts of some features."""
        v = self.vocabulary
        ids = ids.astype(np.int64)
        pairs = zip(v.starts[ids].tolist(), v.starts[ids + 1].tolist(), strict=True)
        return [v.text[a:b].tobytes().decode() for a, b in pairs]

    def ids_of(self, features: Sequence[str]) -> list[int]:
        """The ids of features, -1 for those that were never seen."""
        return find_features(self.vocabulary, [feature.encode() for feature in features])

    def live_ids(self) -> Integers:
        """Ids of the features that occur in some document."""
        return np.flatnonzero(self.postings.doc_total[: self.n_ids])

    def cells(self) -> Iterator[tuple[str, Label, int, int]]:
        """(feature, label, term_count, doc_freq) of every cell, sorted by feature and label."""
        texts = self.features()
        p = self.postings
        for f in sorted(self.live_ids().tolist(), key=texts.__getitem__):
            at = slice(int(p.starts[f]), int(p.starts[f]) + int(p.lengths[f]))
            names = [self.labels[c] for c in p.classes[at].tolist()]
            for label, terms, docs in sorted(zip(names, p.terms[at].tolist(), p.docs[at].tolist(), strict=True)):
                yield texts[f], label, terms, docs

    def tables(self, size: int = 1 << 16) -> Iterator[Any]:
        """All cells as Arrow tables of `size` features: feature, label, term_count, doc_freq.

        >>> from bunrui import TextClassifier
        >>> next(TextClassifier("binary", analyzer="words").learn(["a b b"], ["x"]).counts.tables()).to_pydict()
        {'feature': ['a', 'b'], 'label': ['x', 'x'], 'term_count': [1, 2], 'doc_freq': [1, 1]}
        """
        import pyarrow as pa

        labels, live, p = pa.array(self.labels, None if self.labels else pa.string()), self.live_ids(), self.postings
        for start in range(0, max(len(live), 1), size):
            ids = live[start : start + size]
            cells = ranges(p.starts[ids], p.lengths[ids])
            features = pa.array(self.texts_of(ids), pa.string())
            columns = {
                "feature": features.take(pa.array(np.repeat(np.arange(len(ids)), p.lengths[ids]))),
                "label": labels.take(pa.array(p.classes[cells])),
                "term_count": p.terms[cells],
                "doc_freq": p.docs[cells],
            }
            yield pa.table(columns)

    def totals(self) -> dict[str, tuple[int, int]]:
        """(term_count, doc_freq) of every feature over distinct documents."""
        texts = self.features()
        p = self.postings
        return {texts[f]: (int(p.term_total[f]), int(p.doc_total[f])) for f in self.live_ids().tolist()}

    def class_totals(self) -> dict[Label, tuple[int, int, int]]:
        """(doc_count, term_sum, doc_freq_sum) of every label with a document."""
        sums = (self.doc_count.tolist(), self.term_sum.tolist(), self.doc_freq_sum.tolist())
        rows = sorted(zip(self.labels, *sums, strict=True))
        return {label: (docs, terms, freqs) for label, docs, terms, freqs in rows if docs}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        if not (
            self.fingerprint == other.fingerprint
            and (self.n_docs, self.n_terms, self.n_doc_freq) == (other.n_docs, other.n_terms, other.n_doc_freq)
            and (self.n_features, self.n_cells) == (other.n_features, other.n_cells)
            and self.class_totals() == other.class_totals()
        ):
            return False
        # The sums are equal: if no cell is smaller, none is larger.  Labels without documents have no cells.
        class_map = np.array([self.label_ids.get(label, 0) for label in other.labels], np.int64)
        args = (self.vocabulary, self.postings, *other.joinable(class_map), scratch_for(0).items)
        return bool(run(postings.find_lacking, *args) < 0)

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> Counts:
        """Counts of their own."""
        vocabulary = Vocabulary(*(array.copy() for array in self.vocabulary))
        out = Counts(self.fingerprint, vocabulary, Postings(*(array.copy() for array in self.postings)))
        out.labels, out.label_ids = list(self.labels), dict(self.label_ids)
        for name in ("doc_count", "term_sum", "doc_freq_sum"):
            setattr(out, name, getattr(self, name).copy())
        out.n_docs, out.n_terms, out.n_doc_freq = self.n_docs, self.n_terms, self.n_doc_freq
        return out

    def pruned(self, min_df: int) -> Counts:
        """A copy without the features of fewer documents."""
        ids = np.flatnonzero(self.postings.doc_total[: self.n_ids] >= max(min_df, 1))
        v, p = self._of(ids)
        cells = ranges(p.starts, p.lengths)
        out = Counts(self.fingerprint, new_vocabulary(len(ids), int(v.size[BYTES])))
        out.add_labels(self.labels)
        out._absorb(v, p, np.arange(len(self.labels), dtype=np.int64), n_cells=len(cells))
        out.doc_count, out.n_docs = self.doc_count.copy(), self.n_docs
        np.add.at(out.term_sum, p.classes[cells], p.terms[cells])
        np.add.at(out.doc_freq_sum, p.classes[cells], p.docs[cells])
        out.n_terms, out.n_doc_freq = int(p.term_total.sum()), int(p.doc_total.sum())
        return out

    def of_label(self, label: Label) -> Counts:
        """The counts of the documents with one label, where no document has several."""
        if self.n_docs != int(self.doc_count.sum()):
            raise MismatchError("documents with several labels cannot be told apart by their counts")
        c = self.label_ids[label]
        p, n = self.postings, self.n_ids
        cells = ranges(p.starts[:n], p.lengths[:n])
        mine = p.classes[cells] == c
        ids, cells = np.repeat(np.arange(n), p.lengths[:n])[mine], cells[mine]
        v, _ = self._of(ids)
        one = new_postings(len(ids), 0)._replace(classes=np.zeros(len(ids), np.int32))
        one = one._replace(terms=p.terms[cells], docs=p.docs[cells], term_total=p.terms[cells], doc_total=p.docs[cells])
        one.starts[:], one.lengths[:] = np.arange(len(ids)), 1
        out = Counts(self.fingerprint, new_vocabulary(len(ids), int(v.size[BYTES])))
        out.add_labels([label])
        out._absorb(v, one, np.zeros(1, np.int64), n_cells=len(ids))
        out.doc_count, out.n_docs = self.doc_count[c : c + 1].copy(), int(self.doc_count[c])
        out.term_sum, out.doc_freq_sum = self.term_sum[c : c + 1].copy(), self.doc_freq_sum[c : c + 1].copy()
        out.n_terms, out.n_doc_freq = int(self.term_sum[c]), int(self.doc_freq_sum[c])
        return out

    def rename(self, label: Label, name: Label) -> None:
        """Give a label another name, which no other has."""
        self._live = None
        self.label_ids[name] = self.label_ids.pop(label)
        self.labels[self.label_ids[name]] = name
        self.version += 1

    # Adding and taking back

    def add(self, other: Counts) -> None:
        """Add the counts of other documents."""
        self.check_joins(other)
        class_map = self.add_labels(other.labels)
        self._absorb(*other.joinable(class_map), n_cells=other.n_cells)
        self._add_totals(other, class_map, sign=1)

    def subtract(self, other: Counts) -> None:
        """Take the counts of documents back: all of them, or none where something was never added.

        Raises
        ------
        UnlearnError
            If a count would fall below zero.
        """
        class_map, args = self._covering(other)
        run(postings.subtract, *args)
        self._add_totals(other, class_map, sign=-1)
        if self.n_ids > 4096 and self.n_features * 2 < self.n_ids:
            self._compact()

    def check_covers(self, other: Counts) -> None:
        """Raise what `subtract` would raise, and change nothing."""
        self._covering(other)

    def _covering(self, other: Counts) -> tuple[Integers, tuple[Any, ...]]:
        """The map of classes, and the arguments of the kernel, if other counts can be taken back."""
        self.check_joins(other)
        self._check_labels(other)
        class_map = self.add_labels(other.labels)
        ov, op, targets = other.joinable(class_map)
        args = (self.vocabulary, self.postings, ov, op, targets, scratch_for(0).items)
        lacking = run(postings.find_lacking, *args)
        if lacking >= 0:
            feature = feature_texts(ov)[lacking].decode()
            raise UnlearnError(f"this was never learned: {feature!r} does not occur as often with these labels")
        emptied = self.doc_count[class_map] == other.doc_count
        left = (self.term_sum[class_map] != other.term_sum) & emptied
        if left.any():
            label = other.labels[int(left.argmax())]
            raise UnlearnError(f"this was never learned: without it {label!r} would have words but no documents")
        return class_map, args

    def add_labels(self, labels: Sequence[Label]) -> Integers:
        """The ids of labels here; new ones get the next."""
        new = [label for label in labels if label not in self.label_ids]
        if new:
            self.version += 1
            for label in new:
                self.label_ids[label] = len(self.labels)
                self.labels.append(label)
            for name in ("doc_count", "term_sum", "doc_freq_sum"):
                setattr(self, name, np.concatenate([getattr(self, name), np.zeros(len(new), np.int64)]))
        return np.array([self.label_ids[label] for label in labels], np.int64)

    def check_joins(self, other: Counts) -> None:
        """Refuse counts of another analyzer, or with labels of another type."""
        check_types(other.labels, self.labels)
        if self.fingerprint != other.fingerprint:
            raise MismatchError(
                "counts of different analyzers cannot be joined: learn both with the same analyzer "
                f"(fingerprints {self.fingerprint!r} and {other.fingerprint!r})"
            )

    def _check_labels(self, other: Counts) -> None:
        rest = self.doc_count.copy()
        for label, c in zip(other.live.labels, other.live.ids.tolist(), strict=True):
            mine = self.label_ids.get(label, -1)
            have, n_docs = int(rest[mine]) if mine >= 0 else 0, int(other.doc_count[c])
            if have < n_docs:
                raise UnlearnError(f"{label!r} has {have} documents, {n_docs} cannot be taken back")
            rest[mine] -= n_docs
        if self.n_docs < other.n_docs:
            raise UnlearnError(f"{self.n_docs} documents were learned, {other.n_docs} cannot be taken back")
        # Every document that stays has a label, and no label more than once.
        if not int(rest.max(initial=0)) <= self.n_docs - other.n_docs <= int(rest.sum()):
            raise UnlearnError("this was never learned: some documents had other labels with these")

    def joinable(self, class_map: Integers) -> tuple[Vocabulary, Postings, Integers]:
        """The features that occur, and lists whose classes ascend when they are mapped; the map for them."""
        v, p = self._of(self.live_ids()) if self.n_features < self.n_ids else (self.vocabulary, self.postings)
        if len(class_map) < 2 or bool((np.diff(class_map) > 0).all()):
            return v, p, class_map
        n = int(v.size[FEATURES])
        lengths = p.lengths[:n]
        order = ranges(p.starts[:n], lengths)
        classes = class_map[p.classes[order]]
        by_class = np.lexsort((classes, np.repeat(np.arange(n), lengths)))
        p = p._replace(
            starts=np.cumsum(lengths, dtype=np.int64) - lengths,
            classes=classes[by_class].astype(np.int32),
            terms=p.terms[order][by_class],
            docs=p.docs[order][by_class],
        )
        return v, p, np.arange(int(class_map.max()) + 1, dtype=np.int64)

    def _of(self, ids: Integers) -> tuple[Vocabulary, Postings]:
        """Vocabulary (without slots) and postings of some features."""
        v, p = self.vocabulary, self.postings
        sizes = v.starts[ids + 1] - v.starts[ids]
        text = v.text[ranges(v.starts[ids], sizes)]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        size = v.size.copy()
        size[FEATURES], size[BYTES] = len(ids), len(text)
        vocabulary = Vocabulary(v.slots[:0], v.hashes[ids], starts, resized(text, len(text) + 64), size, v.loads[:0])
        return vocabulary, p._replace(**{name: getattr(p, name)[ids] for name in _BY_FEATURE})

    def _absorb(self, ov: Vocabulary, op: Postings, class_map: Integers, n_cells: int) -> None:
        items = scratch_for(0).items
        first = 0
        try:
            while True:
                # Nothing here holds on to arrays that are to be replaced by larger ones.
                status, first = run(postings.absorb, *(self.vocabulary, self.postings, ov, op, class_map, first, items))
                if status == postings.DONE:
                    return
                if status == postings.GROW_CELLS:
                    self._grow_cells(n_cells)
                else:
                    self._grow_features(ov)
        except BaseException:
            # No memory, say: what was added so far goes again.
            size = ov.size.copy()
            size[FEATURES] = first
            args = (self.vocabulary, self.postings, ov._replace(size=size), op, class_map, items)
            run(postings.subtract, *args)
            raise

    def _grow_features(self, ov: Vocabulary) -> None:
        features = self.n_ids + max(postings.BLOCK, min(int(ov.size[FEATURES]), self.n_ids))
        text_bytes = int(self.vocabulary.size[BYTES]) + int(ov.size[BYTES])
        vocabulary = grown_vocabulary(self.vocabulary, features, text_bytes, in_regions=True)
        room = len(vocabulary.hashes)
        larger = {name: resized(getattr(self.postings, name), room) for name in _BY_FEATURE}
        self.vocabulary, self.postings = vocabulary, self.postings._replace(**larger)

    def _grow_cells(self, n_new: int) -> None:
        p = self.postings
        if p.size[postings.HOLES] * 4 > p.size[postings.USED]:
            order = np.argsort(p.starts[: self.n_ids], kind="stable")
            run(postings.close_holes, p, order)
            return
        room = len(p.classes) + max(len(p.classes) // 2, 2 * n_new, 64)
        del p
        # One after the other, so that only one is there twice; `classes`, by whose size the kernels go, is the last.
        for name in _BY_CELL:
            self.postings = self.postings._replace(**{name: resized(getattr(self.postings, name), room)})

    def _compact(self) -> None:
        """Drop the features that have gone."""
        v, p = self._of(self.live_ids())
        self.vocabulary = new_vocabulary(self.n_features, int(v.size[BYTES]))
        self.postings = new_postings(len(self.vocabulary.hashes), len(p.classes))
        self._absorb(v, p, np.arange(len(self.labels), dtype=np.int64), n_cells=0)

    def _add_totals(self, other: Counts, class_map: Integers, sign: int) -> None:
        self.doc_count[class_map] += sign * other.doc_count
        self.term_sum[class_map] += sign * other.term_sum
        self.doc_freq_sum[class_map] += sign * other.doc_freq_sum
        self.n_docs += sign * other.n_docs
        self.n_terms += sign * other.n_terms
        self.n_doc_freq += sign * other.n_doc_freq
        self.version += 1


def check_types(labels: Iterable[Label], known: Iterable[Label]) -> None:
    """Refuse labels of another type than those that are known: True would be taken for 1."""
    one, other = (next(iter(some), None) for some in (labels, known))
    if one is not None and other is not None and type(one) is not type(other):
        mine, theirs = type(one).__name__, type(other).__name__
        raise LabelError(
            f"the label {one!r} is of type {mine}, and others are of type {theirs}, such as {other!r}: convert labels "
            f"to {theirs}"
        )


def check_strings(labels: Iterable[Label]) -> None:
    """Refuse labels that a file cannot keep."""
    for label in labels:
        if not isinstance(label, str):
            raise LabelError(f"a file keeps labels as strings, and {label!r} is none: convert labels with str")


def _dtype_of(labels: Sequence[Label]) -> str:
    """The NumPy type of an array of labels.

    >>> _dtype_of(["ham", "spam"]), _dtype_of([-1, 1]), _dtype_of([False])
    ('<U4', 'int64', 'bool')
    """
    if labels and not isinstance(labels[0], str):
        return "bool" if isinstance(labels[0], bool) else "int64"
    return f"<U{max(map(len, map(str, labels)), default=1)}"


def new_postings(features: int, cells: int) -> Postings:
    """Empty postings with room for so many features and cells."""
    by_feature: dict[str, Any] = {name: np.zeros(features, np.int64) for name in ("starts", "term_total", "doc_total")}
    by_feature |= {name: np.zeros(features, np.int32) for name in ("lengths", "rooms")}
    return Postings(
        **by_feature,
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
