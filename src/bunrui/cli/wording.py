"""Messages of the library, in the words of the command line."""

from __future__ import annotations

import ast
import re
import shlex

__all__ = ["in_options"]

_PHRASES = {
    "give one label for the file as {label: file}, or read it with labelled=False": "or give all of them one with --as",
    "give one as {label: source}": "give all of them one with --as",
    "call learn(texts, labels) first": "learn documents first, with 'bunrui learn'",
    "call refresh, or open it anew": "the next command reads it anew",
    "make the classifier with analyzer='columns'": "learn the table into a new file, with --columns",
    "takes no alpha: leave it out": "takes no --alpha: leave it out",
    "Without unique, ": "Without --unique, ",
    ', for example with text.encode("utf-8", "replace").decode()': "",
}

# Of files that are not there: how a text is given that was taken for one.
_NO_FILE = (": check the path", ": check the pattern")
_TEXT_ITSELF = {"predict": "; a text goes with --line"}

# The option for the other one of two labels.
_OTHER_LABEL = {"predict": "--against", "explain": "--against", "words": "--negative"}

_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ARGUMENTS = "text|label|id|format|encoding|include|exclude|keep|smoothing"
_TOKEN = re.compile(
    rf"(?<![\w=])(?:{_STRING})"  # a value of the user, which stays as it is
    rf"|(?<!\w)as \{{(?P<label>{_STRING}): (?:{_STRING})\}}"  # one label for a source
    rf"|(?<![\w.-])(?P<argument>{_ARGUMENTS})=(?:(?P<value>{_STRING})|(?=$|[\s,;:.]))"
    r"|(?<![\w-])(?P<name>alpha|min_df|max_features|m)(?= should be | of smoothing=)"
)


def in_options(message: str, command: str | None = None) -> str:
    """A message with options in place of arguments of functions, for a user of a command.

    >>> in_options("there is no column 'text', only 'text=': choose another with text=")
    "there is no column 'text', only 'text=': choose another with --text"
    >>> in_options("move it into one, or leave it out with exclude='read me.txt'")
    "move it into one, or leave it out with --exclude 'read me.txt'"
    >>> in_options("max_features should be a whole number, at least 1, not 0")
    '--max-features should be a whole number, at least 1, not 0'
    >>> in_options("give all of them one label as {'spam': 'mails/spam'}")
    'give all of them one label with --as spam'
    >>> in_options("there are 3 labels: say which one is negative", "predict")
    'there are 3 labels: say with --against which one is the other'
    """
    for theirs, ours in _PHRASES.items():
        message = message.replace(theirs, ours)
    if message.endswith(_NO_FILE):
        message += _TEXT_ITSELF.get(command or "", "")
    other = _OTHER_LABEL.get(command or "")
    if other is not None:
        message = message.replace("say which one is negative", f"say with {other} which one is the other")
        message = message.replace("itself: name another label", f"itself: name another label with {other}")
    return _TOKEN.sub(_option, message)


def _option(found: re.Match[str]) -> str:
    if found["label"] is not None:
        return f"with --as {shlex.quote(ast.literal_eval(found['label']))}"
    name = found["argument"] or found["name"]
    if name is None:
        return found[0]
    option = f"--{name.replace('_', '-')}"
    return option if found["value"] is None else f"{option} {shlex.quote(ast.literal_eval(found['value']))}"
