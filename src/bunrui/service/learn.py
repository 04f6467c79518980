"""Routes that write, by documents (learn, unlearn, relabel, undo) and by files (inspect, train)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request, Response

from bunrui.service import schemas
from bunrui.service.errors import Problem
from bunrui.service.jobs import Job
from bunrui.service.monitor import event
from bunrui.service.predictions import (
    Column,
    Encoding,
    Given,
    Guessed,
    GuessedHeader,
    Header,
    Name,
    SkipBad,
    look,
    upload_of,
)
from bunrui.service.schemas import answer, describe
from bunrui.service.service import Service, call_of
from bunrui.service.uploads import all_apart, batches_apart

T = TypeVar("T", bound=schemas.Body)


def add_learn(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served = service.served

    def describe_change(summary: str, answer: type = schemas.Changed, *problems: int, **more: Any) -> dict[str, Any]:
        return describe(summary, answer, 409, 507, *problems, token=True, **more)

    async def change(kind: type[T], request: Request, work: Callable[[T], Any]) -> Response:
        done = await service.writer.run(work, await service.body(kind, request))
        number = {"transaction": done["transaction"]} if "transaction" in done else {}
        event("change", kind=work.__name__, **number, documents=done["changed"])
        return answer(done)

    @app.post("/v1/learn", **describe_change("Learn documents, all or none of them", body=schemas.Learn))
    async def learn(request: Request) -> Response:
        return await change(schemas.Learn, request, served.learn)

    @app.post(
        "/v1/unlearn",
        **describe_change("Take documents back, as if they had never been learned", body=schemas.Unlearn),
    )
    async def unlearn(request: Request) -> Response:
        return await change(schemas.Unlearn, request, served.unlearn)

    @app.post("/v1/relabel", **describe_change("Give documents that were learned another label", body=schemas.Relabel))
    async def relabel(request: Request) -> Response:
        return await change(schemas.Relabel, request, served.relabel)

    @app.post("/v1/undo", **describe_change("Take the last change back", schemas.Undone, body=schemas.Undo))
    async def undo(request: Request) -> Response:
        return await change(schemas.Undo, request, served.undo)

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
        header: GuessedHeader = None,
    ) -> Response:
        _check_once(request)
        folder = service.files.put(name, call_of(request).body)
        try:
            return await look(service, request, [folder], text, label, header=header, encoding=encoding)
        finally:
            service.files.remove(folder)

    @app.post(
        "/v1/train",
        **describe_change("Learn the documents of files, all or none", schemas.Job, 404, is_file=True, status=202),
    )
    async def train(
        request: Request,
        name: Annotated[str, Query(max_length=255, description="Of the file that is the body.")] = "",
        file: Annotated[list[str] | None, Query(description="Ids of files that were sent before, not a body.")] = None,
        text: Column = None,
        label: Column = None,
        given: Given = None,
        encoding: Encoding = "utf-8",
        skip_bad: SkipBad = False,
        header: Header = True,
    ) -> Response:
        _check_once(request)
        if bool(name) == bool(file):
            raise Problem("invalid", "name: give the name of the file that is the body, or the ids of files")
        files = service.files
        folders = [files.find(id) for id in file] if file else [files.put(name, call_of(request).body)]
        upload = upload_of(service, folders, encoding, header, given)
        upload.check_options()

        def work(job: Job) -> dict[str, Any]:
            # Read as a whole first: errors of the file show before anybody has to wait for a long change.
            with files.in_use(folders, remove=not file):
                batches = list(all_apart(job, batches_apart, upload, text, label, skip_bad))
            job.total = sum(batch.num_rows for batch in batches)
            done = service.writer.call(served.learn_batches, batches, job.add)
            event("change", kind="train", transaction=done["transaction"], documents=done["changed"])
            return dict(done)

        return service.start_job(Job("train", None, writes=True, is_owners=True), work)


def _check_once(request: Request) -> None:
    names = [name for name, _ in request.query_params.multi_items() if name != "file"]
    if len(set(names)) < len(names):
        raise Problem("invalid", "an option comes twice in the address: give it once")
