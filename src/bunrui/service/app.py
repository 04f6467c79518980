"""The application: its routes, and the gate that every request and every answer passes.

`run` opens the port, serves until a signal comes, and finishes the requests at work.
"""

from __future__ import annotations

import asyncio
import errno
import math
import mimetypes
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from bunrui import __version__
from bunrui.errors import BunruiError, OptionError
from bunrui.service import Settings
from bunrui.service.admission import ARROW, BODY_SECONDS, BYTES, HEADERS, JSON, Body, Call, Gone, Head, Room, head_of
from bunrui.service.errors import Problem, response_of
from bunrui.service.evaluate import add_evaluate
from bunrui.service.jobs import add_jobs
from bunrui.service.learn import add_learn
from bunrui.service.monitor import ALWAYS, add_monitor, event, log_request, open_log
from bunrui.service.predict import Endpoint, add_info, add_predict
from bunrui.service.predictions import FILES, add_predictions
from bunrui.service.requests import describe
from bunrui.service.schemas import OPTIONS, Api
from bunrui.service.service import GONE, Service
from bunrui.service.spool import Folder
from bunrui.service.teach import add_teach
from bunrui.store import StoredClassifier

Scope = Any
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_WEB = Path(__file__).parent / "web"
_API = "/v1/"
_REFUSED = 400  # and all statuses above

# What machines say of it differs, and browsers run no script of another type.
mimetypes.add_type("text/javascript", ".js")


def create_app(classifier: StoredClassifier, settings: Settings) -> Gate:
    """The application for a classifier, which it closes at its end."""
    service = Service(classifier, settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        service.start(api.openapi)
        yield
        await service.stop()

    # The usual pages of documentation load scripts from elsewhere, which the policy of the service forbids.
    api = Api(
        title="bunrui",
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(_check_names)],
    )
    direct = add_predict(api, service)
    for add in (add_info, add_learn, add_predictions, add_teach, add_evaluate, add_jobs, add_monitor):
        add(api, service)
    _add_errors(api, service)
    pages = StaticFiles(directory=_WEB, packages=[("bunrui.views", "web")], html=True)
    return Gate(api, service, pages=pages, direct=direct)


async def _check_names(request: Request) -> None:
    """Refuse parameters that a route does not know: a misspelled filter would show everything."""
    if not request.query_params:
        return
    known = set(OPTIONS if request.method == "POST" else ())  # Arrow streams have their options in the address
    dependants = [request.scope["route"].dependant]
    while dependants:
        found = dependants.pop()
        known |= {parameter.alias for parameter in found.query_params}
        dependants += found.dependencies
    for name in request.query_params:
        if name not in known:
            raise Problem("invalid", f"{name!r}: there is no such parameter: /openapi.json lists them")


def _add_errors(app: FastAPI, service: Service) -> None:
    """Have the errors of routes answered as problems."""

    async def respond(request: Request, error: Any) -> Response:
        if isinstance(error, RequestValidationError):
            first = error.errors()[0]
            error = Problem("invalid", f"{first['loc'][-1]}: {describe(first)}")
        request.scope["bunrui.problem"] = problem = service.problem_of(error)  # for the log
        return response_of(problem)

    for kind in (Problem, BunruiError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, respond)


