"""Texts without a label in a file: rows of the log that come, go, and come back, and never counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.errors import DamagedError, OptionError, StoreError, UnlearnError
from bunrui.store.codec import pack
from tests.store.test_lifecycle import everything_in
from tests.support.files import sql
from tests.support.pools import two_topics

TEXTS, LABELS, POOL = two_topics()
QUERIES = [*POOL[:20], *TEXTS[:5], "tea1 oil2", "never seen"]


@pytest.fixture
def clf(tmp_path: Path) -> bunrui.StoredClassifier:
    return bunrui.create(tmp_path / "a.bunrui", "binary", analyzer="words").learn(TEXTS, LABELS).learn_unlabelled(POOL)


def in_memory() -> TextClassifier:
    return TextClassifier("binary", analyzer="words").learn_unlabelled(POOL).learn(TEXTS, LABELS)


def test_a_file_answers_as_the_memory(clf: bunrui.StoredClassifier) -> None:
    expected = in_memory()
    assert clf.unlabelled_ == expected.unlabelled_ and clf.unlabelled_ is not None and clf.unlabelled_.weight
    assert clf.counts == expected.counts and len(list(clf.documents())) == len(TEXTS)
    assert np.array_equal(clf.scores(QUERIES), expected.scores(QUERIES))
    with bunrui.open(clf.path, read_only=True) as again:
        assert np.array_equal(again.scores(QUERIES), expected.scores(QUERIES))
        known = again.info()["unlabelled"]
        assert (known["n_pool"], known["weight"], known["line"]) == (
            len(POOL),
            clf.unlabelled_.weight,
            clf.unlabelled_.describe(),
        )
    report = clf.check()
    assert report.is_right and f"texts without a label: {len(POOL)}" in report.right


def test_a_text_with_a_label_counts_by_its_label_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.sample.MOST_DOCS", 24)  # of 40 documents
    texts, labels, pool = two_topics(n_labelled=40, n_pool=200, seed=5)
    one, other, third = (bunrui.create(tmp_path / name, "binary", analyzer="words") for name in "abc")
    one.learn(texts, labels).learn_unlabelled(pool)
    other.learn(texts, labels).learn_unlabelled([*pool, *texts])
    assert one.unlabelled_ is not None and other.unlabelled_ is not None and one.unlabelled_.weight
    assert other.unlabelled_.evidence == one.unlabelled_.evidence
    assert np.array_equal(other.scores(QUERIES), one.scores(QUERIES))
    third.learn(texts, labels).learn_unlabelled(texts)
    assert third.unlabelled_ is not None and third.unlabelled_.reason == "all its texts have a label"


def test_undo_and_unlearn(clf: bunrui.StoredClassifier) -> None:
    before, plain = clf.scores(QUERIES), TextClassifier("binary", analyzer="words").learn(TEXTS, LABELS)
    for gone in (POOL[:50], None):
        clf.unlearn_unlabelled(gone)
        assert len(clf.memory.pool) == (0 if gone is None else len(POOL) - 50)
        if gone is None:
            assert clf.unlabelled_ is None and np.array_equal(clf.scores(QUERIES), plain.scores(QUERIES))
        assert clf.undo()[0] == "unlearn"
        assert np.array_equal(clf.scores(QUERIES), before)
    clf.learn_unlabelled(POOL)  # they are there: nothing changes
    assert clf.last_standing().number == 2  # type: ignore[union-attr]
    assert clf.undo()[0] == "learn"
    assert clf.unlabelled_ is None and np.array_equal(clf.scores(QUERIES), plain.scores(QUERIES))


def test_another_process_follows(clf: bunrui.StoredClassifier) -> None:
    with bunrui.open(clf.path) as other:
        assert np.array_equal(other.scores(QUERIES), clf.scores(QUERIES))
        clf.unlearn_unlabelled(POOL[:100])
        assert other.refresh()
        assert len(other.memory.pool) == 60 and np.array_equal(other.scores(QUERIES), clf.scores(QUERIES))


def test_compact_wipes_out_what_went(clf: bunrui.StoredClassifier) -> None:
    secret = "unspeakable peculiar zebra"
    clf.learn_unlabelled([secret]).learn_unlabelled([["given", "tokens"]])
    assert secret.encode() in everything_in(clf.path)
    clf.unlearn_unlabelled([secret])
    expected = clf.scores(QUERIES)
    clf.compact()
    for part in secret.split():
        assert part.encode() not in everything_in(clf.path)
    assert len(clf.memory.pool) == len(POOL) + 1 and np.array_equal(clf.scores(QUERIES), expected)
    assert sql(clf.path, "SELECT count(*) FROM unlabelled") == [(2,)]  # strings, and tokens
    assert clf.check().is_right


def test_merge_joins_pools(clf: bunrui.StoredClassifier, tmp_path: Path) -> None:
    one, other = (bunrui.create(tmp_path / name, "binary", analyzer="words") for name in ("one", "other"))
    one.learn(TEXTS[:9], LABELS[:9]).learn_unlabelled(POOL[:100])
    other.learn(TEXTS[9:], LABELS[9:]).learn_unlabelled(POOL[50:])
    one.merge(other)
    assert one.unlabelled_ == clf.unlabelled_ and np.array_equal(one.scores(QUERIES), clf.scores(QUERIES))
    one.undo()
    assert len(one.memory.pool) == 100
    with bunrui.create(tmp_path / "digests", "binary", analyzer="words", keep="digests") as small:
        assert len(small.merge(other).memory.pool) == 0


def test_all_or_none(clf: bunrui.StoredClassifier, tmp_path: Path) -> None:
    before = clf.scores(QUERIES)
    with pytest.raises(UnlearnError, match="not among the texts without a label: 'another'"):
        clf.unlearn_unlabelled([POOL[0], "another"])
    with pytest.raises(RuntimeError), clf.learning() as session:
        session.add(["more tea"], ["tea"])
        session.add_unlabelled(["more"])
        raise RuntimeError
    assert len(clf.memory.pool) == len(POOL) and np.array_equal(clf.scores(QUERIES), before)
    with bunrui.create(tmp_path / "b.bunrui", keep="nothing") as bare, pytest.raises(StoreError, match="keeps nothing"):
        bare.learn_unlabelled(POOL)
    with pytest.raises(OptionError, match="a slim copy keeps none"):
        clf.slim(tmp_path / "slim.bunrui")
    clf.configure(model="bernoulli")
    assert clf.unlabelled_ is not None and "fractions" in clf.unlabelled_.reason
    with pytest.raises(OptionError, match="bernoulli does not read fractions"):
        clf.learn_unlabelled(["more"])
    clf.undo()
    assert np.array_equal(clf.scores(QUERIES), before)


def test_damage_is_found(clf: bunrui.StoredClassifier) -> None:
    sql(clf.path, "UPDATE unlabelled SET digests = ?", pack(b"\0" * 16 * len(POOL)))
    with bunrui.open(clf.path) as damaged:
        assert not damaged.check().is_right
    sql(clf.path, "UPDATE unlabelled SET sign = -1, sizes = x'', text = x''")
    with pytest.raises(DamagedError, match="were not there"):
        bunrui.open(clf.path)
