"""`class_norm` and `against_rest` of the estimators: scikit-learn's checks, other ways to the same numbers, laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.base import clone
from sklearn.naive_bayes import MultinomialNB as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from bunrui.errors import OptionError
from bunrui.estimators import (
    TWCNB,
    BernoulliNB,
    BinaryNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultilabelNB,
    MultinomialNB,
)
from bunrui.models import linear
from tests.estimators.test_discrete import data
from tests.estimators.test_discrete_laws import Rows, bits, fitted, rows
from tests.support.examples import examples

ESTIMATORS = [
    MultinomialNB(class_norm=True, against_rest=True),
    MultinomialNB(class_norm=True, alpha=0.01),
    MultinomialNB(against_rest=True),
    MultinomialNB(class_norm=True, against_rest=True, smoothing="mle", prior="smoothed"),
    BinaryNB(class_norm=True),
    BinaryNB(against_rest=True, smoothing="mle"),
    MixedNB(class_norm=True, against_rest=True),
    BernoulliNB(against_rest=True),
    BernoulliNB(against_rest=True, smoothing="mle"),
]
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
resting = pytest.mark.parametrize("estimator", [each for each in ESTIMATORS if each.against_rest], ids=repr)


@parametrize_with_checks(ESTIMATORS[:1])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS[1:])
def test_the_checks_of_scikit_learn_on_the_others(estimator: Any, check: Any) -> None:
    check(estimator)


@resting
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("fractions", [False, True], ids=["counts", "fractions"])
def test_the_pairs_of_multilabel(estimator: Any, form: Any, fractions: bool) -> None:
    """`MultilabelNB` holds every label against its rest by a table of both."""
    X, y, Q = data(1, fractions=fractions)
    own = clone(estimator).set_params(against_rest=False, prior="empirical")
    labels = MultilabelNB(own).fit(X, [[label] for label in y])
    ours = clone(estimator).set_params(prior="empirical").fit(form(X), y)
    assert ours.classes_.tolist() == labels.classes_.tolist()
    expected = labels.predict_log_odds(Q)
    # Without smoothing, terms of 230 cancel.
    room = 1e-10 if estimator.smoothing == "mle" else 1e-12
    np.testing.assert_allclose(ours.predict_joint_log_proba(form(Q)), expected, rtol=1e-12, atol=room)
    assert ours.predict(Q).tolist() == ours.classes_[expected.argmax(axis=1)].tolist()


@resting
def test_two_classes(estimator: Any) -> None:
    """The rest is the other class: the score is the difference of both, once with each sign."""
    X, y, Q = data(2)
    y = y == "sport"
    both = clone(estimator).set_params(against_rest=False).fit(X, y).predict_joint_log_proba(Q)
    found = clone(estimator).fit(X, y).predict_joint_log_proba(Q)
    np.testing.assert_allclose(found[:, 1], both[:, 1] - both[:, 0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found[:, 0], -found[:, 1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", [MultinomialNB, BinaryNB, MixedNB])
@pytest.mark.parametrize("alpha", [1.0, 1e-3, "each"])
def test_class_norm_is_a_fit_of_shares(kind: Any, alpha: Any) -> None:
    """scikit-learn on one row for each class, which has the shares of its features."""
    X, y, Q = data(3)
    classes, codes = np.unique(y, return_inverse=True)
    alpha = np.random.default_rng(5).uniform(1e-4, 2, X.shape[1]) if alpha == "each" else alpha
    trains = X if kind is not BinaryNB else (X > 0).astype(int)
    reads = Q if kind is MultinomialNB else (Q > 0).astype(int)
    sums = np.array([trains[codes == c].sum(axis=0) for c in range(len(classes))])
    peer = Peer(alpha=alpha, class_prior=np.bincount(codes) / len(y))
    peer.fit(sums / sums.sum(axis=1, keepdims=True), classes)
    ours = kind(alpha=alpha, class_norm=True).fit(X, y)
    assert ours.classes_.tolist() == peer.classes_.tolist()
    np.testing.assert_allclose(ours.feature_log_prob_, peer.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(ours.predict_joint_log_proba(Q), peer.predict_joint_log_proba(reads), rtol=1e-12)
    np.testing.assert_array_equal(ours.feature_count_, sums)


def test_a_small_class_is_smoothed_as_a_large_one() -> None:
    """Twice the rows of a class change its prior, and nothing else."""
    X, y, Q = data(4)
    more = np.flatnonzero(y == "weather")
    X2, y2 = np.vstack([X, X[more]]), np.concatenate([y, y[more]])
    for class_norm in (True, False):
        once, twice = (MultinomialNB(class_norm=class_norm, prior="uniform").fit(*xy) for xy in ((X, y), (X2, y2)))
        same = np.allclose(once.predict_joint_log_proba(Q), twice.predict_joint_log_proba(Q), rtol=1e-12)
        assert same == class_norm


# What attributes mean


@resting
def test_attributes_are_of_the_class_itself(estimator: Any) -> None:
    X, y, _ = data(5)
    found, plain = (clone(estimator).set_params(against_rest=rest).fit(X, y) for rest in (True, False))
    for name in ("feature_log_prob_", "class_log_prior_", "feature_count_", "class_count_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
    if not isinstance(estimator, BernoulliNB) and estimator.smoothing != "mle":
        np.testing.assert_allclose(np.exp(found.feature_log_prob_).sum(axis=1), 1, rtol=1e-12)


@resting
def test_scores_are_odds(estimator: Any) -> None:
    """log P(c, row) / P(not c, row): by the probabilities that attributes have."""
    X, y, Q = data(6)
    clf = clone(estimator).fit(X, y)
    for c, label in enumerate(clf.classes_):
        pair = clone(estimator).set_params(against_rest=False, prior="empirical").fit(X, y == label)
        side = pair.predict_joint_log_proba(Q) - pair.class_log_prior_
        prior = clf.class_log_prior_[c]
        expected = prior - np.log1p(-np.exp(prior)) + side[:, 1] - side[:, 0]
        np.testing.assert_allclose(clf.predict_joint_log_proba(Q)[:, c], expected, rtol=1e-11, atol=1e-10)


def test_options_are_read_when_somebody_asks() -> None:
    X, y, Q = data(7)
    for kind in (MultinomialNB, BinaryNB, MixedNB):
        clf, before = kind().fit(X, y), kind().fit(X, y).predict_joint_log_proba(Q)
        for options in ({"class_norm": True}, {"against_rest": True}, {"class_norm": True, "against_rest": True}):
            found = clf.set_params(class_norm=False, against_rest=False).set_params(**options)
            expected = kind(**options).fit(X, y).predict_joint_log_proba(Q)
            assert found.predict_joint_log_proba(Q).tobytes() == expected.tobytes() != before.tobytes()
        clf.set_params(class_norm=False, against_rest=False)
        assert clf.predict_joint_log_proba(Q).tobytes() == before.tobytes()
    assert "class_norm" not in BernoulliNB().get_params()
    for kind in (ComplementNB, TWCNB):
        assert not {"class_norm", "against_rest"} & kind().get_params().keys()


# Hostile rows


@every
def test_classes_without_rows_and_without_words(estimator: Any) -> None:
    X, y, Q = data(8)
    X = np.vstack([X, np.zeros((3, X.shape[1]), int)])
    y = np.concatenate([y, ["empty"] * 3])
    clf = clone(estimator).partial_fit(X, y, classes=[*np.unique(y), "never"])
    with np.errstate(all="raise", under="ignore"):
        found = clf.predict_joint_log_proba(Q)
        assert np.isfinite(clf.feature_log_prob_).all()
    never = clf.classes_.tolist().index("never")
    kept = np.delete(found, never, axis=1)
    assert np.isfinite(kept).all()
    if clf.prior == "empirical":
        assert (found[:, never] == -np.inf).all()
        assert (clf.predict_proba(Q)[:, never] == 0).all()


@every
@pytest.mark.parametrize("X", [[[1], [2]], [[0], [0]], [[3], [0]]], ids=str)
def test_one_column_and_one_class(estimator: Any, X: Any) -> None:
    for y in (["a", "a"], ["a", "b"]):
        clf = clone(estimator).fit(X, y)
        assert np.isfinite(clf.predict_joint_log_proba([[0], [1], [7]])).all()
        np.testing.assert_allclose(clf.predict_proba([[0], [1]]).sum(axis=1), 1, rtol=1e-12)


@every
def test_many_cells(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where features × classes are many, only the cells of the columns that occur are weighed."""
    X, y, Q = data(9)
    Q[:, 10:20] = 0
    expected = clone(estimator).fit(X, y).predict_joint_log_proba(Q)
    monkeypatch.setattr(linear, "DENSE_CELLS", 0)
    for form in (np.asarray, sparse.csr_array):
        found = clone(estimator).fit(X, y).predict_joint_log_proba(form(Q))
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-10)


