"""Routes that change the classifier, by documents and by files; its changes, the documents behind them, and undo."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Request, Response

from bunrui.phrases import readable
from bunrui.service import schemas
from bunrui.service.admission import BYTES
from bunrui.service.errors import Problem
from bunrui.service.evaluate import measure_batches
from bunrui.service.intake import Encoding, Guessed, GuessedHeader, Intake, Name, Read, labelled_files
from bunrui.service.jobs import Job
from bunrui.service.schemas import Api, answer
from bunrui.service.service import Service, call_of
from bunrui.store.lifecycle import Hit
from bunrui.store.transaction import Entry

_MOST_CHARACTERS = 4_000_000
"""The most characters of texts that one answer has."""

_NOT_TOLD = frozenset({"settings_before"})
"""All settings before a change, which only undo reads: they are long."""

_PEOPLE = frozenset({"by", "undone_by"})
"""Names of people: for those who have the token."""


def add_learn(api: Api, service: Service) -> None:
    """Add the routes."""
    served, labelled = service.served, labelled_files(service)

    service.add_change(api, "/v1/learn", served.learn)
    service.add_change(api, "/v1/unlearn", served.unlearn)
    service.add_change(api, "/v1/unlabelled/learn", served.learn_unlabelled)
    service.add_change(api, "/v1/unlabelled/unlearn", served.unlearn_unlabelled)
    service.add_change(api, "/v1/relabel", served.relabel)
    service.add_change(api, "/v1/undo", served.undo)

    # --- files

    @api.add("POST /v1/inspect", schemas.Inspected, 409, 507, token=True, body=(BYTES,))
    async def inspect(
        request: Request,
        name: Name,
        text: Guessed = None,
        label: Guessed = None,
        encoding: Encoding = "utf-8",
        header: GuessedHeader = None,
    ) -> Response:
        """Look into a file: its columns, its first rows, its labels."""
        return await Intake(service, request, name, None, encoding, header).look(text, label)

    @api.add("POST /v1/train", schemas.Job, 404, 409, 507, token=True, body=(BYTES,), status=202, kind="train")
    async def train(request: Request, read: Read = labelled) -> Response:
        """Learn the documents of files, all or none."""

        def work(job: Job) -> schemas.Changed:
            with read(job) as batches:
                job.total = batches.n_docs
                return service.writer.call(service.sign(request, served.learn_batches), batches, job.add)

        return service.start_change("train", work)

    @api.add("POST /v1/test", schemas.Job, 404, 409, 507, token=True, body=(BYTES,), status=202, kind="test")
    async def test(read: Read = labelled, report: bool = False) -> Response:
        """Measure how well the documents of files are predicted.

        Nothing is learned.

        Parameters
        ----------
        report
            Also make a page to keep, in the member report of the result.
        """

        def work(job: Job) -> dict[str, Any]:
            with read(job) as batches:
                return measure_batches(served.classifier, list(batches), report, job)

        return service.start_job(Job("test", None, is_private=True, is_owners=True), work)

    # --- what was done

    @api.add("GET /v1/log", schemas.Log, 422)
    async def log(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Annotated[int | None, Query(ge=1)] = None,
        after: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """Everything that was done to the classifier.

        Parameters
        ----------
        before
            Only changes before this number.
        after
            Only changes after this number.
        """

        call = call_of(request)

        def work() -> Response:
            found = served.classifier.history(before=before, after=after, limit=limit + 1)
            page = found[-limit:]
            changes = [_as_change(entry, _NOT_TOLD if call.is_owner else _NOT_TOLD | _PEOPLE) for entry in page[::-1]]
            more = page[0].number if len(found) > limit else None
            return answer(schemas.Log(changes=changes, next=more, joined=served.classifier.joined))

        return await call.room.lookups.run(work)

    @api.add("GET /v1/documents", schemas.Documents, 409, 413, 422, token=True)
    async def documents(
        request: Request,
        contains: Annotated[str | None, Query(max_length=1000)] = None,
        label: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        change: Annotated[int | None, Query(ge=1)] = None,
        begin: str | None = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        characters: Annotated[int, Query(ge=1)] = 500,
    ) -> Response:
        """Look through the documents, those that came last first.

        Parameters
        ----------
        contains
            A part of the text, in capital or small letters.
        since
            Learned first at this time or later.
        before
            Learned first before this time.
        change
            Only those that this change has learned, or changed: then with their labels before.
        begin
            Where the page begins: `next` of the page before it.
        characters
            So much of each text.
        """
        if limit * characters > _MOST_CHARACTERS:
            most = f"an answer has at most {_MOST_CHARACTERS:,} characters of texts"
            raise Problem("too-large", f"{most}: ask for fewer documents, or for less of each")

        def work() -> Response:
            own = served.named([label])[0]
            page = served.classifier.browse(
                contains, label=own, since=since, before=before, change=change, begin=begin, limit=limit
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
