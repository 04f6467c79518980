"""The page, in a real browser: every view, in English and in Japanese, and with texts that mean harm."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bunrui
from bunrui.data import read
from tests.service.conftest import SOURCE, TOKEN, TOPICS, Server
from tests.support.tab import EXPECTED, Browser, Held, Page, Tab, last_change, n_documents, table, upload
from tests.support.waiting import PATIENCE, wait_until

TEXT = "The prime minister welcomed the team after the final and promised parliament a vote on the stadium."
JAPANESE = "首相は決勝のあと代表チームを官邸に迎え、新しい競技場の予算を議会に約束した。"
NAVIGATION = ["分類", "ファイルを分類", "ラベル付け", "学習", "履歴", "単語", "評価", "比較", "点検"]
HARM = (
    '<script>alert(1)</script><img src=x onerror="alert(2)"><style>*{display:none}</style>'
    "\u202eevil\u202c\0\x1b[2J</textarea>{{7*7}}${alert(3)} &lt;b&gt;"
)
VIEWS = ("predict", "file", "train", "words", "evaluate", "compare", "audit")


MAILS = [
    {"date": f"2026-01-{k + 1:02}", "subject": f"{words} {k}", "folder": folder}
    for k, (words, folder) in enumerate([("cheap pills win money", "spam"), ("lunch at noon with the team", "ham")] * 6)
]


# --- the views


@pytest.mark.parametrize(
    "kind", ["csv", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("jsonl", "parquet"))]
)
def test_train_from_a_file(tab: Tab, kind: str) -> None:
    before = n_documents(tab.server)
    page = tab.open("train")
    upload(tab, f"mails.{kind}", table(kind, MAILS))
    EXPECTED(tab.view.locator(".rows thead th")).to_have_text(["date", "subject", "folder"])
    assert page.locator("#column-text").input_value() == "subject"
    assert page.locator("#column-label").input_value() == "folder"
    assert sorted(tab.view.locator(".inspected .bars li").all_text_contents()) == ["ham6", "spam6"]
    page.select_option("#column-label", "date")
    EXPECTED(tab.view.locator(".inspected .bars li")).to_have_count(12)
    page.select_option("#column-label", "folder")
    EXPECTED(tab.view.locator(".inspected .bars li")).to_have_count(2)
    tab.view.get_by_role("button", name="Learn 12 documents").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Documents learned: 12.")
    EXPECTED(page.locator("#about")).to_contain_text(f"{before + 12} documents")
    EXPECTED(tab.view.locator(".figures")).to_contain_text("Accuracy")
    EXPECTED(tab.view.locator(".cell[aria-label='ham, predicted as ham: 6']")).to_be_visible()
    assert n_documents(tab.server) == before + 12
    tab.view.get_by_role("button", name="Undo").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Documents taken back: 12.")
    assert n_documents(tab.server) == before


def test_train_asks_where_the_labels_are(tab: Tab) -> None:
    page = tab.open("train")
    upload(tab, "titles.csv", b"title,text,kind\nlunch,at noon we eat,ham\nwin,a lot of money,spam\n")
    EXPECTED(tab.view.locator(".inspected .warning")).to_contain_text("No column looks like labels")
    EXPECTED(tab.view.get_by_role("button", name="Learn 2 documents")).to_be_disabled()
    assert page.locator("#column-label").input_value() == ""
    page.select_option("#column-label", "kind")
    EXPECTED(tab.view.locator(".inspected .bars li")).to_have_count(2)
    EXPECTED(tab.view.get_by_role("button", name="Learn 2 documents")).to_be_enabled()
    # no column is both
    page.select_option("#column-text", "kind")
    EXPECTED(page.locator("#column-label")).to_have_value("")
    EXPECTED(tab.view.get_by_role("button", name="Learn 2 documents")).to_be_disabled()


def test_train_says_whether_the_first_line_is_a_document(tab: Tab) -> None:
    page = tab.open("train")
    upload(tab, "mails.csv", b"cheap pills,spam\nlunch at noon,ham\nwin money,spam\n")
    EXPECTED(tab.view.get_by_role("button", name="Learn 3 documents")).to_be_enabled()
    EXPECTED(tab.view.locator(".inspected")).to_contain_text("The first line is read as a document")
    named = page.get_by_label("The first line has the names of the columns")
    assert not named.is_checked()
    named.check()
    EXPECTED(tab.view.locator(".rows thead th")).to_have_text(["cheap pills", "spam"])
    page.get_by_label("The first line has the names of the columns").uncheck()
    EXPECTED(tab.view.locator(".rows thead th")).to_have_text(["1", "2"])
    before = n_documents(tab.server)
    tab.view.get_by_role("button", name="Learn 3 documents").click()
    EXPECTED(page.locator("#about")).to_contain_text(f"{before + 3} documents")
    tab.server.client.post("/v1/undo").raise_for_status()


def test_a_training_that_was_cancelled_too_late_is_told(tab: Tab) -> None:
    before = n_documents(tab.server)
    page = tab.open("train")
    late = []

    def be_late(route: Any) -> None:
        if not late:
            late.append(route)
            page.get_by_role("button", name="Cancel").click()
            wait_until(lambda: tab.server.client.get(route.request.url).json()["state"] == "done")
        route.continue_()

    page.route("**/v1/jobs/*", be_late)
    upload(tab, "mails.csv", table("csv", MAILS))
    tab.view.get_by_role("button", name="Learn 12 documents").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Documents learned: 12.")
    assert n_documents(tab.server) == before + 12
    tab.view.get_by_role("button", name="Undo").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Documents taken back: 12.")


def test_a_training_of_which_nothing_is_known_is_told(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    page = tab.open("train")
    page.route("**/v1/train?*", lambda route: route.abort())
    upload(tab, "mails.csv", table("csv", MAILS))
    tab.view.get_by_role("button", name="Learn 12 documents").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("It is not known whether the file was learned.")
    assert tab.view.get_by_role("button", name="Learn 12 documents").count() == 0
    tab.close("ERR_FAILED")


DROP = """([place, names]) => {
    const data = new DataTransfer();
    for (const name of names) data.items.add(new File(["text,label\\nlunch,ham\\n"], name));
    const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector(place).dispatchEvent(drop);
    return drop.defaultPrevented;
}"""


def test_no_file_is_left_out_silently(browser: Browser, news: Server) -> None:
    """Several are read together, or refused; one beside its place does not replace the page."""
    tab = Tab(browser, news)
    page = tab.open("file")
    place = "section.view:not([hidden]) .drop.large"
    assert page.evaluate(DROP, [place, ["a.csv", "b.csv"]])
    EXPECTED(page.locator("#alert")).to_contain_text("Drop one file at a time.")
    assert page.evaluate(DROP, ["header", ["a.csv"]])
    tab.go("train")
    page.evaluate(DROP, [place, ["a.csv", "b.csv"]])
    EXPECTED(tab.view.locator(".inspected h3").nth(1)).to_have_text("b.csv")
    EXPECTED(tab.view.get_by_role("button", name="Learn 2 documents")).to_be_enabled()
    EXPECTED(page.locator("#alert")).to_be_empty()
    tab.close("Drop one file")


@pytest.mark.slow  # tests/service/test_uploads.py has the same without a browser
def test_train_leaves_bad_rows_out_when_told_so(tab: Tab) -> None:
    tab.open("train")
    upload(tab, "mails.csv", table("csv", [*MAILS, {"date": "", "subject": "nobody knows", "folder": ""}]))
    button = tab.view.get_by_role("button", name="Learn 12 documents")
    EXPECTED(button).to_be_disabled()
    EXPECTED(tab.view).to_contain_text("mails.csv, line 14: The label is missing")
    tab.view.get_by_label("Leave them out").check()
    EXPECTED(button).to_be_enabled()


@pytest.mark.slow  # tests/service/test_page_file.py has a file with an error
def test_a_file_that_cannot_be_read(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    tab.open("train")
    upload(tab, "mails.pdf", b"%PDF")
    EXPECTED(tab.page.locator("#alert")).to_contain_text("mails.pdf: The name does not tell the format")
    tab.page.get_by_role("button", name="Close").click()
    EXPECTED(tab.page.locator("#alert")).to_be_empty()
    tab.close("422")


def test_predict_explain_correct_undo(tab: Tab) -> None:
    page = tab.open()
    was = tab.predict(TEXT)
    shares = tab.view.locator(".shares li").all_text_contents()
    known = tab.server.client.post("/v1/explain", json={"text": TEXT}).json()
    assert (was, len(shares)) == (known["label"], len(known["probabilities"]))

    # the exact contribution of a word
    first = known["contributions"][0]
    start, end = first["spans"][0]
    tab.view.locator(".run", has_text=TEXT[start:end].strip()).first.hover()
    sign = "−" if first["value"] < 0 else "+"
    EXPECTED(page.locator(".tip:visible")).to_contain_text(f"{sign}{abs(first['value']):.3f}")
    assert "".join(tab.view.locator(".why .text").all_text_contents()) == TEXT

    # the view of another class
    other = list(known["probabilities"])[2]
    tab.view.locator(".shares button", has_text=other).click()
    EXPECTED(tab.view.locator(".shares button[aria-pressed=true]")).to_contain_text(other)
    EXPECTED(tab.view.locator(".legend .chip.for")).to_have_text(other)
    EXPECTED(page.locator(".headline .label")).to_have_text(was)

    # what it is in truth
    page.get_by_role("button", name=f"This is {other}").click()
    EXPECTED(page.locator(".change")).to_contain_text(f"Learned as {other}.")
    EXPECTED(page.locator(".headline .label")).to_have_text(other)
    assert tab.server.client.post("/v1/predict", json={"texts": [TEXT]}).json()["labels"] == [other]
    page.get_by_role("button", name="Undo").click()
    EXPECTED(page.locator(".change")).to_contain_text("Taken back.")
    EXPECTED(page.locator(".headline .label")).to_have_text(was)
    assert tab.server.client.post("/v1/explain", json={"text": TEXT}).json() == known


def test_correct_what_was_learned_before(tab: Tab) -> None:
    """It gets another label, and is not learned twice; and a label that nobody has used."""
    before, number = n_documents(tab.server), last_change(tab.server)["number"]
    text = next(row["text"] for row in read("demo") if row["lang"] == "en" and row["label"] == "science")
    page = tab.open()
    tab.predict(text)
    page.get_by_role("combobox", name="Another label").fill("space")
    page.get_by_role("option", name="Make a new label “space”?").click()
    EXPECTED(page.locator(".change")).to_contain_text("now its label is space.")
    EXPECTED(page.locator(".change")).to_contain_text("No other document has the label space")
    assert n_documents(tab.server) == before
    change = last_change(tab.server)
    assert (change["kind"], change["number"]) == ("relabel", number + 1)
    assert {"label": "space", "documents": 1} in tab.server.client.get("/v1/labels").json()["labels"]
    page.get_by_role("button", name="Undo").click()
    EXPECTED(page.locator(".change")).to_contain_text("Taken back.")
    assert n_documents(tab.server) == before


OTHER = {"texts": ["somebody else"], "labels": ["world"]}


def corrected(tab: Tab) -> Page:
    """The page, on which a prediction was just corrected."""
    page = tab.open()
    tab.predict(TEXT)
    page.get_by_role("button", name="This is world").click()
    EXPECTED(page.locator(".change")).to_contain_text("Learned as world.")
    return page


def learns(tab: Tab) -> list[str]:
    """What is asked from now on that changes the classifier."""
    asked: list[str] = []
    verbs = ("learn", "relabel", "train", "undo", "unlearn")
    tab.page.on("request", lambda one: (verb := one.url.split("/")[-1].split("?")[0]) in verbs and asked.append(verb))
    return asked


TWICE = "(button) => { button.click(); button.click(); }"


def test_a_correction_is_about_the_text_that_is_there(tab: Tab) -> None:
    """The text was edited, and what is shown is still about the one before."""
    before, edited = n_documents(tab.server), f"{TEXT} Or was it another one?"
    page = tab.open()
    tab.predict(TEXT)
    asked, held = learns(tab), Held(page, "**/v1/explain")
    page.fill("#text", edited)
    chip = page.get_by_role("button", name="This is world")
    EXPECTED(chip).to_be_disabled()
    chip.evaluate("(button) => button.click()")
    EXPECTED(page.get_by_role("combobox", name="Another label")).to_be_disabled()
    EXPECTED(page.locator(".result")).to_have_attribute("aria-busy", "true")
    assert asked == [] and n_documents(tab.server) == before
    held.let_go()
    chip.click()
    EXPECTED(page.locator(".change")).to_contain_text("Learned as world.")
    assert n_documents(tab.server) == before + 1
    gone = tab.server.client.post("/v1/unlearn", json={"texts": [edited], "labels": ["world"]})
    assert gone.json()["documents"] == before


def test_a_double_click_changes_something_once(tab: Tab) -> None:
    before = n_documents(tab.server)
    page = tab.open()
    tab.predict(TEXT)
    asked = learns(tab)
    page.get_by_role("button", name="This is world").evaluate(TWICE)
    EXPECTED(page.locator(".change")).to_contain_text("Learned as world.")
    page.locator(".change button").evaluate(TWICE)
    EXPECTED(page.locator(".change")).to_contain_text("Taken back.")
    tab.go("train")
    for n_times in (1, 2):  # the same again is no double click
        upload(tab, "mails.csv", table("csv", MAILS))
        tab.view.get_by_role("button", name="Learn 12 documents").evaluate(TWICE)
        EXPECTED(page.locator("#about")).to_contain_text(f"{before + 12 * n_times} documents")
        EXPECTED(tab.view.locator(".figures")).to_be_visible()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("learned before, and now count once more: 12")
    tab.view.get_by_role("button", name="Undo").evaluate(TWICE)
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Documents taken back: 12.")
    assert asked == ["relabel", "learn", "undo", "train", "train", "undo"]
    tab.server.client.post("/v1/undo").raise_for_status()
    assert n_documents(tab.server) == before


def test_undo_belongs_to_what_it_stands_beside(tab: Tab) -> None:
    """Training is not taken back by a correction's button, nor a correction by that of the training."""
    before = n_documents(tab.server)
    page = tab.open("train")
    upload(tab, "mails.csv", table("csv", MAILS))
    tab.view.get_by_role("button", name="Learn 12 documents").click()
    EXPECTED(tab.view.locator(".figures")).to_be_visible()
    tab.go("predict")
    tab.predict(TEXT)
    page.get_by_role("button", name="This is world").click()
    EXPECTED(page.locator(".change")).to_contain_text("Learned as world.")
    tab.go("train")
    tab.view.get_by_role("button", name="Undo").click()
    EXPECTED(page.locator("#alert")).to_contain_text("Something else was changed since: nothing was undone.")
    assert n_documents(tab.server) == before + 13
    tab.go("predict")
    page.get_by_role("button", name="Undo").click()
    EXPECTED(page.locator(".change")).to_contain_text("Taken back.")
    tab.go("train")
    tab.view.get_by_role("button", name="Undo").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Documents taken back: 12.")
    assert n_documents(tab.server) == before


