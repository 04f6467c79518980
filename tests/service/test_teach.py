"""Teaching over HTTP: documents stay beside the classifier, a question goes to one client, answers are learned."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bunrui
from tests.service.conftest import TOKEN, Serve, Server, finished, problem, running
from tests.support.examples import quick_rows

WORDS = {"spam": "pills money cheap win free offer", "ham": "noon lunch meeting late team report"}
BYTES = {"Content-Type": "application/octet-stream"}


def label_of(text: str) -> str:
    return "spam" if len(set(text.split()) & set(WORDS["spam"].split())) >= 2 else "ham"


def mails(n: int) -> list[str]:
    draw = random.Random(0)
    return [" ".join([*draw.choices(WORDS[draw.choice(("spam", "ham"))].split(), k=4), str(k)]) for k in range(n)]


def begin(server: Server, texts: list[str], **options: str) -> dict[str, Any]:
    """Send documents, and wait until they are taken."""
    body = "\n".join(["text", *texts]).encode()
    params = {"name": "mails.csv", "labels": '["spam", "ham"]', **options}
    started = server.client.post("/v1/teach", params=params, content=body, headers=BYTES)
    return finished(server, started)


def ask(server: Server, client: str = "a", n: int = 1, **more: Any) -> list[dict[str, Any]]:
    found = server.client.post("/v1/teach/next", json={"client": client, "n": n, **more})
    assert found.status_code == 200, found.text
    return list(found.json()["questions"])


def reply(server: Server, question: dict[str, Any], labels: list[str] | None, **headers: str) -> dict[str, Any]:
    body = {"digest": question["digest"], "labels": labels}
    found = server.client.post("/v1/teach/answer", json=body, headers=headers)
    assert found.status_code == 200, found.text
    return dict(found.json())


def teach(server: Server, n: int) -> list[str]:
    """Answer some questions; return the texts that were asked at random."""
    questions = []
    for _ in range(n):
        questions += ask(server)
        assert reply(server, questions[-1], [label_of(questions[-1]["text"])])["learned"]
    return [question["text"] for question in questions if question["random"]]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that has learned nothing; each test begins with documents of its own."""
    path = tmp_path_factory.mktemp("teach") / "a.bunrui"
    bunrui.create(path).close()
    yield from running(path)


@pytest.fixture
def empty(own: Server) -> Server:
    own.client.request("DELETE", "/v1/teach")
    if own.client.get("/v1/info").json()["documents"]:
        assert own.client.post("/v1/undo", json={"to": 0}).status_code == 200
    return own


def test_documents_are_taken_and_let_go(empty: Server) -> None:
    counts = dict.fromkeys(("documents", "answers", "left", "skipped", "copies", "blank"), 0)
    nothing = {"name": "", **counts, "labels": []}
    assert empty.client.get("/v1/teach").json() == nothing
    job = begin(empty, [*mails(20), mails(20)[0], '" "', '""'])
    state = {"name": "mails.csv", **counts, "documents": 20, "left": 20, "copies": 1, "blank": 2}
    assert job["result"] == state | {"labels": ["spam", "ham"]} == empty.client.get("/v1/teach").json()
    assert Path(f"{empty.path}.pool").exists()
    assert empty.client.request("DELETE", "/v1/teach").json() == nothing
    assert not Path(f"{empty.path}.pool").exists()
    problem(empty.client.post("/v1/teach/next", json={"client": "a"}), 404, "not-found")


def test_answers_are_learned_and_signed(empty: Server) -> None:
    begin(empty, mails(30))
    (question,) = ask(empty)
    assert question["text"] in mails(30) and question["random"] and question["guess"] is None
    done = reply(empty, question, ["spam"], **{"Bunrui-Author": "Ann"})
    assert (done["learned"], done["labels"], done["answers"], done["left"]) == (True, ["spam"], 1, 29)
    (change,) = empty.client.get("/v1/log", params={"limit": 1}).json()["changes"]
    assert (change["number"], change["kind"], change["note"]["by"]) == (done["transaction"], "learn", "Ann")
    teach(empty, 10)
    (question,) = ask(empty)
    assert question["guess"] in ("spam", "ham") and 0.3 < question["probability"] <= 1
    with bunrui.open(empty.path, read_only=True) as clf:
        assert {document.text: document.labels for document in clf.documents()}.keys() <= set(mails(30))
        assert clf.counts.n_docs == 11


