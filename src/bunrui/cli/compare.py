"""`bunrui compare`: every model on the same documents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import typer

import bunrui
from bunrui.cli.collection import LearnedBefore, collect, say_duplicates
from bunrui.cli.console import interrupts, live, say, show, to_json
from bunrui.cli.options import PANEL, Analysis, LabelledDocuments, Model, Parts, argument, flag, option, reads_tables
from bunrui.cli.output import check_page, write_page
from bunrui.errors import OptionError
from bunrui.labels import as_list, type_of
from bunrui.phrases import counted

if TYPE_CHECKING:
    from bunrui.cli.collection import Collection
    from bunrui.selection import Comparison
    from bunrui.selection.compare import Progress, Row


def _names(given: str | None) -> str | None:
    if given is not None and not all(name.strip() for name in given.split(",")):
        raise typer.BadParameter(f"{given!r} has an empty name: give names with commas between them.")
    return given


def compare(
    *,
    data: list[str] = argument("DATA", "Documents with labels, or a classifier that keeps texts.", required=True),
    documents: LabelledDocuments,
    parts: Parts,
    test: str | None = option("--test", "FILE", "Test documents with labels."),
    loo: bool = flag("--loo", "Predict each document by all the others; for models that are not trained.", panel=PANEL),
    models: str | None = option("--models", "NAMES", "Only these models; by default all.", callback=_names),
    analyzers: str | None = option(
        "--analyzers",
        "NAMES",
        "universal, words, ja, zh, ko; words:2 has pairs of words, too. By default those that suit the text.",
        callback=_names,
    ),
    baselines: bool = flag("--baselines", "Add scikit-learn's LinearSVC and LogisticRegression on TF-IDF."),
    html: str | None = option("--html", "PATH", "Write a page with a diagram, too."),
    json: bool = flag("--json", "All figures, as JSON."),
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

    if sum((test is not None, parts.folds is not None, loo)) > 1:
        raise OptionError("give one of --test, --folds and --loo, not several.")
    parts.check()
    check_page(html)
    chosen = check_models(_listed(models), loo=loo, baselines=baselines)
    with interrupts("interrupted"):
        found = collect(data, documents, Model(), Analysis())
        check_text(found, data[0])
        kind = type_of(name for row in found.labels for name in as_list(row))
        tested = collect([test], documents, Model(), Analysis(), label_type=kind) if test is not None else None
        folds = parts.of(found) if parts.by is not None else parts.folds
        result = _compared(
            found, tested, models=chosen, analyzers=_listed(analyzers), folds=folds, loo=loo, baselines=baselines
        )
        if tested is None:
            say_duplicates(found)
        else:
            learned = LearnedBefore.of(found.texts)
            learned.add(tested.texts)
            learned.say(data[0])
    for reason in result.skipped:
        say(f"left out: {reason}")
    _report(result, data, html, json=json)


def _compared(found: Collection, tested: Collection | None, **options: Any) -> Comparison:

    with live() as show_live:

        def watch(progress: Progress) -> None:
            if show_live is not None:
                show_live(lambda most: _growing(progress, most))

        return bunrui.selection.compare(
            found.texts,
            found.labels,
            test=None if tested is None else (tested.texts, tested.labels),
            watch=watch,
            **options,
        )


def _listed(names: str | None) -> list[str] | None:
    """
    >>> _listed("binary, nbsvm")
    ['binary', 'nbsvm']
    """
    return None if names is None else [name.strip() for name in names.split(",")]


def _growing(progress: Progress, most: int) -> Any:
    from rich.console import Group
    from rich.text import Text

    from bunrui.views.comparison import ComparisonTable

    line = Text(f"{len(progress.done.rows) + 1} of {progress.n_all}: {progress.now}", "dim")
    return Group(ComparisonTable(progress.done, most), line) if progress.done.rows else line


def _report(result: Comparison, data: list[str], html: str | None, *, json: bool) -> None:
    from bunrui.views.comparison import ComparisonTable

    if json:
        print(to_json(result.to_dict()))
    else:
        show(ComparisonTable(result))
        _advise(result)
    if html is not None:
        from bunrui.report import comparison_page

        name = ", ".join(map(os.path.basename, data))
        write_page(html, comparison_page(result, facts=[("Data", name)]))


def _advise(result: Comparison) -> None:
    """Say which row to take, where there is a choice."""
    from bunrui.selection.settings import Settings

    first, others = result.rows[0], result.rows[1:]
    tied = [row for row in others if row.verdict == "tied"]
    if not others:
        return
    if not tied:
        say(f"the first, {_named(first)}, is better than {'all others' if others[1:] else 'the other'}")
        return
    ours = [
        (Settings(model=row.model, analyzer=row.analyzer).simplicity(row.cost.size.features), row)
        for row in (first, *tied)
        if row.analyzer is not None  # a baseline
    ]
    take = f"take the simplest, {_named(min(ours, key=lambda pair: pair[0])[1])}, or " if ours else ""
    which = f"{len(tied)} of the {len(others)} other rows" if others[1:] else "the other row"
    on = counted(result.n_docs, "document")
    say(f"{which} {'are' if tied[1:] else 'is'} tied with the first on {on}: {take}compare on more documents")


def _named(row: Row) -> str:
    return f"{row.model} with {row.features}"


def check_text(found: Collection, name: str) -> None:
    """Refuse tables."""
    if reads_tables(found.classifier):
        raise OptionError(f"{name} is a classifier of tables, which have a model of their own: give texts.")
