"""The commands and the blocks of Python in the README run, in each of its languages.

Of the commands that need more (`sh`), the options are checked.  tests/docs/test_translations.py compares the languages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bunrui.cli import main
from tests.blocks import REPOSITORY, Block, Shell, blocks_of, check_options, run_python, write_samples

READMES = {path.name: path.read_text(encoding="utf-8") for path in sorted(REPOSITORY.glob("README*.md"))}
# Translations have the same commands: to run them once more is for the slow tests.
ONE_FAST = [pytest.param(name, marks=[pytest.mark.slow] * (name != "README.md")) for name in READMES]


@pytest.fixture(params=READMES)
def readme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def blocks(readme: str) -> list[Block]:
    return blocks_of(READMES[readme])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the commands name, which is the home of the user, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_samples(tmp_path)
    for day in ("monday", "tuesday"):
        assert main(["learn", f"{day}.bunrui", "train.csv"]) == 0
    return tmp_path


@pytest.mark.parametrize("readme", ONE_FAST, indirect=True)
def test_the_commands_run(
    blocks: list[Block], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(capsys, monkeypatch)
    shell.run("\n".join(block.code for block in blocks if block.language == "bash"))
    assert shell.n_commands > 15
    assert (folder / "public.bunrui").stat().st_size < (folder / "mail.bunrui").stat().st_size + 4096


def test_the_options_of_other_commands_are_there(blocks: list[Block]) -> None:
    assert sum(check_options(block.code) for block in blocks if block.language == "sh") > 3


def test_the_python_runs(readme: str, blocks: list[Block], folder: Path) -> None:
    names: dict[str, object] = {}
    python = [block for block in blocks if block.language == "python"]
    assert sum(run_python(block.code, names, readme, block.line) for block in python) >= 3


def test_it_is_short_and_all_of_it_is_looked_at(readme: str, blocks: list[Block]) -> None:
    # The sentences of the other corpora are longer than ours: a line each.
    assert len(READMES[readme].splitlines()) < (150 if readme == "README.md" else 170)
    assert {block.language for block in blocks} == {"bash", "sh", "python"}
