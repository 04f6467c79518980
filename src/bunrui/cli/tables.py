"""Tables: rows with columns of several kinds in place of texts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bunrui.cli.console import plain, say
from bunrui.cli.options import Analysis, Documents, UsageError

if TYPE_CHECKING:
    from bunrui.classifier import AnyClassifier
    from bunrui.documents import Reader
    from bunrui.store import StoredClassifier

__all__ = ["Tables", "known_columns", "reads_tables", "warn_of_columns"]


def _tables(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Tables", show_default=False, **settings)


@dataclass(frozen=True)
class Tables:
    """Whether a new classifier is one of tables."""

    columns: Annotated[
        bool,
        _tables(
            "--columns",
            help="DATA are tables: all columns but --label and --id are read, numbers, categories, texts and dates "
            "each in its way. In CSV and TSV, an empty cell, ?, NA, N/A, null, None, NaN or nan is no value.",
        ),
    ] = False
    kind: Annotated[
        list[str] | None,
        _tables(
            "--kind",
            metavar="COLUMN=KIND",
            help="Take a column for text, categorical, numeric, gaussian, binned, date or skip. Can be repeated.",
        ),
    ] = None

    def check(self, documents: Documents, analysis: Analysis) -> None:
        """Refuse what does not go together."""
        if self.kind and not self.columns:
            raise UsageError("--kind goes with --columns.")
        if self.columns and analysis.given():
            options = ", ".join(f"--{name.replace('_', '-')}" for name, value in vars(analysis).items() if value)
            raise UsageError(f"--columns reads tables, and {options} is for text: leave one of the two out.")
        if self.columns and documents.text:
            raise UsageError("--columns reads all columns, and --text is for text: leave one of the two out.")

    def given(self) -> dict[str, Any]:
        """What was given, as fields of `AnalyzerSpec`.

        >>> Tables(columns=True, kind=["age=binned"]).given()
        {'name': 'columns', 'kinds': {'age': 'binned'}}
        """
        if not self.columns:
            return {}
        kinds: dict[str, str] = {}
        for given in self.kind or ():
            column, is_there, kind = given.rpartition("=")
            if not is_there or not column:
                raise UsageError(f"--kind takes a column and its kind, such as age=binned, not {given!r}.")
            if kinds.get(column, kind) != kind:
                raise UsageError(f"--kind names the column {column!r} twice: give it one kind.")
            kinds[column] = kind
        return {"name": "columns"} | ({"kinds": kinds} if kinds else {})

    def check_kinds(self, reader: Reader) -> None:
        """Refuse kinds of columns that no row has, after all rows were read."""
        from bunrui.errors import OptionError

        for column in self.given().get("kinds", {}):
            if column not in reader.columns:
                some = ", ".join(map(repr, reader.columns[:20])) + (" …" if len(reader.columns) > 20 else "")
                raise OptionError(f"--kind names the column {column!r}, and there are only {some}: nothing was learned")


def reads_tables(classifier: AnyClassifier) -> bool:
    """Whether a classifier is one of tables."""
    return bool(getattr(classifier.analyzer, "name", classifier.analyzer) == "columns")


def known_columns(classifier: StoredClassifier) -> list[str]:
    """The columns of the first row that a file keeps."""
    if classifier.keep != "text":
        return []
    return next((list(json.loads(document.text)) for document in classifier.documents()), [])


def warn_of_columns(known: list[str], reader: Reader) -> None:
    """Say if rows lack a column that others had before: perhaps its name is misspelt."""
    gone = [name for name in known if name not in reader.columns]
    if not gone:
        return
    new = [name for name in reader.columns if name not in known]
    more = f" and have {_listed(new)}, which was not there" if new else ""
    say(f"warning: these rows lack {_listed(gone)}{more}; 'bunrui undo' takes them back")


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{plain(name)}'" for name in names[:5]) + (" …" if len(names) > 5 else "")
