"""All that is claimed about speed, memory and accuracy, measured here, on one page; README.md says what it means.

    python benchmarks/page.py             what `make bench` prints; exit code 1 if a figure fell behind the record
    python benchmarks/page.py --record    also with generated text, and keep the run as the record

The record is `recorded.json`, a whole run with its machine and versions.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import corpora
import fresh
import latency
import memory
import regression
import speed
import stopwatch
import table
import threads
from rich.console import Console
from rich.table import Table

RECORD = Path(__file__).with_name("recorded.json")
STREAM_MB = 500
RUNS = 3  # of the default analyzer beside words, and of a fresh environment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    parser.add_argument("--folder", help="where the corpora are")
    options = parser.parse_args()
    then = None if options.record else recorded()
    work = speed.chosen(options.folder)
    run = measure(tuple(dict.fromkeys((*work, *speed.GENERATED))) if options.record else work, options.folder)
    screen = table.console()
    show(run, screen)
    if options.record:
        RECORD.write_text(written(run), encoding="utf-8")
    elif then is not None and compare(run, then, screen):
        sys.exit(1)


def recorded() -> dict[str, Any] | None:
    """The run to compare with, if there is one."""
    try:
        then: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
        regression.figures(then)
    except FileNotFoundError:
        print(f"there is no {RECORD.name} to compare with: --record makes one", file=sys.stderr)
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{RECORD} is not a run of this script ({error!r}): make a new one with --record") from error
    return then


def measure(work: tuple[tuple[str, str], ...], folder: str | None = None) -> dict[str, Any]:
    """A fresh environment, speed and accuracy beside the others, the default analyzer, one document, a stream."""
    first = fresh.measure(runs=RUNS, folder=folder)  # pip may fail: better now than after ten minutes
    rows, versions = speed.measure(work, folder=folder, repeats=5, budget=20.0)
    n = int(table.machine()["cores"])
    names = present(folder) or ["zipf_en", "zipf_ja"]
    beside = [row for name in names for row in threads.measure(name, [n], runs=RUNS, sample=False, folder=folder)]
    print("one document at a time …", file=sys.stderr)
    one = stopwatch.isolated(latency.measure, folder)
    print("a stream …", file=sys.stderr)
    stream = stopwatch.isolated(memory.measure, STREAM_MB)
    return table.as_dict(rows, versions) | {"latency": one, "stream": stream, "analyzers": beside, "fresh": first}


def present(folder: str | None) -> list[str]:
    """The public corpora that there are."""
    found = []
    for name in corpora.CORPORA:
        with contextlib.suppress(FileNotFoundError):
            corpora.load(name, folder)
            found.append(name)
    return found


def show(run: dict[str, Any], screen: Console) -> None:
    """The page."""
    screen.print(table.origin(run))
    screen.print(table.rates(run))
    screen.print(threads.as_table(run["analyzers"], "the default analyzer beside words"))
    one = Table(title="one document of 80 words: milliseconds", title_justify="left")
    for heading in ("corpus", "classes", "peer", "learned before", "learn", "predict"):
        one.add_column(heading, justify="left" if heading in {"corpus", "peer"} else "right")
    for row in run["latency"]:
        cells = f"{row['learned before']:,}", f"{row['learn ms']:.3f}", f"{row['predict ms']:.3f}"
        one.add_row(row["corpus"], str(row["classes"]), row["peer"], *cells)
    screen.print(one)
    stream = run["stream"]
    screen.print(
        f"a generated stream of {stream['megabytes']:,.0f} MB, {stream['features']:,.0f} features: "
        f"peak {stream['learn peak MB']:,.0f} MB while learned, {stream['predict peak MB']:,.0f} MB while predicted"
    )
    screen.print("\nin a fresh environment", *fresh.lines(run["fresh"]), sep="\n", highlight=False)


def compare(run: dict[str, Any], then: dict[str, Any], screen: Console) -> bool:
    """Say which figures fell behind the record, or are no longer there; True if that counts."""
    now, before = regression.figures(run), regression.figures(then)
    falls, gone = regression.fallen(now, before), regression.missing(now, before)
    counting = [fall for fall in falls if fall.figure.kind == regression.ACCURACY or regression.comparable(run, then)]
    for fall in falls:
        colour = "red" if fall in counting else "yellow"
        screen.print(f"[{colour}]fell[/] {fall}", highlight=False)
    for figure in gone:
        screen.print(f"[red]not measured[/] {figure}", highlight=False)
    n_both = len(now.keys() & before.keys())
    screen.print(
        f"{n_both} of {len(before)} recorded figures compared, {len(falls)} fell; {len(now) - n_both} are new."
    )
    if len(counting) < len(falls):
        screen.print(
            f"Ratios do not count here, as the record is of another machine or other versions:\n{table.origin(then)}"
        )
    return bool(counting or gone)


def written(run: dict[str, Any]) -> str:
    """As JSON with a line for each row, for diffs."""
    parts = []
    for name, value in run.items():
        if isinstance(value, list):
            lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in value)
            parts.append(f"  {json.dumps(name)}: [\n{lines}\n  ]")
        else:
            parts.append(f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
