"""`ColumnsNB`: scikit-learn's checks, brute force in plain Python, the rule for columns, leave-one-out, parts."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import parametrize_with_checks

import bunrui
from bunrui.analysis import AnalyzerSpec
from bunrui.errors import DataError, LabelError, MismatchError, OptionError, UnlearnError
from bunrui.estimators import CategoricalNB, ColumnsNB, GaussianNB, MultinomialNB, TextVectorizer
from bunrui.models.frames import intervals
from bunrui.models.likelihoods import loo_binned, loo_gaussian, quantile_edges

NAN = float("nan")
START = dt.datetime(2024, 1, 1, 9, 30)


@parametrize_with_checks(
    [ColumnsNB(), ColumnsNB(numeric="binned"), ColumnsNB(numeric="choose"), ColumnsNB(prior="smoothed", n_bins=3)]
)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def rows(seed: int, n: int = 60) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows with a column of every kind, and values that are missing."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes", "maybe"], n, p=[0.5, 0.3, 0.2]).tolist()
    words = {"no": ["cold", "rain", "wind"], "yes": ["sun", "warm", "wind"], "maybe": ["cloud", "rain", "sun"]}
    out = []
    for k, label in enumerate(y):
        row = {
            "note": " ".join([*rng.choice(words[label], 3).tolist(), f"n{k}"]),
            "place": str(rng.choice(["sea", "hill", "town"])) if label != "no" else "town",
            "open": bool(rng.random() < (0.8 if label == "yes" else 0.3)),
            "degrees": float(rng.normal({"no": 5, "yes": 25, "maybe": 15}[label], 4)),
            "when": START + dt.timedelta(days=int(rng.integers(400)), hours=k),
        }
        for name in row:
            if rng.random() < 0.1:
                row[name] = None
        out.append(row)
    return out, y


def brute_force(train: list[dict[str, Any]], y: list[str], query: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The contribution of every column to every class, in plain Python."""
    analyze = TextVectorizer(analyzer="universal").build_analyzer()
    out: dict[str, dict[str, float]] = {name: {} for name in train[0]}

    def category(name: str, value: Any, read: Any, size: int | None = None) -> None:
        seen = [(read(row[name]), label) for row, label in zip(train, y, strict=True) if row[name] is not None]
        size = size or len({each for each, _ in seen})
        for label in set(y):
            own = Counter(each for each, of in seen if of == label)
            p = (own[read(value)] + 1.0) / (sum(own.values()) + size)
            out[name][label] = out[name].get(label, 0.0) + math.log(p)

    def number(name: str, value: Any, read: Any) -> None:
        seen = [(read(row[name]), label) for row, label in zip(train, y, strict=True) if row[name] is not None]
        everything = [each for each, _ in seen]
        for label in set(y):
            own = [each for each, of in seen if of == label]
            m, v = float(np.mean(own)), float(np.var(own)) + 1e-9 * float(np.var(everything))
            p = -0.5 * math.log(2 * math.pi * v) - (read(value) - m) ** 2 / (2 * v)
            out[name][label] = out[name].get(label, 0.0) + p

    def text(name: str, value: str) -> None:
        counts = {label: Counter() for label in set(y)}  # type: ignore[var-annotated]
        for row, label in zip(train, y, strict=True):
            counts[label].update(analyze(row[name] or ""))
        vocabulary = set().union(*counts.values())
        for label, own in counts.items():
            below = sum(own.values()) + 0.1 * len(vocabulary)
            known = [word for word in analyze(value) if word in vocabulary]
            out[name][label] = sum(math.log((own[word] + 0.1) / below) for word in known)

    for name, value in query.items():
        if value is None:
            out[name] = dict.fromkeys(set(y), 0.0)
        elif name == "note":
            text(name, value)
        elif name == "degrees":
            number(name, value, float)
        elif name == "when":
            category(name, value, lambda t: t.weekday(), 7)
            category(name, value, lambda t: t.month, 12)
            number(name, value, lambda t: (t - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1))
        else:
            category(name, value, lambda v: v)
    return out