def test_a_mistake_that_is_corrected_is_no_new_document(tab: Tab) -> None:
    """It is shown cut, and with other line breaks: what gets another label is the document itself."""
    long = "The striker scored.\r\n" * 400
    tab.server.client.post("/v1/learn", json={"texts": [long], "labels": ["science"]}).raise_for_status()
    before = counts(tab.server)
    page = tab.open("evaluate")
    tab.view.get_by_role("button", name="Evaluate").click()
    tab.view.locator(".cell.wrong[aria-label^='science, predicted as sports']").click()
    tab.view.locator(".mistakes li", has_text="The striker scored.").get_by_role("button", name="Why?").click()
    page.get_by_role("button", name="This is sports").click()
    EXPECTED(page.locator(".change")).to_contain_text("now its label is sports.")
    assert changes(before, counts(tab.server)) == {"science": -1, "sports": 1}
    for _ in range(2):
        tab.server.client.post("/v1/undo").raise_for_status()


def test_a_file_is_predicted_as_it_is(tab: Tab) -> None:
    """Areas have line breaks of one character; a document of a file that was learned is still found."""
    text = "lunch\r\nat noon"
    tab.server.client.post("/v1/learn", json={"texts": [text], "labels": ["world"]}).raise_for_status()
    before = n_documents(tab.server)
    page = tab.open()
    file = page.locator("section.view:visible input[type=file]")
    file.set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": text.encode()})
    page.get_by_role("button", name="This is sports").click()
    EXPECTED(page.locator(".change")).to_contain_text("now its label is sports.")
    assert n_documents(tab.server) == before
    for _ in range(2):
        tab.server.client.post("/v1/undo").raise_for_status()


