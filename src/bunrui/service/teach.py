"""Routes to teach: documents without labels come one after the other, for one or several people, and are learned.

POST /v1/teach            a file of documents ──► the pool, which is kept beside the classifier, in a file named *.pool
GET  /v1/teach            how far it is
POST /v1/teach/next       the next questions; what one client was given, no other gets
POST /v1/teach/answer     the labels of a document, or that it is skipped
POST /v1/teach/undo       take an answer back; only the client that gave it may
POST /v1/teach/unlabelled use the documents as texts without a label, too
GET  /v1/teach/progress   the accuracy, its curve, and how many answers a wish takes

An answer is in the classifier's file before it is confirmed, which waits for the disk.  So a client asks for its next
questions before it needs them, and the service makes some before anybody asks (docs/decisions/035).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Annotated, Any

import pyarrow as pa
from fastapi import Query, Request, Response
from starlette.background import BackgroundTask

from bunrui.engines.labelgroups import check_new, label_sets
from bunrui.errors import BunruiError
from bunrui.evaluation.crossvalidation import CurvePoint
from bunrui.labels import given_labels, plain, type_of
from bunrui.selection import Question, Queue, queue
from bunrui.service import schemas
from bunrui.service.admission import BYTES
from bunrui.service.errors import Problem
from bunrui.service.intake import BodyName, Column, Encoding, Header, Ids, Intake, SkipBad
from bunrui.service.jobs import Job
from bunrui.service.schemas import Api, answer
from bunrui.service.service import Served, Service, call_of
from bunrui.store.creation import temporary_beside
from bunrui.views.evaluation import learning_chart

_SUFFIX = ".pool"
_MOST_READY = 4
_MOST_OUT = 1000  # questions that clients have, and may never answer
_MOST_LABELS = 10_000
_CHARACTERS = 20_000
"""Of a document that is shown."""


class Teaching:
    """The queue of a service, and who was given which question."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._lock = Lock()
        self._queue: Queue | None = None
        self._name, self._labels = "", list[str]()
        # Who was given which question, by digest; those of the client that asked last stand last.
        self._out: dict[str, tuple[str, Question]] = {}
        self._ready: list[Question] = []  # for nobody yet
        self._learned: dict[str, tuple[str | None, Question, Any]] = {}  # who has given which answer, by digest
        self._measured: tuple[Any, schemas.TaughtProgress] | None = None

    @property
    def _path(self) -> str:
        return self._served.classifier.path + _SUFFIX

    def at_hand(self) -> Queue | None:
        """The queue, if it is in memory, and knows what the classifier of the service has learned."""
        known = self._queue
        is_ours = known is not None and known.classifier is self._served.classifier and known.is_current
        return known if is_ours else None

    # On the one thread that writes

    def begin(self, name: str, labels: Sequence[Any], texts: pa.Array) -> schemas.Taught:
        """Take other documents, and keep them beside the classifier."""
        table = pa.table({"text": texts}).replace_schema_metadata({"name": name, "labels": json.dumps(list(labels))})
        try:
            with temporary_beside(self._path) as temporary:
                _write(table, temporary)
                os.replace(temporary, self._path)
        except OSError as error:
            said = f"the documents cannot be kept beside the classifier: {error.strerror}"
            raise Problem("no-room", said, cause="pool-unwritable") from error
        self._replace(None, "", [])
        return self.state()

    def end(self) -> schemas.Taught:
        """Let go of the documents; what was learned stays."""
        with suppress(FileNotFoundError):
            os.remove(self._path)
        self._replace(None, "", [])
        return self.state()

    def open(self) -> Queue | None:
        """The queue, up to date; None where there are no documents."""
        self._served.refresh()
        known = self._queue
        if known is not None and known.classifier is self._served.classifier:
            if not known.is_current:
                known.catch_up()
            return known
        if not os.path.exists(self._path):
            return None
        try:
            with pa.OSFile(self._path) as file, pa.ipc.open_file(file) as reader:
                table = reader.read_all()
            about, texts = table.schema.metadata or {}, table["text"].combine_chunks()
            name, labels = about[b"name"].decode(), json.loads(about[b"labels"])
            labels = given_labels(labels, self._served.classifier.label_type)
            check_new(labels)
        except (pa.ArrowException, OSError, ValueError, KeyError, BunruiError) as error:
            name = os.path.basename(self._path)
            said = f"{name} is damaged: send the documents again"
            raise Problem("conflict", said, cause="damaged-pool", file=name) from error
        opened = queue(self._served.classifier, texts)
        labels += [label for label in self._served.labels() if label not in labels]  # answers do not change the order
        self._replace(opened, name, labels)
        return opened

    def _replace(self, asked: Queue | None, name: str, labels: list[Any]) -> None:
        with self._lock:
            self._queue, self._name, self._labels = asked, name, labels
            self._out.clear()
            self._ready.clear()
            self._learned.clear()

    def needed(self) -> Queue:
        """The queue, or a problem where there is none."""
        found = self.open()
        if found is None:
            said = "there are no documents to teach with: send a file to /v1/teach first"
            raise Problem("not-found", said, cause="no-pool")
        return found

    def state(self) -> schemas.Taught:
        """How far it is."""
        asked = self.open()
        if asked is None:
            return schemas.Taught(name="", documents=0, answers=0, left=0, skipped=0, copies=0, blank=0, labels=[])
        known = self._served.labels()
        return {
            "name": self._name,
            "documents": asked.n_docs,
            "answers": len(asked.answers),
            "left": len(asked),
            "skipped": asked.n_skipped,
            "copies": asked.n_copies,
            "blank": asked.n_blank,
            "labels": [*self._labels, *(label for label in known if label not in self._labels)][:_MOST_LABELS],
        }

    def answer(self, body: schemas.Answer) -> schemas.Answered:
        """Learn an answer: the labels of a document.  Without labels it is skipped."""
        asked = self.needed()
        # After a restart, nobody knows who was given the question, and which guess came with it.
        given_to, question = self._out.get(body.digest) or (None, asked.question(body.digest))
        client = given_to if body.client is None else body.client
        is_learned = False
        if body.labels is None:
            asked.skip(question)
        else:
            # Before the first label of the file, those that were named for keys say which type is meant.
            kind = self._served.classifier.label_type or type_of(self._labels)
            labels = list(dict.fromkeys(given_labels(body.labels, kind)))
            check_new(labels)
            is_learned = asked.answer(question, labels if len(labels) > 1 else labels[0])
            self._labels += [label for label in labels if is_learned and label not in self._labels]
        has = asked.answer_to(question)
        with self._lock:
            self._out.pop(body.digest, None)
            if is_learned:
                self._learned[body.digest] = client, question, has
        return {
            "learned": is_learned,
            "labels": has if isinstance(has, list) else [] if has is None else [has],
            "transaction": self._served.classifier.last_seen if is_learned else None,
            "changed": int(is_learned),
            "answers": len(asked.answers),
            "left": len(asked),
        }

    def undo(self, body: schemas.TakeBack) -> schemas.TakenBack:
        """Take an answer back.

        The question goes to the client that has answered it, and nobody else may undo it.
        """
        asked = self.needed()
        known = self._learned.get(body.digest)
        client, question, given = known or ("", asked.question(body.digest), None)
        has = asked.answer_to(question)
        if has is not None and (client not in (None, body.client) or has != given):
            said = "this answer is somebody else's: look it up in the history, and undo it there"
            raise Problem("conflict", said, cause="not-yours")
        is_undone = asked.undo(question)
        if is_undone:
            with self._lock:
                del self._learned[body.digest]
                self._out[question.digest] = body.client, question
        return {"changed": int(is_undone), "question": _as_dict(question), "answers": len(asked.answers)}

    def use_unlabelled(self) -> schemas.Changed:
        """Use the documents as texts without a label, too."""
        asked = self.needed()
        pool = self._served.classifier.memory.pool
        before = len(pool)
        asked.use_unlabelled()
        return self._served.changed(len(pool) - before)

    # On any thread

    def make_ready(self) -> None:
        """Make some questions before anybody asks."""
        while (asked := self.at_hand()) is not None and len(self._ready) < _MOST_READY:
            question = asked.ask()
            with self._lock:
                if question is None or self._queue is not asked:
                    return
                self._ready.append(question)

    def hand_out(
        self, client: str, n: int, *, again: bool = False, at_once: bool = False
    ) -> list[schemas.Question] | None:
        """The questions of a client: those that it was given before, and new ones; None where no queue is at hand.

        With `at_once`, also None where questions have to be made first: that takes a thread.
        """
        if not self._lock.acquire(blocking=not at_once):
            return None
        try:
            asked = self.at_hand()
            if asked is None:
                return None
            if again:
                asked.ask_again(skipped=True)
            self._ready = [question for question in self._ready if asked.is_open(question)]
            given = [(owner, question) for owner, question in self._out.values() if asked.is_open(question)]
            mine = [question for owner, question in given if owner == client]
            others = [(owner, question) for owner, question in given if owner != client]
            if at_once and len(mine) + len(self._ready) < n:
                return None
            while len(mine) < n:
                question = self._ready.pop(0) if self._ready else None
                if question is None and len(given) < _MOST_OUT:
                    question = asked.ask()
                if question is None and not others:
                    break
                # When there are no more, this client gets what another has had longest: that one may have left.
                mine.append(question or others.pop(0)[1])
            self._out = {question.digest: (owner, question) for owner, question in others}
            self._out |= {question.digest: (client, question) for question in mine}
            return [_as_dict(question) for question in mine[:n]]
        finally:
            self._lock.release()

    def progress(self, asked: Queue, wish: float) -> schemas.TaughtProgress:
        """How good the classifier is; measured again when the classifier or an answer has changed."""
        version = asked, self._served.classifier.state, len(asked.answers), len(asked), asked.n_agreed, wish
        known = self._measured
        if known is not None and known[0] == version:
            return known[1]
        curve = asked.curve()
        estimate, forecast, low, high, html = None, None, None, None, ""
        if curve.answers:
            estimate, forecast = curve.points[-1][1], curve.forecast(wish)
            low, high = estimate.interval
            html = learning_chart(
                [CurvePoint(n, one.accuracy, *one.interval) for n, one in curve.points], has_band=True
            )
        found: schemas.TaughtProgress = {
            "answers": len(asked.answers),
            "left": len(asked),
            "guessed": asked.n_guessed,
            "agreed": asked.n_agreed,
            "trained": asked.classifier.needs_documents,
            "sample": estimate.n if estimate else 0,
            "accuracy": estimate.accuracy if estimate else None,
            "low": low,
            "high": high,
            "forecast": None
            if forecast is None
            else {"likely": forecast.likely, "low": forecast.low, "high": forecast.high},
            "html": html,
        }
        self._measured = version, found
        return found


