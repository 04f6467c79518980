"""Metrics of label sets: scikit-learn's numbers, and a case worked by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import accuracy_score, hamming_loss, precision_recall_fscore_support

from bunrui.errors import DataError, LabelError
from bunrui.evaluation.multilabel import measure_labels

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
