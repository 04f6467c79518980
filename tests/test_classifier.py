"""`TextClassifier`: every method, every kind of input, every error in its exact words, threads, scikit-learn."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bunrui
import bunrui.analysis.analyzer
from bunrui import AnalyzerSpec, TextClassifier
from bunrui.errors import (
    BunruiError,
    DataError,
    EncodingError,
    LabelError,
    MismatchError,
    NotLearnedError,
    OptionError,
    UnlearnError,
)
from bunrui.kernel import slices
from bunrui.models import MODELS, TRAINED
from tests.support.processes import run_python
from tests.support.waiting import PATIENCE

TEXTS = ["cheap pills now", "meeting at noon", "料金が無料", "lunch at noon?", "👍 한국어 무료", ""]
LABELS = ["spam", "ham", "spam", "ham", "spam", "ham"]
QUERIES = ["pills for free", "noon?", "無料です", "", "무료 👍", "never seen words"]


@pytest.fixture
def clf() -> TextClassifier:
    return TextClassifier().learn(TEXTS, LABELS)


# Learning and predicting


def test_learn_and_predict(clf: TextClassifier) -> None:
    assert clf.predict(QUERIES[:3]).tolist() == ["spam", "ham", "spam"]
    assert clf.classes_.tolist() == ["ham", "spam"]
    assert clf.predict(QUERIES).dtype.kind == "U"
    assert clf.scores(QUERIES).shape == clf.predict_proba(QUERIES).shape == (6, 2)
    np.testing.assert_allclose(clf.predict_proba(QUERIES).sum(axis=1), 1, rtol=1e-12)


def test_learning_returns_the_classifier(clf: TextClassifier) -> None:
    assert clf.learn(["a"], ["x"]) is clf
    assert clf.unlearn(["a"], ["x"]) is clf
    assert clf.merge(TextClassifier()) is clf
    assert clf.fit(TEXTS, LABELS) is clf
    assert clf.partial_fit(TEXTS, LABELS) is clf
    assert clf.set_params(alpha=1.0) is clf


def test_how_it_is_written(clf: TextClassifier) -> None:
    assert repr(TextClassifier()) == "TextClassifier(0 documents, 0 classes, 0 features)"
    assert repr(clf) == f"TextClassifier(6 documents, 2 classes, {clf.counts.n_features} features)"
    many = TextClassifier().learn([["a"]] * 1234, ["x"] * 1234)
    assert repr(many) == "TextClassifier(1,234 documents, 1 classes, 1 features)"


def test_unlearn_is_never_having_seen(clf: TextClassifier) -> None:
    clf.learn(["new class, 新しい"], ["other"]).unlearn(["new class, 新しい", TEXTS[0]], ["other", LABELS[0]])
    never = TextClassifier().learn(TEXTS[1:], LABELS[1:])
    assert clf.classes_.tolist() == ["ham", "spam"]
    assert clf.counts == never.counts
    assert np.array_equal(clf.scores(QUERIES).view(np.int64), never.scores(QUERIES).view(np.int64))


def test_learning_nothing(clf: TextClassifier) -> None:
    before = clf.counts.copy()
    clf.learn([], []).unlearn([], [])
    assert clf.counts == before
    assert TextClassifier().learn([], []).counts.n_docs == 0
    assert clf.predict([]).tolist() == []
    assert clf.predict_proba([]).shape == (0, 2)


def test_nothing_was_learned() -> None:
    words = "^nothing has been learned yet: call learn\\(texts, labels\\) first$"
    for clf in (TextClassifier(), TextClassifier().learn(["a"], ["x"]).unlearn(["a"], ["x"])):
        for ask in (clf.predict, clf.scores, clf.predict_proba):
            with pytest.raises(NotLearnedError, match=words):
                ask(["a"])
        with pytest.raises(NotLearnedError, match=words):
            _ = clf.classes_
        with pytest.raises(NotLearnedError, match=words):
            clf.log_odds(["a"], positive="x")


def test_new_classes_and_words_at_any_time(clf: TextClassifier) -> None:
    clf.learn(["Spiel und Sieg"], ["Sport"])
    assert clf.classes_.tolist() == ["Sport", "ham", "spam"]
    assert clf.predict(["Sieg!"]).tolist() == ["Sport"]


def test_merge(clf: TextClassifier) -> None:
    parts = [TextClassifier().learn(TEXTS[k::2], LABELS[k::2]) for k in range(2)]
    assert parts[1].merge(parts[0]).counts == clf.counts
    with pytest.raises(OptionError, match=r"^a classifier cannot be merged with itself$"):
        clf.merge(clf)
    with pytest.raises(OptionError, match=r"^a classifier cannot be merged with itself$"):
        clf.merge(clf.with_model("multinomial"))
    with pytest.raises(MismatchError, match=r"^the other classifier was made with another analyzer \("):
        clf.merge(TextClassifier(analyzer="words"))


def test_several_labels() -> None:
    clf = TextClassifier().learn(["a b", "b c", "c"], [{"x", "y"}, ["y"], ("z", "x")])
    assert clf.counts.class_totals().keys() == {"x", "y", "z"}
    assert clf.counts.n_docs == 3
    clf.unlearn(["a b"], [["y", "x"]])
    assert clf.counts == TextClassifier().learn(["b c", "c"], ["y", {"x", "z"}]).counts


def test_log_odds(clf: TextClassifier) -> None:
    scores = clf.scores(QUERIES)
    np.testing.assert_array_equal(clf.log_odds(QUERIES, positive="spam"), scores[:, 1] - scores[:, 0])
    np.testing.assert_array_equal(clf.log_odds(QUERIES, positive="ham"), scores[:, 0] - scores[:, 1])
    three = clf.learn(["Sieg"], ["Sport"])
    scores = three.scores(QUERIES)
    expected = scores[:, 2] - scores[:, 0]
    np.testing.assert_array_equal(three.log_odds(QUERIES, positive="spam", negative="Sport"), expected)
    with pytest.raises(LabelError, match=r"^there are 3 labels: name the other label with negative$"):
        three.log_odds(QUERIES, positive="spam")
    with pytest.raises(LabelError, match=r"^there is no label 'eggs': the labels are Sport, ham, spam$"):
        three.log_odds(QUERIES, positive="eggs", negative="ham")
    with pytest.raises(LabelError, match=r"^there is no label 'eggs': the labels are Sport, ham, spam$"):
        three.log_odds(QUERIES, positive="ham", negative="eggs")


def test_log_odds_are_the_sum_of_words_and_prior() -> None:
    """λ(w) = log P(w|+)/P(w|-); here (2+1)/(2+2) against (0+1)/(1+2) for a, and 2/3 against 1/3 for the prior."""
    clf = TextClassifier("multinomial", alpha=1.0).learn([["a"], ["a"], ["b"]], ["+", "+", "-"])
    found = clf.log_odds([[], ["a"], ["b"], ["a", "b"]], positive="+")
    prior, a, b = np.log(2), np.log(3 / 4) - np.log(1 / 3), np.log(1 / 4) - np.log(2 / 3)
    np.testing.assert_allclose(found, [prior, prior + a, prior + b, prior + a + b], rtol=1e-13)


def test_with_model_shares_the_counts(clf: TextClassifier) -> None:
    other = clf.with_model("multinomial", alpha=1.0, prior="uniform")
    assert other.counts is clf.counts
    assert (other.model, other.alpha, other.prior, clf.model, clf.alpha) == (
        *("multinomial", 1.0, "uniform"),
        *("auto", None),
    )
    other.learn(["Sieg"], ["Sport"])
    assert clf.classes_.tolist() == ["Sport", "ham", "spam"]
    clf.unlearn(["Sieg"], ["Sport"])
    assert other.classes_.tolist() == ["ham", "spam"]
    expected = TextClassifier("multinomial", alpha=1.0, prior="uniform").learn(TEXTS, LABELS)
    np.testing.assert_array_equal(other.scores(QUERIES), expected.scores(QUERIES))
    words = "^another analyzer has other counts: make a new classifier and learn the texts again$"
    with pytest.raises(OptionError, match=words):
        clf.with_model(analyzer="words")


def test_with_model_before_anything_was_learned() -> None:
    clf = TextClassifier()
    other = clf.with_model("multinomial")
    clf.learn(TEXTS, LABELS)
    assert other.counts is clf.counts
    assert other.classes_.tolist() == ["ham", "spam"]


def test_fit_forgets(clf: TextClassifier) -> None:
    clf.fit(["a b"], ["x"])
    assert clf.classes_.tolist() == ["x"]
    assert clf.counts == TextClassifier().learn(["a b"], ["x"]).counts


def test_partial_fit(clf: TextClassifier) -> None:
    parts = TextClassifier().partial_fit(TEXTS[:2], LABELS[:2], classes=["spam", "ham", "later"])
    parts.partial_fit(TEXTS[2:], LABELS[2:])
    assert parts.counts == clf.counts
    before = parts.counts.copy()
    for labels in (["eggs", "ham"], pa.array(["eggs", "ham"]), pd.Series(["eggs", "ham"]), [{"eggs", "ham"}, {"ham"}]):
        with pytest.raises(LabelError, match=r"^the label 'eggs' is not among classes=\['ham', 'spam'\]$"):
            parts.partial_fit(["a", "b"], labels, classes=["ham", "spam"])
    assert parts.counts == before
    for labels in (["spam", "ham"], pa.array(["spam", "ham"]), pl.Series(["spam", "ham"]), [{"spam"}, {"ham", "spam"}]):
        parts.partial_fit(["a", "b"], labels, classes=np.array(["ham", "spam"]))


def test_score(clf: TextClassifier) -> None:
    assert clf.score(TEXTS[:4], LABELS[:4]) == 1.0
    assert clf.score(TEXTS[:4], ["ham"] * 4) == 0.5
    assert clf.score(TEXTS[:4], pd.Series(LABELS[:4])) == 1.0
    with pytest.raises(DataError, match=r"^there are 4 texts and 1 label: give one label for each text$"):
        clf.score(TEXTS[:4], ["ham"])


# Options


def test_params() -> None:
    options: dict[str, Any] = {
        "model": "bernoulli",
        "analyzer": AnalyzerSpec(name="words"),
        "smoothing": "map",
        "alpha": 1.5,
        "prior": {"x": 0.5, "y": 0.5},
        "unseen": "smooth",
        "min_df": 2,
        "max_features": ("chi2", 10),
        "class_norm": False,
        "against_rest": True,
        "m": 1,
    }
    clf = TextClassifier(**options)
    assert clf.get_params() == options
    assert list(clf.get_params()) == list(options)
    assert TextClassifier().set_params(**options).get_params() == options


def test_set_params_keeps_what_was_learned(clf: TextClassifier) -> None:
    scores = clf.with_model("multinomial", alpha=2.0).scores(QUERIES)
    assert np.array_equal(clf.set_params(model="multinomial", alpha=2.0).scores(QUERIES), scores)
    assert clf.counts.n_docs == 6
    clf.set_params(analyzer="words")
    assert clf.counts.n_docs == 0


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "model": (
        {"model": "svm"},
        f"there is no model 'svm': choose one of auto, {', '.join((*MODELS, *TRAINED))}",
    ),
    "analyzer": (
        {"analyzer": "fr"},
        "there is no analyzer 'fr': choose one of universal, words, ja, zh, ko, columns",
    ),
    "analyzer's kind": ({"analyzer": 1}, "analyzer should be a name, an AnalyzerSpec or a function, not 1"),
    "smoothing": ({"smoothing": "laplace"}, "there is no smoothing 'laplace': choose one of eap, map, mle"),
    "alpha 0": ({"alpha": 0.0}, "alpha should be above 0, not 0.0: for no smoothing use smoothing='mle'"),
    "alpha below 0": ({"alpha": -1}, "alpha should be above 0, not -1: for no smoothing use smoothing='mle'"),
    "alpha nan": ({"alpha": float("nan")}, "alpha should be above 0, not nan: for no smoothing use smoothing='mle'"),
    "alpha inf": ({"alpha": float("inf")}, "alpha should be between 1e-100 and 1e+100, not inf"),
    "alpha huge": ({"alpha": 1e308}, "alpha should be between 1e-100 and 1e+100, not 1e+308"),
    "alpha bool": ({"alpha": True}, "alpha should be a number, or a mapping from word to number, not True"),
    "alpha str": ({"alpha": "1"}, "alpha should be a number, or a mapping from word to number, not '1'"),
    "alpha of a word": ({"alpha": {"a": 0}}, "alpha should be above 0, not 0: for no smoothing use smoothing='mle'"),
    "alpha of map": ({"smoothing": "map", "alpha": 1.0}, "alpha of smoothing='map' should be above 1, not 1.0"),
    "alpha of a word, map": (
        {"smoothing": "map", "alpha": {"a": 0.5}},
        "alpha of smoothing='map' should be above 1, not 0.5",
    ),
    "alpha of mle": (
        {"smoothing": "mle", "alpha": 1.0},
        "smoothing='mle' takes no alpha: leave it out, or choose smoothing='eap'",
    ),
    "prior": (
        {"prior": "jeffreys"},
        "there is no prior 'jeffreys': choose 'empirical', 'uniform', 'smoothed', ('smoothed', λ) "
        "or a mapping from label to probability",
    ),
    "λ of the prior": ({"prior": ("smoothed", 0)}, "λ of a smoothed prior should be above 0, not 0"),
    "λ of another prior": (
        {"prior": ("uniform", 1)},
        "there is no prior ('uniform', 1): choose 'empirical', 'uniform', 'smoothed', ('smoothed', λ) "
        "or a mapping from label to probability",
    ),
    "unseen": ({"unseen": "guess"}, "unseen should be 'ignore' or 'smooth', not 'guess'"),
    "min_df 0": ({"min_df": 0}, "min_df should be a whole number of documents, at least 1, not 0"),
    "min_df float": ({"min_df": 0.5}, "min_df should be a whole number of documents, at least 1, not 0.5"),
    "min_df bool": ({"min_df": True}, "min_df should be a whole number of documents, at least 1, not True"),
    "max_features 0": ({"max_features": 0}, "max_features should be a whole number, at least 1, not 0"),
    "max_features float": ({"max_features": ("mi", 1.5)}, "max_features should be a whole number, at least 1, not 1.5"),
    "max_features method": ({"max_features": ("idf", 5)}, "features are chosen by 'mi' or 'chi2', not 'idf'"),
    "max_features tuple": (
        {"max_features": ("chi2",)},
        "max_features should be a number, or a pair like ('chi2', 1000), not ('chi2',)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_options_that_make_no_sense(case: str, clf: TextClassifier) -> None:
    options, message = WRONG[case]
    before, params = clf.counts.copy(), clf.get_params()
    # `set_params` takes what it is given, and whatever uses it is refused: scikit-learn's searches count on that.
    assert clf.set_params(**options) is clf and clf.get_params() == params | options
    for use in (
        lambda: TextClassifier(**options),
        lambda: clf.fit(["a"], ["x"]),
        lambda: clf.learn(["a"], ["x"]),
        lambda: clf.predict(["a"]),
        lambda: clf.explain("a"),
        lambda: clf.words("spam"),
        lambda: copy.deepcopy(clf).predict_labels(["a"]),
    ):
        with pytest.raises(OptionError) as error:
            use()
        assert str(error.value) == message
    # Nothing was lost.
    assert clf.counts == before
    assert clf.set_params(**params).predict(QUERIES[:3]).tolist() == ["spam", "ham", "spam"]


def test_options_that_do_not_exist(clf: TextClassifier) -> None:
    known = "model, analyzer, smoothing, alpha, prior, unseen, min_df, max_features, class_norm, against_rest, m"
    with pytest.raises(OptionError, match=f"^there is no option 'lambda_': choose one of {known}$"):
        clf.set_params(alpha=2.0, lambda_=1)
    assert clf.alpha is None
    with pytest.raises(OptionError, match=r"^the model 'bernoulli' takes one alpha for all words, not one for each$"):
        clf.with_model("bernoulli", alpha={"a": 1.0}).predict(["a"])


@pytest.mark.parametrize("value", [0, -1, None, "1", float("nan"), float("inf")])
def test_a_prior_that_makes_no_sense(value: Any, clf: TextClassifier) -> None:
    prior = {"ham": 0.5} if value is None else {"ham": 0.5, "spam": value}
    with pytest.raises(OptionError) as error:
        clf.with_model("multinomial", prior=prior).predict(["a"])
    assert str(error.value) == f"the prior of 'spam' should be above 0, not {value!r}"


# Texts of every kind


class Capsule:
    """An array that speaks the Arrow PyCapsule interface and nothing else."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


