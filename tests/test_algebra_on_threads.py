"""Adding, subtracting and merging counts give the same counts on any number of threads, in parts and pieces too."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from bunrui import Counts, TextClassifier
from bunrui.engines.partitions import PARTITIONS, add_part, add_up, by_partition, parts_of
from bunrui.errors import UnlearnError
from bunrui.kernel import slices, workspace

# All bits; only high ones, so that many features share a hash; none, so that all do; only low ones: one region.
MASKS = [2**64 - 1, 0xFFF << 52, 0, 0xFF]


def learned(seed: int, n_words: int, labels: str, several: bool = False) -> Counts:
    """Counts of words of any length, some of them in all of these counts."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(f"w{k:0{3 + k % 20}}" for k in rng.zipf(1.2, n_words // 20) % n_words) for _ in range(20)]
    given: list[Any] = [sorted(set(rng.choice(list(labels), 1 + several))) for _ in texts]
    return TextClassifier(analyzer="words").learn(texts, given).counts


def contents(counts: Counts) -> Any:
    """Everything, in an order of its own."""
    numbers = counts.n_docs, counts.n_terms, counts.n_doc_freq, counts.n_features, counts.n_cells
    return list(counts.cells()), counts.totals(), counts.class_totals(), numbers


def ids_and_cells(counts: Counts) -> Any:
    """The arrays, as far as they are in use."""
    cells = counts.take(np.arange(counts.n_ids))
    return [column.tolist() for column in cells], counts.vocabulary.hashes[: counts.n_ids].tolist()


def all_that_is_done(n_words: int) -> Any:
    """What adding, subtracting, pruning and comparing make of some counts."""
    a, b, c = learned(1, n_words, "xy"), learned(2, n_words, "zyx", several=True), learned(3, n_words, "w")
    total = a.copy()
    total.add(b)
    total.add(c)
    seen = [contents(total), ids_and_cells(total)]
    assert total.ids_of(total.features()) == list(range(total.n_ids))
    with pytest.raises(UnlearnError) as refused:
        learned(4, n_words, "xyz", several=True).subtract(b)
    seen.append(str(refused.value))
    total.subtract(b)
    seen += [contents(total), contents(total.pruned(2)), contents(total.of_label("w"))]
    total.subtract(a)
    assert total == c and contents(total) == contents(c)
    total._compact()
    assert total == c and contents(total) == contents(c)
    assert total.ids_of(c.features()) == [total.features().index(word) for word in c.features()]
    return seen


@pytest.fixture(params=MASKS, ids=hex)
def narrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrowed hashes, and many regions although tables are small."""
    monkeypatch.setattr(workspace, "NARROW_HASH", request.param)
    monkeypatch.setattr(workspace, "_REGION_BITS", 5)


@pytest.mark.usefixtures("narrow")
def test_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_THREADS", "1")
    alone = all_that_is_done(600)
    monkeypatch.setattr(slices, "FEATURES", 7)
    for n in ("1", "2", "3", "8"):
        monkeypatch.setenv("BUNRUI_THREADS", n)
        assert all_that_is_done(600) == alone


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64])
@pytest.mark.usefixtures("narrow")
def test_any_number_of_parts(n: int) -> None:
    some = [learned(seed, 400, labels, several=True) for seed, labels in ((1, "xy"), (2, "zyx"), (3, "w"))]
    whole = some[0].copy()
    for other in some[1:]:
        whole.add(other)
    found = Counts(whole.fingerprint)
    for same in zip(*(parts_of(counts, n) for counts in some), strict=True):
        add_part(found, add_up(*same))
    assert found == whole and contents(found) == contents(whole)


def test_a_partition_is_the_first_bits_of_the_hash() -> None:
    counts = learned(1, 3000, "x")
    hashes = counts.vocabulary.hashes[: counts.n_ids]
    ids, numbers = by_partition(counts.live_ids(), hashes)
    assert sorted(ids.tolist()) == list(range(counts.n_ids))
    assert numbers.tolist() == sorted(numbers.tolist()) == [int(h) * PARTITIONS >> 64 for h in hashes[ids].tolist()]


def test_work_on_the_pool_does_not_wait_for_the_pool() -> None:
    """Slices inside slices, more than there are threads."""

    def outer(lo: int, hi: int) -> int:
        return sum(slices.each_slice(lambda a, b: b - a, range(lo * 10, hi * 10 + 1)))

    assert slices.each_slice(outer, range(20)) == [10] * 19


def test_slices_end_before_an_error_is_raised() -> None:
    done = []

    def work(lo: int, hi: int) -> None:
        if lo == 0:
            raise ValueError("the first")
        done.append(lo)

    with pytest.raises(ValueError, match="the first"):
        slices.each_slice(work, range(9))
    assert sorted(done) == list(range(1, 8))


def test_without_memory_for_threads_this_one_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    slices._pool.cache_clear()
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    monkeypatch.setenv("BUNRUI_THREADS", "4")
    seen: list[int] = []

    def work(lo: int, hi: int) -> int:
        seen.append(lo)
        return hi

    assert slices.each_slice(work, range(5)) == [1, 2, 3, 4]
    assert sorted(seen) == [0, 1, 2, 3]
    monkeypatch.undo()
    assert slices.each_slice(work, range(5)) == [1, 2, 3, 4]