def test_brute_force() -> None:
    train, y = rows(1)
    queries, _ = rows(2, n=25)
    queries[0]["place"] = "moon"
    clf = ColumnsNB().fit(train, y)
    assert clf.columns_ == {
        "note": "text",
        "place": "categorical",
        "open": "categorical",
        "degrees": "gaussian",
        "when": "date",
    }
    assert clf.classes_.tolist() == ["maybe", "no", "yes"]
    scores = clf.predict_joint_log_proba(queries)
    for query, score in zip(queries, scores, strict=True):
        expected, found = brute_force(train, y, query), clf.explain(query)
        for name, parts in expected.items():
            np.testing.assert_allclose(
                found.columns[name], [parts[c] for c in ("maybe", "no", "yes")], rtol=1e-9, atol=1e-12, err_msg=name
            )
        for k, label in enumerate(("maybe", "no", "yes")):
            prior = math.log(y.count(label) / len(y))
            assert score[k] == pytest.approx(prior + sum(parts[label] for parts in expected.values()), rel=1e-9)


def test_explanations_add_up() -> None:
    train, y = rows(3)
    clf = ColumnsNB(numeric="binned").fit(train, y)
    scores, labels = clf.predict_joint_log_proba(train), clf.predict(train)
    for row, score, label in zip(train, scores, labels, strict=True):
        found = clf.explain(row)
        total = found.prior
        for part in found.columns.values():
            total = total + part
        assert total.tolist() == found.scores.tolist() == score.tolist()
        assert found.label == label
    odds = clf.explain(train[0]).between("no", "yes")
    assert list(odds.values()) == sorted(odds.values(), key=abs, reverse=True)
    assert sum(odds.values()) + np.log(y.count("no") / y.count("yes")) == pytest.approx(scores[0][1] - scores[0][2])
    with pytest.raises(OptionError, match="no class 'never'"):
        clf.explain(train[0]).between("no", "never")
    with pytest.raises(DataError, match="one row, not 2"):
        clf.explain(train[:2])


# --- forms of tables


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_and_dicts_agree(frame: Any) -> None:
    train, y = rows(4)
    queries, _ = rows(5, n=20)
    expected = ColumnsNB().fit(train, y)
    clf = ColumnsNB().fit(frame(train), y)
    assert clf.columns_ == expected.columns_
    assert clf.feature_names_in_.tolist() == expected.feature_names_in_.tolist() == list(train[0])
    np.testing.assert_allclose(
        clf.predict_joint_log_proba(frame(queries)), expected.predict_joint_log_proba(queries), rtol=1e-12
    )
    one = frame(queries[:1])
    assert clf.explain(one).scores.tolist() == expected.explain(queries[0]).scores.tolist()
    turned = [dict(reversed(row.items())) for row in queries]
    np.testing.assert_array_equal(expected.predict_joint_log_proba(turned), expected.predict_joint_log_proba(queries))


def test_single_kinds_are_the_estimators() -> None:
    """A table of one kind is what the estimator of that kind says."""
    rng = np.random.default_rng(6)
    y = np.array(["a", "b", "c"])[rng.integers(3, size=80)]
    numbers = rng.normal(size=(80, 1)) + (y == "a")[:, None]
    numbers[::7] = NAN
    np.testing.assert_allclose(
        ColumnsNB().fit(numbers, y).predict_joint_log_proba(numbers),
        GaussianNB().fit(numbers, y).predict_joint_log_proba(numbers),
        rtol=1e-12,
    )
    names = rng.choice(["x", "y", "z"], (80, 3)).astype(object)
    names[::5, 1] = None
    queries = names[:10].copy()
    queries[0] = "new"
    np.testing.assert_allclose(
        ColumnsNB(alpha=0.5).fit(names, y).predict_joint_log_proba(queries),
        CategoricalNB(alpha=0.5).fit(names, y).predict_joint_log_proba(queries),
        rtol=1e-12,
    )
    texts = [" ".join(rng.choice(list("pqrstu"), 6).tolist()) for _ in y]
    X = TextVectorizer(analyzer="words").fit_transform(texts)
    clf = ColumnsNB(analyzer="words", text_alpha=0.3, columns={"x0": "text"})
    np.testing.assert_allclose(
        clf.fit(np.array(texts)[:, None], y).predict_joint_log_proba(np.array(texts)[:, None]),
        MultinomialNB(alpha=0.3).fit(X, y).predict_joint_log_proba(X),
        rtol=1e-12,
    )


