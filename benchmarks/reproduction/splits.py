"""Random splits of a corpus, by seed."""

from __future__ import annotations

from typing import Any, NamedTuple

import corpora
import numpy as np
import pyarrow as pa


class Task(NamedTuple):
    """Counts and labels to learn and to predict."""

    X: Any
    y: Any
    Q: Any
    truth: Any


def in_order(corpus: corpora.Corpus) -> pa.Table:
    """All documents of a corpus in the order of its files, training before test: `corpora.load` shuffles them."""
    train = corpus.train
    if corpus.split != corpora.OFFICIAL:
        train = pa.concat_tables([train, corpus.test])
    shuffled = np.random.default_rng(corpora.SEED).permutation(train.num_rows)
    train = train.take(np.argsort(shuffled))
    return train if corpus.split != corpora.OFFICIAL else pa.concat_tables([train, corpus.test])


def cut(X: Any, y: Any, seed: int) -> Task:
    """80/20 by `default_rng(seed).permutation`; words that no training document has are dropped, as if never seen."""
    order = np.random.default_rng(seed).permutation(len(y))
    border = len(y) * 8 // 10
    train, test = order[:border], order[border:]
    return known(X[train], y[train], X[test], y[test])


def known(X: Any, y: Any, Q: Any, truth: Any) -> Task:
    """Without columns that are zero in all rows of X."""
    keep = np.flatnonzero(np.asarray(X.sum(axis=0)).ravel())
    return Task(X[:, keep], y, Q[:, keep], truth)
