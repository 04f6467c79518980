"""The analyzer `columns`: features of rows, their places, kinds, and what is no row."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bunrui import AnalyzerSpec, TextClassifier
from bunrui.analysis import analyzer_of
from bunrui.analysis.tablerows import cells_of, places_of
from bunrui.errors import DataError, MismatchError, OptionError, TableError

ROWS: dict[str, list[str]] = {
    '{"age": 39, "job": "Tech-support"}': ["age=39", "job=Tech-support"],
    '{"n":1.50,"m":-2e5}': ["n=1.50", "m=-2e5"],
    '{"open": true, "shut": false, "sold": null}': ["open=true", "shut=false"],
    '{"note": "Quite GOOD, isn\'t it?"}': ["note=quite", "note=good", "note=isn", "note=t", "note=it"],
    '{"note": "a  b\\na"}': ["note=a", "note=b", "note=a"],
    '{"都市": "東京", "文": "良い 天気"}': ["都市=東京", "文=良", "文=い", "文=天", "文=気"],
    '{"long": "' + "x" * 41 + '"}': ["long=" + "x" * 41],
    '{"long": "' + "あ" * 41 + '"}': ["long=あ"] * 41,
    '{"a": "", "b": " ", "c": "!? .", "d": " e"}': ["d=e"],
    '{"a=b": "c", "a": "b=c", "a\\\\": "c"}': ["a\\=b=c", "a=b=c", "a\\\\=c"],
    ' {\n "a" :\t1 } ': ["a=1"],
    "{}": [],
}

NUMBER = st.integers(-(10**149), 10**149) | st.floats(-1e150, 1e150)
CELL = st.none() | st.booleans() | NUMBER | st.text(max_size=60)
NAMES = st.text(min_size=1, max_size=5)


def whole(row: dict[str, Any]) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in json.dumps(row, ensure_ascii=False))


@pytest.mark.parametrize("text", ROWS)
def test_features(text: str) -> None:
    assert [token.text for token in analyzer_of("columns").features(text)] == ROWS[text]


def test_places() -> None:
    text = '{"age": 39, "job": "clerk", "note": "Good  day", "more": "a\\tb c", "no": null, "empty": ""}'
    found = [(token.text, text[token.start : token.end]) for token in analyzer_of("columns").features(text)]
    assert found[:4] == [("age=39", "39"), ("job=clerk", "clerk"), ("note=good", "Good"), ("note=day", "day")]
    # Where a string has escapes, its words stand for the whole of it.
    assert found[4:] == [("more=a", "a\\tb c"), ("more=b", "a\\tb c"), ("more=c", "a\\tb c")]


@given(row=st.dictionaries(NAMES, CELL).filter(whole), ascii=st.booleans(), indent=st.sampled_from([None, 1]))
def test_laws(row: dict[str, Any], ascii: bool, indent: int | None) -> None:
    text = json.dumps(row, ensure_ascii=ascii, indent=indent)
    tokens = analyzer_of("columns").features(text)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    counts = TextClassifier(analyzer="columns").learn([text], ["x"]).counts
    assert {feature: times for feature, _, times, _ in counts.cells()} == Counter(token.text for token in tokens)
    cells, places = cells_of(text, {}), places_of(text)
    assert list(cells) == list(places) == list(row)
    for name, value in row.items():
        start, end = places[name]
        is_text = isinstance(value, str) and value
        assert json.loads(f'"{text[start:end]}"' if is_text else text[start:end]) == value
        assert cells[name] == (value if value is None or isinstance(value, (bool, str)) else json.dumps(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "this is not JSON (Expecting value at character 1): a row of a table looks like {"),
        ('{"a": 1', "this is not JSON (Expecting ',' delimiter at character 8): a row"),
        ('{"a": 1} x', "this is not JSON (Extra data at character 10): a row"),
        ("[1]", "this is no JSON object: a row of a table looks like"),
        ('"a"', "this is no JSON object"),
        ("3", "this is no JSON object"),
        ('{"a": [1]}', "the column 'a' holds a list: a cell is a string, a number, true, false or null"),
        ('{"a": {"b": 1}}', "the column 'a' holds an object: a cell is"),
        ('{"a": 1, "b": 2, "b": 3}', "the row has the column 'b' twice: keep one"),
        ('{"": 1}', "a column of the row has no name: give it one"),
        ('{"a": NaN}', "NaN is no number in JSON: write null"),
        ('{"a": -Infinity}', "-Infinity is no number in JSON: write null"),
        ('{"a": 1e999}', "the column 'a' has '1e999', which is too large for a number: write it in quotes"),
        ('{"a": 1' + "0" * 400 + "}", "the column 'a' has '10000000000000000000', which is too large for a number"),
        ('{"a": 1' + "0" * 5000 + "}", "the column 'a' has '10000000000000000000', which is too large for a number"),
        ('{"a": "\\ud83d"}', "the column 'a' has half of a character (a lone surrogate): mend it"),
        ('{"a":' * 100_000, "this JSON is nested too deeply: a row"),
    ],
)
def test_no_rows(text: str, message: str) -> None:
    clf = TextClassifier(analyzer="columns").learn(['{"a": 1}'], ["x"])
    for ask in (analyzer_of("columns").features, clf.explain):
        with pytest.raises(TableError) as error:
            ask(text)
        assert str(error.value).startswith(message)
    with pytest.raises(TableError) as error:
        clf.learn(['{"a": 2}', text], ["x", "y"])
    assert str(error.value).startswith(f"row 1: {message}") and error.value.row == 1
    assert clf.counts.n_docs == 1


def test_tokens_and_counts_are_no_rows() -> None:
    clf = TextClassifier(analyzer="columns").learn(['{"a": 1}'], ["x"])
    for document in ({"age": 39}, ["age=39"]):
        with pytest.raises(DataError, match=r"rows of tables come as JSON strings, .* json.dumps makes one of a dict"):
            clf.learn([document], ["x"])
        with pytest.raises(DataError, match="rows of tables come as JSON strings"):
            clf.predict([document])


def test_kinds_are_checked_where_rows_are_read() -> None:
    spec = AnalyzerSpec(name="columns", kinds={"age": "binned", "when": "date", "job": "skip", "n": "gaussian"})
    analyzer = analyzer_of(spec)
    right = '{"age": 39, "when": "2026-01-31T18:00", "job": 7, "n": true}'
    assert [token.text for token in analyzer.features(right)] == ["age=39", "when=2026-01-31T18:00", "job=7", "n=true"]
    assert analyzer.features('{"age": null, "when": null}') == []
    for text, message in {
        '{"age": "thirty"}': "the column 'age' is binned and should have numbers, not 'thirty': leave the cell empty",
        '{"when": "soon"}': "the column 'when' is date and should have dates such as 2026-01-31, not 'soon'",
        '{"when": "2026-02-30"}': "the column 'when' is date and should have dates such as 2026-01-31, not '2026",
        '{"when": 20260131}': "the column 'when' is date and should have dates such as 2026-01-31, not '20260131'",
        '{"when": true}': "the column 'when' is date and should have dates such as 2026-01-31, not 'true'",
    }.items():
        with pytest.raises(TableError) as error:
            analyzer.features(text)
        assert str(error.value).startswith(message)


def test_spec() -> None:
    spec = AnalyzerSpec(name="columns", kinds={"b": "text", "a": "skip"})
    assert spec.kinds == (("a", "skip"), ("b", "text")) and spec.describe() == "columns, a=skip, b=text"
    assert spec == AnalyzerSpec(name="columns", kinds=[["b", "text"], ["a", "skip"]])
    assert len({spec, spec.replace(), AnalyzerSpec(name="columns")}) == 2
    # Kinds change no feature: what was learned with others can be merged.
    assert spec.fingerprint == AnalyzerSpec(name="columns").fingerprint != AnalyzerSpec(name="words").fingerprint
    with pytest.raises(MismatchError):
        TextClassifier(analyzer="words").merge(TextClassifier(analyzer=spec).learn(['{"a": 1}'], ["x"]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kinds": {"a": "number"}}, "there is no kind 'number' of column: choose one of text, categorical, numeric, "),
        ({"kinds": {"": "text"}}, "kinds names the column '': give a string that is not empty"),
        ({"kinds": {3: "text"}}, "kinds names the column 3: give a string that is not empty"),
        ({"kinds": 3}, "kinds should be a mapping from column to kind, not 3"),
        ({"kinds": "ab"}, "kinds should be a mapping from column to kind, not 'ab'"),
        ({"words": 2}, "the analyzer 'columns' takes no option but kinds: leave the others out"),
        ({"stop_words": ["a"]}, "the analyzer 'columns' takes no option"),
        ({"html": True}, "the analyzer 'columns' takes no option"),
        ({"pos": ("N",)}, "pos and base_forms are for the analyzers ja, zh, ko, not 'columns'"),
        (
            {"name": "words", "kinds": {"a": "text"}},
            "kinds is for the analyzer 'columns', not 'words': leave it out",
        ),
    ],
)
def test_bad_specs(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        AnalyzerSpec(**({"name": "columns"} | fields))
    assert str(error.value).startswith(message)
