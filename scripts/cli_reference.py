"""Write docs/reference/cli.md: what `bunrui COMMAND --help` says of every command, as a page.

    python scripts/cli_reference.py

A test compares the page with the commands; `BUNRUI_REWRITE=1 pytest tests/docs/test_cli_reference.py` writes it, too.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from bunrui.cli.commands import COMMANDS, root  # noqa: E402

OWN = ("Argument", "Option")
PAGE = ROOT / "docs" / "reference" / "cli.md"

HEAD = """# Commands

Results go to stdout, messages to stderr; `-` is the standard input. Exit codes: 0 done, 1 failed, 2 wrong usage.
`bunrui --debug COMMAND …` shows where an error came from. `bunrui --install-completion` sets up completion.

This page has the help of each command, `bunrui COMMAND --help`; `scripts/cli_reference.py` writes it.
"""


class Section(NamedTuple):
    """A command: its name, what is said of it, and its parameters by panel, each a row of a table."""

    name: str
    text: str
    panels: dict[str, tuple[str, ...]]


def reference() -> str:
    """The page."""
    group = root()
    above = group.make_context("bunrui", ["info"])
    sections = [_section(name, group.get_command(above, name), above) for name in COMMANDS]
    common = _common(sections)
    parts = [HEAD]
    for panel, members in groupby(sections, key=lambda section: COMMANDS[section.name].panel):
        parts.append(f"## {panel}\n")
        parts += [_written(section, common) for section in members]
    parts.append("## Options that several commands have\n")
    parts += [f"### {panel}\n\n{_table('Option', rows)}" for panel, rows in common.items()]
    return "\n".join(parts)


def _section(name: str, command: Any, above: Any) -> Section:
    context = command.context_class(command, info_name=name, parent=above)
    parameters = [each for each in command.get_params(context) if each.name != "help" and not each.hidden]
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    usage = " ".join(["bunrui", name, *map(_argument, arguments), "[OPTIONS]"])
    told, _, examples = command.help.partition("[bold]Examples[/]")
    lines = [f"```\n{usage}\n```\n"]
    lines += [f"{_escaped(_plain(paragraph))}\n" for paragraph in told.strip().split("\n\n")]
    if examples:
        shown = "\n".join(line.strip() for line in examples.strip().splitlines())
        lines.append(f"```sh\n{shown}\n```\n")
    panels: dict[str, list[str]] = {}
    for parameter in parameters:
        panel = "Argument" if parameter in arguments else parameter.rich_help_panel or "Option"
        panels.setdefault(panel, []).append(_row(parameter))
    order = sorted(panels, key=lambda panel: (panel != "Argument", panel != "Option"))
    return Section(name, "\n".join(lines), {panel: tuple(panels[panel]) for panel in order})


def _common(sections: list[Section]) -> dict[str, tuple[str, ...]]:
    """The panels that commands share: of each name the one that most have."""
    found: dict[str, Counter[tuple[str, ...]]] = {}
    for section in sections:
        for panel, rows in section.panels.items():
            found.setdefault(panel, Counter())[rows] += 1
    most = {panel: rows.most_common(1)[0] for panel, rows in found.items()}
    return {panel: rows for panel, (rows, times) in most.items() if times > 1 and panel not in OWN}


def _written(section: Section, common: dict[str, tuple[str, ...]]) -> str:
    own = {panel: rows for panel, rows in section.panels.items() if common.get(panel) != rows}
    shared = [panel for panel in section.panels if panel not in own]
    parts = [f"### bunrui {section.name}\n", section.text, *(_table(panel, rows) for panel, rows in own.items())]
    if shared:
        links = [f"[{panel}](#{panel.lower().replace(' ', '-')})" for panel in shared]
        parts.append(f"Further options: {', '.join(links)}.\n")
    return "\n".join(parts)


def _table(head: str, rows: tuple[str, ...]) -> str:
    return "\n".join([f"| {head} | |", "|---|---|", *rows, ""])


def _argument(parameter: Any) -> str:
    name = parameter.metavar if parameter.required else f"[{parameter.metavar}]"
    return f"{name}..." if parameter.nargs == -1 else name


def _row(parameter: Any) -> str:
    is_argument = parameter.param_type_name == "argument"
    names = "" if is_argument else ", ".join(parameter.opts)
    if parameter.secondary_opts:
        names += f" / {', '.join(parameter.secondary_opts)}"
    names = " ".join(part for part in (names, parameter.metavar) if part)
    told = _escaped(_plain(parameter.help or ""))
    if parameter.required and not is_argument:
        told += " Required."
    elif parameter.show_default and parameter.default not in (None, False):
        told += f" By default {parameter.default}."
    return f"| `{names.replace('|', '∣')}` | {told} |"


def _plain(text: str) -> str:
    """Without the marks for bold, and in one line."""
    return " ".join(re.sub(r"\[/?(?:bold)?\]", "", text).split())


def _escaped(text: str) -> str:
    """What Markdown would take for its own.

    >>> _escaped("2**B of a_b | c")
    '2\\\\*\\\\*B of a\\\\_b \\\\| c'
    """
    return re.sub(r"([*_<>|\[\]\\])", r"\\\1", text)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
