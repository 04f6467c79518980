"""The discrete estimators: scikit-learn's own checks, and its numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes as peers
from sklearn.utils.estimator_checks import parametrize_with_checks

from bunrui.errors import OptionError
from bunrui.estimators import TWCNB, BernoulliNB, BinaryNB, ComplementNB, MixedNB, MultinomialNB
from bunrui.models import linear

ALL = [MultinomialNB, BinaryNB, MixedNB, BernoulliNB, ComplementNB, TWCNB]
RELATIVE = 1e-10

# Classes of different sizes whose sorted order is not that of their coming.
LABELS = np.array(["sport", "経済", "arts", "weather"])
FORMS: dict[str, Any] = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr matrix": sparse.csr_matrix,
    "csc matrix": sparse.csc_matrix,
    "csr array": sparse.csr_array,
    "csc array": sparse.csc_array,
    "coo array": sparse.coo_array,
}


@parametrize_with_checks([estimator() for estimator in ALL])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        MultinomialNB(smoothing="mle", prior="smoothed"),
        BernoulliNB(smoothing="map", binarize=0.5),
        ComplementNB(norm=True, log_tf=True),
        ComplementNB(complement=False, idf=True, transform_queries=True),
    ]
)
def test_the_checks_of_scikit_learn_with_options(estimator: Any, check: Any) -> None:
    check(estimator)


def data(seed: int, *, fractions: bool = False, n_rows: int = 60, n_columns: int = 37) -> tuple[Any, Any, Any]:
    """Rows, labels and queries; one row and some columns are empty."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(4, n_rows, p=[0.5, 0.3, 0.15, 0.05])
    codes[:4] = range(4)
    rates = rng.gamma(0.3, 2.0, (4, n_columns))
    X, Q = rng.poisson(rates[codes]), rng.poisson(rates[rng.choice(4, 25)])
    X[7], X[:, 5], Q[3] = 0, 0, 0
    if fractions:
        X, Q = X * rng.random(X.shape), Q * rng.random(Q.shape)
    return X, LABELS[codes], Q


def peer_of(estimator: Any, **options: Any) -> tuple[Any, Any, Any]:
    """scikit-learn's model, and what it is to read in training and in prediction."""
    identity, clip = (lambda X: X), (lambda X: (X > 0).astype(np.int64))
    kinds = {
        MultinomialNB: (peers.MultinomialNB, identity, identity),
        BinaryNB: (peers.MultinomialNB, clip, clip),
        MixedNB: (peers.MultinomialNB, identity, clip),
        BernoulliNB: (peers.BernoulliNB, identity, identity),
        ComplementNB: (peers.ComplementNB, identity, identity),
    }
    kind, trains, reads = kinds[estimator]
    return kind(**options), trains, reads


PEERED = [MultinomialNB, BinaryNB, MixedNB, BernoulliNB, ComplementNB]
every = pytest.mark.parametrize("estimator", PEERED)


