"""Labels of every kind → groups of documents that share them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.engines.labelgroups import LabelSets, label_sets
from bunrui.errors import DataError, LabelError

NAMES = ["b", "a", "ニュース", "c d", "é"]
names = st.sampled_from(NAMES)
one = st.lists(names, max_size=60)
several = st.lists(names | st.sets(names, min_size=1).map(frozenset) | st.lists(names, min_size=1), max_size=60)


def unfolded(sets: LabelSets) -> list[set[str]]:
    """The labels of each document."""
    return [
        {sets.labels[k] for k in sets.indices[sets.members[g] : sets.members[g + 1]].tolist()}
        for g in sets.groups.tolist()
    ]


def expected(labels: list[Any]) -> list[set[str]]:
    return [{label} if isinstance(label, str) else set(label) for label in labels]


@given(one | several)
def test_every_document_has_its_labels(labels: list[Any]) -> None:
    sets = label_sets(labels, len(labels), {})
    assert unfolded(sets) == expected(labels)
    assert sets.labels == sorted(set().union(*expected(labels)))
    assert sets.groups.dtype == sets.members.dtype == sets.indices.dtype == np.int64


@given(one, st.permutations(NAMES).flatmap(lambda order: st.integers(0, 5).map(lambda n: order[:n])))
def test_known_labels_come_first_in_their_order(labels: list[str], known: list[str]) -> None:
    sets = label_sets(labels, len(labels), {name: k for k, name in enumerate(known)})
    seen = set(labels)
    assert sets.labels == [name for name in known if name in seen] + sorted(seen - set(known))
    assert unfolded(sets) == expected(labels)


@given(several)
def test_labels_ascend_within_a_group(labels: list[Any]) -> None:
    sets = label_sets(labels, len(labels), {"é": 0, "a": 1})
    for g in range(len(sets.members) - 1):
        group = sets.indices[sets.members[g] : sets.members[g + 1]].tolist()
        assert group == sorted(set(group)) != []


@given(one | several)
def test_single_means_that_groups_are_labels(labels: list[Any]) -> None:
    sets = label_sets(labels, len(labels), {})
    if all(isinstance(label, str) for label in labels):
        assert sets.is_single
    if sets.is_single:
        assert [{sets.labels[g]} for g in sets.groups.tolist()] == expected(labels)


def test_sets_of_one_label() -> None:
    """Groups come in the order of the documents, labels sorted: the k-th group need not have the k-th label."""
    sets = label_sets([{"b"}, {"a"}, {"b"}], 3, {})
    assert unfolded(sets) == [{"b"}, {"a"}, {"b"}]
    assert not sets.is_single


@given(several, st.data())
def test_subset(labels: list[Any], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, max(len(labels) - 1, 0)), max_size=8 if labels else 0))
    sets = label_sets(labels, len(labels), {})
    assert unfolded(sets.subset(np.array(rows, np.int64))) == [expected(labels)[row] for row in rows]


@pytest.mark.parametrize("n", [1, 50])
def test_kinds(n: int) -> None:
    """Short lists are read by Python, long ones by Arrow."""
    labels = ["b", "a", "ニュース"] * n
    kinds: list[Any] = [
        *[labels, tuple(labels), np.array(labels), np.array(labels, object), iter(labels)],
        *[pd.Series(labels), pd.Series(labels).astype("category"), pd.Categorical(labels), pd.Index(labels)],
        *[
            pl.Series(labels),
            pl.Series(labels).cast(pl.Categorical),
            pl.Series(labels).cast(pl.Enum(sorted(set(labels)))),
        ],
        *[pa.array(labels), pa.array(labels, pa.large_string()), pa.array(labels, pa.string_view())],
        *[pa.array(labels).dictionary_encode(), pa.chunked_array([labels[:1], [], labels[1:]], pa.string())],
        pa.chunked_array(
            [pa.array(["x", *labels]).dictionary_encode().slice(1, 2), pa.array(labels[2:]).dictionary_encode()]
        ),
        *[[np.str_(label) for label in labels], [{label} for label in labels], [[label, label] for label in labels]],
        *[pa.array([[label] for label in labels]), pl.Series([[label] for label in labels])],
    ]
    for kind in kinds:
        sets = label_sets(kind, len(labels), {})
        assert sets.labels == ["a", "b", "ニュース"], type(kind)
        assert all(type(label) is str for label in sets.labels)
        assert unfolded(sets) == expected(labels), type(kind)


@pytest.mark.parametrize("n", [1, 50])
def test_kinds_of_integers_and_booleans(n: int) -> None:
    """All of them come back as Python's own, sorted as numbers."""
    for labels, names in (([10, -1, 9] * n, [-1, 9, 10]), ([True, False] * n, [False, True])):
        kinds: list[Any] = [
            *[labels, tuple(labels), np.array(labels), np.array(labels, object), list(np.array(labels)), iter(labels)],
            *[pd.Series(labels), pd.Series(labels, dtype=object), pd.Series(labels).astype("category")],
            *[pd.Series(labels).convert_dtypes(), pl.Series(labels), pa.array(labels), pa.chunked_array([labels])],
            *[pa.array(labels).dictionary_encode(), [{label} for label in labels], pl.Series([[k] for k in labels])],
        ]
        if names == [-1, 9, 10]:
            kinds += [np.array(labels, np.int8), pl.Series(labels, dtype=pl.Int16), pd.Series(labels, dtype="Int32")]
        for kind in kinds:
            sets = label_sets(kind, len(labels), {})
            assert sets.labels == names and {type(label) for label in sets.labels} == {type(names[0])}, type(kind)
            assert unfolded(sets) == [{label} for label in labels], type(kind)


