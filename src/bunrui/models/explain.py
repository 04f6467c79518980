"""Why: the share of every feature of a text in the score of a label, and the words that speak for a label.

    value[f] = scale[c] * x[f] * (slope[c] + shared[f] + weight[f, c])  less the same for the class it is held against

    bias + sum of value[f]  =  score[label](d) - score[against](d)

Every counting model is linear (`bunrui.models.scorer`), so this is the score itself, taken apart; nothing is estimated.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import distinct, documents_of
from bunrui.counts import Counts, Label
from bunrui.errors import DataError, LabelError, Option, TableError
from bunrui.kernel import score as scoring
from bunrui.kernel.arithmetic import exact_sums
from bunrui.kernel.vocabulary import Vocabulary
from bunrui.models.linear import Reader, probabilities
from bunrui.models.model import Parts, WordQuestion, check_label
from bunrui.models.view import FeatureCounts, View, gather, in_blocks
from bunrui.sparse import Booleans, Floats, Integers
from bunrui.views.explanation import Contribution, Explanation

Ids = npt.NDArray[np.uint32]
Weigh = Callable[[FeatureCounts], Any]
"""The weights of cells: `Weights`, or `DenseWeights`."""


# One text


class Reading(NamedTuple):
    """Features of a document, as counts write them, in the order of its text.

    `names` has the words that stand for them where that is not the same.
    """

    counts: Mapping[str, int]
    spans: Mapping[str, Sequence[tuple[int, int]]]
    names: Mapping[str, str] = MappingProxyType({})

    def contributions(self, values: Floats, shown: Booleans) -> Iterator[Contribution]:
        """The values of the features that are shown, with their places in the text."""
        for (feature, count), value in compress(zip(self.counts.items(), values.tolist(), strict=True), shown):
            places = tuple(self.spans.get(feature, ()))
            yield Contribution(self.names.get(feature, feature), value, count, places)

    def unknown(self, known: Booleans) -> tuple[str, ...]:
        """The features that a model does not know."""
        return tuple(self.names.get(feature, feature) for feature in compress(self.counts, ~known))


def read(analyzer: Analyzer, document: Any) -> Reading:
    """The features of a string, a list of tokens, or a mapping from word to count."""
    if isinstance(document, str):
        inputs.strings([document])
        spans: dict[str, list[tuple[int, int]]] = {}
        n = len(document)
        tokens = analyzer.features(document)
        names = _names(analyzer, [token.text for token in tokens])
        for token in tokens:
            # A function of the user's may name places outside the text.
            start = min(max(token.start, 0), n)
            spans.setdefault(analyzer.written(token.text), []).append((start, min(max(token.end, start), n)))
        return Reading({feature: len(places) for feature, places in spans.items()}, spans, names)
    if not isinstance(document, (list, tuple, Mapping)):
        kind = type(document).__name__
        raise DataError(f"the text should be a string, a list of tokens or a mapping from word to count, not {kind}")
    inputs.given([document])  # for its checks
    counts = document if isinstance(document, Mapping) else Counter(document)
    tally: Counter[str] = Counter()
    for word, count in counts.items():
        if count:
            tally[analyzer.written(str(word))] += int(count)
    return Reading(tally, {}, _names(analyzer, [str(word) for word, count in counts.items() if count]))


def _names(analyzer: Analyzer, words: Sequence[str]) -> dict[str, str]:
    """The words of each feature that is written in another way; of several, all."""
    found: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        if analyzer.written(word) != word:
            found.setdefault(analyzer.written(word), []).append(word)
    return {feature: " | ".join(several) for feature, several in found.items()}


def explain(
    reader: Reader, analyzer: Analyzer, document: Any, reading: Reading, label: Label | None, against: Label | None
) -> Explanation:
    """Take the difference between the scores of two labels apart.

    `document` is a string, a list of tokens, or a mapping from word to count; `read` has made the `reading` of it.
    The label is by default the one that is predicted, and held against the best of the others.
    """
    duel = hold(reader.classes, _scores(reader, analyzer, document), label, against)
    features = list(reading.counts)
    ids = find(reader.view, features)
    values = _values(reader, ids, duel)
    times = np.ones(len(features)) if reader.scorer.presence else np.array(list(reading.counts.values()), np.float64)
    smooth = bool(reader.linear.reading[scoring.SMOOTH])
    class_ids = [reader.view.counts.label_ids[name] for name in duel.names]
    bias = float(reader.scorer.bias[class_ids[0]] - reader.scorer.bias[class_ids[1:]].sum())
    contributions = reading.contributions(times * values, (ids >= 0) | smooth)
    return duel.explanation(document, bias, contributions, reading.unknown(ids >= 0))


class Duel(NamedTuple):
    """A label, the label that it is held against, and the scores of all."""

    label: Label
    against: Label | None
    classes: Sequence[Label]
    scores: Floats  # (n_classes,)

    @property
    def names(self) -> list[Label]:
        """The label, and the one that it is held against, where there is another."""
        return [self.label] if self.against is None else [self.label, self.against]

    def difference(self, parts: Parts) -> tuple[Floats, float]:
        """The parts of the score of the label less those of the other, and the same for the bias."""
        places = [self.classes.index(name) for name in self.names]
        adds = parts.values[:, places[0]] - parts.values[:, places[1:]].sum(axis=1)
        return adds, float(parts.bias[places[0]] - parts.bias[places[1:]].sum())

    def explanation(
        self, document: Any, bias: float, contributions: Iterable[Contribution], unknown: tuple[str, ...]
    ) -> Explanation:
        """All of it, as people see it: the largest contributions first, and the features that the model lacks."""
        shares = probabilities(self.scores[None])[0].tolist()
        score_of = {name: float(self.scores[self.classes.index(name)]) for name in self.names}
        return Explanation(
            label=self.label,
            against=self.against,
            probabilities={self.classes[k]: shares[k] for k in _ranked(self.scores)},
            score=score_of[self.label],
            against_score=None if self.against is None else score_of[self.against],
            bias=bias,
            contributions=tuple(sorted(contributions, key=lambda c: (-abs(c.value), c.feature))),
            unknown=unknown,
            text=document if isinstance(document, str) else None,
        )


def hold(classes: Sequence[Label], scores: Floats, label: Label | None, against: Label | None) -> Duel:
    """The label, by default the best one, against another, by default the best of the others.

    Raises
    ------
    LabelError
        If a label is not there, or held against itself.
    """
    for name in (label, against):
        if name is not None:
            check_label(classes, name)
    if against is not None and (label == against or list(classes) == [against]):
        hint = "name another label with ", Option("against")
        raise LabelError(f"{against!r} cannot be held against itself", option="against", hint=hint)

    # As the classes have them: who asks may have np.int64(1).
    label, against = (None if name is None else classes[classes.index(name)] for name in (label, against))
    order = [classes[k] for k in _ranked(scores)[:3]]
    if label is None:
        label = next(name for name in order if name != against)
    if against is None:
        against = next((name for name in order if name != label), None)
    return Duel(label, against, classes, scores)


def _ranked(scores: Floats) -> list[int]:
    """Places of scores, the highest first; ties by place."""
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def _values(reader: Reader, ids: npt.NDArray[np.int64], duel: Duel) -> Floats:
    """The weight of each feature: one occurrence adds it to the difference of the scores, (n_features,)."""
    counts, scorer = reader.view.counts, reader.scorer
    known = np.flatnonzero(ids >= 0)
    weights = Weights(reader, reader.view.gather(ids[known].astype(np.uint32), scorer.by_docs))
    smooth = bool(reader.linear.reading[scoring.SMOOTH])
    values = np.zeros(len(ids))
    for name, sign in zip(duel.names, (1.0, -1.0), strict=False):
        c = counts.label_ids[name]
        one = np.full(len(ids), scorer.scale[c] * scorer.unseen[c] if smooth else 0.0)
        one[known] = weights.of(name)
        values += sign * one
    return values


def _scores(reader: Reader, analyzer: Analyzer, document: Any) -> Floats:
    """The scores of one document in the order of `reader.classes`, to the bit as in a prediction."""
    if reader.scorer.presence and reader.linear.reading[scoring.SMOOTH]:
        document = distinct(analyzer, [document])[0]
    return np.asarray(reader.scores(*documents_of(analyzer, [document]))[0, reader.columns])


# Words of the model


class Word(NamedTuple):
    """A word of the model.

    Attributes
    ----------
    text : str
    weight : float
        The share of one occurrence in the score of a label, less its share in the others.
    counts : dict from label to int
        Occurrences by label; documents by label where the model counts documents.
    """

    text: str
    weight: float
    counts: dict[Label, int]


class Words(list[Word]):
    """Words of a model; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        from bunrui.views.tables import words_html

        return words_html(self)


