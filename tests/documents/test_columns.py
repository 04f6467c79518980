"""Tables: rows as JSON objects, from every format that has columns, and what is refused."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import mailbox
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.documents import read
from bunrui.documents.tabular import MISSING, TABLES
from bunrui.errors import DataError, EncodingError, OptionError
from tests.support.waiting import PATIENCE


def texts(source: Any, **options: Any) -> list[str]:
    """The documents of a table, with their labels in front where there are some."""
    if isinstance(source, str):
        source = io.BytesIO(source.encode())
    with read(source, columns=True, **options) as reader:
        return [text for batch in reader for text in batch["text"].to_pylist()]


def labels(source: str, **options: Any) -> list[str]:
    with read(io.BytesIO(source.encode()), columns=True, **options) as reader:
        return [label for batch in reader for label in batch["label"].to_pylist()]


# --- CSV and TSV

CELLS = {
    "39": "39",
    " 39 ": "39",
    "-1.50": "-1.50",
    "+7": "7",
    ".5": "0.5",
    "-.5": "-0.5",
    "5.": "5",
    "6e-3": "6e-3",
    "1E5": "1E5",
    "0": "0",
    "0.10": "0.10",
    "007": '"007"',
    "-01": '"-01"',
    "1,000": '"1,000"',
    "1_000": '"1_000"',
    "٣": '"٣"',
    "1e999": '"1e999"',
    "inf": '"inf"',
    "-": '"-"',
    ".": '"."',
    "12 monkeys": '"12 monkeys"',
    "na": '"na"',
    "true": '"true"',
    "　東京 ": '"東京"',
    'say "hi"': '"say \\"hi\\""',
    "a\nb": '"a\\nb"',
    "a\0b": '"a\\u0000b"',
    "2026-01-31": '"2026-01-31"',
    **dict.fromkeys(MISSING, "null"),
}


def written(rows: list[list[str]], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_cells(format: str) -> None:
    delimiter = {"csv": ",", "tsv": "\t"}[format]
    table = written([["x", "label"], *([cell, "y"] for cell in CELLS)], delimiter)
    assert texts(table, format=format) == [f'{{"x":{cell}}}' for cell in CELLS.values()]
    # A quote inside a field: record by record, in Python.
    assert texts(table + f'5" disk{delimiter}y\n', format=format)[:-1] == texts(table, format=format)
    for text in texts(table, format=format):
        json.loads(text)


@given(
    cells=st.lists(st.tuples(*[st.text("0123456789.eE+- NA?\"',\nx東\0", max_size=5)] * 3), min_size=1, max_size=6),
    size=st.sampled_from([8, 80, 1 << 20]),
)
def test_both_ways_agree(cells: list[tuple[str, str, str]], size: int) -> None:
    rows = written([["a", "b c", "名"], *map(list, cells)])
    options: dict[str, Any] = {"format": "csv", "labelled": False}
    quick = texts(rows, batch_bytes=size, **options)
    slow = texts(rows + 'x"y,,\n', **options)
    assert quick == slow[:-1] and slow[-1] == '{"a":"x\\"y","b c":null,"名":null}'
    assert [list(json.loads(text)) for text in quick] == [["a", "b c", "名"]] * len(cells)


def test_all_columns_but_label_and_id() -> None:
    table = " age , key,label,名前\n39, 7 , yes ,花子\n,8,no,\n"
    with read(io.BytesIO(table.encode()), columns=True, id="key") as reader:
        (batch,) = reader
        assert reader.columns == ["age", "名前"]
    assert batch.select(["label", "text", "id", "line"]).to_pylist() == [
        {"label": "yes", "text": '{"age":39,"名前":"花子"}', "id": "7", "line": 2},
        {"label": "no", "text": '{"age":null,"名前":null}', "id": "8", "line": 3},
    ]
    # The column of the label is no cell, whether it is looked at or not.
    assert texts(table, id="key", labelled=False) == batch["text"].to_pylist()
    assert texts({"all": io.BytesIO(table.encode())}, id="key") == batch["text"].to_pylist()
    assert texts(table, label="名前", skip_bad=True)[0] == '{"age":39,"key":7,"label":"yes"}'


def test_other_encodings() -> None:
    table = io.BytesIO("職業,ラベル\n会社員,あり\n".encode("cp932"))
    assert texts(table, label="ラベル", encoding="cp932", format="csv") == ['{"職業":"会社員"}']


def test_labels_are_names() -> None:
    """What means no value in a cell may well be the name of a class."""
    assert labels("x,label\n1,NA\n2, ? \n3,007\n") == ["NA", "?", "007"]
    assert labels("x,label\n1,a; b\n", separator=";") == [["a", "b"]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "a,b,label\n1,2,x\n1,x\n",
            "stream, line 3: 3 columns expected ('a', 'b', 'label'), 2 found: put quotes around",
        ),
        ("a,a,label\n1,2,x\n", "stream: there are 2 columns 'a': keep one"),
        ("a, a ,label\n1,2,x\n", "stream: there are 2 columns 'a': keep one"),
        ("a,b\n1,2\n", "stream: there is no column 'label', only 'a', 'b': choose another with label="),
        ("label\nx\n", "stream has no column but 'label': there is nothing to classify by"),
        (",a,label\n1,2,x\n", "stream: column 1 has no name: give it one, or take it out"),
        ("a,label\n1, \n", "stream, line 2: the label is empty: give it a name, or leave the row out"),
        ("a,label\n1,x\0y\n", "stream, line 2: the label 'x\\x00y' has a NUL: give it another name"),
        ('a,label\n"1,x\n', "stream, line 2: a field begins with a quote that is never closed"),
        ("", "stream: the file is empty: give one with documents"),
        ("\n\n", "stream: there are empty lines only"),
    ],
)
def test_bad_tables(table: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        texts(table, format="csv")
    assert str(error.value).startswith(message)


def test_bad_rows_can_be_skipped() -> None:
    table = b"a,label\n1,x\n1,2,x\n\xff,x\n3,\n4,y\n"
    with read(io.BytesIO(table), columns=True, skip_bad=True) as reader:
        assert [text for batch in reader for text in batch["text"].to_pylist()] == ['{"a":1}', '{"a":4}']
        assert reader.n_skipped == 3 and all("stream, line" in what for what in reader.skipped)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(EncodingError, match="line 2"):
        texts(io.BytesIO(b"a,label\n\xff,x\n"), format="csv")


# --- JSON lines


def test_json_has_types_of_its_own() -> None:
    lines = [
        '{"label": "x", "n": 1.50, "big": 12345678901234567890, "s": " 39 ", "t": true, "no": null, "e": "?"}',
        '{"new": 1e2, "label": 7, "n": NaN}',
    ]
    assert texts("\n".join(lines) + "\n") == [
        '{"n":1.50,"big":12345678901234567890,"s":" 39 ","t":true,"no":null,"e":"?"}',
        '{"new":1e2,"n":null}',
    ]
    with read(io.BytesIO("\n".join(lines).encode()), columns=True) as reader:
        list(reader)
        assert reader.columns == ["n", "big", "s", "t", "no", "e", "new"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": [1], "label": "x"}', "the column 'a' holds a list: a cell is a string, a number, a date, true, false"),
        ('{"a": {"b": 1}, "label": "x"}', "the column 'a' holds an object: a cell is"),
        ('{"a": 1, "a": 2, "label": "x"}', "the object has 'a' twice: keep one"),
        (
            '{"a": Infinity, "label": "x"}',
            "the column 'a' has Infinity, which is no finite number: leave the cell empty",
        ),
        ('{"a": -1e999, "label": "x"}', "the column 'a' has -1e999, which is no finite number"),
        (
            '{"a": 1' + "0" * 400 + ', "label": "x"}',
            "the column 'a' has 10000000000000000000, which is no finite number",
        ),
        ('{"a": 1}', "there is no column 'label', only 'a': choose another with label="),
        ('{"label": "x"}', "the row has no column but the label: there is nothing to classify by"),
        ('{"": 1, "label": "x"}', "a column of the row has no name: give it one"),
        ('{"a": "\\ud800", "label": "x"}', "the row has \\ud800, half of a character, at character 7: mend it"),
        ("[1, 2]", "a JSON object was expected"),
        ('{"a": ', "this is not JSON"),
    ],
)
def test_bad_lines(line: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        texts(f'{{"a": 0, "label": "x"}}\n{line}\n')
    assert str(error.value).startswith(f"stream, line 2: {message}")


# --- Parquet and Arrow

MOMENT = dt.datetime(2026, 1, 31, 18, 0, 5, 250_000)
TYPED: dict[str, tuple[Any, Any, list[str]]] = {
    "int": (pa.int8(), [1, None], ["1", "null"]),
    "unsigned": (pa.uint64(), [2**64 - 1, 0], ["18446744073709551615", "0"]),
    "float": (pa.float64(), [0.1, float("nan")], ["0.1", "null"]),
    "half": (pa.float16(), np.array([0.5, 2], np.float16), ["0.5", "2.0"]),
    "single": (pa.float32(), [0.5, None], ["0.5", "null"]),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.50"), None], ["1.50", "null"]),
    "bool": (pa.bool_(), [True, False], ["true", "false"]),
    "string": (pa.string(), [" 39", ""], ['" 39"', '""']),
    "large": (pa.large_string(), ["東京", None], ['"東京"', "null"]),
    "view": (pa.string_view(), ["a", None], ['"a"', "null"]),
    "categories": (pa.dictionary(pa.int8(), pa.string()), ["b", "a"], ['"b"', '"a"']),
    "codes": (pa.dictionary(pa.int8(), pa.int64()), [7, None], ["7", "null"]),
    "nothing": (pa.null(), [None, None], ["null", "null"]),
    "date": (pa.date32(), [dt.date(2026, 1, 31), None], ['"2026-01-31"', "null"]),
    "seconds": (pa.timestamp("s"), [dt.datetime(2026, 1, 31), None], ['"2026-01-31T00:00:00"', "null"]),
    "nanoseconds": (pa.timestamp("ns"), [MOMENT, None], ['"2026-01-31T18:00:05.250000"', "null"]),
    "zone": (
        pa.timestamp("us", "Asia/Tokyo"),
        [MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=9))), None],
        ['"2026-01-31T18:00:05.250000+09:00"', "null"],
    ),
    "time": (pa.time64("ns"), [dt.time(9, 30), None], ['"09:30:00"', "null"]),
    "duration": (pa.duration("s"), [dt.timedelta(hours=36), None], ["1.5", "null"]),
}


def table_of(name: str) -> pa.Table:
    kind, values, _ = TYPED[name]
    return pa.table({"label": ["x", "y"], name: pa.array(values, kind)})


def as_parquet(table: pa.Table) -> io.BytesIO:
    out = io.BytesIO()
    pq.write_table(table, out)
    return io.BytesIO(out.getvalue())


def as_arrow(table: pa.Table) -> io.BytesIO:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return io.BytesIO(out.getvalue())


@pytest.mark.parametrize("name", TYPED)
def test_types_of_arrow(name: str) -> None:
    expected = [f'{{"{name}":{cell}}}' for cell in TYPED[name][2]]
    assert texts(as_arrow(table_of(name))) == expected
    if name not in ("half", "view", "codes", "duration"):  # which Parquet does not know, or not as such
        assert texts(as_parquet(table_of(name))) == expected


@pytest.mark.parametrize("write", [as_parquet, as_arrow])
def test_bad_columns(write: Callable[[pa.Table], io.BytesIO]) -> None:
    with pytest.raises(DataError, match=r"the column 'a' holds list<.*>: a cell is a string, a number, a date"):
        texts(write(pa.table({"label": ["x"], "a": [[1]]})))
    with pytest.raises(DataError, match="stream, row 2: the column 'a' has -inf, which is no finite number"):
        texts(write(pa.table({"label": ["x", "x"], "a": [1.0, float("-inf")]})))
    with pytest.raises(DataError, match="stream has no column but 'label'"):
        texts(write(pa.table({"label": ["x"]})))
    with pytest.raises(DataError, match="stream: there is no column 'label', only 'a'"):
        texts(write(pa.table({"a": ["x"]})))
    far = pa.array([2**55], pa.int64()).cast(pa.timestamp("us")).cast(pa.timestamp("ms"), safe=False)
    beyond = pa.array([400_000_000_000_000_000]).cast(pa.timestamp("us"))
    assert texts(write(pa.table({"label": ["x"], "a": far})))
    with pytest.raises(DataError, match="stream, row 1: a cell cannot be read"):
        texts(write(pa.table({"label": ["x"], "a": beyond})))


def test_columns_of_arrow_with_one_name() -> None:
    twice = pa.table([pa.array(["x"]), pa.array([1]), pa.array([2])], names=["label", "a", "a"])
    with pytest.raises(DataError, match="stream: there are 2 columns 'a': keep one"):
        texts(as_arrow(twice))


def test_skipped_rows_of_arrow() -> None:
    table = pa.table({"label": ["x", "x", None], "a": [1.0, float("inf"), 2.0]})
    with read(as_arrow(table), columns=True, skip_bad=True) as reader:
        assert [text for batch in reader for text in batch["text"].to_pylist()] == ['{"a":1.0}']
        assert reader.n_skipped == 2


# --- which formats


def test_streams_are_known_by_their_first_bytes() -> None:
    expected = ['{"a":1,"b":"x y"}']
    for table in ("a,b,label\n1,x y,z\n", "a\tb\tlabel\n1\tx y\tz\n", '{"a": 1, "b": "x y", "label": "z"}\n'):
        assert texts(table) == expected
        assert texts(table, labelled=False) == expected
    columns = pa.table({"a": [1], "b": ["x y"], "label": ["z"]})
    assert texts(as_parquet(columns)) == texts(as_arrow(columns)) == expected
    assert texts("temperature\n17.5\n", labelled=False) == ['{"temperature":17.5}']


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, Path]:
    """Sources without columns."""
    (tmp_path / "folder" / "spam").mkdir(parents=True)
    (tmp_path / "folder" / "spam" / "a.txt").write_text("win")
    (tmp_path / "a.eml").write_text("Subject: a\n\nb")
    mailbox.mbox(tmp_path / "a.mbox").add("Subject: a\n\nb")
    mailbox.Maildir(tmp_path / "maildir").add("Subject: a\n\nb")
    (tmp_path / "fasttext.txt").write_text("__label__spam win\n")
    names = {"folder": "folder", "eml": "a.eml", "mbox": "a.mbox", "maildir": "maildir", "fasttext": "fasttext.txt"}
    return {format: tmp_path / name for format, name in names.items()}


@pytest.mark.parametrize("format", ["folder", "eml", "mbox", "maildir", "fasttext"])
def test_formats_without_columns(format: str, elsewhere: dict[str, Path]) -> None:
    formats = "csv, tsv, tab, xlsx, jsonl, parquet or arrow"
    expected = rf"{elsewhere[format]} \({format}\) has no columns: a table is {formats}"
    with pytest.raises(DataError, match=expected):
        texts(elsewhere[format])
    assert format not in TABLES


def test_formats_that_are_given() -> None:
    with pytest.raises(DataError, match=r"stream \(lines\) has no columns"):
        texts("a\n", format="lines")
    assert texts('a\tlabel\n"x\ty\n', format="tab") == ['{"a":"\\"x"}']


def test_all_columns_are_read() -> None:
    with pytest.raises(OptionError, match="a table is read with all of its columns: leave text out"):
        texts("a,label\n1,x\n", text="a")


def test_batches_stay_small() -> None:
    rows = "".join(f"{k},{k % 7},x\n" for k in range(5000))
    with read(io.BytesIO(f"number,remainder,label\n{rows}".encode()), columns=True, batch_bytes=1 << 16) as reader:
        batches = list(reader)
    assert sum(batch.num_rows for batch in batches) == 5000
    assert max(batch["text"].nbytes for batch in batches) < 1 << 18
    assert [line for batch in batches for line in batch["line"].to_pylist()] == list(range(2, 5002))


MANY = """
import io
from bunrui.documents import read

names = ",".join(f"c{k}" for k in range(100_000))
row = 'a"b' + ",7" * 99_999  # a lone quote: record by record
batches = list(read(io.BytesIO(f"{names}\\n{row}\\n".encode()), format="csv", columns=True, labelled=False))
assert batches[0]["text"][0].as_py().endswith(',"c99999":7}')
"""


def test_the_time_of_a_table_grows_with_its_columns_not_with_their_square() -> None:
    """These take 2 seconds; where each column is looked up among all, a quarter of an hour."""
    subprocess.run([sys.executable, "-c", MANY], check=True, timeout=PATIENCE)
