"""Work in the background: its states, how it ends, how much of it there may be."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bunrui.errors import LabelError
from bunrui.service.errors import Problem
from bunrui.service.jobs import Job, Jobs
from tests.support.waiting import PATIENCE


def run(scenario: Callable[[Jobs], Awaitable[None]], **settings: float) -> None:
    async def main() -> None:
        jobs = Jobs("/somewhere/mail.bunrui", **settings)
        try:
            await scenario(jobs)
        finally:
            await asyncio.to_thread(jobs.close)

    asyncio.run(main())


async def over(*jobs: Job) -> list[str]:
    async with asyncio.timeout(PATIENCE):
        while not all(job.is_over for job in jobs):
            await asyncio.sleep(0.01)
    return [job.state for job in jobs]


class Work:
    """Work that takes until it is let go."""

    def __init__(self) -> None:
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self, job: Job) -> dict[str, Any]:
        self.has_begun.set()
        assert self.may_go_on.wait(PATIENCE)
        job.add(1)
        return {"answer": 42}


def test_done_failed_and_broken() -> None:
    def fail(job: Job) -> dict[str, Any]:
        raise LabelError("no such label in /somewhere/mail.bunrui")

    def break_down(job: Job) -> dict[str, Any]:
        raise ZeroDivisionError("a document")

    async def scenario(jobs: Jobs) -> None:
        work = Work()
        work.may_go_on.set()
        started = [Job("batch", 1) for _ in range(3)]
        for job, what in zip(started, (work, fail, break_down), strict=True):
            jobs.start(job, what)
            assert jobs.find(job.id) is job
        assert await over(*started) == ["done", "failed", "failed"]
        assert started[0].to_dict() == {
            "id": started[0].id,
            "kind": "batch",
            "state": "done",
            "progress": {"done": 1, "total": 1},
            "result": {"answer": 42},
        }
        failed, broken = started[1].to_dict()["problem"], started[2].to_dict()["problem"]
        assert (failed["status"], failed["detail"]) == (422, "no such label in mail.bunrui")
        assert broken["status"] == 500 and "a document" not in broken["detail"]

    run(scenario)


def test_a_problem_keeps_no_documents() -> None:
    """What a job came through to its problem would hold the file that was sent, for as long as it is remembered."""
    kept: list[weakref.ref[Job]] = []

    def fail(job: Job) -> dict[str, Any]:
        document = Job("a document", 1)
        kept.append(weakref.ref(document))
        try:
            document.cancel()
            document.add(1)
        except Exception as error:
            raise Problem("too-large", "cut it") from error
        return {}

    async def scenario(jobs: Jobs) -> None:
        job = Job("train", 1)
        jobs.start(job, fail)
        assert await over(job) == ["failed"]
        assert job.to_dict()["problem"]["status"] == 413
        async with asyncio.timeout(PATIENCE):  # until the thread has left what it came through
            while kept[0]() is not None:
                await asyncio.sleep(0.01)
                gc.collect()

    run(scenario)


def test_cancelled_while_it_runs_and_while_it_waits() -> None:
    async def scenario(jobs: Jobs) -> None:
        work = Work()
        running, waiting, last = Job("batch", 1), Job("batch", 1), Job("batch", 1)
        for job in (running, waiting, last):
            jobs.start(job, work)
        await asyncio.to_thread(work.has_begun.wait, PATIENCE)
        assert (running.state, waiting.state) == ("running", "waiting")
        waiting.cancel()
        assert waiting.state == "cancelled"
        running.cancel()
        work.may_go_on.set()
        assert await over(running, waiting, last) == ["cancelled", "cancelled", "done"]
        assert running.result is None
        last.cancel()
        assert last.state == "done"

    run(scenario)


def test_cancelling_calls_what_ends_it() -> None:
    job, called = Job("batch", 1), []
    job.ends_by(lambda: called.append("before"))
    job.cancel()
    job.ends_by(lambda: called.append("after"))
    assert called == ["before", "after"]


def test_who_never_asks_has_gone_but_what_writes_goes_on() -> None:
    async def scenario(jobs: Jobs) -> None:
        work = Work()
        reading, writing = Job("compare", 1), Job("train", 1, writes=True)
        for job in (reading, writing):
            jobs.start(job, work)
        work.may_go_on.set()
        assert await over(reading, writing) == ["cancelled", "done"]

    run(scenario, patience=0)


def test_who_asks_is_there() -> None:
    async def scenario(jobs: Jobs) -> None:
        work = Work()
        job = Job("compare", 1)
        jobs.start(job, work)
        before = job.asked = job.asked - 1e6
        assert jobs.find(job.id).asked > before
        work.may_go_on.set()
        assert await over(job) == ["done"]

    run(scenario)


def test_a_few_may_wait_and_the_last_are_remembered() -> None:
    async def scenario(jobs: Jobs) -> None:
        work = Work()
        started = [Job("batch", 1) for _ in range(5)]
        for job in started:
            jobs.start(job, work)
        with pytest.raises(Problem, match="4 jobs wait"):
            jobs.start(Job("batch", 1), work)
        assert jobs.pending == 5
        work.may_go_on.set()
        await over(*started)
        later = [Job("batch", 1) for _ in range(60)]
        for job in later:
            jobs.start(job, work)
            await over(job)
        with pytest.raises(Problem, match="long ago"):
            jobs.find(started[0].id)
        assert jobs.find(later[-1].id) is later[-1]

    run(scenario)


def test_jobs_of_strangers_keep_none_away_that_come_with_the_token() -> None:
    async def scenario(jobs: Jobs) -> None:
        strangers, owners = Work(), Work()
        owners.may_go_on.set()
        early = Job("audit", 1, is_owners=True)
        jobs.start(early, owners)
        await over(early)
        theirs = [Job("compare", 1) for _ in range(5)]
        for job in theirs:
            jobs.start(job, strangers)
        mine = Job("train", 1, is_owners=True)
        jobs.start(mine, owners)
        assert await over(mine) == ["done"]
        assert [job.is_over for job in theirs] == [False] * 5
        assert jobs.pending == 5
        strangers.may_go_on.set()
        await over(*theirs)
        for _ in range(60):
            job = Job("compare", 1)
            jobs.start(job, strangers)
            await over(job)
        assert jobs.find(early.id) is early

    run(scenario)


def test_closing_cancels_what_is_left_but_not_what_writes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "bunrui.service")

    async def scenario(jobs: Jobs) -> None:
        work = Work()
        running, waiting, writing = Job("batch", 1), Job("audit", 1), Job("train", 1, writes=True)
        for job in (running, waiting, writing):
            jobs.start(job, work)
        await asyncio.to_thread(work.has_begun.wait, PATIENCE)
        jobs.end()
        closing = asyncio.create_task(asyncio.to_thread(jobs.close))
        work.may_go_on.set()
        await closing
        assert await over(running, waiting, writing) == ["cancelled", "cancelled", "done"]
        told = [record.fields["kind"] for record in caplog.records if record.message == "job cancelled"]
        assert told == ["batch", "audit"]

    run(scenario, grace=PATIENCE)


def test_what_writes_ends_with_the_service_if_it_takes_long() -> None:
    async def scenario(jobs: Jobs) -> None:
        work = Work()
        job = Job("train", 1, writes=True)
        job.ends_by(work.may_go_on.set)
        jobs.start(job, work)
        await asyncio.to_thread(work.has_begun.wait, PATIENCE)
        await asyncio.to_thread(jobs.close)
        assert await over(job) == ["cancelled"]

    run(scenario, grace=0)
