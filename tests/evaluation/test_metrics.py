"""Predicted labels and label sets → metrics: scikit-learn's numbers, worked examples, and the same in any batches."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    hamming_loss,
    multilabel_confusion_matrix,
    precision_recall_fscore_support,
)

from bunrui.classifier import TextClassifier
from bunrui.errors import BunruiError, DataError, LabelError
from bunrui.evaluation import Metrics, Tally, measure
from bunrui.evaluation.metrics import measure_labels, membership
from tests.support.processes import run_python

# Labels that sort differently by code point, by locale and by case, that look alike, or look like numbers or markup.
HOSTILE = [
    "b",
    "B",
    "a",
    "10",
    "9",
    " ",
    "a ",
    "é",
    "e\u0301",
    "ニュース",
    "新闻",
    "뉴스",
    "😀",
    "\ufb01",
    "nan",
    "[b]",
    "\n",
]
names = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
)
pairs = st.lists(names, min_size=1, max_size=6).flatmap(
    lambda few: st.lists(st.tuples(st.sampled_from(few), st.sampled_from(few)), min_size=1, max_size=80)
)
few = st.sampled_from("abcd")
several = st.lists(st.tuples(few | st.lists(few, min_size=1, max_size=3) | st.sets(few, min_size=1), few), min_size=1)


def measured(drawn: list[tuple[Any, str]], **options: Any) -> Metrics:
    return measure([true for true, _ in drawn], [predicted for _, predicted in drawn], **options)


# --- scikit-learn


def assert_as_sklearn(metrics: Metrics, true: list[str], predicted: list[str]) -> None:
    labels = sorted({*true, *predicted})
    assert metrics.labels == tuple(labels)
    assert metrics.n == len(true)
    assert metrics.accuracy == pytest.approx(accuracy_score(true, predicted), rel=1e-12)
    assert metrics.confusion.dtype == np.int64
    assert metrics.confusion.tolist() == confusion_matrix(true, predicted, labels=labels).tolist()

    # Left to itself, scikit-learn finds and sorts the labels: its order must be ours.
    by_class = precision_recall_fscore_support(true, predicted, average=None, zero_division=0)
    one_against_rest = multilabel_confusion_matrix(true, predicted)
    ours = metrics.per_class
    assert [c.label for c in ours] == labels
    np.testing.assert_allclose([c[1:4] for c in ours], np.transpose(by_class[:3]), rtol=1e-12)
    assert [c.support for c in ours] == by_class[3].tolist()
    expected = [(m[0, 0] + m[1, 1]) / len(true) for m in one_against_rest]
    np.testing.assert_allclose([c.accuracy for c in ours], expected, rtol=1e-12)
    assert metrics.overall_accuracy == pytest.approx(float(np.mean(expected)), rel=1e-12)

    for kind, mean in (("micro", metrics.micro), ("macro", metrics.macro)):
        theirs = precision_recall_fscore_support(true, predicted, average=kind, zero_division=0)
        np.testing.assert_allclose(mean[:3], theirs[:3], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:A single label was found")
@given(pairs)
@example([("a", "b"), ("a", "c")])
@example([("a", "a")])
def test_as_sklearn(drawn: list[tuple[str, str]]) -> None:
    assert_as_sklearn(measured(drawn), *(list(column) for column in zip(*drawn, strict=True)))


def test_as_sklearn_with_many_documents_and_classes() -> None:
    rng = np.random.default_rng(1)
    labels = np.array([f"class {k}" for k in range(150)])
    true = rng.integers(0, 150, 20_000)
    predicted = np.where(rng.random(20_000) < 0.6, true, rng.integers(0, 140, 20_000))
    assert_as_sklearn(measure(labels[true], labels[predicted]), labels[true].tolist(), labels[predicted].tolist())


# --- worked by hand

#            predicted a  b  c
CONFUSION = {"a": [3, 0, 1], "b": [1, 2, 0], "c": [0, 0, 3]}
TRUE = [true for true, row in CONFUSION.items() for count in row for _ in range(count)]
PREDICTED = [label for row in CONFUSION.values() for label, count in zip("abc", row, strict=True) for _ in range(count)]


def test_worked_example() -> None:
    """Precision 3/4, 2/2, 3/4 and recall 3/4, 2/3, 3/3 have the means 5/6 and 29/36; 2, 1 and 1 of 10 are wrong."""
    metrics = measure(TRUE, PREDICTED)
    assert metrics.labels == ("a", "b", "c")
    assert metrics.confusion.tolist() == list(CONFUSION.values())
    assert metrics.n == 10
    assert metrics.accuracy == 0.8
    assert [tuple(c) for c in metrics.per_class] == [
        ("a", 3 / 4, 3 / 4, 3 / 4, 0.8, 4),
        ("b", 1.0, 2 / 3, 4 / 5, 0.9, 3),
        ("c", 3 / 4, 1.0, 6 / 7, 0.9, 3),
    ]
    assert metrics.micro == (0.8, 0.8, 0.8)
    expected = [Fraction(5, 6), Fraction(29, 36), Fraction(337, 420), Fraction(145, 177)]
    assert metrics.macro == pytest.approx([float(number) for number in expected], rel=1e-15)
    assert metrics.overall_accuracy == pytest.approx(13 / 15, rel=1e-15)
    assert repr(metrics) == "<Metrics: 10 documents, 3 labels, accuracy 0.800>"


def test_nothing_right() -> None:
    """No label is both true and predicted: every ratio is 0, none is missing."""
    metrics = measure(["a", "a"], ["b", "c"])
    assert list(metrics.macro) == [0, 0, 0, 0]
    assert list(metrics.micro) == [0, 0, 0]
    assert [tuple(c) for c in metrics.per_class] == [
        ("a", 0, 0, 0, 0, 2),
        ("b", 0, 0, 0, 0.5, 0),
        ("c", 0, 0, 0, 0.5, 0),
    ]
    assert metrics.overall_accuracy == pytest.approx(1 / 3)


# --- labels that are known


@given(pairs, st.lists(names, max_size=4))
def test_known_labels_are_listed_and_change_no_mean(drawn: list[tuple[str, str]], known: list[str]) -> None:
    without, metrics = measured(drawn), measured(drawn, labels=known)
    assert metrics.labels == tuple(sorted({*without.labels, *known}))
    for name in ("n", "accuracy", "micro", "macro", "overall_accuracy"):
        assert getattr(metrics, name) == getattr(without, name)
    rows = {c.label: c for c in metrics.per_class}
    assert [rows.pop(c.label) for c in without.per_class] == list(without.per_class)
    assert set(rows) == set(known) - set(without.labels)
    assert {c[1:] for c in rows.values()} <= {(0, 0, 0, 1, 0)}


def test_known_labels_of_any_kind() -> None:
    kinds: list[Any] = [["z", "a"], {"z"}, np.array(["z"]), iter(["z", "z"])]
    for known in kinds:
        assert measure(["a"], ["a"], labels=known).labels == ("a", "z")
    with pytest.raises(LabelError, match=r"^known labels: labels should be a list with one for each text, not one str"):
        Tally("spam")


# --- batches


@given(several, st.data())
def test_any_batches_give_the_same(drawn: list[tuple[Any, str]], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(drawn)), max_size=5).map(sorted))
    tally = Tally()
    for start, end in pairwise([0, *cuts, len(drawn)]):
        tally.add([true for true, _ in drawn[start:end]], [predicted for _, predicted in drawn[start:end]])
    assert tally.metrics() == measured(drawn)
    assert tally.metrics().to_dict() == measured(drawn).to_dict()


def test_metrics_do_not_follow_the_tally() -> None:
    tally = Tally()
    tally.add(["a"], ["a"])
    metrics = tally.metrics()
    tally.add(["b"], ["a"])
    assert (metrics.n, tally.metrics().n) == (1, 2)
    metrics.confusion[:] = 7
    assert metrics.confusion.tolist() == [[1]]
    with pytest.raises(FrozenInstanceError):
        metrics.labels = ()  # type: ignore[misc]


@pytest.mark.parametrize("n", [1, 50])
def test_kinds(n: int) -> None:
    """Short lists are read by Python, long ones by Arrow."""
    true, predicted = TRUE * n, PREDICTED * n
    expected = measure(true, predicted)
    assert expected.confusion.tolist() == [[n * count for count in row] for row in CONFUSION.values()]
    for kind in (tuple, np.array, pd.Series, pd.Categorical, pl.Series, pa.array, iter):
        make: Any = kind
        assert measure(make(true), make(predicted)) == expected
        assert measure(true, make(predicted)) == expected
    assert measure([[label] for label in true], [[label] for label in predicted]) == expected


# --- documents with several labels


@given(several)
def test_several_labels(drawn: list[tuple[Any, str]]) -> None:
    counted = []
    for true, predicted in drawn:
        own = [true] if isinstance(true, str) else sorted(true)
        counted.append((predicted if predicted in own else own[0], predicted))
    assert measured(drawn) == measured(counted)


def test_several_labels_count_once() -> None:
    metrics = measure([["c", "b"], ["c", "b"], ["a", "b", "b"]], ["c", "a", "b"])
    assert metrics.labels == ("a", "b", "c")
    assert metrics.confusion.tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 1]]
    assert sum(c.support for c in metrics.per_class) == metrics.n == 3


def test_accuracy_is_the_score_of_the_classifier() -> None:
    texts = ["cheap pills", "noon", "meeting at noon", "cheap noon", "pills", "meeting"]
    labels = [["spam"], ["ham"], ["ham", "work"], ["spam", "ham"], ["work"], ["work", "ham"]]
    clf = TextClassifier("multinomial", analyzer="words").learn(texts, labels)
    others = labels[1:] + labels[:1]
    metrics = measure(others, clf.predict(texts), labels=clf.classes_)
    assert metrics.accuracy == clf.score(texts, others)
    assert 0 < metrics.accuracy < 1


# --- JSON


@given(pairs, st.lists(names, max_size=2))
def test_json(drawn: list[tuple[str, str]], known: list[str]) -> None:
    metrics = measured(drawn, labels=known)
    found = json.loads(json.dumps(metrics.to_dict(), allow_nan=False))
    assert found == metrics.to_dict()
    assert list(found) == ["n", "accuracy", "micro", "macro", "per_class", "overall_accuracy", "confusion"]
    assert list(found["micro"]) == ["precision", "recall", "f1"]
    assert list(found["macro"]) == ["precision", "recall", "f1", "f1_of_means"]
    for row in found["per_class"]:
        assert list(row) == ["label", "precision", "recall", "f1", "accuracy", "support"]
    assert found["confusion"] == {"labels": list(metrics.labels), "matrix": metrics.confusion.tolist()}


def test_json_of_very_many_labels_has_pairs() -> None:
    true = [f"label {k:04}" for k in range(1000)]
    assert set(measure(true, true).to_dict()["confusion"]) == {"labels", "matrix"}
    found = measure([*true, "one more"], [*true, "label 0000"]).to_dict()["confusion"]
    assert set(found) == {"labels", "pairs"} and len(found["labels"]) == 1001
    assert found["pairs"][-1] == ["one more", "label 0000", 1] and len(found["pairs"]) == 1001


def test_labels_that_occur() -> None:
    assert measure(["a", "b"], ["a", "c"], labels=["d"]).occurring == {"a", "b", "c"}


def test_json_of_the_worked_example() -> None:
    found = measure(TRUE[:4], PREDICTED[:4]).to_dict()
    assert found == {
        "n": 4,
        "accuracy": 0.75,
        "micro": {"precision": 0.75, "recall": 0.75, "f1": 0.75},
        "macro": {"precision": 0.5, "recall": 0.375, "f1": 3 / 7, "f1_of_means": 3 / 7},
        "per_class": [
            {"label": "a", "precision": 1.0, "recall": 0.75, "f1": 6 / 7, "accuracy": 0.75, "support": 4},
            {"label": "c", "precision": 0.0, "recall": 0.0, "f1": 0.0, "accuracy": 0.75, "support": 0},
        ],
        "overall_accuracy": 0.75,
        "confusion": {"labels": ["a", "c"], "matrix": [[3, 1], [0, 0]]},
    }
    assert {type(number) for number in found["per_class"][0].values()} == {str, float, int}


# --- wrong input


@pytest.mark.parametrize(
    ("true", "predicted", "error", "message"),
    [
        (
            *(["a", "b"], ["a"], DataError),
            "there are 2 true labels and 1 predicted ones: give one of each for each document",
        ),
        (
            *([1], ["a"], LabelError),
            "predicted labels: the label 'a' is of type str, and others are of type int, such as 1: convert labels to "
            "int",
        ),
        (
            *(["a"], [None], LabelError),
            "predicted labels: the label of text 0 is missing: give one, or leave the text out",
        ),
        (
            *(["a", [1]], ["a", "a"], LabelError),
            "true labels: a label of text 1 is 1, of type int, and others are of type str: convert all labels to one "
            "type, such as str",
        ),
        (["a", []], ["a", "a"], LabelError, "true labels: text 1 has no label: give at least one"),
        ("a", ["a"], LabelError, "true labels: labels should be a list with one for each text, not one string"),
        (["a"], 3, LabelError, "predicted labels: labels should be a list with one for each text, not int"),
        (
            *(["a", "a"], ["b", ["a", "b"]], LabelError),
            "predicted labels: text 1 has several labels: give the best one",
        ),
        ([], [], DataError, "there are no documents to measure: add true and predicted labels first"),
    ],
)
def test_wrong_input(true: Any, predicted: Any, error: type[BunruiError], message: str) -> None:
    with pytest.raises(error) as raised:
        measure(true, predicted)
    assert str(raised.value) == message


def test_a_refused_batch_leaves_nothing() -> None:
    tally = Tally()
    with pytest.raises(DataError):
        tally.add(["a", "b"], ["a"])
    with pytest.raises(DataError, match=r"^there are no documents to measure"):
        tally.metrics()


def test_import_is_light() -> None:
    heavy = "{'numba', 'pyarrow', 'rich', 'scipy', 'sklearn'}"
    code = f"import sys, bunrui.evaluation; print(*sorted({heavy} & set(sys.modules)))"
    assert run_python(code).split() == []


# --- true labels → classes, whatever the labels come in


@given(st.lists(few | st.sets(few, min_size=1), min_size=1, max_size=80), st.permutations("abcx"))
def test_membership_of_every_cell(true: list[str | set[str]], classes: list[str]) -> None:
    expected = [[label in ({own} if isinstance(own, str) else own) for label in classes] for own in true]
    found = membership(true, classes)
    assert found.dtype == bool
    assert found.tolist() == expected


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pa.array, iter])
def test_membership_of_all_kinds(kind: type) -> None:
    labels = ["b", "a", "c"] * 20
    assert membership(kind(labels), ["a", "b"]).tolist() == [[False, True], [True, False], [False, False]] * 20


def test_membership_in_no_class() -> None:
    assert membership(["a", "b"], []).shape == (2, 0)


def test_membership_of_wrong_labels() -> None:
    with pytest.raises(LabelError, match=r"^true labels: text 1 has no label: give at least one$"):
        membership(["a", []], ["a"])


# --- metrics of label sets: scikit-learn's numbers, and a case worked by hand


NAMES = ["a", "b", "c", "d"]
sets = st.lists(st.tuples(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES))), min_size=1, max_size=12)


def bits(rows: list[set[str]]) -> Any:
    return np.array([[int(name in row) for name in NAMES] for row in rows])


@settings(deadline=None)
@given(sets)
def test_parity_with_scikit_learn(pairs: list[tuple[set[str], set[str]]]) -> None:
    true, predicted = map(list, zip(*pairs, strict=True))
    T, P = bits(true), bits(predicted)
    found = measure_labels(true, predicted, labels=NAMES)
    assert [each.label for each in found.per_label] == NAMES
    occurring = np.flatnonzero(T.any(axis=0) | P.any(axis=0)).tolist()
    for name, average, labels in (
        ("micro", "micro", None),
        ("example", "samples", None),
        ("macro", "macro", occurring),
    ):
        ours = getattr(found, name)
        if labels == []:
            assert ours == (0, 0, 0)
            continue
        expected = precision_recall_fscore_support(T, P, average=average, labels=labels, zero_division=0)[:3]
        np.testing.assert_allclose(ours, expected, rtol=1e-12, err_msg=name)
    by_label = precision_recall_fscore_support(T, P, average=None, zero_division=0)
    np.testing.assert_allclose([each[1:] for each in found.per_label], np.transpose(by_label), rtol=1e-12)
    assert found.hamming_loss == pytest.approx(hamming_loss(T, P), rel=1e-12)
    assert found.subset_accuracy == pytest.approx(accuracy_score(T, P), rel=1e-12)


def test_arrow() -> None:
    import pyarrow as pa

    true, predicted = [["a"], ["a", "b"], []], [["a"], ["b"], ["b"]]
    expected = measure_labels(true, predicted)
    for kind in (pa.array, lambda rows: pa.chunked_array([rows[:1], rows[1:]])):
        assert measure_labels(kind(true), kind(predicted)) == expected
    with pytest.raises(LabelError, match="document 0 has 'a': give a list or a set"):
        measure_labels(pa.array(["a"]), pa.array(["a"]))


def test_by_hand() -> None:
    """a: 1 of 2 found, none wrongly; b: found, and once wrongly; c: missed."""
    found = measure_labels([["a"], ["a", "b"], ["c"]], [["a"], ["b"], ["b"]])
    assert found.micro == pytest.approx((2 / 3, 2 / 4, 4 / 7))
    assert found.macro == pytest.approx(((1 + 1 / 2 + 0) / 3, (1 / 2 + 1 + 0) / 3, (2 / 3 + 2 / 3 + 0) / 3))
    assert found.example == pytest.approx(((1 + 1 + 0) / 3, (1 + 1 / 2 + 0) / 3, (1 + 2 / 3 + 0) / 3))
    assert found.hamming_loss == pytest.approx(3 / 9)
    assert found.subset_accuracy == pytest.approx(1 / 3)
    assert [each.support for each in found.per_label] == [2, 1, 1]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_indicator_matrices(form: Any) -> None:
    T, P = np.array([[1, 0, 0], [1, 1, 0]]), np.array([[1, 0, 0], [0, 1, 0]])
    found = measure_labels(form(T), form(P))
    assert found == measure_labels([{0}, {0, 1}], [{0}, {1}], labels=[2])
    assert found.hamming_loss == pytest.approx(1 / 6)


def test_to_dict_is_json() -> None:
    found = measure_labels([{"a"}], [{"b"}])
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert found.to_dict()["per_label"][0] == {"label": "a", "precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1}


@pytest.mark.parametrize(
    ("true", "predicted", "error", "message"),
    [
        ([{"a"}], [], DataError, "1 true label sets and 0 predicted"),
        ([], [], DataError, "no documents"),
        (["a"], [{"a"}], LabelError, "true labels: document 0 has 'a'"),
        ([{"a"}], [{1}], LabelError, "different kinds"),
        (np.array([[2, 0]]), np.array([[1, 0]]), LabelError, "true labels: an indicator matrix has 0 and 1 only"),
    ],
)
def test_refused(true: Any, predicted: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        measure_labels(true, predicted)
