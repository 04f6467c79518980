"""`Evaluation`: predictions for documents with known labels, all measures of them, and the mistakes among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bunrui import reliability as chances
from bunrui.counts import Label
from bunrui.errors import BunruiError, DataError, LabelError, Option, OptionError
from bunrui.evaluation import scores as formulas
from bunrui.evaluation.metrics import Metrics, check_lengths, encoded, measure, membership, single
from bunrui.evaluation.uncertainty import Interval, OfConfusion, bootstrap
from bunrui.phrases import some
from bunrui.sparse import Booleans, Floats, Integers

if TYPE_CHECKING:  # measuring labels needs neither
    from bunrui.classifier import AnyClassifier
    from bunrui.views.explanation import Explanation


_FALSE_POSITIVE_RATES = (0.001, 0.01)  # that recall is reported at
_INTERVALS = ("accuracy", "micro_f1", "macro_f1")
_ROUNDING = 1e-5  # the probabilities of a document may miss 1 by so much, in float32 too


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Evaluation:
    """Predictions for documents, beside their true labels.

    A document may have several true labels.  Then each of them is right in `metrics` and `right`, probabilistic
    measures add their probabilities, and in a ranking the document is positive for each of them.  A true label that was
    never learned has probability 0: its documents are wrong, cost 36.04 (-log of the smallest ε) in `log_loss`, and are
    ranked as if all scores were equal.

    Parameters
    ----------
    true : sequence of (label or collection of labels)
        The labels that documents have.
    predictions : (n_docs,) sequence of labels
        The label that each is predicted to have, one of `classes`.
    probabilities : (n_docs, n_classes)
        P(class | document); rows add up to 1.
    classes : (n_classes,) sequence of labels
        The columns of `probabilities`.
    positive : label, optional
        The wanted label, such as spam: rankings compare it with the rest.  Without it, rankings are means over all
        labels that occur.  `dataclasses.replace(evaluation, positive="spam")` names one later.
    scores : (n_docs, n_classes), optional
        The scores whose softmax are the probabilities.  Documents are then ranked by log-odds; without scores they are
        ranked by probabilities, many of which are 0 if texts are long.

    Attributes
    ----------
    metrics : Metrics
        Accuracy, precision, recall, F1, the confusion.
    log_loss, brier, ece : float
        The module `scores` has the formulas.  `brier` is the sum over the classes, 0 … 2, also for two of them.
    roc_auc, average_precision : float
        NaN if there is nothing to rank.

    Examples
    --------
    >>> evaluation = Evaluation(
    ...     true=["ham", "ham", "spam", "spam"],
    ...     predictions=["ham", "spam", "ham", "spam"],
    ...     probabilities=[[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.2, 0.8]],
    ...     classes=["ham", "spam"],
    ...     positive="spam",
    ... )
    >>> evaluation
    <Evaluation: 4 documents, 2 labels, accuracy 0.500, log loss 0.714>
    >>> evaluation.roc_auc, evaluation.recall_at_fpr(0.01)
    (0.75, 0.5)
    >>> evaluation.interval("accuracy")
    Interval(low=0.0, high=1.0, level=0.95)
    """

    true: Any
    predictions: Any
    probabilities: Any
    classes: Any
    positive: Label | None = None
    scores: Any = None

    def __post_init__(self) -> None:
        true = list(self.true) if isinstance(self.true, Iterator) else self.true
        classes, predictions = _array(self.classes, "known"), _array(self.predictions, "predicted")
        given = _checked(self.probabilities, len(predictions), classes)
        scores = None if self.scores is None else _checked_scores(self.scores, given.shape)
        vars(self).update(true=true, classes=classes, predictions=predictions, probabilities=given, scores=scores)
        known = set(self.classes.tolist())
        if len(known) < len(self.classes):
            raise LabelError("a label is among the classes twice: name each column of the probabilities once")
        unknown = sorted(set(self.predictions.tolist()) - known)
        if unknown:
            raise LabelError(f"the predicted label {unknown[0]!r} is not among the classes: give a column for it")
        check_lengths(len(self._own), len(self.predictions))
        if self.positive is not None:
            self._column(self.positive)

    @classmethod
    def of_scores(cls, true: Any, classes: Any, scores: Floats, **more: Any) -> Self:
        """The evaluation of scores (n_docs, n_classes): the best class is the answer, their softmax the probabilities.

        Examples
        --------
        >>> Evaluation.of_scores(["a", "b"], ["a", "b"], np.array([[9.0, 7.0], [5.0, 3.0]])).predictions.tolist()
        ['a', 'a']
        """
        from bunrui.models.linear import probabilities  # imports the kernels

        columns = np.array(classes)
        answers = {"predictions": columns[scores.argmax(axis=1)], "probabilities": probabilities(scores)}
        return cls(true=true, classes=columns, scores=scores, **answers, **more)

    def __repr__(self) -> str:
        return f"{repr(self.metrics).replace('Metrics', 'Evaluation').removesuffix('>')}, log loss {self.log_loss:.3f}>"

    @property
    def n(self) -> int:
        """Documents."""
        return len(self.predictions)

    @cached_property
    def metrics(self) -> Metrics:
        return measure(self.true, self.predictions, labels=self.classes)

    @cached_property
    def right(self) -> Booleans:
        """Whether the predicted label is one of the document's own, (n_docs,)."""
        return np.asarray(self._own[np.arange(self.n), self._predicted])

    @cached_property
    def confidence(self) -> Floats:
        """The probability of the predicted label, (n_docs,)."""
        return np.asarray(self._filled[np.arange(self.n), self._predicted])

    @cached_property
    def log_loss(self) -> float:
        return chances.log_loss(self._own, self._filled)

    @cached_property
    def brier(self) -> float:
        return formulas.brier_score(self._own, self._filled)

    @cached_property
    def reliability(self) -> tuple[chances.Bin, ...]:
        """Accuracy by confidence, in 15 bins of equal width."""
        return chances.reliability(self.right, self.confidence)

    @property
    def ece(self) -> float:
        return chances.calibration_error(self.reliability)

    @cached_property
    def roc_auc(self) -> float:
        return self._ranking(formulas.roc_auc)

    @cached_property
    def average_precision(self) -> float:
        return self._ranking(formulas.average_precision)

    def _ranking(self, measure: Callable[[Booleans, Floats], float]) -> float:
        if self.positive is None:
            return formulas.macro(measure, self._own, self._ranked_by)
        return measure(*self._against_rest(self.positive))

    @property
    def one_minus_roca_percent(self) -> float:
        """100 (1 - ROC AUC) of the positive label: lower is better."""
        return 100 * (1 - formulas.roc_auc(*self._against_rest(None)))

    def recall_at_fpr(self, fpr: float) -> float:
        """Recall of the positive label if at most a share `fpr` of the other documents is taken for it."""
        return formulas.recall_at_fpr(*self._against_rest(None), fpr)

    @property
    def recall_by_fpr(self) -> dict[float, float]:
        """`recall_at_fpr` of the rates that are usually reported."""
        return {fpr: self.recall_at_fpr(fpr) for fpr in _FALSE_POSITIVE_RATES}

    def rank(self, label: Label | None = None) -> formulas.Ranking:
        """The curves of a label (by default the positive one), and the areas under them."""
        positive, scores = self._against_rest(label)
        areas = formulas.roc_auc(positive, scores), formulas.average_precision(positive, scores)
        name = self.positive if label is None else label
        return formulas.Ranking(name, self.roc_curve(label), self.precision_recall_curve(label), *areas)

    def roc_curve(self, label: Label | None = None) -> formulas.Roc:
        """The ROC curve of a label (by default the positive one); thresholds are log-odds where there are `scores`.

        Else they are probabilities, or above 1 odds: see `sharpen`.
        """
        return formulas.roc_curve(*self._against_rest(label))

    def precision_recall_curve(self, label: Label | None = None) -> formulas.PrecisionRecall:
        """Precision over recall of a label (by default the positive one); thresholds as for `roc_curve`."""
        return formulas.precision_recall_curve(*self._against_rest(label))

    @cached_property
    def given_probability(self) -> Floats:
        """The probability of the document's own labels, (n_docs,)."""
        return np.asarray(np.where(self._own, self._filled, 0).sum(axis=1))

    def interval(
        self, metric: str | OfConfusion = "accuracy", *, n_resamples: int = 1000, level: float = 0.95, seed: int = 0
    ) -> Interval:
        """Bootstrap of `accuracy`, `micro_f1`, `macro_f1` or a function of the confusion: `uncertainty.bootstrap`."""
        return bootstrap(self.metrics, metric, n_resamples=n_resamples, level=level, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """The metrics and the rest, in the types of JSON; null where a measure is not defined."""
        found = self.metrics.to_dict()
        for name in ("log_loss", "brier", "ece", "roc_auc", "average_precision"):
            found[name] = _defined(getattr(self, name))
        found["intervals"] = {name: self.interval(name)._asdict() for name in _INTERVALS}
        if self.positive is not None:
            found["one_minus_roca_percent"] = _defined(self.one_minus_roca_percent)
            found["recall_at_fpr"] = {str(fpr): _defined(recall) for fpr, recall in self.recall_by_fpr.items()}
        return found

    def _repr_html_(self) -> str:
        from bunrui.views.evaluation import evaluation_html

        return evaluation_html(self)

    @cached_property
    def _labels(self) -> list[Label]:
        """The classes, then the true labels that are none."""
        known = self.classes.tolist()
        return [*known, *sorted(set(encoded(self.true, "true").labels) - set(known))]

    @cached_property
    def _own(self) -> Booleans:
        return membership(self.true, self._labels)

    @cached_property
    def _filled(self) -> Floats:
        """The probabilities of all labels: 0 for those that were never learned."""
        missing = len(self._labels) - len(self.classes)
        return np.pad(self.probabilities, ((0, 0), (0, missing))) if missing else self.probabilities

    @cached_property
    def _sharpened(self) -> Floats:
        return formulas.sharpen(self._filled)

    @cached_property
    def _odds(self) -> formulas.Odds:
        return formulas.Odds(self.scores)

    def _ranked_by(self, column: int) -> Floats:
        """The scores that rank documents for a label, (n_docs,)."""
        if self.scores is None:
            return np.asarray(self._sharpened[:, column])
        return self._odds.of(column) if column < len(self.classes) else np.zeros(self.n)

    @cached_property
    def _predicted(self) -> Integers:
        """The column of every prediction."""
        order = np.argsort(self.classes)
        return np.asarray(order[np.searchsorted(self.classes, self.predictions, sorter=order)])

    def _against_rest(self, label: Label | None) -> tuple[Booleans, Floats]:
        label = self.positive if label is None else label
        if label is None:
            raise OptionError(("name the label that is looked for, as ", Option("positive", "spam")))
        column = self._column(label)
        return self._own[:, column], self._ranked_by(column)

    def _column(self, label: Label) -> int:
        if label not in self._labels:
            raise LabelError(f"there is no label {label!r}: the labels are {some(self._labels)}")
        return self._labels.index(label)


def _array(labels: Any, which: str) -> npt.NDArray[Any]:
    names, codes = single(labels, which)
    return np.array(names)[codes] if names else np.array([], str)


def _checked(probabilities: Any, n_docs: int, classes: npt.NDArray[Any]) -> Floats:
    array = np.asarray(probabilities, np.float64)
    if array.shape != (n_docs, len(classes)):
        raise DataError(
            f"probabilities have the shape {array.shape}: give a row for each of {n_docs} documents, a column for each "
            f"of {len(classes)} classes"
        )
    if not n_docs:
        raise DataError("there are no documents to measure: give true labels, predictions and probabilities")
    wrong = ~((array >= 0).all(axis=1) & (np.abs(array.sum(axis=1) - 1) <= _ROUNDING))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"the probabilities of document {row} add up to {array[row].sum():.6g}, and the least is "
            f"{array[row].min():.6g}: give numbers from 0 to 1 that add up to 1"
        )
    return np.minimum(array, 1)


