"""Predictions: cut into parts, ranked, and not too many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bunrui import TextClassifier
from bunrui.service import answers
from bunrui.service.answers import predict, slices
from bunrui.service.problems import Problem

MANY = TextClassifier().learn([f"word{k}" for k in range(1001)], [f"label{k:04}" for k in range(1001)])


def test_an_answer_that_would_be_too_large() -> None:
    best = predict(MANY, ["word7"] * 999, 5000).top
    assert best is not None and {len(row) for row in best} == {1001}
    with pytest.raises(Problem, match="1,000,000 labels") as caught:
        predict(MANY, ["word7"] * 1000, 5000)
    assert caught.value.status == 413


def test_the_best_labels_are_those_of_the_classifier() -> None:
    texts = ["word7 word8 word9", "", "word1000"]
    shares = MANY.predict_proba(texts)
    found = predict(MANY, texts, 3)
    assert found.labels == MANY.predict(texts).tolist() == ["label0007", "label0000", "label1000"]
    assert found.probabilities == shares.max(axis=1).tolist()
    assert found.top is not None
    for row, best in enumerate(found.top):
        order = np.argsort(-shares[row], kind="stable")[:3]
        assert best == [(f"label{k:04}", shares[row, k]) for k in order.tolist()]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("start", [0, 3])
def test_parts_are_small_and_miss_nothing(kind: pa.DataType, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_MOST_BYTES", 10)
    texts = ["", "語", "a" * 9, "b" * 10, "c" * 11, "d" * 30, *"efghij" * 4, "", ""][start:]
    parts = list(slices(pa.array(["", "", "", *texts], kind)[3:], 2))
    assert [text for part in parts for text in part.to_pylist()] == texts
    assert len(parts) > 5
    for part in parts:
        assert len(part) == 1 or sum(len(text.encode()) for text in part.to_pylist()) <= 10
    monkeypatch.setattr(answers, "_MOST_SCORES", 6)
    assert max(len(part) for part in slices(pa.array(texts, kind), 2)) == 3
    assert [len(part) for part in slices(["a"] * 8, 2)] == [3, 3, 2]
