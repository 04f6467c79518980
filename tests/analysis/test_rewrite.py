"""The switches before tokenising: what becomes of HTML, links, mentions and numbers, and where each character was."""

from __future__ import annotations

import html
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bunrui.analysis.rewrite import PLACEHOLDERS, Rewriter
from tests.support.examples import quick

HTML = Rewriter(html=True)
URLS = Rewriter(urls=True)
MENTIONS = Rewriter(mentions=True)
NUMBERS = Rewriter(numbers=True)
ALL = Rewriter(html=True, urls=True, mentions=True, numbers=True)

REWRITERS = st.builds(Rewriter, *[st.booleans()] * 4)
FRAGMENTS = """
< > & = " ' / ! -- --> <!-- <b> </b> <p> <a <script> </script <style </style> &amp; &amp &#60; &#x41 &#xE000; &notit;
http:// www. a.jp/ @kim a@b.jp 3 1,5 １２ ٣ x 猫 _ \u0301 \ue000 \ue001 \ue002 😀 \0 \ud800
"""
TEXTS = st.lists(st.sampled_from([*FRAGMENTS.split(), " ", "\n"]) | st.text(max_size=3), max_size=25).map("".join)


def shown(text: str) -> str:
    """With the names of the signs."""
    return text.translate({ord(sign): name for sign, name in PLACEHOLDERS.items()})


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("<b>bold</b>face", "boldface"),
        ("one<br>two<BR/>three", "one\ntwo\nthree"),
        ("<p class='x'>a</p><td>b</td>", "\na\n\nb\n"),
        ("a<!-- <b> x -->b<!---->c<!-->d", "abcd"),
        ("a<script type='x'>if (1<2) '</b>';</script >b", "ab"),
        ("a<STYLE>p > q {}</Style>b", "ab"),
        ("a<script>never ends <b>", "a"),
        ("a<script>x</scripty></script>b", "ab"),
        ("<!DOCTYPE html><?xml version='1.0'?>x", "x"),
        ("<![if !mso]>x<![endif]>", "x"),
        ("<a href='x>y' title=\"<b>\">link</a>", "link"),
        ("<p don't>x</p>", "\nx\n"),
        ('<a href="never closed>x', "x"),
        ("R&amp;D &lt;b&gt; caf&eacute; &#x732b;&#29483; &nbsp;", "R&D <b> café 猫猫 \xa0"),
        ("&notit; &ampx &unknown; & &; &#; AT&T", "¬it; &x &unknown; & &; &#; AT&T"),
        ("&#0;&#xD800;&#x110000;", "\ufffd\ufffd\ufffd"),
        (f"&#{'9' * 5000};", "\ufffd"),
        ("a < b, c > d, <3 <- <> </> a<1", "a < b, c > d, <3 <- <> </> a<1"),
        ("x <y &amp; z", "x <y & z"),
        ("x <y and <b>z</b>", "x <y and z"),
        ("x <!-- y <b>z</b>", "x <!-- y z"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("", ""),
    ],
)
def test_html(written: str, text: str) -> None:
    assert HTML.apply(written) == text


@pytest.mark.parametrize(
    ("switch", "written", "text"),
    [
        (URLS, "see https://example.com/a?b=1#c.", "see ‹url›."),
        (URLS, "(HTTP://EXAMPLE.COM/)", "(‹url›)"),
        (URLS, "詳細はhttps://example.jp/aを見て", "詳細は ‹url› を見て"),
        (URLS, "www.example.com, awww. www. http://", "‹url›, awww. www. http://"),
        (URLS, "mail foo.bar+x@mail.example.co.jp!", "mail ‹url›!"),
        (URLS, "連絡先：info@example.comまで", "連絡先：‹url› まで"),
        (URLS, "a@b @kim a@@b.jp", "a@b @kim a@@b.jp"),
        (URLS, "http://a.jp/ www.b.jp", "‹url› ‹url›"),
        (MENTIONS, "@kim: hi @lee_2!", "‹mention›: hi ‹mention›!"),
        (MENTIONS, "@kimさん、@田中 ＠josé", "‹mention› さん、‹mention› ‹mention›"),
        (MENTIONS, "thanks @me@example.social.", "thanks ‹mention›."),
        (MENTIONS, "foo@bar a@b.jp @ @@", "foo@bar a@b.jp @ @@"),
        (NUMBERS, "3,000.50円 at 12:30.", "‹number› 円 at ‹number›."),
        (NUMBERS, "１２３，４５６個 第３回 ٣٫٥ ३४", "‹number› 個 第 ‹number› 回 ‹number› ‹number›"),
        (NUMBERS, "mp3 10km 2024年5月", "mp ‹number› ‹number› km ‹number› 年 ‹number› 月"),
        (NUMBERS, "-1% (2) x² ½ 三", "-‹number›% (‹number›) x² ½ 三"),
        (NUMBERS, "1\u20e3", "‹number› \u20e3"),
    ],
)
def test_signs(switch: Rewriter, written: str, text: str) -> None:
    assert shown(switch.apply(written)) == text


