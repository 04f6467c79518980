"""`choose`: which model of the counting family suits what was learned, and with how much smoothing.

Every candidate predicts the documents of a sample (`bunrui.sample`), each by the counts of all others, exactly.  Copies
of a text are left out together: a twin that stays in would favour little smoothing.  A class of n documents with s of
them in the sample gives each the weight n / s, so that the mean is that of all documents.  A document that is alone in
its class is not scored.

    u[i]   1 where the document is predicted right, else 0; for macro-F the linear part of it (the delta method)
    lead   Σ w[i] d[i],  d the difference of u from that of the plain default, w the weights, which add up to 1
    SE     sqrt( Σ w[i]² (d[i] - lead)² )

The best candidate is chosen if it leads by a document more than SE, because SE says little where few documents differ;
else the plain default stays.  Of long texts a quarter comes first, of short ones in many classes a half.  A candidate
that trails the best by 1.5 SE there, or the plain default by SE, is not asked about the rest: it would have to make up
for that, and then to lead.  Where the best of a half leads the plain default by 3 SE, nobody is asked about the rest,
and the model of the plain default is not asked with another λ.

The choice is a function of the counts, the sample, the options and this version, and of nothing else: all sums run in
the order of digests.  docs/decisions/032 has the candidates, the size of the sample and the rule, with their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis.analyzer import alike
from bunrui.counts import Counts
from bunrui.engines.labelgroups import LabelSets
from bunrui.errors import DataError, OptionError
from bunrui.memory import Memory
from bunrui.models import AUTO, DEFAULT_MODEL, MODELS
from bunrui.sample import FEW, Drawn, ranks_in_class, sort_by_class
from bunrui.sparse import Floats, Integers

if TYPE_CHECKING:
    from bunrui.models.loo import CountedCorpus

__all__ = [
    "AUTO",
    "FREE",
    "METRICS",
    "PLAIN",
    "Candidate",
    "Choice",
    "Evidence",
    "LeftOut",
    "choose",
    "fixed_by",
    "is_due",
    "why_not",
]


METRICS = ("accuracy", "macro_f1")

# Fewer documents cannot tell models apart.
FEWEST = 50

# Scores that a candidate makes: with many classes the sample is smaller, yet not below so many documents as long as
# memory allows it.
USUAL_SCORES, LEAST_DOCS, MOST_SCORES = 1 << 16, 400, 1 << 22

# With fewer characters, and fewer scores, it is as quick to ask all candidates about all documents.
_MANY_CHARACTERS, _MANY_SCORES = 1 << 18, 1 << 15
_BEHIND_BEST, _BEHIND_PLAIN, _CLEARLY = 1.5, 1.0, 3.0  # standard errors

# Characters on the average: in shorter texts few words occur twice, and wcnb, which counts occurrences and takes as
# long as two others, was the best on none of ten corpora.
_SHORT = 150

ONE_LABEL = "there are no two labels to tell apart"

# Options that say themselves how counts are read, and the values at which they leave it to a choice.
FREE = {"smoothing": "eap", "alpha": None, "max_features": None, "class_norm": False, "against_rest": False}


class Candidate(NamedTuple):
    """A model with its smoothing."""

    model: str
    alpha: float
    class_norm: bool = False
    against_rest: bool = False

    def describe(self) -> str:
        """In a few words.

        >>> Candidate("binary", 0.03, against_rest=True).describe()
        'binary against the rest, λ 0.03'
        """
        how = " against the rest" if self.against_rest else ", classes of one size" if self.class_norm else ""
        return f"{self.model}{how}, λ {self.alpha:g}"


PLAIN = Candidate(DEFAULT_MODEL, MODELS[DEFAULT_MODEL].alpha)

CANDIDATES = (
    PLAIN,
    Candidate("binary-complement", 1.0),
    Candidate("wcnb", 0.3),
    Candidate("binary", 0.03, against_rest=True),
    Candidate("binary", 1e-5, class_norm=True),
)


class Evidence(NamedTuple):
    """What leave-one-out says of a candidate.

    Attributes
    ----------
    n_docs : int
        Documents of the sample that it predicted.
    value : float
        Accuracy, or macro-F.  A candidate that has predicted only the first documents has the value of the chosen
        model, less the lead of that model on these.
    lead : float
        How much more this is than that of the plain default on the documents that both predicted.
    error : float
        The standard error of the lead.
    """

    candidate: Candidate
    n_docs: int
    value: float
    lead: float
    error: float


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The model that `model="auto"` stands for, and why.

    Attributes
    ----------
    candidate : Candidate
        What was chosen.
    evidence : tuple of Evidence
        All candidates, the plain default first; empty where nothing could be told.
    metric : str
        `accuracy` or `macro_f1`.
    n_docs : int
        Documents that the classifier had learned.
    reason : str
        Why the plain default stays; empty where another model was chosen.

    Examples
    --------
    >>> better = Candidate("binary", 0.03, against_rest=True)
    >>> evidence = Evidence(PLAIN, 2000, 0.79, 0.0, 0.0), Evidence(better, 2000, 0.878, 0.088, 0.01)
    >>> Choice(candidate=better, evidence=evidence, n_docs=10003).describe()
    'binary against the rest, λ 0.03: .878 by leave-one-out; binary-complement, λ 0.3: .790'
    >>> Choice(reason="3 documents are too few to tell").describe()
    'binary-complement: 3 documents are too few to tell'
    """

    candidate: Candidate = PLAIN
    evidence: tuple[Evidence, ...] = ()
    metric: str = "accuracy"
    n_docs: int = 0
    reason: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """The options of `TextClassifier` that it stands for."""
        return dict(self.candidate._asdict())

    def describe(self) -> str:
        """In a line."""
        if not self.evidence:  # λ may be given by an option
            return f"{self.candidate.model}: {self.reason}"
        values = {each.candidate: f"{each.value:.3f}".removeprefix("0") for each in self.evidence}
        what = "" if self.metric == "accuracy" else "macro-F "
        line = f"{self.candidate.describe()}: {what}{values[self.candidate]} by leave-one-out"
        plain = self.evidence[0].candidate  # of the version that chose
        if self.candidate != plain:
            return f"{line}; {plain.describe()}: {values[plain]}"
        return f"{line}; {self.reason}"

    __str__ = describe

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        evidence = [{**each._asdict(), "candidate": each.candidate._asdict()} for each in self.evidence]
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        return known | {"candidate": self.candidate._asdict(), "evidence": evidence}

    @classmethod
    def from_dict(cls, known: Any) -> Choice:
        """What `to_dict` gave, checked as if it came from anybody.

        Raises
        ------
        DataError
            If it is anything else.
        """
        try:
            evidence = tuple(
                Evidence(**{**each, "candidate": _candidate(each["candidate"])}) for each in known["evidence"]
            )
            # Where nothing could be told, the plain default stays: the one of this version.
            candidate = _candidate(known["candidate"]) if evidence else PLAIN
            found = cls(**{**known, "candidate": candidate, "evidence": evidence})
        except (TypeError, KeyError, AttributeError) as error:
            raise DataError(f"a choice of a model has other fields: {error}") from error
        numbers = [number for each in evidence for number in (each.value, each.lead, each.error)]
        counts = [found.n_docs, *(each.n_docs for each in evidence)]
        is_right = (
            are_plausible(numbers, counts)
            and isinstance(found.reason, str)
            and found.metric in METRICS
            and (not evidence or found.candidate in {each.candidate for each in evidence})
        )
        if not is_right:
            raise DataError("a choice of a model has values that make no sense")
        return found


