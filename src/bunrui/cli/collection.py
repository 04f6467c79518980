"""Documents that predict each other: what `evaluate --loo`, `compare`, `tune` and `audit` read and run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import bunrui
from bunrui.cli.console import Bar, say, say_reading
from bunrui.cli.documents import reads_tables
from bunrui.cli.options import Analysis, LabelledDocuments, Model, Parts
from bunrui.engines.stream import texts_of
from bunrui.errors import DataError, OptionError, StoreError
from bunrui.labels import as_list
from bunrui.phrases import counted

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier
    from bunrui.documents import Reader
    from bunrui.evaluation import Evaluation
    from bunrui.store.log import Seen

# Probabilities (documents × labels) that are kept, and measured at the end: 400 MB.
MOST_PROBABILITIES = 50_000_000


_SQLITE = b"SQLite format 3\0"


class Collection(NamedTuple):
    """Documents in memory, and a classifier with the options to learn them by, which has not."""

    texts: Any
    labels: list[Any]  # a label, or a list of labels
    sources: list[str | None]
    ids: list[str | None]
    classifier: AnyClassifier
    lines: list[int | None]


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
    check: Callable[[AnyClassifier], None] = lambda classifier: None,
    label_type: type | None = None,
) -> Collection:
    """The documents of files, or of a classifier that keeps texts; `check` sees the classifier before they are read.

    The labels of files get a type, or that of the first of them.
    """
    if is_classifier(data[0]):
        if len(data) > 1:
            raise OptionError(f"{data[0]} is a classifier, and its own documents are read: give it, or DATA, not both.")
        if analysis.given() or documents != LabelledDocuments():
            raise OptionError(f"{data[0]} is a classifier: its documents are read as they were learned.")
        return _kept(data[0], model, check)

    classifier = bunrui.TextClassifier(analyzer=bunrui.AnalyzerSpec(**analysis.given()), **model.given())
    check(classifier)
    reader = documents.read(data, labelled=True, label_type=label_type)
    rows = read_all(reader, "done")
    say_reading(reader)
    return Collection(rows["text"], rows["label"], rows["source"], rows["id"], classifier, rows["line"])


def _kept(path: str, model: Model, check: Callable[[AnyClassifier], None]) -> Collection:
    from bunrui.evaluation.loo import kept_documents

    with bunrui.open(path, read_only=True) as opened:
        if opened.keep != "text":
            raise StoreError(
                f"{path} keeps {opened.keep} of its documents: they can predict each other only with texts"
            )
        classifier = bunrui.TextClassifier(**opened.with_model(**model.given()).get_params())
        check(classifier)
        classifier.set_calibration(opened.calibration)
        if opened.pool_weight is not None and opened.pool_weight.weight:
            say(f"measured without the texts that have no label; 'bunrui info {path}' tells how much they help")
        rows = kept_documents(opened)
    if not rows:
        raise DataError("there are no documents to be read: nothing was done")
    labels = [row.labels[0] if len(row.labels) == 1 else row.labels for row in rows]
    texts, sources, ids = ([getattr(row, name) for row in rows] for name in ("text", "source", "id"))
    return Collection(texts, labels, sources, ids, classifier, [None] * len(rows))


def read_all(reader: Reader, done: str) -> dict[str, list[Any]]:
    """All documents of a reader, by column; `done` is for the error where there are none: nothing was …"""
    columns: dict[str, list[Any]] = defaultdict(list)
    bar = Bar(reader)
    for batch in bar:
        texts = texts_of(batch)
        columns["text"] += texts if isinstance(texts, list) else texts.to_pylist()
        for name in ("label", "source", "id", "line"):
            columns[name] += batch[name].to_pylist() if name in batch.schema.names else [None] * batch.num_rows
    bar.check(done)
    return columns


def evaluate_alone(
    data: list[str], documents: LabelledDocuments, model: Model, analysis: Analysis, parts: Parts
) -> tuple[Collection, Evaluation, int | None]:
    """Documents that predict each other, the result, and the number of copies among them, if that is known."""
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
    say_labels(labels)
    say_several(sum(len(as_list(row)) > 1 for row in labels))
    return found, evaluation, say_duplicates(found)


def _check_leaves_out(parts: Parts, clf: AnyClassifier) -> None:
    if clf.needs_documents and parts.folds is None:
        raise OptionError(f"{clf.model} would be trained for each document: give --folds K in place of --loo.")


def _check_room(labels: list[Any]) -> None:
    n_labels = len({name for row in labels for name in as_list(row)})
    if len(labels) * n_labels > MOST_PROBABILITIES:
        raise DataError(
            f"{counted(len(labels), 'document')} of {counted(n_labels, 'label')} have more than "
            f"{MOST_PROBABILITIES:,} probabilities: learn some of them into a FILE, and 'bunrui evaluate FILE' the "
            "others"
        )


def _say_refits(clf: AnyClassifier, n_docs: int) -> None:
    if not clf.current_model.one_pass:
        options = ("max_features", "class_norm", "against_rest")
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options if getattr(clf, name))
        so = f"with {names}, " if names else ""
        model, documents = clf.effective_options["model"], counted(n_docs, "document")
        say(f"{so}{model} is fitted for each of {documents}: --folds 5 fits it 5 times")


def say_duplicates(found: Collection) -> int | None:
    """Say how many documents are copies of others, or nearly: they make the result look better than it is."""
    texts = found.texts
    if not isinstance(texts[0], str):
        return None

    is_table = reads_tables(found.classifier)
    n_extra = bunrui.evaluation.find_duplicates(texts, near=not is_table).n_extra
    if n_extra:
        are = "is a copy" if n_extra == 1 else "are copies"
        near = "" if is_table else ", or a near copy," if n_extra == 1 else ", or near copies,"
        has_ids = any(id is not None for id in found.ids)
        then = "; --folds 5 --by id keeps together what has the same id" if has_ids else ""
        say(
            f"{counted(n_extra, 'document')} ({n_extra / len(texts):.1%}) {are}{near} of others, which "
            f"{'makes' if n_extra == 1 else 'make'} the result look better{then}"
        )
    return n_extra


def say_several(n_docs: int) -> None:
    """Say how documents with several labels are measured, and how else they can be."""
    if n_docs:
        have = "has" if n_docs == 1 else "have"
        say(
            f"{counted(n_docs, 'document')} {have} several labels, and any of them counts as right; "
            "'bunrui evaluate FILE TEST --labels' measures all of them"
        )


def say_labels(labels: Sequence[Any]) -> None:
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


def _keys(texts: Any) -> Any:
    from bunrui.memory import document_digests, key_words

    return key_words(document_digests(texts))


class LearnedBefore:
    """Counts the test documents that were learned."""

    def __init__(self, seen: Seen | None) -> None:
        self._seen = seen
        self._n_docs = self._n_learned = 0

    @classmethod
    def into(cls, path: str) -> LearnedBefore:
        """Count what the classifier in a file has learned, if the file keeps enough to tell."""
        from bunrui.store.file import find_seen
        from bunrui.store.store import Store

        with closing(Store.open(path, read_only=True)) as store, store.reading():
            return cls(find_seen(store, needed=False))

    @classmethod
    def of(cls, texts: Any) -> LearnedBefore:
        """Count what some other documents have among them."""
        from bunrui.store.log import Seen

        return cls(Seen(_keys(texts)))

    def add(self, texts: Any) -> None:
        """Count some test documents."""
        if self._seen is not None and len(self._seen):
            self._n_docs += len(texts)
            self._n_learned += int(self._seen.has(_keys(texts)).sum())

    def say(self, name: str) -> None:
        """Say how many there were; `name` is what has learned them."""
        if self._n_learned:
            were = "was" if self._n_learned == 1 else "were"
            say(
                f"warning: {self._n_learned:,} of {counted(self._n_docs, 'test document')} {were} learned by {name}: "
                "the result looks better than it is"
            )
