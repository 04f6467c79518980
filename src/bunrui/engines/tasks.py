"""What runs on the workers of a cluster: pure functions of a block and of what all blocks share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bunrui.counts import Counts
from bunrui.documents import Reader
from bunrui.engines.batches import texts_of
from bunrui.engines.blocks import Block
from bunrui.engines.labels import check_new, label_sets
from bunrui.engines.outputs import Folder
from bunrui.engines.partitions import Part, added, parts_of
from bunrui.errors import BunruiError, DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Answers", "Done", "Labels", "add_parts", "blank", "count_block", "count_table", "predict_block"]

_MOST_SCORES = 1 << 22  # of the documents that are scored at once


class Done(NamedTuple):
    """What a worker says of its block."""

    n_docs: int
    n_bytes: int
    n_skipped: int
    bad_rows: list[DataError]
    encodings: dict[str, int]
    doubtful_headers: list[str]


class Answers(Protocol):
    """Writes what is asked of documents into a Parquet file; how many there were."""

    def __call__(self, batches: Iterable[pa.RecordBatch], path: str) -> int: ...


# --- what all blocks of a run share

_here: dict[bytes, Any] = {}


def _shared(refs: list[Any], make: Callable[[Any], Any]) -> Any:
    """What was sent once, made ready once in this process."""
    import ray

    os.environ.setdefault("BUNRUI_THREADS", "1")  # each core has a worker of its own
    key = refs[0].binary()
    if key not in _here:
        _here.clear()
        _here[key] = make(ray.get(refs[0]))
    return _here[key]


def _as_it_is(sent: Any) -> Any:
    return sent


def _answering(sent: tuple[Any, Callable[[Any], Answers]]) -> Answers:
    # A copy: what was sent cannot be written to, and the kernels are compiled for arrays that can.
    classifier, answers = sent
    copy = blank(classifier).merge(classifier)
    copy.set_calibration(classifier.calibration)
    return answers(copy)


def blank(classifier: Any) -> Any:
    """A classifier in memory with the same options, which has learned nothing."""
    clone = getattr(classifier, "__sklearn_clone__", None)  # of one in a file
    return clone() if clone else type(classifier)(**classifier.get_params())


def _sendable(error: BunruiError) -> BunruiError:
    """The error with its fields and nothing else: its cause may not survive the way to another process."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


# --- counting


# Errors in the data are results, too: Ray shows those that are raised to everybody, once for each part.


def _done(n_docs: int, block: Block, reader: Reader) -> Done:
    return Done(n_docs, block.n_bytes, reader.n_skipped, reader.bad_rows, reader.encodings, reader.doubtful_headers)


def count_block(shared: list[Any], block: Block, n_parts: int) -> list[Any]:
    """What is done, or an error, and the counts of a block in parts."""
    try:
        reader = block.read()
        total = _counts(shared, reader)
    except BunruiError as error:
        return [_sendable(error), *[None] * n_parts]
    return [
        _done(total.n_docs, block, reader),
        *parts_of(total, n_parts),
    ]


def count_table(shared: list[Any], table: Any, n_parts: int) -> list[Any]:
    """The same for a block of a data set."""
    try:
        total = _counts(shared, _arrow(table, "text", "label").to_batches())
    except BunruiError as error:
        return [_sendable(error), *[None] * n_parts]
    return [Done(total.n_docs, _n_bytes(table), 0, [], {}, []), *parts_of(total, n_parts)]


def _counts(shared: list[Any], batches: Iterable[pa.RecordBatch]) -> Counts:
    classifier = _shared(shared, _as_it_is)
    total = Counts(classifier.counts.fingerprint)
    for batch in batches:
        sets = label_sets(batch["label"], batch.num_rows, total.label_ids)
        check_new(sets.labels)
        total.add(classifier.count_sets(texts_of(batch), sets))
    return total


def add_parts(*parts: Part) -> Part:
    """The sum of parts of the same number."""
    return added(parts)


# --- predicting


class Labels:
    """The label of each document, and its probability."""

    def __init__(self, classifier: Any) -> None:
        self._classifier = classifier
        self._classes: list[str] = classifier.classes_.tolist()

    def __call__(self, batches: Iterable[pa.RecordBatch], path: str) -> int:
        import pyarrow as pa
        import pyarrow.parquet as pq

        n_docs = 0
        with ExitStack() as stack:
            writer: Any = None
            for batch in batches:
                columns = {"source": batch["source"].dictionary_decode(), "line": batch["line"], "id": batch["id"]}
                labels, shares = self.of(texts_of(batch))
                table = pa.table(columns | {"label": labels, "probability": shares})
                if writer is None:
                    writer = stack.enter_context(pq.ParquetWriter(path, table.schema))
                writer.write_table(table)
                n_docs += batch.num_rows
        return n_docs

    def of(self, texts: Any) -> tuple[Any, Any]:
        """Labels and probabilities, as Arrow arrays in chunks."""
        import pyarrow as pa

        most = max(1, _MOST_SCORES // len(self._classes))
        classes = pa.array(self._classes, pa.string())
        labels, shares = [], []
        for start in range(0, max(len(texts), 1), most):
            some = texts[start : start + most]
            scores = self._classifier.scores(some)
            labels.append(classes.take(pa.array(scores.argmax(axis=1))))
            shares.append(pa.array(self._classifier.probabilities_of(scores, some).max(axis=1)))
        return pa.chunked_array(labels), pa.chunked_array(shares)


def predict_block(shared: list[Any], block: Block, folder: Folder, number: int) -> Done | BunruiError:
    """Write what is asked of a block into its file."""
    try:
        answers: Answers = _shared(shared, _answering)
        reader = block.read()
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, f"part-{number:06d}.parquet")
            n_docs = answers(reader, path)
            if n_docs:
                folder.publish(path)
    except BunruiError as error:
        return _sendable(error)
    return _done(n_docs, block, reader)


def predict_table(table: pa.Table, shared: list[Any]) -> pa.Table:
    """A block of a data set with two columns more."""
    try:
        answers: Labels = _shared(shared, _answering)
        labels, shares = answers.of(texts_of(_arrow(table, "text").combine_chunks()))
    except BunruiError as error:
        raise _sendable(error) from None
    return table.append_column("predicted", labels).append_column("probability", shares)


# --- blocks of a data set


def _arrow(table: Any, *columns: str) -> pa.Table:
    """The columns that are wanted, of a block as Arrow or pandas has it."""
    import pyarrow as pa

    if not isinstance(table, pa.Table):
        table = pa.Table.from_pandas(table, preserve_index=False)
    if not table.num_rows:  # Ray gives empty blocks no columns
        return pa.table({name: pa.array([], pa.string()) for name in columns})
    for name in columns:
        if name not in table.column_names:
            there = ", ".join(map(repr, table.column_names))
            raise DataError(f"the data set has no column {name!r}, only {there}: rename one")
    return table.select(list(columns))


def _n_bytes(table: Any) -> int:
    import pyarrow as pa

    return int(table.nbytes if isinstance(table, pa.Table) else table.memory_usage().sum())
