"""How much at once: the rest is refused in words, and the service goes on."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import bunrui
from bunrui.service.admission import BodyReader
from bunrui.service.errors import Problem
from tests.service.conftest import TOKEN, Serve, Server, problem
from tests.support.waiting import PATIENCE, wait_until

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
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        head = f"POST /v1/predict HTTP/1.1\r\nHost: {small.host}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: 1000000000\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


def test_documents_and_their_length(small: Server) -> None:
    ask = lambda texts: small.client.post("/v1/predict", json={"texts": texts})  # noqa: E731
    assert ask(["a"] * 3).status_code == 200
    refused = problem(ask(["a"] * 4), 413, "too-large")
    assert "3 documents" in refused["detail"] and (refused["cause"], refused["most"]) == ("documents", 3)
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

    def longest_wait() -> float:
        """The longest time that another waited, as a share of the time of the long request."""
        answers: list[httpx.Response] = []
        thread = threading.Thread(
            target=lambda: answers.append(httpx.post(f"{server.url}/v1/predict", json=ask, timeout=PATIENCE)),
            daemon=True,
        )
        longest, started = 0.0, time.monotonic()
        thread.start()
        while thread.is_alive():
            asked = time.monotonic()
            server.client.get("/healthz").raise_for_status()
            longest = max(longest, time.monotonic() - asked)
        assert len(answers[0].json()["labels"]) == 7500
        return longest / (time.monotonic() - started)

    # A busy machine keeps this or that answer back, but not one in each of ten attempts.
    assert any(longest_wait() < 1 / 4 for _ in range(10))


def test_too_many_requests_at_once(small: Server) -> None:
    statuses: Counter[int] = Counter()
    waits: set[str | None] = set()
    lock = threading.Lock()

    def ask() -> None:
        with small.stranger() as client:
            for n_asked in range(3000):
                if n_asked >= 30 and {200, 503} <= set(statuses):
                    break
                answer = client.post("/v1/explain", json={"text": "pills at noon " * 140})
                with lock:
                    statuses[answer.status_code] += 1
                    if answer.status_code != 200:
                        problem(answer, 503, "busy")
                        waits.add(answer.headers["retry-after"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    n_healthy = 0
    while any(thread.is_alive() for thread in threads):
        assert small.client.get("/healthz").status_code == 200  # whatever the load
        n_healthy += 1
    assert n_healthy > 10  # it does not wait behind the others
    assert set(statuses) == {200, 503} and sum(statuses.values()) >= 240
    assert waits == {"1"}
    active = re.search(r"^bunrui_requests_active (\d+)$", small.client.get("/metrics").text, re.MULTILINE)
    assert active is not None and active[1] == "0"
    assert small.client.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"] == ["spam"]


def test_slow_clients_keep_nobody_out(small: Server) -> None:
    head = f"POST /v1/predict HTTP/1.1\r\nHost: {small.host}\r\nContent-Type: application/json\r\n"
    slow = [small.connect() for _ in range(20)]
    for connection in slow:
        connection.sendall(head.encode() + b'Content-Length: 99\r\n\r\n{"texts":')
    wait_until(lambda: held(small) == 20 * len('{"texts":'))
    assert small.client.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"] == ["spam"]
    for connection in slow:
        connection.close()
    wait_until(lambda: held(small) == 0)


def test_overload_loses_nothing_that_was_acknowledged(serve: Serve) -> None:
    server = serve("--max-requests", "4")
    learned: list[str] = []
    refused: Counter[int] = Counter()

    def learn(name: str) -> None:
        with server.stranger() as client:
            client.headers["Authorization"] = f"Bearer {TOKEN}"
            for k in range(2500):
                if k >= 25 and refused:
                    break
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
        thread.join(PATIENCE)
    assert refused[503] > 0 and len(learned) + refused[503] >= 250
    labels = {row["label"]: row["documents"] for row in server.client.get("/v1/labels").json()["labels"]}
    assert labels["x"] == len(learned)


MB = 1 << 20


def stalled(server: Server, size: int, sent: int) -> socket.socket:
    """A request whose body stands still."""
    connection = server.connect()
    head = f"POST /v1/predict HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode() + b" " * sent)
    return connection


def held(server: Server) -> int:
    """Bytes of bodies in memory."""
    found = re.search(r"^bunrui_body_bytes (\d+)$", server.client.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_bodies_that_stand_still_keep_out_neither_the_owner_nor_small_ones(serve: Serve) -> None:
    server = serve("--max-body", "1")
    connections = [stalled(server, MB, MB - 1) for _ in range(4)]
    # Each is in memory, or was refused.
    wait_until(lambda: held(server) // (MB - 1) + server.log.read_text().count('"status":503') >= 4)
    stranger = server.stranger()
    assert stranger.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"] == ["spam"]
    large = {"texts": ["pills", " " * (MB - 100)]}
    assert server.client.post("/v1/predict", json=large).json()["labels"][0] == "spam"
    assert server.client.post("/v1/learn", json={"texts": ["new"], "labels": ["ham"]}).status_code == 200
    for connection in (*connections, stranger):
        connection.close()


class Hurried(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to what comes next when there is nothing to do."""

    skipped = 0.0

    def time(self) -> float:
        return self.skipped  # and not the time of the machine, which may be slow

    def _run_once(self) -> None:
        coming = [timer.when() for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        if coming and not self._ready:  # type: ignore[attr-defined]
            self.skipped += max(0.0, min(coming) - self.time())
        super()._run_once()  # type: ignore[misc]


def hurried(scenario: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=Hurried) as runner:
        runner.run(scenario)


class Pieces:
    """A body that comes in pieces, so many seconds apart, and then stands still."""

    def __init__(self, pieces: list[bytes], apart: float, *, ends: bool) -> None:
        self._left, self._apart, self._ends = pieces, apart, ends

    async def __call__(self) -> dict[str, Any]:
        if not self._left:
            await asyncio.Event().wait()
        await asyncio.sleep(self._apart)
        piece, *self._left = self._left
        return {"type": "http.request", "body": piece, "more_body": bool(self._left) or not self._ends}


def test_a_body_ends_that_comes_too_slowly() -> None:
    async def seconds(pieces: Pieces, reader: BodyReader) -> tuple[float, int | str]:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            body = await reader.read({}, pieces)
            reader.release(len(body))
            outcome: int | str = len(body)
        except Problem as problem:
            outcome = problem.kind
        assert reader.held == 0
        return round(loop.time() - started), outcome

    async def scenario() -> None:
        reader = BodyReader(8 * MB)
        piece = b" " * (MB // 16)
        assert await seconds(Pieces([piece] * 10, 9, ends=True), reader) == (90, 10 * MB // 16)
        assert await seconds(Pieces([piece] * 20, 9, ends=True), reader) == (120, "too-slow")
        assert await seconds(Pieces([piece * 100], 0, ends=False), reader) == (10, "too-slow")
        assert await seconds(Pieces([b" "] * 100, 1, ends=False), reader) == (10, "too-slow")
        assert await seconds(Pieces([], 0, ends=False), reader) == (10, "too-slow")

    hurried(scenario())


def test_large_bodies_are_refused_and_small_ones_read_while_others_fill_the_memory() -> None:
    async def scenario() -> None:
        reader = BodyReader(MB)
        for _ in range(2):
            assert len(await reader.read({}, Pieces([b" " * MB], 0, ends=True))) == MB
        with pytest.raises(Problem) as caught:
            await reader.read({}, Pieces([b" " * 1000, b" " * MB], 0, ends=True))
        assert (caught.value.kind, reader.held) == ("too-large", 2 * MB)
        with pytest.raises(Problem) as caught:
            await reader.read({}, Pieces([b" " * 1000, b" " * 100_000], 0, ends=True))
        assert (caught.value.kind, reader.held) == ("busy", 2 * MB)
        assert await reader.read({}, Pieces([b" " * 1000, b" " * 1000], 0, ends=True)) == b" " * 2000
        assert reader.held == 2 * MB + 2000
        reader.release(MB)
        await reader.read({}, Pieces([b" " * 1000, b" " * 100_000], 0, ends=True))
        for size in (MB, 2000, 101_000):
            reader.release(size)
        assert reader.held == 0

    hurried(scenario())


def test_a_body_that_stands_still_does_not_delay_the_stop(serve: Serve) -> None:
    server = serve()
    with stalled(server, MB, 1000) as connection:
        wait_until(lambda: held(server))
        server.process.send_signal(signal.SIGTERM)
        assert b"503" in connection.recv(65536).partition(b"\r\n")[0]
        assert server.process.wait(PATIENCE) == 0


def test_requests_of_strangers_keep_out_none_with_the_token(serve: Serve) -> None:
    server = serve("--max-requests", "1")
    statuses: Counter[int] = Counter()
    is_over = threading.Event()

    def ask() -> None:
        with server.stranger() as client:
            while not is_over.is_set():
                statuses[client.post("/v1/explain", json={"text": "pills at noon " * 500}).status_code] += 1

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            server.client.post("/v1/predict", json={"texts": ["pills"]}).raise_for_status()
            server.client.get("/v1/labels").raise_for_status()
        wait_until(lambda: server.client.get("/v1/labels").raise_for_status() and statuses[503] >= 20)
    finally:
        is_over.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert set(statuses) == {200, 503}