def are_plausible(numbers: Iterable[Any], counts: Iterable[Any]) -> bool:
    """Whether evidence from a file has numbers and counts that there can be."""
    return all(type(number) in (int, float) and -1e6 <= number <= 1e6 for number in numbers) and all(
        type(n) is int and 0 <= n < 1 << 62 for n in counts
    )


def _candidate(known: Any) -> Candidate:
    found = Candidate(**known)
    is_right = found.model in MODELS and type(found.alpha) in (int, float) and 0 < found.alpha < 1e6
    if not is_right or not all(type(is_on) is bool for is_on in found[2:]):
        raise DataError(f"a choice names a model that there is not: {known!r:.80}")
    try:
        MODELS[found.model].check_options(class_norm=found.class_norm, against_rest=found.against_rest)
    except OptionError as error:
        raise DataError(f"a choice names options that do not go together: {known!r:.80}") from error
    return found


class LeftOut(NamedTuple):
    """What the chosen model says of documents that it has not seen, a plain random sample: for its calibration."""

    texts: list[Any]
    scores: Floats  # (n_docs, n_classes), columns in the order of labels
    own: npt.NDArray[np.bool_]


def is_due(choice: Choice | None, n_docs: int, n_labels: int) -> bool:
    """Whether it is time to choose: at first, and when documents have doubled or halved since.

    Also with the second label, and as soon as there are enough documents.

    >>> [is_due(Choice(n_docs=100), n, 2) for n in (50, 51, 199, 200)]
    [True, False, False, True]
    >>> [is_due(Choice(n_docs=100, reason=ONE_LABEL), 101, n) for n in (1, 2)]
    [False, True]
    >>> [is_due(Choice(n_docs=FEWEST - 1), n, 2) for n in (FEWEST - 2, FEWEST)]
    [False, True]
    """
    if choice is None or (choice.reason == ONE_LABEL and n_labels > 1) or choice.n_docs < FEWEST <= n_docs:
        return True
    return not choice.n_docs / 2 < n_docs < 2 * choice.n_docs


