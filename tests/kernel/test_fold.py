"""The folding loops, plain and compiled, against `unicodedata` and `bytes.decode`."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bunrui.kernel import unicode
from bunrui.kernel.compile import twin_of
from bunrui.kernel.fold import BAD_UTF8, HARD_TEXT, SLACK, copy_codepoints, fold_nfkc
from tests.kernel.test_normal import JOINING, SHARED, SOME, STRINGS, reference
from tests.support.examples import examples, quick

# Bytes around the text that would continue or change it, and elements behind `out` that nobody may write.
BEFORE = b"\xe3\x81"
AFTER = b"\x80\xbf\x80\x80"
GUARD = 0xDEADBEEF

Fold = Callable[[bytes], "str | int"]


def plain(table: tuple[Any, ...]) -> tuple[Any, ...]:
    return type(table)(*map(memoryview, table))


def folder(function: Callable[..., int], mode: str, *tables: Any) -> Fold:
    """From bytes to a string, or to the negative number that says why not."""
    kernel = numba.njit(error_model="numpy")(twin_of(function).py_func) if mode == "compiled" else function
    if mode == "plain":
        tables = tuple(map(plain, tables))
    room = np.full(2**16, GUARD, np.uint32)

    def fold(data: bytes) -> str | int:
        source = np.frombuffer(BEFORE + data + AFTER, np.uint8)
        bound = len(data) + SLACK
        if mode == "plain":
            # Nothing to read before or after the text and nothing to write behind the bound.
            out = memoryview(room)[:bound]
            n = kernel(memoryview(data), 0, len(data), out, *tables)
        else:
            n = kernel(source, len(BEFORE), len(BEFORE) + len(data), room, *tables)
        assert room[bound] == room[bound + 7] == GUARD
        text = room[:n].tobytes().decode("utf-32-le", "surrogatepass") if n >= 0 else n
        room[:bound] = GUARD
        return text

    return fold


FOLDS = {mode: folder(fold_nfkc, mode, unicode.nfkc_table()) for mode in ("plain", "compiled")}
COPIES = {mode: folder(copy_codepoints, mode) for mode in ("plain", "compiled")}
both = pytest.mark.parametrize("mode", ["plain", "compiled"])


# Ϊ and U+0301 stay two, ϊ and U+0301 become ΐ; both Ϊ and ϊ fold to ϊ.
CASE_MATTERS = {"\u0301": "ΪΫϊϋϔ"}


characters = pytest.mark.parametrize(
    ("mode", "some"),
    [
        pytest.param("plain", SOME, id="plain"),
        pytest.param("compiled", SOME, id="compiled"),
        pytest.param("compiled", SHARED, marks=pytest.mark.slow, id="compiled-all"),
    ],
)


@characters
@pytest.mark.parametrize(
    "around",
    quick(1, ["a{}b", "{}", "日本語{}、そして", "a rather long line {} of English"]),
)
def test_every_code_point(mode: str, some: list[str], around: str) -> None:
    wrong = [c for c in some if FOLDS[mode](around.format(c).encode()) != reference(around.format(c))]
    # Several marks in one code point after a base are the only hard ones.
    assert wrong == ([] if around == "{}" else ["\u0344", "\u0f73", "\u0f75", "\u0f81"])
    assert [c for c in wrong if FOLDS[mode](around.format(c).encode()) != HARD_TEXT] == []


@characters
@pytest.mark.parametrize(
    "mark",
    quick(1, "\u0301\u3099\u0323\u0345\u094d\u1161\u11a8\u0334"),
)
def test_every_code_point_before_a_mark(mode: str, some: list[str], mark: str) -> None:
    codes = unicode.nfkc_table().codes
    hard = []
    for c in some:
        found = FOLDS[mode]((c + mark).encode())
        if found == HARD_TEXT:
            hard.append(c)
        else:
            assert found == reference(c + mark), c
    # A mark is hard after an expansion, after a mark of a higher class, and where capital and small letter differ.
    kinds = {c: codes[ord(c)] >> unicode.KIND_SHIFT for c in hard}
    rest = [c for c in hard if kinds[c] not in (unicode.CLOSED, unicode.SEQUENCE, unicode.TRAILING, unicode.JOINING)]
    assert rest == [c for c in some if c in CASE_MATTERS.get(mark, "")]


@given(STRINGS)
@example("a\u0301\u0323")
@example("\u1100\u1161\u11a8\u11a8")
@example("ᾳ\u0301")
@settings(max_examples=examples(300))
def test_strings(text: str) -> None:
    data = text.encode()
    found = FOLDS["compiled"](data)
    assert FOLDS["plain"](data) == found
    assert found in (reference(text), HARD_TEXT)
    assert COPIES["compiled"](data) == COPIES["plain"](data) == text


def test_random_stacks_of_marks() -> None:
    random_ = random.Random(7)
    bases = [c for c in SHARED if len(unicodedata.normalize("NFKD", c)) > 1 or c.isalpha()][:3000]
    n_hard = 0
    for _ in range(60_000):
        text = (
            random_.choice(bases) + "".join(random_.choices(JOINING, k=random_.randint(1, 4))) + random_.choice("aㅏ")
        )
        found = FOLDS["compiled"](text.encode())
        n_hard += found == HARD_TEXT
        assert found in (reference(text), HARD_TEXT), text
    assert 0 < n_hard < 40_000


@both
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize(
    "text",
    [
        "정규화된 한글 문장입니다 ㅋㅋㅋ ㅠㅠ 앉았다",
        "ガギグゲゴとパピプペポ、ﾊﾝｶｸｶﾞｷﾞｸﾞ・ﾊﾟﾋﾟﾌﾟ ㌔㍍ ヴァイオリン",
        "Việt Nam: Trường Đại học, những điều ấy",
        "Crème brûlée à la façade, Ångström, Übergröße ½ … ™",
        "Ο Οδυσσέας και ο Ηλίας",
        "हिन्दी में पढ़ाई और लड़के",
        "กรุณาเข้าสู่ที่นี่ ผู้ใหญ่",
        "السَّلَامُ عَلَيْكُمْ ﷺ",
        "שָׁלוֹם עֲלֵיכֶם",
        "👩\u200d👩\u200d👧 🇯🇵 👍🏽 1\ufe0f\u20e3 ❤\ufe0f",
    ],
)
def test_text_is_not_hard(mode: str, form: Any, text: str) -> None:
    text = unicodedata.normalize(form, text)
    assert FOLDS[mode](text.encode()) == reference(text)


@both
def test_what_is_hard_says_so(mode: str) -> None:
    assert FOLDS[mode]("q\u0301\u0323\u0334".encode()) == HARD_TEXT
    assert FOLDS[mode]("a\u0345\u0301".encode()) == HARD_TEXT
    assert FOLDS[mode]("h\u0334\u0331".encode()) == HARD_TEXT
    assert FOLDS[mode]("ß\u0301".encode()) == HARD_TEXT
    assert FOLDS[mode]("Ϊ\u0301".encode()) == HARD_TEXT
    assert FOLDS[mode]("e\u0334\u0344".encode()) == HARD_TEXT


@both
@pytest.mark.parametrize("text", ["½", "ﷺ", "㌖", "ΐ", "aﷺ"])
def test_expansions_stay_in_bounds(mode: str, text: str) -> None:
    assert FOLDS[mode](text.encode()) == reference(text)
    for n in (10, 64, 65, 300):
        # `folder` looks at the guard behind the bound.
        assert FOLDS[mode]((text * n).encode()) in (reference(text * n), HARD_TEXT)


@both
def test_many_expansions_in_a_usual_text(mode: str) -> None:
    text = "Take ½ cup of milk and ¼ of sugar. " * 30
    assert FOLDS[mode](text.encode()) == reference(text)
    text = "カップ½杯、㌔㍍、" * 200
    assert FOLDS[mode](text.encode()) == reference(text)


def check_utf8(data: bytes) -> None:
    try:
        expected: str | int = data.decode()
    except UnicodeDecodeError:
        expected = BAD_UTF8
    assert COPIES["compiled"](data) == expected, data
    if expected == BAD_UTF8:
        assert FOLDS["compiled"](data) in (BAD_UTF8, HARD_TEXT), data


EDGES = bytes([0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED])
EDGES += bytes([0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFB, 0xFC, 0xFE, 0xFF])


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_bytes_at_the_edges(length: int) -> None:
    if length == 4:
        sets: list[Iterable[int]] = [EDGES[-13:], EDGES, b"\x7f\x80\xbf\xc0", b"\x7f\x80\xbf\xc0"]
    else:
        sets = [range(256) if length < 3 else EDGES] * length
    for values in product(*sets):
        check_utf8(bytes(values))


@given(st.lists(st.one_of(st.binary(max_size=5), STRINGS.map(str.encode), st.just(b"plain ascii text")), max_size=6))
def test_random_bytes(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    check_utf8(data)
    assert COPIES["plain"](data) == COPIES["compiled"](data)
    assert FOLDS["plain"](data) == FOLDS["compiled"](data)


@pytest.mark.parametrize("cut", range(1, 12))
def test_text_that_is_cut_short(cut: int) -> None:
    # What follows in the buffer would complete the character; the loop must not look there.
    for text in ("日本語テキスト", "aé日😀", "😀😀😀"):
        check_utf8(text.encode()[:-cut])


@pytest.mark.parametrize(
    "bad", [b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xc1\x81"]
)
@pytest.mark.parametrize("before", [0, 1, 7, 8, 20])
def test_bad_sequences_in_the_fast_path(bad: bytes, before: int) -> None:
    for letter in (b"a", "あ".encode()):
        data = letter * before + bad + letter * 20
        for folds in (FOLDS, COPIES):
            assert folds["compiled"](data) == folds["plain"](data) == BAD_UTF8
