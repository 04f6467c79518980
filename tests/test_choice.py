"""The choice of a model: leave-one-out of a sample, exactly; the same whatever the order; obeyed by classifiers."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bunrui
from bunrui import TextClassifier, calibration, choice, classifier
from bunrui.choice import CANDIDATES, PLAIN, Candidate, Choice, choose, is_due
from bunrui.errors import DataError, NotLearnedError, OptionError, StoreError, UnlearnError
from bunrui.evaluation import leave_one_out
from bunrui.memory import Batch
from bunrui.sample import Drawn, LowestDigests
from bunrui.selection import calibrate
from tests.support.choosing import choosing
from tests.support.examples import examples
from tests.support.waiting import PATIENCE

words = st.integers(0, 9).map("w{}".format)
texts_of = st.lists(words, min_size=1, max_size=6).map(" ".join)
documents_of = st.lists(st.tuples(texts_of, st.sampled_from("abc")), min_size=6, max_size=25)

LOSES = "no other model leads by more than a standard error"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "FEWEST", 2)


def drawn_of(clf: TextClassifier) -> Drawn:
    assert isinstance(clf.memory.sample, LowestDigests)
    return clf.memory.sample.draw(len(clf.classes_))


@pytest.mark.parametrize("worth", [0, 1 << 18])
@given(documents=documents_of)
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scores_are_those_without_all_copies(
    worth: int, documents: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each candidate scores a text as a classifier does that has unlearned all its copies."""
    monkeypatch.setattr(choice, "_MANY_CHARACTERS", worth)
    texts, labels = [text for text, _ in documents], [label for _, label in documents]
    clf = TextClassifier().learn(texts, labels)
    drawn = drawn_of(clf)
    found = choice._Corpus(clf.counts, clf.text_analyzer, drawn, clf.get_params())
    scored = [
        (text, label, int(n))
        for text, label, n in zip(drawn.texts, drawn.labels, drawn.copies, strict=True)
        if labels.count(label) > n
    ]
    assert len(scored) == len(found.classes)
    if not scored:
        return
    classes = clf.classes_.tolist()
    for candidate in CANDIDATES:
        found.merit(candidate, "accuracy", first=True)
        if found.has_more:
            found.merit(candidate, "accuracy")
        other = clf.with_model(**candidate._asdict())
        for row, (text, label, n) in enumerate(scored):
            other.unlearn([text] * n, [label] * n)
            columns = [classes.index(name) for name in other.classes_.tolist()]
            np.testing.assert_array_equal(found.scores(candidate)[row, columns], other.scores([text])[0])
            other.learn([text] * n, [label] * n)


