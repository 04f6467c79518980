"""What a document holds: features with their places, and which of them a model knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import given_recipe
from bunrui.counts import Label
from bunrui.errors import DataError, LabelError, TableError
from bunrui.kernel import score as scoring
from bunrui.kernel.library import run
from bunrui.kernel.vocabulary import MISSING
from bunrui.kernel.workspace import scratch_for
from bunrui.models.view import View
from bunrui.phrases import some

__all__ = ["Reading", "check_label", "find", "find_word", "read"]

Integers = npt.NDArray[np.int64]

# Features that are looked up at a time: fewer than there is room for in a scratch.
_BLOCK = 4096


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


def check_label(classes: Sequence[Label], label: Any) -> None:
    """Refuse a label that is not there."""
    if label not in classes:
        raise LabelError(f"there is no label {label!r}: the labels are {some(classes)}")
