"""`--engine ray`: `bunrui learn` and `bunrui predict` on a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from bunrui.cli.console import Bar, counted, say, say_reading, uninterrupted
from bunrui.cli.options import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.classifier import AnyClassifier, TextClassifier
    from bunrui.documents import Reader
    from bunrui.engines.tasks import Done
    from bunrui.errors import DataError
    from bunrui.store import StoredClassifier

__all__ = ["Engine", "learn_on_ray", "predict_on_ray"]

Keep = Literal["text", "digests", "nothing"]


def _engine(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Engine", show_default=False, **settings)


@dataclass(frozen=True)
class Engine:
    """Where the work is done."""

    engine: Annotated[
        Literal["threads", "ray"] | None,
        _engine("--engine", metavar="NAME", help="threads of this machine (the default), or ray: those of a cluster."),
    ] = None
    address: Annotated[
        str | None,
        _engine(
            "--address",
            metavar="ADDRESS",
            help="Of the Ray cluster; by default the one on this machine, which is started if there is none.",
        ),
    ] = None

    @property
    def is_ray(self) -> bool:
        """Whether a cluster is asked for."""
        if self.address is not None and self.engine != "ray":
            raise UsageError("--address goes with --engine ray.")
        return self.engine == "ray"

    def refuse(self, **given: Any) -> None:
        """Refuse options that a cluster does not know, by name."""
        for name, value in given.items():
            if value:
                raise UsageError(f"--engine ray goes without --{name.replace('_', '-')}.")

    def keep(self, keep: Keep | None, *, is_new: bool) -> Keep | None:
        """What a file is to keep that learns on a cluster."""
        if keep not in (None, "nothing"):
            raise UsageError("--engine ray goes with --keep nothing: on a cluster documents stay where they are.")
        return "nothing" if is_new else keep


class _Progress:
    """What a bar and the messages about bad rows, encodings and headers want to know of a reader."""

    def __init__(self, bytes_total: int | None) -> None:
        self.bytes_total = bytes_total
        self.bytes_read = self.n_skipped = 0
        self.bad_rows: list[DataError] = []
        self.doubtful_headers: list[str] = []
        self.encodings: Counter[str] = Counter()

    def add(self, done: Done) -> None:
        self.bytes_read += done.n_bytes
        self.n_skipped += done.n_skipped
        self.bad_rows += done.bad_rows
        self.doubtful_headers += done.doubtful_headers
        self.encodings.update(done.encodings)


class _Watch:
    """Shows how many blocks are done."""

    def __init__(self, reader: Reader) -> None:
        self.progress = _Progress(reader.bytes_total)
        self.bar = Bar(cast("Reader", self.progress))

    def __call__(self, done: Done) -> None:
        self.progress.add(done)
        self.bar.add(done.n_docs)

    def say_reading(self) -> None:
        say_reading(cast("Reader", self.progress))


@contextmanager
def _watch(reader: Reader) -> Iterator[_Watch]:
    watch = _Watch(reader)
    with watch.bar:
        yield watch


# --- learning


def learn_on_ray(address: str | None, file: str, classifier: StoredClassifier, reader: Reader) -> Callable[[], None]:
    """Learn the documents of a reader into a file; what is to be said when it has its name."""
    from bunrui.engines.ray import count
    from bunrui.engines.tasks import blank
    from bunrui.errors import OptionError

    if classifier.keep != "nothing":
        raise OptionError(
            f"{file} keeps {classifier.keep} of its documents, and on a cluster they stay where they are: learn into a "
            "new file, or without --engine ray"
        )
    new: TextClassifier = blank(classifier)
    with _watch(reader) as watch:
        done = count(new, reader, address=address, tell=watch)
        with uninterrupted():
            classifier.merge_all([new], kind="learn", **done.note())
    documents, labels = counted(done.n_docs, "document"), counted(len(new.counts.live_labels), "label")
    workers, time = counted(done.n_workers, "worker"), watch.bar.speed()

    def say_done() -> None:
        say(f"learned {documents} of {labels} into {file} in {time}, with {workers}")
        watch.say_reading()

    return say_done


# --- predicting


class _Files:
    """Writes what is asked of documents into a Parquet file; made and used on the workers."""

    def __init__(self, classifier: AnyClassifier, question: dict[str, Any]) -> None:
        from bunrui.cli.predict import Question

        self._question = Question(classifier, **question)

    def __call__(self, batches: Iterable[pa.RecordBatch], path: str) -> int:
        from bunrui.cli.output import open_writer
        from bunrui.cli.predict import answers

        n_docs = 0
        with open_writer(path, self._question.classes, json=False) as writer:
            for batch, answer in answers(self._question, batches):
                writer.write(batch, answer)
                n_docs += len(answer.best)
        return n_docs


def predict_on_ray(
    address: str | None, classifier: AnyClassifier, reader: Reader, output: str, question: dict[str, Any]
) -> None:
    """Predict the documents of a reader into a folder of Parquet files; `question` are the arguments of `Question`."""
    from bunrui.cli.predict import Question
    from bunrui.documents.addresses import without_secret
    from bunrui.engines.blocks import split
    from bunrui.engines.ray import predict_blocks

    Question(classifier, **question)  # what is wrong with it is said here, not by a worker
    with _watch(reader) as watch:
        blocks = split(reader)
        n_docs = predict_blocks(
            classifier, blocks, output, partial(_Files, question=question), address=address, tell=watch
        )
    say(f"predicted {counted(n_docs, 'document')} into {without_secret(output)} in {watch.bar.speed()}")
    watch.say_reading()
