from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bunrui.counts
from bunrui import TextClassifier
from bunrui.counts import Counts
from bunrui.errors import DamagedError, StoreError
from bunrui.store import codec
from bunrui.store.codec import Head, Part, Unpacker, join_parts, pack, pack_json, pack_numbers, parts_of

PLENTY = 1 << 24
NUMBERS = st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**63 - 1)), max_size=300)


def unpacker(budget: int = PLENTY) -> Unpacker:
    return Unpacker("x.bunrui", budget)


@given(st.binary(max_size=5000))
def test_bytes_come_back(content: bytes) -> None:
    assert bytes(unpacker().unpack(pack(content))) == content


@given(NUMBERS)
def test_numbers_come_back(numbers: list[int]) -> None:
    assert unpacker().numbers(pack_numbers(np.array(numbers, np.int64)), len(numbers)).tolist() == numbers


def test_small_numbers_take_a_byte_or_less() -> None:
    numbers = np.random.default_rng(0).integers(0, 256, 10_000)
    numbers[17] = 1 << 40
    assert len(pack_numbers(numbers)) < 10_300
    assert len(pack_numbers(np.ones(10_000, np.int64))) < 40


def test_json_comes_back() -> None:
    assert unpacker().json(pack_json([["ü", None], 3])) == [["ü", None], 3]


