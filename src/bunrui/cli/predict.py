"""`bunrui predict`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import bunrui
from bunrui.cli.console import Bar, interrupts, say, say_reading
from bunrui.cli.documents import Stdin, locate_errors, reads_tables
from bunrui.cli.info import Doubts, say_uncalibrated, say_unsure, unsure_option
from bunrui.cli.options import Documents, Engine, LabelSets, Model, check_text
from bunrui.cli.output import check_not_read, open_writer
from bunrui.cli.parameters import Classifier, argument, flag, option
from bunrui.engines.stream import ahead, at_once, rank, texts_of
from bunrui.errors import OptionError
from bunrui.phrases import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from bunrui.classifier import AnyClassifier
    from bunrui.documents import Reader


# Documents whose words are looked for: at once, and of all; and the characters of each.
_SEEN_AT_ONCE, _MOST_SEEN, _BEGINNING = 100, 1000, 1000


@dataclass(frozen=True)
class Asked:
    """The kind of answer for documents with one label."""

    panel: ClassVar = None

    top: int | None = option("K", "The K best labels with their probabilities.", min=1)
    log_odds: str | None = option("LABEL", "Add log P(LABEL | text) / P(other | text): above 0 speaks for LABEL.")
    against: str | None = option("LABEL", "The other label, if there are more than two.", needs="log_odds")
    unsure: float | None = unsure_option("Answer ? in place of a label")


def predict(
    *,
    file: Classifier,
    documents: Documents,
    model: Model,
    several: LabelSets,
    engine: Engine,
    data: list[str] | None = argument("DATA", "Files to read; the standard input if there are none."),
    line: list[str] | None = option(
        "TEXT", "Predict this text, or this row of a table: '{\"age\": 39, …}'.", callback=None
    ),
    asked: Asked,
    json: bool = flag("One JSON object a line."),
    output: str | None = option(
        "PATH",
        "Write there in place of stdout: .parquet .csv .tsv .xlsx .jsonl .arrow; a folder with --engine ray.",
        "--output",
        "-o",
    ),
) -> None:
    """Predict the labels of documents.

    Each document gives a line: the label, a tab, its probability; with --top
    K, the K best pairs, the best first. Labels in DATA are ignored. With
    --labels, a pair for each label that the document gets, perhaps none. Each
    line of a pipe is answered as it comes.

    With --unsure 0.05, a document gets ? in place of a label if its
    probability is too low. When FILE was calibrated, at most 5 % of the
    answers above this threshold were wrong, each document left out. In JSON
    and tables the label stays, beside a field unsure.

    With --engine ray, the machines of a cluster read DATA, and write a folder
    of Parquet files, whose names are in the order of the documents.

    [bold]Examples[/]

      bunrui predict mail.bunrui --line "free pills"
      bunrui predict mail.bunrui new.csv --text body --top 3
      bunrui predict mail.bunrui new.parquet --id key --output labels.parquet
      bunrui predict mail.bunrui ~/Mail/inbox --log-odds spam --json
      bunrui predict mail.bunrui new.csv --model multinomial --alpha 0.5
      bunrui predict topics.bunrui new.csv --labels --threshold best
      bunrui predict mail.bunrui new.csv --unsure 0.05
      bunrui predict mail.bunrui 's3://bucket/*.parquet' --engine ray -o s3://bucket/labels
      tail -f chat.txt | bunrui predict mail.bunrui
    """

    if line and data:
        raise OptionError("give DATA or --line, not both.")
    if not data and not line and sys.stdin.isatty():
        raise OptionError("there is nothing to predict: give DATA, --line TEXT, or text on the standard input.")
    for text in line or ():
        check_text(text, "--line", "give a file, and its --encoding")
    if json and output is not None:
        raise OptionError("--json writes to stdout: for a file, give --output the suffix .jsonl.")
    check_not_read(output, data or ())
    if several.labels and asked != Asked():
        raise OptionError("--labels goes without --top, --log-odds and --unsure.")
    if engine.is_ray:
        engine.refuse(line=line, labels=several.labels, json=json, unsure=asked.unsure is not None)
        if not data or output is None:
            raise OptionError("--engine ray needs DATA, and --output with the name of a folder.")
        with interrupts("interrupted"), bunrui.open(file, read_only=True) as opened:
            reader = documents.read(data, labelled=False, columns=reads_tables(opened))
            _predict_on_ray(engine.address, model.of(opened), reader, output, partial(Question, asked, several))
        return
    data = data or ["-"]
    stdin = Stdin(is_live=output is None)
    with interrupts("interrupted"), bunrui.open(file, read_only=True) as opened:
        is_table, is_plain = reads_tables(opened), documents == Documents() and not json and output is None
        if not line and data == ["-"] and is_plain and not is_table:
            line = stdin.few_lines()
        classifier = model.of(opened)
        question, unknown = Question(asked, several, classifier), Unknown(classifier)
        say_uncalibrated(opened, classifier)
        with open_writer(output, question.classes, json=json) as writer:
            is_empty = not line and data == ["-"] and stdin.is_empty()
            if line or is_empty:
                with locate_errors(None):
                    writer.write(None, question.answer(line or []))
                    unknown.add(line or [])
                if is_empty:
                    say("the standard input is empty: nothing was predicted")
                unknown.say()
                say_unsure(question.doubts)
                return
            reader = documents.read(data, labelled=False, stdin=stdin, columns=is_table)
            with Bar(reader, quiet=output is None and sys.stdout.isatty()) as done:
                for batch, answer in answers(question, reader):
                    writer.write(batch, answer)
                    unknown.add(texts_of(batch))
                    done.add(len(answer.best))
            done.check("predicted")
    if output is not None:
        say(f"predicted {counted(done.n_docs, 'document')} into {output} in {done.speed()}")
    unknown.say()
    say_unsure(question.doubts)
    say_reading(reader)


class Answer(NamedTuple):
    """The predictions for some documents; columns by class as `Question.classes` has them."""

    best: npt.NDArray[np.int64]  # (n_docs,)
    probabilities: npt.NDArray[np.float64]  # (n_docs, n_classes)
    ranked: npt.NDArray[np.int64] | None  # (n_docs, top), the best first
    log_odds: npt.NDArray[np.float64] | None  # (n_docs,)
    sets: list[list[int]] | None = None  # the labels of each, the likeliest first; then the others are of no use
    unsure: npt.NDArray[np.bool_] | None = None  # (n_docs,), where it was asked for

    @property
    def chosen(self) -> list[list[int]] | None:
        """Several labels of each document, the likeliest first, where they were asked for."""
        return self.sets if self.ranked is None else self.ranked.tolist()


class Unknown:
    """Counts the documents without a known word, in a sample: some of each batch, the beginning of each.

    Signs and digits are no words, unless a document has nothing else: a Chinese text may have those of English ones.
    """

    def __init__(self, classifier: AnyClassifier) -> None:
        self._classifier = classifier
        self._n_docs = self._n_seen = self._n_unknown = 0
        self._sample: list[Any] = []  # not looked at yet
        self._is_over = reads_tables(classifier)  # a row of a table has its columns

    def add(self, texts: Any) -> None:
        """Take some of these documents into the sample."""
        self._n_docs += len(texts)
        if self._is_over or self._n_seen >= _MOST_SEEN or not len(texts):
            return
        import numpy as np

        from bunrui.analysis import texts as inputs

        picked = inputs.pick(texts, np.unique(np.linspace(0, len(texts) - 1, _SEEN_AT_ONCE).astype(np.int64)))
        listed = picked.to_pylist() if hasattr(picked, "to_pylist") else picked
        self._sample += [text[:_BEGINNING] if isinstance(text, str) else text for text in listed]
        if len(self._sample) >= _SEEN_AT_ONCE:  # a pipe may never end
            self.say()

    def say(self) -> None:
        """Say once that most documents have no known word."""
        if self._sample:
            self._n_seen += len(self._sample)
            self._n_unknown += int((~has_known_word(self._classifier, self._sample)).sum())
        self._sample = []
        n, unknown = self._n_seen, self._n_unknown
        if self._is_over or 2 * unknown <= n:
            return
        self._is_over = True
        which = f"{unknown:,} of {n:,} {'sampled ' if n < self._n_docs else ''}documents have"
        known, guess = getattr(self._classifier, "path", "the classifier"), "these labels are guesses"
        if self._n_docs == 1:
            which, guess = "the document has", "its label is a guess"
        say(f"warning: {which} no word that {known} knows: {guess}")


def has_known_word(classifier: AnyClassifier, texts: list[Any]) -> npt.NDArray[np.bool_]:
    """Which documents have a word that a classifier has learned, (n_docs,).

    >>> clf = bunrui.TextClassifier().learn(["call 110 now!", "noon"], ["spam", "ham"])
    >>> has_known_word(clf, ["now?", "拨打 110!", "110", ""]).tolist()
    [True, False, True, False]
    """
    import numpy as np

    from bunrui.analysis.analyzer import alike
    from bunrui.engines.matrix import count_features
    from bunrui.kernel.workspace import feature_texts

    counted = count_features(alike(classifier.text_analyzer, texts), classifier.text_analyzer)
    names = (text.decode() for text in feature_texts(counted.vocabulary))
    is_word = np.array([any(map(str.isalpha, name)) for name in names], bool)
    is_known = classifier.counts.places_of(counted.vocabulary) >= 0
    found = []
    for ids, cells in zip(counted.ids, counted.cells, strict=True):
        features, starts = ids[cells.indices], cells.starts
        n_words, n_known_words, n_known = (
            np.diff(np.append(0, np.cumsum(each[features]))[starts]) for each in (is_word, is_word & is_known, is_known)
        )
        found.append(np.where(n_words > 0, n_known_words, n_known) > 0)
    return np.concatenate(found)


class Question:
    """A classifier and the kind of answer that is asked for."""

    def __init__(self, asked: Asked, several: LabelSets, classifier: AnyClassifier) -> None:
        from bunrui.classifier import opponent, thresholds_of

        self._classifier, self._top = classifier, asked.top
        self.doubts = None if asked.unsure is None else Doubts(classifier, asked.unsure)
        self.classes: list[Any] = classifier.classes_.tolist()
        self._pair: tuple[int, int] | None = None
        if asked.log_odds is not None:
            label = classifier.label_named(asked.log_odds)
            other = opponent(self.classes, label, classifier.label_named(asked.against))
            self._pair = self.classes.index(label), self.classes.index(other)
        self._thresholds: npt.NDArray[np.float64] | None = None
        if several.labels:
            self._thresholds = thresholds_of(self.classes, several.thresholds(classifier))

    def answer(self, texts: Any) -> Answer:
        """Predict."""
        if self._thresholds is not None:
            return self._several(texts, self._thresholds)
        ranking = rank(self._classifier, texts)
        ranked = None if self._top is None else ranking.top(self._top)
        odds = None if self._pair is None else ranking.scores[:, self._pair[0]] - ranking.scores[:, self._pair[1]]
        unsure = None if self.doubts is None else self.doubts.of(ranking.confidence)
        return Answer(ranking.best, ranking.probabilities, ranked, odds, None, unsure)

    def _several(self, texts: Any, thresholds: npt.NDArray[np.float64]) -> Answer:
        import numpy as np

        odds = self._classifier.label_odds(texts)
        order = (-odds).argsort(axis=1, kind="stable")
        above = np.take_along_axis(odds > thresholds, order, axis=1)
        sets = [row[is_there].tolist() for row, is_there in zip(order, above, strict=True)]
        return Answer(odds.argmax(axis=1), np.exp(-np.logaddexp(0.0, -odds)), None, None, sets)


def answers(question: Question, found: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, Answer]]:
    """The answers for batches of documents, in parts of a size that can be scored at once."""
    most = at_once(len(question.classes))
    with closing(ahead(found)) as batches:  # type: ignore[type-var]
        for batch in batches:
            for start in range(0, batch.num_rows, most):
                part = batch.slice(start, most)
                with locate_errors(part):
                    answer = question.answer(texts_of(part))
                yield part, answer


# --- on a cluster


_Ask = Callable[["AnyClassifier"], Question]


class _Files:
    """Writes the answers for documents into a Parquet file; made and used on the workers."""

    def __init__(self, classifier: AnyClassifier, ask: _Ask) -> None:
        self._question = ask(classifier)

    def __call__(self, batches: Iterable[pa.RecordBatch], path: str) -> int:
        n_docs = 0
        with open_writer(path, self._question.classes, json=False) as writer:
            for batch, answer in answers(self._question, batches):
                writer.write(batch, answer)
                n_docs += len(answer.best)
        return n_docs


def _predict_on_ray(address: str | None, classifier: AnyClassifier, reader: Reader, output: str, ask: _Ask) -> None:
    """Predict the documents of a reader into a folder of Parquet files."""
    from bunrui.documents.sources import without_secret
    from bunrui.engines.pieces import split
    from bunrui.engines.ray import predict_blocks

    ask(classifier)  # raises errors here, not in a worker
    with Bar(reader) as bar:
        made = partial(_Files, ask=ask)
        n_docs = predict_blocks(classifier, split(reader), output, made, address=address, tell=bar.tell)
    say(f"predicted {counted(n_docs, 'document')} into {without_secret(output)} in {bar.speed()}")
    say_reading(reader)
