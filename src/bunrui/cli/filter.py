"""`bunrui filter`."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bunrui.cli.console import Bar, counted, interrupts, say, say_reading
from bunrui.cli.options import Analysis, Documents, UsageError

if TYPE_CHECKING:
    from bunrui.selection.filter import Selection

__all__ = ["filter"]


def _selecting(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Select by one of", show_default=False, **settings)


def _number_or_share(given: str | None) -> str | None:
    found = re.fullmatch(r"0*[1-9][0-9]*|([0-9]+(?:\.[0-9]+)?)%", "1" if given is None else given)
    if found is None or (found[1] is not None and not 0 < float(found[1]) <= 100):
        raise typer.BadParameter(f"{given!r} is neither a whole number above 0 nor a share such as 10%.")
    return given


def filter(
    target: Annotated[
        list[str],
        typer.Option(
            "--target", metavar="PATH", show_default=False, help="Documents of the kind to look for. Can be repeated."
        ),
    ],
    raw: Annotated[
        list[str],
        typer.Option(
            "--raw",
            metavar="PATH",
            show_default=False,
            help="Documents to select from: files, 'shards/*.parquet', 's3://bucket/*.jsonl.zst'. Can be repeated.",
        ),
    ],
    threshold: Annotated[
        float | None,
        _selecting("--threshold", metavar="X", help="Those with a ratio above X; 0 is neutral."),
    ] = None,
    top: Annotated[
        str | None,
        _selecting(
            "--top", metavar="N|P%", callback=_number_or_share, help="The N with the largest ratios, or P percent."
        ),
    ] = None,
    sample: Annotated[
        int | None,
        _selecting("--sample", metavar="N", min=1, help="N at random, likelier the larger exp(ratio) is."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            show_default=False,
            help="Write there in place of stdout: .parquet .jsonl",
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add a column log_ratio.")] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, show_default=False, help="Of --sample (0).")] = 0,
    fit_on: Annotated[
        int | None,
        typer.Option(
            "--fit-on",
            metavar="N",
            min=1,
            show_default=False,
            help="Estimate how likely words are in raw from its first N documents, as many of each file, not from all.",
        ),
    ] = None,
    hash_bits: Annotated[
        int | None,
        typer.Option(
            "--hash-bits",
            metavar="B",
            show_default=False,
            help="Count in 2**B buckets (20), or with 0 every word by itself: slower, in memory that grows with raw.",
        ),
    ] = None,
    *,
    documents: Documents,
    analysis: Analysis,
) -> None:
    """Select the documents of a large collection that look like those of a small one.

    Each document of --raw gets a log-likelihood ratio: the sum over its
    words of log P(word | target) / P(word | raw). Selected rows are written
    with all of their columns, in the order of raw. Raw is read twice, to
    count and to score; memory does not grow with it.

    [bold]Examples[/]

      bunrui filter --target good.parquet --raw crawl.parquet --top 10% -o selected.parquet
      bunrui filter --target good.jsonl --raw 'crawl/*.jsonl.zst' --threshold 0 -o selected.jsonl
      bunrui filter --target good.txt --raw crawl.parquet --sample 100000 --seed 1 -o sample.parquet
      bunrui filter --target good.csv --raw crawl.jsonl --top 1000 --scores | jq .log_ratio
    """
    from bunrui.analysis import AnalyzerSpec
    from bunrui.cli.filtered import check_output, open_rows
    from bunrui.cli.output import check_not_read
    from bunrui.selection.filter import select
    from bunrui.selection.ratio import HASH_BITS

    if sum(way is not None for way in (threshold, top, sample)) != 1:
        raise UsageError("say what to select by one of --threshold, --top and --sample.")
    if top is not None and top.endswith("%") and fit_on is not None:
        raise UsageError("--top P% needs all of raw to be counted: leave --fit-on out, or give --top a number.")
    if "-" in raw:
        raise UsageError("--raw is read twice, and the standard input can be read once: write it to a file first.")
    if output is not None:
        check_output(output)
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
            analyzer=AnalyzerSpec(**analysis.given()),
            hash_bits=HASH_BITS if hash_bits is None else hash_bits,
            fit_on=fit_on,
            folder=None if output is None else os.path.dirname(output) or ".",
            bar=Bar,
        )
        with open_rows(output, selection, scores=scores) as write:
            for rows in selection:
                write(rows)
    _report(selection, output, time.perf_counter() - started)


def _report(selection: Selection, output: str | None, seconds: float) -> None:
    into = "" if output is None else f" into {output}"
    say(f"selected {selection.n_selected:,} of {counted(selection.n_raw, 'document')}{into} in {seconds:,.1f} s")
    found = selection.ratio.collisions()
    if found is not None:
        say(f"{found.n_buckets:,} buckets: {found.share:.1%} of about {found.n_features:,} features share one")
    for reader in (selection.targets, selection.originals):
        say_reading(reader)  # type: ignore[arg-type]
