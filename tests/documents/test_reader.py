"""`read`: sources, batches of bounded size, counters, closing, errors about files; and what all formats do alike."""

from __future__ import annotations

import bz2
import csv
import gc
import gzip
import io
import json
import lzma
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bunrui.documents import FORMATS, Reader, read
from bunrui.documents.spreadsheet import SheetWriter
from bunrui.errors import DataError, LabelError, OptionError

ROWS = [
    ("ニュース", "今日は良い天気です"),
    ("sport", 'He said "go", twice'),
    ("新闻", "今天天气很好"),
    ("7", "plain words here"),
]


def rows(sources: Any, *columns: str, **options: Any) -> list[tuple[Any, ...]]:
    """All rows of some sources, the label and the text of each."""
    names = list(columns or ("label", "text"))
    with read(sources, **options) as reader:
        return [tuple(row[name] for name in names) for batch in reader for row in batch.to_pylist()]


def as_csv(delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["label", "text"])
    writer.writerows(ROWS)
    return out.getvalue()


TEXTS: dict[str, Callable[[], str]] = {
    "csv": as_csv,
    "tsv": lambda: as_csv("\t"),
    "jsonl": lambda: "".join(json.dumps({"label": c, "text": t}, ensure_ascii=False) + "\n" for c, t in ROWS),
    "txt": lambda: "".join(f"__label__{c} {t}\n" for c, t in ROWS),
}


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return bytes(out.getvalue())


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data[:20]) + gzip.compress(data[20:]),  # two members are one file
    ".bz2": lambda data: bz2.compress(data[:20]) + bz2.compress(data[20:]),
    ".xz": lambda data: lzma.compress(data[:20]) + lzma.compress(data[20:]),
    ".zst": lambda data: zstd(data[:20]) + zstd(data[20:]),
}


# --- the same rows from all of them


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("batch_bytes", [1, 100, 1 << 20])
def test_round_trip(tmp_path: Path, suffix: str, compression: str, batch_bytes: int) -> None:
    path = tmp_path / f"a.{suffix}{compression}"
    path.write_bytes(COMPRESS[compression](TEXTS[suffix]().encode()))
    reader = read(path, batch_bytes=batch_bytes)
    assert [(r["label"], r["text"]) for batch in reader for r in batch.to_pylist()] == ROWS
    assert reader.bytes_read == reader.bytes_total == path.stat().st_size
    assert reader.bytes_unpacked == len(TEXTS[suffix]().encode())


@pytest.mark.parametrize("encoding", ["cp932", "gb18030", "utf-16", "utf-8-sig", "euc-jp", "iso2022_jp_2"])
@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("batch_bytes", [1, 3, 1 << 20])
def test_encodings_give_the_same_batches(tmp_path: Path, suffix: str, encoding: str, batch_bytes: int) -> None:
    text = TEXTS[suffix]().replace("气", "気").replace("闻", "聞")  # what all of them have
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(text.encode())
    plain = pa.Table.from_batches(read(path))
    path.write_bytes(text.encode(encoding))
    other = pa.Table.from_batches(read(path, encoding=encoding, batch_bytes=batch_bytes))
    assert other.combine_chunks().equals(plain.combine_chunks())


def test_schema() -> None:
    (batch,) = read(io.BytesIO(TEXTS["csv"]().encode()))
    source = pa.dictionary(pa.int32(), pa.string())
    assert batch.schema == pa.schema(
        {"label": pa.string(), "text": pa.string(), "id": pa.string(), "source": source, "line": pa.int64()}
    )
    assert batch["source"].to_pylist() == ["stream"] * 4 and batch["line"].to_pylist() == [2, 3, 4, 5]
    (batch,) = read(io.BytesIO(TEXTS["csv"]().encode()), labelled=False)
    assert batch.schema.names == ["text", "id", "source", "line"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_columns_are_chosen(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    row = {"n": "4", "title": "One", "body": "Two\nThree", "topic": "x"}
    if suffix == "jsonl":
        path.write_text(json.dumps(row | {"n": 4}) + "\n")
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row), delimiter="," if suffix == "csv" else "\t")
            writer.writeheader()
            writer.writerow(row)
    options: dict[str, Any] = {"text": ["title", "body"], "label": "topic", "id": "n"}
    assert rows(path, "label", "text", "id", **options) == [("x", "One\nTwo\nThree", "4")]
    assert rows(path, "label", "text", **options | {"text": "body"}) == [("x", "Two\nThree")]
    assert rows(path, "text", text=("body", "title"), labelled=False) == [("Two\nThree\nOne",)]
    assert rows(path, "label", "text", text="body", label="body") == [("Two\nThree", "Two\nThree")]


