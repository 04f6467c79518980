"""Learning within bounded memory: `bunrui learn --memory` on a corpus whose vocabulary outgrows it.

    python benchmarks/spill.py [--gigabytes 0.2] [--memory 800MB] [--inside 0.1] [--keep nothing] [--folder DIR]

The corpus is generated into Parquet files: phrases from a Zipf distribution without an end, so that new words and new
pairs of words keep coming, about as many as in reviews of films (33 MB have 1.3 million features), and as many more for
each tenfold of text.  `bunrui learn` learns its first `--inside` gigabytes in memory and with `--memory`, and all of it
with `--memory`, each in a process of its own.  Reported are megabytes of text for each second of wall clock and of
processor time, the peak of resident memory, and whether the two classifiers of the first part are equal.

`--gigabytes 10 --memory 2GB` needs 10 GB of disk for the corpus and about as much again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import stopwatch

BATCH = 16e6
FILE = 500e6
CLASSES = 10
TAIL, SHIFT = 0.3, 80  # phrases beyond rank r are (1 + r / SHIFT) ** -TAIL of all
NEW = 300  # one word of so many was never there before, or seldom
_MIX = np.array([0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93], np.uint64)


def hashed(numbers: Any) -> Any:
    """Numbers → 64 random bits of each, always the same."""
    for factor in _MIX:
        numbers = (numbers ^ (numbers >> np.uint64(31))) * factor
    return numbers ^ (numbers >> np.uint64(29))


def batch(number: int, n_bytes: float = BATCH) -> pa.RecordBatch:
    """About so many bytes of documents with their labels."""
    rng = np.random.default_rng([corpora.SEED, number])
    vocabulary = corpora._vocabulary("en")
    n_phrases = int(n_bytes / vocabulary.mean_bytes / 2.5)
    phrases = np.minimum(SHIFT * (rng.random(n_phrases) ** (-1 / TAIL) - 1), 1e18).astype(np.uint64)
    lengths = 1 + (hashed(phrases) % np.uint64(4)).astype(np.int64)
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    words = hashed(np.repeat(phrases, lengths) * np.uint64(8) + places.astype(np.uint64))
    drawn = vocabulary.ranks[(words >> np.uint64(44)).astype(np.int64)]
    drawn += corpora.VOCABULARY * corpora.FORMS[(words % np.uint64(len(corpora.FORMS))).astype(np.int64)]
    new = np.flatnonzero(hashed(words) % np.uint64(NEW) == 0)
    drawn[new] = len(vocabulary.words) + np.arange(len(new))
    table = pa.concat_arrays([vocabulary.words, pa.array([f"{word % 10**9} " for word in words[new].tolist()])])
    ends = np.minimum(np.cumsum(np.maximum(rng.lognormal(5.0, 0.8, len(words) // 50), 1)), len(words))
    ends = np.unique(np.append(ends, len(words)).astype(np.int32))
    texts = pc.binary_join(pa.ListArray.from_arrays(pa.array(np.append(0, ends), pa.int32()), table.take(drawn)), "")
    names = pa.array([f"class{label}" for label in range(CLASSES)])
    return pa.record_batch([names.take(pa.array(rng.integers(CLASSES, size=len(texts)))), texts], corpora.SCHEMA)


def generate(folder: str, n_bytes: float) -> list[tuple[str, int]]:
    """Write so many bytes of text; the files, and the bytes in each."""
    files: list[tuple[str, int]] = []
    batches = _batches(n_bytes)
    for some in iter(lambda: next(batches, None), None):
        path = str(Path(folder) / f"corpus-{len(files):03d}.parquet")
        size = 0
        with pq.ParquetWriter(path, corpora.SCHEMA, compression="lz4") as writer:
            while some is not None:
                writer.write_batch(some)
                size += corpora.n_bytes(some["text"])
                some = next(batches, None) if size < min(FILE, n_bytes / 4) else None
        files.append((path, size))
    return files


def _batches(n_bytes: float) -> Iterator[pa.RecordBatch]:
    number, each = 0, min(BATCH, n_bytes / 4)
    while n_bytes > 0:
        made = batch(number, each)
        n_bytes -= corpora.n_bytes(made["text"])
        number += 1
        yield made


def learn(path: str, files: list[tuple[str, int]], *options: str) -> dict[str, Any]:
    """Run `bunrui learn`: megabytes, seconds, and the peak of memory."""
    command = [sys.executable, "-m", "bunrui", "learn", path, *(name for name, _ in files), *options]
    started = time.perf_counter()
    process = os.posix_spawn(sys.executable, command, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    megabytes, busy = sum(size for _, size in files) / 1e6, usage.ru_utime + usage.ru_stime
    return {
        "options": " ".join(options),
        "MB": round(megabytes),
        "seconds": round(seconds, 1),
        "processor": round(busy, 1),
        "MB/s": round(megabytes / seconds, 2),
        "MB/s of processor": round(megabytes / busy, 2),
        "peak MB": round(usage.ru_maxrss * 1024 / 1e6),
        "file MB": round(os.path.getsize(path) / 1e6),
    }


def equal(one: str, other: str) -> bool:
    """Whether two classifiers have equal counts."""
    from bunrui import store

    with store.open(one, read_only=True) as a, store.open(other, read_only=True) as b:
        return bool(a.counts == b.counts and a.counts.n_docs == b.counts.n_docs)


def run(gigabytes: float, inside: float, memory: str, keep: str, folder: str) -> dict[str, Any]:
    """Everything; in a folder that is there."""
    files = stopwatch.isolated(generate, folder, gigabytes * 1e9)
    first: list[tuple[str, int]] = []
    while sum(size for _, size in first) < min(inside, gigabytes) * 1e9:
        first.append(files[len(first)])
    plain, spilled, whole = (str(Path(folder) / f"{name}.bunrui") for name in ("plain", "spilled", "whole"))
    rows = {"in memory": learn(plain, first, "--keep", keep)}
    rows["bounded"] = learn(spilled, first, "--keep", keep, "--memory", memory)
    are_equal = stopwatch.isolated(equal, plain, spilled)
    for path in (plain, spilled):
        os.unlink(path)
    rows["bounded, all"] = learn(whole, files, "--keep", keep, "--memory", memory)
    return {"rows": rows, "equal": are_equal}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=0.2)
    parser.add_argument("--inside", type=float, default=0.1)
    parser.add_argument("--memory", default="800MB")
    parser.add_argument("--keep", default="nothing")
    parser.add_argument("--folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="spill", dir=options.folder)
    try:
        report = run(options.gigabytes, options.inside, options.memory, options.keep, folder)
    finally:
        shutil.rmtree(folder)
    if options.json:
        print(json.dumps(report))
        return
    for name, row in report["rows"].items():
        print(f"{name:14}" + "  ".join(f"{key} {value}" for key, value in row.items()))
    print(f"equal: {report['equal']}")


if __name__ == "__main__":
    main()
