r"""`TextVectorizer` against `CountVectorizer(token_pattern=r"\w+")`, and what it has beyond."""

from __future__ import annotations

import io
import pickle
import random
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_checks

from bunrui.analysis import AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.engines import matrix as matrices
from bunrui.engines import threads
from bunrui.engines.matrix import Features
from bunrui.errors import DataError, EncodingError, OptionError
from bunrui.estimators import TextVectorizer, tokenize
from bunrui.kernel import slices, workspace
from tests.support.characters import assigned
from tests.support.examples import examples

REVIEWS = [
    "This film was great, really GREAT: the plot, the cast, the end.",
    "I didn't like it. It's 3 hours long, and the plot is thin; 3 hours!",
    "<br /><br />Great cast_and_crew, but the_end... is the end the end?",
    "naïve café owners in São Paulo (a great film)",
    "ничего не понял, но ПЛОТ хороший",
    "映画は面白かった。cast もよかった",
]
HOSTILE = [
    "",
    " \t\n",
    "\0",
    "a\0b\0\0c a",
    "ΟΔΟΣ ΟΔΟΣ. ὈΔΥΣΣΕΎΣ Σ ΑΣ' Σ",  # final sigma: only Python can fold it
    "İstanbul İ i̇ ISPARTA ı",  # one character becomes two
    "straße STRASSE ẞ ﬁx Ǆ ǆ ﷺ",
    "é é क्षि ไทย x²y ½ Ⅷ ٣٤",
    "👍🏽 a👍b _ __ _a_ a_b",
    "-".join(["long" * 5000, "x" * 16, "x" * 17, "x" * 8, "x" * 9]),
    "\U0001f600\U00010400\U00010428 𝐀𝐁 𝐚𝐛",
    "\ufeffbom \u200bzero\u200dwidth \u00adsoft\u00adhyphen",
    "ends with Σ",
    "K Å µ ſ ϐ ς",
]
DOCUMENTS = [*REVIEWS, *HOSTILE, *REVIEWS[:3], "the the the end"]

OPTIONS: list[dict[str, Any]] = [
    {},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 2)},
    {"ngram_range": (2, 4)},
    {"binary": True},
    {"min_df": 2},
    {"min_df": 0.1},
    {"max_df": 3},
    {"max_df": 0.2},
    {"min_df": 2, "max_df": 0.3, "ngram_range": (1, 2)},
    {"max_features": 7},
    {"max_features": 20, "binary": True},
    {"max_features": 25, "min_df": 2, "ngram_range": (1, 3)},
    {"max_features": 10**6},
    {"stop_words": ["the", "is", "a", "плот"]},
    {"stop_words": "english", "ngram_range": (1, 2)},
    {"vocabulary": ["end", "the", "zebra", "οδος", "b"]},
    {"vocabulary": {"the end": 1, "great": 0, "a": 2}, "ngram_range": (1, 2)},
    {"vocabulary": {"film", "cast", "a"}, "binary": True},
    {"dtype": np.float32},
    {"dtype": np.int32, "max_features": 9},
]


ANY_TEXT = st.text(
    st.one_of(
        st.sampled_from("aAbB _-.\0\n\t\u2003ΣσςİßK™é\u0307\u0345"),
        st.characters(exclude_categories=["Cs", "Cn"]).filter(lambda c: bool(assigned()[ord(c)])),
    ),
    max_size=40,
)


def peer(**options: Any) -> CountVectorizer:
    return CountVectorizer(token_pattern=r"\w+", **options)


