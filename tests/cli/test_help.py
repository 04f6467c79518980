"""The help of every command, word for word.

`BUNRUI_REWRITE=1 pytest tests/cli/test_help.py` writes the stored texts anew.  What is compared are the words: frames
and line breaks change with the versions of typer and rich.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from bunrui.cli import main
from bunrui.cli.commands import COMMANDS

STORED = Path(__file__).parent / "help"


def words(text: str) -> list[str]:
    return re.sub(r"[─│╭╮╰╯]", " ", text).split()


@pytest.mark.parametrize("command", ["bunrui", *COMMANDS])
def test_help(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", False)
    assert main(["--help"] if command == "bunrui" else [command, "--help"]) == 0
    out, err = capsys.readouterr()
    path = STORED / f"{command}.txt"
    if os.environ.get("BUNRUI_REWRITE"):
        path.write_text("\n".join(line.rstrip() for line in out.strip().splitlines()) + "\n", encoding="utf-8")
    assert words(out) == words(path.read_text(encoding="utf-8")) and not err


def test_every_stored_text_has_its_command() -> None:
    assert {path.stem for path in STORED.glob("*.txt")} == {"bunrui", *COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_name_options_that_exist(command: str) -> None:
    text = (STORED / f"{command}.txt").read_text(encoding="utf-8")
    examples = [line.strip() for line in text.splitlines() if re.match(r" *(\w.* \| )?bunrui ", line)]
    assert any(f"bunrui {command}" in line for line in examples)
    known = set(re.findall(r"(?<=[│ ])--[\w-]+", text.partition("╭─ Arguments")[2] or text))
    for line in examples:
        for option in re.findall(r"(?<= )--[\w-]+", line.partition(f"bunrui {command}")[2].partition(" | ")[0]):
            assert option in known, line