# --- what columns are


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3, 4], "gaussian"),
        ([1.5, None, NAN, 2], "gaussian"),
        ([Decimal("1.5"), Decimal(2), None, Decimal(1)], "gaussian"),
        ([dt.timedelta(hours=1), None, dt.timedelta(2), dt.timedelta(3)], "gaussian"),
        ([True, False, None, True], "categorical"),
        (["a", "b", "a", "b"], "categorical"),
        (["a", "b", "a", "c"], "text"),
        (["a", None, "a", None], "categorical"),
        (["1", "2", "3", "4"], "text"),
        ([dt.date(2024, 1, 1), None, dt.date(2024, 2, 1), dt.date(2024, 2, 2)], "date"),
        ([START, START, None, START], "date"),
        ([None, None, NAN, None], "skip"),
    ],
)
def test_the_rule(values: list[Any], kind: str) -> None:
    y = ["p", "p", "q", "q"]
    assert ColumnsNB().fit([{"v": value} for value in values], y).columns_ == {"v": kind}
    if kind != "skip":
        for frame in (pd.DataFrame, pl.DataFrame):
            series = [None if value != value else value for value in values]
            assert ColumnsNB().fit(frame({"v": series}), y).columns_ == {"v": kind}


def test_types_of_frames() -> None:
    y = ["p", "q", "p"]
    frame = pd.DataFrame(
        {
            "category": pd.Series(["a", "b", "c"], dtype="category"),
            "nullable": pd.Series([1, None, 3], dtype="Int64"),
            "flag": pd.Series([True, None, False], dtype="boolean"),
            "zoned": pd.to_datetime(["2024-01-01", None, "2024-03-01"]).tz_localize("Asia/Tokyo"),
            "text": ["one two", None, "three"],
        }
    )
    expected = {"category": "categorical", "nullable": "gaussian", "flag": "categorical", "zoned": "date"}
    assert ColumnsNB().fit(frame, y).columns_ == {**expected, "text": "text"}
    enum = pl.DataFrame({"e": pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b"])), "c": ["x", "y", "z"]})
    enum = enum.with_columns(pl.col("c").cast(pl.Categorical))
    assert ColumnsNB().fit(enum, y).columns_ == {"e": "categorical", "c": "categorical"}


def test_the_user_decides() -> None:
    train, y = rows(7)
    kinds = {"note": "skip", "place": "text", "degrees": "binned", "open": "skip", "when": "skip"}
    clf = ColumnsNB(columns=kinds).fit(train, y)
    assert clf.columns_ == kinds
    found = clf.explain(train[0])
    assert found.columns["note"].tolist() == [0, 0, 0]
    assert ColumnsNB(columns={"degrees": "numeric"}, numeric="binned").fit(train, y).columns_["degrees"] == "binned"
    codes = [{"code": k % 3} for k in range(12)]
    by_code = ColumnsNB(columns={"code": "categorical"}).fit(codes, ["a", "b", "c"] * 4)
    assert by_code.predict(codes[:3]).tolist() == ["a", "b", "c"]
    dates = ColumnsNB(columns={"d": "date"}).fit([{"d": "2024-01-01"}, {"d": "2024-02-06T10:00"}], ["a", "b"])
    assert dates.predict([{"d": dt.date(2024, 1, 1)}, {"d": dt.datetime(2024, 2, 6)}]).tolist() == ["a", "b"]
    assert ColumnsNB(max_categories=2).fit(train, y).columns_["place"] == "text"


def test_many_strings_are_texts() -> None:
    values = [f"v{k % 65}" for k in range(650)]
    y = [k % 2 for k in range(650)]
    for limit, kind in ((64, "text"), (65, "categorical")):
        clf = ColumnsNB(max_categories=limit).fit(pd.DataFrame({"v": values}), y)
        assert clf.columns_ == {"v": kind}


# --- numbers that are cut


def test_edges() -> None:
    x = np.arange(1.0, 101)
    assert quantile_edges(x, np.ones(100), 4).tolist() == [25, 50, 75]
    assert intervals(np.array([25, 25.5, NAN, -9, 999]), np.array([25.0, 50, 75])).tolist()[:2] == [0, 1]
    w = np.random.default_rng(8).integers(0, 4, 100)
    np.testing.assert_array_equal(quantile_edges(x, w, 7), quantile_edges(np.repeat(x, w), np.ones(int(w.sum())), 7))
    assert quantile_edges(np.array([3.0, 3, NAN]), np.ones(3), 5).tolist() == []


@pytest.mark.parametrize("seed", range(4))
def test_leave_one_out_is_learning_without_the_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=40)
    y[0], y[1:][y[1:] == 2] = 2, 1  # the only row of its class cannot be foretold
    x = rng.normal(1000 + 2 * y, 1 + y)
    x[5:8] = NAN
    edges = quantile_edges(x, np.ones(40), 4)
    cut = intervals(x, edges)
    gaussian = binned = 0.0
    for i in range(40):
        if np.isnan(x[i]) or i == 0:
            continue
        out = np.arange(40) != i
        a = GaussianNB().fit(x[out, None], y[out])
        b = CategoricalNB(min_categories=len(edges) + 1, alpha=0.5).fit(cut[out, None], y[out])
        gaussian += a.predict_log_proba(x[[i], None])[0, a.classes_.tolist().index(y[i])]
        binned += b.predict_log_proba(cut[[i], None])[0, b.classes_.tolist().index(y[i])]
    docs, ones = np.bincount(y), np.ones(40)
    assert loo_gaussian(x, y, ones, docs, 1e-9) == pytest.approx(gaussian, rel=1e-8)
    assert loo_binned(cut, len(edges) + 1, y, ones, docs, 0.5) == pytest.approx(binned, rel=1e-8)


def test_choosing() -> None:
    """Two humps around another class, and a long tail, are not normal; what is shifted is."""
    rng = np.random.default_rng(9)
    y = np.repeat(["in", "out"], 200)
    humps = np.concatenate([rng.normal(0, 1, 200), rng.choice([-5, 5], 200) + rng.normal(0, 1, 200)])
    skewed = np.concatenate([np.exp(rng.normal(0, 2, 200)), np.exp(rng.normal(1, 2, 200))])
    shifted = np.concatenate([rng.normal(0, 1, 200), rng.normal(1, 1, 200)])
    frame = pd.DataFrame({"humps": humps, "skewed": skewed, "shifted": shifted})
    clf = ColumnsNB(numeric="choose").fit(frame, y)
    assert clf.columns_ == {"humps": "binned", "skewed": "binned", "shifted": "gaussian"}
    assert ColumnsNB(numeric="binned").fit(frame, y).columns_ == dict.fromkeys(frame, "binned")


# --- learning more, merging, unlearning


@pytest.mark.parametrize("numeric", ["gaussian", "binned"])
def test_parts(numeric: str) -> None:
    train, y = rows(10)
    queries, _ = rows(11, n=20)
    new = ColumnsNB(numeric=numeric, columns={"place": "categorical"})
    parts = clone(new).partial_fit(train[:40], y[:40]).partial_fit(train[40:], y[40:])
    if numeric == "gaussian":
        whole = clone(new).fit(train, y)
        merged = clone(new).merge(clone(new).fit(train[40:], y[40:])).merge(clone(new).fit(train[:40], y[:40]))
        others = [parts, merged, pickle.loads(pickle.dumps(whole))]
    else:
        whole, others = parts, [pickle.loads(pickle.dumps(parts))]
    for other in others:
        assert other.columns_ == whole.columns_
        assert other.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_allclose(
            other.predict_joint_log_proba(queries), whole.predict_joint_log_proba(queries), rtol=1e-9
        )


def test_classes_grow_or_are_given() -> None:
    clf = ColumnsNB().partial_fit([{"t": "sun"}, {"t": "rain"}], ["a", "b"])
    assert clf.partial_fit([{"t": "snow snow"}], ["c"]).predict([{"t": "snow"}]).tolist() == ["c"]
    given = ColumnsNB().partial_fit([{"t": "sun"}], ["a"], classes=["a", "b"])
    assert given.classes_.tolist() == ["a", "b"]
    with pytest.raises(LabelError, match="'c' is not among"):
        given.partial_fit([{"t": "snow"}], ["c"])


def test_unlearning() -> None:
    train, y = rows(12)
    train = [{"note": row["note"], "place": row["place"], "degrees": row["degrees"]} for row in train]
    queries = train[:15]
    clf = ColumnsNB(numeric="binned").fit(train, y)
    before = clf.predict_joint_log_proba(queries)
    more = [{"note": "snow " + str(k), "place": "pole", "degrees": -9.0} for k in range(3)]
    clf.partial_fit(more, ["new"] * 3)
    assert clf.predict(more).tolist() == ["new"] * 3
    clf.unlearn(more, ["new"] * 3)
    assert clf.classes_.tolist() == ["maybe", "no", "yes"]
    np.testing.assert_array_equal(clf.predict_joint_log_proba(queries), before)
    for wrong in ({**train[0], "note": "never"}, {**train[0], "place": "pole"}):
        with pytest.raises(UnlearnError, match="never learned"):
            clf.unlearn([wrong], y[:1])
    np.testing.assert_array_equal(clf.predict_joint_log_proba(queries), before)
    normal = ColumnsNB().fit(train, y)
    with pytest.raises(UnlearnError, match="exact=False"):
        normal.unlearn(train[:5], y[:5])
    expected = ColumnsNB().fit(train[5:], y[5:]).predict_joint_log_proba(queries)
    found = normal.unlearn(train[:5], y[:5], exact=False).predict_joint_log_proba(queries)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_weights_are_repetitions() -> None:
    train, y = rows(13)
    w = np.random.default_rng(14).integers(0, 3, len(y))
    repeated = [k for k, n in enumerate(w.tolist()) for _ in range(n)]
    kinds = {"note": "text", "place": "categorical"}
    for numeric in ("gaussian", "binned", "choose"):
        weighted = ColumnsNB(numeric=numeric, columns=kinds).fit(train, y, sample_weight=w)
        plain = ColumnsNB(numeric=numeric, columns=kinds).fit([train[k] for k in repeated], [y[k] for k in repeated])
        assert weighted.columns_ == plain.columns_
        np.testing.assert_allclose(
            weighted.predict_joint_log_proba(train), plain.predict_joint_log_proba(train), rtol=1e-9
        )


# --- refused


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, lambda columns: columns], ids=["pandas", "polars", "dicts"]
)
def test_wrong_columns_are_named(frame: Any) -> None:
    train, y = rows(15)
    clf = ColumnsNB().fit(frame(train), y)
    without = [{name: value for name, value in row.items() if name != "place"} for row in train]
    more = [{**row, "extra": 1} for row in train]
    for call in (clf.predict, lambda X: clf.partial_fit(X, y), lambda X: clf.unlearn(X, y, exact=False)):
        with pytest.raises(ValueError, match="place"):
            call(frame(without))
        with pytest.raises(ValueError, match="extra"):
            call(frame(more))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"n": "many", "t": "x", "d": None}, "the column 'n' should have numbers, not 'many'"),
        ({"n": [1], "t": "x", "d": None}, r"the column 'n' should have numbers, not \[1\]"),
        ({"n": 1.0, "t": 7, "d": None}, "the column 't' should have strings, not 7"),
        ({"n": 1.0, "t": "x", "d": 3.5}, "the column 'd' should have dates, not 3.5"),
        ({"n": float("inf"), "t": "x", "d": None}, "the column 'n' has an infinite value"),
        ({"n": 1.0, "d": None}, "the column 't' is missing"),
    ],
)
def test_wrong_values_are_named(row: dict[str, Any], message: str) -> None:
    day = dt.date(2024, 5, 1)
    clf = ColumnsNB().fit([{"n": 1, "t": "one two", "d": day}, {"n": 2, "t": "three", "d": day}], ["a", "b"])
    with pytest.raises(DataError, match=message):
        clf.predict([row])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"z": "text"}}, "columns names 'z', which X does not have"),
        ({"columns": {"n": "words"}}, "there is no kind 'words'"),
        ({"columns": ["n"]}, "columns should be a mapping"),
        ({"numeric": "cut"}, "numeric should be one of gaussian, binned, choose"),
        ({"n_bins": 0}, "n_bins should be a whole number"),
        ({"max_categories": 1.5}, "max_categories should be a whole number"),
        ({"alpha": -1}, "alpha should be 0 or more"),
        ({"text_alpha": [1.0]}, "should be numbers"),
        ({"var_smoothing": -1}, "var_smoothing should be"),
        ({"prior": "flat"}, "no prior 'flat'"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ColumnsNB(**options).fit([{"n": 1}, {"n": 2}], ["a", "b"])


def test_what_cannot_be_read_or_joined() -> None:
    with pytest.raises(DataError, match=r"'v' should have numbers, strings.*1 and 'x'.*'skip'"):
        ColumnsNB().fit([{"v": 1}, {"v": "x"}], ["a", "b"])
    with pytest.raises(DataError, match="'v' should have numbers"):
        ColumnsNB().fit([{"v": [1]}, {"v": [2]}], ["a", "b"])
    with pytest.raises(DataError, match="row 1 should be a dict"):
        ColumnsNB().fit([{"v": 1}, 2], ["a", "b"])
    with pytest.raises(DataError, match="a row and a column"):
        ColumnsNB().fit(pd.DataFrame({"v": []}), [])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ColumnsNB().fit(pd.DataFrame({"v": [1, 2]}), ["a"])
    cut = ColumnsNB(numeric="binned").fit([{"v": 1}, {"v": 2}], ["a", "b"])
    with pytest.raises(MismatchError, match="'v' is cut at other borders"):
        cut.merge(ColumnsNB(numeric="binned").fit([{"v": 7}, {"v": 9}], ["a", "b"]))
    texts = ColumnsNB().fit([{"v": "x"}, {"v": "y"}], ["a", "b"])
    with pytest.raises(MismatchError, match="'v' is text and categorical"):
        texts.merge(ColumnsNB().fit([{"v": "x"}, {"v": "x"}], ["a", "b"]))
    with pytest.raises(OptionError, match="decided what was counted"):
        texts.set_params(analyzer="words").predict([{"v": "x"}])


# --- where scikit-learn's stood


def test_search_and_cross_validation() -> None:
    train, y = rows(16, n=120)
    frame = pd.DataFrame(train)
    search = GridSearchCV(ColumnsNB(), {"numeric": ["gaussian", "choose"], "text_alpha": [0.1, 1.0]}, cv=3)
    assert search.fit(frame, y).best_score_ > 0.8
    proba = cross_val_predict(ColumnsNB(), frame, y, cv=3, method="predict_proba")
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)


def test_as_an_estimator() -> None:
    options = {"columns": {"a": "text"}, "analyzer": AnalyzerSpec(words=1), "numeric": "choose"}
    clf = clone(ColumnsNB(**options))
    assert {name: clf.get_params()[name] for name in options} == options
    assert "ColumnsNB" in estimator_html_repr(clf)
    assert bunrui.ColumnsNB is ColumnsNB


def test_parameters_take_effect_at_once() -> None:
    train, y = rows(17)
    clf = ColumnsNB().fit(train, y)
    clf.predict(train)
    changed = {"alpha": 0.2, "text_alpha": 2.0, "var_smoothing": 0.1, "prior": "uniform"}
    np.testing.assert_array_equal(
        clf.set_params(**changed).predict_joint_log_proba(train),
        ColumnsNB(**changed).fit(train, y).predict_joint_log_proba(train),
    )
