"""`bunrui filter`: select rows, and write them as JSON lines or Parquet."""

from __future__ import annotations

import datetime
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

import bunrui
from bunrui.cli.console import Bar, interrupts, say, say_reading, to_json
from bunrui.cli.options import Analysis, Documents
from bunrui.cli.output import check_not_read, format_of, open_table, replace_when_done
from bunrui.cli.parameters import flag, option
from bunrui.errors import DataError, OptionError
from bunrui.phrases import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.selection.filter import Rows, Selection

_SELECT = "Select by one of"


def _check_top(given: str | None) -> str | None:
    found = re.fullmatch(r"0*[1-9][0-9]*|([0-9]+(?:\.[0-9]+)?)%", "1" if given is None else given)
    if found is None or (found[1] is not None and not 0 < float(found[1]) <= 100):
        raise typer.BadParameter(f"{given!r} is neither a whole number above 0 nor a share such as 10%.")
    return given


def filter(
    target: list[str] = option("PATH", "Documents of the kind to look for. Can be repeated.", required=True),
    raw: list[str] = option(
        "PATH",
        "Documents to select from: files, 'shards/*.parquet', 's3://bucket/*.jsonl.zst'. Can be repeated.",
        required=True,
    ),
    threshold: float | None = option("X", "Those with a ratio above X; 0 is neutral.", rich_help_panel=_SELECT),
    top: str | None = option(
        "N|P%", "The N with the largest ratios, or P percent.", rich_help_panel=_SELECT, callback=_check_top
    ),
    sample: int | None = option(
        "N", "N at random, with probabilities in proportion to exp(ratio).", rich_help_panel=_SELECT, min=1
    ),
    output: str | None = option("PATH", "Write there in place of stdout: .parquet .jsonl", "--output", "-o"),
    scores: bool = flag("Add a column log_ratio."),
    seed: int = option("N", "The seed of --sample (0).", min=0, default=0),
    fit_on: int | None = option(
        "N", "Estimate P(word | raw) from N documents, as many from the beginning of each file, not from all.", min=1
    ),
    hash_bits: int | None = option(
        "B", "Count in 2**B buckets (20), or with 0 every word by itself: slower, in memory that grows with raw."
    ),
    *,
    documents: Documents,
    analysis: Analysis,
) -> None:
    """Select the documents of a large collection that look like those of a small one.

    Each document of --raw gets a log-likelihood ratio: the sum over its words
    of log P(word | target) / P(word | raw). Selected rows are written with
    all of their columns, in the order of raw. Raw is read twice, to count and
    to score; memory does not grow with it.

    [bold]Examples[/]

      bunrui filter --target good.parquet --raw crawl.parquet --top 10% -o selected.parquet
      bunrui filter --target good.jsonl --raw 'crawl/*.jsonl.zst' --threshold 0 -o selected.jsonl
      bunrui filter --target good.txt --raw crawl.parquet --sample 100000 --seed 1 -o sample.parquet
      bunrui filter --target good.csv --raw crawl.jsonl --top 1000 --scores | jq .log_ratio
    """
    from bunrui.selection.filter import select
    from bunrui.selection.ratio import HASH_BITS

    if "-" in raw:
        raise OptionError("--raw is read twice, and the standard input can be read once: write it to a file first.")
    if output is not None:
        format_of(output, _FORMATS)  # before anything is read
        check_not_read(output, [*target, *raw])
    started = time.perf_counter()
    with interrupts("interrupted; nothing was written" if output else "interrupted"):
        selection = select(
            documents.read(target, labelled=False),
            documents.read(raw, labelled=False),
            threshold=threshold,
            top=None if top is None else float(top[:-1]) / 100 if top.endswith("%") else int(top),
            sample=sample,
            seed=seed,
            analyzer=bunrui.AnalyzerSpec(**analysis.given()),
            hash_bits=HASH_BITS if hash_bits is None else hash_bits,
            fit_on=fit_on,
            folder=None if output is None else os.path.dirname(output) or ".",
            bar=Bar,
        )
        with open_rows(output, selection, scores=scores) as write:
            for rows in selection:
                write(rows)
    into, seconds = "" if output is None else f" into {output}", time.perf_counter() - started
    say(f"selected {selection.n_selected:,} of {counted(selection.n_raw, 'document')}{into} in {seconds:,.1f} s")
    found = selection.ratio.collisions()
    if found is not None:
        say(f"{found.n_buckets:,} buckets: {found.share:.1%} of about {found.n_features:,} features share one")
    for reader in (selection.targets, selection.raws):
        say_reading(reader)


Write = Callable[["Rows"], None]
SCORE = "log_ratio"
_FORMATS = ("parquet", "jsonl")


# Bytes that are gathered before they are written as one group of rows.
_GROUP = 64 << 20
_BLOCK = 16 << 20


