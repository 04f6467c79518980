"""Results → tables in the terminal."""

from __future__ import annotations

from bunrui.report.labelsets import multilabel_tables
from bunrui.report.metrics import evaluation_tables, metrics_tables

__all__ = ["evaluation_tables", "metrics_tables", "multilabel_tables"]
