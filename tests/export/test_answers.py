"""A page answers as Python does: the same features and places, the same scores to 1e-9, the same explanation."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bunrui import AnalyzerSpec, TextClassifier
from bunrui.analysis import analyzer_of
from bunrui.data import read
from bunrui.engines.matrix import look_up
from bunrui.kernel import unicode
from bunrui.labels import text_of
from tests.export.conftest import Opened, Opener
from tests.support.examples import quick

CORPUS = read("demo")
LEARNED = [row["text"] for row in CORPUS]
LABELS = [row["label"] for row in CORPUS]
ODD = [
    "",
    " ",
    "Wi‑Fi ﾊﾟｿｺﾝ Straße ΟΔΥΣΣΕΥΣ :-) 5️⃣ 👩‍👩‍👧 🇯🇵🇫 ｶﾞ 각 नमस्ते q̣̇ http://x.y (^_^) 3月 12abc 第3回 #️⃣ ½ ㍿",
    "한국어 각 텍스트 2024년 abc가나 \u1100\u1161\u11a8 ᄀ",
    "the the the minister The",
    "à̖́a Ω \ufdfa x" + "\u0301" * 40,
    "สวัสดี ພາສາ ភាសា မြန်မာ ٣٤ ९",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 👍🏽 🏴󠁧󠁢󠁥󠁮󠁧󠁿 \U0001f468\u200d\U0001f9b0",
]
TEXTS = LEARNED + [row["text"] for row in read("queries")] + ODD

MODELS: list[tuple[str, dict[str, Any]]] = [
    ("auto", {}),
    ("nbsvm", {}),
    ("bernoulli", {"unseen": "smooth"}),
    ("twcnb", {}),
    ("arow", {}),
    ("multinomial", {"unseen": "smooth", "prior": "uniform", "min_df": 2}),
    ("multinomial", {"class_norm": True, "against_rest": True}),
    ("multinomial", {"alpha": {"the": 2.0, "国会": 0.5}}),
    ("binary", {"unseen": "smooth", "max_features": 2000}),
    ("mixed", {}),
    ("bernoulli", {"against_rest": True}),
    ("complement", {}),
    ("wcnb", {}),
    ("binary-complement", {}),
]


def utf16(text: str, place: int) -> int:
    return len(text[:place].encode("utf-16-le")) // 2


def check_scores(page: Opened, classifier: TextClassifier, texts: list[str]) -> None:
    found = page.of_each(texts, "Array.from(bunrui.scores(text))")
    np.testing.assert_allclose(found, classifier.scores(texts), rtol=1e-9, atol=1e-9)
    found = page.of_each(texts, "Array.from(bunrui.probabilities(bunrui.scores(text), text))")
    np.testing.assert_allclose(found, classifier.predict_proba(texts), rtol=0, atol=1e-9)


def check_features(page: Opened, classifier: TextClassifier, texts: list[str]) -> None:
    for text, found in zip(texts, page.of_each(texts, "bunrui.features(text)"), strict=True):
        places = [0, *accumulate(1 + (c > "\uffff") for c in text)]
        expected = [[t.text, places[t.start], places[t.end]] for t in classifier.text_analyzer.features(text)]
        assert found == expected, text


def check_explanation(page: Opened, classifier: TextClassifier, text: str) -> None:
    wanted = classifier.explain(text)
    found = page.ask("(text) => bunrui.explain(text)", text)
    assert [classifier.classes_[found[side]] for side in ("label", "against")] == [wanted.label, wanted.against]
    assert (found["bias"], found["difference"]) == pytest.approx((wanted.bias, wanted.difference), abs=1e-9)
    assert found["unknown"] == list(wanted.unknown)
    values = {one["feature"]: one for one in found["contributions"]}
    assert values.keys() == {one.feature for one in wanted.contributions}
    for one in wanted.contributions:
        same = values[one.feature]
        assert same["value"] == pytest.approx(one.value, abs=1e-9) and same["count"] == one.count
        assert same["spans"] == [[utf16(text, place) for place in span] for span in one.spans]


@pytest.mark.parametrize("chosen", quick(3, MODELS), ids=lambda chosen: f"{chosen[0]} {chosen[1] or ''}")
def test_all_models(opened: Opener, chosen: tuple[str, dict[str, Any]]) -> None:
    model, options = chosen
    classifier = TextClassifier(model, **options).learn(LEARNED, LABELS)
    page = opened(classifier)
    check_scores(page, classifier, TEXTS)
    for text in [*TEXTS[::60], *ODD]:
        check_explanation(page, classifier, text)
    if model == "auto":
        check_features(page, classifier, TEXTS)


SPECS = [
    AnalyzerSpec(name="words", words=2, stop_words=["the", "国会は"]),
    AnalyzerSpec(
        words=3, punctuation=False, across=False, kana_han=(2, 4), hangul=(2, 2), unspaced=(3, 5), stop_words=["the"]
    ),
    AnalyzerSpec(hash_bits=10),
]


@pytest.mark.parametrize("spec", SPECS, ids=AnalyzerSpec.describe)
def test_options_of_analyzers(opened: Opener, spec: AnalyzerSpec) -> None:
    classifier = TextClassifier(analyzer=spec).learn(LEARNED, LABELS)
    page = opened(classifier)
    some = TEXTS[::3] + ODD
    check_features(page, classifier, some)
    check_scores(page, classifier, some)
    check_explanation(page, classifier, TEXTS[0])


@pytest.mark.parametrize(
    ("model", "labels"),
    [("arow", [1, -20]), ("multinomial", [True, False]), ("nbsvm", ["only", "two"]), ("multinomial", ["one"])],
    ids=str,
)
def test_few_labels(opened: Opener, model: str, labels: list[Any]) -> None:
    classifier = TextClassifier(model).learn(LEARNED[:40], [labels[k % len(labels)] for k in range(40)])
    page = opened(classifier)
    check_scores(page, classifier, TEXTS[:60])
    assert page.ask("() => bunrui.labels") == [text_of(label) for label in classifier.classes_]


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["20news", "aozora", "thucnews", "nsmc", "imdb", "enron_spam", "twitter_samples"])
def test_public_corpora(opened: Opener, data_folder: Path, name: str) -> None:
    path = next(iter(sorted((data_folder / name).glob("*.parquet"))))
    table = pq.read_table(path, columns=["label", "text"])
    rows = table.take(np.random.default_rng(0).permutation(len(table))[:2000])
    texts, labels = rows["text"].to_pylist(), [str(label) for label in rows["label"].to_pylist()]
    cut = 3 * len(texts) // 4
    classifier = TextClassifier().learn(texts[:cut], labels[:cut])
    page = opened(classifier)
    check_scores(page, classifier, texts[cut:])
    check_features(page, classifier, texts[cut::5])


# --- every code point

LAST = 0x110000
BLOCK = LAST // 8704
AT_ONCE = 64
# Where it may join, end a word, or decide which sigma comes before it.
BESIDE = "a{c}b あ{c}い 1{c} e{c}\u0301 가{c} Σ{c} {c}Σ :{c}) "
COUNT = """([context, starts, size]) => starts.map((start) => {
    const points = Array.from({ length: size }, (_, k) => start + k).filter((c) => c < 0xd800 || c > 0xdfff);
    const text = points.map((c) => context.replaceAll("{c}", String.fromCodePoint(c))).join("");
    const counts = new Map();
    for (const [feature] of bunrui.features(text)) counts.set(feature, (counts.get(feature) ?? 0) + 1);
    return Array.from(counts);
})"""


def texts_of(context: str, starts: list[int], size: int) -> list[str]:
    points = ([c for c in range(start, start + size) if not 0xD800 <= c < 0xE000] for start in starts)
    return ["".join(context.replace("{c}", chr(c)) for c in some) for some in points]


def counted(spec: AnalyzerSpec, texts: list[str]) -> list[dict[str, int]]:
    """The features of texts, as the kernels count them."""
    counts = TextClassifier("multinomial", analyzer=spec).learn(texts, ["x"] * len(texts)).counts
    rows = look_up(texts, analyzer_of(spec), 1, counts.vocabulary, sort=False)
    names = counts.features()
    return [
        {names[f]: n for f, n in zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True)}
        for a, b in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    ]


def check_points(opened: Opener, name: str, context: str, starts: list[int], size: int) -> None:
    spec = AnalyzerSpec(name=name, words=1, kana_han=(1, 1), hangul=(1, 1), unspaced=(1, 1))
    page = opened(TextClassifier("multinomial", analyzer=spec).learn(["a", "b"], ["x", "y"]))
    for lo in range(0, len(starts), AT_ONCE):
        some = starts[lo : lo + AT_ONCE]
        found = page.ask(COUNT, [context, some, size])
        for start, pairs, wanted in zip(some, found, counted(spec, texts_of(context, some, size)), strict=True):
            assert dict(pairs) == wanted, hex(start)


@pytest.mark.parametrize("name", ["universal", "words"])
def test_every_code_point(opened: Opener, name: str) -> None:
    check_points(opened, name, "{c}", list(range(0, LAST, 1024)), 1024)


@pytest.mark.parametrize("name", ["universal", "words"])
def test_code_points_of_every_kind_beside_others(opened: Opener, name: str) -> None:
    """The tables have equal blocks once: a block of each kind is tried."""
    with np.load(unicode.PATH) as stored:
        kinds = np.stack([stored[f"{table}_index"] for table in ("nfkc", "class", "lower", "word", "sigma")], axis=1)
    firsts = np.unique(kinds, axis=0, return_index=True)[1]
    check_points(opened, name, BESIDE, (BLOCK * np.sort(firsts)).tolist(), BLOCK)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["universal", "words"])
def test_every_code_point_beside_others(opened: Opener, name: str) -> None:
    check_points(opened, name, BESIDE, list(range(0, LAST, 1024)), 1024)
