"""Kills, full disks and folders that cannot be written: what was acknowledged stays, the rest is there or not."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bunrui
from bunrui import TextClassifier
from bunrui.errors import StoreError
from tests.support.examples import quick
from tests.support.files import opened, sql
from tests.support.waiting import PATIENCE

resource = pytest.importorskip("resource", reason="needs the limits and signals of Unix")

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SCRIPT = REPOSITORY / "scripts" / "faults.py"
LABELS = ["spam", "ham"]


def text(k: int) -> str:
    """Words that compress badly, so that a few documents fill a small disk."""
    return " ".join(hashlib.sha256(f"{k} {j}".encode()).hexdigest()[:16] for j in range(16))


def in_memory(n: int) -> TextClassifier:
    return TextClassifier().learn([text(k) for k in range(n)], [LABELS[k % 2] for k in range(n)])


def learned(path: str, n: int, **options: Any) -> bunrui.StoredClassifier:
    clf = bunrui.create(path, **options)
    for k in range(n):
        clf.learn([text(k)], [LABELS[k % 2]])
    return clf


# --- kills


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("faults", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["faults"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("n_kills", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_kills(tmp_path: Path, n_kills: int) -> None:
    command = [sys.executable, str(SCRIPT), "--kills", str(n_kills), "--seed", "1", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures["kills"] >= n_kills
    assert figures["failures"] == []
    # Else it would have killed nothing but sleepers.  Most kills wait for a statement of the child, however slow it is;
    # whether the call was lost is a matter of less than a millisecond, and 30 kills may all come too late for that.
    assert sum(n for when, n in figures["by_statement"].items() if when not in ("between calls", "none")) > 0
    assert n_kills < 100 or figures["lost"] > 0
    assert figures["most_kills"] > 1
    assert not os.listdir(tmp_path)


def test_the_check_finds_what_is_lost(tmp_path: Path) -> None:
    faults = script()
    documents = [("one", ("a",)), ("two", ("b",)), ("two", ("b",))]
    path = str(tmp_path / faults.NAME)
    with bunrui.create(path) as clf:
        clf.learn(["one", "two", "two"], ["a", "b", "b"])
    assert faults.check(path, [documents]) == 0
    assert faults.check(path, [documents[:2], documents]) == 1
    for wrong in (documents[:2], [*documents, ("two", ("b",))], [("one", ("b",)), *documents[1:]]):
        with pytest.raises(AssertionError, match="counts"):
            faults.check(path, [wrong])
    (tmp_path / "else").touch()
    with pytest.raises(AssertionError, match=r"left beside the file: \['else'\]"):
        faults.check(path, [documents])
    (tmp_path / "else").unlink()
    with bunrui.open(path) as clf:
        clf.unlearn(["two"], ["b"])
    sql(path, "DELETE FROM removals")
    with pytest.raises(AssertionError, match="the log has other documents than the counts"):
        faults.check(path, [documents[:2]])


@pytest.mark.parametrize("step", quick(1, [9001, 2777]))
def test_a_journal_that_was_cut_short(tmp_path: Path, step: int) -> None:
    """A power cut loses the end of the journal: what is left of it is a number of whole transactions."""
    path = str(tmp_path / "mail.bunrui")
    n = 6
    sizes = []
    # Who reads keeps the changes in the journal.
    with bunrui.create(path) as clf, opened(path) as reader, reader.reading():
        reader.labels()
        for k in range(n):
            clf.learn([text(k)], [LABELS[k % 2]])
            sizes.append(os.path.getsize(f"{path}-wal") - 24 - 4096)  # without the new mark
        main, journal = Path(path).read_bytes(), Path(f"{path}-wal").read_bytes()
    expected = [TextClassifier().counts, *(in_memory(k).counts for k in range(1, n + 1))]
    cuts = sorted({0, 31, 32, 33, *range(1000, len(journal), step), *sizes, *(size - 1 for size in sizes)})
    copy = tmp_path / "cut" / "mail.bunrui"
    copy.parent.mkdir()
    for cut in cuts:
        for rest in (b"", bytes(len(journal) - cut), os.urandom(len(journal) - cut)):
            copy.write_bytes(main)
            left = journal[:cut] + rest
            Path(f"{copy}-wal").write_bytes(left)
            with bunrui.open(copy) as clf:
                whole = sum(left[:size] == journal[:size] for size in sizes)
                assert clf.counts == expected[whole]
                assert sum(1 for _ in clf.documents()) == whole
            assert os.listdir(copy.parent) == ["mail.bunrui"]


# --- no room
#
# Each of these runs in a process of its own: a limit on the size of files would hit pytest, too.  It is what can be had
# everywhere without being root; a small file system, where one can be mounted, shows what a full disk does.


Scarce = Callable[[], Any]  # a context manager: inside, there is no room


def file_size(most: int) -> Scarce:
    """No file may grow beyond so many bytes."""

    @contextmanager
    def scarce() -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return scarce


def ballast(folder: str, left: int) -> Scarce:
    """The file system has room for so many bytes."""

    @contextmanager
    def scarce() -> Iterator[None]:
        name = os.path.join(folder, "..", "ballast")
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        with open(name, "wb") as file:
            file.write(bytes(max(0, free - left)))
        try:
            yield
        finally:
            os.unlink(name)

    return scarce


def names_in(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.endswith(("-wal", "-shm")))


def learn_without_room(folder: str, scarce: Scarce) -> str:
    path = os.path.join(folder, "mail.bunrui")
    clf = learned(path, 2)
    n = 2
    with scarce(), pytest.raises(StoreError) as caught:
        while n < 10_000:
            clf.learn([text(n)], [LABELS[n % 2]])
            n += 1
    assert n < 10_000
    assert clf.counts == in_memory(n).counts
    with bunrui.open(path) as again:
        assert again.counts == in_memory(n).counts
    with scarce(), bunrui.open(path, read_only=True) as again:
        assert again.predict([text(1)])[0] == "ham"
    for _ in range(3):
        clf.learn([text(n)], [LABELS[n % 2]])
        n += 1
    assert clf.counts == in_memory(n).counts
    clf.close()
    with bunrui.open(path) as again:
        assert again.counts == in_memory(n).counts
        assert sum(1 for _ in again.documents()) == n
    assert os.listdir(folder) == ["mail.bunrui"]
    return str(caught.value)


def create_without_room(folder: str, scarce: Scarce) -> str:
    path = os.path.join(folder, "mail.bunrui")
    with scarce(), pytest.raises(StoreError) as caught:
        bunrui.create(path)
    assert os.listdir(folder) == []
    bunrui.create(path).close()
    return str(caught.value)


def compact_without_room(folder: str, scarce: Scarce) -> str:
    path = os.path.join(folder, "mail.bunrui")
    clf = learned(path, 150)
    clf.unlearn([text(149)], [LABELS[1]])
    clf.close()
    clf = bunrui.open(path)
    with scarce(), pytest.raises(StoreError) as caught:
        clf.compact()
    assert clf.counts == in_memory(149).counts
    with bunrui.open(path) as again:
        assert again.counts == in_memory(149).counts
    clf.compact()
    clf.learn([text(149)], [LABELS[1]])
    clf.close()
    with bunrui.open(path) as again:
        assert again.counts == in_memory(150).counts
    assert names_in(folder) == ["mail.bunrui"]
    return str(caught.value)


def read_without_room(folder: str, scarce: Scarce) -> str:
    """Also where there is no room for the index that SQLite makes beside a file to share it with writers."""
    path = os.path.join(folder, "mail.bunrui")
    learned(path, 3).close()
    for _ in range(2):
        with scarce():
            with bunrui.open(path, read_only=True) as clf, bunrui.open(path, read_only=True) as other:
                assert clf.counts == other.counts == in_memory(3).counts
                assert sum(1 for _ in clf.documents()) == 3
                assert clf.predict([text(1)])[0] == "ham" and not clf.refresh() and clf.check().is_right
            with pytest.raises(StoreError) as caught:
                bunrui.open(path)
            assert os.listdir(folder) == ["mail.bunrui"]
    # A reader that is there when room is made sees what is written then.
    with scarce():
        clf = bunrui.open(path, read_only=True)
    with bunrui.open(path) as writer:
        writer.learn([text(3)], [LABELS[1]])
        assert clf.refresh() and clf.counts == in_memory(4).counts
        writer.learn([text(4)], [LABELS[0]])
        assert clf.refresh() and clf.counts == in_memory(5).counts
    clf.close()
    assert os.listdir(folder) == ["mail.bunrui"]
    # Changes that stand in the journal alone are not left out.
    lose_the_index(path)
    with scarce(), pytest.raises(StoreError) as caught:
        bunrui.open(path, read_only=True)
    with bunrui.open(path, read_only=True) as clf:
        assert clf.counts == in_memory(6).counts
    return str(caught.value)


def lose_the_index(path: str) -> None:
    """Learn a sixth document, and leave it in the journal, as a process that is killed may do."""
    with bunrui.open(path) as clf, opened(path) as reader, reader.reading():
        reader.labels()
        clf.learn([text(5)], [LABELS[1]])
        kept = [Path(name).read_bytes() for name in (path, f"{path}-wal")]
    for name, content in zip((path, f"{path}-wal"), kept, strict=True):
        Path(name).write_bytes(content)


def merge_without_room(folder: str, scarce: Scarce) -> str:
    path, other = os.path.join(folder, "mail.bunrui"), os.path.join(folder, "other.bunrui")
    clf = learned(path, 2)
    more = bunrui.create(other)
    more.learn([text(k) for k in range(2, 900)], [LABELS[k % 2] for k in range(2, 900)])
    more.close()
    more = bunrui.open(other)
    with scarce(), pytest.raises(StoreError) as caught:
        clf.merge(more)
    assert clf.counts == in_memory(2).counts
    with bunrui.open(path) as again:
        assert again.counts == in_memory(2).counts
    clf.merge(more)
    assert clf.counts == in_memory(900).counts
    assert more.counts.n_docs == 898
    more.close()
    clf.close()
    assert sorted(os.listdir(folder)) == ["mail.bunrui", "other.bunrui"]
    return str(caught.value)


def slim_without_room(folder: str, scarce: Scarce) -> str:
    path, slim = os.path.join(folder, "mail.bunrui"), os.path.join(folder, "slim.bunrui")
    clf = bunrui.create(path)
    clf.learn([text(k) for k in range(900)], [LABELS[k % 2] for k in range(900)])
    clf.close()
    clf = bunrui.open(path)
    with scarce(), pytest.raises(StoreError) as caught:
        clf.slim(slim)
    assert names_in(folder) == ["mail.bunrui"]
    clf.slim(slim)
    with bunrui.open(slim) as again:
        assert again.counts == in_memory(900).counts
    clf.close()
    return str(caught.value)


SCENARIOS = [create_without_room, read_without_room, learn_without_room, merge_without_room, compact_without_room]
SCENARIOS += [slim_without_room]
_SMALL = (create_without_room, read_without_room)


def run_scenario(name: str, folder: str, kind: str, amount: int) -> str:
    os.mkdir(folder)
    scarce = file_size(amount) if kind == "file size" else ballast(folder, amount)
    return str(globals()[name](folder, scarce))


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    """A process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_files_that_may_not_grow(scenario: Callable[..., str], elsewhere: ProcessPoolExecutor, tmp_path: Path) -> None:
    amount = 20_000 if scenario in _SMALL else 120_000
    folder = str(tmp_path / "folder")
    message = elsewhere.submit(run_scenario, scenario.__name__, folder, "file size", amount).result(PATIENCE)
    assert folder in message
    assert "cannot be read or written (disk I/O error): check the disk" in message


