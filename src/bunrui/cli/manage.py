"""`bunrui merge`, `info`, `set`, `copy`, `slim`, `compact`, `export`."""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager, ExitStack, closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bunrui.cli.console import counted, interrupts, plain, say, to_json, uninterrupted
from bunrui.cli.hashing import described
from bunrui.cli.memory import Memory
from bunrui.cli.options import Classifier, Model, UsageError, file_argument, written

if TYPE_CHECKING:
    from bunrui.store import StoredClassifier

__all__ = ["compact", "copy", "export", "info", "merge", "set_", "slim"]

_MOST_LABELS = 50


def merge(
    file: Annotated[str, file_argument("FILE", "The classifier to add to; made if it is not there.")],
    others: Annotated[list[str], file_argument("OTHER", "Classifiers with the same analyzer.")],
    unique: Annotated[bool, typer.Option("--unique", help="Refuse files that have learned the same text.")] = False,
) -> None:
    """Add what other classifiers have learned.

    The result is the classifier that learned everything itself, in any
    order, to the last bit. All of them are added, or none. If FILE is not
    there it is made with the settings of the first, and keeps what all of
    them keep; if it is there, each OTHER must keep as much as FILE does.
    --unique needs files that keep texts or digests.

    [bold]Examples[/]

      bunrui merge all.bunrui monday.bunrui tuesday.bunrui
      bunrui merge mail.bunrui from-a-friend.bunrui
    """
    from bunrui import store

    with interrupts("interrupted; nothing was changed"), ExitStack() as stack:
        opened = [stack.enter_context(closing(store.open(other, read_only=True))) for other in others]
        is_new = not os.path.lexists(file)
        with uninterrupted(), _alike(file, opened) if is_new else closing(store.open(file)) as target:
            before = target.last_change
            left_out = target.merge_all(opened, unique=unique)
            known, changes = target.info(), target.history(after=before)
    documents, labels = counted(known["documents"], "document"), counted(len(known["labels"]), "label")
    n_added = len(others) - len(left_out)
    done = f"merged {counted(n_added, 'file')} into {file}" if n_added else f"nothing new for {file}"
    say(f"{done}: it has learned {documents} of {labels}")
    n_duplicates = sum(entry.note.get("duplicates", 0) for entry in changes)
    if n_duplicates:
        say(f"{n_duplicates:,} of them: a text that was there before; each time counts")


def _alike(file: str, opened: list[StoredClassifier]) -> AbstractContextManager[StoredClassifier]:
    """A new classifier for what the others know."""
    from bunrui import store
    from bunrui.store.store import KEEPS

    keep = min((classifier.keep for classifier in opened), key=KEEPS.index)
    return store.creating(file, keep=keep, **opened[0].get_params())


