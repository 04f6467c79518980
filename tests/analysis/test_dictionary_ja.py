"""Japanese words: real sentences, offsets, options, strange text, threads."""

from __future__ import annotations

import sys
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui.analysis import dictionary
from bunrui.analysis.dictionary import Japanese, pieces
from bunrui.analysis.texts import Token
from bunrui.errors import MissingExtraError, OptionError
from tests.support.examples import examples
from tests.support.tokens import words

pytest.importorskip("fugashi", reason="the extra 'ja' is not installed")
pytest.importorskip("unidic_lite", reason="the extra 'ja' is not installed")

NEKO = "吾輩は猫である。名前はまだ無い。"
STRANGE = st.text(
    st.characters() | st.sampled_from("猫は走った。ﾊﾟ か\u3099\0\n\r\ud800\udfff\u200b😀\ue000Ａ1 "), max_size=60
)


def test_words_of_a_novel() -> None:
    assert words(Japanese(), NEKO) == ["吾輩", "は", "猫", "で", "ある", "名前", "は", "まだ", "無い"]


def test_offsets() -> None:
    assert Japanese().tokens("😀 猫が\n走った")[:3] == [Token("猫", 2, 3), Token("が", 3, 4), Token("走っ", 5, 7)]


def test_base_forms_keep_the_spelling() -> None:
    text = "ネコが走って安倍さんのパソコンを買った"
    expected = "ネコ が 走る て 安倍 さん の パソコン を 買う た"
    assert words(Japanese(base_forms=True), text) == expected.split()


def test_base_form_has_the_place_of_the_surface() -> None:
    assert Japanese(base_forms=True).tokens("今走った")[1] == Token("走る", 1, 3)


def test_parts_of_speech() -> None:
    text = "東京で猫が走った。"
    assert words(Japanese(pos=("名詞",)), text) == ["東京", "猫"]
    assert words(Japanese(pos=("名詞-固有名詞",)), text) == ["東京"]
    assert words(Japanese(pos=("名詞-固*", "動詞"), base_forms=True), text) == ["東京", "走る"]
    assert words(Japanese(pos=("補助記号",)), text) == ["。"]


def test_all_parts_of_speech_of_the_dictionary_are_known() -> None:
    folder = pytest.importorskip("unidic_lite").DICDIR
    lines = (Path(folder) / "left-id.def").read_text(encoding="utf-8").splitlines()
    raw = {line.split(" ", 1)[1] for line in lines}
    assert {dictionary._unidic(features)[0] for features in raw} - {"BOS/EOS"} == Japanese.tags


def test_normalised_after_analysis() -> None:
    assert Japanese().tokens("ﾊﾟｿｺﾝとＷｉＦｉ") == [Token("パソコン", 0, 5), Token("と", 5, 6), Token("wifi", 6, 10)]


def test_placeholders_are_tokens_of_their_own() -> None:
    text = "😀\ue001猫が\ue002 個\ue000"
    assert words(Japanese(), text) == ["\ue001", "猫", "が", "\ue002", "個", "\ue000"]
    assert words(Japanese(pos=("助詞",)), text) == ["\ue001", "が", "\ue002", "\ue000"]


def test_nul_does_not_end_the_text() -> None:
    assert Japanese().tokens("猫\0犬") == [Token("猫", 0, 1), Token("犬", 2, 3)]


@settings(max_examples=examples(200))
@given(STRANGE)
def test_offsets_are_those_of_the_text(text: str) -> None:
    tokens = Japanese().tokens(text)
    for token in tokens:
        assert 0 <= token.start < token.end <= len(text)
        assert token.text == unicodedata.normalize("NFKC", text[token.start : token.end]).casefold()
    assert all(one.end <= other.start for one, other in pairwise(tokens))
    everything = ("*",)
    surfaces, bases = (Japanese(pos=everything, base_forms=flag).tokens(text) for flag in (False, True))
    assert [token[1:] for token in surfaces] == [token[1:] for token in bases]


@given(STRANGE, st.integers(1, 10))
def test_pieces_cover_the_text(text: str, limit: int) -> None:
    end = 0
    for start, piece in pieces(text, limit):
        assert set(text[end:start]) <= {"\n"}
        assert 1 <= len(piece) <= limit
        end = start + len(piece)
    assert set(text[end:]) <= {"\n"}


def test_words_of_the_error() -> None:
    with pytest.raises(OptionError, match=r"^the analyzer 'ja' has no part of speech 'noun': 代名詞, 副詞, "):
        Japanese(pos=("noun",))


@pytest.mark.parametrize("package", ["fugashi", "unidic_lite"])
def test_missing_package(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delattr(dictionary._local, "tagger", raising=False)
    with pytest.raises(MissingExtraError, match=rf"'ja' needs {package.replace('_', '-')}, .*bunrui\[ja\]"):
        Japanese().tokens("猫")
