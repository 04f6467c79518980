"""The page for everybody: each view, at work, in four languages, on a screen and a phone, in light and dark, by keys.

The views come from the navigation of the page, so a new one is looked at as well; `WORK` has it do something first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.service.conftest import TOKEN, Server
from tests.service.test_page_files import ENGLISH, STRINGS
from tests.support.look import violations
from tests.support.tab import EXPECTED, Browser, Page, Tab

axe = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed: pip install -e '.[dev]'")

TEXT = "The prime minister welcomed the team after the final and promised parliament a vote on the stadium."
PREFIXES = {key.partition(".")[0] for key in ENGLISH}
LABELS = ("politics", "sports", "science", "society", "world")
ROWS = f"n,text\n1,{TEXT}\n".encode() + b"".join(b"%d,The team won match %d\n" % (k, k) for k in range(2, 7))
LABELLED = b"text,label\n" + b"".join(b"Match %d of the season,sports\n" % k for k in range(4))


def press(page: Page, key: str) -> None:
    """Press the first button of the view, which begins its work, by keys alone."""
    page.locator("section.view:visible button.primary").first.focus()
    page.keyboard.press(key)


def enter(page: Page, field: str, text: str) -> None:
    """Enter a text into the field that / goes to; at once, because single letters go to views where it has no focus."""
    page.keyboard.press("/")
    EXPECTED(page.locator(field)).to_be_focused()
    page.keyboard.insert_text(text)


def predict(page: Page) -> None:
    enter(page, "#text", TEXT)
    page.keyboard.press("Control+Enter")
    EXPECTED(page.locator(".headline .label")).to_be_visible()
    page.locator("#other-model").focus()
    page.keyboard.type("bern")
    EXPECTED(page.locator(".second")).to_be_visible()
    page.locator(".same summary:visible").focus()
    page.keyboard.press("Enter")
    EXPECTED(page.locator(".same pre:visible")).to_have_count(3)
    page.locator(".fixing .picker input").focus()
    page.keyboard.press("ArrowDown")
    EXPECTED(page.locator(".picker [role=option]:visible").first).to_be_visible()


def choose(page: Page, name: str, body: bytes) -> None:
    """Choose a file by keys; a place for files has one button."""
    page.locator("section.view:visible .drop.large button").focus()
    with page.expect_file_chooser() as chosen:
        page.keyboard.press("Enter")
    chosen.value.set_files({"name": name, "mimeType": "application/octet-stream", "buffer": body})
    EXPECTED(page.locator(".rows:visible")).to_be_visible()


def file(page: Page) -> None:
    """The whole table: predicted, sorted, searched; a row that is open, with a list of labels."""
    choose(page, "new.csv", ROWS)
    press(page, "Enter")
    EXPECTED(page.locator(".answers tbody tr")).to_have_count(6)
    page.get_by_role("columnheader").last.get_by_role("button").focus()
    page.keyboard.press("Enter")
    EXPECTED(page.locator(".answers [aria-sort=ascending]")).to_have_count(1)
    page.locator("h2:visible").focus()
    enter(page, "#file-find", "minister")
    EXPECTED(page.locator(".answers tbody tr")).to_have_count(1)
    page.locator(".answers button.open").focus()
    page.keyboard.press("Space")
    EXPECTED(page.locator(".answers .detail .run").first).to_be_visible()
    page.locator(".answers .detail .picker input").focus()
    page.keyboard.press("ArrowDown")
    EXPECTED(page.locator(".detail [role=option]").first).to_be_visible()


def teach(page: Page) -> None:
    """An answer, which is taken back."""
    choose(page, "new.csv", ROWS)
    press(page, "Enter")
    text = page.locator(".card .text:visible")
    EXPECTED(text).to_be_visible()
    before = str(text.text_content())
    page.keyboard.press("1")
    EXPECTED(text).not_to_have_text(before)
    page.keyboard.press("u")
    EXPECTED(text).to_have_text(before)
    EXPECTED(page.locator("aside:visible p button")).to_be_visible()


def train(page: Page) -> None:
    """Documents are learned and taken back; then others are looked into, with bad rows."""
    choose(page, "new.csv", LABELLED)
    press(page, "Enter")
    EXPECTED(page.locator(".outcome:visible button")).to_be_enabled()
    EXPECTED(page.locator(".view:visible .figures")).to_be_visible()
    page.locator(".outcome:visible button").focus()
    page.keyboard.press("Enter")
    EXPECTED(page.locator(".outcome:visible button")).to_have_count(0)
    choose(page, "new.csv", LABELLED + b"no label\n")
    page.locator("#skip").focus()
    page.keyboard.press("Space")
    EXPECTED(page.locator(".inspected:visible button.primary")).to_be_enabled()


def history(page: Page) -> None:
    """The documents behind a change, the question before it is taken back, and a search with a choice."""
    first = page.locator(".changes > li", has=page.locator("button.quiet:not(.back)")).last
    first.locator("button").first.focus()
    page.keyboard.press("Enter")
    EXPECTED(first.locator(".behind li").first).to_be_visible()
    page.locator("h2:visible").focus()
    enter(page, "#wanted", "minister")
    page.keyboard.press("Enter")
    found = page.locator(".find ~ .documents > li")
    EXPECTED(found.first).to_contain_text("minister")
    found.first.get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    EXPECTED(page.locator(".acting")).to_be_visible()
    page.locator(".acting button").last.focus()
    page.keyboard.press("Enter")
    EXPECTED(page.locator(".acting")).to_be_hidden()
    found.first.get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    EXPECTED(page.locator(".acting")).to_be_visible()


def words(page: Page) -> None:
    enter(page, "section.view:visible input:focus", "minister")
    page.keyboard.press("Enter")
    EXPECTED(page.locator(".word caption")).to_be_visible()
    EXPECTED(page.locator(".column ol")).to_have_count(5)


def evaluate(page: Page) -> None:
    press(page, "Enter")
    page.locator("svg.matrix .cell.wrong:not(.none)").first.focus()
    page.keyboard.press("Enter")
    EXPECTED(page.locator(".mistakes li").first).to_be_visible()


def compare(page: Page) -> None:
    press(page, "Enter")
    EXPECTED(page.locator(".is-present")).to_have_count(1)


def audit(page: Page) -> None:
    press(page, "Enter")
    EXPECTED(page.locator(".card .doubt")).to_be_visible()
    page.keyboard.press("k")
    EXPECTED(page.locator(".card [data-key=u]")).to_be_visible()


WORK: dict[str, Callable[[Page], None]] = {
    "predict": predict,
    "file": file,
    "teach": teach,
    "train": train,
    "history": history,
    "words": words,
    "evaluate": evaluate,
    "compare": compare,
    "audit": audit,
}
"""What each view is for, done by keys alone."""

SAID = """() => {
    const said = new Set();
    for (const element of document.querySelectorAll("body *")) {
        if (!element.checkVisibility()) continue;
        for (const name of ["aria-label", "placeholder", "title"]) said.add(element.getAttribute(name));
        for (const node of element.childNodes) if (node.nodeType === 3) said.add(node.data.trim());
    }
    return [...said].filter(Boolean);
}"""


@pytest.fixture
def watched(browser: Browser, news: Server) -> Iterator[Callable[..., Tab]]:
    opened: list[Tab] = []

    def call(width: int, scheme: str) -> Tab:
        viewport = {"width": width, "height": 800}
        opened.append(Tab(browser, news, viewport=viewport, color_scheme=scheme, reduced_motion="reduce"))
        opened[-1].page.on("filechooser", lambda _: None)  # from now on: to begin to listen takes the browser a moment
        return opened[-1]

    yield call
    news.client.request("DELETE", "/v1/teach")
    for tab in opened:
        tab.close()


def wrong_phrases(page: Page, language: str) -> list[str]:
    """Keys that have no phrase; phrases that are still English."""
    said = page.evaluate(SAID)
    spelled = [
        text for text in said if re.fullmatch(r"[a-z]+\.[a-z0-9.-]+", text) and text.partition(".")[0] in PREFIXES
    ]
    strange = {text for key, text in ENGLISH.items() if text != STRINGS[language][key]} - set(LABELS)
    return spelled + [text for text in said if language != "en" and text in strange]


EACH = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


@pytest.mark.parametrize(
    ("width", "scheme", "languages"),
    [
        (1280, "light", ["en"]),
        (390, "dark", ["ja"]),
        *(pytest.param(*each, ["en", "ja", "zh", "ko"], marks=pytest.mark.slow) for each in EACH),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else str(value),
)
def test_every_view(watched: Any, width: int, scheme: str, languages: list[str]) -> None:
    tab = watched(width, scheme)
    page = tab.open(token=TOKEN)
    page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    faults: dict[str, Any] = {}
    for view in page.locator("nav a").evaluate_all("all => all.map((a) => a.dataset.view)"):
        tab.go(view)
        WORK[view](page)
        for language in languages:
            page.select_option("#language", language)
            EXPECTED(page.locator(f"#{view}-title")).to_have_text(STRINGS[language][f"{view}.title"])
            found = violations(page) + wrong_phrases(page, language)
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found.append("it scrolls to the side")
            if found:
                faults[f"{view} {language}"] = found
        page.select_option("#language", "en")
    assert not faults, json.dumps(faults, ensure_ascii=False, indent=1)


def test_letters_lead_to_every_view(tab: Tab) -> None:
    page = tab.open()
    page.keyboard.press("?")
    letters = page.get_by_role("dialog").locator("dt").all_text_contents()
    names = page.get_by_role("dialog").locator("dd").all_text_contents()
    page.keyboard.press("Escape")
    meant = dict(reversed([(name, letter) for letter, name in zip(letters, names, strict=True)]))
    for link in page.locator("nav a").all():
        page.keyboard.press(meant[link.text_content()])
        EXPECTED(link).to_have_attribute("aria-current", "page")