def _checked_scores(scores: Any, shape: tuple[int, int]) -> Floats:
    array = np.asarray(scores, np.float64)
    if array.shape != shape:
        raise DataError(f"scores have the shape {array.shape}: give one for each probability, {shape}")
    wrong = ~np.isfinite(array.max(axis=1))
    if wrong.any():
        raise DataError(f"the scores of document {int(wrong.argmax())} have no finite maximum: give numbers")
    return array


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


# --- documents that are predicted wrongly, and why

_LONGEST_EXPLAINED = 50_000  # characters


class Mistake(NamedTuple):
    """A document whose predicted label is none of its own.

    Attributes
    ----------
    given_probability : float
        Of the labels that it has.
    confidence : float
        The probability of the predicted label.
    """

    row: int
    true: tuple[Label, ...]
    predicted: Label
    given_probability: float
    confidence: float


def find_mistakes(evaluation: Evaluation) -> list[Mistake]:
    """All mistakes; those whose own label is least likely come first.

    Examples
    --------
    >>> given = {"true": ["ham"] * 3, "predictions": ["ham", "spam", "spam"], "classes": ["ham", "spam"]}
    >>> evaluation = Evaluation(**given, probabilities=[[0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    >>> [(one.row, one.given_probability) for one in find_mistakes(evaluation)]
    [(2, 0.2), (1, 0.3)]
    """
    own = encoded(evaluation.true, "true")
    given, wrong = evaluation.given_probability, np.flatnonzero(~evaluation.right)
    rows = wrong[np.argsort(given[wrong], kind="stable")]
    names = list(map(tuple, own.names))
    true = [names[group] for group in own.groups[rows].tolist()]
    columns = (evaluation.predictions, given, evaluation.confidence)
    return list(map(Mistake, rows.tolist(), true, *(column[rows].tolist() for column in columns)))


Why = Callable[[Any, Label, Sequence[Label]], "Explanation"]
"""Explains a label of a document against the labels that it has."""


def explain_mistake(why: Why, document: Any, mistake: Mistake) -> Explanation | None:
    """Explain the predicted label against the true one; None if there is no explanation."""
    if isinstance(document, str) and len(document) > _LONGEST_EXPLAINED:
        return None
    try:
        return why(document, mistake.predicted, mistake.true)
    except BunruiError:
        return None  # a document that this model cannot read, such as a row of a table without its columns


def explain_against(clf: AnyClassifier, document: Any, label: Label, given: Sequence[Label]) -> Explanation:
    """Why a label, and not one of those that the document has."""
    known = set(clf.counts.live_labels)
    against = next((name for name in given if name in known and name != label), None)
    return clf.explain(document, label=label, against=against)
