"""Routes for who uses the service by hand: work in the background, whoever started it, and the token."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from bunrui.service import schemas
from bunrui.service.core import Service, answer
from bunrui.service.openapi import described

__all__ = ["add_working"]

_RUNNING = {"id": "hPZ2ZbTmP5xW", "kind": "train", "state": "running", "progress": {"done": 500, "total": 2000}}
_DONE = {
    "id": "hPZ2ZbTmP5xW",
    "kind": "batch",
    "state": "done",
    "progress": {"done": 2000, "total": 2000},
    "result": {"n": 2000, "accuracy": 0.98},
}


def add_working(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    async def state(id: str) -> Response:
        return answer(service.jobs.find(id).to_dict())

    async def cancel(id: str) -> Response:
        job = service.jobs.find(id)
        job.cancel()
        return answer(job.to_dict())

    for path, what, example in (("/v1/evaluate/{id}", "an evaluation", _DONE), ("/v1/jobs/{id}", "work", _RUNNING)):
        found = described(f"How far {what} is, and its result", schemas.Job, example, statuses=(404, 422))
        cancelled = example | {"state": "cancelled"}
        cancelled.pop("result", None)
        app.get(path, **found)(state)
        app.delete(path, **described(f"Cancel {what}", schemas.Job, cancelled, statuses=(404, 422)))(cancel)

    @app.get(
        "/v1/token",
        **described("Whether the token is right", schemas.Token, {"right": True}, token=True),
    )
    async def check(request: Request) -> Response:
        service.security.check_token(request.scope["bunrui.head"])
        return answer({"right": True})
