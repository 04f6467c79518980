"""A tour on the embedded corpus: learn, evaluate, predict, explain, correct, take back.

400 short sentences of news in English, Japanese, Chinese and Korean, in five categories.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Column, Table

from bunrui import TextClassifier
from bunrui.data import read

FOLDS = 5


def main() -> None:
    console = Console()
    corpus, queries = read("demo"), read("queries")
    texts, labels = [row["text"] for row in corpus], [row["label"] for row in corpus]

    console.rule("Learn")
    clf = TextClassifier().learn(texts, labels)
    console.print(clf)

    console.rule(f"Evaluate: {FOLDS} folds, each unlearned, predicted and learned again")
    console.print(fold_table(clf, corpus))

    console.rule("Predict: P(class | text)")
    console.print(probability_table(clf, queries))

    console.rule("Explain")
    unsure = min(queries, key=lambda row: clf.predict_proba([row["text"]]).max())
    console.print(clf.explain(unsure["text"]))

    console.rule("Correct, and take it back")
    before = clf.scores([unsure["text"]])
    other = str(clf.classes_[np.argsort(before[0])[-2]])
    console.print(f"The runner-up was [bold]{other}[/]. Learn the text with that label:")
    clf.learn([unsure["text"]], [other])
    console.print(f"  now it is [bold]{clf.predict([unsure['text']])[0]}[/]")
    clf.unlearn([unsure["text"]], [other])
    same = np.array_equal(before, clf.scores([unsure["text"]]))
    console.print(f"  unlearned: [bold]{clf.predict([unsure['text']])[0]}[/], scores the same to the last bit: {same}")


def fold_table(clf: TextClassifier, corpus: list[dict[str, str]]) -> Table:
    """Accuracy by language, every sentence predicted by a classifier that never saw it."""
    languages = sorted({row["lang"] for row in corpus})
    hits = {lang: [] for lang in languages}
    for fold in range(FOLDS):
        part = corpus[fold::FOLDS]
        texts, labels = [row["text"] for row in part], [row["label"] for row in part]
        clf.unlearn(texts, labels)
        for row, label in zip(part, clf.predict(texts), strict=True):
            hits[row["lang"]].append(row["label"] == label)
        clf.learn(texts, labels)
    table = Table("language", "sentences", "accuracy")
    for lang in languages:
        table.add_row(lang, str(len(hits[lang])), f"{np.mean(hits[lang]):.3f}")
    table.add_section()
    everything = [hit for row in hits.values() for hit in row]
    table.add_row("all", str(len(everything)), f"{np.mean(everything):.3f}")
    return table


def probability_table(clf: TextClassifier, queries: list[dict[str, str]]) -> Table:
    table = Table(Column("text", no_wrap=True, overflow="ellipsis", max_width=24), "given", *clf.classes_)
    for row, chances in zip(queries, clf.predict_proba([row["text"] for row in queries]), strict=True):
        cells = [f"[bold green]{p:.2f}[/]" if p == chances.max() else f"{p:.2f}" for p in chances]
        table.add_row(row["text"], row["label"], *cells)
    return table


if __name__ == "__main__":
    main()