def test_a_label_of_another_type_than_those_that_are_known() -> None:
    with pytest.raises(LabelError) as error:
        label_sets([True], 1, {1: 0})
    assert str(error.value) == (
        "the label True is of type bool, and others are of type int, such as 1: convert labels to int"
    )


def test_a_dictionary_may_have_more_than_is_used() -> None:
    array = pa.array(["x", "a", "b"]).dictionary_encode().slice(1)
    assert unfolded(label_sets(array, 2, {})) == [{"a"}, {"b"}]


def test_none_at_all() -> None:
    for empty in ([], np.array([], str), pa.array([], pa.string()), pa.chunked_array([], pa.string())):
        sets = label_sets(empty, 0, {"known": 0})
        assert (sets.labels, sets.groups.tolist()) == ([], [])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["x"] * 40 + [1],
            "a label of text 40 is 1, of type int, and others are of type str: convert all labels to one type, such "
            "as str",
        ),
        (
            [1] * 40 + [1 << 63],
            f"a label of text 40 is {1 << 63}, which has more than 64 bits: convert labels with str",
        ),
        ([1] * 40 + [None], "the label of text 40 is missing (null)"),
        (["x"] * 40 + [1.5], "a label of text 40 is 1.5, a fraction: convert labels with str"),
        ([b"x"] * 40, "a label of text 0 is b'x', no string, integer or boolean: convert labels with str"),
        (["x"] * 40 + [None], "the label of text 40 is missing (null)"),
        (["x"] * 40 + [""], "a label among the labels is empty: give it a name, or leave the text out"),
        ([["x"]] * 40 + [[]], "text 40 has no label: give at least one"),
        (pa.array([["x"], None]), "the label of text 1 is missing: give one, or leave the text out"),
    ],
)
def test_bad_labels_in_long_lists(labels: Any, message: str) -> None:
    with pytest.raises(LabelError) as error:
        label_sets(labels, len(labels), {})
    assert str(error.value) == message


def test_labels_that_are_not_utf8() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")]
    )
    with pytest.raises(LabelError, match=r"^a label is not valid UTF-8: "):
        label_sets(broken, 1, {})


def test_lengths() -> None:
    with pytest.raises(DataError, match=r"^there are 3 texts and 2 labels: give one label for each text$"):
        label_sets(["a", "b"], 3, {})
