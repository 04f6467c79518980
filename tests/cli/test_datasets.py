from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bunrui.cli.datasets import _transfer
from bunrui.datasets import CORPORA
from tests.support.waiting import PATIENCE

WAYS = "write 'datasets list', 'datasets fetch NAME' or 'datasets path NAME', such as imdb."
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
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield handler
        server.shutdown()
        thread.join(PATIENCE)


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


@pytest.fixture
def shown(run, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """The list on a terminal of some width, without colours."""

    def call(width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout.isatty", lambda: True, raising=False)
            lines = re.sub(r"\x1b\[[\d;]*m", "", run("datasets", "list").out).splitlines()
        assert max(map(len, lines)) <= width
        return [line.rstrip() for line in lines]

    return call


def test_list_on_a_terminal(shown: Callable[[int], list[str]]) -> None:
    lines = shown(80)
    assert lines[0].split() == ["name", "lang", "documents", "size", "title"]
    imdb = next(n for n, line in enumerate(lines) if line.startswith("imdb "))
    assert lines[imdb].split()[:7] == ["imdb", "en", "train", "25,000", "84.1", "MB", "Large"]
    assert lines[imdb + 1].split(maxsplit=2) == ["test", "25,000", "(Maas et al. 2011)"]
    assert not any("…" in line for line in lines if "enron1 … enron6" not in line), "nothing is cut off"
    start = next(n for n, line in enumerate(lines) if "tables of the UCI repository" in line)
    tables = [name for name in CORPORA if name.startswith("uci-")]
    assert lines[start] == f"{len(tables)} tables of the UCI repository, as uci-NAME:"
    below = " ".join(line.strip() for line in lines[start + 1 :])
    fetched, _, brought = below.partition(" to be brought as ARFF, with fetch --from PATH: ")
    assert fetched.startswith("to be fetched: arrhythmia, ") and "vowel" in brought.split(", ")
    assert [f"uci-{name}" for name in f"{fetched.partition(': ')[2]}, {brought}".split(", ")] == tables
    assert len(lines) < 45, "it fits on a page or two"


def test_list_on_a_wide_and_on_a_narrow_terminal(shown: Callable[[int], list[str]]) -> None:
    lines = shown(120)
    assert lines[0].split() == ["name", "lang", "documents", "labels", "size", "licence", "title"]
    nsmc = next(line for line in lines if line.startswith("nsmc "))
    assert nsmc.split()[:9] == ["nsmc", "ko", "train", "150,000", "2", "19.5", "MB", "CC0", "1.0"]
    assert shown(50)[0].split() == ["name", "title"]


def test_a_terminal_shows_what_is_here(run, copy: Path, tmp_path: Path, shown: Callable[[int], list[str]]) -> None:
    run("datasets", "fetch", "sms", "--from", str(copy))
    (tmp_path / "vowel.arff").write_text("@attribute x real\n@attribute Class {a}\n@data\n1,a\n")
    run("datasets", "fetch", "uci-vowel", "--from", "vowel.arff")
    lines = shown(80)
    assert [line.split()[1] for line in lines if line.startswith("✓")] == ["sms"]
    assert [line for line in lines if "✓" in line and not line.startswith("✓")] == [
        line for line in lines if "vowel ✓" in line
    ]


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


def test_a_copy_of_something_else(run, store: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "smsspamcollection.zip", "w") as archive:
        archive.writestr("photo.jpg", "")
    assert run("datasets", "fetch", "sms", "--from", "smsspamcollection.zip") == (
        1,
        "",
        f"{TERMS}error: there are no documents of sms in smsspamcollection.zip, which holds photo.jpg: give the "
        "official smsspamcollection.zip, or another archive or a folder with SMSSpamCollection in it\n",
    )
    assert not store.exists()


def test_what_cannot_be_reached(run, store: Path, published: type[_Quiet], tmp_path: Path) -> None:
    (tmp_path / "public" / "smsspamcollection.zip").unlink()
    code, out, err = run("datasets", "fetch", "sms")
    assert (code, out) == (1, "")
    assert err == (
        f"error: {CORPORA['sms'].files[0].url}: the server answers 404 File not found: download "
        f"smsspamcollection.zip by other "
        f"means (see https://archive.ics.uci.edu/dataset/228/sms+spam+collection), and place it as "
        f"{store}/sms/smsspamcollection.zip, or give your copy with 'bunrui datasets fetch sms --from PATH'\n"
    )


def test_path_of_what_is_not_there(run, store: Path) -> None:
    err = f"error: imdb is not in {store}/imdb: get it with 'bunrui datasets fetch imdb'\n"
    assert run("datasets", "path", "imdb") == (1, "", err)


def test_an_unknown_corpus(run) -> None:
    assert run("datasets", "fetch", "imbd") == (
        2,
        "",
        "error: there is no corpus 'imbd': did you mean imdb? 'bunrui datasets list' shows all of them\n"
        "Try 'bunrui datasets --help'.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([], WAYS),
        (["get", "imdb"], WAYS),
        (["fetch"], WAYS),
        (["list", "imdb"], WAYS),
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


def transferred(monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO) -> str:
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    with _transfer() as report:
        for what, total in (("aclImdb_v1.tar.gz", 4_000_000), ("reading", None)):
            for done in (1_000_000, 4_000_000):
                report(what, done, total)
    return stderr.getvalue()


def test_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = transferred(monkeypatch, Terminal())
    assert "aclImdb_v1.tar.gz" in seen and "4.0/4.0 MB" in seen and "reading" in seen


def test_no_bar_into_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert transferred(monkeypatch, io.StringIO()) == ""
