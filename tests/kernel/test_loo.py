"""The kernels of leave-one-out: rows against the features that the reference finds; scores plain and compiled."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui import AnalyzerSpec, TextClassifier
from bunrui.analysis import analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import given_recipe
from bunrui.engines import threads
from bunrui.errors import DataError
from bunrui.evaluation.loo import Corpus
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.loo import Rows
from bunrui.kernel.workspace import ITEMS
from bunrui.models import MODELS, loo
from bunrui.models.loo import read_rows
from tests.kernel.test_analyze import both
from tests.support.examples import examples
from tests.support.kernels import MODES, kernels


def learned(spec: AnalyzerSpec, texts: list[Any]) -> TextClassifier:
    return TextClassifier(analyzer=spec).learn(texts, ["x"] * len(texts))


def rows_of(documents: Documents, recipe: Recipe, clf: TextClassifier) -> list[Rows]:
    """The rows of documents, each of which was learned once."""
    n = len(threads.sizes_of(documents, recipe))
    return read_rows(documents, recipe, clf.counts.vocabulary, np.ones(n, np.int64), [0, n // 2, n])


def read(clf: TextClassifier, texts: list[Any]) -> dict[int, tuple[list[str], dict[str, int], list[int]]]:
    """By document: its items, its features with their numbers, and how often each item counts."""
    analyzer = analyzer_of(clf.analyzer)
    if inputs.is_given(texts):
        documents, recipe = inputs.given(texts), given_recipe()
    else:
        documents, recipe = analyzer.documents(texts), analyzer.recipe
    names = clf.counts.features()
    found = {}
    for rows in rows_of(documents, recipe, clf):
        for row, d in enumerate(rows.docs.tolist()):
            features = [names[f] for f in rows.features[rows.starts[row] : rows.starts[row + 1]].tolist()]
            values = rows.values[rows.starts[row] : rows.starts[row + 1]].tolist()
            items = slice(int(rows.firsts[row]), int(rows.firsts[row + 1]))
            order = [features[place] for place in rows.places[items].tolist()]
            found[d] = order, dict(zip(features, values, strict=True)), rows.counts[items].tolist()
    return found


@both
@pytest.mark.parametrize("spec", [AnalyzerSpec(), AnalyzerSpec(name="words"), AnalyzerSpec(name="words", words=3)])
@given(texts=st.lists(st.text("ab c無料한글é!", max_size=20), min_size=1, max_size=5))
@settings(max_examples=examples(25))
def test_rows_have_the_features_in_the_order_of_the_text(mode: str, spec: AnalyzerSpec, texts: list[str]) -> None:
    with kernels(mode):
        found = read(learned(spec, texts), texts)
    for d, text in enumerate(texts):
        tokens = [token.text for token in analyzer_of(spec).features(text)]
        order, values, counts = found[d]
        assert order == tokens
        assert list(values) == list(dict.fromkeys(tokens))
        assert values == {token: tokens.count(token) for token in tokens}
        assert counts == []


@both
def test_rows_of_counts(mode: str) -> None:
    texts = [{"a": 3, "b": 1, "gone": 0}, ["b", "a", "b"], {}, {"c": 4_000_000_000}]
    with kernels(mode):
        found = read(learned(AnalyzerSpec(), texts), texts)
    assert found == {
        0: (["a", "b"], {"a": 3, "b": 1}, [3, 1]),
        1: (["b", "a", "b"], {"b": 2, "a": 1}, [1, 1, 1]),
        2: ([], {}, []),
        3: (["c"], {"c": 4_000_000_000}, [4_000_000_000]),
    }


@both
def test_rows_grow(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More features, and more items, than there is room for at first; a document in several pieces."""
    monkeypatch.setattr(loo, "_MOST_ROOM", 0)
    spec = AnalyzerSpec(name="words")
    texts = [" ".join(f"w{k}" for k in range(ITEMS + 100)), "w1 w2 w1 " * ITEMS, "w3"]
    with kernels(mode):
        found = read(learned(spec, texts), texts)
    assert [found[d][0] for d in range(3)] == [text.split() for text in texts]
    assert found[1][1] == {"w1": 2 * ITEMS, "w2": ITEMS}


@both
def test_a_feature_that_was_never_counted(mode: str) -> None:
    with kernels(mode), pytest.raises(DataError, match="a feature that was never counted"):
        read(learned(AnalyzerSpec(), ["a"]), ["a", "b"])


@given(data=st.data())
@settings(max_examples=examples(30))
def test_plain_and_compiled_scores_have_the_same_bits(data: st.DataObject) -> None:
    words = st.integers(0, 12).map("w{}".format)
    texts = data.draw(st.lists(st.lists(words, max_size=12), min_size=2, max_size=10))
    labels = data.draw(st.lists(st.sets(st.sampled_from("xyz"), min_size=1), min_size=len(texts), max_size=len(texts)))
    options = {"unseen": data.draw(st.sampled_from(["ignore", "smooth"])), "min_df": data.draw(st.integers(1, 3))}
    found = []
    for mode in MODES:
        with kernels(mode):
            corpus = Corpus(TextClassifier(**options), texts, labels)
            found.append([corpus.scores(model) for model in MODELS])
    for plain, compiled in zip(*found, strict=True):
        assert np.array_equal(plain.view(np.int64), compiled.view(np.int64))


def test_rows_ascend() -> None:
    """Starts that go back would read outside."""
    clf = learned(AnalyzerSpec(), ["a b", "", "b c c"])
    analyzer = analyzer_of(clf.analyzer)
    documents = analyzer.documents(["a b", "", "b c c"])
    for rows in rows_of(documents, analyzer.recipe, clf):
        assert all(a <= b for a, b in pairwise(rows.starts.tolist()))
        assert rows.starts[-1] == len(rows.features) == len(rows.values)
        assert rows.firsts[-1] == len(rows.places)
