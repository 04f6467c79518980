"""`bunrui evaluate`: a classifier on documents with labels, or documents with labels by themselves."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bunrui
from bunrui.cli.collection import MOST_PROBABILITIES, LearnedBefore, evaluate_alone, say_several
from bunrui.cli.console import Bar, interrupts, say, say_reading, show, to_json
from bunrui.cli.documents import labels_in, locate_errors, reads_tables, several_in
from bunrui.cli.options import PANEL, Analysis, LabelledDocuments, LabelSets, Model, Parts
from bunrui.cli.output import check_name, page_of_test, page_of_themselves, place_of, write_page
from bunrui.cli.parameters import argument, file_argument, flag, option
from bunrui.engines.stream import texts_of
from bunrui.errors import OptionError
from bunrui.labels import as_list, given_label, text_of, type_of
from bunrui.phrases import counted, one_line, some

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.classifier import AnyClassifier
    from bunrui.documents import Reader
    from bunrui.evaluation import MultilabelMetrics

_MOST_CHARACTERS = 100_000_000  # of documents that are kept for a page


@dataclass(frozen=True)
class _Analysis(Analysis):
    """How text becomes features; --html is the page here, as in `compare` and `explain`."""

    html: bool = flag("Take the text out of HTML first.", "--from-html", rich_help_panel="Analyzer")


def evaluate(
    *,
    file: str = file_argument("FILE", "The classifier; with --loo or --folds, DATA, or a classifier that keeps texts."),
    documents: LabelledDocuments,
    model: Model,
    analysis: _Analysis,
    several: LabelSets,
    parts: Parts,
    data: list[str] | None = argument("DATA", "Documents with labels that were not learned."),
    loo: bool = flag("Predict each document by all the others.", rich_help_panel=PANEL),
    positive: str | None = option(
        "LABEL", "The wanted label, such as spam: adds 1-ROCA% and recall at few false positives."
    ),
    page: str | None = option(
        "PATH", "Write a page with diagrams and mistakes, too. It holds texts of documents.", "--html"
    ),
    json: bool = flag("All metrics, as JSON."),
) -> None:
    """Measure the predictions for documents with known labels.

    It shows accuracy with an interval; precision, recall and F1 of each label
    and their means; the quality of the probabilities; and the confusion
    matrix. FILE does not change. Labels that FILE has never learned count as
    mistakes.

    With --loo or --folds you need no test documents: the documents predict
    each other, exactly as if each had been left out of learning. Copies of a
    document make the result look better than it is: their number is shown. So
    do test documents that were learned: FILE finds them if it keeps texts or
    digests.

    With --labels, documents may have any number of labels: the measures are
    micro, macro and example F1, the Hamming loss, and the share of documents
    whose labels are all right. Without it, a document with several labels is
    right if it gets one of them.

    [bold]Examples[/]

      bunrui evaluate mail.bunrui test.csv
      bunrui evaluate mail.bunrui test.csv --model multinomial --alpha 1
      bunrui evaluate train.csv --loo --html report.html
      bunrui evaluate mail.bunrui --loo --positive spam
      bunrui evaluate train.csv --folds 5 --model nbsvm
      bunrui evaluate train.parquet --folds 5 --by source --json | jq .macro.f1
      bunrui evaluate topics.bunrui test.csv --separator ';' --labels --threshold best
    """
    if several.labels and (positive, page) != (None, None):
        raise OptionError("--positive and --html go with one label for each document: leave --labels out.")
    check_name(page)
    if loo or parts.folds is not None:
        if loo and parts.folds is not None:
            raise OptionError("--loo or --folds, not both.")
        if several.labels:
            raise OptionError("--labels needs a classifier and documents to test: bunrui evaluate FILE TEST --labels.")
        data = [file, *(data or [])]
        with interrupts("interrupted"):
            collection, found, n_duplicates = evaluate_alone(data, documents, model, analysis, parts)
            evaluation = _report(found, positive, json=json)
            if page is not None:
                write_page(page, page_of_themselves(data, collection, evaluation, n_duplicates, parts))
        return
    if not data:
        raise OptionError("there is nothing to evaluate on: give DATA, or --loo or --folds.")
    if analysis.given():
        raise OptionError("the classifier has its analyzer: give --analyzer and the like with --loo or --folds.")

    with interrupts("interrupted"), bunrui.open(file, read_only=True) as opened:
        reader = documents.read(data, labelled=True, columns=reads_tables(opened), label_type=opened.label_type)
        classifier, learned = model.of(opened), LearnedBefore.into(opened.path)
        wrong = _Wrong()
        if several.labels:
            measured: Any = _of_sets(classifier, reader, several, learned)
        else:
            measured = _of_labels(classifier, reader, None if page is None else wrong, learned)
        learned.say(file)
        evaluation = _report(measured, positive, json=json)
        if page is not None and isinstance(evaluation, bunrui.evaluation.Evaluation):
            write_page(page, page_of_test(file, data, opened, classifier, evaluation, wrong.documents))


def _report(found: Any, positive: str | None, *, json: bool) -> Any:
    """Show the measures, and return them."""
    from bunrui.evaluation import Evaluation, Metrics, MultilabelMetrics
    from bunrui.views import evaluation as views

    if isinstance(found, Evaluation) and positive is not None:
        found = dataclasses.replace(found, positive=given_label(positive, type_of(found.classes)))
    if json:
        print(to_json(found.to_dict()))
        return found

    if isinstance(found, MultilabelMetrics):
        show(views.multilabel_tables(found))
    elif isinstance(found, Metrics):
        show(views.metrics_tables(found))
    else:
        show(views.evaluation_tables(found))
    return found


class _Wrong:
    """Documents that are predicted wrongly, by their rows, with where they come from; as many as there is room for."""

    def __init__(self) -> None:
        self.documents: dict[int, tuple[Any, str]] = {}
        self._n_docs = self._n_characters = 0

    def add(self, batch: pa.RecordBatch, texts: Any, predicted: Any) -> None:
        """Look at the next documents."""
        for row, (true, answer) in enumerate(zip(batch["label"].to_pylist(), predicted.tolist(), strict=True)):
            is_right = answer in as_list(true)
            if not is_right and self._n_characters < _MOST_CHARACTERS:
                document = texts[row] if isinstance(texts, list) else texts[row].as_py()
                place = place_of(batch["source"][row].as_py(), batch["line"][row].as_py())
                self.documents[self._n_docs + row] = document, place
                self._n_characters += len(document)
        self._n_docs += batch.num_rows


def _of_labels(classifier: AnyClassifier, reader: Reader, wrong: _Wrong | None, learned: LearnedBefore) -> Any:
    """An Evaluation; of too many documents, Metrics, which have no rankings and no page."""
    import numpy as np

    from bunrui.models.linear import probabilities

    known = classifier.classes_.tolist()
    names = np.array(known)
    tally, labels = bunrui.evaluation.Tally(known), set()
    true, found, kept, n_kept = [], [], [], 0
    n_several = 0
    calibrated = classifier.is_calibrated
    bar = Bar(reader)
    for batch in bar:
        texts = texts_of(batch)
        n_kept += batch.num_rows * len(known)
        with locate_errors(batch):
            # Labels alone do not need the scores of all classes.
            scores = classifier.scores(texts) if n_kept <= MOST_PROBABILITIES else None
            predicted = classifier.predict(texts) if scores is None else names[scores.argmax(axis=1)]
        tally.add(batch["label"], predicted)
        learned.add(texts)
        labels |= labels_in(batch)
        n_several += several_in(batch)
        if wrong is not None:
            wrong.add(batch, texts, predicted)
        if scores is not None:
            true += batch["label"].to_pylist()
            found.append(predicted)
            kept.append(classifier.probabilities_of(scores, texts) if calibrated else scores)
    bar.check("evaluated")
    say_reading(reader)
    _say_unknown(labels, known)
    say_several(n_several)
    if n_kept > MOST_PROBABILITIES:
        say(
            f"{counted(bar.n_docs, 'document')} and {counted(len(known), 'label')} are too many to measure the "
            "probabilities: there is nothing for --positive, and no page for --html"
        )
        return tally.metrics()
    predictions, values = np.concatenate(found), np.concatenate(kept)
    # Calibrated ones are not the softmax of scores, and few are 0.
    shares = values if calibrated else probabilities(values)
    ranked = None if calibrated else values
    return bunrui.evaluation.Evaluation(
        true=true, predictions=predictions, probabilities=shares, classes=known, scores=ranked
    )


def _of_sets(
    classifier: AnyClassifier, reader: Reader, several: LabelSets, learned: LearnedBefore
) -> MultilabelMetrics:
    known = classifier.classes_.tolist()
    thresholds = several.thresholds(classifier)
    true: list[Any] = []
    found: list[set[Any]] = []
    bar = Bar(reader)
    for batch in bar:
        texts = texts_of(batch)
        with locate_errors(batch):
            found += classifier.predict_labels(texts, threshold=thresholds)
        learned.add(texts)
        true += [set(as_list(row)) for row in batch["label"].to_pylist()]
    bar.check("evaluated")
    say_reading(reader)
    _say_unknown(set().union(*true), known)
    return bunrui.evaluation.measure_labels(true, found, labels=known)


def _say_unknown(labels: set[Any], known: list[Any]) -> None:
    unknown = sorted(labels - set(known))
    if unknown:
        say(f"warning: never learned, so always mistaken: {some((one_line(text_of(label)) for label in unknown), 10)}")
