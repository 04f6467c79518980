"""`calibrate`: how sure may an answer be?  Found on the classifier's own documents, each left out."""

from __future__ import annotations

import dataclasses
from typing import Any

from bunrui.calibration import Calibration, digest_of, fit_calibration, lengths_of
from bunrui.choice import FEWEST
from bunrui.classifier import AnyClassifier
from bunrui.errors import DataError, OptionError
from bunrui.evaluation.crossvalidation import score_left_out


def calibrate(clf: AnyClassifier, texts: Any = None, labels: Any = None) -> Calibration:
    """Calibrate a classifier: `predict_proba` then gives calibrated probabilities.

    Parameters
    ----------
    clf : TextClassifier
        A classifier file keeps the calibration; `undo` takes it back.
    texts, labels
        The learned documents; by default those in the classifier file.

    Raises
    ------
    OptionError
        If texts without a label count: leaving a document out does not say what the model with them would answer.

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
    check_reads_no_pool(clf)
    tx = getattr(clf, "last_change", 0)
    documents, scores = score_left_out(clf, texts, labels)
    if len(documents.classes) < 2:
        raise DataError("all documents have the same label: there is nothing to calibrate", cause="one-label")
    fitted = fit_calibration(scores, lengths_of(documents.texts), documents.own)
    return dataclasses.replace(
        fitted, model=clf.effective_options["model"], options=digest_of(clf.effective_settings), tx=tx
    )


def check_reads_no_pool(clf: AnyClassifier) -> None:
    """Refuse to calibrate a classifier that answers with the help of texts without a label."""
    if clf.pool_weight is None or not clf.pool_weight.weight:
        return
    stands = "it is calibrated with them already" if clf.is_calibrated else "with the model auto, it calibrates itself"
    raise OptionError(
        "texts without a label help this classifier, and calibrating would measure it without them",
        hint=(
            f"leave it as it is: {stands}, by the folds that chose their weight, from {FEWEST} documents on; or take "
            "all texts without a label back first ('bunrui forget FILE --unlabelled', or unlearn_unlabelled())"
        ),
        cause="pool-helps",
    )
