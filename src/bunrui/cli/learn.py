"""`bunrui learn`, `bunrui unlearn`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bunrui.cli.batches import labels_in, place, placed
from bunrui.cli.cluster import Engine, learn_on_ray
from bunrui.cli.console import Bar, counted, interrupts, plain, say, say_skipped, uninterrupted
from bunrui.cli.options import (
    Analysis,
    Chosen,
    Classifier,
    LabelledDocuments,
    Model,
    UsageError,
    file_argument,
    written,
)
from bunrui.cli.tables import Tables, known_columns, reads_tables, warn_of_columns
from bunrui.engines.batches import texts_of

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.documents import Reader
    from bunrui.stored import StoredClassifier

__all__ = ["learn", "unlearn"]

Keep = Literal["text", "digests", "nothing"]

_DATA = "Files, folders, mailboxes, or - for the standard input."


def learn(
    file: Annotated[str, file_argument("FILE", "The classifier; made if it is not there.")],
    data: Annotated[list[str], typer.Argument(metavar="DATA", help=_DATA)],
    documents: LabelledDocuments,
    model: Model,
    analysis: Analysis,
    tables: Tables,
    engine: Engine,
    keep: Annotated[
        Keep | None,
        typer.Option(
            "--keep",
            metavar="WHAT",
            show_default=False,
            help="What the file keeps of each document, beside the counts: text (the default), digests or nothing.",
        ),
    ] = None,
    unique: Annotated[
        bool, typer.Option("--unique", help="Refuse a text that was learned before, or comes twice.")
    ] = False,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Calibrate FILE afterwards, as 'bunrui calibrate' does.")
    ] = False,
) -> None:
    """Learn documents with their labels.

    The classifier FILE is made if it is not there, else extended: with
    new documents, new words and new labels. All of DATA is learned, or,
    if something in it is wrong, nothing.

    What is learned are counts, so the model can be changed at any time
    (bunrui set); the analyzer and --keep are chosen once, when FILE is made.
    --unique needs a FILE that keeps texts or digests.

    With --engine ray, the machines of a cluster count DATA, which all of them
    must see; FILE keeps nothing of the documents, and is the same to the last
    bit. Without a cluster, 'bunrui count' makes parts that merge.

    With --columns, DATA are tables, and FILE reads tables ever after: each
    column has a likelihood of its own. Numbers are normal (gaussian) or cut
    into bins (binned); strings are categories where they repeat, else text;
    2026-01-31 is a date. A column with numbers and strings has strings.

    [bold]Examples[/]

      bunrui learn mail.bunrui train.csv
      bunrui learn mail.bunrui today.jsonl.gz --text subject --text body --label folder
      bunrui learn mail.bunrui ~/Mail/spam --as spam
      bunrui learn news.bunrui corpus/ --include '*.txt' --encoding cp932
      bunrui learn small.bunrui train.parquet --keep nothing --analyzer words --words 2
      zcat labels.txt.gz | bunrui learn tags.bunrui - --format fasttext
      bunrui learn t.bunrui adult.csv --columns --label income --kind age=binned
      bunrui learn mail.bunrui train.csv --calibrate
      bunrui learn web.bunrui 's3://bucket/*.parquet' --engine ray --address 10.0.0.1:6379
    """
    if engine.is_ray:
        engine.refuse(columns=tables.columns, unique=unique, calibrate=calibrate)
        keep = engine.keep(keep, is_new=not os.path.lexists(file))
    tables.check(documents, analysis)
    analyzer = analysis.given() | tables.given()
    with interrupts("interrupted; nothing was changed"), ExitStack() as stack:
        classifier, columns = None, []
        if os.path.lexists(file):
            classifier = stack.enter_context(_old(file, model, analyzer, keep))
        is_table = tables.columns if classifier is None else reads_tables(classifier)
        reader = documents.read(data, labelled=True, columns=is_table)
        if calibrate and (keep or "text" if classifier is None else classifier.keep) != "text":
            raise UsageError("--calibrate leaves each document out in turn: it needs a FILE that keeps texts.")
        if classifier is None:
            classifier = stack.enter_context(_new(file, model, analyzer, keep))
        elif is_table:
            columns = known_columns(classifier)
        if engine.is_ray:
            say_done = learn_on_ray(engine.address, file, classifier, reader)
            with uninterrupted():
                stack.close()
            say_done()
            return
        done = _pour(reader, partial(classifier.learning, unique=unique), _names, tables.check_kinds)
        with uninterrupted():
            stack.close()  # a new file gets its name
    warn_of_columns(columns, reader)
    say(f"learned {done} into {file} in {done.time}")
    if reader.names_labels:
        say(f"labels after the names of mailboxes or folders: {done.labels}; --as gives another")
    if done.n_duplicates:
        say(f"{done.n_duplicates:,} of them: a text that came before, in this run or an earlier one; each time counts")
    say_skipped(reader)
    if calibrate:
        _calibrate(file)


def _calibrate(file: str) -> None:
    from bunrui import stored
    from bunrui.cli.calibrate import calibrate_file

    with interrupts("interrupted; the documents were learned"), closing(stored.open(file)) as classifier:
        calibrate_file(classifier)


def unlearn(
    file: Classifier,
    documents: LabelledDocuments,
    chosen: Chosen,
    data: Annotated[list[str] | None, typer.Argument(metavar="DATA", help=_DATA)] = None,
) -> None:
    """Take documents back.

    Afterwards FILE is the classifier that never learned them, to the last
    bit of every score. All of DATA is taken back, or, if something in it
    was never learned, nothing.

    With DATA this works whatever FILE keeps; --by-id and --by-digest need
    a FILE that keeps texts (the default of learn --keep).

    [bold]Examples[/]

      bunrui unlearn mail.bunrui wrong.csv
      bunrui unlearn mail.bunrui ~/Mail/spam/1234.eml --as spam
      bunrui unlearn mail.bunrui --by-id '<1234@example.org>'
    """
    from bunrui import stored

    chosen.check(data)
    with interrupts("interrupted; nothing was changed"), closing(stored.open(file)) as classifier:
        if not data:
            n_docs = _unlearn_named(classifier, chosen)
            say(f"unlearned {counted(n_docs, 'document')} from {file}")
            return
        reader = documents.read(data, labelled=True, columns=reads_tables(classifier))
        done = _pour(reader, classifier.unlearning)
    say(f"unlearned {done} from {file} in {done.time}")
    say_skipped(reader)


def _unlearn_named(classifier: StoredClassifier, chosen: Chosen) -> int:
    """Take back the documents with some ids or digests; how many there were."""
    from bunrui.cli.kept import named, need, unknown
    from bunrui.errors import UnlearnError

    need(classifier, "text", "give them as DATA, with their labels")
    documents, before = named(classifier, chosen), classifier.counts.n_docs
    try:
        with uninterrupted():
            classifier.unlearn(**documents)
    except UnlearnError as error:
        raise unknown(classifier, error) from error
    return before - classifier.counts.n_docs


class _Done:
    """What a run did."""

    def __init__(self, n_docs: int, labels: set[str], time: str, n_duplicates: int) -> None:
        self._n_docs, self._labels, self.time, self.n_duplicates = n_docs, labels, time, n_duplicates

    def __str__(self) -> str:
        return f"{counted(self._n_docs, 'document')} of {counted(len(self._labels), 'label')}"

    @property
    def labels(self) -> str:
        """Their names, or the first of them."""
        names = sorted(self._labels)
        return ", ".join(plain(name) for name in names[:5]) + (" …" if len(names) > 5 else "")


def _pour(
    reader: Reader,
    change: Callable[[], AbstractContextManager[Any]],
    named: Callable[[pa.RecordBatch], dict[str, Any]] = lambda batch: {},
    check: Callable[[Reader], None] = lambda reader: None,
) -> _Done:
    """All documents of a reader, with their names, into one change of a classifier, unless `check` refuses them."""
    from bunrui.engines.stream import ahead
    from bunrui.errors import DataError, DuplicateError, UnlearnError

    labels: set[str] = set()
    with Bar(reader) as bar, ExitStack() as stack:
        step = stack.enter_context(change())
        for batch in stack.enter_context(closing(ahead(reader))):  # type: ignore[type-var]
            try:
                with placed(batch):
                    step.add(texts_of(batch), batch["label"], **named(batch))
            except (DuplicateError, UnlearnError) as error:
                raise type(error)(f"{place(batch, error.row)}{error}") from error
            labels |= labels_in(batch)
            bar.add(batch.num_rows)
        if not bar.n_docs:
            say_skipped(reader)
            raise DataError("there are no documents to be read: nothing was changed")
        check(reader)
        with uninterrupted():
            stack.close()
        return _Done(bar.n_docs, labels, bar.speed(), getattr(step, "n_duplicates", None) or 0)


def _names(batch: pa.RecordBatch) -> dict[str, Any]:
    """How the log calls the documents."""
    ids = batch["id"]
    return {
        "ids": None if ids.null_count == len(ids) else ids,
        "sources": batch["source"].dictionary_decode(),
    }


# --- making and extending


@contextmanager
def _old(file: str, model: Model, analyzer: dict[str, Any], keep: str | None) -> Iterator[StoredClassifier]:
    """The classifier in a file, if the options do not contradict it."""
    from bunrui import stored

    with closing(stored.open(file)) as classifier:
        _refuse_contradictions(classifier, model, analyzer, keep)
        yield classifier


def _new(
    file: str, model: Model, analyzer: dict[str, Any], keep: str | None
) -> AbstractContextManager[StoredClassifier]:
    """A new classifier, which is not there if something goes wrong."""
    from bunrui import stored
    from bunrui.analysis import AnalyzerSpec

    spec = AnalyzerSpec(**analyzer)
    options = ({"model": "columns"} if spec.name == "columns" else {}) | model.given() | {"analyzer": spec}
    return stored.creating(file, keep=keep or "text", **options)


def _refuse_contradictions(
    classifier: StoredClassifier, model: Model, analyzer: dict[str, Any], keep: str | None
) -> None:
    from bunrui.analysis import AnalyzerSpec
    from bunrui.errors import OptionError

    file, known = classifier.path, classifier.info()
    for name, wanted in model.given().items():
        has = getattr(classifier, name)
        if has is None and name == "alpha":
            has = known["alpha"] if wanted is not None else None  # what the default comes to
        if wanted != has:
            option = f"--{name.replace('_', '-')} {written(name, wanted)}"
            if isinstance(wanted, bool):
                option = f"--{'' if wanted else 'no-'}{name.replace('_', '-')}"
            raise OptionError(
                f"{file} has another {name} ({written(name, has)}): change it with 'bunrui set {file} {option}', "
                "or learn into another file"
            )
    if analyzer:
        spec = AnalyzerSpec(**known["analyzer"])
        is_other = analyzer.get("name", spec.name) != spec.name
        if is_other or AnalyzerSpec(**(known["analyzer"] | analyzer)) != spec:
            raise OptionError(
                f"{file} was made with another analyzer ({spec.describe()}): leave the options of the analyzer out, "
                "or learn into another file"
            )
    if keep not in (None, classifier.keep):
        raise OptionError(f"{file} keeps {classifier.keep}, not {keep}: leave --keep out, or learn into another file")
