"""Scores and probabilities against scikit-learn, on the same tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from bunrui import TextClassifier
from bunrui.models import MODELS

RELATIVE = 1e-12
ALPHAS = [1.0, 0.1, 0.01, 2.5]

# The models that scikit-learn has too.
PEERED = ("multinomial", "binary", "mixed", "bernoulli", "complement", "wcnb", "binary-complement")
every = pytest.mark.parametrize("model", PEERED)


def corpus() -> tuple[list[list[str]], list[str]]:
    """Classes of different sizes and words, in an order that is not the sorted one; one document is empty."""
    rng = np.random.default_rng(5)
    texts, labels = [], []
    for label, n_docs, shift in [("sport", 23, 0), ("経済", 11, 40), ("arts", 5, 90), ("weather", 2, 140)]:
        texts.append(["w1", "w2", "w3", "w2"])
        labels.append(label)
        for _ in range(n_docs):
            words = rng.zipf(1.4, rng.integers(1, 40)) % 60 + shift * (rng.random() < 0.8)
            texts.append([f"w{word}" for word in words])
            labels.append(label)
    texts.append([])
    labels.append("arts")
    order = rng.permutation(len(texts))
    return [texts[k] for k in order], [labels[k] for k in order]


TEXTS, LABELS = corpus()
CLASSES = ["arts", "sport", "weather", "経済"]
# Long, short, empty, with repeated words; words that training never saw are left out by both.
QUERIES = [
    *TEXTS[:12],
    [],
    ["w1"],
    ["w1", "w1", "w1", "w90"],
    ["never", "w2"],
    ["never"],
    [f"w{k}" for k in range(0, 200, 3)],
]
VECTORIZER = CountVectorizer(analyzer=lambda words: words)
X = VECTORIZER.fit_transform(TEXTS)
Q = VECTORIZER.transform(QUERIES)
COLUMNS = VECTORIZER.get_feature_names_out().tolist()


def binarised(matrix: Any) -> Any:
    return (matrix > 0).astype(np.int64)


def peer(model: str, **options: Any) -> Any:
    """Joint log-likelihoods and probabilities of scikit-learn's model of the same name, and its classes."""
    train, queries = X, Q
    if model in ("binary", "binary-complement"):
        train, queries = binarised(X), binarised(Q)
    if model == "mixed":
        queries = binarised(Q)
    if model in ("multinomial", "binary", "mixed"):
        estimator = MultinomialNB(**options)
    elif model == "bernoulli":
        estimator = BernoulliNB(**options)
    else:
        estimator = ComplementNB(norm=model == "wcnb", **options)
    estimator.fit(train, LABELS)
    return estimator.predict_joint_log_proba(queries), estimator.predict_proba(queries), estimator.classes_.tolist()


