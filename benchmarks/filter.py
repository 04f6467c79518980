"""`bunrui filter` beside DSIR and fastText: megabytes a second of one core, and how much of the selection is right.

    python benchmarks/filter.py [--megabytes 200] [--target 5000] [--only bunrui] [--repeats 3] [--json]

Target: reviews of IMDB's training set.  Raw: the test sets of nine corpora, repeated in random orders; N of its texts
are reviews of IMDB.  Everyone reads raw.jsonl and target.jsonl, has one thread, and selects N documents.

    count, score   MB of raw per second of processor time, from strings in memory (DSIR: from its file, as it comes)
    all            the same from the files to a file with the N best, importing and compiling left out
    P@N, P@N/4     how many of the N (N/4) best are reviews;  sample: of N that are drawn by importance

fastText is trained on the target and as many random documents of raw, and ranks by the probability of the target.  DSIR
has its defaults: word 1-2-grams in 10,000 buckets, documents of fewer than 100 tokens left out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import pyarrow as pa
import stopwatch
from peers import FastText

KIND = "imdb"
NAMES = (KIND, "20news", "ag_news", "enron_spam", "sms_spam", "twitter_samples", "livedoor", "thucnews", "nsmc")
OURS = {
    "bunrui": [],
    "bunrui, 2**16 buckets": ["--hash-bits", "16"],
    "bunrui, words": ["--analyzer", "words"],
    "bunrui, no buckets": ["--hash-bits", "0"],
}
Row = dict[str, Any]


def write_data(folder: Path, megabytes: float, n_target: int, corpora_folder: str | None) -> None:
    """raw.jsonl and target.jsonl; a row of raw says its kind."""
    loaded = {name: corpora.load(name, corpora_folder) for name in NAMES}
    rows = [(name, text) for name in NAMES for text in loaded[name].test["text"].to_pylist()]
    n_bytes = sum(corpora.n_bytes(loaded[name].test) for name in NAMES)
    times = max(1, round(megabytes * 1e6 / n_bytes))
    with open(folder / "raw.jsonl", "w", encoding="utf-8") as file:
        for turn in range(times):
            for k in np.random.default_rng(turn).permutation(len(rows)):
                file.write(json.dumps({"text": rows[k][1], "kind": rows[k][0]}, ensure_ascii=False) + "\n")
    with open(folder / "target.jsonl", "w", encoding="utf-8") as file:
        for text in loaded[KIND].train["text"].to_pylist()[:n_target]:
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")


def read(path: Path) -> tuple[list[str], np.ndarray]:
    """Texts, and which of them are of the target's kind."""
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row["text"] for row in rows], np.array([row.get("kind") == KIND for row in rows])


def precision(paths: Iterable[Path]) -> float:
    """The share of rows in some files that are of the target's kind."""
    kinds = np.concatenate([read(path)[1] for path in paths])
    return float(kinds.mean())


