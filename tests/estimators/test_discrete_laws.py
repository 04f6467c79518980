"""Laws of the discrete estimators: merging and unlearning give the bits of what was never apart, or never learned."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import naive_bayes as peers
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bunrui.errors import LabelError, MismatchError, OptionError, UnlearnError
from bunrui.estimators import TWCNB, BernoulliNB, BinaryNB, CategoricalNB, ComplementNB, MixedNB, MultinomialNB
from tests.support.examples import examples

ESTIMATORS = [
    MultinomialNB(),
    MultinomialNB(smoothing="mle", prior="smoothed"),
    BinaryNB(alpha=0.3),
    MixedNB(smoothing="map"),
    BernoulliNB(),
    ComplementNB(),
    ComplementNB(norm=True, alpha=[0.1, 0.2, 0.3, 0.4]),
    ComplementNB(length_norm=True),
    TWCNB(),
]
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
COLUMNS = 4
FORMS = [np.asarray, sparse.csr_array, sparse.csc_matrix]

Rows = tuple[npt.NDArray[np.int64], list[str]]


# Whole numbers, and labels that come in any order
def rows(least: int = 1) -> st.SearchStrategy[Rows]:
    cells = st.tuples(*[st.integers(0, 4)] * COLUMNS)
    pairs = st.lists(st.tuples(cells, st.sampled_from("pqrs")), min_size=least, max_size=6)
    return pairs.map(lambda drawn: (np.array([row for row, _ in drawn]), [label for _, label in drawn]))


def bits(clf: Any) -> list[Any]:
    """All that a prediction is made of, to the last bit."""
    queries = np.array([[1, 0, 0, 0], [0, 2, 1, 0], [0, 0, 0, 0], [3, 1, 4, 1]])
    return [
        clf.classes_.tolist(),
        clf.class_count_.tobytes(),
        clf.class_log_prior_.tobytes(),
        clf.feature_count_.tobytes(),
        np.ascontiguousarray(clf.feature_log_prob_).tobytes(),
        clf.predict_joint_log_proba(queries).tobytes(),
    ]


def fitted(estimator: Any, *parts: Rows) -> Any:
    return clone(estimator).fit(np.concatenate([X for X, _ in parts]), [label for _, y in parts for label in y])


@every
@given(a=rows(), b=rows(), c=rows())
@settings(max_examples=examples(25))
def test_merging(estimator: Any, a: Rows, b: Rows, c: Rows) -> None:
    """Any order and any brackets, and into an estimator that has learned nothing."""
    expected = bits(fitted(estimator, a, b, c))
    left = fitted(estimator, a).merge(fitted(estimator, b)).merge(fitted(estimator, c))
    right = fitted(estimator, a).merge(fitted(estimator, b).merge(fitted(estimator, c)))
    turned = clone(estimator).merge(fitted(estimator, c)).merge(fitted(estimator, b)).merge(fitted(estimator, a))
    assert bits(left) == bits(right) == bits(turned) == expected


@every
@given(a=rows(), b=rows(), order=st.randoms(use_true_random=False))
@settings(max_examples=examples(25))
def test_learning_row_by_row(estimator: Any, a: Rows, b: Rows, order: Any) -> None:
    """Classes come at any time; the order of rows and the form of the matrix do not matter."""
    pairs = [(row, label) for X, y in (a, b) for row, label in zip(X, y, strict=True)]
    order.shuffle(pairs)
    clf = clone(estimator)
    for row, label in pairs:
        clf.partial_fit(order.choice(FORMS)(row[None, :]), [label])
    assert bits(clf) == bits(fitted(estimator, a, b))


@every
@given(a=rows(), b=rows(), order=st.randoms(use_true_random=False))
@settings(max_examples=examples(25))
def test_unlearning(estimator: Any, a: Rows, b: Rows, order: Any) -> None:
    clf = fitted(estimator, a, b)
    before = bits(clf)
    X, y = b
    places = list(range(len(y)))
    order.shuffle(places)
    for k in places:
        clf.unlearn(order.choice(FORMS)(X[[k]]), [y[k]])
    assert bits(clf) == bits(fitted(estimator, a))
    assert bits(clf.partial_fit(X, y)) == before
    assert bits(clf.unlearn(*b)) == bits(fitted(estimator, a))


@every
@given(a=rows(), label=st.sampled_from("pqrst"), row=st.lists(st.integers(0, 30), min_size=COLUMNS, max_size=COLUMNS))
@settings(max_examples=examples(40))
def test_what_was_never_learned(estimator: Any, a: Rows, label: str, row: list[int]) -> None:
    """Refused with nothing changed, or taken back from counts that could have come from it."""
    clf = fitted(estimator, a)
    before = bits(clf)
    X, y = a
    try:
        clf.unlearn([X[0].tolist(), row], [y[0], label])
    except UnlearnError:
        assert bits(clf) == before
        return
    assert any(label == other for other in y)
    if hasattr(clf, "classes_"):
        assert (clf.feature_count_ >= 0).all()
        assert np.isfinite(clf.predict_joint_log_proba(X)).all()


@every
def test_everything_can_be_taken_back(estimator: Any) -> None:
    a = (np.array([[1, 2, 0, 0], [0, 0, 3, 1]]), ["p", "q"])
    clf = fitted(estimator, a).unlearn(*a)
    with pytest.raises(NotFittedError):
        clf.predict([[1, 0, 0, 0]])
    assert not hasattr(clf, "classes_")
    assert bits(clf.partial_fit(*a)) == bits(fitted(estimator, a))


def test_rows_that_could_not_have_been_there() -> None:
    clf = BernoulliNB().fit([[1, 1], [1, 0]], ["a", "a"])
    with pytest.raises(UnlearnError, match="column 0 is not so in the rows with the label 'a'"):
        clf.unlearn([[0, 1]], ["a"])  # it would leave one row, and two that have column 0
    with pytest.raises(UnlearnError, match="fewer rows with the label 'a'"):
        clf.unlearn([[0, 0]] * 3, ["a"] * 3)
    with pytest.raises(UnlearnError, match="no row has the label 'b'"):
        clf.unlearn([[0, 0]], ["b"])
    multinomial = MultinomialNB().fit([[1, 1], [1, 0]], ["a", "b"])
    with pytest.raises(UnlearnError, match="column 1 is not so in the rows with the label 'a'"):
        multinomial.unlearn([[1, 0]], ["a"])  # no row left, but a count
    kept = TWCNB().fit([[1, 1], [1, 0]], ["a", "b"])
    with pytest.raises(UnlearnError, match="row 1 was never learned with this label and weight") as caught:
        kept.unlearn([[1, 1], [1, 0]], ["a", "a"])
    assert caught.value.row == 1
    assert kept.class_count_.tolist() == [1, 1]


# Fractions and weights

FRACTIONS = np.array([[0.1, 0.2, 0.0], [0.3, 0.7, 0.1], [0.0, 0.9, 1.1], [2.3, 0.0, 0.1]])
LABELS = ["p", "q", "p", "r"]


@pytest.mark.parametrize("estimator", [MultinomialNB(), MixedNB(), ComplementNB(norm=True)], ids=repr)
def test_fractions_are_taken_back_to_rounding_only(estimator: Any) -> None:
    clf = clone(estimator).fit(FRACTIONS, LABELS)
    before = clf.feature_log_prob_.tobytes()
    with pytest.raises(UnlearnError, match="pass exact=False to accept rounding errors"):
        clf.unlearn(FRACTIONS[2:], LABELS[2:])
    assert clf.feature_log_prob_.tobytes() == before
    clf.unlearn(FRACTIONS[2:], LABELS[2:], exact=False)
    never = clone(estimator).fit(FRACTIONS[:2], LABELS[:2])
    assert clf.classes_.tolist() == ["p", "q"]
    np.testing.assert_allclose(clf.feature_log_prob_, never.feature_log_prob_, rtol=1e-12)
    assert clf.feature_count_[0, 2] == 0  # 1.1 - 1.1
    with pytest.raises(UnlearnError, match="never learned"):
        clf.unlearn([[5.5, 0, 0]], ["p"], exact=False)


def test_weights_are_taken_back() -> None:
    X, y = np.eye(3, dtype=int), ["a", "b", "b"]
    clf = MultinomialNB().fit(X, y, sample_weight=[2, 1, 3])
    assert clf.unlearn(X[:1], ["a"], sample_weight=[1]).class_count_.tolist() == [1, 4]
    clf = MultinomialNB().fit(X, y, sample_weight=[0.5, 1, 3])
    with pytest.raises(UnlearnError, match="exactly"):
        clf.unlearn(X[:1], ["a"], sample_weight=[0.5])
    assert clf.unlearn(X[:1], ["a"], sample_weight=[0.5], exact=False).classes_.tolist() == ["b"]


def test_presence_of_fractions_is_exact() -> None:
    for estimator in (BinaryNB(), BernoulliNB()):
        clf = clone(estimator).fit(FRACTIONS, LABELS).unlearn(FRACTIONS[2:], LABELS[2:])
        never = clone(estimator).fit(FRACTIONS[:2], LABELS[:2])
        assert clf.feature_log_prob_.tobytes() == never.feature_log_prob_.tobytes()


def test_kept_rows_are_exact_whatever_they_hold() -> None:
    weights = [0.1, 0.7, 3.0, 0.2]
    clf = TWCNB().fit(FRACTIONS[::-1], LABELS[::-1], sample_weight=weights[::-1])
    clf.unlearn(FRACTIONS[2:], LABELS[2:], sample_weight=weights[2:])
    never = TWCNB().fit(FRACTIONS[:2], LABELS[:2], sample_weight=weights[:2])
    assert clf.feature_log_prob_.tobytes() == never.feature_log_prob_.tobytes()


def test_whole_numbers_of_any_type_are_counts() -> None:
    X, y = np.array([[1, 2], [3, 0], [0, 1]]), ["a", "b", "a"]
    for dtype in (np.float64, np.float32, np.uint8, np.uint64, np.int16):
        clf = MultinomialNB().fit(X.astype(dtype), y).unlearn(X[2:], y[2:])
        assert clf.feature_log_prob_.tobytes() == MultinomialNB().fit(X[:2], y[:2]).feature_log_prob_.tobytes()


@given(a=rows(2), weights=st.lists(st.floats(0.01, 9), min_size=6, max_size=6), cut=st.integers(1, 5))
def test_merging_fractions_is_right_to_rounding(a: Rows, weights: list[float], cut: int) -> None:
    X, y, w = a[0], a[1], weights[: len(a[1])]
    cut = min(cut, len(y) - 1)
    for estimator in (MultinomialNB(), BernoulliNB(), ComplementNB(norm=True)):
        whole = clone(estimator).fit(X, y, sample_weight=w)
        parts = [clone(estimator).fit(X[s], y[s], sample_weight=w[s]) for s in (slice(cut), slice(cut, None))]
        merged = parts[1].merge(parts[0])
        assert merged.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_allclose(merged.feature_log_prob_, whole.feature_log_prob_, rtol=1e-10, atol=1e-13)


# Labels


def test_a_label_is_learned_or_refused() -> None:
    X = np.array([[1, 0], [0, 1]])
    clf = MultinomialNB().partial_fit(X, ["a", "b"], classes=["a", "b"])
    before = clf.feature_log_prob_.tobytes()
    with pytest.raises(LabelError, match=r"the label 'c' is not among classes=\['a', 'b'\]"):
        clf.partial_fit(X, ["a", "c"])
    assert clf.feature_log_prob_.tobytes() == before
    clf.partial_fit(X, ["a", "c"], classes=["c", "d"])
    assert clf.classes_.tolist() == ["a", "b", "c", "d"]
    assert clf.class_count_.tolist() == [2, 1, 1, 0]
    # A class that was declared stays when its rows go.
    assert clf.unlearn(X[:1] * 0 + [[0, 1]], ["c"]).classes_.tolist() == ["a", "b", "c", "d"]
    # Declared after the fact: what is known stays known.
    grown = MultinomialNB().fit(X, ["a", "b"]).partial_fit(X, ["b", "e"], classes=["e"])
    assert grown.classes_.tolist() == ["a", "b", "e"]
    with pytest.raises(LabelError, match="is not among"):
        grown.partial_fit(X, ["a", "f"])


@pytest.mark.parametrize("estimator", [MultinomialNB(), TWCNB()], ids=repr)
def test_kinds_of_labels(estimator: Any) -> None:
    X = np.array([[1, 0], [0, 1]])
    clf = clone(estimator).fit(X, [1, 2])
    for labels in (["1", "2"], np.array(["1", "2"], object)):
        with pytest.raises(LabelError, match=r"one kind|different kinds"):
            clf.partial_fit(X, labels)
    assert clf.partial_fit(X, [10, -3]).classes_.tolist() == [-3, 1, 2, 10]
    assert clf.predict(X).dtype.kind == "i"
    assert clone(estimator).fit(X, ["b", "a"]).partial_fit(X, ["longer than b", "a"]).predict(X).tolist() == ["b", "a"]
    assert clone(estimator).fit(X, np.array(["b", "a"], object)).partial_fit(X, ["c", "d"]).classes_.tolist() == [
        *"abcd"
    ]
    assert clone(estimator).fit(X, [True, False]).classes_.tolist() == [False, True]
    with pytest.raises(LabelError, match="cannot be told apart"):
        clone(estimator).fit(X, np.array([2**63 + 1, 2**63 + 2], np.uint64)).partial_fit(X, [-1, -2])


def test_merging_with_declared_classes() -> None:
    X = np.array([[1, 0], [0, 1]])
    declared = MultinomialNB().partial_fit(X, ["a", "b"], classes=["a", "b", "empty"])
    grown = MultinomialNB().fit(X, ["b", "b"])
    assert clone(grown).fit(X, ["b", "b"]).merge(declared).classes_.tolist() == ["a", "b", "empty"]
    other = MultinomialNB().fit(X, ["c", "c"])
    for one, two in ((declared, other), (other, declared)):
        with pytest.raises(LabelError, match="'c' is not among"):
            one.merge(two)
    assert declared.class_count_.tolist() == [1, 1, 0]
    assert other.class_count_.tolist() == [2]


def test_what_cannot_be_merged() -> None:
    X = np.array([[1, 0], [0, 1]])
    clf = MultinomialNB().fit(X, ["a", "b"])
    with pytest.raises(MismatchError, match="MultinomialNB cannot be merged with BinaryNB"):
        clf.merge(BinaryNB().fit(X, ["a", "b"]))
    with pytest.raises(MismatchError, match="2 and 3 columns"):
        clf.merge(MultinomialNB().fit(np.eye(3), [*"abc"]))
    with pytest.raises(MismatchError, match=r"binarize=0.0 and binarize=1"):
        BernoulliNB().merge(BernoulliNB(binarize=1).fit(X, ["a", "b"]))
    with pytest.raises(MismatchError, match="idf=True and idf=False"):
        ComplementNB(idf=True).fit(X, ["a", "b"]).merge(ComplementNB().fit(X, ["a", "b"]))
    with pytest.raises(OptionError, match="itself"):
        clf.merge(clf)
    with pytest.raises(NotFittedError):
        clf.merge(MultinomialNB())
    # Smoothing and priors are computed from the counts: they may differ.
    assert clf.merge(MultinomialNB(alpha=9, fit_prior=False).fit(X, ["a", "b"])).class_count_.tolist() == [2, 2]


# Parameters


@every
def test_smoothing_and_priors_are_read_when_somebody_asks(estimator: Any) -> None:
    a = (np.array([[1, 2, 0, 0], [0, 0, 3, 1], [1, 1, 1, 0]]), ["p", "q", "q"])
    alpha = 2.5
    clf = clone(estimator).set_params(alpha=None, smoothing="mle").fit(*a)
    first = bits(clf)
    clf.set_params(alpha=alpha, smoothing="eap")
    assert bits(clf) == bits(clone(estimator).set_params(alpha=alpha, smoothing="eap").fit(*a))
    assert bits(clf.set_params(alpha=None, smoothing="mle")) == first
    # An array that changes under the estimator's hands
    if not isinstance(estimator, BernoulliNB):
        each = np.ones(COLUMNS)
        clf.set_params(alpha=each, smoothing="eap")
        ones = bits(clf)
        each[1] = 5
        assert bits(clf) != ones


@every
def test_copies(estimator: Any) -> None:
    a = (np.array([[1, 2, 0, 0], [0, 0, 3, 1], [1, 1, 1, 0]]), ["p", "q", "q"])
    clf = fitted(estimator, a)
    copy = pickle.loads(pickle.dumps(clf))
    assert bits(copy) == bits(clf)
    copy.partial_fit(*a)
    assert bits(clf) == bits(fitted(estimator, a))


def test_what_is_counted_cannot_change() -> None:
    X, y = np.array([[1, 0], [0, 1]]), ["a", "b"]
    for clf, change in [
        (BernoulliNB(), {"binarize": 0.5}),
        (ComplementNB(), {"idf": True}),
        (ComplementNB(log_tf=True), {"log_tf": False}),
    ]:
        clf.fit(X, y).set_params(**change)
        for call in (lambda c: c.predict(X), lambda c: c.partial_fit(X, y), lambda c: c.unlearn(X, y)):
            with pytest.raises(OptionError, match="call fit after changing it"):
                call(clf)
        clf.fit(X, y).predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha should be 0 or more, not -1"),
        ({"alpha": np.nan}, "alpha should be 0 or more"),
        ({"alpha": "1"}, "alpha should be a number"),
        ({"alpha": True}, "alpha should be a number"),
        ({"alpha": [1, 2, 3]}, r"one number for each of 2 columns, not \(3,\)"),
        ({"alpha": [1, -2]}, "alpha should be 0 or more"),
        ({"alpha": ["x", 2]}, "alpha should be a number, or one for each column"),
        ({"alpha": {"x9": 2}}, "alpha names the column 'x9', which X does not have"),
        ({"alpha": 1.0, "smoothing": "map"}, "above 1 with smoothing='map'"),
        ({"alpha": 1.0, "smoothing": "mle"}, "smoothing='mle' takes no alpha"),
        ({"smoothing": "laplace"}, "there is no smoothing 'laplace'"),
        ({"class_prior": [1.0]}, "class_prior should be one number for each of 2 classes"),
        ({"class_prior": [0.0, 0.0]}, r"class_prior should be numbers from 0 on, some above 0, not \[0.0, 0.0\]"),
        ({"class_prior": [1.0, -1.0]}, "class_prior should be numbers from 0 on"),
        ({"class_prior": [1.0, float("nan")]}, "class_prior should be numbers from 0 on"),
        ({"prior": "flat"}, "there is no prior 'flat'"),
        ({"prior": {"a": 1.0}}, "the prior of 'b' should be above 0"),
        ({"prior": "smoothed", "fit_prior": False}, "leave one of the two out"),
    ],
)
def test_parameters_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        MultinomialNB(**options).fit([[1, 0], [0, 1]], ["a", "b"])


def test_bernoulli_has_parameters_of_its_own() -> None:
    X, y = [[1, 0], [0, 1]], ["a", "b"]
    for options, message in [
        ({"alpha": [1, 2]}, "alpha should be one number for all columns"),
        ({"binarize": -1}, "binarize should be a number, 0 or more"),
        ({"binarize": "x"}, "binarize should be a number"),
    ]:
        with pytest.raises(OptionError, match=message):
            BernoulliNB(**options).fit(X, y)
    with pytest.raises(ValueError, match="with binarize=None values lie between 0 and 1"):
        BernoulliNB(binarize=None).fit([[2, 0], [0, 1]], y)


def test_an_alpha_by_name() -> None:
    X, y = np.array([[1, 0], [0, 3]]), ["a", "b"]
    named = MultinomialNB(alpha={"x1": 0.25}).fit(X, y)
    np.testing.assert_allclose(named.feature_log_prob_, MultinomialNB(alpha=[1.0, 0.25]).fit(X, y).feature_log_prob_)


def test_force_alpha() -> None:
    X, y = np.array([[1, 0], [0, 3]]), ["a", "b"]
    for estimator in (MultinomialNB, BernoulliNB, ComplementNB, CategoricalNB):
        for kind in (getattr(peers, estimator.__name__), estimator):
            with pytest.warns(UserWarning, match=r"^alpha too small will result in numeric errors, setting alpha = 1"):
                least = kind(alpha=0, force_alpha=False).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            least.predict(X)
            estimator(alpha=0).fit(X, y)
            estimator(alpha=1e-9, force_alpha=False).fit(X, y)
    with pytest.warns(UserWarning, match="alpha too small"):
        least = MultinomialNB(alpha=0, force_alpha=False).fit(X, y)
    assert least.feature_log_prob_.tobytes() == MultinomialNB(alpha=1e-10).fit(X, y).feature_log_prob_.tobytes()


def test_weights_that_make_no_sense() -> None:
    for weights, message in [
        ([1, -1], "sample_weight should be 0 or more"),
        ([1], "one weight for each of 2 rows"),
        ([0, 0], "zero"),
    ]:
        with pytest.raises(ValueError, match=message):
            MultinomialNB().fit([[1, 0], [0, 1]], ["a", "b"], sample_weight=weights)


def test_a_fit_that_fails_leaves_nothing() -> None:
    clf = MultinomialNB().fit([[1, 0], [0, 1]], ["a", "b"])
    with pytest.raises(ValueError, match="Negative values in data"):
        clf.fit([[-1, 0, 2], [0, 1, 2]], ["a", "b"])
    with pytest.raises(NotFittedError):
        clf.predict([[1, 0]])
