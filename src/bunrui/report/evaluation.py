"""An evaluation → one page of HTML.

The page is bounded whatever was evaluated: of many labels, those with the most mistakes are drawn, and it says so; some
hundreds of mistakes are shown, cut around the words that say most.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bunrui.classifier import AnyClassifier
from bunrui.counts import Label
from bunrui.drawing import Bar, Column, Markup, Section, bars, element, isolated, page, section, table
from bunrui.errors import BunruiError
from bunrui.evaluation import Evaluation, LearningCurve, Metrics
from bunrui.evaluation.drawn import (
    calibration_chart,
    classes_table,
    confused,
    confusion_matrix,
    learning_chart,
    percent,
    summary,
)
from bunrui.report.mistakes import Explainer, Mistakes, find_mistakes, mistake_html
from bunrui.report.rankings import Ranking, rankings_html, rankings_of

__all__ = ["evaluation_page", "facts_html"]

_MOST_ROWS = 500
_MOST_CURVES = 40
_MOST_CONFUSIONS = 12
_FEW_LABELS = 12  # whose matrix leaves room beside it
_MOST_WITH_WORDS = 24
_N_WORDS = 8

Texts = Sequence[Any] | Mapping[int, Any]


def evaluation_page(
    evaluation: Evaluation,
    *,
    title: str = "Evaluation",
    facts: Iterable[tuple[str, str]] = (),
    texts: Texts | None = None,
    places: Sequence[str] | Mapping[int, str] | None = None,
    classifier: AnyClassifier | None = None,
    is_learned: bool = False,
    curve: LearningCurve | None = None,
    n_duplicates: int | None = None,
) -> str:
    """A page of HTML that needs nothing else, neither a network nor a library.

    Parameters
    ----------
    evaluation : Evaluation
    title : str
    facts : iterable of (str, str)
        What was evaluated, and how: names and values.
    texts : sequence, or mapping from row to document, optional
        The documents in the order of the evaluation, or those that are wrong: mistakes are shown with their texts.
    places : sequence, or mapping from row to str, optional
        Where the documents come from.
    classifier : TextClassifier, optional
        Says which words speak for which label, and explains the mistakes.
    is_learned : bool
        Whether the classifier has learned `texts`: then each is unlearned before it is explained, and learned again.
    curve : LearningCurve, optional
    n_duplicates : int, optional
        Documents that are copies, or near copies, of others.

    Examples
    --------
    >>> from bunrui.evaluation import leave_one_out
    >>> texts, labels = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"], ["spam", "spam", "ham", "ham"]
    >>> clf = TextClassifier().learn(texts, labels)
    >>> found = leave_one_out(clf, texts, labels)
    >>> evaluation_page(found, texts=texts, classifier=clf, is_learned=True).startswith("<!doctype html>")
    True
    """
    metrics = evaluation.metrics
    labels = confused(metrics)
    mistakes = find_mistakes(evaluation, texts) if texts is not None else Mistakes([], {})
    rankings = rankings_of(evaluation, confused(metrics, _MOST_CURVES))
    sections = [
        section("summary", "Summary", summary(evaluation), _duplicates(n_duplicates, metrics.n)),
        _confusion(metrics, labels, mistakes),
        _classes(metrics, rankings),
        section(
            "calibration",
            "Calibration",
            element("div", calibration_chart(evaluation), _bins(evaluation), class_="pair"),
            note="How often it is right where it is so sure. On the dashed line, it is as sure as it is right; larger "
            "points are more documents.",
        ),
    ]
    if rankings:
        sections.append(_rankings(evaluation, rankings, metrics))
    if curve is not None:
        sections.append(_curve(curve))
    words = _words(classifier, metrics) if classifier is not None else None
    if words is not None:
        sections.append(words)
    if mistakes.worst and texts is not None:
        sections.append(_mistakes(mistakes, texts, places or {}, Explainer(classifier, is_learned=is_learned)))
    return page(title, facts_html(facts), sections)


def facts_html(facts: Iterable[tuple[str, str]]) -> Markup:
    """Names and values in a line or two."""
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", isolated(value))) for name, value in facts),
        class_="facts",
    )


def _duplicates(n_duplicates: int | None, n_docs: int) -> Markup | None:
    if n_duplicates is None:
        return None
    if not n_duplicates:
        return element("p", "There are no copies, and no near copies, among the documents.", class_="muted")
    are = (
        "1 document is a copy, or a near copy, of another"
        if n_duplicates == 1
        else (f"{n_duplicates:,} documents ({percent(n_duplicates / n_docs)}) are copies, or near copies, of others")
    )
    return element("p", f"{are}: what documents say of their copies flatters.", class_="notice")


def _confusion(metrics: Metrics, labels: list[Label], mistakes: Mistakes) -> Section:
    links = mistakes.links()
    note = "Rows are true labels, columns predicted ones; the stronger its colour, the larger the share of the row."
    if links:
        note += " A cell opens the mistakes behind it."
    n_all = len(metrics.occurring)
    if len(labels) < n_all:
        note += f" Shown are the {len(labels)} of {n_all:,} labels with the most mistakes."
    drawn = element("div", confusion_matrix(metrics, labels, links), class_="scroll")
    beside = element("div", drawn, _confusions(metrics, links), class_="pair" if len(labels) <= _FEW_LABELS else None)
    return section("confusion", "Confusion", beside, note=note)


def _confusions(metrics: Metrics, links: Mapping[tuple[str, str], str]) -> Markup | None:
    wrong = sorted((pair for pair in metrics.pairs if pair.true != pair.predicted), key=lambda pair: -pair.doc_count)
    if not wrong:
        return element("p", "No confusions: every document has its label.")
    support = {one.label: one.support for one in metrics.per_class}
    columns = [
        Column("true", is_number=False),
        Column("predicted", is_number=False),
        Column("documents"),
        Column("of true"),
    ]
    rows = []
    for pair in wrong[:_MOST_CONFUSIONS]:
        link = links.get((pair.true, pair.predicted))
        count = f"{pair.doc_count:,}"
        shown = count if link is None else element("a", count, href=link)
        rows.append([pair.true, pair.predicted, shown, percent(pair.doc_count / support[pair.true])])
    more = len(wrong) - len(rows)
    caption = "The most frequent confusions" + (f"; {more:,} other pairs are rarer" if more else "")
    return table(caption, columns, rows)


def _classes(metrics: Metrics, rankings: list[Ranking]) -> Section:
    areas = {one.label: (one.roc_auc, one.average_precision) for one in rankings}
    drawn = classes_table(metrics, most=_MOST_ROWS, more=areas, is_sortable=True)
    return section("labels", "Labels", drawn, note="Choose a heading to sort by it.")


def _bins(evaluation: Evaluation) -> Markup:
    columns = [Column("confidence", is_number=False), Column("mean"), Column("accuracy"), Column("documents")]
    rows = [
        [
            f"{100 * one.low:.0f} – {100 * one.high:.0f} %",
            percent(one.confidence),
            percent(one.accuracy),
            f"{one.doc_count:,}",
        ]
        for one in evaluation.reliability
    ]
    return table("Accuracy by confidence", columns, rows)


def _rankings(evaluation: Evaluation, rankings: list[Ranking], metrics: Metrics) -> Section:
    note = "One label against the rest: documents ranked by its probability."
    n_all = len(metrics.occurring)
    if n_all > _MOST_CURVES:
        note += f" Shown are the {len(rankings)} of {n_all:,} labels with the most mistakes."
    chosen = evaluation.positive
    if chosen not in {one.label for one in rankings}:
        chosen = min(rankings, key=lambda one: one.average_precision).label
    return section("rankings", "Rankings", rankings_html(rankings, chosen), note=note)


def _curve(curve: LearningCurve) -> Section:
    of = {1: "a fifth of the learned documents", 5: "each fifth of the learned documents in turn"}
    tested = of.get(curve.n_folds, f"{curve.n_folds} fifths of the learned documents in turn")
    note = f"Accuracy on {tested}, by growing parts of the rest."
    if curve.n_folds > 1:
        note += " The band goes from the worst fifth to the best."
    columns = [Column("documents learned"), Column("accuracy"), Column("lowest"), Column("highest")]
    rows = [[f"{one.documents:,}", *(percent(share) for share in one[1:])] for one in curve.points]
    numbers = table("Accuracy by learned documents", columns, rows)
    return section(
        "learning", "Learning curve", element("div", learning_chart(curve), numbers, class_="pair"), note=note
    )


def _words(classifier: AnyClassifier, metrics: Metrics) -> Section | None:
    support = Counter({one.label: one.support for one in metrics.per_class})
    try:
        known = sorted(classifier.classes_.tolist(), key=lambda name: (-support[name], name))
        shown = sorted(known[:_MOST_WITH_WORDS])
        cards = [_card(name, classifier) for name in shown]
    except BunruiError:
        return None  # it keeps no texts to be trained from, say
    note = "What one occurrence adds to the score of the label, less the mean of the others."
    if len(known) > len(shown):
        note += f" Shown are the {len(shown)} of {len(known):,} labels with the most documents."
    return section("words", "Telling words", element("div", *cards, class_="cards"), note=note)


def _card(name: Label, classifier: AnyClassifier) -> Markup:
    from bunrui.rendering import shown

    words = classifier.words(name, top=_N_WORDS)
    largest = max((abs(word.weight) for word in words), default=0.0)
    figures = max(2 - math.floor(math.log10(largest)), 2) if largest else 2
    rows = [Bar(shown(word.text), word.weight, f"{word.weight:.{figures}f}") for word in words]
    return element("div", element("h3", isolated(name)), bars(rows, label=f"Words that speak for {name}"))


def _mistakes(
    mistakes: Mistakes, texts: Texts, places: Sequence[str] | Mapping[int, str], explain: Explainer
) -> Section:
    drawn: dict[int, Markup] = {}

    def one(mistake: Any) -> Markup:
        if mistake.row not in drawn:
            document = texts[mistake.row]
            where = places.get(mistake.row, "") if isinstance(places, Mapping) else places[mistake.row]
            drawn[mistake.row] = mistake_html(mistake, document, explain(document, mistake), where)
        return drawn[mistake.row]

    groups = []
    for k, ((true, predicted), found) in enumerate(mistakes.pairs.items()):
        heading = element("summary", isolated(true), " → ", isolated(predicted), f" ({len(found)})")
        anchor = element("div", *map(one, found), id=f"pair-{k}")
        groups.append(element("details", heading, anchor, class_="screen"))
    worst = element("div", *map(one, mistakes.worst))
    by_pair = element("div", element("h3", "By labels"), element("div", *groups, class_="groups"), class_="screen")
    note = (
        "Those whose own label is least likely come first. Blue speaks for the predicted label, orange for the one "
        "that the document has; long texts are cut around the words that weigh most."
    )
    return section("mistakes", "Mistakes", worst, by_pair, note=note)
