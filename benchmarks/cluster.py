"""What a cluster costs: counting and predicting with Ray beside the threads of one process, from the same files.

    python benchmarks/cluster.py [--corpus imdb | --megabytes 300] [--files 8] [--repeats 3] [--workers 1 2]
                                 [--analyzer universal] [--json]

With `--megabytes` the text is generated.
Both read the same Parquet files and end with the counts in one process, or with a Parquet file of labels. Threads and
workers are as many as `workers` says.  `start` is the time until a cluster on this machine answers, `first` that of the
first run, in which workers load Python and the kernels; the rates are those of the best run after it. `overhead` is the
time with Ray over the time with threads. Machines are processes here, so that nothing goes over a network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import corpora
import pyarrow.parquet as pq
import stopwatch


def run(
    corpus: str, megabytes: float | None, n_files: int, repeats: int, workers: int, analyzer: str
) -> list[dict[str, Any]]:
    """Rows for learning and predicting with so many workers; both engines in this process, one after the other."""
    os.environ["BUNRUI_THREADS"] = str(workers)

    with tempfile.TemporaryDirectory(prefix="cl") as folder:
        os.environ["RAY_TMPDIR"] = folder
        texts = corpora.load(corpus) if megabytes is None else corpora.zipf(megabytes, 10, corpora.SEED)
        train, test = (_write(texts, name, n_files, Path(folder)) for name in ("train", "test"))
        del texts
        return _measure(train, test, Path(folder), repeats, workers, analyzer)


def _write(corpus: corpora.Corpus, name: str, n_files: int, folder: Path) -> tuple[str, int]:
    """A split in so many files: their pattern, and the bytes of text."""
    table = getattr(corpus, name)
    size = -(-table.num_rows // n_files)
    for number in range(n_files):
        pq.write_table(table.slice(number * size, size), folder / f"{name}-{number:03d}.parquet", compression="zstd")
    return f"{folder}/{name}-*.parquet", corpora.n_bytes(table)


def _measure(
    train: tuple[str, int], test: tuple[str, int], folder: Path, repeats: int, workers: int, analyzer: str
) -> list[dict[str, Any]]:
    import ray

    from bunrui import TextClassifier
    from bunrui.documents import read
    from bunrui.engines import ray as engine
    from bunrui.engines.pieces import split
    from bunrui.engines.stream import ahead, texts_of
    from bunrui.engines.tasks import Labels

    output = folder / "labels"

    def learn_here() -> TextClassifier:
        clf = TextClassifier(analyzer=analyzer)
        for batch in ahead(read(train[0])):
            clf.learn(texts_of(batch), batch["label"])
        return clf

    def learn_there() -> TextClassifier:
        clf = TextClassifier(analyzer=analyzer)
        engine.count(clf, read(train[0]), block_bytes=1)
        return clf

    def predict_here() -> int:
        return Labels(clf)(ahead(read(test[0], labelled=False)), str(folder / "labels.parquet"))

    def predict_there() -> int:
        shutil.rmtree(output, ignore_errors=True)
        return engine.predict_blocks(clf, split(read(test[0], labelled=False), 1), str(output))

    clf = learn_here()
    here = stopwatch.best(learn_here, repeats), stopwatch.best(predict_here, repeats)
    begun = time.perf_counter()
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="error")
    start = time.perf_counter() - begun
    rows = []
    for what, n_bytes, threads, work in (
        ("learn", train[1], here[0], learn_there),
        ("predict", test[1], here[1], predict_there),
    ):
        first, there = stopwatch.best(work, 1), stopwatch.best(work, repeats)
        if what == "learn":
            assert there.value.counts == clf.counts
        rows.append(
            {
                "what": what,
                "workers": workers,
                "MB": n_bytes / 1e6,
                "threads MB/s": n_bytes / 1e6 / threads.seconds,
                "ray MB/s": n_bytes / 1e6 / there.seconds,
                "overhead": there.seconds / threads.seconds,
                "start s": start,
                "first s": first.seconds,
            }
        )
    ray.shutdown()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="imdb")
    parser.add_argument("--megabytes", type=float)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--analyzer", default="universal")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [
        row
        for workers in options.workers
        for row in stopwatch.isolated(
            run,
            options.corpus,
            options.megabytes,
            options.files,
            options.repeats,
            workers,
            options.analyzer,
        )
    ]
    stopwatch.print_rows(rows, 12, as_json=options.json)


if __name__ == "__main__":
    main()
