"""How much memory: learn a generated stream, then predict it, batch by batch.

    python benchmarks/memory.py [--megabytes 2000] [--analyzer words] [--json]

Reports the peak of resident memory, which must not grow with the stream but for the vocabulary, and the rate.
"""

from __future__ import annotations

import argparse
import json
import time

import corpora
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--analyzer", default="words")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = stopwatch.isolated(measure, options.megabytes, options.analyzer)
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name:16} {value:,.0f}")


if __name__ == "__main__":
    main()
