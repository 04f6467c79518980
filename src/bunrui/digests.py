"""Digests of documents: by its digest, a document is found again without its text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.errors import DataError

__all__ = ["DIGEST", "Digests", "as_bytes", "digests_of", "document_digests", "key_words"]

DIGEST = np.dtype("V16")

Digests = npt.NDArray[np.void]
Integers = npt.NDArray[np.int64]


def document_digests(texts: Any) -> Digests:
    """The digest of every document."""
    given = inputs.is_given(texts)
    return digests_of(*as_bytes(texts, given), given)


def as_bytes(texts: Any, given: bool) -> tuple[memoryview, Integers]:
    """Documents as bytes, one after the other, and where each begins."""
    if given:
        docs = inputs.of_bytes([_canonical(document) for document in texts])
    else:
        docs = inputs.buffers(inputs.strings(texts))
    return memoryview(docs.data), docs.offsets


def _canonical(document: Any) -> bytes:
    """Tokens or counts as JSON, the same for the same document."""
    if isinstance(document, Mapping):
        document = {word: int(count) for word, count in sorted(document.items()) if count}
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise DataError(f"a document cannot be kept as JSON: {error}") from error


def digests_of(data: memoryview, offsets: Integers, given: bool) -> Digests:
    """16 bytes of SHA-256 for every document: processors compute it faster than BLAKE2."""
    start = hashlib.sha256(b"\xff" if given else b"")  # no text begins with this byte
    digests = []
    for a, b in pairwise(offsets.tolist()):
        one = start.copy()
        one.update(data[a:b])
        digests.append(one.digest()[:16])
    return np.frombuffer(b"".join(digests), DIGEST)


def key_words(digests: Digests) -> npt.NDArray[np.uint64]:
    """The first eight bytes of every digest."""
    return digests.view(np.uint64)[::2]
