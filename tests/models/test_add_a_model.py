"""A counting model is added as CONTRIBUTING.md says, to a copy of the repository, and works everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE

REPOSITORY = Path(__file__).resolve().parents[2]
TABLE = "src/bunrui/models/kinds.py"


def files_of_the_walk() -> dict[str, str]:
    """The files that CONTRIBUTING.md names, with their code."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text()
    return dict(re.findall(r"^`([\w/.]+)`:\n\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository after the walk."""
    folder = tmp_path_factory.mktemp("walk") / "repository"
    for name in ("src", "tests"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    files = files_of_the_walk()
    table = (folder / TABLE).read_text()
    head, start, rest = table.partition("MODELS = {\n")
    lines, end, rest = rest.partition("}\n")
    assert start and end and files[TABLE] not in table
    (folder / TABLE).write_text(head + start + lines + files.pop(TABLE) + end + rest)
    assert sorted(files) == ["src/bunrui/models/background.py", "tests/golden/test_background.py"]
    for name, code in files.items():
        assert not (folder / name).exists()
        (folder / name).write_text(code)
    return folder


def test_it_works_everywhere(copy: Path) -> None:
    """Its golden numbers, the suites of all models, and whatever a user does: in one process, as it starts slowly."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = ours | {"PYTHONPATH": str(copy / "src")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--basetemp",
        str(copy.parent / "run"),
        "-vv",
        "-m",
        "not slow",
        "tests/golden/test_background.py",
        "tests/contracts/test_models.py",
        "tests/evaluation/test_loo.py",
        "tests/models/test_explain.py",
        "tests/support/added_model.py",
        "-k",
        "background or added_model",
    ]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.findall(r"^tests/(\w+)/\S+ PASSED", done.stdout, re.MULTILINE)
    assert passed.count("contracts") > 40  # the suite knows the model from the table
    assert passed.count("golden") > 0 and passed.count("support") > 5
    assert passed.count("evaluation") > 5 and passed.count("models") > 5


def test_the_code_of_the_walk_is_as_clean_as_ours(copy: Path) -> None:
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed")
    for check in (["check"], ["format", "--check"]):
        command = [ruff, *check, *files_of_the_walk()]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