class Stream:
    def __init__(self, array: pa.ChunkedArray) -> None:
        self._array = array

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_stream__(requested_schema)


def kinds(values: list[str]) -> dict[str, Any]:
    around = pa.array(["before", "avant", *values, "after"])
    return {
        "list": values,
        "tuple": tuple(values),
        "numpy": np.array(values),
        "numpy object": np.array(values, object),
        "pandas": pd.Series(values),
        "pandas object": pd.Series(values, dtype=object),
        "pandas with another index": pd.Series(values, index=range(10, 10 + len(values))),
        "pandas category": pd.Series(values).astype("category"),
        "pandas Arrow": pd.Series(values, dtype=pd.ArrowDtype(pa.string())),
        "polars": pl.Series(values),
        "polars categorical": pl.Series(values).cast(pl.Categorical),
        "string": pa.array(values, pa.string()),
        "large_string": pa.array(values, pa.large_string()),
        "string_view": pa.array(values, pa.string_view()),
        "dictionary": pa.array(values).dictionary_encode(),
        "sliced": around.slice(2, len(values)),
        "sliced large_string": around.cast(pa.large_string()).slice(2, len(values)),
        "sliced dictionary": around.dictionary_encode().slice(2, len(values)),
        "chunked": pa.chunked_array([values[:2], [], values[2:3], values[3:]], pa.string()),
        "chunked dictionary": pa.chunked_array(
            [pa.array(part, pa.string()).dictionary_encode() for part in (values[:2], values[2:])]
        ),
        "one chunk": pa.chunked_array([values]),
        "column of a table": pa.table({"text": values})["text"],
        "capsule": Capsule(pa.array(values)),
        "sliced capsule": Capsule(around.slice(2, len(values))),
        "stream": Stream(pa.chunked_array([values[:2], values[2:]])),
        "generator": (value for value in values),
    }


