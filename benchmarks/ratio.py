"""Estimates of log P(f | target) / P(f | raw), and how well each selects: the numbers of docs/decisions/009.

    python benchmarks/ratio.py [--held-out] [--bits 20] [--folder FOLDER]

A task has a target (the first training documents of a corpus, or of one of its labels) and raw (test documents of some
corpora, four languages).  N documents of raw are of the kind of the target; P@N is their share among the N best, P@N/4
that among the N/4 best.  Features are those of `AnalyzerSpec()` in 2**bits buckets.  Each row is the mean of all tasks.

The estimate was chosen with tasks like those of `TASKS`.  `--held-out` has labels that were not looked at before it was
chosen, and DSIR's own features beside ours, where `data-selection` is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from typing import Any

import corpora
import numpy as np

from bunrui import AnalyzerSpec
from bunrui.estimators import TextVectorizer

TASKS = (
    ("imdb", None, 100),
    ("imdb", None, 5000),
    ("20news", "sci.space", 100),
    ("20news", "sci.space", 500),
    ("20news", "rec.autos", 500),
    ("ag_news", "Sports", 100),
    ("livedoor", "sports-watch", 100),
    ("livedoor", "it-life-hack", 500),
    ("thucnews", "education", 100),
    ("thucnews", "sports", 500),
    ("nsmc", None, 1000),
)
HELD_OUT = (
    ("enron_spam", "spam", 300),
    ("20news", "talk.politics.mideast", 300),
    ("20news", "comp.graphics", 300),
    ("20news", "rec.sport.hockey", 300),
    ("20news", "soc.religion.christian", 300),
    ("ag_news", "Business", 300),
    ("ag_news", "World", 300),
    ("livedoor", "movie-enter", 300),
    ("livedoor", "peachy", 300),
    ("thucnews", "finance", 300),
    ("thucnews", "game", 300),
)
CHOOSING = ("20news", "ag_news", "imdb", "livedoor", "nsmc", "thucnews")
HOLDING = ("imdb", "20news", "ag_news", "enron_spam", "livedoor", "thucnews", "nsmc")
MOST = 3000  # documents of a corpus in raw

Counts = np.ndarray
Estimate = Callable[[Counts, Counts], np.ndarray]


def added(amount: float) -> Estimate:
    """λ for every feature: (n + λ) / (N + λV)."""

    def estimate(t: Counts, r: Counts) -> np.ndarray:
        return np.log((t + amount) / (t.sum() + amount * len(t)) / ((r + amount) / (r.sum() + amount * len(r))))

    return estimate


def added_to_shares(t: Counts, r: Counts) -> np.ndarray:
    """As DSIR does it."""
    return np.log(t / t.sum() + 1e-8) - np.log(r / r.sum() + 1e-8)


def mixed(beta: float | None) -> Estimate:
    """The target mixed with all that there is, as `bunrui.selection.ratio` has it.

    Without β, with what Good and Turing expect of features that the target lacks: the share of those that it has once.
    """

    def estimate(t: Counts, r: Counts) -> np.ndarray:
        n = t + r
        rest = (t == 1).sum() / t.sum() if beta is None else beta
        return np.where(n > 0, np.log((1 - rest) * (t / t.sum()) / (np.maximum(n, 1) / n.sum()) + rest), 0.0)

    return estimate


# Name, whether a feature counts once in a document, the estimate, the share of raw that it sees, whether by length
WAYS: tuple[tuple[str, bool, Estimate, float, bool], ...] = (
    ("counts, 1e-8 added to shares (DSIR)", False, added_to_shares, 1, False),
    ("counts, λ = .1", False, added(0.1), 1, False),
    ("counts, λ = 1", False, added(1.0), 1, False),
    ("presence, λ = .1", True, added(0.1), 1, False),
    ("counts, β = 3/4", False, mixed(0.75), 1, False),
    ("presence, β = 1/2", True, mixed(0.5), 1, False),
    ("presence, β = 3/4", True, mixed(0.75), 1, False),
    ("presence, β = 9/10", True, mixed(0.9), 1, False),
    ("presence, β by Good and Turing", True, mixed(None), 1, False),
    ("presence, β = 3/4, mean over features", True, mixed(0.75), 1, True),
    ("presence, β = 3/4, a tenth of raw counted", True, mixed(0.75), 0.1, False),
    ("presence, β = 3/4, a hundredth", True, mixed(0.75), 0.01, False),
)


def precision(kinds: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """P@N and P@N/4."""
    found, n = kinds[np.argsort(-scores, kind="stable")], int(kinds.sum())
    return float(found[:n].mean()), float(found[: n // 4].mean())


def totals(X: Any) -> Counts:
    """The sum of every column."""
    return np.asarray(X.sum(axis=0), np.float64).ravel()


def dsir_rows(texts: list[str]) -> Any:
    """The features of DSIR's package: word 1-2-grams in 10,000 buckets."""
    from data_selection.hashed_ngram_dsir import get_ngram_counts
    from scipy import sparse

    return sparse.vstack([sparse.csr_array(get_ngram_counts(text)[None]) for text in texts]).tocsr()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--bits", type=int, default=20)
    parser.add_argument("--folder", help="where the corpora are")
    options = parser.parse_args()
    names, tasks, seed = (HOLDING, HELD_OUT, 11) if options.held_out else (CHOOSING, TASKS, 0)
    loaded = {name: corpora.load(name, options.folder) for name in names}
    rng = np.random.default_rng(seed)
    tests = {name: c.test.take(rng.permutation(c.test.num_rows)[:MOST]) for name, c in loaded.items()}
    texts = [text for name in names for text in tests[name]["text"].to_pylist()]
    labels = [(name, label) for name in names for label in tests[name]["label"].to_pylist()]
    order = rng.permutation(len(labels))
    readers: dict[str, Callable[[list[str]], Any]] = {
        "": TextVectorizer(analyzer=AnalyzerSpec(), n_features=1 << options.bits).transform
    }
    if options.held_out and importlib.util.find_spec("data_selection") is not None:
        readers["DSIR's features: "] = dsir_rows
    found: dict[str, list[tuple[float, float]]] = {}
    for features, read in readers.items():
        raw = read(texts)
        for name, label, most in tasks:
            train = loaded[name].train
            pairs = zip(train["text"].to_pylist(), train["label"].to_pylist(), strict=True)
            target = read([text for text, mine in pairs if label in (None, mine)][:most])
            kinds = np.array([(name, label or mine) == (corpus, mine) for corpus, mine in labels])
            for way, once, estimate, share, by_length in WAYS[: 1 if features else None]:
                T, R = (X.sign() if once else X for X in (target, raw))
                scores = R @ estimate(totals(T), totals(R[order[: int(share * len(labels))]]))
                if by_length:
                    scores = scores / np.maximum(np.asarray(R.sum(axis=1)).ravel(), 1)
                found.setdefault(features + way, []).append(precision(kinds, scores))
    print(f"{'':54}   P@N  P@N/4   by task")
    for way, pairs in found.items():
        means, each = np.mean(pairs, axis=0), " ".join(f"{first:.2f}" for first, _ in pairs)
        print(f"{way:54} {means[0]:5.3f}  {means[1]:5.3f}   {each}")


if __name__ == "__main__":
    main()
