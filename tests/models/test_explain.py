"""Explanations add up to the scores, feature by feature; words weigh what one occurrence adds."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.analysis import AnalyzerSpec
from bunrui.classifier import TextClassifier
from bunrui.errors import DataError, EncodingError, LabelError, OptionError
from bunrui.models import MODELS
from bunrui.models.explain import Word
from bunrui.models.model import WordQuestion
from bunrui.views.explanation import Explanation
from tests.support.examples import examples


def halves(text: str) -> list[tuple[str, int, int]]:
    """An analyzer of the user's: words, and their first two letters at the same place."""
    found = []
    at = 0
    for word in text.split():
        at = text.index(word, at)
        found += [(word.upper(), at, at + len(word)), (word[:2], at, at + 2)]
        at += len(word)
    return found


ANALYZERS: dict[str, Any] = {
    "universal": "universal",
    "bigrams": AnalyzerSpec(name="words", words=2),
    "html": AnalyzerSpec(html=True, urls=True, numbers=True, mentions=True),
    "function": halves,
    "split": str.split,
}

LATIN = ["spam", "ham", "Eggs", "EGGS", "noon", "a", "b", "Straße", "ﬁne", "e\u0301"]
OTHERS = ["料金", "無料", "むりょう", "ﾊﾟｿｺﾝ", "ｶﾞ", "무료", "대한민국", "हिन्दी", "สวัสดี"]
SIGNS = ["👩\u200d💻", "❤\ufe0f", "🇯🇵", "3\ufe0f\u20e3", ":)", "<3", "!", "\u202e", "\0"]
MARKUP = ["<b>pills</b>", "R&amp;D", "&lt;", "<p>", "https://example.com/x", "3,000", "@someone"]
texts = st.lists(st.sampled_from(LATIN + OTHERS + SIGNS + MARKUP), max_size=9).flatmap(
    lambda pieces: st.sampled_from([" ", "", "  \n"]).map(lambda joint: joint.join(pieces))
)
labels = st.sampled_from(["a", "b", "ラベル", "d"])
corpora = st.lists(st.tuples(texts, labels), min_size=1, max_size=8)
options = st.fixed_dictionaries(
    {
        "unseen": st.sampled_from(["ignore", "smooth"]),
        "min_df": st.sampled_from([1, 1, 2]),
        "smoothing": st.sampled_from(["eap", "map", "mle"]),
        "prior": st.sampled_from(["empirical", "uniform"]),
    }
)


def learned(corpus: list[tuple[Any, str]], model: str, **named: Any) -> TextClassifier:
    clf = TextClassifier(model, **named)
    # A class that has gone keeps its id, the first: columns are not ids.
    gone = [["gone", "spam"]]
    clf.learn(gone, ["gone"])
    clf.learn([text for text, _ in corpus], [label for _, label in corpus])
    return clf.unlearn(gone, ["gone"])


def close(x: float, y: float, size: float) -> bool:
    return bool(abs(x - y) <= 1e-9 * size)


def size_of(clf: TextClassifier, *documents: Any) -> float:
    """How large the terms of scores are: the scores, or one nat by the scale of the class where they cancel."""
    return float(max(np.abs(clf.scores(documents)).max(), np.abs(clf.current_model.reader().scorer.scale).max()))


def check_sum(clf: TextClassifier, document: Any, explanation: Explanation) -> None:
    """The laws of every explanation."""
    row = clf.scores([document])[0]
    scores = dict(zip(clf.classes_.tolist(), row.tolist(), strict=True))
    assert explanation.score == scores[explanation.label]
    if explanation.against is None:
        assert explanation.against_score is None and len(scores) == 1
        assert explanation.difference == explanation.score
    else:
        assert explanation.against_score == scores[explanation.against]
        assert explanation.difference == explanation.score - explanation.against_score
    values = [c.value for c in explanation.contributions]
    size = max(math.fsum(map(abs, values)), size_of(clf, document))
    assert close(explanation.bias + math.fsum(values), explanation.difference, size)
    shares = dict(zip(clf.classes_.tolist(), clf.predict_proba([document])[0].tolist(), strict=True))
    assert explanation.probabilities == shares
    assert list(explanation.probabilities.values()) == sorted(shares.values(), reverse=True)
    keys = [(-abs(c.value), c.feature) for c in explanation.contributions]
    assert keys == sorted(keys)
    if clf.unseen == "ignore":
        assert not {c.feature for c in explanation.contributions} & set(explanation.unknown)
    else:
        assert {c.feature for c in explanation.contributions} >= set(explanation.unknown)


