"""CSV and TSV: quotes, line breaks, line numbers, and the same answer the quick way and the slow way."""

from __future__ import annotations

import contextlib
import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.documents import delimited, read
from bunrui.errors import DataError, EncodingError
from bunrui.phrases import unfit
from tests.documents.test_reader import rows


def message(data: bytes, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        rows(io.BytesIO(data), **{"format": "csv"} | options)
    return str(caught.value)


@pytest.mark.parametrize("batch_bytes", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"text,label\na,x\nb,y\n", [("a", "x", 2), ("b", "y", 3)]),
        (b"text,label\r\na,x\r\nb,y", [("a", "x", 2), ("b", "y", 3)]),
        (b"\xef\xbb\xbftext,label\na,x", [("a", "x", 2)]),
        (b'"text","label"\n"a\nb\n",x\n\n"c""d,",y\n', [("a\nb\n", "x", 2), ('c"d,', "y", 6)]),
        (b'\r\n\ntext,label\r\n\r\n"a\r\n\r\n",x\r\n\r\nb,y\r\n', [("a\r\n\r\n", "x", 5), ("b", "y", 9)]),
        (b'text,label\n5" disk,x\n say "hi",y\n"q",z\n', [('5" disk', "x", 2), (' say "hi"', "y", 3), ("q", "z", 4)]),
        (b'text,label\n"5"" disk\n",x\n 7" disk,y\n', [('5" disk\n', "x", 2), (' 7" disk', "y", 4)]),
        (b'text,label\n"",x\n,y\n', [("", "x", 2), ("", "y", 3)]),
        (b"text,label\na\0b,x\n", [("a\0b", "x", 2)]),
        (b"text,label\na\rb,x\n", [("a\rb", "x", 2)]),
        (b'text,label\n"a\rb",x\n', [("a\rb", "x", 2)]),
        (b"text,label\nNULL,NA\nnan,null\n", [("NULL", "NA", 2), ("nan", "null", 3)]),
        (b"label,n,text\n01,,1.50\n", [("1.50", "01", 2)]),
    ],
)
def test_records(data: bytes, expected: Any, batch_bytes: int) -> None:
    assert rows(io.BytesIO(data), "text", "label", "line", format="csv", batch_bytes=batch_bytes) == expected
    tabs = data.replace(b",", b"\t")
    expected = [(text.replace(",", "\t"), *rest) for text, *rest in expected]
    assert rows(io.BytesIO(tabs), "text", "label", "line", format="tsv", batch_bytes=batch_bytes) == expected


def test_one_column() -> None:
    data = b'text\none\n\n""\n\r\n"two"\n'
    assert rows(io.BytesIO(data), "text", "line", format="csv", labelled=False) == [("one", 2), ("", 4), ("two", 6)]


def test_tabs_without_quotes() -> None:
    data = b'text\tlabel\n"never closed\tx\n"a"b\ty\r\n'
    assert rows(io.BytesIO(data), "text", "label", format="tab") == [('"never closed', "x"), ('"a"b', "y")]
    expected = "stream, line 2: 2 columns expected ('text', 'label'), 3 found: take tabs out of the text"
    assert message(b"text\tlabel\na\tb\tc\n", format="tab") == expected


def test_record_of_any_length() -> None:
    text = 'line "" of text,\n' * 500_000  # 8.5 MB in one record
    data = f'text,label\na,x\n"{text}",y\nc,z\n'.encode()
    found = rows(io.BytesIO(data), "text", "line", format="csv", batch_bytes=1000)
    assert [(len(t), line) for t, line in found] == [(1, 2), (len(text) - 500_000, 3), (1, 500_004)]


# --- errors


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (
            b"a",
            "2 columns expected ('text', 'label'), 1 found: put quotes around text with commas or line breaks in it",
        ),
        (
            b"a,b,c",
            "2 columns expected ('text', 'label'), 3 found: put quotes around text with commas or line breaks in it",
        ),
        (b"a,", "the label is empty: give it a name, or leave the row out"),
        (b'a,""', "the label is empty: give it a name, or leave the row out"),
        (b'"a"b,c', 'a field goes on after its closing quote: write quotes inside it twice ("")'),
        (b"a,b\0", "the label 'b\\x00' has a NUL: give it another name"),
    ],
)
def test_bad_records(record: bytes, what: str) -> None:
    data = b'text,label\n"two\nlines",x\n\n' + record + b"\n"
    assert message(data) == f"stream, line 5: {what}"
    reader = read(io.BytesIO(data + b'"s""t",y\n'), format="csv", skip_bad=True)
    assert [row["line"] for batch in reader for row in batch.to_pylist()] == [2, 6]
    assert reader.skipped == [f"stream, line 5: {what}"]