def fixed_by(options: Mapping[str, Any]) -> list[str]:
    """The options with which the user has said how counts are read: then there is nothing to choose."""
    return [
        name for name, usual in FREE.items() if options[name] is not usual and (usual is None or options[name] != usual)
    ]


def why_not(counts: Counts, options: Mapping[str, Any]) -> str | None:
    """Why no model can be chosen, whatever the sample; None where one can be."""
    fixed = fixed_by(options)
    if fixed:
        return f"{' and '.join(fixed)} {'is' if len(fixed) == 1 else 'are'} given"
    if len(counts.live_labels) < 2:
        return ONE_LABEL
    if int(counts.doc_count.sum()) != counts.n_docs:
        return "some documents have several labels"
    return None


def choose(
    counts: Counts, analyzer: Analyzer, drawn: Drawn, options: Mapping[str, Any], metric: str = "accuracy"
) -> tuple[Choice, LeftOut | None]:
    """Choose a model.

    Parameters
    ----------
    counts : Counts
        All that was learned.
    drawn : Drawn
        The sample of it.
    options : mapping
        Those of the classifier.  `prior`, `unseen` and `min_df` hold for all candidates.
    metric : {"accuracy", "macro_f1"}
    """
    if metric not in METRICS:
        raise OptionError(option="metric", value=metric, choices=METRICS)
    reason = why_not(counts, options)
    if reason is not None:
        return Choice(reason=reason, metric=metric, n_docs=counts.n_docs), None
    corpus = _Corpus(counts, analyzer, drawn, options)
    if len(corpus.classes) < FEWEST:
        if counts.n_docs < FEWEST:
            reason = f"{counts.n_docs:,} documents are too few to tell"
        elif corpus.is_cut:
            reason = f"with so many labels, only {len(corpus.classes)} documents can be tested"
        else:
            which = "different texts" if int(drawn.copies.sum()) == counts.n_docs else "texts of the sample"
            reason = f"only {len(corpus.classes)} {which} share their label with another document"
        return Choice(reason=reason, metric=metric, n_docs=counts.n_docs), None
    candidates = _candidates(len(counts.live_labels), corpus.mean_length, options)
    again = [each for each in candidates if each != PLAIN and each.model == PLAIN.model]
    first = [corpus.merit(each, metric, first=True) for each in candidates if each not in again]
    if not corpus.is_clear(first):
        first[1:1] = [corpus.merit(each, metric, first=True) for each in again]
    merits, best = first, _best(first)
    if corpus.has_more and not corpus.is_clear(first):
        merits = [
            each
            if best.is_ahead_of(each, _BEHIND_BEST) or first[0].is_ahead_of(each, _BEHIND_PLAIN)
            else corpus.merit(each.candidate, metric)
            for each in first
        ]
    plain = merits[0]
    n_docs = max(each.n_docs for each in merits)
    top = _best(each for each in merits if each.n_docs == n_docs)
    reason = ""
    if top is plain:
        reason = "no other model is better"
    elif top.n_docs == plain.n_docs and not top.is_ahead_of(plain):
        top, reason = plain, "no other model leads by more than a standard error"
    chosen = next(each for each in first if each.candidate == top.candidate)
    evidence = []
    for each, early in zip(merits, first, strict=True):
        value = each.value if each.n_docs == top.n_docs else max(top.value - chosen.lead_over(early), 0.0)
        mine, other = (each, plain) if each.n_docs == plain.n_docs else (early, first[0])
        evidence.append(Evidence(each.candidate, each.n_docs, value, mine.lead_over(other), mine.error_to(other)))
    choice = Choice(
        candidate=top.candidate, evidence=tuple(evidence), metric=metric, n_docs=counts.n_docs, reason=reason
    )
    return choice, corpus.left_out(top)


