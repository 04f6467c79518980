"""`bunrui tune`: find the settings that suit some documents, and learn them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import typer

import bunrui
from bunrui.cli.collection import collect, say_duplicates
from bunrui.cli.compare import check_text
from bunrui.cli.console import interrupts, live, say, to_json, uninterrupted
from bunrui.cli.options import Analysis, LabelledDocuments, Model, Parts, argument, flag, option
from bunrui.cli.output import check_folder
from bunrui.errors import OptionError
from bunrui.phrases import counted

if TYPE_CHECKING:
    from bunrui.cli.collection import Collection
    from bunrui.selection import Tuning
    from bunrui.selection.settings import Settings
    from bunrui.selection.tune import Search

_BATCH = 10_000


def _seconds(given: float | None) -> float | None:
    if given is not None and not given > 0:
        raise typer.BadParameter("give more than 0 seconds.")
    return given


def tune(
    *,
    data: list[str] = argument("DATA", "Documents with labels, or a classifier that keeps texts.", required=True),
    documents: LabelledDocuments,
    parts: Parts,
    out: str = option("--out", "FILE", "The classifier that is made.", required=True),
    budget: float | None = option(
        "--budget",
        "SECONDS",
        "Stop after so many seconds, and take the best so far. The defaults are always measured.",
        callback=_seconds,
    ),
    fast: bool = flag("--fast", "Leave out nbsvm and arow, which are trained: seconds in place of minutes."),
    metric: Literal["accuracy", "macro_f1", "log_loss"] = option(
        "--metric", "NAME", "accuracy, macro_f1 or log_loss.", default="accuracy"
    ),
    json: bool = flag("--json", "What was tried and chosen, as JSON."),
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
    parts.check()
    _check_new(out)
    with interrupts(f"interrupted; {out} was not made"):
        found = collect(data, documents, Model(), Analysis())
        check_text(found, data[0])
        cut = parts.of(found)
        say_duplicates(found)
        tuning = _tuned(found, cut, metric=metric, budget=budget, fast=fast)
        _write(out, found, tuning)
    if json:
        print(to_json(tuning.to_dict()))
    else:
        print(tuning.reason())
    say(f"learned {counted(len(found.labels), 'document')} into {out}")


def _check_new(out: str) -> None:
    if not out:
        raise OptionError("--out is empty: give the classifier a name.")
    check_folder(out, is_new=True)


def _tuned(found: Collection, parts: Any, **options: Any) -> Tuning:

    given: Any = found.classifier.analyzer  # of a file or of the command line: no function
    analyzer = bunrui.AnalyzerSpec(name=given) if isinstance(given, str) else given
    with live() as show_live:

        def watch(search: Search, settings: Settings) -> None:
            if show_live is not None:
                show_live(lambda most: _growing(search, settings, most))

        return bunrui.selection.tune(found.texts, found.labels, folds=parts, analyzer=analyzer, watch=watch, **options)


def _growing(search: Search, settings: Settings, most: int) -> Any:
    from rich.console import Group
    from rich.text import Text

    from bunrui.views.comparison import trial_table

    line = Text(f"{len(search.trials) + 1}: {settings.describe()}", "dim")
    return Group(trial_table(search, most), line) if search.trials else line


def _write(out: str, found: Collection, tuning: Tuning) -> None:
    """The classifier that has learned everything; it is there as a whole or not at all."""

    chosen = tuning.settings
    with ExitStack() as stack:
        classifier = stack.enter_context(
            bunrui.store.creating(out, keep="text", analyzer=chosen.analyzer, **chosen.options())
        )
        with classifier.learning(note={"tuned": tuning.note()}) as session:
            for start in range(0, len(found.texts), _BATCH):
                rows = slice(start, start + _BATCH)
                names = {"ids": found.ids[rows], "sources": found.sources[rows]}
                session.add(found.texts[rows], found.labels[rows], **names)
        with uninterrupted():
            stack.close()  # the file gets its name
