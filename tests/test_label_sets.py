"""Documents with several labels: each label against the rest, in `TextClassifier` and in a file."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bunrui
from bunrui import BernoulliNB, BinaryNB, MixedNB, MultilabelNB, MultinomialNB, TextClassifier
from bunrui.errors import LabelError, OptionError
from bunrui.evaluation import best_thresholds
from tests.support.waiting import PATIENCE

TEXTS = ["rice and tea", "tea tea", "rice wheat", "crude oil", "oil and rice", "gold"]
LABELS = [["grain", "drink"], ["drink"], ["grain"], ["oil"], ["oil", "grain"], ["metal"]]
TWINS: dict[str, tuple[Any, float]] = {
    "multinomial": (MultinomialNB, 0.1),
    "binary": (BinaryNB, 0.1),
    "mixed": (MixedNB, 0.1),
    "bernoulli": (BernoulliNB, 0.03),
    "complement": (MultinomialNB, 0.3),
    "binary-complement": (BinaryNB, 0.3),
}
documents = st.lists(st.sampled_from("abcdef"), max_size=6)
label_sets = st.sets(st.sampled_from(["x", "y", "z"]), min_size=1, max_size=3)


def matrix(tokens: list[list[str]]) -> np.ndarray:
    return np.array([[row.count(word) for word in "abcdef"] for row in tokens])


@pytest.mark.parametrize("model", TWINS)
@given(rows=st.lists(st.tuples(documents, label_sets), min_size=2, max_size=8), query=documents)
def test_odds_are_those_of_the_estimator(model: str, rows: list[Any], query: list[str]) -> None:
    # Every word occurs: a matrix has columns that no row has, a text does not.
    tokens = [list("abcdef"), *(row for row, _ in rows)]
    labels = [{"x"}, *(labels for _, labels in rows)]
    if len(set.union(*labels)) < 2 or any(all(name in labels_of for labels_of in labels) for name in "xyz"):
        return
    clf = TextClassifier(model).learn(tokens, [sorted(names) for names in labels])
    kind, alpha = TWINS[model]
    twin = MultilabelNB(kind(alpha=alpha)).fit(matrix(tokens), labels)
    assert clf.classes_.tolist() == twin.classes_.tolist()
    expected = twin.predict_log_odds(matrix([query]))
    np.testing.assert_allclose(clf.label_odds([query]), expected, rtol=1e-9, atol=1e-9)
    sure = np.abs(expected[0]) > 1e-6
    found = clf.predict_labels([query])[0]
    assert [name in found for name in clf.classes_[sure]] == (expected[0][sure] > 0).tolist()


def test_thresholds() -> None:
    clf = TextClassifier(analyzer="words").learn(TEXTS, LABELS)
    odds = clf.label_odds(["tea"])
    assert odds.shape == (1, 4)
    best = float(odds.max())
    assert clf.predict_labels(["tea"], threshold=best + 1) == [set()]
    assert clf.predict_labels(["tea"], threshold=-1e9) == [{"drink", "grain", "metal", "oil"}]
    assert clf.predict_labels(["tea"], threshold={"drink": best + 1, "metal": -1e9}) == [{"metal"}]
    for bad in (float("nan"), "x", None, {"drink": "high"}):
        with pytest.raises(OptionError, match="should be a number"):
            clf.predict_labels(["tea"], threshold=bad)
    expected = r"a number, not 'best': bunrui.evaluation.best_thresholds\(clf\) finds one for each label"
    with pytest.raises(OptionError, match=expected):
        clf.predict_labels(["tea"], threshold="best")  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="there is no label 'nobody'"):
        clf.predict_labels(["tea"], threshold={"nobody": 0.0})


@pytest.mark.parametrize("model", ["nbsvm", "twcnb"])
def test_models_that_tell_labels_from_each_other(model: str) -> None:
    clf = TextClassifier(model).learn(TEXTS, LABELS)
    with pytest.raises(
        OptionError, match="gives each document one label: for several labels, choose one of multinomial"
    ):
        clf.predict_labels(["tea"])
    with pytest.raises(OptionError, match="gives each document one label"):
        best_thresholds(clf, TEXTS, LABELS)


def test_in_a_file_and_after_unlearning(tmp_path: Any) -> None:
    memory = TextClassifier(analyzer="words").learn(TEXTS, LABELS)
    with bunrui.create(tmp_path / "a.bunrui", analyzer="words") as clf:
        clf.learn(TEXTS, LABELS)
        assert np.array_equal(clf.label_odds(TEXTS), memory.label_odds(TEXTS))
        clf.learn(["silver"], [["metal", "new"]])
        assert clf.predict_labels(["silver"]) == [{"metal", "new"}]
        clf.unlearn(["silver"], [["metal", "new"]])
        assert np.array_equal(clf.label_odds(TEXTS), memory.label_odds(TEXTS))


def test_against_the_rest_and_classes_of_one_size() -> None:
    texts, labels = ["a a a b", "a b", "c", "b c"], ["x", "x", "y", "z"]
    plain = TextClassifier("multinomial", analyzer="words", alpha=1.0).learn(texts, labels)
    rest = plain.with_model(against_rest=True)
    # n[a, x] = 4 of 6 words, n[a, ~x] = 0 of 3; two of four documents are x.
    assert rest.scores(["a"])[0, 0] == pytest.approx(np.log((5 / 9) / (1 / 6)))
    even = plain.with_model(class_norm=True)
    # 4/6 + 1 of 1 + 3
    assert even.scores(["a"])[0, 0] == pytest.approx(np.log((4 / 6 + 1) / 4) + np.log(0.5))
    for clf in (rest, even, plain.with_model("bernoulli", against_rest=True), even.with_model(against_rest=True)):
        found = clf.explain("a b")
        total = found.bias + sum(each.value for each in found.contributions)
        assert total == pytest.approx(found.score - found.against_score)
        assert clf.words("x", top=1)[0].text in ("a", "b")
        many = ["a b", "c"] * 40
        assert np.array_equal(clf.scores(many), np.vstack([clf.scores([text]) for text in many]))
    with pytest.raises(OptionError, match="class_norm is an option of the models multinomial, binary, mixed"):
        TextClassifier("complement", class_norm=True)
    with pytest.raises(OptionError, match="trained from documents"):
        TextClassifier("nbsvm", against_rest=True)


def test_alpha_and_priors_of_labels() -> None:
    clf = TextClassifier(analyzer="words").learn(TEXTS, LABELS)
    # Words that nobody names have the smoothing of the model.
    np.testing.assert_allclose(clf.with_model(alpha={"never": 9.0}).label_odds(TEXTS), clf.label_odds(TEXTS))
    shares = {"drink": 0.5, "grain": 0.5, "oil": 0.1, "metal": 0.9}
    moved = clf.with_model(prior=shares).label_odds(["tea"]) - clf.with_model(prior="uniform").label_odds(["tea"])
    assert moved[0] == pytest.approx([0.0, 0.0, np.log(9), -np.log(9)])
    for bad in ({"drink": 0.5}, shares | {"oil": 1.0}, shares | {"oil": 3}):
        with pytest.raises(OptionError, match="by itself should be above 0 and below 1"):
            clf.with_model(prior=bad).label_odds(["tea"])
    # One label each: shares of any size.
    one = TextClassifier("multinomial", analyzer="words", against_rest=True, prior={"x": 3, "y": 1})
    other = TextClassifier("multinomial", analyzer="words", against_rest=True, prior={"x": 0.75, "y": 0.25})
    for each in (one, other):
        each.learn(["a", "b"], ["x", "y"])
    assert one.scores(["a"]) == pytest.approx(other.scores(["a"]))


def test_words_forget_a_label_that_has_gone() -> None:
    for options in ({"model": "bernoulli"}, {"model": "multinomial", "class_norm": True}):
        clf = TextClassifier(analyzer="words", against_rest=True, **options).learn(["cheap", "noon", "b"], list("xyz"))
        before = clf.words("x", top=None)
        clf.learn(["gone"], ["w"]).unlearn(["gone"], ["w"])
        assert clf.words("x", top=None) == before


def test_labels_that_come_while_somebody_asks() -> None:
    clf = TextClassifier(analyzer="words").learn(TEXTS, LABELS)
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(100):
                clf.predict_labels(TEXTS)
        except BaseException as error:
            errors.append(error)

    asker = threading.Thread(target=ask, daemon=True)
    asker.start()
    for k in range(60):
        clf.learn([f"word{k}"], [f"label{k}"])
    asker.join(PATIENCE)
    assert not errors and not asker.is_alive()
