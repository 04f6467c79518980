"""Routes that learn from what the file keeps: its mistakes, its learning curve, other models, labels to
look at again.

All of them work on a copy of the documents, in a process of their own: nobody who asks or learns meanwhile has to wait,
and they can be ended.  Mistakes and suspects show documents, and need the token.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from fastapi import FastAPI, Request, Response

from bunrui import store
from bunrui.classifier import TextClassifier
from bunrui.evaluation.loo import kept_documents
from bunrui.service import schemas
from bunrui.service.apart import study_apart
from bunrui.service.comparing import compare_all
from bunrui.service.core import Service, answer
from bunrui.service.curves import find_curve
from bunrui.service.jobs import Job
from bunrui.service.mistakes import find_mistakes
from bunrui.service.openapi import described
from bunrui.service.problems import Problem
from bunrui.service.suspects import find_suspects

__all__ = ["PRIVATE", "add_studying", "study"]

PRIVATE = ("/v1/mistakes", "/v1/audit")
"""The paths that show documents."""

_WAITING = {"id": "hPZ2ZbTmP5xW", "kind": "curve", "state": "waiting", "progress": {"done": 0, "total": 2000}}

# Of a classifier without documents, the documents, what the client gave, and the job.
_STUDIES: dict[str, Callable[..., dict[str, Any]]] = {
    "mistakes": find_mistakes,
    "curve": find_curve,
    "compare": compare_all,
    "audit": find_suspects,
}


def add_studying(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served, jobs = service.served, service.jobs

    def start(request: Request, kind: str, *given: Any) -> Response:
        if served.classifier.keep != "text":
            raise Problem(
                "conflict",
                f"the file keeps {served.classifier.keep} of its documents: learn into one that keeps texts",
            )
        path = served.classifier.path
        is_private, is_owners = f"/v1/{kind}" in PRIVATE, request.scope["bunrui.is_owner"]
        job = Job(kind, None, is_private=is_private, is_owners=is_owners)
        jobs.start(job, lambda job: study_apart(job, path, study, kind, *given))
        return answer(job.to_dict(), 202, {"Location": f"/v1/jobs/{job.id}"})

    @app.post(
        "/v1/mistakes",
        **described(
            "Leave each document out, predict it, and show those that are wrong",
            schemas.Job,
            _WAITING | {"kind": "mistakes"},
            statuses=(408, 409, 413, 415),
            token=True,
            status=202,
        ),
    )
    async def mistakes(request: Request) -> Response:
        return start(request, "mistakes")

    @app.post(
        "/v1/curve",
        **described(
            "Learn growing parts of the documents, and predict others",
            schemas.Job,
            _WAITING,
            statuses=(408, 409, 413, 415),
            status=202,
        ),
    )
    async def curve(request: Request) -> Response:
        return start(request, "curve")

    @app.post(
        "/v1/compare",
        **described(
            "Measure all models on the documents",
            schemas.Job,
            _WAITING | {"kind": "compare"},
            body=schemas.Compare,
            body_example={"trained": False},
            may_lack_body=True,
            statuses=(409,),
            status=202,
        ),
    )
    async def compare(request: Request) -> Response:
        """The result grows while it runs; progress counts measurements."""
        body = await service.read_given(schemas.Compare, request)
        return start(request, "compare", body.trained)

    @app.post(
        "/v1/audit",
        **described(
            "Find labels to look at again",
            schemas.Job,
            _WAITING | {"kind": "audit"},
            body=schemas.Audit,
            body_example={"kept": ["0f343b0931126a20f133d67c2b018a3b"]},
            may_lack_body=True,
            statuses=(409,),
            token=True,
            status=202,
        ),
    )
    async def audit(request: Request) -> Response:
        body = await service.read_given(schemas.Audit, request)
        return start(request, "audit", body.kept)


def study(path: str, kind: str, *given: Any) -> dict[str, Any]:
    """What a study says of the documents of a file; the last that is given is the job."""
    with closing(store.open(path, read_only=True)) as opened:
        documents = kept_documents(opened)
        empty = TextClassifier(**opened.get_params())
        empty.set_calibration(opened.calibration)
    return _STUDIES[kind](empty, documents, *given)
