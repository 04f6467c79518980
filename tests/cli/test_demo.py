from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from bunrui.cli.commands import COMMANDS


def test_tour(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert "400 documents in English, Japanese, Chinese and Korean" in out
    assert float(re.search(r"accuracy (\d\.\d+) of 400 documents", out).group(1)) > 0.7
    assert "it was world; learned as politics, it is politics" in out
    assert "undone, it is world; all scores the same to the last bit: True" in out
    assert list(tmp_path.iterdir()) == []


def test_every_heading_has_commands_that_exist(run) -> None:
    shown = re.findall(r"^\$ (?:echo .* \| )?bunrui (\S+)", run("demo").out, flags=re.MULTILINE)
    assert set(shown) == {"learn", "info", "unlearn", "evaluate", "predict", "explain", "undo", "--help"}
    assert set(shown) - {"--help"} < set(COMMANDS)
