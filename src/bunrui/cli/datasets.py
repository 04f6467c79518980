"""`bunrui datasets list`, `fetch`, `path`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bunrui.cli.console import Bar, interrupts, say, show, size, stdout_console, to_json
from bunrui.cli.parameters import argument, flag, option
from bunrui.errors import DataError, OptionError
from bunrui.phrases import counted, one_line

if TYPE_CHECKING:
    from bunrui.datasets import Corpus

_ACTIONS = ("list", "fetch", "path")
_GROUP = "uci-"  # tables of which there are too many for a line each
_MOST_SPLITS = 3  # that have a line each


_NARROW, _WIDE = 60, 110  # terminals: below the one there is room for names and titles, from the other on for all


def _names() -> list[str]:
    from bunrui.datasets import CORPORA

    return list(CORPORA)


def datasets(
    *,
    action: str | None = argument("ACTION", "list, fetch or path.", autocompletion=lambda: [*_ACTIONS]),
    name: str | None = argument("NAME", "The corpus.", autocompletion=_names),
    source: str | None = option(
        "--from",
        "PATH",
        "With fetch: your own copy, that is the publisher's file, or a folder with the file or its contents.",
    ),
    json: bool = flag("--json", "With list: one JSON object a line."),
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
    from bunrui.datasets import path

    if action is None:
        raise OptionError(
            "say what to do: 'datasets list' shows the corpora, 'datasets fetch NAME' gets one, such as "
            "'bunrui datasets fetch imdb', and 'datasets path NAME' says where it is."
        )
    if action not in _ACTIONS or (name is None) != (action == "list"):
        raise OptionError("write 'datasets list', 'datasets fetch NAME' or 'datasets path NAME'.")
    if source is not None and action != "fetch":
        raise OptionError("--from goes with 'datasets fetch NAME'.")
    if json and action != "list":
        raise OptionError("--json goes with 'datasets list'.")
    if action == "list":
        _list(json)
    elif action == "fetch":
        _fetch(name or "", source)
    else:
        print(path(name or ""))


def _list(json: bool) -> None:
    from bunrui.datasets import CORPORA

    rows = [(corpus, _folder(corpus)) for corpus in CORPORA.values()]
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
    from bunrui.datasets import path

    try:
        return str(path(corpus.name))
    except DataError:
        return None


def _describe(corpus: Corpus) -> dict[str, Any]:
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


def _splits(corpus: Corpus) -> list[str]:
    """Each split with its documents, where these were counted."""
    return [f"{split} {corpus.rows[split]:,}" if split in corpus.rows else split for split in corpus.splits]


def _fields(corpus: Corpus, documents: str) -> tuple[str, ...]:
    """Name, language, documents, labels, size, licence, title."""
    labels = "" if corpus.n_labels is None else str(corpus.n_labels)
    how = size(corpus.n_bytes) if corpus.n_bytes else "" if corpus.has_address else "bring it"
    return corpus.name, corpus.language, documents, labels, how, corpus.licence, corpus.title


def _show(rows: list[tuple[Corpus, str | None]]) -> None:
    """A table on the terminal, and below it the names of the tables of which there are many."""
    alone = [(corpus, here) for corpus, here in rows if not corpus.name.startswith(_GROUP)]
    show(_table(alone, stdout_console().width))
    grouped = [(corpus, here) for corpus, here in rows if corpus.name.startswith(_GROUP)]
    print(f"\n{len(grouped)} tables of the UCI repository, as {_GROUP}NAME:")
    for has_address, what in ((True, "to be fetched"), (False, "to be brought as ARFF, with fetch --from PATH")):
        these = ((corpus.name, here) for corpus, here in grouped if corpus.has_address == has_address)
        names = (name.removeprefix(_GROUP) + (" ✓" if here else "") for name, here in these)
        show(_paragraph(f"{what}: {', '.join(names)}"))


def _paragraph(text: str) -> Any:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(text), (0, 0, 0, 2))


def _table(rows: list[tuple[Corpus, str | None]], width: int) -> Any:
    """The corpora; a ✓ marks those that are here."""
    from bunrui.views.tables import Column, Table

    cells = [("✓" if here else "", *_fields(corpus, _documents(corpus))) for corpus, here in rows]
    names = ("", "name", "lang", "documents", "labels", "size", "licence", "title")
    columns = dict(zip(names, zip(*cells, strict=True), strict=True))
    left_out = set() if width >= _WIDE else {"labels", "licence"}
    left_out |= {"lang", "documents", "size"} if width < _NARROW else set()
    shown = {name: cells for name, cells in columns.items() if any(cells) and name not in left_out}
    heads = [
        Column(name, is_number=name in ("labels", "size"), overflow="fold" if name == "title" else "keep")
        for name in shown
    ]
    return Table(heads, list(zip(*shown.values(), strict=True)))


def _documents(corpus: Corpus) -> str:
    """A line for each split, or one for all of many.

    >>> from bunrui.datasets import CORPORA
    >>> [_documents(CORPORA[name]) for name in ("imdb", "sms", "enron")]
    ['train 25,000\\ntest 25,000', 'all 5,574', 'enron1 … enron6\\n33,716']
    """
    if len(corpus.splits) > _MOST_SPLITS:
        return f"{corpus.splits[0]} … {corpus.splits[-1]}\n{sum(corpus.rows.values()):,}"
    return "\n".join(_splits(corpus))


class _Transfer(Bar):
    """A bar of bytes, for each thing that is done."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # there is no reader
        self._what = ""

    def report(self, what: str, done: int, total: int | None) -> None:
        """Show that `done` bytes are done."""
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
    from bunrui.datasets import fetch
    from bunrui.datasets.corpora import find_corpus

    corpus = find_corpus(name)
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
