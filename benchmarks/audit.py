"""How many wrong labels `audit` finds: 5 of 100 training labels are changed at random (seeded), and looked for.

    python benchmarks/audit.py [--corpora 20news,imdb,sms_spam] [--changed 0.05] [--model NAME] [--json]

    recall @ s      share of the changed labels that are among the first s of the list
    precision @ s   share of the first s of the list whose labels were changed; the corpora have errors of their own,
                    which count against it

The list beside others: by P(given) alone, and by raw scores, which are neither calibrated nor for the length.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import corpora
import numpy as np

from bunrui import TextClassifier
from bunrui.calibration import lengths_of
from bunrui.evaluation.crossvalidation import score_left_out
from bunrui.selection import audit, fit_calibration

CORPORA = ("20news", "imdb", "sms_spam")
SHARES = (0.01, 0.03, 0.05)


def changed(labels: Any, share: float, seed: int) -> tuple[list[str], Any]:
    """Labels of which some are others, and whether each is."""
    rng = np.random.default_rng(seed)
    names, codes = np.unique(np.array(labels), return_inverse=True)
    is_changed = np.zeros(len(codes), bool)
    is_changed[rng.choice(len(codes), int(len(codes) * share), replace=False)] = True
    others = (codes + rng.integers(1, len(names), len(codes))) % len(names)
    return names[np.where(is_changed, others, codes)].tolist(), is_changed


def orders(texts: Any, labels: list[str], model: str) -> dict[str, Any]:
    """Lists of all documents, the most suspicious first."""
    found = score_left_out(TextClassifier(model), texts, labels)
    rows, own = np.arange(len(labels)), found.own.argmax(axis=1)
    lengths = lengths_of(texts)
    shares = fit_calibration(found.scores, lengths, found.own).apply(found.scores, lengths)
    return {
        "P(given)": np.argsort(shares[rows, own], kind="stable"),
        "raw scores": np.argsort(found.scores[rows, own] - found.scores.max(axis=1), kind="stable"),
    }


def measure(name: str, share_changed: float, model: str) -> list[dict[str, Any]]:
    """A row for each list."""
    corpus = corpora.load(name)
    texts = corpus.train["text"]
    labels, is_changed = changed(corpus.train["label"].to_pylist(), share_changed, seed=0)
    score_left_out(TextClassifier(model), texts[:200], labels[:200])  # compiles, where that is needed
    started = time.perf_counter()
    found = audit(TextClassifier(model), texts, labels)
    seconds = time.perf_counter() - started
    rows = []
    for what, order in {"audit": found.order, **orders(texts, labels, model)}.items():
        row: dict[str, Any] = {"corpus": name, "list": what, "seconds": seconds if what == "audit" else None}
        for share in SHARES:
            hits = is_changed[order[: int(len(order) * share)]]
            row[f"recall @ {share:.0%}"] = float(hits.sum() / is_changed.sum())
            row[f"precision @ {share:.0%}"] = float(hits.mean())
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--changed", type=float, default=0.05)
    parser.add_argument("--model", default=TextClassifier().model)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = []
    for name in options.corpora.split(","):
        rows = measure(name, options.changed, options.model)
        if not found and not options.json:
            columns = [key for key in rows[0] if "@" in key]
            sys.stdout.write(f"{'corpus':10}{'list':12}" + "".join(f"{key:>16}" for key in columns) + "   seconds\n")
        found += rows
        for row in rows if not options.json else ():
            numbers = "".join(f"{row[key]:16.3f}" for key in row if "@" in key)
            seconds = "" if row["seconds"] is None else f"{row['seconds']:10.1f}"
            sys.stdout.write(f"{row['corpus']:10}{row['list']:12}{numbers}{seconds}\n")
        sys.stdout.flush()
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
