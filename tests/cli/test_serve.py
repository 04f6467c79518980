"""`bunrui serve`: what it says, and why it does not start.  tests/service/ asks it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bunrui
from tests.cli.conftest import SOURCE, Run
from tests.support.processes import patience_with
from tests.support.waiting import PATIENCE

Start = Callable[..., "subprocess.Popen[bytes]"]

MISSING = """
import sys
for name in list(sys.modules):
    assert not name.startswith("fastapi")
sys.modules["fastapi"] = None
from bunrui.cli import main
raise SystemExit(main(["serve", "mail.bunrui"]))
"""


def talk(process: subprocess.Popen[bytes]) -> tuple[int, list[str]]:
    """Stop a service as soon as it serves: its exit code, and what it said before its log."""
    assert process.stderr is not None
    lines = []
    with patience_with(process):
        for line in process.stderr:
            if line.startswith(b'{"time"'):
                break
            lines.append(line.decode().rstrip("\n"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    return process.returncode, lines


def test_it_only_reads(mail: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_TOKEN", "a-secret-of-mine")
    code, lines = talk(start("serve", "mail.bunrui", "--port", "0", "--read-only", "--host", "localhost"))
    assert code == 0
    assert re.fullmatch(r"serving mail\.bunrui at http://localhost:\d+/", lines[0])
    assert lines[1:] == ["it only reads: start it with --token auto to let it learn"]


def test_a_token_that_it_makes(mail: Path, start: Start) -> None:
    code, lines = talk(start("serve", "mail.bunrui", "--port", "0", "--token", "auto"))
    assert code == 0 and len(lines) == 1
    assert re.fullmatch(r"serving mail\.bunrui at http://127\.0\.0\.1:\d+/#token=[\w-]{32}", lines[0])


def test_a_token_from_the_environment_is_not_shown(mail: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_TOKEN", "a-secret-of-mine")
    code, lines = talk(start("serve", "mail.bunrui", "--port", "0"))
    assert code == 0 and len(lines) == 1
    assert re.fullmatch(r"serving mail\.bunrui at http://127\.0\.0\.1:\d+/", lines[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--token", "x", "--read-only"), "--token allows changes, and --read-only forbids them: give one of the two."),
        (("--token", "a b"), "a token consists of letters, digits and signs of ASCII, without spaces."),
        (("--token", ""), "invalid value for '--token': it is empty."),
        (("--token", "語"), "a token consists of letters, digits and signs of ASCII, without spaces."),
        (
            ("--cors", "example.org"),
            "'example.org' is no origin: give scheme, host and port, such as https://example.org.",
        ),
        (
            ("--cors", "https://example.org/"),
            "'https://example.org/' is no origin: give scheme, host and port, such as https://example.org.",
        ),
    ],
)
def test_wrong_usage(mail: Path, run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("serve", "mail.bunrui", *arguments)
    assert (code, out, err.splitlines()[0]) == (2, "", f"error: {message}")


@pytest.mark.parametrize("option", ["--port=99999", "--port=x", "--max-body=0", "--max-requests=-1"])
def test_numbers_that_make_no_sense(mail: Path, run: Run, option: str) -> None:
    code, out, err = run("serve", "mail.bunrui", option)
    assert (code, out) == (2, "") and err.startswith(f"error: invalid value for '{option.partition('=')[0]}': ")


def test_a_port_that_is_taken(mail: Path, run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run("serve", "mail.bunrui", "--port", str(port)) == (
            1,
            "",
            f"error: port {port} of 127.0.0.1 is in use: stop what uses it, or give another port (0 for a free one)\n",
        )


def test_an_address_that_is_not_ours(mail: Path, run: Run) -> None:
    code, _, err = run("serve", "mail.bunrui", "--host", "192.0.2.1", "--port", "0")
    assert (code, err) == (1, "error: '192.0.2.1' is no address of this machine: give another host\n")


def test_no_file(run: Run) -> None:
    code, _, err = run("serve", "nothing.bunrui", "--port", "0")
    assert (code, err) == (
        1,
        "error: there is no classifier nothing.bunrui: make one with 'bunrui learn nothing.bunrui DATA'\n",
    )


def test_a_file_to_begin_with(tmp_path: Path, start: Start) -> None:
    code, lines = talk(start("serve", "new.bunrui", "--port", "0", "--token", "auto"))
    assert code == 0 and lines[0] == "made new.bunrui: it has learned nothing yet"
    with bunrui.open(tmp_path / "new.bunrui") as clf:
        assert clf.counts.n_docs == 0


def test_the_extra_is_missing(mail: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MISSING],
        cwd=mail.parent,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        1,
        "error: the service needs fastapi, which is not installed: pip install 'bunrui[serve]'\n",
    )
