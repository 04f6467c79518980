"""ARCHITECTURE.md names the modules and functions that are there, and its floors have the order of the imports."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from tests.blocks import REPOSITORY

PACKAGE = REPOSITORY / "src" / "bunrui"
TEXT = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
WALK = re.findall(r"^\| `([\w/]+\.py)` \| (`.+?`) \| ", TEXT, flags=re.MULTILINE)
INSIDE = dict(re.findall(r"^Inside `(\w+)/`.*?\n\n((?: {4}.*\n)+)", TEXT, flags=re.MULTILINE))
PARTS = [
    path for path in PACKAGE.iterdir() if path.name not in ("__init__.py", "__main__.py", "__pycache__", "py.typed")
]


def functions_of(node: ast.Module | ast.ClassDef, prefix: str = "") -> set[str]:
    """The functions, classes and methods of a module: `predict`, `Store`, `Store.load`."""
    names = set()
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            names.add(prefix + child.name)
        if isinstance(child, ast.ClassDef):
            names |= functions_of(child, f"{child.name}.")
    return names


def floors() -> list[str]:
    """The packages in the picture of the house, from the top left to the bottom right."""
    [picture] = re.findall(r"\n\n((?: {4}.*\n)+)\n\| package or module", TEXT)
    return [name for line in picture.splitlines() for name in line[26:].split()]


def test_the_walk_passes_functions_that_are_there() -> None:
    steps = [(file, name) for file, names in WALK for name in re.findall(r"`(.+?)`", names)]
    assert len(steps) > 30
    for file, name in steps:
        assert name in functions_of(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))), f"{file} has no {name}"


@pytest.mark.parametrize("package", sorted(path.name for path in PARTS if path.is_dir() and path.name != "data"))
def test_every_module_of_a_package_is_described(package: str) -> None:
    named = set(re.findall(r"(?<![\w/])(\w+)\.py", INSIDE[package]))
    assert named == {path.stem for path in (PACKAGE / package).glob("*.py")} - {"__init__"}


def test_every_package_stands_in_the_table() -> None:
    table = re.findall(r"^\| `(\w+)(?:/|\.py)` \| [^`]", TEXT, flags=re.MULTILINE)
    table += re.findall(r"^\| `(\w+)(?:/|\.py)` \| `\w+`: ", TEXT, flags=re.MULTILINE)
    assert sorted(table) == sorted(path.stem for path in PARTS)


def test_the_floors_have_the_order_of_the_imports() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    [layers] = [contract["layers"] for contract in project["tool"]["importlinter"]["contracts"] if "layers" in contract]
    floor = {name: k for k, layer in enumerate(layers) for name in re.findall(r"bunrui\.(\w+)", layer)}
    assert sorted(floors()) == sorted(floor)
    assert [floor[name] for name in floors()] == sorted(floor.values())
