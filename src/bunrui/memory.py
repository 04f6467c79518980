"""`Memory`: the counts and documents of a classifier, and the lock on them; models read it, classifiers may share it.

Most models need only counts.  For trained models, a memory also has the documents: in memory (`KeptDocuments`), in a
file (`bunrui.store`), or not at all (`NoDocuments`).  A digest finds a document again without its text.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.counts import Counts, Label
from bunrui.engines.count import release
from bunrui.engines.labelgroups import LabelSets
from bunrui.engines.threads import ReadWriteLock
from bunrui.errors import DataError, MismatchError, NotLearnedError, OptionError, Step, StoreError, UnlearnError
from bunrui.kernel.digest import digests

if TYPE_CHECKING:
    from bunrui.sample import Drawn, LowestDigests

Places = dict[int, list[int]]
T = TypeVar("T")


class Parameters(NamedTuple):
    """The numbers of a trained model, as a file keeps them; `models/model.py` checks them.

    Attributes
    ----------
    facts : dict
        What JSON can say.
    arrays : mapping from name to array
        Of float64, int64 and int32.
    """

    facts: dict[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]


class Batch(NamedTuple):
    """Documents of one call of `learn`, with their labels."""

    texts: Any
    sets: LabelSets
    digests: Digests
    number: int = 0  # the same for parts of one batch

    def without(self, places: list[int]) -> Batch:
        """All documents but some."""
        if not places:
            return self
        stays = np.ones(len(self.texts), bool)
        stays[places] = False
        rows = np.flatnonzero(stays)
        texts = [self.texts[k] for k in rows] if isinstance(self.texts, list) else self.texts.take(rows)
        return self._replace(texts=texts, sets=self.sets.subset(rows), digests=self.digests[rows])

    def keys(self) -> list[tuple[bytes, frozenset[Label]]]:
        """The digest and the labels of every document."""
        sets = list(map(frozenset, self.sets.names))
        groups: list[int] = self.sets.groups.tolist()
        return [(digest.tobytes(), sets[g]) for digest, g in zip(self.digests, groups, strict=True)]


class Documents(Protocol):
    """The learned documents, for models that are trained from them."""

    def check(self, model: str) -> None:
        """Refuse a model that needs documents if there are none."""

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """A block during which the documents of `batches` do not change; in memory, the lock is enough."""
        yield

    def batches(self, mark: Any) -> tuple[bool, Iterator[Batch], Any]:
        """The batches after a mark (None: the start), as: are they only new ones?, the batches, the next mark."""

    def restored(self, options: Mapping[str, Any], make: Callable[[Parameters, Any, bool], T]) -> T | None:
        """What `make` makes of the weights that a file keeps of a model with some options; None where there are none.

        It is given the weights, the mark up to which they have learned, and whether that is all that there is.
        """
        return None

    @property
    def has_sample(self) -> bool:
        """Whether `draw` has one: a file that keeps all its documents and counts."""
        return False

    def draw(self, n_classes: int) -> Drawn:
        """The sample of all documents that a file takes from its log."""
        raise NotLearnedError("there is no sample of the documents")


class NoDocuments(Documents):
    """Documents are not kept: counts are all there is."""

    def check(self, model: str) -> None:
        """Refuse every model that needs documents."""
        problem = f"{model} is trained from documents, and this classifier keeps counts only"
        raise NotLearnedError(problem, hint=f"make one with TextClassifier({model!r}), and learn the texts again")

    def batches(self, mark: Any) -> tuple[bool, Iterator[Batch], Any]:
        """None."""
        return False, iter(()), None


class KeptDocuments(Documents):
    """Batches of documents in memory, in the order in which they came.

    Attributes
    ----------
    epoch : int
        How often documents were taken back.  A model that was trained before the last time must start again.
    """

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self.epoch = 0

    def check(self, model: str) -> None:
        """All models are welcome."""

    def batches(self, mark: Any) -> tuple[bool, Iterator[Batch], Any]:
        """As `Documents` has it."""
        goes_on = mark is not None and mark[0] == self.epoch
        first = mark[1] if goes_on else 0
        return goes_on, iter(self._batches[first:]), (self.epoch, len(self._batches))

    def add(self, texts: Any, sets: LabelSets) -> None:
        """Keep documents; their texts as `lasting` gives them."""
        if len(texts):
            self._batches.append(Batch(texts, sets, document_digests(texts), self._next))

    def extend(self, batches: list[Batch]) -> None:
        """Keep the documents of another."""
        first = self._next
        self._batches += [batch._replace(number=first + k) for k, batch in enumerate(batches)]

    @property
    def _next(self) -> int:
        return self._batches[-1].number + 1 if self._batches else 0

    def find(self, texts: Any, sets: LabelSets) -> Places:
        """The places of documents by batch; of equal documents, the latest.

        Raises
        ------
        UnlearnError
            If one of them was never learned with these labels.
        """
        kept = (
            (number, place, key)
            for number, batch in reversed(list(enumerate(self._batches)))
            for place, key in reversed(list(enumerate(batch.keys())))
        )
        found, missing = match(Batch(texts, sets, document_digests(texts)).keys(), kept)
        if missing:
            problem = f"text {missing[0]} was never learned with this label: nothing was taken back"
            raise UnlearnError(problem, missing[0])
        return found

    def remove(self, places: Places) -> None:
        """Take documents back."""
        left = [batch.without(places.get(number, [])) for number, batch in enumerate(self._batches)]
        self._batches = [batch for batch in left if len(batch.texts)]
        self.epoch += 1


def match(keys: Iterable[Any], kept: Iterable[tuple[int, int, Any]]) -> tuple[Places, list[int]]:
    """The places of documents with some keys, each another one; and the rows of the keys that are not there.

    >>> match("aab", [(2, 0, "a"), (1, 5, "a"), (1, 4, "a")])
    ({2: [0], 1: [5]}, [2])
    """
    wanted: dict[Any, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        wanted[key].append(row)
    found: Places = {}
    for number, place, key in kept:
        if wanted.get(key):
            wanted[key].pop()
            found.setdefault(number, []).append(place)
    return found, sorted(row for rows in wanted.values() for row in rows)


PoolTexts = Mapping[bytes, Any]
"""Texts without a label, by digest."""


class Pool(Protocol):
    """The texts without a label: `models/pool.py` reads them, each once, however often it was given."""

    @property
    def key(self) -> Any:
        """Another whenever the pool is another."""

    def __len__(self) -> int:
        """How many there are."""

    def texts(self) -> PoolTexts:
        """All of them; of a file, call `at_rest`."""


class KeptPool:
    """A pool in memory; its key is how often it has changed."""

    def __init__(self) -> None:
        self._texts: dict[bytes, Any] = {}
        self.key = 0

    def __len__(self) -> int:
        return len(self._texts)

    def texts(self) -> PoolTexts:
        """All of them."""
        return self._texts

    def add(self, texts: PoolTexts) -> None:
        """Take texts in."""
        self._texts |= texts
        self.key += 1

    def remove(self, digests: Sequence[bytes]) -> None:
        """Let texts go, all or none: all of them must be there."""
        for row, digest in enumerate(digests):
            if digest not in self._texts:
                raise UnlearnError(f"text {row} is not among those without a label: nothing was taken back", row)
        for digest in digests:
            del self._texts[digest]
        self.key += 1


class Memory:
    """Counts, documents where they are kept, and the lock on both.

    Attributes
    ----------
    counts : Counts
        Changed, or replaced, by whoever holds `lock` for writing.
    documents : Documents
    lock : ReadWriteLock
    sample : LowestDigests or None
        A sample of all documents, where one is kept.
    why_no_sample : str
        Why there is none.
    pool : Pool
        The texts without a label.
    trouble : str or None
        Why the counts differ from those of their file, and must not be read.
    """

    def __init__(self, counts: Counts, documents: Documents | None = None) -> None:
        self.counts = counts
        self.documents = NoDocuments() if documents is None else documents
        self.lock = ReadWriteLock()
        self.sample: LowestDigests | None = None
        self._make_sample: Callable[[], LowestDigests] | None = None
        self.why_no_sample = "its documents are not kept"
        self.pool: Pool = KeptPool()
        self.trouble: str | None = None

    @property
    def kept(self) -> KeptDocuments | None:
        """The documents, if they are in memory."""
        return self.documents if isinstance(self.documents, KeptDocuments) else None

    def keep_documents(self) -> None:
        """Keep documents from now on, if nothing has been learned yet."""
        if not self.counts.n_docs and isinstance(self.documents, NoDocuments):
            self.documents = KeptDocuments()

    def keep_sample(self, make: Callable[[], LowestDigests]) -> None:
        """Keep a sample from now on, if nothing has been learned yet, or all documents are here.

        A sample of later documents would say nothing of all.  A file takes one from its log.
        """
        if self.sample is not None or self.is_of_file:
            return
        with self.lock.write():
            if self.sample is None and (not self.counts.n_docs or self.kept is not None):
                sample = make()
                if self.kept is not None:
                    sample.add_batches(self.kept.batches(None)[1], len(self.counts.live.labels))
                self.sample, self._make_sample = sample, make

    @property
    def is_of_file(self) -> bool:
        """Whether a file has the documents."""
        return not isinstance(self.documents, (NoDocuments, KeptDocuments))

    def draw(self, n_classes: int) -> Drawn:
        """A sample of the documents for so many classes."""
        return (self.documents if self.sample is None else self.sample).draw(n_classes)

    def readable_counts(self) -> Counts:
        """The counts, or an error if they cannot be read; call with the lock held."""
        if self.trouble is not None:
            raise StoreError(self.trouble, hint=(Step("reopen"),))
        if not self.counts.n_docs:
            raise NotLearnedError("nothing has been learned yet", hint=(Step("learn"),))
        return self.counts

    @property
    def keeps_texts(self) -> bool:
        """Whether it keeps documents, all of them or a sample."""
        return self.kept is not None or self.sample is not None

    def take_in(self, delta: Counts) -> None:
        """Add counts that nobody else uses; call with the lock held for writing."""
        if self.counts.n_docs:
            self.counts.add(delta)
            release(delta)
        else:
            delta.follow(self.counts)
            self.counts = delta

    def learn(self, delta: Counts, texts: Any, sets: LabelSets, is_lasting: bool) -> None:
        """Add the counts of some documents, whose texts may be `lasting` already."""
        with self.lock.write():
            texts = self._to_keep(texts, is_lasting)
            self.take_in(delta)
            if self.kept is not None:
                self.kept.add(texts, sets)
            if self.sample is not None:
                self.sample.add(texts, sets, len(self.counts.live.labels))

    def unlearn(self, delta: Counts, texts: Any, sets: LabelSets, is_lasting: bool) -> None:
        """Take the counts of some documents back."""
        with self.lock.write():
            texts, kept = self._to_keep(texts, is_lasting), self.kept
            places = kept.find(texts, sets) if kept is not None else {}
            sampled = self.sample.find(texts, sets) if self.sample is not None else None
            self.counts.subtract(delta)
            if kept is not None:
                kept.remove(places)
            if self.sample is not None and sampled is not None:
                self.sample.remove(sampled)
            elif self.sample is not None:
                # Counts take back any text whose words are there; nobody knows which documents of the sample are left.
                self.sample, self.why_no_sample = None, "a text was unlearned that was never learned"
            if self._make_sample is not None and not self.counts.n_docs:
                self.sample = self._make_sample()  # now it has left out nothing
        release(delta)

    def _to_keep(self, texts: Any, is_lasting: bool) -> Any:
        """Texts in the form in which they are kept: another thread may keep them only since they were counted."""
        return lasting(texts) if self.keeps_texts and not is_lasting else texts

    def merge(self, other: Memory, model: str) -> None:
        """Add another memory; `model` is for messages."""
        if other.counts is self.counts:
            raise OptionError("a classifier cannot be merged with itself")
        pool: PoolTexts = {}
        draws = self.sample is not None and other.documents.has_sample
        with other.documents.at_rest() if draws or len(other.pool) else nullcontext(), other.lock.read():
            if len(other.pool):
                pool = dict(other.pool.texts())
            theirs, kept = other.counts.copy(), other.kept
            batches = None if kept is None else list(kept.batches(None)[1])
            sample = None if other.sample is None else other.sample.copy()
            if draws and self._make_sample is not None:
                sample = self._make_sample()
                sample.add_batches(other.documents.batches(None)[1], len(theirs.live.labels))
        with self.lock.write():
            mine = self.kept
            if mine is not None and batches is None:
                problem = f"{model} is trained from documents, and the other classifier has none in memory"
                raise MismatchError(problem, hint=f"make it with TextClassifier({model!r}), and learn its texts again")
            self.counts.add(theirs)
            if isinstance(self.pool, KeptPool) and pool:
                self.pool.add(pool)
            if mine is not None and batches is not None:
                mine.extend(batches)
            # A sample of a part of the documents would say nothing of all.
            n_labels = len(self.counts.live.labels)
            if self.sample is not None and sample is not None:
                self.sample.merge(sample, n_labels)
            elif self.sample is not None and batches is not None:
                self.sample.add_batches(batches, n_labels)
            elif self.sample is not None and theirs.n_docs:
                self.sample, self.why_no_sample = None, "documents that were merged are not kept"


# --- digests

DIGEST = np.dtype("V16")

Digests = npt.NDArray[np.void]
Integers = npt.NDArray[np.int64]


def document_digests(texts: Any) -> Digests:
    """The digest of every document."""
    given = inputs.is_given(texts)
    return digests_of(*as_bytes(texts, given), given)


def by_digest(texts: Any) -> dict[bytes, Any]:
    """Documents by their digests, each once."""
    return dict(zip((digest.tobytes() for digest in document_digests(texts)), texts, strict=True))


def as_bytes(texts: Any, given: bool) -> tuple[memoryview, Integers]:
    """Documents as bytes, one after the other, and where each begins."""
    if given:
        docs = inputs.of_bytes([_canonical(document) for document in texts])
    else:
        docs = inputs.buffers(inputs.strings(texts))
    return memoryview(docs.data), docs.offsets


def _canonical(document: Any) -> bytes:
    """Tokens or counts as JSON, the same for the same document."""
    if isinstance(document, Mapping):
        document = {word: int(count) for word, count in sorted(document.items()) if count}
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise DataError(f"a document cannot be kept as JSON: {error}") from error


def lasting(texts: Any) -> Any:
    """Texts, checked, in a form that does not change while they are kept: a list, or an Arrow array of strings."""
    if inputs.is_given(texts):
        inputs.given(texts)  # for its checks
        return [dict(document) if isinstance(document, Mapping) else list(document) for document in texts]
    array = inputs.strings(texts)
    return list(array) if isinstance(array, list) else array


def digests_of(data: memoryview, offsets: Integers, given: bool) -> Digests:
    """16 bytes of SHA-256 for every document."""
    # No text begins with this byte.
    return digests(data, offsets, b"\xff" if given else b"").reshape(-1).view(DIGEST)


def key_words(digests: Digests) -> npt.NDArray[np.uint64]:
    """The first eight bytes of every digest."""
    return digests.view(np.uint64)[::2]
