"""Parquet and Arrow IPC: types of columns, nulls, bounded batches, damaged files."""

from __future__ import annotations

import gzip
import os
import re
import struct
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bunrui.documents import read
from bunrui.errors import DataError
from tests.documents.test_reader import rows
from tests.support.examples import quick
from tests.support.waiting import PATIENCE

WRITERS = ["a.parquet", "b.arrow", "c.arrows", "d.parquet.gz", "e.feather"]
STRING = pa.string()


def write(path: Path, table: pa.Table, rows_at_once: int = 1 << 20) -> Path:
    kind = path.suffix
    if kind == ".gz":
        inner = write(path.with_suffix(""), table, rows_at_once)
        path.write_bytes(gzip.compress(inner.read_bytes()))
    elif kind == ".parquet":
        pq.write_table(table, path, row_group_size=rows_at_once)
    else:
        with (pa.ipc.new_stream if kind == ".arrows" else pa.ipc.new_file)(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows_at_once)
    return path


@pytest.mark.parametrize("name", WRITERS)
def test_round_trip(tmp_path: Path, name: str) -> None:
    table = pa.table({"n": range(1000), "text": [f"文 {n}" for n in range(1000)], "label": ["x", "y"] * 500})
    path = write(tmp_path / name, table, 300)
    reader = read(path, id="n")
    found = [row for batch in reader for row in batch.to_pylist()]
    assert [(row["label"], row["text"], row["id"], row["line"]) for row in found] == [
        ("xy"[n % 2], f"文 {n}", str(n), n + 1) for n in range(1000)
    ]
    assert {row["source"] for row in found} == {str(path)}
    assert reader.bytes_read == reader.bytes_total == path.stat().st_size


@pytest.mark.parametrize("name", WRITERS)
def test_batches_are_bounded(tmp_path: Path, name: str) -> None:
    table = pa.table(
        {"text": [str(n) + "x" * 500 for n in range(2000)], "label": pa.array(["y"] * 2000).dictionary_encode()}
    )
    path = write(tmp_path / name, table)
    batches = list(read(path, batch_bytes=10_000))
    assert sum(batch.num_rows for batch in batches) == 2000
    assert max(batch["text"].nbytes for batch in batches) < 25_000


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array(["a", "b"]), ["a", "b"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array(["b", "a"]).dictionary_encode(), ["b", "a"]),
        (pa.array([5, 6]).dictionary_encode(), ["5", "6"]),
        (pa.array([b"a", b"b"]), ["a", "b"]),
        (pa.array([1, 2], pa.int8()), ["1", "2"]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([1.5, 2.25]), ["1.5", "2.25"]),
        (pa.array([Decimal("1.50"), Decimal("2.00")]), ["1.50", "2.00"]),
        (pa.array([["a"], ["b", "c"]]), [["a"], ["b", "c"]]),
        (pa.array([[1], [2, 3]]), [["1"], ["2", "3"]]),
    ],
)
@pytest.mark.parametrize("name", ["a.parquet", "b.arrow"])
def test_labels(tmp_path: Path, name: str, labels: pa.Array, expected: Any) -> None:
    if name == "a.parquet" and pa.types.is_string_view(labels.type):
        labels = labels.cast(STRING)
    (batch,) = read(write(tmp_path / name, pa.table({"text": ["s", "t"], "label": labels})))
    assert batch["label"].to_pylist() == expected
    assert batch["label"].type == (pa.list_(STRING) if isinstance(expected[0], list) else STRING)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (pa.array(["a", ""], pa.large_string()), ["a", ""]),
        (pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
        (pa.array(["é".encode(), b"b"]), ["é", "b"]),
        (pa.array([["a", "b"], []]), [["a", "b"], []]),
        (pa.array([["a", "b"], []], pa.large_list(pa.large_string())), [["a", "b"], []]),
        (pa.array([[("a", 1)], []], pa.map_(STRING, pa.int32())), [{"a": 1}, {}]),
        (pa.array([{"a": 1, "b": 2}, {"b": 3}]), [{"a": 1, "b": 2}, {"b": 3}]),
    ],
)
@pytest.mark.parametrize("name", ["a.parquet", "b.arrow"])
def test_texts(tmp_path: Path, name: str, texts: pa.Array, expected: Any) -> None:
    (batch,) = read(write(tmp_path / name, pa.table({"text": texts})), labelled=False)
    found = batch["text"].to_pylist()
    assert [dict(t) if isinstance(expected[0], dict) else t for t in found] == expected
    assert batch["text"].type in (STRING, pa.list_(STRING), pa.map_(STRING, pa.int64()))