def test_no_document_goes_to_two_people(empty: Server) -> None:
    begin(empty, mails(30))
    teach(empty, 6)
    mine, theirs = ask(empty, "a", 5), ask(empty, "b", 5)
    assert len({question["digest"] for question in [*mine, *theirs]}) == 10
    assert ask(empty, "a", 5) == mine, "what was not answered is still asked, also after the page was closed"
    assert reply(empty, mine[0], ["spam"])["learned"]
    second = reply(empty, mine[0], ["ham"])
    assert not second["learned"] and second["labels"] == ["spam"], "the first answer counts"
    assert ask(empty, "a", 5)[:4] == mine[1:]


def test_the_last_documents_go_to_who_is_still_there(empty: Server) -> None:
    begin(empty, mails(6))
    gone = ask(empty, "gone", 3)
    mine = ask(empty, "a", 6)
    assert len(mine) == 6 and {question["digest"] for question in gone} < {question["digest"] for question in mine}


def test_skipped_documents_come_again_when_they_are_asked_for(empty: Server) -> None:
    begin(empty, mails(3))
    for _ in range(3):
        (question,) = ask(empty)
        assert not reply(empty, question, None)["learned"]
    assert ask(empty) == [] and empty.client.get("/v1/teach").json()["skipped"] == 3
    assert len(ask(empty, n=3, skipped=True)) == 3


def test_undo_takes_an_answer_back_and_asks_again(empty: Server) -> None:
    begin(empty, mails(20))
    (question,) = ask(empty)
    reply(empty, question, ["spam"])
    teach(empty, 1)
    back = {"digest": question["digest"], "client": "a"}
    done = empty.client.post("/v1/teach/undo", json=back).json()
    assert (done["changed"], done["answers"], done["question"]["text"]) == (1, 1, question["text"])
    assert question["digest"] in {one["digest"] for one in ask(empty, n=3)}
    assert empty.client.post("/v1/teach/undo", json=back).json()["changed"] == 0
    assert empty.client.get("/v1/info").json()["documents"] == 1


def test_only_who_has_answered_takes_it_back(empty: Server) -> None:
    begin(empty, mails(20))
    (question,) = ask(empty, "a")
    reply(empty, question, ["spam"])
    take_back = partial(empty.client.post, "/v1/teach/undo")
    found = take_back(json={"digest": question["digest"], "client": "b"})
    assert "somebody else's" in problem(found, 409, "conflict")["detail"]
    relabelled = empty.client.post("/v1/relabel", json={"texts": [question["text"]], "to": "ham"})
    assert relabelled.status_code == 200, relabelled.text
    problem(take_back(json={"digest": question["digest"], "client": "a"}), 409, "conflict")
    assert empty.client.get("/v1/info").json()["documents"] == 1


def test_questions_of_clients_that_left_go_to_others(empty: Server) -> None:
    begin(empty, mails(105))
    for k in range(105):
        assert ask(empty, f"client {k}")
    for _ in range(12):  # one more than there are pages of questions
        for question in ask(empty, "the last", 10):
            reply(empty, question, None)
    assert empty.client.get("/v1/teach").json()["skipped"] == 105, "the service forgets clients, and no document"


def test_other_documents_take_the_place_of_questions(empty: Server) -> None:
    begin(empty, mails(20))
    old = ask(empty, n=5)
    begin(empty, ["another text", "one more"])
    assert {question["text"] for question in ask(empty, n=5)} == {"another text", "one more"}
    found = empty.client.post("/v1/teach/answer", json={"digest": old[0]["digest"], "labels": ["spam"]})
    assert "no document of the pool" in problem(found, 422, "invalid")["detail"]


