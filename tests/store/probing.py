"""Use a file that may be hostile, in a process that may crash, hang or run out of memory.

A `Prober` starts one Python that imports everything, and forks from it for every file.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO, Any, NamedTuple

MOST_BYTES = 1536 << 20
MOST_SECONDS = 60.0  # for each step; so long that a busy machine is not taken for a hang


class Outcome(NamedTuple):
    """What came of using a file.

    Attributes
    ----------
    failures : list of str
        Steps that ended otherwise than by success or by an error that names the file.
    errors : list of str
        Steps that ended by an error of bunrui: "step: kind: message".
    """

    failures: list[str]
    errors: list[str]


def reseal(path: str | os.PathLike[str]) -> None:
    """Give all rows of a file that was edited the checksums of what they say now, as whoever means harm would."""
    from bunrui.errors import StoreError
    from bunrui.store.schema import SEALED, connect, seal

    db = connect(os.fspath(path), read_only=False)
    for table in SEALED:
        with suppress(StoreError):  # it may be no table any more
            seal(db, table)
    db.close()


class Prober:
    """Uses files, each in a new process."""

    def __init__(self) -> None:
        command = [sys.executable, __file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def use(self, path: str) -> Outcome:
        """Open a file, and do with it whatever can be done."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(path + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


def use(path: str, begin: Callable[[str], object]) -> tuple[list[str], list[str]]:
    """Everything that can be done with a file; (failures, errors).  Calls `begin` with the name of every step."""
    import bunrui

    failures: list[str] = []
    errors: list[str] = []

    def step(name: str, work: Callable[[], Any]) -> Any:
        from bunrui.errors import BunruiError, StoreError

        begin(name)
        try:
            return work()
        except BunruiError as error:
            errors.append(f"{name}: {type(error).__name__}: {error}")
            # Where the user has no part in it, nothing but the name of the file says what the error is about.
            if (isinstance(error, StoreError) or name.startswith("open")) and path not in str(error):
                failures.append(f"{name}: the file is not named in: {type(error).__name__}: {error}")
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            failures.append(
                f"{name}: {type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.name})"
            )
        return None

    def read(name: str, clf: Any) -> None:
        step(f"predict {name}", lambda: clf.predict(["cheap pills", "noon?", "料金", ""]))
        step(f"words {name}", lambda: clf.words("ham", top=3))
        step(f"info {name}", lambda: json.dumps(clf.info()))
        step(f"history {name}", clf.history)
        step(f"documents {name}", lambda: list(clf.documents()))

    reader = step("open to read", lambda: bunrui.open(path, read_only=True))
    if reader is not None:
        read("first", reader)
        step("refresh", reader.refresh)
        step("slim", lambda: reader.slim(path + ".slim"))
    clf = step("open", lambda: bunrui.open(path))
    if clf is None:
        return failures, errors
    step("check", clf.check)
    step("browse", lambda: (clf.browse("p", label="ham", limit=3), clf.browse(change=clf.last_change)))
    step("undo first", clf.undo)
    step("learn", lambda: clf.learn(["cheap pills today", "料金"], ["spam", "new"], ids=["6", "7"]))
    step("unlearn", lambda: clf.unlearn(["cheap pills today"], ["spam"]))
    step("unlearn old", lambda: clf.unlearn(["meeting at noon"], ["ham"]))
    step("undo", clf.undo)
    step("relabel", lambda: clf.relabel("other", ids=["7"]))
    step("move", lambda: clf.move_label("other", "x"))
    step("rename", lambda: clf.rename_label("x", "z"))
    step("drop", lambda: clf.drop_label("z"))
    step("undo last", clf.undo)
    step("unlearn unlabelled", clf.unlearn_unlabelled)
    step("undo unlabelled", clf.undo)
    step("undo to", lambda: clf.undo_to(max(0, clf.last_change - 3)))
    read("then", clf)
    step("merge", lambda: bunrui.create(path + ".other", keep="nothing").merge(clf))
    if reader is not None:
        step("refresh then", reader.refresh)
        reader.close()
    step("forget", lambda: clf.forget(before=datetime(2024, 1, 1, tzinfo=UTC)))
    step("compact", clf.compact)
    read("last", clf)
    step("close", clf.close)
    again = step("open again", lambda: bunrui.open(path))
    if again is not None:
        step("close again", again.close)
    return failures, errors


# The process that forks


def _serve() -> None:
    import tempfile

    import bunrui

    os.environ["BUNRUI_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:  # imports and caches all that the children need
        with bunrui.create(os.path.join(folder, "warm")) as clf:
            clf.learn(["cheap pills now", "meeting at noon", "料金が無料"], ["spam", "ham", "spam"])
        use(clf.path, str)
    for line in sys.stdin:
        print(json.dumps(_apart(line.rstrip("\n"))._asdict()), flush=True)


def _apart(path: str) -> Outcome:
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        _run_child(path, theirs)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        lines, ended = _lines(pipe)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ended:
        return Outcome([f"{lines[-1]}: hung for more than {MOST_SECONDS} s"], [])
    if status:
        return Outcome([f"{lines[-1]}: crashed with status {status}"], [])
    failures, errors = json.loads(lines[-1])
    return Outcome(failures, errors)


def _run_child(path: str, pipe: int) -> None:
    import resource

    status = 1
    try:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (now + MOST_BYTES, now + MOST_BYTES))
        with os.fdopen(pipe, "w") as out:
            result = use(path, lambda name: print(name, file=out, flush=True))
            print(json.dumps(result), file=out)
        status = 0
    finally:
        os._exit(status)


def _lines(pipe: IO[bytes]) -> tuple[list[str], bool]:
    """The lines that come out of a pipe, and whether they came to an end; a line may take so many seconds."""
    content = b""
    while select.select([pipe], [], [], MOST_SECONDS)[0]:
        more = os.read(pipe.fileno(), 1 << 16)
        if not more:
            return content.decode().splitlines(), True
        content += more
    return content.decode().splitlines(), False


if __name__ == "__main__":
    _serve()
