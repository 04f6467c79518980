"""Predictions → lines on stdout, or a file.

    columns   source, line, id (where known), label, probability; unsure, probabilities and log_odds where asked for;
              with several labels: labels and their probabilities

A file is written under another name beside it, and gets its own when it is complete.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from bunrui.cli.console import say, to_json
from bunrui.errors import OptionError, StoreError
from bunrui.labels import text_of
from bunrui.phrases import one_line

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.cli.predict import Answer

_TAB = "\t"
_TABLES = ("parquet", "csv", "tsv", "xlsx", "arrow")
_OTHER_SUFFIXES = {"pq": "parquet", "ndjson": "jsonl", "feather": "arrow"}


class Writer(Protocol):
    """Takes predictions, batch by batch; the batch is None for texts from the command line."""

    def write(self, batch: pa.RecordBatch | None, answer: Answer) -> None: ...


@contextmanager
def open_writer(path: str | None, classes: list[Any], *, json: bool) -> Iterator[Writer]:
    """A writer to stdout, or to the path."""
    if path is None:
        yield (_JsonLines if json else _PlainLines)(sys.stdout, classes)
        return
    format = format_of(path, (*_TABLES, "jsonl"))
    if format == "jsonl":
        with replace_when_done(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="\n") as file:
            yield _JsonLines(file, classes)
    else:
        with open_table(path) as write:
            yield _Table(classes, write, in_text=format in ("csv", "tsv", "xlsx"))


@contextmanager
def open_table(path: str) -> Iterator[Callable[[pa.Table], None]]:
    """A function that writes tables with the same columns, one after the other."""
    format = format_of(path, _TABLES)
    writer: Any = None
    with replace_when_done(path) as unfinished, open(unfinished, "wb") as sink:

        def write(table: pa.Table) -> None:
            nonlocal writer
            if writer is None:
                writer = _open_table(format, sink, table.schema)
            writer.write_table(table)

        yield write
        if writer is not None:
            writer.close()


def check_not_read(path: str | None, data: Iterable[str]) -> None:
    """Refuse an output that would replace a file that is read."""
    for name in data:
        if path is not None and os.path.exists(path) and os.path.exists(name) and os.path.samefile(path, name):
            raise OptionError(f"--output would take the place of {name}, which is read: give another name.")


def format_of(path: str, formats: Sequence[str]) -> str:
    """The one of some formats that the suffix of a name tells."""
    suffix = os.path.splitext(path)[1].lower().removeprefix(".")
    format = _OTHER_SUFFIXES.get(suffix, suffix)
    if format not in formats:
        raise OptionError(f"the name {path!r} does not tell the format: give it one of .{' .'.join(formats)}")
    return format


@contextmanager
def replace_when_done(path: str) -> Iterator[str]:
    """The name of a file beside the path, which gets that name when the block has written all of it."""
    from bunrui.store.creation import temporary_beside

    check_folder(path)
    with temporary_beside(path) as temporary:
        try:
            yield temporary
            os.replace(temporary, path)
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename not in (None, temporary):
                raise
            raise StoreError.of_system(error, path) from error


class _PlainLines:
    """`label<TAB>probability`, repeated for the best ones; the log-odds behind them."""

    def __init__(self, file: Any, classes: list[Any]) -> None:
        self._file = file
        self._names = [one_line(text_of(name)) for name in classes]

    def write(self, batch: pa.RecordBatch | None, answer: Answer) -> None:
        names = self._names
        if (chosen := answer.chosen) is None:
            shares = answer.probabilities.max(axis=1).tolist()
            lines = [f"{names[k]}\t{p:.4f}" for k, p in zip(answer.best.tolist(), shares, strict=True)]
        else:
            rows = zip(chosen, answer.probabilities.tolist(), strict=True)
            lines = ["\t".join([f"{names[k]}\t{shares[k]:.4f}" for k in found]) for found, shares in rows]
        if answer.unsure is not None:
            unsure = zip(lines, answer.unsure.tolist(), strict=True)
            lines = [f"?\t{line.partition(_TAB)[2]}" if is_unsure else line for line, is_unsure in unsure]
        if answer.log_odds is not None:
            lines = [f"{line}\t{odds:+.4f}" for line, odds in zip(lines, answer.log_odds.tolist(), strict=True)]
        self._file.write("\n".join([*lines, ""]))
        self._file.flush()


class _JsonLines:
    """An object a line.  Put together by hand: 4 times as fast as `json.dumps` of a dict for each document."""

    def __init__(self, file: Any, classes: list[Any]) -> None:
        self._file = file
        self._names = [to_json(name) for name in classes]
        self._keys = [to_json(text_of(name)) for name in classes]

    def write(self, batch: pa.RecordBatch | None, answer: Answer) -> None:
        names = self._names
        if answer.sets is not None:
            lines = [f'{{"labels": [{", ".join([names[k] for k in row])}]' for row in answer.sets]
        else:
            best = zip(answer.best.tolist(), answer.probabilities.max(axis=1).tolist(), strict=True)
            lines = [f'{{"label": {names[k]}, "probability": {p!r}' for k, p in best]
        if answer.unsure is not None:
            unsure = zip(lines, answer.unsure.tolist(), strict=True)
            lines = [f'{line}, "unsure": {"true" if is_unsure else "false"}' for line, is_unsure in unsure]
        if (chosen := answer.chosen) is not None:
            shares = _probability_objects(answer, chosen, self._keys)
            lines = [f'{line}, "probabilities": {found}' for line, found in zip(lines, shares, strict=True)]
        if answer.log_odds is not None:
            odds = answer.log_odds.tolist()
            lines = [f'{line}, "log_odds": {value!r}' for line, value in zip(lines, odds, strict=True)]
        origin = repeat("}") if batch is None else _origins(batch)
        self._file.write("".join([f"{line}{rest}\n" for line, rest in zip(lines, origin, strict=False)]))
        self._file.flush()


def _origins(batch: pa.RecordBatch) -> Iterator[str]:
    """The id, source and line of each document, and the end of its object."""
    sources = [to_json(name) for name in batch["source"].dictionary.to_pylist()]
    columns = (batch["id"].to_pylist(), batch["source"].indices.to_pylist(), batch["line"].to_pylist())
    for id, source, line in zip(*columns, strict=True):
        id_part = "" if id is None else f', "id": {_quoted(id)}'
        line_part = "" if line is None else f', "line": {line}'
        yield f'{id_part}, "source": {sources[source]}{line_part}}}'


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return to_json(text)


def _probability_objects(answer: Answer, chosen: list[list[int]], names: list[str]) -> list[str]:
    """Some labels of each document with their probabilities, as JSON; `names` are JSON themselves."""
    rows = zip(chosen, answer.probabilities.tolist(), strict=True)
    return ["{" + ", ".join([f"{names[k]}: {shares[k]!r}" for k in best]) + "}" for best, shares in rows]


class _Table:
    """Parquet, Arrow, CSV, TSV or a spreadsheet."""

    def __init__(self, classes: list[Any], write: Callable[[pa.Table], None], *, in_text: bool) -> None:
        import pyarrow as pa

        self._classes = pa.array(classes)
        self._keys = [json.dumps(text_of(name), ensure_ascii=False) for name in classes]
        self._write, self._in_text = write, in_text

    def write(self, batch: pa.RecordBatch | None, answer: Answer) -> None:
        self._write(self._table(batch, answer))

    def _table(self, batch: pa.RecordBatch | None, answer: Answer) -> pa.Table:
        import pyarrow as pa

        n = len(answer.best)
        columns: dict[str, Any] = {
            "source": pa.nulls(n, pa.string()) if batch is None else batch["source"].dictionary_decode(),
            "line": pa.nulls(n, pa.int64()) if batch is None else batch["line"],
            "id": pa.nulls(n, pa.string()) if batch is None else batch["id"],
        }
        if answer.sets is None:
            columns["label"] = self._classes.take(pa.array(answer.best))
            columns["probability"] = pa.array(answer.probabilities.max(axis=1))
        if answer.unsure is not None:
            columns["unsure"] = pa.array(answer.unsure)
        if (chosen := answer.chosen) is not None:
            columns |= self._chosen(answer, chosen)
        if answer.log_odds is not None:
            columns["log_odds"] = pa.array(answer.log_odds)
        return pa.table(columns)

    def _chosen(self, answer: Answer, chosen: list[list[int]]) -> dict[str, Any]:
        """Several labels of each document, with their probabilities; a cell of text holds them as JSON."""
        import numpy as np
        import pyarrow as pa

        sizes = [len(row) for row in chosen]
        ends = pa.array(np.cumsum([0, *sizes]), pa.int32())
        places = np.array([k for row in chosen for k in row], np.int64)
        keys = self._classes.take(pa.array(places))
        rows = np.repeat(np.arange(len(chosen)), sizes)
        shares = pa.array(answer.probabilities[rows, places])
        labels, probabilities = pa.ListArray.from_arrays(ends, keys), pa.MapArray.from_arrays(ends, keys, shares)
        if self._in_text:
            names = [json.dumps(row, ensure_ascii=False) for row in labels.to_pylist()]
            labels = pa.array(names, pa.string())
            probabilities = pa.array(_probability_objects(answer, chosen, self._keys), pa.string())
        return ({} if answer.sets is None else {"labels": labels}) | {"probabilities": probabilities}


def _open_table(format: str, sink: Any, schema: pa.Schema) -> Any:
    import pyarrow as pa

    if format == "parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(sink, schema)
    if format == "arrow":
        return pa.ipc.new_file(sink, schema)
    if format == "xlsx":
        from bunrui.documents.spreadsheet import SheetWriter

        return SheetWriter(sink, schema)
    import pyarrow.csv

    options = pyarrow.csv.WriteOptions(delimiter="," if format == "csv" else "\t")
    return pyarrow.csv.CSVWriter(sink, schema, write_options=options)


def check_folder(path: str, *, is_new: bool = False) -> None:
    """Refuse at once what could not be written at the end, or would replace a file that is to be new."""
    from bunrui.store import creation

    if is_new:
        creation.check_new(path)
    creation.check_folder(path)


def check_name(
    path: str | None, option: str = "--html", what: str = "a page", suffixes: tuple[str, ...] = (".html", ".htm")
) -> None:
    """Refuse at once a file that could not be written, or that would take the place of something else."""
    if path is None:
        return
    check_folder(path)
    if not path.lower().endswith(suffixes):
        raise OptionError(f"{option} writes {what}: give a name that ends in {suffixes[0]}, not {path!r}.")


def write_page(path: str, page: str) -> None:
    """Write a page as a whole or not at all; one that was there is replaced."""
    with replace_when_done(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="\n") as out:
        out.write(page)
        out.flush()
        os.fsync(out.fileno())
    say(f"wrote {path}")
