from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bunrui import AnalyzerSpec, TextClassifier
from bunrui.data import read
from bunrui.errors import NotLearnedError, OptionError
from bunrui.models import MODELS

ROWS = read("demo")
TEXTS, LABELS = [row["text"] for row in ROWS], [row["label"] for row in ROWS]
QUERIES = [row["text"] for row in read("queries")] + ["", "never seen zzz", "again again again talks talks"]


@pytest.mark.parametrize(
    "options", [{}, {"min_df": 2}, {"max_features": 300, "prior": "uniform"}, {"smoothing": "mle"}]
)
@pytest.mark.parametrize("model", MODELS)
def test_predictions_are_equal(model: str, options: dict[str, object]) -> None:
    clf = TextClassifier(model, **options).learn(TEXTS[:200], LABELS[:200])
    pipeline = clf.to_sklearn()
    assert isinstance(pipeline, Pipeline)
    assert pipeline.classes_.tolist() == clf.classes_.tolist()
    assert pipeline.predict(QUERIES).tolist() == clf.predict(QUERIES).tolist()
    np.testing.assert_allclose(pipeline.predict_proba(QUERIES), clf.predict_proba(QUERIES), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("analyzer", ["words", AnalyzerSpec(name="words", words=2, stop_words=["the"]), str.split])
def test_any_analyzer(analyzer: object) -> None:
    clf = TextClassifier("multinomial", analyzer=analyzer).learn(TEXTS[:100], LABELS[:100])
    assert clf.to_sklearn().predict(TEXTS[100:150]).tolist() == clf.predict(TEXTS[100:150]).tolist()


def test_labels_that_have_gone() -> None:
    clf = TextClassifier().learn(["a", "b", "c c"], ["x", "y", "z"]).unlearn(["a"], ["x"])
    pipeline = clf.to_sklearn()
    assert pipeline.classes_.tolist() == ["y", "z"]
    assert pipeline.predict(["b", "c"]).tolist() == ["y", "z"]


def test_later_learning_does_not_reach_it() -> None:
    clf = TextClassifier().learn(["a", "b"], ["x", "y"])
    pipeline = clf.to_sklearn()
    clf.learn(["a a a"] * 3, ["y"] * 3)
    assert pipeline.predict(["a"]).tolist() == ["x"]
    clone(pipeline)


def test_what_cannot_be_exported() -> None:
    with pytest.raises(NotLearnedError):
        TextClassifier().to_sklearn()
    with pytest.raises(OptionError, match="scikit-learn ignores words that were never learned"):
        TextClassifier(unseen="smooth").learn(["a"], ["x"]).to_sklearn()
