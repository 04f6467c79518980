"""What is tried, from coarse to fine: each round goes on from the best of those before it.

    orders      n-grams of each script that the text is in, one shorter, and longer as long as that helps; plain words
    models      all models that read counts, by the two best analyzers
    smoothing   λ up and down from the default for the three best, as long as that helps
    rest        of the best: priors, words that were never seen, words of few documents, the other estimators
    variants    counts brought to one size, classes held against the rest, the words that say most
    heads       nbsvm and arow, by the analyzer to start from, and by the best if it has not many more features

The last two cannot leave out one document at a time: they are measured by folds, beside those of the others that
cannot be told from the best.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from bunrui.analysis import AnalyzerSpec
from bunrui.errors import OptionError
from bunrui.models import MODELS
from bunrui.selection.merit import standard_error
from bunrui.selection.scripts import Scripts
from bunrui.selection.search import Search, Trial
from bunrui.selection.settings import Settings

__all__ = ["analyzer_and_model", "try_counting", "try_heads", "try_variants"]

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
_VARIANTS: tuple[dict[str, Any], ...] = (
    {"model": "binary", "class_norm": True},
    {"model": "multinomial", "class_norm": True},
    {"model": "binary", "against_rest": True},
)


def try_counting(search: Search, base: AnalyzerSpec, scripts: Scripts | None) -> None:
    """What can leave out one document at a time; `scripts` is None where documents are no text."""
    search.run(Settings(analyzer=base))
    if scripts is not None:
        _orders(search, base, scripts)
    # One analyzer after the other, the better one last: what is counted by it is there for what follows.
    kept = [settings.analyzer for settings in search.top(2, _analyzer)][::-1]
    for spec in kept:
        for model in MODELS:
            search.run(Settings(analyzer=spec, model=model))
    pairs = [s for s in search.top(len(search.trials), analyzer_and_model) if s.analyzer in kept]
    for start in sorted(pairs[:3], key=lambda settings: kept.index(settings.analyzer)):
        _climb(search, start, _ALPHAS)
    for change in _REST:
        best = search.top(1)[0]
        if _makes_sense(best.model, change):
            search.run(best.replace(**change))


def try_variants(search: Search, best: Settings) -> None:
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
        _climb(search, top.settings, _NORMED_ALPHAS if top.settings.class_norm else _ALPHAS)
        if not of_two:
            with suppress(OptionError):  # it has a weight for every class and word, which may be too many
                search.run(Settings(analyzer=best.analyzer, model="binary", class_norm=True, against_rest=True))
    n_features = search.basis.n_features(best.analyzer)
    if n_features <= _MOST_SORTED:
        for share in (3, 10):
            search.run(best.replace(max_features=max(n_features // share, 1)))


def try_heads(search: Search, usual: Settings, best: Settings) -> None:
    """The trained heads by the analyzer to start from, then the better one by the best and with other smoothing."""
    found = [search.run(Settings(analyzer=usual.analyzer, model=model)) for model in ("nbsvm", "arow")]
    top = max(found, key=_merit)
    n_features = search.basis.n_features
    if best.analyzer != usual.analyzer and n_features(best.analyzer) <= _NOT_MANY_MORE * n_features(usual.analyzer):
        other = search.run(top.settings.replace(analyzer=best.analyzer))
        top = max(top, other, key=_merit)
    for alpha in _HEAD_ALPHAS:
        search.run(top.settings.replace(alpha=alpha))


def analyzer_and_model(settings: Settings) -> tuple[AnalyzerSpec, str]:
    """What makes settings different in kind."""
    return settings.analyzer, settings.model


def _analyzer(settings: Settings) -> AnalyzerSpec:
    return settings.analyzer


def _orders(search: Search, base: AnalyzerSpec, scripts: Scripts) -> None:
    best = base
    # Of other analyzers, only words have an order.
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


def _merit(trial: Trial) -> float:
    return trial.merit.value


def _leads(one: Trial, other: Trial) -> bool:
    """Whether one is better than the other by more than a standard error."""
    return one.merit.value - other.merit.value > standard_error(one.merit, other.merit)


def _order(spec: AnalyzerSpec, script: str) -> int:
    """The longest n-gram."""
    assert spec.words is not None
    return spec.words if script == "spaced" else int(getattr(spec, script)[1])


def _with_order(spec: AnalyzerSpec, script: str, longest: int) -> AnalyzerSpec:
    if script == "spaced":
        return spec.replace(words=longest)
    shortest = min(getattr(spec, script)[0], longest)
    return spec.replace(**{script: (shortest, longest)})


def _climb(search: Search, start: Settings, alphas: tuple[float, ...]) -> None:
    """λ up, then down, from where it is, as long as that helps."""
    lam = start.lam
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
        return "complement" not in model and model != "wcnb"  # which have none
    # Presence has to be found first in Python, which takes a hundred times as long.
    return "unseen" not in change or not MODELS[model].presence
