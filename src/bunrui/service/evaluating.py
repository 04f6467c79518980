"""The route that starts evaluations, which take their time."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from fastapi import FastAPI, Request, Response

from bunrui import store
from bunrui.classifier import AnyClassifier, TextClassifier
from bunrui.evaluation import Tally, leave_one_out
from bunrui.evaluation.loo import own_documents
from bunrui.service import schemas
from bunrui.service.answers import slices
from bunrui.service.apart import study_apart
from bunrui.service.core import Service, answer
from bunrui.service.jobs import Job
from bunrui.service.mistakes import told
from bunrui.service.openapi import described
from bunrui.service.problems import Problem
from bunrui.trained.names import kind_of

__all__ = ["add_evaluating", "leave_out"]

_WAITING = {"id": "hPZ2ZbTmP5xW", "kind": "batch", "state": "waiting", "progress": {"done": 0, "total": 2000}}


def add_evaluating(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served, jobs = service.served, service.jobs

    @app.post(
        "/v1/evaluate",
        **described(
            "Measure how well documents are predicted whose labels are known",
            schemas.Job,
            _WAITING,
            body=schemas.Evaluate,
            body_example={"texts": ["free pills"], "labels": ["spam"]},
            may_lack_body=True,
            arrow=True,
            options=("model",),
            statuses=(409,),
            status=202,
        ),
    )
    async def evaluate(request: Request) -> Response:
        """Without a body, or without texts: leave each document out that the file keeps, and predict it."""
        body = await service.read_given(schemas.Evaluate, request)
        classifier, is_owners = served.reading(body.model), request.scope["bunrui.is_owner"]
        if body.texts is not None:
            if len(body.texts) != len(body.labels or ()):
                raise Problem("invalid", f"there are {len(body.texts)} texts and {len(body.labels or ())} labels")
            job = Job("batch", len(body.texts), is_owners=is_owners)
            jobs.start(job, lambda job: _predict_all(classifier, body, job))
        else:
            _check_leaves_out(served.classifier.keep, classifier.model)
            path = served.classifier.path
            job = Job("leave-one-out", classifier.counts.n_docs, is_owners=is_owners)
            jobs.start(job, lambda job: study_apart(job, path, leave_out, body.model))
        return answer(job.to_dict(), 202, {"Location": f"/v1/evaluate/{job.id}"})


def _predict_all(classifier: AnyClassifier, body: schemas.Evaluate, job: Job) -> dict[str, Any]:
    known: list[str] = classifier.classes_.tolist()
    tally = Tally(known)
    start = 0
    for part in slices(body.texts, len(known)):
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


def leave_out(path: str, model: str | None, job: Job) -> dict[str, Any]:
    """What every document of a file is predicted to be by the others."""
    with closing(store.open(path, read_only=True)) as opened:
        texts, labels = own_documents(opened)
        options = (opened if model is None else opened.with_model(model)).get_params()
    job.total = len(texts)
    found = leave_one_out(TextClassifier(**options), texts, labels)
    job.add(len(texts))
    return found.metrics.to_dict() | told(found)
