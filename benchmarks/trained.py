"""Models that are trained from documents, through `TextClassifier`: how good, and how long before the first answer.

    python benchmarks/trained.py                       # 20 Newsgroups
    python benchmarks/trained.py --corpora livedoor
    python benchmarks/trained.py --alphas --corpora 20news livedoor sms_spam     # λ of twcnb

Learning counts and keeps the documents; the first question trains.  The counting default is beside them.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from corpora import Corpus, load

from bunrui import TextClassifier

MODELS = ("binary-complement", "nbsvm", "arow", "twcnb", "aode")
ALPHAS = (0.01, 0.1, 0.3, 1.0)


def accuracy(classifier: TextClassifier, corpus: Corpus) -> float:
    found = classifier.predict(corpus.test["text"])
    return float(np.mean(found == np.array(corpus.test["label"].to_pylist())))


def show_models(corpus: Corpus) -> None:
    """Accuracy, and seconds of processor time to learn, to train and to predict."""
    print(f"{corpus.name}: {corpus.train.num_rows:,} documents to learn, {corpus.test.num_rows:,} to predict")
    print(f"{'model':20}{'accuracy':>10}{'learn':>9}{'train':>9}{'predict':>9}")
    for model in MODELS:
        classifier, times = TextClassifier(model), [time.process_time()]
        classifier.learn(corpus.train["text"], corpus.train["label"])
        times.append(time.process_time())
        classifier.predict(["one line"])
        times.append(time.process_time())
        found = accuracy(classifier, corpus)
        times.append(time.process_time())
        print(f"{model:20}{found:10.4f}" + "".join(f"{seconds:8.2f}s" for seconds in np.diff(times)))


def show_alphas(corpus: Corpus) -> None:
    """Accuracy of twcnb by λ."""
    classifier = TextClassifier("twcnb").learn(corpus.train["text"], corpus.train["label"])
    found = [f"λ {alpha:g}: {accuracy(classifier.with_model(alpha=alpha), corpus):.4f}" for alpha in ALPHAS]
    print(f"{corpus.name:12}" + "   ".join(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=["20news"])
    parser.add_argument("--alphas", action="store_true", help="λ of twcnb in place of the models")
    options = parser.parse_args()
    for name in options.corpora:
        (show_alphas if options.alphas else show_models)(load(name))


if __name__ == "__main__":
    # Kernels are compiled before anything is timed.
    TextClassifier("nbsvm").learn(["a b", "c d"] * 5000, ["x", "y"] * 5000).predict(["a"] * 5000)
    main()