# --- the score, taken apart


@pytest.mark.parametrize("analyzer", ANALYZERS)
@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=examples(15))
@given(corpus=corpora, text=texts, named=options)
def test_contributions_add_up(model: str, analyzer: str, corpus: Any, text: str, named: Any) -> None:
    clf = learned(corpus, model, analyzer=ANALYZERS[analyzer], **named)
    explanation = clf.explain(text)
    assert explanation.label == clf.predict([text])[0]
    assert explanation.text == text
    check_sum(clf, text, explanation)
    for c in explanation.contributions:
        assert c.count == len(c.spans)
        assert all(0 <= start <= end <= len(text) for start, end in c.spans)
    values = [c.value for c in explanation.contributions]
    placed = [c.value for c in explanation.contributions if any(end > start for start, end in c.spans)]
    characters = explanation.characters()
    assert len(characters) == len(text)
    nowhere = math.fsum(values) - math.fsum(placed)
    assert close(math.fsum(characters) + nowhere, math.fsum(values), math.fsum(map(abs, values)))


words = st.sampled_from(["spam", "ham", "無料", "eggs", "never", "", "NEVER 2"])
documents = st.one_of(st.lists(words, max_size=6), st.dictionaries(words, st.integers(0, 4), max_size=5))


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=examples(40))
@given(corpus=st.lists(st.tuples(documents, labels), min_size=1, max_size=6), document=documents, named=options)
def test_a_contribution_is_what_the_score_loses_without_the_word(
    model: str, corpus: Any, document: Any, named: Any
) -> None:
    clf = learned(corpus, model, **named)
    explanation = clf.explain(document)
    check_sum(clf, document, explanation)
    assert explanation.text is None and explanation.characters() == []
    assert all(c.spans == () for c in explanation.contributions)
    columns = clf.classes_.tolist()
    listed = {c.feature: c for c in explanation.contributions}
    for word in {word for word in document if not isinstance(document, Mapping) or document[word]}:
        if isinstance(document, Mapping):
            n, rest = document[word], {w: n for w, n in document.items() if w != word}
        else:
            n, rest = document.count(word), [w for w in document if w != word]
        lost = clf.scores([document])[0] - clf.scores([rest])[0]
        difference = lost[columns.index(explanation.label)]
        if explanation.against is not None:
            difference -= lost[columns.index(explanation.against)]
        value = listed[word].value if word in listed else 0.0
        assert close(value, difference, size_of(clf, document, rest))
        assert (word in listed) == (clf.unseen == "smooth" or word not in explanation.unknown)
        if word in listed:
            assert listed[word].count == n


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=examples(10))
@given(corpus=corpora, text=texts)
def test_every_pair_of_labels(model: str, corpus: Any, text: str) -> None:
    clf = learned(corpus, model)
    names = clf.classes_.tolist()
    for label in names:
        check_sum(clf, text, clf.explain(text, label=label))
        for against in names:
            if label != against:
                explanation = clf.explain(text, label=label, against=against)
                assert (explanation.label, explanation.against) == (label, against)
                check_sum(clf, text, explanation)


def test_default_labels() -> None:
    clf = TextClassifier("multinomial", analyzer="words")
    clf.learn(["x x x", "x x y", "z"], ["first", "second", "third"])
    order = [clf.classes_[k] for k in np.argsort(-clf.scores(["x"])[0])]
    assert order == ["first", "second", "third"]

    def pair(**named: str) -> tuple[str, str | None]:
        explanation = clf.explain("x", **named)
        return explanation.label, explanation.against

    assert pair() == ("first", "second")
    assert pair(label="third") == ("third", "first")
    assert pair(against="third") == ("first", "third")
    assert pair(against="first") == ("second", "first")
    assert list(clf.explain("x").probabilities) == order


def test_equal_scores_go_to_the_label_that_sorts_first() -> None:
    clf = TextClassifier("multinomial").learn(["x", "x", "x"], ["b", "c", "a"])
    explanation = clf.explain("x")
    assert (explanation.label, explanation.against) == ("a", "b") and explanation.difference == 0.0