def test_numbers_in_a_dictionary_are_words(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", pa.table({"text": pa.array([5, 6, 5]).dictionary_encode()}))
    assert rows(path, "text", labelled=False) == [("5",), ("6",), ("5",)]


def test_columns_are_joined(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"a": ["1", "2"], "b": ["x", "y"]}))
    assert rows(path, "text", text=["b", "a"], labelled=False) == [("x\n1",), ("y\n2",)]


def test_a_row_without_a_word_is_a_row(tmp_path: Path) -> None:
    """Also where another row is bad, so that all of them are read one by one."""
    counts = pa.array([[("a", 1)], [], [("b", 2)]], pa.map_(STRING, pa.int64()))
    path = write(tmp_path / "a.parquet", pa.table({"text": counts, "label": ["x", "y", None]}))
    reader = read(path, skip_bad=True)
    assert [row for batch in reader for row in batch["text"].to_pylist()] == [[("a", 1)], []]
    assert reader.n_skipped == 1


# --- errors


@pytest.mark.parametrize("values", [pa.array([["a"], ["b"]]), pa.array([{"a": 1}, {"a": 2}])])
@pytest.mark.parametrize("column", ["text", "label"])
def test_dictionaries_of_lists_or_objects(values: pa.Array, column: str) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), values)
    with pytest.raises(DataError, match=rf"the column '{column}' holds dictionary<.*: strings, .* were expected"):
        list(read(pa.table({"text": ["s", "t"], "label": ["x", "y"]} | {column: coded})))


@pytest.mark.parametrize("name", ["a.parquet", "b.arrow"])
@pytest.mark.parametrize(
    ("text", "label", "what"),
    [
        (["a", None], ["x", "y"], "the text is missing (null): fill it with an empty string, or leave the row out"),
        (["a", "b"], ["x", None], "the label is missing (null): give one, or leave the row out"),
        (["a", "b"], ["x", ""], "the label is empty: give it a name, or leave the row out"),
        (["a", "b"], [1.0, float("nan")], "the label is missing (null): give one, or leave the row out"),
        (["a", "b"], [["x"], []], "the list of labels is empty: give at least one, or leave the row out"),
        ([["a"], [None]], ["x", "y"], "the text has the token null: tokens are strings"),
        (
            pa.array([[("a", 1)], [("b", -1)]], pa.map_(STRING, pa.int64())),
            ["x", "y"],
            "the text counts 'b' -1 times: counts are whole numbers from 0 up",
        ),
        (
            pa.array([b"a", b"\xff\xfe"]),
            ["x", "y"],
            "the bytes ff fe are not valid utf-8: decode the text before it is written",
        ),
    ],
)  # fmt: skip
def test_bad_rows(tmp_path: Path, name: str, text: Any, label: Any, what: str) -> None:
    path = write(tmp_path / name, pa.table({"text": text, "label": label}))
    with pytest.raises(DataError) as caught:
        list(read(path))
    assert str(caught.value) == f"{path}, row 2: {what}"
    reader = read(path, skip_bad=True)
    assert [row["line"] for batch in reader for row in batch.to_pylist()] == [1]
    assert reader.skipped == [str(caught.value)]


def test_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"body": ["a"], "n": [1], "when": [{"x": "y"}]}))
    texts = "strings, lists of tokens, or maps from word to count were expected"
    for options, what in [
        (
            {},
            "there is no column 'text' and no column 'label', only 'body', 'n', 'when': "
            "choose others with text= and label=",
        ),
        ({"text": "body"}, "there is no column 'label', only 'body', 'n', 'when': choose another with label="),
        (
            {"text": ["t", "u", "body"], "label": "n"},
            "there is no column 't' and no column 'u', only 'body', 'n', 'when': choose others with text=",
        ),
        ({"text": "n", "labelled": False}, f"the column 'n' holds int64: {texts}"),
        (
            {"text": "body", "label": "when"},
            "the column 'when' holds struct<x: string>: strings, numbers, or lists of them were expected",
        ),
    ]:
        with pytest.raises(DataError) as caught:
            list(read(path, **options))  # type: ignore[arg-type]
        assert str(caught.value) == f"{path}: {what}"


