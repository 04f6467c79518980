"""`Evaluation`: the numbers of its parts, of scikit-learn, and what becomes of labels that are many or unknown."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

import bunrui.evaluation
from bunrui.classifier import TextClassifier
from bunrui.errors import BunruiError, DataError, LabelError, OptionError
from bunrui.evaluation import Evaluation, bootstrap, mcnemar, measure
from tests.support.processes import run_python

SPAM: dict[str, Any] = {
    "true": ["ham", "ham", "spam", "spam", "ham"],
    "predictions": ["ham", "spam", "ham", "spam", "ham"],
    "probabilities": [[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.2, 0.8], [0.8, 0.2]],
    "classes": ["ham", "spam"],
}


@st.composite
def evaluations(draw: st.DrawFn) -> dict[str, Any]:
    """Labels and probabilities with ties, zeros and ones; `classes` in any order, some without documents."""
    classes = draw(st.permutations("abcde"))[: draw(st.integers(2, 5))]
    rows = st.lists(st.integers(0, 4), min_size=len(classes), max_size=len(classes)).filter(any)
    weights = np.array(draw(st.lists(rows, min_size=1, max_size=40)), float)
    p = weights / weights.sum(axis=1, keepdims=True)
    true = draw(st.lists(st.sampled_from(classes), min_size=len(p), max_size=len(p)))
    predictions = [classes[c] for c in p.argmax(axis=1)]
    return {"true": true, "predictions": predictions, "probabilities": p, "classes": classes}


# --- scikit-learn


@given(evaluations())
def test_as_sklearn(drawn: dict[str, Any]) -> None:
    found = Evaluation(**drawn)
    true, classes = np.array(drawn["true"]), sorted(drawn["classes"])
    p = np.asarray(drawn["probabilities"])[:, np.argsort(drawn["classes"])]
    assert found.metrics == measure(true, drawn["predictions"], labels=classes)
    assert found.right.tolist() == (true == np.array(drawn["predictions"])).tolist()
    assert found.right.mean() == pytest.approx(found.metrics.accuracy)
    assert found.confidence.tolist() == p.max(axis=1).tolist()
    assert found.log_loss == pytest.approx(sklearn.metrics.log_loss(true, p, labels=classes), rel=1e-12, abs=1e-15)
    brier = sklearn.metrics.brier_score_loss(true, p, labels=classes, scale_by_half=False)
    assert found.brier == pytest.approx(brier, rel=1e-12, abs=1e-15)
    ranked = [(true == c, p[:, k]) for k, c in enumerate(classes) if 0 < sum(true == c) < found.n]
    areas = [sklearn.metrics.roc_auc_score(*columns) for columns in ranked]
    if areas:
        assert found.roc_auc == pytest.approx(np.mean(areas), rel=1e-12)
    else:
        assert math.isnan(found.roc_auc)
    occurring = [(k, c) for k, c in enumerate(classes) if c in true]
    precisions = [sklearn.metrics.average_precision_score(true == c, p[:, k]) for k, c in occurring]
    assert found.average_precision == pytest.approx(np.mean(precisions), rel=1e-12)


def test_three_classes_as_sklearn() -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.4, 0.3, 0.2], 500)
    classes = np.array(["a", "b", "c"])
    true = classes[[rng.choice(3, p=0.1 + 0.7 * row) for row in p]]
    found = Evaluation(true=true, predictions=classes[p.argmax(axis=1)], probabilities=p, classes=classes)
    assert found.roc_auc == pytest.approx(sklearn.metrics.roc_auc_score(true, p, multi_class="ovr"), rel=1e-12)
    assert found.average_precision == pytest.approx(sklearn.metrics.average_precision_score(true, p), rel=1e-12)
    assert found.brier == pytest.approx(sklearn.metrics.brier_score_loss(true, p), rel=1e-12)
    assert 0.02 < found.ece < 0.5


def test_positive_as_sklearn() -> None:
    rng = np.random.default_rng(1)
    p = np.round(rng.random(800), 2)
    true = np.where(rng.random(800) < 0.2 + 0.6 * p, "spam", "ham")
    found = Evaluation(
        true=true,
        predictions=np.where(p > 0.5, "spam", "ham"),
        probabilities=np.column_stack([1 - p, p]),
        classes=["ham", "spam"],
        positive="spam",
    )
    auc = sklearn.metrics.roc_auc_score(true == "spam", p)
    assert found.roc_auc == pytest.approx(auc, rel=1e-12)
    assert found.one_minus_roca_percent == pytest.approx(100 * (1 - auc), rel=1e-12)
    expected = sklearn.metrics.average_precision_score(true, p, pos_label="spam")
    assert found.average_precision == pytest.approx(expected, rel=1e-12)
    fpr, tpr, _ = sklearn.metrics.roc_curve(true, p, pos_label="spam", drop_intermediate=False)
    assert found.recall_at_fpr(0.05) == tpr[fpr <= 0.05].max()
    for ours, theirs in zip(found.roc_curve(), sklearn.metrics.roc_curve(true, p, pos_label="spam"), strict=True):
        np.testing.assert_allclose(np.minimum(ours, 1), np.minimum(theirs, 1), rtol=1e-12)
    assert found.precision_recall_curve().recall[0] == 1
    other = replace(found, positive="ham")
    assert other.roc_auc == pytest.approx(auc, rel=1e-12)
    assert other.average_precision != pytest.approx(expected, rel=1e-3)
    assert other.roc_curve("spam").tpr.tolist() == found.roc_curve().tpr.tolist()


# --- several labels, and labels that were never learned


def test_several_labels() -> None:
    found = Evaluation(
        true=[{"a", "c"}, ["b"], "c"],
        predictions=["c", "a", "c"],
        probabilities=[[0.25, 0.25, 0.5], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]],
        classes=["a", "b", "c"],
    )
    assert found.right.tolist() == [True, False, True]
    assert found.metrics.accuracy == pytest.approx(2 / 3)
    assert found.log_loss == pytest.approx(-(math.log(0.75) + math.log(0.25)) / 3)
    assert found.brier == pytest.approx((0.125 + 0.875) / 3)
    # a: .25 before .5 and 0; b: .25 ties with .25 and beats 0; c: .5 and 1 before .25
    assert found.roc_auc == pytest.approx((0.5 + 0.75 + 1) / 3)


def test_a_label_never_learned() -> None:
    """As with a column of zeros."""
    p = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    true = ["ham", "spam", "news"]
    found = Evaluation(true=true, predictions=["ham", "spam", "ham"], probabilities=p, classes=["ham", "spam"])
    padded = np.column_stack([p[:, 0], np.zeros(3), p[:, 1]])
    labels = ["ham", "news", "spam"]
    assert found.log_loss == pytest.approx(sklearn.metrics.log_loss(true, padded, labels=labels), rel=1e-12)
    assert found.log_loss == pytest.approx(-(math.log(0.9) + math.log(0.6) + math.log(np.finfo(float).eps)) / 3)
    assert found.brier == pytest.approx(sklearn.metrics.brier_score_loss(true, padded, labels=labels), rel=1e-12)
    assert found.roc_auc == pytest.approx(sklearn.metrics.roc_auc_score(true, padded, multi_class="ovr", labels=labels))
    assert found.right.tolist() == [True, True, False]
    assert found.metrics.labels == ("ham", "news", "spam")
    assert replace(found, positive="news").roc_auc == 0.5
    assert found.probabilities.shape == (3, 2)


def test_one_document_of_one_class() -> None:
    found = Evaluation(true=["a"], predictions=["a"], probabilities=[[1]], classes=["a"], positive="a")
    assert found.log_loss == pytest.approx(np.finfo(float).eps)
    assert (found.brier, found.ece, found.average_precision) == (0, 0, 1)
    as_json = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert as_json["roc_auc"] is as_json["one_minus_roca_percent"] is None
    assert as_json["recall_at_fpr"] == {"0.001": None, "0.01": None}
    assert as_json["intervals"]["accuracy"] == {"low": pytest.approx(0.2065, abs=1e-4), "high": 1, "level": 0.95}


def test_probabilities_that_have_rounded_to_1() -> None:
    """The first spam is surer than the ham, which only what is left for the other class tells."""
    options: dict[str, Any] = {"classes": ["ham", "spam"], "positive": "spam"}
    p = [[1e-40, 1.0], [1e-30, 1.0], [1e-20, 1.0]]
    found = Evaluation(true=["spam", "ham", "spam"], predictions=["spam"] * 3, probabilities=p, **options)
    assert found.roc_auc == 0.5
    found = Evaluation(true=["spam", "spam", "ham"], predictions=["spam"] * 3, probabilities=p, **options)
    assert found.roc_auc == 1


def test_scores_rank_what_probabilities_cannot() -> None:
    """All probabilities of spam are 0 in float64; the scores say which text is more like it."""
    scores = np.array([[0.0, -900.0], [0.0, -1000.0], [0.0, -950.0], [0.0, -2000.0]])
    given: dict[str, Any] = {
        "true": ["spam", "ham", "spam", "ham"],
        "predictions": ["ham"] * 4,
        "probabilities": [[1.0, 0.0]] * 4,
        "classes": ["ham", "spam"],
    }
    tied, told = Evaluation(**given, positive="spam"), Evaluation(**given, positive="spam", scores=scores)
    assert (tied.roc_auc, told.roc_auc) == (0.5, 1.0)
    assert (tied.recall_at_fpr(0.01), told.recall_at_fpr(0.01)) == (0.0, 1.0)
    assert told.average_precision == replace(told, positive=None).roc_auc == 1.0
    assert told.roc_curve().thresholds.tolist() == [math.inf, -900.0, -950.0, -2000.0]
    assert (told.log_loss, told.ece) == (tied.log_loss, tied.ece)


@given(evaluations())
def test_scores_change_nothing_where_probabilities_tell(drawn: dict[str, Any]) -> None:
    p = np.asarray(drawn["probabilities"]).clip(1e-9)
    drawn["probabilities"] = p / p.sum(axis=1, keepdims=True)
    by_p = Evaluation(**drawn)
    # Odds that are equal but for rounding are tied.
    by_scores = Evaluation(**drawn, scores=np.log(drawn["probabilities"]).round(9))
    for c in drawn["classes"]:
        order = np.argsort(by_p.probabilities[:, drawn["classes"].index(c)], kind="stable")
        ranks = by_scores._ranked_by(drawn["classes"].index(c))[order]
        assert (np.diff(ranks) > -1e-6).all()


def test_leave_one_out_and_folds_rank_by_scores() -> None:
    """Long texts: all the probabilities are 0 or 1."""
    rng = np.random.default_rng(0)
    names, words = ["ham", "spam"], [f"w{k}" for k in range(400)]
    labels = [names[k % 2] for k in range(40)]
    texts = [" ".join(rng.choice(words[:300] if label == "ham" else words[100:], 20_000)) for label in labels]
    parts = [np.arange(40)[::2], np.arange(40)[1::2]]
    for found in (
        bunrui.evaluation.leave_one_out(TextClassifier("multinomial"), texts, labels),
        bunrui.evaluation.cross_validate(TextClassifier("multinomial"), texts, labels, folds=2),
    ):
        assert set(found.probabilities.ravel().tolist()) == {0.0, 1.0}
        for c, rows in enumerate(parts):
            assert len(set(found._ranked_by(c)[rows].tolist())) > 15


def test_a_label_never_learned_has_no_scores_either() -> None:
    p = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    given: dict[str, Any] = {"true": ["ham", "spam", "news"], "predictions": ["ham", "spam", "ham"]}
    found = Evaluation(**given, probabilities=p, scores=np.log(p), classes=["ham", "spam"], positive="news")
    assert found.roc_auc == 0.5


def test_predictions_that_are_not_the_most_likely() -> None:
    """Whoever predicts by another rule is right or wrong by it, with the confidence of what was predicted."""
    found = Evaluation(**SPAM | {"predictions": ["ham"] * 5})
    assert found.right.tolist() == [True, True, False, False, True]
    assert found.confidence.tolist() == [0.9, 0.4, 0.8, 0.2, 0.8]
    bins = {(b.confidence, b.accuracy, b.doc_count) for b in found.reliability}
    assert bins == {(0.9, 1.0, 1), (0.4, 1.0, 1), (0.8, 0.5, 2), (0.2, 0.0, 1)}
    assert found.ece == pytest.approx((0.1 + 0.6 + 2 * 0.3 + 0.2) / 5)


def test_rounding_is_forgiven() -> None:
    found = Evaluation(
        **SPAM | {"probabilities": [[1.000001, 0.0]] * 3 + [[0.0, 0.999999]] * 2, "predictions": ["ham"] * 5}
    )
    assert found.confidence.tolist() == [1, 1, 1, 0, 0]
    assert [b.doc_count for b in found.reliability] == [2, 3]


# --- a classifier's


def test_of_a_classifier() -> None:
    texts = ["cheap pills", "noon", "meeting at noon", "cheap noon", "pills", "meeting"]
    labels = [["spam"], ["ham"], ["ham", "work"], ["spam", "ham"], ["work"], ["work", "ham"]]
    clf = TextClassifier().learn(texts, labels)
    others = labels[1:] + labels[:1]
    found = Evaluation(
        true=others, predictions=clf.predict(texts), probabilities=clf.predict_proba(texts), classes=clf.classes_
    )
    assert found.metrics.accuracy == clf.score(texts, others)
    own = Evaluation(
        true=labels, predictions=clf.predict(texts), probabilities=clf.predict_proba(texts), classes=clf.classes_
    )
    assert own.log_loss < found.log_loss
    test = mcnemar(own.right, found.right)
    assert test.only_first - test.only_second == own.right.sum() - found.right.sum()


# --- dictionary, intervals, kinds


def test_to_dict() -> None:
    found = Evaluation(**SPAM)
    as_json = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    before = found.metrics.to_dict()
    assert {name: as_json[name] for name in before} == before
    assert list(as_json) == [*before, "log_loss", "brier", "ece", "roc_auc", "average_precision", "intervals"]
    assert as_json["log_loss"] == found.log_loss
    assert as_json["roc_auc"] == found.roc_auc == 0.75
    assert list(as_json["intervals"]) == ["accuracy", "micro_f1", "macro_f1"]
    assert as_json["intervals"]["macro_f1"] == bootstrap(found.metrics, "macro_f1")._asdict()
    with_positive = Evaluation(**SPAM, positive="spam").to_dict()
    assert list(with_positive) == [*as_json, "one_minus_roca_percent", "recall_at_fpr"]
    assert with_positive["one_minus_roca_percent"] == 25
    assert with_positive["recall_at_fpr"] == {"0.001": 0.5, "0.01": 0.5}


def test_interval() -> None:
    found = Evaluation(**SPAM)
    assert found.interval() == bootstrap(found.metrics)
    options: Any = {"n_resamples": 99, "level": 0.5, "seed": 4}
    assert found.interval("macro_f1", **options) == bootstrap(found.metrics, "macro_f1", **options)
    recall = found.interval(lambda confusion: confusion[1, 1] / max(confusion[1].sum(), 1))
    assert 0 <= recall.low < recall.high <= 1


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, pa.array, iter])
def test_kinds(kind: Any) -> None:
    expected = Evaluation(**SPAM)
    labels = {name: kind(SPAM[name]) for name in ("true", "predictions", "classes")}
    found = Evaluation(**labels, probabilities=np.array(SPAM["probabilities"], np.float32))
    assert found.metrics == expected.metrics
    assert (found.log_loss, found.brier, found.ece) == pytest.approx(
        (expected.log_loss, expected.brier, expected.ece), rel=1e-6
    )
    assert (found.roc_auc, found.average_precision) == (expected.roc_auc, expected.average_precision)
    assert isinstance(found.predictions, np.ndarray) and found.predictions.tolist() == SPAM["predictions"]


def test_what_is_given_stays() -> None:
    p = np.array(SPAM["probabilities"])
    found = Evaluation(**SPAM | {"probabilities": p})
    found.to_dict()
    assert p.tolist() == SPAM["probabilities"]
    assert repr(found) == "<Evaluation: 5 documents, 2 labels, accuracy 0.600, log loss 0.615>"
    with pytest.raises(FrozenInstanceError):
        found.positive = "ham"  # type: ignore[misc]


# --- wrong input


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            *({"true": ["ham"]}, DataError),
            "there are 1 true labels and 5 predicted ones: give one of each for each document",
        ),
        (
            *({"probabilities": [[0.5, 0.5]]}, DataError),
            "probabilities have the shape (1, 2): give a row for each of 5 documents, a column for each of 2 classes",
        ),
        (
            *({"probabilities": [[0.9, 0.1]] * 4 + [[0.9, 0.2]]}, DataError),
            "the probabilities of document 4 add up to 1.1, and the least is 0.2: give numbers from 0 to 1 that add up "
            "to 1",
        ),
        (
            *({"probabilities": [[1.5, -0.5]] * 5}, DataError),
            "the probabilities of document 0 add up to 1, and the least is -0.5: give numbers from 0 to 1 that add up "
            "to 1",
        ),
        (
            *({"probabilities": [[math.nan, 0.5]] * 5}, DataError),
            "the probabilities of document 0 add up to nan, and the least is nan: give numbers from 0 to 1 that add up "
            "to 1",
        ),
        (
            *({"predictions": ["ham"] * 4 + ["eggs"]}, LabelError),
            "the predicted label 'eggs' is not among the classes: give a column for it",
        ),
        (
            *({"predictions": ["ham"] * 4 + [["ham", "spam"]]}, LabelError),
            "predicted labels: text 4 has several labels: give the best one",
        ),
        (
            *({"classes": ["ham", "ham"]}, LabelError),
            "a label is among the classes twice: name each column of the probabilities once",
        ),
        (
            *({"scores": [[0.0, 1.0]]}, DataError),
            "scores have the shape (1, 2): give one for each probability, (5, 2)",
        ),
        (
            *({"scores": [[0.0, 1.0]] * 4 + [[-math.inf, -math.inf]]}, DataError),
            "the scores of document 4 have no finite maximum: give numbers",
        ),
        ({"positive": "eggs"}, LabelError, "there is no label 'eggs': the labels are ham, spam"),
        (
            *({"true": [], "predictions": [], "probabilities": np.zeros((0, 2))}, DataError),
            "there are no documents to measure: give true labels, predictions and probabilities",
        ),
    ],
)
def test_wrong_input(change: dict[str, Any], error: type[BunruiError], message: str) -> None:
    with pytest.raises(error) as raised:
        Evaluation(**SPAM | change)
    assert str(raised.value) == message


def test_without_a_positive_label() -> None:
    found = Evaluation(**SPAM)
    for ask in (lambda: found.one_minus_roca_percent, lambda: found.recall_at_fpr(0.01), found.roc_curve):
        with pytest.raises(OptionError) as raised:
            ask()
        assert str(raised.value) == "name the label that is looked for, as positive='spam'"
    with pytest.raises(LabelError, match=r"^there is no label 'eggs': the labels are ham, spam$"):
        found.precision_recall_curve("eggs")


# --- the package


def test_every_name_is_there() -> None:
    assert bunrui.evaluation.__all__ == sorted(bunrui.evaluation.__all__)
    for name in bunrui.evaluation.__all__:
        assert getattr(bunrui.evaluation, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        bunrui.evaluation.nothing  # noqa: B018


def test_import_is_light() -> None:
    heavy = "{'numba', 'pyarrow', 'rich', 'scipy', 'sklearn'}"
    code = f"import sys; from bunrui.evaluation import Evaluation; print(*sorted({heavy} & set(sys.modules)))"
    assert run_python(code).split() == []


def test_modules_are_there_without_being_imported() -> None:
    code = (
        "import sys, bunrui; names = ('datasets', 'documents', 'evaluation', 'report', 'selection'); "
        "print(*(f'bunrui.{name}' in sys.modules for name in names)); "
        "print(*(getattr(bunrui, name).__name__ for name in names))"
    )
    before, after = run_python(code).splitlines()
    assert before.split() == ["False"] * 5
    assert after.split() == [
        f"bunrui.{name}" for name in ("datasets", "documents", "evaluation", "report", "selection")
    ]
