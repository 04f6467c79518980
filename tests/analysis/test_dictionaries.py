"""What all analyzers with a dictionary share: they are values, and know the parts of speech of their dictionary."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from bunrui.analysis.dictionary import Chinese, Japanese, Korean
from bunrui.analysis.texts import Token
from bunrui.errors import OptionError
from tests.support.examples import quick
from tests.support.tokens import words


class Language(NamedTuple):
    analyzer: Any
    packages: set[str]  # whose versions are part of the identity
    pos: tuple[str, str]  # two parts of speech, in the order of the identity
    no_pos: str  # a prefix of one, which is none
    sentence: str


LANGUAGES = {
    "ja": Language(Japanese, {"fugashi", "unidic-lite"}, ("動詞", "名詞"), "名", "吾輩は{0}匹の猫である。"),
    "zh": Language(Chinese, {"rjieba"}, ("n*", "v"), "N", "小明在北京看了{0}本书。"),
    "ko": Language(Korean, {"kiwipiepy", "kiwipiepy_model"}, ("N*", "VV"), "N", "나는 {0}번째 옷을 샀다."),
}
# Symbols, and the words among them.
SYMBOLS = {
    "ja": ("猫😀、「犬」…！？　※ →\t_", ["猫", "犬"]),
    "zh": ("你好😀，《书》…！　→\t_", ["你好", "书"]),
    "ko": ("옷😀, 「집」…! ^^ →\t_", ["옷", "집"]),
}
# What a long line repeats, its lengths, and a word for the line behind it.
LONG = {
    "ja": (["あ", "x", " ", "\0", "メロスは激怒した。"], [50_000, 350_000], "猫"),
    "zh": (["我", "x", "é", "𠮷", " ", "\0", "我们去北京。"], [50_000, 350_000], "北京"),
    "ko": (["x", " ", "\0", "ㅋ", "漢", "x1+"], [100_000, 1_000_000], "서울"),
}
LINES = [(name, unit) for name, (units, _, _) in LONG.items() for unit in units]


@pytest.fixture(params=LANGUAGES)
def name(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(
        {"ja": "fugashi", "zh": "rjieba", "ko": "kiwipiepy"}[request.param], reason="the extra is not installed"
    )
    return str(request.param)


def test_identity(name: str) -> None:
    analyzer, packages, (first, second), _, _ = LANGUAGES[name]
    identity = analyzer(pos=(second, first, second)).identity()
    versions = identity.pop("versions")
    assert identity == {"name": name, "revision": 1, "pos": [first, second], "base_forms": False}
    assert isinstance(versions, dict) and set(versions) == packages


def test_a_value(name: str) -> None:
    analyzer, _, (first, second), _, _ = LANGUAGES[name]
    assert analyzer(pos=(first, second)) == analyzer(pos=(second, first)) != analyzer(pos=(first,))
    assert pickle.loads(pickle.dumps(analyzer(pos=(second,)))) == analyzer(pos=(second,))


@pytest.mark.parametrize("name", ["ja", "ko"], indirect=True)
def test_a_value_with_base_forms(name: str) -> None:
    analyzer = LANGUAGES[name].analyzer
    assert pickle.loads(pickle.dumps(analyzer(base_forms=True))) == analyzer(base_forms=True) != analyzer()


@pytest.mark.parametrize("kind", ["unknown", "prefix", "empty", "none", "string"])
def test_pos_that_makes_no_sense(name: str, kind: str) -> None:
    analyzer, _, (_, known), no_pos, _ = LANGUAGES[name]
    pos = {"unknown": ("noun",), "prefix": (no_pos,), "empty": (known, ""), "none": (), "string": known}[kind]
    with pytest.raises(OptionError):
        analyzer(pos=pos)


@pytest.mark.parametrize("filtered", [False, True])
def test_threads(name: str, filtered: bool) -> None:
    analyzer, _, pos, _, sentence = LANGUAGES[name]
    texts = [sentence.format(number) * (1 + number % 7) for number in range(200)]
    chosen = analyzer(base_forms=name != "zh", pos=pos if filtered else None)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(chosen.tokens, texts)) == [chosen.tokens(text) for text in texts]


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "\n\n", "   ", "\u200b", "\u3000"])
def test_nothing_to_find(name: str, text: str) -> None:
    assert LANGUAGES[name].analyzer().tokens(text) == []


def test_symbols_go(name: str) -> None:
    text, expected = SYMBOLS[name]
    assert words(LANGUAGES[name].analyzer(), text) == expected


@pytest.mark.parametrize("longer", quick(1, [False, True]))
@pytest.mark.parametrize(("name", "unit"), LINES, indirect=["name"])
def test_much_on_one_line(name: str, unit: str, longer: bool) -> None:
    _, sizes, word = LONG[name]
    text = f"{unit * (sizes[longer] // len(unit))}\n{word}"
    tokens = LANGUAGES[name].analyzer().tokens(text)
    assert tokens[-1] == Token(word, len(text) - len(word), len(text))
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
