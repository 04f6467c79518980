from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bunrui.cli.console import Bar
from bunrui.cli.datasets import _Transfer
from bunrui.datasets import CORPORA

SMS = "ham\tOk lar...\nspam\tFree entry in 2 a wkly comp\nham\tü there?\n"
TERMS = """sms: SMS Spam Collection 1 (Almeida et al. 2011)
licence: CC BY 4.0. Creative Commons Attribution 4.0, as the UCI Machine Learning Repository says. \
Name Almeida, Hidalgo and Yamakami, DocEng 2011.
page: https://archive.ics.uci.edu/dataset/228/sms+spam+collection
"""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BUNRUI_DATASETS", str(tmp_path / "corpora"))
    return tmp_path / "corpora"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "SMSSpamCollection").write_text(SMS)
    return tmp_path / "SMSSpamCollection"


class _Quiet(SimpleHTTPRequestHandler):
    said: Callable[[], str]
    seen = ""

    def do_GET(self) -> None:
        type(self).seen += type(self).said()
        super().do_GET()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[type[_Quiet]]:
    """SMS spam on a server of this machine, which notes what was said on stderr when it is asked."""
    (tmp_path / "public").mkdir()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("SMSSpamCollection", SMS)
    (tmp_path / "public" / "smsspamcollection.zip").write_bytes(buffer.getvalue())
    handler = type("Handler", (_Quiet,), {"said": staticmethod(lambda: capsys.readouterr().err)})
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path / "public"))) as server:
        (file,) = CORPORA["sms"].files
        url = f"http://127.0.0.1:{server.server_port}/{file.name}"
        sha256 = hashlib.sha256(buffer.getvalue()).hexdigest()
        ours = dataclasses.replace(CORPORA["sms"], files=(dataclasses.replace(file, url=url, sha256=sha256),))
        monkeypatch.setitem(CORPORA, "sms", ours)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield handler
        server.shutdown()
        thread.join()


# --- list


def test_list(run, store: Path, copy: Path) -> None:
    code, out, err = run("datasets", "list")
    lines = [line.split("\t") for line in out.splitlines()]
    assert (code, err) == (0, "") and [line[0] for line in lines] == list(CORPORA)
    assert lines[1] == [
        "nsmc",
        "ko",
        "train 150,000, test 50,000",
        "2",
        "19.5 MB",
        "CC0 1.0",
        "Naver sentiment movie corpus: Korean reviews, 0 negative, 1 positive (Park 2016)",
        "",
    ]
    assert next(line for line in lines if line[0] == "uci-vowel")[4] == "bring it"
    run("datasets", "fetch", "sms", "--from", str(copy))
    here = {line.split("\t")[0]: line.split("\t")[-1] for line in run("datasets", "list").out.splitlines()}
    assert {name for name, path in here.items() if path} == {"sms"} and here["sms"] == str(store / "sms")


def test_list_as_json(run, store: Path) -> None:
    rows = {row["name"]: row for row in map(json.loads, run("datasets", "list", "--json").out.splitlines())}
    assert list(rows) == list(CORPORA)
    assert rows["imdb"]["splits"] == {"train": 25_000, "test": 25_000} and rows["imdb"]["path"] is None
    assert rows["imdb"]["files"] == [
        {
            "name": "aclImdb_v1.tar.gz",
            "url": "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            "sha256": "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
            "bytes": 84_125_825,
        }
    ]


def test_list_on_a_terminal(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    out = run("datasets", "list").out
    assert "documents" in out and "train 25,000, test 25,000" in out and "\t" not in out


# --- fetch and path


def test_fetch_learn_and_predict(run, store: Path, published: type[_Quiet]) -> None:
    code, out, err = run("datasets", "fetch", "sms")
    url = CORPORA["sms"].files[0].url
    assert published.seen == f"{TERMS}file: {url}\n", "the terms are shown before anything is downloaded"
    assert (code, out, err) == (
        0,
        "",
        "sms, all: 3 documents, where the official corpus has 5,574\n" + f"{store}/sms/all.parquet: 3 rows\n",
    )
    assert run("datasets", "path", "sms") == (0, f"{store}/sms\n", "")
    assert run("learn", "sms.bunrui", f"{store}/sms/all.parquet").code == 0
    assert run("predict", "sms.bunrui", f"{store}/sms/all.parquet").out.startswith("ham\t")


def test_fetch_again(run, store: Path, published: type[_Quiet]) -> None:
    run("datasets", "fetch", "sms")
    published.seen = ""
    code, out, err = run("datasets", "fetch", "sms")
    said = f"{TERMS}it is here already: delete {store}/sms to get it anew\n{store}/sms/all.parquet: 3 rows\n"
    assert (code, out, published.seen, err) == (0, "", "", said)


def test_a_copy(run, store: Path, copy: Path) -> None:
    assert run("datasets", "fetch", "sms", "--from", str(copy)) == (
        0,
        "",
        f"{TERMS}sms, all: 3 documents, where the official corpus has 5,574\n{store}/sms/all.parquet: 3 rows\n",
    )


def test_what_cannot_be_reached(run, store: Path, published: type[_Quiet], tmp_path: Path) -> None:
    (tmp_path / "public" / "smsspamcollection.zip").unlink()
    code, out, err = run("datasets", "fetch", "sms")
    assert (code, out) == (1, "")
    assert err == (
        f"error: {CORPORA['sms'].files[0].url} answers 404 File not found. Download smsspamcollection.zip by other "
        f"means (see https://archive.ics.uci.edu/dataset/228/sms+spam+collection), and place it as "
        f"{store}/sms/smsspamcollection.zip, or give it with 'bunrui datasets fetch sms --from PATH'\n"
    )


def test_path_of_what_is_not_there(run, store: Path) -> None:
    err = f"error: imdb is not in {store}/imdb: get it with 'bunrui datasets fetch imdb'\n"
    assert run("datasets", "path", "imdb") == (1, "", err)


def test_an_unknown_corpus(run) -> None:
    assert run("datasets", "fetch", "imbd") == (
        1,
        "",
        "error: there is no corpus 'imbd': did you mean imdb? 'bunrui datasets list' shows those that there are\n",
    )


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["get", "imdb"], "write 'datasets list', 'datasets fetch NAME' or 'datasets path NAME'."),
        (["fetch"], "write 'datasets list', 'datasets fetch NAME' or 'datasets path NAME'."),
        (["list", "imdb"], "write 'datasets list', 'datasets fetch NAME' or 'datasets path NAME'."),
        (["path", "imdb", "--from", "x"], "--from goes with 'datasets fetch NAME'."),
        (["path", "imdb", "--json"], "--json goes with 'datasets list'."),
    ],
)
def test_wrong_usage(run, arguments: list[str], what: str) -> None:
    assert run("datasets", *arguments) == (2, "", f"error: {what}\nTry 'bunrui datasets --help'.\n")


# --- the bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO) -> str:
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setattr(Bar, "_PATIENCE", -1)
    monkeypatch.setenv("TERM", "xterm")
    with _Transfer() as bar:
        assert isinstance(bar, _Transfer)
        for what, total in (("aclImdb_v1.tar.gz", 4_000_000), ("reading", None)):
            for done in (1_000_000, 4_000_000):
                bar.report(what, done, total)
    return stderr.getvalue()


def test_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = shown(monkeypatch, Terminal())
    assert "aclImdb_v1.tar.gz" in seen and "4.0/4.0 MB" in seen and "reading" in seen


def test_no_bar_into_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()) == ""
