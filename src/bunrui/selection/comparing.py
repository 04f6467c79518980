"""`compare`: every model × the analyzers that suit the texts, on the same documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis import texts as inputs
from bunrui.classifier import TextClassifier
from bunrui.errors import DataError, OptionError
from bunrui.evaluation.labelled import Labelled
from bunrui.evaluation.metrics import measure
from bunrui.evaluation.probabilistic import log_loss
from bunrui.evaluation.uncertainty import bootstrap, mcnemar
from bunrui.models import MODELS
from bunrui.models.linear import probabilities
from bunrui.selection.bases import Fitted, Folds, LeaveOneOut, by_folds
from bunrui.selection.comparison import Comparison, Row, significant
from bunrui.selection.corpus import Documents
from bunrui.selection.scripts import analyzer_named, analyzers_for
from bunrui.selection.settings import Settings
from bunrui.selection.sizes import Cost
from bunrui.trained.names import TRAINED

__all__ = ["Progress", "checked", "compare"]

Floats = npt.NDArray[np.float64]

_ON_TEXT = tuple(name for name in TRAINED if name != "columns")
_WARM_BYTES = 300_000  # with so many, kernels run compiled


class Progress(NamedTuple):
    """How far a comparison has come: what is done, what is measured now, and how many there will be in all."""

    done: Comparison
    now: str
    n_all: int


def compare(
    texts: Any,
    labels: Any,
    *,
    test: tuple[Any, Any] | None = None,
    models: Iterable[str] | None = None,
    analyzers: Iterable[str | AnalyzerSpec] | None = None,
    folds: int | Sequence[tuple[Any, Any]] | None = None,
    loo: bool = False,
    baselines: bool = False,
    watch: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Measure models and analyzers on the same documents.

    Parameters
    ----------
    texts, labels
        As for `TextClassifier.learn`.
    test : pair of texts and labels, optional
        Documents that are predicted by those above.
    models : iterable of str, optional
        By default all of them; with `loo` those that read counts.
    analyzers : iterable of str or AnalyzerSpec, optional
        Such as `universal`, `words`, `words:2`.  By default `universal`, words and their pairs where the text has
        spaces, and a dictionary if one is installed for the language of most of the text.
    folds : int or list of (train, test), optional
        How documents predict each other where there is no `test`: in so many parts, 5 by default.
    loo : bool
        Predict each document by all the others, exactly; not for models that are trained.
    baselines : bool
        Add scikit-learn's `LinearSVC` and `LogisticRegression` on TF-IDF.
    watch : function, optional
        Is told the `Progress` before every measurement.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "win money", "lunch?", "lunch at noon", "meeting at noon"]
    >>> labels = ["spam", "spam", "spam", "ham", "ham", "ham"]
    >>> found = compare(texts, labels, models=["binary", "multinomial"], analyzers=["words"], folds=3)
    >>> [row.model for row in found.rows], found.rows[1].verdict
    (['binary', 'multinomial'], 'tied')
    """
    chosen = checked(models, loo=loo, baselines=baselines)
    ways = {"folds": folds is not None, "loo": loo, "test": test is not None}
    if sum(ways.values()) > 1:
        raise OptionError(f"documents are predicted in one way: give one of {', '.join(ways)}, not several")
    basis = _basis(texts, labels, test, folds, loo=loo)
    documents = basis.documents
    given = inputs.is_given(documents.texts)
    if given and (baselines or analyzers):
        what = "analyzers" if analyzers else "baselines"
        raise OptionError(f"{what} are for text, and these documents are tokens or counts: leave them out")
    specs = [analyzer_named(name) for name in analyzers] if analyzers else analyzers_for(documents.texts)
    todo = [Settings(model=model, analyzer=spec) for spec in dict.fromkeys(specs) for model in chosen]
    # What is trained takes its time: all that counts comes first.
    todo.sort(key=lambda settings: settings.is_trained)
    return _measured(basis, todo, baselines, watch or (lambda progress: None))


