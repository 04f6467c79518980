from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui import TextClassifier
from bunrui.counts import Counts
from bunrui.errors import StoreError
from bunrui.store import cells
from bunrui.store.cells import Head, Part, Parts, join_parts
from bunrui.store.codec import Unpacker, pack, pack_numbers

LABELS = ["ham", "spam", "ad"]
TEXTS = st.text(alphabet="ab 無料🙂", max_size=12)
DOCUMENTS = st.lists(st.tuples(TEXTS, st.sets(st.sampled_from(LABELS), min_size=1)), max_size=12)


def counts_of(documents: list[tuple[str, set[str]]]) -> Counts:
    clf = TextClassifier()
    if documents:
        clf.learn([text for text, _ in documents], [sorted(labels) for _, labels in documents])
    return clf.counts


def head_of(counts: Counts, ids: np.ndarray) -> Head:
    live = np.flatnonzero(counts.doc_count)
    return Head(counts.n_docs, counts.n_terms, counts.n_doc_freq, ids[live], counts.doc_count[live])


def parts_of(counts: Counts, ids: np.ndarray) -> Iterator[Part]:
    parts = Parts(counts, ids)
    return (parts.part(lo, hi) for lo, hi in pairwise(parts.bounds))


def round_trip(counts: Counts, file_labels: list[str]) -> Counts:
    ids = np.array([file_labels.index(label) for label in counts.labels], np.int64)
    parts = list(parts_of(counts, ids))
    return join_parts(head_of(counts, ids), parts, file_labels, counts.fingerprint, Unpacker("x", 1 << 24))


@given(DOCUMENTS, st.permutations([*LABELS, "other"]))
def test_counts_come_back(documents: list[tuple[str, set[str]]], file_labels: list[str]) -> None:
    counts = counts_of(documents)
    back = round_trip(counts, file_labels)
    assert back == counts
    back.add(counts)  # and are ready to grow
    twice = counts_of(documents + documents)
    assert back == twice
    back.subtract(counts)
    assert back == counts


@given(DOCUMENTS)
def test_counts_come_back_in_parts(documents: list[tuple[str, set[str]]]) -> None:
    counts = counts_of(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "_PART_FEATURES", 3)
        patch.setattr(cells, "_PART_CELLS", 4)
        patch.setattr(cells, "_PART_BYTES", 9)
        assert round_trip(counts, LABELS) == counts


def test_features_that_are_gone_leave_no_trace() -> None:
    clf = TextClassifier().learn(["a b", "secret word"], ["ham", "spam"]).unlearn(["secret word"], ["spam"])
    assert round_trip(clf.counts, ["ham", "spam"]) == TextClassifier().learn(["a b"], ["ham"]).counts
    assert all(b"secret" not in blob for part in parts_of(clf.counts, np.arange(2)) for blob in part[2:])


COUNTS = counts_of([("a b b", {"ham"}), ("b c", {"spam"}), ("c", {"ad"})])
IDS = np.arange(3)
PART = next(parts_of(COUNTS, IDS))
N = PART.n_features
CELLS = PART.n_cells
N_BYTES = sum(len(feature.encode()) for feature in COUNTS.features())


def one(n: int, value: int, rest: int = 1) -> bytes:
    return pack_numbers(np.array([value, *[rest] * (n - 1)], np.int64))


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("n_features", 0, "no features"),
        ("n_cells", N - 1, "no features"),
        ("n_features", N - 1, "another length"),
        ("sizes", one(N, 10**6), "not cut"),
        ("text", pack(b"x"), "not cut"),
        ("text", pack(b"\xff" * N_BYTES), "not cut"),
        ("text", pack(("\u00e9" * N_BYTES).encode()[1 : N_BYTES + 1]), "not cut"),
        ("lengths", one(N, 0), "do not belong"),
        ("lengths", one(N, 2**62, 2**62), "do not belong"),
        ("labels", one(CELLS, 7, 7), "out of order"),
        ("docs", one(CELLS, 9), "more documents"),
        ("docs", one(CELLS, 0), "no documents"),
        ("docs", one(CELLS, 2**62, 2**62), "too large"),
        ("more", one(CELLS, 5, 0), "totals"),
        ("more", one(CELLS, 2**62, 2**62), "too large"),
        ("totals", one(2 * N, 1), "totals"),
        ("totals", one(2 * N, 5), "more documents"),
    ],
)
def test_numbers_that_no_documents_have(column: str, value: object, what: str) -> None:
    part = PART._replace(**{column: value})
    with pytest.raises(StoreError, match=what):
        join_parts(head_of(COUNTS, IDS), [part], LABELS, "", Unpacker("x", 1 << 24))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"n_docs": 9}, "the number of documents"),
        ({"n_docs": 0}, "the number of documents"),
        ({"n_terms": 1}, "totals"),
        ({"n_doc_freq": 1}, "totals"),
        ({"labels": np.array([0, 1, 3])}, "not in the list of labels"),
        ({"labels": np.array([0, 1, 1])}, "not in the list of labels"),
        ({"doc_count": np.array([0, 1, 2])}, "labels without documents"),
        ({"doc_count": np.array([1, 2, 0])}, "labels without documents"),
        ({"labels": np.array([], int), "doc_count": np.array([], int)}, "documents without labels"),
    ],
)
def test_heads_that_no_documents_have(change: dict[str, object], what: str) -> None:
    with pytest.raises(StoreError, match=what):
        join_parts(head_of(COUNTS, IDS)._replace(**change), [PART], LABELS, "", Unpacker("x", 1 << 24))


def test_a_feature_in_two_parts() -> None:
    head = head_of(COUNTS, IDS)
    twice = head._replace(
        n_docs=2 * head.n_docs, n_terms=2 * head.n_terms, n_doc_freq=2 * head.n_doc_freq, doc_count=2 * head.doc_count
    )
    with pytest.raises(StoreError, match="a feature is there twice"):
        join_parts(twice, [PART, PART], LABELS, "", Unpacker("x", 1 << 24))


def test_part_has_the_columns_of_the_table() -> None:
    assert Part._fields[2:] == ("sizes", "text", "lengths", "labels", "docs", "more", "totals")
