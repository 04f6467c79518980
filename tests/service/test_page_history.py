"""The view History in a browser: changes, the documents behind them, the way back, and the search for documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import bunrui
from tests.service.conftest import Server, running
from tests.support.examples import quick, quick_rows
from tests.support.tab import EXPECTED, Browser, Tab, last_change, n_documents

TEXTS = [f"{word} number {k}" for k in range(15) for word in ("pills", "noon")]
LABELS = ["spam", "ham"] * 15
LANGUAGES = [("en-US", 1280, "light"), ("ja-JP", 390, "dark"), ("zh-CN", 390, "light"), ("ko-KR", 1280, "dark")]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with a past; tests leave its documents as they found them, and the first three changes."""
    path = tmp_path_factory.mktemp("history") / "mail.bunrui"
    with bunrui.create(path, model="binary-complement") as clf:
        clf.learn(TEXTS, LABELS, sources=["mail.csv"] * len(TEXTS))
        clf.author = "Ann"
        clf.learn(["late pills <b>"], ["spam"], ids=["m-1"])
        clf.relabel("ham", ids=["m-1"])
    yield from running(path)


@pytest.fixture
def tab(browser: Browser, past: Server) -> Iterator[Tab]:
    opened = Tab(browser, past)
    opened.open("history")
    yield opened
    opened.close()
    past.client.post("/v1/undo", json={"to": 3})


def change(tab: Tab, number: int) -> Any:
    return tab.view.locator(f".changes > li[data-number='{number}']")


def learn(server: Server, text: str, label: str = "ham") -> None:
    server.client.post("/v1/learn", json={"texts": [text], "labels": [label]}).raise_for_status()


def find(tab: Tab, words: str) -> Any:
    """Search for words: the list."""
    tab.page.fill("#wanted", words)
    tab.page.locator(".find button[type=submit]").click()
    return tab.view.locator(".find ~ .documents > li")


def test_changes_and_the_documents_behind_them(tab: Tab) -> None:
    EXPECTED(change(tab, 3)).to_contain_text("Gave 1 document the label ham")
    EXPECTED(change(tab, 3)).to_contain_text("Ann")
    EXPECTED(change(tab, 1)).to_contain_text("Learned 30 documents")
    EXPECTED(change(tab, 1).locator(".who")).to_have_count(0)
    change(tab, 3).get_by_role("button", name="Documents", exact=True).click()
    behind = change(tab, 3).locator(".behind li")
    EXPECTED(behind).to_have_count(1)
    EXPECTED(behind.locator(".excerpt")).to_have_text("late pills <b>")
    assert behind.locator(".tag").all_inner_texts() == ["spam", "ham"]
    change(tab, 3).get_by_role("button", name="Documents", exact=True).click()
    EXPECTED(behind).to_have_count(0)
    change(tab, 1).get_by_role("button", name="Documents", exact=True).click()
    EXPECTED(change(tab, 1).locator(".behind li")).to_have_count(20)
    change(tab, 1).get_by_text("More documents").click()
    EXPECTED(change(tab, 1).locator(".behind li")).to_have_count(30)
    change(tab, 1).get_by_text("Open in Predict").last.click()
    EXPECTED(tab.page.locator("#text")).to_have_value(TEXTS[0])


def test_undo_and_take_back_all_later_changes(tab: Tab) -> None:
    server, before = tab.server, n_documents(tab.server)
    tab.page.fill("#author", "猫 Bob")
    tab.page.keyboard.press("Tab")
    tab.go("predict")
    tab.predict("something new")
    tab.page.locator(".fixing .chip").first.click()
    EXPECTED(tab.page.locator(".change button")).to_be_visible()
    assert last_change(server)["note"]["by"] == "猫 Bob"
    tab.go("history")
    newest = last_change(server)["number"]
    EXPECTED(change(tab, newest).locator(".who")).to_have_text("猫 Bob")
    change(tab, newest).get_by_text("Undo").click()
    EXPECTED(change(tab, newest)).to_contain_text("by 猫 Bob")
    assert n_documents(server) == before and last_change(server)["undone"]
    with bunrui.open(server.path) as other:
        other.author = "Eve"
        other.learn(["one", "two"], ["ham", "ham"]).learn(["three"], ["new"])
    tab.reload()
    back = change(tab, 3).get_by_text("Take back all later changes")
    back.click()
    asked = change(tab, 3).locator(".asking")
    EXPECTED(asked).to_contain_text("These changes after #3 are taken back; #3 itself stays. Changes: 2, documents: 3.")
    lines = [f"#{newest + 2} Learned 1 document", f"#{newest + 1} Learned 2 documents"]
    EXPECTED(asked.locator("li")).to_have_text(lines)
    EXPECTED(asked).to_contain_text("Some of them were made by Eve.")
    EXPECTED(tab.view.locator("ul.documents")).to_contain_text("three")
    asked.get_by_text("Cancel").click()
    EXPECTED(asked).to_have_count(0)
    EXPECTED(back).to_be_focused()
    back.click()
    learn(server, "meanwhile")  # somebody is quicker: nothing is taken back, and the list shows why
    asked.get_by_text("Take them back").click()
    EXPECTED(tab.page.locator("#alert")).to_contain_text("Something else was changed since")
    EXPECTED(change(tab, newest + 3)).to_be_visible()
    assert n_documents(server) == before + 4
    back.click()
    EXPECTED(asked).to_contain_text("Changes: 3, documents: 4.")
    asked.get_by_text("Take them back").click()
    EXPECTED(tab.view.locator(".outcome").first).to_contain_text("Changes: 3, documents: 4. Documents now: 31.")
    EXPECTED(tab.view.locator(".changes > li.undone")).to_have_count(4)
    EXPECTED(tab.view.locator("ul.documents")).not_to_contain_text("three")  # the search looks again
    assert n_documents(server) == before


