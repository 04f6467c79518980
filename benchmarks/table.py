"""Rows of a benchmark as a table for people or as JSON for machines.

    rows = [row for t in trials for row in rows_of(t)]
    emit(rows, versions, as_json=False)

A ratio is a rate divided by that of scikit-learn on the same corpus, features and task in the same run; where
scikit-learn did not run there is no ratio.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from stopwatch import Trial

BASELINE = "scikit-learn"


@dataclass(frozen=True)
class Row:
    """One rate. `megabytes` is 10**6 bytes of UTF-8; `best_of` the number of runs.

    `peak_mb` is the peak of resident memory during the task, `loaded_mb` what libraries and data took before learning.
    """

    corpus: str
    features: str
    task: str
    peer: str
    megabytes: float
    seconds: float
    best_of: int
    threads: str
    accuracy: float | None = None
    peak_mb: float | None = None
    loaded_mb: float | None = None
    note: str = ""

    @property
    def mb_per_s(self) -> float:
        return self.megabytes / self.seconds


def rows_of(trial: Trial) -> list[Row]:
    """A row for learning and, where the peer predicts, one for predicting."""
    note = "; ".join(filter(None, ["every k-th document" if trial.sample else "", trial.note]))
    runs = [
        ("learn", trial.learn, trial.learn_bytes, None),
        ("predict", trial.predict, trial.predict_bytes, trial.accuracy),
    ]
    return [
        Row(
            corpus=trial.corpus,
            features=trial.features,
            task=task,
            peer=trial.peer,
            megabytes=n_bytes / 1e6,
            seconds=timing.seconds,
            best_of=timing.repeats,
            threads=threads,
            accuracy=accuracy,
            peak_mb=timing.peak_rss_bytes / 1e6,
            loaded_mb=trial.loaded_rss_bytes / 1e6,
            note=note,
        )
        for (task, timing, n_bytes, accuracy), threads in zip(runs, trial.threads, strict=True)
        if timing is not None
    ]


def ratios(rows: Iterable[Row]) -> list[float | None]:
    """For every row its rate over that of scikit-learn in the same run, or None.

    >>> row = Row("imdb", "words", "learn", "scikit-learn", 33.0, 4.0, 3, "1")
    >>> from dataclasses import replace
    >>> ratios([row, replace(row, peer="x", seconds=1.0), replace(row, peer="x", task="predict")])
    [1.0, 4.0, None]
    """
    rows = list(rows)
    base = {(row.corpus, row.features, row.task): row.mb_per_s for row in rows if row.peer == BASELINE}
    rates = ((row.mb_per_s, base.get((row.corpus, row.features, row.task))) for row in rows)
    return [None if of is None else rate / of for rate, of in rates]


def machine() -> dict[str, str | int | float]:
    """What a rate depends on besides the program: processor, cores that may be used, memory, system, Python."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "processor": found[1] if found else platform.processor() or platform.machine(),
        "cores": cores,
        "memory_gb": round(memory, 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def as_dict(rows: list[Row], versions: Mapping[str, str]) -> dict[str, Any]:
    """The run as plain data: machine, versions, rows with their rates and ratios."""
    extra = ({"mb_per_s": row.mb_per_s, "ratio": ratio} for row, ratio in zip(rows, ratios(rows), strict=True))
    return {
        "machine": machine(),
        "versions": dict(versions),
        "rows": [asdict(row) | more for row, more in zip(rows, extra, strict=True)],
    }


def emit(rows: list[Row], versions: Mapping[str, str], *, as_json: bool = False) -> None:
    """Write the run to stdout: JSON, or a table."""
    run = as_dict(rows, versions)
    if as_json:
        sys.stdout.write(json.dumps(run, indent=2, ensure_ascii=False) + "\n")
    else:
        screen = console()
        screen.print(rates(run))
        screen.print(origin(run))


def console() -> Console:
    """Of stdout, at least as wide as the tables, of which nothing may be cut."""
    return Console(width=max(Console().width, 140))


def rates(run: Mapping[str, Any]) -> Table:
    """The rows of a run, one line for each peer, in a section for each corpus and kind of features."""
    lines: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for row in run["rows"]:
        lines.setdefault((row["corpus"], row["features"], row["peer"]), {})[row["task"]] = row
    needs = {key: needed(tasks["learn"]) for key, tasks in lines.items()}
    notes = dict.fromkeys(f"{row['peer']}: {row['note']}" for row in run["rows"] if row["note"])
    table = Table(caption="\n".join(notes), caption_justify="left")
    for heading in ("corpus", "features", "peer"):
        table.add_column(heading)
    for heading in ("learn MB/s", "×", "predict MB/s", "×", "accuracy", "memory MB", "×", "threads"):
        table.add_column(heading, justify="right")
    previous: tuple[str, ...] = ()
    for (*group, peer), tasks in lines.items():
        both = [tasks.get(task, {}) for task in ("learn", "predict")]
        need, base = needs[*group, peer], needs.get((*group, BASELINE))
        if previous and tuple(group) != previous:
            table.add_section()
        table.add_row(
            *(("", "") if tuple(group) == previous else group),
            peer,
            *(_number(row.get(of), 1) for row in both for of in ("mb_per_s", "ratio")),
            _number(both[1].get("accuracy"), 4),
            _number(need, 0),
            _number(None if base is None else need / base, 2),
            "/".join(dict.fromkeys(row["threads"] for row in tasks.values())),
        )
        previous = tuple(group)
    return table


def needed(row: Mapping[str, Any]) -> float:
    """Megabytes that learning took at its peak beside libraries and data; at least one."""
    return max(float(row["peak_mb"] - row["loaded_mb"]), 1.0)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def origin(run: Mapping[str, Any]) -> str:
    """Where the run comes from: machine and versions."""
    host = run["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    return f"{host['processor']}, {host['cores']} cores, {host['memory_gb']} GB, Python {host['python']}\n{versions}"
