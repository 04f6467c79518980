"""Routes that write, by documents (learn, unlearn, relabel) and by files (inspect, train)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response

from bunrui.service import schemas
from bunrui.service.evaluate import measure_batches
from bunrui.service.intake import (
    BodyName,
    Column,
    Encoding,
    Given,
    Guessed,
    GuessedHeader,
    Header,
    Ids,
    Intake,
    Name,
    SkipBad,
)
from bunrui.service.jobs import Job
from bunrui.service.monitor import event
from bunrui.service.schemas import describe
from bunrui.service.service import Service


def add_learn(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served = service.served

    def describe_change(summary: str, answer: type = schemas.Changed, *problems: int, **more: Any) -> dict[str, Any]:
        return describe(summary, answer, 409, 507, *problems, token=True, **more)

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
        header: GuessedHeader = None,
    ) -> Response:
        return await Intake(service, request, name, None, encoding, header).look(service, request, text, label)

    @app.post(
        "/v1/train",
        **describe_change(
            "Learn the documents of files, all or none", schemas.Job, 404, is_file=True, status=202, kind="train"
        ),
    )
    async def train(
        request: Request,
        name: BodyName = "",
        file: Ids = None,
        text: Column = None,
        label: Column = None,
        given: Given = None,
        encoding: Encoding = "utf-8",
        skip_bad: SkipBad = False,
        header: Header = True,
    ) -> Response:
        intake = Intake(service, request, name, file, encoding, header, given)

        def work(job: Job) -> dict[str, Any]:
            with intake.labelled(job, served.classifier, text, label, skip_bad) as batches:
                job.total = batches.n_docs
                done = service.writer.call(service.sign(request, served.learn_batches), batches, job.add)
            event("change", kind="train", transaction=done["transaction"], documents=done["changed"])
            return dict(done)

        return service.start_job(Job("train", None, writes=True, is_owners=True), work)

    @app.post(
        "/v1/test",
        **describe_change(
            "Measure how well the documents of files are predicted",
            schemas.Job,
            404,
            is_file=True,
            status=202,
            kind="test",
        ),
    )
    async def test(
        request: Request,
        name: BodyName = "",
        file: Ids = None,
        text: Column = None,
        label: Column = None,
        given: Given = None,
        encoding: Encoding = "utf-8",
        skip_bad: SkipBad = False,
        header: Header = True,
        report: Annotated[bool, Query(description="Also a page to keep, in the member report of the result.")] = False,
    ) -> Response:
        """Nothing is learned."""
        intake = Intake(service, request, name, file, encoding, header, given)

        def work(job: Job) -> dict[str, Any]:
            with intake.labelled(job, served.classifier, text, label, skip_bad) as batches:
                return measure_batches(served.classifier, list(batches), report, job)

        return service.start_job(Job("test", None, is_private=True, is_owners=True), work)
