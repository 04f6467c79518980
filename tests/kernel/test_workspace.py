"""A vocabulary made of arrays is the one that adding feature by feature makes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.errors import DataError
from bunrui.kernel import workspace
from bunrui.kernel.ngrams import Items, put_items
from bunrui.kernel.vocabulary import NARROW, SLOT, Vocabulary, probe
from bunrui.kernel.workspace import restored

# Lengths around the borders of keys (8 and 16 bytes), and beyond what NumPy hashes (256).
LENGTHS = st.sampled_from([0, 1, 7, 8, 9, 15, 16, 17, 24, 25, 255, 256, 257, 300])
FEATURE = st.tuples(st.sampled_from("abcあ漢🙂"), LENGTHS, st.integers(0, 9)).map(lambda t: t[0] * t[1] + str(t[2]))
FEATURES = st.lists(st.one_of(st.text(max_size=20), FEATURE), unique=True, max_size=200).map(
    lambda words: [word for word in words if word.isprintable()]
)


def of(words: list[str]) -> Vocabulary:
    texts = [word.encode() for word in words]
    text = np.frombuffer(b"".join(texts) + bytes(64), np.uint8).copy()
    return restored(text, np.array([len(text) for text in texts], np.int64))


def taken(v: Vocabulary) -> set[tuple[int, ...]]:
    return {tuple(slot) for slot in v.slots.reshape(-1, SLOT).tolist() if slot[2]}


def add_one_by_one(words: list[str]) -> Vocabulary:
    texts = [word.encode() for word in words]
    v = workspace.new_vocabulary(len(texts) or 1, sum(map(len, texts)))
    items = Items(*(memoryview(array) for array in workspace.new_items(1)))
    for text in texts:
        items.starts[0], items.lengths[0] = 0, len(text)
        put_items(text + bytes(64), items, 1, int(v.size[NARROW]))
        probe(Vocabulary(*(memoryview(array) for array in v)), items, 1, text + bytes(64), 1)
    return v


def check(words: list[str]) -> None:
    one_by_one, at_once = add_one_by_one(words), of(words)
    n = len(words)
    assert taken(at_once) == taken(one_by_one)
    assert at_once.hashes[:n].tolist() == one_by_one.hashes[:n].tolist()
    assert workspace.feature_texts(at_once) == [word.encode() for word in words]
    assert workspace.find_features(at_once, [word.encode() for word in words]) == list(range(n))
    assert workspace.find_features(at_once, [b"\xf0\x9f\x90\x9d never added"]) == [-1]


@given(FEATURES)
def test_equals_adding_one_by_one(words: list[str]) -> None:
    check(words)


@given(FEATURES)
@pytest.mark.parametrize("mask", [0, 0xFF << 56, 0xFFFF_0000_0000_0000, 0xC000_0000_0000_0000])
def test_equals_where_hashes_collide(mask: int, words: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "NARROW_HASH", mask)
        check(words)


def test_slots_go_round_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # A hash of all ones puts every feature at the last slot.
    monkeypatch.setattr(workspace, "NARROW_HASH", 0)
    words = [f"word{k}" for k in range(30)]
    v = of(words)
    assert workspace.find_features(v, [word.encode() for word in words]) == list(range(30))


@pytest.mark.parametrize("feature", ["a", "sixteen bytes on", "more than sixteen bytes", "x" * 300])
def test_a_feature_twice_is_refused(feature: str) -> None:
    with pytest.raises(DataError, match="a feature is there twice"):
        of(["b", feature, "c", feature])
