"""A run beside the recorded one: which figures of bunrui fell.

    fallen(figures(now), figures(then))     lower than noise explains
    missing(figures(now), figures(then))    recorded for a corpus that was measured now, and not there

In every figure more is better.  A ratio moves less between machines than a rate, but it moves: one that fell counts
only where machine and versions are those of the record.  Accuracies do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import table

Run = Mapping[str, Any]

# Two runs of one program, minutes apart on a shared machine: the ratios of the second were .75 to 1.29 of the first.
SHARE = 0.65
LEAST_MB = 50.0  # of memory, below which it depends on what the allocator had left over
POINTS = 0.002  # of an accuracy, which only a change in the program or a library can move
ACCURACY = "accuracy"


class Figure(NamedTuple):
    """What was measured, on what, of what."""

    kind: str
    corpus: str
    of: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.corpus}, {self.of}"


Figures = Mapping[Figure, float]


class Fall(NamedTuple):
    """A figure, and what it was."""

    figure: Figure
    now: float
    then: float

    def __str__(self) -> str:
        return f"{self.figure}: {self.now:.4g}, recorded {self.then:.4g}"


def figures(run: Run) -> dict[Figure, float]:
    """Every figure of bunrui in a run."""
    return dict(_figures(run))


def _figures(run: Run) -> Iterator[tuple[Figure, float]]:
    learned = [row for row in run["rows"] if row["task"] == "learn"]
    base = {(row["corpus"], row["features"]): row for row in learned if row["peer"] == table.BASELINE}
    for row in run["rows"]:
        if not row["peer"].startswith("bunrui"):
            continue
        corpus, of = row["corpus"], f"{row['features']}, {row['peer']}"
        if row["ratio"] is not None:
            yield Figure(f"{row['task']}, times scikit-learn", corpus, of), row["ratio"]
        if row["accuracy"] is not None:
            yield Figure(ACCURACY, corpus, of), row["accuracy"]
        beside = base.get((corpus, row["features"]))
        if row["task"] == "learn" and beside:
            ours, theirs = (max(table.needed(each), LEAST_MB) for each in (row, beside))
            yield Figure("memory, scikit-learn's over ours", corpus, of), theirs / ours
    river = next((row for row in run["latency"] if row["peer"] == "river"), None)
    for row in run["latency"]:
        if row["peer"].startswith("bunrui") and river:
            of = f"{row['peer']}, after {row['learned before']} documents"
            for task in ("learn", "predict"):
                figure = Figure(f"{task} one, river's time over ours", row["corpus"], of)
                yield figure, river[f"{task} ms"] / row[f"{task} ms"]
    yield Figure("memory", "a stream", "over its peak"), run["stream"]["megabytes"] / run["stream"]["learn peak MB"]


def fallen(now: Figures, then: Figures) -> list[Fall]:
    """Figures of both runs that are lower now than noise explains; one that is no number is.

    >>> a, b = Figure("learn", "a", "x"), Figure("learn", "b", "x")
    >>> c, d = a._replace(kind=ACCURACY), b._replace(kind=ACCURACY)
    >>> falls = fallen({a: 27.0, b: 25.0, c: 0.849, d: 0.847}, {a: 40.0, b: 40.0, c: 0.85, d: 0.85})
    >>> [str(fall) for fall in falls]
    ['learn: b, x: 25, recorded 40', 'accuracy: b, x: 0.847, recorded 0.85']
    """
    both = [Fall(figure, now[figure], then[figure]) for figure in then if figure in now]
    return [fall for fall in both if not fall.now >= _limit(fall)]


def _limit(fall: Fall) -> float:
    return fall.then - POINTS if fall.figure.kind == ACCURACY else SHARE * fall.then


def missing(now: Figures, then: Figures) -> list[Figure]:
    """Figures of the record that should be here: their corpus is.

    >>> a, b, c = Figure("learn", "a", "x"), Figure("learn", "a", "y"), Figure("learn", "b", "x")
    >>> [str(figure) for figure in missing({a: 1.0}, {a: 1.0, b: 1.0, c: 1.0})]
    ['learn: a, y']
    """
    corpora = {figure.corpus for figure in now}
    return [figure for figure in then if figure not in now and figure.corpus in corpora]


def comparable(now: Run, then: Run) -> bool:
    """Whether the ratios of two runs can be held against each other."""
    names = ("processor", "cores", "python")
    return now["versions"] == then["versions"] and all(now["machine"][name] == then["machine"][name] for name in names)
