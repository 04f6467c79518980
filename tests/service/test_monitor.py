"""What those see who run the service: health, metrics, the log, the description, the page."""

from __future__ import annotations

import json
import os
import re
import resource

import pytest

from tests.service.conftest import TOKEN, Serve, Server
from tests.support.waiting import wait_until

LINE = re.compile(r'^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? (\d+(\.\d+)?)$')


def test_health(server: Server) -> None:
    assert server.client.get("/healthz").json() == {"alive": True}
    assert server.client.get("/readyz").json() == {"ready": True}


def samples(server: Server) -> dict[str, float]:
    answer = server.client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert answer.text.endswith("\n")
    found: dict[str, float] = {}
    for line in lines:
        if not re.match(r"# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram))$", line):
            assert LINE.match(line), line
            name, _, value = line.rpartition(" ")
            assert name not in found
            found[name] = float(value)
    return found


def test_metrics(server: Server) -> None:
    before = samples(server)
    for _ in range(3):
        server.client.post("/v1/predict", json={"texts": ["a"]})
    server.client.post("/v1/predict", json={})
    server.client.get("/v1/evaluate/one")
    server.client.get("/v1/evaluate/two")
    server.client.get("/nothing-of-this-name")
    after = samples(server)

    def more(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert more('bunrui_requests_total{route="/v1/predict",status="200"}') == 3
    assert more('bunrui_requests_total{route="/v1/predict",status="422"}') == 1
    assert more('bunrui_requests_total{route="/v1/evaluate/{id}",status="404"}') == 2
    assert more('bunrui_requests_total{route="other",status="404"}') == 1
    assert more('bunrui_request_seconds_count{route="/v1/predict"}') == 4
    assert more('bunrui_request_seconds_bucket{route="/v1/predict",le="+Inf"}') == 4
    assert more('bunrui_request_seconds_sum{route="/v1/predict"}') > 0
    buckets = [
        value for name, value in after.items() if name.startswith('bunrui_request_seconds_bucket{route="/v1/predict"')
    ]
    assert buckets == sorted(buckets)
    assert (after["bunrui_documents"], after["bunrui_labels"]) == (4, 2)
    assert after["bunrui_features"] > 0 and after["bunrui_file_bytes"] >= server.path.stat().st_size
    assert {f'bunrui_queue{{lane="{lane}"}}' for lane in ("read", "write", "jobs")} <= set(after)


def test_the_log_has_no_documents(server: Server) -> None:
    secret = "a-word-that-no-log-may-have"
    server.client.post("/v1/predict", json={"texts": [secret]})
    server.client.post("/v1/predict", json={"texts": [secret], "top": secret})
    server.client.post("/v1/learn", json={"texts": [secret], "labels": [""]})
    server.client.post("/v1/unlearn", json={"texts": [secret], "labels": [secret]})
    server.client.post("/v1/explain", json={"text": secret})
    server.client.get(f"/v1/words?word={secret}")
    server.client.get(f"/{secret}")
    refused = server.client.post("/v1/relabel", json={"texts": [secret], "to": secret}).json()
    wait_until(lambda: refused["instance"] in server.log.read_text())  # the line comes after the answer
    first, *lines = server.log.read_text().splitlines()
    assert first.startswith("serving ")
    entries = [json.loads(line) for line in lines]
    assert {"start", "ready", "request"} <= {entry["event"] for entry in entries}
    assert all(set(entry) >= {"time", "level", "event"} for entry in entries)
    told = next(entry for entry in entries if entry.get("instance") == refused["instance"])
    assert (told["route"], told["status"], told["problem"]) == ("/v1/relabel", 409, "conflict")
    assert secret not in server.log.read_text()
    assert TOKEN not in server.log.read_text()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="sets the limits of another process")
def test_out_of_file_descriptors_the_log_says_so_once(serve: Serve) -> None:
    server = serve()
    n_open = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    _, most = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (n_open + 5, most))
    connections = [server.connect() for _ in range(20)]
    wait_until(lambda: server.process.poll() is not None or "out of system resource" in server.log.read_text())
    for connection in connections:
        connection.close()
    assert server.client.get("/healthz").status_code == 200  # asyncio tries again in a second
    assert server.log.read_text().count("out of system resource") == 1


def test_the_description_has_an_example_of_everything(server: Server) -> None:
    description = server.client.get("/openapi.json").json()
    assert description["openapi"].startswith("3.")
    operations = {
        (method, path): operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }
    assert {path for _, path in operations} >= {
        *(f"/v1/{verb}" for verb in ("predict", "explain", "learn", "unlearn", "relabel", "undo", "evaluate")),
        *(f"/v1/{noun}" for noun in ("labels", "words", "info", "log")),
        "/v1/evaluate/{id}",
    }
    for (_, path), operation in operations.items():
        done = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
        assert path in ("/v1/downloads/{id}", "/v1/deliver") or done["content"]["application/json"]["example"]
        if "application/json" in operation.get("requestBody", {}).get("content", {}):
            assert operation["requestBody"]["content"]["application/json"]["example"]
        for status, answer in operation["responses"].items():
            assert status.startswith("2") or list(answer["content"]) == ["application/problem+json"], (path, status)
        if path.rpartition("/")[2] in ("learn", "unlearn", "relabel", "undo"):
            assert operation["security"] == [{"token": []}]


def test_examples_work(server: Server) -> None:
    """Those of bodies, in an order that leaves everything as it was."""
    paths = server.client.get("/openapi.json").json()["paths"]

    def ask(verb: str) -> int:
        body = paths[f"/v1/{verb}"]["post"]["requestBody"]["content"]["application/json"]["example"]
        return server.client.post(f"/v1/{verb}", json=body).status_code

    assert [ask(verb) for verb in ("predict", "explain", "learn", "unlearn", "evaluate")] == [200, 200, 200, 200, 202]
    for _ in range(2):
        assert server.client.post("/v1/undo").status_code == 200


def test_the_page(server: Server) -> None:
    page = server.client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert "<title>" in page.text
    assert server.client.get("/docs").status_code == server.client.get("/redoc").status_code == 404