@pytest.mark.slow  # tests/service/test_learn.py has the same without a browser
def test_undo_takes_back_nothing_of_others(tab: Tab) -> None:
    """Somebody else has learned meanwhile: only the correction of this page goes."""
    before = n_documents(tab.server)
    page = corrected(tab)
    tab.server.client.post("/v1/learn", json=OTHER)
    page.get_by_role("button", name="Undo").click()
    EXPECTED(page.locator(".change")).to_contain_text("Taken back.")
    assert tab.server.client.post("/v1/unlearn", json=OTHER).json()["documents"] == before


@pytest.mark.slow  # tests/service/test_learn.py has the same without a browser
def test_undo_takes_back_nothing_of_who_is_quicker(tab: Tab) -> None:
    """Somebody else learns when the page has already asked to undo."""
    before = n_documents(tab.server)
    page = corrected(tab)

    def be_quicker(route: Any) -> None:
        tab.server.client.post("/v1/learn", json=OTHER)
        route.continue_()

    page.route("**/v1/undo", be_quicker)
    page.get_by_role("button", name="Undo").click()
    EXPECTED(page.locator(".change")).to_contain_text("Taken back.")
    assert tab.server.client.post("/v1/unlearn", json=OTHER).json()["documents"] == before


def test_work_goes_on_when_the_service_does_not_answer_for_a_moment(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    page = tab.open("evaluate")
    left = ["busy", "gone", "busy"]

    def fail(route: Any) -> None:
        if not left:
            route.continue_()
        elif left.pop() == "gone":
            route.abort()
        else:
            told = json.dumps({"type": "urn:bunrui:problem:busy", "status": 503, "detail": "try again"})
            route.fulfill(status=503, content_type="application/problem+json", body=told)

    page.route("**/v1/jobs/*", fail)
    tab.view.get_by_role("button", name="Evaluate").click()
    EXPECTED(tab.view.locator(".figures")).to_contain_text("200")
    assert left == []
    tab.close("503", "ERR_FAILED")


def test_predict_a_file(tab: Tab) -> None:
    page = tab.open()
    file = page.locator("section.view:visible input[type=file]")
    file.set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": JAPANESE.encode()})
    EXPECTED(page.locator("#text")).to_have_value(JAPANESE)
    EXPECTED(tab.view.locator(".why .text")).to_have_text(JAPANESE)
    page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["lunch at noon"], "b.txt"));
            document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
        }"""
    )
    EXPECTED(page.locator("#text")).to_have_value("lunch at noon")


def test_words(tab: Tab) -> None:
    page = tab.open("words")
    EXPECTED(tab.view.locator(".column")).to_have_count(5)
    page.fill("#word", "Team")
    page.keyboard.press("Enter")
    EXPECTED(tab.view.locator(".word caption")).to_have_text("team")
    [known] = tab.server.client.get("/v1/words", params={"word": "team", "label": "sports"}).json()["words"]
    row = tab.view.locator(".word tbody tr", has_text="sports")
    assert row.locator("td").all_text_contents()[:2] == [str(known["counts"]["sports"]), f"+{known['weight']:.3f}"]
    page.fill("#word", "xyzzy")
    page.keyboard.press("Enter")
    EXPECTED(tab.view.locator(".word")).to_contain_text("xyzzy was never learned.")


def test_evaluate(tab: Tab) -> None:
    page = tab.open("evaluate")
    tab.view.get_by_role("button", name="Evaluate").click()
    EXPECTED(tab.view.locator(".figures")).to_contain_text("200")
    cells = tab.view.locator(".cell")
    EXPECTED(cells).to_have_count(25)
    counts = [int(re.search(r": (\d+)$", label)[1]) for label in cells.evaluate_all("all => all.map(e => e.ariaLabel)")]
    assert sum(counts) == 200
    wrong = tab.view.locator(".cell.wrong:not(.none)").first
    n = int(re.search(r": (\d+)$", wrong.get_attribute("aria-label"))[1])
    wrong.click()
    EXPECTED(tab.view.locator(".mistakes li")).to_have_count(n)
    text = tab.view.locator(".mistakes li .text").first.text_content()
    EXPECTED(tab.view.locator("svg.chart .point").first).to_be_attached()
    tab.view.get_by_role("button", name="Draw it").click()
    EXPECTED(tab.view.locator("svg.chart .line")).to_be_visible()
    tab.view.get_by_role("button", name="Why?").first.click()
    EXPECTED(page.locator("#predict-title")).to_be_visible()
    EXPECTED(page.locator("#text")).to_have_value(text)


def counts(server: Server) -> dict[str, int]:
    return {one["label"]: one["documents"] for one in server.client.get("/v1/labels").json()["labels"]}


def changes(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {label: after[label] - n for label, n in before.items() if after[label] != n}


def test_audit(tab: Tab) -> None:
    before = counts(tab.server)
    page = tab.open("audit")
    tab.view.get_by_role("button", name="Look for suspect labels").click()
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    text = tab.view.locator(".card .text").text_content()
    given = tab.view.locator(".legend .chip.for").text_content()
    suggested = tab.view.locator(".legend .chip.against").text_content()
    assert tab.view.locator(".card .run:is(.a1, .a2, .a3, .a4, .a5)").count() > 0
    page.keyboard.press("r")
    EXPECTED(tab.view.locator(".card")).to_contain_text("2 of ")
    assert changes(before, counts(tab.server)) == {given: -1, suggested: 1}
    page.keyboard.press("k")
    EXPECTED(tab.view.locator(".card")).to_contain_text("3 of ")
    page.keyboard.press("u")
    page.keyboard.press("u")
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    assert counts(tab.server) == before
    page.keyboard.press("k")
    EXPECTED(tab.view.locator(".card")).to_contain_text("2 of ")
    tab.view.get_by_role("button", name="Look for suspect labels").click()
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    assert tab.view.locator(".card .text").text_content() != text


def test_audit_does_one_thing_at_a_time(tab: Tab) -> None:
    before = counts(tab.server)
    page = tab.open("audit")
    tab.view.get_by_role("button", name="Look for suspect labels").click()
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    press = "(repeat) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', repeat, bubbles: true }))"
    page.evaluate(press, True)
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    number = last_change(tab.server)["number"]
    page.evaluate("for (const _ of [1, 2]) document.querySelector('.card button[data-key=r]').click()")
    EXPECTED(tab.view.locator(".card")).to_contain_text("2 of ")
    assert last_change(tab.server)["number"] == number + 1
    page.keyboard.press("u")
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    assert counts(tab.server) == before


def test_audit_takes_back_what_it_did(tab: Tab) -> None:
    """Not what another view did since."""
    before = n_documents(tab.server)
    page = tab.open("audit")
    tab.view.get_by_role("button", name="Look for suspect labels").click()
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    page.keyboard.press("r")
    EXPECTED(tab.view.locator(".card")).to_contain_text("2 of ")
    tab.go("predict")
    tab.predict(TEXT)
    page.get_by_role("button", name="This is world").click()
    EXPECTED(page.locator(".change")).to_contain_text("Learned as world.")
    tab.go("audit")
    page.keyboard.press("u")
    EXPECTED(page.locator("#alert")).to_contain_text("Something else was changed since: nothing was undone.")
    assert n_documents(tab.server) == before + 1
    tab.go("predict")
    page.get_by_role("button", name="Undo").click()
    EXPECTED(page.locator(".change")).to_contain_text("Taken back.")
    tab.go("audit")
    page.keyboard.press("u")
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    assert n_documents(tab.server) == before


def audited(tab: Tab) -> Page:
    page = tab.open("audit")
    tab.view.get_by_role("button", name="Look for suspect labels").click()
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of 3")
    return page


def keys(tab: Tab) -> dict[str, str]:
    """What the keys with digits mean."""
    chips = tab.view.locator(".card .chip[data-key]").all_text_contents()
    return dict(text.split(" ", 1) for text in chips)


def skip_to(tab: Tab, said: str) -> None:
    """Keep labels up to the document of which this is said."""
    while said not in str(tab.view.locator(".card").text_content()):
        place = tab.view.locator(".card p").first
        text = place.text_content()
        tab.page.keyboard.press("k")
        EXPECTED(place).not_to_have_text(text)


def test_audit_keys_keep_their_meaning(browser: Browser, topics: Server) -> None:
    tab = Tab(browser, topics)
    before = counts(topics)
    page = audited(tab)
    skip_to(tab, "Labelled topic a (")
    meant = keys(tab)
    assert list(meant) == list("1234567890") and set(meant.values()) < set(TOPICS)
    skip_to(tab, "Labelled topic t (")
    assert keys(tab) == meant
    digit, label = next((digit, label) for digit, label in meant.items() if label not in ("topic t", "topic a"))
    place = tab.view.locator(".card p").first.text_content()
    page.keyboard.press(digit)
    EXPECTED(tab.view.locator(".card p").first).not_to_have_text(place)
    assert changes(before, counts(topics)) == {"topic t": -1, label: 1}
    tab.reload()
    tab.go("audit")
    tab.view.get_by_role("button", name="Look for suspect labels").click()
    EXPECTED(tab.view.locator(".card .chip").first).to_be_visible()
    assert keys(tab) == meant
    topics.client.post("/v1/undo").raise_for_status()
    tab.close()


@pytest.mark.slow  # tests/service/test_page_picker.py tries the field
def test_audit_reaches_all_labels(browser: Browser, topics: Server) -> None:
    tab = Tab(browser, topics)
    before = counts(topics)
    page = audited(tab)
    tab.view.get_by_role("combobox").click()
    shown = tab.view.get_by_role("option").locator("bdi").all_text_contents()
    assert sorted(shown) == TOPICS
    page.keyboard.press("Escape")
    tab.view.locator(".card").focus()
    skip_to(tab, "Labelled topic t (")
    chosen = next(label for label in reversed(shown) if label not in keys(tab).values())
    place = tab.view.locator(".card p").first.text_content()
    page.keyboard.press("/")
    page.keyboard.type("topic")
    page.keyboard.press("Enter")  # several are meant
    assert tab.view.locator(".active").count() == 1
    page.keyboard.type(chosen.removeprefix("topic").upper())
    EXPECTED(tab.view.locator(".card [role=option] bdi")).to_have_text([chosen])
    assert counts(topics) == before
    page.keyboard.press("Enter")
    EXPECTED(tab.view.locator(".card p").first).not_to_have_text(place)
    assert changes(before, counts(topics)) == {"topic t": -1, chosen: 1}
    topics.client.post("/v1/undo").raise_for_status()
    tab.close()


@pytest.mark.slow  # tests/service/test_learn.py has the same without a browser
def test_several_labels_are_not_replaced_by_one(browser: Browser, topics: Server) -> None:
    tab = Tab(browser, topics)
    before = counts(topics)
    page = audited(tab)
    skip_to(tab, "Labelled topic a, topic b")
    EXPECTED(tab.view.locator(".card .picker .chip")).to_have_text(["topic a ×", "topic b ×"])
    place = tab.view.locator(".card p").first.text_content()
    EXPECTED(tab.view.locator(".card li").first).to_contain_text("topic a looks wrong: of documents that")
    for key in "1234":
        page.keyboard.press(key)
    EXPECTED(tab.view.locator(".card p").first).to_have_text(place)
    text = str(tab.view.locator(".card .text").text_content())
    assert counts(topics) == before
    # a set is chosen as a whole
    tab.view.get_by_role("button", name="Remove topic b").click()
    page.keyboard.type("topic g")
    page.keyboard.press("Enter")
    tab.view.locator(".card").focus()
    page.keyboard.press("s")
    EXPECTED(tab.view.locator(".card")).to_contain_text("was topic a, topic b, and is topic a, topic g now.")
    assert changes(before, counts(topics)) == {"topic b": -1, "topic g": 1}
    page.keyboard.press("u")
    EXPECTED(tab.view.locator(".card p").first).to_have_text(place)
    page.keyboard.press("r")
    EXPECTED(tab.view.locator(".card")).to_contain_text("was topic a, topic b, and is topic g now.")
    assert changes(before, counts(topics)) == {"topic a": -1, "topic b": -1, "topic g": 1}
    page.keyboard.press("u")
    EXPECTED(tab.view.locator(".card p").first).to_have_text(place)
    tab.go("predict")
    tab.predict(text)
    tab.view.get_by_label("Several labels").uncheck()
    page.get_by_role("button", name="This is topic g").click()
    EXPECTED(page.locator("#alert")).to_contain_text("This document has several labels")
    assert counts(topics) == before
    tab.close()


# --- in Japanese


def test_in_japanese(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news, locale="ja-JP")
    page = tab.open()
    assert page.evaluate("document.documentElement.lang") == "ja"
    assert page.locator("nav a").all_text_contents() == NAVIGATION
    was = tab.predict(JAPANESE)
    known = news.client.post("/v1/explain", json={"text": JAPANESE}).json()
    assert was == known["label"]
    assert "".join(tab.view.locator(".why .text").all_text_contents()) == JAPANESE
    other = list(known["probabilities"])[1]
    page.get_by_role("button", name=f"これは {other}").click()
    EXPECTED(page.locator(".change")).to_contain_text(f"{other} として学習しました。")
    page.get_by_role("button", name="元に戻す").click()
    EXPECTED(page.locator(".change")).to_contain_text("元に戻しました。")
    assert news.client.post("/v1/explain", json={"text": JAPANESE}).json() == known
    tab.go("words")
    page.fill("#word", "首相")
    page.keyboard.press("Enter")
    EXPECTED(tab.view.locator(".word caption")).to_have_text("首相")
    # the language changes where the page is
    page.select_option("#language", "ko")
    EXPECTED(page.locator("#words-title")).to_have_text("단어")
    EXPECTED(tab.view.locator(".word caption")).to_have_text("首相")
    tab.reload()
    EXPECTED(page.locator("nav a").first).to_have_text("분류")
    tab.close()


def test_drawings_follow_the_language(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news, locale="ja-JP")
    page = tab.open("evaluate")
    tab.view.get_by_role("button", name="評価する").click()
    EXPECTED(tab.view.locator("svg.matrix text.axis").first).to_have_text("分類結果 →")
    cell = tab.view.locator(".cell.right").first
    name = re.fullmatch(r"(\w+) を \1 と分類：(\d+)", cell.get_attribute("aria-label"))
    assert name and cell.locator("title").text_content() == name[0]
    EXPECTED(tab.view.locator(".figures dt").first).to_have_text("正解率")
    page.select_option("#language", "ko")
    EXPECTED(tab.view.locator("svg.matrix text.axis").first).to_have_text("예측 →")
    EXPECTED(tab.view.locator(".figures dt").first).to_have_text("정확도")
    EXPECTED(cell).not_to_have_attribute("aria-label", name[0])
    page.select_option("#language", "ja")
    EXPECTED(cell).to_have_attribute("aria-label", name[0])
    tab.close()


# --- who may do what


def test_without_the_token(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    page = tab.open(token=None)
    EXPECTED(page.locator("#notice")).to_contain_text("Read-only")
    tab.predict(TEXT)
    assert page.locator(".fixing button").count() == 0
    tab.go("train")
    assert tab.view.locator(".drop.large").is_hidden()
    tab.go("audit")
    EXPECTED(tab.view.get_by_role("button")).to_be_disabled()
    tab.go("evaluate")
    tab.view.get_by_role("button", name="Evaluate").click()
    tab.view.locator(".cell.wrong:not(.none)").first.click()
    EXPECTED(tab.view.locator(".mistakes")).to_have_text("With the token you could see these documents.")

    page.get_by_role("button", name="Enter the token").click()
    page.get_by_label("Token", exact=True).fill("wrong")
    page.keyboard.press("Enter")
    EXPECTED(page.get_by_role("dialog")).to_contain_text("The service does not know this token.")
    page.get_by_label("Token", exact=True).fill(TOKEN)
    page.keyboard.press("Enter")
    EXPECTED(page.locator("#notice")).to_be_hidden()
    tab.reload()
    EXPECTED(page.get_by_role("button", name="Forget the token")).to_be_visible()
    tab.close("401")


def test_the_token_leaves_the_address(tab: Tab) -> None:
    page = tab.open()
    assert page.url == f"{tab.server.url}/"
    assert page.evaluate("sessionStorage.length + localStorage.length") == 1
    assert TOKEN not in tab.server.log.read_text().partition("\n")[2]


# --- texts that mean harm


def test_harmful_text_is_shown(tab: Tab) -> None:
    page = tab.open()
    tab.page.fill("#text", HARM)
    page.keyboard.press("Control+Enter")
    shown = tab.view.locator(".why .text")
    EXPECTED(shown).to_contain_text("<script>alert(1)</script><img src=x")
    EXPECTED(shown).to_contain_text("‹U+202E›evil‹U+202C›␀␛[2J</textarea>{{7*7}}${alert(3)} &lt;b&gt;")
    assert page.locator("main script, main img, main style").count() == 0


def test_harmful_labels_are_shown(tab: Tab) -> None:
    label = "<img src=x onerror=alert(1)>\u202e'\""
    rows = [{"text": f"{HARM} {k}", "label": label} for k in range(3)]
    page = tab.open("train")
    upload(tab, "<b>mails.jsonl", table("jsonl", rows))
    EXPECTED(tab.view.locator(".inspected .bars li")).to_have_text("<img src=x onerror=alert(1)>‹U+202E›'\"3")
    tab.view.get_by_role("button", name="Learn 3 documents").click()
    EXPECTED(tab.view.locator(".results")).to_be_visible()
    tab.view.get_by_role("link", name="<img src=x").first.click()
    tab.go("words")
    EXPECTED(tab.view.locator(".columns")).to_contain_text("<img src=x")
    tab.go("predict")
    tab.predict(TEXT)
    page.get_by_role("button", name="This is <img").click()
    EXPECTED(page.locator(".change")).to_contain_text("Learned as <img src=x onerror=alert(1)>‹U+202E›")
    for _ in range(2):
        tab.server.client.post("/v1/undo").raise_for_status()


def test_names_that_objects_have(tab: Tab) -> None:
    """A label, or an address, such as `constructor` is no more than a name."""
    tab.server.client.post("/v1/learn", json={"texts": ["zzz"], "labels": ["constructor"]}).raise_for_status()
    page = tab.open("words")
    EXPECTED(tab.view.locator(".column ol")).to_have_count(6)
    page.fill("#word", "team")
    page.keyboard.press("Enter")
    EXPECTED(tab.view.locator(".word caption")).to_have_text("team")
    assert tab.view.locator(".word tbody tr", has_text="constructor").locator("td").first.text_content() == "0"
    tab.server.client.post("/v1/undo").raise_for_status()
    page.evaluate("location.hash = '#/constructor'")
    EXPECTED(page.locator("#predict-title")).to_be_visible()
    script = """async () => {
        const { bars } = await import("/js/bars.js");
        return bars([["constructor", 0.5]], { before: {} }).querySelectorAll(".mark").length;
    }"""
    assert page.evaluate(script) == 0


def test_many_contributions(tab: Tab) -> None:
    """More than a function takes parameters."""
    script = "async () => (await import('/js/show.js')).signed(new Array(500000).fill(-0.25))(-0.25)"
    assert tab.open().evaluate(script) == "−0.250"


def test_a_megabyte_of_one_character(tab: Tab) -> None:
    page = tab.open()
    page.evaluate(
        """() => {
            const area = document.getElementById("text");
            area.value = "あ".repeat(1 << 20);
            area.dispatchEvent(new Event("input"));
        }"""
    )
    EXPECTED(tab.view.locator(".why")).to_contain_text("A text of more than 100,000 characters is predicted")
    assert len(tab.view.locator(".why .text").text_content()) < 3000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_half_characters(tab: Tab) -> None:
    """JavaScript's strings may have them, JSON that is sent may not."""
    page = tab.open()
    page.evaluate(
        """() => {
            const area = document.getElementById("text");
            area.value = "lunch \\ud83c at \\udf55 noon 🍕";
            area.dispatchEvent(new Event("input"));
        }"""
    )
    EXPECTED(tab.view.locator(".why .text")).to_have_text("lunch \ufffd at \ufffd noon 🍕")
    tab.go("train")
    upload(tab, "half.jsonl", b'{"text": "lunch \\ud800 at noon", "label": "ham"}\n{"text": "noon", "label": "ham"}\n')
    EXPECTED(tab.view.locator(".inspected")).to_contain_text("Rows that cannot be read: 1")


