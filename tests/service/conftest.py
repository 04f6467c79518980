"""A real service in a process of its own, and a client to ask it."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

import bunrui
from bunrui.data import read
from tests.support.processes import heeding_ctrl_c
from tests.support.waiting import PATIENCE, wait_until

SOURCE = Path(__file__).resolve().parents[2] / "src"
TOKEN = "a-token-for-tests"
ADDRESS = re.compile(r"at (http://[^\s/]+)/")
ARROW = "application/vnd.apache.arrow.stream"

TEXTS = ["cheap pills now", "win money fast", "meeting at noon", "lunch with the team at noon"]
LABELS = ["spam", "spam", "ham", "ham"]
TOPICS = [f"topic {letter}" for letter in "abcdefghijklmnopqrst"]


@dataclass
class Server:
    """A running service."""

    process: subprocess.Popen[bytes]
    url: str
    path: Path
    log: Path
    client: httpx.Client

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def stranger(self) -> httpx.Client:
        """A client without the token."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE)

    def connect(self) -> socket.socket:
        """A connection, to send what no client would send."""
        host, _, port = self.host.partition(":")
        return socket.create_connection((host, int(port)), timeout=PATIENCE)

    def wait_until_ready(self) -> None:
        def is_ready() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            with suppress(httpx.TransportError):
                return self.client.get("/readyz").status_code == 200
            return False

        wait_until(is_ready)

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End it, and wait; the exit code."""
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self.client.close()
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self.client.close()


Serve = Callable[..., Server]


def make_classifier(path: Path, **options: Any) -> Path:
    with bunrui.create(path, **options) as clf:
        clf.learn(TEXTS, LABELS, ids=["1", "2", "3", "4"])
    return path


def _start(path: Path, log: Path, *options: str, token: str | None = TOKEN) -> Server:
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    environment.pop("BUNRUI_TOKEN", None)
    if token is not None:
        environment["BUNRUI_TOKEN"] = token
    with log.open("wb") as stderr, heeding_ctrl_c():
        process = subprocess.Popen(
            [sys.executable, "-m", "bunrui", "serve", str(path), "--port", "0", *options],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    try:
        wait_until(lambda: process.poll() is not None or ADDRESS.search(log.read_text()))
        found = ADDRESS.search(log.read_text())
        assert found is not None, log.read_text()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        client = httpx.Client(base_url=found[1], headers=headers, timeout=PATIENCE)
        server = Server(process, found[1], path, log, client)
        server.wait_until_ready()
    except BaseException:
        process.kill()
        raise
    return server


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start services that end with the test."""
    started: list[Server] = []

    def call(*options: str, path: Path | None = None, **settings: Any) -> Server:
        path = path or make_classifier(tmp_path / "mail.bunrui")
        started.append(_start(path, tmp_path / f"{len(started)}.log", *options, **settings))
        return started[-1]

    yield call
    for server in started:
        server.kill()


def shared_server(folder: Path, *options: str, **settings: Any) -> Iterator[Server]:
    yield from running(make_classifier(folder / "mail.bunrui"), *options, **settings)


def running(path: Path, *options: str, **settings: Any) -> Iterator[Server]:
    """A service for a classifier, which ends with the fixture."""
    server = _start(path, path.with_suffix(".log"), *options, **settings)
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from shared_server(tmp_path_factory.mktemp("reused"))


@pytest.fixture
def fresh(reused: Server, tmp_path: Path) -> Server:
    """A service on a new file, which it has taken in: one that has run before, as it takes a second to start."""
    os.replace(make_classifier(tmp_path / "mail.bunrui"), reused.path)
    unchanged = reused.client.post("/v1/relabel", json={"to": "spam", "ids": ["1"]})
    assert unchanged.json() == {"transaction": None, "changed": 0, "documents": 4}
    return reused


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that writes; tests leave what it has learned as they found it."""
    yield from shared_server(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that only reads, with small limits, and lets another site ask."""
    limits = ("--max-body", "1", "--max-documents", "3", "--max-characters", "2000", "--max-requests", "2")
    yield from shared_server(tmp_path_factory.mktemp("small"), *limits, "--cors", "https://example.org", token=None)


@pytest.fixture(scope="session")
def news(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service on part of the demonstration corpus, with three labels that are wrong."""
    folder = tmp_path_factory.mktemp("page")
    rows = [row for row in read("demo") if row["lang"] in ("en", "ja")]
    labels = [row["label"] for row in rows]
    for k in (3, 50, 120):
        labels[k] = "sports" if labels[k] != "sports" else "politics"
    with bunrui.create(folder / "news.bunrui") as clf:
        clf.learn([row["text"] for row in rows], labels)
    yield from running(folder / "news.bunrui")


@pytest.fixture(scope="session")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service on twenty labels: two documents have a wrong one, one has two that are wrong."""
    folder = tmp_path_factory.mktemp("topics")
    texts = [f"{name} {name}ish {name}er number {k}" for name in TOPICS for k in range(6)]
    labels = [[name] for name in TOPICS for _ in range(6)]
    labels[0], labels[20], labels[40] = ["topic t"], ["topic a"], ["topic a", "topic b"]
    with bunrui.create(folder / "topics.bunrui") as clf:
        clf.learn([text.replace("topic ", "word") for text in texts], labels)
    yield from running(folder / "topics.bunrui")


@pytest.fixture
def tab(browser: Any, news: Server) -> Iterator[Any]:
    from tests.support.tab import Tab

    opened = Tab(browser, news)
    yield opened
    opened.close()


def problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The problem in an answer, which must be this one."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    members: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "instance"} <= set(members)
    assert (members["type"], members["status"]) == (f"urn:bunrui:problem:{kind}", status)
    assert members["title"] and members["detail"] and members["instance"].startswith("urn:uuid:")
    return members


def stream(**columns: object) -> bytes:
    """An Arrow stream."""
    table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def finished(server: Server, started: httpx.Response, place: str = "jobs") -> dict[str, Any]:
    """A job, when it is over."""
    assert started.status_code == 202, started.text
    assert started.headers["location"] == f"/v1/{place}/{started.json()['id']}"
    job: dict[str, Any] = {}

    def is_over() -> bool:
        job.update(server.client.get(started.headers["location"]).json())
        return job["state"] not in ("waiting", "running")

    wait_until(is_over)
    return job