@pytest.mark.parametrize("name", ["a.parquet", "b.arrow", "c.arrows"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, pa.table({"text": [str(n) for n in range(9999)], "label": ["x"] * 9999}))
    data = path.read_bytes()
    kind = "Parquet" if name == "a.parquet" else "Arrow IPC"
    for damaged in (data[:1000], data[: len(data) // 2], b"text,label\na,b\n", b"PAR1", b"ARROW1"):
        path.write_bytes(damaged)
        with pytest.raises(DataError) as caught:
            list(read(path))
        assert str(caught.value).startswith(f"{path}: this cannot be read as {kind} (")


STRINGS = ["hello", "wörld", "", "a longer text, not kept in a view"]
DAMAGED = {
    "strings.arrow": pa.array(STRINGS),
    "large.arrows": pa.array(STRINGS, pa.large_string()),
    "views.arrow": pa.array(STRINGS, pa.string_view()),
    "dictionary.arrow": pa.array(STRINGS).dictionary_encode(),
    "lists.arrow": pa.array([["a", "b"], ["c"], [], ["d"]]),
    "maps.arrows": pa.array([[("a", 1)], [], [("b", 2)], [("c", 3)]], pa.map_(STRING, pa.int64())),
    "strings.parquet": pa.array(STRINGS),
    "lists.parquet": pa.array([["a", "b"], ["c"], [], ["d"]]),
}
SWEEP = """
import io, sys
from bunrui.documents import read
from bunrui.errors import BunruiError

data, format = open(sys.argv[1], "rb").read(), sys.argv[2]
for at in range(0, len(data), int(sys.argv[3])):
    for value in {data[at] ^ 0x80, 0x7F}:
        damaged = data[:at] + bytes([value]) + data[at + 1 :]
        for columns in (False, True):
            try:
                for batch in read(io.BytesIO(damaged), format=format, skip_bad=True, columns=columns):
                    batch.to_pylist()
            except BunruiError:
                pass
"""


@pytest.mark.parametrize("every", quick(1, [29, 1]))
@pytest.mark.parametrize("name", DAMAGED)
def test_no_byte_of_a_file_ends_the_process(tmp_path: Path, name: str, every: int) -> None:
    path = write(tmp_path / name, pa.table({"text": DAMAGED[name], "label": ["x", "y", "x", "y"]}))
    kind = "parquet" if path.suffix == ".parquet" else "arrow"
    done = subprocess.run(
        [sys.executable, "-c", SWEEP, path, kind, str(every)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["b.arrow", "c.arrows"])
def test_offsets_out_of_a_file(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, pa.table({"text": ["ab", "cd"], "label": ["x", "y"]}))
    path.write_bytes(path.read_bytes().replace(struct.pack("<3i", 0, 2, 4), struct.pack("<3i", 0, 2, 1 << 30)))
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: this is damaged .*: get or write it again$"):
        list(read(path))


@pytest.mark.parametrize("name", ["a.parquet", "b.arrow"])
def test_names_that_are_no_text(tmp_path: Path, name: str) -> None:
    table = pa.table({"text": ["a"], "nämé": ["b"]})
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(table, path, store_schema=False)
    else:
        write(path, table)
    path.write_bytes(path.read_bytes().replace("nämé".encode(), b"n\xff\xffm\xff\xff"))
    with pytest.raises(DataError, match=r"cannot be read as .* can't decode byte 0xff"):
        list(read(path, labelled=False))


def test_columns_that_are_not_wanted_do_not_make_batches_short(tmp_path: Path) -> None:
    texts = pa.table({"text": ["short"] * 2000, "image": [str(n) * 2000 for n in range(2000)]})
    batches = list(read(write(tmp_path / "a.parquet", texts), labelled=False, batch_bytes=10_000))
    assert sum(batch.num_rows for batch in batches) == 2000
    assert len(batches) < 100


def test_memory_does_not_grow_with_a_parquet_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    schema = pa.schema([("text", pa.string()), ("label", pa.string())])
    with pq.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
        for _ in range(40):
            texts = [rng.bytes(10_000).hex() for _ in range(50)]  # half of it is left when it is packed
            writer.write_table(pa.table({"text": texts, "label": ["x"] * 50}, schema))
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() for _ in read(tmp_path / "a.parquet", batch_bytes=1 << 20))
    assert most - before < 12e6 < os.path.getsize(tmp_path / "a.parquet") < 40e6
