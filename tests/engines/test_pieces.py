"""Blocks have the documents of the reader, each once, however large they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bunrui.documents import read
from bunrui.engines.pieces import split
from bunrui.errors import OptionError
from tests.support.examples import examples


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("files")
    for number in range(9):
        (root / f"{number}.csv").write_text("text,label\n" + "word,x\n" * (number * number + 1))
    (root / "folder" / "x").mkdir(parents=True)
    (root / "folder" / "x" / "1.txt").write_text("word")
    return root


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
@given(block_bytes=st.integers(1, 3000))
def test_each_document_once(folder: Path, block_bytes: int) -> None:
    sources = [f"{folder}/*.csv", f"file://{folder}/3.csv", folder / "folder"]
    blocks = split(read(sources), block_bytes)
    rows = [row for block in blocks for batch in block.read() for row in batch.to_pylist()]
    assert rows == [row for batch in read(sources) for row in batch.to_pylist()]
    assert all(block.n_bytes >= block_bytes for block in blocks[:-1])


def test_paths_hold_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (block,) = split(read("3.csv"))
    monkeypatch.chdir("/")
    (batch,) = block.read()
    assert block.sources[0].path == os.fspath(folder / "3.csv") and batch["source"][0].as_py() == "3.csv"


def test_a_stream_is_not_split(folder: Path) -> None:
    with (folder / "3.csv").open("rb") as stream, pytest.raises(OptionError, match="one process reads alone"):
        split(read(stream))
