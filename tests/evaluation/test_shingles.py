"""Shingles and signatures against sets of strings."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bunrui.evaluation import shingles
from bunrui.evaluation.shingles import N_BINS, SIZE, distinct_shingles, mixed, signatures
from bunrui.kernel.hashing import mix

texts = st.text(st.sampled_from("ab \n語É😀") | st.characters(exclude_categories=["Cs"]), max_size=60)


def passages(text: str) -> set[str]:
    folded = " ".join(text.lower().split())
    return {folded[start : start + SIZE] for start in range(max(len(folded) - SIZE + 1, 1))}


@given(texts, texts)
@example("", " ")
@example("short", "short ")
def test_as_sets_of_strings(one: str, other: str) -> None:
    """Hashes are equal where the passages are: sizes of the sets, of what they share and of what they do not."""
    found = distinct_shingles(one), distinct_shingles(other)
    expected = passages(one), passages(other)
    assert [len(each) for each in found] == [len(each) for each in expected]
    assert len(np.intersect1d(*found)) == len(expected[0] & expected[1])
    assert (np.diff(found[0].astype(object)) > 0).all()


@given(st.lists(texts, max_size=12))
def test_signatures_do_not_depend_on_neighbours(several: list[str]) -> None:
    together = signatures(several)
    assert together.shape == (len(several), N_BINS)
    for text, row in zip(several, together, strict=True):
        assert (signatures([text]) == row).all()


def test_any_chunks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [f"{'text ' * k} {k}" for k in range(50)]
    whole = signatures(several)
    monkeypatch.setattr(shingles, "_CHUNK", 100)
    assert (signatures(several) == whole).all()


@pytest.mark.parametrize("n_words", [8, 400])
def test_equal_bins_estimate_the_similarity(n_words: int) -> None:
    """The mean over 300 pairs is the mean of Jaccard; texts of few shingles, whose bins are mostly empty, too."""
    draw = random.Random(3)
    pairs = []
    for _ in range(300):
        words = [f"{draw.randrange(10**6)}" for _ in range(n_words)]
        pairs.append((" ".join(words), " ".join(words[: draw.randrange(n_words // 2, n_words)])))
    exact = [len(passages(one) & passages(other)) / len(passages(one) | passages(other)) for one, other in pairs]
    first, second = (signatures(list(column)) for column in zip(*pairs, strict=True))
    assert np.mean(first == second) == pytest.approx(np.mean(exact), abs=0.02)


def test_mixed_is_the_mix_of_the_kernel() -> None:
    words = [0, 1, 2**63, 2**64 - 1, 12345678901234567]
    assert mixed(np.array(words, np.uint64)).tolist() == [mix(word) for word in words]
