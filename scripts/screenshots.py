"""Pictures of the page for the documentation, in docs/images.

    python scripts/screenshots.py [FOLDER]

It takes Chromium, and a font with Chinese characters.  What is shown is the corpus of `bunrui demo`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import sync_playwright

import bunrui
from bunrui.data import read

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
TEXT = "The prime minister welcomed the team after the final and promised parliament a vote on the new stadium budget."
TOKEN = "pictures"
WRONG = (3, 50, 120, 200)  # rows that get a label that is not theirs, for the audit
KEPT_OUT = list(read("demo"))[::4]  # rows that are predicted, and asked for


@contextmanager
def serving() -> Iterator[str]:
    """The address of a service on the corpus."""
    rows = [row for row in read("demo") if row not in KEPT_OUT]
    labels = [row["label"] for row in rows]
    for row in WRONG:
        labels[row] = "sports" if labels[row] != "sports" else "politics"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "news.bunrui")
        with bunrui.create(path) as classifier:
            classifier.learn([row["text"] for row in rows], labels)
        command = [sys.executable, "-m", "bunrui", "serve", path, "--port", "0"]
        environment = os.environ | {"BUNRUI_TOKEN": TOKEN}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            try:
                found = (re.search(r"at (http://[^\s/]+)/", line) for line in process.stderr)
                address = next(each[1] for each in found if each)
                Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop the service
                yield address
            finally:
                process.terminate()


def type_text(page: Any) -> None:
    """A text, and its label."""
    page.fill("#text", TEXT)
    page.locator(".headline .label").wait_for()


def predict(page: Any) -> None:
    """A text beside another model, with a word pointed at."""
    type_text(page)
    page.select_option("#other-model", "multinomial")
    page.locator(".second").wait_for()
    page.locator(".own .run", has_text="stadium").first.hover()


def give_file(page: Any) -> None:
    """The texts that were kept out."""
    rows = "".join(json.dumps({"text": row["text"]}) + "\n" for row in KEPT_OUT)
    given = {"name": "new.jsonl", "mimeType": "application/json", "buffer": rows.encode()}
    page.locator("section.view:visible input[type=file]").set_input_files(given)


def file(page: Any) -> None:
    """Texts with their labels, the unsure ones first."""
    give_file(page)
    page.get_by_role("button", name="Predict all texts").click()
    page.get_by_role("columnheader", name="Probability").get_by_role("button").click()
    page.locator("[aria-sort=ascending]").wait_for()
    page.locator(".answers button.open").first.click()
    page.locator(".answers .detail .run").first.wait_for()


def teach(page: Any) -> None:
    """A question after some answers."""
    label_of = {row["text"]: row["label"] for row in KEPT_OUT}
    give_file(page)
    page.get_by_role("button", name="Begin").click()
    for _ in range(30):
        text = page.locator(".card .text:visible")
        said = text.text_content()
        page.locator(".card:visible button", has_text=label_of[said]).first.click()
        page.wait_for_function("said => document.querySelector('.card .text')?.textContent !== said", arg=said)
    page.locator("aside svg.chart").wait_for()


def history(page: Any) -> None:
    """What was done, and the documents."""
    page.locator("section.view:visible bdi").first.wait_for()


def evaluate(page: Any) -> None:
    """Confusions, with the mistakes behind one of them."""
    begin(page)
    page.locator(".cell.wrong:not(.none)").first.click()
    page.locator(".mistakes li").first.wait_for()


def compare(page: Any) -> None:
    """All models, and the one in use."""
    begin(page)
    page.locator(".is-present").wait_for()


def audit(page: Any) -> None:
    """A label that looks wrong."""
    begin(page)
    page.locator(".card .doubt").wait_for()


def begin(page: Any) -> None:
    """Press the button of the view."""
    page.locator("section.view:visible button.primary").first.click()


SHOWN = [
    ("predict", "predict", predict, 1280, 1240, "light"),
    ("evaluate", "evaluate", evaluate, 1280, 1000, "light"),
    ("compare", "compare", compare, 1280, 900, "light"),
    ("audit", "audit", audit, 1000, 760, "dark"),
    ("phone", "predict", type_text, 390, 844, "light"),
    ("file", "file", file, 1280, 1000, "light"),
    ("teach", "teach", teach, 1280, 800, "light"),
    ("teach-phone", "teach", lambda page: page.locator(".card .text:visible").wait_for(), 390, 844, "dark"),
    ("history", "history", history, 1280, 900, "light"),
]
"""The name of a picture, its view, what is done for it, its width and height, its colours."""


def main(folder: Path) -> None:
    """Take all pictures."""
    installed = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    with serving() as address, sync_playwright() as playwright:
        options = {"executable_path": next(installed, None), "args": ["--no-sandbox", "--disable-gpu"]}
        browser = playwright.chromium.launch(**options)
        for name, view, work, width, height, scheme in SHOWN:
            size = {"width": width, "height": height}
            context = browser.new_context(locale="en-US", viewport=size, color_scheme=scheme, reduced_motion="reduce")
            page = context.new_page()
            page.goto(f"{address}/#token={TOKEN}")
            page.wait_for_selector("html[data-ready]")
            page.goto(f"{address}/#/{view}")
            work(page)
            page.screenshot(path=folder / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
