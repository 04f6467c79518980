"""Documents come once, those that help first; each answer is learned, and the estimate is what leave-one-out says."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.errors import OptionError, StoreError
from bunrui.evaluation.loo import predict_without
from bunrui.memory import document_digests
from bunrui.selection import Estimate, Queue, queue
from bunrui.selection.queue import CANDIDATES, SHARE, Curve
from tests.support.pools import two_topics


@pytest.fixture(autouse=True)
def _same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process draws other documents; these tests count some of them."""
    monkeypatch.setattr(sys.modules[Queue.__module__], "_SEED", 0)


SPAM = ("pills", "money", "cheap", "win", "free", "offer")
HAM = ("noon", "lunch", "meeting", "late", "team", "report")
OTHER = ("the", "now", "for", "you", "see", "at", "is", "with")


def pool_of(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of words, most of them of one kind, and their labels."""
    draw = random.Random(seed)
    labels = [draw.choice(("spam", "ham")) for _ in range(n)]
    words = {"spam": SPAM + OTHER, "ham": HAM + OTHER}
    texts = [" ".join([*draw.choices(words[label], k=6), str(row)]) for row, label in enumerate(labels)]
    return texts, labels


def taught(classifier: Any, n: int, size: int = 200) -> tuple[Queue, list[str]]:
    texts, labels = pool_of(size)
    asked = queue(classifier, texts)
    for question in asked:
        asked.answer(question, labels[question.row])
        if len(asked.answers) == n:
            break
    return asked, labels


def test_every_document_comes_once_and_copies_are_one() -> None:
    texts, labels = pool_of(60)
    asked = queue(TextClassifier(), [*texts, *texts[:20]])
    rows = []
    for question in asked:
        assert question.text == texts[question.row % 60]
        rows.append(question.row)
        asked.answer(question, labels[question.row])
    assert sorted(rows) == list(range(60)) and len(asked) == 0
    assert asked.classifier.counts.n_docs == 60
    assert next(asked, None) is None


@pytest.mark.parametrize("n", [1, 40])
def test_nobody_is_asked_about_nothing(n: int) -> None:
    asked = queue(TextClassifier(), ["cheap pills", "", " \n\u3000"] * n)  # few texts are a list, many an array
    assert [question.text for question in asked] == ["cheap pills"] and asked.n_blank == 2 * n


def test_questions_without_answers_end_too_and_can_be_asked_again() -> None:
    texts, _ = pool_of(30)
    asked = queue(TextClassifier(), texts)
    assert len({question.row for question in asked}) == len(asked) == 30
    asked.ask_again()
    assert len({question.row for question in asked}) == 30


def test_every_fifth_question_is_in_the_order_of_digests() -> None:
    asked, labels = taught(TextClassifier(), 60)
    digests = sorted(bunrui_digest(text) for text in pool_of(200)[0])
    more = []
    for question in asked:
        more.append(question)
        asked.answer(question, labels[question.row])
        if len(more) == 20:
            break
    at_random = [question.digest for question in more if question.is_random]
    assert len(at_random) == 20 // SHARE
    # All that come before the last of them have an answer: together they are a random sample.
    known = {asked.question(digest).row for digest in digests[: digests.index(at_random[-1]) + 1]}
    assert known <= set(asked.answers) and asked.estimate().n == len(known)


def test_the_least_certain_of_few_is_asked() -> None:
    """With as many documents as candidates, the question is the one with the smallest margin of all."""
    clf = TextClassifier("multinomial").learn(["pills", "noon"], ["spam", "ham"])
    texts = ["pills pills", "noon noon", "noon pills"]
    assert len(texts) < CANDIDATES
    asked = queue(clf, texts)
    assert next(asked).is_random
    asked.ask_again()
    found = next(asked)
    assert not found.is_random and found.text == "noon pills"


def test_answers_at_random_do_not_steer_the_other_questions() -> None:
    """Else they would have fewer neighbours than other documents, and the estimate would be too low."""
    texts, labels = pool_of(200)
    asked = []
    for at_random in ({"spam": "spam", "ham": "ham"}, {"spam": "ham", "ham": "spam"}):
        known = queue(TextClassifier("multinomial"), texts)
        questions = [next(known)]
        while len(known.answers) < 80:
            label = labels[questions[-1].row]
            known.answer(questions[-1], at_random[label] if questions[-1].is_random else label)
            questions.append(next(known))
        asked.append([question.row for question in questions])
    assert asked[0] == asked[1]


def test_a_guess_is_what_the_classifier_predicts() -> None:
    asked, _ = taught(TextClassifier(), 40)
    for _ in range(10):
        question = next(asked)
        assert question.guess == asked.classifier.predict([question.text])[0]
        shares = asked.classifier.predict_proba([question.text])[0]
        assert question.probability == pytest.approx(shares.max())


def test_agreement_is_counted_and_undone() -> None:
    asked, _ = taught(TextClassifier(), 40)
    before = asked.n_guessed, asked.n_agreed
    first, second = next(asked), next(asked)
    asked.answer(first, first.guess)
    asked.answer(second, "something else")
    assert (asked.n_guessed, asked.n_agreed) == (before[0] + 2, before[1] + 1)
    assert asked.undo(first)
    assert (asked.n_guessed, asked.n_agreed) == (before[0] + 1, before[1])
    assert asked.undo(replace(second, guess="something else"))  # the guess of today
    assert (asked.n_guessed, asked.n_agreed) == before


def test_undo_takes_the_counts_back() -> None:
    asked, labels = taught(TextClassifier(), 30)
    before = asked.classifier.counts.copy()
    question = next(asked)
    asked.answer(question, labels[question.row])
    assert asked.undo(question) and not asked.undo(question)
    assert asked.classifier.counts == before and question.row not in asked.answers


def test_an_answer_may_have_several_labels_and_a_second_one_is_not_learned() -> None:
    asked, _ = taught(TextClassifier(), 30)
    question = next(asked)
    assert asked.answer(question, ["spam", "urgent"])
    assert not asked.answer(question, "ham")
    assert asked.classifier.counts.n_docs == 31 and "urgent" in asked.classifier.counts.live_labels
    assert asked.estimate().n  # a document with several labels can be left out, too
    with pytest.raises(OptionError, match="skip"):
        asked.answer(next(asked), [])


def test_skipped_documents_stay_away() -> None:
    texts, _ = pool_of(20)
    asked = queue(TextClassifier(), texts)
    first = next(asked)
    asked.skip(first)
    assert first.row not in {question.row for question in asked} and len(asked) == 19


def test_the_estimate_is_leave_one_out_by_hand() -> None:
    asked, labels = taught(TextClassifier("multinomial"), 60)
    estimate, texts = asked.estimate(), pool_of(200)[0]
    twin = TextClassifier("multinomial").learn([texts[row] for row in asked.answers], list(asked.answers.values()))
    sample = sampled(asked)
    right = 0
    for row in sample:
        one = [texts[row]], [labels[row]]
        right += twin.unlearn(*one).predict(one[0])[0] == labels[row]
        twin.learn(*one)
    assert estimate == Estimate(right, len(sample)) and 12 <= estimate.n <= 20


def bunrui_digest(text: str) -> str:
    from bunrui.memory import document_digests

    return str(document_digests([text])[0].tobytes().hex())


def test_the_curve_ends_at_the_estimate_and_begins_with_few_answers() -> None:
    asked, labels = taught(TextClassifier("multinomial"), 100)
    curve = asked.curve()
    assert curve.points[-1] == (100, asked.estimate())
    assert curve.answers[0] >= 10 and curve.answers == sorted(set(curve.answers))
    # A point is what a classifier of so many answers says of the same sample.
    n, estimate = curve.points[0]
    texts = pool_of(200)[0]
    early = list(asked.answers)[:n]
    clf = TextClassifier("multinomial").learn([texts[row] for row in early], [labels[row] for row in early])
    sample = sampled(asked)
    left = [row for row in sample if row not in early]
    right = sum(clf.predict([texts[row]])[0] == labels[row] for row in left)
    inside = [row for row in sample if row in early]
    found = predict_without(clf, [texts[row] for row in inside], [labels[row] for row in inside])
    right += sum(label == labels[row] for label, row in zip(found, inside, strict=True))
    assert estimate == Estimate(right, len(sample))


def sampled(asked: Queue) -> list[int]:
    """The first answered documents in the order of digests."""
    digests = sorted(bunrui_digest(text) for text in pool_of(200)[0])
    rows = [asked.question(digest).row for digest in digests]
    return [row for row in rows if row in asked.answers][: asked.estimate().n]


def test_the_interval() -> None:
    """Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 4."""
    known = ((81, 263, 0.2535, 0.3682), (15, 148, 0.0598, 0.1644), (0, 20, 0.0, 0.2005), (1, 29, 0.0018, 0.1963))
    for right, n, low, high in known:
        assert [round(end, 4) for end in Estimate(right, n).interval] == [low, high]
        assert Estimate(n - right, n).interval == pytest.approx((1 - high, 1 - low), abs=1e-4)
    assert Estimate(0, 0).interval == (0.0, 1.0) and np.isnan(Estimate(0, 0).accuracy)


def curve_of(*shares: float, n: int = 400) -> Curve:
    right = np.array(shares)[:, None] * n
    return Curve([25 * 2**k for k in range(len(shares))], np.arange(n) < right)


def test_a_forecast_follows_a_power_law_and_says_when_it_cannot() -> None:
    # Errors of .4, .2828, .2: half of them are left after four times as many answers.
    forecast = curve_of(0.6, 0.7172, 0.8).forecast(0.8586)
    assert forecast is not None and 85 <= forecast.likely <= 115 and forecast.low < 100 < forecast.high
    assert curve_of(0.6, 0.7172, 0.8).forecast(0.99) is None, "too far"
    assert curve_of(0.8, 0.8, 0.8).forecast(0.9) is None, "flat"
    few = curve_of(0.6, 0.7172, 0.8, n=40).forecast(0.8586)
    assert few is not None and few.high is None and few.low < 100, "40 documents do not tell the most that it takes"
    assert curve_of(0.6, 0.7172, 0.8, n=10).forecast(0.85) is None, "too few documents at random"
    assert curve_of(0.6, 0.8).forecast(0.85) is None, "too few points"
    reached = curve_of(0.6, 0.7172, 0.8).forecast(0.5)
    assert reached is not None and (reached.likely, reached.high) == (0, 0)


def test_the_pool_helps_as_texts_without_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels, pool = two_topics()
    monkeypatch.setattr(sys.modules["bunrui.selection.queue"], "HELPERS", 150)
    with bunrui.create(tmp_path / "a.bunrui", "binary", analyzer="words") as clf:
        asked = queue(clf, [*texts, *pool])
        for text, label in zip(texts, labels, strict=True):
            assert asked.answer(asked.question(document_digests([text])[0].tobytes().hex()), label)
        asked.use_unlabelled()
        assert len(clf.memory.pool) == 150 and asked.is_current
        alone = TextClassifier("binary", analyzer="words").learn_unlabelled(list(clf.memory.pool.texts().values()))
        alone.learn(texts, labels)
        assert clf.pool_weight is not None and clf.pool_weight.weight > 0
        assert clf.predict_proba(pool).tolist() == alone.predict_proba(pool).tolist()


def test_a_trained_model_has_no_estimate() -> None:
    asked, _ = taught(TextClassifier("nbsvm"), 12, size=30)
    assert not asked.can_estimate
    assert asked.estimate() == Estimate(0, 0) and asked.curve().points == []


# --- files


def test_a_file_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a.bunrui"
    with bunrui.create(path) as clf:
        asked, labels = taught(clf, 40)
        answers, estimate, curve = dict(asked.answers), asked.estimate(), asked.curve()
    with bunrui.open(path) as clf:
        again = queue(clf, pool_of(200)[0])
        assert again.answers == answers and list(again.answers) == list(answers)
        assert again.estimate().n >= estimate.n and again.curve().answers == curve.answers
        question = next(again)
        assert question.row not in answers
        again.answer(question, labels[question.row])
        assert len(queue(clf, pool_of(200)[0]).answers) == 41


def test_a_skipped_document_does_not_shrink_the_estimate(tmp_path: Path) -> None:
    texts, labels = pool_of(200)
    with bunrui.create(tmp_path / "a.bunrui") as clf:
        asked = queue(clf, texts)
        skipped = next(asked)
        asked.skip(skipped)
        for question in asked:
            asked.answer(question, labels[question.row])
            if len(asked.answers) == 60:
                break
        again = queue(clf, texts)
        assert again.estimate().n >= asked.estimate().n >= 12
        assert next(again).digest == skipped.digest, "it is asked again first"
        # Those behind, which were chosen because they are hard, are no sample.
        assert again.estimate().n < 30


def test_the_estimate_follows_what_others_take_back(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui") as clf, bunrui.open(tmp_path / "a.bunrui") as other:
        asked, _ = taught(clf, 40)
        other.refresh()
        other.undo_to(20)
        clf.refresh()
        assert not asked.is_current
        assert asked.curve().answers[-1] == 20 and asked.is_current


def test_a_question_of_another_pool_is_refused() -> None:
    question = next(queue(TextClassifier(), ["a", "b"]))
    other = queue(TextClassifier(), ["c", "d"])
    assert not other.is_open(question)
    for act in (other.skip, other.undo, lambda one: other.answer(one, "x")):
        with pytest.raises(OptionError, match="no document of the pool"):
            act(question)


def test_two_teach_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bunrui"
    texts, labels = pool_of(40)
    with bunrui.create(path) as one, bunrui.open(path) as two:
        first, second = queue(one, texts), queue(two, texts)
        a, b = next(first), next(second)
        assert a.digest == b.digest, "neither knows of the other yet"
        assert first.answer(a, labels[a.row])
        assert not second.answer(b, "wrong"), "somebody was faster"
        assert two.labels_of(np.frombuffer(bytes.fromhex(a.digest), "V16")) == {
            bytes.fromhex(a.digest): [labels[a.row]]
        }
        assert second.answers == {a.row: labels[a.row]} and len(second) == 39
        one.undo()
        second.catch_up()
        assert second.answers == {} and len(second) == 40


def test_two_who_take_turns_learn_every_document_once(tmp_path: Path) -> None:
    path = tmp_path / "a.bunrui"
    texts, labels = pool_of(60)
    with bunrui.create(path) as one, bunrui.open(path) as two:
        queues = queue(one, texts), queue(two, texts)
        n_learned = 0
        while questions := [(asked, found) for asked in queues if (found := next(asked, None))]:
            n_learned += sum(asked.answer(question, labels[question.row]) for asked, question in questions)
        assert n_learned == 60 and all(len(asked) == 0 for asked in queues)
        one.refresh()
        assert one.counts.n_docs == 60


def test_an_answer_that_comes_between_is_not_learned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process learns the document after the queue has looked."""
    path = tmp_path / "a.bunrui"
    texts, labels = pool_of(10)
    with bunrui.create(path) as one, bunrui.open(path) as two:
        asked = queue(one, texts)
        question = next(asked)
        learn = one.learn

        def learn_late(*args: Any, **options: Any) -> Any:
            two.learn([question.text], [labels[question.row]])
            return learn(*args, **options)

        monkeypatch.setattr(one, "learn", learn_late)
        assert not asked.answer(question, "wrong")
        assert asked.answers == {question.row: labels[question.row]} and one.counts.n_docs == 1


def test_what_was_learned_elsewhere_is_no_question(tmp_path: Path) -> None:
    texts, labels = pool_of(40)
    with bunrui.create(tmp_path / "a.bunrui") as clf:
        clf.learn([*texts[:10], "another text"], [*labels[:10], "ham"])
        asked = queue(clf, texts)
        assert set(asked.answers) == set(range(10))
        clf.learn(texts[10:12], labels[10:12])
        asked.catch_up()
        assert set(asked.answers) == set(range(12))


def test_a_file_that_keeps_nothing_is_refused(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui", keep="nothing") as clf, pytest.raises(StoreError, match="teach another"):
        queue(clf, ["a"])


def test_digests_are_enough(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui", keep="digests") as clf:
        asked, _ = taught(clf, 30)
        assert queue(clf, pool_of(200)[0]).answers == asked.answers


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(OptionError, match="a list of texts"):
        queue(TextClassifier(), "a text")
    with pytest.raises(OptionError, match="no document of the pool"):
        queue(TextClassifier(), ["a"]).question("00")


def test_answers_of_a_classifier_in_memory_can_be_given() -> None:
    texts, labels = pool_of(20)
    clf = TextClassifier().learn(texts[:5], labels[:5])
    asked = queue(clf, texts, answers={bunrui_digest(text): labels[row] for row, text in enumerate(texts[:5])})
    assert set(asked.answers) == set(range(5)) and len(asked) == 15
