"""The application: its routes, and the gate that every request passes on its way in and every answer on its way out."""

from __future__ import annotations

import mimetypes
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from bunrui import __version__
from bunrui.errors import BunruiError
from bunrui.service import Settings
from bunrui.service.admission import ARROW, HEADERS, JSON, Body, Call, Gone, Head, Room, head_of
from bunrui.service.errors import Problem, response_of
from bunrui.service.evaluate import add_evaluate
from bunrui.service.info import add_info
from bunrui.service.jobs import add_jobs
from bunrui.service.learn import add_learn
from bunrui.service.monitor import ALWAYS, add_monitor, log_request
from bunrui.service.predict import Endpoint, add_predict
from bunrui.service.requests import describe
from bunrui.service.schemas import describe_all
from bunrui.service.service import GONE, Service
from bunrui.store import StoredClassifier

__all__ = ["Gate", "create_app"]

Scope = Any
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_WEB = Path(__file__).parent / "web"
_API = "/v1/"

# What machines say of it differs, and browsers run no script of another type.
mimetypes.add_type("text/javascript", ".js")


def create_app(classifier: StoredClassifier, settings: Settings) -> Gate:
    """The application for a classifier, which it closes at its end."""
    service = Service(classifier, settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        service.start(also=app.openapi)
        yield
        await service.stop()

    # The usual pages of documentation load scripts from elsewhere, which the policy of the service forbids.
    app = FastAPI(
        title="bunrui",
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    direct = add_predict(app, service)
    for add in (add_info, add_learn, add_evaluate, add_jobs, add_monitor):
        add(app, service)
    _add_errors(app, service)
    app.openapi = lambda: describe_all(app)  # type: ignore[method-assign]
    pages = StaticFiles(directory=_WEB, packages=[("bunrui.views", "web")], html=True)
    return Gate(app, service, pages=pages, direct=direct)


def _add_errors(app: FastAPI, service: Service) -> None:
    """Have the errors of routes answered as problems."""

    async def of_error(request: Request, error: Exception) -> Response:
        return told(request, service.problem_of(error))

    async def of_query(request: Request, error: Any) -> Response:
        first = error.errors()[0]
        return told(request, Problem("invalid", f"{first['loc'][-1]}: {describe(first)}"))

    def told(request: Request, problem: Problem) -> Response:
        request.scope["bunrui.problem"] = problem  # for the log
        return response_of(problem)

    for kind in (Problem, BunruiError, HTTPException, Exception):
        app.add_exception_handler(kind, of_error)
    app.add_exception_handler(RequestValidationError, of_query)


class Gate:
    """The application that uvicorn calls: security, limits, problems, metrics, log.

    Parameters
    ----------
    app : FastAPI
        Answers the routes; their descriptions say which need the token, and which types of bodies they take.
    pages : ASGI application
        Answers everything else, for browsers.
    direct : mapping from path to endpoint
        POST requests that are answered here: docs/decisions/030.
    """

    def __init__(self, app: FastAPI, service: Service, *, pages: App, direct: Mapping[str, Endpoint]) -> None:
        self.app = app
        self._pages = pages
        self._service = service
        self.direct = direct
        self._routes = [route.path for route in app.routes if hasattr(route, "path")]
        described = {
            (method, route.path): route.openapi_extra or {}
            for route in app.routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
        }
        self._guarded = {key for key, extra in described.items() if "security" in extra}
        self._types = {
            path: tuple(extra["requestBody"]["content"])
            for (_, path), extra in described.items()
            if "requestBody" in extra
        }

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
            problem = scope.get("bunrui.problem") or self._service.problem_of(error)
            if not out.status:
                await response_of(problem)(scope, receive, out)
        seconds = time.perf_counter() - started
        route = self._route_of(scope["path"], out.status)
        self._service.metrics.add(route, out.status, seconds)
        told = ("", "") if problem is None else (problem.kind, problem.instance)
        log_request(scope["method"], route, out.status, seconds, *told)

    def stop(self) -> None:
        """End the requests whose bodies have not come, and have the jobs end, while others are still answered."""
        self._service.stop_reading()
        self._service.jobs.end()

    async def _pass(self, scope: Scope, receive: Receive, out: _Out) -> None:
        service, security, path, method = self._service, self._service.security, scope["path"], scope["method"]
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
        if path.startswith(_API):
            service.check_warm()
        if (method, path) in self._guarded:
            security.check_token(head)
        is_owner = security.is_owner(head)
        room = service.rooms[is_owner]
        room.admission.check()
        body = b"" if method != "POST" else await self._body(room, path, head, receive)
        try:
            await room.admission.enter()
            try:
                scope["bunrui.call"] = Call(head, body, is_owner, room)
                if method == "POST" and path in self.direct:
                    response = await self.direct[path](Request(scope))
                    await response(scope, receive, out)
                elif path.startswith(_API) or path in self._routes:
                    await self.app(scope, receive, out)
                else:
                    await self._pages(scope, receive, out)
            finally:
                room.admission.leave()
        finally:
            room.bodies.release(len(body))

    async def _body(self, room: Room, path: str, head: Head, receive: Receive) -> Body:
        if head.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in head:
            self._service.security.check_type(head, self._types.get(path, (JSON, ARROW)))
        return await room.bodies.read(head, receive)

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
