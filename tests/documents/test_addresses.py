"""Files by their address: the same documents as from their path.

What is tested here goes through pyarrow's local file system; there is no object store in the tests, but the client of
one that meets a closed door.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from bunrui.documents import read
from bunrui.documents.sources import Progress, Source, Stream, files_at, find_files
from bunrui.documents.validation import Options
from bunrui.errors import DataError

TABLE = pa.table(
    {"text": ["cheap, pills", "料金が\n無料", ""], "label": ["spam", "spam", "ham"], "key": ["a", "b", "c"]}
)
CSV = 'text,label,key\n"cheap, pills",spam,a\n"料金が\n無料",spam,b\n"",ham,c\n'.encode()
JSONL = b'{"text": "cheap, pills", "label": "spam", "key": "a"}\n{"text": "", "label": "ham", "key": "c"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pa.feather.write_feather(TABLE, tmp_path / "a.feather")
    with pa.ipc.new_stream(tmp_path / "a.arrows", TABLE.schema) as sink:
        sink.write_table(TABLE)
    (tmp_path / "a.csv").write_bytes(CSV)
    (tmp_path / "a.jsonl").write_bytes(JSONL)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(JSONL))
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(CSV))
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(CSV))
    (tmp_path / "a.csv.zst").write_bytes(pa.compress(CSV, "zstd", asbytes=True))
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    (tmp_path / "a b.txt").write_text("__label__spam cheap pills\n")
    return tmp_path


FILES = ["a.parquet", "a.feather", "a.arrows", "a.csv", "a.jsonl", "a.jsonl.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zst"]
FILES += ["a.parquet.gz", "a b.txt"]


def rows(source: Any, **options: Any) -> list[dict[str, Any]]:
    found = [row for batch in read(source, **options) for row in batch.to_pylist()]
    return [{name: value for name, value in row.items() if name != "source"} for row in found]


@pytest.mark.parametrize("name", FILES)
def test_the_same_documents(folder: Path, name: str) -> None:
    address = f"file://{folder}/{name.replace(' ', '%20')}"
    options = {} if name == "a b.txt" else {"id": "key"}
    assert rows(address, **options) == rows(folder / name, **options) != []
    assert {row["source"] for batch in read(address) for row in batch.to_pylist()} == {address}
    reader = read(address)
    assert reader.bytes_total == (folder / name).stat().st_size
    assert sum(batch.num_rows for batch in reader) and reader.bytes_read == reader.bytes_total


def test_a_mapping_gives_the_label(folder: Path) -> None:
    address = f"file://{folder}/a.csv"
    assert {row["label"] for row in rows({"x": [address, folder / "a.csv"]})} == {"x"}


def test_an_address_is_read_again(folder: Path) -> None:
    reader = read(f"file://{folder}/a.parquet")
    assert [sum(batch.num_rows for batch in reader) for _ in range(2)] == [3, 3]


# --- patterns


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("2026/b.csv", "2026/a.csv", "2025/c.csv", "2025/.hidden.csv", "2025/d.txt", "2025/deep/e.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text,label\n{path.stem},x\n")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("2026/*.csv", ["2026/a.csv", "2026/b.csv"]),
        ("*/*.csv", ["2025/c.csv", "2026/a.csv", "2026/b.csv"]),
        ("20*5/*", ["2025/c.csv", "2025/d.txt"]),
        ("*/deep/*.csv", ["2025/deep/e.csv"]),
        ("2026/a*.csv", ["2026/a.csv"]),
    ],
)
def test_patterns(tree: Path, pattern: str, names: list[str]) -> None:
    prefix = f"file://{tree}/"
    assert [found.name.removeprefix(prefix) for found in find_files(prefix + pattern)] == names
    inside = SubTreeFileSystem(str(tree), LocalFileSystem())
    found = files_at(f"memory://x/{pattern}", inside, pattern)
    assert [(each.name, each.key) for each in found] == [(f"memory://x/{name}", name) for name in names]


def test_patterns_of_paths(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    assert [row["text"] for row in rows("*/*.csv")] == ["c", "a", "b"] == [row["text"] for row in rows("20??/?.csv")]
    (tree / "[1].csv").write_text("text,label\nbrackets,x\n")
    assert [row["text"] for row in rows("[1].csv")] == ["brackets"]  # a file of that name goes before the pattern
    with pytest.raises(DataError, match=r"no file matches 'x\*.csv': check the pattern"):
        read("x*.csv")


# --- other file systems


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.csv.zst"])
def test_any_file_system(folder: Path, name: str) -> None:
    from bunrui.documents.reader import Reader

    inside = SubTreeFileSystem(str(folder), LocalFileSystem())
    known = read(folder / name).sources[0]
    source = Source(f"x://{name}", f"x://{name}", None, known.format, known.compression, None, known.size, inside, name)
    (batch,) = Reader([source], Options())
    assert batch["text"].to_pylist() == TABLE["text"].to_pylist()
    with Stream(source, Progress()) as stream:
        assert stream.peek()[:4] == (b"PAR1" if name == "a.parquet" else b"text")


def test_a_file_that_goes_away(folder: Path) -> None:
    reader = read(f"file://{folder}/a.csv")
    (folder / "a.csv").unlink()
    with pytest.raises(DataError, match=r"file:///.*/a.csv cannot be read: .* Check the address, the network and the"):
        next(iter(reader))


# --- errors


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("file:///nowhere/a.csv", "there is no file file:///nowhere/a.csv: check the address"),
        ("file:///nowhere/*.csv", "no file matches file:///nowhere/*.csv: check the pattern; * stands for no slash"),
        (
            "https://example.org/a.csv",
            "https://example.org/a.csv: files are not read by https: give file, s3, gs, abfs or hdfs, or get the file "
            "first, as with curl -LO https://example.org/a.csv",
        ),
    ],
)
def test_what_is_not_there(address: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(address)
    assert str(caught.value) == message


def test_a_folder_and_a_space(folder: Path) -> None:
    with pytest.raises(DataError, match=r"is a folder: give the files in it, such as file:///.*/\*.parquet"):
        read(f"file://{folder}")
    with pytest.raises(DataError, match=r"is no address \(.*\): write a space as %20"):
        read(f"file://{folder}/a b.txt")


def test_an_object_store_that_does_not_answer() -> None:
    address = "s3://key:secret@bucket/a.csv?scheme=http&endpoint_override=127.0.0.1%3A1&region=us-east-1"
    with pytest.raises(DataError, match=r"^s3://bucket/a.csv.* cannot be read: .*NETWORK_CONNECTION.*Check") as caught:
        read(address)
    assert "secret" not in str(caught.value)
