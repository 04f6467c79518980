"""Decisions about documents: models, settings, calibration, suspicious labels, similar documents, the next to label."""

# Each function has the name of its module.  All are imported here, so that the package has the functions, not the
# modules, under these names.
from bunrui.calibration import fit_calibration
from bunrui.selection.audit import Audit, Conflict, Suspect, audit
from bunrui.selection.calibrate import calibrate, calibration_for
from bunrui.selection.compare import Comparison, compare
from bunrui.selection.queue import Estimate, Question, Queue, queue
from bunrui.selection.settings import Settings
from bunrui.selection.tune import Tuning, tune

__all__ = [
    "Audit",
    "Comparison",
    "Conflict",
    "Estimate",
    "Question",
    "Queue",
    "Settings",
    "Suspect",
    "Tuning",
    "audit",
    "calibrate",
    "calibration_for",
    "compare",
    "fit_calibration",
    "queue",
    "tune",
]
