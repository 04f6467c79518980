"""`Service`: the classifier behind a service, which many threads read and one writes, and everything routes share."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ParamSpec, TypeVar, get_type_hints

from fastapi import Request, Response

from bunrui import __version__, store
from bunrui.calibration import Calibration
from bunrui.classifier import AnyClassifier
from bunrui.counts import Label
from bunrui.engines.stream import texts_of
from bunrui.errors import BunruiError
from bunrui.labels import given_labels
from bunrui.models import AUTO, MODELS, TRAINED
from bunrui.selection.calibrate import check_reads_no_pool
from bunrui.service import Settings, requests, schemas
from bunrui.service.admission import Call, Lane, Room, Security, author_of
from bunrui.service.errors import Problem, problem_of
from bunrui.service.jobs import Cancelled, Job, Jobs
from bunrui.service.monitor import Metrics, event
from bunrui.service.spool import Files
from bunrui.store import StoredClassifier

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=schemas.Body)

GONE = 499
"""The status of an answer that nobody waits for."""

_QUICK = 0.005
_REFRESH_SECONDS = 1.0


class Served:
    """One classifier.

    Attributes
    ----------
    classifier : StoredClassifier
    trouble : str or None
        Why the file cannot be read; answers come from the memory then.
    """

    def __init__(self, classifier: StoredClassifier) -> None:
        self.classifier = classifier
        self.trouble: str | None = None
        self._models: dict[str, StoredClassifier] = {}
        self._answered: dict[int, tuple[tuple[Any, ...], float]] = {}

    # Reading

    def reading(self, model: str | None) -> StoredClassifier:
        """The classifier as a model reads it."""
        if model is None or model == self.classifier.model:
            return self.classifier
        if model not in MODELS:
            raise Problem("invalid", _why_not(model, self.classifier.model))
        if model not in self._models:
            self._models[model] = self.classifier.with_model(model)
        return self._models[model]

    def is_at_hand(self, classifier: AnyClassifier) -> bool:
        """Whether the next answer to a short question is quick.

        It is, unless somebody is writing, or something was learned since the last answer by a model that then has to
        look at all words: `wcnb` and `bernoulli` take 50 ms for a million of them, the others less than 1; with texts
        without a label, any model takes longer.  Only a hint: who believes it wrongly waits a little.
        """
        known = self._answered.get(id(classifier))
        if classifier.memory.lock.is_wanted_to_write or known is None:
            return False
        has_pool = classifier.pool_weight is not None and classifier.pool_weight.weight > 0
        return known[0] == version(classifier) or (known[1] < _QUICK and not has_pool)

    def has_answered(self, classifier: AnyClassifier, version: tuple[Any, ...], seconds: float) -> None:
        """A short question was answered from this version, in so much time of the processor."""
        known = self._answered.get(id(classifier))
        if known is None or known[0] != version:  # else what takes the time had been done before
            self._answered[id(classifier)] = version, seconds

    def labels(self) -> dict[Label, int]:
        """Documents by label, sorted."""
        with self.classifier.memory.lock.read():
            return {label: n_docs for label, (n_docs, _, _) in self.classifier.counts.class_totals().items()}

    def named(self, labels: Any) -> Any:
        """The labels of a request in the type that those of the file have: a page knows strings alone."""
        return given_labels(labels, self.classifier.label_type)

    # On the one thread that writes

    def refresh(self) -> None:
        """Take in what other processes wrote."""
        try:
            self._follow()
            self._catch_up()
            self.trouble = None
        except (Problem, BunruiError, OSError) as error:
            self.trouble = problem_of(error, self.classifier.path).detail
            raise

    def _catch_up(self) -> None:
        if self.classifier.refresh():
            self._forget_models()

    def _follow(self) -> None:
        """Go on with the file that has the name now, if it is another one."""
        old = self.classifier
        if old.is_in_place:
            return
        name = os.path.basename(old.path)
        if not os.path.exists(old.path):
            raise Problem("not-ready", f"{name} was moved away: put it back, or another classifier in its place")
        self.classifier = store.open(old.path, read_only=old.is_read_only)
        self.classifier.author = old.author
        self._forget_models()
        old.close()
        event("the file was replaced", file=old.path, documents=self.classifier.counts.n_docs)

    def _forget_models(self) -> None:
        self._models = {}
        self._answered = {}

    @contextmanager
    def signed(self, author: str | None) -> Iterator[None]:
        """A block that changes the file that has the name now; by somebody, or by the author of the service."""
        self._follow()
        own = self.classifier.author
        self.classifier.author = author or own
        try:
            yield
        finally:
            self.classifier.author = own  # it may be another file by now

    def learn(self, body: schemas.Learn) -> schemas.Changed:
        """Learn documents, all or none of them."""
        with self.classifier.learning() as session:
            session.add(body.texts, self.named(body.labels), ids=body.ids)
        return {**self.changed(session.n_docs), "duplicates": session.n_duplicates}

    def learn_batches(self, batches: Iterable[Any], is_done: Callable[[int], None]) -> schemas.Changed:
        """Learn batches of documents as `bunrui.documents.read` gives them; `is_done` is told how many are."""
        with self.classifier.learning() as session:
            for batch in batches:
                session.add(texts_of(batch), batch["label"], ids=batch["id"], sources=batch["source"])
                is_done(batch.num_rows)
        return {**self.changed(session.n_docs), "duplicates": session.n_duplicates}

    def unlearn(self, body: schemas.Unlearn) -> schemas.Changed:
        """Take documents back, as if they had never been learned."""
        if body.texts is not None:
            self.classifier.unlearn(body.texts, self.named(body.labels))
            return self.changed(len(body.texts))
        self._catch_up()
        before = self.classifier.counts.n_docs
        self.classifier.unlearn(ids=body.ids, digests=body.digests)
        return self.changed(before - self.classifier.counts.n_docs)

    def learn_unlabelled(self, body: schemas.Unlabelled) -> schemas.Changed:
        """Take in texts without a label, to help where labels are few."""
        before = self._n_unlabelled()
        self.classifier.learn_unlabelled(body.texts or ())
        return self.changed(len(self.classifier.memory.pool) - before)

    def unlearn_unlabelled(self, body: schemas.Unlabelled) -> schemas.Changed:
        """Take texts without a label back, by default all."""
        before = self._n_unlabelled()
        self.classifier.unlearn_unlabelled(body.texts)
        return self.changed(before - len(self.classifier.memory.pool))

    def _n_unlabelled(self) -> int:
        """How many texts without a label the file has now."""
        self._catch_up()
        return len(self.classifier.memory.pool)

    def relabel(self, body: schemas.Relabel) -> schemas.Changed:
        """Give documents that were learned another label."""
        to = self.named([body.to])[0]
        n_docs = self.classifier.relabel(to, texts=body.texts, ids=body.ids, digests=body.digests)
        return self.changed(n_docs)

    def undo(self, body: schemas.Undo) -> schemas.Undone:
        """Take the last change back, or all after one."""
        if body.to is None:
            kind, n_docs = self.classifier.undo(last=body.transaction)
            n_changes = 1
        else:
            taken = self.classifier.undo_to(body.to, last=body.transaction)
            kind, n_docs, n_changes = taken[0].kind, sum(entry.n_docs for entry in taken), len(taken)
        self._forget_models()  # it may have been a change of the options
        n_left = self.classifier.counts.n_docs
        return {"undone": kind, "changes": n_changes, "changed": n_docs, "documents": n_left}

    def set_model(self, model: str) -> schemas.Changed:
        """Read the counts by another model from now on."""
        return self._reread(self.classifier.configure, model=model)

    def choose(self, metric: str | None) -> schemas.Changed:
        """Choose anew what auto stands for."""
        return self._reread(self.classifier.choose, metric)

    def calibrate(self, calibration: Calibration) -> schemas.Changed:
        """Take on a calibration."""
        check_reads_no_pool(self.classifier)
        return self._reread(self.classifier.set_calibration, calibration)

    def _reread(self, change: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> schemas.Changed:
        """Make a change of no documents; the answers of before are no longer those of the file."""
        before = self.classifier.last_change
        change(*args, **kwargs)
        self._forget_models()
        now, chosen = self.classifier.last_change, self.classifier.model_
        number = now if now > before else None
        told: schemas.Changed = {"transaction": number, "changed": 0, "documents": self.classifier.counts.n_docs}
        if chosen is not None:
            told["choice"] = chosen.describe()
        return told

    def changed(self, n_docs: int) -> schemas.Changed:
        """The answer to a change of some documents."""
        return {
            "transaction": self.classifier.last_seen if n_docs else None,
            "changed": n_docs,
            "documents": self.classifier.counts.n_docs,
        }


def _why_not(model: str, own: str) -> str:
    """Why counts are not read by a model, and what to do."""
    if model == AUTO:
        how = "leave model out, or have the file choose by POST /v1/set"
        return f"auto is how a file chooses its model, and this file answers by {own}: {how}"
    if model in TRAINED:
        how = "set it for the file by POST /v1/set, and leave model out"
        return f"{model} is trained from documents, so a single request cannot ask for it: {how}"
    return f"there is no model {model!r} to read counts by: choose one of {', '.join(MODELS)}"


def version(classifier: AnyClassifier) -> tuple[Any, ...]:
    """Changes whenever something is learned."""
    counts = classifier.counts
    return id(counts), counts.version, classifier.memory.pool.key


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
        self.files = Files(limits.file)
        self._looking: asyncio.Task[None]

    def start(self, load: Callable[[], object]) -> None:
        """Load what is made once, and then look after the file, beside the answering."""
        classifier, is_writable = self.served.classifier, self.settings.token is not None
        known: dict[str, Any] = {"file": classifier.path, "documents": classifier.counts.n_docs}
        event("start", version=__version__, **known, writable=is_writable, limits=vars(self.settings.limits))
        self._looking = asyncio.get_running_loop().create_task(self._look_after(load))

    async def _look_after(self, load: Callable[[], object]) -> None:
        try:
            await self.rooms[True].readers.run(load)
        except Exception as error:
            event("loading failed", logging.ERROR, error)
        # The objects that are loaded now stay.  All threads wait 0.1 s while Python looks for garbage among 165,000 of
        # them, and an explanation of a long text makes Python look several times.
        gc.collect()
        gc.freeze()
        event("ready")
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            self.files.sweep()
            before = self.served.trouble
            try:
                await self.writer.run(self.served.refresh)
            except Exception as error:
                if before is None and self.served.trouble is not None:
                    event("the file cannot be read", logging.ERROR, error)

    async def stop(self) -> None:
        """Finish what is at work."""
        self._looking.cancel()
        self.jobs.close()
        for room in self.rooms.values():
            room.readers.close()
        self.writer.close()
        self.files.close()
        self.served.classifier.close()

    def begin_stop(self) -> None:
        """End the requests whose bodies have not come, and have the jobs end, while others are still answered."""
        for room in self.rooms.values():
            room.bodies.stop()
        self.jobs.end()

    def problem_of(self, error: Exception) -> Problem:
        """What a client is told of an error; the log tells more where nobody expected it."""
        problem = problem_of(error, self.served.classifier.path)
        if problem.kind == "internal":
            event("error", logging.ERROR, error, instance=problem.instance)
        return problem

    def check_ready(self) -> None:
        """Refuse to answer while the file cannot be read."""
        if self.served.trouble is not None:
            raise Problem("not-ready", self.served.trouble)

    def start_job(self, job: Job, work: Callable[[Job], dict[str, Any]], place: str = "jobs") -> Response:
        """Have a job done; the answer says where to ask for it."""
        self.jobs.start(job, work)
        return schemas.answer(job.to_dict(), 202, {"Location": f"/v1/{place}/{job.id}"})

    def start_change(self, kind: str, work: Callable[[Job], schemas.Changed]) -> Response:
        """Have a job change the classifier."""

        def change(job: Job) -> dict[str, Any]:
            done = work(job)
            event("change", kind=kind, transaction=done["transaction"], documents=done["changed"])
            return dict(done)

        return self.start_job(Job(kind, None, writes=True, is_owners=True), change)

    async def body(self, kind: type[T], request: Request) -> T:
        """The body of a request; a large one is read on a thread."""
        call, query = call_of(request), request.scope["query_string"]
        read = partial(requests.read, kind, call.head, call.body, query, self.settings.limits)
        return read() if requests.is_small(call.head, call.body) else await call.room.readers.run(read)

    def sign(self, request: Request, work: Callable[P, R]) -> Callable[P, R]:
        """The same work, for the thread that writes; its changes say who made them, if the request does."""
        author = author_of(call_of(request).head)

        def signed(*args: P.args, **kwargs: P.kwargs) -> R:
            with self.served.signed(author):
                return work(*args, **kwargs)

        return signed

    def add_change(self, api: schemas.Api, path: str, work: Callable[[T], Any], *problems: int) -> None:
        """Add a route that changes the classifier; the annotations of the work are its body and its answer."""
        kinds = get_type_hints(work)

        async def change(request: Request) -> Response:
            done = await self.writer.run(self.sign(request, work), await self.body(kinds["body"], request))
            number = {"transaction": done["transaction"]} if "transaction" in done else {}
            event("change", kind=work.__name__, **number, documents=done["changed"])
            return schemas.answer(done)

        change.__name__, change.__doc__ = work.__name__, work.__doc__
        api.add(f"POST {path}", kinds["return"], 409, 507, *problems, token=True, body=kinds["body"])(change)

    async def while_there(self, request: Request, work: Callable[[Job], R]) -> R | None:
        """What work gives that ends when the client leaves; None if it has left."""
        job = Job("request", None)
        working = asyncio.ensure_future(call_of(request).room.readers.run(work, job))
        leaving = asyncio.ensure_future(_left(request))
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


async def _left(request: Request) -> None:
    """Wait until the client leaves; an empty body may come before that."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def call_of(request: Request) -> Call:
    """A request as the gate let it in."""
    call: Call = request.scope["bunrui.call"]
    return call
