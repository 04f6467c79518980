"""The tree of commands.

One prediction from the shell should not wait for what it does not use: a command's module is imported when the command
is called, and typer's parameters are read without pydantic, whose import takes 55 ms, where the value is a plain one.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from importlib import import_module
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import typer
from typer.core import TyperGroup

__all__ = ["COMMANDS", "root"]


class _Home(NamedTuple):
    module: str
    panel: str


COMMANDS = {
    "learn": _Home("learn", "Learn"),
    "unlearn": _Home("learn", "Learn"),
    "undo": _Home("lifecycle", "Learn"),
    "relabel": _Home("lifecycle", "Learn"),
    "forget": _Home("lifecycle", "Learn"),
    "label": _Home("lifecycle", "Learn"),
    "count": _Home("count", "Learn"),
    "merge": _Home("files", "Learn"),
    "tune": _Home("tune", "Learn"),
    "predict": _Home("predict", "Ask"),
    "explain": _Home("explain", "Ask"),
    "words": _Home("explain", "Ask"),
    "evaluate": _Home("evaluate", "Ask"),
    "compare": _Home("compare", "Ask"),
    "audit": _Home("audit", "Ask"),
    "filter": _Home("filter", "Ask"),
    "serve": _Home("serve", "Ask"),
    "info": _Home("info", "Look after"),
    "set": _Home("info", "Look after"),
    "calibrate": _Home("calibrate", "Look after"),
    "log": _Home("log", "Look after"),
    "check": _Home("log", "Look after"),
    "compact": _Home("files", "Look after"),
    "copy": _Home("files", "Look after"),
    "slim": _Home("files", "Look after"),
    "export": _Home("files", "Look after"),
    "demo": _Home("demo", "Look around"),
    "datasets": _Home("datasets", "Look around"),
}
"""The commands in the order of the help: module and panel.  The function has the name of the command."""


class _Commands(TyperGroup):
    """A group that imports a command when it is asked for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        names: Any = dict.fromkeys(COMMANDS)
        self.commands = names  # for "Did you mean"

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _command(cmd_name) if cmd_name in COMMANDS else None


def root() -> Any:
    """The command `bunrui`."""
    app = typer.Typer(
        name="bunrui",
        cls=_Commands,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_bunrui)
    return _spare(typer.main.get_command(app))


def _version(wanted: bool) -> None:
    if wanted:
        from bunrui import __version__

        print(f"bunrui {__version__}")
        raise typer.Exit


def _bunrui(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Classify text by counting: learn, unlearn and merge exactly, in English, Japanese, Chinese, Korean and any mix.

    A classifier is one file. [bold]learn[/] makes it or adds to it, [bold]predict[/] asks it; everything else is on
    the help page of each command.

    [bold]Examples[/]

      bunrui demo                                   a tour
      bunrui learn mail.bunrui train.csv            columns text and label
      bunrui predict mail.bunrui new.csv            a label and its probability for each row
      bunrui explain mail.bunrui "free pills"       why
    """


def _command(name: str) -> Any:
    home = COMMANDS[name]
    module = import_module(f"bunrui.cli.{home.module}")
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    settings = {"help_option_names": ["-h", "--help"]}
    function = getattr(module, name if name != "set" else "set_")
    app.command(name, rich_help_panel=home.panel, context_settings=settings)(_flat(function))
    return _spare(typer.main.get_command(app))


def _flat(function: Callable[..., None]) -> Callable[..., None]:
    """The function as typer reads it: in place of each group of options (a dataclass), the options themselves."""
    signature = inspect.signature(function, eval_str=True)
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in signature.parameters.values():
        if dataclasses.is_dataclass(parameter.annotation):
            group: Any = parameter.annotation
            groups[parameter.name] = group
            hints = get_type_hints(group)
            parameters += [_parameter(field.name, hints[field.name], field, group.panel) for field in fields(group)]
        else:
            parameters.append(_parameter(parameter.name, parameter.annotation, parameter.default))

    def command(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        function(**values)

    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def _parameter(name: str, annotation: Any, declared: Any, panel: str | None = None) -> inspect.Parameter:
    """A parameter as typer reads it; `declared` by `option`, `flag` or `argument`, or a plain default."""
    default = declared
    if isinstance(declared, Field):
        info = declared.metadata["parameter"]
        if panel is not None:
            info.rich_help_panel = panel
        annotation = Annotated[annotation, info]
        default = inspect.Parameter.empty if declared.default is MISSING else declared.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


# --- parameters without pydantic


def _spare(command: Any) -> Any:
    """The command, with strings, choices and what is not given read without pydantic.

    Typer makes a pydantic adapter for each parameter in `get_runtime_param`; a version that does not is left alone.
    """
    params_of = command.get_params

    def get_params(context: Any) -> list[Any]:
        params: list[Any] = params_of(context)  # with --help, which is made there
        for param in params:
            theirs = getattr(param, "get_runtime_param", None)
            if theirs is not None and not isinstance(theirs, _Plain):
                param.get_runtime_param = _Plain(param, theirs)
        return params

    command.get_params = get_params
    return command


class _Plain:
    """Reads strings and choices, and leaves other values to typer."""

    def __init__(self, param: Any, theirs: Callable[[], Any]) -> None:
        self._theirs = theirs
        annotation = param.type_descriptor.annotation
        self._is_text = annotation in (str, list[str])
        self._choices = get_args(annotation) if param.type_descriptor.is_choice else ()
        self._several = param.multiple or param.nargs == -1

    def __call__(self) -> _Plain:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if self._several else None
        if (self._is_text and isinstance(value, (str, list, tuple))) or value in self._choices:
            return value
        if self._choices:
            raise typer.BadParameter(f"choose one of {', '.join(self._choices)}, not {value!r}.", ctx=ctx, param=param)
        return self._theirs().coerce(value, param, ctx)
