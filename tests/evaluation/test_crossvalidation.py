"""Folds, and cross-validation against learning every fold from scratch."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bunrui import TextClassifier
from bunrui.errors import DataError, OptionError
from bunrui.evaluation import CrossValidation, cross_validate, find_duplicates, folds
from bunrui.evaluation.crossvalidation import Fold
from bunrui.models import MODELS
from tests.support.examples import examples

# --- which rows


def check_partition(found: list[Fold], n: int) -> None:
    tested = np.concatenate([fold.test for fold in found])
    assert sorted(tested.tolist()) == list(range(n))
    for fold in found:
        assert np.array_equal(np.sort(np.concatenate(fold)), np.arange(n))
        assert (np.diff(fold.train) > 0).all()
        assert (np.diff(fold.test) > 0).all()


@given(k=st.integers(2, 6), labels=st.lists(st.sampled_from("abc"), min_size=6, max_size=40), seed=st.integers(0, 9))
def test_stratified_folds_share_every_label_out(k: int, labels: list[str], seed: int) -> None:
    found = folds(len(labels), labels, k, seed=seed)
    check_partition(found, len(labels))
    for label, n in Counter(labels).items():
        shares = [sum(labels[row] == label for row in fold.test.tolist()) for fold in found]
        assert set(shares) <= {n // k, -(-n // k)}
    sizes = [len(fold.test) for fold in found]
    assert max(sizes) - min(sizes) <= 1


def test_stratified_folds_of_label_sets() -> None:
    labels = [["a"], ["a", "b"]] * 10
    for fold in folds(20, labels, 5):
        assert sorted(len(labels[row]) for row in fold.test.tolist()) == [1, 1, 2, 2]


@given(n=st.integers(5, 40), k=st.integers(2, 5))
def test_plain_folds(n: int, k: int) -> None:
    found = folds(n, None, k, kind="plain")
    check_partition(found, n)
    sizes = [len(fold.test) for fold in found]
    assert max(sizes) - min(sizes) <= 1


@given(groups=st.lists(st.integers(0, 9), min_size=10, max_size=50), k=st.integers(2, 4))
def test_grouped_folds_keep_groups_together(groups: list[int], k: int) -> None:
    if len(set(groups)) < k:
        few = f"{len(set(groups))} groups cannot be cut into {k} folds: give at most {len(set(groups))} folds"
        with pytest.raises(DataError, match=few if len(set(groups)) > 1 else "all rows are in one group, which leaves"):
            folds(len(groups), None, k, kind="grouped", groups=groups)
        return
    found = folds(len(groups), None, k, kind="grouped", groups=groups)
    check_partition(found, len(groups))
    for fold in found:
        assert {groups[row] for row in fold.train}.isdisjoint(groups[row] for row in fold.test)
    # The last group of the fullest fold went to what was the emptiest then.
    sizes = [len(fold.test) for fold in found]
    assert max(sizes) - min(sizes) <= max(Counter(groups).values())


def test_duplicates_are_groups() -> None:
    text = "a text that somebody has sent twice, with all of its words in the same order and none added"
    texts = [text, "another", text, "one more", "the last"]
    for fold in folds(5, None, 2, kind="grouped", groups=find_duplicates(texts).keys):
        assert (0 in fold.test) == (2 in fold.test)


@given(times=st.lists(st.integers(0, 12), min_size=4, max_size=40), k=st.integers(1, 4))
def test_time_goes_on(times: list[int], k: int) -> None:
    if len(set(times)) <= k:
        few = (
            f"{len(set(times))} different times cannot be cut into {k + 1} parts, .* at most {len(set(times)) - 1} fold"
        )
        with pytest.raises(DataError, match=few if len(set(times)) > 1 else "all rows have the same time"):
            folds(len(times), None, k, kind="time", times=times)
        return
    found = folds(len(times), None, k, kind="time", times=times)
    assert len(found) == k
    for fold in found:
        assert max(times[row] for row in fold.train) < min(times[row] for row in fold.test)
    tested = np.concatenate([fold.test for fold in found]).tolist()
    assert len(set(tested)) == len(tested)
    # All that came before is learned, and nothing after the first part is left untested.
    assert sorted([*found[0].train.tolist(), *tested]) == list(range(len(times)))
    for earlier, later in pairwise(found):
        assert sorted([*earlier.train.tolist(), *earlier.test.tolist()]) == later.train.tolist()


def test_times_are_whatever_sorts() -> None:
    days = [date(2026, 1, 1) + timedelta(days=7 * k % 20) for k in range(20)]
    expected = folds(20, k=3, kind="time", times=[day.toordinal() for day in days])
    for times in (days, [day.isoformat() for day in days], np.array(days, "datetime64[D]")):
        for fold, other in zip(expected, folds(20, k=3, kind="time", times=times), strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(fold, other, strict=True))
    assert [len(fold.test) for fold in expected] == [5, 5, 5]


def test_without_times_rows_are_in_order() -> None:
    assert [(fold.train.tolist(), fold.test.tolist()) for fold in folds(6, k=2, kind="time")] == [
        ([0, 1], [2, 3]),
        ([0, 1, 2, 3], [4, 5]),
    ]


def test_the_same_seed_gives_the_same_folds() -> None:
    labels = ["a", "b"] * 20
    one, same, other = (folds(40, labels, 4, seed=seed)[0].test.tolist() for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "random"}, "there is no kind 'random': choose one of stratified, plain, grouped, time"),
        ({"k": 1}, "k should be a whole number, at least 2, not 1"),
        ({"k": 2.0}, "k should be a whole number, at least 2, not 2.0"),
        ({"k": 0, "kind": "time", "times": [1, 2, 3]}, "k should be a whole number, at least 1, not 0"),
        ({}, "kind='stratified' needs labels: give them, or choose kind='plain'"),
        ({"kind": "grouped"}, "groups= and kind='grouped' go together: give both"),
        ({"kind": "plain", "groups": [1, 2, 3]}, "groups= and kind='grouped' go together: give both"),
        ({"kind": "plain", "times": [1, 2, 3]}, "times= goes with kind='time': give both"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message.replace("(", "\\(")):
        folds(3, None, **{"k": 2, **options})


def test_rows_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="3 rows cannot be cut into 5 folds"):
        folds(3, ["a", "b", "c"], 5)
    with pytest.raises(DataError, match=r"^1 row cannot be cut into 2 folds: give more rows$"):
        folds(1, ["a"], 2)
    with pytest.raises(DataError, match="there are 3 rows and 2 groups: give one for each row"):
        folds(3, None, 2, kind="grouped", groups=[1, 2])
    with pytest.raises(DataError, match="there are 3 texts and 2 labels"):
        folds(3, ["a", "b"], 2)


# --- cross-validation

words = st.sampled_from("abcdefgh")
documents = st.lists(st.lists(words, max_size=6), min_size=6, max_size=14)


def from_scratch(texts: list[Any], labels: list[Any], found: list[Fold], **options: Any) -> dict[int, list[float]]:
    """The scores of every row, without subtraction."""
    classes = sorted({name for label in labels for name in ([label] if isinstance(label, str) else label)})
    scores = {}
    for train, test in found:
        clf = TextClassifier(**options).learn([texts[k] for k in train], [labels[k] for k in train])
        for row, own in zip(test.tolist(), clf.scores([texts[k] for k in test]), strict=True):
            by_class = dict(zip(clf.classes_.tolist(), own.tolist(), strict=True))
            scores[row] = [by_class.get(name, -np.inf) for name in classes]
    return scores


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@settings(max_examples=examples(12))
def test_folds_by_subtraction_equal_folds_from_scratch(model: str, data: st.DataObject) -> None:
    texts = data.draw(documents)
    label: st.SearchStrategy[Any] = st.sampled_from("xyz")
    if data.draw(st.booleans()):
        label = st.sets(label, min_size=1, max_size=2)
    labels = data.draw(st.lists(label, min_size=len(texts), max_size=len(texts)))
    kind = data.draw(st.sampled_from(["stratified", "plain", "grouped", "time"]))
    extra = {"grouped": {"groups": list(range(len(texts)))}, "time": {"times": list(range(len(texts)))}}.get(kind, {})
    found = folds(len(texts), labels, data.draw(st.integers(2, 4)), kind=kind, **extra)
    options = {
        "model": model,
        "unseen": data.draw(st.sampled_from(["ignore", "smooth"])),
        "min_df": data.draw(st.integers(1, 2)),
        "max_features": data.draw(st.sampled_from([None, 3])),
    }
    crossed = cross_validate(TextClassifier(**options), texts, labels, found)
    expected = from_scratch(texts, labels, found, **options)
    assert crossed.rows.tolist() == sorted(expected)
    assert crossed.scores.tolist() == [expected[row] for row in sorted(expected)]
    assert crossed.predictions.tolist() == crossed.classes[crossed.scores.argmax(axis=1)].tolist()


def test_what_comes_back() -> None:
    texts = ["cheap pills", "pills now", "cheap now", "meeting at noon", "lunch at noon", "meeting lunch"]
    labels = ["spam"] * 3 + ["ham"] * 3
    found = folds(6, labels, 3)
    clf = TextClassifier().learn(["kept"], ["as it is"])
    crossed = cross_validate(clf, texts, labels, found)
    assert isinstance(crossed, CrossValidation)
    assert clf.classes_.tolist() == ["as it is"]
    assert crossed.metrics.n == 6
    assert crossed.true == labels
    assert crossed.classes.tolist() == ["ham", "spam"]
    assert len(crossed.per_fold) == 3
    for fold, part in zip(found, crossed.per_fold, strict=True):
        rows = np.searchsorted(crossed.rows, fold.test)
        assert part.predictions.tolist() == crossed.predictions[rows].tolist()
        assert np.array_equal(part.probabilities, crossed.probabilities[rows])
    right = sum(part.metrics.accuracy * part.n for part in crossed.per_fold)
    assert right == pytest.approx(crossed.metrics.accuracy * 6)


def test_a_number_of_folds() -> None:
    texts, labels = ["cheap pills", "pills now", "at noon", "lunch at noon"] * 3, ["spam", "spam", "ham", "ham"] * 3
    one = cross_validate(TextClassifier(), texts, labels, 3)
    other = cross_validate(TextClassifier(), texts, labels, folds(12, labels, 3))
    assert (one.scores == other.scores).all() and len(one.per_fold) == 3
    assert (one.per_fold[1].scores == other.per_fold[1].scores).all()
    wrong: Any = texts
    with pytest.raises(OptionError, match=r"^\['cheap pills'.* is no classifier: give one"):
        cross_validate(wrong, texts, labels, 3)


def test_a_label_that_the_training_rows_had_not() -> None:
    crossed = cross_validate(TextClassifier(), ["a", "a b", "c"], ["x", "x", "y"], [([0, 1], [2])])
    assert crossed.scores[0, 1] == -np.inf
    assert crossed.probabilities.tolist() == [[1.0, 0.0]]
    assert crossed.metrics.accuracy == 0.0


def test_rows_may_be_tested_more_than_once() -> None:
    found = [([0, 1], [2, 3]), ([2, 3], [0, 1]), ([0, 2], [1, 3])]
    crossed = cross_validate(TextClassifier(), ["a", "b", "a", "b"], ["x", "y", "x", "y"], found)
    assert crossed.rows.tolist() == [0, 1, 1, 2, 3, 3]
    assert [part.n for part in crossed.per_fold] == [2, 2, 2]


def test_learning_from_scratch_gives_the_same() -> None:
    texts = [f"word{k % 5} word{k % 3} both" for k in range(20)]
    labels = ["xy"[k % 2] for k in range(20)]
    found = folds(20, labels, 4)
    one, other = (cross_validate(TextClassifier(), texts, labels, found, refit=refit) for refit in (False, True))
    assert np.array_equal(one.scores, other.scores)


@pytest.mark.parametrize("model", ["twcnb", "nbsvm", "arow", "aode"])
def test_trained_models_are_trained_for_every_fold(model: str) -> None:
    texts = [f"{'good' if k % 2 else 'bad'} film {k % 7} {k % 3}" for k in range(24)]
    labels = ["pos" if k % 2 else "neg" for k in range(24)]
    found = folds(24, labels, 3)
    crossed = cross_validate(TextClassifier(model), texts, labels, found)
    expected = from_scratch(texts, labels, found, model=model)
    assert crossed.scores.tolist() == [expected[row] for row in range(24)]
    assert crossed.metrics.accuracy > 0.9


def test_folds_that_make_no_sense() -> None:
    clf, texts, labels = TextClassifier(), ["a", "b", "c"], ["x", "y", "x"]
    for found, message in (
        ([], "there are no folds"),
        ([([], [1])], "a fold has no rows to learn"),
        ([([1], [])], "a fold has no rows to test"),
        ([([0, 1], [1])], "a fold learns row 1 and tests it"),
        ([([0], [3])], "a fold has row 3, but there are 3 documents"),
        ([([-1], [0])], "a fold has row -1"),
    ):
        with pytest.raises(DataError, match=message):
            cross_validate(clf, texts, labels, found)