def test_one_class_is_held_against_nothing() -> None:
    clf = TextClassifier("multinomial", analyzer="words").learn(["x y"], ["only"])
    explanation = clf.explain("x z")
    assert (explanation.against, explanation.against_score) == (None, None)
    assert explanation.bias == 0.0 and explanation.unknown == ("z",)
    [only] = explanation.contributions
    assert only.feature == "x" and only.value == pytest.approx(math.log(0.5), rel=1e-12)


def test_presence_counts_once_and_shows_all_places() -> None:
    clf = TextClassifier("binary", analyzer="words").learn(["x", "y"], ["a", "b"])
    once, often = clf.explain("x").contributions[0], clf.explain("x X x").contributions[0]
    assert often.value == once.value
    assert often.count == 3 and often.spans == ((0, 1), (2, 3), (4, 5))


def test_a_long_document_is_explained_in_blocks() -> None:
    rng = np.random.default_rng(0)
    vocabulary = [f"w{k}" for k in range(30_000)]
    clf = TextClassifier("multinomial", analyzer="words")
    clf.learn([" ".join(vocabulary[:15_000]), " ".join(vocabulary[15_000:])], ["a", "b"])
    text = " ".join(vocabulary[k] for k in rng.permutation(30_000)[:20_000]) + " w0 w0 stranger"
    explanation = clf.explain(text)
    check_sum(clf, text, explanation)
    assert explanation.unknown == ("stranger",)
    assert sum(c.count for c in explanation.contributions) == 20_002


@pytest.mark.parametrize("analyzer", ["universal", "words"])
def test_text_that_only_python_can_fold(analyzer: str) -> None:
    text = "ὈΔΥΣΣΕΎΣ İstanbul q\u0323\u0307\u0307\u0323 q\u0307\u0323\u0307 ᄀ\u11a8ᄀ\u1161\u11a8 ｶﾞ\u3099"
    clf = TextClassifier("multinomial", analyzer=analyzer).learn([text, "istanbul q"], ["a", "b"])
    explanation = clf.explain(text)
    check_sum(clf, text, explanation)
    assert explanation.label == "a" and explanation.unknown == ()


# --- places in the original text


@settings(max_examples=examples(100))
@given(text=texts)
def test_places_of_words(text: str) -> None:
    clf = TextClassifier(analyzer="words", unseen="smooth").learn(["x", "y"], ["a", "b"])
    for c in clf.explain(text).contributions:
        for start, end in c.spans:
            assert text[start:end].lower() == c.feature


def test_places_in_japanese_and_emoji() -> None:
    clf = TextClassifier(unseen="smooth").learn(["x", "y"], ["a", "b"])
    text = "👩‍💻ﾊﾟｿｺﾝ無料!"
    places = {c.feature: c.spans for c in clf.explain(text).contributions}
    assert [text[a:b] for a, b in places["👩‍💻"]] == ["👩‍💻"]
    assert [text[a:b] for a, b in places["パソ"]] == ["ﾊﾟｿ"]
    assert [text[a:b] for a, b in places["無料"]] == ["無料"]


def test_places_behind_html() -> None:
    spec = AnalyzerSpec(name="words", html=True, numbers=True)
    clf = TextClassifier(analyzer=spec, unseen="smooth").learn(["x", "y"], ["a", "b"])
    text = "<p class='cheap'>caf&eacute; in<b>side</b> 3,000"
    explanation = clf.explain(text)
    places = {c.feature: [text[a:b] for a, b in c.spans] for c in explanation.contributions}
    assert places["café"] == ["caf&eacute;"] and places["inside"] == ["in<b>side"]
    assert "cheap" not in places and "class" not in places
    characters = explanation.characters()
    assert characters[: text.index("caf")] == [0.0] * text.index("caf")


def test_characters_by_hand() -> None:
    clf = TextClassifier("multinomial", analyzer=AnalyzerSpec(name="words", words=2))
    clf.learn(["ab cd", "cd ef"], ["a", "b"])
    explanation = clf.explain("ab cd cd")
    value = {c.feature: c.value for c in explanation.contributions}
    # "cd" stands on four characters, "ab cd" on five; "cd cd" was never learned.
    assert set(value) == {"ab", "cd", "ab cd"} and explanation.unknown == ("cd cd",)
    ab, cd, both = value["ab"] / 2, value["cd"] / 4, value["ab cd"] / 5
    expected = [ab + both, ab + both, both, cd + both, cd + both, 0, cd, cd]
    assert explanation.characters() == pytest.approx(expected, rel=1e-12)