def compare(ours: Any, theirs: Any, Q: Any, R: Any) -> None:
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.n_features_in_ == theirs.n_features_in_
    more = ("feature_all_",) if isinstance(theirs, peers.ComplementNB) else ()
    assert more or not isinstance(ours, ComplementNB)
    for name in ("class_count_", "feature_count_", "class_log_prior_", "feature_log_prob_", *more):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=RELATIVE, atol=1e-14, err_msg=name)
    for name in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, name)(Q), getattr(theirs, name)(R), rtol=RELATIVE, atol=1e-13)
    scores = theirs.predict_joint_log_proba(R)
    ranked = np.sort(scores, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-9
    assert clear.sum() > len(clear) / 2
    assert ours.predict(Q)[clear].tolist() == theirs.predict(R)[clear].tolist()


@every
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fractions", [False, True], ids=["counts", "fractions"])
def test_parity(estimator: Any, form: str, fractions: bool) -> None:
    X, y, Q = data(1, fractions=fractions)
    theirs, trains, reads = peer_of(estimator, alpha=0.7)
    # Swapping any two classes would fail: their columns differ.
    peer = theirs.fit(trains(X), y)
    for a, b in itertools.combinations(range(4), 2):
        assert not np.allclose(
            peer.predict_joint_log_proba(reads(Q))[:, a], peer.predict_joint_log_proba(reads(Q))[:, b]
        )
    compare(estimator(alpha=0.7).fit(FORMS[form](X), y), peer, FORMS[form](Q), reads(Q))


@every
@pytest.mark.parametrize("weights", ["fractions", "whole", "some zero"])
@pytest.mark.parametrize("form", ["dense", "csr array"])
def test_weights(estimator: Any, weights: str, form: str) -> None:
    X, y, Q = data(2)
    rng = np.random.default_rng(3)
    w = rng.random(len(y)) if weights == "fractions" else rng.integers(0 if weights == "some zero" else 1, 4, len(y))
    theirs, trains, reads = peer_of(estimator)
    ours = estimator().fit(FORMS[form](X), y, sample_weight=w)
    compare(ours, theirs.fit(trains(X), y, sample_weight=w), FORMS[form](Q), reads(Q))
    assert ours._learned.part.is_whole == (weights != "fractions")


PRIORS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"fit_prior": False}, {"fit_prior": False}),
    ({"prior": "uniform"}, {"fit_prior": False}),
    ({"class_prior": [0.1, 0.2, 0.3, 0.4]}, {"class_prior": [0.1, 0.2, 0.3, 0.4]}),
    ({"class_prior": [0.0, 0.2, 0.3, 0.5]}, {"class_prior": [0.0, 0.2, 0.3, 0.5]}),
    (
        {"prior": {"weather": 0.3, "経済": 0.4, "arts": 0.1, "sport": 0.2}},
        {"class_prior": [0.1, 0.2, 0.3, 0.4]},
    ),
]


@pytest.mark.parametrize("estimator", [MultinomialNB, BinaryNB, MixedNB, BernoulliNB])
@pytest.mark.parametrize(("mine", "its"), PRIORS)
def test_priors(estimator: Any, mine: dict[str, Any], its: dict[str, Any]) -> None:
    X, y, Q = data(4)
    theirs, trains, reads = peer_of(estimator, **its)
    with np.errstate(divide="ignore"):  # theirs: the logarithm of 0
        theirs.fit(trains(X), y)
    compare(estimator(**mine).fit(X, y), theirs, Q, reads(Q))


def test_a_smoothed_prior() -> None:
    X, y, Q = data(4)
    sizes = np.array([(y == label).sum() for label in sorted(LABELS)])
    theirs = peers.MultinomialNB(class_prior=(sizes + 1) / (len(y) + 4)).fit(X, y)
    compare(MultinomialNB(prior="smoothed").fit(X, y), theirs, Q, Q)


@every
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 7])
def test_alpha(estimator: Any, alpha: float) -> None:
    X, y, Q = data(5)
    theirs, trains, reads = peer_of(estimator, alpha=alpha)
    theirs.fit(trains(X), y)
    compare(estimator(alpha=alpha).fit(X, y), theirs, Q, reads(Q))
    compare(estimator(alpha=alpha + 1, smoothing="map").fit(X, y), theirs, Q, reads(Q))


@pytest.mark.parametrize("estimator", [MultinomialNB, BinaryNB, MixedNB, ComplementNB])
@pytest.mark.parametrize("form", ["dense", "csr matrix"])
def test_an_alpha_for_each_column(estimator: Any, form: str) -> None:
    X, y, Q = data(6)
    alpha = np.random.default_rng(7).uniform(0.01, 3, X.shape[1])
    theirs, trains, reads = peer_of(estimator, alpha=alpha)
    compare(estimator(alpha=alpha).fit(FORMS[form](X), y), theirs.fit(trains(X), y), FORMS[form](Q), reads(Q))