def check(model: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    clf = TextClassifier(model, **ours).learn(TEXTS, LABELS)
    scores, probabilities, classes = peer(model, **theirs)
    assert clf.classes_.tolist() == classes == CLASSES
    found = clf.scores(QUERIES)
    assert found.shape == (len(QUERIES), 4)
    np.testing.assert_allclose(found, scores, rtol=RELATIVE, atol=1e-14)
    np.testing.assert_allclose(clf.predict_proba(QUERIES), probabilities, rtol=1e-10, atol=1e-300)
    assert clf.predict(QUERIES).tolist() == [CLASSES[c] for c in scores.argmax(axis=1)]
    # The table of all weights gives what the weights of a few words give.
    np.testing.assert_array_equal(clf.scores(QUERIES * 3)[: len(QUERIES)], found)


def test_the_corpus_tells_classes_apart() -> None:
    """Swapping any two classes would fail: their columns differ everywhere."""
    scores, _, _ = peer("multinomial", alpha=1.0)
    for a in range(4):
        for b in range(a):
            assert not np.isclose(scores[:, a], scores[:, b], rtol=1e-6).any()


@pytest.mark.parametrize("alpha", ALPHAS)
@every
def test_every_model(model: str, alpha: float) -> None:
    check(model, {"alpha": alpha}, {"alpha": alpha})


@every
def test_the_default_alpha(model: str) -> None:
    check(model, {}, {"alpha": MODELS[model].alpha})


@every
def test_map_is_less_one(model: str) -> None:
    check(model, {"smoothing": "map", "alpha": 1.25}, {"alpha": 0.25})
    check(model, {"smoothing": "map"}, {"alpha": 1.0001 - 1})


PRIORED = [model for model in PEERED if MODELS[model].has_prior]
GIVEN = {"arts": 0.4, "sport": 0.3, "weather": 0.2, "経済": 0.1}


@pytest.mark.parametrize("model", PRIORED)
def test_uniform_prior(model: str) -> None:
    check(model, {"alpha": 1.0, "prior": "uniform"}, {"alpha": 1.0, "fit_prior": False})


@pytest.mark.parametrize("model", PRIORED)
def test_given_prior(model: str) -> None:
    check(model, {"alpha": 0.3, "prior": GIVEN}, {"alpha": 0.3, "class_prior": list(GIVEN.values())})


@pytest.mark.parametrize("model", PRIORED)
def test_smoothed_prior(model: str) -> None:
    sizes = np.array([LABELS.count(label) for label in CLASSES])
    for given, lam in (("smoothed", 1), (("smoothed", 0.25), 0.25), (("smoothed", np.float64(7)), 7)):
        prior = (sizes + lam) / (sizes.sum() + 4 * lam)
        check(model, {"prior": given, "alpha": 1.0}, {"alpha": 1.0, "class_prior": prior})


@pytest.mark.parametrize("model", ["complement", "wcnb", "binary-complement"])
def test_the_complement_has_no_prior(model: str) -> None:
    clf = TextClassifier(model).learn(TEXTS, LABELS)
    np.testing.assert_array_equal(clf.with_model(prior=GIVEN).scores(QUERIES), clf.scores(QUERIES))


@pytest.mark.parametrize("model", [model for model in PEERED if model != "bernoulli"])
def test_a_word_with_an_alpha_of_its_own(model: str) -> None:
    by_word = {"w1": 3.0, "w2": 0.5, "w90": 0.01, "not in the vocabulary": 9.0}
    default = MODELS[model].alpha
    alphas = np.array([by_word.get(word, default) for word in COLUMNS])
    check(model, {"alpha": by_word}, {"alpha": alphas})


def test_weight_normalisation_keeps_the_sign() -> None:
    """Dividing by Σw, which is negative, in place of Σ|w| would turn the answer round."""
    texts, labels = [["a"] * 5 + ["b"], ["b"] * 5 + ["a"]], ["A", "B"]
    clf = TextClassifier("wcnb", alpha=1.0).learn(texts, labels)
    assert clf.predict([["a"], ["b"]]).tolist() == ["A", "B"]
    assert clf.with_model("complement").predict([["a"], ["b"]]).tolist() == ["A", "B"]
    assert (clf.scores([["a"], ["b"]]) > 0).all()


@every
def test_unseen_words_have_the_smoothed_mass(model: str) -> None:
    """`unseen="smooth"`: a word of no class counts as one more column of zeros would, V being as it was."""
    clf = TextClassifier(model, alpha=0.5, unseen="smooth").learn(TEXTS, LABELS)
    counted = binarised(X) if model in ("binary", "binary-complement") else X
    totals = np.array([counted[[k for k, name in enumerate(LABELS) if name == label]].sum() for label in CLASSES])
    V = X.shape[1]
    added = clf.scores([["w1", "never"]]) - clf.scores([["w1"]])
    if model == "bernoulli":
        expected = np.log(0.5 / (np.array([LABELS.count(label) for label in CLASSES]) + 2 * 0.5))
    elif model in PRIORED:
        expected = np.log(0.5 / (totals + 0.5 * V))
    else:
        expected = -np.log(0.5 / (totals.sum() - totals + 0.5 * V))
        if model == "wcnb":
            outside = np.array(
                [X[[k for k, name in enumerate(LABELS) if name != label]].sum(axis=0).A1 for label in CLASSES]
            )
            weights = np.log((outside + 0.5) / (outside.sum(axis=1, keepdims=True) + 0.5 * V))
            expected = expected / np.abs(weights).sum(axis=1)
    np.testing.assert_allclose(added[0], expected, rtol=1e-9)


@every
def test_maximum_likelihood_is_the_limit(model: str) -> None:
    """`mle` orders the classes as a vanishing λ does, where every word of the document is known to every class."""
    common = [word for k, word in enumerate(COLUMNS) if all(_count(k, label) for label in CLASSES)]
    assert len(common) >= 3
    clf = TextClassifier(model, smoothing="mle").learn(TEXTS, LABELS)
    if model in ("multinomial", "mixed"):
        expected = [
            [np.log(LABELS.count(label) / len(LABELS)) + sum(np.log(_share(word, label)) for word in common)]
            for label in CLASSES
        ]
        np.testing.assert_allclose(clf.scores([common])[0], np.ravel(expected), rtol=1e-12)
    small = clf.with_model(smoothing="eap", alpha=1e-9)
    if model in ("bernoulli", "wcnb"):
        # Their sums run over the words that a class never had too, and go on with λ.
        assert np.isfinite(clf.scores([common])).all()
        return
    np.testing.assert_allclose(clf.scores([common]), small.scores([common]), rtol=1e-6)
    assert clf.predict([common]).tolist() == small.predict([common]).tolist()


def _count(column: int, label: str) -> int:
    return int(X[[k for k, name in enumerate(LABELS) if name == label], column].sum())


def _share(word: str, label: str) -> float:
    rows = X[[k for k, name in enumerate(LABELS) if name == label]]
    return float(rows[:, COLUMNS.index(word)].sum() / rows.sum())


@pytest.mark.data
def test_the_same_labels_on_reviews(data_folder: Path) -> None:
    """4,000 reviews of IMDB, every label and score as scikit-learn has it."""
    train, test = (pq.read_table(data_folder / "imdb" / f"{part}.parquet") for part in ("train", "test"))
    rows = list(range(0, train.num_rows, 12))
    texts, queries = (table["text"].take(rows).to_pylist() for table in (train, test))
    labels = [str(label) for label in train["label"].take(rows).to_pylist()]
    vectorizer = CountVectorizer(token_pattern=r"\w+")
    peer = MultinomialNB().fit(vectorizer.fit_transform(texts), labels)
    clf = TextClassifier("multinomial", analyzer="words", alpha=1.0).learn(texts, labels)
    found = vectorizer.transform(queries)
    assert clf.classes_.tolist() == peer.classes_.tolist()
    assert clf.predict(queries).tolist() == peer.predict(found).tolist()
    np.testing.assert_allclose(clf.scores(queries), peer.predict_joint_log_proba(found), rtol=1e-12)
