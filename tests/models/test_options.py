"""`class_norm` and `against_rest`: by hand, by brute force, against the estimators' pairs, and on hostile counts.

By hand, with λ = 1:
                a   b   c   all
    class 1     2   2   0    4
    class 2     1   0   4    5
    class 3     0   3   1    4        V = 3, one document each, and the query is a once, b twice

`class_norm` divides by 4, 5 and 4; the smoothed sum of every class is 1 + 3:

    class 1     P(a) (2/4 + 1)/4 3/8     P(b) (2/4 + 1)/4 3/8
    class 2     P(a) (1/5 + 1)/4 3/10    P(b) (0 + 1)/4   1/4
    class 3     P(a) (0 + 1)/4   1/4     P(b) (3/4 + 1)/4 7/16

The rests are a 1, b 3, c 5 (of 9) of class 1, a 2, b 5, c 1 (of 8) of class 2, a 3, b 2, c 4 (of 9) of class 3.  Each
class has one document of three: the odds are 1 to 2.
"""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bunrui import TextClassifier
from bunrui.errors import OptionError
from bunrui.estimators import BernoulliNB, BinaryNB, MixedNB, MultinomialNB
from bunrui.estimators.multilabel import count_labels
from bunrui.estimators.multilabel import log_odds as pair_odds
from bunrui.models import MODELS
from bunrui.models.linear import dense_table
from bunrui.models.rest import log_label_prior
from bunrui.models.scorer import Scorer, Smoothing, log_prior, smoothing_of
from bunrui.models.view import View, whole
from tests.support.examples import examples

DOCUMENTS: list[dict[str, int]] = [{"a": 2, "b": 2}, {"a": 1, "c": 4}, {"b": 3, "c": 1}]
QUERY = {"a": 1, "b": 2}

COUNTING = ("multinomial", "binary", "mixed")
OPTIONS = [
    *((model, {"class_norm": True}) for model in COUNTING),
    *((model, {"against_rest": True}) for model in (*COUNTING, "bernoulli")),
    *((model, {"class_norm": True, "against_rest": True}) for model in COUNTING),
]
every = pytest.mark.parametrize(("model", "options"), OPTIONS)


def learned(documents: list[dict[str, int]], labels: list[Any]) -> TextClassifier:
    return TextClassifier("multinomial").learn(documents, labels)


def scores(view: View, scorer: Scorer, query: dict[str, int]) -> list[float]:
    """Of one document, by label; words that are no features are left out."""
    table = dense_table(view, scorer)
    words = view.words_of(view.feature_ids())
    x = np.array([query.get(word, 0) for word in words], np.float64)
    if scorer.presence:
        x = np.minimum(x, 1)
    return dict_of(view, x @ table + scorer.bias)


def dict_of(view: View, values: Any) -> Any:
    labels = view.counts.labels
    return [values[labels.index(label)] for label in sorted(labels)]


def hand(model: str, **options: bool) -> list[float]:
    counts = learned(DOCUMENTS, ["1", "2", "3"]).counts
    view = whole(counts)
    scorer = MODELS[model].scorer(view, Smoothing(1.0), log_prior(counts, "empirical"), **options)
    return scores(view, scorer, QUERY)


def test_class_norm_by_hand() -> None:
    expected = [
        Fraction(1, 3) * Fraction(3, 8) * Fraction(3, 8) ** 2,
        Fraction(1, 3) * Fraction(3, 10) * Fraction(1, 4) ** 2,
        Fraction(1, 3) * Fraction(1, 4) * Fraction(7, 16) ** 2,
    ]
    assert hand("multinomial", class_norm=True) == pytest.approx([log(p) for p in expected], rel=1e-13)
    # A repeated word counts once.
    assert hand("mixed", class_norm=True)[0] == pytest.approx(
        log(Fraction(1, 3) * Fraction(3, 8) * Fraction(3, 8)), rel=1e-13
    )
    # Each class has two words once: 1/2 of it, so (1/2 + 1)/4 and 1/4.
    expected = [
        Fraction(1, 3) * Fraction(3, 8) * Fraction(3, 8),
        Fraction(1, 3) * Fraction(3, 8) * Fraction(1, 4),
        Fraction(1, 3) * Fraction(1, 4) * Fraction(3, 8),
    ]
    assert hand("binary", class_norm=True) == pytest.approx([log(p) for p in expected], rel=1e-13)


@pytest.mark.parametrize(
    ("class_norm", "expected"),
    [
        (
            False,
            [
                (Fraction(3, 7) * Fraction(3, 7) ** 2) / (Fraction(2, 12) * Fraction(4, 12) ** 2),
                (Fraction(2, 8) * Fraction(1, 8) ** 2) / (Fraction(3, 11) * Fraction(6, 11) ** 2),
                (Fraction(1, 7) * Fraction(4, 7) ** 2) / (Fraction(4, 12) * Fraction(3, 12) ** 2),
            ],
        ),
        (
            True,
            [
                (Fraction(3, 8) * Fraction(3, 8) ** 2) / (Fraction(10, 36) * Fraction(12, 36) ** 2),
                (Fraction(3, 10) * Fraction(1, 4) ** 2) / (Fraction(10, 32) * Fraction(13, 32) ** 2),
                (Fraction(1, 4) * Fraction(7, 16) ** 2) / (Fraction(12, 36) * Fraction(11, 36) ** 2),
            ],
        ),
    ],
)
def test_against_rest_by_hand(class_norm: bool, expected: list[Fraction]) -> None:
    found = hand("multinomial", against_rest=True, class_norm=class_norm)
    assert found == pytest.approx([log(Fraction(1, 2) * odds) for odds in expected], rel=1e-13)


