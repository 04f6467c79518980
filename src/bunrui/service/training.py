"""Routes of files: what is in one, and learning it in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response

from bunrui.service import schemas
from bunrui.service.apart import Died, run_apart
from bunrui.service.core import GONE, Service, answer
from bunrui.service.jobs import Job
from bunrui.service.logs import event
from bunrui.service.openapi import described
from bunrui.service.problems import Problem
from bunrui.service.uploads import Upload, batches_apart, inspect_apart

__all__ = ["UPLOADS", "add_training"]

UPLOADS = ("/v1/inspect", "/v1/train")
"""The paths whose bodies are files, as they are."""

_INSPECTED = {
    "columns": ["text", "label"],
    "rows": [{"text": "cheap pills", "label": "spam"}],
    "header": True,
    "text": "text",
    "label": "label",
    "documents": 2,
    "labels": {"ham": 1, "spam": 1},
    "n_labels": 2,
    "skipped": 0,
    "problems": [],
}
_WAITING = {"id": "hPZ2ZbTmP5xW", "kind": "train", "state": "waiting", "progress": {"done": 0, "total": None}}

_HEADER = "Whether the first line of CSV and TSV has the names of the columns"

Name = Annotated[str, Query(min_length=1, max_length=255, description="Of the file: its suffix tells the format.")]
Guessed = Annotated[str | None, Query(description="A column; guessed where it is not given.")]
Column = Annotated[str | None, Query(description="A column; the one of this name where it is not given.")]
Encoding = Annotated[str, Query(description="Of CSV, TSV and JSON lines.")]


def add_training(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    @app.post(
        "/v1/inspect",
        **_described("Look into a file: its columns, its first rows, its labels", schemas.Inspected, _INSPECTED),
    )
    async def inspect(
        request: Request,
        name: Name,
        text: Guessed = None,
        label: Guessed = None,
        encoding: Encoding = "utf-8",
        header: Annotated[bool | None, Query(description=f"{_HEADER}; guessed where it is not given.")] = None,
    ) -> Response:
        upload = _upload(service, request, name, encoding, header)
        found = await service.while_there(request, lambda job: _apart(job, inspect_apart, upload, text, label))
        return Response(status_code=GONE) if found is None else answer(found[0])

    @app.post("/v1/train", **_described("Learn the documents of a file, all or none", schemas.Job, _WAITING, 202))
    async def train(
        request: Request,
        name: Name,
        text: Column = None,
        label: Column = None,
        encoding: Encoding = "utf-8",
        skip_bad: Annotated[bool, Query(description="Leave out rows that cannot be read.")] = False,
        header: Annotated[bool, Query(description=f"{_HEADER}; else they are called 1, 2 …")] = True,
    ) -> Response:
        upload = _upload(service, request, name, encoding, header)
        upload.check_options()
        job = Job("train", None, writes=True, is_owners=True)
        service.jobs.start(
            job, lambda job: _learn(service, _apart(job, batches_apart, upload, text, label, skip_bad), job)
        )
        return answer(job.to_dict(), 202, {"Location": f"/v1/jobs/{job.id}"})


def _upload(service: Service, request: Request, name: str, encoding: str, header: bool | None) -> Upload:
    if len(request.query_params) < len(request.query_params.multi_items()):
        raise Problem("invalid", "an option comes twice in the address: give it once")
    return Upload(request.scope["bunrui.body"], name, encoding, service.settings.limits.body, header)


def _apart(job: Job, function: Callable[..., None], upload: Upload, *args: Any) -> list[Any]:
    """All that a function sends about a file, from a process of its own."""
    about = upload.name, upload.encoding, upload.most_bytes, upload.header
    try:
        return list(run_apart(job, function, about, *args, body=upload.body, memory=upload.memory))
    except Died:
        raise Problem("invalid", f"{upload.name} is damaged: get or write it again") from None


def _learn(service: Service, batches: list[Any], job: Job) -> dict[str, Any]:
    # All of them are read before: what is wrong with the file shows before anybody has to wait for a long change.
    job.total = sum(batch.num_rows for batch in batches)
    done = service.writer.call(service.served.learn_batches, batches, job.add)
    event("change", kind="train", transaction=done["transaction"], documents=done["changed"])
    return done


def _described(summary: str, answer: type[Any], example: Any, status: int = 200) -> dict[str, Any]:
    about = described(summary, answer, example, statuses=(408, 409, 413, 415, 422, 507), token=True, status=status)
    file = {"schema": {"type": "string", "format": "binary"}}
    about["openapi_extra"]["requestBody"] = {"required": True, "content": {"application/octet-stream": file}}
    return about
