"""`bunrui predict`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bunrui.cli.console import Bar, counted, interrupts, say, say_skipped
from bunrui.cli.options import Classifier, Documents, Model, UsageError, check_text
from bunrui.cli.stdin import Stdin

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from bunrui.classifier import TextClassifier
    from bunrui.cli.output import Writer
    from bunrui.documents import Reader

__all__ = ["predict"]

# Documents are scored so many at a time that their scores take at most this many numbers.
_MOST_SCORES = 1 << 22


def predict(
    file: Classifier,
    documents: Documents,
    model: Model,
    data: Annotated[
        list[str] | None, typer.Argument(metavar="DATA", help="Files to read; the standard input if there are none.")
    ] = None,
    line: Annotated[
        list[str] | None, typer.Option("--line", metavar="TEXT", show_default=False, help="Predict this text.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top", metavar="K", min=1, show_default=False, help="The K best labels with their probabilities."
        ),
    ] = None,
    log_odds: Annotated[
        str | None,
        typer.Option(
            "--log-odds",
            metavar="LABEL",
            show_default=False,
            help="Add log P(LABEL | text) / P(other | text): above 0 speaks for LABEL.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="LABEL", show_default=False, help="The other label, where there are more than two."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            show_default=False,
            help="Write there in place of stdout: .parquet .csv .tsv .jsonl .arrow",
        ),
    ] = None,
) -> None:
    """Predict the labels of documents.

    One line for each: the label, a tab, its probability; with --top K, K such
    pairs, the best first. Labels that DATA may have are not looked at.

    [bold]Examples[/]

      bunrui predict mail.bunrui --line "free pills"
      bunrui predict mail.bunrui new.csv --text body --top 3
      bunrui predict mail.bunrui new.parquet --id key --output labels.parquet
      bunrui predict mail.bunrui ~/Mail/inbox --log-odds spam --json
      bunrui predict mail.bunrui new.csv --model multinomial --alpha 0.5
      tail -n 1000 chat.txt | bunrui predict mail.bunrui
    """
    from bunrui import stored
    from bunrui.cli.output import open_writer

    _check_usage(data, line, log_odds, against, json, output)
    data = data or ["-"]
    stdin = Stdin()
    if not line and data == ["-"] and documents == Documents() and not json and output is None:
        line = stdin.few_lines()
    with interrupts("interrupted"), closing(stored.open(file, read_only=True)) as opened:
        question = Question(model.of(opened), top, log_odds, against)
        with open_writer(output, question.classes, json=json) as writer:
            is_empty = not line and data == ["-"] and stdin.is_empty()
            if line or is_empty:
                writer.write(None, question.answer(line or []))
                if is_empty:
                    say("the standard input is empty: nothing was predicted")
                return
            reader = documents.read(data, labelled=False, stdin=stdin)
            done = _predict_all(question, reader, writer, quiet=output is None and sys.stdout.isatty())
    if output is not None:
        say(f"predicted {counted(done.n_docs, 'document')} into {output} in {done.speed()}")
    say_skipped(reader)


def _predict_all(question: Question, reader: Reader, writer: Writer, *, quiet: bool) -> Bar:
    from bunrui.errors import DataError

    with Bar(reader, quiet=quiet) as bar:
        for batch, answer in _answers(question, reader):
            writer.write(batch, answer)
            bar.add(len(answer.best))
    if not bar.n_docs:
        say_skipped(reader)
        raise DataError("there are no documents to be read: nothing was predicted")
    return bar


def _check_usage(
    data: list[str] | None,
    line: list[str] | None,
    log_odds: str | None,
    against: str | None,
    json: bool,
    output: str | None,
) -> None:
    if line and data:
        raise UsageError("give DATA or --line, not both.")
    if not data and not line and sys.stdin.isatty():
        raise UsageError("there is nothing to predict: give DATA, --line TEXT, or text on the standard input.")
    for text in line or ():
        check_text(text, "--line", "give a file, and its --encoding")
    if against is not None and log_odds is None:
        raise UsageError("--against goes with --log-odds.")
    if json and output is not None:
        raise UsageError("--json writes to stdout: for a file, give --output the suffix .jsonl.")


class Answer(NamedTuple):
    """What is predicted of some documents; columns by class as `Question.classes` has them."""

    best: npt.NDArray[np.int64]  # (n_docs,)
    probabilities: npt.NDArray[np.float64]  # (n_docs, n_classes)
    ranked: npt.NDArray[np.int64] | None  # (n_docs, top), the best first
    log_odds: npt.NDArray[np.float64] | None  # (n_docs,)


class Question:
    """What is to be predicted."""

    def __init__(self, classifier: TextClassifier, top: int | None, log_odds: str | None, against: str | None) -> None:
        self._classifier = classifier
        self.classes: list[str] = classifier.classes_.tolist()
        self._top = top
        self._pair: tuple[int, int] | None = None
        if log_odds is not None:
            from bunrui.classifier import opponent

            other = opponent(self.classes, log_odds, against)
            self._pair = self.classes.index(log_odds), self.classes.index(other)

    def answer(self, texts: Any) -> Answer:
        """Predict."""
        from bunrui.prediction import probabilities

        scores = self._classifier.scores(texts)
        ranked = None
        if self._top is not None:
            ranked = (-scores).argsort(axis=1, kind="stable")[:, : self._top]
        odds = None if self._pair is None else scores[:, self._pair[0]] - scores[:, self._pair[1]]
        return Answer(scores.argmax(axis=1), probabilities(scores), ranked, odds)


def _answers(question: Question, reader: Reader) -> Iterator[tuple[pa.RecordBatch, Answer]]:
    from bunrui.cli.batches import texts_of
    from bunrui.engines.stream import ahead

    most = max(1, _MOST_SCORES // len(question.classes))
    with closing(ahead(reader)) as batches:  # type: ignore[type-var]
        for batch in batches:
            for start in range(0, batch.num_rows, most):
                part = batch.slice(start, most)
                yield part, question.answer(texts_of(part))
