"""What a model can do that somebody has just added: `tests/models/test_add_a_model.py` runs this beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.evaluation import loo_scores
from tests.cli.conftest import run as run  # a fixture
from tests.service.conftest import Serve
from tests.service.conftest import serve as serve  # a fixture

MODEL = "background"
TEXTS = [
    "cheap pills now now",
    "win money fast",
    "cheap money",
    "meeting at noon",
    "lunch with the team at noon",
    "noon",
]
LABELS = ["spam", "spam", "spam", "ham", "ham", "ham"]
CSV = "text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))


def learned(**options: Any) -> TextClassifier:
    return TextClassifier(MODEL, analyzer="words", **options).learn(TEXTS, LABELS)


@pytest.mark.parametrize("options", [{}, {"min_df": 2}, {"max_features": 3}, {"unseen": "smooth", "prior": "uniform"}])
def test_leave_one_out_is_to_unlearn_score_and_learn_again(options: dict[str, Any]) -> None:
    clf = learned(**options)
    classes, scores = loo_scores(clf, TEXTS, LABELS)
    assert classes.tolist() == ["ham", "spam"]
    for text, label, found in zip(TEXTS, LABELS, scores, strict=True):
        clf.unlearn([text], [label])
        np.testing.assert_array_equal(found, clf.scores([text])[0])
        clf.learn([text], [label])


def test_an_explanation_sums_up_to_the_score() -> None:
    clf = learned()
    found = clf.explain("cheap cheap noon zzz", label="spam", against="ham")
    scores = dict(zip(clf.classes_.tolist(), clf.scores(["cheap cheap noon zzz"])[0].tolist(), strict=True))
    assert found.difference == pytest.approx(scores["spam"] - scores["ham"], rel=1e-12)
    assert found.bias + sum(each.value for each in found.contributions) == pytest.approx(found.difference, rel=1e-12)
    assert [each.feature for each in found.contributions] == ["cheap", "noon"] and found.unknown == ("zzz",)


def test_words_and_a_pipeline() -> None:
    clf = learned()
    [cheap] = clf.words(positive="spam", negative="ham", word="cheap")
    one, none = clf.scores(["cheap", ""])
    assert cheap.weight == pytest.approx((one - none)[1] - (one - none)[0], rel=1e-12)
    assert clf.words("spam", top=1)[0].text in ("cheap", "money", "now")
    pipeline = clf.to_sklearn()
    np.testing.assert_allclose(pipeline.predict_proba(TEXTS), clf.predict_proba(TEXTS), rtol=1e-12)


def test_the_command_line(run: Any, tmp_path: Path) -> None:
    (tmp_path / "mail.csv").write_text(CSV)
    assert run("learn", "mail.bunrui", "mail.csv", "--model", MODEL, "--analyzer", "words").code == 0
    with bunrui.open(tmp_path / "mail.bunrui") as clf:
        assert (clf.model, clf.effective_alpha) == (MODEL, 0.5)
        share = clf.predict_proba(["cheap pills"])[0, 1]
    assert run("predict", "mail.bunrui", "--line", "cheap pills").out == f"spam\t{share:.4f}\n"
    assert run("predict", "mail.bunrui", "--line", "cheap pills", "--model", "binary").code == 0
    assert run("words", "mail.bunrui", "spam").code == 0
    assert run("explain", "mail.bunrui", "cheap pills").code == 0

    evaluated = run("evaluate", "mail.bunrui", "--loo", "--json")
    assert f"{MODEL} is fitted for each of 6 documents: --folds 5 fits it 5 times" in evaluated.err
    _, scores = loo_scores(learned(), TEXTS, LABELS)
    accuracy = float(np.mean(np.array(["ham", "spam"])[scores.argmax(axis=1)] == LABELS))
    assert json.loads(evaluated.out)["accuracy"] == accuracy
    assert run("evaluate", "mail.csv", "--folds", "3", "--model", MODEL, "--json").code == 0

    compared = json.loads(run("compare", "mail.csv", "--folds", "3", "--analyzers", "words", "--json").out)
    assert MODEL in {row["model"] for row in compared["rows"]}
    wrong = run("predict", "mail.bunrui", "--line", "x", "--model", "nothing")
    assert wrong.code == 2 and MODEL in wrong.err
    assert MODEL in run("predict", "--help").out


def test_the_service(serve: Serve, tmp_path: Path) -> None:
    for name, model in (("own", MODEL), ("other", "binary")):
        with bunrui.create(tmp_path / name, model=model, analyzer="words") as clf:
            clf.learn(TEXTS, LABELS)
    share = learned().predict_proba(["cheap pills"])[0, 1]
    client = serve(path=tmp_path / "own").client
    assert client.get("/v1/info").json()["model"] == MODEL
    answer = client.post("/v1/predict", json={"texts": ["cheap pills"]})
    assert answer.status_code == 200, answer.text
    assert share in list(_numbers(answer.json()))
    client = serve(path=tmp_path / "other").client
    answer = client.post("/v1/predict", json={"texts": ["cheap pills"], "model": MODEL})
    assert share in list(_numbers(answer.json()))
    assert MODEL in client.get("/openapi.json").text


def _numbers(answer: Any) -> Any:
    """All numbers in an answer."""
    if isinstance(answer, float):
        yield answer
    elif isinstance(answer, (dict, list)):
        for each in answer.values() if isinstance(answer, dict) else answer:
            yield from _numbers(each)
