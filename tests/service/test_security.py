"""Who may ask, and what bodies may be."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pyarrow as pa
import pytest

from tests.service.conftest import ARROW, TOKEN, Serve, Server, problem, stream

JSON = {"Content-Type": "application/json"}
LEARN = {"texts": ["a"], "labels": ["x"]}


def n_documents(server: Server) -> int:
    return int(server.client.get("/v1/info").json()["documents"])


# --- the token


@pytest.mark.parametrize("verb", ["learn", "unlearn", "relabel", "undo"])
@pytest.mark.parametrize("given", [None, "", "Bearer", f"Basic {TOKEN}", "Bearer wrong", f"Bearer {TOKEN}x", TOKEN])
def test_writing_needs_the_token(server: Server, verb: str, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given}
    with server.stranger() as client:
        refused = client.post(f"/v1/{verb}", json=LEARN, headers=headers)
    problem(refused, 401, "no-token")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert n_documents(server) == 4


def test_reading_needs_none(server: Server) -> None:
    with server.stranger() as client:
        assert client.post("/v1/predict", json={"texts": ["a"]}).status_code == 200
        assert client.get("/v1/labels").status_code == 200


def test_without_a_token_nobody_writes(small: Server) -> None:
    for given in ("Bearer", "Bearer None", f"Bearer {TOKEN}"):
        refused = small.client.post("/v1/learn", json=LEARN, headers={"Authorization": given})
        assert "--token" in problem(refused, 403, "read-only")["detail"]
    assert small.client.get("/v1/info").json()["service"]["writable"] is False


# --- host and origin


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost", "127.0.0.1", "localhost:1", "", "[::1]"]
)
@pytest.mark.parametrize("path", ["/v1/labels", "/", "/healthz", "/metrics", "/nothing"])
def test_only_its_own_names(server: Server, host: str, path: str) -> None:
    port = server.url.rpartition(":")[2]
    problem(server.client.get(path, headers={"Host": host.format(port=port)}), 421, "wrong-host")


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "127.0.0.1:{port}", "[::1]:{port}"])
def test_all_its_own_names(server: Server, host: str) -> None:
    port = server.url.rpartition(":")[2]
    assert server.client.get("/v1/labels", headers={"Host": host.format(port=port)}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://localhost:1", "null", "", "http://127.0.0.1", "{url}.evil"]
)
def test_pages_of_other_sites_may_not_ask(server: Server, origin: str) -> None:
    headers = {"Origin": origin.format(url=server.url)}
    for answer in (
        server.client.post("/v1/predict", json={"texts": ["a"]}, headers=headers),
        server.client.post("/v1/learn", json=LEARN, headers=headers),
        server.client.get("/v1/labels", headers=headers),
        server.client.options("/v1/learn", headers=headers | {"Access-Control-Request-Method": "POST"}),
    ):
        problem(answer, 403, "foreign-origin")
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert n_documents(server) == 4


def test_its_own_page_may_ask(server: Server) -> None:
    answer = server.client.post("/v1/predict", json={"texts": ["a"]}, headers={"Origin": server.url})
    assert answer.status_code == 200 and "access-control-allow-origin" not in answer.headers


def test_a_site_that_was_let_in(small: Server) -> None:
    origin = {"Origin": "https://example.org"}
    asked = small.client.options("/v1/predict", headers=origin | {"Access-Control-Request-Method": "POST"})
    assert asked.status_code == 204
    assert asked.headers["access-control-allow-origin"] == "https://example.org"
    assert asked.headers["access-control-allow-headers"] == "Authorization, Content-Type, Bunrui-Author"
    answer = small.client.post("/v1/predict", json={"texts": ["a"]}, headers=origin)
    assert answer.headers["access-control-allow-origin"] == "https://example.org"
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-origin" not in small.client.get("/v1/labels").headers
    problem(small.client.get("/v1/labels", headers={"Origin": "https://example.org.evil"}), 403, "foreign-origin")


def test_names_that_were_given(serve: Serve) -> None:
    server = serve("--name", "mail.example.org", token=None)
    port = server.url.rpartition(":")[2]
    for host in ("mail.example.org", f"Mail.Example.org:{port}"):
        headers = {"Host": host, "Origin": f"https://{host}"}
        assert server.client.get("/v1/labels", headers=headers).status_code == 200
    problem(server.client.get("/v1/labels", headers={"Host": "example.org"}), 421, "wrong-host")


def test_headers_of_every_answer(server: Server) -> None:
    for path in ("/", "/v1/labels", "/nothing", "/healthz", "/openapi.json"):
        headers = server.client.get(path).headers
        assert headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
            "base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


# --- bodies


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/json", "*/*"],
)
def test_types_that_a_form_can_send(server: Server, kind: str) -> None:
    for path in ("/v1/predict", "/v1/learn", "/v1/evaluate", "/v1/undo"):
        problem(server.client.post(path, content=b'{"texts":["a"]}', headers={"Content-Type": kind}), 415, "media-type")
    packed = server.client.post("/v1/predict", content=b"x", headers=JSON | {"Content-Encoding": "gzip"})
    problem(packed, 415, "media-type")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"texts":["a"]} {}',
        b'{"texts":["\xff\xfe"]}',
        rb'{"texts":["\ud800"]}',
        rb'{"texts":["\udc00\ud800"]}',
        b'{"texts":["a\x00b"]}',
        b'{"texts":' + b"[" * 50_000,
        b'{"texts":' * 5000,
        b'{"texts":["a"],"top":NaN}',
        b'{"texts":["a"],"top":1e999}',
    ],
    ids=range(12),
)
@pytest.mark.parametrize("padding", [0, 100_000], ids=["small", "large"])
def test_bodies_that_are_no_json(server: Server, body: bytes, padding: int) -> None:
    body = body + b" " * padding
    problem(server.client.post("/v1/predict", content=body, headers=JSON), 422, "invalid")
    problem(server.client.post("/v1/learn", content=body, headers=JSON), 422, "invalid")


def packed(codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"text": ["a" * 10_000], "label": pa.array(["x"]).dictionary_encode()})
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


GOOD = stream(text=["a"] * 100, label=["x"] * 100)
BROKEN: dict[str, Any] = {
    "empty": b"",
    "text": b"not arrow",
    "half": GOOD[: len(GOOD) // 2],
    "no column": stream(body=["a"]),
    "no text": stream(text=[1, 2]),
    "null": stream(text=["a", None], label=["x", "y"]),
    "dictionary": stream(text=pa.array(["a", "a"]).dictionary_encode(), label=["x", "y"]),
    "no rows": stream(text=pa.array([], pa.string()), label=pa.array([], pa.string())),
    "zstd": packed("zstd"),
    "lz4": packed("lz4"),
    "not UTF-8": stream(text=pa.array([b"\xff\xfe", b"a"]).view(pa.string()), label=["x", "y"]),
}


def overlapping() -> pa.Array:
    """A list view: 1,000 times the same 1,000 strings."""
    starts, sizes = pa.array([0] * 1000, pa.int32()), pa.array([1000] * 1000, pa.int32())
    return pa.ListViewArray.from_arrays(starts, sizes, pa.array(["x"] * 1000))


WITH_TEXTS: dict[str, Any] = {
    "views of lists": {"label": overlapping()},
    "lists of a dictionary": {
        "label": pa.ListArray.from_arrays(list(range(1001)), pa.array(["x"] * 1000).dictionary_encode())
    },
    "views of strings": {"label": pa.array(["x"] * 1000, pa.string_view())},
    "numbers": {"label": [0.5] * 1000},
    "a dictionary of ids": {"label": ["x"] * 1000, "id": pa.array(["1"] * 1000).dictionary_encode()},
}


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_columns_that_could_grow(server: Server, name: str) -> None:
    body = stream(text=["a"] * 1000, **WITH_TEXTS[name])
    told = problem(server.client.post("/v1/learn", content=body, headers={"Content-Type": ARROW}), 422, "invalid")
    assert f"the column {'id' if 'ids' in name else 'label'} holds strings" in told["detail"]
    assert n_documents(server) == 4


def test_columns_of_labels(server: Server) -> None:
    """Strings, lists of them and dictionaries of them, with long and with short offsets."""
    for kind in (pa.string(), pa.large_string()):
        plain = pa.array(["x", "y", "x"], kind)
        lists = [["x"], ["y"], ["x"]]
        for label in (
            plain,
            plain.dictionary_encode(),
            pa.array(lists, pa.list_(kind)),
            pa.array(lists, pa.large_list(kind)),
        ):
            body = stream(text=["a", "b", "c"], label=label, id=pa.array(["7", None, "9"], kind))
            learned = server.client.post("/v1/learn", content=body, headers={"Content-Type": ARROW})
            assert learned.json()["changed"] == 3, label.type
            assert {"label": "x", "documents": 2} in server.client.get("/v1/labels").json()["labels"]
            server.client.post("/v1/undo").raise_for_status()


@pytest.mark.parametrize("name", BROKEN)
def test_bodies_that_are_no_arrow(server: Server, name: str) -> None:
    for path in ("/v1/predict", "/v1/learn"):
        problem(server.client.post(path, content=BROKEN[name], headers={"Content-Type": ARROW}), 422, "invalid")
    assert n_documents(server) == 4


def test_damaged_arrow_never_breaks_the_service(server: Server) -> None:
    for place in range(0, len(GOOD), 7):
        for value in (0x00, 0xFF, 0x80):
            body = GOOD[:place] + bytes([value]) + GOOD[place + 1 :]
            answer = server.client.post("/v1/predict", content=body, headers={"Content-Type": ARROW})
            assert answer.status_code in (200, 413, 422), (place, value, answer.text)
    assert server.process.poll() is None


def test_views_of_one_long_text(server: Server) -> None:
    few = stream(text=pa.array(["some text that is longer than a view", "b"], pa.string_view()))
    answer = server.client.post("/v1/predict", content=few, headers={"Content-Type": ARROW})
    assert len(answer.json()["labels"]) == 2
    # 1,000 times the same million characters: length, prefix, buffer, place.
    views = struct.pack("<i4sii", 1_000_000, b"xxxx", 0, 0) * 1000
    buffers = [None, pa.py_buffer(views), pa.py_buffer(b"x" * 1_000_000)]
    many = stream(text=pa.Array.from_buffers(pa.string_view(), 1000, buffers))
    assert len(many) < 2_000_000
    problem(server.client.post("/v1/predict", content=many, headers={"Content-Type": ARROW}), 413, "too-large")


def raw(server: Server, message: bytes) -> bytes:
    """What comes back for bytes that no client would send."""
    with server.connect() as connection:
        connection.sendall(message.replace(b"HOST", server.host.encode()))
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"GET /v1/labels HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\nConnection: close\r\n\r\n", b"400"),
        (b"GET /v1/labels HTTP/1.1\r\nConnection: close\r\n\r\n", b"421"),
        (b"GET /v1/labels HTTP/1.0\r\n\r\n", b"421"),
        (b"nonsense\r\n\r\n", b"400"),
        (
            b"POST /v1/predict HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: x\r\n\r\n",
            b"400",
        ),
        (
            b"POST /v1/learn HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n"
            b"Content-Length: 0\r\nConnection: close\r\n\r\n",
            b"400",
        ),
    ],
)
def test_messages_that_no_client_sends(server: Server, message: bytes, status: bytes) -> None:
    assert raw(server, message).startswith(b"HTTP/1.1 " + status)
    assert server.client.get("/healthz").status_code == 200
