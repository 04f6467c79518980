"""`MultilabelNB`: scikit-learn's checks, brute force, one estimator for each label, thresholds, merging, unlearning."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import naive_bayes as peers
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import bunrui
from bunrui.data import read
from bunrui.errors import DataError, LabelError, MismatchError, OptionError, UnlearnError
from bunrui.estimators import (
    TWCNB,
    BernoulliNB,
    BinaryNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultilabelNB,
    MultinomialNB,
    TextVectorizer,
)
from bunrui.estimators import multilabel as odds_module
from bunrui.models.rest import LEAST_F, best_cut

MODELS = [
    MultinomialNB(alpha=0.3),
    MultinomialNB(alpha=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], prior="smoothed"),
    MultinomialNB(smoothing="mle", prior="uniform"),
    BinaryNB(class_prior=[0.6, 0.4]),
    MixedNB(smoothing="map", alpha=1.5),
    BernoulliNB(alpha=0.5),
    BernoulliNB(binarize=1.0),
    ComplementNB(),
    ComplementNB(norm=True),
    ComplementNB(complement=False, norm=True),
]
every = pytest.mark.parametrize("model", MODELS, ids=repr)
FORMS = [np.asarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]


@parametrize_with_checks([MultilabelNB()])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        MultilabelNB(BinaryNB()),
        MultilabelNB(MixedNB(prior="smoothed")),
        MultilabelNB(BernoulliNB()),
        MultilabelNB(ComplementNB(norm=True)),
        MultilabelNB(threshold="folds"),
    ]
)
def test_the_checks_of_scikit_learn_with_options(estimator: Any, check: Any) -> None:
    check(estimator)


def data(seed: int, n: int = 40) -> tuple[Any, Any, Any]:
    """Counts, an indicator matrix of four labels, and rows to predict."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 4)) < [0.5, 0.3, 0.2, 0.1]).astype(int)
    Y[:4] = np.eye(4)
    X = rng.poisson(0.4 + 1.5 * (Y @ rng.random((4, 6))))
    return X, Y, rng.poisson(1.0, (15, 6))


def names(Y: Any) -> list[set[str]]:
    return [{"dbca"[k] for k in np.flatnonzero(row)} for row in Y]


# --- scores


@every
@pytest.mark.parametrize("form", FORMS)
def test_one_estimator_for_each_label(model: Any, form: Any) -> None:
    X, Y, Q = data(1)
    found = MultilabelNB(model).fit(form(X), Y).predict_log_odds(form(Q))
    for label in range(Y.shape[1]):
        alone = clone(model).fit(X, Y[:, label])
        assert alone.classes_.tolist() == [0, 1]
        scores = alone.predict_joint_log_proba(Q)
        np.testing.assert_allclose(found[:, label], scores[:, 1] - scores[:, 0], rtol=1e-9, atol=1e-9)


@every
def test_blocks_of_labels(model: Any, monkeypatch: Any) -> None:
    """Where the table is too large to keep, and made of a label at a time."""
    X, Y, Q = data(2)
    expected = MultilabelNB(model).fit(X, Y).predict_log_odds(Q)
    monkeypatch.setattr(odds_module, "DENSE_CELLS", 0)
    monkeypatch.setattr(odds_module, "_BLOCK_CELLS", 1)
    for form in (np.asarray, sparse.csr_array):
        found = MultilabelNB(model).fit(form(X), Y).predict_log_odds(form(Q))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_brute_force() -> None:
    X, Y, Q = data(3)
    clf = MultilabelNB(MultinomialNB(alpha=0.7)).fit(X, Y)
    found = clf.predict_log_odds(Q)
    for label in range(4):
        parts = {}
        for side in (0, 1):
            rows = [x for x, y in zip(X.tolist(), Y.tolist(), strict=True) if y[label] == side]
            sums = [sum(row[f] for row in rows) for f in range(6)]
            logs = [math.log((n + 0.7) / (sum(sums) + 6 * 0.7)) for n in sums]
            parts[side] = (math.log(len(rows) / len(X)), logs)
        for q, row in enumerate(Q.tolist()):
            score = {s: prior + sum(n * w for n, w in zip(row, ws, strict=True)) for s, (prior, ws) in parts.items()}
            assert found[q, label] == pytest.approx(score[1] - score[0], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (MultinomialNB(alpha=0.1), peers.MultinomialNB(alpha=0.1)),
        (BernoulliNB(), peers.BernoulliNB()),
        (MultinomialNB(fit_prior=False), peers.MultinomialNB(fit_prior=False)),
    ],
)
def test_parity_with_one_vs_rest(ours: Any, theirs: Any) -> None:
    X, Y, Q = data(4)
    clf, peer = MultilabelNB(ours).fit(X, Y), OneVsRestClassifier(theirs).fit(X, Y)
    assert clf.classes_.tolist() == peer.classes_.tolist()
    assert clf.multilabel_ and peer.multilabel_
    np.testing.assert_allclose(clf.predict_proba(Q), peer.predict_proba(Q), rtol=1e-9)
    np.testing.assert_array_equal(clf.predict(Q), peer.predict(Q))


