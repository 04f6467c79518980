"""What every model promises, whatever its formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from bunrui import TextClassifier
from bunrui.errors import NotLearnedError, OptionError
from bunrui.models import AUTO, DEFAULT_MODEL, MODELS, TRAINED, kind_of
from bunrui.models.model import WordQuestion
from tests.support.examples import examples

every = pytest.mark.parametrize("model", MODELS)
estimators = pytest.mark.parametrize("smoothing", ["eap", "map", "mle"])
# These read a word once however often it stands there.
PRESENCE = {"binary", "mixed", "bernoulli", "binary-complement"}
WITHOUT_PRIOR = {"complement", "wcnb", "binary-complement"}

TEXTS = [["p", "p", "both"], ["q", "both"], ["q", "q", "r"], [], ["r"]]
LABELS = ["P", "Q", "Q", "nothing", "R"]
QUERIES = [["p"], ["q"], ["r"], ["both", "p", "p"], ["never"], [], ["p", "q", "r", "both", "never"]]


def learned(model: str, **options: Any) -> TextClassifier:
    return TextClassifier(model, **options).learn(TEXTS, LABELS)


@every
@estimators
@pytest.mark.parametrize("prior", ["empirical", "uniform", "smoothed", {"P": 0.5, "Q": 0.2, "R": 0.2, "nothing": 0.1}])
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_scores_are_finite_and_probabilities_sum_to_one(model: str, smoothing: str, prior: Any, unseen: str) -> None:
    clf = learned(model, smoothing=smoothing, prior=prior, unseen=unseen)
    assert clf.scores(QUERIES).shape == (len(QUERIES), 4)
    assert np.isfinite(clf.scores(QUERIES)).all()
    found = clf.predict_proba(QUERIES)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert ((found >= 0) & (found <= 1)).all()
    assert (found.argmax(axis=1) == clf.scores(QUERIES).argmax(axis=1)).all()


@every
@estimators
def test_one_class_and_no_words(model: str, smoothing: str) -> None:
    """Denominators and sums of weights may be zero here."""
    for texts in ([["a"]], [[]], [["a", "b"], []]):
        clf = TextClassifier(model, smoothing=smoothing).learn(texts, ["x"] * len(texts))
        assert np.isfinite(clf.scores([["a"], [], ["never"]])).all()
        assert clf.predict_proba([["a"], []]).tolist() == [[1.0], [1.0]]
        assert clf.predict([["a"]]).tolist() == ["x"]
    clf = TextClassifier(model, smoothing=smoothing).learn([[], [], []], ["x", "y", "y"])
    assert np.isfinite(clf.scores([["a"], []])).all()


@every
@estimators
def test_words_speak_for_their_class(model: str, smoothing: str) -> None:
    clf = learned(model, smoothing=smoothing)
    assert clf.predict([["p", "both"], ["q", "both"], ["q", "q", "r"]]).tolist() == ["P", "Q", "Q"]
    # Swapped classes or a wrong sign would show here.
    texts = [["cheap", "pills"], ["cheap", "watch"], ["noon", "meeting"], ["meeting", "tomorrow"], ["noon", "lunch"]]
    spam = TextClassifier(model, smoothing=smoothing).learn(texts, ["spam", "spam", "ham", "ham", "ham"])
    assert spam.predict([["cheap"], ["noon", "meeting"], ["pills", "watch"]]).tolist() == ["spam", "ham", "spam"]


@every
def test_a_class_without_words_loses_under_mle(model: str) -> None:
    """Against the class that a word belongs to; with λ = 0 it would have 0/0."""
    texts: list[list[str]] = [["p", "p"], ["q"], ["r"], *[[]] * 50]
    clf = TextClassifier(model, smoothing="mle").learn(texts, ["P", "Q", "R", *["none"] * 50])
    assert clf.predict([["p"], ["q"], ["q", "q", "p"]])[:2].tolist() == ["P", "Q"]
    none = clf.classes_.tolist().index("none")
    for query in (["p"], ["q"], ["p", "q"], ["p"] * 20):
        scores = clf.scores([query])[0]
        # Weights that are divided by their sum are below 1.
        assert scores[none] < scores.max() - (0.1 if model == "wcnb" else 10), query


@every
@estimators
def test_an_empty_document_gets_the_answer_of_the_prior(model: str, smoothing: str) -> None:
    if model == "bernoulli":
        # A document without words says of every word that it is absent.
        prior = learned(model, smoothing=smoothing).with_model("multinomial").scores([[]])[0]
        assert not np.allclose(learned(model, smoothing=smoothing).scores([[]])[0], prior)
        return
    clf = learned(model, smoothing=smoothing)
    expected = [0.0] * 4 if model in WITHOUT_PRIOR else np.log([1 / 5, 2 / 5, 1 / 5, 1 / 5]).tolist()
    assert clf.classes_.tolist() == ["P", "Q", "R", "nothing"]
    for text in ([], ["never"], ["never", "ever"]):
        assert clf.scores([text])[0].tolist() == pytest.approx(expected, rel=1e-14)
        assert clf.predict([text]).tolist() == ["P" if model in WITHOUT_PRIOR else "Q"]


@every
def test_priors(model: str) -> None:
    clf = learned(model)
    shift = clf.with_model(prior="uniform").scores(QUERIES) - clf.scores(QUERIES)
    if model in WITHOUT_PRIOR:
        assert (shift == 0).all()
        return
    np.testing.assert_allclose(shift, np.tile(np.log(1 / 4) - np.log([1 / 5, 2 / 5, 1 / 5, 1 / 5]), (7, 1)), rtol=1e-9)
    shift = clf.with_model(prior="smoothed").scores(QUERIES) - clf.with_model(prior="uniform").scores(QUERIES)
    np.testing.assert_allclose(shift, np.tile(np.log([2 / 9, 3 / 9, 2 / 9, 2 / 9]) - np.log(1 / 4), (7, 1)), rtol=1e-9)


@every
def test_unseen_words(model: str) -> None:
    clf = learned(model)
    known, unknown = [["p", "q"]], [["p", "never", "q", "ever"]]
    assert clf.scores(unknown).tolist() == clf.scores(known).tolist()
    smooth = clf.with_model(unseen="smooth")
    assert smooth.scores(known).tolist() == clf.scores(known).tolist()
    difference = smooth.scores(unknown) - smooth.scores(known)
    # The score of a complement rises with words that are rare elsewhere.
    assert (difference > 0).all() if model in WITHOUT_PRIOR else (difference < 0).all()


@every
def test_a_word_that_has_gone_is_unseen(model: str) -> None:
    clf = learned(model).learn([["gone", "p"]], ["P"])
    clf.unlearn([["gone", "p"]], ["P"])
    for unseen in ("ignore", "smooth"):
        reader, never = clf.with_model(unseen=unseen), learned(model, unseen=unseen)
        for queries in ([["gone", "p"]], [["gone", "p"]] * 50):
            assert reader.scores(queries).tolist() == never.scores(queries).tolist()


@every
def test_repeated_words(model: str) -> None:
    scores = learned(model).scores([["p", "q", "p", "p"], ["p", "q"]])
    assert (scores[0].tolist() == scores[1].tolist()) == (model in PRESENCE)
    weighted = learned(model).scores([{"p": 3, "q": 1}])
    np.testing.assert_allclose(weighted[0], scores[0], rtol=1e-14)


@every
@given(order=st.permutations(["p", "q", "q", "r", "both", "never", "p"]))
@settings(max_examples=examples(10))
def test_the_order_of_words_does_not_matter(model: str, order: list[str]) -> None:
    clf = learned(model)
    np.testing.assert_allclose(clf.scores([order]), clf.scores([sorted(order)]), rtol=1e-13)


@every
def test_ties_go_to_the_label_that_sorts_first(model: str) -> None:
    clf = TextClassifier(model).learn([["a"], ["a"], ["a"]], ["z", "m", "日"])
    assert clf.predict([["a"], [], ["never"]]).tolist() == ["m", "m", "m"]


@every
def test_columns_are_sorted_whatever_came_first(model: str) -> None:
    clf = TextClassifier(model)
    for text, label in zip(TEXTS[::-1], LABELS[::-1], strict=True):
        clf.learn([text], [label])
    assert clf.classes_.tolist() == ["P", "Q", "R", "nothing"]
    assert clf.scores(QUERIES).tolist() == learned(model).scores(QUERIES).tolist()


@every
def test_one_classifier_answers_as_any_model(model: str) -> None:
    for other in MODELS:
        reader = learned(other).with_model(model)
        assert reader.model == model
        assert reader.scores(QUERIES).tolist() == learned(model).scores(QUERIES).tolist()


@every
def test_many_classes(model: str) -> None:
    """Lists of a word's classes that are short, long enough to be kept as rows, and full."""
    n = 120
    texts = [[f"own{k}", "all", *(["some"] if k % 7 == 0 else []), *(["most"] if k % 2 == 0 else [])] for k in range(n)]
    labels = [f"c{k:03}" for k in range(n)]
    clf = TextClassifier(model).learn(texts, labels)
    queries = [["own3"], ["all"], ["some", "own7"], ["most", "all", "all"], ["own0", "own1"]]
    few, many = clf.scores(queries), clf.with_model().scores(queries * 20)
    assert np.array_equal(np.tile(few, (20, 1)).view(np.int64), many.view(np.int64))
    assert clf.predict(texts).tolist() == labels
    if model == "multinomial":
        vectorizer = CountVectorizer(analyzer=lambda words: words)
        peer = MultinomialNB(alpha=MODELS[model].alpha).fit(vectorizer.fit_transform(texts), labels)
        np.testing.assert_allclose(few, peer.predict_joint_log_proba(vectorizer.transform(queries)), rtol=1e-12)


