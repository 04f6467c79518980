"""`bunrui datasets list`, `fetch`, `path`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.text import Text

import bunrui
from bunrui.cli.console import interrupts, say, show, size, stdout_console, to_json
from bunrui.cli.parameters import argument, flag, option
from bunrui.errors import DataError, OptionError
from bunrui.phrases import counted, one_line
from bunrui.views.tables import Column, Table, numbers, words

if TYPE_CHECKING:
    from bunrui.datasets import Corpus
    from bunrui.datasets.download import Report

_ACTIONS = ("list", "fetch", "path")
_GROUP = "uci-"  # tables: too many for a line each
_MOST_SPLITS = 3  # that have a line each


_NARROW, _WIDE = 60, 110  # terminals: below the one there is room for names and titles, from the other on for all


def datasets(
    action: str | None = argument("ACTION", "list, fetch or path.", autocompletion=lambda: [*_ACTIONS]),
    name: str | None = argument("NAME", "The corpus.", autocompletion=lambda: [*bunrui.datasets.CORPORA]),
    source: str | None = option(
        "PATH",
        "With fetch: your own copy, that is the publisher's file, or a folder with the file or its contents.",
        "--from",
    ),
    json: bool = flag("With list: one JSON object a line."),
) -> None:
    """Download public corpora from their official addresses: mail, news, reviews, tables.

    list shows the corpora, marks those that you have (✓), and in wide
    terminals, in pipes and with --json shows their licences. fetch shows the
    licence, downloads the corpus, checks it, and writes train.parquet and
    test.parquet (or all.parquet if there is no official split; list shows the
    names) into its folder; an interrupted download goes on where it stopped.
    path prints the folder.

    The folders are in BUNRUI_DATASETS, or in the user's cache. Documents
    without a label (in Reuters) have their own file,
    train-unlabelled.parquet.

    [bold]Examples[/]

      bunrui datasets list
      bunrui datasets fetch imdb
      bunrui learn imdb.bunrui $(bunrui datasets path imdb)/train.parquet
      bunrui datasets fetch sms --from ~/Downloads/smsspamcollection.zip
    """
    if action not in _ACTIONS or (name is None) != (action == "list"):
        raise OptionError("write 'datasets list', 'datasets fetch NAME' or 'datasets path NAME', such as imdb.")
    if source is not None and action != "fetch":
        raise OptionError("--from goes with 'datasets fetch NAME'.")
    if json and action != "list":
        raise OptionError("--json goes with 'datasets list'.")
    if action == "list":
        _list(json)
    elif action == "fetch":
        _fetch(name or "", source)
    else:
        print(bunrui.datasets.path(name or ""))


def _list(json: bool) -> None:
    rows = [(corpus, _folder(corpus)) for corpus in bunrui.datasets.CORPORA.values()]
    if json:
        for corpus, here in rows:
            print(to_json(_describe(corpus) | {"path": here}))
    elif sys.stdout.isatty():
        _show(rows)
    else:
        for corpus, here in rows:
            print("\t".join(map(one_line, (*_fields(corpus, ", ".join(_splits(corpus))), here or ""))))


def _folder(corpus: Corpus) -> str | None:
    """Where it is, if it is here."""
    try:
        return str(bunrui.datasets.path(corpus.name))
    except DataError:
        return None


def _describe(corpus: Corpus) -> dict[str, Any]:
    known = {name: getattr(corpus, name) for name in ("name", "title", "language", "licence", "terms", "home")}
    splits = {split: corpus.rows.get(split) for split in corpus.splits}
    files = [{"name": f.name, "url": f.url, "sha256": f.sha256, "bytes": f.n_bytes} for f in corpus.files]
    return {**known, "splits": splits, "labels": corpus.n_labels, "files": files}


def _splits(corpus: Corpus) -> list[str]:
    """Each split with its documents, where these were counted."""
    return [f"{split} {corpus.rows[split]:,}" if split in corpus.rows else split for split in corpus.splits]


def _fields(corpus: Corpus, documents: str) -> tuple[str, ...]:
    """Name, language, documents, labels, size, licence, title."""
    labels = "" if corpus.n_labels is None else str(corpus.n_labels)
    how = size(corpus.n_bytes) if corpus.n_bytes else "" if corpus.has_address else "bring it"
    return corpus.name, corpus.language, documents, labels, how, corpus.licence, corpus.title


def _show(rows: list[tuple[Corpus, str | None]]) -> None:
    """Show a table on the terminal, with a ✓ for corpora that are here, and below it the names of the UCI tables."""
    alone = [(corpus, here) for corpus, here in rows if not corpus.name.startswith(_GROUP)]
    columns = [*words("", "name", "lang", "documents"), *numbers("labels", "size"), *words("licence")]
    columns.append(Column("title", is_number=False, overflow="fold"))
    width = stdout_console().width
    left_out = set() if width >= _WIDE else {"labels", "licence"}
    left_out |= {"lang", "documents", "size"} if width < _NARROW else set()
    cells = [("✓" if here else "", *_fields(corpus, _documents(corpus))) for corpus, here in alone]
    show(Table(columns, cells).filled(left_out))
    grouped = [(corpus, here) for corpus, here in rows if corpus.name.startswith(_GROUP)]
    print(f"\n{len(grouped)} tables of the UCI repository, as {_GROUP}NAME:")
    for has_address, what in ((True, "to be fetched"), (False, "to be brought as ARFF, with fetch --from PATH")):
        these = ((corpus.name, here) for corpus, here in grouped if corpus.has_address == has_address)
        names = (name.removeprefix(_GROUP) + (" ✓" if here else "") for name, here in these)
        show(Padding(Text(f"{what}: {', '.join(names)}"), (0, 0, 0, 2)))


def _documents(corpus: Corpus) -> str:
    """A line for each split, or one for all of many.

    >>> from bunrui.datasets import CORPORA
    >>> [_documents(CORPORA[name]) for name in ("imdb", "sms", "enron")]
    ['train 25,000\\ntest 25,000', 'all 5,574', 'enron1 … enron6\\n33,716']
    """
    if len(corpus.splits) > _MOST_SPLITS:
        return f"{corpus.splits[0]} … {corpus.splits[-1]}\n{sum(corpus.rows.values()):,}"
    return "\n".join(_splits(corpus))


@contextmanager
def _transfer() -> Iterator[Report]:
    """A function that shows on a terminal how many bytes of something are done."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", visible=False)

        def report(what: str, done: int, total: int | None) -> None:
            if what != shown.tasks[0].description:
                shown.reset(task, description=what, total=total, visible=True)
            shown.update(task, completed=done)

        yield report


def _fetch(name: str, source: str | None) -> None:
    import pyarrow.parquet as pq

    from bunrui.datasets.corpora import find_corpus

    corpus = find_corpus(name)
    say(f"{name}: {corpus.title}\nlicence: {corpus.licence}. {corpus.terms}\npage: {corpus.home}")
    here = _folder(corpus)
    if source is None and here is not None:
        say(f"it is here already: delete {here} to get it anew")
    elif source is None and corpus.has_address:
        say("\n".join(f"file: {file.url}" for file in corpus.files))
    stopped = "interrupted; run it again, and the download goes on where it stopped"
    with interrupts(stopped), _transfer() as report:
        home = bunrui.datasets.fetch(name, source, report=report, notice=say)
    for split in corpus.splits:
        for file in (home / f"{split}.parquet", home / f"{split}-unlabelled.parquet"):
            if file.is_file():
                say(f"{file}: {counted(pq.read_metadata(file).num_rows, 'row')}")
