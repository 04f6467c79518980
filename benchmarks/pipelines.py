"""datatrove with its fastText filter and with ours: documents a second, and accuracy.

    python benchmarks/pipelines.py [--corpora imdb,20news] [--repeats 3] [--folder DATA] [--json]

A pipeline reads the test set as JSON lines, and a filter adds the scores of all labels: one task, in one process, with
one thread.  Documents a second are of processor time, and by the clock; what starting the pipeline and loading the
model take, that is a run with one document, is subtracted.  `reading alone` has no filter.

fastText is trained with its defaults, and with the settings of its own example (learning rate 1, 25 epochs); its filter
gets spaces for line breaks, not nothing, as is its default.  bunrui learns with its defaults, and as nbsvm.  Without
the corpora, the demonstration corpus is read, 100 times: there only speed means something.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import corpora
import pyarrow as pa
import stopwatch
from peers import FastText, FastTextLonger

from bunrui import data, store

COLUMNS = ("documents/s of a core", "documents/s by the clock", "accuracy")
Row = dict[str, Any]


def load(name: str, folder: str | None) -> corpora.Corpus:
    """A corpus, or the demonstration."""
    try:
        return corpora.load(name, folder)
    except FileNotFoundError as error:
        print(f"{error}\nThe demonstration corpus is read instead.", file=sys.stderr)
        rows = pa.Table.from_pylist(data.read("demo")).select(["label", "text"])
        train, test = rows.slice(0, 300), pa.concat_tables([rows.slice(300)] * 100)
        return corpora.Corpus("demo", train, test, corpora.HELD_OUT)


def learn_fasttext(peer: type[FastText], corpus: corpora.Corpus, path: Path) -> list[str]:
    """Write a model; its labels are numbers, and these are their names."""
    found = peer("words")
    found.prepare(corpus.train["text"].to_pylist(), corpus.train["label"].to_pylist())
    for _ in range(1000):
        with suppress(RuntimeError):  # its wheel for NumPy 2 tells of NaN in some runs, whatever the file
            found.learn([], [])
            found.model.save_model(str(path))
            return found.labels
    raise RuntimeError("fastText cannot be trained")


def learn_bunrui(model: str, corpus: corpora.Corpus, path: Path) -> None:
    """Write a classifier."""
    with store.create(path, model=model) as classifier:
        classifier.learn(corpus.train["text"], corpus.train["label"])


def measure(make: Callable[[], list[Any]], folder: Path, names: list[str] | None, repeats: int) -> Row:
    """Run a pipeline with some steps behind its reader."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from loguru import logger

    logger.disable("datatrove")
    best: dict[int, tuple[float, float]] = {}
    found: list[dict[str, Any]] = []
    for turn, limit in enumerate([1, *(1, -1) * repeats]):
        found.clear()

        def keep(documents: Any, rank: int = 0, world_size: int = 1) -> Any:
            for document in documents:
                found.append(document.metadata)
                yield document

        pipeline = [JsonlReader(str(folder / "test"), limit=limit, doc_progress=False), *make(), keep]
        executor = LocalPipelineExecutor(pipeline, logging_dir=tempfile.mkdtemp(dir=folder), workers=1)
        clock, processor = time.perf_counter(), time.process_time()
        executor.run()
        spent = time.process_time() - processor, time.perf_counter() - clock
        if turn:  # the first one imports what others find there
            best[limit] = min(best.get(limit, spent), spent)
    rates = [round(len(found) / (whole - start)) for whole, start in zip(best[-1], best[1], strict=True)]
    return dict(zip(COLUMNS, [*rates, _accuracy(found, names)], strict=True))


def _accuracy(found: list[dict[str, Any]], names: list[str] | None) -> float | None:
    right = 0
    for metadata in found:
        scores = {key.removeprefix("__label__"): score for key, score in metadata.items() if key[:9] == "__label__"}
        label = max(scores, key=scores.__getitem__) if scores else metadata.get("predicted")
        if label is None:
            return None
        right += (names[int(label) - 1] if names else label) == metadata["label"]
    return right / len(found)


def with_fasttext(path: str, folder: Path, names: list[str], repeats: int) -> Row:
    """datatrove's own filter."""
    os.environ["HF_ASSETS_CACHE"] = str(folder / "cache")  # where the filter copies its model
    from datatrove.pipeline.filters import FastTextClassifierFilter

    # Not None for both: the filter cannot add them up.
    nothing: Any = {"keep_labels": [], "remove_labels": []}
    return measure(lambda: [FastTextClassifierFilter(path, newline_replacement=" ", **nothing)], folder, names, repeats)


def with_bunrui(path: str, folder: Path, step: str, repeats: int) -> Row:
    """A step of ours, or none."""
    os.environ["BUNRUI_THREADS"] = "1"
    from bunrui.integrations import datatrove as ours

    return measure(lambda: [getattr(ours, step)(path)] if step else [], folder, None, repeats)


def rows(corpus: corpora.Corpus, folder: Path, repeats: int) -> Iterator[Row]:
    """A row for each step, as they are done."""
    (folder / "test").mkdir()
    with open(folder / "test" / "test.jsonl", "w", encoding="utf-8") as file:
        for row in corpus.test.to_pylist():
            file.write(json.dumps(row) + "\n")
    yield {"": "reading alone"} | stopwatch.isolated(with_bunrui, "", folder, "", repeats)
    is_there = importlib.util.find_spec(FastText.module) is not None
    if not is_there:
        print("fastText is not installed: pip install -r benchmarks/requirements.txt", file=sys.stderr)
    for peer in (FastText, FastTextLonger) if is_there else ():
        path = folder / f"{peer.__name__}.bin"
        names = learn_fasttext(peer, corpus, path)
        yield {"": peer.name} | stopwatch.isolated(with_fasttext, str(path), folder, names, repeats)
    for model in ("auto", "nbsvm"):
        path = folder / f"{model}.bunrui"
        learn_bunrui(model, corpus, path)
        for step, kind in (("BunruiClassifierFilter", ""), ("BunruiLabeller", ", labeller")):
            name = f"bunrui, {model}{kind}"
            yield {"": name} | stopwatch.isolated(with_bunrui, str(path), folder, step, repeats)


def show(row: Row) -> None:
    """One line."""
    core, clock, accuracy = (row[column] for column in COLUMNS)
    print(f"{row['']:30}{core:26,}{clock:26,}{'' if accuracy is None else f'{accuracy:.3f}':>26}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default="imdb,20news", help="names, with commas between them")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where the corpora are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: dict[str, list[Row]] = {}
    for name in options.corpora.split(","):
        corpus = load(name, options.folder)
        if corpus.name in report:
            continue
        if not options.json:
            n_bytes = corpora.n_bytes(corpus.test) / corpus.test.num_rows
            print(f"{corpus.name}: {corpus.test.num_rows:,} documents of {n_bytes:,.0f} bytes")
            print(" " * 30 + "".join(f"{column:>26}" for column in COLUMNS), flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            found = rows(corpus, Path(scratch), options.repeats)
            report[corpus.name] = stopwatch.collect(found, show, is_quiet=options.json)
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