def test_several_and_new_labels(empty: Server) -> None:
    begin(empty, mails(20))
    (question,) = ask(empty)
    assert reply(empty, question, ["spam", "urgent", "spam"])["labels"] == ["spam", "urgent"]
    assert empty.client.get("/v1/teach").json()["labels"] == ["spam", "ham", "urgent"]
    found = empty.client.post("/v1/teach/answer", json={"digest": ask(empty)[0]["digest"], "labels": [" "]})
    assert "a label is blank" in problem(found, 422, "invalid")["detail"]


def test_what_others_learn_is_not_asked(empty: Server) -> None:
    begin(empty, mails(20))
    texts = mails(20)[:15]
    found = empty.client.post("/v1/learn", json={"texts": texts, "labels": [label_of(text) for text in texts]})
    assert found.status_code == 200
    assert empty.client.get("/v1/teach").json()["answers"] == 15
    assert {question["text"] for question in ask(empty, n=10)} == set(mails(20)[15:])


def test_progress(empty: Server) -> None:
    begin(empty, mails(150))
    found = empty.client.get("/v1/teach/progress").json()
    assert (found["accuracy"], found["forecast"], found["html"], found["sample"]) == (None, None, "", 0)
    at_random = teach(empty, 60)
    found = empty.client.get("/v1/teach/progress", params={"wish": 0.5}).json()
    assert found["answers"] == 60 and found["sample"] >= 12 and 0 <= found["agreed"] <= found["guessed"] < 60
    assert 0 <= found["low"] < found["accuracy"] <= found["high"] <= 1
    assert found["html"].startswith("<svg") and "<polygon" in found["html"]
    problem(empty.client.get("/v1/teach/progress", params={"wish": 2}), 422, "invalid")
    # What was taken back elsewhere is not measured.
    last = empty.client.get("/v1/log", params={"limit": 1}).json()["changes"][0]["number"]
    assert empty.client.post("/v1/undo", json={"to": last - 20}).status_code == 200
    for wish in (0.5, 0.6):
        assert empty.client.get("/v1/teach/progress", params={"wish": wish}).json()["answers"] == 40
    documents = empty.client.get("/v1/documents", params={"limit": 50}).json()["documents"]
    before = empty.client.get("/v1/teach/progress", params={"wish": 0.6}).json()["accuracy"]
    for document in documents:
        if document["text"] in at_random:
            change = {"texts": [document["text"]], "to": "ham" if document["labels"] == ["spam"] else "spam"}
            assert empty.client.post("/v1/relabel", json=change).status_code == 200
    assert empty.client.get("/v1/teach/progress", params={"wish": 0.6}).json()["accuracy"] < before


def test_the_documents_help_as_texts_without_a_label(empty: Server) -> None:
    problem(empty.client.post("/v1/teach/unlabelled"), 404, "not-found")
    # Questions are drawn anew in each process: these have both labels in every run.
    empty.client.post("/v1/learn", json={"texts": ["pills", "noon"], "labels": ["spam", "ham"]}).raise_for_status()
    begin(empty, mails(40))
    teach(empty, 4)
    done = empty.client.post("/v1/teach/unlabelled", headers={"Bunrui-Author": "Ann"}).json()
    (change,) = empty.client.get("/v1/log", params={"limit": 1}).json()["changes"]
    assert (done["transaction"], done["changed"], done["documents"]) == (change["number"], 40, 6)
    assert change["note"] | {"by": "Ann", "unlabelled": 40} == change["note"]
    known = empty.client.get("/v1/info").json()["unlabelled"]
    assert (known["n_pool"], known["weight"]) == (40, 0) and "too few to tell" in known["reason"]
    again = empty.client.post("/v1/teach/unlabelled").json()
    assert (again["transaction"], again["changed"]) == (None, 0)
    teach(empty, 1)
    assert empty.client.post("/v1/unlabelled/unlearn", json={}).json()["changed"] == 40
    assert empty.client.get("/v1/info").json()["unlabelled"] is None


