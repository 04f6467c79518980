"""What a model takes: time to learn and to predict, and numbers to keep."""

from __future__ import annotations

from typing import Any, NamedTuple

from bunrui.classifier import AnyClassifier
from bunrui.models.view import select
from bunrui.trained.names import MOST_FEATURES

__all__ = ["Cost", "Size", "size_of"]

_FEWEST_BYTES = 100_000


class Size(NamedTuple):
    """Features that a model reads, and the numbers that it keeps of them.

    Of counts these are the cells that are not zero, of a trained model its weights.
    """

    features: int
    cells: int | None


class Cost(NamedTuple):
    """Bytes that were learned and predicted, the seconds that each took, and the size."""

    learned: int
    learning: float
    predicted: int
    predicting: float
    size: Size

    @property
    def learn_rate(self) -> float | None:
        """MB/s; None where there is too little to tell."""
        return _rate(self.learned, self.learning)

    @property
    def predict_rate(self) -> float | None:
        """MB/s; None where there is too little to tell."""
        return _rate(self.predicted, self.predicting)


def _rate(n_bytes: int, seconds: float) -> float | None:
    return n_bytes / 1e6 / max(seconds, 1e-9) if n_bytes >= _FEWEST_BYTES else None


def size_of(model: Any) -> Size:
    """The size of a classifier, or of another model that says it in `size`.

    >>> size_of(TextClassifier("binary", analyzer="words").learn(["a b", "b c"], ["x", "y"]))
    Size(features=3, cells=4)
    """
    if not isinstance(model, AnyClassifier):
        return Size(*model.size)
    counts = model.counts
    if not model.needs_documents:
        view = select(counts, model.min_df, model.max_features)
        return Size(view.n_features, counts.n_cells if not len(view.keep) else None)
    n_classes = len(counts.live_labels)
    if model.model == "aode":
        features = min(counts.n_features, MOST_FEATURES)
        return Size(features, 4 * features**2 * n_classes)
    margins = 1 if n_classes == 2 and model.model != "twcnb" else n_classes
    return Size(counts.n_features, counts.n_features * margins)