def test_complement_is_multinomial_without_a_prior() -> None:
    X, Y, Q = data(5)
    complement = MultilabelNB(ComplementNB()).fit(X, Y).predict_log_odds(Q)
    np.testing.assert_allclose(
        complement, MultilabelNB(MultinomialNB(prior="uniform")).fit(X, Y).predict_log_odds(Q), rtol=1e-9, atol=1e-12
    )


@every
def test_weights(model: Any) -> None:
    X, Y, Q = data(6)
    w = np.random.default_rng(7).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), w)
    expected = MultilabelNB(model).fit(X[repeated], Y[repeated]).predict_log_odds(Q)
    np.testing.assert_array_equal(MultilabelNB(model).fit(X, Y, sample_weight=w).predict_log_odds(Q), expected)
    halves = MultilabelNB(model).fit(X, Y, sample_weight=w / 1.0 + 1e-12).predict_log_odds(Q)
    np.testing.assert_allclose(halves, expected, rtol=1e-6, atol=1e-6)


# --- forms of labels


def test_label_sets_and_indicators_agree() -> None:
    X, Y, Q = data(8)
    of_sets = MultilabelNB().fit(X, names(Y))
    binarizer = MultiLabelBinarizer().fit(names(Y))
    of_bits = MultilabelNB().fit(X, binarizer.transform(names(Y)))
    assert of_sets.classes_.tolist() == binarizer.classes_.tolist() == list("abcd")
    np.testing.assert_array_equal(of_sets.predict_log_odds(Q), of_bits.predict_log_odds(Q))
    assert of_sets.predict(Q) == [set(row) for row in binarizer.inverse_transform(of_bits.predict(Q))]
    assert of_sets.score(X, names(Y)) == of_bits.score(X, binarizer.transform(names(Y)))


@pytest.mark.parametrize(
    "form",
    [sparse.csr_matrix, sparse.coo_array, pd.DataFrame, np.ndarray.tolist, lambda Y: Y.astype(bool), lambda Y: Y * 1.0],
)
def test_forms_of_indicators(form: Any) -> None:
    X, Y, Q = data(9)
    expected = MultilabelNB().fit(X, Y).predict(Q)
    found = MultilabelNB().fit(X, form(Y)).predict(Q)
    assert found.dtype.kind == "i"
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "form",
    [
        lambda rows: [sorted(row) for row in rows],
        lambda rows: [tuple(row) for row in rows],
        lambda rows: pd.Series([list(row) for row in rows]),
        lambda rows: [[*row, *row] for row in rows],
    ],
)
def test_forms_of_sets(form: Any) -> None:
    X, Y, Q = data(10)
    expected = MultilabelNB().fit(X, names(Y))
    found = MultilabelNB().fit(X, form(names(Y)))
    assert found.predict(Q) == expected.predict(Q)
    np.testing.assert_array_equal(found.class_count_, expected.class_count_)


def test_one_label_a_row() -> None:
    X, _, Q = data(11)
    y = np.array(["x", "y", "z"])[np.arange(len(X)) % 3]
    clf = MultilabelNB().fit(X, y)
    assert not clf.multilabel_
    assert clf.predict(Q).tolist() == clf.classes_[clf.predict_log_odds(Q).argmax(axis=1)].tolist()
    np.testing.assert_allclose(clf.predict_proba(Q).sum(axis=1), 1)
    same = MultilabelNB().fit(X, [[label] for label in y])
    np.testing.assert_array_equal(same.predict_log_odds(Q), clf.predict_log_odds(Q))


def test_labels_that_none_and_all_have() -> None:
    X, Y, Q = data(12)
    Y[:, 0], Y[:, 1] = 0, 1
    for model in MODELS:
        clf = MultilabelNB(model).fit(X, Y)
        assert clf.predict(Q)[:, :2].tolist() == [[0, 1]] * len(Q)
        assert clf.predict_proba(Q)[:, :2].tolist() == [[0, 1]] * len(Q)
        assert np.isfinite(clf.predict_log_odds(Q)[:, 2:]).all()
    nothing = MultilabelNB().fit(X, [[] for _ in X])
    assert nothing.predict(Q) == [set()] * len(Q)
    assert nothing.partial_fit([[1] * 6], [["new"]]).classes_.tolist() == ["new"]


