"""Batches ahead: in order, errors in their place, nobody waits for a source that is left; parts scored at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from bunrui.engines import stream
from bunrui.engines.stream import ahead, slices
from tests.support.waiting import PATIENCE


def test_the_same_batches_in_order() -> None:
    assert list(ahead(iter(range(100)), room=3)) == list(range(100))
    assert list(ahead([])) == []


def test_an_error_comes_after_what_was_before_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    batches = ahead(source())
    assert next(batches) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)


def test_it_reads_ahead_but_not_too_far() -> None:
    made: list[int] = []
    third = threading.Event()

    def source() -> Iterator[int]:
        for k in range(50):
            made.append(k)
            if k == 2:
                third.set()
            yield k

    batches = ahead(source(), room=2)
    assert next(batches) == 0
    assert third.wait(PATIENCE)
    assert len(made) <= 5
    assert list(batches) == list(range(1, 50))


def test_leaving_does_not_wait_for_a_blocked_source() -> None:
    release = threading.Event()

    def source() -> Iterator[int]:
        yield 1
        release.wait(PATIENCE)
        yield 2

    batches = ahead(source())
    assert next(batches) == 1
    batches.close()  # type: ignore[attr-defined]
    release.set()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("start", [0, 3])
def test_parts_are_small_and_miss_nothing(kind: pa.DataType, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["", "語", "a" * 9, "b" * 10, "c" * 11, "d" * 30, *"efghij" * 4, "", ""][start:]
    parts = list(slices(pa.array(["", "", "", *texts], kind)[3:], 2, 10))
    assert [text for part in parts for text in part.to_pylist()] == texts
    assert len(parts) > 5
    for part in parts:
        assert len(part) == 1 or sum(len(text.encode()) for text in part.to_pylist()) <= 10
    monkeypatch.setattr(stream, "_MOST_SCORES", 6)
    assert max(len(part) for part in slices(pa.array(texts, kind), 2, 10)) == 3
    assert [len(part) for part in slices(["a"] * 8, 2, 10)] == [3, 3, 2]
