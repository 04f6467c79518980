"""Whatever is changed, the file holds the classifier of the documents as they are now."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import bunrui
from bunrui import StoredClassifier, TextClassifier
from bunrui.errors import LabelError, LabelSetError, OptionError, StoreError, UnlearnError
from bunrui.evaluation import leave_one_out
from bunrui.store.codec import Unpacker
from tests.store.probing import reseal
from tests.support.examples import examples
from tests.support.files import sql

TEXTS = ["cheap pills now", "meeting at noon", "料金が無料", "lunch at noon?"]
LABELS = ["spam", "ham", ["spam", "ad"], "ham"]
IDS = ["a", "b", "c", None]
SOURCES = ["one.csv", "one.csv", "two.csv", None]
QUERIES = [*TEXTS, "pills at noon"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "mail.bunrui")


def learned(path: str, labels: list[object] = LABELS, **options: object) -> StoredClassifier:
    return bunrui.create(path, **options).learn(TEXTS, labels, ids=IDS, sources=SOURCES)


def expect(clf: StoredClassifier, documents: dict[str, object]) -> None:
    """The classifier, its file and its log have these documents."""
    plain = TextClassifier()
    if documents:
        plain.learn(list(documents), list(documents.values()))
    with bunrui.open(clf.path) as again:
        for each in (clf, again):
            assert each.counts == plain.counts
            if documents:
                assert np.array_equal(each.scores(QUERIES), plain.scores(QUERIES))
        report = again.check()
        assert report.is_right, report.wrong
        if clf.keep == "text":
            sets = {text: {labels} if isinstance(labels, str) else set(labels) for text, labels in documents.items()}
            assert {document.text: set(document.labels) for document in again.documents()} == sets


ALL = dict(zip(TEXTS, LABELS, strict=True))


def without(*texts: str) -> dict[str, object]:
    return {text: labels for text, labels in ALL.items() if text not in texts}


# --- by id, digest, source and time


def test_unlearn_by_id_and_digest(path: str) -> None:
    with learned(path) as clf:
        clf.unlearn(ids=["c", "a"])
        expect(clf, without(TEXTS[0], TEXTS[2]))
        digest = next(document.digest for document in clf.documents() if document.text == TEXTS[1])
        clf.unlearn(digests=[digest])
        expect(clf, {TEXTS[3]: "ham"})
        assert clf.undo() == ("unlearn", 1)
        assert clf.undo() == ("unlearn", 2)
        expect(clf, ALL)


def test_what_is_not_there_is_refused(path: str) -> None:
    with learned(path) as clf:
        with pytest.raises(UnlearnError, match="no document that is learned has the id 'x', 'y', 'z' and 1 more"):
            clf.unlearn(ids=["a", "x", "y", "z", "zz"])
        with pytest.raises(UnlearnError, match=f"has the digest '{'0' * 32}'"):
            clf.unlearn(digests=["0" * 32])
        with pytest.raises(OptionError, match="a digest has 32 hexadecimal digits, not 'abc'"):
            clf.unlearn(digests=["abc"])
        with pytest.raises(UnlearnError, match="has the digest"):
            clf.relabel("ham", texts=["never learned"])
        for wrong in ({}, {"ids": ["a"], "digests": ["0" * 32]}):
            with pytest.raises(OptionError, match="say which documents by one of texts, ids and digests"):
                clf.unlearn(**wrong)
        with pytest.raises(OptionError, match="documents are given as a list, not as the string 'a'"):
            clf.unlearn(ids="a")
        with pytest.raises(OptionError, match="needs the labels"):
            clf.unlearn(TEXTS)
        with pytest.raises(OptionError, match="forget needs before=, source=, or both"):
            clf.forget()
        expect(clf, ALL)


def test_relabel(path: str) -> None:
    with learned(path) as clf:
        clf.relabel("ham", ids=["a"])
        clf.relabel(["new", "ad"], texts=[TEXTS[1]])
        expect(clf, ALL | {TEXTS[0]: "ham", TEXTS[1]: ["new", "ad"]})
        clf.relabel("ham", ids=["a"])  # as it is: nothing changes
        assert len(clf.history()) == 3
        document = next(document for document in clf.documents() if document.text == TEXTS[0])
        assert (document.id, document.source) == ("a", "one.csv")
        for nothing, what in (
            ("", "is empty"),
            ([], "has no label"),
            ([3], "is of type int, and others are of type str"),
        ):
            with pytest.raises(LabelError, match=what):
                clf.relabel(nothing, ids=["a"])
        clf.undo()
        clf.undo()
        expect(clf, ALL)


def test_one_label_does_not_replace_several(path: str) -> None:
    with learned(path) as clf:
        clf.relabel(["new", "ad"], ids=["a"])
        with pytest.raises(LabelSetError, match="a document has 2 labels, and one would replace them all"):
            clf.relabel("ham", ids=["a"])
        expect(clf, ALL | {TEXTS[0]: ["new", "ad"]})
        clf.relabel(["ham"], ids=["a"])
        expect(clf, ALL | {TEXTS[0]: "ham"})


def test_relabel_by_text_where_only_digests_are_kept(path: str) -> None:
    with learned(path, keep="digests") as clf:
        clf.relabel("ham", texts=[TEXTS[0]])
        expect(clf, ALL | {TEXTS[0]: "ham"})
        with pytest.raises(StoreError, match="keeps no texts, so that their words are not known: give the texts"):
            clf.relabel("spam", ids=["a"])
        expect(clf, ALL | {TEXTS[0]: "ham"})


def test_forget(path: str) -> None:
    with learned(path) as clf:
        time.sleep(0.01)
        moment = datetime.now(UTC)
        clf.learn(["later"], ["ham"], sources=["two.csv"])
        assert clf.forget(source="none.csv") == 0
        assert clf.forget(source="one.csv") == 2
        expect(clf, without(TEXTS[0], TEXTS[1]) | {"later": "ham"})
        assert clf.forget(before=moment, source="two.csv") == 1
        expect(clf, {TEXTS[3]: "ham", "later": "ham"})
        n_changes = len(clf.history())
        assert clf.forget(before=moment - timedelta(days=1)) == 0
        assert len(clf.history()) == n_changes
        assert clf.forget(before=datetime.now() + timedelta(days=1)) == 2
        expect(clf, {})


def test_forget_keeps_working_after_compact(path: str) -> None:
    with learned(path) as clf:
        time.sleep(0.01)
        moment = datetime.now(UTC)
        clf.learn(["later"], ["ham"])
        clf.compact()
        assert clf.forget(before=moment) == 4
        expect(clf, {"later": "ham"})


# --- labels


def test_labels_with_text(path: str) -> None:
    with learned(path) as clf:
        assert clf.rename_label("spam", "junk") == 2
        expect(clf, ALL | {TEXTS[0]: "junk", TEXTS[2]: ["junk", "ad"]})
        assert clf.move_label("junk", "ad") == 2
        expect(clf, ALL | {TEXTS[0]: "ad", TEXTS[2]: "ad"})
        assert clf.drop_label("ham") == 2
        expect(clf, {TEXTS[0]: "ad", TEXTS[2]: "ad"})
        assert [clf.undo()[0] for _ in range(3)] == ["drop", "move", "rename"]
        expect(clf, ALL)
        assert clf.drop_label("ad") == 1
        expect(clf, ALL | {TEXTS[2]: "spam"})
        with bunrui.open(path) as reader:
            clf.rename_label("spam", "s")
            assert reader.refresh()
            assert reader.classes_.tolist() == ["ham", "s"]


@pytest.mark.parametrize("keep", ["digests", "nothing"])
def test_labels_without_text(path: str, keep: str) -> None:
    single = ["spam", "ham", "ad", "ham"]
    with learned(path, single, keep=keep) as clf:
        clf.move_label("ad", "spam")
        expect(clf, dict(zip(TEXTS, ["spam", "ham", "spam", "ham"], strict=True)))
        clf.drop_label("ham")
        expect(clf, {TEXTS[0]: "spam", TEXTS[2]: "spam"})
        clf.rename_label("spam", "junk")
        clf.unlearn([TEXTS[2]], ["junk"])
        expect(clf, {TEXTS[0]: "junk"})
        assert [clf.undo() for _ in range(4)] == [("unlearn", 1), ("rename", 2), ("drop", 2), ("move", 1)]
        expect(clf, dict(zip(TEXTS, single, strict=True)))


@pytest.mark.parametrize("keep", ["digests", "nothing"])
def test_several_labels_without_text_are_refused(path: str, keep: str) -> None:
    with learned(path, keep=keep) as clf:
        with pytest.raises(StoreError, match="keeps no texts to tell the words of documents with several labels apart"):
            clf.drop_label("spam")
        expect(clf, ALL)


def test_wrong_labels(path: str) -> None:
    with learned(path) as clf:
        with pytest.raises(LabelError, match=r"there is no label 'x' in .*: the labels are ad, ham, spam"):
            clf.drop_label("x")
        with pytest.raises(LabelError, match="there is a label 'ham' already: move 'spam' to it instead"):
            clf.rename_label("spam", "ham")
        with pytest.raises(LabelError, match="'ham' has that name already"):
            clf.rename_label("ham", "ham")
        with pytest.raises(LabelError, match="'ham' cannot be moved to itself"):
            clf.move_label("ham", "ham")
        with pytest.raises(LabelError, match="is empty"):
            clf.rename_label("ham", "")
        with pytest.raises(LabelError, match="there is no label 'new'"):
            clf.move_label("ham", "new")
        clf.drop_label("ad")
        with pytest.raises(LabelError, match="'ad' is still the label of documents that were unlearned: compact"):
            clf.rename_label("ham", "ad")
        clf.compact()
        clf.rename_label("ham", "ad")
        expect(clf, {TEXTS[0]: "spam", TEXTS[1]: "ad", TEXTS[2]: "spam", TEXTS[3]: "ad"})


@pytest.mark.parametrize("name", ["\u3000 ", "x" * 1001])
def test_names_that_no_label_should_get(path: str, name: str) -> None:
    with learned(path) as clf:
        for change in (
            lambda: clf.learn(["new"], [name]),
            lambda: clf.learn(["new"], [["ham", name]]),
            lambda: clf.relabel(name, ids=["a"]),
            lambda: clf.relabel_each([(next(iter(clf.documents())).digest, ["spam"], [name])]),
            lambda: clf.rename_label("ham", name),
        ):
            with pytest.raises(
                LabelError, match=r"a label (is blank|has 1,001 characters).*: give it a (shorter )?name"
            ):
                change()
        expect(clf, ALL)
        clf.learn(["new"], ["x" * 1000])


@pytest.mark.parametrize("name", ["\u3000 ", "x" * 1001])
def test_files_from_before_may_have_such_names(path: str, name: str) -> None:
    learned(path, ["old", "ham", "old", "ham"]).close()
    sql(path, "UPDATE labels SET name = ? WHERE name = 'old'", name)
    reseal(path)
    with bunrui.open(path) as clf:
        clf.learn(["one more"], [name])
        clf.unlearn([TEXTS[0]], [name])
        now = {TEXTS[1]: "ham", TEXTS[2]: name, TEXTS[3]: "ham", "one more": name}
        expect(clf, now)
        assert leave_one_out(clf).metrics.n == 4
        clf.rename_label(name, "new")
        expect(clf, {text: label.replace(name, "new") for text, label in now.items()})


# --- no trace


def everything_in(path: str) -> bytes:
    """The bytes of the file and its journal, and everything that is packed in them."""
    found = b"".join(Path(name).read_bytes() for name in (path, f"{path}-wal") if os.path.exists(name))
    with sqlite3.connect(path) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in db.execute(f"SELECT * FROM {table}"):
                for value in row:
                    found += str(value).encode() if not isinstance(value, bytes) else value
                    if isinstance(value, bytes) and len(value) >= 13:
                        found += bytes(Unpacker(path, 1 << 30).unpack(value))
    db.close()
    return found


@pytest.mark.parametrize("how", ["unlearn", "forget", "drop", "relabel", "undo"])
def test_what_is_unlearned_leaves_no_trace_after_compact(path: str, how: str) -> None:
    secrets = ["zyxwunique", "confidentialtext", "classifiedlabel", "secretid", "hiddensource"]
    with learned(path) as clf:
        text = f"{secrets[0]} {secrets[1]} " + "and more of it " * 20
        clf.learn([text], [secrets[2]], ids=[secrets[3]], sources=[secrets[4]])
        if how == "unlearn":
            clf.unlearn([text], [secrets[2]])
        elif how == "forget":
            clf.forget(source=secrets[4])
        elif how == "drop":
            clf.drop_label(secrets[2])
        elif how == "undo":
            clf.undo()
        else:
            clf.relabel("ham", ids=[secrets[3]])
            clf.unlearn([text], ["ham"])
        if how != "undo":
            assert all(secret.encode() in everything_in(path) for secret in secrets)
        clf.compact()
        left = everything_in(path)
        assert "料金が無料".encode() in left  # the search finds what is there
        for secret in secrets:
            assert secret.encode() not in left
        assert sql(path, "PRAGMA freelist_count") == [(0,)]
        expect(clf, ALL)


# --- check


def test_check_says_what_it_could_not_check(path: str, tmp_path: Path) -> None:
    with learned(path) as clf:
        report = clf.check()
        assert report.is_right
        assert report.unknown == []
        assert report.right[-1] == "the counts, counted again from the texts"
    with learned(str(tmp_path / "d"), keep="digests") as clf:
        assert clf.check().unknown == ["the counts and digests, from their texts: the file keeps digests only"]
    with learned(str(tmp_path / "n"), keep="nothing") as clf:
        assert clf.check().unknown == ["the counts, from their documents: the file keeps none"]


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("DELETE FROM documents", "documents in the log"),
        ("UPDATE labels SET name = CASE label WHEN 0 THEN 'b' WHEN 1 THEN 'c' ELSE 'a' END", "checksum"),
        ("UPDATE labels SET name = 'c' WHERE label = 0", "checksum"),
        ("UPDATE transactions SET note = '{}'", "checksum"),
        ("UPDATE transactions SET checksum = NULL", "checksum"),
        ("UPDATE removals SET tx = 1", "checksum"),
        ("UPDATE deltas SET tx = 1", "checksum"),
        ("UPDATE documents SET digests = (SELECT digests FROM documents ORDER BY block DESC LIMIT 1)", "digests"),
        ("DELETE FROM deltas WHERE delta = 3", "documents in the log"),
        ("UPDATE cells SET docs = labels", "is damaged"),
        ("UPDATE documents SET codes = zeroblob(13)", "is damaged|documents of each label"),
    ],
)
def test_check_finds_what_is_wrong(path: str, damage: str, what: str) -> None:
    with learned(path, ["spam", "ham", "spam", "ham"]) as clf:
        clf.learn(["one more of the four"] * 4, ["ham", "spam", "ham", "spam"])
        clf.unlearn(["one more of the four"], ["ham"])
        sql(path, damage)
        report = clf.check()
        assert not report.is_right
        assert any(part in problem for problem in report.wrong for part in what.split("|"))


def test_documents_need_a_log(path: str) -> None:
    with learned(path, keep="nothing") as clf:
        with pytest.raises(StoreError, match="keeps nothing of its documents"):
            list(clf.documents())
        for change in (
            lambda: clf.unlearn(ids=["a"]),
            lambda: clf.relabel("x", texts=[TEXTS[0]]),
            lambda: clf.forget(source="one.csv"),
        ):
            with pytest.raises(StoreError, match="keeps nothing of its documents: learn them"):
                change()


def test_what_was_unlearned_is_not_there(path: str) -> None:
    with learned(path) as clf:
        clf.unlearn(ids=["a"])
        with pytest.raises(UnlearnError, match="no document that is learned has the id 'a'"):
            clf.unlearn(ids=["a", "b"])
        with pytest.raises(UnlearnError, match="has the digest"):
            clf.relabel("ham", texts=[TEXTS[0]])
        expect(clf, without(TEXTS[0]))


def test_a_name_that_comes_back_can_be_undone(path: str) -> None:
    with learned(path) as clf:
        clf.rename_label("spam", "junk")
        clf.learn(["new"], ["spam"])
        assert [clf.undo()[0] for _ in range(2)] == ["learn", "rename"]
        expect(clf, ALL)


def test_the_time_of_a_document_is_that_of_its_learning(path: str, tmp_path: Path) -> None:
    with learned(path) as clf:
        time.sleep(0.01)
        moment = datetime.now(UTC)
        clf.relabel("ham", ids=["a"])
        with bunrui.create(tmp_path / "merged") as merged:
            merged.merge(clf)
            assert merged.forget(before=moment) == 4
        assert clf.forget(before=moment) == 4


# --- any history

NAMES = ["x", "y", "z"]


class Lives(RuleBasedStateMachine):
    """Documents with several labels, and every way to change them."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.clf = bunrui.create(os.path.join(self.folder, "l.bunrui"))
        self.left: dict[str, frozenset[str]] = {}
        self.history: list[dict[str, frozenset[str]]] = []
        self.number = 0

    def remember(self) -> None:
        self.history.append(dict(self.left))

    @rule(labels=st.sets(st.sampled_from(NAMES), min_size=1), text=st.text("ab 無🙂", max_size=5))
    def learn(self, labels: set[str], text: str) -> None:
        self.remember()
        self.number += 1
        text = f"{self.number} {text}"
        source = "even" if self.number % 2 == 0 else "odd"
        self.clf.learn([text], [sorted(labels)], ids=[str(self.number)], sources=[source])
        self.left[text] = frozenset(labels)

    @precondition(lambda self: self.left)
    @rule(data=st.data(), labels=st.sets(st.sampled_from(NAMES), min_size=1))
    def relabel(self, data: st.DataObject, labels: set[str]) -> None:
        text = data.draw(st.sampled_from(sorted(self.left)))
        if self.left[text] != labels:
            self.remember()
        self.clf.relabel(sorted(labels), ids=[text.split()[0]])
        self.left[text] = frozenset(labels)

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def unlearn(self, data: st.DataObject) -> None:
        text = data.draw(st.sampled_from(sorted(self.left)))
        self.remember()
        self.clf.unlearn(ids=[text.split()[0]])
        del self.left[text]

    @rule(odd=st.booleans())
    def forget(self, odd: bool) -> None:
        if not any(int(text.split()[0]) % 2 == odd for text in self.left):
            assert self.clf.forget(source="odd" if odd else "even") == 0  # nothing to be undone
            return
        self.remember()
        self.clf.forget(source="odd" if odd else "even")
        self.left = {text: labels for text, labels in self.left.items() if int(text.split()[0]) % 2 != odd}

    def live(self) -> list[str]:
        return sorted({label for labels in self.left.values() for label in labels})

    @precondition(lambda self: len(self.live()) > 1)
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        label, to = data.draw(st.permutations(self.live()))[:2]
        self.remember()
        self.clf.move_label(label, to)
        self.left = {
            text: frozenset(to if name == label else name for name in labels) for text, labels in self.left.items()
        }

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        label = data.draw(st.sampled_from(self.live()))
        self.remember()
        self.clf.drop_label(label)
        self.left = {text: labels - {label} for text, labels in self.left.items() if labels != {label}}

    @precondition(lambda self: self.history)
    @rule()
    def undo(self) -> None:
        self.clf.undo()
        self.left = self.history.pop()

    @rule()
    def compact(self) -> None:
        self.clf.compact()
        self.history.clear()

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "clf"):
            expect(self.clf, {text: sorted(labels) for text, labels in self.left.items()})

    def teardown(self) -> None:
        if hasattr(self, "clf"):
            self.clf.close()
            shutil.rmtree(self.folder)


TestLives = Lives.TestCase
TestLives.settings = settings(
    max_examples=examples(15), stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
