"""Plain lines, and lines with labels."""

from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.documents import lines, read
from bunrui.errors import DataError
from tests.documents.test_reader import rows


@pytest.mark.parametrize("batch_bytes", [1, 4, 1 << 20])
def test_lines(batch_bytes: int) -> None:
    data = io.BytesIO("one\r\n\n二\x0b\u2028\n last".encode())
    found = rows(data, "text", "line", format="lines", labelled=False, batch_bytes=batch_bytes)
    assert found == [("one", 1), ("", 2), ("二\x0b\u2028", 3), (" last", 4)]


class Pipe:
    """A stream whose parts come one after the other, and are wanted as they come."""

    def __init__(self, *parts: bytes) -> None:
        self.left = list(parts)

    def has_more(self) -> bool:
        return False

    def read(self, n_bytes: int) -> bytes:
        if not self.left:
            return b""
        part = self.left.pop(0)
        if part[n_bytes:]:
            self.left.insert(0, part[n_bytes:])
        return part[:n_bytes]


@pytest.mark.parametrize(
    ("parts", "known"),
    [
        ([b"one\n", b"tw", b"o\nthr", b"ee"], [("one", 1), ("two", 2), ("three", 3)]),
        ([b"\xef\xbb\xbfone\n", b"\xe4\xba", b"\x8c\n"], [("one", 1), ("\u4e8c", 2)]),
        ([b'{"text": "one"}\n', b'{"text": "two"}', b"\n"], [("one", 1), ("two", 2)]),
        ([b"text\n", b"one\n", b'"t\n', b'wo"\n', b"three"], [("one", 2), ("t\nwo", 3), ("three", 5)]),
        ([b"text\none\n", b"two\n"], [("one", 2), ("two", 3)]),
    ],
    ids=["lines", "mark", "jsonl", "csv", "csv and a row"],
)
def test_parts_that_are_read_as_they_come(parts: list[bytes], known: list[tuple[str, int]]) -> None:
    pipe = Pipe(*parts)
    found, left = [], []
    for batch in read(pipe, labelled=False):
        found += [(row["text"], row["line"]) for row in batch.to_pylist()]
        left.append(len(pipe.left))
    assert found == known == rows(io.BytesIO(b"".join(parts)), "text", "line", labelled=False)
    assert left[0] >= len(parts) - 2 and left[-1] == 0


def test_formats_that_are_no_lines_are_read_to_the_end() -> None:
    mail = b"From: a@b.c\nTo: b@c.d\nSubject: one\nDate: now\n\ntwo\n"
    for data in (mail, gzip.compress(b"one\ntwo\n"), "\u4e00\n\u4e8c\n".encode("utf-16")):
        options = {"encoding": "auto"} if data.startswith(b"\xff\xfe") else {}
        pipe = Pipe(*(data[k : k + 3] for k in range(0, len(data), 3)))
        expected = rows(io.BytesIO(data), "text", labelled=False, **options)
        assert rows(pipe, "text", labelled=False, **options) == expected


def test_a_long_record_that_comes_in_small_parts() -> None:
    """Each part is looked at a few times, not as often as there are parts."""
    part, n = b"x" * 999 + b" ", 20_000
    for begin, end in ((b"", b"\n"), (b'text\n"', b'"\n')):
        (text,) = rows(Pipe(begin, *[part] * n, end), "text", labelled=False)
        assert text[0] == (part * n).decode()


def test_lines_without_labels() -> None:
    with pytest.raises(DataError) as caught:
        rows(io.BytesIO(b"one\n"))
    assert str(caught.value) == (
        "stream has lines without labels: begin each with __label__ and its label, or give all of them one "
        "with {label: source}"
    )


@pytest.mark.parametrize("format", ["lines", "fasttext"])
def test_ids(format: str) -> None:
    with pytest.raises(DataError, match=r"^stream has lines, and lines have no ids: read it without id$"):
        rows(io.BytesIO(b"one\n"), format=format, labelled=False, id="x")


def test_bad_bytes_are_skipped() -> None:
    reader = read(io.BytesIO(b"a\n\xff\nb\n"), format="lines", labelled=False, skip_bad=True)
    assert [(row["text"], row["line"]) for batch in reader for row in batch.to_pylist()] == [("a", 1), ("b", 3)]
    assert reader.n_skipped == 1
    reader = read(io.BytesIO(b"__label__x a\n\xff\n__label__y b\n"), format="fasttext", skip_bad=True)
    assert [(row["text"], row["line"]) for batch in reader for row in batch.to_pylist()] == [("a", 1), ("b", 3)]


@pytest.mark.parametrize("batch_bytes", [1, 1 << 20])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("__label__a one two\n__label__b  three", [("a", "one two", 1), ("b", "three", 2)]),
        ("__label__a\tone two \r\n\r\n__label__b three\r\n", [("a", "one two ", 1), ("b", "three", 3)]),
        ("__label__全\u3000角 今日\u3000は\n", [("全\u3000角", "今日\u3000は", 1)]),
        ("__label__a __label__b one\n", [(["a", "b"], "one", 1)]),
        ("one __label__a two\n", [("a", "one two", 1)]),
        ("__label__a x__label__b one\n", [("a", "x__label__b one", 1)]),
        ("__label__a\n__label__b \n", [("a", "", 1), ("b", "", 2)]),
    ],
)
def test_fasttext(data: str, expected: list[object], batch_bytes: int) -> None:
    found = rows(io.BytesIO(data.encode()), "label", "text", "line", format="fasttext", batch_bytes=batch_bytes)
    assert found == expected
    without = rows(io.BytesIO(data.encode()), "text", "line", format="fasttext", labelled=False)
    assert without == [tuple(rest) for _, *rest in expected]  # type: ignore[misc]


def test_one_label_among_lists_is_a_list() -> None:
    data = b"__label__a one\n__label__b __label__c two\n"
    assert rows(io.BytesIO(data)) == [(["a"], "one"), (["b", "c"], "two")]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"one two", "there is no label: begin the line with __label__ and its label"),
        (b"__label__ one", "the label is empty: give it a name, or leave the row out"),
    ],
)
def test_bad_lines(line: bytes, what: str) -> None:
    data = b"__label__a one\n" + line + b"\n__label__b two\n"
    with pytest.raises(DataError) as caught:
        rows(io.BytesIO(data), format="fasttext")
    assert str(caught.value) == f"stream, line 2: {what}"
    reader = read(io.BytesIO(data), format="fasttext", skip_bad=True)
    assert [row["line"] for batch in reader for row in batch.to_pylist()] == [1, 3]
    assert reader.skipped == [str(caught.value)]


@given(st.lists(st.sampled_from([*"ab \t\n\r\0é", "__label__", "\n__label__a "])), st.integers(1, 50))
def test_both_ways_agree(parts: list[str], batch_bytes: int) -> None:
    data = "".join(parts).encode() + b"\n"

    def everything(batch_bytes: int) -> object:
        reader = read(io.BytesIO(data), format="fasttext", skip_bad=True, batch_bytes=batch_bytes)
        found = [(row["line"], row["text"], row["label"]) for batch in reader for row in batch.to_pylist()]
        return [(n, t, c if isinstance(c, list) else [c]) for n, t, c in found], reader.skipped

    quick = everything(batch_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_quick_fasttext", lambda *_: None)
        assert everything(1 << 20) == quick
