from __future__ import annotations

from pathlib import Path

import bunrui
from bunrui.selection import audit
from bunrui.views.tables import Table, numbers, words
from tests.support.pages import Parsed

TEXTS = ["cheap <b>pills</b>", "pills now", "pills today", "see you at noon", "lunch at noon", "noon again"]
LABELS = ["spam", "spam", "ham", "ham", "ham", "ham"]


def cells(html: str) -> list[list[str]]:
    """The rows of the one table, their cells as text."""
    found = Parsed(html)
    texts = [("".join(inside), tag) for tag, _, inside in found.found if tag in ("tr", "th", "td")]
    rows: list[list[str]] = []
    for text, tag in texts:
        if tag == "tr":
            rows.append([])
        else:
            rows[-1].append(text)
    return rows


def test_a_classifier_and_its_words(tmp_path: Path) -> None:
    clf = bunrui.TextClassifier("multinomial", analyzer="words").learn(TEXTS, LABELS)
    assert cells(clf._repr_html_())[1:] == [
        ["model", "multinomial"],
        ["analyzer", "words, words"],
        ["documents", "6"],
        ["features", "11"],
        ["calibrated", "no"],
        ["labels", "ham (4), spam (2)"],
    ]
    found = clf.words("spam", top=2)
    assert cells(found._repr_html_())[1:] == [
        [word.text, f"{word.weight:+.3f}", f"spam ({word.counts['spam']})"] for word in found
    ]
    with bunrui.create(tmp_path / "a.bunrui", "multinomial") as stored:
        assert cells(stored._repr_html_())[0] == ["classifier", "StoredClassifier"]
        assert ["labels", "none yet"] in cells(stored._repr_html_())


def test_an_audit() -> None:
    found = audit(bunrui.TextClassifier(analyzer="words"), TEXTS, LABELS)
    (suspect,) = found.suspects
    html = found._repr_html_()
    assert "1 of 6 documents have a label that is not the likeliest" in html
    assert cells(html)[1:] == [["2", "ham", "spam", f"{suspect.probability:.4f}", "pills today"]]
    assert "<b>" not in audit(bunrui.TextClassifier(analyzer="words"), TEXTS, LABELS[::-1])._repr_html_()


def test_empty_columns_are_left_out() -> None:
    table = Table([*words("label", "id"), *numbers("n")], [["spam", "", "1"], ["", "", "2"]])
    assert [column.name for column in table.filled().columns] == ["label", "n"]
    assert table.filled().rows == [["spam", "1"], ["", "2"]] and table.filled(["n"]).rows == [["spam"], [""]]
