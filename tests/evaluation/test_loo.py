"""Leave-one-out against its definition: learn all the other documents, and score the one that was left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bunrui
from bunrui import AnalyzerSpec, TextClassifier
from bunrui.errors import DataError, LabelError, OptionError, UnlearnError
from bunrui.evaluation.loo import Corpus, Labelled, LeftOutExplainer, leave_one_out, loo_log_odds, loo_scores
from bunrui.evaluation.result import explain_against
from bunrui.models import MODELS, loo
from bunrui.selection import calibrate
from tests.support.choosing import choosing
from tests.support.examples import examples, quick
from tests.support.models import BY_WORD

Floats = npt.NDArray[np.float64]

every = pytest.mark.parametrize("model", MODELS)
against_the_rest = pytest.mark.parametrize("model", [name for name, kind in MODELS.items() if kind.takes_label_sets])

TEXTS = [["p", "p", "both"], ["q", "both"], ["q", "q", "r"], [], ["r"], ["alone", "alone"], ["p", "q", "both", "p"]]
LABELS = ["P", "Q", "Q", "P", "R", "P", "P"]


def names_of(labels: Sequence[Any]) -> list[str]:
    return sorted({name for label in labels for name in ([label] if isinstance(label, str) else label)})


def refitted(
    texts: Sequence[Any], labels: Sequence[Any], *, score: Any = TextClassifier.scores, **options: Any
) -> tuple[list[str], Floats]:
    """The definition."""
    classes = names_of(labels)
    out = np.full((len(texts), len(classes)), -np.inf)
    for d in range(len(texts)):
        others = [k for k in range(len(texts)) if k != d]
        clf = TextClassifier(**options).learn([texts[k] for k in others], [labels[k] for k in others])
        out[d, [classes.index(name) for name in clf.classes_.tolist()]] = score(clf, [texts[d]])[0]
    return classes, out


def check(texts: Sequence[Any], labels: Sequence[Any], **options: Any) -> None:
    clf = TextClassifier(**options)
    classes, scores = loo_scores(clf, texts, labels)
    expected_classes, expected = refitted(texts, labels, **options)
    assert classes.tolist() == expected_classes
    np.testing.assert_array_equal(scores, expected)
    found = leave_one_out(clf, texts, labels)
    assert found.classes.tolist() == expected_classes
    assert found.predictions.tolist() == [expected_classes[k] for k in expected.argmax(axis=1)]
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-9)
    assert (found.probabilities[np.isneginf(expected)] == 0).all()
    assert clf.counts.n_docs == 0


# --- the definition, on whatever Hypothesis draws

words = st.sampled_from([*"abcdefgh", "long-enough-to-need-its-bytes-compared"])
token_lists = st.lists(words, max_size=8)
documents = st.one_of(
    st.lists(token_lists, min_size=2, max_size=9),
    st.lists(st.dictionaries(words, st.integers(0, 4), max_size=5), min_size=2, max_size=7),
    st.lists(token_lists.map(" ".join), min_size=2, max_size=7),
)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    texts = draw(documents)
    # With 16 classes and more, lists of cells are no longer filled up.
    names = [f"c{k:02}" for k in range(draw(st.sampled_from([1, 2, 3, 20])))]
    label: st.SearchStrategy[Any] = st.sampled_from(names)
    if draw(st.booleans()):
        label = st.sets(st.sampled_from(names), min_size=1, max_size=3)
    return texts, draw(st.lists(label, min_size=len(texts), max_size=len(texts)))


def smoothings(model: str) -> st.SearchStrategy[dict[str, Any]]:
    by_word = st.dictionaries(words, st.floats(1.01, 3), min_size=1)
    alphas = st.one_of(st.none(), st.floats(1.001, 4))
    if model in BY_WORD:
        alphas = st.one_of(alphas, by_word)
    smooth = st.fixed_dictionaries({"smoothing": st.sampled_from(["eap", "map"]), "alpha": alphas})
    return st.one_of(smooth, st.just({"smoothing": "mle"}))


priors = st.one_of(
    st.sampled_from(["empirical", "uniform", "smoothed", ("smoothed", 0.3)]),
    st.lists(st.floats(0.01, 1), min_size=20, max_size=20).map(lambda p: {f"c{k:02}": p[k] for k in range(20)}),
)


GIVEN = {f"c{k:02}": (k + 1) / 30 for k in range(20)}


@every
@given(data=st.data())
@settings(max_examples=examples(60))
def test_equals_learning_the_other_documents(model: str, data: st.DataObject) -> None:
    texts, labels = data.draw(corpora())
    options = {
        "analyzer": data.draw(st.sampled_from(["words", "universal"])),
        "prior": data.draw(priors),
        "unseen": data.draw(st.sampled_from(["ignore", "smooth"])),
        "min_df": data.draw(st.sampled_from([1, 1, 2, 3])),
        **data.draw(smoothings(model)),
        **data.draw(st.fixed_dictionaries({name: st.booleans() for name in MODELS[model].options})),
    }
    check(texts, labels, model=model, **options)


@every
@pytest.mark.parametrize("prior", ["empirical", "uniform", ("smoothed", 0.3)])
@pytest.mark.parametrize("has_sets", [False, True])
def test_short_documents_of_many_classes_share_their_numbers(model: str, prior: Any, has_sets: bool) -> None:
    # Sixty documents of a few kinds: two words or three, and perhaps one that no other has.  One label is alone.
    rng = np.random.default_rng(0)
    texts = [[f"w{w}" for w in rng.integers(0, 9, 2 + d % 2)] + [f"only{d}"] * (d % 4 == 0) for d in range(60)]
    labels: list[Any] = ["alone", *(f"c{c:02}" for c in rng.integers(0, 12, 59))]
    if has_sets:
        labels = [{label, f"c{d % 5:02}"} if d % 3 == 0 else {label} for d, label in enumerate(labels)]
    for variants in ({}, *({name: True} for name in MODELS[model].options)):
        check(texts, labels, model=model, prior=prior, **variants)


@every
@given(corpus=corpora(), most=st.integers(1, 6), method=st.sampled_from(["mi", "chi2"]))
@settings(max_examples=5)
def test_selection_is_that_of_the_other_documents(
    model: str, corpus: tuple[list[Any], list[Any]], most: int, method: str
) -> None:
    check(*corpus, model=model, max_features=(method, most))


@against_the_rest
@given(data=st.data())
@settings(max_examples=examples(20))
def test_log_odds_equal_those_of_the_other_documents(model: str, data: st.DataObject) -> None:
    texts, labels = data.draw(corpora())
    options = {
        "model": model,
        "prior": data.draw(st.one_of(priors.filter(lambda prior: not isinstance(prior, dict)), st.just(GIVEN))),
        "unseen": data.draw(st.sampled_from(["ignore", "smooth"])),
        "min_df": data.draw(st.sampled_from([1, 2])),
        **data.draw(smoothings(model)),
    }
    found, odds = loo_log_odds(TextClassifier(**options), texts, labels)
    classes, expected = refitted(texts, labels, score=TextClassifier.label_odds, **options)
    assert found.tolist() == classes
    np.testing.assert_array_equal(odds, expected)


@against_the_rest
@given(corpus=corpora())
@settings(max_examples=4)
def test_log_odds_where_features_are_chosen(model: str, corpus: tuple[list[Any], list[Any]]) -> None:
    odds = loo_log_odds(TextClassifier(model, max_features=3), *corpus)[1]
    expected = refitted(*corpus, score=TextClassifier.label_odds, model=model, max_features=3)[1]
    np.testing.assert_array_equal(odds, expected)


@pytest.mark.parametrize(
    ("model", "options", "is_one_pass"),
    [
        ("binary", {"class_norm": True}, True),
        ("binary", {"class_norm": True, "min_df": 2}, False),
        ("mixed", {"against_rest": True, "min_df": 2}, True),
        ("multinomial", {"class_norm": True, "against_rest": True}, False),
        ("bernoulli", {"against_rest": True}, False),
        ("binary", {"max_features": 3}, False),
    ],
)
def test_options_for_which_one_pass_is_enough(model: str, options: dict[str, Any], is_one_pass: bool) -> None:
    assert TextClassifier(model, **options).current_model.one_pass == is_one_pass
    check(TEXTS, LABELS, model=model, **options)


# --- what is special


@every
@pytest.mark.parametrize("unseen", quick(1, ["smooth", "ignore"]))
@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        ([[], [], []], ["x", "y", "y"]),
        ([["a"], []], ["x", "y"]),
        ([["a", "b"], ["c", "c"], ["d"]], ["x", "y", "x"]),
        ([["a"], ["a"]], ["x", "x"]),
        ([["a", "b"], ["b"], ["a", "a"]], ["x", "x", "x"]),
        ([["a", "b"], ["b", "c"], ["c"]], ["x", "y", "z"]),
        ([["a", "b"], ["b", "c"], ["c"]], [{"x", "y"}, {"z"}, {"y", "z"}]),
        (TEXTS, LABELS),
    ],
    ids=["no words", "an empty one", "unique words", "twins", "one class", "classes of one", "label sets", "mixed"],
)
def test_special_corpora(model: str, unseen: str, texts: list[Any], labels: list[Any]) -> None:
    for smoothing in ("eap", "map", "mle"):
        for min_df in (1, 2):
            check(texts, labels, model=model, smoothing=smoothing, unseen=unseen, min_df=min_df)


@every
def test_a_class_with_one_document_is_never_predicted_for_it(model: str) -> None:
    found = leave_one_out(TextClassifier(model), TEXTS, LABELS)
    assert LABELS[4] == "R"
    assert found.predictions[4] != "R"
    assert found.probabilities[4, found.classes.tolist().index("R")] == 0


def test_any_of_several_labels_is_right() -> None:
    texts = [["a", "b"], ["a"], ["a"], ["c"], ["c"]]
    found = leave_one_out(TextClassifier("multinomial"), texts, [{"x", "y"}, {"x"}, {"x"}, {"z"}, {"z"}])
    assert found.predictions.tolist() == ["x", "x", "x", "z", "z"]
    assert found.metrics.accuracy == 1.0


@every
@pytest.mark.parametrize("n_classes", [3, 20])
def test_documents_that_repeat_their_words(model: str, n_classes: int) -> None:
    """Lists of cells that are short and full; many words that a document has more than once."""
    rng = np.random.default_rng(0)
    texts = [[f"w{k}" for k in rng.zipf(1.3, 40) % 50] for _ in range(24)]
    check(texts, [f"c{k % n_classes}" for k in range(24)], model=model)


@every
def test_words_of_a_few_of_many_classes(model: str) -> None:
    """A cell is found among those of a list that is not filled up."""
    texts = [[f"five{k // 10}"] * (k % 3 + 1) + [f"two{k // 4}", f"two{k // 4}", "all"] for k in range(80)]
    check(texts, [f"c{k // 2:02}" for k in range(80)], model=model)


@every
def test_many_occurrences(model: str) -> None:
    """More than weights are kept for."""
    texts = [{"a": 70_000, "b": 1}, {"a": 9_000, "b": 5_000}, {"a": 4_200, "c": 2}]
    check(texts, ["x", "x", "y"], model=model)


@pytest.mark.parametrize("analyzer", ["universal", "words", AnalyzerSpec(urls=True, words=3), str.split])
def test_analyzers(analyzer: Any) -> None:
    # Decomposed Hangul, a final sigma and İ only Python folds.
    texts = ["ΟΔΟΣ ΟΔΟΣ Ὀδυσσεύς", "한글 글자", "İstanbul ΟΔΟΣ http://x.y/z", "無料です 無料", "plain words", ""]
    for model in ("multinomial", "binary-complement"):
        for unseen in ("ignore", "smooth"):
            check(texts, ["a", "b", "a", "b", "a", "b"], model=model, analyzer=analyzer, unseen=unseen)


def test_many_documents_on_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(f"word{k}" for k in rng.zipf(1.2, 3000) % 5000) for _ in range(150)]
    labels = [f"c{k}" for k in rng.integers(0, 5, 150)]
    alone = {}
    for n in ("1", "4"):
        monkeypatch.setenv("BUNRUI_THREADS", n)
        corpus = Corpus(TextClassifier(analyzer="words"), texts, labels)
        for model in MODELS:
            scores = corpus.scores(model)
            assert np.array_equal(alone.setdefault(model, scores), scores)
    # Unlearning and scoring a few of them gives the same.
    clf = TextClassifier(analyzer="words").learn(texts, labels)
    for d in (0, 75, 149):
        clf.unlearn([texts[d]], [labels[d]])
        for model, scores in alone.items():
            np.testing.assert_array_equal(clf.with_model(model).scores([texts[d]])[0], scores[d])
        clf.learn([texts[d]], [labels[d]])


# --- the corpus


def test_a_corpus_answers_as_any_model() -> None:
    corpus = Corpus(TextClassifier("wcnb", alpha=2.0), TEXTS, LABELS)
    assert repr(corpus) == "Corpus(7 documents, 3 classes, 5 features)"
    for model in MODELS:
        for options in ({}, {"alpha": 0.7}, {"smoothing": "mle"}, {"min_df": 2, "alpha": None}, {"unseen": "smooth"}):
            expected = refitted(TEXTS, LABELS, **({"model": model, "alpha": 2.0} | {"alpha": None, **options}))[1]
            given_options = {"alpha": None, **options}
            np.testing.assert_array_equal(corpus.scores(model, **given_options), expected)
    np.testing.assert_array_equal(corpus.scores(), refitted(TEXTS, LABELS, model="wcnb", alpha=2.0)[1])
    assert corpus.evaluate("binary").metrics.n == 7


def test_a_model_has_its_own_alpha_in_the_corpus_of_an_automatic_classifier() -> None:
    """And not the λ that was chosen for another model."""
    texts, labels = choosing(200)
    clf = TextClassifier().learn(texts, labels)
    assert clf.effective_options["alpha"] == 1e-5
    expected = Corpus(TextClassifier("multinomial"), texts, labels).scores()
    np.testing.assert_array_equal(Corpus(clf, texts, labels).scores("multinomial"), expected)


def test_mle_forgets_the_alpha_of_the_corpus() -> None:
    corpus = Corpus(TextClassifier("binary", alpha=2.0), TEXTS, LABELS)
    np.testing.assert_array_equal(
        corpus.scores(smoothing="mle"), refitted(TEXTS, LABELS, model="binary", smoothing="mle")[1]
    )


def test_texts_of_any_kind() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    texts = [" ".join(text) for text in TEXTS]
    expected = refitted(texts, LABELS)[1]
    for kind in (tuple, np.array, pd.Series, pl.Series, pa.array, iter):
        np.testing.assert_array_equal(loo_scores(TextClassifier(), kind(texts), kind(LABELS))[1], expected)
    np.testing.assert_array_equal(
        loo_scores(TextClassifier(max_features=3), pa.array(texts), LABELS)[1],
        refitted(texts, LABELS, max_features=3)[1],
    )


def test_a_classifier_in_a_file_knows_its_documents(tmp_path: Path) -> None:
    texts = ["cheap pills now", "meeting at noon", "pills pills", "noon", "lunch"]
    labels = [["spam"], ["ham"], ["spam", "ads"], ["ham"], ["ham"]]
    with bunrui.create(tmp_path / "a.bunrui", keep="text", model="multinomial") as clf:
        clf.learn(texts[:3], labels[:3])
        clf.learn([["noon"]], labels[3:4])
        clf.learn(texts[4:], labels[4:])
        found = leave_one_out(clf)
        scores, odds = loo_scores(clf)[1], loo_log_odds(clf)[1]
        counts = clf.counts.copy()
        assert clf.counts == counts
    np.testing.assert_array_equal(scores, refitted(texts, labels, model="multinomial")[1])
    assert odds.shape == (5, 3)
    assert found.classes.tolist() == ["ads", "ham", "spam"]
    with bunrui.create(tmp_path / "b.bunrui", keep="nothing") as clf:
        clf.learn(texts, labels)
        with pytest.raises(OptionError, match="keeps no texts: give the texts and their labels"):
            leave_one_out(clf)
        assert leave_one_out(clf, texts, labels).metrics.n == 5


@pytest.mark.parametrize("prior", ["empirical", "smoothed", {f"label {k}": 1.0 + k for k in range(40)}])
@every
def test_documents_block_by_block_have_the_same_bits(model: str, prior: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefghij"), 6)) for _ in range(120)]
    labels = [sorted({f"label {k}" for k in rng.integers(0, 40, 1 + d % 3)}) for d in range(120)]
    corpus = Corpus(TextClassifier(model, prior=prior), texts, labels)
    expected = corpus.scores()
    for features, numbers in ((1, 10**6), (30, 10**6), (10**6, 7 * len(corpus.classes)), (10**6, 1)):
        monkeypatch.setattr(loo, "_FEATURES", features)
        monkeypatch.setattr(loo, "_NUMBERS", numbers)
        np.testing.assert_array_equal(corpus.scores(), expected)


def test_words_as_often_as_nobody_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of a word and how often a document has it are numbered, where they are too many by their rank."""
    texts = ["a a a b", "a b b", "b c", "a a a c c", "c c a"]
    corpus = [Corpus(TextClassifier("multinomial", analyzer="words"), texts, list("xyyxy")) for _ in range(2)]
    expected = corpus[0].scores()
    monkeypatch.setattr(loo, "_MOST_KEYS", 1)
    np.testing.assert_array_equal(corpus[1].scores(), expected)


