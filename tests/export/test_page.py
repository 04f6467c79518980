"""The page for people: it answers as they type, obeys nothing that it shows, and fits a phone."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.data import read
from bunrui.export import make_page
from tests.export.conftest import Opened, Opener
from tests.service.test_page_files import STRINGS
from tests.support.look import violations
from tests.support.pages import Parsed

CORPUS = read("demo")
TEXT = "The prime minister welcomed the team 👍🏽 after the <b>final</b> and\npromised parliament a vote."
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "__proto__",
    "絵文字 👩‍👩‍👧 \u202eright to left\u202c",
    "a-very-long-name-without-any-space-" * 12,
]


def learned(names: dict[str, str] | None = None) -> TextClassifier:
    texts, labels = [row["text"] for row in CORPUS], [row["label"] for row in CORPUS]
    return TextClassifier().learn(texts, [(names or {}).get(label, label) for label in labels])


@pytest.fixture(scope="module")
def news() -> str:
    return make_page(learned(), "news").html


def answered(opened: Opened, text: str) -> Any:
    """The page with the answer for a text."""
    opened.page.fill("#text", text)
    opened.page.wait_for_function("(text) => document.querySelector('.result .text')?.textContent === text", arg=text)
    return opened.page


def test_it_answers_while_somebody_types(opened: Opener, news: str) -> None:
    clf = learned()
    tab = opened(news)
    page = answered(tab, TEXT)
    wanted = clf.explain(TEXT)
    assert page.title() == "news – bunrui" and page.locator("h1").inner_text() == "news"
    assert page.locator(".headline").inner_text().split() == [wanted.label, f"{wanted.probabilities[wanted.label]:.1%}"]
    names = page.locator(".bars .name").all_inner_texts()
    assert names == list(wanted.probabilities)
    assert "400 documents" in page.locator("footer").inner_text()
    page.fill("#text", " ")
    page.wait_for_selector(".result", state="hidden")


def test_a_long_text_is_classified_but_not_explained(opened: Opener, news: str) -> None:
    clf, text = learned(), f"{TEXT}\n" * 1200
    page = opened(news).page
    # Not `fill`, for which chromium takes 17 seconds.
    page.locator("#text").evaluate(
        "(area, text) => { area.value = text; area.dispatchEvent(new Event('input')); }", text
    )
    page.wait_for_selector(".headline .label")
    assert page.locator(".headline .label").inner_text() == clf.predict([text])[0]
    assert page.locator(".why p").inner_text() == STRINGS["en"]["export.long"].format(n="100,000")
    assert page.locator(".bars button, .text").count() == 0


def rows_of(page: Any) -> list[list[str]]:
    return [row.locator("th, td").all_text_contents()[:3] for row in page.locator(".contributions tr").all()]


def test_it_explains_as_python_does(opened: Opener, news: str) -> None:
    check_explanations(opened(news), learned(), TEXT)


def test_characters_that_are_two_units_of_utf16(opened: Opener) -> None:
    """Of a feature, each character has an equal part; ties are in the order of code points."""
    texts = ["tea 😀🎈 \ufa0e", "oil 𝔘𝔫𝔦 rust", "😀x tea", "gas 龍 \ufa0f"]
    clf = TextClassifier("multinomial").learn(texts, ["x", "y", "x", "y"])
    text = "tea 😀🎈 龍😀 ab𝔘𝔫𝔦 gas \ufa0e😀 rust 😀 \ufa0f"
    tab = opened(clf)
    check_explanations(tab, clf, text)
    wanted = [one.feature for one in clf.explain(text).contributions]
    assert wanted.index("\ufa0e") < wanted.index("🎈")
    assert tab.ask("(text) => bunrui.explain(text).contributions.map(({ feature }) => feature)", text) == wanted


def check_explanations(tab: Opened, clf: TextClassifier, text: str) -> None:
    page = answered(tab, text)
    for label in clf.explain(text).probabilities:
        page.locator(".bars button", has_text=label).click()
        assert page.evaluate("document.activeElement.textContent").startswith(label)
        html = Parsed(clf.explain(text, label=label).to_html())
        cells = html.all("th"), html.all("td", class_="number")
        assert rows_of(page) == [[name, *cells[1][2 * k : 2 * k + 2]] for k, name in enumerate(cells[0])]
        assert runs_of(page) == [
            ("".join(texts), (known["class"] or "").split()[1:])
            for tag, known, texts in html.found
            if tag == "span" and "run" in (known.get("class") or "").split()
        ]


def runs_of(page: Any) -> list[tuple[str, list[str]]]:
    """Pieces of the text and their colours; one of depth 0 is none."""
    runs = [(run.text_content(), run.get_attribute("class").split()[1:]) for run in page.locator(".text .run").all()]
    return [(text, [name for name in names if name[1] != "0"]) for text, names in runs]


def test_the_arrow_keys_go_from_word_to_word(opened: Opener, news: str) -> None:
    page = answered(opened(news), TEXT)
    page.locator(".text .run").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement === document.querySelectorAll('.text .run')[1]")
    assert page.locator("#tip").is_visible() and "×1" in page.locator("#tip").inner_text()


def test_hostile_names_are_shown_and_not_obeyed(opened: Opener) -> None:
    labels = sorted({row["label"] for row in CORPUS})
    clf = learned(dict(zip(labels, HOSTILE, strict=True)))
    tab = opened(make_page(clf, HOSTILE[0]).html, viewport={"width": 390, "height": 800})
    page = answered(tab, HOSTILE[1] + TEXT + HOSTILE[0])
    assert page.locator("h1").inner_text() == HOSTILE[0] and page.title() == f"{HOSTILE[0]} – bunrui"
    shown = page.locator(".bars .name").all_inner_texts()
    assert set(shown) == {re.sub("[\u202e\u202c]", lambda c: f"‹U+{ord(c[0]):04X}›", name) for name in HOSTILE}
    for k in range(len(HOSTILE)):
        page.locator(".bars button").nth(k).click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("img").count() == 0


def test_it_needs_no_network_and_allows_no_other_script(news: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', news)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in unescape(policy[1]).split("; "))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("form-action") == "'none'"
    assert {name: re.sub(r"'sha256-[\w+/=]{44}'", "digest", rule) for name, rule in rules.items()} == {
        "style-src": "digest",
        "script-src": "digest",
    }
    assert not re.search(r"\beval\(|new Function|innerHTML|\bimport\b *[{(]", news)


def test_a_page_that_was_cut_off_says_so(opened: Opener, news: str) -> None:
    broken = re.sub(r'(id="weights">)[^<]+', r"\1eJwrycgsVgCikoxUhZLEomIFAEMrBn4=", news)
    tab = opened(broken)
    assert tab.page.locator("[role=alert]").inner_text().startswith("This page cannot be read to its end")


@pytest.mark.parametrize(
    ("locale", "width", "scheme"),
    [("ja-JP", 390, "dark"), ("en-US", 1280, "light")]
    + [pytest.param(*more, marks=pytest.mark.slow) for more in [("zh-CN", 390, "light"), ("ko-KR", 1280, "dark")]],
)
def test_everybody_can_use_it(opened: Opener, locale: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed: pip install -e '.[dev]'")
    pruned = make_page(learned(), "ニュース", most_bytes=150_000, test=([TEXT], ["politics"])).html
    tab = opened(pruned, locale=locale, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = answered(tab, TEXT)
    strings = STRINGS[locale[:2]]
    assert page.evaluate("document.documentElement.lang").startswith(locale[:2])
    assert page.locator(".explanation caption").inner_text() == strings["explain.table"]
    assert page.locator(".pruning").inner_text().startswith(strings["export.pruned"].partition("{")[0])
    page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.select_option("select", "ko")
    assert page.locator("h2").first.inner_text() == STRINGS["ko"]["predict.why"]
    assert page.locator("#text").input_value() == TEXT


def test_the_phrases_are_those_of_the_service(news: str) -> None:
    told = json.loads(news.partition('id="told">')[2].partition("</script>")[0])
    for language, phrases in told["phrases"].items():
        assert "export.origin.other" in phrases and "predict.example.first" in phrases
        assert phrases.items() <= STRINGS[language].items()
    assert told["about"] == {
        "documents": 400,
        "model": "binary-complement",
        "version": bunrui.__version__,
        "pruning": None,
    }


def test_the_guide_links_to_a_page_of_the_demonstration() -> None:
    repository = Path(__file__).resolve().parents[2]
    made = (repository / "Makefile").read_text(encoding="utf-8")
    assert "--page docs/demo.html" in made and "data/demo.jsonl" in made
    assert "](demo.html)" in (repository / "docs" / "sharing.md").read_text(encoding="utf-8")