def test_weight_normalisation() -> None:
    for fractions in (False, True):
        X, y, Q = data(8, fractions=fractions)
        alpha = np.random.default_rng(9).uniform(0.01, 3, X.shape[1])
        for value in (1.0, 0.2, alpha):
            theirs = peers.ComplementNB(norm=True, alpha=value).fit(X, y)
            compare(ComplementNB(norm=True, alpha=value).fit(X, y), theirs, Q, Q)


@pytest.mark.parametrize("binarize", [0.0, 0.3, 2, None])
@pytest.mark.parametrize("form", ["dense", "csr array"])
def test_thresholds(binarize: float | None, form: str) -> None:
    X, y, Q = data(10, fractions=binarize == 0.3)
    if binarize is None:
        X, Q = X > 0, Q > 0
    theirs = peers.BernoulliNB(binarize=binarize).fit(X, y)
    compare(BernoulliNB(binarize=binarize).fit(FORMS[form](X), y), theirs, FORMS[form](Q), Q)


def test_negative_values_are_absent() -> None:
    X, y, Q = data(10)
    X, Q = X - 1.5, Q - 1.5
    compare(BernoulliNB().fit(X, y), peers.BernoulliNB().fit(X, y), Q, Q)


@every
@pytest.mark.parametrize("form", ["dense", "csc matrix"])
def test_in_pieces(estimator: Any, form: str) -> None:
    X, y, Q = data(11)
    theirs, trains, reads = peer_of(estimator, alpha=0.5)
    declared, growing = estimator(alpha=0.5), estimator(alpha=0.5)
    for start in range(0, 60, 7):
        rows = slice(start, start + 7)
        classes = sorted(LABELS) if start == 0 else None
        theirs.partial_fit(trains(X[rows]), y[rows], classes)
        declared.partial_fit(FORMS[form](X[rows]), y[rows], classes)
        growing.partial_fit(FORMS[form](X[rows]), y[rows])
        compare(declared, theirs, FORMS[form](Q), reads(Q))
    compare(growing, theirs, FORMS[form](Q), reads(Q))
    at_once = estimator(alpha=0.5).fit(X, y)
    np.testing.assert_array_equal(growing.feature_log_prob_, at_once.feature_log_prob_)


@every
def test_a_class_that_was_declared_and_has_no_rows(estimator: Any) -> None:
    X, y, Q = data(12)
    theirs, trains, reads = peer_of(estimator)
    classes = ["a", *sorted(LABELS), "語"]
    theirs.partial_fit(trains(X), y, classes)
    ours = estimator().partial_fit(X, y, classes)
    compare(ours, theirs, Q, reads(Q))
    if estimator is not ComplementNB:
        assert (ours.predict_proba(Q)[:, [0, -1]] == 0).all()


