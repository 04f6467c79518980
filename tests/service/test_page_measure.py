"""The views Evaluate, Compare and Words in a real browser: a test file, results that stay, changes, many labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bunrui
from tests.service.conftest import TOPICS, Server, running
from tests.support.tab import EXPECTED, Browser, Page, Tab, upload

TEST = b"body,kind,day\nthe minister spoke in parliament,politics,1\nthe team won the final,sports,2\nnoon,lunch,2\n"
N_LABELS = 5000


def info(server: Server) -> dict[str, Any]:
    return dict(server.client.get("/v1/info").json())


def downloaded(page: Page) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the report").click()
    return Path(download.value.path()).read_text(encoding="utf-8")


# --- evaluate


def test_a_test_file(tab: Tab) -> None:
    before = info(tab.server)
    page = tab.open("evaluate")
    tab.view.get_by_text("Test with a file").click()
    upload(tab, "test.csv", TEST)
    EXPECTED(page.locator("#test-column-text")).to_have_value("body")
    page.locator("#test-column-label").select_option("kind")
    page.get_by_role("button", name="Test on 3 documents").click()
    EXPECTED(tab.view.get_by_role("heading", name="Tested on test.csv")).to_be_visible()
    EXPECTED(tab.view.locator(".warning")).to_have_text(
        "Labels that were never learned, and so always count as wrong: lunch"
    )
    EXPECTED(tab.view.locator(".figures")).to_contain_text("Documents3")
    assert "never learned" not in downloaded(page) and info(tab.server) == before
    # the result stays, and says when it is old
    tab.reload()
    EXPECTED(tab.view.get_by_role("heading", name="Tested on test.csv")).to_be_visible()
    assert tab.view.get_by_text("The classifier was changed since").count() == 0
    tab.server.client.post("/v1/learn", json={"texts": ["noon"], "labels": ["world"]}).raise_for_status()
    tab.reload()
    EXPECTED(tab.view.get_by_text("The classifier was changed since")).to_be_visible()
    tab.server.client.post("/v1/undo").raise_for_status()


def test_a_change_ages_what_was_measured(tab: Tab) -> None:
    tab.open("evaluate")
    tab.view.get_by_role("button", name="Evaluate").click()
    EXPECTED(tab.view.locator(".figures")).to_be_visible()
    old = tab.view.get_by_text("The classifier was changed since")
    assert old.count() == 0
    assert info(tab.server)["calibration"]["applies"]
    EXPECTED(tab.view.get_by_text("calibrated by these same documents")).to_be_visible()
    tab.go("compare")
    tab.view.get_by_role("button", name="Choose anew").click()
    EXPECTED(tab.view.locator(".outcome").get_by_role("button", name="Undo")).to_be_focused()
    tab.go("evaluate")
    EXPECTED(old).to_be_visible()


def test_the_report(tab: Tab) -> None:
    page = tab.open("evaluate")
    tab.view.get_by_role("button", name="Evaluate").click()
    EXPECTED(tab.view.locator(".figures")).to_be_visible()
    report = downloaded(page)
    assert report.startswith("<!doctype html>") and "politics" in report


def test_the_confusions_of_any_label(browser: Browser, topics: Server) -> None:
    tab = Tab(browser, topics)
    page = tab.open("evaluate")
    tab.view.get_by_role("button", name="Evaluate").click()
    page.get_by_role("combobox", name="The confusions of a label").fill("topic t")
    page.keyboard.press("Enter")
    wrong = tab.view.locator(".mistaken .bars").first.get_by_role("button")
    EXPECTED(wrong.locator(".name")).to_have_text(["topic a"])
    wrong.click()
    EXPECTED(tab.view.locator(".mistakes h4")).to_have_text("topic t, predicted as topic a: 1")
    EXPECTED(tab.view.locator(".mistakes li .text")).to_contain_text("worda")
    # Predict takes on the thresholds of label sets
    EXPECTED(tab.view.get_by_text("Best threshold of each label")).to_be_visible()
    tab.go("predict")
    page.fill("#text", "wordc wordcish")
    page.get_by_label("Use the best threshold of each label").check()
    EXPECTED(page.locator(".headline .label")).to_have_text(["topic c"])
    tab.close()


# --- compare


def test_compare_and_take_on(tab: Tab) -> None:
    before = info(tab.server)
    tab.open("compare")
    tab.view.get_by_role("button", name="Compare", exact=True).click()
    present = tab.view.locator(".is-present th")
    own = before["choice"]["candidate"]["model"]
    EXPECTED(present).to_have_text("auto")
    EXPECTED(tab.view.get_by_text(re.compile(rf"^auto: {own}, λ [\d.]+"))).to_be_visible()
    names = set(tab.view.locator("tbody th").all_text_contents())
    assert {"auto", "multinomial", "binary-complement", "bernoulli"} <= names
    tab.view.get_by_role("button", name="Use the model bernoulli").click()
    EXPECTED(present).to_have_text("bernoulli")
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("this file answers by bernoulli now.")
    EXPECTED(tab.view.locator(".present")).to_contain_text("not calibrated")
    assert info(tab.server)["model"] == "bernoulli"
    assert tab.view.get_by_text("The classifier was changed since").count() == 0
    tab.view.get_by_role("button", name="Calibrate").click()
    EXPECTED(tab.view.locator(".present")).to_contain_text(f"Calibrated on {before['documents']} documents")
    EXPECTED(tab.view.locator(".outcome")).to_contain_text("Done: the probabilities are calibrated.")
    tab.view.get_by_role("button", name="Undo").click()
    EXPECTED(tab.view.locator(".present")).to_contain_text("not calibrated")
    tab.reload()  # the comparison is there again
    EXPECTED(present).to_have_text("bernoulli")
    tab.view.get_by_role("button", name="Let the file choose").click()
    EXPECTED(tab.view.locator(".outcome")).to_contain_text(f"this file answers by {own} now.")
    EXPECTED(present).to_have_text("auto")
    tab.view.get_by_role("button", name="Choose anew").click()
    EXPECTED(tab.view.locator(".outcome").get_by_role("button", name="Undo")).to_be_focused()
    assert (info(tab.server)["model"], info(tab.server)["choice"]) == ("auto", before["choice"])


def test_who_may_not_write_may_not_act(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    tab.open("compare", token=None)
    EXPECTED(tab.view.locator(".present")).to_contain_text("This file chooses its model")
    EXPECTED(tab.view.get_by_role("button")).to_have_text(["Compare"])
    tab.close()


# --- many labels


def test_the_words_of_any_label(browser: Browser, topics: Server) -> None:
    tab = Tab(browser, topics)
    page = tab.open("words")
    columns = tab.view.locator(".column")
    EXPECTED(columns.locator("ol")).to_have_count(12)
    shown = columns.locator("h4").all_text_contents()
    other = next(label for label in TOPICS if label not in shown)
    page.get_by_role("combobox", name="Show the words of another label").fill(other)
    page.keyboard.press("Enter")
    EXPECTED(columns.locator("h4").first).to_have_text(other)
    EXPECTED(columns.first.locator("li").first).to_contain_text(f"word{other[-1]}")
    tab.close()


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service on thousands of labels."""
    path = tmp_path_factory.mktemp("catalogue") / "catalogue.bunrui"
    labels = [f"place {k:04} of the catalogue" for k in range(N_LABELS) for _ in range(2)]
    texts = [f"word{k // 2 if k % 7 else k // 2 + 1} part{k // 20} number {k % 2}" for k in range(len(labels))]
    with bunrui.create(path, "multinomial", analyzer="words") as clf:
        clf.learn(texts, labels)
    yield from running(path)


