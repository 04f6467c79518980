from __future__ import annotations

import logging
from pathlib import Path

import pytest

import bunrui
from bunrui.store import trouble

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
    assert trouble.network_kind(path, TABLE) == kind


def test_a_warning_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(trouble, "network_kind", lambda path, mountinfo: "nfs4")
    path = tmp_path / "x.bunrui"
    with caplog.at_level(logging.WARNING, "bunrui"):
        for _ in range(2):
            with bunrui.open(path) if path.exists() else bunrui.create(path) as clf:
                clf.learn(["a"], ["b"])
    expected = f"{path} is on a network file system (nfs4), where locks are not reliable: "
    messages = [record.getMessage() for record in caplog.records if str(path) in record.getMessage()]
    assert messages == [expected + "let only one machine use it at a time"]