@given(st.data(), st.binary(min_size=1, max_size=300))
def test_a_flipped_bit_is_found(data: st.DataObject, content: bytes) -> None:
    blob = bytearray(pack(content))
    place = data.draw(st.integers(0, len(blob) - 1))
    blob[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(StoreError, match=r"x\.bunrui is damaged"):
        unpacker().unpack(bytes(blob))


@given(st.binary(max_size=200))
def test_anything_else_is_an_error(blob: bytes) -> None:
    with pytest.raises(StoreError, match="is damaged"):
        unpacker().unpack(blob + b"\x07")


@pytest.mark.parametrize("blob", [None, 3, "text", b"", pack(b"abc")[:-1], pack(bytes(500))[:-1]])
def test_what_is_no_blob_is_an_error(blob: object) -> None:
    with pytest.raises(StoreError, match="is damaged"):
        unpacker().unpack(blob)


def test_claims_are_checked_before_memory_is_asked_for() -> None:
    bomb = pack(bytes(1 << 20))
    assert len(bomb) < 200
    with pytest.raises(StoreError, match="far more than the size of the file allows"):
        unpacker(1 << 19).unpack(bomb)
    with pytest.raises(StoreError, match="far more than the size of the file allows"):
        unpacker().numbers(pack(b""), 1 << 50)


def test_a_budget_is_for_all_blobs_together() -> None:
    blob, left = pack(bytes(1000)), unpacker(2500)
    left.unpack(blob)
    left.unpack(blob)
    with pytest.raises(StoreError, match="far more"):
        left.unpack(blob)


@pytest.mark.parametrize(("content", "n"), [(b"abc", 2), (b"a", 0), (bytes(27), 3), (b"\xff" * 8, 1)])
def test_numbers_of_another_length_or_size(content: bytes, n: int) -> None:
    with pytest.raises(StoreError, match="is damaged"):
        unpacker().numbers(pack(content), n)


def test_deep_json_is_an_error() -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        unpacker().json(pack(b"[" * 100_000))


# --- counts

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
        patch.setattr(codec, "_PART_FEATURES", 3)
        patch.setattr(codec, "_PART_CELLS", 4)
        patch.setattr(codec, "_PART_BYTES", 9)
        assert round_trip(counts, LABELS) == counts


@pytest.mark.parametrize("n_threads", ["1", "4"])
def test_one_bad_part_of_many(monkeypatch: pytest.MonkeyPatch, n_threads: str) -> None:
    monkeypatch.setenv("BUNRUI_THREADS", n_threads)
    monkeypatch.setattr(codec, "_PART_FEATURES", 20)
    counts = TextClassifier().learn([" ".join(f"w{k}" for k in range(400))], ["spam"]).counts
    head, parts = head_of(counts, np.arange(1)), list(parts_of(counts, np.arange(1)))
    assert len(parts) > 20
    assert join_parts(head, parts, ["spam"], counts.fingerprint, unpacker()) == counts
    text = bytearray(parts[-1].text)
    text[-1] ^= 1
    for bad in ([*parts[:-1], parts[-1]._replace(text=bytes(text))], [parts[0]._replace(text=bytes(text)), *parts[1:]]):
        with pytest.raises(DamagedError, match="a block of data"):
            join_parts(head, bad, ["spam"], counts.fingerprint, unpacker())
    with pytest.raises(DamagedError, match="far more"):
        join_parts(head, parts, ["spam"], counts.fingerprint, unpacker(20_000))  # enough for each of them


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


@given(DOCUMENTS, DOCUMENTS)
def test_few_features_are_those_of_all(learned: list[tuple[str, set[str]]], asked: list[tuple[str, set[str]]]) -> None:
    counts, wanted = counts_of(learned), counts_of(asked)
    ids = np.array([LABELS.index(label) for label in counts.labels], np.int64)
    parts = list(parts_of(counts, ids))
    lazy = join_parts(head_of(counts, ids), parts, LABELS, counts.fingerprint, Unpacker("x", 1 << 24), is_lazy=True)
    assert (lazy.n_features, lazy.n_ids, lazy.is_folded) == (counts.n_features, counts.n_features, True)
    few = lazy.few(wanted.vocabulary)
    known = set(wanted.features())
    assert lazy.is_folded
    assert list(few.cells()) == [cell for cell in counts.cells() if cell[0] in known]
    assert few.totals() == {text: both for text, both in counts.totals().items() if text in known}
    some = (0, counts.n_ids // 2, counts.n_ids, counts.n_ids)
    ids, digests = lazy.places_of(wanted.vocabulary), [lazy.digest(n) for n in some]
    assert lazy.is_folded
    assert lazy == counts
    assert [lazy.features()[f] if f >= 0 else None for f in ids] == [
        text if text in counts.features() else None for text in wanted.features()
    ]
    assert ids.tolist() == lazy.places_of(wanted.vocabulary).tolist()
    assert digests == [lazy.digest(n) for n in some]
    assert not lazy.is_folded
    assert list(lazy.few(wanted.vocabulary).cells()) == list(few.cells())


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_folded_counts_take_in_others(
    learned: list[tuple[str, set[str]]],
    first: list[tuple[str, set[str]]],
    second: list[tuple[str, set[str]]],
    asked: list[tuple[str, set[str]]],
) -> None:
    counts, wanted, more = counts_of(learned), counts_of(asked), [counts_of(first), counts_of(second)]
    ids = np.array([LABELS.index(label) for label in counts.labels], np.int64)
    head, parts = head_of(counts, ids), list(parts_of(counts, ids))
    lazy, whole = (
        join_parts(head, parts, LABELS, counts.fingerprint, unpacker(), is_lazy=is_lazy) for is_lazy in (True, False)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bunrui.counts, "_FEW_MORE", 1)
        for other in more:
            lazy.add(other)
            whole.add(other)
    assert lazy.is_folded == all(other.n_features <= counts.n_features for other in more)
    assert lazy.labels == whole.labels and lazy.class_totals() == whole.class_totals()
    assert (lazy.n_features, lazy.n_ids, lazy.n_terms) == (whole.n_features, whole.n_ids, whole.n_terms)
    few, same = lazy.few(wanted.vocabulary), whole.few(wanted.vocabulary)
    assert lazy.places_of(wanted.vocabulary).tolist() == whole.places_of(wanted.vocabulary).tolist()
    assert few.labels == same.labels
    assert list(few.cells()) == list(same.cells()) and few.totals() == same.totals()
    assert lazy.features() == whole.features()  # with the same ids
    assert lazy == whole and not lazy.is_folded


def test_a_feature_in_two_parts() -> None:
    head = head_of(COUNTS, IDS)
    twice = head._replace(
        n_docs=2 * head.n_docs, n_terms=2 * head.n_terms, n_doc_freq=2 * head.n_doc_freq, doc_count=2 * head.doc_count
    )
    with pytest.raises(StoreError, match="a feature is there twice"):
        join_parts(twice, [PART, PART], LABELS, "", Unpacker("x", 1 << 24))
    lazy = join_parts(twice, [PART, PART], LABELS, "", Unpacker("x", 1 << 24), is_lazy=True)
    with pytest.raises(DamagedError, match="x is damaged: a feature is there twice"):
        lazy.few(COUNTS.vocabulary)
    with pytest.raises(DamagedError, match="x is damaged: a feature is there twice"):
        lazy.places_of(COUNTS.vocabulary)
    with pytest.raises(DamagedError, match="x is damaged: a feature is there twice"):
        lazy.ids_of(["a"])


def test_part_has_the_columns_of_the_table() -> None:
    assert Part._fields[2:] == ("sizes", "text", "lengths", "labels", "docs", "more", "totals")
