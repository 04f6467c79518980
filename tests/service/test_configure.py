"""Changes of how the counts are read: another model, the choice anew, a calibration; and label sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.data import read
from bunrui.evaluation import measure_labels
from bunrui.evaluation.loo import best_thresholds, loo_log_odds
from tests.service.conftest import Server, finished, problem, running
from tests.support.pools import two_topics

ROWS = [row for row in read("demo") if row["lang"] == "en"]
TEXTS = [row["text"] for row in ROWS]
LABELS = [row["label"] for row in ROWS]
SETS = [["rice", "tea"], ["tea"], ["rice"], ["oil"], ["tea"], ["rice"], ["oil"], ["oil", "rice"]]
DISHES = ["rice tea cup", "tea cup", "rice bowl", "oil well", "tea leaf", "rice field", "oil drop", "oil and rice"]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("configure") / "news.bunrui"
    with bunrui.create(path) as clf:
        clf.learn(TEXTS, LABELS)
    yield from running(path)


@pytest.fixture(scope="module")
def dishes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service on documents with several labels."""
    path = tmp_path_factory.mktemp("dishes") / "dishes.bunrui"
    with bunrui.create(path, analyzer="words") as clf:
        clf.learn(DISHES, SETS)
    yield from running(path)


def changed(server: Server, path: str, **options: Any) -> dict[str, Any]:
    job = finished(server, server.client.post(path, **options))
    assert job["state"] == "done", job
    return dict(job["result"])


def info(server: Server) -> dict[str, Any]:
    return dict(server.client.get("/v1/info").json())


def asked(server: Server) -> Any:
    return server.client.post("/v1/explain", json={"text": TEXTS[0]}).json()


@pytest.mark.parametrize("model", ["bernoulli", "arow"])
def test_another_model_and_back(own: Server, model: str) -> None:
    before, answer = info(own), asked(own)
    done = changed(own, "/v1/set", json={"model": model})
    assert (done["transaction"], done["changed"]) == (before["transactions"] + 1, 0)
    assert info(own)["model"] == model and info(own)["choice"] is None
    alone = TextClassifier(model).learn(TEXTS, LABELS)
    assert asked(own)["probabilities"] == pytest.approx(alone.explain(TEXTS[0]).probabilities)
    assert changed(own, "/v1/set", json={"model": model})["transaction"] is None
    undone = own.client.post("/v1/undo", json={"transaction": done["transaction"]}).json()
    assert undone["undone"] == "set"
    after = info(own)
    assert (after["model"], after["choice"], asked(own)) == ("auto", before["choice"], answer)


def test_calibrate_and_choose(own: Server) -> None:
    changed(own, "/v1/set", json={"model": "multinomial"})
    assert info(own)["calibration"] is None or not info(own)["calibration"]["applies"]
    changed(own, "/v1/calibrate")
    calibration = info(own)["calibration"]
    assert (calibration["model"], calibration["n_docs"], calibration["applies"]) == ("multinomial", len(TEXTS), True)
    assert calibration["changed_since"] == 0
    known = TextClassifier("multinomial").learn(TEXTS, LABELS)
    known.set_calibration(bunrui.selection.calibration_for(known, TEXTS, LABELS))
    assert asked(own)["probabilities"] == pytest.approx(known.explain(TEXTS[0]).probabilities)
    assert own.client.post("/v1/undo").json()["undone"] == "calibrate"
    assert own.client.post("/v1/undo").json()["undone"] == "set"
    assert info(own)["model"] == "auto"
    assert changed(own, "/v1/choose")["choice"] == info(own)["choice"]["line"]
    assert info(own)["choice"]["n_docs"] == len(TEXTS)
    assert own.client.post("/v1/undo").json()["undone"] == "choose"
    for body, metric in (({"metric": "macro_f1"}, "macro_f1"), ({}, "macro_f1"), ({"metric": "accuracy"}, "accuracy")):
        changed(own, "/v1/choose", json=body)
        assert info(own)["choice"]["metric"] == metric
    for body in ({"metric": "f1"}, {"by": "macro_f1"}):
        problem(own.client.post("/v1/choose", json=body), 422, "invalid")
    for _ in range(3):
        assert own.client.post("/v1/undo").json()["undone"] == "choose"


