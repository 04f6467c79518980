"""What was acknowledged is in the file, however the service ends."""

from __future__ import annotations

import json
import signal
import threading
from typing import Any

import httpx

import bunrui
from tests.service.conftest import TOKEN, Serve, Server
from tests.support.waiting import PATIENCE, wait_until


def ids(server: Server) -> set[str | None]:
    with bunrui.open(server.path, read_only=True) as clf:
        assert clf.check().is_right
        return {document.id for document in clf.documents()}


class Learner(threading.Thread):
    """Learns document after document, until the service is gone."""

    def __init__(self, server: Server, name: str) -> None:
        super().__init__(name=name)
        self._server = server
        self.sent: list[str] = []
        self.acknowledged: list[str] = []
        self.refused: list[str] = []

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with self._server.stranger() as client:
            client.headers = headers
            while True:
                id = f"{self.name}-{len(self.sent)}"
                self.sent.append(id)
                body = {"texts": [f"a document of {id}"] * 3, "labels": ["x"] * 3, "ids": [id, f"{id}b", f"{id}c"]}
                try:
                    answer = client.post("/v1/learn", json=body)
                except httpx.TransportError:
                    return
                if answer.status_code == 503 and "stopping" in answer.text:
                    return  # its body came too late: nothing of it was begun
                if answer.status_code != 200:
                    self.refused.append(answer.text)
                    return
                self.acknowledged.append(id)


def end_while_learning(server: Server, how: int) -> tuple[list[Learner], int]:
    learners = [Learner(server, f"learner{k}") for k in range(3)]
    for learner in learners:
        learner.start()
    wait_until(lambda: any(one.refused for one in learners) or min(len(one.acknowledged) for one in learners) >= 10)
    code = server.stop(how)
    for learner in learners:
        learner.join(PATIENCE)
        assert learner.refused == [] and not learner.is_alive()
    return learners, code


def test_kill_9_loses_nothing_and_the_next_service_goes_on(serve: Serve) -> None:
    server = serve()
    learners, code = end_while_learning(server, signal.SIGKILL)
    assert code == -signal.SIGKILL
    kept = ids(server)
    for learner in learners:
        for id in learner.acknowledged:
            assert {id, f"{id}b", f"{id}c"} <= kept
        # Of the one that was not answered, all or nothing is there.
        last = learner.sent[-1]
        assert len({last, f"{last}b", f"{last}c"} & kept) in (0, 3)

    again = serve(path=server.path)
    assert again.client.get("/v1/info").json()["documents"] == len(kept)
    learned = again.client.post("/v1/learn", json={"texts": ["one more"], "labels": ["x"], "ids": ["more"]})
    assert learned.json()["documents"] == len(kept) + 1
    assert again.stop(signal.SIGINT) == 0
    assert ids(again) == {*kept, "more"}


def test_sigterm_finishes_what_was_begun(serve: Serve) -> None:
    server = serve()
    learners, code = end_while_learning(server, signal.SIGTERM)
    assert code == 0
    kept = ids(server)
    answered = {id for learner in learners for id in learner.acknowledged}
    assert {f"{id}{part}" for id in answered for part in ("", "b", "c")} <= kept
    events = [json.loads(line)["event"] for line in server.log.read_text().splitlines()[1:]]
    assert events[-1] == "stop" and "error" not in events
    assert not list(server.path.parent.glob("*-wal"))


def test_sigterm_waits_for_a_long_request(serve: Serve) -> None:
    server = serve()
    texts = [f"{'word ' * 50}{k} {'語彙' * 10}" for k in range(30_000)]
    answers: list[dict[str, Any]] = []
    body = json.dumps({"texts": texts, "labels": ["long"] * len(texts)}).encode()

    def learn() -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        try:
            answer = httpx.post(f"{server.url}/v1/learn", content=body, headers=headers, timeout=PATIENCE)
        except httpx.TransportError:
            return
        if answer.status_code == 200 and answer.content:
            answers.append(answer.json())

    thread = threading.Thread(target=learn)
    thread.start()
    wait_until(lambda: 'bunrui_queue{lane="write"} 1' in server.client.get("/metrics").text or not thread.is_alive())
    assert server.stop(signal.SIGTERM) == 0
    thread.join(PATIENCE)
    # A busy machine may need more than the seconds that a request has; then nobody was told that it is learned.
    with bunrui.open(server.path, read_only=True) as clf:
        assert clf.counts.n_docs in ((30_004,) if answers else (4, 30_004))
    assert [answer["changed"] for answer in answers] in ([], [30_000])