# Laws


@every
@given(a=rows(), b=rows())
@settings(max_examples=examples(15))
def test_merging_and_unlearning(estimator: Any, a: Rows, b: Rows) -> None:
    whole = fitted(estimator, a, b)
    assert bits(fitted(estimator, b).merge(fitted(estimator, a))) == bits(whole)
    assert bits(whole.unlearn(*b)) == bits(fitted(estimator, a))


@pytest.mark.parametrize("estimator", [MultinomialNB(against_rest=True), BernoulliNB(against_rest=True)], ids=repr)
def test_multilabel_does_it_by_itself(estimator: Any) -> None:
    X, y, _ = data(10)
    with pytest.raises(OptionError, match="MultilabelNB holds each label against the rest by itself"):
        MultilabelNB(estimator).fit(X, [[label] for label in y])


def test_multilabel_with_class_norm() -> None:
    """Both sides of a label are normalised, as those of a classifier of two classes."""
    X, y, Q = data(11)
    clf = MultilabelNB(MultinomialNB(class_norm=True, alpha=0.01)).fit(X, [[label] for label in y])
    for c, label in enumerate(clf.classes_):
        pair = MultinomialNB(class_norm=True, alpha=0.01).fit(X, y == label).predict_joint_log_proba(Q)
        np.testing.assert_allclose(clf.predict_log_odds(Q)[:, c], pair[:, 1] - pair[:, 0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("make", [MultinomialNB, GaussianNB, CategoricalNB])
def test_lambda_of_the_prior(make: Any) -> None:
    """(n + λ) / (N + λK)."""
    X, y = np.array([[1, 0], [0, 1], [1, 1], [0, 2]]), np.array([0, 1, 1, 1])
    found = clone(make(prior=("smoothed", 0.5))).fit(X, y).class_log_prior_
    np.testing.assert_allclose(found, np.log([1.5 / 5, 3.5 / 5]), rtol=1e-12)
    with pytest.raises(OptionError, match=r"^λ of a smoothed prior should be above 0, not -1$"):
        make(prior=("smoothed", -1)).fit(X, y)