def test_features_that_stand_nowhere() -> None:
    def analyzer(text: str) -> list[Any]:
        return [("whole", -5, 99), ("nowhere", 2, 2), ("behind", 50, 60)]

    clf = TextClassifier("multinomial", analyzer=analyzer).learn(["x"], ["a"]).learn([["other"]], ["b"])
    explanation = clf.explain("abc")
    by_name = {c.feature: c for c in explanation.contributions}
    assert by_name["whole"].spans == ((0, 3),)
    assert by_name["nowhere"].spans == ((2, 2),) and by_name["behind"].spans == ((3, 3),)
    assert sum(explanation.characters()) == pytest.approx(by_name["whole"].value)


# --- JSON


@given(corpus=corpora, text=texts)
def test_json(corpus: Any, text: str) -> None:
    explanation = learned(corpus, "multinomial").explain(text)
    read = json.loads(explanation.to_json())
    assert read == explanation.to_dict()
    assert list(read["probabilities"]) == list(explanation.probabilities)
    assert (read["label"], read["against"], read["text"]) == (explanation.label, explanation.against, text)
    assert (read["score"], read["against_score"]) == (explanation.score, explanation.against_score)
    assert read["unknown"] == list(explanation.unknown)
    assert [(c["feature"], c["value"], c["count"], tuple(map(tuple, c["spans"]))) for c in read["contributions"]] == [
        (c.feature, c.value, c.count, c.spans) for c in explanation.contributions
    ]


# --- words

counted = st.dictionaries(
    st.sampled_from(["spam", "ham", "無料", "eggs", "x", "y", "longer than eight bytes", "longer than eight"]),
    st.integers(1, 4),
    max_size=5,
)
counted_corpora = st.lists(st.tuples(counted, labels), min_size=1, max_size=6)


def added(clf: TextClassifier, word: str) -> dict[str, float]:
    """What one occurrence adds to the score of every class, by asking for scores alone."""
    with_word, without = clf.scores([{word: 1}, {}])
    return dict(zip(clf.classes_.tolist(), (with_word - without).tolist(), strict=True))


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=examples(30))
@given(corpus=counted_corpora, named=options)
def test_words_of_a_label(model: str, corpus: Any, named: Any) -> None:
    clf = learned(corpus, model, **named)
    names = clf.classes_.tolist()
    freqs = {f: n for f, (_, n) in clf.counts.totals().items() if n >= clf.min_df}
    by_docs = model in ("binary", "bernoulli", "binary-complement")
    for label in names:
        found = clf.words(label, top=None)
        assert sorted(word.text for word in found) == sorted(freqs)
        assert found == sorted(found, key=lambda word: (-word.weight, word.text))
        for word in found:
            adds = added(clf, word.text)
            others = [adds[name] for name in names if name != label]
            expected = adds[label] - (sum(others) / len(others) if others else 0.0)
            assert close(word.weight, expected, size_of(clf, {word.text: 1}, {}))
            cells = {name: (terms, docs) for f, name, terms, docs in clf.counts.cells() if f == word.text}
            assert word.counts == {name: cell[by_docs] for name, cell in cells.items()}
        for top in (1, 2, 3, 100):
            assert clf.words(label, top=top) == found[:top]
        for word in found:
            assert clf.words(label, word=word.text) == [word]


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=examples(30))
@given(corpus=counted_corpora, named=options)
def test_words_of_two_labels(model: str, corpus: Any, named: Any) -> None:
    clf = learned([*corpus, ({"x": 1}, "a"), ({"y": 2}, "b")], model, **named)
    found = clf.words(positive="a", negative="b", top=None)
    either = {f for f, label, _, _ in clf.counts.cells() if label in ("a", "b")}
    freqs = {f for f, (_, n) in clf.counts.totals().items() if n >= clf.min_df}
    assert sorted(word.text for word in found) == sorted(either & freqs)
    assert found == sorted(found, key=lambda word: (-word.weight, word.text))
    for word in found:
        adds = added(clf, word.text)
        assert close(word.weight, adds["a"] - adds["b"], size_of(clf, {word.text: 1}, {}))
        assert clf.words(positive="a", negative="b", word=word.text) == [word]
    for top in (1, 2, 3, 100):
        expected = found if 2 * top >= len(found) else found[:top] + found[-top:]
        assert clf.words(positive="a", negative="b", top=top) == expected


