"""How much at once: the rest is refused in words, and the service goes on."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx

import bunrui
from tests.service.conftest import TOKEN, Serve, Server, problem

JSON = {"Content-Type": "application/json"}


def test_a_body_that_is_too_large(small: Server) -> None:
    body = json.dumps({"texts": ["a" * 2_000_000]}).encode()
    assert (
        "1,048,576 bytes"
        in problem(small.client.post("/v1/predict", content=body, headers=JSON), 413, "too-large")["detail"]
    )


def test_a_body_that_does_not_say_how_large_it_is(small: Server) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(400):
            yield b" " * 10_000

    problem(small.client.post("/v1/predict", content=pieces(), headers=JSON), 413, "too-large")
    short = small.client.post("/v1/predict", content=iter([b'{"texts":', b'["pills"]}']), headers=JSON)
    assert short.json()["labels"] == ["spam"]


def test_a_body_that_never_ends_is_not_read(small: Server) -> None:
    """Nobody reads on what was refused: the answer is there at once."""
    host, _, port = small.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        head = f"POST /v1/predict HTTP/1.1\r\nHost: {small.host}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: 1000000000\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


def test_documents_and_their_length(small: Server) -> None:
    ask = lambda texts: small.client.post("/v1/predict", json={"texts": texts})  # noqa: E731
    assert ask(["a"] * 3).status_code == 200
    assert "3 documents" in problem(ask(["a"] * 4), 413, "too-large")["detail"]
    assert ask(["語" * 2000]).status_code == 200
    assert "2,000 characters" in problem(ask(["語" * 2001]), 413, "too-large")["detail"]
    assert "2,000 characters" in problem(ask(["語" * 100_000]), 413, "too-large")["detail"]
    assert "3 documents" in problem(ask(["a" * 1900] * 100), 413, "too-large")["detail"]
    assert "strings" in problem(ask(["a"] * 100_000), 413, "too-large")["detail"]


def test_many_short_texts_keep_nobody_waiting(serve: Serve, tmp_path: Path) -> None:
    """With many labels, a short body is much work: others are answered meanwhile."""
    with bunrui.create(tmp_path / "many.bunrui") as clf:
        clf.learn([f"word{k}" for k in range(200)], [f"label{k}" for k in range(200)])
    server = serve(path=tmp_path / "many.bunrui")
    ask = {"texts": ["a"] * 7500, "top": 100}
    for _ in range(3):  # from now on, all is at hand
        server.client.post("/v1/predict", json={"texts": ["a"], "top": 1}).raise_for_status()
    answers: list[httpx.Response] = []
    thread = threading.Thread(
        target=lambda: answers.append(httpx.post(f"{server.url}/v1/predict", json=ask, timeout=60))
    )
    longest, started = 0.0, time.monotonic()
    thread.start()
    while thread.is_alive():
        asked = time.monotonic()
        server.client.get("/healthz").raise_for_status()
        longest = max(longest, time.monotonic() - asked)
    assert len(answers[0].json()["labels"]) == 7500
    assert longest < (time.monotonic() - started) / 4


def test_too_many_requests_at_once(small: Server) -> None:
    statuses: Counter[int] = Counter()
    waits: set[str | None] = set()
    lock = threading.Lock()

    def ask() -> None:
        with httpx.Client(base_url=small.url, timeout=60) as client:
            for _ in range(30):
                answer = client.post("/v1/explain", json={"text": "pills at noon " * 140})
                with lock:
                    statuses[answer.status_code] += 1
                    if answer.status_code != 200:
                        problem(answer, 503, "busy")
                        waits.add(answer.headers["retry-after"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        started = time.monotonic()
        assert small.client.get("/healthz").status_code == 200  # whatever the load
        assert time.monotonic() - started < 5
    assert set(statuses) == {200, 503} and sum(statuses.values()) == 240
    assert waits == {"1"}
    active = re.search(r"^bunrui_requests_active (\d+)$", small.client.get("/metrics").text, re.MULTILINE)
    assert active is not None and active[1] == "0"
    assert small.client.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"] == ["spam"]


def test_slow_clients_keep_nobody_out(small: Server) -> None:
    host, _, port = small.host.partition(":")
    head = f"POST /v1/predict HTTP/1.1\r\nHost: {small.host}\r\nContent-Type: application/json\r\n"
    slow = [socket.create_connection((host, int(port)), timeout=10) for _ in range(20)]
    for connection in slow:
        connection.sendall(head.encode() + b'Content-Length: 99\r\n\r\n{"texts":')
    time.sleep(0.2)
    assert small.client.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"] == ["spam"]
    for connection in slow:
        connection.close()
    until = time.monotonic() + 10
    while "bunrui_body_bytes 0\n" not in small.client.get("/metrics").text:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_overload_loses_nothing_that_was_acknowledged(serve: Serve) -> None:
    server = serve("--max-requests", "4")
    learned: list[str] = []
    refused: Counter[int] = Counter()

    def learn(name: str) -> None:
        with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as client:
            for k in range(25):
                id = f"{name}-{k}"
                answer = client.post("/v1/learn", json={"texts": [f"word {id}"], "labels": ["x"], "ids": [id]})
                if answer.status_code == 200:
                    learned.append(id)
                else:
                    problem(answer, 503, "busy")
                    refused[answer.status_code] += 1

    threads = [threading.Thread(target=learn, args=(f"t{k}",)) for k in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused[503] > 0 and len(learned) + refused[503] == 250
    labels = {row["label"]: row["documents"] for row in server.client.get("/v1/labels").json()["labels"]}
    assert labels["x"] == len(learned)
