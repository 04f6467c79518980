"""Why: what every feature of a text adds to the score of a label, placed on the original text.

    value[f] = scale[c] * x[f] * (slope[c] + shared[f] + weight[f, c])  less the same for the class it is held against

    bias + sum of value[f]  =  score[label](d) - score[against](d)

Every text model is linear (`bunrui.models.base`), so this is the score itself, taken apart; nothing is estimated.
The same sum for one occurrence of each word tells which words speak for a label: `telling_words`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import distinct, given_recipe
from bunrui.counts import Counts
from bunrui.errors import DataError, LabelError, OptionError
from bunrui.kernel import score as scoring
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.compile import run
from bunrui.kernel.sums import exact_sums
from bunrui.kernel.vocabulary import MISSING, Vocabulary
from bunrui.kernel.workspace import scratch_for
from bunrui.models.view import gather
from bunrui.prediction import Reader, probabilities
from bunrui.rendering import Contribution, Explanation

__all__ = ["Contribution", "Explanation", "Word", "explain", "telling_words"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Features that are looked up at a time: fewer than there is room for in a scratch.
_BLOCK = 4096


class Word(NamedTuple):
    """A word of the model.

    Attributes
    ----------
    text : str
    weight : float
        What one occurrence adds to the score of a label, less what it adds to the others.
    counts : dict from str to int
        Occurrences by label; documents by label where the model counts documents.
    """

    text: str
    weight: float
    counts: dict[str, int]


def explain(reader: Reader, analyzer: Analyzer, document: Any, label: str | None, against: str | None) -> Explanation:
    """Take the score of a label, held against that of another, apart.

    `document` is a string, a list of tokens, or a mapping from word to count.  The label is by default the one that is
    predicted, and held against the best of the others.
    """
    for name in (label, against):
        if name is not None:
            _check_label(reader, name)
    if against is not None and (label == against or reader.classes == [against]):
        raise LabelError(f"{against!r} cannot be held against itself: name another label")
    reading = _read(analyzer, document)
    scores = _scores(reader, analyzer, document)
    ranked = sorted(range(len(scores)), key=lambda k: -scores[k])
    order = [reader.classes[k] for k in ranked]
    if label is None:
        label = next(name for name in order if name != against)
    if against is None:
        against = next((name for name in order if name != label), None)
    score_of = dict(zip(reader.classes, scores.tolist(), strict=True))
    shares = probabilities(scores[None])[0]
    contributions, unknown = _contributions(reader, reading, label, against)
    ids = [reader.view.counts.label_ids[name] for name in (label, against) if name is not None]
    return Explanation(
        label=label,
        against=against,
        probabilities={reader.classes[k]: float(shares[k]) for k in ranked},
        score=score_of[label],
        against_score=None if against is None else score_of[against],
        bias=float(reader.scorer.bias[ids[0]] - reader.scorer.bias[ids[1:]].sum()),
        contributions=contributions,
        unknown=unknown,
        text=document if isinstance(document, str) else None,
    )


def telling_words(
    reader: Reader,
    analyzer: Analyzer,
    label: str | None,
    positive: str | None,
    negative: str | None,
    word: str | None,
    top: int | None,
) -> list[Word]:
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
    _check_question(reader, label, positive, negative, word, top)
    counts = reader.view.counts
    ids = reader.view.feature_ids() if word is None else _find_word(reader, analyzer, word)
    if not len(ids):
        return []
    weights = _Weights(reader, ids)
    if positive is not None and negative is not None:
        pair = counts.label_ids[positive], counts.label_ids[negative]
        values = weights.of(pair[0]) - weights.of(pair[1])
        if word is None:
            either = np.zeros(len(ids), np.bool_)
            either[weights.owner[np.isin(weights.cells.classes, pair)]] = True
            ids, values = ids[either], values[either]
    else:
        c = weights.best_class(reader) if label is None else counts.label_ids[label]
        values = weights.against_mean(reader, c)
    best = _first(values, ids, counts.vocabulary, top, both_ends=positive is not None)
    ids, values = ids[best], values[best]
    texts = _texts(counts.vocabulary, ids)
    by_label = _counts_of(counts, ids, reader.scorer.by_docs)
    rows = zip(texts, values.tolist(), by_label, strict=True)
    return [Word(text.decode(), value, found) for text, value, found in rows]


# --- the document


class _Reading(NamedTuple):
    """Features of a document in the order of its text."""

    counts: Mapping[str, int]
    spans: Mapping[str, Sequence[tuple[int, int]]]


def _read(analyzer: Analyzer, document: Any) -> _Reading:
    if isinstance(document, str):
        inputs.strings([document])
        spans: dict[str, list[tuple[int, int]]] = {}
        n = len(document)
        for token in analyzer.features(document):
            # A function of the user's may name places outside the text.
            start = min(max(token.start, 0), n)
            spans.setdefault(token.text, []).append((start, min(max(token.end, start), n)))
        tally = {feature: len(places) for feature, places in spans.items()}
        return _Reading(tally, spans)
    inputs.given([_checked(document)])
    if isinstance(document, Mapping):
        tally = {str(word): int(count) for word, count in document.items() if count}
        return _Reading(tally, {})
    tally = Counter(document)
    return _Reading(tally, {})


def _checked(document: Any) -> Any:
    if isinstance(document, (list, tuple, Mapping)):
        return document
    kind = type(document).__name__
    raise DataError(f"the text should be a string, a list of tokens or a mapping from word to count, not {kind}")


def _scores(reader: Reader, analyzer: Analyzer, document: Any) -> Floats:
    """The scores of one document in the order of `reader.classes`, to the bit those of a prediction."""
    if reader.scorer.presence and reader.linear.reading[scoring.SMOOTH]:
        document = distinct(analyzer, [document])[0]
    if not isinstance(document, str):
        return _score(reader, inputs.given([document]), given_recipe())[reader.columns]
    scores = _score(reader, analyzer.documents(inputs.strings([document])), analyzer.recipe)
    if not len(scores):
        scores = _score(reader, *analyzer.refold([document]))
    return scores[reader.columns]


def _score(reader: Reader, docs: Documents, recipe: Recipe) -> Floats:
    """Scores by class id; none if the document must be folded in Python first."""
    longest = max(int(docs.offsets[-1] - docs.offsets[0]), len(docs.offsets))
    scores = reader.score_one(docs, recipe, 0, longest)
    if scores is not None:
        return scores
    out = np.empty((1, len(reader.view.counts.labels)))
    hard = reader.score_slice(docs, recipe, 0, 1, longest, out)
    return out[0, :0] if len(hard) else out[0]


def _contributions(
    reader: Reader, reading: _Reading, label: str, against: str | None
) -> tuple[tuple[Contribution, ...], tuple[str, ...]]:
    """What every feature adds, and the features that are not known."""
    counts, scorer = reader.view.counts, reader.scorer
    features = list(reading.counts)
    ids = _find(reader, features)
    known = np.flatnonzero(ids >= 0)
    weights = _Weights(reader, ids[known].astype(np.uint32))
    smooth = bool(reader.linear.reading[scoring.SMOOTH])
    values = np.zeros(len(features))
    for name, sign in ((label, 1.0), (against, -1.0)):
        if name is not None:
            c = counts.label_ids[name]
            unseen = scorer.scale[c] * scorer.unseen[c] if smooth else 0.0
            one = np.full(len(features), unseen)
            one[known] = weights.of(c)
            values += sign * one
    found = []
    for k, feature in enumerate(features):
        if ids[k] < 0 and not smooth:
            continue
        count = reading.counts[feature]
        times = 1 if scorer.presence else count
        found.append(Contribution(feature, times * float(values[k]), count, tuple(reading.spans.get(feature, ()))))
    found.sort(key=lambda c: (-abs(c.value), c.feature))
    return tuple(found), tuple(feature for k, feature in enumerate(features) if ids[k] < 0)


# --- the model


class _Weights:
    """What one occurrence of some features adds to scores."""

    def __init__(self, reader: Reader, ids: npt.NDArray[np.uint32]) -> None:
        self.scorer = reader.scorer
        self.cells = gather(reader.view.counts, ids, self.scorer.by_docs)
        self.owner = np.repeat(np.arange(len(ids), dtype=np.int32), self.cells.lengths)
        self.weight = self.scorer.weigh(self.cells)
        self.shared: Floats = self.scorer.share(self.cells) if self.scorer.share else np.zeros(len(ids))

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
        theirs = self.cells.classes != c
        scaled = scale[self.cells.classes[theirs]] / unit * self.weight[theirs]
        sparse = unit * exact_sums(scaled, self.owner[theirs], len(self.shared))
        dense = float((scale * slope)[others].sum()) + self.shared * float(scale[others].sum())
        return np.asarray(self.of(c) - (dense + sparse) / len(others))


def _find(reader: Reader, features: Sequence[str]) -> Integers:
    """Ids of distinct features, -1 where the model does not know one, (n_features,)."""
    counts = reader.view.counts
    found = np.full(len(features), -1, np.int64)
    marks = np.zeros(2 * counts.n_ids, np.uint32)
    for first in range(0, len(features), _BLOCK):
        docs = inputs.given([features[first : first + _BLOCK]])
        size = max(len(docs.data), len(docs.offsets))
        scratch = scratch_for(size)
        ids = np.empty(len(scratch.items.ids), np.uint32)
        alive, keep = counts.postings.doc_total, reader.view.keep
        args = (docs, 0, given_recipe(), scratch, counts.vocabulary, alive, keep, marks, 1, ids)
        n_items, _ = run(scoring.identify, *args, work=size)
        places = scratch.items.ids[:n_items].astype(np.int64)
        known = places != MISSING
        found[first : first + n_items][known] = ids[places[known]]
    # As the scorer has it: a feature without a cell is not known.
    found[(found >= 0) & (counts.postings.lengths[found] == 0)] = -1
    return found


def _find_word(reader: Reader, analyzer: Analyzer, word: str) -> npt.NDArray[np.uint32]:
    """The id of a feature as it is written, or as the analyzer writes it: the longest one that it finds in the word."""
    written = max((token.text for token in analyzer.features(word)), key=len, default=word)
    for text in (word, written.strip()):
        ids = _find(reader, [text])
        if ids[0] >= 0:
            return ids.astype(np.uint32)
    return np.empty(0, np.uint32)


def _texts(v: Vocabulary, ids: npt.NDArray[Any]) -> list[bytes]:
    """The texts of some features, in UTF-8: bytes sort as the characters do."""
    ids = ids.astype(np.int64)
    text = memoryview(v.text)
    return [bytes(text[a:b]) for a, b in zip(v.starts[ids].tolist(), v.starts[ids + 1].tolist(), strict=True)]


def _counts_of(counts: Counts, ids: npt.NDArray[np.uint32], by_docs: bool) -> list[dict[str, int]]:
    cells = gather(counts, ids, by_docs)
    names = [counts.labels[c] for c in cells.classes.tolist()]
    pairs = list(zip(names, cells.counts.tolist(), strict=True))
    ends = (cells.starts + cells.lengths).tolist()
    return [dict(sorted(pairs[a:b])) for a, b in zip(cells.starts.tolist(), ends, strict=True)]


# --- the highest, without decoding the rest


def _first(values: Floats, ids: npt.NDArray[np.uint32], v: Vocabulary, top: int | None, *, both_ends: bool) -> Integers:
    """Places of the `top` highest values (with `both_ends` of the lowest too), highest first, ties by text."""
    if top is None or top * (2 if both_ends else 1) >= len(values):
        chosen = np.arange(len(values))
    else:
        chosen = _highest(values, ids, v, top)
        if both_ends:
            chosen = np.concatenate([chosen, _highest(-values, ids, v, top, last=True)])
    keys = list(zip((-values[chosen]).tolist(), _texts(v, ids[chosen]), strict=True))
    return chosen[sorted(range(len(keys)), key=keys.__getitem__)]


def _highest(values: Floats, ids: npt.NDArray[np.uint32], v: Vocabulary, n: int, *, last: bool = False) -> Integers:
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


# --- questions that make no sense


def _check_label(reader: Reader, label: Any) -> None:
    if label not in reader.classes:
        names = ", ".join(reader.classes[:20]) + (", …" if len(reader.classes) > 20 else "")
        raise LabelError(f"there is no label {label!r}: the labels are {names}")


def _check_question(reader: Reader, label: Any, positive: Any, negative: Any, word: Any, top: Any) -> None:
    for name in (label, positive, negative):
        if name is not None:
            _check_label(reader, name)
    if label is not None and positive is not None:
        raise OptionError("words of a label, or of positive=... against negative=...: not both at once")
    if (positive is None) != (negative is None):
        raise OptionError("positive=... and negative=... belong together: name both")
    if positive is not None and positive == negative:
        raise LabelError(f"{positive!r} cannot be held against itself: name another label")
    if label is None and positive is None and word is None:
        raise OptionError(f"whose words? Name a label, for example words({reader.classes[0]!r})")
    if top is not None and (isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1):
        raise OptionError(f"top should be a whole number, at least 1, or None for all, not {top!r}")
