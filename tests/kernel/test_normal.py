"""The exact normaliser against the running Python's `unicodedata`, and the places that it reports."""

from __future__ import annotations

import unicodedata
from itertools import groupby

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bunrui.kernel import unicode
from bunrui.kernel.normal import aligned, folded, lower, nfkc_casefold
from tests.support.characters import assigned

# Characters that both the tables and the running Python know: their normalisation never changes between versions.
SHARED = [chr(code) for code in np.flatnonzero(assigned()) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
# Those that normalisation changes, and a part of the rest.
SOME = [c for k, c in enumerate(SHARED) if k % 50 == 0 or unicode.nfkc_table().codes[ord(c)] != ord(c)]
_KINDS = unicode.nfkc_table().codes >> unicode.KIND_SHIFT
JOINING = [c for c in SHARED if unicode.TRAILING <= _KINDS[ord(c)] <= unicode.SEQUENCE]
_TOUCHED = [c for c in SHARED if len(unicodedata.normalize("NFD", c)) > 1 and not "\uac00" <= c <= "\ud7a3"]
_ALPHABETS = (
    JOINING,
    _TOUCHED,
    "\u0300\u0301\u0302\u0304\u0308\u0313\u0323\u0327\u0328\u0338\u0342\u0345",
    "\u1100\u1112\u1161\u1175\u11a8\u11c2ㄱㅎㅏㅠㄳ가각힣ﾡￂ",
    "かがハバパｶﾊﾞﾟ\u3099\u309a゛゜ーヴ㌔㍻",
    "😀👩\u200d\ufe0f🏽🇯🇵\u20e31",
    "ΣσςαΑάΆιΪϊΐῼω'.\u00ad ",
    "aAeEiIoOuUsSßẞİıŉﬁÅ½…¨ ﷺ\n",
    SHARED,
)
SLICE = 1 << 14
STRINGS = st.lists(st.one_of(*(st.sampled_from(alphabet) for alphabet in _ALPHABETS)), max_size=12).map("".join)


def reference(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@pytest.mark.parametrize(
    ("around", "characters"),
    [
        pytest.param("{}", SOME, id="some"),
        *(
            pytest.param(around, SHARED, marks=pytest.mark.slow, id=around)
            for around in ("{}", "a{}b", "か{}\u0301", "Σ{}Σ", "e\u0323{}\u3099")
        ),
    ],
)
def test_every_code_point(around: str, characters: list[str]) -> None:
    assert len(characters) > (280_000 if characters is SHARED else 12_000)
    texts = [around.format(c) for c in characters]
    assert [t for t in texts if nfkc_casefold(t) != reference(t)] == []
    assert [t for t in texts if lower(t) != t.lower()] == []


@pytest.mark.parametrize("around", ["a{}b", "か{}\u0301", "Σ{}Σ", "e\u0323{}\u3099"])
def test_code_points_that_join(around: str) -> None:
    texts = [around.format(c) for c in {*JOINING, *_TOUCHED, *SHARED[::500]}]
    assert [t for t in texts if nfkc_casefold(t) != reference(t)] == []
    assert [t for t in texts if lower(t) != t.lower()] == []


@given(STRINGS)
@example("a\u0301\u0327\u0323")
@example("\u0d46\u0d3e\u0334\u0d3e")
@example("ﬁ\u0301\u1161")
def test_strings(text: str) -> None:
    assert nfkc_casefold(text) == reference(text)
    assert lower(text) == text.lower()


@given(STRINGS, st.integers(-8, 1), st.sampled_from("aか\u0301\u1100😀"))
@example("a\u0301\u0327\u0323", -2, "a")
def test_where_slices_meet(text: str, shift: int, before: str) -> None:
    for size in (SLICE + shift, 2 * SLICE + shift):
        assert nfkc_casefold(before * size + text) == reference(before * size + text)
        assert lower(before * size + text) == (before * size + text).lower()


@pytest.mark.parametrize(
    "text",
    # Not more marks: `unicodedata` takes a time that grows with their square.
    ["ﷺ" * 40_000, "\u0301\u0323\u0327\u0345" * 5_000, "a\u0301\u0323 " * 10_000, "Σ" * 40_000, "😀" * 40_000],
)
def test_long_texts_come_in_pieces(text: str) -> None:
    """Other threads wait for a piece, and not for all of the text."""
    for form, expected in (("nfkc", reference(text)), ("lower", text.lower())):
        pieces = list(folded(text, form))
        assert "".join(pieces) == expected
        assert max(map(len, pieces)) <= SLICE * max(len(reference(c)) for c in set(text))


@pytest.mark.parametrize(
    "text", ["ΟΔΥΣΣΕΥΣ", "Σ", "ΑΣ", "ΑΣ.", "ΑΣ.Α", "Α\u00adΣ", "ΣΑ", "1Σ", "Α'Σ'", "ΑΣΣ Σ", "ªΣ", "Σ\u0301ª"]
)
def test_final_sigma(text: str) -> None:
    assert lower(text) == text.lower()
    assert aligned(text, "lower")[0] == text.lower()


def test_does_not_depend_on_the_running_python() -> None:
    # U+1E030, a superscript letter, came with Unicode 15.0; Python 3.11 has 14.0.
    assert nfkc_casefold("\U0001e030") == "\u0430"
    # U+A7CB came with 16.0, so it is no letter with a small form here, whatever Python runs.
    assert lower("\ua7cb") == nfkc_casefold("\ua7cb") == "\ua7cb"


def test_surrogates_pass() -> None:
    assert nfkc_casefold("A\ud800\u0301") == "a\ud800\u0301"
    assert lower("A\udfff") == "a\udfff"


@given(STRINGS)
@example("다ㅠㅠ")
@example("\u1100\u1161\u11a8ㅠ")
def test_segments_joined_are_the_text(text: str) -> None:
    normal, starts, ends = aligned(text, "nfkc")
    assert normal == nfkc_casefold(text)
    assert len(starts) == len(ends) == len(normal)
    segments = [
        (span, "".join(c for c, _ in piece))
        for span, piece in groupby(zip(normal, zip(starts, ends, strict=True), strict=True), key=lambda item: item[1])
    ]
    assert [s for (s, _), _ in segments] == [0, *(e for (_, e), _ in segments)][:-1]
    assert "".join(text[s:e] for (s, e), _ in segments) == text
    for (start, end), piece in segments:
        assert nfkc_casefold(text[start:end]) == piece


@given(STRINGS)
def test_lower_is_aligned_character_by_character(text: str) -> None:
    normal, starts, ends = aligned(text, "lower")
    assert normal == text.lower()
    assert ends == [start + 1 for start in starts]
    assert sorted(set(starts)) == list(range(len(text)))
    assert starts == sorted(starts)


@pytest.mark.parametrize(
    ("text", "normal", "starts", "ends"),
    [
        ("", "", [], []),
        ("Ab", "ab", [0, 1], [1, 2]),
        ("㌔x", "キロx", [0, 0, 1], [1, 1, 2]),
        ("ﾊﾟﾊ", "パハ", [0, 2], [2, 3]),
        ("e\u0301e", "ée", [0, 2], [2, 3]),
        ("\u1112\u1161\u11ab", "한", [0], [3]),
        # Vowels that meet no consonant stand alone, marks that change nothing too.
        ("다ㅠㅠ", "다\u1172\u1172", [0, 1, 2], [1, 2, 3]),
        ("ที่", "ที่", [0, 1, 2], [1, 2, 3]),
        ("a\u0301\u0323", "\u1ea1\u0301", [0, 0], [3, 3]),
        ("İ", "i\u0307", [0, 0], [1, 1]),
        ("😀\u0041\u030a", "😀å", [0, 1], [1, 3]),
    ],
)
def test_places(text: str, normal: str, starts: list[int], ends: list[int]) -> None:
    assert aligned(text, "nfkc") == (normal, starts, ends)
