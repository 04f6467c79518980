"""Digests of counts and scores, to compare two versions of bunrui bit for bit.

    python benchmarks/bits.py [--corpora imdb,nsmc] > before.txt     # in one checkout
    python benchmarks/bits.py [--corpora imdb,nsmc] > after.txt      # in another; then diff

Each line has a corpus, an analyzer, and a digest of the totals of all features, or a model and a digest of its scores
on the test documents and of its leave-one-out on the first 300 training documents.
"""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

import corpora
import numpy as np

from bunrui import TextClassifier
from bunrui.evaluation import leave_one_out

ANALYZERS = ("universal", "words")
COUNTING = ("multinomial", "binary", "mixed", "bernoulli", "complement", "binary-complement", "wcnb")
VARIANTS: dict[str, dict[str, Any]] = {
    "multinomial mle": {"model": "multinomial", "smoothing": "mle"},
    "multinomial against the rest": {"model": "multinomial", "against_rest": True},
    "binary class norm": {"model": "binary", "class_norm": True},
    "binary-complement unseen": {"model": "binary-complement", "unseen": "smooth"},
    "multinomial min_df 2": {"model": "multinomial", "min_df": 2},
}
TRAINED = ("nbsvm", "arow")
FEW = 300


def digest(*arrays: Any) -> str:
    """A short digest of arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def digest_of_counts(clf: TextClassifier) -> str:
    """A digest of all features with their occurrences and documents, in the order of their names."""
    found = hashlib.sha256()
    for word, totals in sorted(clf.counts.totals().items()):
        found.update(f"{word}\0{totals}\n".encode())
    return found.hexdigest()[:16]


def report(name: str, trained: bool) -> None:
    """Print the lines of a corpus."""
    corpus = corpora.load(name)
    train, test = corpus.train, corpus.test
    few = train.slice(0, FEW)
    for analyzer in ANALYZERS:
        clf = TextClassifier(analyzer=analyzer).learn(train["text"], train["label"])
        print(name, analyzer, "counts", digest_of_counts(clf), flush=True)
        for label, options in ({model: {"model": model} for model in COUNTING} | VARIANTS).items():
            print(name, analyzer, label, digest(clf.with_model(**options).scores(test["text"])), flush=True)
        for label in COUNTING:
            left = leave_one_out(TextClassifier(label, analyzer=analyzer), few["text"], few["label"].to_pylist())
            print(name, analyzer, label, "leave one out", digest(left.scores), flush=True)
    for label in TRAINED if trained else ():
        clf = TextClassifier(label).learn(train["text"], train["label"])
        print(name, "universal", label, digest(clf.scores(test["text"])), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(corpora.CORPORA), help="comma-separated")
    parser.add_argument("--no-trained", action="store_true", help="leave out the models that are trained")
    args = parser.parse_args()
    for name in args.corpora.split(","):
        report(name, not args.no_trained)


if __name__ == "__main__":
    main()
