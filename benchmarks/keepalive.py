"""A client over connections that stay open: as fast as the service answers, or at a rate of its own.

One process, one thread, the bytes of a request made before: the client should not be what is measured.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from itertools import cycle
from typing import Any

WAITING = 1000  # connections of a flood


def request(port: int, path: str, body: bytes, kind: str = "application/json", **headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


class Connection(asyncio.Protocol):
    """A connection that stays open: one request, one answer, and so on."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError())

    def ask(self, message: bytes) -> asyncio.Future[tuple[int, bytes]]:
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._received[:end]).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(self._received) >= end + 4 + length:
            answer = int(head[9:12]), bytes(self._received[end + 4 :])
            self._received.clear()
            if self._answer is not None:
                self._answer.set_result(answer)


async def connect(port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


async def steadily(port: int, messages: list[bytes], connections: int, seconds: float) -> tuple[float, list[float]]:
    """Each connection asks again as soon as it is answered: requests a second, and their times, sorted."""
    times: list[float] = []
    source = cycle(messages)
    until = time.perf_counter() + seconds

    async def one() -> None:
        connection = await connect(port)
        while (started := time.perf_counter()) < until:
            status, _ = await connection.ask(next(source))
            assert status == 200, status
            times.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    return len(times) / (time.perf_counter() - started), sorted(times)


async def flood(port: int, messages: list[bytes], rate: float, seconds: float) -> tuple[Counter[int], list[float]]:
    """Requests at a rate, however long the answers take: how many of each status, and the times of those with 200."""
    statuses: Counter[int] = Counter()
    times: list[float] = []
    idle: deque[Connection] = deque([await connect(port) for _ in range(WAITING)])
    source = cycle(messages)

    def answered(connection: Connection, asked: float) -> Any:
        def note(answer: asyncio.Future[tuple[int, bytes]]) -> None:
            statuses[answer.result()[0]] += 1
            if answer.result()[0] == 200:
                times.append(time.perf_counter() - asked)
            idle.append(connection)

        return note

    started, sent = time.perf_counter(), 0
    while (now := time.perf_counter()) < started + seconds:
        while sent < (now - started) * rate:
            sent += 1
            if not idle:
                statuses[0] += 1  # all connections wait: not even sent
                continue
            connection = idle.popleft()
            connection.ask(next(source)).add_done_callback(answered(connection, time.perf_counter()))
        await asyncio.sleep(0.001)
    while len(idle) < WAITING:
        await asyncio.sleep(0.01)
    return statuses, sorted(times)
