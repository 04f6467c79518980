"""Labels that are integers or booleans: in JSON, in Arrow streams, in files, and as the page sends them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bunrui
from tests.service.conftest import ARROW, TEXTS, Server, finished, problem, running, stream

BYTES = {"Content-Type": "application/octet-stream"}
SPAM, HAM = 10, -1
OWN = [SPAM, SPAM, HAM, HAM]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("labels") / "mail.bunrui"
    with bunrui.create(path, "multinomial") as clf:
        clf.learn(TEXTS, OWN, ids=["1", "2", "3", "4"])
    yield from running(path)


@pytest.fixture(autouse=True)
def leave_as_found(server: Server) -> Iterator[None]:
    yield
    last = server.client.get("/v1/log").json()["changes"][0]["number"]
    if last > 1:
        post(server, "undo", to=1)


def post(server: Server, verb: str, **body: Any) -> Any:
    return server.client.post(f"/v1/{verb}", json=body)


def send(server: Server, verb: str, content: bytes, **options: str) -> Any:
    return server.client.post(f"/v1/{verb}", params=options, content=content, headers=BYTES)


def result(server: Server, started: Any) -> dict[str, Any]:
    job = finished(server, started)
    assert job["state"] == "done", job
    return dict(job["result"])


def labels_by_text(server: Server) -> dict[str, list[Any]]:
    with bunrui.open(server.path, read_only=True) as clf:
        return {document.text: document.labels for document in clf.documents()}


def test_answers_have_the_type(server: Server) -> None:
    found = post(server, "predict", texts=["cheap pills", "noon"], top=2).json()
    assert found["labels"] == [SPAM, HAM]
    assert [share["label"] for share in found["top"][0]] == [SPAM, HAM]
    assert post(server, "predict", texts=["pills"], several=True).json()["sets"] == [[SPAM]]
    why = post(server, "explain", text="cheap pills", label=HAM).json()
    assert (why["label"], why["against"], set(why["probabilities"])) == (HAM, SPAM, {"-1", "10"})
    known = server.client.get("/v1/labels").json()
    assert known == {"labels": [{"label": HAM, "documents": 2}, {"label": SPAM, "documents": 2}]}
    headers = {"Accept": ARROW}
    arrow = server.client.post("/v1/predict", json={"texts": ["pills"], "top": 1, "several": True}, headers=headers)
    table = pa.ipc.open_stream(arrow.content).read_all()
    assert table.schema.field("label").type == pa.int64()
    assert table["labels"].to_pylist() == [[SPAM]]


def test_numbers_and_texts_are_understood(server: Server) -> None:
    """As a program sends them, and as the page does."""
    post(server, "learn", texts=["one", "two", "three"], labels=[7, "10", 7])
    assert [labels_by_text(server)[text] for text in ("one", "two", "three")] == [[7], [10], [7]]
    assert post(server, "relabel", to="7", texts=["two"]).json()["changed"] == 1
    assert post(server, "relabel", to=["7", 8], texts=["one"]).json()["changed"] == 1
    assert [labels_by_text(server)[text] for text in ("one", "two")] == [[7, 8], [7]]
    assert post(server, "unlearn", texts=["two", "one"], labels=[["7"], ["8", 7]]).json()["changed"] == 2
    assert post(server, "explain", text="three", label="7", against="-1").json()["label"] == 7
    words = server.client.get("/v1/words", params={"positive": "10", "negative": "-1"}).json()["words"]
    assert words[0]["counts"] == {"10": 1}
    page = server.client.get("/v1/documents", params={"label": "7"}).json()["documents"]
    assert [document["labels"] for document in page] == [[7]]
    assert post(server, "evaluate", texts=["pills", "noon"], labels=["10", -1]).status_code == 202


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["spam"], "the label 'spam' is no integer, and the other labels are integers"),
        ([True], "the label True is of type bool, and others are of type int"),
        ([1 << 70], "more than 64 bits"),
        (["007"], "'007' is no integer"),
    ],
)
def test_others_are_refused(server: Server, labels: list[Any], said: str) -> None:
    assert said in problem(post(server, "learn", texts=["x"], labels=labels), 422, "invalid")["detail"]
    assert len(labels_by_text(server)) == len(TEXTS)


@pytest.mark.parametrize("labels", [[3, 4], [[3], [3, 4]], ["3", "4"]])
def test_large_bodies_and_streams(server: Server, labels: list[Any]) -> None:
    """Arrow reads both of them."""
    texts = ["long " * 40_000, "short"]
    expected = [[3], [3, 4]] if labels == [[3], [3, 4]] else [[3], [4]]
    assert post(server, "learn", texts=texts, labels=labels).status_code == 200
    assert [labels_by_text(server)[text] for text in texts] == expected
    post(server, "undo")
    sent = stream(text=texts, label=labels)
    assert server.client.post("/v1/learn", content=sent, headers={"Content-Type": ARROW}).status_code == 200
    assert [labels_by_text(server)[text] for text in texts] == expected


def test_files_and_teaching(server: Server) -> None:
    rows = b"text,label\ncheap tea,10\ntea at noon,3\n"
    done = result(server, send(server, "train", rows, name="a.csv"))
    assert done["changed"] == 2 and labels_by_text(server)["tea at noon"] == [3]
    done = result(server, send(server, "test", rows, name="a.csv"))
    assert [one["label"] for one in done["per_class"]] == [-1, 3, 10]
    failed = finished(server, send(server, "train", b'{"text": "a", "label": "x"}\n', name="a.jsonl"))
    assert "line 1: the label 'x' is no integer" in failed["problem"]["detail"]

    options = {"name": "b.txt", "labels": json.dumps(["10", -1])}
    taught = result(server, send(server, "teach", b"win pills\nteam lunch\n", **options))
    assert taught["labels"] == [10, -1, 3]
    question = post(server, "teach/next", client="me").json()["questions"][0]
    assert question["guess"] in (10, -1, 3)
    answered = post(server, "teach/answer", digest=question["digest"], labels=["-1"]).json()
    assert answered["labels"] == [-1] and labels_by_text(server)[question["text"]] == [-1]
    server.client.delete("/v1/teach")


def test_predicted_files(server: Server) -> None:
    sent = send(server, "files", b"win pills\nteam lunch\n", name="c.txt").json()
    job = server.client.post("/v1/predictions", params={"file": sent["id"]})
    assert result(server, job)["labels"] == {"10": 1, "-1": 1}
    place = f"/v1/predictions/{job.json()['id']}"
    assert [row["labels"] for row in server.client.get(place).json()["rows"]] == [[10], [-1]]
    assert server.client.get(place, params={"label": "10"}).json()["total"] == 1
    assert server.client.post(place, json={"row": 0, "labels": ["-1"]}).json()["labels"] == [-1]
    download = server.client.get(f"/v1/downloads/{job.json()['id']}", params={"format": "parquet"})
    table = pq.read_table(io.BytesIO(download.content))
    assert table["label"].to_pylist() == [-1, -1] and table.schema.field("label").type == pa.int64()


def test_studies(server: Server) -> None:
    mistakes = result(server, post(server, "mistakes"))
    assert [one["label"] for one in mistakes["per_class"]] == [-1, 10]
    assert all(isinstance(name, int) for one in mistakes["mistakes"] for name in [one["predicted"], *one["true"]])
    for suspect in result(server, post(server, "audit"))["suspects"]:
        assert isinstance(suspect["suggested"], int) and all(isinstance(name, int) for name in suspect["given"])


def test_openapi_names_the_types(server: Server) -> None:
    schemas = server.client.get("/openapi.json").json()["components"]["schemas"]
    for name in ("Share", "LabelCount", "Explained"):
        kinds = {one["type"] for one in schemas[name]["properties"]["label"]["anyOf"]}
        assert kinds == {"string", "integer", "boolean"}, name


def test_booleans(tmp_path: Path) -> None:
    path = tmp_path / "b.bunrui"
    with bunrui.create(path, "multinomial") as clf:
        clf.learn(TEXTS, [True, True, False, False])
    for server in running(path):
        assert post(server, "predict", texts=["pills", "noon"]).json()["labels"] == [True, False]
        assert post(server, "relabel", to="false", texts=TEXTS[:1]).json()["changed"] == 1
        assert post(server, "learn", texts=["x"], labels=[True]).json()["changed"] == 1
        assert server.client.get("/v1/info").json()["labels"] == {"false": 3, "true": 2}
        assert "is of type int" in problem(post(server, "learn", texts=["x"], labels=[1]), 422, "invalid")["detail"]
