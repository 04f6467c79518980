"""Counts that are put aside in pieces and runs add up to those that never left memory."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui import TextClassifier
from bunrui.analysis import AnalyzerSpec
from bunrui.counts import Counts
from bunrui.engines import partitions as spilling
from bunrui.engines.partitions import Spill
from bunrui.errors import StoreError
from bunrui.kernel import workspace
from tests.support.examples import examples
from tests.support.waiting import PATIENCE

WORDS = ["cheap", "pills", "noon", "lunch", "料金", "無料です", "회의", "a-very-long-word-beyond-sixteen-bytes", "?"]
LABELS = ["spam", "ham", "迷惑"]

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
labels = st.one_of(st.sampled_from(LABELS), st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True))
batches = st.lists(st.lists(st.tuples(texts, labels), min_size=1, max_size=5), min_size=1, max_size=8)

Documents = Sequence[tuple[str, str | list[str]]]


def learned(documents: Documents, analyzer: str) -> Counts:
    return (
        TextClassifier(analyzer=analyzer)
        .learn([text for text, _ in documents], [label for _, label in documents])
        .counts
    )


@contextmanager
def tiny(piece: int = 1, group: int = 2) -> Iterator[None]:
    """Pieces and groups of a few features."""
    with patch.multiple(spilling, PIECE=piece, _GROUP=group):
        yield


def summed(spill: Spill) -> Counts:
    """All parts, added up in memory: documents belong to none of them."""
    total = spill.head.copy()
    sums = total.term_sum.tolist(), total.doc_freq_sum.tolist(), total.n_terms, total.n_doc_freq
    total.term_sum[:] = total.doc_freq_sum[:] = total.n_terms = total.n_doc_freq = 0
    for cells in spill.parts(lambda cells: cells):
        total.add_cells(spill.head.labels, cells)
    assert (total.term_sum.tolist(), total.doc_freq_sum.tolist(), total.n_terms, total.n_doc_freq) == sums
    return total


def cells_of(batches: Sequence[Documents]) -> Counter[tuple[str, str, str]]:
    """What the cells are, in plain Python: occurrences and documents of every word by label, for words with spaces."""
    out: Counter[tuple[str, str, str]] = Counter()
    for text, named in (document for batch in batches for document in batch):
        for label in {named} if isinstance(named, str) else set(named):
            words = text.split()
            out.update((word, label, "terms") for word in words)
            out.update((word, label, "docs") for word in set(words))
    return out


@settings(max_examples=examples(60))
@given(batches, st.sampled_from(["universal", "words"]), st.integers(0, 2000), st.integers(1, 12), st.integers(1, 40))
def test_the_same_as_in_memory(batches: list[Documents], analyzer: str, room: int, piece: int, group: int) -> None:
    with tempfile.TemporaryDirectory() as folder, tiny(piece, group):
        with Spill(learned(batches[0], analyzer).fingerprint, folder, room) as spill:
            for batch in batches:
                spill.add(learned(batch, analyzer))
            found = summed(spill)
        assert os.listdir(folder) == []
    assert found == learned([document for batch in batches for document in batch], analyzer)


@settings(max_examples=examples(30))
@given(st.lists(st.lists(st.tuples(st.lists(st.sampled_from("abcde"), max_size=6).map(" ".join), labels)), min_size=1))
def test_the_definition(batches: list[Documents]) -> None:
    fingerprint = TextClassifier(analyzer="words").counts.fingerprint
    with tiny(), tempfile.TemporaryDirectory() as folder, Spill(fingerprint, folder, 0) as spill:
        for batch in batches:
            spill.add(learned(batch, "words"))
        found = summed(spill)
    cells = Counter[tuple[str, str, str]]()
    for feature, label, terms, docs in found.cells():
        cells[feature, label, "terms"], cells[feature, label, "docs"] = terms, docs
    assert cells == cells_of(batches)


def test_every_batch_a_run(tmp_path) -> None:
    with tiny(), Spill(learned([("a", "x")], "words").fingerprint, str(tmp_path), 0) as spill:
        for number in range(20):
            spill.add(learned([(f"both w{number} w{number % 3}", "xy"[number % 2])], "words"))
        assert spill.n_runs == 20
        sizes = list(spill.parts(lambda cells: len(cells.sizes)))
        assert sum(sizes) == 21 and len(sizes) > 5
        assert summed(spill).totals()["both"] == (20, 20)


def test_few_features_of_many_labels(tmp_path) -> None:
    """Cells take room, however few the features are that they belong to."""
    spec = AnalyzerSpec(name="words", hash_bits=8)
    texts = [" ".join(f"w{word}" for word in range(start, start + 300)) for start in range(10)]
    whole = TextClassifier(analyzer=spec)
    with tiny(piece=200, group=200), Spill(whole.counts.fingerprint, str(tmp_path), 0) as spill:
        for number in range(8):
            labels = [f"label{number * 5 + place}" for place in range(10)]
            spill.add(TextClassifier(analyzer=spec).learn(texts, labels).counts)
            whole.learn(texts, labels)
        assert whole.counts.n_features < 200 and whole.counts.n_cells > 7_000
        assert spill.n_runs >= 3
        sizes = list(spill.parts(lambda cells: len(cells.classes)))
        assert sum(sizes) == whole.counts.n_cells and len(sizes) >= 3
        assert summed(spill) == whole.counts


def test_reading_one_spill_does_not_wait_for_another(tmp_path) -> None:
    counts = learned([("a b c", "x")], "words")
    with tiny(), Spill(counts.fingerprint, str(tmp_path), 0) as one, Spill(counts.fingerprint, str(tmp_path), 0) as two:
        for spill in (one, two):
            spill.add(counts.copy())
        assert two.n_runs == 1
        with ThreadPoolExecutor(1) as pool, one._lock:
            assert pool.submit(summed, two).result(PATIENCE) == counts


def test_nothing_is_written_while_there_is_room(tmp_path) -> None:
    with tiny(), Spill("", str(tmp_path / "nowhere"), 1 << 30) as spill:
        counts = TextClassifier(analyzer="words").learn(["a b"], ["x"]).counts
        counts.fingerprint = ""
        spill.add(counts)
        assert spill.n_runs == 0 and summed(spill).n_features == 2


def test_documents_without_features(tmp_path) -> None:
    with tiny(), Spill(learned([("", "x")], "words").fingerprint, str(tmp_path), 0) as spill:
        spill.add(learned([("", "x"), ("", "y")], "words"))
        assert list(spill.parts(lambda cells: cells)) == []
        assert spill.head.n_docs == 2 and spill.head.live_labels == ["x", "y"]


def test_features_whose_hashes_are_equal(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(workspace, "NARROW_HASH", 0xFF << 56)
    documents = [(" ".join(f"w{number}" for number in range(start, start + 400)), "x") for start in range(0, 2000, 200)]
    with tiny(piece=100, group=50), Spill(learned(documents[:1], "words").fingerprint, str(tmp_path), 1000) as spill:
        for document in documents:
            spill.add(learned([document], "words"))
        assert spill.n_runs > 3
        assert summed(spill) == learned(documents, "words")


def test_a_folder_that_cannot_be_written(tmp_path) -> None:
    with (
        tiny(),
        Spill(learned([("a", "x")], "words").fingerprint, str(tmp_path / "nowhere"), 0) as spill,
        pytest.raises(StoreError, match=r"nowhere: counts do not fit into memory, and cannot be put aside here"),
    ):
        spill.add(learned([("a b c", "x")], "words"))
