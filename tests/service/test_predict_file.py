"""A file that is predicted: kept on disk, predicted in the background, read page by page, downloaded."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bunrui
from bunrui.documents import read
from bunrui.service.errors import Problem
from bunrui.service.jobs import Job
from bunrui.service.predictions import Answers
from bunrui.service.spool import Files
from tests.service.conftest import Serve, Server, finished, problem, running, shared_server
from tests.support.examples import quick, quick_rows
from tests.support.waiting import wait_until

BYTES = {"Content-Type": "application/octet-stream"}
TEXTS = ["cheap pills now", "lunch at noon", "=money+fast", 'meeting, "noon"', "zzz"]
ROWS = [{"n": str(k), "said": text, "label": "old"} for k, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from shared_server(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service on documents with several labels."""
    path = tmp_path_factory.mktemp("several") / "topics.bunrui"
    with bunrui.create(path) as clf:
        clf.learn(
            ["wheat corn harvest", "oil barrel crude", "wheat and oil prices", "corn field"] * 3,
            [["grain"], ["oil"], ["grain", "oil"], ["grain"]] * 3,
        )
    yield from running(path)


def send(server: Server, name: str, body: bytes) -> str:
    answer = server.client.post("/v1/files", params={"name": name}, content=body, headers=BYTES)
    assert answer.status_code == 201, answer.text
    assert answer.json()["bytes"] == len(body)
    id: str = answer.json()["id"]
    return id


def predict(server: Server, name: str, body: bytes, **options: Any) -> dict[str, Any]:
    asked = {"file": send(server, name, body), **options}
    return finished(server, server.client.post("/v1/predictions", params=asked))


def page(server: Server, job: dict[str, Any], **options: Any) -> dict[str, Any]:
    answer = server.client.get(f"/v1/predictions/{job['id']}", params=options)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def download(server: Server, job: dict[str, Any], format: str) -> bytes:
    answer = server.client.get(f"/v1/downloads/{job['id']}", params={"format": format})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
    return answer.content


def as_csv(rows: list[dict[str, Any]], encoding: str = "utf-8", **options: Any) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), **options)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode(encoding)


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def as_xlsx(rows: list[dict[str, Any]]) -> bytes:
    from bunrui.documents.spreadsheet import SheetWriter

    out, table = io.BytesIO(), pa.Table.from_pylist(rows)
    writer = SheetWriter(out, table.schema)
    writer.write_table(table)
    writer.close()
    return out.getvalue()


def as_jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def expected(server: Server, texts: list[str]) -> list[tuple[str, float]]:
    found = server.client.post("/v1/predict", json={"texts": texts}).json()
    return list(zip(found["labels"], found["probabilities"], strict=True))


def from_xlsx(body: bytes) -> list[dict[str, str]]:
    (batch,) = read(io.BytesIO(body), text="said", labelled=False, rows=True, format="xlsx")
    rows: list[dict[str, str]] = batch["row"].to_pylist()
    return rows


def test_numbers_and_dates_of_a_spreadsheet_come_back_as_such(own: Server) -> None:
    book = openpyxl.Workbook()
    rows = [
        ["said", "price", "day", "moment", "hour", "sold", "code", "mixed"],
        ["cheap pills", 1.5, date(2024, 2, 29), datetime(2024, 2, 29, 12, 30, 5), time(6, 15), True, "007", 3],
        ["=1+1", -2, date(1900, 1, 5), datetime(1999, 12, 31, 23, 59, 59), time(0, 0), False, "1e5", "three"],
        ["noon", None, None, None, None, None, None, date(2030, 1, 1)],
    ]
    for row in rows:
        book.active.append(row)
    book.active["A3"].data_type = "s"  # a text, and no formula
    out = io.BytesIO()
    book.save(out)
    job = predict(own, "a.xlsx", out.getvalue(), text="said")
    sheet = openpyxl.load_workbook(io.BytesIO(download(own, job, "xlsx"))).active
    found = [list(row[:8]) for row in sheet.iter_rows(values_only=True)]
    days = [[value.date() if k == 2 and value else value for k, value in enumerate(row)] for row in found[1:]]
    last = days[-1].pop()
    assert days == [rows[1], rows[2], rows[3][:-1]] and last == datetime(2030, 1, 1)
    assert [cell.data_type for cell in sheet[3]][:8] == ["s", "n", "d", "d", "d", "b", "s", "s"]
    table = csv.DictReader(io.StringIO(download(own, job, "csv").decode("utf-8-sig")))
    assert next(table)["price"] == "1.5"


