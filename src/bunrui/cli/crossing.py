"""Documents that predict each other: what `evaluate --loo`, `compare`, `tune` and `audit` read and run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from bunrui.cli.console import Bar, counted, say, say_reading
from bunrui.cli.flattery import say_duplicates, say_labels
from bunrui.cli.options import Analysis, LabelledDocuments, Model, UsageError
from bunrui.cli.parts import Parts
from bunrui.engines.batches import texts_of

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier, TextClassifier
    from bunrui.evaluation import Evaluation

__all__ = ["MOST_PROBABILITIES", "Alone", "Collection", "collect", "evaluate_alone"]

# Probabilities of so many documents and labels are kept, to be measured at the end: 400 MB.
MOST_PROBABILITIES = 50_000_000

_SQLITE = b"SQLite format 3\0"


class Collection(NamedTuple):
    """Documents in memory, and a classifier with the options to learn them by, which has not."""

    texts: Any
    labels: list[Any]  # a string, or a list of strings
    sources: list[str | None]
    ids: list[str | None]
    classifier: AnyClassifier
    lines: list[int | None]


class Alone(NamedTuple):
    """Documents that predicted each other; `n_duplicates` is None where nobody looked for any."""

    evaluation: Evaluation
    collection: Collection
    n_duplicates: int | None


def is_classifier(path: str) -> bool:
    """Whether a file is a classifier."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def collect(
    data: list[str],
    documents: LabelledDocuments,
    model: Model,
    analysis: Analysis,
    check: Callable[[TextClassifier], None] | None = None,
) -> Collection:
    """The documents of files, or those that a classifier keeps; `check` sees the classifier before they are read."""
    if is_classifier(data[0]):
        if len(data) > 1:
            raise UsageError(f"{data[0]} is a classifier, and its own documents are read: give it, or DATA, not both.")
        if analysis.given() or documents != LabelledDocuments():
            raise UsageError(f"{data[0]} is a classifier: its documents are read as they were learned.")
        return _kept(data[0], model, check)
    from bunrui.analysis import AnalyzerSpec
    from bunrui.classifier import TextClassifier

    classifier = TextClassifier(analyzer=AnalyzerSpec(**analysis.given()), **model.given())
    if check is not None:
        check(classifier)
    return _read(data, documents, classifier)


def _kept(path: str, model: Model, check: Callable[[TextClassifier], None] | None) -> Collection:
    from bunrui import store
    from bunrui.classifier import TextClassifier
    from bunrui.errors import StoreError
    from bunrui.evaluation.loo import kept_documents

    with closing(store.open(path, read_only=True)) as opened:
        if opened.keep != "text":
            raise StoreError(
                f"{path} keeps {opened.keep} of its documents: they can predict each other only with texts"
            )
        classifier = TextClassifier(**(opened.get_params() | model.given()))
        if check is not None:
            check(classifier)
        classifier.set_calibration(opened.calibration)
        rows = kept_documents(opened)
    if not rows:
        raise _nothing()
    labels = [row.labels[0] if len(row.labels) == 1 else row.labels for row in rows]
    texts, sources, ids = ([getattr(row, name) for row in rows] for name in ("text", "source", "id"))
    return Collection(texts, labels, sources, ids, classifier, [None] * len(rows))


def _read(data: list[str], documents: LabelledDocuments, classifier: AnyClassifier) -> Collection:
    reader = documents.read(data, labelled=True)
    texts: list[Any] = []
    labels: list[Any] = []
    sources: list[str | None] = []
    ids: list[str | None] = []
    lines: list[int | None] = []
    with Bar(reader) as bar:
        for batch in reader:
            found = texts_of(batch)
            texts += found if isinstance(found, list) else found.to_pylist()
            labels += batch["label"].to_pylist()
            sources += batch["source"].to_pylist()
            ids += batch["id"].to_pylist()
            lines += batch["line"].to_pylist()
            bar.add(batch.num_rows)
    say_reading(reader)
    if not texts:
        raise _nothing()
    return Collection(texts, labels, sources, ids, classifier, lines)


def _nothing() -> Exception:
    from bunrui.errors import DataError

    return DataError("there are no documents to be read: nothing was done")


def evaluate_alone(
    data: list[str], documents: LabelledDocuments, model: Model, analysis: Analysis, parts: Parts
) -> Alone:
    """Each document predicted by the others."""
    from bunrui.evaluation import cross_validate, leave_one_out

    found = collect(data, documents, model, analysis, None if parts.folds else _check_leaves_out)
    clf, texts, labels = found.classifier, found.texts, found.labels
    cut = parts.of(found)
    _check_room(labels)
    if clf.is_calibrated:
        say(f"probabilities are those before calibration; 'bunrui evaluate {data[0]} TEST' applies it")
    if cut is None:
        _say_refits(clf, len(labels))
        evaluation = leave_one_out(clf, texts, labels)
    else:
        evaluation = cross_validate(clf, texts, labels, cut)
    say_labels(labels)
    return Alone(evaluation, found, say_duplicates(texts))


def _check_leaves_out(clf: AnyClassifier) -> None:

    if clf.needs_documents:
        raise UsageError(f"{clf.model} would be trained for each document: give --folds K in place of --loo.")


def _check_room(labels: list[Any]) -> None:
    from bunrui.errors import DataError

    n_labels = len({name for row in labels for name in ([row] if isinstance(row, str) else row)})
    if len(labels) * n_labels > MOST_PROBABILITIES:
        raise DataError(
            f"{counted(len(labels), 'document')} of {counted(n_labels, 'label')} have more than "
            f"{MOST_PROBABILITIES:,} probabilities: learn some of them into a FILE, and 'bunrui evaluate FILE' the "
            "others"
        )


def _say_refits(clf: AnyClassifier, n_docs: int) -> None:
    from bunrui.evaluation.loo import is_exact

    if not is_exact(clf):
        options = ("max_features", "class_norm", "against_rest")
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options if getattr(clf, name))
        say(f"with {names}, {clf.model} is fitted for each of {counted(n_docs, 'document')}: --folds 5 fits it 5 times")
