"""The blocks of code in the guide run, or are checked; tests/blocks.py says how."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.blocks import REPOSITORY, Shell, blocks_of, check_options, run_python, same_output, write_samples
from tests.docs.test_links import PAGES
from tests.service.conftest import Server
from tests.service.conftest import _start as start_server

GUIDE = [page for page in PAGES if not page.startswith(("decisions/", "reference/", "reproduction"))]
LANGUAGES = {"python", "bash", "sh", "text", "conf"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages name, which is the home of the user, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_samples(tmp_path)
    return tmp_path


class Service(Shell):
    """A shell in which a service can be started, and asked."""

    server: Server | None = None

    def command(self, command: str) -> None:
        if served := re.fullmatch(r"BUNRUI_TOKEN=(\w+) bunrui serve (\S+) &", command):
            self.server = start_server(Path(served[2]), Path("log"), token=served[1])
        elif command.startswith("curl "):
            assert self.server is not None
            asked = command.replace("http://127.0.0.1:8765", self.server.url)
            asked = asked.replace("curl ", "curl --silent --show-error --fail ", 1)
            print(subprocess.run(asked, shell=True, check=True, capture_output=True, text=True).stdout)
        else:
            super().command(command)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    service = Service(capsys, monkeypatch)
    yield service
    if service.server is not None:
        service.server.stop()


@pytest.mark.parametrize("page", GUIDE)
def test_the_blocks_run(page: str, folder: Path, shell: Service) -> None:
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    if "\ncurl " in text and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if page == "pipelines.md":
        for package in ("datasets", "datatrove", "duckdb", "polars"):
            pytest.importorskip(package)
    names: dict[str, object] = {}
    printed = ""
    for block in blocks_of(text):
        where = f"docs/{page}:{block.line}"
        assert block.language in LANGUAGES | {""}, where
        if block.language == "python" and "import ray" not in block.code:  # tests/engines/test_ray.py runs those
            run_python(block.code, names, where, block.line)
        elif block.language == "bash":
            printed = shell.run(block.code)
        elif block.language == "sh":
            assert check_options(block.code), where
        elif block.language == "conf":  # settings of other programs, with or without a command
            assert all(map(check_options, re.findall(r'bunrui [^"\n]+', block.code))), where
        elif block.language == "text":
            assert block.after == "bash", where
            assert same_output(printed, block.code), f"{where}: it prints\n{printed}"
    names.clear()  # else a function of the page holds them all until the end, and DuckDB complains of its own


def test_formulas_and_pictures_are_all_that_is_not_run() -> None:
    """A block without a language is a formula: nothing in it looks like a command."""
    for page in GUIDE:
        for block in blocks_of((REPOSITORY / "docs" / page).read_text(encoding="utf-8")):
            if not block.language:
                assert not re.search(r"^ *(bunrui|import|from|pip|\$) ", block.code, re.MULTILINE), (page, block.line)


def test_a_wrong_remark_is_seen() -> None:
    with pytest.raises(AssertionError, match="here: 2, not 3"):
        run_python("1 + 1  # → 3", {}, "here")


def test_a_wrong_output_is_seen() -> None:
    assert not same_output("spam 0.9\nham 0.1\n", "spam …\n")
    assert not same_output("spam 0.9\n", "ham …\n")


def test_an_option_that_is_not_there_is_seen() -> None:
    with pytest.raises(Exception, match="No such option: --lunch"):
        check_options("bunrui learn web.bunrui web.csv --lunch")
