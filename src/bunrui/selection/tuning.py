"""`tune`: the settings that suit some documents, found from these documents alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis import texts as inputs
from bunrui.classifier import TextClassifier
from bunrui.errors import OptionError
from bunrui.selection.bases import LeaveOneOut, OutOfTimeError, by_folds
from bunrui.selection.corpus import Documents
from bunrui.selection.merit import METRICS, Metric, shown
from bunrui.selection.plan import analyzer_and_model, try_counting, try_heads, try_variants
from bunrui.selection.scripts import scripts_of
from bunrui.selection.search import Choice, Search, Trial, choose, first_of
from bunrui.selection.settings import Settings

__all__ = ["Tuning", "tune"]

_FINALISTS = 5
_SIMPLER = (
    "Simpler is what reads counts and is not trained, then fewer settings that are not the default, then fewer "
    "features, then more smoothing."
)


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """What was tried, and what was chosen.

    Attributes
    ----------
    settings : Settings
        What was chosen.
    trials : tuple of Trial
        All of them, in their order.  Some settings are there twice: what cannot leave out one document at a time was
        held by folds against the best of the others.
    choice : Choice
        Among those that were measured like the chosen one.
    metric : Metric
        That was to be as good as can be.
    usual : Trial or None
        The defaults, measured in the same way.
    seconds : float
        In all.
    is_cut_short : bool
        Whether the time was up before everything was tried.
    """

    trials: tuple[Trial, ...]
    choice: Choice
    metric: Metric
    usual: Trial | None
    seconds: float
    is_cut_short: bool

    def __repr__(self) -> str:
        return f"<Tuning: {self.settings.describe()}, {self.metric} {self.value:.4f}, {self.n_tried} settings tried>"

    def _repr_html_(self) -> str:
        from bunrui.selection.drawn import tuning_html

        return tuning_html(self)

    @property
    def settings(self) -> Settings:
        return self.choice.chosen.settings

    @property
    def value(self) -> float:
        """The metric of what was chosen."""
        return self._shown(self.choice.chosen)

    @property
    def n_tried(self) -> int:
        """Settings that were tried."""
        return len({trial.settings for trial in self.trials})

    def classifier(self) -> TextClassifier:
        """A new classifier with these settings, which has learned nothing yet."""
        return self.settings.classifier()

    def reason(self) -> str:
        """What was chosen, and why, in a few sentences."""
        choice, usual = self.choice, self.usual
        beside = ""
        if usual is not None and usual is not choice.chosen:
            beside = f" (the defaults have {self._shown(usual):.4f})"
        tried = "1 setting was" if self.n_tried == 1 else f"{self.n_tried} settings were"
        sentences = [
            f"Chosen: {self.settings.describe()}.",
            f"{self._name.capitalize()} {self.value:.4f}, documents predicted {choice.chosen.how}{beside}"
            f"{'; that flatters a little, since the same documents have chosen' if self.n_tried > 1 else ''}.",
            f"{tried} tried in {self.seconds:.0f} s{', then the time was up' if self.is_cut_short else ''}.",
        ]
        if choice.chosen is not choice.best:
            sentences.append(
                f"The best was {choice.best.settings.describe()} with {self._shown(choice.best):.4f}: "
                f"{len(choice.equal)} are within one standard error of it (here {choice.error:.4f}), and this is the "
                f"simplest of these. {_SIMPLER}"
            )
        elif len(choice.equal) > 1:
            sentences.append("It is the best of them, and the simplest of those within one standard error of it.")
        elif self.n_tried > 1:
            sentences.append("It is the best of them, and no other is within one standard error of it.")
        return " ".join(sentences)

    def note(self) -> str:
        """How it was tuned, for the log of a file."""
        how = f"documents predicted {self.choice.chosen.how}"
        return f"for {self._name} {self.value:.4f}, {how}; {self.n_tried} settings tried in {self.seconds:.0f} s"

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        return {
            "settings": self.settings.changed(),
            "metric": self.metric,
            "value": self.value,
            "predicted": self.choice.chosen.how,
            "seconds": self.seconds,
            "is_cut_short": self.is_cut_short,
            "reason": self.reason(),
            "trials": [
                {
                    "settings": trial.settings.changed(),
                    "value": self._shown(trial),
                    "predicted": trial.how,
                    "features": trial.n_features,
                    "seconds": trial.seconds,
                }
                for trial in self.trials
            ],
        }

    @property
    def _name(self) -> str:
        return self.metric.replace("_", " ")

    def _shown(self, trial: Trial) -> float:
        return shown(self.metric, trial.merit.value)


def tune(
    texts: Any,
    labels: Any,
    *,
    folds: int | Sequence[tuple[Any, Any]] | None = None,
    metric: Metric = "accuracy",
    budget: float | None = None,
    fast: bool = False,
    analyzer: AnalyzerSpec | None = None,
    watch: Callable[[Search, Settings], None] | None = None,
) -> Tuning:
    """Search analyzer, model, smoothing and the rest for what predicts the documents best, each without itself.

    The module `plan` has what is tried, `search` how one is chosen.

    Parameters
    ----------
    texts, labels
        As for `TextClassifier.learn`.
    folds : int or list of (train, test), optional
        Measure everything by folds; by default each document is left out in turn, and only what cannot do that is
        measured by 5 folds.
    metric : {"accuracy", "macro_f1", "log_loss"}
    budget : float, optional
        Seconds after which the best so far is taken; the defaults are measured in any case.
    fast : bool
        Leave out the models that are trained.
    analyzer : AnalyzerSpec, optional
        Where to start: its switches stay, its n-grams change.
    watch : function, optional
        Is told the search and the settings before every trial.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "win money", "lunch?", "lunch at noon", "meeting at noon"]
    >>> labels = ["spam", "spam", "spam", "ham", "ham", "ham"]
    >>> found = tune(texts, labels, fast=True)
    >>> found.settings.describe()
    'binary-complement, alpha 0.3, universal'
    >>> found.classifier().learn(texts, labels).predict(["cheap money"]).tolist()
    ['spam']
    """
    if metric not in METRICS:
        raise OptionError(option="metric", value=metric, choices=METRICS)
    if budget is not None and not budget > 0:
        raise OptionError(option="budget", value=budget, expected="seconds, more than 0")
    started = time.perf_counter()
    documents = Documents(texts, labels)
    usual = Settings(analyzer=analyzer or AnalyzerSpec())

    def is_late() -> bool:
        return budget is not None and time.perf_counter() - started > budget

    def search_by(basis: Any) -> Search:
        return Search(basis, metric, is_late, watch or (lambda search, settings: None))

    first = last = search_by(LeaveOneOut(documents) if folds is None else by_folds(documents, folds))
    is_cut_short = False
    try:
        try_counting(first, usual.analyzer, None if inputs.is_given(documents.texts) else scripts_of(documents.texts))
        choice = choose(first.trials)
        if folds is None:
            if is_late():
                raise OutOfTimeError
            first.basis.release()
            finals = search_by(by_folds(documents))
            _run_again(finals, usual, choice)
            last = finals
        try_variants(last, choice.chosen.settings)
        if not fast:
            try_heads(last, usual, choice.chosen.settings)
    except OutOfTimeError:
        is_cut_short = True
    return Tuning(
        trials=(*first.trials, *(last.trials if last is not first else ())),
        choice=choose(last.trials),
        metric=metric,
        usual=last.found(usual),
        seconds=time.perf_counter() - started,
        is_cut_short=is_cut_short,
    )


def _run_again(finals: Search, usual: Settings, choice: Choice) -> None:
    """Measure by folds what was chosen, what cannot be told from the best, and the defaults."""
    equal = first_of([trial.settings for trial in choice.equal], _FINALISTS, analyzer_and_model)
    chosen = choice.chosen.settings
    # The chosen analyzer comes last: it stays counted for what follows.
    every = dict.fromkeys([usual, *equal, chosen])
    for settings in sorted(every, key=lambda settings: settings.analyzer == chosen.analyzer):
        finals.run(settings)