def test_texts_are_shown_as_in_python(tab: Tab) -> None:
    from bunrui.phrases import visible
    from bunrui.views.explanation import spell

    page = tab.open()
    texts = [
        *map(chr, range(0x180)),
        "\r\n",
        "\u202e",
        "\u2066",
        "\ue000 x",
        "\ue002\t",
        "",
        "長" * 100,
        "🍕" * 90,
        HARM,
    ]
    script = """async (texts) => {
        const { shown, visible } = await import("/js/show.js");
        return texts.map((text) => [visible(text), shown(text)]);
    }"""
    assert page.evaluate(script, texts) == [[visible(text), spell(text)] for text in texts]


# --- for everybody


@pytest.mark.slow  # in Japanese, every view is as wide in tests/service/test_page_access.py
def test_no_view_is_wider_than_a_phone(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news, viewport={"width": 360, "height": 740})
    page = tab.open()
    tab.predict("a-word-that-does-not-end" * 40 + " " + TEXT)
    for language in ("en", "ja", "zh", "ko"):
        page.select_option("#language", language)
        for view in VIEWS:
            tab.go(view)
            assert page.evaluate("document.documentElement.scrollWidth") == 360, (language, view)
    tab.close()


def test_by_keyboard_alone(tab: Tab) -> None:
    page = tab.open()
    page.keyboard.press("Tab")
    EXPECTED(page.locator(".skip")).to_be_focused()
    page.keyboard.press("/")
    EXPECTED(page.locator("#text")).to_be_focused()
    page.keyboard.type(TEXT)
    page.keyboard.press("Control+Enter")
    EXPECTED(page.locator(".headline .label")).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('run')"):
            break
    first = page.evaluate("document.activeElement.textContent")
    EXPECTED(page.locator(".tip")).to_be_visible()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") != first
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Escape")
    EXPECTED(page.locator(".tip")).to_be_hidden()
    page.keyboard.press("w")
    EXPECTED(page.locator("#words-title")).to_be_focused()
    page.keyboard.press("?")
    assert page.get_by_role("dialog").locator("dt").all_text_contents()[:3] == ["p", "f", "l"]
    page.get_by_label("Switch off the keys").check()
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    EXPECTED(page.locator("#words-title")).to_be_visible()


