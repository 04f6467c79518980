"""ROC and precision-recall curves of each label against the rest, one of which is chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bunrui.counts import Label
from bunrui.drawing import Axis, Markup, Plane, element, isolated
from bunrui.evaluation import Evaluation
from bunrui.evaluation.scores import PrecisionRecall, Roc

__all__ = ["Ranking", "rankings_html", "rankings_of"]


class Ranking(NamedTuple):
    """The curves of a label, and the areas below them."""

    label: Label
    roc: Roc
    precision_recall: PrecisionRecall

    @property
    def roc_auc(self) -> float:
        return float(np.trapezoid(self.roc.tpr, self.roc.fpr))

    @property
    def average_precision(self) -> float:
        curve = self.precision_recall
        return float(-(np.diff(curve.recall) * curve.precision[:-1]).sum())


def rankings_of(evaluation: Evaluation, labels: list[Label]) -> list[Ranking]:
    """The curves of those labels that some documents have, and others have not."""
    found = (Ranking(name, evaluation.roc_curve(name), evaluation.precision_recall_curve(name)) for name in labels)
    return [one for one in found if not np.isnan(one.roc.fpr).any() and not np.isnan(one.roc.tpr).any()]


def rankings_html(rankings: list[Ranking], chosen: Label) -> Markup:
    """Two diagrams with all curves, one of which stands out, and the choice of it."""
    options, told = [], []
    for k, one in enumerate(rankings):
        areas = f"ROC AUC {one.roc_auc:.4f}, average precision {one.average_precision:.4f}"
        is_chosen = one.label == chosen
        options.append(element("option", one.label, value=k, selected=is_chosen))
        told.append(element("p", isolated(one.label), f": {areas}", data_told=k, hidden=not is_chosen))
    choice = element("label", "Label ", element("select", *options, class_="curves"), class_="choice", hidden=True)
    percents = "false positives", "true positives"
    roc, ranked = Plane(*map(Axis.share, percents)), Plane(Axis.share("recall"), Axis.share("precision"))
    curves = [(one.roc.fpr, one.roc.tpr) for one in rankings]
    steps = [(one.precision_recall.recall, one.precision_recall.precision) for one in rankings]
    names = [one.label for one in rankings]
    n_labels = "1 label" if len(names) == 1 else f"{len(names)} labels"
    return element(
        "div",
        choice,
        *told,
        element(
            "div",
            _figure("ROC", roc, curves, names, chosen, f"ROC curves of {n_labels}", roc.diagonal()),
            _figure("Precision and recall", ranked, steps, names, chosen, f"Precision over recall of {n_labels}"),
            class_="pair",
        ),
    )


def _figure(
    heading: str,
    plane: Plane,
    curves: list[tuple[np.ndarray, np.ndarray]],
    names: list[Label],
    chosen: Label,
    label: str,
    *marks: Markup,
) -> Markup:
    lines = [
        plane.line(
            xs,
            ys,
            class_="curve chosen" if name == chosen else "curve",
            data_curve=k,
            stroke_opacity=None if name == chosen else "0.3",
        )
        for k, ((xs, ys), name) in enumerate(zip(curves, names, strict=True))
    ]
    lines.sort(key=lambda line: "chosen" in line)  # on top of the others
    return element("div", element("h3", heading), plane.drawn(label, *marks, element("g", *lines)))
