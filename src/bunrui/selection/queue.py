"""A queue of documents that need labels: those whose answers help most, and some at random.

    at random   every fifth question is the next document in the order of digests, which has nothing to do with its
                text.  The documents up to there that have an answer are a random sample of the pool: they tell the
                accuracy of the present classifier, each predicted by the model of all the others
    the rest    of CANDIDATES documents that are drawn at random, the one whose two best labels are nearest to each
                other, and whose likely label has few documents yet.  A classifier of all answers but those at random
                chooses it: else the documents at random would be harder, when they are left out, than the pool is.
                Few candidates spread the questions over the whole pool, and a question costs as little with a million
                documents as with a hundred

An answer is learned at once.  The classifier keeps everything: a queue over the same documents goes on where the last
one stopped.  Before each question and each answer, it takes in the answers that others have given meanwhile.
docs/decisions/035 has the orders that were tried.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import NormalDist
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.calibration import lengths_of
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.counts import Label
from bunrui.engines.stream import rank
from bunrui.errors import DuplicateError, OptionError, StoreError
from bunrui.evaluation.loo import predict_without
from bunrui.memory import Memory, document_digests
from bunrui.phrases import excerpt
from bunrui.sparse import Booleans

SHARE = 5
"""One of five questions is asked at random: an honest estimate needs tens of them."""

CANDIDATES = 5
"""Documents that are drawn for each of the other questions."""

HELPERS = 5_000
"""Documents of the pool that help as texts without a label: an answer after a change reads all of them again, 5,000
mails in 2 s, 5,000 reviews in .2 s."""

# Each process draws other documents: two people who teach one file seldom get the same.
_SEED = random.SystemRandom().getrandbits(64)

# A score grows with the length of its text, and so does the distance of two scores.
_SLOPE = 0.5

# Among documents at random, one without an answer outweighs four that have one: one of five may be skipped.
_GAP = 4

_Z = NormalDist().inv_cdf(0.975)

# The curve has a point for each of these parts of the answers, down to FEWEST answers.
_STEP, _MOST_POINTS, _FEWEST = 1.4, 12, 10

# A forecast needs 20 documents at random and 3 points.  It goes at most four times as far as there are answers, its
# upper end twice as far: no curve of so few points tells where it becomes flat.  Where the upper end is farther, it
# is open: to forecast only where it is near chose the lucky curves, and half of these forecasts failed.
_SAMPLE, _POINTS, _FAR, _RESAMPLES = 20, 3, 4, 200


@dataclass(frozen=True)
class Question:
    """A document that needs a label.

    Attributes
    ----------
    row : int
        Its place in the pool.
    digest : str
        Of its text, as the log of a file has it.
    text : str
    is_random : bool
        Whether it is asked for the sake of the estimate.
    guess : label or None
        The answer of the classifier; None before it knows two labels.
    probability : float
        Of the guess.
    """

    row: int
    digest: str
    text: str
    is_random: bool
    guess: Label | None = None
    probability: float = 0.0


class Estimate(NamedTuple):
    """The accuracy of the present classifier on the pool, with an interval of 95 %.

    That is Wilson's (1927) with a correction for continuity (Newcombe 1998, method 4): without it, 92 of 100 intervals
    held for samples of 10 to 40 documents.

    >>> known = Estimate(right=18, n=20)
    >>> round(known.accuracy, 2), [round(end, 2) for end in known.interval]
    (0.9, [0.67, 0.98])
    """

    right: int
    n: int

    @property
    def accuracy(self) -> float:
        """The share that is right; NaN of nothing."""
        return self.right / self.n if self.n else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Its ends; 0 and 1 where nothing is known."""
        return 1 - self._high(self.n - self.right), self._high(self.right)

    def _high(self, k: int) -> float:
        """The upper end where k are right."""
        n = self.n
        if k == n:
            return 1.0
        root = math.sqrt(_Z * _Z - 1 / n + 4 * k * (1 - k / n) - 4 * k / n + 2)
        return min(1.0, (2 * k + _Z * _Z + _Z * root + 1) / (2 * (n + _Z * _Z)))


