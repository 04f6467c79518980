"""One process writes to a classifier, many read it, and every reader checks that what it reads was never torn.

    python scripts/processes.py --seconds 60

Document number k is the text "w<k> l<k mod 7>" with the label "l<k mod 7>".  The writer keeps the numbers that are
learned in a row first … last: it learns the next ones and unlearns the oldest, both in one order, so that any moment
between two transactions has one row of numbers.  A reader knows from its counts which words there are: they must be
those of a row, in every total, and the log must have the same row.  A reader never goes back to an older row either.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from multiprocessing.synchronize import Event
from typing import Any

import bunrui
from bunrui.counts import Counts
from bunrui.store import store
from bunrui.store.lifecycle import Document, list_documents

N_LABELS = 7
NAME = "shared.bunrui"


def document(number: int) -> tuple[str, str]:
    """The text and the label of a document."""
    return f"w{number} l{number % N_LABELS}", f"l{number % N_LABELS}"


def check_row(counts: Counts) -> tuple[int, int]:
    """The first number, and the one after the last, that were counted; an AssertionError if the row is torn."""
    found = sorted(
        int(word[1:]) for word, (_, n) in counts.totals().items() if word[0] == "w" and " " not in word and n
    )
    assert found, "there is no document"
    first, end = found[0], found[-1] + 1
    assert found == list(range(first, end)), f"numbers are missing between {first} and {end}"
    assert counts.n_docs == len(found), f"{counts.n_docs} documents, but {len(found)} words"
    by_label = {label: n for label, (n, _, _) in counts.class_totals().items()}
    expected: dict[str, int] = {}
    for number in found:
        label = document(number)[1]
        expected[label] = expected.get(label, 0) + 1
    assert by_label == expected, f"labels {by_label}, but {expected}"
    assert counts.n_terms == 3 * len(found), f"{counts.n_terms} occurrences in {len(found)} documents"
    return first, end


def check_log(documents: Iterable[Document], row: tuple[int, int] | None = None) -> tuple[int, int]:
    """The same from the log."""
    numbers = [int(document.text.split()[0][1:]) for document in documents]
    assert sorted(numbers) == list(range(min(numbers), min(numbers) + len(numbers))), "the log has no row of numbers"
    found = min(numbers), max(numbers) + 1
    assert row is None or found == row, f"the log has {found}, the counts {row}"
    return found


def write(path: str, stop: Event, seed: int, wait: float, done: Any) -> dict[str, float]:
    """Learn, unlearn, undo and compact until it is time to stop."""
    rng = random.Random(seed)
    figures: dict[str, float] = dict.fromkeys(
        ["learn", "unlearn", "undo", "compact", "compact was kept waiting", "reopen"], 0
    )
    clf = bunrui.open(path)
    first, end = check_row(clf.counts)
    while not stop.is_set():
        kind = rng.choice(
            ["learn"] * 8 + ["unlearn"] * 6 + ["undo"] * 3 + ["reopen"] + ["compact"] * (rng.random() < 0.3)
        )
        start = time.monotonic()
        if kind == "learn":
            more = rng.choice([1, 1, 3, 20])
            clf.learn(*zip(*map(document, range(end, end + more)), strict=True))
            end += more
        elif kind == "unlearn":
            less = min(rng.choice([1, 1, 3, 20]), end - first - 5)
            if less < 1:
                continue
            clf.unlearn(*zip(*map(document, range(first, first + less)), strict=True))
            first += less
        elif kind == "undo":
            # Something is learned and taken back at once: a reader may see it, and then must see it go.
            clf.learn(*zip(*map(document, range(end, end + 2)), strict=True))
            clf.undo()
        elif kind == "compact":
            try:
                clf.compact()
            except bunrui.errors.StoreError as error:
                assert "others are still reading" in str(error), error
                figures["compact was kept waiting"] += 1
        else:
            clf.close()
            clf = bunrui.open(path)
        longest = f"longest {kind}, seconds"
        figures[longest] = max(figures.get(longest, 0), round(time.monotonic() - start, 3))
        figures[kind] += 1
        assert check_row(clf.counts) == (first, end)
        done.value += 1
        time.sleep(rng.uniform(0, wait))
    clf.close()
    return figures


def read(path: str, stop: Event, seed: int, wait: float, done: Any) -> dict[str, int]:
    """Refresh, check and predict until it is time to stop."""
    rng = random.Random(seed)
    figures = dict.fromkeys(["refresh", "news", "predict", "log", "open"], 0)
    clf = bunrui.open(path, read_only=True)
    first = 0
    while not stop.is_set():
        if rng.random() < 0.05:
            clf.close()
            clf = bunrui.open(path, read_only=True)
            figures["open"] += 1
        else:
            figures["news"] += clf.refresh()
            figures["refresh"] += 1
        row = check_row(clf.counts)
        assert row[0] >= first, f"went back from {first} to {row}"
        first = row[0]
        number = rng.randrange(*row)
        assert clf.predict([document(number)[0]])[0] == document(number)[1]
        figures["predict"] += 1
        done.value += 1
        if rng.random() < 0.2:
            with closing(store.Store.open(path, read_only=True)) as file, file.reading():  # both at the same moment
                check_log(list_documents(file), check_row(file.load()[0]))
            figures["log"] += 1
        time.sleep(rng.uniform(0, wait))
    clf.close()
    return figures


def _process(kind: str, path: str, stop: Event, seed: int, wait: float, done: Any, results: Any) -> None:
    store._MOST_DELTAS = 20  # fold often
    try:
        figures = (write if kind == "writer" else read)(path, stop, seed, wait, done)
        results.put((kind, figures, None))
    except BaseException as error:
        results.put((kind, {}, f"{type(error).__name__}: {error}"))
        stop.set()
        raise


def run(
    folder: str, seconds: float, readers: int = 8, seed: int = 0, wait: float = 0.02, least: int = 0
) -> dict[str, Any]:
    """Start the processes; what they did, and how they failed.

    They go on for some seconds, and until each has done something `least` times, however slow the machine.
    """
    context = multiprocessing.get_context("spawn")
    path = os.path.join(folder, NAME)
    with bunrui.create(path) as clf:
        clf.learn(*zip(*map(document, range(10)), strict=True))
    stop, results = context.Event(), context.Queue()
    kinds = ["writer", *["reader"] * readers]
    done = [context.Value("q") for _ in kinds]
    processes = [
        context.Process(target=_process, args=(kind, path, stop, seed + k, wait, done[k], results), daemon=True)
        for k, kind in enumerate(kinds)
    ]
    for process in processes:
        process.start()
    stop.wait(seconds)
    while any(n.value < least for n in done) and all(process.is_alive() for process in processes):
        if stop.wait(0.1):
            break
    stop.set()
    figures: dict[str, Any] = {"seconds": seconds, "readers": readers, "failures": []}
    for _ in processes:
        kind, counted, failure = results.get(timeout=300)  # a busy machine takes its time
        total = figures.setdefault(kind, {})
        for name, n in counted.items():
            total[name] = total.get(name, 0) + n
        figures["failures"] += [f"{kind}: {failure}"] if failure else []
    for process in processes:
        process.join()
    with bunrui.open(path) as clf:
        figures["documents"] = clf.counts.n_docs
        check_log(clf.documents(), check_row(clf.counts))
        clf.compact()
        check_log(clf.documents(), check_row(clf.counts))
    figures["left"] = sorted(os.listdir(folder))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    figures = run(folder, options.seconds, options.readers, options.seed)
    print(json.dumps(figures, indent=1))
    shutil.rmtree(folder)
    if figures["failures"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
