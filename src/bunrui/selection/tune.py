"""`tune`: finds the settings that suit some documents, from these documents alone.

Settings are tried from coarse to fine: each round starts from the best of the rounds before it.

    start       the choice of `auto`, then the plain default
    orders      n-grams of each script in the text: one shorter, and longer as long as that helps; plain words
    models      all models that read counts, with the two best analyzers
    smoothing   λ up and down from the default for the three best, as long as that helps
    rest        for the best: priors, new words, words of few documents, the other estimators
    variants    `class_norm`, `against_rest`, `max_features`
    heads       nbsvm and arow, with the first analyzer, and with the best one if it has not many more features

The last two rounds cannot leave out one document at a time.  They are measured by folds, together with those settings
that cannot be told from the best.

A merit is the mean of a value for each document, so that two merits can be compared document by document:

    accuracy    u[d] = 1 if the best class is one that d has, else 0
    log_loss    u[d] = log P[d], the probability of being right (`evaluation.scores`)
    macro_f1    u[d] = F + n / C · Σ_c (2 tp[d, c] - F[c] (t[d, c] + p[d, c])) / (T[c] + P[c])

    merit       the mean of u: larger is better, so that log loss has its sign changed
    SE(a, b)    the standard deviation of u_a - u_b over √n: of the difference of two merits on the same documents

F1 is no mean over documents; the last line is its linear part (the delta method), whose mean is F.  tp, t and p say
whether d counts in TP[c], T[c] and P[c], C is the number of classes that occur.

The best is not always chosen: its lead may be chance.  The choice is the simplest of all settings within one standard
error of the best (the error of the difference, on the same documents).  Simpler means, in this order:

    1. a model that reads counts before one that is trained
    2. fewer settings that differ from the defaults of `TextClassifier`
    3. fewer features
    4. more smoothing, as a multiple of the model's default
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis import texts as inputs
from bunrui.choice import f1_parts
from bunrui.classifier import TextClassifier
from bunrui.errors import OptionError, check_choice
from bunrui.models import MODELS
from bunrui.models.linear import probabilities
from bunrui.reliability import log_right
from bunrui.selection.measurement import Documents, Folds, LeaveOneOut, OutOfTimeError, by_folds
from bunrui.selection.settings import Scripts, Settings, scripts_of
from bunrui.sparse import Booleans, Floats

_FINALISTS = 5
_SIMPLER = (
    "A model that reads counts is simpler than a trained one; then fewer settings other than the defaults are "
    "simpler, then fewer features, then more smoothing."
)

_ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_NORMED_ALPHAS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
_HEAD_ALPHAS = (1.0,)  # the default is .5; .2 was the choice on none of nine corpora
_NOT_MANY_MORE = 2.5  # times as many features: a head takes time and memory for each of them
_LONGEST_WORDS, _LONGEST_CHARACTERS = 3, 5
_MOST_FEATURES = 3_000_000  # with more, n-grams are not made longer: each step has two to three times as many

# The words that say most are found by sorting all of them, for each fold anew: 3 s for a million.
_MOST_SORTED = 200_000

_REST: tuple[dict[str, Any], ...] = (
    {"prior": "uniform"},
    {"prior": "smoothed"},
    {"unseen": "smooth"},
    {"min_df": 2},
    {"min_df": 3},
    {"smoothing": "map", "alpha": None},
    {"smoothing": "mle", "alpha": None},
)

# Settings are different in kind where these differ.
_analyzer, _analyzer_and_model = attrgetter("analyzer"), attrgetter("analyzer", "model")
_merit = attrgetter("merit.value")  # of a trial

_VARIANTS: tuple[dict[str, Any], ...] = (
    {"model": "binary", "class_norm": True},
    {"model": "multinomial", "class_norm": True},
    {"model": "binary", "against_rest": True},
)


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """The settings that were tried, and the chosen ones.

    Attributes
    ----------
    settings : Settings
        The choice.
    trials : tuple of Trial
        In their order.  The best settings that were measured by leave-one-out are there twice: they were measured by
        folds, too, to compare them with those that can be measured in no other way.
    choice : Choice
        The choice among those that were measured like the chosen one.
    metric : Metric
        The metric to tune for.
    usual : Trial or None
        The choice of `auto`, measured in the same way.
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
        from bunrui.views.comparison import tuning_html

        return tuning_html(self)

    @property
    def settings(self) -> Settings:
        return self.choice.chosen.settings

    @property
    def value(self) -> float:
        """The metric of the choice."""
        return self.choice.chosen.value

    @property
    def n_tried(self) -> int:
        """Settings that were tried."""
        return len({trial.settings for trial in self.trials})

    def classifier(self) -> TextClassifier:
        """A new classifier with these settings, which has learned nothing yet."""
        return self.settings.classifier()

    def reason(self) -> str:
        """The chosen settings and the reasons, in a few sentences."""
        choice, usual = self.choice, self.usual
        beside = ""
        if usual is not None and usual is not choice.chosen:
            beside = f" (the automatic choice has {usual.value:.4f})"
        tried = "1 setting was" if self.n_tried == 1 else f"{self.n_tried} settings were"
        sentences = [
            f"Chosen: {self.settings.describe()}.",
            f"{self.metric.replace('_', ' ').capitalize()} {self.value:.4f}, "
            f"documents predicted {choice.chosen.how}{beside}"
            f"{'; a little too good, since the same documents made the choice' if self.n_tried > 1 else ''}.",
            f"{tried} tried in {self.seconds:.0f} s{', then the time was up' if self.is_cut_short else ''}.",
        ]
        if choice.chosen is not choice.best:
            sentences.append(
                f"The best was {choice.best.settings.describe()} with {choice.best.value:.4f}: "
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
        value = f"{self.metric.replace('_', ' ')} {self.value:.4f}, documents predicted {self.choice.chosen.how}"
        return f"for {value}; {self.n_tried} settings tried in {self.seconds:.0f} s"

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
                    "value": trial.value,
                    "predicted": trial.how,
                    "features": trial.n_features,
                    "seconds": trial.seconds,
                }
                for trial in self.trials
            ],
        }


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
    """Search the analyzer, model, smoothing and other settings that predict the documents best, each without itself.

    Parameters
    ----------
    texts, labels
        As for `TextClassifier.learn`.
    folds : int or list of (train, test), optional
        Measure everything by folds; by default each document is left out in turn, and only settings that cannot do
        that are measured by 5 folds.
    metric : {"accuracy", "macro_f1", "log_loss"}
    budget : float, optional
        Seconds after which the best so far is taken; the automatic choice is measured in any case.
    fast : bool
        Leave out the models that are trained.
    analyzer : AnalyzerSpec, optional
        Where to start: its switches stay, its n-grams change.
    watch : function, optional
        Called with the search and the settings before every trial.

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
    check_choice("metric", metric, METRICS)
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
        usual, _ = Settings.automatic(documents.texts, documents.true, usual.analyzer)
        scripts = None if inputs.is_given(documents.texts) else scripts_of(documents.texts)
        _try_counting(first, usual, scripts)
        choice = choose(first.trials)
        if isinstance(first.basis, LeaveOneOut):
            if is_late():
                raise OutOfTimeError
            first.basis.release()
            finals = search_by(by_folds(documents))
            _run_again(finals, usual, choice)
            last = finals
        _try_variants(last, choice.chosen.settings)
        if not fast:
            _try_heads(last, usual, choice.chosen.settings)
    except OutOfTimeError:
        is_cut_short = True
    return Tuning(
        trials=(*first.trials, *(last.trials if last is not first else ())),
        choice=choose(last.trials),
        metric=metric,
        usual=last.tried.get(usual),
        seconds=time.perf_counter() - started,
        is_cut_short=is_cut_short,
    )


def _run_again(finals: Search, usual: Settings, choice: Choice) -> None:
    """Measure by folds the chosen settings, those that cannot be told from the best, and the automatic choice."""
    equal = top(choice.equal, _FINALISTS, _analyzer_and_model)
    chosen = choice.chosen.settings
    # The chosen analyzer comes last: its counts serve the next trials.
    every = dict.fromkeys([usual, *equal, chosen])
    for settings in sorted(every, key=lambda settings: settings.analyzer == chosen.analyzer):
        finals.run(settings)


def _try_counting(search: Search, automatic: Settings, scripts: Scripts | None) -> None:
    """Settings that can leave out one document at a time, from the automatic choice on.

    `scripts` is None where documents are no text.
    """
    base = automatic.analyzer
    search.run(automatic)
    search.run(Settings(analyzer=base))
    if scripts is not None:
        _orders(search, base, scripts)
    # One analyzer after the other, the better one last: its counts serve the next trials.
    kept = [settings.analyzer for settings in top(search.trials, 2, _analyzer)][::-1]
    for spec in kept:
        for model in MODELS:
            search.run(Settings(analyzer=spec, model=model))
        search.run(automatic.replace(analyzer=spec))
    pairs = [s for s in top(search.trials, len(search.trials), _analyzer_and_model) if s.analyzer in kept]
    for start in sorted(pairs[:3], key=lambda settings: kept.index(settings.analyzer)):
        _climb(search, start)
    for change in _REST:
        best = top(search.trials, 1)[0]
        # With `class_norm`, a word that falls below `min_df` changes all weights of its classes: a model would be
        # fitted for each document.
        if _makes_sense(best.model, change) and not (best.class_norm and "min_df" in change):
            search.run(best.replace(**change))


def _try_variants(search: Search, best: Settings) -> None:
    """Other readings of the counts that the best settings have."""
    here = search.run(best)
    of_two = len(search.basis.documents.classes) == 2
    found = [
        search.run(Settings(analyzer=best.analyzer, **change))
        for change in _VARIANTS
        if not (of_two and "against_rest" in change)  # where the rest is the other class
    ]
    top = max(found, key=_merit)
    if not _leads(here, top):
        _climb(search, top.settings)
        if not of_two:
            with suppress(OptionError):  # it has a weight for every class and word, which may be too many
                search.run(Settings(analyzer=best.analyzer, model="binary", class_norm=True, against_rest=True))
    n_features = search.basis.n_features(best.analyzer)
    if n_features <= _MOST_SORTED:
        for share in (3, 10):
            search.run(best.replace(max_features=max(n_features // share, 1)))


def _try_heads(search: Search, usual: Settings, best: Settings) -> None:
    """The trained heads by the analyzer to start from, then the better one by the best and with other smoothing."""
    found = [search.run(Settings(analyzer=usual.analyzer, model=model)) for model in ("nbsvm", "arow")]
    top = max(found, key=_merit)
    n_features = search.basis.n_features
    if best.analyzer != usual.analyzer and n_features(best.analyzer) <= _NOT_MANY_MORE * n_features(usual.analyzer):
        other = search.run(top.settings.replace(analyzer=best.analyzer))
        top = max(top, other, key=_merit)
    for alpha in _HEAD_ALPHAS:
        search.run(top.settings.replace(alpha=alpha))


def _orders(search: Search, base: AnalyzerSpec, scripts: Scripts) -> None:
    best = base
    # Other analyzers have an order of words alone.
    for script in scripts.ordered if base.name == "universal" else ("spaced",):
        best = _best_order(search, best, script)
    if scripts.has_spaces and base.name == "universal":
        search.run(Settings(analyzer=base.replace(name="words", words=best.words)))


def _best_order(search: Search, spec: AnalyzerSpec, script: str) -> AnalyzerSpec:
    best = search.run(Settings(analyzer=spec))
    order, most = _order(spec, script), _LONGEST_WORDS if script == "spaced" else _LONGEST_CHARACTERS
    if order > 1:
        shorter = search.run(Settings(analyzer=_with_order(spec, script, order - 1)))
        if not _leads(best, shorter):
            return max(best, shorter, key=_merit).settings.analyzer
    for longer in range(order + 1, most + 1):
        if best.n_features > _MOST_FEATURES:
            break
        trial = search.run(Settings(analyzer=_with_order(spec, script, longer)))
        if not _leads(trial, best):
            return max(best, trial, key=_merit).settings.analyzer
        best = trial
    return best.settings.analyzer


def _leads(one: Trial, other: Trial) -> bool:
    """Whether one is better than the other by more than a standard error."""
    return bool(_merit(one) - _merit(other) > standard_error(one.merit, other.merit))


def _order(spec: AnalyzerSpec, script: str) -> int:
    """The longest n-gram."""
    assert spec.words is not None
    return spec.words if script == "spaced" else int(getattr(spec, script)[1])


def _with_order(spec: AnalyzerSpec, script: str, longest: int) -> AnalyzerSpec:
    if script == "spaced":
        return spec.replace(words=longest)
    shortest = min(getattr(spec, script)[0], longest)
    return spec.replace(**{script: (shortest, longest)})


def _climb(search: Search, start: Settings) -> None:
    """λ up, then down, from where it is, as long as that helps."""
    alphas, lam = _NORMED_ALPHAS if start.class_norm else _ALPHAS, start.lam
    assert lam is not None
    above, below = [a for a in alphas if a > 1.01 * lam], [a for a in alphas if a < 0.99 * lam]
    for steps in (above, below[::-1]):
        best = search.run(start)
        for alpha in steps:
            trial = search.run(start.replace(alpha=alpha))
            if _merit(trial) <= _merit(best):
                break
            best = trial


def _makes_sense(model: str, change: dict[str, Any]) -> bool:
    if "prior" in change:
        return MODELS[model].has_prior
    # Presence has to be found first in Python, which takes a hundred times as long.
    return "unseen" not in change or not MODELS[model].presence


# --- settings that were tried, how good each of them is, and which of them is chosen


Metric = Literal["accuracy", "macro_f1", "log_loss"]
METRICS: tuple[Metric, ...] = ("accuracy", "macro_f1", "log_loss")

# If the best is right in one document more and in none less, its lead is one standard error, but for rounding.
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
    predicted = scores.argmax(axis=1)
    is_right = own[np.arange(len(own)), predicted]
    if metric == "accuracy":
        parts = is_right.astype(np.float64)
    elif metric == "log_loss":
        parts = log_right(own, probabilities(scores))
    else:
        # As `metrics` has it: a document with several classes counts under the predicted one, else under its first.
        true = np.where(is_right, predicted, own.argmax(axis=1))
        parts = f1_parts(true, predicted, np.full(len(own), 1 / len(own)), own.shape[1])
    return Merit(float(parts.mean()), parts.astype(np.float32))


def standard_error(one: Merit, other: Merit) -> float:
    """The standard error of the difference of two merits on the same documents; 0 for a single document.

    >>> one, other = (Merit(0.0, np.array(parts, np.float32)) for parts in ([1, 1, 0, 1], [1, 0, 0, 1]))
    >>> round(standard_error(one, other), 4)
    0.25
    """
    difference = one.parts.astype(np.float64) - other.parts
    return float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else 0.0


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
    def value(self) -> float:
        """The metric as it is usually written: log loss, the only one whose merit is below 0, has its sign back."""
        return abs(self.merit.value)

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
    ranked = sorted(trials, key=_merit, reverse=True)
    best = ranked[0].merit
    equal = [trial for trial in ranked if best.value - trial.merit.value <= _ONE * standard_error(best, trial.merit)]
    chosen = min(equal, key=lambda trial: trial.simplicity)
    return Choice(chosen, equal, standard_error(best, chosen.merit))


def top(trials: list[Trial], n: int, key: Callable[[Settings], Any] = lambda settings: settings) -> list[Settings]:
    """The best `n` settings, of those with an equal key the best one."""
    best: dict[Any, Settings] = {}
    for trial in sorted(trials, key=_merit, reverse=True):
        best.setdefault(key(trial.settings), trial.settings)
    return list(best.values())[:n]


@dataclass(eq=False, repr=False)
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

    basis: LeaveOneOut | Folds
    metric: Metric
    is_late: Callable[[], bool]
    watch: Callable[[Search, Settings], None]

    def __post_init__(self) -> None:
        self._own = self.basis.documents.own[self.basis.rows]
        self.tried: dict[Settings, Trial] = {}
        self.basis.is_over = self.is_over

    @property
    def trials(self) -> list[Trial]:
        """All trials, in their order."""
        return list(self.tried.values())

    def is_over(self) -> bool:
        """Whether no more can be tried."""
        return bool(self.tried) and self.is_late()

    def run(self, settings: Settings) -> Trial:
        """Try settings, if they were not.

        Raises
        ------
        OutOfTimeError
        OptionError
            If the settings are too much for the memory.
        """
        if settings in self.tried:
            return self.tried[settings]
        if self.is_over():
            raise OutOfTimeError
        self.watch(self, settings)
        started = time.perf_counter()
        merit = measure_merit(self.metric, self._own, self.basis.scores(settings))
        n_features = self.basis.n_features(settings.analyzer)
        self.tried[settings] = Trial(settings, merit, self.basis.how, n_features, time.perf_counter() - started)
        return self.tried[settings]