class Forecast(NamedTuple):
    """How many more answers it takes, likely; and between which numbers 90 % of the resampled curves say.

    `high` is None where nobody can tell the most that it takes.
    """

    likely: int
    low: int
    high: int | None


class Curve(NamedTuple):
    """How the accuracy grew with the answers.

    Attributes
    ----------
    answers : list of int
        Growing; the last is the present number.
    is_right : (n_points, n_sample) bool
        Whether the classifier predicts each document of the sample after that number of answers.
    """

    answers: list[int]
    is_right: Booleans

    @property
    def points(self) -> list[tuple[int, Estimate]]:
        """Numbers of answers, each with the accuracy after it, all by the same sample."""
        return [(k, Estimate(int(row.sum()), len(row))) for k, row in zip(self.answers, self.is_right, strict=True)]

    def forecast(self, wish: float) -> Forecast | None:
        """How many more answers the classifier needs to reach an accuracy; None where nobody can tell yet.

        The share of errors falls as a power of the number of answers: a line through the logarithms, fitted again and
        again to resamples of the documents at random.

        >>> falling = Curve([20, 40, 80], np.arange(200) < np.array([[120], [140], [156]]))
        >>> falling.forecast(0.6)
        Forecast(likely=0, low=0, high=0)
        >>> forecast = falling.forecast(0.85)
        >>> 30 < forecast.low < forecast.likely < forecast.high
        True
        >>> Curve([20, 40, 80], np.arange(40) < np.array([[24], [28], [31]])).forecast(0.85).high is None
        True
        >>> falling.forecast(0.99)
        """
        n = self.is_right.shape[1]
        late = [k for k, answers in enumerate(self.answers) if answers * 8 >= self.answers[-1]]
        if n < _SAMPLE or len(late) < _POINTS or not 0 < wish < 1:
            return None
        draws = np.random.default_rng(n).multinomial(n, np.full(n, 1 / n), _RESAMPLES)
        errors = (draws @ ~self.is_right[late].T + 0.5) / (n + 1)  # (resamples, points)
        x, y = np.log(np.array(self.answers, float)[late]), np.log(errors)
        slopes = (y - y.mean(axis=1, keepdims=True)) @ (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        now = y.mean(axis=1) + slopes * (x[-1] - x.mean())
        more = np.where(now <= np.log(1 - wish), 0.0, np.inf)
        far = (more > 0) & (slopes < 0)
        with np.errstate(over="ignore"):
            more[far] = self.answers[-1] * np.expm1((np.log(1 - wish) - now[far]) / slopes[far])
        low, likely, high = np.quantile(more, (0.05, 0.5, 0.95), method="nearest")
        most = _FAR * self.answers[-1]
        if likely > most:
            return None
        return Forecast(int(np.ceil(likely)), int(np.ceil(low)), int(np.ceil(high)) if high <= 2 * most else None)


class Queue:
    """See `queue`.

    Attributes
    ----------
    classifier : AnyClassifier
        It learns every answer.
    answers : dict from int to label or list of labels
        By rows of the pool, in the order in which they were learned.
    n_docs : int
        Documents of the pool, copies counted once.
    n_copies : int
        Documents of the pool whose text another one has.
    n_blank : int
        Documents of the pool with nothing to read: nobody is asked about them.
    n_guessed, n_agreed : int
        Answers to questions that came with a guess, and those that were the same as it.
    """

    def __init__(self, classifier: AnyClassifier, texts: Any, answers: Mapping[str, Any]) -> None:
        from bunrui.store import StoredClassifier

        self.classifier = classifier
        self._stored: Any = classifier if isinstance(classifier, StoredClassifier) else None  # None: it is in memory
        if self._stored is not None and self._stored.keep == "nothing":
            keeps = f"{self._stored.path} keeps nothing of its documents, and cannot tell which have an answer"
            raise StoreError(f"{keeps}: teach another file", cause="keeps-none")
        self._texts = inputs.strings(texts)
        self._digests = document_digests(self._texts)
        _, firsts = np.unique(self._digests, return_index=True)
        is_blank = inputs.are_blank(self._texts)
        self._order: list[int] = firsts[~is_blank[firsts]].tolist()  # copies are asked once, and blank ones never
        self._row_of: dict[bytes, int] = {self._digests[row].tobytes(): row for row in self._order}
        self._lock = RLock()
        self._left = self._order.copy()  # to draw from; some may have got an answer
        self._draw = random.Random(_SEED)
        self._place = self._reach = 0  # in the order of digests: where to ask at random, and how far that ever came
        self._n_asked = 0
        self._at_random: set[int] = set()  # rows that were asked so
        self._asker: TextClassifier | None = None
        self._given: set[int] = set()
        self._skipped: set[int] = set()
        self._seen: tuple[int, int] | None = None  # the state of the file
        self._is_changing = False
        self.n_docs, self.n_blank = len(self._order), int(is_blank.sum())
        self.n_copies = len(self._digests) - self.n_blank - self.n_docs
        self.answers: dict[int, Any] = {}
        self._agreed: dict[int, bool] = {}  # by row: whether the guess was among the labels
        self._take_in({bytes.fromhex(digest): label for digest, label in answers.items()})
        self.catch_up()
        self._reach = _dense_prefix([row in self.answers for row in self._order])
        self._at_random.update(self._order[: self._reach])

    def __len__(self) -> int:
        """Documents that have no answer and were not skipped."""
        return len(self._order) - len(self.answers) - len(self._skipped)

    @property
    def n_skipped(self) -> int:
        """Documents that were skipped."""
        return len(self._skipped)

    # Asking

    def __iter__(self) -> Iterator[Question]:
        return self

    def __next__(self) -> Question:
        """The next question: no document comes twice, unless its answer was undone."""
        self.catch_up()
        question = self.ask()
        if question is None:
            raise StopIteration
        return question

    def ask(self) -> Question | None:
        """The next question, by the classifier in memory: it does not wait for the file.  None if nothing is left."""
        with self._lock:
            asker = self._find_asker()
            is_random = self._n_asked % SHARE == 0
            knows_two = len(asker.counts.live_labels) > 1
            rows = [] if is_random else self._candidates(CANDIDATES if knows_two else 1)
            is_random = is_random or len(rows) == 0
            if is_random:
                rows = self._next_random()
            if not rows:
                return None
            self._n_asked += 1
            # Others may ask while this one predicts: the candidates are theirs again when one of them is chosen.
            self._given.update(rows)
        question = None
        try:
            row = rows[0] if len(rows) == 1 else self._least_certain(asker, rows)
            question = self._question(row, is_random=is_random)
        finally:
            with self._lock:
                self._given.difference_update(row for row in rows if question is None or row != question.row)
        return question

    def ask_again(self, *, skipped: bool = False) -> None:
        """Ask again for documents that somebody was given, or with `skipped` only those that somebody has skipped."""
        with self._lock:
            if not skipped:
                self._given.clear()
            self._skipped.clear()
            self._left = [row for row in self._order if row not in self.answers]
            self._place = 0

    def question(self, digest: str) -> Question:
        """The document of the pool with a digest, as a question."""
        return self._question(self._row(digest), is_random=False)

    def is_open(self, question: Question) -> bool:
        """Whether a question is one of this pool, and was neither answered nor skipped."""
        row = self._row_of.get(bytes.fromhex(question.digest))
        return row is not None and row not in self.answers and row not in self._skipped

    def answer_to(self, question: Question) -> Any:
        """The label of a document, a list where it has several; None where it has none."""
        return self.answers.get(self._row(question.digest))

    def _row(self, digest: str) -> int:
        try:
            return self._row_of[bytes.fromhex(digest)]
        except (ValueError, KeyError):
            raise OptionError(f"no document of the pool has the digest {excerpt(digest, 40)!r}") from None

    def _is_free(self, row: int) -> bool:
        return row not in self.answers and row not in self._given and row not in self._skipped

    def _candidates(self, n: int) -> list[int]:
        """A few documents at random."""
        rows: list[int] = []
        while len(rows) < n and self._left:
            place = self._draw.randrange(len(self._left))
            self._left[place], self._left[-1] = self._left[-1], self._left[place]
            row = self._left.pop()
            if self._is_free(row) and row not in rows:
                rows.append(row)
        self._left += rows[::-1]  # those with an answer are let go
        return rows

    def _next_random(self) -> list[int]:
        while self._place < len(self._order):
            row = self._order[self._place]
            self._place += 1
            self._reach = max(self._reach, self._place)
            if self._is_free(row):
                self._at_random.add(row)
                return [row]
        return []

    def _find_asker(self) -> AnyClassifier:
        """A classifier that knows all answers but those to questions at random; call with the lock held.

        Where the classifier knows a document, it is certain about those around it, and asks for none of them.  So a
        document at random that is left out would miss its neighbours, and look harder than those of the pool do.
        """
        classifier = self.classifier
        if classifier.needs_documents:
            return classifier
        asker = self._asker
        if asker is None or asker.choice is not classifier.choice:
            with classifier.memory.lock.read():
                if not self.is_current:  # some of the answers are not in the counts, or the other way round
                    return asker or classifier
                counts = classifier.counts.copy()
            asker = TextClassifier(**classifier.get_params())
            asker.attach(Memory(counts), classifier.calibration, classifier.choice)
            rows = [row for row in self._at_random if row in self.answers]
            if rows:
                asker.unlearn([self._text(row) for row in rows], [self.answers[row] for row in rows])
            self._asker = asker
        return asker

    def _least_certain(self, asker: AnyClassifier, rows: list[int]) -> int:
        """The document of some whose answer helps most."""
        texts = [self._text(row) for row in rows]
        found = rank(asker, texts)
        two = np.partition(found.probabilities if asker.is_calibrated else found.scores, -2, axis=1)[:, -2:]
        margins = (two[:, 1] - two[:, 0]) / (1.0 if asker.is_calibrated else (1 + lengths_of(texts)) ** _SLOPE)
        counts = asker.counts
        n_docs = counts.doc_count[[counts.label_ids[found.classes[k]] for k in found.best.tolist()]]
        return rows[int((_ranks(margins) + _ranks(n_docs) / 2).argmin())]

    def _question(self, row: int, *, is_random: bool) -> Question:
        text, guess, probability = self._text(row), None, 0.0
        if len(self.classifier.counts.live_labels) > 1:
            found = rank(self.classifier, [text])
            guess, probability = found.classes[int(found.best[0])], float(found.confidence[0])
        return Question(row, self._digests[row].tobytes().hex(), text, is_random, guess, probability)

    def _text(self, row: int) -> str:
        return inputs.pick(self._texts, [row])[0]

    # Answering

    def answer(self, question: Question, label: Any) -> bool:
        """Learn the label of a document, a list where it has several; whether nobody else was faster."""
        label = list(label) if isinstance(label, (list, tuple, set, frozenset)) else label
        labels = label if isinstance(label, list) else [label]
        if not labels:
            raise OptionError("an answer has at least one label: skip the document")
        row = self._row(question.digest)
        with self._changing():
            if row in self.answers:
                return False
            try:
                if self._stored is None:
                    self.classifier.learn([question.text], [label])
                else:  # another process may learn it at this moment
                    self._stored.learn([question.text], [label], unique=True)
            except DuplicateError:
                self.catch_up()
                return False
            self._take_in({self._digests[row].tobytes(): label})
            if row not in self._at_random and self._asker is not None:
                self._asker.learn([question.text], [label])
            if question.guess is not None:
                self._agreed[row] = question.guess in labels
        return True

    def use_unlabelled(self) -> None:
        """Have the classifier use the pool as texts without a label, too; of a large one, `HELPERS` texts at random.

        The classifier weighs them, and leaves them out where they do not help: `classifier.unlabelled_` tells.
        """
        with self._changing():
            self.classifier.learn_unlabelled([self._text(row) for row in self._order[:HELPERS]])

    @property
    def n_guessed(self) -> int:
        """Answers to questions that came with a guess."""
        return len(self._agreed)

    @property
    def n_agreed(self) -> int:
        """Those whose guess was right."""
        return sum(list(self._agreed.values()))

    def skip(self, question: Question) -> None:
        """Leave a document out."""
        row = self._row(question.digest)
        with self._lock:
            if row not in self.answers:
                self._skipped.add(row)
            self._given.discard(row)

    def undo(self, question: Question) -> bool:
        """Take the answer to a question back; whether there was one."""
        row = self._row(question.digest)
        with self._changing():
            if row not in self.answers:
                return False
            self.classifier.unlearn([question.text], [self.answers[row]])
            label = self.answers.pop(row)
            if row not in self._at_random and self._asker is not None:
                self._asker.unlearn([question.text], [label])
            self._left.append(row)
            self._given.add(row)
            self._agreed.pop(row, None)
        return True

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """A block in which the classifier and the answers change together, after those of others."""
        with self._lock:
            self._is_changing = True
            try:
                self.catch_up()
                yield
                # There is nothing to take in after a change of one's own, unless others came before it.
                if self._seen is not None and self._stored.state == (self._seen[0], self._seen[1] + 1):
                    self._seen = self._stored.state
            finally:
                self._is_changing = False

    def _take_in(self, answers: Mapping[bytes, Any]) -> None:
        for digest, label in answers.items():
            if digest in self._row_of:
                row = self._row_of[digest]
                self.answers[row] = label
                self._given.discard(row)
                self._skipped.discard(row)

    @property
    def is_current(self) -> bool:
        """Whether the answers are those that the classifier in memory has learned, or just learns."""
        return self._stored is None or self._is_changing or self._stored.state == self._seen

    def catch_up(self) -> None:
        """Take in the answers that were learned and unlearned elsewhere; a classifier in memory has none."""
        stored = self._stored
        if stored is None:
            return
        with self._lock:
            stored.refresh()
            while (state := stored.state) is None or state != self._seen:
                known = stored.labels_of(self._digests[self._order])
                stored.refresh()
                if stored.state != state:
                    continue  # the file may have been ahead of the memory
                self._seen, self._asker = state, None
                for digest, row in self._row_of.items():
                    if row in self.answers and digest not in known:
                        del self.answers[row]
                        self._agreed.pop(row, None)
                        self._left.append(row)
                self._take_in({key: labels[0] if len(labels) == 1 else labels for key, labels in known.items()})

    # How good it is

    @property
    def can_estimate(self) -> bool:
        """Whether documents can be left out: not by a model that is trained from them, nor with a single label."""
        return not self.classifier.needs_documents and len(self.classifier.counts.live_labels) > 1

    def estimate(self) -> Estimate:
        """The accuracy of the present classifier on the pool, by the documents that were asked at random."""
        twin, sample, answers = self._copy()
        if twin is None:
            return Estimate(0, 0)
        return Estimate(int(self._is_right(twin, sample, answers).sum()), len(sample))

    def curve(self) -> Curve:
        """How the accuracy grew with the answers, all points by the documents that were asked at random until now.

        The answers are taken back from a copy, the last one first: so a queue that goes on has the whole curve.
        """
        twin, sample, learned = self._copy()
        if twin is None:
            return Curve([], np.zeros((0, 0), bool))
        rows, answers, found = list(learned), [], []
        for n in _sizes(len(rows)):
            gone, rows = rows[n:], rows[:n]
            if gone:
                twin.unlearn([self._text(row) for row in gone], [learned.pop(row) for row in gone])
            if len(twin.counts.live_labels) < 2:
                break
            answers.append(n)
            found.append(self._is_right(twin, sample, learned))
        return Curve(answers[::-1], np.array(found[::-1], bool).reshape(len(found), len(sample)))

    def _copy(self) -> tuple[TextClassifier | None, dict[int, Any], dict[int, Any]]:
        """A copy of the classifier, the answers at random and all answers of one moment; None where they tell nothing.

        Others may learn while the copy is measured.
        """
        memory = self.classifier.memory
        with self._lock:
            sample = self._sample()
            while sample and self.can_estimate:
                with memory.lock.read():
                    counts = memory.counts.copy() if self.is_current else None
                if counts is not None:
                    twin = TextClassifier(**self.classifier.effective_options).attach(Memory(counts))
                    return twin, sample, dict(self.answers)
                self.catch_up()
                sample = self._sample()
        return None, {}, {}

    def _sample(self) -> dict[int, Any]:
        """The answers to documents that were asked at random."""
        return {row: self.answers[row] for row in self._order[: self._reach] if row in self.answers}

    def _is_right(self, classifier: AnyClassifier, sample: dict[int, Any], learned: Mapping[int, Any]) -> Booleans:
        """Which documents a classifier predicts, those that it has learned each by all the others."""
        rows, labels = list(sample), list(sample.values())
        texts = [self._text(row) for row in rows]
        found = np.empty(len(rows), object)
        inside = [k for k, row in enumerate(rows) if row in learned]
        if inside:
            found[inside] = predict_without(classifier, [texts[k] for k in inside], [labels[k] for k in inside])
        outside = [k for k, row in enumerate(rows) if row not in learned]
        if outside:
            found[outside] = classifier.predict([texts[k] for k in outside])
        pairs = zip(found.tolist(), labels, strict=True)
        return np.array([guess in label if isinstance(label, list) else guess == label for guess, label in pairs], bool)


def _ranks(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """How many are smaller than each.

    >>> _ranks(np.array([0.5, 0.1, 0.5])).tolist()
    [1, 0, 1]
    """
    return np.searchsorted(np.sort(values), values)


def _dense_prefix(is_answered: Sequence[bool]) -> int:
    """How far documents were asked at random before, by those that have an answer, in the order of digests.

    Nothing says which documents were asked at random, or skipped.  Up to the end of those at random nearly all have an
    answer, behind it only some: so this is where the answers less `_GAP` times the gaps are most.  It assumes that
    fewer than one of five was skipped, and that an answer does not depend on whether it was; the documents that were
    skipped are asked again first.

    >>> _dense_prefix([True, True, False]), _dense_prefix([False, True, True, False])
    (2, 0)
    >>> _dense_prefix([True, False, *[True] * 8, False, False, True, False])
    10
    """
    return int(np.cumsum(np.r_[0, np.where(is_answered, 1, -_GAP)]).argmax())


def _sizes(n: int) -> list[int]:
    """Numbers of answers, falling."""
    sizes = (round(n / _STEP**k) for k in range(_MOST_POINTS))
    return [size for size in sizes if size >= min(n, _FEWEST)]


def queue(classifier: AnyClassifier, texts: Any, *, answers: Mapping[str, Any] | None = None) -> Queue:
    """Documents to be labelled, one after the other, those first whose answers help most.

    Parameters
    ----------
    classifier : TextClassifier
        In memory or in a file; it learns every answer.
    texts : sequence of str
        The pool.  Copies of a text are asked once.
    answers : mapping from digest to label, optional
        Documents of the pool that a classifier in memory has learned before; one in a file knows them itself.

    Examples
    --------
    >>> from bunrui import TextClassifier
    >>> pool = ["cheap pills", "lunch at noon", "pills now", "meeting at noon"]
    >>> asked = queue(TextClassifier(), pool)
    >>> for question in asked:
    ...     _ = asked.answer(question, "spam" if "pills" in question.text else "ham")
    >>> len(asked), asked.classifier.predict(["more pills"]).tolist()
    (0, ['spam'])
    """
    if isinstance(texts, str):
        raise OptionError(option="texts", value=texts, expected="a list of texts")
    return Queue(classifier, texts, answers or {})
