"""Selection of features: against brute force, scikit-learn and SciPy, and without any trace in the counts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import mutual_info_score
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from bunrui import Counts, TextClassifier
from bunrui.models import view
from tests.models.test_parity import CLASSES, COLUMNS, LABELS, QUERIES, TEXTS, X
from tests.support.examples import examples

PRESENCE = (X > 0).toarray()
DOC_FREQ = PRESENCE.sum(axis=0)


def information(present: Any, labels: Any) -> float:
    return float(mutual_info_score(present, labels))


def chi2(present: Any, labels: Any) -> float:
    """Pearson's statistic; 0 for a word of all documents, where SciPy divides by zero."""
    if np.all(present):
        return 0.0
    names = sorted(set(labels))
    table = [
        [sum(1 for p, n in zip(present, labels, strict=True) if p == flag and n == name) for name in names]
        for flag in (0, 1)
    ]
    return float(chi2_contingency(np.array(table), correction=False).statistic)


STATISTICS = {"mi": information, "chi2": chi2}
OURS = {"mi": view.mutual_information, "chi2": view.chi_squared}


def best(method: str, most: int, min_df: int = 1) -> list[str]:
    """The words to keep, by the statistic of every column; ties go to the word that sorts first."""
    of = STATISTICS[method]
    scored = [(-round(of(PRESENCE[:, k], LABELS), 10), word) for k, word in enumerate(COLUMNS) if DOC_FREQ[k] >= min_df]
    return sorted(word for _, word in sorted(scored)[:most])


def kept(clf: TextClassifier) -> list[str]:
    """The words that a classifier reads."""
    chosen = view.select(clf.counts, clf.min_df, clf.max_features)
    texts = clf.counts.features()
    return sorted(texts[f] for f in chosen.feature_ids())


def check_as_trained_on(words: list[str], model: str, **options: Any) -> None:
    """The scores are those of scikit-learn's model of these columns alone."""
    clf = TextClassifier(model, alpha=0.5, **options).learn(TEXTS, LABELS)
    assert kept(clf) == sorted(words)
    vectorizer = CountVectorizer(analyzer=lambda tokens: tokens, vocabulary=sorted(words))
    train, queries = vectorizer.transform(TEXTS), vectorizer.transform(QUERIES)
    peers = {
        "multinomial": MultinomialNB(alpha=0.5),
        "bernoulli": BernoulliNB(alpha=0.5),
        "complement": ComplementNB(alpha=0.5),
        "wcnb": ComplementNB(alpha=0.5, norm=True),
    }
    peer = peers[model].fit(train, LABELS)
    assert peer.classes_.tolist() == clf.classes_.tolist() == CLASSES
    np.testing.assert_allclose(clf.scores(QUERIES), peer.predict_joint_log_proba(queries), rtol=1e-12, atol=1e-13)


models = pytest.mark.parametrize("model", ["multinomial", "bernoulli", "complement", "wcnb"])


@models
@pytest.mark.parametrize("min_df", [1, 2, 3, 6])
def test_min_df(min_df: int, model: str) -> None:
    words = [word for word, n in zip(COLUMNS, DOC_FREQ, strict=True) if n >= min_df]
    assert (len(words) < len(COLUMNS)) == (min_df > 1)
    check_as_trained_on(words, model, min_df=min_df)


@models
@pytest.mark.parametrize("most", [1, 5, 30])
@pytest.mark.parametrize("method", ["mi", "chi2"])
def test_max_features(method: str, most: int, model: str) -> None:
    if model == "wcnb" and most == 1:
        # One word has all the weight: Σ|w| is 0, and scikit-learn divides by it.
        clf = TextClassifier(model, max_features=(method, most)).learn(TEXTS, LABELS)
        assert np.isfinite(clf.scores(QUERIES)).all()
        return
    check_as_trained_on(best(method, most), model, max_features=(method, most))


def test_a_number_alone_means_mutual_information() -> None:
    check_as_trained_on(best("mi", 12), "multinomial", max_features=12)
    assert best("mi", 12) != best("chi2", 12)


def test_both() -> None:
    check_as_trained_on(best("chi2", 8, min_df=3), "multinomial", min_df=3, max_features=("chi2", 8))


def test_more_than_there_are() -> None:
    check_as_trained_on(COLUMNS, "multinomial", max_features=10_000)


def test_all_and_none() -> None:
    clf = TextClassifier("multinomial", min_df=10_000).learn(TEXTS, LABELS)
    assert kept(clf) == []
    prior = np.log([LABELS.count(label) / len(LABELS) for label in CLASSES])
    np.testing.assert_allclose(clf.scores(QUERIES), np.tile(prior, (len(QUERIES), 1)), rtol=1e-12)


