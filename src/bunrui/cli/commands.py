"""The tree of commands.

One prediction from the shell should not wait for what it does not use: a command's module is imported when the command
is called, and typer's parameters are read without pydantic, whose import takes 55 ms, where the value is a plain one.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import cache, partial
from importlib import import_module
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import typer
from typer.core import TyperGroup
from typer.models import OptionInfo

from bunrui.cli.parameters import flag
from bunrui.errors import OptionError, choose_one


class _Home(NamedTuple):
    module: str
    panel: str
    summary: str


COMMANDS = {
    "learn": _Home("learn", "Learn", "Learn documents with their labels."),
    "teach": _Home("teach", "Learn", "Label documents with one key each, and teach a classifier with them."),
    "unlearn": _Home("learn", "Learn", "Unlearn documents, as if they had never been learned."),
    "undo": _Home("lifecycle", "Learn", "Take back the last change: a learn, an unlearn, a merge, a relabel, a set …"),
    "relabel": _Home("lifecycle", "Learn", "Give learned documents another label."),
    "forget": _Home("lifecycle", "Learn", "Unlearn all documents before a date, or of a source."),
    "label": _Home(
        "lifecycle", "Learn", "Rename a label, drop it with its documents, or move its documents to another."
    ),
    "count": _Home("files", "Learn", "Count a piece of a corpus, to merge it with others later."),
    "merge": _Home("files", "Learn", "Add other classifiers to a classifier."),
    "tune": _Home("compare", "Learn", "Find good settings for your documents, and make a classifier with them."),
    "predict": _Home("predict", "Ask", "Predict the labels of documents."),
    "deliver": _Home(
        "deliver", "Ask", "Write a mail from standard input to standard output, with its label in its headers."
    ),
    "explain": _Home(
        "explain", "Ask", "Explain a prediction: what each word, or column of a table, adds to the score of a label."
    ),
    "words": _Home("explain", "Ask", "Show the words that speak for a label."),
    "evaluate": _Home("evaluate", "Ask", "Measure the predictions for documents with known labels."),
    "compare": _Home("compare", "Ask", "Compare all models on your documents."),
    "audit": _Home("audit", "Ask", "Find labels that look wrong."),
    "filter": _Home("filter", "Ask", "Select the documents of a large collection that look like those of a small one."),
    "serve": _Home("serve", "Ask", "Serve a classifier over HTTP, with a web page."),
    "info": _Home("info", "Look after", "Show the labels, counts and settings of a classifier, and what it keeps."),
    "set": _Home("info", "Look after", "Change the model of a classifier, or its options."),
    "choose": _Home("info", "Look after", "Choose the model that suits the documents of a classifier."),
    "calibrate": _Home("info", "Look after", "Calibrate the probabilities of a classifier."),
    "log": _Home("log", "Look after", "Show the changes of a classifier, or its documents."),
    "check": _Home("log", "Look after", "Check a file for damage."),
    "train": _Home(
        "files", "Look after", "Train the model of a classifier now, so that the next command answers at once."
    ),
    "compact": _Home("files", "Look after", "Make a file as small as possible, and wipe out unlearned documents."),
    "copy": _Home("files", "Look after", "Copy a classifier, also while it learns."),
    "slim": _Home("files", "Look after", "Write a small copy with counts only, to serve and to share."),
    "export": _Home("files", "Look after", "Write a page that classifies in a browser, or the counts as a table."),
    "demo": _Home("demo", "Look around", "Show what bunrui does, on 400 short sentences of news in four languages."),
    "datasets": _Home(
        "datasets", "Look around", "Download public corpora from their official addresses: mail, news, reviews, tables."
    ),
}
"""The commands in the order of the help: module, panel and summary.  The function has the name of the command, and its
docstring begins with the summary: `bunrui --help` lists the commands without importing any."""


_SETTINGS = {"help_option_names": ["-h", "--help"]}


class _Commands(TyperGroup):
    """A group that imports a command when it is asked for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        names: Any = dict.fromkeys(COMMANDS)
        self.commands = names  # for "Did you mean"
        self._is_listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return _summary(cmd_name) if self._is_listing else _command(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._is_listing = True
        super().format_help(ctx, formatter)
        self._is_listing = False


def root() -> Any:
    """The command `bunrui`."""
    app = typer.Typer(name="bunrui", cls=_Commands, rich_markup_mode="rich", context_settings=_SETTINGS)
    app.callback()(_flat(_bunrui))
    return _spare(typer.main.get_command(app))


def _version(wanted: bool) -> None:
    if wanted:
        from bunrui import __version__

        print(f"bunrui {__version__}")
        raise typer.Exit


def _bunrui(
    version: bool = flag("Show the version.", callback=_version, is_eager=True),
    debug: bool = flag("Show where an error came from."),
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


@cache  # typer takes 4 ms to make `learn`
def _command(name: str) -> Any:
    module = import_module(f"bunrui.cli.{COMMANDS[name].module}")
    function = getattr(module, name if name != "set" else "set_")
    return _spare(_make(name, _flat(function), context_settings=_SETTINGS))


def _summary(name: str) -> Any:
    """A command as the list of commands shows it."""
    return _make(name, lambda: None, help=COMMANDS[name].summary)


def _make(name: str, function: Callable[..., None], **settings: Any) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name, rich_help_panel=COMMANDS[name].panel, **settings)(function)
    return typer.main.get_command(app)


def _flat(function: Callable[..., None]) -> Callable[..., None]:
    """The function as typer reads it: in place of each group of options (a dataclass), the options themselves."""
    signature = inspect.signature(function, eval_str=True)
    groups: dict[str, Any] = {}
    declared: dict[str, tuple[Any, Any, str | None]] = {}  # the type of each parameter, its declaration and its panel
    for name, parameter in signature.parameters.items():
        if dataclasses.is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            group, hints = groups[name], get_type_hints(parameter.annotation)
            declared |= {field.name: (hints[field.name], field, group.panel) for field in fields(group)}
        else:
            declared[name] = parameter.annotation, parameter.default, None

    def command(**values: Any) -> None:
        for name, (_, field, _) in declared.items():
            needed = field.metadata["needs"] if isinstance(field, Field) else None
            if needed is not None and not values[needed] and values[name] not in (field.default, (), []):
                raise OptionError(f"{_spell(name)} goes with {_spell(needed)}.")
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        function(**values)

    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.__signature__ = signature.replace(parameters=[_parameter(name, *each) for name, each in declared.items()])  # type: ignore[attr-defined]
    return command


def _parameter(name: str, annotation: Any, declared: Any, panel: str | None = None) -> inspect.Parameter:
    """A parameter as typer reads it; `declared` by `option`, `flag` or `argument`, or a plain default."""
    default = declared
    if isinstance(declared, Field):
        info = declared.metadata["parameter"]
        if panel is not None:
            info.rich_help_panel = panel
        if isinstance(info, OptionInfo) and info.default is ...:  # no name was given; of a flag, typer would make two
            info.default = _spell(name)
        annotation = Annotated[annotation, info]
        default = inspect.Parameter.empty if declared.default is MISSING else declared.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _spell(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
            if theirs is not None and not isinstance(theirs, partial):
                param.get_runtime_param = partial(_Plain, theirs)
            if param.type_descriptor.annotation is bool:
                param.metavar = ""  # a flag: the help would show <bool> as if it took a value
        return params

    command.get_params = get_params
    return command


class _Plain(NamedTuple):
    """Reads strings and choices, and leaves other values to typer; says itself which numbers are right."""

    theirs: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        annotation = param.type_descriptor.annotation
        choices = get_args(annotation) if param.type_descriptor.is_choice else ()
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if (annotation in (str, list[str]) and isinstance(value, (str, list, tuple))) or value in choices:
            return value
        if choices:
            raise typer.BadParameter(f"{choose_one(value, choices)}, not {value!r}.", ctx=ctx, param=param)
        try:
            return self.theirs().coerce(value, param, ctx)
        except typer.BadParameter:
            if annotation not in (int, float):
                raise
            expected = _describe_numbers(annotation, param.min, param.max)
            raise typer.BadParameter(f"it should be {expected}, not {value}.", ctx=ctx, param=param) from None


def _describe_numbers(kind: type, least: float | None, most: float | None) -> str:
    """The numbers that an option takes, in the words of `bunrui.errors.check_whole`.

    >>> _describe_numbers(int, 1, None), _describe_numbers(float, 0.0, 1.0), _describe_numbers(float, None, None)
    ('a whole number, at least 1', 'a number, from 0 to 1', 'a number')
    """
    noun = "a whole number" if kind is int else "a number"
    if least is None:
        return noun
    return f"{noun}, at least {least:g}" if most is None else f"{noun}, from {least:g} to {most:,g}"
