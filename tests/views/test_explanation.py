"""What is shown says what the explanation says, and nothing in a text is obeyed."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bunrui.analysis import AnalyzerSpec
from bunrui.classifier import TextClassifier
from bunrui.phrases import visible
from bunrui.views.explanation import Contribution, Explanation, _runs, spell

HOSTILE = "cheap <script>alert('x')</script> \"q\" & [red]pills[/red] :smile: \u202egnp.exe \0 \x1b[2J\x07 noon"


TAGS = {"b", "bdi", "caption", "div", "p", "rect", "span", "style", "svg", "table", "tbody", "td", "th", "tr"}
ATTRIBUTES = {"aria-hidden", "aria-label", "class", "dir", "role", "scope", "tabindex", "title"}
ATTRIBUTES |= {"data-t", "data-t-label", "data-words", "fill", "height", "preserveaspectratio", "viewbox", "width", "x"}


def made(text: str | None, *contributions: Contribution, **named: Any) -> Explanation:
    fields: dict[str, Any] = {
        "label": "spam",
        "against": "ham",
        "probabilities": {"spam": 0.75, "ham": 0.25},
        "score": -1.0,
        "against_score": -2.0,
        "bias": 0.5,
        "unknown": (),
    }
    return Explanation(contributions=contributions, text=text, **(fields | named))


@pytest.fixture(scope="module")
def hostile() -> Explanation:
    clf = TextClassifier("multinomial", analyzer=AnalyzerSpec(name="words", words=2))
    clf.learn(["cheap script alert pills", "exe noon", "<b>"], ["<img src=x onerror=1>", "ham'\"&", "third"])
    return clf.explain(HOSTILE, label="<img src=x onerror=1>")


class Page(HTMLParser):
    """Elements, text and titles of a piece of HTML, whose tags must be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.classes: list[str] = []
        self.style = ""
        self.titles: list[tuple[str, str]] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.blocks: list[str] = []
        self._open: list[tuple[str, str | None]] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.attributes |= set(found)
        self.classes += (found.get("class") or "").split()
        self._open.append((tag, found.get("title")))
        if found.get("dir") == "auto":
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1][0] == "style":
            self.style += data
            return
        self.text += data
        if self.blocks and "table" not in self.tags:
            self.blocks[-1] += data
        title = self._open[-1][1]
        if title is not None:
            self.titles.append((data, title))


# --- HTML


def test_hostile_text_is_shown(hostile: Explanation) -> None:
    html = hostile.to_html()
    page = Page(html)
    assert set(page.tags) <= TAGS and page.tags.count("style") == 1
    assert page.attributes <= ATTRIBUTES
    assert page.blocks == [visible(HOSTILE)]
    assert "<script>alert('x')</script>" in page.text and "<img src=x onerror=1>" in page.text
    assert not re.search("[\0-\x09\x0b-\x1f\u202a-\u202e]", html)
    assert hostile._repr_html_() == html


@given(text=st.text(max_size=40))
def test_any_text_survives(text: str) -> None:
    clf = TextClassifier(unseen="smooth").learn(["x <b>", "y 無料"], ["a", "b"])
    page = Page(clf.explain(text).to_html())
    assert set(page.tags) <= TAGS
    assert page.blocks == ([visible(text)] if text else [])


def test_colours_fit_light_and_dark_pages(hostile: Explanation) -> None:
    """Text has the colour of the page; a ground is transparent, or is mixed with it."""
    style = Page(hostile.to_html()).style
    assert style.startswith(".bunrui{") and "light-dark" not in style and ":root" not in style
    defined = set(re.findall(r"(--[\w-]+):", style))
    assert defined.isdisjoint(("--panel", "--ground", "--ink"))  # a ground of these is transparent
    mixed = re.compile(r"color-mix\(in srgb, var\(--(for|against)\) \S+, transparent\)")
    for value in re.findall(r"(?<![-\w])background: *([^;]+)", style):
        assert value in ("none", "var(--panel)", "var(--ground)") or mixed.fullmatch(value)
    assert set(re.findall(r"(?<![-\w])color: *([^;]+)", style)) == {"inherit", "var(--muted)"}