def assert_same(ours: Any, theirs: Any) -> None:
    """The same matrix in every respect."""
    assert type(ours) is type(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert ours.indices.dtype == theirs.indices.dtype
    assert ours.has_sorted_indices
    assert all(np.all(np.diff(ours.indices[a:b]) > 0) for a, b in zip(ours.indptr, ours.indptr[1:], strict=False))
    assert (ours != theirs).nnz == 0


# --- as CountVectorizer


def name_of(options: dict[str, Any]) -> str:
    """The same in every process: workers that run tests must agree on their names."""
    sortable = {name: sorted(value) if isinstance(value, set) else value for name, value in options.items()}
    return re.sub(" at 0x[0-9a-f]+", "", str(sortable))


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_same_as_count_vectorizer(options: dict[str, Any]) -> None:
    vectorizer, other = TextVectorizer(**options), peer(**options)
    X, Y = vectorizer.fit_transform(DOCUMENTS), other.fit_transform(DOCUMENTS)
    assert_same(X, Y)
    assert vectorizer.vocabulary_ == other.vocabulary_
    assert vectorizer.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    assert vectorizer.fixed_vocabulary_ == other.fixed_vocabulary_
    assert_same(TextVectorizer(**options).fit(DOCUMENTS).transform(DOCUMENTS), Y)
    later = ["a new film, the end: ΟΔΟΣ", "", "zebra", *HOSTILE[::-1]]
    assert_same(vectorizer.transform(later), other.transform(later))


def check_fit(vectorizer: TextVectorizer, other: CountVectorizer, documents: list[str]) -> None:
    """Both find the same counts, or both nothing."""
    try:
        Y = other.fit_transform(documents)
    except ValueError:
        with pytest.raises(DataError, match="empty vocabulary"):
            vectorizer.fit_transform(documents)
        return
    assert_same(vectorizer.fit_transform(documents), Y)
    assert vectorizer.vocabulary_ == other.vocabulary_


@given(st.lists(ANY_TEXT, max_size=8), st.sampled_from([(1, 1), (1, 2), (2, 3)]))
@settings(max_examples=examples(80))
def test_same_on_any_text(documents: list[str], ngram_range: tuple[int, int]) -> None:
    check_fit(TextVectorizer(ngram_range=ngram_range), peer(ngram_range=ngram_range), documents)


def without_vowels(text: str) -> str:
    return re.sub("[aeiouаеиоу]", "", text)


# Whatever CountVectorizer takes, with `word` in place of its default analyzer.
SHARED: list[dict[str, Any]] = [
    {"analyzer": "word"},
    {"analyzer": "word", "ngram_range": (1, 3)},
    {"analyzer": "word", "ngram_range": (2, 2), "stop_words": "english"},
    {"analyzer": "word", "ngram_range": (8, 16)},
    {"analyzer": "word", "stop_words": ["the", "The", "great", " is ", "é", "οδος"], "ngram_range": (1, 2)},
    {"analyzer": "word", "lowercase": False, "stop_words": ["The", "cast"]},
    {"analyzer": "word", "strip_accents": "ascii"},
    {"analyzer": "word", "strip_accents": "unicode", "ngram_range": (1, 2)},
    {"analyzer": "word", "strip_accents": without_vowels},
    {"analyzer": "word", "preprocessor": str.swapcase, "max_features": 20},
    {"analyzer": "word", "tokenizer": str.split, "ngram_range": (1, 2), "stop_words": ["the"]},
    {"analyzer": "word", "tokenizer": re.compile(r"\W+").split},
    {"analyzer": "word", "tokenizer": re.compile(r"\w+", re.ASCII).findall},
    {"analyzer": "word", "token_pattern": r"\b\w+\b", "min_df": 2},
    {"analyzer": "word", "token_pattern": r"(?i)[a-z]{3,}", "max_df": 0.3},
    {"analyzer": "word", "token_pattern": r"(\w)\w*", "binary": True},
    {"analyzer": "char"},
    {"analyzer": "char", "ngram_range": (2, 5), "max_features": 300},
    {"analyzer": "char", "ngram_range": (3, 3), "lowercase": False, "strip_accents": "unicode"},
    {"analyzer": "char_wb", "ngram_range": (1, 4)},
    {"analyzer": "char_wb", "ngram_range": (4, 20), "min_df": 2},
    {"analyzer": "char_wb", "ngram_range": (5, 5), "vocabulary": ["great", " the ", "zzzzz"], "dtype": np.float32},
    {"analyzer": str.splitlines},
]


@pytest.mark.filterwarnings("ignore:Your stop_words", "ignore:The parameter 'token_pattern'")
@pytest.mark.parametrize("options", SHARED, ids=name_of)
def test_same_with_the_options_of_count_vectorizer(options: dict[str, Any]) -> None:
    documents = [*DOCUMENTS, "A\r\n\r\n  B\u2003\u2003c\x1c\x1cd \x85e", "ﬀ ™ ª İA Aİ aİ Å Ⅷ"]
    vectorizer, other = TextVectorizer(**options), CountVectorizer(**options)
    X, Y = vectorizer.fit_transform(documents), other.fit_transform(documents)
    assert_same(X, Y)
    assert vectorizer.vocabulary_ == other.vocabulary_
    assert_same(vectorizer.transform(HOSTILE[::-1]), other.transform(HOSTILE[::-1]))
    assert_same(vectorizer.transform([text.encode() for text in documents]), Y)
    analyze, peers = vectorizer.build_analyzer(), other.build_analyzer()
    assert [analyze(document) for document in documents] == [peers(document) for document in documents]
    assert pickle.loads(pickle.dumps(vectorizer)).vocabulary_ == other.vocabulary_


@pytest.mark.filterwarnings("ignore:Your stop_words", "ignore:The parameter 'token_pattern'")
@given(st.lists(ANY_TEXT, max_size=8), st.sampled_from([options for options in SHARED if "vocabulary" not in options]))
@settings(max_examples=examples(150))
def test_same_on_any_text_with_the_options_of_count_vectorizer(documents: list[str], options: dict[str, Any]) -> None:
    options = {name: value for name, value in options.items() if name not in ("min_df", "max_df")}
    check_fit(TextVectorizer(**options), CountVectorizer(**options), documents)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 17, 64, 300])
def test_ties_fall_as_in_scikit_learn(limit: int, binary: bool) -> None:
    draw = random.Random(limit)
    documents = [" ".join(f"w{draw.randrange(400)}" for _ in range(20)) for _ in range(60)]
    options = {"max_features": limit, "binary": binary}
    vectorizer, other = TextVectorizer(**options), peer(**options)
    assert_same(vectorizer.fit_transform(documents), other.fit_transform(documents))
    assert vectorizer.vocabulary_ == other.vocabulary_


