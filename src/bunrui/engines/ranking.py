"""`rank`: scores → the answer of a classifier; and how many documents are scored at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Ranking", "at_once", "rank", "slices"]

# Documents are scored so many at a time that their scores take at most this many numbers.
_MOST_SCORES = 1 << 22


def at_once(n_classes: int) -> int:
    """How many documents are scored at once.

    >>> at_once(2), at_once(10_000_000)
    (2097152, 1)
    """
    return max(1, _MOST_SCORES // max(n_classes, 1))


def slices(texts: Any, n_classes: int, most_bytes: int) -> Iterator[Any]:
    """Texts in parts to score one after the other; a part in Arrow has one text, or at most so many bytes."""
    import numpy as np

    from bunrui.analysis.texts import buffers

    most = at_once(n_classes)
    if isinstance(texts, list):
        yield from (texts[k : k + most] for k in range(0, len(texts), most))
        return
    offsets = buffers(texts).offsets
    start = 0
    while start < len(texts):
        fits = int(np.searchsorted(offsets, offsets[start] + most_bytes, side="right")) - 1
        end = min(max(fits, start + 1), start + most, len(texts))
        yield texts[start:end]
        start = end


class Ranking(NamedTuple):
    """The answer of a classifier for some documents; columns are its classes at that moment."""

    classes: list[Any]
    scores: npt.NDArray[np.float64]  # (n_docs, n_classes)
    probabilities: npt.NDArray[np.float64]  # (n_docs, n_classes)
    best: npt.NDArray[np.int64]  # (n_docs,)

    @property
    def confidence(self) -> npt.NDArray[np.float64]:
        """The probability of the best class of each document: (n_docs,)."""
        import numpy as np

        found: npt.NDArray[np.float64] = self.probabilities[np.arange(len(self.best)), self.best]
        return found

    def top(self, n: int) -> npt.NDArray[np.int64]:
        """The best classes of each document, the best first: (n_docs, n)."""
        ranked: npt.NDArray[np.int64] = (-self.scores).argsort(axis=1, kind="stable")[:, :n]
        return ranked


def rank(classifier: Any, texts: Any) -> Ranking:
    """Score documents, and find their best classes.

    >>> from bunrui import TextClassifier
    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> ranking = rank(clf, ["pills", "noon"])
    >>> [ranking.classes[k] for k in ranking.best], ranking.top(2).tolist()
    (['spam', 'ham'], [[1, 0], [0, 1]])
    """
    # With the classes of this moment: another thread may learn a new one at any time.
    classes, scores = classifier.labelled_scores(texts)
    return Ranking(classes, scores, classifier.probabilities_of(scores, texts), scores.argmax(axis=1))