def test_runs_of_equal_value_are_one_span() -> None:
    explanation = made(
        "aa bb cc",
        Contribution("cc", -4.0, 1, ((6, 8),)),
        Contribution("aa bb", 2.5, 1, ((0, 5),)),
        Contribution("aa", 2.0, 1, ((0, 2),)),
        Contribution("bb", 2.0, 1, ((3, 5),)),
    )
    values = explanation.characters()
    assert values == [1.5, 1.5, 0.5, 1.5, 1.5, 0, -2, -2]
    assert [(r.start, r.end, r.value, r.places) for r in _runs(explanation)] == [
        (0, 2, 1.5, {1, 2}),
        (2, 3, 0.5, {1}),
        (3, 5, 1.5, {1, 3}),
        (5, 6, 0.0, set()),
        (6, 8, -2.0, {0}),
    ]
    assert Page(explanation.to_html()).titles == [
        ("aa", "aa␣bb ×1: +2.500\naa ×1: +2.000"),
        (" ", "aa␣bb ×1: +2.500"),
        ("bb", "aa␣bb ×1: +2.500\nbb ×1: +2.000"),
        ("cc", "cc ×1: −4.000"),
    ]


def test_the_other_side() -> None:
    explanation = made("a b", Contribution("a", 4.0, 1, ((0, 1),)), Contribution("b", -1.0, 1, ((2, 3),)))
    other = explanation.reverse()
    assert (other.label, other.against) == ("ham", "spam")
    assert (other.difference, other.bias) == (-explanation.difference, -explanation.bias)
    assert [one.value for one in other.contributions] == [-4.0, 1.0]
    assert other.reverse() == explanation
    alone = made("a", against=None, against_score=None, probabilities={"spam": 1.0})
    assert alone.reverse() is alone


def test_neighbours_of_equal_value_share_a_span() -> None:
    explanation = made("abcd", Contribution("ab", 1.0, 1, ((0, 2),)), Contribution("cd", 1.0, 1, ((2, 4),)))
    assert Page(explanation.to_html()).titles == [("abcd", "ab ×1: +1.000\ncd ×1: +1.000")]


def test_many_features_on_one_place_are_counted() -> None:
    stems = [Contribution(f"stem{k:02d}", 1.0, 1, ((0, 4),)) for k in range(20)]
    [(_, title)] = Page(made("text", *stems).to_html()).titles
    assert title.splitlines() == [*(f"stem{k:02d} ×1: +1.000" for k in range(8)), "… +12"]


def test_stronger_is_deeper_and_signs_differ() -> None:
    explanation = made(
        "a b c",
        Contribution("a", 4.0, 1, ((0, 1),)),
        Contribution("c", -4.0, 1, ((4, 5),)),
        Contribution("b", 1.0, 1, ((2, 3),)),
    )
    page = Page(explanation.to_html())
    assert [name for name in page.classes if re.fullmatch(r"[fa]\d", name)] == ["f5", "f2", "a5"]
    depths = dict(re.findall(r"\.f(\d), \.a\d \{ --depth: (\d+)%", page.style))
    assert [int(depths[level]) for level in "12345"] == [12, 24, 36, 48, 60]


def test_quotes_do_not_end_a_title() -> None:
    page = Page(made("x", Contribution("' onclick='1' \"", 1.0, 1, ((0, 1),))).to_html())
    assert page.attributes <= ATTRIBUTES
    assert page.titles == [("x", "'␣onclick='1'␣\" ×1: +1.000")]


def test_no_text_no_text_block() -> None:
    page = Page(made(None, Contribution("a", 4.0, 2, ())).to_html())
    assert page.blocks == [] and "a×2+4.000" in page.text


# --- the terminal


def captured(explanation: Explanation) -> str:
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(explanation)
    return console.export_text()


def coloured(explanation: Explanation, **named: Any) -> str:
    file = io.StringIO()
    Console(width=80, file=file, force_terminal=True, **named).print(explanation)
    return file.getvalue()


def test_terminal() -> None:
    clf = TextClassifier("multinomial", analyzer=AnalyzerSpec(name="words", words=2, numbers=True), alpha=1.0)
    clf.learn(["free 100 pills", "noon today"], ["spam", "ham"])
    # V = 8, so that P(free | spam) = 2/13 against 1/11, P(noon | spam) = 1/13 against 2/11
    lines = captured(clf.explain("Free 25 lunch at noon")).splitlines()
    assert [line.rstrip() for line in lines] == [
        " spam  67.2% against  ham  32.8%",
        "",
        "Free 25 lunch at noon",
        "",
        "-0.860  ×1  noon",
        "+0.526  ×1  free",
        "+0.526  ×1  free␣‹number›",
        "+0.526  ×1  ‹number›",
        "+0.000      (before reading)",
        "+0.718      (in all)",
        "not known: lunch, ‹number›␣lunch, at, lunch␣at, at␣noon",
    ]


