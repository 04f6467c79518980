"""New files: there as a whole or not at all, and in nobody's place."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bunrui
from bunrui.cli import main
from bunrui.errors import StoreError
from bunrui.store import creation
from bunrui.store.creation import publish_when_done
from tests.support.waiting import PATIENCE

KILLED = """
import os, sys
from bunrui.store.creation import publish_when_done
with publish_when_done(sys.argv[1]) as temporary:
    for suffix in ("", "-journal", "-wal", "-shm"):
        open(temporary + suffix, "w").close()
    os._exit(9)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- what killed processes leave


@pytest.mark.skipif(os.name != "posix", reason="elsewhere they are left")
@pytest.mark.parametrize("how", ["create", "open", "export"])
def test_files_of_the_killed_are_deleted(tmp_path: Path, how: str) -> None:
    path = tmp_path / "here.bunrui"
    bunrui.create(path).learn(["a"], ["x"]).close()
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "other.bunrui")], check=False, timeout=PATIENCE)
    bunrui.open(path, read_only=True).close()  # who only reads leaves them
    assert len(names(tmp_path)) == 5
    if how == "create":
        bunrui.create(tmp_path / "new.bunrui").close()
    elif how == "open":
        bunrui.open(path).close()
    else:
        main(["export", str(path), str(tmp_path / "new.csv")])
    assert names(tmp_path) == ["here.bunrui", *{"create": ["new.bunrui"], "open": [], "export": ["new.csv"]}[how]]


EXPORTING = """
import os, sys
from bunrui.cli.output import replace_when_done
with replace_when_done(sys.argv[1]) as temporary:
    open(temporary, "w").close()
    os._exit(9)
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere they are left")
def test_tables_of_the_killed_are_deleted(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", EXPORTING, str(tmp_path / "counts.csv")], check=False, timeout=PATIENCE)
    (left,) = names(tmp_path)
    assert left.startswith(".counts.csv.") and left.endswith(".unfinished")
    bunrui.create(tmp_path / "a.bunrui").close()
    assert names(tmp_path) == ["a.bunrui"]


def test_files_of_the_living_stay(tmp_path: Path) -> None:
    path = str(tmp_path / "a.bunrui")
    mine = creation._machine()
    others = [".a.bunrui.01234567-99999999-01234567.unfinished", ".a.bunrui.99999999.unfinished"]
    others += [f".a.bunrui.{mine}-{process}-01234567.unfinished" for process in {1, os.getppid()}]
    for name in others:
        (tmp_path / name).write_text("")
    with publish_when_done(path) as first:
        Path(first).write_text("first")
        with pytest.raises(RuntimeError), publish_when_done(path) as second:
            assert Path(first).exists()
            Path(second).write_text("second")
            raise RuntimeError
    assert names(tmp_path) == sorted([*others, "a.bunrui"]) and Path(path).read_text() == "first"


# --- file systems without links


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def link(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)
    path = tmp_path / "a.bunrui"
    bunrui.create(path).learn(["a"], ["x"]).close()
    with bunrui.open(path) as clf:
        assert clf.counts.n_docs == 1
    with (
        pytest.raises(
            StoreError, match=r"b.bunrui: somebody else has made this meanwhile: run it again to add to that file"
        ),
        publish_when_done(str(tmp_path / "b.bunrui")) as temporary,
    ):
        Path(temporary).write_text("ours")
        (tmp_path / "b.bunrui").write_text("theirs")
    assert (tmp_path / "b.bunrui").read_text() == "theirs"
    with (
        pytest.raises(StoreError, match=r"c.bunrui: there is no such file or folder"),
        publish_when_done(str(tmp_path / "c.bunrui")),
    ):
        pass
    assert names(tmp_path) == ["a.bunrui", "b.bunrui"]


def test_a_full_disk_is_no_lack_of_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StoreError, match=r"a.bunrui: the disk is full: make room"):
        bunrui.create(tmp_path / "a.bunrui")
    assert names(tmp_path) == []
