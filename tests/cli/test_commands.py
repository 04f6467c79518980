from __future__ import annotations

from importlib import import_module
from typing import get_args

import pytest

from bunrui.analysis import AnalyzerSpec
from bunrui.cli import options
from bunrui.cli.commands import COMMANDS
from bunrui.documents import FORMATS
from bunrui.models import AUTO, MODELS, TRAINED


def test_choices_are_those_of_the_library() -> None:
    assert set(get_args(options.ModelName)) == {AUTO, *MODELS, *TRAINED}
    assert get_args(options.Format) == FORMATS
    for name in get_args(options.AnalyzerName):
        assert AnalyzerSpec(name=name).name == name


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_function(command: str) -> None:
    module = import_module(f"bunrui.cli.{COMMANDS[command].module}")
    function = getattr(module, "set_" if command == "set" else command)
    assert " ".join((function.__doc__ or "").partition("\n\n")[0].split()) == COMMANDS[command].summary


def test_a_typing_error_is_answered_with_a_proposal(run) -> None:
    assert run("lern") == (
        2,
        "",
        "error: no such command 'lern'. Did you mean 'learn', 'unlearn', 'filter'?\nTry 'bunrui --help'.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "err"),
    [
        (["learn"], "error: missing argument 'FILE'.\nTry 'bunrui learn --help'.\n"),
        (
            ["learn", "x"],
            "error: give DATA with labels, or --unlabelled POOL, or both.\nTry 'bunrui learn --help'.\n",
        ),
        (
            ["learn", "x", "y", "--prior", "none"],
            "error: invalid value for '--prior': choose one of empirical, uniform, smoothed, or smoothed: and a number "
            "above 0, not 'none'.\nTry 'bunrui learn --help'.\n",
        ),
        (
            ["set", "x", "--prior", "smoothed:0"],
            "error: invalid value for '--prior': choose one of empirical, uniform, smoothed, or smoothed: and a number "
            "above 0, not 'smoothed:0'.\nTry 'bunrui set --help'.\n",
        ),
        (
            ["set", "x", "--alpha", "much"],
            "error: invalid value for '--alpha': 'much' is neither a number nor 'default'.\nTry 'bunrui set --help'.\n",
        ),
        (
            ["set", "x", "--max-features", "chi2"],
            "error: invalid value for '--max-features': 'chi2' is not a whole number, 'chi2:' and a number, or 'all'.\n"
            "Try 'bunrui set --help'.\n",
        ),
    ],
)
def test_wrong_usage(run, arguments: list[str], err: str) -> None:
    assert run(*arguments) == (2, "", err)


def test_too_many_arguments(run) -> None:
    code, out, err = run("info", "x", "y")
    assert (code, out) == (2, "") and "(y)" in err and err.endswith("Try 'bunrui info --help'.\n")


@pytest.mark.parametrize(
    ("command", "option", "value", "expected"),
    [
        ("predict", "--top", "0", "a whole number, at least 1"),
        ("predict", "--top", "two", "a whole number, at least 1"),
        ("predict", "--min-df", "0", "a whole number, at least 1"),
        ("predict", "--unsure", "2", "a number, from 0 to 1"),
        ("serve", "--port", "70000", "a whole number, from 0 to 65,535"),
        ("set", "--m", "x", "a number"),
    ],
)
def test_all_numbers_are_refused_in_one_way(run, command: str, option: str, value: str, expected: str) -> None:
    said = f"error: invalid value for '{option}': it should be {expected}, not {value}.\n"
    assert run(command, "x", option, value) == (2, "", f"{said}Try 'bunrui {command} --help'.\n")


# --- completion


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("bunrui ev", ["evaluate"]),
        ("bunrui learn x y --model b", [name for name in (*MODELS, *TRAINED) if name.startswith("b")]),
        ("bunrui learn x y --analyzer z", ["zh"]),
        ("bunrui learn x y --keep ", ["text", "digests", "nothing"]),
        ("bunrui predict --form", ["--format"]),
    ],
)
def test_completion(shell, monkeypatch: pytest.MonkeyPatch, line: str, proposed: list[str]) -> None:
    monkeypatch.setenv("_BUNRUI_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    code, out, err = shell()
    assert (code, sorted(out.split()), err) == (0, sorted(proposed), "")


def test_completion_script(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_BUNRUI_COMPLETE", "source_zsh")
    code, out, err = shell()
    assert (code, err) == (0, "") and "compdef _bunrui_completion bunrui" in out