def _candidates(n_classes: int, mean_length: float, options: Mapping[str, Any]) -> list[Candidate]:
    """Those that can be left out exactly, and differ."""
    return [
        candidate
        for candidate in CANDIDATES
        # With two classes, the rest of one is the other.
        if not (candidate.against_rest and n_classes == 2)
        and not (candidate.class_norm and options["min_df"] > 1)
        and not (candidate.model == "wcnb" and mean_length < _SHORT)
    ]


class _Merit(NamedTuple):
    """How good a candidate is: `value` is the mean of `parts` by `weights`, (n_docs,) each."""

    candidate: Candidate
    value: float
    parts: Floats
    weights: Floats

    @property
    def n_docs(self) -> int:
        return len(self.parts)

    def lead_over(self, other: _Merit) -> float:
        return float((self.weights * (self.parts - other.parts)).sum())

    def error_to(self, other: _Merit) -> float:
        """The standard error of the lead."""
        difference = self.parts - other.parts - self.lead_over(other)
        return float(np.sqrt((self.weights**2 * difference**2).sum()))

    def is_ahead_of(self, other: _Merit, errors: float = 1.0) -> bool:
        """Whether it leads by a document more than so many standard errors (the correction of Edwards, 1948)."""
        return self.lead_over(other) - 1 / self.n_docs > errors * self.error_to(other)


def _best(merits: Iterable[_Merit]) -> _Merit:
    """The best; of equal ones the first."""
    return max(merits, key=lambda merit: merit.value)


def f1_parts(true: Integers, predicted: Integers, weights: Floats, n_classes: int) -> Floats:
    """The macro-F, and what each document adds to it, as parts whose weighted mean it is."""
    is_right = true == predicted
    right = np.bincount(true, weights * is_right, n_classes)
    both = np.bincount(true, weights, n_classes) + np.bincount(predicted, weights, n_classes)
    occurs = both > 0
    both[~occurs] = 1.0
    f1 = 2 * right / both
    linear = 2 * is_right / both[true] - f1[true] / both[true] - f1[predicted] / both[predicted]
    return np.asarray(f1.sum() / occurs.sum() + linear / occurs.sum())


