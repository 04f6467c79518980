"""Measures a classifier: metrics, leave-one-out, cross-validation, learning curves, duplicates."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bunrui.evaluation.metrics import (
    ClassMetrics,
    LabelMetrics,
    Macro,
    Metrics,
    Micro,
    MultilabelMetrics,
    Pair,
    Tally,
    measure,
    measure_labels,
)
from bunrui.evaluation.result import Evaluation
from bunrui.evaluation.uncertainty import CorrectedT, Interval, McNemar, bootstrap, corrected_t_test, mcnemar

if TYPE_CHECKING:
    from bunrui.evaluation.crossvalidation import (
        CrossValidation,
        Fold,
        LearningCurve,
        cross_validate,
        folds,
        learning_curve,
    )
    from bunrui.evaluation.duplicates import DuplicateGroup, Duplicates, find_duplicates
    from bunrui.evaluation.loo import Corpus, best_thresholds, leave_one_out, loo_log_odds, loo_scores

__all__ = [
    "ClassMetrics",
    "Corpus",
    "CorrectedT",
    "CrossValidation",
    "DuplicateGroup",
    "Duplicates",
    "Evaluation",
    "Fold",
    "Interval",
    "LabelMetrics",
    "LearningCurve",
    "Macro",
    "McNemar",
    "Metrics",
    "Micro",
    "MultilabelMetrics",
    "Pair",
    "Tally",
    "best_thresholds",
    "bootstrap",
    "corrected_t_test",
    "cross_validate",
    "find_duplicates",
    "folds",
    "learning_curve",
    "leave_one_out",
    "loo_log_odds",
    "loo_scores",
    "mcnemar",
    "measure",
    "measure_labels",
]

# Imported when they are used: measuring labels needs none of them, and the last two import classifiers.
_LATER = ("duplicates", "loo", "crossvalidation")


def __getattr__(name: str) -> Any:
    for home in _LATER if name in __all__ else ():
        module = import_module(f"{__name__}.{home}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
