"""Routes that write: what they answer is in the file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import bunrui
from bunrui.service import schemas
from bunrui.service.service import Served
from tests.service.conftest import ARROW, LABELS, TEXTS, Serve, Server, make_classifier, problem, stream
from tests.support.pools import two_topics
from tests.support.waiting import wait_until


def documents(path: Path) -> list[tuple[str | None, list[str], Any]]:
    with bunrui.open(path, read_only=True) as clf:
        return [(document.id, list(document.labels), document.text) for document in clf.documents()]


def post(server: Server, verb: str, **body: Any) -> Any:
    return server.client.post(f"/v1/{verb}", json=body)


def test_learn_unlearn_relabel_undo(fresh: Server) -> None:
    before = documents(fresh.path)
    learned = post(fresh, "learn", texts=["gratis 무료", "free"], labels=["spam", "ad"], ids=["x", None])
    assert learned.json() == {"transaction": 2, "changed": 2, "documents": 6, "duplicates": 0}
    assert documents(fresh.path) == [*before, ("x", ["spam"], "gratis 무료"), (None, ["ad"], "free")]
    assert post(fresh, "predict", texts=["무료"], model="multinomial").json()["labels"] == ["spam"]
    assert post(fresh, "relabel", to="ad", ids=["x"]).json() == {"transaction": 3, "changed": 1, "documents": 6}
    assert post(fresh, "predict", texts=["무료"], model="multinomial").json()["labels"] == ["ad"]
    assert post(fresh, "undo").json() == {"undone": "relabel", "changes": 1, "changed": 1, "documents": 6}
    assert post(fresh, "relabel", to=["ad", "ham"], texts=["free"]).json()["changed"] == 1
    assert post(fresh, "unlearn", ids=["x"]).json() == {"transaction": 5, "changed": 1, "documents": 5}
    gone = post(fresh, "unlearn", texts=["free"], labels=[["ad", "ham"]])
    assert gone.json() == {"transaction": 6, "changed": 1, "documents": 4}
    assert documents(fresh.path) == before
    with bunrui.open(fresh.path, read_only=True) as clf:
        digests = [document.digest for document in clf.documents()][:2]
    assert post(fresh, "unlearn", digests=digests).json()["changed"] == 2
    assert fresh.client.get("/v1/labels").json() == {"labels": [{"label": "ham", "documents": 2}]}
    kinds = [change["kind"] for change in fresh.client.get("/v1/log").json()["changes"]]
    assert kinds == ["unlearn", "unlearn", "unlearn", "relabel", "relabel", "learn", "learn"]
    with bunrui.open(fresh.path, read_only=True) as clf:
        assert clf.check().is_right


def test_numbers_in_a_file_of_strings(fresh: Server) -> None:
    """In small bodies, in large ones and in Arrow streams: 7 is "7", as on the command line."""
    post(fresh, "learn", texts=["one"], labels=[7])
    post(fresh, "learn", texts=["long " * 40_000], labels=[[7, 8]])
    fresh.client.post("/v1/learn", content=stream(text=["two"], label=[True]), headers={"Content-Type": ARROW})
    assert [labels for _, labels, _ in documents(fresh.path)[4:]] == [["7"], ["7", "8"], ["true"]]
    assert post(fresh, "relabel", to=8, texts=["one"]).json()["changed"] == 1
    for texts in (["one", "two"], ["one", "long " * 40_000]):
        problem(post(fresh, "learn", texts=texts, labels=["7", 7]), 422, "invalid")


def test_a_misspelled_parameter_is_refused(server: Server) -> None:
    file = {"content": b"text,label\na,b\n", "headers": {"Content-Type": "application/octet-stream"}}
    problem(server.client.post("/v1/train?name=a.csv&lable=kind", **file), 422, "invalid")
    problem(server.client.post("/v1/learn?x=1", json={"texts": ["a"], "labels": ["x"]}), 422, "invalid")
    problem(server.client.get("/v1/info?x=1"), 422, "invalid")


def test_one_label_does_not_replace_several(fresh: Server) -> None:
    post(fresh, "learn", texts=["cheap oil", "oil"], labels=[["oil", "trade"], ["oil"]], ids=["two", "one"])
    before = documents(fresh.path)
    for which in ({"ids": ["two"]}, {"texts": ["cheap oil"]}, {"ids": ["one", "two"]}):
        refused = problem(post(fresh, "relabel", to="grain", **which), 409, "several-labels")
        assert "a document has 2 labels" in refused["detail"] and documents(fresh.path) == before
    # what is learned in one batch with it may get another one, and a list says what is meant
    assert post(fresh, "relabel", to="grain", ids=["one"]).json()["changed"] == 1
    assert post(fresh, "relabel", to=["grain"], ids=["two"]).json()["changed"] == 1
    assert [labels for _, labels, _ in documents(fresh.path)[-2:]] == [["grain"], ["grain"]]


def test_undo_only_what_is_meant(fresh: Server) -> None:
    mine = post(fresh, "learn", texts=["mine"], labels=["x"]).json()["transaction"]
    other = post(fresh, "learn", texts=["of another"], labels=["x"]).json()["transaction"]
    before = documents(fresh.path)
    for transaction in (mine, other + 1):
        assert str(transaction) in problem(post(fresh, "undo", transaction=transaction), 409, "changed-since")["detail"]
    for body in ({"transaction": 0}, {"transaction": str(other)}, {"number": other}):
        problem(post(fresh, "undo", **body), 422, "invalid")
    assert documents(fresh.path) == before
    assert post(fresh, "undo", transaction=other).json()["undone"] == "learn"
    problem(post(fresh, "undo", transaction=other), 409, "changed-since")
    with bunrui.open(fresh.path) as clf:
        clf.learn(["of another process"], ["x"])
    problem(post(fresh, "undo", transaction=mine), 409, "changed-since")
    post(fresh, "undo").raise_for_status()
    assert post(fresh, "undo", transaction=mine).json()["documents"] == 4


def test_options_of_others_reach_all_models(tmp_path: Path) -> None:
    """Also where a change takes them in, before the service looks after the file."""
    path = make_classifier(tmp_path / "mail.bunrui")
    with bunrui.open(path) as clf:
        served = Served(clf)
        assert served.reading("multinomial").get_params()["alpha"] != 7.0
        with bunrui.open(path) as other:
            other.configure(alpha=7.0)
        served.unlearn(schemas.Unlearn(ids=["1"]))
        served.refresh()
        assert served.reading("multinomial").get_params()["alpha"] == 7.0


def test_learn_in_arrow_and_in_a_large_body(fresh: Server) -> None:
    body = stream(text=["a b", "c d"], label=[["x"], ["x", "y"]], id=["7", "8"])
    learned = fresh.client.post("/v1/learn", content=body, headers={"Content-Type": ARROW})
    assert learned.json()["changed"] == 2
    assert documents(fresh.path)[4:] == [("7", ["x"], "a b"), ("8", ["x", "y"], "c d")]
    texts = [f"{'word ' * 20}{k}" for k in range(2000)]
    many = post(fresh, "learn", texts=texts, labels=[["x", "z"] for _ in texts], ids=[None, *map(str, range(1999))])
    assert many.json() == {"transaction": 3, "changed": 2000, "documents": 2006, "duplicates": 0}
    again = post(fresh, "learn", texts=texts, labels=["z"] * 2000).json()
    assert (again["changed"], again["duplicates"]) == (2000, 2000)
    assert post(fresh, "relabel", to=["x", "w"], texts=texts).json()["changed"] == 4000
    assert post(fresh, "unlearn", texts=texts, labels=[["w", "x"]] * 2000).json()["changed"] == 2000
    assert post(fresh, "unlearn", ids=["7", "8"]).json()["changed"] == 2
    body = stream(text=TEXTS, label=LABELS)
    assert fresh.client.post("/v1/unlearn", content=body, headers={"Content-Type": ARROW}).json()["changed"] == 4


def test_what_cannot_be_done_changes_nothing(server: Server) -> None:
    before = documents(server.path)
    problem(post(server, "unlearn", texts=["never seen"], labels=["spam"]), 409, "conflict")
    problem(post(server, "unlearn", texts=[TEXTS[0], "never seen"], labels=["spam", "spam"]), 409, "conflict")
    problem(post(server, "unlearn", ids=["1", "99"]), 409, "conflict")
    problem(post(server, "unlearn", digests=["abc"]), 422, "invalid")
    problem(post(server, "relabel", to="ham", texts=["never seen"]), 409, "conflict")
    for verb, body in (
        ("learn", {"texts": ["a"]}),
        ("learn", {"texts": ["a", "b"], "labels": ["x"]}),
        ("learn", {"texts": ["a"], "labels": [""]}),
        ("learn", {"texts": ["a"], "labels": [" "]}),
        ("learn", {"texts": ["a"], "labels": ["x" * 1_000_000]}),
        ("relabel", {"to": "\t", "texts": ["cheap pills now"]}),
        ("learn", {"texts": ["a"], "labels": [[]]}),
        ("learn", {"texts": ["a"], "labels": ["x\0"]}),
        ("learn", {"texts": ["a"], "labels": [1.5]}),
        ("learn", {"texts": ["a", "b"], "labels": ["x", "y"], "ids": ["1"]}),
        ("learn", {"texts": ["a"], "labels": ["x"], "ids": [7]}),
        ("unlearn", {}),
        ("unlearn", {"ids": []}),
        ("unlearn", {"ids": [None]}),
        ("unlearn", {"texts": ["a"]}),
        ("unlearn", {"ids": ["1"], "digests": ["2"]}),
        ("unlearn", {"ids": ["1"], "labels": ["spam"]}),
        ("relabel", {"to": "ham"}),
        ("relabel", {"to": "", "ids": ["1"]}),
        ("relabel", {"to": [], "ids": ["1"]}),
    ):
        problem(post(server, verb, **body), 422, "invalid")
    assert documents(server.path) == before


def test_nulls_in_a_large_body_choose_nobody(server: Server) -> None:
    before = documents(server.path)
    ids: list[str | None] = [f"nobody {k}" for k in range(10_000)]
    problem(post(server, "unlearn", ids=[*ids, None]), 422, "invalid")
    problem(post(server, "unlearn", ids=ids), 409, "conflict")
    texts: list[str | None] = ["word " * 30 for _ in range(1000)]
    assert "null" in problem(post(server, "learn", texts=[*texts, None], labels=["x"] * 1001), 422, "invalid")["detail"]
    assert "null" in problem(post(server, "learn", texts=texts, labels=["x"] * 999 + [None]), 422, "invalid")["detail"]
    assert documents(server.path) == before


def test_relabelling_what_has_the_label_is_no_change(server: Server) -> None:
    assert post(server, "relabel", to="spam", ids=["1"]).json() == {"transaction": None, "changed": 0, "documents": 4}


def test_a_file_that_keeps_nothing(serve: Serve, tmp_path: Path) -> None:
    server = serve(path=make_classifier(tmp_path / "slim.bunrui", keep="nothing"))
    assert post(server, "learn", texts=["a"], labels=["x"]).json()["duplicates"] is None
    problem(post(server, "unlearn", ids=["1"]), 409, "conflict")
    assert post(server, "unlearn", texts=["a"], labels=["x"]).json()["documents"] == 4
    assert "keeps nothing" in problem(server.client.post("/v1/evaluate"), 409, "conflict")["detail"]


def test_what_other_processes_write(fresh: Server) -> None:
    assert post(fresh, "predict", texts=["eggs"]).status_code == 200
    with bunrui.open(fresh.path) as clf:
        clf.learn(["eggs eggs", "eggs and spam"], ["food", "food"])
        clf.configure(model="multinomial", alpha=2.0)
        expected = clf.predict_proba(["eggs"]).max()
    wait_until(lambda: post(fresh, "predict", texts=["eggs"]).json()["labels"] == ["food"])
    assert post(fresh, "predict", texts=["eggs"]).json() == {"labels": ["food"], "probabilities": [expected]}
    assert fresh.client.get("/v1/info").json()["model"] == "multinomial"


@pytest.mark.slow  # the service waits 10 seconds for the other
def test_a_file_that_another_process_holds(serve: Serve) -> None:
    server = serve()
    other = sqlite3.connect(server.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused = post(server, "learn", texts=["a"], labels=["x"])
    assert "another process" in problem(refused, 503, "busy")["detail"]
    assert refused.headers["retry-after"] == "1"
    assert post(server, "predict", texts=["pills"]).json()["labels"] == ["spam"]
    other.execute("ROLLBACK")
    other.close()
    assert post(server, "learn", texts=["a"], labels=["x"]).json()["documents"] == 5


def test_a_file_that_was_moved_away(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    server.path.rename(tmp_path / "old.bunrui")
    detail = problem(post(server, "learn", texts=["a"], labels=["x"]), 503, "not-ready")["detail"]
    assert "put it back" in detail and str(tmp_path) not in detail
    wait_for_readiness(server, 503)
    problem(server.client.get("/readyz"), 503, "not-ready")
    assert server.client.get("/healthz").status_code == 200
    assert post(server, "predict", texts=["pills"]).json()["labels"] == ["spam"]
    (tmp_path / "old.bunrui").rename(server.path)
    wait_for_readiness(server, 200)
    assert post(server, "learn", texts=["a"], labels=["x"]).json()["documents"] == 5


def wait_for_readiness(server: Server, status: int) -> None:
    wait_until(lambda: server.client.get("/readyz").status_code == status)


def test_texts_without_a_label(fresh: Server) -> None:
    texts, labels, pool = two_topics()
    assert post(fresh, "learn", texts=texts, labels=labels).json()["changed"] == 24
    assert post(fresh, "unlabelled/learn", texts=pool).json() == {"transaction": 3, "changed": 160, "documents": 28}
    known = fresh.client.get("/v1/info").json()["unlabelled"]
    assert known["n_pool"] == 160 and known["line"] and len(known["evidence"]) == 4
    with bunrui.open(fresh.path, read_only=True) as clf:
        expected = clf.predict(pool).tolist()
    assert post(fresh, "predict", texts=pool).json()["labels"] == expected
    arrow = fresh.client.post(
        "/v1/unlabelled/learn", content=stream(text=["as an arrow stream"]), headers={"Content-Type": ARROW}
    )
    assert arrow.json()["changed"] == 1
    assert post(fresh, "unlabelled/unlearn", texts=["as an arrow stream"]).json()["changed"] == 1
    problem(post(fresh, "unlabelled/unlearn", texts=["another"]), 409, "conflict")
    problem(post(fresh, "unlabelled/learn"), 422, "invalid")
    assert post(fresh, "unlabelled/unlearn").json() == {"transaction": 6, "changed": 160, "documents": 28}
    assert post(fresh, "undo").json()["undone"] == "unlearn"
    assert fresh.client.get("/v1/info").json()["unlabelled"] == known
