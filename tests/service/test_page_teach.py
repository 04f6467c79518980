"""The view that teaches: by keyboard alone, a file of documents becomes a classifier."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bunrui
from tests.service.conftest import Server, running
from tests.support.examples import quick
from tests.support.pools import two_topics
from tests.support.tab import EXPECTED, Tab, last_change, n_documents, upload
from tests.support.waiting import wait_until

SPAM, HAM = ["pills", "money", "cheap", "win", "free", "offer"], ["noon", "lunch", "meeting", "late", "team", "report"]
TEXTS = [f"{SPAM[k % 6]} {SPAM[k % 5]} {k}" for k in range(30)] + [f"{HAM[k % 6]} {HAM[k % 5]} {k}" for k in range(30)]
CSV = "\n".join(["text", *TEXTS]).encode()


def label_of(text: str) -> str:
    return "spam" if text.split()[0] in SPAM else "ham"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("teach") / "a.bunrui"
    bunrui.create(path).close()
    yield from running(path)


def forget_all(server: Server) -> None:
    server.client.request("DELETE", "/v1/teach")
    if n_documents(server):
        server.client.post("/v1/undo", json={"to": 0})


@pytest.fixture
def teaching(browser: Any, own: Server) -> Iterator[Tab]:
    """The view, of a classifier that knows nothing, without documents."""
    forget_all(own)
    tab = Tab(browser, own)
    tab.open()
    tab.page.keyboard.press("l")
    EXPECTED(tab.page.locator("#teach-title")).to_be_visible()
    yield tab
    tab.close()


def begin(tab: Tab, labels: str, body: bytes = CSV) -> None:
    upload(tab, "mails.csv", body)
    tab.page.fill("#teach-labels", labels)
    tab.page.press("#teach-labels", "Enter")
    EXPECTED(text_of(tab)).to_be_visible()


def text_of(tab: Tab) -> Any:
    return tab.view.locator(".card .text")


def press(tab: Tab, key: str) -> str:
    """Press a key, and wait for the next document; the text before."""
    before = str(text_of(tab).text_content())
    tab.page.keyboard.press(key)
    EXPECTED(text_of(tab)).not_to_have_text(before)
    return before


def learned(server: Server) -> dict[str, list[str]]:
    found = server.client.get("/v1/documents", params={"limit": 200}).json()["documents"]
    return {document["text"]: document["labels"] for document in found}


def wait_for(server: Server, n: int) -> None:
    wait_until(lambda: n_documents(server) == n)


def test_one_key_teaches_and_the_accuracy_follows(teaching: Tab, own: Server) -> None:
    begin(teaching, "spam, ham")
    answers = {}
    for _ in range(24):
        text = str(text_of(teaching).text_content())
        answers[text] = [label_of(text)]
        press(teaching, {"spam": "1", "ham": "2"}[label_of(text)])
    wait_for(own, 24)
    assert learned(own) == answers
    EXPECTED(teaching.view.get_by_text("Answers: 24. Documents left: 36.")).to_be_visible()
    EXPECTED(teaching.view.locator("aside svg.chart")).to_be_visible()
    EXPECTED(teaching.view.locator("aside dl")).to_contain_text(re.compile(r"Accuracy[\d.]+%.*documents at random"))
    EXPECTED(teaching.view.locator(".chip.guess")).to_have_count(1)


def test_undo_and_skip_by_key(teaching: Tab, own: Server) -> None:
    begin(teaching, "spam, ham")
    skipped, first = press(teaching, "s"), press(teaching, "1")
    shown = text_of(teaching).text_content()
    teaching.page.keyboard.press("u")
    EXPECTED(text_of(teaching)).to_have_text(first)
    assert press(teaching, "2") == first
    EXPECTED(text_of(teaching)).to_have_text(str(shown))
    wait_for(own, 1)
    assert learned(own) == {first: ["ham"]} and skipped != first


@pytest.mark.slow  # tests/service/test_teach.py has the same without a browser
def test_undo_leaves_the_answers_of_others(teaching: Tab, own: Server) -> None:
    """Somebody was quicker with the second document: one's last answer is the first."""
    begin(teaching, "spam, ham")
    first = press(teaching, "1")
    wait_for(own, 1)
    second = str(text_of(teaching).text_content())
    own.client.post("/v1/learn", json={"texts": [second], "labels": ["ham"]})
    press(teaching, "1")
    teaching.page.keyboard.press("u")
    EXPECTED(text_of(teaching)).to_have_text(first)
    wait_for(own, 1)
    assert learned(own) == {second: ["ham"]}


