"""Labels, words, info and log; addresses and methods that there are not."""

from __future__ import annotations

import json

import bunrui
from tests.service.conftest import Server, problem


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
        history = [json.loads(json.dumps(entry._asdict())) for entry in reversed(clf.history())]
        for entry in history:
            entry["note"].pop("settings_before", None)  # long, and for undo alone
        assert changes == history
    assert ask("/v1/log", params={"limit": 1}).json()["changes"] == changes[:1]
    assert ask("/v1/log", params={"before": 2}).json()["changes"] == changes[-1:]


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
