"""`Service`: the parts that the routes share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from bunrui import __version__
from bunrui.service import bodies
from bunrui.service.jobs import Cancelled, Job, Jobs
from bunrui.service.limits import Lane, Room
from bunrui.service.logs import event
from bunrui.service.metrics import Metrics
from bunrui.service.problems import Problem, problem_of
from bunrui.service.security import JSON, Security
from bunrui.service.served import Served
from bunrui.service.settings import Settings
from bunrui.store import StoredClassifier

__all__ = ["GONE", "Service", "answer"]

R = TypeVar("R")
T = TypeVar("T", bound=BaseModel)

GONE = 499
"""The status of an answer that nobody waits for."""

_REFRESH_SECONDS = 1.0


class Service:
    """One classifier, and all that is needed to answer for it."""

    def __init__(self, classifier: StoredClassifier, settings: Settings) -> None:
        limits = settings.limits
        self.settings = settings
        self.served = Served(classifier)
        self.security = Security(settings)
        self.metrics = Metrics()
        self.writer = Lane("write", 1, limits.queue)
        self.rooms = {is_owner: Room(limits, self.writer) for is_owner in (True, False)}
        self.jobs = Jobs(classifier.path)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, also: Callable[[], object]) -> None:
        """Warm up, and then look after the file, beside the answering; `also` is called to be warm, too."""
        classifier, limits = self.served.classifier, self.settings.limits
        event(
            "start",
            version=__version__,
            file=classifier.path,
            documents=classifier.counts.n_docs,
            writable=self.settings.token is not None,
            limits=vars(limits),
        )
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._look_after(also))]

    async def _look_after(self, also: Callable[[], object]) -> None:
        try:
            await self.rooms[True].readers.run(also)
            await self.rooms[True].readers.run(self.served.warm_up)
            event("ready")
        except Exception as error:
            self.served.trouble = "it could not be made ready: the log says more"
            event("cannot get ready", logging.ERROR, error)
            return
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            await self._refresh()

    async def _refresh(self) -> None:
        before = self.served.trouble
        try:
            await self.writer.run(self.served.refresh)
        except Exception as error:
            if before is None and self.served.trouble is not None:
                event("the file cannot be read", logging.ERROR, error)

    async def stop(self) -> None:
        """Finish what is at work."""
        for task in self._tasks:
            task.cancel()
        self.jobs.close()
        for room in self.rooms.values():
            room.readers.close()
        self.writer.close()
        self.served.classifier.close()

    def room(self, request: Request) -> Room:
        """The room of who asks."""
        return self.rooms[request.scope["bunrui.is_owner"]]

    def stop_reading(self) -> None:
        """End the requests whose bodies have not come: nobody knows how long that would take."""
        for room in self.rooms.values():
            room.bodies.stop()

    def problem_of(self, error: Exception) -> Problem:
        """What a client is told of an error; the log tells more where nobody expected it."""
        problem = problem_of(error, self.served.classifier.path)
        if problem.kind == "internal":
            event("error", logging.ERROR, error, instance=problem.instance)
        return problem

    def check_warm(self) -> None:
        """Refuse to answer before all is loaded."""
        if not self.served.is_warm:
            raise Problem(
                "not-ready",
                "the service is starting: try again in a second, or a minute if it was never started before",
                headers={"Retry-After": "1"},
            )

    def check_ready(self) -> None:
        """Also that the file can be read."""
        if self.served.trouble is not None:
            raise Problem("not-ready", self.served.trouble)
        self.check_warm()

    def read(self, kind: type[T], request: Request) -> T:
        """The body of a request."""
        scope = request.scope
        return bodies.read(
            kind, scope["bunrui.head"], scope["bunrui.body"], scope["query_string"], self.settings.limits
        )

    def is_small(self, request: Request) -> bool:
        """Whether the body can be read at once."""
        return bodies.is_small(request.scope["bunrui.head"], request.scope["bunrui.body"])

    async def read_later(self, kind: type[T], request: Request) -> T:
        """The body of a request, on a thread if it is large."""
        if self.is_small(request):
            return self.read(kind, request)
        return await self.room(request).readers.run(self.read, kind, request)

    async def while_there(self, request: Request, work: Callable[[Job], R]) -> R | None:
        """What work gives that ends when the client leaves; None if it has left."""
        job = Job("request", None)
        working = asyncio.ensure_future(self.room(request).readers.run(work, job))
        leaving = asyncio.ensure_future(request.receive())  # the body has come: nothing else can
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                job.cancel()
            return await working
        except Cancelled:
            return None
        finally:
            job.cancel()
            leaving.cancel()
            working.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody else may ask for it

    async def read_given(self, kind: type[T], request: Request) -> T:
        """The same where a request may lack a body."""
        return await self.read_later(kind, request) if request.scope["bunrui.body"] else kind()


def answer(members: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(to_json(members, inf_nan_mode="null"), status, headers, JSON)