KINDS = list(kinds(["a", "b"]))


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_every_kind(kind: str, clf: TextClassifier) -> None:
    found = TextClassifier().learn(kinds(TEXTS)[kind], LABELS)
    assert found.counts == clf.counts
    np.testing.assert_array_equal(clf.scores(kinds(QUERIES)[kind]), clf.scores(QUERIES))
    assert found.unlearn(kinds(TEXTS)[kind], LABELS).counts.n_features == 0


@pytest.mark.parametrize("n", [1, 10])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "stream"])
def test_labels_of_every_kind(kind: str, n: int) -> None:
    expected = TextClassifier().learn(TEXTS * n, LABELS * n)
    found = TextClassifier().learn(TEXTS * n, kinds(LABELS * n)[kind])
    assert found.classes_.tolist() == ["ham", "spam"]
    assert found.counts == expected.counts


@pytest.mark.parametrize("kind", ["string", "large_string", "chunked", "dictionary", "polars", "pandas", "numpy"])
def test_no_texts_of_every_kind(kind: str, clf: TextClassifier) -> None:
    empty = kinds(["a", "b"])[kind][:0]
    assert TextClassifier().learn(empty, []).counts.n_docs == 0
    assert clf.predict(empty).tolist() == []


def test_tokens_and_mappings() -> None:
    tokens = [["a", "b", "a"], ["b"], []]
    expected = TextClassifier().learn(tokens, ["x", "y", "y"])
    assert dict(expected.counts.totals()) == {"a": (2, 1), "b": (2, 2)}
    others: list[Any] = [
        [tuple(words) for words in tokens],
        tuple(tokens),
        [Counter(words) for words in tokens],
        [{"a": np.int64(2), "b": 1, "never": 0}, {"b": 1}, {}],
        [["a", "b", "a"], {"b": 1}, ()],
    ]
    for other in others:
        assert TextClassifier().learn(other, ["x", "y", "y"]).counts == expected.counts
        np.testing.assert_array_equal(expected.scores(other), expected.scores(tokens))


