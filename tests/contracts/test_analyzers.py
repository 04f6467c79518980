"""What every analyzer promises, with a dictionary or without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import bunrui
from bunrui import AnalyzerSpec, TextClassifier
from bunrui.analysis import Analyzer, Token, analyzer_of
from bunrui.errors import DataError, MissingExtraError, OptionError
from tests.kernel.test_analyze import TEXTS
from tests.support.examples import examples

SENTENCES = [
    "The quick brown fox's den, 42 km away: see http://x.org/a or ask @fox :)",
    "吾輩は猫である。名前はまだ無い。ﾊﾟｿｺﾝとＷｉＦｉ",
    "我来到北京清华大学，今天天气很好！",
    "아버지가 방에 들어가신다 ㅋㅋㅋ",
    "ไปโรงเรียน हिन्दी Ελλάδος ΟΔΟΣ",
    "👩\u200d👩\u200d👧 🇯🇵 1\ufe0f\u20e3 ½ ﷺ Straße",
    "<p>R&amp;D</p>\0 NUL\n\nlines",
    "",
    "   ",
    "q\u0301\u0323\u0334 three marks",
]


def with_places(text: str) -> list[tuple[str, int, int]]:
    """A function that knows where its tokens stand."""
    return [(text[k].lower(), k, k + 1) for k in range(len(text)) if text[k].isalpha()]


ANALYZERS: dict[str, Any] = {
    "universal": "universal",
    "universal, switches": AnalyzerSpec(html=True, urls=True, mentions=True, numbers=True, words=1),
    "universal, stop words": AnalyzerSpec(stop_words=["the", "km"]),
    "words": "words",
    "words, 1-2-grams": AnalyzerSpec(name="words", words=2),
    "words, switches": AnalyzerSpec(name="words", html=True, urls=True, mentions=True, numbers=True),
    "ja": "ja",
    "ja, options": AnalyzerSpec(name="ja", words=2, pos=("名詞",), base_forms=True, stop_words=["猫"], numbers=True),
    "zh": "zh",
    "zh, options": AnalyzerSpec(name="zh", words=2, html=True),
    "ko": "ko",
    "ko, options": AnalyzerSpec(name="ko", words=2, base_forms=True),
    "function": str.split,
    "function with places": with_places,
}


@pytest.fixture(params=ANALYZERS)
def given_analyzer(request: pytest.FixtureRequest) -> Any:
    analyzer = ANALYZERS[request.param]
    try:
        analyzer_of(analyzer).features("a")
    except MissingExtraError as error:
        pytest.skip(str(error))
    return analyzer


@pytest.fixture
def analyzer(given_analyzer: Any) -> Analyzer:
    return analyzer_of(given_analyzer)


def counted(analyzer: Any, text: str) -> dict[str, int]:
    counts = TextClassifier(analyzer=analyzer).learn([text], ["x"]).counts
    return {feature: terms for feature, _, terms, _ in counts.cells()}


@pytest.mark.parametrize("text", SENTENCES)
def test_features_are_what_is_counted(given_analyzer: Any, analyzer: Analyzer, text: str) -> None:
    found = [token.text for token in analyzer.features(text)]
    assert counted(given_analyzer, text) == Counter(found)
    assert len(found) >= 3 or text != SENTENCES[0]


@given(text=TEXTS)
@settings(max_examples=examples(25))
@pytest.mark.parametrize("name", ["universal", "words", "function with places"])
def test_features_are_what_is_counted_in_any_text(name: str, text: str) -> None:
    analyzer = ANALYZERS[name]
    assert counted(analyzer, text) == Counter(token.text for token in analyzer_of(analyzer).features(text))


@pytest.mark.parametrize("text", SENTENCES)
def test_places_are_inside_the_text(analyzer: Analyzer, text: str) -> None:
    for token in analyzer.features(text):
        assert isinstance(token, Token)
        assert 0 <= token.start < token.end <= len(text)


@given(text=TEXTS)
@settings(max_examples=examples(40))
@pytest.mark.parametrize("name", ["universal", "universal, switches", "words", "words, switches"])
def test_places_are_inside_any_text(name: str, text: str) -> None:
    for token in analyzer_of(ANALYZERS[name]).features(text):
        assert 0 <= token.start < token.end <= len(text)


def test_places_by_hand() -> None:
    def placed(analyzer: Any, text: str) -> list[tuple[str, str]]:
        return [(token.text, text[token.start : token.end]) for token in analyzer_of(analyzer).features(text)]

    assert placed("words", "New ÉTÉ, a1") == [("new", "New"), ("été", "ÉTÉ"), ("a1", "a1")]
    assert placed(AnalyzerSpec(name="words", words=2), "New -- York") == [
        ("new", "New"),
        ("york", "York"),
        ("new york", "New -- York"),
    ]
    assert placed(AnalyzerSpec(words=1), "Ｂｕｙ ½ £5 👍\ufe0f") == [
        *[("buy", "Ｂｕｙ"), ("1", "½"), ("⁄", "½"), ("2", "½"), ("£", "£"), ("5", "5"), ("👍", "👍\ufe0f")]
    ]
    assert placed(AnalyzerSpec(kana_han=(1, 2)), "ｶﾞｷﾞ") == [
        *[("ガ", "ｶﾞ"), (" ガ", "ｶﾞ"), ("ギ", "ｷﾞ"), ("ガギ", "ｶﾞｷﾞ"), ("ギ ", "ｷﾞ")]
    ]
    assert placed(AnalyzerSpec(words=1, html=True, numbers=True), "<b>R&amp;D</b> 10") == [
        *[("r", "R"), ("&", "&amp;"), ("d", "D"), ("\ue002", "10")]
    ]
    assert placed(str.split, "to be or to") == [("to", "to"), ("be", "be"), ("or", "or"), ("to", "to")]
    # A stem is nowhere in the text: the whole text stands for it.
    assert placed(stems, "running") == [("run", "run")] and placed(stems, "went off") == [("go", "went off")]


def stems(text: str) -> list[str]:
    return ["run"] if "run" in text else ["go"]


def test_fingerprints_are_stable(given_analyzer: Any, analyzer: Analyzer) -> None:
    again = given_analyzer.replace() if isinstance(given_analyzer, AnalyzerSpec) else given_analyzer
    assert analyzer_of(again).fingerprint == analyzer.fingerprint
    assert len(analyzer.fingerprint) == 32
    assert int(analyzer.fingerprint, 16) >= 0


def test_fingerprints_are_the_same_in_every_process() -> None:
    """Python shuffles sets of strings anew in every process."""
    program = (
        "from bunrui import AnalyzerSpec;"
        "print(AnalyzerSpec().fingerprint, AnalyzerSpec(stop_words={'the', 'a', 'of', 'and', 'to', 'in'}).fingerprint)"
    )
    found = set()
    for seed in ("1", "2", "3"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(bunrui.__file__).parent.parent)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    here = AnalyzerSpec(), AnalyzerSpec(stop_words=["to", "in", "the", "a", "of", "and"])
    assert found == {f"{here[0].fingerprint} {here[1].fingerprint}\n"}


CHANGES: list[dict[str, Any]] = [
    *[{"words": 1}, {"words": 3}, {"punctuation": False}, {"across": False}],
    *[{"kana_han": (1, 2)}, {"kana_han": (2, 3)}, {"hangul": (1, 3)}, {"hangul": (2, 4)}, {"unspaced": (1, 3)}],
    *[{"stop_words": ["a"]}, {"stop_words": ["a", "b"]}],
    *[{"urls": True}, {"mentions": True}, {"numbers": True}, {"html": True}],
    *[{"name": "words"}, {"name": "words", "words": 2}, {"name": "words", "stop_words": ["a"]}],
]


def test_every_option_changes_the_fingerprint() -> None:
    found = [AnalyzerSpec(**options).fingerprint for options in [{}, *CHANGES]]
    assert len(set(found)) == len(found)


def test_options_that_say_the_same_have_the_same_fingerprint() -> None:
    assert AnalyzerSpec().fingerprint == AnalyzerSpec(words=2, kana_han=[1, 3]).fingerprint  # type: ignore[arg-type]
    assert AnalyzerSpec(stop_words=["b", "A", "b"]) == AnalyzerSpec(stop_words=("a", "b"))
    # `words` knows nothing of scripts.
    assert AnalyzerSpec(name="words", across=False).fingerprint == AnalyzerSpec(name="words").fingerprint


def test_analyzers_have_fingerprints_of_their_own() -> None:
    found = {}
    for name, analyzer in ANALYZERS.items():
        try:
            found[name] = analyzer_of(analyzer).fingerprint
        except MissingExtraError:
            continue
    assert len(set(found.values())) == len(found) >= 8


def test_descriptions(analyzer: Analyzer) -> None:
    assert analyzer.describe() == analyzer.describe().strip() != ""


def test_descriptions_by_hand() -> None:
    assert AnalyzerSpec().describe() == "universal, 1–2-grams, characters 1–3 (kana, han), 1–4 (hangul)"
    assert AnalyzerSpec(name="words", urls=True, stop_words=["a", "b"]).describe() == "words, words, urls, 2 stop words"


def test_many_documents_are_each_of_them(given_analyzer: Any) -> None:
    labels = [f"d{k}" for k in range(len(SENTENCES))]
    together = TextClassifier(analyzer=given_analyzer).learn(SENTENCES, labels)
    one_by_one = TextClassifier(analyzer=given_analyzer)
    for text, label in zip(SENTENCES, labels, strict=True):
        one_by_one.learn([text], [label])
    assert together.counts == one_by_one.counts
    queries = SENTENCES[:6]
    assert np.array_equal(together.scores(queries), one_by_one.scores(queries))


NONSENSE: dict[str, tuple[Callable[[], Any], str]] = {
    "name": (
        lambda: analyzer_of("klingon"),
        "there is no analyzer 'klingon': choose one of universal, words, ja, zh, ko",
    ),
    "kind": (lambda: analyzer_of(3), "analyzer should be a name, an AnalyzerSpec or a function, not 3"),  # type: ignore[arg-type]
    "words": (lambda: AnalyzerSpec(words=0), "n-grams have 1 to 15 parts, the shortest first, not 1 to 0"),
    "many words": (lambda: AnalyzerSpec(words=16), "n-grams have 1 to 15 parts, the shortest first, not 1 to 16"),
    "order": (lambda: AnalyzerSpec(hangul=(3, 2)), "n-grams have 1 to 15 parts, the shortest first, not 3 to 2"),
    "float": (lambda: AnalyzerSpec(kana_han=(1, 2.0)), "n-grams have 1 to 15 parts"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", NONSENSE)
def test_options_that_make_no_sense(case: str) -> None:
    make, message = NONSENSE[case]
    with pytest.raises(OptionError) as error:
        make()
    assert str(error.value).startswith(message)


def test_a_function_that_gives_something_else() -> None:
    with pytest.raises(DataError, match=r"^an analyzer should give strings or \(text, start, end\), not 3$"):
        TextClassifier(analyzer=lambda text: [3]).learn(["a"], ["x"])