def test_quote_that_is_never_closed() -> None:
    data = b'text,label\na,x\n"b,y\nc,z\n'
    what = 'a field begins with a quote that is never closed: close it, or write quotes inside text twice ("")'
    for batch_bytes in (1, 1 << 20):
        assert message(data, batch_bytes=batch_bytes) == f"stream, line 3: {what}"
    reader = read(io.BytesIO(data), format="csv", skip_bad=True)
    assert [row["line"] for batch in reader for row in batch.to_pylist()] == [2, 4]
    assert message(b'\n"text,label\n') == f"stream, line 2: {what}"


def test_record_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.documents.lines.MAX_RECORD", 1 << 20)
    data = b'text,label\na,x\n"b,y\n' + b"c,z\n" * 1_000_000
    assert message(data, batch_bytes=1000) == (
        "stream, line 3: the row that begins here is longer than 1 MB and has no end: "
        "is a quote not closed, or is this another format?"
    )


@pytest.mark.parametrize(
    ("header", "what"),
    [
        (
            b"id,body,category",
            ": there is no column 'text' and no column 'label', only 'id', 'body', 'category': "
            "choose others with text= and label=. If the first line is a row, put a line such as text,label above it",
        ),
        (b"label,body", ": there is no column 'text', only 'label', 'body': choose another with text="),
        (
            b"id,text,category",
            ": there is no column 'label', only 'id', 'text', 'category': choose another with label=",
        ),
        (b"text,label,text", ": there are 2 columns 'text': keep one"),
        (
            b"text\tlabel",
            ": there is no column 'text' and no column 'label', only 'text\\tlabel': "
            "choose others with text= and label=. "
            "The header has tabs: is it format='tsv'?",
        ),
        (
            b"text;label",
            ": there is no column 'text' and no column 'label', only 'text;label': "
            "choose others with text= and label=. "
            "The header has semicolons (;): write the file with commas",
        ),
        (
            b"\n \r",
            ": there is no column 'text' and no column 'label', only ' ': choose others with text= and label=. "
            "If the first line is a row, put a line such as text,label above it",
        ),
    ],
)
def test_headers(header: bytes, what: str) -> None:
    assert message(header + b"\nx,y,z") == f"stream{what}"


def test_header_of_many_columns() -> None:
    header = ",".join(f"c{n}" for n in range(100))
    assert "'c18', 'c19' and 80 more: choose others with text= and label=" in message(header.encode())
    assert message(b"text,label", format="tsv").endswith("The header has commas: is it format='csv'?")
    assert message(b"\n\r\n", format="csv") == "stream: there are empty lines only: a header and rows were expected"


def test_header_alone() -> None:
    assert rows(io.BytesIO(b"text,label\n"), format="csv") == []


def test_invalid_utf8() -> None:
    data = b"text,label\n" + "「上海的天气很好，我们去公园」,x\n".encode("gb18030") + b"b,y\n"
    with pytest.raises(EncodingError) as caught:
        rows(io.BytesIO(data), format="csv")
    assert str(caught.value).startswith(
        "stream, line 2: the bytes a1 b8 c9 cf are not valid utf-8. Try encoding='gb18030'"
    )
    reader = read(io.BytesIO(data), format="csv", skip_bad=True)
    assert [row["text"] for batch in reader for row in batch.to_pylist()] == ["b"]
    assert reader.n_skipped == 1
    data = b"text,label\n\x81\xff,x\nb,y\n"
    with pytest.raises(EncodingError, match=r"^stream, line 2: the bytes 81 ff 2c 78 are not valid cp932\. "):
        rows(io.BytesIO(data), format="csv", encoding="cp932")
    reader = read(io.BytesIO(data), format="csv", encoding="cp932", skip_bad=True)
    assert [row["text"] for batch in reader for row in batch.to_pylist()] == ["b"]
    assert reader.skipped == ["stream, line 2: some bytes are not valid cp932"]


# --- both ways