def test_what_is_refused_says_what_to_do(own: Server) -> None:
    said = problem(own.client.post("/v1/set", json={"model": "none"}), 422, "invalid")["detail"]
    assert "'none'" in said and "multinomial" in said
    assert own.client.post("/v1/set", json={"model": "binary"}, headers={"Authorization": ""}).status_code == 401
    said = problem(own.client.post("/v1/predict", json={"texts": ["a"], "model": "nbsvm"}), 422, "invalid")["detail"]
    assert "trained from documents" in said and "POST /v1/set" in said and "leave model out" in said
    changed(own, "/v1/set", json={"model": "arow"})
    said = problem(own.client.post("/v1/predict", json={"texts": ["a"], "model": "auto"}), 422, "invalid")["detail"]
    assert "this file answers by arow" in said and "leave model out" in said
    own.client.post("/v1/undo").raise_for_status()


def test_a_calibration_needs_documents(tmp_path: Path, serve: Any) -> None:
    with bunrui.create(tmp_path / "slim.bunrui", keep="nothing") as clf:
        clf.learn(["a", "b"], ["x", "y"])
    server = serve(path=tmp_path / "slim.bunrui")
    assert "keeps texts" in problem(server.client.post("/v1/calibrate"), 409, "conflict")["detail"]


def test_no_calibration_where_texts_without_a_label_count(tmp_path: Path, serve: Any) -> None:
    texts, labels, pool = two_topics()
    with bunrui.create(tmp_path / "pool.bunrui", "binary", analyzer="words") as clf:
        clf.learn(texts, labels).learn_unlabelled(pool)
    server = serve(path=tmp_path / "pool.bunrui")
    refused = problem(server.client.post("/v1/calibrate"), 422, "invalid")
    assert "take all texts without a label back" in refused["detail"]
    assert info(server)["calibration"] is None and info(server)["transactions"] == 2


# --- label sets


def test_sets_are_those_of_the_library(dishes: Server) -> None:
    clf = TextClassifier(analyzer="words").learn(DISHES, SETS)
    texts = ["tea and rice", "oil", "nothing"]
    asked = {"texts": texts, "several": True, "top": 2, "threshold": -0.5}
    found = dishes.client.post("/v1/predict", json=asked).json()
    assert [set(one) for one in found["sets"]] == clf.predict_labels(texts, threshold=-0.5)
    odds, classes = clf.label_odds(texts), clf.classes_.tolist()
    for row, top in zip(odds, found["top"], strict=True):
        assert [one["log_odds"] for one in top] == pytest.approx(sorted(row.tolist(), reverse=True)[:2])
        assert all(row[classes.index(one["label"])] == pytest.approx(one["log_odds"]) for one in top)
    plain = dishes.client.post("/v1/predict", json={"texts": texts, "top": 2}).json()
    assert "sets" not in plain and plain["labels"] == found["labels"]


def test_sets_are_measured(dishes: Server) -> None:
    found = changed(dishes, "/v1/mistakes")["sets"]
    clf = TextClassifier(analyzer="words").learn(DISHES, SETS)
    classes, odds = loo_log_odds(clf, DISHES, SETS)
    assert found["thresholds"] == pytest.approx(best_thresholds(clf, DISHES, SETS))
    above = [{classes[k] for k in range(len(classes)) if row[k] > 0} for row in odds]
    assert found["plain"] == measure_labels(SETS, above).to_dict()
    assert found["best"]["micro"]["f1"] >= found["plain"]["micro"]["f1"]


# --- a file of documents to be predicted


def test_a_test_file(own: Server, dishes: Server) -> None:
    lines = "text,label\n" + "".join(f"{text},{label}\n" for text, label in [("rice", "rice"), ("tea", "wine")])
    file = {"content": lines.encode(), "headers": {"Content-Type": "application/octet-stream"}}
    before = info(dishes)
    found = changed(dishes, "/v1/test", params={"name": "test.csv"}, **file)
    assert (found["n"], found["accuracy"], found["unknown"]) == (2, 0.5, ["wine"])
    [mistake] = found["mistakes"]
    assert (mistake["text"], mistake["true"], mistake["predicted"]) == ("tea", ["wine"], "tea")
    assert mistake["digest"] is None and "report" not in found and "sets" not in found
    assert info(dishes) == before
    report = changed(dishes, "/v1/test", params={"name": "test.csv", "report": True}, **file)["report"]
    assert report.startswith("<!doctype html>") and "wine" in report
    assert changed(own, "/v1/mistakes", json={"report": True})["report"].startswith("<!doctype html>")
    several = b'{"text": "rice tea", "label": ["rice", "tea"]}\n{"text": "oil", "label": ["oil"]}\n'
    found = changed(dishes, "/v1/test", params={"name": "test.jsonl"}, **(file | {"content": several}))
    assert found["sets"]["plain"]["n"] == 2
