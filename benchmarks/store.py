"""What a file costs: learning into it beside learning in memory, its size, opening it, one more document.

    python benchmarks/store.py [--corpus imdb 20news] [--analyzer universal words] [--json]

Size is beside the corpus in zstd and the number of cells (pairs of feature and label that occur), which a file needs at
least: `bytes/cell` is what the file takes beyond the compressed corpus.  The time to write to the disk is that of one
transaction of SQLite with as many bytes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import corpora
import pyarrow as pa
import stopwatch

import bunrui
from bunrui import TextClassifier

REPEATS = 5
ONE_BY_ONE = 50


def seconds(function: Callable[[], object], repeats: int = REPEATS) -> float:
    return stopwatch.best(function, repeats).seconds


def run(corpus: str, analyzer: str) -> list[dict[str, Any]]:
    """A row for each thing that a file can keep."""
    train = corpora.load(corpus).train.combine_chunks()
    texts, labels = train["text"].chunk(0), train["label"].chunk(0)
    packed = len(pa.compress("".join(texts.to_pylist()).encode(), "zstd", asbytes=True))
    in_memory = seconds(lambda: TextClassifier(analyzer=analyzer).learn(texts, labels))
    rows = []
    for keep in ("nothing", "digests", "text"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c.bunrui")

            def learn(path: str = path, keep: str = keep) -> None:
                if os.path.exists(path):
                    os.unlink(path)
                with bunrui.create(path, analyzer=analyzer, keep=keep) as clf:
                    clf.learn(texts, labels)

            learned = seconds(learn)
            size = os.path.getsize(path)
            opened = seconds(lambda path=path: bunrui.open(path, read_only=True).close())
            with bunrui.open(path) as clf:
                counts = clf.counts
                n_cells, n_features = counts.n_cells, counts.n_features
                one = statistics.median(_one(clf, texts[k].as_py(), labels[k].as_py()) for k in range(ONE_BY_ONE))
            rows.append(
                {
                    "corpus": corpus,
                    "analyzer": analyzer,
                    "keep": keep,
                    "learn × memory": learned / in_memory,
                    "learn s": learned,
                    "open s": opened,
                    "one document ms": one * 1e3,
                    "fsync ms": _fsync(folder) * 1e3,
                    "MB": size / 1e6,
                    "bytes/cell": (size - (packed if keep == "text" else 0)) / n_cells,
                    "features": n_features,
                    "cells": n_cells,
                    "classes": len(counts.labels),
                }
            )
    return rows


def _one(clf: bunrui.StoredClassifier, text: str, label: str) -> float:
    started = time.perf_counter()
    clf.learn([text], [label])
    return time.perf_counter() - started


def _fsync(folder: str) -> float:
    """The median time to bring 16 KB to the disk."""
    times = []
    with open(os.path.join(folder, "fsync"), "wb") as file:
        for _ in range(20):
            started = time.perf_counter()
            file.write(bytes(16 << 10))
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="+", default=["imdb", "20news"])
    parser.add_argument("--analyzer", nargs="+", default=["universal", "words"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [
        row
        for corpus in options.corpus
        for analyzer in options.analyzer
        for row in stopwatch.isolated(run, corpus, analyzer)
    ]
    stopwatch.print_rows(rows, 15, as_json=options.json)


if __name__ == "__main__":
    main()
