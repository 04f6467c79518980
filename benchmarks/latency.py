"""How long one document takes: learn and predict, 80 words, warm, after 0 and after all learned documents.

    python benchmarks/latency.py [--json]
    python benchmarks/latency.py --old CHECKOUT [--corpus banking77]

With --old, this version and that of a checkout take turns with the same documents, in processor time: `default` is what
`TextClassifier()` gives here, beside binary-complement there.

river and scikit-learn (`partial_fit` on hashed words) do the same, where they are installed.  A prediction
comes right after the learning of a document, so that no table of weights can be kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import corpora

import bunrui
from bunrui import TextClassifier

WORDS = 80
ROUNDS = 400
SLOW = 40
TURNS, IN_TURN = 25, 40

COMPARED = {
    "binary-complement": ({"model": "binary-complement"}, {"model": "binary-complement"}),
    "multinomial, words": (
        {"model": "multinomial", "analyzer": "words"},
        {"model": "multinomial", "analyzer": "words"},
    ),
    "default": ({}, {"model": "binary-complement"}),
}


def documents(corpus: corpora.Corpus, least: int = WORDS) -> tuple[list[str], list[str], list[str], list[str]]:
    """Texts and labels to learn first, and documents of 80 words, or of as many as they have if these are enough."""
    texts, labels = corpus.test["text"].to_pylist(), corpus.test["label"].to_pylist()
    pairs = [(text.split(), label) for text, label in zip(texts, labels, strict=True)]
    short = [(" ".join(words[:WORDS]), label) for words, label in pairs if len(words) >= least]
    random.Random(0).shuffle(short)  # 20 Newsgroups is stored class by class
    train = corpus.train["text"].to_pylist(), corpus.train["label"].to_pylist()
    return (*train, [text for text, _ in short[:ROUNDS]], [label for _, label in short[:ROUNDS]])


def medians(
    learn: Callable[[str, str], object], predict: Callable[[str], object], texts: list[str], labels: list[str]
) -> tuple[float, float]:
    """Milliseconds of one `learn` and of the `predict` after it: the median of each hundred, the least of them."""
    times: tuple[list[float], list[float]] = ([], [])
    for text, label in zip(texts, labels, strict=True):
        started = time.perf_counter()
        learn(text, label)
        between = time.perf_counter()
        predict(text)
        times[0].append(between - started)
        times[1].append(time.perf_counter() - between)
    return _least(times[0]) * 1e3, _least(times[1]) * 1e3


def _least(times: list[float]) -> float:
    return min(statistics.median(times[start : start + 100]) for start in range(0, len(times), 100))


def learn_one(clf: TextClassifier, text: str, label: str) -> None:
    clf.learn([text], [label])


def predict_one(clf: TextClassifier, text: str) -> None:
    clf.predict([text])


def measure(folder: str | None = None) -> list[dict[str, Any]]:
    """A row for each peer, on 20 Newsgroups or on generated text."""
    try:
        corpus = corpora.load("20news", folder)
    except FileNotFoundError:
        corpus = corpora.load("zipf_en")
    train_texts, train_labels, texts, labels = documents(corpus)
    rows: list[dict[str, Any]] = []
    for model, analyzer in (("multinomial", "words"), ("binary-complement", "universal")):
        for learned in (0, len(train_texts)):
            clf = TextClassifier(model, analyzer=analyzer).learn(texts[:20], labels[:20])
            if learned:
                clf.learn(train_texts, train_labels)
            took = medians(partial(learn_one, clf), partial(predict_one, clf), texts, labels)
            rows.append(_row(f"bunrui, {model}, {analyzer}", took, learned))
    if importlib.util.find_spec("river"):
        from river import feature_extraction, naive_bayes

        model = feature_extraction.BagOfWords() | naive_bayes.MultinomialNB()
        rows.append(_row("river", medians(model.learn_one, model.predict_one, texts, labels)))
    if importlib.util.find_spec("sklearn"):
        rows.append(_row("scikit-learn", medians(*_hashed(sorted(set(labels))), texts[:SLOW], labels[:SLOW])))
    return [{"corpus": corpus.name, "classes": len(set(labels)), **row} for row in rows]


def _hashed(classes: list[str]) -> tuple[Callable[[str, str], object], Callable[[str], object]]:
    """Learn and predict of scikit-learn, whose `partial_fit` needs features of a fixed width."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.naive_bayes import MultinomialNB

    vectorizer = HashingVectorizer(n_features=1 << 18, alternate_sign=False, norm=None)
    model = MultinomialNB().partial_fit(vectorizer.transform(["a"]), classes[:1], classes)

    def learn(text: str, label: str) -> None:
        model.partial_fit(vectorizer.transform([text]), [label])

    return learn, lambda text: model.predict(vectorizer.transform([text]))


def _row(peer: str, took: tuple[float, float], learned: int = 0) -> dict[str, Any]:
    return {"peer": peer, "learned before": learned, "learn ms": took[0], "predict ms": took[1]}


def serve(name: str, options: dict[str, str]) -> None:
    """For each line of the input, learn and predict some documents one by one; print the medians in µs."""
    train_texts, train_labels, texts, labels = documents(corpora.load(name), least=1)
    clf = TextClassifier(**options).learn(train_texts, train_labels)
    at = 0
    for _ in sys.stdin:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(IN_TURN):
            text, label = texts[at % len(texts)], labels[at % len(texts)]
            started = time.process_time()
            clf.learn([text], [label])
            between = time.process_time()
            clf.predict([text])
            times[0].append(between - started)
            times[1].append(time.process_time() - between)
            at += 1
        sys.stdout.write(" ".join(f"{statistics.median(each) * 1e6}" for each in times) + "\n")
        sys.stdout.flush()


def compare(name: str, old: str) -> None:
    """Let this version and an older one take turns."""
    here = os.path.dirname(os.path.dirname(bunrui.__file__))
    for what, both in COMPARED.items():
        workers = [
            subprocess.Popen(
                [sys.executable, __file__, "--corpus", name, "--serve", json.dumps(options)],
                env=os.environ | {"PYTHONPATH": source},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for source, options in zip((here, os.path.join(old, "src")), both, strict=True)
        ]
        rows = []
        for _ in range(TURNS + 2):
            row: list[float] = []
            for worker in workers:
                assert worker.stdin is not None and worker.stdout is not None
                worker.stdin.write("\n")
                worker.stdin.flush()
                row += map(float, worker.stdout.readline().split())
            rows.append(row)
        for worker in workers:
            worker.communicate()
        learn, predict, old_learn, old_predict = zip(*rows[2:], strict=True)
        for task, mine, theirs in (("learn", learn, old_learn), ("predict", predict, old_predict)):
            ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
            took = f"{statistics.median(mine):6.0f} µs, before {statistics.median(theirs):6.0f}"
            print(f"{name} {what:20} {task:8} {took}: {ratio:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--old", help="the folder of a checkout of another version, with compiled kernels")
    parser.add_argument("--corpus", default="20news")
    parser.add_argument("--serve", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.corpus, options.serve)
        return
    if options.old:
        compare(options.corpus, options.old)
        return
    rows = measure()
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(
            f"{row['corpus']} {row['peer']:42} after {row['learned before']:6} documents: "
            f"learn {row['learn ms']:.3f} ms, predict {row['predict ms']:.3f} ms"
        )


if __name__ == "__main__":
    main()
