"""Routes that measure, in the background: evaluate, mistakes, curve, compare, audit."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response

from bunrui.classifier import AnyClassifier
from bunrui.engines.stream import slices
from bunrui.evaluation import Tally
from bunrui.models import kind_of
from bunrui.service import schemas
from bunrui.service.errors import Problem
from bunrui.service.jobs import Job
from bunrui.service.predict import MOST_BYTES
from bunrui.service.processes import study_apart
from bunrui.service.schemas import describe
from bunrui.service.service import Service, call_of
from bunrui.service.studies import leave_out, study

_PRIVATE = ("mistakes", "audit")
"""The studies that show documents."""


def add_evaluate(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served = service.served

    def describe_study(summary: str, *problems: int, **more: Any) -> dict[str, Any]:
        return describe(summary, schemas.Job, 409, *problems, status=202, **more)

    def start(request: Request, kind: str, *given: Any) -> Response:
        classifier = served.classifier
        if classifier.keep != "text":
            raise Problem(
                "conflict", f"the file keeps {classifier.keep} of its documents: learn into one that keeps texts"
            )
        path = classifier.path
        job = Job(kind, None, is_private=kind in _PRIVATE, is_owners=call_of(request).is_owner)
        return service.start_job(job, lambda job: study_apart(job, path, study, kind, *given))

    @app.post(
        "/v1/evaluate",
        **describe_study("Measure how well documents are predicted whose labels are known", body=schemas.Evaluate),
    )
    async def evaluate(request: Request) -> Response:
        """Without a body, or without texts: leave each document out that the file keeps, and predict it."""
        body = await service.body(schemas.Evaluate, request)
        classifier, is_owners = served.reading(body.model), call_of(request).is_owner
        if body.texts is not None:
            if len(body.texts) != len(body.labels or ()):
                raise Problem("invalid", f"there are {len(body.texts)} texts and {len(body.labels or ())} labels")
            job = Job("batch", len(body.texts), is_owners=is_owners)
            return service.start_job(job, lambda job: _predict_all(classifier, body, job), "evaluate")
        _check_leaves_out(served.classifier.keep, classifier.model)
        path = served.classifier.path
        job = Job("leave-one-out", classifier.counts.n_docs, is_owners=is_owners)
        return service.start_job(job, lambda job: study_apart(job, path, leave_out, body.model, body.html), "evaluate")

    @app.post(
        "/v1/mistakes",
        **describe_study(
            "Leave each document out, predict it, and show those that are wrong", 408, 413, 415, token=True
        ),
    )
    async def mistakes(request: Request) -> Response:
        return start(request, "mistakes")

    @app.post("/v1/curve", **describe_study("Learn growing parts of the documents, and predict others", 408, 413, 415))
    async def curve(request: Request) -> Response:
        return start(request, "curve")

    @app.post("/v1/compare", **describe_study("Measure all models on the documents", body=schemas.Compare))
    async def compare(request: Request) -> Response:
        """The result grows while it runs; progress counts measurements."""
        return start(request, "compare", (await service.body(schemas.Compare, request)).trained)

    @app.post("/v1/audit", **describe_study("Find labels to look at again", body=schemas.Audit, token=True))
    async def audit(request: Request) -> Response:
        return start(request, "audit", (await service.body(schemas.Audit, request)).kept)


def _predict_all(classifier: AnyClassifier, body: schemas.Evaluate, job: Job) -> dict[str, Any]:
    known: list[str] = classifier.classes_.tolist()
    tally = Tally(known)
    start = 0
    for part in slices(body.texts, len(known), MOST_BYTES):
        labels = (body.labels or [])[start : start + len(part)]
        tally.add(labels, classifier.predict(part))
        start += len(part)
        job.add(len(part))
    return tally.metrics().to_dict()


def _check_leaves_out(keep: str, model: str) -> None:
    if keep != "text":
        raise Problem("conflict", f"the file keeps {keep} of its documents: send texts and labels to be predicted")
    if kind_of(model).needs_documents:
        raise Problem("conflict", f"{model} would be trained for each document: send texts and labels to be predicted")
