"""Studies of the documents in a file: mistakes, the learning curve, a comparison of models, suspicious labels.

Each study gets a classifier without documents, the documents, the input of the client, and the job.  Its result has
numbers for programs, in the types of JSON, and `html`: drawings for the page.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import closing
from typing import TYPE_CHECKING, Any

from bunrui import store
from bunrui.analysis import AnalyzerSpec
from bunrui.classifier import AnyClassifier, TextClassifier, thresholds_of
from bunrui.evaluation import Corpus, Evaluation, leave_one_out, measure_labels
from bunrui.evaluation import result as evaluated
from bunrui.evaluation.loo import cut_odds, kept_documents, own_documents
from bunrui.labels import as_list, plain
from bunrui.models import AUTO, MODELS
from bunrui.models.rest import labels_above
from bunrui.phrases import excerpt, readable
from bunrui.service.jobs import Job
from bunrui.store.lifecycle import Document
from bunrui.views.comparison import comparison_table
from bunrui.views.evaluation import curve_html, page_parts, set_labels_table, sets_table
from bunrui.views.explanation import explanation_html

if TYPE_CHECKING:
    from bunrui.selection import Comparison
    from bunrui.selection.compare import Progress

_LONGEST = 5000  # characters of a document
_MOST_MISTAKES, _MOST_OF_A_PAIR, _MOST_PAIRS = 1000, 50, 100_000
_MOST_SUSPECTS, _MOST_CONTRIBUTIONS, _LONGEST_EXPLAINED = 50, 500, 20_000


def _texts_and_labels(documents: list[Document]) -> tuple[list[Any], list[Any]]:
    return [document.text for document in documents], [document.labels for document in documents]


# --- mistakes


def find_mistakes(clf: AnyClassifier, documents: list[Document], report: bool, job: Job) -> dict[str, Any]:
    """Predict every document by what the others say; `clf` gives the options."""
    from bunrui.evaluation.crossvalidation import score_left_out

    job.total = len(documents)
    texts, true = _texts_and_labels(documents)
    read, scores = score_left_out(clf, texts, true)
    job.add(len(documents))
    evaluation = Evaluation(
        true=true,
        predictions=[read.classes[k] for k in scores.argmax(axis=1).tolist()],
        probabilities=clf.probabilities_of(scores, read.texts),
        classes=read.classes,
    )
    members = mistake_members(evaluation, documents)
    if tells_sets(clf, true):
        corpus = Corpus(clf, texts, true)
        odds = corpus.log_odds()
        members["sets"] = set_members(true, corpus.documents.classes, odds, cut_odds(corpus, odds))
    if report:
        learned = TextClassifier(**clf.get_params()).learn(texts, true)
        learned.set_calibration(clf.calibration)
        members["report"] = report_of(evaluation, texts, learned, is_learned=True)
    return members


def mistake_members(evaluation: Evaluation, documents: list[Document]) -> dict[str, Any]:
    """An evaluation for the page, with the documents that are predicted wrongly."""
    return evaluation_members(evaluation, html=True) | {"mistakes": _mistakes(evaluation, documents)}


def tells_sets(clf: AnyClassifier, true: list[Any]) -> bool:
    """Whether some documents have several labels, and the model can hold each label against the rest."""
    model = clf.effective_options["model"]
    has_sets = any(len(as_list(labels)) > 1 for labels in true)
    return has_sets and model in MODELS and MODELS[model].takes_label_sets


def report_of(evaluation: Evaluation, texts: list[Any], classifier: AnyClassifier, *, is_learned: bool) -> str:
    """A page to keep; who needs none does not import what makes it."""
    from bunrui.report import evaluation_page

    model = classifier.effective_options["model"]
    return evaluation_page(
        evaluation, facts=[("Model", str(model))], texts=texts, classifier=classifier, is_learned=is_learned
    )


def set_members(true: list[Any], classes: list[Any], odds: Any, thresholds: dict[Any, float]) -> dict[str, Any]:
    """How well sets of labels are predicted: by log-odds above 0, and above the best threshold of each label."""
    sets = [set(as_list(labels)) for labels in true]
    found = {
        name: measure_labels(sets, labels_above(classes, odds, thresholds_of(classes, cut)), labels=classes)
        for name, cut in (("plain", 0.0), ("best", thresholds))
    }
    html = {"figures": sets_table(**found).to_html(), "labels": set_labels_table(found["best"], thresholds).to_html()}
    return {name: metrics.to_dict() for name, metrics in found.items()} | {"thresholds": thresholds, "html": html}


def evaluation_members(evaluation: Evaluation, *, html: bool = False) -> dict[str, Any]:
    """An evaluation in the types of JSON."""
    metrics = evaluation.metrics
    return {
        "n": metrics.n,
        "accuracy": metrics.accuracy,
        "interval": evaluation.interval("accuracy")._asdict(),
        "macro": metrics.macro._asdict(),
        "per_class": [of_class._asdict() for of_class in metrics.per_class],
        "pairs": [list(pair) for pair in metrics.pairs[:_MOST_PAIRS]],
        "reliability": [one._asdict() for one in evaluation.reliability],
        "ece": evaluation.ece,
        "log_loss": evaluation.log_loss if math.isfinite(evaluation.log_loss) else None,
        **({"html": page_parts(evaluation)} if html else {}),
    }


def _mistakes(evaluation: Evaluation, documents: list[Document]) -> list[dict[str, Any]]:
    """The surest first; so many of each pair of labels."""
    of_pair: Counter[tuple[Any, Any]] = Counter()
    shown = []
    for mistake in sorted(evaluated.find_mistakes(evaluation), key=lambda one: (-one.confidence, one.row)):
        document = documents[mistake.row]
        pair = document.labels[0], plain(mistake.predicted)
        of_pair[pair] += 1
        if of_pair[pair] <= _MOST_OF_A_PAIR:
            shown.append(
                {
                    "text": excerpt(readable(document.text), _LONGEST),
                    "digest": document.digest or None,
                    "true": document.labels,
                    "predicted": pair[1],
                    "probability": mistake.confidence,
                }
            )
    return shown[:_MOST_MISTAKES]


# --- the learning curve


def find_curve(clf: AnyClassifier, documents: list[Document], job: Job) -> dict[str, Any]:
    """Learn growing parts of the documents, and predict others.

    >>> texts = ["cheap pills", "lunch at noon"] * 10
    >>> documents = [Document("", [label], "", None, None, text) for text, label in zip(texts, ["spam", "ham"] * 10)]
    >>> found = find_curve(TextClassifier(), documents, Job("curve", None))
    >>> [(point["documents"], point["accuracy"]) for point in found["points"]][-1]
    (16, 1.0)
    """
    from bunrui.evaluation.crossvalidation import learning_curve

    def watch(done: int, total: int) -> None:
        job.total = total
        job.add(done - job.done)

    found = learning_curve(clf, *_texts_and_labels(documents), watch=watch)
    job.add((job.total or 0) - job.done)
    return found.to_dict() | {"html": curve_html(found)}


# --- other models


def compare_all(clf: AnyClassifier, documents: list[Document], trained: bool, job: Job) -> dict[str, Any]:
    """Measure all models; the rows that are measured already are the result of the job while it runs."""
    from bunrui.selection import compare
    from bunrui.selection.settings import analyzer_named, analyzers_for

    texts, labels = _texts_and_labels(documents)
    given: Any = clf.analyzer  # of a file: a name, or a spec
    own = analyzer_named(given) if isinstance(given, str) else given

    def watch(progress: Progress) -> None:
        job.total = progress.n_all
        if progress.done.rows:
            job.result = _comparison_members(progress.done, own)
        job.add(len(progress.done.rows) - job.done)

    analyzers = [own, *analyzers_for(texts)]
    models = None if trained else [*MODELS, AUTO]
    is_calibrated = clf.is_calibrated  # then Evaluate measures calibrated probabilities, too
    found = compare(texts, labels, models=models, analyzers=analyzers, calibrated=is_calibrated, watch=watch)
    job.add(len(found.rows) - job.done)
    return _comparison_members(found, own)


def _comparison_members(comparison: Comparison, own: AnalyzerSpec) -> dict[str, Any]:
    """`is_own` is true of the rows that cut text as the file does: the file can take on their models."""
    rows = [row.to_dict() | {"reads": row.features, "is_own": row.analyzer == own} for row in comparison.rows]
    table = comparison_table(comparison, is_page=True, is_sortable=True)
    return comparison.to_dict() | {"rows": rows, "html": table.to_html()}


# --- suspect labels


def find_suspects(clf: AnyClassifier, documents: list[Document], kept: Collection[str], job: Job) -> dict[str, Any]:
    """The most suspicious documents, but those whose digests are in `kept`: somebody has said that they are right."""
    from bunrui.selection import audit

    job.total = len(documents)
    found = audit(clf, *_texts_and_labels(documents))
    job.add(len(documents))
    known = frozenset(kept)
    suspects = [suspect for suspect in found.suspects if documents[suspect.row].digest not in known]
    shown = []
    for suspect in suspects[:_MOST_SUSPECTS]:
        job.add(0)
        document = documents[suspect.row]
        is_short = isinstance(document.text, str) and len(document.text) <= _LONGEST_EXPLAINED
        explanation = found.explain(suspect) if is_short else None
        members, html = None, None
        if explanation is not None:
            members = explanation.to_dict()
            members["contributions"] = members["contributions"][:_MOST_CONTRIBUTIONS]
            html = explanation_html(explanation.reverse(), table=False)  # blue speaks for the label that it has
        about = suspect._asdict() | {"doubts": [doubt._asdict() for doubt in suspect.doubts], "better": suspect.better}
        about |= {"digest": document.digest, "text": excerpt(readable(document.text), _LONGEST)}
        del about["row"]
        shown.append(about | {"explanation": members, "html": html})
    return {"documents": len(documents), "n_suspects": len(suspects), "suspects": shown}


# --- probabilities that can be believed


def find_calibration(clf: AnyClassifier, documents: list[Document], job: Job) -> dict[str, Any]:
    """The calibration of the documents, each left out."""
    from bunrui.selection import calibration_for

    job.total = len(documents)
    found = calibration_for(clf, *_texts_and_labels(documents))
    job.add(len(documents))
    return found.to_dict()


# --- of a file

_STUDIES: dict[str, Callable[..., dict[str, Any]]] = {
    "mistakes": find_mistakes,
    "curve": find_curve,
    "compare": compare_all,
    "audit": find_suspects,
    "calibrate": find_calibration,
}


def leave_out(path: str, model: str | None, html: bool, job: Job) -> dict[str, Any]:
    """What every document of a file is predicted to be by the others."""
    with closing(store.open(path, read_only=True)) as opened:
        texts, labels = own_documents(opened)
        options = opened.with_model(model).get_params()
    job.total = len(texts)
    found = leave_one_out(TextClassifier(**options), texts, labels)
    job.add(len(texts))
    return found.metrics.to_dict() | evaluation_members(found, html=html)


def study(path: str, kind: str, *given: Any) -> dict[str, Any]:
    """What a study says of the documents of a file; the last that is given is the job."""
    with closing(store.open(path, read_only=True)) as opened:
        documents = kept_documents(opened)
        empty = TextClassifier(**opened.with_model().get_params())
        empty.set_calibration(opened.calibration)
    return _STUDIES[kind](empty, documents, *given)
