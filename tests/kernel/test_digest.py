"""Digests of many documents at once are those that hashlib gives one by one."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.kernel import digest
from bunrui.kernel.digest import FEW, LONGEST, digests
from tests.support.examples import examples
from tests.support.kernels import MODES, kernels

# A block ends after 55 bytes, or 54 and the one before: then come a bit and the length.
BORDERS = [k for n in (0, 55, 64, 119, 128, 183, 192, 1024, LONGEST) for k in range(max(n - 2, 0), n + 3)]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with kernels(request.param):
        yield request.param


def check(documents: Sequence[bytes], before: bytes, skipped: int = 0) -> None:
    data = b"x" * skipped + b"".join(documents)
    offsets = np.cumsum([skipped, *map(len, documents)])
    found = [each.tobytes() for each in digests(data, offsets, before)]
    assert found == [hashlib.sha256(before + document).digest()[:16] for document in documents]


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("before", [b"", b"\xff", b"\0"])
def test_lengths_around_the_borders_of_blocks(before: bytes) -> None:
    source = random.Random(0)
    documents = [source.randbytes(n) for n in BORDERS]
    source.shuffle(documents)
    assert len(documents) > FEW
    check(documents, before, skipped=7)


@pytest.mark.parametrize("n", [0, 1, FEW, FEW + 1, FEW + 7, FEW + 8])
@pytest.mark.parametrize("before", [b"", b"\xff"])
def test_any_number_of_documents(n: int, before: bytes) -> None:
    check([b""] * n, before)
    check([b"\x80\0" * (k % 41) for k in range(n)], before)


def test_a_long_document_among_short_ones() -> None:
    check([b"a", b"", b"\xff" * (1 << 20)] * FEW, b"")


@given(documents=st.lists(st.binary(max_size=300), max_size=3 * FEW), before=st.sampled_from([b"", b"\xff"]))
@settings(max_examples=examples(50), deadline=None)
def test_any_documents(documents: list[bytes], before: bytes) -> None:
    check(documents, before)


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(1)
    documents = [source.randbytes(source.randrange(200)) for _ in range(500)]
    monkeypatch.setattr(digest, "cut", lambda sizes: [0, 3, 3, 250, len(sizes)])
    check(documents, b"")
