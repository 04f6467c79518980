"""`TextClassifier` with the habits of scikit-learn: weights of documents, log probabilities, decisions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from bunrui import TextClassifier
from bunrui.errors import DataError, OptionError, UnlearnError
from bunrui.models import MODELS, TRAINED
from tests.support.choosing import choosing
from tests.support.examples import examples

TEXTS = ["cheap pills", "pills now, pills", "win money", "lunch?", "lunch at noon", "meeting at noon", "料金が無料", ""]
LABELS = ["spam", "spam", "money", "ham", "ham", "ham", "spam", "ham"]
QUERIES = ["pills for free", "noon?", "無料です", "", "money money at lunch", "never seen"]
WEIGHTS = [3, 1, 0, 2, 1, 5, 1, 1]


def repeated(values: Any, weights: Any) -> list[Any]:
    return [value for value, n in zip(values, weights, strict=True) for _ in range(int(n))]


def state_of(clf: TextClassifier) -> Any:
    """All that a classifier knows of its documents besides the counts."""
    assert clf.memory.sample is not None
    drawn = clf.memory.sample.draw(len(clf.classes_))
    return drawn.texts, drawn.labels, drawn.copies.tolist(), drawn.is_common.tolist(), clf.choice


# Weights


@pytest.mark.parametrize("model", MODELS)
def test_weights_are_repeated_documents(model: str) -> None:
    weighted = TextClassifier(model).learn(TEXTS, LABELS, sample_weight=WEIGHTS)
    plain = TextClassifier(model).learn(repeated(TEXTS, WEIGHTS), repeated(LABELS, WEIGHTS))
    assert weighted.counts == plain.counts
    assert weighted.classes_.tolist() == plain.classes_.tolist() == ["ham", "spam"]
    assert weighted.scores(QUERIES).tobytes() == plain.scores(QUERIES).tobytes()


LETTERS = st.text(st.sampled_from("ab 東京!"), max_size=6)
NAMES = st.sampled_from("xyz")
DOCUMENTS = st.tuples(LETTERS, st.one_of(NAMES.map(lambda x: {x}), st.sets(NAMES, min_size=1)), st.integers(0, 9))


@given(st.lists(DOCUMENTS, min_size=1, max_size=30), st.lists(DOCUMENTS, max_size=5), st.integers(0, 30))
@settings(max_examples=examples(60))
def test_weights_are_repeated_documents_in_any_order(first: Any, more: Any, cut: int) -> None:
    texts, labels, weights = ([document[k] for document in first] for k in range(3))
    if not any(weights):
        weights[0] = 1
    weighted, plain = TextClassifier(), TextClassifier()
    for part in (slice(cut), slice(cut, None)):
        if any(weights[part]):
            weighted.learn(texts[part], labels[part], np.array(weights[part], float))
            plain.learn(repeated(texts[part], weights[part]), repeated(labels[part], weights[part]))
    assert weighted.counts == plain.counts and state_of(weighted) == state_of(plain)
    others, names, numbers = ([document[k] for document in more] for k in range(3))
    if any(numbers):
        weighted.partial_fit(others, names, sample_weight=numbers).unlearn(others, names, numbers)
        plain.learn(repeated(others, numbers), repeated(names, numbers))
        plain.unlearn(repeated(others, numbers), repeated(names, numbers))
        assert weighted.counts == plain.counts and state_of(weighted) == state_of(plain)
    every = TextClassifier().fit(texts, labels, sample_weight=weights)
    assert every.unlearn(texts, labels, sample_weight=weights).counts.n_docs == 0


def test_weights_of_given_features() -> None:
    bags = [{"a": 2, "b": 1}, {"b": 3}]
    weighted = TextClassifier("multinomial").learn(bags, ["x", "y"], [2, 3])
    assert weighted.counts == TextClassifier("multinomial").learn(repeated(bags, [2, 3]), list("xxyyy")).counts


def test_heavy_documents() -> None:
    clf = TextClassifier("multinomial", analyzer="words").learn(["a a b", "b"], ["x", "y"], [10**9, 1])
    assert clf.counts.class_totals() == {"x": (10**9, 3 * 10**9, 2 * 10**9), "y": (1, 1, 1)}
    assert next(iter(clf.counts.cells())) == ("a", "x", 2 * 10**9, 10**9)
    with pytest.raises(DataError, match="is more than counts can hold: give smaller weights"):
        clf.learn([{"a": 1 << 31}], ["x"], [10**9])
    assert clf.counts.n_docs == 10**9 + 1


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 2], "sample_weight should be one weight for each of 3 texts, not (2,)"),
        (2, "sample_weight should be one weight for each of 3 texts, not ()"),
        ([[1, 1, 1]], "sample_weight should be one weight for each of 3 texts, not (1, 3)"),
        ([1, -1, 1], "sample_weight of text 1 should be 0 or more, not -1.0: unlearn takes documents back"),
        ([1, 1, np.nan], "sample_weight of text 2 should be 0 or more, not nan"),
        ([np.inf, 1, 1], "sample_weight of text 0 should be 0 or more, not inf"),
        (
            [1, 0.5, 1],
            "sample_weight of text 1 should be a whole number up to 1,000,000,000, as counts are exact, not 0.5",
        ),
        ([1, 1e10, 1], "sample_weight of text 1 should be a whole number up to 1,000,000,000"),
        ([1, "two", 1], "sample_weight has a weight that is no number"),
        ([1, 2j, 1], "sample_weight has a weight that is no number"),
        ([1, 10**400, 1], "sample_weight has a weight that is no number"),
        (np.array(["2020-01-01"] * 3, "datetime64[D]"), "sample_weight has a weight that is no number"),
        ([1, None, 1], "sample_weight of text 1 should be 0 or more, not nan"),
        ([0, 0, 0], "sample_weight is 0 for all texts: leave it out"),
    ],
)
def test_wrong_weights(weights: Any, words: str) -> None:
    clf = TextClassifier().learn(["a b"], ["x"])
    before = clf.counts.copy()
    for change in (clf.learn, clf.unlearn, clf.partial_fit):
        with pytest.raises(DataError, match=re.escape(words)):
            change(["a", "b", "c"], ["x", "y", "x"], sample_weight=weights)
    assert clf.counts == before


def test_unlearning_more_than_was_learned() -> None:
    clf = TextClassifier().learn(["a b"], ["x"], [2])
    with pytest.raises(UnlearnError):
        clf.unlearn(["a b"], ["x"], [3])
    assert clf.counts.n_docs == 2


@pytest.mark.parametrize("model", [name for name in TRAINED if name != "columns"])
def test_trained_models_take_no_weights(model: str) -> None:
    with pytest.raises(OptionError, match=r"^sample_weight is for counts alone, and this classifier keeps each"):
        TextClassifier(model).learn(["a", "b"], ["x", "y"], sample_weight=[1, 2])


def test_score_with_weights() -> None:
    clf = TextClassifier().learn(TEXTS, LABELS)
    right = clf.predict(TEXTS) == LABELS
    weights = np.linspace(0.1, 2, len(TEXTS))
    assert clf.score(TEXTS, LABELS[::-1], weights) == pytest.approx(
        np.average(clf.predict(TEXTS) == LABELS[::-1], weights=weights)
    )
    assert clf.score(TEXTS, LABELS, right.astype(int)) == 1.0
    with pytest.raises(DataError, match="one weight for each of 8 texts"):
        clf.score(TEXTS, LABELS, [1])


# Beside scikit-learn's naive Bayes


@pytest.mark.parametrize(
    "weights", [None, WEIGHTS, [1, 1, 2, 1, 1, 4, 1, 3]], ids=["plain", "weights", "three classes"]
)
@pytest.mark.parametrize(
    ("model", "options", "peer"),
    [
        ("multinomial", {}, MultinomialNB()),
        ("multinomial", {"prior": "uniform"}, MultinomialNB(fit_prior=False)),
        ("bernoulli", {}, BernoulliNB()),
        ("complement", {}, ComplementNB()),
        ("wcnb", {}, ComplementNB(norm=True)),
    ],
    ids=str,
)
def test_same_as_scikit_learn(model: str, options: dict[str, Any], peer: Any, weights: Any) -> None:
    clf = TextClassifier(model, analyzer="words", alpha=1, **options).fit(TEXTS, LABELS, sample_weight=weights)
    rows = [row for row in range(len(TEXTS)) if weights is None or weights[row]]
    texts, labels = [TEXTS[row] for row in rows], [LABELS[row] for row in rows]
    pipeline = make_pipeline(CountVectorizer(token_pattern=r"\w+"), peer)
    own = None if weights is None else [weights[row] for row in rows]
    pipeline.fit(texts, labels, **{f"{type(peer).__name__.lower()}__sample_weight": own})
    assert clf.classes_.tolist() == pipeline.classes_.tolist()
    np.testing.assert_allclose(clf.predict_log_proba(QUERIES), pipeline.predict_log_proba(QUERIES), rtol=0, atol=1e-12)
    ours, theirs = clf.scores(QUERIES), pipeline[-1].predict_joint_log_proba(pipeline[0].transform(QUERIES))
    np.testing.assert_allclose(ours - ours[:, :1], theirs - theirs[:, :1], rtol=0, atol=1e-12)
    assert clf.predict(QUERIES).tolist() == pipeline.predict(QUERIES).tolist()


# Log probabilities and decisions


def test_log_probabilities() -> None:
    clf = TextClassifier("multinomial").learn(TEXTS, LABELS)
    found = clf.predict_log_proba([*QUERIES, "pills " * 2000])
    np.testing.assert_allclose(np.exp(found), clf.predict_proba([*QUERIES, "pills " * 2000]), rtol=1e-12)
    assert np.isfinite(found).all() and found.min() < -1000


def test_log_probabilities_of_a_calibrated_classifier() -> None:
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(["pills", "noon", "at", "now", "lunch"], 6)) for _ in range(300)]
    clf = TextClassifier().learn(texts, ["spam" if "pills" in text else "ham" for text in texts])
    assert clf.is_calibrated
    np.testing.assert_array_equal(clf.predict_log_proba(texts), np.log(clf.predict_proba(texts)))


def test_decisions() -> None:
    three = TextClassifier("multinomial").learn(TEXTS, LABELS)
    shares = np.exp(three.scores(QUERIES) - np.logaddexp.reduce(three.scores(QUERIES), axis=1)[:, None])
    np.testing.assert_allclose(three.decision_function(QUERIES), np.log(shares / (1 - shares)), rtol=1e-6)
    long = three.decision_function([" ".join(["pills money"] * 2000)])
    assert np.isfinite(long).all() and np.ptp(long) > 700  # where shares are 0 and 1
    assert three.classes_[three.decision_function(QUERIES).argmax(axis=1)].tolist() == three.predict(QUERIES).tolist()
    two = three.unlearn(["win money"], ["money"])
    found = two.decision_function(QUERIES)
    assert found.tolist() == two.log_odds(QUERIES, positive="spam").tolist()
    assert two.classes_[(found > 0).astype(int)].tolist() == two.predict(QUERIES).tolist()
    assert TextClassifier().learn(["a"], ["x"]).decision_function(["a", "b"]).shape == (2, 1)


def test_scikit_learn_calibrates() -> None:
    """With scores, which grow with the length of a text, calibrated predictions were much worse."""
    texts, labels = choosing(400)
    queries, true = choosing(400, seed=1)
    texts = [f"{text} {'the a of ' * (k % 50)}" for k, text in enumerate(texts)]
    clf = TextClassifier("multinomial")
    calibrated = CalibratedClassifierCV(clf, cv=3).fit(texts, labels)
    assert calibrated.score(queries, true) > clf.fit(texts, labels).score(queries, true) - 0.05


def test_tools_that_ask_for_decisions_and_weights() -> None:
    texts = [f"{word} {n % 7}" for n in range(60) for word in ("pills", "noon")]
    labels = ["spam", "ham"] * 60
    weights = np.arange(120) % 3
    assert cross_val_score(TextClassifier("binary"), texts, labels, cv=3, scoring="roc_auc").tolist() == [1.0] * 3
    clf = TextClassifier("binary").fit(texts, labels)
    assert roc_auc_score(labels, clf.decision_function(texts)) == 1.0
    search = GridSearchCV(TextClassifier("binary"), {"alpha": [0.1, 1.0]}, cv=3)
    best = search.fit(texts, labels, sample_weight=weights).best_estimator_
    assert best.counts == TextClassifier("binary").fit(texts, labels, weights).counts
    calibrated = CalibratedClassifierCV(TextClassifier("binary"), cv=3).fit(texts, labels)
    assert calibrated.predict(["pills", "noon"]).tolist() == ["spam", "ham"]
