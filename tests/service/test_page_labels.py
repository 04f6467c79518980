"""The page of a classifier whose labels are integers, in a real browser: it shows texts, the file keeps integers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import bunrui
from tests.service.conftest import Server, running
from tests.support.tab import EXPECTED, Browser, Tab, last_change, n_documents
from tests.support.waiting import wait_until

LARGE = (1 << 53) + 1  # which JavaScript's numbers take for another one
TEXTS = ["cheap pills now", "win money fast", "meeting at noon", "lunch at noon", "tea at five", "black tea", "noon"]


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("numbers") / "mail.bunrui"
    with bunrui.create(path, "multinomial") as clf:
        clf.learn(TEXTS, [LARGE, LARGE, -1, -1, 3, 3, LARGE])
    yield from running(path)


def test_integers_on_the_page(browser: Browser, numbered: Server) -> None:
    tab = Tab(browser, numbered)
    page = tab.open()
    assert tab.predict("cheap pills") == str(LARGE)
    EXPECTED(page.locator(".shares .bars li")).to_have_count(3)
    page.get_by_role("combobox", name="Another label").fill("3")
    page.keyboard.press("Enter")
    wait_until(lambda: n_documents(numbered) == len(TEXTS) + 1)
    learned = numbered.client.get("/v1/documents", params={"label": "3", "limit": 1}).json()["documents"]
    assert [(one["text"], one["labels"]) for one in learned] == [("cheap pills", [3])]
    tab.go("words")
    EXPECTED(tab.view.get_by_role("heading", level=4)).to_have_count(3)
    tab.go("audit")
    tab.view.get_by_role("button", name="Look for suspect labels").click()
    EXPECTED(tab.view.locator(".card")).to_contain_text("1 of ")
    suspect, suggested = (tab.view.locator(f".{name}").first.text_content() for name in ("text", "chip.against"))
    page.keyboard.press("r")
    wait_until(lambda: last_change(numbered)["kind"] == "relabel")
    tab.go("history")
    EXPECTED(tab.view).to_contain_text(suggested)
    tab.close()
    with bunrui.open(numbered.path, read_only=True) as clf:
        assert clf.classes_.tolist() == [-1, 3, LARGE]
        known = {document.text: document.labels for document in clf.documents()}
    assert known | {suspect: [int(suggested)]} == known