class Gate:
    """The application that uvicorn calls: security, limits, problems, metrics, log.

    Parameters
    ----------
    app : Api
        Answers the routes; it knows which need the token, and which types of bodies they take.
    pages : ASGI application
        Answers everything else, for browsers.
    direct : mapping from path to endpoint
        POST requests that are answered here: docs/decisions/030.
    """

    def __init__(self, app: Api, service: Service, *, pages: App, direct: Mapping[str, Endpoint]) -> None:
        self.app = app
        self._pages = pages
        self.service = service
        self.direct = direct
        self._routes = [route.path for route in app.routes if hasattr(route, "path")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        out = _Out(send, scope["path"])
        problem: Problem | None = None
        try:
            await self._pass(scope, receive, out)
            problem = scope.get("bunrui.problem")
        except Gone:
            out.status = GONE
        except Exception as error:
            problem = scope.get("bunrui.problem") or self.service.problem_of(error)
            if not out.status:
                await response_of(problem)(scope, receive, out)
        seconds = time.perf_counter() - started
        route = self._route_of(scope["path"], out.status)
        self.service.metrics.add(route, out.status, seconds)
        told = ("", "") if problem is None else (problem.kind, problem.instance)
        log_request(scope["method"], route, out.status, seconds, *told)

    async def _pass(self, scope: Scope, receive: Receive, out: _Out) -> None:
        service, security, path, method = self.service, self.service.security, scope["path"], scope["method"]
        head = head_of(scope["headers"])
        security.check_origin(head)
        out.headers += security.cross_origin(head)
        if method == "OPTIONS" and (preflight := security.preflight(head)) is not None:
            out.headers += preflight
            await Response(status_code=204)(scope, receive, out)
            return
        if path in ALWAYS:
            await self.app(scope, receive, out)
            return
        if f"{method} {path}" in self.app.guarded:
            security.check_token(head)
        is_owner = security.is_owner(head)
        room = service.rooms[is_owner]
        room.check()
        body: Body = b""
        folder = None
        if method == "POST":
            types = self.app.types.get(path, (JSON, ARROW))
            has_body = head.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in head
            if path == FILES or has_body:
                security.check_type(head, types)
            names_others = b"file=" in scope["query_string"]  # files that came before
            if types == (BYTES,) and (has_body or path == FILES or not names_others):
                limits = (
                    (service.files.most, math.inf) if path == FILES else (service.settings.limits.body, BODY_SECONDS)
                )
                folder = await self._file(room, head, receive, is_owner, *limits)
            else:
                body = await room.bodies.read(head, receive)
        try:
            room.check()
            room.active += 1
            try:
                # Those that came in the meantime are let in, or refused, before any of them is answered: else the loop
                # would answer one after the other, and never see that they are too many.
                await asyncio.sleep(0)
                scope["bunrui.call"] = Call(head, body, is_owner, room, folder)
                if method == "POST" and path in self.direct:
                    response = await self.direct[path](Request(scope))
                    await response(scope, receive, out)
                elif path.startswith(_API) or path in self._routes:
                    await self.app(scope, receive, out)
                else:
                    await self._pages(scope, receive, out)
            finally:
                room.active -= 1
        finally:
            room.bodies.release(len(body))
            if folder is not None and (not folder.name or not 0 < out.status < _REFUSED):  # nobody needs it
                folder.remove()

    async def _file(
        self, room: Room, head: Head, receive: Receive, is_owner: bool, most: int, seconds: float
    ) -> Folder:
        """A body that goes to the disk."""
        files = self.service.files
        folder = files.create(is_owner)
        try:
            with folder.in_use(), open(folder.file, "wb") as file:
                await room.bodies.pass_on(head, receive, partial(files.write, folder, file), most, seconds)
        except BaseException:
            folder.remove()
            raise
        return folder

    def _route_of(self, path: str, status: int) -> str:
        """A name for metrics: as many as there are routes, whatever is asked for."""
        if path in self._routes:
            return path
        parent = path.rpartition("/")[0] + "/{id}"
        if parent in self._routes:
            return parent
        return "other" if status in (404, 405) else "page"


class _Out:
    """Sends an answer, with the headers that all have.

    Attributes
    ----------
    status : int
        0 before something was sent.
    """

    def __init__(self, send: Send, path: str) -> None:
        self._send = send
        caching = b"no-store" if path.startswith(_API) else b"no-cache"
        self.headers = [*HEADERS, (b"cache-control", caching)]
        self.status = 0

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *self.headers]
        await self._send(message)


# --- the server

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
        why = {
            errno.EADDRINUSE: "port {1} of {0} is in use: stop what uses it, or give another port (0 for a free one)",
            errno.EACCES: "port {1} needs more rights than you have: give one above 1023",
            errno.EADDRNOTAVAIL: "{0!r} is no address of this machine: give another host",
        }.get(error.errno or 0, "port {1} of {0} cannot be opened: {2}")
        raise BunruiError(why.format(host, port, error.strerror)) from error
    return opened


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
    server = _Server(config, gate.service)
    with _signals(server):
        server.run(sockets=[opened])
    event("stop")


class _Server(uvicorn.Server):
    """uvicorn stops when all requests are answered.  Those whose bodies have not come are not waited for; jobs end
    while requests do, not after them."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.begin_stop()
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
