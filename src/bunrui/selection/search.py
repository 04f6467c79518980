"""Settings that were tried, how good each of them is, and which of them is chosen.

A merit is found document by document, so that two of them can be held against each other:

    accuracy    u[d] = 1 if the best class is one that d has, else 0
    log_loss    u[d] = log P[d], the probability of being right (`evaluation.scores`)
    macro_f1    u[d] = F + n / C · Σ_c (2 tp[d, c] - F[c] (t[d, c] + p[d, c])) / (T[c] + P[c])

    merit       the mean of u: larger is better, so that log loss has its sign changed
    SE(a, b)    the standard deviation of u_a - u_b over √n: of the difference of two merits on the same documents

F1 is no mean over documents; the last line is its linear part (the delta method), whose mean is F.  tp, t and p say
whether d counts in TP[c], T[c] and P[c], C is the number of classes that occur.

The best is not always chosen: its lead may be chance.  Of all settings that are within one standard error of the best
(of the difference, on the same documents), the simplest is.  Simpler is, in this order:

    1. a model that reads counts before one that is trained
    2. fewer settings that differ from the defaults of `TextClassifier`
    3. fewer features
    4. more smoothing, as a multiple of the model's default
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.calibration.reliability import log_right
from bunrui.models.linear import probabilities
from bunrui.selection.measurement import Folds, LeaveOneOut, OutOfTimeError
from bunrui.selection.settings import Settings

__all__ = ["METRICS", "Choice", "Merit", "Metric", "Search", "Trial", "choose", "first_of"]

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

Metric = Literal["accuracy", "macro_f1", "log_loss"]
METRICS: tuple[Metric, ...] = ("accuracy", "macro_f1", "log_loss")

# Where the best has one document more and none less, the lead is one standard error, but for rounding.
_ONE = 1 + 1e-9


class Merit(NamedTuple):
    """`value` is the mean of `parts`, (n_docs,) float32; larger is better."""

    value: float
    parts: npt.NDArray[np.float32]


def measure_merit(metric: Metric, own: Booleans, scores: Floats) -> Merit:
    """The merit of scores.

    Parameters
    ----------
    own : (n_docs, n_classes) bool
        Which classes each document has.
    scores : (n_docs, n_classes)
        -inf for a class that could not be predicted.

    Examples
    --------
    >>> own = np.array([[True, False], [False, True], [False, True]])
    >>> scores = np.log([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    >>> [round(measure_merit(metric, own, scores).value, 4) for metric in METRICS]
    [0.6667, 0.6667, -0.4228]
    """
    if metric == "accuracy":
        parts = own[np.arange(len(own)), scores.argmax(axis=1)].astype(np.float64)
    elif metric == "log_loss":
        parts = log_right(own, probabilities(scores))
    else:
        parts = _f1_parts(own, scores.argmax(axis=1))
    return Merit(float(parts.mean()), parts.astype(np.float32))


def _f1_parts(own: Booleans, predicted: Any) -> Floats:
    n_docs, n_classes = own.shape
    rows = np.arange(n_docs)
    # As `metrics` has it: a document with several classes counts under the predicted one, else under its first.
    true = np.where(own[rows, predicted], predicted, own.argmax(axis=1))
    right, had, given = (
        np.bincount(codes, minlength=n_classes).astype(np.float64)
        for codes in (true[true == predicted], true, predicted)
    )
    both = np.maximum(had + given, 1.0)
    f1 = 2 * right / both
    n_occurring = int((had + given > 0).sum())
    linear = 2 * (true == predicted) / both[true] - f1[true] / both[true] - f1[predicted] / both[predicted]
    return np.asarray(f1.sum() / n_occurring + n_docs / n_occurring * linear)


def standard_error(one: Merit, other: Merit) -> float:
    """Of the difference of two merits on the same documents; 0 for a single document.

    >>> one, other = (Merit(0.0, np.array(parts, np.float32)) for parts in ([1, 1, 0, 1], [1, 0, 0, 1]))
    >>> round(standard_error(one, other), 4)
    0.25
    """
    difference = one.parts.astype(np.float64) - other.parts
    return float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else 0.0


def usual_value(metric: Metric, merit: float) -> float:
    """The metric as it is usually written: log loss is smaller for the better."""
    return -merit if metric == "log_loss" else merit


class Trial(NamedTuple):
    """Settings, and their merit.

    Attributes
    ----------
    how : str
        How documents were predicted.
    n_features : int
        Of the analyzer, before any are left out.
    seconds : float
        Time of the trial.
    """

    settings: Settings
    merit: Merit
    how: str
    n_features: int
    seconds: float

    @property
    def simplicity(self) -> tuple[Any, ...]:
        """Simpler ones sort first."""
        return self.settings.simplicity(self.n_features)


class Choice(NamedTuple):
    """The chosen settings, and those that are as good.

    Attributes
    ----------
    equal : list of Trial
        All that are within one standard error of the best, `chosen` among them; the best first.
    error : float
        The standard error of the difference between the chosen and the best.
    """

    chosen: Trial
    equal: list[Trial]
    error: float

    @property
    def best(self) -> Trial:
        """With the largest merit."""
        return self.equal[0]


def choose(trials: list[Trial]) -> Choice:
    """The simplest of those that are within one standard error of the best."""
    ranked = sorted(trials, key=lambda trial: -trial.merit.value)
    best = ranked[0].merit
    equal = [trial for trial in ranked if best.value - trial.merit.value <= _ONE * standard_error(best, trial.merit)]
    chosen = min(equal, key=lambda trial: trial.simplicity)
    return Choice(chosen, equal, standard_error(best, chosen.merit))


def first_of(ranked: list[Settings], n: int, key: Callable[[Settings], Any]) -> list[Settings]:
    """The first `n` whose keys differ."""
    best: dict[Any, Settings] = {}
    for settings in ranked:
        best.setdefault(key(settings), settings)
    return list(best.values())[:n]


class Search:
    """Tries settings, each once, until the time is up.

    Parameters
    ----------
    basis : LeaveOneOut or Folds
    metric : Metric
    is_late : function
        Whether the time is up; the first trial is finished in any case.
    watch : function
        Called with the search and the next settings before every trial.
    """

    def __init__(
        self,
        basis: LeaveOneOut | Folds,
        metric: Metric,
        is_late: Callable[[], bool] = lambda: False,
        watch: Callable[[Search, Settings], None] = lambda search, settings: None,
    ) -> None:
        self.basis = basis
        self.metric = metric
        self._own = basis.documents.own[basis.rows]
        self._tried: dict[Settings, Trial] = {}
        self._is_late = is_late
        self._watch = watch
        basis.is_over = self.is_over

    @property
    def trials(self) -> list[Trial]:
        """All trials, in their order."""
        return list(self._tried.values())

    def is_over(self) -> bool:
        """Whether no more can be tried."""
        return bool(self._tried) and self._is_late()

    def run(self, settings: Settings) -> Trial:
        """Try settings, if they were not.

        Raises
        ------
        OutOfTimeError
        OptionError
            If the settings are too much for the memory.
        """
        if settings in self._tried:
            return self._tried[settings]
        if self.is_over():
            raise OutOfTimeError
        self._watch(self, settings)
        started = time.perf_counter()
        merit = measure_merit(self.metric, self._own, self.basis.scores(settings))
        n_features = self.basis.n_features(settings.analyzer)
        trial = Trial(settings, merit, self.basis.how, n_features, time.perf_counter() - started)
        self._tried[settings] = trial
        return trial

    def found(self, settings: Settings) -> Trial | None:
        """The trial of settings, if they were tried."""
        return self._tried.get(settings)

    def top(self, n: int, key: Callable[[Settings], Any] = lambda settings: settings) -> list[Settings]:
        """The best `n`, of those with an equal key the best one."""
        ranked = sorted(self.trials, key=lambda trial: -trial.merit.value)
        return first_of([trial.settings for trial in ranked], n, key)

    def value_of(self, trial: Trial) -> float:
        """The metric as it is usually written."""
        return usual_value(self.metric, trial.merit.value)
