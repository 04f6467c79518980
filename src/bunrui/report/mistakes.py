"""The documents that are predicted wrongly: which of them are shown, and why they are wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bunrui.classifier import AnyClassifier
from bunrui.counts import Label
from bunrui.drawing import Markup, element, isolated, joined
from bunrui.errors import BunruiError
from bunrui.evaluation import Evaluation
from bunrui.evaluation.metrics import encoded
from bunrui.rendering import Explanation
from bunrui.report.excerpts import coloured, readable, telling

__all__ = ["Explainer", "Mistake", "Mistakes", "find_mistakes"]

_MOST = 240
_MOST_OF_A_PAIR = 5
_WORST = 12
_LONGEST_EXPLAINED = 50_000  # characters

Pair = tuple[str, str]


class Mistake(NamedTuple):
    """A document that has some labels, and was predicted to have another."""

    row: int
    true: tuple[Label, ...]
    predicted: Label
    given_probability: float
    confidence: float


class Mistakes(NamedTuple):
    """What is shown.

    Attributes
    ----------
    worst : list of Mistake
        Those whose own label is least likely.
    pairs : dict from (true, predicted) to list of Mistake
        The worst of each pair, the most frequent pairs first.
    """

    worst: list[Mistake]
    pairs: dict[Pair, list[Mistake]]

    def links(self) -> dict[Pair, str]:
        """Where the mistakes of a pair stand on the page."""
        return {pair: f"#pair-{k}" for k, pair in enumerate(self.pairs)}


def find_mistakes(evaluation: Evaluation, texts: Sequence[Any] | Mapping[int, Any]) -> Mistakes:
    """Choose the mistakes to be shown, of those whose documents are there.

    Every pair of labels has its worst mistake before another has its second, as long as there is room.

    Examples
    --------
    >>> given = {"true": ["ham"] * 3, "predictions": ["ham", "spam", "spam"], "classes": ["ham", "spam"]}
    >>> evaluation = Evaluation(**given, probabilities=[[0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    >>> [(one.row, one.given_probability) for one in find_mistakes(evaluation, ["a", "b", "c"]).worst]
    [(2, 0.2), (1, 0.3)]
    """
    own = encoded(evaluation.true, "true")
    groups = [tuple(own.labels[k] for k in own.indices[a:b].tolist()) for a, b in pairwise(own.members.tolist())]
    given = evaluation.given_probability
    rows = np.flatnonzero(~evaluation.right)
    by_pair: dict[Pair, list[Mistake]] = defaultdict(list)
    ordered = []
    for row in rows[np.argsort(given[rows], kind="stable")].tolist():
        true, predicted = groups[own.groups[row]], evaluation.predictions[row].item()
        mistake = Mistake(row, true, predicted, float(given[row]), float(evaluation.confidence[row]))
        if isinstance(texts, Mapping) and row not in texts:
            continue
        ordered.append(mistake)
        by_pair[true[0], predicted].append(mistake)
    frequent = sorted(by_pair, key=lambda pair: (-len(by_pair[pair]), pair))
    shown: dict[Pair, list[Mistake]] = {}
    left = _MOST
    for k in range(_MOST_OF_A_PAIR):
        for pair in frequent:
            if k < len(by_pair[pair]) and left:
                shown.setdefault(pair, []).append(by_pair[pair][k])
                left -= 1
    return Mistakes(ordered[:_WORST], shown)


class Explainer:
    """Says why a document was predicted as it was.

    Parameters
    ----------
    classifier : TextClassifier
    is_learned : bool
        Whether it has learned the documents: then each is taken back before it is explained, and learned again.
    """

    def __init__(self, classifier: AnyClassifier | None, *, is_learned: bool) -> None:
        self._clf, self._is_learned = classifier, is_learned

    def __call__(self, document: Any, mistake: Mistake) -> Explanation | None:
        """Why the predicted label, and not the one that the document has; None where that cannot be said."""
        clf = self._clf
        if clf is None or (isinstance(document, str) and len(document) > _LONGEST_EXPLAINED):
            return None
        if not self._is_learned:
            return _explained(clf, document, mistake)
        if clf.needs_documents:
            return None  # it would be trained for each of them
        clf.unlearn([document], [list(mistake.true)])
        try:
            return _explained(clf, document, mistake)
        finally:
            clf.learn([document], [list(mistake.true)])


def _explained(clf: AnyClassifier, document: Any, mistake: Mistake) -> Explanation | None:
    known = set(clf.counts.live_labels)
    if mistake.predicted not in known:
        return None
    against = next((name for name in mistake.true if name in known and name != mistake.predicted), None)
    try:
        return clf.explain(document, label=mistake.predicted, against=against)
    except BunruiError:
        return None  # a document that this model cannot read, such as a row of a table without its columns


def mistake_html(
    mistake: Mistake, document: Any, explanation: Explanation | None, place: str, said: str = "predicted"
) -> Markup:
    """One mistake: its labels with what is said of the second, its text in colours, and the words that said most."""
    labels = [isolated(name) for name in mistake.true]
    where = element("span", " · ", isolated(place), class_="muted") if place else None
    heading = element(
        "p",
        element("span", joined(_between(labels, ", ")), class_="chip against"),
        f" {_share(mistake.given_probability)}, {said} ",
        element("span", isolated(mistake.predicted), class_="chip for"),
        f" {_share(mistake.confidence)}",
        where,
    )
    words = telling(explanation) if explanation is not None else None
    return element("article", heading, coloured(readable(document), explanation), words, class_="mistake")


def _between(pieces: list[Markup], sign: str) -> list[str]:
    return [piece for k, one in enumerate(pieces) for piece in ((sign, one) if k else (one,))]


def _share(probability: float) -> str:
    return "< 0.1 %" if probability < 0.001 else f"{100 * probability:.1f} %"
