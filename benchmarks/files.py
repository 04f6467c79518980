"""From file to file: the command `bunrui` on large files, beside the same work on an array in memory.

    python benchmarks/files.py [--megabytes 2000] [--predict-megabytes 300] [--repeats 3] [--only learn] [--json]

learn     a JSON-lines file with `--keep nothing`: the peak of resident memory, which must not grow with the file but
          for the vocabulary, and the rate.  Generated text for `--analyzer words`; for both analyzers the training set
          of IMDB again and again, where it is there (pairs of random words are far more than those of any language).
predict   the test set of IMDB again and again, from a file to a file.  `array` is what `predict` of an Arrow array does
          in memory, warm, measured anew for each row: the rate to be compared with.  `read` is the reader alone.

Rates are megabytes of text, without labels, quotes and braces, in a second of wall clock; the best of the repeats.
`MB/s` is all that a user waits for: Python's start, imports, opening the classifier, loading compiled kernels, reading
and writing.  `net MB/s` is without the start, which is what a file of a hundredth takes; `ratio` is net / array.
`CPU ratio` is the same of CPU seconds, which others at work on the machine change less; it knows nothing of waiting.
Not measured: compiling the kernels, which a first run does, and a cold disk: the files were just written.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import corpora
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import stopwatch

import bunrui
from bunrui import documents

ANALYZERS = ("words", "universal")
PARTS = 100
KEEP = ("--keep", "nothing")
FORMATS = (("jsonl", "parquet"), ("parquet", "parquet"), ("arrow", "parquet"), ("csv", "jsonl"))

# The peak of a child survives exec, as in `stopwatch.peak_rss`: the one who starts it must be small.
LAUNCHER = """
import os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - started, usage.ru_maxrss, usage.ru_utime + usage.ru_stime)
sys.exit(os.waitstatus_to_exitcode(status))
"""

Row = dict[str, Any]


class Run(NamedTuple):
    """One run, or the best of some."""

    seconds: float
    peak_bytes: int
    cpu_seconds: float


def command(*arguments: str) -> Run:
    """Run `bunrui` in a process of its own."""
    found = shutil.which("bunrui", path=str(Path(sys.executable).parent))
    program = [found] if found else [sys.executable, "-m", "bunrui"]
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *program, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"bunrui {' '.join(arguments)}: {done.stderr}")
    seconds, peak, cpu = map(float, done.stdout.split())
    return Run(seconds, int(peak) * (1 if sys.platform == "darwin" else 1024), cpu)


def fastest(repeats: int, *arguments: str, new: Path | None = None) -> Run:
    """The fewest seconds, the highest peak and the fewest CPU seconds of some runs; `new` is deleted before each."""
    runs = []
    for _ in range(repeats):
        if new is not None:
            new.unlink(missing_ok=True)
        runs.append(command(*arguments))
    seconds, peaks, cpu_seconds = zip(*runs, strict=True)
    return Run(min(seconds), max(peaks), min(cpu_seconds))


# --- learn


def learn(megabytes: float, repeats: int, folder: Path, data: str | None) -> Iterator[Row]:
    """A row for each corpus and analyzer."""
    work: list[tuple[str, Callable[[Path], int], tuple[str, ...]]] = [
        ("generated", lambda path: write_lines(corpora.stream(megabytes), path), ANALYZERS[:1])
    ]
    try:
        train = corpora.load("imdb", data).train
        work.append(("imdb, repeated", lambda path: write_again(train, megabytes, path), ANALYZERS))
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
    for name, write, analyzers in work:
        path, new = folder / "train.jsonl", folder / "new.bunrui"
        say(f"{name}: writing {megabytes:,.0f} MB …")
        n_bytes = write(path)
        for analyzer in analyzers:
            say(f"{name}, {analyzer}: learn …")
            best = fastest(repeats, "learn", str(new), str(path), *KEEP, "--analyzer", analyzer, new=new)
            yield {
                "corpus": name,
                "analyzer": analyzer,
                "MB": n_bytes / 1e6,
                "peak MB": best.peak_bytes / 1e6,
                "seconds": best.seconds,
                "MB/s": n_bytes / best.seconds / 1e6,
                "cores": best.cpu_seconds / best.seconds,
            }
        path.unlink()


def write_lines(batches: Iterable[pa.RecordBatch], path: Path) -> int:
    """Write JSON lines; the bytes of text in them."""
    n_bytes = 0
    with open(path, "w", encoding="utf-8") as file:
        for batch in batches:
            rows = zip(batch["label"].to_pylist(), batch["text"].to_pylist(), strict=True)
            file.writelines(json.dumps({"label": a, "text": b}, ensure_ascii=False) + "\n" for a, b in rows)
            n_bytes += corpora.n_bytes(batch["text"])
    return n_bytes


def write_again(table: pa.Table, megabytes: float, path: Path) -> int:
    """Write a table as JSON lines, as often as it takes."""
    once = write_lines(table.to_batches(), path)
    lines = path.read_bytes()
    times = max(1, round(megabytes * 1e6 / once))
    with open(path, "ab") as file:
        for _ in range(times - 1):
            file.write(lines)
    return once * times


# --- predict


def predict(megabytes: float, repeats: int, folder: Path, data: str | None) -> Iterator[Row]:
    """A row for each analyzer and pair of formats."""
    try:
        corpus = corpora.load("imdb", data)
    except FileNotFoundError as error:
        print(f"{error}\nusing generated text", file=sys.stderr)
        corpus = corpora.zipf(min(megabytes, 40), 2, corpora.SEED)
    times = max(1, round(megabytes * 1e6 / corpora.n_bytes(corpus.test)))
    small = corpus.test.slice(0, max(1, corpus.test.num_rows * times // PARTS))
    sizes = corpora.n_bytes(corpus.test) * times, corpora.n_bytes(small)
    say(f"predict: writing {sizes[0] / 1e6:,.0f} MB …")
    write_lines(corpus.train.to_batches(), folder / "train.jsonl")
    for format, _ in FORMATS:
        write_table(itertools.repeat(corpus.test, times), folder / f"test.{format}")
        write_table([small], folder / f"small.{format}")
    for analyzer in ANALYZERS:
        classifier = str(folder / f"{analyzer}.bunrui")
        command("learn", classifier, str(folder / "train.jsonl"), *KEEP, "--analyzer", analyzer)
        line = fastest(repeats, "predict", classifier, "--line", "a film")
        for source, target in FORMATS:
            say(f"predict, {analyzer}: {source} → {target} …")
            in_memory = stopwatch.isolated(predict_array, classifier, str(folder / "test.arrow"), repeats)
            read = sizes[0] / stopwatch.isolated(read_file, str(folder / f"test.{source}"), repeats)
            output = "--output", str(folder / f"out.{target}")
            start = fastest(repeats, "predict", classifier, str(folder / f"small.{source}"), *output)
            whole = fastest(repeats, "predict", classifier, str(folder / f"test.{source}"), *output)
            share = 1 - sizes[1] / sizes[0]
            seconds, cpu_seconds = (
                (whole.seconds - start.seconds) / share,
                (whole.cpu_seconds - start.cpu_seconds) / share,
            )
            yield {
                "from": source,
                "to": target,
                "analyzer": analyzer,
                "MB": sizes[0] / 1e6,
                "one line s": line.seconds,
                "start s": start.seconds,
                "seconds": whole.seconds,
                "peak MB": whole.peak_bytes / 1e6,
                "MB/s": sizes[0] / whole.seconds / 1e6,
                "net MB/s": sizes[0] / seconds / 1e6,
                "read MB/s": read / 1e6,
                "array MB/s": sizes[0] / in_memory.seconds / 1e6,
                "ratio": in_memory.seconds / seconds,
                "CPU ratio": in_memory.cpu_seconds / cpu_seconds,
            }


def write_table(tables: Iterable[pa.Table], path: Path) -> None:
    """Write tables into one file, in the format of its suffix."""
    if path.suffix == ".jsonl":
        write_lines((batch for table in tables for batch in table.to_batches()), path)
        return
    with open(path, "wb") as sink, _open(path.suffix, sink) as writer:
        for table in tables:
            writer.write_table(table)


def _open(suffix: str, sink: Any) -> Any:
    if suffix == ".parquet":
        return pq.ParquetWriter(sink, corpora.SCHEMA)
    return (pa.ipc.new_file if suffix == ".arrow" else pyarrow.csv.CSVWriter)(sink, corpora.SCHEMA)


def predict_array(classifier: str, path: str, repeats: int) -> Run:
    """Predict all texts of an Arrow file that are in memory."""
    texts = pa.concat_arrays(pa.ipc.open_file(path).read_all()["text"].chunks)
    cpu_seconds = []
    with bunrui.open(classifier, read_only=True) as clf:
        clf.predict(texts[:2000])

        def once() -> None:
            started = time.process_time()
            clf.predict(texts)
            cpu_seconds.append(time.process_time() - started)

        done = stopwatch.best(once, repeats)
    return Run(done.seconds, done.peak_rss_bytes, min(cpu_seconds))


def read_file(path: str, repeats: int) -> float:
    """Seconds to read a file as the command reads it, and to do nothing with it."""
    return stopwatch.best(
        lambda: sum(batch.num_rows for batch in documents.read(path, labelled=False)), repeats
    ).seconds


# ---


def say(message: str) -> None:
    """What is under way."""
    print(message, file=sys.stderr, flush=True)


def show(rows: list[Row]) -> None:
    """A table of rows that have the same columns."""
    print("  ".join(f"{name:>{_width(rows, name)}}" for name in rows[0]))
    for row in rows:
        print("  ".join(f"{_shown(value):>{_width(rows, name)}}" for name, value in row.items()))


def _width(rows: list[Row], name: str) -> int:
    return max(len(name), *(len(_shown(row[name])) for row in rows))


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=2000, help="of text to learn")
    parser.add_argument("--predict-megabytes", type=float, default=300, help="of text to predict")
    parser.add_argument("--only", choices=["learn", "predict"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where the corpora are")
    parser.add_argument("--scratch", help="where to write some gigabytes (the system's folder for temporary files)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: dict[str, list[Row]] = {}
    for name, work, megabytes in (
        ("learn", learn, options.megabytes),
        ("predict", predict, options.predict_megabytes),
    ):
        if options.only in (None, name):
            with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
                report[name] = list(work(megabytes, options.repeats, Path(scratch), options.folder))
    if options.json:
        print(json.dumps(report | {"cores": len(os.sched_getaffinity(0)), "repeats": options.repeats}))
        return
    for name, rows in report.items():
        print(f"\n{name}, best of {options.repeats}")
        show(rows)


if __name__ == "__main__":
    main()
