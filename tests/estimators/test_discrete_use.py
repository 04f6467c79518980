"""The discrete estimators where scikit-learn's stood: pipelines, searches, data frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import MultinomialNB as Peer
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

import bunrui
from bunrui import estimators
from bunrui.data import read
from bunrui.errors import MismatchError
from bunrui.estimators import TWCNB, BernoulliNB, BinaryNB, ComplementNB, MixedNB, MultinomialNB, TextVectorizer
from tests.support.examples import quick

ALL = [MultinomialNB, BinaryNB, MixedNB, BernoulliNB, ComplementNB, TWCNB]
every = pytest.mark.parametrize("estimator", ALL)

ROWS = read("demo")[:300]
TEXTS, LABELS = [row["text"] for row in ROWS], np.array([row["label"] for row in ROWS])


@every
def test_pipeline_and_grid(estimator: Any) -> None:
    pipeline = make_pipeline(TextVectorizer(analyzer="universal"), estimator())
    name = estimator.__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__alpha": [0.1, 1.0], f"{name}__smoothing": ["eap"]}, cv=3)
    search.fit(TEXTS, LABELS)
    assert search.best_score_ > 0.65
    assert search.predict(TEXTS[:5]).tolist() == LABELS[:5].tolist()


@pytest.mark.parametrize("estimator", quick(1, ALL))
def test_calibration_and_cross_validation(estimator: Any) -> None:
    X = TextVectorizer(analyzer="universal").fit_transform(TEXTS)
    found = cross_val_predict(estimator(), X, LABELS, cv=3)
    assert (found == LABELS).mean() > 0.55
    proba = cross_val_predict(estimator(), X, LABELS, cv=3, method="predict_proba")
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    assert np.unique(LABELS)[proba.argmax(axis=1)].tolist() == found.tolist()
    for method in ("sigmoid", "isotonic"):
        calibrated = CalibratedClassifierCV(estimator(), method=method, cv=3).fit(X, LABELS)
        assert calibrated.classes_.tolist() == np.unique(LABELS).tolist()
        assert (calibrated.predict(X) == LABELS).mean() > 0.8


def test_in_an_ensemble() -> None:
    """scikit-learn's bagging passes weights."""
    X = TextVectorizer(analyzer="universal").fit_transform(TEXTS)
    ours, theirs = (BaggingClassifier(clf, 3, random_state=1).fit(X, LABELS) for clf in (MultinomialNB(), Peer()))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


@every
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames(estimator: Any, frame: Any) -> None:
    columns = {"tea": [2, 0, 1, 0], "milk": [1, 0, 2, 1], "ham": [0, 3, 0, 1]}
    X, y = frame(columns), ["drink", "food", "drink", "food"]
    clf = estimator().fit(X, y)
    assert clf.feature_names_in_.tolist() == ["tea", "milk", "ham"]
    plain = estimator().fit(np.column_stack(list(columns.values())), y)
    np.testing.assert_array_equal(clf.feature_log_prob_, plain.feature_log_prob_)
    assert clf.predict(X).tolist() == y
    turned = frame({name: columns[name] for name in ("milk", "ham", "tea")})
    for call in (clf.predict, lambda X: clf.partial_fit(X, y), lambda X: clf.unlearn(X, y)):
        with pytest.raises(ValueError, match="feature names"):
            call(turned)
    with pytest.raises(MismatchError, match="other names or another order"):
        clf.merge(estimator().fit(turned, y))
    assert estimator().merge(clf).feature_names_in_.tolist() == ["tea", "milk", "ham"]


def test_an_alpha_by_column_name() -> None:
    X, y = pd.DataFrame({"tea": [2, 0], "ham": [0, 3]}), ["drink", "food"]
    named = MultinomialNB(alpha={"ham": 0.5}).fit(X, y)
    np.testing.assert_allclose(named.feature_log_prob_, MultinomialNB(alpha=[1.0, 0.5]).fit(X, y).feature_log_prob_)


def test_labels_in_a_series() -> None:
    X = pd.DataFrame({"a": [1, 0, 3], "b": [0, 2, 0]})
    for labels in (
        pd.Series(["x", "y", "x"]),
        pd.Series(["x", "y", "x"], dtype="category"),
        pl.Series(["x", "y", "x"]),
    ):
        assert MultinomialNB().fit(X, labels).predict(X).tolist() == ["x", "y", "x"]


@every
def test_html(estimator: Any) -> None:
    shown = estimator_html_repr(estimator().fit([[1, 0], [0, 1]], ["a", "b"]))
    assert estimator.__name__ in shown
    assert "Fitted" in shown


@every
def test_public_names(estimator: Any) -> None:
    assert getattr(bunrui, estimator.__name__) is estimator
    assert estimator.__name__ in bunrui.__all__
    assert estimator.__name__ in estimators.__all__
    assert repr(clone(estimator())) == f"{estimator.__name__}()"


def test_the_input_stays_as_it_is() -> None:
    """Duplicates of a sparse matrix are summed in a copy."""
    X = sparse.csr_matrix((np.array([1.0, 2, 3]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = X.data.copy()
    for estimator in ALL:
        clf = estimator().fit(X, ["a", "b"])
        clf.predict(X)
        dense = estimator().fit(X.toarray(), ["a", "b"])
        np.testing.assert_array_equal(clf.feature_log_prob_, dense.feature_log_prob_)
        np.testing.assert_array_equal(clf.predict_joint_log_proba(X), dense.predict_joint_log_proba(X.toarray()))
    np.testing.assert_array_equal(X.data, before)
