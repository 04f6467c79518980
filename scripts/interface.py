"""Print the interface of bunrui as sorted lines: every command, every public name, every route of the service.

    python scripts/interface.py > new.txt
    PYTHONPATH=/path/to/another/checkout/src python scripts/interface.py > old.txt
    diff old.txt new.txt

Names, types and defaults are listed, no prose: a better sentence in a help text changes nothing here.  The package is
the one that Python finds, so that one script describes two checkouts.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.request import urlopen

_MODULES = ("datasets", "documents", "errors", "evaluation", "report", "selection")
_PROSE = frozenset({"description", "summary", "title", "example", "examples", "operationId"})
_PLACE = re.compile(r"\bat 0x[0-9a-f]+|(?<=<)(?:function|class|object) |bunrui(?:\.\w+)+\.(?=[A-Z])")


def main() -> None:
    """Print everything."""
    for lines in (commands(), names(), routes()):
        print(*sorted(set(lines)), sep="\n")


# --- commands


def commands() -> Iterator[str]:
    """A line for each parameter of each command."""
    from bunrui.cli.commands import COMMANDS, root

    group = root()
    above = group.make_context("bunrui", ["info"])
    yield from (f"command bunrui {_parameter(each)}" for each in group.get_params(above))
    for name in COMMANDS:
        command = group.get_command(above, name)
        context = command.context_class(command, info_name=name, parent=above)
        yield from (f"command {name} {_parameter(each)}" for each in command.get_params(context))


def _parameter(given: Any) -> str:
    kind = given.type_descriptor.annotation
    many = " repeated" if getattr(given, "multiple", False) or given.nargs == -1 else ""
    needed = " required" if given.required else ""
    names = (
        " ".join(sorted((*given.opts, *given.secondary_opts))) if given.param_type_name == "option" else given.metavar
    )
    return f"{given.param_type_name} {names}: {_shown(kind)} = {given.default!r}{many}{needed}"


# --- Python


def names() -> Iterator[str]:
    """A line for each public name, and for each method and attribute of the public classes."""
    import bunrui

    for name in dir(bunrui):
        yield from _described(f"bunrui.{name}", getattr(bunrui, name))
    for module in _MODULES:
        found = import_module(f"bunrui.{module}")
        for name in found.__all__:
            yield from _described(f"bunrui.{module}.{name}", getattr(found, name))


def _described(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield f"name {path}: a module"
    elif inspect.isclass(value):
        yield f"name {path}: a class{_signature(value)}"
        if issubclass(value, Exception):
            parents = (parent.__name__ for parent in value.__mro__[1:] if not parent.__name__.startswith("_"))
            yield f"name {path}: is {', '.join(parents)}"
        for name in dir(value):
            if not name.startswith("_"):
                yield f"name {path}.{name}{_member(inspect.getattr_static(value, name))}"
    else:
        yield f"name {path}{_signature(value) if callable(value) else f': {type(value).__name__}'}"


def _member(value: Any) -> str:
    if isinstance(value, (staticmethod, classmethod)):
        return f"{_signature(value.__func__)} {type(value).__name__}"
    return _signature(value) if inspect.isroutine(value) else ": an attribute"


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(…)"
    parameters = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return _shown(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _shown(value: Any) -> str:
    text = value.__name__ if inspect.isclass(value) and "[" not in repr(value) else str(value)
    return _PLACE.sub("", text.replace("typing.", ""))


# --- the service


def routes() -> Iterator[str]:
    """A line for each value in the description of the service that is no prose."""
    with tempfile.TemporaryDirectory() as folder:
        data, file = Path(folder, "train.csv"), str(Path(folder, "served.bunrui"))
        data.write_text("text,label\ncheap pills,spam\nat noon,ham\n", encoding="utf-8")
        command = (sys.executable, "-m", "bunrui")
        subprocess.run([*command, "learn", file, str(data)], check=True, capture_output=True)
        serving = [*command, "serve", file, "--port", "0", "--token", "auto"]
        with subprocess.Popen(serving, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                address = re.search(r"http://[^/\s]+", server.stderr.readline())
                assert address is not None
                with urlopen(f"{address[0]}/openapi.json") as answer:
                    description = json.load(answer)
            finally:
                server.terminate()
    return _leaves("openapi", {name: description[name] for name in ("paths", "components")})


def _leaves(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            if name not in _PROSE or not isinstance(each, (str, list)):
                yield from _leaves(f"{path} {name}", each)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, each in enumerate(value):
            yield from _leaves(f"{path} {each.get('name', place)}", each)
    else:
        yield f"{path}: {json.dumps(value, ensure_ascii=False)}"


if __name__ == "__main__":
    main()