@pytest.mark.slow  # tests/service/test_page_picker.py tries the field
def test_labels_are_found_as_one_goes(teaching: Tab, own: Server) -> None:
    """Without names: a new label is asked for in so many words, and has a key from then on."""
    begin(teaching, "")
    for key, name in (("1", "work mail"), ("2", "other")):
        before = str(text_of(teaching).text_content())
        teaching.page.keyboard.press("/")
        teaching.page.keyboard.type("mistaken")
        teaching.page.keyboard.press("Escape")  # back to the keys
        EXPECTED(teaching.view.locator(".picker input")).to_have_value("")
        teaching.page.keyboard.press("n")
        teaching.page.keyboard.type(name)
        EXPECTED(teaching.view.get_by_text(f"Make a new label “{name}”?")).to_be_visible()
        teaching.page.keyboard.press("Enter")
        teaching.page.keyboard.press("Enter")
        EXPECTED(text_of(teaching)).not_to_have_text(before)
        EXPECTED(teaching.view.locator(f'button[data-key="{key}"]')).to_contain_text(name)
    text = press(teaching, "1")
    wait_for(own, 3)
    assert learned(own)[text] == ["work mail"]


def test_a_label_that_is_a_digit_has_that_key(teaching: Tab, own: Server) -> None:
    """Other labels get the keys that are left; a new label takes its digit from the one that had it."""
    begin(teaching, "spam, 1, 0")
    chips = teaching.view.locator(".chips button")
    EXPECTED(chips).to_have_text(["2 spam", "1 1", "0 0"])
    answers = {press(teaching, key): [label] for key, label in (("0", "0"), ("1", "1"), ("2", "spam"))}
    before = str(text_of(teaching).text_content())
    teaching.page.keyboard.press("n")
    teaching.page.keyboard.type("2")
    EXPECTED(teaching.view.get_by_text("Make a new label “2”?")).to_be_visible()
    teaching.page.keyboard.press("Enter")
    teaching.page.keyboard.press("Enter")
    EXPECTED(chips).to_have_text(["3 spam", "1 1", "0 0", "2 2"])
    answers |= {before: ["2"], press(teaching, "3"): ["spam"]}
    wait_for(own, 5)
    assert learned(own) == answers


@pytest.mark.slow  # strings that are digits have theirs above
def test_integer_labels_have_their_digits(teaching: Tab, own: Server) -> None:
    own.client.post("/v1/learn", json={"texts": ["pills", "noon", "late"], "labels": [1, 0, 12]})
    begin(teaching, "")
    answers = {press(teaching, key): [label] for key, label in (("0", 0), ("1", 1), ("2", 12))}
    wait_for(own, 6)
    assert answers.items() <= learned(own).items()


def test_several_labels(teaching: Tab, own: Server) -> None:
    begin(teaching, "spam, ham, urgent")
    teaching.page.keyboard.press(",")
    EXPECTED(teaching.page.locator("#teach-several")).to_be_checked()
    for key in "132":
        teaching.page.keyboard.press(key)
    teaching.page.keyboard.press("2")
    boxes = teaching.view.get_by_role("checkbox", name=re.compile(r"^\d (spam|ham|urgent)"))
    EXPECTED(boxes).to_have_count(3)
    assert [box.get_attribute("aria-checked") for box in boxes.all()] == ["true", "false", "true"]
    text = press(teaching, "Enter")
    wait_for(own, 1)
    assert learned(own) == {text: ["spam", "urgent"]}


