"""Texts without a label in a classifier in memory: they help, or do not count."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui import TextClassifier
from bunrui.errors import DataError, NotLearnedError, OptionError, UnlearnError
from bunrui.models import MODELS
from bunrui.sample import LowestDigests
from bunrui.selection import calibrate
from bunrui.unlabelled import PoolWeight
from tests.support.pools import two_topics

TEXTS, LABELS, POOL = two_topics()
QUERIES = [*POOL[:20], *TEXTS[:5], "tea1 oil2", "never seen"]


def pooled(model: str = "binary", **options: object) -> TextClassifier:
    clf = TextClassifier(model, analyzer="words", **options).learn_unlabelled(POOL)  # type: ignore[arg-type]
    return clf.learn(TEXTS, LABELS)


def test_a_pool_helps() -> None:
    clf = pooled()
    found = clf.unlabelled_
    assert found is not None and found.weight > 0 and (found.n_docs, found.n_pool) == (24, 160)
    assert found.evidence[0].weight == 0 and found.reason == ""
    true = [("tea", "oil")[k % 2] for k in range(len(POOL))]
    assert clf.score(POOL, true) > clf.with_model().score(POOL, true) + 0.1
    # counts are those of the labelled documents
    assert clf.counts == TextClassifier("binary", analyzer="words").learn(TEXTS, LABELS).counts


@pytest.mark.parametrize("model", [name for name, kind in MODELS.items() if kind.reads_fractions])
def test_explanations_add_up_to_scores(model: str) -> None:
    clf = pooled(model)
    assert clf.unlabelled_ is not None and clf.unlabelled_.weight
    for query in (QUERIES[0], "tea1 tea1 oil2 never"):
        found = clf.explain(query)
        scores = np.sort(clf.scores([query])[0])
        added = found.bias + sum(each.value for each in found.contributions)
        assert added == pytest.approx(scores[1] - scores[0], abs=1e-12)
        assert found.probabilities[found.label] == clf.predict_proba([query])[0].max()
    words = clf.words("tea", top=200)
    assert all(word.text.startswith("tea") for word in words[:20])
    learned = " ".join(TEXTS).split()
    for word in words:
        assert bool(word.counts) == (word.text in learned)  # a word of the pool has no counts


def test_a_pool_that_does_not_help_does_not_count() -> None:
    draw = random.Random(5)
    noise = [" ".join(f"noise{draw.randrange(9)}" for _ in range(5)) for _ in range(50)]
    clf = TextClassifier("binary", analyzer="words").learn_unlabelled(noise).learn(TEXTS, LABELS)
    found = clf.unlabelled_
    assert found is not None and found.weight == 0 and found.reason and len(found.evidence) == 4
    assert np.array_equal(clf.scores(QUERIES), clf.with_model().scores(QUERIES))


def test_taking_it_back_leaves_the_classifier_that_never_saw_it() -> None:
    plain = TextClassifier(analyzer="words").learn(TEXTS * 4, LABELS * 4)
    clf = TextClassifier(analyzer="words").learn(TEXTS * 4, LABELS * 4).learn_unlabelled(POOL)
    before = clf.scores(QUERIES)
    clf.unlearn_unlabelled(POOL[:80]).learn_unlabelled(POOL[:80])
    assert np.array_equal(clf.scores(QUERIES), before)
    clf.unlearn_unlabelled()
    assert clf.unlabelled_ is None and clf.choice == plain.choice
    assert np.array_equal(clf.predict_proba(QUERIES), plain.predict_proba(QUERIES))


def test_a_text_with_a_label_counts_by_its_label_alone() -> None:
    one, other = pooled(), TextClassifier("binary", analyzer="words")
    other.learn_unlabelled([*POOL, *TEXTS]).learn(TEXTS, LABELS)
    assert np.array_equal(one.scores(QUERIES), other.scores(QUERIES))


def test_where_nobody_knows_which_texts_have_a_label_the_pool_does_not_count() -> None:
    clf = pooled()
    tea = [text.split()[0] for text, label in zip(TEXTS, LABELS, strict=True) if label == "tea"]
    clf.unlearn([f"{tea[0]} {tea[1]}"], ["tea"])  # its words were learned, the text was not
    assert clf.unlabelled_ is not None and not clf.unlabelled_.weight and "never learned" in clf.unlabelled_.reason
    assert np.array_equal(clf.scores(QUERIES), clf.with_model().scores(QUERIES))


def test_documents_that_are_kept_tell_the_weight_too() -> None:
    clf = TextClassifier("nbsvm", analyzer="words").learn(TEXTS, LABELS).set_params(model="binary")
    found, expected = clf.learn_unlabelled(POOL).unlabelled_, pooled().unlabelled_
    assert found == expected and expected is not None and expected.weight


def test_documents_that_were_learned_meanwhile_are_in_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = TextClassifier("binary", analyzer="words")
    begin = clf.memory.keep_sample

    def begin_late(make: Callable[[], LowestDigests]) -> None:
        clf.learn(TEXTS[:5], LABELS[:5])
        begin(make)

    monkeypatch.setattr(clf.memory, "keep_sample", begin_late)
    with pytest.raises(NotLearnedError, match="its documents are not kept"):
        clf.learn_unlabelled(POOL)


@settings(max_examples=12, deadline=None)
@given(st.randoms(use_true_random=False))
def test_order_does_not_matter(draw: random.Random) -> None:
    expected = pooled()
    pairs, pool = list(zip(TEXTS, LABELS, strict=True)), [*POOL, *POOL[:9]]
    draw.shuffle(pairs)
    draw.shuffle(pool)
    cut, parts = draw.randrange(len(pool)), sorted(draw.sample(range(1, len(pairs)), 2))
    clf = TextClassifier("binary", analyzer="words").learn_unlabelled(pool[: cut + 1])
    for some in (pairs[: parts[0]], pairs[parts[0] : parts[1]], pairs[parts[1] :]):
        clf.learn([text for text, _ in some], [label for _, label in some])
    clf.learn_unlabelled(pool)
    assert clf.unlabelled_ == expected.unlabelled_
    assert np.array_equal(clf.scores(QUERIES), expected.scores(QUERIES))


def test_merged_and_copied() -> None:
    expected = pooled()
    one, other = (TextClassifier("binary", analyzer="words") for _ in range(2))
    one.learn_unlabelled(POOL[:100]).learn(TEXTS[:9], LABELS[:9])
    other.learn_unlabelled(POOL[50:]).learn(TEXTS[9:], LABELS[9:])
    for clf in (one.merge(other), pickle.loads(pickle.dumps(expected))):
        assert clf.unlabelled_ == expected.unlabelled_
        assert np.array_equal(clf.scores(QUERIES), expected.scores(QUERIES))


def test_calibrated_by_the_folds_where_the_model_is_chosen() -> None:
    texts, labels, pool = two_topics(n_labelled=60, n_pool=200, seed=4)
    clf = TextClassifier(analyzer="words").learn(texts, labels).learn_unlabelled(pool)
    assert clf.unlabelled_ is not None and clf.unlabelled_.weight and clf.is_calibrated
    assert not clf.with_model().is_calibrated
    before = clf.predict_proba(QUERIES)
    with pytest.raises(OptionError, match=r"calibrated with them already.*take all texts"):
        calibrate(clf, texts, labels)
    assert np.array_equal(clf.predict_proba(QUERIES), before)
    clf.unlearn_unlabelled()
    assert clf.is_calibrated
    calibrate(clf, texts, labels)
    assert clf.is_calibrated and clf.calibration is not None and not clf.calibration.by_choice


def test_bad_input() -> None:
    with pytest.raises(OptionError, match="bernoulli does not read fractions") as refused:
        TextClassifier("bernoulli").learn_unlabelled(POOL)
    assert "binary-complement" in str(refused.value)
    with pytest.raises(OptionError, match="min_df is 2"):
        TextClassifier("binary", min_df=2).learn_unlabelled(POOL)
    with pytest.raises(OptionError, match="no texts"):
        TextClassifier().learn_unlabelled([])
    with pytest.raises(NotLearnedError, match="before the first labelled documents"):
        TextClassifier("binary").learn(TEXTS, LABELS).learn_unlabelled(POOL)
    clf = pooled()
    before = clf.scores(QUERIES)
    with pytest.raises(UnlearnError, match="text 1 is not among"):
        clf.unlearn_unlabelled([POOL[0], "another"])
    assert np.array_equal(clf.scores(QUERIES), before)
    with pytest.raises(OptionError, match="without a label"):
        clf.to_sklearn()
    for model, reason in (("wcnb", "fractions"), ("mixed", "fractions")):
        clf.set_params(model=model)
        assert clf.unlabelled_ is not None and not clf.unlabelled_.weight and reason in clf.unlabelled_.reason
    several = TextClassifier(analyzer="words").learn_unlabelled(POOL)
    several.learn(TEXTS, [[label] for label in LABELS[:-1]] + [["tea", "oil"]])
    assert several.unlabelled_ is not None and several.unlabelled_.reason == "some documents have several labels"


def test_a_weight_as_a_dictionary() -> None:
    found = pooled().unlabelled_
    assert found is not None and PoolWeight.from_dict(found.to_dict()) == found
    for wrong in (None, {}, {**found.to_dict(), "weight": 5.0}, {**found.to_dict(), "evidence": [{"weight": 1}]}):
        with pytest.raises(DataError):
            PoolWeight.from_dict(wrong)
