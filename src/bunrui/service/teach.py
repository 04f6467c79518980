"""Routes to teach: documents without labels come one after the other, for one or several people, and are learned.

POST /v1/teach            a file of documents ──► the pool, which is kept beside the classifier, in a file named *.pool
GET  /v1/teach            how far it is
POST /v1/teach/next       the next questions; what one client was given, no other gets
POST /v1/teach/answer     the labels of a document, or that it is skipped
POST /v1/teach/undo       take an answer back
GET  /v1/teach/progress   the accuracy, its curve, and how many answers a wish takes

An answer is in the classifier's file before it is confirmed, which waits for the disk.  So a client asks for its next
questions before it needs them: they are made ready on another thread, and `next` only hands them out.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Annotated, Any

import pyarrow as pa
from fastapi import FastAPI, Query, Request, Response
from starlette.background import BackgroundTask

from bunrui.engines.labelgroups import check_new
from bunrui.errors import BunruiError
from bunrui.evaluation.crossvalidation import CurvePoint
from bunrui.selection import Question, Queue, queue
from bunrui.service import schemas
from bunrui.service.errors import Problem
from bunrui.service.intake import BodyName, Column, Encoding, Header, Ids, Intake, SkipBad
from bunrui.service.jobs import Job
from bunrui.service.schemas import answer, describe
from bunrui.service.service import Served, Service, call_of
from bunrui.views.evaluation import learning_chart

_SUFFIX = ".pool"
_READY = 4
_MOST_CLIENTS = 100
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
        self._ready: deque[Question] = deque()
        self._out: dict[str, dict[str, Question]] = {}
        self._measured: tuple[Any, schemas.TaughtProgress] | None = None

    @property
    def _path(self) -> str:
        return self._served.classifier.path + _SUFFIX

    def at_hand(self) -> Queue | None:
        """The queue, if it is in memory, and its classifier is that of the service."""
        known = self._queue
        return known if known is not None and known.classifier is self._served.classifier else None

    # On the one thread that writes

    def begin(self, name: str, labels: Sequence[str], texts: pa.Array) -> schemas.Taught:
        """Take other documents, and keep them beside the classifier."""
        table = pa.table({"text": texts}).replace_schema_metadata({"name": name, "labels": json.dumps(list(labels))})
        try:
            _write(table, self._path)
        except OSError as error:
            raise Problem("no-room", f"the documents cannot be kept beside the classifier: {error.strerror}") from error
        self._queue = None
        return self.state()

    def end(self) -> schemas.Taught:
        """Let go of the documents; what was learned stays."""
        with suppress(FileNotFoundError):
            os.remove(self._path)
        with self._lock:
            self._queue, self._name, self._labels = None, "", []
            self._ready.clear()
            self._out.clear()
        return self.state()

    def open(self) -> Queue | None:
        """The queue, up to date; None where there are no documents."""
        known = self.at_hand()
        if known is not None:
            known.catch_up()
            return known
        if not os.path.exists(self._path):
            return None
        try:
            with pa.OSFile(self._path) as file, pa.ipc.open_file(file) as reader:
                table = reader.read_all()
            about, texts = table.schema.metadata or {}, table["text"].combine_chunks()
            name, labels = about[b"name"].decode(), json.loads(about[b"labels"])
            check_new(labels)
        except (pa.ArrowException, OSError, ValueError, KeyError, BunruiError) as error:
            raise Problem("conflict", f"{os.path.basename(self._path)} is damaged: send the documents again") from error
        opened = queue(self._served.classifier, texts)
        with self._lock:
            self._queue, self._name, self._labels = opened, name, labels
            self._ready.clear()
            self._out.clear()
        return opened

    def needed(self) -> Queue:
        """The queue, or a problem where there is none."""
        found = self.open()
        if found is None:
            raise Problem("not-found", "there are no documents to teach with: send a file to /v1/teach first")
        return found

    def state(self) -> schemas.Taught:
        """How far it is."""
        asked = self.open()
        if asked is None:
            return {"name": "", "documents": 0, "answers": 0, "left": 0, "skipped": 0, "labels": []}
        known = self._served.labels()
        return {
            "name": self._name,
            "documents": asked.n_docs,
            "answers": len(asked.answers),
            "left": len(asked),
            "skipped": asked.n_skipped,
            "labels": [*self._labels, *(label for label in known if label not in self._labels)][:_MOST_LABELS],
        }

    def answer(self, body: schemas.Answer) -> schemas.Answered:
        """Learn the labels of a document, or skip it."""
        asked = self.needed()
        question = self._question(asked, body.digest)
        is_learned = False
        if body.labels is None:
            asked.skip(question)
        else:
            labels = list(dict.fromkeys(body.labels))
            check_new(labels)
            is_learned = asked.answer(question, labels if len(labels) > 1 else labels[0])
            self._labels += [label for label in labels if is_learned and label not in self._labels]
        self._take_back(body.digest)
        has = asked.answers.get(question.row, [])
        return {
            "learned": is_learned,
            "labels": has if isinstance(has, list) else [has],
            "transaction": self._served.classifier.last_seen if is_learned else None,
            "changed": int(is_learned),
            "answers": len(asked.answers),
            "left": len(asked),
        }

    def undo(self, body: schemas.TakeBack) -> schemas.TakenBack:
        """Take an answer back; the question is given to who has answered it."""
        asked = self.needed()
        question = self._question(asked, body.digest)
        is_undone = asked.undo(question)
        if is_undone:
            with self._lock:
                self._given(body.client)[question.digest] = question
        return {"changed": int(is_undone), "question": _as_dict(question), "answers": len(asked.answers)}

    # On any thread

    def fill(self) -> None:
        """Make the next questions ready."""
        asked = self.at_hand()
        while asked is not None and len(self._ready) < _READY:
            question = next(asked, None)
            if question is None:
                return
            self._ready.append(question)

    def hand_out(self, asked: Queue, client: str, n: int, *, again: bool = False) -> list[schemas.Question]:
        """The questions of a client: those that it was given before, and new ones."""
        with self._lock:
            if again:
                asked.ask_again(skipped=True)
            return self._hand_out(asked, client, n)

    def hand_out_ready(self, asked: Queue, client: str, n: int) -> list[schemas.Question] | None:
        """The same at once; None where questions have to be made first: that takes a thread.

        While an answer is learned, the way to a thread and back took twice as long as all the rest.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            n_mine = sum(known.row not in asked.answers for known in self._out.get(client, {}).values())
            return self._hand_out(asked, client, n) if n_mine + len(self._ready) >= n else None
        finally:
            self._lock.release()

    def _hand_out(self, asked: Queue, client: str, n: int) -> list[schemas.Question]:
        mine = self._given(client)
        for digest in [digest for digest, known in mine.items() if known.row in asked.answers]:
            del mine[digest]
        while len(mine) < n:
            question = self._next(asked) or self._of_others(asked, client)
            if question is None:
                break
            mine[question.digest] = question
        return [_as_dict(question) for question in list(mine.values())[:n]]

    def _next(self, asked: Queue) -> Question | None:
        while self._ready:
            question = self._ready.popleft()
            if question.row not in asked.answers:
                return question
        return next(asked, None)

    def _of_others(self, asked: Queue, client: str) -> Question | None:
        """A question that another client has had longest: when there are no others, it may have left."""
        for other, given in self._out.items():
            for digest, question in list(given.items()):
                if other != client:
                    del given[digest]
                    if question.row not in asked.answers:
                        return question
        return None

    def _given(self, client: str) -> dict[str, Question]:
        mine = self._out.pop(client, {})
        while len(self._out) >= _MOST_CLIENTS:
            del self._out[next(iter(self._out))]
        self._out[client] = mine  # those who asked last stand last
        return mine

    def _question(self, asked: Queue, digest: str) -> Question:
        """A question as it was given, with its guess; or made anew, after a restart."""
        with self._lock:
            given = (known[digest] for known in self._out.values() if digest in known)
            return next(given, None) or asked.question(digest)

    def _take_back(self, digest: str) -> None:
        with self._lock:
            for known in self._out.values():
                known.pop(digest, None)

    def progress(self, asked: Queue, wish: float) -> schemas.TaughtProgress:
        """How good the classifier is; measured again when there are other answers."""
        version = id(asked), len(asked.answers), asked.n_agreed, wish
        known = self._measured
        if known is not None and known[0] == version:
            return known[1]
        curve = asked.curve()
        found: schemas.TaughtProgress = {
            "answers": len(asked.answers),
            "left": len(asked),
            "guessed": asked.n_guessed,
            "agreed": asked.n_agreed,
            "trained": asked.classifier.needs_documents,
            "sample": 0,
            "accuracy": None,
            "low": None,
            "high": None,
            "forecast": None,
            "html": "",
        }
        if curve.answers:
            _, estimate = curve.points[-1]
            points = [CurvePoint(n, one.accuracy, *one.interval) for n, one in curve.points]
            forecast = curve.forecast(wish)
            found |= {"sample": estimate.n, "accuracy": estimate.accuracy}
            found["low"], found["high"] = estimate.interval
            if forecast is not None:
                found["forecast"] = {"likely": forecast.likely, "low": forecast.low, "high": forecast.high}
            found["html"] = learning_chart(points, has_band=True)
        self._measured = version, found
        return found