# --- what is refused


def test_errors() -> None:
    clf = TextClassifier()
    with pytest.raises(OptionError, match="keeps no texts"):
        leave_one_out(clf)
    with pytest.raises(OptionError, match="the texts came without labels: give both"):
        leave_one_out(clf, ["a", "b"])
    with pytest.raises(DataError, match=r"^there are no documents: give at least two$"):
        leave_one_out(clf, [], [])
    with pytest.raises(DataError, match=r"^one document cannot be predicted by others: give at least two$"):
        leave_one_out(clf, ["a"], ["x"])
    wrong: Any = "mail.bunrui"
    with pytest.raises(OptionError, match=r"^'mail.bunrui' is no classifier: give one, such as .*bunrui.open\(path\)$"):
        leave_one_out(wrong)
    with pytest.raises(DataError, match="there are 2 texts and 1 label"):
        leave_one_out(clf, ["a", "b"], ["x"])
    with pytest.raises(LabelError):
        leave_one_out(clf, ["a", "b"], ["x", ""])
    corpus = Corpus(clf, ["a", "b"], ["x", "y"])
    with pytest.raises(OptionError, match="make a new corpus of the texts"):
        corpus.scores(analyzer="words")
    with pytest.raises(OptionError, match="there is no model 'bayes'"):
        corpus.scores("bayes")
    with pytest.raises(OptionError, match="would be trained 2 times: use cross_validate"):
        corpus.scores("nbsvm")
    with pytest.raises(OptionError, match="takes one alpha for all words"):
        corpus.scores("bernoulli", alpha={"a": 1.0})
    with pytest.raises(OptionError, match="the prior of 'y' should be above 0"):
        corpus.scores("binary", prior={"x": 0.5})
    with pytest.raises(OptionError, match="the prior of the label 'y' by itself should be above 0 and below 1"):
        corpus.log_odds("binary", prior={"x": 0.5, "y": 1.0})


