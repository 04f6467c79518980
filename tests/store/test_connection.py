"""A journal is never written into a file that it does not belong to, and a plain copy has what was acknowledged.

The processes here are real, and so are their deaths.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest

import bunrui
from bunrui.errors import MovedError, StoreError
from bunrui.store import connection
from tests.store.test_formats import FORMATS
from tests.support.processes import patience_with
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere open files are not replaced")

# Learns what it is told, a line a document, and says when each is acknowledged; "read" begins to read and goes on
# with it, "begin" begins a change that is larger than SQLite's cache, "end" ends it.
WORKER = """
import os, sys
import bunrui
from bunrui.errors import StoreError

clf = bunrui.open(sys.argv[1])
print("ready", flush=True)
for line in map(str.strip, sys.stdin):
    try:
        if line == "read":
            documents = clf.documents()
            next(documents)
        elif line == "begin":
            block = clf.learning()
            session = block.__enter__()
            for _ in range(4):
                session.add([os.urandom(1000).hex() for _ in range(2000)], ["x"] * 2000)
        elif line == "end":
            block.__exit__(None, None, None)
        else:
            clf.learn([line], ["x"])
        print("done", flush=True)
    except StoreError as error:
        print(type(error).__name__, error, flush=True)
clf.close()
"""


class Worker:
    """A process that learns."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", WORKER, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self) -> str:
        """The next line that it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def told(self, line: str) -> str:
        """What it answers to a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def do(self, *lines: str) -> Worker:
        for line in lines:
            assert self.told(line) == "done"
        return self

    def kill(self) -> None:
        self.process.kill()
        assert self.process.wait(60) == -signal.SIGKILL

    def end(self) -> None:
        self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0


@contextmanager
def working(path: Path) -> Iterator[Worker]:
    worker = Worker(path)
    try:
        with patience_with(worker.process):
            assert worker.answer() == "ready"
            yield worker
    finally:
        worker.process.kill()
        worker.process.communicate()


def made(path: Path, *texts: str) -> Path:
    with bunrui.create(path) as clf:
        clf.learn(list(texts), ["x"] * len(texts))
    return path


def texts_in(path: Path) -> list[str]:
    """What the file says that it has learned, if it is right."""
    with bunrui.open(path) as clf:
        assert clf.check().is_right
        texts = [str(document.text) for document in clf.documents()]
        assert clf.counts.n_docs == clf.info()["documents"] == len(texts)
    return texts


def journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


MANY = [f"new{k} " + " ".join(f"{k}v{j}" for j in range(200)) for k in range(500)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path / "a.bunrui", "one", "two")


@pytest.fixture
def killed(path: Path) -> Path:
    """A file whose writer was killed; what he has learned last is in the journal alone, because he was reading, too."""
    shutil.copy(path, path.with_name("before.bunrui"))
    with working(path) as worker:
        worker.do("three", "read", "four", "five").kill()
    assert journal(path).stat().st_size
    return path


# --- after a kill


def test_what_was_acknowledged_is_there(killed: Path) -> None:
    assert texts_in(killed) == ["one", "two", "three", "four", "five"]
    assert sorted(os.listdir(killed.parent)) == ["a.bunrui", "before.bunrui"]


