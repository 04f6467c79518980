"""The command line, run in this process or in one of its own, and small classifiers to ask."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from bunrui.cli import main
from tests.support.processes import heeding_ctrl_c
from tests.support.waiting import PATIENCE

SOURCE = Path(__file__).resolve().parents[2] / "src"

MAIL = """text,label
cheap pills now,spam
win money fast,spam
meeting at noon,ham
lunch with the team at noon,ham
"""


class Result(NamedTuple):
    """What a command left behind; times and speeds in `err` are written as T."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


def _timeless(text: str) -> str:
    return re.sub(r"in [\d.,]+ s( \([\d.,]+ MB/s\))?", "in T", text)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, in a folder of its own, perhaps with text on its standard input."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, stdin: str | None = None) -> Result:
        with monkeypatch.context() as patch:
            if stdin is not None:
                patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            code = main(arguments)
        out, err = capsys.readouterr()
        return Result(code, out, _timeless(err))

    return call


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """Start a command in a process of its own."""

    def call(*arguments: str, python: Sequence[str] = ("-m", "bunrui"), **settings: object) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings
        environment = os.environ | {"PYTHONPATH": str(SOURCE), "COLUMNS": "100", "TERM": "dumb"}
        with heeding_ctrl_c():
            return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
                [sys.executable, *python, *arguments], cwd=tmp_path, env=environment, **pipes
            )

    return call


@pytest.fixture
def shell(start: Callable[..., subprocess.Popen[bytes]]) -> Run:
    """Run a command in a process of its own, with text on its standard input."""

    def call(*arguments: str, stdin: str = "", **settings: object) -> Result:
        process = start(*arguments, **settings)
        out, err = process.communicate(stdin.encode(), timeout=PATIENCE)
        return Result(process.returncode, out.decode(), _timeless(err.decode()))

    return call


@pytest.fixture
def mail(run: Run, tmp_path: Path) -> Path:
    """A classifier of four mails, in mail.bunrui; the mails are in mail.csv."""
    (tmp_path / "mail.csv").write_text(MAIL)
    assert run("learn", "mail.bunrui", "mail.csv") == (0, "", "learned 4 documents of 2 labels into mail.bunrui in T\n")
    return tmp_path / "mail.bunrui"


@pytest.fixture
def news(run: Run, tmp_path: Path) -> Path:
    """A classifier of three labels, in news.bunrui."""
    rows = ["goal in the last minute,sports", "the vote was lost,politics", "a new star was found,science"]
    (tmp_path / "news.csv").write_text("\n".join(["text,label", *rows, ""]))
    assert run("learn", "news.bunrui", "news.csv").code == 0
    return tmp_path / "news.bunrui"


@pytest.fixture(params=["text", "digests", "nothing"])
def keep(request: pytest.FixtureRequest) -> str:
    """What a classifier keeps of its documents."""
    return str(request.param)
