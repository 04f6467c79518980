"""`bunrui merge`, `copy`, `slim`, `compact`, `train`, `export`; `count`, which makes pieces to merge."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import bunrui
from bunrui.cli.console import Bar, extent, interrupts, say, say_reading, size, uninterrupted
from bunrui.cli.documents import collect
from bunrui.cli.info import say_choice, say_rough
from bunrui.cli.options import MEMORY, Analysis, LabelledDocuments, LearnedAnalysis, Model
from bunrui.cli.output import check_folder, check_name, open_table, write_page
from bunrui.cli.parameters import Classifier, argument, file_argument, flag, option
from bunrui.engines.stream import texts_of
from bunrui.errors import OptionError, StoreError
from bunrui.phrases import counted


def merge(
    file: str = file_argument("FILE", "The classifier to add to; made if it is not there."),
    others: list[str] = file_argument("OTHER", "Classifiers with the same analyzer."),
    unique: bool = flag("Refuse files that have learned the same text."),
) -> None:
    """Add other classifiers to a classifier.

    The result equals a classifier that learned everything at once, in any
    order, to the last bit. All of them are added, or none. If FILE does not
    exist, it gets the settings of the first OTHER, and keeps what all of them
    keep; if it exists, each OTHER must keep as much as FILE. --unique needs
    files that keep texts or digests.

    [bold]Examples[/]

      bunrui merge all.bunrui monday.bunrui tuesday.bunrui
      bunrui merge mail.bunrui from-a-friend.bunrui
    """
    from bunrui.store.store import KEEPS

    with interrupts("interrupted; nothing was changed"), ExitStack() as stack:
        opened = [stack.enter_context(bunrui.open(other, read_only=True)) for other in others]
        keep = min((classifier.keep for classifier in opened), key=KEEPS.index)
        is_new = not os.path.lexists(file)
        made = bunrui.store.creating(file, keep=keep, **opened[0].get_params()) if is_new else bunrui.open(file)
        with uninterrupted(), made as target:
            before, choice = target.last_change, opened[0].choice if is_new else target.choice
            was_calibrated = any(each.is_calibrated for each in (opened if is_new else [target]))
            left_out = target.merge_all(opened, unique=unique)
            known, changes = target.info(), target.history(after=before)
            is_calibrated = target.is_calibrated
    n_added = len(others) - len(left_out)
    done = f"merged {counted(n_added, 'file')} into {file}" if n_added else f"nothing new for {file}"
    say(f"{done}: it has learned {extent(known['documents'], len(known['labels']))}")
    n_duplicates = sum(entry.note.get("duplicates", 0) for entry in changes)
    if n_duplicates:
        say(f"{n_duplicates:,} of them repeat a text that was there before; each time counts")
    say_choice(target, choice, is_new=is_new)
    if was_calibrated and not is_calibrated:
        say_rough(target)


def copy(file: Classifier, new: str = file_argument("NEW", "The copy; it must not be there yet.")) -> None:
    """Copy a classifier, also while it learns.

    The copy has every acknowledged change, and no half one. A plain copy of
    FILE is as good as long as nobody changes or reads FILE meanwhile.

    [bold]Examples[/]

      bunrui copy mail.bunrui backup.bunrui
    """
    from bunrui.store.store import Store

    with interrupts(f"interrupted; {new} was not written"), closing(Store.open(file, read_only=True)) as store:
        store.copy(new)
    say(f"wrote {new}: {size(os.path.getsize(new))}")


def slim(
    file: str = file_argument("IN", "The classifier."),
    copy: str = file_argument("OUT", "The copy; it must not be there yet."),
    min_df: int = option("N", "Leave out words of fewer documents, for good.", min=1, default=1),
    memory: str | None = MEMORY,
) -> None:
    """Write a small copy with counts only, to serve and to share.

    Of nbsvm, arow and twcnb it has the weights too, and answers at once.

    [bold]Examples[/]

      bunrui slim mail.bunrui public.bunrui
      bunrui slim mail.bunrui tiny.bunrui --min-df 3
      bunrui slim web.bunrui small.bunrui --min-df 2 --memory 2GB
    """
    from bunrui.store.options import reader_of
    from bunrui.store.sessions import slim_bounded
    from bunrui.store.store import Store

    model = None  # that was trained
    with interrupts(f"interrupted; {copy} was not written"):
        with closing(Store.open(file, read_only=True)) as store, store.reading():
            like, keep = reader_of(store), store.keep
        if memory is not None:
            least = slim_bounded(file, copy, memory, min_df=min_df)
        else:
            with bunrui.open(file, read_only=True) as classifier:
                model = classifier.model if classifier.needs_documents else None
                least = classifier.slim(copy, min_df=min_df)
    say(f"wrote {copy}: {size(os.path.getsize(copy))}, {file} has {size(os.path.getsize(file))}")
    if least == 1 and model is None:
        say("it can predict, explain, evaluate, change its model, learn more and be merged")
    else:
        say("it can predict, explain, evaluate and change its model")
    if model is not None:
        say(f"it has the weights of {model}, but no documents to train it again: as {model} it learns no more")
    if least > 1:
        say(f"it lacks the words of fewer than {least} documents: it cannot learn, unlearn or be merged exactly")
    if like.is_calibrated and min_df > like.min_df:
        first = f"set --min-df {min_df} and calibrate a copy of {file}, and slim that"
        say(f"its probabilities are not calibrated{f': {first}' if keep == 'text' else ''}")
    say("it cannot tell which documents were learned, nor undo earlier changes: it has no texts and no digests")


def compact(file: Classifier) -> None:
    """Make a file as small as possible, and wipe out unlearned documents.

    Afterwards no byte of FILE has the texts of unlearned documents, or words
    that only they had. Earlier changes cannot be undone, and log tells less
    of them. It works whatever FILE keeps.

    [bold]Examples[/]

      bunrui compact mail.bunrui
    """

    with bunrui.open(file) as classifier, uninterrupted():
        before = os.path.getsize(file)
        classifier.compact()
    after, old = size(os.path.getsize(file)), size(before)
    say(f"compacted {file}: {after}, as small as it can be" if after == old else f"compacted {file}: {after} of {old}")


def train(file: Classifier) -> None:
    """Train the model of a classifier now, so that the next command answers at once.

    Learning does it by itself for nbsvm, arow and twcnb: with the first
    documents, and whenever they have doubled. After an unlearn, a relabel or
    an undo, and for nbsvm and twcnb after every learn, each command trains
    the model again until then, or until this one has done it. The weights
    are in FILE; 'bunrui check' trains the model again and compares them.

    [bold]Examples[/]

      bunrui train reviews.bunrui
    """
    with interrupts("interrupted; nothing was changed"), bunrui.open(file) as classifier:
        before = os.path.getsize(file)
        has_weights = classifier.train()
        model, n_docs = classifier.model, classifier.counts.n_docs
    if not has_weights:
        say(f"nothing was trained: {model} tells nothing apart yet; learn documents of two labels first")
        return
    after, old = size(os.path.getsize(file)), size(before)
    say(f"trained {model} from {counted(n_docs, 'document')}: {file} has {after}, it had {old}")


# --- a page, or a table


def export(
    *,
    file: Classifier,
    output: str | None = argument("OUT", "A table: .parquet .arrow .csv .tsv"),
    page: str | None = option("PATH", "Write a page that classifies and explains in a browser, offline."),
    test: str | None = option(
        "DATA",
        "Measure on these documents what a smaller page costs; by default, on those that FILE keeps.",
        needs="page",
    ),
    documents: LabelledDocuments,
) -> None:
    """Write a page that classifies in a browser, or the counts as a table.

    The page is one HTML file to hand on: it needs no network and nothing to
    install, and sends no text to anybody. It gives the labels and the
    probabilities of 'bunrui predict'. It holds the words of the documents,
    but no texts. It has at most 20 MB: where that is not enough, it leaves
    out the words that tell labels apart least, and says what accuracy that
    costs. It reads texts by the analyzers universal and words, and answers
    as any model but aode and columns.

    The table has a row for each word and label that occur together: feature,
    label, term_count (occurrences) and doc_freq (documents). 'bunrui info
    --json' has the totals of each label. Both work whatever FILE keeps.

    [bold]Examples[/]

      bunrui export mail.bunrui --page mail.html
      bunrui export news.bunrui --page news.html --test test.csv
      bunrui export mail.bunrui counts.parquet
    """
    if (output is None) == (page is None):
        raise OptionError("give OUT for a table, or --page for a page: one of them.")
    if test is None and any(vars(documents).values()):
        raise OptionError("--text, --label and the like are for the documents of --test: give it, or leave them out.")
    check_name(page, "--page")
    target = output or page
    with interrupts(f"interrupted; {target} was not written"), bunrui.open(file, read_only=True) as classifier:
        if page is not None:
            _write_page(page, classifier, test, documents)
        elif output is not None:
            with open_table(output) as write:
                for table in classifier.counts.tables():
                    write(table)
            say(f"wrote {counted(classifier.counts.n_cells, 'row')} into {output}")


def _write_page(path: str, classifier: bunrui.StoredClassifier, test: str | None, documents: LabelledDocuments) -> None:
    from bunrui.export import make_page

    kind = classifier.label_type
    found = None if test is None else collect([test], documents, Model(), Analysis(), label_type=kind)
    made = make_page(classifier, Path(classifier.path).stem, test=found and (found.texts, found.labels))
    write_page(path, made.html)
    cut, has = made.pruning, f"it has {size(os.path.getsize(path))}"
    if cut is None:
        say(f"{has} and all {counted(made.n_features, 'word')}: it answers as the classifier does")
        return
    is_whole, words = cut.kept == cut.all, counted(cut.all, "word")
    said = f"all {words}, with rounded weights" if is_whole else f"{cut.kept:,} of {words}"
    say(f"{has} and {said}{'' if is_whole else ', those that tell labels apart best'}")
    if cut.before is None or cut.after is None:
        say("what that costs was not measured, as the file keeps no texts: give documents with --test")
        return
    on = f"{counted(cut.documents, 'document')}{'' if test else ', predicted by the other four fifths'}"
    whole = "exact weights" if is_whole else "all words"
    say(f"accuracy {cut.before:.1%} with {whole}, {cut.after:.1%} with these, on {on}")


# --- pieces of a corpus


def count(
    *,
    shards: list[str] = argument("SHARD", "Files, folders, mailboxes; 's3://bucket/a.parquet'.", required=True),
    documents: LabelledDocuments,
    analysis: LearnedAnalysis,
    output: str = option("PART", "The part, a classifier; it is made.", "--output", "-o", required=True),
    shard_id: str | None = option(
        "ID",
        "One id for all SHARDs. By default the id of each is a digest of its bytes and of how they are read, which "
        "takes one more pass.",
    ),
    memory: str | None = MEMORY,
) -> None:
    """Count a piece of a corpus, to merge it with others later.

    PART is a classifier that keeps only counts and the ids of its shards. You
    can make parts anywhere, at the same time, and again after a crash: a
    finished PART of the same shards and options is left alone. 'bunrui merge'
    adds parts in any order and any grouping, to the last bit as if one
    process had learned everything; it leaves out shards that it already has.

    [bold]Examples[/]

      bunrui count shard-17.jsonl.gz -o part-17.bunrui
      bunrui count 's3://bucket/day-17/*.parquet' -o part-17.bunrui --shard-id day-17
      ls shard-*.csv | parallel bunrui count {} -o {.}.bunrui
      bunrui count huge.jsonl.zst -o part.bunrui --memory 2GB
      bunrui merge all.bunrui shard-*.bunrui
    """
    from bunrui.store.sessions import creating_bounded

    check_folder(output)
    if "-" in shards and shard_id is None:
        raise OptionError("the standard input has no name that tells it from others: give --shard-id.")
    with interrupts(f"interrupted; {output} was not made"):
        reader = documents.read(shards, labelled=True, sparing=memory is not None).allowing_empty()
        new = bunrui.TextClassifier(analyzer=bunrui.AnalyzerSpec(**analysis.given()))
        note = _note(reader, shard_id)
        if os.path.lexists(output):
            with bunrui.open(output, read_only=True) as part:
                notes = [entry.note for entry in part.history() if not entry.undone]
                if notes != [note] or part.counts.fingerprint != new.counts.fingerprint:
                    other = "this is there already, with other shards or options"
                    raise StoreError(other, file=output, hint="delete it, or give another name")
            shown = "this shard" if len(note["shards"]) == 1 else "these shards"
            say(f"{output} has {shown} already: it was left as it is")
            return
        if memory is None:
            done, learned = _count(reader, new.learn), new.counts
            with uninterrupted(), bunrui.store.creating(output, keep="nothing", **new.get_params()) as part:
                part.merge_all([new], kind="count", **note)
        else:
            made = creating_bounded(output, memory, keep="nothing", **new.get_params())
            with made as bounded, bounded.learning(kind="count", note=note) as session:
                done = _count(reader, session.add)
            learned = bounded.learned
    say(f"counted {extent(done.n_docs, len(learned.live_labels))} into {output} in {done.speed()}")
    say_reading(reader)


def _note(reader: bunrui.documents.Reader, shard_id: str | None) -> dict[str, Any]:
    """The note of a part about its shards; an id that was given does not tell how they were read."""
    from bunrui.engines.pieces import reading_id, shard_ids
    from bunrui.store.merge import Holding

    if shard_id is None:
        return Holding(frozenset(shard_ids(reader))).note()
    return Holding(frozenset([shard_id])).note() | {"reading": reading_id(reader)}


def _count(reader: bunrui.documents.Reader, learn: Callable[[Any, Any], object]) -> Bar:
    bar = Bar(reader)
    for batch in bar:
        learn(texts_of(batch), batch["label"])
    if reader.n_skipped:  # a shard may be empty, but not bad from the beginning to the end
        bar.check("counted")
    return bar