def test_a_file_moves_with_its_journal(killed: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "b.bunrui"
    moved.parent.mkdir()
    shutil.copy(killed, moved)
    shutil.copy(journal(killed), journal(moved))
    assert texts_in(moved) == texts_in(killed) == ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize("texts", [["small"], MANY], ids=["smaller", "larger"])
@pytest.mark.parametrize("how", ["replaced", "deleted"])
def test_another_file_in_its_place(killed: Path, texts: list[str], how: str) -> None:
    if how == "replaced":
        os.replace(made(killed.with_name("new.bunrui"), *texts), killed)
    else:
        killed.unlink()
        made(killed, *texts)
    assert texts_in(killed) == texts
    with bunrui.open(killed) as clf:
        clf.learn(["more"], ["x"])
    assert texts_in(killed) == [*texts, "more"]


def test_a_backup_in_its_place(killed: Path) -> None:
    os.replace(killed.with_name("before.bunrui"), killed)
    assert texts_in(killed) == ["one", "two"]


def test_a_copy_that_has_gone_on_in_its_place(killed: Path) -> None:
    copy = killed.with_name("copy.bunrui")
    shutil.copy(killed, copy)
    with bunrui.open(copy) as clf:
        clf.learn(["else"], ["x"])
    os.replace(copy, killed)
    assert texts_in(killed) == ["one", "two", "three", "else"]


def test_a_compacted_copy_in_its_place(path: Path) -> None:
    copy = path.with_name("copy.bunrui")
    shutil.copy(path, copy)
    with bunrui.open(copy) as clf:
        clf.learn(MANY, ["x"] * len(MANY)).undo()
        clf.compact()
    with working(copy) as worker:
        worker.do("read", "three").kill()
    os.replace(path, copy)
    assert texts_in(copy) == ["one", "two"]


def test_a_change_that_was_under_way(path: Path) -> None:
    with working(path) as worker:
        worker.do("three", "begin").kill()
    assert journal(path).stat().st_size > 1 << 20
    assert texts_in(path) == ["one", "two", "three"]
    assert os.listdir(path.parent) == ["a.bunrui"]


def test_another_file_in_place_of_one_that_was_changed(path: Path) -> None:
    with working(path) as worker:
        worker.do("three", "begin").kill()
    os.replace(made(path.with_name("new.bunrui"), *MANY), path)
    assert texts_in(path) == MANY


# --- while somebody works on it


def test_a_plain_copy_has_what_was_acknowledged(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.bunrui"
    learned = ["one", "two"]
    with working(path) as worker:
        for text in ("three", "four", "five"):
            worker.do(text)
            learned.append(text)
            shutil.copy(path, copy)
            assert texts_in(copy) == learned


def test_the_end_of_reading_brings_changes_into_the_file(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.bunrui"
    with bunrui.open(path, read_only=True) as reader, working(path) as worker:
        documents = reader.documents()
        next(documents)
        worker.do("three", "four")
        assert journal(path).stat().st_size
        assert [document.text for document in documents] == ["two"]
        assert not journal(path).stat().st_size
        shutil.copy(path, copy)
    assert texts_in(copy) == ["one", "two", "three", "four"]


def test_a_copy_while_a_change_is_under_way(path: Path, tmp_path: Path) -> None:
    with working(path) as worker, bunrui.open(path, read_only=True) as clf:
        worker.do("three", "begin")
        clf.copy(tmp_path / "copy.bunrui")
        assert texts_in(tmp_path / "copy.bunrui") == ["one", "two", "three"]
        worker.do("end")
    assert len(texts_in(path)) == 8003


@pytest.mark.parametrize("texts", [["small"], MANY], ids=["smaller", "larger"])
def test_a_file_is_replaced_under_its_writer(path: Path, texts: list[str]) -> None:
    with working(path) as worker:
        worker.do("three")
        os.replace(made(path.with_name("new.bunrui"), *texts), path)
        assert texts_in(path) == texts
        answer = worker.told("four")
        assert answer.startswith(f"MovedError {path} was moved away or replaced: nothing was changed.")
        with bunrui.open(path) as clf:
            clf.learn(["more"], ["x"])
            worker.end()
            clf.learn(["most"], ["x"])
    assert texts_in(path) == [*texts, "more", "most"]
    assert os.listdir(path.parent) == ["a.bunrui"]


def test_a_file_is_replaced_in_the_middle_of_a_change(path: Path) -> None:
    with working(path) as worker:
        worker.do("begin")
        os.replace(made(path.with_name("new.bunrui"), "new"), path)
        assert texts_in(path) == ["new"]
        with bunrui.open(path) as clf:
            clf.learn(["more"], ["x"])
            assert worker.told("end").startswith(f"MovedError {path} was moved away or replaced: a change that was ")
            worker.end()
            clf.learn(["most"], ["x"])
    assert texts_in(path) == ["new", "more", "most"]


def test_a_copy_of_itself_in_the_place_of_a_file(path: Path) -> None:
    copy = path.with_name("copy.bunrui")
    with working(path) as worker:
        worker.do("three")
        shutil.copy(path, copy)
        worker.do("read", "four")
        os.replace(copy, path)
        assert texts_in(path) == ["one", "two", "three"]
        assert worker.told("five").startswith("MovedError")
        worker.end()
    assert texts_in(path) == ["one", "two", "three"]


def test_one_process_replaces_its_own_file(path: Path) -> None:
    with bunrui.open(path) as old:
        old.learn(["three"], ["x"])
        os.replace(made(path.with_name("new.bunrui"), *MANY), path)
        assert not old.is_in_place
        for ask in (old.refresh, old.compact, old.undo, lambda: list(old.documents())):
            with pytest.raises(MovedError, match="was moved away or replaced"):
                ask()
        assert old.predict(["three"])[0] == "x"
        with bunrui.open(path) as new:
            assert new.is_in_place
            new.learn(["more"], ["x"])
    assert texts_in(path) == [*MANY, "more"]


def test_a_file_with_two_names_in_one_process(path: Path) -> None:
    with bunrui.open(path) as clf:
        clf.learn(["three"], ["x"])
        os.rename(path, path.with_name("b.bunrui"))
        with pytest.raises(StoreError, match=r"b.bunrui is open in this process under its old name .*a.bunrui: close"):
            bunrui.open(path.with_name("b.bunrui"))
        os.rename(path.with_name("b.bunrui"), path)
        clf.learn(["four"], ["x"])
    assert texts_in(path) == ["one", "two", "three", "four"]


def test_a_link_to_a_file(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "current.bunrui"
    link.symlink_to(path.name)
    other = made(tmp_path / "other.bunrui", "new")
    with bunrui.open(link) as clf:
        clf.learn(["three"], ["x"])
        link.unlink()
        link.symlink_to(other.name)
        with pytest.raises(MovedError):
            clf.learn(["four"], ["x"])
    assert texts_in(link) == ["new"]
    assert texts_in(path) == ["one", "two", "three"]


# --- files without marks


def test_the_journal_of_an_older_version(tmp_path: Path) -> None:
    path = tmp_path / "old.bunrui"
    shutil.copy(FORMATS / "1.bunrui", path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("UPDATE labels SET name = 'eggs' WHERE name = 'ham'")
    copy = tmp_path / "copy.bunrui"
    shutil.copy(path, copy)
    shutil.copy(journal(path), journal(copy))
    db.close()
    assert "eggs" not in str(copy.read_bytes())
    with bunrui.open(copy) as clf:
        assert "eggs" in clf.classes_
        clf.learn(["more"], ["eggs"])
        assert clf.check().is_right
    new = made(tmp_path / "new.bunrui", "new")
    shutil.copy(path, copy)
    db = sqlite3.connect(copy, isolation_level=None)
    db.execute("UPDATE labels SET name = 'spam and eggs' WHERE name = 'spam'")
    shutil.copy(journal(copy), journal(new))
    assert texts_in(new) == ["new"]
    db.close()


# --- no right to write


def read_as_nobody(path: str) -> list[str]:
    """What a process without rights finds in a file; it may read."""
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory() as other:  # imports everything: nobody may not read the Python of root
            texts_in(made(Path(other) / "x", "one"))
        os.setgid(65534)
        os.setuid(65534)
    with pytest.raises(StoreError, match=r"a.bunrui"):
        bunrui.open(path).learn(["more"], ["x"])
    with bunrui.open(path, read_only=True) as clf:
        assert not clf.refresh()
        assert clf.check().is_right
        return [str(document.text) for document in clf.documents()]


@pytest.mark.parametrize("is_left", [True, False])
def test_a_journal_that_cannot_be_deleted(is_left: bool) -> None:
    # Not tmp_path, which nobody else may enter.
    with tempfile.TemporaryDirectory() as folder:
        path = made(Path(folder) / "a.bunrui", "one", "two")
        few = ["new", "newer", "newest"]  # plain Python reads them
        with working(path) as worker:
            worker.do("read", "three").kill()
        left = journal(path).read_bytes()
        os.replace(made(Path(folder) / "new.bunrui", *few), path)
        spare = Path(folder) / "spare"
        spare.mkdir()
        shutil.copy(path, spare / "a.bunrui")
        path = spare / "a.bunrui"
        if is_left:
            journal(path).write_bytes(left)
        os.chmod(folder, 0o755)
        os.chmod(spare, 0o555)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            assert pool.submit(read_as_nobody, str(path)).result(PATIENCE) == few
        os.chmod(spare, 0o755)


def open_as_nobody(path: str) -> list[str]:
    """What a process without rights is told of a file, and what is beside it afterwards."""
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory() as other:
            texts_in(made(Path(other) / "x", "one"))
        os.setgid(65534)
        os.setuid(65534)
    for read_only in (True, False):
        with pytest.raises(StoreError, match=r"a.bunrui-wal has changes that .*a.bunrui has not yet, and neither may"):
            bunrui.open(path, read_only=read_only)
    return sorted(os.listdir(os.path.dirname(path)))


def test_a_copied_journal_in_a_folder_that_may_be_written() -> None:
    """To read it, SQLite would make an index that nobody but its maker can replace: the owner could not write again."""
    with tempfile.TemporaryDirectory() as folder:
        path = made(Path(folder) / "original.bunrui", "one")
        with working(path) as worker:
            worker.do("read", "two").kill()
        os.chmod(folder, 0o777)
        copy = Path(folder) / "open" / "a.bunrui"
        copy.parent.mkdir()
        os.chmod(copy.parent, 0o777)
        for old, new in ((path, copy), (journal(path), journal(copy))):
            shutil.copy(old, new)
            os.chmod(new, 0o444)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            left = pool.submit(open_as_nobody, str(copy)).result(PATIENCE)
        assert left == ["a.bunrui", "a.bunrui-wal"]
        for each in (copy, journal(copy)):
            os.chmod(each, 0o644)
        assert texts_in(copy) == ["one", "two"]


def test_a_copy_made_by_the_process_itself_lets_nobody_take_its_journal(path: Path, tmp_path: Path) -> None:
    """To close any descriptor of the file drops the locks that SQLite has on it for the process."""
    with bunrui.open(path) as clf:
        clf.learn(["before"], ["x"])
        shutil.copy(path, tmp_path / "backup.bunrui")
        with working(path) as worker:
            worker.do("by another").end()
        clf.learn(["after"], ["x"])
    assert texts_in(path)[-3:] == ["before", "by another", "after"]


def test_a_file_of_the_first_format_gets_a_mark(tmp_path: Path) -> None:
    """Without one, a journal that it leaves behind would fit any other such file."""
    old = Path(shutil.copy(FORMATS / "1.bunrui", tmp_path))
    assert int.from_bytes(old.read_bytes()[60:64], "big") == 1
    bunrui.open(old).close()
    assert int.from_bytes(old.read_bytes()[60:64], "big") > 0xFF


def test_many_threads_open_and_close(path: Path) -> None:
    def use(_: int) -> int:
        with bunrui.open(path, read_only=True) as clf:
            return int(clf.counts.n_docs)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            assert len(set(pool.map(use, range(300)))) == 1
    finally:
        sys.setswitchinterval(before)


# --- file systems of other machines

TABLE = """22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /home rw - nfs host:/home rw
31 30 8:2 / /home/local rw - xfs /dev/sdb1 rw
32 22 0:50 / /mnt/s rw - fuse.sshfs user@host:/ rw
33 22 0:51 / /mnt/f rw - fuse.portal portal rw
34 22 0:52 / /mnt/c rw - cifs //host/share rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/x", None),
        ("/home/me/x", "nfs"),
        ("/home", "nfs"),
        ("/homes/x", None),
        ("/home/local/x", None),
        ("/mnt/s/x", "fuse.sshfs"),
        ("/mnt/f/x", None),
        ("/mnt/c/x", "cifs"),
    ],
)
def test_kind(path: str, kind: str | None) -> None:
    assert connection.network_kind(path, TABLE) == kind


def test_a_warning_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(connection, "network_kind", lambda path, mountinfo: "nfs4")
    path = tmp_path / "x.bunrui"
    with caplog.at_level(logging.WARNING, "bunrui"):
        for _ in range(2):
            with bunrui.open(path) if path.exists() else bunrui.create(path) as clf:
                clf.learn(["a"], ["b"])
    expected = f"{path} is on a network file system (nfs4), where locks are not reliable: "
    messages = [record.getMessage() for record in caplog.records if str(path) in record.getMessage()]
    assert messages == [expected + "let only one machine use it at a time"]
