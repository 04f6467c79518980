"""Nigam, McCallum, Thrun, Mitchell (2000): the steps, written out in plain Python on a few short texts.

Equations 5 and 6 with the weight of section 5.2, for words of the pool alone with λ times the weight.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest

from bunrui import TextClassifier
from bunrui.models import MODELS
from bunrui.models.counting import CountingModel
from bunrui.models.pool import ROUNDS, Ground

LABELLED = [("ball goal goal", "sport"), ("goal team", "sport"), ("vote law", "politics"), ("law law vote", "politics")]
POOL = [
    "goal match match",
    "match stadium goal",
    "stadium match ball",
    "law senate",
    "senate debate vote",
    "debate senate once",
    "ball vote",
]
QUERIES = ["stadium match", "debate senate law", "goal once never", "ball debate"]
CLASSES = ["politics", "sport"]

Expected = dict[str, dict[str, float]]


def read(text: str, model: str) -> Counter[str]:
    words = Counter(text.split())
    return Counter(dict.fromkeys(words, 1)) if model.startswith("binary") else words


def reference(model: str, weight: float, alpha: float) -> list[list[float]]:
    """The scores of the queries."""
    documents = [(read(text, model), label) for text, label in LABELLED]
    pool = [read(text, model) for text in POOL]
    known = {word for words, _ in documents for word in words}
    frequency = Counter(word for words in pool for word in words)
    new = {word for word, n in frequency.items() if n > 1} - known
    lam = {word: alpha for word in known} | {word: alpha * weight for word in new}

    def score(words: Counter[str], vocabulary: set[str], n: Expected, docs: dict[str, float]) -> list[float]:
        total = sum(lam[word] for word in vocabulary)
        all_words = {word: sum(n[c][word] for c in CLASSES) for word in vocabulary}
        out = []
        for c in CLASSES:
            size = sum(n[c][word] for word in vocabulary)
            value = 0.0 if model.endswith("complement") else math.log(docs[c] / sum(docs.values()))
            for word, x in words.items():
                if word not in vocabulary:
                    continue
                if model.endswith("complement"):
                    rest = sum(all_words.values()) - size
                    value -= x * math.log((all_words[word] - n[c][word] + lam[word]) / (rest + total))
                else:
                    value += x * math.log((n[c][word] + lam[word]) / (size + total))
            out.append(value)
        return out

    n: Expected = {c: defaultdict(float) for c in CLASSES}
    docs = dict.fromkeys(CLASSES, 0.0)
    for words, label in documents:
        for word, x in words.items():
            n[label][word] += x
        docs[label] += 1
    labelled, n_labelled, vocabulary = n, docs, known
    for _ in range(ROUNDS):
        expected: Expected = {c: defaultdict(float, labelled[c]) for c in CLASSES}
        n_docs = dict(n_labelled)
        shares = [softmax(score(words, vocabulary, n, docs)) for words in pool]
        for words, share in zip(pool, shares, strict=True):
            for c, p in zip(CLASSES, share, strict=True):
                n_docs[c] += weight * p
                for word, x in words.items():
                    if word in known | new:
                        expected[c][word] += weight * p * x
        n, docs, vocabulary = expected, n_docs, known | new
    return [score(read(text, model), vocabulary, n, docs) for text in QUERIES]


def softmax(scores: Sequence[float]) -> list[float]:
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    return [part / sum(parts) for part in parts]


@pytest.mark.parametrize("weight", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("name", ["multinomial", "binary", "complement", "binary-complement"])
def test_the_steps(name: str, weight: float) -> None:
    clf = TextClassifier(name, analyzer="words", alpha=0.3)
    clf.learn([text for text, _ in LABELLED], [label for _, label in LABELLED])
    model = MODELS[name].model(clf.get_params(), clf.text_analyzer, clf.memory)
    assert isinstance(model, CountingModel)
    ground = Ground(model, clf.counts, clf.text_analyzer, POOL)
    found = ground.expect(weight).scores(ground.rows(QUERIES))
    assert ground.classes == CLASSES
    for mine, theirs in zip(found.tolist(), reference(name, weight, 0.3), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-11)


def test_without_weight_it_is_the_model_of_the_labelled_documents() -> None:
    clf = TextClassifier("multinomial", analyzer="words", alpha=0.3)
    clf.learn([text for text, _ in LABELLED], [label for _, label in LABELLED])
    model = MODELS["multinomial"].model(clf.get_params(), clf.text_analyzer, clf.memory)
    assert isinstance(model, CountingModel)
    ground = Ground(model, clf.counts, clf.text_analyzer, POOL)
    found = ground.expect(0.0).scores(ground.rows(QUERIES))
    assert found.tolist() == [pytest.approx(row, rel=1e-13) for row in clf.scores(QUERIES).tolist()]
