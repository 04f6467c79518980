"""Fitting calibrations: known temperatures are found again, and no input breaks it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.optimize import approx_fprime
from sklearn.isotonic import IsotonicRegression

from bunrui import TextClassifier
from bunrui.calibration import MOST_KNOTS, Blocks, Calibration, _Problem, digest_of, fit_rising
from bunrui.errors import DataError, OptionError
from bunrui.evaluation import Evaluation
from bunrui.selection import calibrate, calibration_for, fit_calibration

TEXTS = ["cheap pills", "pills now", "meeting at noon", "lunch at noon", "", "無料 pills", "see you at noon"] * 6
LABELS = ["spam", "spam", "ham", "ham", "ham", "spam", "ham"] * 6


def drawn(
    n: int, level: float, slope: float, n_classes: int = 4, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores whose softmax over exp(level + slope · log(1 + length)) are the probabilities of the labels."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(10, 3000, n).astype(np.float64)
    logits = rng.normal(size=(n, n_classes)) * 2
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (shares.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    scores = logits * np.exp(level + slope * np.log1p(lengths))[:, None]
    return scores, lengths, np.eye(n_classes, dtype=bool)[np.minimum(labels, n_classes - 1)]


def test_a_temperature_is_found_again() -> None:
    scores, lengths, own = drawn(8000, -1.0, 0.8)
    found = fit_calibration(scores, lengths, own)
    assert found.slope == pytest.approx(0.8, abs=0.05) and found.level == pytest.approx(-1.0, abs=0.3)
    assert found.ece_before > 0.2 and found.ece_after < 0.02
    assert found.log_loss_after < found.log_loss_before / 3


def test_it_holds_on_documents_that_it_has_not_seen() -> None:
    scores, lengths, own = drawn(8000, 2.0, 0.5)
    found = fit_calibration(scores[:4000], lengths[:4000], own[:4000])
    classes = ["a", "b", "c", "d"]
    evaluation = Evaluation(
        true=[classes[k] for k in own[4000:].argmax(axis=1)],
        predictions=[classes[k] for k in scores[4000:].argmax(axis=1)],
        probabilities=found.apply(scores[4000:], lengths[4000:]),
        classes=classes,
    )
    assert evaluation.ece < 0.03


def test_the_gradient_is_that_of_the_loss() -> None:
    scores, lengths, own = drawn(50, 0.0, 1.0)
    scores[3, 1] = -np.inf
    own[7] = [True, True, False, False]
    own[3] = [True, False, False, False]
    problem = _Problem(scores, own, np.log1p(lengths) - 6)
    for at in ([1.0, 0.5], [4.0, -1.0], [7.0, 2.0]):
        numeric = approx_fprime(np.array(at), lambda p: problem.loss(p)[0], 1e-6)
        np.testing.assert_allclose(problem.loss(at)[1], numeric, rtol=1e-3, atol=1e-5)


def test_scores_in_other_units_give_the_same_probabilities() -> None:
    scores, lengths, own = drawn(500, 0.0, 1.0)
    one, other = fit_calibration(scores, lengths, own), fit_calibration(scores * 1000, lengths, own)
    np.testing.assert_allclose(one.apply(scores, lengths), other.apply(scores * 1000, lengths), atol=1e-4)


def test_answers_above_a_threshold_are_as_wrong_as_asked_on_other_documents() -> None:
    asked = (0.05, 0.1)  # by what the probabilities of the fitted documents expect, .054 and .107 are wrong
    share, answered = np.zeros((2, 10, len(asked)))
    # Of 20,000 others 6,000 are above the second threshold, and their share of wrong answers is .1 ± .004 by chance.
    others, other_lengths, other_own = drawn(200_000, 0.0, 1.0, seed=99)
    right = other_own[np.arange(200_000), others.argmax(axis=1)]
    for seed in range(10):
        found = fit_calibration(*drawn(3000, 0.0, 1.0, seed=seed))
        sure = found.apply(others, other_lengths).max(axis=1)
        for k, error in enumerate(asked):
            threshold = found.threshold(error)
            assert found.error_above(threshold) <= error  # what is said beside the answers
            enough = sure >= threshold
            share[seed, k], answered[seed, k] = (~right[enough]).mean(), enough.mean()
    assert (share.mean(axis=0) <= asked).all(), share.mean(axis=0)
    assert (answered.mean(axis=0) >= [0.1, 0.25]).all(), answered.mean(axis=0)


def test_no_error_is_promised_that_so_few_documents_cannot_tell() -> None:
    scores = np.tile([9.0, 0.0], (40, 1))
    found = fit_calibration(scores, np.full(40, 10.0), np.tile([True, False], (40, 1)))
    assert found.thresholds == (0.0,) and found.errors[0] > 0.01
    assert (found.threshold(0.1), found.threshold(0.01)) == (0.0, np.inf)


def test_whoever_allows_all_errors_gets_all_answers() -> None:
    scores, lengths, own = drawn(200, 0.0, 1.0)
    assert fit_calibration(scores, lengths, own).threshold(1.0) == 0


def assert_sound(found: Calibration) -> None:
    """It can be written down and read again, and has all that it should."""
    assert Calibration.from_dict(found.to_dict()) == found
    assert len(found.confidences) <= MOST_KNOTS


@given(
    scores=npst.arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 4)),
        elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -np.inf]),
    ),
    data=st.data(),
)
def test_whatever_the_scores(scores: np.ndarray, data: st.DataObject) -> None:
    scores[np.isneginf(scores).all(axis=1)] = 0.0
    own = data.draw(npst.arrays(np.bool_, scores.shape))
    lengths = data.draw(npst.arrays(np.float64, len(scores), elements=st.floats(0, 1e6)))
    found = fit_calibration(scores, lengths, own)
    assert_sound(found)
    shares = found.apply(scores, lengths)
    assert np.isfinite(shares).all()
    assert shares.argmax(axis=1).tolist() == scores.argmax(axis=1).tolist()


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_all_right_is_sure_but_not_certain(n: int) -> None:
    scores = np.tile([9.0, 0.0], (n, 1))
    found = fit_calibration(scores, np.full(n, 10.0), np.tile([True, False], (n, 1)))
    assert_sound(found)
    sure = found.apply(scores, np.full(n, 10.0))[0, 0]
    assert 0.5 < sure <= 1 - 1 / (n + 2) + 1e-12


def test_more_documents_that_are_right_make_it_surer() -> None:
    sure = []
    for n in (3, 30, 300):
        scores, lengths = np.tile([9.0, 0.0], (n, 1)), np.full(n, 10.0)
        sure.append(fit_calibration(scores, lengths, np.tile([True, False], (n, 1))).apply(scores, lengths)[0, 0])
    assert sure == sorted(sure) and sure[-1] > 0.98


def test_all_wrong_is_as_unsure_as_can_be() -> None:
    scores = np.tile([9.0, 0.0, -1.0], (50, 1))
    found = fit_calibration(scores, np.full(50, 10.0), np.tile([False, True, False], (50, 1)))
    assert_sound(found)
    assert found.apply(scores, np.full(50, 10.0))[0, 0] < 0.55


def test_documents_that_are_all_empty() -> None:
    found = fit_calibration(np.zeros((10, 2)), np.zeros(10), np.eye(2, dtype=bool)[[0, 1] * 5])
    assert_sound(found)
    np.testing.assert_allclose(found.apply(np.zeros((1, 2)), np.zeros(1)), 0.5, atol=1e-6)


def test_many_steps_are_few_knots() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(60_000, 2)) * 3
    own = np.zeros((60_000, 2), bool)
    own[np.arange(60_000), (rng.random(60_000) < 1 / (1 + np.exp(scores[:, 0] - scores[:, 1]))).astype(int)] = True
    assert_sound(fit_calibration(scores, np.full(60_000, 9.0), own))


# --- classifiers


def test_a_classifier_in_memory() -> None:
    clf = TextClassifier("binary-complement").learn(TEXTS, LABELS)
    scores = clf.scores(TEXTS)
    found = calibrate(clf, TEXTS, LABELS)
    assert clf.calibration is found and clf.is_calibrated
    assert (found.n_docs, found.model, found.options) == (42, clf.model, digest_of(clf.settings))
    assert (clf.scores(TEXTS) == scores).all()
    np.testing.assert_array_equal(clf.predict_proba(TEXTS).argmax(axis=1), scores.argmax(axis=1))


def test_to_fit_changes_nothing() -> None:
    clf = TextClassifier().learn(TEXTS, LABELS)
    assert calibration_for(clf, TEXTS, LABELS) == calibrate(TextClassifier(), TEXTS, LABELS)
    assert clf.calibration is None


def test_several_labels_of_which_any_is_right() -> None:
    labels = [["spam", "ad"] if label == "spam" else ["ham"] for label in LABELS]
    clf = TextClassifier().learn(TEXTS, labels)
    found = calibrate(clf, TEXTS, labels)
    assert_sound(found)
    assert clf.predict_proba(["cheap pills"]).shape == (1, 3)


@pytest.mark.parametrize("model", ["nbsvm", "arow", "twcnb", "aode"])
def test_models_that_are_trained_take_folds(model: str) -> None:
    clf = TextClassifier(model).learn(TEXTS, LABELS)
    found = calibrate(clf, TEXTS, LABELS)
    assert_sound(found)
    assert clf.is_calibrated
    assert clf.predict_proba(TEXTS).argmax(axis=1).tolist() == clf.scores(TEXTS).argmax(axis=1).tolist()


@pytest.mark.parametrize("options", [{"max_features": 5}, {"model": "multinomial", "class_norm": True}])
def test_options_that_depend_on_every_document_take_folds(options: dict[str, object]) -> None:
    clf = TextClassifier(**options).learn(TEXTS, LABELS)  # type: ignore[arg-type]
    assert_sound(calibrate(clf, TEXTS, LABELS))
    assert clf.is_calibrated


def test_token_lists_and_counts() -> None:
    tokens = [text.split() for text in TEXTS]
    clf = TextClassifier().learn(tokens, LABELS)
    calibrate(clf, tokens, LABELS)
    assert clf.predict_proba([["pills"], []]).shape == (2, 2)


def test_a_label_with_one_document() -> None:
    texts, labels = [*TEXTS, "a star was found"], [*LABELS, "news"]
    assert_sound(calibrate(TextClassifier().learn(texts, labels), texts, labels))


@pytest.mark.parametrize(
    ("texts", "labels", "kind", "message"),
    [
        (["a"], ["x"], DataError, "one document cannot be predicted by others: give at least two"),
        (["a", "b"], ["x", "x"], DataError, "all documents have the same label: there is nothing to calibrate"),
        (["a", "b"], None, OptionError, "the texts came without labels: give both"),
        (None, None, OptionError, "this classifier keeps no texts: give the texts and their labels"),
    ],
)
def test_what_cannot_be_calibrated(texts: object, labels: object, kind: type[Exception], message: str) -> None:
    clf = TextClassifier()
    with pytest.raises(kind) as error:
        calibrate(clf, texts, labels)
    assert str(error.value) == message and clf.calibration is None


@pytest.mark.data
@pytest.mark.parametrize("model", ["binary-complement", "multinomial"])
def test_sms_spam(data_folder: Path, model: str) -> None:
    table = pq.read_table(data_folder / "sms_spam" / "all.parquet", columns=["label", "text"])
    order = np.random.default_rng(0).permutation(table.num_rows)
    train, test = (table.take(order[a:b]) for a, b in ((0, 4400), (4400, None)))
    clf = TextClassifier(model).learn(train["text"], train["label"])
    true = test["label"].to_pylist()

    def evaluation() -> Evaluation:
        return Evaluation(
            true=true,
            predictions=clf.predict(test["text"]),
            probabilities=clf.predict_proba(test["text"]),
            classes=clf.classes_,
        )

    raw = evaluation()
    calibrate(clf, train["text"], train["label"])
    calibrated = evaluation()
    assert calibrated.metrics.accuracy == raw.metrics.accuracy
    assert calibrated.ece < 0.015 and calibrated.log_loss < raw.log_loss / 2


def test_the_options_are_part_of_it() -> None:
    clf = TextClassifier("multinomial", alpha={"pills": 2.0}, prior={"spam": 0.5, "ham": 0.5}).learn(TEXTS, LABELS)
    found = calibrate(clf, TEXTS, LABELS)
    assert clf.is_calibrated and len(found.options) == 32
    assert not clf.with_model(prior="uniform").is_calibrated
    assert dataclasses.replace(found, options="").options != found.options


# --- pool adjacent violators, against scikit-learn's


points = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1), st.integers(1, 3)), min_size=1, max_size=40)


@given(points)
def test_as_scikit_learn_does(drawn: list[tuple[int, int, int]]) -> None:
    places, values, weights = np.array(drawn, np.float64).T
    found = fit_rising(places, values, weights)
    assert (np.diff(found.values) > 0).all() and (np.diff(found.places) > 0).all()
    assert found.weights.sum() == weights.sum()
    expected = IsotonicRegression().fit(places, values, sample_weight=weights).predict(places)
    values_of_blocks, block = np.unique(np.round(expected, 9), return_inverse=True)
    by_block = np.bincount(block, weights)
    np.testing.assert_allclose(found.values, values_of_blocks, atol=1e-8)
    np.testing.assert_allclose(found.weights, by_block)
    np.testing.assert_allclose(found.places, np.bincount(block, weights * places) / by_block)


@given(points, st.integers(1, 10))
def test_fewer_blocks_keep_the_sums(drawn: list[tuple[int, int, int]], n: int) -> None:
    places, values, weights = np.array(drawn, np.float64).T
    every = fit_rising(places, values, weights)
    few = every.at_most(n)
    assert len(few.values) <= max(n, 1) and (np.diff(few.values) >= 0).all() and (np.diff(few.places) >= 0).all()
    for one, other in ((every.places, few.places), (every.values, few.values)):
        np.testing.assert_allclose((one * every.weights).sum(), (other * few.weights).sum())


def test_few_enough_blocks_stay_as_they_are() -> None:
    blocks = Blocks(np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.ones(2))
    assert blocks.at_most(2) is blocks