def telling_words(view: View, ids: Ids, question: WordQuestion, by_docs: bool, weigh: Weigh) -> list[Word]:
    """The words that speak for a label: what one occurrence adds to its score, less the mean of the others.

    With `positive` and `negative`, the difference of the two for all words that occur with either, `top` from both ends
    of the list.  With `word`, that word alone (without a label, for the one to whose score it adds most); no word, if
    it was never learned.  The highest come first, words with equal weights by their text.

    `ids` are the features to choose from, and `weigh` gives the weights of some of them.

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
    label, positive, negative, word, top = question
    if not len(ids):
        return []
    if label is None and positive is None:
        label = weigh(view.gather(ids[:1], by_docs)).best_label()
    parts = []
    for cells in in_blocks(view, ids, by_docs):
        weights = weigh(cells)
        if positive is None or negative is None:
            parts.append((cells.ids, weights.against_mean(label)))
            continue
        values, either = weights.of(positive) - weights.of(negative), np.ones(len(cells.ids), np.bool_)
        if word is None:
            pair = [view.counts.label_ids[name] for name in (positive, negative)]
            either[:] = False
            either[cells.spread(np.arange(len(cells.ids)))[np.isin(cells.classes, pair) & (cells.counts > 0)]] = True
        parts.append((cells.ids[either], values[either]))
    ids, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    best = _first(values, ids, view.counts.vocabulary, top, both_ends=positive is not None)
    ids, values = ids[best], values[best]
    texts, counts = _texts(view.counts.vocabulary, ids), counts_of(view.counts, ids, by_docs)
    rows = zip(texts, values.tolist(), counts, strict=True)
    return [Word(text.decode(), value, found) for text, value, found in rows]


class Weights:
    """The weights of some features: one occurrence adds them to scores."""

    def __init__(self, reader: Reader, cells: FeatureCounts) -> None:
        self.reader, self.scorer = reader, reader.scorer
        self.cells = cells
        self.owner = cells.spread(np.arange(len(cells.ids), dtype=np.int32))
        self.weight = self.scorer.weights(cells)
        self.shared: Floats = self.scorer.share(cells) if self.scorer.share else np.zeros(len(cells.ids))

    def of(self, label: Label) -> Floats:
        """To the score of a label, (n_features,)."""
        c = self.reader.view.counts.label_ids[label]
        sparse = np.zeros(len(self.shared))
        mine = self.cells.classes == c
        sparse[self.owner[mine]] = self.weight[mine]
        return np.asarray(self.scorer.scale[c] * (self.scorer.slope[c] + self.shared + sparse))

    def best_label(self) -> Label:
        """The label to whose score the first feature adds most."""
        sparse = np.zeros(len(self.scorer.scale))
        mine = self.owner == 0
        sparse[self.cells.classes[mine]] = self.weight[mine]
        adds = self.scorer.scale * (self.scorer.slope + self.shared[0] + sparse)
        return self.reader.classes[int(adds[self.reader.columns].argmax())]

    def against_mean(self, label: Label) -> Floats:
        """To the score of a label, less the mean over the other labels, (n_features,)."""
        columns = self.reader.columns
        others = columns[columns != self.reader.view.counts.label_ids[label]]
        if not len(others):
            return self.of(label)
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
        return np.asarray(self.of(label) - (dense + sparse) / len(others))


class DenseWeights(NamedTuple):
    """The same from a table, (n_features, n_classes)."""

    table: Floats
    classes: Sequence[Label]

    def of(self, label: Label) -> Floats:
        return self.table[:, self.classes.index(label)]

    def best_label(self) -> Label:
        return self.classes[int(self.table[0].argmax())]

    def against_mean(self, label: Label) -> Floats:
        others = np.delete(self.table, self.classes.index(label), axis=1)
        return self.of(label) - (others.mean(axis=1) if others.shape[1] else 0.0)


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
    ids = np.array(view.counts.ids_of(features), np.int64)
    p = view.counts.postings
    # As the scorer has it: a feature without a document, or without a cell, is not known.
    known = (ids >= 0) & (p.doc_total[ids] > 0) & (p.lengths[ids] > 0)
    if len(view.keep):
        known &= view.keep[ids] > 0
    return np.where(known, ids, -1)


def find_word(view: View, analyzer: Analyzer, word: str) -> npt.NDArray[np.uint32]:
    """The id of a feature as it is written, or as the analyzer writes it: the longest one that it finds in the word."""
    inputs.strings([word])  # for its checks
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
