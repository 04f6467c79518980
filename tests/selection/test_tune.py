from __future__ import annotations

import itertools
import json
import time
from typing import Any

import numpy as np
import pytest

from bunrui import AnalyzerSpec, TextClassifier, data
from bunrui.errors import DataError, OptionError
from bunrui.evaluation import cross_validate, folds, leave_one_out, measure
from bunrui.models import MODELS
from bunrui.selection import Settings, Tuning, tune
from bunrui.selection.tune import METRICS, Merit, Trial, choose, measure_merit, standard_error
from tests.support.examples import quick
from tests.support.small import SMALL

SEVERAL = ["a b", "c d", "a c", "a", "d"], [["x"], ["y"], ["x", "y"], ["x"], ["y"]]

ROWS = data.read("demo")
TEXTS, LABELS = [row["text"] for row in ROWS], [row["label"] for row in ROWS]
ENGLISH = [row for row in ROWS if row["lang"] == "en"]
FEW_TEXTS, FEW_LABELS = [row["text"] for row in ENGLISH], [row["label"] for row in ENGLISH]
ONE_BY_ONE = "each by all the others"
IN_PARTS = "each of 5 parts by the others"


@pytest.fixture(scope="module")
def tuned() -> Tuning:
    return tune(TEXTS, LABELS)


# --- what is measured


def test_documents_that_are_left_out_one_by_one(tuned: Tuning) -> None:
    trials = [trial for trial in tuned.trials if trial.how == ONE_BY_ONE]
    assert {trial.settings.model for trial in trials} == set(MODELS)
    changed = {name for trial in trials for name in trial.settings.changed()}
    assert changed >= {"analyzer", "model", "alpha", "min_df", "smoothing"}
    for trial in trials[::3]:
        alone = leave_one_out(trial.settings.classifier(), TEXTS, LABELS)
        assert trial.merit.parts.astype(bool).tolist() == alone.right.tolist()
        assert trial.merit.value == alone.metrics.accuracy


def test_folds_are_those_of_classifiers_from_scratch(tuned: Tuning) -> None:
    trials = [trial for trial in tuned.trials if trial.how == IN_PARTS]
    assert {"nbsvm", "arow"} < {trial.settings.model for trial in trials}
    kinds = {name for trial in trials for name in trial.settings.changed()}
    assert {"class_norm", "against_rest", "max_features"} <= kinds
    parts = folds(len(TEXTS), LABELS, 5)
    rows = np.concatenate([test for _, test in parts])
    for trial in trials:
        found = cross_validate(trial.settings.classifier(), TEXTS, LABELS, parts, refit=True)
        assert trial.merit.parts.astype(bool).tolist() == found.right[rows].tolist(), trial.settings


def test_features_are_those_of_all_documents(tuned: Tuning) -> None:
    for trial in tuned.trials[::7]:
        clf = TextClassifier(analyzer=trial.settings.analyzer).learn(TEXTS, LABELS)
        assert trial.n_features == clf.counts.n_features


@pytest.mark.parametrize("metric", METRICS)
def test_metrics(metric: Any) -> None:
    found = tune(TEXTS, LABELS, metric=metric, budget=1e-9)  # the defaults alone
    alone = leave_one_out(TextClassifier(), TEXTS, LABELS)
    expected = {"accuracy": alone.metrics.accuracy, "macro_f1": alone.metrics.macro.f1, "log_loss": alone.log_loss}
    assert found.value == pytest.approx(expected[metric], rel=1e-6)


def test_the_best_log_loss_is_the_smallest() -> None:
    found = tune(FEW_TEXTS, FEW_LABELS, metric="log_loss", fast=True)
    stored = found.to_dict()
    by_folds = [trial["value"] for trial in stored["trials"] if trial["predicted"] == found.choice.chosen.how]
    assert min(by_folds) == pytest.approx(-found.choice.best.merit.value) and found.value == stored["value"] > 0


def test_macro_f1_is_that_of_metrics_and_its_error_that_of_the_bootstrap() -> None:
    rng = np.random.default_rng(0)
    true = rng.integers(4, size=600) * (rng.random(600) < 0.8)  # some labels are frequent
    own = np.eye(4, dtype=bool)[true]
    pair = [rng.normal(size=(600, 4)) + 1.5 * own for _ in range(2)]
    one, other = (measure_merit("macro_f1", own, scores) for scores in pair)
    names = np.array(list("abcd"))
    assert one.value == pytest.approx(measure(names[true], names[pair[0].argmax(axis=1)]).macro.f1, rel=1e-12)
    drawn = []
    for _ in range(1000):
        rows = rng.integers(600, size=600)
        merits = [measure_merit("macro_f1", own[rows], scores[rows]).value for scores in pair]
        drawn.append(merits[0] - merits[1])
    assert standard_error(one, other) == pytest.approx(np.std(drawn), rel=0.1)


