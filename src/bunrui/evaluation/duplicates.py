"""Texts → groups of duplicates.

If a text is in a corpus twice, leaving one copy out does not hide the other.  So leave-one-out and plain folds are too
optimistic.

    exact    the same text, byte for byte (by its SHA-256)
    near     texts that share at least SIMILAR of their distinct shingles (Jaccard)

A shingle is a passage of SIZE characters; one begins at each character.  A shorter text is one shingle.  Case does not
count, and white space is one space.  Shingles are compared by 64-bit hashes.

Signatures compare two texts without their shingles.  The hashes fall into N_BINS bins, and each bin keeps the smallest.
Two texts agree in a bin with a probability that equals their Jaccard similarity.  An empty bin takes the value of the
next filled one (on the circle).

A group joins such pairs, so its ends may share less.  Signatures choose the pairs to compare, and the shingles decide:
every joined pair is similar.

Some pairs may be missed.  Signatures are cut into N_BANDS bands.  Texts that are equal in a band are sorted side by
side, and each is compared with the one before it and with the first.  A pair that shares .8 is equal in no band once in
about 5,000 times, a pair that shares .9 practically never.  Among many texts that are half alike, a pair may not come
side by side.  Some pairs are no near duplicates by definition: lines that differ in a word (another word of 6 letters
changes 17 shingles), a text quoted in a longer one, translations, paraphrases.

The time is linear in the text, except for sorting.

Broder (1997), "On the resemblance and containment of documents"; Li, Owen, Zhang (2012), "One permutation hashing";
Shrivastava and Li (2014), "Densifying one permutation hashing via rotation".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.kernel.ngrams import K1, K2, K3
from bunrui.sparse import Integers

Words = npt.NDArray[np.uint64]
Signatures = npt.NDArray[np.uint32]

SIZE = 12
N_BINS = 64  # a power of two

_EMPTY = 0xFFFF_FFFF
_CHUNK = 1 << 19  # characters at a time: their hashes stay in the cache
_BASE = [pow(K3, power, 1 << 64) for power in range(5)]

SIMILAR = 0.8
N_BANDS = 16
_CLOSE = 0.6  # share of equal bins: four standard deviations below SIMILAR


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


def mix_words(words: Words) -> Words:
    """Scramble 64 bits, one to one: `kernel.ngrams.mix` of every word."""
    words = (words ^ (words >> np.uint64(32))) * np.uint64(K1)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(K2)
    return words ^ (words >> np.uint64(32))


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _shingles(folded: Sequence[str]) -> tuple[Words, Integers]:
    """All shingles, one text after the other, and how many each text has."""
    # Nulls behind each text keep its last shingles apart from the next text, and fill up short texts.
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
    return mix_words(twelve[inside[: len(twelve)]]), n_shingles


def _sign(folded: Sequence[str], out: Signatures) -> None:
    hashes, n_shingles = _shingles(folded)
    bins = (hashes >> np.uint64(64 - (N_BINS - 1).bit_length())).astype(np.int64)
    bins += np.repeat(np.arange(0, out.size, N_BINS), n_shingles)
    # A filled bin that happens to hold _EMPTY is taken for an empty one: once in four billion.
    np.minimum.at(out.reshape(-1), bins, hashes.astype(np.uint32))
    places = np.where(np.tile(out == _EMPTY, 2), 2 * N_BINS, np.arange(2 * N_BINS))  # the circle, twice
    filled = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1][:, :N_BINS]
    out[:] = np.take_along_axis(out, filled % N_BINS, axis=1)


class DuplicateGroup(NamedTuple):
    """Rows of texts that are duplicates of each other, ascending; `exact` if all of them are the same text."""

    kind: Literal["exact", "near"]
    rows: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Duplicates:
    """Groups of duplicates, by their first rows.

    Attributes
    ----------
    n_docs : int
        All texts, those without duplicates too.
    groups : tuple of DuplicateGroup
        Of two rows and more; no row is in two groups.
    """

    n_docs: int
    groups: tuple[DuplicateGroup, ...]

    def __repr__(self) -> str:
        exact, near = (sum(group.kind == kind for group in self.groups) for kind in ("exact", "near"))
        return f"<Duplicates: {self.n_docs} documents, {exact} exact groups, {near} near groups, {self.n_extra} extra>"

    @property
    def n_extra(self) -> int:
        """The number of texts to remove so that one of each group stays."""
        return sum(len(group.rows) - 1 for group in self.groups)

    @property
    def keys(self) -> Integers:
        """The first row of the group of every text, its own where it has no duplicate, (n_docs,): for grouped folds."""
        keys = np.arange(self.n_docs)
        for group in self.groups:
            keys[list(group.rows)] = group.rows[0]
        return keys


def find_duplicates(texts: Any, *, near: bool = True) -> Duplicates:
    """Find exact and near duplicates among texts; the top of this module defines them.

    Parameters
    ----------
    texts : sequence of str
        Lists, NumPy, pandas, polars and Arrow arrays.
    near : bool
        False finds exact duplicates alone: rows of tables share most of their characters, the names of the columns.

    Examples
    --------
    >>> text = "The quick brown fox jumps over the lazy dog, and nobody knows why it does so every single day."
    >>> found = find_duplicates([text, "Something else.", text.upper(), text + " Really!", "Something else."])
    >>> found
    <Duplicates: 5 documents, 1 exact groups, 1 near groups, 3 extra>
    >>> found.groups
    (DuplicateGroup(kind='near', rows=(0, 2, 3)), DuplicateGroup(kind='exact', rows=(1, 4)))
    >>> found.keys.tolist()
    [0, 1, 0, 0, 1]
    """
    from bunrui.memory import document_digests  # imports SQLite

    strings = inputs.strings(texts)
    if not len(strings):
        return Duplicates(0, ())
    _, firsts, copies = np.unique(document_digests(strings), return_index=True, return_inverse=True)
    first_rows: Integers = firsts[copies]  # of the same text
    distinct = np.unique(first_rows)
    roots = _near(inputs.pick(strings, distinct)) if near else np.arange(len(distinct))
    keys = distinct[roots[np.searchsorted(distinct, first_rows)]]
    order = np.argsort(keys, kind="stable")
    borders = np.flatnonzero(np.diff(keys[order])) + 1
    groups = []
    for rows in np.split(order, borders):
        if len(rows) > 1:
            same = len(np.unique(first_rows[rows])) == 1
            groups.append(DuplicateGroup("exact" if same else "near", tuple(rows.tolist())))
    return Duplicates(len(strings), tuple(groups))


def _near(texts: list[str]) -> Integers:
    """The first row of the group of every text, (n_docs,)."""
    signed = signatures(texts)
    roots = list(range(len(texts)))
    shingles: dict[int, Words] = {}
    compared = set()

    def root(row: int) -> int:
        while roots[row] != row:
            roots[row] = row = roots[roots[row]]
        return row

    for pairs in _candidates(signed):
        close = (signed[pairs[:, 0]] == signed[pairs[:, 1]]).mean(axis=1) >= _CLOSE
        for one, other in pairs[close].tolist():
            low, high = sorted((root(one), root(other)))
            if low == high or (one, other) in compared:
                continue
            compared.add((one, other))
            for row in (one, other):
                if row not in shingles:
                    shingles[row] = distinct_shingles(texts[row])
            if _jaccard(shingles[one], shingles[other]) >= SIMILAR:
                roots[high] = low
    return np.array([root(row) for row in range(len(texts))], np.int64)


def _candidates(signed: Signatures) -> Iterator[Integers]:
    """Pairs of rows that are equal in a band, band after band, (n_pairs, 2)."""
    bands = signed.reshape(len(signed), N_BANDS, N_BINS // N_BANDS)
    keys = np.zeros((N_BANDS, len(signed)), np.uint64)
    for k in range(bands.shape[2]):
        keys = mix_words(keys ^ bands[:, :, k].T)
    for band in range(N_BANDS):
        # Those that are equal in the next band too stand together.
        order = np.lexsort((keys[(band + 1) % N_BANDS], keys[band]))
        begins = np.concatenate([[True], np.diff(keys[band][order]) != 0])
        firsts = order[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
        before = np.roll(order, 1)
        pairs = np.concatenate([np.column_stack([before, order])[~begins], np.column_stack([firsts, order])[~begins]])
        yield np.unique(np.sort(pairs, axis=1), axis=0)


def _jaccard(one: Words, other: Words) -> float:
    # Two sorted runs one after the other: a stable sort merges them, ten times as quick as np.intersect1d.
    every = np.sort(np.concatenate([one, other]), kind="stable")
    n_both = int(np.count_nonzero(every[1:] == every[:-1]))
    return n_both / (len(one) + len(other) - n_both)
