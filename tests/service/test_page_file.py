"""The view that predicts a file, and the place for files that it shares with the view that learns them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

import pytest

from bunrui.data import read
from tests.service.conftest import Server
from tests.service.test_page_files import STRINGS
from tests.support.examples import quick
from tests.support.tab import EXPECTED, Tab, n_documents, table, upload

Browser = Any
ROWS = [
    {"id": str(k), "said": row["text"], "stars": k % 3}
    for k, row in enumerate([row for row in read("demo") if row["lang"] in ("en", "ja")][:70])
]


@pytest.fixture
def file(tab: Tab) -> Iterator[Tab]:
    """The view, with a file that is predicted."""
    tab.open("file")
    upload(tab, "new.csv", table("csv", ROWS))
    tab.view.get_by_role("button", name="Predict all texts").click()
    EXPECTED(tab.view).to_contain_text("70 texts predicted.")
    yield tab


def shares(tab: Tab) -> list[float]:
    cells = tab.view.locator(".answers tbody tr > td:nth-child(4)").all_text_contents()
    return [float(cell.rstrip("%")) for cell in cells]


def test_a_table_to_sort_and_to_search(file: Tab) -> None:
    rows = file.view.locator(".answers tbody tr")
    EXPECTED(rows).to_have_count(50)
    EXPECTED(file.view).to_contain_text("1–50 of 70")
    EXPECTED(rows.first).to_contain_text(ROWS[0]["said"][:40])
    file.view.get_by_role("button", name="Next", exact=True).click()
    EXPECTED(rows).to_have_count(20)
    EXPECTED(file.view.get_by_role("button", name="Next", exact=True)).to_be_disabled()
    head = file.view.get_by_role("columnheader", name="Probability")
    head.get_by_role("button").click()
    EXPECTED(head).to_have_attribute("aria-sort", "ascending")
    EXPECTED(file.view).to_contain_text("1–50 of 70")
    assert shares(file) == sorted(shares(file))
    head.get_by_role("button").click()
    EXPECTED(head).to_have_attribute("aria-sort", "descending")
    assert shares(file) == sorted(shares(file), reverse=True)
    word = ROWS[5]["said"][:12]
    file.view.get_by_label("Search").fill(word.upper())
    EXPECTED(rows).to_have_count(sum(word.lower() in row["said"].lower() for row in ROWS))
    file.view.get_by_label("Search").fill("")
    EXPECTED(rows).to_have_count(50)
    label = file.view.locator(".answers tbody .tag").first.text_content()
    field = file.view.get_by_role("combobox", name="any label")
    field.fill(label)
    field.press("Enter")
    EXPECTED(file.view.locator(".answers tbody .tag").filter(has_not_text=label)).to_have_count(0)
    file.reload()
    EXPECTED(rows).to_have_count(50)
    EXPECTED(file.view.get_by_role("heading", name="new.")).to_be_visible()
    EXPECTED(file.view.get_by_role("button", name="Teach with these documents")).to_be_visible()


def test_a_row_says_why_and_is_corrected(file: Tab) -> None:
    before = n_documents(file.server)
    row = file.view.locator(".answers tbody tr").first
    was = row.locator(".tag").text_content()
    row.get_by_role("button").click()
    detail = file.view.locator(".answers .detail")
    EXPECTED(detail).to_contain_text("What the words add")
    field = detail.get_by_role("combobox")
    field.fill("entirely new")
    field.press("ArrowDown")
    field.press("Enter")
    EXPECTED(row.locator(".tag")).to_have_text("entirely new")
    EXPECTED(row).to_contain_text("corrected")
    EXPECTED(file.view).to_contain_text("1 row corrected, and learned.")
    with file.page.expect_download() as told:
        file.view.get_by_role("link", name="csv").click()
    assert told.value.suggested_filename == "new labelled.csv"
    with open(told.value.path(), encoding="utf-8-sig", newline="") as lines:
        first, *others = csv.DictReader(lines)
    assert (first["id"], first["said"], first["label"], first["corrected"]) == (
        "0",
        ROWS[0]["said"],
        "entirely new",
        "true",
    )
    assert len(others) == 69
    detail.get_by_role("button", name="Undo").click()
    EXPECTED(row.locator(".tag")).to_have_text(was)
    assert n_documents(file.server) == before
    assert "entirely new" not in file.server.client.get("/v1/info").json()["labels"]


def test_corrections_are_taken_back_one_by_one_even_when_predicted_again(file: Tab) -> None:
    before = n_documents(file.server)
    row = file.view.locator(".answers tbody tr").first
    row.get_by_role("button").click()
    field = file.view.locator(".answers .detail").get_by_role("combobox")
    for label in ("first", "second", "third"):
        field.fill(f"entirely {label}")
        field.press("ArrowDown")
        field.press("Enter")
        EXPECTED(row.locator(".tag")).to_have_text(f"entirely {label}")
    file.view.get_by_role("button", name="Predict all again").click()
    EXPECTED(file.view.locator(".answers .detail")).to_have_count(0)
    EXPECTED(row.locator(".tag")).to_have_text("entirely third")
    row.get_by_role("button").click()
    for label in ("entirely second", "entirely first"):
        file.view.get_by_role("button", name="Undo").click()
        EXPECTED(row.locator(".tag")).to_have_text(label)
    file.view.get_by_role("button", name="Undo").click()
    EXPECTED(row).not_to_contain_text("corrected")
    assert n_documents(file.server) == before


def test_how_a_file_is_read_can_be_changed(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    tab.open("file")
    rows = [{"said": "今日は良い天気です。", "n": "1"}, {"said": "昨日は雨でした。", "n": "2"}]
    upload(tab, "new.csv", table("csv", rows).decode().encode("cp932"))
    EXPECTED(tab.view.locator("#file-encoding option:checked")).to_have_text("found out: cp932")
    EXPECTED(tab.view.locator(".rows tbody")).to_contain_text("今日は良い天気です。")
    assert tab.page.locator("#file-column-text").input_value() == "said"
    tab.view.get_by_label("The first line has the names of the columns").uncheck()
    EXPECTED(tab.view.locator(".rows thead th")).to_have_text(["1", "2"])
    EXPECTED(tab.view.locator(".rows tbody tr")).to_have_count(3)
    tab.page.select_option("#file-encoding", "euc-jp")
    EXPECTED(tab.page.locator("#alert")).to_contain_text("new.csv, line 2: Some of it cannot be read in this encoding")
    tab.page.select_option("#file-encoding", "auto")
    EXPECTED(tab.view.locator(".rows tbody")).to_contain_text("今日は良い天気です。")
    EXPECTED(tab.page.locator("#alert")).to_be_empty()
    tab.close("422")


def test_errors_come_with_a_button(browser: Browser, news: Server) -> None:
    """In the language of the page."""
    tab = Tab(browser, news, locale="ja-JP")
    tab.open("file")
    upload(tab, "new.csv", b"n,said\n1,a good text\n2\n3,another good text\n")
    tab.view.get_by_role("button", name="すべての文章を分類").click()
    alert = tab.page.locator("#alert")
    EXPECTED(alert).to_contain_text("new.csv の 3 行目：列の数が最初の行と違います")
    alert.get_by_role("button", name="読めない行を除く").click()
    EXPECTED(tab.view).to_contain_text("2 件を分類しました。")
    EXPECTED(alert).to_be_empty()
    tab.close()


BROKEN = {
    "a.csv": b"",
    "a.xls": b"\xd0\xcf\x11\xe0",
    "a.pdf": b"%PDF-1.4",
    "a.parquet": b"PAR1",
    "a.xlsx": b"no archive",
    "a.csv.gz": b"not packed",
    "a.json": b'[{"text": "a"}]',
}


@pytest.mark.parametrize("locale", ["en-US", "ja-JP", "zh-CN", "ko-KR"])
def test_files_that_cannot_be_used(browser: Browser, news: Server, locale: str) -> None:
    """The page says so in its language: besides the names of files and formats, no word is of another."""
    tab = Tab(browser, news, locale=locale)
    tab.open("file")
    for name, body in BROKEN.items():
        upload(tab, name, body)
        EXPECTED(tab.page.locator("#alert strong")).to_have_text(STRINGS[locale[:2]]["problem.file"])
        said = tab.page.locator("#alert div").inner_text()
        assert name in said
        if locale != "en-US":
            assert not re.search("[a-z]{2}", re.sub(rf"{re.escape(name)}|\.xlsx", "", said)), said
        tab.page.locator("#alert button").last.click()
    tab.close("422")


def test_one_label_for_a_mailbox_and_numbers_that_are_labels(tab: Tab) -> None:
    before = n_documents(tab.server)
    tab.open("train")
    mails = b"From a@b Mon Jan  1 10:00:00 2026\nSubject: tea\n\ncake\n"
    upload(tab, "inbox.mbox", mails)
    EXPECTED(tab.view.locator(".inspected .bars li")).to_have_text(["inbox1"])
    field = tab.view.get_by_role("combobox", name="All of these are …")
    field.fill("sports")
    field.press("Enter")
    EXPECTED(tab.view.locator(".inspected .bars li")).to_have_text(["sports1"])
    tab.view.get_by_role("button", name="Learn 1 document").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Documents learned: 1.")
    tab.view.get_by_role("button", name="Undo").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Documents taken back: 1.")
    assert n_documents(tab.server) == before
    upload(tab, "new.csv", table("csv", ROWS))
    EXPECTED(tab.view.locator("#column-label option")).to_have_text(["said", "stars"])
    assert tab.page.locator("#column-label").input_value() == "stars"


def test_without_the_token_files_are_predicted_and_not_corrected(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    tab.open("file", token=None)
    upload(tab, "new.csv", table("csv", ROWS[:3]))
    tab.view.get_by_role("button", name="Predict all texts").click()
    EXPECTED(tab.view.locator(".answers tbody tr")).to_have_count(3)
    tab.view.locator(".answers tbody tr").first.get_by_role("button").click()
    EXPECTED(tab.view.locator(".detail")).to_contain_text("With the token you could correct this.")
    tab.close()


@pytest.mark.parametrize("scheme", quick(1, ["dark", "light"]))
def test_it_fits_a_narrow_screen(browser: Browser, news: Server, scheme: str) -> None:
    tab = Tab(browser, news, viewport={"width": 390, "height": 800}, color_scheme=scheme)
    page = tab.open("file")
    upload(tab, "new.csv", table("csv", ROWS[:3]))
    tab.view.get_by_role("button", name="Predict all texts").click()
    tab.view.locator(".answers tbody tr").first.get_by_role("button").click()
    EXPECTED(tab.view.locator(".detail")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.close()
