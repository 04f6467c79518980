"""A file that has seen many changes: what it reads does not grow with their number, and it says the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bunrui
from bunrui import StoredClassifier, TextClassifier
from bunrui.errors import StoreError, UnlearnError
from bunrui.store import schema
from bunrui.store.schema import Connection
from tests.support.examples import quick
from tests.support.files import opened, sql

FOLD = 40  # changes after which they are joined; 500 outside of tests


@pytest.fixture(autouse=True)
def fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bunrui.store.store._MOST_DELTAS", FOLD)


@pytest.fixture(params=quick(1, ["text", "digests"]))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    name = str(tmp_path / "mail.bunrui")
    bunrui.create(name, keep=request.param).close()
    return name


def text(k: int) -> str:
    return f"document number {k} has word{k % 17} in it"


def label(k: int) -> str:
    return f"label{k % 3}"


def learn(clf: StoredClassifier, *numbers: int) -> None:
    for k in numbers:
        source = None if k % 4 > 1 else f"{'ab'[k % 4]}.csv"
        clf.learn([text(k)], [label(k)], ids=[str(k)], sources=[source])


def n_blocks(clf: StoredClassifier) -> int:
    return int(sql(clf.path, "SELECT count(*) FROM documents")[0][0])


def n_docs_written(path: str) -> int:
    """Documents of the first block, with those that were unlearned."""
    with opened(path) as store:
        return store.log.block(1).n_docs


class Counting(Connection):
    """Counts the steps of SQLite, in hundreds: about one for each row, as far as they depend on their number."""

    steps = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.set_progress_handler(Counting.count, 100)

    @staticmethod
    def count() -> int:
        Counting.steps += 1
        return 0


def rows_read(work: Callable[[], Any]) -> int:
    before = Counting.steps
    work()
    return Counting.steps - before


def since_fold(path: str) -> int:
    """The number of changes since the last ones were joined."""
    with opened(path) as store:
        return store.state().tx - store.snapshot()


def test_changes_and_questions_read_no_more_after_more_changes(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "Connection", Counting)
    with bunrui.open(path) as clf:
        known: list[dict[str, int]] = []
        numbers = iter(range(10_000))
        for n in (50, 450):
            # Between two folds, where it has the most to read.
            learn(clf, *(next(numbers) for _ in range(n)))
            while since_fold(path) != FOLD - 10:
                learn(clf, next(numbers))
            clf.info()  # which reads once how many documents have changed since the last calibration
            first = next(numbers)
            learn(clf, first)
            works = {
                "unlearn": lambda: clf.unlearn([text(3)], [label(3)]),
                "relabel": lambda: clf.relabel("other", texts=[text(4)]),
                "learn": lambda: learn(clf, next(numbers)),
                "info": clf.info,
                "log": lambda: clf.history(limit=5),
                "browse": lambda: clf.browse(limit=5),
                "undo to": lambda: clf.undo_to(clf.last_change - 3),
            }
            known.append({name: rows_read(work) for name, work in works.items()})
        small, large = known
        for name in small:
            assert large[name] <= 2 * small[name] + 5, (name, small, large)


@pytest.mark.parametrize("path", ["text", "digests"], indirect=True)
def test_blocks_are_joined_on_the_way(path: str) -> None:
    with bunrui.open(path) as clf:
        learn(clf, *range(300))
        assert n_blocks(clf) <= FOLD + 2
        with opened(path) as store:
            first = store.log.block(1)
        assert first.n_docs > FOLD and len(first.label_sets) == 3 and first.sources == ["a.csv", "b.csv"]
        sources = [document.source for document in clf.documents()]
        assert sources == [None if k % 4 > 1 else "ab"[k % 4] + ".csv" for k in range(300)]
        assert clf.check().is_right
        assert [document.id for document in clf.documents()] == [str(k) for k in range(300)]
    expected = TextClassifier().learn([text(k) for k in range(300)], [label(k) for k in range(300)])
    with bunrui.open(path) as clf:
        assert clf.counts == expected.counts


def test_what_was_unlearned_goes_when_blocks_are_joined(path: str) -> None:
    with bunrui.open(path) as clf:
        learn(clf, *range(100))
        for k in range(0, 100, 2):
            clf.unlearn([text(k)], [label(k)])
        learn(clf, *range(100, 190))
        assert sql(path, "SELECT count(*) FROM removals")[0][0] <= FOLD
        left = [*range(1, 100, 2), *range(100, 190)]
        assert [document.id for document in clf.documents()] == [str(k) for k in left]
        assert clf.check().is_right
        with pytest.raises(UnlearnError):
            clf.unlearn([text(2)], [label(2)])
        clf.unlearn([text(3)], [label(3)])
        assert clf.check().is_right


def test_large_blocks_stay_and_their_removals_are_one_row(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with bunrui.open(path) as clf:
        monkeypatch.setattr(sys.modules["bunrui.store.compact"], "BLOCK_DOCS", 320)  # small is 10 then
        clf.learn([text(k) for k in range(100)], [label(k) for k in range(100)], ids=[str(k) for k in range(100)])
        for k in range(20):
            clf.unlearn([text(k)], [label(k)])
        before = n_docs_written(path)
        learn(clf, *range(100, 130))
        rows = sql(path, "SELECT block, n_docs FROM removals")
        assert before == n_docs_written(path) == 100 and rows == [(1, 20)]
        for k in range(20, 70):
            clf.unlearn([text(k)], [label(k)])
        learn(clf, *range(130, 170))
        assert n_docs_written(path) < 100  # most of it was unlearned
        assert [document.id for document in clf.documents()] == [str(k) for k in range(70, 170)]
        assert clf.check().is_right


def test_undo_takes_back_what_came_after_the_last_join(path: str) -> None:
    with bunrui.open(path) as clf:
        learn(clf, *range(FOLD + 12))
        clf.unlearn([text(1)], [label(1)])
        states = []
        while True:
            states.append(sorted(document.digest for document in clf.documents()))
            try:
                clf.undo()
            except StoreError as error:
                assert "was joined with those before it" in str(error)
                break
            assert clf.check().is_right
        assert len(states) == 13 and len(states[-1]) == FOLD + 1  # the change that found them many is not among them
        assert len(states[1]) == FOLD + 12
        learn(clf, 1000)
        assert clf.check().is_right


def test_readers_follow_a_writer_over_a_join(path: str) -> None:
    with bunrui.open(path) as clf, bunrui.open(path) as other, bunrui.open(path, read_only=True) as reader:
        learn(clf, *range(FOLD - 5))
        other.unlearn([text(0)], [label(0)])  # it has an index of the blocks as they are now
        documents = reader.documents()
        seen = [next(documents).digest]
        learn(clf, *range(1000, 1030))
        seen += [document.digest for document in documents]
        assert len(seen) == FOLD - 6  # what was there when it began
        other.unlearn([text(7)], [label(7)])
        other.relabel("label0", texts=[text(8)])
        clf.unlearn([text(9)], [label(9)])
        assert reader.refresh() and reader.counts == clf.counts
        for each in (clf, other):
            each.refresh()
            assert each.check().is_right
        assert clf.counts.n_docs == FOLD - 5 + 30 - 3


def test_what_was_rolled_back_is_not_remembered(path: str) -> None:
    with bunrui.open(path) as clf:
        learn(clf, *range(10))
        with pytest.raises(UnlearnError), clf.unlearning() as session:
            session.add([text(1)], [label(1)])
            session.add([text(2)], [label(2)])
            session.add(["never"], ["label1"])
        with pytest.raises(RuntimeError), clf.learning() as session:
            session.add(["new"], ["label1"])
            session.add(["other"], ["label1"])
            raise RuntimeError
        with clf.learning() as learning:
            learning.add(["other", text(1)], ["label1", "label1"])
        assert learning.n_duplicates == 1
        clf.unlearn([text(1)], ["label1"])
        clf.unlearn([text(2)], [label(2)])
        assert clf.check().is_right


def test_duplicates_are_told_apart_after_changes(path: str) -> None:
    with bunrui.open(path) as clf:
        learn(clf, 1, 2, 3)
        clf.unlearn([text(1)], [label(1)])
        clf.undo()
        clf.unlearn([text(2)], [label(2)])
        with clf.learning() as session:
            session.add([text(k) for k in (1, 2, 3, 4, 4)], ["label0"] * 5)
        assert session.n_duplicates == 3


def test_ids_that_were_given_twice(tmp_path: Path) -> None:
    with bunrui.create(tmp_path / "mail.bunrui") as clf:
        for k in range(FOLD + 10):
            clf.learn([text(k)], [label(k)], ids=[str(k % 5)])
        clf.unlearn(ids=["3"])
        assert {document.id for document in clf.documents()} == {"0", "1", "2", "4"}
        clf.relabel("all", ids=["4", "0"])
        assert clf.info()["labels"]["all"] == 20
        assert clf.check().is_right


@pytest.mark.parametrize("model", ["arow", "nbsvm"])
def test_trained_models_go_on_over_a_join(tmp_path: Path, model: str) -> None:
    with bunrui.create(tmp_path / "mail.bunrui", model=model) as clf:
        for k in range(FOLD + 10):
            learn(clf, k)
            if k % 7 == 0 and k > 3:
                clf.predict(["word3"])
        with bunrui.open(clf.path) as again:
            queries = [text(3), "word5", "number 12"]
            assert np.allclose(clf.scores(queries), again.scores(queries), rtol=1e-12)


def test_info_says_what_the_list_of_changes_says(path: str) -> None:
    with bunrui.open(path) as clf:
        assert clf.info()["changed"] == clf.info()["created"]
        learn(clf, *range(5))
        clf.unlearn([text(1)], [label(1)])
        clf.undo()
        clf.configure(alpha=0.5)
        clf.undo()
        history = clf.history()
        assert clf.info()["transactions"] == len(history)
        assert clf.info()["changed"] == max(entry.undone or entry.time for entry in history)
        last = clf.last_standing()
        assert last is not None and last.number == 5
        learn(clf, 7)
        assert clf.info()["changed"] == clf.history(limit=1)[0].time


def test_an_older_file_is_joined_when_it_has_many_changes(tmp_path: Path) -> None:
    """One that has been folded, and never joined."""
    path = tmp_path / "mail.bunrui"
    with pytest.MonkeyPatch.context() as patch, bunrui.create(path) as clf:
        patch.setattr("bunrui.store.file.join", lambda store, tx: None)
        learn(clf, *range(200))
        assert n_blocks(clf) == 200
    with bunrui.open(path) as clf:
        learn(clf, *range(200, 200 + FOLD))
        assert n_blocks(clf) <= FOLD + 1
        assert clf.check().is_right


def test_a_change_that_failed_leaves_no_index_behind(path: str) -> None:
    with bunrui.open(path) as clf:
        for k in range(FOLD):
            learn(clf, k)
        numbers = range(30)
        with pytest.raises(UnlearnError), clf.unlearning() as session:
            for k in (*numbers, 10_000):
                session.add([text(k)], [label(k)])
        clf.unlearn([text(k) for k in numbers], [label(k) for k in numbers])
        assert clf.counts.n_docs == FOLD - len(numbers)
        assert clf.check().is_right