def _cut(classes: Integers, n_classes: int, most: int) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """The places of at most so many documents, and whether each is among the lowest digests.

    The first few of each class stay, so that rare classes are there, and fill at most half; then come the lowest.

    >>> _cut(np.array([0, 0, 0, 0, 0, 1]), n_classes=2, most=4)
    (array([0, 1, 2, 5]), array([ True,  True,  True, False]))
    """
    is_few = ranks_in_class(classes) < min(FEW, most // (2 * n_classes))
    is_lowest = np.cumsum(~is_few) <= most - is_few.sum()
    stays = np.flatnonzero(is_few | is_lowest)
    return stays, is_lowest[stays]


class _Corpus:
    """The documents of a sample that can be scored, in the order of digests.

    Attributes
    ----------
    classes : (n_docs,) int64
        The class of each, by its place in the sorted list of labels.
    mean_length : float
        Of a text, in characters.
    is_cut : bool
        Whether there are too many classes to score all documents.
    has_more, is_half : bool
        Whether some documents come after the first ones; whether these are a half of all.
    """

    def __init__(self, counts: Counts, analyzer: Analyzer, drawn: Drawn, options: Mapping[str, Any]) -> None:
        self._counts, self._analyzer, self._options = counts, analyzer, options
        _, self._columns, _ = counts.live
        ids = np.array(list(map(counts.label_ids.__getitem__, drawn.labels)), np.int64)
        n_classes = len(self._columns)
        most = max(min(LEAST_DOCS, MOST_SCORES // n_classes), USUAL_SCORES // n_classes)
        rows = np.flatnonzero(counts.doc_count[ids] > drawn.copies)
        stays, is_lowest = _cut(ids[rows], n_classes, most)
        self.is_cut = len(stays) < len(rows)
        rows = rows[stays]
        # Only the lowest digests are a plain random sample; the first few of each class are not.
        self._ids, self._is_common = ids[rows], drawn.is_common[rows] & is_lowest
        self._texts = list(map(drawn.texts.__getitem__, rows.tolist()))
        self.mean_length = sum(map(len, self._texts)) / max(len(rows), 1)
        rank = np.zeros(len(counts.labels), np.int64)
        rank[self._columns] = np.arange(n_classes)
        self.classes = rank[self._ids]
        self._scores: dict[Candidate, list[Floats]] = {}  # by stage
        self._known: dict[bool, tuple[Integers, Integers, Floats]] = {}  # `_weighed`
        # The first stage has one in so many documents of every class.
        is_long = self.mean_length * len(rows) > _MANY_CHARACTERS
        step = 4 if is_long else 2 if len(rows) * n_classes > _MANY_SCORES else 1
        is_first = np.zeros(len(rows), bool)
        is_first[sort_by_class(self.classes)[::step]] = True
        self._stages = [np.flatnonzero(is_first), np.flatnonzero(~is_first)]
        self.has_more, self.is_half = step > 1, step == 2
        every = np.arange(len(counts.labels) + 1)
        self._sets = LabelSets(counts.labels, self._ids, every, every[:-1])
        self._memory, self._copies = Memory(counts), drawn.copies[rows]
        self._documents = alike(analyzer, self._texts)
        self._corpora: list[CountedCorpus] = []

    def _corpus(self, stage: int) -> CountedCorpus:
        """The documents of a stage; those that nobody asks for are not read."""
        if stage == len(self._corpora):
            from bunrui.models.loo import CountedCorpus  # 5 ms, and predicting needs none

            rows = self._stages[stage]
            texts, sets = list(map(self._documents.__getitem__, rows.tolist())), self._sets.subset(rows)
            found = CountedCorpus(self._analyzer, texts, sets, memory=self._memory, copies=self._copies[rows])
            self._corpora.append(found)
        return self._corpora[stage]

    def merit(self, candidate: Candidate, metric: str, *, first: bool = False) -> _Merit:
        """How good a candidate is on the documents that come first, or, later, on all."""
        model = MODELS[candidate.model].model({**self._options, **candidate._asdict()}, self._analyzer, self._memory)
        scores = model.leave_one_out(self._corpus(0 if first else 1))[:, self._columns]
        self._scores.setdefault(candidate, []).append(scores)
        _, true, weights = self._weighed(first)
        predicted = self._in_order([each.argmax(axis=1) for each in self._scores[candidate]])
        if metric == "accuracy":
            parts = (true == predicted).astype(np.float64)
        else:
            parts = f1_parts(true, predicted, weights, len(self._columns))
        value = (weights * parts).sum() / weights.sum()  # 1 where all are right, and not a bit more
        return _Merit(candidate, float(value), parts, weights)

    def is_clear(self, first: list[_Merit]) -> bool:
        """Whether the first documents are enough: they are a half, and the best leads the plain default clearly."""
        return self.is_half and _best(first).is_ahead_of(first[0], _CLEARLY)

    def _weighed(self, first: bool) -> tuple[Integers, Integers, Floats]:
        """The documents that come first, or all, with their classes and weights."""
        if first not in self._known:
            rows = self._stages[0] if first else np.arange(len(self.classes))
            true = self.classes[rows]
            weights = self._counts.doc_count[self._ids[rows]] / np.bincount(true)[true]
            self._known[first] = rows, true, weights / weights.sum()
        return self._known[first]

    def _in_order(self, stages: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """What each stage says of its documents, as one array in the order of digests."""
        if len(stages) == 1:
            return stages[0]
        out = np.empty((len(self.classes), *stages[0].shape[1:]), stages[0].dtype)
        for rows, mine in zip(self._stages, stages, strict=True):
            out[rows] = mine
        return out

    def scores(self, candidate: Candidate) -> Floats:
        """The scores of a candidate for the documents that it has read, (n_docs, n_classes)."""
        return self._in_order(self._scores[candidate])

    def left_out(self, merit: _Merit) -> LeftOut:
        """The scores of the documents by which a candidate was chosen."""
        rows, true, _ = self._weighed(merit.n_docs < len(self.classes))
        common = np.flatnonzero(self._is_common[rows])
        own = np.zeros((len(common), len(self._columns)), bool)
        own[np.arange(len(common)), true[common]] = True
        scores = self.scores(merit.candidate)[common]
        return LeftOut([self._texts[row] for row in rows[common].tolist()], scores, own)