@pytest.mark.slow
def test_five_thousand_labels(browser: Browser, catalogue: Server) -> None:
    assert len(catalogue.client.get("/v1/info").content) < 500_000
    assert len(catalogue.client.get("/v1/labels").content) < 500_000
    tab = Tab(browser, catalogue)
    page = tab.open()
    name = "place 4321 of the catalogue"
    tab.predict("word4321 part432")
    EXPECTED(page.locator(".shares .bars li")).to_have_count(10)
    page.locator(".fixing .picker input").fill("4321")
    EXPECTED(page.locator(".fixing [role=option] bdi")).to_have_text([name])
    tab.go("words")
    EXPECTED(tab.view.locator(".column ol")).to_have_count(12)
    tab.view.locator(".picker input").fill("4321")
    page.keyboard.press("Enter")
    EXPECTED(tab.view.locator(".column h4").first).to_have_text(name)
    tab.go("evaluate")
    tab.view.get_by_role("button", name="Evaluate").click()
    EXPECTED(tab.view.locator(".figures")).to_contain_text("5,000")
    tab.view.locator(".confusions .picker input").fill("place 0007")
    page.keyboard.press("Enter")
    EXPECTED(tab.view.locator(".mistaken")).to_contain_text("place 0007 of the catalogue is taken for")
    tab.go("audit")
    tab.view.get_by_role("button", name="Look for suspect labels").click()
    EXPECTED(tab.view.locator(".card .doubt")).to_be_visible()
    tab.view.locator(".picker input").click()
    EXPECTED(tab.view.locator("[role=option]")).to_have_count(50)
    assert page.evaluate("document.querySelectorAll('*').length") < 20_000
    tab.close()
