"""Enron-Spam: the event models of Metsis, Androutsopoulos and Paliouras (2006), who trained as mail arrives.

Every hundred messages are predicted from all before them, by 3,000 words with the largest information gain among those
that occur five times or more, all chosen again for each hundred.  Spam where P(spam | message) is above .5.  Spam
recall and ham recall are over all predicted messages of a user, and then means over the six users.

Messages are cut at white space, as the corpus comes.  Our copy has the ham and the spam of a user each in the order of
the files, which is that of arrival; how the two were mixed it does not say.  We mix them evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import corpora
import numpy as np
import pyarrow.parquet as pq
from scipy import sparse
from scipy.special import xlogy

from bunrui import BernoulliNB, BinaryNB, GaussianNB, MultinomialNB, TextVectorizer
from reproduction.rows import UNVERIFIED, Row

USERS = range(1, 7)
BATCH, ATTRIBUTES, LEAST = 100, 3000, 5
SPLIT = "batches of 100, learned in turn"
MEASURE = "spam recall / ham recall, %"
# Name: estimator, whether it reads shares of a message in place of counts, published.
MODELS: dict[str, tuple[Any, bool, str]] = {
    "multinomial, Boolean, λ=1": (BinaryNB(alpha=1.0), False, "97.53 / 97.26"),
    "multinomial, TF, λ=1": (MultinomialNB(alpha=1.0), False, "97.13 / 96.45"),
    "multivariate Bernoulli, λ=1": (BernoulliNB(alpha=1.0), False, "96.52 / 89.05"),
    "multivariate Gauss": (GaussianNB(), True, "92.32 / 95.53"),
}
MIXED = "ham and spam mixed evenly, each in its own order"


def run(folder: str | None) -> Iterator[Row]:
    """Rows: the mean of six users for every model."""
    home = corpora.data_folder(folder) / "enron_spam"
    recalls: dict[str, list[tuple[float, float]]] = {name: [] for name in MODELS}
    for user in USERS:
        if home.is_dir():
            table = pq.read_table(home / f"enron{user}.parquet", columns=["label", "text"])
        else:
            table = corpora.load_fetched("enron", f"enron{user}")
        is_spam = np.array(table["label"].to_pylist()) == "spam"
        order = mixed(is_spam)
        X = sparse.csr_array(TextVectorizer(analyzer=str.split).fit_transform(table["text"]))[order]
        for name, found in predicted(X, is_spam[order]).items():
            truth = is_spam[order][-len(found) :]
            recalls[name].append((float(found[truth].mean()), float(1 - found[~truth].mean())))
    for name, (_, _, published) in MODELS.items():
        means = tuple(np.mean(recalls[name], axis=0).tolist())
        yield Row("enron", name, SPLIT, MEASURE, published, means, percent=True, comment=MIXED)
    yield Row("enron", "flexible Bayes", SPLIT, MEASURE, UNVERIFIED, comment="bunrui has no kernel densities")


def mixed(is_spam: np.ndarray) -> np.ndarray:
    """Both kinds in their own order, spread evenly over the whole.

    >>> mixed(np.array([False, False, False, False, True, True])).tolist()
    [0, 4, 1, 2, 5, 3]
    """
    place = np.empty(len(is_spam))
    for kind in (False, True):
        rows = np.flatnonzero(is_spam == kind)
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(place, kind="stable")


def predicted(X: Any, is_spam: np.ndarray) -> dict[str, np.ndarray]:
    """By model, whether each message but those of the first batch is taken for spam."""
    presence, share = (X > 0).astype(np.int64), _shares(X)
    df, occurrences = np.zeros((2, X.shape[1])), np.zeros(X.shape[1])
    found: dict[str, list[np.ndarray]] = {name: [] for name in MODELS}
    for start in range(0, X.shape[0] - BATCH, BATCH):
        new, end = slice(start, start + BATCH), start + BATCH
        for kind in (0, 1):
            df[kind] += presence[new][is_spam[new] == kind].sum(axis=0)
        occurrences += X[new].sum(axis=0)
        words = attributes(df, occurrences, np.bincount(is_spam[:end], minlength=2))
        for name, (clf, reads_shares, _) in MODELS.items():
            part = share if reads_shares else X
            clf.fit(part[:end][:, words], is_spam[:end])
            found[name].append(clf.predict(part[end : end + BATCH][:, words]))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def attributes(df: np.ndarray, occurrences: np.ndarray, docs: np.ndarray) -> np.ndarray:
    """The words with the largest information gain, that is, mutual information of presence and class.

    `df` are the documents of each class with the word, (2, n_words), `docs` all documents of each class.
    """
    n, absent = docs.sum(), docs[:, None] - df
    joint = sum(xlogy(part, part) - xlogy(part, docs[:, None]) for part in (df, absent)).sum(axis=0)
    gain = joint - sum(xlogy(part, part / n) for part in (df.sum(axis=0), absent.sum(axis=0)))
    gain[occurrences < LEAST] = -np.inf
    best = np.argsort(-gain, kind="stable")[:ATTRIBUTES]
    return np.sort(best[np.isfinite(gain[best])])


def _shares(X: Any) -> Any:
    """Counts over the tokens of their message."""
    tokens = np.maximum(X.sum(axis=1), 1)
    return sparse.csr_array(sparse.diags_array(1 / tokens) @ X)
