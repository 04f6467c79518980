"""What threads bring: learn and predict with 1, 2, 4, 8 and 16 of them, default analyzer and `words`.

    python benchmarks/threads.py [--corpora imdb,nsmc] [--threads 1,2,4,8,16] [--runs 9] [--json]
    python benchmarks/threads.py --against ../old --threads 1,2      # beside another checkout, whose runs take turns

Every number of threads has a process of its own (`worker.py`), which reads the corpus and learns and predicts it once
before it is measured.  Then all of them take turns, and a figure is the median of the runs:

    wall, processor   milliseconds from Arrow arrays to a classifier, or to labels
    first             the first prediction after learning, which makes the table of weights; `predict` has it already
    × 1               how many times faster than with one thread, by wall clock
    cost              processor time over that with one thread
    alone             what runs on one thread alone, as a share of the processor time
    × words           speed of the default analyzer over that of `words`: by wall clock, then by processor time (cpu),
                      which tells more where other programs run
    × other           speed over that of the other checkout with as many threads, in the same two ways

What runs alone is looked for in runs of their own, a thousand times a second: it is the processor time that passed
while fewer than two threads of the process could run (state R in /proc, so this needs Linux).  A thread that waits for
a processor could run, so that 16 threads on two cores show what a machine with 16 would, but for how they share its
memory.  When all but one have finished, the last one is alone, too: other programs that take a processor away from one
of two threads raise the share, and nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import table
from rich.table import Table
from worker import HERE, Sampled, Took, Worker

ANALYZERS = ("universal", "words")  # the default, and what it is held against
TASKS = {"learn": "learn", "first": "predict", "predict": "predict"}
SAMPLED = 1.0  # seconds of processor time to look at, of each task
MOST_ROUNDS = 20

Key = tuple[Path, int, str, str]  # checkout, threads, analyzer, task


def measure(
    corpus: str,
    threads: Sequence[int],
    *,
    against: Path | None = None,
    runs: int = 9,
    sample: bool = True,
    folder: str | None = None,
) -> list[dict[str, Any]]:
    """A row for each analyzer, task and number of threads."""
    checkouts = [HERE, *([against] if against else [])]
    took: dict[Key, list[Took]] = {}
    with ExitStack() as stack:
        workers = {
            (checkout, n): stack.enter_context(Worker(corpus, threads=n, checkout=checkout, folder=folder))
            for n in threads
            for checkout in checkouts
        }
        for run in range(runs + 1):
            print(f"{corpus}: run {run} of {runs} …", file=sys.stderr)
            for analyzer in ANALYZERS:
                for (checkout, n), worker in workers.items():
                    for task, what in TASKS.items():
                        found = worker.do(what, analyzer)
                        if run:  # the first one only warms up
                            took.setdefault((checkout, n, analyzer, task), []).append(found)
        alone = _alone({n: workers[HERE, n] for n in threads if n > 1}) if sample else {}
        sizes = next(iter(workers.values())).sizes
    medians = {key: Took(*map(statistics.median, zip(*runs, strict=True))) for key, runs in took.items()}
    return [
        _row(medians, alone, (HERE, n, analyzer, task), against)
        | {"corpus": corpus, "MB/s": sizes[what] / medians[HERE, n, analyzer, task].seconds / 1e6}
        for analyzer in ANALYZERS
        for task, what in TASKS.items()
        for n in threads
    ]


def _alone(workers: Mapping[int, Worker]) -> dict[tuple[int, str, str], float]:
    """The share of the processor time that passed while one thread ran alone."""
    shares: dict[tuple[int, str, str], float] = {}
    for n, worker in workers.items():
        print(f"what runs alone with {n} threads …", file=sys.stderr)
        for analyzer in ANALYZERS:
            sums = dict.fromkeys(TASKS, Sampled(0.0, 0.0))
            for _ in range(MOST_ROUNDS):
                for task, what in TASKS.items():
                    found = worker.sampled(what, analyzer)
                    sums[task] = Sampled(*map(sum, zip(sums[task], found, strict=True)))
                if min(each.processor for each in sums.values()) > SAMPLED:
                    break
            shares |= {
                (n, analyzer, task): each.alone / each.processor for task, each in sums.items() if each.processor
            }
    return shares


def _row(
    medians: Mapping[Key, Took], alone: Mapping[tuple[int, str, str], float], key: Key, against: Path | None
) -> dict[str, Any]:
    checkout, n, analyzer, task = key
    mine, one = medians[key], medians.get((checkout, 1, analyzer, task))
    words = medians[checkout, n, "words", task] if analyzer != "words" else None
    other = medians[against, n, analyzer, task] if against else None
    return {
        "analyzer": analyzer,
        "task": task,
        "threads": n,
        "wall ms": 1e3 * mine.seconds,
        "processor ms": 1e3 * mine.processor,
        "× 1": one and one.seconds / mine.seconds,
        "cost": one and mine.processor / one.processor,
        "alone": alone.get((n, analyzer, task)),
        "× words": words and words.seconds / mine.seconds,
        "× words, cpu": words and words.processor / mine.processor,
        "× other": other and other.seconds / mine.seconds,
        "× other, cpu": other and other.processor / mine.processor,
    }


def as_table(rows: Sequence[Mapping[str, Any]], title: str | None = None) -> Table:
    """The rows for people; a column that has nothing is left out."""
    digits = {"threads": 0, "wall ms": 0, "processor ms": 0, "MB/s": 0, "alone": 3}
    first = ("corpus", "analyzer", "task", "threads", "MB/s")
    names = [*first, *(name for name in rows[0] if name not in first)]
    names = [name for name in names if any(row[name] is not None for row in rows)]
    shown = Table(title=title, title_justify="left")
    for name in names:
        shown.add_column(name, justify="left" if name in first[:3] else "right")
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        cells = (row[name] for name in names)
        shown.add_row(
            *(
                cell if isinstance(cell, str) else "–" if cell is None else f"{cell:,.{digits.get(name, 2)}f}"
                for name, cell in zip(names, cells, strict=True)
            ),
            end_section=bool(following) and any(following[name] != row[name] for name in first[:3]),
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default="imdb,nsmc", help="comma-separated")
    parser.add_argument("--threads", default="1,2,4,8,16", help="comma-separated")
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout to compare with")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--no-sample", action="store_true", help="do not look for what runs alone")
    parser.add_argument("--folder", help="where the corpora are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for corpus in options.corpora.split(","):
        rows += measure(
            corpus,
            [int(n) for n in options.threads.split(",")],
            against=options.against and options.against.resolve(),
            runs=options.runs,
            sample=not options.no_sample,
            folder=options.folder,
        )
    if options.json:
        print(json.dumps({"machine": table.machine(), "runs": options.runs, "rows": rows}, ensure_ascii=False))
    else:
        table.console().print(as_table(rows))


if __name__ == "__main__":
    main()
