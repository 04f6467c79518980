"""The sample of what was learned: a function of the documents, whatever their order, shards and copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui import sample
from bunrui.engines.labelgroups import label_sets
from bunrui.memory import document_digests, key_words
from bunrui.sample import LowestDigests, find_lowest
from tests.support.examples import examples

Pairs = list[tuple[str, str]]

pairs = st.lists(st.tuples(st.integers(0, 40).map("text {}".format), st.sampled_from("abc")), max_size=60)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a few short texts exceed."""
    for name, value in (("MOST_DOCS", 8), ("MOST_BYTES", 40), ("FEW", 2), ("LONGEST", 7)):
        monkeypatch.setattr(sample, name, value)


def learn(found: LowestDigests, documents: Pairs) -> LowestDigests:
    texts, labels = [text for text, _ in documents], [label for _, label in documents]
    found.add(texts, label_sets(labels, len(texts), {}), 3)
    return found


def drawn(found: LowestDigests) -> list[tuple[str, Any, int, bool]]:
    return [tuple(each) for each in zip(*(found.draw(3)[k] for k in range(4)), strict=True)]


def reference(documents: Pairs) -> list[tuple[str, Any, int, bool]]:
    """The same, said plainly."""
    copies: dict[tuple[int, str, str], int] = {}
    for (text, label), key in zip(documents, key_words(document_digests([t for t, _ in documents])), strict=True):
        if len(text.encode()) <= sample.LONGEST:
            copies[int(key), label, text] = copies.get((int(key), label, text), 0) + 1
    every = sorted(copies)
    common, n_bytes = [], 0
    for each in every[: sample.MOST_DOCS]:
        n_bytes += len(each[2].encode())
        if n_bytes > sample.MOST_BYTES:
            break
        common.append(each)
    few = []
    for label in "abc":
        n_bytes = 0
        for each in [each for each in every if each[1] == label][: min(sample.FEW, sample.MOST_DOCS // 3)]:
            n_bytes += len(each[2].encode())
            if n_bytes * 3 > sample.MOST_BYTES:
                break
            few.append(each)
    return [(each[2], each[1], copies[each], each in common) for each in every if each in common or each in few]


@given(documents=pairs)
def test_lowest_digests(documents: Pairs) -> None:
    assert drawn(learn(LowestDigests(), documents)) == reference(documents)


@given(documents=pairs, data=st.data())
@settings(max_examples=examples(50))
def test_order_batches_and_shards_do_not_matter(documents: Pairs, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(documents))
    cut, border = data.draw(st.integers(0, len(documents))), data.draw(st.integers(0, len(documents)))
    one = LowestDigests()
    for document in shuffled[:cut]:
        learn(one, [document])
    learn(one, shuffled[cut : max(cut, border)])
    one.merge(learn(LowestDigests(), shuffled[max(cut, border) :]).copy(), 3)
    assert drawn(one) == reference(documents)


@given(documents=pairs, data=st.data())
@settings(max_examples=examples(50))
def test_what_is_unlearned_is_gone(documents: Pairs, data: st.DataObject) -> None:
    found = learn(LowestDigests(), documents)
    rows = data.draw(st.lists(st.integers(0, max(len(documents) - 1, 0)), unique=True)) if documents else []
    for row in rows:
        text, label = documents[row]
        places = found.find([text], label_sets([label], 1, {}))
        assert places is not None
        found.remove(places)
    left = [document for row, document in enumerate(documents) if row not in rows]
    known = {(text, label): copies for text, label, copies, _ in drawn(found)}
    for (text, label), copies in known.items():
        assert copies == left.count((text, label))
    if len(documents) <= 4:  # so few are all kept
        assert drawn(found) == reference(left)


def test_a_copy_goes_its_own_way() -> None:
    found = learn(LowestDigests(), [("p", "a"), ("p", "a"), ("n", "b")])
    copy, before = found.copy(), drawn(found)
    places = found.find(["p"], label_sets(["a"], 1, {}))
    assert places is not None
    found.remove(places)
    assert drawn(copy) == before != drawn(found)


def test_merging_keeps_no_more_than_learning() -> None:
    found = LowestDigests()
    documents = [(f"t {k}", "abc"[k % 3]) for k in range(300)]
    for start in range(0, 300, 6):
        found.merge(learn(LowestDigests(), documents[start : start + 6]), 3)
        assert len(found._texts) <= 4 * sample.MOST_DOCS and found._sizes.sum() <= 4 * sample.MOST_BYTES
    assert drawn(found) == reference(documents)


@given(documents=pairs.filter(lambda documents: len(documents) > 8), more=pairs)
@settings(max_examples=examples(50))
def test_the_first_batch_is_drawn_as_any_other(documents: Pairs, more: Pairs) -> None:
    """For any number of classes, and after every change."""
    first, by_one = learn(LowestDigests(), documents), LowestDigests()
    for document in documents:
        learn(by_one, [document])
    assert drawn(first) == drawn(by_one)
    assert first.draw(30)[0] == by_one.draw(30)[0]
    assert drawn(first.copy()) == drawn(by_one)
    assert drawn(learn(first, more)) == drawn(learn(by_one, more)) == reference(documents + more)


def test_documents_with_several_labels_are_not_taken() -> None:
    found = LowestDigests()
    found.add(["x", "y"], label_sets([["a", "b"], ["a"]], 2, {}), 2)
    assert drawn(found) == [("y", "a", 1, True)]


def test_tokens_and_counts() -> None:
    found = LowestDigests()
    for documents in ([["x"], ["y"]], [{"x": 1}]):
        found.add(documents, label_sets(["a"] * len(documents), len(documents), {}), 1)
    assert sorted(map(str, found.draw(1).texts)) == ["['x']", "['y']", "{'x': 1}"]


def test_no_documents() -> None:
    nothing = np.empty(0, np.int64)
    assert not len(find_lowest(nothing.astype(np.uint64), nothing, nothing, 0, nothing).rows)
    assert LowestDigests().draw(0).texts == []
