from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from bunrui.datasets.download import UnreachableError, download
from bunrui.errors import DataError

DATA = os.urandom(1 << 20)
LIMIT = 1 << 30


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "file.gz"


def get(server, target: Path, name: str = "file.gz", limit: int = LIMIT) -> bytes:
    return download(server.url(name), target, limit=limit).read_bytes()


def test_a_file(server, target: Path) -> None:
    server.files["file.gz"] = DATA
    reports: list[tuple[str, int, int | None]] = []
    part = download(server.url("file.gz"), target, limit=LIMIT, report=lambda *done: reports.append(done))
    assert part.read_bytes() == DATA and not target.exists()
    assert reports[-1] == ("file.gz", len(DATA), len(DATA))
    assert [done for _, done, _ in reports] == sorted({done for _, done, _ in reports})


def test_errors_of_the_report_stay_what_they_are(server, target: Path) -> None:
    def report(*_: object) -> None:
        raise BrokenPipeError("the terminal is gone")

    server.files["file.gz"] = DATA
    with pytest.raises(BrokenPipeError, match="the terminal is gone"):
        download(server.url("file.gz"), target, limit=LIMIT, report=report)


def test_a_cut_connection_goes_on_where_it_stopped(server, target: Path) -> None:
    server.files["file.gz"], server.cut = DATA, 400_000
    with pytest.raises(DataError, match=r"the connection was cut after 400,000 of 1,048,576 bytes: run it again, and"):
        get(server, target)
    assert not target.exists()
    assert get(server, target) == DATA
    assert server.asked == [("file.gz", None), ("file.gz", "bytes=400000-")]


def test_cut_twice(server, target: Path) -> None:
    server.files["file.gz"] = DATA
    for cut in (300_000, 200_000):
        server.cut = cut
        with pytest.raises(DataError, match=r"cut after"):
            get(server, target)
    assert get(server, target) == DATA
    assert [wanted for _, wanted in server.asked] == [None, "bytes=300000-", "bytes=500000-"]


def test_a_server_without_ranges_starts_over(server, target: Path) -> None:
    server.files["file.gz"], server.cut, server.ranges = DATA, 400_000, False
    with pytest.raises(DataError, match=r"cut after"):
        get(server, target)
    assert get(server, target) == DATA
    assert server.asked[1] == ("file.gz", "bytes=400000-")


def test_a_part_of_another_version_is_not_continued(server, target: Path) -> None:
    server.files["file.gz"], server.cut = DATA, 400_000
    with pytest.raises(DataError):
        get(server, target)
    server.files["file.gz"], server.etag = DATA[::-1], '"2"'
    assert get(server, target) == DATA[::-1]


@pytest.mark.parametrize("etag", [None, 'W/"1"'])
def test_without_a_name_of_the_version_it_starts_over(server, target: Path, etag: str | None) -> None:
    server.files["file.gz"], server.cut, server.etag = DATA, 400_000, etag
    with pytest.raises(DataError):
        get(server, target)
    assert get(server, target) == DATA
    assert server.asked == [("file.gz", None), ("file.gz", None)]


def test_a_complete_part_is_taken(server, target: Path) -> None:
    server.files["file.gz"] = DATA
    get(server, target)
    assert get(server, target) == DATA
    assert server.asked[1:] == [("file.gz", f"bytes={len(DATA)}-")]


def test_a_part_that_is_too_long_is_thrown_away(server, target: Path) -> None:
    server.files["file.gz"] = DATA
    part = download(server.url("file.gz"), target, limit=LIMIT)
    part.write_bytes(DATA + b"more")
    assert get(server, target) == DATA
    assert server.asked[1:] == [("file.gz", f"bytes={len(DATA) + 4}-"), ("file.gz", None)]


def test_pieces_of_unknown_length(server, target: Path) -> None:
    server.files["file.gz"], server.chunked, server.cut = DATA, True, 400_000
    with pytest.raises(DataError, match=r"the connection was cut after"):
        get(server, target)
    assert get(server, target) == DATA


def test_a_redirect(server, target: Path) -> None:
    server.files["there.gz"], server.moved["file.gz"] = DATA, server.url("there.gz")
    server.cut = 400_000
    with pytest.raises(DataError, match=r"cut after"):
        get(server, target)
    assert get(server, target) == DATA
    assert server.asked[-1] == ("there.gz", "bytes=400000-")


def test_not_found(server, target: Path) -> None:
    with pytest.raises(UnreachableError, match=r"/file.gz: the server answers 404 Not Found$"):
        get(server, target)
    assert not list(target.parent.iterdir())


def test_nobody_there(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UnreachableError, match=r"cannot be reached \(Connection refused\)$"):
        download(f"http://127.0.0.1:{port}/file.gz", target, limit=LIMIT)


@pytest.mark.parametrize("length", [True, False])
def test_too_large(server, target: Path, length: bool) -> None:
    server.files["file.gz"], server.length = DATA, length
    what = "has 1,048,576 bytes, and 1,000 at most are expected" if length else "is more than the 1,000 bytes"
    with pytest.raises(DataError, match=what):
        get(server, target, limit=1000)


def test_a_file_beyond_the_limit(server, target: Path) -> None:
    resource = pytest.importorskip("resource")
    server.files["file.gz"] = DATA
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
        with pytest.raises(DataError, match=r"larger than the system allows: .*, or name another folder with BUNRUI"):
            get(server, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not target.exists()
    assert get(server, target) == DATA