def test_tokens_are_taken_as_they_are() -> None:
    clf = TextClassifier().learn([["New York", "NEW", "", "日本", "a\0b"]], ["x"])
    assert sorted(clf.counts.totals()) == ["", "NEW", "New York", "a\0b", "日本"]


def test_strange_text() -> None:
    texts = [
        "a\0b",
        "\0",
        "👩\u200d👩\u200d👧",
        "🇯🇵",
        "\ufeffbom",
        "\U0010ffff",
        "ﷺ" * 50,
        "e\u0301" * 100,
        "q\u0301\u0323\u0334",
    ]
    clf = TextClassifier().learn(texts, [str(k) for k in range(len(texts))])
    assert clf.counts.n_docs == len(texts)
    assert {"a", "b", "a b"} <= set(clf.counts.totals())
    assert clf.predict(texts[2:4]).tolist() == ["2", "3"]
    assert np.isfinite(clf.scores(texts * 10)).all()
    assert clf.unlearn(texts, [str(k) for k in range(len(texts))]).counts.n_features == 0


# Bad input

BROKEN = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(np.array([0, 2, 4], np.int32)), pa.py_buffer(b"ok\xff\xfe")]
)
SURROGATE = (
    "text 1 has a lone surrogate at character 2, which no encoding can hold: "
    'replace it, for example with text.encode("utf-8", "replace").decode()'
)
BAD_TEXTS: dict[str, tuple[Any, type[BunruiError], str]] = {
    "one string": ("ab", DataError, "texts should be a list of strings, not one string: put it into a list"),
    "one mapping": ({"a": 1, "b": 2}, DataError, "texts should be a list of strings, not dict"),
    "None": (None, DataError, "texts should be a list of strings, not NoneType"),
    "a number": (3, DataError, "texts should be a list of strings, not int"),
    "a missing text": (
        ["a", None],
        DataError,
        "text 1 is missing (null): fill it with an empty string or leave the row out",
    ),
    "a missing first text": (
        [None, "a"],
        DataError,
        "text 0 is missing (null): fill it with an empty string or leave the row out",
    ),
    "a missing text in Arrow": (
        pa.array(["a", None]),
        DataError,
        "text 1 is missing (null): fill it with an empty string or leave the row out",
    ),
    "a missing text in polars": (
        pl.Series(["a", None]),
        DataError,
        "text 1 is missing (null): fill it with an empty string or leave the row out",
    ),
    "a number among texts": (["a", 1], DataError, "text 1 should be a string, not int"),
    "numbers": ([1, 2], DataError, "text 0 should be a string, not int"),
    "numbers in NumPy": (np.array([1, 2]), DataError, "text 0 should be a string, not int"),
    "numbers in Arrow": (pa.array([1, 2]), DataError, "texts should be strings, not int64"),
    "numbers in a dictionary": (pa.array([1, 2]).dictionary_encode(), DataError, "texts should be strings, not int64"),
    "a text among tokens": (
        [["a"], "b"],
        DataError,
        "document 1 should be a list of tokens or a mapping from word to count like the first, not str",
    ),
    "a number among tokens": ([["a"], ["b", 1]], DataError, "document 1 has the token 1, which is not a string"),
    "a number as a word": ([{"a": 1}, {2: 1}], DataError, "document 1 has the token 2, which is not a string"),
    "half a word": ([{"a": 1}, {"b": 0.5}], DataError, "document 1 counts 'b' 0.5 times: counts are whole numbers"),
    "a true word": ([{"a": 1}, {"b": True}], DataError, "document 1 counts 'b' True times: counts are whole numbers"),
    "less than a word": ([{"a": 1}, {"b": -2}], DataError, "document 1 counts 'b' -2 times: counts are not negative"),
    "a surrogate": (["fine", "ab\ud800"], EncodingError, SURROGATE),
    "a surrogate in NumPy": (np.array(["fine", "ab\ud800"], object), EncodingError, SURROGATE),
    "a surrogate among tokens": (
        [["a"], ["\udfff"]],
        EncodingError,
        "document 1 has the token '\\udfff' with a lone surrogate",
    ),
    "bytes that are not UTF-8": (
        BROKEN,
        EncodingError,
        "text is not valid UTF-8: Invalid UTF8 sequence at string index 1. Decode it with its own encoding first",
    ),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_texts_that_cannot_be_read(case: str, clf: TextClassifier) -> None:
    texts, kind, message = BAD_TEXTS[case]
    before = clf.counts.copy()
    for use in (
        lambda: clf.learn(texts, ["x", "y"]),
        lambda: clf.unlearn(texts, ["x", "y"]),
        lambda: clf.predict(texts),
    ):
        with pytest.raises(kind) as error:
            use()
        assert type(error.value) is kind
        assert str(error.value) == message
    assert clf.counts == before


BAD_LABELS: dict[str, tuple[Any, type[BunruiError], str]] = {
    "one string": ("ab", LabelError, "labels should be a list with one for each text, not one string"),
    "None": (None, LabelError, "labels should be a list with one for each text, not NoneType"),
    "a mapping": ({"a": 1, "b": 2}, LabelError, "labels should be a list with one for each text, not dict"),
    "too few": (["x"], DataError, "there are 2 texts and 1 label: give one label for each text"),
    "too many": (["x"] * 3, DataError, "there are 2 texts and 3 labels: give one label for each text"),
    "many too many": (["x"] * 300, DataError, "there are 2 texts and 300 labels: give one label for each text"),
    "two types": (
        ["x", 1],
        LabelError,
        "a label of text 1 is 1, of type int, and others are of type str: convert all labels to one type, such as str",
    ),
    "truth and a number": (
        [True, 1],
        LabelError,
        "a label of text 1 is 1, of type int, and others are of type bool: convert all labels to one type, such as str",
    ),
    "fractions": (
        np.array([3.5, 1]),
        LabelError,
        "a label of text 0 is 3.5, a fraction: convert labels with str",
    ),
    "whole numbers that are floats": (
        np.array([3.0, 1]),
        LabelError,
        "a label of text 0 is 3.0, a float: convert all to integers, as y.astype(int) does",
    ),
    "a number that is missing": (
        np.array([1.0, np.nan]),
        LabelError,
        "the label of text 1 is missing: give one, or leave the text out",
    ),
    "a large number": (
        [1, 1 << 63],
        LabelError,
        "a label of text 1 is 9223372036854775808, which has more than 64 bits: convert labels with str",
    ),
    "a matrix": (
        np.array([[0, 1], [1, 0]]),
        LabelError,
        "labels have the shape (2, 2): give one for each text, or a list of its labels",
    ),
    "bytes": (
        ["x", b"y"],
        LabelError,
        "a label of text 1 is b'y', no string, integer or boolean: convert labels with str",
    ),
    "missing": (
        ["x", None],
        LabelError,
        "the label of text 1 is missing: give one, or leave the text out",
    ),
    "missing in Arrow": (pa.array(["x", None]), LabelError, "the label of text 1 is missing (null)"),
    "missing in pandas": (pd.Series(["x", None]), LabelError, "the label of text 1 is missing (null)"),
    "empty": (["x", ""], LabelError, "a label of text 1 is empty: give it a name, or leave the text out"),
    "empty in Arrow": (
        pa.array(["x", ""]),
        LabelError,
        "a label among the labels is empty: give it a name, or leave the text out",
    ),
    "an empty set": (["x", set()], LabelError, "text 1 has no label: give at least one"),
    "an empty label in a set": (
        [{"x"}, {"", "y"}],
        LabelError,
        "a label of text 1 is empty: give it a name, or leave the text out",
    ),
    "a number in a list": (
        [["x"], ["y", 2]],
        LabelError,
        "a label of text 1 is 2, of type int, and others are of type str: convert all labels to one type, such as str",
    ),
    "NUL": (["x", "y\0"], LabelError, "a label is 'y\\x00', with a NUL or a lone surrogate: give it another name"),
    "a surrogate": (
        ["x", "\ud800"],
        LabelError,
        "a label is '\\ud800', with a NUL or a lone surrogate: give it another name",
    ),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_labels_that_cannot_be_read(case: str, clf: TextClassifier) -> None:
    labels, kind, message = BAD_LABELS[case]
    before = clf.counts.copy()
    for use in (lambda: clf.learn(["a", "b"], labels), lambda: clf.unlearn(["a", "b"], labels)):
        with pytest.raises(kind) as error:
            use()
        assert str(error.value) == message
    assert clf.counts == before


@pytest.mark.parametrize("bad", [b"x", 1, None, "", "\ud800", "x\0"])
def test_one_bad_label_among_many(bad: Any) -> None:
    labels = ["x"] * 100 + [bad]
    with pytest.raises(LabelError):
        TextClassifier().learn(["a"] * 101, labels)


def test_all_or_nothing(clf: TextClassifier) -> None:
    before = clf.counts.copy()
    with pytest.raises(UnlearnError, match=r"^this was never learned: "):
        clf.unlearn([TEXTS[0], "never learned"], ["spam", "spam"])
    with pytest.raises(UnlearnError, match=r"^label 'eggs' has no documents: 1 document cannot be taken back$"):
        clf.unlearn([TEXTS[0]], ["eggs"])
    assert clf.counts == before
    assert clf.classes_.tolist() == ["ham", "spam"]


# Large documents


@pytest.mark.parametrize("analyzer", ["universal", "words"])
def test_one_large_document(analyzer: str) -> None:
    text = "The quick brown 狐 jumps, 日本語も 한국어도. " * 20_000
    clf = TextClassifier(analyzer=analyzer).learn([text, "small"], ["large", "small"])
    assert clf.counts.totals()["quick"] == (20_000, 1)
    assert clf.predict([text, "small", text]).tolist() == ["large", "small", "large"]
    assert clf.unlearn([text], ["large"]).counts == TextClassifier(analyzer=analyzer).learn(["small"], ["small"]).counts


def test_one_long_word_takes_the_room_of_one_word() -> None:
    word = "x" * 20_000_000
    clf = TextClassifier().learn([word, word + "y"], ["a", "b"])
    assert clf.counts.n_features == 2
    assert clf.predict([word, word + "y"]).tolist() == ["a", "b"]
    # The text of a feature needs room, not the table of features.
    assert clf.counts.vocabulary.slots.nbytes < 5_000_000


@pytest.mark.slow
@pytest.mark.parametrize("analyzer", ["universal", "words"])
def test_a_document_of_100_megabytes(analyzer: str) -> None:
    text = "The quick brown fox, jumps. " * (100_000_000 // 28)
    assert len(text) > 99_000_000
    clf = TextClassifier(analyzer=analyzer).learn([text, "small"], ["large", "small"])
    assert clf.counts.totals()["quick"] == (100_000_000 // 28, 1)
    assert clf.predict([text, "small"]).tolist() == ["large", "small"]


@pytest.mark.slow
@pytest.mark.parametrize("analyzer", ["universal", "words"])
@pytest.mark.parametrize("letter", ["x", "é", "日"])
def test_a_word_of_100_megabytes(letter: str, analyzer: str) -> None:
    word = letter * (100_000_000 // len(letter.encode()))
    clf = TextClassifier(analyzer=AnalyzerSpec(name=analyzer, words=1)).learn(
        [word, word[:-1], "small"], ["a", "b", "c"]
    )
    if letter == "日" and analyzer == "universal":
        assert clf.counts.totals()[letter] == (2 * len(word) - 1, 2)
    else:
        assert clf.counts.n_features == 3
        assert clf.predict([word, word[:-1]]).tolist() == ["a", "b"]


# Threads


def test_reading_while_another_learns_and_unlearns() -> None:
    """Every answer is that of one of the two states; the class that comes and goes is the first column."""
    texts = [f"w{k} w{k % 7} common" for k in range(60)]
    labels = [f"c{k % 3}" for k in range(60)]
    more, more_labels = [f"n{k} w{k % 5} common extra" for k in range(40)], ["aaa"] * 40
    queries = ["w1 w2 common", "n3 extra", "w5", ""] * 10
    short = queries[:3]
    clf = TextClassifier("multinomial").learn(texts, labels)
    readers = [
        clf,
        clf.with_model("binary-complement"),
        clf.with_model("bernoulli"),
        clf.with_model("multinomial", min_df=2),
    ]

    def answers(reader: TextClassifier) -> tuple[Any, ...]:
        return (
            tuple(reader.predict(queries).tolist()),
            tuple(reader.predict(short).tolist()),
            reader.predict_proba(short).tobytes(),
            reader.log_odds(short, positive="c1", negative="c2").tobytes(),
            tuple(reader.classes_.tolist()),
            repr(reader),
        )

    states = [[{answer} for answer in answers(reader)] for reader in readers]
    clf.learn(more, more_labels)
    for reader, known in zip(readers, states, strict=True):
        for answer, allowed in zip(answers(reader), known, strict=True):
            allowed.add(answer)
    clf.unlearn(more, more_labels)
    assert all(len(known[0]) == 2 for known in states)

    stop, wrong, asked = threading.Event(), [], Counter[int]()

    def read(which: int) -> None:
        reader, known = readers[which % len(readers)], states[which % len(readers)]
        while not stop.is_set():
            try:
                for k, (answer, allowed) in enumerate(zip(answers(reader), known, strict=True)):
                    if answer not in allowed:
                        wrong.append((k, answer))
            except Exception as error:
                wrong.append((-1, repr(error)))
            asked[which] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    workers = [threading.Thread(target=read, args=(k,), daemon=True) for k in range(8)]
    try:
        for worker in workers:
            worker.start()
        for _ in range(60):
            clf.learn(more, more_labels)
            clf.unlearn(more, more_labels)
    finally:
        stop.set()
        for worker in workers:
            worker.join(PATIENCE)
        sys.setswitchinterval(interval)
    assert wrong == []
    assert len(asked) == 8
    assert clf.counts == TextClassifier().learn(texts, labels).counts


def test_learning_from_many_threads() -> None:
    clf = TextClassifier()
    parts = [([f"w{k} w{n}" for k in range(20)], [f"c{(k + n) % 5}" for k in range(20)]) for n in range(16)]
    workers = [threading.Thread(target=clf.learn, args=part, daemon=True) for part in parts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    expected = TextClassifier()
    for texts, labels in parts:
        expected.learn(texts, labels)
    assert clf.counts == expected.counts


def test_scoring_on_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"w{k} w{k % 7} 日本{k} q\u0301\u0323\u0334" if k % 11 == 0 else f"w{k} common" for k in range(300)]
    clf = TextClassifier().learn(texts, [f"c{k % 4}" for k in range(300)])
    monkeypatch.setenv("BUNRUI_THREADS", "1")
    expected = {model: clf.with_model(model).scores(texts) for model in MODELS}
    monkeypatch.setattr(slices, "_WORTH_A_THREAD", 1)
    for n in ("2", "5"):
        monkeypatch.setenv("BUNRUI_THREADS", n)
        for model, scores in expected.items():
            assert np.array_equal(clf.with_model(model).scores(texts).view(np.int64), scores.view(np.int64))


def test_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_THREADS", "3")
    assert slices.n_threads() == 3
    monkeypatch.setenv("BUNRUI_THREADS", "0")
    assert slices.n_threads() == 1
    monkeypatch.setenv("BUNRUI_THREADS", "many")
    with pytest.raises(OptionError, match=r"^BUNRUI_THREADS should be a whole number, not 'many'$"):
        slices.n_threads()
    monkeypatch.delenv("BUNRUI_THREADS")
    assert 1 <= slices.n_threads() <= (os.cpu_count() or 1)
    # macOS and Windows do not say which processors a process may use.
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert slices.n_threads() == os.cpu_count()


# Processes


def test_a_few_documents_load_neither_numba_nor_sklearn() -> None:
    program = """
        import sys
        import bunrui
        assert not {"numba", "sklearn", "numpy", "pyarrow"} & set(sys.modules)
        clf = bunrui.TextClassifier()
        clf.learn(["cheap pills", "meeting at noon", "無料です"], ["spam", "ham", "spam"])
        clf.unlearn(["meeting at noon"], ["ham"]).learn(["meeting at noon"], ["ham"])
        print(clf.predict(["pills", "noon", "無料"]).tolist(), clf.get_params()["model"])
        print(sorted({"numba", "sklearn", "llvmlite", "pandas", "polars"} & set(sys.modules)))
    """
    assert run_python(program) == "['spam', 'ham', 'spam'] auto\n[]\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_can_count() -> None:
    program = """
        import os, signal, sys, warnings
        warnings.simplefilter("ignore")
        from bunrui import TextClassifier
        from bunrui.kernel import slices
        slices._WORTH_A_THREAD = 1
        texts, labels = ["a b c", "d e f"] * 50, ["x", "y"] * 50
        clf = TextClassifier().learn(texts, labels)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # a child that waits for ever should not stay behind
            other = TextClassifier().learn(texts, labels)
            os._exit(0 if other.counts == clf.counts else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run_python(program, BUNRUI_THREADS="2") == "0\n"


def test_copies(clf: TextClassifier) -> None:
    clf.predict(QUERIES)
    for other in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert other.get_params() == clf.get_params()
        np.testing.assert_array_equal(other.scores(QUERIES), clf.scores(QUERIES))
        other.learn(["Sieg"], ["Sport"])
        assert other.classes_.tolist() == ["Sport", "ham", "spam"]
        assert clf.classes_.tolist() == ["ham", "spam"]


# scikit-learn


@pytest.fixture(scope="module")
def corpus() -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(3)
    labels = [["ham", "spam"][k % 2] for k in range(60)]
    words = {"ham": ["noon", "lunch", "meeting"], "spam": ["pills", "cheap", "free"]}
    return [" ".join([*rng.choice(words[label], 3), "the", "a"]) for label in labels], labels


@pytest.fixture
def quiet() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("quiet")
def test_clone(clf: TextClassifier) -> None:
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    clf.set_params(alpha=0.7, max_features=("chi2", 5))
    other = clone(clf)
    assert other.get_params() == clf.get_params()
    assert other.counts.n_docs == 0
    assert is_classifier(clf)
    check_is_fitted(clf)
    with pytest.raises(NotFittedError):
        check_is_fitted(other)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search(corpus: tuple[list[str], list[str]], n_jobs: int | None) -> None:
    from sklearn.model_selection import GridSearchCV

    texts, labels = corpus
    grid = {"model": ["multinomial", "complement"], "alpha": [0.1, 1.0]}
    search = GridSearchCV(TextClassifier(analyzer="words"), grid, cv=3, n_jobs=n_jobs).fit(texts, labels)
    assert search.best_score_ == 1.0
    assert search.best_estimator_.counts == TextClassifier(analyzer="words").learn(texts, labels).counts
    assert search.predict(["cheap", "lunch"]).tolist() == ["spam", "ham"]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_goes_on_after_options_that_make_no_sense(
    corpus: tuple[list[str], list[str]], n_jobs: int | None
) -> None:
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection import GridSearchCV

    texts, labels = corpus
    grid = {"smoothing": ["eap", "mle"], "alpha": [1.0, None], "analyzer": ["words", "fr"]}
    search = GridSearchCV(TextClassifier("multinomial"), grid, cv=3, error_score=np.nan, n_jobs=n_jobs)
    with pytest.warns((FitFailedWarning, UserWarning)):
        search.fit(texts, labels)
    failed = [options for options, score in zip(*_tried(search), strict=True) if np.isnan(score)]
    assert len(failed) == 5 and search.best_score_ == 1.0
    assert all(
        options["analyzer"] == "fr" or (options["smoothing"], options["alpha"]) == ("mle", 1.0) for options in failed
    )


def _tried(search: Any) -> tuple[list[dict[str, Any]], list[float]]:
    return search.cv_results_["params"], search.cv_results_["mean_test_score"].tolist()


def test_nothing_learned_is_no_attribute() -> None:
    """Checked where scikit-learn is not imported, and where it is."""
    script = """if True:
        import pickle, sys
        from bunrui import TextClassifier
        from bunrui.errors import NotLearnedError

        def error():
            try:
                TextClassifier().predict(["a"])
            except NotLearnedError as error:
                return error

        assert not hasattr(TextClassifier(), "classes_") and isinstance(error(), (AttributeError, ValueError))
        assert "sklearn" not in sys.modules
        from sklearn.exceptions import NotFittedError
        assert not hasattr(TextClassifier(), "classes_") and isinstance(error(), NotFittedError)
        for found in (error(), pickle.loads(pickle.dumps(error()))):
            assert type(found).__name__ == "NotLearnedError" and str(found).startswith("nothing has been learned yet")
        """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE)


@pytest.mark.usefixtures("quiet")
def test_cross_validation(corpus: tuple[list[str], list[str]]) -> None:
    from sklearn.model_selection import cross_val_predict, cross_val_score
    from sklearn.pipeline import make_pipeline

    texts, labels = corpus
    assert cross_val_predict(TextClassifier(), texts, labels, cv=4).tolist() == labels
    assert cross_val_predict(TextClassifier("multinomial"), np.array(texts), np.array(labels), cv=4).tolist() == labels
    assert cross_val_score(make_pipeline(TextClassifier()), texts, labels, cv=3).tolist() == [1.0] * 3
    chances = cross_val_predict(TextClassifier(), texts, labels, cv=4, method="predict_proba")
    assert np.unique(labels)[chances.argmax(axis=1)].tolist() == labels


# The package


def test_public_names() -> None:
    assert {"AnalyzerSpec", "Counts", "TextClassifier", "__version__"} <= set(bunrui.__all__) == set(dir(bunrui))
    for name in set(bunrui.__all__) - {"__version__"}:
        assert getattr(bunrui, name).__name__ == name
    with pytest.raises(AttributeError, match=r"^module 'bunrui' has no attribute 'nothing'$"):
        _ = bunrui.nothing


def test_an_old_copy_refuses_another_analyzer(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(TextClassifier(analyzer="words").learn(["a"], ["x"]))
    assert pickle.loads(data).predict(["a"]).tolist() == ["x"]
    monkeypatch.setattr("bunrui.analysis.spec.VERSION", 2)
    monkeypatch.setattr("bunrui.analysis.analyzer._of_spec", bunrui.analysis.analyzer._of_spec.__wrapped__)
    with pytest.raises(MismatchError, match=r"^this copy was made where the analyzer gave other features"):
        pickle.loads(data)


def test_words_are_found_as_the_analyzer_writes_them() -> None:
    clf = TextClassifier(analyzer="words").learn(["Straße gut"], ["x"])
    assert [word.text for name in ("straße", "Straße", "STRAßE") for word in clf.words(word=name)] == ["straße"] * 3
    clf = TextClassifier().learn(["ＮＥＷ York 無料です"], ["x"])
    for name, text in (("New York", "new york"), ("無料", "無料"), ("ｎｅｗ", "new")):
        assert [word.text for word in clf.words(word=name)] == [text]


def test_score_of_label_sets() -> None:
    clf = TextClassifier().learn(["a", "b"], [{"x"}, {"y", "z"}])
    assert clf.score(["a", "b"], [{"x"}, {"y", "z"}]) == 1.0
    assert clf.score(["a", "b"], ["x", "x"]) == 0.5


def test_one_document_has_the_probabilities_that_it_has_among_many() -> None:
    texts = [f"w{k} common" for k in range(20)]
    clf = TextClassifier().learn(texts, [f"c{k:02}" for k in range(20)])
    alone = np.vstack([clf.predict_proba([text]) for text in texts])
    assert alone.tobytes() == clf.predict_proba(texts * 3)[:20].tobytes()


# --- what takes long without the lock


@pytest.mark.parametrize("ask", ["scores", "predict", "explain"])
def test_nobody_who_learns_waits_for_a_text_to_be_folded_or_read(ask: str) -> None:
    """A text stops in the middle of its folding, or of its reading; something is learned; then it goes on."""
    clf = TextClassifier("multinomial").learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    hard = "new pills a\u0301\u0327\u0323"  # three marks in the wrong order
    has_come, may_go_on = threading.Event(), threading.Event()
    went_on: list[bool] = []
    found: list[Any] = []

    def stop_once(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_name in ("folded", "features") and not has_come.is_set():
            has_come.set()
            went_on.append(may_go_on.wait(PATIENCE))

    def work() -> None:
        sys.setprofile(stop_once)
        texts = hard if ask == "explain" else ["pills", hard, hard]
        found.append(getattr(clf, ask)(texts))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert has_come.wait(PATIENCE)
    clf.learn(["new new"], ["other"])
    may_go_on.set()
    thread.join(PATIENCE)
    assert went_on == [True]
    if ask == "explain":
        assert found[0] == clf.explain(hard)
    else:
        np.testing.assert_array_equal(found[0], getattr(clf, ask)(["pills", hard, hard]))