def test_columns_are_sorted_by_code_point() -> None:
    words = ["z", "é", "\uff5a", "\U00010428", "aa", "a", "10", "9", "_"]
    names = TextVectorizer().fit([" ".join(words)]).get_feature_names_out().tolist()
    assert names == sorted(names)
    assert len(names) == len(words)


def test_inverse_transform() -> None:
    vectorizer, other = TextVectorizer(), peer()
    X, Y = vectorizer.fit_transform(DOCUMENTS), other.fit_transform(DOCUMENTS)
    # The columns of theirs are sorted, the cells of a row are not.
    expected = [sorted(row.tolist()) for row in other.inverse_transform(Y)]
    assert [row.tolist() for row in vectorizer.inverse_transform(X)] == expected
    assert [row.tolist() for row in vectorizer.inverse_transform(X.toarray())] == expected
    X.data[X.indptr[0]] = 0
    assert vectorizer.inverse_transform(X)[0].tolist() == expected[0][1:]
    with pytest.raises(DataError, match="should have a column for each of the"):
        vectorizer.inverse_transform(X[:, 1:])


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 3)])
def test_build_analyzer(ngram_range: tuple[int, int]) -> None:
    options: dict[str, Any] = {"ngram_range": ngram_range, "stop_words": ["the", "a"]}
    analyze, other = TextVectorizer(**options).build_analyzer(), peer(**options).build_analyzer()
    for document in DOCUMENTS:
        assert Counter(analyze(document)) == Counter(other(document))


@pytest.mark.parametrize("interface", ["spmatrix", "sparray"])
def test_sparse_interface(interface: str) -> None:
    try:
        context = config_context(sparse_interface=interface)
        with context:
            assert_same(TextVectorizer().fit_transform(DOCUMENTS), peer().fit_transform(DOCUMENTS))
    except TypeError:  # an older scikit-learn, without that setting
        assert sparse.isspmatrix(TextVectorizer().fit_transform(DOCUMENTS))


# --- analyzers


def test_universal_by_name_and_by_spec() -> None:
    text = "New York, 東京"
    one = TextVectorizer(analyzer="universal").fit([text]).vocabulary_
    assert {"new", "york", "東", "東京"} <= set(one)
    assert "new york" not in one
    assert "new york" in TextVectorizer(analyzer="universal", ngram_range=(1, 2)).fit([text]).vocabulary_
    assert "new york" in TextVectorizer(analyzer=AnalyzerSpec()).fit([text]).vocabulary_


def test_spec() -> None:
    spec = AnalyzerSpec(name="words", words=2, html=True, stop_words=["the"])
    texts = ["<b>The milky</b> way home"]
    names = TextVectorizer(analyzer=spec, stop_words=["home"]).fit(texts).get_feature_names_out().tolist()
    assert names == ["milky", "milky way", "way"]
    three = TextVectorizer(analyzer=spec, ngram_range=(3, 3)).fit(texts)
    assert three.get_feature_names_out().tolist() == ["milky way home"]


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 2)])
def test_function(ngram_range: tuple[int, int]) -> None:
    options: dict[str, Any] = {"ngram_range": ngram_range, "stop_words": ["the"]}
    vectorizer = TextVectorizer(analyzer=str.split, **options)
    other = CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False, **options)
    assert_same(vectorizer.fit_transform(DOCUMENTS), other.fit_transform(DOCUMENTS))
    assert vectorizer.vocabulary_ == other.vocabulary_
    assert Counter(vectorizer.build_analyzer()(REVIEWS[0])) == Counter(other.build_analyzer()(REVIEWS[0]))


def test_function_whose_tokens_have_spaces() -> None:
    def lines(text: str) -> list[str]:
        return text.split("\n")

    vectorizer = TextVectorizer(analyzer=lines, ngram_range=(2, 2)).fit(["to be\nor not\nto be"])
    assert vectorizer.get_feature_names_out().tolist() == ["or not to be", "to be or not"]


# --- inputs


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, iter, pa.array, pd.Series, pl.Series, lambda texts: pd.Series(texts, dtype=object)],
)
def test_containers(container: Any) -> None:
    texts = [*REVIEWS, "ΟΔΟΣ"]
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(container(texts))
    assert_same(X, peer().fit_transform(texts))
    assert_same(vectorizer.transform(container(texts)), X)


def test_given_features() -> None:
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform([["New York", "a", "New York"], {"a": 70_000, "b": 0}, [], ("",)])
    assert vectorizer.vocabulary_ == {"": 0, "New York": 1, "a": 2}
    assert X.toarray().tolist() == [[0, 2, 1], [0, 0, 70_000], [0, 0, 0], [1, 0, 0]]
    assert vectorizer.transform([{"a": 2, "zebra": 1}]).toarray().tolist() == [[0, 0, 2]]