# --- sources


def test_sources_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\none,x\n")
    (tmp_path / "b.jsonl").write_text('{"text": ["t", "u"], "label": ["y", "z"]}\n')
    reader = read([tmp_path / "a.csv", str(tmp_path / "b.jsonl")])
    assert [(batch["label"].to_pylist(), batch["text"].to_pylist()) for batch in reader] == [
        (["x"], ["one"]),
        ([["y", "z"]], [["t", "u"]]),
    ]
    assert reader.bytes_read == reader.bytes_total == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_mapping_gives_labels(tmp_path: Path) -> None:
    (tmp_path / "pos.txt").write_text("good\nfine\n")
    (tmp_path / "neg.txt").write_text("bad\n")
    (tmp_path / "more.csv").write_text("text,label\nawful,?\n")
    sources = {"+": tmp_path / "pos.txt", "-": [tmp_path / "neg.txt", tmp_path / "more.csv"]}
    assert rows(sources) == [("+", "good"), ("+", "fine"), ("-", "bad"), ("-", "awful")]
    assert rows(sources, "text", labelled=False) == [("good",), ("fine",), ("bad",), ("awful",)]
    with pytest.raises(
        LabelError, match=r"^a label of the sources is 3.5: give a string that is not empty, or an integer$"
    ):
        read({3.5: tmp_path / "pos.txt"})


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("data", "options", "expected"),
    [
        (b'\n {"text": "t", "label": "x"}\n', {}, [("x", "t")]),
        (b"__label__x t\n", {}, [("x", "t")]),
        (b"label,text\r\nx,t\r\n", {}, [("x", "t")]),
        (b'\xef\xbb\xbf"label","text"\nx,t\n', {}, [("x", "t")]),
        (b"text\tlabel\tother\nt\tx\t1\n", {}, [("x", "t")]),
        (b"a\tb\nt\tx\n", {"text": "a", "label": "b"}, [("x", "t")]),
        (gzip.compress(b"__label__x t", mtime=0), {}, [("x", "t")]),
        (zstd(b"__label__x t"), {}, [("x", "t")]),
        ("label,text\nx,今日\n".encode("cp932"), {"encoding": "cp932"}, [("x", "今日")]),
        (b"label\ttext\nx\t\"t\n", {"format": "tab"}, [("x", '"t')]),
        (b"From a@b Mon Jan  1 00:00:00 2024\nSubject: t\n\n", {"labelled": False}, [(None, "t\n\n")]),
        (b'__l\rabel__x "t\nmore', {"labelled": False}, [(None, '__l\rabel__x "t'), (None, "more")]),
        (b"just\nmore, text\n\nend", {"labelled": False}, [(None, t) for t in ("just", "more, text", "", "end")]),
    ],
)  # fmt: skip
def test_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes, options: dict[str, Any], expected: Any) -> None:
    stdin = Stdin(data)
    monkeypatch.setattr(sys, "stdin", stdin)
    reader = read("-", **options)
    found = [(row.get("label"), row["text"]) for batch in reader for row in batch.to_pylist()]
    assert found == expected
    assert reader.bytes_total is None and reader.bytes_read == len(data)
    assert not stdin.buffer.closed
    with pytest.raises(DataError, match=r"^<stdin> was read before, and a stream can be read only once$"):
        list(reader)


