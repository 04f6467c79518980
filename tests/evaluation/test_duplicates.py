"""Duplicates: every pair that comparing all with all finds, in the same groups whatever the order."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bunrui.errors import DataError
from bunrui.evaluation import DuplicateGroup, Duplicates, duplicates, find_duplicates
from bunrui.evaluation.duplicates import N_BINS, SIMILAR, SIZE, distinct_shingles, mix_words, signatures
from bunrui.kernel.ngrams import mix
from tests.support.examples import examples, quick

TEXT = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it "
    "was the epoch of belief, it was the epoch of incredulity, it was the season of Light."
)
OTHER = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money, I sailed."
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所で泣いていた。"


def slow(texts: list[str]) -> Duplicates:
    """All with all, then joined until nothing changes."""
    sets = [frozenset(distinct_shingles(text).tolist()) for text in texts]
    keys = list(range(len(texts)))
    for one, other in combinations(range(len(texts)), 2):
        if len(sets[one] & sets[other]) >= SIMILAR * len(sets[one] | sets[other]):
            keys = [keys[one] if key == keys[other] else key for key in keys]
    groups = []
    for key in dict.fromkeys(keys):
        rows = tuple(row for row, its in enumerate(keys) if its == key)
        if len(rows) > 1:
            groups.append(DuplicateGroup("exact" if len({texts[row] for row in rows}) == 1 else "near", rows))
    return Duplicates(len(texts), tuple(groups))


def corpus(n: int, seed: int, n_words: int = 60) -> list[str]:
    """Texts of which some are copies of earlier ones, with a few words changed, and all begin alike."""
    draw = random.Random(seed)
    texts: list[str] = []
    for _ in range(n):
        if texts and draw.random() < 0.5:
            words = draw.choice(texts).split(" ")
            for _ in range(draw.randrange(4)):
                words[draw.randrange(len(words))] = f"w{draw.randrange(10**6)}"
        else:
            words = ["From:", "somebody", *(f"w{draw.randrange(10**6)}" for _ in range(n_words))]
        texts.append(" ".join(words))
    return texts


@pytest.mark.parametrize("seed", quick(1, range(4)))
def test_all_pairs_are_found(seed: int) -> None:
    texts = corpus(250, seed)
    found = find_duplicates(texts)
    assert found == slow(texts)
    assert {group.kind for group in found.groups} == {"exact", "near"}


@settings(max_examples=examples(50))
@given(st.lists(st.sampled_from([TEXT, TEXT + "!", TEXT.upper(), OTHER, OTHER[9:], JAPANESE, "", " ", "a", "A", "b"])))
def test_small_corpora(texts: list[str]) -> None:
    assert find_duplicates(texts) == slow(texts)


def test_any_order_gives_the_same_groups() -> None:
    texts = corpus(200, 9)
    order = np.random.default_rng(0).permutation(200)
    shuffled = find_duplicates([texts[row] for row in order])
    found = {(kind, frozenset(rows)) for kind, rows in find_duplicates(texts).groups}
    assert {(kind, frozenset(order[list(rows)].tolist())) for kind, rows in shuffled.groups} == found


def test_kinds_of_duplicates() -> None:
    changed = TEXT.replace("Light", "Darkness")
    wrapped = TEXT.replace(" it", "\n  it")
    texts = [TEXT, OTHER, changed, JAPANESE, wrapped, OTHER, JAPANESE.replace("見当", "合点"), "noon", "noon?"]
    found = find_duplicates(texts)
    assert found.groups == (DuplicateGroup("near", (0, 2, 4)), DuplicateGroup("exact", (1, 5)))
    assert found.keys.tolist() == [0, 1, 0, 3, 0, 1, 6, 7, 8]
    assert found.n_extra == 3
    assert repr(found) == "<Duplicates: 9 documents, 1 exact groups, 1 near groups, 3 extra>"


@pytest.mark.parametrize(("n_shared", "joined"), [(792, True), (790, False)])
def test_the_border(n_shared: int, joined: bool) -> None:
    """A text of 1,000 characters has 989 shingles, all different; its beginning has some of them."""
    draw = random.Random(1)
    text = "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(1000))
    assert len(distinct_shingles(text)) == 989
    assert bool(find_duplicates([text, text[: n_shared + 11]]).groups) == joined == (n_shared / 989 >= SIMILAR)


def test_ends_of_a_chain_are_one_group() -> None:
    """Each text shares most of the next one; the first and the last share nothing."""
    words = [f"word{k:04d}" for k in range(400)]
    texts = [" ".join(words[10 * k : 10 * k + 120]) for k in range(15)]
    assert not set(distinct_shingles(texts[0]).tolist()) & set(distinct_shingles(texts[-1]).tolist())
    assert find_duplicates(texts).groups == (DuplicateGroup("near", tuple(range(15))),)


def test_many_copies() -> None:
    texts = [f"{TEXT} {k % 3}" for k in range(3000)]
    found = find_duplicates(texts)
    assert found.groups == (DuplicateGroup("near", tuple(range(3000))),)


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, pl.Series, pa.array])
def test_kinds_of_input(kind: Any) -> None:
    texts = [TEXT, OTHER, TEXT] * 20
    assert find_duplicates(kind(texts)) == find_duplicates(texts)


def test_no_texts() -> None:
    assert find_duplicates([]) == Duplicates(0, ())
    assert find_duplicates([]).keys.tolist() == []
    assert find_duplicates(["a"]).groups == ()


def test_wrong_input() -> None:
    with pytest.raises(DataError, match=r"^texts should be a list of strings, not one string: put it into a list$"):
        find_duplicates("text")
    with pytest.raises(DataError, match=r"^text 1 is missing \(null\)"):
        find_duplicates(["a", None])


@pytest.mark.data
def test_20_newsgroups(data_folder: Path) -> None:
    """The same message was posted to several groups: its copies differ in a line of the header."""
    import pyarrow.parquet as pq

    table = pq.read_table(data_folder / "20news" / "train.parquet")
    found = find_duplicates(table["text"])
    assert found.n_docs == 11_314
    assert [sum(group.kind == kind for group in found.groups) for kind in ("exact", "near")] == [0, 53]
    assert found.n_extra == 57
    labels = table["label"].to_pylist()
    assert sum(len({labels[row] for row in group.rows}) > 1 for group in found.groups) == 5


# --- shingles and signatures against sets of strings


texts = st.text(st.sampled_from("ab \n語É😀") | st.characters(exclude_categories=["Cs"]), max_size=60)


def passages(text: str) -> set[str]:
    folded = " ".join(text.lower().split())
    return {folded[start : start + SIZE] for start in range(max(len(folded) - SIZE + 1, 1))}


@given(texts, texts)
@example("", " ")
@example("short", "short ")
def test_as_sets_of_strings(one: str, other: str) -> None:
    """Hashes are equal where the passages are: sizes of the sets, of what they share and of what they do not."""
    found = distinct_shingles(one), distinct_shingles(other)
    expected = passages(one), passages(other)
    assert [len(each) for each in found] == [len(each) for each in expected]
    assert len(np.intersect1d(*found)) == len(expected[0] & expected[1])
    assert (np.diff(found[0].astype(object)) > 0).all()


@given(st.lists(texts, max_size=12))
def test_signatures_do_not_depend_on_neighbours(several: list[str]) -> None:
    together = signatures(several)
    assert together.shape == (len(several), N_BINS)
    for text, row in zip(several, together, strict=True):
        assert (signatures([text]) == row).all()


def test_any_chunks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [f"{'text ' * k} {k}" for k in range(50)]
    whole = signatures(several)
    monkeypatch.setattr(duplicates, "_CHUNK", 100)
    assert (signatures(several) == whole).all()


@pytest.mark.parametrize("n_words", [8, 400])
def test_equal_bins_estimate_the_similarity(n_words: int) -> None:
    """The mean over 300 pairs is the mean of Jaccard; texts of few shingles, whose bins are mostly empty, too."""
    draw = random.Random(3)
    pairs = []
    for _ in range(300):
        words = [f"{draw.randrange(10**6)}" for _ in range(n_words)]
        pairs.append((" ".join(words), " ".join(words[: draw.randrange(n_words // 2, n_words)])))
    exact = [len(passages(one) & passages(other)) / len(passages(one) | passages(other)) for one, other in pairs]
    first, second = (signatures(list(column)) for column in zip(*pairs, strict=True))
    assert np.mean(first == second) == pytest.approx(np.mean(exact), abs=0.02)


def test_mix_words_is_the_mix_of_the_kernel() -> None:
    words = [0, 1, 2**63, 2**64 - 1, 12345678901234567]
    assert mix_words(np.array(words, np.uint64)).tolist() == [mix(word) for word in words]
