"""Routes that read, as a program asks them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

import bunrui
from tests.service.conftest import LABELS, TEXTS, Serve, Server, problem

ARROW = "application/vnd.apache.arrow.stream"
NEW = ["cheap pills", "see you at noon", "無料です", ""]


def stream(**columns: object) -> bytes:
    table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


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
        ({}, "texts"),
        ({"texts": []}, "texts"),
        ({"texts": "one"}, "texts"),
        ({"texts": [1]}, "texts"),
        ({"texts": [None]}, "texts"),
        ({"texts": ["a"], "top": 0}, "top"),
        ({"texts": ["a"], "top": "3"}, "top"),
        ({"texts": ["a"], "tops": 3}, "tops"),
        ({"texts": ["a"], "model": 3}, "model"),
        ({"texts": ["a"], "model": "bert"}, "bert"),
        ([], ""),
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


def test_labels_words_info_log(server: Server) -> None:
    ask = server.client.get
    assert ask("/v1/labels").json() == {
        "labels": [{"label": "ham", "documents": 2}, {"label": "spam", "documents": 2}],
    }
    with bunrui.open(server.path, read_only=True) as clf:
        best = clf.words("spam", top=3)
        assert ask("/v1/words", params={"label": "spam", "top": 3}).json() == {
            "words": [{"word": word.text, "weight": word.weight, "counts": word.counts} for word in best]
        }
        info = ask("/v1/info").json()
        service = info.pop("service")
        assert info == json.loads(json.dumps(clf.info()))
        assert (service["file"], service["writable"]) == ("mail.bunrui", True)
        assert service["limits"]["documents"] == 100_000
        changes = ask("/v1/log").json()["changes"]
        assert changes == [json.loads(json.dumps(entry._asdict())) for entry in reversed(clf.history())]
    assert ask("/v1/log", params={"limit": 1}).json()["changes"] == changes[:1]
    assert ask("/v1/log", params={"before": 2}).json()["changes"] == changes[-1:]


def test_pages_of_the_log(serve: Serve) -> None:
    server = serve()
    for k in range(5):
        server.client.post("/v1/learn", json={"texts": [f"text {k}"], "labels": ["ham"]})
    everything = server.client.get("/v1/log").json()
    assert everything["next"] is None
    pages, before = [], {}
    while True:
        page = server.client.get("/v1/log", params={"limit": 2, **before}).json()
        pages += page["changes"]
        if page["next"] is None:
            break
        before = {"before": page["next"]}
    assert pages == everything["changes"]
    newest = everything["changes"][0]["number"]
    assert [change["number"] for change in _log(server, after=newest - 2)] == [newest, newest - 1]
    assert _log(server, after=newest) == []


def _log(server: Server, **params: int) -> list[dict[str, Any]]:
    return list(server.client.get("/v1/log", params=params).json()["changes"])


def test_words_refuse(server: Server) -> None:
    for asked in ({}, {"label": "eggs"}, {"negative": "ham"}, {"label": "ham", "top": 0}, {"label": "ham", "top": "x"}):
        problem(server.client.get("/v1/words", params=asked), 422, "invalid")
    assert server.client.get("/v1/words", params={"word": "never-learned"}).json() == {"words": []}


def test_addresses_and_methods(server: Server) -> None:
    problem(server.client.get("/v1/nothing"), 404, "not-found")
    problem(server.client.get("/v1/labels/"), 404, "not-found")
    problem(server.client.get("/../../etc/passwd"), 404, "not-found")
    refused = server.client.get("/v1/predict")
    problem(refused, 405, "no-such-method")
    assert refused.headers["allow"] == "POST"
    problem(server.client.post("/v1/labels", json={}), 405, "no-such-method")


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
    with httpx.Client(base_url=server.url) as other:
        for _ in range(20):
            a = server.client.post("/v1/predict", json={"texts": NEW}).json()
            assert other.post("/v1/predict", json={"texts": NEW}).json() == a
