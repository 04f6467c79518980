"""`Documents`: texts with labels, in the form that everything here takes."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from bunrui.analysis import AnalyzerSpec, analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.analysis.spec import DICTIONARIES
from bunrui.errors import DataError
from bunrui.evaluation.labelled import Labelled
from bunrui.evaluation.membership import membership

__all__ = ["Documents"]

Integers = npt.NDArray[np.int64]


class Documents(Labelled):
    """Documents of two labels or more.

    Attributes
    ----------
    classes : list of labels
        Sorted.

    Examples
    --------
    >>> found = Documents(["pills", "noon", "pills at noon"], ["spam", "ham", ["ham", "spam"]])
    >>> found.classes, found.own.tolist(), found.sizes.tolist()
    (['ham', 'spam'], [[False, True], [True, False], [True, True]], [5, 4, 13])
    """

    def __init__(self, texts: Any, labels: Any) -> None:
        super().__init__(texts, labels)
        self.classes = self.sets.labels
        if len(self.classes) < 2:
            what = f"all documents have the label {self.classes[0]!r}" if self.classes else "there are no documents"
            raise DataError(f"{what}, so that there is nothing to tell apart: give documents of two labels or more")
        self._words: tuple[AnalyzerSpec, Labelled, float] | None = None

    @cached_property
    def own(self) -> npt.NDArray[np.bool_]:
        """Which classes each document has, (n_docs, n_classes)."""
        return membership(self.true, self.classes)

    @cached_property
    def sizes(self) -> Integers:
        """Bytes of UTF-8, (n_docs,)."""
        if not isinstance(self.texts, list):
            return np.asarray(pc.binary_length(self.texts).to_numpy(zero_copy_only=False), np.int64)
        joined = (text if isinstance(text, str) else " ".join(text) for text in self.texts)
        return np.array([len(text.encode()) for text in joined], np.int64)

    def read_by(self, spec: AnalyzerSpec) -> tuple[Labelled, float]:
        """The documents for an analyzer that reads them again and again, and the seconds that were spent before.

        A dictionary takes longer than all the rest: its words are looked up once, and stand in place of the texts.
        Only `nbsvm` and `arow` notice: the order of their sweeps is that of a hash of each document.
        """
        if spec.name not in DICTIONARIES or inputs.is_given(self.texts):
            return self, 0.0
        if self._words is None or self._words[0] != spec:
            features = analyzer_of(spec).features
            started = time.perf_counter()
            words = [[token.text for token in features(text)] for text in inputs.pick(self.texts, np.arange(len(self)))]
            self._words = spec, Labelled(words, self.true), time.perf_counter() - started
        return self._words[1:]