@pytest.mark.parametrize("write", ["parquet", "file", "stream"])
def test_stdin_of_tables(monkeypatch: pytest.MonkeyPatch, write: str) -> None:
    table = pa.table({"text": ["t"], "label": [1]})
    out = io.BytesIO()
    if write == "parquet":
        pq.write_table(table, out)
    else:
        with (pa.ipc.new_file if write == "file" else pa.ipc.new_stream)(out, table.schema) as writer:
            writer.write_table(table)
    monkeypatch.setattr(sys, "stdin", Stdin(out.getvalue()))
    assert rows("-") == [("1", "t")]


def test_pipe(tmp_path: Path) -> None:
    end, start = os.pipe()
    with open(end, "rb") as file:
        with open(start, "wb") as out:
            out.write(b"text,label\na,b\n")
        assert rows(file) == [("b", "a")]
        assert not file.closed


# --- batches, counters, closing


def big(path: Path, n_rows: int = 4000) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for n in range(n_rows):
            file.write(json.dumps({"label": str(n % 7), "text": f"{n} " + "字" * (n % 300)}, ensure_ascii=False) + "\n")
    return path


def test_batches_are_bounded(tmp_path: Path) -> None:
    path = big(tmp_path / "a.jsonl")
    reader = read(path, batch_bytes=50_000)
    sizes, seen = [], []
    for batch in reader:
        sizes.append(batch["text"].nbytes)
        seen.append(reader.bytes_read)
    assert len(sizes) > 30 and max(sizes) <= 60_000
    assert seen == sorted(seen) and seen[0] < 200_000 and seen[-1] == path.stat().st_size


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_memory_does_not_follow_the_file(tmp_path: Path, compression: str) -> None:
    line = json.dumps({"label": "x", "text": "word " * 200}).encode() + b"\n"
    path = tmp_path / f"a.jsonl{compression}"
    path.write_bytes(COMPRESS[compression](line * 30_000))  # 31 MB
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    most = n_rows = 0
    for batch in read(path, batch_bytes=1 << 18):
        most = max(most, pa.total_allocated_bytes() - before)
        n_rows += batch.num_rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_rows == 30_000
    assert most < 4 << 20 and peak < 8 << 20