def checked(models: Iterable[str] | None, *, loo: bool, baselines: bool) -> tuple[str, ...]:
    """The models that are compared, all of them where none are named; what cannot be left out is refused."""
    if loo and baselines:
        raise OptionError("baselines would be trained once for each document: compare them by folds, without loo")
    every = (*MODELS, *(() if loo else _ON_TEXT))
    chosen = every if models is None else tuple(dict.fromkeys(models))
    if not chosen:
        raise OptionError(f"there are no models to compare: choose among {', '.join(every)}")
    for name in chosen:
        if loo and name in _ON_TEXT:
            raise OptionError(f"{name} would be trained once for each document: compare it by folds, without loo")
        if name not in every:
            raise OptionError(f"there is no model {name!r} to compare", option="models", value=name, choices=every)
    return chosen


def _basis(
    texts: Any, labels: Any, test: tuple[Any, Any] | None, folds: int | Sequence[tuple[Any, Any]] | None, *, loo: bool
) -> LeaveOneOut | Folds:
    documents = Documents(texts, labels)
    if test is not None:
        return _on_test(documents, Labelled(*test))
    if loo:
        return LeaveOneOut(documents)
    return by_folds(documents, folds)


def _on_test(documents: Documents, test: Labelled) -> Folds:
    """Learned and tested documents are counted together, and the latter subtracted: the same to the last bit."""
    if not len(test):
        raise DataError("there are no documents to test: give some, with their labels")
    texts = [text for part in (documents, test) for text in inputs.pick(part.texts, np.arange(len(part)))]
    together = Documents(texts, [*documents.true, *test.true])
    train, tested = np.split(np.arange(len(together)), [len(documents)])
    return Folds(together, [(train, tested)], f"by {len(documents):,} others")


def _measured(
    basis: LeaveOneOut | Folds, todo: list[Settings], baselines: bool, watch: Callable[[Progress], None]
) -> Comparison:
    rows: list[Row] = []
    skipped: list[str] = []
    warm: set[str] = set()
    fits = _baselines() if baselines else {}
    n_all = len(todo) + len(fits)

    def so_far() -> Comparison:
        return Comparison(_ranked(rows), basis.how, len(basis.rows), tuple(skipped))

    for settings in todo:
        watch(Progress(so_far(), settings.describe(), n_all))
        if settings.model not in warm:
            _warm_up(basis.documents, settings)
            warm.add(settings.model)
        scores = basis.scores(settings)
        rows.append(_row(basis, settings.model, settings.analyzer, scores, basis.cost(settings)))
    for name, fit in fits.items():
        assert isinstance(basis, Folds)
        watch(Progress(so_far(), name, n_all))
        try:
            scores = basis.refitted(fit)
        except DataError as error:
            skipped.append(str(error))
            continue
        rows.append(_row(basis, name, None, scores, basis.cost()))
    return so_far()


def _baselines() -> dict[str, Callable[[Any, list[Any]], Fitted]]:
    from bunrui.estimators.baselines import BASELINES, fit_baseline  # imports scikit-learn

    return {name: partial(fit_baseline, name) for name in BASELINES}


def _row(basis: LeaveOneOut | Folds, model: str, spec: AnalyzerSpec | None, scores: Floats, cost: Cost) -> Row:
    documents, predicted = basis.documents, scores.argmax(axis=1)
    own = documents.own[basis.rows]
    true = [documents.true[row] for row in basis.rows.tolist()]
    metrics = measure(true, np.array(documents.classes)[predicted], labels=documents.classes)
    right = own[np.arange(len(own)), predicted]
    return Row(model, spec, metrics, bootstrap(metrics), log_loss(own, probabilities(scores)), right, cost)


def _ranked(rows: list[Row]) -> tuple[Row, ...]:
    """The best first, and each of the others held against it."""
    order = sorted(rows, key=lambda row: (-row.metrics.accuracy, -row.metrics.macro.f1, row.cost.size.features))
    level = significant(len(order))
    others = (replace(row, against_first=mcnemar(order[0].right, row.right), level=level) for row in order[1:])
    return (*order[:1], *others)


def _warm_up(documents: Documents, settings: Settings) -> None:
    """Do everything once on some documents: compilers are not to be timed."""
    some = int(np.searchsorted(np.cumsum(documents.sizes), _WARM_BYTES)) + 1
    texts, labels = documents.pick(np.arange(min(some, len(documents))))
    TextClassifier(analyzer=settings.analyzer).learn(texts, labels).unlearn(texts, labels)
    settings.classifier().learn(texts, labels).scores(texts)
