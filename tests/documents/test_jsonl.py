"""JSON lines: what a line may hold, what it may not, and the same answer the quick way and the slow way."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.documents import read
from bunrui.errors import DataError, EncodingError
from bunrui.phrases import unfit
from tests.documents.test_reader import rows


def lines(*values: Any) -> io.BytesIO:
    return io.BytesIO(b"".join(v if isinstance(v, bytes) else json.dumps(v).encode() for v in values))


def message(data: bytes, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        rows(io.BytesIO(data), format="jsonl", **options)
    return str(caught.value)


# --- what a line may hold


@pytest.mark.parametrize(
    ("label", "found"),
    [("x", "x"), (3, "3"), (-7, "-7"), (1.50, "1.5"), (True, "true"), (["a", "b"], ["a", "b"]), ([1, 2], ["1", "2"])],
)
def test_labels(label: Any, found: Any) -> None:
    assert rows(lines({"text": "t", "label": label}, b"\n")) == [(found, "t")]


def test_numbers_are_kept_as_written() -> None:
    data = b'{"text":"t","label":1.50}\n{"text":"t","label":1e3}\n{"text":"t","label":12345678901234567890}\n'
    assert rows(io.BytesIO(data)) == [("1.50", "t"), ("1e3", "t"), ("12345678901234567890", "t")]


def test_one_label_among_lists_is_a_list() -> None:
    data = lines({"text": "t", "label": "a"}, b"\n", {"text": "t", "label": ["b", 3]}, b"\n")
    assert rows(data) == [(["a"], "t"), (["b", "3"], "t")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("words", pa.string()),
        ("", pa.string()),
        ("a\0b", pa.string()),
        (["two", "tokens"], pa.list_(pa.string())),
        ([], pa.list_(pa.string())),
        ({"word": 2, "other": 0}, pa.map_(pa.string(), pa.int64())),
    ],
)
def test_texts(text: Any, kind: pa.DataType) -> None:
    (batch,) = read(lines({"label": "x", "text": text}, b"\n"))
    assert batch["text"].type == kind
    assert [dict(t) if isinstance(text, dict) else t for t in batch["text"].to_pylist()] == [text]


@pytest.mark.parametrize(
    "data",
    [
        b'{"text":"a","label":"x"}\n\n  \n{"text":"b","label":"y"}',
        b'{"text":"a","label":"x"}\r\n\r\n\r\n{"text":"b","label":"y"}\r\n',
        b'\xef\xbb\xbf\n{"label" : "x", "text":"a"}  \n\n\n {"n": {"text": 1, "m": [NaN]}, "text":"b","label":"y"}\n\n',
        b'\n{"label":"x","t\\u0065xt":"a","n":1,"n":2}\n\n\n{"text":"\\u0062","label":"y","n":"\\ud800"}\n',
    ],
)
def test_lines_are_counted(data: bytes) -> None:
    found = rows(io.BytesIO(data), "label", "text", "line", format="jsonl")
    first = data.lstrip(b"\xef\xbb\xbf").split(b"\n")
    numbers = [n for n, line in enumerate(first, 1) if line.strip()]
    assert found == [("x", "a", numbers[0]), ("y", "b", numbers[1])]


def test_line_of_any_length() -> None:
    text = "長い " * 2_000_000  # 14 MB, and again as much when it is read
    data = lines({"text": "a", "label": "x"}, b"\n", {"text": text, "label": "y"}, b"\n", {"text": "c", "label": "z"})
    found = rows(data, "text", "line", batch_bytes=1000)
    assert [(len(t), line) for t, line in found] == [(1, 1), (len(text), 2), (1, 3)]


# --- what it may not

GOOD = b'{"text": "a", "label": "x"}\n'


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"text": "a", "label": "x"', "this is not JSON: Expecting ',' delimiter at character 27"),
        (b"hello", "this is not JSON: Expecting value at character 1"),
        (b'{"text": "a"} {}', "this is not JSON: Extra data at character 15"),
        (b'{"text": "a\x00", "label": "x"}', "this is not JSON: Invalid control character at character 12"),
        (b'["a"]', 'a JSON object was expected, as in {"label": "spam", "text": "..."}'),
        (b"3", 'a JSON object was expected, as in {"label": "spam", "text": "..."}'),
        (b'{"txt": "a", "label": "x"}', "there is no column 'text', only 'txt', 'label': choose another with text="),
        (b'{"text": "a"}', "there is no column 'label', only 'text': choose another with label="),
        (b"{}", "there is no column 'text' and no column 'label': choose others with text= and label="),
        (b'{"text": "a", "label": "x", "text": "b"}', "the object has 'text' twice: keep one"),
        (
            b'{"text": null, "label": "x"}',
            "the text is missing (null): fill it with an empty string, or leave the row out",
        ),
        (
            b'{"text": 5, "label": "x"}',
            "the text is 5, not a string: give a string, a list of tokens, or an object from word to count",
        ),
        (
            b'{"text": true, "label": "x"}',
            "the text is true, not a string: give a string, a list of tokens, or an object from word to count",
        ),
        (b'{"text": ["a", 5], "label": "x"}', "the text has the token 5: tokens are strings"),
        (b'{"text": ["a", null], "label": "x"}', "the text has the token null: tokens are strings"),
        (b'{"text": {"a": -1}, "label": "x"}', "the text counts 'a' -1 times: counts are whole numbers from 0 up"),
        (b'{"text": {"a": 1.5}, "label": "x"}', "the text counts 'a' 1.5 times: counts are whole numbers from 0 up"),
        (b'{"text": {"a": 1, "a": 1}, "label": "x"}', "the text counts 'a' twice: keep one"),
        (b'{"text": "a", "label": null}', "the label is missing (null): give one, or leave the row out"),
        (b'{"text": "a", "label": NaN}', "the label is missing (null): give one, or leave the row out"),
        (b'{"text": "a", "label": ""}', "the label is empty: give it a name, or leave the row out"),
        (b'{"text": "a", "label": " \\u3000"}', "the label is blank: give it a name, or leave the row out"),
        (b'{"text": "a", "label": "\\u001b"}', "the label is blank: give it a name, or leave the row out"),
        (b'{"text": "a", "label": ["\\u001b"]}', "the label is blank: give it a name, or leave the row out"),
        (
            b'{"text": "a", "label": "' + b"x" * 1001 + b'"}',
            "the label has 1,001 characters, and 1,000 are the most: give it a shorter name, or leave the row out",
        ),
        (b'{"text": "a", "label": ["b", ""]}', "the label is empty: give it a name, or leave the row out"),
        (b'{"text": "a", "label": []}', "the list of labels is empty: give at least one, or leave the row out"),
        (b'{"text": "a", "label": {}}', "the label is an object: give a string, a number, or a list of them"),
        (b'{"text": "a", "label": "b\\u0000"}', "the label 'b\\x00' has a NUL: give it another name"),
        (b'{"text": "ab\\ud800", "label": "x"}', "the text has \\ud800, half of a character, at character 3: mend it"),
        (b'{"text": "\\udc00", "label": "x"}', "the text has \\udc00, half of a character, at character 1: mend it"),
        (b'{"text": "a", "label": "\\ud800"}', "the label has \\ud800, half of a character, at character 1: mend it"),
        (
            b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b', "label": "x"}',
            "this JSON is nested too deeply: give text, label and id at the top of the object",
        ),
    ],
)
def test_bad_lines(line: bytes, what: str) -> None:
    """Each raises with its place, in any position, and is skipped alone."""
    assert message(GOOD + b"\n" + line + b"\n" + GOOD) == f"stream, line 3: {what}"
    assert message(line + b"\n") == (
        f"stream, line 1: {what}"
        if line[:1] != b"["
        else "stream: this is a JSON array: write one object a line, as jq -c '.[]' does"
    )
    reader = read(io.BytesIO(GOOD + line + b"\n" + GOOD), format="jsonl", skip_bad=True)
    assert [row["line"] for batch in reader for row in batch.to_pylist()] == [1, 3]
    assert reader.n_skipped == 1 and reader.skipped == [f"stream, line 2: {what}"]


def test_kinds_of_text_do_not_mix() -> None:
    other = b'{"text": ["a"], "label": "x"}\n'
    expected = "stream, line 2: the text is a list of tokens, and a string before: keep to one in a file"
    assert message(GOOD + other) == expected
    assert message(GOOD + other, batch_bytes=10) == expected


def test_joined_columns_are_strings() -> None:
    data = b'{"a": "x", "b": null}\n'
    expected = "stream, line 1: the text 'b' is missing (null): columns that are joined hold strings"
    assert message(data, text=["a", "b"], labelled=False) == expected
    data = b'{"a": ["x"], "b": "y"}\n'
    expected = "stream, line 1: the text 'a' is a list: columns that are joined hold strings"
    assert message(data, text=["a", "b"], labelled=False) == expected


@pytest.mark.parametrize("id", [b"null", b'""', b"[1]", b"1.5e"])
def test_ids(id: bytes) -> None:
    assert rows(io.BytesIO(b'{"text": "a", "k": "1"}\n{"text": "a", "k": 2}'), "id", id="k", labelled=False) == [
        ("1",),
        ("2",),
    ]
    if id != b"1.5e":
        data = b'{"text": "a", "k": %b}\n' % id
        assert message(data, id="k", labelled=False) == (
            "stream, line 1: the id is missing: give one, or read without id"
        )
    assert message(b'{"text": "a"}\n', id="k", labelled=False) == (
        "stream, line 1: there is no column 'k', only 'text': choose another with id="
    )


def test_objects_that_share_or_span_lines() -> None:
    assert message(b'{"text":"a"}{"text":"b"}\n\n', labelled=False).startswith("stream, line 1: this is not JSON")
    assert message(b'{"text":"a"}{"text":"b"}\n{"text":\n"c"}\n', labelled=False).startswith("stream, line 1: ")
    assert message(b'{"text":\n"c"}\n', labelled=False).startswith("stream, line 1: this is not JSON")


def test_long_numbers() -> None:
    data = b'{"text": "a", "label": ' + b"1" * 5000 + b"}\n"
    assert message(data).startswith("stream, line 1: this JSON cannot be read: Exceeds the limit")


def test_invalid_utf8() -> None:
    data = GOOD + '{"text": "今日は良い天気です", "label": "x"}\n'.encode("cp932") + GOOD
    with pytest.raises(EncodingError) as caught:
        rows(io.BytesIO(data))
    assert str(caught.value) == (
        "stream, line 2: the bytes 8d a1 93 fa are not valid utf-8. Try encoding='cp932', which reads them as "
        '\'t": "今日は良い天気です", "la\''
    )
    reader = read(io.BytesIO(data), skip_bad=True)
    assert [row["line"] for batch in reader for row in batch.to_pylist()] == [1, 3]
    assert reader.skipped == [str(caught.value)]


def test_a_first_label_that_happens_to_be_a_number() -> None:
    """Rows that are no integers are bad, unless they are most of them: then labels are strings."""
    data = b"".join(b'{"text": "a", "label": %s}\n' % label for label in (b"7", b'"x"', b"8", b"9"))
    for strings, expected, n_bad in ((0, [7, 8, 9], 1), (3, ["7", "x", "8", "9", "x", "x", "x"], 0)):
        reader = read(io.BytesIO(data + strings * data.splitlines(True)[1]), label_type=None, skip_bad=True)
        assert [label for batch in reader for label in batch["label"].to_pylist()] == expected
        assert len(reader.skipped) == n_bad
    strings = b"".join(b'{"text": "%d", "label": "x"}\n' % n for n in range(100))
    reader = read(io.BytesIO(data + strings), label_type=None, skip_bad=True, batch_bytes=100)
    assert [label for batch in reader for label in batch["label"].to_pylist()] == [7, 8, 9]  # the first batch decides


# --- both ways

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**63),
    st.floats(),
    st.text(max_size=4),
    st.lists(st.text(max_size=2) | st.integers(0, 3) | st.none(), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(-1, 3), max_size=2),
)
USUAL = st.fixed_dictionaries({"text": st.text(max_size=9), "label": st.sampled_from("abc")})
ROWS = st.lists(USUAL | st.dictionaries(st.sampled_from(["text", "label", "other"]), VALUES), max_size=6)


@given(ROWS, st.booleans(), st.sampled_from([b"\n", b"\r\n", b"\n\n"]), st.integers(1, 200))
def test_both_ways_agree(objects: list[dict[str, Any]], ascii: bool, end: bytes, batch_bytes: int) -> None:
    data = b"".join(json.dumps(o, ensure_ascii=ascii).encode("utf-8", "surrogatepass") + end for o in objects) or b"\n"

    def everything(batch_bytes: int) -> Any:
        reader = read(io.BytesIO(data), format="jsonl", skip_bad=True, batch_bytes=batch_bytes)
        batches = list(reader)
        for batch in batches:
            batch.validate(full=True)
        found = [(r["line"], r["text"], r["label"]) for b in batches for r in b.to_pylist()]
        lists = [(line, text, label if isinstance(label, list) else [label]) for line, text, label in found]
        return lists, reader.n_skipped, reader.skipped

    quick = everything(batch_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bunrui.documents.lines._quick_json", lambda *_: None)
        assert everything(1 << 20) == quick


LABEL = st.text(st.characters(exclude_characters="\0")).filter(lambda name: unfit(name) is None)


@given(st.lists(st.tuples(LABEL, st.text())), st.booleans())
def test_round_trip(pairs: list[tuple[str, str]], ascii: bool) -> None:
    pairs = [pair for pair in pairs if not any("\ud800" <= c <= "\udfff" for c in "".join(pair))]
    data = "\n".join(json.dumps({"label": label, "text": text}, ensure_ascii=ascii) for label, text in pairs)
    assert rows(io.BytesIO(data.encode() or b"\n"), format="jsonl") == pairs


@given(st.binary(min_size=1, max_size=60))
def test_any_bytes(data: bytes) -> None:
    reader = read(io.BytesIO(b'{"text": "a", "label": "x"}\n' + data), format="jsonl", skip_bad=True)
    assert sum(batch.num_rows for batch in reader) == 1
