"""Choose the defaults of `TextClassifier`: analyzers × models × λ on real corpora.

    python benchmarks/defaults.py [--corpora imdb,nsmc] [--json]

Choices are made on a fifth of each training set that is held out (seed 0); the test sets are scored once, for the
report.  Each line also has the number of features and the speed of learning, because a default pays for both.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import corpora
import numpy as np

from bunrui import AnalyzerSpec, TextClassifier
from bunrui.models import MODELS

CORPORA = ("20news", "imdb", "ag_news", "sms_spam", "twitter_samples", "enron_spam", "livedoor", "thucnews", "nsmc")

SPECS = {
    "default": AnalyzerSpec(),
    "no punctuation": AnalyzerSpec(punctuation=False),
    "words 1": AnalyzerSpec(words=1),
    "words 1-3": AnalyzerSpec(words=3),
    "inside": AnalyzerSpec(across=False),
    "kana, han 2-3; hangul 2-3": AnalyzerSpec(kana_han=(2, 3), hangul=(2, 3)),
    "kana, han 1-2; hangul 1-3": AnalyzerSpec(kana_han=(1, 2), hangul=(1, 3)),
    "kana, han 1-4; hangul 1-5": AnalyzerSpec(kana_han=(1, 4), hangul=(1, 5)),
    **{f"hash {bits}": AnalyzerSpec(hash_bits=bits) for bits in (22, 20, 18, 16)},
}
ALPHAS = (0.03, 0.1, 0.3, 1.0)


def measure(name: str, spec: AnalyzerSpec, models: tuple[str, ...], alphas: tuple[float, ...]) -> list[dict[str, Any]]:
    """Accuracy on the held-out fifth and on the test set, for every model and λ."""
    corpus = corpora.load(name)
    order = np.random.default_rng(0).permutation(corpus.train.num_rows)
    held, kept = order[: len(order) // 5], order[len(order) // 5 :]
    TextClassifier(analyzer=spec).learn(corpus.train["text"], corpus.train["label"])  # compiles, where that is needed
    part = TextClassifier(analyzer=spec)
    started = time.perf_counter()
    part.learn(corpus.train["text"].take(kept), corpus.train["label"].take(kept))
    seconds = time.perf_counter() - started
    n_bytes = sum(len(text.as_py().encode()) for text in corpus.train["text"].take(kept))
    whole = TextClassifier(analyzer=spec).learn(corpus.train["text"], corpus.train["label"])
    rows = []
    for model in models:
        for alpha in alphas:
            accuracy = {
                "held out": (part, corpus.train["text"].take(held), corpus.train["label"].take(held)),
                "test": (whole, corpus.test["text"], corpus.test["label"]),
            }
            row: dict[str, Any] = {"corpus": name, "model": model, "alpha": alpha}
            for where, (clf, texts, labels) in accuracy.items():
                row[where] = clf.with_model(model, alpha=alpha).score(texts, np.array(labels.to_pylist()))
            if model == "binary-complement":
                row["with prior"] = with_prior(part.with_model(model, alpha=alpha), *accuracy["held out"][1:])
            rows.append(row | {"features": whole.counts.n_features, "MB/s": n_bytes / seconds / 1e6})
    return rows


def with_prior(clf: TextClassifier, texts: Any, labels: Any) -> float:
    """Accuracy of a complement model to whose scores the log priors of the classes are added."""
    docs = np.array([clf.counts.doc_count[clf.counts.label_ids[label]] for label in clf.classes_])
    scores = clf.scores(texts) + np.log(docs / docs.sum())
    return float(np.mean(clf.classes_[scores.argmax(axis=1)] == np.array(labels.to_pylist())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--specs", default="default", help=f"with ; between them: {'; '.join(SPECS)}, or 'all'")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = list(SPECS) if options.specs == "all" else options.specs.split(";")
    rows = []
    for spec in names:
        # All models for the default analyzer; for its rivals the best model alone.
        models = tuple(MODELS) if spec == "default" else ("binary-complement",)
        alphas = ALPHAS if spec == "default" else (0.3,)
        for corpus in options.corpora.split(","):
            rows += [row | {"analyzer": spec} for row in measure(corpus, SPECS[spec], models, alphas)]
    if options.json:
        print(json.dumps(rows))
        return
    for spec in names:
        report(spec, [row for row in rows if row["analyzer"] == spec], options.corpora.split(","))


def report(spec: str, rows: list[dict[str, Any]], names: list[str]) -> None:
    """A table: a line for each model and λ, a column for each corpus, held out / test."""
    print(f"\n{spec}")
    print("model, λ".ljust(26) + "mean".rjust(8) + "".join(name[:12].rjust(14) for name in names))
    for model, alpha in dict.fromkeys((row["model"], row["alpha"]) for row in rows):
        mine = {row["corpus"]: row for row in rows if (row["model"], row["alpha"]) == (model, alpha)}
        mean = np.mean([row["held out"] for row in mine.values()])
        cells = "".join(f"{mine[name]['held out']:.4f}/{mine[name]['test']:.4f}".rjust(14) for name in names)
        print(f"{model}, {alpha}".ljust(26) + f"{mean:8.4f}" + cells)
    for alpha in dict.fromkeys(row["alpha"] for row in rows if "with prior" in row):
        mine = {row["corpus"]: row["with prior"] for row in rows if row["alpha"] == alpha and "with prior" in row}
        cells = "".join(f"{mine[name]:.4f}/      ".rjust(14) for name in names)
        print(f"… with prior, {alpha}".ljust(26) + f"{np.mean(list(mine.values())):8.4f}" + cells)
    sizes = {row["corpus"]: (row["features"], row["MB/s"]) for row in rows}
    print("features, MB/s".ljust(34) + "".join(f"{f / 1e6:.2f} M, {s:.0f}".rjust(14) for f, s in sizes.values()))


if __name__ == "__main__":
    main()
