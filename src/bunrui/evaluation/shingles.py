"""Texts → the passages that they share.

A shingle is a passage of SIZE characters, one begins at each character; a text that is shorter is one shingle.  Case
does not count, and white space is one space.  Shingles are compared by 64-bit hashes.

A signature is what two texts can be compared by without their shingles: the hashes fall into N_BINS bins, and of each
bin the smallest stays.  Two texts agree in a bin with the probability that a shingle of either is one of both, their
Jaccard similarity.  An empty bin takes what the next filled one has (on the circle).

Broder (1997), "On the resemblance and containment of documents"; Li, Owen, Zhang (2012), "One permutation hashing";
Shrivastava and Li (2014), "Densifying one permutation hashing via rotation".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bunrui.kernel.hashing import K1, K2, K3

__all__ = ["N_BINS", "SIZE", "distinct_shingles", "mixed", "signatures"]

SIZE = 12
N_BINS = 64  # a power of two

Words = npt.NDArray[np.uint64]
Signatures = npt.NDArray[np.uint32]

_EMPTY = 0xFFFF_FFFF
_CHUNK = 1 << 19  # characters at a time: what is made of them stays in the cache
_BASE = [pow(K3, power, 1 << 64) for power in range(5)]


def distinct_shingles(text: str) -> Words:
    """The shingles of a text, sorted.

    >>> len(distinct_shingles("A good film.")), len(distinct_shingles("A good film.  Really!"))
    (1, 9)
    >>> np.array_equal(distinct_shingles("A GOOD  film"), distinct_shingles("a good film"))
    True
    """
    return np.unique(_shingles([_folded(text)])[0])


def signatures(texts: Sequence[str]) -> Signatures:
    """The signature of every text, (n_docs, N_BINS).

    >>> one, other = signatures(["a good film, I liked it", "a good film, I liked it!"])
    >>> float((one == other).mean()) > 0.7
    True
    """
    out = np.full((len(texts), N_BINS), _EMPTY, np.uint32)
    first, n_chars, chunk = 0, 0, []
    for row, text in enumerate(texts):
        chunk.append(_folded(text))
        n_chars += len(chunk[-1]) + SIZE
        if n_chars >= _CHUNK or row + 1 == len(texts):
            _sign(chunk, out[first : row + 1])
            first, n_chars, chunk = row + 1, 0, []
    return out


def mixed(words: Words) -> Words:
    """Scramble 64 bits, one to one: `kernel.hashing.mix` of every word."""
    words = (words ^ (words >> np.uint64(32))) * np.uint64(K1)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(K2)
    return words ^ (words >> np.uint64(32))


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _shingles(folded: Sequence[str]) -> tuple[Words, npt.NDArray[np.int64]]:
    """All shingles, one text after the other, and how many each text has."""
    # Nulls behind each text keep its last shingles apart from the next text, and fill up what is too short.
    text = "".join(one + "\0" * SIZE for one in folded)
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.uint64)
    # A polynomial of 12 characters from those of 2, 4 and 8: a third of the work of adding one after the other.
    two = codes[:-1] * np.uint64(_BASE[1]) + codes[1:]
    four = two[:-2] * np.uint64(_BASE[2]) + two[2:]
    eight = four[:-4] * np.uint64(_BASE[4]) + four[4:]
    twelve = eight[:-4] * np.uint64(_BASE[4]) + four[8:]
    n_chars = np.array([len(one) for one in folded], np.int64)
    n_shingles = np.maximum(n_chars - SIZE + 1, 1)
    lengths = np.column_stack([n_shingles, n_chars + SIZE - n_shingles]).ravel()
    inside = np.repeat(np.tile([True, False], len(folded)), lengths)
    return mixed(twelve[inside[: len(twelve)]]), n_shingles


def _sign(folded: Sequence[str], out: Signatures) -> None:
    hashes, n_shingles = _shingles(folded)
    bins = (hashes >> np.uint64(64 - (N_BINS - 1).bit_length())).astype(np.int64)
    bins += np.repeat(np.arange(0, out.size, N_BINS), n_shingles)
    # A filled bin that happens to hold _EMPTY is taken for an empty one: once in four billion.
    np.minimum.at(out.reshape(-1), bins, hashes.astype(np.uint32))
    places = np.where(np.tile(out == _EMPTY, 2), 2 * N_BINS, np.arange(2 * N_BINS))  # the circle, twice
    filled = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1][:, :N_BINS]
    out[:] = np.take_along_axis(out, filled % N_BINS, axis=1)
