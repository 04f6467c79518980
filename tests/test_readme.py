"""The commands and the blocks of Python in the README run; of those that need more (`sh`), the options are checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from bunrui.cli import main
from tests.blocks import REPOSITORY, Shell, blocks_of, check_options, run_python, write_samples

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = blocks_of(README)


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
    shell = Shell(capsys, monkeypatch)
    shell.run("\n".join(block.code for block in BLOCKS if block.language == "bash"))
    assert shell.n_commands > 15
    assert (folder / "public.bunrui").stat().st_size < (folder / "mail.bunrui").stat().st_size + 4096


def test_the_options_of_other_commands_are_there() -> None:
    assert sum(check_options(block.code) for block in BLOCKS if block.language == "sh") > 3


def test_the_python_runs(folder: Path) -> None:
    names: dict[str, object] = {}
    blocks = [block for block in BLOCKS if block.language == "python"]
    assert sum(run_python(block.code, names, "README.md", block.line) for block in blocks) >= 3


def test_it_is_short_and_all_of_it_is_looked_at() -> None:
    assert len(README.splitlines()) < 150
    assert {block.language for block in BLOCKS} == {"bash", "sh", "python"}
