"""Evaluations: started, looked at, cancelled."""

from __future__ import annotations

import pytest

import bunrui
from bunrui.evaluation import measure
from tests.service.conftest import ARROW, LABELS, TEXTS, Server, finished, problem, stream


@pytest.mark.parametrize("n", [4, 4000])
@pytest.mark.parametrize("model", [None, "multinomial"])
def test_a_batch(server: Server, n: int, model: str | None) -> None:
    texts = [f"{TEXTS[k % 4]} {TEXTS[k % 3]}" for k in range(n)]
    labels = [[LABELS[k % 4], "eggs"] if k % 5 else ["eggs"] for k in range(n)]
    job = finished(
        server, server.client.post("/v1/evaluate", json={"texts": texts, "labels": labels, "model": model}), "evaluate"
    )
    assert (job["state"], job["kind"], job["progress"]) == ("done", "batch", {"done": n, "total": n})
    with bunrui.open(server.path, read_only=True) as clf:
        clf = clf.with_model(model)
        assert job["result"] == measure(labels, clf.predict(texts), labels=clf.classes_).to_dict()


def test_a_batch_in_arrow(server: Server) -> None:
    body = stream(text=TEXTS, label=LABELS)
    started = server.client.post("/v1/evaluate?model=binary", content=body, headers={"Content-Type": ARROW})
    assert finished(server, started, "evaluate")["result"]["accuracy"] == 1.0


def test_leave_one_out(server: Server) -> None:
    for answer in (server.client.post("/v1/evaluate"), server.client.post("/v1/evaluate", json={"model": "binary"})):
        job = finished(server, answer, "evaluate")
        assert (job["state"], job["kind"], job["progress"]) == ("done", "leave-one-out", {"done": 4, "total": 4})
        assert job["result"]["n"] == 4


def test_what_cannot_be_evaluated(server: Server) -> None:
    ask = server.client.post
    problem(ask("/v1/evaluate", json={"texts": ["a"]}), 422, "invalid")
    problem(ask("/v1/evaluate", json={"labels": ["a"]}), 422, "invalid")
    problem(ask("/v1/evaluate", json={"texts": ["a"], "labels": ["x", "y"]}), 422, "invalid")
    problem(ask("/v1/evaluate", json={"texts": ["a"], "labels": ["x"], "model": "bert"}), 422, "invalid")
    failed = finished(server, ask("/v1/evaluate", json={"texts": ["a"], "labels": [""]}), "evaluate")
    assert failed["state"] == "failed" and failed["problem"]["type"] == "urn:bunrui:problem:invalid"


def test_cancel(server: Server) -> None:
    """Long enough that this does not come too late: 50 MB."""
    body = stream(text=["word " * 20_000] * 500, label=["spam"] * 500)
    started = server.client.post("/v1/evaluate", content=body, headers={"Content-Type": ARROW})
    cancelled = server.client.delete(started.headers["location"])
    assert cancelled.status_code == 200 and cancelled.json()["id"] == started.json()["id"]
    job = finished(server, started, "evaluate")
    assert job["state"] == "cancelled" and "result" not in job
    assert job["progress"]["done"] < 500


def test_jobs_that_nobody_started(server: Server) -> None:
    problem(server.client.get("/v1/evaluate/nothing"), 404, "not-found")
    problem(server.client.delete("/v1/evaluate/nothing"), 404, "not-found")
    problem(server.client.get("/v1/evaluate"), 405, "no-such-method")
