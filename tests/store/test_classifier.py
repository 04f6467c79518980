"""A classifier in a file is the classifier in memory, and stays so whatever happens in between."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

import bunrui
import bunrui.store
from bunrui import AnalyzerSpec, StoredClassifier, TextClassifier, choice
from bunrui.counts import Counts
from bunrui.errors import (
    BunruiError,
    DataError,
    DuplicateError,
    LabelError,
    MismatchError,
    OptionError,
    StoreError,
    UnlearnError,
)
from bunrui.models import MODELS
from bunrui.selection import calibrate
from bunrui.unlabelled import PoolWeight
from tests.store.probing import reseal
from tests.support.choosing import choosing
from tests.support.examples import examples, quick
from tests.support.files import blocks, opened, sql

TEXTS = ["cheap pills now", "meeting at noon", "料金が無料", "lunch at noon?", "🙂 free pills"]
LABELS = ["spam", "ham", "spam", "ham", "spam"]
QUERIES = [*TEXTS, "", "pills at noon", "無料の会議", "never seen"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "mail.bunrui")


def learned(path: str, **options: Any) -> StoredClassifier:
    return bunrui.create(path, **options).learn(TEXTS, LABELS)


def in_memory(texts: list[Any] = TEXTS, labels: list[Any] = LABELS, **options: Any) -> TextClassifier:
    return TextClassifier(**options).learn(texts, labels)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", [{}, {"min_df": 2}, {"unseen": "smooth"}, {"alpha": {"pills": 0.5}}])
def test_the_first_question_needs_only_its_own_words(path: str, model: str, options: dict[str, Any]) -> None:
    if model == "bernoulli" and "alpha" in options:
        options = {"alpha": 0.5}  # it takes one for all words
    clf = learned(path, model=model, **options)
    known = clf.scores(QUERIES)
    clf.close()
    for query, scores in zip(QUERIES, known, strict=True):
        with bunrui.open(path, read_only=True) as reader:
            assert reader.scores([query]).tobytes() == scores.tobytes()
            # A formula that sums over all words has read them already, and so has one that selects some.
            assert reader.counts.is_folded or model in ("bernoulli", "wcnb") or options.keys() - {"unseen"}
            assert reader.scores(QUERIES).tobytes() == known.tobytes()
            assert not reader.counts.is_folded


@pytest.mark.parametrize("model", ["nbsvm", "arow", "twcnb"])
@pytest.mark.parametrize("options", [{}, {"min_df": 2}, {"max_features": 9}])
def test_the_first_question_to_kept_weights_needs_only_its_own_words(
    path: str, tmp_path: Path, model: str, options: dict[str, Any]
) -> None:
    clf = learned(path, model=model, **options)
    clf.slim(tmp_path / "slim.bunrui")
    queries = [*QUERIES, " ".join(f"{word} unseen{k}" for k, word in enumerate(TEXTS * 100))]
    known = clf.scores(queries)
    clf.close()
    for file, (query, scores) in product([path, tmp_path / "slim.bunrui"], zip(queries, known, strict=True)):
        with bunrui.open(file, read_only=True) as reader:
            assert reader.is_trained
            for _ in range(2):  # a text without words is not the first one
                assert reader.scores([""]).tobytes() == known[QUERIES.index("")].tobytes()
            assert reader.scores([query]).tobytes() == scores.tobytes()
            assert reader.counts.is_folded
            assert reader.scores([query]).tobytes() == scores.tobytes()
            assert reader.counts.is_folded == (query == "")
            assert reader.scores(iter(queries)).tobytes() == known.tobytes()


@pytest.mark.parametrize("ask", [lambda clf: clf.scores(["料金が無料 " * 20_000]), lambda clf: clf.scores(["a", "b"])])
def test_long_or_many_texts_need_all_words(path: str, ask: Callable[[StoredClassifier], Any]) -> None:
    with learned(path, model="arow") as clf:
        expected = ask(clf)
    with bunrui.open(path, read_only=True) as reader:
        assert ask(reader).tobytes() == expected.tobytes()
        assert not reader.counts.is_folded


def test_kept_weights_when_words_came_since(path: str) -> None:
    with learned(path, model="arow") as clf:
        for _ in range(2):
            clf.learn(["a new word for pills"], ["spam"])
        clf.train()
        known = clf.scores([*QUERIES, "a new word"])
    for query, scores in zip([*QUERIES, "a new word"], known, strict=True):
        with bunrui.open(path, read_only=True) as reader:
            assert reader.is_trained
            assert reader.scores([query]).tobytes() == scores.tobytes()


@pytest.mark.parametrize("model", ["binary", "complement", "multinomial", "bernoulli"])
def test_a_file_with_changes_is_read_like_one_without(path: str, model: str) -> None:
    """The first question needs only its own words, of what was learned first and of what was learned since."""
    texts = [f"w{k} w{k + 1} pills noon" for k in range(99)]
    with bunrui.create(path, model=model) as clf:
        clf.learn(texts, ["ham", "spam", "ham"] * 33)
        clf.learn(["pills w3"], ["spam"])
        clf.learn(["never seen", "noon w3"], ["a new one", "ham"])
        assert len(sql(path, "SELECT 1 FROM deltas")) == 3
        known = clf.scores(QUERIES)
        for query, scores in zip(QUERIES, known, strict=True):
            with bunrui.open(path, read_only=True) as reader:
                assert reader.classes_.tolist() == ["a new one", "ham", "spam"]
                assert reader.scores([query]).tobytes() == scores.tobytes()
                assert reader.counts.is_folded or model == "bernoulli"
                assert reader.scores(QUERIES).tobytes() == known.tobytes()
                assert reader.counts == clf.counts
        reader = bunrui.open(path, read_only=True)
        clf.unlearn(["pills w3"], ["spam"])
        clf.rename_label("ham", "good")
        clf.learn(["w3"], ["good"])
        reader.refresh()
        assert reader.scores(QUERIES).tobytes() == clf.scores(QUERIES).tobytes()
        reader.close()


@pytest.mark.parametrize("model", ["binary", "arow", "nbsvm"])
def test_a_calibration_needs_no_more_words(path: str, model: str) -> None:
    """It asks about a text without words, too."""
    with learned(path, model=model) as clf:
        clf.set_calibration(calibrate(clf, TEXTS, LABELS))
        known = clf.predict_proba(QUERIES)
    for query, shares in zip(QUERIES, known, strict=True):
        with bunrui.open(path, read_only=True) as reader:
            assert reader.is_calibrated
            assert reader.predict_proba([query]).tobytes() == shares.tobytes()
            assert reader.counts.is_folded
            assert reader.predict_proba(QUERIES).tobytes() == known.tobytes()


def same(a: TextClassifier, b: TextClassifier) -> None:
    assert a.counts == b.counts
    for model in MODELS:
        left, right = a.with_model(model, alpha=None), b.with_model(model, alpha=None)
        assert left.classes_.tolist() == right.classes_.tolist()
        assert np.array_equal(left.scores(QUERIES), right.scores(QUERIES))


# --- what a file remembers


@pytest.mark.parametrize("keep", ["text", "digests", "nothing"])
def test_a_file_is_the_classifier(path: str, keep: str) -> None:
    with learned(path, keep=keep) as clf:
        same(clf, in_memory())
    with bunrui.open(path, read_only=True) as again:
        assert again.keep == keep
        same(again, in_memory())
    assert os.listdir(os.path.dirname(path)) == ["mail.bunrui"]


def test_options_are_kept(path: str) -> None:
    spec = AnalyzerSpec(name="words", words=2, stop_words=["at"], urls=True)
    options = {
        "model": "multinomial",
        "analyzer": spec,
        "smoothing": "map",
        "alpha": {"pills": 1.5},
        "prior": {"spam": 0.25, "ham": 0.75},
        "unseen": "smooth",
        "min_df": 1,
        "max_features": ("chi2", 7),
        "class_norm": True,
        "against_rest": False,
        "m": 1,
    }
    with learned(path, **options):
        pass
    with bunrui.open(path) as clf:
        assert clf.get_params() == options
        assert np.array_equal(clf.scores(QUERIES), in_memory(**options).scores(QUERIES))


def test_m_is_kept(path: str) -> None:
    with learned(path) as clf:
        clf.configure(model="aode", m=3)
    with bunrui.open(path) as clf:
        assert (clf.model, clf.m) == ("aode", 3)
        assert clf.with_model("binary").m == 1
        clf.configure(model="binary")
    with bunrui.open(path) as clf:
        assert (clf.model, clf.m) == ("binary", 1)
        with pytest.raises(OptionError, match="m is for aode, and binary has none"):
            clf.configure(m=3)


def test_configure_changes_the_file(path: str) -> None:
    with learned(path) as clf:
        clf.configure(model="bernoulli", alpha=0.5)
        assert clf.model == "bernoulli"
    with bunrui.open(path) as clf:
        assert (clf.model, clf.alpha) == ("bernoulli", 0.5)
        with pytest.raises(OptionError, match="there is no model 'nope'"):
            clf.configure(model="nope")
        with pytest.raises(OptionError, match="another analyzer has other counts"):
            clf.configure(analyzer="words")
    with bunrui.open(path) as clf:
        assert clf.model == "bernoulli"


def test_a_setting_is_undone(path: str) -> None:
    with learned(path, alpha=2) as clf, bunrui.open(path) as other:
        clf.configure(smoothing="mle")  # which has no alpha
        clf.configure(smoothing="mle")  # nothing new
        clf.configure(max_features=("chi2", 9))
        clf.configure(max_features=("chi2", 9))
        assert clf.undo() == ("set", 0)
        assert clf.max_features is None
        assert [entry.kind for entry in clf.history() if not entry.undone] == ["learn", "set"]
        assert clf.with_model("mixed", smoothing="mle").alpha is None
        assert other.refresh()
        assert other.smoothing == "mle"
        assert other.undo() == ("set", 0)
        assert (other.smoothing, other.alpha) == ("eap", 2)
        assert clf.refresh()
        assert (clf.smoothing, clf.alpha) == ("eap", 2)
        assert clf.undo() == ("learn", 5)


def test_with_model_leaves_the_file_alone_but_learns_into_it(path: str) -> None:
    with learned(path) as clf:
        other = clf.with_model("multinomial", alpha=0.5)
        assert isinstance(other, StoredClassifier)
        other.learn(["more"], ["ham"])
        assert clf.counts is other.counts
    with bunrui.open(path) as clf:
        assert clf.model == "auto"
        same(clf, in_memory([*TEXTS, "more"], [*LABELS, "ham"]))


def test_the_log(path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn(["a", "b"], ["x", ["x", "y"]], ids=["1", None], sources=["f.csv", "f.csv"])
        clf.learn([["tok", "en"], ["x"]], ["y", "x"])
        clf.learn([{"word": 2}], ["y"], sources=[None])
        clf.unlearn(["a"], ["x"])
    with bunrui.open(path) as clf:
        assert [(document.text, document.labels, document.id, document.source) for document in clf.documents()] == [
            ("b", ["x", "y"], None, "f.csv"),
            (["tok", "en"], ["y"], None, None),
            (["x"], ["x"], None, None),
            ({"word": 2}, ["y"], None, None),
        ]
        assert [(entry.kind, entry.n_docs) for entry in clf.history()] == [
            ("learn", 2),
            ("learn", 2),
            ("learn", 1),
            ("unlearn", 1),
        ]


def test_digests_keep_no_text(path: str) -> None:
    learned(path, keep="digests").close()
    assert all(block.sizes is None and not block.text for block in blocks(path))


def test_info(path: str) -> None:
    with learned(path) as clf:
        info = json.loads(json.dumps(clf.info()))
    assert info["documents"] == 5
    assert info["labels"] == {"ham": 2, "spam": 3}
    assert info["features"] == in_memory().counts.n_features
    assert (info["model"], info["alpha"], info["keep"], info["format"]) == ("auto", 0.3, "text", 4)
    assert info["analyzer"]["name"] == "universal"
    assert info["size"] > 4096
    assert info["created"] < info["changed"]


def test_arrow_in(path: str) -> None:
    with bunrui.create(path) as clf:
        ids = pa.array(["1", None, "3", "4", "5"])
        clf.learn(pa.array(TEXTS), pa.array(LABELS), ids=ids, sources=pa.array(["f"] * 5))
        clf.learn(pa.array(["both"]), pa.array([["spam", "ham"]]))
        same(clf, in_memory([*TEXTS, "both"], [*LABELS, ["spam", "ham"]]))


# --- taking back


@pytest.mark.parametrize("keep", ["text", "digests"])
def test_only_what_was_learned_can_be_unlearned(path: str, keep: str) -> None:
    with learned(path, keep=keep) as clf:
        # Counts alone would let these go: all of their words occur often enough.
        for text, label in [("pills now", "spam"), ("cheap pills now", "ham"), ("", "ham")]:
            with pytest.raises(UnlearnError, match=f"this was never learned as '{label}': '{text}'"):
                clf.unlearn([TEXTS[0], text], ["spam", label])
            same(clf, in_memory())
        clf.unlearn([TEXTS[0]], ["spam"])
        with pytest.raises(UnlearnError):
            clf.unlearn([TEXTS[0]], ["spam"])
        same(clf, in_memory(TEXTS[1:], LABELS[1:]))
    with bunrui.open(path) as clf:
        same(clf, in_memory(TEXTS[1:], LABELS[1:]))


def test_unlearning_without_a_log(path: str) -> None:
    with learned(path, keep="nothing") as clf:
        clf.unlearn(TEXTS[:2], LABELS[:2])
        same(clf, in_memory(TEXTS[2:], LABELS[2:]))
        with pytest.raises(UnlearnError, match="never learned"):
            clf.unlearn(["unheard of"], ["ham"])
        with bunrui.open(path) as again:
            same(again, clf)


def test_one_of_several_equal_documents(path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn(["a", "a", "a", "b"], ["x", "y", "x", "x"])
        with pytest.raises(UnlearnError):
            clf.unlearn(["a", "a", "a"], ["x", "x", "x"])
        clf.unlearn(["a", "a"], ["x", "x"])
        same(clf, in_memory(["a", "b"], ["y", "x"]))
        with clf.unlearning() as session:
            session.add(["a"], ["y"])
            session.add(["b"], ["x"])
        assert clf.counts.n_docs == 0


def test_a_batch_that_fails_takes_the_session_with_it(path: str) -> None:
    with learned(path) as clf:
        with pytest.raises(StoreError, match="so that nothing is kept: this was never"), clf.unlearning() as session:
            session.add(TEXTS[:1], LABELS[:1])
            with pytest.raises(UnlearnError):
                session.add(TEXTS[:1], LABELS[:1])
        with pytest.raises(StoreError, match="a batch of this session failed"), clf.learning() as session:
            session.add(["one"], ["ham"])
            with pytest.raises(DataError):
                session.add([{"a": 1.5}], ["ham"])
        same(clf, in_memory())
        assert clf.check().is_right
        with pytest.raises(StoreError, match="failed"), clf.learning(unique=True) as session:
            session.add(["other"], ["ham"])
            with pytest.raises(DuplicateError, match="this was learned before, or comes twice: 'cheap pills now'"):
                session.add(["fresh", TEXTS[0]], ["ham", "ham"])
        clf.learn(["fresh"], ["ham"], unique=True)


def test_choosing_inside_the_first_session(path: str) -> None:
    with bunrui.create(path) as clf, clf.learning() as session:
        session.add(TEXTS, LABELS)
        with pytest.raises(StoreError, match=r"a session of .* is open: do this after its block"):
            clf.choose()


def test_inside_a_session(path: str) -> None:
    with learned(path) as clf, bunrui.open(path) as other:
        with clf.learning() as session:
            session.add(["one"], ["ham"])
            for forbidden in (clf.refresh, clf.undo, clf.compact, clf.history, lambda: clf.learn(["a"], ["b"])):
                with pytest.raises(StoreError, match=r"a session of .* is open: do this after its block"):
                    forbidden()
            assert len(list(clf.documents())) == 5
            assert clf.predict(["pills"])[0] == "spam"
        other.learn(["two"], ["ham"])
        clf.refresh()
        same(clf, in_memory([*TEXTS, "one", "two"], [*LABELS, "ham", "ham"]))


def test_documents_may_be_changed_while_they_are_listed(path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn(TEXTS, LABELS, ids=list("abcde"))
        for document in clf.documents():
            clf.unlearn(ids=[document.id])
        assert clf.counts.n_docs == 0


def test_memory_that_cannot_follow_is_read_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with learned(path) as clf:
        real = Counts.add
        calls = iter([MemoryError("no room")])

        def add(self: Counts, other: Counts) -> None:
            for error in calls:
                raise error
            real(self, other)

        monkeypatch.setattr(Counts, "add", add)
        clf.learn(["more"], ["ham"])
        same(clf, in_memory([*TEXTS, "more"], [*LABELS, "ham"]))


def test_memory_that_is_torn_is_not_read(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with learned(path) as clf:
        with monkeypatch.context() as patch:
            patch.setattr(Counts, "add", lambda self, other: (_ for _ in ()).throw(MemoryError("no room")))
            patch.setattr(
                "bunrui.store.store.Store.load", lambda self: (_ for _ in ()).throw(MemoryError("still none"))
            )
            with pytest.raises(StoreError, match="has changed, but the memory could not follow"):
                clf.learn(["more"], ["ham"])
            with pytest.raises(StoreError, match=r"the memory is not in step with .*: call refresh"):
                clf.predict(["pills"])
        clf.refresh()
        same(clf, in_memory([*TEXTS, "more"], [*LABELS, "ham"]))


def test_two_classifiers_merged_into_each_other_at_once(path: str, tmp_path: Path) -> None:
    with learned(path) as one, learned(str(tmp_path / "b")) as two:
        pairs = [(one, two), (two, one)] * 3
        work = [threading.Thread(target=a.merge, args=(b,), daemon=True) for a, b in pairs]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join(60)
        assert not any(thread.is_alive() for thread in work)
        assert one.check().is_right and two.check().is_right


def test_settings_reach_a_reader(path: str) -> None:
    with learned(path) as clf, bunrui.open(path, read_only=True) as reader:
        clf.configure(model="mixed", alpha=np.float32(0.5))
        assert reader.refresh()
        assert (reader.model, reader.alpha) == ("mixed", 0.5)
        with pytest.raises(OptionError, match="there is no option 'foo'"):
            clf.set_params(foo=1)


def test_a_twin_that_configures_answers_as_the_file(path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn([f"{'pills' if k % 3 else 'noon'} w{k % 7} x{k}" for k in range(120)], ["ham", "spam", "spam"] * 40)
        twin = clf.with_model("auto").configure(min_df=2)
        assert twin.choice == clf.choice
        assert (twin.is_calibrated, twin.calibration) == (clf.is_calibrated, clf.calibration)


def test_a_twin_does_not_close_the_file(path: str) -> None:
    with learned(path) as clf:
        with clf.with_model("mixed") as twin:
            twin.predict(["pills"])
        clf.learn(["more"], ["ham"])
    with pytest.raises(StoreError, match=r"is closed .*: open it again"):
        clf.learn(["more"], ["ham"])


def test_a_new_file_appears_when_it_is_complete(path: str) -> None:
    with pytest.raises(ZeroDivisionError), bunrui.store.creating(path) as clf:
        clf.learn(TEXTS, LABELS)
        assert not os.path.exists(path)
        raise ZeroDivisionError
    assert os.listdir(os.path.dirname(path)) == []
    with bunrui.store.creating(path) as clf:
        clf.learn(TEXTS, LABELS)
    with bunrui.open(path) as clf:
        same(clf, in_memory())
    os.unlink(path)
    with pytest.raises(StoreError, match="somebody else has made this meanwhile"), bunrui.store.creating(path) as clf:
        clf.learn(["lost"], ["x"])
        learned(path).close()
    with bunrui.open(path) as clf:
        same(clf, in_memory())
    assert os.listdir(os.path.dirname(path)) == ["mail.bunrui"]


def test_tokens_are_not_the_text_that_looks_like_them(path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn([["a", "b"]], ["x"])
        with pytest.raises(UnlearnError):
            clf.unlearn(['["a","b"]'], ["x"])
        clf.unlearn([("a", "b")], ["x"])


def test_undo(path: str) -> None:
    with learned(path) as clf:
        clf.unlearn(TEXTS[:1], LABELS[:1])
        clf.learn(["more"], ["new"])
        assert clf.undo() == ("learn", 1)
        same(clf, in_memory(TEXTS[1:], LABELS[1:]))
        assert clf.undo() == ("unlearn", 1)
        same(clf, in_memory())
        with bunrui.open(path) as again:
            same(again, clf)
            clf.unlearn(TEXTS[:1], LABELS[:1])  # the log has it again, too
        assert clf.undo() == ("unlearn", 1)
        assert clf.undo() == ("learn", 5)
        assert clf.counts.n_docs == 0
        with pytest.raises(StoreError, match="there is nothing to undo"):
            clf.undo()


def test_undo_after_compact_is_refused(path: str) -> None:
    with learned(path) as clf:
        clf.compact()
        with pytest.raises(StoreError, match="cannot be undone: learn or unlearn its documents instead"):
            clf.undo()
        clf.learn(["more"], ["ham"])
        assert clf.undo() == ("learn", 1)
        same(clf, in_memory())


# --- all or nothing


def test_a_session_that_fails_changes_nothing(path: str) -> None:
    with learned(path) as clf:
        with pytest.raises(ZeroDivisionError), clf.learning() as session:
            session.add(["one"], ["ham"])
            session.add(["two"], ["new label"])
            raise ZeroDivisionError
        same(clf, in_memory())
        with pytest.raises(LabelError), clf.learning() as session:
            session.add(["one"], ["ham"])
            session.add(["two"], [3])
        with pytest.raises(DataError, match="1 texts and 2 ids"), clf.learning() as session:
            session.add(["one"], ["ham"], ids=["a", "b"])
        with pytest.raises(DataError, match="ids should be a list of strings, not one string: put it into a list"):
            clf.learn(["a", "b"], ["x", "y"], ids="42")
        with pytest.raises(OptionError, match="a classifier can be merged with another classifier, not with str"):
            clf.merge("x")  # type: ignore[arg-type]
        with pytest.raises(DataError, match="sources should be strings or None, not 3"):
            clf.learn(["one"], ["ham"], sources=[3])
        with pytest.raises(KeyboardInterrupt), clf.unlearning() as session:
            session.add(TEXTS, LABELS)
            raise KeyboardInterrupt
        same(clf, in_memory())
        clf.learn(["three"], ["ham"])
        same(clf, in_memory([*TEXTS, "three"], [*LABELS, "ham"]))
    with bunrui.open(path) as again:
        same(again, in_memory([*TEXTS, "three"], [*LABELS, "ham"]))


def test_duplicates_are_counted(path: str) -> None:
    with learned(path) as clf:
        with clf.learning() as session:
            session.add([TEXTS[0], "new", "new"], ["ham", "ham", "ham"])
            session.add(["new", "other"], ["ham", "ham"])
        assert (session.n_docs, session.n_duplicates) == (5, 3)
        with clf.learning() as session:
            session.add(["other"], ["ham"])
        assert session.n_duplicates == 1
        clf.unlearn([TEXTS[1]], [LABELS[1]])
        with clf.learning() as session:
            session.add([TEXTS[1]], ["ham"])
        assert session.n_duplicates == 0
    with bunrui.open(path) as clf, clf.learning() as session:
        session.add([TEXTS[0]], ["ham"])
        assert session.n_duplicates == 1


def test_without_a_log_duplicates_are_unknown(path: str) -> None:
    with learned(path, keep="nothing") as clf, clf.learning() as session:
        session.add([TEXTS[0]], ["ham"])
    assert session.n_duplicates is None


# --- several files, several handles


def test_merge(path: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.bunrui")
    with learned(path) as clf, bunrui.create(other) as more:
        more.learn(["zeta", "料金"], [["zz", "ham"], "aa"], ids=["z", None], sources=["s", None])
        more.learn(["gone"], ["aa"])
        more.unlearn(["gone"], ["aa"])
        clf.merge(more)
        same(clf, in_memory([*TEXTS, "zeta", "料金"], [*LABELS, ["zz", "ham"], "aa"]))
        clf.unlearn(["zeta"], [["ham", "zz"]])
        same(clf, in_memory([*TEXTS, "料金"], [*LABELS, "aa"]))
        assert more.counts.n_docs == 2
    with bunrui.open(path) as clf:
        same(clf, in_memory([*TEXTS, "料金"], [*LABELS, "aa"]))
        assert clf.undo() == ("unlearn", 1)
        assert clf.undo() == ("merge", 2)
        same(clf, in_memory())


def test_merge_keeps_what_the_file_keeps(path: str, tmp_path: Path) -> None:
    with learned(path, keep="digests") as clf, learned(str(tmp_path / "b"), keep="text") as rich:
        clf.merge(rich)
        assert all(block.sizes is None for block in blocks(path))
        clf.unlearn(TEXTS * 2, LABELS * 2)
        with pytest.raises(OptionError, match=r"keeps text of every document, but .* keeps digests"):
            rich.merge(clf)
        with pytest.raises(OptionError, match="keeps text of every document, which a classifier in memory has not"):
            rich.merge(in_memory())
    with learned(str(tmp_path / "c"), keep="nothing") as plain:
        plain.merge(in_memory())
        same(plain, in_memory(TEXTS * 2, LABELS * 2))
        plain.merge(in_memory(["a"], ["b"]))
        assert plain.undo() == ("merge", 1)


def test_merge_refuses(path: str, tmp_path: Path) -> None:
    with learned(path) as clf, learned(str(tmp_path / "b"), analyzer="words") as words:
        with pytest.raises(MismatchError, match=r"b was made with another analyzer \(words, words\) than"):
            clf.merge(words)
        with pytest.raises(OptionError, match="with itself"), bunrui.open(path) as again:
            clf.merge(again)
        same(clf, in_memory())


def test_slim(path: str, tmp_path: Path) -> None:
    slim = str(tmp_path / "slim.bunrui")
    with learned(path) as clf:
        clf.slim(slim, min_df=2)
        with pytest.raises(StoreError, match="is there already"):
            clf.slim(slim)
        with bunrui.open(slim) as small:
            assert small.keep == "nothing"
            for model in MODELS:
                expected = clf.with_model(model, min_df=2).scores(QUERIES)
                assert np.array_equal(small.with_model(model).scores(QUERIES), expected)
            for change in (lambda: small.learn(["a"], ["b"]), lambda: small.unlearn(TEXTS, LABELS), small.undo):
                with pytest.raises(StoreError, match="lacks the words of fewer than 2 documents"):
                    change()
        with pytest.raises(OptionError, match="min_df should be a whole number, at least 1, not 0"):
            clf.slim(str(tmp_path / "never"), min_df=0)
        assert not (tmp_path / "never").exists()
        whole = str(tmp_path / "whole.bunrui")
        clf.slim(whole)
    with bunrui.open(whole) as copy:
        same(copy, in_memory())
        copy.learn(["a"], ["b"])


def test_a_reader_follows_a_writer(path: str) -> None:
    with learned(path) as writer, bunrui.open(path, read_only=True) as reader:
        assert not reader.refresh()
        writer.learn(["more"], ["new"])
        writer.unlearn(TEXTS[:1], LABELS[:1])
        assert reader.counts.n_docs == 5
        assert reader.refresh()
        same(reader, writer)
        writer.undo()
        assert reader.refresh()
        same(reader, writer)
        writer.compact()
        assert reader.refresh()
        same(reader, writer)
        assert not reader.refresh()


def test_two_writers_take_turns(path: str) -> None:
    with learned(path) as one, bunrui.open(path) as two:
        one.learn(["from one"], ["x"])
        two.learn(["from two"], ["y"])
        one.learn(["one again"], ["y"])
        two.refresh()
        same(one, two)
        same(one, in_memory([*TEXTS, "from one", "from two", "one again"], [*LABELS, "x", "y", "y"]))


def test_deltas_are_folded(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.store.store._MOST_DELTAS", 3)
    with bunrui.create(path) as clf, bunrui.open(path, read_only=True) as reader:
        for k, (text, label) in enumerate(zip(TEXTS * 2, LABELS * 2, strict=True)):
            clf.learn([text], [label])
            if k % 4 == 1:
                reader.refresh()
                same(reader, clf)
        assert sql(path, "SELECT count(*) FROM deltas")[0][0] <= 4
        assert clf.undo() == ("learn", 1)
        same(clf, in_memory((TEXTS * 2)[:-1], (LABELS * 2)[:-1]))
    with bunrui.open(path) as clf:
        same(clf, in_memory((TEXTS * 2)[:-1], (LABELS * 2)[:-1]))


def test_compact(path: str) -> None:
    with bunrui.create(path) as clf:
        for text, label in zip(TEXTS, LABELS, strict=True):
            clf.learn([text], [label], ids=[text[:3]], sources=[label])
        clf.learn([["given", "tokens"]], ["ham"])
        clf.learn(["secret text"], ["secret label"], ids=["secret id"], sources=["secret source"])
        clf.unlearn(["secret text"], ["secret label"])
        clf.unlearn(TEXTS[:1], LABELS[:1])
        clf.compact()
        expected = in_memory(TEXTS[1:], LABELS[1:])
        expected.learn([["given", "tokens"]], ["ham"])
        same(clf, expected)
        assert [block.n_docs for block in blocks(path)] == [4, 1]
        assert sql(path, "SELECT name FROM labels ORDER BY name") == [("ham",), ("spam",)]
        clf.unlearn(TEXTS[1:2], LABELS[1:2])
        clf.compact()
        clf.compact()
        clf.unlearn([["given", "tokens"]], ["ham"])
    with bunrui.open(path) as clf:
        same(clf, in_memory(TEXTS[2:], LABELS[2:]))
        assert [document.id for document in clf.documents()] == [text[:3] for text in TEXTS[2:]]
        assert [document.source for document in clf.documents()] == LABELS[2:]


# --- what is refused


def test_open_refuses(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text.csv").write_text("text,label\na,b\n")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (a)").connection.close()
    for name, what in [
        ("missing", "there is no classifier .*missing: make one with bunrui.create"),
        (".", "this is a folder, not a classifier: give a file"),
        ("empty", "empty: the file is empty: give a file that bunrui has made"),
        ("text.csv", r"text\.csv is not a bunrui classifier: give a file"),
        ("other.db", r"other\.db is not a bunrui classifier, but another SQLite database"),
    ]:
        with pytest.raises(StoreError, match=what):
            bunrui.open(tmp_path / name)


def test_create_refuses(path: str, tmp_path: Path) -> None:
    learned(path).close()
    before = Path(path).read_bytes()
    with pytest.raises(StoreError, match="is there already"):
        bunrui.create(path)
    assert Path(path).read_bytes() == before
    with pytest.raises(StoreError, match=r"there is no folder .*such: make it, or check the path"):
        bunrui.create(tmp_path / "no" / "such" / "folder")
    with pytest.raises(OptionError, match="keep should be one of text, digests, nothing, not 'all'"):
        bunrui.create(tmp_path / "x", keep="all")
    with pytest.raises(OptionError, match="a file cannot keep a function"):
        bunrui.create(tmp_path / "x", analyzer=str.split)
    with pytest.raises(OptionError, match="there is no model"):
        bunrui.create(tmp_path / "x", model="nope")
    assert os.listdir(tmp_path) == ["mail.bunrui"]


def test_a_newer_format(path: str) -> None:
    learned(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="has format 99, this bunrui knows 1 to 5: install a newer bunrui"):
        bunrui.open(path)


def test_another_fingerprint(path: str) -> None:
    learned(path).close()
    db = sqlite3.connect(path)
    db.execute("UPDATE meta SET value = '\"other\"' WHERE key = 'fingerprint'")
    db.commit()
    db.close()
    reseal(path)
    with pytest.raises(MismatchError, match="was made where the analyzer gave other features"):
        bunrui.open(path)


def test_read_only(path: str) -> None:
    learned(path).close()
    before = Path(path).read_bytes()
    with bunrui.open(path, read_only=True) as clf:
        for change in (
            lambda: clf.learn(["a"], ["b"]),
            lambda: clf.unlearn(TEXTS, LABELS),
            lambda: clf.configure(alpha=1),
            clf.undo,
            clf.compact,
        ):
            with pytest.raises(StoreError, match="was opened for reading only"):
                change()
        with opened(path) as store, pytest.raises(StoreError, match="cannot be written"):
            store.db.execute("DELETE FROM meta")
        assert clf.predict(["pills"])[0] == "spam"
    assert Path(path).read_bytes() == before


def test_a_writer_waits_then_gives_up(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.store.schema.WAIT_SECONDS", 0.05)
    with learned(path) as one, bunrui.open(path) as two:
        with one.learning() as session:
            session.add(["slow"], ["x"])
            with pytest.raises(StoreError, match="is in use by another process that is writing to it: try again"):
                two.learn(["quick"], ["y"])
            assert two.counts.n_docs == 5
        two.learn(["quick"], ["y"])
        same(two, in_memory([*TEXTS, "slow", "quick"], [*LABELS, "x", "y"]))


@pytest.mark.parametrize("n_places", quick(1, [60, 300]))
def test_damage_is_found(path: str, tmp_path: Path, n_places: int) -> None:
    learned(path).close()
    whole = Path(path).read_bytes()
    copy = tmp_path / "copy"
    rng = np.random.default_rng(0)
    for place in [*rng.integers(0, len(whole), n_places).tolist(), 0, 17, 100]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        copy.write_bytes(damaged)
        for rest in ("-wal", "-shm"):
            Path(f"{copy}{rest}").unlink(missing_ok=True)
        try:
            with bunrui.open(copy) as clf:
                clf.predict(QUERIES)
                list(clf.documents())
        except BunruiError as error:
            assert str(error)


@pytest.mark.parametrize("size", [1, 15, 16, 99, 100, 4096, 10_000])
def test_truncated_files(path: str, size: int) -> None:
    learned(path).close()
    os.truncate(path, size)
    with pytest.raises(StoreError):
        bunrui.open(path)


# --- as an estimator


def test_fit_and_set_params(path: str) -> None:
    with learned(path) as clf:
        with pytest.raises(OptionError, match=r"fit would forget the documents of .*: use learn"):
            clf.fit(TEXTS, LABELS)
        clf.set_params(model="mixed")
        clf.partial_fit(["more"], ["ham"])
        assert clf.score(["more"], ["ham"]) == 1
    with bunrui.open(path) as clf:
        assert (clf.model, clf.counts.n_docs) == ("mixed", 6)


def test_sklearn_clones_into_memory(path: str) -> None:
    from sklearn.base import clone

    with learned(path, model="mixed") as clf:
        copy = clone(clf)
        assert type(copy) is TextClassifier
        assert copy.get_params() == clf.get_params()


def test_a_copied_file_is_a_classifier_of_its_own(path: str, tmp_path: Path) -> None:
    learned(path).close()
    shutil.copy(path, tmp_path / "copy")
    with bunrui.open(tmp_path / "copy") as copy, bunrui.open(path) as clf:
        copy.learn(["more"], ["new"])
        same(clf, in_memory())


def test_repr(path: str) -> None:
    with learned(path) as clf:
        assert repr(clf).startswith("StoredClassifier('mail.bunrui', 5 documents, 2 classes, ")


# --- any history


class Histories(RuleBasedStateMachine):
    """Whatever is done in whatever order, the file holds the classifier of the documents that are left."""

    documents = Bundle("documents")

    @initialize(keep=st.sampled_from(["text", "digests", "nothing"]))
    def start(self, keep: str) -> None:
        import tempfile

        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "h.bunrui")
        self.clf = bunrui.create(self.path, keep=keep)
        self.left: list[tuple[str, str]] = []
        self.history: list[tuple[int, list[tuple[str, str]]]] = []  # before each change: its number, and what was left
        self.compacted = 0

    @rule(
        target=documents,
        batch=st.lists(
            st.tuples(st.text("ab 無🙂", max_size=6), st.sampled_from(["x", "y", "z"])), min_size=1, max_size=4
        ),
    )
    def learn(self, batch: list[tuple[str, str]]) -> list[tuple[str, str]]:
        self.history.append((self.clf.last_change, list(self.left)))
        self.clf.learn([text for text, _ in batch], [label for _, label in batch])
        self.left += batch
        return batch

    @rule(batch=consumes(documents))
    def unlearn(self, batch: list[tuple[str, str]]) -> None:
        if any(batch.count(pair) > self.left.count(pair) for pair in batch):  # undone
            return
        self.history.append((self.clf.last_change, list(self.left)))
        self.clf.unlearn([text for text, _ in batch], [label for _, label in batch])
        for pair in batch:
            self.left.remove(pair)

    @precondition(lambda self: len(self.history) > self.compacted)
    @rule()
    def undo(self) -> None:
        self.clf.undo()
        _, self.left = self.history.pop()

    @precondition(lambda self: len(self.history) > self.compacted)
    @rule(data=st.data())
    def undo_to(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(self.compacted, len(self.history) - 1))
        number, self.left = self.history[at]
        assert len(self.clf.undo_to(number)) == len(self.history) - at
        del self.history[at:]

    @rule()
    def compact(self) -> None:
        self.clf.compact()
        self.compacted = len(self.history)

    @rule()
    def reopen(self) -> None:
        self.clf.close()
        self.clf = bunrui.open(self.path)

    @invariant()
    def is_what_is_left(self) -> None:
        if not hasattr(self, "clf"):
            return
        expected = TextClassifier()
        if self.left:
            expected.learn([text for text, _ in self.left], [label for _, label in self.left])
            same(self.clf, expected)
        assert self.clf.counts == expected.counts
        if self.clf.keep != "nothing":
            assert sum(1 for _ in self.clf.documents()) == len(self.left)

    def teardown(self) -> None:
        if hasattr(self, "clf"):
            self.clf.close()
            shutil.rmtree(self.folder)


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=examples(30), stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_to_find_nothing_new_waits_for_no_reader(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "mail.bunrui").learn(["cheap pills", "noon"], ["spam", "ham"]) as clf:
        refreshing = threading.Thread(target=clf.refresh, daemon=True)
        with clf.memory.lock.read():
            refreshing.start()
            refreshing.join(60)
            assert not refreshing.is_alive()


# --- the model that a file chooses


def test_a_file_chooses_as_a_classifier_in_memory_does(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        clf.learn(texts[:150], labels[:150])
        first, calibration = clf.choice, clf.calibration
        assert first is not None and first.n_docs == 150 and clf.is_calibrated
        clf.learn(texts[150:], labels[150:])
        assert clf.choice == TextClassifier().learn(texts, labels).choice
        assert clf.choice is not None and clf.choice.evidence
        new = ["u1 u2 u3"]
        expected = TextClassifier().learn(texts, labels).predict_proba(new)
        np.testing.assert_array_equal(clf.predict_proba(new), expected)
        with bunrui.open(path, read_only=True) as other:
            assert (other.choice, other.calibration) == (clf.choice, clf.calibration)
            assert other.info()["choice"]["line"] == clf.choice.describe()
        clf.undo()
        assert (clf.choice, clf.calibration) == (first, calibration)


def test_unlearning_back_to_a_state_gives_its_choice(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        clf.learn(texts[:200], labels[:200])
        before = clf.choice, clf.info()["calibration"]["ece_after"]
        clf.learn(texts[200:], labels[200:])
        assert clf.choice != before[0]
        clf.unlearn(texts[200:], labels[200:])  # which halves them
        assert (clf.choice, clf.info()["calibration"]["ece_after"]) == before
        clf.compact()
        assert clf.choose() == before[0]


def test_a_calibration_goes_with_its_choice(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        for each in (clf, TextClassifier()):
            each.learn(texts[:30], labels[:30])
            before = each.predict_proba(texts[:2])
            each.learn(texts[30:], labels[30:])
            assert each.is_calibrated
            each.unlearn(texts[30:], labels[30:])  # too few to tell
            assert each.calibration is None
            np.testing.assert_array_equal(each.predict_proba(texts[:2]), before)
            own = calibrate(each, texts[:30], labels[:30])
            each.choose()
            assert each.calibration == own  # which somebody asked for


def test_a_file_that_is_emptied_has_chosen_nothing(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        clf.learn(texts, labels)
        chosen, calibration = clf.choice, clf.calibration
        clf.unlearn(texts, labels)
        assert (clf.choice, clf.calibration) == (None, None)
        clf.undo()
        assert (clf.choice, clf.calibration) == (chosen, calibration)
        clf.unlearn(texts, labels)
    with bunrui.open(path) as clf:
        assert clf.model_ is not None and clf.model_.reason == "nothing has been learned yet"
        clf.learn(texts[:10], labels[:10])
        assert clf.choice is not None and clf.choice.n_docs == 10


def test_the_memory_of_a_file_keeps_no_sample(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        clf.configure(prior="uniform").learn(texts, labels)
        assert clf.memory.sample is None
        merged = TextClassifier().learn(texts, labels).merge(clf)
        assert merged.choice == TextClassifier().learn(texts * 2, labels * 2).choice


def test_the_metric_stays(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        for each in (clf, TextClassifier()):
            each.learn(texts, labels).choose("macro_f1")
            each.set_params(prior="uniform")
            assert each.choice is not None and each.choice.metric == "macro_f1"
    each.merge(TextClassifier().learn(texts[:9], labels[:9]))
    assert each.choice.metric == "macro_f1" and each.choice.n_docs == 409
    each.merge(TextClassifier("binary").learn(texts[:9], labels[:9]))
    assert each.memory.sample is None and each.choice.n_docs == 409  # the last one stays


def test_a_twin_undoes_a_choice(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        clf.learn(texts[:150], labels[:150])
        first = clf.choice, clf.calibration
        clf.learn(texts[150:], labels[150:])
        clf.with_model("binary").undo()
        assert (clf.choice, clf.calibration) == first


@pytest.mark.parametrize("label", [" ", "x" * 1001])
def test_a_merge_brings_no_label_that_a_file_refuses(path: str, label: str) -> None:
    with bunrui.create(path, "binary", keep="nothing") as clf:
        for change in (lambda: clf.learn(["a"], [label]), lambda: clf.merge(TextClassifier().learn(["a"], [label]))):
            with pytest.raises(LabelError, match="a label "):
                change()
        assert clf.counts.n_docs == 0


def test_a_merge_chooses(path: str, tmp_path: Path) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf, bunrui.create(tmp_path / "other.bunrui") as other:
        clf.learn(texts[:390], labels[:390])
        other.learn(texts[390:], labels[390:])
        clf.merge(other)
        assert clf.choice == TextClassifier().learn(texts, labels).choice


def answers_of(clf: Any) -> tuple[Any, ...]:
    return clf.effective_settings, clf.is_calibrated, clf.predict_proba(["u12 u3 u40", "u7", "", "never"]).tolist()


@pytest.mark.parametrize("keep", ["nothing", "digests"])
@pytest.mark.parametrize(
    "options", [{}, {"model": "multinomial", "alpha": 0.5}, {"prior": "uniform"}, {"alpha": 0.7}, {"min_df": 2}]
)
def test_an_empty_file_answers_as_what_is_merged_into_it(
    path: str, tmp_path: Path, keep: str, options: dict[str, Any]
) -> None:
    texts, labels = choosing(400)
    clf = bunrui.create(tmp_path / "other.bunrui", **options) if keep == "digests" else TextClassifier(**options)
    calibrate(clf.learn(texts, labels), texts, labels)
    expected = answers_of(clf)
    assert expected[1]
    with bunrui.create(path, keep=keep) as empty:
        assert answers_of(empty.merge(clf)) == expected and empty.choice == clf.choice
        assert empty.undo() == ("merge", 400)
        assert empty.choice is None and empty.settings == TextClassifier().settings
        empty.merge(clf)
    with bunrui.open(path) as again:
        assert answers_of(again) == expected
        if keep == "nothing":  # later ones are added to what is there
            assert answers_of(again.merge(TextClassifier("complement").learn(["a"], ["b"])))[0] == expected[0]


def test_a_choice_goes_with_the_counts(path: str) -> None:
    texts, labels = choosing(400)
    clf = TextClassifier().learn(texts, labels)
    assert clf.choice is not None and clf.effective_options["model"] != "binary-complement"
    with bunrui.create(path, keep="nothing") as empty:
        assert answers_of(empty.merge(clf)) == answers_of(clf)


@pytest.mark.parametrize("options", [{"model": "binary"}, {"alpha": 0.7}, {"model": "multinomial", "prior": "uniform"}])
def test_options_that_a_file_was_made_with_stay_after_a_merge(path: str, options: dict[str, Any]) -> None:
    texts, labels = choosing(400)
    alike = TextClassifier(**options).learn(texts, labels)
    with bunrui.create(path, keep="nothing", **options) as empty:
        empty.merge(TextClassifier("complement").learn(texts, labels))
        assert answers_of(empty) == answers_of(alike.with_model(**options))
        assert empty.undo() == ("merge", 400)
        calibrate(alike, texts, labels)
        assert answers_of(empty.merge(alike)) == answers_of(alike) and empty.is_calibrated


def test_a_merge_of_more_than_counts_is_refused(path: str, tmp_path: Path) -> None:
    texts, labels = choosing(400)
    trained = TextClassifier("nbsvm").learn(texts, labels)
    with bunrui.create(path, keep="nothing") as empty:
        expected = (
            f"nbsvm is trained from documents, and {path} keeps nothing of them: learn into a file that keeps text"
        )
        with pytest.raises(OptionError, match=re.escape(expected)):
            empty.merge(trained)
        pool = TextClassifier("binary").learn_unlabelled(["more", "text"]).learn(texts, labels)
        pool.pool_weight = PoolWeight(weight=0.5, n_pool=9)
        with pytest.raises(OptionError, match=r"texts without a label help the other classifier, and .* keeps none"):
            empty.merge(pool)
        assert empty.history() == [] and empty.counts.n_docs == 0
    with bunrui.create(tmp_path / "named.bunrui", "multinomial", keep="nothing") as named:
        assert named.merge(trained).model == "multinomial"


def test_a_merge_warns_of_another_model(path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts, labels = choosing(400)
    two = [TextClassifier(model).learn(texts, labels) for model in ("multinomial", "multinomial")]
    with bunrui.create(path, keep="nothing") as empty:
        assert empty.merge(*two).model == "multinomial" and caplog.messages == []
    other = TextClassifier("complement").learn(texts, labels)
    with bunrui.create(tmp_path / "b.bunrui", keep="nothing") as empty:
        assert empty.merge(two[0], other).effective_options["model"] == "binary-complement"
    (said,) = caplog.messages
    assert said.endswith("b.bunrui uses the model binary-complement, and a classifier that was merged used another")
    with bunrui.create(tmp_path / "c.bunrui", keep="nothing", prior="uniform") as empty:
        assert empty.merge(other).get_params()["prior"] == "uniform"
    assert caplog.messages[1].startswith(f"{tmp_path / 'c.bunrui'} uses the model binary-complement, and a")


def test_a_named_model_switches_the_choice_off(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        clf.learn(texts, labels)
        chosen = clf.choice
        clf.configure(model="complement")
        assert clf.model_ is None and not clf.is_calibrated
        clf.configure(model="auto")
        assert clf.choice == chosen and clf.is_calibrated
        clf.undo()
        assert clf.model == "complement"
        with pytest.raises(OptionError, match="the model is 'complement', and there is nothing to choose"):
            clf.choose()


@pytest.mark.parametrize("keep", ["digests", "nothing"])
def test_files_without_texts_stay_with_the_plain_default(path: str, keep: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path, keep=keep) as clf:
        clf.learn(texts, labels)
        assert clf.model_ is not None and clf.model_.reason == "the documents are not kept"
        with pytest.raises(StoreError, match="has no documents to choose by: learn into a file with keep='text'"):
            clf.choose()


def test_auto_sets_options_back_that_would_leave_nothing_to_choose(path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn(*choosing(400))
        before = clf.get_params()
        assert clf.configure(model="multinomial", alpha=0.5, class_norm=True, max_features=9).configure(min_df=1)
        assert clf.configure(model="auto").get_params() == before
        assert clf.model_ is not None and clf.model_.evidence
        clf.configure(model="multinomial", class_norm=True).configure(model="auto", alpha=0.5)
        assert clf.get_params() == {**before, "alpha": 0.5}
        assert clf.model_ is not None and clf.model_.reason == "alpha is given"
        assert clf.configure(model="auto").get_params() == before
        assert clf.model_ is not None and clf.model_.evidence


def test_choosing_keeps_the_metric_that_another_process_named(path: str) -> None:
    with bunrui.create(path) as clf, bunrui.open(path) as other:
        clf.learn(*choosing(400))
        other.refresh()
        other.choose("macro_f1")
        assert clf.choose().metric == "macro_f1"
        assert clf.choose("accuracy").metric == other.choose().metric == "accuracy"


def test_choosing_in_an_emptied_file_asks_for_documents(path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn(["cheap pills"], ["spam"])
        clf.unlearn(["cheap pills"], ["spam"])
        with pytest.raises(StoreError, match=r"has no documents to choose by: call learn\(texts, labels\) first"):
            clf.choose()


def test_a_slim_copy_has_the_chosen_model(path: str, tmp_path: Path) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path) as clf:
        clf.learn(texts, labels)
        clf.slim(tmp_path / "slim.bunrui")
        with bunrui.open(tmp_path / "slim.bunrui") as slim:
            assert slim.get_params() == clf.effective_options
            np.testing.assert_array_equal(slim.predict_proba(texts[:9]), clf.predict_proba(texts[:9]))


def test_files_from_before_keep_their_model(path: str) -> None:
    texts, labels = choosing(400)
    with bunrui.create(path, "binary-complement") as clf:
        clf.learn(texts, labels)
        assert (clf.model, clf.model_, clf.calibration) == ("binary-complement", None, None)


@pytest.mark.parametrize(
    "change", [{"n_docs": "many"}, {"candidate": {"model": "of-tomorrow", "alpha": 1.0}}, {"more": 1}]
)
def test_a_choice_that_this_version_does_not_know(path: str, change: dict[str, Any]) -> None:
    """It counts as none: the plain default answers, and the next change chooses."""
    texts, labels = choosing(100)
    with bunrui.create(path) as clf:
        clf.learn(texts, labels)
        settings = clf._file.store.settings()
        with clf._file.store.writing():
            clf._file.store.save_settings(settings | {"choice": settings["choice"] | change})
    with bunrui.open(path) as clf:
        assert clf.choice is None and clf.effective_options["model"] == "binary-complement"
        clf.learn(texts[:1], labels[:1])
        assert clf.choice is not None and clf.choice.n_docs == 101


def test_files_stay_readable_when_the_default_changes(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with bunrui.create(path) as clf:
        clf.learn(*choosing(400))
        chosen = clf.choice
    monkeypatch.setattr(choice, "PLAIN", choice.Candidate("binary", 0.25))
    with bunrui.open(path) as clf:
        assert chosen is not None and clf.choice == chosen and clf.choice.describe() == chosen.describe()
