"""Runs a service: opens the port, serves until it is told to stop, finishes what it has begun."""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from bunrui.errors import BunruiError, OptionError
from bunrui.service import Settings
from bunrui.service.app import Gate, create_app
from bunrui.service.monitor import event, open_log
from bunrui.store import StoredClassifier

__all__ = ["listen", "run"]

_BACKLOG = 1024
_KEEP_ALIVE_SECONDS = 15
_STOP_SECONDS = 3  # for requests; jobs that write have five, meanwhile, and all is over in ten


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except OSError as error:
        problem = f"{host!r} is no address of this machine ({error.strerror})"
        raise OptionError(problem, option="host", hint="give another host") from error
    family, kind, protocol, _, address = found[0]
    # With the protocol, which `socket.create_server` leaves open: asyncio sends small answers at once (TCP_NODELAY)
    # only where it is TCP by name.  Without, the body waits 40 ms for the client to confirm the headers.
    opened = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two services have one port
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        raise BunruiError(_why_not(error, host, port)) from error
    return opened


def _why_not(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} of {host} is in use: stop what uses it, or give another port (0 for any that is free)"
        case errno.EACCES:
            return f"port {port} needs more rights than you have: give one above 1023"
        case errno.EADDRNOTAVAIL:
            return f"{host!r} is no address of this machine: give another host"
    return f"port {port} of {host} cannot be opened: {error.strerror}"


def run(classifier: StoredClassifier, settings: Settings, opened: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; what is at work then has seconds to finish, and the classifier is closed."""
    open_log()
    gate = create_app(classifier, settings)
    config = uvicorn.Config(
        gate,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    server = _Server(config, gate)
    with _signals(server):
        server.run(sockets=[opened])
    event("stop")


class _Server(uvicorn.Server):
    """uvicorn stops when all requests are answered.  Those whose bodies have not come are not waited for; jobs end
    while requests do, not after them."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self._gate = gate

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gate.stop()
        await super().shutdown(sockets)


@contextmanager
def _signals(server: uvicorn.Server) -> Iterator[None]:
    """Signals stop the server, also before uvicorn takes them itself.

    When it is done, uvicorn raises those that stopped it once more, for the handlers that were there before it: these
    do nothing then, because being stopped is no failure.
    """
    before = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
