"""`Comparison`: models and analyzers beside each other, on the same documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import AnalyzerSpec
from bunrui.evaluation.metrics import Metrics
from bunrui.evaluation.uncertainty import Interval, McNemar
from bunrui.selection.settings import analyzer_fields, analyzer_name
from bunrui.selection.sizes import Cost

__all__ = ["Comparison", "Row", "significant"]

_SIGNIFICANT = 0.05


def significant(n_rows: int) -> float:
    """The p below which one of so many rows has lost to the best of them.

    The best was chosen by looking at the same documents, so that any pair may be the one that is tested: 5 % are shared
    by all of them (Bonferroni).  Without that, the best of 33 rows that are equal beats another 19 times of 20.

    >>> significant(2), round(significant(33), 7)
    (0.05, 9.47e-05)
    """
    return _SIGNIFICANT / max(n_rows * (n_rows - 1) // 2, 1)


@dataclass(frozen=True, eq=False, repr=False)
class Row:
    """One model with one analyzer.

    Attributes
    ----------
    model : str
    analyzer : AnalyzerSpec or None
        None for a baseline, which has its own.
    metrics : Metrics
    interval : Interval
        Of the accuracy, by the bootstrap.
    log_loss : float
    right : (n_docs,) bool
        Which documents got a label that they have.
    cost : Cost
        Time and size.
    against_first : McNemar or None
        Documents that only the first row, and only this one labels rightly; None in the first row.
    level : float
        The p of `against_first` below which this row has lost: see `significant`.
    """

    model: str
    analyzer: AnalyzerSpec | None
    metrics: Metrics
    interval: Interval
    log_loss: float
    right: npt.NDArray[np.bool_]
    cost: Cost
    against_first: McNemar | None = None
    level: float = _SIGNIFICANT

    def __repr__(self) -> str:
        return f"<Row: {self.model}, {self.features}, accuracy {self.metrics.accuracy:.3f}>"

    @property
    def features(self) -> str:
        """What it reads, in a word or two."""
        return "TF-IDF" if self.analyzer is None else analyzer_name(self.analyzer)

    @property
    def verdict(self) -> str:
        """Against the first row: `first`, `tied`, or `lost` where chance alone would seldom do that (McNemar)."""
        if self.against_first is None:
            return "first"
        return "lost" if self.against_first.p < self.level else "tied"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the documents, in the types of JSON."""
        against = self.against_first
        return {
            "model": self.model,
            "analyzer": None if self.analyzer is None else analyzer_fields(self.analyzer),
            "accuracy": self.metrics.accuracy,
            "interval": self.interval._asdict(),
            "macro_f1": self.metrics.macro.f1,
            "log_loss": self.log_loss,
            "verdict": self.verdict,
            "against_first": against
            and {
                "only_first": against.only_first,
                "only_this": against.only_second,
                "p": against.p,
                "level": self.level,
            },
            "learn_mb_per_s": self.cost.learn_rate,
            "predict_mb_per_s": self.cost.predict_rate,
            "features": self.cost.size.features,
            "cells": self.cost.size.cells,
        }


@dataclass(frozen=True, repr=False)
class Comparison:
    """Rows from the best accuracy down; of equal ones the better macro F1 first.

    Attributes
    ----------
    rows : tuple of Row
    how : str
        How documents were predicted.
    n_docs : int
        Documents that were predicted.
    skipped : tuple of str
        What could not be measured, and why.
    """

    rows: tuple[Row, ...]
    how: str
    n_docs: int
    skipped: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.rows)} rows, {self.n_docs} documents, {self.how}; first: {self.rows[0]!r}>"

    def _repr_html_(self) -> str:
        from bunrui.views.comparison import comparison_html

        return comparison_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        rows = [row.to_dict() for row in self.rows]
        return {"documents": self.n_docs, "predicted": self.how, "rows": rows, "skipped": list(self.skipped)}
