"""The trained heads on real corpora: accuracy with one set of defaults, and the time from texts to a trained head.

    python benchmarks/heads.py [--corpora 20news,imdb] [--peer 20news] [--repeats 3] [--json]

Features are those of `AnalyzerSpec()`, heads have the defaults of `NBSVM` and `NBAROW`.  The peer is scikit-learn's
`TfidfVectorizer` with `LinearSVC`, on words 1–2, or on characters for texts without spaces; it reads in one thread,
where `TextVectorizer` takes all that there are.  Times are the best of so many runs (of the peer, of two at most),
after one that may compile.  Accuracy is that on the test set.
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
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

from bunrui import AnalyzerSpec
from bunrui.estimators import NBAROW, NBSVM, TextVectorizer

CORPORA = ("livedoor", "20news", "imdb", "nsmc", "thucnews", "ag_news")
WORDS: dict[str, Any] = {"token_pattern": r"\w+", "ngram_range": (1, 2)}
CHARACTERS: dict[str, Any] = {"analyzer": "char", "ngram_range": (1, 3)}
PEER_FEATURES = {"livedoor": CHARACTERS, "thucnews": CHARACTERS, "nsmc": {"analyzer": "char", "ngram_range": (1, 4)}}


def heads() -> dict[str, Pipeline]:
    """Ours, with their defaults."""
    return {
        "NBSVM": make_pipeline(TextVectorizer(analyzer=AnalyzerSpec()), NBSVM()),
        "NBAROW": make_pipeline(TextVectorizer(analyzer=AnalyzerSpec()), NBAROW()),
    }


def peer(corpus: str) -> Pipeline:
    """scikit-learn's, on the features that come nearest."""
    return make_pipeline(TfidfVectorizer(**PEER_FEATURES.get(corpus, WORDS)), LinearSVC())


def best_time(action: Callable[[], Any], repeats: int) -> float:
    """The least seconds of some runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def measure(name: str, with_peer: bool, repeats: int) -> list[dict[str, Any]]:
    """A row for each head, and for the peer."""
    corpus = corpora.load(name)
    texts, queries = corpus.train["text"].to_pylist(), corpus.test["text"].to_pylist()
    labels, truth = (np.array(part["label"].to_pylist()) for part in (corpus.train, corpus.test))
    rows = []
    for head, pipe in heads().items():
        pipe.fit(texts, labels)  # compiles, where that is needed
        seconds = best_time(lambda pipe=pipe: pipe.fit(texts, labels), repeats)
        X = pipe[0].transform(texts)
        alone = best_time(lambda pipe=pipe, X=X: pipe[1].fit(X, labels), repeats)
        accuracy = float(np.mean(pipe.predict(queries) == truth))
        row = {"corpus": name, "head": head, "accuracy": accuracy, "seconds": seconds, "head alone": alone}
        rows.append(row | {"features": X.shape[1], "rows": X.shape[0]})
        del X
    if with_peer:
        pipe = peer(name)
        seconds = best_time(lambda: pipe.fit(texts, labels), min(repeats, 2))
        accuracy = float(np.mean(pipe.predict(queries) == truth))
        for row in rows:
            row["times faster"] = seconds / row["seconds"]
        columns = len(pipe[0].vocabulary_)
        rows.append({"corpus": name, "head": "TF-IDF LinearSVC", "accuracy": accuracy, "seconds": seconds})
        rows[-1] |= {"features": columns, "rows": len(texts)}
    return rows


def report(rows: list[dict[str, Any]]) -> None:
    """Rows as a table on stdout."""
    for row in rows:
        alone = f"{row['head alone']:8.2f} s" if "head alone" in row else " " * 10
        ratio = f"{row['times faster']:8.1f}×" if "times faster" in row else " " * 9
        size = f"{row['features'] / 1e6:8.2f} M features"
        line = f"{row['corpus']:10}{row['head']:18}{row['accuracy']:8.4f}{row['seconds']:9.2f} s{alone}{ratio}{size}"
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--peer", default="20news", help="the corpora on which scikit-learn runs too, or 'none'")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = []
    if not options.json:
        sys.stdout.write("corpus    head              accuracy  texts → head head alone   faster\n")
    for name in options.corpora.split(","):
        rows = measure(name, name in options.peer.split(","), options.repeats)
        found += rows
        if not options.json:
            report(rows)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
