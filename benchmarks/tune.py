"""What `tune` finds from the training set alone, on the test set, beside the defaults and the best member; the time.

    python benchmarks/tune.py [--corpora sms_spam,20news] [--fast] [--best] [--json]

With --fast only the models that read counts; else both, one after the other.  The time is that of the search, after one
that is too short to find anything, which may compile.

    won, lost   documents of the test set that only the tuned classifier gets right, and only the defaults
    p           of these being a matter of chance (McNemar)
    best        with --best, the best member of the family with its own defaults (every model and analyzer of
                `compare`), chosen on the test set itself: what nobody can know beforehand
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import corpora
import numpy as np

from bunrui import TextClassifier
from bunrui.evaluation import mcnemar
from bunrui.models import MODELS
from bunrui.selection import compare, tune

HEAD = "corpus                 defaults   tuned   won  lost       p    best  left out  tried     time  settings\n"


def best_member(corpus: corpora.Corpus, *, fast: bool) -> dict[str, Any]:
    """The first of `compare` on the test set."""
    train, test = corpus.train, corpus.test
    models = MODELS if fast else None
    found = compare(train["text"], train["label"], test=(test["text"], test["label"]), models=models).rows[0]
    return {"best": found.metrics.accuracy, "best member": f"{found.model}, {found.features}"}


def measure(name: str, *, fast: bool, best: bool) -> dict[str, Any]:
    """Accuracy on the test set of the defaults and of what was chosen."""
    corpus = corpora.load(name)
    texts, labels = corpus.train["text"], corpus.train["label"].to_pylist()
    queries, truth = corpus.test["text"], np.array(corpus.test["label"].to_pylist())
    tune(texts, labels, budget=0.01)
    found = tune(texts, labels, fast=fast)
    right = TextClassifier().learn(texts, labels).predict(queries) == truth
    right_tuned = found.classifier().learn(texts, labels).predict(queries) == truth
    against = mcnemar(right_tuned, right)
    return {
        "corpus": name,
        "defaults": float(right.mean()),
        "tuned": float(right_tuned.mean()),
        "won": against.only_first,
        "lost": against.only_second,
        "p": against.p,
        "left out": found.value,
        "settings": found.settings.describe(),
        "tried": found.n_tried,
        "seconds": found.seconds,
        "heads": not fast,
        **(best_member(corpus, fast=fast) if best else {}),
    }


def report(row: dict[str, Any]) -> None:
    """A line on stdout."""
    best = f"{row['best']:8.4f}" if "best" in row else f"{'':8}"
    figures = f"{row['defaults']:9.4f}{row['tuned']:8.4f}{row['won']:6}{row['lost']:6}{row['p']:8.4f}{best}"
    search = f"{row['left out']:10.4f}{row['tried']:7}{row['seconds']:8.1f} s"
    member = f" (best: {row['best member']})" if "best" in row else ""
    start = f"{row['corpus']:16}{'heads' if row['heads'] else 'fast':6}"
    sys.stdout.write(f"{start}{figures}{search}  {row['settings']}{member}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(corpora.CORPORA))
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.json:
        sys.stdout.write(HEAD)
    rows = []
    for name in options.corpora.split(","):
        for fast in (True,) if options.fast else (True, False):
            rows.append(measure(name, fast=fast, best=options.best))
            if not options.json:
                report(rows[-1])
    if options.json:
        sys.stdout.write(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
