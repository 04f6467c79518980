"""The page in a real browser: no complaint, nothing wider than the screen, and what can be pressed does something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bunrui.classifier import TextClassifier
from bunrui.data import read
from bunrui.evaluation import learning_curve, leave_one_out
from bunrui.report import evaluation_page
from tests.support.examples import quick
from tests.support.look import Look

NAMES = {
    "sports": "スポーツ・体育",
    "politics": "政治",
    "science": "과학 <script>alert(1)</script>",
    "economy": "economy",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [row for row in read("demo") if row["lang"] in ("en", "ja")]
    texts, labels = [row["text"] for row in rows], [NAMES.get(row["label"], row["label"]) for row in rows]
    clf = TextClassifier().learn(texts, labels)
    html = evaluation_page(
        leave_one_out(clf, texts, labels),
        title="ニュース.csv",
        texts=texts,
        places=[f"ニュース.csv, line {k}" for k in range(len(texts))],
        classifier=clf,
        is_learned=True,
        curve=learning_curve(TextClassifier(), texts, labels),
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


@pytest.fixture
def look(browser: Any, path: Path) -> Iterator[Any]:
    opened: list[Look] = []

    def call(**options: Any) -> Any:
        opened.append(Look(browser, path, **options))
        return opened[-1].page

    yield call
    for one in opened:
        one.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", quick(2, [320, 1200, 375, 768]))
def test_nothing_is_wider_than_the_screen(look: Any, width: int, scheme: str) -> None:
    page = look(viewport={"width": width, "height": 800}, color_scheme=scheme)
    for details in page.locator("details").all()[:3]:
        details.evaluate("details => { details.open = true }")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground, ink = page.evaluate(
        "[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.documentElement).color]"
    )
    levels = [sum(map(int, colour[4:-1].split(","))) for colour in (ground, ink)]
    assert (levels[0] > levels[1]) == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_that_goes_on_has_a_shadow_there(look: Any, scheme: str) -> None:
    page = look(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    box = page.locator("#labels .scroll")
    box.scroll_into_view_if_needed()
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")

    def strip(x: float) -> Any:
        return page.screenshot(clip={"x": x, "y": box.bounding_box()["y"] + 2, "width": 4, "height": 4})

    left = box.bounding_box()["x"]
    right, ground = left + box.bounding_box()["width"] - 4, strip(1)
    assert strip(right) != ground
    box.evaluate("box => { box.scrollLeft = box.scrollWidth }")
    assert strip(right) == ground and strip(left) != ground


def test_a_heading_sorts_its_table(look: Any) -> None:
    page = look()
    rows = page.locator("#labels tbody tr")

    def shares() -> list[float]:
        cells = page.locator("#labels tbody td:nth-child(4)").all_text_contents()
        return [float(text.split()[0]) for text in cells]

    head = page.locator("#labels th", has_text="F1")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending" and shares() == sorted(shares(), reverse=True)
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending" and shares() == sorted(shares())
    page.locator("#labels th", has_text="label").locator("button").click()
    assert head.get_attribute("aria-sort") is None and rows.count() == 5


def test_a_cell_opens_its_mistakes(look: Any) -> None:
    page = look()
    cell = page.locator("a.cell").first
    target = page.locator(cell.get_attribute("href"))
    assert not target.is_visible()
    cell.click()
    assert target.is_visible() and target.locator("article").count() >= 1
    true, predicted = cell.get_attribute("aria-label").split(":")[0].split(", predicted as ")
    summary = target.locator("xpath=..").locator("summary")
    assert summary.inner_text().startswith(f"{true} → {predicted}")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    summary.click()
    cell.click()  # once more, to the same address
    assert target.is_visible()


def test_arrow_keys_go_from_cell_to_cell(look: Any) -> None:
    page = look()
    cells = page.locator("a.cell")
    assert [cell.get_attribute("tabindex") for cell in cells.all()].count("0") == 1
    cells.first.focus()
    before = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("ArrowDown")
    after = page.evaluate("document.activeElement.getAttribute('href')")
    assert after != before and page.evaluate("document.activeElement.tabIndex") == 0
    page.keyboard.press("Enter")
    assert page.locator(after).is_visible()


def test_a_label_is_chosen(look: Any) -> None:
    page = look()
    choice = page.locator("select.curves")
    for label in ("政治", NAMES["science"]):
        choice.select_option(label=label)
        assert page.locator(".curve.chosen").count() == 2
        told = page.locator("[data-told]:visible")
        assert told.count() == 1 and told.inner_text().startswith(f"{label}: ROC AUC")


def test_without_scripts_everything_that_matters_is_there(look: Any) -> None:
    page = look(java_script_enabled=False)
    assert page.locator("article").first.is_visible() and page.locator(".curve.chosen").count() == 2
    assert not page.locator("select.curves").is_visible() and page.locator("[data-told]:visible").count() == 1


def test_on_paper(look: Any) -> None:
    page = look(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(
        "Array.from(document.querySelectorAll('.scroll')).every(box => getComputedStyle(box).overflowX === 'visible')"
    )
    assert not page.locator("nav").is_visible() and page.locator("#mistakes article").first.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
