"""Which texts the loops cannot fold: what is seen from bytes against the tables, and against the loops themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bunrui.analysis import analyzer_of
from bunrui.analysis import texts as inputs
from bunrui.kernel import primitives, unicode
from bunrui.kernel.analyze import find_hard
from bunrui.kernel.fold import HARD_TEXT
from bunrui.kernel.library import run
from bunrui.kernel.primitives import DOUBTFUL, LOWERING
from tests.kernel.test_fold import FOLDS
from tests.kernel.test_normal import SHARED, STRINGS
from tests.support.examples import quick
from tests.support.kernels import MODES, kernels

both = pytest.mark.parametrize("mode", MODES)
UNIVERSAL, WORDS = analyzer_of("universal").recipe, analyzer_of("words").recipe
ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def hard_rows(texts: Sequence[str], recipe: Any = UNIVERSAL, lo: int = 0, hi: int | None = None) -> list[int]:
    docs = inputs.of_bytes([text.encode() for text in texts])
    longest = max((len(text.encode()) for text in texts), default=0)
    hard = np.zeros(len(texts), np.uint8)
    hi = len(texts) if hi is None else hi
    n_hard = run(find_hard, docs, lo, hi, recipe, np.empty(longest + 64, np.uint32), hard)
    assert n_hard == hard.sum()
    return np.flatnonzero(hard).tolist()


def matches(c: str, rules: Sequence[primitives.Rule]) -> bool:
    padded = c.encode() + b"aa"
    return any(all(a <= byte <= b for byte, (a, b) in zip(padded, rule, strict=False)) for rule in rules)


def may_be_hard(c: str) -> bool:
    """A text without any such character is folded to no more code points than it has bytes, and nothing in it joins."""
    table = unicode.nfkc_table()
    entry = int(table.codes[ord(c)])
    kind = entry >> unicode.KIND_SHIFT
    if kind in (unicode.OPEN, unicode.CLOSED):
        return bool(table.expansions[entry & unicode.PAYLOAD_MASK] > len(c.encode()))
    return kind != unicode.PLAIN


def test_every_character_that_may_make_a_text_hard_is_doubtful() -> None:
    suspects = [c for c in ALL if may_be_hard(c)]
    assert len(suspects) > 1000
    assert [c for c in suspects if not matches(c, DOUBTFUL)] == []


def test_usual_characters_are_not_doubtful() -> None:
    usual = "aZ 09.,!?éßñçøяЖ—“”‘’…、。「」ー・あんアンヴ日本語龥가한흥ＡｚＺ１！？ếộ😀👍🏽"
    assert [c for c in usual if matches(c, DOUBTFUL)] == []


@pytest.mark.parametrize("step", quick(1, [29, 1]))
def test_characters_without_one_lower_case_are_all_there(step: int) -> None:
    codes = unicode.lower_table().codes
    several = [chr(c) for c in np.flatnonzero(codes >> unicode.KIND_SHIFT != unicode.PLAIN)]
    assert [c for c in sorted({*several, *ALL[::step]}) if matches(c, LOWERING)] == several


def test_lower_case_stays_in_lower_case() -> None:
    """So texts that Python has lowered go through the same table as all others."""
    table = unicode.lower_table()
    changing = np.flatnonzero(table.codes != np.arange(unicode.N_CODES))
    becomes = {ord(c) for c in "".join(map(chr, changing)).lower() + "σς"}
    assert not becomes & set(changing.tolist())


def expected(texts: Sequence[str]) -> list[int]:
    return [row for row, text in enumerate(texts) if FOLDS["compiled"](text.encode()) == HARD_TEXT]


@both
@given(texts=st.lists(STRINGS, max_size=6), filler=st.sampled_from(["", "a" * 61, "한" * 30, "Ω" * 40]))
@example(texts=["", "q\u0301\u0323\u0334", "", "", "plain", "a\u0345\u0301", ""], filler="")
@example(texts=["½" * 70, "½" * 60, "ﷺ" * 5, "ﷺ"], filler="")
def test_texts(mode: str, texts: list[str], filler: str) -> None:
    texts = [filler + text + filler for text in texts]
    with kernels(mode):
        assert hard_rows(texts) == expected(texts)
        assert hard_rows(texts, WORDS) == [row for row, text in enumerate(texts) if set(text) & set("Σİ")]


@pytest.mark.parametrize("form", quick(1, ["a{0}\u0323", "{0}", "ß{0}", "{0}{0}{0}"]))
def test_every_character(form: str) -> None:
    texts = [form.format(c) for c in SHARED if not 0x4E10 < ord(c) < 0xD790 and ord(c) < 0x30000]
    assert hard_rows(texts) == expected(texts)


def test_characters_that_become_many() -> None:
    """Until the room behind a text is full."""
    texts = [c * n for c in SHARED if may_be_hard(c) and ord(c) < 0xFFFF for n in (3, 40, 130)]
    assert len(expected(texts)) > 100
    assert hard_rows(texts) == expected(texts)


@both
def test_a_part_of_the_documents(mode: str) -> None:
    texts = ["q\u0301\u0323\u0334", "x", "", "q\u0301\u0323\u0334 y", "z" * 100, "Σ", "q\u0301\u0323\u0334"]
    with kernels(mode):
        assert hard_rows(texts) == [0, 3, 6]
        assert hard_rows(texts, lo=1, hi=6) == [3]
        assert hard_rows(texts, lo=1, hi=3) == hard_rows(texts, lo=4, hi=4) == hard_rows([]) == []
        assert hard_rows(texts, WORDS, 1, 6) == [5]


@both
def test_a_text_that_is_too_long_to_fold_is_left_out(mode: str) -> None:
    docs = inputs.of_bytes(["q\u0301\u0323\u0334".encode(), b"a", "q\u0301\u0323\u0334 more".encode()])
    hard = np.zeros(3, np.uint8)
    with kernels(mode):
        assert run(find_hard, docs, 0, 3, UNIVERSAL, np.empty(64 + 7, np.uint32), hard) == 1
    assert hard.tolist() == [1, 0, 0]
