"""Routes that read: predict, explain, labels, words, info, log."""

from __future__ import annotations

import os
import time
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response

from bunrui import __version__
from bunrui.classifier import AnyClassifier
from bunrui.service import schemas
from bunrui.service.answers import explain as explanation
from bunrui.service.answers import predict as predictions
from bunrui.service.core import Service, answer
from bunrui.service.gate import Endpoint
from bunrui.service.openapi import described
from bunrui.service.security import ARROW, JSON
from bunrui.service.served import version
from bunrui.store.transaction import Entry

__all__ = ["add_reading"]

# Bytes of texts that are predicted on the event loop: going to a thread and back takes 0.1 ms, a message of 2 KB 0.15.
_INLINE = 32 << 10
_INLINE_SCORES = 10_000  # texts times labels: 8,000 short texts and 200 labels stopped the loop for 1.8 s

_PREDICTED = {"labels": ["spam"], "probabilities": [0.98]}
_EXPLAINED = {
    "label": "spam",
    "against": "ham",
    "probabilities": {"spam": 0.9, "ham": 0.1},
    "score": -2.1,
    "against_score": -4.3,
    "bias": 0.0,
    "contributions": [{"feature": "pills", "value": 2.2, "count": 1, "spans": [[5, 10]]}],
    "unknown": ["zzz"],
    "text": "free pills zzz",
    "left_out": 0,
    "rest": 0.0,
}
_INFO = {
    "documents": 4,
    "labels": {"ham": 2, "spam": 2},
    "features": 30,
    "model": "binary-complement",
    "keep": "text",
    "service": {"version": "1.0", "file": "mail.bunrui", "writable": True, "limits": {"documents": 100000}},
}
_CHANGE = {"number": 1, "kind": "learn", "time": "2026-01-31T12:00:00+00:00", "n_docs": 4, "note": {}, "undone": None}


def add_reading(app: FastAPI, service: Service) -> dict[str, Endpoint]:
    """Add the routes; those that are worth a shorter way, by path."""
    served = service.served

    @app.post(
        "/v1/predict",
        **described(
            "Predict the labels of documents",
            schemas.Predicted,
            _PREDICTED,
            body=schemas.Predict,
            body_example={"texts": ["free pills"], "top": 2},
            arrow=True,
            arrow_answer=True,
            options=("model", "top"),
            statuses=(409,),
        ),
    )
    async def predict(request: Request) -> Response:
        as_arrow = ARROW.encode() in request.scope["bunrui.head"].get(b"accept", b"")
        if not service.is_small(request):
            return await service.room(request).readers.run(_predict_large, request, as_arrow)
        body = service.read(schemas.Predict, request)
        classifier = served.reading(body.model)
        n_scores = len(body.texts) * len(classifier.counts.labels)
        is_short = len(request.scope["bunrui.body"]) <= _INLINE and n_scores <= _INLINE_SCORES
        if is_short and served.is_at_hand(classifier):
            return _predicted(predictions(classifier, body.texts, body.top), as_arrow)
        return await service.room(request).readers.run(_predict_small, classifier, body, as_arrow)

    def _predict_large(request: Request, as_arrow: bool) -> Response:
        body = service.read(schemas.Predict, request)
        return _predicted(predictions(served.reading(body.model), body.texts, body.top), as_arrow)

    def _predict_small(classifier: AnyClassifier, body: schemas.Predict, as_arrow: bool) -> Response:
        before, started = version(classifier), time.thread_time()
        found = predictions(classifier, body.texts, body.top)
        served.has_answered(classifier, before, time.thread_time() - started)
        return _predicted(found, as_arrow)

    @app.post(
        "/v1/explain",
        **described(
            "Explain a prediction: what each word adds",
            schemas.Explained,
            _EXPLAINED,
            body=schemas.Explain,
            body_example={"text": "free pills zzz"},
            statuses=(409,),
        ),
    )
    async def explain(request: Request) -> Response:
        body = await service.read_later(schemas.Explain, request)

        def work() -> Response:
            return answer(explanation(served.reading(body.model), body.text, body.label, body.against))

        return await service.room(request).readers.run(work)

    @app.get(
        "/v1/labels",
        **described(
            "The labels, and how many documents they have",
            schemas.Labels,
            {"labels": [{"label": "ham", "documents": 2}, {"label": "spam", "documents": 2}]},
        ),
    )
    async def labels(request: Request) -> Response:
        found = await service.room(request).readers.run(served.labels)
        return answer({"labels": [{"label": label, "documents": n} for label, n in found.items()]})

    @app.get(
        "/v1/words",
        **described(
            "The words that speak for a label",
            schemas.Words,
            {"words": [{"word": "pills", "weight": 3.0, "counts": {"spam": 2}}]},
            statuses=(409, 422),
        ),
    )
    async def words(
        request: Request,
        label: str | None = None,
        positive: Annotated[str | None, Query(description="Log-odds of words: for this label,")] = None,
        negative: Annotated[str | None, Query(description="… against this one.")] = None,
        word: Annotated[str | None, Query(description="This word alone.")] = None,
        top: Annotated[int, Query(ge=1, le=1000)] = 20,
        model: str | None = None,
    ) -> Response:
        def work() -> list[dict[str, Any]]:
            found = served.reading(model).words(label, positive=positive, negative=negative, word=word, top=top)
            return [{"word": item.text, "weight": item.weight, "counts": item.counts} for item in found]

        return answer({"words": await service.room(request).readers.run(work)})

    @app.get("/v1/info", **described("What the classifier has learned, and how it reads it", schemas.Info, _INFO))
    async def info(request: Request) -> Response:
        # On the thread that writes, so that no reader waits for a long change.
        known = await service.room(request).lookups.run(served.classifier.info)
        limits = service.settings.limits
        about = {
            "version": __version__,
            "file": os.path.basename(served.classifier.path),
            "writable": service.settings.token is not None,
            "limits": {"body": limits.body, "documents": limits.documents, "characters": limits.characters},
        }
        return answer(known | {"service": about})

    @app.get(
        "/v1/log",
        **described(
            "Everything that was done to the classifier",
            schemas.Log,
            {"changes": [_CHANGE], "next": None},
            statuses=(422,),
        ),
    )
    async def log(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Annotated[int | None, Query(ge=1, description="Only changes before this number.")] = None,
        after: Annotated[int | None, Query(ge=0, description="Only changes after this number.")] = None,
    ) -> Response:
        def work() -> list[Entry]:
            return served.classifier.history(before=before, after=after, limit=limit + 1)

        found = await service.room(request).lookups.run(work)
        page = found[-limit:]
        has_more = len(found) > limit
        changes = [entry._asdict() for entry in reversed(page)]
        return answer({"changes": changes, "next": page[0].number if has_more else None})

    return {"/v1/predict": predict}


def _predicted(found: Any, as_arrow: bool) -> Response:
    if as_arrow:
        return Response(found.to_arrow(), media_type=ARROW)
    return Response(found.to_json(), media_type=JSON)