# --- why a document has another label, by the others


@every
def test_others_explain_as_a_classifier_that_never_saw_the_document(model: str) -> None:
    clf = TextClassifier(model).learn(TEXTS, LABELS)
    before, others = clf.counts.copy(), LeftOutExplainer(clf)
    for k, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
        fresh = TextClassifier(model).learn(TEXTS[:k] + TEXTS[k + 1 :], LABELS[:k] + LABELS[k + 1 :])
        other = next(name for name in "PQ" if name != label)
        assert others.explain(text, other, [label]) == explain_against(fresh, text, other, [label])
    assert clf.counts == before


def test_others_explain_calibrated_probabilities() -> None:
    texts, labels = [f"t{k % 7} u{k % 3}" for k in range(60)], ["even" if k % 2 else "odd" for k in range(60)]
    clf = TextClassifier("multinomial").learn(texts, labels)
    calibrate(clf, texts, labels)
    found = LeftOutExplainer(clf).explain(texts[0], "even", ["odd"])
    clf.unlearn(texts[:1], labels[:1])
    assert clf.is_calibrated and found == explain_against(clf, texts[0], "even", ["odd"])


def test_a_document_that_was_never_learned_is_not_taken_out() -> None:
    others = LeftOutExplainer(TextClassifier().learn(TEXTS, LABELS))
    for _ in range(2):
        with pytest.raises(UnlearnError):
            others.explain(["never", "seen"], "P", ["Q"])
    assert others.explain(TEXTS[0], "Q", ["P"]).against == "P"


# --- labelled documents: their classes, some of them, and scores by all classes

WORDS, SETS = ["one", "two", "three"], ["b", ["a", "b"], "c"]


@pytest.mark.parametrize("kind", [list, pa.array])
def test_some_documents(kind: type) -> None:
    documents = Labelled(kind(WORDS), SETS)
    texts, labels = documents.pick(np.array([2, 0]))
    assert (pa.array(texts).to_pylist(), labels, len(documents)) == (["three", "one"], [{"c"}, {"b"}], 3)


def test_classes() -> None:
    documents = Labelled(WORDS, SETS)
    assert documents.classes == ["a", "b", "c"]
    assert documents.own.tolist() == [[False, True, False], [True, True, False], [False, False, True]]


def test_scores_by_all_classes() -> None:
    """Columns go to the places of their classes, in whatever order they come; the others are -inf."""
    found = Labelled(WORDS, SETS).align(["c", "a"], np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert found.tolist() == [[2.0, -np.inf, 1.0], [4.0, -np.inf, 3.0]]
