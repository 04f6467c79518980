"""Errors of the library, as the shell shows them: options, no arguments of Python functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from bunrui.errors import OptionError


@pytest.fixture
def files(mail: Path) -> None:
    """Data that cannot be read in all sorts of ways."""
    Path("folder/a").mkdir(parents=True)
    Path("folder/a/1.txt").write_text("one")
    Path("folder/read me.txt").write_text("two")
    Path("tabs.csv").write_text("text\tlabel\none\tx\n")
    Path("latin.csv").write_bytes(b"text,label\ncaf\xe9,x\n")
    Path("all.ods").write_bytes(b"PK")
    Path("lines.txt").write_text("one\n")
    Path("labelled.txt").write_text("__label__x one\n")


LEARN = ["learn", "new.bunrui"]
ASKED = ["predict", "mail.bunrui", "--line", "a"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [*LEARN, "folder"],
            "folder/read me.txt stands in no folder of a class: move it into one, or leave it out with --exclude "
            "'read me.txt'",
        ),
        (
            [*LEARN, "folder", "--include", "*.md"],
            "folder has no files that --include and --exclude leave: a folder for each class was expected, with a file "
            "for each text",
        ),
        (
            [*LEARN, "mail.csv", "--id", "nr"],
            "mail.csv: there is no column 'nr', only 'text', 'label': choose another with --id",
        ),
        (
            [*LEARN, "tabs.csv"],
            "tabs.csv: there is no column 'text' and no column 'label', only 'text\\tlabel': "
            "choose others with --text and "
            "--label. The header has tabs: is it --format tsv?",
        ),
        (
            [*LEARN, "latin.csv"],
            "latin.csv, line 2: the bytes e9 2c 78 are not valid utf-8. Try --encoding cp1252, which reads them as "
            "'café,x'",
        ),
        (
            [*LEARN, "mail.csv", "latin.csv"],
            "latin.csv, line 2: the bytes e9 2c 78 are not valid utf-8. Try --encoding cp1252, which reads them as "
            "'café,x'. Where files have different encodings: --encoding auto",
        ),
        (
            [*LEARN, "folder/a"],
            "folder/a has files and no folders of classes: give all of them one label with --as a, or read the folder "
            "above, 'folder', if the folders in it are the labels",
        ),
        ([*LEARN, "all.ods"], "the spreadsheet 'all.ods' cannot be read: save it as .xlsx, or as CSV (UTF-8), first"),
        (
            ["predict", "mail.bunrui", "free pills"],
            "there is no file 'free pills': check the path; a text goes with --line",
        ),
        (
            ["predict", "mail.bunrui", "free pills?"],
            "no file matches 'free pills?': check the pattern; a text goes with --line",
        ),
        (
            [*LEARN, "lines.txt"],
            "lines.txt has lines without labels: begin each with __label__ and its label, or give all of them one with "
            "--as",
        ),
        ([*LEARN, "labelled.txt", "--id", "nr"], "labelled.txt has lines, and lines have no ids: read it without --id"),
    ],
)
def test_messages(run, files: None, arguments: list[str], message: str) -> None:
    assert run(*arguments) == (1, "", f"error: {message}\n")
    assert not Path("new.bunrui").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["set", "mail.bunrui", "--smoothing", "mle", "--alpha", "1"],
            "--smoothing mle takes no --alpha: leave it out, or choose --smoothing eap",
        ),
        (
            [*LEARN, "mail.csv", "--alpha", "0"],
            "--alpha should be above 0, not 0.0: for no smoothing use --smoothing mle",
        ),
        ([*ASKED, "--smoothing", "map", "--alpha", "1"], "--alpha of --smoothing map should be above 1, not 1.0"),
        ([*ASKED, "--max-features", "0"], "--max-features should be a whole number, at least 1, not 0"),
        ([*ASKED, "--max-features", "chi2:0"], "--max-features should be a whole number, at least 1, not 0"),
    ],
)
def test_wrong_usage_that_the_library_finds(run, files: None, arguments: list[str], message: str) -> None:
    assert run(*arguments) == (2, "", f"error: {message}\nTry 'bunrui {arguments[0]} --help'.\n")
    assert not Path("new.bunrui").exists()


@pytest.mark.parametrize("command", ["words", "predict", "explain"])
def test_the_other_label_has_the_option_of_the_command(run, mail: Path, command: str) -> None:
    Path("more.csv").write_text("text,label\nnew prices,news\n")
    assert run("learn", "mail.bunrui", "more.csv").code == 0
    arguments = {
        "words": ["--positive", "spam", "--negative", "spam"],
        "predict": ["--line", "a", "--log-odds", "spam"],
        "explain": ["a", "--label", "spam", "--against", "spam"],
    }[command]
    problem = "there are 3 labels" if command == "predict" else "'spam' cannot be held against itself"
    option = "--negative" if command == "words" else "--against"
    assert run(command, "mail.bunrui", *arguments).err.startswith(f"error: {problem}: name ")
    assert run(command, "mail.bunrui", *arguments).err.endswith(f" label with {option}\n")


@pytest.mark.parametrize("label", ["text=", "keep='text'", "max_features should be 5", "{as}", "as {'a': 'b'}"])
def test_values_of_users_stay(run, mail: Path, label: str) -> None:
    result = run("label", "drop", "mail.bunrui", label)
    assert result == (1, "", f"error: there is no label {label!r} in mail.bunrui: the labels are ham, spam\n")


def test_a_traceback_only_with_debug(run, mail: Path) -> None:
    arguments = ["words", "mail.bunrui", "--max-features", "0"]
    assert run(*arguments).err == (
        "error: --max-features should be a whole number, at least 1, not 0\nTry 'bunrui words --help'.\n"
    )
    with pytest.raises(OptionError, match="max_features should be"):
        run("--debug", *arguments)
