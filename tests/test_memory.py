"""What a classifier has learned, apart from the classifier."""

from __future__ import annotations

import gc
import pickle
import weakref
from pathlib import Path

import numpy as np
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.classifier import AnyClassifier
from bunrui.errors import MismatchError, NotLearnedError, OptionError, StoreError
from bunrui.memory import KeptDocuments, NoDocuments

TEXTS, LABELS = ["cheap pills", "see you at noon", "pills"], ["spam", "ham", "spam"]


def test_classifiers_share_a_memory() -> None:
    one = TextClassifier().learn(TEXTS, LABELS)
    other = TextClassifier("multinomial").attach(one.memory)
    one.learn(["lunch"], ["ham"])
    assert other.counts is one.counts and other.counts.n_docs == 4
    assert np.array_equal(other.scores(TEXTS), one.with_model("multinomial").scores(TEXTS))


def test_a_memory_of_other_features_is_refused() -> None:
    with pytest.raises(MismatchError, match="other features"):
        TextClassifier(analyzer="words").attach(TextClassifier().memory)


def test_documents_are_kept_for_those_who_need_them() -> None:
    assert isinstance(TextClassifier().memory.documents, NoDocuments)
    clf = TextClassifier("nbsvm")
    assert isinstance(clf.memory.documents, KeptDocuments)
    clf = TextClassifier().set_params(model="nbsvm")  # nothing was learned yet
    assert clf.learn(TEXTS, LABELS).memory.kept is not None
    clf = TextClassifier().learn(TEXTS, LABELS).set_params(model="nbsvm")
    with pytest.raises(NotLearnedError, match="keeps counts only"):
        clf.predict(TEXTS)


def test_a_memory_in_trouble_is_not_read() -> None:
    clf = TextClassifier().learn(TEXTS, LABELS)
    clf.memory.trouble = "half of it is missing"
    with pytest.raises(StoreError, match="half of it is missing"):
        clf.predict(TEXTS)
    clf.memory.trouble = None
    assert clf.predict(["pills"]).tolist() == ["spam"]


def test_options_that_make_no_sense_are_refused_later() -> None:
    clf = TextClassifier().learn(TEXTS, LABELS)
    before = clf.scores(TEXTS)
    clf.set_params(alpha=-1)
    for ask in (clf.scores, clf.label_odds, lambda texts: clf.learn(texts, LABELS)):
        with pytest.raises(OptionError, match="alpha should be above 0"):
            ask(TEXTS)
    copy = pickle.loads(pickle.dumps(clf))
    with pytest.raises(OptionError, match="alpha should be above 0"):
        copy.predict(TEXTS)
    assert np.array_equal(clf.set_params(alpha=None).scores(TEXTS), before)


def test_a_stored_classifier_has_a_classifier(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "a.bunrui", "multinomial", alpha=0.5) as clf:
        assert isinstance(clf, AnyClassifier) and not isinstance(clf, TextClassifier)
        assert (clf.model, clf.alpha, clf.calibration) == ("multinomial", 0.5, None)
        assert clf.size > 0 and clf.last_seen == 0
        clf.learn(TEXTS, LABELS)
        assert clf.last_seen == clf.last_change == 1
        with pytest.raises(AttributeError):
            clf.alpha = 2.0
        assert clf.configure(alpha=2.0).alpha == 2.0
    with bunrui.open(tmp_path / "a.bunrui") as clf:
        assert clf.alpha == 2.0


def test_what_is_no_longer_used_is_freed_at_once(tmp_path: Path) -> None:
    """Counts may take all of the memory: they cannot wait for the collector of cycles."""
    gc.disable()
    try:
        with bunrui.create(tmp_path / "a.bunrui") as clf:
            clf.learn(TEXTS, LABELS).predict(TEXTS)
        memory = weakref.ref(clf.memory)
        del clf
        assert memory() is None
    finally:
        gc.enable()
