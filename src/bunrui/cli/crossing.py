"""Documents that predict each other: what `evaluate --loo`, `compare`, `tune` and `audit` read and run."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from bunrui.cli.console import Bar, counted, say, say_skipped
from bunrui.cli.options import Analysis, LabelledDocuments, Model, UsageError
from bunrui.cli.parts import Parts
from bunrui.engines.batches import texts_of

if TYPE_CHECKING:
    from bunrui.classifier import TextClassifier
    from bunrui.evaluation import Evaluation

__all__ = ["Alone", "Collection", "collect", "evaluate_alone", "say_duplicates"]

_SQLITE = b"SQLite format 3\0"


class Collection(NamedTuple):
    """Documents in memory, and a classifier with the options to learn them by, which has not."""

    texts: Any
    labels: list[Any]  # a string, or a list of strings
    sources: list[str | None]
    ids: list[str | None]
    classifier: TextClassifier
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


def collect(data: list[str], documents: LabelledDocuments, model: Model, analysis: Analysis) -> Collection:
    """The documents of files, or those that a classifier keeps."""
    if is_classifier(data[0]):
        if len(data) > 1:
            raise UsageError(f"{data[0]} is a classifier, and its own documents are read: give it, or DATA, not both.")
        if analysis.given() or documents != LabelledDocuments():
            raise UsageError(f"{data[0]} is a classifier: its documents are read as they were learned.")
        return _kept(data[0], model)
    from bunrui.analysis import AnalyzerSpec
    from bunrui.classifier import TextClassifier

    classifier = TextClassifier(analyzer=AnalyzerSpec(**analysis.given()), **model.given())
    return _read(data, documents, classifier)


def _kept(path: str, model: Model) -> Collection:
    from bunrui import stored
    from bunrui.classifier import TextClassifier
    from bunrui.errors import StoreError

    with closing(stored.open(path, read_only=True)) as opened:
        if opened.keep != "text":
            raise StoreError(
                f"{path} keeps {opened.keep} of its documents: they can predict each other only with texts"
            )
        rows = list(opened.documents())
        options = opened.get_params() | model.given()
    labels = [row.labels[0] if len(row.labels) == 1 else row.labels for row in rows]
    texts, sources, ids = ([getattr(row, name) for row in rows] for name in ("text", "source", "id"))
    return Collection(texts, labels, sources, ids, TextClassifier(**options), [None] * len(rows))


def _read(data: list[str], documents: LabelledDocuments, classifier: TextClassifier) -> Collection:
    from bunrui.errors import DataError

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
    say_skipped(reader)
    if not texts:
        raise DataError("there are no documents to be read: nothing was done")
    return Collection(texts, labels, sources, ids, classifier, lines)


def evaluate_alone(
    data: list[str], documents: LabelledDocuments, model: Model, analysis: Analysis, parts: Parts
) -> Alone:
    """Each document predicted by the others."""
    from bunrui.evaluation import cross_validate, leave_one_out
    from bunrui.trained.names import is_trained

    found = collect(data, documents, model, analysis)
    n_duplicates = say_duplicates(found.texts)
    cut, name = parts.of(found), found.classifier.model
    if cut is not None:
        return Alone(cross_validate(found.classifier, found.texts, found.labels, cut), found, n_duplicates)
    if is_trained(name):
        raise UsageError(f"{name} would be trained {len(found.labels):,} times: give --folds K in place of --loo.")
    return Alone(leave_one_out(found.classifier, found.texts, found.labels), found, n_duplicates)


def say_duplicates(texts: Any) -> int | None:
    """Say how many documents are copies of others, or nearly: they flatter what predicts itself."""
    if not isinstance(texts[0], str):
        return None
    from bunrui.evaluation import find_duplicates

    n_extra = find_duplicates(texts).n_extra
    if n_extra:
        say(
            f"{counted(n_extra, 'document')} ({n_extra / len(texts):.1%}) are copies, or near copies, of others: what "
            "documents say of their copies flatters"
        )
    return n_extra