def test_documents_with_several_classes_are_right_with_any() -> None:
    own = np.array([[True, True, False], [False, True, True], [True, False, False]])
    scores = np.log([[0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])
    sets, names = [{"a", "b"}, {"b", "c"}, {"a"}], ["b", "a", "a"]
    expected = measure(sets, names)
    assert measure_merit("accuracy", own, scores).value == pytest.approx(expected.accuracy)
    assert measure_merit("macro_f1", own, scores).value == pytest.approx(expected.macro.f1)
    assert measure_merit("log_loss", own, scores).value == pytest.approx(np.log([0.9, 0.4, 0.6]).mean())


# --- what is chosen


def trial(right: list[int], n_features: int = 100, **settings: Any) -> Trial:
    parts = np.array(right, np.float32)
    return Trial(Settings(**settings), Merit(float(parts.mean()), parts), "by the others", n_features, 0.1)


BEST = [1] * 96 + [0] * 4
WITHIN = [1] * 95 + [0] * 5  # one document less: within one standard error
BEYOND = [1] * 90 + [0] * 10


@pytest.mark.parametrize(
    ("best", "simpler"),
    [
        ({"model": "nbsvm"}, {"model": "binary", "alpha": 0.01, "min_df": 2}),  # counts before what is trained
        ({"model": "binary"}, {}),  # the defaults
        ({"model": "binary", "min_df": 2}, {"model": "mixed"}),
        ({"n_features": 1000}, {"n_features": 100}),
        ({"alpha": 0.03}, {"alpha": 0.1}),  # more smoothing
        ({"smoothing": "mle"}, {"smoothing": "map"}),
        ({"model": "binary", "alpha": 0.03}, {"model": "mixed", "alpha": 0.3}),
    ],
)
def test_the_simpler_within_a_standard_error(best: dict[str, Any], simpler: dict[str, Any]) -> None:
    winner, other = trial(BEST, **best), trial(WITHIN, **simpler)
    for trials in ([winner, other], [other, winner]):
        choice = choose(trials)
        assert choice.chosen is other and choice.best is winner and len(choice.equal) == 2
        assert choice.error == pytest.approx(0.01)
    assert choose([winner, trial(BEYOND, **simpler)]).chosen is winner
    # The other way round the best is also the simplest.
    assert choose([trial(BEST, **simpler), trial(WITHIN, **best)]).chosen.settings == other.settings


def test_equal_ones_are_no_worse() -> None:
    first, second = trial(BEST, model="binary"), trial(BEST)
    assert choose([first, second]).chosen is second


def test_the_chosen_is_what_the_rule_says(tuned: Tuning) -> None:
    trials = [trial for trial in tuned.trials if trial.how == tuned.choice.chosen.how]
    best = max(trials, key=lambda one: one.merit.value)
    right = best.merit.parts.astype(float)
    equal = []
    for one in trials:
        difference = right - one.merit.parts
        if difference.mean() <= difference.std(ddof=1) / np.sqrt(len(right)) + 1e-12:
            equal.append(one)
    assert tuned.choice.chosen in equal and len(equal) == len(tuned.choice.equal)
    assert tuned.choice.chosen is min(equal, key=lambda one: one.simplicity)


def test_tuning_is_better_than_the_defaults_on_these(tuned: Tuning) -> None:
    assert tuned.usual is not None and tuned.choice.chosen.merit.value > tuned.usual.merit.value


def test_tuning_is_held_against_the_automatic_choice() -> None:
    """Where that is not the plain default: few of many words tell a rare label."""
    draw = np.random.default_rng(0)
    labels = ["rare" if k % 10 == 0 else "usual" for k in range(300)]
    words = [f"r{draw.integers(30)}" if label == "rare" else f"u{draw.integers(300)}" for label in labels]
    texts = [" ".join([word, *(f"w{number}" for number in draw.integers(30, size=8))]) for word in words]
    automatic, reason = Settings.automatic(texts, labels, AnalyzerSpec())
    assert automatic != Settings() and not reason
    found = tune(texts, labels, fast=True)
    assert found.trials[0].settings == automatic
    assert found.usual is not None and found.usual.settings == automatic


def test_it_says_why(tuned: Tuning) -> None:
    reason = tuned.reason()
    assert reason.startswith(f"Chosen: {tuned.settings.describe()}. Accuracy {tuned.value:.4f}, documents predicted ")
    assert f"{tuned.n_tried} settings were tried in " in reason and tuned.usual is not None
    assert f"the automatic choice has {tuned.usual.value:.4f}" in reason
    assert "within one standard error of it" in reason
    stored = json.loads(json.dumps(tuned.to_dict()))
    assert stored["settings"] == json.loads(json.dumps(tuned.settings.changed()))
    assert len(stored["trials"]) == len(tuned.trials) and stored["metric"] == "accuracy"


def test_the_same_documents_give_the_same() -> None:
    found, again = tune(FEW_TEXTS, FEW_LABELS), tune(FEW_TEXTS, FEW_LABELS)
    assert [one.settings for one in again.trials] == [one.settings for one in found.trials]
    assert again.settings == found.settings


# --- how it is searched


def test_fast_leaves_out_what_is_trained() -> None:
    found = tune(FEW_TEXTS, FEW_LABELS, fast=True)
    assert not any(one.settings.is_trained for one in found.trials)


def test_given_folds_are_used_for_all() -> None:
    parts = folds(len(TEXTS), k=3, kind="grouped", groups=[row["lang"] for row in ROWS])
    found = tune(TEXTS, LABELS, folds=parts, fast=True)
    assert {one.how for one in found.trials} == {"in 3 parts, each by others"}
    assert {len(one.merit.parts) for one in found.trials} == {len(TEXTS)}
    assert {one.settings.class_norm for one in found.trials} == {False, True}
    # A language has little to learn from the others, which leaving out one document at a time would hide.
    assert found.value < 0.7


def test_a_number_of_folds() -> None:
    found = tune(FEW_TEXTS, FEW_LABELS, folds=3, fast=True)
    assert {one.how for one in found.trials} == {"each of 3 parts by the others"}


def test_orders_follow_the_script() -> None:
    japanese = [row for row in ROWS if row["lang"] == "ja"]
    found = tune([row["text"] for row in japanese], [row["label"] for row in japanese], fast=True)
    specs = {one.settings.analyzer for one in found.trials}
    assert {spec.kana_han for spec in specs} >= {(1, 3), (1, 2)} and {spec.words for spec in specs} == {2}
    english = tune(FEW_TEXTS, FEW_LABELS, fast=True)
    specs = {one.settings.analyzer for one in english.trials}
    assert {spec.kana_han for spec in specs} == {(1, 3)} and {spec.name for spec in specs} == {"universal", "words"}


def test_the_switches_of_an_analyzer_stay() -> None:
    base = AnalyzerSpec(html=True, stop_words=["the"])
    found = tune(FEW_TEXTS, FEW_LABELS, analyzer=base, fast=True)
    assert all(one.settings.analyzer.html and one.settings.analyzer.stop_words for one in found.trials)
    assert found.usual is not None and found.usual.settings == Settings(analyzer=base)


def test_words_alone_have_orders_of_words() -> None:
    found = tune(FEW_TEXTS, FEW_LABELS, analyzer=AnalyzerSpec(name="words"), fast=True)
    assert {one.settings.analyzer.name for one in found.trials} == {"words"}


def test_a_budget_stops_with_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    first = tune(TEXTS, LABELS, budget=1e-9)
    assert [one.settings for one in first.trials] == [Settings()] and first.is_cut_short
    assert first.settings == Settings() and "1 setting was tried" in first.reason()
    assert first.reason().endswith("then the time was up.")
    clock = itertools.count()  # a second passes from one look at it to the next
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    found = tune(TEXTS, LABELS, budget=10.0)
    assert found.is_cut_short and 1 < len(found.trials) <= 10
    assert found.settings in [one.settings for one in found.trials]


def test_a_budget_by_folds_keeps_whole_trials() -> None:
    found = tune(TEXTS, LABELS, folds=5, budget=1e-9)
    assert [one.settings for one in found.trials] == [Settings()] and len(found.trials[0].merit.parts) == len(TEXTS)


def test_it_tells_what_it_tries() -> None:
    told: list[tuple[int, Settings]] = []
    found = tune(
        FEW_TEXTS, FEW_LABELS, fast=True, watch=lambda search, settings: told.append((len(search.trials), settings))
    )
    assert [settings for _, settings in told] == [one.settings for one in found.trials]
    assert told[0] == (0, Settings())


# --- hostile input


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b", "c"], ["x", "x", "x"], "all documents have the label 'x'"),
        ([], [], "there are no documents"),
        (["a"], ["x"], "all documents have the label 'x'"),
        (["a", "b"], ["x"], "there are 2 texts and 1 label"),
    ],
)
def test_nothing_to_tune(texts: list[str], labels: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        tune(texts, labels)


@pytest.mark.parametrize(("texts", "labels"), [*SMALL.values(), SEVERAL], ids=[*SMALL, "several labels"])
@pytest.mark.parametrize("metric", quick(1, METRICS))
def test_small_and_odd_input(texts: list[Any], labels: list[Any], metric: Any) -> None:
    found = tune(texts, labels, metric=metric)
    assert not found.is_cut_short and np.isfinite(found.value)
    found.classifier().learn(texts, labels).predict(texts)


def test_where_nothing_tells_settings_apart_the_defaults_stay() -> None:
    assert tune(["a b", "a c", "d e", "d f"] * 2, ["x", "x", "y", "y"] * 2).settings == Settings()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "recall"}, "there is no metric 'recall': choose one of accuracy, macro_f1, log_loss"),
        ({"budget": 0}, "budget should be seconds, more than 0, not 0"),
        ({"budget": float("nan")}, "budget should be seconds"),
        ({"folds": 1}, "folds should be a whole number, at least 2, not 1"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tune(TEXTS, LABELS, **options)
