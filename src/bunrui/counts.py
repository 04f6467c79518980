"""`Counts`: everything that a classifier learns, as integers.

    doc_count[c]      documents of class c            term_count[f, c]  occurrences of feature f in class c
    n_docs            all documents                   doc_freq[f, c]    documents of class c that contain f

and the totals of each feature over *distinct* documents (a document with several labels is one document in several
classes).  Counts are added and subtracted without loss: any order and any grouping of additions gives equal counts, and
a subtraction undoes an addition.  A feature whose counts reach zero is gone.

Storage is sparse: memory follows the cells that are not zero.  `bunrui.kernel.postings` has the loops, and
`bunrui.cells` the columns in which counts travel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.cells import Cells, Integers, new_postings, sort_by_text
from bunrui.errors import DataError, MismatchError, UnlearnError
from bunrui.kernel import postings, slices, workspace
from bunrui.kernel.library import run
from bunrui.kernel.postings import Both, Plan, Postings, absorb
from bunrui.kernel.vocabulary import BYTES, FEATURES, FULLEST, MISSING, REGION, SLOT, Vocabulary, put_hashes
from bunrui.labels import check_types, dtype_of
from bunrui.phrases import counted

Label = Any  # a str, an int or a bool; labels that stand together are all of one of these types

_BY_FEATURE = ("starts", "lengths", "rooms", "term_total", "doc_total")
_BY_CELL = ("docs", "terms", "classes")
_PADDING = 64
_FEW_MORE = 8  # of so many features, one may be added to folded counts
_BLOCK = 1 << 15  # features that are looked for at once: their copy stays in the processor's own cache


class Live(NamedTuple):
    """The labels with a document, sorted."""

    labels: list[Label]
    ids: Integers
    dtype: str  # of an array of them, with room for the longest


class Totals(NamedTuple):
    """The sums of documents by class, (n_classes,), and over all distinct documents: see `Counts`."""

    doc_count: Integers
    term_sum: Integers
    doc_freq_sum: Integers
    n_docs: int
    n_terms: int = 0
    n_doc_freq: int = 0

    @classmethod
    def of_docs(cls, doc_count: Integers, n_docs: int) -> Totals:
        """Documents without their features."""
        return cls(doc_count, np.zeros_like(doc_count), np.zeros_like(doc_count), n_docs)

    @classmethod
    def of_cells(cls, some: Sequence[Cells], doc_count: Integers, n_docs: int) -> Totals:
        """Documents with their features."""
        terms, docs = np.zeros_like(doc_count), np.zeros_like(doc_count)
        for by_class in slices.in_turn(lambda cells: cells.sums(len(doc_count)), some):
            terms, docs = terms + by_class[0], docs + by_class[1]
        totals = ((int(cells.term_total.sum()), int(cells.doc_total.sum())) for cells in some)
        return cls(doc_count, terms, docs, n_docs, *map(sum, zip(*totals, strict=True)))


class Folded(NamedTuple):
    """Features of a file with their cells, as they were read: without slots, and in as few bytes as they need.

    `later` are some that were added since, which may be among them; their labels are ids of classes.
    """

    parts: Sequence[Cells]
    damaged: Callable[[str], Exception]  # the error to raise for something that does not fit
    later: Counts | None = None

    @property
    def n_read(self) -> int:
        """The features that were read."""
        return sum(len(cells.sizes) for cells in self.parts)

    def n_features(self) -> int:
        """All of them."""
        later = self.later
        n_known = 0 if later is None else sum(len(cells.sizes) for cells in find(self.parts, later.vocabulary))
        return self.n_read - n_known + (later.n_features if later is not None else 0)

    def plus(self, classes: Sequence[int], cells: Cells) -> Folded:
        """The same with other features, too; class c of these is classes[c]."""
        later = self.later or Counts()
        later.add_cells(classes, cells)
        return self._replace(later=later)


class Counts:
    """The counts of documents, by feature and class, with one analyzer.

    Attributes
    ----------
    fingerprint : str
        The fingerprint of the analyzer; counts of other analyzers are refused.
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
        self,
        fingerprint: str = "",
        vocabulary: Vocabulary | None = None,
        cells: Postings | None = None,
        *,
        labels: Sequence[Label] = (),
        totals: Totals | None = None,
    ) -> None:
        self.fingerprint = fingerprint
        self.labels: list[Label] = list(labels)
        self.label_ids: dict[Label, int] = {label: c for c, label in enumerate(self.labels)}
        totals = totals or Totals.of_docs(np.zeros(len(self.labels), np.int64), 0)
        self.doc_count, self.term_sum, self.doc_freq_sum, self.n_docs, self.n_terms, self.n_doc_freq = totals
        self.version = 0
        self._live: tuple[bytes, Live] | None = None
        self._vocabulary: Vocabulary = vocabulary or workspace.new_vocabulary(1, 16)
        self._postings: Postings = cells or new_postings(len(self._vocabulary.hashes), 16)
        self._folded: Folded | None = None
        self._n_folded: int | None = None  # features, while they are folded
        self._known_digest: tuple[int, str] | None = None  # the last that was asked for, while they are folded

    @classmethod
    def of(
        cls, fingerprint: str, labels: Sequence[Label], cells: Cells, doc_count: Integers | None = None, n_docs: int = 0
    ) -> Counts:
        """Counts with these features and these numbers of documents; class c is labels[c].

        Raises
        ------
        DataError
            If a feature is there twice.
        """
        docs = np.zeros(len(labels), np.int64) if doc_count is None else doc_count
        return cls(fingerprint, *_unfolded(cells), labels=labels, totals=Totals.of_cells([cells], docs, n_docs))

    @classmethod
    def folded(
        cls, fingerprint: str, labels: Sequence[Label], folded: Folded, doc_count: Integers, n_docs: int
    ) -> Counts:
        """The same, where most likely few of the features will be asked for: all others stay as they are.

        Slots, and numbers of eight bytes, are made when somebody needs more: only then is a feature found that is there
        twice, and `folded` says how to refuse it.
        """
        counts = cls(fingerprint, labels=labels, totals=Totals.of_cells(folded.parts, doc_count, n_docs))
        counts._folded, counts._n_folded = folded, folded.n_features()
        return counts

    def __repr__(self) -> str:
        return f"Counts({self.n_docs:,} documents, {len(self.live.labels):,} classes, {self.n_features:,} features)"

    # Reading

    @property
    def vocabulary(self) -> Vocabulary:
        """The features, as kernels read them."""
        self.unfold()
        return self._vocabulary

    @property
    def postings(self) -> Postings:
        """The cells of the features, as kernels read them."""
        self.unfold()
        return self._postings

    @property
    def is_folded(self) -> bool:
        """Whether a few features are better asked for with `few` or `places_of`."""
        return self._folded is not None

    def few(self, wanted: Vocabulary) -> Counts:
        """The features that another vocabulary has too, with ids of their own; documents and classes are the same."""
        some, damaged, later = self._folded or Folded([self.take(self.live_ids())], DataError)
        try:
            found = Cells.joined(find(some, wanted))
            few = Counts.of(self.fingerprint, self.labels, found, self.doc_count, self.n_docs)
        except DataError as error:
            raise damaged(str(error)) from error
        if later is not None:
            more = Cells.joined(find([later.take(later.live_ids())], wanted))
            few.add_cells([self.labels[c] for c in later.labels], more)
        return few

    def places_of(self, wanted: Vocabulary) -> npt.NDArray[np.int32]:
        """The ids of the features of another vocabulary, -1 for those that are not here.

        Folded features stay as they are, if none were added.

        Raises
        ------
        StoreError
            If folded counts have one of them twice.
        """
        folded = self._folded
        if folded is None or folded.later is not None:
            return workspace.ids_in(self.vocabulary, wanted).view(np.int32)
        n = int(wanted.size[FEATURES])
        ids = np.full(n, -1, np.int32)
        if not n:
            return ids

        def look(part: Cells) -> npt.NDArray[np.uint32]:
            return np.concatenate([np.empty(0, np.uint32), *(places for _, places in _look_up(part, wanted))])

        places = np.concatenate([np.empty(0, np.uint32), *slices.in_turn(look, folded.parts)])
        found = np.flatnonzero(places != MISSING)
        ids[places[found]] = found
        if np.count_nonzero(ids >= 0) < len(found):
            raise folded.damaged("a feature is there twice")
        return ids

    def digest(self, n: int) -> str:
        """A digest of the first n features in the order of their ids; folded ones stay as they are."""
        folded, known = self._folded, self._known_digest
        if folded is None or n > folded.n_read:  # others come behind them
            return _digest(self.vocabulary.hashes[:n])
        if known is None or known[0] != n:
            hashes = np.concatenate([np.empty(0, np.uint64), *slices.in_turn(_hashes, folded.parts)])
            known = self._known_digest = n, _digest(hashes[:n])
        return known[1]

    def unfold(self) -> None:
        """Make slots of all features, where there are none yet; whoever reads features or cells does it, too."""
        folded = self._folded  # two threads may both come by, and get the same
        if folded is None:
            return
        try:
            whole = Counts(self.fingerprint, *_unfolded(Cells.joined(folded.parts)), labels=self.labels)
        except DataError as error:
            raise folded.damaged(str(error)) from error
        later = folded.later
        if later is not None:
            whole._absorb(*later._joinable(np.array(later.labels, np.int64)))
        self._vocabulary, self._postings = whole.vocabulary, whole.postings
        self._folded = None

    @property
    def n_features(self) -> int:
        """V, the features that occur in some document."""
        folded, n = self._folded, self._n_folded  # another thread may unfold them now
        if folded is None:
            return int(self._postings.size[postings.LIVE])
        if n is None:
            n = self._n_folded = folded.n_features()
        return n

    @property
    def n_ids(self) -> int:
        """Ids in use, with those of features that are gone."""
        return int(self._vocabulary.size[FEATURES]) if self._folded is None else self.n_features

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
        kept, now = self._live, alive.tobytes()
        if kept is None or now != kept[0]:
            labels = self.labels
            ids = sorted(np.flatnonzero(alive).tolist(), key=labels.__getitem__)
            names = [labels[c] for c in ids]
            kept = self._live = (now, Live(names, np.array(ids, np.int64), dtype_of(names)))
        return kept[1]

    def features(self) -> list[str]:
        """The text of every id, also of features that are gone."""
        return [text.decode() for text in workspace.feature_texts(self.vocabulary)]

    def texts_of(self, ids: npt.NDArray[Any]) -> list[str]:
        """The texts of some features."""
        v = self.vocabulary
        ids = ids.astype(np.int64)
        pairs = zip(v.starts[ids].tolist(), v.starts[ids + 1].tolist(), strict=True)
        return [v.text[a:b].tobytes().decode() for a, b in pairs]

    def ids_of(self, features: Sequence[str]) -> list[int]:
        """The ids of features, -1 for those that were never seen."""
        return workspace.find_features(self.vocabulary, [feature.encode() for feature in features])

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
        """All cells as Arrow tables of `size` features, sorted by text and label: feature, label, term_count, doc_freq.

        >>> from bunrui import TextClassifier
        >>> next(TextClassifier("binary", analyzer="words").learn(["a b b"], ["x"]).counts.tables()).to_pydict()
        {'feature': ['a', 'b'], 'label': ['x', 'x'], 'term_count': [1, 2], 'doc_freq': [1, 1]}
        """
        live = sort_by_text(self.vocabulary, self.live_ids())
        order = sorted(range(len(self.labels)), key=self.labels.__getitem__)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        labels = [self.labels[c] for c in order]
        for start in range(0, max(len(live), 1), size):
            yield self.take(live[start : start + size]).mapped(ranks).table(labels)

    def take(self, ids: Integers) -> Cells:
        """Some features with their cells, in this order, to be read before the counts change."""
        return Cells.of(self.vocabulary, self.postings, ids)

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
        return self._find_lacking(*other._joinable(class_map))[0] < 0

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> Counts:
        """Counts of their own."""
        vocabulary = Vocabulary(*(array.copy() for array in self.vocabulary))
        postings = Postings(*(array.copy() for array in self.postings))
        by_class = (self.doc_count.copy(), self.term_sum.copy(), self.doc_freq_sum.copy())
        totals = Totals(*by_class, self.n_docs, self.n_terms, self.n_doc_freq)
        return Counts(self.fingerprint, vocabulary, postings, labels=self.labels, totals=totals)

    def pruned(self, min_df: int) -> Counts:
        """A copy without the features of fewer documents."""
        ids = np.flatnonzero(self.postings.doc_total[: self.n_ids] >= max(min_df, 1))
        return Counts.of(self.fingerprint, self.labels, self.take(ids), self.doc_count.copy(), self.n_docs)

    def of_label(self, label: Label) -> Counts:
        """The counts of the documents with one label, where no document has several."""
        if self.n_docs != int(self.doc_count.sum()):
            raise MismatchError("documents with several labels cannot be told apart by their counts")
        c = self.label_ids[label]
        cells = self.take(self.live_ids()).of_class(c)
        return Counts.of(self.fingerprint, [label], cells, self.doc_count[c : c + 1].copy(), int(self.doc_count[c]))

    def rename(self, label: Label, name: Label) -> None:
        """Give a label a new name that no other label has."""
        self._live = None
        self.label_ids[name] = self.label_ids.pop(label)
        self.labels[self.label_ids[name]] = name
        self.version += 1

    # Adding and taking back

    def add(self, other: Counts) -> None:
        """Add the counts of other documents."""
        self.check_joins(other)
        class_map = self.add_labels(other.labels)
        folded = self._folded
        if folded is not None and other.n_features <= folded.n_read // _FEW_MORE:
            self._folded = folded.plus(class_map.tolist(), other.take(other.live_ids()))
            self._n_folded = None
        else:
            self._absorb(*other._joinable(class_map))
        self.add_totals(other, class_map)

    def add_docs(self, labels: Sequence[Label], doc_count: Integers, n_docs: int) -> Integers:
        """Add documents without their features; the ids of their labels here."""
        class_map = self.add_labels(labels)
        self.doc_count[class_map] += doc_count
        self.n_docs += n_docs
        self.version += 1
        return class_map

    def add_cells(self, labels: Sequence[Label], cells: Cells) -> None:
        """Add features with their cells, of no documents; class c is labels[c]."""
        cells = cells.mapped(self.add_labels(labels))
        same = np.arange(len(self.labels), dtype=np.int64)
        self._absorb(cells.vocabulary(), cells.postings(), same)
        self._add_sums(cells)
        self.version += 1

    def subtract(self, other: Counts) -> None:
        """Take the counts of documents back, all of them or none.

        Raises
        ------
        UnlearnError
            If a count would fall below zero.
        """
        class_map, args = self._covering(other)
        self._take_back(*args)
        self.add_totals(other, class_map, sign=-1)
        if self.n_ids > 4096 and self.n_features * 2 < self.n_ids:
            self._compact()

    def scale(self, n: int) -> None:
        """Count every document n times.

        Raises
        ------
        DataError
            If a count would be so large that the floats of formulas cannot tell it from its neighbours.
        """
        if n * self.n_terms >= 1 << 53:
            raise DataError(f"{n:,} times {self.n_terms:,} features is more than counts can hold: give smaller weights")
        p = self.postings
        used = slice(0, int(p.size[postings.USED]))
        by_feature = p.term_total[: self.n_ids], p.doc_total[: self.n_ids]
        for array in (*by_feature, p.terms[used], p.docs[used], self.doc_count, self.term_sum, self.doc_freq_sum):
            array *= n
        self.n_docs, self.n_terms, self.n_doc_freq = n * self.n_docs, n * self.n_terms, n * self.n_doc_freq
        self.version += 1

    def plus(self, other: Counts) -> Counts:
        """The counts of both, as new ones.

        >>> from bunrui import TextClassifier
        >>> one, two = (TextClassifier("binary").learn(["a"], [label]).counts for label in "xy")
        >>> one.plus(two), one.plus(two).minus(two) == one
        (Counts(2 documents, 2 classes, 1 features), True)
        """
        out = self.copy()
        out.add(other)
        return out

    def minus(self, other: Counts) -> Counts:
        """The counts without others, as new ones; see `subtract`."""
        out = self.copy()
        out.subtract(other)
        return out

    def check_covers(self, other: Counts) -> None:
        """Raise the error that `subtract` would raise, and change nothing."""
        self._covering(other)

    def _take_back(self, op: Postings, class_map: Integers, ids: npt.NDArray[np.uint32]) -> None:
        """Subtract lists from the lists of the features `ids`, each slice of them on a thread."""

        def subtract(lo: int, hi: int) -> int:
            return int(run(postings.subtract, self.postings, op, class_map, lo, hi, ids))

        gone = slices.each_slice(subtract, slices.stretches(len(ids)))
        self.postings.size[postings.LIVE] -= sum(gone)

    def _find_lacking(self, ov: Vocabulary, op: Postings, class_map: Integers) -> tuple[int, npt.NDArray[np.uint32]]:
        """The first feature of others that occurs less often here, or -1; then also the ids of all of them."""
        ids = np.empty(int(ov.size[FEATURES]), np.uint32)

        both = Both(self.vocabulary, self.postings, ov, op, class_map)

        def find(lo: int, hi: int) -> int:
            return int(run(postings.find_lacking, both, lo, hi, ids, workspace.scratch_for(0).items))

        found = slices.each_slice(find, slices.stretches(len(ids)))
        return min((o for o in found if o >= 0), default=-1), ids

    def _covering(self, other: Counts) -> tuple[Integers, tuple[Postings, Integers, npt.NDArray[np.uint32]]]:
        """The map of classes, and what the kernel takes, if other counts can be taken back."""
        self.check_joins(other)
        self._check_labels(other)
        class_map = self.add_labels(other.labels)
        ov, op, targets = other._joinable(class_map)
        lacking, ids = self._find_lacking(ov, op, targets)
        if lacking >= 0:
            feature = workspace.feature_texts(ov)[lacking].decode()
            raise UnlearnError(f"this was never learned: {feature!r} does not occur as often with these labels")
        emptied = self.doc_count[class_map] == other.doc_count
        left = (self.term_sum[class_map] != other.term_sum) & emptied
        if left.any():
            label = other.labels[int(left.argmax())]
            raise UnlearnError(f"this was never learned: without it {label!r} would have words but no documents")
        return class_map, (op, targets, ids)

    def add_labels(self, labels: Sequence[Label]) -> Integers:
        """The ids of labels here; new ones get the next."""
        check_types(labels, self.labels)
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
            raise MismatchError("counts of different analyzers cannot be joined: learn both with the same analyzer")

    def _check_labels(self, other: Counts) -> None:
        rest = self.doc_count.copy()
        for label, c in zip(other.live.labels, other.live.ids.tolist(), strict=True):
            mine = self.label_ids.get(label, -1)
            have, n_docs = int(rest[mine]) if mine >= 0 else 0, int(other.doc_count[c])
            if have < n_docs:
                has = f"has {counted(have, 'document')}" if have else "has no documents"
                raise UnlearnError(f"label {label!r} {has}: {counted(n_docs, 'document')} cannot be taken back")
            rest[mine] -= n_docs
        if self.n_docs < other.n_docs:
            raise UnlearnError(f"{self.n_docs} documents were learned, {other.n_docs} cannot be taken back")
        # Every document that stays has a label, and no label more than once.
        if not int(rest.max(initial=0)) <= self.n_docs - other.n_docs <= int(rest.sum()):
            raise UnlearnError("this was never learned: some documents had other labels with these")

    def _joinable(self, class_map: Integers) -> tuple[Vocabulary, Postings, Integers]:
        """The features that occur, and lists whose classes ascend when they are mapped; the map for them."""
        if self.n_features == self.n_ids and (len(class_map) < 2 or bool((np.diff(class_map) > 0).all())):
            return self.vocabulary, self.postings, class_map
        cells = self.take(self.live_ids()).mapped(class_map)
        return cells.vocabulary(), cells.postings(), np.arange(int(class_map.max(initial=0)) + 1, dtype=np.int64)

    def _absorb(self, ov: Vocabulary, op: Postings, class_map: Integers, skip: int = 0) -> None:
        """Add features with their cells, each slice of them on a thread; `skip` bits of the hashes are all the same."""
        n = int(ov.size[FEATURES])
        planned = Plan(np.empty(n, np.uint32), np.empty(n, np.uint64), np.empty(n, np.int32))
        bounds = slices.stretches(n)

        def plan(lo: int, hi: int) -> Integers:
            need = np.zeros(postings.NEEDS, np.int64)
            both = Both(self.vocabulary, self.postings, ov, op, class_map)
            run(postings.plan, both, skip, lo, hi, planned, need, workspace.scratch_for(0).items)
            return need

        if len(bounds) == 2 and not skip:
            need = np.zeros(postings.NEEDS, np.int64)
            args = (self.vocabulary, self.postings, ov, op, class_map, planned, need)
            if run(absorb, *args, workspace.scratch_for(0).items):
                return
            needs = [need]
        else:
            needs = slices.each_slice(plan, bounds)
        sizes = np.sum(needs, axis=0).tolist()
        self._make_room(planned, *sizes[: postings.LEFT])
        v, p = self.vocabulary, self.postings
        known = self.n_ids
        at = np.array([known, int(v.size[BYTES]), int(p.size[postings.USED]), 0, 0])
        places = {}
        for lo, some in zip(bounds, needs, strict=False):
            places[lo] = (*at[: postings.LEFT].tolist(), int(at[postings.TEXT] + some[postings.TEXT]))
            at += some

        def merge(lo: int, hi: int) -> None:
            run(postings.merge, Both(v, p, ov, op, class_map), lo, hi, planned, *places[lo])

        interrupt = None
        try:
            slices.each_slice(merge, bounds)
        except BaseException as error:  # the threads have gone on to their end
            interrupt = error
        v.size[FEATURES] += sizes[postings.NEW]
        v.size[BYTES] += sizes[postings.TEXT]
        p.size[postings.USED] += sizes[postings.CELLS]
        p.size[postings.HOLES] += sizes[postings.LEFT]
        p.size[postings.LIVE] += sizes[postings.BORN]
        try:
            workspace.fill_slots(v, known, skip)
        except BaseException as error:
            interrupt = error
        if interrupt is not None:
            ids = planned.ids.copy()
            new = np.flatnonzero(ids == MISSING)
            ids[new] = np.arange(known, known + len(new))
            self._take_back(op, class_map, ids)
            raise interrupt

    def _make_room(self, planned: Plan, new: int, text_bytes: int, cells: int) -> None:
        """Make room for so many more features, bytes and cells."""
        v = self.vocabulary
        features, text_bytes = self.n_ids + new, int(v.size[BYTES]) + text_bytes
        if text_bytes > workspace.MAX_TEXT:
            raise workspace.too_much_text()
        if features > len(v.hashes) or text_bytes + _PADDING > len(v.text):
            # At once: the slots that were there until now are for others to use.
            v = self._vocabulary = workspace.grown_vocabulary(v, features, text_bytes, in_regions=True)
        is_safe = int(v.size[FULLEST]) + new <= int(v.size[REGION]) // SLOT
        if not is_safe and not workspace.has_even(v, planned.hashes[planned.ids == MISSING]):
            self._vocabulary = workspace.with_slots(v, workspace.bits_of(v), 1)
        del v
        room = len(self.vocabulary.hashes)
        if room > len(self.postings.starts):
            larger = {name: workspace.resized(getattr(self.postings, name), room) for name in _BY_FEATURE}
            self._postings = self._postings._replace(**larger)
        p = self.postings
        if p.size[postings.USED] + cells > len(p.classes) and p.size[postings.HOLES] * 4 > p.size[postings.USED]:
            run(postings.close_holes, p, np.argsort(p.starts[: self.n_ids], kind="stable"))
        cells += int(p.size[postings.USED])
        if cells <= len(p.classes):
            return
        room = max(cells, len(p.classes) + len(p.classes) // 2, 64)
        del p
        # One after the other, so that only one is there twice; `classes`, by whose size this goes, is the last.
        for name in _BY_CELL:
            self._postings = self._postings._replace(**{name: workspace.resized(getattr(self.postings, name), room)})

    def _compact(self) -> None:
        """Drop the features that are gone."""
        kept = Counts.of(self.fingerprint, self.labels, self.take(self.live_ids()))
        self._vocabulary, self._postings = kept.vocabulary, kept.postings

    def _add_sums(self, cells: Cells) -> None:
        """Add the sums of cells."""
        terms, docs = cells.sums(len(self.labels))
        self.term_sum += terms
        self.doc_freq_sum += docs
        self.n_terms += int(cells.term_total.sum())
        self.n_doc_freq += int(cells.doc_total.sum())

    def set_feature_totals(self, n_terms: int, n_doc_freq: int) -> None:
        """Set the sums over the features of all documents, if the features are kept elsewhere."""
        self.n_terms, self.n_doc_freq = n_terms, n_doc_freq

    def follow(self, previous: Counts) -> None:
        """Take the place of other counts: their version goes on, so that readers see a change."""
        self.version = previous.version + 1

    def add_totals(self, other: Counts, class_map: Integers, sign: int = 1) -> None:
        """Add all but the features; class c there is class_map[c] here."""
        self.doc_count[class_map] += sign * other.doc_count
        self.term_sum[class_map] += sign * other.term_sum
        self.doc_freq_sum[class_map] += sign * other.doc_freq_sum
        self.n_docs += sign * other.n_docs
        self.n_terms += sign * other.n_terms
        self.n_doc_freq += sign * other.n_doc_freq
        self.version += 1


def find(some: Sequence[Cells], wanted: Vocabulary) -> list[Cells]:
    """The features of cells that a vocabulary has, too."""

    def look(part: Cells) -> Cells:
        return Cells.joined([cells.at(np.flatnonzero(ids != MISSING)) for cells, ids in _look_up(part, wanted)])

    return list(slices.in_turn(look, some if wanted.size[FEATURES] else ()))


def _look_up(part: Cells, wanted: Vocabulary) -> Iterator[tuple[Cells, npt.NDArray[np.uint32]]]:
    """All features of some cells, so many at a time, and their ids in a vocabulary."""
    for cells in part.blocks(_BLOCK):
        yield cells, workspace.ids_in(wanted, cells.vocabulary())


def _hashes(part: Cells) -> npt.NDArray[np.uint64]:
    hashes = [np.empty(0, np.uint64)]
    for cells in part.blocks(_BLOCK):
        v = cells.vocabulary()
        run(put_hashes, v, 0, len(v.hashes), workspace.scratch_for(0).items)
        hashes.append(v.hashes)
    return np.concatenate(hashes)


def _digest(hashes: npt.NDArray[np.uint64]) -> str:
    return hashlib.sha256(hashes.data).hexdigest()[:32]


def _unfolded(cells: Cells) -> tuple[Vocabulary, Postings]:
    """Cells as kernels read them."""
    v = workspace.restored(cells.padded_text(), cells.sizes.astype(np.int64, copy=False))
    return v, cells.postings(len(v.hashes))


def total(some: Sequence[Cells], skip: int) -> tuple[Counts, npt.NDArray[np.uint64]]:
    """Add up cells with the same classes, as counts without labels and documents; also the hashes of their features.

    The hashes of all features may share their first `skip` bits.  A table is indexed by the first bits of the hash, so
    this one uses the bits after them; else all features would go to one place.
    """
    vocabulary = workspace.new_vocabulary(
        sum(len(cells.sizes) for cells in some), sum(len(cells.text) for cells in some)
    )
    n_cells = sum(len(cells.classes) for cells in some)
    out = Counts("", vocabulary, new_postings(len(vocabulary.hashes), n_cells))
    n_classes = max((int(cells.classes.max(initial=0)) + 1 for cells in some), default=0)
    for cells in some:
        out._absorb(cells.vocabulary(), cells.postings(), np.arange(n_classes, dtype=np.int64), skip)
    hashes = out.vocabulary.hashes[: out.n_ids]
    return out, (hashes >> np.uint64(skip)) | (hashes << np.uint64(64 - skip))
