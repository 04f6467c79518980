"""`--html`: pages that a command writes beside its results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bunrui.cli.console import say
from bunrui.cli.options import UsageError
from bunrui.cli.output import finished

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier, TextClassifier
    from bunrui.cli.crossing import Alone
    from bunrui.cli.parts import Parts
    from bunrui.evaluation import Evaluation
    from bunrui.store import StoredClassifier

__all__ = ["check_folder", "check_page", "page_of_test", "page_of_themselves", "write_page"]

_FEWEST_FOR_CURVE = 20


def check_folder(path: str) -> None:
    """Refuse at once what could not be written at the end."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(2, "cannot be written: there is no such folder", path)
    if os.path.isdir(path):
        raise IsADirectoryError(21, "is a folder: name a file in it", path)
    if not os.access(folder or ".", os.W_OK):
        raise PermissionError(13, "cannot be written: the folder is not writable", path)


def check_page(path: str | None) -> None:
    """Refuse at once a page that could not be written, or that would take the place of something else."""
    if path is None:
        return
    check_folder(path)
    if not path.lower().endswith((".html", ".htm")):
        raise UsageError(f"--html writes a page: give a name that ends in .html, not {path!r}.")


def write_page(path: str, page: str) -> None:
    """Write a page as a whole or not at all; one that was there is replaced."""
    try:
        with finished(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="\n") as out:
            out.write(page)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        if error.filename == path:
            raise
        raise OSError(error.errno, f"cannot be written: {error.strerror}", path) from error
    say(f"wrote {path}")


def page_of_themselves(data: list[str], found: Alone, parts: Parts) -> str:
    """The page of documents that predict each other."""
    from bunrui.cli.tables import reads_tables
    from bunrui.report import evaluation_page

    collection = found.collection
    clf = collection.classifier
    texts, places = collection.texts, _places(collection.sources, collection.lines)
    rows = getattr(found.evaluation, "rows", None)
    if rows is not None:
        texts, places = [texts[row] for row in rows], [places[row] for row in rows]
    counts = not clf.needs_documents and not reads_tables(clf)
    if parts.folds is None:
        how = "each document by all the others"
    elif parts.by == "order":
        how = f"each of {parts.folds} parts by those before it"
    else:
        how = f"each of {parts.folds} parts by the others" + (f", cut by {parts.by}" if parts.by is not None else "")
    learned = _copy(clf).learn(collection.texts, collection.labels) if counts else None
    return evaluation_page(
        found.evaluation,
        title=", ".join(map(os.path.basename, data)),
        facts=[("Predicted", how), *_described(clf)],
        texts=texts,
        places=places,
        classifier=learned,
        is_learned=True,
        curve=_curve(clf, collection.texts, collection.labels) if counts else None,
        n_duplicates=found.n_duplicates,
    )


def page_of_test(
    file: str,
    data: list[str],
    opened: StoredClassifier,
    classifier: AnyClassifier,
    evaluation: Evaluation,
    wrong: Mapping[int, tuple[Any, str]],
) -> str:
    """The page of documents that a classifier has predicted; `wrong` are those with mistakes, and their places."""
    from bunrui.cli.tables import reads_tables
    from bunrui.evaluation.loo import own_documents
    from bunrui.report import evaluation_page

    curve = None
    if opened.keep == "text" and not classifier.needs_documents and not reads_tables(classifier):
        curve = _curve(classifier, *own_documents(opened))
    return evaluation_page(
        evaluation,
        title=", ".join(map(os.path.basename, data)),
        facts=[("Predicted by", os.path.basename(file)), *_described(classifier)],
        texts={row: document for row, (document, _) in wrong.items()},
        places={row: place for row, (_, place) in wrong.items()},
        classifier=classifier,
        curve=curve,
    )


def _copy(clf: AnyClassifier) -> TextClassifier:
    from bunrui.classifier import TextClassifier

    return TextClassifier(**clf.get_params())


def _curve(clf: AnyClassifier, texts: Any, labels: list[Any]) -> Any:
    from bunrui.evaluation import learning_curve

    return learning_curve(clf, texts, labels) if len(labels) >= _FEWEST_FOR_CURVE else None


def _places(sources: list[str | None], lines: list[int | None]) -> list[str]:
    pairs = zip(sources, lines, strict=True)
    return [source or "" if line is None else f"{source}, line {line}" for source, line in pairs]


def _described(clf: AnyClassifier) -> list[tuple[str, str]]:
    """The model with its options, and the analyzer."""
    from bunrui.classifier import TextClassifier
    from bunrui.cli.options import written

    usual = TextClassifier(clf.model, analyzer=clf.analyzer).settings
    changed = [f"{name} {written(name, value)}" for name, value in clf.settings.items() if value != usual[name]]
    return [("Model", ", ".join([clf.model, *changed])), ("Analyzer", _analyzer(clf.analyzer))]


def _analyzer(given: Any) -> str:
    from bunrui.analysis import AnalyzerSpec
    from bunrui.selection.settings import analyzer_name

    return analyzer_name(given) if isinstance(given, AnalyzerSpec) else str(given)
