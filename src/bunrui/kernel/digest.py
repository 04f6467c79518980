"""Documents → digests: the first 16 bytes of SHA-256 (FIPS 180-4), of eight documents side by side.

A processor with instructions for SHA-256 hashes one document faster than this, but calls take time, and Python makes
them on one thread: 10,003 questions of 60 bytes take 5 ms one by one, and .6 ms here; 25,000 reviews of IMDB, of which
4,143 are longer than 2 KB, take 11 ms here on two threads, and 25 ms where the longer ones are hashed one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import MutableSequence, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.kernel.library import run
from bunrui.kernel.primitives import ONE, SHA256_START, U64, inline, sha256_block8, u64
from bunrui.kernel.signature import I64s, Read, U8s, U32s, kernel
from bunrui.kernel.slices import cut, each_slice

SIZE = U64(16)
LANES = U64(8)
BLOCK = U64(64)

LONGEST = 1 << 14  # bytes: longer documents are hashed one by one
FEW = 32  # documents that are hashed one by one

Integers = npt.NDArray[np.int64]


def digests(data: Any, offsets: Integers, before: bytes = b"") -> npt.NDArray[np.uint8]:
    """The digests of documents, (n_docs, SIZE); each begins with the same byte, or none.

    Examples
    --------
    >>> digests(b"abc", np.array([0, 3])).tobytes().hex()
    'ba7816bf8f01cfea414140de5dae2223'
    """
    whole = memoryview(data)
    if len(offsets) <= FEW:
        few = [_digest(before, whole[start:end]) for start, end in pairwise(offsets.tolist())]
        return np.frombuffer(bytearray().join(few), np.uint8).reshape(-1, int(SIZE))
    sizes = np.diff(offsets)
    out = np.empty((len(sizes), int(SIZE)), np.uint8)
    is_alone = sizes > LONGEST

    def some(lo: int, hi: int) -> None:
        rows = lo + np.flatnonzero(~is_alone[lo:hi])
        # Eight that are about as long end together.
        order = rows[np.argsort((sizes[rows] >> 3).astype(np.uint16), kind="stable")]
        room, state = np.empty(int(LANES) * (LONGEST + 2 * int(BLOCK)), np.uint8), np.empty(64, np.uint32)
        first = before[0] if before else -1
        run(digest_documents, np.frombuffer(data, np.uint8), offsets, order, first, room, state, out.reshape(-1))

    if not is_alone.all():
        each_slice(some, cut(sizes))
    for row in np.flatnonzero(is_alone).tolist():
        out[row] = np.frombuffer(_digest(before, whole[offsets[row] : offsets[row + 1]]), np.uint8)
    return out


def _digest(before: bytes, document: memoryview) -> bytes:
    one = hashlib.sha256(before)
    one.update(document)
    return one.digest()[: int(SIZE)]


@kernel
def digest_documents(
    data: Read[U8s], offsets: Read[I64s], order: Read[I64s], first: int, room: U8s, state: U32s, out: U8s
) -> None:
    """The digests of the documents `order`, none longer than LONGEST, into `out`, (documents, SIZE).

    `first` is the byte that each begins with, or -1.
    """
    stride = u64(len(room)) // LANES
    n_docs = u64(len(order))
    begin = u64(0)
    while begin < n_docs:
        n = min(LANES, n_docs - begin)
        most = u64(0)
        for lane in range(n):
            d = u64(order[begin + lane])
            most = max(most, pad(data, u64(offsets[d]), u64(offsets[d + ONE]), first, room, lane * stride))
        start(state)
        at = u64(0)
        while at < most:
            sha256_block8(state, room, at, stride)
            at = at + BLOCK
            for lane in range(n):
                d = u64(order[begin + lane])
                if padded(u64(offsets[d + ONE]) - u64(offsets[d]), first) == at:
                    write_digest(state, lane, out, d * SIZE)
        begin = begin + LANES


@inline
def start(state: MutableSequence[int]) -> None:
    for k in range(8):
        for lane in range(8):
            state[u64(k * 8 + lane)] = SHA256_START[k]


@inline
def padded(n_bytes: int, first: int) -> int:
    """Bytes of the blocks of a document."""
    return (n_bytes + u64(9 if first >= 0 else 8)) // BLOCK * BLOCK + BLOCK


@inline
def pad(data: Sequence[int], begin: int, end: int, first: int, room: MutableSequence[int], at: int) -> int:
    """Write a document, a bit, zeros and the number of bits into `room`; the bytes of all."""
    size = padded(end - begin, first)
    to = at
    if first >= 0:
        room[to] = first
        to = to + ONE
    n = end - begin
    for k in range(n):
        room[to + k] = data[begin + k]
    to = to + n
    n_bits = (to - at) * u64(8)
    room[to] = 0x80
    to = to + ONE
    end = at + size
    for k in range(to, end):
        room[k] = 0
    for k in range(3):  # LONGEST has fewer than 2 ** 24 bits
        room[end - ONE - u64(k)] = (n_bits >> u64(8 * k)) & u64(0xFF)
    return size


@inline
def write_digest(state: Sequence[int], lane: int, out: MutableSequence[int], at: int) -> None:
    for k in range(4):
        word = u64(state[u64(k) * LANES + lane])
        for j in range(4):
            out[at + u64(4 * k + j)] = (word >> u64(24 - 8 * j)) & u64(0xFF)