def test_rows_without_text_get_no_label(own: Server, several: Server) -> None:
    body = as_csv([{"said": text} for text in ["cheap pills wheat", "", " \u3000", "lunch at noon oil"]])
    for server in (own, several):
        job = predict(server, "new.csv", body, text="said")
        assert (job["result"]["documents"], job["result"]["blank"]) == (4, 2)
        assert server is several or sum(job["result"]["labels"].values()) == 2
        for order in ("file", "unsure", "sure", "label"):
            found = [(row["row"], bool(row["labels"])) for row in page(server, job, order=order)["rows"]]
            last = found[-2:] if order != "file" else found[1:3]
            assert sorted(last) == [(1, False), (2, False)] and sorted(found)[0] == (0, True)
        table = pq.read_table(io.BytesIO(download(server, job, "parquet"))).to_pylist()
        label = "label" if server is own else "labels"
        assert [bool(row[label]) for row in table] == [True, False, False, True]
    job = predict(own, "new.csv", body, text="said")
    assert own.client.post(f"/v1/predictions/{job['id']}", json={"row": 1, "labels": ["ham"]}).json()["labels"] == [
        "ham"
    ]
    assert page(own, job, label="ham", order="label")["total"] == 2


@pytest.mark.parametrize(
    ("name", "write"),
    quick_rows(
        2,
        [
            ("a.csv", as_csv),
            ("a.xlsx", as_xlsx),
            ("a.tsv", lambda rows: as_csv(rows, delimiter="\t")),
            ("a.jsonl", as_jsonl),
            ("a.parquet", as_parquet),
        ],
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_format_comes_back_with_all_columns(own: Server, name: str, write: Any) -> None:
    job = predict(own, name, write(ROWS), text="said")
    assert job["state"] == "done", job
    predicted = expected(own, TEXTS)
    labels = [label for label, _ in predicted]
    result = job["result"]
    assert (result["documents"], result["skipped"], result["several"]) == (5, 0, False)
    assert result["labels"] == {label: labels.count(label) for label in labels}
    found = page(own, job)
    assert [(row["labels"], row["probabilities"]) for row in found["rows"]] == [([a], [b]) for a, b in predicted]
    assert [row["text"] for row in found["rows"]] == TEXTS
    table = pq.read_table(io.BytesIO(download(own, job, "parquet"))).to_pylist()
    assert table == [
        {**row, "label (2)": label, "probability": share} for row, (label, share) in zip(ROWS, predicted, strict=True)
    ]
    body = download(own, job, "csv")
    assert body.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
    tame = [{**row, "said": "'=money+fast" if row["said"] == "=money+fast" else row["said"]} for row in table]
    assert rows == [{name: str(value) for name, value in row.items()} for row in tame]
    assert [row["said"] for row in from_xlsx(download(own, job, "xlsx"))] == TEXTS


def test_columns_keep_their_types(own: Server) -> None:
    table = pa.table(
        {
            "text": TEXTS,
            "n": [-1, 2, 3, 4, None],
            "when": pa.array([1, 2, 3, 4, 5], pa.timestamp("s")),
            "tags": [["a"], [], ["b", "c"], None, ["d"]],
            "kind": pa.array(["x", "y", "x", "y", "x"]).dictionary_encode(),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out)
    table = pq.read_table(io.BytesIO(out.getvalue()))
    job = predict(own, "a.parquet", out.getvalue())
    found = pq.read_table(io.BytesIO(download(own, job, "parquet")))
    assert found.select(["text", "n", "when", "tags"]) == table.select(["text", "n", "when", "tags"])
    assert found["kind"].to_pylist() == table["kind"].to_pylist()
    rows = list(csv.DictReader(io.StringIO(download(own, job, "csv").decode("utf-8-sig"))))
    assert [(row["n"], row["tags"], row["kind"]) for row in rows][:3] == [
        ("-1", '["a"]', "x"), ("2", "[]", "y"), ("3", '["b", "c"]', "x"),
    ]  # fmt: skip


def test_mailboxes_and_lines(own: Server) -> None:
    mails = b"From a@b Mon Jan  1 10:00:00 2026\nMessage-ID: <1@x>\nSubject: cheap pills\n\nnow\n"
    job = predict(own, "inbox.mbox", mails)
    (row,) = pq.read_table(io.BytesIO(download(own, job, "parquet"))).to_pylist()
    assert (row["id"], row["label"]) == ("<1@x>", "spam") and "cheap pills" in row["text"]
    job = predict(own, "all.txt", b"cheap pills\nlunch at noon\n")
    rows = pq.read_table(io.BytesIO(download(own, job, "parquet"))).to_pylist()
    assert [(row["text"], row["label"]) for row in rows] == [("cheap pills", "spam"), ("lunch at noon", "ham")]


def test_rows_are_sorted_and_filtered(own: Server) -> None:
    job = predict(own, "a.csv", as_csv(ROWS))
    shares = [share for _, share in expected(own, TEXTS)]
    by_share = sorted(range(5), key=lambda k: shares[k])
    assert [row["row"] for row in page(own, job, order="unsure")["rows"]] == by_share
    assert [row["row"] for row in page(own, job, order="sure", limit=2, offset=1)["rows"]] == by_share[::-1][1:3]
    labels = [row["labels"][0] for row in page(own, job, order="label")["rows"]]
    assert labels == sorted(labels)
    spam = page(own, job, label="spam", limit=1)
    assert spam["total"] == sum(label == "spam" for label, _ in expected(own, TEXTS))
    assert [row["row"] for row in page(own, job, find="NOON")["rows"]] == [1, 3]
    assert page(own, job, find="noon", label="spam")["total"] == 0
    assert page(own, job, label="unheard of") == {"rows": [], "total": 0}
    assert page(own, job, offset=7) == {"rows": [], "total": 5}
    problem(own.client.get(f"/v1/predictions/{job['id']}", params={"row": 5}), 404, "not-found")
    problem(own.client.get(f"/v1/predictions/{job['id']}", params={"order": "x"}), 422, "invalid")


def test_a_page_cuts_long_texts_and_a_row_does_not(own: Server) -> None:
    long = "pills " * 1000
    job = predict(own, "a.csv", as_csv([{"text": long}]))
    assert len(page(own, job)["rows"][0]["text"]) < 400
    assert page(own, job, row=0)["rows"][0]["text"] == long


def test_a_row_gets_another_label(own: Server) -> None:
    job = predict(own, "a.csv", as_csv(ROWS))
    before = page(own, job)
    answer = own.client.post(f"/v1/predictions/{job['id']}", json={"row": 4, "labels": ["news"]})
    assert answer.json() == {**before["rows"][4], "labels": ["news"], "probabilities": [1.0], "corrected": True}
    assert [row["row"] for row in page(own, job, label="news")["rows"]] == [4]
    assert page(own, job, order="unsure")["rows"][-1]["row"] == 4
    rows = pq.read_table(io.BytesIO(download(own, job, "parquet"))).to_pylist()
    assert [(row["label (2)"], row["corrected"]) for row in rows][3:] == [
        (before["rows"][3]["labels"][0], False),
        ("news", True),
    ]
    own.client.post(f"/v1/predictions/{job['id']}", json={"row": 4}).raise_for_status()
    assert page(own, job) == before
    problem(own.client.post(f"/v1/predictions/{job['id']}", json={"row": 5, "labels": ["x"]}), 404, "not-found")
    for labels in ([], ["a", "b"], [1.5], [None]):
        problem(own.client.post(f"/v1/predictions/{job['id']}", json={"row": 4, "labels": labels}), 422, "invalid")


def test_rows_stay_corrected_when_they_are_predicted_again(own: Server) -> None:
    id = send(own, "a.csv", as_csv(ROWS))
    asked = {"file": id, "text": "said"}
    job = finished(own, own.client.post("/v1/predictions", params=asked))
    own.client.post(f"/v1/predictions/{job['id']}", json={"row": 4, "labels": ["news"]}).raise_for_status()
    again = finished(own, own.client.post("/v1/predictions", params=asked))
    assert [row["row"] for row in page(own, again)["rows"] if row["corrected"]] == [4]
    assert page(own, again, row=4)["rows"][0]["labels"] == ["news"]
    problem(own.client.get(f"/v1/predictions/{job['id']}"), 404, "not-found")
    other = finished(own, own.client.post("/v1/predictions", params={**asked, "text": "n"}))
    assert not any(row["corrected"] for row in page(own, other)["rows"])


def test_rows_with_keys_of_their_own_share_a_column(own: Server) -> None:
    """Else a download has as many cells as the square of the rows."""
    rows = [{"text": "lunch", f"k{k}": k} for k in range(1200)]
    job = predict(own, "a.jsonl", as_jsonl(rows))
    table = pq.read_table(io.BytesIO(download(own, job, "parquet")))
    assert table.num_columns <= 110
    found = [
        {name: value for name, value in row.items() if value is not None and name[0] == "k"}
        | {name: str(value) for name, value in json.loads(row["other columns"] or "{}").items()}
        for row in table.to_pylist()
    ]
    assert found == [{f"k{k}": str(k)} for k in range(1200)]


def test_no_cell_of_a_csv_is_a_formula(own: Server) -> None:
    rows = [{"text": "lunch", "=1+1": "\n=2", "'=1+1": "-3"}]
    head, row = csv.reader(io.StringIO(download(own, predict(own, "a.csv", as_csv(rows)), "csv").decode("utf-8-sig")))
    assert (head[:3], row[1:3]) == (["text", "'=1+1", "'=1+1 (2)"], ["'\n=2", "-3"])


def test_a_download_stays_as_it_began(own: Server, tmp_path: Path) -> None:
    with bunrui.open(own.path, read_only=True) as clf:
        files = Files(1 << 20)
        answers = Answers(files.create(True), "x", several=False)
        batches = (
            pa.record_batch({"text": [text], "line": [1], "id": pa.array([None], pa.string())}) for text in TEXTS[:2]
        )
        answers.predict(clf, batches, Job("predict", None), files)
        tables = answers.tables()
        first, _ = next(tables)
        answers.correct(1, ["new"])
        assert next(tables)[0].schema == first.schema
        assert "corrected" in next(answers.tables())[0].column_names
        files.close()


@pytest.mark.parametrize("label", ["x" * 70_000, "  "])
def test_a_correction_is_a_label_that_could_be_learned(own: Server, label: str) -> None:
    job = predict(own, "a.csv", as_csv([{"text": "lunch"}]))
    answer = own.client.post(f"/v1/predictions/{job['id']}", json={"row": 0, "labels": [label]})
    problem(answer, 422, "invalid")
    assert len(answer.content) < 2000
    assert page(own, job)["rows"][0]["corrected"] is False


def test_removed_predictions_count_while_somebody_reads_them(own: Server) -> None:
    """They take the disk until then: else a stalled download of each would fill it beyond any limit."""
    with bunrui.open(own.path, read_only=True) as clf:
        files = Files(1 << 20)
        folder = files.create(True)
        answers = Answers(folder, "x", several=False)
        batch = pa.record_batch({"text": TEXTS, "line": range(len(TEXTS)), "id": pa.nulls(len(TEXTS), pa.string())})
        answers.predict(clf, (each for each in [batch]), Job("predict", None), files)
        (written,) = Path(folder.path).iterdir()
        assert folder.n_bytes > batch.nbytes  # labels and shares are on the disk, too
        with folder.in_use():
            answers.remove()
            assert folder.n_bytes > batch.nbytes and written.exists()
            assert next(answers.tables())[0].num_rows == len(TEXTS)
        assert folder.n_bytes == 0 and not written.exists()
        files.close()


def test_several_labels(several: Server) -> None:
    texts = ["wheat and oil prices", "corn field", "zzz"]
    job = predict(several, "a.csv", as_csv([{"text": text} for text in texts]))
    with bunrui.open(several.path, read_only=True) as clf:
        sets = clf.predict_labels(texts)
    found = page(several, job)["rows"]
    assert [set(row["labels"]) for row in found] == sets
    assert sets[0] == {"grain", "oil"}
    assert all(share > 0.5 for row in found for share in row["probabilities"])
    assert job["result"]["several"] is True
    assert job["result"]["labels"] == {name: sum(name in one for one in sets) for name in job["result"]["labels"]}
    grain = page(several, job, label="grain")
    assert [row["row"] for row in grain["rows"]] == [k for k, one in enumerate(sets) if "grain" in one]
    several.client.post(f"/v1/predictions/{job['id']}", json={"row": 2, "labels": ["oil", "new"]}).raise_for_status()
    rows = pq.read_table(io.BytesIO(download(several, job, "parquet"))).to_pylist()
    assert [set(row["labels"]) for row in rows] == [*sets[:2], {"oil", "new"}]
    assert rows[2]["probabilities"] == [1.0, 1.0]
    rows = list(csv.DictReader(io.StringIO(download(several, job, "csv").decode("utf-8-sig"))))
    assert json.loads(rows[2]["labels"]) == ["oil", "new"]


# --- what goes wrong


def test_bad_rows_are_named_or_left_out(own: Server) -> None:
    body = b"n,text\n1,cheap pills\n2\n3,lunch\n"
    job = predict(own, "a.csv", body)
    assert (job["state"], job["problem"]["line"], job["problem"]["suggests"]) == ("failed", 3, {"skip_bad": True})
    job = predict(own, "a.csv", body, skip_bad="true")
    assert (job["result"]["documents"], job["result"]["skipped"]) == (2, 1)
    assert "line 3" in job["result"]["problems"][0]
    assert [row["line"] for row in page(own, job)["rows"]] == [2, 4]


def test_a_problem_says_which_encoding_to_try(own: Server) -> None:
    body = "text\n今日は良い天気です。無料の薬があります。\n".encode("cp932")
    job = predict(own, "a.csv", body, encoding="utf-8")
    assert job["problem"]["suggests"] == {"encoding": "cp932", "skip_bad": True}
    assert predict(own, "a.csv", body)["result"]["documents"] == 1


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    quick_rows(
        2,
        [
            ("a.csv", b"text\n", "invalid"),
            ("a.csv", b"", "invalid"),
            ("a.xlsx", b"PK\x03\x04", "invalid"),
            ("a.parquet", b"PAR1", "invalid"),
        ],
    ),
)
def test_files_without_documents(own: Server, name: str, body: bytes, kind: str) -> None:
    job = predict(own, name, body)
    assert (job["state"], job["problem"]["type"]) == ("failed", f"urn:bunrui:problem:{kind}")


def test_files_that_are_not_there(own: Server) -> None:
    for path in ("/v1/files/x", "/v1/predictions/x", "/v1/downloads/x"):
        problem(own.client.get(path), 404, "not-found")
    problem(own.client.post("/v1/predictions", params={"file": "x"}), 404, "not-found")
    problem(own.client.post("/v1/train", params={"file": "x"}), 404, "not-found")
    problem(own.client.post("/v1/files", params={"name": "a.xls"}, content=b"x", headers=BYTES), 422, "invalid")
    problem(own.client.post("/v1/files", params={"name": "a.csv"}, json={}), 415, "media-type")
    id = send(own, "a.csv", b"text\nx\n")
    own.client.delete(f"/v1/files/{id}").raise_for_status()
    problem(own.client.get(f"/v1/files/{id}"), 404, "not-found")


def test_files_go_with_the_service_and_make_room(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = serve("--max-file", "1")

    def there() -> list[Path]:
        return list(tmp_path.glob("bunrui-*/*"))

    problem(
        server.client.post("/v1/files", params={"name": "a.csv"}, content=b"x" * (2 << 20), headers=BYTES),
        413,
        "too-large",
    )
    assert there() == []
    ids = [send(server, "a.csv", b"text\n" + b"x" * 1_000_000) for _ in range(6)]
    assert len(there()) == 4
    problem(server.client.get(f"/v1/files/{ids[0]}"), 404, "not-found")
    assert server.client.get(f"/v1/files/{ids[-1]}").json()["documents"] == 1
    server.stop()
    assert list(tmp_path.glob("bunrui-*")) == []


def test_files_in_use_go_when_they_are_free(own: Server) -> None:
    files = Files(1 << 20)
    folder = files.create(True)
    Path(folder.file).write_bytes(b"text")
    with folder.in_use():
        folder.remove()
        assert Path(folder.file).read_bytes() == b"text"
        with pytest.raises(Problem, match="send it again"):
            files.find(folder.id)
    assert not Path(folder.path).exists()
    files.close()


def test_files_are_few_and_go_when_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.service.spool._MOST_FOLDERS", 2)
    files = Files(1 << 20)
    first, second, third = (files.create(False) for _ in range(3))
    assert [Path(folder.path).exists() for folder in (first, second, third)] == [False, True, True]
    with second.in_use(), third.in_use(), pytest.raises(Problem, match="in use already"):
        files.create(False)
    third.asked -= 4000
    files.sweep()
    assert [Path(folder.path).exists() for folder in (second, third)] == [True, False]
    files.close()


def test_what_a_killed_service_left_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    living = Files(1 << 20)
    living.create(True)
    dead = tmp_path / "bunrui-files-dead"
    dead.mkdir()
    for root in tmp_path.iterdir():
        os.utime(root, (1, 1))
    other = Files(1 << 20)
    other.create(True)
    assert not dead.exists() and len(list(tmp_path.iterdir())) == 2
    living.close()
    other.close()


def test_a_refused_file_leaves_nothing(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = serve()
    problem(server.client.post("/v1/files", content=b"x", headers=BYTES), 422, "invalid")
    problem(server.client.post("/v1/train", params={"name": "a.xls"}, content=b"x", headers=BYTES), 422, "invalid")
    wait_until(lambda: not list(tmp_path.glob("bunrui-*/*")))  # it goes when the answer is sent


def test_strangers_predict_files_and_do_not_learn_them(own: Server) -> None:
    with own.stranger() as stranger:
        answer = stranger.post("/v1/files", params={"name": "a.csv"}, content=as_csv(ROWS), headers=BYTES)
        id = answer.json()["id"]
        assert stranger.get(f"/v1/files/{id}").json()["text"] == "said"
        problem(stranger.post("/v1/train", params={"file": id}), 401, "no-token")
        assert stranger.post("/v1/predictions", params={"file": id}).status_code == 202


# --- looking into files, and learning them


def test_looking_into_files_that_were_sent(own: Server) -> None:
    one, other = send(own, "a.csv", as_csv(ROWS, "cp932")), send(own, "b.xlsx", as_xlsx(ROWS))
    found = own.client.get(f"/v1/files/{one}", params={"also": other, "text": "said", "label": "label"}).json()
    assert (found["documents"], found["labels"], found["columns"]) == (10, {"old": 10}, ["n", "said", "label"])
    head = own.client.get(f"/v1/files/{one}", params={"whole": "false"}).json()
    assert (head["documents"], head["labels"], head["text"], len(head["rows"])) == (None, {}, "said", 5)
    given = own.client.get(f"/v1/files/{one}", params={"given": "spam"}).json()
    assert (given["labels"], given["label"]) == ({"spam": 5}, None)


@pytest.mark.parametrize("encoding", quick(2, ["utf-8-sig", "cp932", "utf-8", "utf-16", "euc-jp"]))
def test_encodings_are_found_out(own: Server, encoding: str) -> None:
    rows = [{"本文": "今日は良い天気です。無料の薬があります。", "ラベル": "天気"}] * 3
    found = own.client.get(f"/v1/files/{send(own, 'a.csv', as_csv(rows, encoding))}").json()
    assert found["encoding"] == encoding.removesuffix("-sig")
    assert (found["text"], found["labels"]) == ("本文", {"天気": 3})


def test_numbers_are_labels_only_where_they_are_few_and_whole(own: Server) -> None:
    rows = [{"id": k, "price": k / 7, "stars": k % 5, "said": f"word{k} and more"} for k in range(50)]
    found = own.client.get(f"/v1/files/{send(own, 'a.csv', as_csv(rows))}").json()
    assert (found["choices"], found["label"]) == (["stars", "said"], "stars")


def test_several_files_are_learned_with_one_label(serve: Serve) -> None:
    server = serve()
    ids = [send(server, f"{k}.csv", as_csv([{"said": f"tea and cake {k}"}])) for k in range(2)]
    asked = {"file": ids, "text": "said", "given": "food", "encoding": "auto"}
    job = finished(server, server.client.post("/v1/train", params=asked))
    assert job["result"]["changed"] == 2
    assert server.client.post("/v1/predict", json={"texts": ["cake"]}).json()["labels"] == ["food"]
    problem(server.client.post("/v1/train", params={"file": ids, "name": "a.csv"}), 422, "invalid")
    problem(server.client.post("/v1/train"), 422, "invalid")