MOUNT = 'mount -t tmpfs -o size=8m none "$0" && exec "$@"'


@pytest.mark.parametrize("scenario", quick(3, SCENARIOS), ids=lambda scenario: scenario.__name__)
def test_a_full_disk(scenario: Callable[..., str], tmp_path: Path) -> None:
    amount = 20_000 if scenario in _SMALL else 150_000
    mount = ["unshare", "--mount", "--map-root-user", "sh", "-c", MOUNT, str(tmp_path)]
    if (
        not shutil.which("unshare")
        or subprocess.run([*mount, "true"], capture_output=True, timeout=PATIENCE).returncode
    ):
        pytest.skip("this machine lets nobody mount a file system")
    code = (
        "from tests.store.test_faults import run_scenario; "
        f"print(run_scenario({scenario.__name__!r}, {str(tmp_path / 'folder')!r}, 'ballast', {amount}))"
    )
    command = [*mount, sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    if scenario is not create_without_room:  # there SQLite may lack room for what is no file of its own
        assert "the disk is full: nothing was changed in" in done.stdout
    assert str(tmp_path / "folder") in done.stdout


# --- no right to write


def become_nobody() -> None:
    if os.geteuid() == 0:
        # Everything is imported first: nobody may not even read the Python of root.
        with tempfile.TemporaryDirectory() as other, learned(os.path.join(other, "x"), 3) as clf:
            clf.compact()
            clf.slim(os.path.join(other, "y"))
            clf.predict([text(1)])
        os.setgid(65534)
        os.setuid(65534)


def as_nobody(folder: str) -> list[str]:
    """What a process without rights reads when it tries to write; it may read."""
    become_nobody()
    path = os.path.join(folder, "mail.bunrui")
    messages = []
    for change in (
        lambda: bunrui.create(os.path.join(folder, "new.bunrui")),
        lambda: bunrui.open(path).learn(["more"], ["new"]),
        lambda: bunrui.open(path).compact(),
        lambda: bunrui.open(path, read_only=True).slim(os.path.join(folder, "slim.bunrui")),
    ):
        with pytest.raises(StoreError) as caught:
            change()
        messages.append(str(caught.value))
    with bunrui.open(path, read_only=True) as clf:
        assert clf.counts == in_memory(3).counts
        assert clf.predict([text(1)])[0] == "ham"
    return messages


@pytest.mark.parametrize("kind", quick(1, ["folder", "file"]))
def test_no_right_to_write(kind: str) -> None:
    # Not tmp_path, which nobody else may enter.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mail.bunrui")
        learned(path, 3).close()
        os.chmod(path, 0o444 if kind == "file" else 0o666)
        os.chmod(folder, 0o555)
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                messages = pool.submit(as_nobody, folder).result(PATIENCE)
        finally:
            os.chmod(folder, 0o755)
        assert os.listdir(folder) == ["mail.bunrui"]
    cannot_create = "you may not write into its folder: choose another folder"
    cannot_change = f"{path} cannot be written: check its permissions and those of its folder"
    assert messages == [
        f"{os.path.join(folder, 'new.bunrui')}: {cannot_create}",
        cannot_change,
        cannot_change,
        f"{os.path.join(folder, 'slim.bunrui')}: {cannot_create}",
    ]


handles: list[Any] = []


def change_as_nobody(path: str) -> str:
    """What a process reads that may write beside a file, and not into it."""
    become_nobody()
    handles.append(bunrui.open(path))
    assert handles[0].predict([text(1)])[0] == "ham"
    with pytest.raises(StoreError) as caught:
        handles[0].learn(["more"], ["new"])
    return str(caught.value)


def miss_as_nobody() -> str:
    """What it hears while it may not even read."""
    for _ in range(2):
        with pytest.raises(StoreError) as caught:
            handles[0].refresh()
    return str(caught.value)


def look_as_nobody() -> tuple[Any, ...]:
    """What it finds after others have written, and what it hears after closing the file."""
    clf = handles[0]
    found = clf.check().is_right, clf.last_change, len(clf.history()), clf.refresh(), clf.counts.n_docs
    clf.close()
    with pytest.raises(StoreError, match="is closed"):
        clf.refresh()
    return found


def test_a_refused_change_leaves_nothing_beside_the_file() -> None:
    """What is left would have the mode of the file, and keep out its owner later."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mail.bunrui")
        learned(path, 3).close()
        os.chmod(path, 0o444)
        os.chmod(folder, 0o777)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            message = pool.submit(change_as_nobody, path).result(PATIENCE)
            assert os.listdir(folder) == ["mail.bunrui"]
            os.chmod(path, 0)
            missed = pool.submit(miss_as_nobody).result(PATIENCE)
            os.chmod(path, 0o644)
            with bunrui.open(path) as clf:
                n_changes = clf.last_change + 3
                for k in range(3):
                    clf.learn([f"more{k}"], ["new"])
            found = pool.submit(look_as_nobody).result(PATIENCE)
        assert "cannot be opened" in missed
        assert found == (True, n_changes, n_changes, True, 6)
        assert message == f"{path} cannot be written: check its permissions and those of its folder"
        assert os.listdir(folder) == ["mail.bunrui"]