def _as_dict(question: Question) -> schemas.Question:
    return {
        "digest": question.digest,
        "text": question.text[:_CHARACTERS],
        "cut": max(0, len(question.text) - _CHARACTERS),
        "random": question.is_random,
        "guess": None if question.guess is None else str(question.guess),
        "probability": question.probability,
    }


def _write(table: pa.Table, path: str) -> None:
    """Write a table so that it is there as a whole, or not at all."""
    descriptor, temporary = tempfile.mkstemp(prefix=os.path.basename(path), dir=os.path.dirname(path) or ".")
    try:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with os.fdopen(descriptor, "wb") as file:
            with pa.ipc.new_file(file, table.schema, options=options) as writer:
                writer.write_table(table)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.remove(temporary)
        raise


def add_teach(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    teaching, writer = Teaching(service.served), service.writer

    def describe_teaching(summary: str, answer: type, *problems: int, **more: Any) -> dict[str, Any]:
        return describe(summary, answer, 409, *problems, token=True, **more)

    async def opened() -> Queue:
        """The queue; who finds it in memory does not wait for the thread that writes."""
        known = teaching.at_hand()
        return await writer.run(teaching.needed) if known is None else known

    @app.get("/v1/teach", **describe_teaching("How far teaching is", schemas.Taught))
    async def state(request: Request) -> Response:
        return answer(await call_of(request).room.lookups.run(teaching.state))

    @app.post(
        "/v1/teach",
        **describe_teaching("Take documents to teach with", schemas.Job, 404, 507, is_file=True, status=202),
    )
    async def begin(
        request: Request,
        name: BodyName = "",
        file: Ids = None,
        text: Column = None,
        labels: Annotated[
            str, Query(max_length=3_000, description="Names of labels in the order of keys, as a JSON list.")
        ] = "[]",
        encoding: Encoding = "utf-8",
        skip_bad: SkipBad = False,
        header: Header = True,
    ) -> Response:
        names = _names(labels)
        intake = Intake(service, request, name, file, encoding, header)

        def work(job: Job) -> dict[str, Any]:
            batches = intake.batches(job, text, None, skip_bad, False)
            columns = [batch["text"] for batch in batches]
            if not columns or pa.types.is_nested(columns[0].type):
                raise Problem("invalid", f"{intake.name} has no texts to show: give a file with texts")
            job.total = sum(map(len, columns))
            return dict(writer.call(teaching.begin, intake.name, names, pa.concat_arrays(columns)))

        return service.start_job(Job("teach", None, is_private=True, is_owners=True), work)

    @app.delete("/v1/teach", **describe_teaching("Let go of the documents; what was learned stays", schemas.Taught))
    async def end() -> Response:
        return answer(await writer.run(teaching.end))

    @app.post("/v1/teach/next", **describe_teaching("The next questions", schemas.Questions, 404, body=schemas.Ask))
    async def ask(request: Request) -> Response:
        body, asked = await service.body(schemas.Ask, request), await opened()
        readers = call_of(request).room.readers
        found = None if body.skipped else teaching.hand_out_ready(asked, body.client, body.n)
        if found is None:
            found = await readers.run(teaching.hand_out, asked, body.client, body.n, again=body.skipped)
        response = answer(schemas.Questions(questions=found))
        response.background = BackgroundTask(readers.run, teaching.fill)
        return response

    @app.post(
        "/v1/teach/answer", **describe_teaching("Learn an answer", schemas.Answered, 404, 507, body=schemas.Answer)
    )
    async def learn(request: Request) -> Response:
        return await service.change(schemas.Answer, request, teaching.answer)

    @app.post(
        "/v1/teach/undo",
        **describe_teaching("Take an answer back", schemas.TakenBack, 404, 507, body=schemas.TakeBack),
    )
    async def undo(request: Request) -> Response:
        return await service.change(schemas.TakeBack, request, teaching.undo)

    @app.get(
        "/v1/teach/progress",
        **describe_teaching("The accuracy on the documents, and its curve", schemas.TaughtProgress, 404, 422),
    )
    async def progress(
        request: Request,
        wish: Annotated[float, Query(ge=0, le=1, description="An accuracy: how many answers does it take?")] = 0.9,
    ) -> Response:
        asked = await opened()
        return answer(await call_of(request).room.readers.run(teaching.progress, asked, wish))


def _names(given: str) -> list[str]:
    try:
        names = json.loads(given)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError
        check_new(names)
    except (ValueError, RecursionError):
        raise Problem("invalid", 'labels: this should be a JSON list of names, such as ["spam", "ham"]') from None
    return list(dict.fromkeys(names))