def test_all_together() -> None:
    written = "<p>Mail 2 kim@example.org &amp; @lee, see <a href='x'>http://a.jp/?a=1&amp;b=2</a>5</p>"
    assert shown(ALL.apply(written)) == "\nMail ‹number› ‹url› & ‹mention›, see ‹url›\n"


def test_signs_beside_each_other_have_one_space_between() -> None:
    assert shown(ALL.apply("http://a.jp/٣@kim")) == "‹url› ‹number› ‹mention›"


def test_signs_cannot_be_forged() -> None:
    assert Rewriter().apply("a\ue000b\ue001\ue002") == "a b  "
    assert ALL.apply("&#xE000;&#57345;\ue002") == "   "


def test_nothing_to_do() -> None:
    assert Rewriter().apply("<b>&amp; http://a.jp @kim 3") == "<b>&amp; http://a.jp @kim 3"


def test_origins() -> None:
    written = "<b>caf&eacute;</b><br>3個"
    text, starts, ends = ALL.apply_aligned(written)
    assert text == "café\n\ue002 個"
    origins = [written[start:end] for start, end in zip(starts, ends, strict=True)]
    assert origins == ["c", "a", "f", "&eacute;", "<br>", "3", "3", "個"]


def test_origins_behind_an_entity_without_an_end() -> None:
    written = "&copyright"
    text, starts, ends = HTML.apply_aligned(written)
    assert text == "©right"
    assert [written[start:end] for start, end in zip(starts, ends, strict=True)] == ["&copy", *"right"]


@given(REWRITERS, TEXTS)
def test_aligned_or_not_the_text_is_the_same(rewriter: Rewriter, written: str) -> None:
    text, starts, ends = rewriter.apply_aligned(written)
    assert text == rewriter.apply(written)
    assert len(text) == len(starts) == len(ends)
    assert all(0 <= start < end <= len(written) for start, end in zip(starts, ends, strict=True))
    assert starts == sorted(starts)
    assert ends == sorted(ends)


@given(REWRITERS, TEXTS)
def test_a_character_that_is_kept_is_its_own_origin(rewriter: Rewriter, written: str) -> None:
    text, starts, ends = rewriter.apply_aligned(written)
    for char, start, end in zip(text, starts, ends, strict=True):
        if end - start == 1 and char not in PLACEHOLDERS and char != " ":
            # One character from one: itself, or the last letter of an entity that is decoded to the same letter.
            assert char == written[start]


@given(TEXTS)
@example("猫3http://a.jp/٣@kim")
def test_signs_stand_alone(written: str) -> None:
    text = Rewriter(urls=True, mentions=True, numbers=True).apply(written)
    for at, char in enumerate(text):
        if char in PLACEHOLDERS:
            beside = text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
            assert not any(other.isalnum() or other == "_" or other in PLACEHOLDERS for other in beside)


@given(st.text(st.characters(exclude_characters="<\ue000\ue001\ue002") | st.sampled_from("&#;amplt3x"), max_size=30))
def test_entities_as_the_standard_library_reads_them(written: str) -> None:
    decoded = html.unescape(written).translate(dict.fromkeys(map(ord, PLACEHOLDERS), " "))
    assert HTML.apply(written) == decoded


@given(st.text())
def test_escaped_text_comes_back(text: str) -> None:
    assert HTML.apply(html.escape(text)) == Rewriter().apply(text)


HOSTILE = """
<|&|<a |<a ' ='|<a ="|<!--|<!x|</|<?x|<script>|</script |<script></script |&amp;|&#|&#9|&a|a|a@|a@x.|www.|http://|1.|@a|.|=
"""


@pytest.mark.parametrize("unit", quick(5, HOSTILE.strip().split("|")))
@pytest.mark.parametrize("ends", quick(1, [("", ""), ("<a ", "'>\">")]))
def test_time_is_linear(unit: str, ends: tuple[str, str]) -> None:
    # Linear takes at most half a second on an idle core; quadratic takes minutes.
    text = ends[0] + unit * (1_000_000 // len(unit)) + ends[1]
    begin = time.process_time()
    ALL.apply(text)
    assert time.process_time() - begin < 10