def test_long_documents_of_many_features() -> None:
    words = [f"w{i}" for i in range(100_000)]
    X = TextVectorizer(ngram_range=(1, 2)).fit_transform([" ".join(words), "w1 w2", " ".join(words[::-1])])
    assert X.shape == (3, 299_998)
    assert X.sum(axis=1).ravel().tolist() == [[199_999, 3, 199_999]]
    given_words = TextVectorizer().fit_transform([words, {word: 3 for word in words}])
    assert given_words.sum(axis=1).ravel().tolist() == [[100_000, 300_000]]


@pytest.mark.parametrize(
    ("texts", "error", "words"),
    [
        ("one string", DataError, "string object received: put it into a list"),
        (["a", None], DataError, "text 1"),
        (["a", 3], DataError, "text 1 should be a string, not int"),
        (["a \ud800"], EncodingError, "lone surrogate"),
        ([], DataError, "empty vocabulary; perhaps the documents only contain stop words"),
        (["", "!?"], DataError, "empty vocabulary; perhaps the documents only contain stop words"),
    ],
)
def test_wrong_texts(texts: Any, error: type[Exception], words: str) -> None:
    for learn in (TextVectorizer().fit, TextVectorizer().fit_transform):
        with pytest.raises(error, match=re.escape(words)):
            learn(texts)


def test_nothing_to_transform() -> None:
    vectorizer = TextVectorizer().fit(["a b"])
    assert vectorizer.transform([]).shape == (0, 2)
    assert vectorizer.transform([""]).toarray().tolist() == [[0, 0]]


# --- the steps of scikit-learn


def test_files_and_bytes(tmp_path: Path) -> None:
    texts = ["Grüße aus Köln", "naïve café", "!"]
    paths = [tmp_path / f"{k}.txt" for k in range(3)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="latin-1")
    expected = peer().fit_transform(texts)
    by_path = TextVectorizer(input="filename", encoding="latin-1")
    assert_same(by_path.fit_transform(paths), expected)
    assert_same(by_path.transform(map(str, paths)), expected)
    opened = [io.BytesIO(path.read_bytes()) for path in paths]
    assert_same(TextVectorizer(input="file", encoding="latin-1").fit_transform(opened), expected)
    assert_same(TextVectorizer(encoding="latin-1").fit_transform([t.encode("latin-1") for t in texts]), expected)
    assert_same(TextVectorizer().fit_transform(np.array([texts[0].encode(), *texts[1:]], object)), expected)
    for analyzer in ("char", "universal"):
        X = TextVectorizer(analyzer=analyzer, input="filename", encoding="latin-1").fit_transform(paths)
        assert_same(X, TextVectorizer(analyzer=analyzer).fit_transform(texts))


@pytest.mark.parametrize("analyzer", ["words", "char"])
def test_bytes_that_cannot_be_decoded(analyzer: str) -> None:
    documents = ["good", "caf\u00e9".encode("latin-1")]
    with pytest.raises(UnicodeDecodeError) as caught:
        TextVectorizer(analyzer=analyzer).fit(documents)
    assert caught.value.__notes__ == ["This is document 1, counted from 0."]
    for decode_error in ("ignore", "replace"):
        options: dict[str, Any] = (
            {"decode_error": decode_error, "token_pattern": r"\w+"}
            if analyzer == "words"
            else {
                "decode_error": decode_error,
                "analyzer": "char",
            }
        )
        assert (
            TextVectorizer(**options).fit(documents).vocabulary_
            == CountVectorizer(**options).fit(documents).vocabulary_
        )


def test_function_of_any_document() -> None:
    rows = [{"text": "New York"}, {"text": "york"}]

    def text_of(row: dict[str, str]) -> str:
        return row["text"].lower()

    expected = peer().fit_transform(["New York", "york"])
    assert_same(TextVectorizer(preprocessor=text_of).fit_transform(rows), expected)
    assert_same(TextVectorizer(analyzer="universal", preprocessor=text_of).fit_transform(rows), expected)
    assert_same(TextVectorizer(preprocessor=str.lower).fit_transform(pa.array(["New York", "york"])), expected)
    tokens = TextVectorizer(tokenizer=list, lowercase=False, ngram_range=(2, 2)).fit([["a", "b", "c"]])
    assert tokens.get_feature_names_out().tolist() == ["a b", "b c"]
    assert_same(TextVectorizer(analyzer=lambda row: text_of(row).split()).fit_transform(rows), expected)
    missing = TextVectorizer(analyzer=lambda document: str(document).split()).fit(["a b", np.nan])
    assert missing.get_feature_names_out().tolist() == ["a", "b", "nan"]
    with pytest.raises(KeyError) as caught:
        TextVectorizer(preprocessor=text_of).fit([*rows, {}])
    assert caught.value.__notes__ == ["This is document 2, counted from 0."]


def test_function_of_tokens() -> None:
    def upper(tokens: list[str]) -> list[str]:
        return [token.upper() for token in tokens]

    documents = [["a", "b"], ["c"]]
    ours, theirs = TextVectorizer(analyzer=upper), CountVectorizer(analyzer=upper)
    assert_same(ours.fit_transform(documents), theirs.fit_transform(documents))
    assert ours.get_feature_names_out().tolist() == ["A", "B", "C"]
    assert_same(ours.transform(pd.Series(documents)), theirs.transform(documents))