def test_bernoulli_against_rest_by_hand() -> None:
    """P = (d + 1)/(1 + 2) in the class, (d + 1)/(2 + 2) in the rest; c is absent."""
    expected = [
        Fraction(1, 2)
        * (Fraction(2, 3) * Fraction(2, 3) * Fraction(2, 3))
        / (Fraction(2, 4) * Fraction(2, 4) * Fraction(1, 4)),
        Fraction(1, 2)
        * (Fraction(2, 3) * Fraction(1, 3) * Fraction(1, 3))
        / (Fraction(2, 4) * Fraction(3, 4) * Fraction(2, 4)),
        Fraction(1, 2)
        * (Fraction(1, 3) * Fraction(2, 3) * Fraction(1, 3))
        / (Fraction(3, 4) * Fraction(2, 4) * Fraction(2, 4)),
    ]
    assert hand("bernoulli", against_rest=True) == pytest.approx([log(p) for p in expected], rel=1e-13)


# Brute force

WORDS = "abcde"
documents = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(WORDS), st.integers(1, 40), max_size=4),
        st.sets(st.sampled_from("pqrs"), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=7,
)
smoothings = st.one_of(
    st.floats(1e-9, 50).map(Smoothing),
    st.just(smoothing_of("mle", None, 1.0)),
    st.fixed_dictionaries({"a": st.floats(1e-3, 9), "c": st.floats(1e-3, 9)}).map(lambda by: Smoothing(0.5, by)),
)


def brute_force(
    docs: list[tuple[dict[str, int], set[str]]],
    label: str,
    smoothing: Smoothing,
    prior: float,
    query: dict[str, int],
    model: str,
    *,
    class_norm: bool = False,
    against_rest: bool = False,
) -> float:
    """The formula, document by document."""
    words = sorted({word for words, _ in docs for word in words})
    read = {word: min(n, 1) if model != "multinomial" else n for word, n in query.items() if word in words}

    def likelihood(side: list[dict[str, int]]) -> float:
        counts = {
            w: sum(min(d.get(w, 0), 1) if model in ("binary", "bernoulli") else d.get(w, 0) for d in side)
            for w in words
        }
        lam = {w: smoothing.by_word.get(w, smoothing.value) for w in words}
        if model == "bernoulli":
            return sum(
                log(((counts[w] if w in read else len(side) - counts[w]) + lam[w]) / (len(side) + 2 * lam[w]))
                for w in words
            )
        size = sum(counts.values())
        shares = {w: n / size if class_norm and size else n for w, n in counts.items()}
        below = (1 if class_norm and size else size) + sum(lam.values())
        below = 1.0 if smoothing.vanishing and not size else below
        return sum(n * (log(shares[w] + lam[w]) - log(below)) for w, n in read.items())

    own = likelihood([words for words, labels in docs if label in labels])
    if not against_rest:
        return log(prior) + own
    return (
        log(prior / max(1 - prior, 1e-100)) + own - likelihood([words for words, labels in docs if label not in labels])
    )


@every
@given(docs=documents, smoothing=smoothings, query=st.dictionaries(st.sampled_from(WORDS + "z"), st.integers(1, 9)))
@settings(max_examples=examples(60))
def test_brute_force(model: str, options: dict[str, bool], docs: Any, smoothing: Smoothing, query: Any) -> None:
    """Documents with several labels count once in the rest."""
    if model == "bernoulli" and not smoothing.is_single:
        return
    clf = learned([words for words, _ in docs], [labels for _, labels in docs])
    view, labels = whole(clf.counts), sorted(clf.counts.labels)
    scorer = MODELS[model].scorer(view, smoothing, log_label_prior(clf.counts, "empirical"), **options)
    prior = [sum(label in its for _, its in docs) / len(docs) for label in labels]
    expected = [
        brute_force(docs, label, smoothing, prior[k], query, model, **options) for k, label in enumerate(labels)
    ]
    # Sums of logarithms of 1e-100 cancel to 0.
    room = 1e-12 * max(1.0, abs(log(smoothing.value))) * (len(WORDS) + sum(query.values()))
    np.testing.assert_allclose(scores(view, scorer, query), expected, rtol=1e-11, atol=room)


