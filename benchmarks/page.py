"""All that is claimed about speed, memory and accuracy, measured here, on one page; README.md says what it means.

    python benchmarks/page.py             what `make bench` prints; exit code 1 if a figure fell behind the record
    python benchmarks/page.py --record    also with generated text, and keep the run as the record

The record is `recorded.json`, a whole run with its machine and versions.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import latency
import memory
import regression
import speed
import stopwatch
import table
from rich.console import Console
from rich.table import Table

RECORD = Path(__file__).with_name("recorded.json")
STREAM_MB = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    parser.add_argument("--folder", help="where the corpora are")
    options = parser.parse_args()
    work = speed.chosen(options.folder)
    run = measure(tuple(dict.fromkeys((*work, *speed.GENERATED))) if options.record else work, options.folder)
    screen = table.console()
    show(run, screen)
    then = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else None
    is_behind = then is not None and compare(run, then, screen)
    if options.record:
        RECORD.write_text(written(run), encoding="utf-8")
    elif is_behind:
        sys.exit(1)


def measure(work: tuple[tuple[str, str], ...], folder: str | None = None) -> dict[str, Any]:
    """Speed and accuracy beside the others, one document at a time, and a stream."""
    rows, versions = speed.measure(work, folder=folder, repeats=5, budget=20.0)
    print("one document at a time …", file=sys.stderr)
    one = stopwatch.isolated(latency.measure)
    print("a stream …", file=sys.stderr)
    return table.as_dict(rows, versions) | {"latency": one, "stream": stopwatch.isolated(memory.measure, STREAM_MB)}


def show(run: dict[str, Any], screen: Console) -> None:
    """The page."""
    screen.print(table.origin(run))
    screen.print(table.rates(run))
    one = Table(title="one document of 80 words, 20 classes: milliseconds, median", title_justify="left")
    for heading in ("peer", "learned before", "learn", "predict"):
        one.add_column(heading, justify="left" if heading == "peer" else "right")
    for row in run["latency"]:
        cells = f"{row['learned before']:,}", f"{row['learn ms']:.3f}", f"{row['predict ms']:.3f}"
        one.add_row(row["peer"], *cells)
    screen.print(one)
    stream = run["stream"]
    screen.print(
        f"a generated stream of {stream['megabytes']:,.0f} MB, {stream['features']:,.0f} features: "
        f"peak {stream['learn peak MB']:,.0f} MB while learned, {stream['predict peak MB']:,.0f} MB while predicted"
    )


def compare(run: dict[str, Any], then: dict[str, Any], screen: Console) -> bool:
    """Say which figures fell behind the record; True if that counts."""
    falls = regression.fallen(regression.figures(run), regression.figures(then))
    is_same = regression.same_machine(run, then)
    counting = [fall for fall in falls if is_same or fall.is_accuracy]
    for fall in falls:
        colour = "red" if fall in counting else "yellow"
        screen.print(f"[{colour}]fell[/] {fall.name}: {fall.now:.4g}, recorded {fall.then:.4g}", highlight=False)
    if not falls:
        screen.print("No figure is behind the record.")
    elif not counting:
        screen.print(f"The record comes from another machine ({table.origin(then)}): none of this counts.")
    return bool(counting)


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