@pytest.mark.parametrize(("token", "error"), [(7, DataError), ("\ud800", UnicodeEncodeError)])
def test_tokens_that_cannot_be_features(token: Any, error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenize, "FEATURES_AT_ONCE", 1)
    with pytest.raises(error) as caught:
        TextVectorizer(tokenizer=lambda text: [text, token] if text == "c" else [text]).fit(["a", "b", "c"])
    assert caught.value.__notes__ == ["This is document 2, counted from 0."]


def test_preprocessing_for_other_analyzers() -> None:
    assert "cafe" in TextVectorizer(analyzer="universal", strip_accents="unicode").fit(["Café"]).vocabulary_
    assert TextVectorizer(analyzer="universal").build_analyzer()("東京 a") == [
        "東",
        " 東",
        "京",
        "東京",
        " 東京",
        "京 ",
        "東京 ",
        "a",
    ]


class Shouting(TextVectorizer):
    def build_preprocessor(self) -> Any:
        return str.upper


class Stemming(TextVectorizer):
    def build_analyzer(self) -> Any:
        analyze = super().build_analyzer()
        return lambda document: (word.rstrip("s") for word in analyze(document))


class Halving(TextVectorizer):
    def build_tokenizer(self) -> Any:
        return lambda text: [text[: len(text) // 2], text[len(text) // 2 :]]


def test_subclasses_build_their_own_steps() -> None:
    assert Shouting().fit(["a b"]).get_feature_names_out().tolist() == ["A", "B"]
    assert Stemming(ngram_range=(1, 2)).fit(["two cats"]).get_feature_names_out().tolist() == ["cat", "two", "two cat"]
    assert Stemming().fit(["cats"]).transform([b"cat", "cats"]).toarray().tolist() == [[1], [1]]
    assert Halving(analyzer="word").fit(["ABcd"]).get_feature_names_out().tolist() == ["ab", "cd"]


@pytest.mark.parametrize(
    "options", [{"analyzer": "char", "ngram_range": (1, 3)}, {"tokenizer": str.split}], ids=name_of
)
def test_batches_change_nothing(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TextVectorizer(**options)
    X, hashed = whole.fit_transform(DOCUMENTS), TextVectorizer(n_features=99, **options).transform(DOCUMENTS)
    monkeypatch.setattr(tokenize, "FEATURES_AT_ONCE", 100)
    batched = TextVectorizer(**options)
    assert_same(batched.fit_transform(DOCUMENTS), X)
    assert batched.vocabulary_ == whole.vocabulary_
    assert_same(batched.transform(DOCUMENTS), X)
    assert_same(TextVectorizer(n_features=99, **options).transform(DOCUMENTS), hashed)
    assert batched.transform([]).shape == (0, X.shape[1])


def test_stop_words_that_no_token_equals() -> None:
    with pytest.warns(UserWarning, match=r"generated tokens \['ve', 'you'\] not in stop_words"):
        TextVectorizer(stop_words=["you've"]).fit(["a"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vectorizer = TextVectorizer(stop_words=["The", "a"]).fit(["the cat"])  # `words` has them in lower case
        TextVectorizer(stop_words="english").fit(["cat"])
        vectorizer.set_params(stop_words=["you've"]).transform(["a"])
    assert vectorizer.vocabulary_ == {"cat": 0}


# --- options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_df": 0}, "min_df should be a number of documents from 1, or a share from 0.0 to 1.0, not 0"),
        ({"max_df": 1.5}, "max_df should be a number of documents from 1, or a share from 0.0 to 1.0, not 1.5"),
        ({"max_df": True}, "max_df should be"),
        ({"max_features": 0}, "max_features should be a whole number, from 1 to 2,147,483,647, not 0"),
        ({"n_features": 2.0}, "n_features should be a whole number"),
        ({"n_features": 8, "min_df": 2}, "n_features keeps no vocabulary"),
        ({"n_features": 8, "vocabulary": ["a"]}, "n_features keeps no vocabulary"),
        ({"ngram_range": (2, 1)}, "lower boundary larger than the upper boundary. Give the smaller number first"),
        ({"ngram_range": (0, 1)}, "ngram_range should be a pair of numbers from 1 on, not (0, 1)"),
        ({"ngram_range": (1, 16), "analyzer": "universal"}, "n-grams have 1 to 15 parts"),
        (
            {"ngram_range": (2, 2), "analyzer": "universal"},
            "ngram_range of the analyzer 'universal' should be from 1 on",
        ),
        (
            {"analyzer": "letters"},
            "there is no analyzer 'letters': choose one of words, universal, ja, zh,",
        ),
        ({"input": "url"}, "there is no input 'url': choose one of content, file, filename"),
        ({"decode_error": "guess"}, "there is no decode error 'guess': choose one of strict, ignore, replace"),
        ({"encoding": "utf-9"}, "encoding should be an encoding that Python knows, such as 'utf-8', not 'utf-9'"),
        ({"strip_accents": "all"}, "strip_accents should be 'ascii', 'unicode', a function, or None, not 'all'"),
        ({"token_pattern": "("}, "token_pattern should be a regular expression (missing ), unterminated subpattern"),
        ({"token_pattern": "(a)(b)"}, "More than 1 capturing group in token pattern: leave one group"),
        ({"lowercase": False, "analyzer": "universal"}, "lowercase=False is for the analyzers words, word, char and"),
        ({"analyzer": 3}, "analyzer should be a name, an AnalyzerSpec or a function, not 3"),
        ({"vocabulary": []}, "empty vocabulary passed to fit: give some features"),
        ({"vocabulary": ["a", "b", "a"]}, "vocabulary has 'a' twice"),
        ({"vocabulary": ["a", 3]}, "vocabulary has 3, which is not a string"),
        ({"vocabulary": {"a": 0, "b": 2}}, "doesn't contain index 1: give the columns 0 to 1, each of them once"),
        ({"vocabulary": {"a": 0, "b": 0}}, "contains repeated indices: give each feature a column of its own"),
        ({"vocabulary": "abc"}, "mapping from feature to column, not 'abc'"),
        ({"min_df": 3, "max_df": 2}, "max_df=2 leaves fewer documents than min_df=3 asks for"),
    ],
    ids=str,
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=re.escape(words)):
        TextVectorizer(**options).fit(["a b", "a", "a c"])


def test_a_list_of_stop_words_that_is_not_there() -> None:
    words = "there is no list of stop words 'french', and no such file: give 'english', which is built in, the path of"
    with pytest.raises(DataError, match=words):
        TextVectorizer(stop_words="french").fit(["a b"])


def test_nothing_left() -> None:
    with pytest.raises(DataError, match="after pruning, no features remain: try a lower min_df or a higher max_df"):
        TextVectorizer(min_df=2).fit(["a", "b"])


def test_failed_fit_leaves_what_was_learned() -> None:
    vectorizer = TextVectorizer().fit(["a b"])
    with pytest.raises(DataError):
        vectorizer.fit([""])
    assert vectorizer.vocabulary_ == {"a": 0, "b": 1}


def test_not_fitted() -> None:
    vectorizer = TextVectorizer()
    assert not hasattr(vectorizer, "vocabulary_")
    with pytest.raises(NotFittedError):
        vectorizer.transform(["a"])
    with pytest.raises(NotFittedError):
        vectorizer.get_feature_names_out()
    with pytest.raises(NotFittedError):
        vectorizer.inverse_transform([[1]])


def test_given_vocabulary_needs_no_fit() -> None:
    vectorizer = TextVectorizer(vocabulary=["b", "a"])
    assert vectorizer.transform(["a a b c"]).toarray().tolist() == [[1, 2]]
    assert TextVectorizer(vocabulary=["b", "a"]).get_feature_names_out().tolist() == ["b", "a"]
    assert vectorizer.partial_fit(["c"]).vocabulary_ == {"b": 0, "a": 1}


# --- growing


def test_partial_fit_appends() -> None:
    vectorizer = TextVectorizer().fit(["m c"])
    assert vectorizer.vocabulary_ == {"c": 0, "m": 1}
    vectorizer.partial_fit(["z m a", "ΟΔΟΣ b"]).partial_fit([]).partial_fit(["m"])
    assert vectorizer.vocabulary_ == {"c": 0, "m": 1, "a": 2, "b": 3, "z": 4, "οδος": 5}
    assert vectorizer.get_feature_names_out().tolist() == ["c", "m", "a", "b", "z", "οδος"]
    assert vectorizer.transform(["a m a"]).toarray().tolist() == [[0, 1, 2, 0, 0, 0]]


def test_partial_fit_learns_what_fit_learns() -> None:
    draw = random.Random(1)
    documents = [" ".join(f"w{draw.randrange(3000)}" for _ in range(50)) for _ in range(300)]
    whole = TextVectorizer(ngram_range=(1, 2))
    X = whole.fit_transform(documents)
    grown = TextVectorizer(ngram_range=(1, 2))
    for at in range(0, len(documents), 7):
        known = dict(grown.vocabulary_) if at else {}
        grown.partial_fit(documents[at : at + 7])
        assert known.items() <= grown.vocabulary_.items()
    assert sorted(grown.vocabulary_.values()) == list(range(X.shape[1]))
    columns = [grown.vocabulary_[name] for name in whole.get_feature_names_out()]
    assert (grown.transform(documents)[:, columns] != X).nnz == 0


def test_partial_fit_keeps_every_column() -> None:
    for options in ({"min_df": 2}, {"max_df": 0.5}, {"max_features": 3}):
        with pytest.raises(OptionError, match="partial_fit keeps every column"):
            TextVectorizer(**options).partial_fit(["a"])
    empty = TextVectorizer().partial_fit([])
    assert empty.transform(["a"]).shape == (1, 0)


# --- hashing


def stable_hash(text: str) -> int:
    """The hash that `n_features` reduces, word by word of eight bytes."""
    data = text.encode()
    mask = (1 << 64) - 1
    h = len(data) * 0xA0761D6478BD642F & mask
    for at in range(0, len(data) // 8 * 8, 8):
        h = (h ^ int.from_bytes(data[at : at + 8], "little")) * 0x9E3779B97F4A7C15 & mask
        h ^= h >> 32
    rest = data[len(data) // 8 * 8 :].ljust(8, b"\xff")
    h = (h ^ int.from_bytes(rest, "little")) * 0x9E3779B97F4A7C15 & mask
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & mask
    return h ^ h >> 32


def test_hashes_never_change() -> None:
    # Models are stored with these columns: a failure means that the hash has changed, which it must not.
    words = ["rose", "a", "new york", "分類", "x" * 40, "é", ""]
    X = TextVectorizer(n_features=2**20).transform([[word] for word in words])
    assert X.indices.tolist() == [280388, 24126, 958054, 334444, 139612, 360865, 11722]
    X = TextVectorizer(n_features=1000).transform([[word] for word in words])
    assert X.indices.tolist() == [188, 534, 62, 860, 260, 17, 162]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.integers(1, 2**31 - 1))
def test_hash_is_as_written_down(word: str, width: int) -> None:
    X = TextVectorizer(n_features=width).transform([[word]])
    assert X.indices.tolist() == [stable_hash(word) % width]


@pytest.mark.parametrize("width", [1 << 10, 1000])
def test_hashes_spread(width: int) -> None:
    words = [f"{a} {b}" for a in range(200) for b in range(200)]
    filled = TextVectorizer(n_features=width).transform([words]).toarray().ravel()
    # The mean is the variance where columns are as good as drawn; its own deviation here is 4.5 %.
    assert 0.8 < filled.var() / filled.mean() < 1.2


@pytest.mark.parametrize("options", [{}, {"ngram_range": (1, 2)}, {"ngram_range": (2, 2)}, {"stop_words": "english"}])
@pytest.mark.parametrize("width", [1, 7, 64, 2**20, 2**31 - 1])
def test_hashing_adds_up(options: dict[str, Any], width: int) -> None:
    vectorizer = TextVectorizer(n_features=width, **options)
    X = vectorizer.transform(DOCUMENTS)
    Y = peer(**options).fit_transform(DOCUMENTS)
    assert X.shape == (len(DOCUMENTS), width)
    assert X.sum(axis=1).tolist() == Y.sum(axis=1).tolist()
    assert_same(vectorizer.fit_transform(DOCUMENTS), X)
    assert_same(vectorizer.fit(["nothing of this"]).partial_fit(["nor this"]).transform(DOCUMENTS), X)
    if width == 2**31 - 1:
        assert X.nnz == Y.nnz


def test_hashing_binary_and_dtype() -> None:
    X = TextVectorizer(n_features=1, binary=True, dtype=np.float64).transform(["a b c a", ""])
    assert X.dtype == np.float64
    assert X.toarray().tolist() == [[1], [0]]


def test_hashing_keeps_no_names() -> None:
    vectorizer = TextVectorizer(n_features=8).fit(["a"])
    for name in ("vocabulary_", "get_feature_names_out", "inverse_transform"):
        assert not hasattr(vectorizer, name)


# --- threads, kernels, hashes


@pytest.fixture
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_THREADS", "5")
    monkeypatch.setattr(slices, "_WORTH_A_THREAD", 1)


@pytest.mark.parametrize("options", [*OPTIONS, {"n_features": 50}, {"analyzer": "universal"}], ids=name_of)
def test_threads_change_nothing(options: dict[str, Any], many_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [*DOCUMENTS, *DOCUMENTS[::-1]]
    vectorizer = TextVectorizer(**options)
    assert len(threads.bounds_of(inputs.buffers(inputs.strings(documents)), analyzer_of("words").recipe)) == 6
    X, Z = vectorizer.fit_transform(documents), vectorizer.transform(DOCUMENTS[::-1])
    grown = TextVectorizer(**{**options, "min_df": 1, "max_df": 1.0, "max_features": None}).partial_fit(documents)
    monkeypatch.setenv("BUNRUI_THREADS", "1")
    single = TextVectorizer(**options)
    assert_same(X, single.fit_transform(documents))
    assert_same(Z, single.transform(DOCUMENTS[::-1]))
    if "n_features" not in options:
        assert list(vectorizer.vocabulary_.items()) == list(single.vocabulary_.items())
        again = TextVectorizer(**{**options, "min_df": 1, "max_df": 1.0, "max_features": None}).partial_fit(documents)
        assert grown.vocabulary_ == again.vocabulary_


def test_given_features_on_threads(many_threads: None) -> None:
    draw = random.Random(2)
    bags = [{f"w{draw.randrange(50)}": draw.randrange(1, 9) for _ in range(draw.randrange(9))} for _ in range(200)]
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(bags)
    names = vectorizer.get_feature_names_out()
    assert [{names[c]: int(row[0, c]) for c in row.indices} for row in X] == bags


def test_equal_hashes_are_not_equal_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "NARROW_HASH", 0xFF << 56)
    draw = random.Random(3)
    documents = [" ".join(f"word{draw.randrange(900)}{'x' * draw.randrange(20)}" for _ in range(30)) for _ in range(60)]
    vectorizer, other = TextVectorizer(), peer()
    X = other.fit_transform(documents)
    assert_same(vectorizer.fit_transform(documents), X)
    assert_same(vectorizer.transform(documents), X)
    assert_same(
        TextVectorizer().fit(documents[:30]).transform(documents), peer().fit(documents[:30]).transform(documents)
    )


def test_wide_and_narrow_rows_sort_alike() -> None:
    draw = np.random.default_rng(0)
    lengths = draw.integers(0, 30, 50)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([draw.permutation(40)[:n] for n in lengths]).astype(np.int32)
    cells = matrices.Csr(starts, indices, draw.integers(1, 9, len(indices)))
    columns = draw.permutation(40).astype(np.int32) - 5
    for chosen, width in ((columns, 35), (None, 40)):
        for ours, theirs in zip(
            matrices._sorted(cells, chosen, width), matrices._sorted_few(cells, chosen), strict=True
        ):
            assert ours.tolist() == theirs.tolist()


# --- in scikit-learn


def test_pipeline_and_grid_search() -> None:
    texts = ["good great fun", "bad awful", "great good", "awful bad dull", "fun great", "dull bad"] * 3
    labels = ["+", "-", "+", "-", "+", "-"] * 3
    grid = {"texts__ngram_range": [(1, 1), (1, 2), (2, 2)], "texts__min_df": [1, 2]}
    found = []
    for vectorizer in (TextVectorizer(), peer()):
        pipeline = Pipeline([("texts", vectorizer), ("bayes", MultinomialNB())])
        search = GridSearchCV(pipeline, grid, cv=3).fit(texts, labels)
        assert search.best_estimator_.classes_.tolist() == ["+", "-"]
        found.append((search.cv_results_["mean_test_score"].tolist(), search.predict_proba(["good bad fun"]).tolist()))
    assert found[0] == found[1]
    assert search.predict(["great fun", "awful"]).tolist() == ["+", "-"]


def test_column_transformer() -> None:
    frame = pd.DataFrame({"title": ["New York", "Paris"], "body": ["a b", "b c"]})
    both = ColumnTransformer([("t", TextVectorizer(), "title"), ("b", TextVectorizer(), "body")])
    assert both.fit_transform(frame).shape == (2, 6)
    assert both.get_feature_names_out().tolist() == ["t__new", "t__paris", "t__york", "b__a", "b__b", "b__c"]


def test_frames_are_asked_for_in_vain_as_of_count_vectorizer() -> None:
    assert not hasattr(peer(), "set_output")
    assert not hasattr(TextVectorizer(), "set_output")
    with config_context(transform_output="pandas"):
        assert sparse.issparse(TextVectorizer().fit_transform(["a"]))


def test_clone_and_pickle() -> None:
    vectorizer = TextVectorizer(analyzer=AnalyzerSpec(name="words", words=2), min_df=2, stop_words=["is"])
    X = vectorizer.fit_transform(DOCUMENTS)
    copied = clone(vectorizer)
    assert copied.get_params() == vectorizer.get_params()
    assert not hasattr(copied, "vocabulary_")
    other = pickle.loads(pickle.dumps(vectorizer))
    assert other.vocabulary_ == vectorizer.vocabulary_
    assert_same(other.transform(DOCUMENTS), X)
    assert_same(pickle.loads(pickle.dumps(other)).transform(DOCUMENTS), X)
    assert_same(copied.fit_transform(DOCUMENTS), X)
    grown = pickle.loads(pickle.dumps(TextVectorizer().partial_fit(["b"]).partial_fit(["a"]))).partial_fit(["c"])
    assert grown.vocabulary_ == {"b": 0, "a": 1, "c": 2}


def test_tags() -> None:
    tags = TextVectorizer().__sklearn_tags__()
    assert tags.input_tags.string
    assert tags.input_tags.one_d_array
    assert not tags.input_tags.two_d_array
    assert tags.requires_fit
    assert not TextVectorizer(n_features=8).__sklearn_tags__().requires_fit
    assert tags.transformer_tags is not None


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_mixin_order",
    ],
)
def test_common_checks(check: str) -> None:
    function = getattr(estimator_checks, check, None)
    if function is None:
        pytest.skip(f"this scikit-learn has no {check}")
    function("TextVectorizer", TextVectorizer())


def test_features_are_read_back() -> None:
    features = Features.of_words(["b", "", "日本"])
    assert (len(features), features.names, features.columns) == (3, ["b", "", "日本"], {"b": 0, "": 1, "日本": 2})
    assert Features.of_vocabulary(features.table, np.array([2, 0])).names == ["日本", "b"]


def test_given_features_are_not_cut_by_the_range() -> None:
    vectorizer = TextVectorizer(ngram_range=(2, 2))
    assert vectorizer.fit_transform([["a b", "c"]]).toarray().tolist() == [[1, 1]]
    vectorizer.fit(["new york is big"])
    assert vectorizer.transform([["new york", "new"]]).sum() == 1
