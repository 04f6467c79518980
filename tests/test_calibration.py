"""`Calibration`: what it makes of scores, and what it refuses to be made of."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from bunrui import TextClassifier
from bunrui.calibration import MOST_KNOTS, Calibration, digest_of, lengths_of, map_largest
from bunrui.errors import DataError
from bunrui.models import MODELS

PLAIN = Calibration(
    level=0.0,
    slope=0.0,
    confidences=(0.0, 1.0),
    accuracies=(0.0, 1.0),
    thresholds=(0.5, 0.7, 0.9),
    errors=(0.2, 0.1, 0.0),
    model="multinomial",
    options="",
    n_docs=10,
    ece_before=0.1,
    ece_after=0.01,
    log_loss_before=1.0,
    log_loss_after=0.5,
)

finite = st.floats(-1e3, 1e3)
rising = st.lists(st.floats(0, 1), min_size=1, max_size=8).map(sorted)


@st.composite
def maps(draw: st.DrawFn) -> tuple[tuple[float, ...], tuple[float, ...]]:
    places = draw(st.lists(st.floats(0, 1), min_size=1, max_size=8, unique=True).map(sorted))
    values = draw(st.lists(st.floats(0, 1), min_size=len(places), max_size=len(places)).map(sorted))
    return tuple(places), tuple(values)


# --- applying


def test_without_temperature_and_map_it_is_the_softmax() -> None:
    scores = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 5.0]])
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(PLAIN.apply(scores, np.zeros(2)), expected, rtol=1e-12)


def test_the_temperature_grows_with_the_length() -> None:
    # log T = 1 + 2 log(1 + 1): 4 e
    hot = dataclasses.replace(PLAIN, level=1.0, slope=2.0)
    scores = np.array([[3.0, 0.0]])
    expected = 1 / (1 + math.exp(-3 / (4 * math.e)))
    assert hot.apply(scores, np.ones(1))[0, 0] == pytest.approx(expected, rel=1e-12)


def test_the_map_moves_the_largest_and_rescales_the_others() -> None:
    shares = np.array([[0.8, 0.15, 0.05]])
    found = map_largest(shares, np.array([0]), np.array([0.0, 1.0]), np.array([0.5, 0.7]))
    np.testing.assert_allclose(found, [[0.66, 0.34 * 0.75, 0.34 * 0.25]], rtol=1e-12)


def test_two_labels_never_fall_below_a_half() -> None:
    found = map_largest(np.array([[0.9, 0.1]]), np.array([0]), np.array([0.5]), np.array([0.0]))
    assert 0.5 < found[0, 0] < 0.5 + 1e-6


@given(
    scores=npst.arrays(np.float64, npst.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=finite),
    curve=maps(),
    level=st.floats(-3, 3),
    slope=st.floats(-2, 2),
    data=st.data(),
)
def test_rows_add_up_to_one_and_labels_stay(
    scores: np.ndarray, curve: tuple[Any, Any], level: float, slope: float, data: st.DataObject
) -> None:
    n_docs = len(scores)
    lengths = data.draw(npst.arrays(np.float64, n_docs, elements=st.floats(0, 1e9)))
    calibration = dataclasses.replace(PLAIN, level=level, slope=slope, confidences=curve[0], accuracies=curve[1])
    found = calibration.apply(scores, lengths)
    assert np.isfinite(found).all() and (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)
    assert found.argmax(axis=1).tolist() == scores.argmax(axis=1).tolist()


def test_classes_that_cannot_be_get_nothing_where_there_are_others() -> None:
    found = PLAIN.apply(np.array([[0.0, -np.inf, 0.5]]), np.zeros(1))
    assert found[0, 1] == 0
    assert found[0].sum() == pytest.approx(1)


def test_one_class() -> None:
    assert PLAIN.apply(np.array([[-3.0], [0.0]]), np.zeros(2)).tolist() == [[1.0], [1.0]]


def test_scores_too_far_apart_for_a_float_share_the_rest_evenly() -> None:
    sure = dataclasses.replace(PLAIN, accuracies=(0.0, 0.9))
    np.testing.assert_allclose(sure.apply(np.array([[0.0, -1e6, -1e6]]), np.zeros(1)), [[0.9, 0.05, 0.05]])


# --- thresholds


@pytest.mark.parametrize(("error", "threshold"), [(0.5, 0.5), (0.2, 0.5), (0.15, 0.7), (0.1, 0.7), (0.0, 0.9)])
def test_threshold(error: float, threshold: float) -> None:
    assert PLAIN.threshold(error) == threshold


def test_no_threshold_is_high_enough() -> None:
    assert dataclasses.replace(PLAIN, errors=(0.3, 0.2, 0.1)).threshold(0.05) == math.inf


# --- lengths


def test_lengths_are_bytes_whatever_holds_the_texts() -> None:
    texts = ["", "pills", "無料"] * 20
    expected = [0, 5, 6] * 20
    for held in (texts, np.array(texts), pa.array(texts), pa.chunked_array([texts[:7], texts[7:]]), tuple(texts)):
        assert lengths_of(held).tolist() == expected
    assert lengths_of(pa.array(texts).slice(1, 2)).tolist() == [5, 6]
    assert lengths_of(texts[:3]).tolist() == expected[:3]
    assert lengths_of([]).tolist() == []


def test_lengths_of_tokens_and_counts() -> None:
    assert lengths_of([["無料", "a"], []]).tolist() == [9, 0]
    assert lengths_of([{"noon": 3, "a": 0}]).tolist() == [15]


# --- what it was fitted for


def test_settings_that_mean_the_same_have_one_digest() -> None:
    assert digest_of({"a": 1, "b": (1, 2)}) == digest_of({"b": [1.0, 2.0], "a": np.int64(1)})
    assert digest_of({"a": True}) != digest_of({"a": 1})
    assert digest_of({"a": None}) != digest_of({"a": "None"})


@pytest.mark.parametrize("model", ["nbsvm", "arow"])
def test_those_of_another_formula_do_not_apply(model: str) -> None:
    """The digests are those that files had before the heads got another formula; other models keep theirs."""
    digests = {"nbsvm": "933b2dbdc4e476cd0b31838bd39c8a1a", "arow": "9ef3438f3af54da06095a6ee63c2ae93"}
    assert digest_of(TextClassifier(model).settings) != digests[model]
    assert digest_of(TextClassifier("binary-complement").settings) == "dbeaa3b487ea63bd0987dc1209e3930c"


def test_a_classifier_applies_it_to_its_own_model_alone() -> None:
    texts, labels = ["cheap pills now", "meeting at noon", "無料"], ["spam", "ham", "spam"]
    clf = TextClassifier("binary-complement").learn(texts, labels)
    raw, scores = clf.predict_proba(texts), clf.scores(texts)
    clf.set_calibration(dataclasses.replace(PLAIN, accuracies=(0.5, 0.6), options=digest_of(clf.settings)))
    assert clf.is_calibrated and clf.predict_proba(texts).max() < 0.6 < raw.max()
    assert (clf.scores(texts) == scores).all()
    other = clf.with_model("multinomial")
    assert other.calibration is clf.calibration and not other.is_calibrated
    assert other.predict_proba(texts).max() > 0.6
    assert other.with_model(clf.model).is_calibrated
    clf.set_params(alpha=2.0)
    assert not clf.is_calibrated
    clf.set_params(alpha=None)
    assert clf.is_calibrated
    clf.fit(texts, labels)
    assert clf.calibration is None


def test_probabilities_of_a_generator_of_tokens_and_of_nothing() -> None:
    clf = TextClassifier().learn(["cheap pills now", "meeting at noon"], ["spam", "ham"])
    clf.set_calibration(dataclasses.replace(PLAIN, level=1.0, slope=0.5, options=digest_of(clf.settings)))
    texts = ["cheap pills", "noon"]
    expected = clf.predict_proba(texts)
    assert (clf.predict_proba(text for text in texts) == expected).all()
    assert (clf.predict_proba(np.array(texts)) == expected).all()
    assert clf.predict_proba([["cheap"], ["noon", "x"]]).shape == (2, 2)
    assert clf.predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize("model", [*(name for name in MODELS if name != "bernoulli"), "nbsvm", "arow"])
def test_a_text_without_a_known_word_is_no_surer_than_the_prior(model: str) -> None:
    """But for Bernoulli, to which absent words say something."""
    texts, labels = ["cheap pills now", "pills", "meeting at noon"], ["spam", "spam", "ham"]
    clf = TextClassifier(model).learn(texts, labels)
    before = clf.predict_proba([""])
    clf.set_calibration(dataclasses.replace(PLAIN, accuracies=(0.8, 0.9), options=digest_of(clf.settings)))
    found = clf.predict_proba(["", "zzz", "cheap"])
    assert (found[2].max() >= 0.8 > before.max()) and (found[:2] == before).all()
    assert clf.explain("").probabilities["spam"] == before[0, 1]
    assert (clf.probabilities_of(clf.scores(["zzz"]), ["zzz"]) == before).all()
    empty = TextClassifier(model)
    empty.set_calibration(clf.calibration)
    assert empty.probabilities_of(clf.scores(["cheap"]), ["cheap"]).max() == found[2].max()


def test_an_explanation_has_the_probabilities_that_are_predicted() -> None:
    clf = TextClassifier().learn(["cheap pills now", "meeting at noon"], ["spam", "ham"])
    clf.set_calibration(dataclasses.replace(PLAIN, accuracies=(0.5, 0.6), options=digest_of(clf.settings)))
    found = clf.explain("cheap pills")
    expected = dict(zip(["ham", "spam"], clf.predict_proba(["cheap pills"])[0], strict=True))
    assert found.probabilities == expected and list(found.probabilities) == ["spam", "ham"]


# --- JSON


def test_json_and_back() -> None:
    known = json.loads(json.dumps(PLAIN.to_dict()))
    assert Calibration.from_dict(known) == PLAIN


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": math.nan}, "level of a calibration is no number from -100 to 100: nan"),
        ({"level": 101}, "level of a calibration is no number from -100 to 100: 101"),
        ({"slope": "1"}, "slope of a calibration is no number from -10 to 10: '1'"),
        ({"slope": True}, "slope of a calibration is no number from -10 to 10: True"),
        ({"slope": -math.inf}, "slope of a calibration is no number from -10 to 10: -inf"),
        ({"confidences": []}, f"confidences of a calibration are no list of 1 to {MOST_KNOTS} numbers"),
        ({"confidences": [0.5] * 102}, f"confidences of a calibration are no list of 1 to {MOST_KNOTS} numbers"),
        ({"confidences": "0"}, f"confidences of a calibration are no list of 1 to {MOST_KNOTS} numbers"),
        ({"confidences": [0.5, 0.4]}, "confidences of a calibration do not rise"),
        ({"confidences": [0.5]}, "a calibration has another number of confidences than of accuracies"),
        ({"accuracies": [0.9, 0.1]}, "accuracies of a calibration do not rise"),
        ({"accuracies": [0.9, 1.1]}, "accuracies of a calibration is no number from 0 to 1: 1.1"),
        ({"accuracies": [0.9, None]}, "accuracies of a calibration is no number from 0 to 1: None"),
        ({"errors": [0.0, 0.1, 0.2]}, "errors of a calibration do not fall"),
        ({"thresholds": [0.5]}, "a calibration has another number of thresholds than of errors"),
        ({"n_docs": -1}, "n_docs of a calibration is no whole number: -1"),
        ({"n_docs": 1.5}, "n_docs of a calibration is no whole number: 1.5"),
        ({"tx": 1 << 63}, "tx of a calibration is no whole number: 9223372036854775808"),
        ({"ece_after": 2}, "ece_after of a calibration is no number from 0 to 1: 2"),
        ({"log_loss_before": math.inf}, "log_loss_before of a calibration is no number from 0 to 1e+06: inf"),
        ({"options": None}, "a calibration does not name its model and options"),
        ({"model": "x" * 101}, "a calibration does not name its model and options"),
        ({"more": 1}, "a calibration has other fields"),
    ],
)
def test_what_is_no_calibration(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        Calibration.from_dict(PLAIN.to_dict() | change)
    assert str(error.value) == message


@pytest.mark.parametrize("known", [None, [], "x", 3, {}, {"level": 1}])
def test_what_is_no_calibration_at_all(known: Any) -> None:
    with pytest.raises(DataError, match="a calibration has other fields"):
        Calibration.from_dict(known)


@given(
    st.dictionaries(
        st.sampled_from([field.name for field in dataclasses.fields(Calibration)]),
        st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=5),
    )
)
def test_whatever_a_file_says_is_refused_or_gives_probabilities(changes: dict[str, Any]) -> None:
    try:
        found = Calibration.from_dict(PLAIN.to_dict() | changes)
    except DataError:
        return
    shares = found.apply(np.array([[0.0, -5.0, 3.0], [1e9, -1e9, 0.0]]), np.array([0.0, 1e9]))
    assert np.isfinite(shares).all() and found.threshold(0.05) >= 0