# --- thresholds


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=12))
def test_the_best_cut(rows: list[tuple[int, bool]]) -> None:
    """No threshold has a better F than the one that was chosen."""
    scores, has = np.array([s for s, _ in rows], float), np.array([h for _, h in rows])

    def f(cut: float) -> float:
        found = scores > cut
        return 2 * float((found & has).sum()) / max(found.sum() + has.sum(), 1)

    cut = best_cut(scores, has, np.ones(len(rows)))
    best = max(f(other) for other in np.arange(-6.5, 6, 0.5))
    if best >= LEAST_F or cut > 0:
        assert f(cut) == pytest.approx(best)
    else:
        assert cut == 0


@every
def test_thresholds_of_folds(model: Any) -> None:
    """As fitting without each fold, and choosing on what was left out."""
    X, Y, _ = data(13, n=60)
    fold = np.arange(60) % 5
    scores = np.empty(Y.shape)
    for k in range(5):
        scores[fold == k] = MultilabelNB(model).fit(X[fold != k], Y[fold != k]).predict_log_odds(X[fold == k])
    expected = [best_cut(scores[:, k], Y[:, k] == 1, np.ones(60)) for k in range(4)]
    clf = MultilabelNB(model, threshold="folds").fit(X, Y)
    np.testing.assert_allclose(clf.thresholds_, expected, rtol=1e-9, atol=1e-9)
    assert any(expected)
    np.testing.assert_array_equal(clf.predict(X), clf.predict_log_odds(X) > clf.thresholds_)
    np.testing.assert_allclose(MultilabelNB(model, threshold="folds").fit(sparse.csr_array(X), Y).thresholds_, expected)


def test_thresholds_that_are_given() -> None:
    X, Y, Q = data(14)
    clf = MultilabelNB().fit(X, names(Y))
    assert clf.thresholds_.tolist() == [0, 0, 0, 0]
    scores = clf.predict_log_odds(Q)
    for threshold, by_label in ((1.5, [1.5] * 4), ([1, 0, -1, 2], [1, 0, -1, 2]), ({"b": -2}, [0, -2, 0, 0])):
        clf.set_params(threshold=threshold)
        assert clf.thresholds_.tolist() == by_label
        expected = [{"abcd"[k] for k in np.flatnonzero(row > by_label)} for row in scores]
        assert clf.predict(Q) == expected
    for threshold in ([1, 2], {"e": 1}, "best", None, float("nan")):
        with pytest.raises(OptionError, match="threshold"):
            MultilabelNB(threshold=threshold).fit(X, names(Y))


# --- learning more, merging, unlearning


@every
def test_parts(model: Any) -> None:
    X, Y, Q = data(15)
    y = names(Y)
    whole = MultilabelNB(model).fit(X, y)
    parts = MultilabelNB(model).partial_fit(X[:7], y[:7]).partial_fit(X[7:20], y[7:20])
    merged = MultilabelNB(model).merge(MultilabelNB(model).fit(X[20:], y[20:])).merge(parts)
    parts.partial_fit(X[20:], y[20:])
    more = MultilabelNB(model).fit(np.vstack([X, Q]), [*y, *([["new", "a"]] * len(Q))])
    less = more.unlearn(Q, [["new", "a"]] * len(Q))
    assert less.classes_.tolist() == list("abcd")
    for other in (parts, merged, less, pickle.loads(pickle.dumps(whole))):
        assert other.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_array_equal(other.predict_log_odds(Q), whole.predict_log_odds(Q))
        assert other.predict(Q) == whole.predict(Q)


def test_parts_of_indicators() -> None:
    X, Y, Q = data(16)
    parts = MultilabelNB().partial_fit(X[:3], Y[:3]).partial_fit(sparse.csr_array(X[3:]), sparse.csr_array(Y[3:]))
    np.testing.assert_array_equal(parts.predict(Q), MultilabelNB().fit(X, Y).predict(Q))
    # A column without rows stays a column.
    parts.unlearn(X[Y[:, 3] == 1], Y[Y[:, 3] == 1])
    assert parts.predict(Q).shape == (len(Q), 4)
    with pytest.raises(DataError, match="3 columns, but 4 labels"):
        parts.partial_fit(X, Y[:, :3])
    with pytest.raises(MismatchError, match="4 and 3 labels"):
        parts.merge(MultilabelNB().fit(X, Y[:, :3]))