def _as_dict(question: Question) -> schemas.Question:
    return {
        "digest": question.digest,
        "text": question.text[:_CHARACTERS],
        "cut": max(0, len(question.text) - _CHARACTERS),
        "random": question.is_random,
        "guess": None if question.guess is None else plain(question.guess),
        "probability": question.probability,
    }


def _write(table: pa.Table, path: str) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        with pa.ipc.new_file(file, table.schema, options=options) as writer:
            writer.write_table(table)
        file.flush()
        os.fsync(file.fileno())


def add_teach(api: Api, service: Service) -> None:
    """Add the routes."""
    teaching, writer = Teaching(service.served), service.writer

    async def opened() -> Queue:
        """The queue; who finds it in memory does not wait for the thread that writes."""
        known = teaching.at_hand()
        return await writer.run(teaching.needed) if known is None else known

    @api.add("GET /v1/teach", schemas.Taught, 409, token=True)
    async def state(request: Request) -> Response:
        """How far teaching is."""
        return answer(await call_of(request).room.lookups.run(teaching.state))

    @api.add("POST /v1/teach", schemas.Job, 404, 409, 507, token=True, body=(BYTES,), status=202)
    async def begin(
        request: Request,
        name: BodyName = "",
        file: Ids = None,
        text: Column = None,
        labels: Annotated[str, Query(max_length=3_000)] = "[]",
        encoding: Encoding = "utf-8",
        skip_bad: SkipBad = False,
        header: Header = True,
    ) -> Response:
        """Take documents to teach with.

        Parameters
        ----------
        labels
            Names of labels in the order of keys, as a JSON list.
        """
        names = _names(labels, service.served.classifier.label_type)
        intake = Intake(service, request, name, file, encoding, header)

        def work(job: Job) -> dict[str, Any]:
            with intake.batches(job, text, None, skip_bad, False) as batches:
                columns = [batch["text"] for batch in batches]
            if not columns or pa.types.is_nested(columns[0].type):
                said = f"{intake.name} has no texts to show: give a file with texts"
                raise Problem("invalid", said, cause="no-texts", file=intake.name)
            job.total = sum(map(len, columns))
            return dict(writer.call(teaching.begin, intake.name, names, pa.concat_arrays(columns)))

        return service.start_job(Job("teach", None, is_private=True, is_owners=True), work)

    @api.add("DELETE /v1/teach", schemas.Taught, 409, token=True)
    async def end() -> Response:
        """Let go of the documents; what was learned stays."""
        return answer(await writer.run(teaching.end))

    @api.add("POST /v1/teach/next", schemas.Questions, 404, 409, token=True, body=schemas.Ask)
    async def ask(request: Request) -> Response:
        """The next questions."""
        body = await service.body(schemas.Ask, request)
        readers = call_of(request).room.readers
        found = None if body.skipped else teaching.hand_out(body.client, body.n, at_once=True)
        while found is None:  # again if somebody sends other documents at this moment
            await opened()
            found = await readers.run(teaching.hand_out, body.client, body.n, again=body.skipped)
        response = answer(schemas.Questions(questions=found))
        response.background = BackgroundTask(readers.run, teaching.make_ready)
        return response

    service.add_change(api, "/v1/teach/answer", teaching.answer, 404)
    service.add_change(api, "/v1/teach/undo", teaching.undo, 404)

    @api.add("POST /v1/teach/unlabelled", schemas.Changed, 404, 409, 422, 507, token=True)
    async def use_unlabelled(request: Request) -> Response:
        """Use the documents as texts without a label, too.

        At most 5,000 of them, at random; they count only where they help.  /v1/unlabelled/unlearn ends it.
        """
        return answer(await writer.run(service.sign(request, teaching.use_unlabelled)))

    @api.add("GET /v1/teach/progress", schemas.TaughtProgress, 404, 409, 422, token=True)
    async def progress(request: Request, wish: Annotated[float, Query(ge=0, le=1)] = 0.9) -> Response:
        """The accuracy on the documents, and its curve.

        Parameters
        ----------
        wish
            An accuracy: how many answers does it take?
        """
        asked = await opened()
        return answer(await call_of(request).room.readers.run(teaching.progress, asked, wish))


def _names(given: str, kind: type | None) -> list[Any]:
    try:
        names = json.loads(given)
    except (ValueError, RecursionError):
        names = None
    is_list = isinstance(names, list) and all(type(name) in (str, int, bool) for name in names)
    names = given_labels(names, kind) if is_list else None
    if names is None or len(set(map(type, names))) > 1:
        raise Problem("invalid", 'labels: this should be a JSON list of names, such as ["spam", "ham"]')
    check_new(label_sets(names, len(names), {}).labels)
    return list(dict.fromkeys(names))
