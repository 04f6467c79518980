"""Exact leave-one-out beside prediction: how many passes over the texts it costs, and what refitting would take.

    python benchmarks/loo.py [--corpora 20news,imdb] [--analyzer words] [--models binary,wcnb] [--repeats 5] [--json]

All on the training set, times are the best of so many runs after one that may compile.

    predict   TextClassifier.predict of all texts, by a classifier that has made its table of weights
    once      the texts are read for good: counted, and kept as ids (`Corpus`); the same for all models
    pass      scores of all documents, each without itself (`Corpus.scores`)
    whole     leave_one_out from texts to metrics: all of it
    fit       learning the texts and predicting them, from texts to labels: what says nothing about new documents
    refits    n times learn and predict, from three of them
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import corpora
import numpy as np

from bunrui import TextClassifier
from bunrui.evaluation import Corpus, leave_one_out
from bunrui.models import MODELS

HEAD = (
    "corpus    model               accuracy   predict      once"
    "      pass ÷ predict     whole ÷ predict  ÷ fit  refits\n"
)


def best_time(action: Callable[[], Any], repeats: int) -> float:
    """The least seconds of some runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def refit_time(options: dict[str, Any], texts: Any, labels: Any) -> float:
    """Seconds of learning all documents but one, and scoring that one, from three of them."""
    n = len(texts)

    def refit(row: int) -> None:
        others = np.delete(np.arange(n), row)
        clf = TextClassifier(**options).learn(texts.take(others), labels.take(others))
        clf.scores([texts[row].as_py()])

    return best_time(lambda: [refit(row) for row in (0, n // 2, n - 1)], 1) / 3


def _fit(clf: TextClassifier, texts: Any, labels: Any) -> None:
    TextClassifier(**clf.get_params()).learn(texts, labels).predict(texts)


def measure(name: str, analyzer: str, models: list[str], repeats: int) -> list[dict[str, Any]]:
    """A row for each model."""
    train = corpora.load(name).train
    texts, labels = train["text"].chunk(0), train["label"].chunk(0)
    learned = TextClassifier(analyzer=analyzer).learn(texts, labels)
    corpus = Corpus(learned, texts, labels)
    once = best_time(lambda: Corpus(learned, texts, labels), repeats)
    rows = []
    for model in models:
        clf = learned.with_model(model)
        accuracy = corpus.evaluate(model).metrics.accuracy
        clf.predict(texts)
        row: dict[str, Any] = {"corpus": name, "analyzer": analyzer, "model": model, "accuracy": accuracy, "once": once}
        row["predict"] = best_time(lambda clf=clf: clf.predict(texts), repeats)
        row["pass"] = best_time(lambda model=model: corpus.scores(model), repeats)
        row["whole"] = best_time(lambda clf=clf: leave_one_out(clf, texts, labels), repeats)
        row["fit"] = best_time(lambda clf=clf: _fit(clf, texts, labels), repeats)
        row["refits"] = len(texts) * refit_time({"model": model, "analyzer": analyzer}, texts, labels)
        rows.append(row)
    return rows


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    ratios = [f"{row[name] * 1e3:7.0f} ms{row[name] / row['predict']:7.2f}×" for name in ("pass", "whole")]
    start = f"{row['corpus']:10}{row['model']:20}{row['accuracy']:8.4f}{row['predict'] * 1e3:7.0f} ms"
    end = f"{row['whole'] / row['fit']:6.2f}×{row['refits']:6.0f} s\n"
    return f"{start}{row['once'] * 1e3:7.0f} ms{'  '.join(ratios)}{end}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default="20news,imdb")
    parser.add_argument("--analyzer", default="words")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = []
    if not options.json:
        sys.stdout.write(HEAD)
    for name in options.corpora.split(","):
        rows = measure(name, options.analyzer, options.models.split(","), options.repeats)
        found += rows
        if not options.json:
            sys.stdout.writelines(map(line, rows))
            sys.stdout.flush()
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
