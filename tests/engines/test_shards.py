"""Parts of a corpus, counted apart and merged: the result is that of one process, bit for bit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.fs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bunrui
from bunrui import TextClassifier
from bunrui.counts import Counts
from bunrui.documents import read
from bunrui.engines.partitions import add_part, add_up, parts_of
from bunrui.engines.pieces import reading_id, shard_ids
from bunrui.errors import DataError, OptionError, StoreError
from bunrui.store.merge import Holding
from tests.store.probing import reseal
from tests.support.examples import examples
from tests.support.files import sql

WORDS = ["cheap", "pills", "noon", "lunch", "料金", "無料です", "회의", "a-very-long-word-beyond-sixteen-bytes", "?"]
LABELS = ["spam", "ham", "迷惑"]

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
labels = st.one_of(st.sampled_from(LABELS), st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True))
shards = st.lists(st.lists(st.tuples(texts, labels), min_size=1, max_size=5), min_size=1, max_size=6)


def learned(documents: list[tuple[str, object]]) -> TextClassifier:
    return TextClassifier().learn([text for text, _ in documents], [label for _, label in documents])


def part(folder: str, number: int, documents: list[tuple[str, object]]) -> str:
    path = os.path.join(folder, f"part-{number}.bunrui")
    with bunrui.create(path, keep="nothing") as file:
        note = Holding(frozenset([f"shard-{number}"])).note()
        file.merge_all([learned(documents)], kind="count", **note)
    return path


def merged(path: str, others: list[str]) -> list[str]:
    """Merge files into one, which is made if need be; those that were left out."""
    if not os.path.exists(path):
        bunrui.create(path, keep="nothing").close()
    opened = [bunrui.open(other, read_only=True) for other in others]
    try:
        with bunrui.open(path) as target:
            return target.merge_all(opened)
    finally:
        for file in opened:
            file.close()


def check_same(path: str, documents: list[tuple[str, object]]) -> None:
    one = learned(documents)
    asked = [*WORDS, " ".join(WORDS), *[text for text, _ in documents]]
    with bunrui.open(path, read_only=True) as file:
        assert file.counts == one.counts
        assert file.classes_.tolist() == one.classes_.tolist()
        for model in ("binary-complement", "multinomial", "bernoulli"):
            ours, theirs = file.with_model(model).scores(asked), one.with_model(model).scores(asked)
            assert np.array_equal(ours.view(np.int64), theirs.view(np.int64))


@settings(max_examples=examples(25))
@given(shards=shards, data=st.data())
def test_any_order_and_any_grouping(shards: list[list[tuple[str, object]]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [part(folder, number, documents) for number, documents in enumerate(shards)]
        while len(files) > 1:
            files = data.draw(st.permutations(files))
            size = data.draw(st.integers(2, len(files)))
            whole = os.path.join(folder, f"merge-{len(files)}-{size}.bunrui")
            assert merged(whole, files[:size]) == []
            files = [whole, *files[size:]]
        check_same(files[0], [document for documents in shards for document in documents])


@given(documents=st.lists(st.tuples(texts, labels), min_size=1, max_size=20), data=st.data())
def test_parts_by_feature_add_up(documents: list[tuple[str, object]], data: st.DataObject) -> None:
    """However documents are cut into blocks, and features into parts."""
    n_parts = data.draw(st.integers(1, 7))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(documents)), max_size=4)))
    bounds = [0, *cuts, len(documents)]
    blocks = [documents[a:b] for a, b in pairwise(bounds)]
    fingerprint = learned(documents).counts.fingerprint
    counted = [parts_of(learned(block).counts if block else Counts(fingerprint), n_parts) for block in blocks]
    total = Counts(fingerprint)
    for same in data.draw(st.permutations(list(zip(*counted, strict=True)))):
        add_part(total, add_up(*data.draw(st.permutations(same))))
    assert total == learned(documents).counts


def test_parts_share_the_features_evenly() -> None:
    counts = TextClassifier(analyzer="words").learn([" ".join(f"word{n}" for n in range(8000))], ["x"]).counts
    sizes = [len(part.cells.sizes) for part in parts_of(counts, 8)]
    assert sum(sizes) == 8000 and max(sizes) < 1200 and min(sizes) > 800


# --- merging what is there


@pytest.fixture
def parts(tmp_path: Path) -> list[str]:
    return [part(str(tmp_path), number, [(word, "x")]) for number, word in enumerate(WORDS[:4])]


def documents_in(path: str) -> int:
    with bunrui.open(path, read_only=True) as file:
        return file.counts.n_docs


def test_a_shard_is_counted_once(parts: list[str], tmp_path: Path) -> None:
    whole = str(tmp_path / "all.bunrui")
    assert merged(whole, parts[:2]) == []
    assert merged(whole, [parts[1], parts[2], parts[0]]) == [parts[1], parts[0]]
    assert merged(whole, [*parts, parts[3]]) == [*parts[:3], parts[3]]
    check_same(whole, [(word, "x") for word in WORDS[:4]])


def test_a_merge_knows_the_shards_of_merges(parts: list[str], tmp_path: Path) -> None:
    left, right, whole = (str(tmp_path / f"{name}.bunrui") for name in ("left", "right", "all"))
    merged(left, parts[:2])
    merged(right, parts[2:])
    assert merged(whole, [left, right]) == []
    assert merged(whole, parts) == parts and merged(whole, [left]) == [left]
    assert documents_in(whole) == 4


def test_what_holds_only_a_part_of_it_is_refused(parts: list[str], tmp_path: Path) -> None:
    both, whole = str(tmp_path / "both.bunrui"), str(tmp_path / "all.bunrui")
    merged(both, parts[:2])
    merged(whole, [parts[0], parts[2]])
    with pytest.raises(StoreError, match=r"both.bunrui has shards that .*all.bunrui has too \(shard-0\), and others"):
        merged(whole, [both])
    assert documents_in(whole) == 2


def test_what_has_learned_more_is_refused(parts: list[str], tmp_path: Path) -> None:
    whole = str(tmp_path / "all.bunrui")
    merged(whole, parts[:2])
    with bunrui.open(parts[0]) as file:
        file.learn(["more"], ["y"])
    with pytest.raises(StoreError, match="has changed by 1 documents besides"):
        merged(whole, [parts[0]])
    fresh = str(tmp_path / "fresh.bunrui")
    assert merged(fresh, [parts[0]]) == []
    with pytest.raises(StoreError, match="has changed by 1 documents besides"):
        merged(whole, [fresh])  # the merge knows it, too
    assert documents_in(whole) == 2


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_a_merge_and_its_parts_in_any_order(parts: list[str], tmp_path: Path, order: tuple[int, ...]) -> None:
    both, whole = str(tmp_path / "both.bunrui"), str(tmp_path / "all.bunrui")
    merged(both, parts[:2])
    given = [[parts[0], both, parts[3]][place] for place in order]
    assert merged(whole, given) == [parts[0]]
    check_same(whole, [(WORDS[number], "x") for number in (0, 1, 3)])


def test_an_undone_merge_holds_nothing(parts: list[str], tmp_path: Path) -> None:
    whole = str(tmp_path / "all.bunrui")
    merged(whole, parts[:1])
    merged(whole, parts[1:])
    with bunrui.open(whole) as file:
        assert file.undo() == ("merge", 3)
    assert merged(whole, parts) == parts[:1]
    assert documents_in(whole) == 4


@pytest.mark.parametrize("change", ["compact", "slim"])
def test_who_forgot_its_shards_takes_no_more(parts: list[str], tmp_path: Path, change: str) -> None:
    """Compacting and slimming forget names; nothing may be counted twice for that."""
    whole = str(tmp_path / "all.bunrui")
    merged(whole, parts)
    with bunrui.open(whole) as file:
        if change == "compact":
            file.compact()
        else:
            file.slim(tmp_path / "slim.bunrui")
            whole = str(tmp_path / "slim.bunrui")
    later = part(str(tmp_path), 9, [("new", "x")])
    for other in (parts[0], later):
        with pytest.raises(StoreError, match="does not know which shards it holds"):
            merged(whole, [other])
    with pytest.raises(StoreError, match="does not know which shards it holds"):
        merged(later, [whole])
    plain = str(tmp_path / "plain.bunrui")
    assert merged(plain, [whole]) == []  # which has no shards itself, but learns that there are some
    with pytest.raises(StoreError, match="does not know which shards it holds"):
        merged(plain, [later])
    assert documents_in(whole) == documents_in(plain) == 4


def test_a_hostile_note(parts: list[str], tmp_path: Path) -> None:
    sql(parts[0], """UPDATE transactions SET note = '{"shards": [7], "n_shards": 1}'""")
    reseal(parts[0])
    with pytest.raises(StoreError, match="damaged"):
        merged(str(tmp_path / "all.bunrui"), parts[:1])


# --- ids


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "spam").mkdir()
    (tmp_path / "spam" / "1.txt").write_text("pills")
    (tmp_path / "a.csv").write_text("text,label,other\nx,1,2\n")
    (tmp_path / "b.csv").write_text("text,label,other\nx,1,3\n")
    yield tmp_path


def test_an_id_is_what_is_counted(folder: Path) -> None:
    (ours,) = shard_ids(read(folder / "a.csv"))
    copy = folder / "spam" / "copy.csv"
    copy.write_bytes((folder / "a.csv").read_bytes())
    assert shard_ids(read(copy)) == [ours] == shard_ids(read(f"file://{copy}", batch_bytes=1, id="other"))
    others = [read(folder / "b.csv"), read(folder / "a.csv", label="other"), read({"x": folder / "a.csv"})]
    others += [read(folder / "a.csv", skip_bad=True), read(folder / "a.csv", format="tab", text="text,label,other")]
    assert len({ours, *(shard for reader in others for shard in shard_ids(reader))}) == 6


def test_an_id_of_a_folder(folder: Path) -> None:
    def shard() -> str:
        (found,) = shard_ids(read(folder, include="*.txt"))
        return found

    before = shard()
    assert shard() == before
    (folder / "spam" / "1.txt").rename(folder / "spam" / "2.txt")
    assert shard() != before


def test_a_mailbox_is_named_after_its_label(folder: Path) -> None:
    for name in ("spam.mbox", "ham.mbox"):
        (folder / name).write_text("From a@b Thu Jan  1 00:00:00 1970\nSubject: x\n\nx\n")
    assert len(shard_ids(read([folder / "spam.mbox", folder / "ham.mbox"]))) == 2
    with pytest.raises(DataError, match=r"ham.mbox and .*spam.mbox hold the same: leave one out"):
        shard_ids(read({"x": [folder / "spam.mbox", folder / "ham.mbox"]}))


def test_empty_shards_are_not_the_same(folder: Path) -> None:
    for name in ("c.csv", "d.csv"):
        (folder / name).write_text("text,label\n")
    for name in ("c.jsonl", "d.jsonl"):
        (folder / name).write_bytes(b"")
    assert len(shard_ids(read([folder / "c.csv", folder / "a.csv", folder / "d.csv"]))) == 2
    assert len(shard_ids(read([folder / "c.jsonl", folder / "d.jsonl"]))) == 1


def test_the_id_of_a_stream_is_given(folder: Path) -> None:
    with (folder / "a.csv").open("rb") as stream, pytest.raises(OptionError, match="give it an id of your own"):
        shard_ids(read(stream))


def test_how_files_are_read_has_an_id(folder: Path) -> None:
    assert reading_id(read(folder / "a.csv")) == reading_id(read(folder / "b.csv"))
    assert reading_id(read(folder / "a.csv")) != reading_id(read(folder / "a.csv", label="other"))


def test_ids_on_other_file_systems(folder: Path) -> None:
    address = f"file://{folder}/a.csv"
    assert shard_ids(read(address)) == shard_ids(read(folder / "a.csv"))
    pyarrow.fs.FileSystem.from_uri(address)[0].delete_file(str(folder / "a.csv"))
    with pytest.raises(DataError, match=r"there is no file file:///.*/a.csv: check the address"):
        read(address)
