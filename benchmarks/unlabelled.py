"""What do texts without a label add?  Accuracy with few labels, without and with a pool.

    python benchmarks/unlabelled.py                                            # docs/learning.md has the table
    python benchmarks/unlabelled.py --corpora nsmc --labels 100 --weights      # each weight by itself, too

Of the training set, `--labels` documents at random have labels, and up to `--pool` others have none; a draw is one such
cut.  Accuracy is on the test set, at most `--test` documents of it.  `on` is the share of draws in which the folds of
the labelled documents chose a weight above 0: in all others both accuracies are the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import corpora
import numpy as np

from bunrui import TextClassifier
from bunrui.unlabelled import WEIGHTS, PoolEvidence, PoolWeight

CORPORA = ("20news", "banking77", "waimai", "nsmc", "trec")
LABELS = (20, 100, 500)


class Draw(NamedTuple):
    """Accuracies of one draw."""

    corpus: str
    n_labels: int
    without: float
    with_pool: float
    weight: float
    by_weight: dict[float, float]  # empty unless each weight was asked for


def measure(
    names: Sequence[str] = CORPORA,
    labels: Sequence[int] = LABELS,
    *,
    n_draws: int = 10,
    n_pool: int = 5000,
    n_test: int = 2000,
    model: str = "auto",
    each_weight: bool = False,
    folder: str | None = None,
) -> Iterator[Draw]:
    """Accuracy without and with a pool, draw by draw."""
    for name in names:
        corpus = corpora.load(name, folder)
        order = np.sort(np.random.default_rng(0).permutation(corpus.test.num_rows)[:n_test])
        test = corpus.test.take(order)
        asked, true = test["text"], test["label"].to_pylist()
        for n_labels in labels:
            for seed in range(n_draws):
                order = np.random.default_rng(seed).permutation(corpus.train.num_rows)
                labelled = corpus.train.take(order[:n_labels])
                pool = corpus.train.take(order[n_labels : n_labels + n_pool])["text"].to_pylist()
                clf = TextClassifier(model)
                if model != "auto":
                    clf.learn_unlabelled(pool)  # before the documents, so that a sample of them is kept
                clf.learn(labelled["text"].to_pylist(), labelled["label"].to_pylist())
                without = clf.with_model().score(asked, true)
                if model == "auto":
                    clf.learn_unlabelled(pool)
                found = clf.unlabelled_
                assert found is not None
                with_pool = clf.score(asked, true) if found.weight else without
                by_weight = {weight: _at(clf, weight).score(asked, true) for weight in WEIGHTS} if each_weight else {}
                yield Draw(name, n_labels, without, with_pool, found.weight, by_weight)


def _at(clf: TextClassifier, weight: float) -> TextClassifier:
    clf.take_on(clf.choice, None, PoolWeight(weight=weight, evidence=(PoolEvidence(weight, 0.0, 0.0, 0.0),)))
    return clf


def rows_of(draws: Sequence[Draw]) -> list[dict[str, Any]]:
    """A line for each corpus and number of labels."""
    rows = []
    for key in dict.fromkeys((draw.corpus, draw.n_labels) for draw in draws):
        mine = [draw for draw in draws if (draw.corpus, draw.n_labels) == key]
        gains = np.array([draw.with_pool - draw.without for draw in mine])
        is_on = np.array([draw.weight > 0 for draw in mine])
        rows.append(
            {
                "corpus": key[0],
                "labels": key[1],
                "without": float(np.mean([draw.without for draw in mine])),
                "with": float(np.mean([draw.with_pool for draw in mine])),
                "gain": float(gains.mean()),
                "spread": float(gains.std(ddof=1)) if len(mine) > 1 else 0.0,
                "on": float(is_on.mean()),
                "worst": float(gains.min()),
                "by_weight": {
                    weight: float(np.mean([draw.by_weight[weight] for draw in mine])) for weight in mine[0].by_weight
                },
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--labels", default=",".join(map(str, LABELS)))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--pool", type=int, default=5000)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--model", default="auto")
    parser.add_argument("--weights", action="store_true", help="also the accuracy of each weight by itself")
    parser.add_argument("--folder")
    given = parser.parse_args()
    print(f"{'corpus':<12}{'labels':>7}{'without':>9}{'with':>7}{'gain':>8}{'spread':>8}{'worst':>8}{'on':>6}")
    for name in given.corpora.split(","):
        for n_labels in map(int, given.labels.split(",")):
            sizes = {"n_draws": given.draws, "n_pool": given.pool, "n_test": given.test}
            how = {"model": given.model, "each_weight": given.weights, "folder": given.folder}
            (row,) = rows_of(list(measure([name], [n_labels], **sizes, **how)))
            each = "".join(f"  {weight:g}: {value:.3f}" for weight, value in row["by_weight"].items())
            print(
                f"{row['corpus']:<12}{row['labels']:>7}{row['without']:>9.3f}{row['with']:>7.3f}{row['gain']:>+8.3f}"
                f"{row['spread']:>8.3f}{row['worst']:>+8.3f}{row['on']:>6.0%}{each}",
                flush=True,
            )


if __name__ == "__main__":
    main()
