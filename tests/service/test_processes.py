"""Work in a process of its own: what it sends, how it ends, and that the service does not end with it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bunrui.errors import DataError
from bunrui.service.errors import Problem
from bunrui.service.jobs import Cancelled, Job
from bunrui.service.processes import Died, run_apart, study_apart

Send = Callable[[Any], None]


def send_all(send: Send, *values: Any) -> None:
    for value in values:
        send(value)
    send(pa.record_batch({"text": ["a", "本"], "label": [["x"], ["x", "y"]]}))


def crash(send: Send) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def fail(send: Send, kind: str, *args: Any) -> None:
    raise {"data": DataError, "problem": Problem, "zero": ZeroDivisionError}[kind](*args)


def take(send: Send, n_bytes: int) -> None:
    send(len(np.ones(n_bytes, np.uint8)))


def never_end(send: Send, pid: str) -> None:
    Path(pid).write_text(str(os.getpid()))
    send("running")
    time.sleep(1e6)


def study(path: str, documents: list[str], job: Job) -> dict[str, Any]:
    job.total = len(documents)
    job.result = {"path": path}
    for _ in documents:
        job.add(1)
    return {"path": path, "share": float("inf")}


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_what_is_sent_comes() -> None:
    found = list(run_apart(Job("x", None), send_all, {"a": [1, None]}, "語"))
    assert found[:2] == [{"a": [1, None]}, "語"]
    assert found[2].to_pylist() == [{"text": "a", "label": ["x"]}, {"text": "本", "label": ["x", "y"]}]


def test_a_crash_is_told() -> None:
    with pytest.raises(Died):
        list(run_apart(Job("x", None), crash))


def test_errors_are_told(caplog: pytest.LogCaptureFixture) -> None:
    for error, kind, detail in [
        (("data", "/far/away/mail.bunrui: no label"), "invalid", "mail.bunrui: no label"),
        (("problem", "too-large", "cut it"), "too-large", "cut it"),
    ]:
        with pytest.raises(Problem) as caught:
            list(run_apart(Job("x", None), fail, *error, path="/far/away/mail.bunrui"))
        assert (caught.value.kind, caught.value.detail) == (kind, detail)
    caplog.set_level("ERROR", "bunrui.service")
    with pytest.raises(Problem, match="should not happen") as caught:
        list(run_apart(Job("x", None), fail, "zero", "a document"))
    (record,) = [record for record in caplog.records if record.name == "bunrui.service"]
    assert record.fields["cause"] == "ZeroDivisionError" and "test_processes.py" in record.fields["through"][-1]
    assert "a document" not in str(record.__dict__) + caught.value.detail


def test_memory_has_a_bound() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("this system knows no such bound")
    assert list(run_apart(Job("x", None), take, 400 << 20)) == [400 << 20]
    with pytest.raises(Problem) as caught:
        list(run_apart(Job("x", None), take, 400 << 20, memory=300 << 20))
    assert caught.value.kind == "internal"  # who gives a bound knows what it means, and says so


@pytest.mark.parametrize("is_early", [False, True])
def test_a_job_that_is_cancelled_ends_at_once(tmp_path: Path, is_early: bool) -> None:
    job = Job("x", None)
    if is_early:
        job.cancel()
    with pytest.raises(Cancelled):
        for _ in run_apart(job, never_end, str(tmp_path / "pid")):
            job.cancel()
    assert is_early or is_gone(int((tmp_path / "pid").read_text()))


def test_who_stops_to_listen_ends_it(tmp_path: Path) -> None:
    messages = run_apart(Job("x", None), never_end, str(tmp_path / "pid"))
    assert next(messages) == "running"
    messages.close()
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_studies() -> None:
    job = Job("mistakes", None)
    assert study_apart(job, "a.bunrui", study, ["x", "y"]) == {"path": "a.bunrui", "share": float("inf")}
    assert (job.done, job.total) == (2, 2)