def test_dark_and_light(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news, color_scheme="dark")
    page = tab.open()
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.locator("#theme").click()
    light = page.evaluate(ground)
    assert dark == "rgb(16, 22, 27)" and light == "rgb(247, 248, 249)"
    tab.reload()
    assert page.evaluate(ground) == light
    tab.close()


# --- as it is served


def test_the_policy_is_strict(news: Server) -> None:
    with news.stranger() as client:
        for path in ("/", "/js/main.js", "/style.css", "/lang/ja.json"):
            answer = client.get(path)
            assert answer.status_code == 200 and "unsafe" not in answer.headers["content-security-policy"], path
        assert client.get("/js/main.js").headers["content-type"].startswith("text/javascript")


def test_the_limit_of_explanations_is_that_of_the_service(news: Server) -> None:
    schema = news.client.get("/openapi.json").json()["paths"]["/v1/explain"]["post"]["requestBody"]["content"]
    longest = schema["application/json"]["schema"]["properties"]["text"]["maxLength"]
    source = Path(bunrui.__file__).parent / "service" / "web" / "js" / "views" / "predict.js"
    assert f"LONGEST_EXPLAINED = {longest};" in source.read_text(encoding="utf-8")


def test_demo_serves_the_page(browser: Browser, tmp_path: Path) -> None:
    temporary, log = tmp_path / "temporary", tmp_path / "log"
    temporary.mkdir()
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "bunrui", "demo", "--serve", "--no-browser"]
    with log.open("wb") as stderr:
        reset = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen(command, env=environment, stderr=stderr, preexec_fn=reset)
    try:
        wait_until(lambda: process.poll() is not None or "\n" in log.read_text())
        said = log.read_text().splitlines()[0]
        address = re.fullmatch(r"the page is at (http://127\.0\.0\.1:\d+/#token=[\w-]{32})", said)[1]
        page = browser.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        EXPECTED(page.locator("#about")).to_contain_text("news.bunrui")
        EXPECTED(page.locator("#about")).to_contain_text("400")
        EXPECTED(page.locator("#notice")).to_be_hidden()
        page.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait(PATIENCE)
    assert list(temporary.iterdir()) == []
