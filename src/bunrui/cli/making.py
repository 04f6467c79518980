"""The classifier that `bunrui learn` extends, or makes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TYPE_CHECKING, Any

from bunrui.cli.options import Model, written

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier
    from bunrui.store import StoredClassifier

__all__ = ["new", "old", "options_of_new", "refuse_contradictions"]


@contextmanager
def old(file: str, model: Model, analyzer: dict[str, Any], keep: str | None) -> Iterator[StoredClassifier]:
    """The classifier in a file, if the options do not contradict it."""
    from bunrui import store

    with closing(store.open(file)) as classifier:
        refuse_contradictions(classifier, file, classifier.keep, model, analyzer, keep)
        yield classifier


def new(
    file: str, model: Model, analyzer: dict[str, Any], keep: str | None
) -> AbstractContextManager[StoredClassifier]:
    """A new classifier, which is not there if something goes wrong."""
    from bunrui import store

    return store.creating(file, keep=keep or "text", **options_of_new(model, analyzer))


def options_of_new(model: Model, analyzer: dict[str, Any]) -> dict[str, Any]:
    """The options of a new classifier."""
    from bunrui.analysis import AnalyzerSpec

    spec = AnalyzerSpec(**analyzer)
    return ({"model": "columns"} if spec.name == "columns" else {}) | model.given() | {"analyzer": spec}


def refuse_contradictions(
    classifier: AnyClassifier, file: str, keeps: str, model: Model, analyzer: dict[str, Any], keep: str | None
) -> None:
    from dataclasses import asdict

    from bunrui.analysis import AnalyzerSpec
    from bunrui.errors import OptionError

    for name, wanted in model.given().items():
        has = getattr(classifier, name)
        if has is None and name == "alpha":
            has = classifier.effective_alpha if wanted is not None else None  # what the default comes to
        if wanted != has:
            option = f"--{name.replace('_', '-')} {written(name, wanted)}"
            if isinstance(wanted, bool):
                option = f"--{'' if wanted else 'no-'}{name.replace('_', '-')}"
            raise OptionError(
                f"{file} has another {name} ({written(name, has)}): change it with 'bunrui set {file} {option}', "
                "or learn into another file"
            )
    if analyzer:
        spec = classifier.analyzer
        assert isinstance(spec, AnalyzerSpec)  # a file has nothing else
        is_other = analyzer.get("name", spec.name) != spec.name
        if is_other or AnalyzerSpec(**(asdict(spec) | analyzer)) != spec:
            raise OptionError(
                f"{file} was made with another analyzer ({spec.describe()}): leave the options of the analyzer out, "
                "or learn into another file"
            )
    if keep not in (None, keeps):
        raise OptionError(f"{file} keeps {keeps}, not {keep}: leave --keep out, or learn into another file")