def test_unlearning_what_was_not_learned() -> None:
    X, Y, Q = data(17)
    clf = MultilabelNB().fit(X, names(Y))
    before = clf.predict_log_odds(Q)
    for rows, labels in (([[99] * 6], [["a"]]), ([[0] * 6], [["z"]]), (X, [[] for _ in X])):
        with pytest.raises(UnlearnError, match="never learned"):
            clf.unlearn(rows, labels)
    np.testing.assert_array_equal(clf.predict_log_odds(Q), before)


def test_declared_labels() -> None:
    clf = MultilabelNB().partial_fit([[1, 0], [0, 1]], [["a"], []], classes=["a", "b"])
    assert clf.classes_.tolist() == ["a", "b"]
    assert clf.predict([[5, 0]]) == [{"a"}]
    with pytest.raises(LabelError, match="'c' is not among"):
        clf.partial_fit([[1, 0]], [["c"]])


# --- refused


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([["a"], "b"], LabelError, "row 1 has 'b'"),
        ([["a"], [1]], LabelError, "different kinds"),
        (np.array([[2, 0], [0, 1]]), LabelError, "0 and 1 only"),
        ([["a"]], ValueError, "inconsistent numbers of samples"),
    ],
)
def test_wrong_labels(y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        MultilabelNB().fit([[1, 0], [0, 1]], y)


def test_what_does_not_fit_together() -> None:
    X, Y, _ = data(18)
    clf = MultilabelNB().fit(X, Y)
    with pytest.raises(DataError, match="as indicator before, now as sets"):
        clf.partial_fit(X, names(Y))
    with pytest.raises(MismatchError, match="as indicator and as sets"):
        clf.merge(MultilabelNB().fit(X, names(Y)))
    with pytest.raises(MismatchError, match="reads='occurrences' and reads='presence'"):
        clf.merge(MultilabelNB(BinaryNB()).fit(X, Y))
    with pytest.raises(OptionError, match="decided what was counted"):
        clone(clf).fit(X, Y).set_params(estimator=BernoulliNB()).predict(X)
    for estimator in (GaussianNB(), peers.MultinomialNB()):
        with pytest.raises(OptionError, match="estimator should be"):
            MultilabelNB(estimator).fit(X, Y)
    with pytest.raises(OptionError, match="keep the rows"):
        MultilabelNB(TWCNB()).fit(X, Y)
    folds = MultilabelNB(threshold="folds").fit(X, Y)
    for call in (lambda: folds.partial_fit(X, Y), lambda: folds.merge(clf), lambda: folds.unlearn(X, Y)):
        with pytest.raises(OptionError, match="needs all rows at once"):
            call()
    assert not hasattr(clf, "predict_joint_log_proba")


def test_the_formula_may_change() -> None:
    """What was counted does not depend on smoothing, nor on which formula of occurrences reads it."""
    X, Y, Q = data(19)
    clf = MultilabelNB().fit(X, Y)
    for model in (MultinomialNB(alpha=0.01), ComplementNB(norm=True), MixedNB()):
        expected = MultilabelNB(model).fit(X, Y).predict_log_odds(Q)
        np.testing.assert_array_equal(clf.set_params(estimator=model).predict_log_odds(Q), expected)


# --- where scikit-learn's stood


def test_pipeline_search_and_cross_validation() -> None:
    rows = read("demo")[:200]
    texts = [row["text"] for row in rows]
    Y = MultiLabelBinarizer().fit_transform([{row["label"], "even" if k % 2 else "odd"} for k, row in enumerate(rows)])
    pipeline = make_pipeline(TextVectorizer(analyzer="universal"), MultilabelNB(MultinomialNB()))
    grid = {"multilabelnb__estimator__alpha": [0.1, 1.0], "multilabelnb__threshold": [0.0, "folds"]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="f1_micro").fit(texts, Y)
    assert search.best_score_ > 0.5
    X = TextVectorizer(analyzer="universal").fit_transform(texts)
    proba = cross_val_predict(MultilabelNB(), X, Y, cv=3, method="predict_proba")
    np.testing.assert_array_equal(proba > 0.5, cross_val_predict(MultilabelNB(), X, Y, cv=3) == 1)


def test_column_names() -> None:
    X = pd.DataFrame({"tea": [2, 0], "ham": [0, 3]})
    named = MultilabelNB(MultinomialNB(alpha={"ham": 0.5})).fit(X, [["a"], ["b"]])
    plain = MultilabelNB(MultinomialNB(alpha=[1.0, 0.5])).fit(X, [["a"], ["b"]])
    np.testing.assert_array_equal(named.predict_log_odds(X), plain.predict_log_odds(X))
    assert bunrui.MultilabelNB is MultilabelNB
