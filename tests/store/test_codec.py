from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.errors import StoreError
from bunrui.store.codec import Unpacker, pack, pack_json, pack_numbers

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
