"""A server on this machine that can behave badly, and archives as publishers make them."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bunrui import datasets
from bunrui.datasets import CORPORA, Corpus
from tests.support.waiting import PATIENCE


class Server:
    """What it serves, how, and what it was asked: (path, Range)."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.files: dict[str, bytes] = {}
        self.moved: dict[str, str] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.ranges = True
        self.etag: str | None = '"1"'
        self.length = True
        self.chunked = False
        self.cut: int | None = None  # close the connection after so many bytes, once

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        here: Server = self.server.here  # type: ignore[attr-defined]
        name, wanted = self.path.lstrip("/"), self.headers.get("Range")
        here.asked.append((name, wanted))
        if name in here.moved:
            self.send_response(302)
            self.send_header("Location", here.moved[name])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if name not in here.files:
            self.send_error(404)
            return
        data, start, status = here.files[name], 0, 200
        if wanted and here.ranges and self.headers.get("If-Range") == here.etag:
            start, status = int(wanted.removeprefix("bytes=").removesuffix("-")), 206
            if start >= len(data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        self.send_response(status)
        if here.etag:
            self.send_header("ETag", here.etag)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        body, cut, here.cut = data[start:], here.cut, None
        if here.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif here.length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        sent = body if cut is None else body[:cut]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), sent) if here.chunked else sent)
        if here.chunked and cut is None:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = cut is not None or not here.length

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments: object) -> None:
        """A client that leaves early is no error."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with _Listening(("127.0.0.1", 0), _Handler) as listening:
        here = Server(f"http://127.0.0.1:{listening.server_port}")
        listening.here = here  # type: ignore[attr-defined]
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield here
        listening.shutdown()
        thread.join(PATIENCE)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all corpora."""
    monkeypatch.setenv("BUNRUI_DATASETS", str(tmp_path / "cache"))
    assert datasets.folder() == tmp_path / "cache"
    return tmp_path / "cache"


Publish = Callable[..., Corpus]


@pytest.fixture
def publish(server: Server, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Put other files in the place of a corpus' official ones, on the server; `known`: with their hashes."""

    def call(name: str, *contents: bytes, known: bool = True) -> Corpus:
        files = []
        for file, data in zip(CORPORA[name].files, contents, strict=True):
            server.files[file.name] = data
            sha256 = hashlib.sha256(data).hexdigest() if known else None
            files.append(dataclasses.replace(file, url=server.url(file.name), sha256=sha256, n_bytes=None))
        corpus = dataclasses.replace(CORPORA[name], files=tuple(files))
        monkeypatch.setitem(CORPORA, name, corpus)
        return corpus

    return call


@pytest.fixture
def tar() -> Callable[[dict[str, bytes]], bytes]:
    """A tar.gz of files."""

    def call(files: dict[str, bytes]) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return gzip.compress(buffer.getvalue(), mtime=0)

    return call


@pytest.fixture
def zipped() -> Callable[[dict[str, bytes]], bytes]:
    """A zip of files."""

    def call(files: dict[str, bytes]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(zipfile.ZipInfo(name), data)
        return buffer.getvalue()

    return call
