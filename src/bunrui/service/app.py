"""The application: routes, their description, and life from start to stop."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from bunrui import __version__
from bunrui.errors import BunruiError
from bunrui.service.core import Service
from bunrui.service.evaluating import add_evaluating
from bunrui.service.gate import Gate
from bunrui.service.openapi import describe
from bunrui.service.operating import ALWAYS, add_operating
from bunrui.service.problems import Problem, response_of
from bunrui.service.reading import add_reading
from bunrui.service.settings import Settings
from bunrui.service.studying import PRIVATE, add_studying
from bunrui.service.training import UPLOADS, add_training
from bunrui.service.working import add_working
from bunrui.service.writing import WRITES, add_writing
from bunrui.store import StoredClassifier

__all__ = ["create_app"]

_WEB = Path(__file__).parent / "web"

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
    direct = add_reading(app, service)
    add_writing(app, service)
    add_evaluating(app, service)
    add_training(app, service)
    add_studying(app, service)
    add_working(app, service)
    add_operating(app, service)
    _add_problems(app, service)
    routes = [route.path for route in app.routes if hasattr(route, "path")]
    pages = StaticFiles(directory=_WEB, html=True)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    guarded = (*WRITES, *UPLOADS, *PRIVATE)
    return Gate(app, service, pages=pages, routes=routes, writes=guarded, always=ALWAYS, uploads=UPLOADS, direct=direct)


def _add_problems(app: FastAPI, service: Service) -> None:
    """Errors of routes become problems, as they do in the gate."""

    async def of_error(request: Request, error: Exception) -> Response:
        return told(request, service.problem_of(error))

    async def of_query(request: Request, error: Any) -> Response:
        first = error.errors()[0]
        return told(request, Problem("invalid", f"{first['loc'][-1]}: {first['msg']}"))

    def told(request: Request, problem: Problem) -> Response:
        request.scope["bunrui.problem"] = problem  # for the log
        return response_of(problem)

    for kind in (Problem, BunruiError, HTTPException, Exception):
        app.add_exception_handler(kind, of_error)
    app.add_exception_handler(RequestValidationError, of_query)