@contextmanager
def open_rows(path: str | None, selection: Selection, *, scores: bool) -> Iterator[Write]:
    """A function that writes rows to stdout or the path, with their ratios where `scores`."""
    if path is None:
        is_seen = sys.stdout.isatty()

        def show(rows: Rows) -> None:
            for line in lines_of(rows, scores):
                print(to_json(json.loads(line)) if is_seen else line)

        yield show
        return
    if format_of(path, _FORMATS) == "parquet":
        schema = selection.schema()
        _refuse_column(scores and schema is not None and SCORE in schema.names)
        with _lines_to_parquet(path, scores) if schema is None else _tables(path, schema, scores) as write:
            yield write
        return
    with replace_when_done(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="\n") as file:
        yield lambda rows: file.writelines([f"{line}\n" for line in lines_of(rows, scores)])


def _refuse_column(is_there: bool) -> None:
    if is_there:
        raise DataError(f"raw has a column {SCORE!r} already: rename it, or leave --scores out")


def lines_of(rows: Rows, scores: bool) -> Iterator[str]:
    """Rows as JSON objects; JSON lines stay as they are.

    >>> import numpy as np, pyarrow as pa
    >>> from bunrui.selection.filter import Rows
    >>> list(lines_of(Rows(pa.array(['{"a": 1e2}']), np.array([0.5])), True))
    ['{"a": 1e2, "log_ratio": 0.5}']
    >>> list(lines_of(Rows(pa.array([{"a": float("nan"), "b": datetime.date(2026, 1, 2)}]), np.array([0.5])), False))
    ['{"a": null, "b": "2026-01-02"}']
    """
    found = rows.rows.to_pylist()
    if found and isinstance(found[0], dict):
        lines = map(_line_of, found)
    else:
        lines = iter(found)
    if not scores:
        yield from lines
        return
    for line, score in zip(lines, rows.log_ratio.tolist(), strict=True):
        _refuse_column(f'"{SCORE}"' in line and SCORE in json.loads(line))
        yield f'{line.removesuffix("}").rstrip()}, "{SCORE}": {score!r}}}'


def _line_of(row: dict[str, Any]) -> str:
    """A row as a JSON object; numbers that JSON does not know are null."""
    line = json.dumps(row, ensure_ascii=False, default=_spell)
    if "NaN" in line or "Infinity" in line:
        line = json.dumps(json.loads(line, parse_constant=lambda name: None), ensure_ascii=False)
    return line


def _spell(value: Any) -> str:
    if isinstance(value, bytes):
        raise DataError("raw has a column of bytes, which JSON lines do not hold: write .parquet")
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)


@contextmanager
def _tables(path: str, schema: pa.Schema, scores: bool) -> Iterator[Write]:
    """Write tables, whose columns have types."""
    import pyarrow as pa

    gathered: list[pa.Table] = []
    whole = schema.append(pa.field(SCORE, pa.float64())) if scores else schema
    with open_table(path) as write:

        def flush() -> None:
            # Files may lack columns of others: there they are null.
            write(pa.concat_tables([whole.empty_table(), *gathered], promote_options="permissive"))
            gathered.clear()

        def take(rows: Rows) -> None:
            table = pa.Table.from_struct_array(rows.rows)
            gathered.append(table.append_column(SCORE, pa.array(rows.log_ratio)) if scores else table)
            if sum(part.nbytes for part in gathered) >= _GROUP:
                flush()

        yield take
        flush()


@contextmanager
def _lines_to_parquet(path: str, scores: bool) -> Iterator[Write]:
    """Write lines as a table: a temporary file holds them until the last one, when the types are known."""
    with open_table(path) as write, tempfile.TemporaryFile(dir=os.path.dirname(path) or ".") as file:
        yield lambda rows: file.writelines([f"{line}\n".encode() for line in lines_of(rows, scores)])
        try:
            schema = _schema(file)
            write(schema.empty_table())
            for table in _tables_in(file, schema):
                write(table)
        except ValueError as error:  # of Arrow
            raise DataError(f"the selected rows do not fit into columns: {error}. Write .jsonl") from error


def _tables_in(file: Any, schema: pa.Schema | None = None) -> Iterator[pa.Table]:
    """The lines of a file as tables, block by block."""
    import pyarrow as pa

    options = pa.json.ParseOptions(explicit_schema=schema)
    file.seek(0)
    while block := b"".join(file.readlines(_BLOCK)):
        yield pa.json.read_json(pa.BufferReader(block), pa.json.ReadOptions(False, len(block) + 1), options)


def _schema(file: Any) -> pa.Schema:
    """The columns of all lines together."""
    import pyarrow as pa

    schemas = [table.schema for table in _tables_in(file)]
    if not schemas:
        return pa.schema([("text", pa.string())])
    schemas = [pa.schema([field.with_type(_keep_strings(field.type)) for field in schema]) for schema in schemas]
    return pa.unify_schemas(schemas, promote_options="permissive")


def _keep_strings(kind: pa.DataType) -> pa.DataType:
    """Strings that look like dates to Arrow are strings."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_keep_strings(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_keep_strings(field.type)) for field in kind])
    return kind
