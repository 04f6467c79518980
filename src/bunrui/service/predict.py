"""Routes that read: predict, explain and deliver; labels, words and info; and whether a token is right."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import accumulate
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from fastapi import Query, Request, Response

from bunrui import __version__
from bunrui.analysis.texts import normalise
from bunrui.classifier import AnyClassifier
from bunrui.counts import Label
from bunrui.deliver import deliver_mail, read_mail
from bunrui.engines.stream import rank, slices
from bunrui.models import MODELS
from bunrui.models.explain import hold
from bunrui.service import schemas
from bunrui.service.admission import ARROW
from bunrui.service.errors import Problem
from bunrui.service.processes import write_stream
from bunrui.service.schemas import Api, answer
from bunrui.service.service import Service, call_of, version
from bunrui.views.explanation import Explanation, explanation_html

Endpoint = Callable[[Request], Awaitable[Response]]

# Bytes of texts that are predicted on the event loop: going to a thread and back takes 0.1 ms, a message of 2 KB 0.15.
_INLINE = 32 << 10
_INLINE_SCORES = 10_000  # texts times labels: 8,000 short texts and 200 labels stopped the loop for 1.8 s

MAIL = "message/rfc822"

MOST_BYTES = 4 << 20
"""Bytes of texts that are scored at once: who waits to write, and all who ask after that, wait for one slice."""

_MOST_SHARES = 1_000_000
"""Labels with probabilities in one answer."""

# Characters, when they are folded, whose words are explained.  100,000 took 1.6 s of Python, in which everything else
# is slow; 100,000 times U+FDFA, which is 18 characters, took 3.4.
_MOST_EXPLAINED = 20_000


def add_predict(api: Api, service: Service) -> dict[str, Endpoint]:
    """Add the routes; those that are worth a shorter way, by path: docs/decisions/030."""
    served = service.served

    @api.add("POST /v1/predict", schemas.Predicted, 409, body=schemas.Predict)
    async def predict(request: Request) -> Response:
        """Predict the labels of documents."""
        call = call_of(request)
        respond = _to_arrow if ARROW.encode() in call.head.get(b"accept", b"") else answer
        body = await service.body(schemas.Predict, request)
        classifier = served.reading(body.model)
        is_short = len(call.body) <= _INLINE and len(body.texts) * len(classifier.counts.labels) <= _INLINE_SCORES
        if is_short and served.is_at_hand(classifier):
            return respond(predict_body(classifier, body))

        def work() -> Response:
            before, started = version(classifier), time.thread_time()
            found = predict_body(classifier, body)
            if is_short:
                served.has_answered(classifier, before, time.thread_time() - started)
            return respond(found)

        return await call.room.readers.run(work)

    @api.add("POST /v1/explain", schemas.Explained, 409, body=schemas.Explain)
    async def explain(request: Request) -> Response:
        """Explain a prediction: what each word adds."""
        body = await service.body(schemas.Explain, request)

        def work() -> Response:
            label, against = served.named([body.label, body.against])
            return answer(explain_one(served.reading(body.model), body.text, label, against, html=body.html))

        return await call_of(request).room.readers.run(work)

    @api.add("POST /v1/deliver", (MAIL,), 409, body=(MAIL,))
    async def deliver(request: Request, unsure: Annotated[float | None, Query(ge=0, le=1)] = None) -> Response:
        """Write the label of a mail into its headers.

        The mail comes back with X-Bunrui-Label and X-Bunrui-Probability as its first headers; old ones are gone.

        Parameters
        ----------
        unsure
            Answer unsure, unless at most this share of such answers was wrong.
        """
        call = call_of(request)

        def work() -> Response:
            classifier, data, most = served.reading(None), bytes(call.body), service.settings.limits.characters
            mail = read_mail(data)
            if len(mail.text) > most:
                raise Problem("too-large", f"a mail has at most {most:,} characters of text")
            done = deliver_mail(classifier, data, _least_sure(classifier, unsure), mail)
            return Response(done.mail, media_type=MAIL)

        return await call.room.readers.run(work)

    return {"/v1/predict": predict}


def _least_sure(classifier: AnyClassifier, unsure: float | None) -> float:
    """The probability from which on at most this share of the answers was wrong."""
    if unsure is None:
        return 0.0
    if classifier.calibration is None or not classifier.is_calibrated:
        raise Problem("conflict", "unsure needs probabilities that can be believed: POST /v1/calibrate first")
    return float(classifier.calibration.threshold(unsure))


# --- predictions


def predict_body(classifier: AnyClassifier, body: schemas.Predict) -> schemas.Predicted:
    """The best label of each text; if `several` is asked for, also the set of labels that fit it."""
    if not body.several:
        return predict_all(classifier, body.texts, body.top)
    if body.top is not None:
        _check_shares(len(body.texts), min(body.top, len(classifier.counts.labels)))
    found = predict_all(classifier, body.texts, None)
    found["sets"], top = _sets_of(classifier, body)
    return found if body.top is None else {**found, "top": top}


def predict_all(classifier: AnyClassifier, texts: Any, top: int | None) -> schemas.Predicted:
    """The best label of each text.

    What is learned meanwhile may count for the last of many texts, and not for the first.

    >>> from bunrui import TextClassifier
    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> predict_all(clf, ["pills", "noon"], None)["labels"]
    ['spam', 'ham']
    """
    n_classes = len(classifier.counts.labels)
    if top is not None:
        _check_shares(len(texts), min(top, n_classes))
    found = schemas.Predicted(labels=[], probabilities=[])
    best_shares: list[list[schemas.Share]] = []
    for part in slices(texts, n_classes, MOST_BYTES):
        ranking = rank(classifier, part)
        classes, shares = ranking.classes, ranking.probabilities
        found["labels"] += [classes[k] for k in ranking.best.tolist()]
        found["probabilities"] += ranking.confidence.tolist()
        if top is not None:
            ranked = ranking.top(top)
            rows = zip(ranked.tolist(), np.take_along_axis(shares, ranked, axis=1).tolist(), strict=True)
            best_shares += [
                [{"label": classes[k], "probability": p} for k, p in zip(*row, strict=True)] for row in rows
            ]
    return found if top is None else {**found, "top": best_shares}


def _check_shares(n_texts: int, n_labels: int) -> None:
    if n_texts * n_labels > _MOST_SHARES:
        raise Problem("too-large", f"an answer has at most {_MOST_SHARES:,} labels: ask for fewer, or send fewer texts")


def _sets_of(classifier: AnyClassifier, body: schemas.Predict) -> tuple[list[list[Label]], list[list[schemas.Odds]]]:
    """The labels of each text whose log-odds are above the threshold, and the best ones where they are asked for."""
    sets: list[list[Label]] = []
    top: list[list[schemas.Odds]] = []
    for part in slices(body.texts, len(classifier.counts.labels), MOST_BYTES):
        classes, odds = classifier.current_model.label_odds(part)
        for row in odds:
            order = np.argsort(-row, kind="stable").tolist()
            sets.append([classes[k] for k in order if row[k] > body.threshold])
            if body.top is not None:
                best = order[: body.top]
                shares = 0.5 + np.tanh(row[best] / 2) / 2  # the logistic function, which does not overflow
                columns = zip(best, shares.tolist(), row[best].tolist(), strict=True)
                top.append([{"label": classes[k], "probability": p, "log_odds": x} for k, p, x in columns])
    return sets, top


def _to_arrow(found: schemas.Predicted) -> Response:
    """A stream with the columns label and probability, and probabilities where the best were asked for."""
    label = pa.array(found["labels"])
    columns = {"label": label, "probability": pa.array(found["probabilities"], pa.float64())}
    if (top := found.get("top")) is not None:
        pairs = [[(share["label"], share["probability"]) for share in best] for best in top]
        columns["probabilities"] = pa.array(pairs, pa.map_(label.type, pa.float64()))
    if (sets := found.get("sets")) is not None:
        columns["labels"] = pa.array(sets, pa.list_(label.type))
    return Response(write_stream(pa.table(columns)), media_type=ARROW)


def explain_one(
    classifier: AnyClassifier, text: str, label: Label | None, against: Label | None, *, html: bool = False
) -> dict[str, Any]:
    """Why a label: what each word adds, of a long text those in its beginning, and what the rest adds in one number.

    >>> from bunrui import TextClassifier
    >>> clf = TextClassifier().learn(["cheap pills", "see you at noon"], ["spam", "ham"])
    >>> long = explain_one(clf, "pills " + "noon " * 4000, None, None)
    >>> len(long["text"]), long["left_out"]
    (20000, 6)
    """
    beginning = _beginning(text)
    if beginning == text:
        return _explanation_members(classifier.explain(text, label=label, against=against), html=html)
    if getattr(classifier.text_analyzer, "reads_rows", False):
        raise Problem("too-large", f"a row is explained up to {_MOST_EXPLAINED:,} characters: leave columns out")
    ranking = rank(classifier, [text])
    duel = hold(ranking.classes, ranking.scores[0], label, against)
    found = classifier.explain(beginning, label=duel.label, against=duel.against)
    score_of = dict(zip(ranking.classes, ranking.scores[0].tolist(), strict=True))
    ranked = ranking.top(len(ranking.classes))[0].tolist()
    whole = replace(
        found,
        probabilities={ranking.classes[k]: float(ranking.probabilities[0, k]) for k in ranked},
        score=score_of[duel.label],
        against_score=None if duel.against is None else score_of[duel.against],
    )
    rest = whole.difference - whole.bias - math.fsum(one.value for one in found.contributions)
    return _explanation_members(whole, len(text) - len(beginning), rest, html=html)


def _explanation_members(
    explanation: Explanation, left_out: int = 0, rest: float = 0.0, *, html: bool
) -> dict[str, Any]:
    drawn = {"html": explanation_html(explanation, left_out=left_out)} if html else {}
    return explanation.to_dict() | {"left_out": left_out, "rest": rest} | drawn


def _beginning(text: str) -> str:
    """As much of a text as is explained."""
    sizes = accumulate(len(normalise(c)) for c in text[:_MOST_EXPLAINED])
    return text[: sum(size <= _MOST_EXPLAINED for size in sizes)]


# --- what the classifier knows


def add_info(api: Api, service: Service) -> None:
    """Add the routes."""
    served = service.served

    @api.add("GET /v1/labels", schemas.Labels)
    async def labels(request: Request) -> Response:
        """The labels, and how many documents they have."""
        found = await call_of(request).room.readers.run(served.labels)
        return answer(schemas.Labels(labels=[{"label": label, "documents": n} for label, n in found.items()]))

    @api.add("GET /v1/words", schemas.Words, 409, 422)
    async def words(
        request: Request,
        label: str | None = None,
        positive: str | None = None,
        negative: str | None = None,
        word: str | None = None,
        top: Annotated[int, Query(ge=1, le=1000)] = 20,
        model: str | None = None,
    ) -> Response:
        """The words that speak for a label.

        Parameters
        ----------
        positive
            Log-odds of words: for this label,
        negative
            … against this one.
        word
            This word alone.
        """

        def work() -> list[schemas.Word]:
            own, for_, than = served.named([label, positive, negative])
            found = served.reading(model).words(own, positive=for_, negative=than, word=word, top=top)
            return [{"word": item.text, "weight": item.weight, "counts": item.counts} for item in found]

        return answer(schemas.Words(words=await call_of(request).room.readers.run(work)))

    @api.add("GET /v1/info", schemas.Info)
    async def info(request: Request) -> Response:
        """What the classifier has learned, and how it reads it."""
        # On the thread that writes, so that no reader waits for a long change.
        known = await call_of(request).room.lookups.run(served.classifier.info)
        limits = service.settings.limits
        about = {
            "version": __version__,
            "file": os.path.basename(served.classifier.path),
            "writable": service.settings.token is not None,
            "models": list(MODELS),
            "limits": {"body": limits.body, "documents": limits.documents, "characters": limits.characters},
        }
        return answer(known | {"service": about})

    @api.add("GET /v1/token", schemas.Token, token=True)
    async def check() -> Response:
        """Whether the token is right."""
        return answer(schemas.Token(right=True))  # else the gate has refused it
