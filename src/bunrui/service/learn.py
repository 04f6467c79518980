"""Routes that change the classifier, by documents and by files; its changes, the documents behind them, and undo."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response

from bunrui.phrases import readable
from bunrui.service import schemas
from bunrui.service.errors import Problem
from bunrui.service.evaluate import measure_batches
from bunrui.service.intake import Encoding, Guessed, GuessedHeader, Intake, Name, Read, labelled_files
from bunrui.service.jobs import Job
from bunrui.service.monitor import event
from bunrui.service.schemas import answer, describe
from bunrui.service.service import Service, call_of
from bunrui.store.lifecycle import Hit
from bunrui.store.transaction import Entry

_MOST_CHARACTERS = 4_000_000
"""The most characters of texts that one answer has."""

_NOT_TOLD = frozenset({"settings_before"})
"""All settings before a change, which only undo reads: they are long."""

_PEOPLE = frozenset({"by", "undone_by"})
"""Names of people: for those who have the token."""


def add_learn(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    served, add, labelled = service.served, service.add_change, labelled_files(service)

    add(app, "/v1/learn", "Learn documents, all or none of them", served.learn, schemas.Learn)
    add(app, "/v1/unlearn", "Take documents back, as if they had never been learned", served.unlearn, schemas.Unlearn)
    summary = "Take in texts without a label, to help where labels are few"
    add(app, "/v1/unlabelled/learn", summary, served.learn_unlabelled, schemas.Unlabelled)
    summary = "Take texts without a label back, by default all"
    add(app, "/v1/unlabelled/unlearn", summary, served.unlearn_unlabelled, schemas.Unlabelled)
    add(app, "/v1/relabel", "Give documents that were learned another label", served.relabel, schemas.Relabel)
    add(app, "/v1/undo", "Take the last change back, or all after one", served.undo, schemas.Undo, schemas.Undone)

    # --- files

    def describe_files(summary: str, answer: type, *problems: int, **more: Any) -> dict[str, Any]:
        return describe(summary, answer, 409, 507, *problems, token=True, is_file=True, **more)

    @app.post(
        "/v1/inspect",
        **describe_files("Look into a file: its columns, its first rows, its labels", schemas.Inspected),
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
        **describe_files("Learn the documents of files, all or none", schemas.Job, 404, status=202, kind="train"),
    )
    async def train(request: Request, read: Read = labelled) -> Response:
        def work(job: Job) -> dict[str, Any]:
            with read(job) as batches:
                job.total = batches.n_docs
                done = service.writer.call(service.sign(request, served.learn_batches), batches, job.add)
            event("change", kind="train", transaction=done["transaction"], documents=done["changed"])
            return dict(done)

        return service.start_job(Job("train", None, writes=True, is_owners=True), work)

    @app.post(
        "/v1/test",
        **describe_files(
            "Measure how well the documents of files are predicted", schemas.Job, 404, status=202, kind="test"
        ),
    )
    async def test(
        read: Read = labelled,
        report: Annotated[bool, Query(description="Also a page to keep, in the member report of the result.")] = False,
    ) -> Response:
        """Nothing is learned."""

        def work(job: Job) -> dict[str, Any]:
            with read(job) as batches:
                return measure_batches(served.classifier, list(batches), report, job)

        return service.start_job(Job("test", None, is_private=True, is_owners=True), work)

    # --- what was done

    @app.get("/v1/log", **describe("Everything that was done to the classifier", schemas.Log, 422))
    async def log(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Annotated[int | None, Query(ge=1, description="Only changes before this number.")] = None,
        after: Annotated[int | None, Query(ge=0, description="Only changes after this number.")] = None,
    ) -> Response:
        def work() -> tuple[list[Entry], int]:
            classifier = served.classifier
            return classifier.history(before=before, after=after, limit=limit + 1), classifier.joined

        found, joined = await call_of(request).room.lookups.run(work)
        page = found[-limit:]
        hidden = _NOT_TOLD if call_of(request).is_owner else _NOT_TOLD | _PEOPLE
        changes: list[schemas.Change] = [_as_change(entry, hidden) for entry in reversed(page)]
        more = page[0].number if len(found) > limit else None
        return answer(schemas.Log(changes=changes, next=more, joined=joined))

    @app.get(
        "/v1/documents",
        **describe(
            "Look through the documents, those that came last first", schemas.Documents, 409, 413, 422, token=True
        ),
    )
    async def documents(
        request: Request,
        contains: Annotated[
            str | None, Query(max_length=1000, description="A part of the text, in capital or small letters.")
        ] = None,
        label: str | None = None,
        since: Annotated[datetime | None, Query(description="Learned first at this time or later.")] = None,
        before: Annotated[datetime | None, Query(description="Learned first before this time.")] = None,
        change: Annotated[
            int | None,
            Query(
                ge=1, description="Only those that this change has learned, or changed: then with their labels before."
            ),
        ] = None,
        begin: Annotated[str | None, Query(description="Where the page begins: `next` of the page before it.")] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        characters: Annotated[int, Query(ge=1, description="So much of each text.")] = 500,
    ) -> Response:
        if limit * characters > _MOST_CHARACTERS:
            most = f"an answer has at most {_MOST_CHARACTERS:,} characters of texts"
            raise Problem("too-large", f"{most}: ask for fewer documents, or for less of each")

        def work() -> Response:
            page = served.classifier.browse(
                contains,
                label=served.named([label])[0],
                since=since,
                before=before,
                change=change,
                begin=begin,
                limit=limit,
            )
            found = [_as_document(hit, characters) for hit in page.hits]
            return answer(schemas.Documents(documents=found, next=page.next, looked=page.looked))

        # With a connection of its own: neither who writes nor who predicts waits for it.
        return await call_of(request).room.readers.run(work)


def _as_change(entry: Entry, hidden: frozenset[str]) -> Any:
    """The change without some parts of its note."""
    note = {name: value for name, value in entry.note.items() if name not in hidden}
    return entry._replace(note=note)._asdict()


def _as_document(hit: Hit, characters: int) -> Any:
    text = None if hit.document.text is None else readable(hit.document.text)
    length = None if text is None else len(text)
    return hit.document._asdict() | {"place": hit.place, "length": length, "text": text and text[:characters]}
