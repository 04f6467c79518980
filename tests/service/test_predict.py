"""Predictions: cut into parts, ranked, and not too many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.service import predict as module
from bunrui.service.errors import Problem
from bunrui.service.predict import explain_one, predict_all, slices

MANY = TextClassifier().learn([f"word{k}" for k in range(1001)], [f"label{k:04}" for k in range(1001)])


def test_an_answer_that_would_be_too_large() -> None:
    best = predict_all(MANY, ["word7"] * 999, 5000).get("top")
    assert best is not None and {len(row) for row in best} == {1001}
    with pytest.raises(Problem, match="1,000,000 labels") as caught:
        predict_all(MANY, ["word7"] * 1000, 5000)
    assert caught.value.status == 413


def test_the_best_labels_are_those_of_the_classifier() -> None:
    texts = ["word7 word8 word9", "", "word1000"]
    shares = MANY.predict_proba(texts)
    found = predict_all(MANY, texts, 3)
    assert found["labels"] == MANY.predict(texts).tolist() == ["label0007", "label0000", "label1000"]
    assert found["probabilities"] == shares.max(axis=1).tolist()
    assert found["top"] is not None
    for row, best in enumerate(found["top"]):
        order = np.argsort(-shares[row], kind="stable")[:3]
        expected = [{"label": f"label{k:04}", "probability": shares[row, k]} for k in order.tolist()]
        assert best == expected


@pytest.mark.parametrize("model", ["multinomial", "binary-complement", "nbsvm"])
def test_of_a_long_text_the_beginning_is_explained_and_the_rest_in_one_number(model: str) -> None:
    texts = ["cheap pills", "pills now", "see you at noon", "lunch at noon"]
    clf = TextClassifier(model).learn(texts, ["spam", "spam", "ham", "ham"])
    text = "pills " + "x " * 9_997 + "see you at noon for lunch"
    found = explain_one(clf, text, None, None)
    assert (found["text"], found["left_out"]) == (text[:20_000], len(text) - 20_000)
    assert [item["feature"] for item in found["contributions"] if "pills" in item["feature"].split()]
    whole = clf.explain(text)
    for name in ("label", "against", "score", "against_score", "probabilities"):
        assert found[name] == getattr(whole, name), name
    assert found["label"] == "ham" != clf.predict([found["text"]])[0]
    total = found["bias"] + sum(item["value"] for item in found["contributions"]) + found["rest"]
    np.testing.assert_allclose(total, found["score"] - found["against_score"], rtol=1e-9)
    asked = explain_one(clf, text, "spam", None)
    assert (asked["label"], asked["against"], asked["rest"]) == ("spam", "ham", pytest.approx(-found["rest"]))


def test_explanations_are_bounded_by_what_a_text_becomes() -> None:
    found = explain_one(MANY, "ﷺ" * 2000, None, None)
    assert (len(found["text"]), found["left_out"]) == (1111, 889)
    rows = TextClassifier(analyzer=bunrui.AnalyzerSpec(name="columns")).learn(['{"a": 1}', '{"a": 2}'], ["x", "y"])
    assert explain_one(rows, '{"a": 1}', None, None)["label"] == "x"
    with pytest.raises(Problem, match="20,000 characters") as caught:
        explain_one(rows, '{"a": "' + "b" * 20_000 + '"}', None, None)
    assert caught.value.status == 413


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("start", [0, 3])
def test_parts_are_small_and_miss_nothing(kind: pa.DataType, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 10)
    texts = ["", "語", "a" * 9, "b" * 10, "c" * 11, "d" * 30, *"efghij" * 4, "", ""][start:]
    parts = list(slices(pa.array(["", "", "", *texts], kind)[3:], 2))
    assert [text for part in parts for text in part.to_pylist()] == texts
    assert len(parts) > 5
    for part in parts:
        assert len(part) == 1 or sum(len(text.encode()) for text in part.to_pylist()) <= 10
    monkeypatch.setattr(module, "_MOST_SCORES", 6)
    assert max(len(part) for part in slices(pa.array(texts, kind), 2)) == 3
    assert [len(part) for part in slices(["a"] * 8, 2)] == [3, 3, 2]
