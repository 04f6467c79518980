"""`bunrui datasets list`, `fetch`, `path`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bunrui.cli.console import Bar, counted, interrupts, plain, say, show, to_json
from bunrui.cli.options import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from bunrui.datasets import Corpus

__all__ = ["datasets"]

_ACTIONS = ("list", "fetch", "path")


def _names() -> list[str]:
    from bunrui.datasets import CORPORA

    return list(CORPORA)


def datasets(
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION", help="list, fetch or path.", autocompletion=lambda: [*_ACTIONS], show_default=False
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The corpus.", autocompletion=_names, show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PATH",
            show_default=False,
            help="With fetch: a copy that you have. The publisher's file, or a folder with it or what it unpacks to.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="With list: one JSON object a line.")] = False,
) -> None:
    """Get public corpora from their official addresses: mail, news, reviews, tables.

    list shows them, their licences, and which are here. fetch downloads
    one, after showing its terms, checks it, and writes train.parquet and
    test.parquet (all.parquet where there is no official split; list shows
    the names) into its folder; a download that was cut goes on where it
    stopped. path prints the folder.

    They are kept in the folder BUNRUI_DATASETS, or in the user's cache.
    Documents that have no label, as some of Reuters, are in files of their
    own, train-unlabelled.parquet.

    [bold]Examples[/]

      bunrui datasets list
      bunrui datasets fetch imdb
      bunrui learn imdb.bunrui $(bunrui datasets path imdb)/train.parquet
      bunrui datasets fetch sms --from ~/Downloads/smsspamcollection.zip
    """
    if action not in _ACTIONS or (name is None) != (action == "list"):
        raise UsageError("write 'datasets list', 'datasets fetch NAME' or 'datasets path NAME'.")
    if source is not None and action != "fetch":
        raise UsageError("--from goes with 'datasets fetch NAME'.")
    if json and action != "list":
        raise UsageError("--json goes with 'datasets list'.")
    if action == "list":
        _list(json)
    elif action == "fetch":
        _fetch(name or "", source)
    else:
        from bunrui.datasets import path

        print(path(name or ""))


# --- list


def _list(json: bool) -> None:
    from bunrui.datasets import CORPORA

    rows = [(corpus, _folder(corpus)) for corpus in CORPORA.values()]
    if json:
        for corpus, here in rows:
            print(to_json(_described(corpus) | {"path": here}))
    elif sys.stdout.isatty():
        show(_table(rows))
    else:
        for corpus, here in rows:
            print("\t".join(map(plain, (*_fields(corpus), here or ""))))


def _folder(corpus: Corpus) -> str | None:
    """Where it is, if it is here."""
    from bunrui.datasets import path
    from bunrui.errors import DataError

    try:
        return str(path(corpus.name))
    except DataError:
        return None


def _described(corpus: Corpus) -> dict[str, Any]:
    return {
        "name": corpus.name,
        "title": corpus.title,
        "language": corpus.language,
        "licence": corpus.licence,
        "terms": corpus.terms,
        "home": corpus.home,
        "splits": {split: corpus.rows.get(split) for split in corpus.splits},
        "labels": corpus.n_labels,
        "files": [{"name": f.name, "url": f.url, "sha256": f.sha256, "bytes": f.n_bytes} for f in corpus.files],
    }


def _fields(corpus: Corpus) -> tuple[str, ...]:
    """Name, language, splits with their documents, labels, size, licence, title."""
    from bunrui.cli.manage import size

    splits = [f"{split} {corpus.rows[split]:,}" if split in corpus.rows else split for split in corpus.splits]
    labels = "" if corpus.n_labels is None else str(corpus.n_labels)
    how = size(corpus.n_bytes) if corpus.n_bytes else "" if corpus.has_address else "bring it"
    return corpus.name, corpus.language, ", ".join(splits), labels, how, corpus.licence, corpus.title


def _table(rows: list[tuple[Corpus, str | None]]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(
        Column("name", no_wrap=True),
        Column("", no_wrap=True),
        Column("documents", overflow="fold"),
        Column("labels", justify="right"),
        Column("size", justify="right", no_wrap=True),
        Column("licence", no_wrap=True),
        Column("here", justify="center"),
        box=SIMPLE_HEAD,
    )
    for corpus, here in rows:
        table.add_row(*(Text(field) for field in _fields(corpus)[:-1]), "✓" if here else "")
    return table


# --- fetch


class _Transfer(Bar):
    """A bar of bytes, for each thing that is done."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # there is no reader
        self._what = ""

    def report(self, what: str, done: int, total: int | None) -> None:
        """So many bytes are done."""
        if self._quiet or self.seconds < self._PATIENCE:
            return
        if what != self._what:
            self._begin(what, total)
        self._progress.update(self._task, completed=done)

    def _begin(self, what: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        if self._progress is not None:
            self._progress.stop()
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._progress.start()
        self._what, self._task = what, self._progress.add_task(what, total=total)


def _fetch(name: str, source: str | None) -> None:
    from bunrui.datasets import CORPORA, fetch
    from bunrui.datasets.registry import named

    corpus = named(CORPORA, name)
    say(f"{name}: {corpus.title}\nlicence: {corpus.licence}. {corpus.terms}\npage: {corpus.home}")
    here = _folder(corpus)
    if source is None and here is not None:
        say(f"it is here already: delete {here} to get it anew")
    elif source is None and corpus.has_address:
        say("\n".join(f"file: {file.url}" for file in corpus.files))
    stopped = "interrupted; run it again, and the download goes on where it stopped"
    bar = _Transfer()
    with interrupts(stopped), bar:
        home = fetch(name, source, report=bar.report, notice=say)
    _say_written(corpus, home)


def _say_written(corpus: Corpus, home: Path) -> None:
    import pyarrow.parquet as pq

    for split in corpus.splits:
        for file in (home / f"{split}.parquet", home / f"{split}-unlabelled.parquet"):
            if file.is_file():
                say(f"{file}: {counted(pq.read_metadata(file).num_rows, 'row')}")
