"""The stopwatch: one peer on one corpus, in a process of its own.

Measured: seconds of wall clock from strings to a model and from strings to labels, and the peak of resident memory.
Not measured: importing, reading the corpus, `prepare`, and saving or loading a model.
Every trial runs in a fresh process, and reports the best of its runs.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import corpora
import pyarrow as pa
import pyarrow.parquet as pq
from peers import Peer

LEAST_SECONDS = 3.0

T = TypeVar("T")


class Timing(NamedTuple):
    """The fewest `seconds` of `repeats` calls, the `value` of the last and the peak of resident memory in the first.

    Later calls may hold the result of the one before, so that only the first says what a single call needs.
    """

    seconds: float
    repeats: int
    value: Any
    peak_rss_bytes: int


@dataclass(frozen=True)
class Trial:
    """One peer on one corpus, in a process of its own. Bytes are the UTF-8 of the texts that one run reads.

    `loaded_rss_bytes` is the resident memory with libraries and data loaded, before learning. `learn` and `predict` are
    `Timing` with their peaks; `predict` is None for who cannot. `accuracy` is on the test set.
    """

    peer: str
    corpus: str
    features: str
    threads: tuple[str, str]
    learn_bytes: int
    predict_bytes: int
    learn: Timing
    predict: Timing | None
    accuracy: float | None
    loaded_rss_bytes: int
    sample: bool
    note: str = ""


def trial(
    peer: type[Peer],
    corpus: str,
    features: str = "words",
    *,
    folder: str | None = None,
    repeats: int = 3,
    budget: float = 60.0,
) -> Trial:
    """Run a peer on a corpus in a fresh process; `best` says how often."""
    return isolated(_trial, peer, corpus, features, folder, repeats, budget)


def _trial(peer: type[Peer], corpus: str, features: str, folder: str | None, repeats: int, budget: float) -> Trial:
    data = corpora.load(corpus, folder)
    train, test = _sample(data.train, peer.limit_mb), _sample(data.test, peer.limit_mb)
    sampled = train.num_rows < data.train.num_rows or test.num_rows < data.test.num_rows
    learn_bytes, predict_bytes, truth = corpora.n_bytes(train), corpora.n_bytes(test), test["label"].to_pylist()
    with tempfile.TemporaryDirectory() as scratch:
        texts, labels = _feed(train, peer.takes, Path(scratch) / "train.parquet")
        queries, _ = _feed(test, peer.takes, Path(scratch) / "test.parquet")
        del data, train, test
        model = peer(features)
        model.prepare(texts, labels)
        pa.default_memory_pool().release_unused()  # what reading took would be there for learning
        reset_peak_rss()
        loaded = peak_rss()
        learned = best(lambda: model.learn(texts, labels), repeats, budget)
        predicted, accuracy = None, None
        if peer.predicts:
            predicted = best(lambda: model.predict(queries), repeats, budget)
            accuracy = sum(a == b for a, b in zip(predicted.value, truth, strict=True)) / len(truth)
            predicted = predicted._replace(value=None)  # not worth the way between the processes
    return Trial(
        peer=peer.name,
        corpus=corpus,
        features=features,
        threads=peer.threads,
        learn_bytes=learn_bytes,
        predict_bytes=predict_bytes,
        learn=learned,
        predict=predicted,
        accuracy=accuracy,
        loaded_rss_bytes=loaded,
        sample=sampled,
        note=peer.note,
    )


def _sample(table: pa.Table, limit_mb: float | None) -> pa.Table:
    """Every k-th document, so that about `limit_mb` remain."""
    step = 1 if limit_mb is None else max(1, round(corpora.n_bytes(table) / (limit_mb * 1e6)))
    return table if step == 1 else table.take(list(range(0, table.num_rows, step)))


def _feed(table: pa.Table, takes: str, path: Path) -> tuple[Any, Any]:
    """Texts and labels in the shape that the peer takes."""
    if takes == "list":
        return table["text"].to_pylist(), table["label"].to_pylist()
    if takes == "arrow":
        table = table.combine_chunks()
        return table["text"].chunk(0), table["label"].chunk(0)
    if takes == "parquet":
        pq.write_table(table, path, compression="zstd", row_group_size=4096)
        return str(path), None
    raise ValueError(f"takes is list, arrow or parquet, not {takes!r}")


def best(function: Callable[[], object], repeats: int, budget: float = float("inf")) -> Timing:
    """Call `repeats` times, and for `LEAST_SECONDS`, but once only if another call would pass `budget` seconds.

    A call of 40 ms is easily slowed down by a neighbour: best of five, its rate varied by a third between runs.
    """
    seconds: list[float] = []
    peak = 0
    reset_peak_rss()
    while not seconds or (
        (len(seconds) < repeats or sum(seconds) < LEAST_SECONDS) and sum(seconds) + min(seconds) <= budget
    ):
        start = time.perf_counter()
        value = function()
        seconds.append(time.perf_counter() - start)
        peak = peak or peak_rss()
    return Timing(min(seconds), len(seconds), value, peak)


def isolated(function: Callable[..., T], *arguments: object) -> T:
    """Call in a fresh Python (spawned, not forked): no memory, thread pool or compiled code left from another trial."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak_rss() -> int:
    """Peak of the resident memory of this process, in bytes.

    VmHWM where there is one: on Linux `ru_maxrss` survives exec, and a child of a parent with 774 MB reported 774 MB
    where VmHWM said 9.
    """
    try:
        found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def reset_peak_rss() -> None:
    """Let the peak start again from what is resident now; where the system cannot, loading counts in the peak."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def print_rows(rows: list[dict[str, Any]], width: int, *, as_json: bool) -> None:
    """Print rows with the same columns, each of so many characters; or all of them as JSON."""
    if as_json:
        print(json.dumps(rows))
        return
    print(" ".join(f"{name:>{width}}" for name in rows[0]))
    for row in rows:
        cells = (f"{value:{width},.2f}" if isinstance(value, float) else f"{value:>{width}}" for value in row.values())
        print(" ".join(cells))


def collect(rows: Iterable[T], show: Callable[[T], None], *, is_quiet: bool) -> list[T]:
    """All rows; each is shown when it comes, unless that is quiet."""
    found = []
    for row in rows:
        found.append(row)
        if not is_quiet:
            show(row)
    return found
