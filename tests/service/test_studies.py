"""Mistakes, learning curve, comparison, audit: what is found in the documents that a file keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.data import read
from bunrui.evaluation import leave_one_out
from bunrui.selection import audit
from tests.service.conftest import Serve, Server, finished, make_classifier, problem, running
from tests.support.choosing import choosing

MODEL = "binary-complement"  # without a calibration

ROWS = [row for row in read("demo") if row["lang"] == "en"]
TEXTS = [row["text"] for row in ROWS]
LABELS = [row["label"] for row in ROWS]
LABELS[4] = "sports" if LABELS[4] != "sports" else "world"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studying")
    with bunrui.create(folder / "news.bunrui", MODEL) as clf:
        clf.learn(TEXTS, LABELS)
    yield from running(folder / "news.bunrui")


def result(server: Server, path: str, **options: Any) -> dict[str, Any]:
    job = finished(server, server.client.post(path, **options))
    assert job["state"] == "done", job
    assert job["progress"]["done"] == job["progress"]["total"] > 0
    return dict(job["result"])


def test_mistakes(own: Server) -> None:
    found = result(own, "/v1/mistakes")
    known = leave_one_out(TextClassifier(MODEL), TEXTS, LABELS)
    assert (found["n"], found["accuracy"], found["ece"]) == (len(TEXTS), known.metrics.accuracy, known.ece)
    assert found["pairs"] == [list(pair) for pair in known.metrics.pairs]
    assert found["reliability"] == [one._asdict() for one in known.reliability]
    wrong = {
        (text, true, predicted)
        for text, true, predicted in zip(TEXTS, LABELS, known.predictions.tolist(), strict=True)
        if true != predicted
    }
    assert {(one["text"], one["true"][0], one["predicted"]) for one in found["mistakes"]} == wrong
    shares = [one["probability"] for one in found["mistakes"]]
    assert shares == sorted(shares, reverse=True)


def test_an_evaluation_says_how_sure_it_is(own: Server) -> None:
    started = own.client.post("/v1/evaluate")
    found = finished(own, started, "evaluate")["result"]
    known = leave_one_out(TextClassifier(), TEXTS, LABELS)
    assert found["confusion"]["matrix"] == known.metrics.confusion.tolist()
    assert found["reliability"] == [one._asdict() for one in known.reliability] and "mistakes" not in found


def test_learning_curve(own: Server) -> None:
    found = result(own, "/v1/curve")
    sizes = [point["documents"] for point in found["points"]]
    assert (sizes, found["folds"]) == ([2, 5, 10, 20, 40, 60, 80], 5)
    accuracies = [point["accuracy"] for point in found["points"]]
    assert accuracies[-1] > 0.5 > accuracies[0]
    assert all(point["low"] <= point["accuracy"] <= point["high"] for point in found["points"])


def test_compare(own: Server) -> None:
    found = result(own, "/v1/compare")
    assert {row["model"] for row in found["rows"]} == {"auto", *bunrui.models.MODELS}
    assert found["automatic"].startswith("binary-complement, λ ")
    assert found["rows"][0]["verdict"] == "first" and found["documents"] == len(TEXTS)
    accuracies = [row["accuracy"] for row in found["rows"]]
    assert accuracies == sorted(accuracies, reverse=True)
    assert all(row["predict_mb_per_s"] is None for row in found["rows"]), "so few documents tell no speed"
    assert not found["calibrated"], "the file is not"
    assert "compare.loss" in found["html"] and "compare.speed" not in found["html"]


def test_the_log_loss_of_the_model_in_use_is_the_one_that_evaluate_shows(serve: Serve, tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "topics.bunrui") as clf:
        clf.learn(*choosing(400))
        assert clf.is_calibrated
    server = serve(path=tmp_path / "topics.bunrui")
    evaluated, compared = result(server, "/v1/mistakes"), result(server, "/v1/compare")
    (used,) = [row for row in compared["rows"] if row["model"] == "auto"]
    assert compared["calibrated"] and used["log_loss"] == pytest.approx(evaluated["log_loss"], rel=0.2)


@pytest.mark.slow
def test_compare_with_models_that_are_trained(own: Server) -> None:
    more = result(own, "/v1/compare", json={"trained": True})
    assert "nbsvm" in {row["model"] for row in more["rows"]}


def test_who_must_know_the_token_to_ask_must_know_it_to_see_the_answer(own: Server) -> None:
    started = own.client.post("/v1/audit")
    where = own.url + started.headers["location"]
    finished(own, started)
    for method in ("GET", "DELETE"):
        problem(httpx.request(method, where), 401, "no-token")
    assert own.client.get(where).status_code == 200
    curve = own.client.post("/v1/curve")
    with own.stranger() as client:
        assert client.get(curve.headers["location"]).status_code == 200
    finished(own, curve)


def test_audit(own: Server) -> None:
    found = result(own, "/v1/audit")
    known = audit(TextClassifier(), TEXTS, LABELS)
    assert (found["documents"], found["n_suspects"]) == (len(TEXTS), len(known.suspects))
    assert [one["text"] for one in found["suspects"]] == [TEXTS[suspect.row] for suspect in known.suspects][:50]
    first, suspect = found["suspects"][0], known.suspects[0]
    assert (first["given"], first["suggested"]) == (list(suspect.given), suspect.suggested)
    assert (first["explanation"]["label"], first["explanation"]["against"]) == (suspect.suggested, suspect.given[0])
    assert first["explanation"]["contributions"][0]["feature"] == known.explain(suspect).contributions[0].feature
    again = result(own, "/v1/audit", json={"kept": [first["digest"]]})
    assert again["suspects"][0] == found["suspects"][1] and again["n_suspects"] == found["n_suspects"] - 1


def test_documents_are_for_those_with_the_token(own: Server) -> None:
    with own.stranger() as client:
        for path in ("/v1/mistakes", "/v1/audit"):
            problem(client.post(path), 401, "no-token")
        for path in ("/v1/curve", "/v1/compare"):
            job = client.post(path)
            assert job.status_code == 202
            assert client.delete(job.headers["location"]).status_code == 200


def test_a_file_that_keeps_no_texts(serve: Serve, tmp_path: Path) -> None:
    server = serve(path=make_classifier(tmp_path / "mail.bunrui", keep="digests"))
    for path in ("/v1/mistakes", "/v1/curve", "/v1/compare", "/v1/audit"):
        assert "keeps digests" in problem(server.client.post(path), 409, "conflict")["detail"]


def test_too_little_to_learn_from(serve: Serve, tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "one.bunrui") as clf:
        clf.learn(["one"], ["x"])
    server = serve(path=tmp_path / "one.bunrui")
    for path in ("/v1/mistakes", "/v1/curve", "/v1/compare", "/v1/audit"):
        job = finished(server, server.client.post(path))
        assert (job["state"], job["problem"]["status"]) == ("failed", 422), job
