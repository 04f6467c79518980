"""`compare`: measures every model with the suitable analyzers, on the same documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import AnalyzerSpec
from bunrui.analysis import texts as inputs
from bunrui.calibration import fit_calibration
from bunrui.errors import DataError, Option, OptionError
from bunrui.evaluation.loo import Labelled
from bunrui.evaluation.metrics import Metrics
from bunrui.evaluation.result import Evaluation
from bunrui.evaluation.uncertainty import Interval, McNemar, mcnemar
from bunrui.models import AUTO, MODELS, TRAINED
from bunrui.selection.measurement import Cost, Documents, Fit, Folds, LeaveOneOut, by_folds
from bunrui.selection.settings import Settings, analyzer_fields, analyzer_name, analyzer_named, analyzers_for
from bunrui.sparse import Floats

_SIGNIFICANT = 0.05


def significant(n_rows: int) -> float:
    """The p below which one of `n_rows` rows has lost to the best.

    The same documents chose the best row, so any pair of rows may be the tested one: all pairs share the 5 %
    (Bonferroni).  Without this, the best of 33 equal rows beats another 19 times of 20.

    >>> significant(2), round(significant(33), 7)
    (0.05, 9.47e-05)
    """
    return _SIGNIFICANT / max(n_rows * (n_rows - 1) // 2, 1)


@dataclass(frozen=True, eq=False, repr=False)
class Row:
    """One model with one analyzer.

    Attributes
    ----------
    model : str
    analyzer : AnalyzerSpec or None
        None for a baseline, which has its own.
    metrics : Metrics
    interval : Interval
        The bootstrap interval of the accuracy.
    log_loss : float
    right : (n_docs,) bool
        Which documents were labelled rightly.
    cost : Cost
        Time and size.
    against_first : McNemar or None
        The test against the first row; None in the first row.
    level : float
        The p of `against_first` below which this row has lost: see `significant`.
    """

    model: str
    analyzer: AnalyzerSpec | None
    metrics: Metrics
    interval: Interval
    log_loss: float
    right: npt.NDArray[np.bool_]
    cost: Cost
    against_first: McNemar | None = None
    level: float = _SIGNIFICANT

    def __repr__(self) -> str:
        return f"<Row: {self.model}, {self.features}, accuracy {self.metrics.accuracy:.3f}>"

    @property
    def features(self) -> str:
        """The features that it reads, in a word or two."""
        return "TF-IDF" if self.analyzer is None else analyzer_name(self.analyzer)

    @property
    def verdict(self) -> str:
        """Against the first row: `first`, `tied`, or `lost` where chance alone would seldom do that (McNemar)."""
        if self.against_first is None:
            return "first"
        return "lost" if self.against_first.p < self.level else "tied"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the documents, in the types of JSON."""
        against = None
        if self.against_first is not None:
            only_first, only_this, _, p = self.against_first
            against = {"only_first": only_first, "only_this": only_this, "p": p, "level": self.level}
        return {
            "model": self.model,
            "analyzer": None if self.analyzer is None else analyzer_fields(self.analyzer),
            "accuracy": self.metrics.accuracy,
            "interval": self.interval._asdict(),
            "macro_f1": self.metrics.macro.f1,
            "log_loss": self.log_loss,
            "verdict": self.verdict,
            "against_first": against,
            "learn_mb_per_s": self.cost.learn_rate,
            "predict_mb_per_s": self.cost.predict_rate,
            "features": self.cost.size.features,
            "cells": self.cost.size.cells,
        }


