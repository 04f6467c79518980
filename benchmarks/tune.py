"""What `tune` finds from the training set alone: accuracy on the test set beside that of the defaults, and the time.

    python benchmarks/tune.py [--corpora sms_spam,20news] [--fast] [--json]

With --fast only the models that read counts; else both, one after the other.  The time is that of the search, after one
that is too short to find anything, which may compile.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import corpora

from bunrui import TextClassifier
from bunrui.selection import tune

CORPORA = ("sms_spam", "livedoor", "20news", "imdb", "ag_news", "thucnews", "nsmc")


def measure(name: str, *, fast: bool) -> dict[str, Any]:
    """Accuracy on the test set of the defaults and of what was chosen."""
    corpus = corpora.load(name)
    texts, labels = corpus.train["text"], corpus.train["label"].to_pylist()
    queries, truth = corpus.test["text"], corpus.test["label"].to_pylist()
    tune(texts, labels, budget=0.01)
    found = tune(texts, labels, fast=fast)
    return {
        "corpus": name,
        "defaults": TextClassifier().learn(texts, labels).score(queries, truth),
        "tuned": found.classifier().learn(texts, labels).score(queries, truth),
        "left out": found.value,
        "settings": found.settings.describe(),
        "tried": found.n_tried,
        "seconds": found.seconds,
        "heads": not fast,
    }


def report(row: dict[str, Any]) -> None:
    """A line on stdout."""
    figures = f"{row['defaults']:9.4f}{row['tuned']:8.4f}{row['left out']:10.4f}{row['tried']:7}{row['seconds']:8.1f} s"
    sys.stdout.write(f"{row['corpus']:10}{'heads' if row['heads'] else 'fast':6}{figures}  {row['settings']}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.json:
        sys.stdout.write("corpus           defaults   tuned  left out  tried     time  settings\n")
    rows = []
    for name in options.corpora.split(","):
        for fast in (True,) if options.fast else (True, False):
            rows.append(measure(name, fast=fast))
            if not options.json:
                report(rows[-1])
    if options.json:
        sys.stdout.write(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
