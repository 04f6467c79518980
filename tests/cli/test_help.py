"""The help of every command.  Its words are pinned by docs/reference/cli.md, which is made of them."""

from __future__ import annotations

import re

import pytest

from bunrui.cli import main
from bunrui.cli.commands import COMMANDS


@pytest.fixture(params=["bunrui", *COMMANDS])
def page(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str]:
    """A command and its help."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", False)
    assert main(["--help"] if request.param == "bunrui" else [request.param, "--help"]) == 0
    out, err = capsys.readouterr()
    assert not err
    return request.param, out


def test_flags_have_no_type(page: tuple[str, str]) -> None:
    assert "<bool>" not in page[1]


def test_examples_name_options_that_exist(page: tuple[str, str]) -> None:
    command, text = page
    if command == "bunrui":
        return
    examples = [line.strip() for line in text.splitlines() if re.match(r" *(\w.* \| )?bunrui ", line)]
    assert any(f"bunrui {command}" in line for line in examples)
    known = set(re.findall(r"(?<=[│ ])--[\w-]+", text.partition("╭─ Arguments")[2] or text))
    for line in examples:
        for option in re.findall(r"(?<= )--[\w-]+", line.partition(f"bunrui {command}")[2].partition(" | ")[0]):
            assert option in known, line
