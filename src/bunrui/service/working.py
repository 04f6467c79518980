"""Routes for who uses the service by hand: work in the background, whoever started it, and the token."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from bunrui.service import schemas
from bunrui.service.core import Service, answer
from bunrui.service.openapi import described

__all__ = ["add_working"]

_RUNNING = {"id": "hPZ2ZbTmP5xW", "kind": "train", "state": "running", "progress": {"done": 500, "total": 2000}}


def add_working(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    @app.get(
        "/v1/jobs/{id}", **described("How far work is, and its result", schemas.Job, _RUNNING, statuses=(404, 422))
    )
    async def job_state(id: str) -> Response:
        return answer(service.jobs.find(id).to_dict())

    @app.get(
        "/v1/token",
        **described("Whether the token is right", schemas.Token, {"right": True}, token=True),
    )
    async def check(request: Request) -> Response:
        service.security.check_token(request.scope["bunrui.head"])
        return answer({"right": True})

    @app.delete(
        "/v1/jobs/{id}",
        **described("Cancel work", schemas.Job, _RUNNING | {"state": "cancelled"}, statuses=(404, 422)),
    )
    async def cancel_job(id: str) -> Response:
        job = service.jobs.find(id)
        job.cancel()
        return answer(job.to_dict())
