"""The words that speak for a label: `telling_words`, and what trained models share with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import given_recipe
from bunrui.counts import Counts, Label
from bunrui.errors import TableError
from bunrui.kernel import score as scoring
from bunrui.kernel.library import run
from bunrui.kernel.sums import exact_sums
from bunrui.kernel.vocabulary import MISSING, Vocabulary
from bunrui.kernel.workspace import scratch_for
from bunrui.models.linear import Reader
from bunrui.models.model import WordQuestion
from bunrui.models.view import FeatureCounts, View, gather, in_blocks

__all__ = ["Weights", "Word", "Words", "counts_of", "find", "find_word", "telling_words", "words_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint32]


# Features that are looked up at a time: fewer than there is room for in a scratch.
_BLOCK = 4096


class Word(NamedTuple):
    """A word of the model.

    Attributes
    ----------
    text : str
    weight : float
        What one occurrence adds to the score of a label, less what it adds to the others.
    counts : dict from label to int
        Occurrences by label; documents by label where the model counts documents.
    """

    text: str
    weight: float
    counts: dict[Label, int]


class Words(list[Word]):
    """Words of a model; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        from bunrui.views.notebook import words_html

        return words_html(self)


def telling_words(reader: Reader, analyzer: Analyzer, question: WordQuestion) -> list[Word]:
    """The words that speak for a label: what one occurrence adds to its score, less the mean of the others.

    With `positive` and `negative`, the difference of the two for all words that occur with either, `top` from both ends
    of the list.  With `word`, that word alone (without a label, for the one to whose score it adds most); no word, if
    it was never learned.  The highest come first, words with equal weights by their text.

    Examples
    --------
    >>> from bunrui.classifier import TextClassifier
    >>> clf = TextClassifier("multinomial", analyzer="words")
    >>> _ = clf.learn(["cheap pills", "pills now", "see you at noon"], ["spam", "spam", "ham"])
    >>> [(word.text, round(word.weight, 3), word.counts) for word in clf.words("spam", top=2)]
    [('pills', 3.045, {'spam': 2}), ('cheap', 2.398, {'spam': 1})]
    >>> [word.text for word in clf.words(positive="spam", top=1)], clf.words(word="Pills")[0].counts
    (['pills', 'you'], {'spam': 2})
    """
    question.check(reader.classes)
    label, positive, negative, word, top = question
    counts = reader.view.counts
    ids = reader.view.feature_ids() if word is None else find_word(reader.view, analyzer, word)
    if not len(ids):
        return []
    pair: tuple[int, ...] = ()
    if positive is not None and negative is not None:
        pair = counts.label_ids[positive], counts.label_ids[negative]
    else:
        c = Weights.of_ids(reader, ids[:1]).best_class(reader) if label is None else counts.label_ids[label]
    parts = []
    for cells in in_blocks(reader.view, ids, reader.scorer.by_docs):
        weights = Weights(reader, cells)
        if not pair:
            parts.append((cells.ids, weights.against_mean(reader, c)))
            continue
        values = weights.of(pair[0]) - weights.of(pair[1])
        either = np.ones(len(cells.ids), np.bool_)
        if word is None:
            either[:] = False
            either[weights.owner[np.isin(cells.classes, pair) & (cells.counts > 0)]] = True
        parts.append((cells.ids[either], values[either]))
    ids, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return words_of(counts, ids, values, top, both_ends=positive is not None, by_docs=reader.scorer.by_docs)


def words_of(
    counts: Counts, ids: Ids, values: Floats, top: int | None, *, both_ends: bool, by_docs: bool
) -> list[Word]:
    """The words with the highest values, and with `both_ends` those with the lowest; ties by text."""
    best = _first(values, ids, counts.vocabulary, top, both_ends=both_ends)
    ids, values = ids[best], values[best]
    rows = zip(_texts(counts.vocabulary, ids), values.tolist(), counts_of(counts, ids, by_docs), strict=True)
    return [Word(text.decode(), value, found) for text, value, found in rows]


class Weights:
    """What one occurrence of some features adds to scores."""

    def __init__(self, reader: Reader, cells: FeatureCounts) -> None:
        self.scorer = reader.scorer
        self.cells = cells
        self.owner = np.repeat(np.arange(len(cells.ids), dtype=np.int32), cells.lengths)
        self.weight = self.scorer.weights(cells)
        self.shared: Floats = self.scorer.share(cells) if self.scorer.share else np.zeros(len(cells.ids))

    @classmethod
    def of_ids(cls, reader: Reader, ids: Ids) -> Weights:
        """Of a few features."""
        return cls(reader, reader.view.gather(ids, reader.scorer.by_docs))

    def of(self, c: int) -> Floats:
        """To the score of class c, (n_features,)."""
        sparse = np.zeros(len(self.shared))
        mine = self.cells.classes == c
        sparse[self.owner[mine]] = self.weight[mine]
        return np.asarray(self.scorer.scale[c] * (self.scorer.slope[c] + self.shared + sparse))

    def best_class(self, reader: Reader) -> int:
        """The class to whose score the first feature adds most."""
        sparse = np.zeros(len(self.scorer.scale))
        mine = self.owner == 0
        sparse[self.cells.classes[mine]] = self.weight[mine]
        adds = self.scorer.scale * (self.scorer.slope + self.shared[0] + sparse)
        return int(reader.columns[adds[reader.columns].argmax()])

    def against_mean(self, reader: Reader, c: int) -> Floats:
        """To the score of class c, less the mean over the other classes, (n_features,)."""
        others = reader.columns[reader.columns != c]
        if not len(others):
            return self.of(c)
        scale, slope = self.scorer.scale, self.scorer.slope
        # An order-free sum, since ids of classes follow the order of learning; it keeps multiples of 2 ** -50, so
        # scales (of 1e-6 and less under weight normalisation) are brought near 1 first, by a power of two.
        unit = math.ldexp(1.0, math.frexp(float(np.abs(scale[others]).max()))[1])
        is_other = np.zeros(len(scale), np.bool_)
        is_other[others] = True
        theirs = is_other[self.cells.classes]
        scaled = scale[self.cells.classes[theirs]] / unit * self.weight[theirs]
        sparse = unit * exact_sums(scaled, self.owner[theirs], len(self.shared))
        dense = float((scale * slope)[others].sum()) + self.shared * float(scale[others].sum())
        return np.asarray(self.of(c) - (dense + sparse) / len(others))