@every
@pytest.mark.parametrize("share", [False, True])
def test_many_cells(estimator: Any, share: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where features × classes are many, only the cells of the columns that occur are weighed."""
    X, y, Q = data(13)
    Q[:, ::3] = 0
    alpha = np.linspace(0.1, 2, X.shape[1]) if share and estimator is not BernoulliNB else 0.4
    dense = estimator(alpha=alpha).fit(X, y)
    expected = dense.predict_joint_log_proba(Q)
    monkeypatch.setattr(linear, "DENSE_CELLS", 10)
    for form in (np.asarray, sparse.csr_matrix):
        found = estimator(alpha=alpha).fit(X, y)
        np.testing.assert_allclose(found.predict_joint_log_proba(form(Q)), expected, rtol=1e-12)
        nothing = found.predict_joint_log_proba(form(Q[:3] * 0))
        np.testing.assert_allclose(nothing, dense.predict_joint_log_proba(Q[:3] * 0), rtol=1e-12)


def test_a_hundred_thousand_classes() -> None:
    """The table would have 10 ** 10 cells; what is not zero are 200,000."""
    n = 100_000
    X = sparse.csr_array(
        (np.ones(2 * n, int), np.column_stack([np.arange(n), np.full(n, n)]).ravel(), np.arange(n + 1) * 2)
    )
    clf = MultinomialNB().fit(X, np.arange(n))
    assert clf.predict(X[[0, 7, n - 1]]).tolist() == [0, 7, n - 1]
    assert clf.feature_count_.shape == (n, n + 1)
    assert clf.feature_count_.nnz == 2 * n
    with pytest.raises(OptionError, match="too many for a dense table"):
        _ = clf.feature_log_prob_
    with pytest.raises(OptionError, match="too many for a dense table"):
        _ = BernoulliNB().fit(X, np.arange(n)).feature_log_prob_


@every
def test_without_smoothing(estimator: Any) -> None:
    """`mle`, and scikit-learn's alpha=0, are the limit of a vanishing λ, and finite."""
    X, y, Q = data(14, n_columns=120)
    mle, zero = estimator(smoothing="mle").fit(X, y), estimator(alpha=0).fit(X, y)
    assert np.isfinite(mle.predict_joint_log_proba(Q)).all()
    np.testing.assert_array_equal(mle.predict_joint_log_proba(Q), zero.predict_joint_log_proba(Q))
    known = (estimator().fit(X, y).feature_count_ > 0).all(axis=0)
    assert known.sum() > 3
    small = estimator(alpha=1e-12).fit(X[:, known], y)
    mle.fit(X[:, known], y)
    if estimator is BernoulliNB:
        return  # what all rows of a class have makes 1 - P vanish
    np.testing.assert_allclose(mle.feature_log_prob_, small.feature_log_prob_, rtol=1e-9)


def test_fractions_without_smoothing() -> None:
    """A class whose values add up to less than 1 still has probabilities that add up to 1."""
    clf = MultinomialNB(smoothing="mle").fit([[0.1, 0.3], [0.01, 0.01], [0, 0]], ["a", "b", "none"])
    np.testing.assert_allclose(np.exp(clf.feature_log_prob_[:2]), [[0.25, 0.75], [0.5, 0.5]], rtol=1e-12)
    assert clf.predict([[1, 0], [0, 1]]).tolist() == ["b", "a"]


def test_the_sign_of_weight_normalisation() -> None:
    """Dividing by Σw, which is negative, in place of Σ|w| would turn the answer round; one column has Σ|w| = 0."""
    X, y = [[5, 1], [1, 5]], ["A", "B"]
    for norm, complement in itertools.product([False, True], repeat=2):
        clf = ComplementNB(norm=norm, complement=complement).fit(X, y)
        assert clf.predict([[1, 0], [0, 1]]).tolist() == ["A", "B"]
    for estimator in (ComplementNB(norm=True), ComplementNB(norm=True, complement=False), TWCNB()):
        assert np.isfinite(estimator.fit([[5], [1]], y).predict_proba([[3]])).all()


@pytest.mark.parametrize("estimator", ALL)
def test_one_class(estimator: Any) -> None:
    clf = estimator().fit([[1, 2], [0, 1]], ["only", "only"])
    assert clf.predict_proba([[1, 0], [0, 0]]).tolist() == [[1.0], [1.0]]
    assert clf.predict([[1, 0]]).tolist() == ["only"]


def test_whole_numbers_beyond_what_a_float_holds() -> None:
    huge = np.array([[2**62, 1], [1, 2**62]])
    for form in (np.asarray, sparse.csr_array):
        clf = MultinomialNB().fit(form(huge), ["a", "b"])
        clf.partial_fit(form(huge), ["a", "b"])
        np.testing.assert_allclose(clf.feature_count_, [[2.0**63, 2], [2, 2.0**63]], rtol=1e-15)
        assert clf.predict([[1, 0], [0, 1]]).tolist() == ["a", "b"]
    half = np.array([[2**52, 1]])
    clf = MultinomialNB().fit(half, ["a"])
    assert clf._learned.part.is_whole
    assert not clf.partial_fit(half, ["a"])._learned.part.is_whole
