"""The list of changes: who made them, what is behind them, and how several are taken back."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import bunrui
from bunrui import StoredClassifier, TextClassifier
from bunrui.errors import ChangedError, OptionError, StoreError
from bunrui.store.lifecycle import Page
from tests.support.waiting import PATIENCE

TEXTS = ["Cheap pills now", "win money fast", "meeting at noon", "lunch at noon", "ＮＯＯＮ　ﾊﾟｿｺﾝ"]
LABELS = ["spam", "spam", "ham", "ham", "ham"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "mail.bunrui")
    bunrui.create(name).learn(TEXTS, LABELS, ids=list("abcde")).close()
    return name


def texts(page: Page) -> list[Any]:
    return [hit.document.text for hit in page.hits]


def walk(clf: StoredClassifier, **wanted: object) -> list[str]:
    """All that a search finds, page by page."""
    found, begin = [], None
    while True:
        page = clf.browse(begin=begin, **wanted)  # type: ignore[arg-type]
        found += texts(page)
        begin = page.next
        if begin is None:
            return found


# --- who


def test_a_change_says_who_made_it(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_AUTHOR", "Ann\tLee \udcff")
    with bunrui.open(path) as clf:
        clf.relabel("ham", ids=["a"])
        clf.author = "誰か"
        clf.configure(alpha=2)
        clf.undo()
        clf.author = None
        clf.learn(["more"], ["ham"])
        notes = [entry.note for entry in clf.history()]
        assert [note.get("by") for note in notes] == [None, "Ann Lee ?", "誰か", None]
        assert [note.get("undone_by") for note in notes] == [None, None, "誰か", None]
        clf.author = "Bob"
        clf.compact()
        kept = [entry.note for entry in clf.history()]
        assert kept[1:] == [{"by": "Ann Lee ?"}, {"by": "誰か", "alpha": 2, "undone_by": "誰か"}, {}, {"by": "Bob"}]
        assert clf.check().is_right


# --- take back up to here


def test_take_back_up_to_here(path: str) -> None:
    before = TextClassifier().learn(TEXTS, LABELS)
    with bunrui.open(path) as clf, bunrui.open(path) as other:
        clf.learn(["more"], ["new"])
        clf.configure(alpha=2)
        clf.learn(["undone"], ["new"])
        clf.undo()
        clf.rename_label("new", "newest")
        clf.relabel("newest", ids=["b"])
        clf.unlearn(TEXTS[:1], LABELS[:1])
        taken = clf.undo_to(1)
        assert [(entry.number, entry.kind) for entry in taken] == [
            (7, "unlearn"),
            (6, "relabel"),
            (5, "rename"),
            (3, "set"),
            (2, "learn"),
        ]
        other.refresh()
        for one in (clf, other):
            assert one.counts == before.counts and one.alpha != 2 and one.counts.live_labels == ["ham", "spam"]
        assert len({entry.undone for entry in clf.history() if entry.number in (2, 3, 5, 6, 7)}) == 1
        assert sorted(walk(clf)) == sorted(TEXTS)
        assert clf.check().is_right
        with pytest.raises(StoreError, match=r"there is nothing to undo in .* after change 1"):
            clf.undo_to(1)
        assert [entry.number for entry in clf.undo_to(0)] == [1]
        assert clf.counts.n_docs == 0 and clf.check().is_right
        with pytest.raises(OptionError, match="number should be a whole number, at least 0"):
            clf.undo_to(-1)


def test_what_others_did_meanwhile_stays(path: str) -> None:
    with bunrui.open(path) as clf, bunrui.open(path) as other:
        clf.learn(["mine"], ["ham"])
        other.learn(["theirs"], ["spam"])
        for call in (lambda: clf.undo(last=2), lambda: clf.undo_to(1, last=2)):
            with pytest.raises(ChangedError, match=r"change 2 is not the last one .*: the last one is 3, and nothing"):
                call()
        assert clf.counts.n_docs == len(TEXTS) + 2
        assert clf.undo(last=3) == ("learn", 1)
        clf.undo_to(0, last=2)
        with pytest.raises(ChangedError, match="nothing is left to undo"):
            clf.undo(last=2)


def test_changes_that_were_joined_stay_joined(path: str) -> None:
    with bunrui.open(path) as clf:
        clf.learn(["more"], ["ham"])
        clf.compact()
        clf.learn(["again"], ["ham"]).learn(["and again"], ["ham"])
        with pytest.raises(StoreError, match=r"change 3 of .* was joined.*take back those after 3"):
            clf.undo_to(1)
        assert [entry.number for entry in clf.undo_to(3)] == [5, 4]
        with pytest.raises(StoreError, match=r"the last change of .* was joined"):
            clf.undo_to(1)
        assert clf.counts.n_docs == len(TEXTS) + 1 and clf.check().is_right


KILLED = """
import os, signal, sys
import bunrui
from bunrui.store import transaction

restore, left = transaction._restore, [2]

def stop(*given):
    restore(*given)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

