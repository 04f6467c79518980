from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from bunrui import datasets
from bunrui.datasets.cache import user_cache
from bunrui.errors import DataError

HOME = Path("/home/kim")


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "/home/kim/.cache/bunrui/datasets"),
        ("linux", {"XDG_CACHE_HOME": "/scratch"}, "/scratch/bunrui/datasets"),
        ("linux", {"XDG_CACHE_HOME": "scratch"}, "/home/kim/.cache/bunrui/datasets"),
        ("linux", {"XDG_CACHE_HOME": ""}, "/home/kim/.cache/bunrui/datasets"),
        ("freebsd14", {}, "/home/kim/.cache/bunrui/datasets"),
        ("darwin", {"XDG_CACHE_HOME": "/scratch"}, "/home/kim/Library/Caches/bunrui/datasets"),
        ("win32", {"LOCALAPPDATA": "/home/kim/Local"}, "/home/kim/Local/bunrui/Cache/datasets"),
        ("win32", {}, "/home/kim/AppData/Local/bunrui/Cache/datasets"),
    ],
)
def test_the_folder_of_each_system(platform: str, environment: dict[str, str], expected: str) -> None:
    assert user_cache(platform, environment, HOME) == PurePath(expected)


def test_the_variable_names_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUNRUI_DATASETS", str(tmp_path))
    assert datasets.folder() == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BUNRUI_DATASETS", "~/corpora")
    assert datasets.folder() == tmp_path / "corpora"


def test_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("BUNRUI_DATASETS", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(DataError, match=r"there is no home folder for a cache: name a folder with BUNRUI_DATASETS"):
        datasets.folder()