def test_terminal_obeys_nothing(hostile: Explanation) -> None:
    out = captured(hostile)
    assert not re.search("[\0-\x09\x0b-\x1f\u202a-\u202e]", out)
    joined = "".join(line.ljust(80) if len(line) == 79 else line for line in out.split("\n"))
    assert "[red]pills[/red] :smile: ‹U+202E›gnp.exe" in joined and "␛[2J␇" in joined


@pytest.mark.parametrize("system", ["truecolor", "256", "standard"])
def test_terminal_colours(system: Any) -> None:
    explanation = made(
        "for against", Contribution("for", 4.0, 1, ((0, 3),)), Contribution("against", -9.0, 1, ((4, 11),))
    )
    out = coloured(explanation, color_system=system, no_color=False)
    [body] = [line for line in out.splitlines() if re.sub("\x1b\\[[\\d;]*m", "", line).rstrip() == "for against"]
    styles = re.findall(r"\x1b\[([\d;]+)m(\w+)", body)
    assert [word for _, word in styles] == ["for", "against"]
    backgrounds = [re.search(r"\b(4[0-7]|10[0-7]|48;[\d;]+)\b", codes) for codes, _ in styles]
    assert all(backgrounds) and backgrounds[0].group() != backgrounds[1].group()  # type: ignore[union-attr]


def test_no_color_keeps_the_difference() -> None:
    explanation = made(
        "for against", Contribution("for", 4.0, 1, ((0, 3),)), Contribution("against", -9.0, 1, ((4, 11),))
    )
    out = coloured(explanation, color_system="truecolor", no_color=True)
    assert not re.search("\x1b\\[[\\d;]*(3\\d|4[0-8])", out)
    assert "\x1b[1;4magainst\x1b[0m" in out and "\x1b[4mfor" not in out


# --- plain text


def test_plain() -> None:
    explanation = made(
        "a b",
        Contribution("a", 12.5, 2, ((0, 1), (0, 1))),
        Contribution(" 無", -0.25, 1, ((2, 3),)),
        unknown=tuple(f"u{k}" for k in range(10)),
    )
    assert str(explanation).splitlines() == [
        "spam 75.0% against ham 25.0%",
        "  +12.500  ×2  a",
        "   -0.250  ×1  ␣無",
        "   +0.500      (before reading)",
        "   +1.000      (in all)",
        "not known: u0, u1, u2, u3, u4, u5, u6, u7 and 2 more",
    ]


def test_the_rest_is_added_up() -> None:
    explanation = made(None, *(Contribution(f"f{k:02d}", 1.0, 1, ()) for k in range(20)), score=20.5, against_score=0.0)
    lines = str(explanation).splitlines()
    assert lines[15:] == [
        "   +1.000  ×1  f14",
        "   +5.000      (5 more)",
        "   +0.500      (before reading)",
        "  +20.500      (in all)",
    ]
    assert "+5.000" in captured(explanation) and "(5 more)" in Page(explanation.to_html()).text


def test_small_values_keep_their_figures() -> None:
    explanation = made(None, Contribution("a", 1.25e-7, 1, ()), bias=0.0, score=1.25e-7, against_score=0.0)
    assert "+0.000000125  ×1  a" in str(explanation)


def test_one_class() -> None:
    explanation = made(
        "a", Contribution("a", -1.0, 1, ((0, 1),)), against=None, against_score=None, probabilities={"spam": 1.0}
    )
    assert str(explanation).startswith("spam 100.0%\n")
    assert "against" not in captured(explanation) and "against" not in Page(explanation.to_html()).classes


@pytest.mark.parametrize("text", ["", " \n ", None])
def test_nothing_to_explain(text: str | None) -> None:
    explanation = made(text)
    assert "(before reading)" in str(explanation)
    assert "(before reading)" in captured(explanation) and "(before reading)" in Page(explanation.to_html()).text


# --- characters


def test_visible_keeps_what_is_harmless() -> None:
    assert visible("a\tb\nc\r\nd 無料 \u200f👩‍💻") == "a\tb\nc\nd 無料 \u200f👩‍💻"
    assert visible("\r\x85\x7f\u2067") == "␍‹U+0085›␡‹U+2067›"


def test_spell() -> None:
    assert spell("\ue000 \ue001") == "‹url›␣‹mention›"
    assert spell("") == "‹empty›" and spell("a\nb") == "a␣b" and spell("\x1b") == "␛"
