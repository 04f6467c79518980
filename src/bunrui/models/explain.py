"""Why: what every feature of a text adds to the score of a label, placed on the original text.

    value[f] = scale[c] * x[f] * (slope[c] + shared[f] + weight[f, c])  less the same for the class it is held against

    bias + sum of value[f]  =  score[label](d) - score[against](d)

Every counting model is linear (`bunrui.models.scorer`), so this is the score itself, taken apart; nothing is estimated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import distinct, documents_of
from bunrui.counts import Label
from bunrui.errors import DataError, LabelError, Option
from bunrui.kernel import score as scoring
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.models.keywords import Weights, find
from bunrui.models.linear import Reader, probabilities
from bunrui.models.model import Parts, check_label
from bunrui.views.explanation import Contribution, Explanation

__all__ = ["Duel", "Reading", "explain", "hold", "place_on_text", "read"]

Floats = npt.NDArray[np.float64]


class Reading(NamedTuple):
    """Features of a document, as counts write them, in the order of its text.

    `names` has the words that stand for them where that is not the same.
    """

    counts: Mapping[str, int]
    spans: Mapping[str, Sequence[tuple[int, int]]]
    names: Mapping[str, str] = MappingProxyType({})

    def name(self, feature: str) -> str:
        """What people see."""
        return self.names.get(feature, feature)


def read(analyzer: Analyzer, document: Any) -> Reading:
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
    inputs.given([_checked(document)])
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


def _checked(document: Any) -> Any:
    if isinstance(document, (list, tuple, Mapping)):
        return document
    kind = type(document).__name__
    raise DataError(f"the text should be a string, a list of tokens or a mapping from word to count, not {kind}")


def explain(
    reader: Reader,
    analyzer: Analyzer,
    document: Any,
    reading: Reading,
    label: Label | None,
    against: Label | None,
) -> Explanation:
    """Take the score of a label, held against that of another, apart.

    `document` is a string, a list of tokens, or a mapping from word to count, and `reading` what `read` finds in it.
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
    return duel.explanation(
        document, bias, place_on_text(reading, times * values, (ids >= 0) | smooth), reading, ids >= 0
    )


class Duel(NamedTuple):
    """A label, what it is held against, and the scores of all."""

    label: Label
    against: Label | None
    classes: Sequence[Label]
    scores: Floats  # (n_classes,)

    @property
    def names(self) -> list[Label]:
        """The label, and what it is held against, where there is another."""
        return [self.label] if self.against is None else [self.label, self.against]

    def difference(self, parts: Parts) -> tuple[Floats, float]:
        """What each part adds to the score of the label beyond that of the other, and what the bias adds."""
        places = [self.classes.index(name) for name in self.names]
        adds = parts.values[:, places[0]] - parts.values[:, places[1:]].sum(axis=1)
        return adds, float(parts.bias[places[0]] - parts.bias[places[1:]].sum())

    def explanation(
        self,
        document: Any,
        bias: float,
        contributions: tuple[Contribution, ...],
        reading: Reading,
        known: npt.NDArray[np.bool_],
    ) -> Explanation:
        """All of it, as people see it; `known` says which of the features of the document the model knows."""
        shares = probabilities(self.scores[None])[0].tolist()
        score_of = {name: float(self.scores[self.classes.index(name)]) for name in self.names}
        return Explanation(
            label=self.label,
            against=self.against,
            probabilities={self.classes[k]: shares[k] for k in _ranked(self.scores)},
            score=score_of[self.label],
            against_score=None if self.against is None else score_of[self.against],
            bias=bias,
            contributions=contributions,
            unknown=tuple(reading.name(f) for f, is_there in zip(reading.counts, known, strict=True) if not is_there),
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


def place_on_text(reading: Reading, values: Floats, there: npt.NDArray[np.bool_]) -> tuple[Contribution, ...]:
    """What features add, on the text, the largest first; `there` says which of them to list."""
    found = [
        Contribution(reading.name(feature), value, reading.counts[feature], tuple(reading.spans.get(feature, ())))
        for feature, value, shown in zip(reading.counts, values.tolist(), there.tolist(), strict=True)
        if shown
    ]
    return tuple(sorted(found, key=lambda c: (-abs(c.value), c.feature)))


def _values(reader: Reader, ids: npt.NDArray[np.int64], duel: Duel) -> Floats:
    """What one occurrence of each feature adds to the difference of the scores, (n_features,)."""
    counts, scorer = reader.view.counts, reader.scorer
    known = np.flatnonzero(ids >= 0)
    weights = Weights.of_ids(reader, ids[known].astype(np.uint32))
    smooth = bool(reader.linear.reading[scoring.SMOOTH])
    values = np.zeros(len(ids))
    for name, sign in zip(duel.names, (1.0, -1.0), strict=False):
        c = counts.label_ids[name]
        one = np.full(len(ids), scorer.scale[c] * scorer.unseen[c] if smooth else 0.0)
        one[known] = weights.of(c)
        values += sign * one
    return values


def _scores(reader: Reader, analyzer: Analyzer, document: Any) -> Floats:
    """The scores of one document in the order of `reader.classes`, to the bit those of a prediction."""
    if reader.scorer.presence and reader.linear.reading[scoring.SMOOTH]:
        document = distinct(analyzer, [document])[0]
    return _score(reader, *documents_of(analyzer, [document]))[reader.columns]


def _score(reader: Reader, docs: Documents, recipe: Recipe) -> Floats:
    """Scores by class id."""
    longest = max(int(docs.offsets[-1] - docs.offsets[0]), len(docs.offsets))
    scores = reader.score_one(docs, recipe, 0, longest)
    if scores is not None:
        return scores
    out: Floats = np.empty((1, len(reader.view.counts.labels)))
    reader.score_slice(docs, recipe, 0, 1, longest, out)
    return np.asarray(out[0])