def open_files() -> set[str]:
    return {
        os.readlink(f"/proc/self/fd/{fd}")
        for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}")
    }


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("compression", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_files_are_closed(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"a.jsonl{compression}"
    path.write_bytes(COMPRESS[compression](big(tmp_path / "b.jsonl").read_bytes()))
    with read(path, batch_bytes=1000) as reader:
        batches = iter(reader)
        next(batches)
        assert str(path) in open_files()
    assert str(path) not in open_files()
    assert list(batches) == []
    for _ in read(path, batch_bytes=1000):
        break
    gc.collect()
    assert str(path) not in open_files()
    reader = read(path)
    assert sum(batch.num_rows for batch in reader) == 4000
    assert str(path) not in open_files()


def test_passes_begin_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,x\nb\n")
    reader = read(path, skip_bad=True)
    for _ in range(2):
        assert [batch["text"].to_pylist() for batch in reader] == [["a"]]
        assert reader.n_skipped == 1 and len(reader.skipped) == 1


def test_messages_about_skipped_rows_are_few(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "a\n" * 50 + "a,x\n")
    reader = read(path, skip_bad=True)
    assert [batch["text"].to_pylist() for batch in reader] == [["a"]]
    assert reader.n_skipped == 50 and len(reader.skipped) == 20
    assert reader.skipped[19].startswith(f"{path}, line 21: 2 columns expected ('text', 'label'), 1 found")


@pytest.mark.parametrize(
    ("record", "options", "most"),
    [(b"a,x\n", {"label_type": int}, 500), (b"a, ; \n", {"separator": ";"}, 500), (b"a\n", {}, 150)],
)
def test_bad_rows_take_little_memory(record: bytes, options: dict[str, Any], most: int) -> None:
    def n_skipped(n_bad: int) -> int:
        data = io.BytesIO(b"text,label\n" + record * n_bad + b"a,1\n")
        reader = read(data, format="csv", skip_bad=True, batch_bytes=1 << 20, **options)
        assert sum(batch.num_rows for batch in reader) == 1
        return reader.n_skipped

    n_skipped(1)  # imports take memory, too
    tracemalloc.start()
    assert n_skipped(50_000) == 50_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000 * most


# --- errors about files


def test_missing_file() -> None:
    with pytest.raises(DataError) as caught:
        read("nowhere.csv")
    assert str(caught.value) == "there is no file 'nowhere.csv': check the path"


def test_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, format="csv")
    assert str(caught.value) == f"{tmp_path} is a folder, and csv is read from files: give the files in it"


def test_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a", format="folder")
    assert str(caught.value) == f"{tmp_path}/a is a file, and format 'folder' is read from a folder: give the folder"
    with pytest.raises(DataError) as caught:
        read(tmp_path, format="maildir")
    assert str(caught.value) == f"{tmp_path} is no Maildir: it has no folders cur and new"


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow", "a.txt", "a.mbox", "a.eml", "a.csv.gz"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"", mtime=0) if name.endswith("gz") else b"")
    with pytest.raises(DataError) as caught:
        list(read(path))
    assert str(caught.value) == f"{path}: the file is empty: give one with documents"


@pytest.mark.parametrize(
    ("head", "n_docs"),
    [
        (b"text,label\na,x\nb,y\n", 2),
        (b'{"text": "a", "label": "x"}\n', 1),
        (b"__label__x a\n__label__y b\n", 2),
        (b"From me@example.org Mon Jan  1 00:00:00 2026\nSubject: a\n\nb\n", 1),
    ],
)
@pytest.mark.parametrize("name", ["a", "a.gz", ".csv"])
def test_files_without_a_suffix_are_known_by_their_first_bytes(
    tmp_path: Path, name: str, head: bytes, n_docs: int
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(head) if name.endswith(".gz") else head)
    sources = {"x": path} if head.startswith(b"From") else path
    assert sum(batch.num_rows for batch in read(sources)) == n_docs


@pytest.mark.parametrize("name", ["a.dat", "a.b.dat"])
def test_unknown_suffix(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"x")
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == (
        f"the name '{path}' does not tell the format: give format=, one of csv, tsv, tab, xlsx, jsonl, parquet, arrow, "
        "fasttext, lines, eml, mbox"
    )


@pytest.mark.parametrize("name", ["all.xlsb", "all.XLS", "all.ods"])
def test_other_spreadsheets(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK\3\4")
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == f"the spreadsheet '{path}' cannot be read: save it as .xlsx, or as CSV (UTF-8), first"


def test_nothing_to_read() -> None:
    with pytest.raises(DataError, match=r"^there is nothing to read: give at least one file$"):
        read([])
    with pytest.raises(DataError, match=r"^a source is a path, '-' or a binary stream, not int$"):
        read([3])
    with pytest.raises(DataError, match=r"^the standard input \(-\) can be read only once: give it once$"):
        read(["-", "-"])


def test_text_stream() -> None:
    with pytest.raises(DataError, match=r"^a stream gives str, not bytes: open it in binary mode$"):
        list(read(io.StringIO("text,label\n")))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read all files")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n")
    path.chmod(0)
    with pytest.raises(DataError) as caught:
        list(read(path))
    assert str(caught.value) == f"{path}: you may not read or write this: check its permissions and those of its folder"


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "plain"])
def test_damaged_compression(tmp_path: Path, compression: str, damage: str) -> None:
    path = tmp_path / f"a.csv{compression}"
    data = os.urandom(300_000).hex().encode()
    path.write_bytes(COMPRESS[compression](data)[:100_000] if damage == "cut" else b"text,label\na,b\n" * 9)
    with pytest.raises(DataError) as caught:
        list(read(path))
    assert str(caught.value).startswith((f"{path}: this is damaged or cut short", f"{path}: this cannot be read"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xml"}, f"there is no format 'xml': choose one of {', '.join(FORMATS)}"),
        ({"text": []}, "text names no column: give at least one"),
        ({"batch_bytes": 0}, "batch_bytes should be at least 1, not 0"),
        (
            {"encoding": "klingon"},
            "there is no text encoding 'klingon': try utf-8, cp932, euc-jp, gb18030, big5, cp949, cp1252 or auto",
        ),
        (
            {"encoding": "idna"},
            "there is no text encoding 'idna': try utf-8, cp932, euc-jp, gb18030, big5, cp949, cp1252 or auto",
        ),
        (
            {"encoding": "rot13"},
            "there is no text encoding 'rot13': try utf-8, cp932, euc-jp, gb18030, big5, cp949, cp1252 or auto",
        ),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        read(io.BytesIO(b"x"), **options)
    assert str(caught.value) == message


def test_reader_is_iterable() -> None:
    reader = read(io.BytesIO(b"__label__a b\n"))
    assert isinstance(reader, Reader)
    batches: Iterator[pa.RecordBatch] = iter(reader)
    assert next(batches).num_rows == 1
    reader.close()
    reader.close()


MAIL = b"""Received: from a
\tby b
From: me@example.org
Subject: free pills
Date: Mon, 1 Jan 2026 00:00:00 +0000

for you
"""


@pytest.mark.parametrize("data", [MAIL, MAIL.replace(b"\n", b"\r\n")])
def test_a_mail_is_known_by_its_headers(data: bytes) -> None:
    (batch,) = read(io.BytesIO(data), labelled=False)
    (text,) = batch["text"].to_pylist()
    assert "free pills" in text and "for you" in text


@pytest.mark.parametrize(
    "data",
    [
        b"Subject: hello\nhow are you\n",
        b"note: one\nnote: two\nnote: three\n\nfour\n",
        b"From: me\nSubject: no empty line\nDate: today\nbody\n",
        b"Question: what?\nAnswer: that\n\n",
    ],
)
def test_lines_with_colons_are_lines(data: bytes) -> None:
    (batch,) = read(io.BytesIO(data), labelled=False)
    assert batch.num_rows > 1


def test_labels_with_a_separator() -> None:
    lines = b"label,text\na; b,one\nc,two\n b ;;,three\n"
    batch = next(iter(read(io.BytesIO(lines), separator=";")))
    assert batch["label"].to_pylist() == [["a", "b"], ["c"], ["b"]]
    both = b'{"label": ["a", "b"], "text": "one"}\n{"label": "c|d", "text": "two"}\n'
    with pytest.raises(DataError):
        list(read(io.BytesIO(b"label,text\na,one\n ; ,two\n"), separator=";"))
    reader = read(io.BytesIO(b"label,text\na,one\n ; ,two\nb;c,three\n"), separator=";", skip_bad=True)
    assert [batch["label"].to_pylist() for batch in reader] == [[["a"], ["b", "c"]]]
    assert reader.skipped == ["stream, line 3: there is no label between the separators ';': give one"]
    mixed = next(iter(read(io.BytesIO(both), separator="|")))
    assert mixed["label"].to_pylist() == [["a", "b"], ["c", "d"]]
    fasttext = next(iter(read(io.BytesIO(b"__label__a;b one two\n"), format="fasttext", separator=";")))
    assert fasttext["label"].to_pylist() == [["a", "b"]]
    for bad in ("", " "):
        with pytest.raises(OptionError, match="separator"):
            read(io.BytesIO(lines), separator=bad)


def test_whole_rows(tmp_path: Path) -> None:
    """Also where a row is bad, a name comes twice, and a quote makes the reader go row by row."""
    rows = {
        "a.csv": (b'n,text,n\n1,one,x\n2,two\n3,thr"ee,y\n', [("1", "one", "x"), ("3", 'thr"ee', "y")]),
        "a.tsv": (b"n\ttext\tn\n1\tone\tx\n", [("1", "one", "x")]),
    }
    for name, (data, expected) in rows.items():
        (tmp_path / name).write_bytes(data)
        (batch,) = read(tmp_path / name, labelled=False, rows=True, skip_bad=True)
        assert [tuple(row.values()) for row in batch["row"].to_pylist()] == expected
        assert batch["row"].type.names == ["n", "text", "n (2)"]
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "one", "n": [1]}\n\nbad\n{"n": 2, "text": "\xe4\xba\x8c"}\n')
    (batch,) = read(tmp_path / "a.jsonl", labelled=False, rows=True, skip_bad=True)
    assert batch["row"].to_pylist() == ['{"text": "one", "n": [1]}', '{"n": 2, "text": "二"}']
    table = pa.table({"n": [[1], [2], None], "text": ["one", None, "three"], "day": pa.array([1, 2, 3], pa.date32())})
    pq.write_table(table, tmp_path / "a.parquet")
    (batch,) = read(tmp_path / "a.parquet", labelled=False, rows=True, skip_bad=True)
    assert pa.Table.from_struct_array(batch["row"]) == table.take([0, 2])
    with open(tmp_path / "a.xlsx", "wb") as sink:
        writer = SheetWriter(sink, table.schema)
        writer.write_table(table)
        writer.close()
    (batch,) = read(tmp_path / "a.xlsx", labelled=False, rows=True, batch_bytes=1 << 20)
    assert batch["row"].to_pylist()[1:] == [
        {"n": "[2]", "text": "", "day": "1970-01-03"},
        {"n": "", "text": "three", "day": "1970-01-04"},
    ]


# --- the type of labels


def json_lines(*labels: object) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps({"label": label, "text": "a"}) + "\n" for label in labels).encode())


