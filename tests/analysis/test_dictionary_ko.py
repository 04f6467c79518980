"""Korean morphemes: real sentences, offsets, options, strange text, threads."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.analysis import dictionary
from bunrui.analysis.dictionary import Korean
from bunrui.analysis.texts import Token
from bunrui.errors import MissingExtraError
from tests.support.examples import examples
from tests.support.tokens import words

pytest.importorskip("kiwipiepy", reason="the extra 'ko' is not installed")

STRANGE = st.text(
    st.characters() | st.sampled_from("갔다고마워욥. ㅋㅎ하\0\n\r\ud800\udfff\u200b😀\ue000Ａ1@ᆸ"), max_size=40
)


def test_morphemes() -> None:
    text = "나는 어제 서울에서 옷을 샀다."
    expected = "나 는 어제 서울 에서 옷 을 사 었 다"
    assert words(Korean(), text) == expected.split()


def test_offsets_may_overlap() -> None:
    assert Korean().tokens("😀 갔다") == [Token("가", 2, 3), Token("었", 2, 3), Token("다", 3, 4)]


def test_base_forms() -> None:
    text = "예쁜 옷을 샀다. 고마워요"
    assert words(Korean(base_forms=True, pos=("NNG", "VV", "VA")), text) == ["예쁘다", "옷", "사다", "고맙다"]


def test_parts_of_speech() -> None:
    text = "나는 서울에서 옷을 샀다."
    assert words(Korean(pos=("NNG",)), text) == ["옷"]
    assert words(Korean(pos=("N*",)), text) == ["나", "서울", "옷"]
    assert words(Korean(pos=("VA",)), "고마워요") == ["고맙"], "VA keeps VA-I"


def test_normalised_after_analysis() -> None:
    assert Korean().tokens("ＡＢＣ")[0] == Token("abc", 0, 3)
    assert words(Korean(), "ㅋㅋㅋ") == [unicodedata.normalize("NFKC", "ㅋㅋㅋ")]


def test_placeholders_are_tokens_of_their_own() -> None:
    text = "😀\ue001 서울에 \ue002 원\ue000"
    assert words(Korean(), text) == ["\ue001", "서울", "에", "\ue002", "원", "\ue000"]
    assert words(Korean(pos=("NNP",)), text) == ["\ue001", "서울", "\ue002", "\ue000"]


@pytest.mark.parametrize("unit", ["가", "나는 밥을 먹었다. "])
def test_a_long_line_of_hangul(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    tokens = Korean().tokens(text)
    assert tokens[-1].end >= len(text) - 2
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)


@settings(max_examples=examples(200))
@given(STRANGE, st.booleans())
def test_offsets_are_inside_the_text(text: str, base_forms: bool) -> None:
    for token in Korean(pos=("*",), base_forms=base_forms).tokens(text):
        assert 0 <= token.start < token.end <= len(text)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    monkeypatch.setattr(dictionary, "_shared", [])
    with pytest.raises(MissingExtraError, match=r"'ko' needs kiwipiepy, .*bunrui\[ko\]"):
        Korean().tokens("옷")
