"""A file that is copied, replaced or moved while a service works on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bunrui
from tests.service.conftest import SOURCE, Serve, Server
from tests.support.waiting import PATIENCE, wait_until

NEW = [f"new{k} " + " ".join(f"{k}v{j}" for j in range(200)) for k in range(400)]


def new_file(server: Server, texts: list[str]) -> Path:
    path = server.path.with_name("new.bunrui")
    with bunrui.create(path) as clf:
        clf.learn(texts, ["new"] * len(texts))
    return path


def learn(server: Server, text: str, label: str = "ham") -> dict[str, Any]:
    answer = server.client.post("/v1/learn", json={"texts": [text], "labels": [label]})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def command(*arguments: str) -> str:
    """What the command line says, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bunrui", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def texts_in(path: Path) -> list[str]:
    with bunrui.open(path, read_only=True) as clf:
        assert clf.check().is_right
        return [str(document.text) for document in clf.documents()]


@pytest.mark.parametrize("texts", [["small"], NEW], ids=["smaller", "larger"])
def test_the_service_goes_on_with_the_file_that_has_the_name(serve: Serve, texts: list[str]) -> None:
    server = serve()
    learn(server, "see you at noon")
    os.replace(new_file(server, texts), server.path)
    path = str(server.path)
    assert json.loads(command("info", path, "--json"))["labels"] == {"new": len(texts)}
    assert "wrong" not in command("check", path)
    assert command("predict", path, "--line", "noon").split()[0] == "new"

    assert learn(server, "one more", "new")["documents"] == len(texts) + 1
    assert server.client.get("/v1/labels").json()["labels"] == [{"label": "new", "documents": len(texts) + 1}]
    assert texts_in(server.path) == [*texts, "one more"]
    assert "the file was replaced" in server.log.read_text()
    assert server.stop() == 0
    assert texts_in(server.path) == [*texts, "one more"]
    assert not list(server.path.parent.glob("*-wal"))


def test_a_service_that_only_reads_takes_in_the_new_file(serve: Serve) -> None:
    server = serve(token=None)
    assert server.client.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"] == ["spam"]
    os.replace(new_file(server, NEW), server.path)

    def is_new() -> bool:
        found = server.client.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"]
        assert found in (["spam"], ["new"])
        return found == ["new"]

    wait_until(is_new)
    assert server.stop() == 0
    assert texts_in(server.path) == NEW


def test_something_else_in_its_place(serve: Serve) -> None:
    server = serve()
    other = server.path.with_name("other")
    other.write_text("this is no classifier\n" * 1000)
    os.replace(server.path, server.path.with_name("kept.bunrui"))
    os.replace(other, server.path)
    answer = server.client.post("/v1/learn", json={"texts": ["a"], "labels": ["x"]})
    assert answer.status_code >= 400 and "mail.bunrui is not a bunrui classifier" in answer.json()["detail"]
    assert server.client.post("/v1/predict", json={"texts": ["pills"]}).json()["labels"] == ["spam"]
    os.replace(server.path.with_name("kept.bunrui"), server.path)
    assert learn(server, "noon again")["documents"] == 5


@pytest.mark.parametrize("how", ["replaced", "deleted"])
def test_another_file_after_kill_9(serve: Serve, how: str) -> None:
    server = serve()
    learn(server, "see you at noon")
    new = new_file(server, NEW)
    assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    if how == "replaced":
        os.replace(new, server.path)
    else:
        server.path.unlink()
        with bunrui.create(server.path) as clf:
            clf.learn(NEW, ["new"] * len(NEW))
    assert texts_in(server.path) == NEW
    again = serve(path=server.path)
    assert learn(again, "one more", "new")["documents"] == len(NEW) + 1


def test_copies_while_serving(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    for k in range(5):
        learn(server, f"document {k}")
        shutil.copy(server.path, tmp_path / f"plain{k}.bunrui")
        assert texts_in(tmp_path / f"plain{k}.bunrui")[4:] == [f"document {j}" for j in range(k + 1)]
    command("copy", str(server.path), str(tmp_path / "copy.bunrui"))
    assert texts_in(tmp_path / "copy.bunrui") == texts_in(server.path)
