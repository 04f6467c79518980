"""Settings that all tests share: their order, how Hypothesis draws, where the public corpora are, a browser."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.waiting import PATIENCE

REPOSITORY = Path(__file__).resolve().parent.parent

# The longest first, each three to fifty seconds of a core: `pytest --durations=100` tells when another is missing.
LONGEST = [
    "service/test_page.py",
    "engines/test_ray.py",
    "store/test_processes.py",
    "service/test_page_history.py",
    "service/test_page_teach.py",
    "store/test_faults.py",
    "service/test_studies.py",
    "service/test_page_file.py",
    "service/test_predict_file.py",
    "service/test_uploads.py",
    "cli/test_main.py",
    "service/test_page_access.py",
    "selection/test_compare.py",
    "store/test_connection.py",
    "service/test_teach.py",
    "service/test_page_predict.py",
    "service/test_page_measure.py",
    "service/test_limits.py",
    "service/test_contract.py",
    "service/test_replacing.py",
    "store/test_lifecycle.py",
    "kernel/test_analyze.py",
    "test_counts.py",
    "docs/test_pages.py",
    "service/test_configure.py",
    "models/test_add_a_model.py",
    "evaluation/test_loo.py",
    "cli/test_lifecycle.py",
    "store/test_weights.py",
    "cli/test_tune.py",
    "test_project.py",
    "export/test_answers.py",
    "service/test_labels.py",
    "service/test_page_picker.py",
    "selection/test_tune.py",
    "service/test_learn.py",
    "store/test_damage.py",
    "store/test_classifier.py",
    "service/test_durability.py",
    "cli/test_predict.py",
    "test_classifier.py",
    "test_many_classes.py",
    "cli/test_serve.py",
    "models/test_trained.py",
    "export/test_page.py",
    "cli/test_evaluate.py",
    "benchmarks/test_page.py",
    "store/test_fuzz.py",
    "test_report_in_browser.py",
    "cli/test_corpora.py",
]


def pytest_configure(config: pytest.Config) -> None:
    """Draw few of the usual cases where the slow tests are left out, and the same ones in every run of the CI."""
    is_quick = "not slow" in config.getoption("markexpr")
    # No deadline: the first call of a kernel may compile it, which takes seconds.
    always = {"deadline": None, "max_examples": 6 if is_quick else 100}
    settings.register_profile("bunrui", **always)
    settings.register_profile("bunrui-ci", derandomize=True, print_blob=True, **always)
    settings.load_profile("bunrui-ci" if os.environ.get("CI") else "bunrui")
    gc.disable()  # until the tests are collected: nothing of them is garbage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that none of them is still running when all others are done."""
    ranks = {REPOSITORY / "tests" / name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


def pytest_collection_finish() -> None:
    """Keep ten thousand tests out of the garbage collector's way."""
    gc.freeze()
    gc.enable()


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
        options = ["--no-sandbox", "--disable-gpu"]
        opened = playwright.chromium.launch(executable_path=path, args=options, timeout=1000 * PATIENCE)
        yield opened
        opened.close()
