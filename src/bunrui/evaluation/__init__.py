"""How well a classifier does: labels and probabilities → numbers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bunrui.evaluation.metrics import ClassMetrics, Macro, Metrics, Micro, Pair, Tally, measure

if TYPE_CHECKING:
    from bunrui.evaluation.crossing import CrossValidation, cross_validate
    from bunrui.evaluation.duplicates import DuplicateGroup, Duplicates, find_duplicates
    from bunrui.evaluation.folding import Fold, folds
    from bunrui.evaluation.learning import LearningCurve, learning_curve
    from bunrui.evaluation.loo import Corpus, leave_one_out, loo_log_odds, loo_scores
    from bunrui.evaluation.multilabel import LabelMetrics, MultilabelMetrics, measure_labels
    from bunrui.evaluation.result import Evaluation
    from bunrui.evaluation.uncertainty import CorrectedT, Interval, McNemar, bootstrap, corrected_t_test, mcnemar

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

_HOMES = {
    "Corpus": "loo",
    "CorrectedT": "uncertainty",
    "CrossValidation": "crossing",
    "DuplicateGroup": "duplicates",
    "Duplicates": "duplicates",
    "Evaluation": "result",
    "Fold": "folding",
    "Interval": "uncertainty",
    "LabelMetrics": "multilabel",
    "LearningCurve": "learning",
    "McNemar": "uncertainty",
    "MultilabelMetrics": "multilabel",
    "bootstrap": "uncertainty",
    "corrected_t_test": "uncertainty",
    "cross_validate": "crossing",
    "find_duplicates": "duplicates",
    "folds": "folding",
    "learning_curve": "learning",
    "leave_one_out": "loo",
    "loo_log_odds": "loo",
    "loo_scores": "loo",
    "mcnemar": "uncertainty",
    "measure_labels": "multilabel",
}


def __getattr__(name: str) -> Any:
    # Imported when they are used: measuring labels needs none of the rest.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