@settings(max_examples=examples(50))
@given(corpus=counted_corpora, document=counted, smoothing=st.sampled_from(["eap", "map", "mle"]))
def test_log_odds_are_the_prior_odds_and_the_words(corpus: Any, document: dict[str, int], smoothing: str) -> None:
    binary = [(text, "+" if label in "ab" else "-") for text, label in corpus] + [({"x": 1}, "+"), ({"y": 1}, "-")]
    clf = learned(binary, "multinomial", smoothing=smoothing)
    docs = {label: n for label, (n, _, _) in clf.counts.class_totals().items()}
    weights = {word.text: word.weight for word in clf.words(positive="+", negative="-", top=None)}
    expected = math.log(docs["+"] / docs["-"]) + sum(n * weights.get(word, 0.0) for word, n in document.items())
    [found] = clf.log_odds([document], positive="+")
    assert close(found, expected, size_of(clf, document))


def test_lambda_by_hand() -> None:
    clf = TextClassifier("multinomial", alpha=1.0, analyzer="words")
    clf.learn(["free free now", "noon"], ["spam", "ham"])
    # V = 3: P(free | spam) = 3/6 against 1/4, P(now | spam) = 2/6 against 1/4, P(noon | spam) = 1/6 against 2/4.
    found = clf.words(positive="spam")
    assert [word.text for word in found] == ["free", "now", "noon"]
    assert [word.weight for word in found] == pytest.approx([math.log(2), math.log(4 / 3), -math.log(3)], rel=1e-12)
    assert [word.counts for word in found] == [{"spam": 2}, {"spam": 1}, {"ham": 1}]


def test_ties_go_by_text() -> None:
    clf = TextClassifier("multinomial").learn(
        [["b", "a", "é", "abcdefghi2", "abcdefghi1", "无", "ab"], ["z"]], ["+", "-"]
    )
    order = ["a", "ab", "abcdefghi1", "abcdefghi2", "b", "é", "无", "z"]
    assert [word.text for word in clf.words("+", top=None)] == order
    for top in range(1, 9):
        assert [word.text for word in clf.words("+", top=top)] == order[:top]
    assert [word.text for word in clf.words("-", top=3)] == ["z", "a", "ab"]
    clf.learn([["y", "x", "w"]], ["-"])
    assert [word.text for word in clf.words(positive="+", top=2)] == ["a", "ab", "y", "z"]


def test_weights_do_not_depend_on_the_order_of_learning() -> None:
    rng = np.random.default_rng(1)
    docs = [[f"w{k}" for k in rng.integers(0, 40, 12)] for _ in range(60)]
    names = [f"c{k}" for k in rng.integers(0, 7, 60)]
    for model in MODELS:
        forth = TextClassifier(model).learn(docs, names)
        back = TextClassifier(model)
        for doc, name in zip(docs[::-1], names[::-1], strict=True):
            back.learn([doc], [name])
        assert back.counts.labels != forth.counts.labels
        assert back.words("c3", top=None) == forth.words("c3", top=None)


def test_one_word() -> None:
    clf = TextClassifier("multinomial").learn(["Ｆｒｅｅ lunch", "free beer", "noon"], ["spam", "spam", "ham"])
    [word] = clf.words("spam", word="free")
    assert isinstance(word, Word) and word.counts == {"spam": 2} and word.weight > 0
    assert clf.words("spam", word="ＦＲＥＥ") == [word]
    assert clf.words(word="free") == [word]
    [against] = clf.words("ham", word="free")
    assert against.weight == pytest.approx(-word.weight)
    assert clf.words("spam", word="never") == [] == clf.words(word="never")


def test_an_exact_feature_comes_before_a_folded_one() -> None:
    clf = TextClassifier("multinomial").learn([["Free"], ["free"]], ["a", "b"])
    assert [word.text for word in clf.words(word="Free")] == ["Free"]
    assert [word.text for word in clf.words(word="FREE")] == ["free"]


def test_a_word_alone_is_read_for_the_label_it_adds_most_to() -> None:
    # Ids follow the order of learning, columns that of the labels, and the class that has gone has an id too: there "w"
    # would have 1/V, more than in any class.
    clf = learned([({"y": 50, "w": 1}, "d"), ({"x": 50}, "a"), ({"y": 50, "z": 25}, "b")], "multinomial")
    for word, label in (("x", "a"), ("z", "b"), ("w", "d")):
        assert clf.words(word=word) == clf.words(label, word=word)
        assert all(clf.words(word=word) != clf.words(other, word=word) for other in {"a", "b", "d"} - {label})