def test_a_service_that_starts_again_goes_on(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "a.bunrui"
    bunrui.create(path).close()
    first = serve(path=path)
    begin(first, mails(30))
    teach(first, 8)
    before = first.client.get("/v1/teach").json()
    assert first.stop() == 0
    second = serve(path=path)
    assert second.client.get("/v1/teach").json() == before
    asked = {document["text"] for document in second.client.get("/v1/documents").json()["documents"]}
    assert ask(second)[0]["text"] not in asked
    Path(f"{path}.pool").write_bytes(b"no pool")
    assert second.stop() == 0
    third = serve(path=path)
    assert "is damaged: send the documents again" in problem(third.client.get("/v1/teach"), 409, "conflict")["detail"]
    begin(third, mails(30))
    assert third.client.get("/v1/teach").json()["answers"] == 8


@pytest.mark.parametrize(
    ("body", "options", "message"),
    quick_rows(
        2,
        [
            (b"", {}, "the file is empty"),
            (b"text\na\n", {"labels": "spam"}, "JSON list"),
            (b"text\n", {}, "no texts to show"),
            (b"a,b\n1,2\n", {}, "text"),
            (b"text\na\n", {"labels": '["spam", 1]'}, "JSON list"),
        ],
    ),
)
def test_bad_documents_leave_the_others(empty: Server, body: bytes, options: dict[str, str], message: str) -> None:
    begin(empty, mails(5))
    params = {"name": "bad.csv", **options}
    started = empty.client.post("/v1/teach", params=params, content=body, headers=BYTES)
    if started.status_code == 202:
        job = finished(empty, started)
        assert job["state"] == "failed" and message in job["problem"]["detail"]
    else:
        assert message in problem(started, 422, "invalid")["detail"]
    assert empty.client.get("/v1/teach").json()["documents"] == 5


def test_names_of_another_type_are_refused(empty: Server) -> None:
    empty.client.post("/v1/learn", json={"texts": ["pills", "noon"], "labels": [1, 0]})
    params = {"name": "mails.csv", "labels": '["spam"]'}
    found = problem(empty.client.post("/v1/teach", params=params, content=b"text\na\n", headers=BYTES), 422, "invalid")
    assert found["cause"] == "label-type" and "the label 'spam' is no integer" in found["detail"]


def test_labels_keep_their_order(empty: Server) -> None:
    """Keys go by it, also in a tab that is loaded again."""
    empty.client.post("/v1/learn", json={"texts": ["a", "b", "c"], "labels": ["ham", "news", "spam"]})
    begin(empty, mails(5), labels="[]")
    for labels in (["spam"], ["new one"], ["ham"]):
        reply(empty, ask(empty)[0], labels)
    assert empty.client.get("/v1/teach").json()["labels"] == ["ham", "news", "spam", "new one"]


def test_documents_that_cannot_be_kept(empty: Server) -> None:
    """What has the name of the pool is no file that could be replaced."""
    pool = Path(f"{empty.path}.pool")
    (pool / "in the way").mkdir(parents=True)
    try:
        assert begin(empty, mails(3))["problem"]["cause"] == "pool-unwritable"
    finally:
        (pool / "in the way").rmdir()
        pool.rmdir()


def test_strangers_see_nothing(empty: Server) -> None:
    begin(empty, mails(5))
    with empty.stranger() as stranger:
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/next"), ("POST", "/answer"), ("GET", "/progress")):
            json = {"json": {"client": "a"}} if method == "POST" else {}
            problem(stranger.request(method, f"/v1/teach{path}", **json), 401, "no-token")
    assert TOKEN not in empty.log.read_text()


def test_who_answers_may_undo_whoever_was_given_the_question(empty: Server) -> None:
    begin(empty, mails(10))
    (question,) = ask(empty, "a")
    body = {"digest": question["digest"], "labels": ["spam"], "client": "b"}
    assert empty.client.post("/v1/teach/answer", json=body).json()["learned"]
    undo = {"digest": question["digest"]}
    problem(empty.client.post("/v1/teach/undo", json=undo | {"client": "a"}), 409, "conflict")
    assert empty.client.post("/v1/teach/undo", json=undo | {"client": "b"}).json()["changed"] == 1


def test_an_unknown_document_is_refused(empty: Server) -> None:
    begin(empty, mails(5))
    for digest in ("x", "00" * 16):
        found = empty.client.post("/v1/teach/answer", json={"digest": digest, "labels": ["spam"]})
        assert "no document of the pool" in problem(found, 422, "invalid")["detail"]
