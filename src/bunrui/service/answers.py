"""Scores → predictions, as JSON and as Arrow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic_core import to_json

from bunrui.analysis import texts as inputs
from bunrui.analysis.token import normalise
from bunrui.classifier import AnyClassifier
from bunrui.models.explain import check_pair, hold
from bunrui.service.arrow import write_stream
from bunrui.service.problems import Problem

__all__ = ["Predictions", "explain", "predict", "slices"]

# Documents are scored so many at a time that their scores take at most this many numbers, and their texts this many
# bytes: who waits to write, and all who ask after that, wait for one slice.
_MOST_SCORES = 1 << 22
_MOST_BYTES = 4 << 20

_MOST_SHARES = 1_000_000
"""Labels with probabilities in one answer."""

# Characters, when they are folded, whose words are explained.  100,000 took 1.6 s of Python, in which everything else
# is slow; 100,000 times U+FDFA, which is 18 characters, took 3.4.
_MOST_EXPLAINED = 20_000


class Predictions(NamedTuple):
    """In the order of the texts; `top` are the best labels of each, with their probabilities."""

    labels: list[str]
    probabilities: list[float]
    top: list[list[tuple[str, float]]] | None

    def to_json(self) -> bytes:
        """As the service answers."""
        members: dict[str, Any] = {"labels": self.labels, "probabilities": self.probabilities}
        if self.top is not None:
            members["top"] = [[{"label": k, "probability": p} for k, p in best] for best in self.top]
        return to_json(members)

    def to_arrow(self) -> bytes:
        """A stream with the columns label and probability, and probabilities where the best were asked for."""
        columns = {
            "label": pa.array(self.labels, pa.string()),
            "probability": pa.array(self.probabilities, pa.float64()),
        }
        if self.top is not None:
            columns["probabilities"] = pa.array(self.top, pa.map_(pa.string(), pa.float64()))
        return write_stream(pa.table(columns))


def predict(classifier: AnyClassifier, texts: Any, top: int | None) -> Predictions:
    """The best label of each text.

    What is learned meanwhile may count for the last of many texts, and not for the first.

    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> predict(clf, ["pills", "noon"], None).labels
    ['spam', 'ham']
    """
    n_classes = len(classifier.counts.labels)
    if top is not None and len(texts) * min(top, n_classes) > _MOST_SHARES:
        raise Problem("too-large", f"an answer has at most {_MOST_SHARES:,} labels: ask for fewer, or send fewer texts")
    answer = Predictions([], [], None if top is None else [])
    for part in slices(texts, n_classes):
        # With the classes of this moment: another thread may learn a new one at any time.
        classes, scores = classifier.labelled_scores(part)
        shares = classifier.probabilities_of(scores, part)
        best = scores.argmax(axis=1)
        answer.labels.extend([classes[k] for k in best.tolist()])
        answer.probabilities.extend(shares[np.arange(len(best)), best].tolist())
        if answer.top is not None:
            ranked = (-scores).argsort(axis=1, kind="stable")[:, :top]
            rows = zip(ranked.tolist(), np.take_along_axis(shares, ranked, axis=1).tolist(), strict=True)
            answer.top.extend([[(classes[k], p) for k, p in zip(*row, strict=True)] for row in rows])
    return answer


def explain(classifier: AnyClassifier, text: str, label: str | None, against: str | None) -> dict[str, Any]:
    """Why a label: what each word adds, of a long text those in its beginning, and what the rest adds in one number.

    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> long = explain(clf, "pills " + "noon " * 4000, None, None)
    >>> len(long["text"]), long["left_out"]
    (20000, 6)
    """
    beginning = _beginning(text)
    if beginning == text:
        return classifier.explain(text, label=label, against=against).to_dict() | {"left_out": 0, "rest": 0.0}
    if getattr(classifier.text_analyzer, "reads_rows", False):
        raise Problem("too-large", f"a row is explained up to {_MOST_EXPLAINED:,} characters: leave columns out")
    classes, scores = classifier.labelled_scores([text])
    check_pair(classes, label, against)
    duel = hold(classes, scores[0], label, against)
    found = classifier.explain(beginning, label=duel.label, against=duel.against)
    shares = classifier.probabilities_of(scores, [text])[0].tolist()
    score_of = dict(zip(classes, scores[0].tolist(), strict=True))
    whole = replace(
        found,
        probabilities={classes[k]: shares[k] for k in np.argsort(-scores[0], kind="stable").tolist()},
        score=score_of[duel.label],
        against_score=None if duel.against is None else score_of[duel.against],
    )
    rest = whole.difference - whole.bias - math.fsum(one.value for one in found.contributions)
    return whole.to_dict() | {"left_out": len(text) - len(beginning), "rest": rest}


def _beginning(text: str) -> str:
    """As much of a text as is explained."""
    sizes = accumulate(len(normalise(c)) for c in text[:_MOST_EXPLAINED])
    return text[: sum(size <= _MOST_EXPLAINED for size in sizes)]


def slices(texts: Any, n_classes: int) -> Iterator[Any]:
    """Texts in parts that are scored one after the other."""
    most = max(1, _MOST_SCORES // max(n_classes, 1))
    if isinstance(texts, list):
        yield from (texts[k : k + most] for k in range(0, len(texts), most))
        return
    offsets = inputs.buffers(texts).offsets
    start = 0
    while start < len(texts):
        fits = int(np.searchsorted(offsets, offsets[start] + _MOST_BYTES, side="right")) - 1
        end = min(max(fits, start + 1), start + most, len(texts))
        yield texts[start:end]
        start = end
