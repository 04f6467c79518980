"""Hashed features: the kernels and the reference agree, and counts of buckets are exact like others."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bunrui
from bunrui import AnalyzerSpec, TextClassifier
from bunrui.analysis import analyzer_of
from bunrui.analysis.analyzer import sharing
from bunrui.errors import MismatchError, OptionError
from bunrui.evaluation.loo import loo_scores
from bunrui.kernel.reference import bucket
from tests.support.examples import examples

TEXTS = [
    "Cheap pills now, cheap PILLS",
    "meeting at noon, lunch with the team",
    "料金が無料です。今すぐ",
    "회의 자료를 보냅니다",
    "ﾊﾝｶｸ a-very-long-word-beyond-sixteen-bytes ...",
    "",
    "ﬃ e\u0301 ẞ :-) 👍🏽",
]
LABELS = ["spam", "ham", "spam", "ham", "spam", "ham", "spam"]
SPECS = [AnalyzerSpec(hash_bits=8), AnalyzerSpec(hash_bits=22), AnalyzerSpec(name="words", words=3, hash_bits=10)]

words = st.text("abcdeあい", min_size=1, max_size=20)
documents = st.lists(
    st.tuples(st.lists(words, max_size=8).map(" ".join), st.sampled_from("xyz")), min_size=1, max_size=8
)


def expected(texts: list[str], labels: list[str], spec: AnalyzerSpec) -> dict[tuple[str, str], tuple[int, int]]:
    """Occurrences and documents of every bucket by label, from the features of the analyzer without a hash."""
    plain, terms, docs = analyzer_of(spec.replace(hash_bits=0)), Counter(), defaultdict(set)
    for number, (text, label) in enumerate(zip(texts, labels, strict=True)):
        for token in plain.features(text):
            key = bucket(token.text, spec.hash_bits), label
            terms[key] += 1
            docs[key].add(number)
    return {key: (n, len(docs[key])) for key, n in terms.items()}


def cells(clf: TextClassifier) -> dict[tuple[str, str], tuple[int, int]]:
    return {(feature, label): (terms, docs) for feature, label, terms, docs in clf.counts.cells()}


@pytest.mark.parametrize("spec", SPECS, ids=AnalyzerSpec.describe)
def test_counts_of_buckets(spec: AnalyzerSpec) -> None:
    clf = TextClassifier(analyzer=spec).learn(TEXTS, LABELS)
    assert cells(clf) == expected(TEXTS, LABELS, spec)
    tokens = [[token.text for token in analyzer_of(spec).features(text)] for text in TEXTS]
    assert TextClassifier(analyzer=spec).learn(tokens, LABELS).counts == clf.counts
    mappings = [dict(Counter(some)) for some in tokens]
    assert TextClassifier(analyzer=spec).learn(mappings, LABELS).counts == clf.counts


@settings(max_examples=examples(40))
@given(documents, documents, st.sampled_from([8, 9, 16, 28]))
def test_learning_can_be_taken_back(first: list[tuple[str, str]], more: list[tuple[str, str]], bits: int) -> None:
    spec = AnalyzerSpec(hash_bits=bits)
    one, other, both = (TextClassifier(analyzer=spec) for _ in range(3))
    one.learn(*map(list, zip(*first, strict=True)))
    other.learn(*map(list, zip(*more, strict=True)))
    both.learn(*map(list, zip(*first, *more, strict=True)))
    before = one.counts.copy()
    assert cells(both) == expected(*map(list, zip(*first, *more, strict=True)), spec)
    assert one.merge(other).counts == both.counts
    assert one.unlearn(*map(list, zip(*more, strict=True))).counts == before


@pytest.mark.parametrize(
    ("model", "unseen"),
    [("multinomial", "ignore"), ("binary", "smooth"), ("binary-complement", "smooth"), ("bernoulli", "ignore")],
)
def test_many_buckets_say_what_features_say(model: str, unseen: str) -> None:
    """With a bucket for every feature, nothing changes but the names."""
    plain = TextClassifier(model, unseen=unseen).learn(TEXTS, LABELS)
    hashed = TextClassifier(model, unseen=unseen, analyzer=AnalyzerSpec(hash_bits=28)).learn(TEXTS, LABELS)
    assert hashed.counts.n_features == plain.counts.n_features
    asked = ["cheap lunch 無料", "", "nothing known", *TEXTS]
    assert hashed.scores(asked).tobytes() == plain.scores(asked).tobytes()
    assert loo_scores(hashed, TEXTS, LABELS)[1].tobytes() == loo_scores(plain, TEXTS, LABELS)[1].tobytes()
    assert hashed.scores([["cheap", "x"]]).tobytes() == plain.scores([["cheap", "x"]]).tobytes()


def test_explanations_show_words() -> None:
    clf = TextClassifier("multinomial", analyzer=AnalyzerSpec(name="words", hash_bits=28)).learn(TEXTS, LABELS)
    plain = TextClassifier("multinomial", analyzer="words").learn(TEXTS, LABELS)
    text = "cheap pills for the team"
    found, wanted = clf.explain(text), plain.explain(text)
    assert [(c.feature, c.value, c.spans) for c in found.contributions] == [
        (c.feature, c.value, c.spans) for c in wanted.contributions
    ]
    assert found.unknown == wanted.unknown == ("for",)
    assert clf.explain(["cheap", "cheap"]).contributions[0].feature == "cheap"
    assert all(word.text.startswith("#") for word in clf.words("spam", top=3))


def test_words_of_one_bucket_are_explained_together() -> None:
    spec = AnalyzerSpec(name="words", hash_bits=8)
    names: dict[str, list[str]] = defaultdict(list)
    for number in range(600):
        names[bucket(f"w{number}", 8)].append(f"w{number}")
    one, other, *_ = max(names.values(), key=len)
    clf = TextClassifier("binary", analyzer=spec).learn([f"{one} {other}", "else"], ["x", "y"])
    (found,) = clf.explain(f"{one} {other} {one}").contributions
    assert (found.feature, found.count, len(found.spans)) == (f"{one} | {other}", 3, 3)
    assert cells(clf)[bucket(one, 8), "x"] == (2, 1)


def test_it_does_not_join_others() -> None:
    prints = {AnalyzerSpec(hash_bits=bits).fingerprint for bits in (0, 20, 21)}
    assert len(prints) == 3 and AnalyzerSpec().fingerprint in prints
    one, other = TextClassifier(analyzer=SPECS[1]).learn(["a"], ["x"]), TextClassifier().learn(["a"], ["x"])
    with pytest.raises(MismatchError):
        one.merge(other)


@pytest.mark.parametrize("bits", [7, 29, -1, 2.5, True, "22"])
def test_bits_that_are_refused(bits: object) -> None:
    with pytest.raises(OptionError, match="hash_bits should be 8 to 28, or 0 to hash nothing, not"):
        AnalyzerSpec(hash_bits=bits)  # type: ignore[arg-type]


def test_tables_are_not_hashed() -> None:
    with pytest.raises(OptionError, match="takes no option but kinds"):
        AnalyzerSpec(name="columns", hash_bits=20)


def test_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mail.bunrui"
    with bunrui.create(path, analyzer=SPECS[1]) as clf:
        clf.learn(TEXTS, LABELS)
        clf.learn(["more"], ["ham"])
        clf.undo()
    with bunrui.open(path) as clf:
        assert clf.counts == TextClassifier(analyzer=SPECS[1]).learn(TEXTS, LABELS).counts
        assert clf.check().is_right
        assert clf.info()["analyzer"]["hash_bits"] == 22
        assert clf.info()["hashing"]["n_used"] == clf.counts.n_features


def test_how_many_share_a_bucket() -> None:
    """The estimate, against what is true of features that are known."""
    for bits, n in ((10, 300), (10, 2000), (12, 1000)):
        buckets = Counter(bucket(f"feature {number}", bits) for number in range(n))
        share = sum(size for size in buckets.values() if size > 1) / n
        found = sharing(len(buckets), bits)
        assert (found.n_buckets, found.n_used) == (1 << bits, len(buckets))
        assert math.isclose(found.n_features, n, rel_tol=0.06)
        assert math.isclose(found.share, share, abs_tol=0.04)
    assert sharing(0, 10).share == 0 and sharing(1 << 10, 10).share == 1
