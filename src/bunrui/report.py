"""Reports: HTML pages that need neither a network nor a library; and the tables of a terminal.

The size of a page is bounded.  If there are many labels, it draws those with the most mistakes, and says so.  It shows
some hundreds of mistakes, each cut around the words that weigh most.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from bunrui.classifier import AnyClassifier
from bunrui.counts import Label
from bunrui.errors import BunruiError
from bunrui.evaluation import Evaluation, LearningCurve, Metrics
from bunrui.evaluation.loo import LeftOutExplainer
from bunrui.evaluation.result import Mistake, Why, explain_against, explain_mistake, find_mistakes
from bunrui.evaluation.scores import Ranking
from bunrui.labels import text_of
from bunrui.phrases import excerpt, percent, readable
from bunrui.selection import Audit, Comparison, Suspect
from bunrui.views import evaluation as views
from bunrui.views.charts import Bar, bars
from bunrui.views.comparison import comparison_chart, comparison_table, legend_of
from bunrui.views.confusion import Confusion, most_confused
from bunrui.views.evaluation import evaluation_tables, metrics_tables, multilabel_tables
from bunrui.views.explanation import Explanation, excerpt_html, explanation_html, spell, telling_words
from bunrui.views.markup import Markup, Section, element, fact_list, isolated, joined, page, section
from bunrui.views.tables import Table, words

__all__ = [
    "audit_page",
    "comparison_page",
    "evaluation_page",
    "evaluation_tables",
    "explanation_page",
    "metrics_tables",
    "multilabel_tables",
]

_MOST_ROWS = 500
_MOST_CURVES = 40
_MOST_CONFUSIONS = 12
_FEW_LABELS = 12  # whose matrix leaves room beside it
_MOST_WITH_WORDS, _N_WORDS = 24, 8
_WORST, _MOST_MISTAKES, _MOST_OF_A_PAIR = 12, 240, 5
_LONGEST_COPY = 200  # characters

_COLOURS = (
    "Blue speaks for the {} label, orange for the one that the document has; long texts are cut around the words that "
    "weigh most."
)

Facts = Iterable[tuple[str, str]]
Pair = tuple[Label, Label]


def evaluation_page(
    evaluation: Evaluation,
    *,
    title: str = "Evaluation",
    facts: Facts = (),
    texts: Sequence[Any] | Mapping[int, Any] | None = None,
    places: Sequence[str] | Mapping[int, str] | None = None,
    classifier: AnyClassifier | None = None,
    is_learned: bool = False,
    curve: LearningCurve | None = None,
    n_duplicates: int | None = None,
) -> str:
    """A page about an evaluation.

    Parameters
    ----------
    evaluation : Evaluation
    title : str
    facts : iterable of (str, str)
        The facts of the evaluation: names and values.
    texts : sequence, or mapping from row to document, optional
        The documents in the order of the evaluation, or only the wrong ones: the page shows mistakes with their texts.
    places : sequence, or mapping from row to str, optional
        Where the documents come from.
    classifier : TextClassifier, optional
        It gives the words of each label, and explains the mistakes.
    is_learned : bool
        Whether the classifier has learned `texts`: then each is explained by leave-one-out.
    curve : LearningCurve, optional
    n_duplicates : int, optional
        Documents that are copies, or near copies, of others.

    Examples
    --------
    >>> from bunrui import TextClassifier
    >>> from bunrui.evaluation import leave_one_out
    >>> texts, labels = ["cheap pills", "pills now", "meeting at noon", "lunch at noon"], ["spam", "spam", "ham", "ham"]
    >>> clf = TextClassifier().learn(texts, labels)
    >>> found = leave_one_out(clf, texts, labels)
    >>> evaluation_page(found, texts=texts, classifier=clf, is_learned=True).startswith("<!doctype html>")
    True
    """
    metrics = evaluation.metrics
    documents, where = _by_row(texts), _by_row(places)
    mistakes = [one for one in find_mistakes(evaluation) if one.row in documents] if documents else []
    pairs = _by_pair(mistakes)
    rankings = [evaluation.rank(label) for label in most_confused(metrics, _MOST_CURVES)]
    rankings = [one for one in rankings if not math.isnan(one.roc_auc)]
    table = views.classes_table(metrics, most=_MOST_ROWS, rankings=rankings, is_sortable=True)
    calibration = views.calibration_chart(evaluation), views.bins_table(evaluation).to_html()
    sections = [
        section("summary", "Summary", views.summary(evaluation), _duplicates(n_duplicates, metrics.n)),
        _confusion(metrics, {pair: f"#pair-{k}" for k, pair in enumerate(pairs)}),
        section("labels", "Labels", table.to_html(), note="Choose a heading to sort by it."),
        section(
            "calibration",
            "Calibration",
            element("div", *calibration, class_="pair"),
            note="How often it is right where it is so sure. On the dashed line, it is as sure as it is right; larger "
            "points are more documents.",
        ),
    ]
    if rankings:
        sections.append(_rankings(evaluation, rankings))
    if curve is not None:
        sections.append(_curve(curve))
    if classifier is not None and (telling := _words(classifier, metrics)) is not None:
        sections.append(telling)
    if mistakes:
        why = None if classifier is None else _why(classifier, is_learned=is_learned)

        def show(mistake: Mistake) -> Markup:
            document = documents[mistake.row]
            found = None if why is None else explain_mistake(why, document, mistake)
            return _mistake(mistake, document, found, where.get(mistake.row, ""))

        sections.append(_mistakes(mistakes[:_WORST], pairs, show))
    return page(title, fact_list(facts), sections)


def comparison_page(comparison: Comparison, *, title: str = "Models compared", facts: Facts = ()) -> str:
    """A page about a comparison: the accuracy of each model with its interval, and all figures.

    Parameters
    ----------
    comparison : Comparison
    title : str
    facts : iterable of (str, str)
        The facts of the comparison: names and values.
    """
    legend = joined(element("p", line, class_="muted") for line in legend_of(comparison))
    skipped = joined(element("p", f"Left out: {reason}", class_="muted") for reason in comparison.skipped)
    known = [("Documents", f"{comparison.n_docs:,}"), ("Predicted", comparison.how)]
    chart = element("div", comparison_chart(comparison), class_="models scroll")
    table = element("div", comparison_table(comparison, is_sortable=True).to_html(), class_="whole")
    sections = [
        section("accuracy", "Accuracy", chart, note="With the 95 % interval of the bootstrap; the best comes first."),
        section("figures", "Figures", table, legend, skipped),
    ]
    return page(title, fact_list([*facts, *known]), sections)


def audit_page(
    audit: Audit,
    suspects: Sequence[Suspect],
    places: Sequence[str],
    *,
    title: str = "Labels to look at again",
    facts: Facts = (),
) -> str:
    """A page about an audit: suspects with the words against their labels, and copies.

    Parameters
    ----------
    audit : Audit
    suspects : sequence of Suspect
        The suspects to show.
    places : sequence of str
        Where each document comes from.
    title : str
    facts : iterable of (str, str)
        The facts of the audit: names and values.

    Examples
    --------
    >>> from bunrui import TextClassifier
    >>> from bunrui.selection import audit
    >>> texts = ["cheap pills", "pills now", "pills today", "see you at noon", "lunch at noon", "noon again"]
    >>> found = audit(TextClassifier(analyzer="words"), texts, ["spam", "spam", "ham", "ham", "ham", "ham"])
    >>> audit_page(found, found.suspects, [""] * 6).startswith("<!doctype html>")
    True
    """
    shown = []
    for one in suspects:
        mistake = Mistake(one.row, one.given, one.suggested, one.probability, one.suggested_probability)
        shown.append(_mistake(mistake, audit.text(one.row), audit.explain(one), places[one.row], "perhaps"))
    note = f"The least likely label comes first. {_COLOURS.format('suggested')}"
    sections = [section("suspects", "Suspects", *(shown or [element("p", "No label is suspect.")]), note=note)]
    if audit.conflicts:
        sections.append(_copies(audit, places))
    known = [("Documents", f"{audit.n_docs:,}"), ("Suspects", f"{len(audit.suspects):,}")]
    return page(title, fact_list([*facts, *known]), sections)


def explanation_page(explanation: Explanation) -> str:
    """A page about one prediction: the text in colours, and the words that weigh most.

    >>> from bunrui import TextClassifier
    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> "<title>Why spam and not ham</title>" in explanation_page(clf.explain("pills"))
    True
    """
    names = [name for name in (explanation.label, explanation.against) if name is not None]
    heading = joined(["Why ", Markup(" and not ".join(map(isolated, names)))])
    total = "score" if explanation.against is None else "difference of the scores"
    told = f"The deeper a colour, the more a word adds. The values add up to the {total}."
    sections = [section("words", "Words", explanation_html(explanation, shares=True))]
    return page(f"Why {' and not '.join(map(text_of, names))}", element("p", told, class_="muted"), sections, heading)


def _by_row(given: Sequence[Any] | Mapping[int, Any] | None) -> Mapping[int, Any]:
    return given if isinstance(given, Mapping) else dict(enumerate(() if given is None else given))


# --- sections


def _duplicates(n_duplicates: int | None, n_docs: int) -> Markup | None:
    if n_duplicates is None:
        return None
    if not n_duplicates:
        return element("p", "There are no copies, and no near copies, among the documents.", class_="muted")
    are = f"{n_duplicates:,} documents ({percent(n_duplicates / n_docs)}) are copies, or near copies, of others"
    if n_duplicates == 1:
        are = "1 document is a copy, or a near copy, of another"
    return element("p", f"{are}: what documents say of their copies flatters.", class_="notice")


def _confusion(metrics: Metrics, links: Mapping[Pair, str]) -> Section:
    found = Confusion(metrics)
    n_shown = len(found.labels)
    note = "Rows are true labels, columns predicted ones; the stronger its colour, the larger the share of the row."
    if links:
        note += " A cell opens the mistakes behind it."
    note += _of_many(n_shown, len(metrics.occurring))
    table = element("p", "No confusions: every document has its label.")
    if found.wrong:
        table = found.to_table(_MOST_CONFUSIONS, links).to_html()
    drawn = element("div", found.to_svg(links), class_="scroll")
    beside = element("div", drawn, table, class_="pair" if n_shown <= _FEW_LABELS else None)
    return section("confusion", "Confusion", beside, note=note)


def _of_many(n_shown: int, n_all: int, what: str = "mistakes") -> str:
    return f" Shown are the {n_shown} of {n_all:,} labels with the most {what}." if n_shown < n_all else ""


def _rankings(evaluation: Evaluation, rankings: Sequence[Ranking]) -> Section:
    n_all = len(evaluation.metrics.occurring)
    note = "One label against the rest: documents ranked by its probability."
    note += _of_many(len(rankings), n_all) if n_all > _MOST_CURVES else ""
    chosen = evaluation.positive
    if chosen not in {one.label for one in rankings}:
        chosen = min(rankings, key=lambda one: one.average_precision).label
    return section("rankings", "Rankings", views.rankings_html(rankings, chosen), note=note)


def _curve(curve: LearningCurve) -> Section:
    of = {1: "a fifth of the learned documents", 5: "each fifth of the learned documents in turn"}
    tested = of.get(curve.n_folds, f"{curve.n_folds} fifths of the learned documents in turn")
    note = f"Accuracy on {tested}, by growing parts of the rest."
    if curve.n_folds > 1:
        note += " The band goes from the worst fifth to the best."
    chart = views.learning_chart(curve.points, has_band=curve.n_folds > 1)
    pair = element("div", chart, views.curve_table(curve).to_html(), class_="pair")
    return section("learning", "Learning curve", pair, note=note)


def _words(classifier: AnyClassifier, metrics: Metrics) -> Section | None:
    support = Counter({one.label: one.support for one in metrics.per_class})
    try:
        known = sorted(classifier.classes_.tolist(), key=lambda name: (-support[name], name))
        shown = sorted(known[:_MOST_WITH_WORDS])
        cards = [_card(name, classifier) for name in shown]
    except BunruiError:
        return None  # it keeps no texts to be trained from, say
    note = "What one occurrence adds to the score of the label, less the mean of the others."
    note += _of_many(len(shown), len(known), "documents")
    return section("words", "Telling words", element("div", *cards, class_="cards"), note=note)


def _card(name: Label, classifier: AnyClassifier) -> Markup:
    found = classifier.words(name, top=_N_WORDS)
    largest = max((abs(word.weight) for word in found), default=0.0)
    figures = max(2 - math.floor(math.log10(largest)), 2) if largest else 2
    rows = [Bar(spell(word.text), word.weight, f"{word.weight:.{figures}f}") for word in found]
    return element("div", element("h3", isolated(name)), bars(rows, label=f"Words that speak for {text_of(name)}"))


# --- mistakes


def _why(classifier: AnyClassifier, *, is_learned: bool) -> Why | None:
    """How mistakes are explained; None for learned documents of a model that would be trained for each of them."""
    if not is_learned:
        return partial(explain_against, classifier)
    return None if classifier.needs_documents else LeftOutExplainer(classifier).explain


def _by_pair(mistakes: Sequence[Mistake]) -> dict[Pair, list[Mistake]]:
    """The worst mistakes of each pair of labels, the most frequent pairs first.

    Every pair has its worst mistake before another has its second, as long as there is room.
    """
    by_pair: dict[Pair, list[Mistake]] = defaultdict(list)
    for mistake in mistakes:
        by_pair[mistake.true[0], mistake.predicted].append(mistake)
    frequent = sorted(by_pair, key=lambda pair: (-len(by_pair[pair]), pair))
    in_turn = ((pair, k) for k in range(_MOST_OF_A_PAIR) for pair in frequent if k < len(by_pair[pair]))
    shown: dict[Pair, list[Mistake]] = defaultdict(list)
    for pair, k in islice(in_turn, _MOST_MISTAKES):
        shown[pair].append(by_pair[pair][k])
    return shown


def _mistakes(worst: Sequence[Mistake], pairs: Mapping[Pair, Sequence[Mistake]], show: Any) -> Section:
    shown = {one.row: one for one in (*worst, *chain.from_iterable(pairs.values()))}
    drawn = {row: show(mistake) for row, mistake in shown.items()}
    groups = []
    for k, ((true, predicted), found) in enumerate(pairs.items()):
        heading = element("summary", isolated(true), " → ", isolated(predicted), f" ({len(found)})")
        anchor = element("div", *(drawn[one.row] for one in found), id=f"pair-{k}")
        groups.append(element("details", heading, anchor, class_="screen"))
    by_pair = element("div", element("h3", "By labels"), element("div", *groups, class_="groups"), class_="screen")
    note = f"Those whose own label is least likely come first. {_COLOURS.format('predicted')}"
    return section("mistakes", "Mistakes", element("div", *(drawn[one.row] for one in worst)), by_pair, note=note)


def _mistake(
    mistake: Mistake, document: Any, explanation: Explanation | None, place: str, said: str = "predicted"
) -> Markup:
    """One mistake: its labels, its text in colours, and the words that weigh most."""
    labels = Markup(", ".join(isolated(name) for name in mistake.true))
    heading = element(
        "p",
        element("span", labels, class_="chip against"),
        f" {_share(mistake.given_probability)}, {said} ",
        element("span", isolated(mistake.predicted), class_="chip for"),
        f" {_share(mistake.confidence)}",
        element("span", " · ", isolated(place), class_="muted") if place else None,
    )
    telling = telling_words(explanation) if explanation is not None else None
    return element("article", heading, excerpt_html(readable(document), explanation), telling, class_="mistake")


def _share(probability: float) -> str:
    return "< 0.1 %" if probability < 0.001 else percent(probability)


def _copies(audit: Audit, places: Sequence[str]) -> Section:
    rows = []
    for conflict in audit.conflicts:
        labels = " / ".join(dict.fromkeys(", ".join(map(text_of, names)) for names in conflict.labels))
        text = excerpt(readable(audit.text(conflict.rows[0])), _LONGEST_COPY)
        rows.append([labels, conflict.kind, ", ".join(places[row] for row in conflict.rows), text])
    table = Table(words("labels", "kind", "where", "text"), rows, caption="Copies")
    return section("copies", "Copies with different labels", table.to_html())
