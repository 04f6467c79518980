"""Routes that write: learn, unlearn, relabel, undo.  What they answer is in the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from bunrui.service import schemas
from bunrui.service.core import Service, answer
from bunrui.service.logs import event
from bunrui.service.openapi import described

__all__ = ["WRITES", "add_writing"]

T = TypeVar("T", bound=BaseModel)

WRITES = ("/v1/learn", "/v1/unlearn", "/v1/relabel", "/v1/undo")
_STATUSES = (409, 507)


def add_writing(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served = service.served

    async def change(kind: type[T], request: Request, work: Callable[[T], dict[str, Any]]) -> Response:
        body = await service.read_later(kind, request)
        done = await service.writer.run(work, body)
        event("change", kind=work.__name__, transaction=done["transaction"], documents=done["changed"])
        return answer(done)

    @app.post(
        "/v1/learn",
        **described(
            "Learn documents, all or none of them",
            schemas.Changed,
            {"transaction": 17, "changed": 2, "documents": 5574, "duplicates": 0},
            body=schemas.Learn,
            body_example={"texts": ["cheap pills", "see you at noon"], "labels": ["spam", "ham"], "ids": ["1", "2"]},
            arrow=True,
            statuses=_STATUSES,
            token=True,
        ),
    )
    async def learn(request: Request) -> Response:
        return await change(schemas.Learn, request, served.learn)

    @app.post(
        "/v1/unlearn",
        **described(
            "Take documents back, as if they had never been learned",
            schemas.Changed,
            {"transaction": 18, "changed": 1, "documents": 5573},
            body=schemas.Unlearn,
            body_example={"texts": ["cheap pills"], "labels": ["spam"]},
            arrow=True,
            statuses=_STATUSES,
            token=True,
        ),
    )
    async def unlearn(request: Request) -> Response:
        return await change(schemas.Unlearn, request, served.unlearn)

    @app.post(
        "/v1/relabel",
        **described(
            "Give documents that were learned another label",
            schemas.Changed,
            {"transaction": 19, "changed": 1, "documents": 5573},
            body=schemas.Relabel,
            body_example={"to": "ham", "ids": ["1"]},
            statuses=_STATUSES,
            token=True,
        ),
    )
    async def relabel(request: Request) -> Response:
        return await change(schemas.Relabel, request, served.relabel)

    @app.post(
        "/v1/undo",
        **described(
            "Take the last change back",
            schemas.Undone,
            {"undone": "learn", "changed": 2, "documents": 5572},
            body=schemas.Undo,
            body_example={"transaction": 17},
            may_lack_body=True,
            statuses=_STATUSES,
            token=True,
        ),
    )
    async def undo(request: Request) -> Response:
        body = await service.read_given(schemas.Undo, request)
        done = await service.writer.run(served.undo, body)
        event("change", kind="undo", documents=done["changed"])
        return answer(done)