def test_search_choose_relabel_unlearn_undo(tab: Tab) -> None:
    found = find(tab, "PILLS")
    EXPECTED(found).to_have_count(16)
    find(tab, "")
    EXPECTED(found).to_have_count(20)
    tab.view.get_by_text("More documents").click()
    EXPECTED(found).to_have_count(31)
    field = tab.view.locator(".find .picker input")
    field.fill("spam")
    field.press("Enter")
    tab.page.fill("#until", "2020-01-01")
    tab.page.locator("#until").press("Enter")
    EXPECTED(found).to_have_text(["No documents found."])
    tab.page.fill("#until", "")
    tab.page.locator("#until").press("Enter")
    EXPECTED(found).to_have_count(15)
    for k in range(2):
        found.nth(k).get_by_role("checkbox").check()
    acting = tab.view.locator(".acting")
    EXPECTED(acting).to_contain_text("Documents chosen: 2")
    acting.locator(".picker input").fill("ham")
    acting.locator(".picker input").press("Enter")
    outcome = tab.view.locator(".find ~ .outcome")
    EXPECTED(outcome).to_contain_text("Documents with other labels now: 2")
    EXPECTED(found).to_have_count(13)
    EXPECTED(outcome.get_by_text("Undo")).to_be_focused()
    assert tab.server.client.get("/v1/labels").json()["labels"][1] == {"label": "spam", "documents": 13}
    outcome.get_by_text("Undo").click()
    EXPECTED(found).to_have_count(15)
    found.first.get_by_role("checkbox").check()
    acting.get_by_text("Choose all that are shown").click()
    EXPECTED(acting).to_contain_text("Documents chosen: 15")
    acting.get_by_text("Unlearn").click()
    EXPECTED(outcome).to_contain_text("Documents unlearned: 15")
    EXPECTED(found).to_have_text(["No documents found."])
    change(tab, last_change(tab.server)["number"]).get_by_text("Undo").click()  # not by the button beside the search
    EXPECTED(found).to_have_count(15)
    EXPECTED(outcome.get_by_text("Undo")).to_have_count(0)
    assert n_documents(tab.server) == 31


def test_copies_of_a_text_are_chosen_together(tab: Tab) -> None:
    for _ in range(2):
        learn(tab.server, "twice the same")
    found = find(tab, "twice the same")
    EXPECTED(found).to_have_count(2)
    found.first.get_by_role("checkbox").check()
    EXPECTED(found.last.get_by_role("checkbox")).to_be_checked()
    EXPECTED(tab.view.locator(".acting legend")).to_have_text("Documents chosen: 2")
    EXPECTED(tab.view.locator(".acting")).to_contain_text("all its copies")
    found.last.get_by_role("checkbox").uncheck()
    EXPECTED(found.first.get_by_role("checkbox")).not_to_be_checked()


def test_several_labels_are_given_as_a_list(tab: Tab) -> None:
    tab.server.client.post("/v1/learn", json={"texts": ["zebra"], "labels": [["ham", "urgent"]]}).raise_for_status()
    tab.reload()
    found = find(tab, "zebra")
    found.get_by_role("checkbox").check()
    acting = tab.view.locator(".acting")
    acting.get_by_label("Remove urgent").click()
    acting.get_by_text("Give them these labels").click()
    EXPECTED(tab.view.locator(".find ~ .outcome")).to_contain_text("Documents with other labels now: 1")
    EXPECTED(found.locator(".tag")).to_have_text(["ham"])


