"""Routes that write, by documents (learn, unlearn, relabel) and by files (inspect, train)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response

from bunrui.service import schemas
from bunrui.service.errors import Problem
from bunrui.service.jobs import Job
from bunrui.service.monitor import event
from bunrui.service.processes import Died, run_apart
from bunrui.service.schemas import answer, describe
from bunrui.service.service import GONE, Service, call_of
from bunrui.service.uploads import Upload, batches_apart, inspect_apart

_HEADER = "Whether the first line of CSV and TSV has the names of the columns"

Name = Annotated[str, Query(min_length=1, max_length=255, description="Of the file: its suffix tells the format.")]
Guessed = Annotated[str | None, Query(description="A column; guessed where it is not given.")]
Column = Annotated[str | None, Query(description="A column; the one of this name where it is not given.")]
Encoding = Annotated[str, Query(description="Of CSV, TSV and JSON lines.")]


def add_learn(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served = service.served

    def describe_change(summary: str, answer: type = schemas.Changed, **more: Any) -> dict[str, Any]:
        return describe(summary, answer, 409, 507, token=True, **more)

    @app.post("/v1/learn", **describe_change("Learn documents, all or none of them", body=schemas.Learn))
    async def learn(request: Request) -> Response:
        return await service.change(schemas.Learn, request, served.learn)

    @app.post(
        "/v1/unlearn",
        **describe_change("Take documents back, as if they had never been learned", body=schemas.Unlearn),
    )
    async def unlearn(request: Request) -> Response:
        return await service.change(schemas.Unlearn, request, served.unlearn)

    @app.post(
        "/v1/unlabelled/learn",
        **describe_change("Take in texts without a label, to help where labels are few", body=schemas.Unlabelled),
    )
    async def learn_unlabelled(request: Request) -> Response:
        return await service.change(schemas.Unlabelled, request, served.learn_unlabelled)

    @app.post(
        "/v1/unlabelled/unlearn",
        **describe_change("Take texts without a label back, by default all", body=schemas.Unlabelled),
    )
    async def unlearn_unlabelled(request: Request) -> Response:
        return await service.change(schemas.Unlabelled, request, served.unlearn_unlabelled)

    @app.post("/v1/relabel", **describe_change("Give documents that were learned another label", body=schemas.Relabel))
    async def relabel(request: Request) -> Response:
        return await service.change(schemas.Relabel, request, served.relabel)

    # --- files

    @app.post(
        "/v1/inspect",
        **describe_change("Look into a file: its columns, its first rows, its labels", schemas.Inspected, is_file=True),
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

    @app.post(
        "/v1/train",
        **describe_change("Learn the documents of a file, all or none", schemas.Job, is_file=True, status=202),
    )
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

        def work(job: Job) -> dict[str, Any]:
            # Read as a whole first: errors of the file show before anybody has to wait for a long change.
            batches = _apart(job, batches_apart, upload, text, label, skip_bad)
            job.total = sum(batch.num_rows for batch in batches)
            done = service.writer.call(service.sign(request, served.learn_batches), batches, job.add)
            event("change", kind="train", transaction=done["transaction"], documents=done["changed"])
            return dict(done)

        return service.start_job(Job("train", None, writes=True, is_owners=True), work)


def _upload(service: Service, request: Request, name: str, encoding: str, header: bool | None) -> Upload:
    if len(request.query_params) < len(request.query_params.multi_items()):
        raise Problem("invalid", "an option comes twice in the address: give it once")
    return Upload(call_of(request).body, name, encoding, service.settings.limits.body, header)


def _apart(job: Job, function: Callable[..., None], upload: Upload, *args: Any) -> list[Any]:
    """All that a function sends about a file, from a process of its own."""
    about = upload.name, upload.encoding, upload.most_bytes, upload.header
    try:
        return list(run_apart(job, function, about, *args, body=upload.body, memory=upload.memory))
    except Died:
        raise Problem("invalid", f"{upload.name} is damaged: get or write it again") from None
