"""Results → tables in the terminal, and pages of HTML."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bunrui.report.labelsets import multilabel_tables
from bunrui.report.metrics import evaluation_tables, metrics_tables

if TYPE_CHECKING:
    from bunrui.report.audit import audit_page
    from bunrui.report.comparison import comparison_page
    from bunrui.report.evaluation import evaluation_page

__all__ = [
    "audit_page",
    "comparison_page",
    "evaluation_page",
    "evaluation_tables",
    "metrics_tables",
    "multilabel_tables",
]

_HOMES = {"audit_page": "audit", "comparison_page": "comparison", "evaluation_page": "evaluation"}


def __getattr__(name: str) -> Any:
    # Imported when they are used: tables need no classifier.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
