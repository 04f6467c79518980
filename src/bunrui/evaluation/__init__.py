"""How well a classifier does: labels → numbers."""

from __future__ import annotations

from bunrui.evaluation.metrics import ClassMetrics, Macro, Metrics, Micro, Pair, Tally, measure

__all__ = ["ClassMetrics", "Macro", "Metrics", "Micro", "Pair", "Tally", "measure"]
