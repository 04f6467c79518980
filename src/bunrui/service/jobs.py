"""Work in the background, with progress, and its routes."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from bunrui.service.admission import Lane
from bunrui.service.errors import Problem, problem_of
from bunrui.service.monitor import event

if TYPE_CHECKING:
    from bunrui.service import schemas
    from bunrui.service.schemas import Api
    from bunrui.service.service import Service

_MOST_WAITING = 4
_MOST_KEPT = 50
_OVER = ("done", "failed", "cancelled")


class Cancelled(Exception):  # noqa: N818
    """Nobody wants the result any more."""


class Job:
    """One piece of work.

    Attributes
    ----------
    id : str
        Who knows it may look at the job, and cancel it.
    is_private : bool
        Whether its result shows documents.
    state : {"waiting", "running", "done", "failed", "cancelled"}
    done, total : int
        Documents; the total is None where that is not known.
    writes : bool
        Whether it changes the classifier: then it is done before the service stops, if that does not take long.
    is_owners : bool
        Whether it was started with the token.
    is_cancelled : bool
        Whether it is to end.
    asked : float
        When somebody last asked for it, by `time.monotonic`.
    """

    def __init__(
        self, kind: str, total: int | None, *, writes: bool = False, is_private: bool = False, is_owners: bool = False
    ) -> None:
        self.id = secrets.token_urlsafe(12)
        self.kind: Any = kind
        self.state: schemas.State = "waiting"
        self.done = 0
        self.total = total
        self.writes = writes
        self.is_private = is_private
        self.is_owners = is_owners
        self.result: dict[str, Any] | None = None
        self.problem: Problem | None = None
        self.asked = time.monotonic()
        self.is_cancelled = False
        self._end: Callable[[], None] = lambda: None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in _OVER

    def add(self, n_docs: int) -> None:
        """So many more documents are done; the way out of a job that was cancelled."""
        self.done += n_docs
        if self.is_cancelled:
            raise Cancelled

    def cancel(self) -> None:
        """Stop soon; a job that is over stays as it is."""
        self.is_cancelled = True
        if self.state == "waiting":
            self.state = "cancelled"
        self._end()

    def ends_by(self, end: Callable[[], None]) -> None:
        """What to call when it is cancelled, to have it end at once."""
        self._end = end
        if self.is_cancelled:
            end()

    def to_dict(self) -> schemas.Job:
        """As JSON has it."""
        members: schemas.Job = {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "progress": {"done": self.done, "total": self.total},
        }
        if self.result is not None:
            members["result"] = self.result
        if self.problem is not None:
            members["problem"] = self.problem.to_dict()
        return members


class Jobs:
    """The jobs of a service: one runs, a few wait, the last ones are remembered.

    That holds for those that were started with the token, and again for those of strangers.

    Parameters
    ----------
    path : str
        Of the classifier.
    patience : float
        Seconds after which a job that only reads is cancelled if nobody asks for it: who wanted it has gone.
    grace : float
        Seconds that a job that writes has to end when the service does.
    """

    def __init__(self, path: str, *, patience: float = 300, grace: float = 5) -> None:
        self._path = path
        self._patience = patience
        self._grace = grace
        self._late: threading.Timer | None = None
        # Those that were cancelled wait, too.
        self._lanes = {is_owners: Lane("jobs", 1, 2 * _MOST_WAITING) for is_owners in (True, False)}
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def pending(self) -> int:
        """Jobs that run or wait."""
        return sum(not job.is_over for job in self._jobs.values())

    def start(self, job: Job, work: Callable[[Job], dict[str, Any]]) -> None:
        """Have a job done."""
        alike = [known for known in self._jobs.values() if known.is_owners == job.is_owners]
        over = [known.id for known in alike if known.is_over]
        if len(alike) - len(over) > _MOST_WAITING or self._lanes[job.is_owners].is_full:
            raise Problem.busy(f"{_MOST_WAITING} jobs wait already")
        for id in over[: max(0, len(over) - _MOST_KEPT)]:
            del self._jobs[id]
        self._jobs[job.id] = job
        if not job.writes:
            self._look_after(job)
        task = asyncio.get_running_loop().create_task(self._run(job, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _look_after(self, job: Job) -> None:
        left = job.asked + self._patience - time.monotonic()
        if left > 0:
            asyncio.get_running_loop().call_later(left, self._look_after, job)
        else:
            self._cancel(job)

    async def _run(self, job: Job, work: Callable[[Job], dict[str, Any]]) -> None:
        try:
            await self._lanes[job.is_owners].run(_work, job, work)
        except Cancelled:
            job.state = "cancelled"
        except Exception as error:
            job.problem = problem_of(error, self._path)
            job.state = "failed"
            if job.problem.kind == "internal":
                event("job failed", logging.ERROR, error, instance=job.problem.instance)
            # What it came through would keep the documents in memory.
            job.problem.__traceback__ = job.problem.__context__ = job.problem.__cause__ = None

    def find(self, id: str) -> Job:
        """The job with an id, which somebody asks for."""
        if id not in self._jobs:
            said = "there is no such job, or it was long ago: start another"
            raise Problem("not-found", said, cause="job-gone")
        self._jobs[id].asked = time.monotonic()
        return self._jobs[id]

    def end(self) -> None:
        """Cancel what is left, but what writes only if it takes long: who was told that it will be learned need not
        ask again."""
        self._cancel(*(job for job in self._jobs.values() if not job.writes))
        if self._late is None:
            self._late = threading.Timer(self._grace, lambda: self._cancel(*list(self._jobs.values())))
            self._late.start()

    def close(self) -> None:
        """End, and wait until all is done."""
        self.end()
        for lane in self._lanes.values():
            lane.close()
        if self._late is not None:
            self._late.cancel()

    def _cancel(self, *jobs: Job) -> None:
        for job in jobs:
            if not job.is_over and not job.is_cancelled:
                event("job cancelled", kind=job.kind, done=job.done, total=job.total)
                job.cancel()


def _work(job: Job, work: Callable[[Job], dict[str, Any]]) -> None:
    job.add(0)  # cancelled while it waited
    job.state = "running"
    job.result = work(job)
    job.state = "done"


# --- routes


def add_jobs(api: Api, service: Service) -> None:
    """Add the routes."""
    from bunrui.service.schemas import Job as Answer  # not above: processes that have a job begin 0.2 s sooner
    from bunrui.service.schemas import answer

    def find(id: str, request: Request) -> Job:
        """A job; who must know the token to start it must know it here, too."""
        job = service.jobs.find(id)
        if job.writes or job.is_private:
            service.security.check_token(request.scope["bunrui.call"].head)
        return job

    async def state(id: str, request: Request) -> Response:
        """How far work is, and its result."""
        return answer(find(id, request).to_dict())

    async def cancel(id: str, request: Request) -> Response:
        """Cancel work."""
        job = find(id, request)
        job.cancel()
        return answer(job.to_dict())

    for path in ("/v1/evaluate/{id}", "/v1/jobs/{id}"):
        api.add(f"GET {path}", Answer, 401, 404, 422)(state)
        api.add(f"DELETE {path}", Answer, 401, 404, 422)(cancel)