transaction._restore = stop
bunrui.open(sys.argv[1]).undo_to(1)
"""


def test_a_kill_in_the_middle_takes_nothing_back(path: str) -> None:
    with bunrui.open(path) as clf:
        for k in range(4):
            clf.learn([f"more {k}"], [f"new{k}"])
        counts = clf.counts.copy()
    done = subprocess.run([sys.executable, "-c", KILLED, path], capture_output=True, timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with bunrui.open(path) as clf:
        assert clf.counts == counts and not any(entry.undone for entry in clf.history())
        assert clf.check().is_right
        assert len(clf.undo_to(1)) == 4


# --- the documents


def test_browse_by_text_label_and_time(path: str) -> None:
    with bunrui.open(path) as clf:
        clf.learn(["late noon"], [["ham", "urgent"]], ids=["f"])
        assert texts(clf.browse()) == ["late noon", *reversed(TEXTS)]
        assert texts(clf.browse("noon")) == ["late noon", TEXTS[4], TEXTS[3], TEXTS[2]]
        assert texts(clf.browse("ﾊﾟｿｺﾝ")) == texts(clf.browse("パソコン")) == [TEXTS[4]]
        assert texts(clf.browse("CHEAP", label="spam")) == [TEXTS[0]] and not clf.browse("cheap", label="ham").hits
        assert texts(clf.browse(label="urgent")) == ["late noon"]
        assert clf.browse(label="never") == ([], None, 0)
        first, last = (datetime.fromisoformat(entry.time) for entry in clf.history())
        assert texts(clf.browse(since=last)) == ["late noon"]
        assert texts(clf.browse(since=first, before=last)) == TEXTS[::-1]
        assert not clf.browse(before=first).hits and not clf.browse(since=last + timedelta(seconds=1)).hits
        hit = clf.browse("late").hits[0]
        assert hit.document.labels == ["ham", "urgent"] and hit.document.id == "f"
        clf.unlearn(ids=["c"])
        assert texts(clf.browse("meeting")) == []


def test_browse_page_by_page(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with bunrui.open(path) as clf:
        for k in range(7):
            clf.learn([f"more {k} noon", f"else {k}"], ["ham", "spam"])
        everything, some = walk(clf), walk(clf, contains="noon")
        assert len(everything) == 19 and len(some) == 10
        for limit in (1, 2, 3, 5, 18, 19):
            assert walk(clf, limit=limit) == everything
            assert walk(clf, limit=limit, contains="noon") == some
        page = clf.browse(limit=5)
        assert texts(clf.browse(begin=page.hits[3].place, limit=1)) == [page.hits[3].document.text]
        clf.learn(["newer"], ["ham"])  # what comes meanwhile is on none of the pages after it
        assert walk_from(clf, page.next) == everything[5:]
        clf.compact()  # documents may come twice, and none is left out
        assert set(walk_from(clf, page.next)) >= set(everything[5:])
        # A page ends when it has looked at enough, whether it has found anything or not.
        monkeypatch.setattr("bunrui.store.lifecycle._MOST_DOCS", 4)
        clf.learn(["a", "b", "c"], ["ham"] * 3).learn(["d", "e"], ["ham"] * 2)
        page = clf.browse("cheap")
        assert page.hits == [] and page.looked == 5 and page.next is not None
        assert walk(clf, contains="cheap") == [TEXTS[0]]
        for wrong in ("7", "1.x", "-1.2", "9" * 50, "１.２"):
            with pytest.raises(OptionError, match="begin should be the place of a document"):
                clf.browse(begin=wrong)


def walk_from(clf: StoredClassifier, begin: str | None) -> list[str]:
    page = clf.browse(begin=begin, limit=1000)
    assert page.next is None
    return texts(page)


def test_the_documents_of_a_change(path: str) -> None:
    with bunrui.open(path) as clf:
        clf.learn(["first", "second"], ["ham", "spam"])
        clf.relabel("junk", ids=["a", "c"])
        clf.unlearn(["first"], ["ham"])
        clf.learn(["undone"], ["ham"])
        clf.undo()
        behind = {n: [(h.document.text, h.document.labels) for h in clf.browse(change=n).hits] for n in range(1, 6)}
        assert [text for text, _ in behind[1]] == TEXTS[::-1]
        assert behind[2] == [("second", ["spam"]), ("first", ["ham"])]
        assert behind[3] == [(TEXTS[2], ["ham"]), (TEXTS[0], ["spam"])]
        assert behind[4] == [("first", ["ham"])]
        assert behind[5] == []
        assert walk(clf, change=3, limit=1) == [TEXTS[2], TEXTS[0]]
        with pytest.raises(OptionError, match="there is no change 9"):
            clf.browse(change=9)
        clf.compact()  # joins them: the time tells what was learned together
        assert sorted(walk(clf, change=1)) == sorted(TEXTS) and walk(clf, change=2) == ["second"]
        assert walk(clf, change=3) == walk(clf, change=4) == []


def test_browse_what_a_file_keeps(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "digests.bunrui", keep="digests").learn(["a"], ["x"]) as clf:
        assert [hit.document.text for hit in clf.browse(label="x").hits] == [None]
        with pytest.raises(StoreError, match="keeps no texts to search: look for a label or a time"):
            clf.browse("a")
    with (
        bunrui.create(tmp_path / "nothing.bunrui", keep="nothing") as clf,
        pytest.raises(StoreError, match="keeps nothing of its documents"),
    ):
        clf.browse()
    with bunrui.create(tmp_path / "tokens.bunrui").learn([["cheap", "pills"]], ["x"]) as clf:
        assert texts(clf.browse("Cheap P")) == [["cheap", "pills"]]
