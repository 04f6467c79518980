"""How much probabilities are worth: raw, calibrated by leave-one-out, and beside scikit-learn's CalibratedClassifierCV.

    python benchmarks/calibration.py [--corpora 20news,imdb,sms_spam,livedoor,nsmc] [--lengths] [--json]

Expected calibration error (15 bins) and log loss on the test set, of classifiers that saw the training set alone.
`seconds` is what calibrating takes, beyond learning.  scikit-learn's counts the words of CountVectorizer (characters of
Japanese and Korean: 2-3-grams) and takes five folds; it may change labels, bunrui's does not.

With --lengths, what the length of a document is measured by: bytes, features, or nothing at all.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import corpora
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from bunrui import TextClassifier, TextVectorizer
from bunrui.calibration import lengths_of
from bunrui.evaluation import Evaluation
from bunrui.evaluation.crossvalidation import score_left_out
from bunrui.selection import calibrate, fit_calibration

CORPORA = ("20news", "imdb", "sms_spam", "livedoor", "nsmc")
MODELS = ("binary-complement", "multinomial")
CHARACTERS = {name: {"analyzer": "char", "ngram_range": (2, 3)} for name in ("livedoor", "nsmc")}


def row(name: str, what: str, true: list[str], shares: Any, classes: Any, seconds: float | None) -> dict[str, Any]:
    """What probabilities of the test set are worth."""
    found = Evaluation(
        true=true, predictions=np.asarray(classes)[shares.argmax(axis=1)], probabilities=shares, classes=classes
    )
    numbers = {"accuracy": found.metrics.accuracy, "ece": found.ece, "log_loss": found.log_loss}
    return {"corpus": name, "classifier": what, **numbers, "seconds": seconds}


def ours(corpus: corpora.Corpus, model: str) -> list[dict[str, Any]]:
    """Raw and calibrated."""
    train, test = corpus.train, corpus.test
    true = test["label"].to_pylist()
    clf = TextClassifier(model).learn(train["text"], train["label"])
    clf.predict(test["text"])  # compiles, where that is needed
    rows = [row(corpus.name, model, true, clf.predict_proba(test["text"]), clf.classes_, None)]
    score_left_out(clf, train["text"][:200], train["label"][:200])
    started = time.perf_counter()
    calibrate(clf, train["text"], train["label"])
    seconds = time.perf_counter() - started
    rows.append(row(corpus.name, f"{model}, calibrated", true, clf.predict_proba(test["text"]), clf.classes_, seconds))
    return rows


def theirs(corpus: corpora.Corpus) -> list[dict[str, Any]]:
    """Scikit-learn's MultinomialNB, raw and calibrated in two ways."""
    texts, queries = corpus.train["text"].to_pylist(), corpus.test["text"].to_pylist()
    labels, true = corpus.train["label"].to_pylist(), corpus.test["label"].to_pylist()
    vectorizer = CountVectorizer(**CHARACTERS.get(corpus.name, {}))
    raw = make_pipeline(vectorizer, MultinomialNB()).fit(texts, labels)
    rows = [row(corpus.name, "scikit-learn", true, raw.predict_proba(queries), raw.classes_, None)]
    X, Q = vectorizer.transform(texts), vectorizer.transform(queries)
    for method in ("sigmoid", "isotonic"):
        started = time.perf_counter()
        clf = CalibratedClassifierCV(MultinomialNB(), method=method, cv=5).fit(X, labels)
        seconds = time.perf_counter() - started
        rows.append(row(corpus.name, f"scikit-learn, {method}", true, clf.predict_proba(Q), clf.classes_, seconds))
    return rows


def lengths(corpus: corpora.Corpus, model: str) -> list[dict[str, Any]]:
    """Calibrated with other ideas of length."""
    train, test = corpus.train, corpus.test
    documents, left = score_left_out(TextClassifier(model), train["text"], train["label"])
    clf = TextClassifier(model).learn(train["text"], train["label"])
    scores, true = clf.scores(test["text"]), test["label"].to_pylist()
    vectorizer = TextVectorizer().fit(train["text"])
    measured = {
        "bytes": [lengths_of(part["text"]) for part in (train, test)],
        "features": [
            np.asarray(vectorizer.transform(part["text"]).sum(axis=1), np.float64).ravel() for part in (train, test)
        ],
        "nothing": [np.zeros(part.num_rows) for part in (train, test)],
    }
    rows = []
    for what, (of_train, of_test) in measured.items():
        fitted = fit_calibration(left, of_train, documents.own)
        shares = fitted.apply(scores, of_test)
        rows.append(row(corpus.name, f"{model}, length: {what}", true, shares, clf.classes_, None))
    return rows


def report(rows: list[dict[str, Any]]) -> None:
    """Rows as a table on stdout."""
    for one in rows:
        seconds = "" if one["seconds"] is None else f"{one['seconds']:9.1f}"
        numbers = f"{one['accuracy']:9.4f}{one['ece']:9.4f}{one['log_loss']:10.4f}{seconds}"
        sys.stdout.write(f"{one['corpus']:10}{one['classifier']:38}{numbers}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--lengths", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.json:
        sys.stdout.write(f"{'corpus':10}{'':38}{'accuracy':>9}{'ECE':>9}{'log loss':>10}{'seconds':>9}\n")
    found = []
    for name in options.corpora.split(","):
        corpus = corpora.load(name)
        parts = [lengths(corpus, model) if options.lengths else ours(corpus, model) for model in MODELS]
        if not options.lengths:
            parts.append(theirs(corpus))
        for rows in parts:
            found += rows
            if not options.json:
                report(rows)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
