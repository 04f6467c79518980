"""Files that are sent: looked into, and learned in the background."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bunrui
from bunrui.service.errors import Problem
from bunrui.service.uploads import Upload
from tests.service.conftest import TOKEN, Serve, Server, finished, problem, shared_server
from tests.support.examples import quick_rows
from tests.support.waiting import wait_until

BYTES = {"Content-Type": "application/octet-stream"}
CSV = "subject,folder\ncheap pills,spam\n無料の薬,spam\n会議は正午,ham\n".encode()
JSONL = b'{"text": "cheap pills", "labels": ["spam", "ad"]}\n{"text": "lunch", "labels": ["ham"]}\n'


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from shared_server(tmp_path_factory.mktemp("training"))


def inspect(server: Server, name: str, body: bytes, **options: str) -> httpx.Response:
    return server.client.post("/v1/inspect", params={"name": name, **options}, content=body, headers=BYTES)


def train(server: Server, name: str, body: bytes, **options: str) -> dict[str, Any]:
    asked = server.client.post("/v1/train", params={"name": name, **options}, content=body, headers=BYTES)
    return finished(server, asked)


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def test_columns_are_guessed(own: Server) -> None:
    assert inspect(own, "mails.csv", CSV).json() == {
        "columns": ["subject", "folder"],
        "choices": ["subject", "folder"],
        "rows": [
            {"subject": "cheap pills", "folder": "spam"},
            {"subject": "無料の薬", "folder": "spam"},
            {"subject": "会議は正午", "folder": "ham"},
        ],
        "header": True,
        "encoding": "utf-8",
        "text": "subject",
        "label": "folder",
        "documents": 3,
        "labels": {"spam": 2, "ham": 1},
        "n_labels": 2,
        "skipped": 0,
        "problems": [],
        "causes": [],
    }


def test_a_column_of_labels_is_found_by_those_that_are_known(own: Server) -> None:
    known = [one["label"] for one in own.client.get("/v1/labels").json()["labels"]]
    lines = [f"a message with words {k},{'xy'[k % 2]},{known[k % len(known)]}" for k in range(12)]
    found = inspect(own, "a.csv", "\n".join(["said,side,verdict", *lines]).encode()).json()
    assert (found["text"], found["label"]) == ("said", "verdict")


@pytest.mark.parametrize(
    ("name", "body", "columns", "text", "label", "labels"),
    quick_rows(
        2,
        [
            ("a.jsonl", JSONL, ["text", "labels"], "text", "labels", {"spam": 1, "ad": 1, "ham": 1}),
            (
                "a.jsonl.gz",
                gzip.compress(JSONL, mtime=0),
                ["text", "labels"],
                "text",
                "labels",
                {"spam": 1, "ad": 1, "ham": 1},
            ),
            (
                "a.tsv",
                b"n\tBody\tTopic\n1\tab c\tx\n2\td\ty\n",
                ["n", "Body", "Topic"],
                "Body",
                "Topic",
                {"x": 1, "y": 1},
            ),
            (
                "a.parquet",
                parquet(id=[1, 2, 3], said=["hello you", "yes", "bye"], kind=["x", "x", "y"]),
                ["id", "said", "kind"],
                "said",
                "kind",
                {"x": 2, "y": 1},
            ),
            ("a.txt", b"__label__x hello you\n__label__y bye\n", [], None, None, {"x": 1, "y": 1}),
        ],
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_formats(own: Server, name: str, body: bytes, columns: Any, text: Any, label: Any, labels: Any) -> None:
    found = inspect(own, name, body).json()
    assert (found["columns"], found["text"], found["label"], found["labels"]) == (columns, text, label, labels)
    assert len(found["rows"]) == found["documents"]


HEADLESS = b"cheap pills,spam\nlunch at noon,ham\nwin money,spam\n"


def test_a_file_without_a_header_loses_no_row(own: Server) -> None:
    found = inspect(own, "mails.csv", HEADLESS).json()
    assert (found["header"], found["columns"], found["text"], found["label"]) == (False, ["1", "2"], "1", "2")
    assert (found["documents"], found["labels"]) == (3, {"spam": 2, "ham": 1})
    assert found["rows"][0] == {"1": "cheap pills", "2": "spam"}
    named = inspect(own, "mails.csv", HEADLESS, header="true").json()
    assert (named["header"], named["columns"], named["documents"]) == (True, ["cheap pills", "spam"], 2)
    assert inspect(own, "mails.csv", CSV, header="false").json()["documents"] == 4
    assert "no column '1'" in train(own, "mails.csv", HEADLESS, text="1", label="2")["problem"]["detail"]
    job = train(own, "mails.csv", HEADLESS, text="1", label="2", header="false")
    assert job["result"]["changed"] == 3
    own.client.post("/v1/undo").raise_for_status()
    assert inspect(own, "a.jsonl", JSONL).json()["header"] is None


SORTED = [{"id": k, "title": f"title {k}", "body": f"words of number {k}", "kind": "ab"[k > 150]} for k in range(300)]
TITLES = [{"topic": f"what nobody has ever said about {k}", "body": f"a text of several words {k}"} for k in range(9)]


@pytest.mark.parametrize(
    ("rows", "label"),
    quick_rows(
        3,
        [
            ([{"text": "lunch"}, {"text": "noon"}], None),
            ([{"title": "lunch", "text": "at noon"}, {"title": "win", "text": "a lot of money"}], None),
            (SORTED, "kind"),
            ([row | {"lang": "en"} for row in SORTED], None),
            (TITLES, None),
            ([row | {"topic": "ab"[k % 2]} for k, row in enumerate(TITLES)], "topic"),
            ([row | {"class": row["topic"], "x": "ab"[k % 2]} for k, row in enumerate(TITLES)], "x"),
        ],
    ),
    ids=["one column", "two texts", "sorted", "two of one value", "sentences", "usual", "usual, but sentences"],
)
def test_texts_are_not_taken_for_labels(own: Server, rows: list[dict[str, Any]], label: str | None) -> None:
    body = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = inspect(own, "a.jsonl", body).json()
    assert (found["label"], found["documents"]) == (label, len(rows))
    assert found["n_labels"] == (2 if label else 0)
    assert inspect(own, "a.jsonl", body, label=found["columns"][0]).json()["label"] == found["columns"][0]


def test_columns_that_are_given(own: Server) -> None:
    found = inspect(own, "mails.csv", CSV, text="folder", label="subject").json()
    assert (found["text"], found["label"], found["n_labels"]) == ("folder", "subject", 3)
    assert "there is no column 'body'" in problem(inspect(own, "mails.csv", CSV, text="body"), 422, "invalid")["detail"]


@pytest.mark.parametrize(
    ("name", "body", "cause"),
    quick_rows(
        5,
        [
            ("a.pdf", b"%PDF", "unknown-format"),
            ("a.xls", b"x", "old-spreadsheet"),
            ("a.csv", b"text,label\nlunch,\n", "empty-label"),
            ("a.jsonl", b"lunch\n", "json"),
            ("a.parquet", parquet(text=[1.5], label=["ham"]), "column-kind"),
            ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old-spreadsheet"),
            ("a.xlsx", b"no archive", "damaged-file"),
            ("a.parquet", b"no table", "damaged-file"),
            ("a.csv.gz", b"not packed", "damaged-file"),
            ("a.mbox", b"no mail", "damaged-file"),
            ("a.csv", b"", "no-rows"),
            ("a.csv", b'text,label\n"open,ham\n', "quotes"),
            ("a.csv", b"text,label\nlunch\n", "row-width"),
            ("a.csv", b"text,label\nlunch," + b"x" * 2000, "long-label"),
            ("a.csv", b"subject,folder\nlunch,ham\n", "no-column"),
            ("a.csv", b"text,text,label\na,b,ham\n", "column-twice"),
            ("a.jsonl", b'[{"text": "a", "label": "b"}]', "json-array"),
            ("a.jsonl", b'{"text": null, "label": "ham"}\n', "empty-text"),
        ],
    ),
)
def test_a_problem_names_its_cause(own: Server, name: str, body: bytes, cause: str) -> None:
    """So that the page says it in its own language."""
    asked = own.client.post("/v1/train", params={"name": name}, content=body, headers=BYTES)
    told = asked.json() if asked.status_code == 422 else finished(own, asked)["problem"]
    assert told["cause"] == cause


def test_a_single_column_of_words_loses_none(own: Server) -> None:
    words = inspect(own, "words.csv", b"good\nbad\nterrible\n").json()
    assert (words["header"], [row["1"] for row in words["rows"]]) == (False, ["good", "bad", "terrible"])
    assert inspect(own, "words.csv", b"review\nbad\nterrible\n").json()["columns"] == ["review"]


def test_encodings(own: Server) -> None:
    body = CSV.decode().encode("cp932")
    found = inspect(own, "mails.csv", body).json()
    assert found["skipped"] == 2 and 'Try encoding "cp932", ' in found["problems"][0]
    for encoding in ("cp932", "auto"):
        assert inspect(own, "mails.csv", body, encoding=encoding).json()["rows"][1]["subject"] == "無料の薬"
    failed = train(own, "mails.csv", body, text="subject", label="folder")["problem"]
    fields = {name: failed[name] for name in ("cause", "file", "line", "suggests")}
    suggests = {"encoding": "cp932", "skip_bad": True}
    assert fields == {"cause": "encoding", "file": "mails.csv", "line": 3, "suggests": suggests}


def test_rows_that_cannot_be_read(own: Server) -> None:
    found = inspect(own, "mails.csv", CSV + b"nobody knows,\n").json()
    why = "mails.csv, line 5: the label is empty: give it a name, or leave the row out"
    assert (found["documents"], found["skipped"], found["problems"]) == (3, 1, [why])
    fields = {"cause": "empty-label", "file": "mails.csv", "line": 5, "suggests": {"skip_bad": True}}
    assert found["causes"] == [fields]
    job = train(own, "mails.csv", CSV + b"nobody knows,\n", text="subject", label="folder")
    assert (job["state"], job["problem"]["detail"]) == ("failed", why)
    job = train(own, "mails.csv", CSV + b"nobody knows,\n", text="subject", label="folder", skip_bad="true")
    assert job["result"]["changed"] == 3
    own.client.post("/v1/undo").raise_for_status()


@pytest.mark.parametrize(
    ("name", "body", "why"),
    quick_rows(
        3,
        [
            ("mails.pdf", b"%PDF", "does not tell the format"),
            ("mails.csv", b"", "is empty"),
            ("mails.parquet", b"PAR1", "cannot be read as Parquet"),
            ("mails.jsonl", b"[1]", "is a JSON array"),
            ("mails.jsonl", b"{", "this is not JSON"),
            ("mails.csv.gz", gzip.compress(CSV, mtime=0)[:-9], "damaged or cut short"),
        ],
    ),
)
def test_files_that_are_none(own: Server, name: str, body: bytes, why: str) -> None:
    assert why in problem(inspect(own, name, body), 422, "invalid")["detail"]


def test_a_file_that_grows_too_much(serve: Serve) -> None:
    bomb = gzip.compress(b"text,label\n" + b"word,x\n" * 1_000_000)
    server = serve("--max-body", "1")
    problem(inspect(server, "bomb.csv.gz", bomb), 413, "too-large")
    assert inspect(server, "bomb.csv.gz", gzip.compress(b"text,label\n" + b"word,x\n" * 9000)).status_code == 200


def test_a_large_file_gets_no_more_memory(tmp_path: Path) -> None:
    with open(tmp_path / "a.csv", "wb") as file:
        file.truncate(1 << 30)
    upload = Upload([("a.csv", str(tmp_path / "a.csv"))] * 9, "utf-8", 1000)
    assert upload.memory == 2 << 30
    with pytest.raises(Problem, match=r"a\.csv needs more than 2,147,483,648 bytes of memory"), upload.within_memory():
        raise MemoryError
    with pytest.raises(Problem, match=r"a\.csv has more than 4,294,967,296 bytes"):
        list(upload.batches("text", None, True))


@pytest.mark.parametrize("name", ["ラベル", "标签", "类别", "레이블", "라벨"])
def test_labels_are_found_by_their_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_text(f"text,{name}\ngood tea,one\nbad tea,two\n", encoding="utf-8")
    assert Upload([("a.csv", str(tmp_path / "a.csv"))], "utf-8", 1000).inspect(None, None)["label"] == name


def test_one_long_cell_that_grows_too_much(serve: Serve) -> None:
    """It would be one batch: nothing of it may be read before it is counted."""
    server = serve("--max-body", "1")
    size = 200_000_000
    bomb = gzip.compress(b"text,label\n" + b"a" * size + b",x\n")
    before = memory(server)
    problem(inspect(server, "bomb.csv.gz", bomb), 413, "too-large")
    job = train(server, "bomb.csv.gz", bomb)
    assert (job["state"], job["problem"]["status"]) == ("failed", 413)
    assert memory(server) - before < size // 2


def packed(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return out.getvalue()


def test_columns_that_grow_too_much(own: Server) -> None:
    """Packed cells, nulls that take no bytes, one long text that is named many times."""
    cell = pa.table({"text": ["a" * 300_000_000], "label": ["x"]})
    nulls = pa.table({"text": pa.nulls(200_000_000), "label": pa.nulls(200_000_000)})
    twice = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int8)), pa.array(["b" * 100_000]))
    parquet = io.BytesIO()
    pq.write_table(cell, parquet, compression="zstd", use_dictionary=False, write_statistics=False)
    before = memory(own)
    for name, body in [
        ("cell.parquet", parquet.getvalue()),
        ("cell.arrow", packed(cell, compression="zstd")),
        ("nulls.arrow", packed(nulls)),
        ("twice.arrow", packed(pa.table({"text": twice, "label": twice}))),
    ]:
        assert len(body) < 1_000_000
        problem(inspect(own, name, body), 413, "too-large")
        assert train(own, name, body)["problem"]["status"] == 413
    assert memory(own) - before < 50_000_000


def ask_and_leave(server: Server, path: str, body: bytes) -> None:
    """Send a request, and close the connection before the answer."""
    head = f"POST {path} HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(head.encode() + body)


def test_looking_into_a_file_ends_when_its_client_has_gone(serve: Serve) -> None:
    server = serve()
    nulls = pa.nulls(4_000_000, pa.string())  # each of them is a row that cannot be read
    ask_and_leave(server, "/v1/inspect?name=a.parquet", parquet(text=nulls, label=nulls))
    wait_until(lambda: '"route":"/v1/inspect"' in server.log.read_text())
    assert '"route":"/v1/inspect","status":499' in server.log.read_text()
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    assert not children.exists() or not children.read_text()


def memory(server: Server) -> int:
    """The most bytes that a service has had in memory."""
    status = Path(f"/proc/{server.process.pid}/status")
    if not status.exists():
        pytest.skip("this system does not tell how much memory a process had")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])


def test_what_has_begun_is_learned_before_the_end(serve: Serve) -> None:
    server = serve()
    body = "text,label\n" + "".join(f"words of number {k},{'xyz'[k % 3]}\n" for k in range(300))
    asked = server.client.post("/v1/train", params={"name": "many.csv"}, content=body.encode(), headers=BYTES)
    assert asked.status_code == 202
    # The service waits for seconds, in which a busy machine may not even start the process that reads the file.
    wait_until(lambda: server.client.get(asked.headers["location"]).json()["progress"]["total"] is not None)
    assert server.stop() == 0
    with bunrui.open(server.path, read_only=True) as clf:
        assert clf.counts.n_docs == 304 and clf.check().is_right


def test_the_columns_of_a_file_that_is_learned_have_their_names(own: Server) -> None:
    assert "there is no column 'text'" in train(own, "mails.csv", CSV)["problem"]["detail"]
    asked = own.client.get("/openapi.json").json()["paths"]["/v1/train"]["post"]["parameters"]
    assert not any("guessed" in parameter.get("description", "") for parameter in asked)


def test_it_is_learned(own: Server) -> None:
    before = own.client.get("/v1/info").json()
    body = "text,label\n" + "".join(f"words of number {k},{'xyz'[k % 3]}\n" for k in range(60_000))
    job = train(own, "many.csv", body.encode(), text="text", label="label")
    assert (job["kind"], job["state"], job["progress"]) == ("train", "done", {"done": 60_000, "total": 60_000})
    assert job["result"] == {
        "transaction": job["result"]["transaction"],
        "changed": 60_000,
        "documents": 60_004,
        "duplicates": 0,
    }
    with bunrui.open(own.path, read_only=True) as clf:
        assert next(document for document in clf.documents() if document.text == "words of number 7").labels == ["y"]
    own.client.post("/v1/undo").raise_for_status()
    after = own.client.get("/v1/info").json()
    assert (after["documents"], after["labels"]) == (before["documents"], before["labels"])


def test_several_labels_and_ids(own: Server) -> None:
    assert train(own, "a.jsonl", JSONL, text="text", label="labels")["result"]["changed"] == 2
    assert {"label": "ad", "documents": 1} in own.client.get("/v1/labels").json()["labels"]
    own.client.post("/v1/undo").raise_for_status()


def test_files_need_the_token_and_the_right_type(own: Server, small: Server) -> None:
    for path in ("/v1/inspect", "/v1/train"):
        with own.stranger() as client:
            problem(client.post(path, params={"name": "a.csv"}, content=CSV, headers=BYTES), 401, "no-token")
        problem(small.client.post(path, params={"name": "a.csv"}, content=CSV, headers=BYTES), 403, "read-only")
        for kind in ("text/csv", "multipart/form-data", "application/json", "text/plain"):
            asked = own.client.post(path, params={"name": "a.csv"}, content=CSV, headers={"Content-Type": kind})
            problem(asked, 415, "media-type")
        problem(own.client.post(path, content=CSV, headers=BYTES), 422, "invalid")
    problem(own.client.post("/v1/learn", content=b'{"texts":["a"],"labels":["x"]}', headers=BYTES), 415, "media-type")


def test_who_knows_the_token(own: Server) -> None:
    assert own.client.get("/v1/token").json() == {"right": True}
    with own.stranger() as client:
        problem(client.get("/v1/token", headers={"Authorization": f"Bearer {TOKEN}x"}), 401, "no-token")


def test_strangers_who_compare_keep_no_training_away(serve: Serve, tmp_path: Path) -> None:
    texts = [f"word{k % 997} word{k % 89} word{k % 7} pills" for k in range(500)]
    with bunrui.create(tmp_path / "many.bunrui") as clf:
        clf.learn(texts, [f"label{k % 7}" for k in range(500)])
    server = serve(path=tmp_path / "many.bunrui")
    with server.stranger() as stranger:
        started = [stranger.post("/v1/compare", json={"trained": True}) for _ in range(5)]
        problem(stranger.post("/v1/curve"), 503, "busy")
        assert train(server, "mails.csv", CSV, text="subject", label="folder")["state"] == "done"
        assert stranger.get(started[-1].headers["location"]).json()["state"] == "waiting"
