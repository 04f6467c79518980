"""Several processes and threads at one file: nobody reads half a transaction, and nothing that was learned is lost."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.counts import Counts
from bunrui.errors import StoreError
from bunrui.kernel.slices import Mutex
from bunrui.store import schema
from bunrui.store.connection import Connection
from tests.support.waiting import PATIENCE, wait_until

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "processes.py"
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    # By its name and from its folder, so that the processes that it starts find it, too.
    spec = importlib.util.spec_from_file_location("processes", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["processes"] = module
    sys.path.append(str(SCRIPT.parent))
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "mail.bunrui")


@pytest.mark.parametrize("n_readers", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_one_writer_and_several_readers(script: ModuleType, tmp_path: Path, n_readers: int) -> None:
    figures = script.run(str(tmp_path), seconds=1, readers=n_readers, least=20)
    assert figures["failures"] == []
    assert figures["left"] == [script.NAME]
    assert sum(n for name, n in figures["writer"].items() if "," not in name) > 3
    assert figures["reader"]["predict"] > 30
    assert figures["reader"]["news"] > 3
    assert figures["reader"]["log"] > 3


def test_a_torn_read_would_be_found(script: ModuleType, path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn(*zip(*map(script.document, range(3, 20)), strict=True))
        assert script.check_row(clf.counts) == script.check_log(clf.documents()) == (3, 20)
        clf.unlearn(*([part] for part in script.document(7)))
        with pytest.raises(AssertionError, match="numbers are missing between 3 and 20"):
            script.check_row(clf.counts)
        with pytest.raises(AssertionError, match="the log has no row of numbers"):
            script.check_log(clf.documents())
        clf.learn(["w7 l0"], ["l1"])
        with pytest.raises(AssertionError, match="labels"):
            script.check_row(clf.counts)
        clf.unlearn(["w7 l0"], ["l1"])
        clf.learn(["w7 l0 l0"], ["l0"])
        with pytest.raises(AssertionError, match="occurrences"):
            script.check_row(clf.counts)


# --- several writers


def write_some(path: str, name: str, n: int, wait: float, results: Any) -> None:
    """Learn documents one by one, again where another process writes too long; the number of waits in vain."""
    schema.WAIT_SECONDS = wait
    refused = 0
    with bunrui.open(path) as clf:
        for k in range(n):
            while True:
                try:
                    clf.learn([f"{name}{k} common"], [name])
                    break
                except StoreError as error:
                    assert f"{path} is in use by another process that is writing to it" in str(error), error
                    refused += 1
    results.put(refused)


@pytest.mark.parametrize("wait", [300.0, 0.001])
def test_two_writers_lose_nothing(path: str, wait: float) -> None:
    bunrui.create(path).close()
    results: Any = SPAWN.Queue()
    n = 40
    writers = [SPAWN.Process(target=write_some, args=(path, name, n, wait, results), daemon=True) for name in "ab"]
    for writer in writers:
        writer.start()
    refused = [results.get(timeout=PATIENCE) for _ in writers]
    for writer in writers:
        writer.join(PATIENCE)
    if wait > 1:
        assert refused == [0, 0]
    expected = TextClassifier().learn(
        [f"{name}{k} common" for name in "ab" for k in range(n)], [name for name in "ab" for _ in range(n)]
    )
    with bunrui.open(path) as clf:
        assert clf.counts == expected.counts
        assert [entry.kind for entry in clf.history()] == ["learn"] * (2 * n)
        found = sorted(document.text for document in clf.documents())
        assert found == sorted(f"{name}{k} common" for name in "ab" for k in range(n))
    assert os.listdir(os.path.dirname(path)) == ["mail.bunrui"]


def hold(path: str, held: Any, release: Any) -> None:
    with bunrui.open(path) as clf, clf.learning() as session:
        session.add(["slow"], ["x"])
        held.set()
        release.wait(PATIENCE)


def test_a_writer_that_waits_in_vain(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with bunrui.create(path) as clf:
        clf.learn(["one"], ["x"])
    held, release = SPAWN.Event(), SPAWN.Event()
    other = SPAWN.Process(target=hold, args=(path, held, release), daemon=True)
    other.start()
    assert held.wait(PATIENCE)
    monkeypatch.setattr(schema, "WAIT_SECONDS", 0.05)
    with bunrui.open(path) as clf:
        seconds = []
        for change in (
            lambda: clf.learn(["two"], ["y"]),
            lambda: clf.unlearn(["one"], ["x"]),
            clf.undo,
            clf.compact,
            lambda: clf.configure(alpha=0.5),
        ):
            start = time.monotonic()
            with pytest.raises(StoreError, match="is in use by another process that is writing to it: try again"):
                change()
            seconds.append(time.monotonic() - start)
        assert min(seconds) < 5  # a busy machine may keep one of them back, but not all
        assert clf.counts == TextClassifier().learn(["one"], ["x"]).counts
        assert not clf.refresh()
        assert clf.predict(["one"])[0] == "x"
        release.set()
        other.join(PATIENCE)
        clf.learn(["two"], ["y"])
        assert clf.counts == TextClassifier().learn(["one", "slow", "two"], ["x", "x", "y"]).counts


# --- threads


def test_readers_predict_while_a_thread_learns(script: ModuleType, path: str) -> None:
    clf = bunrui.create(path).learn(*zip(*map(script.document, range(5)), strict=True))
    stop = threading.Event()
    failures: list[BaseException] = []
    n_predicted = 0

    def read(other: Any) -> None:
        nonlocal n_predicted
        try:
            while not stop.is_set():
                scores = other.scores(["w3 l3", "w4 l4", "never"])
                assert np.isfinite(scores).all()
                assert other.predict(["w3 l3", "w4 l4"]).tolist() == ["l3", "l4"]
                with other.memory.lock.read():
                    first, end = script.check_row(other.counts)
                assert first <= 3 and end >= 5
                assert other.info()["documents"] >= 2
                n_predicted += 1
        except BaseException as error:
            failures.append(error)
            stop.set()

    models = (clf, clf, clf.with_model("multinomial"))
    readers = [threading.Thread(target=read, args=(model,), daemon=True) for model in models]
    for reader in readers:
        reader.start()
    end = 5
    while (n_predicted < 50 or end < 80) and not stop.is_set():
        clf.learn(*zip(*map(script.document, range(end, end + 3)), strict=True))
        end += 3
        clf.learn(*zip(*map(script.document, range(end, end + 2)), strict=True))
        clf.undo()
        if end % 5 == 0:
            clf.compact()
    stop.set()
    for reader in readers:
        reader.join(PATIENCE)
        assert not reader.is_alive()
    assert failures == []
    assert script.check_row(clf.counts) == script.check_log(clf.documents()) == (0, end)
    clf.close()


def test_threads_that_learn_take_turns(path: str) -> None:
    n = 15
    with bunrui.create(path) as clf:

        def learn(name: str) -> None:
            for k in range(n):
                clf.learn([f"{name}{k}"], [name])

        threads = [threading.Thread(target=learn, args=(name,), daemon=True) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        expected = TextClassifier().learn(
            [f"{name}{k}" for name in "abc" for k in range(n)], [name for name in "abc" for _ in range(n)]
        )
        assert clf.counts == expected.counts
    with bunrui.open(path) as clf:
        assert clf.counts == expected.counts


def test_info_asks_once_for_the_lock(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits to learn keeps new readers out: one that reads already and asks again would wait for ever."""
    clf = bunrui.create(path, keep="nothing").learn(["one", "two"], ["x", "y"])
    assert clf.model_ is not None and clf.choice is None
    writer = threading.Thread(target=clf.learn, args=(["three"], ["x"]), daemon=True)
    totals = Counts.class_totals

    def class_totals(counts: Counts) -> Any:
        """The totals, at a moment when somebody waits to learn."""
        monkeypatch.undo()
        writer.start()
        wait_until(lambda: clf.memory.lock.is_wanted_to_write)
        return totals(counts)

    monkeypatch.setattr(Counts, "class_totals", class_totals)
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(clf.info()["documents"]), daemon=True)
    reader.start()
    reader.join(PATIENCE)
    assert found == [2]
    writer.join(PATIENCE)
    assert clf.counts.n_docs == 3
    clf.close()


