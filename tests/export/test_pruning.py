"""Pages that have not room for all features, and classifiers that no page can have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bunrui
from bunrui import AnalyzerSpec, TextClassifier
from bunrui.classifier import AnyClassifier
from bunrui.data import read
from bunrui.errors import DataError, OptionError
from bunrui.export import make_page, page
from bunrui.export.packing import list_words
from bunrui.export.weights import Floats, Source, rank, with_weights
from tests.export.conftest import Opener

CORPUS = read("demo")
TEXTS = [row["text"] for row in CORPUS]
LABELS = [row["label"] for row in CORPUS]
SMALL = 150_000


def scores_of(classifier: AnyClassifier, n: int, texts: list[str]) -> Floats:
    """The scores of the n most important features, as a page has them."""

    def score(source: Source) -> Floats:
        source = source.coarse() if n < len(source.ids) else source
        return source.scores(texts, rank(source, classifier.counts)[:n])

    return with_weights(classifier, score)


@pytest.mark.parametrize("model", ["binary-complement", "nbsvm", "twcnb"])
def test_the_most_important_features_answer_as_before(opened: Opener, model: str) -> None:
    classifier = TextClassifier(model).learn(TEXTS, LABELS)
    made = make_page(classifier, "news", most_bytes=SMALL)
    assert 0.8 * SMALL < len(made.html.encode()) <= SMALL
    assert made.pruning is not None and made.pruning.kept == made.n_features < made.pruning.all
    found = opened(made.html).of_each(TEXTS, "Array.from(bunrui.scores(text))")
    np.testing.assert_allclose(found, scores_of(classifier, made.n_features, TEXTS), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "nbsvm", "arow", "twcnb"])
def test_all_features_are_the_classifier(model: str) -> None:
    classifier = TextClassifier(model, unseen="smooth" if model == "bernoulli" else "ignore").learn(TEXTS, LABELS)
    np.testing.assert_allclose(scores_of(classifier, 1 << 20, TEXTS[:50]), classifier.scores(TEXTS[:50]), atol=1e-12)


def test_words_that_tell_nothing_apart_go_first() -> None:
    texts = ["the good tea", "the good cup", "the bad oil", "the bad gas"]
    classifier = TextClassifier("multinomial", analyzer="words").learn(texts, ["x", "x", "y", "y"])
    words = with_weights(
        classifier,
        lambda source: classifier.counts.texts_of(source.ids[rank(source, classifier.counts)]),
    )
    assert set(words[:2]) == {"good", "bad"} and words[-1] == "the"


def test_what_it_costs(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "news.bunrui", "multinomial") as classifier:
        classifier.learn(TEXTS, LABELS)
        kept = make_page(classifier, "news", most_bytes=SMALL).pruning
        tested = make_page(classifier, "news", most_bytes=SMALL, test=(TEXTS[:30], LABELS[:30])).pruning
        classifier.slim(tmp_path / "slim.bunrui")
    assert kept is not None and kept.documents == 80 and tested is not None and tested.documents == 30
    held_out = np.arange(400) % 5 == 4
    others = TextClassifier("multinomial").learn(
        [text for text, out in zip(TEXTS, held_out, strict=True) if not out],
        [label for label, out in zip(LABELS, held_out, strict=True) if not out],
    )
    texts, labels = TEXTS[4::5], np.array(LABELS[4::5])
    assert kept.before == others.score(texts, labels)
    share = round(others.counts.n_features * kept.kept / kept.all)
    assert kept.after == np.mean(others.classes_[scores_of(others, share, texts).argmax(axis=1)] == labels)
    assert (tested.before, tested.kept) == (classifier_score(), kept.kept)
    with bunrui.open(tmp_path / "slim.bunrui", read_only=True) as slim:
        unmeasured = make_page(slim, "news", most_bytes=SMALL).pruning
    assert unmeasured is not None and (unmeasured.before, unmeasured.after, unmeasured.documents) == (None, None, 0)


@pytest.mark.parametrize("few", [10, 100, 3000])
def test_a_first_guess_that_is_too_small(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = TextClassifier("nbsvm").learn(TEXTS, LABELS)
    whole = make_page(classifier, "news")
    room = len(whole.html.encode()) + page._SPARE
    monkeypatch.setattr(page, "_FEW", few)
    assert make_page(classifier, "news", most_bytes=room) == whole
    cut = make_page(classifier, "news", most_bytes=SMALL)
    assert 0.8 * SMALL < len(cut.html.encode()) <= SMALL and cut.n_features < whole.n_features


@pytest.mark.parametrize("container", [list, np.array, pa.array, pd.Series])
@pytest.mark.parametrize("kind", [int, bool, str])
def test_labels_of_any_container(container: Any, kind: Any) -> None:
    wanted = [kind(label == LABELS[0]) for label in LABELS]
    classifier = TextClassifier("multinomial").learn(TEXTS, wanted)
    given = container(TEXTS[:30]), container(wanted[:30])
    found = make_page(classifier, "news", most_bytes=SMALL, test=given).pruning
    assert found is not None and (found.before, found.documents) == (classifier.score(TEXTS[:30], wanted[:30]), 30)


@pytest.mark.parametrize("most_bytes", [SMALL, None])
def test_nothing_to_measure(most_bytes: int | None) -> None:
    classifier = TextClassifier("multinomial").learn(TEXTS, LABELS)
    with pytest.raises(DataError, match="there are no documents to measure: give at least one with test"):
        make_page(classifier, "news", most_bytes=most_bytes, test=([], []))


def classifier_score() -> float:
    return TextClassifier("multinomial").learn(TEXTS, LABELS).score(TEXTS[:30], LABELS[:30])


def test_a_slim_copy_of_a_head_has_enough(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "news.bunrui", "arow") as classifier:
        classifier.learn(TEXTS[:60], LABELS[:60])
        whole = make_page(classifier, "news").html
        classifier.slim(tmp_path / "slim.bunrui")
    with bunrui.open(tmp_path / "slim.bunrui", read_only=True) as slim:
        assert make_page(slim, "news").html == whole


def test_no_room_at_all() -> None:
    with pytest.raises(OptionError, match="a page of 9 bytes has no room for this classifier"):
        make_page(TextClassifier().learn(TEXTS, LABELS), "news", most_bytes=9)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"analyzer": str.split}, "a function of Python: learn with analyzer='universal'"),
        ({"analyzer": "ja"}, "no dictionary for the analyzer 'ja': learn with analyzer='universal'"),
        ({"analyzer": AnalyzerSpec(html=True)}, "a page cannot rewrite texts: learn without html"),
        ({"model": "aode"}, "a page cannot answer as aode, .*: choose another with model, for example nbsvm"),
    ],
    ids=str,
)
def test_what_no_page_can_have(options: dict[str, Any], says: str) -> None:
    if options.get("analyzer") == "ja":
        pytest.importorskip("fugashi")
    classifier = TextClassifier(**options).learn(TEXTS[:20], LABELS[:20])
    with pytest.raises(OptionError, match=says):
        make_page(classifier, "news")


def test_tables_and_pools_are_refused() -> None:
    rows = TextClassifier("columns", analyzer="columns").learn(['{"a": 1}', '{"a": 2}'], ["x", "y"])
    with pytest.raises(OptionError, match="this classifier reads the rows of tables"):
        make_page(rows, "rows")


def test_words_without_what_they_share() -> None:
    words = sorted(["", "a", "tea", "team", "te", "茶", "茶色", "x" * 300, "x" * 299 + "y", "😀", "😁"], key=str.encode)
    parts = list_words([word.encode() for word in words])
    texts, before, at = parts["texts"].tobytes(), b"", 0
    for word, prefix, suffix in zip(words, parts["prefixes"].tolist(), parts["suffixes"].tolist(), strict=True):
        before = before[:prefix] + texts[at : at + suffix]
        at += suffix
        assert before.decode() == word
    assert at == len(texts) < sum(len(word.encode()) for word in words)
