"""Routes that measure, in the background: evaluate, mistakes, curve, compare, audit; and those that act on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from fastapi import Request, Response

from bunrui.calibration import Calibration
from bunrui.classifier import AnyClassifier
from bunrui.engines.stream import slices, texts_of
from bunrui.evaluation import Evaluation, Tally
from bunrui.evaluation.loo import best_thresholds
from bunrui.labels import as_list, given_labels
from bunrui.models import kind_of
from bunrui.selection.calibrate import check_reads_no_pool
from bunrui.service import schemas
from bunrui.service.errors import Problem
from bunrui.service.jobs import Job
from bunrui.service.predict import MOST_BYTES
from bunrui.service.processes import study_apart
from bunrui.service.schemas import Api
from bunrui.service.service import Service, call_of
from bunrui.service.studies import leave_out, mistake_members, report_of, set_members, study, tells_sets
from bunrui.store import StoredClassifier
from bunrui.store.lifecycle import Document

_MOST_SCORES = 20_000_000  # documents times labels: 160 MB


def add_evaluate(api: Api, service: Service) -> None:
    """Add the routes."""
    served = service.served

    @api.add("POST /v1/evaluate", schemas.Job, 409, status=202, kind="leave-one-out", body=schemas.Evaluate)
    async def evaluate(request: Request) -> Response:
        """Measure how well documents are predicted whose labels are known.

        Without a body, or without texts: leave each document out that the file keeps, and predict it.
        """
        body = await service.body(schemas.Evaluate, request)
        classifier, is_owners = served.reading(body.model), call_of(request).is_owner
        if body.texts is not None:
            if len(body.texts) != len(body.labels or ()):
                raise Problem("invalid", f"there are {len(body.texts)} texts and {len(body.labels or ())} labels")
            job = Job("batch", len(body.texts), is_owners=is_owners)
            return service.start_job(job, lambda job: _predict_all(classifier, body, job), "evaluate")
        _check_leaves_out(served.classifier.keep, classifier.model)
        path = served.classifier.path
        job = Job("leave-one-out", classifier.counts.n_docs, is_owners=is_owners)
        return service.start_job(job, lambda job: study_apart(job, path, leave_out, body.model, body.html), "evaluate")

    def add_study(kind: schemas.OfFile, doc: str, body: type[schemas.Body] | None = None, token: bool = False) -> None:
        """Add a route that starts a study with the members of its body; one with the token shows documents."""

        async def start(request: Request) -> Response:
            given = () if body is None else vars(await service.body(body, request)).values()
            _check_keeps(served.classifier.keep)
            path = served.classifier.path
            job = Job(kind, None, is_private=token, is_owners=call_of(request).is_owner)
            return service.start_job(job, lambda job: study_apart(job, path, study, kind, *given))

        start.__name__, start.__doc__ = kind, doc
        api.add(f"POST /v1/{kind}", schemas.Job, 409, status=202, kind=kind, body=body or (), token=token)(start)

    add_study("mistakes", "Leave each document out, predict it, and show those that are wrong", schemas.Mistakes, True)
    add_study("curve", "Learn growing parts of the documents, and predict others")
    grows = "The result grows while it runs; progress counts measurements."
    add_study("compare", f"Measure all models on the documents\n\n{grows}", schemas.Compare)
    add_study("audit", "Find labels to look at again", schemas.Audit, True)

    # --- acting

    @api.add("POST /v1/set", schemas.Job, 409, status=202, kind="set", body=schemas.SetModel, token=True)
    async def set_model(request: Request) -> Response:
        """Read the counts by another model from now on.

        As `bunrui set --model` does; a model that is trained is trained now.
        """
        model = (await service.body(schemas.SetModel, request)).model
        kind_of(model)
        change = service.sign(request, served.set_model)
        return service.start_change("set", lambda _: service.writer.call(change, model))

    @api.add("POST /v1/choose", schemas.Job, 409, status=202, kind="choose", body=schemas.Choose, token=True)
    async def choose(request: Request) -> Response:
        """Choose anew the model that auto stands for.

        As `bunrui choose` does.
        """
        metric = (await service.body(schemas.Choose, request)).metric
        change = service.sign(request, served.choose)
        return service.start_change("choose", lambda _: service.writer.call(change, metric))

    @api.add("POST /v1/calibrate", schemas.Job, 409, status=202, kind="calibrate", token=True)
    async def calibrate(request: Request) -> Response:
        """Calibrate the probabilities.

        As `bunrui calibrate` does.
        """
        _check_keeps(served.classifier.keep)
        check_reads_no_pool(served.classifier)
        path, change = served.classifier.path, service.sign(request, served.calibrate)

        def work(job: Job) -> schemas.Changed:
            last = served.classifier.last_change
            found = Calibration.from_dict(study_apart(job, path, study, "calibrate"))
            return service.writer.call(change, replace(found, tx=last))

        return service.start_change("calibrate", work)


def _predict_all(classifier: AnyClassifier, body: schemas.Evaluate, job: Job) -> dict[str, Any]:
    known = classifier.classes_.tolist()
    tally, given = Tally(known), given_labels(body.labels or [], classifier.label_type)
    start = 0
    for part in slices(body.texts, len(known), MOST_BYTES):
        tally.add(given[start : start + len(part)], classifier.predict(part))
        start += len(part)
        job.add(len(part))
    return tally.metrics().to_dict()


def measure_batches(
    classifier: StoredClassifier, batches: list[pa.RecordBatch], report: bool, job: Job
) -> dict[str, Any]:
    """How well the documents of a file are predicted, as `find_mistakes` tells it of those that are learned."""
    known = classifier.classes_.tolist()
    job.total = sum(batch.num_rows for batch in batches)
    if job.total * len(known) > _MOST_SCORES:
        many = f"{job.total:,} documents and {len(known):,} labels are too many to be measured here"
        said = f"{many}: send a part of them, or use 'bunrui evaluate'"
        raise Problem("too-large", said, cause="measured", documents=job.total, labels=len(known))
    documents: list[Document] = []
    shares, odds = [], []
    true = [labels for batch in batches for labels in batch["label"].to_pylist()]
    has_sets = tells_sets(classifier, true)
    for batch in batches:
        texts = texts_of(batch)
        for part in slices(texts, len(known), MOST_BYTES):
            shares.append(classifier.predict_proba(part))
            if has_sets:
                odds.append(classifier.label_odds(part))
            job.add(len(part))
        listed = texts if isinstance(texts, list) else texts.to_pylist()
        rows = zip(batch["label"].to_pylist(), listed, strict=True)
        documents += [Document("", as_list(labels), "", None, None, text) for labels, text in rows]
    values = np.concatenate(shares)
    best = [known[k] for k in values.argmax(axis=1).tolist()]
    evaluation = Evaluation(true=true, predictions=best, probabilities=values, classes=known)
    members = mistake_members(evaluation, documents)
    members["unknown"] = sorted({label for one in documents for label in one.labels} - set(known))
    if has_sets:
        # The thresholds are those of the learned documents: chosen on the tested ones, they would flatter the figures.
        thresholds = best_thresholds(classifier) if classifier.keep == "text" else {}
        members["sets"] = set_members(true, known, np.concatenate(odds), thresholds)
    if report:
        texts = [document.text for document in documents]
        members["report"] = report_of(evaluation, texts, classifier, is_learned=False)
    return members


def _check_keeps(keep: str, hint: str = "learn into one that keeps texts") -> None:
    if keep != "text":
        raise Problem("conflict", f"the file keeps {keep} of its documents: {hint}", cause="keeps-none")


def _check_leaves_out(keep: str, model: str) -> None:
    hint = "send texts and labels to be predicted"
    _check_keeps(keep, hint)
    if kind_of(model).needs_documents:
        raise Problem("conflict", f"{model} would be trained for each document: {hint}", cause="trained-model")