@dataclass(frozen=True, repr=False)
class Comparison:
    """Rows from the best accuracy down; of equal ones the better macro F1 first.

    Attributes
    ----------
    rows : tuple of Row
    how : str
        How documents were predicted.
    n_docs : int
        Documents that were predicted.
    skipped : tuple of str
        Rows that could not be measured, and why.
    automatic : str
        The model that the row `auto` stands for; empty if there is no such row.
    calibrated : bool
        Whether `log_loss` is that of calibrated probabilities.
    """

    rows: tuple[Row, ...]
    how: str
    n_docs: int
    skipped: tuple[str, ...] = ()
    automatic: str = ""
    calibrated: bool = False

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.rows)} rows, {self.n_docs} documents, {self.how}; first: {self.rows[0]!r}>"

    def _repr_html_(self) -> str:
        from bunrui.views.comparison import comparison_html

        return comparison_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        rows = [row.to_dict() for row in self.rows]
        known = {"documents": self.n_docs, "predicted": self.how, "automatic": self.automatic}
        known["calibrated"] = self.calibrated
        return known | {"rows": rows, "skipped": list(self.skipped)}


_ON_TEXT = tuple(name for name, kind in TRAINED.items() if kind.on_text)


class Progress(NamedTuple):
    """The progress of a comparison: the rows so far, the row that is measured now, and the number of all rows."""

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
    calibrated: bool = False,
    watch: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Measure models and analyzers on the same documents.

    Parameters
    ----------
    texts, labels
        As for `TextClassifier.learn`.
    test : pair of texts and labels, optional
        Documents to predict after learning `texts`.
    models : iterable of str, optional
        By default all of them, and the automatic choice, `auto`; with `loo` those that read counts.
    analyzers : iterable of str or AnalyzerSpec, optional
        Such as `universal`, `words`, `words:2`.  By default `universal`; `words:2` if the text has spaces; and a
        dictionary if one is installed for the language of most of the text.
    folds : int or list of (train, test), optional
        Without `test`: the number of folds, 5 by default, or the folds.
    loo : bool
        Predict each document by all the others, exactly; not for trained models.
    baselines : bool
        Add scikit-learn's `LinearSVC` and `LogisticRegression` on TF-IDF.
    calibrated : bool
        Measure the log loss of calibrated probabilities: each row is calibrated on its own predictions.
    watch : function, optional
        Called with the `Progress` before every measurement.

    Examples
    --------
    >>> texts = ["cheap pills", "pills now", "win money", "lunch?", "lunch at noon", "meeting at noon"]
    >>> labels = ["spam", "spam", "spam", "ham", "ham", "ham"]
    >>> found = compare(texts, labels, models=["binary", "multinomial"], analyzers=["words"], folds=3)
    >>> [row.model for row in found.rows], found.rows[1].verdict
    (['binary', 'multinomial'], 'tied')
    """
    chosen = check_models(models, loo=loo, baselines=baselines)
    ways = {"folds": folds is not None, "loo": loo, "test": test is not None}
    if sum(ways.values()) > 1:
        raise OptionError(f"documents are predicted in one way: give one of {', '.join(ways)}, not several")
    documents = Documents(texts, labels)
    basis: LeaveOneOut | Folds
    if test is not None:
        basis = _on_test(documents, Labelled(*test))
        documents = basis.documents
    else:
        basis = LeaveOneOut(documents) if loo else by_folds(documents, folds)
    given = inputs.is_given(documents.texts)
    if given and (baselines or analyzers):
        what = "analyzers" if analyzers else "baselines"
        raise OptionError(f"{what} are for text, and these documents are tokens or counts: leave them out")
    specs = [analyzer_named(name) for name in analyzers] if analyzers else analyzers_for(documents.texts)
    every = [Settings(model=model, analyzer=spec) for spec in dict.fromkeys(specs) for model in chosen if model != AUTO]
    # Trained models take their time: models that count come first.
    todo = [(settings.model, settings) for settings in sorted(every, key=lambda settings: settings.is_trained)]
    told = ""
    # The choice must not have seen the documents that test it, so that only the learned ones count.
    if models is None or AUTO in chosen:
        automatic, reason = Settings.automatic(texts, labels, specs[0])
        if AUTO in chosen or not reason:
            todo.append((AUTO, automatic))
            told = automatic.candidate.describe() + (f": {reason}" if reason else ", chosen by leave-one-out")
    found = Comparison((), basis.how, len(basis.rows), automatic=told, calibrated=calibrated)
    return _measure(basis, todo, _baselines() if baselines else {}, found, watch or (lambda progress: None))


def check_models(models: Iterable[str] | None, *, loo: bool, baselines: bool) -> tuple[str, ...]:
    """The models to compare, by default all; those that cannot leave a document out are refused."""
    if loo and baselines:
        problem = "baselines would be trained once for each document: compare them by folds, without "
        raise OptionError((problem, Option("loo")))
    every = (*MODELS, *(() if loo else _ON_TEXT))
    chosen = every if models is None else tuple(dict.fromkeys(models))
    if not chosen:
        raise OptionError(f"there are no models to compare: choose among {', '.join(every)}")
    for name in chosen:
        if loo and name in _ON_TEXT:
            problem = f"{name} would be trained once for each document: compare it by folds, without "
            raise OptionError((problem, Option("loo")))
        if name not in (*every, AUTO):
            choices = (*every, AUTO)
            raise OptionError(f"there is no model {name!r} to compare", option="models", value=name, choices=choices)
    return chosen


def _on_test(documents: Documents, test: Labelled) -> Folds:
    """Learned and tested documents are counted together, and the latter subtracted: the same to the last bit."""
    if not len(test):
        raise DataError("there are no documents to test: give some, with their labels")
    texts = [text for part in (documents, test) for text in inputs.pick(part.texts, np.arange(len(part)))]
    together = Documents(texts, [*documents.true, *test.true])
    train, tested = np.split(np.arange(len(together)), [len(documents)])
    return Folds(together, [(train, tested)], f"by {len(documents):,} others")


def _measure(
    basis: LeaveOneOut | Folds,
    todo: list[tuple[str, Settings]],
    fits: dict[str, Fit],
    found: Comparison,
    watch: Callable[[Progress], None],
) -> Comparison:
    """Add rows to a comparison."""
    rows: list[Row] = []
    skipped: list[str] = []
    n_all = len(todo) + len(fits)

    def so_far() -> Comparison:
        return replace(found, rows=_rank(rows), skipped=tuple(skipped))

    def add(name: str, spec: AnalyzerSpec | None, scores: Floats, cost: Cost) -> None:
        rows.append(_row(basis, name, spec, scores, cost, calibrated=found.calibrated))

    for name, settings in todo:
        watch(Progress(so_far(), settings.describe(), n_all))
        add(name, settings.analyzer, basis.scores(settings), basis.cost(settings))
    for name, fit in fits.items():
        assert isinstance(basis, Folds)
        watch(Progress(so_far(), name, n_all))
        try:
            scores = basis.refit(fit)
        except DataError as error:
            skipped.append(str(error))
            continue
        add(name, None, scores, basis.cost())
    return so_far()


def _baselines() -> dict[str, Fit]:
    from bunrui.estimators.pipelines import BASELINES, fit_baseline  # imports scikit-learn

    return {name: partial(fit_baseline, name) for name in BASELINES}


def _row(
    basis: LeaveOneOut | Folds, model: str, spec: AnalyzerSpec | None, scores: Floats, cost: Cost, *, calibrated: bool
) -> Row:
    documents, rows = basis.documents, basis.rows
    found = Evaluation.of_scores(documents.labels_of(rows), documents.classes, scores)
    served = found
    if calibrated:
        lengths = documents.sizes[rows]
        probabilities = fit_calibration(scores, lengths, documents.own[rows]).apply(scores, lengths)
        served = replace(found, probabilities=probabilities, scores=None)
    return Row(model, spec, found.metrics, found.interval(), served.log_loss, found.right, cost)


def _rank(rows: list[Row]) -> tuple[Row, ...]:
    """The best first, and each of the others held against it."""
    order = sorted(rows, key=lambda row: (-row.metrics.accuracy, -row.metrics.macro.f1, row.cost.size.features))
    level = significant(len(order))
    others = (replace(row, against_first=mcnemar(order[0].right, row.right), level=level) for row in order[1:])
    return (*order[:1], *others)