def info(
    file: Classifier,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what a classifier has learned, how it reads it, and what it keeps.

    [bold]Examples[/]

      bunrui info mail.bunrui
      bunrui info mail.bunrui --json | jq .labels
    """
    from bunrui import store

    with closing(store.open(file, read_only=True)) as classifier:
        known = classifier.info()
        alpha = f"default ({known['alpha']})" if classifier.alpha is None else str(classifier.alpha)
        if classifier.model == "columns" and known["documents"]:
            known |= {"columns": _columns(classifier)}
    if json:
        print(to_json(known))
        return
    for name, value in _rows(known | {"alpha": alpha}):
        print(f"{name:<14}{value}".rstrip())


def _columns(classifier: StoredClassifier) -> dict[str, str]:
    """What the columns of tables are taken for; nothing where that cannot be said."""
    from bunrui.errors import BunruiError

    try:
        return dict(Model().of(classifier).to_sklearn()[-1].columns_)
    except BunruiError as error:
        say(f"warning: the kinds of columns are not known: {error}")
        return {}


def _rows(known: dict[str, Any]) -> list[tuple[str, str]]:
    from bunrui.analysis import AnalyzerSpec

    labels: dict[str, int] = known["labels"]
    widest = max((len(f"{n:,}") for n in labels.values()), default=0)
    rows = [("documents", f"{known['documents']:,}"), ("labels", f"{len(labels):,}")]
    largest = set(sorted(labels, key=lambda label: (-labels[label], label))[:_MOST_LABELS])
    rows += [("", f"{n:>{widest},}  {plain(label)}") for label, n in labels.items() if label in largest]
    if len(labels) > len(largest):
        rows.append(("", f"… {len(labels) - len(largest):,} more with fewer documents: --json has them"))
    kinds: dict[str, str] = known.get("columns", {})
    if kinds:
        rows.append(("columns", f"{len(kinds):,}"))
    rows += [("", f"{kind:<11}  {plain(column)}") for column, kind in kinds.items()]
    rows += [
        ("features", f"{known['features']:,}"),
        *([("", described(known["hashing"]))] if known["hashing"] else []),
        ("analyzer", AnalyzerSpec(**known["analyzer"]).describe()),
        ("model", known["model"]),
        ("smoothing", known["smoothing"]),
        ("alpha", known["alpha"]),
        ("prior", written("prior", known["prior"])),
        ("unseen", known["unseen"]),
        ("min-df", str(known["min_df"])),
        ("max-features", written("max_features", known["max_features"])),
        *((name.replace("_", "-"), "yes") for name in ("class_norm", "against_rest") if known[name]),
        *([("m", f"{known['m']:g}")] if known["model"] == "aode" else []),
        *_calibration(known["calibration"]),
        ("keeps", known["keep"]),
        ("size", size(known["size"])),
        ("changes", f"{known['transactions']:,}"),
        *(
            ("", f"{number}: by {done['engine']}, {done['workers']} workers")
            for number, done in known["engines"].items()
        ),
        ("created", _moment(known["created"])),
        ("changed", _moment(known["changed"])),
    ]
    return rows


def _calibration(known: dict[str, Any] | None) -> list[tuple[str, str]]:
    from bunrui.cli.calibrate import described

    lines = ["no"] if known is None else described(known)
    return [("calibrated" if not place else "", line) for place, line in enumerate(lines)]


def _moment(time: str) -> str:
    """
    >>> _moment("2026-11-15T06:44:26.798623+00:00")
    '2026-11-15 06:44:26 UTC'
    """
    return re.sub(r"(\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:\+00:00|Z)$", r"\1 \2 UTC", time)


def size(n_bytes: int) -> str:
    """Bytes as people read them.

    >>> size(812), size(5_400_000)
    ('812 bytes', '5.4 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:,.1f} MB"


def set_(file: Classifier, model: Model) -> None:
    """Change how a classifier reads its counts.

    What was learned stays as it is: the next prediction answers by the new
    model. To try a model once, give these options to predict or evaluate.
    undo takes it back.

    [bold]Examples[/]

      bunrui set mail.bunrui --model complement --alpha 0.5
      bunrui set mail.bunrui --alpha default --min-df 2
    """
    from bunrui import store

    options = model.given()
    if not options:
        raise UsageError("there is nothing to set: give at least one option, such as --model.")
    with closing(store.open(file)) as classifier, uninterrupted():
        before = classifier.get_params()
        has_changed = classifier.configure(**options).get_params() != before
    if not has_changed:
        say(f"{file} has these settings already: nothing was changed")
        return
    say(f"set {', '.join(name.replace('_', '-') for name in options)} of {file}")


def copy(
    file: Classifier,
    new: Annotated[str, file_argument("NEW", "The copy; it must not be there yet.")],
) -> None:
    """Write a copy of a classifier, also while it learns.

    It has every change that was acknowledged, and no half ones. A plain copy
    of FILE is as good as long as nobody changes or reads it meanwhile.

    [bold]Examples[/]

      bunrui copy mail.bunrui backup.bunrui
    """
    from bunrui.store.store import Store

    with interrupts(f"interrupted; {new} was not written"), closing(Store.open(file, read_only=True)) as store:
        store.copy(new)
    say(f"wrote {new}: {size(os.path.getsize(new))}")


def slim(
    file: Annotated[str, file_argument("IN", "The classifier.")],
    copy: Annotated[str, file_argument("OUT", "The copy; it must not be there yet.")],
    min_df: Annotated[
        int, typer.Option("--min-df", metavar="N", min=1, help="Leave out words of fewer documents, for good.")
    ] = 1,
    memory: Memory = None,
) -> None:
    """Write a small copy that keeps nothing but counts, to serve and to share.

    [bold]Examples[/]

      bunrui slim mail.bunrui public.bunrui
      bunrui slim mail.bunrui tiny.bunrui --min-df 3
      bunrui slim web.bunrui small.bunrui --min-df 2 --memory 2GB
    """
    from bunrui import store

    with interrupts(f"interrupted; {copy} was not written"):
        if memory is not None:
            from bunrui.store.bounded import slim_bounded

            slim_bounded(file, copy, memory, min_df=min_df)
        else:
            with closing(store.open(file, read_only=True)) as classifier:
                classifier.slim(copy, min_df=min_df)
    say(f"wrote {copy}: {size(os.path.getsize(copy))}, {file} has {size(os.path.getsize(file))}")
    if min_df == 1:
        say("it can predict, explain, evaluate, change its model, learn more and be merged")
    else:
        say("it can predict, explain, evaluate and change its model")
        say(f"it lacks the words of fewer than {min_df} documents: it cannot learn, unlearn or be merged exactly")
    say("it cannot tell which documents were learned, nor undo: it has their words, but no texts and no digests")


def compact(file: Classifier) -> None:
    """Make a file as small as it can be, and wipe out what was unlearned.

    Afterwards neither the texts nor the words that only unlearned documents
    had are found in any byte of FILE. The changes before can not be undone.
    It works whatever FILE keeps.

    [bold]Examples[/]

      bunrui compact mail.bunrui
    """
    from bunrui import store

    before = os.path.getsize(file) if os.path.isfile(file) else 0
    with closing(store.open(file)) as classifier, uninterrupted():
        classifier.compact()
    after, old = size(os.path.getsize(file)), size(before)
    say(f"compacted {file}: {after}, as small as it can be" if after == old else f"compacted {file}: {after} of {old}")


def export(
    file: Classifier,
    output: Annotated[str, typer.Argument(metavar="OUT", help="A table: .parquet .arrow .csv .tsv")],
) -> None:
    """Write the counts as a table.

    A row for each word and label that occur together: feature, label,
    term_count (occurrences) and doc_freq (documents). The totals of each
    label are in 'bunrui info --json'. It works whatever FILE keeps.

    [bold]Examples[/]

      bunrui export mail.bunrui counts.parquet
      bunrui export mail.bunrui counts.csv
    """
    from bunrui import store
    from bunrui.cli.output import open_table

    with interrupts(f"interrupted; {output} was not written"), closing(store.open(file, read_only=True)) as classifier:
        with open_table(output) as write:
            for table in classifier.counts.tables():
                write(table)
        n_cells = classifier.counts.n_cells
    say(f"wrote {counted(n_cells, 'row')} into {output}")