@pytest.mark.slow  # tests/service/test_teach.py has the same without a browser
def test_nothing_is_lost_when_the_tab_closes(browser: Any, teaching: Tab, own: Server) -> None:
    begin(teaching, "spam, ham")
    known = {press(teaching, "1"), press(teaching, "2")}
    wait_for(own, 2)
    other = Tab(browser, own)
    other.open("teach")
    EXPECTED(other.view.get_by_text("Answers: 2. Documents left: 58.")).to_be_visible()
    assert text_of(other).text_content() not in {*known, text_of(teaching).text_content()}
    EXPECTED(other.view.locator('button[data-key="2"]')).to_contain_text("ham")
    other.close()
    shown = text_of(teaching).text_content()
    teaching.reload()
    EXPECTED(text_of(teaching)).to_have_text(str(shown))


def test_an_answer_that_cannot_be_sent_is_asked_again(teaching: Tab, own: Server) -> None:
    begin(teaching, "spam, ham")
    teaching.page.route("**/v1/teach/answer", lambda route: route.abort())
    text = press(teaching, "1")
    EXPECTED(teaching.page.locator("#alert")).not_to_be_empty()
    teaching.page.unroute("**/v1/teach/answer")
    press(teaching, "2")
    EXPECTED(text_of(teaching)).to_have_text(text)
    wait_for(own, 1)
    teaching.faults = [fault for fault in teaching.faults if "ERR_FAILED" not in fault]


@pytest.mark.slow  # tests/service/test_teach.py has the same without a browser
def test_the_end_and_other_documents(teaching: Tab, own: Server) -> None:
    own.client.post("/v1/learn", json={"texts": TEXTS[:58], "labels": [label_of(text) for text in TEXTS[:58]]})
    begin(teaching, "spam, ham")
    press(teaching, "s")
    teaching.page.keyboard.press("2")
    EXPECTED(teaching.view.get_by_text("All documents have an answer.")).to_be_visible()
    teaching.view.get_by_role("button", name="Ask again for those that were skipped (1)").click()
    EXPECTED(text_of(teaching)).to_be_visible()
    teaching.page.keyboard.press("2")
    EXPECTED(teaching.view.get_by_text("All documents have an answer.")).to_be_visible()
    wait_for(own, 60)
    assert last_change(own)["kind"] == "learn"
    teaching.view.get_by_role("button", name="Take other documents").click()
    EXPECTED(teaching.view.locator(".drop")).to_be_visible()


@pytest.mark.slow  # tests/service/test_teach.py has the same without a browser
def test_a_switch_for_documents_without_an_answer(teaching: Tab, own: Server) -> None:
    texts, labels, pool = two_topics()
    own.client.post("/v1/learn", json={"texts": texts, "labels": labels})
    begin(teaching, "tea, oil", "\n".join(["text", *pool]).encode())
    switch = teaching.view.get_by_label("Learn from documents without an answer, too")
    EXPECTED(switch).not_to_be_checked()
    switch.press("Space")
    said = re.compile(r"160 documents without an answer help: [\d.]+% are right by a test on the answers")
    EXPECTED(teaching.view.locator("#teach-help")).to_have_text(said)
    assert last_change(own)["note"]["unlabelled"] == 160
    switch.press("Space")
    EXPECTED(teaching.view.locator("#teach-help")).to_contain_text("With few answers, they may help.")
    EXPECTED(switch).not_to_be_checked()
    assert own.client.get("/v1/info").json()["unlabelled"] is None


def test_documents_that_were_predicted_can_be_taught(teaching: Tab, own: Server) -> None:
    own.client.post("/v1/learn", json={"texts": ["pills", "noon"], "labels": ["spam", "ham"]})
    teaching.go("file")
    upload(teaching, "mails.csv", CSV)
    teaching.view.get_by_role("button", name="Predict").click()
    teaching.view.get_by_role("button", name="Teach with these documents").click()
    EXPECTED(teaching.page.locator("#teach-title")).to_be_visible()
    EXPECTED(text_of(teaching)).to_be_visible()
    text = press(teaching, "2")
    wait_for(own, 3)
    assert learned(own)[text] == ["spam"], "the labels of the file have keys, too"