def test_a_long_search_goes_on_until_it_is_stopped(tab: Tab) -> None:
    """A page of the service may find nothing; the next one is asked for."""
    asked: list[str] = []

    def answer(route: Any) -> None:
        asked.append(route.request.url)
        documents = [] if len(asked) < 4 else [found]
        route.fulfill(json={"documents": documents, "next": f"{9 - len(asked)}.0", "looked": 7})

    found = tab.server.client.get("/v1/documents", params={"limit": 1}).json()["documents"][0]
    tab.page.route("**/v1/documents?*", answer)
    EXPECTED(find(tab, "needle")).to_have_count(1)
    assert len(asked) == 4 and "begin=6.0" in asked[3]
    EXPECTED(tab.view.get_by_text("More documents")).to_be_visible()


def test_by_keyboard_alone(browser: Browser, past: Server) -> None:
    tab = Tab(browser, past)
    page = tab.open()
    learn(past, "by keyboard")
    page.keyboard.press("h")
    EXPECTED(page.locator("#history-title")).to_be_focused()
    number = last_change(past)["number"]
    EXPECTED(change(tab, number)).to_be_visible()
    for _ in range(3):  # the name, the documents of the last change, undo
        page.keyboard.press("Tab")
    EXPECTED(change(tab, number).get_by_text("Undo")).to_be_focused()
    page.keyboard.press("Enter")
    EXPECTED(change(tab, number)).to_contain_text("taken back")
    page.locator("h2:visible").focus()
    page.keyboard.press("/")
    EXPECTED(page.locator("#wanted")).to_be_focused()
    page.keyboard.type("late")
    page.keyboard.press("Enter")
    found = tab.view.locator(".find ~ .documents > li")
    EXPECTED(found).to_have_count(1)
    found.get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    EXPECTED(tab.view.locator(".acting")).to_be_visible()
    tab.close()


def test_without_the_token(browser: Browser, past: Server) -> None:
    tab = Tab(browser, past)
    tab.open("history", token=None)
    EXPECTED(change(tab, 1)).to_be_visible()
    EXPECTED(tab.view.locator("button:visible")).to_have_count(0)
    EXPECTED(tab.view).to_contain_text("With the token you could see the documents")
    tab.close()


@pytest.mark.parametrize(
    ("locale", "width", "scheme"),
    quick_rows(2, LANGUAGES),
)
def test_languages_widths_and_colours(browser: Browser, past: Server, locale: str, width: int, scheme: str) -> None:
    tab = Tab(browser, past, locale=locale, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = tab.open("history")
    change(tab, 1).locator("button").first.click()
    EXPECTED(change(tab, 1).locator(".behind li")).to_have_count(20)
    change(tab, 1).locator(".back").click()
    find(tab, "noon").first.get_by_role("checkbox").check()
    said = tab.view.inner_text()
    assert "history." not in said and "{" not in said
    if locale != "en-US":
        assert "Documents" not in said and "Take" not in said
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inputs = "Array.from(document.querySelectorAll('.view:not([hidden]) input'))"
    assert page.evaluate(f"{inputs}.every((input) => input.labels.length || input.ariaLabel)")
    tab.close()


def test_older_changes_come_page_by_page(tab: Tab) -> None:
    for k in range(20):
        learn(tab.server, f"more {k}")
    tab.reload()
    EXPECTED(tab.view.locator(".changes > li")).to_have_count(20)
    EXPECTED(change(tab, 1)).to_have_count(0)
    for _ in range(-(-last_change(tab.server)["number"] // 20)):
        if not tab.view.get_by_text("Older changes").is_visible():
            break
        n = tab.view.locator(".changes > li").count()
        tab.view.get_by_text("Older changes").click()
        EXPECTED(tab.view.locator(".changes > li").nth(n)).to_be_visible()
    EXPECTED(change(tab, 1)).to_be_visible()


@pytest.mark.parametrize("locale", quick(1, ["ja-JP", "zh-CN", "ko-KR"]))
def test_problems_are_said_in_the_language_of_the_page(browser: Browser, past: Server, locale: str) -> None:
    learn(past, "gone soon")
    tab = Tab(browser, past, locale=locale)
    tab.open("history")
    find(tab, "gone soon").get_by_role("checkbox").check()
    past.client.post("/v1/unlearn", json={"texts": ["gone soon"], "labels": ["ham"]}).raise_for_status()
    tab.view.locator(".acting > button").first.click()
    EXPECTED(tab.page.locator("#alert strong")).to_be_visible()
    said = tab.page.locator("#alert div").inner_text()
    assert not re.search("[A-Za-z]", said), said
    tab.close()


def test_texts_without_a_label_come_and_go(tab: Tab) -> None:
    tab.server.client.post("/v1/unlabelled/learn", json={"texts": ["a", "b"]}).raise_for_status()
    tab.server.client.post("/v1/unlabelled/unlearn", json={"texts": ["a"]}).raise_for_status()
    tab.reload()
    newest = last_change(tab.server)["number"]
    EXPECTED(change(tab, newest).locator(".what")).to_have_text("Took back 1 text without a label")
    EXPECTED(change(tab, newest - 1).locator(".what")).to_have_text("Took in 2 texts without a label")