@pytest.mark.usefixtures("few")
@given(documents=documents_of, data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_order_and_shards_do_not_matter(documents: list[tuple[str, str]], data: st.DataObject) -> None:
    def learned(part: list[tuple[str, str]]) -> TextClassifier:
        clf = TextClassifier()
        return clf.learn([text for text, _ in part], [label for _, label in part]) if part else clf

    metric = data.draw(st.sampled_from(choice.METRICS))
    at_once = learned(documents).choose(metric)
    shuffled, cut = data.draw(st.permutations(documents)), data.draw(st.integers(0, len(documents)))
    merged = learned(shuffled[:cut]).merge(learned(shuffled[cut:]))
    assert merged.choose(metric) == at_once
    one_by_one = TextClassifier()
    for text, label in shuffled:
        one_by_one.learn([text], [label])
    assert one_by_one.choose(metric) == at_once
    assert one_by_one.calibration == merged.calibration


@pytest.mark.usefixtures("few")
@given(documents=documents_of, more=documents_of)
@settings(max_examples=examples(25), deadline=None)
def test_unlearning_brings_a_choice_back(documents: list[tuple[str, str]], more: list[tuple[str, str]]) -> None:
    clf = TextClassifier().learn([text for text, _ in documents], [label for _, label in documents])
    before = clf.choose(), clf.calibration
    clf.learn([text for text, _ in more], [label for _, label in more])
    clf.unlearn([text for text, _ in more], [label for _, label in more])
    assert (clf.choose(), clf.calibration) == before


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels = choosing(3000)
    found = []
    monkeypatch.setattr(choice, "_MANY_CHARACTERS", 0)
    for n in ("1", "3"):
        monkeypatch.setenv("BUNRUI_THREADS", n)
        clf = TextClassifier().learn(texts, labels)
        found.append((clf.choice, clf.calibration))
    assert found[0] == found[1]


@pytest.mark.parametrize("wins, leads", [(7, False), (8, True)])
def test_a_lead_of_few_documents(wins: int, leads: bool) -> None:
    """Where 3 documents are lost, 7 won are 4 ahead, with a standard error of √10 documents: less than one more."""
    parts = np.concatenate([np.ones(wins), np.zeros(3), np.ones(990)])
    others = np.concatenate([np.zeros(wins), np.ones(3), np.ones(990)])
    weights = np.full(len(parts), 1 / len(parts))
    mine, other = (choice._Merit(PLAIN, float(each.mean()), each, weights) for each in (parts, others))
    assert mine.is_ahead_of(other) == leads


@pytest.mark.parametrize(
    ("limits", "n_best", "n_plain"), [((), 1000, 1000), (["_MANY_CHARACTERS"], 1000, 250), (["_MANY_SCORES"], 500, 500)]
)
def test_a_better_model_is_chosen_and_answers(
    limits: list[str], n_best: int, n_plain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in limits:
        monkeypatch.setattr(choice, limit, 0)
    texts, labels = choosing(1000)
    clf = TextClassifier().learn(texts, labels)
    chosen = clf.model_
    assert chosen is not None and chosen.candidate != PLAIN and not chosen.reason
    evidence = {each.candidate: each for each in chosen.evidence}
    best = evidence[chosen.candidate]
    assert best.lead > best.error and best.n_docs == n_best
    assert best.value == max(each.value for each in chosen.evidence)
    # Candidates that are behind on a quarter, be it the plain default, are not asked about the rest.  Where one leads
    # clearly on a half, the rest is not asked about, nor the model of the plain default with another λ.
    assert evidence[PLAIN].n_docs == n_plain
    again = [each for each in CANDIDATES if each != PLAIN and each.model == PLAIN.model]
    assert again and all((each in evidence) == (limits != ["_MANY_SCORES"]) for each in again)
    assert [each for each in CANDIDATES if each in evidence] == list(evidence)  # of equal ones the first is chosen
    assert abs(best.value - best.lead - evidence[PLAIN].value) < 1e-9
    named = TextClassifier(**chosen.candidate._asdict()).learn(texts, labels)
    new = choosing(200, seed=1)[0]
    np.testing.assert_array_equal(clf.scores(new), named.scores(new))
    assert clf.model == "auto" and clf.get_params()["alpha"] is None
    assert clf.effective_alpha == chosen.candidate.alpha
    assert clf.is_calibrated and clf.calibration is not None and clf.calibration.n_docs == best.n_docs
    assert clf.predict_proba(new).max() < named.predict_proba(new).max()
    assert clf.score(*choosing(500, seed=2)) >= TextClassifier(PLAIN.model).learn(texts, labels).score(
        *choosing(500, seed=2)
    )


def test_a_choice_stays_until_documents_double_or_halve() -> None:
    texts, labels = choosing(400)
    clf = TextClassifier().learn(texts[:100], labels[:100])
    first = clf.choice
    assert first is not None and first.n_docs == 100
    clf.learn(texts[100:199], labels[100:199])
    assert clf.choice is first
    clf.learn(texts[199:200], labels[199:200])
    assert clf.choice is not None and clf.choice.n_docs == 200
    clf.unlearn(texts[:99], labels[:99])
    assert clf.choice.n_docs == 200
    clf.unlearn(texts[99:100], labels[99:100])
    assert clf.choice.n_docs == 100
    clf.merge(TextClassifier().learn(texts[200:210], labels[200:210]))
    assert clf.choice.n_docs == 110
    assert clf.choose("macro_f1").metric == "macro_f1"
    assert [is_due(None, 0, 0), is_due(Choice(n_docs=0), 1, 2)] == [True, True]


@pytest.mark.parametrize(
    ("options", "labels", "reason"),
    [
        ({}, ["a", "b"] * 20, "40 documents are too few to tell"),
        ({}, ["a"] * 80, "there are no two labels to tell apart"),
        ({}, [["a", "b"], ["b"]] * 40, "some documents have several labels"),
        ({"alpha": 0.5}, ["a", "b"] * 40, "alpha is given"),
        ({"smoothing": "mle", "max_features": 9}, ["a", "b"] * 40, "smoothing and max_features are given"),
        ({}, [f"c{k}" for k in range(80)], "only 0 different texts share their label with another document"),
    ],
)
def test_why_the_plain_default_stays(options: dict[str, Any], labels: list[Any], reason: str) -> None:
    clf = TextClassifier(**options).learn([f"w{k} w{k % 3}" for k in range(len(labels))], labels)
    assert clf.model_ is not None
    assert (clf.model_.candidate, clf.model_.reason, clf.model_.evidence) == (PLAIN, reason, ())
    assert clf.model_.describe() == f"binary-complement: {reason}"  # and no λ, which an option may give
    plain = TextClassifier("binary-complement", **options).learn([f"w{k} w{k % 3}" for k in range(len(labels))], labels)
    np.testing.assert_array_equal(clf.scores(["w1 w2"]), plain.scores(["w1 w2"]))
    assert not clf.is_calibrated


def test_nothing_to_choose() -> None:
    assert TextClassifier("binary").model_ is None
    with pytest.raises(OptionError, match="the model is 'binary', and there is nothing to choose"):
        TextClassifier("binary").choose()
    with pytest.raises(OptionError, match="there is no metric 'f2'"):
        TextClassifier().learn(*choosing(60)).choose("f2")
    nothing = TextClassifier().model_
    assert nothing is not None and nothing.reason == "nothing has been learned yet"
    learned = TextClassifier("binary").learn(*choosing(60)).set_params(model="auto")
    assert learned.model_ is not None and learned.model_.reason == "its documents are not kept"
    with pytest.raises(NotLearnedError, match="there are no documents to choose by"):
        learned.choose()


def test_merging_what_keeps_no_sample() -> None:
    texts, labels = choosing(200)
    clf = TextClassifier().learn(texts, labels)
    chosen, calibration = clf.choice, clf.calibration
    clf.merge(TextClassifier("binary").learn(texts, labels))
    assert clf.choice is chosen and clf.calibration is calibration and clf.is_calibrated
    with pytest.raises(NotLearnedError, match="not kept: learn all documents into a new classifier"):
        clf.choose()


def test_merging_a_file_with_its_texts(tmp_path: Path) -> None:
    texts, labels = choosing(300)
    clf, expected = TextClassifier().learn(texts[:100], labels[:100]), TextClassifier().learn(texts, labels)
    with bunrui.create(tmp_path / "a", "multinomial") as other:
        other.learn(texts[100:], labels[100:]).learn(["gone"], ["c0"]).unlearn(["gone"], ["c0"])
        clf.merge(other)
    same_sample(clf, expected)
    assert clf.choice == expected.choice
    with bunrui.create(tmp_path / "b", "multinomial", keep="nothing") as other:
        other.learn(["one more"], ["c0"])
        assert clf.merge(other).choice == expected.choice
    with pytest.raises(NotLearnedError, match="documents that were merged are not kept"):
        clf.choose()


def test_kept_documents_are_a_sample_too() -> None:
    """They are there because a trained model was asked for first."""
    texts, labels = choosing(300)
    expected = TextClassifier().learn(texts, labels).model_
    assert expected is not None and expected.evidence
    trained = TextClassifier("nbsvm").learn(texts[:100], labels[:100]).learn(texts[100:], labels[100:])
    assert TextClassifier().merge(trained).model_ == expected
    assert (
        TextClassifier().learn(texts[:7], labels[:7]).merge(TextClassifier("arow").learn(texts[7:], labels[7:])).model_
        == expected
    )
    twin = trained.with_model("auto")
    assert twin.model_ == twin.choose() == expected
    assert trained.set_params(model="auto").model_ == expected


def test_documents_are_sampled_while_others_are_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample is filled before anybody sees it, and nobody learns meanwhile."""
    texts, labels = choosing(2000)
    clf = TextClassifier("nbsvm").learn(texts[:500], labels[:500])
    has_begun, has_learned, fill = threading.Event(), threading.Event(), LowestDigests.add_batches

    def learn() -> None:
        has_begun.wait(PATIENCE)
        clf.learn(texts[500:], labels[500:])
        has_learned.set()

    def add_batches(self: LowestDigests, batches: Iterable[Batch], n_classes: int) -> None:
        batches = list(batches)
        has_begun.set()
        assert not has_learned.wait(0.2)
        fill(self, batches, n_classes)

    monkeypatch.setattr(LowestDigests, "add_batches", add_batches)
    with ThreadPoolExecutor(1) as pool:
        learning = pool.submit(learn)
        clf.set_params(model="auto")
        learning.result(PATIENCE)
    same_sample(clf, TextClassifier().learn(texts, labels))


@pytest.mark.parametrize("form", [list, tuple, iter, np.array, lambda texts: [text.split() for text in texts]])
def test_a_sample_begins_while_documents_are_counted(monkeypatch: pytest.MonkeyPatch, form: Callable[..., Any]) -> None:
    texts, labels = choosing(80)
    clf, count = TextClassifier("binary"), classifier.count

    def counted(*args: Any) -> Any:
        clf.with_model("auto")
        return count(*args)

    monkeypatch.setattr(classifier, "count", counted)
    clf.learn(form(texts), labels)
    same_sample(clf, TextClassifier().learn(form(texts), labels))


@pytest.mark.parametrize("form", [list, tuple, iter, np.array, pa.array, lambda texts: list(map(tuple, texts))])
def test_a_sample_begins_while_documents_are_taken_back(
    monkeypatch: pytest.MonkeyPatch, form: Callable[..., Any]
) -> None:
    """Another thread begins it, and learns, after the documents were counted."""
    texts, labels = choosing(80)
    clf, count = TextClassifier("binary"), classifier.count

    def counted(*args: Any) -> Any:
        found = count(*args)
        monkeypatch.undo()
        clf.with_model("auto")
        clf.learn(form(texts), labels)
        return found

    monkeypatch.setattr(classifier, "count", counted)
    clf.unlearn(form(texts[40:]), labels[40:])
    same_sample(clf, TextClassifier().learn(form(texts[:40]), labels[:40]))


def test_a_slow_thread_brings_no_older_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels = choosing(1200)
    clf, take_on = TextClassifier().learn(texts[:20], labels[:20]), TextClassifier.take_on
    is_slow, goes_on = threading.Event(), threading.Event()

    def taken_on(self: TextClassifier, choice: Choice | None, *rest: Any) -> None:
        if choice is not None and choice.n_docs == 100:
            is_slow.set()
            goes_on.wait(0.2)
        take_on(self, choice, *rest)

    monkeypatch.setattr(TextClassifier, "take_on", taken_on)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(clf.learn, texts[20:100], labels[20:100])
        is_slow.wait(PATIENCE)
        clf.learn(texts[100:], labels[100:])
        goes_on.set()
        first.result(PATIENCE)
    assert clf.choice is not None and clf.choice.n_docs == 1200


def same_sample(clf: TextClassifier, other: TextClassifier) -> None:
    mine, theirs = drawn_of(clf), drawn_of(other)
    assert (mine.texts, mine.labels) == (theirs.texts, theirs.labels)
    assert np.array_equal(mine.copies, theirs.copies) and np.array_equal(mine.is_common, theirs.is_common)


def test_an_emptied_memory_has_left_out_nothing() -> None:
    """Also labels of another type may come then."""
    texts, labels = choosing(9000, seed=3)
    clf = TextClassifier().learn(texts, labels)
    clf.unlearn(texts, labels)
    numbers = [int(label[1:]) for label in labels[:300]]
    expected = TextClassifier().learn(texts[:300], numbers)
    assert clf.learn(texts[:300], numbers).choose() == expected.choose()


def test_unlearning_another_text_than_was_learned() -> None:
    """Counts take it back, as all its words are there; the sample does not know which text is left, and goes."""
    texts, labels = choosing(200)
    clf = TextClassifier().learn(["Secret  words HERE", *texts], ["c0", *labels])
    before = clf.choice
    with pytest.raises(UnlearnError):
        clf.unlearn(["never seen"], ["c0"])
    assert clf.memory.sample is not None  # nothing was taken back
    clf.unlearn(["secret words here"], ["c0"])
    assert clf.choice is before and b"Secret  words" not in pickle.dumps(clf)
    with pytest.raises(NotLearnedError, match="a text was unlearned that was never learned"):
        clf.choose()
    merged = TextClassifier().learn(texts, labels).merge(clf)
    assert merged.counts.n_docs == 400 and merged.memory.sample is None
    clf.unlearn(texts, labels)
    assert (clf.counts.n_docs, clf.choice, clf.calibration) == (0, None, None)
    assert clf.learn(texts, labels).choice == TextClassifier().learn(texts, labels).choice


@pytest.mark.parametrize(
    ("n_docs", "document", "reason"),
    [
        (60, lambda n: (f"{'long ' * 40_000} {n}", "ab"[n % 2]), "only 0 texts of the sample share their label"),
        (3000, lambda n: (f"pills {n}", f"label {n}"), "only 0 texts of the sample share their label"),
        (60, lambda n: (f"pills {n % 4}", "ab"[n % 2]), "only 4 different texts share their label"),
        (180_000, lambda n: (f"pills {n}", f"label {n // 2}"), "with so many labels, only 46 documents"),
        (49, lambda n: (f"pills {n}", "ab"[n % 2]), "49 documents are too few to tell"),
    ],
)
def test_why_nothing_was_chosen(n_docs: int, document: Callable[[int], tuple[str, str]], reason: str) -> None:
    clf = TextClassifier(analyzer="words").learn(*zip(*map(document, range(n_docs)), strict=True))
    assert clf.choice is not None and clf.choice.reason.startswith(reason)


def test_enough_documents_make_a_choice_due() -> None:
    texts, labels = choosing(60)
    clf = TextClassifier().learn(texts[:49], labels[:49])
    assert clf.choice is not None and not clf.choice.evidence
    assert clf.learn(texts[49:50], labels[49:50]).choice == TextClassifier().learn(texts[:50], labels[:50]).choice
    assert clf.choice.evidence


@pytest.mark.parametrize("in_file", [False, True])
def test_a_calibration_by_the_user_outlives_a_choice_of_the_same_model(in_file: bool, tmp_path: Path) -> None:
    texts, labels = choosing(600)
    clf = bunrui.create(tmp_path / "a") if in_file else TextClassifier()
    clf.learn(texts, labels)
    chosen, mine = clf.choice, calibrate(clf, texts, labels)
    assert clf.choose() == chosen and clf.calibration == mine and clf.is_calibrated
    other = clf.with_model("binary", alpha=1.0)
    calibrate(other, texts, labels)
    clf.set_calibration(other.calibration)
    assert clf.choose() == chosen and clf.calibration != mine and clf.is_calibrated
    mine = calibrate(clf, texts[:300], labels[:300])
    assert clf.choose() == chosen and clf.calibration != mine, "the sample has more documents"


def test_other_options_hold_for_all_candidates() -> None:
    texts, labels = choosing(600)
    for options in (
        {"prior": "uniform"},
        {"min_df": 2},
        {"unseen": "smooth"},
        {"prior": {f"c{k}": 1 + k for k in range(8)}},
    ):
        clf = TextClassifier(**options).learn(texts, labels)
        assert clf.choice is not None and clf.choice.evidence, options
        assert clf.with_model().get_params() == clf.effective_options
        has_norm = any(each.candidate.class_norm for each in clf.choice.evidence)
        assert has_norm == ("min_df" not in options)


def test_with_model() -> None:
    texts, labels = choosing(600)
    clf = TextClassifier().learn(texts, labels)
    assert clf.choice is not None
    assert clf.with_model().model == clf.choice.candidate.model
    assert f"auto, {clf.choice.describe()}" in clf._repr_html_()
    assert clf.with_model().is_calibrated and not clf.with_model("multinomial").is_calibrated
    assert clf.with_model("multinomial").alpha is None  # and not what was chosen for another
    assert clf.with_model(alpha=2.0).get_params() == {**clf.effective_options, "alpha": 2.0}
    named = TextClassifier("multinomial", class_norm=True, max_features=99).learn(texts, labels)
    twin = named.with_model("auto")
    assert (twin.class_norm, twin.max_features) == (False, None)


@pytest.mark.parametrize("in_file", [False, True])
def test_a_twin_with_other_options_has_the_choice_for_these(in_file: bool, tmp_path: Path) -> None:
    texts, labels = choosing(600)
    given: dict[str, Any] = {"alpha": 2.0}
    clf = bunrui.create(tmp_path / "a", **given) if in_file else TextClassifier(**given)
    clf.learn(texts, labels)
    expected = TextClassifier().learn(texts, labels)
    assert clf.with_model("auto").model_ == expected.model_ != clf.model_
    assert clf.with_model("auto", **given).model_ == clf.model_
    rare = TextClassifier(min_df=2).learn(texts, labels)
    assert clf.with_model("auto", min_df=2).choice == rare.choice != expected.choice
    clf.set_params(alpha=None)
    by_f1 = clf.choose("macro_f1")
    assert clf.with_model("auto").choice == by_f1
    twin = clf.with_model("auto", min_df=2)
    assert twin.choice is not None and twin.choice.metric == "macro_f1"


def test_a_twin_of_a_file_chooses(tmp_path: Path) -> None:
    """The model that answers is the one that `leave_one_out` measures; the file stays as it is."""
    texts, labels = choosing(600)
    expected = TextClassifier().learn(texts, labels)
    with bunrui.create(tmp_path / "a", "binary") as clf:
        clf.learn(texts, labels)
        before = clf.last_change
        twin = clf.with_model("auto")
        assert twin.model_ == expected.choice and clf.last_change == before
        assert np.array_equal(twin.predict_proba(texts[:9]), expected.predict_proba(texts[:9]))
        found = leave_one_out(twin).predictions
        assert np.array_equal(found, leave_one_out(expected, texts, labels).predictions)
        assert twin.info()["calibration"]["changed_since"] == 0
        with clf.learning(), pytest.raises(StoreError, match=r"a session of .* is open: do this after its block"):
            clf.with_model("auto")
        clf.slim(tmp_path / "slim")
    with pytest.raises(StoreError, match="is closed"):
        clf.with_model("auto")
    with bunrui.open(tmp_path / "slim") as clf:
        assert clf.with_model("auto").model_ == Choice(reason="the documents are not kept")


@pytest.mark.parametrize("in_file", [False, True])
def test_options_that_fix_a_model_hold_beside_auto(in_file: bool, tmp_path: Path) -> None:
    """A choice says nothing of them, and its λ is no α of another smoothing."""
    plain = TextClassifier(choice.PLAIN.model).learn(*choosing(300))
    clf = bunrui.create(tmp_path / "a") if in_file else TextClassifier()
    clf.learn(*choosing(300))
    assert clf.model_ is not None and clf.model_.candidate != PLAIN
    queries = choosing(50, seed=1)[0]
    for options in ({"alpha": 50.0}, {"smoothing": "map"}, {"smoothing": "mle"}, {"max_features": 20}):
        twin = clf.with_model("auto", **options)
        assert np.array_equal(twin.scores(queries), plain.with_model(**options).scores(queries))
        assert twin.model_ is not None and twin.model_.describe().endswith(f"{next(iter(options))} is given")
        assert not twin.is_calibrated
    for smoothing in ("map", "mle"):
        chosen = clf.with_model(smoothing=smoothing)
        named = clf.with_model(
            clf.model_.candidate.model, against_rest=chosen.against_rest, class_norm=chosen.class_norm
        )
        assert np.array_equal(chosen.scores(queries), named.with_model(smoothing=smoothing).scores(queries))


def test_a_question_is_answered_by_one_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread chooses while a model is made, or between its scores and their probabilities."""
    texts, labels = choosing(600)
    clf = TextClassifier().learn(texts, labels)
    chosen, fitted = clf.choice, clf.calibration
    clf.take_on(None, None)
    plain = clf.predict_proba(texts[:5])
    started: list[threading.Thread] = []

    def choose_meanwhile() -> None:
        started.append(threading.Thread(target=clf.take_on, args=(chosen, fitted), daemon=True))
        started[-1].start()
        started[-1].join(0.2)  # it waits if it must not come in between

    clf.take_on(None, None)
    kind_of = classifier.kind_of
    monkeypatch.setattr(classifier, "kind_of", lambda name: (choose_meanwhile(), kind_of(name))[1])
    np.testing.assert_array_equal(clf.predict_proba(iter(texts[:5])), plain)
    monkeypatch.undo()
    for thread in started:
        thread.join(PATIENCE)
    assert clf.choice is chosen
    expected = TextClassifier().learn(texts, labels)
    np.testing.assert_array_equal(clf.scores(texts[:5]), expected.scores(texts[:5]))

    clf.take_on(None, None)
    scores = type(clf.current_model).scores

    def scores_then_choice(*args: Any) -> Any:
        found = scores(*args)
        choose_meanwhile()
        return found

    monkeypatch.setattr(type(clf.current_model), "scores", scores_then_choice)
    np.testing.assert_array_equal(clf.predict_proba(iter(texts[:5])), plain)


def test_a_calibration_is_fitted_when_somebody_asks_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is the one that a file gets at once, whoever asks first, and whatever is learned in between."""
    fitted: list[int] = []
    fit = calibration.fit_calibration
    monkeypatch.setattr(calibration, "fit_calibration", lambda *given: (fitted.append(1), fit(*given))[1])
    texts, labels = choosing(600)
    with bunrui.create(tmp_path / "file.bunrui") as stored:
        stored.learn(texts, labels)
    assert fitted == [1]
    clf = TextClassifier().learn(texts, labels)
    clf.predict(texts)
    clf.learn(*choosing(5, seed=3))  # not yet a time to choose
    assert fitted == [1]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: clf.calibration, range(8)))
    n_fitted = len(fitted)
    assert 2 <= n_fitted <= 5 and stored.calibration is not None  # each thread may fit it, and all fit the same
    assert set(found) == {replace(stored.calibration, tx=0)} and clf.calibration is clf.calibration
    assert pickle.loads(pickle.dumps(TextClassifier().learn(texts, labels))).calibration == found[0]
    clf.learn(*choosing(700, seed=4)).learn(*choosing(1400, seed=5))  # two choices, and no question
    assert len(fitted) == n_fitted + 1
    monkeypatch.setattr(classifier, "USUAL_SCORES", 0)  # large scores are not kept until somebody asks
    TextClassifier().learn(texts, labels)
    assert len(fitted) == n_fitted + 2


def test_what_a_twin_learns_makes_a_choice_due() -> None:
    texts, labels = choosing(200)
    clf = TextClassifier().learn(texts[:60], labels[:60])
    twin = clf.with_model("binary")
    other = clf.with_model("auto", unseen="smooth")
    twin.learn(texts[60:], labels[60:])
    assert clf.choice == TextClassifier().learn(texts, labels).choice
    assert other.choice == TextClassifier(unseen="smooth").learn(texts, labels).choice
    clf.fit(texts[:70], labels[:70])  # which shares nothing any more
    assert other.choice.n_docs == 200 and twin.counts.n_docs == 200


def test_copies() -> None:
    texts, labels = choosing(300)
    clf = pickle.loads(pickle.dumps(TextClassifier().learn(texts, labels)))
    assert clf.choose() == TextClassifier().learn(texts, labels).choice


def test_two_classes_are_not_held_against_each_other() -> None:
    texts, labels = choosing(300)
    clf = TextClassifier().learn(texts, [label > "c3" for label in labels])
    assert clf.choice is not None
    assert not any(each.candidate.against_rest for each in clf.choice.evidence)


def test_many_classes() -> None:
    """Scores of a sample are bounded; where that leaves too few documents, nothing is chosen."""
    n = choice.MOST_SCORES // choice.FEWEST + 2
    counts = TextClassifier().learn([f"w{k % 7}" for k in range(2 * n)], [f"c{k % n}" for k in range(2 * n)])
    assert counts.model_ is not None and counts.model_.evidence == ()


def test_rare_classes_are_asked_about_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many classes leave room for fewer documents, common classes give way."""
    texts = [f"t{k} r{k}_{i} s{i % 50}" for k in range(40) for i in range(100 if k < 20 else 3)]
    labels = [f"l{k:02}" for k in range(40) for _ in range(100 if k < 20 else 3)]
    clf = TextClassifier(analyzer="words").learn(texts, labels)
    monkeypatch.setattr(choice, "USUAL_SCORES", 400 * 40)
    found = choice._Corpus(*_parts(clf))
    n_used = np.bincount(found.classes, minlength=40)
    assert len(found.classes) == 400 and (n_used[20:] == 3).all()
    merit = found.merit(PLAIN, "accuracy", first=True)
    shares = np.bincount(found.classes, merit.weights)
    np.testing.assert_allclose(shares, clf.counts.doc_count[np.argsort(clf.counts.labels)] / len(texts))
    # The calibration goes by a plain random sample: the lowest digests, and no others.
    common = found.left_out(merit).texts
    assert common == drawn_of(clf).texts[: len(common)] and len(common) > 300


def test_json() -> None:
    chosen = TextClassifier().learn(*choosing(300)).choice
    assert chosen is not None
    assert Choice.from_dict(json.loads(json.dumps(chosen.to_dict()))) == chosen
    assert Choice.from_dict(Choice(reason="why").to_dict()) == Choice(reason="why")


@pytest.mark.parametrize(
    "change",
    [
        {"candidate": None},
        {"candidate": {"model": "nbsvm", "alpha": 1.0}},
        {"candidate": {"model": "binary", "alpha": -1.0}},
        {"candidate": {"model": "binary", "alpha": 1.0, "class_norm": 1}},
        {"candidate": {"model": "complement", "alpha": 1.0, "against_rest": True}},
        {"candidate": {"model": "complement", "alpha": 1.0}},
        {"evidence": 3},
        {"evidence": [{"candidate": PLAIN._asdict()}]},
        {"n_docs": -1},
        {"n_docs": True},
        {"metric": "f2"},
        {"reason": 3},
        {"more": 1},
    ],
)
def test_json_of_somebody_else(change: dict[str, Any]) -> None:
    chosen = TextClassifier().learn(*choosing(300)).choice
    assert chosen is not None
    with pytest.raises(DataError, match="a choice"):
        Choice.from_dict(chosen.to_dict() | change)


@pytest.mark.parametrize("known", [None, 3, [], "x"])
def test_json_that_is_no_choice(known: Any) -> None:
    with pytest.raises(DataError, match="a choice"):
        Choice.from_dict(known)


def test_macro_f() -> None:
    """Beside the formula, document by document."""
    true, predicted = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 1, 2])
    weights = np.array([0.1, 0.3, 0.2, 0.3, 0.1])
    parts = choice.f1_parts(true, predicted, weights, 4)
    right, had, given = (np.zeros(4) for _ in range(3))
    for t, p, w in zip(true, predicted, weights, strict=True):
        had[t] += w
        given[p] += w
        right[t] += w * (t == p)
    expected = np.mean([2 * right[c] / (had[c] + given[c]) for c in range(3)])
    np.testing.assert_allclose((weights * parts).sum(), expected)


