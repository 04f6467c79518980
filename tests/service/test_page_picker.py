"""The field to pick labels, in a real browser: by keyboard, among thousands, several at once, in four languages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.conftest import Server
from tests.support.tab import EXPECTED, Browser, Page, Tab

NAMES = [f"label {number:04}" for number in range(5000)]
MOUNT = """async ({ labels, ...options }) => {
    const { picker } = await import("/js/picker.js");
    window.picked = [];
    const element = picker({ labels, onPick: (...given) => picked.push(given), ...options });
    document.querySelector("section.view:not([hidden]) .row").replaceChildren(element);
    element.querySelector("input").focus();
}"""


@pytest.fixture
def mounted(browser: Browser, topics: Server) -> Any:
    """A function that puts a picker on the page, and gives the page."""
    tab = Tab(browser, topics)
    page = tab.open()

    def mount(labels: list[Any], **options: Any) -> Page:
        page.evaluate(MOUNT, {"labels": labels, **options})
        return page

    yield mount
    tab.close()


def picked(page: Page) -> Any:
    return page.evaluate("picked.splice(0)")


def test_one_of_five_thousand(mounted: Any) -> None:
    page = mounted([[name, number] for number, name in enumerate(NAMES)])
    options = page.locator(".picker").get_by_role("option")
    page.keyboard.press("ArrowDown")
    EXPECTED(options).to_have_count(50)
    EXPECTED(page.locator(".popup")).to_contain_text("and 4,950 more: type to find them")
    page.keyboard.type("LABEL 431")
    EXPECTED(options).to_have_count(11)  # 4310 to 4319, and the question whether it is a new one
    page.keyboard.press("Enter")
    assert picked(page) == []  # ten may be meant
    EXPECTED(page.locator(".active")).to_have_text("label 43104,310")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert picked(page) == [["label 4311", False]]
    EXPECTED(page.get_by_role("combobox", name="Another label: type to search")).to_have_value("label 4311")
    EXPECTED(options).to_have_count(0)


def test_what_is_meant_is_taken_at_once(mounted: Any) -> None:
    page = mounted(["sports", "spam", "Spam and more", "ｓｐａｍ"])
    page.keyboard.type("spo")
    page.keyboard.press("Enter")
    page.keyboard.type("and")  # the field was marked: typing replaces what is in it
    page.keyboard.press("Enter")
    page.keyboard.type("spam")
    EXPECTED(page.locator(".picker").get_by_role("option")).to_have_text(["spam", "ｓｐａｍ", "Spam and more"])
    page.keyboard.press("Enter")
    page.keyboard.insert_text("ｓｐａｍ")
    page.keyboard.press("Enter")
    assert [label for label, _ in picked(page)] == ["sports", "Spam and more", "spam", "ｓｐａｍ"]


def test_a_new_label_is_asked_for(mounted: Any) -> None:
    page = mounted(["spam", "ham"])
    page.keyboard.type("spma")
    EXPECTED(page.locator(".picker").get_by_role("option")).to_have_text(["Make a new label “spma”?"])
    page.keyboard.press("Enter")
    assert picked(page) == []
    page.keyboard.press("Enter")
    assert picked(page) == [["spma", True]]
    page = mounted(["spam", "ham"], makes=False)
    page.keyboard.type("spma")
    EXPECTED(page.locator(".popup")).to_have_text("No label has these letters.")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert picked(page) == []


def test_a_field_that_was_emptied(mounted: Any) -> None:
    page = mounted(["spam", "ham"], chosen=["ham"])
    field = page.locator(".picker input")
    EXPECTED(field).to_have_value("ham")
    page.keyboard.press("ArrowDown")
    EXPECTED(page.locator(".picker").get_by_role("option", selected=True)).to_have_text("ham")
    page.keyboard.type("spa")
    page.keyboard.press("Escape")
    EXPECTED(field).to_have_value("ham")
    field.fill("")
    page.keyboard.press("Tab")
    assert picked(page) == [[None, False]]


def test_several(mounted: Any) -> None:
    page = mounted(["a", "b", "c"], several=True, chosen=["b"])
    options = page.locator(".picker").get_by_role("option")
    page.keyboard.type("c")
    page.keyboard.press("Enter")
    assert picked(page) == [[["b", "c"], False]]
    EXPECTED(options).to_have_count(3)  # the list stays
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Remove b").click()
    page.keyboard.type("d")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert picked(page) == [[["b", "c", "a"], False], [["c", "a"], False], [["c", "a", "d"], True]]
    EXPECTED(page.locator(".picker").get_by_role("option", selected=True)).to_have_text(["a", "c", "d"])


def test_enter_that_ends_a_composition_picks_nothing(mounted: Any) -> None:
    page = mounted(["政治", "スポーツ"])
    field = page.locator(".picker input")
    field.fill("政治")
    composing = "(input) => input.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true}))"
    field.evaluate(composing)
    assert picked(page) == []
    page.keyboard.press("Enter")
    assert picked(page) == [["政治", False]]


@pytest.mark.parametrize(
    ("language", "asked"),
    [
        ("ja", "新しいラベル「<b>x」を作りますか？"),
        ("zh", "要新建标签“<b>x”吗？"),
        ("ko", "새 레이블 “<b>x”을(를) 만들까요?"),
    ],
)
def test_in_other_languages(mounted: Any, language: str, asked: str) -> None:
    page = mounted(["spam"])
    page.keyboard.type("<b>x")
    page.select_option("#language", language)
    page.locator(".picker input").click()
    page.locator(".picker input").fill("<b>x")
    EXPECTED(page.locator(".picker").get_by_role("option").last).to_have_text(asked)
