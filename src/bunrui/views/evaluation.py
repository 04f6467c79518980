"""Evaluations: tables for the terminal; figures, tables and diagrams for reports, notebooks and the page.

Tables of the terminal fit the width they are given: labels are cut first, then names of columns, then the bars go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.bar import Bar
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text

from bunrui.labels import text_of
from bunrui.phrases import counted, percent
from bunrui.views.charts import Axis, Plane
from bunrui.views.confusion import Confusion, label_width
from bunrui.views.markup import Markup, Phrase, element, fit, fragment, isolated, joined
from bunrui.views.tables import Column, Table, figures, numbers, words

if TYPE_CHECKING:
    from bunrui.counts import Label
    from bunrui.evaluation import Evaluation, Interval, LearningCurve, Metrics, MultilabelMetrics
    from bunrui.evaluation.crossvalidation import CurvePoint
    from bunrui.evaluation.scores import Ranking

_LONGEST_LABEL = 24
_BAR = 8
_MOST_ROWS = 100  # of a table in the terminal: labels of many documents come first
_NARROW = 72  # below it, columns have short names and there are no bars
_MOST_IN_NOTEBOOK = 30
_MOST_ON_PAGE = 500
_MANY_ROWS = 30  # from here on, a table of HTML scrolls in its box

_ACCURACY = Phrase("accuracy", "evaluate.accuracy")
_CONFIDENCE = Phrase("confidence", "evaluate.confidence")
_DOCUMENTS = Phrase("documents", "evaluate.documents")
_LEARNED = Phrase("documents learned", "evaluate.documents")
_LABEL = Phrase("label", "words.label")
_PRECISION, _RECALL = Phrase("precision", "evaluate.precision"), Phrase("recall", "evaluate.recall")
_F1 = Phrase("F1", "evaluate.f1.short")


# --- the terminal


def metrics_tables(metrics: Metrics) -> Group:
    """A headline, a table of the classes, and the confusion.

    Examples
    --------
    >>> from rich.console import Console
    >>> from bunrui.evaluation import measure
    >>> tables = metrics_tables(measure(["ham", "ham", "spam"], ["ham", "spam", "spam"]))
    >>> Console(width=60, color_system=None).print(tables.renderables[0])
    accuracy 0.667 of 3 documents
    micro F1 0.667 · macro F1 0.667
    labels one against the rest: mean accuracy 0.667
    """
    return Group(_headline(metrics), "", _Classes(metrics), "", Confusion(metrics))


def evaluation_tables(evaluation: Evaluation) -> Group:
    """The same, with the interval of the accuracy, and how good the probabilities are.

    Examples
    --------
    >>> from rich.console import Console, Group
    >>> from bunrui.evaluation import Evaluation
    >>> tables = evaluation_tables(
    ...     Evaluation(
    ...         true=["ham", "ham", "spam"],
    ...         predictions=["ham", "spam", "spam"],
    ...         probabilities=[[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]],
    ...         classes=["ham", "spam"],
    ...     )
    ... )
    >>> Console(width=60, color_system=None).print(Group(*tables.renderables[:2]))
    accuracy 0.667 (95 % interval 0.000–1.000) of 3 documents
    micro F1 0.667 · macro F1 0.667
    labels one against the rest: mean accuracy 0.667
    log loss 0.459 · Brier score 0.307 · calibration error 0.333
    ROC AUC 1.000 · average precision 1.000
    """
    metrics = evaluation.metrics
    headline = _headline(metrics, evaluation.interval("accuracy"))
    return Group(headline, _probabilities(evaluation), *metrics_tables(metrics).renderables[1:])


def multilabel_tables(metrics: MultilabelMetrics) -> Group:
    """A headline, and a table of the labels.

    Examples
    --------
    >>> from rich.console import Console
    >>> from bunrui.evaluation import measure_labels
    >>> tables = multilabel_tables(measure_labels([{"a"}, {"a", "b"}], [{"a"}, {"b"}]))
    >>> Console(width=60, color_system=None).print(tables.renderables[0])
    micro F1 0.800 · macro F1 0.833 · example F1 0.833
    2 documents · all labels right 0.500 · Hamming loss 0.250
    """
    headline = Text.assemble(
        (f"micro F1 {metrics.micro.f1:.3f} · macro F1 {metrics.macro.f1:.3f}", "bold"),
        f" · example F1 {metrics.example.f1:.3f}\n",
        f"{counted(metrics.n, 'document')} · all labels right {metrics.subset_accuracy:.3f}",
        f" · Hamming loss {metrics.hamming_loss:.3f}",
    )

    def row(name: str, shares: Sequence[float], support: int) -> list[str]:
        return [name, *(f"{share:.3f}" for share in shares), f"{support:,}"]

    table = Table(
        [*words("label"), *numbers("precision", "recall", "F1", "support")],
        [row(fit(label, _LONGEST_LABEL), shares, support) for label, *shares, support in metrics.per_label],
        feet=[row(name, getattr(metrics, name), metrics.n) for name in ("micro", "macro", "example")],
        styles={k: "dim" for k, one in enumerate(metrics.per_label) if not one.support},
    )
    return Group(headline, "", table)


def sets_table(plain: MultilabelMetrics, best: MultilabelMetrics) -> Table:
    """How well label sets are predicted: with the same threshold for all labels, and with the best of each."""
    both = plain, best
    rows = [
        [Phrase("F1, all labels together", "sets.micro"), *(percent(found.micro.f1) for found in both)],
        [Phrase("F1, mean of the labels", "evaluate.f1"), *(percent(found.macro.f1) for found in both)],
        [Phrase("F1, mean of the documents", "sets.example"), *(percent(found.example.f1) for found in both)],
        [Phrase("All labels right", "sets.subset"), *(percent(found.subset_accuracy) for found in both)],
        [Phrase("Hamming loss", "sets.hamming"), *(f"{found.hamming_loss:.4f}" for found in both)],
    ]
    names = Phrase("Threshold 0", "sets.plain"), Phrase("Best threshold of each label", "sets.best")
    return Table([*words(""), *numbers(*names)], rows, caption=Phrase("Label sets", "sets.about"))


def set_labels_table(metrics: MultilabelMetrics, thresholds: Mapping[Label, float]) -> Table:
    """The labels of sets, with their thresholds; of many, those with the lowest F1."""
    known = {one.label: thresholds.get(one.label, 0.0) for one in metrics.per_label}
    return _labels_table(metrics.per_label, _MOST_ON_PAGE, {Phrase("Threshold", "sets.threshold"): known}, digits=2)


def _headline(metrics: Metrics, interval: Interval | None = None) -> Text:
    sure = f" ({100 * interval.level:g} % interval {interval.low:.3f}–{interval.high:.3f})" if interval else ""
    return Text.assemble(
        (f"accuracy {metrics.accuracy:.3f}", "bold"),
        f"{sure} of {counted(metrics.n, 'document')}",
        f"\nmicro F1 {metrics.micro.f1:.3f} · macro F1 {metrics.macro.f1:.3f}",
        f"\nlabels one against the rest: mean accuracy {metrics.overall_accuracy:.3f}",
    )


def _probabilities(evaluation: Evaluation) -> Text:
    text = Text.assemble(
        (f"log loss {evaluation.log_loss:.3f}", "bold"),
        f" · Brier score {evaluation.brier:.3f} · ",
        (f"calibration error {evaluation.ece:.3f}", "bold"),
    )
    rankings = (("ROC AUC", evaluation.roc_auc), ("average precision", evaluation.average_precision))
    # Where all documents have one label there is nothing to rank.
    defined = [f"{name} {value:.3f}" for name, value in rankings if not math.isnan(value)]
    if defined:
        text.append("\n" + " · ".join(defined))
    if evaluation.positive is not None and len(defined) == len(rankings):
        found = [f"1 − ROCA {evaluation.one_minus_roca_percent:.4f} %"]
        for rate, recall in evaluation.recall_by_fpr.items():
            found.append(f"recall {recall:.3f} at {100 * rate:g} % false positives")
        text.append(f"\n{fit(evaluation.positive, _LONGEST_LABEL)}: {' · '.join(found)}")
    return text


class _Classes(NamedTuple):
    """A row for each class, and the means below."""

    metrics: Metrics

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        metrics = self.metrics
        wide = options.max_width >= _NARROW
        names = ["precision", "recall", "F1", "accuracy", "support"] if wide else ["prec.", "rec.", "F1", "acc.", "n"]
        widths = [max(5, len(name)) for name in names[:-1]] + [max(len(names[-1]), len(f"{metrics.n:,}"))]
        gap = 2 if wide else 1
        rest = sum(widths) + gap * len(widths) + (gap + _BAR) * wide
        width = label_width((*metrics.labels, "F of means"), options.max_width - rest)
        columns = [Column("label", is_number=False, width=width)]
        columns += [Column(name, width=size) for name, size in zip(names, widths, strict=True)]
        if wide:
            columns.insert(4, Column("", is_number=False, width=_BAR))

        def row(name: str, values: Sequence[float | None], support: int | None) -> list[Any]:
            cells: list[Any] = ["" if value is None else f"{value:.3f}" for value in values]
            if wide:
                cells.insert(3, Bar(1, 0, values[2] or 0, width=_BAR, color="green"))
            return [name, *cells, "" if support is None else f"{support:,}"]

        by_size = sorted(metrics.per_class, key=lambda one: (-one.support, one.label))
        largest = {one.label for one in by_size[:_MOST_ROWS]}
        listed = [one for one in metrics.per_class if one.label in largest]
        rows = [row(fit(label, width), shares, support) for label, *shares, support in listed]
        styles = {k: "dim" for k, one in enumerate(listed) if one.label not in metrics.occurring}
        if len(listed) < len(metrics.labels):
            styles[len(rows)] = "dim"
            rows.append([f"… {len(metrics.labels) - len(listed):,} more", *[""] * (len(columns) - 1)])
        feet = [
            row("micro", [*metrics.micro, None], metrics.n),
            row("macro", [*metrics.macro[:3], metrics.overall_accuracy], metrics.n),
            row("F of means", [None, None, metrics.macro.f1_of_means, None], None),
        ]
        yield Table(columns, rows, feet=feet, styles=styles, gap=gap)


# --- HTML


def evaluation_html(evaluation: Evaluation) -> str:
    """A piece of a notebook."""
    metrics = evaluation.metrics
    table = classes_table(metrics, most=_MOST_IN_NOTEBOOK).to_html()
    return fragment(summary(evaluation), Confusion(metrics).to_svg(), table, calibration_chart(evaluation))


def page_parts(evaluation: Evaluation) -> dict[str, Any]:
    """The pieces that the page of the service shows.

    All cells of its matrix can be pressed: `results.js` reads their places among the labels from their addresses.
    """
    found = Confusion(evaluation.metrics)
    places = list(enumerate(found.labels))
    links = {(true, predicted): f"#{i}-{j}" for i, true in places for j, predicted in places}
    n, n_all = len(found.labels), len(evaluation.metrics.occurring)
    note = Phrase(f"Shown are the {n} of {n_all:,} labels with the most mistakes.", "evaluate.most", n=n, all=n_all)
    matrix = element("div", found.to_svg(links), class_="scroll")
    return {
        "summary": summary(evaluation),
        "labels": found.labels,
        "confusion": joined((matrix, element("p", note, class_="muted") if n < n_all else None)),
        "classes": classes_table(evaluation.metrics, most=_MOST_ON_PAGE, is_sortable=True).to_html(),
        "calibration": joined((calibration_chart(evaluation), _behind(bins_table(evaluation)))),
    }


def curve_html(curve: LearningCurve) -> Markup:
    """The learning curve as the page of the service shows it."""
    return joined((learning_chart(curve.points, has_band=curve.n_folds > 1), _behind(curve_table(curve))))


def _behind(table: Table) -> Markup:
    return element("details", element("summary", Phrase("As numbers", "evaluate.numbers")), table.to_html())


def summary(evaluation: Evaluation) -> Markup:
    """The figures to begin with."""
    metrics, interval = evaluation.metrics, evaluation.interval("accuracy")
    n_wrong = int((~evaluation.right).sum())
    sure = f"{percent(interval.low)} – {percent(interval.high)}"
    found: list[tuple[str, str, str]] = [
        (Phrase("Accuracy", "evaluate.accuracy"), percent(metrics.accuracy), sure),
        (Phrase("Macro F1", "evaluate.f1"), percent(metrics.macro.f1), ""),
        (Phrase("Log loss", "compare.loss"), f"{evaluation.log_loss:.3f}", ""),
        (Phrase("Calibration error", "evaluate.ece"), percent(evaluation.ece), ""),
    ]
    if not math.isnan(evaluation.roc_auc):
        of = "" if evaluation.positive is None else text_of(evaluation.positive)
        found.append(("ROC AUC", f"{evaluation.roc_auc:.4f}", of))
    wrong = Phrase(f"{n_wrong:,} wrong", "evaluate.wrong", n=n_wrong)
    found.append((Phrase("Documents", "evaluate.n"), f"{metrics.n:,}", wrong))
    found.append((Phrase("Labels", "evaluate.labels"), f"{len(metrics.occurring):,}", ""))
    return figures(found)


def classes_table(
    metrics: Metrics, *, most: int | None = None, rankings: Sequence[Ranking] = (), is_sortable: bool = False
) -> Table:
    """A row for each label that occurs, and the means below; of many labels, those with the lowest F1.

    With `rankings`, two more columns.  Sorting takes the script of a page.
    """
    every = [one for one in metrics.per_class if one.label in metrics.occurring]
    areas = {"ROC AUC": "roc_auc", "average precision": "average_precision"} if rankings else {}
    more = {name: {one.label: getattr(one, field) for one in rankings} for name, field in areas.items()}
    table = _labels_table(every, most, more)
    means = (("macro", metrics.macro[:3]), ("micro", metrics.micro))
    feet = [[name, *map(percent, shares), f"{metrics.n:,}", *[""] * len(more)] for name, shares in means]
    caption = table.caption
    if len(table.rows) < len(every):
        caption = f"{caption}: the {most} of {len(every):,} labels with the lowest F1"
    return replace(table, caption=caption, feet=feet, values=table.values if is_sortable else None)


def _labels_table(
    every: Sequence[Any], most: int | None, more: Mapping[str, Mapping[Label, float]], digits: int = 4
) -> Table:
    """The labels with the lowest F1, of equal ones those with more documents, in their order; `more` has columns."""
    order = sorted(range(len(every)), key=lambda k: (every[k].f1, -every[k].support))
    cells, values = [], []
    for one in (every[k] for k in sorted(order[:most])):
        shares, others = (
            (one.precision, one.recall, one.f1),
            [column.get(one.label, math.nan) for column in more.values()],
        )
        values.append([one.label, *shares, one.support, *(-1.0 if math.isnan(value) else value for value in others)])
        written = ("–" if math.isnan(value) else f"{value:.{digits}f}" for value in others)
        cells.append([one.label, *map(percent, shares), f"{one.support:,}", *written])
    columns = [*words(_LABEL), *numbers(_PRECISION, _RECALL, _F1, _DOCUMENTS, *more)]
    caption = Phrase("Precision, recall and F1 of each label", "evaluate.classes.about")
    return Table(columns, cells, caption=caption, values=values, is_long=len(cells) > _MANY_ROWS)


def calibration_chart(evaluation: Evaluation) -> Markup:
    """Accuracy over confidence: on the line, the classifier is as sure as it is right."""
    plane = Plane(Axis.share(_CONFIDENCE), Axis.share(_ACCURACY))
    marks = [plane.diagonal()]
    for one in evaluation.reliability:
        ends = {"low": percent(one.low), "high": percent(one.high), "accuracy": percent(one.accuracy)}
        about = f"{counted(one.doc_count, 'document')} with a confidence of {ends['low']} to {ends['high']}"
        title = Phrase(f"{about}: {ends['accuracy']} are right", "evaluate.bin", n=one.doc_count, **ends)
        radius = 3 + 9 * math.sqrt(one.doc_count / evaluation.n)
        marks += [plane.column(one.low, one.high, one.accuracy), plane.dot(one.confidence, one.accuracy, title, radius)]
    about = f"Accuracy over confidence in {counted(len(evaluation.reliability), 'bin')}"
    return plane.draw(Phrase(f"{about}; calibration error {percent(evaluation.ece)}", "evaluate.reliability"), *marks)


def bins_table(evaluation: Evaluation) -> Table:
    """The numbers of the calibration chart."""
    rows = [
        [f"{100 * low:.0f} – {100 * high:.0f} %", percent(confidence), percent(accuracy), f"{doc_count:,}"]
        for low, high, confidence, accuracy, doc_count in evaluation.reliability
    ]
    columns = [*words(_CONFIDENCE), *numbers(Phrase("mean", "evaluate.mean"), _ACCURACY, _DOCUMENTS)]
    return Table(columns, rows, caption=Phrase("Accuracy by confidence", "evaluate.reliability"))


def learning_chart(points: Sequence[CurvePoint], *, has_band: bool) -> Markup:
    """Accuracy over the number of learned documents, with a band from lowest to highest."""
    sizes, means, lows, highs = zip(*points, strict=True)
    plane = Plane(Axis.counts(_LEARNED, sizes), Axis.share(_ACCURACY, min(lows)))
    marks = [plane.band(sizes, lows, highs)] if has_band else []
    marks.append(plane.line(sizes, means))
    for one in points:
        accuracy = percent(one.accuracy)
        title = Phrase(f"{one.documents:,} documents: {accuracy}", "evaluate.point", n=one.documents, accuracy=accuracy)
        marks.append(plane.dot(one.documents, one.accuracy, title))
    first, last = points[0], points[-1]
    about = (
        f"Accuracy by the number of learned documents: {percent(first.accuracy)} by {first.documents:,}, "
        f"{percent(last.accuracy)} by {last.documents:,}"
    )
    return plane.draw(Phrase(about, "evaluate.curve"), *marks)


def curve_table(curve: LearningCurve) -> Table:
    """The numbers of the learning curve."""
    ends = Phrase("lowest", "evaluate.lowest"), Phrase("highest", "evaluate.highest")
    columns = numbers(_LEARNED, _ACCURACY, *ends)
    rows = [[f"{one.documents:,}", *map(percent, one[1:])] for one in curve.points]
    return Table(columns, rows, caption=Phrase("Accuracy by learned documents", "evaluate.curve"))


def rankings_html(rankings: Sequence[Ranking], chosen: Label) -> Markup:
    """ROC and precision-recall curves of each label against the rest, one of which stands out, and the choice of it."""
    roc = Plane(Axis.share("false positives"), Axis.share("true positives"))
    ranked = Plane(Axis.share("recall"), Axis.share("precision"))
    options, told = [], []
    lines: list[tuple[Markup, Markup]] = []
    for k, one in enumerate(rankings):
        areas = f"ROC AUC {one.roc_auc:.4f}, average precision {one.average_precision:.4f}"
        is_chosen = one.label == chosen
        options.append(element("option", one.label, value=k, selected=is_chosen))
        told.append(element("p", isolated(one.label), f": {areas}", data_told=k, hidden=not is_chosen))
        look = {"class_": "curve chosen" if is_chosen else "curve", "stroke_opacity": None if is_chosen else "0.3"}
        precision, recall, _ = one.precision_recall
        lines.append(
            (roc.line(*one.roc[:2], data_curve=k, **look), ranked.line(recall, precision, data_curve=k, **look))
        )
    lines.sort(key=lambda both: "chosen" in both[0])  # on top of the others
    curves, steps = (element("g", *drawn) for drawn in zip(*lines, strict=True))
    choice = element("label", "Label ", element("select", *options, class_="curves"), class_="choice", hidden=True)
    of = counted(len(rankings), "label")
    charts = (
        ("ROC", roc.draw(f"ROC curves of {of}", roc.diagonal(), curves)),
        ("Precision and recall", ranked.draw(f"Precision over recall of {of}", steps)),
    )
    pair = element("div", *(element("div", element("h3", name), chart) for name, chart in charts), class_="pair")
    return element("div", choice, *told, pair)
