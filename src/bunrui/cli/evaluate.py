"""`bunrui evaluate`: a classifier on documents with labels, or documents with labels by themselves."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import bunrui
from bunrui.cli.console import Bar, extent, interrupts, say, say_reading, show, to_json
from bunrui.cli.documents import LearnedBefore, collect, labels_in, locate_errors, reads_tables, say_duplicates
from bunrui.cli.options import PANEL, Analysis, LabelledDocuments, LabelSets, Model, Parts, spell_value
from bunrui.cli.output import check_name, write_page
from bunrui.cli.parameters import argument, file_argument, flag, option
from bunrui.engines.stream import texts_of
from bunrui.errors import DataError, OptionError
from bunrui.labels import as_list, given_label, text_of, type_of
from bunrui.phrases import counted, one_line, some

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier
    from bunrui.cli.documents import Collection
    from bunrui.documents import Reader

_MOST_PROBABILITIES = 50_000_000  # (documents × labels) that are kept, and measured at the end: 400 MB
_MOST_CHARACTERS = 100_000_000  # of documents that are kept for a page; the last batch may have more
_FEWEST_FOR_CURVE = 20

Wrong = dict[int, tuple[Any, str]]
"""Documents that are predicted wrongly, by their rows, with where they come from."""


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
            found, evaluation = _evaluate_alone(data, documents, model, analysis, parts)
            n_duplicates = say_duplicates(found)
            evaluation = _report(evaluation, positive, json=json)
            if page is not None:
                shown = _shown_alone(found, evaluation, parts) | {"n_duplicates": n_duplicates}
                _write_page(page, data, found.classifier, evaluation, shown)
        return
    if not data:
        raise OptionError("there is nothing to evaluate on: give DATA, or --loo or --folds.")
    if analysis.given():
        raise OptionError("the classifier has its analyzer: give --analyzer and the like with --loo or --folds.")

    with interrupts("interrupted"), bunrui.open(file, read_only=True) as opened:
        reader = documents.read(data, labelled=True, columns=reads_tables(opened), label_type=opened.label_type)
        classifier, learned = model.of(opened), LearnedBefore.into(opened.path)
        wrong: Wrong = {}
        if several.labels:
            measured: Any = _of_sets(classifier, reader, several, learned)
        else:
            measured = _of_labels(classifier, reader, None if page is None else wrong, learned)
        learned.say(file)
        evaluation = _report(measured, positive, json=json)
        if page is not None and isinstance(evaluation, bunrui.evaluation.Evaluation):
            _write_page(page, data, classifier, evaluation, _shown_of_test(opened, classifier, wrong))


def _report(found: Any, positive: str | None, *, json: bool) -> Any:
    """Show the measures, and return them."""
    from bunrui.evaluation import Evaluation, Metrics, MultilabelMetrics
    from bunrui.views import evaluation as views

    if isinstance(found, Evaluation) and positive is not None:
        found = dataclasses.replace(found, positive=given_label(positive, type_of(found.classes)))
    if json:
        print(to_json(found.to_dict()))
    elif isinstance(found, MultilabelMetrics):
        show(views.multilabel_tables(found))
    else:
        show(views.metrics_tables(found) if isinstance(found, Metrics) else views.evaluation_tables(found))
    return found


def _of_labels(classifier: AnyClassifier, reader: Reader, wrong: Wrong | None, learned: LearnedBefore) -> Any:
    """An Evaluation; of too many documents, Metrics, which have no rankings and no page."""
    import numpy as np

    from bunrui.models.linear import probabilities

    known = classifier.classes_.tolist()
    names = np.array(known)
    tally, labels, calibrated = bunrui.evaluation.Tally(known), set(), classifier.is_calibrated
    true, found, kept, n_kept, n_several, n_characters = [], [], [], 0, 0, 0
    bar = Bar(reader)
    for batch in bar:
        texts = texts_of(batch)
        n_kept += batch.num_rows * len(known)
        with locate_errors(batch):
            # Labels alone do not need the scores of all classes.
            scores = classifier.scores(texts) if n_kept <= _MOST_PROBABILITIES else None
            predicted = classifier.predict(texts) if scores is None else names[scores.argmax(axis=1)]
        given = batch["label"].to_pylist()
        tally.add(batch["label"], predicted)
        learned.add(texts)
        labels |= labels_in(batch)
        n_several += sum(len(as_list(row)) > 1 for row in given)
        if wrong is not None:
            for row, (label, answer) in enumerate(zip(given, predicted.tolist(), strict=True)):
                if answer not in as_list(label) and n_characters < _MOST_CHARACTERS:
                    document = texts[row] if isinstance(texts, list) else texts[row].as_py()
                    place = _place_of(batch["source"][row].as_py(), batch["line"][row].as_py())
                    wrong[bar.n_docs + row] = document, place
                    n_characters += len(document)
        if scores is not None:
            true += given
            found.append(predicted)
            kept.append(classifier.probabilities_of(scores, texts) if calibrated else scores)
    bar.check("evaluated")
    say_reading(reader)
    _say_unknown(labels, known)
    _say_several(n_several)
    if n_kept > _MOST_PROBABILITIES:
        say(f"{extent(bar.n_docs, len(known))} have too many probabilities to measure: no --positive, and no page")
        return tally.metrics()
    values = np.concatenate(kept)
    # Calibrated ones are not the softmax of scores, and few are 0.
    shares, ranked = (values, None) if calibrated else (probabilities(values), values)
    answers = {"predictions": np.concatenate(found), "probabilities": shares, "scores": ranked}
    return bunrui.evaluation.Evaluation(true=true, classes=known, **answers)


def _of_sets(classifier: AnyClassifier, reader: Reader, several: LabelSets, learned: LearnedBefore) -> Any:
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


# --- documents that predict each other


def _evaluate_alone(
    data: list[str], documents: LabelledDocuments, model: Model, analysis: Analysis, parts: Parts
) -> tuple[Collection, Any]:
    """Documents that predict each other, and their evaluation."""
    found = collect(data, documents, model, analysis, partial(_check_leaves_out, parts))
    clf, texts, labels = found.classifier, found.texts, found.labels
    cut = parts.of(found)
    _check_room(labels)
    if cut is None:
        _say_refits(clf, len(labels))
        evaluation = bunrui.evaluation.leave_one_out(clf, texts, labels)
    else:
        evaluation = bunrui.evaluation.cross_validate(clf, texts, labels, cut)
    if clf.is_calibrated:
        say(f"probabilities are those before calibration; 'bunrui evaluate {data[0]} TEST' applies it")
    _say_labels(labels)
    _say_several(sum(len(as_list(row)) > 1 for row in labels))
    return found, evaluation


def _check_leaves_out(parts: Parts, clf: AnyClassifier) -> None:
    if clf.needs_documents and parts.folds is None:
        raise OptionError(f"{clf.model} would be trained for each document: give --folds K in place of --loo.")


def _check_room(labels: list[Any]) -> None:
    n_labels = len({name for row in labels for name in as_list(row)})
    if len(labels) * n_labels > _MOST_PROBABILITIES:
        hint = "learn some of them into a FILE, and 'bunrui evaluate FILE' the others"
        raise DataError(f"{extent(len(labels), n_labels)} have too many probabilities to measure", hint=hint)


def _say_refits(clf: AnyClassifier, n_docs: int) -> None:
    if not clf.current_model.one_pass:
        options = ("max_features", "class_norm", "against_rest")
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options if getattr(clf, name))
        so = f"with {names}, " if names else ""
        model, documents = clf.effective_options["model"], counted(n_docs, "document")
        say(f"{so}{model} is fitted for each of {documents}: --folds 5 fits it 5 times")


def _say_several(n_docs: int) -> None:
    """Say how documents with several labels are measured, and how else they can be."""
    if n_docs:
        have = "has" if n_docs == 1 else "have"
        several = f"{counted(n_docs, 'document')} {have} several labels: any of them counts as right"
        say(f"{several}; 'bunrui evaluate FILE TEST --labels' measures all of them")


def _say_labels(labels: Sequence[Any]) -> None:
    """Warn if the labels settle the outcome beforehand.

    `labels` are labels, or lists of labels.
    """
    sets = [set(as_list(row)) for row in labels]
    n_docs = Counter(name for names in sets for name in names)
    if len(n_docs) == 1:
        say("warning: there is one label: nothing can be mistaken")
        return
    n_alone = sum(all(n_docs[name] == 1 for name in names) for names in sets)
    if n_alone:
        have = "has" if n_alone == 1 else "have"
        say(f"warning: {counted(n_alone, 'document')} {have} a label that no other has: always mistaken")


# --- pages


def _shown_alone(found: Collection, evaluation: Any, parts: Parts) -> dict[str, Any]:
    """Arguments of the page of documents that predict each other."""
    clf, texts, labels = found.classifier, found.texts, found.labels
    how = "each document by all the others"
    if parts.folds is not None:
        others = "those before it" if parts.by == "order" else "the others"
        by = f", cut by {parts.by}" if parts.by not in (None, "order") else ""
        how = f"each of {parts.folds} parts by {others}{by}"
    rows = getattr(evaluation, "rows", range(len(labels)))
    return {
        "facts": [("Predicted", how)],
        "texts": [texts[row] for row in rows],
        "places": [_place_of(found.sources[row], found.lines[row]) for row in rows],
        "classifier": bunrui.TextClassifier(**clf.get_params()).learn(texts, labels) if _counts_texts(clf) else None,
        "curve": _curve(clf, texts, labels) if _counts_texts(clf) else None,
        "is_learned": True,
    }


def _shown_of_test(opened: bunrui.StoredClassifier, classifier: AnyClassifier, wrong: Wrong) -> dict[str, Any]:
    """Arguments of the page of documents that a classifier has predicted."""
    from bunrui.evaluation.loo import own_documents

    has_curve = opened.keep == "text" and _counts_texts(classifier)
    return {
        "facts": [("Predicted by", os.path.basename(opened.path))],
        "texts": {row: document for row, (document, _) in wrong.items()},
        "places": {row: place for row, (_, place) in wrong.items()},
        "classifier": classifier,
        "curve": _curve(classifier, *own_documents(opened)) if has_curve else None,
    }


def _write_page(path: str, data: list[str], clf: AnyClassifier, evaluation: Any, shown: dict[str, Any]) -> None:
    """Write the page of an evaluation; `shown` are arguments of `evaluation_page`, with its first fact."""
    from bunrui.selection.settings import analyzer_name

    has, spec = clf.effective_settings, clf.analyzer
    usual = bunrui.TextClassifier(has["model"], analyzer=spec).settings
    changed = [f"{name} {spell_value(name, value)}" for name, value in has.items() if value != usual[name]]
    analyzer = analyzer_name(spec) if isinstance(spec, bunrui.AnalyzerSpec) else str(spec)
    facts = [*shown.pop("facts"), ("Model", ", ".join([has["model"], *changed])), ("Analyzer", analyzer)]
    title = ", ".join(map(os.path.basename, data))
    write_page(path, bunrui.report.evaluation_page(evaluation, title=title, facts=facts, **shown))


def _counts_texts(clf: AnyClassifier) -> bool:
    return not clf.needs_documents and not reads_tables(clf)


def _curve(clf: AnyClassifier, texts: Any, labels: list[Any]) -> Any:
    return bunrui.evaluation.learning_curve(clf, texts, labels) if len(labels) >= _FEWEST_FOR_CURVE else None


def _place_of(source: str | None, line: int | None) -> str:
    """Where a document comes from, as pages say it."""
    return source or "" if line is None else f"{source}, line {line}"
