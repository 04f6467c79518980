"""Routes about the classifier: labels, words, info, log; and whether a token is right."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response

from bunrui import __version__
from bunrui.service import schemas
from bunrui.service.schemas import answer, describe
from bunrui.service.service import Service, call_of
from bunrui.store.transaction import Entry


def add_info(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served = service.served

    @app.get("/v1/labels", **describe("The labels, and how many documents they have", schemas.Labels))
    async def labels(request: Request) -> Response:
        found = await call_of(request).room.readers.run(served.labels)
        counts: list[schemas.LabelCount] = [{"label": label, "documents": n} for label, n in found.items()]
        return answer(schemas.Labels(labels=counts))

    @app.get("/v1/words", **describe("The words that speak for a label", schemas.Words, 409, 422))
    async def words(
        request: Request,
        label: str | None = None,
        positive: Annotated[str | None, Query(description="Log-odds of words: for this label,")] = None,
        negative: Annotated[str | None, Query(description="… against this one.")] = None,
        word: Annotated[str | None, Query(description="This word alone.")] = None,
        top: Annotated[int, Query(ge=1, le=1000)] = 20,
        model: str | None = None,
    ) -> Response:
        def work() -> list[schemas.Word]:
            found = served.reading(model).words(label, positive=positive, negative=negative, word=word, top=top)
            return [{"word": item.text, "weight": item.weight, "counts": item.counts} for item in found]

        return answer(schemas.Words(words=await call_of(request).room.readers.run(work)))

    @app.get("/v1/info", **describe("What the classifier has learned, and how it reads it", schemas.Info))
    async def info(request: Request) -> Response:
        # On the thread that writes, so that no reader waits for a long change.
        known = await call_of(request).room.lookups.run(served.classifier.info)
        limits = service.settings.limits
        about = {
            "version": __version__,
            "file": os.path.basename(served.classifier.path),
            "writable": service.settings.token is not None,
            "limits": {"body": limits.body, "documents": limits.documents, "characters": limits.characters},
        }
        return answer(known | {"service": about})

    @app.get("/v1/log", **describe("Everything that was done to the classifier", schemas.Log, 422))
    async def log(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Annotated[int | None, Query(ge=1, description="Only changes before this number.")] = None,
        after: Annotated[int | None, Query(ge=0, description="Only changes after this number.")] = None,
    ) -> Response:
        def work() -> list[Entry]:
            return served.classifier.history(before=before, after=after, limit=limit + 1)

        found = await call_of(request).room.lookups.run(work)
        page = found[-limit:]
        changes: list[schemas.Change] = [entry._asdict() for entry in reversed(page)]
        return answer(schemas.Log(changes=changes, next=page[0].number if len(found) > limit else None))

    @app.get("/v1/token", **describe("Whether the token is right", schemas.Token, token=True))
    async def check() -> Response:
        return answer(schemas.Token(right=True))  # else the gate has refused it