def _texts(v: Vocabulary, ids: npt.NDArray[Any]) -> list[bytes]:
    """The texts of some features, in UTF-8: bytes sort as the characters do."""
    ids = ids.astype(np.int64)
    text = memoryview(v.text)
    return [bytes(text[a:b]) for a, b in zip(v.starts[ids].tolist(), v.starts[ids + 1].tolist(), strict=True)]


def counts_of(counts: Counts, ids: Ids, by_docs: bool) -> list[dict[Label, int]]:
    """How often some features occur with each label: occurrences, or documents."""
    cells = gather(counts, ids, by_docs)
    names = [counts.labels[c] for c in cells.classes.tolist()]
    pairs = list(zip(names, cells.counts.tolist(), strict=True))
    ends = (cells.starts + cells.lengths).tolist()
    return [dict(sorted(pairs[a:b])) for a, b in zip(cells.starts.tolist(), ends, strict=True)]


def _first(values: Floats, ids: Ids, v: Vocabulary, top: int | None, *, both_ends: bool) -> Integers:
    """Places of the `top` highest values (with `both_ends` of the lowest too), highest first, ties by text."""
    if top is None or top * (2 if both_ends else 1) >= len(values):
        chosen = np.arange(len(values))
    else:
        chosen = _highest(values, ids, v, top)
        if both_ends:
            chosen = np.concatenate([chosen, _highest(-values, ids, v, top, last=True)])
    keys = list(zip((-values[chosen]).tolist(), _texts(v, ids[chosen]), strict=True))
    return chosen[sorted(range(len(keys)), key=keys.__getitem__)]


def _highest(values: Floats, ids: Ids, v: Vocabulary, n: int, *, last: bool = False) -> Integers:
    """Places of the n highest; of equal ones the first by text, or the last."""
    edge = np.partition(values, len(values) - n)[len(values) - n]
    above, tied = np.flatnonzero(values > edge), np.flatnonzero(values == edge)
    n -= len(above)
    if n < len(tied):
        # Words that occur once tie by the hundred thousand: the first eight bytes leave few of them to decode.
        at = ids[tied].astype(np.int64)
        starts, ends = v.starts[at], v.starts[at + 1]
        key = np.zeros(len(tied), np.uint64)
        for j in range(8):
            byte = np.where(starts + j < ends, v.text[np.minimum(starts + j, len(v.text) - 1)], 0)
            key = (key << np.uint64(8)) | byte.astype(np.uint64)
        key = ~key if last else key
        near = tied[key <= np.partition(key, n - 1)[n - 1]]
        texts = _texts(v, ids[near])
        tied = near[sorted(range(len(near)), key=texts.__getitem__, reverse=last)[:n]]
    return np.concatenate([above, tied])


def find(view: View, features: Sequence[str]) -> Integers:
    """Ids of distinct features, -1 where the model does not know one, (n_features,)."""
    counts = view.counts
    found = np.full(len(features), -1, np.int64)
    marks = np.zeros(2 * counts.n_ids, np.uint32)
    for first in range(0, len(features), _BLOCK):
        docs = inputs.given([features[first : first + _BLOCK]])
        size = max(len(docs.data), len(docs.offsets))
        scratch = scratch_for(size)
        ids = np.empty(len(scratch.items.ids), np.uint32)
        alive, keep = counts.postings.doc_total, view.keep
        args = (docs, 0, given_recipe(), scratch, counts.vocabulary, alive, keep, marks, 1, ids)
        n_items, _ = run(scoring.identify, *args)
        places = scratch.items.ids[:n_items].astype(np.int64)
        known = places != MISSING
        found[first : first + n_items][known] = ids[places[known]]
    # As the scorer has it: a feature without a cell is not known.
    found[(found >= 0) & (counts.postings.lengths[found] == 0)] = -1
    return found


def find_word(view: View, analyzer: Analyzer, word: str) -> npt.NDArray[np.uint32]:
    """The id of a feature as it is written, or as the analyzer writes it: the longest one that it finds in the word."""
    ids = find(view, [word])
    if ids[0] < 0:
        ids = find(view, [analyzer.written(word)])
    if ids[0] < 0:
        try:
            written = max((token.text for token in analyzer.features(word)), key=len, default=word)
        except TableError:  # a word is no row of a table
            written = word
        ids = find(view, [analyzer.written(written.strip())])
    return ids[ids >= 0].astype(np.uint32)
