"""The page says what the evaluation says, shows whatever texts and labels hold, and stays small."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import bunrui
from bunrui import report
from bunrui.classifier import TextClassifier
from bunrui.data import read
from bunrui.evaluation import Evaluation, cross_validate, folds, learning_curve, leave_one_out, measure
from bunrui.report import evaluation_page
from bunrui.views.markup import Markup, element
from tests.support.pages import Parsed, evaluated

HARM = (
    "</title></style></script><script>alert(1)</script><img src=x onerror='alert(2)'> \"q\" & {{7*7}} "
    "\u202egnp.exe\u202c \0\x1b[2J"
)
ROWS = [row for row in read("demo") if row["lang"] == "en"]
TEXTS, LABELS = [row["text"] for row in ROWS], [row["label"] for row in ROWS]


@pytest.fixture(scope="module")
def news() -> tuple[Evaluation, TextClassifier]:
    clf = TextClassifier().learn(TEXTS, LABELS)
    return leave_one_out(clf, TEXTS, LABELS), clf


@pytest.fixture(scope="module")
def page(news: tuple[Evaluation, TextClassifier]) -> Parsed:
    evaluation, clf = news
    curve = learning_curve(TextClassifier(), TEXTS, LABELS)
    known = {"texts": TEXTS, "places": [f"news.csv, line {k}" for k in range(100)], "curve": curve, "n_duplicates": 7}
    html = evaluation_page(evaluation, title="News", facts=[("Model", "<b>")], classifier=clf, is_learned=True, **known)
    return Parsed(html)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


# --- what it says


def test_the_tables_of_a_terminal_are_public_names() -> None:
    from rich.console import Console

    metrics = measure(["ham", "ham", "spam"], ["ham", "spam", "spam"])
    console = Console(width=60, color_system=None, record=True, file=io.StringIO())
    console.print(report.metrics_tables(metrics))
    assert console.export_text().startswith("accuracy 0.667 of 3 documents")
    assert {"evaluation_tables", "metrics_tables", "multilabel_tables"} <= set(report.__all__)


def test_the_figures_are_those_of_the_evaluation(news: tuple[Evaluation, TextClassifier], page: Parsed) -> None:
    evaluation, _ = news
    interval = evaluation.interval("accuracy")
    figures = page.all("dl", class_="figures")[0]
    assert figures == (
        f"Accuracy{percent(evaluation.metrics.accuracy)}{percent(interval.low)} – {percent(interval.high)}"
        f"Macro F1{percent(evaluation.metrics.macro.f1)}Log loss{evaluation.log_loss:.3f}"
        f"Calibration error{percent(evaluation.ece)}ROC AUC{evaluation.roc_auc:.4f}"
        f"Documents100{int((~evaluation.right).sum())} wrongLabels5"
    )
    assert page.all("p", class_="notice") == [
        "7 documents (7.0 %) are copies, or near copies, of others: what documents say of their copies flatters."
    ]


def test_each_label_has_its_row(news: tuple[Evaluation, TextClassifier], page: Parsed) -> None:
    evaluation, _ = news
    rows = page.all("tr")
    for one in evaluation.metrics.per_class:
        wanted = f"{one.label}{percent(one.precision)}{percent(one.recall)}{percent(one.f1)}{one.support}"
        (row,) = [row for row in rows if row.startswith(wanted)]
        of_label = Evaluation(
            true=evaluation.true,
            predictions=evaluation.predictions,
            probabilities=evaluation.probabilities,
            classes=evaluation.classes,
            positive=one.label,
        )
        assert row == f"{wanted}{of_label.roc_auc:.4f}{of_label.average_precision:.4f}"


def test_the_matrix_is_the_confusion(news: tuple[Evaluation, TextClassifier], page: Parsed) -> None:
    evaluation, _ = news
    titles = "\n".join(page.all("title"))
    for pair in evaluation.metrics.pairs:
        n_docs = "1 document" if pair.doc_count == 1 else f"{pair.doc_count} documents"
        assert f"{pair.true}, predicted as {pair.predicted}: {n_docs}" in titles
    targets = set(page.attributes("id"))
    links = [link for link in page.attributes("href") if link.startswith("#pair-")]
    assert links and {link[1:] for link in links} <= targets


def test_every_mistake_is_behind_its_cell(news: tuple[Evaluation, TextClassifier], page: Parsed) -> None:
    evaluation, _ = news
    wrong = [row for row in range(100) if not evaluation.right[row]]
    groups = page.all("details", class_="screen")
    for row in wrong:
        heading = f"{LABELS[row]} → {evaluation.predictions[row]} ("
        assert any(TEXTS[row] in group for group in groups if group.startswith(heading))
    least = min(wrong, key=lambda row: evaluation.given_probability[row])
    first = page.all("article")[0]
    assert TEXTS[least] in first and f"news.csv, line {least}" in first


def test_a_mistake_is_explained_by_the_others(news: tuple[Evaluation, TextClassifier], page: Parsed) -> None:
    evaluation, clf = news
    wrong = [row for row in range(100) if not evaluation.right[row]]
    least = min(wrong, key=lambda row: evaluation.given_probability[row])
    others = [row for row in range(100) if row != least]
    fresh = TextClassifier().learn([TEXTS[row] for row in others], [LABELS[row] for row in others])
    found = fresh.explain(TEXTS[least], label=str(evaluation.predictions[least]), against=LABELS[least])
    said = page.all("p", class_="said")[0]
    assert f"{found.contributions[0].value:+.2f}".replace("-", "−") in said
    assert clf.counts == TextClassifier().learn(TEXTS, LABELS).counts  # and all is as it was


def test_a_page_about_the_documents_of_a_file_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    """Also where threads ask for it at the same time."""
    labels = [*LABELS[1:], LABELS[0]]  # mistakes all over
    with bunrui.create(tmp_path / "news.bunrui") as clf:
        clf.learn(TEXTS, labels, ids=[f"id{k}" for k in range(100)])
        evaluation = leave_one_out(clf)
        before = clf.history(), list(clf.documents()), clf.counts.copy(), clf.state, clf.choice

        def make(_: int) -> str:
            return evaluation_page(evaluation, texts=TEXTS, classifier=clf, is_learned=True)

        with ThreadPoolExecutor(2) as pool:
            pages = list(pool.map(make, range(2)))
        assert (clf.history(), list(clf.documents()), clf.counts, clf.state, clf.choice) == before
    memory = TextClassifier().learn(TEXTS, labels)
    assert pages[0] == pages[1] == evaluation_page(evaluation, texts=TEXTS, classifier=memory, is_learned=True)
    assert len(Parsed(pages[0]).all("p", class_="said")) > 40


def test_words_and_curve(news: tuple[Evaluation, TextClassifier], page: Parsed) -> None:
    _, clf = news
    words = page.all("svg", aria_label="Words that speak for sports")[0]
    assert all(word.text.replace(" ", "␣") in words for word in clf.words("sports", top=8))
    curve = learning_curve(TextClassifier(), TEXTS, LABELS)
    for point in curve.points:
        assert f"{point.documents}{percent(point.accuracy)}{percent(point.low)}{percent(point.high)}" in page.all("tr")


def test_rankings_stand_on_the_weakest_label_or_the_one_looked_for() -> None:
    evaluation = evaluated(["a", "a", "b", "b", "c", "c"], ["a", "a", "b", "c", "c", "b"])
    chosen = Parsed(evaluation_page(evaluation)).all("option", selected="")
    assert chosen == [] and len(Parsed(evaluation_page(evaluation)).all("option")) == 3
    parsed = Parsed(evaluation_page(evaluated(["a", "b", "b"], ["a", "b", "a"], positive="b")))
    assert [texts for tag, attributes, texts in parsed.found if tag == "option" and "selected" in attributes] == [["b"]]
    assert len(parsed.all("polyline", class_="chosen")) == 2


# --- what is not there


def test_a_page_of_predictions_alone() -> None:
    parsed = Parsed(evaluation_page(evaluated(["x", "x", "y"], ["x", "y", "y"])))
    assert parsed.all("h2") == ["Summary", "Confusion", "Labels", "Calibration", "Rankings"]
    assert parsed.all("article") == [] and not any(link.startswith("#pair") for link in parsed.attributes("href"))


def test_one_label_and_nothing_wrong() -> None:
    parsed = Parsed(evaluation_page(evaluated(["x", "x"], ["x", "x"]), texts=["a", "b"]))
    assert parsed.all("h2") == ["Summary", "Confusion", "Labels", "Calibration"]
    assert "No confusions: every document has its label." in parsed.all("p")


def test_labels_that_were_never_learned_and_several_labels() -> None:
    clf = TextClassifier().learn(["pills", "noon"], ["spam", "ham"])
    texts = ["pills", "pills at noon", "noon"]
    evaluation = Evaluation(
        true=["news", ["ham", "other"], "spam"],
        predictions=clf.predict(texts),
        probabilities=clf.predict_proba(texts),
        classes=clf.classes_,
    )
    groups = Parsed(evaluation_page(evaluation, texts=texts, classifier=clf)).all("summary")
    assert "news → spam (1)" in groups and "spam → ham (1)" in groups


def test_tokens_and_counts_are_shown_too() -> None:
    clf = TextClassifier().learn([["cheap", "pills"], ["noon"], ["pills"]], ["spam", "ham", "spam"])
    evaluation = evaluated(["spam", "ham"], ["ham", "spam"])
    parsed = Parsed(evaluation_page(evaluation, texts=[["noon", "pills"], {"noon": 2}], classifier=clf))
    texts = parsed.all("p", class_="text")
    assert "noon pills" in texts and "noon ×2" in texts


# --- whatever it holds


def test_harm_is_shown_and_nothing_else() -> None:
    texts = [HARM, f"cheap {HARM}", "noon", "lunch at noon"]
    label = HARM.replace("\0", "")  # which no label may have
    labels = [label, label, "ham'\"<b>", "ham'\"<b>"]
    clf = TextClassifier().learn(texts, labels)
    evaluation = evaluated(labels, ["ham'\"<b>", label, "ham'\"<b>", label], positive=label)
    named = {"title": HARM, "facts": [(HARM, HARM)], "places": [HARM] * 4, "texts": texts}
    html = evaluation_page(evaluation, classifier=clf, is_learned=True, **named)
    parsed = Parsed(html)
    assert len(parsed.all("script")) == 1 and parsed.all("img") == [] and len(parsed.all("style")) == 1
    assert not [
        key for _, attributes, _ in parsed.found for key in attributes if key.startswith("on") or key == "style"
    ]
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    assert "<script>alert(1)</script>" in parsed.all("h1")[0] and "‹U+202E›gnp.exe" in parsed.all("article")[0]
    html.encode("utf-8")


def test_halves_of_characters_can_be_written() -> None:
    html = evaluation_page(evaluated(["x", "y"], ["y", "y"]), title="a\ud800b", texts=["\udfff", "noon"])
    assert "a\ufffdb" in html and html.encode("utf-8")


@pytest.mark.parametrize("text", ["<b>", "&amp;", "a\0b", '"', "'", "\ud83d"])
def test_only_markup_is_markup(text: str) -> None:
    assert Parsed(element("p", text, title=text)).found[0][0] == "p" and len(Parsed(element("p", text)).found) == 1
    assert element("p", Markup("<b></b>")) == "<p><b></b></p>"


def test_labels_of_east_asia() -> None:
    parsed = Parsed(
        evaluation_page(evaluated(["科学", "스포츠", "体育新闻", "科学"], ["科学", "科学", "体育新闻", "스포츠"]))
    )
    for name in ("科学", "스포츠", "体育新闻"):
        assert any(text.startswith(name) for text in parsed.all("tr")) and name in "".join(parsed.all("text"))


# --- what it may do


def test_the_policy_names_the_style_and_the_script_and_nothing_else(page: Parsed) -> None:
    (policy,) = [
        attributes["content"] or ""
        for tag, attributes, _ in page.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    for name in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.all(name)[0].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy


def test_nothing_is_fetched(page: Parsed) -> None:
    assert all(link.startswith("#") for link in page.attributes("href"))
    assert page.attributes("src") == [] and page.attributes("srcset") == []
    own = "".join(page.all("style") + page.all("script"))
    assert "http" not in own and "url(" not in own and "@import" not in own and "fetch" not in own


def test_it_can_be_read_aloud(page: Parsed) -> None:
    drawings = [attributes for tag, attributes, _ in page.found if tag == "svg"]
    assert len(drawings) > 5
    assert all(drawn["role"] in ("img", "group") and drawn["aria-label"] for drawn in drawings)
    assert len(page.all("table")) == len(page.all("caption"))
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes, _ in page.found if tag == "th")
    levels = [int(tag[1]) for tag, _, _ in page.found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in pairwise(levels))
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))


# --- how large it is


def test_many_labels_give_a_small_page_that_says_so() -> None:
    names = [f"label {k:03d}" for k in range(700)]
    true = [name for name in names for _ in range(6)]
    predictions = [names[(k // 6 + (k % 6 == 0)) % 700] if k // 6 % 7 else true[k] for k in range(len(true))]
    texts = ["a long text about nothing much, " * 100] * len(true)
    html = evaluation_page(evaluated(true, predictions), texts=texts)
    parsed = Parsed(html)
    assert len(html) < 1_500_000
    assert len(parsed.all("g", class_="cell")) + len(parsed.all("a", class_="cell")) == 625
    notes = "\n".join(parsed.all("p", class_="muted"))
    assert "Shown are the 25 of 700 labels with the most mistakes." in notes
    assert "Shown are the 40 of 700 labels with the most mistakes." in notes
    assert "the 500 of 700 labels with the lowest F1" in parsed.all("caption")[-2]
    assert len(parsed.all("article")) <= 240 + 12


def test_long_texts_are_cut_around_what_weighs_most() -> None:
    clf = TextClassifier(analyzer="words").learn(["cheap pills", "lunch at noon"], ["spam", "ham"])
    text = "nothing " * 2000 + "cheap pills" + " nothing" * 2000
    evaluation = evaluated(["ham", "ham"], ["spam", "ham"])
    shown = Parsed(evaluation_page(evaluation, texts=[text, ""], classifier=clf)).all("p", class_="text")[0]
    assert "cheap pills" in shown and shown.startswith("… ") and shown.endswith(" …") and len(shown) < 500


# --- in a notebook


def test_an_evaluation_shows_itself(news: tuple[Evaluation, TextClassifier]) -> None:
    evaluation, _ = news
    parsed = Parsed(evaluation._repr_html_())
    assert percent(evaluation.metrics.accuracy) in parsed.all("dl")[0] and len(parsed.all("svg")) == 2
    assert parsed.attributes("href") == [] and parsed.all("script") == [] and parsed.all("button") == []


def test_a_search_shows_itself() -> None:
    from bunrui.selection import tune

    found = tune(TEXTS, LABELS, fast=True, folds=2)
    parsed = Parsed(found._repr_html_())
    assert found.reason() in parsed.all("p")
    (chosen,) = parsed.all("tr", class_="bold")
    assert chosen.startswith(f"{found.settings.describe()}{found.value:.4f}")


# --- the learning curve


def test_the_end_of_the_curve_is_cross_validation() -> None:
    curve = learning_curve(TextClassifier(), TEXTS, LABELS)
    found = cross_validate(TextClassifier(), TEXTS, LABELS, folds(100, LABELS, 5))
    accuracies = [fold.metrics.accuracy for fold in found.per_fold]
    last = curve.points[-1]
    assert (last.documents, curve.n_folds) == (80, 5)
    assert last.accuracy == pytest.approx(sum(accuracies) / 5, rel=1e-12)
    assert (last.low, last.high) == (min(accuracies), max(accuracies))


def test_the_curve_of_many_documents_predicts_fewer_folds() -> None:
    told: list[Any] = []
    curve = learning_curve(
        TextClassifier(analyzer="words"),
        ["pills", "noon"] * 5000,
        ["spam", "ham"] * 5000,
        watch=lambda done, total: told.append((done, total)),
    )
    assert curve.n_folds == 2 and curve.points[-1].documents == 8000
    assert told[0] == (0, 16_000) and told == sorted(told)