def test_evidence_that_is_not_enough() -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{rng.integers(50)}" for _ in range(8)) for _ in range(400)]
    labels = [str(k % 2) for k in range(400)]
    found = choose(*_parts(TextClassifier().learn(texts, labels)))[0]
    assert found.candidate == PLAIN and found.reason in (LOSES, "no other model is better")
    assert found.describe().endswith(found.reason)


def _parts(clf: TextClassifier) -> tuple[Any, ...]:
    return clf.counts, clf.text_analyzer, drawn_of(clf), clf.get_params()


def test_estimators() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    texts, labels = choosing(400)
    clf = clone(TextClassifier().learn(texts, labels))
    assert clf.choice is None and clf.model == "auto"
    assert clf.fit(texts, labels).choice == TextClassifier().learn(texts, labels).choice
    search = GridSearchCV(TextClassifier(), {"model": ["auto", "complement"]}, cv=2).fit(texts, labels)
    assert search.best_params_ == {"model": "auto"}
    assert search.best_estimator_.choice == clf.choice
    assert Candidate(**clf.choice.options) == clf.choice.candidate


def test_a_second_label_is_a_time_to_choose() -> None:
    clf = TextClassifier(analyzer="words").learn([f"rice tea {k}" for k in range(60)], ["drink"] * 60)
    assert not clf.model_.evidence
    clf.learn([f"oil coal {k}" for k in range(30)], ["fuel"] * 30)
    assert clf.model_.evidence


def test_more_of_one_label_is_no_time_to_choose(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui") as clf:
        clf.learn(["rice tea", "tea", "rice"], ["drink"] * 3)
        clf.learn(["green tea"], ["drink"])
        assert "choice" not in clf.history()[-1].note
        clf.learn(["oil"], ["fuel"])
        assert "choice" in clf.history()[-1].note
