"""The models `columns` and `aode` of tables: the scores of `ColumnsNB` and `AODE`, what columns hold, explanations."""

from __future__ import annotations

import copy
import datetime as dt
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bunrui
from bunrui import AODE, AnalyzerSpec, ColumnsNB, TextClassifier
from bunrui.analysis.tablerows import cells_of
from bunrui.errors import DataError, LabelError, NotLearnedError, OptionError, TableError, UnlearnError
from bunrui.models.columns import shape_of

START = dt.datetime(2026, 1, 1, 9, 30)
Row = dict[str, Any]


def rows(seed: int, n: int = 60) -> tuple[list[Row], list[str]]:
    """Rows with a column of every kind, and values that are missing."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes", "maybe"], n, p=[0.5, 0.3, 0.2]).tolist()
    words = {"no": ["cold", "rain", "wind"], "yes": ["sun", "warm", "wind"], "maybe": ["cloud", "rain", "sun"]}
    out = []
    for k, label in enumerate(y):
        row: Row = {
            "note": " ".join([*rng.choice(words[label], 3).tolist(), f"n{k}"]),
            "場所": str(rng.choice(["海", "山", "町"])) if label != "no" else "町",
            "open": bool(rng.random() < (0.8 if label == "yes" else 0.3)),
            "degrees": round(float(rng.normal({"no": 5, "yes": 25, "maybe": 15}[label], 4)), 1),
            "visitors": int(rng.integers(1000)),
            "when": (START + dt.timedelta(days=int(rng.integers(400)), hours=k)).isoformat(),
        }
        out.append({name: None if rng.random() < 0.1 else value for name, value in row.items()})
    return out, y


def dated(table: list[Row]) -> list[Row]:
    """As `ColumnsNB` takes dates."""
    return [row | {"when": row["when"] and dt.datetime.fromisoformat(row["when"])} for row in table]


def texts(table: list[Row]) -> list[str]:
    return [json.dumps(row, ensure_ascii=False) for row in table]


def classifier(kinds: dict[str, str] | None = None, model: str = "columns", **options: Any) -> TextClassifier:
    return TextClassifier(model, analyzer=AnalyzerSpec(name="columns", kinds=kinds or {}), **options)


both = pytest.mark.parametrize("model", ["columns", "aode"])


def learned(table: list[Row], y: list[str], **options: Any) -> TextClassifier:
    return classifier(**options).learn(texts(table), y)


@pytest.fixture(scope="module")
def weather() -> tuple[list[Row], list[str]]:
    return rows(0)


# --- scores

KINDS: list[dict[str, str]] = [
    {},
    {"degrees": "binned", "visitors": "skip"},
    {"note": "categorical", "場所": "text", "open": "numeric", "degrees": "gaussian", "when": "date"},
]


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.5, "prior": "uniform"},
        {"prior": {"no": 0.2, "yes": 0.5, "maybe": 0.3}},
        {"smoothing": "mle"},
        {"smoothing": "map", "alpha": 1.5},
    ],
)
def test_scores_are_those_of_the_estimator(weather, kinds: dict[str, str], options: dict[str, Any]) -> None:
    table, y = weather
    clf = learned(table, y, kinds=kinds, **options)
    estimator = ColumnsNB(columns=kinds, **options).fit(dated(table), y)
    queries, _ = rows(1)
    assert np.array_equal(clf.scores(texts(queries)), estimator.predict_joint_log_proba(dated(queries)))
    assert clf.predict(texts(queries)).tolist() == estimator.predict(dated(queries)).tolist()
    assert clf.classes_.tolist() == estimator.classes_.tolist()
    assert clf.to_sklearn()[-1].columns_ == estimator.columns_
    assert clf.to_sklearn().predict(dated(queries)).tolist() == clf.predict(texts(queries)).tolist()


def days(when: str | None) -> float:
    """Since 1970."""
    return math.nan if when is None else (dt.datetime.fromisoformat(when) - dt.datetime(1970, 1, 1)) / dt.timedelta(1)


@pytest.mark.parametrize("kinds", [{}, {"visitors": "categorical", "open": "numeric", "場所": "skip"}])
@pytest.mark.parametrize("m", [1, 5, 30])
def test_aode_is_that_of_the_columns(weather, kinds: dict[str, str], m: float) -> None:
    """Numbers and dates are cut; values that are missing are skipped; all else is categories."""
    table, y = weather
    names, queries = list(table[0]), rows(1)[0]

    def array(some: list[Row]) -> Any:
        changed = {"場所": None} if kinds else {}
        as_written = {"visitors": lambda n: n if n is None else str(n)} if kinds else {}
        cells = [row | changed | {"when": days(row["when"])} for row in some]
        return np.array([[as_written.get(name, lambda n: n)(row[name]) for name in names] for row in cells], object)

    to_cut = ["open", "degrees", "when"] if kinds else ["degrees", "visitors", "when"]
    estimator = AODE(m=m, discretise=[names.index(name) for name in to_cut]).fit(array(table), y)
    assert len(estimator.cuts_[names.index("degrees")]) == 2
    clf = learned(table, y, model="aode", kinds=kinds, m=m)
    assert np.array_equal(clf.scores(texts(queries)), estimator.predict_joint_log_proba(array(queries)))
    assert clf.score(texts(queries), rows(1)[1]) > 0.75
    other = learned(table, y, kinds=kinds).with_model("aode", m=m)
    assert np.array_equal(other.scores(texts(queries)), clf.scores(texts(queries)))
    if not kinds:
        for given in (dated(queries), pd.DataFrame(dated(queries))):
            assert clf.to_sklearn().predict(given).tolist() == clf.predict(texts(queries)).tolist()


def test_aode_reads_no_text(weather) -> None:
    table, y = weather
    with pytest.raises(OptionError, match="aode reads categories and numbers, and the column 'note' is text"):
        learned(table, y, model="aode", kinds={"note": "text"}).predict(texts(table))


def test_columns_with_too_many_values_for_pairs(weather, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.classcounts.MOST_PAIRS", 1000)
    table, y = weather
    with pytest.raises(DataError, match=r"leave out those with many values \(column 'note' has 5\d\)"):
        learned(table, y, model="aode").predict(texts(table))


def test_the_rule_for_columns(weather) -> None:
    assert learned(*weather).to_sklearn()[-1].columns_ == {
        "note": "text",
        "場所": "categorical",
        "open": "categorical",
        "degrees": "gaussian",
        "visitors": "gaussian",
        "when": "date",
    }


@both
def test_what_is_learned_in_steps_is_what_is_learned_at_once(weather, tmp_path: Path, model: str) -> None:
    table, y = weather
    once = learned(table, y, model=model)
    queries = texts(rows(1)[0])
    steps = learned(table[:20], y[:20], model=model)
    steps.predict(queries)
    steps.learn(texts(table[20:50]), y[20:50]).merge(learned(table[50:], y[50:], model=model))
    assert np.array_equal(steps.scores(queries), once.scores(queries))
    steps.learn(texts(rows(2)[0]), rows(2)[1]).unlearn(texts(rows(2)[0]), rows(2)[1])
    assert np.array_equal(steps.scores(queries), once.scores(queries))
    with bunrui.create(tmp_path / "t.bunrui", model, analyzer="columns") as stored:
        stored.learn(texts(table[:30]), y[:30])
        stored.learn(texts(table[30:]), y[30:])
        assert np.array_equal(stored.scores(queries), once.scores(queries)) and stored.check().is_right
    for again in (copy.deepcopy(once), pickle.loads(pickle.dumps(once))):
        assert np.array_equal(again.scores(queries), once.scores(queries))


def test_other_models_read_the_same_rows(weather) -> None:
    table, y = weather
    clf = learned(table, y)
    for model in ("multinomial", "bernoulli", "nbsvm"):
        assert clf.with_model(model).score(texts(table), y) > 0.8
    words = clf.with_model("multinomial").words("yes", top=None)
    assert "note=sun" in [word.text for word in words]
    assert clf.with_model("multinomial").words("no", word="場所=町")[0].counts["no"] > 20
    assert clf.with_model("multinomial").words("no", word="町") == []


def test_a_row_with_several_labels_is_one_for_each(weather) -> None:
    table, y = weather
    sets = [["no", "yes"] if label == "maybe" else [label] for label in y]
    clf = classifier().learn(texts(table), sets)
    pairs = [(row, label) for row, labels in zip(table, sets, strict=True) for label in labels]
    estimator = ColumnsNB().fit(dated([row for row, _ in pairs]), [label for _, label in pairs])
    assert np.array_equal(clf.scores(texts(table)), estimator.predict_joint_log_proba(dated(table)))


@both
def test_one_label_and_no_rows(weather, model: str) -> None:
    clf = classifier(model=model)
    with pytest.raises(NotLearnedError):
        clf.predict(["{}"])
    clf.learn(texts(weather[0]), ["x"] * 60)
    assert clf.predict(texts(weather[0][:2])).tolist() == ["x", "x"]
    assert clf.scores([]).shape == (0, 1)
    explanation = clf.explain(texts(weather[0])[0])
    assert explanation.against is None
    assert explanation.bias + math.fsum(c.value for c in explanation.contributions) == pytest.approx(explanation.score)


# --- explanations


@pytest.mark.parametrize(("model", "m"), [("columns", 1), ("aode", 1), ("aode", 12), ("aode", 1000)])
def test_explanations_add_up(weather, model: str, m: float) -> None:
    table, y = weather
    clf = learned(table, y, kinds={"visitors": "skip"}, model=model, m=m)
    for row in rows(3)[0]:
        text = texts([row | {"new": 7}])[0]
        for label, against in ((None, None), ("no", "yes"), ("maybe", None)):
            found = clf.explain(text, label=label, against=against)
            scores = dict(zip(clf.classes_.tolist(), clf.scores([text])[0].tolist(), strict=True))
            assert found.score == scores[found.label] and found.against_score == scores[found.against]
            parts = [c.value for c in found.contributions]
            assert found.bias + math.fsum(parts) == pytest.approx(found.difference, rel=1e-12, abs=1e-9)
            known = {name: value for name, value in row.items() if value is not None and name != "visitors"}
            assert sorted(c.feature.partition("=")[0] for c in found.contributions) == sorted(known)
            assert found.unknown == (
                ("new=7",) if row["visitors"] is None else (f"visitors={row['visitors']}", "new=7")
            )
            assert sorted(map(abs, parts), reverse=True) == [abs(part) for part in parts]


def test_explanations_are_placed_on_the_row(weather) -> None:
    clf = learned(*weather)
    row = {"note": "sun", "場所": "海", "open": True, "degrees": 21.5, "visitors": None, "when": "2026-03-01"}
    text = texts([row])[0]
    found = clf.explain(text)
    marked = {c.feature: [text[a:b] for a, b in c.spans] for c in found.contributions}
    assert marked == {
        "note=sun": ["sun"],
        "場所=海": ["海"],
        "open=true": ["true"],
        "degrees=21.5": ["21.5"],
        "when=2026-03-01": ["2026-03-01"],
    }
    assert found.text == text and "degrees=21.5" in str(found) and "海" in found.to_html()
    estimator = clf.to_sklearn()[-1]
    expected = estimator.explain(dated([row])[0]).between(found.label, found.against)
    assert {c.feature.partition("=")[0]: c.value for c in found.contributions} == pytest.approx(
        {name: value for name, value in expected.items() if row[name] is not None}
    )


def test_explanations_of_what_is_not_there(weather) -> None:
    clf = learned(*weather)
    with pytest.raises(LabelError, match="there is no label 'snow'"):
        clf.explain(texts(weather[0])[0], label="snow")
    with pytest.raises(TableError, match=r"^this is not JSON"):
        clf.explain("sunny")
    with pytest.raises(DataError, match="rows of tables come as JSON strings"):
        clf.explain(weather[0][0])


@both
def test_there_are_no_words(weather, model: str) -> None:
    with pytest.raises(
        OptionError, match=f"'{model}' has no weights of words: explain shows what the columns of a row add"
    ):
        learned(*weather, model=model).words("yes")


# --- what columns hold

Y = ["a", "b", "a", "b"]


def held(cells: list[Any], kind: str | None = None) -> tuple[str, list[Any]]:
    """What a column with some cells holds, and the values in it."""
    kinds = {} if kind is None else {"x": kind}
    found = [cells_of(json.dumps({"x": cell}), kinds) for cell in cells]
    shape = shape_of(found, kinds)
    return shape.forms["x"], [row["x"] for row in shape.values(found)]


def test_forms() -> None:
    assert held([1, 2.5, None]) == ("number", [1, 2.5, None])
    assert held([True, None, False]) == ("boolean", [True, None, False])
    assert held(["a", None]) == ("string", ["a", None])
    assert held([None, None]) == ("nothing", [None, None])
    day, moment = dt.datetime(2026, 1, 31), dt.datetime(2026, 1, 31, 18, tzinfo=dt.UTC)
    assert held(["2026-01-31", None, "2026-01-31 18:00:00Z"]) == ("date", [day, None, moment])
    # Several kinds: strings, numbers as they are written.
    assert held(["01234", 99999, True]) == ("string", ["01234", "99999", "true"])
    assert held([1, True]) == ("string", ["1", "true"])
    assert held(["2026-01-31", "soon"]) == held(["2026-01-31", "soon"], "text") == ("string", ["2026-01-31", "soon"])
    assert held(["2026-01-31", 7])[0] == held([7, "2026-01-31"])[0] == "string"
    assert held(["2026-02-30"]) == ("string", ["2026-02-30"])
    # What the user says goes before.
    assert held([1, 2], "text") == held([1, 2], "categorical") == ("string", ["1", "2"])
    assert held(["2026-01-31"], "categorical") == ("string", ["2026-01-31"])
    assert held([1, True], "binned") == ("number", [1, True])
    assert held([1, "a"], "skip") == ("nothing", [None, None])
    assert held([None], "gaussian") == ("nothing", [None])


def test_numbers_as_they_are_written() -> None:
    clf = classifier().learn(['{"x": 1.50}', '{"x": "b"}', '{"x": 1.50}', '{"x": "b"}'], Y)
    assert clf.predict(['{"x": 1.50}', '{"x": "1.50"}', '{"x": "b"}']).tolist() == ["a", "a", "b"]
    assert [c.feature for c in clf.explain('{"x": 1.50}').contributions] == ["x=1.50"]


def test_what_a_column_holds_may_change_with_new_rows() -> None:
    clf = classifier().learn(['{"zip": 11111}', '{"zip": 22222}', '{"zip": 11112}', '{"zip": 22223}'], Y)
    assert clf.to_sklearn()[-1].columns_ == {"zip": "gaussian"}
    with pytest.raises(
        TableError, match=r"^row 1: the column 'zip' has numbers in the learned rows, not '01234': leave"
    ):
        clf.predict(['{"zip": 11111}', '{"zip": "01234"}'])
    clf.learn(['{"zip": "01234"}'], ["a"])
    assert clf.to_sklearn()[-1].columns_ == {"zip": "text"}
    assert clf.predict(['{"zip": "01234"}', '{"zip": 22222}']).tolist() == ["a", "b"]
    clf.unlearn(['{"zip": "01234"}'], ["a"])
    assert clf.to_sklearn()[-1].columns_ == {"zip": "gaussian"}


@pytest.mark.parametrize(
    ("cells", "wrong", "message"),
    [
        (
            "1",
            '"x"',
            "has numbers in the learned rows, not 'x': leave the cell empty, or learn the column as categorical",
        ),
        ("true", "1", "has true and false in the learned rows, not '1'"),
        ('"2026-01-31"', '"soon"', "has dates such as 2026-01-31 in the learned rows, not 'soon'"),
        ('"2026-01-31"', "7", "has dates such as 2026-01-31 in the learned rows, not '7'"),
    ],
)
def test_cells_of_another_kind(cells: str, wrong: str, message: str) -> None:
    clf = classifier().learn([f'{{"x": {cells}}}'] * 4, Y)
    with pytest.raises(TableError) as error:
        clf.predict([f'{{"x": {cells}}}', '{"x": null}', f'{{"x": {wrong}}}'])
    assert str(error.value).startswith(f"row 2: the column 'x' {message}") and error.value.row == 2


def test_new_categories_and_words(weather) -> None:
    table, y = weather
    clf, estimator = learned(table, y), ColumnsNB().fit(dated(table), y)
    row = table[0] | {"場所": "月", "note": "never heard of"}
    assert np.array_equal(clf.scores(texts([row])), estimator.predict_joint_log_proba(dated([row])))
    assert "場所=月" in [c.feature for c in clf.explain(texts([row])[0]).contributions]


def test_columns_that_are_missing_or_new(weather) -> None:
    table, y = weather
    clf = learned(table, y)
    less = {name: value for name, value in table[0].items() if name != "degrees"}
    expected = "the column 'degrees' is missing: every row that was learned has 'note', '場所', 'open', 'degrees', "
    with pytest.raises(TableError, match=f"^row 0: {expected}"):
        clf.predict(texts([less]))
    more = table[0] | {"extra": "x", "another": 3}
    assert np.array_equal(clf.scores(texts([more])), clf.scores(texts([table[0]])))
    turned = dict(reversed(table[0].items()))
    assert np.array_equal(clf.scores(texts([turned])), clf.scores(texts([table[0]])))


def test_a_column_that_some_rows_lacked_may_be_missing() -> None:
    clf = classifier().learn(['{"a": 1, "b": "x"}', '{"a": 5}', '{"a": 2, "b": "x"}', '{"a": 6, "b": "y"}'], Y)
    assert np.array_equal(clf.scores(['{"a": 3}']), clf.scores(['{"a": 3, "b": null}']))
    with pytest.raises(TableError, match="the column 'a' is missing: every row that was learned has 'a'"):
        clf.predict(['{"b": "x"}'])


def test_a_column_without_values_is_left_out() -> None:
    clf = classifier().learn(['{"a": 1, "b": null}', '{"a": 5, "b": null}'] * 2, Y)
    assert clf.to_sklearn()[-1].columns_ == {"a": "gaussian", "b": "skip"}
    assert np.array_equal(clf.scores(['{"a": 3}']), clf.scores(['{"a": 3, "b": "new"}']))
    assert clf.explain('{"a": 3, "b": "new"}').unknown == ("b=new",)


def test_rows_without_columns() -> None:
    with pytest.raises(DataError, match="the rows that were learned have no columns: there is nothing to classify by"):
        classifier().learn(["{}", "{}"], ["a", "b"]).predict(["{}"])


def test_kinds_of_columns_that_no_row_has() -> None:
    clf = classifier({"agee": "binned"}).learn(['{"age": 1}', '{"age": 2}'], ["a", "b"])
    with pytest.raises(
        OptionError, match="a kind is given for the column 'agee', which no row has: the columns are 'age'"
    ):
        clf.predict(['{"age": 1}'])


def test_kinds_are_checked_when_rows_are_learned() -> None:
    clf = classifier({"age": "binned"}).learn(['{"age": 1}', '{"age": 2}'], ["a", "b"])
    with pytest.raises(TableError, match=r"^row 1: the column 'age' is binned and should have numbers, not 'old'"):
        clf.learn(['{"age": 3}', '{"age": "old"}'], ["a", "b"])
    assert clf.counts.n_docs == 2 and clf.predict(['{"age": null}']).tolist() == ["a"]


def test_kinds_stay_with_the_file(tmp_path: Path) -> None:
    kinds = {"age": "binned", "job": "skip"}
    spec = AnalyzerSpec(name="columns", kinds=kinds)
    with bunrui.create(tmp_path / "t.bunrui", "columns", analyzer=spec) as clf:
        clf.learn([f'{{"age": {k}, "job": "j{k}"}}' for k in range(20)], ["a", "b"] * 10)
    with bunrui.open(tmp_path / "t.bunrui") as clf:
        assert clf.analyzer == spec and clf.to_sklearn()[-1].columns_ == kinds
        with pytest.raises(TableError):
            clf.learn(['{"age": "x"}'], ["a"])
        assert clf.counts.n_docs == 20


def test_only_what_was_learned_is_unlearned() -> None:
    clf = classifier().learn(['{"a": 1}', '{"a": 2}'], ["a", "b"])
    with pytest.raises(UnlearnError):
        clf.unlearn(['{"a":1}'], ["a"])  # the same cells, but another text
    assert clf.counts.n_docs == 2


# --- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"analyzer": "words"},
            "the model 'columns' reads tables, not text: make the classifier with analyzer='columns'",
        ),
        ({"analyzer": AnalyzerSpec()}, "the model 'columns' reads tables, not text"),
        ({"analyzer": str.split}, "the model 'columns' reads tables, not text"),
        ({"min_df": 2}, "the model 'columns' reads all columns: leave min_df out"),
        ({"max_features": 9}, "the model 'columns' reads all columns: leave max_features out"),
        ({"model": "aode", "min_df": 2}, "the model 'aode' reads all columns: leave min_df out"),
        ({"model": "aode", "m": 0}, "m should be a number of rows, above 0, not 0"),
        ({"m": 2}, "m is for aode, and columns has none: leave it out, or set it to 1"),
        ({"model": "multinomial", "m": 2}, "m is for aode, and multinomial has none"),
        ({"smoothing": "mle", "alpha": 1.0}, "smoothing='mle' takes no alpha"),
        ({"unseen": "smooth"}, "columns knows nothing of words that it never saw"),
        ({"alpha": {"a": 1.0}}, "alpha of columns should be a number"),
        ({"alpha": -1.0}, "alpha"),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        TextClassifier(**({"model": "columns", "analyzer": "columns"} | options))
    assert str(error.value).startswith(message)


def test_files_that_keep_no_text(tmp_path: Path) -> None:
    for keep in ("digests", "nothing"):
        with pytest.raises(OptionError, match=f"columns is trained from documents, and .* keeps {keep} of them"):
            bunrui.create(tmp_path / "t.bunrui", "columns", analyzer="columns", keep=keep)
    with bunrui.create(tmp_path / "t.bunrui", analyzer="columns", keep="nothing") as clf:
        clf.learn(['{"a": "x"}', '{"a": "y"}'], ["a", "b"])
        assert clf.predict(['{"a": "y"}']).tolist() == ["b"]
