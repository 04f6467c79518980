"""Equal hash is not equal feature: with hashes of a few bits, or all the same, nothing changes but the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bunrui import AnalyzerSpec, TextClassifier
from bunrui.kernel import workspace
from bunrui.kernel.vocabulary import NARROW
from bunrui.models import MODELS
from tests.kernel.test_analyze import TEXTS
from tests.support.examples import examples, quick
from tests.support.kernels import MODES, kernels

MASKS = {
    "8 bits, all in the first slot": 0xFF,
    "8 bits, all over the table": 0xFF << 56,
    "1 bit": 1 << 63,
    "the same for all": 0,
}
narrowed = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with kernels(request.param):
        yield request.param


def texts() -> list[str]:
    rng = np.random.default_rng(1)
    words = [f"w{k}" for k in range(120)] + ["日本語", "の", "한국", "x" * 16, "x" * 17, "y" * 17, "x" * 16 + "z" * 50]
    return [" ".join(rng.choice(words, 12)) for _ in range(60)]


LABELS = [f"c{k % 3}" for k in range(60)]


def learned(analyzer: AnalyzerSpec) -> TextClassifier:
    clf = TextClassifier(analyzer=analyzer).learn(texts()[:40], LABELS[:40])
    clf.learn(texts()[40:], LABELS[40:])
    clf.unlearn(texts()[10:20], LABELS[10:20])
    return clf.merge(TextClassifier(analyzer=analyzer).learn(texts()[10:20], LABELS[10:20]))


@pytest.mark.parametrize("mask", quick(2, MASKS.values()))
def test_counts_and_scores(mask: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = AnalyzerSpec(words=1, stop_words=["w3", "w5", "x" * 17, f"narrow{mask}"])
    queries = [*texts()[:20], "never seen", "x" * 18, "y" * 17]
    expected = learned(spec)
    monkeypatch.setattr(workspace, "NARROW_HASH", mask)
    # A recipe has a table of stop words: another spec, another table.
    found = learned(spec.replace(stop_words=["w3", "w5", "x" * 17, f"narrow{mask}{mode}"]))
    assert int(found.counts.vocabulary.size[NARROW]) == mask != int(expected.counts.vocabulary.size[NARROW])
    assert list(found.counts.cells()) == list(expected.counts.cells())
    assert found.counts.totals() == expected.counts.totals()
    for model in MODELS:
        one, other = found.with_model(model), expected.with_model(model)
        assert np.array_equal(one.scores(queries).view(np.int64), other.scores(queries).view(np.int64))
        many = queries * 3
        assert np.array_equal(one.scores(many).view(np.int64), other.scores(many).view(np.int64))


@narrowed
def test_long_features_of_the_same_length(mask: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above 16 bytes the key is the hash and the length: the bytes must decide."""
    monkeypatch.setattr(workspace, "NARROW_HASH", mask)
    words = ["x" * k + "y" + "x" * (n - k) for n in (16, 17, 40, 64) for k in range(n + 1)]
    counts = TextClassifier().learn([words, words[::2]], ["a", "b"]).counts
    assert counts.totals() == {word: (1 + (k % 2 == 0), 1 + (k % 2 == 0)) for k, word in enumerate(words)}
    counts.subtract(TextClassifier().learn([words[::2]], ["b"]).counts)
    assert counts.totals() == {word: (1, 1) for word in words}


@narrowed
@given(documents=st.lists(TEXTS, max_size=4))
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text(mask: int, documents: list[str]) -> None:
    labels = [str(k) for k in range(len(documents))]
    expected = TextClassifier().learn(documents, labels).counts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "NARROW_HASH", mask)
        found = TextClassifier().learn(documents, labels).counts
        assert int(found.vocabulary.size[NARROW]) == mask
    assert found == expected


def test_a_table_that_grows(mode: str) -> None:
    """From room for a few to many thousands, in one document and over many calls."""
    words = [f"{'w' * (k % 23)}{k}" for k in range(3_000 if mode == "plain" else 70_000)]
    at_once = TextClassifier().learn([words + words[::3]], ["a"]).counts
    assert at_once.totals() == {word: (1 + (k % 3 == 0), 1) for k, word in enumerate(words)}
    clf = TextClassifier()
    step = 1 + len(words) // 7
    for lo in range(0, len(words), step):
        clf.learn([words[lo : lo + step]], ["a"])
    assert clf.counts.totals() == {word: (1, 1) for word in words}
    assert sorted(clf.counts.features()) == sorted(words)


def test_a_table_that_grows_with_one_hash(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "NARROW_HASH", 0)
    words = [f"{'w' * (k % 23)}{k}" for k in range(300 if mode == "plain" else 3000)]
    clf = TextClassifier().learn([words, words[:5]], ["a", "b"])
    assert clf.counts.totals() == dict.fromkeys(words, (1, 1)) | dict.fromkeys(words[:5], (2, 2))


def test_the_hash_of_many_words_is_spread() -> None:
    """Hashes index the table by their high bits: these should be as good as random."""
    counts = TextClassifier().learn([[f"word{k}" for k in range(20_000)]], ["a"]).counts
    hashes = counts.vocabulary.hashes[:20_000]
    assert len(np.unique(hashes)) == 20_000
    buckets = Counter((hashes >> np.uint64(56)).tolist())
    assert len(buckets) == 256 and max(buckets.values()) < 2 * 20_000 / 256
