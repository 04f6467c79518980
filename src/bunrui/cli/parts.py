"""`--folds` and `--by`: documents in parts, each predicted by the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bunrui.cli.console import counted
from bunrui.cli.options import UsageError

if TYPE_CHECKING:
    from bunrui.cli.crossing import Collection

__all__ = ["PANEL", "Parts"]

PANEL = "Documents that predict each other"

_FEWEST = 2
_KINDS = {None: "stratified", "label": "stratified", "source": "grouped", "id": "grouped", "order": "time"}


@dataclass(frozen=True)
class Parts:
    """How documents are cut into parts."""

    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            metavar="K",
            min=_FEWEST,
            rich_help_panel=PANEL,
            show_default=False,
            help="Predict each of K parts by all the others.",
        ),
    ] = None
    by: Annotated[
        Literal["label", "source", "id", "order"] | None,
        typer.Option(
            "--by",
            metavar="WHAT",
            rich_help_panel=PANEL,
            show_default=False,
            help="How parts are made: label (the default: each has the same share of every label), source or id "
            "(documents of one file, or one id, stay together), order (each part by those before it).",
        ),
    ] = None

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.by is not None and self.folds is None:
            raise UsageError("--by says how --folds are made: give --folds K, too.")

    def of(self, found: Collection) -> Any:
        """The parts of some documents, as `bunrui.evaluation.folds` makes them; None where nobody asks for any."""
        if self.folds is None:
            return None
        from bunrui.evaluation import folds

        groups = {"source": found.sources, "id": found.ids}.get(self.by or "")
        if groups is not None and any(group is None for group in groups):
            wanted = "--id COLUMN" if self.by == "id" else "files"
            raise UsageError(f"a document has no {self.by}: give {wanted}, or leave --by out.")
        if groups is not None and len(set(groups)) == 1:
            if self.by == "source":
                raise UsageError("all documents come from one file: give several files, or --id COLUMN --by id.")
            raise UsageError("all documents have the same id: give another --id COLUMN, or leave --by out.")
        n_docs = len(found.labels)
        if self.by == "order" and n_docs <= self.folds:
            fewer = f", or --folds {n_docs - 1}" if n_docs > _FEWEST else ""
            raise UsageError(
                f"{counted(n_docs, 'document')} cannot be cut into {self.folds + 1} parts, of which all but the first "
                f"are predicted by those before: give more documents{fewer}."
            )
        return folds(len(found.labels), found.labels, self.folds, kind=_KINDS[self.by], groups=groups)
