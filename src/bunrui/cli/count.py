"""`bunrui count`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import bunrui
from bunrui.cli.console import Bar, interrupts, say, say_reading, uninterrupted
from bunrui.cli.options import LabelledDocuments, LearnedAnalysis, Memory, argument, option
from bunrui.cli.output import check_folder
from bunrui.engines.stream import ahead, texts_of
from bunrui.errors import DataError, OptionError, StoreError
from bunrui.phrases import counted

if TYPE_CHECKING:
    from bunrui.counts import Counts
    from bunrui.documents import Reader


def count(
    *,
    shards: list[str] = argument("SHARD", "Files, folders, mailboxes; 's3://bucket/a.parquet'.", required=True),
    documents: LabelledDocuments,
    analysis: LearnedAnalysis,
    output: str = option("--output", "PART", "The part, a classifier; it is made.", "-o", required=True),
    shard_id: str | None = option(
        "--shard-id",
        "ID",
        "One id for all SHARDs. By default the id of each is a digest of its bytes and of how they are read, which "
        "takes one more pass.",
    ),
    memory: Memory = None,
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
    _check_usage(shards, output, shard_id)
    with interrupts(f"interrupted; {output} was not made"):
        reader = documents.read(shards, labelled=True, sparing=memory is not None).allowing_empty()
        new = _new(analysis)
        note = _note(reader, shard_id)
        if os.path.lexists(output):
            _refuse_others(output, note, new)
            shown = "this shard" if len(note["shards"]) == 1 else "these shards"
            say(f"{output} has {shown} already: it was left as it is")
            return
        if memory is None:
            done, learned = _count(reader, new.learn), new.counts
            with uninterrupted():
                _write(output, new, note)
        else:
            done, learned = _count_bounded(reader, output, new, note, memory)
    labels = counted(len(learned.live_labels), "label")
    say(f"counted {counted(done.n_docs, 'document')} of {labels} into {output} in {done.speed()}")
    say_reading(reader)


def _check_usage(shards: list[str], output: str, shard_id: str | None) -> None:
    if not output:
        raise OptionError("--output is empty: give the part a name.")
    check_folder(output)
    if shard_id is not None and not shard_id.strip():
        raise OptionError("--shard-id is empty: give the shard a name.")
    if "-" in shards and shard_id is None:
        raise OptionError("the standard input has no name that tells it from others: give --shard-id.")


def _note(reader: Reader, shard_id: str | None) -> dict[str, Any]:
    """What the part says of its shards; an id that was given does not tell how they were read."""
    from bunrui.engines.pieces import reading_id, shard_ids
    from bunrui.store.merge import Holding

    if shard_id is None:
        return Holding(frozenset(shard_ids(reader))).note()
    return Holding(frozenset([shard_id])).note() | {"reading": reading_id(reader)}


def _new(analysis: LearnedAnalysis) -> bunrui.TextClassifier:

    return bunrui.TextClassifier(analyzer=bunrui.AnalyzerSpec(**analysis.given()))


def _refuse_others(output: str, note: dict[str, Any], new: bunrui.TextClassifier) -> None:
    """Refuse a file that is not the part that would be made."""

    with closing(bunrui.open(output, read_only=True)) as part:
        notes = [entry.note for entry in part.history() if not entry.undone]
        if notes != [note] or part.counts.fingerprint != new.counts.fingerprint:
            raise StoreError(
                f"{output} is there already, and not what would be counted now: it has other shards, or was counted "
                "with other options. Delete it, or give another name"
            )


def _count(reader: Reader, learn: Callable[[Any, Any], object]) -> Bar:
    with Bar(reader) as bar, closing(ahead(reader)) as batches:  # type: ignore[type-var]
        for batch in batches:
            learn(texts_of(batch), batch["label"])
            bar.add(batch.num_rows)
    if not bar.n_docs and reader.n_skipped:  # a shard may be empty, but not bad from the beginning to the end
        say_reading(reader)
        raise DataError("there are no documents to be read: nothing was counted")
    return bar


def _count_bounded(
    reader: Reader, output: str, new: bunrui.TextClassifier, note: dict[str, Any], memory: str
) -> tuple[Bar, Counts]:
    from bunrui.store.bounded import creating_bounded

    with (
        creating_bounded(output, memory, keep="nothing", **new.get_params()) as part,
        part.learning(kind="count", note=note) as session,
    ):
        done = _count(reader, session.add)
    return done, part.learned


def _write(output: str, new: bunrui.TextClassifier, note: dict[str, Any]) -> None:

    with bunrui.store.creating(output, keep="nothing", **new.get_params()) as part:
        part.merge_all([new], kind="count", **note)
