"""`calibrate`: how sure may an answer be?  Found on the classifier's own documents, each left out."""

from __future__ import annotations

import dataclasses
from typing import Any

from bunrui.calibration import Calibration, digest_of, fit_calibration, lengths_of
from bunrui.classifier import AnyClassifier
from bunrui.errors import DataError
from bunrui.evaluation.crossvalidation import score_left_out

__all__ = ["calibrate", "calibration_for"]


def calibrate(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> Calibration:
    """Calibrate a classifier: `predict_proba` then gives calibrated probabilities.

    Parameters
    ----------
    clf : TextClassifier
        A classifier file keeps the calibration; `undo` takes it back.
    texts, labels
        The learned documents; by default those in the classifier file.

    Examples
    --------
    >>> from bunrui import TextClassifier
    >>> texts = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"] * 5
    >>> clf = TextClassifier().learn(texts, ["spam", "spam", "ham", "ham"] * 5)
    >>> before = clf.predict_proba(["pills at noon"]).max()
    >>> calibration = calibrate(clf, texts, ["spam", "spam", "ham", "ham"] * 5)
    >>> calibration.n_docs, clf.is_calibrated
    (20, True)
    """
    calibration = calibration_for(clf, texts, labels)
    clf.set_calibration(calibration)
    return calibration


def calibration_for(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> Calibration:
    """The calibration of a classifier, which does not change; see `calibrate`."""
    tx = getattr(clf, "last_change", 0)
    found = score_left_out(clf, texts, labels)
    if len(found.classes) < 2:
        raise DataError("all documents have the same label: there is nothing to calibrate")
    fitted = fit_calibration(found.scores, lengths_of(found.texts), found.own)
    return dataclasses.replace(
        fitted, model=clf.effective_options["model"], options=digest_of(clf.effective_settings), tx=tx
    )