FIELD = st.text(st.sampled_from('ab,"\n\r\t é漢'), max_size=8) | st.text(max_size=5)


@given(
    st.lists(st.tuples(FIELD, FIELD.filter(lambda name: unfit(name) is None), FIELD)),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 99),
)
def test_round_trip(records: list[tuple[str, str, str]], end: str, batch_bytes: int) -> None:
    records = [tuple(f.encode("utf-8", "replace").decode() for f in record) for record in records]  # type: ignore[misc]
    records = [record for record in records if "\0" not in record[1]]
    for delimiter, format in ((",", "csv"), ("\t", "tsv")):
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
        writer.writerows([("text", "label", "n"), *records])
        data = io.BytesIO(out.getvalue().encode())
        found = rows(data, "text", "label", "id", format=format, batch_bytes=batch_bytes)
        assert found == [(text, label, None) for text, label, _ in records]


@given(st.text(st.sampled_from('abc,,""\n\n\r'), max_size=40), st.integers(1, 60), st.booleans())
def test_both_ways_agree(text: str, batch_bytes: int, quotes: bool) -> None:
    delimiter = "," if quotes else "\t"
    data = f"text{delimiter}label\n{text.replace(',', delimiter)}".encode()

    def everything(batch_bytes: int) -> Any:
        reader = read(io.BytesIO(data), format="csv" if quotes else "tab", skip_bad=True, batch_bytes=batch_bytes)
        found = [(row["line"], row["text"], row["label"]) for batch in reader for row in batch.to_pylist()]
        return found, reader.skipped

    quick = everything(batch_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited._Table, "parse", lambda *_: None)
        assert everything(1 << 20) == quick


@given(st.text(st.sampled_from('ab,"\n'), max_size=30))
def test_agrees_with_the_standard_library(text: str) -> None:
    """Where that is strict and finds nothing wrong."""
    try:
        expected = [record for record in csv.reader(io.StringIO(text + "\n", newline=""), strict=True) if record]
    except csv.Error:
        return
    found = [[field.decode() for field in r.fields] for r in delimited.split_records(text.encode() + b"\n", b",")]
    assert [record for record in found if record != [""]] == [record for record in expected if record != [""]]


# --- the first line


HEADLESS = b"cheap pills,spam\nlunch at noon,ham\nwin money,spam\n"


@pytest.mark.parametrize("batch_bytes", [1, 1 << 20])
def test_without_a_header_no_row_is_lost(batch_bytes: int) -> None:
    options = {"format": "csv", "text": "1", "label": "2", "header": False, "batch_bytes": batch_bytes}
    found = rows(io.BytesIO(b"\n" + HEADLESS), "text", "label", "line", **options)
    assert found == [("cheap pills", "spam", 2), ("lunch at noon", "ham", 3), ("win money", "spam", 4)]
    assert "there is no column '3', only '1', '2'" in message(HEADLESS, header=False, text="1", label="3")


@pytest.mark.parametrize(
    ("data", "is_doubtful"),
    [
        (HEADLESS, True),
        (b"spam\tcheap pills\nham\tlunch\nspam\twin\n", True),
        (b"a,x\n" + b"b,y\n" * 200 + b"c,x\n", False),  # too far below
        (b'"a text\nof two lines",x\nb,y\n', True),
        (b"word " * 50 + b",x\nb,y\n", True),
        (b"subject,folder\nlunch,ham\nnoon,ham\n", False),
        (b"subject,folder\nlunch,ham\nsubject,folder\nnoon,ham\n", False),  # put together from two files
        (b",folder\n,ham\n", False),
        (b'Hey\n"a"b\nc\n', False),  # the second record has no fields
    ],
)
def test_a_first_line_that_looks_like_a_row_is_told(data: bytes, is_doubtful: bool) -> None:
    format = "tsv" if b"\t" in data else "csv"
    reader = read(io.BytesIO(data), format=format, labelled=False, columns=True, skip_bad=True)
    with contextlib.suppress(DataError):
        list(reader)
    assert reader.doubtful_headers == (["stream"] if is_doubtful else [])


def test_the_error_says_that_the_names_look_like_a_row() -> None:
    assert message(HEADLESS).endswith("looks like a row: put a line such as text,label above it")
    assert "looks like a row" not in message(b"subject,folder\nlunch,ham\n")
