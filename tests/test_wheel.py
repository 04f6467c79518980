"""The wheel and the source distribution install in an empty environment, and work there."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.blocks import REPOSITORY

pytestmark = pytest.mark.slow

_LARGEST = 2_000_000


def call(*command: str | Path, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, made from the source distribution, which stands beside it."""
    folder = tmp_path_factory.mktemp("built")
    venv.create(folder / "tools", with_pip=True)
    python = folder / "tools" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", "build", folder=folder)
    call(python, "-m", "build", "--outdir", folder / "dist", REPOSITORY, folder=folder)
    return folder / "dist"


def test_what_is_in_the_wheel(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.stat().st_size < _LARGEST
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    tops = {name.split("/")[0] for name in names}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"bunrui"}
    for name in ("py.typed", "data/demo.jsonl", "kernel/unicode.npz", "service/web/index.html", "views/web/views.css"):
        assert f"bunrui/{name}" in names
    assert not [name for name in names if name.endswith((".pyc", ".nbc", ".nbi"))]


def test_what_is_in_the_source_distribution(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as file:
        names = {name.split("/", 1)[-1] for name in file.getnames()}
    assert {"Makefile", "README.md", "LICENSE", "noxfile.py", "docs/index.md", "tests/test_wheel.py"} <= names
    links = re.findall(r"\]\(([^)#\s]+)", (REPOSITORY / "README.md").read_text(encoding="utf-8"))
    inside = [link for link in links if not link.startswith("http")]
    assert len(inside) > 9
    folders = {str(folder) for name in names for folder in Path(name).parents}
    assert set(inside) <= names | folders


@pytest.mark.parametrize("kind", ["whl", "tar.gz"])
def test_it_works_where_nothing_else_is(built: Path, tmp_path: Path, kind: str) -> None:
    venv.create(tmp_path / "empty", with_pip=True)
    python, bunrui = (tmp_path / "empty" / "bin" / name for name in ("python", "bunrui"))
    call(python, "-m", "pip", "install", "--quiet", next(built.glob(f"*.{kind}")), folder=tmp_path)
    assert "bunrui" in call(bunrui, "demo", folder=tmp_path)
    (tmp_path / "train.csv").write_text("text,label\n無料の薬,迷惑\n正午に会議,普通\n", encoding="utf-8")
    call(bunrui, "learn", "m.bunrui", "train.csv", folder=tmp_path)
    assert call(bunrui, "predict", "m.bunrui", "--line", "無料", folder=tmp_path).startswith("迷惑")
    assert call(python, "-c", "import bunrui; print(bunrui.__version__)", folder=tmp_path).strip()