def statistics(counts: Counts, method: str) -> dict[str, float]:
    ids = counts.live_ids().astype(np.uint32)
    values = OURS[method](view.gather(counts, ids, by_docs=True), counts)
    texts = counts.features()
    return {texts[f]: float(value) for f, value in zip(ids.tolist(), values, strict=True)}


@pytest.mark.parametrize("method", ["mi", "chi2"])
def test_the_statistic_of_every_word(method: str) -> None:
    found = statistics(TextClassifier().learn(TEXTS, LABELS).counts, method)
    expected = {word: STATISTICS[method](PRESENCE[:, k], LABELS) for k, word in enumerate(COLUMNS)}
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcd")), st.sampled_from("xyz")), min_size=1, max_size=12))
@settings(max_examples=examples(100))
def test_statistics_of_small_tables(documents: list[tuple[set[str], str]]) -> None:
    labels = [label for _, label in documents]
    counts = TextClassifier().learn([sorted(words) for words, _ in documents], labels).counts
    for method, of in STATISTICS.items():
        expected = {
            word: of([int(word in words) for words, _ in documents], labels)
            for word in set().union(*(words for words, _ in documents))
        }
        assert statistics(counts, method) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_document_with_several_labels_is_observed_with_each() -> None:
    texts = [["a", "b"], ["a"], ["b"], ["c", "a"]]
    labels = [{"x", "y"}, {"x"}, {"y", "z"}, {"z"}]
    counts = TextClassifier().learn(texts, labels).counts
    pairs = [(text, label) for text, names in zip(texts, labels, strict=True) for label in sorted(names)]
    for method, of in STATISTICS.items():
        expected = {word: of([int(word in text) for text, _ in pairs], [label for _, label in pairs]) for word in "abc"}
        assert statistics(counts, method) == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_ties_go_to_the_word_that_sorts_first() -> None:
    clf = TextClassifier(max_features=2).learn([["d", "c", "b"], ["e", "a"]], ["x", "y"])
    # All five say the same about the class.
    assert kept(clf) == ["a", "b"]


def test_selection_is_a_view() -> None:
    clf = TextClassifier("multinomial", min_df=5, max_features=3).learn(TEXTS, LABELS)
    clf.predict(QUERIES)
    whole = TextClassifier("multinomial").learn(TEXTS, LABELS)
    assert clf.counts == whole.counts
    np.testing.assert_array_equal(clf.with_model(min_df=1, max_features=None).scores(QUERIES), whole.scores(QUERIES))


def test_chi_squared_of_a_word_that_nearly_every_document_has() -> None:
    """n - 1 of 10 million documents: terms of the textbook's short cut would pass the range of the exact sums."""
    n = 10_000_000
    counts = TextClassifier(analyzer=str.split).learn(["a", "b", "b"], ["x", "x", "y"]).counts
    ids = np.array(counts.ids_of(["a"]), np.uint32)
    cells = view.gather(counts, ids, by_docs=True)
    cells = cells._replace(counts=np.array([n // 2 - 1]), totals=np.array([n // 2 - 1]))
    counts.doc_count[:] = [n // 2, n // 2]
    table = np.array([[n // 2 - 1, 0], [1, n // 2]])
    expected = chi2_contingency(table, correction=False).statistic
    np.testing.assert_allclose(view.chi_squared(cells, counts), [expected], rtol=1e-9)


@pytest.mark.parametrize("most", [1, 2, 64])
@given(docs=st.lists(st.tuples(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9), st.sampled_from("xyz"))))
@settings(max_examples=examples(50))
def test_sums_of_cells_that_are_alike(most: int, docs: list[tuple[list[str], str]]) -> None:
    """Where a value depends on counts alone, the cells that are alike are counted: the sums have the same bits."""
    counts = TextClassifier(analyzer="words").learn([" ".join(words) for words, _ in docs], [c for _, c in docs]).counts

    def by_cell(cells: view.FeatureCounts) -> Any:
        return np.log1p(cells.counts / (cells.spread(cells.totals) + 0.3))

    def by_feature(cells: view.FeatureCounts) -> Any:
        return np.log(cells.totals + 0.3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "_MOST_TOTAL", most)
        for kept, by_docs in itertools.product((view.whole(counts), view.select(counts, 2, None)), (False, True)):
            alike = view.sum_cells(kept, by_cell, by_docs, by_class=False, by_word=False)
            np.testing.assert_array_equal(alike, view.sum_cells(kept, by_cell, by_docs))
            alike = view.sum_features(kept, by_feature, by_docs, by_word=False)
            np.testing.assert_array_equal(alike, view.sum_features(kept, by_feature, by_docs))
