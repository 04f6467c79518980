"""`bunrui compare`: every model on the same documents; `bunrui tune`: the settings that suit them."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import typer

import bunrui
from bunrui.cli.console import interrupts, kept_whole, live, say, show, to_json
from bunrui.cli.documents import Collection, LearnedBefore, collect, reads_tables, say_duplicates
from bunrui.cli.info import say_rough
from bunrui.cli.options import PANEL, Analysis, LabelledDocuments, Model, Parts
from bunrui.cli.output import check_folder, check_name, write_page
from bunrui.cli.parameters import LabelledData, flag, option, split_names
from bunrui.errors import OptionError
from bunrui.labels import as_list, type_of
from bunrui.phrases import counted

if TYPE_CHECKING:
    from bunrui.selection import Comparison
    from bunrui.selection.compare import Progress, Row
    from bunrui.selection.settings import Settings
    from bunrui.selection.tune import Search


def compare(
    data: LabelledData,
    documents: LabelledDocuments,
    parts: Parts,
    test: str | None = option("FILE", "Test documents with labels."),
    loo: bool = flag(
        "Predict each document by all the others; for models that are not trained.", rich_help_panel=PANEL
    ),
    models: str | None = option("NAMES", "Only these models; by default all.", callback=split_names),
    analyzers: str | None = option(
        "NAMES",
        "universal, words, ja, zh, ko; words:2 has pairs of words, too. By default those that suit the text.",
        callback=split_names,
    ),
    baselines: bool = flag("Add scikit-learn's LinearSVC and LogisticRegression on TF-IDF."),
    html: str | None = option("PATH", "Write a page with a diagram, too."),
    json: bool = flag("All figures, as JSON."),
) -> None:
    """Compare all models on your documents.

    It tries every model with every suitable analyzer on the same documents;
    each document is predicted by a model that never saw it. The best accuracy
    comes first. A row is tied with it if the documents cannot tell the two
    apart (McNemar's test at 5 %, shared by all pairs of rows, because the
    same documents choose the best). Without --test, --folds and --loo, the
    documents are cut into 5 parts.

    For models that read counts, all documents are counted once and parts are
    subtracted. Models that are trained from documents, and the baselines, are
    trained for each part, which takes longer.

    [bold]Examples[/]

      bunrui compare train.csv
      bunrui compare train.csv --test test.csv --baselines
      bunrui compare mail.bunrui --loo --json | jq '.rows[0]'
      bunrui compare train.csv --models binary-complement,nbsvm --analyzers universal,words:2
      bunrui compare threads.jsonl --id thread --folds 5 --by id
    """
    from bunrui.selection.compare import check_models
    from bunrui.views.comparison import ComparisonTable

    if sum((test is not None, parts.folds is not None, loo)) > 1:
        raise OptionError("give one of --test, --folds and --loo, not several.")
    check_name(html)
    chosen: Any = models  # names, since the callback has split them
    check_models(chosen, loo=loo, baselines=baselines)
    with interrupts("interrupted"):
        found = _texts(data, documents)
        kind = type_of(name for row in found.labels for name in as_list(row))
        tested = _texts([test], documents, kind) if test is not None else None
        folds = parts.of(found) if parts.by is not None else parts.folds
        options = {"models": chosen, "analyzers": analyzers, "folds": folds, "loo": loo, "baselines": baselines}
        options["calibrated"] = found.classifier.is_calibrated
        with live() as show_live:

            def watch(progress: Progress) -> None:
                done = progress.done
                table = partial(ComparisonTable, done) if done.rows else None
                show_live(table, f"{len(done.rows) + 1} of {progress.n_all}: {progress.now}")

            test_on = None if tested is None else (tested.texts, tested.labels)
            result = bunrui.selection.compare(found.texts, found.labels, test=test_on, watch=watch, **options)
        if tested is None:
            say_duplicates(found)
        else:
            learned = LearnedBefore.of(found.texts)
            learned.add(tested.texts)
            learned.say(data[0])
    for reason in result.skipped:
        say(f"left out: {reason}")
    if json:
        print(to_json(result.to_dict()))
    else:
        show(ComparisonTable(result))
        _advise(result)
    if html is not None:
        name = ", ".join(map(os.path.basename, data))
        write_page(html, bunrui.report.comparison_page(result, facts=[("Data", name)]))


def _texts(data: list[str], documents: LabelledDocuments, label_type: type | None = None) -> Collection:
    """The documents of files, or of a classifier that keeps texts; no tables."""
    found = collect(data, documents, Model(), Analysis(), label_type=label_type)
    if reads_tables(found.classifier):
        raise OptionError(f"{data[0]} is a classifier of tables, which have a model of their own: give texts.")
    return found


def _advise(result: Comparison) -> None:
    """Say which row to take, where there is a choice."""
    from bunrui.selection.settings import Settings

    first, others = result.rows[0], result.rows[1:]
    tied = [row for row in others if row.verdict == "tied"]
    if not others:
        return
    if not tied:
        say(f"the first, {_name_row(first)}, is better than {'all others' if others[1:] else 'the other'}")
        return
    ours = [
        (Settings(model=row.model, analyzer=row.analyzer).simplicity(row.cost.size.features), row)
        for row in (first, *tied)
        if row.analyzer is not None  # a baseline
    ]
    take = f"take the simplest, {_name_row(min(ours, key=lambda pair: pair[0])[1])}, or " if ours else ""
    which = f"{len(tied)} of the {len(others)} other rows" if others[1:] else "the other row"
    on = counted(result.n_docs, "document")
    say(f"{which} {'are' if tied[1:] else 'is'} tied with the first on {on}: {take}compare on more documents")


def _name_row(row: Row) -> str:
    return f"{row.model} with {row.features}"


# --- tune

_BATCH = 10_000


def _check_seconds(given: float | None) -> float | None:
    if given is not None and not given > 0:
        raise typer.BadParameter("give more than 0 seconds.")
    return given


def tune(
    *,
    data: LabelledData,
    out: str = option("FILE", "The classifier that is made.", required=True),
    budget: float | None = option(
        "SECONDS",
        "Stop after this time, and take the best so far. The automatic choice is always measured.",
        callback=_check_seconds,
    ),
    fast: bool = flag("Leave out nbsvm and arow, which are trained: seconds in place of minutes."),
    metric: Literal["accuracy", "macro_f1", "log_loss"] = option(
        "NAME", "accuracy, macro_f1 or log_loss.", default="accuracy"
    ),
    json: bool = flag("What was tried and chosen, as JSON."),
    documents: LabelledDocuments,
    parts: Parts,
) -> None:
    """Find good settings for your documents, and make a classifier with them.

    The search goes from coarse to fine: analyzer, model, smoothing, priors
    and the choice of words. Each document is predicted by a model that never
    saw it, so no test documents are needed. Copies and threads make the
    result look better than it is: --folds with --by keeps them together.

    The best setting is taken, unless a simpler one is within one standard
    error of it. FILE then has learned all of DATA and keeps the texts; its
    log records the tuning.

    [bold]Examples[/]

      bunrui tune train.csv --out best.bunrui
      bunrui tune train.csv --out best.bunrui --fast --metric macro_f1
      bunrui tune mail.bunrui --out better.bunrui --budget 60
      bunrui tune threads.jsonl --id thread --out best.bunrui --folds 5 --by id
    """
    from bunrui.views.comparison import trial_table

    check_folder(out, is_new=True)
    with interrupts(f"interrupted; {out} was not made"):
        found = _texts(data, documents)
        cut = parts.of(found)
        say_duplicates(found)
        given: Any = found.classifier.analyzer  # of a file or of the command line: no function
        analyzer = bunrui.AnalyzerSpec(name=given) if isinstance(given, str) else given
        options = {"folds": cut, "analyzer": analyzer, "metric": metric, "budget": budget, "fast": fast}
        with live() as show_live:

            def watch(search: Search, settings: Settings) -> None:
                table = partial(trial_table, search) if search.trials else None
                show_live(table, f"{len(search.trials) + 1}: {settings.describe()}")

            tuning = bunrui.selection.tune(found.texts, found.labels, watch=watch, **options)
        chosen = tuning.settings
        made = bunrui.store.creating(out, keep="text", analyzer=chosen.analyzer, **chosen.options())
        with kept_whole(made) as classifier, classifier.learning(note={"tuned": tuning.note()}) as session:
            for start in range(0, len(found.texts), _BATCH):
                rows = slice(start, start + _BATCH)
                names = {"ids": found.ids[rows], "sources": found.sources[rows]}
                session.add(found.texts[rows], found.labels[rows], **names)
    if json:
        print(to_json(tuning.to_dict()))
    else:
        print(tuning.reason())
    say(f"learned {counted(len(found.labels), 'document')} into {out}")
    say_rough(classifier)
