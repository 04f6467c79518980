"""How much memory: learn a generated stream, then predict it, batch by batch; or learn a corpus at once.

    python benchmarks/memory.py [--megabytes 2000] [--analyzer words] [--json]
    python benchmarks/memory.py --corpus imdb [--analyzer universal] [--json]

Of a stream, reports the peak of resident memory, which must not grow with it but for the vocabulary, and the rate.
Of a corpus, reports what learning takes above importing bunrui: the text and labels in memory, and what the peak is
above the process before it learns.  What reading the corpus took is not in it.
"""

from __future__ import annotations

import argparse
import json
import time

import corpora
import pyarrow as pa
import stopwatch

from bunrui import TextClassifier


def measure(megabytes: int, analyzer: str = "words") -> dict[str, float]:
    """Learn and predict a stream of so many megabytes; peaks in MB."""
    clf = TextClassifier(analyzer=analyzer)
    report: dict[str, float] = {}
    for task in ("learn", "predict"):
        stopwatch.reset_peak_rss()
        busy = 0.0
        n_bytes = 0
        for batch in corpora.stream(megabytes):
            started = time.perf_counter()
            if task == "learn":
                clf.learn(batch["text"], batch["label"])
            else:
                clf.predict(batch["text"])
            busy += time.perf_counter() - started
            n_bytes += corpora.n_bytes(batch["text"])
        report |= {f"{task} peak MB": stopwatch.peak_rss() / 1e6, f"{task} MB/s": n_bytes / busy / 1e6}
    return report | {"megabytes": n_bytes / 1e6, "features": clf.counts.n_features, "documents": clf.counts.n_docs}


def learning(corpus: str, analyzer: str, folder: str | None = None) -> dict[str, float]:
    """Learn a corpus at once; MB above what was there after importing."""
    train = corpora.load(corpus, folder).train
    pa.default_memory_pool().release_unused()  # what reading took would be there for learning
    stopwatch.reset_peak_rss()
    loaded = stopwatch.peak_rss()
    clf = TextClassifier(analyzer=analyzer).learn(train["text"], train["label"])
    learned = stopwatch.peak_rss() - loaded
    return {
        "text MB": train.nbytes / 1e6,
        "learning MB": learned / 1e6,
        "above import MB": (train.nbytes + learned) / 1e6,
        "features": clf.counts.n_features,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--corpus", help="learn this one instead of a stream")
    parser.add_argument("--analyzer", help="words for a stream, else the default")
    parser.add_argument("--folder", help="where the corpora are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.corpus:
        report = stopwatch.isolated(learning, options.corpus, options.analyzer or "universal", options.folder)
    else:
        report = stopwatch.isolated(measure, options.megabytes, options.analyzer or "words")
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name:18} {value:,.0f}")


if __name__ == "__main__":
    main()