@every
def test_scores_read_and_do_not_write(model: str) -> None:
    clf = learned(model)
    before, version = clf.counts.copy(), clf.counts.version
    clf.scores([["p", "new word"]])
    clf.predict([["new word"]] * 100)
    assert clf.counts == before
    assert clf.counts.version == version


def test_the_default_is_one_of_them() -> None:
    assert TextClassifier().model == AUTO
    assert TextClassifier().effective_options["model"] == DEFAULT_MODEL in MODELS
    assert all(0 < model.alpha <= 1 for model in MODELS.values())
    assert all(model.takes_label_sets for model in MODELS.values())


# --- the protocol, which trained models follow too

ON_TEXT = [*MODELS, *(name for name, kind in TRAINED.items() if kind.on_text)]


@pytest.mark.parametrize("name", ON_TEXT)
def test_a_model_answers_from_what_its_memory_has_learned(name: str) -> None:
    clf = learned(name)
    model = clf.current_model
    assert model is clf.current_model
    classes, scores = model.scores(QUERIES)
    assert classes == sorted(set(LABELS)) and scores.shape == (len(QUERIES), 4)
    best = model.best(QUERIES, 2)
    assert np.array_equal(best.scores, -np.sort(-scores, axis=1)[:, :2])
    assert best.labels[:, 0].tolist() == [classes[k] for k in scores.argmax(axis=1)]
    found = model.explain(["p", "q"], "P", "Q")
    assert (found.label, found.against) == ("P", "Q")
    assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.difference)
    assert model.words(WordQuestion("P", word="p", top=1))[0].text == "p"
    clf.learn([["s"]], ["S"])
    assert model.scores([["s"]])[0] == sorted({*LABELS, "S"})


@pytest.mark.parametrize("name", ON_TEXT)
def test_a_model_says_whether_counts_are_enough(name: str) -> None:
    counts_only = TextClassifier().learn(TEXTS, LABELS)
    other = counts_only.with_model(name)
    assert other.needs_documents == kind_of(name).needs_documents == (name in TRAINED)
    if other.needs_documents:
        with pytest.raises(NotLearnedError, match=f"make one with TextClassifier\\('{name}'\\)"):
            other.predict(QUERIES)
    else:
        assert np.array_equal(other.scores(QUERIES), learned(name).scores(QUERIES))


@pytest.mark.parametrize("name", ON_TEXT)
def test_labels_are_held_against_the_rest_or_that_is_refused(name: str) -> None:
    clf = learned(name)
    if name in TRAINED or not MODELS[name].takes_label_sets:
        with pytest.raises(OptionError, match=f"{name} gives each document one label.* choose one of multinomial, "):
            clf.label_odds(QUERIES)
    else:
        assert clf.label_odds(QUERIES).shape == (len(QUERIES), 4)
