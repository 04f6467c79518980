"""What a change costs after many changes, beside what it cost after few: `python benchmarks/changes.py 20 1220 3220`.

Documents are learned one by one.  Seconds are those of the processor: a disk takes the same time for each change.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import bunrui

REPEATS = 5


def text(k: int) -> str:
    return f"document number {k} has word{k % 97} and thing{k % 31} in it"


def milliseconds(work: Callable[[], Any]) -> float:
    """The median."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1000 * sorted(times)[REPEATS // 2]


def measured(clf: bunrui.StoredClassifier, n: int) -> dict[str, float]:
    """Milliseconds of what can be done to a file of `n` documents, and asked of it."""
    old, new = iter(range(n // 2 - 2 * REPEATS, n)), iter(range(n, n + REPEATS))

    def learn() -> None:
        k = next(new)
        clf.learn([text(k)], [f"label{k % 3}"], ids=[str(k)])

    works = {
        "learn": learn,
        "unlearn": lambda: clf.unlearn(ids=[str(next(old))]),
        "relabel": lambda: clf.relabel("other", ids=[str(next(old))]),
        "info": clf.info,
        "log": lambda: clf.history(limit=100),
    }
    return {name: milliseconds(work) for name, work in works.items()}


def main() -> None:
    goals = [int(goal) for goal in sys.argv[1:]] or [20, 1220, 3220]
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, bunrui.create(os.path.join(folder, "mail.bunrui")) as clf:
        n = 0
        for goal in goals:
            for k in range(n, goal):
                clf.learn([text(k)], [f"label{k % 3}"], ids=[str(k)])
            found = measured(clf, goal)
            n = goal + REPEATS
            first = first or found
            print(f"{goal} changes: " + ", ".join(f"{k} {v:.1f} ms ({v / first[k]:.1f}×)" for k, v in found.items()))


if __name__ == "__main__":
    main()
