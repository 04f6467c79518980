"""Routes that predict and explain; and predictions: cut into parts, ranked, and not too many."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.deliver import deliver_mail
from bunrui.service.errors import Problem
from bunrui.service.predict import explain_one, predict_all
from tests.service.conftest import ARROW, LABELS, TEXTS, Serve, Server, problem, stream

NEW = ["cheap pills", "see you at noon", "無料です", ""]
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


# --- the routes


def test_predict(server: Server) -> None:
    answer = server.client.post("/v1/predict", json={"texts": NEW})
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
    with bunrui.open(server.path, read_only=True) as clf:
        assert answer.json() == {
            "labels": clf.predict(NEW).tolist(),
            "probabilities": clf.predict_proba(NEW).max(axis=1).tolist(),
        }


def test_predict_the_best_labels_by_another_model(server: Server) -> None:
    answer = server.client.post("/v1/predict", json={"texts": NEW, "top": 10**30, "model": "multinomial"}).json()
    with bunrui.open(server.path, read_only=True) as clf:
        shares = clf.with_model("multinomial").predict_proba(NEW).tolist()
    for best, (ham, spam) in zip(answer["top"], shares, strict=True):
        expected = [{"label": "ham", "probability": ham}, {"label": "spam", "probability": spam}]
        assert best == sorted(expected, key=lambda share: -share["probability"])


@pytest.mark.parametrize("n", [1, 33, 5000])
def test_predict_many_is_the_same_as_predicting_each(server: Server, n: int) -> None:
    texts = [f"{TEXTS[k % 4]} {k % 7} 무료" for k in range(n)]
    with bunrui.open(server.path, read_only=True) as clf:
        expected = clf.predict(texts).tolist(), clf.predict_proba(texts).max(axis=1).tolist()
    answer = server.client.post("/v1/predict", json={"texts": texts}).json()
    assert (answer["labels"], answer["probabilities"]) == expected
    pretty = json.dumps({"texts": texts}, ensure_ascii=False, indent=1).encode()
    answer = server.client.post("/v1/predict", content=pretty, headers={"Content-Type": "application/json"}).json()
    assert (answer["labels"], answer["probabilities"]) == expected


def test_predict_in_arrow(server: Server) -> None:
    headers = {"Content-Type": ARROW, "Accept": ARROW}
    answer = server.client.post("/v1/predict?top=1", content=stream(text=NEW, other=[1, 2, 3, 4]), headers=headers)
    assert answer.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(answer.content).read_all()
    plain = server.client.post("/v1/predict", json={"texts": NEW, "top": 1}).json()
    assert table["label"].to_pylist() == plain["labels"]
    assert table["probability"].to_pylist() == plain["probabilities"]
    tops = [[(share["label"], share["probability"]) for share in best] for best in plain["top"]]
    assert table["probabilities"].to_pylist() == tops
    # One of the two in Arrow is enough.
    half = server.client.post("/v1/predict", content=stream(text=NEW), headers={"Content-Type": ARROW})
    assert half.json() == {"labels": plain["labels"], "probabilities": plain["probabilities"]}
    half = server.client.post("/v1/predict", json={"texts": NEW}, headers={"Accept": ARROW})
    assert pa.ipc.open_stream(half.content).read_all()["label"].to_pylist() == plain["labels"]


@pytest.mark.parametrize("text", ["\0", "a\0b", "\u202e" * 9, "😀" * 100, "ﷺ" * 50, "e\u0301" * 99, "a" * 1_000_000])
def test_unusual_texts(server: Server, text: str) -> None:
    answer = server.client.post("/v1/predict", json={"texts": [text]})
    assert answer.status_code == 200
    with bunrui.open(server.path, read_only=True) as clf:
        assert answer.json()["labels"] == clf.predict([text]).tolist()


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({}, "/texts: this is missing"),
        ({"texts": []}, "/texts: this is empty: give at least 1"),
        ({"texts": "one"}, "/texts: this should be a list"),
        ({"texts": [1]}, "/texts/0: this should be a string"),
        ({"texts": [None]}, "/texts/0: this should be a string"),
        ({"texts": ["a"], "top": 0}, "/top: this should be at least 1"),
        ({"texts": ["a"], "top": "3"}, "/top: this should be a whole number"),
        ({"texts": ["a"], "tops": 3}, "/tops: there is no such field: /openapi.json lists them"),
        ({"texts": ["a"], "model": 3}, "/model: this should be a string"),
        ({"texts": ["a"], "model": "bert"}, "bert"),
        ([], "this should be a JSON object"),
    ],
)
def test_predict_refuses(server: Server, body: object, part: str) -> None:
    assert part in problem(server.client.post("/v1/predict", json=body), 422, "invalid")["detail"]


def test_explain(server: Server) -> None:
    text = "Cheap PILLS 😀 zzz, pills"
    answer = server.client.post("/v1/explain", json={"text": text})
    with bunrui.open(server.path, read_only=True) as clf:
        assert answer.json() == json.loads(clf.explain(text).to_json()) | {"left_out": 0, "rest": 0.0}
    found = {item["feature"]: item["spans"] for item in answer.json()["contributions"]}
    assert [text[a:b] for a, b in found["pills"]] == ["PILLS", "pills"]


def test_explain_another_label(server: Server) -> None:
    asked = {"text": "pills at noon", "label": "ham", "against": "spam", "model": "multinomial"}
    answer = server.client.post("/v1/explain", json=asked).json()
    assert (answer["label"], answer["against"]) == ("ham", "spam")
    problem(server.client.post("/v1/explain", json=asked | {"label": "spam"}), 422, "invalid")
    problem(server.client.post("/v1/explain", json=asked | {"label": "eggs"}), 422, "invalid")
    problem(server.client.post("/v1/explain", json={"text": "x" * 100_001}), 422, "invalid")
    problem(
        server.client.post("/v1/explain", content=stream(text=["a"]), headers={"Content-Type": ARROW}),
        415,
        "media-type",
    )


def test_nothing_learned_yet(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "empty.bunrui"
    bunrui.create(path).close()
    server = serve(path=path)
    problem(server.client.post("/v1/predict", json={"texts": ["a"]}), 409, "conflict")
    problem(server.client.post("/v1/explain", json={"text": "a"}), 409, "conflict")
    assert server.client.get("/v1/labels").json() == {"labels": []}
    learned = server.client.post("/v1/learn", json={"texts": TEXTS, "labels": LABELS})
    assert learned.json() == {"transaction": 1, "changed": 4, "documents": 4, "duplicates": 0}
    assert server.client.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"] == ["spam"]


def test_two_clients_at_once(server: Server) -> None:
    with server.stranger() as other:
        for _ in range(20):
            a = server.client.post("/v1/predict", json={"texts": NEW}).json()
            assert other.post("/v1/predict", json={"texts": NEW}).json() == a


def test_a_mail_comes_back_with_its_label(server: Server) -> None:
    mail = b"Subject: cheap pills\nX-Bunrui-Label: forged\n\nnow\n"
    kind = {"content-type": "message/rfc822"}
    answer = server.client.post("/v1/deliver", content=mail, headers=kind)
    with bunrui.open(server.path, read_only=True) as clf:
        assert (answer.status_code, answer.content) == (200, deliver_mail(clf, mail).mail)
    assert answer.headers["content-type"] == "message/rfc822"
    assert answer.content.startswith(b"X-Bunrui-Label: spam\nX-Bunrui-Probability: ")
    assert b"forged" not in answer.content
    told = problem(server.client.post("/v1/deliver", content=b"\n", headers=kind), 422, "invalid")
    assert "there is no mail" in told["detail"]
    problem(server.client.post("/v1/deliver", json={"mail": "x"}), 415, "media-type")
    told = problem(server.client.post("/v1/deliver?unsure=0.01", content=mail, headers=kind), 409, "conflict")
    assert "/v1/calibrate" in told["detail"]
