"""Ratios against sums over dense tables, feature by feature."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui import AnalyzerSpec
from bunrui.analysis import analyzer_of
from bunrui.errors import NotLearnedError, OptionError
from bunrui.kernel import slices
from bunrui.selection.ratio import Ratio
from tests.estimators.test_vectorizer import stable_hash
from tests.support.examples import examples
from tests.support.kernels import MODES, kernels

TARGET = ["the film was good good", "a film of few words :)", "映画は良かった", "x" * 40 + " film", "영화 좋다"]
HOSTILE = [
    "",
    " \t\n",
    "nul\0in the film",
    "👩‍👩‍👧 good 👍🏽👍🏽 film",
    "ｶﾞｷﾞｸﾞ ﾊﾟ film",  # half-width: folded in Python
    "한국 영화",
    "a" * 16 + " " + "a" * 17 + " " + "b" * 100,
    "film " * 50,
    "z\u0338\u0301 e\u0301 ß ǅ",
    "shares fell on Monday",
    "天気が良い",
]
SPECS = [AnalyzerSpec(), AnalyzerSpec(name="words", words=2), AnalyzerSpec(name="words", stop_words=["the", "x" * 40])]


def brute(spec: AnalyzerSpec, bits: int, target: list[str], raw: list[str], texts: list[str]) -> list[float]:
    """The formula of `ratio.py`, feature by feature."""

    def of(text: str) -> list[Any]:
        words = [token.text for token in analyzer_of(spec).features(text)]
        return list(
            dict.fromkeys([(stable_hash(word) & 0xFFFF_FFFF) >> (32 - bits) for word in words] if bits else words)
        )

    t = Counter(f for text in target for f in of(text))
    n = t + Counter(f for text in raw for f in of(text))
    T, N = t.total(), n.total()
    beta = 0.75

    def weight(f: Any) -> float:
        return math.log(((1 - beta) * t[f] / T + beta * n[f] / N) / (n[f] / N)) if n[f] else 0.0

    return [math.fsum(weight(f) for f in of(text)) for text in texts]


@pytest.mark.parametrize("bits", [0, 8, 20])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.describe())
def test_ratios_are_those_of_the_formula(spec: AnalyzerSpec, bits: int) -> None:
    ratio = Ratio(spec, hash_bits=bits).learn_target(TARGET[:2]).learn_raw(HOSTILE).learn_target(TARGET[2:])
    asked = [*HOSTILE, *TARGET, "never seen 未知"]
    assert ratio.scores(asked) == pytest.approx(brute(spec, bits, TARGET, HOSTILE, asked), abs=1e-12)
    assert (ratio.n_target, ratio.n_raw) == (len(TARGET), len(HOSTILE))


@settings(max_examples=examples(30))
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=6))
def test_any_text(texts: list[str]) -> None:
    found = []
    for mode in MODES:
        with kernels(mode):
            found.append(Ratio(hash_bits=10).learn_target(TARGET).learn_raw(texts).read([*texts, *TARGET]))
    assert np.array_equal(found[0], found[1]), "to the last bit"
    assert found[0][0] == pytest.approx(brute(SPECS[0], 10, TARGET, texts, [*texts, *TARGET]), abs=1e-12)


@pytest.mark.parametrize("bits", [0, 12])
def test_threads_and_batches_change_nothing(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array([f"{a} {b} {a * b}" for a in range(40) for b in range(40)] + HOSTILE)
    monkeypatch.setattr(slices, "_WORTH_A_THREAD", 1)
    found = []
    for n_threads, size in (("1", 10_000), ("2", 10_000), ("2", 37)):
        monkeypatch.setenv("BUNRUI_THREADS", n_threads)
        ratio = Ratio(hash_bits=bits).learn_target(TARGET)
        for start in range(0, len(texts), size):
            ratio.learn_raw(texts[start : start + size])
        parts = [ratio.scores(texts[start : start + size]) for start in range(0, len(texts), size)]
        found.append(np.concatenate(parts).tobytes())
    assert found[0] == found[1] == found[2]


def test_numbers_of_documents_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Ratio().learn_target(TARGET).learn_raw(HOSTILE).scores(HOSTILE)
    monkeypatch.setattr("bunrui.selection.ratio._STAMPS", len(HOSTILE) + 1)
    ratio = Ratio().learn_target(TARGET).learn_raw(HOSTILE)
    assert np.array_equal(ratio.scores(HOSTILE), expected) and np.array_equal(ratio.scores(HOSTILE), expected)


@pytest.mark.parametrize("bits", [0, 20])
def test_tokens_and_counts(bits: int) -> None:
    spec = AnalyzerSpec(name="words")
    texts = [["good", "film", "good"], [], ["Monday"]]
    mappings = [{"good": 2, "film": 1}, {"none": 0}, {"Monday": 7}]
    ratio = Ratio(spec, hash_bits=bits).learn_target([["good", "film"]]).learn_raw([{"film": 3, "Monday": 1}])
    assert ratio.scores(texts).tolist() == ratio.scores(mappings).tolist()
    assert (
        ratio.scores(texts)[0] > 0 == ratio.scores(texts)[1] > ratio.scores(texts)[2] == pytest.approx(math.log(0.75))
    )


@pytest.mark.parametrize("bits", [0, 16])
def test_a_target_that_is_raw(bits: int) -> None:
    ratio = Ratio(hash_bits=bits).learn_target(HOSTILE).learn_raw(HOSTILE)
    assert ratio.scores(HOSTILE) == pytest.approx(np.zeros(len(HOSTILE)), abs=1e-12)


@pytest.mark.parametrize("bits", [0, 16])
def test_no_target(bits: int) -> None:
    for ratio in (Ratio(hash_bits=bits), Ratio(hash_bits=bits).learn_target(["", " "]).learn_raw(["film"])):
        assert not ratio.has_target
        with pytest.raises(NotLearnedError, match=r"^the target has no words: call learn_target"):
            ratio.scores(["film"])
    assert Ratio(hash_bits=bits).learn_target(["film"]).scores([]).tolist() == []


@pytest.mark.parametrize("bits", [-1, 7, 27])
def test_bits_that_make_no_sense(bits: int) -> None:
    with pytest.raises(OptionError, match=r"^hash_bits should be 8 to 26, or 0 to count every feature by itself"):
        Ratio(hash_bits=bits)


@pytest.mark.parametrize("bits", [10, 14, 18])
def test_collisions(bits: int) -> None:
    words = [f"w{k}" for k in range(60_000)]
    found = (
        Ratio("words", hash_bits=bits)
        .learn_target([" ".join(words[:40_000])])
        .learn_raw([" ".join(words[20_000:])] * 2)
        .collisions()
    )
    assert found is not None
    in_bucket = Counter((stable_hash(word) & 0xFFFF_FFFF) >> (32 - bits) for word in words)
    share = sum(n for n in in_bucket.values() if n > 1) / len(words)
    # A 64th of 60,000 are 940 features: a deviation of 3.3 %.
    assert found.n_buckets == 1 << bits and found.n_features == pytest.approx(len(words), rel=0.1)
    assert found.share == pytest.approx(share, abs=0.05)
    assert Ratio(hash_bits=0).collisions() is None


def test_an_error_loses_no_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ratio = Ratio(hash_bits=16).learn_target(["a film"]).learn_raw(["rain", "a film"])
    before = ratio.scores(["film", "rain"]).tolist()

    def fail(*_: object, **__: object) -> int:
        raise MemoryError

    with kernels("plain"), monkeypatch.context() as patched:
        patched.setattr("bunrui.kernel.ratio.sum_buckets", fail)
        patched.setattr("bunrui.kernel.ratio.count_buckets", fail)
        with pytest.raises(MemoryError):
            ratio.scores(["film"])
        with pytest.raises(MemoryError):
            ratio.learn_raw(["wind"])
    assert ratio.has_target and ratio.scores(["film", "rain"]).tolist() == before
