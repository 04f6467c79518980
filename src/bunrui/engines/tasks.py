"""The work of a cluster's workers: pure functions of a block and of the data that all blocks share."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bunrui.counts import Counts
from bunrui.documents import Reader
from bunrui.documents.sources import Progress, is_address, locate, without_secret
from bunrui.engines.labelgroups import check_new, label_sets
from bunrui.engines.partitions import parts_of
from bunrui.engines.pieces import Block
from bunrui.engines.stream import best_labels, texts_of
from bunrui.errors import BunruiError, DataError, OptionError

if TYPE_CHECKING:
    import pyarrow as pa


class Done(NamedTuple):
    """A worker's report of its block."""

    n_docs: int
    progress: Progress


class Answers(Protocol):
    """Writes the answers for documents into a Parquet file, and returns the number of documents."""

    def __call__(self, batches: Iterable[pa.RecordBatch], path: str) -> int: ...


# --- data that all blocks of a run share

_here: dict[bytes, Any] = {}


def _share(refs: list[Any], make: Callable[[Any], Any] | None = None) -> Any:
    """The data that was sent once, made ready once in this process."""
    import ray

    os.environ.setdefault("BUNRUI_THREADS", "1")  # each core has a worker of its own
    key = refs[0].binary()
    if key not in _here:
        _here.clear()
        sent = ray.get(refs[0])
        _here[key] = sent if make is None else make(sent)
    return _here[key]


def _prepare(sent: tuple[Any, Callable[[Any], Answers]]) -> Answers:
    # A copy: arrays that were sent cannot be written to, and the kernels are compiled for arrays that can.
    classifier, answers = sent
    return answers(copy_of(classifier))


def copy_of(classifier: Any) -> Any:
    """A copy in memory, with the model that was chosen, if one was."""
    copy = blank(classifier.with_model()).merge(classifier)
    copy.set_calibration(classifier.calibration)
    return copy


def blank(classifier: Any) -> Any:
    """A classifier in memory with the same options, which has learned nothing."""
    clone = getattr(classifier, "__sklearn_clone__", None)  # of one in a file
    return clone() if clone else type(classifier)(**classifier.get_params())


def _strip(error: BunruiError) -> BunruiError:
    """The error with its fields and nothing else: its cause may not survive the way to another process."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


# --- counting


# Errors in the data are results, too: Ray shows those that are raised to everybody, once for each part.


def _report(n_docs: int, block: Block, reader: Reader) -> Done:
    return Done(n_docs, replace(reader.progress, bytes_read=block.n_bytes))


def count_block(shared: list[Any], block: Any, n_parts: int) -> list[Any]:
    """A report or an error, and the counts in parts of a block: some files, or a table of a data set."""
    try:
        batches = block.read() if isinstance(block, Block) else _to_arrow(block, "text", "label").to_batches()
        total = _count(shared, batches)
    except BunruiError as error:
        return [_strip(error), *[None] * n_parts]
    if isinstance(batches, Reader):
        return [_report(total.n_docs, block, batches), *parts_of(total, n_parts)]
    n_bytes = _n_bytes(block)
    return [Done(total.n_docs, Progress(n_bytes, n_bytes)), *parts_of(total, n_parts)]


def _count(shared: list[Any], batches: Iterable[pa.RecordBatch]) -> Counts:
    classifier = _share(shared)
    total = Counts(classifier.counts.fingerprint)
    for batch in batches:
        sets = label_sets(batch["label"], batch.num_rows, total.label_ids)
        check_new(sets.labels)
        total.add(classifier.count_sets(texts_of(batch), sets))
    return total


# --- predicting


class Labels:
    """The label of each document, and its probability."""

    def __init__(self, classifier: Any) -> None:
        self._classifier = classifier

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
        """Labels and probabilities, as Arrow arrays."""
        return best_labels(self._classifier, texts)


def predict_block(shared: list[Any], block: Block, folder: Folder, number: int) -> Done | BunruiError:
    """Write the answers for a block into its file."""
    try:
        answers: Answers = _share(shared, _prepare)
        reader = block.read()
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, f"part-{number:06d}.parquet")
            n_docs = answers(reader, path)
            if n_docs:
                folder.publish(path)
    except BunruiError as error:
        return _strip(error)
    return _report(n_docs, block, reader)


def predict_table(table: pa.Table, shared: list[Any]) -> pa.Table:
    """A block of a data set with two columns more."""
    try:
        answers: Labels = _share(shared, _prepare)
        labels, shares = answers.of(texts_of(_to_arrow(table, "text").combine_chunks()))
    except BunruiError as error:
        raise _strip(error) from None
    return table.append_column("predicted", labels).append_column("probability", shares)


class Folder(NamedTuple):
    """A folder of Parquet files, one for each block; it can be sent to other machines that see the same place.

    A file is there as a whole or not at all, and under the same name however often its block is done.
    """

    name: str
    filesystem: Any
    path: str

    @classmethod
    def new(cls, name: str) -> Folder:
        """A folder that is made here, or is empty: a path, or an address such as `s3://bucket/labels`."""
        from pyarrow.fs import FileSelector, FileType, LocalFileSystem

        filesystem, path = locate(name) if is_address(name) else (LocalFileSystem(), os.path.abspath(name))
        name = without_secret(name)
        folder = cls(name, filesystem, path.rstrip("/"))
        with folder._explain():
            there = filesystem.get_file_info(folder.path)
            if there.type == FileType.File:
                raise OptionError(f"{name} is a file: give the name of a folder, which gets a file for each block")
            if there.type == FileType.Directory and filesystem.get_file_info(FileSelector(folder.path)):
                raise OptionError(f"{name} is there already, and not empty: delete it, or give another folder")
            filesystem.create_dir(folder.path, recursive=True)
        return folder

    def publish(self, local: str) -> None:
        """Put a file of this machine into the folder, as a whole or not at all."""
        from pyarrow.fs import LocalFileSystem, copy_files

        here, name = LocalFileSystem(), os.path.basename(local)
        final = f"{self.path}/{name}"
        with self._explain():
            if not isinstance(self.filesystem, LocalFileSystem):
                copy_files(local, final, here, self.filesystem)  # object stores show a file when it is complete
                return
            hidden = f"{self.path}/.{name}.{secrets.token_hex(4)}"
            copy_files(local, hidden, here, self.filesystem)
            self.filesystem.move(hidden, final)

    def finish(self) -> None:
        """Delete the files that lost workers have left."""
        self._delete(".part-")

    def clear(self) -> None:
        """Delete all files: the next one who writes here finds it empty."""
        self._delete(".part-", "part-")

    def _delete(self, *prefixes: str) -> None:
        from pyarrow.fs import FileSelector

        with self._explain():
            for info in self.filesystem.get_file_info(FileSelector(self.path)):
                if info.base_name.startswith(prefixes):
                    self.filesystem.delete_file(info.path)

    @contextmanager
    def _explain(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            line = without_secret(str(error).partition("\n")[0])
            raise DataError(f"{self.name} cannot be written: {line}. Check the name and the rights") from error


# --- blocks of a data set


def _to_arrow(table: Any, *columns: str) -> pa.Table:
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

    # Not by attributes: those of a pandas table are the names of its columns, too.
    return int(table.nbytes if isinstance(table, pa.Table) else table.memory_usage().sum())
