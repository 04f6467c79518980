"""The commands of docs/datasets.md that need the net run, against the server on this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bunrui.cli import main
from tests.blocks import REPOSITORY, Shell, blocks_of, write_samples

MESSAGES = {"rec.autos/1": b"Subject: cars\n\nwheels and brakes", "sci.space/2": b"Subject: moons\n\norbits"}


class Nested(Shell):
    """A shell that knows `$(bunrui ...)`, too."""

    def command(self, command: str) -> None:
        super().command(re.sub(r"\$\(bunrui ([^)]*)\)", lambda inner: self._said(inner[1]), command))

    def _said(self, inner: str) -> str:
        self._capture.readouterr()
        assert main(inner.split()) == 0
        return self._capture.readouterr().out.rstrip("\n")


def test_the_page_runs(
    publish,
    server,
    store: Path,
    tar,
    zipped,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_samples(tmp_path)
    parts = ("train", "test")
    publish("20news", tar({f"20news-bydate-{part}/{name}": data for part in parts for name, data in MESSAGES.items()}))
    (tmp_path / "Downloads").mkdir()
    copy = zipped({"SMSSpamCollection": b"ham\tOk lar...\nspam\tFree entry\n"})
    (tmp_path / "Downloads" / "smsspamcollection.zip").write_bytes(copy)
    page = (REPOSITORY / "docs" / "datasets.md").read_text(encoding="utf-8")
    shell = Nested(capsys, monkeypatch)
    printed = [shell.run(block.code) for block in blocks_of(page) if block.language == "sh"]
    assert shell.n_commands == 4
    assert [name for name, _ in server.asked] == ["20news-bydate.tar.gz"]
    assert re.search(r"accuracy\D+1\.0", printed[0]), printed[0]
    assert (store / "sms" / "all.parquet").is_file()