def test_a_spreadsheet_is_labelled_from_nothing(teaching: Tab, own: Server) -> None:
    """Whoever begins with a file and no classifier is led to teach it, and back."""
    teaching.go("file")
    EXPECTED(teaching.page.locator("#notice a")).to_have_text(["Teach", "Train"])
    upload(teaching, "mails.csv", CSV + b"\n" + TEXTS[0].encode())
    EXPECTED(teaching.view.get_by_role("button", name="Predict all texts")).to_be_hidden()
    teaching.view.get_by_role("button", name="Teach with these documents").press("Enter")
    EXPECTED(teaching.view).to_contain_text("Documents left: 60. · copies of others, asked once: 1")
    for _ in range(8):
        name = label_of(str(text_of(teaching).text_content()))
        teaching.page.keyboard.press("n")
        press_all(teaching, name)
    wait_for(own, 8)
    EXPECTED(teaching.page.locator("#notice")).to_be_hidden()
    teaching.view.get_by_role("button", name="Label all rows of mails.csv").press("Enter")
    EXPECTED(teaching.page.locator("#file-title")).to_be_visible()
    EXPECTED(teaching.view).to_contain_text("61 texts predicted.")
    EXPECTED(teaching.view.get_by_role("button", name="Predict all texts")).to_be_visible()
    with teaching.page.expect_download() as download:
        teaching.view.get_by_role("link", name="csv").press("Enter")
    rows = Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert rows[0] == '"text","label","probability"' and len(rows) == 62


def press_all(tab: Tab, label: str) -> None:
    """Enter a label, new or known, into the field that has the focus."""
    before = str(text_of(tab).text_content())
    tab.page.keyboard.insert_text(label)
    field = tab.view.locator(".picker input")
    EXPECTED(field).to_have_value(label)
    if field.get_attribute("aria-activedescendant") is None:
        tab.page.keyboard.press("Enter")  # goes to the label that would be new
        EXPECTED(field).to_have_attribute("aria-activedescendant", re.compile("picker"))
    tab.page.keyboard.press("Enter")
    EXPECTED(text_of(tab)).not_to_have_text(before)


def test_the_likely_label_has_a_key(teaching: Tab, own: Server) -> None:
    """Also where labels outnumber the keys."""
    names = [f"label {k:02}" for k in range(12)]
    own.client.post("/v1/learn", json={"texts": [f"word{k} thing{k}" for k in range(12)], "labels": names})
    begin(teaching, "", "\n".join(["text", *(f"word11 thing11 {k}" for k in range(4))]).encode())
    EXPECTED(teaching.view.locator(".chip.guess")).to_have_text("y label 11")
    text = press(teaching, "y")
    wait_for(own, 13)
    assert learned(own)[text] == ["label 11"]


def test_label_sets_are_the_rule_where_documents_have_them(teaching: Tab, own: Server) -> None:
    own.client.post("/v1/learn", json={"texts": ["pills", "noon"], "labels": [["spam", "urgent"], ["ham"]]})
    teaching.reload()
    begin(teaching, "")
    EXPECTED(teaching.page.locator("#teach-several")).to_be_checked()
    shown = str(text_of(teaching).text_content())
    teaching.page.keyboard.press("1")
    teaching.view.get_by_role("button", name="Skip").press("Enter")  # and does not learn what is chosen
    EXPECTED(text_of(teaching)).not_to_have_text(shown)
    EXPECTED(teaching.view).to_contain_text("Answers: 0.")
    assert n_documents(own) == 2


def test_without_a_token_there_is_nothing_to_see(browser: Any, own: Server) -> None:
    tab = Tab(browser, own)
    tab.open("teach", token=None)
    EXPECTED(tab.view.get_by_text("Teaching needs the token.")).to_be_visible()
    EXPECTED(tab.view.locator(".drop, .teaching").locator("visible=true")).to_have_count(0)
    tab.close()


@pytest.mark.parametrize("language", quick(1, ["ko", "zh", "ja"]))
def test_every_language_on_a_small_screen(browser: Any, own: Server, language: str) -> None:
    forget_all(own)
    body = {"name": "mails.csv", "labels": '["spam", "ham"]'}
    own.client.post("/v1/teach", params=body, content=CSV, headers={"Content-Type": "application/octet-stream"})
    wait_until(lambda: own.client.get("/v1/teach").json()["documents"] == 60)
    tab = Tab(browser, own, viewport={"width": 390, "height": 800}, locale=language, color_scheme="dark")
    tab.open("teach")
    EXPECTED(text_of(tab)).to_be_visible()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not re.search(r"teach\.\w", tab.page.locator("body").inner_text())
    tab.close()
