"""A comparison → one page of HTML."""

from __future__ import annotations

from collections.abc import Iterable

from bunrui.drawing import element, joined, page, section
from bunrui.report.evaluation import facts_html
from bunrui.selection import Comparison
from bunrui.selection.drawn import comparison_chart, comparison_table
from bunrui.selection.tables import LEGEND

__all__ = ["comparison_page"]


def comparison_page(
    comparison: Comparison, *, title: str = "Models compared", facts: Iterable[tuple[str, str]] = ()
) -> str:
    """A page of HTML that needs nothing else: the accuracy of each model with its interval, and all figures.

    Parameters
    ----------
    comparison : Comparison
    title : str
    facts : iterable of (str, str)
        What was compared: names and values.
    """
    legend = joined(element("p", line, class_="muted") for line in LEGEND.splitlines())
    skipped = joined(element("p", f"Left out: {reason}", class_="muted") for reason in comparison.skipped)
    known = [("Documents", f"{comparison.n_docs:,}"), ("Predicted", comparison.how)]
    chart = element("div", comparison_chart(comparison), class_="models scroll")
    sections = [
        section("accuracy", "Accuracy", chart, note="With the 95 % interval of the bootstrap; the best comes first."),
        section(
            "figures",
            "Figures",
            element("div", comparison_table(comparison, is_sortable=True), class_="whole"),
            legend,
            skipped,
        ),
    ]
    return page(title, facts_html([*facts, *known]), sections)
