"""`Model`: what a classifier asks, whether the answer comes from a formula of counts or from training on documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.counts import Label
from bunrui.memory import Memory

if TYPE_CHECKING:
    from bunrui.models.linear import Reader
    from bunrui.models.words import Word
    from bunrui.rendering import Explanation

__all__ = ["Best", "Kind", "Model", "Options", "best_of"]

Floats = npt.NDArray[np.float64]
Options = Mapping[str, Any]
"""The options of a classifier by name."""


class Best(NamedTuple):
    """The best classes of documents."""

    classes: list[Label]
    dtype: str  # of an array of labels: as wide as the longest of all, so that arrays of two calls can be joined
    places: npt.NDArray[np.int64]  # (n_docs, k) in `classes`, best first; ties by place
    scores: Floats  # (n_docs, k)

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The labels themselves, (n_docs, k)."""
        if len(self.classes) <= self.places.size:
            return np.asarray(np.array(self.classes, self.dtype)[self.places])
        found = [self.classes[place] for place in self.places.reshape(-1).tolist()]
        return np.array(found, self.dtype).reshape(self.places.shape)


class Model(Protocol):
    """The answers of one model with its options, always from what its memory has learned by now.

    Answers come with the classes of their columns: another thread may learn a class at any time.
    """

    def scores(self, texts: Any) -> tuple[list[Label], Floats]:
        """Classes, and scores (n_docs, n_classes)."""

    def best(self, texts: Any, k: int) -> Best:
        """The k best classes of every text, or all where there are fewer."""

    def label_odds(self, texts: Any) -> tuple[list[Label], Floats]:
        """Labels, and the log-odds of each against the rest, (n_docs, n_classes)."""

    def explain(self, text: Any, label: Label | None, against: Label | None) -> Explanation:
        """What every feature of a text adds to the score of a label, held against that of another."""

    def words(
        self, label: Label | None, positive: Label | None, negative: Label | None, word: str | None, top: int | None
    ) -> list[Word]:
        """The words that speak for a label."""

    def export(self, make: Callable[[Reader], Any]) -> Any:
        """A fitted scikit-learn pipeline; `make` makes it of a linear reader."""


class Kind(Protocol):
    """A member of the family: a line in the table of models."""

    @property
    def needs_documents(self) -> bool:
        """Whether counts are not enough: the model is trained from documents."""

    def check(self, options: Options) -> None:
        """Refuse options that the model does not take."""

    def default_alpha(self, *, class_norm: bool = False) -> float:
        """λ where the user names none."""

    def model(self, options: Options, analyzer: Analyzer, memory: Memory) -> Model:
        """The model with some options, of what a memory has learned."""


def best_of(scores: Floats, k: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Places of the k highest scores of every row, highest first, ties by place, (n_rows, k); the scores."""
    if k == 1:
        places = scores.argmax(axis=1)[:, None]
    else:
        places = (-scores).argsort(axis=1, kind="stable")[:, :k]
    return places, np.take_along_axis(scores, places, axis=1)
