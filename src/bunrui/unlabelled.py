"""`weigh`: whether a pool of texts without a label helps a classifier, and how much it should count.

The labelled documents of the sample (`bunrui.sample`) are cut into folds.  Each fold is predicted by the others with
the pool, for every weight; all steps of `models/pool.py` are made again without the fold, from the start on.  A weight
is chosen if it leads the model without the pool by more than a standard error; else the pool does not count.

    u[i]   1 where a document is predicted right, else 0
    lead   Σ w[i] d[i],  d the difference of u from that without the pool, w the weights of `bunrui.choice`
    SE     sqrt( Σ w[i]² ((d[i] - lead)² + 1/n) ),  as if one more document of n had changed: one alone is no evidence

A fold, not a document, is left out: leave-one-out of n documents takes n / 5 times as long, and chooses no better
(docs/decisions/036).  The weight is a function of the counts, the sample, the pool, the options and this
version.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from bunrui.analysis import Analyzer
from bunrui.analysis.analyzer import alike
from bunrui.choice import FEWEST, ONE_LABEL, LeftOut, are_plausible
from bunrui.counts import Counts
from bunrui.errors import DataError, OptionError
from bunrui.memory import Memory, PoolTexts
from bunrui.models import AUTO, DEFAULT_MODEL, MODELS
from bunrui.models.counting import CountingModel
from bunrui.sample import Drawn
from bunrui.sparse import Floats

# λ of the article; 0 stands for no pool.
WEIGHTS = (0.01, 0.1, 1.0)

FOLDS = 5

# Fewer documents that others can predict tell nothing: with 10, a draw of 20 labels of 20 Newsgroups lost .05.
_FEWEST = 20


class PoolEvidence(NamedTuple):
    """The accuracy of a weight, its lead over no pool on the same documents, and the standard error of the lead."""

    weight: float
    value: float
    lead: float
    error: float


@dataclass(frozen=True, kw_only=True)
class PoolWeight:
    """How much a pool counts, and why.

    Attributes
    ----------
    weight : float
        The weight of a text of the pool, where a labelled document has 1; 0 where the pool does not count.
    evidence : tuple of PoolEvidence
        All weights, 0 first; empty where nothing could be told.
    model : str
        The model that was asked.
    n_docs, n_labels, n_pool : int
        Labelled documents, labels, and texts without a label that there were.
    reason : str
        Why the pool does not count; empty where it does.

    Examples
    --------
    >>> evidence = PoolEvidence(0.0, 0.52, 0.0, 0.0), PoolEvidence(0.1, 0.66, 0.14, 0.03)
    >>> PoolWeight(weight=0.1, evidence=evidence, model="binary", n_docs=300, n_labels=20, n_pool=9000).describe()
    'weight 0.1: .660 by 5 folds; without: .520'
    >>> PoolWeight(reason="3 documents are too few to tell").describe()
    'not used: 3 documents are too few to tell'
    """

    weight: float = 0.0
    evidence: tuple[PoolEvidence, ...] = ()
    model: str = ""
    n_docs: int = 0
    n_labels: int = 0
    n_pool: int = 0
    reason: str = ""

    def describe(self) -> str:
        """In a line."""
        if not self.weight:
            return f"not used: {self.reason}"
        values = {each.weight: f"{each.value:.3f}".removeprefix("0") for each in self.evidence}
        return f"weight {self.weight:g}: {values[self.weight]} by {FOLDS} folds; without: {values[0.0]}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        return known | {"evidence": [each._asdict() for each in self.evidence]}

    @classmethod
    def from_dict(cls, known: Any) -> PoolWeight:
        """The weight that `to_dict` gave, checked as if it came from anybody.

        Raises
        ------
        DataError
            If it is anything else.
        """
        try:
            evidence = tuple(PoolEvidence(**each) for each in known["evidence"])
            found = cls(**{**known, "evidence": evidence})
        except (TypeError, KeyError, AttributeError) as error:
            raise DataError(f"the weight of a pool has other fields: {error}") from error
        numbers = [number for each in evidence for number in each]
        is_right = (
            are_plausible(numbers, (found.n_docs, found.n_labels, found.n_pool))
            and isinstance(found.reason, str)
            and isinstance(found.model, str)
            and type(found.weight) in (int, float)
            and (found.weight == 0 or (found.weight in WEIGHTS and found.weight in {each.weight for each in evidence}))
            and (not evidence or evidence[0].weight == 0)
        )
        if not is_right:
            raise DataError("the weight of a pool has values that make no sense")
        return found


def check_reads_pool(options: Mapping[str, Any]) -> None:
    """Refuse a pool for a model that cannot read fractions, or options that go with whole counts only.

    Where the model is chosen, a pool is welcome: the next choice may be one that reads it.
    """
    reason = _why_not_options({**options, "model": DEFAULT_MODEL} if options["model"] == AUTO else options)
    if reason is not None:
        able = ", ".join(name for name, kind in MODELS.items() if kind.reads_fractions)
        problem = f"texts without a label cannot help here: {reason}"
        hint = f"set the model to auto, or to one of {able}, and leave its other options as they are"
        raise OptionError(problem, option="model", hint=hint, cause="pool-useless")


def reads_pool(options: Mapping[str, Any]) -> bool:
    """Whether a model with some options can read fractions of counts."""
    return _why_not_options(options) is None


def _why_not_options(options: Mapping[str, Any]) -> str | None:
    kind = MODELS.get(options["model"])
    if kind is None or not kind.reads_fractions:
        return f"{options['model']} does not read fractions of counts"
    if isinstance(options["alpha"], Mapping):
        return "words have an alpha of their own"
    usual = {"unseen": "ignore", "min_df": 1, "max_features": None}
    others = [name for name, value in usual.items() if options[name] != value]
    others += ["smoothing"] if options["smoothing"] == "mle" else []
    return f"{others[0]} is {options[others[0]]}" if others else None


def why_not(counts: Counts, options: Mapping[str, Any]) -> str | None:
    """Why no pool can count, whatever is in it; None where one may."""
    reason = _why_not_options(options)
    if reason is not None:
        return reason
    if len(counts.live_labels) < 2:
        return ONE_LABEL
    if int(counts.doc_count.sum()) != counts.n_docs:
        return "some documents have several labels"
    from bunrui.models.pool import MOST_CELLS

    if counts.n_features * len(counts.live_labels) > MOST_CELLS:
        return "words × labels are too many for expected counts"
    return None


def is_due(last: PoolWeight | None, model: str, n_docs: int, n_labels: int, n_pool: int) -> bool:
    """Whether to weigh a pool: for another model, other labels, or when documents or pool have doubled or halved.

    >>> last = PoolWeight(model="binary", n_docs=40, n_labels=2, n_pool=100)
    >>> [is_due(last, "binary", n, 2, 100) for n in (20, 41, 80)], is_due(last, "binary", 41, 3, 100)
    ([True, False, True], True)
    """
    if last is None or (last.model, last.n_labels) != (model, n_labels):
        return True
    pairs = (last.n_docs, n_docs), (last.n_pool, n_pool)
    return not all(before / 2 < now < 2 * before for before, now in pairs)


def weigh(
    counts: Counts,
    analyzer: Analyzer,
    drawn: Drawn,
    pool: PoolTexts,
    labelled: Container[bytes],
    options: Mapping[str, Any],
) -> tuple[PoolWeight, LeftOut | None]:
    """Choose the weight of a pool.

    Parameters
    ----------
    counts : Counts
        All that was learned.
    drawn : Drawn
        The sample of it.
    pool : mapping from digest to text
    labelled : container of digests
        The texts of the pool that have a label by now, and do not count as texts without one.
    options : mapping
        Those of the classifier, with the model that `auto` stands for.
    """
    size = {
        "model": options["model"],
        "n_docs": counts.n_docs,
        "n_labels": len(counts.live_labels),
        "n_pool": len(pool),
    }
    reason = why_not(counts, options)
    if reason is not None:
        return PoolWeight(reason=reason, **size), None
    from bunrui.models.pool import unlabelled_among

    folds = _Folds(counts, analyzer, drawn, unlabelled_among(pool, labelled), options)
    if folds.n_docs < _FEWEST:
        reason = f"{folds.n_docs:,} documents that others can predict are too few to tell"
        return PoolWeight(reason=reason, **size), None
    if not folds.n_pool:
        return PoolWeight(reason="all its texts have a label", **size), None
    scores = {weight: folds.scores(weight) for weight in (0.0, *WEIGHTS)}
    right = {weight: (each.argmax(axis=1) == folds.classes).astype(np.float64) for weight, each in scores.items()}
    evidence = []
    for weight, each in right.items():
        difference = each - right[0.0]
        lead = float((folds.weights * difference).sum())
        error = float(np.sqrt((folds.weights**2 * ((difference - lead) ** 2 + 1 / folds.n_docs)).sum()))
        evidence.append(PoolEvidence(weight, float((folds.weights * each).sum()), lead, error))
    top = max(evidence, key=lambda each: each.value)  # of equal ones the first, with the least weight
    if not top.lead > top.error:
        reason = "it does not help" if not top.lead else "it does not help by more than a standard error"
        return PoolWeight(evidence=tuple(evidence), reason=reason, **size), None
    chosen = PoolWeight(weight=top.weight, evidence=tuple(evidence), **size)
    return chosen, folds.left_out(scores[top.weight]) if folds.n_docs >= FEWEST else None


class _Folds:
    """The documents of a sample that others can predict, in the order of digests, and the pool.

    Attributes
    ----------
    classes : (n_docs,) int64
        The class of each, by its place in the sorted list of labels.
    weights : (n_docs,) float64
        The weight of each, so that a mean over them is the mean over all learned documents; they add up to 1.
    """

    def __init__(
        self, counts: Counts, analyzer: Analyzer, drawn: Drawn, pool: list[Any], options: Mapping[str, Any]
    ) -> None:
        from bunrui.models.pool import Ground

        model = MODELS[options["model"]].model(options, analyzer, Memory(counts))
        assert isinstance(model, CountingModel)
        self._ground = Ground(model, counts, analyzer, pool)
        self.n_pool = len(pool)
        place = {label: k for k, label in enumerate(self._ground.classes)}
        classes = np.array([place[label] for label in drawn.labels], np.int64)
        rows = np.flatnonzero(self._ground.doc_count[classes] > drawn.copies) if len(classes) else classes
        self.classes, self._copies, self._is_common = classes[rows], drawn.copies[rows], drawn.is_common[rows]
        self._texts = [drawn.texts[row] for row in rows.tolist()]
        self._read = alike(analyzer, self._texts)
        weights = self._ground.doc_count[self.classes] / np.bincount(self.classes)[self.classes] if len(rows) else rows
        self.weights = weights / max(weights.sum(), 1)
        # Documents of a class go to different folds, one after the other.
        self._folds = np.empty(len(rows), np.int64)
        self._folds[np.argsort(self.classes, kind="stable")] = np.arange(len(rows)) % FOLDS

    @property
    def n_docs(self) -> int:
        """Documents."""
        return len(self.classes)

    def scores(self, weight: float) -> Floats:
        """The scores of every document by the others and the pool, (n_docs, n_classes)."""
        ground = self._ground
        out = np.empty((self.n_docs, len(ground.classes)))
        for fold in range(FOLDS):
            rows = np.flatnonzero(self._folds == fold)
            if not len(rows):
                continue
            texts, own, copies = [self._read[row] for row in rows.tolist()], self.classes[rows], self._copies[rows]
            labelled = ground.labelled - ground.counted(texts, own, copies)
            doc_count = ground.doc_count - np.bincount(own, copies, len(ground.classes))
            out[rows] = ground.expect(weight, labelled, doc_count).scores(ground.rows(texts))
        return out

    def left_out(self, scores: Floats) -> LeftOut:
        """The scores of a plain random sample, for a calibration."""
        rows = np.flatnonzero(self._is_common)
        own = np.zeros((len(rows), scores.shape[1]), bool)
        own[np.arange(len(rows)), self.classes[rows]] = True
        return LeftOut([self._texts[row] for row in rows.tolist()], scores[rows], own)
