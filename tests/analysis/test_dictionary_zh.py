"""Chinese words: real sentences, offsets, options, strange text, threads."""

from __future__ import annotations

import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.analysis import dictionary
from bunrui.analysis.dictionary import Chinese
from bunrui.analysis.texts import Token
from bunrui.errors import MissingExtraError, OptionError
from tests.support.examples import examples
from tests.support.tokens import words

pytest.importorskip("rjieba", reason="the extra 'zh' is not installed")

STRANGE = st.text(
    st.characters() | st.sampled_from("我们中国。\0\n\r\ud800\udfff\u200b😀𠮷\ue000Ａ1é\u0301 .+"), max_size=60
)


def test_words() -> None:
    text = "小明硕士毕业于中国科学院计算所，后在日本京都大学深造。"
    expected = "小明 硕士 毕业 于 中国科学院 计算所 后 在 日本京都大学 深造"
    assert words(Chinese(), text) == expected.split()
    assert words(Chinese(), "我爱北京天安门") == ["我", "爱", "北京", "天安门"]


def test_offsets_count_characters() -> None:
    assert Chinese().tokens("😀𠮷，\n北京") == [Token("𠮷", 1, 2), Token("北京", 4, 6)]


def test_parts_of_speech() -> None:
    text = "我爱北京天安门"
    assert words(Chinese(pos=("ns",)), text) == ["北京", "天安门"]
    assert words(Chinese(pos=("n*", "v")), text) == ["爱", "北京", "天安门"]
    assert words(Chinese(pos=("n",)), text) == []


def test_other_scripts_stay_words() -> None:
    text = "用ＡＢＣ和café，Привет мир! हिन्दी iPhone15 C++ 3.14 안녕하세요"
    expected = "用 abc 和 café привет мир हिन्दी iphone15 c++ 3.14 안녕하세요"
    assert words(Chinese(), text) == expected.split()
    assert Chinese().tokens("用ＡＢＣ")[1] == Token("abc", 1, 4)
    assert words(Chinese(pos=("eng",)), text) == ["café", "iphone15"]


def test_placeholders_are_tokens_of_their_own() -> None:
    text = "😀\ue001看\ue002 个\ue000"
    assert words(Chinese(), text) == ["\ue001", "看", "\ue002", "个", "\ue000"]
    assert words(Chinese(pos=("v",)), text) == ["\ue001", "看", "\ue002", "\ue000"]


@settings(max_examples=examples(200))
@given(STRANGE, st.sampled_from([None, ("*",)]))
def test_offsets_are_those_of_the_text(text: str, pos: tuple[str, ...] | None) -> None:
    tokens = Chinese(pos=pos).tokens(text)
    for token in tokens:
        assert 0 <= token.start < token.end <= len(text)
        written = text[token.start : token.end].translate({0: " "} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
        assert token.text == unicodedata.normalize("NFKC", written).casefold()
    assert all(one.end <= other.start for one, other in pairwise(tokens))
    if pos:  # then every character but line breaks is in a token
        assert sum(token.end - token.start for token in tokens) == len(text) - text.count("\n")


def test_words_that_others_add_stay_out() -> None:
    import rjieba

    rjieba._DEFAULT_JIEBA.add_word("我爱北京", 1_000_000, "n")
    assert rjieba.cut("我爱北京") == ["我爱北京"]
    assert words(Chinese(), "我爱北京") == ["我", "爱", "北京"]


def test_no_base_forms() -> None:
    with pytest.raises(OptionError, match=r"^the analyzer 'zh' has no base forms, since Chinese has no inflection"):
        Chinese(base_forms=True)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    dictionary._jieba.cache_clear()
    with pytest.raises(MissingExtraError, match=r"'zh' needs rjieba, .*bunrui\[zh\]"):
        Chinese().tokens("猫")
