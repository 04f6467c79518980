"""Settings that all tests share: how Hypothesis draws, where the public corpora are, a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    """Draw a tenth of the usual cases where the slow tests are left out, and the same ones in every run of the CI."""
    is_quick = "not slow" in config.getoption("markexpr")
    # No deadline: the first call of a kernel may compile it, which takes seconds.
    always = {"deadline": None, "max_examples": 10 if is_quick else 100}
    settings.register_profile("bunrui", **always)
    settings.register_profile("bunrui-ci", derandomize=True, print_blob=True, **always)
    settings.load_profile("bunrui-ci" if os.environ.get("CI") else "bunrui")


def corpora() -> Path:
    """Where the public corpora should be: the folder BUNRUI_DATA, else `shared/data` beside the repository."""
    named = os.environ.get("BUNRUI_DATA")
    return Path(named) if named else REPOSITORY.parent / "shared" / "data"


def skip_without_corpora() -> None:
    if not corpora().is_dir():
        pytest.skip(f"no corpora: {corpora()} is not a folder; set BUNRUI_DATA to the folder that holds them")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("data"):
        skip_without_corpora()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of public corpora; a test that asks for it is skipped where there is none."""
    skip_without_corpora()
    return corpora()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, to look at pages."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip(
            "there is no chromium on this machine: install it, as `apt-get install chromium` does, to test the page"
        )
    with sync_api.sync_playwright() as playwright:
        # A sandbox is not to be had for root, nor in most containers.
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()