def test_words_that_selection_leaves_out() -> None:
    clf = TextClassifier("multinomial", analyzer="words", min_df=2).learn(["x y", "x", "z"], ["a", "a", "b"])
    assert [word.text for word in clf.words("a", top=None)] == ["x"]
    assert clf.words("a", word="y") == []
    assert clf.explain("x y z").unknown == ("y", "z")


@pytest.mark.parametrize("model", ["multinomial", "wcnb"])
def test_the_highest_of_many(model: str) -> None:
    rng = np.random.default_rng(2)
    docs = [[f"word-{k:05d}" for k in rng.zipf(1.3, 400) % 50_000] for _ in range(100)]
    clf = TextClassifier(model).learn(docs, [f"c{k % 5}" for k in range(100)])
    everything = clf.words("c1", top=None)
    assert len(everything) == clf.counts.n_features
    assert everything == sorted(everything, key=lambda word: (-word.weight, word.text))
    for top in (1, 20, 700):
        assert clf.words("c1", top=top) == everything[:top]
    pair = clf.words(positive="c1", negative="c2", top=None)
    assert clf.words(positive="c1", negative="c2", top=30) == pair[:30] + pair[-30:]


# --- questions that make no sense


@pytest.fixture
def clf() -> TextClassifier:
    return learned([("x", "a"), ("y", "b")], "multinomial")


@pytest.mark.parametrize(
    ("named", "error", "message"),
    [
        ({"label": "c"}, LabelError, "there is no label 'c': the labels are a, b"),
        ({"against": "gone"}, LabelError, "there is no label 'gone': the labels are a, b"),
        (
            {"label": "a", "against": "a"},
            LabelError,
            "'a' cannot be held against itself: name another label with against",
        ),
    ],
)
def test_wrong_labels(clf: TextClassifier, named: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        clf.explain("x", **named)
    assert str(raised.value) == message


def test_a_question_about_a_label_before_there_are_any() -> None:
    with pytest.raises(LabelError, match="there is no label 'a': nothing has been learned"):
        WordQuestion(label="a").check([])


@pytest.mark.parametrize("document", [3, None, b"x", {"x"}, iter("x"), np.array(["x"])])
def test_wrong_documents(clf: TextClassifier, document: Any) -> None:
    with pytest.raises(
        DataError, match="the text should be a string, a list of tokens or a mapping from word to count"
    ):
        clf.explain(document)


def test_wrong_contents(clf: TextClassifier) -> None:
    with pytest.raises(EncodingError, match="lone surrogate"):
        clf.explain("x \ud800")
    with pytest.raises(DataError, match="which is not a string"):
        clf.explain(["x", 3])
    with pytest.raises(DataError, match="not negative"):
        clf.explain({"x": -1})


@pytest.mark.parametrize(
    ("named", "error", "message"),
    [
        ({}, OptionError, "no label is named: name one, for example label='a'"),
        ({"label": "gone"}, LabelError, "there is no label 'gone': the labels are a, b"),
        (
            {"label": "a", "positive": "b"},
            OptionError,
            "give a label, or positive and negative, not both",
        ),
        ({"positive": "a", "negative": "a"}, LabelError, "'a' cannot be held against itself: name the other label"),
        ({"label": "a", "top": 0}, OptionError, "top should be a whole number, at least 1, or None for all, not 0"),
        (
            {"label": "a", "top": True},
            OptionError,
            "top should be a whole number, at least 1, or None for all, not True",
        ),
    ],
)
def test_wrong_questions(clf: TextClassifier, named: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        clf.words(**named)
    assert str(raised.value).startswith(message)


def test_only_one_label_cannot_be_against() -> None:
    with pytest.raises(LabelError, match="cannot be held against itself"):
        TextClassifier().learn(["x"], ["only"]).explain("x", against="only")


def test_a_text_without_features(clf: TextClassifier) -> None:
    for document in ("", " \n", [], {}, {"x": 0}):
        explanation = clf.explain(document)
        assert explanation.contributions == () and explanation.unknown == ()
        assert explanation.difference == pytest.approx(explanation.bias)


def test_normalisation_matches_the_analyzer() -> None:
    clf = TextClassifier(unseen="smooth").learn(["x", "y"], ["a", "b"])
    features = {c.feature for c in clf.explain("Ｗｉ Straße ﬁne").contributions}
    assert {unicodedata.normalize("NFKC", w).casefold() for w in ("Ｗｉ", "Straße", "ﬁne")} <= features
