"""Every command and every block of Python in the README runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bunrui.cli import main
from tests.blocks import REPOSITORY, Shell, blocks_of, run_python, write_samples

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
COMMANDS = [line.strip() for line in README.splitlines() if line.startswith("    bunrui ")]
BLOCKS = [block for block in blocks_of(README) if block.language == "python"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the commands name, which is the home of the user, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_samples(tmp_path)
    for day in ("monday", "tuesday"):
        assert main(["learn", f"{day}.bunrui", "train.csv"]) == 0
    return tmp_path


def test_the_commands_run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(COMMANDS) > 15
    Shell(capsys, monkeypatch).run("\n".join(COMMANDS))
    assert (folder / "public.bunrui").stat().st_size < (folder / "mail.bunrui").stat().st_size + 4096


def test_the_python_runs(folder: Path) -> None:
    names: dict[str, object] = {}
    assert len(BLOCKS) >= 4
    assert sum(run_python(block.code, names, "README.md", block.line) for block in BLOCKS) >= 2