def parquet(labels: pa.Array) -> io.BytesIO:
    out = io.BytesIO()
    pq.write_table(pa.table({"label": labels, "text": ["a"] * len(labels)}), out)
    return io.BytesIO(out.getvalue())


CSV = b"text,label\na,10\nb,-1\n"


@pytest.mark.parametrize(
    ("source", "label_type", "expected"),
    [
        (json_lines(10, -1), str, ["10", "-1"]),
        (json_lines(10, -1), None, [10, -1]),
        (json_lines(True, False), None, [True, False]),
        (json_lines([1, 2], [3], 4), None, [[1, 2], [3], [4]]),
        (json_lines(1, "2"), None, [1, 2]),
        (json_lines("spam", 1, True), None, ["spam", "1", "true"]),
        (json_lines(1 << 70, 1), None, [str(1 << 70), "1"]),
        (parquet(pa.array([10, -1], pa.int8())), None, [10, -1]),
        (parquet(pa.array([[1], [2, 3]])), None, [[1], [2, 3]]),
        (parquet(pa.array(["b", "a"]).dictionary_encode()), None, ["b", "a"]),
        (io.BytesIO(CSV), None, ["10", "-1"]),
        (io.BytesIO(CSV), int, [10, -1]),
        (io.BytesIO(b"text,label\na,TRUE\nb,false\n"), bool, [True, False]),
        ({1: io.BytesIO(b"one\n"), 2: io.BytesIO(b"two\n")}, None, [1, 2]),
        ({"1": io.BytesIO(b"one\n")}, int, [1]),
        ([json_lines(3), io.BytesIO(CSV)], None, [3, 10, -1]),  # the first document of all decides
    ],
)
def test_labels_get_one_type(source: Any, label_type: type | None, expected: list[Any]) -> None:
    found = [label for batch in read(source, label_type=label_type) for label in batch["label"].to_pylist()]
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    ("source", "label_type", "line", "said"),
    [
        (json_lines(1, "spam", 2), None, 2, "the label 'spam' is no integer, and the other labels are integers"),
        (json_lines(1, [2, "x"], 2), None, 2, "the label 'x' is no integer"),
        (json_lines(1, 1 << 64, 2), None, 2, "the label 18446744073709551616 has more than 64 bits"),
        (json_lines(True, 1, False), None, 2, "the label '1' is no boolean, and the other labels are booleans"),
        (io.BytesIO(b"text,label\na,1\nb,007\nc,2\n"), int, 3, "the label '007' is no integer"),
    ],
)
def test_labels_of_another_type_are_bad_rows(source: Any, label_type: type | None, line: int, said: str) -> None:
    data = source.getvalue()
    with pytest.raises(DataError, match=f"line {line}: {said}"):
        list(read(source, label_type=label_type))
    reader = read(io.BytesIO(data), label_type=label_type, skip_bad=True)
    assert sum(batch.num_rows for batch in reader) == 2 and len(reader.skipped) == 1


def test_the_type_of_labels_is_one_of_three() -> None:
    with pytest.raises(OptionError, match="label_type"):
        read(io.BytesIO(CSV), label_type=float)
