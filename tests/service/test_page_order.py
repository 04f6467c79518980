"""The page when keys come fast and answers come late: nothing that is pressed is lost, nothing old replaces the new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.tab import EXPECTED, Held, Page, Tab, upload

TEXT = "The prime minister welcomed the team after the final."
KEYS = """(keys) => {
    for (const key of keys) {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }
}"""
REFRESH = "async () => (await import('/js/state.js')).refresh()"


@pytest.fixture
def page(tab: Tab) -> Iterator[Any]:
    yield tab.open()


def test_a_key_goes_to_the_view_that_the_one_before_has_opened(page: Page) -> None:
    page.evaluate(KEYS, ["w", "/"])
    EXPECTED(page.locator("#word")).to_be_focused()
    page.keyboard.type("team")
    page.keyboard.press("Enter")
    EXPECTED(page.locator(".word caption")).to_have_text("team")
    EXPECTED(page.locator("#word")).to_be_focused()


def test_who_skips_to_the_content_stays_in_the_view(tab: Tab, page: Page) -> None:
    tab.go("words")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    EXPECTED(page.locator("#main")).to_be_focused()
    page.keyboard.press("/")
    EXPECTED(page.locator("#word")).to_be_focused()
    tab.reload()
    EXPECTED(page.locator("section.view:visible")).to_have_count(1)


def test_the_last_word_that_was_asked_for_is_shown(tab: Tab, page: Page) -> None:
    tab.go("words")
    held = Held(page, "**/v1/words?word=team*")
    for word in ("team", "xyzzy"):
        page.fill("#word", word)
        page.keyboard.press("Enter")
    EXPECTED(page.locator(".word")).to_contain_text("xyzzy was never learned.")
    held.let_go()
    EXPECTED(page.locator(".word")).to_contain_text("xyzzy was never learned.")


def test_what_is_drawn_while_work_goes_on_waits_for_its_end(tab: Tab, page: Page) -> None:
    tab.go("compare")
    held = Held(page, "**/v1/jobs/*")
    go = tab.view.get_by_role("button", name="Compare")
    go.click()
    EXPECTED(go).to_be_disabled()
    page.evaluate(REFRESH)
    for one in tab.view.locator(".present button").all():
        EXPECTED(one).to_be_disabled()
    held.let_go()
    EXPECTED(tab.view.locator(".is-present")).to_have_count(1)
    EXPECTED(go).to_be_enabled()
    EXPECTED(go).to_be_focused()


def test_a_search_is_made_while_another_one_is(tab: Tab, page: Page) -> None:
    tab.go("file")
    rows = "".join(f"match number {k}\n" for k in range(12))
    upload(tab, "new.csv", f"text\n{rows}".encode())
    tab.view.get_by_role("button", name="Predict all texts").click()
    EXPECTED(tab.view.locator(".answers tbody tr")).to_have_count(12)
    held = Held(page, "**/v1/predictions/*find=number*")
    with page.expect_request("**/v1/predictions/*find=number*"):
        page.fill("#file-find", "number")
    page.fill("#file-find", "number 11")
    EXPECTED(tab.view.locator(".answers tbody tr")).to_have_count(12)
    held.let_go()
    EXPECTED(tab.view.locator(".answers tbody tr")).to_have_count(1)


def test_documents_are_listed_once_however_often_they_are_asked_for(tab: Tab, page: Page) -> None:
    many = {"texts": [f"one more {k}" for k in range(25)], "labels": ["world"] * 25}
    tab.server.client.post("/v1/learn", json=many).raise_for_status()
    tab.go("history")
    first = tab.view.locator(".changes > li").first
    opening = first.get_by_role("button", name="Documents", exact=True)
    opening.evaluate("(button) => { button.click(); button.click(); }")
    EXPECTED(first.locator(".behind li")).to_have_count(20)
    page.evaluate("new Promise((resolve) => setTimeout(resolve))")
    EXPECTED(first.locator(".behind li")).to_have_count(20)
    tab.server.client.post("/v1/undo").raise_for_status()


def test_a_problem_stays_while_something_is_measured(tab: Tab) -> None:
    page = tab.open("teach")
    upload(tab, "new.csv", b"text\none\ntwo\nthree\nfour\n")
    tab.view.locator(".inspected button.primary").click()
    EXPECTED(tab.view.locator(".card .text")).to_be_visible()
    problem = {"type": "urn:bunrui:problem:busy", "title": "busy", "status": 503, "detail": "try again"}
    page.route("**/v1/teach/answer", lambda route: route.fulfill(status=503, json=problem))
    with page.expect_response("**/v1/teach/progress*"):
        page.keyboard.press("1")
    EXPECTED(page.locator("#alert strong")).to_be_visible()
    tab.server.client.request("DELETE", "/v1/teach")
    tab.faults = [fault for fault in tab.faults if "503" not in fault]
