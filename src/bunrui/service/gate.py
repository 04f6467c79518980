"""What every request passes on its way in, and every answer on its way out."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bunrui.service import logs as log
from bunrui.service.core import GONE, Service
from bunrui.service.limits import Gone, Room
from bunrui.service.problems import Problem, response_of
from bunrui.service.security import ARROW, BYTES, HEADERS, JSON, Head, head_of

__all__ = ["Endpoint", "Gate"]

Scope = Any
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Endpoint = Callable[[Request], Awaitable[Response]]

_API = "/v1/"
_JOBS = ("/v1/evaluate/", "/v1/jobs/")


class Gate:
    """The application that uvicorn calls.

    Parameters
    ----------
    app : ASGI application
        Answers the routes.
    pages : ASGI application
        Answers everything else, for browsers.
    routes : collection of str
        The paths that `app` answers, beside all below /v1/.
    writes : collection of str
        The paths that need the token.
    always : collection of str
        The paths that answer whatever the load, to any who know the name of the service.
    uploads : collection of str
        The paths whose bodies are files, as they are.
    direct : mapping from path to endpoint
        POST requests that are answered here: the way through the application takes 60 µs, as long as the prediction of
        a short message.
    """

    def __init__(
        self,
        app: App,
        service: Service,
        *,
        pages: App,
        routes: Collection[str],
        writes: Collection[str],
        always: Collection[str],
        uploads: Collection[str],
        direct: Mapping[str, Endpoint],
    ) -> None:
        self._app = app
        self._pages = pages
        self._service = service
        self._routes = frozenset(routes)
        self._writes = frozenset(writes)
        self._always = frozenset(always)
        self._uploads = frozenset(uploads)
        self._direct = direct

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
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
            problem = scope.get("bunrui.problem") or self._service.problem_of(error)
            if not out.status:
                await response_of(problem)(scope, receive, out)
        seconds = time.perf_counter() - started
        route = self._route_of(scope["path"], out.status)
        self._service.metrics.add(route, out.status, seconds)
        told = ("", "") if problem is None else (problem.kind, problem.instance)
        log.request(scope["method"], route, out.status, seconds, *told)

    def stop(self) -> None:
        """End the requests whose bodies have not come, and have the jobs end, while others are still answered."""
        self._service.stop_reading()
        self._service.jobs.end()

    async def _pass(self, scope: Scope, receive: Receive, out: _Out) -> None:
        service, security, path, method = self._service, self._service.security, scope["path"], scope["method"]
        head = head_of(scope["headers"])
        security.check_origin(head)
        out.headers += security.cross_origin(head)
        if method == "OPTIONS":
            preflight = security.preflight(head)
            if preflight is not None:
                out.headers += preflight
                await Response(status_code=204)(scope, receive, out)
                return
        if path in self._always:
            await self._app(scope, receive, out)
            return
        if path.startswith(_API):
            service.check_warm()
        if path in self._writes and method == "POST":
            security.check_token(head)
        is_owner = security.is_owner(head)
        room = service.rooms[is_owner]
        room.admission.check()
        body = b"" if method != "POST" else await self._body(room, path, head, receive)
        try:
            await room.admission.enter()
            try:
                scope["bunrui.is_owner"], scope["bunrui.head"], scope["bunrui.body"] = is_owner, head, body
                if method == "POST" and path in self._direct:
                    response = await self._direct[path](Request(scope))
                    await response(scope, receive, out)
                elif path.startswith(_API) or path in self._routes:
                    await self._app(scope, receive, out)
                else:
                    await self._pages(scope, receive, out)
            finally:
                room.admission.leave()
        finally:
            room.bodies.release(len(body))

    async def _body(self, room: Room, path: str, head: Head, receive: Receive) -> bytes | bytearray:
        if head.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in head:
            self._service.security.check_type(head, (BYTES,) if path in self._uploads else (JSON, ARROW))
        return await room.bodies.read(head, receive)

    def _route_of(self, path: str, status: int) -> str:
        """A name for metrics: as many as there are routes, whatever is asked for."""
        if path in self._routes:
            return path
        for prefix in _JOBS:
            if path.startswith(prefix):
                return f"{prefix}{{id}}"
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
