"""Rules of the project that no single module can keep: what is installed, what is imported, what is never called."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "src" / "bunrui"
SOURCES = sorted(PACKAGE.rglob("*.py"))
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]

CORE = {"numpy", "pyarrow", "rich", "typer"}
EXTRAS = {
    "sklearn": {"scikit-learn", "scipy"},
    "ja": {"fugashi", "unidic-lite"},
    "zh": {"rjieba"},
    "ko": {"kiwipiepy"},
    "serve": {"fastapi", "httptools", "pydantic", "uvicorn"},
    "ray": {"ray"},
    "pipelines": {"datasets", "datatrove", "fasteners", "orjson", "regex"},
    "jit": {"numba"},
}


def names(requirements: list[str]) -> set[str]:
    """
    >>> sorted(names(["numpy>=2.0", "ray[data]>=2.40", "rich"]))
    ['numpy', 'ray', 'rich']
    """
    return {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements}


# --- what is installed


def test_core_dependencies() -> None:
    assert names(PROJECT["dependencies"]) == CORE


def test_extras() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == {*EXTRAS, "all", "dev", "docs"}
    assert {extra: names(extras[extra]) for extra in EXTRAS} == EXTRAS
    assert extras["all"] == [f"bunrui[{','.join(EXTRAS)}]"]


def test_each_dependency_has_its_reason() -> None:
    record = (REPOSITORY / "docs" / "decisions" / "001-dependencies.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([^`]+)` \|", record, flags=re.MULTILINE))
    assert rows == CORE | set(EXTRAS)


# --- what is imported


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh Python has loaded when it has run some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        timeout=PATIENCE,
    )
    return set(done.stdout.split())


def test_import_is_light() -> None:
    loaded = loaded_by("import bunrui")
    assert "bunrui" in loaded
    assert loaded.isdisjoint({"numba", "scipy", "sklearn"})


TEXTS = ["a good film", "とても楽しい映画だった", "👍🏽 fun ❤️"]


def test_one_prediction_is_light() -> None:
    learn = "clf = TextClassifier().learn(['good film', 'bad film', '楽しい映画'], ['pos', 'neg', 'pos'])"
    loaded = loaded_by(f"from bunrui import TextClassifier\n{learn}\nfor text in {TEXTS}: clf.predict([text])")
    assert "bunrui.models.linear" in loaded
    assert loaded.isdisjoint({"asyncio", "numba", "numpy.ma", "rich", "scipy", "sklearn"})
    # Half of what importing TextClassifier took beyond pyarrow, 26 of 52 ms: benchmarks/startup.py.
    assert loaded.isdisjoint({"bunrui.models.explain", "concurrent.futures", "html", "importlib.metadata"})


def test_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


# --- what is never called
#
# The scans are simple on purpose: they find what is written by habit, not what is hidden.

CAN_RUN_CODE = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}


def imported(node: ast.AST) -> Iterator[str]:
    """The names of the modules that a node imports."""
    match node:
        case ast.Import(names=aliases):
            yield from (alias.name for alias in aliases)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
        case ast.Call(
            func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(module)), *_],
        ):
            yield module


def parse(source: str) -> ast.AST:
    """The tree of a source.  CPython 3.11 counts its depth for all threads together: another may spoil the count."""
    try:
        return ast.parse(source)
    except SystemError:
        return ast.parse(source)


def runs_code(source: str) -> list[str]:
    """Everything in a source that could run code out of data, as `line: what`."""
    found = []
    for node in ast.walk(parse(source)):
        for module in imported(node):
            if module.partition(".")[0] in CAN_RUN_CODE:
                found.append(f"{node.lineno}: import {module}")
        match node:
            case ast.Name(id="eval" | "exec" as name):
                found.append(f"{node.lineno}: {name}")
            case ast.Attribute(value=ast.Name(id="builtins"), attr="eval" | "exec" as name):
                found.append(f"{node.lineno}: {name}")
            case ast.keyword(arg="allow_pickle", value=value) if not (
                isinstance(value, ast.Constant) and value.value is False
            ):
                found.append(f"{node.lineno}: allow_pickle")
    return found


def talks_or_leaves(source: str) -> list[str]:
    """Everything in a source that prints or ends the process, as `line: what`."""
    found = []
    for node in ast.walk(parse(source)):
        match node:
            case ast.Name(id="print" | "SystemExit" as name):
                found.append(f"{node.lineno}: {name}")
            case ast.Call(func=ast.Name(id="exit" | "quit" as name)):
                found.append(f"{node.lineno}: {name}")
            case ast.Attribute(value=ast.Name(id="sys"), attr="exit"):
                found.append(f"{node.lineno}: sys.exit")
            case ast.Attribute(value=ast.Name(id="os"), attr="_exit"):
                found.append(f"{node.lineno}: os._exit")
            case ast.ImportFrom(module="sys", names=aliases) if any(alias.name == "exit" for alias in aliases):
                found.append(f"{node.lineno}: sys.exit")
    return found


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_scans_see_the_package() -> None:
    assert {"__init__.py", "errors.py"} <= set(map(relative, SOURCES))


def test_no_source_runs_code_out_of_data() -> None:
    found = {relative(path): runs_code(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: places for name, places in found.items() if places} == {}


def test_only_the_cli_prints_and_exits() -> None:
    found = {relative(path): talks_or_leaves(path.read_text(encoding="utf-8")) for path in SOURCES}
    talking = {name: places for name, places in found.items() if places}
    assert {name for name in talking if not name.startswith(("cli/", "__main__", "kernel/build"))} == set(), talking


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import pickle", ["1: import pickle"]),
        ("import os, joblib.memory as m", ["1: import joblib.memory"]),
        ("def f():\n    from dill import loads", ["2: import dill"]),
        ("importlib.import_module('marshal')", ["1: import marshal"]),
        ("eval('1')", ["1: eval"]),
        ("run = exec", ["1: exec"]),
        ("builtins.eval('1')", ["1: eval"]),
        ("np.load(path, allow_pickle=True)", ["1: allow_pickle"]),
        ("np.load(path, allow_pickle=flag)", ["1: allow_pickle"]),
        ("np.load(path, allow_pickle=False)", []),
        ("from . import pickle_free\nre.compile('eval')\nframe.eval('a + b')", []),
    ],
)
def test_scan_for_code(source: str, found: list[str]) -> None:
    assert runs_code(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("print('x')", ["1: print"]),
        ("list(map(print, rows))", ["1: print"]),
        ("import sys\nsys.exit(1)", ["2: sys.exit"]),
        ("from sys import exit", ["1: sys.exit"]),
        ("raise SystemExit(2)", ["1: SystemExit"]),
        ("os._exit(0)", ["1: os._exit"]),
        ("quit()", ["1: quit"]),
        ("'''\n>>> print(1)\n'''\nstack.exit\nconsole.print('x')", []),
    ],
)
def test_scan_for_talk(source: str, found: list[str]) -> None:
    assert talks_or_leaves(source) == found
