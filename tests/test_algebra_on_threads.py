"""Adding, subtracting and merging counts give the same counts on any number of threads, in parts and pieces too."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bunrui import Counts, TextClassifier
from bunrui.cells import Cells
from bunrui.engines.partitions import PARTITIONS, add_part, add_up, by_partition, parts_of
from bunrui.errors import UnlearnError
from bunrui.kernel import slices, workspace
from tests.support.waiting import PATIENCE, wait_until

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


def test_a_slice_runs_once_where_its_own_thread_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the queue by then, and the first thread takes it."""
    slices._pool.cache_clear()
    started: list[threading.Thread] = []
    fails = threading.Event()
    seen: list[int] = []
    start = threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if started:
            fails.set()
            wait_until(lambda: 1 in seen)
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    def work(lo: int, hi: int) -> int:
        assert fails.wait(PATIENCE)
        seen.append(lo)
        if lo == 1:
            raise ValueError("the second")
        return hi

    monkeypatch.setattr(threading.Thread, "start", start_one)
    monkeypatch.setenv("BUNRUI_THREADS", "4")
    with pytest.raises(ValueError, match="the second"):
        slices.each_slice(work, range(5))
    assert sorted(seen) == [0, 1]


@pytest.mark.parametrize("n_threads", ["1", "2"])
def test_results_come_in_turn(monkeypatch: pytest.MonkeyPatch, n_threads: str) -> None:
    """However many there are, and few are read ahead."""
    monkeypatch.setenv("BUNRUI_THREADS", n_threads)
    for n in range(12):
        read: list[int] = []

        def things(n: int = n, read: list[int] = read) -> Iterator[int]:
            for k in range(n):
                read.append(k)
                yield k

        for k, square in enumerate(slices.in_turn(lambda k: k * k, things())):
            assert square == k * k
            assert len(read) <= k + 2 * int(n_threads) + 1
        assert read == list(range(n))


def test_who_stops_asking_waits_for_what_is_under_way() -> None:
    begun, done = [], []

    def work(k: int) -> int:
        begun.append(k)
        done.append(k)
        return k

    results = slices.in_turn(work, range(100))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert sorted(begun) == sorted(done) == list(range(len(done)))
    assert len(done) < 100


def test_an_interrupt_before_submit_returns_waits_for_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_THREADS", "2")
    begun, done = threading.Event(), []
    pool = slices._pool()
    submit = pool.submit

    def work(k: int) -> None:
        begun.set()
        time.sleep(0.05)
        done.append(k)

    def submit_and_interrupt(task: Any) -> None:
        submit(task)
        assert begun.wait(PATIENCE)
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "submit", submit_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        slices.each_slice(lambda lo, _: work(lo), range(4))
    assert done == [0]


def test_an_error_in_turn() -> None:
    results = slices.in_turn(lambda k: 6 // (3 - k), range(100))
    assert [next(results) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.parametrize("n_classes", [1, 2, 8, 9, 30])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64])
def test_sums_by_class_are_exact(n_classes: int, dtype: Any) -> None:
    rng = np.random.default_rng(n_classes)
    most = min(int(np.iinfo(dtype).max), 1 << 55)
    classes, terms = rng.integers(0, n_classes, 99).astype(np.uint8), rng.integers(most // 2, most, 99).astype(dtype)
    none = np.empty(0, np.uint8)
    cells = Cells(none, none, none, classes, terms, np.ones(99, np.uint8), none, none)
    of_class = [terms[classes == c].tolist() for c in range(n_classes)]
    assert [found.tolist() for found in cells.sums(n_classes)] == [list(map(sum, of_class)), list(map(len, of_class))]


@pytest.mark.parametrize("size", [1, 7, 500, 10_000])
def test_blocks_are_all_cells(size: int) -> None:
    counts = learned(1, 3000, "xyz", several=True)
    cells = counts.take(counts.live_ids())
    blocks = list(cells.blocks(size))
    assert {len(block.sizes) for block in blocks[:-1]} <= {size}
    for whole, parts in zip(cells, zip(*blocks, strict=True), strict=True):
        assert np.concatenate(parts).tolist() == whole.tolist()
