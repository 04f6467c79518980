"""Settings that were tried, and which of them is chosen.

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
from typing import Any, NamedTuple

from bunrui.selection.bases import Basis, OutOfTimeError
from bunrui.selection.merit import Merit, Metric, measured, shown, standard_error
from bunrui.selection.settings import Settings

__all__ = ["Choice", "Search", "Trial", "choose", "first_of"]


# Where the best has one document more and none less, the lead is one standard error, but for rounding.
_ONE = 1 + 1e-9


class Trial(NamedTuple):
    """Settings, and what they are worth.

    Attributes
    ----------
    how : str
        How documents were predicted.
    n_features : int
        Of the analyzer, before any are left out.
    seconds : float
        That the trial took.
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
    """What is chosen.

    Attributes
    ----------
    equal : list of Trial
        Those that are within one standard error of the best, and so is `chosen`; the best first.
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
    basis : Basis
    metric : Metric
    is_late : function
        Whether the time is up; the first trial is finished in any case.
    watch : function
        Is told the search and what is tried next.
    """

    def __init__(
        self,
        basis: Basis,
        metric: Metric,
        is_late: Callable[[], bool] = lambda: False,
        watch: Callable[[Search, Settings], None] = lambda search, settings: None,
    ) -> None:
        self.basis = basis
        self.metric = metric
        self.trials: list[Trial] = []
        self._own = basis.documents.own[basis.rows]
        self._tried: dict[Settings, Trial] = {}
        self._is_late = is_late
        self._watch = watch
        basis.is_over = self.is_over

    def is_over(self) -> bool:
        """Whether no more can be tried."""
        return bool(self.trials) and self._is_late()

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
        merit = measured(self.metric, self._own, self.basis.scores(settings))
        n_features = self.basis.n_features(settings.analyzer)
        trial = Trial(settings, merit, self.basis.how, n_features, time.perf_counter() - started)
        self._tried[settings] = trial
        self.trials.append(trial)
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
        return shown(self.metric, trial.merit.value)
