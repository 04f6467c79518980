"""Evaluations → drawings: in a notebook, and as pieces of a page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bunrui.counts import Label
from bunrui.drawing import Axis, Column, Markup, Plane, element, figures, fragment, matrix, table

if TYPE_CHECKING:
    from bunrui.evaluation.curves import LearningCurve
    from bunrui.evaluation.metrics import Metrics
    from bunrui.evaluation.result import Evaluation

__all__ = [
    "MOST_IN_MATRIX",
    "calibration_chart",
    "classes_table",
    "confused",
    "confusion_matrix",
    "evaluation_html",
    "learning_chart",
    "percent",
    "summary",
]

MOST_IN_MATRIX = 25
_MOST_IN_NOTEBOOK = 30
_MANY_ROWS = 30  # from here on, a table scrolls in its box


def percent(share: float) -> str:
    """
    >>> percent(0.98765), percent(1.0)
    ('98.8 %', '100.0 %')
    """
    return f"{100 * share:.1f} %"


def evaluation_html(evaluation: Evaluation) -> str:
    """A piece of a notebook."""
    metrics = evaluation.metrics
    return fragment(
        summary(evaluation),
        confusion_matrix(metrics, confused(metrics)),
        element("div", classes_table(metrics, most=_MOST_IN_NOTEBOOK)),
        calibration_chart(evaluation),
    )


def summary(evaluation: Evaluation) -> Markup:
    """The figures to begin with."""
    metrics, interval = evaluation.metrics, evaluation.interval("accuracy")
    found = [
        ("Accuracy", percent(metrics.accuracy), f"{percent(interval.low)} – {percent(interval.high)}"),
        ("Macro F1", percent(metrics.macro.f1), ""),
        ("Log loss", f"{evaluation.log_loss:.3f}", ""),
        ("Calibration error", percent(evaluation.ece), ""),
    ]
    if not math.isnan(evaluation.roc_auc):
        found.append(
            ("ROC AUC", f"{evaluation.roc_auc:.4f}", "" if evaluation.positive is None else evaluation.positive)
        )
    found.append(("Documents", f"{metrics.n:,}", f"{int((~evaluation.right).sum()):,} wrong"))
    found.append(("Labels", f"{len(metrics.occurring):,}", ""))
    return figures(found)


def confused(metrics: Metrics, most: int = MOST_IN_MATRIX) -> list[str]:
    """The labels that occur, in their order; of many, those with the most mistakes."""
    occurring = metrics.occurring
    if len(occurring) > most:
        n_wrong: Counter[str] = Counter()
        for pair in metrics.pairs:
            if pair.true != pair.predicted:
                n_wrong[pair.true] += pair.doc_count
                n_wrong[pair.predicted] += pair.doc_count
        occurring = frozenset(sorted(occurring, key=lambda name: (-n_wrong[name], name))[:most])
    return [name for name in metrics.labels if name in occurring]


def confusion_matrix(
    metrics: Metrics, labels: Sequence[Label], links: Mapping[tuple[Label, Label], str] | None = None
) -> Markup:
    """The confusion among some labels; `links` are by true and predicted label."""
    place = {name: k for k, name in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for pair in metrics.pairs:
        if pair.true in place and pair.predicted in place:
            counts[place[pair.true], place[pair.predicted]] = pair.doc_count
    by_place = {
        (place[row], place[column]): href
        for (row, column), href in (links or {}).items()
        if row in place and column in place
    }
    of = f"{len(labels)} labels" if len(labels) != 1 else "1 label"
    names = [str(name) for name in labels]
    return matrix(
        names, counts.tolist(), label=f"Confusion matrix of {of}: rows true, columns predicted", links=by_place
    )


def classes_table(
    metrics: Metrics,
    *,
    most: int | None = None,
    more: Mapping[str, Sequence[Any]] | None = None,
    is_sortable: bool = False,
) -> Markup:
    """A row for each label that occurs, and the means below; `more` are two further columns, ROC AUC and precision.

    Of many labels, those with the lowest F1.  Sorting takes the script of a page.
    """
    rows = [one for one in metrics.per_class if one.label in metrics.occurring]
    caption = "Precision, recall and F1 of each label"
    if most is not None and len(rows) > most:
        lowest = sorted(rows, key=lambda one: (one.f1, -one.support, one.label))[:most]
        rows = [one for one in rows if one in lowest]
        caption += f": the {most} of {len(metrics.occurring):,} labels with the lowest F1"
    names = ["label", "precision", "recall", "F1", "documents", *(["ROC AUC", "average precision"] if more else [])]
    columns = [Column(name, is_number=k > 0) for k, name in enumerate(names)]
    cells, values = [], []
    for one in rows:
        extra = list((more or {}).get(one.label, [math.nan, math.nan] if more else []))
        values.append(
            [one.label, one.precision, one.recall, one.f1, one.support, *(-1.0 if math.isnan(v) else v for v in extra)]
        )
        shares = [percent(share) for share in (one.precision, one.recall, one.f1)]
        cells.append([one.label, *shares, f"{one.support:,}", *("–" if math.isnan(v) else f"{v:.4f}" for v in extra)])
    blank = [""] * (len(names) - 5)
    macro, micro = metrics.macro, metrics.micro
    feet = [
        ["macro", *(percent(share) for share in macro[:3]), f"{metrics.n:,}", *blank],
        ["micro", *(percent(share) for share in micro), f"{metrics.n:,}", *blank],
    ]
    return table(
        caption, columns, cells, feet=feet, values=values if is_sortable else None, is_long=len(rows) > _MANY_ROWS
    )


def calibration_chart(evaluation: Evaluation) -> Markup:
    """Accuracy over confidence: on the line, the classifier is as sure as it is right."""
    plane = Plane(Axis.share("confidence"), Axis.share("accuracy"))
    marks = [plane.diagonal()]
    for one in evaluation.reliability:
        words = (
            f"{one.doc_count:,} documents with a confidence of {percent(one.low)} to {percent(one.high)}: "
            f"{percent(one.accuracy)} are right"
        )
        radius = 3 + 9 * math.sqrt(one.doc_count / evaluation.n)
        marks += [plane.column(one.low, one.high, one.accuracy), plane.dot(one.confidence, one.accuracy, words, radius)]
    label = (
        f"Accuracy over confidence in {len(evaluation.reliability)} bins; calibration error {percent(evaluation.ece)}"
    )
    return plane.drawn(label, *marks)


def learning_chart(curve: LearningCurve) -> Markup:
    """Accuracy over the number of learned documents."""
    points = curve.points
    sizes, means, lows, highs = zip(*points, strict=True)
    plane = Plane(Axis.counts("documents learned", sizes), Axis.share("accuracy", min(lows)))
    marks = [plane.band(sizes, lows, highs)] if curve.n_folds > 1 else []
    marks.append(plane.line(sizes, means))
    marks += [
        plane.dot(one.documents, one.accuracy, f"{one.documents:,} documents: {percent(one.accuracy)}")
        for one in points
    ]
    first, last = points[0], points[-1]
    label = (
        f"Accuracy by the number of learned documents: {percent(first.accuracy)} by {first.documents:,}, "
        f"{percent(last.accuracy)} by {last.documents:,}"
    )
    return plane.drawn(label, *marks)
