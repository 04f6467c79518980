"""Choices that are made from labelled documents: models, settings, calibration, labels to look at again."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bunrui.selection.auditing import Audit, Conflict, Suspect, audit
    from bunrui.selection.calibration import calibrate, calibration_for, fit_calibration
    from bunrui.selection.comparing import compare
    from bunrui.selection.comparison import Comparison
    from bunrui.selection.settings import Settings
    from bunrui.selection.tuning import Tuning, tune

__all__ = [
    "Audit",
    "Comparison",
    "Conflict",
    "Settings",
    "Suspect",
    "Tuning",
    "audit",
    "calibrate",
    "calibration_for",
    "compare",
    "fit_calibration",
    "tune",
]

_HOMES = {
    "Audit": "auditing",
    "Comparison": "comparison",
    "Conflict": "auditing",
    "Settings": "settings",
    "Suspect": "auditing",
    "Tuning": "tuning",
    "audit": "auditing",
    "calibrate": "calibration",
    "calibration_for": "calibration",
    "compare": "comparing",
    "fit_calibration": "calibration",
    "tune": "tuning",
}


def __getattr__(name: str) -> Any:
    # Imported when they are used: each needs little of the rest.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
