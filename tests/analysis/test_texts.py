"""Hard documents are folded where text is encoded, and everybody who reads documents finds the same in them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bunrui import AnalyzerSpec, TextClassifier
from bunrui.analysis import analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.engines import threads
from bunrui.errors import DataError
from bunrui.estimators import TextVectorizer
from bunrui.evaluation import leave_one_out
from bunrui.kernel import normal, slices
from bunrui.kernel.analyze import Documents
from bunrui.selection.ratio import Ratio
from tests.support.kernels import MODES, kernels

MARKS = "Q\u0301\u0323\u0334 ΟΔΟΣ"  # marks out of order; a final sigma
CORPORA = {
    "none": ["Plain", "日本", "", "Ünïcode ½"],
    "mixed": ["Plain ΑΒ", MARKS, "", "日本 ﬁ", MARKS * 20, "", MARKS + " end", "Ｗide"],
    "all": [MARKS, MARKS * 2, "İ " + MARKS],
    "last": ["", "a" * 200, MARKS],
    "nothing": [],
    "empty": ["", ""],
}
every = pytest.mark.parametrize("texts", CORPORA.values(), ids=CORPORA)


def rows_of(docs: Documents) -> list[str]:
    return [docs.data[a:b].tobytes().decode() for a, b in pairwise(docs.offsets.tolist())]


def as_documents(name: str, texts: list[str]) -> list[tuple[str, int]]:
    """What `documents` should give: hard texts folded, the rest as they are."""
    if name == "words":
        return [(normal.lower(t), 1) if {"Σ", "İ"} & set(t) else (t, 0) for t in texts]
    return [(normal.nfkc_casefold(t), 1) if MARKS in t else (t, 0) for t in texts]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["universal", "words"])
@every
def test_rows(texts: list[str], name: str, mode: str) -> None:
    array = pa.array(["before " + MARKS, *texts, MARKS])
    analyzer = analyzer_of(name)
    with kernels(mode):
        found = [analyzer.documents(given) for given in (texts, array[1 : len(texts) + 1])]
    for docs in found:
        flags = docs.folded.tolist() or [0] * len(texts)
        assert list(zip(rows_of(docs), flags, strict=True)) == as_documents(name, texts)
        assert len(docs.folded) in (0, len(texts))


@every
def test_on_threads(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    analyzer = analyzer_of("universal")
    alone = analyzer.documents(pa.array(texts, pa.string()))
    monkeypatch.setattr(slices, "_WORTH_A_THREAD", 1)
    monkeypatch.setenv("BUNRUI_THREADS", "3")
    together = analyzer.documents(pa.array(texts, pa.string()))
    assert rows_of(together) == rows_of(alone)
    assert together.folded.tolist() == alone.folded.tolist()


def test_a_text_that_is_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (inputs, threads):
        monkeypatch.setattr(module, "MAX_DOCUMENT", 50)
    with pytest.raises(DataError, match=r"^text 2 has [0-9]+ bytes, more than 50: cut it into several documents$"):
        TextClassifier().learn([MARKS, "", MARKS * 5], ["a", "b", "c"])


# Whoever walks through documents

ANALYZERS: dict[str, Any] = {
    "universal": AnalyzerSpec(),
    "words": AnalyzerSpec(name="words", words=2),
    "switches": AnalyzerSpec(name="words", numbers=True, urls=True),
    "hashed": AnalyzerSpec(hash_bits=12),
    "hashed words": AnalyzerSpec(name="words", hash_bits=12),
    "function": str.split,
}
walks = pytest.mark.parametrize("analyzer", ANALYZERS.values(), ids=ANALYZERS)


def features(analyzer: Any, text: str) -> list[str]:
    made = analyzer_of(analyzer)
    return [made.written(token.text) for token in made.features(text)]


def like(texts: list[str], labels: list[str], analyzer: Any) -> tuple[TextClassifier, TextClassifier, list[list[str]]]:
    """A classifier of texts, one of their features, and the features."""
    found = [features(analyzer, text) for text in texts]
    return TextClassifier(analyzer=analyzer).learn(texts, labels), TextClassifier().learn(found, labels), found


@walks
@pytest.mark.parametrize("which", ["mixed", "all", "last"])
def test_walks(which: str, analyzer: Any) -> None:
    """Counts, scores, best classes and leave-one-out are those of the features that the reference finds."""
    texts = CORPORA[which] * 2
    labels = [f"c{k % 3}" for k in range(len(texts))]
    clf, twin, found = like(texts, labels, analyzer)
    assert list(clf.counts.cells()) == list(twin.counts.cells())
    for model in ("multinomial", "binary", "complement"):
        mine, other = clf.with_model(model), twin.with_model(model)
        assert np.array_equal(mine.scores(texts), other.scores(found))
        assert np.array_equal(mine.scores(texts * 20), other.scores(found * 20))
        assert mine.predict(texts).tolist() == other.predict(found).tolist()
        left = leave_one_out(TextClassifier(model, analyzer=analyzer), texts, labels)
        assert np.array_equal(left.scores, leave_one_out(TextClassifier(model), found, labels).scores)
    clf.unlearn(texts, labels)
    assert clf.counts.n_features == 0


@pytest.mark.parametrize("bits", [0, 16])
@pytest.mark.parametrize("name", ["universal", "words"])
def test_ratios(name: str, bits: int) -> None:
    texts = CORPORA["mixed"]
    found = [features(name, text) for text in texts]
    of_texts = Ratio(name, hash_bits=bits).learn_target(texts[:5]).learn_raw(texts[3:])
    of_features = Ratio(name, hash_bits=bits).learn_target(found[:5]).learn_raw(found[3:])
    assert np.array_equal(of_texts.scores(texts), of_features.scores(found))


def test_rows_of_a_matrix_keep_their_places() -> None:
    texts = CORPORA["mixed"]
    matrix = TextVectorizer().fit_transform(texts)
    one_by_one = TextVectorizer().fit(texts)
    assert (matrix != one_by_one.transform(texts)).nnz == 0
    for row, text in enumerate(texts):
        assert (matrix[[row]] != one_by_one.transform([text])).nnz == 0


def test_features_of_rows_of_tables_are_not_folded() -> None:
    rows = ['{"a": "ΟΔΟΣ", "b": "q\u0301\u0323\u0334"}', "{}", '{"a": "İ"}']
    docs = analyzer_of("columns").documents(rows)
    assert rows_of(docs) == ["a=ΟΔΟΣ", "b=q\u0301\u0323\u0334", "a=İ"]
    assert (docs.lists.tolist(), len(docs.folded)) == ([0, 2, 2, 3], 0)
