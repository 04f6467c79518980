"""What was done: pages of changes and of documents, who made a change, and how several are taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bunrui
from bunrui.service.service import Served
from tests.service.conftest import LABELS, TEXTS, Server, make_classifier, problem


def test_pages_of_the_log(fresh: Server) -> None:
    for k in range(5):
        fresh.client.post("/v1/learn", json={"texts": [f"text {k}"], "labels": ["ham"]})
    everything = fresh.client.get("/v1/log").json()
    assert everything["next"] is None
    pages, before = [], {}
    for _ in everything["changes"]:
        page = fresh.client.get("/v1/log", params={"limit": 2, **before}).json()
        pages += page["changes"]
        if page["next"] is None:
            break
        before = {"before": page["next"]}
    assert pages == everything["changes"]
    newest = everything["changes"][0]["number"]
    assert [change["number"] for change in _log(fresh, after=newest - 2)] == [newest, newest - 1]
    assert _log(fresh, after=newest) == []


def _log(server: Server, **params: int) -> list[dict[str, Any]]:
    return list(server.client.get("/v1/log", params=params).json()["changes"])


def test_who_made_a_change(fresh: Server) -> None:
    ann = {"Bunrui-Author": "%E7%8C%AB%20Ann"}
    fresh.client.post("/v1/learn", json={"texts": ["a"], "labels": ["ham"]}, headers=ann).raise_for_status()
    fresh.client.post("/v1/learn", json={"texts": ["b"], "labels": ["ham"]}).raise_for_status()
    fresh.client.post("/v1/undo", headers=ann).raise_for_status()
    notes = [change["note"] for change in _log(fresh)[:2]]
    assert [(note.get("by"), note.get("undone_by")) for note in notes] == [(None, "猫 Ann"), ("猫 Ann", None)]
    with fresh.stranger() as client:
        public = client.get("/v1/log").json()["changes"][:2]
    assert [change["n_docs"] for change in public] == [1, 1]
    assert not any({"by", "undone_by"} & set(change["note"]) for change in public)


def test_a_service_has_an_author_of_its_own(tmp_path: Path) -> None:
    with bunrui.open(make_classifier(tmp_path / "mail.bunrui")) as clf:
        clf.author = "the service"
        served = Served(clf)
        for author in ("Ann", None):
            with served.signed(author):
                clf.learn(["a text"], ["ham"])
        assert [entry.note.get("by") for entry in clf.history()[-2:]] == ["Ann", "the service"]
        assert clf.author == "the service"


def test_take_back_up_to_here(fresh: Server) -> None:
    for k in range(3):
        fresh.client.post("/v1/learn", json={"texts": [f"text {k}", "more"], "labels": ["ham", "new"]})
    with bunrui.open(fresh.path) as other:
        other.learn(["theirs"], ["ham"])
    first = fresh.client.get("/v1/log").json()
    assert first["joined"] == 0
    refused = problem(fresh.client.post("/v1/undo", json={"to": 1, "transaction": 4}), 409, "changed-since")
    assert "the last one is 5, and nothing was undone" in refused["detail"]
    done = fresh.client.post("/v1/undo", json={"to": 1, "transaction": 5}).json()
    assert done == {"undone": "learn", "changes": 4, "changed": 7, "documents": 4}
    assert [bool(change["undone"]) for change in _log(fresh)] == [True] * 4 + [False]
    assert fresh.client.get("/v1/labels").json()["labels"] == [
        {"label": "ham", "documents": 2},
        {"label": "spam", "documents": 2},
    ]
    problem(fresh.client.post("/v1/undo", json={"to": 1}), 409, "conflict")
    problem(fresh.client.post("/v1/undo", json={"to": -1}), 422, "invalid")
    with bunrui.open(fresh.path) as other:
        other.compact()
    assert fresh.client.get("/v1/log").json()["joined"] == 6
    assert "joined" in problem(fresh.client.post("/v1/undo", json={"to": 1}), 409, "conflict")["detail"]


def ask(server: Server, **params: Any) -> dict[str, Any]:
    answer = server.client.get("/v1/documents", params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_documents(server: Server) -> None:
    whole = ask(server)
    assert [(one["text"], one["labels"], one["id"]) for one in whole["documents"]] == [
        (text, [label], number) for text, label, number in zip(TEXTS[::-1], LABELS[::-1], "4321", strict=True)
    ]
    assert (whole["next"], whole["looked"]) == (None, 4)
    page = ask(server, contains="NOON", limit=1, characters=5)
    assert [(one["text"], one["length"]) for one in page["documents"]] == [("lunch", len(TEXTS[3]))]
    rest = ask(server, contains="NOON", begin=page["next"])
    assert [one["text"] for one in rest["documents"]] == [TEXTS[2]] and rest["next"] is None
    assert ask(server, begin=page["documents"][0]["place"], limit=1)["documents"] == whole["documents"][:1]
    (learned,) = {one["time"] for one in whole["documents"]}
    assert len(ask(server, label="spam", since=learned, change=1)["documents"]) == 2
    assert ask(server, before=learned)["documents"] == []
    for wrong in ({"begin": "x"}, {"change": 99}, {"limit": 0}, {"limit": 201}, {"since": "soon"}, {"lable": "spam"}):
        problem(server.client.get("/v1/documents", params=wrong), 422, "invalid")
    problem(server.client.get("/v1/documents", params={"limit": 2, "characters": 3_000_000}), 413, "too-large")


def test_documents_are_for_who_has_the_token(server: Server, small: Server) -> None:
    with server.stranger() as client:
        problem(client.get("/v1/documents"), 401, "no-token")
    problem(small.client.get("/v1/documents"), 403, "read-only")
