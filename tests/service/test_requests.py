"""Bodies: small and large ones, JSON and Arrow, read the same."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui.service import Limits, requests, schemas
from bunrui.service.admission import ARROW, SMALL
from bunrui.service.errors import Problem
from bunrui.service.requests import read

JSON_HEAD = {b"content-type": b"application/json"}

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5)
names = st.text('ab"\\\n\0é分😀', min_size=1, max_size=4)
options = st.fixed_dictionaries(
    {},
    optional={
        "model": names,
        "top": st.integers(1, 2**40),
        "several": st.booleans(),
        "threshold": st.floats(-9, 9, allow_subnormal=False),
    },
)


def plain(value: Any) -> Any:
    return value.to_pylist() if isinstance(value, pa.Array) else value


def fields(kind: Any, body: bytes, limits: Limits = Limits()) -> dict[str, Any]:  # noqa: B008
    found = read(kind, JSON_HEAD, body, b"", limits)
    return {name: plain(getattr(found, name)) for name in kind.model_fields}


def same(kind: Any, body: dict[str, Any], **style: Any) -> None:
    """Small and large, a body is read the same."""
    small = json.dumps(body, **style).encode()
    large = small[:-1] + b" " * SMALL + small[-1:]
    usual = {name: None if field.is_required() else field.default for name, field in kind.model_fields.items()}
    expected = usual | body
    assert len(small) <= SMALL < len(large)
    assert fields(kind, small) == fields(kind, large) == expected
    assert fields(kind, bytes(large)) == fields(kind, bytearray(large))


@given(texts, options, st.booleans(), st.sampled_from([None, 2]))
def test_texts(texts: list[str], options: dict[str, Any], ascii: bool, indent: int | None) -> None:
    same(schemas.Predict, {"texts": texts} | options, ensure_ascii=ascii, indent=indent)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (schemas.Correct, {"row": 3, "labels": ["spam", "ham"]}),
        (schemas.Correct, {"row": 0, "labels": [1]}),
        (schemas.Answer, {"digest": "00", "labels": ["spam"], "client": "me"}),
        (schemas.Ask, {"client": "me", "n": 2, "skipped": True}),
    ],
)
def test_one_document(kind: Any, body: dict[str, Any]) -> None:
    """Arrow once took its numbers for strings, and its labels for a column."""
    found = read(kind, JSON_HEAD, json.dumps(body).encode() + b" " * SMALL, b"", Limits())
    assert {name: getattr(found, name) for name in body} == body
    same(kind, body)


@pytest.mark.parametrize("kind", [schemas.Answer, schemas.Correct])
def test_too_many_labels_of_one_document(kind: Any) -> None:
    """They are refused before a Python object is made of each."""
    body = {"row": 0, "digest": "00", "labels": [7] * SMALL}
    given = {name: value for name, value in body.items() if name in kind.model_fields}
    with pytest.raises(Problem) as caught:
        read(kind, JSON_HEAD, json.dumps(given).encode(), b"", Limits())
    assert caught.value.to_dict()["errors"][0]["pointer"] == "/labels"


def test_white_space_takes_no_time() -> None:
    """Parts of a pattern that could share white space took hours of this body."""
    body = b'{"texts": ["a"], "labels":' + b"\n" * (1 << 20)
    with pytest.raises(Problem, match="JSON is not what was expected"):
        read(schemas.Evaluate, JSON_HEAD, body, b"", Limits())


@given(
    texts,
    st.one_of(st.lists(names, min_size=1), st.lists(st.lists(names), min_size=1)),
    st.one_of(st.none(), st.lists(st.one_of(st.none(), names), min_size=1)),
)
def test_labels_and_ids(texts: list[str], labels: list[Any], ids: list[str | None] | None) -> None:
    same(schemas.Learn, {"texts": texts, "labels": labels, "ids": ids})


@given(st.one_of(names, st.lists(names)), st.sampled_from(["texts", "ids", "digests"]), st.lists(names, min_size=1))
def test_what_to_relabel(to: Any, how: str, which: list[str]) -> None:
    same(schemas.Relabel, {"to": to, how: which})


@given(st.lists(names))
def test_what_was_kept(kept: list[str]) -> None:
    same(schemas.Audit, {"kept": kept})


@given(st.integers(1, 2**40), st.booleans())
def test_numbers_and_choices(number: int, choice: bool) -> None:
    same(schemas.Undo, {"transaction": number})
    same(schemas.Compare, {"trained": choice})


@given(st.binary(max_size=60), st.sampled_from([b"", b'{"texts":', b'{"texts":["', b'{"texts":["a"],"top":']))
def test_no_body_is_read_by_one_way_alone(rest: bytes, start: bytes) -> None:
    """Where one way reads a body, the other does, and finds the same."""
    found: list[Any] = []
    for body in (start + rest, start + rest + b" " * SMALL):
        try:
            found.append(fields(schemas.Predict, body))
        except Problem as problem:
            assert problem.kind == "invalid"
            found.append(None)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "body",
    [
        b'{"texts":["a"]}{"texts":["b"]}',
        b'{"texts":["a"]}}{"body":{"texts":["b"]}',
        b'{"texts":["a"]},"more":{}',
        b'{"texts":["a"],"texts":["b"]',
        b'{"texts":null}',
        b'{"texts":[["a"]]}',
        b'{"texts":["a"],"model":["b"]}',
        b"null",
        b"[]",
        b"[" * 200_000,
        b'{"x":' * 30_000,
    ],
)
def test_large_bodies_that_are_wrong(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        fields(schemas.Predict, body + b" " * SMALL)
    assert caught.value.kind == "invalid"


def test_millions_of_short_strings_are_not_even_read() -> None:
    body = b'{"texts":[' + b'"",' * 1_000_000 + b'""]}'
    with pytest.raises(Problem, match="too many strings") as caught:
        fields(schemas.Predict, body)
    assert caught.value.kind == "too-large"
    quotes = json.dumps({"texts": ['"' * 1_000_000]}).encode()
    assert fields(schemas.Predict, quotes)["texts"] == ['"' * 1_000_000]


def test_limits_hold_both_ways() -> None:
    limits = Limits(documents=2, characters=5)
    for padding in (b"", b" " * SMALL):
        assert fields(schemas.Predict, b'{"texts":["12345","b"]}' + padding, limits)["texts"] == ["12345", "b"]
        for body in (b'{"texts":["a","b","c"]}', '{"texts":["語語語語語語"]}'.encode()):
            with pytest.raises(Problem) as caught:
                fields(schemas.Predict, body + padding, limits)
            assert caught.value.kind == "too-large"
        with pytest.raises(Problem, match="at most 2"):
            fields(schemas.Audit, b'{"kept":["a","b","c"]}' + padding, limits)


def test_options_in_the_address_go_with_arrow() -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"text": ["a"], "label": ["x"]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body, head = sink.getvalue().to_pybytes(), {b"content-type": ARROW.encode()}
    found = read(schemas.Predict, head, body, b"top=3&model=binary&other=1", Limits())
    assert (found.top, found.model, plain(found.texts)) == (3, "binary", ["a"])
    for query in (b"top=0", b"top=x", b"top=%ff", b"top=\xb2", b"top=" + b"9" * 5000, b"a=1&" * 200):
        with pytest.raises(Problem):
            read(schemas.Predict, head, body, query, Limits())
    with pytest.raises(Problem, match="not in the address"):
        read(schemas.Predict, JSON_HEAD, b'{"texts":["a"]}', b"top=1", Limits())
    assert requests.options_of(schemas.Learn, b"top=3") == {}


def test_a_long_text_may_be_drawn() -> None:
    body = json.dumps({"text": "word " * 19_000, "html": True}).encode()
    assert len(body) > SMALL
    assert fields(schemas.Explain, body)["html"] is True