# --- what else may happen at once


def test_two_files_merged_into_each_other(tmp_path: Path) -> None:
    files = [bunrui.create(tmp_path / name, keep="nothing").learn([name], ["x"]) for name in "ab"]
    n_merged = 0

    def merge(one: Any, other: Any) -> None:
        nonlocal n_merged
        for _ in range(50):
            one.merge(other)
            one.undo()
            n_merged += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=merge, args=pair, daemon=True) for pair in (files, files[::-1])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads), "both wait for each other"
    assert n_merged == 100


class Noted(Mutex):
    """A mutex that says how often it is held."""

    depth = 0

    def __enter__(self) -> None:
        super().__enter__()
        self.depth += 1

    def __exit__(self, *error: object) -> None:
        self.depth -= 1
        super().__exit__(*error)


@pytest.mark.parametrize("keep", ["text", "digests", "nothing"])
def test_statements_run_while_their_thread_has_the_file(
    tmp_path: Path, keep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two threads wait for each other: one has SQLite and waits for Python, to compute a checksum, and one has
    Python and waits for SQLite."""
    one, other = (bunrui.create(tmp_path / name, keep=keep).learn([name], ["x"]) for name in "ab")
    locks: dict[Any, Noted] = {}
    for clf in (one, other):
        locks[clf._file.store.db] = clf._file.lock = Noted()
    alone, execute = [], Connection.execute

    def noted(db: Connection, *args: Any) -> Any:
        if db in locks and not locks[db].depth:
            alone.append(args[0])
        return execute(db, *args)

    monkeypatch.setattr(Connection, "execute", noted)
    one.learn(["c"], ["y"]).merge(other)
    one.rename_label("y", "z")
    one.undo()
    with one.learning() as session:
        session.add(["d"], ["y"])
    one.unlearn(["d"], ["y"])
    one.drop_label("x")
    one.undo()
    one.configure(model="multinomial")
    one.compact()
    assert one.check().is_right and not one.refresh()
    assert len(one.history()) > 5
    assert one.predict(["c"]).tolist() == ["y"]
    if keep != "nothing":
        assert len(list(one.documents())) == 3
    assert not alone


def test_refreshing_in_a_session_that_fails(path: str) -> None:
    with bunrui.create(path) as clf, bunrui.open(path) as other:
        clf.learn(["one"], ["x"])
        with pytest.raises(ZeroDivisionError), clf.learning() as session:
            session.add(["never"], ["y"])
            with suppress(StoreError):
                clf.refresh()
            raise ZeroDivisionError
        other.learn(["two"], ["x"])
        clf.refresh()
        assert clf.counts == other.counts


def test_a_change_inside_a_session_says_so(path: str) -> None:
    with bunrui.create(path) as clf:
        clf.learn(["one"], ["x"])
        with clf.learning() as session:
            session.add(["two"], ["y"])
            with pytest.raises(StoreError) as caught:
                clf.learn(["three"], ["z"])
        assert "damaged" not in str(caught.value)
        assert clf.counts == TextClassifier().learn(["one", "two"], ["x", "y"]).counts


def test_a_closed_file_says_so(path: str) -> None:
    clf = bunrui.create(path).learn(["one"], ["x"])
    clf.close()
    assert clf.predict(["one"])[0] == "x"
    with pytest.raises(StoreError) as caught:
        clf.learn(["two"], ["y"])
    assert "damaged" not in str(caught.value)


LOSING = """
import os, subprocess, sys
import bunrui
path = sys.argv[1]
with bunrui.create(path) as clf:
    clf.learn(["a b"], ["x"])
    list(clf.documents())  # opens the file once more in this process, and closes it
    subprocess.run([sys.executable, "-c", f"import bunrui; bunrui.open({path!r}, read_only=True).close()"], check=True)
    clf.learn(["c d"], ["y"])
    os.kill(os.getpid(), 9)
"""


def test_reading_documents_keeps_the_locks_of_the_process(tmp_path: Path) -> None:
    """Closing any handle of a file drops the POSIX locks of the process; another one may then take the journal away."""
    path = str(tmp_path / "a.bunrui")
    subprocess.run([sys.executable, "-c", LOSING, path], check=False, capture_output=True, timeout=PATIENCE)
    with bunrui.open(path) as clf:
        assert clf.counts.n_docs == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_answers_from_memory_and_leaves_the_file_alone(path: str) -> None:
    """Forked in the middle of a session of another thread, which the parent goes on with."""
    program = """if True:
        import os, signal, sys, threading, warnings
        warnings.simplefilter("ignore")
        import bunrui
        from bunrui.errors import StoreError

        clf = bunrui.create(sys.argv[1]).learn(["cheap pills", "lunch at noon"], ["spam", "ham"])
        begun, go = threading.Event(), threading.Event()

        def work():
            with clf.learning() as session:
                session.add(["pills now"], ["spam"])
                begun.set()
                go.wait()

        thread = threading.Thread(target=work)
        thread.start()
        begun.wait()
        child = os.fork()
        if not child:
            signal.alarm(60)  # a child that waits for ever should not stay behind
            print(clf.predict(["pills", "noon"]).tolist())
            for change in (lambda: clf.learn(["x"], ["y"]), clf.refresh, clf.history):
                try:
                    change()
                except StoreError as error:
                    print(str(error).removeprefix(sys.argv[1]))
            clf.close()
            sys.stdout.flush()
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        go.set()
        thread.join()
        print(clf.counts.n_docs, len(clf.history()), clf.check().is_right)
    """
    command = [sys.executable, "-c", program, path]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE)
    refused = " was open when this process was forked: open it in a process that is started anew, such as "
    assert done.stdout.splitlines() == [
        "['spam', 'ham']",
        *[f"{refused}multiprocessing's 'spawn' does"] * 3,
        "0",
        "3 2 True",
    ]
