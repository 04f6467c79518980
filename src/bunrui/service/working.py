"""Routes for who uses the service by hand: work in the background, whoever started it, and the token."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from bunrui.service import schemas
from bunrui.service.core import Service, answer
from bunrui.service.jobs import Job
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

    def find(id: str, request: Request) -> Job:
        """A job; who must know the token to start it must know it here, too."""
        job = service.jobs.find(id)
        if job.writes or job.is_private:
            service.security.check_token(request.scope["bunrui.head"])
        return job

    async def state(id: str, request: Request) -> Response:
        return answer(find(id, request).to_dict())

    async def cancel(id: str, request: Request) -> Response:
        job = find(id, request)
        job.cancel()
        return answer(job.to_dict())

    for path, what, example in (("/v1/evaluate/{id}", "an evaluation", _DONE), ("/v1/jobs/{id}", "work", _RUNNING)):
        found = described(f"How far {what} is, and its result", schemas.Job, example, statuses=(401, 404, 422))
        cancelled = example | {"state": "cancelled"}
        cancelled.pop("result", None)
        app.get(path, **found)(state)
        app.delete(path, **described(f"Cancel {what}", schemas.Job, cancelled, statuses=(401, 404, 422)))(cancel)

    @app.get(
        "/v1/token",
        **described("Whether the token is right", schemas.Token, {"right": True}, token=True),
    )
    async def check(request: Request) -> Response:
        service.security.check_token(request.scope["bunrui.head"])
        return answer({"right": True})
