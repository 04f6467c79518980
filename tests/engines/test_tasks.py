from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from bunrui import TextClassifier
from bunrui.engines import tasks
from bunrui.engines.tasks import Folder
from bunrui.errors import DataError, OptionError


def test_a_file_is_there_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "part-000000.parquet").write_bytes(b"labels")
    folder = Folder.new(str(tmp_path / "out"))
    for _ in range(2):  # a block may be done twice
        folder.publish(str(tmp_path / "part-000000.parquet"))
    (tmp_path / "out" / ".part-000001.parquet.0123abcd").write_bytes(b"lab")
    folder.finish()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["part-000000.parquet"]
    with pytest.raises(OptionError, match="out is there already, and not empty: delete it, or give another folder"):
        Folder.new(str(tmp_path / "out"))


def test_clear_deletes_what_was_written_and_nothing_else(tmp_path: Path) -> None:
    folder = Folder.new(str(tmp_path))
    for name in ("part-000000.parquet", ".part-000001.parquet.0123abcd", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    folder.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_secrets_are_not_shown() -> None:
    address = "s3://key:secret@bucket/labels?scheme=http&endpoint_override=127.0.0.1%3A1&region=us-east-1"
    with pytest.raises(DataError, match=r"^s3://bucket/labels\S* cannot be written: .*Check the name") as caught:
        Folder.new(address)
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match=r"^s3://bucket/labels is no address") as caught:
        Folder.new("s3://key:sec/ret@bucket/labels")
    assert "ret@" not in str(caught.value)


def test_the_size_of_a_block_whatever_its_columns_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_share", lambda refs: TextClassifier())
    frame = pd.DataFrame({"text": ["a", "b"], "label": ["x", "y"], "nbytes": [1, 2]})
    table = pa.Table.from_pandas(frame)
    for block, size in ((frame, frame.memory_usage().sum()), (table, table.nbytes)):
        done, part = tasks.count_block([], block, 1)
        assert (done.n_docs, done.progress.bytes_read, part.n_docs) == (2, size, 2)
