"""20 Newsgroups: multinomial naive Bayes and TWCNB of Rennie, Shih, Teevan and Karger (2003), on random 80/20 splits.

They have MNB .848, TWCNB .861 and a linear SVM .862.  Which headers they kept is not known here, so messages are read
whole and without their headers.  Words that occur once in the training documents are left out: they tell little, but
count in the size of the vocabulary, which matters where λ = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import corpora
import numpy as np

from bunrui import NBSVM, TWCNB, MultinomialNB, TextVectorizer
from reproduction.rows import NONE, Row, over_seeds
from reproduction.splits import Task, cut, in_order, known

SEEDS = range(5)
MODELS: dict[str, tuple[Any, str]] = {
    "MNB λ=1": (MultinomialNB(alpha=1.0), ".848"),
    "TWCNB λ=1": (TWCNB(alpha=1.0), ".861"),
    "TWCNB λ=1, queries too": (TWCNB(alpha=1.0, transform_queries=True), NONE),
    "NBSVM, our defaults": (NBSVM(), NONE),
}
COMMENTS = {
    "TWCNB λ=1, queries too": "log TF, IDF and length norm for documents to predict as well",
    "NBSVM, our defaults": "the article has a linear SVM at .862",
}


def run(folder: str | None) -> Iterator[Row]:
    """Rows: random splits, then the one by date."""
    corpus = corpora.load("20news", folder)
    table, border = in_order(corpus), corpus.train.num_rows
    y = np.array(table["label"].to_pylist())
    texts = table["text"].to_pylist()
    bodies = [text.partition("\n\n")[2] for text in texts]
    for kind, documents in {"whole messages": texts, "no headers": bodies}.items():
        X = TextVectorizer().fit_transform(documents)
        by_date = [known(X[:border], y[:border], X[border:], y[border:])]
        for split, tasks in {"80/20, seeds 0–4": (cut(X, y, seed) for seed in SEEDS), "by date": by_date}.items():
            yield from rows(kind, split, [repeated(task) for task in tasks])


def repeated(task: Task) -> Task:
    """Without words that occur once in what is learned."""
    keep = np.flatnonzero(np.asarray(task.X.sum(axis=0)).ravel() > 1)
    return task._replace(X=task.X[:, keep], Q=task.Q[:, keep])


def rows(kind: str, split: str, tasks: list[Task]) -> Iterator[Row]:
    """A row for each model."""
    for model, (clf, published) in MODELS.items():
        figures = [(float((clf.fit(task.X, task.y).predict(task.Q) == task.truth).mean()),) for task in tasks]
        several = over_seeds(figures) if len(figures) > 1 else {"ours": figures[0]}
        if split == "by date":
            published, comment = NONE, "predicts later messages"
        else:
            comment = COMMENTS.get(model, "")
        yield Row("20news", f"{model}, {kind}", split, "accuracy", published, **several, comment=comment)
