"""What all commands share: errors, exit codes, pipes, Ctrl-C, what is imported."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

import bunrui
from bunrui.cli import main
from tests.support.examples import quick
from tests.support.waiting import PATIENCE, wait_until

READING = {
    "predict": ["predict", "x", "--line", "a"],
    "explain": ["explain", "x", "a"],
    "words": ["words", "x"],
    "evaluate": ["evaluate", "x", "mail.csv"],
    "info": ["info", "x"],
    "set": ["set", "x", "--model", "binary"],
    "slim": ["slim", "x", "y"],
    "undo": ["undo", "x"],
    "compact": ["compact", "x"],
    "train": ["train", "x"],
    "merge": ["merge", "y", "x"],
    "unlearn": ["unlearn", "x", "mail.csv"],
    "learn": ["learn", "x", "mail.csv"],
}


def test_version(run) -> None:
    assert run("--version") == (0, f"bunrui {bunrui.__version__}\n", "")


def test_without_arguments_the_help(run) -> None:
    code, out, err = run()
    assert (code, err) == (0, "") and "Usage: bunrui" in out


# --- a file that is no classifier


@pytest.mark.parametrize("command", [name for name in READING if name != "learn"])
def test_missing(run, mail: Path, command: str) -> None:
    code, out, err = run(*READING[command])
    assert (code, out) == (1, "") and err == "error: there is no classifier x: make one with 'bunrui learn x DATA'\n"
    assert {path.name for path in mail.parent.iterdir()} == {"mail.csv", "mail.bunrui"}


@pytest.mark.parametrize("command", READING)
def test_no_classifier(run, mail: Path, command: str) -> None:
    (mail.parent / "x").write_text("text,label\n")
    code, out, err = run(*READING[command])
    assert (code, out) == (
        1,
        "",
    ) and err == "error: x is not a bunrui classifier: give a file that bunrui has made\n"
    assert (mail.parent / "x").read_text() == "text,label\n" and not (mail.parent / "y").exists()


@pytest.mark.parametrize("command", READING)
def test_empty_file(run, mail: Path, command: str) -> None:
    (mail.parent / "x").touch()
    code, out, err = run(*READING[command])
    assert (code, out) == (1, "") and err == "error: x: the file is empty: give a file that bunrui has made\n"
    assert (mail.parent / "x").stat().st_size == 0


@pytest.mark.parametrize("command", READING)
def test_folder(run, mail: Path, command: str) -> None:
    (mail.parent / "x").mkdir()
    code, out, err = run(*READING[command])
    assert (code, out) == (
        1,
        "",
    ) and err == "error: x: this is a folder, not a classifier: give a file that bunrui has made\n"


# --- messages


def test_messages_speak_of_options(run, mail: Path) -> None:
    code, _, err = run("learn", "mail.bunrui", "mail.csv", "--text", "body")
    assert code == 1
    assert err == "error: mail.csv: there is no column 'body', only 'text', 'label': choose another with --text\n"


def test_names_cannot_move_the_cursor(run) -> None:
    assert run("undo", "\x1b[2Jx").err.startswith("error: there is no classifier ␛[2Jx: make one")


def test_debug_raises(run) -> None:
    with pytest.raises(bunrui.errors.BunruiError):
        main(["--debug", "info", "x"])


def test_what_nobody_thought_of(run, monkeypatch: pytest.MonkeyPatch, mail: Path) -> None:
    monkeypatch.setattr("bunrui.cli.info._rows", lambda known: 1 / 0)
    assert run("info", "mail.bunrui") == (
        1,
        "",
        "error: ZeroDivisionError: division by zero\nThis should not happen: bunrui --debug … shows where it did.\n",
    )


def test_swapped_arguments(run, mail: Path) -> None:
    err = "error: mail.csv is not a bunrui classifier: give a file that bunrui has made\n"
    assert run("learn", "mail.csv", "mail.bunrui") == (1, "", err)


# --- processes


def test_module(shell, mail: Path) -> None:
    assert shell("predict", "mail.bunrui", "--line", "pills") == (0, "spam\t0.8545\n", "")


def test_script_is_installed() -> None:
    import tomllib

    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["scripts"] == {"bunrui": "bunrui.cli:main"}


@pytest.mark.parametrize("arguments", [["--line", "free pills"], []], ids=["line", "stdin"])
def test_one_prediction_imports_little(shell, mail: Path, arguments: list[str]) -> None:
    code = "import json, sys; from bunrui.cli import main; main(sys.argv[1:]); print(json.dumps(sorted(sys.modules)))"
    done = shell("predict", "mail.bunrui", *arguments, stdin="free pills\n", python=("-c", code))
    assert done.code == 0 and done.out.startswith("spam\t0.8545\n")
    loaded = {name.partition(".")[0] for name in json.loads(done.out.splitlines()[1])}
    assert not loaded & {"numba", "sklearn", "scipy", "rich", "pydantic", "pandas"}


def test_help_imports_no_library_of_arrays(shell) -> None:
    code = (
        "import sys; from bunrui.cli import main; from bunrui.cli.commands import COMMANDS\n"
        "for name in COMMANDS: assert main([name, '--help']) == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = shell(python=("-c", code))
    assert done.code == 0
    assert not {"numpy", "pyarrow"} & set(done.err.split())


def test_no_colours_in_pipes(shell, mail: Path) -> None:
    Path("test.csv").write_text("text,label\npills for lunch,spam\n")
    for arguments in (
        ["explain", "mail.bunrui", "pills"],
        ["words", "mail.bunrui"],
        ["evaluate", "mail.bunrui", "test.csv"],
    ):
        code, out, err = shell(*arguments)
        assert (code, err) == (0, "") and out and "\x1b" not in out


def test_output_that_cannot_hold_a_label(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert shell("learn", "a.bunrui", "-", "--as", "\u732b", stdin="one\n").code == 0
    assert shell("predict", "a.bunrui", "--line", "one") == (0, "\\u732b\t1.0000\n", "")


def test_closed_pipe(start, mail: Path) -> None:
    process = start("predict", "mail.bunrui", "-", "--format", "lines")
    process.stdout.close()
    _, err = process.communicate(b"cheap pills\n" * 100_000, timeout=PATIENCE)
    assert (process.returncode, err) == (141, b"")


def test_closed_pipe_at_the_end(start, mail: Path) -> None:
    process = start("info", "mail.bunrui")
    process.stdout.close()
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (141, b"")


CLOSED = {
    "all": ('exec "$@" <&- >&- 2>&-', ["learn", "mail.bunrui", "mail.csv"], 0),
    "stdout": ('exec "$@" >&-', ["info", "mail.bunrui"], 0),
    "stderr": ('exec "$@" 2>&-', ["info", "none"], 1),
    "stdout of a table": ('exec "$@" >&-', ["evaluate", "mail.bunrui", "mail.csv"], 0),
    "stderr of a usage": ('exec "$@" 2>&-', ["info"], 2),
    "stdin": ('exec "$@" <&-', ["explain", "mail.bunrui"], 2),
}


@pytest.mark.skipif(sys.platform == "win32", reason="no sh")
@pytest.mark.parametrize("case", quick(3, CLOSED))
def test_closed_streams(run, mail: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    script, arguments, code = CLOSED[case]
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2] / "src"))
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "bunrui", *arguments], capture_output=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout) == (code, b"") and b"Traceback" not in done.stderr
    assert run("info", "mail.bunrui").out.startswith("documents     8" if case == "all" else "documents     4")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
@pytest.mark.parametrize("unbuffered", quick(1, ["", "1"]))
def test_a_full_disk(start, mail: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    for arguments in (["info", "mail.bunrui"], ["predict", "mail.bunrui", "mail.csv"]):
        with open("/dev/full", "wb") as full:
            _, err = (process := start(*arguments, stdout=full)).communicate(timeout=PATIENCE)
        assert process.returncode == 1 and err.startswith(b"error: ") and b"the disk is full: make room\n" in err
        assert b"Traceback" not in err


def unread(pipe: IO[bytes] | None) -> int:
    """Bytes in a pipe."""
    import fcntl
    import termios

    assert pipe is not None
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def interrupt(process: subprocess.Popen[bytes], folder: Path, begun: str) -> tuple[int, bytes]:
    """Press Ctrl-C when a file is there, and the process has read all that it was given so far."""
    wait_until(lambda: list(folder.glob(begun)) and not unread(process.stdin))
    process.send_signal(signal.SIGINT)
    code = process.wait(timeout=PATIENCE)  # with its input still open: nothing else ends it
    # 130 for a shell in both cases: Python ends itself by the signal if that came while a library ran code of a string.
    code = 130 if code == -signal.SIGINT else code
    lines = process.stderr.read().splitlines(keepends=True)
    return code, b"".join(line for line in lines if not line.startswith(b"compiling the kernels"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_leaves_no_new_file(start, tmp_path: Path) -> None:
    process = start("learn", "new.bunrui", "-", "--format", "csv")
    process.stdin.write(b"text,label\ncheap pills,spam\n")
    process.stdin.flush()
    assert interrupt(process, tmp_path, ".new.bunrui.*") == (130, b"interrupted; nothing was changed\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_changes_no_old_file(start, run, mail: Path) -> None:
    before = run("info", "mail.bunrui").out
    process = start("learn", "mail.bunrui", "-", "--format", "csv")
    process.stdin.write(b"text,label\n" + b"cheap pills,spam\n" * 200_000)
    process.stdin.flush()
    assert interrupt(process, mail.parent, "mail.bunrui") == (130, b"interrupted; nothing was changed\n")
    assert run("info", "mail.bunrui").out == before


def test_a_command_that_fails_waits_for_no_thread(start) -> None:
    thread = "import threading; threading.Thread(target=threading.Event().wait).start()"
    process = start("info", "none.bunrui", python=("-c", f"{thread}; from bunrui.cli import main; main()"))
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and b"none.bunrui" in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_while_predicting(start, mail: Path) -> None:
    process = start("predict", "mail.bunrui", "--output", "out.csv")
    process.stdin.write(b"cheap pills\n")
    process.stdin.flush()
    assert interrupt(process, mail.parent, ".out.csv.*") == (130, b"interrupted\n")
    assert {path.name for path in mail.parent.iterdir()} == {"mail.csv", "mail.bunrui"}
