"""Errors of the library, as the command line says them: an option is `--min-df`, the next step a command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from bunrui.errors import STEPS, UNSAID, BunruiError, Option, Step

_STEPS = STEPS | {
    "learn": "learn documents first, with 'bunrui learn'",
    "create": "make one with 'bunrui learn {file} DATA'",
    "reopen": "the next command reads it anew",
    "fetch": "get it with 'bunrui datasets fetch {file}'",
    "fetch-from": "give your copy with 'bunrui datasets fetch {file} --from PATH'",
    "list-corpora": "'bunrui datasets list' shows all of them",
    "learn-table": "learn the table into a new file, with --columns",
    "other-model": "choose another with 'bunrui set {file} --model nbsvm'",
    "replace-surrogate": "replace it",
}

# Options that have another name on the command line, everywhere or in one command.
_NAMES = {"html": "from-html", "kinds": "kind", "ids": "by-id", "digests": "by-digest"}
_NAMES_IN = {"predict": {"negative": "against"}}
_STEPS_IN = {
    "predict": {
        "check-path": "check the path; a text goes with --line",
        "check-pattern": "check the pattern; a text goes with --line",
    }
}


def describe(error: BunruiError, command: str = "") -> str:
    """An error in a sentence, for the user of a command.

    >>> from bunrui.errors import DataError, LabelError, OptionError
    >>> describe(OptionError(option="max_features", value=0, expected="a whole number, at least 1"))
    '--max-features should be a whole number, at least 1, not 0'
    >>> describe(DataError("this is in no folder", hint=("leave it out with ", Option("exclude", "read me.txt"))))
    "this is in no folder: leave it out with --exclude 'read me.txt'"
    >>> describe(DataError("these have no labels", hint=("give them one with ", Option("as", {"spam": "mails/spam"}))))
    'these have no labels: give them one with --as spam'
    >>> describe(LabelError("there are 3 labels", hint=("name the other with ", Option("negative"))), "predict")
    'there are 3 labels: name the other with --against'
    """
    names = _NAMES | _NAMES_IN.get(command, {})
    steps = _STEPS | _STEPS_IN.get(command, {})

    def spell(part: Option | Step) -> str:
        if isinstance(part, Step):
            return steps[part.name].format(file=shlex.quote(part.file))
        name = f"--{names.get(part.name, part.name).replace('_', '-')}"
        value = next(iter(part.value)) if isinstance(part.value, Mapping) else part.value
        return name if value in (UNSAID, ...) else f"{name} {shlex.quote(str(value))}"

    return error.tell(spell)