@every
@pytest.mark.parametrize("n_classes", [3, 20])
def test_through_the_kernels(model: str, options: dict[str, bool], n_classes: int) -> None:
    """Few documents are scored from the weights of their words, many from a table; with 16 classes it is not square."""
    clf = TextClassifier(model, alpha=0.3, unseen="smooth", **options)
    clf.learn([DOCUMENTS[k % 3] | {f"w{k}": k + 1} for k in range(n_classes)], [f"{k:02}" for k in range(n_classes)])
    view = whole(clf.counts)
    scorer = MODELS[model].scorer(view, Smoothing(0.3), log_prior(clf.counts, "empirical"), **options)
    known = clf.scores([QUERY])[0].tolist()
    assert known == pytest.approx(scores(view, scorer, QUERY), rel=1e-12)
    assert clf.scores([QUERY] * 50)[49].tolist() == known
    unseen = dict_of(view, scorer.unseen)
    assert clf.scores([QUERY | {"never": 1}])[0].tolist() == pytest.approx(np.add(known, unseen), rel=1e-12)


@every
def test_cells_of_some_classes_are_not_weighed_as_all(model: str, options: dict[str, bool]) -> None:
    view = whole(learned(DOCUMENTS, ["1", "2", "3"]).counts)
    scorer = MODELS[model].scorer(view, Smoothing(0.3), np.zeros(3), **options)
    assert scorer.everywhere == (
        options.get("against_rest", False) and ("class_norm" in options or model == "bernoulli")
    )
    if scorer.everywhere:
        with pytest.raises(ValueError, match="from a view that is filled"):
            scorer.weigh(view.gather(view.feature_ids(), scorer.by_docs))


def test_too_many_cells_for_weights_of_every_class(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = TextClassifier("bernoulli", against_rest=True).learn(DOCUMENTS, ["1", "2", "3"])
    monkeypatch.setattr("bunrui.models.view._MOST_FILLED", 8)
    with pytest.raises(OptionError, match=r"leave against_rest out, or read fewer .* with min_df or max_features"):
        clf.scores([QUERY] * 50)


def test_a_word_that_was_never_learned() -> None:
    """λ/(N + Λ) of the class, or its ratio to that of the rest."""
    counts = learned(DOCUMENTS, ["1", "2", "3"]).counts
    view, prior = whole(counts), log_prior(counts, "uniform")

    def unseen(model: str, **options: bool) -> Any:
        return MODELS[model].scorer(view, Smoothing(1.0), prior, **options).unseen.tolist()

    assert unseen("multinomial", class_norm=True) == pytest.approx([log(1 / 4)] * 3)
    expected = [log(12 / 7), log(11 / 8), log(12 / 7)]
    assert unseen("multinomial", against_rest=True) == pytest.approx(expected)
    assert unseen("multinomial", class_norm=True, against_rest=True) == pytest.approx([0.0] * 3, abs=1e-15)
    assert unseen("bernoulli", against_rest=True) == pytest.approx([log(4 / 3)] * 3)


# The pairs of MultilabelNB, which are dense

PAIRS: dict[str, Any] = {
    "multinomial": MultinomialNB,
    "binary": BinaryNB,
    "mixed": MixedNB,
    "bernoulli": BernoulliNB,
}


@pytest.mark.parametrize(("model", "options"), [each for each in OPTIONS if "against_rest" in each[1]])
@pytest.mark.parametrize("alpha", [1.0, 0.05, 3.0])
@pytest.mark.parametrize("several", [False, True], ids=["one label", "several labels"])
def test_pairs(model: str, options: dict[str, bool], alpha: float, several: bool) -> None:
    rng = np.random.default_rng(11)
    Y = np.eye(4, dtype=np.int64)[rng.choice(4, 40, p=[0.6, 0.2, 0.15, 0.05])]
    if several:
        Y |= rng.random(Y.shape) < 0.2
    Y[:4] = np.eye(4)
    X, Q = rng.poisson(0.3 + 2.0 * (Y @ rng.gamma(0.3, 1.0, (4, 30)))), rng.poisson(0.5, (20, 30))
    X[:, 0] = 1  # a word of all documents, as many as there are
    pair = PAIRS[model](alpha=alpha, **{name: True for name in options if name == "class_norm"})
    counted = count_labels(
        pair.rows_to_count(X), (np.arange(4), sparse.csr_array(Y)), np.ones(len(Y), np.int64), pair.counts_presence
    )
    expected = pair_odds(pair, counted, pair.rows_to_predict(Q))

    texts = [{f"w{f}": int(n) for f, n in enumerate(row) if n} for row in X]
    clf = learned(texts, [{"pqrs"[k] for k in np.flatnonzero(row)} for row in Y])
    view = whole(clf.counts)
    assert view.n_features == (X.sum(axis=0) > 0).sum() == 30
    prior = log_label_prior(clf.counts, "empirical")
    scorer = MODELS[model].scorer(view, Smoothing(alpha), prior, **options)
    found = [scores(view, scorer, {f"w{f}": int(n) for f, n in enumerate(row) if n}) for row in Q]
    # Swapping any two classes would fail: their columns differ.
    assert min(np.abs(expected[:, a] - expected[:, b]).min() for a in range(4) for b in range(a)) > 1e-6
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
