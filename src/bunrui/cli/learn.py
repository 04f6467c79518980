"""`bunrui learn`, `bunrui unlearn`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import bunrui
from bunrui.cli.console import Bar, extent, interrupts, kept_whole, quote, say, say_reading, uninterrupted
from bunrui.cli.documents import find_chosen, labels_in, locate_errors, point_to_log, reads_tables, require, say_alike
from bunrui.cli.info import calibrate_file, describe_hashing, say_choice, say_rough
from bunrui.cli.options import MEMORY, Chosen, Engine, LabelledDocuments, LearnedAnalysis, Model, Tables, spell_value
from bunrui.cli.parameters import Classifier, argument, file_argument, flag, option
from bunrui.engines.stream import texts_of
from bunrui.errors import OptionError, StoreError, UnlearnError
from bunrui.labels import text_of
from bunrui.models import AUTO
from bunrui.models.kinds import is_kept
from bunrui.phrases import counted, one_line, some

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.classifier import AnyClassifier
    from bunrui.documents import Reader

_DATA = "Files, folders, mailboxes, or - for the standard input."
_POOL = "Texts without a label, to help where labels are few. Can be repeated."


def learn(
    *,
    file: str = file_argument("FILE", "The classifier; made if it is not there."),
    data: list[str] | None = argument("DATA", _DATA),
    documents: LabelledDocuments,
    model: Model,
    analysis: LearnedAnalysis,
    tables: Tables,
    engine: Engine,
    keep: Literal["text", "digests", "nothing"] | None = option(
        "WHAT", "What the file keeps of each document, beside the counts: text (the default), digests or nothing."
    ),
    unlabelled: list[str] | None = option("POOL", _POOL),
    unique: bool = flag("Refuse a text that was learned before, or comes twice."),
    calibrate: bool = flag("Calibrate FILE afterwards, as 'bunrui calibrate' does."),
    memory: str | None = MEMORY,
) -> None:
    """Learn documents with their labels.

    FILE is made if it does not exist; else it learns more: new documents, new
    words, new labels. If something in DATA is wrong, nothing is learned.

    FILE learns counts, so you can change the model at any time (bunrui set).
    You choose the analyzer and --keep once, when FILE is made. --unique needs
    a FILE that keeps texts or digests.

    With --engine ray, the machines of a cluster count DATA, which all of them
    must see. FILE is the same to the last bit, but keeps nothing of the
    documents. Without a cluster, 'bunrui count' makes parts to merge.

    With --memory, DATA may be larger than the memory, and the counts of FILE
    are the same to the last bit; 'bunrui choose' then chooses its model. To
    choose or predict, all of FILE must fit into memory; 'bunrui slim --min-df
    2 --memory 2GB' makes a small copy.

    With --unlabelled, the texts of POOL help where labels are few: FILE learns
    words from them, and guesses their labels meanwhile. How much they count
    is chosen by predicting the labelled documents in five parts, each by the
    others; where they do not help, they do not count. 'bunrui info' says
    which. Labels in POOL are not read; without DATA, FILE learns POOL alone.

    With --columns, DATA are tables, and FILE then reads only tables: each
    column has its own likelihood. Numbers are normal (gaussian) or cut into
    bins (binned); strings that repeat are categories, other strings are text;
    2026-01-31 is a date. A column with numbers and strings has strings. With
    --model aode, columns may depend on each other: numbers and dates are cut
    where labels change, and strings are categories.

    [bold]Examples[/]

      bunrui learn mail.bunrui train.csv
      bunrui learn mail.bunrui today.jsonl.gz --text subject --text body --label folder
      bunrui learn mail.bunrui ~/Mail/spam --as spam
      bunrui learn news.bunrui corpus/ --include '*.txt' --encoding cp932
      bunrui learn small.bunrui train.parquet --keep nothing --analyzer words --words 2
      zcat labels.txt.gz | bunrui learn tags.bunrui - --format fasttext
      bunrui learn t.bunrui adult.csv --columns --label income --kind age=binned
      bunrui learn mail.bunrui train.csv --calibrate
      bunrui learn mail.bunrui few.csv --unlabelled ~/Mail/archive
      bunrui learn web.bunrui 'web/*.parquet' --memory 2GB --keep nothing
      bunrui learn web.bunrui 's3://bucket/*.parquet' --engine ray --address 10.0.0.1:6379
    """
    from bunrui.store.options import hashing_of
    from bunrui.unlabelled import check_reads_pool

    if not data and not unlabelled:
        raise OptionError("give DATA with labels, or --unlabelled POOL, or both.")
    data, unlabelled = data or [], unlabelled or []
    if [*data, *unlabelled].count("-") > 1:
        raise OptionError("the standard input, -, can be read once.")
    if calibrate and keep not in (None, "text"):
        raise OptionError("--calibrate leaves each document out in turn, and needs --keep text.")
    is_new = not os.path.lexists(file)
    at_once = {"columns": tables.columns, "calibrate": calibrate, "unlabelled": unlabelled}
    if engine.is_ray:
        engine.refuse(**at_once, unique=unique, memory=memory)
        if keep not in (None, "nothing"):
            raise OptionError("--engine ray goes with --keep nothing: on a cluster documents stay where they are.")
        keep = "nothing" if is_new else keep
    if tables.columns and (documents.text or analysis.given()):
        raise OptionError("--columns reads all columns of tables: leave --text and the options of the analyzer out.")
    wanted = Wanted(model, analysis.given() | tables.given(), keep)
    if memory is not None:
        for name, is_given in at_once.items():
            if is_given:
                raise OptionError(f"--{name} needs all documents in memory at once: leave --memory out.")
        read = partial(documents.read, data, labelled=True, sparing=True)
        _learn_bounded(file, read, wanted, unique=unique, memory=memory)
        return
    opened = wanted.create(file) if is_new else wanted.open(file)
    with interrupts("interrupted; nothing was changed"), kept_whole(opened) as classifier:
        is_table, before, n_before = reads_tables(classifier), classifier.choice, len(classifier.memory.pool)
        kind = classifier.label_type
        reader = documents.read(data, labelled=True, columns=is_table, label_type=kind) if data else None
        pool = documents.read_pool(unlabelled)
        kept = classifier.documents() if is_table and not is_new and classifier.keep == "text" else ()
        columns = next((list(json.loads(document.text)) for document in kept), [])
        for name, is_given in (("calibrate", calibrate), ("unlabelled", pool is not None)):
            if is_given:
                require(classifier, "text", f"leave --{name} out, or learn into another file")
        if pool is not None:
            check_reads_pool(classifier.get_params())
        if engine.is_ray and reader is not None:
            done = _learn_on_ray(engine.address, classifier, reader)
        else:
            done = _pour(classifier.learning(unique=unique), reader, pool, _names, tables)
    if reader is not None:
        _warn_of_columns(columns, reader)
        _say_learned(file, reader, done, hashing_of(classifier, classifier.counts.n_features))
        say_alike(classifier.counts.live_labels)
    _say_pool(file, pool, n_before, len(classifier.memory.pool))
    say_choice(classifier, before, is_new=is_new)
    if is_new and is_kept(classifier.model) and len(classifier.classes_) > 1 and not calibrate:
        say_rough(classifier)
    if classifier.unlabelled_ is not None:
        say(f"texts without a label: {classifier.unlabelled_.describe()}")
    if calibrate:
        with interrupts("interrupted; the documents were learned"), bunrui.open(file) as classifier:
            calibrate_file(classifier)


def _say_learned(file: str, reader: Reader, done: _Done, hashing: dict[str, Any] | None) -> None:
    say(f"learned {done} into {file} in {done.time}")
    if reader.names_labels:
        names = some((one_line(text_of(label)) for label in sorted(done.labels)), 5)
        say(f"labels after the names of mailboxes or folders: {names}; --as gives another")
    if done.n_empty:
        say(f"{done.n_empty:,} of them without any text: only the label counts")
    if done.n_duplicates:
        say(f"{done.n_duplicates:,} of them repeat a text of this run or an earlier one; each time counts")
    if hashing:
        say(describe_hashing(hashing))
    say_reading(reader)


def _warn_of_columns(known: list[str], reader: Reader) -> None:
    """Say if rows lack a column that others had before: perhaps its name is misspelt."""
    gone = [name for name in known if name not in reader.columns]
    if not gone:
        return
    new = [name for name in reader.columns if name not in known]
    more = f" and have {some(map(quote, new), 5)}, which was not there" if new else ""
    say(f"warning: these rows lack {some(map(quote, gone), 5)}{more}; 'bunrui undo' takes them back")


def _say_pool(file: str, pool: Reader | None, n_before: int, n_after: int) -> None:
    if pool is not None:
        moved = "came" if n_after >= n_before else "went"
        say(f"{counted(abs(n_after - n_before), 'text')} without a label {moved}; {file} has {n_after:,}")
        say_reading(pool)


def _learn_bounded(file: str, read: Callable[..., Reader], wanted: Wanted, *, unique: bool, memory: str) -> None:
    """Learn within some memory, with `--memory`."""
    from bunrui.store.options import hashing_of
    from bunrui.store.sessions import creating_bounded, open_bounded

    is_new = not os.path.lexists(file)
    opened = creating_bounded(file, memory, **wanted.options()) if is_new else closing(open_bounded(file, memory))
    with interrupts("interrupted; nothing was changed"), kept_whole(opened) as target:
        if not is_new:
            if reads_tables(target.classifier):
                raise OptionError(f"{file} reads tables, which must be in memory at once: leave --memory out.")
            wanted.check(target.classifier, file, target.keep)
        reader = read(label_type=target.label_type)
        done = _pour(target.learning(unique=unique), reader, names=_names)
    # Nobody has counted how many buckets of an old file are in use.
    _say_learned(file, reader, done, hashing_of(target.classifier, target.n_features) if is_new else None)
    say_alike(target.learned.live_labels)
    if target.classifier.model == AUTO and target.keep == "text":
        say(f"with --memory, no model is chosen: 'bunrui choose {file}' does it")


def unlearn(
    file: Classifier,
    documents: LabelledDocuments,
    chosen: Chosen,
    data: list[str] | None = argument("DATA", _DATA),
    unlabelled: list[str] | None = option(
        "POOL", "Texts without a label to take back. Can be repeated; 'bunrui forget' takes back all."
    ),
) -> None:
    """Unlearn documents, as if they had never been learned.

    Afterwards the counts of FILE are the same to the last bit as before it
    learned them, and so is every score, unless a model was chosen since. If
    something in DATA was never learned, nothing is unlearned.

    DATA works whatever FILE keeps; --by-id and --by-digest need a FILE that
    keeps texts (the default of learn --keep).

    [bold]Examples[/]

      bunrui unlearn mail.bunrui wrong.csv
      bunrui unlearn mail.bunrui ~/Mail/spam/1234.eml --as spam
      bunrui unlearn mail.bunrui --by-id '<1234@example.org>'
      bunrui unlearn mail.bunrui --unlabelled wrong.txt
    """

    if not unlabelled or data or chosen.by_id or chosen.by_digest:
        chosen.check(data)
    if unlabelled and (chosen.by_id or chosen.by_digest):
        raise OptionError("--unlabelled goes with DATA, or alone.")
    with interrupts("interrupted; nothing was changed"), bunrui.open(file) as classifier:
        before, n_before = classifier.choice, len(classifier.memory.pool)
        pool, reader = documents.read_pool(unlabelled or []), None
        if data:
            kind = classifier.label_type
            reader = documents.read(data, labelled=True, columns=reads_tables(classifier), label_type=kind)
        if reader is None and pool is None:
            n_docs = _unlearn_named(classifier, chosen)
            say(f"unlearned {counted(n_docs, 'document')} from {file}")
        else:
            done = _pour(classifier.unlearning(), reader, pool)
    if reader is not None:
        say(f"unlearned {done} from {file} in {done.time}")
        say_reading(reader)
    _say_pool(file, pool, n_before, len(classifier.memory.pool))
    say_choice(classifier, before)


def _unlearn_named(classifier: bunrui.StoredClassifier, chosen: Chosen) -> int:
    """Take back the documents with some ids or digests; how many there were."""
    require(classifier, "text", "give them as DATA, with their labels")
    documents, before = find_chosen(classifier, chosen), classifier.counts.n_docs
    try:
        with uninterrupted():
            classifier.unlearn(**documents)
    except UnlearnError as error:
        raise point_to_log(classifier, error) from error
    return before - classifier.counts.n_docs


class _Done(NamedTuple):
    """The result of a run."""

    n_docs: int
    labels: set[Any]
    time: str
    n_duplicates: int = 0
    n_empty: int = 0

    def __str__(self) -> str:
        return extent(self.n_docs, len(self.labels))


def _pour(
    change: AbstractContextManager[Any],
    reader: Reader | None,
    pool: Reader | None = None,
    names: Callable[[pa.RecordBatch], dict[str, Any]] = lambda batch: {},
    tables: Tables | None = None,
) -> _Done:
    """All documents of a reader, with their names, and the texts of `pool`, which have no label, into one change."""
    from bunrui.analysis.texts import are_blank

    labels: set[Any] = set()
    n_docs = n_empty = 0
    time = ""
    with kept_whole(change) as step:
        if reader is not None:
            bar = Bar(reader)
            for batch in bar:
                with locate_errors(batch):
                    step.add(texts := texts_of(batch), batch["label"], **names(batch))
                labels |= labels_in(batch)
                n_empty += int(are_blank(texts).sum())
            n_docs, time = bar.n_docs, bar.speed()
            bar.check("changed")
            if tables is not None:
                tables.check_kinds(reader)
        if pool is not None:
            bar = Bar(pool)
            for batch in bar:
                with locate_errors(batch):
                    step.add_unlabelled(texts_of(batch))
            bar.check("changed", "texts without a label")
    return _Done(n_docs, labels, time, getattr(step, "n_duplicates", None) or 0, n_empty)


def _names(batch: pa.RecordBatch) -> dict[str, Any]:
    """How the log calls the documents."""
    ids = batch["id"]
    return {"ids": None if ids.null_count == len(ids) else ids, "sources": batch["source"].dictionary_decode()}


class Wanted(NamedTuple):
    """The options for a new file; an old file must have the same."""

    model: Model
    analyzer: dict[str, Any]
    keep: str | None = None

    @contextmanager
    def open(self, file: str) -> Iterator[bunrui.StoredClassifier]:
        """The classifier in a file, if the options do not contradict it."""
        with bunrui.open(file) as classifier:
            self.check(classifier, file, classifier.keep)
            yield classifier

    def create(self, file: str) -> AbstractContextManager[bunrui.StoredClassifier]:
        """A new classifier, which is not there if something goes wrong."""
        return bunrui.store.creating(file, **self.options())

    def options(self) -> dict[str, Any]:
        """The options of a new classifier; the automatic choice for tables is `columns`."""
        spec, given = bunrui.AnalyzerSpec(**self.analyzer), self.model.given()
        if spec.name == "columns" and given.get("model", "auto") == "auto":
            given["model"] = "columns"
        return given | {"analyzer": spec, "keep": self.keep or "text"}

    def check(self, classifier: AnyClassifier, file: str, keeps: str) -> None:
        """Refuse options that contradict those of a file."""
        for name, wanted in self.model.given().items():
            has = getattr(classifier, name)
            if has is None and name == "alpha":
                has = classifier.effective_alpha if wanted is not None else None  # what the default comes to
            if wanted != has:
                option = f"--{name.replace('_', '-')} {spell_value(name, wanted)}"
                if isinstance(wanted, bool):
                    option = f"--{'' if wanted else 'no-'}{name.replace('_', '-')}"
                hint = f"change it with 'bunrui set {file} {option}', or learn into another file"
                raise OptionError(f"{file} has another {name} ({spell_value(name, has)})", hint=hint)
        if self.analyzer:
            spec = classifier.analyzer
            assert isinstance(spec, bunrui.AnalyzerSpec)  # a file has nothing else
            is_other = self.analyzer.get("name", spec.name) != spec.name
            if is_other or bunrui.AnalyzerSpec(**(asdict(spec) | self.analyzer)) != spec:
                hint = "leave the options of the analyzer out, or learn into another file"
                raise OptionError(f"{file} was made with another analyzer ({spec.describe()})", hint=hint)
        if self.keep not in (None, keeps):
            raise OptionError(f"{file} keeps {keeps}, not {self.keep}: leave --keep out, or learn into another file")


# --- on a cluster


def _learn_on_ray(address: str | None, classifier: bunrui.StoredClassifier, reader: Reader) -> _Done:
    """Learn the documents of a reader into a file."""
    from bunrui.engines.ray import count
    from bunrui.engines.tasks import blank

    if classifier.keep != "nothing":
        why = f"this keeps {classifier.keep} of its documents, and on a cluster they stay where they are"
        raise StoreError(why, file=classifier.path, hint="learn into a new file, or without --engine ray")
    new: bunrui.TextClassifier = blank(classifier)
    with Bar(reader) as bar:
        done = count(new, reader, address=address, tell=bar.tell)
        with uninterrupted():
            classifier.merge_all([new], kind="learn", **done.note())
    time = f"{bar.speed()}, with {counted(done.n_workers, 'worker')}"
    return _Done(done.n_docs, set(new.counts.live_labels), time)
