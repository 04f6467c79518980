"""The view Predict in a real browser: two models, label sets, links, examples, the same elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import bunrui
from tests.service.conftest import SOURCE, TOKEN, Server, running
from tests.support.tab import EXPECTED, Browser, Held, Tab
from tests.support.waiting import PATIENCE

TEXT = "The prime minister welcomed the team after the final and promised parliament a vote on the stadium."
HARD = 'it\'s "new" $HOME `id` \\ 50% -n\nand tea & rice; 首相\t'


@pytest.fixture(scope="module")
def dishes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service on documents with several labels."""
    path = tmp_path_factory.mktemp("sets") / "dishes.bunrui"
    texts = ["rice tea cup", "tea cup", "rice bowl", "oil well", "tea leaf", "rice field", "oil drop"]
    with bunrui.create(path, analyzer="words") as clf:
        clf.learn(texts, [["rice", "tea"], ["tea"], ["rice"], ["oil"], ["tea"], ["rice"], ["oil"]])
    yield from running(path)


def labels_of(server: Server, text: str) -> list[Any]:
    found = server.client.get("/v1/documents", params={"contains": text}).json()["documents"]
    return [sorted(one["labels"]) for one in found]


def test_two_models_on_one_text(tab: Tab) -> None:
    page = tab.open()
    tab.predict(TEXT)
    page.get_by_label("Beside it").select_option("bernoulli")
    known = tab.server.client.post("/v1/explain", json={"text": TEXT, "model": "bernoulli"}).json()
    EXPECTED(page.locator(".second .label")).to_have_text(known["label"])
    EXPECTED(page.locator(".second .share")).to_have_text(f"{known['probabilities'][known['label']]:.1%}")
    EXPECTED(page.locator(".second .contributions tbody tr").first).to_contain_text(
        known["contributions"][0]["feature"].replace(" ", "␣")
    )
    page.fill("#text", f"{TEXT} Or not?")
    for place in (".own", ".second"):
        EXPECTED(page.locator(f"{place} .text")).to_contain_text("Or not?")
    page.get_by_label("Beside it").select_option("")
    EXPECTED(page.locator(".second")).to_be_hidden()
    EXPECTED(page.locator(".result")).not_to_have_attribute("aria-busy", "true")


def test_any_label_is_found_among_the_probabilities(browser: Browser, topics: Server) -> None:
    tab = Tab(browser, topics)
    page = tab.open()
    tab.predict("wordc wordcish")
    EXPECTED(page.locator(".shares .bars li")).to_have_count(10)
    known = topics.client.post("/v1/explain", json={"text": "wordc wordcish"}).json()["probabilities"]
    last = min(known, key=lambda label: known[label])
    page.get_by_role("combobox", name="Find the probability").fill(last)
    page.keyboard.press("Enter")
    EXPECTED(page.locator(".shares .bars li")).to_have_count(11)
    EXPECTED(page.locator(".shares [aria-pressed=true] .name")).to_have_text(last)
    tab.close()


def test_a_link_to_a_text(tab: Tab) -> None:
    page = tab.open()
    tab.predict(HARD)
    link = page.get_by_role("link", name="Link to this text").get_attribute("href")
    assert link.startswith(f"{tab.server.url}/#/predict?text=")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.goto("about:blank")
    page.goto(link)
    EXPECTED(page.locator("#text")).to_have_value(HARD)
    EXPECTED(page.locator(".headline .label")).to_be_visible()
    assert page.url == f"{tab.server.url}/#/predict"
    assert not any("prime" in url or "rice" in url for url in asked if "#" not in url)
    assert "rice" not in tab.server.log.read_text()
    page.fill("#text", "a" * 2001)
    EXPECTED(page.locator(".result")).to_contain_text("too long for a link")


def test_the_same_elsewhere(tab: Tab) -> None:
    """The three snippets say what the page says, of a text that shells and JSON could misread."""
    page = tab.open()
    label = tab.predict(HARD)
    tab.view.get_by_text("The same with curl").click()
    said = {name: page.locator(f"[data-same={name}]").text_content() for name in ("curl", "python", "shell")}
    assert all(TOKEN not in text for text in said.values())
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "BUNRUI_TOKEN": TOKEN}
    folder = tab.server.path.parent

    def run(*command: str) -> str:
        options = {"cwd": folder, "env": environment, "timeout": PATIENCE}
        return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout

    shell = said["shell"].replace("bunrui explain", f"{sys.executable} -m bunrui explain --json", 1)
    found = json.loads(run("bash", "-c", shell))
    assert (found["label"], found["text"]) == (label, HARD)
    assert label in run(sys.executable, "-c", said["python"])
    answer = json.loads(run("bash", "-c", said["curl"].replace("curl", "curl -sS", 1)))
    assert (answer["label"], answer["text"]) == (label, HARD)


def test_examples_are_documents_of_the_file(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    page = tab.open()
    chips = page.locator(".examples .chip")
    EXPECTED(chips).to_have_count(4)
    chips.first.click()
    EXPECTED(page.locator(".headline .label")).to_be_visible()
    assert labels_of(news, page.locator("#text").input_value())
    # nobody else sees documents: these are sentences of the page
    page.get_by_role("button", name="Forget the token").click()
    EXPECTED(chips).to_have_count(3)
    EXPECTED(chips.first).to_have_text("Parliament passed the budget after a debate of nine hours.")
    tab.close()


def test_nobody_corrects_a_text_before_its_answer_is_shown(browser: Browser, news: Server) -> None:
    tab = Tab(browser, news)
    page = tab.open()
    page.locator(".examples .chip").first.click()
    fixing = page.locator("fieldset.fixing .chip").first
    EXPECTED(fixing).to_be_enabled()
    held = Held(page, "**/v1/explain")
    page.locator(".examples .chip").nth(1).click()
    EXPECTED(fixing).to_be_disabled()
    held.let_go()
    EXPECTED(fixing).to_be_enabled()
    tab.close()


def test_label_sets(browser: Browser, dishes: Server) -> None:
    tab = Tab(browser, dishes)
    page = tab.open()
    page.fill("#text", "tea and rice")
    EXPECTED(page.locator(".headline .label")).to_have_text(["rice", "tea"])
    EXPECTED(page.locator(".shares h3")).to_have_text("Probability of each label by itself")
    EXPECTED(page.locator(".fixing .chips .chip bdi")).to_have_text(["rice", "tea"])
    page.get_by_role("combobox", name="Another label").fill("dinner")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="These are its labels").click()
    EXPECTED(page.locator(".change")).to_contain_text("Learned as rice, tea, dinner.")
    assert labels_of(dishes, "tea and rice") == [["dinner", "rice", "tea"]]
    # a set is replaced by a set only
    tab.view.get_by_label("Several labels").uncheck()
    page.get_by_role("button", name="This is oil").click()
    EXPECTED(page.locator("#alert")).to_contain_text("This document has several labels")
    tab.view.get_by_label("Several labels").check()
    page.get_by_role("button", name="Remove dinner").click()
    page.get_by_role("button", name="These are its labels").click()
    EXPECTED(page.locator(".change")).to_contain_text("now its label is")
    assert labels_of(dishes, "tea and rice") == [["rice", "tea"]]
    for _ in range(2):
        dishes.client.post("/v1/undo").raise_for_status()
    tab.close()
