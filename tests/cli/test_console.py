from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bunrui.cli.console import Bar, kept_whole, show, uninterrupted
from bunrui.documents import read
from tests.support.waiting import PATIENCE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def bar_of(monkeypatch: pytest.MonkeyPatch, source: object, stderr: io.StringIO) -> str:
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setattr(Bar, "_PATIENCE", -1)
    monkeypatch.setenv("TERM", "xterm")
    reader = read(source, labelled=False)
    with Bar(reader) as bar:
        for batch in reader:
            bar.add(batch.num_rows)
    return stderr.getvalue()


def test_bar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n" * 1000)
    seen = bar_of(monkeypatch, tmp_path / "a.txt", Terminal())
    assert "1,000 documents" in seen and "4.0/4.0 kB" in seen and "0:00:00" in seen


def test_bar_of_a_pipe_has_no_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = bar_of(monkeypatch, io.BytesIO(b"one\n" * 1000), Terminal())
    assert "1,000 documents" in seen and ":" not in seen


def test_no_bar_into_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bar_of(monkeypatch, io.BytesIO(b"one\n" * 1000), io.StringIO()) == ""


@pytest.mark.parametrize(
    ("n_bytes", "seconds", "said"),
    [
        (5_000_000, 2.0, "2.0 s (2.5 MB/s)"),
        (50_000_000, 2.0, "2.0 s (25 MB/s)"),
        (5_000_000, 1000.0, "1,000.0 s"),
        (5_000, 0.001, "0.0 s"),
    ],
)
def test_speed(monkeypatch: pytest.MonkeyPatch, n_bytes: int, seconds: float, said: str) -> None:
    reader = read(io.BytesIO(b"one" + bytes(n_bytes - 4) + b"\n"), labelled=False)
    bar = Bar(reader)
    assert sum(batch.num_rows for batch in reader) == 1
    monkeypatch.setattr(Bar, "seconds", seconds)
    assert bar.speed() == said


def test_tables_in_a_pipe_are_not_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.table import Table

    monkeypatch.setenv("COLUMNS", "20")
    table = Table("x" * 200)
    show(table)
    assert "x" * 200 in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_waits() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_does_not_stop_the_end_of_a_change() -> None:
    done = []

    @contextmanager
    def change() -> Iterator[str]:
        yield "changing"
        os.kill(os.getpid(), signal.SIGINT)
        done.append("written")

    with kept_whole(change()) as step:
        assert (step, done) == ("changing", [])
    assert done == ["written"]
    with pytest.raises(KeyboardInterrupt), kept_whole(change()):
        raise KeyboardInterrupt
    assert done == ["written"]


@pytest.mark.skipif(sys.platform == "win32", reason="terminals")
@pytest.mark.parametrize("no_colour", [False, True])
def test_colours_on_a_terminal(start, mail: Path, monkeypatch: pytest.MonkeyPatch, no_colour: bool) -> None:
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    code = "import os, sys; os.environ['TERM'] = 'xterm-256color'; import bunrui.cli; bunrui.cli.main(sys.argv[1:])"
    process = start("explain", "mail.bunrui", "pills", python=("-c", code), stdout=theirs)
    os.close(theirs)
    process.wait(timeout=PATIENCE)
    seen = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "pills" in seen and (";48;5;" in seen) is not no_colour
