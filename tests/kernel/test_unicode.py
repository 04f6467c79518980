"""The tables themselves: classes of characters, what `\\w` matches, and that the script still makes the stored file."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from bunrui.kernel import unicode
from tests.support.characters import assigned, stored
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "make_unicode_tables.py"
CLASSES = {
    unicode.SPACE: " \t\n\u00a0\u3000\u200b\ufeff\u00ad\u0000\ufe00\ufe0e\U000e0101\ue008\ud800\u0378\u2028",
    unicode.WORD: "aZéßжא9９²½ªक๑០၁ʰ𝒜\ue000\ue007ᚠ",
    unicode.MARK: "\u0301\u093c\u094d\u093f\u200c\u064b\u05b0\u0483",
    unicode.KANA_HAN: "漢字ひらカタㄅ々〆〇ーヽヾゝゞ゛゜\u3099\u309aｶﾞｰ𠮷豈〡",
    unicode.HANGUL: "한글ㅋㅠ각ﾡ\uffdc\u302e",
    unicode.UNSPACED: "กุ่ะ๋ລາວខ្មែរမြန်မာ",
    unicode.PUNCT: "!?_-。、・「」…$+^～〜☆℃→€₩¨`™‼㊗",
    unicode.EMOJI: "😀❤★☀✨🀄🏴〰🫠\U0001fae8",
    unicode.REGIONAL: "🇯🇵🇦🇿",
    unicode.MODIFIER: "🏻🏿\U000e0067\U000e007f",
    unicode.ZWJ: "\u200d",
    unicode.VS16: "\ufe0f",
    unicode.KEYCAP: "\u20e3",
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_unicode_tables", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("expected", CLASSES)
def test_class_of_characters(expected: int) -> None:
    classes = unicode.char_class()
    found = {c: int(classes[ord(c)]) for c in CLASSES[expected]}
    assert found == dict.fromkeys(CLASSES[expected], expected)


def test_classes_by_number() -> None:
    classes = unicode.char_class()
    assert classes.shape == (unicode.N_CODES,)
    assert sorted(np.unique(classes)) == list(range(13))
    assert (classes[0xAC00:0xD7A4] == unicode.HANGUL).all()
    assert (classes[0x4E00:0xA000] == unicode.KANA_HAN).all()
    assert (classes[assigned() == 0] == unicode.SPACE).sum() > 800_000
    # The kernels count on it: what NFKC changes is never an emoji, and Latin-1 has none.
    emoji = [chr(code) for code in np.flatnonzero(classes == unicode.EMOJI)]
    assert min(emoji) > "\u00ff"
    assert "".join(emoji) == unicodedata.normalize("NFKC", "".join(emoji))


def test_word_is_what_re_matches() -> None:
    word = unicode.word()
    known = [chr(c) for c in np.flatnonzero(assigned()) if unicodedata.category(chr(c)) != "Cn"]
    pattern = re.compile(r"\w")
    wrong = [c for c in known if bool(pattern.match(c)) != word[ord(c)]]
    assert wrong == []
    assert len(known) > 280_000


def test_version_is_the_stored_one() -> None:
    assert str(stored()["version"]) == unicode.UNICODE_VERSION


def test_tables_are_those_of_the_script(script: ModuleType) -> None:
    if unicodedata.unidata_version != unicode.UNICODE_VERSION:
        pytest.skip(f"this Python has Unicode {unicodedata.unidata_version}")
    made = script.tables()
    with np.load(unicode.PATH, allow_pickle=False) as stored:
        assert set(stored.files) == set(made)
        for name, array in made.items():
            assert stored[name].dtype == array.dtype, name
            assert np.array_equal(stored[name], array), name


def test_script_makes_two_levels(script: ModuleType) -> None:
    flat = np.arange(unicode.N_CODES, dtype=np.uint32) // 1000
    levels = script.two_level("x", flat)
    assert np.array_equal(levels["x_blocks"][levels["x_index"]].reshape(-1), flat)


def test_file_is_small() -> None:
    assert unicode.PATH.stat().st_size < 100_000


def test_importing_loads_neither_numba_nor_tables() -> None:
    code = (
        "import sys, bunrui.kernel.unicode as u, bunrui.kernel.normal, bunrui.kernel.fold\n"
        "print('numba' in sys.modules, u._stored.cache_info().currsize)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, timeout=PATIENCE)
    assert done.stdout.split() == ["False", "0"]


def test_entries_of_known_code_points() -> None:
    codes = unicode.nfkc_table().codes
    kinds = {c: int(codes[ord(c)]) >> unicode.KIND_SHIFT for c in "aｶ…ß\u0323\u094d\u1172\u0344"}
    assert kinds == {
        "a": unicode.PLAIN,
        "ｶ": unicode.PLAIN,
        "…": unicode.OPEN,
        "ß": unicode.CLOSED,
        "\u0323": unicode.JOINING,
        "\u094d": unicode.TRAILING,
        "\u1172": unicode.JOINING,
        "\u0344": unicode.SEQUENCE,
    }
    assert int(codes[0x0323]) >> unicode.ORDER_SHIFT & 0xFF == unicodedata.combining("\u0323") == 220
    assert int(unicode.lower_table().codes[0x3A3]) >> unicode.KIND_SHIFT == unicode.HARD
