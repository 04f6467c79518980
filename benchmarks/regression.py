"""The figures of a run that a later one is compared with.

    figures(run)                           every figure of bunrui by name; more is better
    fallen(figures(now), figures(then))    those that fell by more than noise

A ratio moves less between machines than a rate, but it moves: one that fell counts only on the machine that the record
comes from.  Accuracies do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import table

Run = Mapping[str, Any]

# How far a figure may fall.  Ten runs on a shared machine, best of five: ratios stayed within a fifth of their mean.
SHARE = 0.75
POINTS = 0.002  # of an accuracy, which only a change in the program or a library can move


class Fall(NamedTuple):
    """A figure, and what it was."""

    name: str
    now: float
    then: float

    @property
    def is_accuracy(self) -> bool:
        return self.name.startswith("accuracy")


def figures(run: Run) -> dict[str, float]:
    """What is compared: every figure of bunrui in a run, by name."""
    return dict(_figures(run))


def _figures(run: Run) -> Iterator[tuple[str, float]]:
    base = {(row["corpus"], row["features"]): row for row in run["rows"] if _is(row, table.BASELINE, "learn")}
    for row in run["rows"]:
        if not row["peer"].startswith("bunrui"):
            continue
        what = f"{row['corpus']}, {row['features']}, {row['peer']}"
        if row["ratio"] is not None:
            yield f"{row['task']}, times scikit-learn: {what}", row["ratio"]
        if row["accuracy"] is not None:
            yield f"accuracy: {what}", row["accuracy"]
        beside = base.get((row["corpus"], row["features"]))
        if row["task"] == "learn" and beside:
            yield f"memory, scikit-learn's over ours: {what}", table.needed(beside) / table.needed(row)
    one = {row["peer"]: row for row in run["latency"] if not row["learned before"]}
    for row in run["latency"]:
        if row["peer"].startswith("bunrui") and "river" in one:
            for task in ("learn", "predict"):
                what = f"{row['peer']}, after {row['learned before']} documents"
                yield f"{task} one, river's time over ours: {what}", one["river"][f"{task} ms"] / row[f"{task} ms"]
    yield "memory, a stream over its peak", run["stream"]["megabytes"] / run["stream"]["learn peak MB"]


def _is(row: Mapping[str, Any], peer: str, task: str) -> bool:
    return bool(row["peer"] == peer and row["task"] == task)


def fallen(now: Mapping[str, float], then: Mapping[str, float]) -> list[Fall]:
    """Figures of both runs that are lower now than noise explains.

    >>> then = {"learn: a": 40.0, "learn: b": 40.0, "accuracy: a": 0.85, "accuracy: b": 0.85, "learn: gone": 3.0}
    >>> now = {"learn: a": 31.0, "learn: b": 29.0, "accuracy: a": 0.849, "accuracy: b": 0.847, "learn: new": 1.0}
    >>> [fall.name for fall in fallen(now, then)]
    ['learn: b', 'accuracy: b']
    """
    both = [Fall(name, now[name], then[name]) for name in then if name in now]
    return [
        fall for fall in both if (fall.now < fall.then - POINTS if fall.is_accuracy else fall.now < SHARE * fall.then)
    ]


def same_machine(now: Run, then: Run) -> bool:
    """Whether the ratios of two runs can be held against each other."""
    return all(now["machine"][name] == then["machine"][name] for name in ("processor", "cores"))