def best(kinds: np.ndarray, scores: np.ndarray) -> Row:
    """How many of the best are of the target's kind."""
    order, n = np.argsort(-scores, kind="stable"), int(kinds.sum())
    return {"P@N": float(kinds[order[:n]].mean()), "P@N/4": float(kinds[order[: n // 4]].mean())}


def rate(n_bytes: int, work: Callable[[], object], repeats: int = 1) -> float:
    """MB per second of processor time, the best of some runs."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return n_bytes / min(seconds) / 1e6


# --- ours


def bunrui(name: str, options: list[str], folder: Path, repeats: int) -> Row:
    """One way of `bunrui filter`."""
    os.environ["BUNRUI_THREADS"] = "1"
    from bunrui.cli import main
    from bunrui.selection.ratio import HASH_BITS, Ratio

    texts, kinds = read(folder / "raw.jsonl")
    array, target = pa.array(texts), pa.array(read(folder / "target.jsonl")[0])
    n_bytes, n = corpora.n_bytes(array), str(int(kinds.sum()))
    given = dict(zip(options[::2], options[1::2], strict=True))
    analyzer, bits = given.get("--analyzer", "universal"), int(given.get("--hash-bits", HASH_BITS))
    Ratio(analyzer, hash_bits=bits).learn_target(target).learn_raw(array[:1000]).scores(array[:1000])  # compiles

    def count() -> Ratio:
        return Ratio(analyzer, hash_bits=bits).learn_target(target).learn_raw(array)

    def run(*way: str) -> Path:
        out = folder / "out.jsonl"
        files = ["--target", str(folder / "target.jsonl"), "--raw", str(folder / "raw.jsonl"), "-o", str(out)]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            assert main(["filter", *files, *way, *options]) == 0, said.getvalue()
        return out

    ratio = count()
    row: Row = {"": name, "count": rate(n_bytes, count, repeats)}
    row["score"] = rate(n_bytes, lambda: ratio.scores(array), repeats)
    row["all"] = rate(n_bytes, lambda: run("--top", n), repeats)
    collisions = ratio.collisions()
    row |= best(kinds, ratio.scores(array)) | {"sample": precision([run("--sample", n)])}
    return row | {"shared": None if collisions is None else collisions.share}


# --- the others


def dsir(folder: Path) -> Row:
    """The package `data-selection`."""
    from data_selection import HashedNgramDSIR

    raw, target = str(folder / "raw.jsonl"), str(folder / "target.jsonl")
    texts, kinds = read(folder / "raw.jsonl")
    n_bytes, n = sum(len(text.encode()) for text in texts), int(kinds.sum())
    with contextlib.redirect_stderr(io.StringIO()):
        model = HashedNgramDSIR([raw], [target], str(folder / "cache"), num_proc=1)
        count = rate(n_bytes, model.fit_importance_estimator)
        score = rate(n_bytes, model.compute_importance_weights)
        write = rate(n_bytes, lambda: model.resample(str(folder / "top"), n, top_k=True))
        model.resample(str(folder / "quarter"), n // 4, top_k=True)
        model.resample(str(folder / "drawn"), n)
    return {
        "": "DSIR",
        "count": count,
        "score": score,
        "all": 1 / (1 / count + 1 / score + 1 / write),
        "P@N": precision((folder / "top").glob("*.jsonl")),
        "P@N/4": precision((folder / "quarter").glob("*.jsonl")),
        "sample": precision((folder / "drawn").glob("*.jsonl")),
    }


def fasttext(features: str, folder: Path, repeats: int) -> Row:
    """A classifier of target and raw."""
    peer = FastText(features)
    texts, kinds = read(folder / "raw.jsonl")
    target = read(folder / "target.jsonl")[0]
    rng = np.random.default_rng(0)
    others = [texts[k] for k in rng.permutation(len(texts))[: len(target)]]
    order = rng.permutation(2 * len(target))
    both, labels = [*target, *others], ["target"] * len(target) + ["raw"] * len(target)
    peer.prepare([both[k] for k in order], [labels[k] for k in order])
    peer.learn([], [])
    n_bytes = sum(len(text.encode()) for text in texts)
    score = rate(n_bytes, lambda: peer.predict(texts), repeats)
    answers, shares = peer.model.predict([text.translate(peer.spaces) for text in texts], k=2)
    wanted = f"__label__{peer.labels.index('target') + 1}"
    scores = [share[list(answer).index(wanted)] for answer, share in zip(answers, shares, strict=True)]
    name = f"fastText, {'1-2-grams' if features == 'words2' else 'words'}"
    return {"": name, "score": score} | best(kinds, np.array(scores))


def rows(folder: Path, only: str | None, repeats: int) -> Iterator[Row]:
    """A row for each way, as they are done."""
    for name, options in OURS.items():
        if only in (None, "bunrui"):
            yield stopwatch.isolated(bunrui, name, options, folder, repeats)
    for name, module, work, arguments in (
        ("fastText", "fasttext", fasttext, ("words", folder, repeats)),
        ("fastText", "fasttext", fasttext, ("words2", folder, repeats)),
        ("DSIR", "data_selection", dsir, (folder,)),
    ):
        if only not in (None, name):
            continue
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed: pip install -r benchmarks/requirements.txt", file=sys.stderr)
            continue
        yield stopwatch.isolated(work, *arguments)


COLUMNS = ("count", "score", "all", "P@N", "P@N/4", "sample", "shared")


def show(row: Row) -> None:
    """One line."""
    cells = []
    for name in COLUMNS:
        value = row.get(name)
        form = ".2f" if name in COLUMNS[:3] and (value or 0) < 10 else ".0f" if name in COLUMNS[:3] else ".3f"
        cells.append(f"{'' if value is None else format(value, form):>8}")
    print(f"{row['']:24}" + "".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=200, help="of raw")
    parser.add_argument("--target", type=int, default=5000, help="documents of the target")
    parser.add_argument("--only", choices=["bunrui", "fastText", "DSIR"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where the corpora are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        write_data(Path(scratch), options.megabytes, options.target, options.folder)
        if not options.json:
            print(" " * 24 + "".join(f"{name:>8}" for name in COLUMNS))
        found = stopwatch.collect(rows(Path(scratch), options.only, options.repeats), show, is_quiet=options.json)
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
