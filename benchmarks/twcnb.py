"""The five steps of TWCNB one by one, and the two options of the multinomial: accuracy and macro-F1.

    python benchmarks/twcnb.py [--corpora 20news,livedoor,r8] [--alpha 1,0.1] [--held-out] [--json]

    20news     20 Newsgroups, bydate
    livedoor   Japanese news, 80/20, default_rng(0).permutation
    r8         Reuters-21578, ModApte: the documents with exactly one topic, of the eight in `R8`

Rows: multinomial naive Bayes, each step of Rennie et al. (2003) alone, all five, all but one; then `MultinomialNB` with
`against_rest`, and with `class_norm`, whose λ is of another size and has rows of its own.  As in the article there is
no class prior, except in the rows of `MultinomialNB`, and rows to predict are raw counts, but where the row says so.

Texts are read by `TextVectorizer`, no word left out: English by the analyzer `words`, Japanese by `AnalyzerSpec()`.
Scores are those on the test sets; with `--held-out` on a fifth of the training sets (seed 0), to choose by.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import corpora
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from reproduction.splits import Task
from rich.console import Console
from rich.table import Table

from bunrui import AnalyzerSpec, ComplementNB, MultinomialNB, TextVectorizer
from bunrui.evaluation import measure

CORPORA = ("20news", "livedoor", "r8")
R8 = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
STEPS = {
    "log_tf": "log TF",
    "idf": "IDF",
    "length_norm": "length norm",
    "complement": "complement",
    "norm": "weight norm",
}
# Of shares in place of counts.
CLASS_NORM_ALPHAS = (1.0, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

Options = dict[str, Any]


def load(name: str, held_out: bool) -> Task:
    """A corpus as matrices."""
    train, test = _r8() if name == "r8" else (lambda c: (c.train, c.test))(corpora.load(name))
    if held_out:
        order = np.random.default_rng(corpora.SEED).permutation(train.num_rows)
        train, test = train.take(order[len(order) // 5 :]), train.take(order[: len(order) // 5])
    vectorizer = TextVectorizer(analyzer=AnalyzerSpec() if name == "livedoor" else "words")
    X, Q = vectorizer.fit_transform(train["text"]), vectorizer.transform(test["text"])
    return Task(X, np.array(train["label"].to_pylist()), Q, np.array(test["label"].to_pylist()))


def _r8() -> tuple[pa.Table, pa.Table]:
    parts = []
    for part in ("train", "test"):
        table = pq.read_table(corpora.data_folder() / "reuters" / f"{part}.parquet", columns=["label", "text"])
        topics = table["label"].to_pylist()
        chosen = [k for k, its in enumerate(topics) if len(its) == 1 and its[0] in R8]
        parts.append(pa.table({"label": [topics[k][0] for k in chosen], "text": table["text"].take(chosen)}))
    return parts[0], parts[1]


def settings(alphas: list[float]) -> Iterator[tuple[str, str, float, Any]]:
    """Group, name, λ and estimator of every row."""
    for alpha in alphas:
        off, on = dict.fromkeys(STEPS, False), dict.fromkeys(STEPS, True)
        group = f"steps, {alpha:g}"
        yield group, "MNB", alpha, ComplementNB(alpha=alpha, **off)
        for step, name in STEPS.items():
            yield group, f"+ {name}", alpha, ComplementNB(alpha=alpha, **(off | {step: True}))
        yield group, "all five (TWCNB)", alpha, ComplementNB(alpha=alpha, **on)
        yield group, "… to predict too", alpha, ComplementNB(alpha=alpha, **on, transform_queries=True)
        for step, name in STEPS.items():
            yield group, f"all but {name}", alpha, ComplementNB(alpha=alpha, **(on | {step: False}))
    for alpha in alphas:
        yield "options", "MultinomialNB", alpha, MultinomialNB(alpha=alpha)
        yield "options", "against_rest", alpha, MultinomialNB(alpha=alpha, against_rest=True)
    for name, more in (("class_norm", {}), ("class_norm, against_rest", {"against_rest": True})):
        for alpha in CLASS_NORM_ALPHAS:
            yield name, name, alpha, MultinomialNB(alpha=alpha, class_norm=True, **more)


def run(names: list[str], alphas: list[float], held_out: bool) -> list[Options]:
    """A row for each setting, with the figures of all corpora."""
    rows = [{"group": group, "model": name, "alpha": alpha} for group, name, alpha, _ in settings(alphas)]
    for corpus in names:
        task = load(corpus, held_out)
        for row, (*_, clf) in zip(rows, settings(alphas), strict=True):
            found = measure(task.truth.tolist(), clf.fit(task.X, task.y).predict(task.Q).tolist())
            row[corpus] = {"accuracy": found.accuracy, "macro_f1": found.macro.f1}
            row[corpus] |= {"rows": task.X.shape[0], "queries": task.Q.shape[0], "features": task.X.shape[1]}
    return rows


def show(rows: list[Options], names: list[str], held_out: bool) -> None:
    """A table on stdout, a rule between one group and the next."""
    sizes = (
        f"{name}: {rows[0][name]['rows']:,} documents to learn, {rows[0][name]['queries']:,} to predict, "
        f"{rows[0][name]['features']:,} features"
        for name in names
    )
    scored = "a fifth of the training set, held out" if held_out else "the test set"
    caption = "\n".join([*sizes, f"scored on {scored}"])
    table = Table(caption=caption, caption_justify="left")
    table.add_column("model")
    table.add_column("λ", justify="right")
    for name in names:
        table.add_column(f"{name}\naccuracy", justify="right")
        table.add_column("\nmacro-F1", justify="right")
    for k, row in enumerate(rows):
        if k and row["group"] != rows[k - 1]["group"]:
            table.add_section()
        numbers = (f"{row[name][key]:.4f}" for name in names for key in ("accuracy", "macro_f1"))
        table.add_row(row["model"], f"{row['alpha']:g}", *numbers)
    (Console() if sys.stdout.isatty() else Console(width=120)).print(table)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--alpha", default="1,0.1")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = options.corpora.split(",")
    rows = run(names, [float(alpha) for alpha in options.alpha.split(",")], options.held_out)
    if options.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    else:
        show(rows, names, options.held_out)


if __name__ == "__main__":
    main()
