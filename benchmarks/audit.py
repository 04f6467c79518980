"""How many wrong labels `audit` finds: 5 of 100 training labels are changed at random (seeded), and looked for.

    python benchmarks/audit.py [--corpora 20news,reuters] [--changed 0.05] [--model NAME] [--json]

    recall @ s      share of the changed labels that are among the first s of the list
    precision @ s   share of the first s of the list whose labels were changed; the corpora have errors of their own,
                    which count against it

The list beside others: by P(given) alone, and by raw scores, which are neither calibrated nor for the length.
Of Reuters and GoEmotions, documents lose one of several labels, or get one more, as often as it occurs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import corpora
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bunrui import TextClassifier
from bunrui.calibration import lengths_of
from bunrui.evaluation.crossvalidation import score_left_out
from bunrui.selection import audit, fit_calibration

CORPORA = ("20news", "imdb", "sms_spam", "reuters", "goemotions")
SETS = ("reuters", "goemotions")
SHARES = (0.01, 0.03, 0.05)


def changed(labels: Any, share: float, seed: int) -> tuple[list[str], Any]:
    """Labels of which some are others, and whether each is."""
    rng = np.random.default_rng(seed)
    names, codes = np.unique(np.array(labels), return_inverse=True)
    is_changed = np.zeros(len(codes), bool)
    is_changed[rng.choice(len(codes), int(len(codes) * share), replace=False)] = True
    others = (codes + rng.integers(1, len(names), len(codes))) % len(names)
    return names[np.where(is_changed, others, codes)].tolist(), is_changed


def changed_sets(sets: list[list[str]], share: float, seed: int) -> tuple[list[list[str]], Any]:
    """Sets of labels of which some have one label more or less, and whether each has."""
    rng = np.random.default_rng(seed)
    every = [label for labels in sets for label in labels]
    found, is_changed = [list(labels) for labels in sets], np.zeros(len(sets), bool)
    for row in rng.choice(len(sets), int(len(sets) * share), replace=False).tolist():
        other = every[rng.integers(len(every))]
        if len(found[row]) > 1 and rng.random() < 0.7:
            found[row].remove(rng.choice(found[row]))
        elif other not in found[row]:
            found[row].append(other)
        is_changed[row] = found[row] != sets[row]
    return found, is_changed


def orders(texts: Any, labels: list[Any], model: str) -> dict[str, Any]:
    """Lists of all documents, the most suspicious first."""
    documents, scores = score_left_out(TextClassifier(model), texts, labels)
    lengths, has = lengths_of(texts), documents.own
    shares = fit_calibration(scores, lengths, has).apply(scores, lengths)
    own = np.where(has, scores, -np.inf).max(axis=1)
    return {
        "P(given)": np.argsort(np.where(has, shares, 0).sum(axis=1), kind="stable"),
        "raw scores": np.argsort(own - scores.max(axis=1), kind="stable"),
    }


def measure(name: str, share_changed: float, model: str) -> list[dict[str, Any]]:
    """A row for each list."""
    train = pq.read_table(corpora.data_folder() / name / "train.parquet") if name in SETS else corpora.load(name).train
    train = train.filter(pc.greater(pc.list_value_length(train["label"]), 0)) if name in SETS else train
    texts, given = train["text"], train["label"].to_pylist()
    change = changed if isinstance(given[0], str) else changed_sets
    labels, is_changed = change(given, share_changed, seed=0)
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
            sys.stdout.write(f"{'corpus':12}{'list':12}" + "".join(f"{key:>16}" for key in columns) + "   seconds\n")
        found += rows
        for row in rows if not options.json else ():
            numbers = "".join(f"{row[key]:16.3f}" for key in row if "@" in key)
            seconds = "" if row["seconds"] is None else f"{row['seconds']:10.1f}"
            sys.stdout.write(f"{row['corpus']:12}{row['list']:12}{numbers}{seconds}\n")
        sys.stdout.flush()
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
